"""The time axis: from time stamps, from the first column of a table, or from what the text says."""

import re
from dataclasses import dataclass, replace
from typing import Final

from engiagent.agents.offline.draft import Draft, Fact
from engiagent.agents.offline.grids import Times
from engiagent.agents.offline.horizons import (
    dated_span,
    dated_start,
    dates_in,
    one_hour,
    said_dates,
    said_span,
)
from engiagent.blueprint.units import convert, parse_unit

STEP_WORDS: Final = {"h": 60.0, "q": 15.0, "f": 30.0}


@dataclass(frozen=True)
class Axis:
    """A time axis with equal steps.

    Attributes
    ----------
    start
        ``2025-06-14T00:00``, or ``18:00`` when there is no date.
    """

    start: str
    step_minutes: float
    periods: int
    zone: str | None
    known_start: bool

    @property
    def start_clock(self) -> float:
        """The time of day at the start in hours."""
        hours, minutes = self.start[-5:].split(":")
        return int(hours) + int(minutes) / 60

    @property
    def hours(self) -> float:
        """The length of the horizon in hours."""
        return self.periods * self.step_minutes / 60

    @property
    def end_clock(self) -> float:
        """The time of day at the end in hours; 24 for midnight."""
        return self._wall(self.periods) or 24.0

    def clocks(self) -> list[float]:
        """Return the time of day at the start of every period in hours, as clocks on the wall."""
        return [self._wall(k) for k in range(self.periods)]

    def _wall(self, periods: int) -> float:
        """Return the time of day after some periods; clocks that are put back or forth count."""
        from datetime import UTC, datetime, timedelta
        from zoneinfo import ZoneInfo

        passed = periods * self.step_minutes
        if self.zone is None or "T" not in self.start:
            return (self.start_clock + passed / 60) % 24
        zone = ZoneInfo(self.zone)
        begin = datetime.fromisoformat(self.start).replace(tzinfo=zone)
        moment = (begin.astimezone(UTC) + timedelta(minutes=passed)).astimezone(zone)
        return moment.hour + moment.minute / 60

    @property
    def step_text(self) -> str:
        """The step as a blueprint writes it."""
        if self.step_minutes % 60 == 0:
            return f"{self.step_minutes / 60:g} h"
        return f"{self.step_minutes:g} min"


def read_axis(draft: Draft, times: list[Times], lengths: list[int]) -> Axis | None:
    """Return the time axis; None, with the reason reported, when there is none."""
    stamped = _agreed(draft, times)
    lengths = lengths if times or lengths else one_hour(draft)
    zone = _zone(draft) or next((t.zone for t in times if t.zone), None)
    said_step = _said_step(draft)
    step = (stamped.step_minutes if stamped and stamped.step_minutes else None) or said_step
    counts = {t.count for t in times} | set(lengths)
    if len(counts) > 1:
        said = f"series of {' and '.join(map(str, sorted(counts)))} values"
        _contradiction(draft, said, "shorter")
    count = next(iter(sorted(counts)), None)
    step = _shared_out(draft, count) if step is None else step
    if step is None and (draft.has("horizon") or draft.has("step_word") or count in (1, 24)):
        step = 60.0
        if not _hourly(draft):
            draft.assume("a period lasts one hour")
    if step is None:
        return None
    if count is None:
        count = _said_count(draft, step)
    if count is None:
        return None
    if said_step is not None and stamped and stamped.step_minutes and said_step != step:
        _contradiction(draft, f"time stamps every {step:g} min against steps of {said_step:g} min")
    _not_the_horizon(draft, count, step)
    _check_counts(draft, count, step)
    start, known = _start(draft, stamped, step)
    if known and "T" not in start:
        day = said_dates(draft, start, count * step / 60)
        start = start if day is None else f"{day}T{start}"
    return Axis(start, step, count, zone, known)


