"""The adapter of HiGHS: what to try with a program, and what the outcome means.

After a mixed-integer solve the whole numbers are rounded exactly, fixed, and the rest is solved
again, so that the point is exact and duals exist. An infeasible program comes with multipliers
that prove it wherever its linear relaxation is infeasible.
"""

import time
from dataclasses import replace
from typing import Any, Final

import numpy as np

from engiagent.formulations.classify import ProblemClass
from engiagent.formulations.program import Program
from engiagent.solvers import farkas
from engiagent.solvers.adapter import Feature, Need, Watch
from engiagent.solvers.highs import (
    AMBIGUOUS,
    DOUBTFUL,
    INTERRUPTED,
    KEEN,
    LIMITS,
    NAME,
    PLAIN_SIMPLEX,
    TIGHT,
    Run,
    run_highs,
)
from engiagent.solvers.linear_proof import SEEN, is_proven, with_proof
from engiagent.solvers.result import (
    Floats,
    SolveOptions,
    SolverResult,
    Status,
    relative_gap,
    remaining,
)
from engiagent.solvers.validate import place_of

CLASSES: Final[dict[ProblemClass, Need]] = {"LP": "convex", "MILP": "any"}
FEATURES: Final[frozenset[Feature]] = frozenset(
    {"duals", "farkas", "ray", "global", "start", "progress", "interrupt", "incumbents"}
)
OPTIONS: Final = {
    "time_limit": "`time_limit`",
    "gap": "`mip_rel_gap`",
    "threads": "`threads`",
    "seed": "`random_seed`",
    "log": "`log_file`",
    "start": "`setSolution`, for MILP; a linear program needs none",
}
REQUIRES: Final = ("highspy",)


def solve_here(program: Program, options: SolveOptions, watch: Watch | None = None) -> SolverResult:
    """Solve a checked program in this process.

    ``program``: as :func:`engiagent.solvers.validate.check_program` accepts it. ``options``: limits
    and settings; ``memory_limit_mb`` is the caller's to enforce. ``watch``: observers of the run.
    Raises EngiagentError when HiGHS refuses the program or an option.
    """
    started = time.perf_counter()
    solve = _solve_mip if program.is_mip else solve_lp
    result = solve(program, options, watch)
    return replace(result, seconds=time.perf_counter() - started)


def solve_lp(program: Program, options: SolveOptions, watch: Watch | None) -> SolverResult:
    """Solve a linear program; whole numbers are not looked at."""
    started = time.perf_counter()
    run = run_highs(program, options, watch)
    if run.status in DOUBTFUL:
        run = run_highs(program, remaining(options, started), watch, PLAIN_SIMPLEX)
    if run.status in ("kOptimal", "kModelEmpty"):
        return _optimal_lp(program, run)
    if run.status == "kInfeasible":
        return _infeasible_lp(program, run, remaining(options, started), watch)
    if run.status == "kUnbounded":
        return _unbounded_lp(program, run, remaining(options, started), watch)
    return stopped(program, options, run, run.point())


def _optimal_lp(program: Program, run: Run) -> SolverResult:
    result = _claimed_lp(program, run)
    if result.x is None or run.dual_error <= SEEN or is_proven(program, result):
        return result
    again = run.again(KEEN)
    if again.status == "kOptimal":
        keen = _claimed_lp(program, again)
        if keen.x is not None and is_proven(program, keen):
            return keen
        result = keen if keen.x is not None else result
    return with_proof(program, result)


def _claimed_lp(program: Program, run: Run) -> SolverResult:
    """Return a point that HiGHS calls optimal."""
    x = run.point() if program.column_count else np.zeros(0)
    if x is None:
        return _result(
            program, run, "error", "the solver says optimal but returned no finite point"
        )
    if not program.column_count and not _empty_rows_hold(program):
        return _result(program, run, "infeasible", "a constraint without variables does not hold")
    row_dual, column_dual = run.duals()
    objective = program.objective_at(x)
    return _result(
        program,
        run,
        "optimal",
        "optimal",
        x=x,
        row_dual=row_dual,
        column_dual=column_dual,
        objective=objective,
        bound=objective,
        gap=0.0,
    )


def _empty_rows_hold(program: Program) -> bool:
    return bool(np.all((program.row_lower <= 0) & (program.row_upper >= 0)))


