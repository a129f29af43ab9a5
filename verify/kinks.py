"""Values with kinks: extremes, tables, the mean of a tail."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from engiagent.units.unit import Unit, UnitError
from engiagent.verify import arithmetic, values
from engiagent.verify.values import ONE, Atom, Floats, Ints, Value


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
    return arithmetic.mapped("piecewise", value, data, unit, size, (xs, ys))


def extreme(kind: str, arguments: Sequence[Value]) -> Value:
    """Return ``max`` or ``min`` of several values, row by row."""
    aligned = arithmetic.align(arguments)
    size = max(value.data.size for value in aligned)
    stacked = np.stack([np.broadcast_to(value.data, (size,)) for value in aligned])
    which = stacked.argmin(axis=0) if kind == "min" else stacked.argmax(axis=0)
    parts = []
    for place, value in enumerate(aligned):
        rows = np.flatnonzero(which == place)
        parts.append((arithmetic.gather(value, rows), rows))
    result = arithmetic.combine(parts, size)
    if not result.degree and not any(value.degree for value in aligned):
        return result
    return replace(result, degree=2, links=(), atom=Atom(kind, tuple(aligned)))


def segment_extreme(value: Value, rows: Ints, size: int, smallest: bool) -> Value:
    """Return the least or the greatest of each group; UnitError when a group is empty."""
    if np.bincount(rows, minlength=size).min(initial=1) == 0:
        raise UnitError(f"the {'min' if smallest else 'max'} of nothing has no value")
    order = np.lexsort((value.data if smallest else -value.data, rows))
    first = np.diff(rows[order], prepend=-1) != 0
    chosen = arithmetic.gather(value, order[first])
    if not value.degree:
        return chosen
    atom = Atom("min" if smallest else "max", (value,), rows)
    return replace(chosen, degree=2, links=(), order=values.new_order(), atom=atom)


def tail_mean(value: Value, weights: Floats, share: float, largest: bool) -> Value:
    """Return the mean of the worst ``share`` of values that have probabilities ``weights``.

    ``largest`` says which end is the worst. The value at the edge of the tail counts for what is
    left of the share.
    """
    taken = tail_weights(value.data, weights, share, largest)
    rows = np.zeros(value.data.size, dtype=np.int64)
    result = arithmetic.segment_sum(
        arithmetic.multiply(values.constant(taken, ONE), value), rows, 1
    )
    if not value.degree:
        return result
    atom = Atom("tail", (value,), rows, (weights, np.array([share, 1.0 if largest else -1.0])))
    return replace(result, degree=2, links=(), order=values.new_order(), atom=atom)


def tail_weights(data: Floats, weights: Floats, share: float, largest: bool) -> Floats:
    """Return the weights, adding up to one, by which the worst ``share`` of numbers is averaged."""
    order = np.argsort(-data if largest else data, kind="stable")
    before = np.concatenate(([0.0], np.cumsum(weights[order])[:-1]))
    result = np.zeros_like(weights)
    result[order] = np.clip(np.minimum(weights[order], share - before), 0.0, None) / share
    total = float(result.sum())
    return result / total if total > 0 else result
