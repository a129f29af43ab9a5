r"""Optimal power flow of MATPOWER cases, AC and DC, as blueprints.

AC is written in rectangular voltages and the currents that the buses feed into the network,
:math:`i = Y v`, with :math:`p = e\,i_r + f\,i_i` and :math:`q = f\,i_r - e\,i_i`, so that nothing
is of a higher degree than two; DC takes angles and series reactances. Conventions of the data and
of the branch model: R. D. Zimmerman et al., doi:10.1109/TPWRS.2010.2051168.
"""

import importlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from engiagent.environment.interface import quiet
from engiagent.errors import EngiagentError, InputError
from engiagent.formulations.program import Program
from engiagent.plant.source import nearest
from engiagent.solvers.result import SolveOptions
from engiagent.tools.grid.documents import Parts, currents, powers, solved
from engiagent.tools.grid.feeders import Complex, Floats
from engiagent.tools.places import inside

CASES: Final = ("case9", "case14", "case30", "case39", "case57", "case118", "case300")
Formulation = Literal["ac", "dc"]
Texts = npt.NDArray[np.str_]
_ENDLESS: Final = 1e4
"""Of angles and currents that have no limit of their own, per unit."""
_NUMBER: Final = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_FED: Final = "sum({}[u] for (u, i) in At if i == n)"
"""What generators feed a bus."""


