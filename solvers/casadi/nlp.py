"""Nonlinear programs through CasADi's ``nlpsol``: starts, statuses and what they are worth.

What these methods find is a local optimum. It is called ``optimal`` only where the program is
known to be convex and the multipliers prove it; a point at which such a method finds no way to
feasibility proves nothing, so it is never called infeasible.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from engiagent.errors import EngiagentError
from engiagent.formulations.classify import classify
from engiagent.formulations.program import Program
from engiagent.formulations.values import Floats, Ints
from engiagent.solvers.adapter import Watch, distribution_version
from engiagent.solvers.casadi.graph import Graph, graph
from engiagent.solvers.casadi.starts import has_values, starting_points
from engiagent.solvers.casadi.watching import callback
from engiagent.solvers.casadi.words import short, undefined_at, words_of
from engiagent.solvers.convex.lifting import lifted, lowered
from engiagent.solvers.convex.optimality import Account, examine
from engiagent.solvers.convex.outcome import ACCEPTED, Ending, conclude, discrete_refusal, plain
from engiagent.solvers.convex.outer import has_no_point
from engiagent.solvers.convex.polish import polished
from engiagent.solvers.result import SolveOptions, SolverResult

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

Settings = Callable[[SolveOptions], dict[str, Any]]


@dataclass(frozen=True, eq=False)
class Layout:
    """The order in which a method wants columns and rows.

    Attributes
    ----------
    columns, rows
        Their numbers in that order.
    row_scale
        Factor of each row, in the program's order.
    settings
        What the method has to be told about it.
    """

    columns: Ints
    rows: Ints
    row_scale: Floats
    settings: Mapping[str, Any]


@dataclass(frozen=True)
class Method:
    """One of CasADi's solvers of nonlinear programs.

    Attributes
    ----------
    plugin, name
        As CasADi calls it, and as people do.
    settings
        Its options for given :class:`SolveOptions`.
    endings
        What its statuses mean, in the kinds of :class:`Ending` and ``diverged`` and ``undefined``.
    watched
        Whether it calls back in every iteration.
    layout
        The order that it needs for a program; None when any will do.
    strict
        Options that give rows no room, for a second run where the first leaves a gap to the bound.
    """

    plugin: str
    name: str
    settings: Settings
    endings: Mapping[str, str]
    watched: bool = True
    layout: Callable[[Program, Graph], Layout] | None = None
    strict: Settings | None = None


def solve_nlp(
    program: Program,
    options: SolveOptions,
    watch: Watch | None,
    method: Method,
    starts: int | None = None,
) -> SolverResult:
    """Solve a continuous program with one of CasADi's solvers.

    Parameters
    ----------
    starts
        From how many points to start when the program is not known to be convex; None decides by
        size. The best local optimum counts. Starts after the first are random, by the seed.

    Raises
    ------
    EngiagentError
        When the program has whole numbers or conditional rows.
    """
    reason = discrete_refusal(program)
    if reason is not None:
        raise EngiagentError(f"{method.name} cannot take this program: {reason}; SCIP does")
    began = time.perf_counter()
    smooth = lifted(program)
    if smooth is not program:
        if options.start is not None:
            options = replace(options, start=_lifted_start(program, smooth, options.start))
        result = lowered(program, _solve_smooth(smooth, options, watch, method, starts))
    else:
        result = _solve_smooth(program, options, watch, method, starts)
    return replace(result, seconds=time.perf_counter() - began)


def _lifted_start(program: Program, smooth: Program, start: Floats) -> Floats:
    """Return a user's start with something for the columns that stand for kinks."""
    added = np.zeros(smooth.column_count - program.column_count)
    return np.concatenate([np.asarray(start, dtype=np.float64), added])


