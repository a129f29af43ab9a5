"""One run of one tool on the battery LP, in a process of its own; prints one JSON object.

``battery_lp.py`` starts this file once per repetition. Each tool first solves a tiny instance, so
that imports and caches of the interpreter are no part of what is timed.
"""

import json
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import battery_instance as instance
import numpy as np
from battery_laps import Lap
from battery_peers import PEERS

WARM_UP = 24
"""Periods of the instance that is solved before the clock starts."""


def floor(periods: int, folder: Path) -> dict[str, Any]:
    """Hand-written matrices into HiGHS: the least that any tool must take."""
    import highspy  # noqa: F401 (its import is no part of what is timed)

    prices = instance.prices(periods)
    lap = Lap()
    highs = matrices_in(prices)
    lap.stop("build_s")
    highs.run()
    lap.stop("solve_s")
    solution = highs.getSolution()
    for values in (solution.col_value, solution.col_dual, solution.row_dual):
        np.array(values)
    lap.stop("extract_s")
    status = highs.getModelStatus().name
    return {**lap.times, "status": status, "objective": -highs.getObjectiveValue()}


def matrices_in(prices: instance.Floats) -> Any:
    """Return HiGHS with the problem in it, written by hand.

    By columns: charge [MW], discharge [MW] and energy [MWh] at the instants.
    """
    import highspy

    highs: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    highs.setOptionValue("output_flag", False)
    n = len(prices)
    cost = np.concatenate((prices, instance.WEAR - prices, np.zeros(n + 1)))
    lower = np.zeros(3 * n + 1)
    upper = np.full(3 * n + 1, instance.POWER)
    upper[2 * n :] = instance.ENERGY
    lower[2 * n] = upper[2 * n] = lower[3 * n] = instance.ENERGY_START
    # Row t: E[t+1] - E[t] - efficiency*charge[t] + discharge[t]/efficiency == 0.
    period = np.arange(n, dtype=np.int32)
    energy_rows = np.stack((period[:-1], period[1:]), axis=1).ravel()
    rows = np.concatenate((period, period, [0], energy_rows, [n - 1])).astype(np.int32)
    values = np.concatenate(
        (
            np.full(n, -instance.EFFICIENCY),
            np.full(n, 1.0 / instance.EFFICIENCY),
            [-1.0],
            np.tile([1.0, -1.0], n - 1),
            [1.0],
        )
    )
    counts = np.ones(3 * n + 1, dtype=np.int32)
    counts[2 * n + 1 : 3 * n] = 2
    starts = np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
    by_columns, minimise, zero = 1, 1, np.zeros(n)
    highs.passModel(
        3 * n + 1,
        n,
        len(values),
        by_columns,
        minimise,
        0.0,
        cost,
        lower,
        upper,
        zero,
        zero,
        starts,
        rows,
        values,
        np.zeros(3 * n + 1, dtype=np.int32),
    )
    return highs


def engiagent(
    periods: int, folder: Path, isolate: bool = False, backend: str | None = None
) -> dict[str, Any]:
    """From the parsed blueprint and requirements to the certificate, all in this process."""
    from engiagent.blueprint import Blueprint
    from engiagent.formulations.compile import compile_blueprint
    from engiagent.formulations.expansion import expand
    from engiagent.solvers.result import SolveOptions
    from engiagent.solvers.solution import to_arrays
    from engiagent.solvers.solving import solve
    from engiagent.text import Problem
    from engiagent.verify.checking import check
    from engiagent.verify.requirements import load_requirements

    problem = Problem.load(folder)
    blueprint = Blueprint.load(folder / "expert" / "blueprint.json")
    requirements = load_requirements(folder / "expert" / "requirements.yaml")
    lap = Lap()
    full = expand(blueprint)
    program = compile_blueprint(full, folder)
    lap.stop("build_s")
    result = solve(program, SolveOptions(backend=backend), isolate=isolate)
    lap.stop("solve_s")
    schedule = to_arrays(program, result)
    lap.stop("extract_s")
    certificate = check(problem, schedule, full, requirements)
    lap.stop("check_s")
    status = certificate.verdict
    rows = _rows(problem, schedule, full, requirements)
    return {**lap.times, "rows_s": rows, "status": status, "objective": result.objective}


