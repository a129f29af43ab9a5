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
from engiagent.models.ranges import Floats, hours_of_steps, numbers, over_time, within
from engiagent.models.recursion import linear_recursion, phi1, phi2

SECONDS = 3600.0


@dataclass(frozen=True, kw_only=True)
class TankPath:
    """What N periods, or one, did to a tank."""

    temperature: Floats  # at the N+1 instants; of one period at its end. [degC]
    mean_temperature: Floats  # of each period. [degC]
    loss: Floats  # heat to the surroundings. [kW]


@dataclass(frozen=True, kw_only=True)
class MixedTank:
    """A mixed tank; numbers may be arrays over units.

    Examples
    --------
    >>> tank = MixedTank(mass=860.0, loss_conductance=0.002)  # 1 kWh/K
    >>> path = tank.simulate(50.0, step_hours=1.0, heat=[2.0, 0.0], ambient=20.0)
    >>> path.temperature.round(4).tolist()
    [50.0, 51.9381, 51.8743]
    """

    mass: npt.ArrayLike  # of the water. Above 0. [kg]
    loss_conductance: npt.ArrayLike = 0.0  # to the surroundings. At least 0. [kW/K]

    def __post_init__(self) -> None:
        within(self.mass, "the mass of water", "kg", low=0.0, above=True)
        within(self.loss_conductance, "the conductance of the loss", "kW/K", low=0.0)

    @property
    def capacity(self) -> Floats:
        """Heat that warms the tank by one kelvin. [kWh/K]."""
        return np.asarray(np.asarray(self.mass) * SPECIFIC_HEAT / SECONDS)

    def energy(self, temperature: npt.ArrayLike, reference: npt.ArrayLike = 0.0) -> Floats:
        """Return the heat in the tank above a reference temperature. [kWh]."""
        above = numbers(temperature, "the temperature") - numbers(reference, "the reference")
        return np.asarray(self.capacity * above)

    def simulate(
        self,
        initial: npt.ArrayLike,
        *,
        step_hours: npt.ArrayLike,
        heat: npt.ArrayLike = 0.0,
        ambient: npt.ArrayLike = 20.0,
    ) -> TankPath:
        """Return the path of the temperature.

        ``initial``: temperature at the first instant, one number or shape (units,). [degC]
        ``step_hours``: length of each period. [h] ``heat``: into the water; negative where it is
        taken out. Its leading axis is time. [kW] ``ambient``: around the tank. [degC]
        """
        start = numbers(initial, "the initial temperature")
        timed = [np.shape(value) for value in (heat, ambient, step_hours) if np.ndim(value)]
        length = max((shape[0] for shape in timed), default=1)
        units = (start.shape, self.capacity.shape, *(shape[1:] for shape in timed))
        shape = (length, *np.broadcast_shapes(*units))
        hours = hours_of_steps(step_hours, shape)
        loss = np.asarray(self.loss_conductance, dtype=np.float64)
        around = over_time(ambient, shape, "the ambient temperature")
        span = loss * hours / self.capacity
        first, second = phi1(span), phi2(span)
        gain = (over_time(heat, shape, "the heat") + loss * around) * hours / self.capacity
        path = linear_recursion(np.exp(-span), first * gain, start)
        mean = first * path[:-1] + second * gain
        return TankPath(
            temperature=path, mean_temperature=mean, loss=np.asarray(loss * (mean - around))
        )

    def step(
        self,
        temperature: npt.ArrayLike,
        *,
        step_hours: npt.ArrayLike,
        heat: npt.ArrayLike = 0.0,
        ambient: npt.ArrayLike = 20.0,
    ) -> TankPath:
        """Return the tank after one period; arguments as in :meth:`simulate`, without time."""
        path = self.simulate(
            temperature,
            step_hours=np.asarray(step_hours)[None],
            heat=np.asarray(heat)[None],
            ambient=np.asarray(ambient)[None],
        )
        return TankPath(
            temperature=path.temperature[1],
            mean_temperature=path.mean_temperature[0],
            loss=path.loss[0],
        )
