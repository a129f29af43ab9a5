r"""A generating set: fuel by power, starts, minimum load, ramps, times up and down, emissions.

.. math:: \dot F = \left(f_0 + f_1 P + f_2 P^2\right) u, \qquad
          F_n = \dot F_n h + s \, [u_n = 1, u_{n-1} = 0]

with the power :math:`P` [kW], the state :math:`u` (1 when it runs) and the fuel of a start
:math:`s`. Fuel is counted in whatever unit the heating value names (litre, m³, kg or kWh).

Source: L. L. Garver, "Power generation scheduling by integer programming", AIEE Trans. 81 (1962)
730–735, for the states; the fuel curve is affine in HOMER and quadratic in textbooks of dispatch
(A. J. Wood and B. F. Wollenberg, Power Generation, Operation, and Control, section 2.1).
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engiagent.models.ranges import (
    Floats,
    ParameterError,
    compatible,
    hours_of_steps,
    numbers,
    over_time,
    units,
    within,
)

Booleans = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class GensetState:
    """State at an instant; numbers or arrays of shape (units,)."""

    running: npt.ArrayLike = False  # whether it ran in the period before
    power: npt.ArrayLike = 0.0  # its power in the period before. [kW]
    # how long it has been running, or standing; infinite when that is long enough. [h]
    hours: npt.ArrayLike = float("inf")


@dataclass(frozen=True, kw_only=True)
class GensetPath:
    """What a horizon did, shape (N,) or (N, units); a start belongs to its first period."""

    fuel: Floats  # fuel of each period, starts included. [fuel unit]
    emissions: Floats  # carbon dioxide. [kg]
    energy: Floats  # [kWh]
    starts: Booleans  # whether the period begins with a start
    hours: Floats  # how long the set has been running, or standing, at the N+1 instants. [h]


@dataclass(frozen=True, kw_only=True)
class GensetExcess:
    """By how much a plan leaves the limits, shape (N,) or (N, units); 0 where it keeps them."""

    # below_minimum, above_rated: power below the minimum load while running, above the rating. [kW]
    below_minimum: Floats
    above_rated: Floats
    while_standing: Floats  # power of a set that does not run. [kW]
    ramp: Floats  # change of power beyond the ramp, starts and stops apart from it. [kW]
    too_short: Floats  # hours by which a run or a stand that ends here was too short. [h]


@dataclass(frozen=True, kw_only=True)
class Genset:
    """A generating set; numbers or arrays over units.

    Attributes
    ----------
    rated_power
        Above 0. [kW]
    fuel_no_load, fuel_slope, fuel_quadratic
        :math:`f_0` [unit/h], :math:`f_1` [unit/kWh] and :math:`f_2` [unit/(kW² h)]; the curve must
        not fall up to the rated power. The first and the last at least 0.
    heating_value
        Lower heating value, 9.96 for a litre of diesel. Above 0. [kWh/unit]
    minimum_load
        Least power while running over the rated power. 0 to 1. [-]
    start_fuel
        :math:`s`. At least 0. [unit]
    ramp_up, ramp_down
        Greatest change of power while it runs; infinite when there is no limit. Above 0. [kW/h]
    minimum_up_hours, minimum_down_hours
        At least 0. [h]
    emission_factor
        Carbon dioxide of the fuel, 2.64 for a litre of diesel. At least 0. [kg/unit]

    Examples
    --------
    >>> genset = Genset(rated_power=100.0, fuel_no_load=4.0, fuel_slope=0.24, heating_value=9.96)
    >>> genset.fuel_rate([0.0, 50.0, 100.0], True).tolist()
    [4.0, 16.0, 28.0]
    """

    rated_power: npt.ArrayLike
    fuel_slope: npt.ArrayLike
    fuel_no_load: npt.ArrayLike = 0.0
    fuel_quadratic: npt.ArrayLike = 0.0
    heating_value: npt.ArrayLike = 1.0
    minimum_load: npt.ArrayLike = 0.0
    start_fuel: npt.ArrayLike = 0.0
    ramp_up: npt.ArrayLike = float("inf")
    ramp_down: npt.ArrayLike = float("inf")
    minimum_up_hours: npt.ArrayLike = 0.0
    minimum_down_hours: npt.ArrayLike = 0.0
    emission_factor: npt.ArrayLike = 0.0

    def __post_init__(self) -> None:
        rated = within(self.rated_power, "the rated power", "kW", low=0.0, above=True)
        slope = within(self.fuel_slope, "the fuel slope", "unit/kWh", low=0.0)
        none = within(self.fuel_no_load, "the fuel without load", "unit/h", low=0.0)
        square = within(self.fuel_quadratic, "the quadratic fuel", "unit/(kW² h)", low=0.0)
        value = within(self.heating_value, "the heating value", "kWh/unit", low=0.0, above=True)
        units(self)
        best = (none / rated + slope + square * rated) * value
        least = (slope + 2.0 * np.sqrt(square * none)) * value
        at_best = np.where(square * rated**2 > none, least, best)
        if not (at_best >= 1.0).all():
            raise ParameterError(
                f"the fuel curve gives an efficiency of {1.0 / float(at_best.min()):.3g}, which is "
                "above 1; mind the units of fuel and heating value"
            )
        within(self.minimum_load, "the minimum load", "-", low=0.0, high=1.0)
        within(self.start_fuel, "the fuel of a start", "unit", low=0.0)
        for ramp in (self.ramp_up, self.ramp_down):
            within(ramp, "a ramp", "kW/h", low=0.0, above=True, finite=False)
        for hours in (self.minimum_up_hours, self.minimum_down_hours):
            within(hours, "a minimum time", "h", low=0.0)
        within(self.emission_factor, "the emission factor", "kg/unit", low=0.0)

    def fuel_rate(self, power: npt.ArrayLike, running: npt.ArrayLike) -> Floats:
        """Return the fuel per hour, starts apart from it; 0 while the set stands. [unit/h].

        ``power``: at least 0, of any shape that broadcasts with the units. [kW] ``running``:
        whether it runs.
        """
        at = within(power, "the power", "kW", low=0.0)
        units(self, power=at, running=running)
        none, slope, square = (
            np.asarray(value, dtype=np.float64)
            for value in (self.fuel_no_load, self.fuel_slope, self.fuel_quadratic)
        )
        return np.where(np.asarray(running, dtype=bool), none + slope * at + square * at**2, 0.0)

    def simulate(
        self,
        power: npt.ArrayLike,
        running: npt.ArrayLike,
        step_hours: npt.ArrayLike,
        initial: GensetState | None = None,
    ) -> GensetPath:
        """Return fuel, emissions and starts of a plan; limits are not enforced, see :meth:`excess`.

        ``power``: mean power, shape (N,) or (N, units). At least 0. [kW] ``running``: whether it
        runs, shape as above; powers above 0 of a standing set burn nothing here and are an excess.
        ``step_hours``: length of each period. [h] ``initial``: state at the first instant; long at
        rest when None.
        """
        before = initial or GensetState()
        output, on, hours = self._series(power, running, step_hours)
        was = np.concatenate((_first(before.running, output).astype(bool), on[:-1]))
        starts = on & ~was
        fuel = self.fuel_rate(output, on) * hours + np.asarray(self.start_fuel) * starts
        return GensetPath(
            fuel=fuel,
            emissions=fuel * np.asarray(self.emission_factor),
            energy=np.where(on, output, 0.0) * hours,
            starts=starts,
            hours=_hours_in_state(on, hours, _first(before.running, output), before.hours),
        )

    def excess(
        self,
        power: npt.ArrayLike,
        running: npt.ArrayLike,
        step_hours: npt.ArrayLike,
        initial: GensetState | None = None,
    ) -> GensetExcess:
        """Return by how much a plan leaves the limits; arguments as in :meth:`simulate`.

        The ramp holds between two periods that both run, over the time between their middles.
        """
        before = initial or GensetState()
        output, on, hours = self._series(power, running, step_hours)
        first = _first(before.running, output).astype(bool)
        was = np.concatenate((first, on[:-1]))
        previous = np.concatenate((_first(before.power, output), output[:-1]))
        rated = np.asarray(self.rated_power, dtype=np.float64)
        between = 0.5 * (hours + np.concatenate((hours[:1], hours[:-1])))
        change = np.where(on & was, output - previous, 0.0)
        over = np.maximum(
            change - np.asarray(self.ramp_up) * between,
            -change - np.asarray(self.ramp_down) * between,
        )
        lasted = _hours_in_state(on, hours, first, before.hours)[:-1]
        needed = np.where(was, np.asarray(self.minimum_up_hours), self.minimum_down_hours)
        # Sums of steps miss a time that is a whole number of them by rounding.
        short = np.where(on != was, needed - lasted, 0.0)
        return GensetExcess(
            below_minimum=np.where(
                on, np.maximum(np.asarray(self.minimum_load) * rated - output, 0.0), 0.0
            ),
            above_rated=np.maximum(output - rated, 0.0),
            while_standing=np.where(on, 0.0, output),
            ramp=np.maximum(over, 0.0),
            too_short=np.where(short > 1e-9 * np.maximum(needed, 1.0), short, 0.0),
        )

    def _series(
        self, power: npt.ArrayLike, running: npt.ArrayLike, step_hours: npt.ArrayLike
    ) -> tuple[Floats, Booleans, Floats]:
        shape = np.shape(power)
        if len(shape) not in (1, 2) or np.shape(running) not in (shape, ()):
            raise ParameterError(
                f"power has the shape {shape} and running {np.shape(running)}; give both the shape "
                "(N,) or (N, units)"
            )
        if units(self, units=np.empty(shape[1:])) != shape[1:]:
            raise ParameterError(
                f"power has the shape {shape} and the sets {units(self)}; give a column for each"
            )
        output = within(power, "the power", "kW", low=0.0)
        state = numbers(running, "the state")
        if not np.isin(state, (0.0, 1.0)).all():
            raise ParameterError("the state of a set is neither 0 nor 1; give whether it runs")
        on = np.broadcast_to(state == 1.0, shape)
        return over_time(output, shape, "the power"), on, hours_of_steps(step_hours, shape)


def _first(value: npt.ArrayLike, like: Floats) -> Floats:
    compatible(initial_state=value, units=like[0] if len(like) else 0.0)
    return np.broadcast_to(np.asarray(value, dtype=np.float64), like.shape[1:])[None]


def _hours_in_state(
    on: Booleans, hours: Floats, first: npt.NDArray[np.generic], lasted: npt.ArrayLike
) -> Floats:
    """Return how long the state has lasted at the N+1 instants, without a loop over time."""
    before = np.concatenate((first.astype(bool), on))
    total = np.concatenate((np.zeros_like(hours[:1]), np.cumsum(hours, axis=0)))
    place = np.arange(len(on)).reshape(-1, *(1,) * (on.ndim - 1))
    changed = before[1:] != before[:-1]
    last = np.maximum.accumulate(np.where(changed, place, -1), axis=0)
    since = np.take_along_axis(total, np.maximum(last, 0), axis=0)
    start = np.broadcast_to(np.asarray(lasted, dtype=np.float64), hours.shape[1:])
    spent = np.where(last < 0, total[1:] + start, total[1:] - since)
    return np.concatenate((start[None], spent))
