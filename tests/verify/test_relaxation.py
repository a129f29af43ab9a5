"""Bounds of nonlinear programmes: sharp where they are convex, never above the true optimum."""

from itertools import product
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize

from engiagent.blueprint.document import Blueprint
from engiagent.units.unit import parse_unit
from engiagent.verify.documents import Bench, Declarations
from engiagent.verify.levels.algebra import DualBound
from engiagent.verify.levels.goals import evaluate_declared
from engiagent.verify.levels.relaxation import programme_of, relaxed_bound
from engiagent.verify.levels.relaxed import row_balanced
from engiagent.verify.series import Series
from tests.verify.small import document, judged
from tests.written import listing, mapping

PLAIN = listing("""
    - {name: K, kind: range, start: 1, stop: 2}
    - {name: P, kind: range, start: 1, stop: 4}
    - {name: S, kind: scenario, elements: [a, b, c], probabilities: [0.2, 0.5, 0.3]}
""")
X = [{"name": "x", "index": ["k in K"], "lower": -4, "upper": 4}]
TABLE = [
    {"name": "xs", "index": ["P"], "value": [-4, -1, 1, 4]},
    {"name": "wavy", "index": ["P"], "value": [0, 5, 1, 6]},
    {"name": "need", "index": ["S"], "value": {"a": -1, "b": 0.5, "c": 2}},
]


def blueprint(text: str, sense: str = "minimize", *rows: str, **more: Any) -> Blueprint:
    constraints = [
        {"constraint_id": f"C{k}", "expression": row, "forall": []} for k, row in enumerate(rows)
    ]
    objective = {"sense": sense, "expression": text, **more}
    return document(X, constraints, objective, sets=PLAIN, parameters=TABLE)


def at(plan: Blueprint, x: Any) -> tuple[Bench, float]:
    series = {"x": Series("x", np.asarray(x, dtype=float), parse_unit("1"), ("K",))}
    bench = Bench(Declarations(plan.core, None), series)
    return bench, evaluate_declared(bench, plan.core).value


def bound_at(plan: Blueprint, x: Any) -> DualBound:
    bench, _ = at(plan, x)
    return relaxed_bound(programme_of(bench, plan.core, evaluate_declared(bench, plan.core)))


def least(plan: Blueprint, allowed: Any = None) -> tuple[np.ndarray[Any, Any], float]:
    """Return the best of a fine grid, polished by steps that only ever improve."""
    goal = plan.core.objective_function
    sign = -1.0 if goal is not None and goal.sense == "maximize" else 1.0
    ticks = np.linspace(-4, 4, 17)

    def value(x: Any) -> float:
        x = np.clip(x, -4, 4)
        if allowed is not None and not allowed(x):
            return float("inf")
        return sign * at(plan, x)[1]

    points = [(a, b) for a in ticks for b in ticks]
    best = min(((value(point), point) for point in points), key=lambda item: item[0])
    found = minimize(
        value,
        best[1],
        method="Nelder-Mead",
        options={"xatol": 1e-11, "fatol": 1e-13, "maxiter": 4000},
    )
    x = np.clip(found.x, -4, 4)
    return x, sign * value(x)


def box_quadratic(q: Any, c: Any) -> tuple[float, Any]:
    """Return the least of x'qx + c'x on the box, by trying every set of active bounds."""
    tried = []
    for ends in product((None, -4.0, 4.0), repeat=2):
        free = [k for k in range(2) if ends[k] is None]
        x = np.array([0.0 if end is None else end for end in ends])
        if free:
            slope = c[free] + 2 * (q @ x)[free]
            x[free] = np.linalg.lstsq(2 * q[np.ix_(free, free)], -slope, rcond=None)[0]
        if (np.abs(x) <= 4).all():
            tried.append((float(x @ q @ x + c @ x), x))
    return min(tried, key=lambda item: item[0])


