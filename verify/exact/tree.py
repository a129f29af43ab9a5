"""Bounds over cases of whole numbers, each by multipliers in rational arithmetic."""

import heapq
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import count
from typing import Final

import numpy as np

from engiagent.verify.exact import bounds, proposals
from engiagent.verify.exact.cases import halves
from engiagent.verify.exact.conflict import contradiction
from engiagent.verify.exact.forms import Exact
from engiagent.verify.exact.numbers import Fractions
from engiagent.verify.exact.programme import Linear
from engiagent.verify.values import Floats

CASES: Final = 400
MOST: Final = 400_000
"""Entries times cases that are gone through: more would take minutes."""
CLOSE: Final = Fraction(1, 10**7)


@dataclass(order=True, frozen=True)
class _Open:
    bound: Fraction
    number: int
    system: Linear = field(compare=False)
    optimum: Floats = field(compare=False)


def bound_over_cases(
    system: Linear, goal: Exact, point: Fractions, sign: int
) -> tuple[Fraction, int] | None:
    """Return a bound in SI that holds for whole numbers, and the number of cases; None if lost.

    Parameters
    ----------
    goal
        The objective, affine; ``sign`` is -1 where it is maximised.
    point
        The plan: what is as good as it closes a case.
    """
    value = sign * goal.data[0]
    enough = value - CLOSE * max(abs(value), Fraction(1, 10**9))
    cases = max(1, min(CASES, MOST // max(system.entries.rows.size, 1)))
    numbers, closed = count(), list[Fraction]()
    waiting: list[_Open] = []
    fresh, tried = [system], 0
    while fresh or waiting:
        for part in fresh:
            tried += 1
            found = _solved(part, goal, point, sign)
            if found is None:
                return None
            bound, optimum = found
            if bound is None:
                continue  # the case allows nothing
            if bound >= enough or optimum is None:
                closed.append(bound)
            else:
                heapq.heappush(waiting, _Open(bound, next(numbers), part, optimum))
        if not waiting or tried >= cases:
            break
        worst = heapq.heappop(waiting)
        fresh = list(halves(worst.system, worst.optimum))
        if not fresh:
            closed.append(worst.bound)
            break
    known = [*closed, *(item.bound for item in waiting)]
    return (sign * min(known), tried) if known else None


def _solved(
    system: Linear, goal: Exact, point: Fractions, sign: int
) -> tuple[Fraction | None, Floats | None] | None:
    """Return the bound of a case, None if it allows nothing, and its optimum; None if lost."""
    crossing = any(
        low is not None and high is not None and low > high
        for low, high in zip(system.lower, system.upper, strict=True)
    )
    if crossing:
        return None, None
    solved = proposals.solved(system, goal, point, sign)
    if solved is None:
        return (None, None) if contradiction(system) is not None else None
    optimum, y = solved
    ends = system.lower, system.upper
    for digits in bounds.DIGITS:
        weights = np.array(bounds.read_off(y, digits), dtype=object)
        found = bounds.dual_bound(system, goal, point, sign, weights, ends)
        if found.value is not None:
            return sign * found.value, optimum
    return None
