r"""A linear or mixed-integer program as plain arrays, with the names of its parts.

.. math::

    \min \text{ or } \max \; c^T x + c_0 \quad\text{subject to}\quad
    r^- \le A x \le r^+, \; x^- \le x \le x^+, \; x_j \in \mathbb{Z} \; (j \in J)

The matrix is stored by rows (CSR). Blocks say which columns belong to which variable and which
rows to which constraint; the elements of a block stand in the row-major order of its sets.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64] | npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]
Sense = Literal["minimize", "maximize"]


@dataclass(frozen=True, eq=False)
class Coordinate:
    """The labels along one index set.

    Attributes
    ----------
    name, kind
        The set's name and kind (``time``, ``instants``, ``periods``, ``range``, ``labels`` …).
    values
        Labels, shape (size,): ``datetime64[ns]`` (UTC when ``zone`` is given, local otherwise)
        for a set with dates, text such as ``18:00`` for one without, else text or integers.
    zone
        Name of the time zone, as ``Europe/Berlin``.
    """

    name: str
    kind: str
    values: npt.NDArray[np.generic]
    zone: str | None = None

    @property
    def size(self) -> int:
        """How many labels there are."""
        return len(self.values)


@dataclass(frozen=True, eq=False, kw_only=True)
class Block:
    """A named run ``start:stop`` of columns, rows or values over the grid of some sets.

    Attributes
    ----------
    sets, shape
        Names of the index sets, outermost first, and their sizes; both empty for a scalar.
    positions
        Where each element stands in the flattened full grid, shape (stop - start,), when a filter
        leaves holes; None when the grid is full.
    """

    name: str
    start: int
    stop: int
    unit: str
    sets: tuple[str, ...] = ()
    shape: tuple[int, ...] = ()
    positions: Ints | None = None
    description: str | None = None

    @property
    def size(self) -> int:
        """How many elements the block has."""
        return self.stop - self.start


@dataclass(frozen=True, eq=False, kw_only=True)
class ColumnBlock(Block):
    """The columns of one decision variable."""

    kind: Literal["continuous", "integer", "binary"] = "continuous"
    quantity: str | None = None
    role: str | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class RowBlock(Block):
    """The rows of one constraint, whose terms are measured in ``unit``."""

    constraint_id: str


@dataclass(frozen=True, eq=False, kw_only=True)
class ExpressionBlock(Block):
    """A named expression to report, ``values = M x + constant``.

    ``start`` is 0 and ``stop`` the number of values; the matrix M is stored by rows.
    """

    row_starts: Ints
    row_columns: Ints
    row_values: Floats
    constant: Floats
    quantity: str | None = None

    def evaluate(self, x: Floats) -> Floats:
        """Return the values at a point ``x`` of shape (n,); shape (size,)."""
        return self.constant + row_sums(self.row_starts, self.row_values * x[self.row_columns])


class _Named(Protocol):
    @property
    def name(self) -> str: ...


NamedT = TypeVar("NamedT", bound=_Named)


@dataclass(frozen=True, eq=False, kw_only=True)
class Program:
    """A linear or mixed-integer program with n columns and m rows.

    Attributes
    ----------
    cost, offset
        Coefficients, shape (n,), and constant of the objective, in ``objective_unit``.
    column_lower, column_upper, integrality
        Bounds (infinite where there is none) and whether a column takes whole numbers; (n,).
    row_starts, row_columns, row_values
        The matrix by rows: (m + 1,), (nnz,), (nnz,). No column stands twice in one row.
    row_lower, row_upper
        Bounds of the rows, (m,).
    columns, rows, expressions
        The blocks; columns and rows are covered without gap or overlap.
    coordinates
        Labels of every set that a block names.
    """

    sense: Sense
    cost: Floats
    column_lower: Floats
    column_upper: Floats
    integrality: Bools
    row_starts: Ints
    row_columns: Ints
    row_values: Floats
    row_lower: Floats
    row_upper: Floats
    offset: float = 0.0
    columns: tuple[ColumnBlock, ...] = ()
    rows: tuple[RowBlock, ...] = ()
    expressions: tuple[ExpressionBlock, ...] = ()
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

    def column_block(self, name: str) -> ColumnBlock:
        """Return the columns of a variable; KeyError when there is none of that name."""
        return _by_name(self.columns, name)

    def expression_block(self, name: str) -> ExpressionBlock:
        """Return a named expression; KeyError when there is none of that name."""
        return _by_name(self.expressions, name)

    def row_block(self, constraint_id: str) -> RowBlock:
        """Return the rows of a constraint by its id; KeyError when there is none."""
        for block in self.rows:
            if block.constraint_id == constraint_id:
                return block
        raise KeyError(constraint_id)

    def objective_at(self, x: Floats) -> float:
        """Return the objective at a point of shape (n,)."""
        return float(self.cost @ x) + self.offset

    def activity_at(self, x: Floats) -> Floats:
        """Return the row activities ``A x`` at a point of shape (n,); shape (m,)."""
        return row_sums(self.row_starts, self.row_values * x[self.row_columns])


def row_sums(row_starts: Ints, terms: Floats) -> Floats:
    """Return the sum of each row's terms; a row without terms gives 0."""
    counts = np.diff(row_starts)
    row_of = np.repeat(np.arange(len(counts)), counts)
    return np.bincount(row_of, weights=terms, minlength=len(counts)).astype(np.float64)


def _by_name(blocks: tuple[NamedT, ...], name: str) -> NamedT:
    for block in blocks:
        if block.name == name:
            return block
    raise KeyError(name)
