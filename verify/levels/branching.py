"""The least bound over cases: a branch and bound of which nothing hangs on a solver.

A case has a bound, which whoever made it can show, and perhaps falls into cases of its own. The
bound of the whole is the least of those of its cases. The search is limited by cases, not seconds:
the answer must not depend on the machine. Numbers are doubles or fractions.
"""

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Final, Generic, TypeVar

from engiagent.verify.values import Floats

CASES: Final = 400
"""How many cases are solved before the search ends with what it has."""
Case = TypeVar("Case")
Number = TypeVar("Number")


@dataclass(frozen=True)
class Solved(Generic[Number]):
    """What is shown of a case: no plan in it is better than ``bound``.

    ``optimum`` is where its relaxation has its best, None where it allows nothing.
    """

    bound: Number
    optimum: Floats | None


def least_over_cases(
    root: Case,
    solve: Callable[[Case], Solved[Number] | None],
    halves: Callable[[Case, Floats], Sequence[Case]],
    enough: Number,
    most: int = CASES,
) -> tuple[Number, int] | None:
    """Return the least bound over all cases and how many were solved; None when one has none.

    ``solve``: the bound of a case; infinite where it allows nothing, None where nothing is shown.
    ``halves``: the cases into which one falls by the optimum of its relaxation, none where nothing
    is left to choose: then the relaxation itself is what is weak. ``enough``: a bound that closes a
    case, as the plan at hand is no better.
    """
    numbers, tried = count(), 0
    waiting: list[tuple[Number, int, Case, Floats]] = []
    closed: list[Number] = []
    fresh: Sequence[Case] = [root]
    while fresh:
        for case in fresh:
            tried += 1
            found = solve(case)
            if found is None:
                return None
            if found.bound >= enough or found.optimum is None:  # type: ignore[operator]
                closed.append(found.bound)
            else:
                heapq.heappush(waiting, (found.bound, next(numbers), case, found.optimum))
        if not waiting or tried >= most:
            break
        bound, _, case, optimum = heapq.heappop(waiting)
        fresh = halves(case, optimum)
        if not fresh:
            closed.append(bound)
    return min([*closed, *(item[0] for item in waiting)]), tried  # type: ignore[type-var]
