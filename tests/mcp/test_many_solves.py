"""A client that only sees tools sweeps, sizes and controls, and is told of what it changed."""

from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from engiagent.tools import tools
from tests.mcp.recording import workspace
from tests.mcp.test_server import asked

PLANT = """\
horizon: {start: 2026-06-01, step: 1 h, periods: 24, weight: 365}
components:
  grid: {model: grid, import_price: PRICE}
  hall: {model: load, power: 20 kW}
  battery:
    model: battery
    energy_capacity: {between: [0 kWh, 100 kWh], costs: 100 EUR/kWh, lifetime: 10 a, rate: 0 %}
    charge_power_max: 20 kW
    discharge_power_max: 20 kW
    initial_energy: 0 kWh
goal: {minimize: cost}
baseline: {without: [battery]}
"""


def answers(folder: Path, *calls: tuple[str, dict[str, Any]]) -> list[Any]:
    """Return the structured answers to calls, each held to its schema."""

    async def work(client: Any) -> list[Any]:
        offered = {tool.name: tool.output_schema for tool in (await client.list_tools()).tools}
        found = []
        for name, given in calls:
            answer = await client.call_tool(name, given)
            if not answer.is_error:
                Draft202012Validator(offered[name]).validate(answer.structured_content)
            found.append(answer.structured_content)
        return found

    found: list[Any] = asked(folder, work)
    return found


def test_a_sweep_and_a_front_after_an_override_say_so(tmp_path: Path) -> None:
    size = {"name": "battery.energy_capacity", "value": 950, "unit": "kWh"}
    *before, change, swept, studied, loop, wrong, unknown = answers(
        workspace(tmp_path),
        ("load_problem", {"path": "brewery"}),
        ("analyse", {}),
        ("lint", {}),
        ("set_parameter", size),
        ("sweep", {"vary": ["battery.energy_capacity=900,1000[kWh]"]}),
        ("study", {"kind": "sensitivity", "of": ["battery.energy_capacity"]}),
        ("control", {"steps": 3}),
        ("control", {"step": 3}),
        ("lint", {"frm": "x"}),
    )
    assert not any("overrides" in answer for answer in before)
    for answer in (change, swept, studied, loop, wrong):
        assert [entry["name"] for entry in answer["overrides"]] == ["E_max"], answer
        assert answer["overrides"][0]["after"] == 950
    costs = [row["objective"] for row in swept["rows"]]
    assert costs[1] < costs[0]
    assert studied["kind"] == "sensitivity"
    assert sum(loop["outcomes"].values()) == 3
    assert "no argument 'step'; expected 'steps', of steps, horizon" in wrong["error"]
    assert "'frm'; expected none" in unknown["error"]


def test_a_size_is_chosen_with_what_it_earns(tmp_path: Path) -> None:
    prices = ", ".join(["0.10 EUR/kWh"] * 12 + ["0.40 EUR/kWh"] * 12)
    (tmp_path / "hall.yaml").write_text(PLANT.replace("PRICE", f"[{prices}]"), encoding="utf-8")
    _, _, found, none, loop = answers(
        tmp_path,
        ("load_problem", {"path": "hall.yaml"}),
        ("analyse", {}),
        ("sizing", {}),
        ("sizing", {"time_limit": -1}),
        ("control", {"steps": 2}),
    )
    # A kilowatt hour is moved each day and saves 0.30 EUR: 109.50 EUR a year for 10 EUR a year.
    assert found["sizes"] == {"battery.energy_capacity": {"value": 100.0, "unit": "kWh"}}
    saving = next(case for case in found["cases"] if case["case"] == "baseline")
    assert abs(saving["saving"] - 100 * (0.30 * 365 - 10)) < 1e-6
    assert abs(saving["payback_years"] - 10000 / (100 * 0.30 * 365)) < 1e-9
    assert "sizing.time_limit" in none["error"]
    assert "found battery.energy_capacity" in loop["error"]  # which has no size yet
    assert {"sweep", "study", "sizing", "control"} <= set(tools())
