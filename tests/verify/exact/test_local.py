"""Local optimality: residuals and curvature against what calculus gives by hand."""

from math import asin, pi
from pathlib import Path
from typing import Any

import pytest

from engiagent.blueprint.document import Blueprint
from engiagent.formulations.compile import compile_blueprint
from engiagent.run.certify import certify
from engiagent.solvers.result import SolveOptions
from engiagent.solvers.solution import to_dataset
from engiagent.solvers.solving import solve
from tests.verify.small import document, judged


def free(*names: str, low: float = -20.0, high: float = 20.0) -> list[dict[str, Any]]:
    return [{"name": n, "unit": "1", "lower": low, "upper": high} for n in names]


def minimum(expression: str, *names: str, rows: tuple[str, ...] = (), **box: float) -> Blueprint:
    constraints = [{"constraint_id": f"C{k}", "expression": row} for k, row in enumerate(rows)]
    goal = {"sense": "minimize", "unit": "1", "expression": expression}
    return document(free(*names, **box), constraints, goal)


def local(blueprint: Blueprint, **point: float) -> dict[str, Any]:
    certificate = judged(blueprint, dict(point))
    section = certificate.levels["optimality"]
    assert certificate.verdict in ("feasible", "undecided")
    assert section["status"] == "unchecked"
    return dict(section["local_optimality"])


@pytest.fixture
def wave() -> Blueprint:
    """0.1 x + cos x has a least value in every wave, each lower than the next."""
    return minimum("0.1*x + cos(x)", "x")


def test_the_bottom_of_a_wave_is_a_local_optimum_and_called_no_more(wave: Blueprint) -> None:
    found = local(wave, x=3 * pi - asin(0.1))
    assert found["name"] == "local optimum: KKT residuals"
    assert found["holds"] is True
    assert found["second_order"]["status"] == "sufficient"
    assert found["residuals"]["stationarity"] < 1e-12


def test_the_top_of_a_wave_is_stationary_and_no_optimum(wave: Blueprint) -> None:
    found = local(wave, x=2 * pi + asin(0.1))
    assert found["holds"] is True
    assert found["second_order"]["status"] == "fails"


def test_the_side_of_a_wave_is_not_even_stationary(wave: Blueprint) -> None:
    found = local(wave, x=7.0)
    assert found["holds"] is False
    assert "second_order" not in found
    # 0.1 - sin 7 beside the terms it is made of
    assert found["residuals"]["stationarity"] > 0.1


@pytest.mark.parametrize(
    ("point", "status"),
    [((0.5, 0.5), "fails"), ((-20.0, 20.0), None), ((20.0, -19.0), "sufficient")],
)
def test_a_product_on_a_line_has_its_optima_at_the_ends(
    point: tuple[float, float], status: str | None
) -> None:
    blueprint = minimum("x*y + 0.01*cos(x)", "x", "y", rows=("x + y == 1",))
    x, y = point
    if status is None:  # off the line
        certificate = judged(blueprint, {"x": x, "y": y})
        assert certificate.verdict == "violated"
        return
    found = local(blueprint, x=x, y=y)
    if status == "fails":
        assert found["holds"] is False or found["second_order"]["status"] == "fails"
    else:
        assert found["holds"] is True
        assert found["second_order"]["status"] == "sufficient"


def test_multipliers_of_a_curved_row_are_found_and_its_curvature_counts() -> None:
    # The least sum on the outer side of a circle curves the wrong way, on the inner the right one.
    outer = minimum("x + y", "x", "y", rows=("x**2 + y**2 >= 2",), low=0.0)
    found = local(outer, x=1.0, y=1.0)
    assert found["holds"] is True
    assert found["multipliers"] == "the checker's own, by least squares"
    assert found["second_order"]["status"] == "fails"


def test_a_multiplier_of_the_wrong_sign_is_no_optimum() -> None:
    blueprint = minimum("-x - y", "x", "y", rows=("x**2 + y**2 >= 2",))
    assert local(blueprint, x=1.0, y=1.0)["holds"] is False


def test_the_multipliers_of_a_solver_are_taken_when_they_fit(tmp_path: Path) -> None:
    pytest.importorskip("casadi")
    blueprint = minimum(
        "sin(x)*y + 0.1*y**2 + 0.2*x", "x", "y", rows=("x*y >= 3", "x + y <= 9"), low=0.5, high=8.0
    )
    program = compile_blueprint(blueprint, tmp_path)
    result = solve(program, SolveOptions(backend="ipopt"), isolate=False)
    assert result.status in ("optimal", "feasible")
    certificate = certify(
        None, to_dataset(program, result), blueprint, folder=tmp_path, name="small"
    )
    found = certificate.levels["optimality"]["local_optimality"]
    assert found["holds"] is True
    assert found["second_order"]["status"] == "sufficient"


def test_what_a_bound_proves_needs_no_local_conditions() -> None:
    convex = minimum("(x - 1)**2 + (x - y)**2", "x", "y", rows=("x + y >= 4",))
    certificate = judged(convex, {"x": 1.8, "y": 2.2})
    assert certificate.levels["optimality"]["status"] == "pass"
    assert "local_optimality" not in certificate.levels["optimality"]


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
