"""The adapter of IPOPT, as CasADi carries it: nonlinear programs by an interior-point method.

What it finds is a local optimum. It is called ``optimal`` only where the program is known to be
convex and the multipliers prove it; a point at which it finds no way to feasibility proves
nothing, so it is never called infeasible. Its linear solver is MUMPS; others of its wheel fail or
crash. Whatever else CasADi carries, SQP methods and fatrop, gets the same graph as
``casadi:<plugin>``.

Source: A. Wächter, L. T. Biegler, On the implementation of an interior-point filter line-search
algorithm for large-scale nonlinear programming, doi:10.1007/s10107-004-0559-y.
"""

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any, Final

import numpy as np

from engiagent.errors import EngiagentError
from engiagent.formulations.classify import ProblemClass, classify
from engiagent.formulations.program import Program
from engiagent.formulations.values import Floats
from engiagent.solvers.adapter import Adapter, Feature, Need, Watch, distribution_version
from engiagent.solvers.casadi.codegen import graph
from engiagent.solvers.convex.optimality import gradient, jacobian
from engiagent.solvers.convex.outcome import (
    ACCEPTED,
    Ending,
    account_of,
    conclude,
    discrete_refusal,
    plain,
    with_point,
)
from engiagent.solvers.result import SolveOptions, SolverResult, remaining
from engiagent.solvers.validate import place_of

NAME: Final = "IPOPT"
CLASSES: Final[dict[ProblemClass, Need]] = {"LP": "any", "QP": "any", "SOCP": "any", "NLP": "any"}
FEATURES: Final[frozenset[Feature]] = frozenset({"duals", "farkas", "start"})
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
    "Maximum_WallTime_Exceeded": "limit",
    "Maximum_CpuTime_Exceeded": "limit",
    "Invalid_Number_Detected": "undefined",
}
"""What its statuses mean, in the kinds of :class:`Ending` and two of its own."""
WIDENED: Final = 1e-9
"""By how much it widens bounds. Where feasible points touch a curved row without room, that moves
the objective by the root of it, so that a second run of a convex program widens none."""
STARTS: Final = 5
"""How many starts are tried until one leads to a point that keeps all rows."""
STATIONARY: Final = 1e-5
LEAST_TIME: Final = 1e-4
FAR: Final = 1e3
"""How far from zero the middle of two bounds may lie to be a start."""
SPREAD: Final = 10.0
"""Width, on each side, of the box for random starts where a column has no bound."""
TRIES: Final = 60
FIRST_MARGINS: Final = (1.0, 1e-2)

_INNER: Final = {"print_iter": False, "print_header": False, "error_on_fail": False}
PLUGINS: Final[Mapping[str, Mapping[str, Any]]] = {
    "fatrop": {"fatrop": {"print_level": 0, "tol": 1e-9, "max_iter": 1000}},
    "sqpmethod": {
        "qpsol": "qrqp",
        "qpsol_options": _INNER,
        "print_header": False,
        "print_iteration": False,
        "print_status": False,
        "tol_pr": 1e-9,
        "tol_du": 1e-7,
        "max_iter": 500,
    },
}
"""Quiet and exact; a plugin that is not named here runs with its own defaults."""


def member(plugin: str) -> Adapter:
    """Return the adapter of IPOPT or of another of CasADi's plugins."""
    if plugin == "ipopt":
        return Adapter(plugin, NAME, CLASSES, FEATURES, OPTIONS, REQUIRES, solve_here)
    return Adapter(
        f"casadi:{plugin}",
        f"CasADi ({plugin})",
        CLASSES,
        FEATURES,
        {name: OPTIONS[name] for name in ("gap", "seed", "threads", "start")},
        REQUIRES,
        partial(solve_here, plugin=plugin, settings=PLUGINS.get(plugin, {})),
    )


def solve_here(
    program: Program,
    options: SolveOptions,
    watch: Watch | None = None,
    *,
    plugin: str = "ipopt",
    settings: Mapping[str, Any] | None = None,
) -> SolverResult:
    """Solve a checked continuous program in this process.

    Where a start leads to no point that keeps all rows, random ones by the seed follow. ``plugin``,
    ``settings``: another solver that CasADi carries, with its settings.
    """
    name = NAME if plugin == "ipopt" else f"CasADi ({plugin})"
    reason = discrete_refusal(program)
    if reason is not None:
        raise EngiagentError(f"{name} cannot take this program: {reason}; SCIP does")
    began = time.perf_counter()
    with np.errstate(invalid="ignore"):  # of forms that are not convex it takes roots
        convex = classify(program).convexity == "convex"
    solver = _Solver(program, name, plugin, settings or {})
    for start in islice(starting_points(program, options.start, options.seed), STARTS):
        left = remaining(options, began, LEAST_TIME)
        ending = solver.run(start, left, WIDENED)
        result = _worth(program, options, ending, convex)
        if convex and ending.kind == "solved" and result.status == "feasible":
            assert result.x is not None
            left = remaining(options, began, LEAST_TIME)
            again = _worth(program, options, solver.run(result.x, left, 0.0), convex)
            result = again if again.status == "optimal" else result
        if result.x is not None or result.status in ("infeasible", "unbounded"):
            break
        if left.time_limit == LEAST_TIME or ending.kind in ("limit", "undefined"):
            break
    return replace(result, seconds=time.perf_counter() - began)


