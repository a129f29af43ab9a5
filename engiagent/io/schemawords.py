"""JSON Schemas (draft 2020-12) from a few words."""

from typing import Any, Final

Json = dict[str, Any]

DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
TEXT: Final[Json] = {"type": "string"}
FLAG: Final[Json] = {"type": "boolean"}
COUNT: Final[Json] = {"type": "integer", "minimum": 0}
NUMBER: Final[Json] = {"type": "number"}
OBJECT: Final[Json] = {"type": "object"}
ANY: Final[Json] = {}


def list_of(item: Json) -> Json:
    """Return the schema of a list."""
    return {"type": "array", "items": item}


def by_name(item: Json) -> Json:
    """Return the schema of an object whose keys are names."""
    return {"type": "object", "additionalProperties": item}


def maybe(item: Json) -> Json:
    """Return a schema that allows null as well."""
    return {"anyOf": [item, {"type": "null"}]}


def said(item: Json, text: str) -> Json:
    """Return a schema with a description."""
    return {**item, "description": text}


def record(required: Json, optional: Json | None = None, *, more: bool = False) -> Json:
    """Return the schema of an object with these fields and, unless ``more``, no others."""
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": more,
    }


def output(name: str, title: str, required: Json, optional: Json | None = None) -> Json:
    """Return the schema of an answer, with the field that names it."""
    const = said({"const": f"engiagent-{name}"}, "names this form and its version")
    return {
        "$schema": DRAFT,
        "$id": f"engiagent-{name}",
        "title": title,
        **record({"schema": const, **required}, optional),
    }


TEXTS: Final = list_of(TEXT)


def kind_of(schema: Json) -> str:
    """Return in a few words what a schema allows.

    >>> kind_of(maybe(list_of(TEXT)))
    'list of texts, or null'
    """
    if "anyOf" in schema:
        kinds = [kind_of(part) for part in schema["anyOf"]]
        return ", or ".join(kinds)
    if "const" in schema:
        return f"`{schema['const']}`"
    if "enum" in schema:
        return " or ".join("null" if v is None else f"`{v}`" for v in schema["enum"])
    kind = schema.get("type")
    if isinstance(kind, list):
        return ", or ".join(_SHORT.get(str(one), str(one)) for one in kind)
    if kind == "array":
        inner = kind_of(schema.get("items", {}))
        return "list" if inner == "anything" else f"list of {_many(inner)}"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"{_many(kind_of(schema['additionalProperties']))} by name"
    return _SHORT.get(str(kind), "anything")


_SHORT: Final = {
    "string": "text",
    "boolean": "true or false",
    "integer": "whole number",
    "number": "number",
    "object": "object",
    "null": "null",
    "array": "list",
}
_PLURAL: Final = {
    "text": "texts",
    "number": "numbers",
    "whole number": "whole numbers",
    "object": "objects",
    "list": "lists",
}


def _many(kind: str) -> str:
    return _PLURAL.get(kind, kind)