def _solve_smooth(
    program: Program, options: SolveOptions, watch: Watch | None, method: Method, starts: int | None
) -> SolverResult:
    began = time.perf_counter()
    with np.errstate(invalid="ignore"):  # of forms that are not convex it takes roots
        classification = classify(program)
    convex = classification.convexity == "convex"
    wanted = 1 if convex else starts or (STARTS if program.column_count <= SMALL else 1)
    solver = _Solver(program, method)
    results: list[SolverResult] = []
    points = starting_points(program, options.start, options.seed)
    for count in range(wanted + RETRIES):
        if count >= wanted and any(result.x is not None for result in results):
            break
        left = _remaining(options, began)
        if count and left.time_limit is not None and left.time_limit <= LEAST_TIME:
            break
        ending = solver.run(next(points), left, watch)
        result = _worth(program, options, ending, convex)
        if convex and ending.kind == "solved" and result.x is not None and method.strict:
            result = _closed(solver, options, began, watch, result)
        failed = result.status == "error" and ending.kind != "undefined"
        # Only tangents prove it; a solver's word that it is stuck does not.
        if (
            convex
            and failed
            and has_no_point(program, classification, _last(ending, program), left)
        ):
            reason = "no point satisfies all constraints: their tangents contradict each other"
            result = plain(ending, "infeasible", reason)
        results.append(result)
        if results[-1].status in ("infeasible", "interrupted", "unbounded", "optimal"):
            break
        if ending.kind in ("limit", "undefined") or (convex and ending.kind == "solved"):
            break
    return _best(program, results)


def _closed(
    solver: "_Solver",
    options: SolveOptions,
    began: float,
    watch: Watch | None,
    result: SolverResult,
) -> SolverResult:
    """Return a convex program's result with its gap closed by a second run, where it was open."""
    if result.status != "feasible" or result.x is None:
        return result
    ending = solver.run(result.x, _remaining(options, began), watch, strict=True)
    again = _worth(solver.program, options, ending, convex=True)
    return again if again.status == "optimal" else result


def _last(ending: Ending, program: Program) -> Floats:
    return np.zeros(program.column_count) if ending.x is None else np.nan_to_num(ending.x)


def _best(program: Program, results: list[SolverResult]) -> SolverResult:
    """Return the result with the best point, or the last one when none has any."""
    if results[-1].status in ("infeasible", "unbounded", "optimal"):
        return results[-1]
    found = [result for result in results if result.objective is not None]
    if not found:
        return results[-1]
    sign = -1.0 if program.sense == "maximize" else 1.0
    best = min(found, key=lambda result: sign * (result.objective or 0.0))
    iterations = sum(result.iterations for result in results)
    if len(results) == 1:
        return best
    reason = f"{best.reason}; the best of {len(found)} from {len(results)} starts"
    status = "interrupted" if results[-1].status == "interrupted" else best.status
    return replace(best, reason=reason, status=status, iterations=iterations)


