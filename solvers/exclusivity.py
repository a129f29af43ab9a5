r"""Binaries that forbid two columns to run at once, as charging and discharging: most are idle.

A pair :math:`c, g \ge 0` is exclusive through a binary b by :math:`c \le P_c b` and
:math:`g \le P_g (1 - b)`, or through two binaries with :math:`u + v \le 1`.

*Exact.* Leaving out binaries relaxes the program: only :math:`c \le P_c, g \le P_g` remain. If the
best plan of the relaxed program keeps every pair apart, it obeys the whole program, and no plan of
the whole program is better, for each is also a plan of the relaxed one. So binaries are put in
only where the reduced costs say that both directions at once can pay, then wherever a plan still
runs both, and the program is solved again until no pair does. Where c and g share nothing but one
row with coefficients of opposite sign, lowering both by :math:`(1, \rho)` leaves that row as it is
and changes the cost by :math:`-(p_c + \rho p_g)`, so that where this is not positive no binary is
ever needed: for a store that trades, where :math:`p(1 - \eta) + w\eta \ge 0`.

*First try.* Of a store that does one thing at a time, charging alone has to fit under the upper
bound of the next state and discharging alone above the lower one. These two cuts make the
relaxation nearly tight; its signs are fixed, the rest is solved again, and the relaxation's
objective is the proven bound. When that leaves more than the gap asked for, the exact way follows.
"""

import time
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from engiagent.formulations.classify import ProblemClass
from engiagent.formulations.program import Program
from engiagent.solvers import linear
from engiagent.solvers.adapter import Feature, Need, Watch
from engiagent.solvers.chain.cuts import with_cuts
from engiagent.solvers.chain.solving import solve_chain
from engiagent.solvers.result import SolveOptions, SolverResult, relative_gap
from engiagent.solvers.structure.chain import Entries, StorageChain, entries_of, find_chain

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

NAME: Final = "HiGHS with few binaries"
CLASSES: Final[dict[ProblemClass, Need]] = {"MILP": "any"}
FEATURES: Final[frozenset[Feature]] = linear.FEATURES - {"ray"}
OPTIONS: Final = {name: how for name, how in linear.OPTIONS.items() if name != "log"}
REQUIRES: Final = linear.REQUIRES

FAST_GAP: Final = 1e-3
"""The proven gap that is enough when speed is asked for."""
MOST_ROUNDS: Final = 8
APART: Final = 1e-9
"""Up to this share of its largest value a column counts as zero."""
FEWEST_PAIRS: Final = 8


@dataclass(frozen=True, eq=False)
class Exclusivity:
    """Pairs of columns of which at most one may differ from zero."""

    columns: Ints  # the two columns of each pair, shape (2, k)
    # binaries, values: the binary that rules each column and its value at which the column is free,
    # (2, k)
    binaries: Ints
    values: Floats
    limits: Floats  # the largest value of each column when it is free, shape (2, k)
    rows: Ints  # the row that ties each column to its binary, shape (2, k)
    # the row that ties two binaries, shape (k,); -1 where one binary rules both columns
    packs: Ints

    @property
    def size(self) -> int:
        """Number of pairs."""
        return int(self.columns.shape[1])

    def __str__(self) -> str:
        return f"{self.size} pairs of columns that exclude each other through binaries"


def solve_here(program: Program, options: SolveOptions, watch: Watch | None = None) -> SolverResult:
    """Solve a mixed-integer linear program in this process, as it is where pairs do not help."""
    pairs = find_exclusivity(program)
    if pairs is not None:
        gap = max(options.gap, FAST_GAP) if options.speed else options.gap
        result = solve_exclusive(program, pairs, replace(options, gap=gap))
        if result is not None:
            return result
    return linear.solve_here(program, options, watch)


def find_exclusivity(program: Program) -> Exclusivity | None:
    """Return the exclusive pairs of a mixed-integer linear program, or None when there are few."""
    if not program.is_mip or not program.is_linear or program.goals:
        return None
    entries = entries_of(program)
    binary = program.integrality & (program.cost == 0)
    binary &= (program.column_lower == 0) & (program.column_upper == 1)
    sizes, counts = entries.row_sizes(), entries.column_sizes()
    switches = _switches(program, entries, binary, sizes == 2)
    if switches is None:
        return None
    rows, columns, binaries, values, limits = switches
    order = np.lexsort((columns, binaries))
    rows, columns, binaries = rows[order], columns[order], binaries[order]
    values, limits = values[order], limits[order]
    uses = np.bincount(binaries, minlength=program.column_count)
    twice = (uses == 2) & (counts == 2)
    first = np.flatnonzero(twice[binaries])[::2]
    first = first[values[first] + values[first + 1] == 1.0]
    once = np.flatnonzero((uses == 1)[binaries] & (counts[binaries] == 2) & (values == 1.0))
    packed, packing = _packed(program, entries, sizes == 2, binaries, once)
    chosen = np.concatenate((np.stack((first, first + 1)), packed), axis=1)
    if chosen.shape[1] < FEWEST_PAIRS or len(np.unique(columns[chosen])) < chosen.size:
        return None
    packs = np.concatenate((np.full(len(first), -1), packing))
    ends = binaries[chosen], values[chosen], limits[chosen], rows[chosen]
    return Exclusivity(columns[chosen], *ends, packs)


