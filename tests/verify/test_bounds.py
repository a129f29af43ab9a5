"""Bounds of variables: one number for all rows, or one for each of them, are judged alike."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.verify.small import HOURS, document, entry, judged

NUMBERS = st.one_of(
    st.sampled_from([0.0, 2.0, 5.0, -1e-9, 5.0 + 1e-9, 5.0 + 4e-6, 1e9]), st.floats(-10, 10)
)
UNITS = st.sampled_from(["kW", "degC", "K", "1"])


def bounded(lower: Any, upper: Any, unit: str) -> Any:
    table = {"name": "low", "index": ["T"], "value": [0.0, 0.0, 0.0], "unit": unit}
    tables = [table, {**table, "name": "high", "value": [5.0, 5.0, 5.0]}]
    bounds = {"lower": lower, "upper": upper}
    given_bounds = {side: bound for side, bound in bounds.items() if bound is not None}
    variable = {"name": "x", "index": ["t in T"], "unit": unit, **given_bounds}
    return document([variable], parameters=tables, sets=HOURS)


@given(st.lists(NUMBERS, min_size=3, max_size=3), UNITS)
def test_one_number_for_all_rows_is_judged_as_one_for_each(plan: list[float], unit: str) -> None:
    by_number, by_row = (
        entry(judged(bounded(low, high, unit), {"x": plan}), "bounds:x")
        for low, high in ((0, 5), ("low[t]", "high[t]"))
    )
    assert by_number["status"] == by_row["status"]
    assert by_number["tolerance"] == by_row["tolerance"]
    # Rows as bad as one another, up to rounding, may stand for one another.
    one, other = (found["worst"]["slack"] for found in (by_number, by_row))
    assert one == pytest.approx(other, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize(
    ("plan", "status", "where", "slack"),
    [
        ([1, 4, 2], "pass", "01:00", 1.0),
        ([1, 6, 2], "fail", "01:00", -1.0),
        ([1, 4, -3], "fail", "02:00", -3.0),
        ([7, 4, -3], "fail", "02:00", -3.0),
        ([9, 4, -3], "fail", "00:00", -4.0),
    ],
)
def test_the_worst_row_is_named(plan: list[float], status: str, where: str, slack: float) -> None:
    found = entry(judged(bounded(0, 5, "kW"), {"x": plan}), "bounds:x")
    assert (found["status"], found["worst"]["where"]) == (status, {"t": where})
    assert found["worst"]["slack"] == pytest.approx(slack)


@pytest.mark.parametrize(("lower", "upper"), [(None, None), (0, None), (None, 5)])
def test_a_side_without_a_bound_asks_for_nothing(lower: Any, upper: Any) -> None:
    plan = {"x": [1e6 if upper is None else 1.0, 2.0, -1e6 if lower is None else 1.0]}
    assert entry(judged(bounded(lower, upper, "kW"), plan), "bounds:x")["status"] == "pass"
