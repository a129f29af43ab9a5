"""A crash, a hang, a limit or Ctrl-C in a solve is a result with a reason."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from engiagent.errors import EngiagentError
from engiagent.formulations.program import Program
from engiagent.solvers.registry import adapter
from engiagent.solvers.result import Progress, SolveOptions
from engiagent.solvers.solving import solve
from tests.solvers.conformance.cases import CASES
from tests.solvers.programs import dense_quadratic, knapsack, market_split

linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def children(pid: int) -> list[int]:
    """Return the processes that a process started."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        found += [int(word) for word in (task / "children").read_text().split()]
    return found


def holds(matrix_of: "np.ndarray[tuple[int], np.dtype[np.float64]]", n: int = 200) -> bool:
    program = knapsack(n)
    whole = bool(np.all(matrix_of == np.round(matrix_of)))
    return whole and bool(np.all(program.activity_at(matrix_of) <= program.row_upper + 1e-6))


def test_progress_arrives_while_the_solver_runs() -> None:
    seen: list[Progress] = []
    solve(knapsack(), SolveOptions(time_limit=1), on_progress=seen.append)
    assert len(seen) >= 2
    assert [p.elapsed for p in seen] == sorted(p.elapsed for p in seen)
    last = seen[-1]
    assert last.objective is not None
    assert last.bound is not None
    assert last.bound < last.objective


def test_memory_limit() -> None:
    result = solve(knapsack(1000, 500), SolveOptions(memory_limit_mb=15))
    assert result.status == "limit"
    assert "memory limit of 15 MB" in result.reason


@linux
@pytest.mark.parametrize(
    ("backend", "make"),
    [
        ("clarabel", lambda: dense_quadratic(250)),
        ("ipopt", lambda: dense_quadratic(250)),
        ("scip", lambda: dense_quadratic(250)),
        ("scs", lambda: next(case.program for case in CASES if case.name == "SOCP: disk")),
    ],
    ids=lambda item: item if isinstance(item, str) else "",
)
def test_a_memory_limit_is_never_a_hang(backend: str, make: Callable[[], Program]) -> None:
    """Their libraries wait for ever when they are refused memory at the first use."""
    if adapter(backend).missing():
        pytest.skip("not installed")
    cancel = threading.Event()
    timer = threading.Timer(30.0, cancel.set)
    timer.start()
    result = solve(make(), SolveOptions(backend=backend, memory_limit_mb=12), cancel=cancel)
    timer.cancel()
    assert result.status in ("optimal", "limit", "feasible"), result.reason
    assert result.reason == "optimal" or "memory limit of 12 MB" in result.reason


def test_memory_limit_needs_a_process() -> None:
    with pytest.raises(EngiagentError, match="process of its own"):
        solve(knapsack(), SolveOptions(memory_limit_mb=100), isolate=False)


@pytest.mark.parametrize("isolate", [True, False])
def test_cancel_from_another_thread(isolate: bool) -> None:
    cancel = threading.Event()
    timer = threading.Timer(1.0, cancel.set)
    timer.start()
    started = time.monotonic()
    result = solve(knapsack(), isolate=isolate, cancel=cancel)
    timer.join()
    assert time.monotonic() - started < 5
    assert result.status == "interrupted"
    assert result.x is not None
    assert holds(result.x)
    assert result.bound is not None


@linux
def test_a_killed_worker_is_a_result_and_its_best_schedule_is_kept() -> None:
    def kill(progress: Progress) -> None:
        if progress.objective is not None and progress.elapsed > 0.5:
            for pid in children(os.getpid()):
                os.kill(pid, signal.SIGKILL)

    result = solve(knapsack(), on_progress=kill)
    assert result.status == "error"
    assert "killed by signal 9 (out of memory?)" in result.reason
    assert result.x is not None
    assert holds(result.x)


@linux
def test_a_worker_that_hangs_is_ended_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    from engiagent.solvers import isolation

    monkeypatch.setattr(isolation, "LIMIT_GRACE", 0.5)
    monkeypatch.setattr(isolation, "STOP_GRACE", 0.5)

    def freeze(progress: Progress) -> None:
        for pid in children(os.getpid()):
            os.kill(pid, signal.SIGSTOP)

    started = time.monotonic()
    result = solve(market_split(), SolveOptions(time_limit=1), on_progress=freeze)
    assert time.monotonic() - started < 5
    assert result.status == "limit"
    assert "time limit of 1 s enforced from outside" in result.reason


ROOT = Path(__file__).parents[2]
BESIDE = os.pathsep.join([str(ROOT), str(ROOT / "tests" / "solvers")])
"""Where a script finds engiagent and ``programs``; an installed package may be named ``tests``."""

SCRIPT = """
import os, signal, sys, threading
from engiagent.solvers.solving import solve
from programs import knapsack
# No guard of the main module and a thread that is running: neither may matter.
threading.Thread(target=threading.Event().wait, daemon=True).start()
def ready(progress):
    if progress.objective is not None:
        print("ready", flush=True)
result = solve(knapsack(), on_progress=ready)
print(result.status, result.x is not None, flush=True)
"""


def run_script(folder: Path) -> "subprocess.Popen[str]":
    script = folder / "plan.py"
    script.write_text(SCRIPT)
    return subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": BESIDE},
        start_new_session=True,
    )


def test_ctrl_c_in_a_script_returns_the_best_schedule(tmp_path: Path) -> None:
    with run_script(tmp_path) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        os.killpg(process.pid, signal.SIGINT)
        lines = process.stdout.read().splitlines()
    assert lines[-1] == "interrupted True"
    assert process.returncode == 0


FORKED = """
import os, time
from engiagent.solvers.solving import solve
from programs import knapsack
assert solve(knapsack(10, 1), isolate=False).status == "optimal"
child = os.fork()
if child == 0:
    os._exit(solve(knapsack(10, 2), isolate=False).status != "optimal")
for _ in range(100):
    done, code = os.waitpid(child, os.WNOHANG)
    if done:
        print("ended", code)
        break
    time.sleep(0.1)
else:
    os.kill(child, 9)
    print("hangs")
"""


@linux
def test_a_forked_process_solves_as_its_parent_did() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORKED],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": BESIDE},
    )
    assert done.stdout == "ended 0\n"


@linux
def test_the_worker_dies_with_its_parent(tmp_path: Path) -> None:
    with run_script(tmp_path) as process:
        assert process.stdout is not None
        process.stdout.readline()
        (worker,) = children(process.pid)
        process.kill()
    for _ in range(50):
        if not Path(f"/proc/{worker}").exists():
            return
        time.sleep(0.1)
    pytest.fail("the worker outlived its parent by 5 s")
