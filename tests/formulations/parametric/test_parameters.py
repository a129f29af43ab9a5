"""What users do with parametric programs: units, labels, refusals, every place of a parameter."""

from typing import Any

import numpy as np
import pytest

from engiagent.blueprint.document import Blueprint
from engiagent.errors import EngiagentError, InputError
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.parametric import StructureError, compile_parametric
from tests.blueprints import DAY, EDGES, UNITS, blueprint, constraint, parameter, variable
from tests.formulations.parametric.test_follow import array, assert_equal, changed

T = "t in T"


def small(
    *constraints: dict[str, Any],
    parameters: list[Any],
    objective: str = "0",
    variables: list[Any] | None = None,
    **core: Any,
) -> Blueprint:
    """Return a blueprint over a day of four hours with powers x and y."""
    named = [c | {"constraint_id": f"C{k}"} for k, c in enumerate(constraints)]
    goal = {"name": "cost", "sense": "minimize", "expression": objective, "unit": "EUR"}
    return blueprint(
        sets=[DAY, EDGES, UNITS],
        parameters=parameters,
        decision_variables=variables or [variable("x", T), variable("y", T)],
        constraints=named,
        objective_function=goal,
        **core,
    )


PRICE = parameter("price", [10, 20, 30, 40], "EUR/MWh", "T")
LOAD = parameter("load", [1, 2, 3, 4], "kW", "T")
CASES: dict[str, tuple[Blueprint, dict[str, Any]]] = {
    "a cost, with a unit to convert": (
        small(
            constraint("x[t] >= 1[kW]", T),
            parameters=[PRICE],
            objective="sum(price[t]*x[t]*dt(t) for t in T) + 2*sum(price[t] for t in T)*1[kWh]",
        ),
        {"price": [4.0, -3.0, 2.0, 0.0]},
    ),
    "one end of a chain": (
        small(constraint("1[kW] <= x[t] <= 2*load[t]", T), parameters=[LOAD]),
        {"load": [5.0, 6.0, 7.0, 8.0]},
    ),
    "a coefficient that was zero": (
        small(constraint("x[t] + k*y[t] <= 5", T), parameters=[parameter("k", 0)]),
        {"k": 2.5},
    ),
    "a coefficient that becomes zero": (
        small(constraint("x[t] + k*y[t] <= 5", T), parameters=[parameter("k", 2)]),
        {"k": 0.0},
    ),
    "a divisor": (
        small(constraint("x[t]/eta + y[t] <= 5", T), parameters=[parameter("eta", 0.9)]),
        {"eta": 0.5},
    ),
    "squares, roots and powers of parameters": (
        small(
            constraint("(k**2 + sqrt(k))*x[t] + exp(-k)*y[t] <= 5[kW]*k**0.5", T),
            parameters=[parameter("k", 2)],
        ),
        {"k": 3.0},
    ),
    "bounds of variables": (
        small(
            constraint("x[t] >= y[t]", T),
            parameters=[LOAD],
            variables=[variable("x", T, upper="2*load[t]"), variable("y", T, lower="-load[t]")],
        ),
        {"load": [4.0, 3.0, 2.0, 1.0]},
    ),
    "computed from others, and from those": (
        small(
            constraint("x[t] + y[t] >= need[t]", T),
            parameters=[
                LOAD,
                parameter("need", "1.1*gross[t] + load[t]", "kW", T),
                parameter("gross", "load[t]**2*1[1/kW]", "kW", T),
            ],
        ),
        {"load": [4.0, 3.0, 2.0, 1.0]},
    ),
    "in a named expression": (
        small(
            constraint("x[t] + spare[t] <= 9", T),
            parameters=[LOAD, PRICE],
            objective="sum(bill[t] for t in T)",
            expressions=[
                {"name": "spare", "index": [T], "expression": "2*load[t] - y[t]", "unit": "kW"},
                {
                    "name": "bill",
                    "index": [T],
                    "expression": "price[t]*(x[t] - load[t])*dt(t)",
                    "unit": "EUR",
                },
            ],
        ),
        {"load": [4.0, 3.0, 2.0, 1.0], "price": [1.0, 2.0, 3.0, 5.0]},
    ),
    "a temperature": (
        small(
            constraint("x[t] >= (20[degC] - out)*0.2[kW/K]", T),
            parameters=[parameter("out", 50, "degF")],
        ),
        {"out": 14.0},
    ),
    "a slack's limit": (
        small(
            constraint("x[t] >= load[t]", T, hard=False, penalty={"weight": "3[EUR/kW]"}),
            parameters=[LOAD],
            objective="sum(x[t] for t in T)*1[EUR/kW]",
        ),
        {"load": [4.0, 3.0, 2.0, 1.0]},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_parameter_anywhere_follows_in_place(case: str) -> None:
    given, values = CASES[case]
    parametric = compile_parametric(given, None, list(values))
    program = parametric.program
    assert parametric.in_place
    assert_equal(program, compile_blueprint(given))
    for factor in (1.0, 1.7):
        new = {k: _scaled(v, factor) for k, v in values.items()}
        parametric.update(**{name: array(value) for name, value in new.items()})
        assert parametric.program is program
        assert_equal(program, compile_blueprint(changed(given, new)))


def _scaled(value: Any, factor: float) -> Any:
    if isinstance(value, dict):
        return {key: _scaled(item, factor) for key, item in value.items()}
    return [v * factor for v in value] if isinstance(value, list) else value * factor


RECOMPILED: dict[str, tuple[Blueprint, dict[str, Any]]] = {
    "computed along time from the one before": (
        small(
            constraint("x[t] + y[t] >= level[t]", T),
            parameters=[LOAD, parameter("level", "0.5*prev(level[t], 3[kW]) + load[t]", "kW", T)],
        ),
        {"load": [4.0, 3.0, 2.0, 1.0]},
    ),
    "inside a function of variables": (
        small(constraint("exp(k*x[t]/1[kW]) <= 9*y[t]/1[kW]", T), parameters=[parameter("k", 0.5)]),
        {"k": 0.7},
    ),
}


@pytest.mark.parametrize("case", RECOMPILED)
def test_a_parameter_in_a_function_or_a_recursion_compiles_anew(case: str) -> None:
    given, values = RECOMPILED[case]
    with pytest.raises(StructureError, match="recompile"):
        compile_parametric(given, None, list(values))
    parametric = compile_parametric(given, None, list(values), structure="recompile")
    parametric.update(**values)
    assert_equal(parametric.program, compile_blueprint(changed(given, values)))


STRUCTURAL = {
    "constraints[0].where": small(
        constraint("x[t] >= 1", T, where="load[t] > 2[kW]"), parameters=[LOAD]
    ),
    "constraints[0].expression": small(
        constraint("x[t] >= (1[kW] if load[t] > 2[kW] else 0)", T), parameters=[LOAD]
    ),
    "decision_variables[0].where": small(
        constraint("y[t] >= 1", T),
        parameters=[LOAD],
        variables=[variable("x", T, where="load[t] > 2[kW]"), variable("y", T)],
    ),
}


@pytest.mark.parametrize("place", STRUCTURAL)
def test_a_parameter_that_shapes_the_program_is_refused_by_place(place: str) -> None:
    given = STRUCTURAL[place]
    with pytest.raises(StructureError, match="load decides here") as caught:
        compile_parametric(given, None, ["load"])
    assert place in str(caught.value)
    assert "recompile" in str(caught.value)
    parametric = compile_parametric(given, None, ["load"], structure="recompile")
    assert not parametric.in_place
    values = {"load": [4.0, 3.0, 2.0, 1.0]}
    parametric.update(**values)
    assert_equal(parametric.program, compile_blueprint(changed(given, values)))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"pric": 3.0}, "'pric' is none of the parameters that can change: price"),
        ({"price": [1.0, 2.0]}, r"found \(2,\); expected a number or \(4,\)"),
        ({"price": [1.0, float("nan"), 2.0, 3.0]}, "not a finite number"),
        ({"price": float("inf")}, "not a finite number"),
        ({"price": "cheap"}, "price"),
        ({"price": None}, "price"),
        ({"price": (3.0, "kW")}, "price: .*measure different things"),
        ({"price": (3.0, "nonsense")}, "price"),
        ({"price": {"a": 1.0}}, "price"),
    ],
)
def test_wrong_values_are_refused_and_change_nothing(values: dict[str, Any], message: str) -> None:
    given, _ = CASES["a cost, with a unit to convert"]
    parametric = compile_parametric(given, None, ["price"])
    before = parametric.program.cost.copy()
    with pytest.raises(EngiagentError, match=message):
        parametric.update(**values)
    np.testing.assert_array_equal(parametric.program.cost, before)