def _switches(
    program: Program, entries: Entries, binary: Bools, short: Bools
) -> tuple[Ints, Ints, Ints, Floats, Floats] | None:
    """Return the rows ``x <= P b`` and ``x <= P (1 - b)``: row, x, b, value of b and P."""
    inside = entries.where(short[entries.rows])
    one, two = inside.columns[::2], inside.columns[1::2]
    rows = inside.rows[::2]
    flip = binary[one]
    x, b = np.where(flip, two, one), np.where(flip, one, two)
    of_x = np.where(flip, inside.values[1::2], inside.values[::2])
    of_b = np.where(flip, inside.values[::2], inside.values[1::2])
    fits = binary[b] & ~program.integrality[x] & (program.column_lower[x] == 0)
    low, high = program.row_lower[rows] / of_x, program.row_upper[rows] / of_x
    most, least = np.where(of_x > 0, high, low), np.where(of_x > 0, low, high)
    step = -of_b / of_x
    fits &= np.isneginf(least) & np.isfinite(most)
    when_one = fits & (most == 0) & (step > 0)
    when_zero = fits & (most > 0) & (np.abs(most + step) <= 1e-12 * most)
    keep = when_one | when_zero
    if not keep.any():
        return None
    limits = np.where(when_one, step, most)[keep]
    return rows[keep], x[keep], b[keep], when_one[keep].astype(np.float64), limits


def _packed(
    program: Program, entries: Entries, short: Bools, binaries: Ints, once: Ints
) -> tuple[Ints, Ints]:
    """Return the switches paired by rows ``u + v <= 1`` (2, k), and these rows (k,)."""
    where = np.full(program.column_count, -1, dtype=np.int64)
    where[binaries[once]] = once
    inside = entries.where(short[entries.rows])
    one, two = where[inside.columns[::2]], where[inside.columns[1::2]]
    rows, scale = inside.rows[::2], inside.values[::2]
    high = np.where(scale > 0, program.row_upper[rows], program.row_lower[rows])
    fits = (one >= 0) & (two >= 0) & (inside.values[1::2] == scale) & (high == scale)
    return np.stack((one[fits], two[fits])), rows[fits]


def solve_exclusive(
    program: Program, pairs: Exclusivity, options: SolveOptions
) -> SolverResult | None:
    """Return a plan within the gap, found with few of the binaries, or None: ask HiGHS."""
    started = time.perf_counter()
    task = _Task(program, pairs, options, started)
    everything = np.ones(pairs.size, dtype=bool)
    relaxed = task.solve(without(program, pairs, everything))
    if relaxed is None or relaxed.x is None or relaxed.objective is None:
        return None
    needed = task.both_pay(relaxed) | task.both_run(relaxed)
    result = task.fast(needed) if needed.any() else None
    if result is None:
        result = task.exact(relaxed, needed)
    return None if result is None else replace(result, seconds=time.perf_counter() - started)


def without(program: Program, pairs: Exclusivity, dropped: Bools) -> Program:
    """Return the program without the binaries of the pairs chosen, bounds left in their place."""
    lower, upper = program.row_lower.copy(), program.row_upper.copy()
    gone = pairs.rows[:, dropped].ravel()
    packs = pairs.packs[dropped]
    gone = np.concatenate((gone, packs[packs >= 0]))
    lower[gone], upper[gone] = -np.inf, np.inf
    most = program.column_upper.copy()
    columns = pairs.columns[:, dropped]
    most[columns] = np.minimum(most[columns], pairs.limits[:, dropped])
    whole, idle = program.integrality.copy(), pairs.binaries[:, dropped]
    whole[idle], most[idle] = False, 0.0
    return replace(program, row_lower=lower, row_upper=upper, column_upper=most, integrality=whole)


