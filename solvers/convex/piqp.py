"""The adapter of PIQP: convex quadratic programs by a proximal interior-point method.

For many solves of one program use :class:`engiagent.solvers.session.Session`, which keeps PIQP's
ordering and hands over what changed.

Source: R. Schwan, Y. Jiang, D. Kuhn, C. N. Jones, PIQP: a proximal interior-point quadratic
programming solver, doi:10.1109/CDC49753.2023.10383915.
"""

import time
from dataclasses import replace
from typing import Any, Final

import numpy as np

from engiagent.formulations.classify import ProblemClass
from engiagent.formulations.program import Program
from engiagent.formulations.values import Floats
from engiagent.solvers.adapter import Feature, Need, Watch, distribution_version
from engiagent.solvers.convex.outcome import Ending, conclude
from engiagent.solvers.convex.quadratic import Quadratic, quadratic
from engiagent.solvers.result import SolveOptions, SolverResult

NAME: Final = "PIQP"
CLASSES: Final[dict[ProblemClass, Need]] = {"LP": "convex", "QP": "convex"}
FEATURES: Final[frozenset[Feature]] = frozenset({"duals", "farkas", "ray", "global"})
OPTIONS: Final = {
    "gap": "convex programs are solved to 1e-9 whatever it says",
    "seed": "makes no random choices",
    "threads": "runs on one thread",
}
REQUIRES: Final = ("piqp",)

ACCURACY: Final = 1e-9
MOST_ITERATIONS: Final = 500
BIG: Final = 1e30
"""What PIQP takes for infinity."""
KINDS: Final = {
    "PIQP_SOLVED": "solved",
    "PIQP_PRIMAL_INFEASIBLE": "infeasible",
    "PIQP_DUAL_INFEASIBLE": "unbounded",
    "PIQP_MAX_ITER_REACHED": "failed",
    "PIQP_NUMERICS": "failed",
}


def solve_here(program: Program, options: SolveOptions, watch: Watch | None = None) -> SolverResult:
    """Solve a checked program in this process.

    Raises
    ------
    EngiagentError
        When the program is no convex quadratic one.
    """
    started = time.perf_counter()
    result = conclude(program, options, _run(quadratic(program, NAME)))
    return replace(result, seconds=time.perf_counter() - started)


def _run(data: Quadratic) -> Ending:
    import piqp
    from scipy.sparse import csc_matrix, triu

    solver = piqp.SparseSolver()
    settings = solver.settings
    settings.eps_abs = settings.eps_rel = ACCURACY
    settings.check_duality_gap = True
    settings.eps_duality_gap_abs = settings.eps_duality_gap_rel = ACCURACY
    settings.max_iter = MOST_ITERATIONS
    equations, inequalities = data.equations, data.inequalities
    solver.setup(
        csc_matrix(triu(data.p)),
        data.c,
        csc_matrix(data.a[equations]),
        data.row_lower[equations],
        csc_matrix(data.a[inequalities]),
        np.maximum(data.row_lower[inequalities], -BIG),
        np.minimum(data.row_upper[inequalities], BIG),
        np.maximum(data.column_lower, -BIG),
        np.minimum(data.column_upper, BIG),
    )
    status = solver.solve().name
    words = f"PIQP ended with {status.removeprefix('PIQP_').lower().replace('_', ' ')}"
    x = np.array(solver.result.x, dtype=np.float64)
    return Ending(
        kind=KINDS.get(status, "failed"),
        words=words,
        solver=NAME,
        version=distribution_version("piqp") or "unknown",
        iterations=int(solver.result.info.iter),
        x=x,
        row_dual=data.sign * _row_dual(data, solver.result),
        ray=x,
    )


def _row_dual(data: Quadratic, result: Any) -> Floats:
    dual = np.zeros(len(data.row_lower))
    dual[data.equations] = -np.asarray(result.y)
    inequalities = data.inequalities
    if len(inequalities):
        dual[inequalities] = np.asarray(result.z_l) - np.asarray(result.z_u)
    return dual