class _Solver:
    """CasADi's solver of one program, built once for all starts."""

    def __init__(self, program: Program, method: Method) -> None:
        self.program = program
        self.method = method
        self.graph: Graph = graph(program)
        self.version = distribution_version("casadi") or "unknown"
        self.layout = self._layout()

    def _layout(self) -> Layout:
        program, made = self.program, self.graph
        if self.method.layout is not None:
            if len(made.domain_lower):
                raise EngiagentError(
                    f"{self.method.name} cannot take this program: it has a table that is "
                    "neither convex nor concave where it stands; IPOPT takes it"
                )
            return self.method.layout(program, made)
        columns, rows = np.arange(program.column_count), np.arange(program.row_count)
        return Layout(columns, rows, np.ones(program.row_count), {})

    def run(
        self, start: Floats, options: SolveOptions, watch: Watch | None, *, strict: bool = False
    ) -> Ending:
        """Run from one point."""
        program, method = self.program, self.method
        if not has_values(program, start):
            return self._ending("undefined", undefined_at(program, start))
        solver, look = self._solver(options, watch, strict)
        order = self.layout
        low, high = self._limits(order)
        try:
            found = solver(
                x0=start[order.columns],
                lbx=program.column_lower[order.columns],
                ubx=program.column_upper[order.columns],
                lbg=low,
                ubg=high,
            )
        except RuntimeError as error:
            return self._ending("failed", f"{method.name} gave up: {short(error)}")
        del look
        stats = solver.stats()
        status = str(stats["return_status"])
        if status.isdigit():
            status = str(stats["unified_return_status"]).removeprefix("SOLVER_RET_")
        kind = method.endings.get(status, "solved" if stats.get("success") else "failed")
        x, dual = np.zeros(program.column_count), np.zeros(program.row_count)
        x[order.columns] = np.asarray(found["x"], dtype=np.float64).ravel()
        sign = -1.0 if program.sense == "maximize" else 1.0
        # CasADi's multipliers are positive at upper bounds.
        multipliers = np.asarray(found["lam_g"], dtype=np.float64).ravel()
        dual[order.rows] = -sign * multipliers[: program.row_count]
        dual *= order.row_scale
        words = words_of(method.name, kind, status, program, x, options)
        return Ending(
            kind=kind,
            words=words,
            solver=method.name,
            version=self.version,
            iterations=int(stats.get("iter_count", 0)),
            x=x,
            row_dual=dual,
        )

    def _limits(self, order: Layout) -> tuple[Floats, Floats]:
        """Return the limits of the rows as the method has them.

        Where there are more equations than columns, as redundant ones make it, a method for
        equations cannot start; they then get a little room.
        """
        program = self.program
        low, high = program.row_lower, program.row_upper
        equal = low == high
        if equal.sum() > (program.column_lower < program.column_upper).sum():
            room = np.where(equal, ROOM * np.maximum(1.0, np.abs(high)), 0.0)
            low, high = low - room, high + room
        first, last = (
            np.concatenate([(limits * order.row_scale)[order.rows], domain])
            for limits, domain in ((low, self.graph.domain_lower), (high, self.graph.domain_upper))
        )
        return first, last

    def _solver(self, options: SolveOptions, watch: Watch | None, strict: bool) -> tuple[Any, Any]:
        import casadi

        made, method, order = self.graph, self.method, self.layout
        chosen = method.strict if strict and method.strict is not None else method.settings
        settings = {
            "print_time": False,
            "error_on_fail": False,
            "show_eval_warnings": False,
            **chosen(options),
            **order.settings,
        }
        scaled = casadi.DM(order.row_scale) * casadi.densify(made.rows)
        rows = casadi.densify(casadi.vertcat(scaled[order.rows.tolist()], made.domain))
        sign = -1.0 if self.program.sense == "maximize" else 1.0
        ordered = type(made.x).sym("x", made.x.shape[0])
        back = ordered[np.argsort(order.columns).tolist()]
        objective, rows = casadi.substitute(
            [casadi.densify(sign * made.objective), rows], [made.x], [back]
        )
        parts = {"x": ordered, "f": objective, "g": rows}
        look = None
        if watch is not None and method.watched:
            look = callback(watch, (ordered.shape[0], rows.shape[0]), self.program.sense)
            settings["iteration_callback"] = look
        return casadi.nlpsol("solver", method.plugin, parts, settings), look

    def _ending(self, kind: str, words: str) -> Ending:
        return Ending(kind=kind, words=words, solver=self.method.name, version=self.version)


def _worth(program: Program, options: SolveOptions, ending: Ending, convex: bool) -> SolverResult:
    """Return what an ending amounts to; see the head of the module."""
    if ending.kind == "undefined":
        return plain(ending, "error", ending.words)
    if ending.kind == "diverged":
        return _diverged(program, options, ending)
    if convex:
        return conclude(program, options, ending)
    account = _account(program, ending)
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


def _account(program: Program, ending: Ending) -> Account | None:
    if ending.x is None or not np.all(np.isfinite(ending.x)):
        return None
    x = np.clip(ending.x, program.column_lower, program.column_upper)
    dual = np.zeros(program.row_count) if ending.row_dual is None else ending.row_dual
    return polished(program, examine(program, x, dual))


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


def _remaining(options: SolveOptions, began: float) -> SolveOptions:
    if options.time_limit is None:
        return options
    left = options.time_limit - (time.perf_counter() - began)
    return replace(options, time_limit=max(LEAST_TIME, left))
