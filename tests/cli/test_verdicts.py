"""What small blueprints come to, from the file to the certificate."""

from pathlib import Path
from typing import Any

import pytest

from tests.cli import blueprints
from tests.cli.asking import answer, invoke


def verdict(tmp_path: Path, **core: Any) -> dict[str, Any]:
    path = blueprints.write(tmp_path / "blueprint.json", **core)
    return answer(invoke("solve", path, "--out", tmp_path / "run", "--json"))


@pytest.mark.parametrize(("unit", "least"), [("degC", 12.0), ("degF", 53.6)])
def test_an_objective_may_be_a_temperature(tmp_path: Path, unit: str, least: float) -> None:
    found = verdict(
        tmp_path,
        decision_variables=[
            {"name": "room", "lower": 5, "upper": 30, "unit": "degC"},
            {"name": "heat", "lower": 0, "upper": 8, "unit": "kW"},
        ],
        parameters=[{"name": "rise", "value": 0.5, "unit": "kW/K"}],
        constraints=[
            {"constraint_id": "warm", "expression": "heat == rise*(room - 4[degC])"},
            {"constraint_id": "least", "expression": "heat >= 4[kW]"},
        ],
        objective_function={"sense": "minimize", "unit": unit, "expression": "room"},
    )
    assert found["verdict"] == "certified"
    assert found["objective"]["value"] == pytest.approx(least, abs=1e-6)
    assert found["bound"] == pytest.approx(least, abs=1e-4)


@pytest.mark.parametrize(
    ("need", "verdict_"), [(9.0, "proven infeasible"), (8.0 * (1 + 1e-12), "certified")]
)
def test_numbers_that_contradict_each_other_need_no_solver_to_prove_it(
    tmp_path: Path, need: float, verdict_: str
) -> None:
    found = verdict(
        tmp_path,
        decision_variables=[{"name": "heat", "lower": 0, "upper": "limit", "unit": "kW"}],
        parameters=[
            {"name": "limit", "value": 8, "unit": "kW"},
            {"name": "need", "value": need, "unit": "kW"},
        ],
        constraints=[
            {"constraint_id": "enough", "expression": "need <= limit"},
            {"constraint_id": "some", "expression": "heat >= 1[kW]"},
        ],
        objective_function={"sense": "minimize", "unit": "kW", "expression": "heat"},
    )
    assert found["verdict"] == verdict_


def test_bounds_that_cross_need_no_ray(tmp_path: Path) -> None:
    found = verdict(
        tmp_path,
        decision_variables=[{"name": "heat", "lower": "need", "upper": "limit", "unit": "kW"}],
        parameters=[
            {"name": "limit", "value": 8, "unit": "kW"},
            {"name": "need", "value": 9, "unit": "kW"},
        ],
        constraints=[{"constraint_id": "some", "expression": "heat >= 1[kW]"}],
        objective_function={"sense": "minimize", "unit": "kW", "expression": "heat"},
    )
    assert found["verdict"] == "proven infeasible"
