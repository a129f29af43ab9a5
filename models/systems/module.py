"""What stands in a system: ports, states and a step.

A port is an input or an output. Inputs are actions (somebody decides), disturbances (nobody does)
or left to the balance of a bus; outputs are observations. Any of them may be a flow of energy [kW]:
it is joined to others over a bus only, so that nothing is counted twice or lost. Everything may be
read as a signal by many, which moves no energy.

A module stores nothing; it is a description with pure functions. Its state is passed in and handed
back, so that a run can be repeated, branched and replayed. What it takes from buses and what
enters from the environment is what it gives to buses, what leaves to the environment, and what its
content grows by; the simulation checks this in every step.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from engiagent.errors import EngiagentError
from engiagent.models.ranges import Floats, ParameterError

Domain = Literal["electrical", "thermal", "information"]
Role = Literal["action", "disturbance", "observation", "balance"]
Way = Literal["gives", "takes"]
Values = Mapping[str, Any]
"""By name numbers, or arrays with one number per unit; plain numbers are ten times as fast."""

DOMAINS: tuple[Domain, ...] = ("electrical", "thermal", "information")


class WiringError(EngiagentError):
    """Modules are connected in a way that means nothing; names the ports and what is right."""


@dataclass(frozen=True)
class State:
    """A quantity that a module remembers."""

    # name, unit: as in ``energy``, ``kWh``
    name: str
    unit: str
    # value after a reset that gives none; None when a reset must give one
    initial: npt.ArrayLike | None = None
    shape: tuple[int, ...] = ()  # () for a number, (units,) for one number per unit


@dataclass(frozen=True)
class Port:
    """An input or output of a module.

    ``action``, ``disturbance``, ``observation`` and ``balance`` below make ports of their role.
    """

    # name, unit, shape: as of ``State``
    name: str
    unit: str = "kW"
    # a link joins ports of one domain. An input of ``information`` may read, that is measure, any;
    # an action may be commanded by an output of ``information``.
    domain: Domain = "information"
    # ``action`` and ``disturbance`` are inputs, ``observation`` is an output, ``balance`` is an
    # input that takes what the other members of its bus leave
    role: Role = field(kw_only=True)
    # whether the port ``gives`` to a bus or ``takes`` from it; None when it is no flow
    way: Way | None = field(default=None, kw_only=True)
    shape: tuple[int, ...] = field(default=(), kw_only=True)
    # of an observation: it follows from the state at the start of the period alone, so that a loop
    # through it is none
    instant: bool = field(default=False, kw_only=True)
    # of an action or a disturbance: the value when nobody gives one; None when somebody must
    default: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.domain not in DOMAINS:
            raise WiringError(
                f"the port {self.name} has the domain {self.domain!r}; "
                f"known domains: {', '.join(DOMAINS)}"
            )
        if self.role == "balance" and self.way is None:
            raise WiringError(f"the port {self.name} balances a bus; say whether it gives or takes")
        if self.way is not None and self.unit != "kW":
            raise WiringError(f"the flow {self.name} is in {self.unit}; a flow is in kW")

    @property
    def is_input(self) -> bool:
        """Whether the module needs the value; an output it computes."""
        return self.role != "observation"

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
    # by how much limits are broken, at least 0, by a name of the limit; limits are reported and
    # never enforced
    violations: Values = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Module:
    """A unit, controller or source of disturbances."""

    ports: tuple[Port, ...]  # all inputs and outputs
    # from the state at the start of a period, the inputs during it and its length [h] to what it
    # ends with
    step: Callable[[Values, Values, float], Outcome]
    states: tuple[State, ...] = ()  # all that is remembered
    stored: Callable[[Values], float] = lambda state: 0.0  # from a state to the energy in it. [kWh]
    # from a state to the instant outputs; None for the states of the same names
    observe: Callable[[Values], Values] | None = None
    # from a generator of chance to initial values of states
    draw: Callable[[np.random.Generator], Values] = lambda random: {}
    # from state, inputs and length of the period [h] to the inputs that are physically possible,
    # for a simulation that enforces limits; it returns those alone that it changes
    possible: Callable[[Values, Values, float], Values] | None = None

    def reset(self, initial: Values, random: np.random.Generator) -> dict[str, Floats]:
        """Return the state at the first instant; ``initial`` replaces values of the states."""
        given = {**self.draw(random), **initial}
        start: dict[str, Floats] = {}
        for state in self.states:
            value = given.get(state.name, state.initial)
            if value is None:
                raise ParameterError(
                    f"the initial {state.name} is missing; give it in {state.unit}"
                )
            start[state.name] = shaped(value, state.shape, f"the initial {state.name}", state.unit)
        return start

    def instant(self, state: Values) -> Values:
        """Return the instant outputs."""
        if self.observe is not None:
            return self.observe(state)
        return {port.name: state[port.name] for port in self.ports if port.instant}


def total(value: Any) -> float:
    """Return the sum over units; a single number has a short way, for it is in every step."""
    if isinstance(value, float):
        return value
    return float(value) if np.ndim(value) == 0 else float(value.sum())


def shaped(value: npt.ArrayLike, shape: tuple[int, ...], what: str, unit: str) -> Any:
    """Return a value as an array of a shape; one number stands for all units."""
    if not shape and isinstance(value, float) and math.isfinite(value):
        return value
    array = np.asarray(value, dtype=np.float64)
    if array.ndim == 0 and shape:
        array = np.full(shape, float(array))
    if array.shape != shape:
        raise ParameterError(f"{what} has the shape {array.shape}; give {shape or 'one number'}")
    if not math.isfinite(total(array)):
        raise ParameterError(f"{what} is {array} {unit}; give finite numbers")
    return array


def above(value: npt.ArrayLike, limit: npt.ArrayLike = 0.0) -> Any:
    """Return by how much a value is above a limit, 0 where it is not."""
    if isinstance(value, float) and isinstance(limit, float):
        return max(value - limit, 0.0)
    excess = np.asarray(value, dtype=np.float64) - np.asarray(limit, dtype=np.float64)
    return np.asarray(np.maximum(excess, 0.0))
