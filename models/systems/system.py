"""Systems of modules: what stands in one, how they are joined over buses, and a run step by step.

What stands in a system: ports, states and a step.

A port is an input or an output. Inputs are actions (somebody decides), disturbances (the weather,
a series) or left to the balance of a bus; outputs are observations. Any of them may be a flow of
energy [kW] or mass [kg/s]: it is joined to others over a bus only, so that nothing is counted
twice or lost. What is no flow, as a temperature, is read over a wire.

A module stores nothing; it is a description with pure functions. Its state is passed in and handed
back, so that a run can be repeated, branched and replayed. What it takes from buses and what
enters from the environment is what it gives to buses, what leaves to the environment, and what its
content grows by; the simulation checks this in every step.

Modules joined over buses, and the order in which they step.

Instant outputs are known before any module steps. All others are known when their module has
stepped, so that the free member of a bus steps after all others. A circle of such members is an
algebraic loop and is refused.

Running a system: reset and step, with the balance of every module.

Within a step all modules see the same length of period; instant outputs are read first, then the
modules step in the order of :attr:`engiagent.models.systems.system.System.order`, then each
module's balance is checked.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import pairwise
from typing import Literal

from engiagent.errors import EngiagentError
from engiagent.models.ranges import ParameterError, positive

Domain = Literal["electrical", "thermal", "fuel", "water", "air", "information"]
"""Of water and air what flows is a mass [kg/s], of the three before them energy [kW]."""
Role = Literal["action", "disturbance", "observation", "balance"]
Way = Literal["gives", "takes"]
Values = Mapping[str, float]
"""Numbers by name."""


class WiringError(EngiagentError):
    """Modules are connected in a way that means nothing; names the ports and what is right."""


@dataclass(frozen=True)
class State:
    """A quantity that a module remembers."""

    # name, unit: as in ``energy``, ``kWh``
    name: str
    unit: str
    initial: float | None = None  # after a reset that gives none; None when a reset must give one


@dataclass(frozen=True)
class Port:
    """An input or output of a module.

    ``action``, ``disturbance``, ``observation`` and ``balance`` below make ports of their role.
    """

    name: str
    unit: str = "kW"
    domain: Domain = "information"  # of a flow that of its bus
    # ``action`` and ``disturbance`` are inputs, ``observation`` is an output, ``balance`` is an
    # input that takes what the other members of its bus leave
    role: Role = field(kw_only=True)
    # whether the port ``gives`` to a bus or ``takes`` from it; None when it is no flow
    way: Way | None = field(default=None, kw_only=True)
    # of an observation: it is the state of its name at the start of the period
    instant: bool = field(default=False, kw_only=True)
    # of an action or a disturbance: the value where none is given; None when one must be
    default: float | None = field(default=None, kw_only=True)

    @property
    def sign(self) -> float:
        """1 where it gives to its bus, -1 where it takes from it, 0 for no flow."""
        return {"gives": 1.0, "takes": -1.0, None: 0.0}[self.way]

    @property
    def is_free(self) -> bool:
        """Whether the value is what the other members of its bus leave."""
        return self.role == "balance"


action = partial(Port, role="action")
disturbance = partial(Port, role="disturbance")
observation = partial(Port, role="observation")
balance = partial(Port, role="balance")


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a step of a module ends with."""

    state: Values = field(default_factory=dict)  # at the end of the period
    # means over the period of all outputs that are not instant
    outputs: Values = field(default_factory=dict)
    # entered, left: what came from and went to the environment, mean of the period. [kW]
    entered: float = 0.0
    left: float = 0.0
    unmet: float = 0.0  # of a machine: what of the load that it is asked for is beyond it


@dataclass(frozen=True, kw_only=True)
class Module:
    """A unit of a system."""

    ports: tuple[Port, ...]  # all inputs and outputs
    # from the state at the start of a period, the inputs during it and its length [h] to what it
    # ends with
    step: Callable[[Values, Values, float], Outcome]
    states: tuple[State, ...] = ()  # all that is remembered
    stored: Callable[[Values], float] = lambda state: 0.0  # from a state to the energy in it. [kWh]
    # from state, inputs and length of the period [h] to the inputs that are physically possible;
    # it returns those alone that it changes
    possible: Callable[[Values, Values, float], Values] = lambda state, inputs, hours: {}

    def reset(self, given: Values) -> dict[str, float]:
        """Return the state at the first instant; ``given`` replaces values of the states."""
        start = {}
        for state in self.states:
            value = given.get(state.name, state.initial)
            if value is None:
                raise ParameterError(
                    f"the initial {state.name} is missing; give it in {state.unit}"
                )
            start[state.name] = finite(value, f"the initial {state.name}", state.unit)
        return start


