"""Numbers that know their unit, their derivative and how far rounding may have moved them.

A :class:`Value` holds one number for each row of an index grid, in coherent SI units. It remembers
the values that it was made of, so that one backward sweep gives the derivative of any weighted sum
of rows with respect to every variable (:mod:`engiagent.verify.sweeps`). What is done with values
stands in :mod:`engiagent.verify.arithmetic`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Literal, TypeVar

import numpy as np
import numpy.typing as npt

from engiagent.units.unit import Unit, parse_unit

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

Many = TypeVar("Many", Floats, npt.NDArray[np.bool_], Ints)

ONE = parse_unit("1")
BLOCK = 16_384
"""How many rows are worked on at a time where it pays: what is in between stays in the cache."""
Sizes = Callable[[slice], Floats]
EPSILON = float(np.finfo(np.float64).eps)
new_order = count().__next__
"""Return a place in the order of making, later than all that are there."""
Mode = Literal["value", "absolute"]


@dataclass(frozen=True, slots=True)
class Link:
    """How a value depends on one that it was made of.

    ``each``: row by row, times ``weight``. ``gather``: ``value = parent[rows]``.
    ``spread``: ``value[rows] += parent``, as for sums and for branches; into the only row of the
    value when ``rows`` is None.
    """

    parent: "Value"
    kind: Literal["each", "gather", "spread"]
    rows: Ints | slice | None = None
    weight: Floats | float = 1.0

    def pull(self, adjoint: Floats, mode: "Mode") -> Floats:
        """Return what this link sends back to its parent."""
        size = self.parent.data.size
        if self.kind == "each":
            weight = np.abs(self.weight) if mode == "absolute" else self.weight
            if isinstance(weight, float) and weight == 1.0:
                return adjoint
            return wide(thin(adjoint) * weight, size)
        if self.kind == "spread":
            if self.rows is None:
                return np.broadcast_to(adjoint[:1], (size,))
            return np.asarray(adjoint[self.rows])
        if isinstance(self.rows, slice):
            placed = np.zeros(size)
            placed[self.rows] = adjoint
            return placed
        assert self.rows is not None
        summed = np.bincount(self.rows, weights=adjoint, minlength=size)
        return np.asarray(summed, dtype=np.float64)

    def repetitions(self) -> int:
        """Return how often an element of the parent can count in the value."""
        if self.kind != "gather" or self.rows is None or isinstance(self.rows, slice):
            return 1
        return int(np.bincount(self.rows).max(initial=1))


@dataclass(frozen=True, slots=True, eq=False)
class Atom:
    """The function of variables by which a value was made, when it is not affine in its parents.

    Attributes
    ----------
    kind
        ``product quotient power exp log sqrt sin cos tanh``, or kinked: ``max min piecewise``.
    parents
        What it was made of, before anything was moved into the function's domain.
    rows
        For the extreme of groups: the row that each row of the only parent belongs to.
    numbers
        The exponent of a power; breakpoints and values of a table, shape (1 or rows, points).
    """

    kind: str
    parents: tuple["Value", ...]
    rows: Ints | None = None
    numbers: tuple[Floats, ...] = ()


@dataclass(slots=True, eq=False)
class Value:
    """One number per row; nobody changes it once it is made.

    Attributes
    ----------
    data
        In coherent SI units, shape (rows,).
    unit
        The unit for display; its dimension is that of the data. A unit with a zero marks points.
    sizes
        :attr:`size`, or how to find it for a stretch of rows: few are ever asked for.
    degree
        0 for a constant, 1 for affine in the variables, 2 for anything else.
    bare
        Whether it is a literal without a unit, which takes that of its neighbour.
    roundings
        How many rounding errors of one part in 2^53 may have added up, relative to ``size``.
    atom
        How it was made, where that was no affine map.
    nought
        Whether it is the literal 0, which takes any unit; what merely is zero does not.
    """

    data: Floats
    unit: Unit
    sizes: Floats | Sizes
    degree: int = 0
    bare: bool = False
    roundings: int = 2
    links: tuple[Link, ...] = ()
    order: int = field(default_factory=new_order)
    atom: Atom | None = None
    nought: bool = False

    @property
    def size(self) -> Floats:
        """A bound of the sum of the absolute terms, shape (rows,); the measure for tolerances."""
        if isinstance(self.sizes, np.ndarray):
            return self.sizes
        found = np.empty(self.data.size)
        for rows in blocks(found.size):
            found[rows] = self.sizes(rows)
        self.sizes = found
        return found

    def size_of(self, rows: slice) -> Floats:
        """Return :attr:`size` of a stretch of rows; one number where it is the same on all."""
        if not isinstance(self.sizes, np.ndarray):
            return self.sizes(rows)
        few = thin(self.sizes)
        return few if few.size == 1 else few[rows]

    @property
    def shown(self) -> Floats:
        """The numbers in :attr:`unit`."""
        return self.data / self.unit.scale - self.unit.origin / self.unit.scale

    def error(self) -> Floats:
        """Return an a-priori bound of the rounding error of each row."""
        return self.size * (EPSILON * self.roundings)


def blocks(size: int) -> Iterator[slice]:
    """Yield stretches of rows that together are all of them."""
    for start in range(0, size, BLOCK):
        yield slice(start, min(start + BLOCK, size))


def thin(data: Many) -> Many:
    """Return one element of an array that repeats it, else the array: most constants repeat."""
    return data[:1] if data.size > 1 and data.strides == (0,) else data


def wide(data: Many, size: int) -> Many:
    """Return an array of one element as one of many, without taking memory for them."""
    if data.size == size:
        return data
    if data.size != 1 or not data.flags.c_contiguous:
        return np.broadcast_to(data, (size,))
    # As broadcast_to does it, which takes ten times as long to find out that it can be done.
    many: Many = np.ndarray((size,), data.dtype, data, 0, (0,))
    many.flags.writeable = False
    return many


def repeated(number: float, unit: Unit, size: int, bare: bool = False) -> Value:
    """Return the same number on every row."""
    converted = unit.to_si(float(number))
    data = np.array([converted, abs(converted)])
    return Value(
        wide(data[:1], size), unit, wide(data[1:], size), bare=bare, nought=bare and number == 0.0
    )


def over(value: Value, size: int) -> Value:
    """Return a constant of one row as one of many."""
    if size == 1:
        return value
    data, sizes = wide(value.data, size), wide(value.size, size)
    return Value(data, value.unit, sizes, 0, value.bare, value.roundings, nought=value.nought)


def constant(data: Floats, unit: Unit, bare: bool = False) -> Value:
    """Return a value given in ``unit``, converted to SI."""
    few = thin(data)
    converted = few if unit.scale == 1.0 else few * unit.scale
    converted = converted + unit.origin if unit.origin else converted
    if converted.size == 1:
        return Value(
            wide(converted, data.size), unit, wide(np.abs(converted), data.size), bare=bare
        )
    return Value(converted, unit, lambda rows: np.abs(converted[rows]), bare=bare)


def variable(data: Floats, unit: Unit) -> Value:
    """Return a variable, by which derivatives can be taken, given in ``unit``."""
    given = constant(data, unit)
    return Value(given.data, unit, given.sizes, degree=1)
