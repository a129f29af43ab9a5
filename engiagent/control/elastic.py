r"""The least relaxation of limits under which a plan exists.

.. math:: \min \sum_k w_k s_k \quad\text{s.t.}\quad l - s^- \le a^T x \le u + s^+, \; s \ge 0

Limits are relaxed in classes: first the slack of the class to be given up last is made as small as
can be, then, with that settled, the next, and so on. Within a class slacks count alike, each in
the unit of its limit, later ones a trifle more, so that a plan recovers as early as it can. Where a
measured state lies outside its own bounds, the slack of these bounds may not grow again over the
horizon (monotone recovery) if a plan with that exists.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from engiagent.control.horizon import Floats, Ints
from engiagent.errors import InputError
from engiagent.formulations.elastic import Elastic, Give, elastic, widened, with_rows
from engiagent.formulations.program import Block, Program
from engiagent.solvers.result import SolveOptions, SolverResult
from engiagent.solvers.solving import solve
from engiagent.solvers.validate import place_of

LATER: Final = 1e-3
"""How much more a slack counts at the end of its block than at the start."""
ROOM: Final = 1e-9
"""What is added to a settled slack, absolute and relative, so that a plan with it exists."""
REPORTED: Final = 1e-9
"""Violations up to this, absolute and relative to the limit, are rounding."""


@dataclass(frozen=True)
class Relaxation:
    """A limit that a plan does not keep."""

    limit: str  # name of the constraint, or of the variable whose bound it is
    # the element, as ``temperature[office, 2025-01-01T03:00]``, by the clock of the first step
    place: str
    # amount, unit: by how much the plan is beyond it
    amount: float
    unit: str
    ahead: int | None = None  # how many periods after the step; None of a limit at no time


@dataclass(frozen=True, eq=False)
class Limit:
    """A block of rows or columns whose bounds may be relaxed, each side by itself."""

    block: Block
    is_row: bool
    is_fixed = gated = False
    gates, values = np.zeros(0, dtype=np.int64), np.zeros(0)
    active, scale = 0, 1.0

    @property
    def places(self) -> Ints:
        """The rows or columns."""
        return np.arange(self.block.start, self.block.stop)

    @property
    def name(self) -> str:
        """The constraint's id or the variable's name."""
        return str(getattr(self.block, "constraint_id", self.block.name))


def find_limits(
    program: Program, classes: Sequence[Sequence[str]] | None, states: frozenset[str]
) -> list[list[Limit]]:
    """Return the limits that may give way, the first class first.

    ``classes``: ids of constraints and names of variables (for their bounds). None stands for one
    class of the bounds of all states and the inequalities that hold states only. ``states``: names
    of the state variables. Raises InputError when a name is neither.
    """
    if classes is None:
        return [list(_state_limits(program, states))]
    found = []
    for names in classes:
        group = []
        for name in [names] if isinstance(names, str) else names:
            matches = [
                Limit(b, True)
                for b in program.rows
                if f"{b.constraint_id}__".startswith(f"{name}__")
            ]
            matches += [Limit(b, False) for b in program.columns if b.name == name]
            if not matches:
                raise InputError(f"no constraint and no variable {name!r} that could be relaxed")
            group += matches
        found.append(group)
    return found


def _state_limits(program: Program, states: frozenset[str]) -> Iterator[Limit]:
    is_state = np.zeros(program.column_count, dtype=bool)
    for block in program.columns:
        if block.name in states or block.role == "state":
            is_state[block.start : block.stop] = True
            yield Limit(block, False)
    for row in program.rows:
        part = slice(program.row_starts[row.start], program.row_starts[row.stop])
        columns = program.row_columns[part]
        inequality = np.all(
            program.row_lower[row.start : row.stop] < program.row_upper[row.start : row.stop]
        )
        if len(columns) and inequality and is_state[columns].all():
            yield Limit(row, True)


def relaxed(
    program: Program, classes: Sequence[Sequence[Limit]], outside: Ints, options: SolveOptions
) -> Program | None:
    """Return the program with its limits moved as little as makes a plan exist.

    ``program``: a program that has no plan; nothing is changed in it. ``classes``: as
    :func:`find_limits` returns them. ``outside``: columns of states that are measured outside their
    bounds.

    Returns a copy with wider limits; None when even without all these limits there is no plan.
    """
    gives = [
        (Give(limit, is_upper, shared=False), number)
        for number, group in enumerate(classes)
        for limit in group
        for is_upper in (False, True)
    ]
    wide = elastic(program, [give for give, _ in gives])
    for monotone in (True, False) if len(outside) else (False,):
        slack = _least(program, wide, gives, outside if monotone else outside[:0], options)
        if slack is not None:
            rooms = [np.where(used > REPORTED, used * (1 + ROOM) + ROOM, 0.0) for used in slack]
            return widened(program, list(zip(wide.gives, rooms, strict=True)))
    return None


def _least(
    program: Program,
    wide: Elastic[Limit],
    gives: Sequence[tuple[Give[Limit], int]],
    outside: Ints,
    options: SolveOptions,
) -> list[Floats] | None:
    """Return the least slacks of each limit, class by class; None when there is no plan at all."""
    upper, cost = wide.program.column_upper.copy(), np.zeros(wide.program.column_count)
    group = np.full(wide.program.column_count, -1)
    for (give, number), start in zip(gives, wide.starts, strict=True):
        part = slice(start, start + give.count)
        group[part] = number
        cost[part] = 1.0 + LATER * np.linspace(0.0, 1.0, give.count)
        upper[part] = np.where(np.isfinite(_side(program, give)), np.inf, 0.0)
    least = _recovering(program, wide, outside)
    slack: list[Floats] | None = wide.amounts(np.zeros(len(cost)))
    for number in reversed(range(max(1 + max(group, default=0), 1))):
        settled = group == number
        least = replace(least, cost=np.where(settled, cost, 0.0), column_upper=upper)
        x = solve(least, options, isolate=False).x
        if x is None:
            return None
        slack = wide.amounts(x)
        upper = upper.copy()
        most = np.maximum(x[settled], 0.0) * (1 + ROOM) + ROOM
        upper[settled] = np.minimum(most, upper[settled])
    return slack


def _side(program: Program, give: Give[Limit]) -> Floats:
    ends = "row" if give.limit.is_row else "column"
    values: Floats = getattr(program, f"{ends}_{'upper' if give.up else 'lower'}")
    return values[give.limit.places]


def _recovering(program: Program, wide: Elastic[Limit], outside: Ints) -> Program:
    """Return the program whose slacks of chosen columns' bounds do not grow over time."""
    pairs = [np.zeros((2, 0), dtype=np.int64)]
    for give, start in zip(wide.gives, wide.starts, strict=True):
        block = give.limit.block
        chosen = outside[(outside >= block.start) & (outside < block.stop)]
        kinds = [program.coordinates[name].kind for name in block.sets]
        axis = kinds.index("instants") if "instants" in kinds else None
        if give.limit.is_row or not len(chosen) or block.positions is not None or axis is None:
            continue
        numbers = np.arange(block.size).reshape(block.shape)
        before = np.take(numbers, range(block.shape[axis] - 1), axis)
        after = np.take(numbers, range(1, block.shape[axis]), axis)
        first = np.take(numbers, [0], axis)
        concerned = np.broadcast_to(np.isin(first, chosen - block.start), before.shape)
        pairs.append(start + np.stack([after[concerned], before[concerned]]))
    later, earlier = np.concatenate(pairs, axis=1)
    return with_rows(wide.program, later, earlier)


