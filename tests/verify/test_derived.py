"""Derived matrices of coupled rooms carry no relation; executing the plan is what judges them."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from engiagent.blueprint import Blueprint
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.expansion import expand
from engiagent.solvers.solution import to_dataset
from engiagent.solvers.solving import solve
from engiagent.text import Problem
from engiagent.verify.certificate import Certificate
from engiagent.verify.checking import check
from tests import blueprints
from tests.written import mapping

TEXT = """# Two rooms

Room a has a heat capacity of 2 kWh/K, room b one of 3 kWh/K. The resistance to the outside is
8 K/kW for a and 6 K/kW for b; between the rooms it is 4 K/kW. It is 0 °C outside. Both rooms are
at 18 °C at the start and must never fall below 17 °C. Each has a 5 kW heater. Electricity costs
0.30 EUR/kWh. Plan 6 hours with the smallest cost in EUR.
"""


def quoted(words: str) -> dict[str, object]:
    start = TEXT.index(words)
    return {"kind": "text", "span": [start, start + len(words)], "quote": words}


NUMBERS = [
    ("C_a", 2, "kWh/K", "2 kWh/K"),
    ("C_b", 3, "kWh/K", "3 kWh/K"),
    ("R_a", 8, "K/kW", "8 K/kW"),
    ("R_b", 6, "K/kW", "6 K/kW"),
    ("R_ab", 4, "K/kW", "4 K/kW"),
    ("outside", 0, "degC", "0 °C"),
    ("T0", 18, "degC", "18 °C"),
    ("low", 17, "degC", "17 °C"),
    ("P", 5, "kW", "5 kW"),
    ("price", 0.3, "EUR/kWh", "0.30 EUR/kWh"),
]
SITE = """
sets:
- {name: T, kind: time, start: "00:00", step: 1 h, periods: 6}
- {name: I, kind: instants, of: T}
decision_variables: []
components:
- {name: a, model: thermal_zone, index: T, connections: {neighbours: {b: R_ab}}, parameters: {
     capacitance: C_a, resistance: R_a, initial_temperature: T0, ambient_temperature: outside}}
- {name: b, model: thermal_zone, index: T, connections: {neighbours: {a: R_ab}}, parameters: {
     capacitance: C_b, resistance: R_b, initial_temperature: T0, ambient_temperature: outside}}
- {name: heater_a, model: heater, index: T, parameters: {electric_power_max: P},
   connections: {zone: a}}
- {name: heater_b, model: heater, index: T, parameters: {electric_power_max: P},
   connections: {zone: b}}
objective_function:
  sense: minimize
  unit: EUR
  expression:
    sum(price*(heater_a_electric_power[t] + heater_b_electric_power[t])*dt(t) for t in T)
"""


def blueprint() -> Blueprint:
    core = mapping(SITE)
    goal = quoted("Plan 6 hours with the smallest cost in EUR.")
    core["objective_function"]["source_reference"] = goal
    core["parameters"] = [
        {"name": name, "value": value, "unit": unit, "source_reference": quoted(words)}
        for name, value, unit, words in NUMBERS
    ]
    warm = {"forall": ["i in I"], "source_reference": quoted("must never fall below 17 °C")}
    core["constraints"] = [
        {"constraint_id": f"warm_{name}", "expression": f"{name}_temperature[i] >= low", **warm}
        for name in "ab"
    ]
    return blueprints.blueprint(**core)


def verdict(tmp_path: Path, model: Blueprint) -> Certificate:
    (tmp_path / "problem.md").write_text(TEXT, encoding="utf-8")
    program = compile_blueprint(model)
    return check(Problem.load(tmp_path), to_dataset(program, solve(program, isolate=False)), model)


def test_the_true_matrices_are_certified(tmp_path: Path) -> None:
    certificate = verdict(tmp_path, expand(blueprint()))
    assert certificate.verdict == "solved", certificate.to_json()
    assert certificate.plan["optimum"] == "recomputed"


@pytest.mark.parametrize("factor", [0.9, 1.05])
def test_an_altered_matrix_breaks_the_physics(factor: float, tmp_path: Path) -> None:
    full = expand(blueprint())
    (name,) = (p.name for p in full.core.parameters if p.name == "a_from_b")
    altered = tuple(
        replace(p, value=p.value * factor) if p.name == name else p for p in full.core.parameters
    )
    certificate = verdict(tmp_path, full.with_core(parameters=altered))
    assert certificate.verdict == "violated"
    assert json.loads(certificate.to_json())["levels"]["physics"]["status"] == "fail"
