"""Runs that end before their time: by a limit, a signal or a crash."""

import contextlib
import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from engiagent.agents.runs import solve_blueprint
from engiagent.run.folder import read_record
from engiagent.solvers.result import Progress
from engiagent.solvers.solution import load_solution
from tests.cli import blueprints
from tests.cli.asking import answer, invoke, linux


def test_a_time_limit_without_a_schedule_exits_with_5_and_says_so(tmp_path: Path) -> None:
    path = blueprints.market_split(tmp_path / "split.json")
    started = time.monotonic()
    result = invoke("solve", path, "--out", tmp_path / "run", "--time-limit", 1, "--json")
    assert time.monotonic() - started < 10
    assert result.exit_code == 5, result.stderr
    assert answer(result)["error"].startswith("time limit of 1 s reached after ")
    record = read_record(tmp_path / "run")
    assert (record["state"], record["verdict"]) == ("done", "undecided")
    assert "time limit of 1 s" in record["reason"]


def test_a_memory_limit_is_a_limit(tmp_path: Path) -> None:
    path = blueprints.knapsack(tmp_path / "knapsack.json", 300, 100)
    result = invoke("solve", path, "--out", tmp_path / "run", "--memory-limit", 1)
    assert result.exit_code == 5, result.stderr
    assert "memory limit of 1 MB reached" in read_record(tmp_path / "run")["reason"]


@linux
def test_a_killed_worker_leaves_a_folder_that_says_so(tmp_path: Path) -> None:
    def kill(progress: Progress) -> None:
        for task in Path("/proc/self/task").iterdir():
            for pid in (task / "children").read_text().split():
                os.kill(int(pid), signal.SIGKILL)

    path = blueprints.market_split(tmp_path / "split.json")
    outcome = solve_blueprint(path, tmp_path / "run", on_progress=kill)
    assert outcome.verdict == "undecided"
    record = read_record(tmp_path / "run")
    assert record["state"] == "done"
    assert "killed by signal 9" in record["reason"]
    assert (tmp_path / "run/report.html").is_file()


def obey_interrupts() -> None:
    """Undo what a shell does to a background job, whose children would ignore Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextmanager
def start(path: Path, out: Path, seconds: float = 0.5) -> Iterator["subprocess.Popen[str]"]:
    """Start a long solve and yield it when its solver has been at work for some seconds."""
    with subprocess.Popen(
        [sys.executable, "-m", "engiagent", "solve", str(path), "--out", str(out), "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=obey_interrupts,
    ) as process:
        try:
            for _ in range(300):
                trace = out / "trace.jsonl"
                if trace.is_file() and '"solve", "event": "start"' in trace.read_text():
                    break
                time.sleep(0.05)
            else:
                pytest.fail("the solve did not start within 15 s")
            time.sleep(seconds)
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_exits_with_130_and_its_folder_says_so(
    tmp_path: Path, number: signal.Signals
) -> None:
    path = blueprints.market_split(tmp_path / "split.json")
    with start(path, tmp_path / "run") as process:
        os.killpg(process.pid, number)
        stdout, stderr = process.communicate(timeout=20)
    assert process.returncode == 130, stderr
    assert "Traceback" not in stderr
    assert json.loads(stdout)["error"].startswith("interrupted")
    record = read_record(tmp_path / "run")
    assert record["state"] == "interrupted"
    assert record["finished"] is not None


def test_an_interrupted_run_keeps_its_best_schedule(tmp_path: Path) -> None:
    path = blueprints.knapsack(tmp_path / "knapsack.json")
    with start(path, tmp_path / "run", 2.5) as process:
        os.killpg(process.pid, signal.SIGINT)
        stdout, _ = process.communicate(timeout=20)
    assert process.returncode == 130
    assert json.loads(stdout)["verdict"] == "feasible"
    assert read_record(tmp_path / "run")["state"] == "interrupted"
    assert load_solution(tmp_path / "run/solution.nc").attrs["status"] == "interrupted"


def test_a_run_that_is_killed_outright_still_says_how_far_it_came(tmp_path: Path) -> None:
    path = blueprints.market_split(tmp_path / "split.json")
    with start(path, tmp_path / "run") as process:
        process.kill()
        process.wait(timeout=20)
    record = read_record(tmp_path / "run")
    assert (record["state"], record["stage"]) == ("running", "solve")


def test_a_time_limit_with_a_schedule_is_feasible_and_progress_is_on_the_terminal(
    tmp_path: Path,
) -> None:
    path = blueprints.knapsack(tmp_path / "knapsack.json")
    options = ["--out", str(tmp_path / "run"), "--time-limit", "1", "--json"]
    command = [sys.executable, "-m", "engiagent", "solve", str(path), *options]
    leader, follower = pty.openpty()
    with (tmp_path / "out").open("w") as out:
        process = subprocess.Popen(command, stdout=out, stderr=follower)
    os.close(follower)
    shown = b""
    with contextlib.suppress(OSError):  # so a terminal ends
        while part := os.read(leader, 4096):
            shown += part
    os.close(leader)
    assert process.wait(timeout=60) == 0
    found = json.loads((tmp_path / "out").read_text())
    assert found["verdict"] == "feasible"
    assert found["bound"] > found["objective"]["value"]
    assert "time limit of 1 s" in read_record(tmp_path / "run")["reason"]
    assert "solve …" in shown.decode()
    assert "best" in shown.decode()  # nodes come late on a busy machine
