r"""Optimal power flow of MATPOWER cases, AC and DC, as blueprints.

AC is written in rectangular voltages and the currents that the buses feed into the network,
:math:`i = Y v`, with :math:`p = e\,i_r + f\,i_i` and :math:`q = f\,i_r - e\,i_i`, so that nothing
is of a higher degree than two; DC takes angles and series reactances. Conventions of the data and
of the branch model: R. D. Zimmerman et al., doi:10.1109/TPWRS.2010.2051168.
"""

import importlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import compress
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from engiagent.environment.interface import quiet
from engiagent.errors import EngiagentError, InputError
from engiagent.formulations.program import Program
from engiagent.plant.source import nearest
from engiagent.solvers.result import SolveOptions
from engiagent.tools.grid.documents import Parts, solved
from engiagent.tools.grid.feeders import Floats
from engiagent.tools.places import inside

CASES: Final = ("case9", "case14", "case30", "case39", "case57", "case118", "case300")
Formulation = Literal["ac", "dc"]
_ENDLESS: Final = 1e4
"""Of angles and currents that have no limit of their own, per unit."""


@dataclass(frozen=True)
class Case:
    """A transmission case: MATPOWER's tables, with what is out of service taken away."""

    name: str
    base: float  # [MVA]
    bus: Floats
    gen: Floats
    branch: Floats
    cost: Floats
    units: tuple[str, ...]  # the names of the generators
    lines: tuple[str, ...]  # of the branches, with a number where there are parallel ones

    @classmethod
    def load(cls, name: str, root: Path) -> "Case":
        """Read a case by its name, or a .m file below a folder; InputError when there is none."""
        if name.lower() in CASES:
            try:
                module = importlib.import_module(f"pypower.{name.lower()}")
            except ImportError:
                expected = 'pip install "engiagent[grid]"'
                raise InputError("the cases are not installed", expected=expected) from None
            tables = getattr(module, name.lower())()
        elif name.endswith(".m"):
            tables = _matpower(inside(root, name))
        else:
            expected = f"{nearest(name, CASES)}, or a MATPOWER file of the session"
            raise InputError(f"there is no case {name!r}", expected=expected)
        bus, gen, branch = (np.array(tables[n], float) for n in ("bus", "gen", "branch"))
        # Older versions of the format have fewer columns.
        gen = np.pad(gen, ((0, 0), (0, max(21 - gen.shape[1], 0))))
        branch = np.pad(branch, ((0, 0), (0, max(13 - branch.shape[1], 0))))
        cost = np.array(tables["gencost"] if len(tables["gencost"]) else np.zeros((len(gen), 7)))
        if not (bus[:, 1] == 3).any():
            raise InputError("there is no reference bus", name, expected="a bus of type 3")
        if len(cost) not in (len(gen), 2 * len(gen)):
            expected = f"{len(gen)}, or {2 * len(gen)} with reactive power"
            said = "mpc.gencost has not a row for each generator"
            raise InputError(said, name, found=f"{len(cost)}", expected=expected)
        units = tuple(f"g{k + 1}" for k in range(len(gen)))
        names, pairs = [f"{int(a)}-{int(b)}" for a, b in branch[:, :2]], branch[:, :2].tolist()
        every, seen = Counter(map(frozenset, pairs)), Counter[frozenset[float]]()
        for k, pair in enumerate(map(frozenset, pairs)):
            seen[pair] += 1
            names[k] += f"#{seen[pair]}" * (every[pair] > 1)
        at = [(f"generator {u}", n) for u, n in zip(units, gen[:, 0], strict=True)]
        at += [(f"branch {a:g}-{b:g}", n) for a, b in branch[:, :2] for n in (a, b)]
        for what, number in at:
            if number not in bus[:, 0]:
                raise InputError(f"the {what} is at bus {number:g}, which is not there", name)
        base, cost = float(tables["baseMVA"]), cost.astype(float)
        return cls(name, base, bus, gen, branch, cost, units, tuple(names))

    def in_service(self) -> "Case":
        """Return it without units and branches that are out of service, and isolated buses."""
        bus = self.bus[self.bus[:, 1] != 4]
        known = set(bus[:, 0])
        live = (self.gen[:, 7] > 0) & np.isin(self.gen[:, 0], list(known))
        on = (self.branch[:, 10] > 0) & np.isin(self.branch[:, :2], list(known)).all(axis=1)
        cost = self.cost[np.tile(live, len(self.cost) // len(live))]
        units, lines = tuple(compress(self.units, live)), tuple(compress(self.lines, on))
        gen, branch = self.gen[live], self.branch[on]
        return Case(self.name, self.base, bus, gen, branch, cost, units, lines)

    def tables(self) -> dict[str, Any]:
        """Return it as MATPOWER's structure, for other programs."""
        own = {"version": "2", "baseMVA": self.base, "bus": self.bus.copy(), "gen": self.gen.copy()}
        return {**own, "branch": self.branch.copy(), "gencost": self.cost.copy()}

    # --- changes ---------------------------------------------------------------------------------

    def with_loads(self, given: Mapping[str, str]) -> "Case":
        """Return it with other loads by bus, in MW or as factors."""
        bus = self.bus.copy()
        for name, text in given.items():
            rows = np.arange(len(bus)) if name == "all" else np.array([self._bus(name)])
            match = re.fullmatch(r"([-\d.eE]+)\s*(x|MW)?", text)
            if match is None or (name == "all" and match[2] != "x"):
                expected = "a factor, as 1.2x" if name == "all" else "1.2x, or 90"
                said = f"the load of {name} cannot be read"
                raise InputError(said, found=text, expected=expected)
            value = float(match[1])
            if match[2] == "x":
                bus[rows, 2:4] *= value
            else:  # the power factor stays
                for row in rows:
                    share = value / bus[row, 2] if bus[row, 2] else 0.0
                    bus[row, 2], bus[row, 3] = value, bus[row, 3] * share
        return replace(self, bus=bus)

    def with_limits(self, given: Mapping[str, float]) -> "Case":
        """Return it with other ratings of branches, and greatest powers of generators."""
        gen, branch = self.gen.copy(), self.branch.copy()
        for name, value in given.items():
            if name.startswith("g"):
                gen[self._unit(name), 8] = value
            elif value > 0:
                branch[self._branches(name), 5] = value
            else:
                said, expected = f"{name} cannot have this limit", f"MVA above 0, or outages={name}"
                raise InputError(said, found=f"{value:g}", expected=expected)
        return replace(self, gen=gen, branch=branch)

    def with_costs(self, given: Mapping[str, str]) -> "Case":
        """Return it with other polynomials of costs, coefficients from the highest."""
        cost = self.cost.copy()
        for name, text in given.items():
            try:
                values = [float(part) for part in text.split()]
            except ValueError:
                raise InputError(f"the costs of {name} cannot be read", found=text) from None
            if cost.shape[1] < 4 + len(values):
                cost = np.pad(cost, ((0, 0), (0, 4 + len(values) - cost.shape[1])))
            row = np.zeros(cost.shape[1])
            row[:4], row[4 : 4 + len(values)] = (2, 0, 0, len(values)), values
            cost[self._unit(name)] = row
        return replace(self, cost=cost)

    def without(self, names: Sequence[str]) -> "Case":
        """Return it with branches and generators that are out."""
        gen, branch = self.gen.copy(), self.branch.copy()
        for name in names:
            if name.startswith("g"):
                gen[self._unit(name), 7] = 0
            else:
                branch[self._branches(name), 10] = 0
        return replace(self, gen=gen, branch=branch)

    def _bus(self, name: str) -> int:
        known = [str(int(n)) for n in self.bus[:, 0]]
        if name not in known:
            raise InputError(f"{self.name} has no bus {name!r}", expected=nearest(name, known))
        return known.index(name)

    def _unit(self, name: str) -> int:
        number = int(name[1:]) if name[1:].isdigit() else 0
        if not 1 <= number <= len(self.gen):
            raise InputError(f"there is no generator {name!r}", expected=f"g1 to g{len(self.gen)}")
        return number - 1

    def _branches(self, name: str) -> np.ndarray:
        pair, _, number = name.partition("#")  # without a number all parallel ones
        back = "-".join(reversed(pair.split("-")))
        wanted = [f"{p}#{number}" if number else p for p in (pair, back)]
        known = [line if number else line.partition("#")[0] for line in self.lines]
        if found := [k for k, line in enumerate(known) if line in wanted]:
            return np.array(found)
        raise InputError(f"there is no branch {name!r}", expected=nearest(name, self.lines))


_COLUMNS: Final = {"bus": 13, "gen": 10, "branch": 11, "gencost": 4}
"""How many MATPOWER's tables have at least."""


def _matpower(path: Path) -> dict[str, Any]:
    """Return the tables of a MATPOWER file; InputError with the line of what cannot be read."""
    text = re.sub(r"%.*", "", path.read_text(encoding="utf-8", errors="replace"))
    text = re.sub(r"\.\.\..*\n", " \f", text)  # a row goes on; the form feed counts as a line
    base = re.search(r"mpc\.baseMVA\s*=\s*([\d.eE+]+)", text)
    found: dict[str, Any] = {"baseMVA": base and base[1]}
    for name, least in _COLUMNS.items():
        table = re.search(rf"mpc\.{name}\s*=\s*\[([^]]*)\]", text)
        start, stop = table.span(1) if table else (0, 0)
        rows: list[list[float]] = []
        for row in re.compile(r"[^;\s][^;\n]*").finditer(text, start, stop):
            parts = row[0].replace(",", " ").split()
            width = len(rows[0]) if rows else max(len(parts), least)
            with suppress(ValueError):  # of what is no number
                if len(parts) == width:
                    rows.append([float(part) for part in parts])
                    continue
            line = 1 + len(re.findall(r"[\n\f]", text[: row.start()]))
            said, expected = f"a row of mpc.{name} cannot be read", f"{width} numbers"
            raise InputError(said, path.name, line, found=row[0].strip(), expected=expected)
        found[name] = rows
    for name in ("baseMVA", "bus", "gen", "branch"):
        if not found[name]:
            raise InputError("this is no MATPOWER case", path.name, expected=f"mpc.{name} = …")
    if changed := re.search(r"mpc\.(bus|gen|branch|gencost)\s*\(.*", text):  # as of case33bw
        raise InputError("statements on tables are not run", path.name, found=changed[0])
    if more := re.search(r"mpc\.(dcline|A|N|if|reserves|softlims)\s*[=.].*", text):
        raise InputError("the case has more than is modelled", path.name, found=more[0])
    return found


@dataclass(frozen=True, eq=False)
class Dispatch:
    """An optimal power flow."""

    status: str
    objective: float  # [currency/h]
    active: Floats  # of generators in service. [MW]
    reactive: Floats  # [Mvar]
    voltages: np.ndarray  # complex, by bus. [p.u.]
    flows: Floats  # the greater of both ends, by branch in service. [MVA]


def optimal_flow(case: Case, formulation: Formulation, seconds: float = 60.0) -> Dispatch:
    """Return the dispatch of least cost; EngiagentError when none is found."""
    live = case.in_service()
    made = _Made(live, formulation)
    parts, goal = made.parts()
    essence = f"{formulation.upper()} optimal power flow of {case.name}"
    options = SolveOptions(time_limit=seconds, backend="ipopt" if formulation == "ac" else None)
    start = _start if formulation == "ac" else None
    status, objective, found = solved(essence, parts, goal, options, start)
    if formulation == "ac":
        voltages, reactive = found["e"] + 1j * found["f"], found["q"] * live.base
    else:
        voltages, reactive = np.exp(1j * found["angle"]), np.zeros(len(live.gen))
    active, flows = found["p"] * live.base, made.loading(voltages)
    return Dispatch(status, objective, active, reactive, voltages, flows)


def _start(program: Program) -> Floats:
    """Return a point of flat voltages, with generators in the middle of their ranges."""
    low, high = program.column_lower, program.column_upper
    point: Floats = np.clip(0.0, low, high)
    for block in program.columns:
        own = slice(block.start, block.stop)
        if block.name == "e":
            point[own] = 1.0
        elif block.name in ("p", "q"):
            point[own] = (low[own] + high[own]) / 2
    return point


def admittances(case: Case) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return those of the branches at both ends, shape (branches, 4), of buses, and the places.

    The columns of the first are :math:`y_{ff}, y_{ft}, y_{tf}, y_{tt}`; the places are the rows of
    the buses at both ends.
    """
    branch = case.branch
    series = 1 / (branch[:, 2] + 1j * branch[:, 3])
    ratio = np.where(branch[:, 8] == 0, 1.0, branch[:, 8]) * np.exp(1j * np.deg2rad(branch[:, 9]))
    own = series + 0.5j * branch[:, 4]
    ends = np.stack([own / abs(ratio) ** 2, -series / np.conj(ratio), -series / ratio, own], axis=1)
    shunt = (case.bus[:, 4] + 1j * case.bus[:, 5]) / case.base
    row = {number: k for k, number in enumerate(case.bus[:, 0])}
    places = np.array([[row[a], row[b]] for a, b in branch[:, :2]])
    return ends, shunt, places


@dataclass(frozen=True, eq=False)
class _Made:
    case: Case
    formulation: Formulation

    @property
    def buses(self) -> list[str]:
        """The names of the buses."""
        return [f"{int(n)}" for n in self.case.bus[:, 0]]

    def parts(self) -> tuple[Parts, dict[str, Any]]:
        """Return all of the blueprint, and its goal."""
        parts, case = Parts(), self.case
        units = case.units
        parts.labels("N", self.buses)
        parts.labels("U", units)
        at = [(u, f"{int(n)}") for u, n in zip(units, case.gen[:, 0], strict=True)]
        parts.tuples("At", ["U", "N"], at)
        parts.table("P", "N", self.buses, case.bus[:, 2] / case.base, "load")
        for name, column in (("p_max", 8), ("p_min", 9)):
            parts.table(name, "U", units, case.gen[:, column] / case.base, "limit of active power")
        parts.variable("p", "u in U", ("p_min[u]", "p_max[u]"), "active power", role="decision")
        if self.formulation == "ac":
            self._ac(parts, units)
        else:
            self._dc(parts)
        return parts, self._goal(parts, units)

    def _ac(self, parts: Parts, units: Sequence[str]) -> None:
        case = self.case
        ends, shunt, places = admittances(case)
        matrix: dict[tuple[int, int], complex] = {(k, k): y for k, y in enumerate(shunt)}
        for values, (f, t) in zip(ends, places, strict=True):
            for key, value in zip(((f, f), (f, t), (t, f), (t, t)), values, strict=True):
                matrix[key] = matrix.get(key, 0) + value
        pairs = [(self.buses[i], self.buses[j]) for i, j in matrix]
        values = np.array(list(matrix.values()))
        parts.tuples("Y", ["N", "N"], pairs)
        parts.table("G", "Y", pairs, values.real, "conductance")
        parts.table("B", "Y", pairs, values.imag, "susceptance")
        parts.table("Q", "N", self.buses, case.bus[:, 3] / case.base, "reactive load")
        for name, column in (("q_max", 3), ("q_min", 4)):
            limit = case.gen[:, column] / case.base
            parts.table(name, "U", units, limit, "limit of reactive power")
        parts.variable("q", "u in U", ("q_min[u]", "q_max[u]"), "reactive power", role="decision")
        parts.table("high", "N", self.buses, case.bus[:, 11], "highest voltage")
        parts.table("low", "N", self.buses, case.bus[:, 12], "lowest voltage")
        for name in ("e", "f"):
            parts.variable(name, "n in N", ("-high[n]", "high[n]"), "part of the voltage")
        for name, own, other, sign in (("ir", "e", "f", "-"), ("ii", "f", "e", "+")):
            formula = f"G[i, j]*{own}[j] {sign} B[i, j]*{other}[j]"
            parts.variable(name, "n in N", (-_ENDLESS, _ENDLESS), "current into the network")
            total = f"{name}[n] == sum({formula} for (i, j) in Y if i == n)"
            parts.rule(f"current_{name}", ["n in N"], total, "Physical Laws")
        for name, load, formula in (
            ("p", "P", "e[n]*ir[n] + f[n]*ii[n]"),
            ("q", "Q", "f[n]*ir[n] - e[n]*ii[n]"),
        ):
            fed = f"sum({name}[u] for (u, i) in At if i == n)"
            rule = f"{fed} - {load}[n] == {formula}"
            parts.rule(f"balance_{name}", ["n in N"], rule, "Supply-Demand Balance")
        square = "e[n]*e[n] + f[n]*f[n]"
        parts.rule("lowest", ["n in N"], f"{square} >= low[n]*low[n]", "Resource Capacity")
        parts.rule("highest", ["n in N"], f"{square} <= high[n]*high[n]", "Resource Capacity")
        reference = self.buses[int(np.flatnonzero(case.bus[:, 1] == 3)[0])]
        angle = np.tan(np.deg2rad(case.bus[case.bus[:, 1] == 3][0, 8]))
        rule = f'f["{reference}"] == {angle:.15g}*e["{reference}"]'
        parts.rule("reference", [], rule, "Physical Laws")
        # The voltage of the reference points forward, where the equation above allows both ways.
        parts.rule("forward", [], f'e["{reference}"] >= 0', "Physical Laws")
        self._reactive(parts)
        self._angles(parts, places)
        self._ratings(parts, ends, places)

    def _reactive(self, parts: Parts) -> None:
        """Add capability curves, and the constant power factors of dispatchable loads."""
        rows: list[tuple[Any, ...]] = []  # units, slopes, ends
        for unit, row in zip(self.case.units, self.case.gen / self.case.base, strict=True):
            most, least, p_max, p_min = row[[3, 4, 8, 9]]
            if p_min < 0 == p_max and (most or least):
                if most and least:
                    said = f"the dispatchable load {unit} has no single power factor"
                    raise InputError(said, self.case.name, expected="Qmin or Qmax of 0")
                rows.append((unit, (most + least) / p_min, 0.0, 0.0))
            for first, second in ((13, 15), (12, 14)) if row[10] != row[11] else ():
                slope = (row[second] - row[first]) / (row[11] - row[10])
                end = row[first] - slope * row[10]
                rows.append((unit, slope, *((-_ENDLESS, end) if first == 13 else (end, _ENDLESS))))
        if rows:
            names = [f"v{k}" for k in range(len(rows))]
            parts.labels("V", names)
            parts.tuples("Of", ["V", "U"], [(n, r[0]) for n, r in zip(names, rows, strict=True)])
            for k, name in enumerate(("slope", "least", "most"), start=1):
                parts.table(name, "V", names, [row[k] for row in rows], "of reactive power")
            rule = "least[v] <= q[u] - slope[v]*p[u] <= most[v]"
            parts.rule("capability", ["(v, u) in Of"], rule, "Resource Capacity")

    def _angles(self, parts: Parts, places: np.ndarray) -> None:
        """Add how far the angle of one end of a branch may be ahead of that of the other."""
        case, rows = self.case, []
        branches = zip(case.lines, case.branch[:, 11:13], places, strict=True)
        for name, (low, high), (f, t) in branches:
            for most, ends in ((high, (f, t)), (-low, (t, f))) if low or high else ():
                if self.formulation == "ac" and 90 < abs(most) < 360:
                    said = f"the angle limit of {name} is above 90 degrees, which only dc takes"
                    raise InputError(said, case.name, found=f"{most:g}")
                if most < 360:
                    first, second = (self.buses[k] for k in ends)
                    rows.append((f"{name} from {first}", first, second, np.deg2rad(most)))
        if rows:
            names, values = [row[0] for row in rows], np.array([row[3] for row in rows])
            rule = "angle[m] - angle[n] <= ahead[d]"
            parts.labels("D", names)
            parts.tuples("Over", ["D", "N", "N"], [row[:3] for row in rows])
            if self.formulation == "ac":  # the sine of what is left is not negative
                parts.table("cosine", "D", names, np.cos(values), "of the greatest difference")
                rule = "ahead[d]*(e[m]*e[n] + f[m]*f[n]) >= cosine[d]*(f[m]*e[n] - e[m]*f[n])"
                values = np.sin(values)
            parts.table("ahead", "D", names, values, "greatest difference of angles")
            parts.rule("angles", ["(d, m, n) in Over"], rule, "Resource Capacity")

    def _ratings(self, parts: Parts, ends: np.ndarray, places: np.ndarray) -> None:
        """Add the apparent powers of both ends of branches that have a rating."""
        rated = np.flatnonzero(self.case.branch[:, 5])
        if not len(rated):
            return
        rows = [(k, side) for k in rated for side in (0, 1)]
        names = [f"b{k + 1}{'ft'[side]}" for k, side in rows]
        limits = [self.case.branch[k, 5] / self.case.base for k, _ in rows]
        at = [(n, self.buses[places[k, s]]) for n, (k, s) in zip(names, rows, strict=True)]
        pairs, values = [], []
        for name, (k, side) in zip(names, rows, strict=True):
            for end in (0, 1):
                pairs.append((name, self.buses[places[k, end]]))
                values.append(ends[k, 2 * side + end])
        parts.labels("K", names)
        parts.tuples("Z", ["K", "N"], pairs)
        parts.tuples("End", ["K", "N"], at)
        parts.table("Z_re", "Z", pairs, np.real(values), "admittance of a branch, real")
        parts.table("Z_im", "Z", pairs, np.imag(values), "admittance of a branch, imaginary")
        parts.table("rating", "K", names, limits, "greatest apparent power")
        for name, own, other, sign in (("jr", "e", "f", "-"), ("ji", "f", "e", "+")):
            formula = f"Z_re[b, j]*{own}[j] {sign} Z_im[b, j]*{other}[j]"
            parts.variable(name, "k in K", (-_ENDLESS, _ENDLESS), "current of a branch")
            total = f"{name}[k] == sum({formula} for (b, j) in Z if b == k)"
            parts.rule(f"branch_{name}", ["k in K"], total, "Physical Laws")
        for name, formula in (("pf", "e[n]*jr[k] + f[n]*ji[k]"), ("qf", "f[n]*jr[k] - e[n]*ji[k]")):
            parts.variable(name, "k in K", ("-rating[k]", "rating[k]"), "flow of a branch")
            rule = f"{name}[k] == {formula}"
            parts.rule(f"flow_{name}", ["(k, n) in End"], rule, "Physical Laws")
        rule = "pf[k]*pf[k] + qf[k]*qf[k] <= rating[k]*rating[k]"
        parts.rule("rating", ["k in K"], rule, "Resource Capacity")

    def _dc(self, parts: Parts) -> None:
        case = self.case
        places = admittances(case)[2]
        branch = case.branch
        ratio = np.where(branch[:, 8] == 0, 1.0, branch[:, 8])
        names = case.lines
        limits = np.where(branch[:, 5] > 0, branch[:, 5] / case.base, _ENDLESS)
        parts.labels("K", names)
        for name, side in (("From", 0), ("To", 1)):
            at = [(n, self.buses[k]) for n, k in zip(names, places[:, side], strict=True)]
            parts.tuples(name, ["K", "N"], at)
        parts.table("b", "K", names, 1 / (branch[:, 3] * ratio), "susceptance")
        parts.table("shift", "K", names, np.deg2rad(branch[:, 9]), "phase shift")
        parts.table("rating", "K", names, limits, "greatest flow")
        parts.table("G_shunt", "N", self.buses, case.bus[:, 4] / case.base, "shunt")
        parts.variable("angle", "n in N", (-_ENDLESS, _ENDLESS), "angle of the voltage")
        parts.variable("flow", "k in K", ("-rating[k]", "rating[k]"), "flow of a branch")
        across = " - ".join(
            f"sum(angle[n] for (m, n) in {side} if m == k)" for side in ("From", "To")
        )
        parts.rule("flow", ["k in K"], f"flow[k] == b[k]*({across} - shift[k])", "Physical Laws")
        out, into = (f"sum(flow[k] for (k, m) in {side} if m == n)" for side in ("From", "To"))
        fed = "sum(p[u] for (u, i) in At if i == n)"
        rule = f"{fed} - P[n] - G_shunt[n] == {out} - {into}"
        parts.rule("balance", ["n in N"], rule, "Supply-Demand Balance")
        reference = self.buses[int(np.flatnonzero(case.bus[:, 1] == 3)[0])]
        angle = np.deg2rad(case.bus[case.bus[:, 1] == 3][0, 8])
        parts.rule("reference", [], f'angle["{reference}"] == {angle:.15g}', "Physical Laws")
        self._angles(parts, places)

    def _goal(self, parts: Parts, units: Sequence[str]) -> dict[str, Any]:
        """Return the goal: polynomials of costs of up to the second degree, and piecewise ones."""
        base, terms, count = self.case.base, [], len(units)
        sides = [("p", "c", self.case.cost[:count]), ("q", "d", self.case.cost[count:])]
        for power, c, costs in sides[: 2 if len(sides[1][2]) and self.formulation == "ac" else 1]:
            quadratic = np.zeros((count, 3))
            for k, row in enumerate(costs):
                width = int(row[3])
                if int(row[0]) == 1:
                    places, values = row[4 : 4 + 2 * width : 2] / base, row[5 : 5 + 2 * width : 2]
                    listed = [", ".join(f"{v:.15g}" for v in part) for part in (places, values)]
                    terms.append(f'piecewise({power}["{units[k]}"], [{listed[0]}], [{listed[1]}])')
                    continue
                if width > 3 and np.any(row[4 : 4 + width - 3]):
                    raise InputError(f"the costs of {units[k]} are of a higher degree than two")
                own = row[4 : 4 + width][-3:]
                quadratic[k, 3 - len(own) :] = own
            for column, factor in enumerate((base**2, base, 1.0)):
                values = quadratic[:, column] * factor
                parts.table(f"{c}{2 - column}", "U", units, values, "coefficient of costs")
            square, linear = f"{c}2[u]*{power}[u]*{power}[u]", f"{c}1[u]*{power}[u]"
            terms.insert(0, f"sum({square} + {linear} + {c}0[u] for u in U)")
        return {"name": "cost", "sense": "minimize", "expression": " + ".join(terms)}

    def loading(self, voltages: np.ndarray) -> Floats:
        """Return the flows of the branches at the end where they are greater. [MVA]."""
        if self.formulation == "dc":
            places = admittances(self.case)[2]
            branch = self.case.branch
            ratio = np.where(branch[:, 8] == 0, 1.0, branch[:, 8])
            angle = np.angle(voltages)
            across = angle[places[:, 0]] - angle[places[:, 1]] - np.deg2rad(branch[:, 9])
            return np.asarray(np.abs(across / (branch[:, 3] * ratio)) * self.case.base)
        ends, _, places = admittances(self.case)
        first, second = voltages[places[:, 0]], voltages[places[:, 1]]
        there = first * np.conj(ends[:, 0] * first + ends[:, 1] * second)
        back = second * np.conj(ends[:, 2] * first + ends[:, 3] * second)
        return np.asarray(np.maximum(abs(there), abs(back)) * self.case.base)


def executed(case: Case, dispatch: Dispatch) -> Iterator[tuple[str, float]]:
    """Yield how far PYPOWER's power flow of a dispatch is from it: voltages, and the slack's power.

    Generators hold the voltages and active powers of the dispatch; all but those of the reference.
    """
    with quiet():
        # Not from pypower.api, which imports PYPOWER's own tests.
        from pypower.ppoption import ppoption
        from pypower.runpf import runpf

    live = case.in_service()
    tables = live.tables()
    row = {number: k for k, number in enumerate(live.bus[:, 0])}
    tables["gen"][:, 1] = dispatch.active
    tables["gen"][:, 2] = dispatch.reactive
    tables["gen"][:, 5] = [abs(dispatch.voltages[row[n]]) for n in live.gen[:, 0]]
    tables["bus"][:, 7] = abs(dispatch.voltages)
    tables["bus"][:, 8] = np.angle(dispatch.voltages, deg=True)
    found, success = runpf(tables, ppoption(VERBOSE=0, OUT_ALL=0, PF_TOL=1e-10))
    if not success:
        raise EngiagentError("the power flow of the dispatch does not converge")
    values = found["bus"][:, 7] * np.exp(1j * np.deg2rad(found["bus"][:, 8]))
    yield "voltage_pu", float(np.max(np.abs(values - dispatch.voltages)))
    yield "active_mw", float(np.max(np.abs(found["gen"][:, 1] - dispatch.active)))
