"""Flows both ways at once: netted where that changes nothing, left alone where it does."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engiagent import Site
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.expansion import expand
from engiagent.solvers.linear import solve_lp
from engiagent.solvers.netting import both_ways, netted
from engiagent.solvers.result import SolveOptions, SolverResult
from engiagent.solvers.solving import solve
from tests.solvers.programs import _program


def result_at(x: np.ndarray[Any, Any]) -> SolverResult:
    return SolverResult(
        status="optimal", reason="", is_mip=False, solver="s", solver_version="1", x=x
    )


def test_flows_that_cancel_are_netted() -> None:
    matrix = np.array([[1.0, -1.0], [2.0, -2.0]])
    whole = _program(np.zeros(2), matrix, np.zeros(2), np.full(2, 20.0), upper=9.0)
    program = replace(whole, integrality=np.zeros(2, dtype=bool))
    x = np.array([7.0, 3.0])
    found = netted(program, result_at(x), SolveOptions()).x
    assert found is not None
    np.testing.assert_array_equal(found, [4.0, 0.0])
    assert x[1] == 3.0


def test_flows_that_have_to_lose_energy_stay() -> None:
    x = np.array([7.0, 3.0])
    matrix = np.array([[-1.0, 1.0], [0.9, -1 / 0.9]])
    sides = matrix @ x
    whole = _program(np.zeros(2), matrix, sides, sides, upper=9.0)
    program = replace(whole, integrality=np.zeros(2, dtype=bool))
    np.testing.assert_array_equal(netted(program, result_at(x), SolveOptions()).x, x)


@settings(max_examples=25, deadline=None)
@given(
    prices=st.lists(st.sampled_from([0.0, 0.1, 0.3]), min_size=6, max_size=6),
    paid=st.sampled_from([0.0, 0.05]),
    efficiency=st.sampled_from([0.8, 1.0]),
    roof=st.lists(st.integers(0, 12), min_size=6, max_size=6),
)
def test_a_store_never_runs_both_ways_where_energy_is_worth_nothing(
    prices: list[float], paid: float, efficiency: float, roof: list[int]
) -> None:
    hours = pd.date_range("2026-06-01", periods=6, freq="h", tz="UTC")
    site = Site.over(hours, title="Roof")
    site.add("grid", "grid", import_price=[paid + p for p in prices], export_price=paid)
    site.add("load", "load", power=1.0)
    site.add("roof", "generator_profile", available_power=roof, curtailable=True)
    ways: dict[str, Any] = {"charge_efficiency": efficiency, "discharge_efficiency": efficiency}
    limits: dict[str, Any] = {"charge_power_max": "5 kW", "discharge_power_max": "5 kW"}
    site.add("store", "battery", energy_capacity="10 kWh", initial_energy="4 kWh", **ways, **limits)
    site.minimise_cost()
    program = compile_blueprint(expand(site.blueprint()))
    found = solve(program, isolate=False)
    assert found.x is not None
    assert both_ways(program, found.x).size == 0
    plain = solve_lp(program, SolveOptions(), None)
    assert found.objective == pytest.approx(plain.objective, abs=1e-9)
    assert site.solve(progress=False).certificate.verdict in ("certified", "feasible")
