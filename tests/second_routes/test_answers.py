"""Every expert answer of the corpus against its second route, which knows nothing of engiagent."""

import importlib.util
import json
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
ANSWERS = sorted((ROOT / "problems").glob("*/*/expert/answer.json"))


def load(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


@cache
def route(name: str) -> ModuleType:
    path = Path(__file__).parent / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"second_route_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def expert(name: str) -> Any:
    return load(next(path for path in ANSWERS if path.parts[-3] == name))


def second(answer: Any) -> float:
    """Return the objective by the second route: a function of its script, ``solve`` by default."""
    way = answer["second_route"]
    return float(getattr(route(Path(way["script"]).stem), way.get("function", "solve"))())


@pytest.mark.parametrize("path", ANSWERS, ids=lambda path: str(path.parts[-3]))
def test_the_second_route_stands_where_the_answer_says_and_is_independent(path: Path) -> None:
    script = ROOT / load(path)["second_route"]["script"]
    text = script.read_text(encoding="utf-8")
    assert "engiagent" not in text
    assert "blueprint" not in text


@pytest.mark.parametrize(
    "path",
    [path for path in ANSWERS if "objective" in load(path)],
    ids=lambda path: str(path.parts[-3]),
)
def test_the_second_route_reaches_the_objective_of_the_answer(path: Path) -> None:
    answer = load(path)
    assert answer["verdict"] in ("certified", "feasible")
    value = second(answer)
    tolerance = answer["relative_tolerance"]
    assert value == pytest.approx(answer["objective"]["value"], rel=tolerance)
    assert value == pytest.approx(answer["second_route"]["objective"], rel=tolerance)
    if answer["verdict"] == "certified":
        assert value == pytest.approx(answer["bound"], rel=tolerance)


@pytest.mark.parametrize("path", ANSWERS, ids=lambda path: str(path.parts[-3]))
def test_sentences_that_contradict_each_other_stand_in_the_text(path: Path) -> None:
    text = " ".join((path.parents[1] / "problem.md").read_text(encoding="utf-8").split())
    sentences = load(path).get("contradiction", ["", ""])
    assert len(sentences) >= 2
    assert all(sentence in text for sentence in sentences)


def test_merchant_day_is_bracketed_by_allowed_plans_and_by_the_relaxation() -> None:
    module = route("merchant_day")
    value = expert("merchant_day")["objective"]["value"]
    assert value - 0.1 < module.grid_profit(0.01) <= value
    # The relaxation burns energy at negative prices; a plan that promises so much is wrong.
    assert module.relaxed_profit() > value + 10


def test_missing_efficiency_leaves_the_income_open() -> None:
    low, high = route("missing_efficiency").solve()
    assert high > 1.25 * low
    answer = expert("missing_efficiency")
    assert answer["verdict"] == "ill-posed"
    assert answer["missing"] == ["battery.charge_efficiency", "battery.discharge_efficiency"]


def test_office_temperatures_are_those_of_the_differential_equation() -> None:
    module = route("office_heat_pump")
    _, power = module.plan()
    np.testing.assert_allclose(module.integrated(power, 200), module.temperatures(power), atol=1e-8)


def test_cold_snap_fails_at_full_power_with_either_discretisation() -> None:
    module = route("cold_snap_infeasible")
    assert expert("cold_snap_infeasible")["verdict"] == "proven infeasible"
    assert module.solve() > 1.0
    assert min(module.warmest_exact()) < module.LOWEST - 0.5


def test_rooftop_optimum_is_unique() -> None:
    first, second = route("rooftop_pv").candidates()[:2]
    assert first == (16200, "B", (3, 102, 0))
    assert second[0] > first[0]
