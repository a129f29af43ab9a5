"""Buildings whose answer is that there is none, and what is open where the text leaves a gap."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


def route(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def answer(name: str) -> Any:
    path = ROOT / "problems" / "thermal" / name / "expert" / "answer.json"
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("name", "low", "high", "differ"),
    [
        ("lido_missing_volume", 300.0, 900.0, 1.0),
        ("care_home_missing_premium", 0.0, 0.6, 5.0),
        ("sports_hall_two_minimums", 10.0, 13.0, 1.0),
    ],
)
def test_what_is_open_moves_the_optimum(name: str, low: float, high: float, differ: float) -> None:
    solve = getattr(route("thermal_limits"), name)
    assert abs(solve(low) - solve(high)) > differ
    assert answer(name)["verdict"] == "ill-posed"
    assert answer(name)["missing"]


def test_the_organ_and_not_the_heater_keeps_the_chapel_cold() -> None:
    highest = route("thermal_limits").chapel_organ_infeasible
    assert highest() < 16 < highest(organ=False)
    assert answer("chapel_organ_infeasible")["verdict"] == "proven infeasible"


def test_no_choice_of_units_lasts_to_the_evening() -> None:
    assert 6 < route("thermal_limits").server_room_resting_units() < 12
    assert answer("server_room_resting_units")["verdict"] == "proven infeasible"
