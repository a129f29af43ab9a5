"""What is done with values: sums, products and functions, rows picked and summed.

All operations are linear maps over whole arrays; there is no loop over rows. Each says whether the
units fit, how the result depends on what it was made of, and how far rounding may have moved it.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from engiagent.blueprint.grammar import neighbours
from engiagent.units.unit import Unit, UnitError
from engiagent.verify.values import (
    ONE,
    Atom,
    Floats,
    Ints,
    Link,
    NotExactError,
    Sizes,
    Value,
    constant,
    constants_of,
    grouped,
    is_exact,
    new_order,
    summed,
    thin,
    wide,
)

LARGEST_POWER = 64
"""The largest exponent in rational arithmetic, whose numbers grow with it."""


def adopt(value: Value, unit: Unit) -> Value:
    """Return a bare literal in the unit of its neighbour."""
    if not value.bare or (unit.is_dimensionless and not value.nought):
        return value
    return constant(value.data, unit)


def _need(value: Value, unit: Unit) -> Value:
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
    """Return values that can be compared: one dimension, bare literals in the others' unit."""
    unit = next((v.unit for v in values if not v.bare), ONE)
    return [_need(value, unit) for value in values]


def align_chain(values: Sequence[Value]) -> list[Value]:
    """Return the parts of a comparison, each bare literal in the unit of what it stands beside."""
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
        links=_each(value, -1),
    )


def add(left: Value, right: Value, sign: float) -> Value:
    """Return ``left + sign * right``, points and differences kept apart."""
    if left.bare and right.bare:
        return constant((np.add if sign == 1.0 else np.subtract)(left.data, right.data), ONE, True)
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
        links=_each(left, 1) + _each(right, int(sign)),
    )


def _each(parent: Value, weight: Floats | int) -> tuple[Link, ...]:
    """Return how a value depends on one that it was made of row by row."""
    return (Link(parent, "each", None, weight),) if parent.degree else ()


def _sizes(left: Value, right: Value, join: np.ufunc, size: int) -> Floats | Sizes:
    """Return the sums or the products of the sizes of two values; fractions need none."""
    if is_exact(left.data):
        return left.data

    def joined(rows: slice) -> Floats:
        with np.errstate(all="ignore"):
            return np.asarray(join(left.size_of(rows), right.size_of(rows)))

    if _same(left.sizes) and _same(right.sizes):
        return wide(joined(slice(0, 1)), size)
    return joined


def _same(sizes: Floats | Sizes) -> bool:
    return isinstance(sizes, np.ndarray) and thin(sizes).size == 1


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
    """Return the product; UnitError when a factor is a temperature and not a difference."""
    _refuse_point(left, right)
    rows = max(left.data.size, right.data.size)
    weights = thin(right.data), thin(left.data)
    bent = left.degree and right.degree
    with np.errstate(all="ignore"):
        data = wide(weights[1] * weights[0], rows)
    return Value(
        data,
        left.unit * right.unit,
        _sizes(left, right, np.multiply, rows),
        min(left.degree + right.degree, 2),
        left.bare and right.bare,
        left.roundings + right.roundings + 1,
        () if bent else _each(left, weights[0]) + _each(right, weights[1]),
        atom=Atom("product", (left, right)) if bent else None,
    )


