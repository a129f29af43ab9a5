"""What a text says twice: a number that repeats one already accounted for.

It has to be the same amount of the same thing: the same value in the same dimension, beside at
least one word that stands beside the other too, and beside no name, index or opposite (charge and
discharge, at least and at most) that the other lacks. Where that is in doubt it is no repetition.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from engiagent.verify.levels.literals import close_to
from engiagent.verify.levels.sources import ProblemLike, Span

_NEAR: Final = 6
"""Words on either side that say what a number with a unit is of."""
_STEM: Final = 5
_COMMON: Final = re.compile(
    r"about|above|after|again|also|always|another|been|before|being|below|between|both|does|"
    r"each|every|exactly|from|further|given|have|here|hold|holds|into|just|kept|know|known|"
    r"least|less|limit|limited|make|many|more|most|must|need|needs|never|only|other|over|"
    r"same|shall|should|since|some|such|take|takes|than|that|their|them|then|there|these|"
    r"they|this|those|until|upon|value|want|were|what|when|where|which|while|will|with|"
    r"within|without|would|amount|amounts|hour|hours|during|remember|recall|note|repeat|"
    r"repeated|stated|said|therefore|hence"
)
_OPPOSITES: Final = (
    ("charg", "disch"),
    ("impor|buy|bough|purch|draw", "expor|sell|sold|sale|deliv|feed"),
    ("maxim|upper|highe|excee|most|above", "minim|lower|lowes|least|below|under|less"),
    ("start|initi|begin|begun|first|openi", "end|ends|final|last|closi"),
    ("heat|heate|warm|winte", "cool|coole|cold|summe|chill"),
    ("inlet|suppl|flow|inflo", "outle|retur|outfl|draw"),
    ("day|dayti", "night"),
    ("weekd", "weeke|satur|sunda"),
    ("reven|incom|earn", "cost|costs|fee|penal"),
)
_WORD: Final = re.compile(r"[A-Za-z][A-Za-z0-9]*|\d+")


@dataclass(frozen=True)
class Meaning:
    """What some words are about: their stems, the names among them, their side of opposites."""

    stems: frozenset[str]
    names: frozenset[str]
    sides: frozenset[tuple[int, int]]

    def within(self, other: "Meaning") -> bool:
        """Whether nothing tells it from another: no name of its own, no opposite side."""
        return self.names <= other.names and self.sides <= other.sides


def meaning_of(words: str) -> Meaning:
    """Return what some words are about."""
    found = [match[0] for match in _WORD.finditer(words)]
    stems = {w.lower()[:_STEM] for w in found if len(w) >= 4 and not _COMMON.fullmatch(w.lower())}
    named = found[1:] if found[:1] == ["A"] else found  # the article opens a sentence
    names = {w for w in named if (len(w) == 1 and w.isupper() and w != "I") or w[-1].isdigit()}
    sides = {
        (pair, side)
        for pair, both in enumerate(_OPPOSITES)
        for side, alternatives in enumerate(both)
        for word in found
        if word.lower()[:_STEM] in alternatives.split("|")
    }
    return Meaning(frozenset(stems), frozenset(names), frozenset(sides))


def repeats_number(problem: ProblemLike, quantity: Any, accounted: Iterable[Any]) -> Any | None:
    """Return the accounted quantity that a number of the text repeats, None without one."""
    mine = None
    for other in accounted:
        if not same_amount(quantity, other):
            continue
        mine = mine or _around(problem, quantity)
        theirs = _around(problem, other)
        if other.span[1] <= quantity.span[0] and _points_back(problem, quantity):
            return other
        nearest = (mine[1] & theirs[0].stems) | (theirs[1] & mine[0].stems)
        if nearest and mine[0].within(theirs[0]):
            return other
    return None


def _points_back(problem: ProblemLike, quantity: Any) -> bool:
    """Whether an article before a number says that it is known already: "beyond the 640 kW"."""
    before = problem.text[: quantity.span[0]].split()[-1:]
    return bool(before) and before[0].lower() in ("the", "these", "those", "this", "that", "said")


def same_amount(one: Any, other: Any) -> bool:
    """Whether two numbers of a text are of one kind, one dimension and one size."""
    if one.kind != other.kind or bool(one.unit_text) != bool(other.unit_text):
        return False
    if one.unit is None or other.unit is None:
        return one.unit_text == other.unit_text and close_to(float(one.value), float(other.value))
    return bool(
        one.unit.dimension == other.unit.dimension
        and one.unit.is_point == other.unit.is_point
        and close_to(one.unit.to_si(float(one.value)), other.unit.to_si(float(other.value)))
    )


def _around(problem: ProblemLike, quantity: Any) -> tuple[Meaning, frozenset[str]]:
    """Return what the words beside a number are about, and the stem of the noun next to it."""
    start, stop = quantity.span
    first, last = _sentence(problem, (start, stop))
    most = _NEAR if quantity.unit_text else 2
    before = re.split(r"\d|[;:]", problem.text[first:start])[-1].split()[-most:]
    after = re.split(r"\d|[;:]", problem.text[stop:last])[0].split()[:most]
    behind = [stem for word in after[:2] for stem in meaning_of(word).stems]
    ahead = [stem for word in before for stem in meaning_of(word).stems]
    nearest = behind[:1] or ahead[-1:]
    return meaning_of(" ".join([*before, *after])), frozenset(nearest)


def _sentence(problem: ProblemLike, span: Span) -> Span:
    for sentence in problem.sentences:
        if sentence.span[0] <= span[0] < sentence.span[1]:
            return sentence.span[0], sentence.span[1]
    return span
