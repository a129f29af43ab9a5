"""Parameters that a blueprint itself lists among the numbers that enter no equation."""

from collections.abc import Iterator, Mapping
from typing import Any

from engiagent.blueprint.document import Blueprint

Span = tuple[int, int]


def listed_as_unused(blueprint: Blueprint) -> frozenset[str]:
    """Return the parameters whose every source lies in a place listed as unused, with a reason."""
    extended = blueprint.extended_analysis_and_robustness
    listed = [
        (int(entry["span"][0]), int(entry["span"][1]))
        for entry in (extended.unused if extended is not None else ())
        if str(entry.get("reason", "")).strip()
    ]
    found = set()
    for parameter in blueprint.core.parameters if listed else ():
        spans = list(_spans(parameter.source_reference))
        if spans and all(any(a <= s and e <= b for a, b in listed) for s, e in spans):
            found.add(parameter.name)
    return frozenset(found)


def _spans(source: Any) -> Iterator[Span]:
    if isinstance(source, Mapping):
        span = source.get("span")
        if span is not None:
            yield int(span[0]), int(span[1])
        yield from _spans(source.get("of"))
    elif isinstance(source, list | tuple):
        for item in source:
            yield from _spans(item)
