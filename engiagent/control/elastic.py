r"""The least relaxation of limits under which a plan exists.

.. math:: \min \sum_k w_k s_k \quad\text{s.t.}\quad l - s^- \le a^T x \le u + s^+, \; s \ge 0

Limits give way in classes: first the slack of the class to be given up last is made as small as
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
from engiagent.formulations.program import OBJECTIVE, Block, Program
from engiagent.formulations.values import Part
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
    """A limit that a plan does not keep.

    Attributes
    ----------
    limit
        Name of the constraint, or of the variable whose bound it is.
    place
        The element, as ``temperature[office, 2025-01-01T03:00]``.
    amount, unit
        By how much the plan is beyond it.
    """

    limit: str
    place: str
    amount: float
    unit: str


@dataclass(frozen=True, eq=False)
class Limit:
    """A block of rows or columns whose bounds may give way."""

    block: Block
    is_row: bool

    @property
    def name(self) -> str:
        """The constraint's id or the variable's name."""
        return str(getattr(self.block, "constraint_id", self.block.name))


def find_limits(
    program: Program, classes: Sequence[Sequence[str]] | None, states: frozenset[str]
) -> list[list[Limit]]:
    """Return the limits that may give way, the first class first.

    Parameters
    ----------
    classes
        Ids of constraints and names of variables (for their bounds). None stands for one class of
        the bounds of all states and the inequalities that hold states only.
    states
        Names of the state variables.

    Raises
    ------
    InputError
        When a name is neither.
    """
    if classes is None:
        return [list(_state_limits(program, states))]
    found = []
    for names in classes:
        group = []
        for name in [names] if isinstance(names, str) else names:
            matches = [Limit(b, True) for b in program.rows if _belongs(b.constraint_id, name)]
            matches += [Limit(b, False) for b in program.columns if b.name == name]
            if not matches:
                raise InputError(f"no constraint and no variable {name!r} that could give way")
            group += matches
        found.append(group)
    return found


def _belongs(constraint_id: str, name: str) -> bool:
    return constraint_id == name or constraint_id.startswith(f"{name}__")


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

    Parameters
    ----------
    program
        A program that has no plan; nothing is changed in it.
    classes
        As :func:`find_limits` returns them.
    outside
        Columns of states that are measured outside their bounds.

    Returns
    -------
    A copy with wider limits; None when even without all these limits there is no plan.
    """
    for monotone in (True, False) if len(outside) else (False,):
        elastic = _Elastic(program, classes, outside if monotone else outside[:0])
        slack = elastic.least(options)
        if slack is not None:
            return elastic.widened(slack)
    return None


class _Elastic:
    """The program of the slacks."""

    def __init__(self, program: Program, classes: Sequence[Sequence[Limit]], outside: Ints) -> None:
        self.program = program
        sides = [(limit, upper) for group in classes for limit in group for upper in (False, True)]
        self.group: list[Ints] = []
        self.start: list[int] = []
        self.sides = sides
        count = 0
        numbers = {id(limit): k for k, group in enumerate(classes) for limit in group}
        for limit, _ in sides:
            self.start.append(count)
            self.group.append(np.full(limit.block.size, numbers[id(limit)]))
            count += limit.block.size
        self.count = count
        self.classes = len(classes)
        self.base = self._base(outside)

    def _base(self, outside: Ints) -> Program:
        """Return the program with a slack on each side of each limit, and no objective."""
        program, n = self.program, self.program.column_count
        rows = [_Rows.of(program)]
        lower, upper = program.column_lower.copy(), program.column_upper.copy()
        slack_upper = np.zeros(self.count)
        for (limit, is_upper), start in zip(self.sides, self.start, strict=True):
            block = limit.block
            here = np.arange(block.start, block.stop)
            slack = n + start + np.arange(block.size)
            sign = -1.0 if is_upper else 1.0
            if limit.is_row:
                side = (program.row_upper if is_upper else program.row_lower)[here]
                rows[0].add(here, slack, np.where(np.isfinite(side), sign, 0.0))
            else:
                side = (upper if is_upper else lower)[here]
                low = np.where(np.isfinite(side) & (not is_upper), side, -np.inf)
                high = np.where(np.isfinite(side) & is_upper, side, np.inf)
                rows.append(_Rows.pairs(here, slack, sign, low, high))
            slack_upper[start : start + block.size] = np.where(np.isfinite(side), np.inf, 0.0)
        for (limit, is_upper), _ in zip(self.sides, self.start, strict=True):
            if not limit.is_row:
                target = upper if is_upper else lower
                target[limit.block.start : limit.block.stop] = np.inf if is_upper else -np.inf
        rows += self._monotone(outside)
        return _stacked(program, rows, lower, upper, slack_upper)

    def _monotone(self, outside: Ints) -> list["_Rows"]:
        """Return rows that keep the slacks of chosen columns' bounds from growing over time."""
        found = []
        for (limit, _), start in zip(self.sides, self.start, strict=True):
            block = limit.block
            chosen = outside[(outside >= block.start) & (outside < block.stop)]
            if limit.is_row or not len(chosen) or block.positions is not None:
                continue
            axis = _instants(self.program, block)
            if axis is None:
                continue
            numbers = np.arange(block.size).reshape(block.shape)
            before = np.take(numbers, range(block.shape[axis] - 1), axis)
            after = np.take(numbers, range(1, block.shape[axis]), axis)
            first = np.take(numbers, [0], axis)
            concerned = np.broadcast_to(np.isin(first, chosen - block.start), before.shape)
            offset = self.program.column_count + start
            later, earlier = after[concerned] + offset, before[concerned] + offset
            free = np.full(len(later), -np.inf)
            found.append(_Rows.pairs(later, earlier, -1.0, free, np.zeros(len(later))))
        return found

    def least(self, options: SolveOptions) -> Floats | None:
        """Return the least slacks, shape (count,); None when there is no plan at all."""
        groups = np.concatenate(self.group) if self.group else np.zeros(0, dtype=np.int64)
        n = self.program.column_count
        weights = (
            np.concatenate(
                [1.0 + LATER * np.linspace(0.0, 1.0, limit.block.size) for limit, _ in self.sides]
            )
            if self.sides
            else np.zeros(0)
        )
        program, slack = self.base, np.zeros(self.count)
        for number in reversed(range(max(self.classes, 1))):
            cost = np.zeros(program.column_count)
            cost[n:] = np.where(groups == number, weights, 0.0)
            result = solve(replace(program, cost=cost), options, isolate=False)
            if result.x is None:
                return None
            slack = np.maximum(result.x[n:], 0.0)
            settled = groups == number
            upper = program.column_upper.copy()
            upper[n:][settled] = slack[settled] * (1 + ROOM) + ROOM
            program = replace(program, column_upper=np.minimum(upper, program.column_upper))
        return slack

    def widened(self, slack: Floats) -> Program:
        """Return the program itself with its limits moved by the slacks."""
        program = self.program
        arrays = {
            name: getattr(program, name).copy()
            for name in ("row_lower", "row_upper", "column_lower", "column_upper")
        }
        for (limit, is_upper), start in zip(self.sides, self.start, strict=True):
            block = limit.block
            used = slack[start : start + block.size]
            room = np.where(used > REPORTED, used * (1 + ROOM) + ROOM, 0.0)
            name = f"{'row' if limit.is_row else 'column'}_{'upper' if is_upper else 'lower'}"
            arrays[name][block.start : block.stop] += room if is_upper else -room
        return replace(program, **arrays)


