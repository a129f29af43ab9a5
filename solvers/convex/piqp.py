r"""PIQP: convex quadratic programs by a proximal interior-point method.

.. math::

    \min \tfrac12 x^T P x + c^T x \quad\text{s.t.}\quad
    A x = b, \; h^- \le G x \le h^+, \; x^- \le x \le x^+

For many solves of one program use :class:`engiagent.solvers.session.Session`, which keeps PIQP's
ordering and its symbolic factors and hands over what changed.

Source: R. Schwan, Y. Jiang, D. Kuhn, C. N. Jones, PIQP: a proximal interior-point quadratic
programming solver, doi:10.1109/CDC49753.2023.10383915.
"""

import time
from dataclasses import replace
from functools import cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from engiagent.errors import EngiagentError
from engiagent.formulations.classify import ProblemClass
from engiagent.formulations.program import Program
from engiagent.formulations.values import Floats, Ints
from engiagent.solvers.adapter import Feature, Need, Watch, distribution_version
from engiagent.solvers.convex.outcome import Ending, conclude, refusal
from engiagent.solvers.result import SolveOptions, SolverResult
from engiagent.solvers.stages import stages_of

NAME: Final = "PIQP"
CLASSES: Final[dict[ProblemClass, Need]] = {"LP": "convex", "QP": "convex"}
FEATURES: Final[frozenset[Feature]] = frozenset({"duals", "farkas", "global"})
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
}


def solve_here(program: Program, options: SolveOptions, watch: Watch | None = None) -> SolverResult:
    """Solve a checked convex quadratic program in this process."""
    started = time.perf_counter()
    reason = refusal(program)
    if reason is not None:
        raise EngiagentError(f"{NAME} cannot take this program: {reason}")
    pattern, sign = Pattern(program), sign_of(program)
    solver = pattern.solver(program, sign, accuracy=ACCURACY)
    status = solver.solve().name
    x = np.array(solver.result.x, dtype=np.float64)[pattern.place]
    ending = Ending(
        kind=KINDS.get(status, "failed"),
        words=f"PIQP ended with {status.removeprefix('PIQP_').lower().replace('_', ' ')}",
        solver=NAME,
        version=version(),
        iterations=int(solver.result.info.iter),
        x=x,
        row_dual=sign * pattern.row_dual(solver.result, program.row_count),
    )
    result = conclude(program, options, ending)
    return replace(result, seconds=time.perf_counter() - started)


@cache
def version() -> str:
    """Return the version of PIQP."""
    return distribution_version("piqp") or "unknown"


def sign_of(program: Program) -> float:
    """Return what the objective is multiplied by to be minimised."""
    return -1.0 if program.sense == "maximize" else 1.0


