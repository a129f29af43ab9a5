"""The annotated requirements, taken alone as a model, have the same optimum as the answer.

If a requirement were forgotten, this optimum would be better than the answer; if one said more than
the text, it would be worse. The blueprint plays no part.
"""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from engiagent.blueprint.document import Blueprint
from engiagent.blueprint.elements import ConstraintDef, Context, ObjectiveDef, VariableDef
from engiagent.formulations.compile import compile_blueprint
from engiagent.solvers.result import SolverResult
from engiagent.solvers.solving import solve
from engiagent.verify.requirements import Requirements, load_requirements

PROBLEMS = Path(__file__).parents[2] / "problems"
QUANTITY = re.compile(r"\b[a-z_]+(?:\.[a-z_]+)+\b")
UNITS = {"temperature": "degC", "state_of_charge": "kWh", "panels": "panel", "mounting": "1"}
SETS = {"temperature": "I", "state_of_charge": "I", "panels": "Products", "mounting": "Mountings"}
WHOLE = ("panels", "mounting")  # what no linear row can say


def flat(expression: str) -> str:
    """Return an expression with quantities as plain names."""
    return QUANTITY.sub(lambda match: match[0].replace(".", "_"), expression)


def is_linear(expression: str) -> bool:
    return not re.search(r"\bmin\(|\bsin\(|mounting\[k\]\*\(1", expression)


def as_model(given: Requirements, without: str = "") -> Blueprint:
    """Return the requirements as a blueprint, one of them left out if wanted."""
    assert given.objective is not None
    texts = [r.expression for r in given.requirements] + [given.objective.expression]
    quantities = sorted({name for text in texts for name in QUANTITY.findall(text)})
    variables = []
    for quantity in quantities:
        series = quantity.rpartition(".")[2]
        variables.append(
            VariableDef(
                name=quantity.replace(".", "_"),
                index=(f"i in {SETS.get(series, 'T')}",),
                unit=UNITS.get(series, "kW"),
                type="integer" if series in WHOLE else "continuous",
                lower=0 if series in WHOLE else -100_000,
                upper=1000 if series in WHOLE else 100_000,
            )
        )
    core = replace(
        given.core,
        decision_variables=tuple(variables),
        objective_function=ObjectiveDef(
            sense="minimize" if given.objective.sense == "minimize" else "maximize",
            expression=flat(given.objective.expression),
            unit=given.objective.unit,
        ),
        constraints=tuple(
            ConstraintDef(
                constraint_id=r.id, forall=r.forall, where=r.where, expression=flat(r.expression)
            )
            for r in given.requirements
            if is_linear(r.expression) and r.id != without
        ),
    )
    return Blueprint(modeling_context=Context(problem_essence="a test"), core_model_elements=core)


def solution_of(folder: Path, without: str = "") -> SolverResult:
    given = load_requirements(folder / "expert" / "requirements.yaml")
    return solve(compile_blueprint(as_model(given, without), folder), isolate=False)


def answer_of(folder: Path) -> float:
    answer = json.loads((folder / "expert" / "answer.json").read_text(encoding="utf-8"))
    return float(answer["objective"]["value"])


COMPLETE = [
    "battery/behind_the_meter_shop",
    "planning/rooftop_pv",
    "thermal/office_heat_pump",
    "thermal/two_zone_workshop",
]


@pytest.mark.parametrize("name", COMPLETE)
def test_requirements_alone_reach_the_answer(name: str) -> None:
    result = solution_of(PROBLEMS / name)
    assert result.status == "optimal"
    assert result.objective == pytest.approx(answer_of(PROBLEMS / name), rel=1e-6)


def test_requirements_of_the_merchant_day_need_the_one_that_is_not_linear() -> None:
    folder = PROBLEMS / "battery/merchant_day"
    result = solution_of(folder)  # without R7, both directions at once burn energy at a profit
    assert result.objective is not None
    assert result.objective == pytest.approx(3876.925133, rel=1e-6)
    assert result.objective > answer_of(folder) + 10


def test_requirements_of_the_cold_snap_contradict_each_other() -> None:
    assert solution_of(PROBLEMS / "thermal/cold_snap_infeasible").status == "infeasible"


@pytest.mark.parametrize(
    ("name", "without"),
    [
        ("battery/behind_the_meter_shop", "R5"),
        ("battery/behind_the_meter_shop", "R9"),
        ("battery/behind_the_meter_shop", "R10"),
        ("planning/rooftop_pv", "R4"),
        ("thermal/office_heat_pump", "R2"),
        ("thermal/two_zone_workshop", "R3"),
        ("thermal/two_zone_workshop", "R7"),
    ],
)
def test_a_requirement_less_makes_a_better_plan(name: str, without: str) -> None:
    result = solution_of(PROBLEMS / name, without)
    assert result.objective is not None
    assert result.objective < answer_of(PROBLEMS / name) - 1e-3
