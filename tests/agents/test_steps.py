"""Sources that are turned down in steps, limits as series, plants that sell all they make."""

from collections.abc import Mapping
from itertools import product
from pathlib import Path

import pytest

from engiagent.agents.offline.plant.analyse import understand_plant
from engiagent.agents.offline.results import Analysis
from engiagent.problems import Problem
from tests.agents.support import solved

SUN, LIMIT, PRICE = (6, 15, 22, 19, 9), (14, 14, 13, 14, 14), (40, 12, -9, -15, 31)
SHARES = (1.0, 0.5, 0.25, 0.0)
TABLE = "| From | Sun (MW) | Line limit (MW) | Price (EUR/MWh) |\n|---|---|---|---|\n" + "\n".join(
    f"| {9 + t:02d}:00 | {SUN[t]} | {LIMIT[t]} | {PRICE[t]} |" for t in range(5)
)
LEVELS = (
    "The 24 MW park can only be turned down in the four steps of its receiver: 100 %, 50 %, 25 % or"
    " 0 % of what the sun offers, one step for the whole hour."
)
LINE = "The delivered power must not exceed the line limit."
SOLD = "All delivered power is sold at the price of the hour, also where that is negative."
CHANGE = (
    "Each change of the step from one hour to the next costs 20 EUR (the park is at 100 % before"
    " 09:00, and going back up is a change too)."
)
GOAL = "Choose the steps for 3 May 2026 so that revenue less switching is greatest, in EUR."
PARTS = (LEVELS, TABLE, SOLD, CHANGE, LINE, GOAL)


def read(folder: Path, *parts: str) -> Analysis:
    """Return what the reader of plants makes of paragraphs."""
    (folder / "problem.md").write_text("# A park\n\n" + "\n\n".join(parts), encoding="utf-8")
    return understand_plant(Problem.load(folder / "problem.md")).analysis


def best(cost: float = 20.0) -> float:
    """Return the largest revenue less switching over all plans."""
    found = -1e9
    for plan in product(SHARES, repeat=5):
        power = [s * x for s, x in zip(plan, SUN, strict=True)]
        if all(p <= limit for p, limit in zip(power, LIMIT, strict=True)):
            changes = sum(a != b for a, b in zip((1.0, *plan), plan, strict=False))
            revenue = sum(p * c for p, c in zip(power, PRICE, strict=True))
            found = max(found, revenue - cost * changes)
    return found


def test_the_best_steps_are_those_of_all_plans(tmp_path: Path) -> None:
    analysis = read(tmp_path, *PARTS)
    assert analysis.complete, (analysis.missing, analysis.not_understood, analysis.ambiguous)
    assert solved(analysis, tmp_path)[1] == pytest.approx(best())


WORDINGS = [
    (LEVELS, "The park can be throttled in steps: 100 %, 50 %, 25 %, 0 % of the available power."),
    (LEVELS, "Its output can be set to one of four levels, 0 %, 25 %, 50 % or 100 % of what is"
     " available, the same level throughout the hour."),
    (LINE, "The line limit must never be exceeded."),
    (LINE, "The delivered power has to stay below the line limit at all times."),
    (SOLD, "Everything that is produced is sold at the market price, even when it is negative."),
    (CHANGE, "A change of the level costs 20 EUR. At the start it is at 100 %."),
    (CHANGE, "The plant runs at 100 % at the start; every change of its setting costs 20 EUR, up or"
     " down."),
    (GOAL, "Maximise the revenue less the costs of the changes on 3 May 2026, in EUR."),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new"), WORDINGS)
def test_other_words_give_the_same_choice(old: str, new: str, tmp_path: Path) -> None:
    analysis = read(tmp_path, *(new if part == old else part for part in PARTS))
    assert analysis.complete, (analysis.missing, analysis.not_understood, analysis.ambiguous)
    assert analysis.blueprint is not None
    core = analysis.blueprint.core
    assert {v.name for v in core.decision_variables} == {"at_step", "changed"}
    shares = next(p.value for p in core.parameters if p.name == "step_share")
    assert isinstance(shares, Mapping)
    assert sorted(shares.values()) == [0, 25, 50, 100]
    assert core.components[-1].parameters["export_power_max"] == "connection_power"


NOT_THIS = [
    (LEVELS, LEVELS.replace("what the sun offers", "its rated power")),
    (LEVELS, "The park can be reduced in three steps by 25 %, 50 % or 100 %."),
    (LEVELS, LEVELS.replace("the whole hour", "the whole day")),
    (LEVELS, LEVELS.replace("four", "three")),
    (LEVELS, LEVELS.replace("24 MW", "20 MW")),
    (LEVELS, LEVELS + " The step 25 % may be used twice only."),
    (LEVELS, LEVELS.replace(", one step", " and never below 50 % before 11:00, one step")),
    (CHANGE, CHANGE.replace("is a change too", "is free")),
    (CHANGE, "Each change of the step costs 20 EUR."),
    (CHANGE, CHANGE.replace("at 100 %", "at 75 %")),
    (CHANGE, CHANGE.replace("before 09:00", "before 12:00")),
    (CHANGE, ""),
    (LINE, "The delivered power must not exceed the line limit by more than a tenth."),
    (SOLD, "All delivered power is sold at the price of the hour, except where that is negative."),
    (SOLD, SOLD + " From 11:00 on the prices are halved."),
    (SOLD, SOLD + " The price doubles after 11:00."),
    (SOLD, SOLD + " The figures are given for quarter hours."),
    (SOLD, SOLD + " The panels must not be turned down."),
    (SOLD, SOLD + " Energy fed in is not paid."),
    (SOLD, SOLD + " The fee also holds for what is delivered."),
    (GOAL, "Choose the steps for 3 May 2026 so that revenue is greatest less a tenth, in EUR."),
    (GOAL, "Tell us when the revenue is greatest on 3 May 2026."),
]


@pytest.mark.parametrize(("old", "new"), NOT_THIS)
def test_other_meanings_are_not_read_so(old: str, new: str, tmp_path: Path) -> None:
    assert not read(tmp_path, *(new if part == old else part for part in PARTS)).complete
