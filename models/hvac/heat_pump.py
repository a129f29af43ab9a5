r"""A heat pump for heating: performance by source and sink, part load after EN 14825.

Above its least output the compressor follows the load,

.. math:: P = \frac{\dot Q}{\mathrm{COP}(T_q, T_s)\, f(\mathrm{PLR})}.

Below, it cycles at that output with the capacity ratio :math:`r = \dot Q / \dot Q_{min}`, and the
coefficient of performance falls, for a machine that heats water, by the factor
:math:`r / (C_c\, r + 1 - C_c)` with :math:`C_c = 0.9` where nothing was measured.

The Carnot model takes a constant fraction of the reversible machine between the temperatures of
condensation and evaporation.

Source: EN 14825:2018, clause on degradation by cycling, for the factor; for the fraction of
Carnot: M. J. Moran et al., Fundamentals of Engineering Thermodynamics, chapter 10; M. Wetter,
Buildings library, Fluid.HeatPumps.Carnot_TCon.
"""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from engiagent.models.hvac.curves import Polynomial, Surface
from engiagent.models.ranges import (
    Floats,
    ParameterError,
    fraction,
    not_negative,
    numbers,
    positive,
    share,
    within,
)

ZERO_CELSIUS = 273.15  # [K]


@dataclass(frozen=True, kw_only=True)
class CarnotCop:
    r"""A coefficient of performance as a fraction of Carnot's.

    .. math:: \mathrm{COP} = \eta \frac{T_c}{T_c - T_e}, \quad
              T_c = T_{sink} + \Delta_s, \; T_e = T_{source} - \Delta_q

    in kelvin.

    Attributes
    ----------
    fraction
        Of the reversible machine. Above 0, at most 1; 0.35 to 0.6 is usual. [-]
    sink_approach, source_approach
        Between the refrigerant and sink or source. At least 0. [K]
    minimum_lift
        A smaller difference between condensation and evaporation counts as this one, because
        no compressor runs without a pressure ratio. Above 0. [K]

    Examples
    --------
    >>> model = CarnotCop(fraction=0.45, sink_approach=5.0, source_approach=5.0)
    >>> round(float(model.at(2.0, 35.0)), 4)
    3.2772
    """

    fraction: float
    sink_approach: float = 0.0
    source_approach: float = 0.0
    minimum_lift: float = 10.0

    def __post_init__(self) -> None:
        fraction(self.fraction, "the fraction of Carnot")
        not_negative(self.sink_approach, "the approach at the sink", "K")
        not_negative(self.source_approach, "the approach at the source", "K")
        positive(self.minimum_lift, "the least lift", "K")

    def at(self, source: npt.ArrayLike, sink: npt.ArrayLike) -> Floats:
        """Return the coefficient of performance for source and sink in degC. [-]."""
        warm = within(sink, "the sink", "degC", low=-ZERO_CELSIUS) + ZERO_CELSIUS
        cold = within(source, "the source", "degC", low=-ZERO_CELSIUS) + ZERO_CELSIUS
        warm, cold = warm + self.sink_approach, cold - self.source_approach
        return np.asarray(self.fraction * warm / np.maximum(warm - cold, self.minimum_lift))


@dataclass(frozen=True, kw_only=True)
class HeatPumpOperation:
    """What a heat pump does for a load; power and source heat are heat and loss."""

    # heat, unmet: heat into the sink, and what of the load is above the capacity. [kW]
    heat: Floats
    unmet: Floats
    power: Floats  # electric power. [kW]
    source_heat: Floats  # heat taken from the source. [kW]


