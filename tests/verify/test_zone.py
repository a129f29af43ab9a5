"""A heated zone: the limit that is missed, the scheme that is declared, the heat from nowhere."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engiagent.models import ThermalNetwork, ThermalZone
from engiagent.verify.certificate import Certificate
from engiagent.verify.checking import check
from engiagent.verify.requirements import parse_requirements
from tests.verify import example

HOURS = 12
TEXT = "The room must never be colder than 20 °C."
YAML = f"""schema: engiagent-requirements/1
sets:
  - {{name: T, kind: time, start: "18:00", step: 1 h, periods: {HOURS}}}
  - {{name: I, kind: instants, of: T}}
dynamics:
  - name: room
    model: thermal_zone
    index: T
    scheme: SCHEME
    parameters:
      capacitance: "2[kWh/K]"
      resistance: "5[K/kW]"
      ambient_temperature: "0[degC]"
      initial_temperature: "21[degC]"
  - name: stove
    model: heater
    index: T
    parameters: {{cop: 2, electric_power_max: "4[kW]"}}
    connections: {{zone: room}}
requirements:
  - id: R1
    quote: "must never be colder than 20 °C"
    forall: ["i in I"]
    expression: "room.temperature[i] >= 20[degC]"
"""


def run(tmp_path: Path, scheme: str = "exact", **series: Any) -> Certificate:
    problem = dataclasses.replace(
        example.LittleProblem(tmp_path), text=TEXT, body_start=0, sentences=(), quantities=()
    )
    requirements = parse_requirements(YAML.replace("SCHEME", scheme))
    plan = {name.replace("__", "."): values for name, values in series.items()}
    return check(problem, plan, requirements=requirements)


def simulated(power: np.ndarray[Any, Any], scheme: Any = "exact") -> np.ndarray[Any, Any]:
    zone = ThermalZone(name="room", capacitance=2.0, resistance=5.0, initial_temperature=21.0)
    result = ThermalNetwork((zone,)).simulate(0.0, 1.0, 2.0 * power[:, None], scheme=scheme)
    return np.asarray(result[:, 0])


ENOUGH = np.full(HOURS, 2.05)  # holds 20.5 degC


def test_a_plan_that_keeps_warm_is_feasible_with_or_without_temperatures(tmp_path: Path) -> None:
    known = run(tmp_path, stove__electric_power=ENOUGH, room__temperature=simulated(ENOUGH))
    alone = run(tmp_path, stove__electric_power=ENOUGH)
    assert known.verdict == alone.verdict == "feasible"


def test_a_limit_missed_by_a_fifth_of_a_kelvin_is_caught(tmp_path: Path) -> None:
    power = np.full(HOURS, 1.928)  # ends at 19.8 degC
    honest = run(tmp_path, stove__electric_power=power)
    assert {violation["check"] for violation in honest.violations} == {"R1"}
    assert honest.violations[0]["amount"] == pytest.approx(0.2, abs=0.01)
    pretty = np.maximum(simulated(power), 20.0)
    prettified = run(tmp_path, stove__electric_power=power, room__temperature=pretty)
    levels = {violation["level"] for violation in prettified.violations}
    assert levels == {"physics"}


def test_heat_that_no_power_gives_and_power_that_no_stove_has_are_caught(tmp_path: Path) -> None:
    heat = run(tmp_path, stove__electric_power=ENOUGH, stove__heat=ENOUGH * 3)
    power = run(tmp_path, stove__electric_power=ENOUGH + 2.0)
    assert {v["check"] for v in heat.violations} == {"output:stove.heat"}
    assert {v["check"] for v in power.violations} == {"limit:stove.electric_power"}


@pytest.mark.parametrize("scheme", ["euler", "implicit"])
def test_states_are_judged_by_the_declared_scheme_and_the_gap_is_reported(
    tmp_path: Path, scheme: str
) -> None:
    power = np.where(np.arange(HOURS) % 2 == 0, 2.6, 1.9)
    temperature = simulated(power, scheme)
    right = run(tmp_path, scheme, stove__electric_power=power, room__temperature=temperature)
    other = run(tmp_path, "exact", stove__electric_power=power, room__temperature=temperature)
    assert right.verdict == "feasible"
    assert right.levels["physics"]["states"][0]["declared_against_exact"] > 0.01
    assert other.verdict == "violated"
