"""Workers that are processes of this machine; whatever ends one is the answer of its task.

A fresh interpreter is started with ``subprocess``, as for solvers: no fork of a process with
threads, and no demand on the user's script as ``multiprocessing`` makes it.
"""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection, wait
from pathlib import Path
from socket import socketpair
from typing import Final

from engiagent.errors import EngiagentError
from engiagent.scale.work import Answer, Limits, Task
from engiagent.scale.worker import READY, REFUSED
from engiagent.solvers.isolation import REFUSED_MEMORY

POLL: Final = 0.1
STARTS: Final = 3
"""How often a worker may end before it is ready."""
_TAIL: Final = 4_000


class _Child:
    """One worker process and the tasks that it has."""

    def __init__(self, name: str, job: bytes, limits: Limits, folder: str) -> None:
        self.name = name
        self.limits = limits
        self.tasks: deque[Task] = deque()
        self.ready = False
        self.since = time.monotonic()
        self.stderr = tempfile.TemporaryFile()  # noqa: SIM115 (closed by end)
        here, there = socketpair()
        paths = [str(Path(entry or ".").resolve()) for entry in sys.path]
        single = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        with there:
            self.process = subprocess.Popen(
                [
                    *(sys.executable, "-P", "-m", "engiagent.scale.worker"),
                    *(str(there.fileno()), str(os.getpid())),
                ],
                stdin=subprocess.DEVNULL,
                stdout=self.stderr,
                stderr=self.stderr,
                env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)} | single,
                pass_fds=(there.fileno(),),
                start_new_session=True,  # Ctrl-C is for the driver, which ends its workers
            )
        self.line = Connection(here.detach())
        with contextlib.suppress(OSError):
            self.line.send((name, job, limits.memory_mb, folder))

    @property
    def late(self) -> bool:
        """Whether its task has had its time."""
        limit = self.limits.seconds
        if not (self.ready and self.tasks) or limit is None:
            return False
        return time.monotonic() - self.since > limit

    def give(self, tasks: Sequence[Task]) -> None:
        """Send tasks; a worker that has ended meanwhile is found by :meth:`Processes.wait`."""
        self.tasks.extend(tasks)
        self.since = time.monotonic()
        with contextlib.suppress(OSError):
            self.line.send(list(tasks))

    def end(self) -> str:
        """End the process and all that it has started; return how it had ended by itself."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            if not self.late:
                self.process.wait(POLL)
        code = self.process.poll()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.line.close()
        size = self.stderr.seek(0, os.SEEK_END)
        self.stderr.seek(max(size - _TAIL, 0))
        said = self.stderr.read().decode(errors="replace").strip()
        self.stderr.close()
        if code is None:
            return "ended by the driver"
        if any(words in said.lower() for words in REFUSED_MEMORY):
            return "out of memory"
        last = f": {said.splitlines()[-1][:200]}" if said else ""
        if code < 0:
            return f"its process was ended by {signal.Signals(-code).name}{last}"
        return f"its process ended with code {code}{last}"


class Processes:
    """A number of worker processes that are replaced when they end."""

    def __init__(
        self, count: int, job: bytes, limits: Limits, name: str = "process", folder: str = "."
    ) -> None:
        self._given = (job, limits, folder)
        self._starts = 0
        self.target_seconds = 0.1  # of work that is worth a message
        self.names = [f"{name} {k}" for k in range(count)]
        self._children: dict[str, _Child] = {}
        try:
            for each in self.names:
                self._children[each] = _Child(each, *self._given)
        except BaseException:
            self.close()
            raise

    def free(self, avoid: str | None) -> bool:
        """Whether a worker, another than the one to avoid, has nothing to do."""
        return self._idle(avoid) is not None

    def _idle(self, avoid: str | None) -> _Child | None:
        alone = len(self._children) == 1
        children = (c for c in self._children.values() if alone or c.name != avoid)
        return next((c for c in children if not c.tasks), None)

    def submit(self, tasks: Sequence[Task]) -> None:
        """Give tasks to a free worker."""
        child = self._idle(tasks[0].avoid)
        assert child is not None
        child.give(tasks)

    def wait(self) -> Iterator[Answer]:
        """Yield what has come in; wait a moment for it."""
        by_line = {child.line: child for child in self._children.values()}
        for line in wait(list(by_line), POLL):
            yield from self._received(by_line[line])  # type: ignore[index]
        for child in list(self._children.values()):
            if child.late:
                yield from self._ended(child, f"no answer within {child.limits.seconds:g} s")

    def _received(self, child: _Child) -> Iterator[Answer]:
        try:
            while child.line.poll():
                found = child.line.recv()
                child.since = time.monotonic()
                if isinstance(found, Answer):
                    child.tasks.popleft()
                    yield found
                elif found[0] == READY:
                    child.ready, self._starts = True, 0
                elif found[0] == REFUSED:
                    raise EngiagentError(found[1])
        except (EOFError, ConnectionResetError):
            yield from self._ended(child, "")

    def _ended(self, child: _Child, reason: str) -> Iterator[Answer]:
        """Yield what a worker leaves behind: its first task is why it ended, others are lost."""
        why = child.end()
        reason = reason or why
        if not child.ready:
            self._starts += 1
            if self._starts >= STARTS:
                raise EngiagentError(f"workers end before they are ready: {reason}")
        tasks = list(child.tasks)
        self._children[child.name] = _Child(child.name, *self._given)
        for place, task in enumerate(tasks):
            if place == 0 and child.ready:
                yield Answer(task.index, "failure", reason=reason, worker=child.name)
            else:
                yield Answer(task.index, "lost", reason=reason, worker=child.name)

    def close(self) -> None:
        """End all workers."""
        for child in self._children.values():
            if child.process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(child.process.pid, signal.SIGKILL)
            child.end()
        self._children = {}
