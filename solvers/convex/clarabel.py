"""The adapter of Clarabel: convex programs by an interior-point method over cones.

Quadratic objectives, convex quadratic rows, second-order cones, and the convex functions of
:mod:`engiagent.solvers.convex.functions`.

Source: P. J. Goulart, Y. Chen, Clarabel: an interior-point solver for conic programs with
quadratic objectives, arXiv:2405.12762.
"""

import time
from dataclasses import replace
from typing import Any, Final

import numpy as np

from engiagent.formulations.classify import ProblemClass
from engiagent.formulations.program import Program
from engiagent.solvers.adapter import Feature, Need, Watch, distribution_version
from engiagent.solvers.convex.cones import ConeProgram, cone_program
from engiagent.solvers.convex.lifting import lifted, lowered
from engiagent.solvers.convex.outcome import Ending, conclude
from engiagent.solvers.result import Progress, SolveOptions, SolverResult

NAME: Final = "Clarabel"
CLASSES: Final[dict[ProblemClass, Need]] = {
    "LP": "convex",
    "QP": "convex",
    "SOCP": "convex",
    "NLP": "convex",
}
FEATURES: Final[frozenset[Feature]] = frozenset(
    {"duals", "farkas", "ray", "global", "progress", "kinked"}
)
OPTIONS: Final = {
    "time_limit": "`time_limit`",
    "gap": "convex programs are solved to 1e-9 whatever it says",
    "threads": "`max_threads`",
    "seed": "makes no random choices",
    "log": "`print_to_file`",
}
REQUIRES: Final = ("clarabel",)

ACCURACY: Final = 1e-10
MOST_ITERATIONS: Final = 300
KINDS: Final = {
    "Solved": "solved",
    "AlmostSolved": "solved",
    "PrimalInfeasible": "infeasible",
    "AlmostPrimalInfeasible": "infeasible",
    "DualInfeasible": "unbounded",
    "AlmostDualInfeasible": "unbounded",
    "MaxTime": "limit",
    "CallbackTerminated": "interrupted",
}


def solve_here(program: Program, options: SolveOptions, watch: Watch | None = None) -> SolverResult:
    """Solve a checked program in this process.

    Raises
    ------
    EngiagentError
        When the program is not known to be convex, naming what is not.
    """
    started = time.perf_counter()
    smooth = lifted(program)
    ending = _run(smooth, options, cone_program(smooth, NAME), watch)
    result = lowered(program, conclude(smooth, options, ending))
    return replace(result, seconds=time.perf_counter() - started)


def _run(program: Program, options: SolveOptions, data: ConeProgram, watch: Watch | None) -> Ending:
    import clarabel
    from scipy.sparse import csc_matrix, triu

    solver = clarabel.DefaultSolver(
        csc_matrix(triu(data.p)),
        data.c,
        csc_matrix(data.a),
        data.b,
        _cones(data),
        _settings(options),
    )
    if options.log is not None:
        solver.print_to_file(options.log)
    if watch is not None:
        solver.set_termination_callback(_callback(watch))
    solution = solver.solve()
    status = str(solution.status)
    kind = KINDS.get(status, "failed")
    point = np.array(solution.x, dtype=np.float64)
    x = point[: program.column_count]
    usable = bool(np.all(np.isfinite(point)))
    return Ending(
        kind=kind,
        words=_words(kind, status, options),
        solver=NAME,
        version=distribution_version("clarabel") or "unknown",
        iterations=int(solution.iterations),
        x=x if usable else None,
        row_dual=data.multipliers(np.array(solution.z), point) if usable else None,
        ray=x if kind == "unbounded" else None,
    )


def _settings(options: SolveOptions) -> Any:
    import clarabel

    settings = clarabel.DefaultSettings()
    settings.verbose = options.log is not None
    settings.max_iter = MOST_ITERATIONS
    settings.tol_feas = settings.tol_gap_abs = settings.tol_gap_rel = ACCURACY
    settings.tol_infeas_abs = settings.tol_infeas_rel = ACCURACY
    if options.time_limit is not None:
        settings.time_limit = float(options.time_limit)
    if options.threads is not None:
        settings.max_threads = options.threads
    return settings


def _cones(data: ConeProgram) -> list[Any]:
    import clarabel

    cones: list[Any] = []
    if data.zero:
        cones.append(clarabel.ZeroConeT(data.zero))
    if data.nonnegative:
        cones.append(clarabel.NonnegativeConeT(data.nonnegative))
    cones += [clarabel.SecondOrderConeT(int(size)) for size in data.second_order]
    cones += [clarabel.ExponentialConeT() for _ in range(data.exponential)]
    cones += [clarabel.PowerConeT(float(alpha)) for alpha in data.powers]
    return cones


def _callback(watch: Watch) -> Any:
    started = time.perf_counter()
    last = [started]

    def look(info: Any) -> bool:
        now = time.perf_counter()
        if watch.on_progress is not None and now - last[0] >= watch.interval:
            last[0] = now
            watch.on_progress(Progress(elapsed=now - started, iterations=int(info.iterations)))
        return watch.cancelled()

    return look


def _words(kind: str, status: str, options: SolveOptions) -> str:
    if kind == "limit" and options.time_limit is not None:
        return f"time limit of {options.time_limit:g} s reached"
    if kind == "interrupted":
        return "interrupted"
    return f"Clarabel ended with {status}"
