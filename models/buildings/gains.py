"""Internal gains: people by activity, devices and lights, each with a profile of the week.

Sources: ASHRAE Handbook Fundamentals 2017, chapter 18, table 1 (heat of people at 24 degC);
ISO 52016-1:2017, table B.11 (0.4 of the sensible gains convective) for the use of the results.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import gcd
from typing import Any

import numpy as np

from engiagent.models.parameters import within
from engiagent.models.ranges import Floats, ParameterError

#: Sensible and latent heat of one person by activity. [W]
ACTIVITIES: Mapping[str, tuple[float, float]] = {
    "seated at theatre": (70.0, 35.0),
    "seated, very light work": (70.0, 45.0),
    "moderately active office work": (75.0, 55.0),
    "standing, light work": (75.0, 55.0),
    "walking, standing": (75.0, 70.0),
    "sedentary work": (80.0, 80.0),
    "light bench work": (80.0, 140.0),
    "moderate dancing": (90.0, 160.0),
    "walking 4.8 km/h, light machine work": (110.0, 185.0),
    "bowling": (170.0, 255.0),
    "heavy work": (170.0, 255.0),
    "heavy machine work, lifting": (185.0, 285.0),
    "athletics": (210.0, 315.0),
}
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


@dataclass(frozen=True)
class Gains:
    """Internal gains of N periods, each of shape (N,).

    Attributes
    ----------
    sensible
        Heat of people, devices and lights. [kW]
    latent
        Heat in the vapour of people. [kW]
    people
        Mean number. [-]
    electric_power
        Of devices and lights. [kW]
    """

    sensible: Floats
    latent: Floats
    people: Floats
    electric_power: Floats


@dataclass(frozen=True, kw_only=True)
class Use:
    """How a zone is used.

    Attributes
    ----------
    occupants
        Number at a share of 1. At least 0.
    activity
        A name of :data:`ACTIVITIES`, or sensible and latent heat of one person. [W]
    equipment_power, lighting_power
        Electric power at a share of 1. At least 0. [kW]
    equipment_heat, lighting_heat
        Shares of that power that become heat in the zone, 0 to 1. [-]
    occupancy, equipment, lighting
        Profiles.

    Examples
    --------
    >>> import pandas as pd
    >>> always = WeekProfile(weekday=(1.0,))
    >>> use = Use(occupants=10, activity="seated, very light work", equipment_power=1.5,
    ...           occupancy=always, equipment=always)
    >>> gains = use.gains(pd.date_range("2026-01-01", periods=2, freq="h"), 1.0)
    >>> gains.sensible.tolist(), gains.latent.round(9).tolist()
    ([2.2, 2.2], [0.45, 0.45])
    """

    occupants: float = 0.0
    activity: str | tuple[float, float] = "moderately active office work"
    equipment_power: float = 0.0
    lighting_power: float = 0.0
    equipment_heat: float = 1.0
    lighting_heat: float = 1.0
    occupancy: WeekProfile | None = None
    equipment: WeekProfile | None = None
    lighting: WeekProfile | None = None

    def __post_init__(self) -> None:
        within(self.occupants, "the number of occupants", "-", low=0.0)
        within(self.equipment_power, "the power of equipment", "kW", low=0.0)
        within(self.lighting_power, "the power of lighting", "kW", low=0.0)
        within(self.equipment_heat, "the heat of equipment", "-", low=0.0, high=1.0)
        within(self.lighting_heat, "the heat of lighting", "-", low=0.0, high=1.0)
        within(self.person, "the heat of a person", "W", low=0.0)
        for amount, profile, what in (
            (self.occupants, self.occupancy, "occupancy"),
            (self.equipment_power, self.equipment, "equipment"),
            (self.lighting_power, self.lighting, "lighting"),
        ):
            if amount > 0 and profile is None:
                raise ParameterError(f"the profile of {what} is missing; give a WeekProfile")

    @property
    def person(self) -> tuple[float, float]:
        """Sensible and latent heat of one. [W]."""
        if not isinstance(self.activity, str):
            return self.activity
        if self.activity not in ACTIVITIES:
            known = "; ".join(ACTIVITIES)
            raise ParameterError(f"the activity is {self.activity!r}; known: {known}")
        return ACTIVITIES[self.activity]

    def gains(self, starts: Any, step_hours: float) -> Gains:
        """Return the gains of the periods; arguments as of :meth:`WeekProfile.shares`."""

        def series(amount: float, profile: WeekProfile | None) -> Floats:
            if profile is None:
                return np.zeros(len(starts))
            return amount * profile.shares(starts, step_hours)

        people = series(self.occupants, self.occupancy)
        devices = series(self.equipment_power, self.equipment)
        lights = series(self.lighting_power, self.lighting)
        sensible, latent = (heat / 1000.0 for heat in self.person)
        heat = self.equipment_heat * devices + self.lighting_heat * lights
        return Gains(people * sensible + heat, people * latent, people, devices + lights)
