"""The door to the exact method for storage chains, and the bound that its duals prove."""

import time
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from engiagent import __version__
from engiagent.errors import EngiagentError
from engiagent.formulations.classify import ProblemClass
from engiagent.formulations.program import Program
from engiagent.solvers.adapter import Feature, Need, Watch
from engiagent.solvers.chain.model import Model, UnsuitableError, build_model
from engiagent.solvers.chain.plan import evaluate
from engiagent.solvers.chain.recursions import SHORT, Kernel, choose_kernel, keep_memory
from engiagent.solvers.result import SolveOptions, SolverResult, relative_gap
from engiagent.solvers.structure.chain import Entries, Floats, StorageChain, find_chain

NOISE = 1e-11
"""Up to this share of its terms the reduced cost of an unbounded column counts as zero."""


@dataclass(frozen=True, eq=False)
class Proof:
    """A point with duals, for the costs of a minimisation."""

    # objective, bound: at the point, and proven from below; without the program's constant
    objective: float
    bound: float
    # the largest amount by which a row or bound is missed, relative to the size of its terms
    residual: float

    @property
    def gap(self) -> float:
        """The distance between objective and bound, relative to the objective."""
        return abs(self.objective - self.bound) / max(1.0, abs(self.objective))


def prove(
    program: Program, entries: Entries, cost: Floats, point: tuple[Floats, Floats, Floats]
) -> Proof:
    """Return what a point x, duals y and reduced costs ``cost - Aᵀ y`` are worth."""
    x, y, reduced = point
    columns = program.column_lower, program.column_upper
    bound = _least(y, program.row_lower, program.row_upper, np.zeros(len(y)))
    noise = np.zeros(len(x))
    infinite = ~(np.isfinite(columns[0]) & np.isfinite(columns[1]))
    if infinite.any():
        sizes = np.abs(entries.values * y[entries.rows])
        noise = np.abs(cost) + np.bincount(entries.stored, sizes, len(x))
        noise = np.where(infinite, NOISE * noise, 0.0)
    bound += _least(reduced, *columns, noise)
    # Sums of products, not dot products: BLAS waits for threads that others have taken.
    return Proof(float((cost * x).sum()), bound, residual(program, entries, x))


def _least(slope: Floats, lower: Floats, upper: Floats, noise: Floats) -> float:
    """Return the least of ``slope · z`` over a box; -inf where it has no end."""
    with np.errstate(invalid="ignore"):
        terms = np.fmin(slope * lower, slope * upper)
        total = float(terms.sum())
        if np.isfinite(total):
            return total  # no bound is infinite: there is nothing to tell from noise
        terms = np.where(np.abs(slope) > noise, terms, 0.0)
    return float(terms.sum()) if np.isfinite(terms).all() else -np.inf


def residual(program: Program, entries: Entries, x: Floats) -> float:
    """Return the largest violation of a row or bound, relative to the size of its terms."""
    terms = entries.values * x[entries.stored]
    activity = entries.sums_by_row(terms)
    off = np.maximum(program.row_lower - activity, activity - program.row_upper)
    worst = np.maximum(program.column_lower - x, x - program.column_upper)
    worst = worst / np.maximum(1.0, np.abs(x))
    if not (off <= 0.0).all():
        worst = np.append(worst, off / np.maximum(1.0, entries.sums_by_row(np.abs(terms))))
    return float(np.maximum(worst, 0.0).max(initial=0.0))


NAME: Final = "engiagent storage chain"
CLASSES: Final[dict[ProblemClass, Need]] = {"LP": "convex"}
FEATURES: Final[frozenset[Feature]] = frozenset({"duals", "global"})
OPTIONS: Final = {
    "time_limit": "takes less than a second",
    "gap": "exact",
    "threads": "uses one",
    "seed": "makes no random choices",
}
REQUIRES: Final = ()
VERSION: Final = __version__
PROVEN = 1e-9


def solve_here(program: Program, options: SolveOptions, watch: Watch | None = None) -> SolverResult:
    """Solve a program that is a storage chain; EngiagentError when the program is none."""
    result = try_chain(program, options)
    if result is None:
        raise EngiagentError(
            "the backend chain takes only a store, or several that share nothing; "
            "leave the choice of the backend open"
        )
    return result


def try_chain(program: Program, options: SolveOptions) -> SolverResult | None:
    """Return the optimum of a storage chain, or None when the program is none."""
    if not program.is_linear or program.is_mip or program.goals:
        return None
    found = find_chain(program)
    return None if found is None else solve_chain(program, found)


def solve_chain(
    program: Program, chain: StorageChain, *, kernel: Kernel | None = None
) -> SolverResult | None:
    """Return the optimum of storage chains, proven to a relative 1e-9, or None: ask HiGHS."""
    started = time.perf_counter()
    kernel = kernel or choose_kernel(chain.steps)
    if chain.steps > SHORT:
        keep_memory()
    try:
        model = build_model(program, chain)
        found = evaluate(model, kernel)
    except UnsuitableError:
        return None
    if found is None:
        return None
    result = _proven(model, *found)
    return None if result is None else replace(result, seconds=time.perf_counter() - started)


def _proven(model: Model, x: Floats, y: Floats, reduced: Floats) -> SolverResult | None:
    program, sign = model.program, model.sign
    np.clip(x, program.column_lower, program.column_upper, out=x)
    cost = model.cost[: program.column_count]
    proof = prove(program, model.chain.entries, cost, (x, y, reduced))
    if not (proof.gap <= PROVEN and proof.residual <= PROVEN):
        return None
    for prices in (y, reduced):
        np.multiply(prices, sign, out=prices)
        np.add(prices, 0.0, out=prices)  # no negative zeros
    objective = sign * proof.objective + program.offset
    bound = sign * proof.bound + program.offset
    return SolverResult(
        status="optimal",
        reason="optimal",
        is_mip=False,
        solver=NAME,
        solver_version=__version__,
        x=x,
        row_dual=y,
        column_dual=reduced,
        objective=objective,
        bound=bound,
        gap=relative_gap(objective, bound),
    )
