"""The escape hatch: where the language cannot say a problem, a script makes the schedule.

Only where the user allows code. The modeler writes the script, the solver runs it in the sandbox,
and its schedule passes the checker that every schedule passes: nothing that a script claims counts.
No blueprint then says what is to be checked, so that the verifier takes requirements from the text.
They are no second reading: the reading of the text stays open.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from engiagent.agents.faults import standing
from engiagent.agents.protocol import Board, Engine, Fault, Outcome, Question, ask, unanswered
from engiagent.errors import EngiagentError, SandboxError
from engiagent.io.jsontext import dumps_canonical
from engiagent.run.certify import certify
from engiagent.run.sandbox.limits import RESULT, Limits
from engiagent.run.sandbox.running import layers, run_script
from engiagent.text import Problem
from engiagent.verify.certificate import Certificate
from engiagent.verify.requirements import Requirements, parse_requirements

_QUANTITY: Final = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+(?!\w*\()")
FILE: Final = "requirements.yaml"
_SHOWN_LINES: Final = 12
MOST_SECONDS: Final = 60.0
"""Of a script, unless the solver's time limit says otherwise."""


def written(engine: Engine, board: Board) -> Outcome:
    """Return the modeler's outcome: a script; no one is asked for it where none could be run."""
    missing = layers().missing
    if missing:
        error = SandboxError(missing)
        fault = Fault("sandbox-missing", str(error))
        return Outcome("modeler", str(error), faults=(fault,), error=error)
    values = {
        "instruction": board.instruction,
        "script": board.script,
        "quantities": quantities(board),
        "seconds": limits_of(board).seconds,
    }
    answer = ask(engine, Question("modeler", "script", board, values))
    if answer.value is None:
        return unanswered("modeler", answer)
    text = str(answer.value["script"])
    if text == board.script:
        faults = standing(board.instruction.faults)
        return Outcome("modeler", "the script is the same", {}, faults, answer.usage)
    summary = f"a script of {len(text.splitlines())} lines"
    return Outcome("modeler", summary, {"script": text}, usage=answer.usage)


def executed(board: Board) -> Outcome:
    """Return the solver's outcome: what came of the script in the sandbox."""
    assert board.script is not None
    assert board.problem is not None
    files = tuple(board.problem.data)
    result = run_script(board.script, board.problem.folder, files, limits_of(board))
    if result.status == "done":
        return Outcome("solver", f"script: done ({result.layers})", {"scripted": result})
    said = " / ".join(result.output.strip().splitlines()[-_SHOWN_LINES:])
    fault = Fault("script-failed", str(result.reason), "model.py", said and f"it printed: {said}")
    return Outcome("solver", fault.message, faults=(fault,))


def certified(board: Board, folder: Path) -> Certificate:
    """Return the certificate of a script's schedule, a file in ``folder``, with its layers."""
    assert board.scripted is not None
    taken, schedule = requirements_of(board), folder / RESULT
    schedule.write_text(board.scripted.answer, encoding="utf-8")
    found = certify(
        board.problem, schedule, None, folder=board.data, name=board.name, requirements=taken
    )
    return replace(found, versions={**found.versions, "sandbox": str(board.scripted.layers)})


def requirements_of(board: Board) -> Requirements | None:
    """Return the requirements that were taken from the text of a script's problem."""
    return None if board.requirements is None else parse_requirements(board.requirements, FILE)


def limits_of(board: Board) -> Limits:
    """Return what a script may take: the solver's time and memory, where they are limited."""
    seconds = board.options.time_limit or MOST_SECONDS
    return Limits.within(seconds, board.options.memory_limit_mb)


def quantities(board: Board) -> tuple[str, ...]:
    """Return the dotted names that the demands of the text speak of; not what they demand."""
    taken = requirements_of(board)
    if taken is None:
        return ()
    texts = [r.expression for r in taken.requirements]
    texts += [] if taken.objective is None else [taken.objective.expression]
    return tuple(dict.fromkeys(name for text in texts for name in _QUANTITY.findall(text)))


# --- requirements that an engine took from a text alone ------------------------------------------


def readable(document: Mapping[str, Any], problem: Problem) -> tuple[str | None, list[str], int]:
    """Return the file of those requirements that can be read, what was left out, and their count.

    Each must stand on words of the text; one that does not, or that the checker cannot read, is
    left out and named.
    """
    left_out: list[str] = []
    stated = [
        entry
        for entry in document.get("requirements") or ()
        if _stands_in(entry, problem, left_out) and _reads(document, entry, left_out)
    ]
    text = dumps_canonical({**document, "requirements": stated})
    try:
        count = len(parse_requirements(text, FILE).requirements) if stated else 0
    except EngiagentError:
        count = 0
    return text if count else None, left_out, count


def _stands_in(entry: Any, problem: Problem, left_out: list[str]) -> bool:
    quote = entry.get("quote") if isinstance(entry, Mapping) else None
    words = " ".join(str(quote or "").split())
    if words and words in " ".join(problem.text.split()):
        return True
    left_out.append(f"{quote!r} does not stand in the text")
    return False


def _reads(document: Mapping[str, Any], entry: Mapping[str, Any], left_out: list[str]) -> bool:
    try:
        parse_requirements(dumps_canonical({**document, "requirements": [entry]}), FILE)
    except EngiagentError as error:
        left_out.append(f"{entry.get('quote')!r}: {error}")
        return False
    return True
