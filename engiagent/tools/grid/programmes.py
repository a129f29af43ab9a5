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

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

import numpy as np
from scipy.sparse.linalg import splu

from engiagent.errors import EngiagentError
from engiagent.formulations.program import Program
from engiagent.solvers.result import SolveOptions
from engiagent.tools.grid.documents import Parts, solved
from engiagent.tools.grid.feeders import Feeder, Floats, Load
from engiagent.tools.grid.network import Network, Reduced, load_current

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

    name: str
    node: str
    available: float  # [kW]
    reactive: float = 0.0  # greatest, either way. [kvar]
    cost: float = 0.0  # of its energy. [EUR/MWh]
    fixed: bool = False  # whether it feeds in all that is available


@dataclass(frozen=True)
class Bands:
    """Between which voltages have to stay: everywhere, and at buses or nodes of their own."""

    low: float  # [p.u.]
    high: float
    own: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def of(self, node: str) -> tuple[float, float]:
        """Return the band of a node."""
        bus = node.partition(".")[0]
        return self.own.get(node, self.own.get(bus, (self.low, self.high)))


@dataclass(frozen=True)
class Question:
    """What is asked of a feeder."""

    bands: Bands | None
    units: Sequence[Unit] = ()
    norm: Norm = "L1"
    price: float | None = None  # of the grid's energy, where cost is least. [EUR/MWh]
    slack: float | None = None  # the greatest slack current; None where there is none. [A]
    loading: float = 1.0  # of the ratings; endless where branches are not limited. [1]
    loads: Sequence[Load] = ()


@dataclass(frozen=True, eq=False)
class Answer:
    """A solved programme, in the feeder's own units."""

    status: str
    objective: float
    voltages: Mapping[str, complex]  # by node that is left. [p.u.]
    powers: Mapping[str, complex]  # of units, by their names. [kVA]
    slack: Mapping[str, complex]  # currents by node. [A]


def solve_question(feeder: Feeder, question: Question, seconds: float = 60.0) -> Answer:
    """Return the best that is found, from a power flow's voltages; EngiagentError when none is."""
    whole = Network.of(feeder)
    paid = [] if question.price is None else [node for node, _ in whole.behind]
    stay = [n for load in question.loads for n in load.nodes] + [u.node for u in question.units]
    reduced = whole.reduced([*stay, *paid])
    network = reduced.network
    loads = [
        replace(load, nodes=(reduced.stands[load.nodes[0]], reduced.stands.get(load.nodes[1], "0")))
        for load in question.loads
    ]
    units = [replace(u, node=reduced.stands[u.node]) for u in question.units]
    made = _Made(feeder, reduced, loads, units, question)
    essence = f"{'Injection' if question.slack is None else 'Infeasibility'} of {feeder.name}"
    options = SolveOptions(time_limit=seconds, backend="ipopt")
    status, objective, series = solved(essence, made.parts(), made.goal(), options, made.start)
    voltages = series["e"] + 1j * series["f"]
    values = voltages * np.array(network.bases)
    left = {n: complex(v) for n, v in zip(network.nodes, values, strict=True)}
    slack = {}
    if question.slack is not None:
        amperes = BASE * 1e3 / np.array(network.bases)
        found = (series["slack_re"] + 1j * series["slack_im"]) * amperes
        slack = dict(zip(network.nodes, found, strict=True))
    powers = {}
    if units:
        values = series["power"] + 1j * series["reactive"]
        powers = {u.name: complex(v) for u, v in zip(units, values, strict=True)}
    return Answer(
        status,
        objective,
        {n: v / feeder.base(n) for n, v in reduced.voltages(left).items()},
        powers,
        {n: complex(v) for n, v in slack.items()},
    )


