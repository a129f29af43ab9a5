"""A script run in the sandbox: started, watched from outside, ended, and what it left behind."""

import os
import shutil
import signal
import subprocess
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

from engiagent.errors import InputError, SandboxError
from engiagent.io.files import open_inside
from engiagent.run.sandbox.answer import Schedule, read_answer
from engiagent.run.sandbox.limits import Layers, Limits
from engiagent.run.sandbox.outside import MB, Watched, execute

Isolation = Literal["auto", "unsafe"]
Status = Literal["done", "failed", "limit"]

SCRIPT: Final = "model.py"
_REQUIRED: Final = ("limits", "no_new_privs", "landlock", "seccomp")
_WHY: Final = {
    "seconds": "the time limit of {} s is over",
    "output_kb": "it printed more than {} kB",
    "folder_mb": "its folder holds more than {} MB",
    "files": "its folder holds more than {} files",
    "threads": "it started more than {} threads",
    "cpu_seconds": "it used more than {} s of processor time",
}


@dataclass(frozen=True, eq=False)
class ScriptResult:
    """How a script ended and what it answered."""

    status: Status  # ``done`` with a readable answer, ``limit`` when it was ended, else ``failed``
    reason: str | None  # why it is not ``done``
    # numbers by the name that the script gave them, each an array; units may stand in the names, as
    # ``battery.charge [kW]``
    schedule: Schedule
    objective: float | None  # what the script claims; the checker works it out itself
    output: str  # what it printed, its errors among it
    # code, signal: how its process ended; None where it did not end by itself
    code: int | None
    signal: int | None
    seconds: float  # of wall-clock time
    layers: Layers  # the guarantees that held


def run_script(
    path: Path,
    data_folder: Path | None = None,
    limits: Limits | None = None,
    *,
    files: tuple[str, ...] | None = None,
    isolation: Isolation = "auto",
) -> ScriptResult:
    """Run a Python script where it can touch nothing but a folder of its own.

    The script finds copies of the data beside itself, and writes its schedule as JSON into the
    file that its first argument names, ``schedule.json``: an object of numbers or lists of
    numbers by quantity.

    ``path``: the script; it is copied. ``data_folder``, ``files``: whence data are copied: the
    named files, or every plain file that lies there. ``limits``: what it may take. ``isolation``:
    ``auto`` takes every layer that the machine has and refuses without the essential ones;
    ``unsafe`` takes what there is. Raises SandboxError when the machine lacks a layer; nothing was
    run then; InputError when the script or a file is unreadable.
    """
    allowed = limits or Limits()
    real = path.resolve()  # the user's own link may be followed
    script = open_inside(real.parent, real.name)
    work = Path(os.path.realpath(tempfile.mkdtemp(prefix="engiagent-script-")))
    try:
        _copy(data_folder, files, work)
        (work / SCRIPT).write_bytes(script)
        return _run(work, allowed, isolation)
    finally:
        _remove(work)


def layers() -> Layers:
    """Return what this machine gives, found by confining a process that does nothing else."""
    work = Path(os.path.realpath(tempfile.mkdtemp(prefix="engiagent-probe-")))
    try:
        wrapped = bubblewrap()
        watched, _ = execute(work, Limits(), (), wrapped, script="")
        return Layers.of(_first(watched), wrapped is not None)
    except SandboxError:
        return Layers()
    finally:
        _remove(work)


@cache
def bubblewrap() -> str | None:
    """Return the path of bubblewrap where it works, which a run of it shows."""
    found = shutil.which("bwrap")
    if found is None:
        return None
    work = Path(os.path.realpath(tempfile.mkdtemp(prefix="engiagent-probe-")))
    try:
        watched, _ = execute(work, Limits(seconds=10), (), found, script="")
        return found if len(watched.said()) == 2 else None
    except SandboxError:
        return None
    finally:
        _remove(work)


def _run(work: Path, limits: Limits, isolation: Isolation) -> ScriptResult:
    required = _REQUIRED if isolation == "auto" else ()
    wrapped = bubblewrap()
    watched, seconds = execute(work, limits, required, wrapped, SCRIPT)
    held = Layers.of(_first(watched), wrapped is not None)
    missing = tuple(name for name in required if name in held.missing)
    if missing:
        raise SandboxError(missing)
    end = next((said for said in watched.said()[1:] if "code" in said), None)
    why = watched.ended_for or (end or {}).get("why")
    code, ended_by = (end or {}).get("code"), (end or {}).get("signal") or None
    if ended_by == getattr(signal, "SIGXCPU", None) and why is None:
        why = "cpu_seconds"
    output = bytes(watched.output).decode("utf-8", errors="replace")
    status, reason = _how_it_ended(why, code, ended_by, output, limits)
    schedule: Schedule = {}
    objective = None
    if status == "done":
        try:
            schedule, objective = read_answer(work, limits.file_mb * MB)
        except InputError as error:
            status, reason = "failed", str(error)
    return ScriptResult(
        status,
        reason,
        schedule,
        objective,
        output,
        None if ended_by else code,
        ended_by,
        seconds,
        held,
    )


def _first(watched: Watched) -> dict[str, Any]:
    """Return which layers the child reported, before any line of the script ran."""
    said = watched.said()
    if not said or "limits" not in said[0]:
        text = bytes(watched.output).decode("utf-8", errors="replace").strip()
        last = text.splitlines()[-1] if text else "its process said nothing"
        raise SandboxError((), f"the sandbox did not come up: {last}")
    return said[0]


def _how_it_ended(
    why: str | None, code: int | None, ended_by: int | None, output: str, limits: Limits
) -> tuple[Status, str | None]:
    if why is None and code is None:
        return "failed", "the sandbox was ended from outside"
    if why is not None:
        return "limit", _WHY[why].format(f"{getattr(limits, why):g}")
    last = output.strip().splitlines()[-1] if output.strip() else "it printed nothing"
    if "MemoryError" in last or "bad_alloc" in last:
        return "limit", f"it asked for more than {limits.memory_mb} MB of memory"
    if ended_by:
        return "failed", f"the script was ended by signal {ended_by}: {last}"
    if code != 0:
        return "failed", f"the script ended with exit code {code}: {last}"
    return "done", None


# -- the folder -------------------------------------------------------------------------------


def _copy(source: Path | None, files: tuple[str, ...] | None, work: Path) -> None:
    if source is None:
        return
    names = files
    if names is None:
        try:
            found = [entry for entry in os.scandir(source) if entry.is_file(follow_symlinks=False)]
        except OSError as error:
            raise InputError(
                "the data folder cannot be read",
                file=str(source),
                found=error.strerror,
                expected="a readable folder",
            ) from None
        names = tuple(sorted(entry.name for entry in found))
    for name in names:
        content = open_inside(source, name)
        target = work / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)


def _remove(work: Path) -> None:
    """Remove a folder however deep it is."""
    with suppress(OSError, RecursionError):
        shutil.rmtree(work)
    if work.exists() and (remover := shutil.which("rm")) is not None:
        subprocess.run([remover, "-rf", "--", str(work)], check=False, capture_output=True)
