"""The checker's own evaluator, one deviation at a time, finds the worst case that rows guard."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engiagent.blueprint import Blueprint
from engiagent.blueprint.elaborate import Elaboration
from engiagent.blueprint.elements import Core
from engiagent.blueprint.uncertainty import uncertainties
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.program import ColumnBlock
from engiagent.formulations.values import Floats
from engiagent.solvers.solving import solve
from engiagent.units.unit import parse_unit
from engiagent.verify.documents import Bench, Declarations
from engiagent.verify.series import Series
from tests import blueprints
from tests.formulations.robust.worst import deviated, worst_change
from tests.written import listing, mapping

Json = dict[str, Any]


def transport(box: bool, budget: float, spread: float) -> Blueprint:
    """Serve uncertain needs over arcs whose losses are uncertain too, from an uncertain plant."""
    return blueprints.blueprint(
        sets=listing("""
                    - {name: P, kind: labels, elements: [p, q]}
                    - {name: N, kind: labels, elements: [a, b]}
                    - {name: A, kind: tuples, of: [P, N], elements: [[p, a], [p, b], [q, b]]}
                    - {name: T, kind: periods, periods: 2}
                """),
        parameters=[
            mapping("""
                        {name: usual, index: [N], value: [10, 20], unit: kW,
                          uncertain: {deviation: "10[%]*5[kW]", set: box}}
                    """),
            {
                "name": "need",
                "index": ["n in N", "t in T"],
                "value": "usual[n]*(1 + 0.1*t)",
                "unit": "kW",
                "uncertain": {"deviation": "wide", "set": "budget", "budget": budget},
            },
            {"name": "wide", "index": ["N", "T"], "value": spread, "unit": "kW"},
            {
                "name": "arrives",
                "index": ["A"],
                "value": {"p": {"a": 0.9, "b": 0.8}, "q": {"b": 0.7}},
                "uncertain": {"deviation": 0.05, "set": "box"}
                if box
                else {"deviation": 0.05, "set": "budget", "budget": 1},
            },
            mapping("""
                        {name: price, index: [P], value: [50, 30], unit: EUR/MWh,
                          uncertain: {deviation: 5, set: budget, budget: 1}}
                    """),
        ],
        decision_variables=listing("""
                    [{name: flow, index: ["(i, j) in A", t in T], lower: 0, upper: 80, unit: kW}]
                """),
        expressions=listing("""
                    - {name: served, index: [n in N, t in T],
                      expression: "sum(arrives[i, j]*flow[i, j, t] for (i, j) in A if j == n)"}
                """),
        constraints=listing("""
                    - {constraint_id: met, forall: [n in N, t in T],
                      expression: "served[n, t] >= need[n, t]"}
                    - {constraint_id: total, forall: [t in T],
                      expression: "sum(served[n, t] for n in N) >= sum(need[n, t] for n in N)"}
                """),
        objective_function={
            "sense": "minimize",
            "unit": "EUR",
            "expression": "sum(price[i]*flow[i, j, t]*1[h] for (i, j) in A for t in T)",
        },
    )


def series_of(block: ColumnBlock, x: Floats) -> Series:
    values = x[block.start : block.stop].reshape(block.shape)
    return Series(block.name, values, parse_unit(block.unit), block.sets)


@settings(max_examples=8, deadline=None)
@given(st.booleans(), st.sampled_from([0.0, 0.5, 1.0, 2.5, 4.0]), st.sampled_from([0.0, 3.0]))
def test_every_row_holds_in_its_worst_case_and_the_tight_ones_only_just(
    box: bool, budget: float, spread: float
) -> None:
    blueprint = transport(box, budget, spread)
    program = compile_blueprint(blueprint)
    result = solve(program, isolate=False)
    assert result.x is not None
    series = {b.name: series_of(b, result.x) for b in program.columns if not b.generated}
    parameters = uncertainties(Elaboration(blueprint.core))

    def sides(core: Core, text: str, forall: tuple[str, ...]) -> Floats:
        evaluator = Bench(Declarations(core, None), series).evaluator
        ((_, left, right),) = evaluator.compared(text, evaluator.frame(forall, None))
        return np.atleast_1d(np.asarray(right.data - left.data)) / 1000.0

    slacks = []
    for constraint in blueprint.core.constraints:

        def excess(core: Core, c: Any = constraint) -> Floats:
            return sides(core, c.expression, c.forall)

        worst = excess(blueprint.core) + worst_change(blueprint.core, parameters, excess)
        assert np.all(worst <= 1e-6)
        slacks += list(worst)
    assert max(slacks) == pytest.approx(0.0, abs=1e-6)

    def cost(core: Core) -> Floats:
        assert core.objective_function is not None
        text = f"{core.objective_function.expression} >= 0[EUR]"
        return -sides(core, text, ()) * 1000.0

    most = cost(blueprint.core) + worst_change(blueprint.core, parameters, cost)
    assert result.objective == pytest.approx(most[0], rel=1e-6)


def test_one_element_deviates_and_what_is_computed_from_it_follows() -> None:
    core = transport(True, 1.0, 3.0).core
    usual, need, arrives, _ = uncertainties(Elaboration(core))

    def need_of(changed: Core) -> Floats:
        symbol = Declarations(changed, None).parameter("need")
        assert symbol is not None
        assert symbol.value is not None
        return np.asarray(symbol.value.data).reshape(2, 2) / 1000.0

    plain = need_of(core)
    first = np.array([[0.0, 0.0], [0.55, 0.6]])
    np.testing.assert_allclose(need_of(deviated(core, usual, 1)) - plain, first)
    second = np.array([[0.0, 3.0], [0.0, 0.0]])
    np.testing.assert_allclose(need_of(deviated(core, need, 1)) - plain, second)
    third = Declarations(deviated(core, arrives, 2), None).parameter("arrives")
    assert third is not None
    assert third.value is not None
    np.testing.assert_allclose(third.value.data, [0.9, 0.8, 0.75])