@dataclass(frozen=True, kw_only=True)
class HeatPump:
    """A heat pump by maps of capacity and performance.

    Examples
    --------
    >>> pump = HeatPump(rated_capacity=10.0, cop_map=CarnotCop(fraction=0.5), minimum_part_load=1.0)
    >>> done = pump.operate([10.0, 5.0], source=0.0, sink=35.0)
    >>> (done.heat / done.power).round(4).tolist()
    [4.4021, 4.0019]
    """

    rated_capacity: float  # times the capacity map. Above 0. [kW]
    # coefficient of performance at full load by source (x) and sink (y) in degC: ``CarnotCop`` or
    # ``Biquadratic``. [-]
    cop_map: Surface
    # times the map of performance; 1 where the map is absolute. Above 0. [-]
    rated_cop: float = 1.0
    # factor on the rated capacity, as above; None when the capacity is constant
    capacity_map: Surface | None = None
    # factor on the performance by part-load ratio, 1 for a machine that loses nothing
    modulation: Polynomial = field(default=Polynomial((1.0,)))
    # below it the machine cycles: 1 for one of fixed speed. 0 to 1. [-]
    minimum_part_load: float = 0.0
    cycling: float = 0.9  # the coefficient of cycling. 0 to 1. [-]
    standby_power: float = 0.0  # drawn while the machine is on or off. At least 0. [kW]

    def __post_init__(self) -> None:
        positive(self.rated_capacity, "the rated capacity", "kW")
        positive(self.rated_cop, "the rated COP", "-")
        share(self.minimum_part_load, "the minimum part load")
        share(self.cycling, "the coefficient of cycling")
        not_negative(self.standby_power, "the standby power", "kW")

    def capacity(self, source: npt.ArrayLike, sink: npt.ArrayLike) -> Floats:
        """Return the capacity. [kW]."""
        rise = 0.0 * numbers(source, "the source") + 0.0 * numbers(sink, "the sink")
        available = self.rated_capacity + rise
        if self.capacity_map is not None:
            available = available * self.capacity_map.at(source, sink)
        return positive(available, "the capacity by its map", "kW")

    def full_load_cop(self, source: npt.ArrayLike, sink: npt.ArrayLike) -> Floats:
        """Return the coefficient of performance at full load. [-]."""
        return positive(self.rated_cop * self.cop_map.at(source, sink), "the COP by its map", "-")

    def operate(
        self, load: npt.ArrayLike, *, source: npt.ArrayLike, sink: npt.ArrayLike
    ) -> HeatPumpOperation:
        """Return what the heat pump does for a load at these temperatures.

        A load above the capacity is served as far as that goes; the rest is ``unmet``.

        ``load``: heat that is asked for. At least 0. [kW] ``source``, ``sink``: as the maps mean
        them (outdoor air or brine; water as it leaves). [degC]
        """
        wanted = not_negative(load, "the heating load", "kW")
        available = self.capacity(source, sink)
        heat = np.minimum(wanted, available)
        ratio, least = heat / available, self.minimum_part_load
        cycles = (ratio < least) & (heat > 0)
        part = self.modulation.at(np.where(cycles, least, ratio))
        inner = self.full_load_cop(source, sink) * positive(part, "the factor of modulation", "-")
        on = np.where(cycles, ratio / (least or 1.0), 1.0)
        degraded = on / (self.cycling * on + 1.0 - self.cycling)
        compressor = heat / inner
        return HeatPumpOperation(
            heat=heat,
            unmet=np.asarray(wanted - heat),
            power=np.asarray(compressor / degraded + self.standby_power),
            source_heat=np.asarray(heat - compressor),
        )

    def heat(self, power: npt.ArrayLike, *, source: npt.ArrayLike, sink: npt.ArrayLike) -> Floats:
        """Return the heat that an electric power gives: the inverse of :meth:`operate`. [kW].

        It is found by bisection. A power too small to make a cycling machine heat at all gives 0.
        """
        given = not_negative(power, "the power", "kW")
        high = self.capacity(source, sink) + 0.0 * given
        low, most = np.zeros_like(high), self.operate(high, source=source, sink=sink).power
        if (given > most * (1 + 1e-9)).any():
            raise ParameterError(
                f"the power {given.max():g} kW is above that of full load; give less"
            )
        for _ in range(64):
            middle = 0.5 * (low + high)
            enough = self.operate(middle, source=source, sink=sink).power >= given
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        return high
