"""Solving in a child process: limits, progress, cancel; whatever happens there is a result.

A fresh interpreter is started with ``subprocess``: no fork of a process with threads, and no
demand on the user's script as ``multiprocessing`` makes it.
"""

import contextlib
import json
import math
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

import numpy as np

from engiagent.errors import EngiagentError
from engiagent.formulations.program import Program
from engiagent.solvers import transport, worker
from engiagent.solvers.linear import unbounded_reason
from engiagent.solvers.registry import adapter
from engiagent.solvers.result import OnProgress, Progress, SolveOptions, SolverResult, Status

POLL = 0.1
STOP_GRACE = 5.0
LIMIT_GRACE = 5.0
LIMIT_GRACE_SHARE = 0.2
# What a native library dies of when it is refused memory or the stack of a thread.
OUT_OF_MEMORY_SIGNALS = (signal.SIGABRT, signal.SIGSEGV)

REFUSED_MEMORY = (
    "bad_alloc",
    "cannot allocate memory",
    "memory allocation of",
    "memory allocation error",
)
"""What native libraries say, of C++, of the C library, of Rust and fatrop, before they give up."""


def solve_isolated(
    program: Program,
    options: SolveOptions,
    on_progress: OnProgress | None = None,
    cancel: threading.Event | None = None,
) -> SolverResult:
    """Solve a checked program in a child process; see :func:`engiagent.solvers.solve`.

    Ctrl-C is taken as a request to stop: the child gets five seconds to hand over its best point;
    a second Ctrl-C ends it at once.
    """
    with tempfile.TemporaryDirectory(prefix="engiagent-") as name:
        folder = Path(name)
        transport.write_program(folder / worker.PROGRAM, program, options)
        with (
            open(folder / "stderr", "wb") as stderr,
            _start(folder, stderr, on_progress is not None) as child,
        ):
            solver = adapter(options.backend or worker.DEFAULT)
            overseer = _Overseer(
                child,
                options,
                on_progress,
                cancel,
                knows_limit="time_limit" in solver.options,
                stops_itself="interrupt" in solver.features,
            )
            try:
                overseer.watch()
            finally:
                kill(child)
        return _collect(program, options, folder, overseer)


def _start(folder: Path, stderr: IO[bytes], progress: bool) -> subprocess.Popen[bytes]:
    words = [str(folder), str(os.getpid()), *(["progress"] if progress else [])]
    return interpreter(worker.__name__, *words, stderr=stderr, pipe=True)


def interpreter(
    module: str,
    *words: str,
    stderr: IO[bytes],
    pipe: bool = False,
    more: Mapping[str, str] | None = None,
    pass_fds: Sequence[int] = (),
) -> subprocess.Popen[bytes]:
    """Start a module in a Python of its own and in a session of its own.

    It finds every package where this process found it, and OpenBLAS starts no threads whose stacks
    would count as the solver's memory. ``pipe``: whether input and output are pipes; else there is
    no input, and output goes where errors go. ``more``: of the environment.
    """
    paths = [str(Path(entry or ".").resolve()) for entry in sys.path]
    environment = {"PYTHONPATH": os.pathsep.join(paths), "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-P", "-m", module, *words],
        stdin=subprocess.PIPE if pipe else subprocess.DEVNULL,
        stdout=subprocess.PIPE if pipe else stderr,
        stderr=stderr,
        env={**os.environ, **environment, **(more or {})},
        pass_fds=pass_fds,
        start_new_session=True,
    )


