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
) -> str:  # noqa: E501
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
     "zone.capacitance": 4.7476, "zone.resistance": 3.158},
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
    {"site.csv": csv("time,load_kw,pv_kw,t_out_c,import_eur_per_kwh", 24, wave(0.4, 2, 7), sun(8), wave(-3, 7, 3), wave(0.2, 0.4, 6))},  # noqa: E501
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
