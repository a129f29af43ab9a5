"""Interpolation in tables of breakpoints, one table for all rows or one for each."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def interpolated(xs: Floats, ys: Floats, at: Floats) -> Floats:
    """Return the values of piecewise linear tables; beyond its ends a table goes straight on.

    Parameters
    ----------
    xs, ys
        Breakpoints in increasing order and values, shape (points,) or (rows, points).
    at
        Where to look each row up, shape (rows,).

    Examples
    --------
    >>> interpolated(np.array([0.0, 10.0, 20.0]), np.array([0.0, 5.0, 6.0]), np.array([4.0, 15.0]))
    array([2. , 5.5])
    """
    xs, ys = (np.broadcast_to(v, (len(at), v.shape[-1])) for v in (xs, ys))
    left = np.clip((xs <= at[:, None]).sum(axis=1) - 1, 0, xs.shape[1] - 2)
    rows = np.arange(len(at))
    x0, x1, y0, y1 = xs[rows, left], xs[rows, left + 1], ys[rows, left], ys[rows, left + 1]
    return np.asarray(y0 + (y1 - y0) * (at - x0) / (x1 - x0))