CONVEX = [
    ("(x[1] - 1)**2 + 2*(x[2] + 1)**2", "minimize"),
    ("x[1]*x[1] + x[1]*x[2] + x[2]*x[2] - 3*x[1]", "minimize"),
    ("3*x[1]*x[2] - 2*x[1]**2 - 2*x[2]**2 + x[1]", "maximize"),
    ("exp(x[1]) + exp(-2*x[1]) + abs(x[2] - 1)", "minimize"),
    ("log(x[1] + 5) + sqrt(x[2] + 4) - x[1]/4", "maximize"),
    ("max(x[1], -x[1], x[2] - 1, 1 - 3*x[2])", "minimize"),
    ("max(x[k] for k in K) - min(x[k] for k in K) + (x[1] - 2)**2", "minimize"),
    ("sqrt((x[1] - 1)**2 + (x[2] - 2)**2 + 1) + 0.3*x[1]", "minimize"),
    ("1/(x[1] + 5) + (x[1] + 5)**1.5/9 + tanh(x[2] - 5)", "minimize"),
    ("(x[1] + 2*x[2])**4 + x[2]**2 - x[2]", "minimize"),
    ("exp(max(x[1], x[2]) + x[1]**2) - x[2]", "minimize"),
    ("sumsq(x[k] - k for k in K) + 2*max(abs(x[1]), abs(x[2]) - 1)", "minimize"),
]


@pytest.mark.parametrize(("text", "sense"), CONVEX)
def test_the_bound_of_a_convex_programme_is_its_optimum(text: str, sense: str) -> None:
    plan = blueprint(text, sense)
    x, value = least(plan)
    found = bound_at(plan, x)
    assert found.value is not None, found.reason
    sign = 1.0 if sense == "minimize" else -1.0
    assert sign * found.value <= sign * value + 1e-9
    assert abs(found.value - value) <= 2e-6 * max(1.0, abs(value))


CONSTRAINED = [
    ("x[1] + x[2]", ["x[1]**2 + x[2]**2 <= 2"], -2.0, [-1, -1]),
    ("x[1] + x[2]", ["sqrt(x[1]**2 + x[2]**2) <= sqrt(2)"], -2.0, [-1, -1]),
    ("-x[1]", ["exp(x[1]) <= 2 - x[2]", "x[2] >= 0"], -np.log(2), [np.log(2), 0]),
    ("x[2]", ["x[2] >= max(x[1] + 1, 1 - x[1])"], 1.0, [0, 1]),
    ("x[1]**2 + x[2]**2", ["x[1] + x[2] == 2"], 2.0, [1, 1]),
    ("x[1] - x[2]", ["log(x[1] + 4) >= x[2]"], -3.0, [-3, 0]),
]


@pytest.mark.parametrize(("text", "rows", "optimum", "x"), CONSTRAINED)
def test_convex_constraints_close_the_gap(
    text: str, rows: list[str], optimum: float, x: list[float]
) -> None:
    found = bound_at(blueprint(text, "minimize", *rows), x)
    assert found.value is not None, found.reason
    assert found.value <= optimum + 1e-9
    assert found.value == pytest.approx(optimum, abs=2e-6)


@pytest.mark.parametrize(
    "risk", [{"measure": "expected"}, {"measure": "worst"}, {"measure": "cvar", "alpha": 0.6}]
)
def test_scenarios_are_convex_too(risk: dict[str, Any]) -> None:
    plan = blueprint(
        "(x[1] - need[s])**2 + abs(x[2] - need[s])", "minimize", scenario="s in S", risk=risk
    )
    x, value = least(plan)
    found = bound_at(plan, x)
    assert found.value is not None, found.reason
    assert found.value <= value + 1e-9
    assert found.value == pytest.approx(value, abs=5e-6)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6))
def test_a_random_convex_quadratic_is_closed_and_any_other_stays_below(seed: int) -> None:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(2, 2))
    q = root @ root.T if seed % 2 else root + root.T
    c = rng.normal(size=2)
    terms = [f"({float(q[i, j])!r})*x[{i + 1}]*x[{j + 1}]" for i in range(2) for j in range(2)]
    terms += [f"({float(c[i])!r})*x[{i + 1}]" for i in range(2)]
    plan = blueprint(" + ".join(terms))
    best, x = box_quadratic(q, c)
    bound = bound_at(plan, x)
    assert bound.value is not None, bound.reason
    assert bound.value <= best + 1e-9
    if seed % 2:
        assert bound.value == pytest.approx(best, abs=1e-6 * (1 + abs(best)))


