"""JSON Schemas of what tools answer, from a few words."""

from typing import Any, Final

Json = dict[str, Any]

TEXT: Final[Json] = {"type": "string"}
FLAG: Final[Json] = {"type": "boolean"}
COUNT: Final[Json] = {"type": "integer", "minimum": 0}
NUMBER: Final[Json] = {"type": "number"}
ANY: Final[Json] = {"type": "object"}


def list_of(item: Json) -> Json:
    """Return the schema of a list."""
    return {"type": "array", "items": item}


def by_name(item: Json) -> Json:
    """Return the schema of an object whose keys are names."""
    return {"type": "object", "additionalProperties": item}


def maybe(item: Json) -> Json:
    """Return a schema that allows null as well."""
    return {"anyOf": [item, {"type": "null"}]}


def record(required: Json, optional: Json | None = None, *, more: bool = False) -> Json:
    """Return the schema of an object with these fields and, unless ``more``, no others."""
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": more,
    }


TEXTS: Final = list_of(TEXT)
OBJECTIVE: Final = maybe(record({}, {"value": maybe(NUMBER), "unit": maybe(TEXT),
                                     "sense": maybe(TEXT)}, more=True))  # fmt: skip
ELEMENTS: Final = record(
    {
        "kind": {"enum": ["programme", "definitions"]}, "sets": TEXTS, "parameters": TEXTS,
        "decision_variables": TEXTS, "components": by_name(TEXT), "constraints": TEXTS,
    }
)  # fmt: skip
CHANGED: Final = record({"blueprint": TEXT, "elements": ELEMENTS})
