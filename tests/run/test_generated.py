"""Formulas that components write are judged by execution; one that was changed is not theirs."""

from dataclasses import replace
from pathlib import Path

import pytest

from engiagent.blueprint import Blueprint
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.expansion import expand
from engiagent.run.certify import certify
from engiagent.solvers.solution import to_dataset
from engiagent.solvers.solving import solve
from engiagent.text import Problem
from tests.plant.plants import stated

PLANT = """\
horizon: {start: 2026-01-01, step: 1 h, periods: 2}
components:
  grid: {model: grid, bus: power, import_price: 0.2 EUR/kWh}
  house: {model: load, bus: heat, power: 3 kW}
  pump:
    model: heat_pump
    bus: power
    heat_bus: heat
    rated_capacity: 9 kW
    carnot_fraction: 40 %
    source_temperature: 0 degC
    sink_temperature: 35 degC
goal: {minimize: cost}
"""


@pytest.mark.parametrize("kelvin", ["273.15", "300"])
def test_a_written_out_formula_counts_as_its_component_s(tmp_path: Path, kelvin: str) -> None:
    plant = stated(tmp_path, PLANT, block=True)
    core = expand(plant).core
    changed = tuple(
        replace(p, value=p.value.replace("273.15", kelvin)) if isinstance(p.value, str) else p
        for p in core.parameters
    )
    written = Blueprint.from_dict(expand(plant).with_core(parameters=changed).to_dict())
    program = compile_blueprint(written, tmp_path)
    data = to_dataset(program, solve(program, isolate=False))
    problem = Problem.load(tmp_path / "problem.md")
    found = certify(problem, data, written, folder=tmp_path, name="site")
    assert (found.levels["data"]["status"] == "pass") == (kelvin == "273.15")
    assert (found.verdict == "certified") == (kelvin == "273.15")