def _shared_out(draft: Draft, count: int | None) -> float | None:
    """Return the step of as many values as are given 'for the next 12 hours', in minutes."""
    lengths = {
        convert(t.amount.value, parse_unit(t.amount.unit), parse_unit("min"))
        for fact in draft.facts
        if fact.name == "horizon_hours" and (t := fact.groups.get("total")) is not None
        and t.amount is not None and t.amount.kind == "duration"
    }  # fmt: skip
    if count is None or len(lengths) != 1:
        return None
    step = lengths.pop() / count
    if step not in _STEPS:
        return None
    draft.assume(f"the {count} values are those of periods of {step:g} min")
    return step


def _agreed(draft: Draft, times: list[Times]) -> Times | None:
    """Return the times of all files and tables, which must be the same."""
    starts = {t.start for t in times if t.start is not None and "T" in t.start}
    steps = {t.step_minutes for t in times if t.step_minutes is not None}
    if len(starts) > 1 or len(steps) > 1:
        _contradiction(draft, "files or tables with different time stamps")
    dated = [t for t in times if t.start is not None and "T" in t.start]
    stepped = [t for t in times if t.step_minutes is not None]
    return next(iter([*dated, *stepped, *times]), None)


def _contradiction(draft: Draft, what: str, code: str = "lengths") -> None:
    n = next((f.line for f in draft.facts if f.name.startswith("horizon")), 0)
    if draft.lines:
        places = [f.span for f in draft.facts if f.name in ("horizon", "horizon_hours", "step")]
        draft.clash(
            n,
            code,
            ("time", "periods"),
            f"the lengths contradict each other: {what}",
            tuple(dict.fromkeys(places)),
        )


def _hourly(draft: Draft) -> bool:
    return any(
        "hour" in f.words and "quarter" not in f.words and "half" not in f.words
        for f in draft.facts
        if f.name in ("horizon", "step_word", "hour_ending", "hour_beginning")
    )


def _minutes(fact: Fact, *names: str) -> float | None:
    for name in names:
        token = fact.groups.get(name)
        if token is not None and token.amount is not None and token.amount.kind == "duration":
            return convert(token.amount.value, parse_unit(token.amount.unit), parse_unit("min"))
    return None


def _said_step(draft: Draft) -> float | None:
    found: set[float] = set()
    for fact in draft.facts:
        minutes = None
        if fact.name in ("step", "horizon"):
            minutes = _minutes(fact, "step", "step2", "step3", "step4")
        if minutes is not None and minutes <= 240:
            found.add(minutes)
    words = {
        STEP_WORDS[k]
        for f in draft.facts
        if f.name == "step_word"
        for k in f.groups
        if k in STEP_WORDS
    }
    if len(found) == 1:
        return found.pop()
    if not found and len(words) == 1:
        return words.pop()
    if not found and len(words) > 1:
        return min(words)
    if len(found) > 1:
        _contradiction(draft, f"steps of {' and '.join(f'{m:g}' for m in sorted(found))} minutes")
        return min(found)
    return None


def _counted(fact: Fact, step: float) -> int | None:
    """Return how many periods a phrase such as '24 hourly periods' or 'next 24 hours' means."""
    token = fact.groups.get("count") or fact.groups.get("total")
    if token is None or token.amount is None:
        return None
    amount = token.amount
    if amount.kind == "duration":
        minutes = convert(amount.value, parse_unit(amount.unit), parse_unit("min"))
        periods = minutes / step
        return round(periods) if abs(periods - round(periods)) < 1e-9 else None
    if (
        re.search(
            r"(?<!quarter )(?<!half )(?<!quarter-)(?<!half-)\bhours?\b|\bhourly\b|one-hour",
            fact.words,
        )
        and step < 60
    ):
        return round(amount.value * 60 / step)
    return round(amount.value)


