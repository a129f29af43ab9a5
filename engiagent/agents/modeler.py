"""The modeler: from a blueprint to a program, repairing what static analysis finds."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from engiagent.agents.analyzer import unmended
from engiagent.agents.faults import of_error, standing
from engiagent.agents.protocol import (
    NOTHING,
    AgentName,
    Board,
    Engine,
    Fault,
    Outcome,
    Question,
    Usage,
)
from engiagent.agents.questions import SCHEMAS, ask, unanswered
from engiagent.agents.scripting import written
from engiagent.blueprint import Blueprint
from engiagent.blueprint.diagnostics import BlueprintError
from engiagent.blueprint.patching import PatchError
from engiagent.blueprint.patching import patched as apply_patch
from engiagent.errors import EngiagentError
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.expansion import expand
from engiagent.formulations.program import Program
from engiagent.io.jsontext import dumps_canonical, loads_strict
from engiagent.run.stages import static_findings

MOST_OPERATIONS: Final = 200
"""Of one patch; a longer one is another blueprint."""


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
        faults = board.instruction.faults
        if faults:
            repaired = self._repaired(board, faults)
            if isinstance(repaired, Outcome):
                return repaired
            blueprint, usage, repair = repaired
            same = () if board.draft is not None else unmended(blueprint, board)
            if same:
                return Outcome(
                    agent=self.name,
                    status="failed",
                    faults=same,
                    usage=usage,
                    summary="the repair changes nothing",
                )
        assert blueprint is not None
        changes: dict[str, Any] = {"blueprint": blueprint, "draft": None}
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
        program, warnings, found, error = compiled(blueprint, board)
        changes["notes"] = (*board.notes, *warnings)
        if program is None:
            return Outcome(
                error=error,
                agent=self.name,
                status="failed",
                changes=changes,
                faults=found,
                usage=usage,
                summary=f"{len(found)} finding(s): {found[0].message}",
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

    def _repaired(
        self, board: Board, faults: tuple[Fault, ...]
    ) -> tuple[Blueprint, Usage, str] | Outcome:
        blueprint = board.blueprint if board.draft is None else board.draft
        assert blueprint is not None
        values = {"instruction": board.instruction, "blueprint": blueprint}
        answer = ask(self.engine, Question("modeler", "repair", board, values, SCHEMAS["repair"]))
        if answer.value is None:
            return unanswered(self.name, answer)
        mended = patched(blueprint, answer.value["patch"])
        if isinstance(mended, Blueprint):
            return mended, answer.usage, json.dumps(answer.value["patch"], ensure_ascii=False)
        # What is still wrong stays known beside what is wrong with the patch.
        still = standing(faults)
        return Outcome(
            agent=self.name,
            status="failed",
            summary=mended[0].message,
            faults=(*mended, *still),
            usage=answer.usage,
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


def patched(
    blueprint: Blueprint | Mapping[str, Any], patch: list[Any]
) -> Blueprint | tuple[Fault, ...]:
    """Return a blueprint after a JSON patch, or what is wrong with the patch or its result.

    The patch is applied whole or not at all.
    """
    if not patch:
        return (Fault("reply-malformed", "the patch is empty, so nothing is repaired"),)
    if len(patch) > MOST_OPERATIONS:
        said = f"the patch has {len(patch)} operations, at most {MOST_OPERATIONS} are taken"
        return (Fault("reply-malformed", said),)
    try:
        given = loads_strict(blueprint.to_json()) if isinstance(blueprint, Blueprint) else blueprint
        changed = apply_patch(given, patch)
    except PatchError as error:
        said = f"operation {error.operation} of the patch does not fit the blueprint: {error}"
        return (Fault("reply-malformed", said),)
    try:
        return Blueprint.from_json(dumps_canonical(changed))
    except BlueprintError as error:
        return of_error(error)
    except EngiagentError as error:
        return (Fault("blueprint-invalid", str(error)),)
