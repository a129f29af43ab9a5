"""A script run in the sandbox: started, watched from outside, ended, and what it left behind."""

import json
import os
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

from engiagent.errors import InputError
from engiagent.files import open_inside
from engiagent.sandbox.answer import RESULT, Schedule, read_answer
from engiagent.sandbox.limits import Layers, Limits, SandboxError
from engiagent.sandbox.places import package_root, places

Isolation = Literal["auto", "unsafe"]
Status = Literal["done", "failed", "limit"]

SCRIPT: Final = "model.py"
_POLL: Final = 0.05
_GRACE: Final = 2.0
_MB: Final = 1_000_000
_REQUIRED: Final = ("limits", "no_new_privs", "landlock", "seccomp")
_REPORT_BYTES: Final = 10_000
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
    """How a script ended and what it answered.

    Attributes
    ----------
    status
        ``done`` with a readable answer, ``limit`` when it was ended, else ``failed``.
    reason
        Why it is not ``done``.
    schedule
        Numbers by the name that the script gave them, each an array; units may stand in the
        names, as ``battery.charge [kW]``.
    objective
        What the script claims; the checker works it out itself.
    output
        What it printed, its errors among it.
    code, signal
        How its process ended; None where it did not end by itself.
    seconds
        Of wall-clock time.
    layers
        The guarantees that held.
    """

    status: Status
    reason: str | None
    schedule: Schedule
    objective: float | None
    output: str
    code: int | None
    signal: int | None
    seconds: float
    layers: Layers


@dataclass
class _Watched:
    """What is known of a child while it runs."""

    output: bytearray = field(default_factory=bytearray)
    report: bytearray = field(default_factory=bytearray)
    ended_for: str | None = None

    def said(self) -> list[dict[str, Any]]:
        lines = []
        for line in bytes(self.report).splitlines():
            with suppress(ValueError):
                lines.append(json.loads(line))
        return lines


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

    Parameters
    ----------
    path
        The script; it is copied.
    data_folder, files
        Whence data are copied: the named files, or every plain file that lies there.
    limits
        What it may take.
    isolation
        ``auto`` takes every layer that the machine has and refuses without the essential ones;
        ``unsafe`` takes what there is.

    Raises
    ------
    SandboxError
        When the machine lacks a layer; nothing was run then.
    InputError
        When the script or a file is unreadable.
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
        watched, _ = _execute(work, Limits(), (), wrapped, script="")
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
        watched, _ = _execute(work, Limits(seconds=10), (), found, script="")
        return found if len(watched.said()) == 2 else None
    except SandboxError:
        return None
    finally:
        _remove(work)


def _run(work: Path, limits: Limits, isolation: Isolation) -> ScriptResult:
    required = _REQUIRED if isolation == "auto" else ()
    wrapped = bubblewrap()
    watched, seconds = _execute(work, limits, required, wrapped, SCRIPT)
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
            schedule, objective = read_answer(work, limits.file_mb * _MB)
        except InputError as error:
            status, reason = "failed", str(error)
    return ScriptResult(
        status, reason, schedule, objective, output, None if ended_by else code, ended_by,
        seconds, held,
    )  # fmt: skip


def _first(watched: _Watched) -> dict[str, Any]:
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


# -- the child, from outside ------------------------------------------------------------------


