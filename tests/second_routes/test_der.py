"""Distributed energy whose answer is that there is none, and what else the second routes say."""

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
    path = ROOT / "problems" / "der" / name / "expert" / "answer.json"
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("name", "argument", "low", "high", "differ"),
    [
        ("missing_fuel_price", "diesel", 3.0, 9.0, 500.0),
        ("missing_trip_energy", "bella", 25.0, 60.0, 5.0),
    ],
)
def test_what_is_open_moves_the_optimum(
    name: str, argument: str, low: float, high: float, differ: float
) -> None:
    solve = getattr(route("der_limits"), name)
    assert abs(solve(**{argument: low}) - solve(**{argument: high})) > differ
    assert answer(name)["verdict"] == "ill-posed"
    assert answer(name)["missing"]


def test_the_ferry_has_too_little_left() -> None:
    assert route("der_limits").ferry_dock_infeasible() < 500
    assert answer("ferry_dock_infeasible")["verdict"] == "proven infeasible"


@pytest.mark.parametrize("name", ["island_reserve_infeasible", "contradictory_export"])
def test_what_is_demanded_exceeds_what_can_be(name: str) -> None:
    assert getattr(route("der_limits"), name)() > 0
    assert answer(name)["verdict"] == "proven infeasible"


def test_storage_makes_the_eight_hours_cheaper() -> None:
    solve = route("der_market").eight_hour_market
    assert solve(0.0) > solve() + 1000
