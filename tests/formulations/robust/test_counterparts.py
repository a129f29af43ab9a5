"""Robust counterparts against enumeration of what may come, closed forms and limits."""

from itertools import combinations, pairwise, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from engiagent.blueprint import Blueprint
from engiagent.blueprint.analysis import analyse
from engiagent.blueprint.diagnostics import BlueprintError
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.parametric import StructureError, compile_parametric
from engiagent.solvers.solution import to_dataset
from engiagent.solvers.solving import solve
from tests.blueprints import blueprint
from tests.formulations.robust.worst import worst_swing
from tests.written import listing, mapping

Json = dict[str, Any]
NAMES = ("p", "q", "r", "s")


def knapsack(
    uncertain: Json | None, weights: list[float], worths: list[float], deviations: list[float]
) -> Blueprint:
    """Fill a knapsack whose weights are uncertain; they enter through a named expression."""
    index = [str(name) for name in NAMES]
    weight: Json = {"name": "weight", "index": ["N"], "value": weights, "unit": "kg"}
    if uncertain is not None:
        weight["uncertain"] = uncertain
    return blueprint(
        sets=[{"name": "N", "kind": "labels", "elements": index}],
        parameters=[
            weight,
            {"name": "dev", "index": ["N"], "value": deviations, "unit": "kg"},
            {"name": "worth", "index": ["N"], "value": worths, "unit": "EUR"},
            {"name": "grams", "index": ["i in N"], "value": "weight[i]", "unit": "g"},
        ],
        decision_variables=[{"name": "x", "index": ["i in N"], "lower": -1, "upper": 2}],
        expressions=[{"name": "load", "expression": "sum(grams[i]*x[i] for i in N)", "unit": "kg"}],
        constraints=[{"constraint_id": "fits", "expression": "load <= 9[kg]"}],
        objective_function={
            "sense": "maximize",
            "unit": "EUR",
            "expression": "sum(worth[i]*x[i] for i in N)",
        },
    )


def directions(budget: float | None) -> list[np.ndarray]:
    """Return the extreme points of the uncertainty set over four numbers, for whole budgets."""
    if budget is None or budget >= 4:
        return [np.array(signs, dtype=float) for signs in product((-1, 1), repeat=4)]
    count, found = int(budget), []
    for chosen in combinations(range(4), count):
        for signs in product((-1, 1), repeat=count):
            point = np.zeros(4)
            point[list(chosen)] = signs
            found.append(point)
    return found


numbers = st.lists(st.floats(0.5, 9).map(lambda v: round(v, 3)), min_size=4, max_size=4)
few = st.lists(st.floats(0, 4).map(lambda v: round(v, 3)), min_size=4, max_size=4)


@settings(max_examples=25, deadline=None)
@given(numbers, numbers, few, st.sampled_from([None, 0, 1, 2, 3, 4, 7]))
def test_the_counterpart_is_the_program_with_a_row_for_every_extreme_point(
    weights: list[float], worths: list[float], deviations: list[float], budget: int | None
) -> None:
    uncertain: dict[str, Any] = {"deviation": "dev", "set": "box" if budget is None else "budget"}
    uncertain |= {} if budget is None else {"budget": budget}
    program = compile_blueprint(knapsack(uncertain, weights, worths, deviations))
    result = solve(program, isolate=False)
    rows = [np.array(weights) + np.array(deviations) * z for z in directions(budget)]
    expected = linprog(-np.array(worths), np.array(rows), [9.0] * len(rows), bounds=(-1, 2))
    assert result.objective == pytest.approx(-expected.fun, rel=1e-7, abs=1e-7)
    x = to_dataset(program, result)["x"].values
    worst = max(float(row @ x) for row in rows)
    assert worst <= 9.0 + 1e-6
    swings = (np.array(deviations) * x)[None, :]
    nominal = float(np.array(weights) @ x)
    assert nominal + worst_swing(swings, budget)[0] == pytest.approx(worst, abs=1e-9)
    if not np.allclose(x, 2.0):
        assert worst == pytest.approx(9.0, abs=1e-6)  # attained, or more would fit


