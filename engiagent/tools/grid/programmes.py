r"""Three-phase programmes in currents and voltages: hosting capacity, infeasibility, dispatch.

A blueprint over the nodes of a :class:`Network`, per unit on 100 kVA: rectangular voltages
:math:`e + jf`, the currents of loads and units, and at every node

.. math:: \sum_j Y_{ij} V_j = I_{s,i} - \sum_l i_l + \sum_u i_u + s_i

with slack currents :math:`s` only where infeasibility is asked for. Powers of constant-power loads
make it nonconvex: a solution is a local optimum, and nothing is claimed before OpenDSS executes it.
Source: M. Jereminov et al., doi:10.1109/TPWRS.2019.2947374 (slack currents).

LinDist3Flow is a first and fast answer: squares of voltages linear in the powers of units,

.. math::
    v_i = v_i^0 + 2 \operatorname{Re} \sum_j e^{-j\theta_i} Z_{ij} e^{j\theta_j} \overline{s_j}

with the impedances between nodes :math:`Z = Y^{-1}` (in a radial feeder those of the common path),
the voltages :math:`v^0` and angles :math:`\theta` of the power flow without the units. Losses that
the units cause are left out. Source: M. D. Sankur et al., arXiv:1606.04492.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from engiagent.errors import EngiagentError
from engiagent.formulations.program import Program
from engiagent.solvers.result import SolveOptions
from engiagent.tools.grid.documents import Parts, currents, powers, solved
from engiagent.tools.grid.feeders import Bands, Feeder, Floats, Load
from engiagent.tools.grid.network import Network, Reduced, load_currents

BASE: Final = 100.0
"""Of all powers. [kVA]."""
MOST: Final = 1e4
"""Of any current, per unit."""
HIGHEST: Final = 2.0
"""Of any part of a voltage, per unit."""
Norm = Literal["L1", "L2", "Linf"]


@dataclass(frozen=True)
class Unit:
    """A unit that feeds a node: what is available, and how much reactive power it may give."""

    node: str
    available: float  # [kW]
    reactive: float = 0.0  # greatest, either way. [kvar]
    cost: float = 0.0  # of its energy. [EUR/MWh]
    fixed: bool = False  # whether it feeds in all that is available

    @property
    def name(self) -> str:
        """Return its name: one that is fixed may stand at the node of another."""
        return f"{self.node} fixed" if self.fixed else self.node


@dataclass(frozen=True)
class Question:
    """What is asked of a feeder."""

    bands: Bands
    units: Sequence[Unit]
    loads: Sequence[Load]
    norm: Norm = "L1"
    price: float | None = None  # of the grid's energy, where cost is least. [EUR/MWh]
    slack: float | None = None  # the greatest slack current; None where there is none. [A]
    loading: float = np.inf  # of the ratings; endless where branches are not limited. [1]


@dataclass(frozen=True, eq=False)
class Answer:
    """A solved programme, in the feeder's own units."""

    status: str
    objective: float
    voltages: Mapping[str, complex]  # by node that is left. [p.u.]
    powers: Mapping[str, complex]  # of units, by name. [kVA]
    slack: Mapping[str, complex]  # currents by node. [A]


def solve_question(feeder: Feeder, question: Question, seconds: float = 60.0) -> Answer:
    """Return the best that is found, from a power flow's voltages; EngiagentError when none is."""
    whole = Network.of(feeder)
    paid = [] if question.price is None else [node for node, _ in whole.behind]
    stay = [n for load in question.loads for n in load.nodes] + [u.node for u in question.units]
    reduced = whole.reduced([*stay, *paid])
    network, made = reduced.network, _Made(feeder, reduced, question)
    essence = f"{'Injection' if question.slack is None else 'Infeasibility'} of {feeder.name}"
    options = SolveOptions(time_limit=seconds, backend="ipopt")
    status, objective, series = solved(essence, made.parts(), made.goal(), options, made.start)
    volts = (series["e"] + 1j * series["f"]) * made.bases
    every = (reduced.matrix @ volts + reduced.constant) / whole.bases
    voltages = dict(zip(whole.nodes, every.tolist(), strict=True))
    slack = {}
    if question.slack is not None:
        found = (series["slack_re"] + 1j * series["slack_im"]) * made.amperes
        slack = dict(zip(network.nodes, found.tolist(), strict=True))
    return Answer(status, objective, voltages, _powers(question, series), slack)


