"""An operations researcher with a Pyomo model of string indices: proof, conflict, way back."""

from pathlib import Path
from typing import Any

import pytest

from engiagent.blueprint import Blueprint
from engiagent.formulations.classify import classify
from engiagent.formulations.compile import compile_blueprint
from engiagent.solvers.solving import solve
from tests.doors.conftest import Door

DEMAND = {"08:00": 90, "09:00": 120, "10:00": 140, "11:00": 150, "12:00": 110, "13:00": 70}
UNITS = {"chp": (9, 60, 0.07), "boiler_A": (0, 80, 0.11), "grid-1": (0, 50, 0.3)}
"""Least and largest output, cost per unit of it."""
ON = 2


def heat_plant(grid: float) -> Any:
    """Return units that are switched on and off, with names as people give them."""
    import pyomo.environ as pyo

    units = {**UNITS, "grid-1": (0, grid, 0.3)}
    m = pyo.ConcreteModel()
    m.u, m.h = pyo.Set(initialize=list(units)), pyo.Set(initialize=list(DEMAND))
    m.p = pyo.Var(m.u, m.h, within=pyo.NonNegativeReals)
    m.on = pyo.Var(m.u, m.h, within=pyo.Binary)
    m.top = pyo.Constraint(m.u, m.h, rule=lambda m, u, h: m.p[u, h] <= units[u][1] * m.on[u, h])
    m.low = pyo.Constraint(m.u, m.h, rule=lambda m, u, h: m.p[u, h] >= units[u][0] * m.on[u, h])
    m.balance = pyo.Constraint(m.h, rule=lambda m, h: sum(m.p[u, h] for u in m.u) == DEMAND[h])
    cost = sum(units[u][2] * m.p[u, h] + ON * m.on[u, h] for u in m.u for h in m.h)
    m.cost = pyo.Objective(expr=cost)
    return m


def by_merit() -> float:
    """Return the optimum by hand: the cheapest units, each as full as it gets, hour by hour."""
    total = 0.0
    for demand in DEMAND.values():
        for _, most, price in UNITS.values():
            power = min(most, demand)
            total += price * power + ON * (power > 0)
            demand -= power
    return total


def test_a_model_goes_in_and_its_proof_comes_out(door: Door) -> None:
    with door.step("Pyomo: state the model, write old.lp"):
        heat_plant(50).write("old.lp", io_options={"symbolic_solver_labels": True})
    said = door.types("engiagent import old.lp -o old.json")
    assert "2 variables" in said
    assert "MILP" in door.types("engiagent lint old.json")
    said = door.types("engiagent solve old.json --out runs/old --explain")
    assert "old: certified" in said
    assert f"objective  {by_merit():.6g}" in said
    door.types("engiagent check runs/old --exact")
    said = door.types(
        "engiagent solve old.json --out runs/scip --backend scip --second-solver highs"
    )
    assert "old: certified" in said
    with door.step("Python: compile, classify, solve"):
        program = compile_blueprint(Blueprint.load("old.json"))
        assert (program.row_count, program.column_count) == (42, 36)
        assert classify(program).problem_class == "MILP"
        assert solve(program).objective == pytest.approx(by_merit())


def test_a_conflict_is_explained_in_the_names_of_the_model(door: Door) -> None:
    """At 11:00 chp and boiler_A give 140 of 150, so grid-1 needs 10."""
    with door.step("Pyomo: state the tight model, write tight.lp"):
        heat_plant(5).write("tight.lp", io_options={"symbolic_solver_labels": True})
    door.types("engiagent import tight.lp -o tight.json")
    said = door.types("engiagent explain tight.json", code=3)
    for words in (
        "cannot hold together",
        "balance(_11_00_)",
        "grid_1__11_00_",
        "Farkas ray",
        "to 145",
    ):
        assert words in said
    assert "None" not in said


def test_it_ends_in_pyomo_again(door: Door) -> None:
    heat_plant(50).write("old.lp", io_options={"symbolic_solver_labels": True})
    door.types("engiagent import old.lp -o old.json")
    door.types("engiagent solve old.json --out runs/old")
    said = door.types("python runs/old/model.py")
    assert f"objective: {by_merit():.6g}" in said
    door.types("engiagent emit runs/old/blueprint.json --to latex -o plant.tex")
    assert r"\sum" in Path("plant.tex").read_text("utf-8")
