"""IPOPT through CasADi: textbook optima, honest words, protection of domains."""

from pathlib import Path

import numpy as np
import pytest

from engiagent.solvers.casadi import ipopt
from engiagent.solvers.casadi.ipopt import has_values, starting_points
from engiagent.solvers.result import SolveOptions
from tests.solvers.casadi.problems import hs35, hs71, tank
from tests.solvers.convex.programs import affine, column, function, make

INF = np.inf


def test_hock_schittkowski_71_with_its_multipliers() -> None:
    result = ipopt.solve_here(hs71(), SolveOptions())
    assert result.objective == pytest.approx(17.0140172891563, rel=1e-8)
    assert result.x == pytest.approx([1, 4.74299964, 3.82114998, 1.37940829], abs=1e-8)
    assert result.row_dual == pytest.approx([0.55229366, -0.16146857], abs=1e-7)
    assert result.column_dual is not None
    assert result.column_dual[0] == pytest.approx(1.08787121, abs=1e-7)


def test_stuck_is_not_called_infeasible() -> None:
    """A ring that is out of reach, and one that a local method from the middle cannot find."""
    ring = [(0, 0, 0, 1.0), (0, 1, 1, 1.0)]
    far = make([-5, -5], [5, 5], affine([1, 1]), [(affine([0, 0]), 60, INF)], products=ring)
    result = ipopt.solve_here(far, SolveOptions())
    assert result.status == "error"
    assert "proves nothing" in result.reason


def test_what_has_no_value_is_named() -> None:
    program = make([-2], [1], affine([1]), [(function("log", column(0) - 1.5), -1.0, INF)])
    result = ipopt.solve_here(program, SolveOptions())
    assert result.status == "error"
    assert "C0 has no value" in result.reason


def test_starts_lie_inside_bounds_and_domains() -> None:
    goal = function("log", column(0)) + function("sqrt", column(1) - 3.0)
    program = make([0, -10], [INF, 50], goal)
    points = starting_points(program, None, 7)
    for _ in range(5):
        point = next(points)
        assert has_values(program, point)
        assert np.all(point >= program.column_lower)
        assert np.all(point <= program.column_upper)


def test_a_time_limit_and_a_log(tmp_path: Path) -> None:
    program = tank(80, drag=0.1)
    result = ipopt.solve_here(program, SolveOptions(time_limit=1e-3))
    assert result.status in ("limit", "feasible")
    assert "time limit" in result.reason
    log = tmp_path / "ipopt.txt"
    ipopt.solve_here(hs35(), SolveOptions(log=str(log)))
    assert "Ipopt" in log.read_text(encoding="utf-8")
