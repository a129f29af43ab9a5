"""What no plan keeps is named with all of its labels, stamps by the clock of their zone."""

import pytest

from engiagent.blueprint import Blueprint
from engiagent.formulations.compile import compile_blueprint
from engiagent.solvers.iis import in_words


def words(over: str, row: str, zone: str | None = "Europe/Berlin") -> str:
    time = {"name": "T", "kind": "time", "start": "2026-06-15T00:00", "step": "1 h", "periods": 4}
    core = {
        "sets": [
            {"name": "G", "kind": "labels", "elements": ["a", "b"]},
            {**time, **({"zone": zone} if zone else {})},
        ],
        "parameters": [],
        "decision_variables": [
            {"name": "p", "index": ["g in G", "t in T"], "unit": "kW", "lower": 0, "upper": 5}
        ],
        "components": [],
        "objective_function": {
            **{"name": "all", "sense": "minimize", "unit": "kW"},
            "expression": "sum(p[g, t] for g in G for t in T)",
        },
        "constraints": [
            {"constraint_id": "need", "expression": row}
            | ({"forall": ["g in G", "t in T"], "where": over} if over else {})
        ],
    }
    head = {"schema": "engiagent-blueprint/1", "kind": "programme"}
    context = {"modeling_context": {"problem_essence": "demands"}}
    return in_words(
        compile_blueprint(Blueprint.from_dict({**head, **context, "core_model_elements": core}))
    )


@pytest.mark.parametrize(
    ("zone", "stamp"), [("Europe/Berlin", "2026-06-15T02:00+02:00"), (None, "2026-06-15T02:00")]
)
def test_a_row_over_two_sets_is_named_by_both_labels(zone: str | None, stamp: str) -> None:
    said = words("g == 'b' and pos(t) == 2", "p[g, t] >= 6[kW]", zone)
    assert said == (f"; these cannot hold together: lowest need (b {stamp}); highest p (b {stamp})")


def test_a_row_over_no_set_is_named_without_labels() -> None:
    said = words("", "sum(p[g, t] for g in G for t in T) >= 41[kW]")
    assert said.startswith("; these cannot hold together: lowest need; highest p (a 2026-06-15T00")
