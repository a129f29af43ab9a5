"""A building's closed loop: ours against hand-written PIQP and HiGHS, and do-mpc.

Five zones of two capacities each, 96 periods of 15 minutes, 1 930 variables; energy at a price that
varies, comfort as a floor on the air temperature that may be broken at a cost. In the QP the cost
of discomfort and a small cost of power are quadratic, in the LP discomfort costs linearly.

Every tool runs its own closed loop. They take turns step by step, so that a slow moment of the
machine meets all of them; the steps are update, solve and read-out of the first control. Costs of
the closed loops must agree before times are compared.

    python benchmarks/mpc.py --steps 96 --json
"""

import argparse
import json
import platform
import sys
import time
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Controller = Callable[[Floats, int], Floats]
"""``(state, step) -> heating powers``: the state is air then mass of all zones."""

ZONES: Final = 5
PERIODS: Final = 96
HOURS: Final = 0.25
POWER_MAX: Final = 4.0
DISCOMFORT: Final = 2.0
CURVATURE: Final = 0.002
AGREEMENT: Final = 1e-6
"""Largest relative difference between the closed-loop costs."""
WARM_UP: Final = 3
"""First steps that are not timed: set-up, first factorisation."""


class Case:
    """The building, its weather, its prices; the same for every tool."""

    def __init__(self, steps: int, quadratic: bool) -> None:
        random = np.random.default_rng(1)
        self.quadratic = quadratic
        length = steps + PERIODS + 1
        hours = np.arange(length) * HOURS
        day = 2 * np.pi * hours / 24
        self.outside = 2 + 6 * np.sin(day - 2.4) + random.normal(0, 0.5, length)
        self.price = 0.25 + 0.1 * np.sin(day - 3.7) + 0.05 * random.random(length)
        self.floor = np.where((hours % 24 >= 7) & (hours % 24 < 19), 21.0, 17.0)
        self.a, self.b, self.d = _discretised(random)
        self.start = np.concatenate([np.full(ZONES, 20.0), np.full(ZONES, 19.0)])

    def next_state(self, state: Floats, power: Floats, step: int) -> Floats:
        """Return the state after one period."""
        result: Floats = self.a @ state + self.b @ power + self.d * self.outside[step]
        return result

    def cost(self, power: Floats, state: Floats, step: int) -> float:
        """Return what a period cost, given the state at its end."""
        short = np.maximum(self.floor[step + 1] - state[:ZONES], 0.0)
        energy = float(self.price[step] * HOURS * power.sum())
        if self.quadratic:
            return energy + float(CURVATURE * power @ power + DISCOMFORT * short @ short)
        return energy + float(DISCOMFORT * short.sum())


def _discretised(random: np.random.Generator) -> tuple[Floats, Floats, Floats]:
    """Return A, B and d of the building by the matrix exponential."""
    from scipy.linalg import expm

    air, mass = random.uniform(0.5, 1.5, ZONES), random.uniform(8, 15, ZONES)
    inner, outer, wall = random.uniform(0.4, 0.8, ZONES), random.uniform(3, 6, ZONES), 4.0
    count = 2 * ZONES
    system = np.zeros((count + ZONES + 1, count + ZONES + 1))
    for z in range(ZONES):
        m = ZONES + z
        system[z, z] -= 1 / inner[z] / air[z] + 1 / outer[z] / air[z]
        system[z, m] += 1 / inner[z] / air[z]
        system[m, m] -= 1 / inner[z] / mass[z]
        system[m, z] += 1 / inner[z] / mass[z]
        system[z, count + z] = 1 / air[z]
        system[z, -1] = 1 / outer[z] / air[z]
        for other in ((z + 1) % ZONES, (z - 1) % ZONES):
            system[z, z] -= 1 / wall / air[z]
            system[z, other] += 1 / wall / air[z]
    exponential = expm(system * HOURS)
    return (
        exponential[:count, :count],
        exponential[:count, count : count + ZONES],
        exponential[:count, -1],
    )


# --- hand-written matrices ---------------------------------------------------------------------


