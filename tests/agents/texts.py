# ruff: noqa: E501
"""Problem texts in many styles, with what they say. Written for these tests; no corpus problem."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Text:
    """A problem text with its data files and the values that it states, in kW, kWh, K, degC, 1."""

    body: str
    files: dict[str, str] = field(default_factory=dict)
    slots: dict[str, float] = field(default_factory=dict)
    constraints: tuple[str, ...] = ()
    sense: str = "minimize"
    periods: int = 24
    start: str | None = None


def csv(
    header: str, rows: int, *series: object, start: str = "2025-03-04 00:00", minutes: int = 60
) -> str:
    """Return a CSV file with time stamps and some made-up but smooth series."""
    from datetime import datetime, timedelta

    first = datetime.fromisoformat(start)
    lines = [header]
    for k in range(rows):
        stamp = (first + timedelta(minutes=minutes * k)).strftime("%Y-%m-%d %H:%M")
        cells = [f"{f(k * minutes / 60):.4f}" for f in series]  # type: ignore[operator]
        lines.append(",".join([stamp, *cells]))
    return "\n".join(lines) + "\n"


def wave(low: float, high: float, phase: float = 0.0) -> object:
    """Return a function of the hour between two values."""
    from math import cos, pi

    return lambda h: low + (high - low) * 0.5 * (1 - cos((h - phase) * 2 * pi / 24))


def sun(peak: float) -> object:
    """Return PV power over the day."""
    from math import pi, sin

    return lambda h: max(0.0, peak * sin((h % 24 - 6) * pi / 12))


SPOT = {"spot.csv": csv("time,price_eur_per_mwh", 24, wave(30, 120, 4))}

TEXTS: dict[str, Text] = {}

TEXTS["terse_list"] = Text(
    """# BESS schedule

- Energy capacity: 2 MWh
- Max. charge power: 1 MW
- Max. discharge power: 0.8 MW
- Charge efficiency: 94 %
- Discharge efficiency: 93 %
- Initial SOC: 50 %
- Final SOC: at least 50 %
- SOC window: 5-95 %
- Prices: `spot.csv`, 24 hourly values, EUR/MWh

Maximise the arbitrage profit in EUR.
""",
    SPOT,
    {"battery.energy_capacity": 2000, "battery.charge_power_max": 1000,
     "battery.discharge_power_max": 800, "battery.charge_efficiency": 0.94,
     "battery.discharge_efficiency": 0.93, "battery.initial_energy": 1000,
     "battery.minimum_energy": 100, "battery.maximum_energy": 1900},
    ("battery_state_of_charge[last(I)] >=",),
    "maximize",
)  # fmt: skip

TEXTS["memo"] = Text(
    """# Memo: trading with the depot battery

Dear colleagues,

as agreed I looked at the storage system in the bus depot. It has a usable capacity of 1,500 kWh and can be
charged and discharged with up to 600 kW. The manufacturer states a round-trip efficiency of 86 %.
The day starts with a half full battery, and the state of charge at the end of the day must not be lower than
at the beginning. Prices for the 24 hours of 4 March 2025 are in `spot.csv` (EUR/MWh).

Please work out the schedule that brings the highest revenue. The battery was delivered in 2021 and stands
on 140 m² of concrete.
""",
    SPOT,
    {"battery.energy_capacity": 1500, "battery.charge_power_max": 600,
     "battery.discharge_power_max": 600, "battery.charge_efficiency": 0.86**0.5,
     "battery.discharge_efficiency": 0.86**0.5, "battery.initial_energy": 750},
    ("battery_state_of_charge[last(I)] >= battery_state_of_charge[first(I)]",),
    "maximize",
)  # fmt: skip

TEXTS["parameter_table"] = Text(
    """# Arbitrage of a grid battery

Table 1: battery data

| Parameter | Value | Unit |
|---|---|---|
| Energy capacity | 4.0 | MWh |
| Maximum charging power | 2000 | kW |
| Maximum discharging power | 2.0 | MW |
| Charging efficiency | 0.95 | - |
| Discharging efficiency | 0.95 | - |
| Initial state of charge | 1.0 | MWh |
| Minimum state of charge | 0.4 | MWh |

Table 2: prices

| Hour | Price (EUR/MWh) |
|---|---|
| 1 | 42 |
| 2 | 35 |
| 3 | 28 |
| 4 | 55 |
| 5 | 90 |
| 6 | 110 |

The operator buys and sells at these hourly prices. Maximise the profit in EUR over the 6 hours.
The battery must end with the same energy as at the beginning.
""",
    {},
    {"battery.energy_capacity": 4000, "battery.charge_power_max": 2000,
     "battery.discharge_power_max": 2000, "battery.charge_efficiency": 0.95,
     "battery.initial_energy": 1000, "battery.minimum_energy": 400},
    ("battery_state_of_charge[last(I)] == battery_state_of_charge[first(I)]",),
    "maximize",
    6,
)  # fmt: skip

TEXTS["inline_list"] = Text(
    """# Eight hours

