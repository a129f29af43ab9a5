"""What executing a unit gives: states and results, recomputed, and by how much limits are left."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engiagent.blueprint.sets import IndexSet
from engiagent.verify.values import Floats


@dataclass(frozen=True)
class Trajectory:
    """One state, recomputed."""

    # all quantities by which the state may go; ``quantity`` is the one that it has here
    names: tuple[str, ...]
    quantity: str
    unit: str
    # declared, exact: by the declared scheme and by the exact solution, at the N+1 instants, in
    # ``unit``
    declared: Floats
    exact: Floats
    claimed: Floats | None  # what the schedule says, None when it says nothing
    # per step: the schedule's next state less the one that follows from its state before
    defect: Floats | None
    # what the size of an error is measured by: the capacity, or the range of temperatures
    scale: float
    instants: IndexSet | None
    # lower, upper: the limits of the unit itself
    lower: Floats | float = -np.inf
    upper: Floats | float = np.inf


@dataclass(frozen=True)
class Result:
    """A series that follows from decisions of the same period."""

    names: tuple[str, ...]  # all quantities by which it may go
    unit: str
    values: Floats  # recomputed, by period, in ``unit``
    over: IndexSet
    claimed: Floats | None  # what the schedule says, None when it says nothing
    why: str  # what it follows from, for messages: ``its electric power``
    exact: Floats | None = None  # by the exact solution; None where that is the declared one
    # by the simpler scheme that the plan declares and that its claim may follow too; None where
    # there is none. Limits, balances and requirements are judged on ``values`` in any case.
    declared: Floats | None = None


@dataclass(frozen=True)
class Excess:
    """How far a plan is beyond a limit that physics sets."""

    # check, name: its identifier and what it is called in messages
    check: str
    name: str
    amount: Floats  # beyond the limit, in ``unit``; below 0 where the limit is kept
    unit: str
    scale: float  # of the quantity that is limited, in ``unit``: the measure of the tolerance
    over: IndexSet | None
    words: str  # how a message goes on, as ``above its limit``
    tolerance: float | None = None  # in ``unit``; by unit and scale when None


@dataclass(frozen=True)
class Run:
    """What executing one unit, or a group of units that act on one another, gives."""

    trajectories: tuple[Trajectory, ...] = ()
    results: tuple[Result, ...] = ()
    excesses: tuple[Excess, ...] = ()

    @property
    def found(self) -> tuple[Trajectory | Result, ...]:
        """All states and results."""
        return (*self.trajectories, *self.results)


def joined_runs(runs: Sequence[Run]) -> Run:
    """Return what several units give as one."""
    return Run(
        tuple(found for run in runs for found in run.trajectories),
        tuple(found for run in runs for found in run.results),
        tuple(found for run in runs for found in run.excesses),
    )
