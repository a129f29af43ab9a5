r"""Coils between water and air: sensible by effectiveness, wet by the enthalpy method of Braun.

A wet coil exchanges enthalpy. With the saturation specific heat :math:`c_s`, the mean slope of the
enthalpy of saturated air between the water's ends,

.. math::
    m^* = \frac{\dot m_a c_s}{\dot m_w c_w}, \quad
    \mathrm{NTU} = \frac{\mathrm{NTU}_o}{1 + m^* \mathrm{NTU}_o / \mathrm{NTU}_i}, \quad
    \dot Q = \varepsilon(\mathrm{NTU}, m^*)\,\dot m_a \left(h_{a,in} - h_s(T_{w,in})\right),

:math:`\mathrm{NTU}_o = U_o A_o / (\dot m_a c_{pm})` and
:math:`\mathrm{NTU}_i = U_i A_i / (\dot m_w c_w)`. The air leaves along the line to an effective
surface, :math:`h_{s,e} = h_{in} - (h_{in} - h_{out}) / (1 - e^{-\mathrm{NTU}_o})`. Dry and wet are
both worked out and the larger heat holds, as each alone underrates a coil that is partly wet; a dry
coil that would leave fog does not count.

The condensate leaves at the temperature of that surface. Braun neglects its enthalpy; here it is
booked, so that the water takes up what the air loses less what drips away, and balances are exact.

Source: J. E. Braun, S. A. Klein, J. W. Mitchell, Effectiveness models for cooling towers and
cooling coils, ASHRAE Transactions 95(2), 1989, 164-174.

Heat exchangers by effectiveness and number of transfer units.

.. math:: \dot Q = \varepsilon\, C_{min} (T_{h,in} - T_{c,in}), \quad
          \mathrm{NTU} = UA / C_{min}, \quad C_r = C_{min} / C_{max}

Capacity rates :math:`C = \dot m c_p` are in kW/K and :math:`UA` in kW/K.

Source: W. M. Kays and A. L. London, Compact Heat Exchangers, 3rd ed., 1984, chapter 2; F. P.
Incropera et al., Fundamentals of Heat and Mass Transfer, 7th ed., 2011, table 11.3. The formula for
cross flow with both fluids unmixed is their approximation of an integral.
"""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from engiagent.models.hvac import moist_air
from engiagent.models.hvac.air_streams import AirStream, heated
from engiagent.models.hvac.moist_air import LIQUID_HEAT, STANDARD_PRESSURE
from engiagent.models.hvac.roots import bracketed_root
from engiagent.models.ranges import Floats, ParameterError, numbers, within

Arrangement = Literal["counter", "parallel", "cross"]
ARRANGEMENTS = ("counter", "parallel", "cross")


def effectiveness(
    ntu: npt.ArrayLike, ratio: npt.ArrayLike, arrangement: Arrangement = "counter"
) -> Floats:
    """Return the effectiveness. [-].

    Parameters
    ----------
    ntu
        Number of transfer units. At least 0. [-]
    ratio
        Smaller over larger capacity rate, 0 to 1; 0 for a fluid that boils or condenses. [-]
    arrangement
        ``counter``, ``parallel`` or ``cross`` (both fluids unmixed).

    Examples
    --------
    >>> effectiveness([0.0, 1.0, 1e9], 1.0).tolist()
    [0.0, 0.5, 0.999999999]
    """
    units = within(ntu, "the number of transfer units", "-", low=0.0)
    share = within(ratio, "the ratio of capacity rates", "-", low=0.0, high=1.0)
    if arrangement not in ARRANGEMENTS:
        raise ParameterError(
            f"the arrangement is {arrangement!r}; known are {', '.join(ARRANGEMENTS)}"
        )
    # Below 1e-9 the ratio stands for an infinite capacity rate: all formulas share that limit.
    safe = np.maximum(share, 1e-9)
    alone = -np.expm1(-units)
    if arrangement == "counter":
        result = _counter(units, share)
    elif arrangement == "parallel":
        result = -np.expm1(-units * (1.0 + share)) / (1.0 + share)
    else:
        power = np.expm1(-safe * units**0.78) * units**0.22 / safe
        result = -np.expm1(power)
    return np.asarray(np.where(share < 1e-9, alone, result))


