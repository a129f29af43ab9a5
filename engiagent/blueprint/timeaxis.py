"""Time axes: starts, steps and zones as plain arrays, with both daylight-saving days right.

Steps are elapsed time. A start is wall-clock time in the axis's zone, so that a day in Berlin that
begins at midnight has 23, 24 or 25 hourly periods.
"""

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property, lru_cache
from typing import Literal
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt

from engiagent.units.unit import UnitError, convert, parse_unit

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_CLOCK = re.compile(r"([01]?\d|2[0-4]):([0-5]\d)")
_STEP = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*")
_LAST_SECOND = datetime(9999, 1, 1, tzinfo=UTC).timestamp()
_EPOCH_WEEKDAY = 3  # 1970-01-01 was a Thursday; Monday is 0


@dataclass(frozen=True, eq=False)
class TimeAxis:
    """The N+1 edges of N periods."""

    # seconds of the edges, shape (N+1,): since 1970-01-01 UTC when ``dated`` and there is a zone,
    # since 1970-01-01 local when only ``dated``, since midnight otherwise
    edges: Floats
    dated: bool
    zone: str | None
    # the unit of ``steps``: ``h``, or ``timeunit`` for periods without a clock
    step_unit: str = "h"
    # whether it is known when the first period begins; else its edges count from there, and no
    # clock can be asked
    begun: bool = True
    # the length of every period in seconds, or in ``timeunit``; None where they are listed
    length: float | None = None

    def counts_as(self, other: "TimeAxis") -> bool:
        """Whether the edges of two axes count from one moment, in one unit."""
        return (self.dated, self.zone is None, self.begun, self.step_unit) == (
            other.dated,
            other.zone is None,
            other.begun,
            other.step_unit,
        )

    @cached_property
    def steps(self) -> Floats:
        """Lengths of the periods in ``step_unit``, shape (N,)."""
        if self.length is not None:
            return np.full(len(self.edges) - 1, self.length / self._per_unit)
        return np.diff(self.edges) / self._per_unit

    @cached_property
    def step(self) -> float | None:
        """The length of every period in ``step_unit``; None where they differ."""
        if self.length is not None:
            return self.length / self._per_unit
        steps = self.steps
        return float(steps[0]) if steps.size and bool((steps == steps[0]).all()) else None

    @property
    def _per_unit(self) -> float:
        return 3600.0 if self.step_unit == "h" else 1.0

    @cached_property
    def stamps(self) -> npt.NDArray[np.datetime64]:
        """The edges as time stamps, shape (N+1,); by UTC where there is a zone."""
        ticks = self.edges.astype(np.int64)
        if bool((ticks == self.edges).all()):
            ticks *= 10**9
        else:
            ticks = np.rint(self.edges * 1e9).astype(np.int64)
        stamps = ticks.view("M8[ns]")
        stamps.flags.writeable = False
        return stamps

    @cached_property
    def local(self) -> Floats:
        """The edges in seconds of wall-clock time, shape (N+1,)."""
        if self.zone is None or not self.dated:
            return self.edges
        return self.edges + utc_offsets(self.edges, self.zone)

    @cached_property
    def clock(self) -> Floats:
        """Time of day at every edge in hours, shape (N+1,)."""
        return np.mod(self.local, 86400.0) / 3600.0

    @cached_property
    def weekday(self) -> Ints:
        """Day of the week at every edge, Monday 0, shape (N+1,)."""
        return ((self.local // 86400).astype(np.int64) + _EPOCH_WEEKDAY) % 7

    @property
    def _resolution(self) -> tuple[Literal["m", "s", "ms"], int]:
        """The coarsest unit of time in which all labels differ, and how many make a second."""
        if not np.any(np.mod(self.edges, 60.0)):
            return "m", 1
        return ("ms", 1000) if np.any(np.mod(self.edges, 1.0)) else ("s", 1)

    def label(self, place: int) -> str:
        """Return one of :attr:`labels`, in the form that it has alone."""
        if place not in self._single:
            edge = replace(self, edges=self.edges[place : place + 1])
            self._single[place] = edge.labels[0]
        return self._single[place]

    @cached_property
    def _single(self) -> dict[int, str]:
        return {}

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Every edge as text: ISO 8601 with the offset where one is known, else ``18:00``."""
        unit, scale = self._resolution
        if not self.dated:
            return tuple(_clock_text(seconds, unit) for seconds in self.edges)
        ticks = np.round(self.local * scale).astype("int64")
        stamps = np.datetime_as_string(ticks.astype("M8[ms]" if scale > 1 else "M8[s]"), unit=unit)
        if self.zone is None:
            return tuple(str(stamp) for stamp in stamps)
        offsets = (self.local - self.edges).astype(np.int64)
        return tuple(str(s) + _offset_text(int(o)) for s, o in zip(stamps, offsets, strict=True))


def _clock_text(seconds: float, unit: str) -> str:
    days, rest = divmod(seconds, 86400)
    hours, rest = divmod(rest, 3600)
    text = f"{int(hours):02d}:{int(rest // 60):02d}"
    if unit != "m":
        text += f":{rest % 60:02.0f}" if unit == "s" else f":{rest % 60:06.3f}"
    days = int(days)
    return text if days == 0 else f"{text}+{days}d"


def _offset_text(seconds: int) -> str:
    sign = "-" if seconds < 0 else "+"
    return f"{sign}{abs(seconds) // 3600:02d}:{abs(seconds) % 3600 // 60:02d}"


def utc_offsets(utc: Floats, zone: str) -> Floats:
    """Return a zone's offsets from UTC in seconds at instants in seconds since 1970, shape (n,).

    Each day is asked once unless its offset changes.
    """
    info = ZoneInfo(zone)

    def offset(seconds: float) -> float:
        delta = datetime.fromtimestamp(seconds, UTC).astimezone(info).utcoffset()
        return (delta or timedelta()).total_seconds()

    days = np.floor(utc / 86400.0)
    first, last = int(days.min()), int(days.max()) + 1
    borders = np.array([offset(day * 86400.0) for day in range(first, last + 1)])
    place = (days - first).astype(np.int64)
    result = borders[place]
    for index in np.flatnonzero(borders[place] != borders[place + 1]):
        result[index] = offset(float(utc[index]))
    return result


def clock_instants(wall: Floats | Ints, zone: str) -> tuple[Floats, Floats]:
    """Return the first and the last instant at which clocks show a time; NaN where they never do.

    Times are seconds since 1970, shape (n,). An offset that holds at a time holds the day before
    or the day after it, too, for clocks change once in two days at most.
    """
    count, day = len(wall), 86400.0
    twice = np.concatenate((wall, wall)).astype(np.float64)
    around = utc_offsets(twice + np.repeat((-day, day), count), zone)
    found = twice - around
    found[utc_offsets(found, zone) != around] = np.nan
    both = found[:count], found[count:]
    return np.fmin(*both), np.fmax(*both)


def parse_step(text: str) -> tuple[float, str]:
    """Return a step as seconds (or time units) and ``h`` or ``timeunit``.

    >>> parse_step("15 min")
    (900.0, 'h')
    """
    match = _STEP.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no duration; write '1 h' or '15 min'")
    try:
        unit = parse_unit(match[2])
        abstract = unit.same_dimension(parse_unit("timeunit"))
        target = parse_unit("timeunit") if abstract else parse_unit("s")
        length = convert(float(match[1]), unit, target)
    except UnitError as error:
        raise ValueError(f"{text!r} is no duration: {error}") from None
    if length <= 0:
        raise ValueError(f"{text!r} is no positive duration")
    return length, "timeunit" if abstract else "h"


@lru_cache(maxsize=2)
def build_axis(
    start: str | None, step: str | tuple[str, ...], periods: int, zone: str | None
) -> TimeAxis:
    """Return the axis of ``periods`` periods; asked again, the same one."""
    length = None
    origin, dated = _origin(start, zone)
    if isinstance(step, str):
        length, unit = parse_step(step)
        edges = np.arange(periods + 1, dtype=np.float64)
        edges *= length
        edges += origin
    else:
        if len(step) != periods:
            raise ValueError(f"{len(step)} steps are listed for {periods} periods")
        pairs = [parse_step(item) for item in step]
        unit = pairs[0][1]
        if any(other != unit for _, other in pairs):
            raise ValueError("the steps mix clock time and abstract time units")
        edges = origin + np.concatenate(([0.0], np.cumsum([seconds for seconds, _ in pairs])))
    if unit == "timeunit" and start is not None:
        raise ValueError("abstract time units have no clock: leave the start out")
    if dated and not edges[-1] < _LAST_SECOND:
        raise ValueError("the time axis ends after the year 9998")
    edges.flags.writeable = False
    return TimeAxis(edges, dated, zone if dated else None, unit, start is not None, length)


def _origin(start: str | None, zone: str | None) -> tuple[float, bool]:
    """Return the start in seconds and whether it has a date."""
    if start is None:
        return 0.0, False
    clock = _CLOCK.fullmatch(start.strip())
    if clock:
        return int(clock[1]) * 3600.0 + int(clock[2]) * 60.0, False
    try:
        moment = datetime.fromisoformat(start.strip())
    except ValueError:
        raise ValueError(f"{start!r} is no start; write '2025-07-01T00:00' or '18:00'") from None
    if zone is None:
        if moment.tzinfo is not None:
            raise ValueError(f"the start {start!r} has an offset; name the zone too, as 'UTC'")
        return (moment - datetime(1970, 1, 1)).total_seconds(), True
    try:
        info = ZoneInfo(zone)
    except (KeyError, ValueError, OSError):
        raise ValueError(f"unknown time zone {zone!r}; write as 'Europe/Berlin'") from None
    if moment.tzinfo is None:
        naive = moment
        moment = moment.replace(tzinfo=info)
        if moment.astimezone(UTC).astimezone(info).replace(tzinfo=None) != naive:
            raise ValueError(f"{start!r} does not exist in {zone}: the clock is put forward then")
    return moment.timestamp(), True
