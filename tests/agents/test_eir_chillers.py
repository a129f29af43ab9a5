"""Chillers by the curves of EnergyPlus that stand in a table, with a modifier of temperature."""

from pathlib import Path

import pytest
from scipy.optimize import minimize_scalar

from tests.agents.support import analysed, solved

LOAD = (260.0, 560.0, 740.0)
WATER = (25.0, 29.0, 32.0)
CHILLERS = ((500.0, 5.6, 0.18, 0.24, 0.58, 0.25), (320.0, 5.1, 0.09, 0.46, 0.45, 0.2))
FIELDS = """
| Field | Atrium | Depot |
|---|---|---|
| Reference capacity (kW) | 500 | 320 |
| Reference COP | 5.6 | 5.1 |
| EIR by part load, constant | 0.18 | 0.09 |
| EIR by part load, linear | 0.24 | 0.46 |
| EIR by part load, square | 0.58 | 0.45 |
| Least part load ratio | 0.25 | 0.2 |
"""
BY_ROWS = """
| Chiller | Rated capacity (MW) | Rated COP | Part load, constant | Part load, linear term | Part load, quadratic | Minimum part load ratio |
|---|---|---|---|---|---|---|
| Atrium | 0.5 | 5.6 | 0.18 | 0.24 | 0.58 | 0.25 |
| Depot | 0.32 | 5.1 | 0.09 | 0.46 | 0.45 | 0.2 |
"""  # noqa: E501
TEXT = """
{intro} on 11 August 2026 from 11:00 to 14:00, hour by hour.
{table}
{power} {warmth}

| Hour | Load (kW) | Entering condenser water (°C) |
|---|---|---|
| 11:00 | 260 | 25 |
| 12:00 | 560 | 29 |
| 13:00 | 740 | 32 |

{rules} {goal}
"""
PARTS = {
    "intro": "We have the two museum chillers as EnergyPlus objects (Chiller:Electric:EIR), and the"
    " operator asks which of them should run, and how hard,",
    "table": FIELDS,
    "power": "Power is the reference capacity over the reference COP, times the EIR modifier of"
    " temperature, times the modifier of part load (constant + linear × PLR + square × PLR², PLR"
    " being cooling over reference capacity). The capacity does not depend on temperature.",
    "warmth": "The EIR modifier of temperature is the same for both, 0.42 + 0.02 × the temperature"
    " of the entering condenser water in °C; the leaving chilled water always has 7 °C and is in"
    " the constant already.",
    "rules": "A chiller that is off needs nothing; one that is on may not go below its least part"
    " load ratio. The load has to be met exactly. Starting is free.",
    "goal": "What is the least electric energy of the three hours, in kWh?",
}
SAME = {
    "table": BY_ROWS,
    "power": "The electric power equals the rated capacity divided by the rated COP, times the"
    " factor of part load and times the factor of temperature.",
    "warmth": "The factor of temperature is the same for all chillers, 0.42 plus 0.02 times the"
    " entering condenser water temperature in °C.",
    "rules": "Any machine that is off draws no electricity; any chiller that runs must never run"
    " below its minimum load. The load has to be met exactly.",
    "goal": "How many kWh of electricity do the chillers take at least?",
}


def least(warm: bool = True) -> float:
    """Return the least energy, hour by hour: three pairings, the best split of each."""

    def power(k: int, load: float, water: float) -> float:
        capacity, cop, a, b, c, low = CHILLERS[k]
        ratio = load / capacity
        if not low - 1e-9 <= ratio <= 1 + 1e-9:
            return 1e9
        modifier = 0.42 + 0.02 * water if warm else 1.0
        return capacity / cop * modifier * (a + b * ratio + c * ratio**2)

    total = 0.0
    for load, water in zip(LOAD, WATER, strict=True):
        found = [power(k, load, water) for k in range(2)]
        low, high = max(125.0, load - 320), min(500.0, load - 64)
        if low <= high:
            split = minimize_scalar(
                lambda q, load=load, water=water: power(0, q, water) + power(1, load - q, water),
                bounds=(low, high), method="bounded", options={"xatol": 1e-9},
            )  # fmt: skip
            found.append(float(split.fun))
        total += min(found)
    return total


def written(**changes: str) -> str:
    return TEXT.format(**{**PARTS, **changes})


@pytest.mark.parametrize("parts", [(), tuple(SAME), ("table",), ("power", "goal")])
def test_two_chillers_by_their_curves(tmp_path: Path, parts: tuple[str, ...]) -> None:
    analysis = analysed(tmp_path, written(**{part: SAME[part] for part in parts}))
    assert analysis.complete, (analysis.missing, analysis.not_understood, analysis.ambiguous)
    assert solved(analysis, tmp_path)[1] == pytest.approx(least(), rel=1e-5)


@pytest.mark.parametrize(
    ("part", "text"),
    [
        ("table", FIELDS.replace("| Reference COP | 5.6 | 5.1 |\n", "")),
        ("table", FIELDS.replace("linear", "cubic")),
        ("table", FIELDS + "| Capacity by temperature, constant | 0.9 | 0.95 |\n"),
        ("power", PARTS["power"].replace("linear × PLR", "linear × PLR²")),
        ("power", PARTS["power"].replace("over the reference COP", "times the reference COP")),
        ("power", PARTS["power"].replace("times the EIR modifier of temperature, ", "")),
        ("power", PARTS["power"].replace("does not depend", "depends")),
        ("warmth", PARTS["warmth"].replace("the same for both", "that of the Atrium")),
        ("warmth", PARTS["warmth"].replace("entering condenser water", "outdoor air")),
        ("warmth", ""),
        ("rules", PARTS["rules"].replace("may not go below", "may go below")),
        ("rules", PARTS["rules"] + " The Depot must run at noon."),
        ("goal", "What is the least electric energy of the Atrium, in kWh?"),
    ],
)
def test_curves_that_are_said_otherwise(tmp_path: Path, part: str, text: str) -> None:
    assert not analysed(tmp_path, written(**{part: text})).complete, text
