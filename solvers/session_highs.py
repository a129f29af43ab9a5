"""Persistent HiGHS: linear programs hot from the last basis."""

import math
import time
from dataclasses import replace
from typing import Any, Final

import numpy as np

from engiagent.formulations.program import Program
from engiagent.formulations.values import Ints
from engiagent.solvers import highs
from engiagent.solvers.highs import Run, load, numbers
from engiagent.solvers.linear import is_proven, stopped
from engiagent.solvers.measure import factor_of
from engiagent.solvers.result import Floats, SolveOptions, SolverResult, remaining
from engiagent.solvers.session_changes import Snapshot, crosses
from engiagent.solvers.solving import solve

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
