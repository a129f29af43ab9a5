r"""Piecewise linear tables as linear rows.

A convex table in a convex position is the greatest of its segments' lines. Any other is written
by increments along x (Markowitz and Manne 1957), whose linear relaxation is as tight as can be:

.. math::

    x = x_0 + \sum_j \delta_j, \quad y = y_0 + \sum_j s_j \delta_j, \quad
    w_j z_j \le \delta_j, \quad \delta_{j+1} \le w_{j+1} z_j, \quad 0 \le \delta_j \le w_j

with the widths :math:`w_j` and slopes :math:`s_j` of the segments.
"""

import numpy as np

from engiagent.formulations.lowering.builder import Builder
from engiagent.formulations.lowering.intervals import form_bounds
from engiagent.formulations.values import Atom, Floats, Form

ROUNDING = 1e-12


def interpolated(builder: Builder, atom: Atom, argument: Form, sign: int, name: str) -> Form:
    """Return a form that stands for an interpolation in tables.

    ``sign`` is 1 where only too small a value does harm, -1 where only too great a one, 0 where
    both do. The argument is kept within the breakpoints.
    """
    xs, ys = (np.broadcast_to(v, (atom.size, v.shape[-1])) for v in atom.numbers)
    low, high = form_bounds(argument, builder.column_lower, builder.column_upper)
    if np.any((low < xs[:, 0]) | (high > xs[:, -1])):
        builder.add_rows(f"{name}__within", argument, xs[:, 0], xs[:, -1])
    xs, ys = _reachable(xs, ys, np.maximum(low, xs[:, 0]), np.minimum(high, xs[:, -1]))
    slopes = np.diff(ys, axis=1) / np.diff(xs, axis=1)
    bends = np.diff(slopes, axis=1)
    size = np.abs(slopes).max(initial=1.0)
    if np.all(np.abs(bends) <= ROUNDING * size):
        return _line(argument, xs, ys, slopes, 0)
    if sign > 0 and np.all(bends >= -ROUNDING * size):
        return _envelope(builder, argument, (xs, ys, slopes), 1.0, name)
    if sign < 0 and np.all(bends <= ROUNDING * size):
        return _envelope(builder, argument, (xs, ys, slopes), -1.0, name)
    return _increments(builder, argument, (xs, ys, slopes), name)


def _reachable(xs: Floats, ys: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Leave out segments at both ends that no element's argument can reach."""
    below = (xs <= low[:, None]).all(axis=0)
    above = (xs >= high[:, None]).all(axis=0)
    first = max(int(below.sum()) - 1, 0)
    last = xs.shape[1] - max(int(above.sum()) - 1, 0)
    first = min(first, xs.shape[1] - 2)
    last = max(last, first + 2)  # one segment at least, also where the bounds contradict each other
    return xs[:, first:last], ys[:, first:last]


def _line(argument: Form, xs: Floats, ys: Floats, slopes: Floats, segment: int) -> Form:
    slope = slopes[:, segment]
    return argument * slope + (ys[:, segment] - slope * xs[:, segment])


def _envelope(
    builder: Builder, argument: Form, table: tuple[Floats, Floats, Floats], side: float, name: str
) -> Form:
    xs, ys, slopes = table
    value = builder.add_columns(name, argument.size, ys.min(axis=1), ys.max(axis=1))
    for segment in range(slopes.shape[1]):
        beyond = (value - _line(argument, xs, ys, slopes, segment)) * side
        builder.add_rows(f"{name}__line", beyond, 0.0, np.inf)
    return value


def _increments(
    builder: Builder, argument: Form, table: tuple[Floats, Floats, Floats], name: str
) -> Form:
    xs, ys, slopes = table
    size, segments = slopes.shape
    widths = np.diff(xs, axis=1).reshape(-1)
    along = builder.add_columns(f"{name}__along", size * segments, 0.0, widths)
    owner = np.repeat(np.arange(size), segments)
    builder.add_rows(f"{name}__x", argument - along.group_sum(owner, size), xs[:, 0], xs[:, 0])
    passed = builder.add_columns(f"{name}__passed", size * (segments - 1), 0.0, 1.0, "binary")
    place = np.arange(size * segments).reshape(size, segments)
    full, begun = place[:, :-1].reshape(-1), place[:, 1:].reshape(-1)
    filled = along.take(full) - passed * widths[full]
    builder.add_rows(f"{name}__filled", filled, 0.0, np.inf)
    started = along.take(begun) - passed * widths[begun]
    builder.add_rows(f"{name}__started", started, -np.inf, 0.0)
    return (along * slopes.reshape(-1)).group_sum(owner, size) + ys[:, 0]
