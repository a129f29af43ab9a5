r"""Draws of domestic hot water: tappings that a user gives, as heat and flow of each period.

.. math:: t = \frac{E}{\dot m c\,(T_d - T_c)}, \qquad
          \dot m_{tank} = \dot m\,\frac{T_d - T_c}{T_t - T_c}

A tapping takes an energy :math:`E` at a flow :math:`\dot m` of the temperature :math:`T_d` at the
tap, mixed from tank :math:`T_t` and cold water :math:`T_c`. Profiles such as those of EN 16147 are
data of the user; none is built in.

Source: EN 16147:2017, clause 7 (useful energy, flow and temperature of each tapping).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engiagent.models.buildings.emitters import WATER
from engiagent.models.parameters import numbers, within
from engiagent.models.ranges import Floats, ParameterError, steps


@dataclass(frozen=True, kw_only=True)
class Tapping:
    """One draw.

    Attributes
    ----------
    start
        From the beginning of the day or the horizon. At least 0. [h]
    energy
        Above the cold water. Above 0. [kWh]
    flow
        At the tap. Above 0. [kg/s]
    temperature
        At the tap, above that of the cold water. [degC]
    """

    start: float
    energy: float
    flow: float
    temperature: float = 40.0

    def __post_init__(self) -> None:
        within(self.start, "the start of a tapping", "h", low=0.0)
        within(self.energy, "the energy of a tapping", "kWh", low=0.0, above=True)
        within(self.flow, "the flow of a tapping", "kg/s", low=0.0, above=True)
        within(self.temperature, "the temperature at the tap", "degC", low=0.0, high=100.0)


@dataclass(frozen=True)
class Draw:
    """Means of N periods, shape (N,).

    Attributes
    ----------
    heat
        Above the cold water. [kW]
    flow
        At the taps. [kg/s]
    from_tank
        What the tank gives; the rest is cold water. [kg/s]
    """

    heat: Floats
    flow: Floats
    from_tank: Floats


def draws(
    tappings: Sequence[Tapping],
    step_hours: npt.ArrayLike,
    *,
    periods: int,
    cold: float = 10.0,
    tank: npt.ArrayLike = 60.0,
    daily: bool = True,
    first_hour: float = 0.0,
) -> Draw:
    """Return heat and flow of the periods, exact for tappings that cross their edges.

    Parameters
    ----------
    tappings
        In any order; they may overlap.
    step_hours
        A number or shape (N,). [h]
    periods
        N. At least 1.
    cold
        Temperature of the cold water. [degC]
    tank
        Temperature of the water that the tank gives, a number or shape (N,). [degC]
    daily
        Whether the tappings come again every 24 h; those that run over midnight go on.
    first_hour
        Hour of the day, or of the horizon, at which the first period begins. At least 0. [h]

    Raises
    ------
    ParameterError
        When a temperature at the tap is not above the cold water, or the tank is colder than a
        tap while it draws.

    Examples
    --------
    >>> shower = Tapping(start=7.0, energy=1.4, flow=0.1)
    >>> draw = draws([shower], 1.0, periods=24)
    >>> float(draw.heat[7].round(9)), float(draw.heat.sum().round(9))
    (1.4, 1.4)
    """
    hours = steps(step_hours, periods)
    within(first_hour, "the first hour", "h", low=0.0)
    warm = numbers(tank, "the temperature of the tank")
    if warm.shape not in ((), (periods,)):
        raise ParameterError(f"the tank has the shape {warm.shape}; give one value or {periods}")
    edges = first_hour + np.concatenate(([0.0], np.cumsum(hours)))
    heat, flow, hot = np.zeros(periods), np.zeros(periods), np.zeros(periods)
    for tapping in tappings:
        lift = tapping.temperature - cold
        if not lift > 0:
            raise ParameterError(
                f"a tapping at {tapping.start:g} h asks for {tapping.temperature:g} degC, not "
                f"above the cold water of {cold:g} degC"
            )
        rate = tapping.flow * WATER * lift
        share = _run(edges, tapping.start, tapping.energy / rate, daily)
        if not (warm >= tapping.temperature)[() if warm.ndim == 0 else share > 0].all():
            raise ParameterError(
                f"the tank is colder than the {tapping.temperature:g} degC of a tapping at "
                f"{tapping.start:g} h; the tap gets less than it asks for: raise the tank"
            )
        gap = np.where(warm > cold, warm - cold, np.inf)
        heat += share * rate / hours
        flow += share * tapping.flow / hours
        hot += share * tapping.flow * lift / gap / hours
    return Draw(heat, flow, hot)


def _run(edges: Floats, start: float, length: float, daily: bool) -> Floats:
    """Return how many hours of each period a draw runs."""
    if not daily:
        total = np.clip(edges - start, 0.0, length)
    elif length > 24.0:
        raise ParameterError(
            f"a daily tapping at {start:g} h lasts {length:g} h; give a larger flow"
        )
    else:
        days, rest = np.divmod(edges - start % 24.0, 24.0)
        total = days * length + np.minimum(rest, length)
    return np.diff(total)
