"""The solver: a backend for the program, and in words what it said."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from engiagent.agents.protocol import AgentName, Board, Outcome
from engiagent.agents.scripting import executed
from engiagent.formulations.program import Program
from engiagent.run.stages import computed, solve_program
from engiagent.solvers.arrays import SolutionArrays
from engiagent.solvers.result import OnProgress
from engiagent.solvers.selection import select

Claim = Callable[[SolutionArrays, "Program"], SolutionArrays]
"""Adds to a solution what a claim of infeasibility needs for its proof."""


@dataclass(frozen=True)
class Solver:
    """Solves the newest program; asks nobody.

    Attributes
    ----------
    isolate
        Whether the backend works in a child process, which its crash or memory cannot leave.
    """

    on_progress: OnProgress | None = None
    claim: Claim | None = None
    isolate: bool = True
    name: AgentName = "solver"

    def run(self, board: Board) -> Outcome:
        """Return a schedule, or why there is none."""
        if board.scripting:
            return executed(board)
        assert board.blueprint is not None
        if board.blueprint.kind == "definitions":
            changes: dict[str, Any] = {"solution": computed(board.blueprint, board.data)}
            return Outcome(agent=self.name, status="done", summary="computed", changes=changes)
        assert board.program is not None
        options = board.options
        if board.instruction.faults and options.backend is None:
            other = self._another(board)
            options = options if other is None else replace(options, backend=other)
        solution, result = solve_program(
            board.program, options, self.on_progress, isolate=self.isolate
        )
        if self.claim is not None:
            solution = self.claim(solution, board.program)
        # Whatever it said goes to the evaluator: a claim of infeasibility needs its proof checked,
        # and a schedule at a limit is a schedule.
        changes = {"solution": solution, "result": result}
        summary = f"{result.solver}: {result.status}"
        return Outcome(agent=self.name, status="done", summary=summary, changes=changes)

    def _another(self, board: Board) -> str | None:
        """Return a backend that has not had its turn with this program, None if there is none."""
        assert board.program is not None
        tried = board.result.solver.lower() if board.result is not None else ""
        others = select(board.program, board.options).alternatives
        usable = (other.backend for other in others if other.usable)
        return next((name for name in usable if name.lower() not in tried), None)
