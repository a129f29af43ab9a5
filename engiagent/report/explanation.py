"""The section that says why there is no plan, or which limits are in force.

It is read from ``explanation.json``. Where a folder holds a plan and no explanation, as one that
another program wrote, the plan is explained here from what the folder does hold.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from engiagent.errors import EngiagentError
from engiagent.explain import Explanation, Given, explain_stored
from engiagent.explain.text import lines_of
from engiagent.io.jsontext import loads_strict
from engiagent.report.artefacts import Run, sequence
from engiagent.run.folder import EXPLANATION, PROBLEM

TITLES: Final = {
    "infeasible": "Why there is no plan",
    "unbounded": "What has no limit",
    "plan": "Limits in force",
    "stopped": "Why it came to no end",
}
MOST: Final = 40


@dataclass(frozen=True)
class Account:
    """The section: a heading, a sentence, and groups of lines, each with what belongs to it.

    ``kind`` is ``plan``, or why there is none; ``enough`` are changes of which each is enough for
    a plan, confirmed by a solve.
    """

    title: str
    summary: str
    groups: tuple[tuple[str, list[list[str]]], ...]
    kind: str
    enough: tuple[str, ...]


def explanation(run: Run) -> Account | None:
    """Return the section of a run; None where nothing is to be explained or it cannot be read."""
    path = run.folder / EXPLANATION
    try:
        found = _stored(path) if path.is_file() else _made(run)
    except (EngiagentError, OSError, UnicodeDecodeError):
        return None
    groups: list[tuple[str, list[list[str]]]] = []
    for line in lines_of(found) if found is not None and found.kind in TITLES else ():
        text = line.text.removeprefix("- ")
        if line.depth == 0:
            groups.append((f"{text[:1].upper()}{text[1:]}", []))
        elif line.depth == 1:
            groups[-1][1].append([text])
        else:
            groups[-1][1][-1].append(text)
    if found is None or not groups:
        return None
    cut = tuple((title, lines[:MOST]) for title, lines in groups)
    # Of a plan the summary is the first of its limits, or that there is none.
    summary = "" if found.kind == "plan" and found.tight else found.summary
    enough = tuple(proposal.text for proposal in found.proposals if proposal.verified)
    return Account(TITLES[found.kind], summary, cut, found.kind, enough)


def _stored(path: Path) -> Explanation:
    return Explanation.from_dict(loads_strict(path.read_text("utf-8"), EXPLANATION))


def _made(run: Run) -> Explanation | None:
    """Return what the stored plan says of itself; None where that cannot be found out."""
    if run.blueprint is None or run.solution is None:
        return None
    if EXPLANATION in sequence(run.record.get("left_out")):
        return None  # the run had no time for it, so its report has none either
    data = run.folder / PROBLEM
    name, folder = str(run.record.get("problem") or "run"), data if data.is_dir() else None
    return explain_stored(Given(blueprint=run.blueprint, folder=folder, name=name), run.solution)
