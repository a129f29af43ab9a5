"""The adapter of SCIP: every class, to global optimality.

Whole numbers are rounded exactly; a program that is linear once they, and all conditions, are
fixed is then solved again by the simplex method, so that the point is exact and duals exist. A
curved rest is solved again by a method that is exact (:mod:`engiagent.solvers.remainder`).
Infeasible linear programs come with multipliers that prove it, from the same method.
"""

import time
from dataclasses import replace
from typing import Any, Final

import numpy as np

from engiagent.formulations.classify import ProblemClass
from engiagent.formulations.program import Program
from engiagent.solvers import linear
from engiagent.solvers.adapter import Feature, Need, Watch, distribution_version
from engiagent.solvers.feasibility import ACCEPTED, worst_violation
from engiagent.solvers.level_sets import confined
from engiagent.solvers.objectives import without_objective
from engiagent.solvers.remainder import EXACT, exact_rest, is_curved
from engiagent.solvers.result import (
    Floats,
    SolveOptions,
    SolverResult,
    Status,
    relative_gap,
    remaining,
)
from engiagent.solvers.rounding import Whole, made_whole
from engiagent.solvers.scip.build import Built, build
from engiagent.solvers.scip.watching import watched

NAME: Final = "SCIP"
CLASSES: Final[dict[ProblemClass, Need]] = {
    "LP": "any",
    "QP": "any",
    "SOCP": "any",
    "MILP": "any",
    "MIQP": "any",
    "MISOCP": "any",
    "NLP": "any",
    "MINLP": "any",
}
FEATURES: Final[frozenset[Feature]] = frozenset(
    {"indicators", "sos1", "farkas", "global", "start", "progress", "interrupt", "incumbents"}
)
OPTIONS: Final = {
    "time_limit": "`limits/time`",
    "gap": "`limits/gap` and `limits/absgap`",
    "threads": "uses one",
    "seed": "`randomization/randomseedshift`",
    "log": "log file of the message handler",
    "start": "`addSol`",
}
REQUIRES: Final = ("pyscipopt",)

LIMITS: Final = {
    "timelimit": "time limit",
    "memlimit": "memory limit",
    "nodelimit": "limit on the number of nodes",
    "sollimit": "limit on the number of solutions",
}
SOLVED: Final = ("optimal", "gaplimit")
OUT_OF_MEMORY: Final = "insufficient memory"
TOLERANCE: Final = 1e-7
FINE: Final = 1e-10
"""Tolerances of the first run, and of one whose bound turned out to lean on broken rows: the least
that its linear solver takes. The bound stays off by the root of it."""
LONGER: Final = 5.0
"""How much longer than the first the second run may take."""
TOUCHING: Final = 1e-3
"""Largest gap that broken rows explain; a point further off is another optimum."""
LOOSE: Final = (
    "the point keeps all rows; the proven bound lets curved rows be broken by the solver's "
    "tolerance, which leaves a gap"
)
ENDLESS: Final = 1e15


def solve_here(program: Program, options: SolveOptions, watch: Watch | None = None) -> SolverResult:
    """Solve a checked program in this process; see :mod:`engiagent.solvers.adapter`."""
    started = time.perf_counter()
    result = _solve(program, options, watch)
    return replace(result, seconds=time.perf_counter() - started)


def _solve(program: Program, options: SolveOptions, watch: Watch | None) -> SolverResult:
    started = time.perf_counter()
    built, status = _run(program, options, watch)
    if status == "inforunbd":
        return _infeasible_or_unbounded(program, built, remaining(options, started), watch)
    if status == "infeasible":
        return _infeasible(program, built, remaining(options, started))
    if status == "unbounded":
        return _result(program, built, "unbounded", linear.unbounded_reason(program, None))
    x = _point(built)
    if x is None:
        return _stopped(program, options, built, status, None)
    left = remaining(options, started)
    whole = made_whole(program, left, x, lambda rest: _rest(rest, left))
    found = _with_point(program, built, whole)
    if status not in SOLVED:
        return _stopped(program, options, built, status, found)
    result = _optimal(program, options, built, found)
    if result.x is None or not is_curved(program):
        return result
    spent = time.perf_counter() - started
    return _sharpened(program, remaining(options, started), watch, result, spent)


