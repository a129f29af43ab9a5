r"""A tank of water of one temperature, solved exactly over a step.

.. math:: C \frac{dT}{dt} = U (T_a - T) + \dot Q

For inputs held over a step it decays exponentially towards its steady temperature, so that steps of
any length agree.

Source: first-order linear store; J. A. Duffie and W. A. Beckman, Solar Engineering of Thermal
Processes, 4th ed., 2013, section 8.3.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engiagent.models.hvac.water import SPECIFIC_HEAT
from engiagent.models.ranges import Floats, not_negative, numbers, positive, series, steps
from engiagent.models.recursion import linear_recursion, phi1, phi2

SECONDS = 3600.0


@dataclass(frozen=True, kw_only=True)
class TankPath:
    """What N periods, or one, did to a tank."""

    temperature: Floats  # at the N+1 instants; of one period at its end. [degC]
    loss: Floats  # mean heat to the surroundings of each period. [kW]


@dataclass(frozen=True, kw_only=True)
class MixedTank:
    """A mixed tank.

    Examples
    --------
    >>> tank = MixedTank(mass=860.0, loss_conductance=0.002)  # 1 kWh/K
    >>> path = tank.simulate(50.0, step_hours=1.0, heat=[2.0, 0.0], ambient=20.0)
    >>> path.temperature.round(4).tolist()
    [50.0, 51.9381, 51.8743]
    """

    mass: float  # of the water. Above 0. [kg]
    loss_conductance: float = 0.0  # to the surroundings. At least 0. [kW/K]

    def __post_init__(self) -> None:
        positive(self.mass, "the mass of water", "kg")
        not_negative(self.loss_conductance, "the conductance of the loss", "kW/K")

    @property
    def capacity(self) -> float:
        """Heat that warms the tank by one kelvin. [kWh/K]."""
        return self.mass * SPECIFIC_HEAT / SECONDS

    def energy(self, temperature: npt.ArrayLike, reference: npt.ArrayLike = 0.0) -> Floats:
        """Return the heat in the tank above a reference temperature. [kWh]."""
        above = numbers(temperature, "the temperature") - numbers(reference, "the reference")
        return np.asarray(self.capacity * above)

    def simulate(
        self,
        initial: float,
        *,
        step_hours: npt.ArrayLike,
        heat: npt.ArrayLike = 0.0,
        ambient: npt.ArrayLike = 20.0,
    ) -> TankPath:
        """Return the path of the temperature.

        ``initial``: temperature at the first instant. [degC] ``step_hours``: length of each period.
        [h] ``heat``: into the water, negative where it is taken out. [kW] ``ambient``: around the
        tank. [degC] Each is one number or has the shape (N,).
        """
        length = max(np.size(value) for value in (heat, ambient, step_hours))
        hours, around = steps(step_hours, length), series(ambient, length, "the ambient")
        span, gain = self._step(hours, series(heat, length, "the heat"), around)
        path = linear_recursion(np.exp(-span), phi1(span) * gain, np.asarray(initial))
        mean = phi1(span) * path[:-1] + phi2(span) * gain
        return TankPath(temperature=path, loss=self.loss_conductance * (mean - around))

    def step(
        self,
        temperature: npt.ArrayLike,
        *,
        step_hours: npt.ArrayLike,
        heat: npt.ArrayLike = 0.0,
        ambient: npt.ArrayLike = 20.0,
    ) -> TankPath:
        """Return the tank after one period; of arrays, after one period of each."""
        before, around = numbers(temperature, "the temperature"), np.asarray(ambient)
        span, gain = self._step(np.asarray(step_hours), np.asarray(heat), around)
        after = np.exp(-span) * before + phi1(span) * gain
        mean = phi1(span) * before + phi2(span) * gain
        return TankPath(temperature=after, loss=self.loss_conductance * (mean - around))

    def _step(self, hours: Floats, heat: Floats, ambient: Floats) -> tuple[Floats, Floats]:
        """Return the decay and the warming by heat and surroundings of a step. [-], [K]."""
        per_kelvin = hours / self.capacity
        return (
            np.asarray(self.loss_conductance * per_kelvin),
            np.asarray((heat + self.loss_conductance * ambient) * per_kelvin),
        )
