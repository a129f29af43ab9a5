"""What stands in a system: ports, states and a step.

A port is an input or an output. Inputs are actions (somebody decides), disturbances (the weather,
a series) or left to the balance of a bus; outputs are observations. Any of them may be a flow of
energy [kW]: it is joined to others over a bus only, so that nothing is counted twice or lost.

A module stores nothing; it is a description with pure functions. Its state is passed in and handed
back, so that a run can be repeated, branched and replayed. What it takes from buses and what
enters from the environment is what it gives to buses, what leaves to the environment, and what its
content grows by; the simulation checks this in every step.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from engiagent.errors import EngiagentError
from engiagent.models.ranges import ParameterError

Domain = Literal["electrical", "thermal", "information"]
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

    def __post_init__(self) -> None:
        if self.role == "balance" and self.way is None:
            raise WiringError(f"the port {self.name} balances a bus; say whether it gives or takes")
        if self.way is not None and self.unit != "kW":
            raise WiringError(f"the flow {self.name} is in {self.unit}; a flow is in kW")

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