class Matrices:
    """The program by hand: states by stages, then powers, then discomforts."""

    def __init__(self, case: Case) -> None:
        from scipy.sparse import block_diag, csc_array, eye_array, hstack, kron, vstack

        self.case = case
        count = 2 * ZONES
        self.states, self.powers = (PERIODS + 1) * count, PERIODS * ZONES
        self.size = self.states + 2 * self.powers
        ahead = kron(eye_array(PERIODS, PERIODS + 1, k=1), eye_array(count))
        behind = kron(eye_array(PERIODS, PERIODS + 1), csc_array(case.a))
        heat = block_diag([csc_array(case.b)] * PERIODS)
        first = eye_array(count, self.size)
        nothing = csc_array((PERIODS * count, self.powers))
        self.equations = vstack([first, hstack([ahead - behind, -heat, nothing])]).tocsc()
        pick = hstack([eye_array(ZONES), csc_array((ZONES, ZONES))])
        air = kron(eye_array(PERIODS, PERIODS + 1, k=1), pick)
        idle = csc_array((self.powers, self.powers))
        self.limits = hstack([air, idle, eye_array(self.powers)]).tocsc()
        self.lower = np.concatenate([np.full(self.states, -np.inf), np.zeros(2 * self.powers)])
        self.upper = np.full(self.size, np.inf)
        self.upper[self.states : self.states + self.powers] = POWER_MAX

    def cost(self, step: int) -> Floats:
        """Return the linear costs of a step, shape (n,)."""
        result = np.zeros(self.size)
        window = self.case.price[step : step + PERIODS] * HOURS
        result[self.states : self.states + self.powers] = np.repeat(window, ZONES)
        if not self.case.quadratic:
            result[self.states + self.powers :] = DISCOMFORT
        return result

    def right(self, state: Floats, step: int) -> Floats:
        """Return the right-hand sides of the equations."""
        drift = np.outer(self.case.outside[step : step + PERIODS], self.case.d)
        return np.concatenate([state, drift.ravel()])

    def floor(self, step: int) -> Floats:
        """Return the lower sides of the comfort rows."""
        return np.repeat(self.case.floor[step + 1 : step + PERIODS + 1], ZONES)

    def first_power(self, x: Floats) -> Floats:
        """Return the powers of the first period."""
        return x[self.states : self.states + ZONES]


def bare_piqp(case: Case) -> Controller:
    """Return the floor of the QP: PIQP, updated in place."""
    import piqp
    from scipy.sparse import csc_matrix, diags_array

    m = Matrices(case)
    weights = np.zeros(m.size)
    weights[m.states : m.states + m.powers] = 2 * CURVATURE
    weights[m.states + m.powers :] = 2 * DISCOMFORT
    solver: Any = piqp.SparseSolver()
    ceiling = np.full(m.powers, 1e30)
    low, high = np.maximum(m.lower, -1e30), np.minimum(m.upper, 1e30)
    ready: list[bool] = []

    def control(state: Floats, step: int) -> Floats:
        cost, right, floor = m.cost(step), m.right(state, step), m.floor(step)
        if ready:
            solver.update(c=cost, b=right, h_l=floor)
        else:
            matrices = [csc_matrix(part) for part in (m.equations, m.limits)]
            quadratic = csc_matrix(diags_array(weights).tocsc())
            solver.setup(
                quadratic, cost, matrices[0], right, matrices[1], floor, ceiling, low, high
            )
            ready.append(True)
        solver.solve()
        return np.array(m.first_power(solver.result.x))

    return control


