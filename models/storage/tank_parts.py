"""What a stratified tank is put together from: ports, immersed exchangers, and how layers meet."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engiagent.models.hvac.water import SPECIFIC_HEAT
from engiagent.models.ranges import Floats, ParameterError, numbers, within


@dataclass(frozen=True, kw_only=True)
class Port:
    """A pair of pipes: water enters at one layer and leaves at another.

    Attributes
    ----------
    inlet, outlet
        Layers, counted from 0 at the top.
    """

    inlet: int
    outlet: int


@dataclass(frozen=True, kw_only=True)
class Immersed:
    r"""A heat exchanger in one or several layers, whose own water does not mix with the tank's.

    .. math:: \dot Q = \left(1 - e^{-UA / (\dot m c_w)}\right) \dot m c_w (T_{in} - T)

    layer after layer, in the order in which they are named.

    Attributes
    ----------
    layers
        In the order of the flow through it, counted from 0 at the top.
    conductance
        Of all of it. Above 0. [kW/K]
    """

    layers: tuple[int, ...]
    conductance: float

    def weights(self, flow: Floats, count: int) -> tuple[Floats, Floats]:
        """Return how heat into the layers follows inlet (…, n) and layers (…, n, n). [kW/K].

        Each layer takes its share of what the water still has above the layer.
        """
        rate = flow * SPECIFIC_HEAT
        size = self.conductance / len(self.layers)
        share = -np.expm1(-size / np.maximum(rate, 1e-12))
        weights = np.zeros((*flow.shape, count))
        own = np.zeros((*flow.shape, count, count))
        # The water's temperature as a linear function of inlet and layers, carried along.
        inlet, past = np.ones(flow.shape), np.zeros((*flow.shape, count))
        for layer in self.layers:
            weights[..., layer] += rate * share * inlet
            own[..., layer, :] += (rate * share)[..., None] * past
            own[..., layer, layer] -= rate * share
            inlet = inlet * (1.0 - share)
            past = past * (1.0 - share)[..., None]
            past[..., layer] += share
        return weights, own


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
    flows: Sequence[npt.ArrayLike], inlets: Sequence[npt.ArrayLike], count: int, what: str
) -> list[tuple[Floats, Floats]]:
    """Return flows [kg/s] and inlet temperatures [degC] in pairs."""
    if len(flows) != count or len(inlets) != count:
        raise ParameterError(
            f"{count} {what}s have {len(flows)} flows and {len(inlets)} inlet temperatures; give "
            f"one of each for each {what}, in their order"
        )
    return [
        (
            within(flow, f"the flow of {what} {n}", "kg/s", low=0.0),
            numbers(inlet, f"the inlet of {what} {n}"),
        )
        for n, (flow, inlet) in enumerate(zip(flows, inlets, strict=True))
    ]
