"""Plain descriptions as engineers jot them down: units in one sentence, numbers as names."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

from engiagent.runs import run_problem
from tests.agents.support import analysed, parameter_values, solved

PRICES = (12, 11, 10, 10, 11, 13, 18, 24, 26, 22, 18, 15, 13, 12, 13, 15, 19, 27, 33, 35, 30, 24,
          18, 14)  # fmt: skip
SUPERMARKET = """# Supermarket

Our supermarket owns a 500 kWh battery that can be charged and discharged with up to 200 kW. The
round-trip efficiency is 90 %. {above}

| Hour | Price |
|---|---|
{rows}

We may buy and sell at these prices. The battery is empty at midnight and may be empty at the end of
the day. Maximise the profit in EUR.
"""
ROWS = "\n".join(f"| {hour} | {price} |" for hour, price in enumerate(PRICES))
ABOVE = (
    "On 3 May 2026 the prices per hour, starting at midnight, are (in ct/kWh):",
    "The hourly prices of 3 May 2026 from midnight on, in ct/kWh, are these:",
    "Hourly prices (ct/kWh) of 3 May 2026, beginning at midnight:",
)


def best_trade() -> float:
    """Return what the supermarket's battery earns at most, by matrices written by hand."""
    loss = np.sqrt(0.9)
    one = np.tril(np.ones((24, 24)))
    stored = np.hstack([one * loss, -one / loss])
    price = np.array(PRICES) / 100
    found = linprog(
        np.concatenate([price, -price]),
        np.vstack([stored, -stored]),
        np.repeat([500.0, 0.0], 24),
        bounds=(0, 200),
    )
    return float(-found.fun)


@pytest.mark.parametrize("above", ABOVE)
def test_a_column_takes_its_unit_from_the_sentence_above(tmp_path: Path, above: str) -> None:
    analysis = analysed(tmp_path, SUPERMARKET.format(above=above, rows=ROWS))
    assert analysis.complete, (analysis.not_understood, analysis.missing, analysis.ambiguous)
    status, objective = solved(analysis, tmp_path)
    assert status == "optimal"
    assert objective == pytest.approx(best_trade())


def test_the_checker_finds_that_unit_itself(tmp_path: Path) -> None:
    (tmp_path / "problem.md").write_text(SUPERMARKET.format(above=ABOVE[0], rows=ROWS))
    outcome = run_problem(tmp_path / "problem.md", "offline", tmp_path / "run")
    assert outcome.verdict == "certified"
    assert outcome.objective is not None
    assert outcome.objective["value"] == pytest.approx(best_trade())


@pytest.mark.parametrize(
    "above",
    [
        "The prices of 3 May 2026 are:",
        "The prices of 3 May 2026, in ct/kWh or EUR/MWh, are:",
        "The battery earns money (in EUR). The prices of 3 May 2026 are:",
    ],
)
def test_a_unit_that_is_not_said_is_not_invented(tmp_path: Path, above: str) -> None:
    assert not analysed(tmp_path, SUPERMARKET.format(above=above, rows=ROWS)).complete


# --- units that have numbers for names ------------------------------------------------------------

LOADS = (400, 520, 640, 790, 950, 1100, 980, 700)
HOSPITAL = """# Chillers

A hospital has two chillers. {first} delivers up to 800 kW of cooling with a COP of 5.2 and cannot
run below 200 kW. {second} delivers up to 500 kW with a COP of 4.1 and cannot run below 100 kW. The
cooling load on 5 July 2026 is given per hour from 08:00 to 16:00: {loads} kW. The load must be met
exactly in every hour. Electricity costs 0.18 EUR/kWh. Minimise the cost of electricity in EUR.
"""
SIZES = ((200, 800, 5.2), (100, 500, 4.1))


