"""Numbers of the text that the blueprint uses and the independent reading of requirements does not.

Two readings of one text, made apart, should rest on the same numbers. Where the blueprint limits
something by a number that no requirement that was read, no declared dynamics and no objective
speaks of, a demand is missing from the reading, and a certificate by that reading says too much.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from engiagent.agents.extraction import Extraction
from engiagent.blueprint import Blueprint
from engiagent.blueprint.document import thaw
from engiagent.io.jsontext import loads_strict
from engiagent.units.unit import DIMENSIONLESS, UnitError, parse_unit

EQUAL: Final = 1e-9
FROM_TEXT: Final = ("text", "table")
_LITERAL: Final = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)\s*(?:\[([^\]\[]+)\])?")
_WORD: Final = re.compile(r"[A-Za-z_]\w*")


def unread_numbers(blueprint: Blueprint, reading: Extraction) -> tuple[str, ...]:
    """Return the names of parameters whose numbers stem from the text and are in no requirement."""
    document = loads_strict(reading.text)
    known = list(_live(document))
    found = []
    for parameter in blueprint.core.parameters:
        values = [v for v in _numbers(thaw(parameter.value)) if v != 0.0]
        if not values or not _from_text(thaw(parameter.source_reference)):
            continue
        forms = [_forms(value, parameter.unit) for value in values]
        if not any(_among(form, known) for form in forms):
            found.append(parameter.name)
    return tuple(found)


def _live(document: Mapping[str, Any]) -> Iterator[float]:
    """Yield the numbers that requirements, dynamics and objective rest on, in several units."""
    texts = [
        str(entry.get(key) or "")
        for entry in document.get("requirements") or ()
        for key in ("expression", "where")
    ]
    texts += [
        str(v)
        for part in ("dynamics", "counted")
        for entry in document.get(part) or ()
        for v in _leaves(entry)
    ]
    texts += [str((document.get("objective") or {}).get("expression") or "")]
    texts += [str(v) for entry in document.get("sets") or () for v in _leaves(entry)]
    parameters = {str(p.get("name")): p for p in document.get("parameters") or ()}
    waiting = {word for text in texts for word in _WORD.findall(text)}
    for text in texts:
        yield from _literals(text)
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in seen or name not in parameters:
            continue
        seen.add(name)
        parameter = parameters[name]
        for leaf in _leaves(parameter.get("value")):
            if isinstance(leaf, str):
                waiting |= set(_WORD.findall(leaf))
                yield from _literals(leaf)
        for value in _numbers(parameter.get("value")):
            yield from _forms(value, parameter.get("unit"))


def _literals(text: str) -> Iterator[float]:
    for number, unit in _LITERAL.findall(text):
        yield from _forms(float(number), unit or None)


def _forms(value: float, unit: object) -> tuple[float, ...]:
    """Return a number as it is written and in the base units of its dimension, sign left out.

    A percentage is given as a fraction only: as it is written, 10 % would be 10 of anything.
    """
    try:
        known = parse_unit(str(unit)) if unit else None
    except UnitError:
        known = None
    if known is None:
        return (abs(value),)
    base = abs(known.to_si(value))
    fraction = known.dimension == DIMENSIONLESS and known.factor != 1
    return (base,) if fraction else (abs(value), base)


def _among(forms: tuple[float, ...], known: list[float]) -> bool:
    return any(abs(a - b) <= EQUAL * max(abs(a), abs(b)) for a in forms for b in known)


def _numbers(value: Any) -> Iterator[float]:
    for leaf in _leaves(value):
        if isinstance(leaf, int | float) and not isinstance(leaf, bool):
            yield float(leaf)


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        for item in value.values():
            yield from _leaves(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _leaves(item)
    elif value is not None:
        yield value


def _from_text(source: Any) -> bool:
    if isinstance(source, Mapping):
        return source.get("kind") in FROM_TEXT
    return isinstance(source, list | tuple) and any(_from_text(item) for item in source)
