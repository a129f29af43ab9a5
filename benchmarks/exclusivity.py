"""A store that may not charge and discharge at once, at prices that are often negative.

Every hour has a binary. Compared in one process, taking turns: HiGHS with all of them, the exact
way of ``engiagent.solvers.exclusivity`` at the default gap, and the same with a gap of 1e-3.
Objectives have to agree within the gaps asked for. Reported are medians over the seeds.

    python benchmarks/exclusivity.py --T 8760 --seeds 3 --repeat 1
"""

import argparse
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import median
from typing import Any

import numpy as np
from storage_chain import assembled, print_rows

from engiagent.formulations.program import Program
from engiagent.solvers.exclusivity import find_exclusivity, solve_exclusive
from engiagent.solvers.linear import solve_here
from engiagent.solvers.result import SolveOptions, SolverResult

Row = dict[str, Any]

SEED = 20250301
ENERGY, POWER, EFFICIENCY = 4.0, 1.0, 0.9
"""Energy when full [MWh], power [MW] and one-way efficiency."""
WEAR = 2.0
"""Wear of delivered energy. [EUR/MWh]"""
NEGATIVE = 0.12
"""Share of hours with a negative price."""


def store(n: int, seed: int) -> Program:
    """Return the problem: columns charge, discharge, energy after each hour, binary."""
    random, t = np.random.default_rng(SEED + seed), np.arange(n)
    price = 40 + 25 * np.sin(2 * np.pi * t / 24) + random.normal(0.0, 15.0, n)
    price -= np.quantile(price, NEGATIVE)
    upper = np.concatenate((np.full(2 * n, POWER), np.full(n, ENERGY), np.ones(n)))
    lower = np.zeros(4 * n)
    lower[3 * n - 1] = ENERGY / 2
    start = np.zeros(n)
    start[0] = ENERGY / 2
    program = assembled(
        [
            (t, t, -EFFICIENCY),
            (t, n + t, 1.0 / EFFICIENCY),
            (t, 2 * n + t, 1.0),
            (t[1:], 2 * n + t[:-1], -1.0),
            (n + t, t, 1.0),
            (n + t, 3 * n + t, -POWER),
            (2 * n + t, n + t, 1.0),
            (2 * n + t, 3 * n + t, POWER),
        ],
        sense="minimize",
        cost=np.concatenate((price, WEAR - price, np.zeros(2 * n))),
        column_lower=lower,
        column_upper=upper,
        row_lower=np.concatenate((start, np.full(2 * n, -np.inf))),
        row_upper=np.concatenate((start, np.zeros(n), np.full(n, POWER))),
    )
    return replace(program, integrality=np.arange(4 * n) >= 3 * n)


def all_binaries(program: Program) -> SolverResult:
    """Solve with every binary."""
    return solve_here(program, SolveOptions())


def few_binaries(gap: float) -> Callable[[Program], SolverResult]:
    """Return the solve with few binaries, recognition included."""

    def solve(program: Program) -> SolverResult:
        pairs = find_exclusivity(program)
        result = None if pairs is None else solve_exclusive(program, pairs, SolveOptions(gap=gap))
        if result is None:
            raise SystemExit("the method does not answer")
        return result

    return solve


METHODS: dict[str, tuple[float, Callable[[Program], SolverResult]]] = {
    "all binaries": (1e-6, all_binaries),
    "few, exact": (1e-6, few_binaries(1e-6)),
    "few, gap 1e-3": (1e-3, few_binaries(1e-3)),
}


def measure(periods: int, seeds: int, repeat: int) -> list[Row]:
    """Return one row a method: medians of time, of its share, and the largest proven gap."""
    times: dict[str, list[float]] = {name: [] for name in METHODS}
    shares: dict[str, list[float]] = {name: [] for name in METHODS}
    gaps = dict.fromkeys(METHODS, 0.0)
    for seed in range(seeds):
        program = store(periods, seed)
        for _ in range(repeat):
            found = {}
            for name, (_, solve) in METHODS.items():
                started = time.perf_counter()
                found[name] = solve(program)
                times[name].append(time.perf_counter() - started)
                shares[name].append(times[name][-1] / times["all binaries"][-1])
                gaps[name] = max(gaps[name], found[name].gap or 0.0)
            _compare(found)
    return [
        {
            "T": periods,
            "method": name,
            "seconds": median(times[name]),
            "of_all_binaries": median(shares[name]),
            "largest_gap": gaps[name],
        }
        for name in METHODS
    ]


def _compare(found: dict[str, SolverResult]) -> None:
    reference = found["all binaries"].objective
    for name, result in found.items():
        allowed = METHODS[name][0] + METHODS["all binaries"][0]
        if reference is None or result.objective is None:
            raise SystemExit(f"{name} finds nothing")
        if not abs(result.objective - reference) <= allowed * max(1.0, abs(reference)):
            raise SystemExit(f"{name} finds {result.objective!r}, all binaries {reference!r}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark and print a table, or one JSON object."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--T", type=int, nargs="+", default=[8760])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    options = parser.parse_args(arguments)
    measure(48, 1, 1)  # imports are no part of the times
    rows = [row for periods in options.T for row in measure(periods, options.seeds, options.repeat)]
    if options.json:
        print(json.dumps({"rows": rows}))
    else:
        print_rows(rows)


if __name__ == "__main__":
    main()