def cheapest_cold() -> float:
    """Return the least cost of the hospital's cold, hour by hour over all ways to switch."""
    total = 0.0
    for load in LOADS:
        ways = []
        for running in ((0,), (1,), (0, 1)):
            least, most = (sum(SIZES[k][end] for k in running) for end in (0, 1))
            if not least <= load <= most:
                continue
            rest, power = load - least, 0.0
            for k in running:  # the first is the better one
                more = min(rest, SIZES[k][1] - SIZES[k][0])
                power += (SIZES[k][0] + more) / SIZES[k][2]
                rest -= more
            ways.append(power)
        total += 0.18 * min(ways)
    return total


@pytest.mark.parametrize(
    ("first", "second"),
    [("Chiller 1", "Chiller 2"), ("Chiller no. 1", "Chiller no. 2"), ("Chiller 4", "Chiller 7")],
)
def test_numbers_behind_nouns_are_names(tmp_path: Path, first: str, second: str) -> None:
    text = HOSPITAL.format(first=first, second=second, loads=", ".join(map(str, LOADS)))
    analysis = analysed(tmp_path, text)
    assert analysis.complete, (analysis.not_understood, analysis.missing)
    status, objective = solved(analysis, tmp_path)
    assert status == "optimal"
    assert objective == pytest.approx(cheapest_cold())


@pytest.mark.parametrize(
    "changes",
    [
        {"second": "Chiller 1"},  # which is which?
        {"loads": "400, 520, 640"},  # from 08:00 to 16:00 are eight hours
        {"second": "Chiller 2, out of order until 10:00,"},
    ],
)
def test_names_and_times_that_do_not_fit_are_reported(
    tmp_path: Path, changes: Mapping[str, str]
) -> None:
    given = {"first": "Chiller 1", "second": "Chiller 2", "loads": ", ".join(map(str, LOADS))}
    assert not analysed(tmp_path, HOSPITAL.format(**{**given, **changes})).complete


# --- all units in one sentence -------------------------------------------------------------------

ISLAND = """# Island

{units} There is no grid connection. PV may be curtailed. The generator is off before the start.

| Time | Load (kW) | PV (kW) |
|---|---|---|
| 06:00 | 20 | 0 |
| 07:00 | 35 | 35 |
| 08:00 | 40 | 60 |
| 09:00 | 50 | 2 |

The date is 2 June 2026. Minimise the total cost in EUR.
"""
GENERATOR = "a diesel generator (10 kW to 60 kW when it runs, fuel cost 0.32 EUR/kWh)"
STORE = "a 100 kWh battery (30 kW each way, 95 % efficient each way, 50 kWh at the start)"
LISTS = (
    f"An island has {GENERATOR}, {STORE}, and a PV plant.",
    f"The island owns {STORE}, {GENERATOR} and a PV plant.",
    f"There is a PV plant, {STORE} and {GENERATOR}.",
    f"The site is equipped with {GENERATOR} and {STORE}, and with a PV plant.",
)


@pytest.mark.parametrize("units", LISTS)
def test_a_sentence_may_list_all_units(tmp_path: Path, units: str) -> None:
    analysis = analysed(tmp_path, ISLAND.format(units=units))
    assert analysis.complete, (analysis.not_understood, analysis.missing)
    assert analysis.blueprint is not None
    values = parameter_values(analysis.blueprint, tmp_path)
    assert float(values["battery.energy_capacity"]) == 100
    assert float(values["battery.charge_power_max"]) == 30
    numbers = {p.name: p.value for p in analysis.blueprint.core.parameters}
    assert (numbers["genset_min_power"], numbers["genset_power_max"]) == (10, 60)


@pytest.mark.parametrize(
    "units",
    [
        f"An island has {GENERATOR} and {STORE}, which must not run together, and a PV plant.",
        f"An island has {GENERATOR}, {STORE}, and a PV plant that only the battery may use.",
        f"An island has {GENERATOR}, a second one, {STORE}, and a PV plant.",
        f"An island has {GENERATOR}, {STORE}, and a PV plant of 80 kW that shares its inverter.",
    ],
)
def test_what_a_list_asks_besides_is_not_lost(tmp_path: Path, units: str) -> None:
    assert not analysed(tmp_path, ISLAND.format(units=units)).complete