def _counter(units: Floats, share: Floats) -> Floats:
    rest = 1.0 - share
    # Written so that nothing is lost where both rates are nearly equal.
    grown = np.where(rest > 0, -np.expm1(-units * rest) / np.where(rest > 0, rest, 1.0), units)
    return np.asarray(grown / (1.0 + share * grown))


@dataclass(frozen=True, kw_only=True)
class HeatExchange:
    """Heat from the hot to the cold stream [kW], and how both leave [degC]."""

    heat: Floats
    hot_out: Floats
    cold_out: Floats


def exchange(
    conductance: npt.ArrayLike,
    hot_rate: npt.ArrayLike,
    cold_rate: npt.ArrayLike,
    hot_in: npt.ArrayLike,
    cold_in: npt.ArrayLike,
    arrangement: Arrangement = "counter",
) -> HeatExchange:
    """Return the heat between two streams; negative where the stream named hot is the colder.

    Parameters
    ----------
    conductance
        :math:`UA`. At least 0. [kW/K]
    hot_rate, cold_rate
        Capacity rates. At least 0; no flow, no heat. [kW/K]
    hot_in, cold_in
        Temperatures at the inlets. [degC]
    arrangement
        See :func:`effectiveness`.

    Examples
    --------
    >>> float(exchange(2.0, 2.0, 2.0, 80.0, 20.0).heat)
    60.0
    """
    size = within(conductance, "the conductance", "kW/K", low=0.0)
    hot = within(hot_rate, "the capacity rate of the hot stream", "kW/K", low=0.0)
    cold = within(cold_rate, "the capacity rate of the cold stream", "kW/K", low=0.0)
    warm, cool = numbers(hot_in, "the hot inlet"), numbers(cold_in, "the cold inlet")
    least, most = np.minimum(hot, cold), np.maximum(hot, cold)
    # A trickle has more transfer units than matter; the floor keeps the quotient finite.
    ntu = size / np.maximum(least, 1e-12)
    share = least / np.where(most > 0, most, 1.0)
    change = effectiveness(ntu, share, arrangement) * (warm - cool)
    return HeatExchange(
        heat=np.asarray(change * least),
        hot_out=np.asarray(warm - change * np.where(hot > 0, least / np.where(hot > 0, hot, 1), 0)),
        cold_out=np.asarray(
            cool + change * np.where(cold > 0, least / np.where(cold > 0, cold, 1), 0)
        ),
    )


