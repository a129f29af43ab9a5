"""A site on its way to modules on buses, and the names of its signals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

import numpy as np

from engiagent.environment.interface import Role, Signal
from engiagent.errors import InputError
from engiagent.models.systems.system import Bus, Domain, Module, Port, System, surroundings
from engiagent.plant.source import nearest
from engiagent.verify.plants.unit import Unit

Floats = np.ndarray[Any, np.dtype[np.float64]]
Flows = Mapping[str, Sequence[str]]
RESIDUAL: Final = "residual of "
"""Before the name of a bus: what its members take beyond what they give."""
CHARGING: Final = ("charge", "discharge")
BUS: Final = {False: "heat_bus", True: "cooling_bus"}
"""By whether what is on it is cold."""


@dataclass(frozen=True)
class Name:
    """A signal of the plant: where it is written to, and where it is read, by full port names."""

    signal: Signal
    writes: str | None = None
    reads: str | None = None


@dataclass
class Built:
    """A site on its way to a system, and the names that its document has for the ports.

    ``series`` are disturbances over the periods of the plant by full port name, ``followers``
    machines that serve what their bus leaves, ``wires`` signals that inputs read, ``prices`` of
    which quantity each price is, with the sign of its cost.
    """

    units: Sequence[Unit]
    modules: dict[str, Module] = field(default_factory=dict)
    members: dict[str, list[str]] = field(default_factory=dict)
    domains: dict[str, Domain] = field(default_factory=dict)
    followers: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    names: dict[str, Name] = field(default_factory=dict)
    series: dict[str, Floats] = field(default_factory=dict)
    wires: dict[str, str] = field(default_factory=dict)
    prices: dict[str, tuple[str, float]] = field(default_factory=dict)

    @cached_property
    def system(self) -> System:
        """The modules on their buses; a bus that nothing balances shows what it lacks."""
        ports = self.ports()
        for bus, members in self.members.items():
            if not any(ports[member].is_free for member in members):
                self.seen(f"{bus}.unserved", ports[members[0]].unit, f"{RESIDUAL}{bus}")
        buses = (
            Bus(
                name=bus,
                domain=self.domains[bus],
                members=tuple(members),
                followers=tuple(self.followers.get(bus, ())),
            )
            for bus, members in self.members.items()
        )
        wires = {full: str(self.names[read].reads) for full, read in self.wires.items()}
        return System(modules=self.modules, buses=tuple(buses), wires=wires)

    def ports(self) -> dict[str, Port]:
        """Return the ports of all modules by full name."""
        return {f"{n}.{p.name}": p for n, module in self.modules.items() for p in module.ports}

    def circulate(self, bus: str, flows: Sequence[str]) -> None:
        """Put flows of water or air on a bus; pumps and fans give what the others on it take."""
        ports = {n: self.ports().get(str(name.reads)) for n, name in self.names.items()}
        known = [n for n, port in ports.items() if port and port.unit == "kg/s" and port.way]
        for flow in flows:
            name, port = self.names.get(flow), ports.get(flow)
            if name is None or port is None or flow not in known:
                raise InputError(f"{flow} is no flow", bus, expected=nearest(flow, known))
            self.put(bus, str(name.reads), port.domain)
            if port.role == "observation" and name.writes is not None:
                self.followers.setdefault(bus, []).append((name.writes, str(name.reads)))
                self.names[flow] = replace(name, signal=replace(name.signal, default=None))

    def join(self, unit: Unit, port: str, connection: str, *, asked: str | None = None) -> None:
        """Put a flow on the bus that a connection names; else on one of its own."""
        bus = unit.connections.get(connection)
        full = f"{unit.name}.{port}"
        domain: Domain = next(p.domain for p in self.modules[unit.name].ports if p.name == port)
        self.put(bus, full, domain_of(self, unit)[0] if domain == "information" else domain)
        if asked is not None and bus not in (None, "none"):
            self.followers.setdefault(str(bus), []).append((f"{unit.name}.{asked}", full))

    def put(self, bus: str | None, full: str, domain: Domain) -> None:
        """Put a flow on a bus, or let the surroundings take or give it where there is none."""
        if bus in (None, "none"):
            bus = f"around_{full.replace('.', '_')}"
            self.modules[bus] = surroundings(domain)
            self.members[bus] = [f"{bus}.exchange"]
        bus = str(bus)
        if domain in ("electrical", "fuel"):  # a gas engine drives as a motor does
            fuels = {unit.connections.get("fuel_bus") for unit in self.units}
            domain = "fuel" if bus in fuels else "electrical"
        known = self.domains.setdefault(bus, domain)
        if known != domain:
            raise InputError(f"the bus {bus} is {known}, {full} is {domain}")
        self.members.setdefault(bus, []).append(full)

    def action(
        self,
        name: str,
        upper: float = np.inf,
        *,
        lower: float = 0.0,
        port: str | None = None,
        writes: str | None = None,
        reads: str | None = None,
        unit: str = "kW",
        rest: float | None = 0.0,
    ) -> None:
        """Name an action by its port; ``writes`` and ``reads`` where set and done are two."""
        signal = Signal(unit, "action", rest, lower, upper)
        self.names[name] = Name(signal, writes or port or name, reads or port or name)

    def seen(self, name: str, unit: str, reads: str, role: Role = "observation") -> None:
        """Name what is read."""
        self.names.setdefault(name, Name(Signal(unit, role), reads=reads))

    def shown(self, unit: Unit, *words: str) -> None:
        """Name flows [kW] of a unit that go by the words of their ports."""
        for word in words:
            self.seen(f"{unit.name}.{word}", "kW", f"{unit.name}.{word}")

    def priced(self, unit: Unit, slot: str, word: str, sign: float = 1.0) -> None:
        """Show the price of a quantity; it drives nothing and is there for who decides."""
        written = unit.parameters.get(slot)
        if written is not None:
            goal = unit.plant.bench.declarations.core.objective_function
            text = f"{(goal.unit or 'EUR')[:3] if goal is not None else 'EUR'}/kWh"
            name = f"{unit.name}.{slot}"
            self.series[name] = unit.number(written, text)
            self.names[name] = Name(Signal(text, "disturbance"), reads=name)
            self.prices[name] = (f"{unit.name}.{word}", sign)

    def given(self, unit: Unit, slot: str, port: str | None = None) -> None:
        """Let the series of a slot drive a disturbance; outside it goes by its slot."""
        self.driven(
            unit, slot, unit.slots[slot].unit, f"{unit.name}.{port or slot}", unit.series(slot)
        )

    def driven(self, unit: Unit, slot: str, text: str, full: str, values: Floats) -> None:
        """Let a series drive a disturbance."""
        self.series[full] = np.broadcast_to(values, unit.periods.size)
        self.names[f"{unit.name}.{slot}"] = Name(Signal(text, "disturbance"), full, full)


def domain_of(site: Built, unit: Unit) -> tuple[Domain, bool]:
    """Return of which domain the bus of a terminal is, by what else is on it, and if it is cold."""
    bus = unit.connections.get("bus")
    ports = {
        port
        for other in site.units
        for port, name in other.connections.items()
        if name == bus and other.model not in ("grid", "load")
    }
    if ports & {"heat_bus", "cooling_bus"}:
        return "thermal", "cooling_bus" in ports and "heat_bus" not in ports
    return "fuel" if "fuel_bus" in ports else "electrical", False
