r"""Streams of moist air: mixing, heating and humidifying with exact balances.

A stream carries dry air, and with it water and enthalpy:

.. math:: \sum \dot m_a, \qquad \sum \dot m_a W, \qquad \sum \dot m_a h

are what every process here keeps but for what it says it adds or takes away.

Source: ASHRAE Handbook Fundamentals (SI), 2017, chapter 1, typical air-conditioning processes.
"""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from engiagent.models.hvac import moist_air
from engiagent.models.parameters import numbers, within
from engiagent.models.ranges import Floats, ParameterError


@dataclass(frozen=True, kw_only=True)
class AirStream:
    """Moist air that flows; arrays of any shapes that broadcast.

    Attributes
    ----------
    flow
        Dry air. At least 0. [kg/s]
    temperature
        Dry bulb. [degC]
    humidity_ratio
        At least 0. [kg/kg dry air]

    Examples
    --------
    >>> stream = AirStream(flow=2.0, temperature=20.0, humidity_ratio=0.007)
    >>> round(float(stream.enthalpy), 3), float(stream.water)
    (37.887, 0.014)
    """

    flow: npt.ArrayLike
    temperature: npt.ArrayLike
    humidity_ratio: npt.ArrayLike

    def __post_init__(self) -> None:
        within(self.flow, "the flow of dry air", "kg/s", low=0.0)
        numbers(self.temperature, "the temperature of the air")
        within(self.humidity_ratio, "the humidity ratio", "kg/kg", low=0.0)

    @property
    def enthalpy(self) -> Floats:
        """The enthalpy. [kJ/kg dry air]."""
        return moist_air.enthalpy(self.temperature, self.humidity_ratio)

    @property
    def power(self) -> Floats:
        """The enthalpy flow. [kW]."""
        return np.asarray(np.asarray(self.flow) * self.enthalpy)

    @property
    def water(self) -> Floats:
        """The flow of vapour. [kg/s]."""
        return np.asarray(np.asarray(self.flow) * np.asarray(self.humidity_ratio))

    @property
    def heat_rate(self) -> Floats:
        """The capacity rate, vapour included. [kW/K]."""
        return np.asarray(np.asarray(self.flow) * moist_air.heat_capacity(self.humidity_ratio))

    def with_flow(self, flow: npt.ArrayLike) -> "AirStream":
        """Return air of the same state at another flow [kg/s]."""
        return AirStream(
            flow=flow, temperature=self.temperature, humidity_ratio=self.humidity_ratio
        )

    def in_fog(self, pressure: npt.ArrayLike = moist_air.STANDARD_PRESSURE) -> Floats:
        """Return by how much the humidity ratio is above saturation; 0 where it is not. [kg/kg]."""
        most = moist_air.saturation_humidity_ratio(self.temperature, pressure)
        return np.asarray(np.maximum(np.asarray(self.humidity_ratio) - most, 0.0))


def mix(*streams: AirStream) -> AirStream:
    """Return what streams become in a mixing box, adiabatically.

    Two streams may mix to fog, see :meth:`AirStream.in_fog`; no water leaves the box.

    Raises
    ------
    ParameterError
        When there is no stream or no flow.

    Examples
    --------
    >>> cold = AirStream(flow=1.0, temperature=0.0, humidity_ratio=0.003)
    >>> warm = AirStream(flow=3.0, temperature=20.0, humidity_ratio=0.007)
    >>> mixed = mix(cold, warm)
    >>> float(mixed.flow), round(float(mixed.humidity_ratio), 6), round(float(mixed.temperature), 3)
    (4.0, 0.006, 15.027)
    """
    flow = np.asarray(sum(np.asarray(stream.flow, dtype=np.float64) for stream in streams))
    if not (flow > 0).all():
        raise ParameterError("a mixing box has no flow; give at least one stream above 0 kg/s")
    ratio = np.asarray(sum(stream.water for stream in streams)) / flow
    heat = np.asarray(sum(stream.power for stream in streams)) / flow
    return AirStream(
        flow=flow, temperature=moist_air.temperature_of_enthalpy(heat, ratio), humidity_ratio=ratio
    )


