"""Plants of heat and cold whose answer is that there is none, and what else the routes say."""

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
    path = ROOT / "problems" / "hvac" / name / "expert" / "answer.json"
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("name", "first", "second", "differ"),
    [
        ("missing_free_cooling_approach", {"approach": 8}, {"approach": 20}, 100),
        ("missing_ice_plate", {"capacity": 96}, {"capacity": 180}, 3),
        ("missing_ice_plate", {"night": 12}, {"night": 24}, 3),
    ],
)
def test_what_is_open_moves_the_optimum(
    name: str, first: dict[str, float], second: dict[str, float], differ: float
) -> None:
    solve = getattr(route("hvac_limits"), name)
    assert abs(solve(**first) - solve(**second)) > differ
    assert answer(name)["verdict"] == "ill-posed"
    assert answer(name)["missing"]


@pytest.mark.parametrize(
    "name", ["laboratory_minimum_load", "heat_wave_district", "contradictory_supply_air"]
)
def test_what_is_demanded_exceeds_what_can_be(name: str) -> None:
    assert getattr(route("hvac_limits"), name)() > 0
    assert answer(name)["verdict"] == "proven infeasible"


def test_the_ice_of_the_dairy_has_a_least_size() -> None:
    solve = route("hvac_limits").missing_ice_plate
    with pytest.raises(RuntimeError):
        solve(capacity=94.9)
    assert solve(capacity=95.1) > solve(capacity=200)