@dataclass(frozen=True, eq=False)
class Case:
    """A transmission case: MATPOWER's tables, with what is out of service taken away."""

    name: str
    base: float  # [MVA]
    bus: Floats
    gen: Floats
    branch: Floats
    cost: Floats
    units: Texts  # the names of the generators
    lines: Texts  # of the branches, with a number where there are parallel ones

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
        base, limits = float(tables["baseMVA"]), [3, 4, *range(8, 16)]
        gen[:, limits] = np.clip(gen[:, limits], -_ENDLESS * base, _ENDLESS * base)
        branch[np.isinf(branch[:, 5]), 5] = 0.0  # no rating
        if twice := [f"{n:g}" for n, count in Counter(bus[:, 0].tolist()).items() if count > 1]:
            raise InputError(f"the bus {twice[0]} is there twice", name)
        if not (bus[:, 1] == 3).any():
            raise InputError("there is no reference bus", name, expected="a bus of type 3")
        if len(cost) not in (len(gen), 2 * len(gen)):
            expected = f"{len(gen)}, or {2 * len(gen)} with reactive power"
            said = "mpc.gencost has not a row for each generator"
            raise InputError(said, name, found=f"{len(cost)}", expected=expected)
        units = [f"g{k + 1}" for k in range(len(gen))]
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
        return cls(
            name, base, bus, gen, branch, cost.astype(float), np.array(units), np.array(names)
        )

    def in_service(self) -> "Case":
        """Return it without units and branches that are out of service, and isolated buses."""
        bus = self.bus[self.bus[:, 1] != 4]
        live = (self.gen[:, 7] > 0) & np.isin(self.gen[:, 0], bus[:, 0])
        on = (self.branch[:, 10] > 0) & np.isin(self.branch[:, :2], bus[:, 0]).all(axis=1)
        cost = self.cost[np.tile(live, len(self.cost) // len(live))]
        own = {"bus": bus, "gen": self.gen[live], "branch": self.branch[on], "cost": cost}
        return replace(self, **own, units=self.units[live], lines=self.lines[on])

    def changed(
        self,
        loads: Mapping[str, str],
        limits: Mapping[str, float],
        costs: Mapping[str, str],
        outages: Iterable[str],
    ) -> "Case":
        """Return it with other loads, limits and costs, and without what is out.

        Loads by bus in MW or as factors; ratings of branches and greatest powers of generators;
        polynomials of costs, coefficients from the highest. Raises InputError for a wrong one.
        """
        bus, gen, branch, cost = (x.copy() for x in (self.bus, self.gen, self.branch, self.cost))
        for name, text in loads.items():
            rows = slice(None) if name == "all" else [self._bus(name)]
            match = re.fullmatch(rf"({_NUMBER})\s*(x|MW)?", text)
            if match is None or (name == "all" and match[2] != "x"):
                expected = "a factor, as 1.2x" if name == "all" else "1.2x, or 90"
                said = f"the load of {name} cannot be read"
                raise InputError(said, found=text, expected=expected)
            value = float(match[1])
            if match[2] == "x":
                bus[rows, 2:4] *= value
            else:  # the power factor stays
                [[active, reactive]] = bus[rows, 2:4]
                bus[rows, 2:4] = value, reactive * (value / active if active else 0.0)
        for name, limit in limits.items():
            if name.startswith("g"):
                gen[self._unit(name), 8] = limit
            elif limit > 0:
                branch[self._branches(name), 5] = limit
            else:
                said, expected = f"{name} cannot have this limit", f"MVA above 0, or outages={name}"
                raise InputError(said, found=f"{limit:g}", expected=expected)
        for name, text in costs.items():
            try:
                values = [float(part) for part in text.split()]
            except ValueError:
                raise InputError(f"the costs of {name} cannot be read", found=text) from None
            cost = np.pad(cost, ((0, 0), (0, max(4 + len(values) - cost.shape[1], 0))))
            row = self._unit(name)
            cost[row] = 0.0
            cost[row, [0, 3]], cost[row, 4 : 4 + len(values)] = (2, len(values)), values
        for name in outages:
            if name.startswith("g"):
                gen[self._unit(name), 7] = 0
            else:
                branch[self._branches(name), 10] = 0
        return replace(self, bus=bus, gen=gen, branch=branch, cost=cost)

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
    if not len(live.gen):
        raise InputError("no generator is in service", case.name)
    made = _Made(live, formulation)
    essence = f"{formulation.upper()} optimal power flow of {case.name}"
    options = SolveOptions(time_limit=seconds, backend="ipopt" if made.ac else None)
    start = _start if made.ac else None
    status, objective, found = solved(essence, made.parts(), made.goal(), options, start)
    if made.ac:
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
            middle = (low[own] + high[own]) / 2
            point[own] = np.where(high[own] - low[own] < 1e2, middle, point[own])
    return point


class _Made:
    """The blueprint of a case in parts; ``places`` are the rows of the buses at both ends."""

    def __init__(self, case: Case, formulation: Formulation) -> None:
        self.case, self.ac = case, formulation == "ac"
        self.buses = [f"{int(n)}" for n in case.bus[:, 0]]
        row = {number: k for k, number in enumerate(case.bus[:, 0])}
        self.places = np.array([[row[a], row[b]] for a, b in case.branch[:, :2]])
        size = abs(case.branch[:, 2] + 1j * case.branch[:, 3]) if self.ac else case.branch[:, 3]
        for what, wrong in (
            ("no impedance", size == 0),
            ("a rating below 0", case.branch[:, 5] < 0),
        ):
            if wrong.any():
                raise InputError(f"the branch {case.lines[wrong][0]} has {what}", case.name)
        self.ratio = np.where(case.branch[:, 8] == 0, 1.0, case.branch[:, 8])

    def admittances(self) -> Complex:
        """Return :math:`y_{ff}, y_{ft}, y_{tf}, y_{tt}` of branches, shape (branches, 4)."""
        branch = self.case.branch
        series = 1 / (branch[:, 2] + 1j * branch[:, 3])
        ratio = self.ratio * np.exp(1j * np.deg2rad(branch[:, 9]))
        own = series + 0.5j * branch[:, 4]
        ends = own / abs(ratio) ** 2, -series / np.conj(ratio), -series / ratio, own
        return np.stack(ends, axis=1)

    def parts(self) -> Parts:
        """Return all of the blueprint but its goal."""
        parts, case, units = Parts(), self.case, self.case.units
        parts.labels("N", self.buses)
        parts.labels("U", units)
        at = [(u, f"{int(n)}") for u, n in zip(units, case.gen[:, 0], strict=True)]
        parts.tuples("At", "U N", at)
        drawn, limits = case.bus[:, 2:4].T / case.base, case.gen.T / case.base
        parts.table("N", self.buses, P=drawn[0], Q=drawn[1])
        parts.table("U", units, p_max=limits[8], p_min=limits[9], q_max=limits[3], q_min=limits[4])
        parts.variable("p", "u in U", "p_min[u]", "p_max[u]", "active power")
        if self.ac:
            self._ac(parts)
        else:
            self._dc(parts)
        return parts

    def _ac(self, parts: Parts) -> None:
        case, ends = self.case, self.admittances()
        shunt = (case.bus[:, 4] + 1j * case.bus[:, 5]) / case.base
        matrix: dict[tuple[int, int], complex] = {(k, k): y for k, y in enumerate(shunt)}
        for values, (f, t) in zip(ends, self.places, strict=True):
            for key, value in zip(((f, f), (f, t), (t, f), (t, t)), values, strict=True):
                matrix[key] = matrix.get(key, 0) + value
        pairs = [(self.buses[i], self.buses[j]) for i, j in matrix]
        parts.tuples("Y", "N N", pairs)
        parts.table("Y", pairs, Y=np.array(list(matrix.values())))
        parts.variable("q", "u in U", "q_min[u]", "q_max[u]", "reactive power")
        parts.variable("e f", "n in N", "-high[n]", "high[n]", "part of the voltage")
        for name, formula in zip(("ir", "ii"), currents("Y", "n"), strict=True):
            parts.variable(name, "n in N", -_ENDLESS, _ENDLESS, "current into the network")
            parts.rule(f"current_{name}", "n in N", f"{name}[n] == {formula}")
        into = powers("e[n]", "f[n]", "ir[n]", "ii[n]")
        for name, load, formula in zip("pq", "PQ", into, strict=True):
            rule = f"{_FED.format(name)} - {load}[n] == {formula}"
            parts.rule(f"balance_{name}", "n in N", rule)
        parts.bands(self.buses, case.bus[:, 12], case.bus[:, 11])
        reference, angle = self._reference()
        rule = f'f["{reference}"] == {np.tan(angle):.15g}*e["{reference}"]'
        parts.rule("reference", "", rule)
        # The voltage of the reference points forward, where the equation above allows both ways.
        parts.rule("forward", "", f'e["{reference}"] >= 0')
        self._reactive(parts)
        self._angles(parts)
        self._ratings(parts, ends)

    def _reference(self) -> tuple[str, float]:
        """Return the first reference bus and its angle. [rad]."""
        row = int(np.flatnonzero(self.case.bus[:, 1] == 3)[0])
        return self.buses[row], float(np.deg2rad(self.case.bus[row, 8]))

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
            units, slope, least, most = zip(*rows, strict=True)
            names = parts.numbered("V", len(rows), slope=slope, least=least, most=most)
            parts.tuples("Of", "V U", list(zip(names, units, strict=True)))
            rule = "least[v] <= q[u] - slope[v]*p[u] <= most[v]"
            parts.rule("capability", "(v, u) in Of", rule)

    def _angles(self, parts: Parts) -> None:
        """Add how far the angle of one end of a branch may be ahead of that of the other."""
        case = self.case
        (low, high), (f, t) = case.branch[:, 11:13].T, self.places.T
        stated = np.tile((low != 0) | (high != 0), 2)
        most, first, second = np.concatenate([[high, f, t], [-low, t, f]], axis=1)
        kept = np.flatnonzero(stated & (most < 360))
        if self.ac and (wide := kept[np.abs(most[kept]) > 90]).size:
            said = f"the angle limit of {np.tile(case.lines, 2)[wide[0]]} is above 90 degrees"
            expected, found = "less, or formulation=dc", f"{most[wide[0]]:g}"
            raise InputError(said, case.name, found=found, expected=expected)
        if kept.size:
            angles = np.deg2rad(most[kept])
            columns, rule = {"ahead": angles}, "angle[m] - angle[n] <= ahead[d]"
            if self.ac:  # the sine of what is left is not negative
                columns = {"ahead": np.sin(angles), "cosine": np.cos(angles)}
                rule = "ahead[d]*(e[m]*e[n] + f[m]*f[n]) >= cosine[d]*(f[m]*e[n] - e[m]*f[n])"
            names = parts.numbered("D", kept.size, **columns)
            buses = np.array(self.buses)
            ends = (buses[side[kept].astype(int)] for side in (first, second))
            parts.tuples("Over", "D N N", list(zip(names, *ends, strict=True)))
            parts.rule("angles", "(d, m, n) in Over", rule)

    def _ratings(self, parts: Parts, ends: Complex) -> None:
        """Add the apparent powers of both ends of branches that have a rating."""
        rows = [(k, side) for k in np.flatnonzero(self.case.branch[:, 5]) for side in (0, 1)]
        if not rows:
            return
        names = [f"b{k + 1}{'ft'[side]}" for k, side in rows]
        at = [[self.buses[n] for n in self.places[k]] for k, _ in rows]
        pairs = [(name, bus) for name, both in zip(names, at, strict=True) for bus in both]
        parts.labels("K", names)
        parts.tuples("Z", "K N", pairs)
        own = [(n, at[r][side]) for r, (n, (_, side)) in enumerate(zip(names, rows, strict=True))]
        parts.tuples("End", "K N", own)
        parts.table("Z", pairs, Z=[ends[k, 2 * side + end] for k, side in rows for end in (0, 1)])
        limits = [self.case.branch[k, 5] / self.case.base for k, _ in rows]
        parts.table("K", names, rating=limits)
        for name, formula in zip(("jr", "ji"), currents("Z", "k"), strict=True):
            parts.variable(name, "k in K", -_ENDLESS, _ENDLESS, "current of a branch")
            parts.rule(f"branch_{name}", "k in K", f"{name}[k] == {formula}")
        flows = powers("e[n]", "f[n]", "jr[k]", "ji[k]")
        for name, formula in zip(("pf", "qf"), flows, strict=True):
            parts.variable(name, "k in K", "-rating[k]", "rating[k]", "flow of a branch")
            parts.rule(f"flow_{name}", "(k, n) in End", f"{name}[k] == {formula}")
        parts.rule("rating", "k in K", "pf[k]*pf[k] + qf[k]*qf[k] <= rating[k]*rating[k]")

    def _dc(self, parts: Parts) -> None:
        case, branch, names = self.case, self.case.branch, self.case.lines
        limits = np.where(branch[:, 5] > 0, branch[:, 5] / case.base, _ENDLESS)
        parts.labels("K", names)
        for name, side in (("From", 0), ("To", 1)):
            at = [(n, self.buses[k]) for n, k in zip(names, self.places[:, side], strict=True)]
            parts.tuples(name, "K N", at)
        shift, susceptance = np.deg2rad(branch[:, 9]), 1 / (branch[:, 3] * self.ratio)
        parts.table("K", names, b=susceptance, shift=shift, rating=limits)
        parts.table("N", self.buses, G_shunt=case.bus[:, 4] / case.base)
        parts.variable("angle", "n in N", -_ENDLESS, _ENDLESS, "angle of the voltage")
        parts.variable("flow", "k in K", "-rating[k]", "rating[k]", "flow of a branch")
        across = " - ".join(
            f"sum(angle[n] for (m, n) in {side} if m == k)" for side in ("From", "To")
        )
        parts.rule("flow", "k in K", f"flow[k] == b[k]*({across} - shift[k])")
        out, into = (f"sum(flow[k] for (k, m) in {side} if m == n)" for side in ("From", "To"))
        rule = f"{_FED.format('p')} - P[n] - G_shunt[n] == {out} - {into}"
        parts.rule("balance", "n in N", rule)
        reference, angle = self._reference()
        parts.rule("reference", "", f'angle["{reference}"] == {angle:.15g}')
        self._angles(parts)

    def goal(self) -> dict[str, Any]:
        """Return the costs: polynomials of up to the second degree, and piecewise linear ones."""
        base, units, count = self.case.base, self.case.units, len(self.case.units)
        sides = [("p", self.case.cost[:count]), ("q", self.case.cost[count:])]
        terms = []
        for power, costs in sides if self.ac else sides[:1]:
            for unit, row in zip(units, costs, strict=bool(len(costs))):
                width, at = int(row[3]), f'{power}["{unit}"]'
                values = row[4 : 4 + width]
                if int(row[0]) == 1:
                    points = row[4 : 4 + 2 * width].reshape(-1, 2) / (base, 1)
                    if self.ac and (np.diff(np.divide(*np.diff(points.T)[::-1])) < -1e-9).any():
                        said = f"the costs of {unit} rise less and less, which only dc takes"
                        raise InputError(said, self.case.name)
                    listed = [", ".join(f"{v:.15g}" for v in part) for part in points.T]
                    terms.append(f"piecewise({at}, [{listed[0]}], [{listed[1]}])")
                    continue
                if np.any(values[:-3]):
                    raise InputError(f"the costs of {unit} are of a higher degree than two")
                scaled = np.pad(values[-3:], (max(3 - width, 0), 0)) * (base**2, base, 1.0)
                square, linear, fixed = (f"{v:.17g}" for v in scaled)
                terms.append(f"{square}*{at}*{at} + {linear}*{at} + {fixed}")
        return {"name": "cost", "sense": "minimize", "expression": " + ".join(terms)}

    def loading(self, voltages: Complex) -> Floats:
        """Return the flows of the branches at the end where they are greater. [MVA]."""
        branch, (first, second) = self.case.branch, voltages[self.places.T]
        if not self.ac:
            across = np.angle(first) - np.angle(second) - np.deg2rad(branch[:, 9])
            return np.asarray(np.abs(across / (branch[:, 3] * self.ratio)) * self.case.base)
        ends = self.admittances()
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
    bus, gen, sizes = live.bus.copy(), live.gen.copy(), abs(dispatch.voltages)
    row = {number: k for k, number in enumerate(bus[:, 0])}
    gen[:, 1], gen[:, 2] = dispatch.active, dispatch.reactive
    gen[:, 5] = [sizes[row[n]] for n in gen[:, 0]]
    bus[:, 7], bus[:, 8] = sizes, np.angle(dispatch.voltages, deg=True)
    tables = {"version": "2", "baseMVA": live.base, "bus": bus, "gen": gen, "gencost": live.cost}
    options = ppoption(VERBOSE=0, OUT_ALL=0, PF_TOL=1e-10)
    found, success = runpf({**tables, "branch": live.branch.copy()}, options)
    if not success:
        raise EngiagentError("the power flow of the dispatch does not converge")
    values = found["bus"][:, 7] * np.exp(1j * np.deg2rad(found["bus"][:, 8]))
    yield "voltage_pu", float(np.max(np.abs(values - dispatch.voltages)))
    yield "active_mw", float(np.max(np.abs(found["gen"][:, 1] - dispatch.active)))
