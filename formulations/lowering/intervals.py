"""Bounds of forms from the bounds of columns: interval arithmetic over whole grids."""

from collections.abc import Callable

import numpy as np

from engiagent.blueprint.functions import ELEMENTARY, interpolated
from engiagent.formulations.values import Atom, Floats, Form, Rows

Interval = tuple[Floats, Floats]
"""Least and greatest values, each of shape (size,); infinite where nothing is known."""


def form_bounds(form: Form, lower: Floats, upper: Floats) -> Interval:
    """Return bounds of a form, given those of all columns, each of shape (n,)."""
    low = np.array(np.broadcast_to(form.constant, (form.size,)), dtype=np.float64)
    high = low.copy()
    for term in form.terms:
        least, most = _scaled(term.coefficients, lower[term.columns], upper[term.columns])
        low, high = _added(low, high, term.rows, least, most)
    for part in form.parts:
        least, most = atom_bounds(part.atom, lower, upper)
        least, most = _scaled(np.broadcast_to(part.coefficients, least.shape), least, most)
        low, high = _added(low, high, part.rows, least, most)
    return low, high


def atom_bounds(atom: Atom, lower: Floats, upper: Floats) -> Interval:
    """Return bounds of an atom's elements."""
    inner = [form_bounds(argument, lower, upper) for argument in atom.args]
    with np.errstate(all="ignore"):
        least, most = _RULES[atom.function](atom, inner)
    # What interval arithmetic cannot tell is unbounded.
    return np.where(np.isnan(least), -np.inf, least), np.where(np.isnan(most), np.inf, most)


def _added(low: Floats, high: Floats, rows: Rows | None, least: Floats, most: Floats) -> Interval:
    if rows is None:
        return low + least, high + most
    size = len(low)
    return low + np.bincount(rows, least, size), high + np.bincount(rows, most, size)


def _scaled(factor: Floats, least: Floats, most: Floats) -> Interval:
    factor = np.broadcast_to(factor, least.shape)
    with np.errstate(invalid="ignore"):
        at_low, at_high = factor * least, factor * most
    zero = factor == 0.0
    low = np.where(zero, 0.0, np.where(factor > 0, at_low, at_high))
    return low, np.where(zero, 0.0, np.where(factor > 0, at_high, at_low))


def _times(a: Floats, b: Floats) -> Floats:
    """Multiply bounds; nothing times infinity is nothing, since infinity stands for any number."""
    return np.where((a == 0) | (b == 0), 0.0, a * b)


def _product(atom: Atom, inner: list[Interval]) -> Interval:
    if atom.args[0] is atom.args[1]:
        return _even(inner[0], 2.0)
    (a, b), (c, d) = inner
    corners = np.stack([_times(a, c), _times(a, d), _times(b, c), _times(b, d)])
    return corners.min(axis=0), corners.max(axis=0)


def _quotient(atom: Atom, inner: list[Interval]) -> Interval:
    (a, b), (c, d) = inner
    away = (c > 0) | (d < 0)
    corners = np.stack([a / c, a / d, b / c, b / d])
    return np.where(away, corners.min(axis=0), -np.inf), np.where(away, corners.max(axis=0), np.inf)


def _even(inner: Interval, exponent: Floats | float) -> Interval:
    low, high = inner
    ends = np.stack([np.abs(low) ** exponent, np.abs(high) ** exponent])
    least = np.where((low <= 0) & (high >= 0), 0.0, ends.min(axis=0))
    return least, ends.max(axis=0)


def _power(atom: Atom, inner: list[Interval]) -> Interval:
    low, high = inner[0]
    exponent = np.broadcast_to(atom.numbers[0], low.shape)
    even = np.mod(exponent, 2) == 0
    whole = exponent == np.round(exponent)
    ends = np.stack([low**exponent, high**exponent])
    least, most = ends.min(axis=0), ends.max(axis=0)
    even_low, even_high = _even(inner[0], exponent)
    least, most = np.where(even, even_low, least), np.where(even, even_high, most)
    # A fractional power lives on numbers from zero, a negative one away from zero.
    fractional = ~whole
    floor = np.maximum(low, 0.0) ** exponent
    least = np.where(fractional, np.minimum(floor, high**exponent), least)
    unsafe = (exponent < 0) & (low <= 0) & (high >= 0)
    return np.where(unsafe, -np.inf, least), np.where(unsafe, np.inf, most)


def _absolute(atom: Atom, inner: list[Interval]) -> Interval:
    low, high = inner[0]
    most = np.maximum(np.abs(low), np.abs(high))
    nearest = np.minimum(np.abs(low), np.abs(high))
    return np.where((low <= 0) & (high >= 0), 0.0, nearest), most


def _extreme(atom: Atom, inner: list[Interval]) -> Interval:
    choose, start = (np.minimum, np.inf) if atom.function == "min" else (np.maximum, -np.inf)
    assert atom.groups is not None
    result = []
    for side in inner[0]:
        values = np.full(atom.size, start)
        choose.at(values, atom.groups, side)
        result.append(values)
    return result[0], result[1]


def _piecewise(atom: Atom, inner: list[Interval]) -> Interval:
    """Look at both ends of the reachable range and at the breakpoints between them."""
    xs, ys = (np.broadcast_to(v, (atom.size, v.shape[-1])) for v in atom.numbers)
    low, high = inner[0]
    ends = [np.clip(side, xs[:, 0], xs[:, -1]) for side in (low, high)]
    values = [interpolated(xs, ys, end) for end in ends]
    between = (xs > ends[0][:, None]) & (xs < ends[1][:, None])
    least = np.where(between, ys, np.inf).min(axis=1)
    most = np.where(between, ys, -np.inf).max(axis=1)
    return (
        np.minimum(least, np.minimum(values[0], values[1])),
        np.maximum(most, np.maximum(values[0], values[1])),
    )


_RULES: dict[str, Callable[[Atom, list[Interval]], Interval]] = {
    **dict.fromkeys(ELEMENTARY, lambda atom, inner: ELEMENTARY[atom.function].between(*inner[0])),
    "abs": _absolute,
    "max": _extreme,
    "min": _extreme,
    "piecewise": _piecewise,
    "power": _power,
    "product": _product,
    "quotient": _quotient,
}