@dataclass(frozen=True, kw_only=True)
class CoilResult:
    """What a coil does.

    Attributes
    ----------
    air
        As it leaves.
    water_out
        Temperature of the water as it leaves. [degC]
    heat
        From the air to the water; negative where the coil heats. [kW]
    condensate
        Water that drips away, and the enthalpy that it takes along. [kg/s], [kW]
    condensate_power
        Enthalpy flow of the condensate. [kW]
    wet
        Whether it condenses.
    """

    air: AirStream
    water_out: Floats
    heat: Floats
    condensate: Floats
    condensate_power: Floats
    wet: npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class Coil:
    r"""A coil with conductances on both sides that follow the flows.

    .. math:: U_o A_o = U_{o,r} (\dot m_a / \dot m_{a,r})^{n_o}, \quad
              U_i A_i = U_{i,r} (\dot m_w / \dot m_{w,r})^{n_i}

    Attributes
    ----------
    air_conductance, water_conductance
        At the rated flows, each above 0; the smaller rules. [kW/K]
    rated_air_flow, rated_water_flow
        Above 0. [kg/s]
    air_exponent, water_exponent
        0 for constant conductances, 0.8 for turbulent flow. [-]
    arrangement
        Of the dry coil; a wet coil counts as counter flow.

    Examples
    --------
    >>> coil = Coil(
    ...     air_conductance=4.0, water_conductance=8.0, rated_air_flow=2.0, rated_water_flow=1.0
    ... )
    >>> air = AirStream(flow=2.0, temperature=27.0, humidity_ratio=0.0112)
    >>> result = coil.operate(air, water_flow=1.0, water_in=7.0)
    >>> round(float(result.heat), 2), bool(result.wet)
    (30.18, True)
    """

    air_conductance: npt.ArrayLike
    water_conductance: npt.ArrayLike
    rated_air_flow: npt.ArrayLike
    rated_water_flow: npt.ArrayLike
    air_exponent: npt.ArrayLike = 0.8
    water_exponent: npt.ArrayLike = 0.8
    arrangement: Arrangement = field(default="counter")

    def __post_init__(self) -> None:
        for value, what in (
            (self.air_conductance, "the conductance on the side of the air"),
            (self.water_conductance, "the conductance on the side of the water"),
        ):
            within(value, what, "kW/K", low=0.0, above=True)
        within(self.rated_air_flow, "the rated flow of air", "kg/s", low=0.0, above=True)
        within(self.rated_water_flow, "the rated flow of water", "kg/s", low=0.0, above=True)
        for value in (self.air_exponent, self.water_exponent):
            within(value, "an exponent of the flow", "-", low=0.0, high=1.0)
        effectiveness(1.0, 0.5, self.arrangement)

    def conductances(
        self, air_flow: npt.ArrayLike, water_flow: npt.ArrayLike
    ) -> tuple[Floats, Floats]:
        """Return the conductances of the sides of air and water. [kW/K]."""
        air = within(air_flow, "the flow of air", "kg/s", low=0.0)
        water = within(water_flow, "the flow of water", "kg/s", low=0.0)
        return (
            np.asarray(
                np.asarray(self.air_conductance)
                * (air / np.asarray(self.rated_air_flow)) ** np.asarray(self.air_exponent)
            ),
            np.asarray(
                np.asarray(self.water_conductance)
                * (water / np.asarray(self.rated_water_flow)) ** np.asarray(self.water_exponent)
            ),
        )

    def operate(
        self,
        air: AirStream,
        *,
        water_flow: npt.ArrayLike,
        water_in: npt.ArrayLike,
        pressure: npt.ArrayLike = STANDARD_PRESSURE,
    ) -> CoilResult:
        """Return what the coil does; hot water heats, cold water cools and may condense.

        Parameters
        ----------
        air
            As it enters; at rest it exchanges nothing.
        water_flow, water_in
            Flow [kg/s] and temperature at the inlet, above 0 where it condenses; with less than a
            billionth of a rated flow nothing condenses. [degC]
        pressure
            Of the air. [Pa]
        """
        flow = within(water_flow, "the flow of water", "kg/s", low=0.0)
        inlet = numbers(water_in, "the temperature of the water")
        dry = self._dry(air, flow, inlet)
        may = (
            (np.asarray(air.flow) > 1e-9 * np.asarray(self.rated_air_flow))
            & (flow > 1e-9 * np.asarray(self.rated_water_flow))
            & (
                moist_air.vapour_pressure(air.humidity_ratio, pressure)
                > moist_air.saturation_pressure(inlet)
            )
            & (np.asarray(air.temperature) > inlet)
        )
        if not may.any():
            return dry
        return self._wetter(air, flow, inlet, np.asarray(pressure, dtype=np.float64), dry, may)

    def _dry(self, air: AirStream, flow: Floats, inlet: Floats) -> CoilResult:
        outer, inner = self.conductances(air.flow, flow)
        both = (outer > 0) & (inner > 0)
        overall = np.where(both, outer * inner / np.where(both, outer + inner, 1.0), 0.0)
        got = exchange(
            overall, air.heat_rate, flow * LIQUID_HEAT, air.temperature, inlet, self.arrangement
        )
        return CoilResult(
            air=heated(air, -got.heat),
            water_out=got.cold_out,
            heat=got.heat,
            condensate=np.zeros_like(got.heat),
            condensate_power=np.zeros_like(got.heat),
            wet=np.zeros(got.heat.shape, dtype=bool),
        )

    def _wetter(
        self,
        air: AirStream,
        flow: Floats,
        inlet: Floats,
        pressure: Floats,
        dry: CoilResult,
        may: npt.NDArray[np.bool_],
    ) -> CoilResult:
        """Return the wet coil where it exchanges more than the dry one."""
        shape = np.broadcast_shapes(may.shape, dry.heat.shape, pressure.shape)
        outer, inner = self.conductances(air.flow, flow)
        safe_air = np.where(may, np.asarray(air.flow), 1.0)
        safe_water = np.where(may, flow, 1.0) * LIQUID_HEAT
        cold = np.where(may, inlet, 10.0)
        warm = np.where(may, np.asarray(air.temperature), 20.0)
        ntu_outer = outer / (safe_air * moist_air.heat_capacity(air.humidity_ratio))
        low_enthalpy = moist_air.saturated_enthalpy(cold, pressure)
        drive = np.where(may, air.enthalpy - low_enthalpy, 0.0)

        def wet_heat(water_out: Floats) -> Floats:
            rise = np.maximum(water_out - cold, 1e-6)
            slope = (moist_air.saturated_enthalpy(cold + rise, pressure) - low_enthalpy) / rise
            ratio = safe_air * slope / safe_water
            ntu = ntu_outer / (1.0 + ratio * ntu_outer * safe_water / np.where(may, inner, 1.0))
            return np.asarray(_enthalpy_effectiveness(ntu, ratio) * safe_air * drive)

        top = np.broadcast_to(warm + 40.0, shape)
        out = bracketed_root(
            lambda x: np.asarray(x - cold - wet_heat(x) / safe_water), cold, top, "a wet coil"
        )
        heat = wet_heat(out)
        after = np.where(may, air.enthalpy, 0.0) - heat / safe_air
        passed = np.exp(-ntu_outer)
        surface_enthalpy = np.where(
            may, air.enthalpy - heat / safe_air / np.maximum(1.0 - passed, 1e-12), 40.0
        )
        surface = moist_air.saturation_temperature_of_enthalpy(surface_enthalpy, pressure)
        leaving = surface + (warm - surface) * passed
        ratio_out = moist_air.humidity_ratio_of_enthalpy(after, leaving)
        # Where the dry coil would leave fog it is no answer, even if its heat is larger.
        better = (heat > dry.heat) | (dry.air.in_fog(pressure) > 0)
        wet = may & better & (ratio_out < np.asarray(air.humidity_ratio))
        return _chosen(air, flow, inlet, dry, wet, (heat, leaving, ratio_out, surface))


