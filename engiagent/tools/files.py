"""Tools on what lies in a session's folder, and that show what it holds: problems, plans, runs."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

from engiagent.blueprint import Blueprint
from engiagent.errors import InputError
from engiagent.io.files import inside_parts, open_inside, write_atomic
from engiagent.io.schemawords import OBJECT, list_of, record
from engiagent.report import write_report
from engiagent.run.folder import BLUEPRINT, CERTIFICATE, RECORD, SOLUTION, RunFolder, is_run_folder
from engiagent.run.inputs import copy_data
from engiagent.run.inputs import copy_problem as copied
from engiagent.run.listing import find_runs
from engiagent.run.stored import KeptSchedule, keep_check
from engiagent.solvers.arrays import NamedArray, SolutionArrays
from engiagent.solvers.solution import load_arrays, save_solution, stored_arrays
from engiagent.text import Problem, corpus_root, find_problems
from engiagent.tools.modelling import Drafted, Posed, plain
from engiagent.tools.places import below, inside
from engiagent.tools.planning import Solved
from engiagent.tools.registry import Argument, Json, Outcome, State, needed, shape, tool
from engiagent.verify.certificate import Certificate
from engiagent.verify.foreign import Reading

TEXT_FILE: Final = "problem.md"
_MOST_PROBLEMS: Final = 500
_MOST_VALUES: Final = 20_000
_MOST_CHARACTERS: Final = 50_000
_NAME: Final[Json] = {"type": "string", "minLength": 1, "maxLength": 200}

# -- problems -------------------------------------------------------------------------------------

_POSED: Final = shape("path problem title: text; files: list of text; sha256: by name text")


@tool(
    "read",
    Argument("packaged", {"type": "boolean"}, "List those that come with engiagent instead."),
    returns=shape("problems: list of text; more: flag"),
    group="problem",
    outside=True,
)
def list_problems(state: State, arguments: Json) -> Outcome:
    """List the problems in the session's folder, or the worked ones that come with engiagent."""
    root = corpus_root() if arguments.get("packaged") else state.root
    names = [place.relative_to(root).as_posix() for place in _problems_below(root)]
    return Outcome({"problems": names[:_MOST_PROBLEMS], "more": len(names) > _MOST_PROBLEMS})


def _problems_below(root: Path) -> Iterator[Path]:
    """Yield the problems at and below a folder, but for the copies that runs store."""
    for place in find_problems(root):
        above = [folder for folder in place.parents if folder.is_relative_to(root)]
        if not any((folder / RECORD).is_file() for folder in above):
            yield place


@tool(
    "write",
    needed("folder", _NAME, "The problem's folder, below the session's."),
    needed(
        "text",
        {"type": "string", "minLength": 1, "maxLength": 200_000},
        "The problem in words, Markdown tables allowed; numbers with their units.",
    ),
    Argument(
        "files",
        {"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": 50},
        'Data files by name, as {"prices.csv": "time,price [EUR/MWh]\\n…"}; the text names them.',
    ),
    Argument("overwrite", {"type": "boolean"}, "Replace the files of a problem that is there."),
    returns=_POSED,
    group="problem",
    outside=True,
    destructive=True,
)
def pose_problem(state: State, arguments: Json) -> Outcome:
    """Write a problem, its text and data files, into the session's folder.

    It is not loaded by that; nothing is written unless every name is good.
    """
    files = {**(arguments.get("files") or {}), TEXT_FILE: arguments["text"]}
    contents = {name: text.encode("utf-8") for name, text in files.items()}
    overwrite = bool(arguments.get("overwrite"))
    return _posed(state.root, arguments["folder"], contents, overwrite=overwrite)


@tool(
    "write",
    needed("name", _NAME, "Its name, as list_problems says with 'packaged'."),
    needed("folder", _NAME, "The new folder, below the session's."),
    returns=_POSED,
    group="problem",
    outside=True,
    repeatable=False,
)
def copy_problem(state: State, arguments: Json) -> Outcome:
    """Copy a problem that comes with engiagent, without its worked answer, to look at or change."""
    root = corpus_root()
    found = inside(root, arguments["name"])
    if found not in _problems_below(root):
        raise InputError("there is no such problem", arguments["name"])
    problem = Problem.load(found)
    contents = {name: open_inside(problem.folder, name) for name in problem.data}
    contents[TEXT_FILE] = open_inside(problem.folder, problem.path.name)
    return _posed(state.root, arguments["folder"], contents, overwrite=False)