def _sharpened(
    program: Program, options: SolveOptions, watch: Watch | None, result: SolverResult, spent: float
) -> SolverResult:
    """Return the result with a point that keeps curved rows to rounding, where there is one.

    When that point is off the bound, the bound allows for broken rows; it is then proven anew with
    a smaller tolerance, for a time in proportion to what was ``spent``. [s]
    """
    assert result.x is not None
    began = time.perf_counter()
    exact = exact_rest(program, options, result.x)
    better = result if exact is None else _exact(program, options, result, exact)
    if better.status == "optimal" and (exact is not None or not _is_broken(program, result)):
        return better
    # Not from the exact point: it would have to be proven without the tolerance.
    finer = remaining(replace(options, start=None), began)
    finer = replace(finer, time_limit=min(finer.time_limit or np.inf, spent * LONGER + 1.0))
    built, status = _run(program, finer, watch, FINE)
    x = _point(built)
    if status not in SOLVED or x is None:
        return better
    whole = made_whole(program, finer, x, lambda rest: _rest(rest, finer))
    again = _optimal(program, options, built, _with_point(program, built, whole))
    if again.x is None or not _is_broken(program, again):
        return better if again.x is None else again
    closer = exact_rest(program, remaining(options, began), again.x) or exact
    if closer is None:
        return again
    sharp = _exact(program, options, again, closer)
    return sharp if sharp.gap is not None and sharp.gap <= TOUCHING else again


def _is_broken(program: Program, result: SolverResult) -> bool:
    """Whether a point breaks a row by more than rounding, and could do better."""
    assert result.x is not None
    free = not bool(program.integrality.all())
    return free and worst_violation(program, result.x).amount > EXACT


def _exact(
    program: Program, options: SolveOptions, result: SolverResult, exact: SolverResult
) -> SolverResult:
    """Return the result with the point of its rest; a convex rest that is all has its own proof."""
    assert exact.objective is not None
    bound = result.bound
    if exact.status == "optimal" and not program.is_mip and exact.bound is not None:
        bound = exact.bound
    gap = None if bound is None else relative_gap(exact.objective, bound)
    found = replace(result, x=exact.x, objective=exact.objective, bound=bound, gap=gap)
    if gap is None or gap > max(2 * options.gap, 1e-6):
        return replace(found, status="feasible", reason=LOOSE)
    return replace(found, status="optimal", reason="optimal")


def _rest(program: Program, options: SolveOptions) -> Floats | None:
    """Return a point of a program whose whole numbers are fixed."""
    built, _ = _run(program, replace(options, start=None), None)
    return _point(built)


def _run(
    program: Program, options: SolveOptions, watch: Watch | None, tolerance: float = TOLERANCE
) -> tuple[Built, str]:
    known = confined(program, options)
    if options.start is None and known.start is not None:
        options = replace(options, start=known.start)
    built = build(known.program, known.bound)
    _set(built.model, options)
    built.model.setParam("numerics/feastol", tolerance)
    if options.start is not None:
        _begin_at(built, options.start)
    try:
        with watched(built, watch):
            built.model.optimizeNogil()
    except Exception as error:  # its errors, of its linear solver for one, are of no other class
        if OUT_OF_MEMORY in str(error):
            raise MemoryError(str(error)) from error
        return built, f"the error {error}"
    return built, str(built.model.getStatus())


def _set(model: Any, options: SolveOptions) -> None:
    model.setParam("limits/gap", options.gap)
    model.setParam("limits/absgap", options.gap)
    model.setParam("randomization/randomseedshift", options.seed)
    if options.time_limit is not None:
        model.setParam("limits/time", float(options.time_limit))
    if options.memory_limit_mb is not None:
        model.setParam("limits/memory", float(options.memory_limit_mb))
    if options.log is not None:
        model.setLogfile(options.log)


def _begin_at(built: Built, start: Floats) -> None:
    model = built.model
    solution = model.createPartialSol()
    for variable, value in zip(built.variables, start.tolist(), strict=True):
        model.setSolVal(solution, variable, value)
    model.addSol(solution)


