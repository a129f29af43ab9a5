"""Optimal power flow of MATPOWER cases, AC and DC, by PYPOWER's interior-point method.

Conventions of the data, the branch model and both problems: R. D. Zimmerman et al.,
doi:10.1109/TPWRS.2010.2051168; the method: H. Wang et al., doi:10.1109/TPWRS.2007.901301.
"""

import importlib
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from engiagent.environment.interface import quiet
from engiagent.errors import EngiagentError, InputError
from engiagent.plant.source import nearest
from engiagent.tools.grid.feeders import Floats
from engiagent.tools.places import inside

CASES: Final = ("case9", "case14", "case30", "case39", "case57", "case118", "case300")
Formulation = Literal["ac", "dc"]
_TOLERANCES: Final = {
    **{"OPF_VIOLATION": 1e-9, "PDIPM_FEASTOL": 1e-9, "PDIPM_GRADTOL": 1e-7},
    **{"PDIPM_COMPTOL": 1e-8, "PDIPM_COSTTOL": 1e-9},
}


@dataclass(frozen=True)
class Case:
    """A transmission case: MATPOWER's tables, with what is out of service taken away."""

    name: str
    base: float  # [MVA]
    bus: Floats
    gen: Floats
    branch: Floats
    cost: Floats

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
            tables = _frames(inside(root, name))
        else:
            expected = f"{nearest(name, CASES)}, or a MATPOWER file of the session"
            raise InputError(f"there is no case {name!r}", expected=expected)
        gen, branch = np.array(tables["gen"], float), np.array(tables["branch"], float)
        cost = np.array(tables.get("gencost", []), float)
        return cls(
            name, float(tables["baseMVA"]), np.array(tables["bus"], float), gen, branch, cost
        )

    def in_service(self) -> "Case":
        """Return it without units and branches that are out of service, and isolated buses."""
        bus = self.bus[self.bus[:, 1] != 4]
        known = set(bus[:, 0])
        live = (self.gen[:, 7] > 0) & np.isin(self.gen[:, 0], list(known))
        on = (self.branch[:, 10] > 0) & np.isin(self.branch[:, :2], list(known)).all(axis=1)
        free = np.tile([2.0, 0, 0, 3, 0, 0, 0], (live.sum(), 1))
        cost = self.cost[: len(self.gen)][live] if len(self.cost) else free
        return replace(self, bus=bus, gen=self.gen[live], branch=self.branch[on], cost=cost)

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
                raise InputError(
                    f"the load of {name} cannot be read", found=text, expected="1.2x, or 90"
                )
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
            else:
                branch[self._branches(name), 5] = value
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
        ends = [int(part) if part.isdigit() else -1 for part in name.split("-")]
        if len(ends) == 2:
            forth = (self.branch[:, 0] == ends[0]) & (self.branch[:, 1] == ends[1])
            back = (self.branch[:, 0] == ends[1]) & (self.branch[:, 1] == ends[0])
            if (forth | back).any():
                return np.flatnonzero(forth | back)
        known = [f"{int(a)}-{int(b)}" for a, b in self.branch[:, :2]]
        raise InputError(f"there is no branch {name!r}", expected=nearest(name, known))


def _frames(path: Path) -> dict[str, Any]:
    try:
        from matpowercaseframes import CaseFrames
    except ImportError:
        expected = 'pip install "engiagent[grid]"'
        raise InputError("MATPOWER files need matpowercaseframes", expected=expected) from None
    # It fails where rows of a matrix share a line.
    text = re.sub(r";[ \t]*(?=[-\d])", ";\n", path.read_text(encoding="utf-8", errors="replace"))
    try:
        with tempfile.TemporaryDirectory() as folder, quiet():
            place = Path(folder) / path.name
            place.write_text(text, encoding="utf-8")
            found = CaseFrames(str(place))
        return {
            "baseMVA": found.baseMVA,
            **{n: getattr(found, n).to_numpy() for n in ("bus", "gen", "branch", "gencost")},
        }
    except Exception as error:  # of its parser
        raise InputError(f"this is no MATPOWER case: {error}", path.name) from None


@dataclass(frozen=True, eq=False)
class Dispatch:
    """An optimal power flow: of generators and branches in service, and of all buses."""

    status: str
    objective: float  # [currency/h]
    active: Floats  # [MW]
    reactive: Floats  # [Mvar]
    voltages: np.ndarray  # complex. [p.u.]
    flows: Floats  # the greater of both ends. [MVA]


def optimal_flow(case: Case, formulation: Formulation) -> Dispatch:
    """Return the dispatch of least cost; EngiagentError when none is found."""
    with quiet():
        # Not from pypower.api, which imports PYPOWER's own tests.
        from pypower.ppoption import ppoption
        from pypower.runopf import runopf
        from pypower.totcost import totcost

    dc = formulation == "dc"
    options = ppoption(VERBOSE=0, OUT_ALL=0, PF_DC=dc, OPF_IGNORE_ANG_LIM=True, **_TOLERANCES)
    with quiet(), np.errstate(all="ignore"):
        found = runopf(case.in_service().tables(), options)
    if not found["success"]:
        raise EngiagentError(f"there is no dispatch of {case.name}: the solver does not converge")
    bus, gen, ends = found["bus"], found["gen"], found["branch"][:, 13:17]
    return Dispatch(
        "optimal" if dc else "feasible",  # a local optimum
        float(totcost(found["gencost"], gen[:, 1]).sum()),  # its "f" skips one polynomial alone
        gen[:, 1],
        np.zeros(len(gen)) if dc else gen[:, 2],
        (1.0 if dc else bus[:, 7]) * np.exp(1j * np.deg2rad(bus[:, 8])),
        np.maximum(np.hypot(ends[:, 0], ends[:, 1]), np.hypot(ends[:, 2], ends[:, 3])),
    )


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
