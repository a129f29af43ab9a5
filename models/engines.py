r"""Engines that burn fuel: generating sets, and machines that give heat with their power.

A generating set: fuel by power, ramps, least times up and down.

.. math:: \dot F = \left(f_0 + f_1 P + f_2 P^2\right) u, \qquad
          F_n = \dot F_n h + s \, [u_n = 1, u_{n-1} = 0]

with the power :math:`P` [kW], the state :math:`u` (1 when it runs) and the fuel of a start
:math:`s`. Fuel is counted in whatever unit the heating value names (litre, m³, kg or kWh).

Source: L. L. Garver, "Power generation scheduling by integer programming", AIEE Trans. 81 (1962)
730–735, for the states; the fuel curve is affine in HOMER and quadratic in textbooks of dispatch
(A. J. Wood and B. F. Wollenberg, Power Generation, Operation, and Control, section 2.1).

Combined heat and power: engines by part load, extraction-condensing turbines by their polygon.

An engine or back-pressure unit that delivers :math:`P` at the load :math:`x = P / P_r` takes the
fuel :math:`P / \eta_{el}(x)` and gives the heat :math:`\dot Q = \dot F \eta_{th}(x)`.

An extraction-condensing turbine trades power for heat, with the power-loss coefficient
:math:`\beta`:

.. math::
   P_{cond} = P + \beta \dot Q, \qquad \dot F = a + b P_{cond} + c P_{cond}^2, \qquad
   P_{min} \le P + \beta \dot Q \le P_{max}, \qquad P \ge \sigma \dot Q + P_0, \qquad
   0 \le \dot Q \le \dot Q_{max}, \qquad P \ge 0

with the back-pressure line of slope :math:`\sigma` (power to heat).

Source: T. Savola and C.-J. Fogelholm, Energy Convers. Manage. 47 (2006) 1537–1551 and R. Lahdelma
and H. Hakonen, Eur. J. Oper. Res. 148 (2003) 141–151, for the operating region; E. Mollenhauer et
al., Energy 107 (2016) 402–411, doi:10.1016/j.energy.2016.01.004, for the loss of power.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engiagent.models.ranges import (
    Floats,
    ParameterError,
    increasing,
    not_negative,
    numbers,
    positive,
    share,
    steps,
    within,
)

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


@dataclass(frozen=True, kw_only=True)
class ChpOutput:
    """What an engine takes and gives beside its power."""

    fuel: Floats  # by the lower heating value. [kW]
    heat: Floats  # [kW]


@dataclass(frozen=True, kw_only=True)
class PartLoadChp:
    """An engine, a micro turbine or a back-pressure turbine: the power fixes the heat.

    Examples
    --------
    >>> chp = PartLoadChp(rated_power=100.0, load=(0.5, 1.0),
    ...                   electric_efficiency=(0.32, 0.36), thermal_efficiency=(0.55, 0.5))
    >>> output = chp.output([50.0, 100.0])
    >>> output.fuel.round(3).tolist(), output.heat.round(3).tolist()
    ([156.25, 277.778], [85.938, 138.889])
    """

    rated_power: float  # electric. Above 0. [kW]
    load: tuple[float, ...]  # rising loads from the minimum load to 1, at least one. Above 0. [-]
    # electric_efficiency, thermal_efficiency: at these loads, straight in between; their sum at
    # most 1. Above 0 and at least 0. [-]
    electric_efficiency: tuple[float, ...]
    thermal_efficiency: tuple[float, ...]

    def __post_init__(self) -> None:
        positive(self.rated_power, "the rated power", "kW")
        load = increasing(self.load, "the loads", least=1)
        within(load, "a load", "-", low=0.0, high=1.0, above=True)
        electric = positive(self.electric_efficiency, "an electric efficiency", "-")
        thermal = share(self.thermal_efficiency, "a thermal efficiency")
        if not len(load) == len(electric) == len(thermal):
            raise ParameterError(
                f"there are {len(load)} loads, {len(electric)} electric and {len(thermal)} thermal "
                "efficiencies; give one of each for each load"
            )
        within(electric + thermal, "the total efficiency", "-", high=1.0)
        if load[-1] != 1.0:
            raise ParameterError(f"the highest load is {load[-1]:g}; give efficiencies up to 1")
        fine = np.linspace(load[0], 1.0, 1001)
        fuel = fine / np.interp(fine, load, electric)
        if not (np.diff(fuel) > 0).all():
            raise ParameterError(
                "the fuel falls while the power rises; give electric efficiencies that rise less "
                "than the load"
            )

    @property
    def minimum_power(self) -> float:
        """Least power while it runs. [kW]."""
        return self.load[0] * self.rated_power

    def output(self, power: npt.ArrayLike) -> ChpOutput:
        """Return fuel and heat at electric powers [kW]; at none the unit stands and takes nothing.

        Beyond the minimum and the rated power the efficiencies of the nearest end hold.
        """
        at = not_negative(power, "the power", "kW")
        load = at / self.rated_power
        fuel = at / np.interp(load, self.load, self.electric_efficiency)
        heat = fuel * np.interp(load, self.load, self.thermal_efficiency)
        return ChpOutput(fuel=fuel, heat=heat)


@dataclass(frozen=True, kw_only=True)
class ExtractionChp:
    r"""An extraction-condensing turbine with boiler.

    Attributes
    ----------
    condensing_power_max, condensing_power_min
        :math:`P_{max}, P_{min}`, power without heat at full and at least fuel. Above 0 and at least
        0. [kW]
    power_loss
        :math:`\beta`, power given up for a unit of heat. 0 to below 1. [-]
    power_to_heat
        :math:`\sigma`, slope of the back-pressure line. At least 0. [-]
    back_pressure_offset
        :math:`P_0`, where that line meets no heat; may be below 0. [kW]
    heat_max
        :math:`\dot Q_{max}`; infinite when the other limits bound the heat. Above 0. [kW]
    fuel_no_load, fuel_slope, fuel_quadratic
        :math:`a` [kW], :math:`b` [-] and :math:`c` [1/kW] of the fuel by condensing power; more
        fuel than power and heat together everywhere in the region. At least 0, the slope above.

    Examples
    --------
    >>> chp = ExtractionChp(condensing_power_max=100.0, condensing_power_min=40.0, power_loss=0.15,
    ...                     power_to_heat=0.6, fuel_slope=2.5)
    >>> chp.polygon().round(3).tolist()
    [[0.0, 40.0], [53.333, 32.0], [133.333, 80.0], [0.0, 100.0]]
    >>> float(chp.fuel(85.0, 100.0)), round(float(chp.excess(50.0, 100.0).max()), 9)
    (250.0, 10.0)
    """

    condensing_power_max: float
    fuel_slope: float
    power_loss: float
    power_to_heat: float
    condensing_power_min: float = 0.0
    back_pressure_offset: float = 0.0
    heat_max: float = float("inf")
    fuel_no_load: float = 0.0
    fuel_quadratic: float = 0.0

    def __post_init__(self) -> None:
        top = float(positive(self.condensing_power_max, "the condensing power", "kW"))
        least = "the least condensing power"
        within(self.condensing_power_min, least, "kW", low=0.0, high=top)
        within(self.power_loss, "the power loss", "-", low=0.0, high=1.0, below=True)
        not_negative(self.power_to_heat, "the power to heat ratio", "-")
        within(self.back_pressure_offset, "the back-pressure offset", "kW", high=top)
        positive(self.heat_max, "the greatest heat", "kW", finite=False)
        not_negative(self.fuel_no_load, "the fuel without load", "kW")
        positive(self.fuel_slope, "the fuel slope", "-")
        not_negative(self.fuel_quadratic, "the quadratic fuel", "1/kW")
        if self.power_loss + self.power_to_heat == 0.0 and np.isinf(self.heat_max):
            raise ParameterError(
                "nothing bounds the heat: power loss and power to heat are 0; give heat_max in kW"
            )
        corners = self.polygon()
        made = corners.sum(axis=1)
        burnt = self.fuel(corners[:, 1], corners[:, 0])
        if not (burnt >= made * (1 - 1e-12)).all():
            worst = int(np.argmin(burnt - made))
            raise ParameterError(
                f"at {corners[worst, 0]:.4g} kW of heat and {corners[worst, 1]:.4g} kW of power "
                f"the fuel of {burnt[worst]:.4g} kW is less than both; raise the fuel slope or "
                "lower the heat"
            )

    def halfplanes(self) -> tuple[Floats, Floats]:
        """Return ``(A, b)`` with the operating region as ``A [heat, power] <= b``, rows in kW.

        The rows are most fuel, least fuel, back pressure, no negative heat, no negative power,
        and the greatest heat when it is finite.
        """
        rows = [
            (self.power_loss, 1.0, self.condensing_power_max),
            (-self.power_loss, -1.0, -self.condensing_power_min),
            (self.power_to_heat, -1.0, -self.back_pressure_offset),
            (-1.0, 0.0, 0.0),
            (0.0, -1.0, 0.0),
        ]
        if np.isfinite(self.heat_max):
            rows.append((1.0, 0.0, self.heat_max))
        table = np.array(rows)
        return table[:, :2], table[:, 2]

    def polygon(self) -> Floats:
        """Return the corners ``[heat, power]`` of the operating region, counter-clockwise. [kW].

        The first corner is that of no heat and least power.
        """
        matrix, limit = self.halfplanes()
        first, second = np.triu_indices(len(limit), 1)
        pairs = np.stack((matrix[first], matrix[second]), axis=1)
        solid = np.abs(np.linalg.det(pairs)) > 1e-12
        ends = np.stack((limit[first], limit[second]), axis=1)[solid]
        points = np.linalg.solve(pairs[solid], ends[:, :, None])[:, :, 0]
        scale = self.condensing_power_max
        inside = (points @ matrix.T <= limit + 1e-9 * scale).all(axis=1)
        # A corner where three lines meet comes three times.
        corners = np.unique(np.round(points[inside] / scale, 12), axis=0) * scale
        if not len(corners):
            raise ParameterError(
                "the limits of fuel, back pressure and heat leave no operating region; mind the "
                "back-pressure offset"
            )
        middle = corners.mean(axis=0)
        angle = np.arctan2(corners[:, 1] - middle[1], corners[:, 0] - middle[0])
        ordered = corners[np.argsort(angle)]
        start = np.lexsort((ordered[:, 1], ordered[:, 0]))[0]
        return np.asarray(np.roll(ordered, -int(start), axis=0)) + 0.0

    def fuel(self, power: npt.ArrayLike, heat: npt.ArrayLike) -> Floats:
        """Return the fuel of a running unit for power and heat, in its region or not. [kW]."""
        electric = not_negative(power, "the power", "kW")
        equivalent = electric + self.power_loss * not_negative(heat, "the heat", "kW")
        return np.asarray(
            self.fuel_no_load + self.fuel_slope * equivalent + self.fuel_quadratic * equivalent**2
        )

    def excess(self, power: npt.ArrayLike, heat: npt.ArrayLike) -> Floats:
        """Return by how much each row of :meth:`halfplanes` is left, shape (…, rows). [kW]."""
        matrix, limit = self.halfplanes()
        electric, thermal = np.broadcast_arrays(
            numbers(power, "the power"), numbers(heat, "the heat")
        )
        points = np.stack((thermal, electric), axis=-1)
        return np.maximum(points @ matrix.T - limit, 0.0)
