"""From an infeasible set of families to the single rows and bounds that clash.

A family is all that one constraint says on one side, and often only a few of its elements matter.
Runs of elements are left out by halves: what the rest does without goes at once, what it does not
do without is looked at in smaller runs. Of what remains nothing can be left out, because leaving
out more never makes a needed element needless.
"""

import time
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from engiagent.formulations.program import Program
from engiagent.formulations.values import Ints
from engiagent.solvers import linear
from engiagent.solvers.iis import Conflict, Family, families_of, placed, positions_of, supporting
from engiagent.solvers.result import SolveOptions

MOST_SECONDS: Final = 5.0
Element = tuple[Family, int, bool, bool]
"""A family, one of its rows or columns, and whether its lower and its upper limit count."""


@dataclass(frozen=True, eq=False)
class Narrowed:
    """The elements of an infeasible set.

    Attributes
    ----------
    positions
        Of each family, on the full grid of its block, sorted.
    program
        The program of these elements alone.
    least
        Whether a point was found for every set with one element less; else time ran out.
    """

    positions: dict[Family, Ints]
    program: Program
    least: bool


def narrowed(
    conflict: Conflict, *, seconds: float = MOST_SECONDS, threads: int | None = None
) -> Narrowed:
    """Return the elements of a conflict that cannot hold together.

    Parameters
    ----------
    conflict
        As :func:`~engiagent.solvers.iis.irreducible_set` returns it.
    seconds
        When the search ends with what it has.
    """
    search = _Narrowing(conflict, time.monotonic() + seconds, threads)
    elements = search.start()
    kept, least = search.filtered(elements)
    alone = placed(conflict.program, _families(kept), whole=conflict.whole_numbers)
    positions = {
        family: positions_of(conflict.program, family, np.union1d(*places))
        for family, places in _families(kept).items()
    }
    return Narrowed(positions, alone, least)


@dataclass(frozen=True, eq=False)
class _Narrowing:
    conflict: Conflict
    deadline: float
    threads: int | None

    def start(self) -> list[Element]:
        """Return the elements that the proof uses, or all where they alone are no proof."""
        program, ray = self.conflict.program, self.conflict.farkas
        chosen = {member.family for member in self.conflict.members}
        found = {f: p for f, p in families_of(program).items() if f in chosen}
        everything = _elements(found)
        if ray is None:
            return everything
        used = {
            f: _both(places, supporting(program, ray, f, places)) for f, places in found.items()
        }
        fewer = _elements(used)
        return fewer if self._infeasible(fewer) else everything

    def filtered(self, elements: list[Element]) -> tuple[list[Element], bool]:
        """Return the elements without those that the rest does not need."""
        kept, least = list(elements), True
        waiting = [list(elements)]
        while waiting:
            run = waiting.pop()
            without = set(run)
            fewer = [element for element in kept if element not in without]
            answer = self._infeasible(fewer) if fewer else False
            if answer:
                kept = fewer
            elif answer is None:
                return kept, False
            elif len(run) > 1:
                middle = len(run) // 2
                waiting += [run[:middle], run[middle:]]
        return kept, least

    def _infeasible(self, elements: list[Element]) -> bool | None:
        """Whether elements have no point; None when that was not found out."""
        left = self.deadline - time.monotonic()
        if left <= 0:
            return None
        conflict = self.conflict
        program = placed(conflict.program, _families(elements), whole=conflict.whole_numbers)
        if np.any(program.row_lower > program.row_upper) or np.any(
            program.column_lower > program.column_upper
        ):
            return True
        if not conflict.whole_numbers:
            program = linear.relaxation(program)
        options = SolveOptions(time_limit=left, threads=self.threads)
        status = linear.solve_here(program, options).status
        return {"infeasible": True, "optimal": False}.get(status)


def _both(places: tuple[Ints, Ints], used: Ints) -> tuple[Ints, Ints]:
    return places[0][np.isin(places[0], used)], places[1][np.isin(places[1], used)]


def _elements(families: dict[Family, tuple[Ints, Ints]]) -> list[Element]:
    found: list[Element] = []
    for family, (lower, upper) in families.items():
        low, high = set(lower.tolist()), set(upper.tolist())
        found += [(family, place, place in low, place in high) for place in sorted(low | high)]
    return found


def _families(elements: list[Element]) -> dict[Family, tuple[Ints, Ints]]:
    found: dict[Family, tuple[list[int], list[int]]] = {}
    for family, place, low, high in elements:
        sides = found.setdefault(family, ([], []))
        if low:
            sides[0].append(place)
        if high:
            sides[1].append(place)
    return {
        family: (np.array(low, dtype=np.int64), np.array(high, dtype=np.int64))
        for family, (low, high) in found.items()
    }


def of_elements(conflict: Conflict, found: Narrowed) -> Conflict:
    """Return a conflict whose members name only the elements that clash."""
    members = tuple(
        replace(member, positions=found.positions[member.family])
        for member in conflict.members
        if member.family in found.positions
    )
    return replace(conflict, members=members)
