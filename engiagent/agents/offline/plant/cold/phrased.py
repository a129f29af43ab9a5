"""Values of stores of cold and heat that whole phrases give: 'there are 90 kBTU in it at 00:00'."""

import re
from dataclasses import dataclass
from datetime import date
from typing import Final

from engiagent.agents.offline.draft import Draft, Fact, Reading, amount_value
from engiagent.agents.offline.plant.cold.duties import (
    TANKS,
    Stated,
    at_edge,
    clause,
    nouns_in,
    only_of,
    says_day,
)
from engiagent.agents.offline.plant.units import Instance, Plant
from engiagent.agents.offline.timing import Axis
from engiagent.agents.offline.tokens import Line

_OF: Final = r"(?: of (?:cold|ice|heat|cooling|chilled water))?(?: as ice)?"
_STORE: Final = r"(?:it|(?:the|our|its|an?) (?:[a-z-]+ )?(?:buffer|tank|store|storage|bank))"
_IN_IT: Final = (
    r"(?: (?:in it|in there|in stock|left(?: in it)?|in the (?:[a-z-]+ )?(?:tank|store|buffer)))?"
)
_CONDITIONS: Final = re.compile(
    r"(?<![a-z-])(?:if|when|whenever|unless|except|until|not|never|roughly|about)(?![a-z-])"
)
_BOUNDS: Final = re.compile(r"(?<![a-z-])(?:must|least|between|most)(?![a-z-])")


@dataclass(frozen=True)
class Phrase:
    """A phrase that fills a slot of the only store of a plant; ``edge`` is 'start' or 'end'."""

    slot: str
    bound: str
    pattern: str
    edge: str = ""


PHRASES: Final = (
    Phrase(
        "energy_capacity",
        "value",
        rf"{_STORE} (?:takes(?: up)?|can take|has (?:room|space) for)(?: up to| at most)?"
        rf" <energy#(?P<x>\d+)>{_OF}"
        r"(?: (?:in all|in total|altogether|when full)| at (?:the )?most)?",
    ),
    Phrase(
        "initial_energy",
        "value",
        r"at <clock#(?P<clock>\d+)>(?: on <date#(?P<date>\d+)>)? (?:there (?:are|is)(?: still)?"
        rf"|{_STORE} (?:holds|contains|has)(?: still)?) <energy#(?P<x>\d+)>{_OF}{_IN_IT}",
        "start",
    ),
    Phrase(
        "charge_efficiency",
        "value",
        r"<percent#(?P<x>\d+)> of (?:the |all )?(?:cold|heat|cooling|energy|what)"
        r"(?: (?:that|which))?"
        r" (?:is |goes )?(?:put in|charged|fed in|filled in|put into (?:it|the tank|the store))"
        r" (?:can be (?:used|taken out|recovered)|is usable|remains usable|is available)"
        r"(?: later| again| afterwards)?",
    ),
)
_EMPTY: Final = re.compile(
    rf"(?:{_STORE} is |with {_STORE} )(?:still |completely )?empty"
    r"(?: (?:then|by then|at that time))"
)
_FROM: Final = re.compile(
    r"(?:it|(?:the|our) [a-z]+(?: [a-z]+)?|they) (?:may|can|could)(?: be)? start(?:ed)?(?: up)?"
    r"(?: at| from) <clock#(?P<clock>\d+)>"
)


_AT_EMPTY: Final = re.compile(
    rf"(?:at <clock#(?P<clock>\d+)> {_STORE} is|{_STORE} is) (?:still |completely )?empty"
    r"(?: at <clock#(?P<behind>\d+)>)?(?= ?[,;.]|$)"
)


def _emptied(draft: Draft, n: int, line: Line, store: Instance, axis: Axis | None) -> list[Stated]:
    """Return that a store is empty at the time at which the horizon begins."""
    match = _AT_EMPTY.search(line.line)
    place = (match["clock"] or match["behind"]) if match is not None else None
    if match is None or not place or _CONDITIONS.search(clause(line, match)):
        return []
    same = axis is not None and abs(axis.start_clock - axis.end_clock % 24) < 1e-9
    if same or not at_edge(line, place, axis, end=False):
        return []
    covered = line.covered(*match.span())
    draft.take(n, list(covered))
    span = (line.tokens[covered[0]].span[0], line.tokens[covered[-1]].span[1])
    draft.facts.append(Fact("start_empty", n, span, {}, match[0]))
    return [Stated("start_empty", store.unit.component, n)]


def _first_day(told: str, axis: Axis | None) -> bool:
    """Whether a date is that of the beginning."""
    known = axis is not None and "T" in axis.start
    return axis is not None and known and says_day(told, date.fromisoformat(axis.start[:10]))


def _bounded(line: Line, match: re.Match[str]) -> bool:
    """Whether a word between the commas around a match limits what it says."""
    start = max(line.line.rfind(mark, 0, match.start()) for mark in (" , ", " ; ")) + 1
    ends = [line.line.find(mark, match.end()) for mark in (" , ", " ; ")]
    stop = min((e for e in ends if e >= 0), default=len(line.line))
    around = line.line[start : match.start()] + line.line[match.end() : stop]
    return _BOUNDS.search(around) is not None


def take_phrased(draft: Draft, plant: Plant, axis: Axis | None) -> list[Stated]:
    """Add the values that phrases give to the draft; return what they state besides."""
    store = only_of(plant, TANKS)
    if store is None:
        return []
    found = []
    for n, line in enumerate(draft.lines):
        if line.sentence.is_heading or n in draft.table_lines:
            continue
        for phrase in PHRASES:
            match = re.search(rf"(?<![a-z]){phrase.pattern}(?![a-z])", line.line)
            if match is None or draft.is_taken(n, int(match["x"])):
                continue
            around = clause(line, match).replace(match[0], "", 1)
            place = match.groupdict().get("clock")
            several = phrase.edge and "<energy#" in around  # a sentence on both ends, or on a limit
            if several or _bounded(line, match) or _CONDITIONS.search(around):
                continue
            if not at_edge(line, place, axis, phrase.edge == "end"):
                continue
            told = match.groupdict().get("date")
            if told and not _first_day(line.tokens[int(told)].text, axis):
                continue
            amount = line.tokens[int(match["x"])].amount
            if amount is None:
                continue
            value = amount_value(amount, draft.source(n, amount))
            slot = store.unit.slots[phrase.slot]
            span = line.sentence.span
            draft.readings.append(Reading(store.name, slot, value, phrase.bound, n, span, "start"
                                          if phrase.edge else ""))  # fmt: skip
            named = nouns_in(plant, line)
            draft.take(n, [i for i in line.covered(*match.span()) if i not in named])
        found += _emptied(draft, n, line, store, axis)
        begins, empty = _FROM.search(line.line), _EMPTY.search(line.line)
        if begins is None or empty is None or begins.end() > empty.start():
            continue
        if at_edge(line, begins["clock"], axis, end=False):
            covered = line.covered(begins.start(), empty.end())
            draft.take(n, list(covered))
            span = (line.tokens[covered[0]].span[0], line.tokens[covered[-1]].span[1])
            draft.facts.append(Fact("start_empty", n, span, {}, empty[0]))
            found.append(Stated("start_empty", store.unit.component, n))
    return found