def divide(left: Value, right: Value) -> Value:
    """Return the quotient; a division by zero gives a number that is not finite."""
    _refuse_point(left, right)
    with np.errstate(all="ignore"):
        rows = max(left.data.size, right.data.size)
        inverse = 1 / thin(right.data)
        data = wide(thin(left.data) / thin(right.data), rows)
        size = data
        if not is_exact(data):
            # Cancellation inside the divisor widens its relative error.
            wider = np.abs(inverse) * np.maximum(1.0, thin(right.size) * np.abs(inverse))
            size = wide(thin(left.size) * wider, rows)
    return Value(
        data,
        left.unit / right.unit,
        size,
        left.degree if right.degree == 0 else 2,
        left.bare and right.bare,
        left.roundings + right.roundings + 1,
        () if right.degree else _each(left, inverse),
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
    if is_exact(at.data):
        if not whole or abs(exponent) > LARGEST_POWER:
            raise NotExactError("a power whose exponent is no small whole number")
        exponent = int(exponent)
    with np.errstate(all="ignore"):
        data = at.data**exponent
        size = at.size**exponent if exponent > 0 else np.abs(data)
    unit = base.unit ** int(exponent) if whole else ONE
    bent = bool(base.degree) and exponent not in (0, 1)
    atom = Atom("power", (base,), None, (np.array([float(exponent)]),)) if bent else None
    degree = 2 if bent else base.degree if exponent else 0
    links = _each(base, 1) if exponent == 1 else ()
    return Value(data, unit, size, degree, base.bare, base.roundings + 1, links, atom=atom)


def mapped(
    kind: str,
    value: Value,
    data: Floats,
    unit: Unit,
    size: Floats,
    numbers: tuple[Floats, ...] = (),
) -> Value:
    """Return a function of a value that is not affine, given its numbers."""
    atom = Atom(kind, (value,), None, numbers) if value.degree else None
    degree = 2 if value.degree else 0
    return Value(data, unit, size, degree, False, value.roundings + 1, atom=atom)


def gather(value: Value, rows: Ints | slice) -> Value:
    """Return ``value[rows]``."""
    if isinstance(rows, slice) and rows == slice(0, value.data.size):
        return value
    links = (Link(value, "gather", rows),) if value.degree else ()
    sizes: Floats | Sizes
    if is_exact(value.data):
        sizes = value.data[rows]
    elif isinstance(rows, slice) and not isinstance(value.sizes, np.ndarray):
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
    """Return the sums of ``value`` over the groups that ``rows`` names."""
    _refuse_point(value)
    absolute: Floats | Sizes
    if is_exact(value.data):
        data = np.full(1, summed(value.data)) if size == 1 else grouped(value.data, rows, size)
        absolute, added = data, 0
    elif size == 1:
        # numpy sums in pairs: far fewer roundings than one after the other.
        data = np.array([value.data.sum()])
        absolute = partial(_size_of_sum, value)
        added = 128 + (value.data.size + 1).bit_length() - 1
    else:
        data, absolute = (grouped(part, rows, size) for part in (value.data, value.size))
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
    """Return one value of which each part fills its own rows; together they fill all."""
    values = [value for value, _ in parts]
    bare = all(value.bare for value in values)  # then the unit is that of what it stands beside
    aligned = values if bare else align(values)
    data, absolute = (constants_of(0, size, like=aligned[0].data) for _ in range(2))
    links = []
    for value, (_, rows) in zip(aligned, parts, strict=True):
        data[rows] = value.data
        absolute[rows] = value.data if is_exact(value.data) else value.size
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


# --- kinks: extremes, tables, the mean of a tail -----------------------------------------------


def table(value: Value, xs: Floats, ys: Floats, unit: Unit) -> Value:
    """Return the interpolation in a table; beyond its ends the value is that of the end.

    ``xs``, ``ys``: breakpoints and values in SI, shape (1 or rows, points). ``unit``: the unit of
    the values.
    """
    rows, last = np.arange(value.data.size), xs.shape[1] - 2
    at = np.clip(value.data, xs[:, 0], xs[:, -1])
    if xs.shape[0] == 1:
        left = np.clip(np.searchsorted(xs[0], at, side="right") - 1, 0, last)
    else:
        left = np.clip((xs <= at[:, None]).sum(axis=1) - 1, 0, last)
    of_x, of_y = (np.zeros_like(rows) if v.shape[0] == 1 else rows for v in (xs, ys))
    x0, x1, y0, y1 = xs[of_x, left], xs[of_x, left + 1], ys[of_y, left], ys[of_y, left + 1]
    slope = (y1 - y0) / (x1 - x0)
    data = y0 + slope * (at - x0)
    size = np.maximum(np.maximum(np.abs(y0), np.abs(y1)), np.abs(data))
    return mapped("piecewise", value, data, unit, size, (xs, ys))


def extreme(kind: str, arguments: Sequence[Value]) -> Value:
    """Return ``max`` or ``min`` of several values, row by row."""
    aligned = align(arguments)
    size = max(value.data.size for value in aligned)
    stacked = np.stack([np.broadcast_to(value.data, (size,)) for value in aligned])
    which = stacked.argmin(axis=0) if kind == "min" else stacked.argmax(axis=0)
    parts = []
    for place, value in enumerate(aligned):
        rows = np.flatnonzero(which == place)
        parts.append((gather(value, rows), rows))
    result = combine(parts, size)
    if not result.degree and not any(value.degree for value in aligned):
        return result
    return replace(result, degree=2, links=(), atom=Atom(kind, tuple(aligned)))


def segment_extreme(value: Value, rows: Ints, size: int, smallest: bool) -> Value:
    """Return the least or the greatest of each group; UnitError when a group is empty."""
    if np.bincount(rows, minlength=size).min(initial=1) == 0:
        raise UnitError(f"the {'min' if smallest else 'max'} of nothing has no value")
    order = np.lexsort((value.data if smallest else -value.data, rows))
    first = np.diff(rows[order], prepend=-1) != 0
    chosen = gather(value, order[first])
    if not value.degree:
        return chosen
    atom = Atom("min" if smallest else "max", (value,), rows)
    return replace(chosen, degree=2, links=(), order=new_order(), atom=atom)


def tail_mean(value: Value, weights: Floats, share: float, largest: bool) -> Value:
    """Return the mean of the worst ``share`` of values that have probabilities ``weights``.

    ``largest`` says which end is the worst. The value at the edge of the tail counts for what is
    left of the share.
    """
    taken = tail_weights(value.data, weights, share, largest)
    rows = np.zeros(value.data.size, dtype=np.int64)
    result = segment_sum(multiply(constant(taken, ONE), value), rows, 1)
    if not value.degree:
        return result
    atom = Atom("tail", (value,), rows, (weights, np.array([share, 1.0 if largest else -1.0])))
    return replace(result, degree=2, links=(), order=new_order(), atom=atom)


def tail_weights(data: Floats, weights: Floats, share: float, largest: bool) -> Floats:
    """Return the weights, adding up to one, by which the worst ``share`` of numbers is averaged."""
    order = np.argsort(-data if largest else data, kind="stable")
    before = np.concatenate(([0.0], np.cumsum(weights[order])[:-1]))
    result = np.zeros_like(weights)
    result[order] = np.clip(np.minimum(weights[order], share - before), 0.0, None) / share
    total = float(result.sum())
    return result / total if total > 0 else result
