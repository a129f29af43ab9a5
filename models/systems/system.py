"""Modules joined over buses, and the order in which they step.

Instant outputs are known before any module steps. All others are known when their module has
stepped, so that the free member of a bus steps after all others. A circle of such members is an
algebraic loop and is refused.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from engiagent.models.systems.module import Domain, Module, Port, State, WiringError


@dataclass(frozen=True, kw_only=True)
class Bus:
    """A node of one domain where what is given is what is taken."""

    name: str  # by which its residual is reported
    domain: Domain  # of all members
    # flows by their full names, as ``battery.charge``. At most one of them is free and takes what
    # the others leave; without one, what is left over is the residual.
    members: tuple[str, ...]
    # machines that, one after the other, are asked for what the members before them leave: the
    # action that asks, and the member that serves. An action that is given is not asked.
    followers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, kw_only=True)
class System:
    """Modules by name, with buses for flows.

    Raises WiringError when a connection means nothing: unknown ports, different domains, a flow on
    two buses or on none, an algebraic loop.

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
    >>> home.order, sorted(home.open("action"))
    (('battery', 'load', 'grid'), ['battery.charge', 'battery.discharge'])
    """

    modules: Mapping[str, Module]
    buses: tuple[Bus, ...] = ()  # where flows are balanced

    def __post_init__(self) -> None:
        joined: dict[str, str] = {}
        for bus in self.buses:
            for member in bus.members:
                self._refuse_member(bus, member, joined)
                joined[member] = bus.name
            free = [member for member in bus.members if self.ports[member].is_free]
            if len(free) > 1:
                raise WiringError(
                    f"the bus {bus.name} leaves its balance to {' and '.join(free)}; one member "
                    "can take what is left"
                )
        loose = [n for n, p in self.ports.items() if p.way and not p.is_free and n not in joined]
        if loose:
            raise WiringError(
                f"no bus has {', '.join(loose)}, so that what it carries would come from or go to "
                "nowhere; put it on a bus"
            )
        _ = self.order

    def _refuse_member(self, bus: Bus, member: str, joined: Mapping[str, str]) -> None:
        if member not in self.ports:
            module = member.partition(".")[0]
            near = [n for n in self.ports if n.partition(".")[0] == module] or list(self.ports)
            raise WiringError(
                f"the bus {bus.name} names the port {member!r}; known here: {', '.join(near[:12])}"
            )
        port = self.ports[member]
        if port.way is None:
            raise WiringError(f"the bus {bus.name} has the member {member}, which is no flow")
        if port.domain != bus.domain:
            raise WiringError(
                f"the bus {bus.name} is {bus.domain}, its member {member} is {port.domain}"
            )
        if member in joined:
            raise WiringError(
                f"{member} is on the bus {joined[member]} and on the bus {bus.name}; a flow counts "
                "once"
            )

    @cached_property
    def ports(self) -> dict[str, Port]:
        """All ports by full name."""
        return {f"{name}.{p.name}": p for name, m in self.modules.items() for p in m.ports}

    @cached_property
    def states(self) -> dict[str, State]:
        """All states by full name."""
        return {f"{name}.{s.name}": s for name, m in self.modules.items() for s in m.states}

    def open(self, role: str) -> dict[str, Port]:
        """Return the actions, or the disturbances, by full name."""
        return {name: port for name, port in self.ports.items() if port.role == role}

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The modules so that each steps after those that it waits for."""
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
        owner = {f"{name}.{p.name}": name for name, m in self.modules.items() for p in m.ports}
        waits: dict[str, dict[str, str]] = {name: {} for name in self.modules}
        for bus in self.buses:
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
        f"algebraic loop: {' waits for '.join(loop)}, through {', '.join(ports)}; decide on one of "
        "the flows by an action"
    )
