"""The modeler and the solver: from a blueprint to a program, and from that to a schedule.

A repair is a JSON patch (RFC 6902) against located findings; the solver asks nobody.
"""

from dataclasses import dataclass, replace
from typing import Any

from engiagent.agents.determined import data_faults
from engiagent.agents.faults import of_error
from engiagent.agents.patches import repaired
from engiagent.agents.protocol import NOTHING, AgentName, Board, Engine, Fault, Outcome
from engiagent.agents.scripting import executed, written
from engiagent.blueprint import Blueprint
from engiagent.errors import EngiagentError
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.expansion import expand
from engiagent.formulations.program import Program
from engiagent.run.stages import computed, solve_program, static_findings
from engiagent.solvers.result import OnProgress
from engiagent.solvers.selection import select


@dataclass(frozen=True)
class Modeler:
    """Makes a blueprint compile, or where the language cannot say the problem writes a script."""

    engine: Engine
    name: AgentName = "modeler"

    def run(self, board: Board) -> Outcome:
        """Return the program of the blueprint, repaired first where there is something to mend."""
        if board.scripting:
            return written(self.engine, board)
        blueprint, usage, repair = board.blueprint, NOTHING, ""
        changes: dict[str, Any] = {"draft": None}
        if board.instruction.faults:
            found = repaired(self.engine, board, self.name)
            if isinstance(found, Outcome):
                return found
            blueprint, usage, repair = found.blueprint, found.usage, found.text
            changes |= found.changes
        assert blueprint is not None
        changes["blueprint"] = blueprint
        faults: tuple[Fault, ...] = ()
        error: EngiagentError | None = None
        if blueprint.kind == "definitions":
            # Nothing is compiled: what is wrong with definitions shows when they are computed.
            summary = "definitions are computed, not compiled"
        else:
            program, warnings, error = compiled(blueprint, board)
            changes["notes"] = (*changes.get("notes", board.notes), *warnings)
            if program is not None:
                changes["program"] = program
                summary = f"{program.column_count} columns, {program.row_count} rows"
            else:
                assert error is not None
                faults = of_error(error)
                if self.engine.judges and board.problem is not None:
                    # One repair for all: what is wrong with numbers is known already.
                    known = data_faults(board.having(blueprint=blueprint))
                    kinds = ("data-altered", "data-untraced")
                    faults += tuple(f for f in known if f.kind in kinds)
                summary = f"{len(faults)} finding(s): {faults[0].message}"
        return Outcome(
            agent=self.name,
            status="failed" if faults else "done",
            summary=summary,
            changes=changes,
            faults=faults,
            usage=usage,
            repair=repair,
            error=error,
        )


def compiled(
    blueprint: Blueprint, board: Board
) -> tuple[Program | None, tuple[str, ...], EngiagentError | None]:
    """Return the program of a blueprint, warnings, and what keeps it from being compiled."""
    warnings: tuple[str, ...] = ()
    try:
        expanded = expand(blueprint)
        found = static_findings(expanded, board.data)
        warnings = found.warnings
        if found.error is not None:
            return None, warnings, found.error
        return compile_blueprint(expanded, board.data, found.elaboration), warnings, None
    except EngiagentError as error:
        return None, warnings, error


@dataclass(frozen=True)
class Solver:
    """Solves the newest program; asks nobody."""

    on_progress: OnProgress | None = None
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
            options = replace(options, backend=_another(board, board.program))
        solution, result = solve_program(board.program, options, self.on_progress)
        # Whatever it said goes to the evaluator: a claim of infeasibility needs its proof checked,
        # and a schedule at a limit is a schedule.
        changes = {"solution": solution, "result": result}
        summary = f"{result.solver}: {result.status}"
        return Outcome(agent=self.name, status="done", summary=summary, changes=changes)


def _another(board: Board, program: Program) -> str | None:
    """Return a backend that has not had its turn with this program, None if there is none."""
    tried = board.result.solver.lower() if board.result is not None else ""
    others = select(program, board.options).alternatives
    usable = (other.backend for other in others if other.usable)
    return next((name for name in usable if name.lower() not in tried), None)
