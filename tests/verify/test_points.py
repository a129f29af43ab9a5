"""Whole numbers and gaps count from the zero of the variable's unit, which degC has of its own."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engiagent.formulations.compile import compile_blueprint
from engiagent.run.certify import certify
from engiagent.solvers.solution import to_dataset
from engiagent.solvers.solving import solve
from engiagent.units.unit import parse_unit
from engiagent.verify.certificate import Certificate
from engiagent.verify.documents import Bench, Declarations
from engiagent.verify.levels.goals import evaluate_declared
from engiagent.verify.levels.relaxation import programme_of
from engiagent.verify.levels.tree import bound_by_cases
from engiagent.verify.levels.variables import box_of
from engiagent.verify.series import Series
from tests.verify.small import document, judged, rule


def solved(variables: list[Any], rule: Any, goal: Any, **core: Any) -> Certificate:
    """Return the certificate of an optimum, with what fractions say of it."""
    blueprint = document(variables, [rule], goal, **core)
    program = compile_blueprint(blueprint)
    answer = to_dataset(program, solve(program, isolate=False))
    return certify(None, answer, blueprint, folder=Path(), name="small", exact=True)


@pytest.mark.parametrize(
    ("unit", "limit", "best"), [("degC", "3.5[degC]", 4.0), ("degF", "-10.2[degC]", 14.0)]
)
def test_a_set_point_in_whole_degrees(unit: str, limit: str, best: float) -> None:
    th = {"name": "th", "type": "integer", "lower": -40, "upper": 50, "unit": unit}
    goal = {"sense": "minimize", "expression": "th", "unit": unit}
    found = solved([th], rule(f"th >= {limit}", None), goal)
    assert (found.verdict, found.plan["optimum"]) == ("feasible", "reported")
    assert found.objective is not None
    assert found.objective["value"] == pytest.approx(best)
    blueprint = document([th], [rule(f"th >= {limit}", None)], goal)
    assert judged(blueprint, {"th": best + 0.5}).verdict == "violated"


@pytest.mark.parametrize(
    ("th", "verdict"),
    [(0.0, "feasible"), (7.0, "feasible"), (3.0, "violated"), (-273.15, "violated")],
)
def test_the_gap_of_a_semicontinuous_temperature(th: float, verdict: str) -> None:
    variable = {"name": "th", "type": "semicontinuous", "lower": 5, "upper": 20, "unit": "degC"}
    goal = {"sense": "maximize", "expression": "th", "unit": "degC"}
    blueprint = document([variable], [rule("th <= 30", None)], goal)
    assert judged(blueprint, {"th": th}).verdict == verdict


@pytest.mark.parametrize("risk", [{"measure": "expected"}, {"measure": "cvar", "alpha": 0.5}])
def test_temperatures_are_averaged_over_scenarios(risk: dict[str, Any]) -> None:
    scenarios = {
        "name": "S",
        "kind": "scenario",
        "elements": ["a", "b"],
        "probabilities": [0.25, 0.75],
    }
    th = {"name": "th", "index": ["s in S"], "lower": 0, "upper": 100, "unit": "degC"}
    out = {"name": "out", "index": ["S"], "value": [10, 20], "unit": "degC"}
    goal = {
        "sense": "minimize",
        "scenario": "s in S",
        "expression": "th[s]",
        "unit": "degF",
        "risk": risk,
    }
    found = solved(
        [th], rule("th[s] >= out[s] + 1[K]", "s in S"), goal, sets=[scenarios], parameters=[out]
    )
    assert found.verdict == "certified"
    assert found.objective is not None
    mean = 18.5 if risk["measure"] == "expected" else 21.0
    assert found.objective["value"] == pytest.approx(1.8 * mean + 32)


@pytest.mark.parametrize(
    ("unit", "limit", "best"),
    [("%", "34.5[%]", 0.35), ("MW", "2.5[MW]", 3e6), ("kW", "7.2[kW]", 8e3)],
)
def test_cases_of_whole_numbers_are_cut_in_the_variables_own_unit(
    unit: str, limit: str, best: float
) -> None:
    n = {"name": "n", "type": "integer", "lower": 0, "upper": 100, "unit": unit}
    goal = {"sense": "minimize", "expression": "n", "unit": unit}
    plan = document([n], [rule(f"n >= {limit}", None)], goal)
    shown = best / float(parse_unit(unit).factor)
    series = {"n": Series("n", np.array(shown), parse_unit(unit), ())}
    bench = Bench(Declarations(plan.core, None), series)
    boxes = {v.name: box_of(bench, v) for v in plan.core.decision_variables}
    found = bound_by_cases(
        programme_of(bench, plan.core, evaluate_declared(bench, plan.core), boxes)
    )
    assert found.value == pytest.approx(best, rel=1e-6)
