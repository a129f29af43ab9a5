"""1 000 re-solves of a day's dispatch with new prices and loads: ours against bare highspy.

A battery, three generators with ramp limits and a grid connection over 24 hours. Bare highspy
changes costs and right-hand sides of hand-written matrices and keeps its basis; ours calls
``update`` on a parametric program and ``solve`` on a session. They take turns solve by solve; every
objective must agree before times are compared.

    python benchmarks/resolve.py --count 1000 --json
"""

import argparse
import json
import platform
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from statistics import median
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Solve = Callable[[Floats, Floats], float]
"""``(price [EUR/MWh], load [kW]) -> objective [EUR]``."""

HOURS: Final = 24
MARGINAL: Final = {"a": 40.0, "b": 50.0, "c": 60.0}
LARGEST: Final = {"a": 60.0, "b": 50.0, "c": 40.0}
AGREEMENT: Final = 1e-6
"""Largest relative difference between the objectives."""


def bare() -> Solve:
    """Return highspy on hand-written matrices, hot from its last basis."""
    from scipy.sparse import csr_array

    from engiagent.solvers.highs import silent_class

    t = HOURS
    first = {"soc": 0, "in": t + 1, "out": 2 * t + 1, "buy": 3 * t + 1, "sell": 4 * t + 1}
    units = {name: 5 * t + 1 + k * t for k, name in enumerate(MARGINAL)}
    size = 8 * t + 1
    entries: list[tuple[int, int, float]] = [(0, 0, 1.0)]
    lower, upper = [50.0], [50.0]

    def row(terms: list[tuple[int, float]], low: float, high: float) -> None:
        entries.extend((len(lower), column, value) for column, value in terms)
        lower.append(low)
        upper.append(high)

    for h in range(t):
        row([(h + 1, 1.0), (h, -1.0), (first["in"] + h, -0.95), (first["out"] + h, 1 / 0.95)], 0, 0)
    for h in range(t):
        signs = (("buy", 1.0), ("sell", -1.0), ("in", -1.0), ("out", 1.0))
        terms = [(first[name] + h, sign) for name, sign in signs]
        row([*terms, *((start + h, 1.0) for start in units.values())], 0, 0)
    for start in units.values():
        for h in range(1, t):
            row([(start + h, 1.0), (start + h - 1, -1.0)], -20, 20)
    rows, columns, values = (np.array(part) for part in zip(*entries, strict=True))
    matrix = csr_array((values, (rows, columns)), shape=(len(lower), size))
    matrix.sum_duplicates()
    most = np.full(size, 200.0)
    most[: t + 1], most[first["in"] : first["buy"]] = 100.0, 25.0
    cost = np.zeros(size)
    for name, start in units.items():
        most[start : start + t] = LARGEST[name]
        cost[start : start + t] = MARGINAL[name] / 1000
    highs = silent_class()()
    highs.setOptionValue("output_flag", False)
    highs.passModel(
        size,
        len(lower),
        matrix.nnz,
        2,
        1,
        0.0,
        cost,
        np.zeros(size),
        most,
        np.array(lower),
        np.array(upper),
        matrix.indptr.astype(np.int32),
        matrix.indices.astype(np.int32),
        matrix.data,
        np.zeros(size, np.int32),
    )
    trade = np.arange(first["buy"], first["buy"] + 2 * t, dtype=np.int32)
    balance = np.arange(1 + t, 1 + 2 * t, dtype=np.int32)

    def solve(price: Floats, load: Floats) -> float:
        highs.changeColsCost(2 * t, trade, np.concatenate([price, -0.9 * price]) / 1000)
        highs.changeRowsBounds(t, balance, load, load)
        highs.run()
        solution = highs.getSolution()
        np.array(solution.col_value), np.array(solution.row_dual), np.array(solution.col_dual)
        return float(highs.getInfo().objective_function_value)

    return solve


def ours() -> Solve:
    """Return a parametric program and a session."""
    from engiagent.blueprint.document import Blueprint
    from engiagent.formulations.parametric import compile_parametric
    from engiagent.solvers.session import Session

    program = compile_parametric(Blueprint.from_dict(blueprint()), None, ["price", "load"])
    session = Session(program)

    def solve(price: Floats, load: Floats) -> float:
        program.update(price=price, load=load)
        result = session.solve()
        if result.status != "optimal" or result.objective is None:
            raise SystemExit(f"ours ended {result.status}: {result.reason}")
        return result.objective

    return solve


