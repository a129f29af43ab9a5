"""Buses and links between modules: checks, and the order in which modules step.

Instant outputs are known before any module steps. All others are known when their module has
stepped, so that a reader steps after its source, and the free member of a bus after all others.
A circle of such readers is an algebraic loop and is refused.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from engiagent.models.systems.module import Module
from engiagent.models.systems.ports import Domain, Port, WiringError


@dataclass(frozen=True, kw_only=True)
class Bus:
    """A node of one domain where what is given is what is taken.

    Attributes
    ----------
    name
        By which its residual is reported.
    domain
        Of all members.
    members
        Flows by their full names, as ``battery.charge``. At most one of them is free and takes
        what the others leave; without one, what is left over is the residual. Flows of several
        units are summed, unless the free member has several units: then each unit is balanced.
    """

    name: str
    domain: Domain
    members: tuple[str, ...]


@dataclass(frozen=True)
class Link:
    """A signal from an output to an input, by full names."""

    source: str
    target: str


@dataclass(frozen=True, kw_only=True)
class Wiring:
    """Modules with their connections, checked.

    Attributes
    ----------
    modules
        By full name.
    ports
        All ports by full name.
    buses
        With full names.
    sources
        Which output feeds an input, by full names.
    """

    modules: Mapping[str, Module]
    ports: Mapping[str, Port]
    buses: tuple[Bus, ...]
    sources: Mapping[str, str]

    @classmethod
    def of(
        cls, modules: Mapping[str, Module], buses: tuple[Bus, ...], links: tuple[Link, ...]
    ) -> "Wiring":
        """Return the wiring after all checks that do not need the surroundings.

        Raises
        ------
        WiringError
            Naming the ports and what would be right.
        """
        ports: dict[str, Port] = {}
        for name, module in modules.items():
            for port in module.ports:
                if f"{name}.{port.name}" in ports:
                    raise WiringError(f"{name} has two ports named {port.name}")
                ports[f"{name}.{port.name}"] = port
        wiring = cls(modules=modules, ports=ports, buses=buses, sources=_sources(ports, links))
        _check_buses(ports, buses)
        wiring.order()
        return wiring

    def open_inputs(self, role: str) -> dict[str, Port]:
        """Return the actions or disturbances that no link feeds, by full name."""
        return {
            name: port
            for name, port in self.ports.items()
            if port.role == role and name not in self.sources
        }

    def loose_flows(self) -> list[str]:
        """Return the flows that no bus has, but for those that would balance one."""
        joined = {member for bus in self.buses for member in bus.members}
        return [
            name
            for name, port in self.ports.items()
            if port.way is not None and not port.is_free and name not in joined
        ]

    def order(self) -> tuple[str, ...]:
        """Return the modules so that each steps after those that it waits for.

        Raises
        ------
        WiringError
            When there is an algebraic loop, naming the modules in it.
        """
        waits = self._waits()
        done: dict[str, None] = {}
        while len(done) < len(self.modules):
            ready = [n for n in self.modules if n not in done and waits[n].keys() <= done.keys()]
            if not ready:
                raise WiringError(_loop_message(waits, done))
            done.update(dict.fromkeys(ready))
        return tuple(done)

    def _waits(self) -> dict[str, dict[str, str]]:
        """For each module the modules that it waits for, with the port that is the reason."""
        owner = {
            f"{name}.{port.name}": name
            for name, module in self.modules.items()
            for port in module.ports
        }
        waits: dict[str, dict[str, str]] = {name: {} for name in self.modules}
        for target, source in self.sources.items():
            if not self.ports[source].instant:
                waits[owner[target]].setdefault(owner[source], source)
        for bus in self.buses:
            free = [member for member in bus.members if self.ports[member].is_free]
            for member in bus.members:
                if free and member != free[0]:
                    waits[owner[free[0]]].setdefault(owner[member], member)
        return waits


def _known(name: str, ports: Mapping[str, Port], who: str) -> Port:
    if name not in ports:
        module = name.rpartition(".")[0]
        near = [other for other in ports if other.rpartition(".")[0] == module] or list(ports)
        raise WiringError(f"{who} names the port {name!r}; known here: {_some(near)}")
    return ports[name]


def _some(names: Iterable[str], count: int = 12) -> str:
    listed = list(names)
    return ", ".join(listed[:count]) + (" …" if len(listed) > count else "")


def _sources(ports: Mapping[str, Port], links: tuple[Link, ...]) -> dict[str, str]:
    sources: dict[str, str] = {}
    for link in links:
        source = _known(link.source, ports, f"the link to {link.target}")
        target = _known(link.target, ports, f"the link from {link.source}")
        where = f"the link {link.source} → {link.target}"
        if source.is_input and source.way is None:
            raise WiringError(
                f"{where}: {link.source} is an input; a link starts at an output or reads a flow"
            )
        if not target.is_input:
            raise WiringError(f"{where}: {link.target} is an output; a link ends at an input")
        if target.is_free:
            raise WiringError(
                f"{where}: {link.target} is what is left on a bus; put both on one bus, where "
                "each flow counts once"
            )
        commanded = source.domain == "information" and target.role == "action"
        if target.domain not in (source.domain, "information") and not commanded:
            raise WiringError(
                f"{where}: {link.source} is {source.domain}, {link.target} is {target.domain}; "
                "connect ports of one domain"
            )
        if source.unit != target.unit:
            raise WiringError(
                f"{where}: {link.source} is in {source.unit}, {link.target} in {target.unit}; "
                "connect ports of one unit"
            )
        if source.shape != target.shape:
            raise WiringError(
                f"{where}: the shapes are {source.shape} and {target.shape}; give both the same "
                "number of units"
            )
        if link.target in sources:
            raise WiringError(
                f"{link.target} is fed by {sources[link.target]} and by {link.source}; an input "
                "has one supplier"
            )
        sources[link.target] = link.source
    return sources


def _check_buses(ports: Mapping[str, Port], buses: tuple[Bus, ...]) -> None:
    joined: dict[str, str] = {}
    names: set[str] = set()
    for bus in buses:
        if bus.name in names:
            raise WiringError(f"the bus {bus.name} is given twice; give each its own name")
        names.add(bus.name)
        for member in bus.members:
            _check_member(bus, member, _known(member, ports, f"the bus {bus.name}"))
            if member in joined:
                raise WiringError(
                    f"{member} is on the bus {joined[member]} and on the bus {bus.name}; a flow "
                    "counts once"
                )
            joined[member] = bus.name
        _check_together(bus, {member: ports[member] for member in bus.members})


def _check_member(bus: Bus, member: str, port: Port) -> None:
    if port.way is None:
        raise WiringError(
            f"the bus {bus.name} has the member {member}, which is no flow but a signal in "
            f"{port.unit}; use a link for signals"
        )
    if port.domain != bus.domain:
        raise WiringError(
            f"the bus {bus.name} is {bus.domain}, its member {member} is {port.domain}"
        )


def _check_together(bus: Bus, members: Mapping[str, Port]) -> None:
    units = {port.unit for port in members.values()}
    if len(units) > 1:
        raise WiringError(
            f"the bus {bus.name} joins flows in {' and '.join(sorted(units))}; keep to one unit"
        )
    free = [name for name, port in members.items() if port.is_free]
    if len(free) > 1:
        raise WiringError(
            f"the bus {bus.name} leaves its balance to {' and '.join(free)}; one member can take "
            "what is left, put a splitter between them"
        )
    shape = members[free[0]].shape if free else ()
    for name, port in members.items():
        if shape and port.shape != shape:
            raise WiringError(
                f"the bus {bus.name}: {free[0]} has the shape {shape}, {name} has {port.shape}; "
                "each unit can be balanced only when all members have as many"
            )


def _loop_message(waits: Mapping[str, Mapping[str, str]], done: Mapping[str, None]) -> str:
    """Walk from a module that waits to one it waits for until a module comes again."""
    name = next(name for name in waits if name not in done)
    path: list[str] = []
    while name not in path:
        path.append(name)
        name = next(other for other in waits[name] if other not in done)
    loop = [*path[path.index(name) :], name]
    ports = [waits[reader][source] for reader, source in pairwise(loop)]
    return (
        f"algebraic loop: {' waits for '.join(loop)}, through {', '.join(ports)}; read a state "
        "instead of a flow in one place, or decide on one of the flows by an action"
    )
