r"""Combined heat and power: engines by part load, extraction-condensing turbines by their polygon.

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
    within,
)


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
