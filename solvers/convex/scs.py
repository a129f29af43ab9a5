"""The adapter of SCS: convex programs over cones by operator splitting.

Its tolerances are set far below its defaults; what it returns is solved once more on the active
bounds where rows are linear.

Source: B. O'Donoghue, E. Chu, N. Parikh, S. Boyd, Conic optimization via operator splitting and
homogeneous self-dual embedding, doi:10.1007/s10957-016-0892-3.
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
from engiagent.solvers.result import SolveOptions, SolverResult

NAME: Final = "SCS"
CLASSES: Final[dict[ProblemClass, Need]] = {
    "LP": "convex",
    "QP": "convex",
    "SOCP": "convex",
    "NLP": "convex",
}
FEATURES: Final[frozenset[Feature]] = frozenset({"duals", "farkas", "ray", "global", "kinked"})
OPTIONS: Final = {
    "time_limit": "`time_limit_secs`",
    "gap": "convex programs are solved to 1e-9 whatever it says",
    "seed": "makes no random choices",
    "threads": "runs on one thread",
    "log": "`log_csv_filename`",
}
REQUIRES: Final = ("scs",)

ACCURACY: Final = 1e-9
MOST_ITERATIONS: Final = 500_000
KINDS: Final = {
    1: "solved",
    2: "solved",
    -1: "unbounded",
    -6: "unbounded",
    -2: "infeasible",
    -7: "infeasible",
    -5: "interrupted",
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
    ending = _run(smooth, options, cone_program(smooth, NAME))
    result = lowered(program, conclude(smooth, options, ending))
    return replace(result, seconds=time.perf_counter() - started)


def _run(program: Program, options: SolveOptions, data: ConeProgram) -> Ending:
    import scs
    from scipy.sparse import csc_matrix, triu

    settings: dict[str, Any] = {
        "eps_abs": ACCURACY,
        "eps_rel": ACCURACY,
        "eps_infeas": ACCURACY,
        "max_iters": MOST_ITERATIONS,
        "verbose": False,
    }
    if options.time_limit is not None:
        settings["time_limit_secs"] = float(options.time_limit)
    if options.log is not None:
        settings["log_csv_filename"] = options.log
    a, b, cones = csc_matrix(data.a), data.b, _cones(data)
    if not len(b):  # SCS takes no program without rows, so it gets 0 x <= 1
        a, b, cones = csc_matrix((1, a.shape[1])), np.ones(1), {"l": 1}
    arrays = {"P": csc_matrix(triu(data.p)), "A": a, "b": b, "c": data.c}
    found = scs.SCS(arrays, cones, **settings).solve()
    info = found["info"]
    timed_out = (
        options.time_limit is not None
        and info["status_val"] in (2, -6, -7)
        and (info["solve_time"] >= 900.0 * options.time_limit)
    )
    kind = "limit" if timed_out else KINDS.get(int(info["status_val"]), "failed")
    point = np.asarray(found["x"], dtype=np.float64)
    x = point[: program.column_count]
    usable = bool(np.all(np.isfinite(point)))
    return Ending(
        kind=kind,
        words=_words(kind, str(info["status"]), options),
        solver=NAME,
        version=distribution_version("scs") or "unknown",
        iterations=int(info["iter"]),
        x=x if usable else None,
        row_dual=data.multipliers(np.asarray(found["y"]), point) if usable else None,
        ray=x if kind == "unbounded" else None,
    )


def _cones(data: ConeProgram) -> dict[str, Any]:
    return {
        "z": data.zero,
        "l": data.nonnegative,
        "q": [int(size) for size in data.second_order],
        "ep": data.exponential,
        "p": [float(alpha) for alpha in data.powers],
    }


def _words(kind: str, status: str, options: SolveOptions) -> str:
    if kind == "limit" and options.time_limit is not None:
        return f"time limit of {options.time_limit:g} s reached"
    return f"SCS ended with {status}"