def heated(stream: AirStream, heat: npt.ArrayLike) -> AirStream:
    """Return a stream after sensible heat [kW] is added; negative heat cools it without condensing.

    Raises
    ------
    ParameterError
        When heat meets no flow.
    """
    power = numbers(heat, "the heat")
    rate = stream.heat_rate
    if ((rate == 0) & (power != 0)).any():
        raise ParameterError("heat goes to air that does not flow; give a flow or no heat")
    rise = power / np.where(rate > 0, rate, 1.0)
    return AirStream(
        flow=stream.flow,
        temperature=np.asarray(stream.temperature) + rise,
        humidity_ratio=stream.humidity_ratio,
    )


@dataclass(frozen=True, kw_only=True)
class Humidified:
    """Air after a humidifier, the water it took up [kg/s] and the power that took [kW]."""

    air: AirStream
    water: Floats
    power: Floats


@dataclass(frozen=True, kw_only=True)
class Humidifier:
    r"""Water into air, with its enthalpy.

    .. math:: \dot m_w = \dot m_a (W_2 - W_1), \quad h_2 = h_1 + (W_2 - W_1) h_w

    With the enthalpy of steam :math:`h_w` of about 2676 kJ/kg the air keeps nearly its temperature;
    with that of liquid water (4.186 times its temperature) it cools as its wet bulb allows.

    Attributes
    ----------
    water_enthalpy
        What a kilogram of water brings into the air; 2676 for steam of 100 degC. [kJ/kg]
    feed_enthalpy
        What it has in the pipe; the difference is heated by the humidifier. [kJ/kg]
    efficiency
        Heat into the water over power. Above 0, at most 1. [-]
    water_max
        Capacity; infinite when there is none. [kg/s]

    Examples
    --------
    >>> air = AirStream(flow=1.0, temperature=20.0, humidity_ratio=0.004)
    >>> wet = Humidifier().humidify(air, 0.008)
    >>> round(float(wet.water), 9), round(float(wet.power), 3), round(float(wet.air.temperature), 2)
    (0.004, 10.536, 20.54)
    """

    water_enthalpy: npt.ArrayLike = 2676.0
    feed_enthalpy: npt.ArrayLike = 42.0
    efficiency: npt.ArrayLike = 1.0
    water_max: npt.ArrayLike = field(default=np.inf)

    def __post_init__(self) -> None:
        within(self.water_enthalpy, "the enthalpy of the water", "kJ/kg", low=0.0, high=3000.0)
        within(self.feed_enthalpy, "the enthalpy of the feed", "kJ/kg", low=0.0, high=420.0)
        if (np.asarray(self.feed_enthalpy) > np.asarray(self.water_enthalpy)).any():
            raise ParameterError(
                "the feed has more enthalpy than what goes into the air; swap them"
            )
        within(self.efficiency, "the efficiency", "-", low=0.0, high=1.0, above=True)
        within(self.water_max, "the capacity", "kg/s", low=0.0, finite=False)

    def humidify(self, air: AirStream, humidity_ratio: npt.ArrayLike) -> Humidified:
        """Return air with at least a humidity ratio [kg/kg]; wetter air passes unchanged.

        Whether that is more than the capacity or than the air can hold, say
        :meth:`violations` and :meth:`AirStream.in_fog`.
        """
        wanted = within(humidity_ratio, "the humidity ratio", "kg/kg", low=0.0)
        ratio = np.maximum(wanted, np.asarray(air.humidity_ratio))
        rise = ratio - np.asarray(air.humidity_ratio)
        heat = air.enthalpy + rise * np.asarray(self.water_enthalpy)
        water = np.asarray(air.flow) * rise
        added = np.asarray(self.water_enthalpy) - np.asarray(self.feed_enthalpy)
        return Humidified(
            air=AirStream(
                flow=air.flow,
                temperature=moist_air.temperature_of_enthalpy(heat, ratio),
                humidity_ratio=ratio,
            ),
            water=np.asarray(water),
            power=np.asarray(water * added / np.asarray(self.efficiency)),
        )

    def violations(self, water: npt.ArrayLike) -> Floats:
        """Return by how much a flow of water is above the capacity. [kg/s]."""
        return np.asarray(np.maximum(numbers(water, "the water") - np.asarray(self.water_max), 0.0))
