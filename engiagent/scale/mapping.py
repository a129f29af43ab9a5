"""One map over independent runs, whose results do not depend on where and in which order they ran.

A task that crashes, hangs, is killed or runs out of memory is tried once more, on another worker
where there is one, and then is a result with a reason; in this process that is the caller's own.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from engiagent import __version__
from engiagent.scale.ledger import Ledger
from engiagent.scale.processes import Processes
from engiagent.scale.work import DEFAULT, FEW, Job, Outcome, Spread, Task, outcome_of

if TYPE_CHECKING:
    from engiagent.scale.cluster import Cluster

AHEAD: Final = 512  # tasks that may be done before the first that is not: what the driver holds
MOST: Final = 128  # tasks in one message to a worker


class Runs:
    """Maps of one function, one after the other, that share their workers.

    ``ledger``: where values are stored and taken from; JSON has to have the tasks then.
    ``identity``: what their keys say of what is shared, which otherwise JSON has to have too.
    """

    def __init__(
        self,
        job: Job,
        spread: Spread = DEFAULT,
        ledger: Ledger | None = None,
        identity: str | None = None,
        attempts: int = 2,
    ) -> None:
        self._job = job._replace(folder=job.folder or os.getcwd())
        self._spread, self._ledger, self._attempts = spread, ledger, attempts
        self._begun = False
        self._pool: Processes | Cluster | None = None  # None for this process
        self._context: Any = None  # in this process
        name = f"{__version__} {job.function.__module__}.{job.function.__qualname__}"
        about = job.shared if identity is None else identity
        self._base = "" if ledger is None else ledger.key(name, about)

    def map(self, tasks: Iterable[Any]) -> Iterator[Outcome]:
        """Yield the outcome of every task in order; tasks are read as workers become free."""
        key = self._ledger.key if self._ledger is not None else lambda *_: ""
        self._tasks = (Task(k, given, key(self._base, given)) for k, given in enumerate(tasks))
        self._more = True
        self._again: deque[Task] = deque()  # not begun, or failed once, or lost with a worker
        self._out: dict[int, Task] = {}  # with workers
        self._done: dict[int, Outcome] = {}  # not given yet, since one before is not done
        self._mean, given = 0.0, 0  # seconds of a task; outcomes
        while self._more or self._again or self._out or self._done:
            self._submit()
            while given in self._done:
                yield self._done.pop(given)
                given += 1
            run, here = partial(outcome_of, self._job, self._context), list(self._out.values())
            for found in self._pool.wait() if self._pool and here else map(run, here):
                self._take(found)

    def _read(self, most: int) -> list[Task]:
        """Return the next tasks that the ledger does not have."""
        read = list(islice(self._tasks, most))
        self._more = len(read) == most
        known = [None if self._ledger is None else self._ledger.get(task.key) for task in read]
        for task, value in zip(read, known, strict=True):
            if value is not None:
                self._done[task.number] = Outcome(task.number, "stored", value, attempts=0)
        return [task for task, value in zip(read, known, strict=True) if value is None]

    def _submit(self) -> None:
        """Give tasks to free workers, which are started when the first task needs one."""
        if not self._begun:
            self._again.extend(self._read(FEW + 1))
            if not self._again:
                return
            self._start(len(self._again) + FEW * self._more)
        for _ in range(len(self._again)):
            task = self._again.popleft()
            if self._free(task.avoid):
                self._give([task])  # alone, since it may end its worker
            else:
                self._again.append(task)
        size = int(self._pool.seconds / self._mean) if self._pool and self._mean else 1
        while self._more and not self._again and self._free(None):
            size = min(max(size, 1), MOST, AHEAD - len(self._out) - len(self._done))
            tasks = self._read(size) if size > 0 else []
            if not tasks:
                return  # the caller takes what there is first
            self._give(tasks)

    def _start(self, count: int) -> None:
        spread, self._begun = self._spread, True
        if spread.is_here(count):
            self._context = self._job.context()
        elif spread.scheduler is not None:
            from engiagent.scale.cluster import Cluster  # Dask takes half a second

            self._pool = Cluster(spread.scheduler, self._job, spread)
        else:
            known = getattr(os, "sched_getaffinity", None)  # the cores that this process may use
            cores = len(known(0)) if known else os.cpu_count() or 1
            self._pool = Processes(min(spread.workers or cores, count), self._job, spread)

    def _free(self, avoid: str | None) -> bool:
        return self._pool.free(avoid) if self._pool else not self._out

    def _give(self, tasks: list[Task]) -> None:
        self._out |= {task.number: task for task in tasks}
        if self._pool:
            self._pool.submit(tasks)

    def _take(self, found: Outcome) -> None:
        task = self._out.pop(found.number)
        if found.kind == "lost":
            self._again.append(task)
        elif found.kind == "failure" and task.attempts < self._attempts:
            self._again.append(task._replace(attempts=task.attempts + 1, avoid=found.worker))
        else:
            self._done[task.number] = found._replace(attempts=task.attempts)
            if found.kind == "value":
                self._mean += (0.1 if self._mean else 1.0) * (found.seconds - self._mean)
                if self._ledger is not None:
                    self._ledger.put(task.key, found.value)

    def close(self) -> None:
        """End what was started."""
        if self._pool:
            self._pool.close()


def map_runs(
    function: Callable[[Any, Any], Any],
    tasks: Iterable[Any],
    spread: Spread = DEFAULT,
    *,
    shared: Any = None,
    setup: Callable[[Any], Any] | None = None,
    ledger: Ledger | None = None,
) -> Iterator[Outcome]:
    """Yield the outcome of ``function(context, task)`` for every task, in the order of the tasks.

    ``setup(shared)`` is called once on each worker and gives the context; without it that is
    ``shared``. Both functions stand at the top of a module.
    """
    with closing(Runs(Job(function, setup, shared), spread, ledger)) as runs:
        yield from runs.map(tasks)
