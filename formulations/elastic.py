r"""Programs in which chosen limits are relaxed at a price, and the slack that they take.

.. math:: \min \sum_g w_g s_g \quad\text{s.t.}\quad l - s \le a^T x \le u + s, \; s \ge 0

The elements of a limit share one slack or have one each. Where a switch turns
a limit on, its slack is there only with the switch, so that a device which is off stays off.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Generic, Protocol, TypeVar

import numpy as np

from engiagent.formulations.program import NO_PRODUCTS, OBJECTIVE, Program
from engiagent.formulations.values import Floats, Ints, Part

WIDEST: Final = 1e3
"""The most slack of a limit behind a switch, as a multiple of it and of 1."""


class Limit(Protocol):
    """Rows or bounds of columns that may be relaxed."""

    @property
    def places(self) -> Ints:
        """Rows or columns, (k,)."""

    @property
    def is_row(self) -> bool:
        """Whether they are rows."""

    @property
    def is_fixed(self) -> bool:
        """Whether it is an equation, or fixes columns: both sides move together."""

    @property
    def gated(self) -> bool:
        """Whether a switch turns it on."""

    @property
    def gates(self) -> Ints:
        """The column of the switch of each element, (k,)."""

    @property
    def active(self) -> int:
        """The value of the switch, 0 or 1, at which the limit is there."""

    @property
    def values(self) -> Floats:
        """The limits, (k,), in a unit of their own."""

    @property
    def scale(self) -> float:
        """How many units of a row one of :attr:`values` is."""


L = TypeVar("L", bound=Limit, covariant=True)


@dataclass(frozen=True, eq=False)
class Give(Generic[L]):
    """A limit that may be relaxed."""

    limit: L
    # whether its upper side moves upwards; else the lower one downwards. Sides are those of rows
    # and columns as the program has them.
    up: bool
    shared: bool  # whether all its elements have one slack
    weight: float = 1.0  # what a unit of slack counts, in the unit of a row

    @property
    def count(self) -> int:
        """How many amounts there are."""
        return 1 if self.shared else len(self.limit.places)


def demands_of(program: Program) -> Program:
    """Return a program without any objective."""
    parts = []
    for part in program.nonlinear:
        rows = part.row_numbers()
        kept = np.flatnonzero(rows != OBJECTIVE)
        if len(kept):
            weights = np.broadcast_to(part.coefficients, rows.shape)[kept]
            parts.append(Part(rows[kept], weights, part.atom.take(kept)))
    products = program.products.of_rows() if len(program.products.rows) else NO_PRODUCTS
    return replace(
        program,
        sense="minimize",
        cost=np.zeros(program.column_count),
        offset=0.0,
        products=products,
        nonlinear=tuple(parts),
        goals=(),
        method=None,
        expressions=(),
    )


def widened(program: Program, changes: Sequence[tuple[Give[Any], Floats]]) -> Program:
    """Return a program whose limits are moved by amounts in the unit of a row, each (k,) or (1,).

    The coefficient of a switch moves with the limit that it turns on.
    """
    row_lower, row_upper = program.row_lower.copy(), program.row_upper.copy()
    low, high = program.column_lower.copy(), program.column_upper.copy()
    values = program.row_values.copy()
    for give, amounts in changes:
        limit = give.limit
        step = np.broadcast_to(amounts, (len(limit.places),)) * (1.0 if give.up else -1.0)
        if limit.gated:
            values[_entries(program, limit)] += -step if limit.active else step
        if limit.is_row and not (limit.gated and limit.active):
            # An equation moves as a whole.
            if give.up or limit.is_fixed:
                row_upper[limit.places] += step
            if not give.up or limit.is_fixed:
                row_lower[limit.places] += step
        elif not limit.is_row:
            if give.up or limit.is_fixed:
                high[limit.places] += step
            if not give.up or limit.is_fixed:
                low[limit.places] += step
    return replace(
        program,
        row_lower=row_lower,
        row_upper=row_upper,
        column_lower=low,
        column_upper=high,
        row_values=values,
    )


def _entries(program: Program, limit: Limit) -> Ints:
    """Return where the coefficients of a limit's switches stand."""
    starts = program.row_starts
    found = [
        int(
            starts[row] + np.flatnonzero(program.row_columns[starts[row] : starts[row + 1]] == g)[0]
        )
        for row, g in zip(limit.places.tolist(), limit.gates.tolist(), strict=True)
    ]
    return np.array(found, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Elastic(Generic[L]):
    """A program with the slacks of limits."""

    # its objective is the weighted sum of the slacks; its last row limits that sum
    program: Program
    gives: tuple[Give[L], ...]
    starts: tuple[int, ...]  # at which column the slacks of each give start

    def amounts(self, x: Floats) -> list[Floats]:
        """Return the slacks of each at a point, in the unit of a row."""
        pairs = zip(self.gives, self.starts, strict=True)
        return [np.maximum(x[start : start + give.count], 0.0) for give, start in pairs]

    def within(self, most: float) -> Program:
        """Return the program without objective in which the weighted sum is at most ``most``."""
        upper = self.program.row_upper.copy()
        upper[-1] = most
        none = np.zeros(self.program.column_count)
        return replace(self.program, cost=none, row_upper=upper)


def elastic(program: Program, gives: Sequence[Give[L]]) -> Elastic[L]:
    """Return a program without its objective in which some limits are relaxed at a price."""
    base = demands_of(program)
    build = _Building(base)
    starts = []
    for give in gives:
        starts.append(build.columns)
        build.add(give)
    return Elastic(build.built(), tuple(gives), tuple(starts))


def with_rows(program: Program, later: Ints, earlier: Ints) -> Program:
    """Return a program with a row ``x[later] - x[earlier] <= 0`` for each pair of columns."""
    count = len(later)
    columns = np.stack([later, earlier], axis=1).reshape(-1)
    return replace(
        program,
        row_starts=np.append(
            program.row_starts, program.row_starts[-1] + 2 * np.arange(1, count + 1)
        ),
        row_columns=np.append(program.row_columns, columns),
        row_values=np.append(program.row_values, np.tile([1.0, -1.0], count)),
        row_lower=np.append(program.row_lower, np.full(count, -np.inf)),
        row_upper=np.append(program.row_upper, np.zeros(count)),
    )


class _Building:
    """An elastic program in the making."""

    def __init__(self, base: Program) -> None:
        self.base = base
        self.columns = base.column_count
        self.rows = base.row_count
        self.low, self.high = base.column_lower.copy(), base.column_upper.copy()
        self.row_low, self.row_high = [base.row_lower.copy()], [base.row_upper.copy()]
        self.cost: list[Floats] = []
        self.upper: list[Floats] = []
        self.entries: list[tuple[Ints, Ints, Floats]] = []
        # The two directions of one fixed bound share its rows.
        self.known: dict[bytes, Ints] = {}

    def add(self, give: Give[Any]) -> None:
        """Relax a limit."""
        limit, size = give.limit, len(give.limit.places)
        top = np.inf
        if limit.gated:
            top = WIDEST * max(1.0, float(np.max(np.abs(limit.values * limit.scale), initial=0.0)))
        own = self._new(give.count, give.weight, top)
        each = np.full(size, own[0]) if give.shared else own
        if limit.gated:
            each = self._gated(give, each, top)
        sign = -1.0 if give.up else 1.0
        rows = limit.places if limit.is_row else self._moved_to_rows(give)
        self.entries.append((rows, each, np.full(size, sign)))

    def _new(self, count: int, weight: float, top: float) -> Ints:
        columns = np.arange(self.columns, self.columns + count)
        self.columns += count
        self.cost.append(np.full(count, weight))
        self.upper.append(np.full(count, top))
        return columns

    def _new_rows(self, lower: Floats, upper: Floats) -> Ints:
        rows = np.arange(self.rows, self.rows + len(lower))
        self.rows += len(lower)
        self.row_low.append(lower)
        self.row_high.append(upper)
        return rows

    def _gated(self, give: Give[Any], own: Ints, top: float) -> Ints:
        """Return slacks of at most the given ones that are zero while the switch is off."""
        limit, size = give.limit, len(give.limit.places)
        slack = self._new(size, 0.0, top)
        none, low = np.zeros(size), np.full(size, -np.inf)
        rows = self._new_rows(low, none)
        self.entries += [(rows, slack, np.ones(size)), (rows, own, -np.ones(size))]
        on = limit.active == 1
        rows = self._new_rows(low, none if on else np.full(size, top))
        self.entries += [
            (rows, slack, np.ones(size)),
            (rows, limit.gates, np.full(size, -top if on else top)),
        ]
        return slack

    def _moved_to_rows(self, give: Give[Any]) -> Ints:
        """Return rows in place of the bounds of columns, which are lifted."""
        places, free = give.limit.places, np.full(len(give.limit.places), np.inf)
        upper = give.up or give.limit.is_fixed
        lower = not give.up or give.limit.is_fixed
        key = places.tobytes()
        if give.limit.is_fixed and key in self.known:
            return self.known[key]
        rows = self._new_rows(
            self.base.column_lower[places] if lower else -free,
            self.base.column_upper[places] if upper else free,
        )
        if upper:
            self.high[places] = np.inf
        if lower:
            self.low[places] = -np.inf
        self.entries.append((rows, places, np.ones(len(places))))
        self.known[key] = rows
        return rows

    def built(self) -> Program:
        """Return the program, with the row of the budget as its last one."""
        from scipy.sparse import csr_array

        base, extra = self.base, self.columns - self.base.column_count
        cost = np.concatenate([np.zeros(base.column_count), *self.cost])
        budget = self._new_rows(np.array([-np.inf]), np.array([np.inf]))
        paid: Ints = np.flatnonzero(cost)
        payer: Ints = np.full(len(paid), budget[0])
        self.entries.append((payer, paid, cost[paid]))
        counts = np.diff(base.row_starts)
        at = [np.repeat(np.arange(base.row_count), counts), *(e[0] for e in self.entries)]
        columns = [base.row_columns, *(e[1] for e in self.entries)]
        values = [base.row_values, *(e[2] for e in self.entries)]
        matrix = csr_array(
            (np.concatenate(values), (np.concatenate(at), np.concatenate(columns))),
            shape=(self.rows, self.columns),
        )
        matrix.sum_duplicates()
        return replace(
            base,
            cost=cost,
            column_lower=np.concatenate([self.low, np.zeros(extra)]),
            column_upper=np.concatenate([self.high, *self.upper]),
            integrality=np.concatenate([base.integrality, np.zeros(extra, dtype=np.bool_)]),
            row_starts=matrix.indptr,
            row_columns=matrix.indices,
            row_values=matrix.data,
            row_lower=np.concatenate(self.row_low),
            row_upper=np.concatenate(self.row_high),
            columns=(),
            rows=(),
        )
