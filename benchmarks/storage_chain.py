"""Storage chains: the exact method against hand-written matrices in HiGHS, in one process.

Two problems over T hours: ``trader`` is the battery of ``battery_instance.py``; ``meter`` has a
load, solar power that may be curtailed and different prices to buy and to sell. The methods take
turns (A B C A B C …); reported are medians. What is timed is the matrix going into HiGHS and its
run, against recognition, exact solution and its proof; both start from the same arrays. Objectives
have to agree to a relative 1e-9.

    python benchmarks/storage_chain.py --T 8760 131400 --problems trader,meter --repeat 5
    python benchmarks/storage_chain.py --first     # what numba costs a new process
    python benchmarks/storage_chain.py --whole     # compile, solve, dataset and check of the trader
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import battery_instance as instance
import numpy as np
import numpy.typing as npt

from engiagent.formulations.program import Program

Floats = npt.NDArray[np.float64]
Row = dict[str, Any]

AGREEMENT = 1e-9
"""Largest relative difference between the methods' objectives."""
WARM_UP = 24
LIBRARIES = ("engiagent", "highspy", "numpy", "numba")
MARGIN = 8.0
"""By how much selling pays less than buying costs. [EUR/MWh]"""


def assembled(blocks: Sequence[tuple[Any, Any, Any]], **parts: Any) -> Program:
    """Return a program from blocks of (row, column, value), sorted into rows."""
    shapes = [np.broadcast_arrays(*block) for block in blocks]
    rows, columns, values = (np.concatenate([b[k].ravel() for b in shapes]) for k in range(3))
    order = np.lexsort((columns, rows))
    sizes = np.bincount(rows, minlength=len(parts["row_lower"]))
    return Program(
        row_starts=np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes))).astype(np.int32),
        row_columns=columns[order].astype(np.int32),
        row_values=values[order].astype(np.float64),
        integrality=np.zeros(len(parts["cost"]), dtype=bool),
        **parts,
    )


def _store(n: int) -> list[tuple[Any, Any, Any]]:
    """Return the rows of the store: columns charge, discharge, energy at n + 1 instants."""
    t = np.arange(n)
    return [
        (t, t, -instance.EFFICIENCY),
        (t, n + t, 1.0 / instance.EFFICIENCY),
        (t, 2 * n + t, -1.0),
        (t, 2 * n + 1 + t, 1.0),
    ]


def trader(n: int) -> Program:
    """Return a battery that trades at known prices."""
    price = instance.prices(n)
    lower, upper = np.zeros(3 * n + 1), np.full(3 * n + 1, instance.POWER)
    upper[2 * n :] = instance.ENERGY
    lower[2 * n] = upper[2 * n] = lower[3 * n] = instance.ENERGY_START
    return assembled(
        _store(n),
        sense="maximize",
        cost=np.concatenate((-price, price - instance.WEAR, np.zeros(n + 1))),
        column_lower=lower,
        column_upper=upper,
        row_lower=np.zeros(n),
        row_upper=np.zeros(n),
    )


def meter(n: int) -> Program:
    """Return the battery behind a meter with load and sun."""
    price = instance.prices(n)
    hours, random = np.arange(n), np.random.default_rng(instance.SEED + 1)
    load = 1.2 + 0.5 * np.sin(2 * np.pi * (hours - 8) / 24) + random.uniform(0.0, 0.4, n)
    sun = np.maximum(0.0, 2.2 * np.sin(2 * np.pi * (hours - 6) / 24)) * random.uniform(0.2, 1, n)
    first = 3 * n + 1  # then bought, sold and used sun
    count = first + 3 * n
    lower, upper = np.zeros(count), np.full(count, np.inf)
    upper[: 2 * n], upper[2 * n : first] = instance.POWER, instance.ENERGY
    lower[2 * n] = upper[2 * n] = lower[3 * n] = instance.ENERGY_START
    upper[first + 2 * n : first + 3 * n] = sun
    cost = np.zeros(count)
    cost[n : 2 * n] = instance.WEAR
    cost[first : first + n], cost[first + n : first + 2 * n] = price, MARGIN - price
    t = np.arange(n)
    blocks = [
        *_store(n),
        (n + t, t, -1.0),
        (n + t, n + t, 1.0),
        (n + t, first + t, 1.0),
        (n + t, first + n + t, -1.0),
        (n + t, first + 2 * n + t, 1.0),
    ]
    row_lower, row_upper = np.concatenate((np.zeros(n), load)), np.concatenate((np.zeros(n), load))
    return assembled(
        blocks,
        sense="minimize",
        cost=cost,
        column_lower=lower,
        column_upper=upper,
        row_lower=row_lower,
        row_upper=row_upper,
    )


PROBLEMS: dict[str, Callable[[int], Program]] = {"trader": trader, "meter": meter}


def floor(program: Program) -> float:
    """Return the objective that HiGHS finds, from arrays that are ready."""
    import highspy

    highs: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    highs.setOptionValue("output_flag", False)
    by_rows, sense = 2, -1 if program.sense == "maximize" else 1
    highs.passModel(
        program.column_count,
        program.row_count,
        program.nonzero_count,
        by_rows,
        sense,
        0.0,
        program.cost,
        program.column_lower,
        program.column_upper,
        program.row_lower,
        program.row_upper,
        program.row_starts,
        program.row_columns,
        program.row_values,
        np.zeros(program.column_count, dtype=np.int32),
    )
    highs.run()
    np.array(highs.getSolution().col_value)
    return float(highs.getInfo().objective_function_value)


