# ruff: noqa: E501
"""Problem texts in many wordings with what an audit has to say of them. None is a corpus problem."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import cos, pi, sin

Series = float | Callable[[float], float]


def csv(header: str, rows: int, *series: Series) -> str:
    """Return a CSV file with hourly time stamps and columns of numbers."""
    lines = [header]
    for k in range(rows):
        cells = [f"{s(k) if callable(s) else s:.4f}" for s in series]
        lines.append(",".join([f"2025-11-{11 + k // 24:02d} {k % 24:02d}:00", *cells]))
    return "\n".join(lines) + "\n"


def price(hour: float) -> float:
    """Return a spot price in EUR/MWh."""
    return 70 - 40 * cos((hour - 4) * pi / 12)


def frost(hour: float) -> float:
    """Return an outdoor temperature of a cold day in °C."""
    return -6 + 3 * sin((hour - 9) * pi / 12)


def sun(hour: float) -> float:
    """Return the power of some panels in kW."""
    return max(0.0, 30 * sin((hour - 6) * pi / 12))


SPOT = {"market.csv": csv("time,price_eur_per_mwh", 24, price)}
WEATHER = {"weather.csv": csv("time,t_out,price", 24, frost, 0.28)}
SITE = {"site.csv": csv("time,load_kw,pv_kw", 24, 40.0, sun)}


@dataclass(frozen=True)
class Case:
    """A text with its files, and the verdict, code, subject and words of the finding to come."""

    text: str
    files: Mapping[str, str]
    verdict: str
    code: str = ""
    subject: str = ""
    quotes: tuple[str, ...] = field(default=())


def trading(extra: str = "", **changes: str) -> str:
    """Return the text of a trading battery with words replaced and sentences added."""
    text = f"""# Trading with a container

Our container battery trades on the day-ahead market. Its usable capacity is 3 MWh. It can be
charged with up to 1.2 MW and discharged with up to 1.2 MW; the efficiency is 95 % when charging
and 94 % when discharging. At the beginning of the day it holds 1.5 MWh. The 24 hourly prices are
in `market.csv` in EUR/MWh. {extra}

We want the highest profit in EUR.
"""
    for old, new in changes.items():
        assert WORDS[old] in text
        text = text.replace(WORDS[old], new)
    return text


WORDS = {
    "capacity": "usable capacity is 3 MWh",
    "charge": "charged with up to 1.2 MW",
    "efficiency": "95 % when charging",
    "start": "it holds 1.5 MWh",
    "goal": "We want the highest profit in EUR.",
    "unit": "in EUR/MWh",
    "file": "`market.csv`",
}


def room(
    heat: str = "an electric heater of at most 8 kW, all of which becomes heat",
    limits: str = "The indoor temperature must not fall below 19 °C and must not rise above 24 °C.",
    start: str = "It is 21 °C inside when the day begins.",
    walls: str = "The thermal resistance to the outdoors is 5 K/kW",
    mass: str = "walls and air store 4 kWh/K",
    extra: str = "",
) -> str:
    """Return the text of a heated room, made of its sentences."""
    return f"""# A studio in winter

A studio is heated by {heat}. {walls}, and the heat capacity is given by what {mass}. {start}
{limits} Outdoor temperature (`t_out`, °C) and electricity price (`price`, EUR/kWh) are listed in
`weather.csv` for 24 hours. {extra}

Minimise the cost of electricity in EUR.
"""


def site(limits: str = "", battery: str = "", extra: str = "") -> str:
    """Return the text of a site with load, panels, a battery and a grid connection."""
    battery = battery or (
        "A battery of 60 kWh charges and discharges with at most 20 kW; charging efficiency 96 %, "
        "discharging efficiency 96 %. It starts the day half full."
    )
    return f"""# A dairy with panels

The demand (`load_kw`, kW) and the available solar power (`pv_kw`, kW) of a dairy are in
`site.csv` for 24 hours. {battery} {limits} Electricity from the grid costs 0.31 EUR/kWh, and
feed-in earns 0.07 EUR/kWh. {extra}