def _point(built: Built) -> Floats | None:
    if built.model.getNSols() == 0:
        return None
    x = built.point(built.model.getBestSol())
    return x if bool(np.all(np.isfinite(x))) else None


def _with_point(program: Program, built: Built, whole: Whole) -> SolverResult:
    objective = program.objective_at(whole.x)
    bound = _bound(built)
    return _result(
        program,
        built,
        "feasible",
        "",
        x=whole.x,
        objective=objective,
        bound=bound,
        gap=None if bound is None else relative_gap(objective, bound),
        row_dual=whole.row_dual,
        column_dual=whole.column_dual,
    )


def _bound(built: Built) -> float | None:
    bound = float(built.model.getDualbound())
    return bound if abs(bound) < ENDLESS * 1e5 else None


def _optimal(
    program: Program, options: SolveOptions, built: Built, found: SolverResult
) -> SolverResult:
    assert found.x is not None
    if bool(np.any(np.abs(found.x) > ENDLESS)) or abs(found.objective or 0.0) > ENDLESS:
        return _result(program, built, "unbounded", linear.unbounded_reason(program, None))
    worst = worst_violation(program, found.x)
    if not worst.amount <= ACCEPTED:
        return replace(
            found,
            status="error",
            reason=f"the solver's point breaks {worst.place} by {worst.amount:.2g}",
            x=None,
            objective=None,
            gap=None,
            row_dual=None,
            column_dual=None,
        )
    if found.gap is None or found.gap > max(2 * options.gap, 1e-6):
        reason = "the whole numbers were rounded exactly, which left a gap to the bound"
        return replace(found, reason=reason)
    return replace(found, status="optimal", reason="optimal")


def _infeasible(program: Program, built: Built, options: SolveOptions) -> SolverResult:
    if program.is_linear:
        relaxed = linear.solve_lp(linear.relaxation(program), options, None)
        if relaxed.status == "infeasible":
            reason = "no point satisfies all constraints"
            return _result(program, built, "infeasible", reason, farkas=relaxed.farkas)
    what = "no point with whole numbers" if program.is_mip else "no point"
    reason = f"{what} satisfies all constraints, says the branch and bound"
    return _result(program, built, "infeasible", reason)


def _infeasible_or_unbounded(
    program: Program, built: Built, options: SolveOptions, watch: Watch | None
) -> SolverResult:
    """Tell the two apart by any point at all."""
    again, status = _run(without_objective(program), options, watch)
    if status == "infeasible":
        return _infeasible(program, built, options)
    if _point(again) is None:
        return _stopped(program, options, again, status, None)
    return _result(program, built, "unbounded", linear.unbounded_reason(program, None))


def _stopped(
    program: Program, options: SolveOptions, built: Built, status: str, found: SolverResult | None
) -> SolverResult:
    """Return the result of a run that ended early, or for a cause that nobody expected."""
    done = f"after {built.model.getNTotalNodes():,} nodes".replace(",", " ")
    kept = "no schedule found" if found is None else "the best schedule so far is kept"
    word: Status = "limit" if found is None else "feasible"
    if status in LIMITS:
        name = LIMITS[status]
        if status == "timelimit" and options.time_limit is not None:
            name += f" of {options.time_limit:g} s"
        if status == "memlimit" and options.memory_limit_mb is not None:
            name += f" of {options.memory_limit_mb:g} MB"
        reason = f"{name} reached {done}, {kept}"
    elif status == "userinterrupt":
        word, reason = "interrupted", f"interrupted {done}, {kept}"
    else:
        word, reason = "error", f"the solver ended with {status} {done}, {kept}"
    if found is None:
        return _result(program, built, word, reason, bound=_bound(built))
    return replace(found, status=word, reason=reason)


def _result(
    program: Program, built: Built, status: Status, reason: str, **values: Any
) -> SolverResult:
    return SolverResult(
        status=status,
        reason=reason,
        is_mip=program.is_mip,
        solver=NAME,
        solver_version=distribution_version(REQUIRES[0]) or "unknown",
        iterations=int(built.model.getNLPIterations()),
        nodes=int(built.model.getNTotalNodes()),
        **values,
    )
