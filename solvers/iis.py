r"""A smallest set of constraints and bounds that no point satisfies, with a proof of its own.

Members are whole families, as the rows of one constraint on one side or the lower bounds of one
variable: what an engineer has written in one place. The multipliers of a first proof already name
an infeasible set; a deletion filter (J. W. Chinneck and E. W. Dravnieks,
doi:10.1287/ijoc.3.2.157) then leaves out every family without which the rest is still infeasible.
What remains is solved once more, so that its multipliers prove just this set.

A linear programme is proven by a Farkas ray, which is not taken on trust: its margin is evaluated
here, and it can be given to the checker. Where only whole numbers make a set infeasible, the branch
and bound's word is all there is.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np

from engiagent.formulations.program import (
    NO_INDICATORS,
    NO_PRODUCTS,
    Block,
    Bools,
    Coordinate,
    Program,
    RowBlock,
)
from engiagent.formulations.values import Ints
from engiagent.solvers import farkas, linear
from engiagent.solvers.result import Floats, SolveOptions, SolverResult

Kind = Literal["constraint", "bound"]
Side = Literal["lower", "upper", "both"]

CARRIES: Final = 1e-7
"""The share of the largest multiplier from which a row or bound counts as part of a proof."""
MARGIN: Final = 1e-9
"""A proof by less than this, relative to its largest multiplier, may be rounding."""
MOST_SECONDS: Final = 30.0
NOWHERE: Final = np.zeros(0, np.int64)


@dataclass(frozen=True)
class Family:
    """The rows of a constraint, or the bounds of a variable, on one side."""

    kind: Kind
    name: str  # constraint id, or name of the variable
    side: Side  # ``both`` for equations, which are not taken apart


Families = Mapping[Family, tuple[Ints, Ints]]
"""The places of the lower and of the upper limits of families."""


@dataclass(frozen=True, eq=False)
class Member:
    """A family in an irreducible set."""

    family: Family
    positions: Ints  # which of its elements carry the proof, numbered on the full grid of the block
    # sets, shape: the grid
    sets: tuple[str, ...]
    shape: tuple[int, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class Conflict:
    """An infeasible set of families."""

    members: tuple[Member, ...]  # constraints first, in the order of the program, then bounds
    program: Program  # the program of these members alone, without an objective
    # whether the set is infeasible only because some columns take whole numbers; that a binary is 0
    # or 1 then belongs to the set without being a member
    whole_numbers: bool
    # multipliers of the rows that prove it, as in ``SolverResult``; None where whole numbers are
    # needed
    farkas: Floats | None
    # whether a lower limit above the upper one of the same row or column is all there is to it
    crossing: bool
    # whether a point was found for every set with one member less; else time ran out
    irreducible: bool


def linear_part(program: Program) -> Program:
    """Return a relaxation: conditional and nonlinear rows and the demand for SOS left out."""
    rows = [program.products.rows, program.indicators.rows]
    named = np.unique(np.concatenate([*rows, *(p.row_numbers() for p in program.nonlinear)]))
    free = named[named >= 0].astype(np.int64)
    lower, upper = program.row_lower.copy(), program.row_upper.copy()
    lower[free], upper[free] = -np.inf, np.inf
    plain = replace(program, products=NO_PRODUCTS, nonlinear=(), indicators=NO_INDICATORS, sos1=())
    return replace(plain, row_lower=lower, row_upper=upper)


def irreducible_set(program: Program, *, seconds: float = MOST_SECONDS) -> Conflict | None:
    """Return a smallest infeasible set of families, None when nothing shows that there is one."""
    cost = np.zeros_like(program.cost)
    bare = replace(linear_part(program), cost=cost, offset=0.0, goals=(), method=None)
    return _Search(bare, time.monotonic() + seconds).run()


def in_words(program: Program, seconds: float = 10.0) -> str:
    """Return which requirements no plan meets together, to go behind a reason; empty if unknown."""
    conflict, said = irreducible_set(program, seconds=seconds), []
    for member in () if conflict is None else conflict.members:
        family, end = member.family, {"lower": "lowest ", "upper": "highest "}
        axes = [program.coordinates[name] for name in member.sets]
        places = np.transpose(np.unravel_index(member.positions[:8], member.shape or (1,)))
        shown = (map(Coordinate.label, axes, place.tolist()) for place in places)
        where = ", ".join(map(" ".join, shown))
        where += ", …" * (len(member.positions) > 8)
        bound = family.kind == "bound"
        about = (program.column_block(family.name).description if bound else None) or family.name
        said.append(f"{end.get(family.side, '')}{about}" + f" ({where})" * bool(where))
    return f"; these cannot hold together: {'; '.join(said)}" if said else ""


@dataclass
class _Search:
    """One search: its program without objective, its deadline."""

    program: Program
    deadline: float
    whole_numbers: bool = False

    def run(self) -> Conflict | None:
        crossing = _crossing(self.program)
        if crossing:
            return self._conflict(crossing, True)
        relaxed = linear.relaxation(self.program)
        first = self._solve(relaxed)
        if first is not None and first.status == "infeasible":
            self.program = relaxed
        elif first is not None and first.status == "optimal" and self.program.is_mip:
            self.whole_numbers = True
            first = self._solve(self.program)
        if first is None or first.status != "infeasible":
            return None
        return self._conflict(*self._deletion(self._supporting(first.farkas)))

    def _families(self) -> Families:
        """Return what may be left out: not that a binary is 0 or 1, if whole numbers count."""
        found = families_of(self.program)
        if not self.whole_numbers:
            return found
        binary = binaries_of(self.program)
        return {
            family: places
            for family, places in found.items()
            if family.kind == "constraint" or not binary[np.concatenate(places)].any()
        }

    def _solve(self, program: Program, share: float = 1.0) -> SolverResult | None:
        """Solve a program in the time that is left, or in a share of it."""
        left = (self.deadline - time.monotonic()) * share
        return None if left <= 0 else linear.solve_here(program, SolveOptions(time_limit=left))

    def _only(self, families: Families) -> Program:
        return placed(self.program, families, whole=self.whole_numbers)

    def _supporting(self, ray: Floats | None) -> Families:
        """Return the families that a ray needs; all of them without one, or if it needs more."""
        everything = self._families()
        if ray is None:
            return everything
        needed = _used(self.program, ray, everything)
        found = self._solve(self._only(needed))
        enough = found is not None and found.status == "infeasible"
        return needed if enough else everything

    def _deletion(self, families: Families) -> tuple[Families, bool]:
        """Leave out, one after the other, what is not needed; bounds are tried first."""
        kept, complete = families, True
        order = sorted(families, key=lambda f: f.kind != "bound")
        for place, family in enumerate(order):
            if family not in kept:
                continue
            fewer = {name: places for name, places in kept.items() if name != family}
            # Without its limits a whole number may be searched for without an end.
            found = self._solve(self._only(fewer), 1.0 if place == len(order) - 1 else 0.5)
            if found is None or found.status not in ("infeasible", "optimal"):
                complete = False
            elif found.status == "infeasible":
                kept = self._shrunk(fewer, found.farkas)
        return kept, complete

    def _shrunk(self, families: Families, ray: Floats | None) -> Families:
        """Leave out at once what a proof of a smaller set does not need."""
        if ray is None:
            return families
        fewer = _used(self._only(families), ray, families)
        return fewer if farkas.margin(self._only(fewer), ray) > MARGIN else families

    def _conflict(self, families: Families, irreducible: bool) -> Conflict | None:
        alone = self._only(families)
        crossing, ray = bool(_crossing(alone)), None
        if not crossing:
            self.deadline = max(self.deadline, time.monotonic() + 5.0)
            result = self._solve(alone)
            if result is None or result.status != "infeasible":
                return None
            proven = result.farkas is not None and farkas.margin(alone, result.farkas) > MARGIN
            ray = result.farkas if proven and not self.whole_numbers else None
        members = [_member(alone, family, places, ray) for family, places in families.items()]
        return Conflict(
            members=tuple(sorted(members, key=lambda m: m.family.kind == "bound")),
            program=alone,
            whole_numbers=self.whole_numbers,
            farkas=ray,
            crossing=crossing,
            irreducible=irreducible,
        )


def _crossing(program: Program) -> Families:
    """Return the two families of the first limits that cross by themselves; empty if none do."""
    kinds: tuple[tuple[Kind, Sequence[Block], Floats, Floats], ...] = (
        ("bound", program.columns, program.column_lower, program.column_upper),
        ("constraint", program.rows, program.row_lower, program.row_upper),
    )
    for kind, blocks, lower, upper in kinds:
        wrong = np.flatnonzero(lower > upper)
        block = next((b for b in blocks if np.any((wrong >= b.start) & (wrong < b.stop))), None)
        if block is not None and not getattr(block, "generated", False):
            here = wrong[(wrong >= block.start) & (wrong < block.stop)]
            name = _name(block)
            low, high = Family(kind, name, "lower"), Family(kind, name, "upper")
            return {low: (here, NOWHERE), high: (NOWHERE, here)}
    return {}


def _name(block: Block) -> str:
    return block.constraint_id if isinstance(block, RowBlock) else block.name


def families_of(program: Program) -> dict[Family, tuple[Ints, Ints]]:
    """Return the families of a program: places of their lower and of their upper limits."""
    found: dict[Family, tuple[Ints, Ints]] = {}
    kinds: tuple[tuple[Kind, Sequence[Block], Floats, Floats], ...] = (
        ("constraint", program.rows, program.row_lower, program.row_upper),
        ("bound", program.columns, program.column_lower, program.column_upper),
    )
    for kind, blocks, lower, upper in kinds:
        for block in blocks:
            if getattr(block, "generated", False):
                continue
            for family, places in _split(kind, block, lower, upper):
                before = found.get(family, (NOWHERE, NOWHERE))
                low = np.concatenate([before[0], places[0]])
                found[family] = low, np.concatenate([before[1], places[1]])
    return found


def _split(
    kind: Kind, block: Block, lower: Floats, upper: Floats
) -> Iterator[tuple[Family, tuple[Ints, Ints]]]:
    name, places = _name(block), np.arange(block.start, block.stop)
    low, high = lower[places], upper[places]
    equal = low == high
    if equal.any():
        yield Family(kind, name, "both"), (places[equal], places[equal])
    below, above = places[np.isfinite(low) & ~equal], places[np.isfinite(high) & ~equal]
    if below.size:
        yield Family(kind, name, "lower"), (below, NOWHERE)
    if above.size:
        yield Family(kind, name, "upper"), (NOWHERE, above)


def subset(program: Program, families: Families) -> Program:
    """Return the program of some families' limits alone; limits of generated rows stay."""
    row_lower, row_upper = _only_generated(program.rows, program.row_lower, program.row_upper)
    low, high = _only_generated(program.columns, program.column_lower, program.column_upper)
    for family, (lower, upper) in families.items():
        if family.kind == "constraint":
            row_lower[lower] = program.row_lower[lower]
            row_upper[upper] = program.row_upper[upper]
        else:
            low[lower], high[upper] = program.column_lower[lower], program.column_upper[upper]
    return replace(
        program, row_lower=row_lower, row_upper=row_upper, column_lower=low, column_upper=high
    )


