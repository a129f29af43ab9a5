"""Sums over windows give what trying every combination gives, also over sets of very many."""

import numpy as np
import pytest

from engiagent.blueprint import windows
from engiagent.blueprint.document import Blueprint
from engiagent.formulations.compile import compile_blueprint
from tests.blueprints import blueprint, constraint, parameter, variable
from tests.written import listing, mapping

FINE = mapping("""
    {name: Q, kind: time, start: "2025-03-29T00:00", step: 15 min, periods: 200,
      zone: Europe/Berlin}
""")
HOURS = mapping("""
    {name: H, kind: time, start: "2025-03-29T00:00", step: 1 h, periods: 50, zone: Europe/Berlin}
""")
SOME = {"name": "E", "kind": "subset", "of": "Q", "binder": "q", "where": "hour(q) >= 6"}

CONDITIONS = listing("""
    [pos(t) - 5 < pos(s) <= pos(t), "pos(s) >= pos(t) and pos(s) < pos(t) + 3", pos(t) == pos(s),
      "pos(s) <= lag[t] and hour(s) != 3", 0.5 <= pos(s) <= 3.5, "pos(s) > 40.2", 1000 < pos(s)]
""")


def model(body: str, over: str, forall: str) -> Blueprint:
    return blueprint(
        sets=[FINE, HOURS, SOME],
        parameters=[
            parameter("lag", [float(k % 7) for k in range(50)], "1", "H"),
            parameter("weight", [float(k) for k in range(200)], "1", "Q"),
        ],
        decision_variables=[variable("x", f"q in {over}"), variable("y", "h in H")],
        constraints=[constraint(f"{body} <= 3", forall)],
    )


def rows(text: Blueprint) -> tuple[np.ndarray, ...]:
    program = compile_blueprint(text)
    return program.row_starts, program.row_columns, program.row_values


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_window_leaves_what_the_filter_leaves(
    condition: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = model(f"sum(y[s] for s in H if {condition}) + 0*y[t]", "Q", "t in H")
    every = rows(text)
    monkeypatch.setattr(windows, "WORTH_WHILE", 0)
    for one, other in zip(every, rows(text), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("over", ["Q", "E"])
def test_quarter_hours_add_up_to_their_hour(over: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = model(f"sum(x[q]*dt(q) for q in {over} if within(q, h))", over, "h in H")
    every = rows(text)
    monkeypatch.setattr(windows, "WORTH_WHILE", 0)
    for one, other in zip(every, rows(text), strict=True):
        np.testing.assert_array_equal(one, other)
    if over == "Q":
        assert np.all(np.diff(every[0]) == 4)
        np.testing.assert_allclose(every[2], 0.25)


def test_a_period_of_a_coarser_set_can_be_named_by_the_finer_one() -> None:
    program = compile_blueprint(model("x[q] - y[at(q, H)]", "Q", "q in Q"))
    coarse = program.column_block("y").start
    of_row = program.row_columns.reshape(200, 2).max(axis=1)
    np.testing.assert_array_equal(of_row, coarse + np.arange(200) // 4)
