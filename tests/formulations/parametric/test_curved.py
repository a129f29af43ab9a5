"""Random polynomials and functions of variables and parameters follow as a fresh compilation."""

from typing import Any

import numpy as np
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from engiagent.blueprint.document import Blueprint
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.parametric import StructureError, compile_parametric
from engiagent.formulations.program import Program
from tests.blueprints import DAY, blueprint, constraint, parameter, variable
from tests.formulations.parametric.test_follow import changed

T = "t in T"
VARIABLES = ("x[t]", "y[t]", "z", "x[last(T)]")
DATA = ("k", "w[t]", "half", "w[first(T)]", "sum(w[u] for u in T)")


@st.composite
def terms(draw: DrawFn, depth: int = 3) -> str:
    """Draw a dimensionless expression of variables and parameters."""
    if depth == 0:
        return draw(st.sampled_from([*VARIABLES, *DATA, "2", "0.5"]))
    one, other = draw(terms(depth - 1)), draw(terms(depth - 1))
    data = draw(st.sampled_from(DATA))
    return draw(
        st.sampled_from(
            [
                f"({one} + {other})",
                f"({one} - {data})",
                f"({one})*({data})",
                f"({data})*({one})",
                f"({one})*({draw(st.sampled_from(VARIABLES))})",
                f"({one})/(1 + {data}**2)",
                f"({one})**2",
                f"sqrt(1 + ({data})**2)*({one})",
                f"exp(-abs({data}))*({one})",
                f"max({data}, 1)*({one})",
                f"-({one})",
            ]
        )
    )


@st.composite
def blueprints(draw: DrawFn) -> Blueprint:
    """Draw a blueprint with curved rows, objective and expressions."""
    box: dict[str, Any] = {"unit": "1", "lower": 0, "upper": 3}
    goal = f"sum({draw(terms())} for t in T)*{draw(st.sampled_from(['k', 'half', '1']))}"
    return blueprint(
        sets=[DAY],
        parameters=[
            parameter("k", 2.0),
            parameter("w", [1.0, 2.0, 0.5, 3.0], "1", "T"),
            parameter("half", "0.5*k + 0.1"),
        ],
        decision_variables=[variable("x", T, **box), variable("y", T, **box), variable("z", **box)],
        expressions=[{"name": "e", "index": [T], "expression": draw(terms(2))}],
        constraints=[
            constraint(f"{draw(terms())} <= {draw(terms(1))} + 9*z", T),
            constraint(f"z + {draw(terms(2))} + e[t] >= -5", T, constraint_id="C2"),
        ],
        objective_function={
            "name": "goal",
            "expression": f"z + {goal}",
            "sense": draw(st.sampled_from(["minimize", "maximize"])),
            "unit": "1",
        },
    )


def numbers(program: Program, x: np.ndarray) -> list[np.ndarray]:
    """Return what a program says at a point: objective, rows against their sides, expressions."""
    activity = program.activity_at(x)
    sides = [program.row_upper - activity, activity - program.row_lower]
    parts = [np.array([program.objective_at(x)]), *sides]
    return parts + [expression.evaluate(x) for expression in program.expressions]


@settings(deadline=None, max_examples=60)
@given(blueprints(), st.integers(0, 99))
def test_curved_programs_follow(drawn: Blueprint, seed: int) -> None:
    try:
        parametric = compile_parametric(drawn, None, ["k", "w"])
    except StructureError:
        event("structural")
        assume(False)
    random = np.random.default_rng(seed)
    for _ in range(2):
        values = {"k": float(random.normal(1, 2)), "w": random.normal(1, 2, 4).tolist()}
        parametric.update(**values)
        fresh = compile_blueprint(changed(drawn, values))
        assert len(parametric.program.nonlinear) == len(fresh.nonlinear) or fresh.nonlinear
        x = random.uniform(0, 3, fresh.column_count)
        for ours, theirs in zip(numbers(parametric.program, x), numbers(fresh, x), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-8)
