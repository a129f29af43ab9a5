r"""A program as plain arrays, with the names of its parts.

.. math::

    \min \text{ or } \max \; c^T x + c_0 + q_0(x) + f_0(x) \quad\text{subject to}\quad
    r^- \le A x + q(x) + f(x) \le r^+, \; x^- \le x \le x^+, \; x_j \in \mathbb{Z} \; (j \in J)

The matrix is stored by rows (CSR), products of two columns (q) as a list, all that is nonlinear
otherwise (f) as atoms. Blocks say which columns belong to which variable and which rows to which
constraint; the elements of a block stand in the row-major order of its sets. Most programs are
linear: q and f are empty then.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Final, Literal
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt

from engiagent.formulations.values import Floats, Ints, Part

Bools = npt.NDArray[np.bool_]
Sense = Literal["minimize", "maximize"]


@dataclass(frozen=True, eq=False)
class Coordinate:
    """The labels along one index set."""

    # name, kind: the set's name and kind (``time``, ``instants``, ``periods``, ``range``,
    # ``labels`` …)
    name: str
    kind: str
    # labels, shape (size,): ``datetime64[ns]`` (UTC when ``zone`` is given, local otherwise) for a
    # set with dates, text such as ``18:00`` for one without, else text or integers
    values: npt.NDArray[np.generic]
    zone: str | None = None  # name of the time zone, as ``Europe/Berlin``

    @property
    def size(self) -> int:
        """How many labels there are."""
        return len(self.values)

    def label(self, place: int) -> str:
        """Return a label for people, a stamp by the clock of its zone."""
        value = self.values[place]
        if not isinstance(value, np.datetime64):
            return str(value)
        stamp: datetime = value.astype("datetime64[s]").item()
        if self.zone is not None:
            stamp = stamp.replace(tzinfo=UTC).astimezone(ZoneInfo(self.zone))
        return stamp.isoformat(timespec="seconds" if stamp.second else "minutes")


@dataclass(frozen=True, eq=False, kw_only=True)
class Block:
    """A named run ``start:stop`` of columns, rows or values over the grid of some sets."""

    name: str
    start: int
    stop: int
    unit: str
    # sets, shape: names of the index sets, outermost first, and their sizes; both empty for a
    # scalar
    sets: tuple[str, ...] = ()
    shape: tuple[int, ...] = ()
    # where each element stands in the flattened full grid, shape (stop - start,), when a filter
    # leaves holes; None when the grid is full
    positions: Ints | None = None
    description: str | None = None

    @property
    def size(self) -> int:
        """How many elements the block has."""
        return self.stop - self.start


@dataclass(frozen=True, eq=False, kw_only=True)
class ColumnBlock(Block):
    """The columns of one decision variable.

    ``generated`` columns were put in by the compiler, to say a function in linear rows; solutions
    do not report them.
    """

    kind: Literal["continuous", "integer", "binary", "semicontinuous"] = "continuous"
    quantity: str | None = None
    role: str | None = None
    generated: bool = False


@dataclass(frozen=True, eq=False, kw_only=True)
class RowBlock(Block):
    """The rows of one constraint, whose terms are measured in ``unit``.

    ``generated`` rows were put in by the compiler.
    """

    constraint_id: str
    generated: bool = False


@dataclass(frozen=True, eq=False, kw_only=True)
class ExpressionBlock(Block):
    """A named expression to report, ``values = M x + constant`` and nonlinear parts.

    ``start`` is 0 and ``stop`` the number of values; the matrix M is stored by rows.
    """

    row_starts: Ints
    row_columns: Ints
    row_values: Floats
    constant: Floats
    parts: tuple[Part, ...] = ()
    quantity: str | None = None

    def evaluate(self, x: Floats) -> Floats:
        """Return the values at a point ``x`` of shape (n,); shape (size,)."""
        linear: Floats = self.constant + row_sums(
            self.row_starts, self.row_values * x[self.row_columns]
        )
        result: Floats = linear + parts_at(self.parts, x, self.size)
        return result


@dataclass(frozen=True, eq=False)
class Products:
    """Products of two columns: ``values * x[first] * x[second]`` in the rows named."""

    rows: Ints  # row numbers, shape (k,), sorted; ``OBJECTIVE`` stands for the objective
    # first, second: columns, ``first >= second``; no pair stands twice in one row
    first: Ints
    second: Ints
    values: Floats

    def at(self, x: Floats) -> Floats:
        """Return each product with its coefficient at a point of shape (n,); shape (k,)."""
        return self.values * x[self.first] * x[self.second]

    def of_objective(self) -> "Products":
        """Return the products that stand in the objective."""
        return self._part(self.rows == OBJECTIVE)

    def of_rows(self) -> "Products":
        """Return the products that stand in rows."""
        return self._part(self.rows != OBJECTIVE)

    def _part(self, keep: Bools) -> "Products":
        return Products(self.rows[keep], self.first[keep], self.second[keep], self.values[keep])


OBJECTIVE: Final = -1
NO_PRODUCTS: Final = Products(
    np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
)


@dataclass(frozen=True, eq=False)
class Indicators:
    """Rows that hold only where a binary column has a value; elsewhere they may be broken."""

    # rows, columns: row numbers, each at most once, and the binary column of each; shape (k,)
    rows: Ints
    columns: Ints
    active: Ints  # the value of the column, 0 or 1, at which the row holds, shape (k,)


NO_INDICATORS: Final = Indicators(
    np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64)
)


@dataclass(frozen=True, eq=False)
class Goal:
    """One of several linear objectives, in the order in which they count."""

    name: str
    sense: Sense
    # cost, offset, sense, unit: as those of a program
    cost: Floats
    offset: float
    unit: str
    tolerance: float = 0.0  # how far a later goal may worsen this one, in ``unit``
    # for the epsilon method: the value that the goal must reach at least as well, in ``unit``
    limit: float | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Program:
    """A program with n columns and m rows."""

    sense: Sense
    # cost, offset: coefficients, shape (n,), and constant of the objective, in ``objective_unit``
    cost: Floats
    # column_lower, column_upper, integrality: bounds (infinite where there is none) and whether a
    # column takes whole numbers; (n,)
    column_lower: Floats
    column_upper: Floats
    integrality: Bools
    # row_starts, row_columns, row_values: the matrix by rows: (m + 1,), (nnz,), (nnz,). No column
    # stands twice in one row.
    row_starts: Ints
    row_columns: Ints
    row_values: Floats
    # row_lower, row_upper: bounds of the rows, (m,)
    row_lower: Floats
    row_upper: Floats
    offset: float = 0.0
    products: Products = NO_PRODUCTS  # products of two columns in rows and in the objective
    # other nonlinear parts, whose ``rows`` are row numbers or ``OBJECTIVE``
    nonlinear: tuple[Part, ...] = ()
    indicators: Indicators = NO_INDICATORS  # rows that hold conditionally
    sos1: tuple[Ints, ...] = ()  # groups of columns of which at most one may differ from zero
    # goals, method: several objectives and how they are combined: ``lexicographic`` (in order),
    # ``epsilon`` (the first, the others limited) or ``frontier``. ``cost`` is that of the first.
    # Empty for a single objective.
    goals: tuple[Goal, ...] = ()
    method: Literal["lexicographic", "epsilon", "frontier"] | None = None
    # columns, rows, expressions: the blocks; columns and rows are covered without gap or overlap
    columns: tuple[ColumnBlock, ...] = ()
    rows: tuple[RowBlock, ...] = ()
    expressions: tuple[ExpressionBlock, ...] = ()
    # labels of every set that a block names
    coordinates: Mapping[str, Coordinate] = field(default_factory=dict)
    objective_name: str = "objective"
    objective_unit: str = "1"
    blueprint_sha256: str | None = None

    @property
    def column_count(self) -> int:
        """Number of columns, n."""
        return len(self.cost)

    @property
    def row_count(self) -> int:
        """Number of rows, m."""
        return len(self.row_lower)

    @property
    def nonzero_count(self) -> int:
        """Number of stored matrix entries."""
        return len(self.row_values)

    @cached_property
    def is_mip(self) -> bool:
        """Whether any column takes whole numbers only."""
        return bool(self.integrality.any())

    @property
    def is_linear(self) -> bool:
        """Whether rows and objective are linear and every row holds unconditionally."""
        return not (
            len(self.products.rows) or self.nonlinear or len(self.indicators.rows) or self.sos1
        )

    def column_block(self, name: str) -> ColumnBlock:
        """Return the columns of a variable; KeyError when there is none of that name."""
        return self._columns_by_name[name]

    def column_block_at(self, column: int) -> ColumnBlock:
        """Return the columns of the variable that a column is of."""
        return self.columns[int(np.searchsorted(self.column_stops, column, side="right"))]

    @cached_property
    def column_stops(self) -> Ints:
        """Where the columns of each variable end, ascending."""
        return np.array([block.stop for block in self.columns], dtype=np.int64)

    @cached_property
    def _columns_by_name(self) -> dict[str, ColumnBlock]:
        return {block.name: block for block in reversed(self.columns)}

    @cached_property
    def _rows_by_id(self) -> dict[str, RowBlock]:
        return {block.constraint_id: block for block in reversed(self.rows)}

    def expression_block(self, name: str) -> ExpressionBlock:
        """Return a named expression; KeyError when there is none of that name."""
        for block in self.expressions:
            if block.name == name:
                return block
        raise KeyError(name)

    def row_block(self, constraint_id: str) -> RowBlock:
        """Return the rows of a constraint by its id; KeyError when there is none."""
        return self._rows_by_id[constraint_id]

    def objective_at(self, x: Floats) -> float:
        """Return the objective at a point of shape (n,)."""
        # No dot product: BLAS waits for threads that others have taken.
        value = float((self.cost * x).sum()) + self.offset
        if len(self.products.rows):
            value += float(self.products.of_objective().at(x).sum())
        for part in self.nonlinear:
            chosen = part.row_numbers() == OBJECTIVE
            if chosen.any():
                value += float((part.coefficients * part.atom.at(x))[chosen].sum())
        return value

    def activity_at(self, x: Floats) -> Floats:
        """Return the values of the rows at a point of shape (n,); shape (m,)."""
        activity = row_sums(self.row_starts, self.row_values * x[self.row_columns])
        if len(self.products.rows):
            inside = self.products.of_rows()
            activity += np.bincount(inside.rows, inside.at(x), self.row_count)
        total: Floats = activity + parts_at(self.nonlinear, x, self.row_count)
        return total


def parts_at(parts: tuple[Part, ...], x: Floats, size: int) -> Any:
    """Return the sum of nonlinear parts in each of ``size`` rows; 0.0 when there are none.

    What belongs to the objective is left out.
    """
    total: Any = 0.0
    for part in parts:
        rows = part.row_numbers()
        values = np.broadcast_to(part.coefficients * part.atom.at(x), rows.shape)
        inside = rows != OBJECTIVE
        total = total + np.bincount(rows[inside], values[inside], size)
    return total


def row_sums(row_starts: Ints, terms: Floats) -> Floats:
    """Return the sum of each row's terms; a row without terms gives 0."""
    counts = np.diff(row_starts)
    row_of = np.repeat(np.arange(len(counts)), counts)
    return np.bincount(row_of, weights=terms, minlength=len(counts)).astype(np.float64)
