"""Expressions of requirements and goals: dotted quantities and literals as people write them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from engiagent.plant.source import nearest
from engiagent.plant.values import NUMBER, UNIT, ValueFormError, unit_in
from engiagent.units.words import Conventions, resolve_unit

_KEYWORDS: Final = frozenset(["and", "or", "not", "in", "if", "else", "for", "t"])
_TERM: Final = re.compile(
    r"(?P<text>'[^']*'|\"[^\"]*\")"
    rf"|(?<![\w.])(?P<number>{NUMBER})(?:(?P<gap>\s*)(?P<unit>{UNIT}))?"
    r"|(?<![\w.])(?P<owner>[A-Za-z_]\w*)\.(?P<what>[A-Za-z_]\w*)(?P<edge>\[\s*(?:start|end)\s*\])?"
)
_EDGES: Final = {"start": "[first(I)]", "end": "[last(I)]"}


@dataclass(frozen=True)
class Term:
    """An expression in the blueprint's language, and where its characters come from."""

    text: str
    origins: tuple[tuple[int, int], ...]

    def origin(self, column: int) -> int:
        """Return the character (from 0) of what was written behind a column (from 1)."""
        begun, written = max(pair for pair in self.origins if pair[0] < column)
        return written + column - 1 - begun


def translated(text: str, names: Mapping[str, Mapping[str, str]], conventions: Conventions) -> Term:
    """Return an expression with its quantities and literals in the blueprint's language.

    Parameters
    ----------
    names
        By component what its series and slots are called in the blueprint.

    Raises
    ------
    ValueFormError
        At a component, a quantity or a unit that does not exist.
    """
    result, origins, place = "", [(0, 0)], 0
    for match in _TERM.finditer(text):
        new, end = _replaced(match, text, names, conventions)
        result += text[place : match.start()]
        origins.append((len(result), match.start()))
        result += new
        origins.append((len(result), end))
        place = end
    return Term(result + text[place:], tuple(origins))


def _replaced(
    match: re.Match[str],
    text: str,
    names: Mapping[str, Mapping[str, str]],
    conventions: Conventions,
) -> tuple[str, int]:
    """Return what stands for a term, and where the term ends."""
    if match["owner"]:
        return _quantity(match, names), match.end()
    if match["text"] or not match["unit"]:
        return match[0], match.end()
    number = re.sub(r"\s", "", match["number"])
    written = match["unit"]
    if written in _KEYWORDS or text[match.end() : match.end() + 1] in ("(", "."):
        return f"{number} ", match.start("unit")
    for candidate in (written, re.split(r"\*", written)[0], re.split(r"[*/]", written)[0]):
        if resolve_unit(candidate, conventions) is not None:
            unit = resolve_unit(candidate, conventions)
            return f"{number}[{unit}]", match.start("unit") + len(candidate)
    unit = unit_in(written, conventions, match.start("unit"))
    return f"{number}[{unit}]", match.end()


def _quantity(match: re.Match[str], names: Mapping[str, Mapping[str, str]]) -> str:
    owner, what = match["owner"], match["what"]
    if owner not in names:
        raise ValueFormError(
            f"there is no component {owner!r}", match.start(), nearest(owner, names)
        )
    if what not in names[owner]:
        raise ValueFormError(
            f"{owner} has no quantity {what!r}", match.start("what"), nearest(what, names[owner])
        )
    edge = match["edge"]
    return names[owner][what] + (_EDGES[edge.strip("[] ")] if edge else "")
