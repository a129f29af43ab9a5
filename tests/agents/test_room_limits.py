"""Rates of change, prices of heat, counted steps and reversible heat pumps in any words."""

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog

from engiagent.agents.offline import Analysis
from engiagent.agents.offline.draft import Draft
from engiagent.agents.offline.passages import passages, sentences
from engiagent.agents.offline.plant.analyse import understand_plant
from engiagent.agents.offline.plant.spaces.changes import take_changes
from engiagent.agents.offline.tokens import tokenise
from engiagent.problems import Problem
from tests.agents.support import solved

TABLE = """
| Hour | Outside (°C) |
|---|---|
| 06:00 | 4 |
| 07:00 | 6 |
| 08:00 | 22 |
| 09:00 | 30 |
"""
HALL = """
Plan the climate of a hall on 14 May 2026 from 06:00 to 10:00, hour by hour.

The hall has a heat capacity of 8 kWh/K and loses 0.4 kW/K to the outdoors.
At 06:00 it is 19.5 °C inside. {units} {limit}

On every hour mark it must be between 19 °C and 21 °C. Temperatures follow the exact solution.
{price}
{table}
Minimise the cost in EUR.
"""
PUMP = (
    "The heat pump is reversible: it may heat with up to 10 kW or cool with up to 8 kW; COP 4 for"
    " heat, 3 for cooling."
)
PRICE = "Electricity costs 0.30 EUR/kWh."


def analysed(folder: Path, text: str) -> Analysis:
    """Return what the reader of plants makes of a text."""
    (folder / "problem.md").write_text(text, encoding="utf-8")
    return understand_plant(Problem.load(folder / "problem.md")).analysis


def hall(folder: Path, units: str = PUMP, limit: str = "", price: str = PRICE) -> Analysis:
    text = HALL.format(units=units, limit=limit, price=price, table=TABLE)
    return analysed(folder, text)


def said(analysis: Analysis) -> set[str]:
    """Return every row of an analysis, and its components and costs, as text."""
    assert analysis.complete, (analysis.missing, analysis.not_understood, analysis.ambiguous)
    assert analysis.blueprint is not None
    core = analysis.blueprint.core
    rows = {str(c.expression) for c in core.constraints}
    return rows | {f"{c.name} {sorted(c.parameters)}" for c in core.components}


def changes(text: str) -> list[tuple[bool, bool, float | None, str]]:
    """Return the limits of changes in a text as up, down, minutes and unit."""
    found = sentences(text, passages(text, 0, ()))
    draft = Draft(text, [tokenise(text, sentence, None) for sentence in found])
    return [(c.up, c.down, c.minutes, c.value.unit) for c in take_changes(draft)]


@pytest.mark.parametrize(
    ("limit", "up", "down", "minutes"),
    [
        ("Over no hour may the temperature change by more than 0.5 K.", True, True, 60),
        ("The air temperature must not change by more than 0.5 K per hour.", True, True, 0),
        ("Within any quarter-hour it shall vary by at most 0.5 kelvin.", True, True, 15),
        ("The temperature may not rise or fall by more than 0.5 K in an hour.", True, True, 60),
        ("It must not move faster than 0.5 K/h.", True, True, 0),
        ("Over no half-hour may the air get warmer by more than 0.5 K.", True, False, 30),
        ("It must not rise by more than 0.5 K in any hour.", True, False, 60),
        ("In any hour the temperature may fall by at most 0.5 K.", False, True, 60),
        ("The room may not cool down by more than 0.5 K in any step, or it cracks.",
         False, True, 0),
    ],
)  # fmt: skip
def test_a_limit_of_the_change(limit: str, up: bool, down: bool, minutes: float) -> None:
    unit = "K/h" if "K/h" in limit or "K per hour" in limit else "K"
    assert changes(limit.replace("The room", "It")) == [(up, down, minutes, unit)]


