"""The adapter of fatrop, as CasADi carries it: optimal control by its stages.

It solves a program whose rows join at most two neighbouring stages of a time set, see
:mod:`engiagent.solvers.casadi.stages`, in a time that grows with the number of stages only.

Source: L. Vanroye, A. Sathya, J. De Schutter, W. Decré, FATROP: a fast constrained optimal control
problem solver for robot trajectory optimization and control, doi:10.1109/IROS55552.2023.10342336.
"""

from typing import Any, Final

from engiagent.formulations.classify import ProblemClass
from engiagent.formulations.program import Program
from engiagent.solvers.adapter import Feature, Need, Watch
from engiagent.solvers.casadi.graph import Graph
from engiagent.solvers.casadi.nlp import Layout, Method, solve_nlp
from engiagent.solvers.casadi.stages import stages_of
from engiagent.solvers.result import SolveOptions, SolverResult

NAME: Final = "fatrop"
CLASSES: Final[dict[ProblemClass, Need]] = {"LP": "any", "QP": "any", "SOCP": "any", "NLP": "any"}
FEATURES: Final[frozenset[Feature]] = frozenset({"duals", "farkas", "start"})
OPTIONS: Final = {
    "gap": "convex programs are solved to 1e-9 whatever it says",
    "seed": "of the starts after the first",
    "threads": "runs on one thread",
    "start": "the first start",
}
REQUIRES: Final = ("casadi",)

ACCURACY: Final = 1e-9
MOST_ITERATIONS: Final = 1000


def settings(options: SolveOptions) -> dict[str, Any]:
    """Return the options of fatrop."""
    return {"fatrop": {"print_level": 0, "tol": ACCURACY, "max_iter": MOST_ITERATIONS}}


def layout(program: Program, graph: Graph) -> Layout:
    """Return the order in which fatrop wants columns and rows.

    Raises
    ------
    EngiagentError
        When the program is not in stages, saying why.
    """
    found = stages_of(program, graph, NAME)
    structure = {
        "structure_detection": "manual",
        "N": len(found.states) - 1,
        "nx": found.states,
        "nu": found.controls,
        "ng": found.limits,
    }
    return Layout(found.columns, found.rows, found.row_scale, structure)


METHOD: Final = Method("fatrop", NAME, settings, {}, watched=False, layout=layout)


def solve_here(program: Program, options: SolveOptions, watch: Watch | None = None) -> SolverResult:
    """Solve a checked program in this process.

    Raises
    ------
    EngiagentError
        When the program is not in stages, or has whole numbers or conditional rows.
    """
    return solve_nlp(program, options, watch, METHOD)
