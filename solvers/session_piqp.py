"""Persistent PIQP: convex quadratic programs; new numbers go into its factors in place.

Each solve starts from PIQP's own point, for an interior-point method has no use for the last one.
"""

import time
from dataclasses import replace
from typing import Any, Final

import numpy as np

from engiagent.errors import EngiagentError
from engiagent.formulations.classify import has_convex_products
from engiagent.formulations.program import Program
from engiagent.formulations.values import Floats
from engiagent.solvers.convex.outcome import refusal
from engiagent.solvers.convex.piqp import MOST_ITERATIONS, NAME, Pattern, sign_of, version
from engiagent.solvers.measure import factor_of
from engiagent.solvers.result import SolveOptions, SolverResult
from engiagent.solvers.session_changes import Snapshot, crosses
from engiagent.solvers.solving import solve

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