def _infeasible_lp(
    program: Program, run: Run, options: SolveOptions, watch: Watch | None
) -> SolverResult:
    ray = _farkas(program, run)
    if ray is None and not run.plain:
        # Presolve or another algorithm found it; only the simplex method hands out a ray.
        again = run_highs(program, options, watch, PLAIN_SIMPLEX)
        ray = _farkas(program, again) if again.status == "kInfeasible" else None
    if ray is None:
        ray = farkas.of_one_row(program)
    reason = "no point satisfies all constraints"
    if ray is None:
        reason += "; the solver gave no duals that prove it"
    return _result(program, run, "infeasible", reason, farkas=ray)


def _farkas(program: Program, run: Run) -> Floats | None:
    ray = run.dual_ray()
    return None if ray is None or not program.row_count else farkas.oriented(program, ray)


def _unbounded_lp(
    program: Program, run: Run, options: SolveOptions, watch: Watch | None
) -> SolverResult:
    ray = run.primal_ray()
    if ray is None:
        again = run_highs(program, options, watch, PLAIN_SIMPLEX)
        ray = again.primal_ray() if again.status == "kUnbounded" else None
    if ray is None:
        ray = _lonely_ray(program)
    return _result(program, run, "unbounded", unbounded_reason(program, ray), ray=ray)


def _lonely_ray(program: Program) -> Floats | None:
    """Return the direction of a column that no row holds back; HiGHS gives none for it."""
    sign = -1.0 if program.sense == "maximize" else 1.0
    lonely = np.ones(program.column_count, dtype=bool)
    lonely[program.row_columns[program.row_values != 0]] = False
    falls, grows = sign * program.cost > 0, sign * program.cost < 0
    endless = (falls & np.isinf(program.column_lower)) | (grows & np.isinf(program.column_upper))
    found = np.flatnonzero(lonely & endless)
    if not len(found):
        return None
    ray = np.zeros(program.column_count)
    ray[found[0]] = 1.0 if grows[found[0]] else -1.0
    return ray


def unbounded_reason(program: Program, ray: Floats | None) -> str:
    """Return a sentence that names the variables which run away."""
    reason = "the objective improves without end"
    if ray is None:
        return reason
    moving = np.argsort(-np.abs(ray), kind="stable")[:3]
    names = [place_of(program, program.columns, int(j)) for j in moving if ray[j] != 0]
    return f"{reason} along {', '.join(names)}: a bound is missing"


def _solve_mip(program: Program, options: SolveOptions, watch: Watch | None) -> SolverResult:
    started = time.perf_counter()
    run = run_highs(program, options, watch)
    if run.status in DOUBTFUL and run.status != AMBIGUOUS:
        run = run_highs(program, remaining(options, started), watch, {"presolve": "off"})
    if run.status == "kInfeasible":
        return _infeasible_mip(program, run, remaining(options, started), watch)
    if run.status in ("kUnbounded", AMBIGUOUS):
        return _unbounded_mip(program, run, remaining(options, started), watch)
    x = run.point()
    if x is None:
        return stopped(program, options, run, None)
    polished = polish(program, options, x)
    if polished is None and run.status == "kOptimal":
        # Whole numbers within the solver's tolerance were not good enough: ask for better ones.
        run = run_highs(program, remaining(options, started), watch, TIGHT)
        x = run.point()
        polished = None if x is None else polish(program, options, x)
    if polished is None:
        return _not_whole(program, options, run)
    if run.status != "kOptimal":
        return stopped(program, options, run, polished.x, polished)
    return _optimal_mip(program, options, run, polished)


def polish(program: Program, options: SolveOptions, x: Floats) -> SolverResult | None:
    """Round the whole numbers exactly, fix them, and solve the rest again.

    Returns None when no point is left, which tells of whole numbers that leaned on the tolerance.
    """
    whole = program.integrality
    values = np.clip(np.round(x), np.ceil(program.column_lower), np.floor(program.column_upper))
    fixed = replace(
        program,
        integrality=np.zeros_like(whole),
        column_lower=np.where(whole, values, program.column_lower),
        column_upper=np.where(whole, values, program.column_upper),
    )
    limit = None if options.time_limit is None else max(2.0, 0.1 * options.time_limit)
    result = solve_lp(fixed, replace(options, time_limit=limit), None)
    if result.status == "limit":
        point = np.where(whole, values, x)
        return replace(result, x=point, objective=program.objective_at(point))
    return result if result.x is not None else None


def _optimal_mip(
    program: Program, options: SolveOptions, run: Run, polished: SolverResult
) -> SolverResult:
    bound, objective = run.bound(), polished.objective
    gap = None if bound is None or objective is None else relative_gap(objective, bound)
    status: Status = "optimal"
    reason = "optimal"
    if gap is None or gap > max(2 * options.gap, 1e-9):
        status = "feasible"
        reason = "the whole numbers were rounded exactly, which left a gap to the bound"
        if bound is not None and objective is not None and _is_beyond(program, objective, bound):
            reason = "the solver's bound is worse than its own point, so that it proves nothing"
            result = _with_point(program, run, status, reason, polished)
            return replace(result, bound=None, gap=None)
    return _with_point(program, run, status, reason, polished)


