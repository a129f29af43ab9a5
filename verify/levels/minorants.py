"""Affine functions below and above the nonlinear parts of a programme.

A convex function lies above its tangents, a concave one above its secant, a product above its
McCormick planes, a maximum above each of its arguments. Every such piece holds wherever the
variables are within their bounds; which of them are sharp is somebody else's question.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from engiagent.verify.frames import Bools
from engiagent.verify.kinks import tail_weights
from engiagent.verify.levels.forms import Form
from engiagent.verify.values import EPSILON, Floats, Ints

SAFE = 32.0 * EPSILON
Curve = tuple[Callable[[Floats], Floats], Callable[[Floats], Floats]]
"""A function of one number and its derivative."""


@dataclass(frozen=True, eq=False)
class Block:
    """One atom: a column for each of its rows from ``start`` on.

    Attributes
    ----------
    forms
        The forms of what it is made of.
    ends
        The interval of each of them over the box.
    rows
        For groups: the row that each row of the only form belongs to.
    """

    kind: str
    start: int
    size: int
    forms: tuple[Form, ...]
    ends: tuple[tuple[Floats, Floats], ...]
    rows: Ints | None = None
    numbers: tuple[Floats, ...] = ()


@dataclass(frozen=True, eq=False)
class Pieces:
    """``side * (atom - form) >= 0`` for the atom rows that ``rows`` names."""

    side: int
    rows: Ints
    form: Form


def pieces_of(block: Block, side: int, point: Floats | None) -> Iterator[Pieces]:
    """Yield pieces below (``side`` 1) or above (-1) an atom.

    Parameters
    ----------
    point
        None for the pieces that are there once and for all; else all columns, at which tangents
        are taken.
    """
    if block.kind in ("max", "min"):
        yield from _extreme(block, side) if point is None else ()
    elif block.kind == "piecewise":
        yield from _table(block, side) if point is None else ()
    elif block.kind == "product":
        yield from _product(block, side) if point is None else ()
    elif block.kind == "tail":
        yield from _tail(block, side, point) if point is not None else ()
    elif block.kind == "norm":
        yield from _norm(block, side, point) if point is not None else ()
    elif block.kind in _SHAPES:
        yield from _curved(block, side, point)


def _moved(form: Form, side: int, room: Floats) -> Form:
    """Return a piece moved away from its atom by what rounding may have done, and its error."""
    return Form(form.matrix, form.constant - side * (room + form.error), np.zeros(form.size))


# --- kinks -------------------------------------------------------------------------------------


def _extreme(block: Block, side: int) -> Iterator[Pieces]:
    everywhere = np.arange(block.size)
    natural = 1 if block.kind == "max" else -1
    if side == natural:
        if block.rows is not None:
            form = block.forms[0]
            yield Pieces(side, block.rows, _moved(form, side, np.zeros(form.size)))
            return
        for form in block.forms:
            yield Pieces(side, everywhere, _moved(form, side, np.zeros(form.size)))
    elif block.rows is None and len(block.forms) == 2:
        # max(a, b) = b + max(a - b, 0) lies below the secant over the range of a - b.
        first, second = block.forms
        between = first.plus(second, -1.0)
        gap = _gap(block)
        low, high = (
            np.minimum(natural * gap[0], natural * gap[1]),
            np.maximum(natural * gap[0], natural * gap[1]),
        )
        crossing = np.isfinite(low) & np.isfinite(high) & (low < 0) & (high > 0)
        rows = np.flatnonzero(crossing)
        if rows.size:
            slope = high[rows] / (high[rows] - low[rows])
            line = between.take(rows).times(slope).plus(second.take(rows))
            lift = -slope * low[rows] * natural
            moved = Form(line.matrix, line.constant + lift, line.error)
            room = SAFE * (np.abs(lift) + np.abs(line.constant) + slope * (high - low)[rows])
            yield Pieces(side, rows, _moved(moved, side, room))
        for form, keep in ((first, low >= 0), (second, high <= 0)):
            rows = np.flatnonzero(keep)
            if rows.size:
                yield Pieces(side, rows, _moved(form.take(rows), side, np.zeros(rows.size)))


def _gap(block: Block) -> tuple[Floats, Floats]:
    """Return the interval of the difference of two arguments."""
    (low, high), (other_low, other_high) = block.ends[:2]
    if len(block.ends) > 2:
        return block.ends[2]
    with np.errstate(invalid="ignore"):
        return low - other_high, high - other_low


def _table(block: Block, side: int) -> Iterator[Pieces]:
    """Yield the lines of the convex hull of the points, from below or above."""
    xs, ys = block.numbers
    form = block.forms[0]
    if xs.shape[0] == 1 and ys.shape[0] == 1:
        groups = [(np.arange(block.size), xs[0], ys[0])]
    else:
        wide_x, wide_y = (np.broadcast_to(v, (block.size, v.shape[1])) for v in (xs, ys))
        groups = [(np.array([row]), wide_x[row], wide_y[row]) for row in range(block.size)]
    for rows, x, y in groups:
        corners = _hull(x, side * y)
        for first, second in pairwise(corners):
            slope = (y[second] - y[first]) / (x[second] - x[first])
            line = form.take(rows).times(np.full(rows.size, slope))
            lift = y[first] - slope * x[first]
            moved = Form(line.matrix, line.constant + lift, line.error)
            scale = np.abs(y).max() + abs(slope) * np.abs(x).max()
            yield Pieces(side, rows, _moved(moved, side, np.full(rows.size, SAFE * scale)))


def _hull(x: Floats, y: Floats) -> list[int]:
    """Return the corners of the lower convex hull of points in the order of x."""
    corners: list[int] = []
    for place in range(x.size):
        while len(corners) > 1:
            a, b = corners[-2:]
            if (y[b] - y[a]) * (x[place] - x[a]) < (y[place] - y[a]) * (x[b] - x[a]):
                break
            corners.pop()
        corners.append(place)
    return corners


def _product(block: Block, side: int) -> Iterator[Pieces]:
    """Yield McCormick's planes."""
    first, second = block.forms
    (a_low, a_high), (b_low, b_high) = block.ends
    choices = (
        ((a_low, b_low), (a_high, b_high)) if side == 1 else ((a_low, b_high), (a_high, b_low))
    )
    for a, b in choices:
        rows = np.flatnonzero(np.isfinite(a) & np.isfinite(b))
        if rows.size:
            p, q = a[rows], b[rows]
            plane = second.take(rows).times(p).plus(first.take(rows).times(q))
            moved = Form(plane.matrix, plane.constant - p * q, plane.error)
            scale = np.abs(p * q) + np.abs(plane.constant)
            yield Pieces(side, rows, _moved(moved, side, SAFE * scale))


