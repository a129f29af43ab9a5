r"""A tank of water of one temperature, solved exactly over a step.

.. math:: C \frac{dT}{dt} = U (T_a - T) + \sum_i \dot m_i c_w (T_i - T) + \dot Q

For inputs held over a step it decays exponentially towards its steady temperature, so that steps of
any length agree.

Source: first-order linear store; J. A. Duffie and W. A. Beckman, Solar Engineering of Thermal
Processes, 4th ed., 2013, section 8.3.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engiagent.models.hvac.water import SPECIFIC_HEAT
from engiagent.models.ranges import (
    Floats,
    ParameterError,
    hours_of_steps,
    numbers,
    over_time,
    within,
)
from engiagent.models.recursion import linear_recursion, phi1, phi2

SECONDS = 3600.0


@dataclass(frozen=True, kw_only=True)
class Inflow:
    """Water that flows through a tank: as much leaves as comes in.

    Attributes
    ----------
    flow
        At least 0. [kg/s]
    temperature
        As it enters. [degC]
    """

    flow: npt.ArrayLike
    temperature: npt.ArrayLike


@dataclass(frozen=True, kw_only=True)
class TankPath:
    """What N periods, or one, did to a tank.

    Attributes
    ----------
    temperature
        At the N+1 instants; of one period at its end. [degC]
    mean_temperature
        Of each period: that of the water that left. [degC]
    inflow_heat
        Heat of each flow, positive into the tank, shape (flows, …). [kW]
    loss
        Heat to the surroundings. [kW]
    """

    temperature: Floats
    mean_temperature: Floats
    inflow_heat: Floats
    loss: Floats


@dataclass(frozen=True, kw_only=True)
class MixedTank:
    """A mixed tank; numbers may be arrays over units.

    Attributes
    ----------
    mass
        Of the water. Above 0. [kg]
    loss_conductance
        To the surroundings. At least 0. [kW/K]
    temperature_min, temperature_max
        Limits that :meth:`violations` reports. [degC]

    Examples
    --------
    >>> tank = MixedTank(mass=860.0, loss_conductance=0.002)  # 1 kWh/K
    >>> path = tank.simulate(50.0, step_hours=1.0, heat=[2.0, 0.0], ambient=20.0)
    >>> path.temperature.round(4).tolist()
    [50.0, 51.9381, 51.8743]
    """

    mass: npt.ArrayLike
    loss_conductance: npt.ArrayLike = 0.0
    temperature_min: npt.ArrayLike = 0.0
    temperature_max: npt.ArrayLike = 100.0

    def __post_init__(self) -> None:
        within(self.mass, "the mass of water", "kg", low=0.0, above=True)
        within(self.loss_conductance, "the conductance of the loss", "kW/K", low=0.0)
        low = numbers(self.temperature_min, "the least temperature")
        if not (low < numbers(self.temperature_max, "the largest temperature")).all():
            raise ParameterError(
                f"the temperatures go from {self.temperature_min} to {self.temperature_max} degC; "
                "give minimum < maximum"
            )

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
        inflows: Sequence[Inflow] = (),
    ) -> TankPath:
        """Return the path of the temperature; limits are reported by :meth:`violations`.

        Parameters
        ----------
        initial
            Temperature at the first instant, one number or shape (units,). [degC]
        step_hours
            Length of each period. [h]
        heat
            Into the water; negative where it is taken out. Its leading axis is time. [kW]
        ambient
            Around the tank. [degC]
        inflows
            Of water, each with one number, shape (N,) or (N, units).
        """
        start = numbers(initial, "the initial temperature")
        shape = _shape(
            (
                np.shape(heat),
                np.shape(ambient),
                np.shape(step_hours),
                *(np.shape(v) for flow in inflows for v in (flow.flow, flow.temperature)),
            ),
            np.broadcast_shapes(start.shape, self.capacity.shape),
        )
        hours = hours_of_steps(step_hours, shape)
        flows = [over_time(flow.flow, shape, "a flow") for flow in inflows]
        for flow in flows:
            within(flow, "a flow", "kg/s", low=0.0)
        entering = [over_time(flow.temperature, shape, "the inlet of a flow") for flow in inflows]
        rates = [flow * SPECIFIC_HEAT for flow in flows]
        loss = np.asarray(self.loss_conductance, dtype=np.float64)
        around = over_time(ambient, shape, "the ambient temperature")
        total = loss + sum(rates, np.zeros(shape))
        drive = over_time(heat, shape, "the heat") + loss * around
        drive = drive + sum((r * t for r, t in zip(rates, entering, strict=True)), np.zeros(shape))
        span = total * hours / self.capacity
        first, second = phi1(span), phi2(span)
        gain = drive * hours / self.capacity
        path = linear_recursion(np.exp(-span), first * gain, start)
        mean = first * path[:-1] + second * gain
        return TankPath(
            temperature=path,
            mean_temperature=mean,
            inflow_heat=np.asarray(
                [r * (t - mean) for r, t in zip(rates, entering, strict=True)]
            ).reshape(len(rates), *shape),
            loss=np.asarray(loss * (mean - around)),
        )

    def step(
        self,
        temperature: npt.ArrayLike,
        *,
        step_hours: npt.ArrayLike,
        heat: npt.ArrayLike = 0.0,
        ambient: npt.ArrayLike = 20.0,
        inflows: Sequence[Inflow] = (),
    ) -> TankPath:
        """Return the tank after one period; arguments as in :meth:`simulate`, without time."""
        path = self.simulate(
            temperature,
            step_hours=np.asarray(step_hours)[None],
            heat=np.asarray(heat)[None],
            ambient=np.asarray(ambient)[None],
            inflows=[
                Inflow(flow=np.asarray(f.flow)[None], temperature=np.asarray(f.temperature)[None])
                for f in inflows
            ],
        )
        return TankPath(
            temperature=path.temperature[1],
            mean_temperature=path.mean_temperature[0],
            inflow_heat=path.inflow_heat[:, 0],
            loss=path.loss[0],
        )

    def violations(self, temperature: npt.ArrayLike) -> Floats:
        """Return by how much temperatures leave the limits; 0 where they keep them. [K]."""
        value = numbers(temperature, "the temperature")
        below = np.asarray(self.temperature_min) - value
        return np.asarray(
            np.maximum(np.maximum(below, value - np.asarray(self.temperature_max)), 0.0)
        )


def _shape(series: Sequence[tuple[int, ...]], units: tuple[int, ...]) -> tuple[int, ...]:
    """Return (N,) or (N, units) from the shapes of all series, whose first axis is time."""
    timed = [shape for shape in series if shape]
    length = max((shape[0] for shape in timed), default=1)
    return (length, *np.broadcast_shapes(units, *(shape[1:] for shape in timed)))
