r"""A feeder as linear equations: the admittances of all that is passive, loads and units apart.

.. math:: Y V = I_s - \sum_l i_l + \sum_u i_u

with the Norton currents :math:`I_s` of the source. It is what optimisation works on, and what a
second engine solves: :func:`power_flow` iterates the currents of the loads, as Gauss's method does,
and shares nothing with OpenDSS's solver but the primitive admittances of the elements.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu

from engiagent.errors import EngiagentError, InputError
from engiagent.tools.grid.feeders import EXPONENTS, POWERED, Complex, Feeder, Floats, Load

_PASSIVE: Final = ("line", "transformer", "autotrans", "capacitor", "reactor", "fault", "vsource")
_APART: Final = (*POWERED, "energymeter", "monitor")
STIFF: Final = 50.0
"""Of an impedance's admittance, in units of the typical one: above it two nodes are as one."""


@dataclass(frozen=True, eq=False)
class Network:
    """The passive part of a feeder over some nodes, in V, A and S."""

    nodes: tuple[str, ...]
    admittance: sparse.csc_matrix  # [S]
    source: Complex  # Norton currents. [A]
    bases: Floats  # nominal voltages. [V]
    start: Complex  # voltages of the last power flow. [V]
    # admittances of the source, by the pairs of its nodes. [S]
    behind: Mapping[tuple[str, str], complex]

    @classmethod
    def of(cls, feeder: Feeder) -> "Network":
        """Take the admittances of a feeder that has been solved, at its present taps.

        Raises InputError where nodes are switched off, and for elements that are not passive.
        """
        feeder.supplied()
        place = {name: k for k, name in enumerate(feeder.nodes)}
        bases = np.array([feeder.base(n) for n in feeder.nodes])
        start = np.array(list(feeder.voltages().values())) * bases
        source = np.zeros(len(place), complex)
        behind: dict[tuple[str, str], complex] = {}
        entries: list[tuple[Complex, ...]] = []
        for name in feeder.elements():
            kind, primitive = name.partition(".")[0], feeder.primitive()
            if kind in _APART or not primitive.size:  # controls and fuses have none
                continue
            if kind not in _PASSIVE:
                said = "only grid tools that solve a power flow by OpenDSS take this element"
                raise InputError(said, feeder.name, found=name)
            terminals = feeder.terminals()
            known = [k for k, node in enumerate(terminals) if node in place]
            own, primitive = [terminals[k] for k in known], primitive[np.ix_(known, known)]
            index = np.array([place[node] for node in own])
            if kind == "vsource":
                source[index] += _norton(feeder)[known]
                pairs = ((m, n) for m in own for n in own)
                behind |= dict(zip(pairs, primitive.ravel().tolist(), strict=True))
            count = len(own)
            entries.append((np.repeat(index, count), np.tile(index, count), primitive.ravel()))
        rows, columns, values = map(np.concatenate, zip(*entries, strict=True))
        shape = (len(place), len(place))
        matrix = sparse.csc_matrix(sparse.coo_matrix((values, (rows, columns)), shape))
        matrix.eliminate_zeros()
        return cls(feeder.nodes, matrix, source, bases, start, behind)

    def idle(self) -> dict[str, complex]:
        """Return the voltages without loads and units, 0 where no source reaches. [p.u.]."""
        small = 1e-9 * float(np.median(np.abs(self.admittance.diagonal())))  # else singular
        grounded = sparse.csc_matrix(self.admittance + small * sparse.eye(len(self.nodes)))
        found = splu(grounded).solve(self.source) / self.bases
        return dict(zip(self.nodes, found.tolist(), strict=True))

    def reduced(self, stay: Sequence[str]) -> "Reduced":
        """Return it without stiff elements: regulators and switches of nearly no impedance.

        They would let an interior-point method hide currents in the residual of a balance. Nodes
        that such an element joins without a ratio become one; others at one that have nothing
        connected (are not in ``stay``) are eliminated (Kron).
        """
        size = np.abs(self.admittance.diagonal())
        stiff = STIFF * float(np.median(size))
        group = self._joined(size, stiff)
        first = np.unique(group, return_index=True)[1]  # of the nodes of each group
        ones = np.ones(len(group)), (range(len(group)), group)
        join = sparse.csc_matrix(ones, (len(group), len(first)))
        matrix, source = sparse.csc_matrix(join.T @ self.admittance @ join), join.T @ self.source
        held = {group[k] for k, name in enumerate(self.nodes) if name in set(stay)}
        large = np.flatnonzero(np.abs(matrix.diagonal()) > stiff)
        drop = np.array([k for k in large if k not in held], int)
        keep = np.setdiff1d(np.arange(len(first)), drop)
        transfer, own = np.zeros((0, len(keep)), complex), np.zeros(0, complex)
        if len(drop):
            inner = splu(sparse.csc_matrix(matrix[np.ix_(drop, drop)]))
            back = matrix[np.ix_(keep, drop)]
            transfer = -inner.solve(matrix[np.ix_(drop, keep)].toarray())
            own = inner.solve(source[drop])
            source = source[keep] - back @ own
            matrix = sparse.csc_matrix(matrix[np.ix_(keep, keep)] + back @ transfer)
            matrix.data[np.abs(matrix.data) < 1e-12 * np.abs(matrix.data).max()] = 0.0
            matrix.eliminate_zeros()
            transfer[np.abs(transfer) <= 1e-12] = 0.0
        kept = first[keep]
        nodes = tuple(self.nodes[k] for k in kept)
        left = Network(nodes, matrix, source, self.bases[kept], self.start[kept], self.behind)
        order = np.argsort(np.concatenate([keep, drop]))
        every = sparse.vstack([sparse.eye(len(keep)), sparse.csr_matrix(transfer)]).tocsr()[order]
        constant = np.concatenate([np.zeros(len(keep)), own])[order]
        stands = {name: self.nodes[first[k]] for name, k in zip(self.nodes, group, strict=True)}
        return Reduced(left, stands, self.nodes, join @ every, join @ constant, stiff)

    def _joined(self, size: Floats, stiff: float) -> npt.NDArray[np.int_]:
        """Return the group of each node: those that stiff elements without a ratio join."""
        entries = self.admittance.tocoo()
        value, (i, j) = np.abs(entries.data), entries.coords
        alike = [np.abs(value - size[k]) < 1e-3 * value for k in (i, j)]
        same = (value > stiff) & alike[0] & alike[1] & (self.bases[i] == self.bases[j])
        graph = sparse.coo_matrix((value[same], (i[same], j[same])), entries.shape)
        return np.asarray(connected_components(graph, directed=False)[1])


