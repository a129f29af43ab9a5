"""The one door to the solvers."""

import threading
import time
from dataclasses import replace

from engiagent import __version__
from engiagent.errors import EngiagentError
from engiagent.formulations.program import Program
from engiagent.solvers.adapter import Watch
from engiagent.solvers.registry import adapter
from engiagent.solvers.result import OnProgress, SolveOptions, SolverResult
from engiagent.solvers.validate import check_program, find_crossing
from engiagent.solvers.worker import DEFAULT


def solve(
    program: Program,
    options: SolveOptions | None = None,
    *,
    isolate: bool = True,
    on_progress: OnProgress | None = None,
    cancel: threading.Event | None = None,
) -> SolverResult:
    """Solve a linear or mixed-integer program.

    Parameters
    ----------
    program
        What to solve.
    options
        Limits and settings; the defaults set no limit.
    isolate
        Solve in a child process, so that a crash, a hang or too much memory in the solver is a
        result with a reason. Without it the memory limit is refused and only the solver itself
        watches its time limit.
    on_progress
        Called a few times a second while the solver runs.
    cancel
        Set it from another thread to stop the solve; Ctrl-C does the same. The result then has
        the status ``interrupted`` and the best point so far, if any.

    Raises
    ------
    EngiagentError
        When the program holds a NaN or another number that no solver can be trusted with.
    """
    options = options or SolveOptions()
    started = time.perf_counter()
    adapter(options.backend or DEFAULT).check(options)
    check_program(program)
    crossing = find_crossing(program)
    if crossing is not None:
        return _contradiction(program, crossing)
    if isolate:
        from engiagent.solvers.isolation import solve_isolated

        result = solve_isolated(program, options, on_progress, cancel)
    else:
        result = _solve_in_process(program, options, on_progress, cancel)
    return replace(result, seconds=time.perf_counter() - started)


def _solve_in_process(
    program: Program,
    options: SolveOptions,
    on_progress: OnProgress | None,
    cancel: threading.Event | None,
) -> SolverResult:
    if options.memory_limit_mb is not None:
        raise EngiagentError("a memory limit needs a process of its own; leave isolate on")
    watch = None
    plain = program.is_linear and not program.is_mip
    if not plain or on_progress is not None or cancel is not None:
        watch = Watch(on_progress, None, cancel.is_set if cancel else lambda: False)
    solver = adapter(options.backend or DEFAULT)
    try:
        return solver.solve_here(program, options, watch)
    except KeyboardInterrupt:
        return SolverResult(
            status="interrupted",
            reason="interrupted, no schedule found",
            is_mip=program.is_mip,
            solver=solver.name,
            solver_version=solver.version(),
        )


def _contradiction(program: Program, reason: str) -> SolverResult:
    return SolverResult(
        status="infeasible",
        reason=reason,
        is_mip=program.is_mip,
        solver="engiagent",
        solver_version=__version__,
    )