A 100 kWh battery may charge or discharge with at most 25 kW. It loses 4 % when charging and 5 % when
discharging. It starts empty. The prices for the eight hourly periods starting at 08:00 are
20, 18, 25, 60, 75, 40, 22 and 90 EUR/MWh. Find the schedule with the highest profit.
""",
    {},
    {"battery.energy_capacity": 100, "battery.charge_power_max": 25,
     "battery.discharge_power_max": 25, "battery.charge_efficiency": 0.96,
     "battery.discharge_efficiency": 0.95, "battery.initial_energy": 0},
    (),
    "maximize",
    8,
    "08:00",
)  # fmt: skip

TEXTS["behind_the_meter"] = Text(
    """# Household with PV

A household has a PV system and a 10 kWh battery with a power rating of 5 kW. One-way efficiency is 95 %
for both charging and discharging. The battery is at 2 kWh at midnight.

The file `home.csv` contains for each of the 24 hours the load (`load_kw`) and the PV production (`pv_kw`) in kW.

Electricity is bought at 32 ct/kWh from 17:00 to 21:00 and at 24 ct/kWh at all other times. Surplus fed into
the grid earns 7 ct/kWh. The grid connection is limited to 12 kW in both directions.

Minimise the electricity cost for the day in euros.
""",
    {"home.csv": csv("time,load_kw,pv_kw", 24, wave(0.3, 2.5, 7), sun(6))},
    {"battery.energy_capacity": 10, "battery.charge_power_max": 5,
     "battery.discharge_power_max": 5, "battery.charge_efficiency": 0.95,
     "battery.discharge_efficiency": 0.95, "battery.initial_energy": 2,
     "grid.import_power_max": 12, "grid.export_power_max": 12},
)  # fmt: skip

TEXTS["quarter_hours_wear"] = Text(
    """# Quarter-hour market

We operate a 5 MWh / 2.5 MW battery on the quarter-hour market on 4 March 2025. Clearing prices (EUR/MWh) are given in
`qh.csv`, 96 rows, time stamps mark the beginning of the quarter hour (Europe/Berlin).
Charging efficiency 0.97, discharging efficiency 0.96. At the start 2.5 MWh are stored; at the end of the day
exactly 2.5 MWh must be stored again. Degradation costs 4 EUR per MWh of throughput (charged plus discharged energy).
No more than 1.5 full cycles per day are allowed. What is the maximum profit, net of degradation, in EUR?
""",
    {"qh.csv": csv("time,price", 96, wave(20, 140, 3), minutes=15)},
    {"battery.energy_capacity": 5000, "battery.charge_power_max": 2500,
     "battery.discharge_power_max": 2500, "battery.charge_efficiency": 0.97,
     "battery.discharge_efficiency": 0.96, "battery.initial_energy": 2500},
    ("battery_state_of_charge[last(I)] == battery_final_energy", "sum(battery_discharge"),
    "maximize",
    96,
    "2025-03-04T00:00",
)  # fmt: skip

TEXTS["hour_ending"] = Text(
    """# Hour-ending prices

A storage unit with a capacity of 800 kWh is dispatched over one day of 24 hours. Charging is limited to 200 kW and
discharging to 250 kW; the efficiencies are 92 % (charging) and 94 % (discharging). Initially it contains 100 kWh,
and its stored energy may never fall below 80 kWh.

| Hour ending | Price (EUR/MWh) |
|---|---|
"""
    + "".join(f"| {h} | {40 + (h * 7) % 60} |\n" for h in range(1, 25))
    + """
Determine the plan that maximizes the trading profit.
""",
    {},
    {"battery.energy_capacity": 800, "battery.charge_power_max": 200,
     "battery.discharge_power_max": 250, "battery.charge_efficiency": 0.92,
     "battery.discharge_efficiency": 0.94, "battery.initial_energy": 100,
     "battery.minimum_energy": 80},
    (),
    "maximize",
)  # fmt: skip

TEXTS["demand_charge"] = Text(
    """# Workshop with a demand charge

The workshop's load for the 24 hours of 4 March 2025 is in `load.csv` (kW). Electricity costs 0.21 EUR/kWh around the clock.
In addition, a demand charge of 3.5 EUR/kW applies to the highest import of the day. A battery of 60 kWh
with a charging and discharging power of at most 20 kW is available. Its efficiency is 95 % in each direction.
At the start of the day it holds 30 kWh and at the end of the day it must hold at least 30 kWh.
Nothing may be fed into the grid. Minimise the total cost in EUR.
""",
    {"load.csv": csv("time,load", 24, wave(10, 70, 1))},
    {"battery.energy_capacity": 60, "battery.charge_power_max": 20,
     "battery.charge_efficiency": 0.95, "battery.initial_energy": 30,
     "grid.export_power_max": 0},
    ("grid_import[t] <= grid_peak", "battery_state_of_charge[last(I)] >="),
)  # fmt: skip

TEXTS["two_batteries"] = Text(
    """# Two batteries

