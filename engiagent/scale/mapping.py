"""One map over independent runs, whose results do not depend on where and in which order they ran.

A task that crashes, hangs, is killed or runs out of memory is tried once more, on another worker
where there is one, and then is a result with a reason. In this process a crash of the interpreter,
a hang and memory are the caller's own; any limit, and any number of workers, takes processes.
"""

import os
import pickle
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any, Final, Protocol, Self

from engiagent.errors import InputError
from engiagent.scale.ledger import Ledger
from engiagent.scale.processes import Processes
from engiagent.scale.work import PROTOCOL, Answer, Function, Job, Limits, Runner, Task

FEW: Final = 16
"""Up to so many tasks run in this process; starting workers takes a second."""
AHEAD: Final = 4_096
"""Tasks that may be done before the first that is not: it bounds what the driver holds."""
MOST: Final = 256
"""Tasks in one message to a worker."""
ATTEMPTS: Final = 2
NO_LIMITS: Final = Limits()


@dataclass(frozen=True)
class Outcome:
    """What became of one task."""

    index: int  # its place among the tasks
    key: str  # the hash of its inputs
    value: Any = None
    reason: str = ""  # why there is no value
    attempts: int = 1
    stored: bool = False  # whether the ledger had it

    @property
    def ok(self) -> bool:
        """Whether there is a value."""
        return not self.reason


OnOutcome = Callable[[int, Outcome], None]
"""Called with the number of tasks done and the latest of them, in the order of completion."""


class Pool(Protocol):
    """Workers somewhere."""

    target_seconds: float

    def free(self, avoid: str | None) -> bool:
        """Whether a worker, another than the one to avoid, can take tasks."""

    def submit(self, tasks: Sequence[Task]) -> None:
        """Give tasks to a free worker."""

    def wait(self) -> Iterable[Answer]:
        """Yield what has come in; wait a moment for it."""

    def close(self) -> None:
        """End what was started."""


class _Here:
    """The process of the caller as the only worker."""

    target_seconds = 0.0

    def __init__(self, job: Job) -> None:
        self._runner = Runner(job.data)
        self._tasks: list[Task] = []

    def free(self, avoid: str | None) -> bool:
        return not self._tasks

    def submit(self, tasks: Sequence[Task]) -> None:
        self._tasks = list(tasks)

    def wait(self) -> Iterator[Answer]:
        tasks, self._tasks = self._tasks, []
        return (self._runner.run(task, "here") for task in tasks)

    def close(self) -> None:
        """Do nothing: nothing was started."""


class Runs:
    """Maps of one function that share their workers; see :func:`map_runs`."""

    def __init__(
        self,
        function: Function,
        *,
        setup: Callable[[Any], Any] | None = None,
        shared: Any = None,
        identity: str = "",
        scheduler: str | None = None,
        workers: int | None = None,
        limits: Limits = NO_LIMITS,
        ledger: Ledger | None = None,
        on_outcome: OnOutcome | None = None,
    ) -> None:
        if workers is not None and (workers < 0 or scheduler is not None):
            expected = "a number of processes, at least 0, and no scheduler"
            raise InputError("wrong workers", found=f"{workers}, {scheduler}", expected=expected)
        if workers == 0 and limits != NO_LIMITS:
            raise InputError("limits need processes", found="workers = 0", expected="at least 1")
        self._job = Job(function, setup, shared, identity)
        self._scheduler, self._workers, self._limits = scheduler, workers, limits
        self._ledger, self._on_outcome = ledger, on_outcome
        self._pool: Pool | None = None

    def map(self, tasks: Iterable[Any]) -> Iterator[Outcome]:
        """Yield the outcome of every task, in the order of the tasks."""
        numbered = (self._task(k, task) for k, task in enumerate(tasks))
        begun = list(islice(numbered, FEW + 1))
        run = _Run(partial(self._started, len(begun)), self._ledger, self._on_outcome)
        return run.outcomes(_chained(begun, numbered))

    def _task(self, index: int, given: Any) -> Task:
        data = pickle.dumps(given, PROTOCOL)
        return Task(index, self._job.key(data), data)

    def _started(self, least: int) -> Pool:
        """Return the workers, started for at least so many tasks when none are there."""
        if self._pool is None:
            self._pool = self._start(least)
        return self._pool

    def _start(self, least: int) -> Pool:
        if self._scheduler is not None:
            from engiagent.scale.cluster import Cluster  # Dask takes half a second

            return Cluster(self._scheduler, self._job, self._limits)
        few = self._workers is None and least <= FEW and self._limits == NO_LIMITS
        if self._workers == 0 or few:
            return _Here(self._job)
        return Processes(min(self._workers or cores(), least), self._job.data, self._limits)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.close()


