r"""A heat pump for heating: performance by source and sink, part load after EN 14825.

Above its least output the compressor follows the load,

.. math:: P = \frac{\dot Q}{\mathrm{COP}(T_q, T_s)\, f(\mathrm{PLR})}.

Below, it cycles at that output with the capacity ratio :math:`r = \dot Q / \dot Q_{min}`, and the
coefficient of performance falls by the factor

.. math::
    \text{air to air: } 1 - C_d (1 - r), \qquad
    \text{to water: } \frac{r}{C_c\, r + 1 - C_c}

with :math:`C_d = 0.25` and :math:`C_c = 0.9` where nothing was measured.

The Carnot model takes a constant fraction of the reversible machine between the temperatures of
condensation and evaporation.

Source: EN 14825:2018, clause on degradation by cycling, for both factors; for the fraction of
Carnot: M. J. Moran et al., Fundamentals of Engineering Thermodynamics, chapter 10; M. Wetter,
Buildings library, Fluid.HeatPumps.Carnot_TCon.
"""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from engiagent.models.hvac.curves import Mask, Polynomial, Surface
from engiagent.models.hvac.moist_air import ZERO_CELSIUS
from engiagent.models.hvac.roots import bracketed_root
from engiagent.models.ranges import Floats, ParameterError, numbers, within


@dataclass(frozen=True, kw_only=True)
class CarnotCop:
    r"""A coefficient of performance as a fraction of Carnot's.

    .. math:: \mathrm{COP} = \eta \frac{T_c}{T_c - T_e}, \quad
              T_c = T_{sink} + \Delta_s, \; T_e = T_{source} - \Delta_q

    in kelvin, with :math:`T_e` above the bar for cooling.

    Attributes
    ----------
    fraction
        Of the reversible machine. Above 0, at most 1; 0.35 to 0.6 is usual. [-]
    sink_approach, source_approach
        Between the refrigerant and sink or source. At least 0. [K]
    minimum_lift
        A smaller difference between condensation and evaporation counts as this one, because
        no compressor runs without a pressure ratio. Above 0. [K]
    duty
        Whether ``heating`` (at the sink) or ``cooling`` (at the source) is the use.

    Examples
    --------
    >>> model = CarnotCop(fraction=0.45, sink_approach=5.0, source_approach=5.0)
    >>> round(float(model.at(2.0, 35.0)), 4)
    3.2772
    """

    fraction: npt.ArrayLike
    sink_approach: npt.ArrayLike = 0.0
    source_approach: npt.ArrayLike = 0.0
    minimum_lift: npt.ArrayLike = 10.0
    duty: Literal["heating", "cooling"] = "heating"

    def __post_init__(self) -> None:
        within(self.fraction, "the fraction of Carnot", "-", low=0.0, high=1.0, above=True)
        within(self.sink_approach, "the approach at the sink", "K", low=0.0)
        within(self.source_approach, "the approach at the source", "K", low=0.0)
        within(self.minimum_lift, "the least lift", "K", low=0.0, above=True)
        if self.duty not in ("heating", "cooling"):
            raise ParameterError(f"the duty is {self.duty!r}; give 'heating' or 'cooling'")

    def lift(self, source: npt.ArrayLike, sink: npt.ArrayLike) -> Floats:
        """Return condensation less evaporation, for source and sink in degC. [K]."""
        warm, cold = self._refrigerant(source, sink)
        return np.asarray(warm - cold)

    def at(self, source: npt.ArrayLike, sink: npt.ArrayLike) -> Floats:
        """Return the coefficient of performance for source and sink in degC. [-]."""
        warm, cold = self._refrigerant(source, sink)
        lift = np.maximum(warm - cold, np.asarray(self.minimum_lift))
        useful = warm if self.duty == "heating" else cold
        return np.asarray(np.asarray(self.fraction) * useful / lift)

    def valid(self, source: npt.ArrayLike, sink: npt.ArrayLike) -> Mask:
        """Return where the lift is at least the least one."""
        return np.asarray(self.lift(source, sink) >= np.asarray(self.minimum_lift))

    def _refrigerant(self, source: npt.ArrayLike, sink: npt.ArrayLike) -> tuple[Floats, Floats]:
        warm = within(sink, "the sink", "degC", low=-ZERO_CELSIUS, above=True)
        cold = within(source, "the source", "degC", low=-ZERO_CELSIUS, above=True)
        return (
            np.asarray(warm + ZERO_CELSIUS + np.asarray(self.sink_approach)),
            np.asarray(cold + ZERO_CELSIUS - np.asarray(self.source_approach)),
        )