# --- lists under a line, purposes, selling alone -------------------------------------------------

FACTORY_LOAD = (300, 300, 290, 290, 300, 350, 480, 700, 900, 950, 980, 940, 900, 920, 930, 880, 760,
                600, 500, 450, 400, 360, 330, 310)  # fmt: skip
FACTORY = """# Factory

A factory wants to use a battery (capacity 1 MWh, max. power 500 kW in both directions, efficiency
95 % for charging and 95 % for discharging) to reduce its electricity bill. {lead}

{loads}

The energy price is 0.15 EUR/kWh at all times and the demand charge is 10 EUR per kW of maximum grid
power. The battery starts at 500 kWh and has to end with at least 500 kWh. {export}

Determine the battery schedule that minimises the total cost in EUR.
"""
LEAD = "The load profile for 24 hours (kW) is:"
NO_EXPORT = "Feeding power into the grid is not allowed."


def factory(lead: str = LEAD, export: str = NO_EXPORT) -> str:
    return FACTORY.format(lead=lead, loads=", ".join(map(str, FACTORY_LOAD)), export=export)


def cheapest_factory() -> float:
    """Return the factory's least cost, by matrices over charge, discharge, import and peak."""
    one, none, flat = np.tril(np.ones((24, 24))), np.zeros((24, 24)), np.zeros((24, 1))
    stored = np.hstack([one * 0.95, -one / 0.95, none, flat])
    peak = np.hstack([none, none, np.eye(24), -np.ones((24, 1))])
    found = linprog(
        np.concatenate([np.zeros(48), np.full(24, 0.15), [10.0]]),
        np.vstack([stored, -stored, peak, -stored[-1:]]),
        np.concatenate([np.full(48, 500.0), np.zeros(24), [0.0]]),
        np.hstack([np.eye(24), -np.eye(24), -np.eye(24), flat]),
        -np.array(FACTORY_LOAD, dtype=float),
        bounds=[(0, 500)] * 48 + [(0, None)] * 25,
    )
    return float(found.fun)


def test_a_list_under_a_line_and_a_purpose(tmp_path: Path) -> None:
    (tmp_path / "problem.md").write_text(factory())
    outcome = run_problem(tmp_path / "problem.md", "offline", tmp_path / "run")
    assert outcome.verdict == "certified"
    assert outcome.objective is not None
    assert outcome.objective["value"] == pytest.approx(cheapest_factory())


@pytest.mark.parametrize(
    "text",
    [
        factory(lead="The load profile for 20 hours (kW) is:"),
        factory(lead="The load profile of the other site (kW) is:"),
        factory(lead="Half of the load profile for 24 hours (kW) is:"),
        factory(export="Feeding power into the grid is allowed."),
        factory(export="Feeding power into the grid is not allowed at noon."),
        factory().replace("maximum grid", "mean grid"),
        factory().replace("to reduce its electricity bill", "to reduce its load by 20 kW"),
    ],
)
def test_what_is_said_otherwise_is_no_factory_of_this_kind(tmp_path: Path, text: str) -> None:
    assert not analysed(tmp_path, text).complete


PARK = """# Wind farm

A 20 MW wind farm and a battery share a grid connection of 15 MW. The battery has an energy capacity
of 30 MWh and a power of 10 MW. Its charging efficiency is 0.95 and its discharging efficiency is
0.95. At the beginning of the horizon the battery is half full; the final state of charge is free.
The available wind power and market prices for the next {hours} hours are:

| t | Wind (MW) | Price (EUR/MWh) |
|---|---|---|
{rows}

Wind power can be curtailed at no cost. {more}Maximise the revenue from selling electricity on the
market, in EUR.
"""
WIND = ((18, 20), (19, 10), (12, 30), (5, 80), (4, 95), (15, 25))


