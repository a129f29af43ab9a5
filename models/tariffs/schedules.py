"""Which period of a tariff holds when: by month, by hour and by kind of day."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from math import lcm
from typing import Literal

import numpy as np
import numpy.typing as npt

from engiagent.models.ranges import ParameterError
from engiagent.models.tariffs.times import DAY, Ints, MeterTimes

Rows = tuple[tuple[int, ...], ...]
DayKind = Literal["weekday", "weekend", "every day"]


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A window that belongs to a period; of rules that overlap the last one holds.

    Attributes
    ----------
    period
        Number of the period. At least 0.
    months
        Months in which it holds, 1 to 12.
    start_hour, end_hour
        From when until when, in hours of the wall clock in quarters; over midnight when the end is
        not after the start. 0 to 24. [h]
    days
        ``weekday``, ``weekend`` or ``every day``.
    """

    period: int
    months: Iterable[int] = range(1, 13)
    start_hour: float = 0.0
    end_hour: float = 24.0
    days: DayKind = "every day"

    def __post_init__(self) -> None:
        # An iterator would be empty when the rule is used again.
        object.__setattr__(self, "months", tuple(self.months))


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """Period numbers by month (12 rows) and part of the day, for weekdays and for weekends.

    Attributes
    ----------
    weekday, weekend
        12 rows from January on, each with 24 numbers, or 48 or 96 where a window does not start
        on the hour. Numbers at least 0.
    weekend_days
        Days that follow ``weekend``, Monday 0 to Sunday 6.
    holidays
        Dates that follow ``weekend`` as well.

    Examples
    --------
    >>> peak = Rule(period=1, months=(6, 7, 8), start_hour=16, end_hour=21, days="weekday")
    >>> schedule = Schedule.of(peak)
    >>> schedule.weekday[6][14:22], schedule.weekend[6][16], schedule.periods
    ((0, 0, 1, 1, 1, 1, 1, 0), 0, 2)
    """

    weekday: Rows
    weekend: Rows
    weekend_days: tuple[int, ...] = (5, 6)
    holidays: tuple[date, ...] = ()

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
    def of(*rules: Rule, default: int = 0, holidays: Iterable[date] = ()) -> "Schedule":
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
        return Schedule(weekday=weekday, weekend=weekend, holidays=tuple(holidays))

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
        return np.asarray(np.where(self.is_weekend(times), weekend, weekday), dtype=np.int64)

    def is_weekend(self, times: MeterTimes) -> npt.NDArray[np.bool_]:
        """Return which periods start on a weekend or a holiday, shape (N,)."""
        free = np.isin(times.weekday, self.weekend_days)
        if self.holidays:
            free = free | np.isin(times.date, np.array(self.holidays, dtype="datetime64[D]"))
        return np.asarray(free)


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
