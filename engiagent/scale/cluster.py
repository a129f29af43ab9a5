"""Workers of ``dask.distributed``.

Each Dask worker runs its tasks in a process of its own below it, by :class:`Processes`: what ends
that process, or the time limit, is an answer, and the Dask worker lives on. What ends the Dask
worker itself is left to Dask, which gives its tasks to another one.
"""

import contextlib
import math
import os
import queue
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from engiagent.errors import EngiagentError, InputError
from engiagent.scale.processes import POLL, Processes
from engiagent.scale.work import Answer, Job, Limits, Task, require_same, versions

PATIENCE: Final = 30.0
"""Seconds for a scheduler to answer and a first worker to be there."""
EXPECTED: Final = "tcp://HOST:PORT, a scheduler file, or local:N"
_HERE = threading.local()


def run_chunk(
    data: bytes, mark: str, tasks: list[Task], limits: Limits, folder: str, own: dict[str, str]
) -> list[Answer]:
    """Run tasks on a Dask worker, in its process for this job; called by Dask."""
    from distributed import get_worker

    worker = get_worker().address
    require_same(own, {worker: versions()})  # it may have joined after the others
    if getattr(_HERE, "mark", None) != (mark, limits):
        if hasattr(_HERE, "pool"):
            _HERE.pool.close()
        _HERE.mark, _HERE.pool = (mark, limits), Processes(1, data, limits, worker, folder)
    pool: Processes = _HERE.pool
    missing = {task.index: task for task in tasks}
    found: list[Answer] = []
    pool.submit(tasks)
    while missing:
        for answer in pool.wait():
            if answer.kind == "lost":  # begin again with it in the process that follows
                continue
            del missing[answer.index]
            found.append(Answer(**{**answer.__dict__, "worker": worker}))
        if missing and pool.free(None):
            pool.submit(list(missing.values()))
    return found


class Cluster:
    """The workers of a scheduler."""

    target_seconds = 0.2  # a task of Dask costs 1.6 ms

    def __init__(self, address: str, job: Job, limits: Limits) -> None:
        try:
            from distributed import Client
        except ModuleNotFoundError:
            expected = 'pip install "engiagent[scale]"'
            raise InputError("--scheduler needs dask.distributed", expected=expected) from None
        self._job, self._limits, self._own = job, limits, versions()
        self._came: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._cluster: Any = None
        self._known: dict[str, int] = {}
        self._asked = -math.inf
        self._futures: dict[Any, list[Task]] = {}
        where = self._where(address)
        try:
            self._client: Any = Client(timeout=PATIENCE, set_as_default=False, **where)
            self._client.wait_for_workers(1, timeout=PATIENCE)
        except (OSError, TimeoutError) as error:
            text = str(error).split("\n")[0][:200]
            raise InputError(
                f"no scheduler with workers answers: {text}", found=address, expected=EXPECTED
            ) from None
        try:
            require_same(self._own, self._client.run(versions))
            self._data = self._client.scatter(job.data, broadcast=True, hash=False)
        except BaseException:
            self.close()
            raise

    def _where(self, address: str) -> dict[str, Any]:
        kind, _, count = address.partition(":")
        if kind == "local":
            if not count.isdigit() or int(count) < 1:
                raise InputError("wrong number of workers", found=address, expected="local:2")
            from distributed import LocalCluster

            self._cluster = LocalCluster(
                n_workers=int(count), threads_per_worker=1, memory_limit=0, dashboard_address=None
            )
            return {"address": self._cluster}
        if "://" in address:
            return {"address": address}
        if not Path(address).is_file():
            raise InputError("no such scheduler file", found=address, expected=EXPECTED)
        return {"scheduler_file": address}

    def _threads(self) -> dict[str, int]:
        """Return the threads of each worker; asking takes milliseconds, so once a second."""
        if time.monotonic() - self._asked > 1.0:
            self._known, self._asked = dict(self._client.nthreads()), time.monotonic()
        return self._known

    def free(self, avoid: str | None) -> bool:
        """Whether there is a worker with less than two messages to work on."""
        return len(self._futures) < 2 * max(sum(self._threads().values()), 1)

    def submit(self, tasks: Sequence[Task]) -> None:
        """Give tasks to the cluster, away from the worker to avoid."""
        avoid = tasks[0].avoid
        others = [name for name in self._threads() if name != avoid] if avoid else []
        where = {"workers": others, "allow_other_workers": True} if others else {}
        future = self._client.submit(
            *(run_chunk, self._data, self._job.sha256, list(tasks), self._limits),
            *(os.getcwd(), self._own),
            pure=False,
            **where,
        )
        self._futures[future] = list(tasks)
        future.add_done_callback(self._came.put)

    def wait(self) -> Iterator[Answer]:
        """Yield what has come in; wait a moment for it."""
        from distributed import CancelledError, KilledWorker

        with contextlib.suppress(queue.Empty):
            future = self._came.get(timeout=POLL)
            tasks = self._futures.pop(future)
            try:
                yield from future.result()
            except KilledWorker as error:
                # Dask gave it to several workers, all of which ended.
                name = getattr(error.last_worker, "address", "")
                for task in tasks:
                    reason = "the Dask workers that had it ended"
                    yield Answer(task.index, "failure", reason=reason, worker=name)
            except (CancelledError, OSError) as error:
                raise EngiagentError(f"the scheduler has gone: {error}") from None

    def close(self) -> None:
        """Leave the scheduler; end what was started here."""
        for future in self._futures:
            future.cancel()
        self._client.close()
        if self._cluster is not None:
            self._cluster.close()