def park(more: str = "", hours: int = 6) -> str:
    rows = "\n".join(f"| {t} | {wind} | {price} |" for t, (wind, price) in enumerate(WIND, 1))
    return PARK.format(rows=rows, more=more, hours=hours)


def test_who_only_sells_does_not_buy(tmp_path: Path) -> None:
    analysis = analysed(tmp_path, park())
    assert analysis.complete, (analysis.not_understood, analysis.ambiguous)
    assert any("nothing is drawn" in said for said in analysis.assumptions)
    count = len(WIND)
    one, none = np.tril(np.ones((count, count))), np.zeros((count, count))
    stored = np.hstack([one * 0.95, -one / 0.95, none, none])  # charge, discharge, wind, sale
    found = linprog(
        np.concatenate([np.zeros(3 * count), [-price for _, price in WIND]]),
        np.vstack([stored, -stored]),
        np.repeat([15.0, 15.0], count),
        np.hstack([-np.eye(count), np.eye(count), np.eye(count), -np.eye(count)]),
        np.zeros(count),
        bounds=[(0, 10)] * (2 * count) + [(0, wind) for wind, _ in WIND] + [(0, 15)] * count,
    )
    status, objective = solved(analysis, tmp_path)
    assert status == "optimal"
    assert objective == pytest.approx(-found.fun)


@pytest.mark.parametrize(
    "text",
    [
        park("Electricity can be bought at 50 EUR/MWh. "),
        park("The site needs 2 MW of electricity. "),
        park(hours=7),
    ],
)
def test_a_park_that_buys_or_lasts_otherwise_is_another(tmp_path: Path, text: str) -> None:
    analysis = analysed(tmp_path, text)
    assert not analysis.complete or not any("nothing is drawn" in a for a in analysis.assumptions)


# --- parameters as bullets, prices in brackets ----------------------------------------------------

TRADER = """# Trading

An energy trader operates a grid-scale battery with the following parameters:

- Energy capacity: 4 MWh
- Maximum charging power: 1 MW
- Maximum discharging power: 1 MW
- Charging efficiency: 92%
- Discharging efficiency: 92%
- Initial state of charge: 50%
- The state of charge at the end of the day must be equal to the initial state of charge.
- Minimum state of charge: {least}
- Maximum state of charge: 90%

The hourly day-ahead prices ($/MWh) for the 24 hours of the day are:

[{prices}]

Determine the optimal charging and discharging schedule that maximizes the total profit ($) over the
day. The battery cannot charge and discharge simultaneously.
"""


def trader(least: str = "10%", prices: tuple[int, ...] = PRICES) -> str:
    return TRADER.format(least=least, prices=", ".join(map(str, prices)))


def test_parameters_in_a_list_and_prices_in_brackets(tmp_path: Path) -> None:
    (tmp_path / "problem.md").write_text(trader())
    outcome = run_problem(tmp_path / "problem.md", "offline", tmp_path / "run")
    one, price = np.tril(np.ones((24, 24))), np.array(PRICES, dtype=float)
    stored = np.hstack([one * 0.92, -one / 0.92])
    found = linprog(
        np.concatenate([price, -price]),
        np.vstack([stored, -stored]),
        np.full(48, 1.6),
        stored[-1:],
        [0.0],
        bounds=(0, 1),
    )
    assert outcome.verdict == "certified"
    assert outcome.objective is not None
    assert outcome.objective["value"] == pytest.approx(-found.fun)


@pytest.mark.parametrize(
    "text",
    [
        trader(prices=PRICES[:20]),
        trader(least="10% at night"),
        trader(least="10% from 08:00 on"),
        trader().replace("day-ahead prices", "day-ahead loads"),
        trader().replace("- Charging efficiency: 92%\n", ""),
        trader().replace("The battery cannot", "- At noon it rests.\n\nThe battery cannot"),
    ],
)
def test_bullets_that_say_more_are_not_cut_short(tmp_path: Path, text: str) -> None:
    assert not analysed(tmp_path, text).complete


