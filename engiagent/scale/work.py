"""What travels to workers and back."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from platform import python_version
from typing import Any, Final, Literal, NamedTuple

from engiagent import __version__
from engiagent.errors import EngiagentError, InputError

DECIDING: Final = ("highspy", "numpy", "scipy", "pyscipopt", "piqp", "clarabel", "osqp", "scs")
"""Packages of which another version may give other numbers."""
FEW: Final = 16
"""Up to so many tasks run in this process; starting workers takes a second."""
Kind = Literal["value", "error", "failure", "lost"]


@dataclass(frozen=True)
class Spread:
    """Where many runs go; any limit, and any number of workers, takes processes."""

    scheduler: str | None = None  # tcp://…, a scheduler file, or local:N, of dask.distributed
    # processes on this machine; by default this process for few tasks and else one process a core;
    # 0 is always this process
    workers: int | None = None
    seconds: float | None = None  # that a task may take
    memory_mb: float | None = None  # that a task may take, beyond what its worker has before

    def __post_init__(self) -> None:
        if self.workers is not None and (self.workers < 0 or self.scheduler is not None):
            found = f"{self.workers} and {self.scheduler}"
            expected = "a number of processes, at least 0, or a scheduler, which exclude each other"
            raise InputError("wrong workers or scheduler", found=found, expected=expected)
        if self.workers == 0 and self.is_limited:
            raise InputError("limits need processes", found="workers = 0", expected="at least 1")

    @property
    def is_limited(self) -> bool:
        """Whether a task has limits."""
        return self.seconds is not None or self.memory_mb is not None

    def is_here(self, count: int) -> bool:
        """Whether so many tasks run one after the other in this process."""
        return self.workers == 0 or (count <= FEW and self == Spread())


class Job(NamedTuple):
    """What all tasks of a map have in common."""

    function: Callable[[Any, Any], Any]
    setup: Callable[[Any], Any] | None
    shared: Any

    def context(self) -> Any:
        """Return what the function is called with besides each task."""
        return self.shared if self.setup is None else self.setup(self.shared)


class Task(NamedTuple):
    """One task: its place in the order of results, its input and how often it was tried."""

    number: int
    given: Any
    key: str = ""  # under which a ledger has its value
    attempts: int = 0
    avoid: str | None = None  # the worker on which it failed


class Answer(NamedTuple):
    """What became of a task on a worker.

    ``error``: an :class:`EngiagentError`, which another try would give again. ``failure``: a crash,
    a hang, a signal, memory. ``lost``: never begun, since its worker ended before.
    """

    number: int
    kind: Kind
    value: Any = None
    reason: str = ""
    worker: str = ""
    seconds: float = 0.0


def answer(job: Job, context: Any, task: Task, worker: str) -> Answer:
    """Return the value of a task, or why there is none."""
    begun = time.perf_counter()
    kind: Kind = "failure"
    try:
        value = job.function(context, task.given)
        return Answer(task.number, "value", value, "", worker, time.perf_counter() - begun)
    except EngiagentError as error:
        kind, reason = "error", str(error)
    except MemoryError:
        reason = "out of memory"
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
    return Answer(task.number, kind, None, reason, worker)


def versions() -> dict[str, str]:
    """Return the versions that decide on results, of what is installed here."""
    found = {"engiagent": __version__, "python": python_version()}
    for name in DECIDING:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def require_same(own: dict[str, str], worker: str, theirs: dict[str, str]) -> None:
    """Raise InputError that names a worker with other versions than the driver's."""
    names = [name for name in sorted({*own, *theirs}) if own.get(name) != theirs.get(name)]
    differ = (f"{n} {theirs.get(n, 'absent')}, not {own.get(n, 'absent')}" for n in names)
    if names:
        raise InputError(
            "a worker has other versions, so that its results could differ",
            found=f"{worker} has {', '.join(differ)}",
            expected="the same environment on every worker",
        )
