"""Sessions: one program solved many times in this process, each solve warm from the last.

A session holds on to a solver and to a program whose arrays somebody changes in place between two
solves (costs, bounds, right-hand sides, coefficients; the pattern stays). It compares the arrays
with what the solver already has and hands over the differences only.

Linear programs stay in HiGHS, convex quadratic ones in PIQP. All others, and every outcome other
than an optimum, go through :func:`engiagent.solvers.solve`, so that statuses, reasons, duals and
proofs mean the same; a branch and bound then starts from the last schedule.
"""

import math
from dataclasses import replace
from functools import partial
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
from engiagent.solvers.session_highs import HighsEngine
from engiagent.solvers.session_piqp import PiqpEngine
from engiagent.solvers.session_shift import Sources, stage_sources
from engiagent.solvers.solving import solve
from engiagent.solvers.validate import check_program


class HoldsProgram(Protocol):
    """Something with a live program, as a parametric program has."""

    @property
    def program(self) -> Program:
        """The program whose arrays change in place."""
        ...


class Engine(Protocol):
    """What a session drives: a persistent solver of one program."""

    def solve(self) -> SolverResult:
        """Solve the program as its arrays stand now."""
        ...

    def set_start(self, x: Floats) -> None:
        """Start the next solve from a point of shape (n,)."""
        ...

    def shift(self, sources: Sources) -> None:
        """Let each column and row start from where another one ended.

        ``sources`` returns the numbers of the columns, shape (n,), and of the rows, shape (m,).
        """
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
        self._program = self.program
        self._options = options or SolveOptions()
        if self._options.memory_limit_mb is not None:
            raise EngiagentError("a memory limit needs a process of its own; a session has none")
        check_program(self._program)
        self._engine = _engine(self._program, self._options)
        self._moves: dict[int, tuple[Ints, Ints]] = {}
        if self._options.start is not None:
            self.set_start(self._options.start)

    @property
    def program(self) -> Program:
        """The program, whose arrays may be changed in place between solves."""
        return self._source if isinstance(self._source, Program) else self._source.program

    def solve(self) -> SolverResult:
        """Solve the program as its arrays stand now, starting from where the last solve ended.

        Raises
        ------
        ProgramError
            When a changed number is one that no solver can be trusted with.
        """
        if self.program is not self._program:
            # Compiled anew, perhaps with other rows and columns: nothing of the old one holds.
            self._program = self.program
            check_program(self._program)
            self._engine = _engine(self._program, self._options)
            self._moves.clear()
        if not math.isfinite(self._program.offset):
            check_program(self._program)
        return netted(self._program, self._engine.solve())

    def set_start(self, x: Floats) -> None:
        """Start the next solve from a point; it need not be feasible.

        ``x``: values of all columns, shape (n,), finite. Interior-point solvers have no use for it.
        Raises EngiagentError when the shape is wrong or a value is not finite.
        """
        point = np.asarray(x, dtype=np.float64)
        if point.shape != (self._program.column_count,) or not np.all(np.isfinite(point)):
            raise EngiagentError(
                f"the start has the shape {point.shape} or holds a value that is not finite; "
                f"give {self._program.column_count} numbers"
            )
        self._engine.set_start(point)

    def shift(self, stages: int = 1) -> None:
        """Start the next solve from the last one moved ahead in time.

        What stood at stage k + ``stages`` of a time set is taken for stage k; the last stages
        keep what they had. For receding horizons.

        Raises EngiagentError when ``stages`` is negative.
        """
        if stages < 0:
            raise EngiagentError(f"stages is {stages}; give a whole number of at least 0")
        if stages:
            self._engine.shift(partial(self._stage_sources, stages))

    def _stage_sources(self, stages: int) -> tuple[Ints, Ints]:
        known = self._moves.get(stages)
        if known is None:
            known = self._moves[stages] = stage_sources(self._program, stages)
        return known


def _engine(program: Program, options: SolveOptions) -> Engine:
    """Return the persistent solver of a program's class, or one that solves from scratch."""
    if program.method is None and not program.goals:
        if program.is_linear and not program.is_mip and options.backend in (None, "highs"):
            return HighsEngine(program, options)
        convex = not program.is_linear and refusal(program) is None
        if convex and options.backend in (None, "piqp"):
            return PiqpEngine(program, options)
    return ColdEngine(program, options)


class ColdEngine:
    """Any program that :func:`engiagent.solvers.solve` takes.

    Where the solver takes a start, it is the last point.
    """

    def __init__(self, program: Program, options: SolveOptions) -> None:
        self.program = program
        self.options = replace(options, start=None)
        self._start: Floats | None = None

    def solve(self) -> SolverResult:
        """Solve the program as its arrays stand now."""
        options = self.options
        if self._start is not None and self._takes_start():
            options = replace(options, start=self._start)
        result = solve(self.program, options, isolate=False)
        if result.x is not None:
            self._start = result.x
        return result

    def _takes_start(self) -> bool:
        if self.program.goals:
            return False
        backend = self.options.backend or select(self.program, self.options).backend
        return "start" in adapter(backend).options

    def set_start(self, x: Floats) -> None:
        """Start from a point where the solver takes one."""
        self._start = x

    def shift(self, sources: Sources) -> None:
        """Start from the last point moved in time where the solver takes one."""
        if self._start is not None:
            self._start = self._start[sources()[0]]
