"""Which kernel runs: compiled by numba where that is installed and worth its import, else plain."""

import importlib.util
import sys
from typing import Any, Final, Literal

import numpy as np

from engiagent.solvers.chain import passes, plain
from engiagent.solvers.chain.scaling import Bools, Floats, Scale, Steps

Kernel = Literal["plain", "numba"]

WORTH_IMPORT: Final = 400_000
"""Steps, over all evaluations expected, from which importing numba costs less than it saves."""
SNAP: Final = 1e-11
"""How near to a bound, relative to the largest state, a state counts as being at it."""
SLACK: Final = 1e-9
"""By how much of the largest state the plans may miss a bound through rounding."""


def choose_kernel(steps: int) -> Kernel:
    """Return the faster kernel for a number of steps, the import of numba included."""
    if "numba" in sys.modules:
        return "numba"
    if steps < WORTH_IMPORT or importlib.util.find_spec("numba") is None:
        return "plain"
    return "numba"


def _functions(kernel: Kernel) -> tuple[Any, Any, Any]:
    """Return the three functions of a kernel."""
    if kernel == "plain":
        return plain.value_levels, passes.plan, passes.price
    from engiagent.solvers.chain import compiled

    return compiled.value_levels, compiled.plan, compiled.price


def _made(kernel: Kernel, *parts: Any) -> list[Any]:
    """Return arrays as the kernel takes them: plain Python is faster with lists."""
    return [_list(part) for part in parts] if kernel == "plain" else list(parts)


def _list(part: Any) -> list[Any]:
    """Return an array as a list; what is the same throughout is one object in many places."""
    if len(part) and (part == part[0]).all():
        return [part[0].item()] * len(part)
    values: list[Any] = part.tolist()
    return values


def best_states(steps: Steps, scale: Scale, kernel: Kernel) -> Floats | None:
    """Return the best state after each step, shape (N,), or None when nothing is allowed."""
    value_levels, plan, _ = _functions(kernel)
    factor = scale.factor
    starts, slopes, spans = _packed(steps, scale, kernel)
    low, high, inflow = steps.lower * factor, steps.upper * factor, steps.inflow * factor
    before = np.roll(low, 1), np.roll(high, 1)
    inside = [np.where(scale.begins, 0.0, end / scale.jumps) for end in before]
    size = np.maximum(np.abs(low), np.abs(high))
    reach = SLACK * np.maximum(np.maximum(size, np.abs(inside[1])), np.abs(inflow))
    levels = np.zeros(len(spans))
    shared = _made(kernel, starts, spans, levels, steps.least * factor, inflow, scale.jumps)
    bounds = _made(kernel, low, high)
    starts_, spans_, levels_, least, inflow_, jumps = shared
    slopes_, most, begins, syncs, slack = _made(
        kernel, slopes, steps.most * factor, scale.begins, scale.syncs, reach
    )
    sides = tuple(_made(kernel, *inside))
    stopped = value_levels(
        starts_, slopes_, spans_, least, most, inflow_, begins, jumps, syncs, sides, tuple(bounds),
        slack, levels_,
    )  # fmt: skip
    if stopped >= 0:
        return None
    margin, states = _made(kernel, SNAP * size, np.zeros(len(low)))
    plan(starts_, spans_, levels_, least, inflow_, jumps, *bounds, margin, states)
    found = np.asarray(states)
    # The bounds themselves, and not what two roundings make of them.
    result = np.where(found == low, steps.lower, found / factor)
    return np.where(found == high, steps.upper, result)


def _packed(steps: Steps, scale: Scale, kernel: Kernel) -> tuple[Any, Any, Any]:
    """Return where each step's segments start, their slopes negated and their lengths, scaled."""
    if kernel == "numba":
        from engiagent.solvers.chain import compiled

        made = compiled.packed(steps.slopes, steps.lengths, scale.factor, scale.holding)
        return made[0], made[1], made[2]
    real = steps.lengths.T > 0
    starts = np.concatenate((np.zeros(1, np.int64), np.cumsum(real.sum(axis=1))))
    slopes = (-steps.slopes / scale.factor - scale.holding).T[real]
    return starts, slopes, (steps.lengths * scale.factor).T[real]


def state_prices(
    scale: Scale,
    allowed: tuple[Floats, Floats],
    at_bounds: tuple[Bools, Bools],
    kernel: Kernel,
) -> Floats:
    """Return a price of the state after each step that fits all steps, shape (N,).

    Parameters
    ----------
    allowed
        The least and largest price that each step's own cost allows, shapes (N,).
    at_bounds
        Whether the state after each step is at its lower and at its upper bound, shapes (N,).
    """
    _, _, price = _functions(kernel)
    factor, holding = scale.factor, scale.holding
    low, high = (side / factor - holding for side in allowed)
    at_lower, at_upper = at_bounds
    # Within a run nothing separates the prices, so that its intervals can be intersected at once.
    ends = at_lower | at_upper
    first = np.concatenate((np.ones(1, dtype=bool), ends[:-1])) | scale.begins | (scale.jumps != 1)
    starts = np.flatnonzero(first)
    lasts = np.append(starts[1:], len(low)) - 1
    low, high = np.maximum.reduceat(low, starts), np.minimum.reduceat(high, starts)
    middle = 0.5 * (low + high)
    crossed = low > high  # by rounding
    low, high = np.where(crossed, middle, low), np.where(crossed, middle, high)
    # At its lower bound a state may be worth less than to the next step, at its upper one more.
    arguments = _made(
        kernel,
        low,
        high,
        at_lower[lasts],
        at_upper[lasts],
        scale.begins[starts],
        scale.jumps[starts],
        np.zeros(len(starts)),
    )
    price(*arguments)
    runs = np.repeat(np.asarray(arguments[-1]), lasts - starts + 1)
    return factor * (runs + holding)