Which schedule has the lowest cost in EUR?
"""


CASES: dict[str, Case] = {
    # --- complete ---------------------------------------------------------------------------
    "trading": Case(trading(), SPOT, "complete"),
    "room": Case(room(), WEATHER, "complete"),
    # --- missing ----------------------------------------------------------------------------
    "no capacity": Case(
        trading(capacity="container is painted green"), SPOT, "missing", "missing-value", "battery.energy_capacity"),
    "no efficiency": Case(
        trading().replace("; the efficiency is 95 % when charging\nand 94 % when discharging", ""),
        SPOT, "missing", "missing-value", "battery.charge_efficiency"),
    "no start": Case(
        trading().replace(" At the beginning of the day it holds 1.5 MWh.", ""),
        SPOT, "missing", "missing-value", "battery.initial_energy"),
    "no objective": Case(trading(goal="Thanks for having a look."), SPOT, "missing", "missing-objective", "objective.sense"),
    "no horizon": Case(
        trading().replace("The 24 hourly prices are\nin `market.csv` in EUR/MWh.", "Electricity is bought and sold at 80 EUR/MWh.").replace("of the day ", ""),
        {}, "missing", "missing-horizon", "time.periods"),
    "file absent": Case(trading(file="`exchange.csv`"), SPOT, "missing", "missing-file", "data.exchange.csv", ("exchange.csv",)),
    "series too short": Case(
        trading(), {"market.csv": csv("time,price_eur_per_mwh", 20, price)}, "missing", "series-too-short", "data.periods"),
    "column absent": Case(
        room().replace("`t_out`", "`outdoor`"), {"weather.csv": csv("time,humidity,price", 24, 0.6, 0.28)},
        "missing", "missing-column", "data.outdoor", ("`outdoor`",)),
    "no resistance": Case(
        room(walls="The studio faces north"), WEATHER, "missing", "missing-value", "zone.resistance"),
    "no power of the heater": Case(
        room(heat="an electric heater, all of whose power becomes heat"), WEATHER, "missing", "missing-value", "heater.electric_power_max"),
    "no cop": Case(
        room(heat="a heat pump that draws at most 3 kW of electricity"), WEATHER, "missing", "missing-value", "heat_pump.cop"),
    "budget nobody gives": Case(
        trading("The agreed cycle budget must be respected."), SPOT, "missing", "unknown-limit", "requirement.agreed cycle budget"),
    "contracted limit nobody gives": Case(
        site("Purchases must stay below the contracted threshold."), SITE, "missing", "unknown-limit", "requirement.contracted threshold"),
    "setpoints nobody gives": Case(
        room(limits="The indoor temperature has to follow the night setpoint."), WEATHER, "missing", "unknown-limit", "requirement.night setpoint"),
    # --- contradictory ------------------------------------------------------------------------
    "two capacities": Case(
        trading("The battery stores 2.5 MWh."), SPOT, "contradictory", "two-values", "battery.energy_capacity", ("3 MWh", "2.5 MWh")),
    "two powers of the heater": Case(
        room(extra="The heater is rated at 5 kW."), WEATHER, "contradictory", "two-values", "zone_heater.electric_power_max", ("8 kW", "5 kW")),
    "start outside limits": Case(
        trading("The state of charge must never fall below 60 %."), SPOT, "contradictory", "limits-clash", "battery.state_of_charge", ("1.5 MWh", "60 %")),
    "minimum above maximum": Case(
        trading("The state of charge must be at least 70 % and at most 40 % at all times."), SPOT, "contradictory", "limits-clash", "battery.state_of_charge", ("70 %", "40 %")),
    "end above capacity": Case(
        trading("At the end of the day at least 3.4 MWh must be in the battery."), SPOT, "contradictory", "limits-clash", "battery.state_of_charge", ("3 MWh", "3.4 MWh")),
    "end out of reach": Case(
        trading("At the end of the day the battery must hold at least 2.9 MWh.", charge="charged with up to 40 kW"),
        SPOT, "contradictory", "infeasible", "battery.state_of_charge", ("40 kW", "2.9 MWh", "1.5 MWh")),
    "room begins too cold": Case(
        room(start="At the start it is at 16 °C."), WEATHER, "contradictory", "limits-clash", "zone.temperature", ("19 °C", "16 °C")),
    "heater too weak": Case(
        room(heat="an electric heater of at most 2 kW"), WEATHER, "contradictory", "infeasible", "zone.temperature", ("2 kW", "5 K/kW")),
    "limits of a room cross": Case(
        room(limits="At no time may it be colder than 23 °C inside, nor warmer than 20 °C.", start="At the start it is at 21 °C."),
        WEATHER, "contradictory", "limits-clash", "zone.temperature", ("23 °C", "20 °C")),
    "connection too small": Case(
        site("At most 12 kW may be imported from the grid."), SITE, "contradictory", "infeasible", "", ("12 kW",)),
    "turbine, classic": Case(
        """# A turbine for one day

The plan covers 24 hours. The minimum output of the turbine is 80 MW, since it cannot be switched
off. According to the contract its daily total is 1 000 MWh. What is the cheapest schedule?
""", {}, "contradictory", "energy-against-power", "", ("1 000 MWh",)),
    "engine that may not stop": Case(
        """# Biogas engine

