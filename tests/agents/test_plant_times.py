"""Limits at times of the day: windows, moments, peaks by window, in words of several kinds."""

import itertools
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog

from tests.agents.support import analysed, solved

HOURS = np.arange(24)
LOAD = np.round(50 + 25 * np.sin((HOURS - 9) / 24 * 2 * np.pi), 1)
PRICE = np.where((HOURS >= 6) & (HOURS < 22), 0.30, 0.18)
ROOT = np.sqrt(0.88)

BASE = """
A shop has a battery of 100 kWh. We plan 24 hours of 3 June 2025 from midnight, hour by hour.
The electricity demand is listed in `load.csv` in kW.

The battery charges at up to 40 kW and discharges at up to 40 kW, with a round-trip efficiency of
88 %. At the start it holds 50 kWh; at the end of the day it must hold at least 50 kWh.

Electricity from the grid costs 0.30 EUR/kWh from 06:00 to 22:00 and 0.18 EUR/kWh at all other
times. Nothing may be fed into the grid.

"""
GOAL = "\nMinimise the cost of the day in EUR.\n"


def cheapest(**limits: object) -> float:
    """Return the lowest cost; ``limits`` as hours without charge or discharge, peaks and so on."""
    n = 24
    cost = np.concatenate([PRICE, np.zeros(2 * n), [0.0, 0.0]])
    upper = np.concatenate([np.full(n, np.inf), np.full(2 * n, 40.0), [np.inf, np.inf]])
    for key, block in (("no_charge", n), ("no_discharge", 2 * n)):
        for hour in limits.get(key, ()):  # type: ignore[attr-defined]
            upper[block + hour] = 0.0
    for hour, most in dict(limits.get("imports", {})).items():  # type: ignore[call-overload]
        upper[hour] = most
    rows, right = [], []
    for t in range(n):
        held = np.zeros(cost.size)
        held[n : n + t + 1], held[2 * n : 2 * n + t + 1] = ROOT, -1 / ROOT
        least = dict(limits.get("held", {})).get(t + 1, 0.0)  # type: ignore[call-overload]
        least = max(least, 50.0) if t == n - 1 else least
        rows += [held, -held]
        right += [50.0, 50.0 - least]
    if "discharged" in limits:
        row = np.zeros(cost.size)
        row[2 * n : 3 * n] = 1.0
        rows.append(row)
        right.append(float(str(limits["discharged"])))
    for k, (hours, charge) in enumerate(limits.get("peaks", ())):  # type: ignore[var-annotated,arg-type]
        cost[3 * n + k] = charge
        for hour in hours:
            row = np.zeros(cost.size)
            row[hour], row[3 * n + k] = 1, -1
            rows.append(row)
            right.append(0.0)
    balance = np.hstack([np.eye(n), -np.eye(n), np.eye(n), np.zeros((n, 2))])
    found = linprog(cost, np.array(rows), right, balance, LOAD, [(0, u) for u in upper])
    assert found.success, found.message
    return float(found.fun)


NIGHT_AND_NOON = {22, 23, 0, 1, 2, 3, 4, 5, 11, 12, 13, 14}
CASES: tuple[tuple[str, dict[str, object]], ...] = (
    ("The battery must not be discharged between 12:00 and 14:00.", {"no_discharge": (12, 13)}),
    ("From 17:00 to 19:00 the battery must not charge.", {"no_charge": (17, 18)}),
    ("Discharging is not allowed from 12:00 to 14:00.", {"no_discharge": (12, 13)}),
    (
        "The battery may only be charged from 22:00 to 06:00 and from 11:00 to 15:00.",
        {"no_charge": tuple(set(range(24)) - NIGHT_AND_NOON)},
    ),
    ("At 07:00 it must hold at least 80 kWh.", {"held": {7: 80.0}}),
    ("At 17:00 the battery must contain no less than 90 kWh.", {"held": {17: 90.0}}),
    ("Its state of charge must be at least 80 % at 07:00.", {"held": {7: 80.0}}),
    ("The highest import costs 2 EUR/kW.", {"peaks": ((range(24), 2.0),)}),
    (
        "There is a demand charge of 2 EUR/kW for the highest import, and from 17:00 to 20:00"
        " the highest import costs 3.5 EUR/kW.",
        {"peaks": ((range(24), 2.0), ((17, 18, 19), 3.5))},
    ),
    (
        "Between 17:00 and 19:00 the import must not exceed 45 kW.",
        {"imports": {17: 45.0, 18: 45.0}},
    ),
    (
        "From 17:00 to 19:00 at most 45 kW may be drawn from the grid.",
        {"imports": {17: 45.0, 18: 45.0}},
    ),
)


