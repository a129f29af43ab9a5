"""The stored coefficients of a program as triplets, and counts over them."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from engiagent.formulations.program import Program

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Entries:
    """Coefficients other than zero, in the order of their rows.

    Attributes
    ----------
    rows, columns, values
        One element a coefficient, shape (k,).
    row_count, column_count
        The size of the matrix.
    """

    rows: Ints
    columns: Ints
    values: Floats
    row_count: int
    column_count: int

    def where(self, keep: Bools | Ints) -> "Entries":
        """Return the entries chosen by a mask of shape (k,) or by their places."""
        keep = np.flatnonzero(keep) if keep.dtype == np.bool_ else keep
        return Entries(
            self.rows[keep],
            self.columns[keep],
            self.values[keep],
            self.row_count,
            self.column_count,
        )

    def row_sizes(self) -> Ints:
        """Return the number of entries in each row, shape (m,)."""
        return np.bincount(self.rows, minlength=self.row_count)

    def column_sizes(self) -> Ints:
        """Return the number of entries in each column, shape (n,)."""
        return np.bincount(self.columns, minlength=self.column_count)

    @cached_property
    def matrix(self) -> Any:
        """The coefficients as a sparse array of scipy by rows, shape (m, n)."""
        from scipy.sparse import csr_array

        starts = np.zeros(self.row_count + 1, dtype=np.int64)
        np.cumsum(self.row_sizes(), out=starts[1:])
        return csr_array((self.values, self.columns, starts), (self.row_count, self.column_count))

    def times(self, x: Floats) -> Floats:
        """Return ``A x`` for x of shape (n,); shape (m,)."""
        return np.asarray(self.matrix @ x)

    def sizes_times(self, x: Floats) -> Floats:
        """Return ``|A| |x|`` for x of shape (n,); shape (m,)."""
        return np.asarray(abs(self.matrix) @ np.abs(x))

    def transposed_times(self, y: Floats) -> Floats:
        """Return ``Aᵀ y`` for y of shape (m,); shape (n,)."""
        return np.asarray(self.matrix.T @ y)


def entries_of(program: Program) -> Entries:
    """Return the stored coefficients of a program, zeros left out."""
    rows = np.repeat(np.arange(program.row_count), np.diff(program.row_starts))
    columns = program.row_columns.astype(np.int64, copy=False)
    entries = Entries(rows, columns, program.row_values, program.row_count, program.column_count)
    keep = program.row_values != 0
    return entries if keep.all() else entries.where(keep)