def _is_beyond(program: Program, objective: float, bound: float) -> bool:
    """Whether a point is better than what is said to be the best."""
    return objective > bound if program.sense == "maximize" else objective < bound


def _with_point(
    program: Program, run: Run, status: Status, reason: str, polished: SolverResult
) -> SolverResult:
    bound, objective = run.bound(), polished.objective
    return _result(
        program,
        run,
        status,
        reason,
        x=polished.x,
        row_dual=polished.row_dual,
        column_dual=polished.column_dual,
        objective=objective,
        bound=bound,
        gap=None if bound is None or objective is None else relative_gap(objective, bound),
    )


def _not_whole(program: Program, options: SolveOptions, run: Run) -> SolverResult:
    if run.status in LIMITS or run.status in INTERRUPTED:
        return stopped(program, options, run, None)
    return _result(
        program,
        run,
        "error",
        "no schedule is left once the solver's whole numbers are rounded exactly; the "
        "coefficients differ too much in size, so tighten bounds or change units",
        bound=run.bound(),
    )


def _infeasible_mip(
    program: Program, run: Run, options: SolveOptions, watch: Watch | None
) -> SolverResult:
    relaxed = solve_lp(relaxation(program), options, watch)
    reason = "no point satisfies all constraints"
    if relaxed.status != "infeasible":
        reason = "no point with whole numbers satisfies all constraints, says the branch and bound"
    return _result(program, run, "infeasible", reason, farkas=relaxed.farkas)


def _unbounded_mip(
    program: Program, run: Run, options: SolveOptions, watch: Watch | None
) -> SolverResult:
    """Tell unbounded from infeasible: by the relaxation, then by any point at all."""
    relaxed = solve_lp(relaxation(program), options, watch)
    if relaxed.status == "infeasible":
        return _result(program, run, "infeasible", relaxed.reason, farkas=relaxed.farkas)
    if relaxed.status != "unbounded":
        return _result(program, run, "error", f"the solver ended with {run.status}")
    anything = run_highs(replace(program, cost=np.zeros_like(program.cost)), options, watch)
    if anything.status == "kInfeasible":
        reason = "no point with whole numbers satisfies all constraints, says the branch and bound"
        return _result(program, run, "infeasible", reason)
    if anything.point() is None:
        return stopped(program, options, anything, None)
    return _result(program, run, "unbounded", relaxed.reason, ray=relaxed.ray)


def relaxation(program: Program) -> Program:
    """Return the program without the demand for whole numbers."""
    return replace(program, integrality=np.zeros_like(program.integrality))


def stopped(
    program: Program,
    options: SolveOptions,
    run: Run,
    x: Floats | None,
    polished: SolverResult | None = None,
) -> SolverResult:
    """Return the result of a run that ended early, or for a cause that nobody expected."""
    done = f"{run.iterations:,} iterations".replace(",", " ")
    if program.is_mip and run.nodes:
        done += f" and {run.nodes:,} nodes".replace(",", " ")
    found = "no schedule found" if x is None else "the best schedule so far is kept"
    status: Status
    if run.status in LIMITS:
        status = "limit" if x is None else "feasible"
        name = LIMITS[run.status]
        if run.status == "kTimeLimit" and options.time_limit is not None:
            name += f" of {options.time_limit:g} s"
        if run.status == "kMemoryLimit" and options.memory_limit_mb is not None:
            name += f" of {options.memory_limit_mb:g} MB"
        reason = f"{name} reached after {done}, {found}"
    elif run.status in INTERRUPTED:
        status, reason = "interrupted", f"interrupted after {done}, {found}"
    else:
        status, reason = "error", f"the solver ended with {run.status} after {done}, {found}"
    if x is None:
        return _result(program, run, status, reason, bound=run.bound() if program.is_mip else None)
    if polished is not None:
        return _with_point(program, run, status, reason, polished)
    return _result(program, run, status, reason, x=x, objective=program.objective_at(x))


def _result(program: Program, run: Run, status: Status, reason: str, **values: Any) -> SolverResult:
    return SolverResult(
        status=status,
        reason=reason,
        is_mip=program.is_mip,
        solver=NAME,
        solver_version=run.version,
        iterations=run.iterations,
        nodes=run.nodes,
        **values,
    )
