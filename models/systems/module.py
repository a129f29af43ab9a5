"""The interface of everything that can stand in a system: initialize, reset, step.

A module holds no state; it is a description with pure functions. Its state is passed in and handed
back, so that a run can be repeated, branched and replayed.

=============  =====================================================================================
initialize     prepares for a length of step, or refuses it
reset          returns the state at the first instant
observe        returns the outputs that the state alone determines
step           returns the next state and all other outputs, from state and inputs
stored         returns the content of a state (energy in kWh, water in kg)
=============  =====================================================================================

Every module keeps books: what it takes from buses and what enters from the environment is what it
gives to buses, what leaves to the environment, and what its content grows by. The system checks
this in every step.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from engiagent.models.ranges import Floats, ParameterError
from engiagent.models.systems.ports import Port, State, Values, shaped

NOTHING: Mapping[str, float] = {}


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
    entered: Mapping[str, float] = field(default_factory=dict)
    left: Mapping[str, float] = field(default_factory=dict)
    violations: Values = field(default_factory=dict)


class Module(ABC):
    """A unit, controller or source of disturbances; a subclass says its ports and its step."""

    @property
    @abstractmethod
    def ports(self) -> tuple[Port, ...]:
        """All inputs and outputs."""

    @property
    def states(self) -> tuple[State, ...]:
        """All that is remembered; nothing by default."""
        return ()

    def initialize(self, step_hours: float) -> "Module":
        """Return the module prepared for steps of this length [h]; itself by default."""
        return self

    def reset(self, initial: Values, random: np.random.Generator) -> Values:
        """Return the state at the first instant.

        Parameters
        ----------
        initial
            Values that replace the initial ones of the states.
        random
            For modules with chance in them.
        """
        start: dict[str, Floats] = {}
        for state in self.states:
            value = initial.get(state.name, state.initial)
            if value is None:
                raise ParameterError(
                    f"the initial {state.name} is missing; give it in {state.unit}"
                )
            start[state.name] = shaped(value, state.shape, f"the initial {state.name}", state.unit)
        return start

    def observe(self, state: Values) -> Values:
        """Return the instant outputs; by default the states of the same names."""
        return {port.name: state[port.name] for port in self.ports if port.instant}

    @abstractmethod
    def step(self, state: Values, inputs: Values, step_hours: float) -> Outcome:
        """Return what a period ends with, from the state at its start and the inputs during it."""

    def stored(self, state: Values) -> Mapping[str, float]:
        """Return the content by quantity: energy [kWh], water [kg]; nothing by default."""
        return NOTHING


def above(value: npt.ArrayLike, limit: npt.ArrayLike = 0.0) -> Floats:
    """Return by how much a value is above a limit, 0 where it is not."""
    excess = np.asarray(value, dtype=np.float64) - np.asarray(limit, dtype=np.float64)
    return np.asarray(np.maximum(excess, 0.0))


def units_of(parameters: object) -> tuple[int, ...]:
    """Return the shape that the numbers and arrays of a frozen dataclass broadcast to.

    Tuples are curves and tables of one unit and do not count.
    """
    values = (v for v in vars(parameters).values() if isinstance(v, int | float | np.ndarray))
    return np.broadcast_shapes(*(np.shape(value) for value in values))