@dataclass(frozen=True, kw_only=True)
class Cycling:
    """How the coefficient of performance falls while a machine cycles.

    Attributes
    ----------
    sink
        ``water`` or ``air``: the two formulas of EN 14825.
    coefficient
        :math:`C_c` or :math:`C_d`, 0 to 1; 0.9 and 0.25 when None. [-]

    Examples
    --------
    >>> [round(float(Cycling(sink=s).factor(0.5)), 4) for s in ("water", "air")]
    [0.9091, 0.875]
    """

    sink: Literal["water", "air"] = "water"
    coefficient: float | None = None

    def __post_init__(self) -> None:
        if self.sink not in ("water", "air"):
            raise ParameterError(f"the sink is {self.sink!r}; give 'water' or 'air'")
        within(self._value, "the coefficient of cycling", "-", low=0.0, high=1.0)

    @property
    def _value(self) -> float:
        if self.coefficient is not None:
            return self.coefficient
        return 0.9 if self.sink == "water" else 0.25

    def factor(self, capacity_ratio: npt.ArrayLike) -> Floats:
        """Return the factor on the coefficient of performance for a capacity ratio of 0 to 1."""
        ratio = within(capacity_ratio, "the capacity ratio", "-", low=0.0, high=1.0)
        if self.sink == "air":
            return np.asarray(1.0 - self._value * (1.0 - ratio))
        below = self._value * ratio + 1.0 - self._value
        return np.asarray(np.where(below > 0, ratio / np.where(below > 0, below, 1.0), 1.0))


@dataclass(frozen=True, kw_only=True)
class HeatPumpOperation:
    """What a heat pump does for a load; power and source heat are heat and loss."""

    # heat, unmet: heat into the sink, and what of the load is above the capacity. [kW]
    heat: Floats
    unmet: Floats
    power: Floats  # electric power. [kW]
    source_heat: Floats  # heat taken from the source. [kW]
    loss: Floats  # power of cycling and standby that heats nothing. [kW]
    cop: Floats  # heat over power; 0 where nothing is delivered. [-]
    part_load_ratio: Floats  # heat over capacity. [-]


