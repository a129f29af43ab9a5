"""IPOPT, fatrop and SQP through CasADi: textbook optima, honest words, protection of domains."""

import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engiagent.errors import EngiagentError
from engiagent.formulations.program import ColumnBlock, Coordinate
from engiagent.solvers.adapter import Watch
from engiagent.solvers.casadi import conic, fatrop, ipopt
from engiagent.solvers.casadi.nlp import solve_nlp
from engiagent.solvers.casadi.starts import has_values, starting_points
from engiagent.solvers.registry import adapter
from engiagent.solvers.result import Progress, SolveOptions
from engiagent.solvers.solving import solve
from tests.solvers.casadi.problems import hs35, hs71, power, tank
from tests.solvers.conformance.cases import CASES
from tests.solvers.convex.programs import affine, column, function, make, random_quadratic

INF = np.inf


def test_hock_schittkowski_71_with_its_multipliers() -> None:
    result = ipopt.solve_here(hs71(), SolveOptions())
    assert result.objective == pytest.approx(17.0140172891563, rel=1e-12)
    assert result.x == pytest.approx([1, 4.74299964, 3.82114998, 1.37940829], abs=1e-8)
    assert result.row_dual == pytest.approx([0.55229366, -0.16146857], abs=1e-7)
    assert result.column_dual is not None
    assert result.column_dual[0] == pytest.approx(1.08787121, abs=1e-7)


def test_more_starts_find_the_better_valley() -> None:
    """x⁴ - 8 x² + x has minima near -2 (the best) and near 2."""
    goal = power(column(0), 4.0) - power(column(0), 2.0) * 8.0 + affine([1.0])
    program = make([-4], [4], goal)
    start = np.array([3.0])
    one = solve_nlp(program, SolveOptions(start=start), None, ipopt.METHOD, starts=1)
    many = solve_nlp(program, SolveOptions(start=start), None, ipopt.METHOD, starts=8)
    assert one.x == pytest.approx([1.968], abs=1e-2)
    assert many.x == pytest.approx([-2.03], abs=1e-2)
    assert "from 8 starts" in many.reason
    again = solve_nlp(program, SolveOptions(start=start), None, ipopt.METHOD, starts=8)
    assert many.x is not None
    np.testing.assert_array_equal(many.x, again.x)


def test_stuck_is_not_called_infeasible() -> None:
    """A ring that is out of reach, and one that a local method from the middle cannot find."""
    ring = [(0, 0, 0, 1.0), (0, 1, 1, 1.0)]
    far = make([-5, -5], [5, 5], affine([1, 1]), [(affine([0, 0]), 60, INF)], products=ring)
    result = ipopt.solve_here(far, SolveOptions())
    assert result.status == "error"
    assert "proves nothing" in result.reason
    assert "C0" in result.reason


def test_a_convex_program_is_proven_infeasible_by_tangents() -> None:
    rows = [
        (function("exp", column(0)), -INF, 1.0),
        (affine([1, 1]), 3, INF),
        (affine([0, 1]), -INF, 2),
    ]
    program = make([-5, -5], [5, 5], affine([1, 1]), rows)
    assert ipopt.solve_here(program, SolveOptions()).status == "infeasible"
    eased = replace(program, row_upper=np.array([np.exp(1.0) + 0.01, INF, 2.0]))
    assert ipopt.solve_here(eased, SolveOptions()).status == "optimal"


def test_an_endless_objective() -> None:
    program = make([0], [INF], affine([-1]), [(function("exp", -column(0)), -INF, 2.0)])
    assert ipopt.solve_here(program, SolveOptions()).status == "unbounded"


def test_a_start_is_found_inside_a_narrow_domain() -> None:
    """log(x + y - 90.5) has a value in a corner only; min x + y with log >= -1."""
    inner = column(0) + column(1) - 90.5
    program = make([-10, -2], [100, 1], affine([1, 1]), [(function("log", inner), -1.0, INF)])
    result = ipopt.solve_here(program, SolveOptions())
    assert result.status == "optimal"
    assert result.objective == pytest.approx(90.5 + np.exp(-1), rel=1e-9)


