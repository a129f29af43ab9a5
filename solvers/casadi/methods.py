"""Further methods of CasADi for nonlinear programs, as ``casadi-<plugin>``."""

from functools import partial
from typing import Any, Final

from engiagent.formulations.classify import ProblemClass
from engiagent.formulations.program import Program
from engiagent.solvers.adapter import Adapter, Feature, Need, Watch
from engiagent.solvers.casadi.nlp import Method, solve_nlp
from engiagent.solvers.result import SolveOptions, SolverResult

CLASSES: Final[dict[ProblemClass, Need]] = {"LP": "any", "QP": "any", "SOCP": "any", "NLP": "any"}
FEATURES: Final[frozenset[Feature]] = frozenset({"duals", "farkas", "start", "interrupt", "kinked"})
OPTIONS: Final = {
    "gap": "convex programs are solved to 1e-9 whatever it says",
    "seed": "of the starts after the first",
    "threads": "runs on one thread",
    "start": "the first start",
}


def _sqp(options: SolveOptions) -> dict[str, Any]:
    return {
        "qpsol": "qrqp",
        "qpsol_options": {
            "print_header": False,
            "print_iter": False,
            "print_info": False,
            "error_on_fail": False,
        },
        "convexify_strategy": "regularize",
        "tol_pr": 1e-9,
        "tol_du": 1e-9,
        "max_iter": 300,
        "print_header": False,
        "print_iteration": False,
        "print_status": False,
    }


METHODS: Final = {
    "sqpmethod": Method(
        "sqpmethod",
        "SQP of CasADi",
        _sqp,
        {"Solve_Succeeded": "solved", "Infeasible_Problem_Detected": "stuck"},
    )
}


def member(plugin: str) -> Adapter:
    """Return the adapter of one of :data:`METHODS`."""
    method = METHODS[plugin]
    return Adapter(
        f"casadi-{plugin}",
        method.name,
        CLASSES,
        FEATURES,
        OPTIONS,
        ("casadi",),
        partial(_solve, method),
    )


def _solve(
    method: Method, program: Program, options: SolveOptions, watch: Watch | None = None
) -> SolverResult:
    return solve_nlp(program, options, watch, method)
