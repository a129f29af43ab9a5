r"""Stores of heat and cold: tanks of one temperature, ice, and tanks in layers.

A tank of water of one temperature, solved exactly over a step.

.. math:: C \frac{dT}{dt} = U (T_a - T) + \dot Q

For inputs held over a step it decays exponentially towards its steady temperature, so that steps of
any length agree.

Source: first-order linear store; J. A. Duffie and W. A. Beckman, Solar Engineering of Thermal
Processes, 4th ed., 2013, section 8.3.

Ice storage by curves: latent heat between all water and all ice.

What the tank can take or give follows from its content :math:`x` and the mean temperature
difference of the brine,

.. math:: q^* = c_1 + c_2 x + c_3 x^2 + (c_4 + c_5 x + c_6 x^2)\, \Delta T^*_{lm}, \quad
          \dot Q = q^* E / \Delta t_c

where :math:`x` is the fraction charged (for charging) or discharged (for discharging). Its content
is that of a battery without efficiencies.

Source: EnergyPlus Engineering Reference, Detailed Ice Storage Model (quadratic linear curve); R. K.
Strand, C. O. Pedersen, G. N. Coleman, Development of direct and indirect ice-storage models for
energy analysis calculations, ASHRAE Transactions 100(1), 1994, 1230-1244.

A stratified tank: layers of water, from the top down, with conduction, draws and buoyancy.

Layer :math:`i` of capacity :math:`C` has

.. math::
    C \frac{dT_i}{dt} = K (T_{i-1} - 2 T_i + T_{i+1}) + U_i (T_a - T_i)
      + \dot m c (T_{i+1} - T_i) + \dot Q_i

with :math:`K = \lambda A / \Delta z` and the flow :math:`\dot m` of a draw, which enters cold at
the bottom and leaves at the top (upwind). What people draw is tank water mixed with cold water to
the temperature of use,

.. math:: \dot m = \dot m_{use} \frac{T_{use} - T_{cold}}{T_{top} - T_{cold}},

and all tank water where the tank is colder than that; the heat that is then missing is reported.

Over a step the layers are linear in their inputs and solved by the matrix exponential. After it,
layers that lie on warmer, lighter ones (water above 4 degC) are mixed: pools of equal temperature
with the least change, which is the isotonic regression of the temperatures and keeps energy.

Source: J. A. Duffie and W. A. Beckman, Solar Engineering of Thermal Processes, 4th ed., 2013,
section 8.4; EN 15450:2007, annex E, for draws; R. E. Barlow et al., Statistical Inference under
Order Restrictions, 1972, for the isotonic regression.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engiagent.models.hvac.fluids import SPECIFIC_HEAT
from engiagent.models.ranges import (
    Floats,
    ParameterError,
    not_negative,
    numbers,
    positive,
    series,
    share,
    steps,
)
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


@dataclass(frozen=True, kw_only=True)
class IceTankCurves:
    """Limits of ice storage by curves of EnergyPlus's form.

    Examples
    --------
    >>> curve = (0.0, 0.09, -0.15, 0.612, -0.324, -0.216)
    >>> tank = IceTankCurves(energy_capacity=1000.0, charge_curve=curve, discharge_curve=curve)
    >>> tank.charge_limit(500.0, difference=4.0).round(2).tolist()
    165.9
    """

    energy_capacity: float  # cold of all the ice. Above 0. [kWh]
    # charge_curve, discharge_curve: six coefficients each. [-]
    charge_curve: tuple[float, ...]
    discharge_curve: tuple[float, ...]
    curve_hours: float = 1.0  # time basis of the curves: 1 for published ones. Above 0. [h]
    # by which the mean temperature difference is divided; 10. Above 0. [K]
    nominal_difference: float = 10.0

    def __post_init__(self) -> None:
        positive(self.energy_capacity, "the capacity of the ice", "kWh")
        positive(self.curve_hours, "the time basis of the curves", "h")
        positive(self.nominal_difference, "the nominal difference", "K")
        for curve in (self.charge_curve, self.discharge_curve):
            if len(numbers(curve, "a coefficient of a curve")) != 6:
                raise ParameterError(f"a curve of ice has {len(curve)} coefficients; give 6")

    def charge_limit(self, energy: npt.ArrayLike, *, difference: npt.ArrayLike) -> Floats:
        """Return the largest rate of freezing for a content [kWh] and mean difference [K]. [kW]."""
        return self._limit(self.charge_curve, self._ice(energy), difference)

    def discharge_limit(self, energy: npt.ArrayLike, *, difference: npt.ArrayLike) -> Floats:
        """Return the largest rate of melting for a content [kWh] and mean difference [K]. [kW]."""
        return self._limit(self.discharge_curve, 1.0 - self._ice(energy), difference)

    def _ice(self, energy: npt.ArrayLike) -> Floats:
        content = numbers(energy, "the cold in the store")
        return share(content / self.energy_capacity, "the fraction of ice")

    def _limit(self, c: tuple[float, ...], x: Floats, difference: npt.ArrayLike) -> Floats:
        mean = not_negative(difference, "the mean temperature difference", "K")
        slope = (c[3] + x * (c[4] + x * c[5])) * mean / self.nominal_difference
        star = c[0] + x * (c[1] + x * c[2]) + slope
        return np.asarray(np.maximum(star, 0.0) * self.energy_capacity / self.curve_hours)


def advanced(matrix: Floats, drive: Floats, start: Floats, hours: float) -> tuple[Floats, Floats]:
    r"""Return end and mean over a step of ``x' = matrix x + drive``.

    They close the balance: ``end - start = h (matrix mean + drive)``.

    The mean rests on :math:`\varphi_2(M) = \sum_k M^k / (k+2)!`, found by scaling and doubling,
    :math:`\varphi_2(2M) = (e^M \varphi_2 + \varphi_1 + \varphi_2) / 4`. In layers that exchange
    heat all terms but the diagonal are positive, so that nothing cancels; for small matrices this
    is far quicker than a general exponential.

    ``matrix``: shape (n, n). [1/h] ``drive``, ``start``: shape (n,). [K/h], [degC]
    """
    scaled, gain, unit = matrix * hours, drive * hours, np.eye(len(start))
    size = float(np.abs(scaled).sum(axis=-1).max())
    doublings = max(int(np.ceil(np.log2(size))) + 1, 0) if size > 0 else 0
    small, second = scaled / 2.0**doublings, unit
    for k in range(16, 2, -1):
        second = unit + small @ second / k
    second = 0.5 * second
    first = unit + small @ second
    exponential = unit + small @ first
    for _ in range(doublings):
        second = 0.25 * (exponential @ second + first + second)
        first = 0.5 * (exponential @ first + first)
        exponential = exponential @ exponential
    mean = start + second @ (scaled @ start + gain)
    return start + scaled @ mean + gain, mean


def settled(temperature: Floats) -> Floats:
    r"""Return layers of equal mass after buoyancy has mixed them, the top first. [degC].

    .. math:: T_i = \min_{j \le i} \max_{k \ge i} \overline{T_{j..k}}

    is the nearest profile that does not rise downwards; it pools neighbours to their mean, so that
    the sum is kept.

    Examples
    --------
    >>> settled(np.array([50.0, 40.0, 46.0, 20.0, 30.0])).round(9).tolist()
    [50.0, 43.0, 43.0, 25.0, 25.0]
    """
    if not (np.diff(temperature) > 0).any():
        return temperature
    # Differences from the mean, so that rounding stays that of the differences.
    middle = temperature.mean()
    pools: list[tuple[float, int]] = []
    for value in (temperature - middle).tolist():
        pool, size = value, 1
        while pools and pools[-1][0] < pool:
            above, count = pools.pop()
            pool, size = (above * count + pool * size) / (count + size), size + count
        pools.append((pool, size))
    mixed = np.repeat([pool for pool, _ in pools], [size for _, size in pools])
    # What rounding changed goes back evenly: mixing neither makes nor loses heat.
    return np.asarray(middle + mixed - mixed.mean())


@dataclass(frozen=True, kw_only=True)
class LayersPath:
    """What N periods did to a stratified tank."""

    temperature: Floats  # of the layers at the N+1 instants, shape (N+1, layers). [degC]
    missing: Floats  # heat that the water drawn lacks, shape (N,). [kW]
    drawn: Floats  # heat that left with the water drawn, above that of the mains, (N,). [kW]
    loss: Floats  # heat to the surroundings, shape (N,). [kW]


@dataclass(frozen=True, kw_only=True)
class StratifiedTank:
    """A stratified tank, drawn from at the top.

    Examples
    --------
    >>> tank = StratifiedTank(mass=200.0, layers=5)
    >>> path = tank.simulate([60.0] * 5, step_hours=0.25, heat=[[0.0] * 5], use=0.1)
    >>> path.temperature[-1].round(2).tolist(), path.missing.round(4).tolist()
    ([59.38, 57.57, 52.25, 40.46, 23.01], [0.0309])
    """

    mass: float  # of all the water. Above 0. [kg]
    layers: int = 10  # how many of equal mass, 1 to 200. One is the mixed tank.
    # height, area: inside, for the conduction between layers. Above 0. [m], [m2]
    height: float = 1.5
    area: float = 0.5
    # of water, or more where wall and fittings conduct. At least 0. [W/(m K)]
    conductivity: float = 0.6
    # to the surroundings, of all of the tank; spread evenly over the layers. [kW/K]
    loss_conductance: float = 0.0

    def __post_init__(self) -> None:
        positive(self.mass, "the mass of water", "kg")
        positive(self.height, "the height", "m")
        positive(self.area, "the area", "m2")
        not_negative(self.conductivity, "the conductivity", "W/(m K)")
        not_negative(self.loss_conductance, "the conductance of the loss", "kW/K")
        if not 1 <= self.layers <= 200:
            raise ParameterError(f"the tank has {self.layers} layers; give 1 to 200")

    def energy(self, temperature: npt.ArrayLike, reference: npt.ArrayLike = 0.0) -> Floats:
        """Return the heat in layers of shape (…, layers) above a reference [degC]. [kWh]."""
        above = numbers(temperature, "the temperature") - numbers(reference, "the reference")
        return np.asarray(self._capacity * above.sum(axis=-1))

    @property
    def _capacity(self) -> float:
        """Heat that warms a layer by one kelvin. [kWh/K]."""
        return self.mass * SPECIFIC_HEAT / SECONDS / self.layers

    def simulate(
        self,
        initial: npt.ArrayLike,
        *,
        step_hours: npt.ArrayLike,
        heat: npt.ArrayLike,
        ambient: npt.ArrayLike = 20.0,
        use: npt.ArrayLike = 0.0,
        use_temperature: npt.ArrayLike = 40.0,
        cold_temperature: npt.ArrayLike = 10.0,
    ) -> LayersPath:
        """Return the path of the layers, with a draw held over each period.

        The share of tank water in a draw is that of the top's temperature at the start of the
        period: give short steps where draws are large. What is missing follows from the mean.

        ``initial``: layers at the first instant, shape (layers,). [degC] ``heat``: into each layer,
        as by an immersed heater, shape (N, layers). [kW] ``step_hours``, ``ambient``: length of
        each period [h] and temperature around the tank [degC]. ``use``: flow at the tap, at least
        0. [kg/s] ``use_temperature``, ``cold_temperature``: wanted, of the mains. [degC] Each is
        one number or has the shape (N,).
        """
        warmth, start = numbers(heat, "the heat"), numbers(initial, "the initial temperature")
        if start.shape != (self.layers,) or warmth.shape[1:] != (self.layers,):
            raise ParameterError(
                f"the layers have the shape {start.shape} and their heat {warmth.shape}; give one "
                f"for each of {self.layers} layers, the top first"
            )
        count = len(warmth)
        hours, around = steps(step_hours, count), series(ambient, count, "the ambient")
        tapped = series(not_negative(use, "the flow of use", "kg/s"), count, "the flow of use")
        wanted = series(use_temperature, count, "the temperature of use")
        cold = series(cold_temperature, count, "the temperature of the mains")
        if not (wanted >= cold).all():
            raise ParameterError(
                f"use is wanted at {wanted.min():g} degC, colder than the mains; give at least "
                f"{cold.max():g} degC"
            )
        layers, missing, drawn, loss = [start], np.zeros(count), np.zeros(count), np.zeros(count)
        own = self.loss_conductance / self.layers
        for n in range(count):  # buoyancy needs a loop over time
            top, need = layers[-1][0] - cold[n], wanted[n] - cold[n]
            flow = tapped[n] * SPECIFIC_HEAT * (need / top if top > need else float(need > 0))
            inputs = warmth[n] + own * around[n]
            inputs[-1] += flow * cold[n]
            matrix = self._exchange(flow)
            end, mean = advanced(
                matrix / self._capacity, inputs / self._capacity, layers[-1], hours[n]
            )
            drawn[n] = flow * (mean[0] - cold[n])
            missing[n] = max(tapped[n] * SPECIFIC_HEAT * need - drawn[n], 0.0)
            loss[n] = own * (mean - around[n]).sum()
            layers.append(settled(end))
        return LayersPath(temperature=np.stack(layers), missing=missing, drawn=drawn, loss=loss)

    def _exchange(self, flow: float) -> Floats:
        """Return the matrix of heat by temperatures, with a flow upwards. [kW/K]."""
        count = self.layers
        conducts = self.conductivity / 1e3 * self.area / (self.height / count)
        down, up = np.full(count - 1, conducts), np.full(count - 1, conducts + flow)
        matrix = np.diag(down, -1) + np.diag(up, 1)
        # A layer gives to both neighbours; the top gives the flow to the tap.
        gives = np.append(down, 0.0) + np.append(flow, up) + self.loss_conductance / count
        return np.asarray(matrix - np.diag(gives))
