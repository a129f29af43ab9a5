"""Sessions of programs that no persistent solver takes: every solve is one from scratch."""

from dataclasses import replace
from typing import TYPE_CHECKING

from engiagent.formulations.program import Program
from engiagent.formulations.values import Floats
from engiagent.solvers.registry import adapter
from engiagent.solvers.result import SolveOptions, SolverResult
from engiagent.solvers.selection import select
from engiagent.solvers.solving import solve

if TYPE_CHECKING:
    from engiagent.solvers.session import Sources


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

    def shift(self, sources: "Sources") -> None:
        """Start from the last point moved in time where the solver takes one."""
        if self._start is not None:
            self._start = self._start[sources()[0]]
