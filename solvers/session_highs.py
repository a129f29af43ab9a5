"""Persistent HiGHS: linear programs hot from the last basis."""

import math
import time
from collections import deque
from dataclasses import replace
from typing import Any, Final

import numpy as np

from engiagent.formulations.program import Program
from engiagent.formulations.values import Ints
from engiagent.solvers import highs
from engiagent.solvers.highs import Run, load, numbers
from engiagent.solvers.linear import stopped
from engiagent.solvers.linear_proof import SEEN, is_proven
from engiagent.solvers.measure import factor_of
from engiagent.solvers.result import Floats, SolveOptions, SolverResult, remaining
from engiagent.solvers.session_changes import Snapshot, crosses
from engiagent.solvers.session_shift import Sources
from engiagent.solvers.solving import solve

PRIMAL_SIMPLEX: Final = 4
CHOOSE_SIMPLEX: Final = 0
MANY: Final = 1_000
"""From so many changed coefficients on, HiGHS gets its matrix anew."""
PER_ITERATION: Final = 60
"""Rows and columns whose new factorisation costs as much as one iteration."""
TRIALS: Final = 2
LATELY: Final = 8
AGAIN: Final = 40
"""Every so many moves the way that seems slower is tried again."""


class _Model:
    """A HiGHS object that follows the arrays of a program."""

    def __init__(self, program: Program, options: SolveOptions) -> None:
        self.program = program
        self.options = options
        self.scale = self._measured()
        self.snapshot = Snapshot(program)
        self.highs: Any = load(program, options, self.scale, {})
        self._shifted = False
        self._offset = program.offset
        self._strategy = CHOOSE_SIMPLEX
        self._crossed_columns = crosses(program.column_lower, program.column_upper)
        self._crossed_rows = crosses(program.row_lower, program.row_upper)
        from highspy import HighsModelStatus

        self.optimal: Any = HighsModelStatus.kOptimal
        self.version = str(self.highs.version())

    def _measured(self) -> float:
        """Return what the objective is multiplied by to be minimised.

        Costs that change later keep that of the first ones where the answer is proven by itself.
        """
        return (-1.0 if self.program.sense == "maximize" else 1.0) * factor_of(self.program)

    def prepare(self) -> bool:
        """Hand over what has changed; return False when bounds cross."""
        self._follow()
        if self._crossed_columns or self._crossed_rows:
            return False
        if self.options.time_limit is not None:
            # HiGHS counts the time of all runs of an object together.
            elapsed = float(self.highs.getRunTime())
            self.highs.setOptionValue("time_limit", elapsed + self.options.time_limit)
        self._choose_simplex()
        return True

    def outcome(self) -> Run:
        """Return the account of the last run."""
        return Run(self.highs, self.highs.getModelStatus().name, self.scale, False)

    def start_from(self, x: Floats) -> None:
        """Start the next run from a point."""
        self.highs.setSolution(len(x), np.arange(len(x), dtype=np.int32), x)

    def shift(self, columns: Ints, rows: Ints) -> None:
        """Move the basis; HiGHS repairs what does not fit together."""
        basis = self.highs.getBasis()
        if not basis.valid:
            return
        column_status, row_status = basis.col_status, basis.row_status
        basis.col_status = [column_status[j] for j in columns.tolist()]
        basis.row_status = [row_status[i] for i in rows.tolist()]
        basis.alien = True
        self.highs.setBasis(basis)
        self._shifted = True

    def _choose_simplex(self) -> None:
        # A basis moved in time is nearly primal feasible for the new horizon; one that is kept
        # under new costs and loads starts best where HiGHS starts by itself, from the dual side.
        strategy = PRIMAL_SIMPLEX if self._shifted else CHOOSE_SIMPLEX
        if strategy != self._strategy:
            self.highs.setOptionValue("simplex_strategy", strategy)
            self._strategy = strategy
        self._shifted = False

    def _follow(self) -> None:
        program, seen, model = self.program, self.snapshot, self.highs
        if program.offset != self._offset:
            self._offset = program.offset
            model.changeObjectiveOffset(self.scale * program.offset)
        at = seen.changed("cost")
        if at is not None:
            model.changeColsCost(len(at), at, self.scale * program.cost[at])
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
            self._pass_again()
            return
        rows = np.searchsorted(program.row_starts, entries, side="right") - 1
        columns = program.row_columns[entries]
        values = program.row_values[entries]
        for row, column, value in zip(
            rows.tolist(), columns.tolist(), values.tolist(), strict=True
        ):
            self.highs.changeCoeff(row, column, value)

    def _pass_again(self) -> None:
        """Load the whole program into a new object and give it the old basis."""
        basis = self.highs.getBasis()
        fresh = load(self.program, self.options, self.scale, {})
        if basis.valid:
            fresh.setBasis(basis)
        self.highs, self._strategy = fresh, CHOOSE_SIMPLEX


