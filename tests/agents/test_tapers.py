"""Powers that fall with the content: many wordings, one model; near misses stay undecided."""

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog

from engiagent.agents.offline import Analysis
from tests.agents.support import Floats, analysed, solved
from tests.agents.support import parameter_values as parameters

PRICE = [80.0, 20.0, 10.0, 30.0, 90.0, 120.0]
BODY = """# Pack

The battery holds 2 MWh. {points}

{edge}

It delivers at most 900 kW at any state of charge. The charging efficiency is 90 % and the
discharging efficiency is 95 %. It holds 0.2 MWh at the start and must hold at least 0.4 MWh at the
end.{more}

Energy is bought and sold at the same price, in EUR/MWh, hour by hour from 0:00 of 9 March 2026:
80, 20, 10, 30, 90, 120.

Maximise the profit in EUR.
"""
EDGE = "What counts is the content at the beginning of the hour."
SPOKEN = (
    "The charger gives 1 MW up to 50 %; from there the permitted power falls in a straight line to"
    " 200 kW at 100 %."
)


def pack(folder: Path, points: str = SPOKEN, edge: str = EDGE, more: str = "") -> Analysis:
    return analysed(folder, BODY.format(points=points, edge=edge, more=more))


def best(knee: float = 1.0) -> float:
    """Return the largest profit by a programme of our own: charge <= 1, and a line beyond."""
    n = len(PRICE)
    price = np.array(PRICE)
    cost = np.concatenate([price, -price])
    rows, right = [], []
    slope = 0.8 / (2 - knee)
    for t in range(n):
        after, before = np.zeros(2 * n), np.zeros(2 * n)
        after[: t + 1], after[n : n + t + 1] = 0.9, -1 / 0.95
        before[:t], before[n : n + t] = 0.9, -1 / 0.95
        rows += [after, -after]
        right += [1.8, 0.2 if t < n - 1 else -0.2]
        limit = slope * before
        limit[t] += 1.0
        rows.append(limit)
        right.append(1.0 + slope * knee - slope * 0.2)
    found = linprog(cost, np.array(rows), right, bounds=[(0, 1.0)] * n + [(0, 0.9)] * n)
    assert found.success, found.message
    return float(-found.fun)


TABLE = """The power that it may be charged with depends on what is in it:

| Content (MWh) | Charging power (MW) |
|---|---|
| 0 | 1.0 |
| 1 | 1.0 |
| 2 | 0.2 |
"""
SHARES = """Here are the limits of charging:

| State of charge (%) | Charging power (kW) |
|---|---|
| 0 | 1000 |
| 50 | 1000 |
| 100 | 200 |
"""
WORDINGS = [
    SPOKEN,
    "At or below 50 % it can be charged with 1 MW; above that the charging power declines linearly"
    " to 0.2 MW at 100 %.",
    "The charging power falls linearly from 1000 kW at 50 % to 200 kW at 100 %.",
    "The charging power tapers in a straight line from 1 MW at 1 MWh to 0.2 MW at 2 MWh.",
    "It is charged with at most 1 MW. Above 50 % the charging power falls in a straight line to"
    " 200 kW when full.",
    "Between 50 % and 100 % the charging power decreases linearly from 1000 kW to 200 kW.",
    TABLE,
    SHARES,
    f"{SPOKEN}\n\n{TABLE}",
]


def limits(found: Analysis, folder: Path) -> Floats:
    """Return the permitted charging power in kW at 0, 0.5, 1, 1.5 and 2 MWh."""
    from engiagent.blueprint.elaborate import Elaboration
    from engiagent.blueprint.units import convert, parse_unit

    assert found.blueprint is not None
    row = next(c for c in found.blueprint.core.constraints if "piecewise" in str(c.expression))
    state, contents, powers = str(row.expression).split("piecewise(")[1][:-1].split(", ")
    values = Elaboration(found.blueprint.core, folder)
    at = np.array([0.0, 0.5, 1.0, 1.5, 2.0]) / (2 if "/" in state else 1)
    whole = "1" if "/" in state else "MWh"
    x, y = (
        [convert(v, values.unit(name), parse_unit(unit)) for v in values.table(name).values]
        for name, unit in ((contents, whole), (powers, "kW"))
    )
    return np.interp(at, x, y)


