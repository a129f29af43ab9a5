"""The child that holds a script, from outside: started, watched, and ended with all it left."""

import json
import os
import selectors
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from engiagent.errors import SandboxError
from engiagent.run.sandbox.answer import RESULT
from engiagent.run.sandbox.limits import Limits, package_root, places

MB: Final = 1_000_000
_POLL: Final = 0.05
_GRACE: Final = 2.0
_REPORT_BYTES: Final = 10_000


@dataclass
class Watched:
    """What is known of a child while it runs."""

    output: bytearray = field(default_factory=bytearray)
    report: bytearray = field(default_factory=bytearray)
    ended_for: str | None = None

    def said(self) -> list[dict[str, Any]]:
        """Return what the child reported, line by line."""
        lines = []
        for line in bytes(self.report).splitlines():
            with suppress(ValueError):
                lines.append(json.loads(line))
        return lines


def execute(
    work: Path, limits: Limits, required: tuple[str, ...], wrapper: str | None, script: str
) -> tuple[Watched, float]:
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
    watched = Watched()
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
        wrapper,
        "--unshare-all",
        "--die-with-parent",
        "--new-session",
        "--cap-drop",
        "ALL",
        *links,
        *binds,
        "--proc",
        "/proc",
        "--dev",
        "/dev",
        "--bind",
        str(work),
        str(work),
        "--chdir",
        str(work),
        "--",
    ]


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
    child: subprocess.Popen[bytes], report: Any, watched: Watched, work: Path, limits: Limits
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
                watched.ended_for = _exceeded(work, limits, child.pid)
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
    """Return the bytes of removed files of the folder that a process and its children still hold.

    A file that is removed while it is open takes its space until it is closed. One that is mapped
    and closed shows no size, so that it counts as the largest that a file may be.
    """
    sizes: dict[int, int] = {}
    device = os.stat(work).st_dev
    for process in _family(pid):
        with suppress(OSError):
            for entry in os.scandir(f"/proc/{process}/fd"):
                with suppress(OSError):
                    status = os.stat(entry.path)
                    if stat.S_ISREG(status.st_mode) and not status.st_nlink:
                        used = max(status.st_size, status.st_blocks * 512)
                        sizes |= {status.st_ino: used} if status.st_dev == device else {}
        with suppress(OSError), open(f"/proc/{process}/maps", encoding="utf-8") as lines:
            for line in lines:
                parts = line.split(maxsplit=5)
                if line.rstrip().endswith("(deleted)") and parts[5].startswith(f"{work}/"):
                    sizes.setdefault(int(parts[4]), limits.file_mb * MB)
    return sum(sizes.values())


def _family(pid: int) -> Iterator[int]:
    """Yield a process and all that descend from it."""
    yield pid
    with suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with suppress(OSError), open(f"/proc/{pid}/task/{task}/children", "rb") as children:
                for child in children.read().split():
                    yield from _family(int(child))


def _end(child: subprocess.Popen[bytes]) -> None:
    """End the child; first its supervisor is asked, who knows whatever the script started."""
    if child.poll() is None:
        with suppress(ProcessLookupError):
            child.send_signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            child.wait(timeout=_GRACE)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