def test_what_has_no_value_is_named() -> None:
    program = make([-2], [1], affine([1]), [(function("log", column(0) - 1.5), -1.0, INF)])
    result = ipopt.solve_here(program, SolveOptions())
    assert result.status == "error"
    assert "C0 (the log) has no value" in result.reason


def test_starts_lie_inside_bounds_and_domains() -> None:
    goal = function("log", column(0)) + function("sqrt", column(1) - 3.0)
    program = make([0, -10], [INF, 50], goal)
    points = starting_points(program, None, 7)
    for _ in range(5):
        point = next(points)
        assert has_values(program, point)
        assert np.all(point >= program.column_lower)
        assert np.all(point <= program.column_upper)


def test_the_users_start_is_used() -> None:
    result = ipopt.solve_here(hs35(), SolveOptions(start=np.array([4 / 3, 7 / 9, 4 / 9])))
    assert result.status == "optimal"
    far = ipopt.solve_here(hs35(), SolveOptions(start=np.array([1e3, 0.0, 1e3])))
    assert result.iterations < far.iterations


def test_kinks_in_convex_position_are_smoothed_exactly() -> None:
    """min |x - 1| + |x + 1| + 0.1 (x - 2)²: the flat between -1 and 1 leans to 1."""
    goal = function("abs", column(0) - 1.0) + function("abs", column(0) + 1.0)
    program = make([-9], [9], goal + affine([-0.4], 0.4), products=[(-1, 0, 0, 0.1)])
    for solver in (ipopt, adapter("clarabel")):
        result = solver.solve_here(program, SolveOptions())
        assert result.status == "optimal"
        assert result.x == pytest.approx([1], abs=1e-8)
        assert result.objective == pytest.approx(2.1, abs=1e-8)
        assert result.column_dual is not None
        assert len(result.column_dual) == 1


def test_limits_and_cancellation(tmp_path: Path) -> None:
    program = tank(300, drag=0.1)
    result = ipopt.solve_here(program, SolveOptions(time_limit=1e-3))
    assert result.status in ("limit", "feasible")
    assert "time limit" in result.reason
    seen: list[Progress] = []
    stop = threading.Event()

    def watch(progress: Progress) -> None:
        seen.append(progress)
        stop.set()

    result = ipopt.solve_here(
        program, SolveOptions(), Watch(watch, None, stop.is_set, interval=0.0)
    )
    assert result.status == "interrupted"
    assert seen[0].iterations >= 1
    log = tmp_path / "ipopt.txt"
    ipopt.solve_here(hs35(), SolveOptions(log=str(log)))
    assert "Ipopt" in log.read_text(encoding="utf-8")


def test_more_equations_than_columns() -> None:
    """The same two equations three times over; a method for equations alone would not start."""
    rows = [(affine([k, 1.0]), 3.0 * k + 2.0, 3.0 * k + 2.0) for k in (1.0, 2.0, 5.0)]
    program = make([-9, -9], [9, 9], affine([1, 1]), rows, products=[(-1, 0, 0, 1.0)])
    result = ipopt.solve_here(program, SolveOptions())
    assert result.status == "optimal"
    assert result.x == pytest.approx([3, 2], abs=1e-7)


# --- fatrop ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("periods", "drag", "scale"), [(5, 0.0, 1.0), (12, 0.1, -3.0)])
def test_fatrop_agrees_with_ipopt_on_a_tank(periods: int, drag: float, scale: float) -> None:
    program = tank(periods, drag, scale)
    first = ipopt.solve_here(program, SolveOptions())
    second = fatrop.solve_here(program, SolveOptions())
    assert first.status == second.status == ("feasible" if drag else "optimal")
    assert second.objective == pytest.approx(first.objective, rel=1e-9)
    assert second.x == pytest.approx(first.x, abs=1e-7)
    assert second.row_dual == pytest.approx(first.row_dual, abs=1e-6)