The engine must run around the clock and never delivers less than 300 kW. Gas suffices for at most
6 MWh per day. Minimise the cost of gas in EUR.
""", {}, "undecided"),
    "connection and offtake": Case(
        """# Offtake of a mill

No more than 150 kW can be drawn from the grid at any moment. The supplier obliges the mill to buy
at least 4 MWh over the whole day of 24 hours. Minimise the bill in EUR.
""", {}, "contradictory", "energy-against-power", "", ("4 MWh",)),
    # --- suspicious ---------------------------------------------------------------------------
    "cop of 30": Case(
        room(heat="a heat pump that draws at most 3 kW of electricity with a COP of 30"), WEATHER, "suspicious", "implausible-value", "zone_heater.cop", ("30",)),
    "cop of 9.5": Case(
        room(heat="a heat pump that draws at most 3 kW of electricity with a COP of 9.5"), WEATHER, "suspicious", "unusual-value", "zone_heater.cop", ("9.5",)),
    "efficiency above one": Case(trading(efficiency="1.05 when charging"), SPOT, "suspicious", "implausible-value", "battery.charge_efficiency", ("1.05",)),
    "per cent left out": Case(trading(efficiency="93 when charging"), SPOT, "suspicious", "implausible-value", "battery.charge_efficiency", ("93",)),
    "per cent of a fraction": Case(trading(efficiency="0.95 % when charging"), SPOT, "suspicious", "implausible-value", "battery.charge_efficiency", ("0.95 %",)),
    "efficiency of a third": Case(trading(efficiency="40 % when charging"), SPOT, "suspicious", "unusual-value", "battery.charge_efficiency", ("40 %",)),
    "capacity as a power": Case(trading(capacity="usable capacity is 3 MW"), SPOT, "suspicious", "confused-unit", "battery.energy_capacity", ("3 MW",)),
    "power as an energy": Case(trading(charge="charged with up to 1.2 MWh"), SPOT, "suspicious", "confused-unit", "battery.charge_power_max", ("1.2 MWh",)),
    "negative capacity": Case(trading(capacity="usable capacity is -3 MWh"), SPOT, "suspicious", "implausible-value", "battery.energy_capacity", ("-3 MWh",)),
    "kelvin": Case(room(start="At the start it is at 294 °C."), WEATHER, "suspicious", "implausible-value", "zone.initial_temperature", ("294 °C",)),
    "fahrenheit": Case(room(start="At the start it is at 70 °C."), WEATHER, "suspicious", "implausible-value", "zone.initial_temperature", ("70 °C",)),
    "band turned round": Case(
        room(limits="The indoor temperature must stay between 24 °C and 19 °C."), WEATHER, "suspicious", "band-reversed", "zone.temperature", ("24 °C and 19 °C",)),
    "band turned round, with a dash": Case(
        room(limits="Keep the indoor temperature at 24–19 °C at all times."), WEATHER, "suspicious", "band-reversed", "zone.temperature", ()),
    "full in seconds": Case(
        trading(capacity="usable capacity is 3 kWh", start="it holds 1.5 kWh"), SPOT, "suspicious", "out-of-proportion", "battery.energy_capacity/charge_power_max", ("3 kWh", "1.2 MW")),
    "prices per kWh": Case(trading(unit="in EUR/kWh"), {"market.csv": csv("time,price", 24, price)}, "suspicious", "unusual-value", "site.price"),
    "tariff per kWh": Case(
        site().replace("0.31 EUR/kWh", "310 EUR/kWh"), SITE, "suspicious", "unusual-value", "site.import_price", ("310 EUR/kWh",)),
    "weather in kelvin": Case(
        room(), {"weather.csv": csv("time,t_out,price", 24, lambda h: 273.15 + frost(h), 0.28)}, "contradictory", "unusual-value", "zone.ambient_temperature"),
    "room that cools in minutes": Case(
        room(mass="walls and air store 0.02 kWh/K", heat="an electric heater of at most 30 kW"), WEATHER, "suspicious", "out-of-proportion", ""),
    "heat capacity without degrees": Case(
        room(mass="the walls do", extra="The heat capacity is 4 kWh."), WEATHER, "suspicious", "confused-unit", "zone.capacitance", ("4 kWh",)),
}  # fmt: skip


CASES |= {
    # --- what a text says itself to be unknown ----------------------------------------------
    "record is lost": Case(
        """# A chiller at a dairy

The compressor of the dairy cools 40 kW on 3 May 2026 from 06:00 to 10:00. Its efficiency was measured once,
but the record is lost. A kWh costs 0.30 EUR. What is the least cost in EUR?
""", {}, "missing", "said-unknown", "text.efficiency", ("record is lost",)),
    "premium to be announced": Case(
        site(extra="The grid operator pays a premium for what we do not draw at noon; its rate is still to be announced."),
        SITE, "missing", "said-unknown", "text.rate"),
    "cells withheld": Case(
        """# Six hours

