"""The section that says why there is no plan, or what holds the plan back.

It is read from ``explanation.json``. Where a folder holds a plan and no explanation, as one that
another program wrote, the plan is explained here from what the folder does hold.
"""

from dataclasses import dataclass
from typing import Final

from engiagent.errors import EngiagentError
from engiagent.explain import Explanation, Given, explain_stored
from engiagent.explain.text import lines_of
from engiagent.io.jsontext import loads_strict
from engiagent.report.artefacts import Run

FILE: Final = "explanation.json"
TITLES: Final = {
    "infeasible": "Why there is no plan",
    "unbounded": "What has no limit",
    "plan": "What holds it back",
    "stopped": "Why it came to no end",
}
MOST: Final = 40


@dataclass(frozen=True)
class Item:
    """A line of the section with what belongs to it, as places in the text."""

    text: str
    details: tuple[str, ...] = ()


@dataclass(frozen=True)
class Group:
    """Lines under one heading."""

    title: str
    entries: tuple[Item, ...]


@dataclass(frozen=True)
class Section:
    """The section: its heading, a sentence, and the groups.

    Attributes
    ----------
    kind
        What is explained: a ``plan``, or why there is none.
    enough
        Changes that are enough for a plan, each confirmed by a solve.
    """

    title: str
    summary: str
    groups: tuple[Group, ...]
    kind: str = "plan"
    enough: tuple[str, ...] = ()


def explanation(run: Run) -> Section | None:
    """Return the section of a run; None where nothing is to be explained or it cannot be read."""
    try:
        found = _stored(run) or _made(run)
    except (EngiagentError, OSError, UnicodeDecodeError):
        return None
    if found is None or found.kind not in TITLES:
        return None
    groups = tuple(_groups(found))
    if not groups:
        return None
    enough = tuple(proposal.text for proposal in found.proposals if proposal.verified)
    return Section(TITLES[found.kind], found.summary, groups, found.kind, enough)


def _stored(run: Run) -> Explanation | None:
    path = run.folder / FILE
    if not path.is_file():
        return None
    return Explanation.from_dict(loads_strict(path.read_text("utf-8"), FILE))


def _made(run: Run) -> Explanation | None:
    """Return what the stored plan says of itself; None where that cannot be found out."""
    if run.blueprint is None or run.solution is None:
        return None
    data = run.folder / "problem"
    name = str(run.record.get("problem") or "run")
    folder = data if data.is_dir() else None
    return explain_stored(Given(blueprint=run.blueprint, folder=folder, name=name), run.solution)


def _groups(found: Explanation) -> list[Group]:
    """Return the lines of an explanation under their headings, with what belongs to each."""
    groups: list[tuple[str, list[list[str]]]] = []
    for line in lines_of(found):
        text = line.text.removeprefix("- ")
        if line.depth == 0:
            groups.append((f"{text[:1].upper()}{text[1:]}", []))
        elif line.depth == 1:
            groups[-1][1].append([text])
        else:
            groups[-1][1][-1].append(text)
    return [
        Group(title, tuple(Item(first, tuple(rest)) for first, *rest in lines[:MOST]))
        for title, lines in groups
    ]
