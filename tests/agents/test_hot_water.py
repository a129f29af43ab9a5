"""A tank of hot water with draws, two devices and rules against legionella, in several wordings."""

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog

from engiagent.agents.offline import Analysis
from engiagent.agents.offline.claims.tank import understand_tank
from engiagent.problems import Problem
from tests.agents.support import solved

DRAW = np.array([40.0, 15.0, 0.0, 0.0, 35.0, 190.0])
PRICE = np.array([27.9, 25.6, 22.8, 22.0, 24.6, 38.4])
CLOCKS = (22, 23, 0, 1, 2, 3)

PARTS = {
    "devices": (
        "We heat a 500-litre tank for 12 students with two devices: a hot-water heat pump (6 kW of"
        " heat, COP 3.1) and an immersion heater (9 kW, everything becomes heat). Both can be"
        " turned down to nothing.",
        "A tank of 500 litres is heated by a heat pump with 6 kW of heat and a COP of 3.1. There is"
        " also an immersion heater of 9 kW. Both modulate freely.",
    ),
    "hygiene": (
        "* once in the night, at one of the marks 00:00, 01:00 or 02:00, the tank has to be at 63"
        " °C or more, to keep legionella away. Which mark is our choice.",
        "* at one of the marks 00:00, 01:00 or 02:00 the tank must be at least at 63 °C, against"
        " legionella; we choose the mark.",
    ),
    "lock": (
        "* the heat pump cannot work against hot water: it is locked from one hour before the"
        " chosen mark until 03:00, and only at the marks from the chosen one to 03:00 may the tank"
        " be above 55 °C.",
        "* the heat pump is off from one hour before the chosen mark until 03:00. Only at the marks"
        " from the chosen one until 03:00 may it be above 55 °C.",
    ),
    "draw": (
        "The showers take mixed water of 42 °C; the table says how many litres per hour. As cold"
        " water comes in at 10 °C, each litre drawn takes 1.163 Wh/(L·K) times 32 K out of the"
        " tank, however hot the tank is, as long as it is at 45 °C or more. So keep it at 45 °C or"
        " above at all marks, and at 70 °C or below.",
        "Each litre takes 1.163 Wh/(L·K) times 32 K out of the tank. The tank must always be"
        " between 45 °C and 70 °C.",
    ),
    "tank": (
        "The tank holds 1.163 Wh/(L·K) as well, loses 6 W/K to the boiler room at 18 °C, and is"
        " mixed well. At 22:00 it is at 50 °C and so it should be, at least, at 04:00 when the plan"
        " ends.",
        "The heat capacity of the tank is 1.163 Wh/(L·K); its losses are 0.006 kW/K to the cellar"
        " at 18 °C. The tank is at 50 °C at the start and must be at 50 °C or more at the end.",
    ),
    "law": (
        "The tank's temperature at the next mark is the present one plus an hour of heat in, less"
        " draw, less losses at the present temperature, over its heat capacity.",
        "The losses are taken at the beginning of each hour.",
    ),
    "goal": (
        "Which device heats when, for the least money? Answer in EUR.",
        "When should which device run, as cheaply as possible?",
    ),
}
TEXT = """
{devices}

{hygiene}
{lock}

{draw} {tank}

| Hour beginning | Draw (L/h) | Price (ct/kWh) |
|---|---|---|
| 22:00 | 40 | 27.9 |
| 23:00 | 15 | 25.6 |
| 00:00 | 0 | 22.8 |
| 01:00 | 0 | 22.0 |
| 02:00 | 35 | 24.6 |
| 03:00 | 190 | 38.4 |

{law} The evening is that of 18 October 2026, prices in euro cents.

{goal}
"""


def cheapest() -> float:
    """Return the least cost by a linear programme for each mark of the night."""
    best = float("inf")
    n, full = 6, 1.163e-3 * 500
    temp = np.zeros((n + 1, 2 * n + 1))
    temp[0, -1] = 50.0
    for t in range(n):
        temp[t + 1] = temp[t] * (1 - 0.006 / full)
        temp[t + 1, [t, n + t]] += 1 / full
        temp[t + 1, -1] += (0.006 * 18 - 1.163e-3 * DRAW[t] * 32) / full
    for mark in (2, 3, 4):
        low, high = np.full(n + 1, 45.0), np.full(n + 1, 55.0)
        low[mark], low[n] = 63.0, 50.0
        high[mark:6] = 70.0  # to 03:00, which is instant 5
        most = [0.0 if mark - 1 <= t < 5 else 6.0 for t in range(n)]
        found = linprog(
            np.concatenate([PRICE / 3.1, PRICE]) / 100,
            np.vstack([-temp, temp])[:, :-1],
            np.concatenate([temp[:, -1] - low, high - temp[:, -1]]),
            bounds=[(0, m) for m in most] + [(0, 9)] * n,
        )
        best = min(best, float(found.fun) if found.success else best)
    return best


def text_of(**changed: str) -> str:
    """Return the text with the first wording of every part, or what replaces it."""
    return TEXT.format(**({name: ways[0] for name, ways in PARTS.items()} | changed))


def analysed(folder: Path, body: str) -> Analysis:
    """Return the analysis of a text by the reader of such tanks alone."""
    (folder / "problem.md").write_text(body, encoding="utf-8")
    found = understand_tank(Problem.load(folder / "problem.md"))
    assert found is not None
    return found.analysis


@pytest.mark.parametrize(
    ("part", "way"),
    [(p, k) for p, ways in PARTS.items() for k in range(len(ways)) if k or p == "devices"],
)
def test_hot_water_in_other_words(tmp_path: Path, part: str, way: int) -> None:
    analysis = analysed(tmp_path, text_of(**{part: PARTS[part][way]}))
    assert analysis.complete, (analysis.missing, analysis.not_understood, analysis.ambiguous)
    assert solved(analysis, tmp_path)[1] == pytest.approx(cheapest(), rel=1e-7)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("once in the night", "twice in the night"),
        ("at one of the marks", "at two of the marks"),
        ("from one hour before the chosen mark", "from two hours before the chosen mark"),
        ("until 03:00, and", "until 03:30, and"),
        (
            "and only at the marks from the chosen one",
            "and only at the marks before the chosen one",
        ),
        ("two devices", "three devices"),
        ("times 32 K out", "times 35 K out"),
        ("as long as it is at 45 °C", "as long as it is at 48 °C"),
        ("everything becomes heat", "95 % becomes heat"),
        ("is mixed well", "is layered"),
        ("The showers take mixed water of 42 °C", "Half of the showers take water of 42 °C"),
        ("for the least money", "for the least losses"),
        ("(6 kW of heat", "(6 kW by day"),
    ],
)
def test_what_changes_the_tank_is_not_passed_over(tmp_path: Path, old: str, new: str) -> None:
    assert old in text_of()
    assert not analysed(tmp_path, text_of().replace(old, new)).complete
