"""How often a vessel goes, when, and after which legs it can charge."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from engiagent.agents.offline.draft import Draft
from engiagent.agents.offline.timing import Axis

LEG: Final = r"(?:crossings?|trips?|legs?|voyages?|rounds?|laps?|passages?|journeys?|runs?)"
ORDINALS: Final = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth",
    "eleventh", "twelfth",
)  # fmt: skip
_ORDINAL: Final = rf"(?:{'|'.join(ORDINALS)}|last)"
_WHO: Final = r"(?:she|it|he|they|the [a-z-]+)"
_COUNTED: Final = (
    re.compile(
        r"(?:crosses|passes|sails|goes|travels|drives)(?: (?:over|across|round|to and fro))?"
        r"(?: (?:the|a) [a-z-]+){0,2} <number#(?P<n>\d+)> times"
    ),
    re.compile(
        rf"(?:makes|does|has|runs|sails|goes on|is due for) (?:exactly )?<number#(?P<n>\d+)> {LEG}"
    ),
    re.compile(rf"(?:there are|in|on) <number#(?P<n>\d+)> {LEG}"),
)
_CYCLE: Final = re.compile(
    rf"(?:one {LEG} |(?:leaves|departs|sails|sets off|starts|goes) )?every (?P<what>half hour"
    rf"|quarter hour|hour|<duration#(?P<n>\d+)>)"
    rf"(?: {_WHO})?(?: (?:leaves|departs|sails|sets off|starts|goes))?"
)
_LISTED: Final = re.compile(
    r"(?:(?:only )?(?:charges?|charged|recharges?|recharged|plugs? in|takes? (?:in )?energy|is"
    r" plugged"
    rf" in)(?: only)?) after (?:only )?(?:the )?(?P<list>{_ORDINAL}(?: (?:, |and |, and )(?:the )?"
    rf"{_ORDINAL})*) {LEG}(?: only| alone)?"
)
_REGULAR: Final = re.compile(
    rf"(?:charges?|charged|recharges?|plugs? in) after (?P<which>every|each|every second|every"
    rf" other"
    rf"|every third) {LEG}(?! but| except)"
)
_WHERE: Final = re.compile(
    r"(?:only at (?:the )?[a-z-]+ [a-z-]+ is there (?:a|the) charger|there is a charger (?:only"
    r" )?at"
    r" (?:the )?[a-z-]+ [a-z-]+(?: only| alone)?|the only charger (?:is|stands) (?:at|in) (?:the )?"
    rf"[a-z-]+(?: [a-z-]+)?)(?: ,)?(?: so(?: that)? {_WHO}(?: can| may)?)?"
)
_RESTS: Final = re.compile(
    r"(?:, )?(?:and )?(?:lies|stands|waits|stays|rests)(?: still| idle| there)?(?: for)? <rest#\d+>"
)
_PARTS: Final = {
    "morning": (5.0, 12.0), "afternoon": (12.0, 18.0), "evening": (17.0, 24.0),
    "night": (20.0, 31.0),
}  # fmt: skip
_PAIR: Final = re.compile(r"[(] [^()<]* [)]")


@dataclass(frozen=True)
class Timetable:
    """The legs of a vessel.

    Attributes
    ----------
    legs
        How many; None where that is not said.
    minutes
        From one departure to the next.
    stops
        After which legs it can charge, counted from 1; empty where that is not said.
    line
        Where the stops are stated.
    """

    legs: int | None
    minutes: float | None
    stops: tuple[int, ...]
    line: int


def read_timetable(draft: Draft) -> Timetable:
    """Return the timetable of a text; account for the words that state it."""
    counts: set[int] = set()
    cycles: set[float] = set()
    stops: list[tuple[int, ...]] = []
    at = -1
    for n, line in enumerate(draft.lines):
        if line.sentence.is_heading or n in draft.table_lines:
            continue
        for pattern in _COUNTED:
            for match in pattern.finditer(line.line):
                amount = line.tokens[int(match["n"])].amount
                if amount is not None and float(amount.value).is_integer():
                    counts.add(int(amount.value))
                    draft.take(n, line.covered(*match.span()))
                    draft.unused.append({"span": list(amount.span), "quote": amount.quote,
                                         "reason": "counts the legs"})  # fmt: skip
        for match in _CYCLE.finditer(line.line):
            minutes = _minutes(draft, n, match)
            if minutes is not None:
                cycles.add(minutes)
                draft.take(n, line.covered(*match.span()))
                rests = _RESTS.search(line.line, match.end())
                draft.take(n, line.covered(*rests.span()) if rests is not None else [])
        where = _WHERE.search(line.line)
        found = _stops(line.line, max(counts, default=0))
        if found is not None:
            stops.append(found[0])
            at = n
            draft.take(n, line.covered(*found[1]))
            if where is not None:
                draft.take(n, line.covered(*where.span()))
    legs = counts.pop() if len(counts) == 1 else None
    listed = stops[0] if len(set(stops)) == 1 else ()
    return Timetable(legs, cycles.pop() if len(cycles) == 1 else None, listed, at)


def _minutes(draft: Draft, n: int, match: re.Match[str]) -> float | None:
    """Return how long a cycle is in minutes."""
    from engiagent.blueprint.units import convert, parse_unit

    known = {"half hour": 30.0, "quarter hour": 15.0, "hour": 60.0}
    if match["n"] is None:
        return known[match["what"]]
    amount = draft.lines[n].tokens[int(match["n"])].amount
    if amount is None:
        return None
    draft.unused.append({"span": list(amount.span), "quote": amount.quote,
                         "reason": "the length of a period"})  # fmt: skip
    return convert(amount.value, parse_unit(amount.unit), parse_unit("min"))


def _stops(text: str, legs: int) -> tuple[tuple[int, ...], tuple[int, int]] | None:
    """Return after which legs a text lets a vessel charge, with the place of these words."""
    match = _LISTED.search(text)
    if match is not None:
        names = re.findall(_ORDINAL, match["list"])
        listed = tuple(sorted({legs if w == "last" else ORDINALS.index(w) + 1 for w in names}))
        return (listed, match.span()) if all(1 <= k <= legs for k in listed) else None
    match = _REGULAR.search(text)
    if match is None or not legs:
        return None
    step = {"every second": 2, "every other": 2, "every third": 3}.get(match["which"], 1)
    return tuple(range(step, legs + 1, step)), match.span()


def take_outside(draft: Draft, axis: Axis) -> None:
    """Account for brackets without numbers on a part of the day that the plan does not touch."""
    for n, line in enumerate(draft.lines):
        for match in _PAIR.finditer(line.line):
            parts = [p for p in _PARTS if f" {p} " in match[0]]
            low, high = axis.start_clock, axis.start_clock + axis.hours
            apart = all(
                high <= a + shift or b + shift <= low
                for p in parts for a, b in (_PARTS[p],) for shift in (-24, 0, 24)
            )  # fmt: skip
            if parts and apart and "must" not in match[0].split():
                draft.take(n, line.covered(*match.span()))


def last_leg(legs: int) -> str:
    """Return a pattern for the end of the last leg in words."""
    names: Sequence[str] = [ORDINALS[legs - 1]] if legs <= len(ORDINALS) else []
    which = "|".join([*names, "last", "final"])
    return (
        rf"(?:when|once|as soon as) (?:the|her|its|this) (?:{which}) {LEG} (?:is|has been|was)"
        rf" (?:done|over|finished|completed|made)|(?:after|at the end of) (?:the|her|its)"
        rf" (?:{which})"
        rf" {LEG}"
    )
