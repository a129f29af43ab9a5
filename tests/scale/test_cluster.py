"""A real scheduler of Dask with two worker processes on loopback."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engiagent.errors import InputError
from engiagent.scale import Ledger, Spread, map_runs
from engiagent.scale.work import require_same
from tests.scale.work import mark, square, table, weighted

pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, list[int]]]:
    """Give the scheduler's file and the process ids of the workers."""
    folder = tmp_path_factory.mktemp("dask")
    file = folder / "scheduler.json"
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path.cwd()), *sys.path])}
    common = {"env": env, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    dask = [sys.executable, "-m", "distributed.cli"]
    scheduler = [f"{dask[2]}.dask_scheduler", "--host", "127.0.0.1", "--port", "0"]
    worker = [f"{dask[2]}.dask_worker", "--nthreads", "1", "--memory-limit", "0", "--no-dashboard"]
    where = ["--scheduler-file", str(file)]
    begun = [
        subprocess.Popen([*dask[:2], *scheduler, "--no-dashboard", *where], **common)  # type: ignore[call-overload]
    ]
    try:
        while not file.exists():
            time.sleep(0.05)
        local = ["--local-directory", str(folder), "--no-nanny"]
        for _ in range(2):
            begun.append(subprocess.Popen([*dask[:2], *worker, *local, *where], **common))  # type: ignore[call-overload]
        yield file, [process.pid for process in begun[1:]]
    finally:
        for process in reversed(begun):
            process.kill()
            process.wait()


def test_results_are_those_of_a_serial_run(cluster: tuple[Path, list[int]], tmp_path: Path) -> None:
    file, _ = cluster
    address = json.loads(file.read_text())["address"]
    given: Any = {"setup": table, "shared": (7, 999)}
    serial = list(map_runs(weighted, range(200), spread=Spread(workers=0), **given))
    for scheduler in (str(file), address):
        with Ledger(tmp_path / "ledger.sqlite") as ledger:
            more = given | {"spread": Spread(scheduler), "ledger": ledger}
            found = list(map_runs(weighted, range(200), **more))
        assert [o.value for o in found] == [o.value for o in serial]
    assert all(o.kind == "stored" for o in found)


def test_what_ends_a_task_does_not_end_its_dask_worker(
    cluster: tuple[Path, list[int]], tmp_path: Path
) -> None:
    file, _ = cluster
    kinds = ["good", "kill", "hang", "raise", "refuse", "kill once", "good"]
    found = list(
        map_runs(
            *(mark, list(enumerate(kinds))),
            shared=str(tmp_path),
            spread=Spread(str(file), seconds=2.0),
        )
    )
    words = ["", "SIGKILL", "no answer within 2 s", "ZeroDivisionError", "no such thing", "", ""]
    assert all(word in o.reason for word, o in zip(words, found, strict=True))
    assert [o.ok for o in found] == [not word for word in words]
    assert [o.attempts for o in found] == [1, 2, 2, 2, 1, 2, 1]


def test_the_tasks_of_a_dask_worker_that_is_killed_are_done_by_the_other(
    cluster: tuple[Path, list[int]], tmp_path: Path
) -> None:
    file, pids = cluster
    found = []
    tasks = [(k, "slow") for k in range(80)]
    for outcome in map_runs(mark, tasks, shared=str(tmp_path), spread=Spread(str(file))):
        found.append(outcome)
        if len(found) == 20:
            os.kill(pids[1], 9)
    assert [o.value for o in found] == list(range(80))


def test_workers_with_other_versions_are_refused_by_name() -> None:
    own = {"engiagent": "1.0", "highspy": "1.15", "scs": "absent"}
    with pytest.raises(
        InputError, match=r"tcp://b has highspy 1\.14, not 1\.15, scs 3, not absent"
    ):
        require_same(own, "tcp://b", {**own, "highspy": "1.14", "scs": "3"})
    require_same(own, "tcp://a", own)


@pytest.mark.parametrize(
    ("scheduler", "words"),
    [("local:0", "no such scheduler"), ("nowhere.json", "no such scheduler")],
)
def test_wrong_schedulers_are_refused(scheduler: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        list(map_runs(square, [1], spread=Spread(scheduler)))