@dataclass(frozen=True, kw_only=True)
class HeatPump:
    """A heat pump by maps of capacity and performance; rated numbers may be arrays over units.

    Examples
    --------
    >>> pump = HeatPump(rated_capacity=10.0, cop_map=CarnotCop(fraction=0.5), minimum_part_load=1.0)
    >>> done = pump.operate([10.0, 5.0], source=0.0, sink=35.0)
    >>> done.cop.round(4).tolist()
    [4.4021, 4.0019]
    """

    rated_capacity: npt.ArrayLike  # times the capacity map. Above 0. [kW]
    # coefficient of performance at full load by source (x) and sink (y) in degC: ``CarnotCop`` or
    # ``Biquadratic``. [-]
    cop_map: Surface
    # times the map of performance; 1 where the map is absolute. Above 0. [-]
    rated_cop: npt.ArrayLike = 1.0
    # factor on the rated capacity, as above; None when the capacity is constant
    capacity_map: Surface | None = None
    # factor on the performance by part-load ratio, 1 for a machine that loses nothing
    modulation: Polynomial = field(default=Polynomial((1.0,)))
    # below it the machine cycles: 1 for one of fixed speed. 0 to 1. [-]
    minimum_part_load: npt.ArrayLike = 0.0
    cycling: Cycling = field(default=Cycling())  # how much that costs
    standby_power: npt.ArrayLike = 0.0  # drawn while the machine is on or off. At least 0. [kW]

    def __post_init__(self) -> None:
        within(self.rated_capacity, "the rated capacity", "kW", low=0.0, above=True)
        within(self.rated_cop, "the rated COP", "-", low=0.0, above=True)
        within(self.minimum_part_load, "the minimum part load", "-", low=0.0, high=1.0)
        within(self.standby_power, "the standby power", "kW", low=0.0)

    def capacity(self, source: npt.ArrayLike, sink: npt.ArrayLike) -> Floats:
        """Return the capacity. [kW]."""
        available = np.asarray(self.rated_capacity, dtype=np.float64)
        available = (
            available + 0.0 * numbers(source, "the source") + 0.0 * numbers(sink, "the sink")
        )
        if self.capacity_map is not None:
            available = available * self.capacity_map.at(source, sink)
        return within(available, "the capacity by its map", "kW", low=0.0, above=True)

    def full_load_cop(self, source: npt.ArrayLike, sink: npt.ArrayLike) -> Floats:
        """Return the coefficient of performance at full load. [-]."""
        value = np.asarray(self.rated_cop) * self.cop_map.at(source, sink)
        return within(value, "the COP by its map", "-", low=0.0, above=True)

    def operate(
        self, load: npt.ArrayLike, *, source: npt.ArrayLike, sink: npt.ArrayLike
    ) -> HeatPumpOperation:
        """Return what the heat pump does for a load at these temperatures.

        A load above the capacity is served as far as that goes; the rest is ``unmet``.

        ``load``: heat that is asked for. At least 0. [kW] ``source``, ``sink``: as the maps mean
        them (outdoor air or brine; water as it leaves). [degC]
        """
        wanted = within(load, "the heating load", "kW", low=0.0)
        available = self.capacity(source, sink)
        heat = np.minimum(wanted, available)
        ratio = heat / available
        least = np.asarray(self.minimum_part_load, dtype=np.float64)
        cycles = (ratio < least) & (heat > 0)
        running = np.where(cycles, least, ratio)
        inner = self.full_load_cop(source, sink) * within(
            self.modulation.at(running), "the factor of modulation", "-", low=0.0, above=True
        )
        share = np.where(cycles, ratio / np.where(least > 0, least, 1.0), 1.0)
        degraded = np.where(cycles, self.cycling.factor(share), 1.0)
        compressor = heat / inner
        standby = np.asarray(self.standby_power, dtype=np.float64)
        power = compressor / np.where(degraded > 0, degraded, 1.0) + standby
        return HeatPumpOperation(
            heat=np.asarray(heat + 0.0 * power),
            unmet=np.asarray(wanted - heat + 0.0 * power),
            power=np.asarray(power),
            source_heat=np.asarray(heat - compressor + 0.0 * power),
            loss=np.asarray(power - compressor),
            cop=np.asarray(heat / np.where(power > 0, power, 1.0)),
            part_load_ratio=np.asarray(ratio + 0.0 * power),
        )

    def heat(self, power: npt.ArrayLike, *, source: npt.ArrayLike, sink: npt.ArrayLike) -> Floats:
        """Return the heat that an electric power gives: the inverse of :meth:`operate`. [kW].

        A power too small to make a cycling machine heat at all gives 0.
        """
        given = within(power, "the power", "kW", low=0.0)

        def excess(load: Floats) -> Floats:
            return self.operate(load, source=source, sink=sink).power - given

        most = self.capacity(source, sink) + 0.0 * given
        return bracketed_root(excess, 0.0, most, "the heat of this power")
