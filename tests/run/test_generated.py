"""Formulas that components write are judged by execution; one that was changed is not theirs."""

from dataclasses import replace
from pathlib import Path
from typing import Any

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


TOWER = """\
horizon: {start: 2026-07-01, step: 1 h, periods: 2}
components:
  grid: {model: grid, bus: power, import_price: 0.3 EUR/kWh}
  need: {model: load, bus: cold, power: 10 kW}
  machine: {model: chiller, bus: power, cooling_bus: cold, heat_bus: condenser,
    rated_capacity: 30 kW, rated_cop: 4}
  tower: {model: cooling_tower, bus: power, heat_bus: condenser, rated_water_flow: 3 kg/s,
    rated_fan_power: 1 kW, wet_bulb_temperature: 20 degC}
goal: {minimize: cost}
"""

ZONE = """\
horizon: {start: 2026-01-01, step: 1 h, periods: 2}
components:
  grid: {model: grid, import_price: 0.3 EUR/kWh}
  need: {model: load, power: [1 kW, 2 kW]}
  battery: {model: battery, energy_capacity: 4 kWh, charge_power_max: 2 kW,
    discharge_power_max: 2 kW, charge_efficiency: 0.95, discharge_efficiency: 0.95,
    initial_energy: 2 kWh, final_energy_min: 2 kWh}
  roof: {model: pv, dc_capacity: 5 kW, irradiance: 100 W/m2, air_temperature: 2 degC}
  room: {model: zone_5r1c, mass_capacity: 4 kWh/K, mass_area: 100 m2, surface_area: 200 m2,
    window_conductance: 0.05 kW/K, opaque_conductance: 0.08 kW/K, ventilation: 0.05 kW/K,
    ambient_temperature: 2 degC, initial_temperature: 20 degC, temperature_min: 16 degC,
    temperature_max: 24 degC, internal_gains: 0.3 kW}
goal: {minimize: cost}
"""


@pytest.mark.parametrize(
    ("plant", "constant", "other"),
    [
        (PLANT, "273.15", "300"),
        (TOWER, "22.2[K]", "25[K]"),  # in the bound of a variable
        (ZONE, "1000[W/m2]", "900[W/m2]"),  # beside a component that adds sets of its own
    ],
)
@pytest.mark.parametrize("as_it_is", [True, False])
def test_a_written_out_formula_counts_as_its_component_s(
    tmp_path: Path, plant: str, constant: str, other: str, as_it_is: bool
) -> None:
    def changed(text: Any) -> Any:
        return text if as_it_is or not isinstance(text, str) else text.replace(constant, other)

    full = expand(stated(tmp_path, plant, block=True))
    formulas = [*(p.value for p in full.core.parameters)]
    formulas += [v.upper for v in full.core.decision_variables]
    assert any(constant in str(formula) for formula in formulas)
    again = full.with_core(
        parameters=tuple(replace(p, value=changed(p.value)) for p in full.core.parameters),
        decision_variables=tuple(
            replace(v, upper=changed(v.upper)) for v in full.core.decision_variables
        ),
    )
    written = Blueprint.from_dict(again.to_dict())
    program = compile_blueprint(written, tmp_path)
    data = to_dataset(program, solve(program, isolate=False))
    problem = Problem.load(tmp_path / "problem.md")
    found = certify(problem, data, written, folder=tmp_path, name="site")
    assert (found.levels["data"]["status"] == "pass") == as_it_is, found.levels["data"]
    assert (found.verdict == "certified") == as_it_is
