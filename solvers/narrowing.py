"""From an infeasible set of families to the single rows and bounds that clash.

A family is all that one constraint says on one side, and often only a few of its elements matter.
First the moment is found by which no point is left. Then runs of elements are left out by halves:
what the rest does without goes at once, what it does not do without is looked at in smaller runs.
Of what remains nothing can be left out, because leaving out more never makes a needed element
needless.
"""

import time
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from engiagent.formulations.program import Program
from engiagent.formulations.values import Ints
from engiagent.solvers import farkas, linear
from engiagent.solvers.highs import DOUBTFUL, run_highs
from engiagent.solvers.iis import (
    MARGIN,
    Conflict,
    Family,
    families_of,
    placed,
    positions_of,
    supporting,
)
from engiagent.solvers.result import Floats, SolveOptions
from engiagent.solvers.stages import stages_of

MOST_SECONDS: Final = 5.0
PROOF_SECONDS: Final = 5.0
_KNOWN: Final = {"infeasible": "kInfeasible", "optimal": "kOptimal"}
Element = tuple[Family, int, bool, bool]
"""A family, one of its rows or columns, and whether its lower and its upper limit count."""


@dataclass(frozen=True, eq=False)
class Narrowed:
    """The elements of an infeasible set."""

    positions: dict[Family, Ints]  # of each family, on the full grid of its block, sorted
    program: Program  # the program of these elements alone
    least: bool  # whether a point was found for every set with one element less; else time ran out
    # multipliers that prove just this set, on few rows and so with little rounding; None where
    # whole numbers are needed or none were found
    farkas: Floats | None


def narrowed(
    conflict: Conflict, *, seconds: float = MOST_SECONDS, threads: int | None = None
) -> Narrowed:
    """Return the elements of a conflict that cannot hold together, as far as time allows."""
    search = _Narrowing(conflict, time.monotonic() + seconds, threads)
    elements = search.carrying(search.earliest(search.start()))
    kept, least = search.filtered(elements)
    alone = placed(conflict.program, _families(kept), whole=conflict.whole_numbers)
    positions = {
        family: positions_of(conflict.program, family, np.union1d(*places))
        for family, places in _families(kept).items()
    }
    return Narrowed(positions, alone, least, _proof(conflict, alone, threads))


def _proof(conflict: Conflict, alone: Program, threads: int | None) -> Floats | None:
    """Return multipliers that prove a set of elements, evaluated here."""
    if conflict.whole_numbers or conflict.crossing:
        return None
    options = SolveOptions(time_limit=PROOF_SECONDS, threads=threads)
    ray = linear.solve_here(linear.relaxation(alone), options).farkas
    return ray if ray is not None and farkas.margin(alone, ray) > MARGIN else None


@dataclass(frozen=True, eq=False)
class _Narrowing:
    conflict: Conflict
    deadline: float
    threads: int | None

    def start(self) -> list[Element]:
        """Return all elements of the members."""
        chosen = {member.family for member in self.conflict.members}
        found = families_of(self.conflict.program)
        return _elements({family: places for family, places in found.items() if family in chosen})

    def earliest(self, elements: list[Element]) -> list[Element]:
        """Return the elements up to the first moment by which no point is left."""
        columns, rows = stages_of(self.conflict.program)
        when = {"bound": columns, "constraint": rows}
        times = np.array([when[element[0].kind][element[1]] for element in elements])
        marks = np.unique(times)
        low, high = 0, len(marks) - 1
        while low < high:
            middle = (low + high) // 2
            answer = self._infeasible(_until(elements, times, marks[middle]))
            if answer is None:
                break
            low, high = (low, middle) if answer else (middle + 1, high)
        return _until(elements, times, marks[high])

    def carrying(self, elements: list[Element]) -> list[Element]:
        """Return the elements that a proof uses, or all where they alone are no proof."""
        conflict, families = self.conflict, _families(elements)
        alone = placed(conflict.program, families, whole=conflict.whole_numbers)
        ray = _proof(conflict, alone, self.threads)
        if ray is None:
            return elements
        fewer = _elements({f: _both(p, supporting(alone, ray, f, p)) for f, p in families.items()})
        return fewer if self._infeasible(fewer) else elements

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
        # Only the answer counts here; multipliers would cost a second solve.
        status = run_highs(program, options, None).status
        if status in DOUBTFUL:
            status = _KNOWN.get(linear.solve_here(program, options).status, status)
        return {"kInfeasible": True, "kOptimal": False, "kModelEmpty": False}.get(status)


def _until(elements: list[Element], times: Ints, last: int) -> list[Element]:
    return [element for element, time in zip(elements, times.tolist(), strict=True) if time <= last]


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
    """Return a conflict whose members, and proof where there is one, name only what clashes."""
    members = tuple(
        replace(member, positions=found.positions[member.family])
        for member in conflict.members
        if member.family in found.positions
    )
    if found.farkas is None:
        return replace(conflict, members=members)
    return replace(conflict, members=members, program=found.program, farkas=found.farkas)
