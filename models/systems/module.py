"""What stands in a system: ports, states and a step.

A port is an input or an output. Inputs are actions (somebody decides), disturbances (nobody does)
or left to the balance of a bus; outputs are observations. Any of them may be a flow: it carries
energy [kW] or water [kg/s] and is joined to others over a bus only, so that nothing is counted
twice or lost. Everything may be read as a signal by many, which moves no energy.

A module stores nothing; it is a description with pure functions. Its state is passed in and handed
back, so that a run can be repeated, branched and replayed. What it takes from buses and what
enters from the environment is what it gives to buses, what leaves to the environment, and what its
content grows by; the simulation checks this in every step.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from engiagent.errors import EngiagentError
from engiagent.models.ranges import Floats, ParameterError

Domain = Literal["electrical", "thermal", "water", "fuel", "information"]
Role = Literal["action", "disturbance", "observation", "balance"]
Way = Literal["gives", "takes"]
Values = Mapping[str, Floats]
Contents = Mapping[str, float]

DOMAINS: tuple[Domain, ...] = ("electrical", "thermal", "water", "fuel", "information")

# What a flow of this unit carries, and how much of it one hour brings: [kWh], [kg].
QUANTITIES: dict[str, tuple[str, float]] = {"kW": ("energy", 1.0), "kg/s": ("water", 3600.0)}


class WiringError(EngiagentError):
    """Modules are connected in a way that means nothing; names the ports and what is right."""


@dataclass(frozen=True)
class State:
    """A quantity that a module remembers.

    Attributes
    ----------
    name, unit
        As in ``energy``, ``kWh``.
    initial
        Value after a reset that gives none; None when a reset must give one.
    shape
        () for a number, (units,) for one number per unit.
    """

    name: str
    unit: str
    initial: npt.ArrayLike | None = None
    shape: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Port:
    """An input or output of a module; :func:`action` and its likes make them.

    Attributes
    ----------
    name, unit, shape
        As of :class:`State`.
    domain
        A link joins ports of one domain. An input of ``information`` may read, that is measure,
        any; an action may be commanded by an output of ``information``.
    role
        ``action`` and ``disturbance`` are inputs, ``observation`` is an output, ``balance`` is an
        input that takes what the other members of its bus leave.
    way
        Whether the port ``gives`` to a bus or ``takes`` from it; None when it is no flow.
    instant
        Of an observation: it follows from the state at the start of the period alone, so that a
        loop through it is none.
    default
        Of an action or a disturbance: the value when nobody gives one; None when somebody must.
    """

    name: str
    unit: str
    domain: Domain
    role: Role
    shape: tuple[int, ...] = ()
    way: Way | None = None
    instant: bool = False
    default: float | None = None

    def __post_init__(self) -> None:
        if self.domain not in DOMAINS:
            raise WiringError(
                f"the port {self.name} has the domain {self.domain!r}; "
                f"known domains: {', '.join(DOMAINS)}"
            )
        if self.role == "balance" and self.way is None:
            raise WiringError(f"the port {self.name} balances a bus; say whether it gives or takes")
        if self.way is not None and self.unit not in QUANTITIES:
            raise WiringError(
                f"the flow {self.name} is in {self.unit}; a flow is in {' or '.join(QUANTITIES)}"
            )

    @property
    def is_input(self) -> bool:
        """Whether the module needs the value; an output it computes."""
        return self.role != "observation"

    @property
    def is_free(self) -> bool:
        """Whether the value is what the other members of its bus leave."""
        return self.role == "balance"


def action(
    name: str,
    unit: str = "kW",
    domain: Domain = "information",
    *,
    way: Way | None = None,
    default: float | None = None,
    shape: tuple[int, ...] = (),
) -> Port:
    """Return an input that somebody decides on, as a set point or as a flow."""
    return Port(
        name=name, unit=unit, domain=domain, role="action", way=way, default=default, shape=shape
    )


def disturbance(
    name: str,
    unit: str,
    domain: Domain,
    *,
    way: Way | None = None,
    default: float | None = None,
    shape: tuple[int, ...] = (),
) -> Port:
    """Return an input that nobody decides on, as weather, or as a flow that must be served."""
    role: Role = "disturbance"
    return Port(
        name=name, unit=unit, domain=domain, role=role, way=way, default=default, shape=shape
    )


def observation(
    name: str,
    unit: str,
    domain: Domain,
    *,
    way: Way | None = None,
    instant: bool = False,
    shape: tuple[int, ...] = (),
) -> Port:
    """Return an output, a flow where it has a ``way``; ``instant`` when the state determines it."""
    role: Role = "observation"
    return Port(
        name=name, unit=unit, domain=domain, role=role, way=way, instant=instant, shape=shape
    )


def balance(
    name: str, domain: Domain, way: Way, *, unit: str = "kW", shape: tuple[int, ...] = ()
) -> Port:
    """Return a flow that takes what the other members of its bus leave."""
    return Port(name=name, unit=unit, domain=domain, role="balance", way=way, shape=shape)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a step of a module ends with.

    Attributes
    ----------
    state
        At the end of the period.
    outputs
        Means over the period of all outputs that are not instant.
    entered, left
        What came from and went to the environment, by quantity: energy [kW], water [kg/s].
    violations
        By how much limits are broken, at least 0, by a name of the limit; limits are reported and
        never enforced.
    """

    state: Values = field(default_factory=dict)
    outputs: Values = field(default_factory=dict)
    entered: Contents = field(default_factory=dict)
    left: Contents = field(default_factory=dict)
    violations: Values = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Module:
    """A unit, controller or source of disturbances.

    Attributes
    ----------
    ports
        All inputs and outputs.
    step
        From the state at the start of a period, the inputs during it and its length [h] to what it
        ends with.
    states
        All that is remembered.
    stored
        From a state to its content by quantity: energy [kWh], water [kg].
    observe
        From a state to the instant outputs; None for the states of the same names.
    prepare
        From a length of step [h] to the module that makes such steps, or a refusal.
    draw
        From a generator of chance to initial values of states.
    """

    ports: tuple[Port, ...]
    step: Callable[[Values, Values, float], Outcome]
    states: tuple[State, ...] = ()
    stored: Callable[[Values], Contents] = lambda state: {}
    observe: Callable[[Values], Values] | None = None
    prepare: Callable[[float], "Module"] | None = None
    draw: Callable[[np.random.Generator], Values] | None = None

    def initialize(self, step_hours: float) -> "Module":
        """Return the module prepared for steps of this length [h]."""
        return self if self.prepare is None else self.prepare(step_hours)

    def reset(self, initial: Values, random: np.random.Generator) -> dict[str, Floats]:
        """Return the state at the first instant; ``initial`` replaces values of the states."""
        given = {**({} if self.draw is None else self.draw(random)), **initial}
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


def total(value: Floats) -> float:
    """Return the sum over units; a single number has a short way, for it is in every step."""
    return float(value) if np.ndim(value) == 0 else float(value.sum())


def shaped(value: npt.ArrayLike, shape: tuple[int, ...], what: str, unit: str) -> Floats:
    """Return a value as an array of a shape; one number stands for all units."""
    array = np.asarray(value, dtype=np.float64)
    if array.ndim == 0 and shape:
        array = np.full(shape, float(array))
    if array.shape != shape:
        raise ParameterError(f"{what} has the shape {array.shape}; give {shape or 'one number'}")
    if not math.isfinite(total(array)):
        raise ParameterError(f"{what} is {array} {unit}; give finite numbers")
    return array


def above(value: npt.ArrayLike, limit: npt.ArrayLike = 0.0) -> Floats:
    """Return by how much a value is above a limit, 0 where it is not."""
    excess = np.asarray(value, dtype=np.float64) - np.asarray(limit, dtype=np.float64)
    return np.asarray(np.maximum(excess, 0.0))
