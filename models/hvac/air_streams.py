r"""Streams of moist air: mixing, heating and humidifying with exact balances.

A stream carries dry air, and with it water and enthalpy:

.. math:: \sum \dot m_a, \qquad \sum \dot m_a W, \qquad \sum \dot m_a h

are what every process here keeps but for what it says it adds or takes away.

Source: ASHRAE Handbook Fundamentals (SI), 2017, chapter 1, typical air-conditioning processes.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engiagent.models.hvac import moist_air
from engiagent.models.ranges import Floats, ParameterError, numbers, within


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
    """Return a stream after sensible heat [kW]; negative heat cools it without condensing."""
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