UNITS = """# Dispatch

Three generators supply a load over 6 hours. Their data are given in the table.

| Unit | Pmin (MW) | Pmax (MW) | Marginal cost ($/MWh) | Ramp limit (MW/h) |
|---|---|---|---|---|
| 1 | 50 | 200 | 20 | 50 |
| 2 | 40 | 150 | 28 | 40 |
| 3 | 20 | 100 | 35 | 30 |

{running} The hourly load in MW is 250, 280, 330, 370, 340, 290. Find the dispatch with the minimum
total generation cost in $.
"""


@pytest.mark.parametrize(
    ("running", "bound"),
    [
        ("All units are committed for the whole horizon.", 3),
        ("Every unit runs at all times.", 3),
        ("Unit 2 is in operation at all times.", 1),
    ],
)
def test_units_that_run_all_the_time(tmp_path: Path, running: str, bound: int) -> None:
    analysis = analysed(tmp_path, UNITS.format(running=running))
    assert analysis.complete, (analysis.not_understood, analysis.missing)
    assert analysis.blueprint is not None
    rows = [c.expression for c in analysis.blueprint.core.constraints]
    assert sum(f"unit_{k}_power[t] >= unit_{k}_min_power" in rows for k in (1, 2, 3)) == bound
    if bound == 3:
        assert solved(analysis, tmp_path)[1] == pytest.approx(43_550)  # by matrices, with ramps


# --- one car over one night -----------------------------------------------------------------------

CAR = """# Car

An electric car is plugged in at 18:00 and has to be ready at {ready}. {battery} The wall box
delivers up to 11 kW; 8 % of the energy is lost during charging. Discharging into the grid is not
possible.

The electricity price in ct/kWh, hour by hour from 18:00: 36, 38, 35, 31, 28, 25, 22, 20, 19, 19,
21, 25, 30.

The evening is that of 4 November 2026. What does the charging cost at least, in EUR?
"""
CHARGED = (
    "Its battery has 60 kWh; it arrives with 20 kWh and must be charged to 55 kWh.",
    "It has a battery of 60 kWh, arrives with 20 kWh and must be charged to at least 55 kWh.",
)


@pytest.mark.parametrize("battery", CHARGED)
def test_a_car_over_one_night(tmp_path: Path, battery: str) -> None:
    analysis = analysed(tmp_path, CAR.format(battery=battery, ready="07:00"))
    assert analysis.complete, (analysis.not_understood, analysis.missing, analysis.ambiguous)
    need, cost = 35 / 0.92, 0.0
    for price in sorted((36, 38, 35, 31, 28, 25, 22, 20, 19, 19, 21, 25, 30)):
        taken = min(11.0, need)
        cost, need = cost + taken * price / 100, need - taken
    assert solved(analysis, tmp_path)[1] == pytest.approx(cost)


@pytest.mark.parametrize(
    "text",
    [
        CAR.format(battery=CHARGED[0], ready="06:00"),
        CAR.format(battery=CHARGED[0], ready="07:00 or 09:00"),
        CAR.format(
            battery="Its battery has 60 kWh left and must be charged to 55 kWh.", ready="07:00"
        ),
        CAR.format(battery=CHARGED[0], ready="07:00").replace("is not\npossible", "is\npossible"),
        CAR.format(battery=f"{CHARGED[0]} At midnight it is unplugged.", ready="07:00"),
        CAR.format(battery=f"{CHARGED[0]} Two cars take turns.", ready="07:00"),
    ],
)
def test_a_car_that_does_otherwise_is_asked_about(tmp_path: Path, text: str) -> None:
    assert not analysed(tmp_path, text).complete


# --- a plant of three units in one sentence -------------------------------------------------------

NEEDS = ((250, 500), (240, 520), (260, 600), (400, 850), (600, 800), (650, 700), (640, 600),
         (620, 580), (560, 600), (480, 650), (400, 620), (300, 550))  # fmt: skip
