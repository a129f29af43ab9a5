"""Profiles of the week, as of people, devices and lights."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import gcd
from typing import Any

import numpy as np

from engiagent.models.parameters import within
from engiagent.models.ranges import Floats, ParameterError

DAY = 86_400  # s


@dataclass(frozen=True, kw_only=True)
class WeekProfile:
    """Shares by time of the day on weekdays, Saturdays, Sundays and special days.

    Attributes
    ----------
    weekday, saturday, sunday
        Shares of at least 0, for equal parts of a day: 24 for hours, 48 for half hours; a single
        number for all day. Saturdays are as Sundays, and these as weekdays, when None.
    special
        Shares of single dates by ``YYYY-MM-DD``, as holidays.

    Examples
    --------
    >>> import pandas as pd
    >>> office = WeekProfile(weekday=(0.0,) * 8 + (1.0,) * 10 + (0.0,) * 6, sunday=(0.0,))
    >>> friday = pd.date_range("2026-03-27 16:30", periods=3, freq="h", tz="Europe/Berlin")
    >>> office.shares(friday, 1.0).tolist()
    [1.0, 0.5, 0.0]
    """

    weekday: tuple[float, ...]
    saturday: tuple[float, ...] | None = None
    sunday: tuple[float, ...] | None = None
    special: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for what, day in (
            ("weekday", self.weekday),
            ("Saturday", self.saturday),
            ("Sunday", self.sunday),
            *self.special.items(),
        ):
            if day is None:
                continue
            within(day, f"a share on {what}", "-", low=0.0)
            if not day or DAY % len(day):
                raise ParameterError(
                    f"the profile of {what} has {len(day)} shares; give a number that parts a day "
                    "into whole seconds, as 24"
                )

    def shares(self, starts: Any, step_hours: float) -> Floats:
        """Return the mean share of each period, exactly, by the clock on the wall, shape (N,).

        Parameters
        ----------
        starts
            Beginnings of the periods; zone-aware times count in their zone, so that days of 23 and
            25 hours are right.
        step_hours
            Length of the periods, a whole number of seconds. [h]
        """
        import pandas as pd

        index = pd.DatetimeIndex(starts)
        length = round(step_hours * 3600.0)
        if length <= 0 or abs(length - step_hours * 3600.0) > 1e-6:
            raise ParameterError(f"the step is {step_hours} h; give a whole number of seconds")
        tick = self._tick(index, length)
        count = length // tick
        table = self._table(tick)
        total = np.zeros(len(index))
        for number in range(count):
            at = index + pd.Timedelta(seconds=number * tick)
            slot = (at.hour * 3600 + at.minute * 60 + at.second).to_numpy() // tick
            kind = np.maximum(at.day_of_week.to_numpy() - 4, 0)
            for place, date in enumerate(self.special, 3):
                kind[at.strftime("%Y-%m-%d").to_numpy() == date] = place
            total += table[kind, slot]
        return np.asarray(total / count)

    def _tick(self, index: Any, length: int) -> int:
        """Return the longest part of time [s] that meets all edges of profiles and periods."""
        if (index.nanosecond != 0).any() or (index.microsecond != 0).any():
            raise ParameterError("a period does not begin at a whole second; round the times")
        tick = gcd(length, 900)  # clocks change by whole quarters of an hour
        for day in self._days():
            tick = gcd(tick, DAY // len(day))
        seconds = np.unique((index.minute * 60 + index.second).to_numpy())
        return int(np.gcd.reduce([tick, *map(int, seconds)]))

    def _days(self) -> list[tuple[float, ...]]:
        sunday = self.weekday if self.sunday is None else self.sunday
        saturday = sunday if self.saturday is None else self.saturday
        return [self.weekday, saturday, sunday, *self.special.values()]

    def _table(self, tick: int) -> Floats:
        """Return the shares by kind of day and part of the day."""
        slots = DAY // tick
        return np.stack(
            [np.repeat(np.array(d, dtype=float), slots // len(d)) for d in self._days()]
        )