def _ahead(program: Program, block: Block, element: int) -> int | None:
    """Return at which period or instant an element of a block stands."""
    flat = element if block.positions is None else int(block.positions[element])
    for name, position in zip(block.sets, np.unravel_index(flat, block.shape), strict=True):
        if program.coordinates[name].kind in ("time", "instants"):
            return int(position)
    return None


def relaxations(
    program: Program, classes: Sequence[Sequence[Limit]], result: SolverResult
) -> tuple[Relaxation, ...]:
    """Return by how much a plan is beyond each of the limits, as they were.

    ``program``: with its limits as they are, not as they were moved.
    """
    if result.x is None:
        return ()
    activity = program.activity_at(result.x)
    found = []
    for limit in (limit for group in classes for limit in group):
        block = limit.block
        part = slice(block.start, block.stop)
        values = activity[part] if limit.is_row else result.x[part]
        low = (program.row_lower if limit.is_row else program.column_lower)[part]
        high = (program.row_upper if limit.is_row else program.column_upper)[part]
        amount = np.maximum(low - values, values - high)
        side = np.where(low - values > values - high, low, high)
        scale = np.maximum(1.0, np.abs(np.where(np.isfinite(side), side, 0.0)))
        for k in np.flatnonzero(amount > REPORTED * scale).tolist():
            blocks = program.rows if limit.is_row else program.columns
            place = place_of(program, blocks, block.start + k)
            ahead = _ahead(program, block, k)
            found.append(Relaxation(limit.name, place, float(amount[k]), block.unit, ahead))
    return tuple(found)
