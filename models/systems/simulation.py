"""Running a system: reset and step, with the balance of every module.

Within a step all modules see the same length of period; instant outputs are read first, then the
modules step in the order of :attr:`engiagent.models.systems.system.System.order`, then each
module's balance is checked.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from engiagent.models.ranges import ParameterError, positive
from engiagent.models.systems.module import Module, Outcome, Port, Values, WiringError, finite
from engiagent.models.systems.system import Bus, System


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
                    (p.name, full, self._net(full, p, bus_of.get(full)))
                    for p in module.ports
                    if p.role != "observation"
                    for full in (f"{name}.{p.name}",)
                ),
                tuple((f"{name}.{p.name}", p.sign) for p in module.ports if p.way is not None),
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
            stepped.check(outcome)
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

    def check(self, outcome: Outcome) -> None:
        """Refuse an outcome that is not what the module's ports and states promise."""
        outputs = {p.name for p in self.module.ports if p.role == "observation" and not p.instant}
        states = {state.name for state in self.module.states}
        for got, wanted in ((outcome.outputs, outputs), (outcome.state, states)):
            if got.keys() != wanted:
                raise WiringError(
                    f"{self.name} returned {sorted(got)}; it promises {sorted(wanted)}"
                )
            for key, value in got.items():
                finite(value, f"{self.name}.{key}", "as it came out")


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
