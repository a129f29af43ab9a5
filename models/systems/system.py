"""Systems of modules and clusters of systems: buses, links, and the order in which modules step.

A system inside a system is laid out flat: its modules and buses get its name in front, as in
``house1.battery``. So the order of steps is found among units, and two systems that feed each
other do not block one another.

Instant outputs are known before any module steps. All others are known when their module has
stepped, so that a reader steps after its source, and the free member of a bus after all others.
A circle of such readers is an algebraic loop and is refused.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

from engiagent.models.systems.module import Domain, Module, Port, State, WiringError


@dataclass(frozen=True, kw_only=True)
class Bus:
    """A node of one domain where what is given is what is taken."""

    name: str  # by which its residual is reported
    domain: Domain  # of all members
    # flows by their full names, as ``battery.charge``. At most one of them is free and takes what
    # the others leave; without one, what is left over is the residual. Flows of several units are
    # summed, unless the free member has several units: then each unit is balanced.
    members: tuple[str, ...]
    # machines that, one after the other, are asked for what the members before them leave: the
    # action that asks, and the member that serves. An action that is given is not asked.
    followers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Link:
    """A signal from an output to an input, by full names."""

    source: str
    target: str


@dataclass(frozen=True, kw_only=True)
class System:
    """Modules and systems by name, with buses for flows and links for signals.

    Raises WiringError when a connection means nothing: unknown ports, different units, domains or
    shapes, two suppliers of an input, a flow on two buses, an algebraic loop.

    Examples
    --------
    >>> from engiagent.models import Battery
    >>> from engiagent.models.systems.electrical import battery, grid, load
    >>> home = System(
    ...     modules={
    ...         "battery": battery(Battery(energy_capacity=10.0, initial_energy=5.0)),
    ...         "load": load(),
    ...         "grid": grid(),
    ...     },
    ...     buses=(Bus(name="home", domain="electrical", members=(
    ...         "battery.charge", "battery.discharge", "load.power", "grid.exchange")),),
    ... )
    >>> sorted(home.actions), sorted(home.disturbances)
    (['battery.charge', 'battery.discharge'], ['load.power'])
    """

    modules: Mapping[str, "Module | System"]  # modules or whole systems. Names without a dot.
    buses: tuple[Bus, ...] = ()  # where flows are balanced
    links: tuple[Link, ...] = ()  # which output feeds which action or disturbance

    def __post_init__(self) -> None:
        for name in self.modules:
            if not name or "." in name:
                raise WiringError(
                    f"the module name {name!r} is empty or has a dot; use a plain one"
                )
        _check_buses(self.ports, self.all_buses)
        _ = self.order

    @cached_property
    def units(self) -> dict[str, Module]:
        """All modules by full name."""
        found: dict[str, Module] = {}
        for name, part in self.modules.items():
            inner = {"": part} if isinstance(part, Module) else part.units
            found |= {f"{name}.{key}" if key else name: unit for key, unit in inner.items()}
        return found

    @cached_property
    def all_buses(self) -> tuple[Bus, ...]:
        """The buses of all systems inside, with full names, and its own."""
        inner = [
            replace(
                bus,
                name=f"{name}.{bus.name}",
                members=tuple(f"{name}.{member}" for member in bus.members),
                followers=tuple((f"{name}.{a}", f"{name}.{m}") for a, m in bus.followers),
            )
            for name, part in self.modules.items()
            if isinstance(part, System)
            for bus in part.all_buses
        ]
        return (*inner, *self.buses)

    @cached_property
    def _all_links(self) -> tuple[Link, ...]:
        inner = [
            Link(f"{name}.{link.source}", f"{name}.{link.target}")
            for name, part in self.modules.items()
            if isinstance(part, System)
            for link in part._all_links
        ]
        return (*inner, *self.links)

    @cached_property
    def ports(self) -> dict[str, Port]:
        """All ports by full name."""
        found: dict[str, Port] = {}
        for name, module in self.units.items():
            for port in module.ports:
                if f"{name}.{port.name}" in found:
                    raise WiringError(f"{name} has two ports named {port.name}")
                found[f"{name}.{port.name}"] = port
        return found

    @cached_property
    def sources(self) -> dict[str, str]:
        """Which output feeds an input, by full names."""
        found: dict[str, str] = {}
        for link in self._all_links:
            _check_link(self.ports, link)
            if link.target in found:
                raise WiringError(
                    f"{link.target} is fed by {found[link.target]} and by {link.source}; an input "
                    "has one supplier"
                )
            found[link.target] = link.source
        return found

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The modules by full name so that each steps after those that it waits for."""
        waits = self._waits()
        done: dict[str, None] = {}
        while len(done) < len(waits):
            ready = [n for n in waits if n not in done and waits[n].keys() <= done.keys()]
            if not ready:
                raise WiringError(_loop_message(waits, done))
            done.update(dict.fromkeys(ready))
        return tuple(done)

    def _waits(self) -> dict[str, dict[str, str]]:
        """For each module the modules that it waits for, with the port that is the reason."""
        owner = {f"{name}.{p.name}": name for name, m in self.units.items() for p in m.ports}
        waits: dict[str, dict[str, str]] = {name: {} for name in self.units}
        for target, source in self.sources.items():
            if not self.ports[source].instant:
                waits[owner[target]].setdefault(owner[source], source)
        for bus in self.all_buses:
            free = [member for member in bus.members if self.ports[member].is_free]
            for member in bus.members:
                if free and member != free[0]:
                    waits[owner[free[0]]].setdefault(owner[member], member)
            last = [member for _, member in bus.followers]
            for place, (_, served) in enumerate(bus.followers):
                for member in bus.members:
                    if member not in (*free, *last[place:]) and owner[member] != owner[served]:
                        waits[owner[served]].setdefault(owner[member], member)
        return waits

    @property
    def actions(self) -> dict[str, Port]:
        """Inputs left to whoever runs the system, by full name."""
        return self._open("action")

    @property
    def disturbances(self) -> dict[str, Port]:
        """Exogenous inputs that no module of the system supplies, by full name."""
        return self._open("disturbance")

    def _open(self, role: str) -> dict[str, Port]:
        ports = self.ports.items()
        return {name: p for name, p in ports if p.role == role and name not in self.sources}

    @property
    def observations(self) -> dict[str, Port]:
        """All outputs, flows among them, by full name."""
        return {name: port for name, port in self.ports.items() if not port.is_input}

    @property
    def states(self) -> dict[str, State]:
        """All states by full name."""
        return {f"{name}.{s.name}": s for name, m in self.units.items() for s in m.states}


