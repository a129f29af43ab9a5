r"""Boilers, chillers and heat pumps.

A boiler by its efficiency over load and water temperature, condensing or not.

.. math:: \dot F = \frac{\dot Q}{\eta_r\, f(\mathrm{PLR}, T)}

Below the least part-load ratio the burner cycles at that ratio, and loses its standby heat while
off.

Source: EnergyPlus Engineering Reference, Boilers (hot water), with its normalised efficiency
curves.

An electric chiller by the curves of DOE-2 and EnergyPlus.

.. math::
    \dot Q_a = \dot Q_r\, f_{cap}(T_l, T_e), \quad
    P = \dot Q_a \frac{f_{eir}(T_l, T_e)}{\mathrm{COP}_r}\, f_{plr}(\mathrm{PLR})\, r_c

with the temperature :math:`T_l` of the chilled water as it leaves and :math:`T_e` of the water (or
air) as it enters the condenser. Below the minimum part-load ratio the machine cycles, on for the
share :math:`r_c` (load over minimum); below the minimum unloading ratio it runs at that ratio and
hot gas bypass makes up a false load. The bypass stays inside the machine, so the condenser gives
off load and power; EnergyPlus adds the false load there once more.

Source: EnergyPlus Engineering Reference, Electric Chiller Model Based on Condenser Entering
Temperature; M. Hydeman and K. L. Gillespie, Tools and techniques to calibrate electric chiller
component models, ASHRAE Transactions 108(1), 2002, 733-741.

A heat pump for heating: performance by source and sink, part load after EN 14825.

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

from engiagent.models.hvac.curves import Curve, Polynomial, Surface
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


@dataclass(frozen=True, kw_only=True)
class BoilerOperation:
    """What a boiler does for a load; fuel is heat and loss."""

    # heat, unmet: heat into the water, and what of the load is above the capacity. [kW]
    heat: Floats
    unmet: Floats
    fuel: Floats  # by the heating value of the rated efficiency. [kW]


@dataclass(frozen=True, kw_only=True)
class Boiler:
    """A boiler; its rated capacity may be a series.

    Examples
    --------
    >>> from engiagent.models.hvac.curves import Biquadratic
    >>> condensing = Biquadratic((1.125, 0.015, -0.026, 0.0, -1.4e-6, -0.00154))
    >>> boiler = Boiler(rated_capacity=100.0, rated_efficiency=0.89, efficiency_curve=condensing)
    >>> (50.0 / boiler.operate(50.0, temperature=[30.0, 60.0]).fuel).round(3).tolist()
    [0.98, 0.957]
    """

    rated_capacity: npt.ArrayLike  # above 0. [kW]
    # by gross heating value at most 1; by net heating value of natural gas up to 1.11. [-]
    rated_efficiency: float
    # factor on it by part-load ratio (x) and water temperature (y), return or supply as the curve
    # was measured; constant when None. [-], [degC]
    efficiency_curve: Surface | None = None
    minimum_part_load: float = 0.0  # below it the burner cycles. 0 to 1. [-]
    # fuel lost while the burner of a boiler in use pauses. At least 0. [kW]
    standby_loss: float = 0.0

    def __post_init__(self) -> None:
        positive(self.rated_capacity, "the rated capacity", "kW")
        within(self.rated_efficiency, "the rated efficiency", "-", low=0.0, high=1.2, above=True)
        share(self.minimum_part_load, "the minimum part load")
        not_negative(self.standby_loss, "the standby loss", "kW")

    def operate(self, load: npt.ArrayLike, *, temperature: npt.ArrayLike) -> BoilerOperation:
        """Return what the boiler does for a load; what is above the capacity is ``unmet``.

        ``load``: heat that is asked for. At least 0. [kW] ``temperature``: of the water, as the
        curve means it; for condensing that of the return. [degC]
        """
        wanted = not_negative(load, "the heating load", "kW")
        capacity = np.asarray(self.rated_capacity, dtype=np.float64)
        heat = np.minimum(wanted, capacity)
        ratio = heat / capacity
        running = np.maximum(ratio, self.minimum_part_load)
        cycling = np.where(running > 0, ratio / np.where(running > 0, running, 1.0), 0.0)
        curve = self.efficiency_curve
        factor = 1.0 if curve is None else curve.at(running, temperature)
        efficiency = positive(self.rated_efficiency * factor, "the efficiency by its curve", "-")
        idle = np.where(heat > 0, self.standby_loss * (1.0 - cycling), 0.0)
        return BoilerOperation(heat=heat, unmet=wanted - heat, fuel=heat / efficiency + idle)


@dataclass(frozen=True, kw_only=True)
class ChillerOperation:
    """What a chiller does for a load."""

    # cooling, unmet: heat taken from the chilled water, and what of the load is above the capacity.
    # [kW]
    cooling: Floats
    unmet: Floats
    power: Floats  # electric power of the compressor. [kW]
    heat_rejected: Floats  # heat into the condenser's water. [kW]


@dataclass(frozen=True, kw_only=True)
class Chiller:
    """A chiller with one compressor's curves; rated numbers may be series.

    Examples
    --------
    >>> from engiagent.models.hvac.curves import Biquadratic
    >>> even = Biquadratic((1.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    >>> chiller = Chiller(
    ...     rated_capacity=500.0, rated_cop=5.0, capacity_curve=even, eir_curve=even,
    ...     part_load_curve=Polynomial((0.2, 0.3, 0.5)), minimum_part_load=0.1,
    ... )
    >>> chiller.operate([500.0, 250.0, 25.0], leaving=7.0, entering=29.0).power.round(3).tolist()
    [100.0, 47.5, 11.75]
    """

    rated_capacity: npt.ArrayLike  # at the reference temperatures. Above 0. [kW]
    rated_cop: npt.ArrayLike  # there, at full load. Above 0. [-]
    # capacity_curve, eir_curve: factors on the capacity, and on power over cooling, by leaving
    # chilled water (x) and entering condenser water (y). [degC]
    capacity_curve: Surface
    eir_curve: Surface
    # factor on the full-load power by part-load ratio, about 1 at 1
    part_load_curve: Curve = field(default=Polynomial((0.0, 1.0)))
    minimum_part_load: float = 0.0  # below it the machine cycles. 0 to 1. [-]
    # below it it is loaded falsely; at least the minimum part load. [-]
    minimum_unloading: float | None = None
    # up to where it can be overloaded. At least the minimum unloading. [-]
    maximum_part_load: float = 1.0
    # share of the power that the condenser takes up: 1 for a hermetic machine. [-]
    heat_to_condenser: float = 1.0

    def __post_init__(self) -> None:
        positive(self.rated_capacity, "the rated capacity", "kW")
        positive(self.rated_cop, "the rated COP", "-")
        least, unloading, most = self.minimum_part_load, self._unloading, self.maximum_part_load
        share(least, "the minimum part load")
        share(unloading, "the minimum unloading")
        if not least <= unloading <= most:
            raise ParameterError(
                f"the part-load ratios are {least} (minimum), {unloading} (unloading) and {most} "
                "(maximum); give minimum <= unloading <= maximum"
            )
        share(self.heat_to_condenser, "the heat to the condenser")

    @property
    def _unloading(self) -> float:
        return self.minimum_part_load if self.minimum_unloading is None else self.minimum_unloading

    def capacity(self, leaving: npt.ArrayLike, entering: npt.ArrayLike) -> Floats:
        """Return the capacity at these temperatures. [kW]."""
        available = np.asarray(self.rated_capacity) * self.capacity_curve.at(leaving, entering)
        return positive(available, "the capacity by its curve", "kW")

    def full_load_power(self, leaving: npt.ArrayLike, entering: npt.ArrayLike) -> Floats:
        """Return the power at a part-load ratio of 1, where the curve of part load is 1. [kW]."""
        ratio = self.eir_curve.at(leaving, entering) / np.asarray(self.rated_cop)
        return positive(self.capacity(leaving, entering) * ratio, "the power by its curve", "kW")

    def operate(
        self, load: npt.ArrayLike, *, leaving: npt.ArrayLike, entering: npt.ArrayLike
    ) -> ChillerOperation:
        """Return what the chiller does for a load at these temperatures.

        A load above the largest one is served as far as that goes; the rest is ``unmet``.

        ``load``: cooling that is asked for. At least 0. [kW] ``leaving``, ``entering``: chilled
        water as it leaves, condenser water or air as it enters. [degC]
        """
        wanted = not_negative(load, "the cooling load", "kW")
        available = self.capacity(leaving, entering)
        cooling = np.minimum(wanted, available * self.maximum_part_load)
        ratio, least = cooling / available, self.minimum_part_load
        cycling = np.where(ratio < least, ratio / (least or 1.0), 1.0)
        # Without a minimum the machine follows down to nothing, and at nothing it is off.
        cycling = np.where(cooling > 0, cycling, 0.0)
        running = np.maximum(ratio, self._unloading)
        factor = self.part_load_curve.at(running)
        part = not_negative(factor, "the part-load factor by its curve", "-")
        power = self.full_load_power(leaving, entering) * part * cycling
        # Hot gas bypass goes round inside: what it adds to the evaporator it takes from the
        # condenser, so that the condenser gives off the useful cooling and the power.
        return ChillerOperation(
            cooling=cooling,
            unmet=np.asarray(wanted - cooling),
            power=power,
            heat_rejected=np.asarray(cooling + self.heat_to_condenser * power),
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
