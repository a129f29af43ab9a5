"""Whether a clause that nothing took may be passed over.

A reader takes what its rules cover; what they do not cover is passed over only where no word in it
can change the problem. That is decided by closed classes of words (``background.yaml``): numerals
and fractions, comparison, quantity, frequency, words that say what something counts for; and by
words that nothing knows, which are harmless only where they name a place, a kind or a table.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final

from engiagent.agents.offline.cards import load_card
from engiagent.agents.offline.plant.language.words import NEUTRAL, THING, UNKNOWN, Marked

_ARTICLES: Final = frozenset(
    ["the", "a", "an", "our", "its", "their", "this", "that", "my", "your", "these", "those"]
)
_COMPOUNDS: Final = frozenset(["cooling", "heating", "electric", "thermal"])
_LISTED: Final = frozenset([",", "and", ";", ")"])
_BE: Final = frozenset(["is", "are", "was", "were", "be", "been"])
_ASKS_WHAT: Final = frozenset(["what", "how", "which", "where", "when"])
_EDGES: Final = frozenset({",", ";", ":", "(", ")"})
_HEADER: Final = re.compile(r"(?:from|to|cc|subject|re|date|attn) :")
_SEE: Final = re.compile(r"see (?:the )?(?:table|column|file|list)s?(?![a-z])")
_OTHER_SCALE: Final = re.compile(
    r"(?:times|figures|prices|values|hours|stamps|numbers|amounts|data) (?:are|is) "
    r"(?:(?:given|shown|printed|stated|meant) )?in (?!local|the)([a-z]+) (?:time|units|money)"
)
_NET: Final = re.compile(r"(?<![a-z])(?:net|residual)(?![a-z])")
_OF_REQUESTS: Final = frozenset({"adder", "less", "may"})


@dataclass(frozen=True)
class Classes:
    """The closed classes of words."""

    weighty: frozenset[str]
    bearing: frozenset[str]
    weighing: frozenset[str]
    prepositions: frozenset[str]
    places: frozenset[str]
    requests: re.Pattern[str]


@lru_cache(maxsize=1)
def classes() -> Classes:
    """Return the words of the card."""
    card = load_card("background")
    return Classes(
        frozenset(str(card["weighty"]).split()),
        frozenset(str(card["bearing"]).split()),
        frozenset(str(card["weighing"]).split()),
        frozenset(str(card["prepositions"]).split()),
        frozenset(str(card["places"]).split()),
        re.compile(rf"(?:and |so |also )?(?:{str(card['requests']).strip()})(?![a-z'-])"),
    )


def bearing_word(marked: Marked, first: int, last: int, taken: Callable[[int], bool]) -> str | None:
    """Return the first word for which a clause must not be passed over, None where there is none.

    Parameters
    ----------
    marked
        The line.
    first, last
        The tokens of the clause.
    taken
        Whether a token is accounted for already.
    """
    tokens = marked.line.tokens
    if _HEADER.match(_text(marked, first, last)):
        return None
    if (other := _OTHER_SCALE.search(marked.line.line)) is not None:
        return other[1]
    asks = _asks(marked, first)
    edges = [i for i in range(first, last) if tokens[i].text in _EDGES and tokens[i].kind == "mark"]
    for a, b in pairwise([first, *edges, last]):
        leads = _leads_in(marked) or _explains(marked, a, b)
        for i in range(a, b):
            if tokens[i].kind == "word" and not taken(i) and _bears(marked, first, i, leads, asks):
                return tokens[i].text
    return None


def weighty_word(marked: Marked, first: int, last: int, taken: Callable[[int], bool]) -> str | None:
    """Return the first word that counts, compares or quantifies and that nothing took; else None.

    For a clause of which something was taken; the parameters are those of :func:`bearing_word`.
    """
    for i in range(first, last):
        token = marked.line.tokens[i]
        phrased = i in marked.phrased and marked.concepts[i] != "cond"
        loose = not phrased and token.kind == "word" and not taken(i)
        words = classes().weighty | classes().bearing
        if loose and (token.text in words or marked.concepts[i] == "cond"):
            return token.text
    return None


def _bears(marked: Marked, first: int, i: int, leads: bool, asks: bool) -> bool:
    """Whether a word may change what a clause says."""
    text, concept = marked.line.tokens[i].text, marked.concepts[i]
    behind = marked.line.tokens[i + 1].text if i + 1 < len(marked.line.tokens) else ""
    if text == "other" and behind in classes().places:
        return False
    if concept in classes().weighing:
        told = concept == "may" and (leads or _after_what(marked, first, i))
        told |= concept == "adder" and _SEE.search(marked.line.line) is not None
        told |= concept == "less" and leads and _NET.search(marked.line.line) is not None
        return not told and not (asks and concept in _OF_REQUESTS)
    if i not in marked.phrased and text in classes().weighty:
        return True
    return concept == UNKNOWN and not leads and not _names_only(marked, first, i)


def _text(marked: Marked, first: int, last: int) -> str:
    return " ".join(t.text for t in marked.line.tokens[first:last] if t.kind in ("word", "mark"))


def _asks(marked: Marked, first: int) -> bool:
    """Whether a sentence, as far as a clause of it, asks for a plan or a figure."""
    tokens = marked.line.tokens
    starts = [0, *(i + 1 for i in range(first + 1) if tokens[i].text == ","), first]
    return any(classes().requests.match(_text(marked, k, k + 6)) for k in starts)


def _leads_in(marked: Marked) -> bool:
    """Whether a sentence announces a list, a table or a file, says what is in one, or cites."""
    tokens = marked.line.tokens
    ends = tokens[-1].text in (":", "following", "as") or _SEE.search(marked.line.line) is not None
    cites = any(t.text in ("appendix", "paper", "thesis", "journal") for t in tokens)
    return ends or cites or any(t.kind == "code" for t in tokens)


def _explains(marked: Marked, first: int, last: int) -> bool:
    """Whether a clause on no unit is a reason for what follows, or what would happen else.

    'Valves need time, so that …'; '…, or the wood cracks'.
    """
    tokens = marked.line.tokens
    if any(c.startswith("@") for c in marked.said(first, last)):
        return False
    behind = [t.text for t in tokens[last : last + 2] if t.text != ","]
    words = [t.text for t in tokens[first:last] if t.text != ","]
    return behind[:1] == ["so"] or words[:1] == ["or"]


def _after_what(marked: Marked, first: int, i: int) -> bool:
    """Whether 'what' or 'how' stands shortly before: 'what the roof could deliver'."""
    return any(t.text in _ASKS_WHAT for t in marked.line.tokens[max(first, i - 6) : i])


def _names_only(marked: Marked, first: int, i: int) -> bool:
    """Whether an unknown word names a place or an occasion, or what kind of thing something is.

    'On the dc bus', 'as a regression case', 'is a thyristor machine': behind a preposition, or
    behind 'is a', with nothing between but articles and other such words. So does one before 'of
    the', one between the article and the subject that begin a sentence ('a housing block'), and one
    that a list holds: 'a farm, a lake and a church'.
    """
    tokens = marked.line.tokens
    behind = [t.text for t in tokens[i + 1 : i + 3]]
    if behind[:1] == ["of"] and behind[1:] in (["the"], ["our"], ["its"], ["a"]):
        return True
    if behind and behind[0] in classes().places:
        return True
    described = "-" in tokens[i].text or (behind and behind[0] in _COMPOUNDS)
    if i > first and tokens[i - 1].text in _ARTICLES and described:
        return True
    if i > first and tokens[i - 1].text in ("a", "an") and (not behind or behind[0] in _LISTED):
        return True
    opens = i == first + 1 and tokens[first].text in ("a", "an") and len(behind) == 2
    if opens and marked.concepts[i + 1][0] in "~@" and behind[0] not in _BE | {"has", "does", "of"}:
        return True
    k = i - 1
    article = False
    while k >= first and (tokens[k].kind == "word" or tokens[k].amount is not None):
        word = tokens[k].text
        if word in classes().prepositions:
            return True
        if word in _BE:
            return article
        if word in _ARTICLES:
            article = True
        elif marked.concepts[k] not in (UNKNOWN, NEUTRAL, THING, "same", "each") or (
            marked.concepts[k] == NEUTRAL and k not in marked.phrased and article
        ):
            return False
        k -= 1
    return False


def plainly_nothing(marked: Marked, first: int, last: int) -> bool:
    """Whether no word of a clause is of the classes that may change what it says.

    What is counted or compared may be things that nothing knows: 'more stalls than ever'.
    """
    tokens = marked.line.tokens
    for i in range(first, last):
        if tokens[i].text not in classes().weighty or i in marked.phrased:
            continue
        behind = marked.concepts[i + 1] if i + 1 < last else NEUTRAL
        ever = i + 1 < last and tokens[i + 1].text in ("ever", "before")
        if marked.concepts[i] in (NEUTRAL, UNKNOWN) and behind != UNKNOWN and not ever:
            return False
    return True