def _said_count(draft: Draft, step: float) -> int | None:
    counts = {
        c
        for f in draft.facts
        if f.name in ("horizon", "horizon_hours") and (c := _counted(f, step)) is not None
    }
    if len(counts) > 1:
        _contradiction(draft, f"{' and '.join(map(str, sorted(counts)))} periods")
    if counts:
        return max(counts)
    span = dated_span(draft) or said_span(draft)
    if span is not None:
        return round((span[1] - span[0]) * 60 / step)
    long = _long_durations(draft, step)
    if len(long) == 1:
        return long.pop()
    one_day = any(
        re.search(r"\b(?:the|one|next|a) day\b|midnight to midnight|tomorrow", line.line)
        for line in draft.lines
    ) or dates_in(draft)
    if one_day:
        draft.assume("the horizon is one day")
        return round(24 * 60 / step)
    return None


def _long_durations(draft: Draft, step: float) -> set[int]:
    """Return how many periods the durations of several periods mean that the text mentions."""
    found = set()
    for _, _, amount in draft.free_amounts("duration"):
        periods = convert(amount.value, parse_unit(amount.unit), parse_unit("min")) / step
        if periods >= 2 and abs(periods - round(periods)) < 1e-9:
            found.add(round(periods))
    return found


def _check_counts(draft: Draft, count: int, step: float) -> None:
    """Report phrases whose number of periods is not the one of the data."""
    for fact in draft.facts:
        if fact.name not in ("horizon", "horizon_hours"):
            continue
        said = _counted(fact, step)
        if said is not None and said != count:
            draft.clash(
                fact.line,
                "shorter" if count < said else "longer",
                ("time", "periods"),
                f"the text speaks of {said} periods ('{_shown(draft, fact)}'), "
                f"the data has {count}",
                (fact.span,),
            )


_FEW: Final = 6
_STEPS: Final = (5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 180.0, 240.0)


def _not_the_horizon(draft: Draft, count: int, step: float) -> None:
    """Give back the words of small spelled counts that are none of the horizon: 'three prices'."""
    for fact in [f for f in draft.facts if f.name == "horizon"]:
        token = fact.groups.get("count")
        said = _counted(fact, step)
        if token is None or token.amount is None or said in (None, count):
            continue
        if token.text.isalpha() and token.amount.value <= _FEW:
            draft.facts.remove(fact)
            tokens = draft.lines[fact.line].tokens
            inside = [i for i, t in enumerate(tokens) if fact.span[0] <= t.span[0] < fact.span[1]]
            draft.taken.difference_update((fact.line, i) for i in inside)


def restated(draft: Draft, axis: Axis) -> None:
    """Account for durations that only say again how long the horizon or a step is."""
    for n, i, amount in list(draft.free_amounts("duration")):
        minutes = convert(amount.value, parse_unit(amount.unit), parse_unit("min"))
        if any(abs(minutes - m) < 1e-6 for m in (axis.step_minutes, 60 * axis.hours)):
            draft.take(n, [i])


def _shown(draft: Draft, fact: Fact) -> str:
    line = draft.lines[fact.line]
    return re.sub(r"<[a-z_]+#(\d+)>", lambda m: line.tokens[int(m[1])].text, fact.words)


def _start(draft: Draft, stamped: Times | None, step: float) -> tuple[str, bool]:
    dates = dates_in(draft)
    clock = _start_clock(draft)
    clock = _listed_start(draft, step) if clock is None else clock
    if stamped is not None and stamped.start is not None:
        start = stamped.start
        if (
            draft.has("hour_ending")
            and not draft.has("hour_beginning")
            and stamped.label != "ending"
        ):
            start = _earlier(start, step)
        if "T" in start and len(dates) == 1 and not start.startswith(dates[0]):
            _contradiction(draft, f"the data begins on {start[:10]}, the text speaks of {dates[0]}")
        if "T" in start or len(dates) != 1:
            return start, True
        return f"{dates[0]}T{start}", True
    known = clock is not None
    shown = f"{int(clock or 0) % 24:02d}:{round((clock or 0) % 1 * 60):02d}"
    if not known:
        draft.assume("the first period begins at midnight")
    return (f"{dates[0]}T{shown}" if len(dates) == 1 else shown), known


