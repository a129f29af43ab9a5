"""Tasks for the tests: workers import this module."""

import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np

from engiagent.errors import EngiagentError


def square(context: Any, task: int) -> float:
    return (context or 0) + task**2


def table(shared: tuple[int, int]) -> Any:
    return np.random.default_rng(shared[0]).normal(size=shared[1])


def weighted(values: Any, task: int) -> list[float]:
    found = np.sin(values * task)
    return list(np.append(found[:5], found.sum() + found @ values).tolist())


def mark(folder: str, task: Any) -> Any:
    """Leave a file for each time a task runs, then do as it says."""
    number, what = task
    with open(Path(folder) / f"{number}", "a") as file:
        file.write("x")
    runs = (Path(folder) / f"{number}").stat().st_size
    if what == "kill" or (what == "kill once" and runs == 1):
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "exit":
        os._exit(3)
    if what == "hang":
        time.sleep(60)
    if what == "memory":
        return len(np.ones(int(4e9)))
    if what == "raise":
        raise ZeroDivisionError("by nought")
    if what == "refuse":
        raise EngiagentError("no such thing")
    if what == "slow":
        time.sleep(0.05)
    return number


def fails(shared: Any) -> Any:
    raise EngiagentError(f"cannot set up {shared}")