| Quantity | Battery A | Battery B |
|---|---|---|
| Energy capacity (kWh) | 200 | 500 |
| Charge power limit (kW) | 100 | 125 |
| Discharge power limit (kW) | 80 | 150 |
| Round-trip efficiency (%) | 90 | 81 |
| Initial energy (kWh) | 50 | 250 |

Both batteries trade on the day-ahead market (`spot.csv`, hourly, EUR/MWh). Round-trip losses are split equally
between charging and discharging. Maximise the joint profit for 4 March 2025 in EUR.
""",
    SPOT,
    {"battery_a.energy_capacity": 200, "battery_b.energy_capacity": 500,
     "battery_a.charge_power_max": 100, "battery_b.discharge_power_max": 150,
     "battery_b.charge_efficiency": 0.9, "battery_a.initial_energy": 50},
    (),
    "maximize",
)  # fmt: skip

TEXTS["rows_per_battery"] = Text(
    """# Fleet

| Battery | Capacity [kWh] | Max charge [kW] | Max discharge [kW] | Charge efficiency [%] | Discharge efficiency [%] | Initial SOC [%] |
|---|---|---|---|---|---|---|
| North | 300 | 100 | 100 | 95 | 94 | 20 |
| South | 400 | 150 | 120 | 96 | 95 | 50 |

Prices are in `spot.csv` in EUR/MWh for 24 hours. Maximise total revenue.
""",
    SPOT,
    {"north.energy_capacity": 300, "south.charge_power_max": 150,
     "north.discharge_efficiency": 0.94, "south.initial_energy": 200},
    (),
    "maximize",
)  # fmt: skip

TEXTS["zone_conductance"] = Text(
    """# Electric heating of a workshop

The workshop is modelled as a single thermal zone with a heat capacity of 18 MJ/K and a heat loss coefficient of
250 W/K to the outside. It is heated by an electric resistance heater of at most 8 kW. Outdoor temperature
(`t_out`, °C) and electricity price (`price`, EUR/kWh) are listed hourly in `day.csv` for 24 hours.
The temperature is 19 °C at the start. It must stay between 18 °C and 23 °C at all times.
Minimise the electricity cost over the day.
""",
    {"day.csv": csv("time,t_out,price", 24, wave(-4, 6, 3), wave(0.15, 0.4, 6))},
    {"zone.capacitance": 5, "zone.resistance": 4, "zone.initial_temperature": 19,
     "heater.electric_power_max": 8},
    ("<= zone_temperature[i] <=",),
)  # fmt: skip

TEXTS["heat_pump_bands"] = Text(
    """# Heat pump

- Building thermal capacitance: 12 kWh/K
- Thermal resistance (indoor to outdoor): 3.2 °C/kW
- Heat pump: COP 3.4, max. electrical power 5 kW
- Initial indoor temperature: 20 °C
- Comfort: between 20 and 24 °C from 07:00 to 22:00, otherwise at least 17 °C
- Outdoor temperature constant at -2 °C
- Electricity tariff: 0.35 EUR/kWh from 16:00 to 20:00, 0.20 EUR/kWh otherwise
- Horizon: 24 hours from midnight, in 30-minute steps

Minimise the cost of electricity.
""",
    {},
    {"zone.capacitance": 12, "zone.resistance": 3.2, "heat_pump.cop": 3.4,
     "heat_pump.electric_power_max": 5, "zone.initial_temperature": 20,
     "zone.ambient_temperature": -2},
    ("<= zone_temperature[i] <=",),
    periods=48,
    start="00:00",
)  # fmt: skip

TEXTS["fahrenheit"] = Text(
    """# Cooling-season check of a small store, heating case

The store has a thermal capacitance of 9000 BTU/°F and an envelope conductance of 600 BTU/h/°F. An electric heater
with a maximum power of 12 kW keeps it warm. At midnight the indoor temperature is 68 °F. It must never drop below
64 °F. Hourly outdoor temperatures in °F (`outdoor_F`) and prices in USD/kWh (`price_usd_per_kwh`) for the next 24 hours are in `wx.csv`.
Minimize the electricity cost in USD.
""",
    {"wx.csv": csv("time,outdoor_F,price_usd_per_kwh", 24, wave(20, 45, 2), wave(0.1, 0.3, 5))},
    {"zone.initial_temperature": 20, "heater.electric_power_max": 12,
     "zone.capacitance": 4.74775, "zone.resistance": 3.15939},
    ("<= zone_temperature[i]",),
)  # fmt: skip

TEXTS["thermal_output"] = Text(
    """# Heat pump rated by its heat