def _powers(question: Question, series: Mapping[str, Any]) -> dict[str, complex]:
    if not question.units:
        return {}
    values = (series["power"] + 1j * series["reactive"]).tolist()
    return {u.name: v for u, v in zip(question.units, values, strict=True)}


class _Made:
    """The blueprint of a question in parts, and a point to start from."""

    def __init__(self, feeder: Feeder, reduced: Reduced, question: Question) -> None:
        self.feeder, self.reduced, self.question = feeder, reduced, question
        self.network = reduced.network  # the nodes that are left
        self.bases = self.network.bases
        self.amperes: Floats = BASE * 1e3 / self.bases  # the current that is 1 per unit at a node
        self.place = {name: k for k, name in enumerate(self.network.nodes)}
        stands = {**reduced.stands, "0": "0"}
        self.units = [(u.name, stands[u.node]) for u in question.units]
        self.loads = [
            replace(load, nodes=(stands[load.nodes[0]], stands[load.nodes[1]]))
            for load in question.loads
        ]

    def parts(self) -> Parts:
        """Return all of the blueprint but its goal."""
        parts, network = Parts(), self.network
        parts.labels("N", network.nodes)
        entries = self._scaled(network.admittance)
        parts.table("N", network.nodes, I=network.source / self.amperes)
        parts.variable("e f", "n in N", -HIGHEST, HIGHEST, "voltage")
        flows = ["I_re[n]", "I_im[n]"]
        if self.loads:
            self._loads(parts)
            drawn = " - sum(sign[l, i]*{}[l] for (l, i) in A if i == n)"
            flows = [flow + drawn.format(k) for flow, k in zip(flows, ("ir", "ii"), strict=True)]
        if self.units:
            self._units(parts)
            fed = " + sum({}[u] for (u, i) in At if i == n)"
            flows = [flow + fed.format(k) for flow, k in zip(flows, ("jr", "ji"), strict=True)]
        if self.question.slack is not None:
            self._slack(parts, self.question.slack / self.amperes)
            flows = [f"{flow} + slack_{k}[n]" for flow, k in zip(flows, ("re", "im"), strict=True)]
        for end, own, formulas in parts.matrix("N", network.nodes, network.nodes, "Y", entries):
            for part, formula, flow in zip(("re", "im"), formulas, flows, strict=True):
                parts.rule(f"balance_{part}{end}", f"n in {own}", f"{formula} == {flow}")
        bands = [self.question.bands.of(node) for node in network.nodes]
        parts.bands(network.nodes, *np.transpose(bands))
        if np.isfinite(self.question.loading):
            self._ratings(parts)
        if self.question.price is not None:
            self._source(parts)
        return parts

    def _scaled(self, matrix: Any) -> Any:
        """Return admittances between nodes per unit."""
        entries = matrix.tocoo()
        rows, columns = entries.coords
        entries.data = entries.data * self.bases[rows] * self.bases[columns] / (BASE * 1e3)
        return entries

    def _loads(self, parts: Parts) -> None:
        """Add loads: what each draws from the voltage across it."""
        loads, models = self.loads, [load.model for load in self.loads]
        power = np.array([load.power / BASE for load in loads])
        columns = {"P": power.real, "Q": power.imag, "model": models}
        columns["nominal"] = [x.voltage / self.bases[self.place[x.nodes[0]]] for x in loads]
        names = parts.numbered("L", len(loads), **columns)
        ends = [
            (m, *at)
            for m, x in zip(names, loads, strict=True)
            for at in zip(x.nodes, (1, -1), strict=True)
        ]
        ends = [end for end in ends if end[1] != "0"]
        pairs = [end[:2] for end in ends]
        parts.tuples("A", "L N", pairs)
        parts.table("A", pairs, sign=[end[2] for end in ends])
        for part in ("e", "f"):
            across = f"sum(sign[m, i]*{part}[i] for (m, i) in A if m == l)"
            parts.expressions.append(
                {"name": f"u{part}", "index": ["l in L"], "expression": across}
            )
        parts.variable("ir ii", "l in L", -MOST, MOST, "current of a load")
        sized = [n for n, model in zip(names, models, strict=True) if model in (4, 5)]
        if sized:  # the size of the voltage, which a root would have no slope at 0 for
            parts.labels("C", sized, "L")
            parts.variable("size", "l in C", 0.1, 2 * HIGHEST, "voltage across a load")
            parts.rule("size", "l in C", "size[l]*size[l] == ue[l]*ue[l] + uf[l]*uf[l]")
        active, reactive = powers("ue[l]", "uf[l]", "ir[l]", "ii[l]")
        for word, drawn in (("P", active), ("Q", reactive)):
            if 1 in models:
                parts.rule(f"power_{word}", "l in L", f"{drawn} == {word}[l]", "model[l] == 1")
            if sized:
                rule = f"({drawn})*nominal[l] == {word}[l]*size[l]"
                where = "model[l] == 5" if word == "Q" else None
                parts.rule(f"current_{word}", "l in C", rule, where)
        if 4 in models:
            rule = f"({reactive})*nominal[l]*nominal[l] == Q[l]*size[l]*size[l]"
            parts.rule("reduced_Q", "l in C", rule, "model[l] == 4")
        current = ("P[l]*ue[l] + Q[l]*uf[l]", "P[l]*uf[l] - Q[l]*ue[l]")  # (P + jQ)* V
        for part, formula in zip(("ir", "ii"), current, strict=True) if 2 in models else ():
            rule = f"{part}[l]*nominal[l]*nominal[l] == {formula}"
            parts.rule(f"load_{part}", "l in L", rule, "model[l] == 2")

    def _units(self, parts: Parts) -> None:
        """Add units: their powers, and the currents that these are at the voltage of their node."""
        unit_parts(parts, self.question.units)
        parts.tuples("At", "U N", self.units)
        parts.variable("jr ji", "u in U", -MOST, MOST, "current of a unit")
        fed = powers("e[n]", "f[n]", "jr[u]", "ji[u]")
        for name, formula in zip(("power", "reactive"), fed, strict=True):
            rule = f"{name}[u] == {BASE:g}[kW]*({formula})"
            parts.rule(f"unit_{name}", "(u, n) in At", rule)

    def _slack(self, parts: Parts, most: Floats) -> None:
        parts.table("N", self.network.nodes, slack_max=most)
        parts.variable("slack_re slack_im", "n in N", "-slack_max[n]", "slack_max[n]", "slack")
        if self.question.norm == "L2":
            return
        # A size times a direction: a cone would have no slope at 0, where most nodes are.
        parts.variable("slack", "n in N", 0, "slack_max[n]", "size of the slack current")
        for part in ("re", "im"):
            parts.variable(f"way_{part}", "n in N", -1, 1, "direction of the slack current")
            rule = f"slack_{part}[n] == slack[n]*way_{part}[n]"
            parts.rule(f"slack_{part}", "n in N", rule)
        square = "way_re[n]*way_re[n] + way_im[n]*way_im[n]"
        parts.rule("direction", "n in N", f"{square} <= 1")

    def _ratings(self, parts: Parts) -> None:
        """Add the currents of rated branches, phase by phase, where they are not stiff."""
        place = {name: k for k, name in enumerate(self.reduced.nodes)}
        rows, columns, shares = [], [], []  # admittances over the rating, by all nodes
        names: list[str] = []
        for branch in self.feeder.branches:
            self.feeder.dss.Circuit.SetActiveElement(branch.name)
            known = [k for k, node in enumerate(branch.nodes) if node != "0"]
            primitive = self.feeder.primitive()
            for k in known:
                if np.isfinite(branch.rated[k]) and abs(primitive[k, k]) <= self.reduced.stiff:
                    rows += [len(names)] * len(known)
                    columns += [place[branch.nodes[n]] for n in known]
                    shares += (primitive[k, known] / branch.rated[k]).tolist()
                    names.append(f"b{len(names)}")
        if not names:
            return
        matrix = sparse.csr_matrix((shares, (rows, columns)), (len(names), len(place)))
        left = sparse.coo_matrix(matrix @ self.reduced.matrix @ sparse.diags(self.bases))
        left.data[np.abs(left.data) < 1e-9] = 0.0  # rounding, as between phases, is no influence
        left.eliminate_zeros()
        parts.labels("K", names)
        parts.table("K", names, Z0=matrix @ self.reduced.constant)
        most = f"{self.question.loading**2:.15g}"
        for end, own, formulas in parts.matrix("K", names, self.network.nodes, "Z", left):
            for name, part, formula in zip(("kr", "ki"), ("re", "im"), formulas, strict=True):
                total = {"name": f"{name}{end}", "expression": f"Z0_{part}[k] + {formula}"}
                parts.expressions.append({**total, "index": [f"k in {own}"]})
            square = f"kr{end}[k]*kr{end}[k] + ki{end}[k]*ki{end}[k]"
            parts.rule(f"rating{end}", f"k in {own}", f"{square} <= {most}")

    def goal(self) -> dict[str, Any]:
        """Return the least slack, curtailment or cost."""
        if self.question.slack is not None:
            squares = "slack_re[n]*slack_re[n] + slack_im[n]*slack_im[n]"
            each = squares if self.question.norm == "L2" else "slack[n]"
            return {"name": "slack", "sense": "minimize", "expression": f"sum({each} for n in N)"}
        if self.question.price is None:
            return curtailment(self.question.norm)
        power = f"{BASE:g}[kW]*sum(e[n]*sr[n] + f[n]*si[n] for n in Source)"
        total = f"{self.question.price}[EUR/MWh]*{power} + sum(cost[u]*power[u] for u in U)"
        return {"name": "cost", "sense": "minimize", "unit": "EUR/h", "expression": total}

    def _source(self, parts: Parts) -> None:
        """Add the currents of the source, whose energy is paid for, and what the units' costs."""
        stands = self.reduced.stands
        pairs = [(stands[m], stands[n]) for m, n in self.network.behind]
        scale = [self.bases[self.place[m]] * self.bases[self.place[n]] for m, n in pairs]
        values = np.array(list(self.network.behind.values())) * scale / (BASE * 1e3)
        parts.labels("Source", list(dict.fromkeys(m for m, _ in pairs)), "N")
        parts.tuples("S", "N N", pairs)
        parts.table("S", pairs, S=values)
        parts.variable("sr si", "n in Source", -MOST, MOST, "current of the source")
        for name, part, formula in zip(("sr", "si"), ("re", "im"), currents("S", "n"), strict=True):
            parts.rule(f"source_{name}", "n in Source", f"{name}[n] == I_{part}[n] - {formula}")
        units = self.question.units
        parts.table("U", [u.name for u in units], "EUR/MWh", cost=[u.cost for u in units])

    def start(self, program: Program) -> Floats:
        """Return the point of the power flow, with nothing fed in and no slack."""
        (first, _), across, drawn = load_currents(
            self.loads, self.network.nodes, self.network.start
        )
        drawn, sized = drawn / self.amperes[first], [x.model in (4, 5) for x in self.loads]
        values = {"ir": drawn.real, "ii": drawn.imag}
        values["size"] = (np.abs(across) / self.bases[first])[sized]
        voltage = self.network.start / self.bases
        point: Floats = np.clip(0.0, program.column_lower, program.column_upper)
        for block in program.columns:
            known = {"e": voltage.real, "f": voltage.imag, **values}.get(block.name, ())
            if block.size == len(known):
                point[block.start : block.stop] = known
        return point