def test_a_pair_of_value_and_unit_is_converted() -> None:
    given, _ = CASES["a cost, with a unit to convert"]
    one, other = (compile_parametric(given, None, ["price"]) for _ in range(2))
    one.update(price=([1.0, 2.0, 3.0, 4.0], "EUR/kWh"))
    other.update(price=np.array([1000.0, 2000.0, 3000.0, 4000.0]))
    assert_equal(one.program, other.program)
    assert one.unit("price") == "EUR/MWh"
    assert one.value("price").tolist() == [1000.0, 2000.0, 3000.0, 4000.0]
    one.update(price=(0.5, "EUR/kWh"))
    assert one.value("price").tolist() == [500.0] * 4


def test_an_update_that_cannot_be_computed_changes_nothing() -> None:
    given, _ = CASES["a divisor"]
    parametric = compile_parametric(given, None, ["eta"])
    before = parametric.program.row_values.copy()
    with pytest.raises(InputError, match="not a finite number"):
        parametric.update(eta=0.0)
    np.testing.assert_array_equal(parametric.program.row_values, before)
    assert parametric.value("eta") == 0.9


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nothing", "no parameter 'nothing'"),
        ("need", "computed from others"),
        ("x", "no parameter 'x'"),
    ],
)
def test_only_parameters_with_values_of_their_own_can_change(name: str, message: str) -> None:
    given, _ = CASES["computed from others, and from those"]
    with pytest.raises(InputError, match=message):
        compile_parametric(given, None, [name])