ENERGY = (
    "The battery must not be discharged by more than 15 kWh in total.",
    "No more than 15 kWh may be discharged during the day.",
    "The energy taken out of the battery over the day must not exceed 15 kWh.",
)
CASES += tuple((sentence, {"discharged": 15.0}) for sentence in ENERGY)


def shop_files() -> dict[str, str]:
    """Return the data of the shop."""
    rows = [f"2025-06-03 {h:02d}:00,{v}" for h, v in zip(HOURS, LOAD, strict=True)]
    return {"load.csv": "time,load_kw\n" + "\n".join(rows) + "\n"}


@pytest.mark.parametrize(("sentence", "limits"), CASES)
def test_a_limit_at_some_times_of_the_day(
    tmp_path: Path, sentence: str, limits: dict[str, object]
) -> None:
    analysis = analysed(tmp_path, BASE + sentence + GOAL, shop_files())
    assert analysis.complete, (analysis.not_understood, analysis.ambiguous, analysis.missing)
    status, objective = solved(analysis, tmp_path)
    assert status == "optimal"
    assert objective == pytest.approx(cheapest(**limits), rel=1e-7)


def test_two_limits_in_either_order(tmp_path: Path) -> None:
    pairs = list(itertools.combinations([CASES[0], CASES[4], CASES[9]], 2))
    for first, second in pairs:
        expected = cheapest(**{**first[1], **second[1]})
        for order in ((first[0], second[0]), (second[0], first[0])):
            analysis = analysed(tmp_path, BASE + " ".join(order) + GOAL, shop_files())
            assert analysis.complete, analysis.not_understood
            assert solved(analysis, tmp_path)[1] == pytest.approx(expected, rel=1e-7)


CHANGED = (
    "The battery must not be discharged between 12:00 and 14:00 on weekdays.",
    "The battery should not be discharged between 12:00 and 14:00 if possible.",
    "Between 12:10 and 14:00 the battery must not be discharged.",
    "At 07:00 it must hold at least 80 kWh unless prices are high.",
    "The average import from 17:00 to 20:00 must not exceed 45 kW.",
    "Between 17:00 and 19:00 the import must exceed 45 kW.",
    "From 17:00 to 19:00 the import costs twice as much.",
    "At 07:00 or 08:00 it must hold at least 80 kWh.",
    "The battery may rest from 12:00 to 14:00.",
    "The demand charge of 2 EUR/kW is for the second highest import.",
    "The demand charge is 2 EUR/kW for every kW above 60 kW.",
    "The battery must be charged from 12:00 to 14:00.",
    "The battery may deliver at most 15 kWh.",
    "The battery must deliver at least 15 kWh over the day.",
    "The battery and the grid may deliver at most 15 kWh over the day.",
    "No more than 15 kWh may be discharged during the day on average.",
    "No more than 15 kWh may be discharged during the first half of the day.",
)


@pytest.mark.parametrize("sentence", CHANGED)
def test_a_limit_that_is_not_covered_is_never_read_as_one_that_is(
    tmp_path: Path, sentence: str
) -> None:
    assert not analysed(tmp_path, BASE + sentence + GOAL, shop_files()).complete
