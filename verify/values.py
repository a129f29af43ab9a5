"""Numbers that know their unit, their derivative and how far rounding may have moved them.

A :class:`Value` holds one number for each row of an index grid, in coherent SI units. It remembers
the values that it was made of, so that one backward sweep gives the derivative of any weighted sum
of rows with respect to every variable (:func:`gradients`). All operations are linear maps over
whole arrays; there is no loop over rows.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from typing import Literal, TypeVar

import numpy as np
import numpy.typing as npt

from engiagent.blueprint.grammar import neighbours
from engiagent.blueprint.units import Unit, UnitError, parse_unit

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

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


def in_si(number: float, unit: Unit) -> float:
    """Return a number of ``unit`` in coherent SI units."""
    converted = number * unit.scale
    return converted + unit.origin if unit.is_point else converted


def repeated(number: float, unit: Unit, size: int, bare: bool = False) -> Value:
    """Return the same number on every row."""
    converted = in_si(float(number), unit)
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


def adopt(value: Value, unit: Unit) -> Value:
    """Return a bare literal in the unit of its neighbour."""
    if not value.bare or (unit.is_dimensionless and not value.nought):
        return value
    return constant(value.data, unit)


def _need(value: Value, unit: Unit) -> Value:
    """Return ``value`` if it can stand where ``unit`` is needed.

    Raises
    ------
    UnitError
        When the dimension differs, or a temperature meets a difference.
    """
    value = adopt(value, unit)
    if value.unit.dimension != unit.dimension:
        raise UnitError(f"one side is {unit}, the other {value.unit}")
    if value.unit.is_point != unit.is_point:
        point = unit if unit.is_point else value.unit
        raise UnitError(f"one side is a temperature in {point}, the other a difference")
    return value


def _alike(left: Value, right: Value) -> bool:
    """Whether two values measure the same thing as they are, neither of them a bare literal."""
    one, other = left.unit, right.unit
    alike = one.dimension == other.dimension and one.is_point == other.is_point
    return alike and not left.bare and not right.bare


def align(values: Sequence[Value]) -> list[Value]:
    """Return values that can be compared: one dimension, bare literals in the others' unit.

    Raises
    ------
    UnitError
        When they measure different things.
    """
    unit = next((v.unit for v in values if not v.bare), ONE)
    return [_need(value, unit) for value in values]


def align_chain(values: Sequence[Value]) -> list[Value]:
    """Return the parts of a comparison, each bare literal in the unit of what it stands beside.

    Raises
    ------
    UnitError
        When they measure different things.
    """
    if len(values) == 2 and _alike(*values):
        return list(values)
    beside = neighbours([value.bare for value in values])
    return align([adopt(value, values[k].unit) for value, k in zip(values, beside, strict=True)])


def negate(value: Value) -> Value:
    """Return ``-value``; the negative of a literal is a literal."""
    if value.bare:
        return replace(constant(-value.data, ONE, bare=True), nought=value.nought)
    _refuse_point(value)
    return Value(
        wide(-thin(value.data), value.data.size),
        value.unit,
        value.sizes,
        value.degree,
        roundings=value.roundings + 1,
        links=_each(value, -1.0),
    )


def add(left: Value, right: Value, sign: float) -> Value:
    """Return ``left + sign * right``, points and differences kept apart.

    Raises
    ------
    UnitError
        When the dimensions differ or two temperatures are added.
    """
    if left.bare and right.bare:
        return constant(left.data + sign * right.data, ONE, bare=True)
    left, right, unit = _align_sum(left, right, sign)
    rows = max(left.data.size, right.data.size)
    join = np.add if sign == 1.0 else np.subtract
    with np.errstate(all="ignore"):
        data = join(thin(left.data), thin(right.data))
    return Value(
        wide(data, rows),
        unit,
        _sizes(left, right, np.add, rows),
        max(left.degree, right.degree),
        roundings=max(left.roundings, right.roundings) + 1,
        links=_each(left, 1.0) + _each(right, sign),
    )


def _each(parent: Value, weight: Floats | float) -> tuple[Link, ...]:
    """Return how a value depends on one that it was made of row by row."""
    return (Link(parent, "each", None, weight),) if parent.degree else ()


def _sizes(left: Value, right: Value, join: np.ufunc, size: int) -> Floats | Sizes:
    """Return the sums or the products of the sizes of two values."""

    def joined(rows: slice) -> Floats:
        with np.errstate(all="ignore"):
            return np.asarray(join(left.size_of(rows), right.size_of(rows)))

    if _same(left.sizes) and _same(right.sizes):
        return wide(joined(slice(0, 1)), size)
    return joined


def _same(sizes: Floats | Sizes) -> bool:
    """Whether sizes are known to be the same on all rows."""
    return isinstance(sizes, np.ndarray) and (sizes.size == 1 or sizes.strides == (0,))


def _align_sum(left: Value, right: Value, sign: float) -> tuple[Value, Value, Unit]:
    if _alike(left, right) and not left.unit.is_point:
        return left, right, left.unit
    if right.unit.is_point and sign < 0:
        left = adopt(left, right.unit)
        if not left.unit.is_point:
            raise UnitError("an amount minus a temperature has no meaning")
        return left, right, left.unit.difference()
    if left.unit.is_point and right.unit.is_point:
        raise UnitError("two temperatures cannot be added")
    if left.unit.is_point:
        return left, _need(right, left.unit.difference()), left.unit
    if right.unit.is_point:
        return _need(left, right.unit.difference()), right, right.unit
    left, right = adopt(left, right.unit), adopt(right, left.unit)
    return left, _need(right, left.unit), left.unit


def multiply(left: Value, right: Value) -> Value:
    """Return the product.

    Raises
    ------
    UnitError
        When a factor is a temperature and not a difference.
    """
    _refuse_point(left, right)
    rows = max(left.data.size, right.data.size)
    weights = thin(right.data), thin(left.data)
    with np.errstate(all="ignore"):
        data = wide(weights[1] * weights[0], rows)
    return Value(
        data,
        left.unit * right.unit,
        _sizes(left, right, np.multiply, rows),
        min(left.degree + right.degree, 2),
        left.bare and right.bare,
        left.roundings + right.roundings + 1,
        _each(left, weights[0]) + _each(right, weights[1]),
        atom=Atom("product", (left, right)) if left.degree and right.degree else None,
    )


def divide(left: Value, right: Value) -> Value:
    """Return the quotient; a division by zero gives a number that is not finite."""
    _refuse_point(left, right)
    with np.errstate(all="ignore"):
        rows = max(left.data.size, right.data.size)
        inverse = 1.0 / thin(right.data)
        data = wide(thin(left.data) / thin(right.data), rows)
        # Cancellation inside the divisor widens its relative error.
        wider = np.abs(inverse) * np.maximum(1.0, thin(right.size) * np.abs(inverse))
        size = wide(thin(left.size) * wider, rows)
        weights = (inverse, -data * inverse if right.degree else inverse)
    return Value(
        data,
        left.unit / right.unit,
        size,
        left.degree if right.degree == 0 else 2,
        left.bare and right.bare,
        left.roundings + right.roundings + 1,
        _each(left, weights[0]) + _each(right, weights[1]),
        atom=Atom("quotient", (left, right)) if right.degree else None,
    )


def power(base: Value, exponent: float, inside: Value | None = None) -> Value:
    """Return ``base ** exponent``; only a whole exponent may be given to a value with a unit.

    ``inside`` is the base moved into the function's domain, where that differs.
    """
    _refuse_point(base)
    whole = exponent == int(exponent)
    if not whole and not base.unit.is_dimensionless:
        raise UnitError(f"{base.unit} ** {exponent:g} has no unit; the exponent must be whole")
    at = base if inside is None else inside
    with np.errstate(all="ignore"):
        data = at.data**exponent
        slope = exponent * at.data ** (exponent - 1)
        size = at.size**exponent if exponent > 0 else np.abs(data)
    unit = base.unit ** int(exponent) if whole else ONE
    bent = bool(base.degree) and exponent not in (0, 1)
    atom = Atom("power", (base,), None, (np.array([exponent]),)) if bent else None
    degree = 2 if bent else base.degree
    return Value(
        data, unit, size, degree, base.bare, base.roundings + 1, _each(base, slope), atom=atom
    )


def mapped(
    kind: str,
    value: Value,
    data: Floats,
    slope: Floats,
    unit: Unit,
    size: Floats,
    numbers: tuple[Floats, ...] = (),
) -> Value:
    """Return a function of a value that is not affine, given its numbers and derivatives."""
    atom = Atom(kind, (value,), None, numbers) if value.degree else None
    degree = 2 if value.degree else 0
    links = _each(value, slope)
    return Value(data, unit, size, degree, False, value.roundings + 1, links, atom=atom)


def function(kind: str, value: Value, data: Floats, slope: Floats) -> Value:
    """Return an elementary function of a pure number, given its values and derivatives."""
    return mapped(kind, value, data, slope, ONE, np.abs(data))


def gather(value: Value, rows: Ints | slice) -> Value:
    """Return ``value[rows]``."""
    if isinstance(rows, slice) and rows == slice(0, value.data.size):
        return value
    links = (Link(value, "gather", rows),) if value.degree else ()
    sizes: Floats | Sizes
    if isinstance(rows, slice) and not isinstance(value.sizes, np.ndarray):
        sizes = partial(_sizes_from, value, rows.start)
    else:
        sizes = value.size[rows]
    data, roundings = value.data[rows], value.roundings
    return Value(
        data, value.unit, sizes, value.degree, value.bare, roundings, links, nought=value.nought
    )


def _sizes_from(value: Value, start: int, rows: slice) -> Floats:
    return value.size_of(slice(start + rows.start, start + rows.stop))


def _size_of_sum(value: Value, rows: slice) -> Floats:
    return np.array([value.size.sum()])[rows]


def segment_sum(value: Value, rows: Ints, size: int) -> Value:
    """Return the sums of ``value`` over the groups that ``rows`` names.

    Raises
    ------
    UnitError
        When temperatures would be summed.
    """
    _refuse_point(value)
    absolute: Floats | Sizes
    if size == 1:
        # numpy sums in pairs: far fewer roundings than one after the other.
        data = np.array([value.data.sum()])
        absolute = partial(_size_of_sum, value)
        added = 128 + (value.data.size + 1).bit_length() - 1
    else:
        data = np.bincount(rows, weights=value.data, minlength=size)
        absolute = np.asarray(
            np.bincount(rows, weights=value.size, minlength=size), dtype=np.float64
        )
        added = int(np.bincount(rows, minlength=1).max()) if rows.size else 0
    links = (Link(value, "spread", rows if size > 1 else None),) if value.degree else ()
    return Value(
        data,
        value.unit,
        absolute,
        value.degree,
        value.bare,
        value.roundings + min(added, value.data.size),
        links,
    )


def combine(parts: Sequence[tuple[Value, Ints]], size: int) -> Value:
    """Return one value of which each part fills its own rows; together they fill all.

    Raises
    ------
    UnitError
        When the parts measure different things.
    """
    values = [value for value, _ in parts]
    bare = all(value.bare for value in values)  # then the unit is that of what it stands beside
    aligned = values if bare else align(values)
    data, absolute = np.zeros(size), np.zeros(size)
    links = []
    for value, (_, rows) in zip(aligned, parts, strict=True):
        data[rows], absolute[rows] = value.data, value.size
        if value.degree:
            links.append(Link(value, "spread", rows))
    return Value(
        data,
        aligned[0].unit,
        absolute,
        max(value.degree for value in aligned),
        bare,
        max(value.roundings for value in aligned),
        tuple(links),
    )


def _refuse_point(*values: Value) -> None:
    for value in values:
        if value.unit.is_point:
            raise UnitError(
                f"a temperature in {value.unit} cannot be scaled or summed, only its differences"
            )
