"""Workers that are processes of this machine; whatever ends one is the answer of its task."""

import contextlib
import os
import signal
import tempfile
import time
from collections import deque
from collections.abc import Iterator, Sequence
from functools import partial
from multiprocessing.connection import Pipe, wait
from pathlib import Path
from typing import Any, Final

from engiagent.errors import EngiagentError
from engiagent.scale import worker
from engiagent.scale.work import Answer, Job, Kind, Spread, Task
from engiagent.solvers.isolation import REFUSED_MEMORY, interpreter, kill, tail

POLL: Final = 0.1
STARTS: Final = 3
"""How often a worker may end before it is ready."""


class _Child:
    """One worker process and the tasks that it has."""

    def __init__(self, job: Job, spread: Spread, folder: str, name: str) -> None:
        self.name, self.limit = name, spread.seconds
        self.tasks: deque[Task] = deque()
        self.room = 1  # the tasks of its last message; that many more may wait
        self.ready = False
        self.since = time.monotonic()
        self.stderr = tempfile.NamedTemporaryFile()  # noqa: SIM115 (closed by end)
        self.line, there = Pipe()
        handle = there.fileno()
        words = (worker.__name__, str(handle), str(os.getpid()))
        single = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        with there:
            self.process = interpreter(*words, stderr=self.stderr, more=single, pass_fds=(handle,))
        self._send((name, job, spread.memory_mb, folder))

    def _send(self, what: Any) -> None:
        with contextlib.suppress(OSError):  # that it has ended is found by Processes.wait
            self.line.send(what)

    @property
    def is_late(self) -> bool:
        """Whether its task has had its time."""
        begun = self.ready and self.tasks and self.limit is not None
        return bool(begun) and time.monotonic() - self.since > (self.limit or 0.0)

    def give(self, tasks: Sequence[Task]) -> None:
        if not self.tasks:
            self.since = time.monotonic()
        self.tasks.extend(tasks)
        self.room = len(tasks)
        self._send(list(tasks))

    def end(self) -> str:
        """End the process and all that it has started; return why it ended."""
        is_late = self.is_late
        kill(self.process)
        self.line.close()
        stated = tail(Path(self.stderr.name))
        self.stderr.close()
        if is_late:
            return f"no answer within {self.limit:g} s"
        if any(words in stated.lower() for words in REFUSED_MEMORY):
            return "out of memory"
        code = self.process.returncode
        how = f"ended by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
        return f"its process {how}{f': {stated.splitlines()[-1][:200]}' if stated else ''}"


class Processes:
    """A number of worker processes that are replaced when they end."""

    seconds = 0.2
    """Of work that is worth a message; a worker has up to two of them."""

    def __init__(
        self, count: int, job: Job, spread: Spread, name: str = "process", folder: str = "."
    ) -> None:
        self._start = partial(_Child, job, spread, folder)
        self._starts = 0
        self._children = {each: self._start(each) for each in (f"{name} {k}" for k in range(count))}

    def _idlest(self, avoid: str | None) -> _Child:
        alone = len(self._children) == 1
        children = [c for c in self._children.values() if alone or c.name != avoid]
        return min(children, key=lambda child: len(child.tasks))

    def free(self, avoid: str | None) -> bool:
        """Whether a worker, another than the one to avoid, has too little to do."""
        child = self._idlest(avoid)
        return len(child.tasks) < (child.room if child.ready else 1)

    def submit(self, tasks: Sequence[Task]) -> None:
        """Give tasks to the worker with the least to do."""
        self._idlest(tasks[0].avoid).give(tasks)

    def wait(self) -> Iterator[Answer]:
        """Yield what has come in; wait a moment for it."""
        by_line: dict[Any, _Child] = {child.line: child for child in self._children.values()}
        for line in wait(list(by_line), POLL):
            yield from self._received(by_line[line])
        for child in list(self._children.values()):
            if child.is_late:
                yield from self._ended(child)

    def _received(self, child: _Child) -> Iterator[Answer]:
        try:
            while child.line.poll():
                found = child.line.recv()
                child.since = time.monotonic()
                if isinstance(found, Answer):
                    child.tasks.popleft()
                    yield found
                elif found:
                    raise EngiagentError(found)
                else:
                    child.ready, self._starts = True, 0
        except (EOFError, ConnectionResetError):
            yield from self._ended(child)

    def _ended(self, child: _Child) -> Iterator[Answer]:
        """Yield what a worker leaves behind: its first task is why it ended, others are lost."""
        reason = child.end()
        self._starts += not child.ready
        if self._starts >= STARTS:
            raise EngiagentError(f"workers end before they are ready: {reason}")
        self._children[child.name] = self._start(child.name)
        for place, task in enumerate(child.tasks):
            kind: Kind = "failure" if place == 0 and child.ready else "lost"
            yield Answer(task.number, kind, None, reason, child.name)

    def close(self) -> None:
        """End all workers."""
        for child in self._children.values():
            child.process.kill()
            child.end()
        self._children = {}
