"""Computed answers against closed forms, plain loops and brute force."""

import hashlib
import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from engiagent.blueprint.definitions import evaluate_definitions
from tests.definitions.cases import (
    blueprint,
    cooling,
    hours,
    number,
    sampled,
    shortfall,
    thermostat,
)
from tests.written import listing, mapping

CLOSED_FORM = 20 + 70 * np.exp(-np.arange(11) / 5)


def run(core: dict[str, Any], **options: Any) -> Any:
    return evaluate_definitions(blueprint(**core), **options)


def test_a_battery_under_random_sun_is_what_a_plain_loop_makes_of_the_samples() -> None:
    results = run(shortfall(scenarios=50))
    sun = [
        900 * max(0.0, math.sin(math.pi * (t - 5) / 13)) if 5 <= t <= 18 else 0.0 for t in range(24)
    ]
    total = 0.0
    for cloud in results["cloud"]:
        stored = 2.0
        for t in range(24):
            surplus = 10 * 0.2 * sun[t] / 1000 * cloud[t] - 0.6
            total += max(0.0, -(stored + surplus))
            stored = max(0.0, min(8.0, stored + surplus))
    assert float(results["shortfall"]) == pytest.approx(total / 50, rel=1e-12)


def test_a_thermostat_switches_where_an_event_loop_switches() -> None:
    results = run(thermostat())
    room, on, states, temperatures = 20.0, 0.0, [], [20.0]
    for _ in range(144):
        on = 1.0 if room < 19 else 0.0 if room > 21 else on
        states.append(on)
        equilibrium = -5 + 6 * on / 0.15
        room = equilibrium + (room - equilibrium) * math.exp(-0.15 / 2 / 6)
        temperatures.append(room)
    np.testing.assert_array_equal(results["on"], states)
    np.testing.assert_allclose(results["room"], temperatures, rtol=1e-12)
    assert float(results["starts"]) >= 2


@pytest.mark.parametrize(("scheme", "order"), [("euler", 1), ("rk4", 4)])
def test_half_the_step_divides_the_error_by_two_to_the_order(scheme: str, order: int) -> None:
    errors = [
        np.abs(run(cooling(scheme, step))["tank"] - CLOSED_FORM).max()
        for step in ("30 min", "15 min", "450 s")
    ]
    observed = np.log2(np.array(errors[:-1]) / errors[1:])
    np.testing.assert_allclose(observed, order, atol=0.1)


def test_the_exact_scheme_is_exact_at_any_step() -> None:
    np.testing.assert_allclose(run(cooling("exact"))["tank"], CLOSED_FORM, rtol=1e-13)


@pytest.mark.parametrize("scheme", ["rk4", "exact"])
def test_coupled_zones_follow_the_matrix_exponential(scheme: str) -> None:
    from scipy.linalg import expm

    core: dict[str, Any] = {
        "sets": [*hours(6), {"name": "Z", "kind": "labels", "elements": ["a", "b"]}],
        "parameters": [
            number("k", 0.4, "1/h"),
            number("start", {"a": 10, "b": 30}, "K", index=["Z"]),
        ],
        "equations": listing("""
            - {name: x, index: [z in Z, t in T], instants: I, unit: K, initial: "start[z]",
              rate: "k*sum(x[y, t] - x[z, t] for y in Z) + 1[K/h]", step: 3 min}
        """),
    }
    core["equations"][0]["scheme"] = scheme
    matrix = np.array([[-0.4, 0.4, 1], [0.4, -0.4, 1], [0, 0, 0]])
    wanted = [(expm(matrix * hour) @ [10, 30, 1])[:2] for hour in range(7)]
    np.testing.assert_allclose(run(core)["x"], np.transpose(wanted), rtol=1e-8)


