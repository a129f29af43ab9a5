"""What a module shows of itself: its states and its ports, each with unit, shape and domain.

A port is an input or an output. Inputs are actions (somebody decides), disturbances (nobody does)
or left to the balance of a bus; outputs are observations. Any of them may be a flow: it carries
energy [kW] or water [kg/s] and is joined to others over a bus only, so that nothing is counted
twice or lost. Everything may be read as a signal by many, which moves no energy.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from engiagent.errors import EngiagentError
from engiagent.models.ranges import Floats, ParameterError

Domain = Literal["electrical", "thermal", "water", "fuel", "information"]
Role = Literal["action", "disturbance", "observation", "balance"]
Way = Literal["gives", "takes"]
Values = Mapping[str, Floats]

DOMAINS: tuple[Domain, ...] = ("electrical", "thermal", "water", "fuel", "information")

# What a flow of this unit carries, the unit of that, and how much of it one hour brings.
QUANTITIES: dict[str, tuple[str, str, float]] = {
    "kW": ("energy", "kWh", 1.0),
    "kg/s": ("water", "kg", 3600.0),
}


class WiringError(EngiagentError):
    """Modules are connected in a way that means nothing; says which ports and what is right."""


@dataclass(frozen=True, kw_only=True)
class State:
    """A quantity that a module remembers.

    Attributes
    ----------
    name, unit
        As in ``energy``, ``kWh``.
    shape
        () for a number, (units,) for one number per unit.
    initial
        Value after a reset that gives none; None when a reset must give one.
    """

    name: str
    unit: str
    shape: tuple[int, ...] = ()
    initial: npt.ArrayLike | None = None


@dataclass(frozen=True, kw_only=True)
class Port:
    """An input or output of a module.

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
    *,
    domain: Domain = "information",
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
    return Port(
        name=name,
        unit=unit,
        domain=domain,
        role="disturbance",
        way=way,
        default=default,
        shape=shape,
    )


def observation(
    name: str, unit: str, domain: Domain, *, instant: bool = False, shape: tuple[int, ...] = ()
) -> Port:
    """Return an output that is no flow; ``instant`` when the state alone determines it."""
    return Port(
        name=name, unit=unit, domain=domain, role="observation", instant=instant, shape=shape
    )


def output(
    name: str, domain: Domain, *, way: Way, unit: str = "kW", shape: tuple[int, ...] = ()
) -> Port:
    """Return a flow that the module computes."""
    return Port(name=name, unit=unit, domain=domain, role="observation", way=way, shape=shape)


def balance(
    name: str, domain: Domain, *, way: Way, unit: str = "kW", shape: tuple[int, ...] = ()
) -> Port:
    """Return a flow that takes what the other members of its bus leave."""
    return Port(name=name, unit=unit, domain=domain, role="balance", way=way, shape=shape)


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
