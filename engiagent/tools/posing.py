"""Tools that bring problems into a session's folder: listing them, writing one, copying one."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from engiagent.errors import InputError
from engiagent.io.files import inside_parts, open_inside, write_atomic
from engiagent.io.schemawords import FLAG, TEXT, TEXTS, by_name, record
from engiagent.run.folder import RECORD
from engiagent.text import Problem, corpus_root, find_problems
from engiagent.tools.places import below, inside
from engiagent.tools.registry import Argument, Json, Outcome, State, tool

TEXT_FILE: Final = "problem.md"
GROUP: Final = "problem"
_MOST: Final = 500
_PATH: Final[Json] = {"type": "string", "minLength": 1, "maxLength": 200}
_POSED: Final = record(
    {"path": TEXT, "problem": TEXT, "title": TEXT, "files": TEXTS, "sha256": by_name(TEXT)}
)


@tool(
    "read",
    Argument("packaged", {"type": "boolean"}, "List those that come with engiagent instead."),
    returns=record({"problems": TEXTS, "more": FLAG}),
    outside=True,
)
def list_problems(state: State, arguments: Json) -> Outcome:
    """List the problems in the session's folder, or the worked ones that come with engiagent."""
    packaged = bool(arguments.get("packaged"))
    root = corpus_root() if packaged else state.root
    names = [place.relative_to(root).as_posix() for place in problems_below(root)]
    return Outcome({"problems": names[:_MOST], "more": len(names) > _MOST})


def problems_below(root: Path) -> Iterator[Path]:
    """Yield the problems at and below a folder, but for the copies that runs keep."""
    for place in find_problems(root):
        above = [folder for folder in place.parents if folder.is_relative_to(root)]
        if not any((folder / RECORD).is_file() for folder in above):
            yield place


@tool(
    "write",
    Argument("folder", _PATH, "The problem's folder, below the session's.", required=True),
    Argument(
        "text",
        {"type": "string", "minLength": 1, "maxLength": 200_000},
        "The problem in words, Markdown tables allowed; numbers with their units.",
        required=True,
    ),
    Argument(
        "files",
        {"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": 50},
        'Data files by name, as {"prices.csv": "time,price [EUR/MWh]\\n…"}; the text names them.',
    ),
    Argument("overwrite", {"type": "boolean"}, "Replace the files of a problem that is there."),
    returns=_POSED,
    outside=True,
    destructive=True,
)
def pose_problem(state: State, arguments: Json) -> Outcome:
    """Write a problem, its text and data files, into the session's folder.

    It is not loaded by that; nothing is written unless every name is good.
    """
    folder = arguments["folder"]
    files = {**(arguments.get("files") or {}), TEXT_FILE: arguments["text"]}
    contents = {name: text.encode("utf-8") for name, text in files.items()}
    return _written(state.root, folder, contents, overwrite=bool(arguments.get("overwrite")))


@tool(
    "write",
    Argument("name", _PATH, "Its name, as list_problems says with 'packaged'.", required=True),
    Argument("folder", _PATH, "The new folder, below the session's.", required=True),
    returns=_POSED,
    outside=True,
    repeatable=False,
)
def copy_problem(state: State, arguments: Json) -> Outcome:
    """Copy a problem that comes with engiagent, without its worked answer, to look at or change."""
    root = corpus_root()
    found = inside(root, arguments["name"])
    if found not in problems_below(root):
        raise InputError("there is no such problem", arguments["name"])
    problem = Problem.load(found)
    contents = {name: open_inside(problem.folder, name) for name in problem.data}
    contents[TEXT_FILE] = open_inside(problem.folder, problem.path.name)
    return _written(state.root, arguments["folder"], contents, overwrite=False)


def _written(root: Path, folder: str, contents: dict[str, bytes], *, overwrite: bool) -> Outcome:
    targets = {below(root, f"{folder}/{name}"): data for name, data in contents.items()}
    for path, name in zip(targets, contents, strict=True):
        inside_parts(name)
        if path.exists() and not overwrite:
            raise InputError(
                "there is such a file already",
                f"{folder}/{name}",
                expected="another folder, or overwrite",
            )
    for path, data in targets.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot make the folder: {error.strerror}", folder) from None
        write_atomic(path, data)
    files = tuple(path.relative_to(root).as_posix() for path in targets)
    return Outcome(posed(folder, Problem.load(root / folder)), artefacts=files)


def posed(path: str, problem: Problem) -> Json:
    """Return what a caller is told of a problem that was written."""
    return {
        "path": path,
        "problem": problem.id,
        "title": problem.title,
        "files": [problem.path.name, *problem.data],
        "sha256": dict(problem.sha256),
    }