def test_two_recursions_that_need_one_another_are_a_forecast_with_level_and_trend() -> None:
    sales = [12.0, 15.0, 14.0, 18.0, 21.0, 20.0]
    core: dict[str, Any] = {
        "sets": [{"name": "M", "kind": "periods", "periods": 6}],
        "parameters": [
            number("sales", sales, "MWh", index=["M"]),
            number("a", 0.5),
            number("b", 0.3),
        ],
        "definitions": listing("""
            - {name: level, index: [m in M], unit: MWh,
              expression: "a*sales[m] + (1 - a)*(prev(level[m], 12[MWh]) + prev(trend[m], 0))"}
            - {name: trend, index: [m in M], unit: MWh,
              expression: "b*(level[m] - prev(level[m], 12[MWh])) + (1 - b)*prev(trend[m], 0)"}
            - {name: next, expression: "level[last(M)] + trend[last(M)]"}
        """),
    }
    level, trend = 12.0, 0.0
    for value in sales:
        before = level
        level = 0.5 * value + 0.5 * (level + trend)
        trend = 0.3 * (level - before) + 0.7 * trend
    results = run(core)
    assert float(results["next"]) == pytest.approx(level + trend, rel=1e-13)
    assert results.series["next"].unit == "MWh"


DISTRIBUTIONS: dict[str, tuple[dict[str, Any], Any]] = {
    "normal": ({"mean": 3, "standard_deviation": 2}, stats.norm(3, 2)),
    "uniform": ({"lower": -1, "upper": 4}, stats.uniform(-1, 5)),
    "lognormal": ({"median": 2, "log_standard_deviation": 0.5}, stats.lognorm(0.5, scale=2)),
    "exponential": ({"mean": 4}, stats.expon(scale=4)),
    "triangular": ({"lower": 0, "mode": 1, "upper": 4}, stats.triang(0.25, 0, 4)),
    "weibull": ({"scale": 8, "shape": 2}, stats.weibull_min(2, scale=8)),
}


def drawn(distribution: str, arguments: dict[str, Any], **more: Any) -> dict[str, Any]:
    return sampled(distribution, arguments, 4000, **more)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_samples_have_their_distribution(distribution: str) -> None:
    arguments, wanted = DISTRIBUTIONS[distribution]
    assert stats.kstest(run(drawn(distribution, arguments))["x"], wanted.cdf).pvalue > 1e-3


def test_the_hash_is_that_of_the_stored_samples() -> None:
    results = run(drawn("uniform", {"lower": 0, "upper": 1}))
    text = hashlib.sha256(results["x"].astype("<f8").tobytes()).hexdigest()
    assert results.draws == {"x": text}
    core = drawn("uniform", {"lower": 0, "upper": 1}, sha256=text)
    np.testing.assert_array_equal(run(core)["x"], results["x"])


def design(**more: Any) -> dict[str, Any]:
    core = shortfall(scenarios=20)
    core["parameters"] = [p for p in core["parameters"] if p["name"] not in ("area", "E_max")] + [
        number("c_area", 30, "EUR/m2"),
        number("c_store", 60, "EUR/kWh"),
    ]
    design = mapping("""
        choices:
          - {name: area, values: [5, 10, 20, 30], unit: m2}
          - {name: E_max, lower: 2, upper: 14, points: 4, unit: kWh}
        sense: minimize
        merit: c_area*area + c_store*E_max + 500[EUR/kWh]*shortfall
        unit: EUR
    """)
    return {**core, "design": design | more}


def test_a_design_on_a_grid_is_the_best_by_brute_force() -> None:
    results = run(design())
    best = math.inf, (0.0, 0.0)
    for area, size in itertools.product((5, 10, 20, 30), (2, 6, 10, 14)):
        core = shortfall(scenarios=20)
        core["parameters"][0]["value"], core["parameters"][3]["value"] = area, size
        merit = 30 * area + 60 * size + 500 * float(run(core)["shortfall"])
        best = min(best, (merit, (area, size)))
    chosen = results.design
    assert (chosen.choices["area"], chosen.choices["E_max"]) == best[1]
    assert chosen.merit == pytest.approx(best[0], rel=1e-12)
    assert chosen.wording == "best of all 16 admissible points of the grid"


def test_a_design_by_samples_is_the_best_of_those_evaluated_and_a_filter_holds() -> None:
    choices = [
        {"name": "area", "lower": 5, "upper": 30, "unit": "m2"},
        {"name": "E_max", "lower": 2, "upper": 14, "unit": "kWh"},
    ]
    results = run(
        design(choices=choices, samples=30, generator="PCG64", seed=1, where="E_max <= 8[kWh]")
    )
    chosen = results.design
    assert chosen.choices["E_max"] <= 8
    assert chosen.merit == np.nanmin(chosen.merits)
    allowed = int((chosen.points["E_max"] <= 8).sum())
    assert chosen.wording == f"best of {allowed} evaluated"
