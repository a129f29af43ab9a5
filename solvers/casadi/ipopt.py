"""The adapter of IPOPT, as CasADi carries it: nonlinear programs by an interior-point method.

What it finds is a local optimum. It is called ``optimal`` only where the program is known to be
convex and the multipliers prove it; a point at which it finds no way to feasibility proves
nothing, so it is never called infeasible. Its linear solver is MUMPS; others of its wheel fail or
crash.

Source: A. Wächter, L. T. Biegler, On the implementation of an interior-point filter line-search
algorithm for large-scale nonlinear programming, doi:10.1007/s10107-004-0559-y.
"""

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import numpy as np

from engiagent.errors import EngiagentError
from engiagent.formulations.classify import ProblemClass, classify
from engiagent.formulations.program import Program
from engiagent.formulations.values import Floats
from engiagent.solvers.adapter import Feature, Need, Watch, distribution_version
from engiagent.solvers.casadi.graph import graph
from engiagent.solvers.casadi.starts import has_values, starting_points
from engiagent.solvers.convex.optimality import examine
from engiagent.solvers.convex.outcome import (
    ACCEPTED,
    Ending,
    account_of,
    conclude,
    discrete_refusal,
    plain,
)
from engiagent.solvers.convex.outer import has_no_point
from engiagent.solvers.result import Progress, SolveOptions, SolverResult, remaining
from engiagent.solvers.validate import place_of

NAME: Final = "IPOPT"
CLASSES: Final[dict[ProblemClass, Need]] = {"LP": "any", "QP": "any", "SOCP": "any", "NLP": "any"}
FEATURES: Final[frozenset[Feature]] = frozenset(
    {"duals", "farkas", "start", "progress", "interrupt"}
)
OPTIONS: Final = {
    "time_limit": "`max_wall_time`",
    "gap": "convex programs are solved to 1e-9 whatever it says",
    "seed": "of the starts after the first",
    "threads": "runs on one thread",
    "log": "`output_file`",
    "start": "the first start",
}
REQUIRES: Final = ("casadi",)

SETTINGS: Final = {
    "linear_solver": "mumps",
    "tol": 1e-9,
    "constr_viol_tol": 1e-9,
    "compl_inf_tol": 1e-9,
    "dual_inf_tol": 1e-7,
    "acceptable_tol": 1e-8,
    "acceptable_constr_viol_tol": 1e-8,
    "honor_original_bounds": "yes",
    "max_iter": 3000,
    "print_level": 0,
    "sb": "yes",
}
ENDINGS: Final = {
    "Solve_Succeeded": "solved",
    "Solved_To_Acceptable_Level": "solved",
    "Feasible_Point_Found": "solved",
    "Infeasible_Problem_Detected": "stuck",
    "Diverging_Iterates": "diverged",
    "Maximum_WallTime_Exceeded": "limit",
    "Maximum_CpuTime_Exceeded": "limit",
    "User_Requested_Stop": "interrupted",
    "Invalid_Number_Detected": "undefined",
}
"""What its statuses mean, in the kinds of :class:`Ending` and three of its own."""
WIDENED: Final = 1e-9
"""By how much it widens bounds. Where feasible points touch a curved row without room, that moves
the objective by the root of it, so that a second run of a convex program widens none."""
STARTS: Final = 5
"""How many starts a small program gets that is not known to be convex."""
SMALL: Final = 300
RETRIES: Final = 4
"""Further starts where none has led to a point that keeps all rows."""
STATIONARY: Final = 1e-5
LEAST_TIME: Final = 1e-4
ROOM: Final = 1e-8
ENDLESS: Final = 1e10
"""Objective of a feasible point beyond which the objective counts as endless."""