A single-zone house (thermal mass 8 kWh/K, UA value 0.3 kW/K) is heated by a heat pump that delivers at most 9 kW of heat
with a coefficient of performance of 3. The house is at 20 °C initially and must be kept at 19 °C or
more during the whole day; more than 23 °C is not allowed. Hourly outdoor temperatures and prices for
4 March 2025 are in `day.csv`. The aim is the lowest electricity bill in EUR.
""",
    {"day.csv": csv("time,outdoor_degC,price_eur_per_kwh", 24, wave(-6, 4, 3), wave(0.15, 0.4, 6))},
    {"zone.capacitance": 8, "zone.resistance": 1 / 0.3, "heat_pump.electric_power_max": 3,
     "heat_pump.cop": 3, "zone.initial_temperature": 20},
)  # fmt: skip

TEXTS["composite"] = Text(
    """# Building with a heat pump, PV and battery

The building is one zone: heat capacity 10 kWh/K, thermal resistance to the outside 4 K/kW, 20 °C at the start.
A heat pump with at most 4 kW electric power and a COP of 3 heats it. The temperature must lie between 19 °C and
23 °C at all times.

The battery stores 12 kWh, charges and discharges with at most 4 kW, has a round-trip efficiency of 90 % (split
equally), and is empty at the start.

`site.csv` holds, for 24 hours of 4 March 2025, the household load (`load_kw`), the available PV power
(`pv_kw`), the outdoor temperature (`t_out_c`, °C) and the import price (`import_eur_per_kwh`, EUR/kWh). PV can be curtailed.
Feed-in is remunerated with 0.08 EUR/kWh.

Minimise the electricity cost of the day in EUR.
""",
    {"site.csv": csv("time,load_kw,pv_kw,t_out_c,import_eur_per_kwh", 24, wave(0.4, 2, 7), sun(8), wave(-3, 7, 3), wave(0.2, 0.4, 6))},
    {"zone.capacitance": 10, "zone.resistance": 4, "heat_pump.electric_power_max": 4,
     "heat_pump.cop": 3, "battery.energy_capacity": 12, "battery.charge_power_max": 4,
     "battery.initial_energy": 0, "battery.charge_efficiency": 0.9**0.5},
)  # fmt: skip

TEXTS["two_zones_prose"] = Text(
    """# School

Two rooms are heated electrically: the gym and the library. The gym has a heat capacity of 20 kWh/K and a thermal
resistance to the outdoors of 2 K/kW; the library has a heat capacity of 5 kWh/K and a thermal resistance to the outdoors of
6 K/kW. The wall between them has a resistance of 8 K/kW. The heater in the gym has 20 kW, the heater in the library
5 kW. At the start, the gym is at 15 °C and the library is at 19 °C. The gym must never be colder than 14 °C, the
library never colder than 18 °C. Outdoor temperature is 0 °C throughout. Electricity costs 0.30 EUR/kWh from 08:00 to 20:00 and
0.18 EUR/kWh at all other times. Plan 24 hourly periods starting at midnight so that the electricity
cost is minimal.
""",
    {},
    {"gym.capacitance": 20, "library.capacitance": 5, "gym.resistance": 2,
     "library.resistance": 6, "gym_heater.electric_power_max": 20,
     "library_heater.electric_power_max": 5, "gym.initial_temperature": 15,
     "library.initial_temperature": 19},
    ("gym_temperature[i]", "library_temperature[i]"),
)  # fmt: skip

TEXTS["tariff_table"] = Text(
    """# Depot

Battery: 250 kWh, 100 kW charge and discharge, 93 % efficiency each way, starts the day full. It must be full again at the end of the day.

| Period | Hours | Price (EUR/kWh) |
|---|---|---|
| night | 00:00-06:00 | 0.14 |
| day | 06:00-17:00 | 0.22 |
| peak | 17:00-21:00 | 0.36 |
| evening | 21:00-24:00 | 0.18 |

The load profile is in `load.csv` (`load`, kW, hourly, 24 values). Export is not permitted. Minimise the energy cost for the day.
""",
    {"load.csv": csv("time,load", 24, wave(20, 110, 2))},
    {"battery.energy_capacity": 250, "battery.charge_power_max": 100,
     "battery.charge_efficiency": 0.93, "battery.initial_energy": 250, "grid.export_power_max": 0},
    ("battery_state_of_charge[last(I)] ==",),
)  # fmt: skip

TEXTS["developer"] = Text("""# Optimal operation of a grid-scale battery

A developer owns a lithium-ion battery with a rated power of 10 MW and an energy capacity of 40 MWh. The battery participates in the day-ahead electricity market as a price taker. Hourly prices in EUR/MWh for 24 hours are given in `prices.csv`.