def finite(value: float, what: str, unit: str) -> float:
    """Return a number; ParameterError when it is not finite."""
    number = float(value)
    if not math.isfinite(number):
        raise ParameterError(f"{what} is {number} {unit}; give a finite number")
    return number


def clipped(value: float, most: float = math.inf) -> float:
    """Return the nearest value from 0 to a limit."""
    return min(max(float(value), 0.0), most)


def surroundings(domain: Domain) -> Module:
    """Return what gives or takes whatever a bus leaves: ambient air, ground, a large network."""
    return Module(
        ports=(balance("exchange", "kW", domain, way="gives"),),
        step=lambda state, inputs, hours: Outcome(entered=inputs["exchange"]),
    )


def two_point(
    runs: bool, temperature: float, low: float, high: float, *, cooling: bool = False
) -> bool:
    """Return whether a two-point controller runs: it starts beyond one limit, stops at the other.

    Examples
    --------
    >>> [two_point(runs, 20.5, 20.0, 21.0) for runs in (False, True)]
    [False, True]
    """
    if cooling:
        return temperature > low and (runs or temperature > high)
    return temperature < high and (runs or temperature < low)


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

    Raises WiringError where two members would take what a bus leaves, and for an algebraic loop.
    """

    modules: Mapping[str, Module]
    buses: tuple[Bus, ...] = ()  # where flows are balanced
    # by full names: what an action or a disturbance reads off another port, and is not open for
    wires: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for bus in self.buses:
            free = [member for member in bus.members if self.ports[member].is_free]
            if len(free) > 1:
                raise WiringError(
                    f"the bus {bus.name} leaves its balance to {' and '.join(free)}; one member "
                    "can take what is left"
                )
        _ = self.order

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
        ports = self.ports.items()
        return {name: p for name, p in ports if p.role == role and name not in self.wires}

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
        for reader, source in self.wires.items():
            if not self.ports[source].instant:
                waits[owner[reader]].setdefault(owner[source], source)
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


@dataclass(frozen=True, kw_only=True)
class Step:
    """What one period ends with; everything by full name."""

    state: Values  # at the end of the period
    # all inputs and outputs of all modules during the period; instant ones as at its start
    outputs: Values
    residuals: Values  # of each bus: what is given less what is taken. [kW]
    # of each module: what comes in less what goes out and what the content grows by. Zero but for
    # rounding, or the module creates or loses energy. [kW]
    imbalances: Values
    # entered, left: what each module took from and gave to the environment. [kW]
    entered: Values
    left: Values


class Simulation:
    """A system at an instant; the only place that has state.

    ``step_hours``: length of all periods. Above 0. [h] Inputs that are physically impossible are
    replaced by the nearest that are not.

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
    >>> run = Simulation(home, step_hours=0.5)
    >>> step = run.step({"battery.charge": 3.0, "battery.discharge": 0.0}, {"load.power": 2.0})
    >>> step.outputs["grid.import"], step.state["battery.energy"]
    (5.0, 6.5)
    """

    def __init__(self, system: System, step_hours: float) -> None:
        positive(step_hours, "the step", "h")
        self.system = system
        self.step_hours = step_hours
        self._open = {role: system.open(role) for role in ("action", "disturbance")}
        self._asked = {
            action: _Net.left_for(system, bus, [member for _, member in bus.followers[place:]])
            for bus in system.buses
            for place, (action, _) in enumerate(bus.followers)
        }
        bus_of = {member: bus for bus in system.buses for member in bus.members}
        self._modules = [
            _Stepped(
                name,
                module,
                tuple(
                    (p.name, system.wires.get(full, full), self._net(full, p, bus_of.get(full)))
                    for p in module.ports
                    if p.role != "observation"
                    for full in (f"{name}.{p.name}",)
                ),
                tuple(
                    (f"{name}.{p.name}", p.sign)
                    for p in module.ports
                    if p.way is not None and p.unit == "kW"
                ),
            )
            for name, module in ((name, system.modules[name]) for name in system.order)
        ]
        self._residuals = {bus.name: _Net.of(system, bus.members) for bus in system.buses}
        self._state: dict[str, Values] | None = None

    def _net(self, full: str, port: Port, bus: Bus | None) -> "_Net | None":
        """Return what a free port takes, or an action may be asked for; None for other inputs."""
        if not port.is_free:
            return self._asked.get(full)
        others = [] if bus is None else [member for member in bus.members if member != full]
        return _Net.of(self.system, others, -port.sign)

    def reset(self, initial: Values | None = None) -> None:
        """Set the first instant; ``initial`` are values of states by full name."""
        given = dict(initial or {})
        for name in given:
            if name not in self.system.states:
                known = ", ".join(self.system.states) or "none"
                raise ParameterError(f"there is no state {name!r}; known states: {known}")
        state: dict[str, Values] = {}
        for name, module in self.system.modules.items():
            own = {s.name: given[n] for s in module.states if (n := f"{name}.{s.name}") in given}
            try:
                state[name] = module.reset(own)
            except ParameterError as error:
                raise ParameterError(f"{name}: {error}") from error
        self._state = state

    def put(self, values: Values) -> None:
        """Replace states by full name, as of a measurement."""
        self._state = {
            name: {key: values.get(f"{name}.{key}", value) for key, value in own.items()}
            for name, own in self._current().items()
        }

    def state(self) -> dict[str, float]:
        """Return all states by full name."""
        return {f"{name}.{key}": v for name, s in self._current().items() for key, v in s.items()}

    def step(self, action: Values | None = None, disturbance: Values | None = None) -> Step:
        """Advance by one period.

        ``action``, ``disturbance``: values of the system's open inputs by full name; those with a
        default and actions that are asked may be left out.
        """
        before, hours = self._current(), self.step_hours
        asked = self._asked.keys() - (action or {}).keys()
        values: dict[str, float] = {
            f"{m.name}.{p.name}": before[m.name][p.name]
            for m in self._modules
            for p in m.module.ports
            if p.instant
        }
        for given, role in ((action, "action"), (disturbance, "disturbance")):
            values |= _given(given or {}, self._open[role], role, asked)
        after: dict[str, Values] = {}
        entered, left, imbalances = {}, {}, {}
        for stepped in self._modules:
            name, module = stepped.name, stepped.module
            inputs: dict[str, float] = {}
            for port, full, net in stepped.inputs:
                if net is None or (full in self._asked and full not in asked):
                    inputs[port] = values[full]
                else:
                    found = net.at(values)
                    inputs[port] = max(found, 0.0) if full in asked else found
            inputs |= module.possible(before[name], inputs, hours)
            try:
                outcome = module.step(before[name], inputs, hours)
            except ParameterError as error:
                raise ParameterError(f"{name}: {error}") from error
            for key, value in (*inputs.items(), *outcome.outputs.items()):
                values[f"{name}.{key}"] = value
            after[name] = outcome.state
            entered[name], left[name] = outcome.entered, outcome.left
            imbalances[name] = stepped.imbalance(before[name], outcome, values, hours)
        self._state = after
        return Step(
            state=self.state(),
            outputs=values,
            residuals={bus: net.at(values) for bus, net in self._residuals.items()},
            imbalances=imbalances,
            entered=entered,
            left=left,
        )

    def _current(self) -> dict[str, Values]:
        if self._state is None:
            self.reset()
        assert self._state is not None
        return self._state


@dataclass(frozen=True)
class _Net:
    """What members of a bus give less what they take, times a sign."""

    members: tuple[tuple[str, float], ...]

    @classmethod
    def of(cls, system: System, members: Sequence[str], sign: float = 1.0) -> "_Net":
        """Return it of members by full name."""
        return cls(tuple((member, sign * system.ports[member].sign) for member in members))

    @classmethod
    def left_for(cls, system: System, bus: Bus, later: Sequence[str]) -> "_Net":
        """Return what a machine is asked for: what the members before it leave."""
        others = [m for m in bus.members if m not in later and not system.ports[m].is_free]
        return cls.of(system, others, -system.ports[later[0]].sign)

    def at(self, values: Values) -> float:
        """Return it of the values of a step."""
        return sum((sign * values[member] for member, sign in self.members), 0.0)


@dataclass(frozen=True)
class _Stepped:
    """A module as each step needs it: where its inputs come from, which flows it has."""

    name: str
    module: Module
    inputs: tuple[tuple[str, str, _Net | None], ...]
    flows: tuple[tuple[str, float], ...]

    def imbalance(self, before: Values, outcome: Outcome, values: Values, hours: float) -> float:
        """Return what it took less what it gave and stored. [kW]."""
        net = outcome.entered - outcome.left
        for name, sign in self.flows:
            net -= sign * values[name]
        if not outcome.state:
            return net
        return net - (self.module.stored(outcome.state) - self.module.stored(before)) / hours


def _given(given: Values, ports: Mapping[str, Port], what: str, asked: set[str]) -> Values:
    """Return the values of open inputs, with defaults where none is given."""
    unknown = [name for name in given if name not in ports]
    if unknown:
        raise ParameterError(
            f"{unknown[0]} is no open {what}; open ones: {', '.join(ports) or 'none'}"
        )
    found: dict[str, float] = {}
    for name, port in ports.items():
        value = given.get(name, 0.0 if name in asked else port.default)
        if value is None:
            raise ParameterError(f"the {what} {name} is missing; give a number")
        found[name] = finite(value, name, port.unit)
    return found