def _known(name: str, ports: Mapping[str, Port], who: str) -> Port:
    if name not in ports:
        module = name.rpartition(".")[0]
        near = [other for other in ports if other.rpartition(".")[0] == module] or list(ports)
        more = " …" if len(near) > 12 else ""
        raise WiringError(
            f"{who} names the port {name!r}; known here: {', '.join(near[:12])}{more}"
        )
    return ports[name]


def _check_link(ports: Mapping[str, Port], link: Link) -> None:
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
            f"{where}: {link.target} is what is left on a bus; put both on one bus, where each "
            "flow counts once"
        )
    commanded = source.domain == "information" and target.role == "action"
    if target.domain not in (source.domain, "information") and not commanded:
        raise WiringError(
            f"{where}: {link.source} is {source.domain}, {link.target} is {target.domain}; connect "
            "ports of one domain"
        )
    if source.unit != target.unit:
        raise WiringError(
            f"{where}: {link.source} is in {source.unit}, {link.target} in {target.unit}; connect "
            "ports of one unit"
        )
    if source.shape != target.shape:
        raise WiringError(
            f"{where}: the shapes are {source.shape} and {target.shape}; give both the same number "
            "of units"
        )


def _check_buses(ports: Mapping[str, Port], buses: tuple[Bus, ...]) -> None:
    joined: dict[str, str] = {}
    for place, bus in enumerate(buses):
        if any(bus.name == other.name for other in buses[:place]):
            raise WiringError(f"the bus {bus.name} is given twice; give each its own name")
        for member in bus.members:
            port = _known(member, ports, f"the bus {bus.name}")
            if port.way is None:
                raise WiringError(
                    f"the bus {bus.name} has the member {member}, which is no flow but a signal in "
                    f"{port.unit}; use a link for signals"
                )
            if port.domain != bus.domain:
                raise WiringError(
                    f"the bus {bus.name} is {bus.domain}, its member {member} is {port.domain}"
                )
            if member in joined:
                raise WiringError(
                    f"{member} is on the bus {joined[member]} and on the bus {bus.name}; a flow "
                    "counts once"
                )
            joined[member] = bus.name
        _check_together(bus, {member: ports[member] for member in bus.members})


def _check_together(bus: Bus, members: Mapping[str, Port]) -> None:
    free = [name for name, port in members.items() if port.is_free]
    if len(free) > 1:
        raise WiringError(
            f"the bus {bus.name} leaves its balance to {' and '.join(free)}; one member can take "
            "what is left"
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