The charging efficiency is 95% and the discharging efficiency is 95%. At the beginning of the day the state of charge is 20 MWh, and at the end of the day it has to be back at 20 MWh. To protect the cells, the state of charge must always remain between 4 MWh and 36 MWh. Simultaneous charging and discharging is not allowed.

Determine the charge and discharge schedule which maximises the revenue from energy arbitrage (EUR).
""",{"prices.csv":csv("time,price",24,wave(-20,110,4))},{"battery.charge_power_max":10000,"battery.energy_capacity":40000},sense="maximize")  # fmt: skip

TEXTS["peak_shaving"] = Text("""# Peak shaving at a cold store

**Background.** The cold store pays a demand charge of 12 EUR per kW on its highest quarter-hourly import of the day, on top of an energy price of 0.19 EUR/kWh. The management bought a battery to cut the peak.

**Data.** `profile.csv` lists the site demand in kW for 96 quarter hours of 10 June 2025.

**Battery.** Usable energy 300 kWh; maximum charging power 120 kW; maximum discharging power 150 kW; round-trip efficiency 85 % (apply the square root in each direction); initially 150 kWh; the final content shall not be less than 150 kWh.

**Rules.** No export to the grid. The demand must be covered at all times.

**Goal.** Minimise the sum of energy cost and demand charge in EUR.
""",{"profile.csv":csv("time,demand_kw",96,wave(80,260,3),start="2025-06-10 00:00",minutes=15)},{"battery.energy_capacity":300},periods=96)  # fmt: skip

TEXTS["lecture_hall"] = Text("""# Preheating a lecture hall

The lecture hall can be described by one thermal node. C = 14 kWh/K, R = 1.9 K/kW. Electric heating panels with a combined capacity of 25 kW convert electricity to heat one to one. The hall is at 16 °C at 00:00.

During the lecture hours 08:00 to 18:00 the temperature has to be within 20 °C and 25 °C; outside of these hours it must not drop below 14 °C.

Ambient temperature and spot price for each hour of 20 January 2025 are in `input.csv`, columns `T_amb` (°C) and `spot` (EUR/MWh).

Which heating schedule minimises the cost of electricity?
""",{"input.csv":csv("time,T_amb,spot",24,wave(-5,5,3),wave(40,160,5),start="2025-01-20 00:00")},{"zone.capacitance":14,"zone.resistance":1.9,"heater.electric_power_max":25})  # fmt: skip

TEXTS["home_bullets"] = Text("""# Home energy management

We look at a family home tomorrow, hour by hour.

* PV: forecast in column `pv` of `forecast.csv` (kW)
* Consumption: column `consumption` (kW)
* Battery: 8.5 kWh usable, max 4 kW in either direction, 96 % efficient each way, 20 % charged at the start, must not go below 10 %
* Tariff: 36 cents per kWh between 17:00 and 20:00, 22 cents per kWh between 00:00 and 06:00, 29 cents per kWh the rest of the day
* Feed-in tariff: 8 cents per kWh
* Grid connection: 10 kW import, 6 kW export

What is the cheapest way to run the battery? Give the daily cost in euros.
""",{"forecast.csv":csv("time,pv,consumption",24,sun(7),wave(0.3,3,8))},{"battery.energy_capacity":8.5,"battery.initial_energy":1.7,"grid.import_power_max":10,"grid.export_power_max":6})  # fmt: skip

TEXTS["symbols_table"] = Text("""# Heat pump for an apartment building

Building parameters:

| Parameter | Symbol | Value | Unit |
|---|---|---|---|
| Thermal capacity | C | 45 | kWh/K |
| Heat loss coefficient | UA | 1.2 | kW/K |
| Initial indoor temperature | T0 | 21 | °C |
| Maximum electric power of the heat pump | P_max | 15 | kW |
| Solar and internal gains | Q_g | 3 | kW |
| Minimum indoor temperature | T_min | 20 | °C |
| Maximum indoor temperature | T_max | 23 | °C |

The outdoor temperature, the COP of the heat pump and the electricity price vary over the day; they are given hourly in `series.csv` (`t_outdoor` in °C, `cop`, `price` in ct/kWh (EUR)). The indoor temperature must stay between the minimum and the maximum at all times. At the end of the day the indoor temperature must not be lower than at the beginning.

Find the operation of the heat pump with minimal electricity cost in EUR for the 24 hours.
""",{"series.csv":csv("time,t_outdoor,cop,price_eur_per_kwh",24,wave(-8,3,3),wave(2.4,3.6,3),wave(0.15,0.4,6))},{"zone.capacitance":45,"zone.resistance":1/1.2,"heat_pump.electric_power_max":15})  # fmt: skip

TEXTS["shared_connection"] = Text("""# Two storage units at one connection