PARTS = listing("""
    ["x[1]*x[2]", "(x[1] - 1)**3", "sin(x[1] + x[2])", "cos(2*x[1])", "tanh(x[2])",
      "piecewise(x[1], xs, wavy)", "min(x[1], x[2], 1)", "abs(x[1])*x[2]", "x[1]/(x[2] + 6)",
      "max(x[1]*x[2], x[1] - x[2])", "-(x[1]**2)", "exp(x[1]/2)*x[2]", "-sqrt(x[1]**2 + 1)",
      "-max(x[1], x[2])", "log(x[2]**2 + 1)", "2/(x[1]**2 + 1)"]
""")


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.sampled_from(PARTS), min_size=1, max_size=3),
    st.lists(st.floats(-2, 2), min_size=3, max_size=3),
    st.tuples(st.floats(-4, 4), st.floats(-4, 4)),
    st.sampled_from(["minimize", "maximize"]),
)
def test_no_bound_is_ever_better_than_any_plan(
    parts: list[str], weights: list[float], x: tuple[float, float], sense: str
) -> None:
    text = " + ".join(f"({w!r})*({p})" for w, p in zip(weights, parts, strict=False))
    plan = blueprint(text, sense)
    found = bound_at(plan, x)
    if found.value is None:
        return
    sign = 1.0 if sense == "minimize" else -1.0
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.uniform(-4, 4, (60, 2)), [x, (4, 4), (-4, 4), (4, -4), (-4, -4)]])
    for point in points:
        value = at(plan, point)[1]
        assert sign * found.value <= sign * value + 1e-9 * (1 + abs(value))


def test_a_bad_plan_is_not_made_good_by_its_own_tangents() -> None:
    plan = blueprint("(x[1] - 1)**2 + (x[2] - 1)**2")
    found = bound_at(plan, [3, -2])
    assert found.value is not None
    assert found.value == pytest.approx(0.0, abs=1e-6)
    certificate = judged(plan, {"x": [3, -2]})
    assert certificate.levels["optimality"]["status"] == "unchecked"
    assert certificate.bound is not None
    assert certificate.bound["gap"] == pytest.approx(1.0, abs=1e-6)
    assert judged(plan, {"x": [1, 1]}).levels["optimality"]["status"] == "pass"


def test_soft_limits_and_a_limited_goal_are_bounded() -> None:
    soft = mapping("""
        {constraint_id: C, forall: [k in K], expression: "x[k] >= 2*k", hard: false,
          penalty: {weight: 3, form: quadratic}}
    """)
    objective = {"sense": "minimize", "expression": "x[1] + x[2]"}
    plan = document(X, [soft], objective, sets=PLAIN)
    x = [2 - 1 / 6, 4 - 1 / 6]
    certificate = judged(plan, {"x": x})
    assert certificate.levels["optimality"]["status"] == "pass"
    second = {"name": "b", "sense": "maximize", "expression": "x[2] - x[1]**2", "limit": 0}
    terms: list[dict[str, Any]] = [{"name": "a", "expression": "x[1]"}, second]
    goals = {"sense": "minimize", "combination": "epsilon", "terms": terms}
    limited = document(X, [], goals, sets=PLAIN)
    certificate = judged(limited, {"x": [-2, 4]})
    assert certificate.violations == ()
    assert certificate.levels["optimality"]["status"] == "pass"
    assert certificate.bound is not None
    assert certificate.bound["value"] == pytest.approx(-2.0, abs=1e-6)
    assert judged(limited, {"x": [-1, 4]}).levels["optimality"]["status"] == "unchecked"