@pytest.mark.parametrize(
    "limit",
    [
        "It may change by more than 0.5 K in an hour.",
        "Over two hours it may not rise by more than 0.5 K.",
        "The mean temperature may not change by more than 0.5 K per hour.",
        "From 08:00 to 09:00 it must not rise by more than 0.5 K per hour.",
        "It must not rise by more than 0.5 K per hour, from 08:00 to 09:00.",
        "It must not rise by more than 0.5 K per hour while the sun shines.",
        "The temperature in the cellar must not rise by more than 0.5 K per hour.",
        "In the cellar, over no hour may it get warmer by more than 0.5 K.",
        "It must rise by at least 0.5 K in every hour.",
        "The heat pump may not change by more than 1 kW per hour.",
    ],
)
def test_another_limit_of_the_change_is_not_taken_for_one(limit: str) -> None:
    assert not changes(limit)


def test_limits_of_the_change_become_rows(tmp_path: Path) -> None:
    both = "From one hour to the next it may change by no more than 0.5 K."
    assert sum("temperature[t+1]" in r for r in said(hall(tmp_path, limit=both))) == 2
    for limit in (
        "From one half-hour to the next it may change by no more than 0.5 K.",
        "From 08:00 to 09:00 it must not rise by more than 0.5 K per hour.",
        "The mean temperature may not change by more than 0.5 K per hour.",
    ):
        assert not hall(tmp_path, limit=limit).complete, limit


@pytest.mark.parametrize(
    "units",
    [
        PUMP,
        "A reversible heat pump gives up to 10 kW of heat or up to 8 kW of cooling; heat costs 1/4"
        " and cold 1/3 of its amount in electricity.",
        "The reversible heat pump heats with at most 10 kW and cools with at most 8 kW (COP 4 for"
        " heat and COP 3 for cooling).",
        "A heat pump heats the hall and cools it. It gives at most 10,000 W of heat and at most 8"
        " kW of cold. The heat pump's COP is 4 for heating and 3 for cooling.",
    ],
)
def test_a_heat_pump_that_cools(tmp_path: Path, units: str) -> None:
    found = hall(tmp_path, units=units)
    assert any("heat_pump_cooling[t]/heat_pump_cooling_cop" in r for r in said(found)), said(found)


@pytest.mark.parametrize(
    ("units", "price"),
    [
        (PUMP.replace("COP 4 for heat, 3 for cooling", "the COP is 4"), PRICE),
        (PUMP + " Per day it may cool for two hours only.", PRICE),
        (PUMP, "Electricity costs -0.05 EUR/kWh from 08:00 to 09:00, otherwise 0.30 EUR/kWh."),
        (PUMP + " Half of the cold is lost.", PRICE),
        ("A heat pump heats with up to 10 kW; it cannot cool. Its COP is 4 for heat, 3 for"
         " cooling.", PRICE),
    ],
)  # fmt: skip
def test_what_is_open_of_such_a_heat_pump_stays_open(
    tmp_path: Path, units: str, price: str
) -> None:
    assert not hall(tmp_path, units=units, price=price).complete


BLOCKS = """
We plan the gas heating of a hall on 2 February 2026, midnight to midnight, in {blocks}.

The hall has 48 kWh/K and loses 2.3 kW/K to the outdoors, where it will be {weather}.
{heater} The day starts at 14 °C. {between}

At all times at least 13 °C, from 16:00 to 22:00 17 °C to 21 °C.
The temperature follows the exact solution.

{goal}
"""
FIRST = {
    "blocks": "twelve blocks of two hours",
    "weather": "-4 °C in the first six blocks and 1 °C in the last six",
    "heater": "The gas heater gives at most 95 kW; its heat costs 83 EUR/MWh.",
    "between": "",
    "goal": "What does the day cost at least, in EUR?",
}