def placed(program: Program, families: Families, *, whole: bool) -> Program:
    """Return :func:`subset`; with ``whole`` every binary stays between 0 and 1."""
    fewer = subset(program, families)
    if not whole:
        return fewer
    kept = binaries_of(program)
    return replace(
        fewer,
        column_lower=np.where(kept, program.column_lower, fewer.column_lower),
        column_upper=np.where(kept, program.column_upper, fewer.column_upper),
    )


def binaries_of(program: Program) -> Bools:
    """Return which columns are whole numbers within 0 and 1: a choice, not a limit of one."""
    within: Bools = (program.column_lower >= 0) & (program.column_upper <= 1)
    return program.integrality & within


def without(program: Program, families: Sequence[Family]) -> Program:
    """Return the program in which the limits of some families are left out."""
    rest = {f: places for f, places in families_of(program).items() if f not in families}
    return subset(program, rest)


def _only_generated(blocks: Sequence[Block], lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
    keep: Bools = np.zeros(lower.size, dtype=np.bool_)
    for block in blocks:
        keep[block.start : block.stop] = bool(getattr(block, "generated", False))
    return np.where(keep, lower, -np.inf), np.where(keep, upper, np.inf)


def supporting(program: Program, ray: Floats, family: Family, places: tuple[Ints, Ints]) -> Ints:
    """Return the rows or columns of a family whose limit a ray uses."""
    weights = ray if family.kind == "constraint" else -farkas.column_weights(program, ray)
    enough = CARRIES * float(np.max(np.abs(ray), initial=0.0))
    lower, upper = places
    return np.union1d(lower[weights[lower] > enough], upper[weights[upper] < -enough])


def _used(program: Program, ray: Floats, families: Families) -> Families:
    """Return the families of which a ray uses any limit."""
    return {f: places for f, places in families.items() if supporting(program, ray, f, places).size}


def _member(
    program: Program, family: Family, places: tuple[Ints, Ints], ray: Floats | None
) -> Member:
    carried = NOWHERE if ray is None else supporting(program, ray, family, places)
    positions = positions_of(program, family, carried if carried.size else np.union1d(*places))
    is_row = family.kind == "constraint"
    block = program.row_block(family.name) if is_row else program.column_block(family.name)
    return Member(family, positions, block.sets, block.shape)


def positions_of(program: Program, family: Family, places: Ints) -> Ints:
    """Return where rows or columns of a family stand on the full grid of its blocks, sorted."""
    blocks: Sequence[Block] = program.rows if family.kind == "constraint" else program.columns
    found = []
    for block in blocks:
        if _name(block) == family.name:
            inside = places[(places >= block.start) & (places < block.stop)] - block.start
            found.append(inside if block.positions is None else block.positions[inside])
    return np.unique(np.concatenate(found))
