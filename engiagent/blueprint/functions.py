"""Smooth functions of one pure number: a record for each, which everything but the checker reads.

A record has the value with two derivatives, how the function bends and grows over an interval,
between which values it stays there, and how other languages spell it. Grammar, types, evaluation,
lowering, solvers and scripts follow from it. The checker has records of its own, in
:mod:`engiagent.verify.functions`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Shape = tuple[Bools, Bools, Bools, Bools]
"""Where a function is convex, concave, grows and falls over intervals."""


@dataclass(frozen=True)
class Function:
    r"""A function of one number."""

    meaning: str  # what it is, for the page on the language
    # value, slope, bend: the function and its first two derivatives
    value: Callable[[Floats], Floats]
    slope: Callable[[Floats], Floats]
    bend: Callable[[Floats], Floats]
    # where it is convex, concave, growing and falling over intervals, given by both ends
    shape: Callable[[Floats, Floats], Shape]
    latex: str  # its command, as ``\tanh``
    least: float = -np.inf  # where its domain begins
    increasing: bool = False  # whether it grows everywhere
    # between which values it stays, where it does not only grow
    range: tuple[float, float] = (-np.inf, np.inf)
    # the same by the functions that every library has, for one that does not know it
    otherwise: Callable[[Mapping[str, Callable[[Any], Any]], Any], Any] | None = None

    def between(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Return the least and the largest value over intervals; NaN ends stay unknown."""
        if not self.increasing:
            return np.full(low.shape, self.range[0]), np.full(low.shape, self.range[1])
        return np.fmax(self.value(np.fmax(low, self.least)), -np.inf), self.value(high)


def _same(convex: bool, concave: bool) -> Callable[[Floats, Floats], Shape]:
    """Return the shape of a function that grows, and bends one way everywhere."""

    def shape(low: Floats, high: Floats) -> Shape:
        yes, no = np.ones(low.shape, bool), np.zeros(low.shape, bool)
        return (yes if convex else no), (yes if concave else no), yes, no

    return shape


def _step(low: Floats, high: Floats) -> Shape:
    """Return the shape of a function that grows, convex below zero and concave above."""
    return high <= 0, low >= 0, np.ones(low.shape, bool), np.zeros(low.shape, bool)


def _wave(shift: float) -> Callable[[Floats, Floats], Shape]:
    """Return the shape of a sine with a shift: concave on half a period, convex on the next."""

    def shape(low: Floats, high: Floats) -> Shape:
        low, high = low + shift, high + shift
        half = np.floor(low / np.pi + 1e-12)
        inside = high <= (half + 1) * np.pi * (1 + 1e-12)
        odd = np.mod(half, 2) == 1
        quarter = np.floor(low / np.pi - 0.5 + 1e-12)
        one_way = high <= (quarter + 1.5) * np.pi * (1 + 1e-12)
        falls = one_way & (np.mod(quarter, 2) == 0)
        return inside & odd, inside & ~odd, one_way & ~falls, falls

    return shape


ELEMENTARY: Final[Mapping[str, Function]] = {
    "cos": Function(
        "the cosine of an angle in radians, or in `deg`",
        np.cos,
        lambda u: -np.sin(u),
        lambda u: -np.cos(u),
        _wave(np.pi / 2),
        latex=r"\cos",
        range=(-1.0, 1.0),
    ),
    "exp": Function(
        "the exponential",
        np.exp,
        np.exp,
        np.exp,
        _same(convex=True, concave=False),
        latex=r"\exp",
        increasing=True,
    ),
    "log": Function(
        "the natural logarithm",
        np.log,
        lambda u: 1.0 / u,
        lambda u: -1.0 / u**2,
        _same(convex=False, concave=True),
        latex=r"\log",
        least=0.0,
        increasing=True,
    ),
    "sin": Function(
        "the sine of an angle in radians, or in `deg`",
        np.sin,
        np.cos,
        lambda u: -np.sin(u),
        _wave(0.0),
        latex=r"\sin",
        range=(-1.0, 1.0),
    ),
    "sqrt": Function(
        "the square root",
        np.sqrt,
        lambda u: 0.5 / np.sqrt(u),
        lambda u: -0.25 * u**-1.5,
        _same(convex=False, concave=True),
        latex=r"\sqrt",
        least=0.0,
        increasing=True,
        otherwise=lambda functions, u: u**0.5,
    ),
    "tanh": Function(
        "the hyperbolic tangent",
        np.tanh,
        lambda u: 1.0 - np.tanh(u) ** 2,
        lambda u: -2.0 * np.tanh(u) * (1.0 - np.tanh(u) ** 2),
        _step,
        latex=r"\tanh",
        increasing=True,
        otherwise=lambda functions, u: 1.0 + (-2.0) * (functions["exp"](2.0 * u) + 1.0) ** (-1),
    ),
}
"""By name; a function that is added here is known to grammar, solvers and scripts."""


def interpolated(xs: Floats, ys: Floats, at: Floats) -> Floats:
    """Return the values of piecewise linear tables; beyond its ends a table goes straight on.

    ``xs``, ``ys``: breakpoints in increasing order and values, shape (points,) or (rows, points).
    ``at``: where to look each row up, shape (rows,).

    >>> interpolated(np.array([0.0, 10.0, 20.0]), np.array([0.0, 5.0, 6.0]), np.array([4.0, 15.0]))
    array([2. , 5.5])
    """
    xs, ys = (np.broadcast_to(v, (len(at), v.shape[-1])) for v in (xs, ys))
    left = np.clip((xs <= at[:, None]).sum(axis=1) - 1, 0, xs.shape[1] - 2)
    rows = np.arange(len(at))
    x0, x1, y0, y1 = xs[rows, left], xs[rows, left + 1], ys[rows, left], ys[rows, left + 1]
    return np.asarray(y0 + (y1 - y0) * (at - x0) / (x1 - x0))
