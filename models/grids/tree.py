r"""A radial feeder as a tree whose ratios are taken out by referring all to the source.

With :math:`K` the product of the ratios between source and bus, :math:`V K` and
:math:`I / \overline{K}` obey the equations of a tree without ratios, in which an impedance counts
:math:`|K|^2` times and an admittance :math:`|K|^{-2}` times; powers stay what they are.

Backward/forward sweep for radial feeders, over all periods at once.

Backwards the currents of the demands, :math:`I_i = \overline{S_i / V_i} + y_i V_i`, are summed
towards the source; forwards the voltages follow from the drops :math:`z I` on the way from the
source. The error shrinks by a constant factor in each sweep, which tends to 1 as the demand comes
to the most that the feeder can carry.

Source: D. Shirmohammadi et al., doi:10.1109/59.192932.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from engiagent.models.grids.network import Complexes, Network, Places
from engiagent.models.ranges import Floats


@dataclass(frozen=True, kw_only=True)
class Tree:
    """Buses of a radial feeder below their parents."""

    source: int  # place of the root
    parent: Places  # place of each bus's parent, shape (buses,); the source is its own
    # of the branch above each bus, referred to the source, shape (buses,); 0 for the source
    impedance: Complexes
    admittance: Complexes  # of the branches at each bus, referred to the source, shape (buses,)
    factor: Complexes  # the product K of the ratios, shape (buses,)
    # groups of buses, parents before children; within a group all parents differ
    layers: tuple[Places, ...]

    @classmethod
    def of(cls, network: Network) -> Self:
        """Return the tree of a network whose branches form one."""
        count = len(network.nominal)
        near: list[list[tuple[int, int]]] = [[] for _ in range(count)]
        for k, (begin, end) in enumerate(zip(network.begin, network.end, strict=True)):
            near[begin].append((int(end), k))
            near[end].append((int(begin), k))
        parent = np.full(count, network.source, dtype=np.intp)
        impedance = np.zeros(count, dtype=np.complex128)
        factor = np.ones(count, dtype=np.complex128)
        half = np.zeros(count, dtype=np.complex128)
        layers: list[Places] = []
        level: list[int] = [network.source]
        seen = {network.source}
        while level:
            ranks: list[list[int]] = []
            for bus in level:
                children = [pair for pair in near[bus] if pair[0] not in seen]
                for rank, (child, k) in enumerate(children):
                    seen.add(child)
                    downwards = int(network.end[k]) == child
                    ratio = network.ratio[k]
                    factor[child] = factor[bus] * (ratio if downwards else 1.0 / ratio)
                    scale = abs(factor[child if downwards else bus]) ** 2
                    parent[child] = bus
                    impedance[child] = network.impedance[k] * scale
                    for side in (bus, child):
                        half[side] += network.admittance[k] / 2 / scale
                    if rank == len(ranks):
                        ranks.append([])
                    ranks[rank].append(child)
            layers += [np.array(group, dtype=np.intp) for group in ranks]
            level = [bus for group in ranks for bus in group]
        return cls(
            source=network.source,
            parent=parent,
            impedance=impedance,
            admittance=half,
            factor=factor,
            layers=tuple(layers),
        )

    def gather(self, values: Complexes) -> Complexes:
        """Add to every bus what its descendants have; values of shape (buses, time), in place."""
        for layer in reversed(self.layers):
            values[self.parent[layer]] += values[layer]
        return values

    def descend(self, start: npt.NDArray[Any], drop: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return ``start`` at the source less the drops on the way to each bus, (buses, time)."""
        values = drop.copy()
        values[self.source] = start
        for layer in self.layers:
            values[layer] = values[self.parent[layer]] - drop[layer]
        return values


TOLERANCE = 1e-13  # of the voltage, from sweep to sweep [p.u.]
SWEEPS = 1000
CHUNK = 2048  # periods at once: their arrays stay near the processor


def sweep(network: Network, power: Complexes, source_voltage: Floats) -> Complexes:
    """Return the voltages, NaN where no solution was found.

    ``power``: net demand, shape (time, buses). [p.u.] ``source_voltage``: shape (time,). [p.u.]
    """
    tree = Tree.of(network)
    parts = [slice(first, first + CHUNK) for first in range(0, len(power), CHUNK)]
    found = [_chunk(tree, power[part], source_voltage[part]) for part in parts]
    return np.concatenate([np.empty((0, power.shape[1]), np.complex128), *found])


def _chunk(tree: Tree, power: Complexes, source_voltage: Floats) -> Complexes:
    found = np.full(power.shape, complex(np.nan, np.nan))
    open_ = np.arange(len(power))
    demand = np.ascontiguousarray(power.T)
    held = source_voltage.astype(np.complex128)
    impedance, admittance = tree.impedance[:, None], tree.admittance[:, None]
    voltage = np.repeat(held[None, :], len(demand), axis=0)
    # Periods beyond what the feeder can carry may run through zero or infinity before they stop.
    with np.errstate(all="ignore"):
        for _ in range(SWEEPS):
            current = np.conj(demand / voltage) + admittance * voltage
            updated = tree.descend(held, impedance * tree.gather(current))
            done = np.abs(updated - voltage).max(axis=0) <= TOLERANCE
            hopeless = ~(np.abs(updated).max(axis=0) < 10.0)
            voltage = updated
            if done.any() or hopeless.any():
                found[open_[done]] = (voltage[:, done] / tree.factor[:, None]).T
                stay = ~(done | hopeless)
                open_, held = open_[stay], held[stay]
                voltage, demand = voltage[:, stay], demand[:, stay]
            if not open_.size:
                break
    return found
