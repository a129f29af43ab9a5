r"""A stratified tank: layers of water, from the top down, with conduction, flows and buoyancy.

Layer :math:`i` of capacity :math:`C` has

.. math::
    C \frac{dT_i}{dt} = K (T_{i-1} - 2 T_i + T_{i+1}) + U_i (T_a - T_i)
      + \sum \text{flows} + \sum_k \varepsilon_k \dot m_k c_w (T_{k,in} - T_i) + \dot Q_i

with :math:`K = \lambda A / \Delta z`. Water enters at one layer, leaves at another and drags the
net flow between them along (upwind). Heat exchangers in the tank carry heat by their effectiveness.

Over a step the layers are linear in their inputs and solved by the matrix exponential (``exact``)
or by backward Euler (``implicit``, stable and free of overshoot for any step). After it, layers
that lie on warmer, lighter ones (water above 4 degC) are mixed: pools of equal temperature with the
least change, which is the isotonic regression of the temperatures and keeps energy exactly.

Source: J. A. Duffie and W. A. Beckman, Solar Engineering of Thermal Processes, 4th ed., 2013,
section 8.4; R. E. Barlow et al., Statistical Inference under Order Restrictions, 1972, for the
min-max formula of isotonic regression.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from engiagent.models.hvac.water import SPECIFIC_HEAT
from engiagent.models.ranges import Floats, ParameterError, numbers, within
from engiagent.models.storage.layers import advanced, settled
from engiagent.models.storage.tank_parts import Immersed, Port, between, pairs, stacked

SECONDS = 3600.0
LayerScheme = Literal["exact", "implicit"]


@dataclass(frozen=True, kw_only=True)
class LayersStep:
    """What a period did to a stratified tank.

    Attributes
    ----------
    temperature
        Of the layers at its end, shape (…, layers). [degC]
    outlets
        Mean temperature of the water that left through each port, shape (ports, …). [degC]
    port_heat, exchanger_heat
        Heat into the tank by each port and exchanger, shape (ports, …). [kW]
    exchanger_outlets
        Mean temperature of the water that left each exchanger. [degC]
    loss
        Heat to the surroundings. [kW]
    """

    temperature: Floats
    outlets: Floats
    port_heat: Floats
    exchanger_heat: Floats
    exchanger_outlets: Floats
    loss: Floats


@dataclass(frozen=True, kw_only=True)
class StratifiedTank:
    """A stratified tank; its numbers may be arrays over units.

    Attributes
    ----------
    mass
        Of all the water. Above 0. [kg]
    layers
        How many of equal mass, 1 to 200. One is the mixed tank.
    height, area
        Inside, for the conduction between layers. Above 0. [m], [m2]
    conductivity
        Of water, or more where wall and fittings conduct. At least 0. [W/(m K)]
    loss_conductance
        To the surroundings, of all of the tank; spread evenly over the layers. [kW/K]
    ports
        For the flows of water.
    exchangers
        In the tank.
    scheme
        ``exact`` or ``implicit``.
    substeps
        By which a step is divided; water mixes by buoyancy after each. At least 1.

    Examples
    --------
    >>> tank = StratifiedTank(mass=1000.0, layers=4, ports=(Port(inlet=3, outlet=0),))
    >>> done = tank.step([60.0, 60.0, 60.0, 60.0], step_hours=0.5, flows=[0.1], inlets=[10.0])
    >>> done.temperature.round(2).tolist()
    [59.68, 58.16, 51.85, 34.35]
    """

    mass: npt.ArrayLike
    layers: int = 10
    height: npt.ArrayLike = 1.5
    area: npt.ArrayLike = 0.5
    conductivity: npt.ArrayLike = 0.6
    loss_conductance: npt.ArrayLike = 0.0
    ports: tuple[Port, ...] = ()
    exchangers: tuple[Immersed, ...] = ()
    scheme: LayerScheme = "exact"
    substeps: int = 1

    def __post_init__(self) -> None:
        within(self.mass, "the mass of water", "kg", low=0.0, above=True)
        within(self.height, "the height", "m", low=0.0, above=True)
        within(self.area, "the area", "m2", low=0.0, above=True)
        within(self.conductivity, "the conductivity", "W/(m K)", low=0.0)
        within(self.loss_conductance, "the conductance of the loss", "kW/K", low=0.0)
        if not 1 <= self.layers <= 200 or self.substeps < 1:
            raise ParameterError(
                f"the tank has {self.layers} layers and {self.substeps} substeps; give 1 to 200 "
                "layers and at least 1 substep"
            )
        if self.scheme not in ("exact", "implicit"):
            raise ParameterError(
                f"the scheme is {self.scheme!r}; a tank knows 'exact' and 'implicit'"
            )
        named = [layer for port in self.ports for layer in (port.inlet, port.outlet)]
        named += [layer for unit in self.exchangers for layer in unit.layers]
        if any(not 0 <= layer < self.layers for layer in named):
            raise ParameterError(
                f"a port or exchanger is at layer {max(named)}; the layers are 0 (top) to "
                f"{self.layers - 1}"
            )
        for unit in self.exchangers:
            within(unit.conductance, "the conductance of an exchanger", "kW/K", low=0, above=True)

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
        exchanger_flows: Sequence[npt.ArrayLike] = (),
        exchanger_inlets: Sequence[npt.ArrayLike] = (),
        heat: npt.ArrayLike = 0.0,
        ambient: npt.ArrayLike = 20.0,
    ) -> LayersStep:
        """Return the tank after one period with inputs held.

        Parameters
        ----------
        temperature
            Of the layers from the top, shape (layers,) or (units, layers). [degC]
        step_hours
            Above 0. [h]
        flows, inlets
            One for each port: at least 0 [kg/s] and temperature at the inlet. [degC]
        exchanger_flows, exchanger_inlets
            One for each exchanger, likewise.
        heat
            Into each layer, as by an immersed heater, shape (layers,) or (units, layers); 0 for
            none. [kW]
        ambient
            Around the tank. [degC]
        """
        start = numbers(temperature, "the temperature of a layer")
        if start.ndim == 0 or start.shape[-1] != self.layers:
            raise ParameterError(
                f"the temperatures have the shape {start.shape}; give {self.layers} layers, the "
                "top first"
            )
        hours = within(step_hours, "the step", "h", low=0.0, above=True)
        streams = pairs(flows, inlets, len(self.ports), "port")
        coils = pairs(exchanger_flows, exchanger_inlets, len(self.exchangers), "exchanger")
        around = numbers(ambient, "the ambient temperature")
        matrix, drive = self._balance(streams, coils, self._by_layer(heat), around)
        capacity = self.layer_capacity
        means = np.zeros(np.broadcast_shapes(start.shape, drive.shape))
        for _ in range(self.substeps):
            start, mean = advanced(
                matrix / capacity[..., None, None],
                drive / capacity[..., None],
                start,
                hours / self.substeps,
                self.scheme,
            )
            means = means + mean / self.substeps
            start = settled(start)
        return self._report(start, means, streams, coils, around)

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
        self,
        streams: list[tuple[Floats, Floats]],
        coils: list[tuple[Floats, Floats]],
        heat: Floats,
        ambient: Floats,
    ) -> tuple[Floats, Floats]:
        """Return matrix [kW/K] and drive [kW] of ``C T' = matrix T + drive``."""
        units = np.broadcast_shapes(
            ambient.shape,
            heat.shape[:-1],
            self.layer_capacity.shape,
            *(value.shape for pair in (*streams, *coils) for value in pair),
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
        for unit, (flow, inlet) in zip(self.exchangers, coils, strict=True):
            weights, own = unit.weights(flow, count)
            matrix[..., :, :] += own
            drive = drive + weights * inlet[..., None]
        return matrix, drive

    def _report(
        self,
        end: Floats,
        means: Floats,
        streams: list[tuple[Floats, Floats]],
        coils: list[tuple[Floats, Floats]],
        ambient: Floats,
    ) -> LayersStep:
        units = means.shape[:-1]
        outlets = [means[..., port.outlet] for port in self.ports]
        by_port = [
            flow * SPECIFIC_HEAT * (inlet - out)
            for (flow, inlet), out in zip(streams, outlets, strict=True)
        ]
        by_coil, after = [], []
        for unit, (flow, inlet) in zip(self.exchangers, coils, strict=True):
            weights, own = unit.weights(flow, self.layers)
            gained = weights.sum(axis=-1) * inlet + (own.sum(axis=-2) * means).sum(axis=-1)
            by_coil.append(gained)
            rate = flow * SPECIFIC_HEAT
            after.append(inlet - gained / np.where(rate > 0, rate, 1.0))
        loss = np.asarray(self.loss_conductance) / self.layers
        return LayersStep(
            temperature=end,
            outlets=stacked(outlets, units),
            port_heat=stacked(by_port, units),
            exchanger_heat=stacked(by_coil, units),
            exchanger_outlets=stacked(after, units),
            loss=np.asarray(loss * (means - ambient[..., None]).sum(axis=-1)),
        )
