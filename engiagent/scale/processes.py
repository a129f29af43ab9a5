"""Workers that are processes of this machine; whatever ends one is the outcome of its task."""

import contextlib
import math
import os
import signal
import tempfile
import time
from collections import deque
from collections.abc import Iterator, Sequence
from functools import partial
from multiprocessing.connection import Pipe, wait
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any, Final

from engiagent.errors import EngiagentError
from engiagent.scale import worker
from engiagent.scale.work import Job, Outcome, Spread, Task
from engiagent.solvers.isolation import REFUSED_MEMORY, interpreter, kill, tail

POLL: Final = 0.1
STARTS: Final = 2  # how often a worker may end before it is ready


class _Child:
    """One worker process and the tasks that it has."""

    def __init__(self, job: bytes, limit: float | None, name: str) -> None:
        self.name, self.limit = name, limit
        self.tasks: deque[Task] = deque()
        self.room = 1  # the tasks of its last message; that many more may wait
        self.ready, self.since = False, time.monotonic()
        self.stderr = tempfile.NamedTemporaryFile()  # noqa: SIM115 (closed by end)
        self.line, there = Pipe()
        words = (worker.__name__, str(there.fileno()), str(os.getpid()))
        single = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        with there:
            given: Any = {"stderr": self.stderr, "more": single, "pass_fds": (there.fileno(),)}
            self.process = interpreter(*words, **given)
        with contextlib.suppress(OSError):  # that it has ended is found by Processes.wait
            self.line.send_bytes(job)

    def give(self, tasks: Sequence[Task]) -> None:
        self.since = self.since if self.tasks else time.monotonic()
        self.tasks.extend(tasks)
        self.room = len(tasks)
        with contextlib.suppress(OSError):
            self.line.send(list(tasks))

    def is_late(self) -> bool:
        limit = math.inf if self.limit is None else self.limit
        return self.ready and bool(self.tasks) and time.monotonic() - self.since > limit

    def end(self) -> str:
        """End the process and all that it has started; return why it ended."""
        is_late = self.is_late()
        kill(self.process)
        self.line.close()
        stated, code = tail(Path(self.stderr.name)), self.process.returncode
        self.stderr.close()
        if is_late:
            return f"no answer within {self.limit:g} s"
        if any(words in stated.lower() for words in REFUSED_MEMORY):
            return "out of memory"
        how = f"ended by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
        return ": ".join([f"its process {how}", *stated.splitlines()[-1:]])


class Processes:
    """A number of worker processes that are replaced when they end."""

    seconds = 0.2  # of work that is worth a message; a worker has up to two of them

    def __init__(self, count: int, job: Job, spread: Spread) -> None:
        given = ForkingPickler.dumps((job, spread.memory_mb))
        self._start, self._starts = partial(_Child, bytes(given), spread.seconds), 0
        self._children = [self._start(f"process {number}") for number in range(count)]

    def _idlest(self, avoid: str | None) -> _Child:
        others = [child for child in self._children if child.name != avoid]
        return min(others or self._children, key=lambda child: len(child.tasks))

    def free(self, avoid: str | None) -> bool:
        """Whether a worker, another than the one to avoid, has too little to do."""
        child = self._idlest(avoid)
        return len(child.tasks) < (child.room if child.ready else 1)

    def submit(self, tasks: Sequence[Task]) -> None:
        """Give tasks to the worker with the least to do."""
        self._idlest(tasks[0].avoid).give(tasks)

    def wait(self) -> Iterator[Outcome]:
        """Yield what has come in; wait a moment for it."""
        ready = wait([child.line for child in self._children], POLL)
        for child in list(self._children):
            try:
                while child.line in ready and child.line.poll():
                    found, child.since = child.line.recv(), time.monotonic()
                    if found is None:
                        child.ready, self._starts = True, 0
                    else:
                        child.tasks.popleft()
                        yield found._replace(worker=child.name)
            except (EOFError, ConnectionResetError):
                yield from self._ended(child)
            else:
                yield from self._ended(child) if child.is_late() else ()

    def _ended(self, child: _Child) -> Iterator[Outcome]:
        """Yield what a worker leaves behind: its first task is why it ended, others are lost."""
        self._children.remove(child)
        reason, self._starts = child.end(), self._starts + (not child.ready)
        if self._starts >= STARTS:
            raise EngiagentError(f"workers end before they are ready: {reason}")
        self._children.append(self._start(child.name))
        for place, task in enumerate(child.tasks):
            kind: Any = "failure" if place == 0 and child.ready else "lost"
            yield Outcome(task.number, kind, None, reason, child.name)

    def close(self) -> None:
        """End all workers."""
        for child in self._children:
            child.process.kill()
            child.end()
