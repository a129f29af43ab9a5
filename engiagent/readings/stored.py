"""Readings that are stored beside their problem, and hold as long as its words do."""

from collections.abc import Iterator
from typing import Any, Final

from engiagent.blueprint import Blueprint
from engiagent.problems import Problem
from engiagent.readings.reading import Reading

STORED: Final = "expert/blueprint.json"
"""Where a reading lies beside the problem."""


def reread(problem: Problem) -> Reading | None:
    """Return the stored reading of a problem; None without one, or where its words have changed."""
    if problem.expert is None or not (problem.folder / STORED).is_file():
        return None
    blueprint = Blueprint.load(problem.folder / STORED)
    for span, quote in _quotes(blueprint.to_dict()):
        if problem.text[slice(*span)] != quote:
            return None
    return Reading(blueprint)


def _quotes(node: Any) -> Iterator[tuple[list[int], str]]:
    """Yield the spans of the text that a blueprint rests on, with their words."""
    if isinstance(node, dict):
        if node.get("kind") == "text" and "span" in node and "quote" in node:
            yield node["span"], node["quote"]
        for value in node.values():
            yield from _quotes(value)
    elif isinstance(node, list):
        for value in node:
            yield from _quotes(value)
