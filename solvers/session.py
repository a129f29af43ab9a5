"""Sessions: one program solved many times in this process, each solve warm from the last.

A session holds on to a solver and to a program whose arrays are changed in place between two
solves (costs, bounds, right-hand sides, coefficients; the pattern stays). It compares the arrays
with what the solver already has and hands over the differences only.

Linear programs stay in HiGHS, convex quadratic ones in PIQP. All others, and every outcome other
than an optimum, go through :func:`engiagent.solvers.solve`, so that statuses, reasons, duals and
proofs mean the same; a branch and bound then starts from the last schedule.
"""

import math
from dataclasses import replace
from typing import Protocol

import numpy as np

from engiagent.errors import EngiagentError
from engiagent.formulations.program import Program
from engiagent.formulations.values import Ints
from engiagent.solvers.convex.outcome import refusal
from engiagent.solvers.netting import netted
from engiagent.solvers.registry import adapter
from engiagent.solvers.result import Floats, SolveOptions, SolverResult
from engiagent.solvers.selection import select
from engiagent.solvers.session_engines import HighsEngine, PiqpEngine
from engiagent.solvers.solving import solve
from engiagent.solvers.stages import earlier_columns
from engiagent.solvers.validate import check_program


class HoldsProgram(Protocol):
    """Something with a live program, as a parametric program has."""

    @property
    def program(self) -> Program:
        """The program whose arrays change in place."""
        ...


class Session:
    """A persistent solver of one program.

    ``program``: a program, or what holds one whose arrays are changed in place between solves.
    ``options``: limits and settings of each single solve. A memory limit needs a process of its own
    and is refused here. Raises EngiagentError when an option cannot be honoured or the program
    holds a number that no solver can be trusted with.
    """

    def __init__(
        self, program: Program | HoldsProgram, options: SolveOptions | None = None
    ) -> None:
        self._source = program
        self._options = options or SolveOptions()
        if self._options.memory_limit_mb is not None:
            raise EngiagentError("a memory limit needs a process of its own; a session has none")
        self._take(self.program)
        if self._options.start is not None:
            self.set_start(self._options.start)

    @property
    def program(self) -> Program:
        """The program, whose arrays may be changed in place between solves."""
        return self._source if isinstance(self._source, Program) else self._source.program

    def _take(self, program: Program) -> None:
        """Make the persistent solver of a program's class, or one that solves from scratch."""
        check_program(program)
        self._program, options = program, self._options
        self._moves: dict[int, Ints] = {}
        self._engine: HighsEngine | PiqpEngine | ColdEngine
        one_goal = program.method is None and not program.goals
        linear = program.is_linear and not program.is_mip
        if one_goal and linear and options.backend in (None, "highs"):
            self._engine = HighsEngine(program, options)
        elif (
            one_goal
            and not program.is_linear
            and options.backend in (None, "piqp")
            and refusal(program) is None
        ):
            self._engine = PiqpEngine(program, options)
        else:
            self._engine = ColdEngine(program, options)

    def solve(self) -> SolverResult:
        """Solve the program as its arrays stand now, starting from where the last solve ended."""
        if self.program is not self._program:
            # Compiled anew, perhaps with other rows and columns: nothing of the old one holds.
            self._take(self.program)
        if not math.isfinite(self._program.offset):
            check_program(self._program)
        return netted(self._program, self._engine.solve(), self._options)

    def set_start(self, x: Floats) -> None:
        """Start the next solve from a point of shape (n,), finite but perhaps not feasible."""
        point = np.asarray(x, dtype=np.float64)
        if point.shape != (self._program.column_count,) or not np.all(np.isfinite(point)):
            raise EngiagentError(
                f"the start has the shape {point.shape} or holds a value that is not finite; "
                f"give {self._program.column_count} numbers"
            )
        self._engine.set_start(point)

    def shift(self, stages: int = 1) -> None:
        """Start the next branch and bound from the last schedule moved ahead in time.

        What stood at stage k + ``stages`` of a time set is taken for stage k; the last stages
        keep what they had. For receding horizons. A linear program keeps its basis, which serves
        the new horizon as well as one that is moved.

        Raises EngiagentError when ``stages`` is negative.
        """
        if stages < 0:
            raise EngiagentError(f"stages is {stages}; give a whole number of at least 0")
        if stages and isinstance(self._engine, ColdEngine) and self._engine.start is not None:
            if stages not in self._moves:
                self._moves[stages] = earlier_columns(self._program, stages)
            self._engine.start = self._engine.start[self._moves[stages]]


class ColdEngine:
    """Any program that :func:`solve` takes, started from the last point where that is taken."""

    def __init__(self, program: Program, options: SolveOptions) -> None:
        self.program = program
        self.options = replace(options, start=None)
        self.start: Floats | None = None

    def solve(self) -> SolverResult:
        """Solve the program as its arrays stand now."""
        options = self.options
        if self.start is not None and self._takes_start():
            options = replace(options, start=self.start)
        result = solve(self.program, options, isolate=False)
        if result.x is not None:
            self.start = result.x
        return result

    def _takes_start(self) -> bool:
        if self.program.goals:
            return False
        backend = self.options.backend or select(self.program, self.options).backend
        return "start" in adapter(backend).options

    def set_start(self, x: Floats) -> None:
        """Start from a point where the solver takes one."""
        self.start = x
