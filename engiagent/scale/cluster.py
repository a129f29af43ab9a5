"""Workers of ``dask.distributed``.

Each Dask worker runs its tasks in a process below it: what ends that process is an outcome. What
ends the Dask worker itself is left to Dask, which gives its tasks to another one.
"""

import contextlib
import queue
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from engiagent.errors import EngiagentError, InputError
from engiagent.scale.mapping import Runs
from engiagent.scale.processes import POLL
from engiagent.scale.work import Job, Outcome, Spread, Task, require_same, versions

PATIENCE: Final = 30.0  # seconds for a scheduler to answer and a first worker to be there
MESSAGES: Final = 256  # that the scheduler has at once, to be given to whoever is free
EXPECTED: Final = "tcp://HOST:PORT, a scheduler file, or local:N"
_HERE = threading.local()


def run_chunk(
    job: Job, tasks: list[Task], mark: str, spread: Spread, own: dict[str, str]
) -> list[Outcome]:
    """Run tasks on a Dask worker, in its process for this job; called by Dask."""
    from distributed import get_worker

    worker = get_worker().address
    if getattr(_HERE, "mark", None) != mark:
        require_same(own, worker, versions())
        if hasattr(_HERE, "runs"):
            _HERE.runs.close()
        here = replace(spread, scheduler=None, workers=1)
        _HERE.mark, _HERE.runs = mark, Runs(job, here, attempts=1)
    found = zip(tasks, _HERE.runs.map(task.given for task in tasks), strict=True)
    return [outcome._replace(number=task.number, worker=worker) for task, outcome in found]


class Cluster:
    """The workers of a scheduler."""

    seconds = 0.2  # a task of Dask costs 1.6 ms

    def __init__(self, address: str, job: Job, spread: Spread) -> None:
        self._came: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._futures: dict[Any, list[Task]] = {}
        kind, _, count = address.partition(":")
        where: Any = {"address": address}
        if kind == "local" and count.isdigit() and int(count):
            where = {"threads_per_worker": 1, "memory_limit": 0, "dashboard_address": None}
            where["n_workers"] = int(count)
        elif Path(address).is_file():
            where = {"scheduler_file": address}
        elif "://" not in address:
            raise InputError("no such scheduler", found=address, expected=EXPECTED)
        try:
            from distributed import Client

            self._client: Any = Client(timeout=PATIENCE, set_as_default=False, **where)
            self._client.wait_for_workers(1, timeout=PATIENCE)
        except ModuleNotFoundError:
            expected = 'pip install "engiagent[scale]"'
            raise InputError("--scheduler needs dask.distributed", expected=expected) from None
        except (OSError, TimeoutError) as error:
            text = f"no scheduler with workers answers: {str(error).splitlines()[0][:200]}"
            raise InputError(text, found=address, expected=EXPECTED) from None
        # In a list, lest it be taken for many things to be scattered.
        [self._job] = self._client.scatter([job], broadcast=True, hash=False)
        self._more = (uuid4().hex, spread, versions())

    def free(self, avoid: str | None) -> bool:
        """Whether the scheduler takes another message."""
        return len(self._futures) < MESSAGES

    def submit(self, tasks: Sequence[Task]) -> None:
        """Give tasks to the cluster, away from the worker to avoid."""
        avoid = tasks[0].avoid
        others = [name for name in self._client.nthreads() if name != avoid] if avoid else []
        where: Any = {"workers": others, "allow_other_workers": True} if others else {}
        given = (run_chunk, self._job, list(tasks), *self._more)
        future = self._client.submit(*given, pure=False, **where)
        self._futures[future] = list(tasks)
        future.add_done_callback(self._came.put)

    def wait(self) -> Iterator[Outcome]:
        """Yield what has come in; wait a moment for it."""
        from distributed import CancelledError, KilledWorker

        with contextlib.suppress(queue.Empty):
            future = self._came.get(timeout=POLL)
            tasks = self._futures.pop(future)
            try:
                yield from future.result()
            except KilledWorker as error:  # Dask gave it to several workers, all of which ended
                name, reason = error.last_worker.address, "the Dask workers that had it ended"
                yield from (Outcome(t.number, "failure", None, reason, name) for t in tasks)
            except (CancelledError, OSError) as error:
                raise EngiagentError(f"the scheduler has gone: {error}") from None

    def close(self) -> None:
        """Leave the scheduler; end what was started here."""
        for future in self._futures:
            future.cancel()
        self._client.close()
