"""The JSON Schema of plant files, from the slot tables, so that editors complete and check them."""

from typing import Any

from engiagent.formulations.components import MODELS
from engiagent.io.schemawords import DRAFT, OBJECT, TEXT, Json, by_name, record, said
from engiagent.plant.horizon import KEYS, RULES
from engiagent.plant.sizing import KEYS as SIZE_KEYS
from engiagent.plant.slots import FINAL
from engiagent.slots import Component

SCALAR: Json = {"type": ["string", "number"]}
VALUE: Json = {"anyOf": [SCALAR, {"type": "array", "items": SCALAR, "minItems": 1}]}
SIZE: Json = record(
    {"between": {"type": "array", "items": SCALAR, "minItems": 2, "maxItems": 2}},
    {key: SCALAR for key in SIZE_KEYS if key != "between"},
)
NAMES: Json = {"pattern": "^[A-Za-z][A-Za-z0-9_]*$"}


def plant() -> Json:
    """Return the schema of plant files."""
    rule = {"enum": list(RULES)}
    several = record({"column": TEXT, "weights": by_name(SCALAR)}, {})
    horizon = dict.fromkeys(KEYS, SCALAR) | {"align": rule, "representative": several}
    requirement = record(
        {"must": said(TEXT, "a comparison, as grid.import[t] <= 80 kW")},
        {
            "for": said(TEXT, "over what, as t in T; for every period without it"),
            "where": said(TEXT, "a condition on its index, as 17 <= hour(t) < 20"),
            "penalty": said(SCALAR, "what a unit of violation costs; hard without it"),
        },
    )
    names = {"anyOf": [TEXT, {"type": "array", "items": TEXT}]}
    goal: Json = record({}, dict.fromkeys(("minimize", "maximize", "unit"), TEXT))
    return {
        "$schema": DRAFT,
        "title": "plant.yaml: a site, its horizon, requirements and goal",
        **record(
            {
                "horizon": {**record({"step": SCALAR}, horizon), "description": "the periods"},
                "components": {
                    **by_name({"oneOf": [_component(n, m) for n, m in MODELS.items()]}),
                    "propertyNames": NAMES,
                },
                "goal": said(goal, "minimize: cost, maximize: profit, or an expression"),
            },
            {
                "title": TEXT,
                "currency": {"type": "string", "pattern": "^[A-Z]{3}$"},
                "requirements": {**by_name({"anyOf": [TEXT, requirement]}), "propertyNames": NAMES},
                "baseline": said(
                    {"oneOf": [record({"without": names}, {}), record({"rule": TEXT}, {})]},
                    "the site without some components, or under a rule: what is saved against it",
                ),
                "cases": said(by_name(by_name(SCALAR)), "other values of slots, solved beside it"),
            },
        ),
    }


def _component(name: str, model: Component) -> Json:
    """Return the schema of the components of a model."""
    slots = {}
    for slot, entry in model.slots.items():
        unit = "a number" if entry.unit == "1" else f"[{entry.unit}]"
        default = f"; {entry.usual} without it" if entry.usual else ""
        value = VALUE if entry.series or entry.table else SCALAR
        if not entry.table:
            value = {"anyOf": [value, SIZE]}
        if entry.unit == "1":
            value = {"anyOf": [value, {"type": "boolean"}]}
        slots[slot] = said(value, f"{entry.meaning} {unit}{default}")
    given: dict[str, Any] = {
        option: {"enum": list(words)} if words else {}
        for option, words in model.options.items()
        if option not in slots
    }
    if "initial_energy" in slots:
        given[FINAL] = said(SCALAR, "least content in the end, a requirement [kWh]")
    ports = {c: {"anyOf": [TEXT, OBJECT]} for c in model.connections}
    required = {s: slots[s] for s, entry in model.slots.items() if entry.required}
    kind = {"model": said({"const": name}, model.summary), **required}
    return record(kind, {**slots, **ports, **given, "align": {"enum": list(RULES)}})