def exact(program: Program, kernel: Any) -> float:
    """Return the objective of the exact method, recognition and proof included."""
    from engiagent.solvers.chain.solving import solve_chain
    from engiagent.solvers.structure.chain import find_chain

    chain = find_chain(program)
    result = None if chain is None else solve_chain(program, chain, kernel=kernel)
    if result is None or result.objective is None:
        raise SystemExit("the exact method does not answer")
    return result.objective


METHODS: dict[str, Callable[[Program], float]] = {
    "floor": floor,
    "numba": lambda program: exact(program, "numba"),
    "plain": lambda program: exact(program, "plain"),
}


def measure(problem: str, periods: int, methods: Sequence[str], repeat: int) -> list[Row]:
    """Return one row a method with the median time and its share of the floor's."""
    for method in methods:
        METHODS[method](PROBLEMS[problem](WARM_UP))
    program = PROBLEMS[problem](periods)
    times: dict[str, list[float]] = {method: [] for method in methods}
    objectives: dict[str, float] = {}
    for _ in range(repeat):
        for method in methods:
            started = time.perf_counter()
            objectives[method] = METHODS[method](program)
            times[method].append(time.perf_counter() - started)
    reference = objectives[methods[0]]
    for method, objective in objectives.items():
        if not abs(objective - reference) <= AGREEMENT * max(1.0, abs(reference)):
            raise SystemExit(
                f"{problem}, T = {periods}: {method} finds {objective!r}, "
                f"{methods[0]} {reference!r}"
            )
    base = median(times[methods[0]])
    return [
        {
            "problem": problem,
            "T": periods,
            "method": method,
            "seconds": median(times[method]),
            "of_floor": median(times[method]) / base,
            "objective": objectives[method],
        }
        for method in methods
    ]


FIRST_RUN = """
import sys, time
sys.path.insert(0, {folder!r})
from storage_chain import trader, exact
program = trader(24)
started = time.perf_counter()
import numba
imported = time.perf_counter()
exact(program, "numba")
print(imported - started, time.perf_counter() - imported)
"""


def first_run() -> list[Row]:
    """Return what numba costs a new process: without and with compiled code on disk."""
    rows = []
    script = FIRST_RUN.format(folder=str(Path(__file__).parent))
    with TemporaryDirectory() as cache:
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
        for name in ("first run ever", "later runs", "later runs"):
            done = subprocess.run(
                [sys.executable, "-c", script],
                env=environment,
                capture_output=True,
                text=True,
                check=True,
            )
            imported, solved = map(float, done.stdout.split())
            rows.append({"run": name, "import_s": imported, "solve_s": solved})
    return rows


def whole(periods: int, repeat: int) -> list[Row]:
    """Return the stages from the parsed blueprint to the certificate, with the exact method."""
    from engiagent.blueprint import Blueprint
    from engiagent.formulations.compile import compile_blueprint
    from engiagent.formulations.expansion import expand
    from engiagent.solvers.chain.solving import solve_chain
    from engiagent.solvers.solution import to_arrays
    from engiagent.solvers.structure.chain import find_chain
    from engiagent.text import Problem
    from engiagent.verify.checking import check

    runs = []
    with TemporaryDirectory() as name:
        folder = Path(name)
        instance.write_problem(folder, periods)
        problem = Problem.load(folder)
        blueprint = Blueprint.load(folder / "expert" / "blueprint.json")
        for _ in range(repeat + 1):
            marks = [time.perf_counter()]
            full = expand(blueprint)
            program = compile_blueprint(full, folder)
            marks.append(time.perf_counter())
            chain = find_chain(program)
            marks.append(time.perf_counter())
            result = None if chain is None else solve_chain(program, chain)
            marks.append(time.perf_counter())
            if result is None:
                raise SystemExit("the exact method does not answer")
            schedule = to_arrays(program, result)
            marks.append(time.perf_counter())
            certificate = check(problem, schedule, full)
            marks.append(time.perf_counter())
            if certificate.verdict != "certified":
                raise SystemExit(f"the verdict is {certificate.verdict}")
            runs.append(np.diff(marks))
    names = ("compile_s", "recognise_s", "solve_s", "extract_s", "check_s")
    middle = np.median(np.array(runs[1:]), axis=0)
    return [{"T": periods, **dict(zip(names, middle.tolist(), strict=True))}]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark and print a table, or one JSON object."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--T", type=int, nargs="+", default=[8760, 35040, 131400])
    parser.add_argument("--problems", default=",".join(PROBLEMS), help="a comma between them")
    parser.add_argument("--methods", default=",".join(METHODS), help="a comma between them")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--first", action="store_true", help="what numba costs a new process")
    parser.add_argument("--whole", action="store_true", help="all stages with the exact method")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    options = parser.parse_args(arguments)
    rows: list[Row] = []
    if options.first:
        rows = first_run()
    elif options.whole:
        rows = [row for periods in options.T for row in whole(periods, options.repeat)]
    else:
        for problem in options.problems.split(","):
            for periods in options.T:
                rows += measure(problem, periods, options.methods.split(","), options.repeat)
    if options.json:
        machine = {"system": platform.system(), "cores": os.cpu_count()}
        versions = {name: version(name) for name in LIBRARIES}
        print(json.dumps({"rows": rows, "machine": machine, "versions": versions}))
    else:
        print_rows(rows)


def print_rows(rows: list[Row]) -> None:
    """Print rows of equal keys as a table."""
    from rich.console import Console
    from rich.table import Table

    table = Table()
    for key in rows[0]:
        table.add_column(key, justify="right")
    for row in rows:
        table.add_row(*[f"{v:.6g}" if isinstance(v, float) else str(v) for v in row.values()])
    Console(width=None if sys.stdout.isatty() else 120).print(table)


if __name__ == "__main__":
    main()