def test_fatrop_takes_states_at_the_end_of_their_period() -> None:
    """A store whose level and flows run over the same periods; the level follows the flows."""
    n, random = 12, np.random.default_rng(0)
    price = random.normal(size=n)
    rows, products = [], []
    for t in range(n):
        before = column(t - 1) * 0.99 if t else affine(np.zeros(3 * n), 2.0)
        balance = column(t) - before - column(n + t) * 0.9 + column(2 * n + t)
        rows.append((balance, 0.0, 0.0))
        products += [(-1, n + t, n + t, 0.1), (-1, 2 * n + t, 2 * n + t, 0.1)]
    cost = affine(np.concatenate([np.zeros(n), price, -price]))
    program = make([0] * 3 * n, [5] * n + [1] * 2 * n, cost, rows, products=products)
    names = ("level", "charge", "discharge")
    program = replace(
        program,
        columns=tuple(
            ColumnBlock(name=name, start=i * n, stop=(i + 1) * n, unit="1", sets=("T",), shape=(n,))
            for i, name in enumerate(names)
        ),
        coordinates={"T": Coordinate("T", "time", np.arange(n))},
    )
    first = fatrop.solve_here(program, SolveOptions())
    second = adapter("clarabel").solve_here(program, SolveOptions())
    assert first.status == second.status == "optimal"
    assert first.objective == pytest.approx(second.objective, rel=1e-9)
    assert first.row_dual == pytest.approx(second.row_dual, abs=1e-6)


def test_fatrop_says_why_a_program_is_not_in_stages() -> None:
    base = tank(4)
    wide = make(
        base.column_lower, base.column_upper, affine(base.cost), [(column(0) + column(3), 0.0, 0.0)]
    )
    wide = replace(wide, columns=base.columns, coordinates=base.coordinates)
    with pytest.raises(EngiagentError, match="C0 spans more than two stages"):
        fatrop.solve_here(wide, SolveOptions())
    ramp = replace(wide, row_columns=np.array([0, 1]), row_lower=np.array([-1.0]))
    with pytest.raises(EngiagentError, match="C0 joins two stages and is no equation"):
        fatrop.solve_here(ramp, SolveOptions())
    with pytest.raises(EngiagentError, match="different stages"):
        fatrop.solve_here(
            replace(
                base,
                products=replace(
                    base.products,
                    first=base.products.first.copy(),
                    second=np.where(base.products.first == 2, 1, base.products.second),
                ),
            ),
            SolveOptions(),
        )
    with pytest.raises(EngiagentError, match="no variable runs over a time set"):
        fatrop.solve_here(random_quadratic(1, n=150), SolveOptions())


# --- CasADi's other solvers --------------------------------------------------------------------


@pytest.mark.parametrize("plugin", sorted(conic.UNFIT))
def test_plugins_that_failed_are_refused_with_the_reason(plugin: str) -> None:
    with pytest.raises(EngiagentError, match="not offered"):
        conic.member(plugin)


def test_sqp_finds_the_same_optimum() -> None:
    result = conic.member("sqpmethod").solve_here(hs71(), SolveOptions(), None)
    assert result.objective == pytest.approx(17.0140172891563, rel=1e-8)
    with pytest.raises(EngiagentError, match="no solver 'nonsense'"):
        conic.member("nonsense")


@pytest.mark.parametrize("plugin", ["qpoases", "proxqp"])
def test_solvers_of_casadi_print_nothing(plugin: str, capfd: pytest.CaptureFixture[str]) -> None:
    program = next(case.program for case in CASES if case.name == "QP: nearest point")
    result = solve(program, SolveOptions(backend=f"casadi-{plugin}"), isolate=False)
    assert result.status == "optimal"
    print("afterwards it is heard again")
    assert capfd.readouterr() == ("afterwards it is heard again\n", "")