@dataclass(frozen=True, eq=False)
class _Made:
    """The blueprint of a question in parts, and a point to start from."""

    feeder: Feeder
    reduced: Reduced
    loads: Sequence[Load]
    units: Sequence[Unit]
    question: Question

    @property
    def network(self) -> Network:
        """The nodes that are left."""
        return self.reduced.network

    @property
    def amperes(self) -> Floats:
        """The current that is 1 per unit at each node. [A]."""
        return BASE * 1e3 / np.array(self.network.bases)

    def parts(self) -> Parts:
        """Return all of the blueprint but its goal."""
        parts = Parts()
        flows = ["I_re[n]", "I_im[n]"]
        self._nodes(parts)
        self._loads(parts, flows)
        self._units(parts, flows)
        if self.question.slack is not None:
            self._slack(parts, flows, self.question.slack / self.amperes)
        for real, own, other, sign in (("re", "e", "f", "-"), ("im", "f", "e", "+")):
            through = f"G[i, j]*{own}[j] {sign} B[i, j]*{other}[j]"
            rule = f"sum({through} for (i, j) in Y if i == n) == {flows[real == 'im']}"
            parts.rule(f"balance_{real}", ["n in N"], rule, "Physical Laws")
        if self.question.bands is not None:
            self._bands(parts, self.question.bands)
        if np.isfinite(self.question.loading):
            self._ratings(parts)
        if self.question.price is not None:
            self._source(parts)
        return parts

    def _nodes(self, parts: Parts) -> None:
        network, bases = self.network, np.array(self.network.bases)
        entries = network.admittance.tocoo()
        scaled = entries.data * bases[entries.row] * bases[entries.col] / (BASE * 1e3)
        pairs = [(network.nodes[i], network.nodes[j]) for i, j in zip(*entries.coords, strict=True)]
        source = network.source / self.amperes
        parts.labels("N", network.nodes)
        parts.tuples("Y", ["N", "N"], pairs)
        parts.table("G", "Y", pairs, scaled.real, "conductance")
        parts.table("B", "Y", pairs, scaled.imag, "susceptance")
        parts.table("I_re", "N", network.nodes, source.real, "current of the source, real")
        parts.table("I_im", "N", network.nodes, source.imag, "current of the source, imaginary")
        parts.variable("e", "n in N", (-HIGHEST, HIGHEST), "voltage, real")
        parts.variable("f", "n in N", (-HIGHEST, HIGHEST), "voltage, imaginary")

    def _loads(self, parts: Parts, flows: list[str]) -> None:
        """Add loads: what each draws from the voltage across it."""
        if not self.loads:
            return
        names = [f"l{k}" for k in range(len(self.loads))]
        across = [
            (name, node, sign)
            for name, load in zip(names, self.loads, strict=True)
            for node, sign in zip(load.nodes, (1.0, -1.0), strict=True)
            if node != "0"
        ]
        pairs = [entry[:2] for entry in across]
        bases = dict(zip(self.network.nodes, self.network.bases, strict=True))
        nominal = [load.voltage / bases[load.nodes[0]] for load in self.loads]
        parts.labels("L", names)
        parts.tuples("A", ["L", "N"], pairs)
        parts.table("sign", "A", pairs, [entry[2] for entry in across], "direction of a terminal")
        parts.table("P", "L", names, [x.power.real / BASE for x in self.loads], "active power")
        parts.table("Q", "L", names, [x.power.imag / BASE for x in self.loads], "reactive power")
        parts.table("nominal", "L", names, nominal, "voltage at which it draws that")
        parts.table("model", "L", names, [x.model for x in self.loads], "of OpenDSS")
        for name, part in (("ue", "e"), ("uf", "f")):
            formula = f"sum(sign[m, i]*{part}[i] for (m, i) in A if m == l)"
            parts.expression(name, "l in L", formula)
        for part in ("ir", "ii"):
            parts.variable(part, "l in L", (-MOST, MOST), "current of a load")
        models = {load.model for load in self.loads}
        currents = [n for n, load in zip(names, self.loads, strict=True) if load.model in (4, 5)]
        if currents:  # the size of the voltage, which a root would have no slope at 0 for
            parts.labels("C", currents, "L")
            parts.variable("size", "l in C", (0.1, 2 * HIGHEST), "voltage across a load")
            square = "size[l]*size[l] == ue[l]*ue[l] + uf[l]*uf[l]"
            parts.rule("size", ["l in C"], square, "Physical Laws")
        active, reactive = "ue[l]*ir[l] + uf[l]*ii[l]", "uf[l]*ir[l] - ue[l]*ii[l]"
        for word, left in (("P", active), ("Q", reactive)):
            if 1 in models:
                rule = f"{left} == {word}[l]"
                parts.rule(f"power_{word}", ["l in L"], rule, "Physical Laws", "model[l] == 1")
            if currents:
                rule = f"({left})*nominal[l] == {word}[l]*size[l]"
                where = "model[l] == 5" if word == "Q" else None
                parts.rule(f"current_{word}", ["l in C"], rule, "Physical Laws", where)
        if 4 in models:
            rule = f"({reactive})*nominal[l]*nominal[l] == Q[l]*size[l]*size[l]"
            parts.rule("reduced_Q", ["l in C"], rule, "Physical Laws", "model[l] == 4")
        if 2 in models:
            for part, formula in (
                ("ir", "P[l]*ue[l] + Q[l]*uf[l]"),
                ("ii", "P[l]*uf[l] - Q[l]*ue[l]"),
            ):
                rule = f"{part}[l]*nominal[l]*nominal[l] == {formula}"
                parts.rule(f"load_{part}", ["l in L"], rule, "Physical Laws", "model[l] == 2")
        for k, part in enumerate(("ir", "ii")):
            flows[k] += f" - sum(sign[l, i]*{part}[l] for (l, i) in A if i == n)"

    def _units(self, parts: Parts, flows: list[str]) -> None:
        """Add units: their powers, and the currents that these are at the voltage of their node."""
        if not self.units:
            return
        unit_parts(parts, self.units)
        pairs = [(unit.name, unit.node) for unit in self.units]
        parts.tuples("At", ["U", "N"], pairs)
        for part in ("jr", "ji"):
            parts.variable(part, "u in U", (-MOST, MOST), "current of a unit")
        base = f"{BASE:g}[kW]"
        for name, formula in (
            ("power", "e[n]*jr[u] + f[n]*ji[u]"),
            ("reactive", "f[n]*jr[u] - e[n]*ji[u]"),
        ):
            rule = f"{name}[u] == {base}*({formula})"
            parts.rule(f"unit_{name}", ["(u, n) in At"], rule, "Physical Laws")
        for k, part in enumerate(("jr", "ji")):
            flows[k] += f" + sum({part}[u] for (u, i) in At if i == n)"

    def _slack(self, parts: Parts, flows: list[str], most: Floats) -> None:
        parts.table("slack_max", "N", self.network.nodes, most, "greatest slack current")
        for k, part in enumerate(("slack_re", "slack_im")):
            limits = ("-slack_max[n]", "slack_max[n]")
            parts.variable(part, "n in N", limits, "slack current", role="decision")
            flows[k] += f" + {part}[n]"
        if self.question.norm == "L2":
            return
        # A size times a direction: a cone would have no slope at 0, where most nodes are.
        parts.variable("slack", "n in N", (0, "slack_max[n]"), "size of the slack current")
        for part in ("re", "im"):
            parts.variable(f"way_{part}", "n in N", (-1, 1), "direction of the slack current")
            rule = f"slack_{part}[n] == slack[n]*way_{part}[n]"
            parts.rule(f"slack_{part}", ["n in N"], rule, "Physical Laws")
        square = "way_re[n]*way_re[n] + way_im[n]*way_im[n]"
        parts.rule("direction", ["n in N"], f"{square} <= 1", "Physical Laws")

    def _bands(self, parts: Parts, bands: Bands) -> None:
        low, high = np.transpose([bands.of(node) for node in self.network.nodes])
        parts.table("low", "N", self.network.nodes, low, "lowest voltage")
        parts.table("high", "N", self.network.nodes, high, "highest voltage")
        square = "e[n]*e[n] + f[n]*f[n]"
        parts.rule("lowest", ["n in N"], f"{square} >= low[n]*low[n]", "Resource Capacity")
        parts.rule("highest", ["n in N"], f"{square} <= high[n]*high[n]", "Resource Capacity")

    def _ratings(self, parts: Parts) -> None:
        """Add the currents of rated branches, phase by phase."""
        rows = list(ratings(self.feeder, self.reduced))
        if not rows:
            return
        names = [f"b{k}" for k in range(len(rows))]
        entries = [
            (name, node, value)
            for name, (row, _) in zip(names, rows, strict=True)
            for node, value in row.items()
        ]
        pairs = [entry[:2] for entry in entries]
        values = np.array([entry[2] for entry in entries])
        constant = np.array([constant for _, constant in rows])
        parts.labels("K", names)
        parts.tuples("Z", ["K", "N"], pairs)
        parts.table("Z_re", "Z", pairs, values.real, "admittance over the rating, real")
        parts.table("Z_im", "Z", pairs, values.imag, "admittance over the rating, imaginary")
        parts.table("Z0_re", "K", names, constant.real, "part of the source, real")
        parts.table("Z0_im", "K", names, constant.imag, "part of the source, imaginary")
        for name, own, other, sign in (("kr", "e", "f", "-"), ("ki", "f", "e", "+")):
            formula = f"Z_re[b, j]*{own}[j] {sign} Z_im[b, j]*{other}[j]"
            added = "Z0_re[k]" if name == "kr" else "Z0_im[k]"
            total = f"{added} + sum({formula} for (b, j) in Z if b == k)"
            parts.expression(name, "k in K", total)
        rule = f"kr[k]*kr[k] + ki[k]*ki[k] <= {self.question.loading**2:.15g}"
        parts.rule("rating", ["k in K"], rule, "Resource Capacity")

    def goal(self) -> dict[str, Any]:
        """Return the least slack, curtailment or cost."""
        if self.question.slack is not None:
            squares = "slack_re[n]*slack_re[n] + slack_im[n]*slack_im[n]"
            each = squares if self.question.norm == "L2" else "slack[n]"
            return {"name": "slack", "sense": "minimize", "expression": f"sum({each} for n in N)"}
        if self.question.price is None:
            return curtailment(self.question.norm)
        power = f"{BASE:g}[kW]*sum(e[n]*sr[n] + f[n]*si[n] for n in Source)"
        total = f"{self.question.price}[EUR/MWh]*{power}"
        paid = "sum(cost[u]*power[u] for u in U)"
        goal = {"name": "cost", "sense": "minimize", "unit": "EUR/h"}
        return {**goal, "expression": f"{total} + {paid}"}

    def _source(self, parts: Parts) -> None:
        """Add the currents of the source, whose energy is paid for, and what the units' costs."""
        network = self.network
        bases = dict(zip(network.nodes, network.bases, strict=True))
        pairs = list(network.behind)
        values = np.array([y * bases[m] * bases[n] for (m, n), y in network.behind.items()])
        values = values / (BASE * 1e3)
        parts.labels("Source", list(dict.fromkeys(m for m, _ in pairs)), "N")
        parts.tuples("S", ["N", "N"], pairs)
        parts.table("S_re", "S", pairs, values.real, "admittance of the source, real")
        parts.table("S_im", "S", pairs, values.imag, "admittance of the source, imaginary")
        for name, own, other, sign in (("sr", "e", "f", "-"), ("si", "f", "e", "+")):
            parts.variable(name, "n in Source", (-MOST, MOST), "current of the source")
            part = "I_re" if name == "sr" else "I_im"
            formula = f"S_re[i, j]*{own}[j] {sign} S_im[i, j]*{other}[j]"
            rule = f"{name}[n] == {part}[n] - sum({formula} for (i, j) in S if i == n)"
            parts.rule(f"source_{name}", ["n in Source"], rule, "Physical Laws")
        names = [unit.name for unit in self.units]
        parts.table("cost", "U", names, [u.cost for u in self.units], "of energy", "EUR/MWh")

    def start(self, program: Program) -> Floats:
        """Return the point of the power flow, with nothing fed in and no slack."""
        network = self.network
        place = {name: k for k, name in enumerate(network.nodes)}
        voltage = network.start / np.array(network.bases)
        drawn, sizes = [], []
        for load in self.loads:
            a, b = place[load.nodes[0]], place.get(load.nodes[1])
            across = network.start[a] - (0.0 if b is None else network.start[b])
            drawn.append(load_current(load, across) / self.amperes[a])
            if load.model in (4, 5):
                sizes.append(abs(across) / network.bases[a])
        values = {"e": voltage.real, "f": voltage.imag, "size": np.array(sizes)}
        values |= {"ir": np.real(drawn), "ii": np.imag(drawn)}
        point: Floats = np.clip(0.0, program.column_lower, program.column_upper)
        for block in program.columns:
            if block.name in values and block.size == len(values[block.name]):
                point[block.start : block.stop] = values[block.name]
        return point


