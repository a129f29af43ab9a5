"""The clock of a meter, and which period of a tariff holds when: by month, hour and kind of day."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, tzinfo
from functools import cached_property
from math import gcd, lcm
from typing import Literal

import numpy as np
import numpy.typing as npt

from engiagent.models.ranges import ParameterError

Ints = npt.NDArray[np.int64]

DAY = 86_400
HOUR = 3_600


def _offset(zone: tzinfo, second: int) -> int:
    shift = datetime.fromtimestamp(second, zone).utcoffset()
    return 0 if shift is None else round(shift.total_seconds())


def _offsets(zone: tzinfo, first: int, last: int) -> tuple[Ints, Ints]:
    """Return the instants from which each offset to UTC holds, and the offsets. [s]."""
    since, offset = [first], [_offset(zone, first)]
    known = first
    while known < last:
        ahead = min(known + DAY, last)
        if _offset(zone, ahead) != offset[-1]:
            low, high = known, ahead
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if _offset(zone, middle) == offset[-1] else (low, middle)
            since.append(high)
            offset.append(_offset(zone, high))
            ahead = high
        known = ahead
    return np.array(since, dtype=np.int64), np.array(offset, dtype=np.int64)


@dataclass(frozen=True, kw_only=True)
class MeterTimes:
    """N periods of one length from a start with a time zone.

    The periods are equal in absolute time: on the day that the clocks go forward an hour of the
    wall clock is missing, on the day that they go back one comes twice.

    Examples
    --------
    >>> from zoneinfo import ZoneInfo
    >>> zone = ZoneInfo("Europe/Berlin")
    >>> times = MeterTimes(start=datetime(2026, 3, 29, tzinfo=zone), step_hours=1.0, count=4)
    >>> times.local.astype("datetime64[h]").astype(str).tolist()
    ['2026-03-29T00', '2026-03-29T01', '2026-03-29T03', '2026-03-29T04']
    """

    start: datetime  # start of the first period, with a time zone. Whole seconds.
    step_hours: float  # length of a period; whole seconds. Above 0. [h]
    count: int  # number of periods. At least 1.

    def __post_init__(self) -> None:
        if self.start.tzinfo is None or self.start.utcoffset() is None:
            raise ParameterError(
                f"the start {self.start.isoformat()} has no time zone; give one, as "
                'tzinfo=ZoneInfo("Europe/Berlin")'
            )
        if self.start.microsecond:
            raise ParameterError(f"the start is {self.start.isoformat()}; give whole seconds")
        if not (np.isfinite(self.step_hours) and self.step_hours > 0):
            raise ParameterError(f"the step is {self.step_hours} h; give a length above 0, as 0.25")
        if self.step_seconds < 1 or abs(self.step_seconds - self.step_hours * HOUR) > 1e-6:
            raise ParameterError(f"the step is {self.step_hours} h; give whole seconds, as 0.25 h")
        if self.count < 1:
            raise ParameterError(f"the number of periods is {self.count}; give at least 1")

    @property
    def step_seconds(self) -> int:
        """Length of a period. [s]."""
        return round(self.step_hours * HOUR)

    @property
    def zone(self) -> tzinfo:
        """The time zone of the start."""
        zone = self.start.tzinfo
        assert zone is not None
        return zone

    @cached_property
    def seconds(self) -> Ints:
        """Start of each period in seconds of POSIX time, shape (N,)."""
        first = round(self.start.timestamp())
        return first + self.step_seconds * np.arange(self.count, dtype=np.int64)

    @cached_property
    def _transitions(self) -> tuple[Ints, Ints]:
        return _offsets(self.zone, int(self.seconds[0]), int(self.seconds[-1]) + self.step_seconds)

    @cached_property
    def local_seconds(self) -> Ints:
        """Start of each period in seconds of the wall clock since 1970-01-01 00:00, shape (N,)."""
        since, offset = self._transitions
        return np.asarray(
            self.seconds + offset[np.searchsorted(since, self.seconds, side="right") - 1]
        )

    @property
    def local(self) -> npt.NDArray[np.datetime64]:
        """Start of each period on the wall clock, shape (N,)."""
        return self.local_seconds.astype("datetime64[s]")

    @property
    def date(self) -> npt.NDArray[np.datetime64]:
        """Local date of each period's start, shape (N,)."""
        return self.local.astype("datetime64[D]")

    @property
    def weekday(self) -> Ints:
        """Day of the week of each period's start, Monday 0 to Sunday 6, shape (N,)."""
        # 1970-01-01 was a Thursday.
        return np.asarray((self.local_seconds // DAY + 3) % 7)

    @property
    def month(self) -> Ints:
        """Calendar month of each period's start, 1 to 12, shape (N,)."""
        return np.asarray(self.local.astype("datetime64[M]").astype(np.int64) % 12 + 1)

    def billing_month(self, first_day: int = 1) -> Ints:
        """Return the billing month of each period, in months since January 1970, shape (N,).

        ``first_day``: day of the month on which a billing month starts; it bears the name of that
        month.
        """
        shifted = (self.local_seconds - (first_day - 1) * DAY).astype("datetime64[s]")
        return shifted.astype("datetime64[M]").astype(np.int64)

    def common_second(self, *lengths: int) -> int:
        """Return the longest part of a period that no boundary of the clock or a length cuts. [s].

        ``lengths``: lengths whose multiples, counted on the wall clock, are boundaries. [s]
        """
        offsets = [int(value) % HOUR for value in self._transitions[1]]
        first = int(self.local_seconds[0])
        part = self.step_seconds
        for length in (HOUR, *lengths):
            part = gcd(part, length, first % length, *(shift - offsets[0] for shift in offsets))
        return part

    def refined(self, seconds: int) -> "MeterTimes":
        """Return the same span in periods of ``seconds``, which must divide the step."""
        parts = self.step_seconds // seconds
        return MeterTimes(start=self.start, step_hours=seconds / HOUR, count=self.count * parts)


Rows = tuple[tuple[int, ...], ...]
DayKind = Literal["weekday", "weekend", "every day"]


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A window that belongs to a period; of rules that overlap the last one holds."""

    period: int  # number of the period. At least 0.
    months: Iterable[int] = range(1, 13)  # months in which it holds, 1 to 12
    # start_hour, end_hour: from when until when, in hours of the wall clock in quarters; over
    # midnight when the end is not after the start. 0 to 24. [h]
    start_hour: float = 0.0
    end_hour: float = 24.0
    days: DayKind = "every day"  # ``weekday``, ``weekend`` or ``every day``

    def __post_init__(self) -> None:
        # An iterator would be empty when the rule is used again.
        object.__setattr__(self, "months", tuple(self.months))


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """Period numbers by month (12 rows) and part of the day, for weekdays and for weekends.

    Examples
    --------
    >>> peak = Rule(period=1, months=(6, 7, 8), start_hour=16, end_hour=21, days="weekday")
    >>> schedule = Schedule.of(peak)
    >>> schedule.weekday[6][14:22], schedule.weekend[6][16], schedule.periods
    ((0, 0, 1, 1, 1, 1, 1, 0), 0, 2)
    """

    # weekday, weekend: 12 rows from January on, each with 24 numbers, or 48 or 96 where a window
    # does not start on the hour. Numbers at least 0.
    weekday: Rows
    weekend: Rows

    def __post_init__(self) -> None:
        for name, rows in (("weekday", self.weekday), ("weekend", self.weekend)):
            lengths = {len(row) for row in rows}
            if len(rows) != 12 or len(lengths) != 1 or lengths.pop() not in (24, 48, 96):
                raise ParameterError(
                    f"the {name} schedule has rows of {sorted({len(r) for r in rows})} numbers, "
                    f"{len(rows)} rows; give 12 rows of 24 (or 48 or 96) period numbers"
                )
            for row in rows:
                for number in row:
                    if number != int(number) or number < 0:
                        raise ParameterError(
                            f"the {name} schedule holds {number}; give period numbers from 0 on"
                        )

    @staticmethod
    def constant(period: int = 0) -> "Schedule":
        """Return a schedule of one period."""
        return Schedule.by_month((period,) * 12)

    @staticmethod
    def by_month(periods: Iterable[int]) -> "Schedule":
        """Return a schedule of one period for each of the 12 months."""
        rows = tuple((int(period),) * 24 for period in periods)
        return Schedule(weekday=rows, weekend=rows)

    @staticmethod
    def of(*rules: Rule, default: int = 0) -> "Schedule":
        """Return the schedule that holds ``default`` but where rules say otherwise."""
        slots = 96
        grids = {kind: np.full((12, slots), default, dtype=np.int64) for kind in _KINDS}
        for rule in rules:
            inside = _slots(rule, slots)
            for month in rule.months:
                if month not in range(1, 13):
                    raise ParameterError(f"a rule names month {month}; give 1 to 12")
                for kind, grid in grids.items():
                    if rule.days in (kind, "every day"):
                        grid[month - 1, inside] = rule.period
        wide = [grids[kind] for kind in _KINDS]
        for parts in (4, 2):
            # Hours that hold one number in all their quarters need no quarters.
            if all((g.reshape(12, -1, parts) == g[:, ::parts, None]).all() for g in wide):
                wide = [grid[:, ::parts] for grid in wide]
                break
        weekday, weekend = (tuple(tuple(int(v) for v in row) for row in grid) for grid in wide)
        return Schedule(weekday=weekday, weekend=weekend)

    @property
    def periods(self) -> int:
        """Number of periods: one more than the largest number."""
        return 1 + max(max(row) for row in (*self.weekday, *self.weekend))

    @property
    def resolution(self) -> int:
        """Length of the parts of a day. [s]."""
        return DAY // lcm(len(self.weekday[0]), len(self.weekend[0]))

    def at(self, times: MeterTimes) -> Ints:
        """Return the period number at the start of each period of the meter, shape (N,)."""
        month = times.month - 1
        second = times.local_seconds % DAY
        grids = [np.array(rows, dtype=np.int64) for rows in (self.weekday, self.weekend)]
        weekday, weekend = (grid[month, second * grid.shape[1] // DAY] for grid in grids)
        return np.asarray(np.where(times.weekday >= 5, weekend, weekday), dtype=np.int64)


_KINDS = ("weekday", "weekend")


def _slots(rule: Rule, slots: int) -> npt.NDArray[np.bool_]:
    ends = []
    for hour in (rule.start_hour, rule.end_hour):
        place = hour * slots / 24
        if not (0 <= hour <= 24 and place == int(place)):
            raise ParameterError(f"a rule names hour {hour}; give 0 to 24 in quarters, as 16.5")
        ends.append(int(place))
    if rule.days not in ("weekday", "weekend", "every day"):
        raise ParameterError(f"a rule names the days {rule.days!r}; give weekday or weekend")
    if rule.period < 0:
        raise ParameterError(f"a rule names period {rule.period}; give a number from 0 on")
    at = np.arange(slots)
    start, end = ends
    return (at >= start) & (at < end) if start < end else (at >= start) | (at < end)
