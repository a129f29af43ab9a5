"""Sentences in pieces: 'a roof with panels and a battery of 40 kWh', two predicates in one."""

import re
from itertools import pairwise
from typing import Final

from engiagent.agents.offline.plant.language.words import NEUTRAL, THING, Marked

_HAVING: Final = re.compile(
    r"(?:^| )(?:has|have|had|owns?|operates?|runs?|comprises?|consists? of|contains?|includes?"
    r"|with|there (?:is|are)|equipped with|made up of|made of|features?|got|:) "
)
_ASKS: Final = frozenset({"must", "not", "only", "exclusive", "may", "together", "share", "each"})
_ARTICLES: Final = frozenset({"a", "an", "the", "one", "its", "our"})
_BEFORE_UNITS: Final = frozenset({NEUTRAL, THING, "electric", "heat"})
_MOST_WORDS: Final = 6


def units_apart(marked: Marked, first: int, last: int) -> list[tuple[int, int]]:
    """Return the pieces of a clause that lists units, one for each; none where it lists nothing.

    It is a list where units stand behind a word of having, each after a comma or an 'and' with an
    article or an amount of its own, and where nothing outside brackets asks anything of them.
    """
    tokens = marked.line.tokens
    depths = _depths(marked, first, last)
    outside = [i for i in range(first, last) if not depths[i - first]]
    if {marked.concepts[i] for i in outside} & _ASKS:
        return []
    joints = [i for i in outside[1:] if tokens[i].text in (",", "and")]
    cuts = [i for i in joints if tokens[i - 1].text != "," and _begins_unit(marked, i + 1, last)]
    if not cuts:
        return []
    before = " ".join(t.text for t in tokens[first : cuts[0]])
    if _HAVING.search(before) is None or not _names_unit(marked, first, cuts[0]):
        return []
    edges = [first, *cuts, last]
    return list(pairwise(edges))


_MODALS: Final = frozenset({"must", "may", "can", "shall", "should", "has", "have"})


def predicates_apart(marked: Marked, first: int, last: int) -> list[tuple[int, int]]:
    """Return the pieces of a clause with two predicates, as 'it is at 18 °C and must stay …'."""
    tokens = marked.line.tokens
    depths = _depths(marked, first, last)
    cuts = [
        i for i in range(first + 1, last - 1)
        if tokens[i].text == "and" and not depths[i - first] and tokens[i + 1].text in _MODALS
    ]  # fmt: skip
    edges = [first, *cuts, last]
    pieces = list(pairwise(edges))
    numbers = [any(t.amount is not None for t in tokens[a:b]) for a, b in pieces]
    return pieces if cuts and all(numbers) else []


def _depths(marked: Marked, first: int, last: int) -> list[int]:
    depth, found = 0, []
    for token in marked.line.tokens[first:last]:
        depth += token.text == "("
        found.append(depth)
        depth -= token.text == ")"
    return found


def _names_unit(marked: Marked, first: int, last: int) -> bool:
    return any(_is_unit(c) for c in marked.concepts[first:last])


def _is_unit(concept: str) -> bool:
    return concept.startswith("@") or concept == "demand"


def _begins_unit(marked: Marked, first: int, last: int) -> bool:
    """Whether a unit follows, with no more before it than an article, its size and plain words."""
    tokens = marked.line.tokens
    own = False
    for i in range(first, min(first + _MOST_WORDS, last)):
        if _is_unit(marked.concepts[i]):
            return own
        own = own or tokens[i].text in _ARTICLES or tokens[i].amount is not None
        if tokens[i].kind == "mark" or marked.concepts[i] not in _BEFORE_UNITS:
            return False
    return False
