"""The escape hatch: where the language cannot say a problem, a script makes the schedule.

Only where the user allows code. The modeler writes the script, the solver runs it in the sandbox,
and its schedule passes the checker that every schedule passes: nothing that a script claims counts.
"""

import re
from pathlib import Path
from typing import Final

from engiagent.agents.faults import standing
from engiagent.agents.protocol import Board, Engine, Fault, Outcome, Question
from engiagent.agents.questions import SCHEMAS, ask, unanswered
from engiagent.errors import SandboxError
from engiagent.run.certify import certify
from engiagent.run.sandbox.answer import RESULT
from engiagent.run.sandbox.limits import Limits
from engiagent.run.sandbox.running import layers
from engiagent.run.sandbox.solving import answer_text, run_text, with_layers
from engiagent.verify.certificate import Certificate

_QUANTITY: Final = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+(?!\w*\()")
_SHOWN_LINES: Final = 12
MOST_SECONDS: Final = 60.0
"""Of a script, unless the solver's time limit says otherwise."""


def written(engine: Engine, board: Board) -> Outcome:
    """Return the modeler's outcome: a script; no one is asked for it where none could be run."""
    missing = layers().missing
    if missing:
        error = SandboxError(missing)
        fault = Fault("sandbox-missing", str(error))
        return Outcome(
            agent="modeler", status="failed", summary=str(error), faults=(fault,), error=error
        )
    values = {
        "instruction": board.instruction,
        "script": board.script,
        "quantities": quantities(board),
        "seconds": limits_of(board).seconds,
    }
    answer = ask(engine, Question("modeler", "script", board, values, SCHEMAS["script"]))
    if answer.value is None:
        return unanswered("modeler", answer)
    text = str(answer.value["script"])
    same = text == board.script
    lines = len(text.splitlines())
    return Outcome(
        agent="modeler",
        status="failed" if same else "done",
        summary="the script is the same" if same else f"a script of {lines} lines",
        usage=answer.usage,
        faults=standing(board.instruction.faults) if same else (),
        changes={} if same else {"script": text},
    )


def executed(board: Board) -> Outcome:
    """Return the solver's outcome: what came of the script in the sandbox."""
    assert board.script is not None
    assert board.problem is not None
    files = tuple(board.problem.data)
    result = run_text(board.script, board.problem.folder, files, limits_of(board))
    if result.status == "done":
        return Outcome(
            agent="solver",
            status="done",
            summary=f"script: done ({result.layers})",
            changes={"scripted": result},
        )
    said = " / ".join(result.output.strip().splitlines()[-_SHOWN_LINES:])
    fault = Fault("script-failed", str(result.reason), "model.py", said and f"it printed: {said}")
    return Outcome(agent="solver", status="failed", summary=fault.message, faults=(fault,))


def certified(board: Board, folder: Path) -> Certificate:
    """Return the certificate of a script's schedule, a file in ``folder``, with its layers."""
    assert board.scripted is not None
    taken, schedule = board.requirements, folder / RESULT
    schedule.write_text(answer_text(board.scripted), encoding="utf-8")
    stated = None if taken is None else taken.requirements
    found = certify(
        board.problem, schedule, None, folder=board.data, name=board.name, requirements=stated
    )
    return with_layers(found, board.scripted)


def limits_of(board: Board) -> Limits:
    """Return what a script may take: the solver's time and memory, where they are limited."""
    seconds = board.options.time_limit or MOST_SECONDS
    return Limits.within(seconds, board.options.memory_limit_mb)


def quantities(board: Board) -> tuple[str, ...]:
    """Return the dotted names that the demands of the text speak of; not what they demand."""
    taken = board.requirements
    if taken is None:
        return ()
    texts = [r.expression for r in taken.requirements.requirements]
    goal = taken.requirements.objective
    texts += [] if goal is None else [goal.expression]
    return tuple(dict.fromkeys(name for text in texts for name in _QUANTITY.findall(text)))