@dataclass
class _Overseer:
    """Follows one child until it ends, and ends it when it must."""

    child: subprocess.Popen[bytes]
    options: SolveOptions
    on_progress: OnProgress | None
    cancel: threading.Event | None
    knows_limit: bool = True
    stops_itself: bool = True
    cause: str | None = None
    kill_at: float = math.inf

    def watch(self) -> None:
        """Pass progress on until the child's output ends."""
        limit = self.options.time_limit
        deadline = math.inf
        if limit is not None:
            grace = LIMIT_GRACE + LIMIT_GRACE_SHARE * limit if self.knows_limit else 0.0
            deadline = time.monotonic() + limit + grace
        lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        reader = threading.Thread(target=_read_lines, args=(self.child, lines), daemon=True)
        reader.start()
        while True:
            try:
                with contextlib.suppress(queue.Empty):
                    line = lines.get(timeout=POLL)
                    if line == b"":
                        break
                    if self.on_progress is not None:
                        self.on_progress(Progress(**json.loads(line)))
                if time.monotonic() > deadline:
                    self._stop("time")
                if self.cancel is not None and self.cancel.is_set():
                    self._stop("interrupted")
            except KeyboardInterrupt:
                if self.cause == "interrupted":
                    break
                self._stop("interrupted")
            if time.monotonic() > self.kill_at:
                break
        kill(self.child)
        reader.join()

    def _stop(self, cause: str) -> None:
        if self.cause is None:
            self.cause = cause
            self.kill_at = time.monotonic() + (STOP_GRACE if self.stops_itself else POLL)
            assert self.child.stdin is not None
            with contextlib.suppress(OSError):
                self.child.stdin.write(b"stop\n")
                self.child.stdin.flush()


def _read_lines(child: subprocess.Popen[bytes], lines: queue.SimpleQueue[bytes]) -> None:
    assert child.stdout is not None
    for line in child.stdout:
        lines.put(line)
    lines.put(b"")


def kill(child: subprocess.Popen[bytes]) -> None:
    """End a child and whatever it started; do nothing when it has ended."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        # Its output has ended, so it is about to exit by itself.
        child.wait(timeout=POLL)
    if child.poll() is None:
        if hasattr(os, "killpg"):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
        else:
            child.kill()
        child.wait()


def _collect(
    program: Program, options: SolveOptions, folder: Path, overseer: _Overseer
) -> SolverResult:
    """Return the child's result, or one that says how the child ended."""
    if (folder / worker.RESULT).exists():
        result = transport.read_result(folder / worker.RESULT)
        if result.ray is None:
            return result
        # The child does not know the names of variables.
        return replace(result, reason=unbounded_reason(program, result.ray))
    if (folder / worker.FAILURE).exists():
        raise EngiagentError((folder / worker.FAILURE).read_text(encoding="utf-8"))
    status, reason = _why_ended(options, overseer, tail(folder / "stderr"))
    solver = adapter(options.backend or worker.DEFAULT)
    result = SolverResult(
        status=status,
        reason=f"{reason}, no schedule found",
        is_mip=program.is_mip,
        solver=solver.name,
        solver_version=solver.version(),
    )
    if not (folder / worker.INCUMBENT).exists():
        return result
    x = transport.read(folder / worker.INCUMBENT)[1]["x"]
    x = np.where(program.integrality, np.round(x), x)
    return replace(
        result,
        status="feasible" if status == "limit" else status,
        reason=f"{reason}, the best schedule so far is kept",
        x=x,
        objective=program.objective_at(x),
    )


def _why_ended(options: SolveOptions, overseer: _Overseer, stderr: str) -> tuple[Status, str]:
    code = overseer.child.returncode
    limited = options.memory_limit_mb is not None
    if overseer.cause == "interrupted":
        return "interrupted", "interrupted"
    if overseer.cause == "time":
        return "limit", f"time limit of {options.time_limit:g} s enforced from outside"
    refused = any(words in stderr.lower() for words in REFUSED_MEMORY)
    if code == worker.OUT_OF_MEMORY or (limited and refused):
        if limited:
            return "limit", f"memory limit of {options.memory_limit_mb:g} MB reached"
        return "error", "the solver ran out of memory"
    if limited and -code in OUT_OF_MEMORY_SIGNALS:
        limit = f"memory limit of {options.memory_limit_mb:g} MB reached"
        return "limit", f"{limit}, it seems: the solver's process ended with signal {-code}"
    if code < 0:
        hint = " (out of memory?)" if code == -signal.SIGKILL else ""
        return "error", f"the solver's process was killed by signal {-code}{hint}"
    last = f": {stderr.splitlines()[-1]}" if stderr else ""
    return "error", f"the solver's process ended with code {code}{last}"


def tail(path: Path, size: int = 4000) -> str:
    """Return the end of a file of text."""
    with open(path, "rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - size))
        return file.read().decode(errors="replace").strip()
