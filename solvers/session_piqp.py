r"""Persistent PIQP: convex quadratic programs by a proximal interior-point method.

.. math::

    \min \tfrac12 x^T P x + c^T x \quad\text{s.t.}\quad
    A x = b, \; h^- \le G x \le h^+, \; x^- \le x \le x^+

PIQP keeps its ordering and its symbolic factors; new numbers go in place. Each solve starts from
PIQP's own point, for an interior-point method has no use for the last one.

Source: R. Schwan, Y. Jiang, D. Kuhn, C. N. Jones, PIQP: a proximal interior-point quadratic
programming solver, doi:10.1109/CDC49753.2023.10383915.
"""

import time
from dataclasses import replace
from functools import cache
from importlib.metadata import version as installed
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from engiagent.errors import EngiagentError
from engiagent.formulations.classify import has_convex_products
from engiagent.formulations.program import Program
from engiagent.formulations.values import Floats, Ints
from engiagent.solvers.convex.outcome import refusal
from engiagent.solvers.measure import factor_of
from engiagent.solvers.result import SolveOptions, SolverResult
from engiagent.solvers.session_changes import Snapshot, crosses
from engiagent.solvers.session_shift import Sources, stages_of
from engiagent.solvers.solving import solve

NAME: Final = "PIQP"
ACCEPTED: Final = 1e-6
"""Largest residual, relative to the numbers in it, of a point that is called optimal."""
MOST_ITERATIONS: Final = 500
BIG: Final = 1e30
"""What PIQP takes for infinity."""


class PiqpEngine:
    """A PIQP solver that follows the arrays of a program."""

    def __init__(self, program: Program, options: SolveOptions) -> None:
        if options.time_limit is not None:
            raise EngiagentError(
                f"PIQP knows no time limit; it ends after {MOST_ITERATIONS} iterations"
            )
        self.program = program
        self.options = options
        self._scale = _sign(program)
        self._snapshot = Snapshot(program)
        self._pattern = _Pattern(program)
        self._solver: Any = None

    def solve(self) -> SolverResult:
        """Solve the program as its arrays stand now."""
        started = time.perf_counter()
        result = self._solve()
        return replace(result, seconds=time.perf_counter() - started)

    def _solve(self) -> SolverResult:
        program = self.program
        try:
            changes = self._follow()
        except EngiagentError:
            self._solver = None  # what was seen up to here has not reached it
            raise
        if crosses(program.column_lower, program.column_upper) or crosses(
            program.row_lower, program.row_upper
        ):
            self._solver = None
            # It says which, or that it is rounding.
            return solve(program, self.options, isolate=False)
        if self._solver is None or not self._pattern.fits(program):
            self._setup()
        elif changes:
            self._solver.update(**changes)
        status = self._solver.solve().name
        result = self._solver.result
        x = np.asarray(result.x)[self._pattern.place]
        if status == "PIQP_SOLVED" and self._holds(x):
            return self._optimal(x, result)
        return self._otherwise()

    def _setup(self) -> None:
        import piqp

        program = self.program
        self._pattern = pattern = _Pattern(program)
        self._scale = _sign(program) * factor_of(program)
        self._solver = piqp.SparseSolver()
        settings = self._solver.settings
        settings.max_iter = MOST_ITERATIONS
        a, g = pattern.matrices(program)
        lower, upper = pattern.bounds(program)
        low, high = pattern.limits(program)
        self._solver.setup(
            pattern.quadratic(program) * self._scale,
            self._scale * program.cost[pattern.columns],
            a,
            pattern.right_hand_sides(program),
            g,
            low,
            high,
            lower,
            upper,
        )

    def _follow(self) -> dict[str, Any]:
        """Return what PIQP has to be told; also checks the numbers."""
        program, seen, pattern = self.program, self._snapshot, self._pattern
        changes: dict[str, Any] = {}
        if seen.changed("cost") is not None:
            changes["c"] = self._scale * program.cost[pattern.columns]
        if seen.changed("column_lower", "column_upper") is not None:
            changes["x_l"], changes["x_u"] = pattern.bounds(program)
        if seen.changed("row_lower", "row_upper") is not None:
            changes["b"] = pattern.right_hand_sides(program)
            if pattern.has_limits:
                changes["h_l"], changes["h_u"] = pattern.limits(program)
        if seen.changed("row_values") is not None:
            changes["A"], changes["G"] = pattern.matrices(program)
        if seen.products_changed(self._refuse_nonconvex):
            changes["P"] = pattern.quadratic(program) * self._scale
        return changes

    def _refuse_nonconvex(self) -> None:
        if not has_convex_products(self.program):
            raise EngiagentError(f"the changed program does not go: {refusal(self.program)}")

    def _holds(self, x: Floats) -> bool:
        """Return whether a point keeps rows and bounds within what the numbers can tell."""
        program = self.program
        terms = program.row_values * x[program.row_columns]
        activity: Floats = np.bincount(self._pattern.row_of, terms, program.row_count).astype(float)
        return _within(activity, program.row_lower, program.row_upper) and _within(
            x, program.column_lower, program.column_upper
        )

    def _optimal(self, x: Floats, result: Any) -> SolverResult:
        program = self.program
        objective = program.objective_at(x)
        left = float(result.info.duality_gap) / self._scale
        return SolverResult(
            status="optimal",
            reason="optimal",
            is_mip=False,
            solver=NAME,
            solver_version=version(),
            x=x,
            row_dual=self._pattern.row_dual(result, program.row_count) / self._scale + 0.0,
            column_dual=(result.z_bl - result.z_bu)[self._pattern.place] / self._scale + 0.0,
            objective=objective,
            bound=objective - left,
            gap=abs(left) / max(1.0, abs(objective)),
            iterations=int(result.info.iter),
        )

    def _otherwise(self) -> SolverResult:
        """Leave any outcome but an optimum to the careful way, which also brings the proofs."""
        self._solver = None  # what made it fail must not stay in it
        return solve(self.program, self.options, isolate=False)

    def set_start(self, x: Floats) -> None:
        """Take no notice: an interior-point method starts from a point of its own."""

    def shift(self, sources: Sources) -> None:
        """Take no notice: an interior-point method starts from a point of its own."""


class _Pattern:
    """Where the numbers of a program stand in PIQP's matrices.

    Attributes
    ----------
    columns, place
        The program's column at each of PIQP's places, and the place of each column, (n,).
    equations, inequalities
        The program's rows in the order in which PIQP has them.
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

    def right_hand_sides(self, program: Program) -> Floats:
        """Return b."""
        return program.row_lower[self.equations]

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


def _within(values: Floats, lower: Floats, upper: Floats) -> bool:
    slack = ACCEPTED * np.maximum(1.0, np.abs(values))
    return bool(((values >= lower - slack) & (values <= upper + slack)).all())


def _sign(program: Program) -> float:
    return -1.0 if program.sense == "maximize" else 1.0


@cache
def version() -> str:
    """Return the version of PIQP."""
    return installed("piqp")
