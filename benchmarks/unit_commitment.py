r"""Unit commitment with a demand charge: the better of HiGHS and SCIP run by hand, and us.

.. math::
    \min \sum_t \Bigl(p_t\,b_t + \sum_g (f_g\,P_{gt} + n_g\,u_{gt} + s_g\,v_{gt})\Bigr) + d\,m
    \quad\text{with}\quad \sum_g P_{gt} + b_t \ge L_t, \; b_t \le m, \;
    \underline P_g u_{gt} \le P_{gt} \le \overline P_g u_{gt}, \;
    u_{gt} - u_{g,t-1} \le v_{gt}, \; \textstyle\sum_{k<U_g} v_{g,t-k} \le u_{gt}

Three generators with least loads, start costs and least running times share a load with the grid,
whose largest purchase is charged. Each repetition is a process of its own; the gap is 1e-3 in all.

    python benchmarks/unit_commitment.py --hours 24 168 --seeds 0 1 2 --repeat 3
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from statistics import median
from time import perf_counter
from typing import Any

GAP = 1e-3
TOOLS = ("by hand, HiGHS", "by hand, SCIP", "engiagent")


class Site:
    """The data of one instance."""

    def __init__(self, hours: int, seed: int) -> None:
        import numpy as np

        rng = np.random.default_rng(seed)
        self.hours = hours
        t = np.arange(hours)
        day = np.sin(2 * np.pi * (t % 24 - 8) / 24)
        self.load = (620 + 210 * day + rng.normal(0, 25, hours)).round(1)
        self.price = (0.16 + 0.06 * day + rng.normal(0, 0.012, hours)).clip(0.03).round(4)
        self.most = np.array([150.0, 200.0, 280.0])
        self.least = (self.most * np.array([0.35, 0.4, 0.45])).round(1)
        self.fuel = np.array([0.152, 0.139, 0.121])
        self.idle = np.array([2.0, 3.6, 6.8])
        self.start = np.array([9.0, 18.0, 36.0])
        self.up = np.array([2, 3, 4])
        self.grid = 700.0
        self.demand_charge = 2.4 * hours / 168


def matrices(site: Site) -> Any:
    """Return cost, bounds, integrality and rows (CSR) as somebody writes them for this problem."""
    import numpy as np
    from scipy.sparse import coo_array

    units, hours = len(site.most), site.hours
    size = units * hours
    power, on, begun, buy = 0, size, 2 * size, 3 * size
    columns = 3 * size + hours + 1
    g, t = np.divmod(np.arange(size), hours)
    hour = np.arange(hours)
    cost = np.concatenate(
        [site.fuel[g], site.idle[g], site.start[g], site.price, [site.demand_charge]]
    )
    upper = np.concatenate([site.most[g], np.ones(2 * size), np.full(hours + 1, site.grid)])
    whole = np.zeros(columns, dtype=bool)
    whole[on:buy] = True
    entries: list[tuple[Any, Any, Any]] = []
    lower: list[Any] = []
    count = 0

    def rows(pieces: list[tuple[Any, Any, Any]], least: Any, length: int) -> None:
        nonlocal count
        for row, column, value in pieces:
            entries.append((row + count, column, np.broadcast_to(value, row.shape)))
        lower.append(np.broadcast_to(least, (length,)))
        count += length

    k = np.arange(size)
    rows([(t, power + k, 1.0), (hour, buy + hour, 1.0)], site.load, hours)
    rows([(hour, np.full(hours, columns - 1), 1.0), (hour, buy + hour, -1.0)], 0.0, hours)
    rows([(k, on + k, site.most[g]), (k, power + k, -1.0)], 0.0, size)
    rows([(k, power + k, 1.0), (k, on + k, -site.least[g])], 0.0, size)
    later = k[t > 0]
    begin = [(k, begun + k, 1.0), (k, on + k, -1.0), (later, on + later - 1, 1.0)]
    rows(begin, 0.0, size)
    running: list[tuple[Any, Any, Any]] = [(k, on + k, 1.0)]
    for back in range(int(site.up.max())):
        inside = k[(t >= back) & (back < site.up[g])]
        running.append((inside, begun + inside - back, -1.0))
    rows(running, 0.0, size)
    row, column, value = (np.concatenate(part) for part in zip(*entries, strict=True))
    matrix = coo_array((value, (row, column)), shape=(count, columns)).tocsr()
    return cost, upper, whole, matrix, np.concatenate(lower)


def by_hand_highs(site: Site) -> tuple[float, float]:
    """Return the objective and the seconds from data to solution."""
    import highspy
    import numpy as np

    begun = perf_counter()
    cost, upper, whole, matrix, lower = matrices(site)
    highs: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("mip_rel_gap", GAP)
    highs.passModel(
        len(cost),
        len(lower),
        matrix.nnz,
        2,
        1,
        0.0,
        cost,
        np.zeros(len(cost)),
        upper,
        lower,
        np.full(len(lower), np.inf),
        matrix.indptr.astype(np.int32),
        matrix.indices.astype(np.int32),
        matrix.data,
        whole.astype(np.int32),
    )
    highs.run()
    np.array(highs.getSolution().col_value)
    return float(highs.getObjectiveValue()), perf_counter() - begun


def by_hand_scip(site: Site) -> tuple[float, float]:
    """Return the objective and the seconds from data to solution."""
    from pyscipopt import Model, quicksum

    begun = perf_counter()
    cost, upper, whole, matrix, lower = matrices(site)
    model = Model()
    model.hideOutput()
    model.setParam("limits/gap", GAP)
    x = [
        model.addVar(vtype="B" if whole[j] else "C", lb=0.0, ub=float(upper[j]), obj=float(cost[j]))
        for j in range(len(cost))
    ]
    starts, indices, data = matrix.indptr, matrix.indices, matrix.data
    for i in range(len(lower)):
        inside = range(starts[i], starts[i + 1])
        row = quicksum(float(data[k]) * x[indices[k]] for k in inside)
        model.addCons(row >= float(lower[i]))
    model.optimize()
    _ = [model.getVal(v) for v in x]
    return float(model.getObjVal()), perf_counter() - begun


def blueprint(site: Site) -> dict[str, Any]:
    """Return the same problem in the language."""
    labels = [f"G{k}" for k in range(1, len(site.most) + 1)]

    def by_unit(values: Any) -> dict[str, float]:
        return dict(zip(labels, values.tolist(), strict=True))

    def parameter(name: str, unit: str, value: Any, *index: str) -> dict[str, Any]:
        return {"name": name, "index": list(index), "value": value, "unit": unit}

    t, unit = "t in T", "g in G"
    constraints = {
        "balance": ("sum(power[g, t] for g in G) + buy[t] >= load[t]", [t]),
        "charged": ("buy[t] <= peak", [t]),
        "most_when_on": ("power[g, t] <= most[g]*on[g, t]", [unit, t]),
        "least_when_on": ("power[g, t] >= least[g]*on[g, t]", [unit, t]),
        "begin": ("on[g, t] - prev(on[g, t], 0) <= begun[g, t]", [unit, t]),
        "run": (
            "sum(begun[g, s] for s in T if pos(t) - up[g] < pos(s) <= pos(t)) <= on[g, t]",
            [unit, t],
        ),
    }
    return {
        "schema": "engiagent-blueprint/1",
        "kind": "programme",
        "modeling_context": {"problem_essence": "Generators and the grid serve a site"},
        "core_model_elements": {
            "sets": [
                {
                    "name": "T",
                    "kind": "time",
                    "start": "2025-01-06T00:00",
                    "step": "1 h",
                    "periods": site.hours,
                },
                {"name": "G", "kind": "labels", "elements": labels},
            ],
            "parameters": [
                parameter("load", "kW", site.load.tolist(), "T"),
                parameter("price", "EUR/kWh", site.price.tolist(), "T"),
                parameter("most", "kW", by_unit(site.most), "G"),
                parameter("least", "kW", by_unit(site.least), "G"),
                parameter("fuel", "EUR/kWh", by_unit(site.fuel), "G"),
                parameter("idle", "EUR/h", by_unit(site.idle), "G"),
                parameter("start", "EUR", by_unit(site.start), "G"),
                parameter("up", "1", by_unit(site.up), "G"),
                parameter("grid_limit", "kW", site.grid),
                parameter("demand_charge", "EUR/kW", site.demand_charge),
            ],
            "decision_variables": [
                {"name": "power", "index": [unit, t], "lower": 0, "upper": "most[g]", "unit": "kW"},
                {"name": "on", "index": [unit, t], "type": "binary"},
                {"name": "begun", "index": [unit, t], "type": "binary"},
                {"name": "buy", "index": [t], "lower": 0, "upper": "grid_limit", "unit": "kW"},
                {"name": "peak", "lower": 0, "upper": "grid_limit", "unit": "kW"},
            ],
            "objective_function": {
                "sense": "minimize",
                "unit": "EUR",
                "expression": "sum(price[t]*buy[t]*dt(t) for t in T) + demand_charge*peak"
                " + sum(fuel[g]*power[g, t]*dt(t) + idle[g]*on[g, t]*dt(t) + start[g]*begun[g, t]"
                " for g in G for t in T)",
            },
            "constraints": [
                {"constraint_id": name, "forall": forall, "expression": text}
                for name, (text, forall) in constraints.items()
            ],
        },
    }


def engiagent(site: Site) -> tuple[float, float]:
    """Return the objective and the seconds from the parsed blueprint to the schedule."""
    from engiagent.blueprint import Blueprint
    from engiagent.formulations.compile import compile_blueprint
    from engiagent.solvers.result import SolveOptions
    from engiagent.solvers.solving import solve

    parsed = Blueprint.from_dict(blueprint(site))
    begun = perf_counter()
    result = solve(compile_blueprint(parsed), SolveOptions(gap=GAP), isolate=False)
    assert result.objective is not None
    return result.objective, perf_counter() - begun


RUNS = {"by hand, HiGHS": by_hand_highs, "by hand, SCIP": by_hand_scip, "engiagent": engiagent}


def run(tool: str, hours: int, seed: int) -> dict[str, Any]:
    """Return one run, after a small one that takes the imports out of the time."""
    RUNS[tool](Site(6, 0))
    objective, seconds = RUNS[tool](Site(hours, seed))
    return {"tool": tool, "hours": hours, "seed": seed, "objective": objective, "seconds": seconds}


def rows(hours: Sequence[int], seeds: Sequence[int], repeat: int) -> list[dict[str, Any]]:
    """Return the medians of each tool for every instance, the tools taking turns.

    Raises
    ------
    SystemExit
        When two tools disagree by more than their gaps allow.
    """
    found = []
    for size in hours:
        for seed in seeds:
            runs: dict[str, list[dict[str, Any]]] = {tool: [] for tool in TOOLS}
            for _ in range(repeat):
                for tool in TOOLS:
                    command = [sys.executable, __file__, "--one", tool, str(size), str(seed)]
                    done = subprocess.run(command, capture_output=True, text=True, check=False)
                    if done.returncode:
                        raise SystemExit(f"{tool}, {size} h, seed {seed}:\n{done.stderr}")
                    runs[tool].append(json.loads(done.stdout.splitlines()[-1]))
            found += [_medians(repetitions) for repetitions in runs.values()]
            _compare(found[-len(TOOLS) :])
    return found


def _medians(repetitions: list[dict[str, Any]]) -> dict[str, Any]:
    return {**repetitions[0], "seconds": median(r["seconds"] for r in repetitions)}


def _compare(same: list[dict[str, Any]]) -> None:
    values = [row["objective"] for row in same]
    if not max(values) - min(values) <= 2 * GAP * abs(min(values)):
        raise SystemExit(f"{same[0]['hours']} h, seed {same[0]['seed']}: {values}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one instance in this process, or the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--hours", type=int, nargs="+", default=[24, 168])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    parser.add_argument("--one", nargs=3, metavar=("TOOL", "HOURS", "SEED"))
    options = parser.parse_args(arguments)
    if options.one:
        tool, hours, seed = options.one
        print(json.dumps(run(tool, int(hours), int(seed))))
        return
    found = rows(options.hours, options.seeds, options.repeat)
    if options.json:
        print(json.dumps({"rows": found}))
        return
    for row in found:
        print(
            f"{row['hours']:>5} h  seed {row['seed']}  {row['tool']:<16} "
            f"{row['seconds']:8.3f} s  {row['objective']:.3f}"
        )


if __name__ == "__main__":
    main()
