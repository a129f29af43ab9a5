r"""A stratified tank: layers of water, from the top down, with conduction, flows and buoyancy.

Layer :math:`i` of capacity :math:`C` has

.. math::
    C \frac{dT_i}{dt} = K (T_{i-1} - 2 T_i + T_{i+1}) + U_i (T_a - T_i)
      + \sum \text{flows} + \dot Q_i

with :math:`K = \lambda A / \Delta z`. Water enters at one layer, leaves at another and drags the
net flow between them along (upwind).

Over a step the layers are linear in their inputs and solved by the matrix exponential. After it,
layers that lie on warmer, lighter ones (water above 4 degC) are mixed: pools of equal temperature
with the least change, which is the isotonic regression of the temperatures and keeps energy.

Source: J. A. Duffie and W. A. Beckman, Solar Engineering of Thermal Processes, 4th ed., 2013,
section 8.4; R. E. Barlow et al., Statistical Inference under Order Restrictions, 1972, for the
min-max formula of isotonic regression.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

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


@dataclass(frozen=True, kw_only=True)
class Port:
    """A pair of pipes: water enters at one layer and leaves at another."""

    # inlet, outlet: layers, counted from 0 at the top
    inlet: int
    outlet: int


def stacked(values: list[Floats], units: tuple[int, ...]) -> Floats:
    """Return arrays one above the other, each broadcast to ``units``; shape (0, …) for none."""
    if not values:
        return np.zeros((0, *units))
    return np.stack([np.broadcast_to(value, units) for value in values])


def between(matrix: Floats, down: Floats, up: Floats) -> None:
    """Add exchange between neighbours: ``down`` from a layer to the one below, ``up`` back."""
    upper = np.arange(matrix.shape[-1] - 1)
    lower = upper + 1
    matrix[..., lower, upper] += down
    matrix[..., upper, upper] -= down
    matrix[..., upper, lower] += up
    matrix[..., lower, lower] -= up


def pairs(
    flows: Sequence[npt.ArrayLike], inlets: Sequence[npt.ArrayLike], count: int
) -> list[tuple[Floats, Floats]]:
    """Return flows [kg/s] and inlet temperatures [degC] of the ports in pairs."""
    if len(flows) != count or len(inlets) != count:
        raise ParameterError(
            f"{count} ports have {len(flows)} flows and {len(inlets)} inlet temperatures; give one "
            "of each for each port, in their order"
        )
    return [
        (
            within(flow, f"the flow of port {n}", "kg/s", low=0.0),
            numbers(inlet, f"the inlet of port {n}"),
        )
        for n, (flow, inlet) in enumerate(zip(flows, inlets, strict=True))
    ]


def advanced(matrix: Floats, drive: Floats, start: Floats, hours: Floats) -> tuple[Floats, Floats]:
    r"""Return end and mean over a step of ``x' = matrix x + drive``.

    They close the balance: ``end - start = h (matrix mean + drive)``.

    ``matrix``: shape (…, n, n). [1/h] ``drive``, ``start``: shape (…, n). [K/h], [degC].
    ``hours``: shape (…). [h]
    """
    count = start.shape[-1]
    units = np.broadcast_shapes(matrix.shape[:-2], drive.shape[:-1], start.shape[:-1], hours.shape)
    scaled = np.broadcast_to(matrix * hours[..., None, None], (*units, count, count))
    gain = np.broadcast_to(drive * hours[..., None], (*units, count))
    begin = np.broadcast_to(start, (*units, count))
    second = _phi2(scaled)
    slope = np.einsum("...ij,...j->...i", scaled, begin) + gain
    mean = begin + np.einsum("...ij,...j->...i", second, slope)
    return begin + np.einsum("...ij,...j->...i", scaled, mean) + gain, mean


def _phi2(matrix: Floats) -> Floats:
    r"""Return :math:`\varphi_2(M) = \sum_k M^k / (k+2)!` of matrices of shape (…, n, n).

    By scaling and doubling, :math:`\varphi_2(2M) = (e^M \varphi_2 + \varphi_1 + \varphi_2) / 4`. In
    layers that exchange heat all terms but the diagonal are positive, so that nothing cancels; for
    many small matrices this is far quicker than a general exponential.
    """
    size = float(np.abs(matrix).sum(axis=-1).max(initial=0.0))
    doublings = max(int(np.ceil(np.log2(size))) + 1, 0) if size > 0 else 0
    small = matrix / 2.0**doublings
    unit = np.eye(matrix.shape[-1])
    second = np.broadcast_to(unit, matrix.shape)
    for k in range(16, 2, -1):
        second = unit + small @ second / k
    second = 0.5 * second
    first = unit + small @ second
    exponential = unit + small @ first
    for _ in range(doublings):
        second = 0.25 * (exponential @ second + first + second)
        first = 0.5 * (exponential @ first + first)
        exponential = exponential @ exponential
    return np.asarray(second)


def settled(temperature: Floats) -> Floats:
    r"""Return layers of equal mass after buoyancy has mixed them, the top first.

    .. math:: T_i = \min_{j \le i} \max_{k \ge i} \overline{T_{j..k}}

    is the nearest profile that does not rise downwards; it pools neighbours to their mean, so that
    the sum is kept.

    Parameters
    ----------
    temperature
        Shape (…, layers). [degC]

    Examples
    --------
    >>> settled(np.array([50.0, 40.0, 46.0, 20.0, 30.0])).round(9).tolist()
    [50.0, 43.0, 43.0, 25.0, 25.0]
    """
    unstable = (np.diff(temperature, axis=-1) > 0).any(axis=-1, keepdims=True)
    if not unstable.any():
        return temperature
    count = temperature.shape[-1]
    # Sums count from the mean, so that rounding stays that of the differences.
    middle = temperature.mean(axis=-1, keepdims=True)
    zero = np.zeros((*temperature.shape[:-1], 1))
    sums = np.concatenate((zero, np.cumsum(temperature - middle, axis=-1)), axis=-1)
    first, last = np.arange(count)[:, None], np.arange(count)[None, :]
    means = (sums[..., None, 1:] - sums[..., :-1, None]) / np.maximum(last - first + 1, 1)
    means = np.where(last >= first, means, -np.inf)
    # best[j, i] is the largest mean of a pool that begins at j and ends at i or below.
    best = np.flip(np.maximum.accumulate(np.flip(means, axis=-1), axis=-1), axis=-1)
    best = np.where(last >= first, best, np.inf)
    pooled = best.min(axis=-2)
    # What rounding changed goes back evenly: mixing neither makes nor loses heat.
    mixed = middle + pooled - pooled.mean(axis=-1, keepdims=True)
    return np.where(unstable, mixed, temperature)


SECONDS = 3600.0


@dataclass(frozen=True, kw_only=True)
class LayersStep:
    """What a period did to a stratified tank."""

    temperature: Floats  # of the layers at its end, shape (…, layers). [degC]
    # mean temperature of the water that left through each port, shape (ports, …). [degC]
    outlets: Floats
    port_heat: Floats  # heat into the tank by each port, shape (ports, …). [kW]
    loss: Floats  # heat to the surroundings. [kW]


@dataclass(frozen=True, kw_only=True)
class StratifiedTank:
    """A stratified tank; its numbers may be arrays over units.

    Examples
    --------
    >>> tank = StratifiedTank(mass=1000.0, layers=4, ports=(Port(inlet=3, outlet=0),))
    >>> done = tank.step([60.0, 60.0, 60.0, 60.0], step_hours=0.5, flows=[0.1], inlets=[10.0])
    >>> done.temperature.round(2).tolist()
    [59.68, 58.16, 51.85, 34.35]
    """

    mass: npt.ArrayLike  # of all the water. Above 0. [kg]
    layers: int = 10  # how many of equal mass, 1 to 200. One is the mixed tank.
    # height, area: inside, for the conduction between layers. Above 0. [m], [m2]
    height: npt.ArrayLike = 1.5
    area: npt.ArrayLike = 0.5
    # of water, or more where wall and fittings conduct. At least 0. [W/(m K)]
    conductivity: npt.ArrayLike = 0.6
    # to the surroundings, of all of the tank; spread evenly over the layers. [kW/K]
    loss_conductance: npt.ArrayLike = 0.0
    ports: tuple[Port, ...] = ()  # for the flows of water

    def __post_init__(self) -> None:
        within(self.mass, "the mass of water", "kg", low=0.0, above=True)
        within(self.height, "the height", "m", low=0.0, above=True)
        within(self.area, "the area", "m2", low=0.0, above=True)
        within(self.conductivity, "the conductivity", "W/(m K)", low=0.0)
        within(self.loss_conductance, "the conductance of the loss", "kW/K", low=0.0)
        if not 1 <= self.layers <= 200:
            raise ParameterError(f"the tank has {self.layers} layers; give 1 to 200")
        named = [layer for port in self.ports for layer in (port.inlet, port.outlet)]
        if any(not 0 <= layer < self.layers for layer in named):
            raise ParameterError(
                f"a port is at layer {max(named)}; the layers are 0 (top) to {self.layers - 1}"
            )

    @cached_property
    def layer_capacity(self) -> Floats:
        """Heat that warms a layer by one kelvin. [kWh/K]."""
        return np.asarray(np.asarray(self.mass) * SPECIFIC_HEAT / SECONDS / self.layers)

    def energy(self, temperature: npt.ArrayLike, reference: npt.ArrayLike = 0.0) -> Floats:
        """Return the heat in layers of shape (…, layers) above a reference [degC]. [kWh]."""
        above = numbers(temperature, "the temperature") - numbers(reference, "the reference")
        return np.asarray(self.layer_capacity * above.sum(axis=-1))

    def step(
        self,
        temperature: npt.ArrayLike,
        *,
        step_hours: npt.ArrayLike,
        flows: Sequence[npt.ArrayLike] = (),
        inlets: Sequence[npt.ArrayLike] = (),
        heat: npt.ArrayLike = 0.0,
        ambient: npt.ArrayLike = 20.0,
    ) -> LayersStep:
        """Return the tank after one period with inputs held.

        ``temperature``: of the layers from the top, shape (layers,) or (units, layers). [degC]
        ``step_hours``: above 0. [h] ``flows``, ``inlets``: one for each port: at least 0 [kg/s]
        and temperature at the inlet. [degC] ``heat``: into each layer, as by an immersed heater,
        shape (layers,) or (units, layers); 0 for none. [kW] ``ambient``: around the tank. [degC]
        """
        start = numbers(temperature, "the temperature of a layer")
        if start.ndim == 0 or start.shape[-1] != self.layers:
            raise ParameterError(
                f"the temperatures have the shape {start.shape}; give {self.layers} layers, the "
                "top first"
            )
        hours = within(step_hours, "the step", "h", low=0.0, above=True)
        streams = pairs(flows, inlets, len(self.ports))
        around = numbers(ambient, "the ambient temperature")
        matrix, drive = self._balance(streams, self._by_layer(heat), around)
        capacity = self.layer_capacity
        end, means = advanced(
            matrix / capacity[..., None, None], drive / capacity[..., None], start, hours
        )
        units = means.shape[:-1]
        outlets = stacked([means[..., port.outlet] for port in self.ports], units)
        heats = [
            flow * SPECIFIC_HEAT * (inlet - out)
            for (flow, inlet), out in zip(streams, outlets, strict=True)
        ]
        loss = np.asarray(self.loss_conductance) / self.layers
        return LayersStep(
            temperature=settled(end),
            outlets=outlets,
            port_heat=stacked(heats, units),
            loss=np.asarray(loss * (means - around[..., None]).sum(axis=-1)),
        )

    def simulate(
        self,
        initial: npt.ArrayLike,
        *,
        step_hours: npt.ArrayLike,
        heat: npt.ArrayLike,
        ambient: npt.ArrayLike = 20.0,
    ) -> Floats:
        """Return the layers of a tank without flows at the N+1 instants, shape (N+1, layers).

        ``initial``: layers at the first instant, shape (layers,). [degC] ``step_hours``,
        ``ambient``: length of each period [h] and temperature around the tank [degC], one number or
        (N,). ``heat``: into each layer, shape (N, layers). [kW]
        """
        warmth = numbers(heat, "the heat")
        hours = hours_of_steps(step_hours, (len(warmth),))
        around = over_time(ambient, (len(warmth),), "the ambient temperature")
        layers = [numbers(initial, "the initial temperature")]
        for n, power in enumerate(warmth):  # buoyancy needs a loop over time
            done = self.step(layers[-1], step_hours=hours[n], heat=power, ambient=around[n])
            layers.append(done.temperature)
        return np.stack(layers)

    def _by_layer(self, heat: npt.ArrayLike) -> Floats:
        warmth = numbers(heat, "the heat")
        if warmth.ndim == 0 and (warmth == 0 or self.layers == 1):
            return np.broadcast_to(warmth, (self.layers,))
        if warmth.ndim == 0 or warmth.shape[-1] != self.layers:
            raise ParameterError(
                f"the heat has the shape {warmth.shape}; give {self.layers} powers, one for each "
                "layer, the top first"
            )
        return warmth

    def _balance(
        self, streams: list[tuple[Floats, Floats]], heat: Floats, ambient: Floats
    ) -> tuple[Floats, Floats]:
        """Return matrix [kW/K] and drive [kW] of ``C T' = matrix T + drive``."""
        units = np.broadcast_shapes(
            ambient.shape,
            heat.shape[:-1],
            self.layer_capacity.shape,
            *(value.shape for pair in streams for value in pair),
            *(np.shape(v) for v in (self.height, self.area, self.conductivity)),
            np.shape(self.loss_conductance),
        )
        count = self.layers
        matrix, drive = np.zeros((*units, count, count)), np.zeros((*units, count)) + heat
        loss = np.asarray(self.loss_conductance) / count
        place = np.arange(count)
        matrix[..., place, place] -= np.asarray(loss)[..., None]
        drive = drive + (loss * ambient)[..., None]
        step = np.asarray(self.height) / count
        conducts = np.asarray(self.conductivity) / 1e3 * np.asarray(self.area) / step
        down = np.zeros((*units, max(count - 1, 0)))
        for port, (flow, inlet) in zip(self.ports, streams, strict=True):
            rate = flow * SPECIFIC_HEAT
            drive[..., port.inlet] += rate * inlet
            matrix[..., port.outlet, port.outlet] -= rate
            low, high = sorted((port.inlet, port.outlet))
            down[..., low:high] += (rate if port.inlet < port.outlet else -rate)[..., None]
        between(
            matrix,
            np.asarray(conducts)[..., None] + np.maximum(down, 0.0),
            np.asarray(conducts)[..., None] + np.maximum(-down, 0.0),
        )
        return matrix, drive