def unit_parts(parts: Parts, units: Sequence[Unit]) -> None:
    """Add units: what they may feed in."""
    names = [unit.name for unit in units]
    parts.labels("U", names)
    parts.table("available", "U", names, [u.available for u in units], "can feed in", "kW")
    least = [u.available if u.fixed else 0.0 for u in units]
    parts.table("least", "U", names, least, "has to feed in", "kW")
    parts.table("q_max", "U", names, [u.reactive for u in units], "reactive, either way", "kW")
    parts.variable("power", "u in U", ("least[u]", "available[u]"), "feeds in", "kW", "decision")
    parts.variable("reactive", "u in U", ("-q_max[u]", "q_max[u]"), "reactive", "kW", "decision")


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


def ratings(feeder: Feeder, reduced: Reduced) -> Iterator[tuple[dict[str, complex], complex]]:
    """Yield the current over the rating of each phase of a branch that has one and is not stiff.

    It is linear in the voltages per unit: coefficients by node, and a constant.
    """
    bases = dict(zip(reduced.network.nodes, reduced.network.bases, strict=True))
    for branch in feeder.branches:
        feeder.dss.Circuit.SetActiveElement(branch.name)
        flat = np.array(feeder.dss.CktElement.YPrim())
        size = len(branch.nodes)
        primitive = (flat[0::2] + 1j * flat[1::2]).reshape(size, size).T
        for k, most in enumerate(branch.rated):
            if np.isinf(most) or branch.nodes[k] == "0" or abs(primitive[k, k]) > reduced.stiff:
                continue
            row: dict[str, complex] = {}
            constant = 0j
            for j, node in enumerate(branch.nodes):
                if node == "0" or not primitive[k, j]:
                    continue
                terms, added = reduced.lines[node]
                constant += primitive[k, j] * added / most
                for other, factor in terms.items():
                    share = primitive[k, j] * factor * bases[other] / most
                    row[other] = row.get(other, 0j) + share
            yield row, constant


