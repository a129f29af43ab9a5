"""Index grids: the rows over which an expression is evaluated, all at once.

A grid is a flat list of rows, each with a position for every binder. Filters take rows away, sums
expand each row into several; so dense, filtered, ragged and tuple-indexed expressions are all the
same arithmetic on one-dimensional arrays, and nothing ever loops over rows.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from engiagent.blueprint.sets import IndexSet
from engiagent.blueprint.timeaxis import Ints

MAX_ROWS = 50_000_000


@dataclass(frozen=True, eq=False)
class Elements:
    """One element of a set for every row of a grid: its positions, shape (rows,) or ()."""

    set: IndexSet
    positions: Ints

    def take(self, rows: npt.NDArray[np.intp]) -> "Elements":
        """Return the elements of some rows."""
        if self.positions.ndim == 0:
            return self
        return Elements(self.set, self.positions[rows])


@dataclass(frozen=True, eq=False)
class Grid:
    """Rows with a position for every binder."""

    size: int  # the number of rows
    names: Mapping[str, Elements]  # binder names with their elements

    def take(self, rows: npt.NDArray[np.intp]) -> "Grid":
        """Return the grid of some rows."""
        return Grid(len(rows), {name: part.take(rows) for name, part in self.names.items()})

    def where(self, row: int) -> str:
        """Return the elements of a row as ``t = 2025-07-01T00:00, g = G1``."""
        return ", ".join(
            f"{name} = {part.set.labels[int(np.broadcast_to(part.positions, (self.size,))[row])]}"
            for name, part in self.names.items()
        )

    def bind(self, names: Mapping[str, Elements]) -> "Grid":
        """Return the grid with other binders in place of its own, as inside a named expression."""
        return replace(self, names=names)

    def expand(
        self, binders: list[tuple[tuple[str, ...], IndexSet]]
    ) -> tuple["Grid", npt.NDArray[np.intp]]:
        """Return the grid of all combinations with further binders, and each one's row here.

        The last binder varies fastest.
        """
        inner = 1
        for _, index_set in binders:
            inner *= index_set.size
        _refuse_too_many(inner * self.size)
        if self.size == 1 and not self.names and len(binders) == 1:
            binder, index_set = binders[0]
            names = bind_set(binder, index_set, index_set.everything)
            return Grid(inner, names), np.zeros(inner, dtype=np.intp)
        outer = np.repeat(np.arange(self.size), inner)
        names = {name: part.take(outer) for name, part in self.names.items()}
        repeat = inner
        for binder, index_set in binders:
            if index_set.size:
                repeat //= index_set.size
            block = np.repeat(np.arange(index_set.size, dtype=np.int64), repeat)
            times = inner * self.size // len(block) if len(block) else 0
            names |= bind_set(binder, index_set, np.tile(block, times))
        return Grid(inner * self.size, names), outer

    def expand_within(
        self, binder: tuple[str, ...], index_set: IndexSet, first: Ints, after: Ints
    ) -> tuple["Grid", npt.NDArray[np.intp]]:
        """Return the grid with one further binder over a range of positions for every row."""
        lengths = after - first
        total = int(lengths.sum())
        _refuse_too_many(total)
        outer = np.repeat(np.arange(self.size), lengths)
        within = np.arange(total) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        names = {name: part.take(outer) for name, part in self.names.items()}
        return Grid(total, names | bind_set(binder, index_set, first[outer] + within)), outer


def _refuse_too_many(rows: int) -> None:
    if rows > MAX_ROWS:
        raise MemoryError(f"{rows} index combinations; at most {MAX_ROWS}")


def bind_set(binder: tuple[str, ...], index_set: IndexSet, positions: Ints) -> dict[str, Elements]:
    """Return the elements that a binder names: the tuple's parts when it has several names."""
    if len(binder) == 1:
        return {binder[0]: Elements(index_set, positions)}
    root_positions = index_set.in_root[positions]
    root = index_set.root
    return {
        name: Elements(factor, column[root_positions])
        for name, factor, column in zip(binder, root.factors, root.columns, strict=True)
    }


EMPTY_GRID = Grid(1, {})
