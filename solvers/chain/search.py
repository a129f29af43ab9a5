r"""The best value of one coupler: a search over a convex piecewise-linear function, exact.

Every evaluation gives a line below the function. Two lines, one falling and one rising, meet at a
point where the function is as high as they are or higher; if it is as high, that point is the
best, and the two sets of multipliers, weighted so that their slopes cancel, prove it.
"""

import math
import time
from dataclasses import replace

import numpy as np

from engiagent.solvers.chain.evaluation import Evaluation, evaluate
from engiagent.solvers.chain.model import Model
from engiagent.solvers.chain.recursions import Kernel
from engiagent.solvers.structure.entries import Floats

MOST_EVALUATIONS = 200
EXACT = 1e-11
ROUNDING = 1e-9


def best_value(
    model: Model, box: tuple[float, float], kernel: Kernel, deadline: float = math.inf
) -> tuple[Floats, Floats, Floats] | None:
    """Return the best point (n,), multipliers (m,) and reduced costs (n,), or None.

    Parameters
    ----------
    box
        Bounds of the coupler; the upper one may be infinite.
    deadline
        When to give up, on the clock of ``time.perf_counter``.
    """
    ends = _bracket(model, box, kernel)
    if ends is None:
        return None
    left, right = ends
    if left.slope[0] >= 0.0:
        return _accepted(left)
    if right.slope[0] <= 0.0:
        return _accepted(right)
    stale = 0
    for turn in range(MOST_EVALUATIONS):
        if time.perf_counter() > deadline:
            return None
        width = right.values[0] - left.values[0]
        place, lowest = _meeting(left, right)
        best = min(left, right, key=_reached)
        if _allowed(best) and _reached(best) <= _near(lowest):
            return _accepted(_blended(best, left, right))
        # Slopes of penalties aim badly: halve the range every other time while one end has them.
        aimed = stale < 3 and (_allowed(left) or turn % 2 == 1)
        aimed = aimed and left.values[0] < place < right.values[0]
        if not aimed:
            place = 0.5 * (left.values[0] + right.values[0])
        found = evaluate(model, np.array([place]), kernel)
        if found is None:
            return None
        if aimed and _reached(found) <= _near(lowest):
            return _accepted(_blended(found, left, right))
        if found.slope[0] == 0.0:
            return _accepted(found)
        if found.slope[0] < 0.0:
            left = found
        else:
            right = found
        stale = stale + 1 if aimed and right.values[0] - left.values[0] > 0.5 * width else 0
        if width <= 1e-15 * max(1.0, abs(place)):
            return None
    return None


def _meeting(left: Evaluation, right: Evaluation) -> tuple[float, float]:
    """Return where the lines of two evaluations meet, and the bound that they prove there."""
    rise, fall = right.slope[0], left.slope[0]
    width = right.values[0] - left.values[0]
    ahead = (right.objective - left.objective - rise * width) / (fall - rise)
    return left.values[0] + ahead, left.objective + fall * ahead


def _near(lowest: float) -> float:
    """Return up to which cost a plan counts as reaching a bound."""
    return lowest + EXACT * max(1.0, abs(lowest))


def _reached(found: Evaluation) -> float:
    """Return the cost of a plan, without the penalty on what is rounding alone.

    Where the best value leaves nothing to spare, rounding makes a tiny excess.
    """
    return found.objective - (found.penalty if _allowed(found) else 0.0)


def _blended(found: Evaluation, left: Evaluation, right: Evaluation) -> Evaluation:
    """Return a plan with the multipliers of two others, weighted so that their slopes cancel."""
    rise, fall = right.slope[0], left.slope[0]
    share = rise / (rise - fall)
    return replace(
        found,
        y=share * left.y + (1.0 - share) * right.y,
        reduced=share * left.reduced + (1.0 - share) * right.reduced,
    )


def _allowed(found: Evaluation) -> bool:
    """Return whether a plan exceeds bounds by no more than rounding."""
    return found.excess <= ROUNDING * max(1.0, float(np.abs(found.values).max()))


def _accepted(found: Evaluation) -> tuple[Floats, Floats, Floats] | None:
    return (found.x, found.y, found.reduced) if _allowed(found) else None


def _bracket(
    model: Model, box: tuple[float, float], kernel: Kernel
) -> tuple[Evaluation, Evaluation] | None:
    """Return evaluations at two values between which the best lies."""
    low, high = box
    if not math.isfinite(low):
        return None
    left = evaluate(model, np.array([low]), kernel)
    if left is None:
        return None
    if left.slope[0] >= 0.0:
        return left, left
    if math.isfinite(high):
        right = evaluate(model, np.array([high]), kernel)
        return None if right is None else (left, right)
    step = max(1.0, float(np.abs(left.x).max()))
    for _ in range(60):
        right = evaluate(model, np.array([low + step]), kernel)
        if right is None:
            return None
        if right.slope[0] >= 0.0:
            return left, right
        left, step = right, 4.0 * step
    return None