def _execute(
    work: Path, limits: Limits, required: tuple[str, ...], wrapper: str | None, script: str
) -> tuple[_Watched, float]:
    """Start the child, watch it to its end, and return what it said and how long that took."""
    if not hasattr(os, "fork"):
        raise SandboxError((), "this system has no sandbox for scripts; nothing was run")
    reading, writing = os.pipe()
    began = time.monotonic()
    try:
        plan = _plan(work, limits, required, script, writing)
        child = subprocess.Popen(
            [*_wrapping(wrapper, work), *_interpreter(), json.dumps(plan)],
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
    watched = _Watched()
    with child, os.fdopen(reading, "rb", buffering=0) as report:
        try:
            _watch(child, report, watched, work, limits)
        finally:
            _end(child)
    return watched, time.monotonic() - began


def _plan(
    work: Path, limits: Limits, required: tuple[str, ...], script: str, report: int
) -> dict[str, Any]:
    open_to = places()
    return {
        "work": str(work),
        "script": script,
        "result": RESULT,
        "report": report,
        "required": list(required),
        "limits": {**limits.to_dict(), "processes": _tasks_of_user() + limits.threads + 2},
        "readable": list(open_to.readable),
        "listable": list(open_to.listable),
        "writable": list(open_to.writable),
    }


def _interpreter() -> list[str]:
    root = package_root()
    start = (
        f"import sys; sys.path.insert(0, {root!r}); "
        f"from engiagent.sandbox.child import main; main({root!r})"
    )
    return [sys.executable, "-I", "-B", "-c", start]


def _environment(work: Path) -> dict[str, str]:
    """Return all of the environment that a script sees; nothing of it is this process's."""
    return {
        "HOME": str(work), "TMPDIR": str(work), "LANG": "C.UTF-8", "PATH": "/usr/bin:/bin",
        "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1",
    }  # fmt: skip


def _wrapping(wrapper: str | None, work: Path) -> list[str]:
    if wrapper is None:
        return []
    open_to = places()
    own = Path(package_root()) / "engiagent"
    seen = [sys.base_prefix, sys.prefix, *open_to.listable, str(own / "__init__.py")]
    seen += [str(own / "sandbox"), "/etc/ld.so.cache", "/etc/localtime", "/usr/share/zoneinfo"]
    binds = [part for path in dict.fromkeys(seen) for part in ("--ro-bind-try", path, path)]
    links = [
        part
        for name in ("/lib", "/lib64", "/bin")
        if os.path.islink(name)
        for part in ("--symlink", os.readlink(name), name)
    ]
    return [
        wrapper, "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL",
        *links, *binds, "--proc", "/proc", "--dev", "/dev", "--bind", str(work), str(work),
        "--chdir", str(work), "--",
    ]  # fmt: skip


def _tasks_of_user() -> int:
    """Return how many threads this user has now, which the limit on processes counts too."""
    count, own = 0, os.getuid()
    if not os.path.isdir("/proc/self"):
        return 0
    for entry in os.listdir("/proc"):
        with suppress(OSError):
            if entry.isdigit() and os.stat(f"/proc/{entry}").st_uid == own:
                count += len(os.listdir(f"/proc/{entry}/task"))
    return count


def _watch(
    child: "subprocess.Popen[bytes]", report: Any, watched: _Watched, work: Path, limits: Limits
) -> None:
    """Read what the child says until it ends or must be ended."""
    deadline = time.monotonic() + limits.seconds
    look = time.monotonic() + _POLL
    assert child.stdout is not None
    with selectors.DefaultSelector() as selector:
        selector.register(child.stdout, selectors.EVENT_READ, watched.output)
        selector.register(report, selectors.EVENT_READ, watched.report)
        while selector.get_map():
            for key, _ in selector.select(_POLL):
                data = os.read(key.fd, 1 << 16)
                if data:
                    key.data.extend(data)
                else:
                    selector.unregister(key.fileobj)
            if time.monotonic() >= look:
                watched.ended_for = _exceeded(work, limits)
                look = time.monotonic() + _POLL
            if len(watched.output) > limits.output_kb * 1000:
                del watched.output[int(limits.output_kb * 1000) :]
                watched.ended_for = "output_kb"
            if len(watched.report) > _REPORT_BYTES:
                watched.ended_for = "output_kb"
            if time.monotonic() > deadline:
                watched.ended_for = "seconds"
            if watched.ended_for is not None:
                return
    watched.ended_for = _exceeded(work, limits)


def _exceeded(work: Path, limits: Limits) -> str | None:
    """Return which limit the folder's content breaks."""
    count = size = 0
    for place, folders, names in os.walk(work, followlinks=False):
        count += len(folders) + len(names)
        if count > limits.files:
            return "files"
        for name in names:
            with suppress(OSError):
                status = os.lstat(os.path.join(place, name))
                size += max(status.st_size, status.st_blocks * 512)
    return "folder_mb" if size > limits.folder_mb * _MB else None


def _end(child: "subprocess.Popen[bytes]") -> None:
    """End the child; first its supervisor is asked, who knows whatever the script started."""
    if child.poll() is None:
        with suppress(ProcessLookupError):
            child.send_signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            child.wait(timeout=_GRACE)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


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
                file=str(source), found=error.strerror, expected="a readable folder",
            ) from None  # fmt: skip
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
