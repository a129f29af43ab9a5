"""Every construct: the right schedule passes, a wrong one is told with place, amount and unit."""

from typing import Any

import numpy as np
import pytest

from tests.pace import soon
from tests.verify.small import document, entry, judged, rule
from tests.written import listing

X = {"name": "x", "index": ["t in T"], "lower": -100, "upper": 100, "unit": "kW"}
ZERO = {"x": [0, 0, 0], "r": [1, 1, 1]}
TABLES = [
    {"name": "load", "index": ["K"], "value": [0, 60, 100], "unit": "kW"},
    {"name": "fuel", "index": ["K"], "value": [0, 9, 21], "unit": "EUR/h"},
]
SETS = [
    {"name": "T", "kind": "time", "start": "00:00", "step": "1 h", "periods": 3},
    {"name": "K", "kind": "range", "start": 1, "stop": 3},
]
R = {"name": "r", "index": ["t in T"], "lower": -100, "upper": 100}
ALL: list[dict[str, Any]] = [X, R]


def plan(changes: dict[str, Any]) -> dict[str, Any]:
    """Return a schedule of zeros, and ones for what is divided by, but for some series."""
    return {**ZERO, **changes}


# text, the schedule, words that must be said, by how much it is outside
OUTSIDE: list[tuple[str, dict[str, Any], str, float | None]] = [
    ("log(r[t]) <= 9", {"r": [1, 0, 1]}, "log of 0 1 is no finite number", None),
    ("log(r[t]) <= 9", {"r": [1, -2, 1]}, "log of -2 1 is no finite number", None),
    ("sqrt(r[t]) <= 9", {"r": [1, -2, 1]}, "sqrt of a negative number: 2 1 outside", 2.0),
    ("r[t]**1.5 <= 9", {"r": [1, -2, 1]}, "a power of 1.5 of a negative number", 2.0),
    ("r[t]**-1 <= 9", {"r": [1, 0, 1]}, "a power of -1 of 0 1 is no finite", None),
    ("1/r[t] <= 9", {"r": [1, 0, 1]}, "the quotient of 1 1 and 0 1", None),
    ("exp(100*r[t]) >= 0", {"r": [1, 90, 1]}, "exp of 9000 1 is no finite number", None),
    ("piecewise(x[t], load, fuel) >= 0[EUR/h]", {"x": [0, 103, 0]}, "outside the table: 3 kW", 3.0),
    ("piecewise(x[t], load, fuel) >= -9[EUR/h]", {"x": [0, -2, 0]}, "outside the table: 2 kW", 2.0),
]


@pytest.mark.parametrize(("text", "schedule", "words", "amount"), OUTSIDE)
def test_outside_a_domain_is_a_violation_with_its_place(
    text: str, schedule: dict[str, Any], words: str, amount: float | None
) -> None:
    wide = [{**v, "lower": -1000, "upper": 1000} if v["name"] in ("x", "r") else v for v in ALL]
    blueprint = document(wide, [rule(text)], sets=SETS, parameters=TABLES)
    bad = judged(blueprint, plan(schedule))
    assert bad.verdict == "violated"
    first = bad.violations[0]
    assert words in first["message"]
    assert first["where"] == {"t": "01:00"}
    assert first["amount"] == (None if amount is None else pytest.approx(amount))


def test_rounding_at_the_edge_of_a_domain_is_forgiven() -> None:
    text = "sqrt(r[t]) + piecewise(x[t], load, fuel)/1[EUR/h] <= 9"
    blueprint = document(ALL, [rule(text)], sets=SETS, parameters=TABLES)
    good = judged(blueprint, plan({"r": [0, -1e-9, 1], "x": [-1e-7, 0, 0]}))
    assert good.violations == ()


def test_a_table_may_differ_by_row_and_choose_by_index() -> None:
    curves = [
        {
            "name": "load",
            "index": ["T", "K"],
            "unit": "kW",
            "value": {"00:00": [0, 1, 2], "01:00": [0, 2, 4], "02:00": [0, 3, 6]},
        },
        {"name": "fuel", "index": ["K"], "value": [0, 1, 10]},
    ]
    text = "piecewise(x[t], load[t], fuel) <= where(pos(t) == 2, 5.5, 1)"
    blueprint = document(ALL, [rule(text)], sets=SETS, parameters=curves)
    assert judged(blueprint, plan({"x": [1, 2, 4.5]})).violations == ()
    (violation,) = judged(blueprint, plan({"x": [1, 3, 4.5]})).violations
    assert violation["where"] == {"t": "01:00"}
    assert violation["amount"] == pytest.approx(4.5)


def test_a_year_of_quarter_hours_is_summed_by_day_without_trying_every_pair() -> None:
    sets = listing("""
        - {name: D, kind: time, start: "2025-01-01T00:00", step: 24 h, periods: 365, zone: UTC}
        - {name: Q, kind: time, start: "2025-01-01T00:00", step: 15 min, periods: 35040, zone: UTC}
    """)
    power = {"name": "p", "index": ["q in Q"], "lower": 0, "upper": 9, "unit": "kW"}
    day = rule("sum(p[q]*dt(q) for q in Q if within(q, d)) <= 24[kWh]", "d in D")
    window = rule("sum(p[s] for s in Q if pos(q) - 4 < pos(s) <= pos(q)) <= 8[kW]", "q in Q")
    data = np.ones(35040)
    data[96 * 200 + 5] = 5.0
    with soon(10.0):  # trying all pairs would be 1.2 thousand millions
        (violation,) = judged(document([power], [day], sets=sets), {"p": data}).violations
        assert judged(document([power], [window], sets=sets), {"p": data}).violations == ()
    assert violation["where"] == {"d": "2025-07-20T00:00+00:00"}
    assert violation["amount"] == pytest.approx(1.0)


def test_a_minus_before_a_temperature_is_its_own() -> None:
    blueprint = document(
        [{"name": "theta", "index": ["t in T"], "unit": "degC"}],
        [rule("theta[t] >= -40[degC]")],
        {"sense": "minimize", "unit": "K", "expression": "theta[last(T)] - -40[degC]"},
    )
    warm = judged(blueprint, {"theta": [-39.0, 0.0, -40.0]}, objective=0.0)
    assert entry(warm, "C")["status"] == "pass"
    cold = judged(blueprint, {"theta": [-39.0, 0.0, -41.0]}, objective=-1.0)
    assert entry(cold, "C")["status"] == "fail"


@pytest.mark.parametrize(("apparent", "status"), [(5.0, "pass"), (4.99, "fail")])
def test_a_root_of_squares_has_the_unit_of_what_is_squared(apparent: float, status: str) -> None:
    powers = [("p", "kW"), ("q", "var"), ("s", "kVA")]
    case = document(
        [{"name": name, "index": ["t in T"], "unit": unit} for name, unit in powers],
        [rule("sqrt(p[t]**2 + q[t]**2) <= s[t]")],
    )
    plan = {"p": [3.0] * 3, "q": [-4000.0] * 3, "s": [apparent, 6.0, 7.0]}
    found = entry(judged(case, plan), "C")
    assert (found["status"], found["worst"]["unit"]) == (status, "kW")
    assert found["worst"]["slack"] == pytest.approx(apparent - 5.0, abs=1e-9)