Two storage units share a grid connection of 150 kW (both directions).

Battery 1 has a capacity of 250 kWh, can be charged at up to 100 kW and discharged at up to 120 kW, and starts with 50 kWh. Battery 2 has a capacity of 400 kWh, can be charged at up to 80 kW and discharged at up to 80 kW, and starts with 200 kWh. Both have a charging efficiency of 94 % and a discharging efficiency of 95 %.

Prices: `spot.csv` (EUR/MWh, 24 h). Each battery must end the day with at least its initial energy. Maximise profit.
""",SPOT,{"battery_1.energy_capacity":250,"battery_2.energy_capacity":400,"battery_2.initial_energy":200,"battery_1.charge_efficiency":.94,"battery_2.charge_efficiency":.94},sense="maximize")  # fmt: skip

TEXTS["off_peak_hours"] = Text("""# Night-time charging

Subject: battery at the quarry

Hello,

our quarry draws the load in `quarry.csv` (kW, one value per hour, 1 April 2025, 00:00 to 24:00). The tariff is 0.31 EUR/kWh during peak hours (07:00-20:00) and 0.17 EUR/kWh during off-peak hours. We have a battery: 500 kWh, 200 kW, round trip 88 %. It is half full at midnight and should be at least half full again at the end of the day. We are not allowed to feed in. The transformer limits our purchase to 400 kW.

What does the cheapest day cost?

Regards
""",{"quarry.csv":csv("time,load_kw",24,wave(50,380,1),start="2025-04-01 00:00")},{"battery.energy_capacity":500,"battery.charge_power_max":200,"grid.import_power_max":400})  # fmt: skip

TEXTS["forward_euler"] = Text("""# Greenhouse heating

A greenhouse has a heat capacity of 2.5 kWh/K and loses heat to the surroundings at a rate of 0.4 kW per kelvin of temperature difference. It is heated with an electric heater of 12 kW. The crop requires at least 15 °C at night (from 20:00 to 06:00) and at least 18 °C during the day (from 06:00 to 20:00). The temperature may never exceed 26 °C. The starting temperature is 18 °C at 12:00. Plan the following 24 hours in steps of 30 minutes. The outdoor temperature is a constant 4 °C. Electricity costs 0.25 EUR/kWh. Use the forward Euler method. Minimise the heating cost.
""",{},{"zone.resistance":2.5,"heater.electric_power_max":12},periods=48,start="12:00")  # fmt: skip

TEXTS["four_hour_rows"] = Text("""# Microgrid battery

Time | Load (kW) | PV (kW) | Buy (EUR/kWh) | Sell (EUR/kWh)
---|---|---|---|---
00:00 | 20 | 0 | 0.18 | 0.05
04:00 | 22 | 0 | 0.18 | 0.05
08:00 | 45 | 30 | 0.28 | 0.08
12:00 | 40 | 80 | 0.22 | 0.06
16:00 | 60 | 25 | 0.35 | 0.10
20:00 | 35 | 0 | 0.26 | 0.08

Each row is a four-hour block. The battery (capacity 150 kWh, power 40 kW for charging and 40 kW for discharging) has efficiencies of 0.96 (charge) and 0.94 (discharge). SOC at the start: 30 kWh. SOC at the end: at least 30 kWh. Surplus PV may be curtailed.

Minimise the total energy cost.
""",{},{"battery.energy_capacity":150,"battery.charge_power_max":40},periods=6)  # fmt: skip

TEXTS["telegram"] = Text("""# Storage schedule

Capacity: 50 MWh. Power: 12.5 MW charge, 12.5 MW discharge. Efficiency: 92% charge, 92% discharge. Start: 10 MWh. End: ≥ 10 MWh. Minimum level: 5 MWh. Market prices (`mkt.csv`): EUR/MWh, hourly, 48 hours starting 1 July 2025 00:00 Europe/Paris. Objective: maximise profit.
""",{"mkt.csv":csv("time,price",48,wave(20,130,4),start="2025-07-01 00:00")},{"battery.energy_capacity":50000,"battery.charge_power_max":12500},sense="maximize",periods=48)  # fmt: skip

TEXTS["facility"] = Text("""# Day-ahead arbitrage, Wednesday

The storage facility at Nordhafen has an energy capacity of 12 MWh. Its inverter is rated at 6 MW, which limits both charging and discharging.
Round-trip efficiency: 88 %. Assume the losses are shared equally between charging and discharging, i.e. each direction has an efficiency equal to the square root of the round-trip value.
The usable state-of-charge range is 5 % to 95 % of the capacity. At midnight the facility is at 50 % and it must return to 50 % by the end of the day.
Prices in EUR/MWh for the 24 hours of 12 March 2025 are listed in `da.csv`. The facility is a price taker, buys and sells at the same price.
Cycling costs amount to 6 EUR per MWh discharged.
We want to maximise the net profit in EUR.
""",{"da.csv":csv("time,price_eur_mwh",24,wave(20,140,4),start="2025-03-12 00:00")},{"battery.energy_capacity":12000},sense="maximize")  # fmt: skip

TEXTS["supermarket"] = Text("""# Supermarket

