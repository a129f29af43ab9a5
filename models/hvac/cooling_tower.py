r"""A cooling tower by the effectiveness of Merkel's equations, after Braun.

With the saturation specific heat :math:`c_s = (h_s(T_{in}) - h_s(T_{out})) / (T_{in} - T_{out})`,

.. math::
    m^* = \frac{\dot m_a c_s}{\dot m_w c_w}, \quad
    \varepsilon = \frac{1 - e^{-\mathrm{NTU}(1 - m^*)}}{1 - m^* e^{-\mathrm{NTU}(1 - m^*)}}, \quad
    \dot Q = \varepsilon\, \dot m_a \left(h_s(T_{in}) - h_{a,in}\right),

.. math:: \mathrm{NTU} = c \left(\dot m_w / \dot m_a\right)^{1 + n}

The air leaves towards an effective surface of saturated air, which says how much water evaporates.
Merkel neglects the enthalpy of that water where he balances the rest; here the air takes it along,
at the temperature of the water as it leaves, so that air, water and energy close exactly.

Source: J. E. Braun, S. A. Klein, J. W. Mitchell, Effectiveness models for cooling towers and
cooling coils, ASHRAE Transactions 95(2), 1989, 164-174; the exponent :math:`n` of about -0.6 and
:math:`c` of 1 to 4 from ASHRAE Equipment Handbook, 1983. Lewis number 1.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engiagent.models.hvac import moist_air
from engiagent.models.hvac.air_streams import AirStream
from engiagent.models.hvac.moist_air import LIQUID_HEAT, STANDARD_PRESSURE
from engiagent.models.hvac.roots import bracketed_root
from engiagent.models.parameters import numbers, within
from engiagent.models.ranges import Floats


@dataclass(frozen=True, kw_only=True)
class TowerOperation:
    """What a tower does.

    Attributes
    ----------
    heat
        Enthalpy that the air gains, vapour included. [kW]
    water_out, water_flow_out
        Temperature and flow of the water as it leaves the fill. [degC], [kg/s]
    evaporation
        Water that the air takes along. [kg/s]
    air
        As it leaves.
    fan_power
        Electric power. [kW]
    """

    heat: Floats
    water_out: Floats
    water_flow_out: Floats
    evaporation: Floats
    air: AirStream
    fan_power: Floats


@dataclass(frozen=True, kw_only=True)
class CoolingTower:
    """A counter-flow tower with a fan of variable speed; numbers may be arrays over units.

    Attributes
    ----------
    coefficient, exponent
        :math:`c`, above 0, and :math:`n`, -1 to 0. [-]
    rated_air_flow
        Dry air at full speed. Above 0. [kg/s]
    rated_fan_power
        At full speed. At least 0. [kW]
    fan_exponent
        Of power by speed: 3 by the affinity laws. [-]
    natural_flow
        Share of the rated flow of air with the fan off. 0 to 1. [-]

    Examples
    --------
    >>> tower = CoolingTower(coefficient=2.0, rated_air_flow=20.0, rated_fan_power=15.0)
    >>> air = AirStream(flow=1.0, temperature=25.0, humidity_ratio=0.0119)
    >>> done = tower.operate(air, water_flow=20.0, water_in=35.0, speed=[1.0, 0.5])
    >>> done.water_out.round(2).tolist(), done.fan_power.tolist()
    ([24.21, 27.9], [15.0, 1.875])
    """

    coefficient: npt.ArrayLike
    rated_air_flow: npt.ArrayLike
    rated_fan_power: npt.ArrayLike
    exponent: npt.ArrayLike = -0.6
    fan_exponent: npt.ArrayLike = 3.0
    natural_flow: npt.ArrayLike = 0.0

    def __post_init__(self) -> None:
        within(self.coefficient, "the coefficient of the fill", "-", low=0.0, above=True)
        within(self.rated_air_flow, "the rated flow of air", "kg/s", low=0.0, above=True)
        within(self.rated_fan_power, "the rated power of the fan", "kW", low=0.0)
        within(self.exponent, "the exponent of the fill", "-", low=-1.0, high=0.0)
        within(self.fan_exponent, "the exponent of the fan", "-", low=1.0, high=4.0)
        within(self.natural_flow, "the natural flow", "-", low=0.0, high=1.0)

    def air_flow(self, speed: npt.ArrayLike) -> Floats:
        """Return the flow of dry air at a speed of 0 to 1, at least the natural one. [kg/s]."""
        turns = within(speed, "the speed of the fan", "-", low=0.0, high=1.0)
        share = np.maximum(turns, np.asarray(self.natural_flow))
        return np.asarray(np.asarray(self.rated_air_flow) * share)

    def fan_power(self, speed: npt.ArrayLike) -> Floats:
        """Return the power of the fan at a speed of 0 to 1. [kW]."""
        turns = within(speed, "the speed of the fan", "-", low=0.0, high=1.0)
        return np.asarray(np.asarray(self.rated_fan_power) * turns ** np.asarray(self.fan_exponent))

    def transfer_units(self, water_flow: npt.ArrayLike, air_flow: npt.ArrayLike) -> Floats:
        """Return the number of transfer units of flows above 0 [kg/s]. [-]."""
        water = within(water_flow, "the flow of water", "kg/s", low=0.0, above=True)
        air = within(air_flow, "the flow of air", "kg/s", low=0.0, above=True)
        power = 1.0 + np.asarray(self.exponent)
        return np.asarray(np.asarray(self.coefficient) * (water / air) ** power)

    def operate(
        self,
        air: AirStream,
        *,
        water_flow: npt.ArrayLike,
        water_in: npt.ArrayLike,
        speed: npt.ArrayLike,
        pressure: npt.ArrayLike = STANDARD_PRESSURE,
    ) -> TowerOperation:
        """Return what the tower does; without moving air it does nothing.

        Parameters
        ----------
        air
            As it enters; its flow does not count, the fan makes it.
        water_flow, water_in
            Flow, above 0 [kg/s], and temperature at the inlet, 0 to 80. [degC]
        speed
            Of the fan, 0 to 1. [-]
        pressure
            Of the air. [Pa]

        Raises
        ------
        ParameterError
            When a number lies outside its range.
        """
        water = within(water_flow, "the flow of water", "kg/s", low=0.0, above=True)
        hot = within(water_in, "the temperature of the water", "degC", low=0.0, high=80.0)
        moved = self.air_flow(speed)
        flow = np.maximum(moved, 1e-9 * np.asarray(self.rated_air_flow))
        still = moved < flow
        entering = air.with_flow(flow)
        ntu = self.transfer_units(water, flow)
        top = moist_air.saturated_enthalpy(hot, pressure)

        def drawn(out: Floats) -> Floats:
            return _heat(entering, ntu, water, (hot, out, top), pressure)

        def excess(out: Floats) -> Floats:
            return np.asarray(out - hot + drawn(out) / (water * LIQUID_HEAT))

        shape = np.broadcast_shapes(hot.shape, ntu.shape, np.shape(air.temperature), water.shape)
        low = np.broadcast_to(np.minimum(hot, np.asarray(air.temperature)) - 60.0, shape)
        high = np.broadcast_to(np.maximum(hot, np.asarray(air.temperature)) + 1.0, shape)
        out = bracketed_root(excess, np.maximum(low, -60.0), high, "the water leaving the tower")
        leaving = _leaving(entering, ntu, drawn(out), out, pressure)
        evaporated = np.where(still, 0.0, leaving.water - entering.water)
        return TowerOperation(
            heat=np.where(still, 0.0, leaving.power - entering.power),
            water_out=np.where(still, hot, out),
            water_flow_out=np.asarray(water - evaporated),
            evaporation=evaporated,
            air=leaving.with_flow(moved + 0.0 * evaporated),
            fan_power=np.asarray(self.fan_power(speed) + 0.0 * evaporated),
        )

    def speed(
        self,
        air: AirStream,
        *,
        water_flow: npt.ArrayLike,
        water_in: npt.ArrayLike,
        water_out: npt.ArrayLike,
        pressure: npt.ArrayLike = STANDARD_PRESSURE,
    ) -> Floats:
        """Return the least speed that cools the water to a temperature [degC]; 0 to 1. [-].

        Where full speed is not enough it is 1, and where no fan is needed 0:
        :meth:`operate` at that speed says how warm the water is.
        """
        wanted = numbers(water_out, "the temperature of the water")

        def excess(turns: Floats) -> Floats:
            done = self.operate(
                air, water_flow=water_flow, water_in=water_in, speed=turns, pressure=pressure
            )
            return done.water_out - wanted

        none, full = excess(np.asarray(0.0)), excess(np.asarray(1.0))
        within_reach = (none > 0) & (full < 0)
        root = bracketed_root(
            lambda x: np.where(within_reach, excess(x), 0.0), 0.0, 1.0, "the speed of the fan"
        )
        return np.where(within_reach, root, np.where(none <= 0, 0.0, 1.0))

    @staticmethod
    def makeup(
        evaporation: npt.ArrayLike,
        water_flow: npt.ArrayLike,
        *,
        cycles_of_concentration: float = 4.0,
        drift: float = 0.0,
    ) -> Floats:
        r"""Return the water to replace: evaporation, blow-down and drift. [kg/s].

        .. math:: \dot m = \dot m_e + \dot m_e / (k - 1)

        with at least the drift leaving as liquid.

        Parameters
        ----------
        evaporation, water_flow
            Both in kg/s.
        cycles_of_concentration
            :math:`k`, above 1. [-]
        drift
            Share of the flow of water, 0 to 1. [-]
        """
        cycles = within(cycles_of_concentration, "the cycles", "-", low=1.0, above=True)
        share = within(drift, "the drift", "-", low=0.0, high=1.0)
        lost = numbers(evaporation, "the evaporation")
        carried = share * within(water_flow, "the flow of water", "kg/s", low=0.0)
        return np.asarray(lost + np.maximum(np.maximum(lost, 0.0) / (cycles - 1.0), carried))


def _heat(
    entering: AirStream,
    ntu: Floats,
    water: Floats,
    ends: tuple[Floats, Floats, Floats],
    pressure: npt.ArrayLike,
) -> Floats:
    """Return Merkel's heat for the water's inlet, assumed outlet and saturated inlet enthalpy."""
    hot, out, top = ends
    gap = np.where(np.abs(hot - out) < 1e-6, 1e-6, hot - out)
    slope = (top - moist_air.saturated_enthalpy(hot - gap, pressure)) / gap
    ratio = np.asarray(entering.flow) * slope / (water * LIQUID_HEAT)
    rest = 1.0 - ratio
    near = np.abs(rest) < 1e-9
    grown = np.where(
        near, ntu, -np.expm1(np.clip(-ntu * rest, None, 500.0)) / np.where(near, 1.0, rest)
    )
    share = grown / (1.0 + ratio * grown)
    return np.asarray(share * np.asarray(entering.flow) * (top - entering.enthalpy))


def _leaving(
    entering: AirStream, ntu: Floats, heat: Floats, out: Floats, pressure: npt.ArrayLike
) -> AirStream:
    """Return the air that leaves with Merkel's heat and the enthalpy of the evaporated water."""
    gain = heat / np.asarray(entering.flow)
    surface = moist_air.saturation_temperature_of_enthalpy(
        entering.enthalpy + gain / -np.expm1(-ntu), pressure, high=85.0
    )
    saturated = moist_air.saturation_humidity_ratio(surface, pressure)
    ratio = np.asarray(entering.humidity_ratio)
    humidity = saturated + (ratio - saturated) * np.exp(-ntu)
    after = entering.enthalpy + gain + (humidity - ratio) * LIQUID_HEAT * out
    return AirStream(
        flow=entering.flow,
        temperature=moist_air.temperature_of_enthalpy(after, humidity),
        humidity_ratio=humidity,
    )