@dataclass(frozen=True, eq=False)
class _Task:
    """One solve with what all its parts need."""

    program: Program
    pairs: Exclusivity
    options: SolveOptions
    started: float

    def remaining(self) -> SolveOptions | None:
        """Return the options with the time that is left, or None when none is."""
        if self.options.time_limit is None:
            return self.options
        left = self.options.time_limit - (time.perf_counter() - self.started)
        return replace(self.options, time_limit=left) if left > 0 else None

    def solve(self, program: Program) -> SolverResult | None:
        """Return the optimum of a program by the best method, or None."""
        options = self.remaining()
        if options is None:
            return None
        chain = None if program.is_mip else find_chain(program)
        result = None if chain is None else solve_chain(program, chain)
        result = result or linear.solve_here(program, options)
        return result if result.status == "optimal" else None

    def both_pay(self, relaxed: SolverResult) -> Bools:
        """Return for which pairs the reduced costs of both together are negative, shape (k,)."""
        assert relaxed.column_dual is not None
        sign = -1.0 if self.program.sense == "maximize" else 1.0
        reduced = sign * relaxed.column_dual
        one, two = self.pairs.columns
        both = reduced[one] + self.exchange() * reduced[two]
        size = np.abs(self.program.cost[one]) + np.abs(self.program.cost[two])
        return np.asarray(both < -1e-9 * size)

    def exchange(self) -> Floats:
        """Return how much of the second column makes up for one of the first, else 1, (k,)."""
        entries = entries_of(self.program)
        one, two = self.pairs.columns
        pair_of = np.full(self.program.column_count, -1, dtype=np.int64)
        pair_of[one], pair_of[two] = np.arange(self.pairs.size), np.arange(self.pairs.size)
        inside = entries.where(pair_of[entries.columns] >= 0)
        pair, is_first = pair_of[inside.columns], one[pair_of[inside.columns]] == inside.columns
        key = inside.rows * self.pairs.size + pair
        order = np.lexsort((~is_first, key))
        key, values, pair = key[order], inside.values[order], pair[order]
        meet = np.flatnonzero((key[:-1] == key[1:]) & (values[:-1] * values[1:] < 0))[::-1]
        result = np.ones(self.pairs.size)
        result[pair[meet]] = -values[meet] / values[meet + 1]
        return result

    def both_run(self, result: SolverResult) -> Bools:
        """Return which pairs run both columns at once, shape (k,)."""
        assert result.x is not None
        running = result.x[self.pairs.columns] > APART * np.maximum(1.0, self.pairs.limits)
        return np.asarray(running.all(axis=0))

    def exact(self, relaxed: SolverResult, needed: Bools) -> SolverResult | None:
        """Return the optimum: binaries where they are needed, and more where that shows."""
        found: SolverResult | None = relaxed
        if needed.any():
            found = self.solve(without(self.program, self.pairs, ~needed))
        for _ in range(MOST_ROUNDS):
            if found is None:
                return None
            clash = np.asarray(self.both_run(found) & ~needed)
            if not clash.any():
                break
            needed = np.asarray(needed | clash)
            found = self.solve(without(self.program, self.pairs, ~needed))
        else:
            return None
        assert found is not None
        bound = found.bound if found.bound is not None else found.objective
        return self.fixed(found, bound)

    def fixed(self, found: SolverResult, bound: float | None) -> SolverResult | None:
        """Return the best plan with the directions of ``found``, and its gap to a bound."""
        assert found.x is not None
        if bound is None:
            return None
        first = self.first_runs(found.x)
        lower, upper = self.program.column_lower.copy(), self.program.column_upper.copy()
        for place, runs in enumerate((first, ~first)):
            values = np.where(runs, self.pairs.values[place], 1.0 - self.pairs.values[place])
            lower[self.pairs.binaries[place]] = upper[self.pairs.binaries[place]] = values
        whole = self.program.integrality
        rest = whole.copy()
        rest[self.pairs.binaries] = False
        rounded = np.round(found.x)
        lower, upper = np.where(rest, rounded, lower), np.where(rest, rounded, upper)
        held = replace(linear.relaxation(self.program), column_lower=lower, column_upper=upper)
        plan = self.solve(held)
        if plan is None or plan.objective is None:
            return None
        gap = relative_gap(plan.objective, bound)
        if gap > max(self.options.gap, 1e-9):
            return None
        counted = replace(plan, nodes=found.nodes, iterations=found.iterations)
        return replace(counted, reason="optimal", is_mip=True, bound=bound, gap=gap)

    def first_runs(self, x: Floats) -> Bools:
        """Return which pairs run their first column more than their second, shape (k,)."""
        one, two = self.pairs.columns
        runs: Bools = x[one] > 1.0 / self.exchange() * x[two]
        return runs

    def fast(self, needed: Bools) -> SolverResult | None:
        """Return a plan from the relaxation with cuts, or None when its gap is too large."""
        program = without(self.program, self.pairs, ~needed)
        whole = program.integrality.copy()
        whole[self.pairs.binaries] = False
        program = replace(program, integrality=whole)
        chain = find_chain(without(self.program, self.pairs, np.ones_like(needed)))
        if chain is not None:
            program = with_cuts(program, chain, self.pairs.columns[:, needed])
        relaxed = self.solve(program)
        if relaxed is None or relaxed.objective is None:
            return None
        bound = relaxed.bound if program.is_mip else relaxed.objective
        return self.fixed(relaxed, bound)


@dataclass(frozen=True, eq=False)
class Structure:
    """What was recognised in a program; None where it was not."""

    # the whole program is storage chains, so that the exact method applies
    chain: StorageChain | None = None
    # pairs of columns that exclude each other through binaries
    exclusivity: Exclusivity | None = None

    def lines(self) -> tuple[str, ...]:
        """Return one line for each structure, as ``1 storage chain, 24 steps``."""
        return tuple(str(part) for part in (self.chain, self.exclusivity) if part is not None)


def recognise(program: Program) -> Structure:
    """Return the structure of a program, from its arrays alone."""
    return Structure(find_chain(program), find_exclusivity(program))
