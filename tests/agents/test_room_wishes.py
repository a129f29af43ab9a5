"""Comfort at a price and machines that are on or off, in any words."""

from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from engiagent.agents.offline import Analysis
from engiagent.agents.offline.draft import Draft
from engiagent.agents.offline.passages import passages, sentences
from engiagent.agents.offline.plant.analyse import understand_plant
from engiagent.agents.offline.plant.machinery.staged import Staged, take_staged
from engiagent.agents.offline.tokens import tokenise
from engiagent.problems import Problem
from tests.agents.support import solved

TEXT = """
{machines} On 2 July 2026:

| From | Sun (kW) | Outside (°C) |
|---|---|---|
| 10:00 | 16 | 24 |
| 11:00 | 30 | 29 |
| 12:00 | 34 | 31 |
| 13:00 | 20 | 28 |

The house: 7.5 kWh/K, 0.48 kW/K to the outside, explicit hourly steps, 25 °C at 10:00.

{wish} Electricity costs 0.28 EUR/kWh. {limits}

{goal}
"""
FIRST = {
    "machines": "The cooling has three pumps of equal size. Every pump that runs takes 11 kW of"
    " heat out of the house and 1.3 kW from the mains.",
    "wish": "At each full hour from 11:00 to 14:00 the deviation from 25 °C counts squared, at"
    " 0.09 EUR/K².",
    "limits": "It may never be above 31 °C.",
    "goal": "How many pumps in which hour give the smallest total in EUR?",
}


def house(folder: Path, **other: str) -> Analysis:
    (folder / "problem.md").write_text(TEXT.format(**(FIRST | other)), encoding="utf-8")
    return understand_plant(Problem.load(folder / "problem.md")).analysis


def least(cost: Callable[[float], float]) -> float:
    """Return the least cost over all choices of pumps, step by step."""
    sun, outside = [16, 30, 34, 20], [24, 29, 31, 28]
    best = np.inf
    for chosen in product(range(4), repeat=4):
        inside, total = 25.0, 0.0
        for n, gain, out in zip(chosen, sun, outside, strict=True):
            inside += (0.48 * (out - inside) + gain - 11 * n) / 7.5
            total += cost(inside) + 0.28 * 1.3 * n if inside <= 31 else np.inf
        best = min(best, total)
    return float(best)


def test_pumps_and_squared_deviations(tmp_path: Path) -> None:
    found = house(tmp_path)
    assert found.complete, (found.missing, found.not_understood, found.ambiguous)
    assert solved(found, tmp_path)[1] == pytest.approx(
        least(lambda t: 0.09 * (t - 25) ** 2), rel=1e-6
    )


def test_a_price_for_each_kelvin_and_a_sum_as_the_objective(tmp_path: Path) -> None:
    found = house(
        tmp_path,
        wish="At every full hour from 11:00 to 14:00 each kelvin above 26 °C costs 0.4 EUR.",
        goal="Minimise electricity plus discomfort, in EUR.",
    )
    assert found.complete, (found.missing, found.not_understood, found.ambiguous)
    assert solved(found, tmp_path)[1] == pytest.approx(
        least(lambda t: 0.4 * max(t - 26, 0)), rel=1e-6
    )


def test_pumps_and_a_wish_that_is_missed(tmp_path: Path) -> None:
    found = house(
        tmp_path,
        wish="At the end of each hour 26 °C or less are wanted; what is above costs 0.4 EUR/(K·h).",
    )
    assert found.complete, (found.missing, found.not_understood, found.ambiguous)
    assert solved(found, tmp_path)[1] == pytest.approx(
        least(lambda t: 0.4 * max(t - 26, 0)), rel=1e-6
    )


def cost_of(found: Analysis) -> tuple[str, dict[str, tuple[object, object]]]:
    assert found.complete, (found.missing, found.not_understood, found.ambiguous)
    assert found.blueprint is not None
    core = found.blueprint.core
    assert core.objective_function is not None
    wish = {p.name: (p.value, p.unit) for p in core.parameters if p.name.startswith("wish")}
    return str(core.objective_function.expression), wish