def solve_here(
    program: Program,
    options: SolveOptions,
    watch: Watch | None = None,
    starts: int | None = None,
    *,
    plugin: str = "ipopt",
    settings: Mapping[str, Any] | None = None,
) -> SolverResult:
    """Solve a checked continuous program in this process.

    ``starts``: from how many points to start when the program is not known to be convex; None
    decides by size. The best local optimum counts. Starts after the first are random, by the seed.
    ``plugin``, ``settings``: another solver that CasADi carries, with its settings. Raises
    EngiagentError when the program has whole numbers or conditional rows, or CasADi has no such
    plugin.
    """
    name = NAME if plugin == "ipopt" else f"CasADi ({plugin})"
    reason = discrete_refusal(program)
    if reason is not None:
        raise EngiagentError(f"{name} cannot take this program: {reason}; SCIP does")
    began = time.perf_counter()
    with np.errstate(invalid="ignore"):  # of forms that are not convex it takes roots
        known = classify(program)
    convex = known.convexity == "convex"
    wanted = 1 if convex else starts or (STARTS if program.column_count <= SMALL else 1)
    solver = _Solver(program, name, plugin, settings or {})
    results: list[SolverResult] = []
    points = starting_points(program, options.start, options.seed)
    for count in range(wanted + RETRIES):
        if count >= wanted and any(result.x is not None for result in results):
            break
        left = remaining(options, began, LEAST_TIME)
        if count and left.time_limit == LEAST_TIME:
            break
        ending = solver.run(next(points), left, watch, WIDENED)
        result = _worth(program, options, ending, convex)
        solved = convex and ending.kind == "solved"
        if solved and result.status == "feasible" and result.x is not None:
            left = remaining(options, began, LEAST_TIME)
            again = _worth(program, options, solver.run(result.x, left, watch, 0.0), convex)
            result = again if again.status == "optimal" else result
        if convex and result.status == "error" and ending.kind != "undefined":
            # Only tangents prove it; the solver's word that it is stuck does not.
            last = np.zeros(program.column_count) if ending.x is None else np.nan_to_num(ending.x)
            if has_no_point(program, known, last, left):
                reason = "no point satisfies all constraints: their tangents contradict each other"
                result = plain(ending, "infeasible", reason)
        results.append(result)
        if result.status in ("infeasible", "interrupted", "unbounded", "optimal"):
            break
        if ending.kind in ("limit", "undefined") or solved:
            break
    return replace(_best(program, results), seconds=time.perf_counter() - began)


def _best(program: Program, results: list[SolverResult]) -> SolverResult:
    """Return the result with the best point, or the last one when none has any."""
    last = results[-1]
    found = [result for result in results if result.objective is not None]
    if last.status in ("infeasible", "unbounded", "optimal") or not found:
        return last
    sign = -1.0 if program.sense == "maximize" else 1.0
    best = min(found, key=lambda result: sign * (result.objective or 0.0))
    if len(results) == 1:
        return best
    reason = f"{best.reason}; the best of {len(found)} from {len(results)} starts"
    status = "interrupted" if last.status == "interrupted" else best.status
    iterations = sum(result.iterations for result in results)
    return replace(best, reason=reason, status=status, iterations=iterations)