def _rows(problem: Any, schedule: Any, full: Any, requirements: Any) -> float:
    """Return in how many seconds the checker judges the rows, the bounds and the objective alone.

    All of the blueprint's, by the checker's own evaluator, from expressions to the worst row of
    each; what it reads for that (blueprint, data file, schedule) was read before the clock starts.
    It is done once more after the check, whose time it is no part of.
    """
    from engiagent.verify.case import build_case
    from engiagent.verify.levels.algebra import check_rules, rules_of_core
    from engiagent.verify.levels.goals import evaluate_declared
    from engiagent.verify.levels.variables import check_variables

    case = build_case(problem, schedule, full, requirements, None)
    bench = case.bench(annotated=False)
    assert bench is not None
    for definition in (*full.core.parameters, *full.core.decision_variables):
        bench.evaluator.environment.symbol(definition.name)
    started = perf_counter()
    outcomes = check_rules(bench, rules_of_core(full.core))
    outcomes += check_variables(bench, full.core)
    evaluate_declared(bench, full.core)
    seconds = perf_counter() - started
    if any(outcome.status != "pass" for outcome in outcomes):
        raise SystemExit("a row of a certified schedule does not hold")
    return seconds


def engiagent_isolated(periods: int, folder: Path) -> dict[str, Any]:
    """As ``engiagent``, with the solver in its worker process, as the command line does it."""
    return engiagent(periods, folder, isolate=True)


def engiagent_simplex(periods: int, folder: Path) -> dict[str, Any]:
    """As ``engiagent``, by the same simplex method as the floor."""
    return engiagent(periods, folder, backend="highs")


TOOLS: dict[str, Callable[[int, Path], dict[str, Any]]] = {
    "floor": floor,
    "engiagent": engiagent,
    "engiagent-isolated": engiagent_isolated,
    "engiagent-simplex": engiagent_simplex,
    **PEERS,
}
GOOD = ("kOptimal", "certified", "optimal")


def write(periods: int, folder: Path) -> None:
    """Write the problems that :func:`run` reads, in a process that measures nothing."""
    for size in {WARM_UP, periods}:
        (folder / str(size)).mkdir()
        instance.write_problem(folder / str(size), size)


def run(tool: str, periods: int, folder: Path) -> dict[str, Any]:
    """Return the row of one run on the problems in a folder.

    Raises
    ------
    SystemExit
        When the tool reaches no optimum, or the checker does not certify it.
    """
    row: dict[str, Any] = {}
    for size in (WARM_UP, periods):
        row = TOOLS[tool](size, folder / str(size))
    if row["status"] not in GOOD:
        raise SystemExit(f"{tool} at T = {periods} ends {row['status']}")
    times = {key: row.get(key, 0.0) for key in ("build_s", "solve_s", "extract_s", "check_s")}
    rows = row.get("rows_s", 0.0)
    total = sum(times.values())
    times["solve_s"] += times["extract_s"]
    peak = _peak(resource.RUSAGE_SELF) + _peak(resource.RUSAGE_CHILDREN)
    objective = row["objective"]
    return {
        "tool": tool,
        "T": periods,
        **times,
        "rows_s": rows,
        "total_s": total,
        "peak_mb": peak,
        "objective": objective,
    }


def _peak(who: int) -> float:
    """Return the largest resident memory in MB."""
    size = resource.getrusage(who).ru_maxrss
    return size / 1e6 if sys.platform == "darwin" else size * 1024 / 1e6


if __name__ == "__main__":
    name, size, place = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    if name == "write":
        write(size, place)
    else:
        print(json.dumps(run(name, size, place)))
