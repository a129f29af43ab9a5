"""The stored coefficients of a program, and counts over them."""

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
    """Coefficients other than zero, in the order of their rows."""

    # where each row starts, and the end of the last, shape (m + 1,)
    starts: npt.NDArray[np.integer[Any]]
    # the column of each coefficient in the type in which the program has it, shape (k,)
    stored: npt.NDArray[np.integer[Any]]
    values: Floats  # the coefficients, shape (k,)
    column_count: int  # the number of columns, n

    @property
    def row_count(self) -> int:
        """The number of rows, m."""
        return len(self.starts) - 1

    @cached_property
    def rows(self) -> Ints:
        """The row of each coefficient, shape (k,)."""
        return np.repeat(np.arange(self.row_count), np.diff(self.starts))

    @cached_property
    def columns(self) -> Ints:
        """The column of each coefficient, as numpy indexes fastest, shape (k,)."""
        return self.stored.astype(np.int64, copy=False)

    def where(self, keep: Bools | Ints) -> "Entries":
        """Return the entries chosen by a mask of shape (k,) or by their places."""
        keep = np.flatnonzero(keep) if keep.dtype == np.bool_ else keep
        starts = np.zeros(self.row_count + 1, dtype=np.int64)
        if len(keep):
            np.cumsum(np.bincount(self.rows[keep], minlength=self.row_count), out=starts[1:])
        return Entries(starts, self.stored[keep], self.values[keep], self.column_count)

    def row_sizes(self) -> Ints:
        """Return the number of entries in each row, shape (m,)."""
        return np.diff(self.starts).astype(np.int64, copy=False)

    def column_sizes(self) -> Ints:
        """Return the number of entries in each column, shape (n,)."""
        return np.bincount(self.stored, minlength=self.column_count)

    def times(self, x: Floats) -> Floats:
        """Return ``A x`` for x of shape (n,); shape (m,)."""
        return self.sums_by_row(self.values * x[self.stored])

    def sums_by_row(self, terms: Floats) -> Floats:
        """Return the sum of each row's terms, shape (m,)."""
        # Not scipy's product: its import takes more memory than all arrays of a small chain.
        return np.bincount(self.rows, terms, self.row_count).astype(np.float64, copy=False)

    def transposed_times(self, y: Floats) -> Floats:
        """Return ``Aᵀ y`` for y of shape (m,); shape (n,)."""
        sums = np.bincount(self.stored, self.values * y[self.rows], self.column_count)
        return sums.astype(np.float64, copy=False)


def entries_of(program: Program) -> Entries:
    """Return the stored coefficients of a program, zeros left out."""
    entries = Entries(
        program.row_starts, program.row_columns, program.row_values, program.column_count
    )
    keep = program.row_values != 0
    return entries if keep.all() else entries.where(keep)
