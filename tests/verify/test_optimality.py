"""Bounds from multipliers: never beyond the true optimum, tight for true duals; ray proofs."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from engiagent.blueprint.document import Blueprint
from engiagent.units.unit import parse_unit
from engiagent.verify.documents import Bench, Declarations
from engiagent.verify.levels.algebra import DualBound, Proof
from engiagent.verify.levels.goals import evaluate_declared
from engiagent.verify.levels.relaxation import Programme, infeasibility, programme_of, relaxed_bound
from engiagent.verify.schedule import Multipliers
from engiagent.verify.series import Series
from tests.verify import small

M, N = 3, 4


def document(
    a: np.ndarray[Any, Any],
    b: np.ndarray[Any, Any],
    c: np.ndarray[Any, Any],
    sense: str,
    upper: float | None = 10.0,
    chain: bool = False,
) -> Blueprint:
    """Return ``c x`` over ``A x >= b`` (``<=`` when maximising) and ``0 <= x <= upper``."""
    op = ">=" if sense == "minimize" else "<="
    total = "sum(A[i, j]*x[j] for j in J)"
    text = f"{total} {op} b[i]"
    if chain:
        text = f"b[i] <= {total} <= b[i] + 1000[kWh]"
    rows = {str(i + 1): {str(j + 1): float(a[i, j]) for j in range(N)} for i in range(M)}
    variable: dict[str, Any] = {"name": "x", "index": ["j in J"], "unit": "MWh", "lower": 0}
    if upper is not None:
        variable["upper"] = upper
    return small.document(
        [variable],
        [{"constraint_id": "rows", "forall": ["i in I"], "expression": text}],
        {"sense": sense, "unit": "EUR", "expression": "sum(c[j]*x[j] for j in J)"},
        sets=[{"name": n, "kind": "range", "start": 1, "stop": k} for n, k in (("I", M), ("J", N))],
        parameters=[
            {"name": "A", "index": ["I", "J"], "value": rows, "unit": "1"},
            {"name": "b", "index": ["I"], "value": b.tolist(), "unit": "MWh"},
            {"name": "c", "index": ["J"], "value": c.tolist(), "unit": "EUR/MWh"},
        ],
    )


def bench_of(blueprint: Blueprint, x: np.ndarray[Any, Any]) -> Bench:
    bench = Bench(
        Declarations(blueprint.core, None), {"x": Series("x", x, parse_unit("MWh"), ("J",))}
    )
    bench.evaluator.environment.symbol("x")
    return bench


def programme(blueprint: Blueprint, x: np.ndarray[Any, Any]) -> Programme:
    bench = bench_of(blueprint, x)
    return programme_of(bench, blueprint.core, evaluate_declared(bench, blueprint.core))


def bound_of(blueprint: Blueprint, x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> DualBound:
    duals = {"rows": Multipliers(y, parse_unit("EUR/MWh"))}
    return relaxed_bound(programme(blueprint, x), duals)


def given_bound(
    blueprint: Blueprint, x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]
) -> float | None:
    """Return what these very multipliers prove, without others that the checker may find."""
    built = programme(blueprint, x)
    duals = {"rows": Multipliers(y, parse_unit("EUR/MWh"))}
    weights = built.weights(duals, built.objective.node.unit, built.sign)
    assert weights is not None
    found = built.given_bound(weights)
    return None if found is None else built.sign * found


UNBOUNDED = np.array([[1, 0, -1, 0], [-1, 0, 0, 1], [0, 1, 0, -1]], dtype=float)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(-8, 8), min_size=3, max_size=3))
def test_reduced_costs_of_rounding_on_variables_without_bounds_do_not_lose_it(
    steps: list[int],
) -> None:
    """At the optimum of the dual x1, x2 and x4 have no reduced cost; these miss that by ulps."""
    case = document(
        UNBOUNDED,
        np.array([1.0, 5.0, 7.0]),
        np.array([1.0, 0.3, -0.1, 0.0]),
        "minimize",
        upper=None,
    )
    duals = np.array([1.3, 0.3, 0.3])
    found = bound_of(case, np.full(4, 1.0), duals + np.array(steps) * np.spacing(duals))
    assert found.value is not None
    best = 1.3 + 5 * 0.3 + 7 * 0.3
    assert found.value == pytest.approx(best, abs=1e-11)
    assert found.value <= best + 1e-15


def test_a_reduced_cost_that_is_truly_of_the_wrong_sign_still_loses_it() -> None:
    case = document(
        UNBOUNDED,
        np.array([1.0, -5.0, -7.0]),
        np.array([-1.0, 0.3, -0.1, 0.0]),
        "minimize",
        upper=None,
    )
    found = bound_of(case, np.full(4, 1.0), np.zeros(3))
    assert found.value is None or found.value < -1e3


def random_case(seed: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    a, c = rng.integers(-3, 6, (M, N)).astype(float), rng.uniform(-5, 5, N).round(2)
    inside = rng.uniform(0, 10, N)
    return rng, a, c, inside


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.sampled_from([1e-9, 1.0, 100.0]), st.booleans(), st.booleans())
def test_the_bound_is_never_beyond_the_optimum_whatever_the_multipliers(
    seed: int, noise: float, maximise: bool, chain: bool
) -> None:
    rng, a, c, inside = random_case(seed)
    sense, sign = ("maximize", -1.0) if maximise else ("minimize", 1.0)
    chain = chain and not maximise
    b = a @ inside - sign * rng.uniform(0, 1, M)
    blueprint = document(a, b, c, sense, chain=chain)
    rows, limits = -sign * a, -sign * b
    if chain:
        rows, limits = np.vstack((rows, a)), np.concatenate((limits, b + 1.0))
    result = linprog(sign * c, A_ub=rows, b_ub=limits, bounds=[(0, 10)] * N)
    assert result.status == 0
    optimum = sign * result.fun
    true = -result.ineqlin.marginals[:M]
    if chain:
        true = true + result.ineqlin.marginals[M:]
    for y in (true, true + noise * rng.normal(size=M)):
        plan = rng.uniform(-20, 20, N)
        for found in (given_bound(blueprint, plan, y), bound_of(blueprint, plan, y).value):
            assert found is not None
            assert sign * (optimum - found) >= -1e-9 * (1 + abs(optimum))
    tight = given_bound(blueprint, result.x, true)
    assert tight is not None
    assert tight == pytest.approx(optimum, rel=1e-9, abs=1e-9)


def test_a_variable_without_a_bound_takes_the_one_its_rows_imply() -> None:
    a = np.array([[1.0, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]])
    blueprint = document(a, np.ones(3), np.ones(4), "maximize", upper=None)
    found = bound_of(blueprint, np.zeros(4), np.array([1.0, 0.0, 1.0]) + 1e-14)
    assert found.value == pytest.approx(2.0, rel=1e-9)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.booleans())
def test_variables_without_bounds_are_bounded_by_what_they_cost(seed: int, maximise: bool) -> None:
    rng, a, _, inside = random_case(seed)
    sense, sign = ("maximize", -1.0) if maximise else ("minimize", 1.0)
    c = sign * rng.uniform(0.1, 5, N).round(2)
    b = a @ inside - sign * rng.uniform(0, 1, M)
    blueprint = document(a, b, c, sense, upper=None)
    result = linprog(sign * c, A_ub=-sign * a, b_ub=-sign * b, bounds=[(0, None)] * N)
    assert result.status == 0
    optimum = sign * result.fun
    true = -result.ineqlin.marginals
    noisy = true * (1 + 1e-12 * rng.normal(size=M))
    tight = bound_of(blueprint, result.x, noisy).value
    assert tight is not None
    assert tight == pytest.approx(optimum, rel=1e-9, abs=1e-9)
    # A worse plan is told as such, and no multipliers claim more than there is.
    worse = result.x + rng.uniform(0, 1, N)
    for y in (noisy, true + rng.normal(size=M)):
        found = bound_of(blueprint, worse, y).value
        assert found is None or sign * (optimum - found) >= -1e-9 * (1 + abs(optimum))


def test_without_any_bound_there_is_none_and_it_says_so() -> None:
    blueprint = document(np.eye(M, N), np.zeros(M), -np.ones(N), "minimize", upper=None)
    found = bound_of(blueprint, np.ones(N), np.zeros(M))
    assert found.value is None
    assert "x" in str(found.reason)
    assert "give it physical bounds" in str(found.reason)


def proof_of(blueprint: Blueprint, y: np.ndarray[Any, Any]) -> Proof:
    return infeasibility(
        bench_of(blueprint, np.zeros(N)), blueprint.core, {"rows": Multipliers(y, None)}
    )


def test_a_ray_proves_a_conflict_and_says_which_rows_carry_it() -> None:
    # x1 >= 12 although x1 <= 10.
    blueprint = document(np.eye(M, N), np.array([12.0, 1, 1]), np.ones(N), "minimize")
    proof = proof_of(blueprint, np.array([1.0, 0, 0]))
    assert proof.proven
    assert [name for name, _ in proof.weights] == ["rows"]
    # A wrong ray carries nothing: the proof is then one of the checker's own.
    for ray in ([-1.0, 0, 0], [0.0, 1, 1]):
        assert proof_of(blueprint, np.array(ray)).weights == ()


def test_a_ray_over_rows_of_variables_without_an_upper_bound() -> None:
    # -x1 >= 1 although x1 >= 0; that x has no upper end does not matter.
    blueprint = document(-np.eye(M, N), np.array([1.0, 0, 0]), np.ones(N), "minimize", upper=None)
    assert proof_of(blueprint, np.array([1.0, 0, 0])).proven
    assert proof_of(blueprint, np.array([0.0, 1, 0])).weights == ()


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6))
def test_no_ray_proves_that_a_feasible_problem_is_infeasible(seed: int) -> None:
    rng, a, c, inside = random_case(seed)
    blueprint = document(a, a @ inside, c, "minimize")
    for y in (rng.normal(size=M), rng.uniform(0, 1, M), np.full(M, np.nan)):
        assert not proof_of(blueprint, y).proven