def _posed(root: Path, folder: str, contents: dict[str, bytes], *, overwrite: bool) -> Outcome:
    targets = {below(root, f"{folder}/{name}"): data for name, data in contents.items()}
    for path, name in zip(targets, contents, strict=True):
        inside_parts(name)
        if path.exists() and not overwrite:
            expected = "another folder, or overwrite"
            raise InputError("there is such a file already", f"{folder}/{name}", expected=expected)
    for path, data in targets.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot make the folder: {error.strerror}", folder) from None
        write_atomic(path, data)
    problem = Problem.load(root / folder)
    content: Json = {"path": folder, "problem": problem.id, "title": problem.title}
    content |= {"files": [problem.path.name, *problem.data], "sha256": dict(problem.sha256)}
    return Outcome(content, artefacts=tuple(path.relative_to(root).as_posix() for path in targets))


# -- what a session holds -------------------------------------------------------------------------


@tool("read", returns=record({"blueprint": OBJECT}), needs=("blueprint",), group="blueprint")
def read_blueprint(state: State, arguments: Json) -> Outcome:
    """Return the whole blueprint as JSON, in which patch_blueprint finds its paths."""
    drafted: Drafted = state.get("blueprint")
    return Outcome({"blueprint": plain(drafted.blueprint.to_dict())})


_SERIES: Final = shape(
    "unit quantity: text or null; dims: list of text; coordinates: by name any; values: any"
)


@tool(
    "read",
    Argument(
        "names",
        {"type": "array", "items": _NAME, "minItems": 1, "maxItems": 50},
        "Which series, by name or by quantity as battery.charge; all decisions if absent.",
    ),
    returns=shape(
        "series: by name series; others: list of text; total?: count", {"series": _SERIES}
    ),
    needs=("solution",),
    group="plan",
)
def read_schedule(state: State, arguments: Json) -> Outcome:
    """Return the schedule's series with their units and their times or names."""
    solved: Solved = state.get("solution")
    if isinstance(solved.schedule, Path):
        raise InputError("the schedule came as a file", expected="a look into that file")
    schedule: SolutionArrays = solved.schedule
    chosen = _chosen(schedule, arguments.get("names"))
    size = sum(schedule[name].size for name in chosen)
    if size > _MOST_VALUES:
        said, expected = "these are too many values for one answer", "fewer names, at most"
        raise InputError(said, found=str(size), expected=f"{expected} {_MOST_VALUES} values")
    others = [str(name) for name in schedule.data_vars if str(name) not in chosen]
    series = {name: _shown(schedule, name) for name in chosen}
    return Outcome({"series": series, "others": others, "total": size})


def _chosen(schedule: SolutionArrays, wanted: list[str] | None) -> list[str]:
    names = {str(name): array.attrs.get("quantity") for name, array in stored_arrays(schedule)}
    if wanted is None:
        return [name for name in names if schedule[name].attrs.get("role") == "decision"]
    found: list[str] = []
    for name in wanted:
        same = [known for known, quantity in names.items() if name in (known, quantity)]
        if not same:
            raise InputError(f"there is no series {name!r}", expected=", ".join(names) or None)
        found += same
    return list(dict.fromkeys(found))


def _shown(schedule: SolutionArrays, name: str) -> Json:
    array, axes = schedule[name], schedule.coords
    return {
        "unit": array.attrs.get("units"),
        "quantity": array.attrs.get("quantity"),
        "dims": list(array.dims),
        "coordinates": {name: _labels(axes[name]) for name in array.dims if name in axes},
        "values": plain(array.values.tolist()),
    }


def _labels(coordinate: NamedArray) -> list[Any]:
    """Return names, numbers or time stamps; those of a zone are in UTC, as stored."""
    if coordinate.dtype.kind != "M":
        return list(plain(coordinate.values.tolist()))
    zone = "Z" if "zone" in coordinate.attrs else ""
    return [f"{str(stamp)[:19]}{zone}" for stamp in coordinate.values.astype("datetime64[s]")]


@tool(
    "write",
    needed("path", _NAME, "The file: CSV, JSON, Parquet or netCDF."),
    Argument(
        "columns",
        {"type": "object", "additionalProperties": {"type": "string"}},
        'Quantity or variable to column, as {"battery.charge": "P_ch"}, where names differ.',
    ),
    returns=shape("schedule: text; columns: by name text"),
    needs=("blueprint",),
    uses=("problem",),
    group="plan",
    outside=True,
    writes=("solution",),
)
def load_schedule(state: State, arguments: Json) -> Outcome:
    """Take somebody else's schedule, from a file, in place of a solution, for 'check' to judge."""
    path = inside(state.root, arguments["path"])
    if not path.is_file():
        raise InputError("this is no file", arguments["path"])
    columns = dict(arguments.get("columns") or {})
    solved = Solved(path, None, columns or None)
    return Outcome({"schedule": arguments["path"], "columns": columns}, {"solution": solved})