The supermarket's electricity demand and the output of its rooftop PV plant on 3 June 2025 are recorded in `market.csv` in 15-minute resolution (columns `demand_kw` and `pv_kw`). 

Grid electricity is priced at 0.34 EUR/kWh between 08:00 and 20:00 and at 0.21 EUR/kWh outside these hours. Excess PV power is exported and remunerated at 0.06 EUR/kWh; the export must not exceed 50 kW. The PV plant can be curtailed.

A lithium-ion battery is installed:

| Property | Value |
|---|---|
| Usable capacity | 120 kWh |
| Max. charging power | 60 kW |
| Max. discharging power | 60 kW |
| Charging efficiency | 95 % |
| Discharging efficiency | 95 % |
| State of charge at 00:00 | 60 kWh |

At the end of the day the battery must contain at least as much energy as at the start. Find the operation that minimises the net electricity cost (purchases minus export revenue) in EUR.
""",{"market.csv":csv("time,demand_kw,pv_kw",96,wave(30,120,3),sun(150),start="2025-06-03 00:00",minutes=15)},{"battery.energy_capacity":120},periods=96)  # fmt: skip

TEXTS["town_hall"] = Text("""# Pre-heating the town hall

The town hall is represented by a first-order RC model with C = 30 kWh/K and R = 1.5 K/kW. On 8 January 2025 the outdoor temperature follows the forecast in `forecast.csv` (column `temp_c`), and electricity is bought at the spot price in the same file (column `price_eur_per_mwh`).

An air-source heat pump with a rated electrical power of 12 kW supplies heat; its COP is 2.8 and may be assumed constant. Internal gains amount to 5 kW between 08:00 and 17:00 and to 1 kW at all other times.

The initial indoor temperature is 18 °C. During office hours (08:00-17:00) the temperature must be kept between 20 °C and 24 °C. At all other times it must not fall below 16 °C and must not rise above 26 °C.

The resolution is one hour. Minimise the electricity cost.
""",{"forecast.csv":csv("time,temp_c,price_eur_per_mwh",24,wave(-7,2,3),wave(50,180,6),start="2025-01-08 00:00")},{})  # fmt: skip

TEXTS["greek_letters"] = Text("""# Battery behind a factory meter

- Load: `load_kw` in `factory.csv` (24 h, hourly values in kW)
- Import price: `import_price` (EUR/MWh) in the same file
- Export price: `export_price` (EUR/MWh) in the same file
- Import limit 800 kW, export limit 300 kW
- Battery: capacity 1 MWh; charging ≤ 400 kW; discharging ≤ 400 kW; η_charge = 0.95; η_discharge = 0.95
- SOC(0) = 500 kWh, SOC(end) ≥ 500 kWh, SOC ≥ 100 kWh always
- Objective: minimise cost
""",{"factory.csv":csv("time,load_kw,import_price,export_price",24,wave(200,700,2),wave(90,220,6),wave(40,100,6))},{"battery.initial_energy":500,"battery.charge_efficiency":.95,"battery.minimum_energy":100})  # fmt: skip

TEXTS["cottage"] = Text("""# Cottage

A cottage is heated with a 3 kW electric radiator. Thermal capacitance of the cottage: 7.2 MJ/K. Heat loss: 90 W/K. The owner wants at least 19 °C between 17:00 and 23:00, and at least 12 °C the rest of the time. The cottage is at 14 °C at midnight. It is 2 °C outside all day. Electricity costs 0.40 EUR/kWh from 06:00 to 22:00 and 0.25 EUR/kWh during the night (22:00 to 06:00). Consider one day in 15-minute steps.

Find the cheapest heating plan.
""",{},{"zone.capacitance":2,"zone.resistance":1000/90},periods=96)  # fmt: skip

TEXTS["blocks"] = Text("""# Merchant storage, six blocks

A 30 MWh storage (charging and discharging power 10 MW each, efficiency 90 % charging / 90 % discharging) is offered in six four-hour blocks. The block prices are:

| Block | Start | Price EUR/MWh |
|---|---|---|
| 1 | 00:00 | 40 |
| 2 | 04:00 | 35 |
| 3 | 08:00 | 80 |
| 4 | 12:00 | 45 |
| 5 | 16:00 | 120 |
| 6 | 20:00 | 70 |

