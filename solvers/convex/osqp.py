"""The adapter of OSQP: convex quadratic programs by operator splitting.

Its default tolerance of 1e-3 is never used; what it returns is solved once more on the active
bounds, see :mod:`engiagent.solvers.convex.polish`.

Source: B. Stellato, G. Banjac, P. Goulart, A. Bemporad, S. Boyd, OSQP: an operator splitting
solver for quadratic programs, doi:10.1007/s12532-020-00179-2.
"""

import time
from dataclasses import replace
from typing import Any, Final

import numpy as np

from engiagent.formulations.classify import ProblemClass
from engiagent.formulations.program import Program
from engiagent.solvers.adapter import Feature, Need, Watch, distribution_version
from engiagent.solvers.convex.outcome import Ending, conclude
from engiagent.solvers.convex.quadratic import Quadratic, quadratic
from engiagent.solvers.result import SolveOptions, SolverResult

NAME: Final = "OSQP"
CLASSES: Final[dict[ProblemClass, Need]] = {"LP": "convex", "QP": "convex"}
FEATURES: Final[frozenset[Feature]] = frozenset({"duals", "farkas", "ray", "global", "start"})
OPTIONS: Final = {
    "time_limit": "`time_limit`",
    "gap": "convex programs are solved to 1e-9 whatever it says",
    "seed": "makes no random choices",
    "threads": "runs on one thread",
    "start": "`warm_start`",
}
REQUIRES: Final = ("osqp",)

ACCURACY: Final = 1e-9
MOST_ITERATIONS: Final = 200_000
KINDS: Final = {
    "solved": "solved",
    "solved inaccurate": "solved",
    "primal infeasible": "infeasible",
    "primal infeasible inaccurate": "infeasible",
    "dual infeasible": "unbounded",
    "dual infeasible inaccurate": "unbounded",
    "run time limit reached": "limit",
    "maximum iterations reached": "failed",
    "interrupted": "interrupted",
}


def solve_here(program: Program, options: SolveOptions, watch: Watch | None = None) -> SolverResult:
    """Solve a checked program in this process.

    Raises
    ------
    EngiagentError
        When the program is no convex quadratic one.
    """
    started = time.perf_counter()
    result = conclude(program, options, _run(quadratic(program, NAME), options))
    return replace(result, seconds=time.perf_counter() - started)


def _run(data: Quadratic, options: SolveOptions) -> Ending:
    import osqp
    from scipy.sparse import csc_matrix, eye_array, triu, vstack

    bounded = np.flatnonzero(np.isfinite(data.column_lower) | np.isfinite(data.column_upper))
    rows = vstack([data.a, eye_array(len(data.c), format="csr")[bounded]], format="csc")
    settings: dict[str, Any] = {
        "eps_abs": ACCURACY,
        "eps_rel": ACCURACY,
        "eps_prim_inf": ACCURACY,
        "eps_dual_inf": ACCURACY,
        "max_iter": MOST_ITERATIONS,
        "polishing": True,
        "verbose": False,
    }
    if options.time_limit is not None:
        settings["time_limit"] = float(options.time_limit)
    solver = osqp.OSQP()
    solver.setup(
        csc_matrix(triu(data.p)),
        data.c,
        csc_matrix(rows),
        np.concatenate([data.row_lower, data.column_lower[bounded]]),
        np.concatenate([data.row_upper, data.column_upper[bounded]]),
        **settings,
    )
    if options.start is not None:
        solver.warm_start(x=np.asarray(options.start, dtype=np.float64))
    result = solver.solve(raise_error=False)
    status = str(result.info.status)
    kind = KINDS.get(status, "failed")
    # OSQP's y is positive at upper bounds.
    dual = None if result.y is None else -data.sign * np.asarray(result.y)[: len(data.row_lower)]
    return Ending(
        kind=kind,
        words=_words(kind, status, options),
        solver=NAME,
        version=distribution_version("osqp") or "unknown",
        iterations=int(result.info.iter),
        x=None if result.x is None else np.asarray(result.x, dtype=np.float64),
        row_dual=dual,
        ray=np.asarray(result.dual_inf_cert) if kind == "unbounded" else None,
    )


def _words(kind: str, status: str, options: SolveOptions) -> str:
    if kind == "limit" and options.time_limit is not None:
        return f"time limit of {options.time_limit:g} s reached"
    return f"OSQP ended with {status}"