class _Solver:
    """IPOPT or another plugin of one program, whose graph is built once for all starts."""

    def __init__(
        self, program: Program, name: str, plugin: str, settings: Mapping[str, Any]
    ) -> None:
        self.program, self.name, self.plugin = program, name, plugin
        self.settings, self.make = settings, _maker(plugin)
        self.graph = graph(program)
        self.version = distribution_version("casadi") or "unknown"

    def run(
        self, start: Floats, options: SolveOptions, watch: Watch | None, widened: float
    ) -> Ending:
        """Run from one point."""
        import casadi

        program, made = self.program, self.graph
        if not has_values(program, start):
            return self._ending("undefined", undefined_at(program, start))
        settings: dict[str, Any] = {"print_time": False, "error_on_fail": False, **self.settings}
        if self.plugin == "ipopt":
            inner = {**SETTINGS, "bound_relax_factor": widened}
            if options.time_limit is not None:
                inner["max_wall_time"] = float(options.time_limit)
            if options.log is not None:
                inner |= {"output_file": options.log, "file_print_level": 5}
            settings |= {"show_eval_warnings": False, "ipopt": inner}
        sign = -1.0 if program.sense == "maximize" else 1.0
        rows = casadi.densify(made.rows)
        parts = {"x": made.x, "f": casadi.densify(sign * made.objective), "g": rows}
        if watch is not None and self.plugin == "ipopt":
            settings["iteration_callback"] = _callback(watch, len(start), rows.shape[0], sign)
        low, high = self._limits()
        try:
            solver = self.make("solver", self.plugin, parts, settings)
            found = solver(
                x0=start, lbx=program.column_lower, ubx=program.column_upper, lbg=low, ubg=high
            )
        except RuntimeError as error:
            lines = [line for line in str(error).splitlines() if line.strip()]
            cause = lines[-1][:200] if lines else type(error).__name__
            return self._ending("failed", f"{self.name} gave up: {cause}")
        stats = solver.stats()
        status = str(stats["return_status"])
        kind = ENDINGS.get(status, "solved" if stats.get("success") else "failed")
        x = np.asarray(found["x"], dtype=np.float64).ravel()
        # CasADi's multipliers are positive at upper bounds.
        dual = -sign * np.asarray(found["lam_g"], dtype=np.float64).ravel()
        return replace(
            self._ending(kind, _words(self.name, kind, status, program, x, options)),
            iterations=int(stats.get("iter_count", 0)),
            x=x,
            row_dual=dual,
        )

    def _limits(self) -> tuple[Floats, Floats]:
        """Return the limits of the rows.

        Where there are more equations than columns, as redundant ones make it, a method for
        equations cannot start; they then get a little room.
        """
        program = self.program
        low, high = program.row_lower, program.row_upper
        equal = low == high
        if equal.sum() > (program.column_lower < program.column_upper).sum():
            room = np.where(equal, ROOM * np.maximum(1.0, np.abs(high)), 0.0)
            low, high = low - room, high + room
        return low, high

    def _ending(self, kind: str, words: str) -> Ending:
        return Ending(kind=kind, words=words, solver=self.name, version=self.version)


def _worth(program: Program, options: SolveOptions, ending: Ending, convex: bool) -> SolverResult:
    """Return what an ending amounts to; see the head of the module."""
    if ending.kind == "undefined":
        return plain(ending, "error", ending.words)
    if ending.kind == "diverged":
        return _diverged(program, options, ending)
    if convex:
        return conclude(program, options, ending)
    account = account_of(program, ending)
    if account is None or not account.violation <= ACCEPTED:
        found = conclude(program, options, replace(ending, x=None))
        return found
    point: dict[str, Any] = {
        "x": account.x,
        "row_dual": account.row_dual,
        "column_dual": account.column_dual,
        "objective": account.objective,
    }
    if ending.kind == "solved" and account.gap <= STATIONARY:
        reason = (
            f"a local optimum ({ending.words}); the program is not known to be convex, so a "
            "better one may exist"
        )
        return replace(plain(ending, "feasible", reason), **point)
    kept = f"{ending.words}, the best schedule so far is kept"
    if ending.kind == "interrupted":
        return replace(plain(ending, "interrupted", kept), **point)
    if ending.kind == "limit":
        return replace(plain(ending, "feasible", kept), **point)
    reason = f"{ending.words}; its point keeps all limits but is not even a local optimum"
    return replace(plain(ending, "feasible", reason), **point)


def _diverged(program: Program, options: SolveOptions, ending: Ending) -> SolverResult:
    """Tell an endless objective, shown by a feasible point, from a mere failure."""
    if ending.x is not None and np.all(np.isfinite(ending.x)):
        x = np.clip(ending.x, program.column_lower, program.column_upper)
        account = examine(program, x, np.zeros(program.row_count))
        sign = -1.0 if program.sense == "maximize" else 1.0
        if account.violation <= ACCEPTED and sign * account.objective <= -ENDLESS:
            reason = (
                f"the objective improves without end: a point that keeps all limits has "
                f"{account.objective:.1e}; a bound is missing"
            )
            return plain(ending, "unbounded", reason)
    return conclude(program, options, replace(ending, kind="failed", x=None))


