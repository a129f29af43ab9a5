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
from mpc_case import (
    CURVATURE,
    DISCOMFORT,
    HOURS,
    PERIODS,
    POWER_MAX,
    ZONES,
    Case,
    Floats,
    blueprint,
)

Controller = Callable[[Floats, int], Floats]
"""``(state, step) -> heating powers``: the state is air then mass of all zones."""

AGREEMENT: Final = 1e-6
"""Largest relative difference between the closed-loop costs."""
WARM_UP: Final = 3
"""First steps that are not timed: set-up, first factorisation."""


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
    from scipy.sparse import vstack

    from engiagent.solvers.highs import silent_class

    m = Matrices(case)
    matrix = vstack([m.equations, m.limits]).tocsr()
    rows, count = matrix.shape[0], 2 * ZONES
    highs = silent_class()()
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
                m.size,
                rows,
                matrix.nnz,
                2,
                1,
                0.0,
                m.cost(step),
                m.lower,
                m.upper,
                lower,
                upper,
                matrix.indptr.astype(np.int32),
                matrix.indices.astype(np.int32),
                matrix.data,
                np.zeros(m.size, np.int32),
            )
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
        forecasts={"price": case.price[:-1], "outside": case.outside[:-1], "floor": case.floor[1:]},
    )

    def control(state: Floats, step: int) -> Floats:
        return np.asarray(
            runner.step({"air_now": state[:ZONES], "mass_now": state[ZONES:]}).values["heat"]
        )

    return control


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