@pytest.mark.parametrize(
    ("rows", "proven"),
    [
        (["x[1]**2 + x[2]**2 <= 1", "x[1] + x[2] >= 2"], True),
        (["x[1]**2 + x[2]**2 <= 2", "x[1] + x[2] >= 2"], False),
        (["exp(x[1]) <= x[2]", "x[2] <= x[1] + 0.9"], True),
        (["max(x[1], -x[1]) <= 1", "x[1] >= 1.01"], True),
        (["x[1] + x[2] == 3", "abs(x[1] - x[2]) >= 9"], True),
        (["x[1] + x[2] == 3", "abs(x[1] - x[2]) >= 5"], False),
        (["x[1]**2 >= 8", "abs(x[1]) <= 2.5"], False),
        (["x[1]*x[2] >= 17"], True),
        (["log(x[1] + 5) >= 2.2"], True),
    ],
)
def test_a_claim_that_nothing_is_allowed_is_proven_or_not(rows: list[str], proven: bool) -> None:
    constraints = [
        {"constraint_id": f"C{k}", "expression": row, "forall": []} for k, row in enumerate(rows)
    ]
    objective = {"sense": "minimize", "expression": "x[1]"}
    plan = document(X, constraints, objective, sets=PLAIN)
    found = judged(plan, {}, status="infeasible")
    assert found.verdict == ("proven infeasible" if proven else "undecided")
    if proven:
        assert found.levels["optimality"]["margin"] > 0


def test_rows_of_subnormal_numbers_are_not_scaled_to_infinity() -> None:
    matrix, factors = row_balanced(sp.csr_matrix([[5e-324, 0.0], [0.0, 0.0], [3.0, -6.0]]))
    assert np.isfinite(matrix.toarray()).all()
    np.testing.assert_allclose(factors, [1.0, 1.0, 1 / 6])


@pytest.mark.parametrize("measure", ["cvar", "worst", "expected"])
@pytest.mark.parametrize("sense", ["minimize", "maximize"])
def test_a_slack_without_a_limit_is_bounded_by_what_it_costs(measure: str, sense: str) -> None:
    # Bought ahead at 1, missing at 3: with needs 1, 4 and 6 of weights 0.2, 0.5 and 0.3.
    sign = 1.0 if sense == "minimize" else -1.0
    needs, weights = np.array([1.0, 4.0, 6.0]), np.array([0.2, 0.5, 0.3])
    variables: list[dict[str, Any]] = [
        {"name": "ahead", "lower": 0, "upper": 9},
        {"name": "lack", "index": ["s in S"], "lower": 0},
    ]
    rows = [
        {"constraint_id": "met", "forall": ["s in S"], "expression": "ahead + lack[s] >= need[s]"}
    ]
    risk: dict[str, Any] = {"measure": measure} | ({"alpha": 0.4} if measure == "cvar" else {})
    goal = {"sense": sense, "scenario": "s in S", "risk": risk}
    goal["expression"] = f"{sign}*(1.003*ahead + 3.1*lack[s])"
    parameters = [{"name": "need", "index": ["S"], "value": {"a": 1, "b": 4, "c": 6}}]
    plan = document(variables, rows, goal, sets=PLAIN, parameters=parameters)

    def total(ahead: float) -> float:
        cost = 1.003 * ahead + 3.1 * np.maximum(needs - ahead, 0.0)
        if measure == "worst":
            return float(cost.max())
        if measure == "expected":
            return float(weights @ cost)
        tail = np.minimum(
            weights[::-1], np.maximum(0.6 - np.cumsum(weights[::-1]) + weights[::-1], 0)
        )
        return float(tail @ cost[::-1]) / 0.6

    def bound(ahead: float) -> float | None:
        lack = np.maximum(needs - ahead, 0.0)
        series = {
            "ahead": Series("ahead", np.array(ahead), parse_unit("1"), ()),
            "lack": Series("lack", lack, parse_unit("1"), ("S",)),
        }
        bench = Bench(Declarations(plan.core, None), series)
        found = relaxed_bound(programme_of(bench, plan.core, evaluate_declared(bench, plan.core)))
        return found.value

    best = min(map(total, (0.0, 1.0, 4.0, 6.0)))
    for ahead in (0.0, 1.0, 2.5, 4.0, 5.0, 6.0, 8.0):
        found = bound(ahead)
        assert found is not None
        assert sign * found <= best + 1e-9
        if total(ahead) == best:
            assert found == pytest.approx(sign * best, rel=1e-6)


