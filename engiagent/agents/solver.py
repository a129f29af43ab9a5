"""The solver: a backend for the program, and in words what it said."""

from dataclasses import dataclass, replace
from typing import Any

from engiagent.agents.faults import of_status
from engiagent.agents.protocol import AgentName, Board, Outcome
from engiagent.solvers.result import OnProgress


@dataclass(frozen=True)
class Solver:
    """Solves the newest program; asks nobody."""

    on_progress: OnProgress | None = None
    name: AgentName = "solver"

    def run(self, board: Board) -> Outcome:
        """Return a schedule, or why there is none."""
        from engiagent.stages import computed, solve_program

        assert board.blueprint is not None
        if board.blueprint.kind == "definitions":
            changes: dict[str, Any] = {"solution": computed(board.blueprint, board.data)}
            return Outcome(agent=self.name, status="done", summary="computed", changes=changes)
        assert board.program is not None
        options = board.options
        if board.instruction.faults and options.backend is None:
            other = self._another(board)
            options = options if other is None else replace(options, backend=other)
        solution, result = solve_program(board.program, options, self.on_progress)
        changes = {"solution": solution, "result": result}
        if result.status == "interrupted":
            return Outcome(
                agent=self.name, status="stopped", summary="interrupted", changes=changes
            )
        # A schedule at a limit is a schedule; the checker says what it is worth.
        faults = () if result.x is not None else of_status(result.status, result.reason)
        return Outcome(
            agent=self.name,
            status="failed" if faults else "done",
            summary=f"{result.solver}: {result.status}",
            changes=changes,
            faults=faults,
        )

    def _another(self, board: Board) -> str | None:
        """Return a backend that has not had its turn with this program, None if there is none."""
        from engiagent.solvers.selection import select

        assert board.program is not None
        tried = board.result.solver.lower() if board.result is not None else ""
        others = select(board.program, board.options).alternatives
        usable = (other.backend for other in others if other.usable)
        return next((name for name in usable if name.lower() not in tried), None)
