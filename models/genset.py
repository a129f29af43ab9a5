r"""A generating set: fuel by power, ramps, least times up and down.

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

from engiagent.models.ranges import Floats, ParameterError, not_negative, positive, share, steps

Booleans = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class GensetState:
    """State at an instant."""

    running: bool = False  # whether it ran in the period before
    power: float = 0.0  # its power in the period before. [kW]
    # how long it has been running, or standing; infinite when that is long enough. [h]
    hours: float = float("inf")


@dataclass(frozen=True, kw_only=True)
class GensetExcess:
    """By how much a plan leaves the limits in each period; 0 where it keeps them."""

    ramp: Floats  # change of power beyond the ramp, starts and stops apart from it. [kW]
    too_short: Floats  # hours by which a run or a stand that ends here was too short. [h]


@dataclass(frozen=True, kw_only=True)
class Genset:
    """A generating set.

    Attributes
    ----------
    rated_power
        Above 0. [kW]
    fuel_no_load, fuel_slope, fuel_quadratic
        :math:`f_0` [unit/h], :math:`f_1` [unit/kWh] and :math:`f_2` [unit/(kW² h)]. At least 0.
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

    Examples
    --------
    >>> genset = Genset(rated_power=100.0, fuel_no_load=4.0, fuel_slope=0.24, heating_value=9.96)
    >>> genset.fuel_rate([0.0, 50.0, 100.0], True).tolist()
    [4.0, 16.0, 28.0]
    """

    rated_power: float
    fuel_slope: float
    fuel_no_load: float = 0.0
    fuel_quadratic: float = 0.0
    heating_value: float = 1.0
    minimum_load: float = 0.0
    start_fuel: float = 0.0
    ramp_up: float = float("inf")
    ramp_down: float = float("inf")
    minimum_up_hours: float = 0.0
    minimum_down_hours: float = 0.0

    def __post_init__(self) -> None:
        rated = float(positive(self.rated_power, "the rated power", "kW"))
        slope = float(not_negative(self.fuel_slope, "the fuel slope", "unit/kWh"))
        none = float(not_negative(self.fuel_no_load, "the fuel without load", "unit/h"))
        square = float(not_negative(self.fuel_quadratic, "the quadratic fuel", "unit/(kW² h)"))
        value = float(positive(self.heating_value, "the heating value", "kWh/unit"))
        # The fuel of a kWh is least where no-load and quadratic fuel are alike, or at full load.
        bent = square * rated**2 > none
        least = 2.0 * np.sqrt(square * none) if bent else none / rated + square * rated
        if not (slope + least) * value >= 1.0:
            raise ParameterError(
                f"the fuel curve gives an efficiency of {1.0 / ((slope + least) * value):.3g}, "
                "which is above 1; mind the units of fuel and heating value"
            )
        share(self.minimum_load, "the minimum load")
        not_negative(self.start_fuel, "the fuel of a start", "unit")
        for ramp in (self.ramp_up, self.ramp_down):
            positive(ramp, "a ramp", "kW/h", finite=False)
        for hours in (self.minimum_up_hours, self.minimum_down_hours):
            not_negative(hours, "a minimum time", "h")

    def fuel_rate(self, power: npt.ArrayLike, running: npt.ArrayLike) -> Floats:
        """Return the fuel per hour, starts apart from it; 0 while the set stands. [unit/h].

        ``power``: at least 0. [kW] ``running``: whether it runs.
        """
        at = not_negative(power, "the power", "kW")
        burnt = self.fuel_no_load + self.fuel_slope * at + self.fuel_quadratic * at**2
        return np.where(np.asarray(running, dtype=bool), burnt, 0.0)

    def excess(
        self,
        power: npt.ArrayLike,
        running: npt.ArrayLike,
        step_hours: npt.ArrayLike,
        initial: GensetState | None = None,
    ) -> GensetExcess:
        """Return by how much a plan leaves ramps and least times.

        ``power``, ``running``: mean power [kW] and whether it runs, shape (N,). ``step_hours``:
        length of each period. [h] ``initial``: state at the first instant; long at rest when None.
        The ramp holds between two periods that both run, over the time between their middles.
        """
        before = initial or GensetState()
        output, on = not_negative(power, "the power", "kW"), np.asarray(running) > 0.5
        hours = steps(step_hours, len(output))
        was = np.concatenate(([before.running], on[:-1]))
        between = 0.5 * (hours + np.concatenate((hours[:1], hours[:-1])))
        rise = np.diff(output, prepend=before.power)
        over = np.maximum(rise - self.ramp_up * between, -rise - self.ramp_down * between)
        needed = np.where(was, self.minimum_up_hours, self.minimum_down_hours)
        short = needed - _lasted(on, was, hours, before.hours)
        # Sums of steps miss a time that is a whole number of them by rounding.
        ends = (on != was) & (short > 1e-9 * np.maximum(needed, 1.0))
        return GensetExcess(
            ramp=np.where(on & was, np.maximum(over, 0.0), 0.0),
            too_short=np.where(ends, short, 0.0),
        )


def _lasted(on: Booleans, was: Booleans, hours: Floats, before: float) -> Floats:
    """Return how long the state has lasted at the start of each period, without a loop over it."""
    starts = np.concatenate(([0.0], np.cumsum(hours)[:-1]))
    changed = np.where(on != was, np.arange(len(on)), -1)
    last = np.concatenate(([-1], np.maximum.accumulate(changed)[:-1]))
    return np.where(last < 0, starts + before, starts - starts[last])
