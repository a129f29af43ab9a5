"""What travels to workers and back."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import distributions
from platform import python_version
from typing import Any, Final, Literal, NamedTuple

from engiagent import __version__
from engiagent.errors import EngiagentError, InputError

FEW: Final = 16  # up to so many tasks run in this process; starting workers takes a second
DECIDING: Final = ("highspy", "numpy", "scipy", "pyscipopt", "piqp", "clarabel", "osqp", "scs")
"""Packages of which another version may give other numbers."""


@dataclass(frozen=True)
class Spread:
    """Where many runs go; any limit, and any number of workers, takes processes."""

    scheduler: str | None = None  # tcp://…, a scheduler file, or local:N, of dask.distributed
    workers: int | None = None  # processes here; by default one a core for many tasks; 0 for none
    seconds: float | None = None  # that a task may take
    memory_mb: float | None = None  # that a task may take, beyond what its worker has before

    def __post_init__(self) -> None:
        limited = self.seconds is not None or self.memory_mb is not None
        if (self.workers is not None and self.scheduler) or (self.workers == 0 and limited):
            found = f"workers {self.workers}, scheduler {self.scheduler}" + ", a limit" * limited
            raise InputError("exclude each other", found=found, expected="one; for limits 1 worker")

    def is_here(self, count: int) -> bool:
        """Whether so many tasks run one after the other in this process."""
        return self.workers == 0 or (count <= FEW and self == DEFAULT)


DEFAULT: Final = Spread()


class Job(NamedTuple):
    """What all tasks of a map have in common."""

    function: Callable[[Any, Any], Any]  # of the context and a task
    setup: Callable[[Any], Any] | None = None  # gives the context, once on each worker
    shared: Any = None  # what is set up, or without a set-up the context
    folder: str = ""  # the caller's, which paths of tasks are relative to

    def context(self) -> Any:
        """Return what the function is called with besides each task."""
        return self.shared if self.setup is None else self.setup(self.shared)


class Task(NamedTuple):
    """One task: its place in the order of results, its input and how often it was tried."""

    number: int
    given: Any
    key: str = ""  # under which a ledger has its value
    attempts: int = 1
    avoid: str | None = None  # the worker on which it failed


class Outcome(NamedTuple):
    """What became of a task.

    ``stored``: a ledger had the value. ``error``: an EngiagentError, which another try would give
    again. ``failure``: a crash, a hang, a signal, memory. ``lost``: never begun.
    """

    number: int
    kind: Literal["value", "stored", "error", "failure", "lost"]
    value: Any = None
    reason: str = ""  # why there is no value
    worker: str = ""
    seconds: float = 0.0
    attempts: int = 1

    @property
    def ok(self) -> bool:
        """Whether there is a value."""
        return self.kind in ("value", "stored")


def outcome_of(job: Job, context: Any, task: Task) -> Outcome:
    """Run a task."""
    begun = time.perf_counter()
    try:
        value = job.function(context, task.given)
        return Outcome(task.number, "value", value, seconds=time.perf_counter() - begun)
    except EngiagentError as error:
        return Outcome(task.number, "error", None, str(error) or "no reason given")
    except MemoryError:
        return Outcome(task.number, "failure", None, "out of memory")
    except Exception as error:
        return Outcome(task.number, "failure", None, f"{type(error).__name__}: {error}")


def versions() -> dict[str, str]:
    """Return the versions that decide on results, of what is installed here."""
    known = {found.name.lower(): found.version for found in distributions()}
    found = {name: known.get(name, "absent") for name in DECIDING}
    return {"engiagent": __version__, "python": python_version(), **found}


def require_same(own: dict[str, str], worker: str, theirs: dict[str, str]) -> None:
    """Raise InputError that names a worker with other versions than the driver's."""
    differ = [f"{name} {theirs[name]}, not {v}" for name, v in own.items() if theirs[name] != v]
    if differ:
        text, expected = "a worker has other versions", "the same environment on every worker"
        raise InputError(text, found=f"{worker} has {', '.join(differ)}", expected=expected)