def solve_linear(feeder: Feeder, question: Question, seconds: float = 60.0) -> Answer:
    """Return the least curtailment with linearised voltages; ratings are not in it.

    Raises EngiagentError when there is none.
    """
    if question.bands is None or not np.isinf(question.loading):
        raise EngiagentError("the linear method has voltage bands and no ratings of branches")
    network = Network.of(feeder)
    place = {name: k for k, name in enumerate(network.nodes)}
    solver, bases = splu(network.admittance), np.array(network.bases)
    at = [place[unit.node] for unit in question.units]
    columns = np.zeros((len(place), len(at)), complex)
    columns[at, range(len(at))] = 1.0
    impedance = solver.solve(columns)  # [V/A]
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
    pairs = [(node, unit.name) for node in nodes for unit in question.units]
    parts.tuples("S", ["N", "U"], pairs)
    for name, what, by in (("R", "active", real), ("X", "reactive", imaginary)):
        values = by[moved].ravel()
        parts.table(name, "S", pairs, values, f"voltage square by {what} power", "1/kW")
    parts.table("v0", "N", nodes, square[moved], "voltage square without units")
    low, high = np.transpose([question.bands.of(node) for node in nodes])
    parts.table("low", "N", nodes, np.minimum(low**2, square[moved]), "lowest square")
    parts.table("high", "N", nodes, np.maximum(high**2, square[moved]), "highest square")
    total = "v0[n] + sum(R[i, u]*power[u] + X[i, u]*reactive[u] for (i, u) in S if i == n)"
    parts.rule("band", ["n in N"], f"low[n] <= {total} <= high[n]", "Resource Capacity")
    essence, options = f"Hosting capacity of {feeder.name}", SolveOptions(time_limit=seconds)
    status, objective, series = solved(essence, parts, curtailment(question.norm), options)
    values = series["power"] + 1j * series["reactive"]
    powers = {u.name: complex(v) for u, v in zip(question.units, values, strict=True)}
    found = square + np.real(np.conj(values) @ factor.T)
    voltages = {n: complex(np.sqrt(max(found[place[n]], 0.0))) for n in network.nodes}
    return Answer(status, objective, voltages, powers, {})