def unit_parts(parts: Parts, units: Sequence[Unit]) -> None:
    """Add units: what they may feed in."""
    names, available = [u.name for u in units], [u.available for u in units]
    least = [u.available if u.fixed else 0.0 for u in units]
    parts.labels("U", names)
    most = [u.reactive for u in units]
    parts.table("U", names, "kW", available=available, least=least, q_max=most)
    parts.variable("power", "u in U", "least[u]", "available[u]", "feeds in", "kW")
    parts.variable("reactive", "u in U", "-q_max[u]", "q_max[u]", "reactive power", "kW")


def curtailment(norm: Norm) -> dict[str, Any]:
    """Return the goal: what is curtailed, by a norm."""
    lost = "(available[u] - power[u])"
    formula = {
        "L1": f"sum({lost} for u in U)",
        "L2": f"sum({lost}*{lost} for u in U)",
        "Linf": f"max({lost} for u in U)",
    }[norm]
    unit = "kW^2" if norm == "L2" else "kW"
    return {"name": "curtailed", "sense": "minimize", "expression": formula, "unit": unit}


def solve_linear(feeder: Feeder, question: Question, seconds: float = 60.0) -> Answer:
    """Return the least curtailment with linearised voltages; ratings are not in it.

    Raises EngiagentError when there is none.
    """
    if not np.isinf(question.loading):
        raise EngiagentError("the linear method has voltage bands and no ratings of branches")
    network, names = Network.of(feeder), [unit.name for unit in question.units]
    place = {name: k for k, name in enumerate(network.nodes)}
    at, bases = [place[unit.node] for unit in question.units], network.bases
    columns = np.eye(len(place), dtype=complex)[:, at]
    impedance = splu(network.admittance).solve(columns)  # [V/A]
    angles = np.exp(1j * np.angle(network.start))
    rotated = np.conj(angles)[:, None] * impedance * angles[at][None, :]
    factor = 2e3 * rotated / (bases[:, None] * bases[at][None, :])  # [1/kVA]
    # Rounding, as between phases of a balanced feeder, is no influence.
    real, imaginary = (np.where(abs(x) > 1e-9, x, 0.0) for x in (factor.real, factor.imag))
    factor, square = real + 1j * imaginary, np.abs(network.start / bases) ** 2
    # Nodes that no unit moves, as beside the source, are as they are.
    moved = np.flatnonzero(factor.any(axis=1))
    nodes = [network.nodes[k] for k in moved]
    parts = Parts()
    parts.labels("N", nodes)
    unit_parts(parts, question.units)
    pairs = [(node, name) for node in nodes for name in names]
    parts.tuples("S", "N U", pairs)
    parts.table("S", pairs, "1/kW", R=real[moved].ravel(), X=imaginary[moved].ravel())
    low, high = np.transpose([question.bands.of(node) for node in nodes]) ** 2
    own = square[moved]
    parts.table("N", nodes, v0=own, low=np.minimum(low, own), high=np.maximum(high, own))
    total = "v0[n] + sum(R[i, u]*power[u] + X[i, u]*reactive[u] for (i, u) in S if i == n)"
    parts.rule("band", "n in N", f"low[n] <= {total} <= high[n]")
    essence, options = f"Hosting capacity of {feeder.name}", SolveOptions(time_limit=seconds)
    status, objective, series = solved(essence, parts, curtailment(question.norm), options)
    powers_of = _powers(question, series)
    found = square + np.real(factor @ np.conj(list(powers_of.values())))
    sizes = np.sqrt(np.maximum(found, 0.0)).astype(complex)
    voltages = dict(zip(network.nodes, sizes.tolist(), strict=True))
    return Answer(status, objective, voltages, powers_of, {})