class _Solver:
    """IPOPT or another plugin of one program, whose graph is built once for all starts."""

    def __init__(
        self, program: Program, name: str, plugin: str, settings: Mapping[str, Any]
    ) -> None:
        self.program, self.name, self.plugin = program, name, plugin
        import casadi

        if not casadi.has_nlpsol(plugin):
            what = f"CasADi has no solver {plugin!r} here"
            raise EngiagentError(f"{what}; among those it has are fatrop and sqpmethod")
        self.settings = settings
        self.graph = graph(program)
        self.version = distribution_version("casadi") or "unknown"

    def run(self, start: Floats, options: SolveOptions, widened: float) -> Ending:
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
        try:
            solver = casadi.nlpsol("solver", self.plugin, parts, settings)
            columns = {"lbx": program.column_lower, "ubx": program.column_upper}
            found = solver(x0=start, **columns, lbg=program.row_lower, ubg=program.row_upper)
        except RuntimeError as error:
            lines = [line for line in str(error).splitlines() if line.strip()]
            cause = lines[-1][:200] if lines else type(error).__name__
            return self._ending("failed", f"{self.name} gave up: {cause}")
        stats = solver.stats()
        status = str(stats["return_status"])
        kind = ENDINGS.get(status, "solved" if stats.get("success") else "failed")
        x = np.asarray(found["x"], dtype=np.float64).ravel()
        words = f"{self.name} ended with {status}"
        if kind == "limit" and options.time_limit is not None:
            words = f"time limit of {options.time_limit:g} s reached"
        elif kind == "stuck":
            words = (
                f"{self.name} found no way to a point that satisfies all constraints from where it "
                f"started ({status}); this proves nothing, so start elsewhere or use SCIP"
            )
        elif kind == "undefined":
            words = f"{words}: {undefined_at(program, x)}"
        # CasADi's multipliers are positive at upper bounds.
        dual = -sign * np.asarray(found["lam_g"], dtype=np.float64).ravel()
        iterations = int(stats.get("iter_count", 0))
        return replace(self._ending(kind, words), iterations=iterations, x=x, row_dual=dual)

    def _ending(self, kind: str, words: str) -> Ending:
        return Ending(kind=kind, words=words, solver=self.name, version=self.version)


def _worth(program: Program, options: SolveOptions, ending: Ending, convex: bool) -> SolverResult:
    """Return what an ending amounts to; see the head of the module."""
    if ending.kind == "undefined":
        return plain(ending, "error", ending.words)
    if convex:
        return conclude(program, options, ending)
    account = account_of(program, ending)
    if account is None or not account.violation <= ACCEPTED:
        return conclude(program, options, replace(ending, x=None))
    if ending.kind == "solved" and account.gap <= STATIONARY:
        reason = (
            f"a local optimum ({ending.words}); the program is not known to be convex, so a "
            "better one may exist"
        )
    elif ending.kind == "limit":
        reason = f"{ending.words}, the best schedule so far is kept"
    else:
        reason = f"{ending.words}; its point keeps all limits but is not even a local optimum"
    # A bound that a nonconvex program does not have is left out.
    return replace(with_point(ending, "feasible", reason, account), bound=None, gap=None)


def undefined_at(program: Program, x: Floats) -> str:
    """Return a sentence that names what has no value at or near a point."""
    with np.errstate(all="ignore"):
        bad = np.flatnonzero(~np.isfinite(program.activity_at(x)))
    place = place_of(program, program.rows, int(bad[0])) if len(bad) else program.objective_name
    return (
        f"{place} has no value, or no slope, at the point tried; keep the arguments of log, sqrt, "
        "powers and denominators inside their domain by bounds, or give a start"
    )


def starting_points(program: Program, start: Floats | None, seed: int) -> Iterator[Floats]:
    """Yield points without end: the user's within the bounds, or a central one, then random."""
    random = np.random.default_rng(seed)
    lower, upper = program.column_lower, program.column_upper
    if start is not None:
        yield np.clip(np.asarray(start, dtype=np.float64), lower, upper)
    else:
        middles = (_middle(lower, upper, margin) for margin in FIRST_MARGINS)
        yield from islice((point for point in middles if has_values(program, point)), 1)
    while True:
        point = _random(program, random)
        for _ in range(TRIES):
            if has_values(program, point):
                break
            point = _random(program, random)
        yield point


def has_values(program: Program, x: Floats) -> bool:
    """Return whether objective, rows and their slopes are finite at a point."""
    with np.errstate(all="ignore"):
        finite = np.isfinite(program.objective_at(x)) and np.isfinite(program.activity_at(x)).all()
        if not finite:
            return False
        slopes = jacobian(program, x)
        return bool(np.isfinite(gradient(program, x)).all() and np.isfinite(slopes.data).all())


def _middle(lower: Floats, upper: Floats, margin: float) -> Floats:
    """Return the middle where it is near, else a point a little inside the nearer bound."""
    point = np.clip(np.zeros_like(lower), lower, upper)
    both = np.isfinite(lower) & np.isfinite(upper)
    middle = np.where(both, 0.5 * np.where(both, lower, 0.0) + 0.5 * np.where(both, upper, 0.0), 0)
    near = both & (np.abs(middle) <= FAR) & (margin == FIRST_MARGINS[0])
    half = np.where(both, 0.5 * (np.where(both, upper, 1.0) - np.where(both, lower, 0.0)), np.inf)
    step = np.minimum(margin * np.maximum(1.0, 0.1 * np.abs(point)), half)
    point = np.where(np.isfinite(lower), np.maximum(point, lower + step), point)
    point = np.where(np.isfinite(upper), np.minimum(point, upper - step), point)
    return np.clip(np.where(near, middle, point), lower, upper)


def _random(program: Program, random: np.random.Generator) -> Floats:
    lower, upper = program.column_lower, program.column_upper
    centre = np.clip(np.zeros_like(lower), lower, upper)
    low, high = np.maximum(lower, centre - SPREAD), np.minimum(upper, centre + SPREAD)
    wide = np.isfinite(lower) & np.isfinite(upper)
    low, high = np.where(wide, lower, low), np.where(wide, upper, high)
    return random.uniform(low, high)
