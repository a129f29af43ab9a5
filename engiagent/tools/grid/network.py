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
from scipy import sparse
from scipy.sparse.linalg import splu

from engiagent.errors import EngiagentError
from engiagent.tools.grid.feeders import EXPONENTS, Complex, Feeder, Load

ACTIVE: Final = ("load", "generator", "regcontrol", "energymeter", "monitor")
STIFF: Final = 50.0
"""Of an impedance's admittance, in units of the typical one: above it two nodes are as one."""


@dataclass(frozen=True, eq=False)
class Network:
    """The passive part of a feeder over some nodes, in V, A and S."""

    nodes: tuple[str, ...]
    admittance: sparse.csc_matrix  # [S]
    source: Complex  # Norton currents. [A]
    bases: tuple[float, ...]  # nominal voltages. [V]
    start: Complex  # voltages of the last power flow. [V]
    # admittances of the source, by the pairs of its nodes. [S]
    behind: Mapping[tuple[str, str], complex]

    @classmethod
    def of(cls, feeder: Feeder) -> "Network":
        """Take the admittances of a feeder that has been solved, at its present taps."""
        feeder.supplied()
        place = {name: k for k, name in enumerate(feeder.nodes)}
        rows: list[int] = []
        columns: list[int] = []
        entries: list[complex] = []
        source = np.zeros(len(place), complex)
        behind: dict[tuple[str, str], complex] = {}
        start = np.array([feeder.voltages()[n] * feeder.base(n) for n in feeder.nodes])
        for name in feeder.elements():
            kind = name.partition(".")[0]
            if kind in ACTIVE:
                continue
            primitive = feeder.primitive()
            if not primitive.size:  # controls and fuses
                continue
            terminals = feeder.terminals()
            index = [place.get(node, -1) for node in terminals]
            if kind == "vsource":
                source += _norton(feeder, primitive, index, start)
                own = [(k, n) for k, n in enumerate(terminals) if n in place]
                behind |= {(m, n): primitive[i, j] for i, m in own for j, n in own}
            for i, row in enumerate(index):
                for j, column in enumerate(index):
                    if row >= 0 and column >= 0 and primitive[i, j]:
                        rows.append(row)
                        columns.append(column)
                        entries.append(primitive[i, j])
        shape = (len(place), len(place))
        matrix = sparse.coo_matrix((entries, (rows, columns)), shape).tocsc()
        bases = tuple(feeder.base(n) for n in feeder.nodes)
        return cls(feeder.nodes, matrix, source, bases, start, behind)

    def idle(self) -> dict[str, complex]:
        """Return the voltages without loads and units, 0 where no source reaches. [p.u.]."""
        small = 1e-9 * float(np.median(np.abs(self.admittance.diagonal())))  # else singular
        grounded = sparse.csc_matrix(self.admittance + small * sparse.eye(len(self.nodes)))
        found = splu(grounded).solve(self.source) / np.array(self.bases)
        return dict(zip(self.nodes, found.tolist(), strict=True))

    def reduced(self, stay: Sequence[str]) -> "Reduced":
        """Return it without stiff elements: regulators and switches of nearly no impedance.

        They would let an interior-point method hide currents in the residual of a balance. Nodes
        that such an element joins without a ratio become one; others at one that have nothing
        connected (are not in ``stay``) are eliminated (Kron).
        """
        matrix = self.admittance
        stiff = STIFF * float(np.median(np.abs(matrix.diagonal())))
        leader = self._joined(stiff)
        first = sorted(set(leader))
        place = {k: n for n, k in enumerate(first)}
        join = sparse.csc_matrix(
            (np.ones(len(leader)), (range(len(leader)), [place[k] for k in leader])),
            (len(leader), len(first)),
        )
        matrix, source = sparse.csc_matrix(join.T @ matrix @ join), join.T @ self.source
        held = {leader[k] for k, name in enumerate(self.nodes) if name in set(stay)}
        drop = np.array(
            [n for n, k in enumerate(first) if k not in held and np.abs(matrix[n, n]) > stiff], int
        )
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
        kept = [first[n] for n in keep]
        left = Network(
            tuple(self.nodes[k] for k in kept),
            matrix,
            source,
            tuple(self.bases[k] for k in kept),
            self.start[kept],
            self.behind,
        )
        lines: dict[int, Line] = {k: ({self.nodes[k]: 1.0 + 0j}, 0j) for k in kept}
        for row, k in enumerate(drop):
            terms = zip(left.nodes, transfer[row], strict=True)
            lines[first[k]] = ({n: c for n, c in terms if abs(c) > 1e-12}, complex(own[row]))
        every = {name: lines[leader[k]] for k, name in enumerate(self.nodes)}
        stands = {name: self.nodes[leader[k]] for k, name in enumerate(self.nodes)}
        return Reduced(left, stands, every, stiff)

    def _joined(self, stiff: float) -> list[int]:
        """Return for each node the first of those that stiff elements without a ratio join."""
        leader = list(range(len(self.nodes)))
        entries = self.admittance.tocoo()
        size = np.abs(self.admittance.diagonal())
        for i, j, value in zip(entries.row, entries.col, np.abs(entries.data), strict=True):
            alike = abs(value - size[i]) < 1e-3 * value and abs(value - size[j]) < 1e-3 * value
            if i < j and value > stiff and alike and self.bases[i] == self.bases[j]:
                old, new = leader[j], leader[i]
                leader = [new if k == old else k for k in leader]
        return leader