def test_a_budget_lies_between_nominal_and_box_and_costs_more_and_more() -> None:
    given = ([3.0, 4.0, 2.0, 5.0], [5.0, 6.0, 3.0, 7.0], [1.0, 2.0, 0.5, 1.5])

    def best(uncertain: Json | None) -> float:
        found = solve(compile_blueprint(knapsack(uncertain, *given)), isolate=False).objective
        assert found is not None
        return found

    nominal, box = best(None), best({"deviation": "dev", "set": "box"})
    steps = [best({"deviation": "dev", "set": "budget", "budget": k / 2}) for k in range(9)]
    assert steps[0] == pytest.approx(nominal)
    assert steps[-1] == pytest.approx(box)
    assert all(a >= b - 1e-9 for a, b in pairwise(steps))
    assert box < steps[2] < nominal


def test_no_deviation_is_the_nominal_program() -> None:
    given = ([3.0, 4.0, 2.0, 5.0], [5.0, 6.0, 3.0, 7.0], [0.0] * 4)
    plain = compile_blueprint(knapsack(None, *given))
    for uncertain in ({"set": "box"}, {"set": "budget", "budget": 2}):
        same = compile_blueprint(knapsack({"deviation": 0, **uncertain}, *given))
        assert (same.row_count, same.column_count) == (plain.row_count, plain.column_count)
        np.testing.assert_array_equal(same.row_values, plain.row_values)


def single(parameters: list[Json], constraint: str, **objective: Any) -> Blueprint:
    goal = {"sense": "maximize", "expression": "x", **objective}
    return blueprint(
        parameters=parameters,
        decision_variables=[
            {"name": "x", "lower": 0, "upper": 10},
            {"name": "y", "lower": 0, "upper": 10},
            {"name": "b", "type": "binary", "lower": 1},
            {"name": "n", "type": "integer", "lower": 0, "upper": 9},
        ],
        constraints=[{"constraint_id": "C", "expression": constraint}],
        objective_function={key: value for key, value in goal.items() if value is not None},
    )


@pytest.mark.parametrize(
    ("constraint", "best"),
    [
        ("u*x <= 12", 4.0),  # (2 + 1) x <= 12
        ("u*(x - y) + y <= 6 + u", 7.0),  # u (x - y - 1) + y <= 6: y = 6, x - y - 1 = 0
        ("2 <= u*x <= 12", 4.0),
        ("x <= u + 3", 4.0),
        ("x <= v", 3.0),  # v = 2 u + 1, so down to 3
        ("u*x - u*x + x <= 5", 5.0),  # what cancels is certain
        ("x/4 <= u - 0.5*u", 2.0),
        ("3*x - 2 <= 4*(1[1] + u) - u*1[1]", 3.0),  # 3 x <= 6 + 3 u
        ("u*x**2 <= 12", 2.0),
        ("(u - y)*x <= 9 - 10*y", 3.0),
        ("u*x*b - 6*b <= 4 - 4*b", 2.0),  # x must be bought with b, see below
        ("u*n/2 + x <= 9", 9.0),
        ("x <= 12/(1 + y) - u", 9.0),
        ("implies(b, u*(x + n) <= 12 and x >= n)", 4.0),
        ("implies(not b, u*x <= 12)", 10.0),
    ],
)
def test_closed_forms(constraint: str, best: float) -> None:
    u = {"name": "u", "value": 2, "uncertain": {"deviation": 1, "set": "box"}}
    v = {"name": "v", "value": "2*u + 1"}
    program = compile_blueprint(single([u, v], constraint))
    result = solve(program, isolate=False)
    assert result.objective == pytest.approx(best, rel=1e-5)


