"""Answers as they go over the wire, and the way from there to the schemas of the questions.

A server that holds answers to a schema knows neither maps with free keys nor bounds. A blueprint,
a requirements document and the value of a patch so travel as JSON text in a string, and bounds as
words. What comes back is held against :data:`engiagent.agents.protocol.SCHEMAS` like any answer.
"""

import json
import re
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any, Final

from engiagent.agents.engines.shortform import Placing, Quoting, in_full
from engiagent.agents.protocol import SCHEMAS
from engiagent.errors import EngiagentError
from engiagent.io.jsontext import loads_strict
from engiagent.text import Problem

Json = Any

_JSON_TEXT: Final = {"type": "string", "description": "JSON; empty where there is none"}
_REQUIREMENTS: Final = "engiagent-requirements/1"
_FENCE: Final = re.compile(r"```(?:json)?\s*\n(.*?)\n?\s*```", re.DOTALL)
_BOUNDS: Final = {"minimum": "at least", "maximum": "at most"}


class WireError(EngiagentError):
    """A reply is not what was asked for; the message goes back to the model."""


def wire_schema(kind: str) -> dict[str, Json]:
    """Return the schema of a kind of question's answers, as a server can hold them to it."""
    schema = deepcopy(dict(SCHEMAS[kind]))
    for name in ("blueprint", "requirements"):
        if name in schema["properties"]:
            schema["properties"][name] = dict(_JSON_TEXT)
    if kind == "repair":
        operation = schema["properties"]["patch"]["items"]
        operation["properties"]["value"] = dict(_JSON_TEXT)
        operation["required"] = ["op", "path", "value"]
    found = _bounded_by_words(schema)
    assert isinstance(found, dict)
    return found


def _bounded_by_words(schema: Json) -> Json:
    if isinstance(schema, list):
        return [_bounded_by_words(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    found = {k: _bounded_by_words(v) for k, v in schema.items() if k not in _BOUNDS}
    said = ", ".join(f"{word} {schema[k]}" for k, word in _BOUNDS.items() if k in schema)
    if "enum" in found:
        found.setdefault("type", "string")
    return {**found, "description": said} if said else found


def read_reply(kind: str, text: str, problem: Problem | None) -> dict[str, Json]:
    """Return the answer that a reply is, in the form of the question's schema."""
    value = read_object(text)
    convert = _CONVERSIONS.get(kind)
    return value if convert is None else convert(value, problem)


def read_object(text: str) -> dict[str, Json]:
    """Return the JSON object of a reply, also out of a fence or words around it."""
    fenced = _FENCE.search(text)
    candidates = [text.strip(), fenced[1].strip() if fenced else "", _outermost(text)]
    error: Exception | None = None
    for candidate in filter(None, candidates):
        try:
            value = loads_strict(candidate)
        except EngiagentError as found:
            error = error or found
            continue
        if isinstance(value, dict):
            return value
        error = error or WireError(f"a JSON object is needed, not {type(value).__name__}")
    raise WireError(f"the reply cannot be read: {error or 'it is empty'}")


def _outermost(text: str) -> str:
    first, last = text.find("{"), text.rfind("}")
    return text[first : last + 1] if 0 <= first < last else ""


def _analysis(value: dict[str, Json], problem: Problem | None) -> dict[str, Json]:
    blueprint = _json(value.get("blueprint"), "blueprint")
    if blueprint is not None and problem is not None:
        if not isinstance(blueprint, dict):
            raise WireError("'blueprint' is no JSON object")
        blueprint = in_full(blueprint, problem)
    quoted = _all_quoted(value, problem, "contradictions", "not_understood", "objections")
    return {**quoted, "blueprint": blueprint}


def _requirements(value: dict[str, Json], problem: Problem | None) -> dict[str, Json]:
    document = _json(value.get("requirements"), "requirements")
    if isinstance(document, dict):
        document = _all_quoted({"schema": _REQUIREMENTS, **document}, problem, "requirements")
    return {**value, "requirements": document}


def _quoted(entry: Json, quoting: Quoting) -> Json:
    """Return an entry with its quotes as the text has them, dashes and marks included."""
    if not isinstance(entry, dict):
        return entry
    kept = dict(entry)
    if isinstance(kept.get("quote"), str):
        kept["quote"] = _words(kept["quote"], quoting)
    if isinstance(kept.get("quotes"), list):
        kept["quotes"] = [_words(q, quoting) if isinstance(q, str) else q for q in kept["quotes"]]
    return kept


def _words(quote: str, quoting: Quoting) -> str:
    """Return the words of the text that a quote means; the quote itself where there are none."""
    place = quoting.place(quote)
    return quote if place is None else " ".join(quoting.text[slice(*place)].split())


def _all_quoted(value: dict[str, Json], problem: Problem | None, *names: str) -> dict[str, Json]:
    """Return an answer with the quotes in some of its lists as the text has them."""
    if problem is None:
        return value
    quoting = Quoting(problem.text, problem.body_start)
    lists = {n: value[n] for n in names if isinstance(value.get(n), list)}
    return {**value, **{n: [_quoted(e, quoting) for e in part] for n, part in lists.items()}}


def _differences(value: dict[str, Json], problem: Problem | None) -> dict[str, Json]:
    return _all_quoted(value, problem, "differences")


def _repair(value: dict[str, Json], problem: Problem | None) -> dict[str, Json]:
    patch = _json(value.get("patch"), "patch")
    if not isinstance(patch, list):
        raise WireError("'patch' is no list of operations")
    placing = None if problem is None else Placing.of(problem)
    return {**value, "patch": [_operation(op, n, placing) for n, op in enumerate(patch)]}


def _operation(operation: Json, number: int, placing: Placing | None) -> Json:
    """Return an operation with its value as JSON, and without the fields it does not use."""
    if not isinstance(operation, dict):
        raise WireError(f"operation {number} of the patch is no object")
    kept = {k: v for k, v in operation.items() if not (k == "from" and v == "")}
    if operation.get("op") not in ("add", "replace", "test"):
        kept.pop("value", None)
        return kept
    value = _json(operation.get("value"), f"patch[{number}].value", bare=True)
    path = str(operation.get("path") or "")
    return {**kept, "value": value if placing is None else placing.at(path, value)}


def _json(value: Json, name: str, *, bare: bool = False) -> Json:
    """Return what a JSON text says; what is no text is taken as it is."""
    if not isinstance(value, str):
        return value
    if not value.strip():
        return "" if bare else None
    try:
        return loads_strict(value)
    except EngiagentError as error:
        if bare and value.lstrip()[0] not in '{["':
            return value
        raise WireError(f"the JSON text in '{name}' cannot be read: {error}") from None


def said_form(schema: Mapping[str, Json]) -> str:
    """Return a schema as text, for servers that are not given it beside the prompt."""
    return json.dumps(schema, ensure_ascii=False, separators=(",", ":"))


_CONVERSIONS: Final[Mapping[str, Callable[[dict[str, Json], Problem | None], dict[str, Json]]]] = {
    "analyse": _analysis,
    "repair": _repair,
    "requirements": _requirements,
    "second": _analysis,
    "differ": _differences,
}
