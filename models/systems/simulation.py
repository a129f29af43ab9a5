"""Running a system: initialize, reset, step, and the replay of a plan.

Within a step all modules see the same length of period; instant outputs are read first, then the
modules step in the order of :mod:`engiagent.models.systems.wiring`, then the books are checked.
"""

import math
from collections.abc import Collection, Mapping

import numpy as np
import numpy.typing as npt

from engiagent.models.ranges import Floats, ParameterError, positive
from engiagent.models.systems.module import Module, Outcome
from engiagent.models.systems.ports import Port, Values, WiringError, shaped, total
from engiagent.models.systems.record import Books, Record, Step
from engiagent.models.systems.system import System
from engiagent.models.systems.wiring import Bus

Series = Mapping[str, npt.ArrayLike]


class Simulation:
    """A system at an instant; the only place that holds state.

    Parameters
    ----------
    system
        Every flow that a module computes must be on a bus.
    step_hours
        Length of all periods. Above 0. [h]

    Raises
    ------
    WiringError
        When a flow leads nowhere.
    ParameterError
        When a module refuses the length of the step.

    Examples
    --------
    >>> from engiagent.models import Battery, Load
    >>> from engiagent.models.systems.electrical import BatteryModule, GridModule, LoadModule
    >>> from engiagent.models.systems.system import System
    >>> from engiagent.models.systems.wiring import Bus
    >>> home = System(
    ...     modules={
    ...         "battery": BatteryModule(Battery(energy_capacity=10.0, initial_energy=5.0)),
    ...         "load": LoadModule(Load(power=2.0)),
    ...         "grid": GridModule(),
    ...     },
    ...     buses=(Bus(name="home", domain="electrical", members=(
    ...         "battery.charge", "battery.discharge", "load.power", "grid.exchange")),),
    ... )
    >>> run = Simulation(home, step_hours=0.5)
    >>> step = run.step({"battery.charge": 3.0, "battery.discharge": 0.0})
    >>> float(step.outputs["grid.import"]), float(step.state["battery.energy"])
    (5.0, 6.5)
    """

    def __init__(self, system: System, step_hours: float) -> None:
        positive(step_hours, "the step", "h", "0.25")
        self.system = system
        self.step_hours = step_hours
        wiring = system.wiring
        loose = wiring.loose_flows()
        if loose:
            raise WiringError(
                f"{', '.join(loose)}: no bus has "
                + ("these flows" if len(loose) > 1 else "this flow")
                + ", so that what it carries would come from or go to nowhere; put it on a bus"
            )
        self._wiring = wiring
        self._modules: dict[str, Module] = {
            name: module.initialize(step_hours) for name, module in wiring.modules.items()
        }
        self._order = wiring.order()
        self._bus_of = {member: bus for bus in wiring.buses for member in bus.members}
        self._actions = system.actions
        self._disturbances = system.disturbances
        self._open = self._actions | self._disturbances
        self._inputs = {
            name: [p for p in module.ports if p.is_input] for name, module in wiring.modules.items()
        }
        self._outputs = {
            name: {p.name: p.shape for p in module.ports if not p.is_input and not p.instant}
            for name, module in wiring.modules.items()
        }
        self._states = {
            name: {state.name: state.shape for state in module.states}
            for name, module in wiring.modules.items()
        }
        self._flows = {
            name: [p for p in module.ports if p.way is not None]
            for name, module in wiring.modules.items()
        }
        self._state: dict[str, Values] | None = None

    def reset(self, initial: Series | None = None, seed: int = 0) -> dict[str, Floats]:
        """Set the first instant and return the instant outputs.

        Parameters
        ----------
        initial
            Values of states by full name; the others keep their own initial values.
        seed
            Of all chance; the same seed gives the same run.
        """
        given = dict(initial or {})
        states = self.system.states
        for name in given:
            if name not in states:
                raise ParameterError(
                    f"there is no state {name!r}; known states: {', '.join(states) or 'none'}"
                )
        state: dict[str, Values] = {}
        for name, module in self._modules.items():
            # A stream by the module's name: no other module changes what this one draws.
            stream = np.random.SeedSequence([seed, *name.encode()])
            own = {
                own_state.name: np.asarray(given[f"{name}.{own_state.name}"], dtype=np.float64)
                for own_state in module.states
                if f"{name}.{own_state.name}" in given
            }
            try:
                state[name] = module.reset(own, np.random.default_rng(stream))
            except ParameterError as error:
                raise ParameterError(f"{name}: {error}") from error
        self._state = state
        return self._observed()

    def state(self) -> dict[str, Floats]:
        """Return all states by full name."""
        return {
            f"{name}.{key}": value
            for name, state in self._current().items()
            for key, value in state.items()
        }

    def step(self, action: Series | None = None, disturbance: Series | None = None) -> Step:
        """Advance by one period.

        Parameters
        ----------
        action, disturbance
            Values of the system's own open inputs by full name; those with a default may be left
            out.
        """
        before = self._current()
        values = self._observed()
        values |= _given(dict(action or {}), self._actions, "action")
        values |= _given(dict(disturbance or {}), self._disturbances, "disturbance")
        books = Books()
        after: dict[str, Values] = {}
        for name in self._order:
            module = self._modules[name]
            inputs = {
                p.name: self._input(f"{name}.{p.name}", p, values) for p in self._inputs[name]
            }
            values |= {f"{name}.{key}": value for key, value in inputs.items()}
            try:
                outcome = module.step(before[name], inputs, self.step_hours)
            except ParameterError as error:
                raise ParameterError(f"{name}: {error}") from error
            self._check(name, outcome)
            values |= {f"{name}.{key}": value for key, value in outcome.outputs.items()}
            after[name] = outcome.state
            flows = [(port, values[f"{name}.{port.name}"]) for port in self._flows[name]]
            contents = (module.stored(before[name]), module.stored(outcome.state))
            books.enter(name, flows, contents, outcome, self.step_hours)
        self._state = after
        return Step(
            state=self.state(),
            outputs=values,
            residuals={bus.name: self._residual(bus, values) for bus in self._wiring.buses},
            imbalances=books.imbalances,
            entered=books.entered,
            left=books.left,
            violations=books.violations,
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

        Parameters
        ----------
        plan, disturbances
            Series of the open inputs by full name, shape (N,) or (N, units), or one number for all
            periods.
        periods
            N, when no series says it.
        initial, seed
            As of :meth:`reset`.
        """
        given = [
            {name: np.asarray(v, dtype=np.float64) for name, v in (series or {}).items()}
            for series in (plan, disturbances)
        ]
        _names_fit(given[0], self._actions, "action")
        _names_fit(given[1], self._disturbances, "disturbance")
        count = _periods(given, self._open, periods)
        self.reset(initial, seed)
        start = self.state()
        steps: list[Step] = []
        for period in range(count):
            action, disturbance = (
                {name: _at(v, self._open.get(name), period) for name, v in series.items()}
                for series in given
            )
            try:
                steps.append(self.step(action, disturbance))
            except ParameterError as error:
                raise ParameterError(f"period {period}: {error}") from error
        return Record.of(start, steps, self.step_hours, self.system)

    def _current(self) -> dict[str, Values]:
        if self._state is None:
            self.reset()
        assert self._state is not None
        return self._state

    def _observed(self) -> dict[str, Floats]:
        return {
            f"{name}.{key}": value
            for name, module in self._modules.items()
            for key, value in module.observe(self._current()[name]).items()
        }

    def _check(self, name: str, outcome: Outcome) -> None:
        """Refuse an outcome that is not what the module's ports and states promise."""
        promised = self._outputs[name], self._states[name]
        for got, wanted in zip((outcome.outputs, outcome.state), promised, strict=True):
            if got.keys() != wanted.keys():
                raise WiringError(f"{name} returned {sorted(got)}; it promises {sorted(wanted)}")
            for key, value in got.items():
                if np.shape(value) != wanted[key]:
                    raise WiringError(
                        f"{name}.{key} came out with the shape {np.shape(value)}; it promises "
                        f"{wanted[key]}"
                    )
                if not math.isfinite(total(value)):
                    raise ParameterError(f"{name}.{key} came out as {value}; check its inputs")

    def _input(self, name: str, port: Port, values: Values) -> Floats:
        if name in self._wiring.sources:
            return values[self._wiring.sources[name]]
        if not port.is_free:
            return values[name]
        bus = self._bus_of.get(name)
        if bus is None:
            return np.zeros(port.shape)
        net = self._net([member for member in bus.members if member != name], values, port.shape)
        return net if port.way == "takes" else -net

    def _net(self, members: list[str], values: Values, shape: tuple[int, ...]) -> Floats:
        """Return what members give less what they take, summed over units unless shape has them."""
        net: Floats | float = np.zeros(shape) if shape else 0.0
        for member in members:
            value = values[member] if shape else total(values[member])
            net = net + value if self._wiring.ports[member].way == "gives" else net - value
        return np.asarray(net)

    def _residual(self, bus: Bus, values: Values) -> Floats:
        free = [member for member in bus.members if self._wiring.ports[member].is_free]
        shape = self._wiring.ports[free[0]].shape if free else ()
        return self._net(list(bus.members), values, shape)


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
        name: shaped(
            given[name] if name in given else np.float64(port.default or 0.0),
            port.shape,
            name,
            port.unit,
        )
        for name, port in ports.items()
    }


def _periods(given: list[dict[str, Floats]], ports: Mapping[str, Port], periods: int | None) -> int:
    """Return the number of periods that all series agree on."""
    lengths = {
        name: value.shape[0]
        for series in given
        for name, value in series.items()
        if name in ports and value.ndim > len(ports[name].shape)
    }
    if periods is not None:
        lengths["the argument periods"] = periods
    if not lengths:
        raise ParameterError("no series says how many periods there are; give periods=24")
    first, count = next(iter(lengths.items()))
    for name, length in lengths.items():
        if length != count:
            raise ParameterError(f"{first} has {count} periods, {name} has {length}")
    return int(count)


def _at(values: Floats, port: Port | None, period: int) -> npt.ArrayLike:
    if port is not None and values.ndim > len(port.shape):
        return np.asarray(values[period])
    return values