def minimum(expression: str, *names: str, rows: tuple[str, ...] = ()) -> Blueprint:
    free = [{"name": n, "unit": "1", "lower": -20.0, "upper": 20.0} for n in names]
    constraints = [{"constraint_id": f"C{k}", "expression": row} for k, row in enumerate(rows)]
    goal = {"sense": "minimize", "unit": "1", "expression": expression}
    return document(free, constraints, goal)


def test_a_cone_is_bounded_by_its_planes() -> None:
    # The shortest cable from the origin to the line 3 a + 4 b = 10 is 2 long.
    cone = minimum("r", "a", "b", "r", rows=("sqrt(a**2 + b**2) <= r", "3*a + 4*b == 10"))
    certificate = judged(cone, {"a": 1.2, "b": 1.6, "r": 2.0})
    assert certificate.levels["optimality"]["status"] == "pass"
    assert certificate.bound is not None
    assert certificate.bound["value"] == pytest.approx(2.0, rel=1e-6)
    assert "recomputed" in certificate.bound["method"]


@pytest.mark.parametrize("off", [0.0, 0.9, 1.0])
def test_every_convex_quadratic_objective_is_bounded_with_its_products(off: float) -> None:
    # x^2 + 2 off x y + y^2 is convex up to off = 1, where it is flat along x = -y.
    blueprint = minimum(f"x**2 + 2*{off}*x*y + y**2", "x", "y", rows=("x + y >= 2",))
    certificate = judged(blueprint, {"x": 1.0, "y": 1.0})
    assert certificate.levels["optimality"]["status"] == "pass"
    assert certificate.objective is not None
    assert certificate.objective["value"] == pytest.approx(2 + 2 * off)


TENTHS = st.integers(-5, 5).map(lambda n: n / 10)


@settings(max_examples=60, deadline=None)
@given(
    buys=TENTHS,
    sells=TENTHS | st.none(),
    keeps=TENTHS,
    least=st.sampled_from([0, 1.3, 7]),
    both=st.sampled_from([None, 3.7, 12]),
    kind=st.sampled_from(["continuous", "integer"]),
)
def test_two_open_columns_are_bounded_by_one_another_only_where_that_is_right(
    buys: float, sells: float | None, keeps: float, least: float, both: float | None, kind: str
) -> None:
    """A grid without limits, at one price or two, with a least import or a limit of both ways."""
    sells = buys if sells is None else sells
    ways = [{"name": "buy", "lower": 0, "type": kind}, {"name": "sell", "lower": 0}]
    store = {"name": "fill", "lower": -3, "upper": 5}
    rows = ["buy - sell == fill + 0.7", *([f"buy >= {least}"] if least else [])]
    rows += [f"buy + sell <= {both}"] if both else []
    goal = f"{buys}*buy - {sells}*sell - {keeps}*fill"
    constraints = [{"constraint_id": f"C{k}", "expression": r} for k, r in enumerate(rows)]
    plan = document([*ways, store], constraints, {"sense": "minimize", "expression": goal})
    true = linprog(
        [buys, -sells, -keeps],
        A_ub=[[1, 1, 0]] if both else None,
        b_ub=[both] if both else None,
        A_eq=[[1, -1, -1]],
        b_eq=[0.7],
        bounds=[(least, None), (0, None), (-3, 5)],
        integrality=[kind == "integer", 0, 0],
    )
    point = {"buy": max(least, 1.0), "sell": max(least, 1.0) - 1, "fill": 0.3}
    series = {
        name: Series(name, np.array(value), parse_unit("1"), ()) for name, value in point.items()
    }
    bench = Bench(Declarations(plan.core, None), series)
    found = relaxed_bound(programme_of(bench, plan.core, evaluate_declared(bench, plan.core)))
    if true.status == 3:  # unbounded
        assert found.value is None
    elif true.status == 0:
        assert found.value is None or found.value <= true.fun + 1e-9
        if buys >= sells and not least and kind == "continuous":
            assert found.value == pytest.approx(true.fun, abs=1e-6)
