r"""A smallest set of constraints and bounds that no point satisfies, with a proof of its own.

Members are whole families, as the rows of one constraint on one side or the lower bounds of one
variable: what an engineer has written in one place. The multipliers of a first proof already name
an infeasible set; a deletion filter (J. W. Chinneck and E. W. Dravnieks,
doi:10.1287/ijoc.3.2.157) then leaves out every family without which the rest is still infeasible.
What remains is solved once more, so that its multipliers prove just this set.

A linear programme is proven by a Farkas ray. Where only whole numbers make a set infeasible, the
proof is a tree of branchings with a ray at every leaf. Neither is taken on trust: the margin of
every ray is evaluated here, and a ray of the whole set can be given to the checker.
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
MAX_LEAVES: Final = 400
MOST_SECONDS: Final = 30.0


@dataclass(frozen=True)
class Family:
    """The rows of a constraint, or the bounds of a variable, on one side."""

    kind: Kind
    name: str  # constraint id, or name of the variable
    side: Side  # ``both`` for equations, which are not taken apart


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
    # how many leaves the tree of branchings has, each with a ray; None without whole numbers, or
    # where the tree grew too large, so that the solver's word is all there is
    leaves: int | None
    # whether a lower limit above the upper one of the same row or column is all there is to it
    crossing: bool
    # whether a point was found for every set with one member less; else time ran out
    irreducible: bool

    @property
    def proven(self) -> bool:
        """Whether it was shown here, and not only said by a solver."""
        return self.crossing or self.farkas is not None or self.leaves is not None


def linear_part(program: Program) -> Program:
    """Return a relaxation: conditional and nonlinear rows and the demand for SOS left out."""
    rows = [program.products.rows, program.indicators.rows]
    rows += [part.row_numbers() for part in program.nonlinear]
    named = np.unique(np.concatenate(rows)) if rows else np.zeros(0, np.int64)
    free = named[named >= 0]
    lower, upper = program.row_lower.copy(), program.row_upper.copy()
    lower[free], upper[free] = -np.inf, np.inf
    return replace(
        program,
        row_lower=lower,
        row_upper=upper,
        products=NO_PRODUCTS,
        nonlinear=(),
        indicators=NO_INDICATORS,
        sos1=(),
    )


def irreducible_set(program: Program, *, seconds: float = MOST_SECONDS) -> Conflict | None:
    """Return a smallest infeasible set of families.

    ``program``: any program; what is not linear in it is left out, which only makes it easier to
    satisfy. ``seconds``: when the search ends with what it has.

    Returns None when the program has a point, or when nothing shows that it has none.
    """
    search = _Search(_feasibility(linear_part(program)), time.monotonic() + seconds)
    return search.run()


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
        if first is None or first.status not in ("infeasible", "optimal"):
            return None
        if first.status == "optimal":
            if not self.program.is_mip:
                return None
            self.whole_numbers = True
            first = self._solve(self.program)
            if first is None or first.status != "infeasible":
                return None
        else:
            self.program = relaxed
        families = self._supporting(first.farkas)
        families, irreducible = self._deletion(families)
        return self._conflict(families, irreducible)

    def _families(self) -> dict[Family, tuple[Ints, Ints]]:
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
        if left <= 0:
            return None
        return linear.solve_here(program, SolveOptions(time_limit=left))

    def _only(self, families: dict[Family, tuple[Ints, Ints]]) -> Program:
        return placed(self.program, families, whole=self.whole_numbers)

    def _supporting(self, ray: Floats | None) -> dict[Family, tuple[Ints, Ints]]:
        """Return the families that a ray needs; all of them without one, or if it needs more."""
        everything = self._families()
        if ray is None:
            return everything
        needed = {
            family: places
            for family, places in everything.items()
            if supporting(self.program, ray, family, places).size
        }
        found = self._solve(self._only(needed))
        enough = found is not None and found.status == "infeasible"
        return needed if enough else everything

    def _deletion(
        self, families: dict[Family, tuple[Ints, Ints]]
    ) -> tuple[dict[Family, tuple[Ints, Ints]], bool]:
        """Leave out, one after the other, what is not needed; bounds are tried first."""
        kept, complete = dict(families), True
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

    def _shrunk(
        self, families: dict[Family, tuple[Ints, Ints]], ray: Floats | None
    ) -> dict[Family, tuple[Ints, Ints]]:
        """Leave out at once what a proof of a smaller set does not need."""
        if ray is None:
            return families
        alone = self._only(families)
        fewer = {f: p for f, p in families.items() if supporting(alone, ray, f, p).size}
        proof = farkas.margin(self._only(fewer), ray)
        return fewer if proof > MARGIN else families

    def _conflict(
        self, families: dict[Family, tuple[Ints, Ints]], irreducible: bool
    ) -> Conflict | None:
        alone = self._only(families)
        crossing = bool(_crossing(alone))
        if crossing:
            return self._told(alone, families, None, None, crossing, irreducible)
        self.deadline = max(self.deadline, time.monotonic() + 5.0)
        result = self._solve(alone)
        if result is None or result.status != "infeasible":
            return None
        ray = None if self.whole_numbers else result.farkas
        if ray is not None and not farkas.margin(alone, ray) > MARGIN:
            ray = None
        leaves = self._leaves(alone) if self.whole_numbers else None
        if self.whole_numbers and leaves is None and (ranges := self._ranges(families)):
            # A tree may need the ranges of whole numbers to end, though nothing is within without.
            families, irreducible = {**families, **ranges}, False
            alone = self._only(families)
            leaves = self._leaves(alone)
        return self._told(alone, families, ray, leaves, crossing, irreducible)

    def _ranges(
        self, families: Mapping[Family, tuple[Ints, Ints]]
    ) -> dict[Family, tuple[Ints, Ints]]:
        """Return the limits of whole numbers that a set does without."""
        whole = self.program.integrality
        return {
            family: places
            for family, places in self._families().items()
            if family.kind == "bound"
            and family not in families
            and whole[np.concatenate(places)].any()
        }

    def _told(
        self,
        alone: Program,
        families: dict[Family, tuple[Ints, Ints]],
        ray: Floats | None,
        leaves: int | None,
        crossing: bool,
        irreducible: bool,
    ) -> Conflict:
        members = tuple(_member(alone, f, places, ray) for f, places in families.items())
        ordered = sorted(members, key=lambda m: m.family.kind == "bound")
        return Conflict(
            members=tuple(ordered),
            program=alone,
            whole_numbers=self.whole_numbers,
            farkas=ray,
            leaves=leaves,
            crossing=crossing,
            irreducible=irreducible,
        )

    def _leaves(self, program: Program) -> int | None:
        """Return how many leaves a tree has in which every leaf is proven; None if too many."""
        open_nodes, leaves = [linear.relaxation(program)], 0
        whole = np.flatnonzero(program.integrality)
        while open_nodes:
            node = open_nodes.pop()
            if np.any(node.column_lower > node.column_upper):
                leaves += 1
                continue
            result = self._solve(node)
            if result is None or leaves + len(open_nodes) > MAX_LEAVES:
                return None
            if result.status == "infeasible":
                if result.farkas is None or not farkas.margin(node, result.farkas) > MARGIN:
                    return None
                leaves += 1
                continue
            if result.x is None:
                return None
            away = np.abs(result.x[whole] - np.round(result.x[whole]))
            if not away.size or float(away.max()) < 1e-6:
                return None
            open_nodes += _branches(node, int(whole[int(np.argmax(away))]), result.x)
        return leaves


def _branches(node: Program, column: int, x: Floats) -> list[Program]:
    upper, lower = node.column_upper.copy(), node.column_lower.copy()
    upper[column], lower[column] = np.floor(x[column]), np.ceil(x[column])
    return [replace(node, column_upper=upper), replace(node, column_lower=lower)]


def _crossing(program: Program) -> dict[Family, tuple[Ints, Ints]]:
    """Return the two families of the first limits that cross by themselves; empty if none do."""
    pairs = (
        ("bound", program.columns, program.column_lower, program.column_upper),
        ("constraint", program.rows, program.row_lower, program.row_upper),
    )
    for kind, blocks, lower, upper in pairs:
        wrong = np.flatnonzero(lower > upper)
        block = next((b for b in blocks if np.any((wrong >= b.start) & (wrong < b.stop))), None)
        if block is None or block.generated:
            continue
        here = wrong[(wrong >= block.start) & (wrong < block.stop)]
        none = np.zeros(0, np.int64)
        chosen: Kind = "bound" if kind == "bound" else "constraint"
        name = block.constraint_id if isinstance(block, RowBlock) else block.name
        return {
            Family(chosen, name, "lower"): (here, none),
            Family(chosen, name, "upper"): (none, here),
        }
    return {}


def _feasibility(program: Program) -> Program:
    return replace(program, cost=np.zeros_like(program.cost), offset=0.0, goals=(), method=None)


def families_of(program: Program) -> dict[Family, tuple[Ints, Ints]]:
    """Return the families of a program: places of their lower and of their upper limits."""
    found: dict[Family, tuple[Ints, Ints]] = {}
    rows = [("constraint", b.constraint_id, b, b.generated) for b in program.rows]
    columns = [("bound", b.name, b, b.generated) for b in program.columns]
    limits: Mapping[str, tuple[Floats, Floats]] = {
        "constraint": (program.row_lower, program.row_upper),
        "bound": (program.column_lower, program.column_upper),
    }
    for kind, name, block, generated in (*rows, *columns):
        if generated:
            continue
        for family, places in _split(kind, name, block, *limits[kind]):
            before = found.get(family)
            if before is not None:
                places = (_joined(before[0], places[0]), _joined(before[1], places[1]))
            found[family] = places
    return found


def _joined(first: Ints, second: Ints) -> Ints:
    return np.concatenate([first, second])


def _split(
    kind: str, name: str, block: Block, lower: Floats, upper: Floats
) -> Iterator[tuple[Family, tuple[Ints, Ints]]]:
    places = np.arange(block.start, block.stop)
    low, high = lower[places], upper[places]
    equal = low == high
    none = np.zeros(0, np.int64)
    chosen: Kind = "bound" if kind == "bound" else "constraint"
    if equal.any():
        yield Family(chosen, name, "both"), (places[equal], places[equal])
    for side, mask in (("lower", np.isfinite(low)), ("upper", np.isfinite(high))):
        here = places[mask & ~equal]
        if here.size:
            ends = (here, none) if side == "lower" else (none, here)
            yield Family(chosen, name, "lower" if side == "lower" else "upper"), ends


def subset(program: Program, families: Mapping[Family, tuple[Ints, Ints]]) -> Program:
    """Return the program in which every limit but those of some families is left out.

    Limits that the compiler put in to say a function in linear rows stay.
    """
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


def placed(
    program: Program, families: Mapping[Family, tuple[Ints, Ints]], *, whole: bool
) -> Program:
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
    used = [lower[weights[lower] > enough], upper[weights[upper] < -enough]]
    return np.unique(np.concatenate(used))


def _member(
    program: Program, family: Family, places: tuple[Ints, Ints], ray: Floats | None
) -> Member:
    if ray is None:
        carried = np.unique(np.concatenate(places))
    else:
        carried = supporting(program, ray, family, places)
        carried = carried if carried.size else np.unique(np.concatenate(places))
    block = _block_of(program, family)
    return Member(family, positions_of(program, family, carried), block.sets, block.shape)


def positions_of(program: Program, family: Family, places: Ints) -> Ints:
    """Return where rows or columns of a family stand on the full grid of its blocks, sorted."""
    blocks: list[Block] = (
        [b for b in program.rows if b.constraint_id == family.name]
        if family.kind == "constraint"
        else [b for b in program.columns if b.name == family.name]
    )
    found = []
    for block in blocks:
        inside = places[(places >= block.start) & (places < block.stop)] - block.start
        found.append(inside if block.positions is None else block.positions[inside])
    return np.unique(np.concatenate(found))


def _block_of(program: Program, family: Family) -> Block:
    if family.kind == "constraint":
        return program.row_block(family.name)
    return program.column_block(family.name)