@dataclass(frozen=True, eq=False)
class Reduced:
    """A network without stiff elements."""

    network: Network
    stands: Mapping[str, str]  # the node that nodes joined with it are represented by
    # the voltages of all nodes of the feeder by those that are left: a matrix, and what is added
    nodes: tuple[str, ...]
    matrix: sparse.csr_matrix
    constant: Complex  # [V]
    stiff: float  # the admittance above which an element is. [S]


def _norton(feeder: Feeder) -> Complex:
    """Return the currents of the active source: its admittance times the voltage behind it. [A]."""
    element, source = feeder.dss.CktElement, feeder.dss.Vsources
    source.Name(element.Name().partition(".")[2])
    phases = element.NumPhases()
    line = source.BasekV() * 1e3 * source.PU()
    angles = np.deg2rad(source.AngleDeg() - 360.0 / phases * np.arange(phases))
    behind = (line / np.sqrt(3) if phases > 1 else line) * np.exp(1j * angles)
    return np.array([row[:phases] @ behind for row in feeder.primitive()])


def load_currents(
    loads: Sequence[Load], nodes: Sequence[str], voltage: Complex
) -> tuple[npt.NDArray[np.int_], Complex, Complex]:
    """Return the places of both ends of loads, the voltages across them, and what they draw. [A].

    The place of ground is behind those of the nodes.
    """
    place = {**{name: k for k, name in enumerate(nodes)}, "0": len(nodes)}
    ends = np.array([[place[n] for n in x.nodes] for x in loads], int).reshape(-1, 2).T
    first, second = np.append(voltage, 0.0)[ends]
    across = first - second
    share = np.abs(across) / [x.voltage for x in loads]
    active, reactive = np.array([EXPONENTS[x.model] for x in loads]).reshape(-1, 2).T
    power = np.array([x.power for x in loads], complex)
    power = power.real * share**active + 1j * power.imag * share**reactive
    return ends, across, np.conj(power * 1e3 / across)


def power_flow(
    network: Network,
    loads: Sequence[Load],
    injected: Mapping[str, complex] | None = None,
    accuracy: float = 1e-8,
) -> dict[str, complex]:
    """Return the voltages by node per unit, by fixed-point iteration of the currents of the loads.

    ``injected``: powers of units by node [kVA]. Raises EngiagentError when it does not converge.
    """
    solver = splu(network.admittance)
    units = [Load(n, (n, "0"), -p, 1, 1.0, True) for n, p in (injected or {}).items()]
    voltage = solver.solve(network.source)
    for _ in range(500):
        (first, second), _, drawn = load_currents([*loads, *units], network.nodes, voltage)
        current = np.append(network.source, 0.0)
        np.add.at(current, first, -drawn)
        np.add.at(current, second, drawn)
        new = solver.solve(current[:-1])
        change = np.max(np.abs(new - voltage) / network.bases)
        voltage = new
        if not np.isfinite(change):
            break
        if change < accuracy:
            return dict(zip(network.nodes, (voltage / network.bases).tolist(), strict=True))
    raise EngiagentError("the iteration of currents does not converge: the load is too large")
