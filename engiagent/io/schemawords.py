"""JSON Schemas (draft 2020-12) from a few words."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

Json = dict[str, Any]

DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
TEXT: Final[Json] = {"type": "string"}
FLAG: Final[Json] = {"type": "boolean"}
COUNT: Final[Json] = {"type": "integer", "minimum": 0}
NUMBER: Final[Json] = {"type": "number"}
OBJECT: Final[Json] = {"type": "object"}
ANY: Final[Json] = {}
_PLAIN: Final[Mapping[str, Json]] = {
    "text": TEXT,
    "flag": FLAG,
    "count": COUNT,
    "integer": {"type": "integer"},
    "number": NUMBER,
    "object": OBJECT,
    "any": ANY,
    "null": {"type": "null"},
}


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


def fields(text: str, words: Mapping[str, Json] = MappingProxyType({})) -> tuple[Json, Json]:
    """Return the fields that lines describe: those that are always there, and the others.

    A line is ``name: kind; description``, with ``name?`` for a field that may be absent. Kinds are
    those of ``_PLAIN`` and ``words``, ``list of`` and ``by name`` with what follows, ``one of a, b,
    null``, several with `` or `` between them, and ``record`` (``record+`` where there may be
    more), whose fields follow with a deeper indentation.

    >>> fields("rates: list of number; as fractions a year")[0]["rates"]["items"]
    {'type': 'number'}
    """
    required: Json = {}
    optional: Json = {}
    lines = [line for line in text.splitlines() if line.strip()]
    depth = len(lines[0]) - len(lines[0].lstrip()) if lines else 0
    while lines:
        name, _, rest = lines.pop(0).strip().partition(": ")
        kind, _, about = rest.partition("; ")
        below = []
        while lines and len(lines[0]) - len(lines[0].lstrip()) > depth:
            below.append(lines.pop(0))
        found = _kind(kind, "\n".join(below), words)
        group = optional if name.endswith("?") else required
        group[name.removesuffix("?")] = said(found, about) if about else found
    return required, optional


def _kind(kind: str, below: str, words: Mapping[str, Json]) -> Json:
    if kind.startswith("one of "):
        values = kind.removeprefix("one of ").split(", ")
        return {"enum": [None if value == "null" else value for value in values]}
    for beginning, make in (("list of ", list_of), ("by name ", by_name)):
        if kind.startswith(beginning):
            return make(_kind(kind.removeprefix(beginning), below, words))
    if " or " in kind:
        return {"anyOf": [_kind(part, below, words) for part in kind.split(" or ")]}
    if kind.startswith("record"):
        return record(*fields(below, words), more=kind.endswith("+"))
    return {**_PLAIN, **words}[kind]


TEXTS: Final = list_of(TEXT)


def kind_of(schema: Json) -> str:
    """Return in a few words what a schema allows.

    >>> kind_of(maybe(list_of(TEXT)))
    'list of texts, or null'
    """
    if "anyOf" in schema:
        return ", or ".join(map(kind_of, schema["anyOf"]))
    if "const" in schema:
        return f"`{schema['const']}`"
    if "enum" in schema:
        return " or ".join("null" if v is None else f"`{v}`" for v in schema["enum"])
    kind = schema.get("type")
    if isinstance(kind, list):
        return ", or ".join(_SHORT.get(str(one), str(one)) for one in kind)
    if kind == "array":
        inner = kind_of(schema.get("items", {}))
        return "list" if inner == "anything" else f"list of {_PLURAL.get(inner, inner)}"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        inner = kind_of(schema["additionalProperties"])
        return f"{_PLURAL.get(inner, inner)} by name"
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