def map_runs(function: Function, tasks: Iterable[Any], **given: Any) -> Iterator[Outcome]:
    """Yield the outcome of ``function(context, task)`` for every task, in the order of the tasks.

    Parameters
    ----------
    function, setup, shared
        ``setup(shared)`` is called once on each worker and gives the context; without it the
        context is ``shared``. Both functions stand at the top of a module.
    tasks
        Plain data each; read as workers become free, so that there may be any number.
    identity
        What the key of a task says of ``shared``; by default the hash of its pickle, which of sets
        is not the same twice.
    scheduler
        ``tcp://…``, a scheduler file, or ``local:N``, of ``dask.distributed``.
    workers
        Processes on this machine; by default this process for at most :data:`FEW` tasks and else
        one process a core. 0 is always this process.
    limits
        Of one task.
    ledger
        Where values are stored and taken from.
    on_outcome
        Told of each outcome when it comes, with the number of those that are done.

    Raises InputError for a wrong scheduler, or workers with other versions; EngiagentError when
    the set-up fails.
    """
    runs = Runs(function, **given)  # refuses here, not at the first outcome
    return _mapped(runs, tasks)


def _mapped(runs: Runs, tasks: Iterable[Any]) -> Iterator[Outcome]:
    with runs:
        yield from runs.map(tasks)


def cores() -> int:
    """Return how many processes this one may keep busy."""
    known = getattr(os, "sched_getaffinity", None)
    return len(known(0)) if known else os.cpu_count() or 1


def _chained(first: list[Task], rest: Iterator[Task]) -> Iterator[Task]:
    while first:
        yield first.pop(0)
    yield from rest


class _Run:
    """One map under way; workers are started when the first task needs one."""

    def __init__(
        self, start: Callable[[], Pool], ledger: Ledger | None, on_outcome: OnOutcome | None
    ) -> None:
        self._start, self._ledger, self._on_outcome = start, ledger, on_outcome
        self._pool: Pool | None = None
        self._again: deque[Task] = deque()  # failed once, or lost with a worker
        self._out: dict[int, Task] = {}  # with workers
        self._done: dict[int, Outcome] = {}  # not given yet, since one before them is not done
        self._count = self._given = 0
        self._mean = 0.0  # seconds of a task

    def outcomes(self, tasks: Iterator[Task]) -> Iterator[Outcome]:
        """Yield all outcomes in order."""
        more = True
        while True:
            more = self._fill(tasks) if more else False
            self._retry()
            while self._given in self._done:
                yield self._done.pop(self._given)
                self._given += 1
            if self._out and self._pool is not None:
                for answer in self._pool.wait():
                    self._take(answer)
            elif not more and not self._again and not self._done:
                return

    def _fill(self, tasks: Iterator[Task]) -> bool:
        """Give tasks to free workers; return whether there are more."""
        while self._pool is None or self._pool.free(None):
            room = AHEAD - len(self._out) - len(self._done)
            # What failed goes first, and what the caller can have is given at once.
            if self._again or room <= 0 or self._given in self._done:
                return True
            target = 0.0 if self._pool is None else self._pool.target_seconds
            size = int(target / self._mean) if self._mean else 1
            read = list(islice(tasks, max(min(size, MOST, room), 1)))
            chunk = [task for task in read if not self._is_stored(task)]
            if chunk:
                self._submit(chunk)
            if not read:
                return False
        return True

    def _is_stored(self, task: Task) -> bool:
        stored = None if self._ledger is None else self._ledger.get(task.key)
        if stored is not None:
            value = pickle.loads(stored)
            self._finish(Outcome(task.index, task.key, value, stored=True, attempts=0))
        return stored is not None

    def _retry(self) -> None:
        """Give what is to be tried again, each alone, to workers other than where it failed."""
        for _ in range(len(self._again)):
            task = self._again.popleft()
            if self._pool is not None and self._pool.free(task.avoid):
                self._submit([task])
            else:
                self._again.append(task)

    def _submit(self, tasks: list[Task]) -> None:
        if self._pool is None:
            self._pool = self._start()
        self._out |= {task.index: task for task in tasks}
        self._pool.submit(tasks)

    def _take(self, answer: Answer) -> None:
        task = self._out.pop(answer.index)
        if answer.kind == "lost":
            self._again.append(task)
            return
        tried = task.after(answer.worker)
        if answer.kind == "failure" and tried.attempts < ATTEMPTS:
            self._again.append(tried)
            return
        if answer.kind == "value":
            self._mean += (0.1 if self._mean else 1.0) * (answer.seconds - self._mean)
            if self._ledger is not None:
                self._ledger.put(task.key, answer.data)
        found = Outcome(task.index, task.key, attempts=tried.attempts)
        if answer.kind == "value":
            found = replace(found, value=pickle.loads(answer.data))
        else:
            found = replace(found, reason=answer.reason or answer.kind)
        self._finish(found)

    def _finish(self, found: Outcome) -> None:
        self._done[found.index] = found
        self._count += 1
        if self._on_outcome is not None:
            self._on_outcome(self._count, found)
