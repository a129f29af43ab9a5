"""Problems far from a battery: each blueprint's optimum is found a second way, without us."""

import itertools
import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engiagent.blueprint.analysis import analyse
from engiagent.blueprint.document import Blueprint
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.program import Program
from engiagent.solvers.result import SolverResult
from engiagent.solvers.solving import solve

FOLDER = Path(__file__).parent / "blueprints"
Json = dict[str, Any]


@cache
def solved(name: str) -> tuple[Program, SolverResult]:
    program = compile_blueprint(Blueprint.load(FOLDER / f"{name}.json"))
    return program, solve(program, isolate=False)


def values(name: str, variable: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    program, result = solved(name)
    assert result.x is not None
    block = program.column_block(variable)
    return result.x[block.start : block.stop].reshape(block.shape or ())


def parameters(name: str) -> dict[str, Any]:
    document = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
    return {p["name"]: p["value"] for p in document["core_model_elements"]["parameters"]}


def job_shop() -> float:
    """Try every order of the operations on every machine, and take the longest path of each."""
    data = parameters("job_shop")
    machine, job, duration = data["machine"], data["job"], data["duration"]
    operations = list(machine)
    route = [(a, b) for a, b in itertools.pairwise(operations) if job[a] == job[b]]
    machines = sorted(set(machine.values()))
    orders = [itertools.permutations(o for o in operations if machine[o] == m) for m in machines]
    best = np.inf
    for order in itertools.product(*orders):
        arcs = route + [pair for line in order for pair in itertools.pairwise(line)]
        best = min(best, _longest(operations, arcs, duration))
    return best


def _longest(nodes: list[str], arcs: list[tuple[str, str]], duration: dict[str, float]) -> float:
    start = dict.fromkeys(nodes, 0.0)
    for _ in nodes:
        changed = False
        for a, b in arcs:
            if start[b] < start[a] + duration[a]:
                start[b], changed = start[a] + duration[a], True
        if not changed:
            return max(start[o] + duration[o] for o in nodes)
    return float("inf")  # a circle


def flow_shop() -> float:
    data = parameters("flow_shop_setups")
    work, setup = data["work"], data["setup"]
    machines = list(next(iter(work.values())))

    def makespan(order: tuple[str, ...]) -> float:
        free = dict.fromkeys(machines, 0.0)
        before: str | None = None
        for job in order:
            ready = 0.0
            for machine in machines:
                changed = setup[before][job] if before is not None else 0.0
                ready = max(ready, free[machine] + changed) + work[job][machine]
                free[machine] = ready
            before = job
        return ready

    return min(makespan(order) for order in itertools.permutations(work))


def routing() -> float:
    data = parameters("electric_routing")
    distance, demand = data["distance"], data["demand"]
    customers = [n for n in demand if n != "depot"]

    def tour(stops: tuple[str, ...]) -> float:
        if not stops:
            return 0.0
        line = ("depot", *stops, "depot")
        length = sum(distance[a][b] for a, b in itertools.pairwise(line))
        heavy = sum(demand[n] for n in stops) > data["capacity"]
        return np.inf if heavy or length * data["use"] > data["battery"] + 1e-9 else length

    return min(
        tour(order[:cut]) + tour(order[cut:])
        for order in itertools.permutations(customers)
        for cut in range(len(customers) + 1)
    )


def interconnector() -> float:
    """Build the matrices of each hour by hand; scipy's interior of HiGHS solves them."""
    from scipy.optimize import linprog

    data = parameters("interconnector")
    areas = list(data["need"])
    paths = [(a, b) for a in areas for b in areas if b in data["rating"].get(a, {})]
    hours, width = 3, len(areas) + len(paths)
    cost, bounds = np.zeros(hours * width), []
    equal, need, above, limit = [], [], [], []
    for t in range(hours):
        base = t * width
        for k, a in enumerate(areas):
            cost[base + k] = data["cost"][a][t]
            bounds.append((0, data["plant"][a]))
        bounds += [(0, data["rating"][a][b]) for a, b in paths]
        for k, n in enumerate(areas):
            row = np.zeros(hours * width)
            row[base + k] = 1.0
            for j, (a, b) in enumerate(paths, len(areas)):
                direct = "island" in (a, b)
                left = 0.98 * (0.985**2 if direct else 1.0)
                row[base + j] += left * (b == n) - (a == n)
            equal.append(row)
            need.append(data["need"][n][t])
        for j, (a, b) in enumerate(paths, len(areas)):
            if t and "island" in (a, b):
                step = np.zeros(hours * width)
                step[base + j], step[base - width + j] = 1.0, -1.0
                above += [step, -step]
                limit += [data["ramp"]] * 2
    found = linprog(cost, np.array(above), limit, np.array(equal), need, bounds)
    return float(found.fun)


def hybrid_vehicle() -> float:
    """Search the currents from many starts; engine and brake follow from each of them."""
    from scipy.optimize import minimize

    data = parameters("hybrid_vehicle")
    demand, hours = np.array(data["demand"], dtype=float), 20.0 / 3600.0
    volts, ohms, room = data["voltage"], data["resistance"], data["capacity"]

    def engine(current: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        motor = (volts * current - ohms * current**2) / 1000.0
        power: np.ndarray[Any, Any] = np.maximum(demand - motor, 0.0)
        return power

    def fuel(current: np.ndarray[Any, Any]) -> float:
        power = engine(current)
        flow = data["fuel_idle"] * (1 - np.exp(-power / 2.0))
        return float(
            np.sum(flow + data["fuel_linear"] * power + data["fuel_square"] * power**2) * 20
        )

    def charge(current: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        left: np.ndarray[Any, Any] = 0.55 * room - np.cumsum(volts * current * hours) / 1000.0
        return left

    limits: list[Any] = [
        {"type": "ineq", "fun": lambda c: charge(c)[-1] - 0.55 * room},
        {"type": "ineq", "fun": lambda c: charge(c) - 0.3 * room},
        {"type": "ineq", "fun": lambda c: 0.8 * room - charge(c)},
        {"type": "ineq", "fun": lambda c: 50.0 - engine(c)},
    ]
    rng, best = np.random.default_rng(3), np.inf
    for _ in range(20):
        begin = rng.uniform(-60, 60, len(demand))
        found = minimize(
            fuel,
            begin,
            bounds=[(-120, 120)] * len(demand),
            constraints=limits,
            method="SLSQP",
            options={"maxiter": 400, "ftol": 1e-12},
        )
        if found.success:
            best = min(best, float(found.fun))
    return best


def least_squares() -> float:
    load = np.array(parameters("least_squares_forecast")["load"])
    t = np.arange(len(load))
    wave = 2 * np.pi * t / 24
    design = np.stack([np.ones_like(wave), t, np.sin(wave), np.cos(wave)], axis=1)
    return float(np.linalg.lstsq(design, load, rcond=None)[1][0])


def two_stage() -> float:
    """The bill is piecewise linear in what is bought ahead: its best kink is a need."""
    data = parameters("two_stage_purchase")
    chances = np.array([0.15, 0.3, 0.3, 0.15, 0.1])
    need = np.array(list(data["need"].values()), dtype=float)

    def bill(ahead: float) -> float:
        more, back = np.maximum(need - ahead, 0), np.maximum(ahead - need, 0)
        late = chances @ (data["day_price"] * more - data["resale"] * back)
        return float(data["ahead_price"] * ahead + late)

    return min(bill(ahead) for ahead in [0.0, *need])


def unit_states() -> Iterator[tuple[int, ...]]:
    """Yield every schedule that keeps three hours on and two off, on for one hour before."""
    for states in itertools.product((0, 1), repeat=9):
        line = (0, 0, 1, *states)
        runs = [(value, len(list(group))) for value, group in itertools.groupby(line)]
        inner = runs[1:-1]  # the first began long ago, the last goes on
        if all(length >= (3 if value else 2) for value, length in inner):
            yield states


def up_and_down() -> float:
    gain: list[float] = parameters("up_and_down_times")["gain"]
    return max(
        sum(g * s for g, s in zip(gain, states, strict=True))
        - 4 * sum(b > a for a, b in itertools.pairwise((1, *states)))
        for states in unit_states()
    )


@pytest.mark.parametrize(
    ("name", "second", "tolerance"),
    [
        ("job_shop", job_shop, 1e-6),
        ("flow_shop_setups", flow_shop, 1e-6),
        ("electric_routing", routing, 1e-5),
        ("interconnector", interconnector, 1e-5),
        ("hybrid_vehicle", hybrid_vehicle, 1e-3),
        ("least_squares_forecast", least_squares, 1e-6),
        ("two_stage_purchase", two_stage, 1e-6),
        ("up_and_down_times", up_and_down, 1e-6),
    ],
)
def test_the_optimum_is_that_of_a_second_way(
    name: str, second: Callable[[], float], tolerance: float
) -> None:
    _, result = solved(name)
    assert result.status in ("optimal", "feasible"), result.reason
    assert result.objective == pytest.approx(second(), rel=tolerance)


def test_the_market_clears_where_no_producer_would_change_its_mind() -> None:
    data = parameters("market_equilibrium")
    price = float(values("market_equilibrium", "price"))
    output = dict(zip(data["base"], values("market_equilibrium", "output"), strict=True))
    for producer, power in output.items():
        wanted = (price - data["base"][producer]) / data["rise"][producer]
        assert power == pytest.approx(min(max(wanted, 0.0), data["most"][producer]), abs=1e-4)
    assert price == pytest.approx(data["choke"] - data["fall"] * sum(output.values()), abs=1e-6)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.json")), ids=lambda path: path.stem)
def test_nothing_in_the_blueprint_is_remarkable(path: Path) -> None:
    found = analyse(Blueprint.load(path)).diagnostics
    assert [d.code for d in found if d.severity != "info"] == []
