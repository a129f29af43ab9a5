"""Small blueprints for tests, written with as few words as the language allows."""

from typing import Any

from engiagent.blueprint.document import Blueprint

Json = dict[str, Any]

DAY: Json = {
    "name": "T",
    "kind": "time",
    "start": "2025-07-01T00:00",
    "step": "1 h",
    "periods": 4,
    "zone": "Europe/Berlin",
}
EDGES: Json = {"name": "I", "kind": "instants", "of": "T"}
UNITS: Json = {"name": "G", "kind": "labels", "elements": ["G1", "G2", "G3"]}


def document(**core: Any) -> Json:
    """Return a blueprint as plain JSON; absent parts of the core are empty."""
    parts: Json = {"sets": [], "parameters": [], "decision_variables": [], "constraints": []}
    return {
        "schema": "engiagent-blueprint/1",
        "kind": "programme",
        "modeling_context": {"problem_essence": "a test"},
        "core_model_elements": parts | core,
    }


def blueprint(**core: Any) -> Blueprint:
    """Return a validated blueprint; absent parts of the core are empty."""
    return Blueprint.from_dict(document(**core))


def variable(name: str, *index: str, unit: str = "kW", **more: Any) -> Json:
    """Return a variable between 0 and 10 unless told otherwise."""
    return {"name": name, "index": list(index), "lower": 0, "upper": 10, "unit": unit} | more


def constraint(expression: str, *forall: str, **more: Any) -> Json:
    """Return a constraint with the id C1 unless told otherwise."""
    return {"constraint_id": "C1", "forall": list(forall), "expression": expression} | more


def parameter(name: str, value: Any, unit: Any = "1", *index: str, **more: Any) -> Json:
    """Return a parameter with an inline value."""
    return {"name": name, "index": list(index), "value": value, "unit": unit} | more


def goal(expression: str, unit: str = "EUR", sense: str = "minimize", name: str = "cost") -> Json:
    """Return an objective."""
    return {"name": name, "sense": sense, "unit": unit, "expression": expression}
