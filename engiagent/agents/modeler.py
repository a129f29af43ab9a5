"""The modeler: from a blueprint to a program, repairing what static analysis finds."""

from dataclasses import dataclass
from typing import Any

from engiagent.agents.determined import data_faults
from engiagent.agents.faults import of_error
from engiagent.agents.patches import repaired
from engiagent.agents.protocol import NOTHING, AgentName, Board, Engine, Fault, Outcome
from engiagent.agents.scripting import written
from engiagent.blueprint import Blueprint
from engiagent.errors import EngiagentError
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.expansion import expand
from engiagent.formulations.program import Program
from engiagent.run.stages import static_findings


@dataclass(frozen=True)
class Modeler:
    """Makes a blueprint compile; a repair is a JSON patch (RFC 6902) against located findings."""

    engine: Engine
    name: AgentName = "modeler"

    def run(self, board: Board) -> Outcome:
        """Return the program of the blueprint, repaired first where there is something to mend.

        Where the language cannot say the problem and the user allows code, a script instead.
        """
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
        if blueprint.kind == "definitions":
            # Nothing is compiled: what is wrong with definitions shows when they are computed.
            return Outcome(
                agent=self.name,
                status="done",
                changes=changes,
                usage=usage,
                repair=repair,
                summary="definitions are computed, not compiled",
            )
        program, warnings, faults, error = compiled(blueprint, board)
        changes["notes"] = (*changes.get("notes", board.notes), *warnings)
        if program is None:
            if self.engine.judges and board.problem is not None:
                # One repair for all that is known: what is wrong with numbers is known already.
                faults += tuple(
                    f
                    for f in data_faults(board.having(blueprint=blueprint))
                    if f.kind in ("data-altered", "data-untraced")
                )
            return Outcome(
                error=error,
                agent=self.name,
                status="failed",
                changes=changes,
                faults=faults,
                usage=usage,
                summary=f"{len(faults)} finding(s): {faults[0].message}",
                repair=repair,
            )
        changes["program"] = program
        return Outcome(
            agent=self.name,
            status="done",
            changes=changes,
            usage=usage,
            repair=repair,
            summary=f"{program.column_count} columns, {program.row_count} rows",
        )


def compiled(
    blueprint: Blueprint, board: Board
) -> tuple[Program | None, tuple[str, ...], tuple[Fault, ...], EngiagentError | None]:
    """Return the program of a blueprint, warnings, and what keeps it from being compiled."""
    warnings: tuple[str, ...] = ()
    try:
        expanded = expand(blueprint)
        found = static_findings(expanded, board.data)
        warnings = found.warnings
        if found.error is not None:
            return None, warnings, of_error(found.error), found.error
        return compile_blueprint(expanded, board.data), warnings, (), None
    except EngiagentError as error:
        return None, warnings, of_error(error), error