def bare_highs(case: Case, shift: bool) -> Controller:
    """Return a floor of the LP: HiGHS, hot from its basis as it was or moved one stage."""
    import highspy
    from scipy.sparse import vstack

    m = Matrices(case)
    matrix = vstack([m.equations, m.limits]).tocsr()
    rows, count = matrix.shape[0], 2 * ZONES
    highs: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    highs.setOptionValue("output_flag", False)
    every_row, every_column = np.arange(rows, dtype=np.int32), np.arange(m.size, dtype=np.int32)
    ready: list[bool] = []

    def moved(status: list[Any], start: int, stop: int, width: int) -> list[Any]:
        return status[start + width : stop] + status[stop - width : stop]

    def move() -> None:
        basis = highs.getBasis()
        c, r = basis.col_status, basis.row_status
        middle, dynamics = m.states + m.powers, len(m.right(case.start, 0))
        basis.col_status = (
            moved(c, 0, m.states, count)
            + moved(c, m.states, middle, ZONES)
            + moved(c, middle, m.size, ZONES)
        )
        basis.row_status = (
            r[:count] + moved(r, count, dynamics, count) + moved(r, dynamics, rows, ZONES)
        )
        basis.alien = True
        highs.setBasis(basis)
        highs.setOptionValue("simplex_strategy", 4)

    def control(state: Floats, step: int) -> Floats:
        right, floor = m.right(state, step), m.floor(step)
        lower = np.concatenate([right, floor])
        upper = np.concatenate([right, np.full(len(floor), np.inf)])
        if ready:
            if shift:
                move()
            highs.changeColsCost(m.size, every_column, m.cost(step))
            highs.changeRowsBounds(rows, every_row, lower, upper)
        else:
            highs.passModel(
                m.size, rows, matrix.nnz, 2, 1, 0.0, m.cost(step), m.lower, m.upper, lower, upper,
                matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32), matrix.data,
                np.zeros(m.size, np.int32),
            )  # fmt: skip
            ready.append(True)
        highs.run()
        return m.first_power(np.array(highs.getSolution().col_value))

    return control


# --- tools -------------------------------------------------------------------------------------


def ours(case: Case) -> Controller:
    """Return the receding-horizon runner on a blueprint."""
    from engiagent.blueprint.document import Blueprint
    from engiagent.control import RecedingHorizon

    runner = RecedingHorizon(
        Blueprint.from_dict(blueprint(case)),
        state={"air": "air_now", "mass": "mass_now"},
        forecasts={
            "price": case.price[:-1],
            "outside": case.outside[:-1],
            "floor": case.floor[1:],
        },
    )

    def control(state: Floats, step: int) -> Floats:
        return np.asarray(
            runner.step({"air_now": state[:ZONES], "mass_now": state[ZONES:]}).values["heat"]
        )

    return control


def blueprint(case: Case) -> dict[str, Any]:
    """Return the plan over one horizon as a blueprint."""
    names = [f"z{k}" for k in range(ZONES)]

    def table(values: Floats) -> Any:
        if values.ndim == 1:
            return dict(zip(names, values.tolist(), strict=True))
        return {name: table(row) for name, row in zip(names, values, strict=True)}

    def known(name: str, index: list[str], value: Any, unit: str = "1") -> dict[str, Any]:
        return {"name": name, "index": index, "value": value, "unit": unit}

    z, n = ZONES, PERIODS
    a, b, d = case.a, case.b, case.d
    blocks = {"aa": a[:z, :z], "am": a[:z, z:], "ma": a[z:, :z], "mm": a[z:, z:]}
    comfort = "2*short[z, t]**2*1[EUR/K**2]" if case.quadratic else "2*short[z, t]*1[EUR/K]"
    effort = " + 0.002*heat[z, t]**2*1[EUR/kW**2]" if case.quadratic else ""
    dynamics = (
        "sum({0}a[z, y]*(air[y, t] - 0[degC]) + {0}m[z, y]*(mass[y, t] - 0[degC])"
        " + {0}h[z, y]*heat[y, t] for y in Z) + {0}o[z]*(outside[t] - 0[degC])"
    )
    return {
        "schema": "engiagent-blueprint/1",
        "kind": "programme",
        "modeling_context": {"problem_essence": "heating five zones at least cost"},
        "core_model_elements": {
            "sets": [
                {"name": "T", "kind": "time", "start": "2025-01-01T00:00", "step": "15 min",
                 "periods": n, "zone": "UTC"},
                {"name": "I", "kind": "instants", "of": "T"},
                {"name": "Z", "kind": "labels", "elements": names},
            ],
            "parameters": [
                *(known(name, ["Z", "Z"], table(part)) for name, part in blocks.items()),
                known("ah", ["Z", "Z"], table(b[:z]), "K/kW"),
                known("mh", ["Z", "Z"], table(b[z:]), "K/kW"),
                known("ao", ["Z"], table(d[:z])),
                known("mo", ["Z"], table(d[z:])),
                known("air_now", ["Z"], 20, "degC"),
                known("mass_now", ["Z"], 19, "degC"),
                known("price", ["T"], case.price[:n].tolist(), "EUR/kWh"),
                known("outside", ["T"], case.outside[:n].tolist(), "degC"),
                known("floor", ["T"], case.floor[1 : n + 1].tolist(), "degC"),
            ],
            "decision_variables": [
                {"name": "air", "index": ["z in Z", "i in I"], "unit": "degC", "role": "state"},
                {"name": "mass", "index": ["z in Z", "i in I"], "unit": "degC", "role": "state"},
                {"name": "heat", "index": ["z in Z", "t in T"], "unit": "kW", "lower": 0,
                 "upper": POWER_MAX, "role": "decision"},
                {"name": "short", "index": ["z in Z", "t in T"], "unit": "K", "lower": 0,
                 "role": "auxiliary"},
            ],
            "constraints": [
                {"constraint_id": "A0", "forall": ["z in Z"],
                 "expression": "air[z, first(I)] == air_now[z]"},
                {"constraint_id": "M0", "forall": ["z in Z"],
                 "expression": "mass[z, first(I)] == mass_now[z]"},
                {"constraint_id": "A", "forall": ["z in Z", "t in T"],
                 "expression": f"air[z, t+1] - 0[degC] == {dynamics.format('a')}"},
                {"constraint_id": "M", "forall": ["z in Z", "t in T"],
                 "expression": f"mass[z, t+1] - 0[degC] == {dynamics.format('m')}"},
                {"constraint_id": "C", "forall": ["z in Z", "t in T"],
                 "expression": "air[z, t+1] + short[z, t] >= floor[t]"},
            ],
            "objective_function": {
                "name": "cost", "sense": "minimize", "unit": "EUR",
                "expression": f"sum(price[t]*heat[z, t]*dt(t) + {comfort}{effort}"
                              " for z in Z for t in T)",
            },
        },
    }  # fmt: skip