# -- runs -----------------------------------------------------------------------------------------


@tool(
    "write",
    needed("folder", _NAME, "The new folder, below the session's."),
    returns=shape("folder: text; artefacts: list of text"),
    needs=("certificate",),
    uses=("solution", "blueprint", "problem"),
    group="runs",
    repeatable=False,
)
def report(state: State, arguments: Json) -> Outcome:
    """Write a run folder that checks alone: problem, blueprint, schedule, certificate, report."""
    posed: Posed = state.get("problem")
    drafted: Drafted = state.get("blueprint")
    solved: Solved = state.get("solution")
    certificate, folder = state.get("certificate"), arguments["folder"]
    out = below(state.root, folder)
    if isinstance(solved.schedule, Path):
        reading = None if solved.columns is None else Reading(mapping=solved.columns)
        stored = KeptSchedule(solved.schedule, reading, drafted.not_understood)
        keep_check(out, certificate, stored, posed.problem, drafted.blueprint, posed.folder)
    else:
        asked = {"tools": True, "overrides": dict(drafted.values)}
        run = RunFolder.create(out, posed.name, asked)
        write_run(run, posed, drafted.blueprint, solved.schedule, certificate)
    names = sorted(path.name for path in out.iterdir())
    files = tuple(f"{folder}/{file}" for file in names)
    return Outcome({"folder": folder, "artefacts": names}, artefacts=files)


def write_run(
    run: RunFolder, posed: Posed, blueprint: Blueprint, schedule: Any, certificate: Certificate
) -> None:
    """Write problem, blueprint, schedule, certificate and report into the folder of a run."""
    with run.stage("report"):
        if posed.problem is not None:
            copied(posed.problem, run)
        copy_data(blueprint, posed.folder, run)
        run.write(BLUEPRINT, blueprint.to_json())
        save_solution(schedule, run.path / SOLUTION)
        run.write(CERTIFICATE, certificate.to_json())
    run.finish("done", certificate.verdict, None)
    write_report(run.path)


_RUN: Final = shape("run: text; problem state verdict reason: text or null")


@tool("read", returns=record({"runs": list_of(_RUN)}), group="runs", outside=True)
def list_runs(state: State, arguments: Json) -> Outcome:
    """List the runs in the session's folder, the latest first, with how they ended."""
    names = ("problem", "state", "verdict", "reason")
    rows = [
        {"run": run.name, **{name: getattr(run, name) for name in names}}
        for run in find_runs(state.root)
    ]
    return Outcome(plain({"runs": rows}))


@tool(
    "read",
    needed("run", _NAME, "The run's folder, as list_runs names it."),
    needed("name", _NAME, "The artefact, as certificate.json."),
    Argument("offset", {"type": "integer", "minimum": 0}, "Where to begin, in characters."),
    returns=shape(
        "name: text; text?: text; characters? next_offset?: count; attributes?: object; "
        "series?: by name object"
    ),
    group="runs",
    outside=True,
)
def read_artefact(state: State, arguments: Json) -> Outcome:
    """Read a file of a run as text, or the names and ranges of a solution's series."""
    folder = inside(state.root, arguments["run"])
    if not is_run_folder(folder):
        raise InputError("this is no run", arguments["run"])
    name, offset = arguments["name"], arguments.get("offset", 0)
    data = open_inside(folder, name)
    if name.endswith(".nc"):
        return Outcome(plain(_ranges(folder / name)))
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise InputError("the file is no text", name) from None
    shown = text[offset : offset + _MOST_CHARACTERS]
    end = offset + len(shown)
    more = {"next_offset": end} if end < len(text) else {}
    return Outcome({"name": name, "text": shown, "characters": len(text), **more})


def _ranges(path: Path) -> dict[str, Any]:
    found = load_arrays(path)
    series = {
        str(name): {
            "unit": array.attrs.get("units"),
            "quantity": array.attrs.get("quantity"),
            "shape": list(array.shape),
            "least": float(np.min(array.values)),
            "greatest": float(np.max(array.values)),
        }
        for name, array in stored_arrays(found)
        if array.size and array.dtype.kind == "f"
    }
    return {"name": path.name, "attributes": dict(found.attrs), "series": series}