@pytest.mark.parametrize(
    "wish",
    [
        "The squared deviation from 25 °C costs 0.09 EUR/K² at each full hour from 11:00 to 14:00.",
        "At every hour mark between 11:00 and 14:00 the difference from 25 °C is squared and is"
        " charged with 0.09 EUR/K^2.",
        "For every hour mark from 11:00 to 14:00 the square of the deviation of the inside"
        " temperature from 25 °C costs 9 ct/K² (euro cents).",
        "At the end of each hour the deviation from 25 °C is squared and costs 0.09 EUR/(K²·h).",
        "Discomfort has a price: on every hour mark from 11:00 to 14:00 the squared deviation of"
        " the room temperature from 25 °C costs 0.09 EUR/K².",
    ],
)
def test_squared_deviations_in_other_words(tmp_path: Path, wish: str) -> None:
    text, numbers = cost_of(house(tmp_path, wish=wish))
    assert "wish_price*(zone_temperature[t+1] - wish_temperature)**2" in text
    assert numbers["wish_temperature"] == (25.0, "degC")
    assert ("*dt(t) for t in T)" in text.split("wish_price")[1]) is ("·h" in wish)


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ("wish", "The deviation from 25 °C counts squared, at 0.09 EUR/K²."),
        ("wish", "At each full hour from 11:00 to 14:00 the deviation from 25 °C counts, at 0.09"
         " EUR/K²."),
        ("wish", "At each full hour from 11:00 to 14:00 the deviation above 25 °C counts squared,"
         " at 0.09 EUR/K²."),
        ("wish", "At each half hour from 11:00 to 14:00 the deviation from 25 °C counts squared,"
         " at 0.09 EUR/K²."),
        ("wish", "At each full hour from 11:00 to 14:00 the mean deviation from 25 °C counts"
         " squared, at 0.09 EUR/K²."),
        ("wish", "At each full hour except 12:00 the deviation from 25 °C counts squared, at 0.09"
         " EUR/K²."),
        ("wish", "At the end of each sunny hour 26 °C or less are wanted; what is above costs 0.4"
         " EUR/(K·h)."),
        ("wish", "At the end of each hour 26 °C or less are wanted; what is missing costs 0.4"
         " EUR/(K·h)."),
        ("goal", "Minimise the electricity cost in EUR."),
        ("machines", FIRST["machines"] + " A pump must rest for an hour after each run."),
        ("machines", FIRST["machines"].replace("Every pump", "The first pump")),
        ("machines", FIRST["machines"].replace("11 kW", "11 or 5 kW")),
        ("machines", FIRST["machines"] + " We switch on the half-hour only."),
        ("limits", "Above 31 °C we lose flowers, so go there seldom."),
        ("limits", FIRST["limits"] + " The deviation counts double after 12:00."),
        ("limits", FIRST["limits"] + " At noon the windows are opened."),
        ("limits", FIRST["limits"] + " It must be at least 18 °C in the corridor."),
        ("limits", FIRST["limits"] + " Pump 2 must not run before 12:00."),
        ("machines", FIRST["machines"].replace("Every pump", "Every second pump")),
    ],
)  # fmt: skip
def test_what_is_open_or_other_stays_open(tmp_path: Path, part: str, words: str) -> None:
    assert not house(tmp_path, **{part: words}).complete, words


def staged(text: str) -> Staged | None:
    found = sentences(text, passages(text, 0, ()))
    return take_staged(Draft(text, [tokenise(text, s, "EUR") for s in found]))


@pytest.mark.parametrize(
    "text",
    [
        FIRST["machines"],
        "We have 3 large fans of the same size. Each fan draws 11 kW of heat from the house while"
        " it is on, and takes 1.3 kW of electricity.",
        "Three identical large coolers cool the house. Each one removes 11 kW of heat from the"
        " house while it is on and draws 1.3 kW of electricity.",
        "There are three coolers of the same size; each cooler that is on removes 11 kW from the"
        " house and uses 1.3 kW of electric power.",
    ],
)
def test_machines_of_one_size_in_other_words(text: str) -> None:
    found = staged(text)
    assert found is not None
    assert found.power is not None
    assert (found.count.number, found.heat.number, found.power.number, found.cools) == (
        3, 11, 1.3, True,
    )  # fmt: skip