def _tail(block: Block, side: int, point: Floats) -> Iterator[Pieces]:
    """Yield the mean by the weights that are the worst at a point."""
    import scipy.sparse as sp

    weights, (share, natural) = block.numbers
    if side != int(natural):
        return
    form = block.forms[0]
    taken = tail_weights(form.at(point), weights, float(share), natural > 0)
    total = form.times(taken)
    summed = sp.csr_matrix(np.ones((1, form.size))) @ total.matrix
    sizes = np.maximum(np.abs(block.ends[0][0]), np.abs(block.ends[0][1]))
    room = SAFE * form.size * float(taken @ np.where(np.isfinite(sizes), sizes, 0.0))
    one = Form(summed.tocsr(), np.array([total.constant.sum()]), np.array([total.error.sum()]))
    yield Pieces(side, np.zeros(1, dtype=np.int64), _moved(one, side, np.array([room])))


def _norm(block: Block, side: int, point: Floats) -> Iterator[Pieces]:
    """Yield the planes that touch the cone of a Euclidean norm in the direction of a point."""
    import scipy.sparse as sp

    if side != 1 or block.rows is None:
        return
    form = block.forms[0]
    here = form.at(point)
    length = np.sqrt(np.bincount(block.rows, weights=here**2, minlength=block.size))
    # A little shorter than one, whatever was rounded: a plane that cuts nothing off.
    direction = here / np.maximum(length, 1e-300)[block.rows] * (1.0 - SAFE * 4)
    direction = np.where(np.isfinite(direction), direction, 0.0)
    along = form.times(direction)
    picks = (np.ones(form.size), (block.rows, np.arange(form.size)))
    into = sp.csr_matrix(picks, shape=(block.size, form.size))
    room = SAFE * (into @ np.abs(along.constant))
    plane = Form((into @ along.matrix).tocsr(), into @ along.constant, into @ along.error)
    yield Pieces(side, np.arange(block.size), _moved(plane, side, room))


