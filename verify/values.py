"""Numbers that know their unit, their coefficients and how far rounding may have moved them.

A :class:`Value` holds one number for each row of an index grid, in coherent SI units. It remembers
the values that it was made of, so that one sweep gives the coefficients of its rows with respect to
every variable (:mod:`engiagent.verify.values`). What is done with values stands in
:mod:`engiagent.verify.arithmetic`. The numbers are doubles, or fractions in arrays of objects, of
which nothing is ever rounded: the same expressions are evaluated by the same code in both.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from itertools import count
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from engiagent.errors import EngiagentError
from engiagent.units.unit import Unit, parse_unit

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Numbers = npt.NDArray[Any]
"""Doubles, or fractions as objects."""

Many = TypeVar("Many", Floats, npt.NDArray[np.bool_], Ints)

ONE = parse_unit("1")
BLOCK = 16_384
"""How many rows are worked on at a time where it pays: what is in between stays in the cache."""
Sizes = Callable[[slice], Floats]
EPSILON = float(np.finfo(np.float64).eps)
new_order = count().__next__
"""Return a place in the order of making, later than all that are there."""


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
    weight: Floats | int = 1


@dataclass(frozen=True, slots=True, eq=False)
class Atom:
    """The function of variables by which a value was made, when it is not affine in its parents."""

    # ``product quotient power exp log sqrt sin cos tanh``, or kinked: ``max min piecewise``
    kind: str
    # what it was made of, before anything was moved into the function's domain
    parents: tuple["Value", ...]
    # for the extreme of groups: the row that each row of the only parent belongs to
    rows: Ints | None = None
    # the exponent of a power; breakpoints and values of a table, shape (1 or rows, points)
    numbers: tuple[Floats, ...] = ()


@dataclass(slots=True, eq=False)
class Value:
    """One number per row; nobody changes it once it is made."""

    data: Floats  # in coherent SI units, shape (rows,)
    # the unit for display; its dimension is that of the data. A unit with a zero marks points.
    unit: Unit
    # ``size``, or how to find it for a stretch of rows: few are ever asked for
    sizes: Floats | Sizes
    degree: int = 0  # 0 for a constant, 1 for affine in the variables, 2 for anything else
    bare: bool = False  # whether it is a literal without a unit, which takes that of its neighbour
    # how many rounding errors of one part in 2^53 may have added up, relative to ``size``
    roundings: int = 2
    links: tuple[Link, ...] = ()
    order: int = field(default_factory=new_order)
    atom: Atom | None = None  # how it was made, where that was no affine map
    # whether it is the literal 0, which takes any unit; what merely is zero does not
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


class NotExactError(EngiagentError):
    """Something has no value in rational arithmetic; says what."""


def is_exact(data: Any) -> bool:
    """Whether numbers are fractions, not doubles."""
    return bool(data.dtype == object)


def constants_of(number: int, size: int, like: Any) -> Any:
    """Return an array that repeats a whole number, of the kind of another array."""
    if is_exact(like):
        return np.full(size, Fraction(number), dtype=object)
    return np.full(size, float(number))


def summed(data: Any) -> Any:
    """Return the sum, of fractions taken in pairs: denominators stay short while they can."""
    if not is_exact(data):
        return data.sum()
    while data.size > 1:
        even = data.size - data.size % 2
        data = np.append(data[0:even:2] + data[1:even:2], data[even:])
    return data[0] if data.size else Fraction(0)


def grouped(data: Any, rows: Ints, size: int) -> Any:
    """Return the sum of each group that ``rows`` names, zero for an empty one."""
    if not is_exact(data):
        return np.asarray(np.bincount(rows, weights=data, minlength=size), dtype=np.float64)
    result = constants_of(0, size, like=data)
    np.add.at(result, rows, data)
    return result


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


def constant(data: Numbers, unit: Unit, bare: bool = False) -> Value:
    """Return a value given in ``unit``, converted to SI."""
    few: Any = thin(data)
    scale, origin = (unit.factor, unit.zero) if is_exact(data) else (unit.scale, unit.origin)
    converted = few if scale == 1.0 else few * scale
    converted = converted + origin if origin else converted
    if converted.size == 1:
        return Value(
            wide(converted, data.size), unit, wide(np.abs(converted), data.size), bare=bare
        )
    return Value(converted, unit, partial(_sizes, converted), bare=bare)


def _sizes(data: Numbers, rows: Any) -> Any:
    return np.abs(data[rows])


def variable(data: Numbers, unit: Unit) -> Value:
    """Return a variable, of which coefficients can be told, given in ``unit``."""
    given = constant(data, unit)
    return Value(given.data, unit, given.sizes, degree=1)


def exactly(value: Value, data: Any) -> Value:
    """Return a constant with fractions in place of its doubles."""
    return Value(data, value.unit, data, 0, value.bare, 0, nought=value.nought)


# --- sweeps: coefficients of values, and what they are made of -----------------------------------


def atoms_of(seeds: Sequence[Value]) -> list[Value]:
    """Return all atoms that values are made of, those that others are made of first."""
    found: dict[int, Value] = {}
    waiting = list(seeds)
    while waiting:
        nodes: dict[int, Value] = {}
        _reach(waiting.pop(), nodes)
        for order, node in nodes.items():
            if node.atom is not None and order not in found:
                found[order] = node
                waiting += [parent for parent in node.atom.parents if parent.degree]
    return [found[order] for order in sorted(found)]


def _reach(value: Value, nodes: dict[int, Value]) -> None:
    stack = [value]
    while stack:
        node = stack.pop()
        if node.order not in nodes:
            nodes[node.order] = node
            stack.extend(link.parent for link in node.links)


def triplets(value: Value) -> dict[int, tuple[Ints, Ints, Floats]]:
    """Return the rows of a value as coefficients of variables and of the atoms it is made of.

    Returns by the ``order`` of each variable or atom: rows, its elements and coefficients, with
    repetitions to be summed.
    """
    result: dict[int, list[tuple[Ints, Ints, Floats]]] = {}
    start = np.arange(value.data.size)
    stack = [(value, start, start, constants_of(1, start.size, like=value.data))]
    while stack:
        node, rows, places, factors = stack.pop()
        if node.degree and (not node.links or node.atom is not None):
            result.setdefault(node.order, []).append((rows, places, factors))
            continue
        for link in node.links:
            stack.append((link.parent, *_descend(link, rows, places, factors)))
    return {
        order: tuple(np.concatenate(parts) for parts in zip(*pieces, strict=True))  # type: ignore[misc]
        for order, pieces in result.items()
    }


def _descend(link: Link, rows: Ints, places: Ints, factors: Floats) -> tuple[Ints, Ints, Floats]:
    """Return what entries of a value are as entries of one of its parents."""
    if link.kind == "each":
        weight = np.broadcast_to(np.asarray(link.weight), link.parent.data.shape)
        return rows, places, factors * weight[places]
    if link.kind == "gather":
        if isinstance(link.rows, slice):
            return rows, places + link.rows.start, factors
        assert link.rows is not None
        return rows, link.rows[places], factors
    # Each entry becomes one for every term of its sum.
    size = link.parent.data.size
    into = np.zeros(size, dtype=np.int64) if link.rows is None else np.arange(size)
    if not isinstance(link.rows, slice) and link.rows is not None:
        into = link.rows
    order = np.argsort(into, kind="stable")
    counts = np.bincount(into, minlength=int(places.max(initial=-1)) + 1)
    starts = np.concatenate(([0], np.cumsum(counts)))
    each = counts[places]
    within = np.arange(each.sum()) - np.repeat(np.cumsum(each) - each, each)
    return (
        np.repeat(rows, each),
        order[np.repeat(starts[places], each) + within],
        np.repeat(factors, each),
    )
