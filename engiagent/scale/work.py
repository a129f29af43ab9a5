"""What travels to workers and back, as bytes that are the same wherever a task runs.

Function, set-up and shared inputs are pickled once into a :class:`Job`; each task and each value is
pickled on its own. Arrays therefore arrive aligned: those that Dask scatters may not be, and sums
over them then differ in the last bits.
"""

import pickle
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from platform import python_version
from typing import Any, Final, Literal

from engiagent import __version__
from engiagent.errors import EngiagentError, InputError

PROTOCOL: Final = 5
DECIDING: Final = ("highspy", "numpy", "scipy", "pyscipopt", "piqp", "clarabel", "osqp", "scs")
"""Packages of which another version may give other numbers."""

Function = Callable[[Any, Any], Any]
Kind = Literal["value", "error", "failure", "lost"]


@dataclass(frozen=True)
class Limits:
    """What a task may take; where one is set, tasks run in processes."""

    seconds: float | None = None  # of one task
    memory_mb: float | None = None  # beyond what a worker has after its set-up


@dataclass(frozen=True)
class Task:
    """One task: its place in the order of results, its pickled input and how often it was tried."""

    index: int
    key: str
    data: bytes
    attempts: int = 0
    avoid: str | None = None  # the worker on which it failed

    def after(self, worker: str) -> "Task":
        """Return the task as it is tried once more."""
        return replace(self, attempts=self.attempts + 1, avoid=worker)


@dataclass(frozen=True)
class Answer:
    """What became of a task on a worker.

    ``error``: an :class:`EngiagentError`, which another try would give again. ``failure``: a crash,
    a hang, a signal, memory. ``lost``: never begun, since its worker ended before.
    """

    index: int
    kind: Kind
    data: bytes = b""
    reason: str = ""
    worker: str = ""
    seconds: float = 0.0


class Job:
    """What all tasks of one map share, as bytes, and the hash that names it."""

    def __init__(
        self, function: Function, setup: Callable[[Any], Any] | None, shared: Any, identity: str
    ) -> None:
        for item in filter(None, (function, setup)):
            if item.__module__ == "__main__" or "<" in item.__qualname__:
                raise InputError(
                    f"{item.__qualname__} cannot be sent to workers",
                    found=f"a function of {item.__module__}",
                    expected="one at the top of a module that workers can import",
                )
        self.data = pickle.dumps((function, setup, shared), PROTOCOL)
        name = f"{__version__} {function.__module__}.{function.__qualname__} {identity}"
        self.sha256 = sha256(name.encode() + (b"" if identity else self.data)).hexdigest()

    def key(self, task: bytes) -> str:
        """Return the hash of a task and of all that it shares with others."""
        return sha256(self.sha256.encode() + task).hexdigest()


class Runner:
    """A job on a worker, set up once."""

    def __init__(self, data: bytes) -> None:
        self.function, setup, shared = pickle.loads(data)
        self.context = shared if setup is None else setup(shared)

    def run(self, task: Task, worker: str) -> Answer:
        """Return the value of a task, or why there is none."""
        begun = time.perf_counter()
        kind: Kind = "value"
        data, reason = b"", ""
        try:
            data = pickle.dumps(self.function(self.context, pickle.loads(task.data)), PROTOCOL)
        except EngiagentError as error:
            kind, reason = "error", str(error)
        except MemoryError:
            kind, reason = "failure", "out of memory"
        except Exception as error:
            kind, reason = "failure", f"{type(error).__name__}: {error}"
        return Answer(task.index, kind, data, reason, worker, time.perf_counter() - begun)


def versions() -> dict[str, str]:
    """Return the versions that decide on results, of what is installed here."""
    found = {"engiagent": __version__, "python": python_version()}
    for name in DECIDING:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def require_same(here: dict[str, str], there: dict[str, dict[str, str]]) -> None:
    """Raise InputError that names every worker with other versions than the driver's."""
    wrong = []
    for worker, theirs in sorted(there.items()):
        names = [n for n in sorted({*here, *theirs}) if here.get(n) != theirs.get(n)]
        differ = (f"{n} {theirs.get(n, 'absent')}, not {here.get(n, 'absent')}" for n in names)
        wrong += [f"{worker} has {', '.join(differ)}"] if names else []
    if wrong:
        raise InputError(
            "workers have other versions, so that their results could differ",
            found="; ".join(wrong),
            expected="the same environment on every worker",
        )