def test_goals_in_order_are_each_worth_their_worst() -> None:
    goals = {
        "combination": "lexicographic",
        "expression": None,
        "sense": "minimize",
        "terms": [{"name": "cost", "expression": "u*x + 3*y"}, {"name": "use", "expression": "x"}],
    }
    u = {"name": "u", "value": 2, "uncertain": {"deviation": 1, "set": "box"}}
    document = single([u], "x + y >= 4", **goals).to_dict()
    program = compile_blueprint(Blueprint.from_dict(document))
    result = solve(program, isolate=False)
    assert result.objective == pytest.approx(12.0)
    assert to_dataset(program, result)["x"].item() == pytest.approx(0.0, abs=1e-6)


def test_a_soft_row_pays_for_its_worst() -> None:
    u = {"name": "u", "value": 2, "uncertain": {"deviation": 1, "set": "box"}}
    document = single([u], "x >= 2*u", sense="minimize", expression="x + 0*y").to_dict()
    soft = document["core_model_elements"]["constraints"][0]
    soft |= {"hard": False, "penalty": {"weight": 0.5}}
    program = compile_blueprint(Blueprint.from_dict(document))
    result = solve(program, isolate=False)
    assert result.objective == pytest.approx(3.0)  # six too little, at a half each
    assert to_dataset(program, result)["C__slack"].item() == pytest.approx(6.0)


def test_an_uncertain_price_is_worth_its_worst_in_either_sense() -> None:
    prices = {"name": "c", "value": 5, "unit": "EUR", "uncertain": {"deviation": 2, "set": "box"}}
    for sense, worst in (("minimize", 7.0), ("maximize", 3.0)):
        goal = {"sense": sense, "expression": "c*x", "unit": "EUR"}
        at_one = single([prices], "x == 1", **goal)
        assert solve(compile_blueprint(at_one), isolate=False).objective == pytest.approx(worst)


def test_the_worst_scenario_of_an_uncertain_price() -> None:
    core = blueprint(
        sets=[{"name": "S", "kind": "scenario", "elements": ["a", "b"]}],
        parameters=listing("""
            - {name: c, index: [S], value: [4, 6], uncertain: {deviation: "0.5*spread", set: box}}
            - {name: spread, value: 2}
        """),
        decision_variables=[{"name": "x", "lower": 1, "upper": 2}],
        objective_function=mapping("""
            {sense: minimize, expression: "c[s]*x", scenario: s in S, risk: {measure: worst}}
        """),
    )
    assert solve(compile_blueprint(core), isolate=False).objective == pytest.approx(7.0)


def test_a_deviation_of_a_temperature_is_a_difference() -> None:
    room = mapping("""
        {name: limit, value: 20, unit: degC, uncertain: {deviation: "9[degF_diff]", set: box}}
    """)
    core = blueprint(
        parameters=[room],
        decision_variables=[{"name": "T", "lower": 0, "upper": 50, "unit": "degC"}],
        constraints=[{"constraint_id": "C", "expression": "T <= limit"}],
        objective_function={"sense": "maximize", "expression": "T"},
    )
    assert solve(compile_blueprint(core), isolate=False).objective == pytest.approx(15.0)


