"""Requirements that an engine took from a text alone, as far as they can be read.

They come from words, so each must stand on words of the text; one that does not, or that the
checker cannot read, is left out and named. What is left adds to what the checker holds a schedule
against; it never replaces the annotations of a problem that has them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from engiagent.agents.excused import excused_demands
from engiagent.agents.protocol import Board
from engiagent.blueprint import Blueprint
from engiagent.errors import EngiagentError
from engiagent.io.jsontext import dumps_canonical, loads_strict
from engiagent.text import Problem
from engiagent.verify.requirements import Requirements, parse_requirements

FILE: Final = "requirements.yaml"


@dataclass(frozen=True)
class Extraction:
    """Requirements as the checker takes them.

    Attributes
    ----------
    text
        The same as a file; JSON, which is YAML.
    left_out
        What was not taken, and why.
    """

    requirements: Requirements
    text: str
    left_out: tuple[str, ...] = ()


def readable(document: Mapping[str, Any], problem: Problem) -> Extraction | None:
    """Return what of an answer can be read; None where nothing can."""
    left_out: list[str] = []
    kept = dict(document)
    kept["requirements"] = [
        entry
        for entry in document.get("requirements") or ()
        if _stands_in(entry, problem, left_out) and _reads(document, entry, left_out)
    ]
    if not kept["requirements"]:
        return None
    text = dumps_canonical(kept)
    try:
        return Extraction(_parsed(text), text, tuple(left_out))
    except EngiagentError:
        return None


def merged(first: Extraction | None, second: Extraction | None) -> Extraction | None:
    """Return what two readings of a text found together: what one overlooks the other may see.

    What the second one declares comes along where the first has nothing of that name, or has it
    with the same value, as where only a unit or a quote was corrected. What does not read with the
    first is left out.
    """
    if first is None or second is None:
        return first or second
    document, other = loads_strict(first.text), loads_strict(second.text)
    left_out = [*first.left_out, *second.left_out]
    document = _declared_together(document, other)
    places = {_said(entry): k for k, entry in enumerate(document["requirements"])}
    ids = {str(entry.get("id")) for entry in document["requirements"]}
    for entry in other["requirements"]:
        if not _reads(document, entry, left_out):
            continue
        same = places.get(_said(entry))
        if same is not None:
            name = document["requirements"][same].get("id")
            document["requirements"][same] = {**entry, "id": name}
            continue
        name = str(entry.get("id"))
        while name in ids:
            name += "_again"
        ids.add(name)
        document["requirements"].append({**entry, "id": name})
    if document.get("objective") is None and other.get("objective") is not None:
        document["objective"] = other["objective"]
    text = dumps_canonical(document)
    try:
        return Extraction(_parsed(text), text, tuple(dict.fromkeys(left_out)))
    except EngiagentError:
        return first


def _declared_together(document: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document with the names that a second one declares, where it still reads then."""
    result = dict(document)
    for group, items in other.items():
        if group == "requirements" or not isinstance(items, list):
            continue
        for item in items:
            known = list(result.get(group) or ())
            places = [k for k, entry in enumerate(known) if entry.get("name") == item.get("name")]
            if not places:
                known.append(item)
            elif "value" in item and known[places[0]].get("value") == item["value"]:
                known[places[0]] = item
            tried = {**result, group: known}
            result = tried if _is_read(tried) else result
    return result


def _is_read(document: Mapping[str, Any]) -> bool:
    try:
        _parsed(dumps_canonical(document))
    except EngiagentError:
        return False
    return True


def unread(board: Board) -> tuple[str, ...]:
    """Return what nobody but the author of the blueprint has read in the text.

    A blueprint of an author who may misread is no evidence for itself: without requirements that
    were read apart from it, its own optimum is not the problem's.
    """
    if not board.by_model or board.problem is None or _annotated(board.problem):
        return ()
    if board.requirements is None:
        return ("the requirements of the text, which only the blueprint's author has read",)
    core = None if board.blueprint is None else board.blueprint.core
    wants = core is not None and core.objective_function is not None
    if wants and board.requirements.requirements.objective is None:
        return ("the objective of the text, which only the blueprint's author has read",)
    if board.blueprint is None:
        return ()
    gaps = doubts(board.blueprint, board.requirements)
    if board.result is not None and board.result.status == "infeasible":
        return gaps  # a demand that nobody models makes nothing feasible
    return (*gaps, *_excused(board.blueprint, board))


def _annotated(problem: Problem) -> bool:
    return problem.expert is not None and (problem.expert / FILE).is_file()


def doubts(blueprint: Blueprint, reading: Extraction | None) -> tuple[str, ...]:
    """Return where a blueprint rests on numbers of the text that a reading knows nothing of."""
    from engiagent.agents.disagreement import unread_numbers

    names = () if reading is None else unread_numbers(blueprint, reading)
    said = "what the text demands with the number '{}', which only the blueprint's author has read"
    return tuple(said.format(name) for name in names)


def _excused(blueprint: Blueprint, board: Board) -> tuple[str, ...]:
    assert board.problem is not None
    assert board.requirements is not None
    quotes = [r.quote for r in board.requirements.requirements.requirements if r.quote]
    return excused_demands(blueprint, board.problem, quotes)


def _said(entry: Mapping[str, Any]) -> tuple[str, ...]:
    parts = (entry.get("expression"), entry.get("where"), *(entry.get("forall") or ()))
    return tuple("".join(str(part or "").split()) for part in parts)


def _parsed(text: str) -> Requirements:
    return parse_requirements(text, FILE)


def _stands_in(entry: Any, problem: Problem, left_out: list[str]) -> bool:
    quote = entry.get("quote") if isinstance(entry, Mapping) else None
    words = " ".join(str(quote or "").split())
    if words and words in " ".join(problem.text.split()):
        return True
    left_out.append(f"{quote!r} does not stand in the text")
    return False


def _reads(document: Mapping[str, Any], entry: Mapping[str, Any], left_out: list[str]) -> bool:
    try:
        _parsed(dumps_canonical({**document, "requirements": [entry]}))
    except EngiagentError as error:
        left_out.append(f"{entry.get('quote')!r}: {error}")
        return False
    return True