class _Moves:
    """Whether to move the basis along with a horizon or to keep it.

    Moving saves iterations where the solution moves in time too, and costs a new factorisation.
    Both are tried now and then, and the one that has taken less work lately is used. Work is
    counted in iterations, so that equal inputs take equal ways.
    """

    def __init__(self, price: float) -> None:
        self._price = {True: price, False: 0.0}
        self._work: dict[bool, deque[float]] = {k: deque(maxlen=LATELY) for k in (True, False)}
        self._count = 0

    def choose(self) -> bool:
        """Return whether to move the basis this time."""
        self._count += 1
        for way in (False, True):
            if len(self._work[way]) < TRIALS:
                return way
        mean = {way: sum(work) / len(work) for way, work in self._work.items()}
        best = mean[True] < mean[False]
        return not best if self._count % AGAIN == 0 else best

    def record(self, moved: bool, iterations: int) -> None:
        """Take note of how many iterations a solve took."""
        self._work[moved].append(iterations + self._price[moved])


class HighsEngine:
    """Linear programs; the basis is kept from solve to solve."""

    def __init__(self, program: Program, options: SolveOptions) -> None:
        self.program = program
        self.options = options
        self._model = _Model(program, options)
        self._moves = _Moves((program.column_count + program.row_count) / PER_ITERATION)
        self._moved: bool | None = None

    def solve(self) -> SolverResult:
        """Solve the program as its arrays stand now."""
        result = self._solve(time.perf_counter())
        if self._moved is not None:
            self._moves.record(self._moved, result.iterations)
            self._moved = None
        return result

    def _solve(self, started: float) -> SolverResult:
        program, model = self.program, self._model
        if not model.prepare():
            # It says which, or that it is rounding.
            return solve(program, self.options, isolate=False)
        model.highs.run()
        if model.highs.getModelStatus() == model.optimal:
            result = self._optimal(started)
            if result is not None:
                return result
        run = model.outcome()
        if run.status in highs.LIMITS:
            return stopped(program, self.options, run, run.point())
        # Anything else is for the careful way, which also brings the proofs.
        left = replace(remaining(self.options, started), backend="highs")
        return solve(program, left, isolate=False)

    def _optimal(self, started: float) -> SolverResult | None:
        """Return the result, None when it is not finite or not proven; asks each question once."""
        model = self._model
        solution, scale = model.highs.getSolution(), model.scale
        x = numbers(solution.col_value)
        if not math.isfinite(x @ x):
            return None
        row_dual: Floats = numbers(solution.row_dual) / scale + 0.0
        column_dual: Floats = numbers(solution.col_dual) / scale + 0.0
        objective = float(self.program.cost @ x) + self.program.offset
        result = SolverResult(
            status="optimal",
            reason="optimal",
            is_mip=False,
            solver=highs.NAME,
            solver_version=model.version,
            x=x,
            row_dual=row_dual,
            column_dual=column_dual,
            objective=objective,
            bound=objective,
            gap=0.0,
            seconds=time.perf_counter() - started,
            iterations=max(0, model.highs.getInfoValue("simplex_iteration_count")[1]),
        )
        doubtful = model.highs.getInfoValue("max_dual_infeasibility")[1] > SEEN
        return None if doubtful and not is_proven(self.program, result) else result

    def set_start(self, x: Floats) -> None:
        """Give HiGHS a point from which it builds a basis."""
        self._model.start_from(x)

    def shift(self, sources: Sources) -> None:
        """Start from the basis, as it is or moved in time, whichever has taken less work so far."""
        self._moved = self._moves.choose()
        if self._moved:
            self._model.shift(*sources())