COGENERATION = """# Cogeneration

A hospital operates a CHP unit with an electric capacity of 500 kW, an electric efficiency of 40 %
and a thermal efficiency of 45 %, a gas boiler with a capacity of 1000 kW and an efficiency of 90
%, and a hot-water storage with a capacity of 1500 kWh (maximum charging and discharging power 400
kW, no losses, initially 500 kWh, at least 500 kWh at the end). Natural gas costs 0.045 EUR/kWh.
Electricity can be bought at 0.22 EUR/kWh and sold at 0.09 EUR/kWh. The CHP can be modulated
between 50 % and 100 % of its capacity or switched off. Excess heat can be released to the
environment.

| Hour | Electricity demand (kW) | Heat demand (kW) |
|---|---|---|
{rows}

Each row holds for two hours. The day is 3 March 2026. Find the cheapest operation in EUR.
""".format(rows="\n".join(f"| {2 * k:02d}:00 | {e} | {h} |" for k, (e, h) in enumerate(NEEDS)))


def cheapest_hospital() -> float:
    """Return the hospital's least cost: CHP, on, boiler, in, out, bought and sold in 12 blocks."""
    count, hours = len(NEEDS), 2.0
    one, none = np.eye(count), np.zeros((count, count))
    electric, heat = (np.array(column, dtype=float) for column in zip(*NEEDS, strict=True))
    cost = np.repeat([0.045 / 0.4, 0.0, 0.045 / 0.9, 0.0, 0.0, 0.22, -0.09], count) * hours
    filled = np.tril(np.ones((count, count))) * hours
    stored = np.hstack([none, none, none, filled, -filled, none, none])
    rows = [
        (np.hstack([one, none, none, none, none, one, -one]), electric, electric),
        (np.hstack([one * 1.125, none, one, -one, one, none, none]), heat, heat + np.inf),
        (np.hstack([one, -500 * one, none, none, none, none, none]), -np.inf, 0),
        (np.hstack([one, -250 * one, none, none, none, none, none]), 0, np.inf),
        (stored, -500, 1000),
        (stored[-1:], 0, np.inf),
    ]
    found = milp(
        cost,
        constraints=[LinearConstraint(matrix, low, high) for matrix, low, high in rows],
        integrality=np.repeat([0, 1, 0, 0, 0, 0, 0], count),
        bounds=Bounds(0, np.repeat([500, 1, 1000, 400, 400, np.inf, np.inf], count)),
        options={"mip_rel_gap": 1e-9},
    )
    return float(found.fun)


def test_three_units_in_one_sentence(tmp_path: Path) -> None:
    analysis = analysed(tmp_path, COGENERATION)
    assert analysis.complete, (analysis.not_understood, analysis.missing, analysis.ambiguous)
    status, objective = solved(analysis, tmp_path)
    assert status == "optimal"
    assert objective == pytest.approx(cheapest_hospital(), rel=1e-6)


@pytest.mark.parametrize(
    ("said", "instead"),
    [
        ("between 50 % and 100 %", "between 50 % and 90 %"),
        ("two hours", "three hours"),
        ("Each row holds for two hours.", "Each second row holds for two hours."),
        ("or switched off", "or switched off at night"),
        ("Excess heat can", "Half of the excess heat can"),
        ("no losses", "some losses"),
    ],
)
def test_another_plant_is_not_read_as_this_one(tmp_path: Path, said: str, instead: str) -> None:
    assert said in COGENERATION
    assert not analysed(tmp_path, COGENERATION.replace(said, instead)).complete


def test_a_long_sentence_that_fits_nothing_is_given_up(tmp_path: Path) -> None:
    # Each boiler more multiplies the ways to cut the sentence; whoever tries them all never ends.
    boilers = "".join(
        f"a gas boiler with a capacity of {900 + k} kW and an efficiency of 88 %, "
        for k in range(8)
    )
    text = COGENERATION.replace("no losses", "some losses")
    analysis = analysed(tmp_path, text.replace("a gas boiler", boilers + "a gas boiler"))
    assert any("boiler" in found.text for found in analysis.not_understood)
