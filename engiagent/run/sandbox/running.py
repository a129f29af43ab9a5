"""A script run in the sandbox: started, watched from outside, ended, and what it left behind."""

import json
import os
import selectors
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final, Literal

from engiagent.errors import InputError, SandboxError
from engiagent.io.files import open_inside
from engiagent.run.sandbox.limits import RESULT, Layers, Limits, places, read_answer

MB: Final = 1_000_000
_POLL: Final = 0.05
_REPORT_BYTES: Final = 10_000


@dataclass
class Watched:
    """What is known of a child while it runs."""

    output: bytearray = field(default_factory=bytearray)
    report: bytearray = field(default_factory=bytearray)
    ended_for: str | None = None
    code: int = 0  # of its end; that of a signal is negative


def execute(
    work: Path, limits: Limits, required: tuple[str, ...], script: str
) -> tuple[Watched, float]:
    """Start the child, watch it to its end, and return what it said and how long that took."""
    if not hasattr(os, "fork"):
        raise SandboxError((), "this system has no sandbox for scripts; nothing was run")
    reading, writing = os.pipe()
    began = time.monotonic()
    try:
        plan = {
            "parent": os.getpid(),
            "work": str(work),
            "script": script,
            "result": RESULT,
            "report": writing,
            "required": required,
            "limits": vars(limits),
            **places(),
        }
        child = subprocess.Popen(
            [*_interpreter(), json.dumps(plan)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=_environment(work),
            cwd=work,
            pass_fds=(writing,),
            start_new_session=True,
        )
    except OSError as error:
        os.close(reading)
        raise SandboxError((), f"the sandbox cannot be started: {error}") from None
    finally:
        os.close(writing)
    watched = Watched()
    with child, os.fdopen(reading, "rb", buffering=0) as report:
        try:
            _watch(child, report, watched, work, limits)
        finally:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(child.pid, signal.SIGKILL)
            watched.code = child.wait()
    return watched, time.monotonic() - began


def _interpreter() -> list[str]:
    root = str(Path(__file__).resolve().parents[3])
    start = (
        f"import sys; sys.path.insert(0, {root!r}); "
        f"from engiagent.run.sandbox.child import main; main({root!r})"
    )
    return [sys.executable, "-I", "-B", "-c", start]


def _environment(work: Path) -> dict[str, str]:
    """Return all of the environment that a script sees; nothing of it is this process's."""
    return {
        "HOME": str(work),
        "TMPDIR": str(work),
        "LANG": "C.UTF-8",
        "PATH": "/usr/bin:/bin",
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
    }


def _watch(
    child: subprocess.Popen[bytes], report: Any, watched: Watched, work: Path, limits: Limits
) -> None:
    """Read what the child says until it ends or must be ended."""
    deadline = time.monotonic() + limits.seconds
    look = time.monotonic() + _POLL
    assert child.stdout is not None
    with selectors.DefaultSelector() as selector:
        selector.register(child.stdout, selectors.EVENT_READ, watched.output)
        selector.register(report, selectors.EVENT_READ, watched.report)
        while selector.get_map() or child.poll() is None:
            for key, _ in selector.select(_POLL):
                data = os.read(key.fd, 1 << 16)
                if data:
                    key.data.extend(data)
                else:
                    selector.unregister(key.fileobj)
            if time.monotonic() >= look:
                watched.ended_for = _exceeded(work, limits, child.pid)
                look = time.monotonic() + _POLL
            if len(watched.output) > limits.output_kb * 1000:
                del watched.output[int(limits.output_kb * 1000) :]
                watched.ended_for = "output_kb"
            if len(watched.report) > _REPORT_BYTES:
                watched.ended_for = "output_kb"
            if _threads(child.pid) > limits.threads:
                watched.ended_for = "threads"
            if time.monotonic() > deadline:
                watched.ended_for = "seconds"
            if watched.ended_for is not None:
                return
    watched.ended_for = _exceeded(work, limits)


def _exceeded(work: Path, limits: Limits, pid: int | None = None) -> str | None:
    """Return which limit the folder's content breaks; of a running child also what has no name."""
    count, size = 0, 0 if pid is None else _unlinked(work, limits, pid)
    for place, folders, names in os.walk(work, followlinks=False):
        count += len(folders) + len(names)
        if count > limits.files:
            return "files"
        for name in names:
            with suppress(OSError):
                status = os.lstat(os.path.join(place, name))
                size += max(status.st_size, status.st_blocks * 512)
    return "folder_mb" if size > limits.folder_mb * MB else None


def _unlinked(work: Path, limits: Limits, pid: int) -> int:
    """Return the bytes of removed files of the folder that a process still holds.

    A file that is removed while it is open takes its space until it is closed. One that is mapped
    and closed shows no size, so that it counts as the largest that a file may be.
    """
    sizes: dict[int, int] = {}
    device = os.stat(work).st_dev
    with suppress(OSError):
        for entry in os.scandir(f"/proc/{pid}/fd"):
            with suppress(OSError):
                status = os.stat(entry.path)
                if stat.S_ISREG(status.st_mode) and not status.st_nlink:
                    used = max(status.st_size, status.st_blocks * 512)
                    sizes |= {status.st_ino: used} if status.st_dev == device else {}
    with suppress(OSError), open(f"/proc/{pid}/maps", encoding="utf-8") as lines:
        for line in lines:
            parts = line.split(maxsplit=5)
            if line.rstrip().endswith("(deleted)") and parts[5].startswith(f"{work}/"):
                sizes.setdefault(int(parts[4]), limits.file_mb * MB)
    return sum(sizes.values())


def _threads(pid: int) -> int:
    with suppress(OSError, ValueError, IndexError):
        text = Path(f"/proc/{pid}/stat").read_bytes()
        return int(text.rsplit(b")", 1)[1].split()[17])
    return 0


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
    # the text of its schedule: numbers by name, as ``battery.charge [kW]``; empty without one
    answer: str
    output: str  # what it printed, its errors among it
    # code, signal: how its process ended; None where it did not end by itself
    code: int | None
    signal: int | None
    seconds: float  # of wall-clock time
    layers: Layers  # the guarantees that held


def run_script(
    text: str, folder: Path | None, files: Sequence[str], limits: Limits
) -> ScriptResult:
    """Run a Python script with copies of some files of a folder, and nothing else.

    It writes its schedule as JSON into the file that its first argument names, ``schedule.json``:
    an object of numbers or lists of numbers by quantity. Raises SandboxError when the machine lacks
    a layer, and nothing was run then; InputError when a file is unreadable.
    """
    work = Path(os.path.realpath(tempfile.mkdtemp(prefix="engiagent-script-")))
    try:
        for name in files:
            assert folder is not None
            (work / name).parent.mkdir(parents=True, exist_ok=True)
            (work / name).write_bytes(open_inside(folder, name))
        (work / SCRIPT).write_text(text, encoding="utf-8", errors="replace")
        return _run(work, limits)
    finally:
        _remove(work)


def layers() -> Layers:
    """Return what this machine gives, found by confining a process that does nothing else."""
    work = Path(os.path.realpath(tempfile.mkdtemp(prefix="engiagent-probe-")))
    try:
        watched, _ = execute(work, Limits(), (), script="")
        return _layers(watched)
    except SandboxError:
        return Layers()
    finally:
        _remove(work)


def _run(work: Path, limits: Limits) -> ScriptResult:
    watched, seconds = execute(work, limits, _REQUIRED, SCRIPT)
    held = _layers(watched)
    if held.missing:
        raise SandboxError(held.missing)
    code, ended_by = max(watched.code, 0), max(-watched.code, 0) or None
    why = watched.ended_for
    if ended_by == getattr(signal, "SIGXCPU", None) and why is None:
        why = "cpu_seconds"
    output = bytes(watched.output).decode("utf-8", errors="replace")
    status, reason = _how_it_ended(why, code, ended_by, output, limits)
    answer = ""
    if status == "done":
        try:
            answer = read_answer(work, limits.file_mb * MB)
        except InputError as error:
            status, reason = "failed", str(error)
    own = None if ended_by else code
    return ScriptResult(status, reason, answer, output, own, ended_by, seconds, held)


def _layers(watched: Watched) -> Layers:
    """Return which layers the child reported, before any line of the script ran."""
    with suppress(ValueError, IndexError):
        found = json.loads(bytes(watched.report).splitlines()[0])
        return Layers(**{item.name: found.get(item.name, False) for item in fields(Layers)})
    text = bytes(watched.output).decode("utf-8", errors="replace").strip()
    last = text.splitlines()[-1] if text else "its process said nothing"
    raise SandboxError((), f"the sandbox did not come up: {last}")


def _how_it_ended(
    why: str | None, code: int, ended_by: int | None, output: str, limits: Limits
) -> tuple[Status, str | None]:
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


def _remove(work: Path) -> None:
    """Remove a folder however deep it is."""
    with suppress(OSError, RecursionError):
        shutil.rmtree(work)
    if work.exists() and (remover := shutil.which("rm")) is not None:
        subprocess.run([remover, "-rf", "--", str(work)], check=False, capture_output=True)
