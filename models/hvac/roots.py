"""Roots of many equations at once, each inside its own bracket.

Source: T. R. Chandrupatla, A new hybrid quadratic/bisection algorithm for finding the zero of a
nonlinear function without using derivatives, Advances in Engineering Software 28 (1997) 145-149.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from engiagent.models.ranges import Floats, ParameterError


def bracketed_root(
    function: Callable[[Floats], Floats], low: npt.ArrayLike, high: npt.ArrayLike, what: str
) -> Floats:
    """Return ``x`` with ``function(x) = 0`` elementwise, between ``low`` and ``high``.

    The width of the bracket at the end is a few units in the last place. Where the function jumps
    over 0 the place of the jump comes back.

    Parameters
    ----------
    function
        Maps an array to an array of the same shape, element by element.
    low, high
        Ends of the brackets, of shapes that broadcast to that of the function's arrays.
    what
        What is sought, for the message.

    Examples
    --------
    >>> bracketed_root(lambda x: x**2 - np.array([4.0, 9.0]), 0.0, 5.0, "a root").round(12).tolist()
    [2.0, 3.0]
    """
    first = np.asarray(low, dtype=np.float64)
    second = np.asarray(high, dtype=np.float64)
    shape = np.shape(function(first + 0.0 * second))
    a, b = (np.array(np.broadcast_to(end, shape), dtype=np.float64) for end in (second, first))
    at_a, at_b = function(a), function(b)
    if not (at_a * at_b <= 0).all():
        raise ParameterError(
            f"{what} does not lie between {np.min(first):g} and {np.max(second):g}; "
            "give conditions in which the unit can work"
        )
    c, at_c = b.copy(), at_b.copy()
    part = np.full(shape, 0.5)
    best, done = np.where(np.abs(at_a) < np.abs(at_b), a, b), np.zeros(shape, dtype=bool)
    for _ in range(200):
        x = a + part * (b - a)
        at_x = function(x)
        same = np.sign(at_x) == np.sign(at_a)
        c, at_c = np.where(same, a, b), np.where(same, at_a, at_b)
        b, at_b = np.where(same, b, a), np.where(same, at_b, at_a)
        a, at_a = x, at_x
        nearer = np.abs(at_a) < np.abs(at_b)
        best = np.where(done, best, np.where(nearer, a, b))
        width = np.abs(b - a)
        least = 4.0 * np.finfo(np.float64).eps * np.abs(best) + 1e-300
        done |= (width <= 2.0 * least) | (np.minimum(np.abs(at_a), np.abs(at_b)) == 0)
        if done.all():
            break
        part = _next_part(a, b, c, at_a, at_b, at_c, least)
    return best


def _next_part(
    a: Floats, b: Floats, c: Floats, at_a: Floats, at_b: Floats, at_c: Floats, least: Floats
) -> Floats:
    """Return where to look next on the way from ``a`` to ``b``: by a parabola, or in the middle."""
    with np.errstate(all="ignore"):
        xi = (a - b) / (c - b)
        phi = (at_a - at_b) / (at_c - at_b)
        parabola = at_a / (at_b - at_a) * at_c / (at_b - at_c) + (c - a) / (b - a) * at_a / (
            at_c - at_a
        ) * at_b / (at_c - at_b)
        smooth = (phi**2 < xi) & ((1.0 - phi) ** 2 < 1.0 - xi) & np.isfinite(parabola)
        edge = np.minimum(least / np.abs(b - a), 0.5)
        edge = np.where(np.isfinite(edge), edge, 0.5)
        return np.asarray(np.clip(np.where(smooth, parabola, 0.5), edge, 1.0 - edge))
