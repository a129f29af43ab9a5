r"""An air handler: economiser, mixing box, heating, cooling and humidifying, supply fan.

Return and outdoor air are mixed and pass heater, cooling coil, humidifier and fan, in this order.
The cooling coil follows the line to its apparatus dew point :math:`T_p` with the bypass factor
:math:`b`,

.. math:: T_2 = T_p + b (T_1 - T_p), \quad W_2 = W_s(T_p) + b (W_1 - W_s(T_p)),

and stays dry where :math:`W_s(T_p)` is above :math:`W_1`. An economiser takes the outdoor air that
brings the mixture to the wanted temperature, which for dry-air shares :math:`x` is exactly

.. math:: x = \frac{c_r (T_r - T_m)}{c_r (T_r - T_m) + c_o (T_m - T_o)}, \quad
          c = 1.006 + 1.86\, W.

Source: ASHRAE Handbook Fundamentals (SI), 2017, chapter 1; bypass factor: ASHRAE Handbook HVAC
Systems and Equipment (SI), 2016, chapter 23; kinds of economiser: ANSI/ASHRAE/IES Standard 90.1,
section 6.5.1.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from engiagent.models.hvac import moist_air
from engiagent.models.hvac.air_streams import AirStream, Humidifier, heated, mix
from engiagent.models.hvac.curves import Mask
from engiagent.models.hvac.moist_air import LIQUID_HEAT, STANDARD_PRESSURE
from engiagent.models.hvac.roots import bracketed_root
from engiagent.models.hvac.turbomachines import PartLoadFan
from engiagent.models.parameters import numbers, within
from engiagent.models.ranges import Floats, ParameterError

Control = Literal[
    "none", "fixed_dry_bulb", "differential_dry_bulb", "fixed_enthalpy", "differential_enthalpy"
]
CONTROLS = (
    "none",
    "fixed_dry_bulb",
    "differential_dry_bulb",
    "fixed_enthalpy",
    "differential_enthalpy",
)


@dataclass(frozen=True, kw_only=True)
class Economiser:
    """When and how much outdoor air cools for nothing.

    Attributes
    ----------
    control
        ``none``, or by dry bulb or enthalpy, below a ``fixed`` limit or below the return air
        (``differential``). A fixed enthalpy limit also needs the dry bulb below its own limit.
    minimum_share
        Of outdoor air at any time. 0 to 1. [-]
    temperature_max
        Limit of the dry bulb outside. [degC]
    enthalpy_max
        Limit of the enthalpy outside. [kJ/kg dry air]
    temperature_min
        Outdoor air colder than this comes in at the minimum share only. [degC]

    Examples
    --------
    >>> free = Economiser(control="differential_dry_bulb", minimum_share=0.2)
    >>> back = AirStream(flow=1.0, temperature=24.0, humidity_ratio=0.008)
    >>> out = AirStream(flow=1.0, temperature=[4.0, 16.0, 30.0], humidity_ratio=0.008)
    >>> free.share(out, back, target=14.0).round(6).tolist()
    [0.5, 1.0, 0.2]
    """

    control: Control = "differential_dry_bulb"
    minimum_share: npt.ArrayLike = 0.0
    temperature_max: npt.ArrayLike = 24.0
    enthalpy_max: npt.ArrayLike = 65.1
    temperature_min: npt.ArrayLike = field(default=-np.inf)

    def __post_init__(self) -> None:
        if self.control not in CONTROLS:
            raise ParameterError(
                f"the economiser's control is {self.control!r}; known are {', '.join(CONTROLS)}"
            )
        within(self.minimum_share, "the share of outdoor air", "-", low=0.0, high=1.0)
        numbers(self.temperature_max, "the limit of the dry bulb", finite=False)
        numbers(self.enthalpy_max, "the limit of the enthalpy", finite=False)
        numbers(self.temperature_min, "the low limit of the dry bulb", finite=False)

    def enabled(self, outdoor: AirStream, return_air: AirStream) -> Mask:
        """Return where more than the minimum may come in."""
        outside, inside = np.asarray(outdoor.temperature), np.asarray(return_air.temperature)
        warm_enough = outside >= np.asarray(self.temperature_min)
        heat, heat_inside = outdoor.enthalpy, return_air.enthalpy
        if self.control == "none":
            fits = np.zeros(np.broadcast_shapes(heat.shape, heat_inside.shape), dtype=bool)
        elif self.control == "fixed_dry_bulb":
            fits = outside < np.asarray(self.temperature_max)
        elif self.control == "differential_dry_bulb":
            fits = outside < inside
        elif self.control == "fixed_enthalpy":
            fits = (heat < np.asarray(self.enthalpy_max)) & (
                outside < np.asarray(self.temperature_max)
            )
        else:
            fits = heat < heat_inside
        return np.asarray(fits & warm_enough)

    def share(self, outdoor: AirStream, return_air: AirStream, *, target: npt.ArrayLike) -> Floats:
        """Return the share of outdoor air that comes nearest a mixed temperature [degC]. [-]."""
        wanted = numbers(target, "the wanted temperature of the mixture")
        inside = moist_air.heat_capacity(return_air.humidity_ratio) * (
            np.asarray(return_air.temperature) - wanted
        )
        outside = moist_air.heat_capacity(outdoor.humidity_ratio) * (
            wanted - np.asarray(outdoor.temperature)
        )
        both = inside + outside
        least = np.asarray(self.minimum_share, dtype=np.float64)
        # With air outside warmer than wanted, all of it is nearest, as the return is warmer still.
        free = np.where(outside <= 0, 1.0, inside / np.where(both != 0, both, 1.0))
        useful = self.enabled(outdoor, return_air) & (inside > 0)
        return np.asarray(np.where(useful, np.clip(free, least, 1.0), least))


@dataclass(frozen=True, kw_only=True)
class AirHandlerOperation:
    """What an air handler does.

    Attributes
    ----------
    supply, mixed, exhaust
        Air to the zones, after the mixing box, and what of the return leaves the building.
    outdoor_share
        Of outdoor air in the supply. [-]
    heating, cooling
        Heat into the air and heat out of it without that of the condensate. [kW]
    condensate, condensate_power
        Water that drips away [kg/s] and its enthalpy. [kW]
    water
        That the humidifier adds. [kg/s]
    humidifier_power, fan_power, fan_heat
        Electric powers and the heat into the air. [kW]
    """

    supply: AirStream
    mixed: AirStream
    exhaust: AirStream
    outdoor_share: Floats
    heating: Floats
    cooling: Floats
    condensate: Floats
    condensate_power: Floats
    water: Floats
    humidifier_power: Floats
    fan_power: Floats
    fan_heat: Floats


@dataclass(frozen=True, kw_only=True)
class AirHandler:
    """An air handler that holds a supply temperature.

    Attributes
    ----------
    economiser
        Which also knows the least share of outdoor air.
    fan
        In the supply, after all coils.
    bypass
        Share of the air that passes the cooling coil untouched. 0 to below 1. [-]
    humidifier
        None for none.
    heating_max, cooling_max
        Capacities; infinite when there are none. What is above is reported, not cut. [kW]

    Examples
    --------
    >>> handler = AirHandler(fan=PartLoadFan(rated_flow=2.0, rated_power=0.0))
    >>> back = AirStream(flow=2.0, temperature=24.0, humidity_ratio=0.009)
    >>> out = AirStream(flow=2.0, temperature=32.0, humidity_ratio=0.014)
    >>> done = handler.operate(out, back, supply_temperature=14.0)
    >>> round(float(done.cooling), 2), round(float(done.supply.temperature), 9)
    (20.45, 14.0)
    """

    fan: PartLoadFan
    economiser: Economiser = field(default=Economiser())
    bypass: npt.ArrayLike = 0.1
    humidifier: Humidifier | None = None
    heating_max: npt.ArrayLike = field(default=np.inf)
    cooling_max: npt.ArrayLike = field(default=np.inf)

    def __post_init__(self) -> None:
        within(self.bypass, "the bypass factor", "-", low=0.0, high=1.0, below=True)
        within(self.heating_max, "the heating capacity", "kW", low=0.0, finite=False)
        within(self.cooling_max, "the cooling capacity", "kW", low=0.0, finite=False)

    def operate(
        self,
        outdoor: AirStream,
        return_air: AirStream,
        *,
        supply_temperature: npt.ArrayLike,
        humidity_ratio_min: npt.ArrayLike = 0.0,
        pressure: npt.ArrayLike = STANDARD_PRESSURE,
    ) -> AirHandlerOperation:
        """Return what it takes to supply air of a temperature; flows out equal flows in.

        Parameters
        ----------
        outdoor
            Air outside; its flow does not count, the economiser makes it.
        return_air
            Air from the zones; its flow, above 0, is that of the supply.
        supply_temperature
            After the fan. [degC]
        humidity_ratio_min
            Of the supply, where there is a humidifier. [kg/kg]
        pressure
            Of the air. [Pa]

        Raises
        ------
        ParameterError
            When there is no flow or a number lies outside its range.
        """
        flow = within(return_air.flow, "the flow of return air", "kg/s", low=0.0, above=True)
        warmth = self.fan.heat(flow)
        rate = flow * moist_air.heat_capacity(return_air.humidity_ratio)
        wanted = numbers(supply_temperature, "the supply temperature")
        share = self.economiser.share(outdoor, return_air, target=wanted - warmth / rate)
        mixed = mix(outdoor.with_flow(flow * share), return_air.with_flow(flow * (1.0 - share)))
        bypass = np.asarray(self.bypass, dtype=np.float64)

        def treated(target: Floats) -> tuple[AirStream, Floats, tuple[Floats, ...]]:
            air, *powers = _condition(mixed, target, bypass, pressure)
            if self.humidifier is None:
                return heated(air, warmth), np.zeros_like(powers[0]), (*powers, 0.0 * powers[0])
            moist = self.humidifier.humidify(air, humidity_ratio_min)
            return heated(moist.air, warmth), moist.water, (*powers, moist.power)

        supply, water, powers = treated(_before(treated, wanted, wanted - warmth / rate))
        heating, cooling, condensate, carried, humidifying = powers
        return AirHandlerOperation(
            supply=supply,
            mixed=mixed,
            exhaust=return_air.with_flow(flow * share),
            outdoor_share=share,
            heating=heating,
            cooling=cooling,
            condensate=condensate,
            condensate_power=carried,
            water=water,
            humidifier_power=humidifying,
            fan_power=self.fan.power(flow),
            fan_heat=warmth,
        )

    def violations(self, done: AirHandlerOperation) -> dict[str, Floats]:
        """Return by how much an operation is above the capacities; 0 where it is not. [kW], [kg/s].

        The keys are ``heating`` and ``cooling``, and ``water`` with a humidifier.
        """
        over = {
            "heating": np.asarray(np.maximum(done.heating - np.asarray(self.heating_max), 0.0)),
            "cooling": np.asarray(np.maximum(done.cooling - np.asarray(self.cooling_max), 0.0)),
        }
        if self.humidifier is not None:
            over["water"] = self.humidifier.violations(done.water)
        return over


def _before(
    treated: Callable[[Floats], tuple[AirStream, Floats, tuple[Floats, ...]]],
    wanted: Floats,
    guess: Floats,
) -> Floats:
    """Return the temperature after the coils from which humidifier and fan reach the wanted."""

    def excess(target: Floats) -> Floats:
        return np.asarray(np.asarray(treated(target)[0].temperature) - wanted)

    # A kelvin more after the coils is more than half a kelvin more in the supply, so that twice
    # the error of the guess encloses the answer.
    over = excess(guess)
    return bracketed_root(excess, guess - 2.0 * over, guess, "the temperature after the coils")


def cooled(
    air: AirStream,
    temperature: npt.ArrayLike,
    bypass: npt.ArrayLike = 0.0,
    pressure: npt.ArrayLike = STANDARD_PRESSURE,
) -> tuple[AirStream, Floats, Floats]:
    """Return air cooled to a temperature [degC], condensate [kg/s] and its enthalpy [kW].

    Air that is colder already passes unchanged.
    """
    share = within(bypass, "the bypass factor", "-", low=0.0, high=1.0, below=True)
    entering = np.asarray(air.temperature, dtype=np.float64)
    leaving = np.minimum(numbers(temperature, "the temperature after the coil"), entering)
    plate = (leaving - share * entering) / (1.0 - share)
    on_plate = np.minimum(
        moist_air.saturation_humidity_ratio(plate, pressure), np.asarray(air.humidity_ratio)
    )
    ratio = on_plate + share * (np.asarray(air.humidity_ratio) - on_plate)
    ratio = np.where(leaving < entering, ratio, np.asarray(air.humidity_ratio))
    condensate = np.asarray(air.flow) * (np.asarray(air.humidity_ratio) - ratio)
    after = AirStream(flow=air.flow, temperature=leaving, humidity_ratio=ratio)
    # It drips at the plate's temperature; below 0 degC it would be frost, booked as liquid at 0.
    return (
        after,
        np.asarray(condensate),
        np.asarray(condensate * LIQUID_HEAT * np.maximum(plate, 0)),
    )


def _condition(
    mixed: AirStream, target: Floats, bypass: Floats, pressure: npt.ArrayLike
) -> tuple[AirStream, Floats, Floats, Floats, Floats]:
    """Return air at the target with heating, cooling, condensate and its enthalpy flow."""
    start = np.asarray(mixed.temperature)
    warm = AirStream(
        flow=mixed.flow, temperature=np.maximum(start, target), humidity_ratio=mixed.humidity_ratio
    )
    after, condensate, carried = cooled(warm, np.minimum(start, target), bypass, pressure)
    cold = np.asarray(start > target)
    leaving = AirStream(
        flow=mixed.flow,
        temperature=np.where(cold, np.asarray(after.temperature), target),
        humidity_ratio=np.where(
            cold, np.asarray(after.humidity_ratio), np.asarray(mixed.humidity_ratio)
        ),
    )
    condensate, carried = np.where(cold, condensate, 0.0), np.where(cold, carried, 0.0)
    heating = np.where(cold, 0.0, warm.power - mixed.power)
    cooling = np.where(cold, mixed.power - leaving.power - carried, 0.0)
    return leaving, np.asarray(heating), np.asarray(cooling), condensate, carried