class Pattern:
    """Where the numbers of a program stand in PIQP's matrices.

    ``columns``, ``place``: the program's column at each of PIQP's places, and the place of each
    column, (n,). ``equations``, ``inequalities``: the program's rows in the order in which PIQP has
    them.
    """

    def __init__(self, program: Program) -> None:
        # Neighbours in time next to one another: the factors of such a matrix stay thinner.
        columns, rows = (np.argsort(stage, kind="stable") for stage in stages_of(program))
        self.columns = columns
        self.place = np.empty_like(columns)
        self.place[columns] = np.arange(len(columns))
        self.equal = _equalities(program)
        self.equations = rows[self.equal[rows]]
        self.free = _free(program)
        self.inequalities = rows[~(self.equal | self.free)[rows]]
        self.has_limits = len(self.inequalities) > 0
        row_of = np.repeat(np.arange(program.row_count), np.diff(program.row_starts))
        self.row_of = row_of
        column_of = self.place[program.row_columns]
        self._a = _Entries(row_of, column_of, self.equations, program)
        self._g = _Entries(row_of, column_of, self.inequalities, program)
        self._p = _upper_triangle(program, self.place)

    def solver(self, program: Program, scale: float, accuracy: float | None = None) -> Any:
        """Return PIQP with the program in it, to minimise ``scale`` times the objective."""
        import piqp

        solver = piqp.SparseSolver()
        settings = solver.settings
        settings.max_iter = MOST_ITERATIONS
        if accuracy is not None:
            settings.check_duality_gap = True
            settings.eps_abs = settings.eps_rel = accuracy
            settings.eps_duality_gap_abs = settings.eps_duality_gap_rel = accuracy
        a, g = self.matrices(program)
        low, high = self.limits(program)
        solver.setup(
            self.quadratic(program) * scale,
            scale * program.cost[self.columns],
            a,
            program.row_lower[self.equations],
            g,
            low,
            high,
            *self.bounds(program),
        )
        return solver

    def fits(self, program: Program) -> bool:
        """Return whether the same rows are equations, and the same without limits, as before."""
        equations = np.array_equal(_equalities(program), self.equal)
        return equations and np.array_equal(_free(program), self.free)

    def matrices(self, program: Program) -> tuple[Any, Any]:
        """Return A and G by columns."""
        return self._a.matrix(program), self._g.matrix(program)

    def bounds(self, program: Program) -> tuple[Floats, Floats]:
        """Return the bounds of the columns."""
        return _bounded(program.column_lower[self.columns], program.column_upper[self.columns])

    def limits(self, program: Program) -> tuple[Floats, Floats]:
        """Return the two sides of the inequalities."""
        rows = self.inequalities
        return _bounded(program.row_lower[rows], program.row_upper[rows])

    def quadratic(self, program: Program) -> Any:
        """Return the upper triangle of P: twice the squares' coefficients."""
        from scipy.sparse import csc_matrix

        starts, places, order, factor = self._p
        n = program.column_count
        return csc_matrix((program.products.values[order] * factor, places, starts), shape=(n, n))

    def row_dual(self, result: Any, size: int) -> Floats:
        """Return ∂objective/∂right-hand side of the minimised objective, shape (m,)."""
        dual = np.zeros(size)
        dual[self.equations] = -result.y
        if self.has_limits:
            dual[self.inequalities] = result.z_l - result.z_u
        return dual


class _Entries:
    """Some rows of the matrix, by columns."""

    def __init__(self, row_of: Ints, column_of: Ints, rows: Ints, program: Program) -> None:
        number = np.full(program.row_count, -1)
        number[rows] = np.arange(len(rows))
        entries = np.flatnonzero(number[row_of] >= 0)
        self.order = entries[np.lexsort((number[row_of[entries]], column_of[entries]))]
        self.places = number[row_of[self.order]].astype(np.int32)
        counts = np.bincount(column_of[self.order], minlength=program.column_count)
        self.starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
        self.shape = (len(rows), program.column_count)

    def matrix(self, program: Program) -> Any:
        """Return the rows with the numbers as they stand now; zeros stay stored."""
        from scipy.sparse import csc_matrix

        parts = (program.row_values[self.order], self.places, self.starts)
        return csc_matrix(parts, shape=self.shape)


def _upper_triangle(program: Program, place: Ints) -> tuple[Ints, Ints, Ints, Floats]:
    """Return column starts, row numbers, the order of the products and a factor for each."""
    products = program.products
    first, second = place[products.first], place[products.second]
    row, column = np.minimum(first, second), np.maximum(first, second)
    order = np.lexsort((row, column))
    counts = np.bincount(column, minlength=program.column_count)
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    factor = np.where(row[order] == column[order], 2.0, 1.0)
    return starts, row[order].astype(np.int32), order, factor


def _equalities(program: Program) -> npt.NDArray[np.bool_]:
    return np.asarray(program.row_lower == program.row_upper)


def _free(program: Program) -> npt.NDArray[np.bool_]:
    return np.asarray(np.isinf(program.row_lower) & np.isinf(program.row_upper))


def _bounded(lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
    return np.maximum(lower, -BIG), np.minimum(upper, BIG)
