"""What executing a unit gives: states and results, recomputed, and by how much limits are left."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engiagent.blueprint.sets import IndexSet
from engiagent.verify.values import Floats


@dataclass(frozen=True)
class Trajectory:
    """One state, recomputed.

    Attributes
    ----------
    names
        All quantities by which the state may go; ``quantity`` is the one that it has here.
    declared, exact
        By the declared scheme and by the exact solution, at the N+1 instants, in ``unit``.
    claimed
        What the schedule says, None when it says nothing.
    defect
        Per step: the schedule's next state less the one that follows from its state before.
    scale
        What the size of an error is measured by: the capacity, or the range of temperatures.
    lower, upper
        The limits of the unit itself.
    """

    names: tuple[str, ...]
    quantity: str
    unit: str
    declared: Floats
    exact: Floats
    claimed: Floats | None
    defect: Floats | None
    scale: float
    instants: IndexSet | None
    lower: Floats | float = -np.inf
    upper: Floats | float = np.inf


@dataclass(frozen=True)
class Result:
    """A series that follows from decisions of the same period.

    Attributes
    ----------
    names
        All quantities by which it may go.
    values
        Recomputed, by period, in ``unit``.
    claimed
        What the schedule says, None when it says nothing.
    why
        What it follows from, for messages: ``its electric power``.
    exact
        By the exact solution; None where that is the declared one.
    declared
        By the simpler scheme that the plan declares and that its claim may follow too; None where
        there is none. Limits, balances and requirements are judged on ``values`` in any case.
    """

    names: tuple[str, ...]
    unit: str
    values: Floats
    over: IndexSet
    claimed: Floats | None
    why: str
    exact: Floats | None = None
    declared: Floats | None = None


@dataclass(frozen=True)
class Excess:
    """How far a plan is beyond a limit that physics sets.

    Attributes
    ----------
    check, name
        Its identifier and what it is called in messages.
    amount
        Beyond the limit, in ``unit``; below 0 where the limit is kept.
    scale
        Of the quantity that is limited, in ``unit``: the measure of the tolerance.
    words
        How a message goes on, as ``above its limit``.
    tolerance
        In ``unit``; by unit and scale when None.
    """

    check: str
    name: str
    amount: Floats
    unit: str
    scale: float
    over: IndexSet | None
    words: str
    tolerance: float | None = None


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