def do_mpc(case: Case) -> Controller:
    """Return do-mpc with its default solver, IPOPT."""
    import do_mpc as library

    model = library.model.Model("discrete")
    model.set_variable("_x", "x", (2 * ZONES, 1))
    model.set_variable("_u", "u", (ZONES, 1))
    model.set_variable("_u", "s", (ZONES, 1))
    for name in ("price", "outside", "floor"):
        model.set_variable("_tvp", name)

    def ahead() -> Any:
        drift = case.d.reshape(-1, 1) * model.tvp["outside"]
        return case.a @ model.x["x"] + case.b @ model.u["u"] + drift

    model.set_rhs("x", ahead())
    model.setup()
    x, u, s, following = model.x["x"], model.u["u"], model.u["s"], ahead()
    price, floor = model.tvp["price"], model.tvp["floor"]
    mpc = library.controller.MPC(model)
    mpc.set_param(n_horizon=PERIODS, t_step=HOURS, store_full_solution=False)
    mpc.settings.supress_ipopt_output()
    mpc.settings.nlpsol_opts = {**mpc.settings.nlpsol_opts, "ipopt.tol": 1e-9}
    total = sum(u[k] for k in range(ZONES))
    stage = price * HOURS * total
    for k in range(ZONES):
        short = DISCOMFORT * (s[k] ** 2 if case.quadratic else s[k])
        stage = stage + short + (CURVATURE * u[k] ** 2 if case.quadratic else 0)
    mpc.set_objective(mterm=0 * x[0], lterm=stage)
    mpc.set_rterm(u=0, s=0)
    mpc.bounds["lower", "_u", "u"] = 0.0
    mpc.bounds["upper", "_u", "u"] = POWER_MAX
    mpc.bounds["lower", "_u", "s"] = 0.0
    for k in range(ZONES):
        mpc.set_nl_cons(f"comfort{k}", floor - following[k] - s[k], ub=0)
    template = mpc.get_tvp_template()
    now = [0]

    def series(_: float) -> Any:
        for k in range(PERIODS + 1):
            at = min(now[0] + k, len(case.price) - 2)
            template["_tvp", k, "price"] = case.price[at]
            template["_tvp", k, "outside"] = case.outside[at]
            template["_tvp", k, "floor"] = case.floor[at + 1]
        return template

    mpc.set_tvp_fun(series)
    mpc.setup()
    mpc.x0 = case.start
    mpc.set_initial_guess()

    def control(state: Floats, step: int) -> Floats:
        now[0] = step
        return np.asarray(mpc.make_step(state.reshape(-1, 1))).reshape(-1)[:ZONES]

    return control


