"""Requirements that an engine took from a text alone, as far as they can be read.

Only where a script makes the schedule, since no blueprint then says what is to be checked. Each
must stand on words of the text; one that does not, or that the checker cannot read, is left out
and named. They are no second reading: the reading of the text stays open.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from engiagent.errors import EngiagentError
from engiagent.io.jsontext import dumps_canonical
from engiagent.text import Problem
from engiagent.verify.requirements import Requirements, parse_requirements

FILE: Final = "requirements.yaml"


@dataclass(frozen=True)
class Extraction:
    """Requirements as the checker takes them, as the text of a file, and what was left out."""

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
