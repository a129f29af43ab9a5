"""Repairs: a JSON patch (RFC 6902) of a blueprint against located findings, by who is asked."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from engiagent.agents.faults import of_error, standing
from engiagent.agents.protocol import AgentName, Board, Engine, Fault, Outcome, Question, Usage
from engiagent.agents.questions import SCHEMAS, ask, unanswered
from engiagent.blueprint import Blueprint
from engiagent.blueprint.diagnostics import BlueprintError
from engiagent.blueprint.patching import PatchError
from engiagent.blueprint.patching import patched as apply_patch
from engiagent.errors import EngiagentError
from engiagent.io.jsontext import dumps_canonical, loads_strict

MOST_OPERATIONS: Final = 200
"""Of one patch; a longer one is another blueprint."""


@dataclass(frozen=True)
class Repaired:
    """A blueprint after its repair, the patch as text for memory, and what the board learns."""

    blueprint: Blueprint
    usage: Usage
    text: str
    changes: Mapping[str, Any]


def repaired(engine: Engine, board: Board, agent: AgentName) -> Repaired | Outcome:
    """Ask for a patch against the findings of the instruction; the outcome where there is none.

    "Nothing to change" is an answer: an empty patch with its reason is recorded, and the findings
    are not put to anybody again.
    """
    blueprint = board.blueprint if board.draft is None else board.draft
    assert blueprint is not None
    values = {"instruction": board.instruction, "blueprint": blueprint}
    answer = ask(engine, Question(agent, "repair", board, values, SCHEMAS["repair"]))
    if answer.value is None:
        return unanswered(agent, answer)
    patch, faults = answer.value["patch"], standing(board.instruction.faults)
    if not patch and isinstance(blueprint, Blueprint):
        note = f"nothing to change, says the {agent}: {answer.value['why']}"
        stands = board.stands | {fault.signature for fault in faults}
        changes = {"stands": stands, "notes": (*board.notes, note)}
        return Repaired(blueprint, answer.usage, "", changes)
    mended = patched(blueprint, patch)
    if isinstance(mended, Blueprint):
        same = () if board.draft is not None else unmended(mended, board)
        if not same:
            text = json.dumps(patch, ensure_ascii=False)
            return Repaired(mended, answer.usage, text, {})
        faults, why = same, "the repair changes nothing"
    else:
        # What is still wrong stays known beside what is wrong with the patch.
        faults, why = (*mended, *faults), mended[0].message
    return Outcome(agent=agent, status="failed", summary=why, faults=faults, usage=answer.usage)


def unmended(blueprint: Blueprint | None, board: Board) -> tuple[Fault, ...]:
    """Return the faults of the instruction where a blueprint came back as it was."""
    faults = standing(board.instruction.faults)
    if blueprint is None or board.blueprint is None:
        return ()
    return faults if blueprint.sha256 == board.blueprint.sha256 else ()


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
