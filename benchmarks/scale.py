"""Many independent runs on this machine, and a fleet under a shared limit against one large LP.

A fleet of homes with batteries of 96 steps each is planned and certified one after the other and
on two workers, with a worker killed half-way, and cut off and resumed; the bytes are compared. The
driver's memory is that of maps of tasks whose values are as large as those of assets (16 kB), which
is a simulation: the assets are not planned. The speed-up means something on an idle machine only.
The large LP is solved by HiGHS's interior-point method, which is its fastest for it, without plans
and certificates.

    python benchmarks/scale.py [--quick] [--json] [--assets N] [--coupled N]
"""

import argparse
import contextlib
import json
import os
import resource
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from engiagent.fleet import Fleet, run_fleet  # noqa: E402
from engiagent.fleet.running import LEDGER, How  # noqa: E402
from engiagent.scale import Outcome, Spread, map_runs  # noqa: E402
from tests.fleet.homes import whole, write  # noqa: E402

STEPS = 96
TINY = 10_000
PAYLOAD = 16_000
LARGE_S = 900.0
"""What the large LP may take."""
Row = dict[str, Any]


def nothing(context: Any, task: int) -> int:
    """Return a task as it is."""
    return task


def bulky(context: Any, task: int) -> bytes:
    """Return as many bytes as the record of an asset has."""
    return task.to_bytes(8, "little") * (PAYLOAD // 8)


def contents(folder: Path) -> dict[str, bytes]:
    """Return all files of a fleet but its ledger."""
    files = [folder / "fleet.json", *folder.glob("*/*.parquet")]
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


def planned(file: Path, out: Path, workers: int) -> tuple[float, float, float]:
    """Plan a fleet; return seconds, and those of processors in this process and its workers."""
    begun, cpu = time.perf_counter(), processors()
    run_fleet(Fleet.load(file), out, How(Spread(workers=workers)))
    driver, others = (now - then for now, then in zip(processors(), cpu, strict=True))
    return time.perf_counter() - begun, driver, others


def processors() -> tuple[float, float]:
    """Return the seconds of processors of this process, and of children that have ended."""
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    own, others = (sum(resource.getrusage(kind)[:2]) for kind in kinds)
    return own, others


def with_a_killed_worker(file: Path, out: Path, count: int) -> int:
    """Plan a fleet on two workers, one of which is killed half-way; return the assets lost."""
    killed: list[int] = []

    def kill(text: str) -> None:
        if killed or int(text.split()[0]) < count // 2:
            return
        listed = subprocess.run(
            ["ps", "-o", "pid=,args=", "--ppid", str(os.getpid())], capture_output=True, text=True
        ).stdout.splitlines()
        workers = [int(line.split()[0]) for line in listed if "engiagent.scale.worker" in line]
        os.kill(workers[0], signal.SIGKILL)
        killed.append(workers[0])

    found = run_fleet(Fleet.load(file), out, How(Spread(workers=2), on_text=kill))
    assert killed
    return len(found["unanswered"])


def cut_and_resumed(file: Path, out: Path, count: int) -> None:
    """Begin a fleet as a command, interrupt it when a third is done, and go on."""
    command = [sys.executable, "-m", "engiagent", "fleet", str(file), "--out", str(out)]
    command += ["--workers", "2", "--quiet"]
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    heeds = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # not so in the background
    run = subprocess.Popen(command, env=env, stderr=subprocess.DEVNULL, preexec_fn=heeds)
    done = 0
    while done < count / 3 and run.poll() is None:
        time.sleep(0.05)
        if (out / LEDGER).exists():
            with contextlib.suppress(sqlite3.Error), sqlite3.connect(out / LEDGER) as base:
                done = base.execute("SELECT count(*) FROM runs").fetchone()[0]
    run.send_signal(signal.SIGINT)
    assert run.wait(60) == 130, "it ended before it could be cut"
    subprocess.run(command, env=env, check=True, stderr=subprocess.DEVNULL)


def driver_memory(tasks: int) -> float:
    """Return the peak memory [MB] of a fresh driver of so many tasks on two workers."""
    script = f"import scale; scale.drive({tasks})"
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "benchmarks")])}
    command = [sys.executable, "-c", script]
    return float(subprocess.run(command, env=env, capture_output=True, check=True).stdout)


