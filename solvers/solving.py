"""The one door to the solvers."""

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Final

import numpy as np

from engiagent import __version__
from engiagent.errors import EngiagentError
from engiagent.formulations.program import Program
from engiagent.solvers.adapter import Watch
from engiagent.solvers.chain.solving import try_chain
from engiagent.solvers.convex.multipliers import multipliers_at
from engiagent.solvers.feasibility import ACCEPTED, worst_violation
from engiagent.solvers.goals import solve_goals
from engiagent.solvers.measure import divided, factor_of, multiplied, told_divided
from engiagent.solvers.netting import netted
from engiagent.solvers.registry import adapter
from engiagent.solvers.result import OnProgress, SolveOptions, SolverResult, Status
from engiagent.solvers.selection import select
from engiagent.solvers.validate import check_program, find_crossing, settled

SELF_PROVEN: Final = ("highs", "chain")
"""Backends whose points are known to obey linear programs."""
GAVE_UP: Final = ("error", "feasible")
"""How a method ends that has not solved a convex program, limits aside."""


def solve(
    program: Program,
    options: SolveOptions | None = None,
    *,
    isolate: bool = True,
    on_progress: OnProgress | None = None,
    cancel: threading.Event | None = None,
) -> SolverResult:
    """Solve a program of any class.

    ``options``: the defaults set no limit and choose the solver by class and size
    (:func:`engiagent.solvers.selection.select`). ``isolate``: solve in a child process, so that a
    crash, a hang or too much memory in the solver is a result with a reason; without it the memory
    limit is refused and only the solver itself watches its time limit. ``on_progress``: called a
    few times a second while the solver runs. ``cancel``: set it from another thread to stop the
    solve; Ctrl-C does the same. The result then has the status ``interrupted`` and the best point
    so far, if any.

    Raises EngiagentError when the program holds a NaN or another number that no solver can be
    trusted with, or when the backend asked for cannot take the program or an option.
    """
    options = options or SolveOptions()
    started = time.perf_counter()
    if program.goals:

        def one(stage: Program, given: SolveOptions) -> SolverResult:
            return solve(stage, given, isolate=isolate, on_progress=on_progress, cancel=cancel)

        return solve_goals(program, options, one)
    if options.backend is not None:
        adapter(options.backend).check(options, isolated=isolate)
    if options.start is not None and options.start.shape != (program.column_count,):
        raise EngiagentError(
            f"the start point has the shape {options.start.shape}; the program has "
            f"{program.column_count} columns"
        )
    check_program(program)
    program = settled(program)
    crossing = find_crossing(program)
    if crossing is not None:
        return _contradiction(program, crossing)
    if not program.column_count:
        return replace(_nothing_to_decide(program), seconds=time.perf_counter() - started)
    result = None
    if options.backend is None and options.log is None:
        # Plain arithmetic of this package that takes milliseconds needs no process of its own.
        result = try_chain(program, options)
    if result is None:
        backend, *others = _backends(program, options, isolate)

        def by(name: str, left: float | None) -> SolverResult:
            given = replace(options, backend=name, time_limit=left)
            found = _solve_measured(program, given, isolate, on_progress, cancel)
            proven = name in SELF_PROVEN and program.is_linear
            return found if proven else _priced(program, _examined(program, found))

        result = by(backend, options.time_limit)
        if others and result.status in GAVE_UP:
            result = _second_try(program, options, result, others, by, started)
    return replace(netted(program, result, options), seconds=time.perf_counter() - started)


def _second_try(
    program: Program,
    options: SolveOptions,
    first: SolverResult,
    others: list[str],
    by: Callable[[str, float | None], SolverResult],
    started: float,
) -> SolverResult:
    """Return the first better answer of other solvers that may take the program, if there is one.

    An interior-point method stops where a root has no slope, as at the tip of a norm; solvers that
    know it as a cone, or that search over cases, do not.
    """
    for name in others:
        left = options.time_limit
        if left is not None:
            left -= time.perf_counter() - started
            if left <= 0:
                break
        try:
            found = by(name, left)
        except EngiagentError:
            continue  # it cannot say a function of the program
        if found.status in ("optimal", "infeasible", "unbounded"):
            reason = f"{found.reason} (before that, {first.solver}: {first.reason})"
            return replace(found, reason=reason)
    return first


