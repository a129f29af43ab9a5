"""Tools on the runs that lie in a session's folder: writing one, listing them, reading in them."""

from pathlib import Path
from typing import Any, Final

import numpy as np

from engiagent.blueprint import Blueprint
from engiagent.errors import InputError
from engiagent.io.files import open_inside
from engiagent.io.schemawords import COUNT, OBJECT, TEXT, TEXTS, by_name, list_of, maybe, record
from engiagent.report import write_report
from engiagent.run.folder import BLUEPRINT, CERTIFICATE, RunFolder, is_run_folder
from engiagent.run.inputs import copy_data, copy_problem
from engiagent.run.listing import find_runs
from engiagent.run.stages import save
from engiagent.run.stored import KeptSchedule, keep_check
from engiagent.solvers.solution import load_arrays, stored_arrays
from engiagent.tools.modelling import Drafted, Posed, plain
from engiagent.tools.places import below, inside
from engiagent.tools.planning import Solved
from engiagent.tools.registry import Argument, Json, Outcome, State, tool
from engiagent.verify.certificate import Certificate
from engiagent.verify.foreign import Reading

GROUP: Final = "runs"
_MOST: Final = 50_000
_FOLDER: Final[Json] = {"type": "string", "minLength": 1, "maxLength": 200}


@tool(
    "write",
    Argument("folder", _FOLDER, "The new folder, below the session's.", required=True),
    returns=record({"folder": TEXT, "artefacts": TEXTS}),
    needs=("certificate",),
    uses=("solution", "blueprint", "problem"),
    repeatable=False,
)
def report(state: State, arguments: Json) -> Outcome:
    """Write a run folder that checks alone: problem, blueprint, schedule, certificate, report."""
    posed: Posed = state.get("problem")
    drafted: Drafted = state.get("blueprint")
    solved: Solved = state.get("solution")
    certificate = state.get("certificate")
    out = below(state.root, arguments["folder"])
    if isinstance(solved.schedule, Path):
        reading = None if solved.columns is None else Reading(mapping=solved.columns)
        kept = KeptSchedule(solved.schedule, reading, drafted.not_understood)
        keep_check(out, certificate, kept, posed.problem, drafted.blueprint, posed.folder)
        return _written(arguments["folder"], out)
    asked = {"tools": True, "overrides": dict(drafted.values)}
    run = RunFolder.create(out, posed.name, asked)
    write_run(run, posed, drafted.blueprint, solved.schedule, certificate)
    return _written(arguments["folder"], out)


def write_run(
    run: RunFolder, posed: Posed, blueprint: Blueprint, schedule: Any, certificate: Certificate
) -> None:
    """Write problem, blueprint, schedule, certificate and report into the folder of a run."""
    with run.stage("report"):
        if posed.problem is not None:
            copy_problem(posed.problem, run)
        copy_data(blueprint, posed.folder, run)
        run.write(BLUEPRINT, blueprint.to_json())
        save(schedule, run)
        run.write(CERTIFICATE, certificate.to_json())
    run.finish("done", certificate.verdict, None)
    write_report(run.path)


def _written(name: str, folder: Path) -> Outcome:
    names = sorted(path.name for path in folder.iterdir())
    files = tuple(f"{name}/{file}" for file in names)
    return Outcome({"folder": name, "artefacts": names}, artefacts=files)


_RUN: Final = record(
    {
        "run": TEXT,
        "problem": maybe(TEXT),
        "state": maybe(TEXT),
        "verdict": maybe(TEXT),
        "reason": maybe(TEXT),
    }
)


@tool("read", returns=record({"runs": list_of(_RUN)}), outside=True)
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
    Argument("run", _FOLDER, "The run's folder, as list_runs names it.", required=True),
    Argument("name", _FOLDER, "The artefact, as certificate.json.", required=True),
    Argument("offset", {"type": "integer", "minimum": 0}, "Where to begin, in characters."),
    returns=record(
        {"name": TEXT},
        {
            "text": TEXT,
            "characters": COUNT,
            "next_offset": COUNT,
            "attributes": OBJECT,
            "series": by_name(OBJECT),
        },
    ),
    outside=True,
)
def read_artefact(state: State, arguments: Json) -> Outcome:
    """Read a file of a run as text, or the names and ranges of a solution's series."""
    folder = inside(state.root, arguments["run"])
    if not is_run_folder(folder):
        raise InputError("this is no run", arguments["run"])
    name, offset = arguments["name"], arguments.get("offset", 0)
    if name.endswith(".nc"):
        open_inside(folder, name)
        return Outcome(plain(_series(folder / name)))
    try:
        text = open_inside(folder, name).decode("utf-8")
    except UnicodeDecodeError:
        raise InputError("the file is no text", name) from None
    shown = text[offset : offset + _MOST]
    end = offset + len(shown)
    more = {"next_offset": end} if end < len(text) else {}
    return Outcome({"name": name, "text": shown, "characters": len(text), **more})


def _series(path: Path) -> dict[str, Any]:
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
