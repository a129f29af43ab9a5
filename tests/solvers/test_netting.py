"""Flows both ways at once: netted where that changes nothing, left alone where it does."""

from dataclasses import replace

import numpy as np
import pytest

from engiagent.solvers.feasibility import netted
from engiagent.solvers.result import SolverResult
from tests.solvers.programs import _program


@pytest.mark.parametrize(
    ("second", "cost", "expected"),
    [
        (-1.0, 0.0, [4.0, 0.0]),
        (-0.9, 0.0, [7.0, 3.0]),  # a loss is a decision
        (-1.0, 0.1, [7.0, 3.0]),  # and so is what costs something
    ],
)
def test_only_flows_that_cancel_are_netted(
    second: float, cost: float, expected: list[float]
) -> None:
    matrix = np.array([[1.0, second], [2.0, 2 * second]])
    whole = _program(np.array([0.0, cost]), matrix, np.zeros(2), np.full(2, 20.0), upper=9.0)
    given = replace(whole, integrality=np.zeros(2, dtype=bool))
    x = np.array([7.0, 3.0])
    result = SolverResult(
        status="optimal", reason="", is_mip=False, solver="s", solver_version="1", x=x
    )
    found = netted(given, result).x
    assert found is not None
    np.testing.assert_array_equal(found, expected)
    assert x[1] == 3.0
