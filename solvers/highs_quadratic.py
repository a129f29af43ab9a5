"""Convex quadratic programs by HiGHS, when it is asked for by name.

Its method fails on some of them and calls some that have no best point optimal, so what it hands
over is recomputed; see :mod:`engiagent.solvers.convex.optimality`.
"""

from dataclasses import replace
from importlib.util import find_spec
from typing import Final

from engiagent.formulations.program import Program
from engiagent.solvers.adapter import Watch
from engiagent.solvers.convex.outcome import Ending, conclude
from engiagent.solvers.highs import INTERRUPTED, LIMITS, NAME, run_highs
from engiagent.solvers.result import NO_OTHER, SolveOptions, SolverResult

KINDS: Final = (
    {
        "kOptimal": "solved",
        "kModelEmpty": "solved",
        "kInfeasible": "infeasible",
        "kUnbounded": "unbounded",
    }
    | dict.fromkeys(LIMITS, "limit")
    | dict.fromkeys(INTERRUPTED, "interrupted")
    | {
        "kIterationLimit": "failed"  # nobody sets one but this module
    }
)

ITERATIONS_EACH: Final = 50
"""For each column and row, and for as many more: the method can go round in circles for ever."""
ADVICE: Final = (
    "HiGHS's method for quadratic programs failed; piqp and clarabel take them, as does the choice "
    "of the backend when it is left open"
)
OTHERS: Final = ("piqp", "clarabel")


def solve_qp(program: Program, options: SolveOptions, watch: Watch | None) -> SolverResult:
    """Solve a convex quadratic program in this process."""
    most = ITERATIONS_EACH * (program.column_count + program.row_count + ITERATIONS_EACH)
    run = run_highs(program, options, watch, {"qp_iteration_limit": most})
    words = f"{LIMITS.get(run.status, 'HiGHS ended with ' + run.status)}"
    x = run.point()
    ending = Ending(
        kind=KINDS.get(run.status, "failed"),
        words=words,
        solver=NAME,
        version=run.version,
        iterations=run.iterations,
        x=x,
        row_dual=None if x is None else run.duals()[0],
    )
    result = conclude(program, options, ending)
    failed = ending.kind in ("solved", "failed") and result.status in ("error", "feasible")
    if not failed:
        return result
    advice = ADVICE if any(find_spec(name) for name in OTHERS) else f"{ADVICE}; {NO_OTHER}"
    return replace(result, reason=f"{result.reason}: {advice}")