| Hour | Price (EUR/MWh) | Load (kW) |
|---|---|---|
| 08:00 | 80 | 12 |
| 09:00 | n/a | 14 |
| 10:00 | 75 | 13 |
| 11:00 | 71 | 12 |

Buy the energy of the load on 3 May 2026. What does it cost in EUR?
""", {}, "missing", "missing-cells", "data.Price (EUR/MWh)", ("n/a",)),
    # --- limits and bans that no plan meets ---------------------------------------------------
    "supply water": Case(
        """# Heating circuit

On 3 May 2026 the boiler runs. The supply water must never be warmer than 45 °C because of the screed. By order of
the hygienist the supply water must at no time fall below 55 °C. What is the least cost in EUR?
""", {}, "contradictory", "limits-opposed", "supply water.temperature", ("45 °C", "55 °C")),
    "ban and duty": Case(
        """# Panels on a barn

The panels give 20 kW on 3 May 2026, 10:00 to 14:00. No energy may be exported between 10:00 and 14:00. The lease demands that
at least 30 kWh in these hours must be exported. What is the best plan?
""", {}, "contradictory", "energy-against-power", "", ("30 kWh", "No energy")),
}  # fmt: skip

INNOCENT: dict[str, tuple[str, Mapping[str, str]]] = {
    "numbers in strange words": (
        """# A drum of energy

Our accumulator swallows 12 kW and spits out 11 kW; a dozen times 5 kWh go into it. Of ten units that go in nine come
out. At dawn it is as good as drained. Energy is 30 ct/kWh till noon and 20 ct/kWh after it (euro cents), on 3 May 2026
from 06:00 to 18:00 by the hour. The shop wants 4 kW without a pause. Least money, in EUR?
""",
        {},
    ),
    "losses told without a number": (
        trading().replace(
            "the efficiency is 95 % when charging\nand 94 % when discharging",
            "it loses nothing on the way in or out",
        ),
        SPOT,
    ),
    "two masses in one sentence": (
        room(start="At the beginning the slab has 24 °C and the studio 20.5 °C."),
        WEATHER,
    ),
    "unknown in advance, but forecast": (
        trading("The real prices are not known in advance; the forecast is what counts."),
        SPOT,
    ),
    "unknown, but to be assumed": (
        site(extra="The age of the cells is unknown, so assume that they are as good as new."),
        SITE,
    ),
    "unknown, and something is taken instead": (
        site(extra="The fee of the operator is not known yet. Take 0.02 EUR/kWh for it."),
        SITE,
    ),
    "limits of two things": (
        """# Two circuits

On 3 May 2026 the boiler serves two circuits. The floor circuit must never be warmer than 45 °C. The tap water must never
be colder than 55 °C. What is the least cost in EUR?
""",
        {},
    ),
    "limits at two times": (
        """# Night setback

The supply water must never be colder than 55 °C by day, from 06:00 to 22:00. The supply water must not be warmer than 45 °C
from 22:00 to 06:00. What is the least cost in EUR on 3 May 2026?
""",
        {},
    ),
    "a ban for some hours": (
        """# Panels on a barn

The panels give 20 kW on 3 May 2026, 08:00 to 18:00. No energy may be exported between 10:00 and 14:00. The lease demands that
at least 30 kWh over the day must be exported. What is the best plan?
""",
        {},
    ),
    "a duty that may be bought off": (
        """# Panels on a barn

The panels give 20 kW on 3 May 2026, 10:00 to 14:00. No energy may be exported between 10:00 and 14:00. At least 30 kWh in these
hours must be exported, or a penalty of 12 EUR is due. What is the best plan?
""",
        {},
    ),
    "a list of things with a column in other words": (
        "# Cells\n\nPlan the cells of `cells.csv` for 3 May 2026 so that we earn most; a battery is made of them.\n",
        {"cells.csv": "cell,room_kwh,pump_kw\nA,12,3\nB,14,4\n"},
    ),
    "blocks beside hours": (
        """# Reserve in blocks

The battery of 2 MWh and 1 MW bids on 3 May 2026; reserve is sold in six blocks of four hours, energy by the hour.

| Block | Reserve (EUR/MW) |
|---|---|
| 0 | 4 |
| 4 | 5 |
| 8 | 9 |
| 12 | 8 |
| 16 | 12 |
| 20 | 6 |

Prices are in `market.csv`. What do we earn at best?
""",
        SPOT,
    ),
}
"""Texts in which nothing is missing and nothing clashes, whether the engine understands them or not."""
