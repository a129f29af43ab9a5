"""Dates and clock times that say when a horizon begins and ends."""

import re
from typing import Final

from engiagent.agents.offline.draft import Draft
from engiagent.agents.offline.tokens import DATE, Period

_MONTHS: Final = (
    "jan",
    "feb",
    "mar",
    "apr",
    "may",
    "jun",
    "jul",
    "aug",
    "sep",
    "oct",
    "nov",
    "dec",
)


def dates_in(draft: Draft) -> list[str]:
    """Return the dates of a text in the order in which they first stand there."""
    found = []
    for line in draft.lines:
        for token in line.tokens:
            match = DATE.fullmatch(token.text) if token.kind == "date" else None
            if match is not None:
                found.append(_iso(match))
    return list(dict.fromkeys(found))


def _iso(match: re.Match[str]) -> str:
    g = match.groupdict()
    if g["year"]:
        month = _MONTHS.index(g["month"].lower()[:3]) + 1
        return f"{int(g['year']):04d}-{month:02d}-{int(g['day']):02d}"
    if g["year2"]:
        month = _MONTHS.index(g["month2"].lower()[:3]) + 1
        return f"{int(g['year2']):04d}-{month:02d}-{int(g['day2']):02d}"
    if g["year3"]:
        return f"{g['year3']}-{g['month3']}-{g['day3']}"
    return f"{int(g['year4']):04d}-{int(g['month4']):02d}-{int(g['day4']):02d}"


_BETWEEN: Final = re.compile(
    r"<(?:period_open|clock)#(?P<a>\d+)> (?:on |of |, )?(?:the )?<date#(?P<first>\d+)>"
    r" (?:to|until|till|up to|through|-) <clock#(?P<b>\d+)> (?:on |of |, )?(?:the )?"
    r"<date#(?P<last>\d+)>"
)


def said_dates(draft: Draft, clock: str, hours: float) -> str | None:
    """Return the date of the beginning in 'from 22:00 on D to 22:00 on E'.

    Only where the text has no other such phrase, ``clock`` is its beginning, and it lasts as many
    ``hours``.
    """
    from datetime import date

    found = []
    for line in draft.lines:
        for match in _BETWEEN.finditer(line.line):
            days = [DATE.fullmatch(line.tokens[int(match[k])].text) for k in ("first", "last")]
            edges = [line.tokens[int(match[k])].clock for k in ("a", "b")]
            if None in edges or None in days:
                continue
            first, last = (_iso(day) for day in days if day is not None)
            begin, end = (edge for edge in edges if edge is not None)
            between = (date.fromisoformat(last) - date.fromisoformat(first)).days * 24
            found.append((first, begin, between + end - begin))
    if len(found) != 1 or abs(found[0][2] - hours) > 1e-9:
        return None
    hour, minute = clock.split(":")
    return found[0][0] if abs(found[0][1] - int(hour) - int(minute) / 60) < 1e-9 else None


_DATED: Final = re.compile(
    r"<date#\d+> ?,? ?(?:from |between |at )?<period#(?P<a>\d+)>"
    r"|<period#(?P<b>\d+)> (?:of |on |, )(?:the )?<date#\d+>"
)
_AN_HOUR: Final = re.compile(r"\b(?:coming|next|peak|following|one|single|the|this) hour\b")


def _joined(period: Period | None) -> tuple[float, float] | None:
    """Return begin and end of a period that is one piece, also over midnight: 16 to 32."""
    if period is None:
        return None
    if len(period.ranges) == 2 and period.ranges[0][1] == 24.0 and period.ranges[1][0] == 0.0:
        return period.ranges[0][0], 24.0 + period.ranges[1][1]
    return period.ranges[0] if len(period.ranges) == 1 else None


def dated_span(draft: Draft) -> tuple[float, float] | None:
    """Return the clock times that stand beside the one date of a text, its horizon."""
    found = {
        p
        for line in draft.lines
        if not line.sentence.is_heading
        for match in _DATED.finditer(line.line)
        if (p := _joined(line.tokens[int(match["a"] or match["b"])].period)) is not None
    }
    return found.pop() if len(found) == 1 and len(dates_in(draft)) == 1 else None


_DATED_START: Final = re.compile(
    r"<date#\d+> ?,? ?<period_open#(?P<n>\d+)>"
    r"|<period_open#(?P<m>\d+)> (?:of |on |, )?(?:the )?<date#\d+>"
)


def dated_start(draft: Draft) -> float | None:
    """Return the clock time that stands beside the one date of a text as its beginning."""
    found = {
        token.clock
        for line in draft.lines
        for match in _DATED_START.finditer(line.line)
        if (token := line.tokens[int(match["n"] or match["m"])]).text.lower().startswith("from")
    }
    return found.pop() if len(found) == 1 and len(dates_in(draft)) == 1 else None


def one_hour(draft: Draft) -> list[int]:
    """Return the length of a horizon that is one hour of a day, and spoken of as such."""
    span = dated_span(draft)
    hour = span is not None and abs(span[1] - span[0] - 1) < 1e-9
    told = any(_AN_HOUR.search(line.line) for line in draft.lines)
    return [1] if hour and told and not draft.has("horizon") else []


_ABOUT_TIME: Final = re.compile(
    r"\b(?:period|horizon|plan|planning|consider|simulat\w+|window|schedule|covers?|interval)\b"
)


def said_span(draft: Draft) -> tuple[float, float] | None:
    """Return first and last clock time of a horizon such as 'the period from 6:00 to 22:00'."""
    for n, line in enumerate(draft.lines):
        kinds = {t.amount.kind for t in line.tokens if t.amount is not None}
        if kinds - {"duration", "number"} or not _ABOUT_TIME.search(
            re.sub(r"<[^>]*>", "", line.line)
        ):
            continue
        for i, token in enumerate(line.tokens):
            period = token.period
            span = _joined(period) if token.kind == "period" else None
            if span is not None:
                draft.take(n, [i])
                return span
    return None
