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
    Families,
    Family,
    families_of,
    placed,
    positions_of,
    supporting,
)
from engiagent.solvers.result import Floats, SolveOptions
from engiagent.solvers.stages import stages_of
from engiagent.solvers.validate import find_crossing

MOST_SECONDS: Final = 5.0
PROOF_SECONDS: Final = 5.0
Element = tuple[Family, int]
"""A family and one of its rows or columns."""


@dataclass(frozen=True, eq=False)
class Narrowed:
    """The elements of an infeasible set."""

    positions: dict[Family, Ints]  # of each family, on the full grid of its block, sorted
    program: Program  # the program of these elements alone
    least: bool  # whether a point was found for every set with one element less; else time ran out
    # multipliers that prove just this set, on few rows and so with little rounding; None where
    # whole numbers are needed or none were found
    farkas: Floats | None


def narrowed(conflict: Conflict, *, seconds: float = MOST_SECONDS) -> Narrowed:
    """Return the elements of a conflict that cannot hold together, as far as time allows."""
    members = {member.family for member in conflict.members}
    found = families_of(conflict.program)
    search = _Narrowing(
        conflict,
        {family: places for family, places in found.items() if family in members},
        time.monotonic() + seconds,
    )
    elements = [(f, p) for f, sides in search.families.items() for p in np.union1d(*sides).tolist()]
    kept, least = search.filtered(search.carrying(search.earliest(elements)))
    positions = {
        family: positions_of(conflict.program, family, np.union1d(*places))
        for family, places in search.only(kept).items()
    }
    alone = search.alone(kept)
    return Narrowed(positions, alone, least, _proof(conflict, alone))


def _proof(conflict: Conflict, alone: Program) -> Floats | None:
    """Return multipliers that prove a set of elements, evaluated here."""
    if conflict.whole_numbers or conflict.crossing:
        return None
    ray = linear.solve_here(linear.relaxation(alone), SolveOptions(time_limit=PROOF_SECONDS)).farkas
    return ray if ray is not None and farkas.margin(alone, ray) > MARGIN else None


@dataclass(frozen=True, eq=False)
class _Narrowing:
    conflict: Conflict
    families: Families  # the members with all their elements
    deadline: float

    def only(self, elements: list[Element]) -> Families:
        """Return families with some of their elements alone."""
        chosen: dict[Family, list[int]] = {}
        for family, place in elements:
            chosen.setdefault(family, []).append(place)
        return {
            family: (low[np.isin(low, places)], high[np.isin(high, places)])
            for family, places in chosen.items()
            for low, high in (self.families[family],)
        }

    def alone(self, elements: list[Element]) -> Program:
        """Return the program of some elements alone."""
        conflict = self.conflict
        return placed(conflict.program, self.only(elements), whole=conflict.whole_numbers)

    def earliest(self, elements: list[Element]) -> list[Element]:
        """Return the elements up to the first moment by which no point is left."""
        columns, rows = stages_of(self.conflict.program)
        when = {"bound": columns, "constraint": rows}
        times = [int(when[family.kind][place]) for family, place in elements]

        def until(last: int) -> list[Element]:
            pairs = zip(elements, times, strict=True)
            return [element for element, moment in pairs if moment <= last]

        marks = sorted(set(times))
        low, high = 0, len(marks) - 1
        while low < high:
            middle = (low + high) // 2
            answer = self._infeasible(until(marks[middle]))
            if answer is None:
                break
            low, high = (low, middle) if answer else (middle + 1, high)
        return until(marks[high])

    def carrying(self, elements: list[Element]) -> list[Element]:
        """Return the elements that a proof uses, or all where they alone are no proof."""
        alone = self.alone(elements)
        ray = _proof(self.conflict, alone)
        if ray is None:
            return elements
        families = self.only(elements).items()
        used = ((f, supporting(alone, ray, f, places).tolist()) for f, places in families)
        fewer = [(family, place) for family, places in used for place in places]
        return fewer if self._infeasible(fewer) else elements

    def filtered(self, elements: list[Element]) -> tuple[list[Element], bool]:
        """Return the elements without those that the rest does not need."""
        kept, waiting = elements, [elements]
        while waiting:
            run = waiting.pop()
            without = set(run)
            fewer = [element for element in kept if element not in without]
            answer = self._infeasible(fewer) if fewer else False
            if answer is None:
                return kept, False
            if answer:
                kept = fewer
            elif len(run) > 1:
                middle = len(run) // 2
                waiting += [run[:middle], run[middle:]]
        return kept, True

    def _infeasible(self, elements: list[Element]) -> bool | None:
        """Whether elements have no point; None when that was not found out."""
        left = self.deadline - time.monotonic()
        if left <= 0:
            return None
        program = self.alone(elements)
        if find_crossing(program) is not None:
            return True
        if not self.conflict.whole_numbers:
            program = linear.relaxation(program)
        # Only the answer counts here; multipliers would cost a second solve.
        status = run_highs(program, SolveOptions(time_limit=left), None).status
        if status in DOUBTFUL:
            found = linear.solve_here(program, SolveOptions(time_limit=left)).status
            status = {"infeasible": "kInfeasible", "optimal": "kOptimal"}.get(found, status)
        return {"kInfeasible": True, "kOptimal": False, "kModelEmpty": False}.get(status)


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