def _maker(plugin: str) -> Any:
    """Return what makes a solver of a plugin; a plugin that its wheel lacks is refused."""
    import casadi

    if casadi.has_nlpsol(plugin):
        return casadi.nlpsol
    if casadi.has_conic(plugin):
        return casadi.qpsol
    raise EngiagentError(
        f"CasADi has no solver {plugin!r} here; among those it has are fatrop, sqpmethod and qrqp"
    )


def _words(
    name: str, kind: str, status: str, program: Program, x: Floats, options: SolveOptions
) -> str:
    """Return what a solver's ending was, with the row that it failed at where that is known."""
    if kind == "limit" and options.time_limit is not None:
        return f"time limit of {options.time_limit:g} s reached"
    if kind == "interrupted":
        return "interrupted"
    said = f"{name} ended with {status}"
    if kind == "stuck":
        said = (
            f"{name} found no way to a point that satisfies all constraints from where it "
            f"started ({status}); this proves nothing, so start elsewhere or use SCIP"
        )
        worst = _worst_row(program, x)
        return f"{said}; most is missing in {worst}" if worst else said
    if kind == "undefined":
        return f"{said}: {undefined_at(program, x)}"
    return said


def _worst_row(program: Program, x: Floats) -> str | None:
    with np.errstate(all="ignore"):
        activity = program.activity_at(x)
    excess = np.maximum(program.row_lower - activity, activity - program.row_upper)
    if not len(excess) or not np.any(excess > 0):
        return None
    return place_of(program, program.rows, int(np.nanargmax(excess)))


def undefined_at(program: Program, x: Floats) -> str:
    """Return a sentence that names what has no value at or near a point."""
    with np.errstate(all="ignore"):
        activity = program.activity_at(x)
        bad = np.flatnonzero(~np.isfinite(activity))
        if len(bad):
            place = place_of(program, program.rows, int(bad[0]))
        elif not np.isfinite(program.objective_at(x)):
            place = program.objective_name
        else:
            return "a function or its slope has no value near the point reached"
        culprits = [
            part.atom.origin or part.atom.function
            for part in program.nonlinear
            if not np.all(np.isfinite(part.atom.at(x)))
        ]
    what = f" ({', '.join(dict.fromkeys(culprits))})" if culprits else ""
    return (
        f"{place}{what} has no value at the point tried; keep the arguments of log, sqrt, "
        "powers and denominators inside their domain by bounds, or give a start"
    )


def _callback(watch: Watch, columns: int, rows: int, sign: float) -> Any:
    """Return an ``iteration_callback`` for ``nlpsol``; keep it alive as long as the solver."""
    import casadi

    sizes = {"x": columns, "lam_x": columns, "g": rows, "lam_g": rows, "f": 1}

    class Look(casadi.Callback):
        def __init__(self) -> None:
            casadi.Callback.__init__(self)
            self.count = 0
            self.began = self.last = time.perf_counter()
            self.construct("look", {})

        def get_n_in(self) -> int:
            return int(casadi.nlpsol_n_out())

        def get_n_out(self) -> int:
            return 1

        def get_name_in(self, i: int) -> str:
            return str(casadi.nlpsol_out(i))

        def get_name_out(self, i: int) -> str:
            return "stop"

        def get_sparsity_in(self, i: int) -> Any:
            size = sizes.get(casadi.nlpsol_out(i), 0)
            return casadi.Sparsity.dense(size, 1) if size else casadi.Sparsity(0, 0)

        def eval(self, arguments: Any) -> list[float]:
            self.count += 1
            now = time.perf_counter()
            if watch.on_progress is not None and now - self.last >= watch.interval:
                self.last = now
                value = float(np.asarray(arguments[1]).ravel()[0])
                watch.on_progress(
                    Progress(
                        elapsed=now - self.began,
                        iterations=self.count,
                        objective=sign * value if np.isfinite(value) else None,
                    )
                )
            return [1.0 if watch.cancelled() else 0.0]

    return Look()