def blueprint() -> dict[str, Any]:
    """Return the dispatch as a blueprint."""
    powers = {"into": 25, "out": 25, "buy": 200, "sell": 200}
    return {
        "schema": "engiagent-blueprint/1",
        "kind": "programme",
        "modeling_context": {"problem_essence": "a day's dispatch of battery, units and grid"},
        "core_model_elements": {
            "sets": [
                {
                    "name": "T",
                    "kind": "time",
                    "start": "2025-07-01T00:00",
                    "step": "1 h",
                    "periods": HOURS,
                    "zone": "UTC",
                },
                {"name": "I", "kind": "instants", "of": "T"},
                {"name": "G", "kind": "labels", "elements": list(MARGINAL)},
            ],
            "parameters": [
                {"name": "price", "index": ["T"], "value": 50, "unit": "EUR/MWh"},
                {"name": "load", "index": ["T"], "value": 100, "unit": "kW"},
                {"name": "marginal", "index": ["G"], "value": MARGINAL, "unit": "EUR/MWh"},
                {"name": "largest", "index": ["G"], "value": LARGEST, "unit": "kW"},
            ],
            "decision_variables": [
                {"name": "energy", "index": ["i in I"], "lower": 0, "upper": 100, "unit": "kWh"},
                *(
                    {"name": name, "index": ["t in T"], "lower": 0, "upper": most, "unit": "kW"}
                    for name, most in powers.items()
                ),
                {
                    "name": "power",
                    "index": ["g in G", "t in T"],
                    "lower": 0,
                    "upper": "largest[g]",
                    "unit": "kW",
                },
            ],
            "constraints": [
                {"constraint_id": "start", "forall": [], "expression": "energy[first(I)] == 50"},
                {
                    "constraint_id": "storage",
                    "forall": ["t in T"],
                    "expression": "energy[t+1] == energy[t] + (0.95*into[t] - out[t]/0.95)*dt(t)",
                },
                {
                    "constraint_id": "balance",
                    "forall": ["t in T"],
                    "expression": "buy[t] - sell[t] - into[t] + out[t]"
                    " + sum(power[g, t] for g in G) == load[t]",
                },
                {
                    "constraint_id": "ramp",
                    "forall": ["g in G", "t in T"],
                    "where": "t != first(T)",
                    "expression": "-20 <= power[g, t] - power[g, t-1] <= 20",
                },
            ],
            "objective_function": {
                "name": "cost",
                "sense": "minimize",
                "unit": "EUR",
                "expression": "sum((price[t]*(buy[t] - 0.9*sell[t])"
                " + sum(marginal[g]*power[g, t] for g in G))"
                "*dt(t) for t in T)",
            },
        },
    }


def run(count: int) -> list[dict[str, Any]]:
    """Return a row for each tool, after comparing every objective."""
    random = np.random.default_rng(7)
    prices = 50 + 20 * random.standard_normal((count + 1, HOURS))
    loads = 100 + 30 * random.random((count + 1, HOURS))
    tools = {"bare highspy": bare(), "engiagent": ours()}
    for solve in tools.values():
        solve(prices[-1], loads[-1])
    times: dict[str, list[float]] = {name: [] for name in tools}
    objectives: dict[str, list[float]] = {name: [] for name in tools}
    for k in range(count):
        names = list(tools) if k % 2 else list(tools)[::-1]
        for name in names:
            started = time.perf_counter()
            objectives[name].append(tools[name](prices[k], loads[k]))
            times[name].append(time.perf_counter() - started)
    first, second = (np.array(values) for values in objectives.values())
    worst = float(np.max(np.abs(first - second) / np.maximum(1.0, np.abs(first))))
    if not worst <= AGREEMENT:
        raise SystemExit(f"the objectives differ by {worst:.3g}")
    return [
        {"tool": name, "total_s": sum(taken), "p50_ms": median(taken) * 1e3}
        for name, taken in times.items()
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark several times and print medians."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=1000, help="re-solves")
    parser.add_argument("--repeat", type=int, default=5, help="repetitions of the whole")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    options = parser.parse_args(arguments)
    runs = [run(options.count) for _ in range(options.repeat)]
    rows: list[dict[str, Any]] = [
        {
            "tool": same[0]["tool"],
            "total_s": median(r["total_s"] for r in same),
            "p50_ms": median(r["p50_ms"] for r in same),
        }
        for same in zip(*runs, strict=True)
    ]
    ratio = median(two["total_s"] / one["total_s"] for one, two in runs)
    rows[0]["over_floor"], rows[1]["over_floor"] = 1.0, ratio
    if options.json:
        names = ("engiagent", "highspy", "numpy")
        versions = {name: version(name) for name in names}
        print(json.dumps({"rows": rows, "versions": versions, "machine": platform.platform()}))
        return
    print(f"{'tool':16}{'total s':>9}{'p50 ms':>9}{'/floor':>8}")
    for r in rows:
        print(f"{r['tool']:16}{r['total_s']:9.3f}{r['p50_ms']:9.3f}{r['over_floor']:8.2f}")


if __name__ == "__main__":
    main()
