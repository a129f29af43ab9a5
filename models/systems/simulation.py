"""Running a system: reset, step, and the replay of a plan, with the balance of every module.

Within a step all modules see the same length of period; instant outputs are read first, then the
modules step in the order of :attr:`engiagent.models.systems.system.System.order`, then each
module's balance is checked.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from engiagent.models.ranges import Floats, ParameterError, positive
from engiagent.models.systems.module import (
    Module,
    Outcome,
    Port,
    Values,
    WiringError,
    shaped,
    total,
)
from engiagent.models.systems.system import Bus, System

Series = Mapping[str, npt.ArrayLike]
ACCOUNTS = ("residuals", "imbalances", "entered", "left", "violations")


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
    violations: Values  # by how much limits of units are broken; 0 where they are respected


@dataclass(frozen=True, kw_only=True)
class Record:
    """Series of a run over N periods; states have N+1 values, all else N.

    Attributes
    ----------
    step_hours
        Length of each period. [h]
    series
        States, inputs and outputs by full name. A state is under its own name also when an instant
        output has the same.
    units
        Of the series, by full name.
    residuals, imbalances, entered, left, violations
        As of :class:`Step`, over the periods.

    ``record["battery.energy"]`` has N+1 values, ``record["grid.import"]`` has N.
    """

    step_hours: float
    series: Values
    units: Mapping[str, str]
    residuals: Values
    imbalances: Values
    entered: Values
    left: Values
    violations: Values

    def __getitem__(self, name: str) -> Floats:
        if name not in self.series:
            module = name.partition(".")[0]
            near = [key for key in self.series if key.partition(".")[0] == module]
            raise ParameterError(
                f"there is no series {name!r}; known: {', '.join(near or list(self.series))}"
            )
        found: Floats = self.series[name]
        return found


class Simulation:
    """A system at an instant; the only place that has state.

    ``system``: every flow that a module computes must be on a bus. ``step_hours``: length of all
    periods. Above 0. [h] ``enforce``: whether inputs that are physically impossible are replaced
    by the nearest that are not; else they are reported as violations and done. Raises WiringError
    when a flow leads nowhere.

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
    >>> float(step.outputs["grid.import"]), float(step.state["battery.energy"])
    (5.0, 6.5)
    """

    def __init__(self, system: System, step_hours: float, *, enforce: bool = False) -> None:
        positive(step_hours, "the step", "h", "0.25")
        self.system = system
        self.step_hours = step_hours
        bus_of = {member: bus for bus in system.all_buses for member in bus.members}
        flows = [n for n, p in system.ports.items() if p.way is not None and not p.is_free]
        loose = [name for name in flows if name not in bus_of]
        if loose:
            raise WiringError(
                f"{', '.join(loose)}: no bus has "
                + ("these flows" if len(loose) > 1 else "this flow")
                + ", so that what it carries would come from or go to nowhere; put it on a bus"
            )
        units = system.units
        self._modules = {name: units[name] for name in system.order}
        self._actions = system.actions
        self._disturbances = system.disturbances
        self._asked = {
            action: (bus, [m for _, m in bus.followers[place:]])
            for bus in system.all_buses
            for place, (action, _) in enumerate(bus.followers)
        }
        for name in self._asked:
            self._actions[name] = replace(self._actions[name], default=0.0)
        self._plans = [self._plan(name, bus_of, enforce) for name in self._modules]
        self._residuals = {}
        for bus in system.all_buses:
            free = [system.ports[m] for m in bus.members if system.ports[m].is_free]
            members = tuple(
                (m, 1.0 if system.ports[m].way == "gives" else -1.0) for m in bus.members
            )
            self._residuals[bus.name] = _Net(members, 1.0, free[0].shape if free else ())
        self._state: dict[str, Values] | None = None

    def _plan(self, name: str, bus_of: Mapping[str, Bus], enforce: bool) -> "_Plan":
        """Find once what each step of a module needs."""
        module, sources = self._modules[name], self.system.sources
        inputs: list[tuple[str, str, str | None, _Net | None]] = []
        for port in module.ports:
            if not port.is_input:
                continue
            full, net = f"{name}.{port.name}", None
            if port.is_free and full in bus_of:
                others = [m for m in bus_of[full].members if m != full]
                net = self._net_of(others, port, 1.0 if port.way == "takes" else -1.0)
            elif port.is_free:
                net = _Net((), 0.0, port.shape)
            elif full in self._asked:
                bus, later = self._asked[full]
                served = self.system.ports[later[0]]
                others = [m for m in bus.members if m not in later]
                others = [m for m in others if not self.system.ports[m].is_free]
                net = self._net_of(others, port, -1.0 if served.way == "gives" else 1.0)
            inputs.append((port.name, full, sources.get(full), net))
        flows = tuple(
            (f"{name}.{p.name}", 1.0 if p.way == "takes" else -1.0)
            for p in module.ports
            if p.way is not None
        )
        outputs = {p.name: p.shape for p in module.ports if not p.is_input and not p.instant}
        states = {state.name: state.shape for state in module.states}
        return _Plan(
            name,
            module,
            tuple(inputs),
            flows,
            (outputs, states),
            module.possible if enforce else None,
        )

    def _net_of(self, members: Sequence[str], port: Port, sign: float) -> "_Net":
        ports = self.system.ports
        signed = tuple((m, 1.0 if ports[m].way == "gives" else -1.0) for m in members)
        return _Net(signed, sign, port.shape)

    def reset(self, initial: Series | None = None, seed: int = 0) -> dict[str, Floats]:
        """Set the first instant and return the instant outputs.

        ``initial``: values of states by full name; the others have their own initial values.
        ``seed``: of all chance; the same seed gives the same run.
        """
        given = dict(initial or {})
        for name in given:
            if name not in self.system.states:
                known = ", ".join(self.system.states) or "none"
                raise ParameterError(f"there is no state {name!r}; known states: {known}")
        state: dict[str, Values] = {}
        for name, module in self._modules.items():
            # A stream by the module's name: no other module changes what this one draws.
            stream = np.random.SeedSequence([seed, *name.encode()])
            own = {
                key: np.asarray(given[f"{name}.{key}"], dtype=np.float64)
                for key in (state.name for state in module.states)
                if f"{name}.{key}" in given
            }
            try:
                state[name] = module.reset(own, np.random.default_rng(stream))
            except ParameterError as error:
                raise ParameterError(f"{name}: {error}") from error
        self._state = state
        return self._observed()

    def state(self) -> dict[str, Floats]:
        """Return all states by full name."""
        return _flat(self._current())

    def step(self, action: Series | None = None, disturbance: Series | None = None) -> Step:
        """Advance by one period.

        ``action``, ``disturbance``: values of the system's own open inputs by full name; those with
        a default may be left out.
        """
        before, hours = self._current(), self.step_hours
        values = self._observed()
        asked = self._asked.keys() - (action or {}).keys()
        values |= _given(dict(action or {}), self._actions, "action")
        values |= _given(dict(disturbance or {}), self._disturbances, "disturbance")
        after: dict[str, Values] = {}
        entered, left, imbalances, violations = {}, {}, {}, {}
        for plan in self._plans:
            name = plan.name
            inputs: dict[str, Floats] = {}
            for port, full, source, net in plan.inputs:
                if source is not None:
                    inputs[port] = values[source]
                elif net is None or (full in self._asked and full not in asked):
                    inputs[port] = values[full]
                else:
                    found = net.of(values)
                    inputs[port] = np.maximum(found, 0.0) if full in asked else found
            if plan.possible is not None:
                inputs |= plan.possible(before[name], inputs, hours)
            try:
                outcome = plan.module.step(before[name], inputs, hours)
            except ParameterError as error:
                raise ParameterError(f"{name}: {error}") from error
            plan.check(outcome)
            for key, value in inputs.items():
                values[f"{name}.{key}"] = value
            for key, value in outcome.outputs.items():
                values[f"{name}.{key}"] = value
            after[name] = outcome.state
            entered[name], left[name] = outcome.entered, outcome.left
            imbalances[name] = plan.imbalance(before[name], outcome, values, hours)
            violations[name] = outcome.violations
        self._state = after
        return Step(
            state=self.state(),
            outputs=values,
            residuals={b.name: self._residuals[b.name].of(values) for b in self.system.all_buses},
            imbalances=imbalances,
            entered=entered,
            left=left,
            violations=_flat(violations),
        )

    def replay(
        self,
        plan: Series,
        disturbances: Series | None = None,
        *,
        periods: int | None = None,
        initial: Series | None = None,
        seed: int = 0,
    ) -> Record:
        """Reset, run a recorded series of actions, and return the series of all channels.

        ``plan``, ``disturbances``: series of the open inputs by full name, shape (N,) or (N,
        units), or one number for all periods. ``periods``: N, when no series has it. ``initial``,
        ``seed``: as of :meth:`reset`.
        """
        ports = self._actions | self._disturbances
        given = [
            {name: np.asarray(v, dtype=np.float64) for name, v in (series or {}).items()}
            for series in (plan, disturbances)
        ]
        _names_fit(given[0], self._actions, "action")
        _names_fit(given[1], self._disturbances, "disturbance")
        both = given[0] | given[1]
        moves = {name: value.ndim > len(ports[name].shape) for name, value in both.items()}
        count = _periods({name: v for name, v in both.items() if moves[name]}, periods)
        self.reset(initial, seed)
        start = self.state()
        steps: list[Step] = []
        for period in range(count):
            now = ({n: v[period] if moves[n] else v for n, v in s.items()} for s in given)
            try:
                steps.append(self.step(*now))
            except ParameterError as error:
                raise ParameterError(f"period {period}: {error}") from error
        return self._record(start, steps)

    def _record(self, start: Values, steps: list[Step]) -> Record:
        states = {name: np.stack([v, *(s.state[name] for s in steps)]) for name, v in start.items()}
        outputs = {
            name: np.stack([s.outputs[name] for s in steps]) if steps else np.empty((0, *p.shape))
            for name, p in self.system.ports.items()
            if name not in states
        }
        units = {name: port.unit for name, port in self.system.ports.items()}
        units |= {name: state.unit for name, state in self.system.states.items()}
        return Record(
            step_hours=self.step_hours,
            series=outputs | states,
            units=units,
            **{name: _series([getattr(step, name) for step in steps]) for name in ACCOUNTS},
        )

    def _current(self) -> dict[str, Values]:
        if self._state is None:
            self.reset()
        assert self._state is not None
        return self._state

    def _observed(self) -> dict[str, Floats]:
        state = self._current()
        return _flat({name: m.instant(state[name]) for name, m in self._modules.items()})


@dataclass(frozen=True)
class _Net:
    """What members of a bus give less what they take, times a sign.

    Flows of several units are summed unless each is to be balanced, as the ``shape`` says.
    """

    members: tuple[tuple[str, float], ...]
    sign: float
    shape: tuple[int, ...] = ()

    def of(self, values: Values) -> Floats:
        """Return it of the values of a step."""
        net: Any = np.zeros(self.shape) if self.shape else 0.0
        for member, way in self.members:
            value = values[member]
            net = net + way * (value if self.shape else total(value))
        found: Floats = self.sign * net
        return found


@dataclass(frozen=True)
class _Plan:
    """A module as each step needs it: where its inputs come from, which flows it has."""

    name: str
    module: Module
    inputs: tuple[tuple[str, str, str | None, _Net | None], ...]
    flows: tuple[tuple[str, float], ...]
    promised: tuple[Mapping[str, tuple[int, ...]], Mapping[str, tuple[int, ...]]]
    possible: Callable[[Values, Values, float], Values] | None

    def imbalance(self, before: Values, outcome: Outcome, values: Values, hours: float) -> float:
        """Return what it took less what it gave and stored. [kW]."""
        net = outcome.entered - outcome.left
        for name, sign in self.flows:
            net += sign * total(values[name])
        if not outcome.state:
            return net
        return net - (self.module.stored(outcome.state) - self.module.stored(before)) / hours

    def check(self, outcome: Outcome) -> None:
        """Refuse an outcome that is not what the module's ports and states promise."""
        for got, wanted in zip((outcome.outputs, outcome.state), self.promised, strict=True):
            if got.keys() != wanted.keys():
                raise WiringError(
                    f"{self.name} returned {sorted(got)}; it promises {sorted(wanted)}"
                )
            for key, value in got.items():
                if type(value) is float and not wanted[key]:
                    if math.isfinite(value):
                        continue
                elif np.shape(value) != wanted[key]:
                    raise WiringError(
                        f"{self.name}.{key} came out with the shape {np.shape(value)}; it promises "
                        f"{wanted[key]}"
                    )
                if not math.isfinite(total(value)):
                    raise ParameterError(f"{self.name}.{key} came out as {value}; check its inputs")