def _run(case: Case, tools: dict[str, Callable[[Case], Controller]], steps: int) -> list[Any]:
    """Close all loops, the tools taking turns, and return a row for each."""
    controllers, absent = {}, []
    for name, make in tools.items():
        try:
            controllers[name] = make(case)
        except ImportError as error:
            absent.append(f"{name} ({error.name} is not installed)")
    if absent:
        print(f"left out: {', '.join(absent)}", file=sys.stderr)
    states = dict.fromkeys(controllers, case.start)
    costs = dict.fromkeys(controllers, 0.0)
    times: dict[str, list[float]] = {name: [] for name in controllers}
    for step in range(steps):
        names = list(controllers)
        for name in names[step % len(names) :] + names[: step % len(names)]:
            started = time.perf_counter()
            power = controllers[name](states[name], step)
            times[name].append(time.perf_counter() - started)
            states[name] = case.next_state(states[name], power, step)
            costs[name] += case.cost(power, states[name], step)
    return [
        {
            "case": "QP" if case.quadratic else "LP",
            "tool": name,
            "p50_ms": float(np.quantile(times[name][WARM_UP:], 0.5)) * 1e3,
            "p99_ms": float(np.quantile(times[name][WARM_UP:], 0.99)) * 1e3,
            "mean_ms": float(np.mean(times[name][WARM_UP:])) * 1e3,
            "cost": costs[name],
        }
        for name in controllers
    ]


Tools = dict[str, Callable[[Case], Controller]]
QP_TOOLS: Final[Tools] = {"bare PIQP": bare_piqp, "engiagent": ours, "do-mpc": do_mpc}
LP_TOOLS: Final[Tools] = {
    "bare HiGHS, basis kept": lambda case: bare_highs(case, shift=False),
    "bare HiGHS, basis moved": lambda case: bare_highs(case, shift=True),
    "engiagent": ours,
    "do-mpc": do_mpc,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run both cases and print a table or one JSON object."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--steps", type=int, default=96, help="steps of the closed loop")
    parser.add_argument("--cases", default="QP,LP", help="QP, LP or both")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    options = parser.parse_args(arguments)
    rows: list[Any] = []
    for name in options.cases.split(","):
        case = Case(options.steps, name == "QP")
        found = _run(case, QP_TOOLS if name == "QP" else LP_TOOLS, options.steps)
        compare_costs(found)
        floor = min((r for r in found if r["tool"].startswith("bare")), key=lambda r: r["p50_ms"])
        rows += [{**row, "over_floor": row["p50_ms"] / floor["p50_ms"]} for row in found]
    if options.json:
        print(json.dumps({"rows": rows, "versions": _versions(), "machine": platform.platform()}))
        return
    print(f"{'case':5}{'tool':26}{'p50 ms':>9}{'p99 ms':>9}{'/floor':>8}{'cost':>16}")
    for r in rows:
        numbers = f"{r['p50_ms']:9.2f}{r['p99_ms']:9.2f}{r['over_floor']:8.2f}{r['cost']:16.9f}"
        print(f"{r['case']:5}{r['tool']:26}{numbers}")


def compare_costs(rows: list[Any]) -> None:
    """End the program when the closed loops did not cost the same."""
    first = rows[0]
    for row in rows[1:]:
        if not abs(row["cost"] - first["cost"]) <= AGREEMENT * max(1.0, abs(first["cost"])):
            raise SystemExit(
                f"{row['case']}: the loop of {first['tool']} costs {first['cost']!r}, "
                f"that of {row['tool']} {row['cost']!r}"
            )


def _versions() -> dict[str, str]:
    found = {}
    for name in ("engiagent", "piqp", "highspy", "do-mpc", "casadi", "numpy", "scipy"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


if __name__ == "__main__":
    main()