# --- curves ------------------------------------------------------------------------------------


def _power_shape(exponent: float, low: Floats, high: Floats) -> Floats:
    """Return 1 where a power is convex over an interval, -1 where concave, 0 for neither."""
    whole = exponent == int(exponent)
    even = whole and int(exponent) % 2 == 0
    right, left = (low >= 0) if exponent > 0 else (low > 0), high <= 0
    if exponent < 0:
        left = high < 0
    bend = 1.0 if exponent > 1 or exponent < 0 else -1.0
    if even and exponent > 0:
        return np.ones_like(low)
    shape = np.where(right, bend, 0.0)
    if whole:
        shape = np.where(left & ~right, bend if even else -bend, shape)
    return shape


def _curve(block: Block) -> tuple[Curve, Floats]:
    """Return the function and where it is convex (1), concave (-1) or neither (0)."""
    low, high = block.ends[0]
    ones = np.ones_like(low)
    if block.kind == "power":
        (exponent,) = (float(number[0]) for number in block.numbers)
        curve: Curve = (lambda z: z**exponent, lambda z: exponent * z ** (exponent - 1))
        return curve, _power_shape(exponent, low, high)
    if block.kind == "inverse":
        (top,) = block.numbers
        bend = np.where(low > 0, 1.0, np.where(high < 0, -1.0, 0.0)) * np.sign(top)
        return (lambda z: top / z, lambda z: -top / z**2), bend
    if block.kind == "exp":
        return (np.exp, np.exp), ones
    if block.kind == "log":
        return (np.log, lambda z: 1.0 / z), -ones
    if block.kind == "sqrt":
        return (np.sqrt, lambda z: 0.5 / np.sqrt(z)), -ones
    bend = np.where(high <= 0, 1.0, np.where(low >= 0, -1.0, 0.0))
    return (np.tanh, lambda z: 1.0 - np.tanh(z) ** 2), bend


def _clear_of_the_bend(block: Block, side: int, at: Floats) -> Bools:
    """Return where the tangent of an odd power holds over an interval on both sides of zero.

    Below a cube lies its tangent at t > 0 from -2 t on. On the far side of zero the curve bends
    away, so that whether it holds at the far end of the interval says whether it holds throughout.
    """
    low, high = block.ends[0]
    exponent = float(block.numbers[0][0]) if block.kind == "power" else 0.0
    if exponent < 3 or exponent % 2 != 1:
        return np.zeros(at.shape, dtype=bool)
    far = low if side == 1 else high
    line = at**exponent + exponent * at ** (exponent - 1) * (far - at)
    room = SAFE * (np.abs(line) + np.abs(far) ** exponent)
    holds = side * (far**exponent - line) > room
    return np.asarray((low < 0) & (high > 0) & (side * at > 0) & holds & np.isfinite(far))


_SHAPES = ("exp", "inverse", "log", "power", "sqrt", "tanh")
_POSITIVE = ("log", "sqrt")


def _curved(block: Block, side: int, point: Floats | None) -> Iterator[Pieces]:
    form, (low, high) = block.forms[0], block.ends[0]
    (value, slope), shape = _curve(block)
    if block.kind in _POSITIVE or (block.kind == "power" and block.numbers[0][0] % 1):
        low, high = np.maximum(low, 0.0), np.maximum(high, 0.0)
    with np.errstate(all="ignore"):
        if point is not None:
            at = np.clip(form.at(point), low, high)
            height, rise = value(at), slope(at)
            usable = (shape == side) | _clear_of_the_bend(block, side, at)
        else:
            at, height = low, value(low)
            rise = np.where(high > low, (value(high) - height) / (high - low), 0.0)
            usable = shape == -side
        scale = np.abs(height) + np.abs(rise) * (
            np.abs(at)
            + np.where(np.isfinite(low), np.abs(low), 0.0)
            + np.where(np.isfinite(high), np.abs(high), 0.0)
        )
    rows = np.flatnonzero(usable & np.isfinite(height) & np.isfinite(rise) & np.isfinite(at))
    if not rows.size:
        return
    rise, at, height = rise[rows], at[rows], height[rows]
    line = form.take(rows).times(rise)
    moved = Form(line.matrix, line.constant + (height - rise * at), line.error)
    room = SAFE * (scale[rows] + np.abs(line.constant))
    yield Pieces(side, rows, _moved(moved, side, room))