def _flat(nested: Mapping[str, Values]) -> dict[str, Floats]:
    return {f"{name}.{key}": value for name, one in nested.items() for key, value in one.items()}


def _names_fit(given: Collection[str], ports: Mapping[str, Port], what: str) -> None:
    """Refuse names of inputs that are not open, and open inputs that nobody gives."""
    unknown = [name for name in given if name not in ports]
    if unknown:
        raise ParameterError(
            f"{unknown[0]} is no open {what}; open ones: {', '.join(ports) or 'none'}"
        )
    missing = [n for n, port in ports.items() if port.default is None and n not in given]
    if missing:
        raise ParameterError(f"the {what} {', '.join(missing)} is missing; give a number")


def _given(given: Series, ports: Mapping[str, Port], what: str) -> dict[str, Floats]:
    """Return the values of the open inputs, with defaults where nobody gives one."""
    _names_fit(given, ports, what)
    return {
        name: shaped(given.get(name, port.default or 0.0), port.shape, name, port.unit)
        for name, port in ports.items()
    }


def _periods(moving: Values, periods: int | None) -> int:
    """Return the number of periods that all series agree on."""
    lengths = {name: value.shape[0] for name, value in moving.items()}
    if periods is not None:
        lengths["the argument periods"] = periods
    if not lengths:
        raise ParameterError("no series says how many periods there are; give periods=24")
    first, count = next(iter(lengths.items()))
    for name, length in lengths.items():
        if length != count:
            raise ParameterError(f"{first} has {count} periods, {name} has {length}")
    return int(count)


def _series(rows: Sequence[Values]) -> dict[str, Floats]:
    names = dict.fromkeys(name for row in rows for name in row)
    return {
        name: np.stack([np.asarray(row.get(name, 0.0), dtype=np.float64) for row in rows])
        for name in names
    }