The storage is empty at the beginning and can be left empty at the end. What is the maximum revenue in EUR?
""",{},{"battery.energy_capacity":30000,"battery.charge_power_max":10000},sense="maximize",periods=6)  # fmt: skip

TEXTS["standing_loss"] = Text("""# Storage with standing losses

A thermal... no: an electric storage of 5 MWh has a self-discharge of 0.2 % per hour. Charging power max 1 MW, discharging power max 1 MW, one-way efficiency 95 %. Initially 2 MWh, finally at least 2 MWh. Maximise the profit against the prices in `spot.csv` (EUR/MWh, 24 hourly values).
""",SPOT,{},sense="maximize")  # fmt: skip

TEXTS["house_with_everything"] = Text("""# House with everything

A detached house has a rooftop PV system, a home battery and an air-to-water heat pump. All three and the household load share one grid connection, from which at most 11 kW can be drawn and into which at most 7 kW may be fed.

The house is one thermal zone with a heat capacity of 8 kWh/K and a heat transfer coefficient of 0.2 kW/K to the outside air. At the start it is 20.5 °C warm. The indoor temperature has to stay between 20 °C and 22.5 °C.

The heat pump can draw up to 3 kW of electricity; the COP is in the column `cop`. The battery has 10 kWh, 5 kW charging and discharging power, 95 % efficiency in each direction and is half full at the start; at the end it must be at least half full.

`house.csv` contains 24 hourly rows for 2 February 2025 with the columns `load_kw`, `pv_kw`, `t_out_degC`, `cop` and `price_eur_per_kwh`. Feed-in is paid with 7.5 ct/kWh. PV power may be curtailed.

Minimise the electricity costs of the day.
""",{"house.csv":csv("time,load_kw,pv_kw,t_out_degC,cop,price_eur_per_kwh",24,wave(0.4,2,7),sun(6),wave(-4,5,3),wave(2.5,3.5,3),wave(0.2,0.4,6),start="2025-02-02 00:00")},{})  # fmt: skip

TEXTS["symbols_inline"] = Text("""# BESS dispatch problem

Parameters: E = 100 kWh (energy capacity), P_ch = 50 kW (max charging power), P_dis = 50 kW (max discharging power), eta_ch = 0.9 (charging efficiency), eta_dis = 0.9 (discharging efficiency), SOC_0 = 50 kWh (initial state of charge). Time step: 1 h. Horizon: 8 h.

Prices [EUR/kWh]: 0.10, 0.08, 0.12, 0.25, 0.30, 0.28, 0.15, 0.11.

Requirements:
1. The state of charge must remain between 10 kWh and 90 kWh.
2. The final state of charge must equal the initial state of charge.
3. Charging and discharging must not occur simultaneously.

Objective: maximise revenue.
""",{},{"battery.initial_energy":50},sense="maximize",periods=8)  # fmt: skip

TEXTS["farm"] = Text("""# Farm with PV, wind and battery

The farm's load (kW) and PV generation (kW) for 24 hours are in `farm.csv`. Surplus cannot be exported. The grid supplies at most 60 kW at 0.30 USD/kWh (9 am to 9 pm) and 0.15 USD/kWh (other hours). The battery has 80 kWh; it charges at up to 20 kW with 94% efficiency and discharges at up to 25 kW with 94% efficiency. Initial charge 40 kWh, final charge at least 40 kWh, minimum charge 8 kWh. PV can be curtailed at no cost.

Minimise the energy bill in USD.
""",{"farm.csv":csv("time,load,pv",24,wave(10,45,2),sun(50))})  # fmt: skip

TEXTS["cold_room"] = Text("""# Fridge warehouse

The cold room must be kept between −24 °C and −18 °C. It starts at −20 °C. Its thermal capacitance is 40 kWh/K and the thermal resistance to the surroundings, which are at 20 °C, is 5 K/kW. A refrigeration machine with a COP of 2 and an electric power of up to 8 kW cools it. The electricity price for the 24 hours of 4 March 2025 is in `spot.csv`. Minimise the electricity cost in EUR.
""",SPOT)  # fmt: skip

TEXTS["plus_minus"] = Text("""# Merchant battery with fee-free trading

Battery: 10 MWh, ±5 MW, 90 % round trip. Start empty, end free. Prices for the next 24 hours in `spot.csv`, EUR/MWh. No wear cost. Maximize revenue.
""",SPOT,sense="maximize")  # fmt: skip

TEXTS["laboratory"] = Text("""# Lab

Keep the laboratory at 21 °C to 23 °C around the clock. Heat capacity 3 kWh/K; heat loss 0.15 kW/K; equipment releases 0.8 kW continuously. Heating: direct electric, 4 kW. It is 22 °C inside at the start, and 3 °C outside. Electricity: 0.3 EUR/kWh. Simulate 12 hours in 10-minute steps. What is the cheapest heating plan?
""",{},periods=72)  # fmt: skip
