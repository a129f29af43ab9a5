"""Many runs give what one after the other gives, and whatever ends a task is a result."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from engiagent.errors import EngiagentError, InputError
from engiagent.scale import Ledger, Spread, map_runs
from tests.scale.work import fails, mark, square, table, weighted


@pytest.mark.parametrize("workers", [0, 1, 2, 3, None])
def test_the_order_and_the_bytes_are_those_of_a_serial_run(workers: int | None) -> None:
    given: Any = {"setup": table, "shared": (7, 999)}
    found = list(map_runs(weighted, range(60), spread=Spread(workers=workers), **given))
    serial = [weighted(table((7, 999)), k) for k in range(60)]
    assert [outcome.value for outcome in found] == serial
    assert [outcome.number for outcome in found] == list(range(60))


def test_nothing_is_read_ahead_without_bound() -> None:
    read = []

    def tasks() -> Any:
        for k in range(100_000):
            read.append(k)
            yield k

    found = map_runs(square, tasks(), spread=Spread(workers=0))
    assert next(found).value == 0
    assert len(read) < 100


def test_whatever_ends_a_task_is_a_result_with_a_reason(tmp_path: Path) -> None:
    kinds = ["good", "kill", "exit", "hang", "memory", "raise", "refuse", "kill once", "good"]
    spread = Spread(workers=2, seconds=3.0, memory_mb=2_000)
    tasks = list(enumerate(kinds))
    found = list(map_runs(mark, tasks, shared=str(tmp_path), spread=spread))
    by_kind = dict(zip(kinds, found, strict=True))
    assert {k: o.attempts for k, o in by_kind.items()} == {
        **dict.fromkeys(("kill", "exit", "hang", "memory", "raise", "kill once"), 2),
        **{"good": 1, "refuse": 1},  # its own error comes again whoever tries
    }
    reasons = {
        "kill": "SIGKILL",
        "exit": "ended with code 3",
        "hang": "no answer within 3 s",
        "memory": "out of memory",
        "raise": "ZeroDivisionError: by nought",
        "refuse": "no such thing",
    }
    for kind, reason in reasons.items():
        assert reason in by_kind[kind].reason, kind
    assert by_kind["good"].value == 8
    assert by_kind["kill once"].value == 7
    assert len((tmp_path / "1").read_text()) == 2


def test_a_ledger_does_nothing_twice(tmp_path: Path) -> None:
    tasks = [(k, "raise" if k == 3 else "good") for k in range(10)]
    for workers in (0, 2):
        with Ledger(tmp_path / "ledger.sqlite") as ledger:
            found = list(
                map_runs(
                    *(mark, tasks),
                    shared=str(tmp_path),
                    spread=Spread(workers=workers),
                    ledger=ledger,
                )
            )
        assert [o.value for o in found if o.ok] == [k for k in range(10) if k != 3]
        assert [o.kind == "stored" for o in found] == [workers == 2 and k != 3 for k in range(10)]
    counts = [len((tmp_path / str(k)).read_text()) for k in range(10)]
    assert counts == [1] * 3 + [4] + [1] * 6  # what failed is tried twice by each run
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        other = list(map_runs(mark, tasks[:2], shared=str(tmp_path) + "/", ledger=ledger))
    assert not any(o.kind == "stored" for o in other)  # other inputs are other runs


def test_what_is_stored_does_not_leave_a_long_rest_to_this_process(tmp_path: Path) -> None:
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        list(map_runs(square, range(16), ledger=ledger))
        found = list(map_runs(square, range(60), Spread(workers=None), ledger=ledger))
    assert {o.worker for o in found if o.kind == "value"} <= {f"process {k}" for k in range(99)}


SCRIPT = """
import signal
import sys
from pathlib import Path
from engiagent.scale import Ledger, Spread, map_runs
from tests.scale.work import mark
if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background
    folder, two = sys.argv[1], Spread(workers=2)
    with Ledger(Path(folder) / "ledger.sqlite") as ledger:
        tasks = [(k, "slow") for k in range(60)]
        for found in map_runs(mark, tasks, shared=folder, spread=two, ledger=ledger):
            print(found.value, found.kind == 'stored', flush=True)
"""


def test_ctrl_c_ends_the_workers_and_the_next_run_goes_on(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SCRIPT, str(tmp_path)]
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path.cwd()), *sys.path])}
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
    assert run.stdout is not None
    for _ in range(10):
        run.stdout.readline()
    run.send_signal(signal.SIGINT)
    _, said = run.communicate(timeout=30)
    assert b"KeyboardInterrupt" in said
    time.sleep(0.3)
    counts = {p.name: p.stat().st_size for p in tmp_path.glob("[0-9]*")}
    time.sleep(0.5)
    assert counts == {p.name: p.stat().st_size for p in tmp_path.glob("[0-9]*")}  # none goes on
    again = subprocess.run(command, capture_output=True, env=env, timeout=60, check=True)
    lines = again.stdout.decode().splitlines()
    assert [line.split()[0] for line in lines] == [str(k) for k in range(60)]
    assert sum(line.endswith("True") for line in lines) >= 10
    assert max(p.stat().st_size for p in tmp_path.glob("[0-9]*")) <= 2
    assert sum(p.stat().st_size for p in tmp_path.glob("[0-9]*")) <= 64  # at most what was cut off


def test_wrong_requests_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("no ledger at all, but long enough to be read as one" * 9)
    with pytest.raises(InputError, match="cannot use the ledger"):
        Ledger(tmp_path / "x")
    with pytest.raises(AttributeError, match="Can't pickle local object"):
        list(map_runs(lambda a, b: 1, [1], Spread(workers=1)))
    with pytest.raises(InputError, match="for limits 1 worker"):
        Spread(workers=0, seconds=1)
    with pytest.raises(InputError, match="exclude each other"):
        Spread("local:2", 2)
    with pytest.raises(EngiagentError, match="cannot set up 5"):
        list(map_runs(square, range(3), setup=fails, shared=5, spread=Spread(workers=1)))
    assert list(map_runs(square, [])) == []
