"""Statements on machines that make cold or heat, their stores and those served, as whole phrases.

What runs all the time, who gets exactly what is needed, where a surplus goes, what is sold, and
that nothing is asked of a store at the end.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from typing import Final

from engiagent.agents.offline.draft import Draft, Fact
from engiagent.agents.offline.plant.units import Instance, Plant
from engiagent.agents.offline.timing import Axis
from engiagent.agents.offline.tokens import Line

MACHINES: Final = ("chiller", "boiler", "heat_pump")
TANKS: Final = ("cold_store", "heat_store")
_IT: Final = (
    r"(?:it|they|this|(?:the|our) (?:[a-z-]+ )?(?:machine|chiller|plant|unit|compressors?))"
)
_TANK: Final = r"(?:the |our |its )?(?:[a-z-]+ )?(?:buffer|tank|store|storage)"
_EVER: Final = (
    r"(?:all (?P<part>day|night)(?: long)?|all the time|always|day and night|(?:a)?round the clock"
    r"|throughout|continuously|at all times|without (?:a )?(?:break|pause|interruption))"
)
_ON: Final = (
    rf"{_IT} (?:must |has to |have to )?(?:stays?|remains?|runs?|is|are|is kept|keeps)"
    rf"(?: (?:on|running|in operation|going))? {_EVER}",
    rf"{_IT} (?:is|are) never (?:(?:switched|turned|shut) )?(?:off|stopped|down)",
    rf"{_IT} (?:cannot|can not|must not|may not|must never|can never) be (?:switched off|turned off"
    r"|shut down|stopped)",
    rf"{_IT} never (?:stops|rests|stands still)",
)
_RESTART: Final = re.compile(
    r"(?:an?|each|every) (?:restart|re-start|start) (?:needs|requires|calls for|takes|means)"
    r" (?:an? |the )?[a-z-]+(?: [a-z-]+)? (?=, so )"
)
_SOLD: Final = re.compile(
    r"(?:we|they|the owners?) (?:have |has )?(?:just |recently )?(?:sold|scrapped|dismantled|given"
    r" away|retired|removed) (?:the|our|its|their) (?:[a-z-]+ )?(?:machine|chiller|unit|compressor)"
    r"(?! and (?:the|our|an?|its) )(?: (?:and|,) (?:we )?(?:would like|want|have|need|hope)"
    r" to (?:get|come|make it)"
    r" through)?"
)
_ALONE: Final = re.compile(
    r"(?:with )?the (?:large|larger|big|bigger|small|smaller|old|new|other|remaining)"
    r" (?:one|machine|chiller|unit|compressor) (?:alone|only|by itself)"
)
_MAKES: Final = r"(?:makes?|gives?|delivers?|produces?|supplies|supply)"
_SURPLUS: Final = re.compile(
    rf"(?:so |hence )?(?:what(?:ever)?|all that) {_IT} {_MAKES} (?:beyond|above|over|in excess of"
    r"|more than) (?:(?:the )?<power#(?P<need>\d+)>|that|this|it|(?:the )?(?:need|load|demand)"
    rf"|what is needed) (?:goes|flows|is put|is stored) (?:in|into) {_TANK}(?: ,)?(?: and| ;)?"
    rf" (?:what(?:ever)? (?:{_IT} (?:does|do) not make|is (?:lacking|missing)|{_IT} lacks?)"
    r"|the (?:rest|difference|shortfall)) (?:comes|is taken|is drawn|flows) (?:from (?:there|it)"
    rf"|out of it|(?:from|out of) {_TANK})"
)
_NO_WAY: Final = re.compile(
    r"there is no bypass|there is no way (?:round|around|past) (?:it|the [a-z]+)"
    r"|no (?:cold|cooling|heat) (?:can|may) be (?:wasted|dumped|thrown away)"
)
_FULLY: Final = r"(?:exactly|in full|fully|completely|precisely|entirely)"
_WHAT: Final = (
    r"(?:(?:just )?what|as much as|the (?:cold|cooling|heat)) (?:it|they|he|she|everybody|everyone)"
    r" (?:needs?|takes?|requires?|wants?|asks? for)"
)
_EACH: Final = r"(?:(?:in|at) (?:each|every|any) (?:hour|step|period|time)|at all times|always)"
_SERVED: Final = re.compile(
    r"(?:^|(?<=; ))(?P<who>(?:(?:the|our|all|every|these) )?[a-z'-]+(?: [a-z'-]+){0,4}?)"
    r" (?:(?:must|has to|have to|needs? to|is to|are to|shall) )?(?:always )?(?:get|gets|receive"
    r"|receives|be (?:given|supplied|served|cooled|covered|met|provided)|(?:is|are) (?:given|served"
    rf"|supplied|covered|cooled|met))(?: with)? (?:(?P<full>{_FULLY})(?: {_WHAT})?|{_WHAT})"
    rf"(?: {_EACH})?(?= ?[,;.]|$)"
)
_FREE: Final = (
    rf"(?:(?:{_TANK}|it|its content|its level) )?(?:never|not|does not) (?:needs?|has|have) to"
    r" (?:be|hold|contain|have|show)(?: at)? (?:anything|any(?: particular| certain)?"
    r" (?:level|value|content|amount|temperature))(?: in particular| particular| special)?"
    r"(?: in it)?"
    r" (?:at <clock#(?P<clock>\d+)>|at the end|in the end|afterwards)",
    r"(?:what(?:ever)? (?:ice |cold |heat )?(?:is |are )?(?:then )?left(?: in (?:it|there))?"
    r"|what(?:ever)? remains(?: in it)?|the (?:ice|cold|heat) that is left)"
    r" (?:at <clock#(?P<clock>\d+)>"
    r"|at the end|in the end|afterwards) (?:is|are|has|have)"
    r" (?:of no (?:use|value|interest|concern|account)|no value"
    r"|worth nothing|useless|lost)",
)
_AT: Final = (
    r"(?:between|beside|behind|next to|parallel to|in parallel with|in front of)"
    r" (?:the |our |its )?[a-z-]+(?: and (?:the |our |its )?[a-z-]+)?"
)
_PLACED: Final = re.compile(
    rf"(?:^|(?<=[;,] )){_AT} (?:there )?(?:stands|is|lies|sits|hangs|we have)"
    rf"(?= (?:an?|the|our|one) )|(?<= )(?:stands|sits|lies|hangs) {_AT}"
    r"(?= ?(?:[,;.]|$)| that | and )"
)
_TABLE: Final = re.compile(
    r"(?:the )?(?:needs?|loads?|demands?|prices?|temperatures?|values|figures)"
    r"(?: of (?:the )?[a-z]+)?"
    r"(?:(?: ,| and|,) (?:the )?(?:needs?|loads?|demands?|prices?|temperatures?)(?: of (?:the )?"
    r"[a-z]+)?)*(?: for [a-z]+)? (?:is|are|stands?) (?:given |listed |shown )?in the (?:table|list)"
    r"(?: (?:at the (?:end|bottom)|below|above|that follows))?(?= ?[;.]|$)"
)
_AGAIN: Final = re.compile(
    r"(?<![a-z])(?:and |but )?at least as (?:much|many)(?: (?:cold|ice|heat|energy))?"
    r"(?: (?:again|in it))? (?:at|in|by) the end(?: of the (?:day|plan|night|horizon))?(?= ?[,;.]"
    r"|$)"
)
_LIMITS: Final = re.compile(
    r"(?<![a-z-])(?:if|when|whenever|while|unless|except|only|until|before|during|may|can|might"
    r"|half"
    r"|part|some|most|least|nearly|almost|either|or|other|another)(?![a-z-])"
)


@dataclass(frozen=True)
class Stated:
    """A fact of a kind of unit, and where the text states it; ``background`` for what holds."""

    fact: str
    about: str | None
    line: int


_UNSAID: Final = frozenset({"gone", "placed"})
"""Facts whose units are not those of the plant, or only said to stand somewhere."""
_Reader = Callable[[Draft, Plant, "Axis | None", int, Line], Iterator[tuple[re.Match[str], Stated]]]


def take_duties(draft: Draft, plant: Plant, axis: Axis | None) -> list[Stated]:
    """Return what whole phrases state, and account for their words."""
    found = []
    for n, line in enumerate(draft.lines):
        if line.sentence.is_heading or n in draft.table_lines:
            continue
        for reader in (_pointed, _placed, _running, _gone, _surplus, _served, _ends):
            for match, fact in reader(draft, plant, axis, n, line):
                covered = line.covered(*match.span())
                tokens = [line.tokens[i] for i in covered]
                named = set() if fact.fact in _UNSAID else nouns_in(plant, line)
                draft.take(n, [i for i in covered if i not in named])
                place = (tokens[0].span[0], tokens[-1].span[1])
                shown = "background" if fact.fact in _UNSAID else fact.fact
                draft.facts.append(Fact(shown, n, place, {}, match[0]))
                found.append(fact)
    return found


def only_of(plant: Plant, kinds: tuple[str, ...]) -> Instance | None:
    """Return the only unit of some kinds; None where there is none, or more than one."""
    units = [i for i in plant.instances if i.unit.component in kinds]
    return units[0] if len(units) == 1 else None


def nouns_in(plant: Plant, line: Line) -> set[int]:
    """Return the tokens that name units of a plant: the sentences behind may be about these."""
    return {
        i for unit in plant.instances for match in unit.finder.finditer(line.line)
        for i in line.covered(*match.span())
    }  # fmt: skip


def clause(line: Line, match: re.Match[str]) -> str:
    """Return the clause of a match: what stands between semicolons around it."""
    start = line.line.rfind(" ; ", 0, match.start()) + 1
    end = line.line.find(" ; ", match.end())
    return line.line[start : end if end >= 0 else len(line.line)]


def lasts(part: str | None, axis: Axis | None) -> bool:
    """Whether 'all day' or 'all night' is all of the horizon."""
    if part != "night" or axis is None:
        return True
    return axis.hours <= 16 and (axis.start_clock >= 16 or axis.start_clock <= 4)


def at_edge(line: Line, place: str | None, axis: Axis | None, end: bool) -> bool:
    """Whether the clock at a token, if there is one, is the start, or the end, of the horizon."""
    clock = line.tokens[int(place)].clock if place else None
    if axis is None or clock is None:
        return not place
    edge = axis.end_clock if end else axis.start_clock
    return abs(clock % 24 - edge % 24) < 1e-9


def says_day(told: str, day: date) -> bool:
    """Whether a date as it is written, with or without a year, is a day."""
    if re.match(r"\d{4}-", told):
        return told.startswith(day.isoformat())
    numbers = [int(x) for x in re.findall(r"\d+", told)]
    named = day.strftime("%B").lower()[:3] in told.lower()
    return named and day.day in numbers[:2] and all(x == day.year for x in numbers if x > 31)


_Found = Iterator[tuple[re.Match[str], Stated]]


def _pointed(draft: Draft, plant: Plant, axis: Axis | None, n: int, line: Line) -> _Found:
    match = _TABLE.search(line.line)
    if match is not None:
        yield match, Stated("placed", None, n)


def _placed(draft: Draft, plant: Plant, axis: Axis | None, n: int, line: Line) -> _Found:
    match = _PLACED.search(line.line)
    if match is not None and only_of(plant, TANKS) is not None:
        yield match, Stated("placed", None, n)


def _running(draft: Draft, plant: Plant, axis: Axis | None, n: int, line: Line) -> _Found:
    machine = only_of(plant, MACHINES)
    for pattern in _ON if machine is not None else ():
        match = re.search(rf"(?<![a-z])(?:{pattern})(?![a-z])", line.line)
        if match is None or machine is None or _LIMITS.search(clause(line, match)):
            continue
        if lasts(match.groupdict().get("part"), axis):
            yield match, Stated("always_on", machine.unit.component, n)
            why = _RESTART.search(line.line)
            if why is not None:
                yield why, Stated("background", None, n)


def _gone(draft: Draft, plant: Plant, axis: Axis | None, n: int, line: Line) -> _Found:
    if only_of(plant, MACHINES) is None:
        return
    sold = _SOLD.search(line.line)
    if sold is None or "<rest#" in line.line or not _all_of_it(line, axis):
        return
    yield sold, Stated("gone", None, n)
    alone = _ALONE.search(line.line)
    if alone is not None:
        yield alone, Stated("background", None, n)


def _all_of_it(line: Line, axis: Axis | None) -> bool:
    """Whether the times in a line, if there are any, are the whole horizon."""
    whole = ((axis.start_clock, axis.end_clock),) if axis is not None else ()
    return all(t.period is None or t.period.ranges == whole for t in line.tokens)


def _surplus(draft: Draft, plant: Plant, axis: Axis | None, n: int, line: Line) -> _Found:
    match = _SURPLUS.search(line.line)
    if match is not None and only_of(plant, TANKS) is not None and _same_need(draft, line, match):
        yield match, Stated("background", None, n)
        none = _NO_WAY.search(line.line)
        if none is not None:
            yield none, Stated("background", None, n)


def _same_need(draft: Draft, line: Line, match: re.Match[str]) -> bool:
    """Whether a number in 'what it makes beyond 640 kW' is the need that was given."""
    if not match["need"]:
        return True
    amount = line.tokens[int(match["need"])].amount
    needs = [r.value for r in draft.readings if r.slot.component in ("cooling_load", "heat_load")]
    same = [v for v in needs if amount is not None
            and (v.number, v.unit) == (amount.value, amount.unit)]  # fmt: skip
    if not same or amount is None:
        return False
    draft.unused.append({"span": list(amount.span), "quote": amount.quote,
                         "reason": "says again what was said before"})  # fmt: skip
    return True


def _served(draft: Draft, plant: Plant, axis: Axis | None, n: int, line: Line) -> _Found:
    match = _SERVED.search(line.line)
    loads = plant.of("cooling_load") or plant.of("heat_load")
    if match is None or not loads or _LIMITS.search(clause(line, match)):
        return
    others = [i for i in plant.instances if not i.unit.card.get("site")]
    if not any(i.finder.search(match["who"]) for i in others):
        yield match, Stated("background", None, n)


def _ends(draft: Draft, plant: Plant, axis: Axis | None, n: int, line: Line) -> _Found:
    store = only_of(plant, TANKS)
    for pattern in _FREE if store is not None else ():
        match = re.search(rf"(?<![a-z])(?:{pattern})(?![a-z])", line.line)
        if (
            match is None
            or store is None
            or not at_edge(line, match.groupdict().get("clock"), axis, True)
        ):
            continue
        yield match, Stated("no_terminal", store.unit.component, n)
    again = _AGAIN.search(line.line)
    said = again is not None and re.search(r"<energy#\d+> [^;]*$", line.line[: again.start()])
    if store is not None and again is not None and said:
        yield again, Stated("final_at_least_initial", store.unit.component, n)
