"""The adapter of IPOPT, as CasADi carries it: nonlinear programs by an interior-point method.

Its linear solver is MUMPS; others of its wheel fail or crash.

Source: A. Wächter, L. T. Biegler, On the implementation of an interior-point filter line-search
algorithm for large-scale nonlinear programming, doi:10.1007/s10107-004-0559-y.
"""

from typing import Any, Final

from engiagent.formulations.classify import ProblemClass
from engiagent.formulations.program import Program
from engiagent.solvers.adapter import Feature, Need, Watch
from engiagent.solvers.casadi.nlp import Method, solve_nlp
from engiagent.solvers.result import SolveOptions, SolverResult

NAME: Final = "IPOPT"
CLASSES: Final[dict[ProblemClass, Need]] = {"LP": "any", "QP": "any", "SOCP": "any", "NLP": "any"}
FEATURES: Final[frozenset[Feature]] = frozenset(
    {"duals", "farkas", "start", "progress", "interrupt", "kinked"}
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

ACCURACY: Final = 1e-9
MOST_ITERATIONS: Final = 3000
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


def settings(options: SolveOptions) -> dict[str, Any]:
    """Return the options of IPOPT."""
    inner: dict[str, Any] = {
        "linear_solver": "mumps",
        "tol": ACCURACY,
        "constr_viol_tol": ACCURACY,
        "compl_inf_tol": ACCURACY,
        "dual_inf_tol": 1e-7,
        "acceptable_tol": 1e-8,
        "acceptable_constr_viol_tol": 1e-8,
        "bound_relax_factor": 1e-9,
        "honor_original_bounds": "yes",
        "max_iter": MOST_ITERATIONS,
        "print_level": 0,
        "sb": "yes",
    }
    if options.time_limit is not None:
        inner["max_wall_time"] = float(options.time_limit)
    if options.log is not None:
        inner["output_file"] = options.log
        inner["file_print_level"] = 5
    return {"ipopt": inner}


def strict(options: SolveOptions) -> dict[str, Any]:
    """Return the options that do not widen bounds.

    Where feasible points touch a curved row without room, widening it by d moves the objective by
    the root of d.
    """
    given = settings(options)
    given["ipopt"]["bound_relax_factor"] = 0.0
    return given


METHOD: Final = Method("ipopt", NAME, settings, ENDINGS, strict=strict)


def solve_here(program: Program, options: SolveOptions, watch: Watch | None = None) -> SolverResult:
    """Solve a checked program in this process.

    Raises
    ------
    EngiagentError
        When the program has whole numbers or conditional rows.
    """
    return solve_nlp(program, options, watch, METHOD)
