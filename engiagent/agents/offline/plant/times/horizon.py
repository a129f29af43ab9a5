"""Words for the start, the end and the whole of the horizon: 'when the fair opens', 'on Friday'."""

import re
from datetime import date, timedelta
from typing import Final

from engiagent.agents.offline.plant.language.words import NEUTRAL
from engiagent.agents.offline.plant.market.tiers import is_month
from engiagent.agents.offline.timing import Axis
from engiagent.agents.offline.tokens import Line
from engiagent.blueprint.units import convert, parse_unit

PARTS_OF_DAY: Final = {
    "morning": (3.0, 13.0), "afternoon": (11.0, 20.0), "evening": (15.0, 25.0),
    "night": (17.0, 33.0),
}  # fmt: skip
_DAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTH: Final = re.compile(
    r"(?:of|in|for|over|during) (?:the|this) (?:whole |entire )?month(?![a-z])"
)
_OPENING: Final = re.compile(
    r"(?:when|as) (?:the|our) [a-z-]+ (?P<side>opens|begins|starts|closes|ends|is over|shuts)"
    r"(?![a-z])"
)
_PART: Final = re.compile(
    r"(?:(?:of|in|during|over|for|throughout) the (?:whole |entire )?|all )"
    r"(?P<part>morning|afternoon|evening|night)(?![a-z])"
)
_WHOLE: Final = re.compile(
    r"(?:over|in|during|within) (?:the|these|all) (?:next )?<(?:number|duration)#(?P<count>\d+)>"
    r"(?: (?:(?P<days>days)|hours))?"
)
_LAST_DAY: Final = re.compile(
    r"(?:at|by) the (?:very )?end of the"
    r" (?P<day>second|third|fourth|fifth|sixth|seventh|last|final) day"
)
_NTH: Final = {
    "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7,
}  # fmt: skip
_OCCASION: Final = re.compile(
    r"(?:when|as) (?:the |our |a )?[a-z]+(?: [a-z]+)? (?:begins|starts|opens|arrives?|ends|closes"
    r"|is due|is held)(?: at)?(?= <clock#\d+>)"
)
_DAY: Final = re.compile(
    rf"(?:on )?(?P<day>{'|'.join(_DAYS)})(?: (?:at )?<clock#(?P<clock>\d+)>"
    r"| (?P<late>night|evening|at the end))"
)


def horizon_words(line: Line, axis: Axis) -> dict[int, str]:
    """Return the concepts of the words of a line that name an edge of the horizon, or all of it.

    Parameters
    ----------
    line
        The line.
    axis
        The time axis.

    Returns
    -------
    ``start``, ``end`` or nothing for each token; what opens or closes is the horizon only where
    that is not a whole day.
    """
    found: dict[int, str] = {}
    first, hours = axis.start_clock, axis.hours
    for match in _PART.finditer(line.line):
        low, high = PARTS_OF_DAY[match["part"]]
        if any(low <= at and at + hours <= high for at in (first, first + 24)):
            found |= _marks(line, match, NEUTRAL)
    for match in _WHOLE.finditer(line.line):
        amount = line.tokens[int(match["count"])].amount if match["count"] else None
        if amount is None:
            continue
        unit = amount.unit or ("d" if match["days"] else "h")
        length = convert(amount.value, parse_unit(unit), parse_unit("h"))
        if abs(length - hours) < 1e-9:
            words = [i for i in line.covered(*match.span()) if line.tokens[i].kind == "word"]
            found |= dict.fromkeys(words, NEUTRAL) | {words[0]: "overday"}
    for match in _MONTH.finditer(line.line) if is_month(axis) else ():
        found |= _marks(line, match, NEUTRAL)
    for match in _OPENING.finditer(line.line):
        opens = match["side"] in ("opens", "begins", "starts")
        inner = axis.known_start and hours < 24 and (first if opens else axis.end_clock % 24)
        if inner:
            found |= _marks(line, match, "start" if opens else "end")
    for match in _LAST_DAY.finditer(line.line):
        if abs(_NTH.get(match["day"], hours / 24) * 24 - hours) < 1e-9:
            found |= _marks(line, match, "end")
    for match in _OCCASION.finditer(line.line):  # the time behind it says when that is
        found |= dict.fromkeys(line.covered(*match.span()), NEUTRAL)
    for match in _DAY.finditer(line.line):
        edge = _edge_of(line, match, axis)
        if edge is not None:
            found |= _marks(line, match, edge)
    return found


def _marks(line: Line, match: re.Match[str], concept: str) -> dict[int, str]:
    covered = line.covered(*match.span())
    return {
        i: concept if i == covered[0] or line.tokens[i].kind == "clock" else NEUTRAL
        for i in covered
    }


def _edge_of(line: Line, match: re.Match[str], axis: Axis) -> str | None:
    """Return whether a weekday, at midnight or late, is the start or the end of the horizon."""
    if "T" not in axis.start:
        return None
    begins = date.fromisoformat(axis.start[:10])
    ends = begins + timedelta(hours=axis.start_clock + axis.hours)
    day = _DAYS.index(match["day"])
    clock = line.tokens[int(match["clock"])].clock if match["clock"] else None
    if match["late"]:
        last = ends - timedelta(days=1) if axis.end_clock == 24.0 else None
        return "end" if last is not None and last.weekday() == day else None
    if clock is not None and begins.weekday() == day and clock == axis.start_clock:
        return "start"
    # Beyond a week a weekday names more than one day.
    whole = axis.hours <= 24 * 6
    return "end" if whole and ends.weekday() == day and clock == axis.end_clock % 24 else None