@dataclass(eq=False)
class _Rows:
    """Rows in the making, as triplets."""

    rows: list[Ints]
    columns: list[Ints]
    values: list[Floats]
    lower: Floats
    upper: Floats

    @classmethod
    def of(cls, program: Program) -> "_Rows":
        row_of = np.repeat(np.arange(program.row_count), np.diff(program.row_starts))
        columns = np.asarray(program.row_columns, dtype=np.int64)
        return cls([row_of], [columns], [program.row_values], program.row_lower, program.row_upper)

    @classmethod
    def pairs(cls, left: Ints, right: Ints, sign: float, lower: Floats, upper: Floats) -> "_Rows":
        """Return rows ``lower <= left + sign * right <= upper``."""
        here, ones = np.arange(len(left)), np.ones(len(left))
        return cls([here, here], [left, right], [ones, sign * ones], lower, upper)

    def add(self, rows: Ints, columns: Ints, values: Floats) -> None:
        keep = values != 0
        self.rows.append(rows[keep])
        self.columns.append(columns[keep])
        self.values.append(values[keep])


def _stacked(
    program: Program, rows: list[_Rows], lower: Floats, upper: Floats, slack_upper: Floats
) -> Program:
    from scipy.sparse import csr_array

    starts = np.concatenate([[0], np.cumsum([len(part.lower) for part in rows])])
    n = program.column_count + len(slack_upper)
    at = np.concatenate([r + s for p, s in zip(rows, starts, strict=False) for r in p.rows])
    columns = np.concatenate([c for part in rows for c in part.columns])
    values = np.concatenate([v for part in rows for v in part.values])
    matrix = csr_array((values, (at, columns)), shape=(int(starts[-1]), n))
    matrix.sum_duplicates()
    none = np.zeros(len(slack_upper))
    return replace(
        program,
        sense="minimize",
        cost=np.zeros(n),
        offset=0.0,
        products=program.products.of_rows(),
        nonlinear=tuple(_of_rows(program)),
        column_lower=np.concatenate([lower, none]),
        column_upper=np.concatenate([upper, slack_upper]),
        integrality=np.concatenate([program.integrality, none.astype(bool)]),
        row_starts=matrix.indptr,
        row_columns=matrix.indices,
        row_values=matrix.data,
        row_lower=np.concatenate([part.lower for part in rows]),
        row_upper=np.concatenate([part.upper for part in rows]),
        columns=(),
        rows=(),
        expressions=(),
        goals=(),
        method=None,
    )


def _of_rows(program: Program) -> Iterator[Part]:
    """Yield the nonlinear parts of rows, without those of the objective."""
    for part in program.nonlinear:
        rows = part.row_numbers()
        kept = np.flatnonzero(rows != OBJECTIVE)
        if len(kept) == len(rows):
            yield part
        elif len(kept):
            coefficients = np.broadcast_to(part.coefficients, rows.shape)[kept]
            yield Part(rows[kept], coefficients, part.atom.take(kept))


def _instants(program: Program, block: Block) -> int | None:
    for axis, name in enumerate(block.sets):
        if program.coordinates[name].kind == "instants":
            return axis
    return None


def relaxations(
    program: Program, classes: Sequence[Sequence[Limit]], result: SolverResult
) -> tuple[Relaxation, ...]:
    """Return by how much a plan is beyond each of the limits, as they were.

    Parameters
    ----------
    program
        With its limits as they are, not as they were moved.
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
            found.append(Relaxation(limit.name, place, float(amount[k]), block.unit))
    return tuple(found)