def _backends(program: Program, options: SolveOptions, isolated: bool) -> list[str]:
    """Return the backend that is asked for, or the one chosen and who may answer in its place."""
    if options.backend is None and program.is_linear and not program.is_mip:
        return ["highs"]
    choice = select(program, options, isolated=isolated)
    if options.backend is not None or choice.classification.convexity != "convex":
        return [choice.backend]
    usable = [item.backend for item in choice.alternatives if item.usable]
    return [choice.backend, *(name for name in usable if not program.is_linear)]


def _solve_measured(
    program: Program,
    options: SolveOptions,
    isolate: bool,
    on_progress: OnProgress | None,
    cancel: threading.Event | None,
) -> SolverResult:
    """Solve with the objective in a measure in which no cost is near a tolerance."""
    solve_by = _solve_in_process
    if isolate:
        # Most plans are storage chains, which need no process and none of its modules.
        from engiagent.solvers.isolation import solve_isolated as solve_by
    factor = factor_of(program)
    if factor == 1.0:
        return solve_by(program, options, on_progress, cancel)
    told = told_divided(on_progress, factor)
    return divided(program, solve_by(multiplied(program, factor), options, told, cancel), factor)


def _solve_in_process(
    program: Program,
    options: SolveOptions,
    on_progress: OnProgress | None = None,
    cancel: threading.Event | None = None,
) -> SolverResult:
    if options.memory_limit_mb is not None:
        raise EngiagentError("a memory limit needs a process of its own; leave isolate on")
    watch = None
    plain = program.is_linear and not program.is_mip
    if not plain or on_progress is not None or cancel is not None:
        watch = Watch(on_progress, None, cancel.is_set if cancel else lambda: False)
    assert options.backend is not None
    solver = adapter(options.backend)
    solver.check(options, isolated=False)
    try:
        return solver.solve_here(program, options, watch)
    except KeyboardInterrupt:
        reason = "interrupted, no schedule found"
        return _told(program, "interrupted", reason, solver.name, solver.version())


def _examined(program: Program, result: SolverResult) -> SolverResult:
    """Return the result, as an error when its point breaks the program."""
    if result.x is None:
        return result
    worst = worst_violation(program, result.x)
    if worst.amount <= ACCEPTED:
        return result
    reason = (
        f"{result.solver} ended with {result.status} ({result.reason}), but its point breaks "
        f"{worst.place} by {worst.amount:.2g}"
    )
    wrong = _told(program, "error", reason, result.solver, result.solver_version)
    counted = replace(wrong, iterations=result.iterations, nodes=result.nodes)
    return replace(counted, bound=result.bound)


def _priced(program: Program, result: SolverResult) -> SolverResult:
    """Return an optimum with its multipliers where the solver has handed over none."""
    if result.x is None or result.status != "optimal":
        return result
    if result.row_dual is not None and result.column_dual is not None:
        return result
    found = multipliers_at(program, result.x)
    return result if found is None else replace(result, row_dual=found[0], column_dual=found[1])


def _nothing_to_decide(program: Program) -> SolverResult:
    """Return the answer of a program without columns, which half of the solvers crash at."""
    x = np.zeros(0)
    worst = worst_violation(program, x)
    if not worst.amount <= ACCEPTED:
        wrong = _contradiction(program, f"{worst.place} does not hold, and there are no variables")
        low, high = program.row_lower, program.row_upper
        return replace(wrong, farkas=(low > 0).astype(float) - (high < 0))
    value = program.objective_at(x)
    best = _told(program, "optimal", "optimal", "engiagent", __version__)
    priced = replace(best, row_dual=np.zeros(program.row_count), column_dual=x)
    return replace(priced, x=x, objective=value, bound=value, gap=0.0)


def _contradiction(program: Program, reason: str) -> SolverResult:
    return _told(program, "infeasible", reason, "engiagent", __version__)


def _told(program: Program, status: Status, reason: str, solver: str, version: str) -> SolverResult:
    """Return a result without a point."""
    return SolverResult(
        status=status, reason=reason, is_mip=program.is_mip, solver=solver, solver_version=version
    )
