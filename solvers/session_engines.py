"""The persistent solvers of sessions, which follow the arrays of a program.

Linear programs stay in HiGHS, hot from the last basis. Convex quadratic ones stay in PIQP, whose
factors take new numbers in place; each solve starts from PIQP's own point, for an interior-point
method has no use for the last one.
"""

import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from engiagent.errors import EngiagentError
from engiagent.formulations.classify import has_convex_products
from engiagent.formulations.program import Program
from engiagent.formulations.values import Floats, Ints
from engiagent.solvers import highs
from engiagent.solvers.convex.outcome import refusal
from engiagent.solvers.convex.piqp import MOST_ITERATIONS, NAME, Pattern, sign_of, version
from engiagent.solvers.highs import Run, load, numbers
from engiagent.solvers.linear import is_proven, stopped
from engiagent.solvers.measure import factor_of
from engiagent.solvers.result import SolveOptions, SolverResult, remaining
from engiagent.solvers.solving import solve
from engiagent.solvers.validate import INFINITE, check_program

Places = npt.NDArray[np.int32]
ARRAYS = ("cost", "column_lower", "column_upper", "row_lower", "row_upper", "row_values")


class Snapshot:
    """The arrays that may change, as a solver has them: as bytes, which are compared fastest."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._seen = {name: getattr(program, name).tobytes() for name in ARRAYS}
        self._products = program.products.values.tobytes()

    def changed(self, *names: str) -> Places | None:
        """Return where any of some arrays of one length differs, None where none does."""
        different: Any = None
        fresh: dict[str, bytes] = {}
        for name in names:
            now = getattr(self._program, name)
            raw = now.tobytes()
            seen = self._seen[name]
            if raw != seen:
                fresh[name] = raw
                moved = now != np.frombuffer(seen)
                different = moved if different is None else different | moved
        if different is None:
            return None
        places: Places = different.nonzero()[0].astype(np.int32)
        for name in fresh:
            if not _harmless(getattr(self._program, name)[places], name):
                check_program(self._program)
        self._seen.update(fresh)
        return places

    def products_changed(self, check: Callable[[], None]) -> bool:
        """Return whether products changed; seen from now on, unless ``check`` raises."""
        raw = self._program.products.values.tobytes()
        if raw == self._products:
            return False
        if not bool(np.all(np.abs(self._program.products.values) < INFINITE)):
            check_program(self._program)
        check()
        self._products = raw
        return True


def crosses(lower: Floats, upper: Floats) -> bool:
    """Return whether any lower bound lies above its upper bound."""
    return bool((lower > upper).any())


def _harmless(values: Floats, name: str) -> bool:
    """Return whether new numbers are plainly finite and neither huge nor tiny."""
    size = np.abs(values)
    if name == "row_values":
        return bool(((size < 1e12) & ((size == 0) | (size > 1e-9))).all())
    # NaN and infinity fail this too, and are looked at more closely.
    if not len(size) or size.max() < INFINITE:
        return True
    none = {"lower": -np.inf, "upper": np.inf}.get(name.rpartition("_")[2], np.nan)
    return bool(((size < INFINITE) | (values == none)).all())


MANY: Final = 1_000
"""From so many changed coefficients on, HiGHS gets its matrix anew."""


class HighsEngine:
    """Linear programs in a HiGHS object that follows their arrays; the basis stays."""

    def __init__(self, program: Program, options: SolveOptions) -> None:
        self.program = program
        self.options = options
        # Costs that change later keep the measure of the first ones where the answer is proven.
        self._scale = (-1.0 if program.sense == "maximize" else 1.0) * factor_of(program)
        self._snapshot = Snapshot(program)
        self._highs: Any = load(program, options, self._scale, {})
        self._offset = program.offset
        self._crossed_columns = crosses(program.column_lower, program.column_upper)
        self._crossed_rows = crosses(program.row_lower, program.row_upper)
        from highspy import HighsModelStatus

        self._optimal_status: Any = HighsModelStatus.kOptimal
        self._version = str(self._highs.version())

    def solve(self) -> SolverResult:
        """Solve the program as its arrays stand now."""
        started = time.perf_counter()
        self._follow()
        if self._crossed_columns or self._crossed_rows:
            # It says which, or that it is rounding.
            return solve(self.program, self.options, isolate=False)
        if self.options.time_limit is not None:
            # HiGHS counts the time of all runs of an object together.
            elapsed = float(self._highs.getRunTime())
            self._highs.setOptionValue("time_limit", elapsed + self.options.time_limit)
        self._highs.run()
        if self._highs.getModelStatus() == self._optimal_status:
            result = self._optimal(started)
            if result is not None:
                return result
        run = Run(self._highs, self._highs.getModelStatus().name, self._scale, False)
        if run.status in highs.LIMITS:
            return stopped(self.program, self.options, run, run.point())
        # Anything else is for the careful way, which also brings the proofs.
        left = replace(remaining(self.options, started), backend="highs")
        return solve(self.program, left, isolate=False)

    def set_start(self, x: Floats) -> None:
        """Give HiGHS a point from which it builds a basis."""
        self._highs.setSolution(len(x), np.arange(len(x), dtype=np.int32), x)

    def _follow(self) -> None:
        program, seen, model = self.program, self._snapshot, self._highs
        if program.offset != self._offset:
            self._offset = program.offset
            model.changeObjectiveOffset(self._scale * program.offset)
        at = seen.changed("cost")
        if at is not None:
            model.changeColsCost(len(at), at, self._scale * program.cost[at])
        at = seen.changed("column_lower", "column_upper")
        if at is not None:
            lower, upper = program.column_lower[at], program.column_upper[at]
            model.changeColsBounds(len(at), at, lower, upper)
            if self._crossed_columns or crosses(lower, upper):
                self._crossed_columns = crosses(program.column_lower, program.column_upper)
        at = seen.changed("row_lower", "row_upper")
        if at is not None:
            lower, upper = program.row_lower[at], program.row_upper[at]
            model.changeRowsBounds(len(at), at, lower, upper)
            if self._crossed_rows or crosses(lower, upper):
                self._crossed_rows = crosses(program.row_lower, program.row_upper)
        at = seen.changed("row_values")
        if at is not None:
            self._change_matrix(at)

    def _change_matrix(self, entries: Ints) -> None:
        program = self.program
        if len(entries) > MANY:
            basis = self._highs.getBasis()
            self._highs = load(program, self.options, self._scale, {})
            if basis.valid:
                self._highs.setBasis(basis)
            return
        rows = (np.searchsorted(program.row_starts, entries, side="right") - 1).tolist()
        columns, values = (
            program.row_columns[entries].tolist(),
            program.row_values[entries].tolist(),
        )
        for row, column, value in zip(rows, columns, values, strict=True):
            self._highs.changeCoeff(row, column, value)

    def _optimal(self, started: float) -> SolverResult | None:
        """Return the result, None when it is not finite or not proven; asks each question once."""
        model, scale = self._highs, self._scale
        solution = model.getSolution()
        x = numbers(solution.col_value)
        if not math.isfinite(x @ x):
            return None
        objective = float(self.program.cost @ x) + self.program.offset
        result = SolverResult(
            status="optimal",
            reason="optimal",
            is_mip=False,
            solver=highs.NAME,
            solver_version=self._version,
            x=x,
            row_dual=numbers(solution.row_dual) / scale + 0.0,
            column_dual=numbers(solution.col_dual) / scale + 0.0,
            objective=objective,
            bound=objective,
            gap=0.0,
            seconds=time.perf_counter() - started,
            iterations=max(0, model.getInfoValue("simplex_iteration_count")[1]),
        )
        doubtful = model.getInfoValue("max_dual_infeasibility")[1] > highs.SEEN
        return None if doubtful and not is_proven(self.program, result) else result


ACCEPTED: Final = 1e-6
"""Largest residual, relative to the numbers in it, of a point that is called optimal."""


class PiqpEngine:
    """A PIQP solver that follows the arrays of a program."""

    def __init__(self, program: Program, options: SolveOptions) -> None:
        if options.time_limit is not None:
            raise EngiagentError(
                f"PIQP knows no time limit; it ends after {MOST_ITERATIONS} iterations"
            )
        self.program = program
        self.options = options
        self._scale = sign_of(program)
        self._snapshot = Snapshot(program)
        self._pattern = Pattern(program)
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
        # Any outcome but an optimum is for the careful way, which also brings the proofs.
        self._solver = None  # what made it fail must not stay in it
        return solve(program, self.options, isolate=False)

    def _setup(self) -> None:
        self._pattern = Pattern(self.program)
        self._scale = sign_of(self.program) * factor_of(self.program)
        self._solver = self._pattern.solver(self.program, self._scale)

    def _follow(self) -> dict[str, Any]:
        """Return what PIQP has to be told; also checks the numbers."""
        program, seen, pattern = self.program, self._snapshot, self._pattern
        changes: dict[str, Any] = {}
        if seen.changed("cost") is not None:
            changes["c"] = self._scale * program.cost[pattern.columns]
        if seen.changed("column_lower", "column_upper") is not None:
            changes["x_l"], changes["x_u"] = pattern.bounds(program)
        if seen.changed("row_lower", "row_upper") is not None:
            changes["b"] = program.row_lower[pattern.equations]
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

    def set_start(self, x: Floats) -> None:
        """Take no notice: an interior-point method starts from a point of its own."""


def _within(values: Floats, lower: Floats, upper: Floats) -> bool:
    slack = ACCEPTED * np.maximum(1.0, np.abs(values))
    return bool(((values >= lower - slack) & (values <= upper + slack)).all())
