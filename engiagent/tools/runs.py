"""Tools on the runs that lie in a session's folder: writing one, listing them, reading in them."""

from pathlib import Path
from typing import Any, Final

from engiagent.errors import EngiagentError, InputError
from engiagent.files import inside_parts, open_inside
from engiagent.tools.modelling import Drafted, Posed, plain
from engiagent.tools.places import inside
from engiagent.tools.planning import Solved
from engiagent.tools.registry import Argument, Json, Outcome, State, tool

_MOST: Final = 50_000
_FOLDER: Final[Json] = {"type": "string", "minLength": 1, "maxLength": 200}


@tool(
    "write",
    Argument("folder", _FOLDER, "The new folder, below the session's.", required=True),
    needs=("certificate",),
    uses=("solution", "blueprint", "problem"),
)
def report(state: State, arguments: Json) -> Outcome:
    """Write a run folder that checks alone: problem, blueprint, schedule, certificate, report."""
    from engiagent.report import write_report
    from engiagent.runfolder import BLUEPRINT, CERTIFICATE, RunFolder
    from engiagent.runinputs import copy_data, copy_problem
    from engiagent.stages import save

    posed: Posed = state.get("problem")
    drafted: Drafted = state.get("blueprint")
    solved: Solved = state.get("solution")
    certificate = state.get("certificate")
    out = state.root.joinpath(*inside_parts(arguments["folder"]))
    if not out.resolve().is_relative_to(state.root.resolve()):
        raise InputError("the path leads out of the session's folder", found=repr(str(out.name)))
    run = RunFolder.create(out, posed.name, {"tools": True})
    with run.stage("report"):
        if posed.problem is not None:
            copy_problem(posed.problem, run)
        copy_data(drafted.blueprint, posed.folder, run)
        run.write(BLUEPRINT, drafted.blueprint.to_json())
        save(solved.schedule, run)
        run.write(CERTIFICATE, certificate.to_json())
    run.finish("done", certificate.verdict, None)
    write_report(run.path)
    names = sorted(path.name for path in run.path.iterdir())
    return Outcome({"folder": arguments["folder"], "artefacts": names})


@tool("read", outside=True)
def list_runs(state: State, arguments: Json) -> Outcome:
    """List the runs in the session's folder, with their problems, states and verdicts."""
    from engiagent.runfolder import RECORD, read_record

    rows: list[Json] = []
    for record in sorted(state.root.glob(f"**/{RECORD}")):
        folder = record.parent
        if folder.is_symlink() or record.is_symlink():
            continue
        try:
            found = read_record(folder)
        except EngiagentError:
            continue
        shown: Json = {"run": folder.relative_to(state.root).as_posix()}
        shown |= {key: found.get(key) for key in ("problem", "state", "verdict", "reason")}
        rows.append(shown)
    return Outcome(plain({"runs": rows}))


@tool(
    "read",
    Argument("run", _FOLDER, "The run's folder, as list_runs names it.", required=True),
    Argument("name", _FOLDER, "The artefact, as certificate.json.", required=True),
    Argument("offset", {"type": "integer", "minimum": 0}, "Where to begin, in characters."),
    outside=True,
)
def read_artefact(state: State, arguments: Json) -> Outcome:
    """Read a file of a run as text, or the names and ranges of a solution's series."""
    from engiagent.runfolder import is_run_folder

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
    from engiagent.solvers import load_solution

    found = load_solution(path)
    series = {
        str(name): {
            "unit": array.attrs.get("units"), "quantity": array.attrs.get("quantity"),
            "shape": list(array.shape), "least": float(array.min()), "greatest": float(array.max()),
        }
        for name, array in found.data_vars.items()
        if array.size and array.dtype.kind == "f"
    }  # fmt: skip
    return {"name": path.name, "attributes": dict(found.attrs), "series": series}
