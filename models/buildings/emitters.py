r"""Radiators by exponent, driven by flow and supply temperature.

.. math::
   \dot Q = \dot Q_N \left(\frac{\Delta T_{lm}}{\Delta T_{lm,N}}\right)^n
          = \dot m c\,(T_s - T_r), \qquad
   \Delta T_{lm} = \frac{T_s - T_r}{\ln\frac{T_s - T_a}{T_r - T_a}}

The first falls with the drop of temperature and the second rises, so that one return temperature
:math:`T_r` between room :math:`T_a` and supply :math:`T_s` satisfies both.

Source: EN 442-2:2014 (nominal output at 75/65/20 degC, exponent by test); B. Glück,
Wärmeübertragung, 2nd ed., 1990 (logarithmic mean in the characteristic).
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engiagent.models.hvac.roots import bracketed_root
from engiagent.models.hvac.water import SPECIFIC_HEAT
from engiagent.models.ranges import Floats, ParameterError, numbers, within


def log_mean(first: npt.ArrayLike, second: npt.ArrayLike) -> Floats:
    """Return the logarithmic mean of two differences of temperature of at least 0. [K].

    Examples
    --------
    >>> log_mean([50.0, 55.0, 10.0], [50.0, 45.0, 0.0]).round(6).tolist()
    [50.0, 49.832887, 0.0]
    """
    a, b = np.broadcast_arrays(
        within(first, "a difference of temperature", "K", low=0.0),
        within(second, "a difference of temperature", "K", low=0.0),
    )
    high, low = np.maximum(a, b), np.minimum(a, b)
    safe = np.where(low > 0, low, 1.0)
    # gap / log1p(gap / low) keeps its digits for equal ends, where it tends to them.
    ratio = np.where(low > 0, (high - low) / safe, 1.0)
    near = np.where(ratio > 1e-12, ratio, 1.0)
    mean = np.where(ratio > 1e-12, safe * near / np.log1p(near), safe)
    return np.where(low > 0, mean, 0.0)


@dataclass(frozen=True)
class Emission:
    """What a radiator gives; arrays of the inputs' common shape.

    Attributes
    ----------
    heat
        Into the room; negative when the water is colder than the room. [kW]
    return_temperature
        Of the water that leaves; the room's where nothing flows. [degC]
    """

    heat: Floats
    return_temperature: Floats


@dataclass(frozen=True, kw_only=True)
class Radiator:
    """A radiator, or several when parameters are arrays; also convectors and ceilings.

    Attributes
    ----------
    nominal_power
        At the nominal temperatures. Above 0. [kW]
    exponent
        1 to 2; about 1.3 for radiators, 1.1 for floors, 1.4 for convectors. [-]
    nominal_supply, nominal_return, nominal_room
        75/65/20 in EN 442. [degC]
    radiant_fraction
        Share of the heat by radiation, 0 to 1; about 0.3 for panels with convection sheets. [-]

    Examples
    --------
    >>> radiator = Radiator(nominal_power=1.0)
    >>> flow = radiator.nominal_flow
    >>> nominal = radiator.emission(flow, 75.0, 20.0)
    >>> round(float(nominal.heat), 9), round(float(nominal.return_temperature), 9)
    (1.0, 65.0)
    """

    nominal_power: npt.ArrayLike
    exponent: npt.ArrayLike = 1.3
    nominal_supply: float = 75.0
    nominal_return: float = 65.0
    nominal_room: float = 20.0
    radiant_fraction: npt.ArrayLike = 0.3

    def __post_init__(self) -> None:
        within(self.nominal_power, "the nominal power", "kW", low=0.0, above=True)
        within(self.exponent, "the exponent", "-", low=1.0, high=2.0)
        within(self.radiant_fraction, "the radiant fraction", "-", low=0.0, high=1.0)
        if not self.nominal_supply > self.nominal_return > self.nominal_room:
            raise ParameterError(
                f"the nominal temperatures {self.nominal_supply:g}/{self.nominal_return:g}/"
                f"{self.nominal_room:g} degC do not fall; give supply, return and room, as 75/65/20"
            )

    @property
    def nominal_flow(self) -> Floats:
        """[kg/s]."""
        drop = self.nominal_supply - self.nominal_return
        return np.asarray(self.nominal_power) / (SPECIFIC_HEAT * drop)

    @property
    def nominal_difference(self) -> float:
        """Logarithmic mean at the nominal temperatures. [K]."""
        room = self.nominal_room
        return float(log_mean(self.nominal_supply - room, self.nominal_return - room))

    def characteristic(self, difference: npt.ArrayLike) -> Floats:
        """Return the heat at a logarithmic mean difference [K]. [kW]."""
        mean = within(difference, "the difference", "K", low=0.0)
        part = mean / self.nominal_difference
        return np.asarray(np.asarray(self.nominal_power) * part ** np.asarray(self.exponent))

    def emission(self, flow: npt.ArrayLike, supply: npt.ArrayLike, room: npt.ArrayLike) -> Emission:
        """Return heat and return temperature.

        Water colder than the room takes heat by the same law, as a chilled ceiling does.

        Parameters
        ----------
        flow
            Of water. At least 0. [kg/s]
        supply, room
            [degC]
        """
        stream, hot, cold, _, _ = np.broadcast_arrays(
            SPECIFIC_HEAT * within(flow, "the flow", "kg/s", low=0.0),
            numbers(supply, "the supply temperature"),
            numbers(room, "the room temperature"),
            np.asarray(self.nominal_power, dtype=np.float64),
            np.asarray(self.exponent, dtype=np.float64),
        )
        gap = np.abs(hot - cold)
        moves = (stream > 0) & (gap > 0)
        span = np.where(moves, gap, 1.0)
        power = np.where(moves, stream, 1.0)

        def surplus(share: Floats) -> Floats:
            """Heat of the characteristic less that of the water, for a return at this share."""
            return self.characteristic(log_mean(span, share * span)) - power * span * (1.0 - share)

        share = bracketed_root(surplus, np.zeros(gap.shape), np.ones(gap.shape), "the return")
        heat = np.where(moves, power * span * (1.0 - share), 0.0) * np.sign(hot - cold)
        # Nothing flows: what stands in the radiator has the temperature of the room.
        leaving = np.where(stream > 0, cold + np.where(moves, share, 1.0) * (hot - cold), cold)
        return Emission(heat, leaving)