def _listed_start(draft: Draft, step: float) -> float | None:
    """Return when a list begins that is said to cover a time of the day: 'from 08:00 to 16:00: …'.

    It must have as many values as that time has periods; 'from 18:00: …' says only when it begins.
    """
    for line in draft.lines:
        lists = [token for token in line.tokens if token.kind == "list"]
        begun = [t for t in line.tokens if t.kind == "period_open" and t.text.startswith("from")]
        if len(lists) == 1 and len(begun) == 1 and begun[0].clock is not None:
            return begun[0].clock % 24
        periods = [token.period for token in line.tokens if token.period is not None]
        if len(lists) == 1 and len(periods) == 1 and len(periods[0].ranges) == 1:
            first, last = periods[0].ranges[0]
            hours = (last - first) % 24 or 24.0
            if not periods[0].rest and abs(hours * 60 / step - len(lists[0].amounts)) < 1e-9:
                return first % 24
    return None


def _start_clock(draft: Draft) -> float | None:
    for fact in draft.facts:
        if fact.name == "first_hour" and fact.groups["when"].period is not None:
            return fact.groups["when"].period.ranges[0][0]
        token = fact.groups.get("clock")
        if fact.name == "start_clock" and token is not None and token.clock is not None:
            return token.clock
    said = {
        token.clock
        for line in draft.lines
        if re.search(r"\b(?:start|starts|starting|initial|initially|beginning|begins)\b", line.line)
        for token in line.tokens
        if token.clock is not None and token.kind == "clock"
    }
    span = dated_span(draft) or said_span(draft)
    if span is not None:
        return span[0]
    dated = dated_start(draft)
    if dated is not None:
        return dated
    if len(said) == 1:
        return said.pop()
    for line in draft.lines:
        if re.search(
            r"midnight to midnight|(?:starts?|starting|begins?|beginning|from) (?:at )?midnight",
            line.line,
        ):
            return 0.0
    for line in draft.lines:
        for token in line.tokens:
            if token.kind == "period" and re.search(r"midnight\s+to\s+midnight", token.text, re.I):
                return 0.0
    return None


def _earlier(start: str, step: float) -> str:
    from datetime import datetime, timedelta

    if "T" in start:
        moment = datetime.fromisoformat(start) - timedelta(minutes=step)
        return moment.isoformat(timespec="minutes")
    hours, minutes = map(int, start.split(":"))
    total = (hours * 60 + minutes - round(step)) % 1440
    return f"{total // 60:02d}:{total % 60:02d}"


def _zone(draft: Draft) -> str | None:
    zones = {t.text for line in draft.lines for t in line.tokens if t.kind == "tz"}
    zones = {z for z in zones if _is_zone(z)}
    return zones.pop() if len(zones) == 1 else None


def _is_zone(name: str) -> bool:
    from zoneinfo import ZoneInfo

    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return False
    return True


def over_midnight(draft: Draft, axis: Axis | None) -> None:
    """Let 'before 23:00' and 'from 06:00 on' mean times of a horizon that runs over midnight."""
    if axis is None or axis.hours > 24 or axis.start_clock < axis.end_clock:
        return
    from datetime import datetime, timedelta

    start, end = axis.start_clock, axis.end_clock
    for n, line in enumerate(draft.lines):
        tokens = list(line.tokens)
        for i, token in enumerate(tokens):
            if token.kind != "period_open" or token.clock is None or token.period is None:
                continue
            clock = token.clock
            before = token.period.ranges[0][0] == 0.0 and token.period.ranges[0][1] != 24.0
            a, b = (start, clock) if before else (clock, end)
            ranges = ((a, b),) if a < b else tuple(r for r in ((a, 24.0), (0.0, b)) if r[0] < r[1])
            shown = ""
            if "T" in axis.start:
                begin = datetime.fromisoformat(axis.start)
                moment = begin + timedelta(hours=(clock - start) % 24)
                shown = f"t {'<' if before else '>='} '{moment.isoformat(timespec='minutes')}'"
            tokens[i] = replace(token, period=replace(token.period, ranges=ranges, shown=shown))
        if tuple(tokens) != line.tokens:
            draft.lines[n] = replace(line, tokens=tuple(tokens))