def _chosen(
    air: AirStream,
    flow: Floats,
    inlet: Floats,
    dry: CoilResult,
    wet: npt.NDArray[np.bool_],
    wetted: tuple[Floats, Floats, Floats, Floats],
) -> CoilResult:
    """Return the dry result where ``wet`` is false, else that of the wet coil, balanced."""
    total, leaving, ratio_out, surface = wetted
    ratio = np.where(wet, ratio_out, np.asarray(air.humidity_ratio))
    condensate = np.asarray(air.flow) * (np.asarray(air.humidity_ratio) - ratio)
    carried = condensate * LIQUID_HEAT * np.where(wet, surface, 0.0)
    heat = np.where(wet, total - carried, dry.heat)
    rate = np.where(flow > 0, flow, 1.0) * LIQUID_HEAT
    return CoilResult(
        air=AirStream(
            flow=air.flow,
            temperature=np.where(wet, leaving, np.asarray(dry.air.temperature)),
            humidity_ratio=ratio,
        ),
        water_out=np.asarray(np.where(wet, inlet + heat / rate, dry.water_out)),
        heat=np.asarray(heat),
        condensate=np.asarray(condensate),
        condensate_power=np.asarray(carried),
        wet=np.asarray(wet),
    )


def _enthalpy_effectiveness(ntu: Floats, ratio: Floats) -> Floats:
    """Return the counter-flow effectiveness by the side of the air; the ratio may exceed 1."""
    rest = 1.0 - ratio
    near = np.abs(rest) < 1e-9
    # Capped, because beyond it the exponential is the whole and only overflows.
    exponent = np.clip(-ntu * rest, None, 500.0)
    grown = np.where(near, ntu, -np.expm1(exponent) / np.where(near, 1.0, rest))
    return np.asarray(grown / (1.0 + ratio * grown))
