"""Whoever repairs a blueprint hears of everything that is wrong with it at once."""

from typing import Any

import pytest

from engiagent.blueprint.analysis import analyse
from engiagent.blueprint.diagnostics import BlueprintError
from engiagent.blueprint.document import Blueprint
from engiagent.formulations.compile import compile_blueprint
from tests.blueprints import document, variable

PERIODS = {"name": "T", "kind": "time", "start": "00:00", "step": "1 h", "periods": 3}


def right(**core: Any) -> Any:
    """Return a right blueprint as plain JSON, with parts of its core replaced."""
    return document(**{"sets": [PERIODS], "decision_variables": [variable("x", "t in T")], **core})


def rule(name: str, expression: str) -> dict[str, Any]:
    return {"constraint_id": name, "forall": ["t in T"], "expression": expression}


def raised(**core: Any) -> str:
    with pytest.raises(BlueprintError) as caught:
        compile_blueprint(Blueprint.from_dict(right(**core)))
    return str(caught.value)


def test_a_compilation_that_stops_early_names_later_errors_too() -> None:
    shown = raised(
        parameters=[{"name": "a", "value": [1, 2], "index": ["T"], "unit": "kW"}],
        constraints=[rule("first", "x[t] <= nowhere"), rule("second", "x[t] <= 3[kWh]")],
        objective_function={"sense": "minimize", "unit": "kW", "expression": "sum(x[t] for t in"},
    )
    assert all(part in shown for part in ("2 values are listed", "nowhere", "kWh", "never closed"))
    assert len(set(shown.splitlines())) == len(shown.splitlines())


def test_what_is_used_through_expressions_within_expressions_is_used() -> None:
    inner = {"name": "inner", "expression": "2*a", "unit": "kW"}
    outer = {"name": "outer", "expression": "inner + 1[kW]", "unit": "kW"}

    def idle(*rules: dict[str, Any]) -> set[str | None]:
        blueprint = Blueprint.from_dict(
            right(
                parameters=[{"name": "a", "value": 1, "unit": "kW"}],
                expressions=[inner, outer],
                constraints=list(rules),
            )
        )
        return {d.name for d in analyse(blueprint).diagnostics if d.code == "EB020"}

    assert "a" not in idle(rule("limit", "x[t] <= outer"))
    assert "a" in idle(rule("limit", "x[t] <= 5[kW]"))