def drive(tasks: int) -> None:
    """Map bulky tasks and print the peak memory of this process [MB]."""
    found: Iterator[Outcome] = map_runs(bulky, range(tasks), spread=Spread(workers=2))
    assert sum(outcome.ok for outcome in found) == tasks
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    # Not that of getrusage, which begins with the peak of the process that started this one.
    status = dict(line.split(":", 1) for line in lines)
    print(int(status["VmHWM"].split()[0]) * 1024 / 1e6)


def independent(folder: Path, count: int) -> Row:
    """Return the figures of a fleet without a limit."""
    file = write(folder, count, periods=STEPS, step="15 min")
    serial, serial_cpu, _ = planned(file, folder / "serial", 0)
    two, driver, workers = planned(file, folder / "two", 2)
    expected = contents(folder / "serial")
    lost = with_a_killed_worker(file, folder / "killed", count)
    cut_and_resumed(file, folder / "cut", count)
    same = [contents(folder / name) == expected for name in ("two", "killed", "cut")]
    return {
        "assets": count,
        "serial_s": round(serial, 2),
        "workers_2_s": round(two, 2),
        "speed_up": round(serial / two, 3),
        "driver_cpu_s": round(driver, 2),
        "workers_cpu_s": round(workers, 2),
        # what it would be on two idle cores that do nothing else and are never waited for
        "speed_up_by_cpu": round(2 * serial_cpu / (driver + workers), 3),
        "identical": same[0],
        "killed_worker_lost": lost if same[1] else None,
        "resumed_identical": same[2],
    }


def coupled(folder: Path, count: int) -> Row:
    """Return the figures of a fleet under a limit, and of one large programme."""
    file = write(folder, count, f"{2.0 * count} kW", periods=STEPS, step="15 min")
    begun = time.perf_counter()
    found = run_fleet(Fleet.load(file), folder / "out", How(Spread(workers=2)))
    seconds = time.perf_counter() - begun
    begun = time.perf_counter()
    best = None
    with contextlib.suppress(TimeoutError):
        best = whole(Fleet.load(file), "highs-ipm", LARGE_S)
    large = time.perf_counter() - begun
    value, bound = found["objective"]["value"], found["bound"]["value"]
    row = {
        "assets": count,
        "gap": found["bound"]["gap"],
        "rounds": found["shared_limit"]["rounds"],
        "holds": found["shared_limit"]["holds"],
        "seconds": round(seconds, 2),
        "large_lp_s": round(large, 2),
        "large_lp": "out of time" if best is None else "solved",
    }
    if best is not None:
        small = 1e-6 * abs(best)
        row["within"] = bound <= best + small and best <= value + small
        row["above_large_lp"] = (value - best) / abs(best)
    return row


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="few assets")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--assets", type=int, help="assets of the fleet without a limit")
    parser.add_argument("--coupled", type=int, help="assets of the fleet under a limit")
    given = parser.parse_args()
    count = given.assets or (300 if given.quick else 10_000)
    row: Row = {}
    with TemporaryDirectory() as name:
        folders = iter(range(3))

        def folder() -> Path:
            made = Path(name) / str(next(folders))
            made.mkdir()
            return made

        row |= independent(folder(), count)
        several = [30] if given.quick else [500, 10_000]
        row["coupled"] = [
            coupled(folder(), n) for n in ([given.coupled] if given.coupled else several)
        ]
        row["gap"] = max(found["gap"] for found in row["coupled"])
    begun = time.perf_counter()
    list(map_runs(nothing, range(TINY), spread=Spread(workers=0)))
    row["overhead_ms"] = round(1000 * (time.perf_counter() - begun) / TINY, 4)
    sizes = (1_000, 5_000 if given.quick else 100_000)
    few, many = map(driver_memory, sizes)
    row["driver_mb"] = {str(sizes[0]): round(few, 1), str(sizes[1]): round(many, 1)}
    row["memory_ratio"] = round(many / few, 3)
    if given.json:
        print(json.dumps(row))
        return
    for key, value in row.items():
        print(f"{key:20} {value}")


if __name__ == "__main__":
    import scale  # workers import functions by the name of this module

    scale.main()