@pytest.mark.parametrize(
    ("constraint", "path"),
    [
        ("u*x == 12", "constraints[0].expression"),
        ("either(u*x <= 3, y <= 3)", "constraints[0].expression"),
        ("implies(b, u*x == 3)", "constraints[0].expression"),
        ("implies(b, y <= 3 and u*x == 3)", "constraints[0].expression"),
        ("max(u*x, y) <= 3", "constraints[0].expression"),
        ("x/u <= 3", "constraints[0].expression"),
        ("u*u*x <= 3", "constraints[0].expression"),
        ("(x if u > 1 else y) <= 3", "constraints[0].expression"),
        ("x**u <= 3", "constraints[0].expression"),
        ("abs(twice*x) <= 3", "constraints[0].expression"),
    ],
)
def test_places_without_an_exact_counterpart_are_refused(constraint: str, path: str) -> None:
    core = blueprint(
        parameters=[{"name": "u", "value": 2, "uncertain": {"deviation": 1, "set": "box"}}],
        decision_variables=[
            {"name": "x", "lower": 0, "upper": 10},
            {"name": "y", "lower": 0, "upper": 10},
            {"name": "b", "type": "binary"},
        ],
        expressions=[{"name": "twice", "expression": "2*u"}],
        constraints=[{"constraint_id": "C", "expression": constraint}],
    )
    with pytest.raises(BlueprintError) as refused:
        compile_blueprint(core)
    assert {d.code for d in refused.value.diagnostics} == {"EB032"}
    assert {d.path for d in refused.value.diagnostics} == {f"core_model_elements.{path}"}
    assert all(d.suggestion for d in refused.value.diagnostics)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"deviation": -1, "set": "box"}, "EB031"),
        ({"deviation": 1, "set": "budget"}, "EB031"),
        ({"deviation": 1, "set": "box", "budget": 1}, "EB031"),
        ({"deviation": "nothing", "set": "box"}, "EB002"),
        ({"deviation": "x*1[m]", "set": "box"}, "EB011"),
        ({"deviation": "3[kg]", "set": "box"}, "EB005"),
    ],
)
def test_declarations_that_do_not_fit(change: Json, code: str) -> None:
    core = single([{"name": "u", "value": 2, "unit": "m", "uncertain": change}], "x <= 5")
    found = analyse(core).errors
    assert [d.code for d in found] == [code]
    assert found[0].path.startswith("core_model_elements.parameters[0].uncertain")
    with pytest.raises(BlueprintError, match=code):
        compile_blueprint(core)


def test_a_decision_that_waits_is_refused_with_its_mend() -> None:
    core = blueprint(
        parameters=[{"name": "u", "value": 2, "uncertain": {"deviation": 1, "set": "box"}}],
        decision_variables=[
            {"name": "x", "lower": 0, "upper": 3},
            {"name": "y", "lower": 0, "upper": 3, "stage": 2},
        ],
        constraints=[{"constraint_id": "C", "expression": "x + y >= u"}],
    )
    (found,) = analyse(core).errors
    assert (found.code, found.path) == ("EB033", "core_model_elements.decision_variables[1].stage")
    assert "scenario" in str(found.suggestion)


def test_units_by_label_need_a_deviation_with_its_unit() -> None:
    def errors(deviation: Any) -> list[str]:
        load = {
            "name": "u",
            "index": ["G"],
            "value": {"a": 1, "b": 2000},
            "unit": {"a": "kW", "b": "W"},
            "uncertain": {"deviation": deviation, "set": "box"},
        }
        core = blueprint(
            sets=[{"name": "G", "kind": "labels", "elements": ["a", "b"]}],
            parameters=[load],
            decision_variables=[{"name": "x", "lower": 0, "upper": 30, "unit": "kW"}],
            constraints=[{"constraint_id": "C", "forall": ["g in G"], "expression": "x >= u[g]"}],
            objective_function={"sense": "minimize", "expression": "x"},
        )
        if not analyse(core).errors:
            best = solve(compile_blueprint(core), isolate=False).objective
            assert best == pytest.approx(2.5)
        return [d.code for d in analyse(core).errors]

    assert errors(0.5) == ["EB031"]
    assert errors("500[W]") == []


def test_a_bound_is_refused_with_its_mend() -> None:
    core = blueprint(
        parameters=[{"name": "u", "value": 2, "uncertain": {"deviation": 1, "set": "box"}}],
        decision_variables=[{"name": "x", "lower": 0, "upper": "u"}],
    )
    (found,) = analyse(core).errors
    assert (found.code, found.path) == ("EB032", "core_model_elements.decision_variables[0].upper")
    assert "constraint" in str(found.suggestion)


def test_sweeps_of_a_robust_program_compile_anew() -> None:
    core = knapsack({"deviation": "dev", "set": "box"}, [3, 4, 2, 5], [5, 6, 3, 7], [1, 2, 1, 1])
    with pytest.raises(StructureError):
        compile_parametric(core, None, ["worth"])
    live = compile_parametric(core, None, ["worth"], structure="recompile")
    before = solve(live.program, isolate=False).objective
    assert before is not None
    live.update(worth=[10, 12, 6, 14])
    assert solve(live.program, isolate=False).objective == pytest.approx(2 * before)
