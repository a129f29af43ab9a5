"""How compile time and memory grow with the number of steps, up to a million.

Each size is compiled in a process of its own, and handed to HiGHS as matrices written by hand: what
grows faster than the number of steps there too is the machine's doing, which takes its time to
find memory for large arrays. The exponent is the slope of the logarithms; 1 is linear. With
``--plot FILE.svg`` the curves are drawn.

    python benchmarks/scaling.py --T 10000 30000 100000 300000 1000000 --plot scaling.svg
"""

import argparse
import json
import math
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import battery_instance as instance

TINY = 24
"""Periods of the model that shows what compiling costs whatever the size."""
SIZES = [TINY, 10_000, 30_000, 100_000, 300_000, 1_000_000]
KEYS = ("compile_s", "memory_mb", "by_hand_s")
Row = dict[str, Any]


def one(periods: int, repeat: int) -> Row:
    """Compile one size in this process; return the times [s] and the memory it took [MB]."""
    import resource
    import time

    from battery_tools import matrices_in

    from engiagent.blueprint import Blueprint
    from engiagent.formulations.compile import compile_blueprint
    from engiagent.formulations.expansion import expand
    from engiagent.text import Problem

    with TemporaryDirectory() as name:
        for size in {TINY, periods}:
            (Path(name) / str(size)).mkdir()
            instance.write_problem(Path(name) / str(size), size)
        folder = Path(name) / str(TINY)
        compile_blueprint(expand(Blueprint.load(folder / "expert" / "blueprint.json")), folder)
        idle = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        folder = Path(name) / str(periods)
        blueprint = expand(Blueprint.load(folder / "expert" / "blueprint.json"))
        Problem.load(folder)  # reads the table of prices, which is no part of compiling
        times = []
        for _ in range(repeat if periods > TINY else 100 * repeat):
            program = None  # what came of the last time takes no memory
            begun = time.perf_counter()
            program = compile_blueprint(blueprint, folder)
            times.append(time.perf_counter() - begun)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        nonzeros, program = program.nonzero_count if program else 0, None
        prices, by_hand = instance.prices(periods), []
        for _ in range(repeat):
            begun = time.perf_counter()
            matrices_in(prices)
            by_hand.append(time.perf_counter() - begun)
        return {
            "T": periods,
            "compile_s": median(times),
            "memory_mb": (peak - idle) * 1024 / 1e6,
            "by_hand_s": median(by_hand),
            "nonzeros": nonzeros,
        }


def exponent(rows: Sequence[Row], key: str, least: int = 100_000) -> float:
    """Return the slope of log(key) over log(T) from ``least`` steps on, by least squares."""
    points = [(math.log(r["T"]), math.log(max(r[key], 1e-9))) for r in rows if r["T"] >= least]
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    above = sum((x - mean_x) * (y - mean_y) for x, y in points)
    return above / sum((x - mean_x) ** 2 for x, _ in points)


def plot(rows: Sequence[Row]) -> str:
    """Return both curves over T on logarithmic axes as an SVG picture."""
    rows = [row for row in rows if row["T"] > TINY]
    charts = [("compile_s", "compile [s]", 0), ("memory_mb", "memory [MB]", 360)]
    body = "".join(_chart(rows, key, title, left) for key, title, left in charts)
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 260" font-family="sans-serif" '
        f'font-size="11">{body}</svg>\n'
    )


def _chart(rows: Sequence[Row], key: str, title: str, left: int) -> str:
    xs, ys = [math.log10(r["T"]) for r in rows], [math.log10(r[key]) for r in rows]
    low, high = math.floor(min(ys)), math.ceil(max(ys))

    def place(x: float, y: float) -> tuple[float, float]:
        across = (x - xs[0]) / (xs[-1] - xs[0])
        return left + 60 + 270 * across, 210 - 170 * (y - low) / (high - low)

    points = [place(x, y) for x, y in zip(xs, ys, strict=True)]
    lines = []
    for power in range(low, high + 1):
        _, y = place(xs[0], power)
        lines.append(f'<path d="M{left + 60} {y:.1f}h270" stroke="#ddd"/>')
        label = f'x="{left + 54}" y="{y + 4:.1f}" text-anchor="end"'
        lines.append(f"<text {label}>{10.0**power:g}</text>")
    for row, (x, _) in zip(rows, points, strict=True):
        lines.append(f'<text x="{x:.1f}" y="228" text-anchor="middle">{row["T"]:,}</text>')
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    marks = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="#1f5fa8"/>' for x, y in points)
    slope = exponent(rows, key)
    return (
        f'<text x="{left + 60}" y="24" font-weight="bold">{title}, exponent {slope:.2f}</text>'
        + "".join(lines)
        + f'<polyline points="{path}" fill="none" stroke="#1f5fa8" stroke-width="2"/>{marks}'
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a table or one JSON object, or measure one size."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--T", type=int, nargs="+", default=SIZES)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    parser.add_argument("--plot", type=Path, metavar="FILE.svg")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.one:
        print(json.dumps(one(options.one, options.repeat)))
        return
    rows: list[Row] = []
    for periods in options.T:
        command = [sys.executable, __file__, "--one", str(periods), "--repeat", str(options.repeat)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        rows.append(json.loads(done.stdout.splitlines()[-1]))
    if options.plot:
        options.plot.write_text(plot(rows), encoding="utf-8")
    slopes = {key: exponent(rows, key) for key in KEYS}
    if options.json:
        print(json.dumps({"rows": rows, "exponents": slopes}))
        return
    for row in rows:
        print(f"{row['T']:>10,} {row['compile_s']:9.4f} s {row['memory_mb']:9.1f} MB")
    print("exponents:", ", ".join(f"{key} {slope:.2f}" for key, slope in slopes.items()))


if __name__ == "__main__":
    main()
