"""Sessions of programs that no persistent solver takes: every solve is one from scratch."""

from dataclasses import replace
from typing import TYPE_CHECKING

from engiagent.formulations.program import Program
from engiagent.formulations.values import Floats
from engiagent.solvers.result import SolveOptions, SolverResult
from engiagent.solvers.solving import solve

if TYPE_CHECKING:
    from engiagent.solvers.session import Sources


class ColdEngine:
    """Any program that :func:`engiagent.solvers.solve` takes."""

    def __init__(self, program: Program, options: SolveOptions) -> None:
        self.program = program
        self.options = replace(options, start=None)

    def solve(self) -> SolverResult:
        """Solve the program as its arrays stand now."""
        return solve(self.program, self.options, isolate=False)

    def set_start(self, x: Floats) -> None:
        """Take no notice: nothing is kept from solve to solve."""

    def shift(self, sources: "Sources") -> None:
        """Take no notice: nothing is kept from solve to solve."""
