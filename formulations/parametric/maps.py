"""Sparse linear maps from parameter columns to live arrays."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from engiagent.formulations.values import Floats, Ints


@dataclass(eq=False)
class Target:
    """An array that follows parameters: ``array[at] = base[at] + coefficients * z[columns]``.

    Attributes
    ----------
    array
        The live array, of any length.
    at, columns, coefficients
        Places in the array, parameter columns and factors, one for each entry of the map.
    """

    array: Floats
    at: Ints
    columns: Ints
    coefficients: Floats
    base: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.base = self.array.copy()


@dataclass(eq=False)
class Map:
    """Entries of a map in the making."""

    at: list[Ints] = field(default_factory=list)
    columns: list[Ints] = field(default_factory=list)
    coefficients: list[Floats] = field(default_factory=list)

    def add(self, at: Any, columns: Any, coefficients: Any) -> None:
        """Add entries: places, parameter columns and factors, the columns giving the number."""
        size = len(columns)
        self.at.append(np.broadcast_to(np.asarray(at, dtype=np.int64), (size,)))
        self.columns.append(np.asarray(columns, dtype=np.int64))
        self.coefficients.append(np.broadcast_to(np.asarray(coefficients, np.float64), (size,)))

    def target(self, array: Floats) -> Target | None:
        """Return the map onto an array, one entry for each pair; None when it is empty."""
        if not sum(len(part) for part in self.at):
            return None
        at, columns = _joined(self.at), _joined(self.columns)
        values = np.concatenate(self.coefficients)
        order = np.lexsort((columns, at))
        at, columns, values = at[order], columns[order], values[order]
        new = np.ones(len(at), dtype=bool)
        new[1:] = (np.diff(at) != 0) | (np.diff(columns) != 0)
        first = np.flatnonzero(new)
        added = np.add.reduceat(values, first)
        return Target(array, at[first], columns[first], added)


def finite(entries: Map, array: Floats) -> Map:
    """Return the entries of a map that aim at finite numbers."""
    kept = Map()
    for at, columns, values in zip(entries.at, entries.columns, entries.coefficients, strict=True):
        finite = np.isfinite(array[at])
        kept.add(at[finite], columns[finite], values[finite])
    return kept


def _joined(parts: list[Ints]) -> npt.NDArray[np.int64]:
    return np.concatenate([np.asarray(part, dtype=np.int64) for part in parts])