def blocks(folder: Path, **other: str) -> Analysis:
    return analysed(folder, BLOCKS.format(**(FIRST | other)))


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ("blocks", "12 steps of 2 h"),
        ("blocks", "12 equal periods of two hours"),
        ("weather", "24.8 °F in the first 6 blocks and 33.8 °F in the last 6 blocks"),
        ("weather", "-4 °C during the first twelve hours and 1 °C during the last twelve hours"),
        ("weather", "-4 °C from 00:00 to 12:00 and 1 °C from 12:00 to 24:00"),
        ("heater", "The gas heater gives at most 95 kW. Heat costs 0.083 EUR/kWh."),
        (
            "heater",
            "A gas boiler with 95 kW; the heat of the boiler costs 8.3 ct/kWh (euro cents).",
        ),
        ("goal", "Minimise the cost of the day in EUR."),
        ("goal", "What is the smallest total in EUR?"),
        ("between", "No condition is set for 24:00 other than the limits."),
    ],
)
def test_blocks_and_heat_that_is_paid_for(tmp_path: Path, part: str, words: str) -> None:
    found = blocks(tmp_path, **{part: words})
    assert found.complete, (found.missing, found.not_understood, found.ambiguous)


def test_the_optimum_of_the_blocks(tmp_path: Path) -> None:
    """The heat that keeps a hall at its lowest temperatures, by the exact response."""
    keep = np.exp(-2.3 * 2 / 48)
    inside = 14.0
    low = [13.0] * 7 + [17.0] * 4 + [13.0]
    outside = [-4.0] * 6 + [1.0] * 6
    best = linprog(
        np.full(12, 2 * 0.083),
        -np.array([[(1 - keep) / 2.3 * keep ** (j - i) if i <= j else 0.0 for i in range(12)]
                   for j in range(12)]),
        [inside * keep ** (j + 1) - low[j] + sum(
            (1 - keep) * outside[i] * keep ** (j - i) for i in range(j + 1)) for j in range(12)],
        bounds=[(0, 95)] * 12,
    )  # fmt: skip
    assert best.fun == pytest.approx(solved(blocks(tmp_path), tmp_path)[1], rel=1e-7)


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ("weather", "-4 °C in the first five blocks and 1 °C in the last six"),
        ("weather", "-4 °C in the first six blocks"),
        ("heater", "The gas heater gives at most 95 kW."),
        ("heater", "The gas heater gives at most 95 kW; gas costs 83 EUR/MWh."),
        ("goal", "What does the day cost, in EUR?"),
        ("between", "The heating may not start before 06:00."),
        ("between", "No condition is set for 20:00 other than the limits."),
        ("between", "The temperature at the end of the day may be anywhere within the limits."),
        ("between", "The temperature at the end of the day may be anywhere above the limits."),
        ("between", "At all other times it must not fall below 10 °C, and at other times 12 °C."),
    ],
)
def test_what_is_open_or_other_stays_open(tmp_path: Path, part: str, words: str) -> None:
    assert not blocks(tmp_path, **{part: words}).complete, words


ROWS = """
| Requirement | Value |
|---|---|
| {name}, 16:00 to 22:00 | 17 °C to 21 °C |
| Outside {name}, lowest | {low} °C |
"""


@pytest.mark.parametrize(("low", "clash"), [(10, True), (13, False)])
@pytest.mark.parametrize("name", ["training", "opening"])
def test_a_table_that_contradicts_the_text(
    tmp_path: Path, name: str, low: int, clash: bool
) -> None:
    text = BLOCKS.format(**FIRST).replace(
        "At all times at least 13 °C, from 16:00 to 22:00 17 °C to 21 °C.",
        "From 16:00 to 22:00 17 °C to 21 °C. At other times it must not fall below 13 °C.\n"
        + ROWS.format(name=name, low=low) + "\n",
    )  # fmt: skip
    found = analysed(tmp_path, text)
    named = {(m.component, m.slot) for m in found.missing}
    assert (("zone", "lowest_temperature") in named) is clash, found
    assert found.complete is not clash