REST = (
    "Two units (call them A and B) cool the room, 9 tons of refrigeration each while on, nothing"
    " while off. A unit takes 1.25 kW/ton. {rest}"
)


@pytest.mark.parametrize(
    ("rest", "wanted"),
    [
        ("In any four consecutive hours a unit may be on for 3 h at the most.", (4, 3)),
        ("In any four hours in a row each unit may be on for at most three hours.", (4, 3)),
        ("In any 4 consecutive hours no unit may run for more than 3 hours.", (4, 3)),
        ("In any 6 consecutive hours a unit must not be on for more than 5 hours.", (6, 5)),
        ("In any four consecutive hours a unit must be on for 3 h.", None),
        ("In any four consecutive hours a unit may be on for more than 3 h.", None),
        ("In some four consecutive hours a unit may be on for 3 h at the most.", None),
    ],
)
def test_hours_of_rest(rest: str, wanted: tuple[float, float] | None) -> None:
    found = staged(REST.format(rest=rest))
    assert found is not None
    rests = [(window, most.number) for window, most, _ in found.rests]
    assert rests == ([] if wanted is None else [wanted])


SERVERS = """
Two packaged units (call them A and B) cool our server room, 9 tons of refrigeration each while on,
nothing while off. They are switched on the hour. {rest} The racks release 10 tons of refrigeration,
day and night; {walls}

The room with its racks stores 3.5 kWh/°F. It is at 68 °F at 06:00 and must stay between 60 °F
and 80 °F on every hour mark until 12:00, June 30, 2026. The temperature moves in a straight line
through each hour.

A unit takes 1.25 kW/ton. With power at 0.16 $/kWh, which unit runs in which of the 6 hours, at
least cost in dollars?
"""
RESTING = "In any three consecutive hours a unit may be on for 2 h at the most."


def servers(folder: Path, rest: str = RESTING, walls: str = "walls don't matter.") -> Analysis:
    text = SERVERS.format(rest=rest, walls=walls)
    (folder / "problem.md").write_text(text, encoding="utf-8")
    return understand_plant(Problem.load(folder / "problem.md")).analysis


@pytest.mark.parametrize(
    "walls",
    ["walls don't matter.", "the heat through the walls can be neglected.",
     "nothing leaks through the walls."],
)  # fmt: skip
def test_units_that_rest_in_a_room_without_walls(tmp_path: Path, walls: str) -> None:
    found = servers(tmp_path, walls=walls)
    assert found.complete, (found.missing, found.not_understood, found.ambiguous)
    ton, runs = 3.516852842067, [r for r in product((0, 1), repeat=6)
                                 if all(sum(r[k : k + 3]) <= 2 for k in range(6))]  # fmt: skip
    best = np.inf
    for a, b in product(runs, repeat=2):
        inside = 68 + np.cumsum(ton * (10 - 9 * (np.array(a) + np.array(b)))) / 3.5
        if inside.min() >= 60 and inside.max() <= 80:
            best = min(best, 0.16 * 1.25 * 9 * (sum(a) + sum(b)))
    assert solved(found, tmp_path)[1] == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize(
    "other",
    [
        {"walls": "walls matter little."},
        {"walls": "the walls of the next room don't matter."},
        {"rest": "In any three consecutive hours unit A may be on for 2 h at the most."},
        {"rest": "In any three hours on a Sunday a unit may be on for 2 h at the most."},
        {"rest": RESTING + " Both may never be on together."},
    ],
)
def test_other_rules_of_rest_and_walls_stay_open(tmp_path: Path, other: dict[str, str]) -> None:
    assert not servers(tmp_path, **other).complete, other