def test_a_taper_in_the_optimum(tmp_path: Path) -> None:
    status, value = solved(pack(tmp_path), tmp_path)
    assert status == "optimal"
    assert value == pytest.approx(best(), rel=1e-6)


@pytest.mark.parametrize("points", WORDINGS)
def test_wordings_of_one_taper(tmp_path: Path, points: str) -> None:
    found = pack(tmp_path, points)
    assert found.complete, (found.missing, found.not_understood, found.ambiguous)
    assert found.blueprint is not None
    assert limits(found, tmp_path) == pytest.approx([1000, 1000, 1000, 600, 200])
    assert parameters(found.blueprint, tmp_path)["battery.charge_power_max"] == pytest.approx(1000)


@pytest.mark.parametrize(
    ("edge", "at_end"),
    [
        ("The content at the start of each hour is decisive.", False),
        ("The limit applies with the state of charge at the beginning of the period.", False),
        ("It is the content at the end of the hour that counts.", True),
    ],
)
def test_which_content_counts(tmp_path: Path, edge: str, at_end: bool) -> None:
    found = pack(tmp_path, edge=edge)
    assert found.complete, (found.missing, found.not_understood, found.ambiguous)
    assert found.blueprint is not None
    rows = [str(c.expression) for c in found.blueprint.core.constraints]
    assert any(("state_of_charge[t+1]/" in row) is at_end for row in rows if "piecewise" in row)


def test_a_power_out_that_falls_towards_empty(tmp_path: Path) -> None:
    points = (
        "It is charged with at most 1 MW. The discharging power rises linearly from zero when empty"
        " to 900 kW at 50 % and 900 kW at 100 %."
    )
    found = pack(tmp_path, points)
    assert found.complete, (found.missing, found.not_understood, found.ambiguous)
    assert found.blueprint is not None
    rows = [c.expression for c in found.blueprint.core.constraints]
    assert any(row.startswith("battery_discharge[t] <= piecewise(") for row in rows)


@pytest.mark.parametrize(
    "points",
    [
        # steps are no straight line, and a curve is none either
        "The charger gives 1 MW up to 50 %; from there the permitted power falls in steps to 200 kW"
        " at 100 %.",
        "The charger gives 1 MW up to 50 %; from there the power falls exponentially to 200 kW at"
        " 100 %.",
        # what happens beyond 90 % is not said
        "The charging power falls linearly from 1 MW at 50 % to 200 kW at 90 %.",
        # of the power, not of the content
        "The charging power falls linearly from 1 MW to 20 % of it.",
        # only at some times, or on a condition
        "The charging power falls linearly from 1 MW at 50 % to 200 kW at 100 % in winter.",
        "When the cells are hot, the charging power falls linearly from 1 MW at 50 % to 200 kW at"
        " 100 %.",
        "It is charged with at most 800 kW. The charging power falls linearly from 1 MW at 50 % to"
        " 200 kW at 100 %.",
        f"{SPOKEN}\n\n{TABLE.replace('| 1 | 1.0 |', '| 1.2 | 1.0 |')}",
        f"Only in summer:\n\n{TABLE.split(':', 1)[1]}",
    ],
)
def test_near_misses_of_a_taper(tmp_path: Path, points: str) -> None:
    assert not pack(tmp_path, points).complete


@pytest.mark.parametrize(
    "edge",
    [
        "",
        "What counts is the average content of the hour.",
        "What counts is the content at the beginning of the day.",
    ],
)
def test_which_content_counts_has_to_be_clear(tmp_path: Path, edge: str) -> None:
    assert not pack(tmp_path, edge=edge).complete


@pytest.mark.parametrize(
    ("more", "reads"),
    [
        (" While the barge lies on the slip, its 2 MWh pack may trade.", True),
        (" While the barge lies on the slip, the battery may draw at most 400 kW.", False),
        (" Below 200 kWh the cells must never go.", True),
        (" Below 200 kWh the cells must never go in winter.", False),
    ],
)
def test_sentences_beside_it(tmp_path: Path, more: str, reads: bool) -> None:
    assert pack(tmp_path, more=more).complete is reads
