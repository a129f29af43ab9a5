"""Bills in tiers, and wishes in the hours that a column names, in any words."""

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog

from engiagent.agents.offline import Analysis
from engiagent.agents.offline.plant.analyse import understand_plant
from engiagent.problems import Problem
from tests.agents.support import solved

OUT = np.array([2.0, 0.0, -2.0, -3.0, -1.0, 1.0, 3.0, 2.0, 1.0, 0.0, -1.0, -2.0])
STAFFED = np.array([0, 0, 1, 1, 1, 1, 0, 1, 1, 0, 0, 0])
TEXT = """
We heat an office with electric resistance coils, and the bill has {bill}. `day.csv` holds the 12
hours from 06:00 to 18:00 of 3 February 2026: outdoor temperature and {flag}.

The building: 5 kWh/K, 0.4 kW/K to the outdoors, 19 °C at 06:00. Step it hour by hour with the heat
flows at the beginning of each hour. The coils have 14 kW.

It may never be colder than 15 °C or warmer than 24 °C. {wish}

{goal}
"""
FIRST = {
    "bill": "three parts: the first 60 kWh of the bill cost 10 ct/kWh, whatever goes beyond costs"
    " 30 ct/kWh (euro cents), and the highest hour costs 0.40 EUR/kW",
    "flag": "whether the office is staffed in that hour (1) or not (0)",
    "wish": "At the end of each staffed hour staff want 21 °C or more; that is a wish, and what is"
    " missing costs us 0.50 EUR/(K·h) in complaints.",
    "goal": "Minimise bill plus complaints, in EUR.",
}


def office(folder: Path, values: np.ndarray = STAFFED, **other: str) -> Analysis:
    rows = [f"{6 + k:02d}:00,{out},{s}" for k, (out, s) in enumerate(zip(OUT, values, strict=True))]
    (folder / "day.csv").write_text("hour,outdoor [degC],staffed\n" + "\n".join(rows) + "\n")
    (folder / "problem.md").write_text(TEXT.format(**(FIRST | other)), encoding="utf-8")
    return understand_plant(Problem.load(folder / "problem.md")).analysis


def cheapest(most: float = 60) -> float:
    """Return the least cost as a linear programme in powers, peak, the tier and what is missing."""
    n, keep = 12, 1 - 0.4 / 5
    free, response = [19.0], np.zeros((n + 1, n))
    for t in range(n):
        free.append(keep * free[t] + 0.4 * OUT[t] / 5)
        response[t + 1] = keep * response[t]
        response[t + 1, t] += 1 / 5
    rows, limits = [], []

    def row(power: np.ndarray, rest: dict[int, float], limit: float) -> None:
        rows.append(np.concatenate([power, [rest.get(k, 0.0) for k in range(n + 2)]]))
        limits.append(limit)

    for t in range(n):
        row(response[t + 1], {}, 24 - free[t + 1])
        row(-response[t + 1], {}, free[t + 1] - 15)
        if STAFFED[t]:
            row(-response[t + 1], {2 + t: -1.0}, free[t + 1] - 21)
        row(np.eye(n)[t], {0: -1.0}, 0)
    row(np.ones(n), {1: -1.0}, most)
    cost = np.concatenate([np.full(n, 0.1), [0.4, 0.2], 0.5 * STAFFED])
    found = linprog(cost, np.array(rows), limits, bounds=[(0, 14)] * n + [(0, None)] * (n + 2))
    return float(found.fun)


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ("goal", FIRST["goal"]),
        ("bill", "two parts: the first 60 kWh cost 0.10 EUR/kWh and everything beyond that 0.30"
         " EUR/kWh. The highest hour costs 0.40 EUR/kW"),
        ("bill", "three items: the first 60,000 Wh of the plan at 0.10 EUR/kWh, the rest at 0.30"
         " EUR/kWh, and the highest hour costs 0.40 EUR/kW"),
        ("flag", "whether it is staffed (1) or empty (0)"),
        ("wish", "At the end of every staffed hour at least 21 °C are wanted; each degree that is"
         " lacking costs 0.50 EUR/(K·h)."),
    ],
)  # fmt: skip
def test_a_bill_with_tiers_and_wishes(tmp_path: Path, part: str, words: str) -> None:
    found = office(tmp_path, STAFFED, **{part: words})
    if part == "bill" and not found.complete and "of the bill" not in words and "plan" not in words:
        assert found.ambiguous  # the first 60 kWh of what time?
        return
    assert found.complete, (found.missing, found.not_understood, found.ambiguous)
    assert solved(found, tmp_path)[1] == pytest.approx(cheapest(), rel=1e-7)


@pytest.mark.parametrize(
    "other",
    [
        {"bill": FIRST["bill"].replace("of the bill", "of the month")},
        {"bill": FIRST["bill"].replace("30 ct", "5 ct")},
        {"bill": FIRST["bill"].replace("three", "four")},
        {"bill": FIRST["bill"].replace("the highest hour", "the highest quarter-hour")},
        {"bill": FIRST["bill"].replace("the first 60 kWh", "the last 60 kWh")},
        {"flag": "whether the office is staffed in that hour (0) or not (1)"},
        {"flag": "a number for how many work there"},
        {"wish": FIRST["wish"].replace("each staffed hour", "each cold hour")},
        {"wish": FIRST["wish"].replace("what is missing", "what is too much")},
        {"goal": "Minimise the electricity bill, in EUR."},
    ],
)
def test_what_such_a_bill_leaves_open_stays_open(tmp_path: Path, other: dict[str, str]) -> None:
    assert not office(tmp_path, STAFFED, **other).complete, other


def test_a_column_of_more_than_yes_and_no_is_none(tmp_path: Path) -> None:
    assert not office(tmp_path, values=STAFFED * 2).complete