Line = tuple[Mapping[str, complex], complex]
"""Coefficients by node, and what is added."""


@dataclass(frozen=True, eq=False)
class Reduced:
    """A network without stiff elements."""

    network: Network
    stands: Mapping[str, str]  # the node that nodes joined with it are represented by
    # the voltages of all nodes of the feeder by those that are left. [V]
    lines: Mapping[str, "Line"]
    stiff: float  # the admittance above which an element is. [S]

    def voltages(self, left: Mapping[str, complex]) -> dict[str, complex]:
        """Return the voltages of all nodes from those that are left. [V]."""
        return {
            node: sum((c * left[n] for n, c in terms.items()), start=constant)
            for node, (terms, constant) in self.lines.items()
        }


def _norton(feeder: Feeder, primitive: Complex, index: Sequence[int], start: Complex) -> Complex:
    """Return the currents of the source: its admittance times the voltage behind it."""
    dss = feeder.dss
    phases = dss.CktElement.NumPhases()
    dss.Vsources.Name(dss.CktElement.Name().partition(".")[2])
    line = dss.Vsources.BasekV() * 1e3 * dss.Vsources.PU()
    size = line / np.sqrt(3) if phases > 1 else line
    angles = np.deg2rad(dss.Vsources.AngleDeg() - 360.0 / phases * np.arange(phases))
    behind = size * np.exp(1j * angles)
    found = np.zeros(len(start), complex)
    for i in range(phases):
        if index[i] >= 0:
            found[index[i]] += primitive[i, :phases] @ behind
    return found


def power_flow(
    network: Network,
    loads: Sequence[Load],
    injected: Mapping[str, complex] | None = None,
    accuracy: float = 1e-8,
) -> dict[str, complex]:
    """Return the voltages by node per unit, by fixed-point iteration of the currents of the loads.

    ``injected``: powers of units by node [kVA]. Raises EngiagentError when it does not converge.
    """
    place = {name: k for k, name in enumerate(network.nodes)}
    solver = splu(network.admittance)
    voltage = solver.solve(network.source)
    for _ in range(500):
        current = network.source.copy()
        for load in loads:
            a, b = place[load.nodes[0]], place.get(load.nodes[1], -1)
            across = voltage[a] - (voltage[b] if b >= 0 else 0.0)
            drawn = load_current(load, across)
            current[a] -= drawn
            if b >= 0:
                current[b] += drawn
        for node, power in (injected or {}).items():
            current[place[node]] += np.conj(power * 1e3 / voltage[place[node]])
        new = solver.solve(current)
        change = np.max(np.abs(new - voltage) / np.array(network.bases))
        voltage = new
        if not np.isfinite(change):
            break
        if change < accuracy:
            per_unit = voltage / np.array(network.bases)
            return {name: complex(per_unit[k]) for name, k in place.items()}
    raise EngiagentError("the iteration of currents does not converge: the load is too large")


def load_current(load: Load, across: complex) -> complex:
    """Return what a load draws at a voltage across it. [A]."""
    share = abs(across) / load.voltage
    active, reactive = EXPONENTS[load.model]
    power = complex(load.power.real * share**active, load.power.imag * share**reactive)
    return complex(np.conj(power * 1e3 / across))
