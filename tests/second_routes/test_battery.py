"""Batteries whose answer is that there is none: what the second routes say of them."""

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
    path = ROOT / "problems" / "battery" / name / "expert" / "answer.json"
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("name", "argument", "low", "high", "differ"),
    [
        ("missing_two_prices", "price", 0.0, 150.0, 200.0),
        ("contradictory_capacity", "capacity", 45.0, 60.0, 1.0),
    ],
)
def test_what_is_open_moves_the_optimum(
    name: str, argument: str, low: float, high: float, differ: float
) -> None:
    solve = getattr(route("battery_security"), name)
    assert abs(solve(**{argument: low}) - solve(**{argument: high})) > differ
    assert answer(name)["verdict"] == "ill-posed"
    assert answer(name)["missing"]


def test_the_market_hall_needs_more_than_a_full_battery() -> None:
    assert route("battery_security").market_hall_infeasible() > 75 + 40
    assert answer("market_hall_infeasible")["verdict"] == "proven infeasible"
