r"""The adapter of HiGHS: what to try with a program, and what the outcome means.

After a mixed-integer solve the whole numbers are rounded exactly, fixed, and the rest is solved
again, so that the point is exact and duals exist. An infeasible program comes with multipliers
that prove it wherever its linear relaxation is infeasible.

HiGHS calls a point optimal whose reduced costs are right up to 1e-7. Over the range of a column
that can be the whole objective, so the claim is worked out: the objective is above the bound that
the multipliers prove by

.. math:: \sum_j \max(z_j, 0) (x_j - l_j) + \max(-z_j, 0) (u_j - x_j)

and the same of the rows.
"""

import time
from dataclasses import replace
from typing import Any, Final

import numpy as np

from engiagent.formulations.classify import ProblemClass
from engiagent.formulations.program import Program
from engiagent.solvers import farkas
from engiagent.solvers.adapter import Feature, Need, Watch
from engiagent.solvers.convex.optimality import examine
from engiagent.solvers.highs import (
    AMBIGUOUS,
    DOUBTFUL,
    INTERRUPTED,
    KEEN,
    LIMITS,
    NAME,
    PLAIN_SIMPLEX,
    SEEN,
    TIGHT,
    Run,
    run_highs,
)
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
NEGLIGIBLE: Final = 1e-9
"""Distance to the bound, relative to the sum of the objective's terms, that is as good as none."""
ACCEPTED: Final = 1e-6
"""Gap of what is called optimal."""
NO_POINT: Final = "no point satisfies all constraints"
NO_WHOLE_POINT: Final = (
    "no point with whole numbers satisfies all constraints, says the branch and bound"
)


def solve_here(program: Program, options: SolveOptions, watch: Watch | None = None) -> SolverResult:
    """Solve a checked program in this process."""
    started = time.perf_counter()
    result = (_solve_mip if program.is_mip else solve_lp)(program, options, watch)
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
        reason = "the solver says optimal but returned no finite point"
        return _result(program, run, "error", reason)
    if not program.column_count and np.any((program.row_lower > 0) | (program.row_upper < 0)):
        return _result(program, run, "infeasible", "a constraint without variables does not hold")
    row_dual, column_dual = run.duals()
    value = program.objective_at(x)
    point = {"x": x, "row_dual": row_dual, "column_dual": column_dual, "objective": value}
    return _result(program, run, "optimal", "optimal", **point, bound=value, gap=0.0)


def is_proven(program: Program, result: SolverResult) -> bool:
    """Return whether point and multipliers of a linear program leave nothing to be gained."""
    if result.x is None or result.row_dual is None or result.column_dual is None:
        return False
    sign = -1.0 if program.sense == "maximize" else 1.0
    x, activity = result.x, program.activity_at(result.x)
    left = _left(sign * result.column_dual, x, program.column_lower, program.column_upper)
    left += _left(sign * result.row_dual, activity, program.row_lower, program.row_upper)
    return left <= NEGLIGIBLE * float(np.abs(program.cost * x).sum())


def _left(dual: Floats, values: Floats, lower: Floats, upper: Floats) -> float:
    room = np.where(dual > 0, values - lower, upper - values)
    some = dual != 0
    return float(np.abs(dual[some] * room[some]).sum())


def with_proof(program: Program, result: SolverResult) -> SolverResult:
    """Return what a solver called optimal with the bound that its multipliers prove."""
    if result.x is None or result.row_dual is None:
        return result
    account = examine(program, result.x, result.row_dual)
    known = replace(result, bound=account.bound, gap=None if account.bound is None else account.gap)
    if account.gap <= ACCEPTED:
        return known
    left = "no bound" if account.bound is None else f"a bound at a gap of {account.gap:.1e} only"
    reason = f"the solver calls it optimal, but its duals prove {left}"
    return replace(known, status="feasible", reason=reason)


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
    reason = NO_POINT if ray is not None else f"{NO_POINT}; the solver gave no duals that prove it"
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
    cost = (-1.0 if program.sense == "maximize" else 1.0) * program.cost
    lonely = np.isinf(np.where(cost > 0, program.column_lower, program.column_upper)) & (cost != 0)
    lonely[program.row_columns[program.row_values != 0]] = False
    found = np.flatnonzero(lonely)[:1]
    ray = np.zeros(program.column_count)
    ray[found] = -np.sign(cost[found])
    return ray if len(found) else None


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
        relaxed = solve_lp(relaxation(program), remaining(options, started), watch)
        reason = NO_POINT if relaxed.status == "infeasible" else NO_WHOLE_POINT
        return _result(program, run, "infeasible", reason, farkas=relaxed.farkas)
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
    if run.status != "kOptimal":
        return stopped(program, options, run, polished.x if polished else None, polished)
    if polished is None:
        reason = (
            "no schedule is left once the solver's whole numbers are rounded exactly; the "
            "coefficients differ too much in size, so tighten bounds or change units"
        )
        return _result(program, run, "error", reason, bound=run.bound())
    return _optimal_mip(program, options, run, polished)


def polish(program: Program, options: SolveOptions, x: Floats) -> SolverResult | None:
    """Round the whole numbers, fix them, and solve the rest again; None when no point is left."""
    whole = program.integrality
    values = np.clip(np.round(x), np.ceil(program.column_lower), np.floor(program.column_upper))
    fixed = replace(
        relaxation(program),
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
    found = _with_point(program, run, "optimal", "optimal", polished)
    if found.gap is not None and found.gap <= max(2 * options.gap, 1e-9):
        return found
    if found.bound is not None and found.objective is not None:
        sign = -1.0 if program.sense == "maximize" else 1.0
        if sign * found.objective < sign * found.bound:
            reason = "the solver's bound is worse than its own point, so that it proves nothing"
            return replace(found, status="feasible", reason=reason, bound=None, gap=None)
    reason = "the whole numbers were rounded exactly, which left a gap to the bound"
    return replace(found, status="feasible", reason=reason)


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
        return _result(program, run, "infeasible", NO_WHOLE_POINT)
    if anything.point() is None:
        return stopped(program, options, anything, None)
    return _result(program, run, "unbounded", relaxed.reason, ray=relaxed.ray)


def relaxation(program: Program) -> Program:
    """Return the program without its integrality."""
    return replace(program, integrality=np.zeros_like(program.integrality))


def stopped(
    program: Program,
    options: SolveOptions,
    run: Run,
    x: Floats | None,
    polished: SolverResult | None = None,
) -> SolverResult:
    """Return the result of a run that ended early, or for an unexpected cause."""
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
