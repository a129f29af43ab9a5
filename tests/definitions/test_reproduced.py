"""The second evaluation: what is right is reproduced, and every fault is found."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engiagent.blueprint.definitions import Results, evaluate_definitions
from engiagent.blueprint.document import Blueprint
from engiagent.text import Problem
from engiagent.verify.definitions import reproduce
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

TEXT = """# A tank cools

A tank at 90 degC stands in a room of 20 degC. Its time constant is 5 h.
After 10 h the tank is at 29.47 degC.
"""


def quoted(words: str) -> dict[str, Any]:
    start = TEXT.index(words)
    return {"kind": "text", "span": [start, start + len(words)], "quote": words}


def tank(scheme: str = "rk4", step: str | None = None, **claim: Any) -> dict[str, Any]:
    core = cooling(scheme, step)
    for parameter, words in zip(core["parameters"], ("20 degC", "5 h"), strict=True):
        parameter["source_reference"] = quoted(words)
    core["equations"][0]["source_reference"] = quoted("A tank at 90 degC")
    own = mapping(
        "{claim_id: K1, expression: 'tank[last(I)] == 29.47[degC]', tolerance: '0.005[K]'}"
    )
    source = quoted("After 10 h the tank is at 29.47 degC")
    core["claims"] = [own | {"source_reference": source} | claim]
    return core


@pytest.fixture
def problem(tmp_path: Path) -> Problem:
    (tmp_path / "problem.md").write_text(TEXT, encoding="utf-8")
    return Problem.load(tmp_path)


def assumed(core: dict[str, Any]) -> Blueprint:
    """Give every number of a case the source that it is a test's own."""
    source = {"kind": "assumption", "reason": "a test's own"}
    for group in ("parameters", "definitions", "equations", "draws", "claims"):
        for item in core.get(group, []):
            item["source_reference"] = source
    if "design" in core:
        core["design"]["source_reference"] = source
    return blueprint(**core)


def bare(tmp_path: Path) -> Problem:
    (tmp_path / "problem.md").write_text("# A case\n\nCompute it.\n", encoding="utf-8")
    return Problem.load(tmp_path)


def test_a_right_claim_is_reproduced(problem: Problem) -> None:
    certificate = reproduce(problem, None, blueprint(**tank()))
    assert certificate.verdict == "reproduced", certificate.to_json()
    check = certificate.levels["algebra"]["checks"][-1]
    assert check["quote"] == "After 10 h the tank is at 29.47 degC"
    assert check["half_step_change"] < check["tolerance"]


def test_a_wrong_claim_is_a_violation_with_its_amount(problem: Problem) -> None:
    core = tank(expression="tank[last(I)] <= 29.4[degC]", source_reference="the text")
    certificate = reproduce(problem, None, blueprint(**core))
    assert certificate.verdict == "violated"
    (violation,) = certificate.violations
    assert violation["check"] == "K1"
    assert violation["amount"] == pytest.approx(0.0738, abs=1e-3)


def test_a_step_too_coarse_for_the_tolerance_is_not_reproduced(problem: Problem) -> None:
    core = tank("euler", "1 h", tolerance="2[K]")
    assert reproduce(problem, None, blueprint(**core)).verdict == "reproduced"
    core = tank("euler", "1 h", tolerance="0.97[K]")
    certificate = reproduce(problem, None, blueprint(**core))
    assert certificate.verdict == "undecided"
    assert "half the step changes it" in certificate.levels["algebra"]["findings"][0]


def test_a_missing_parameter_leaves_it_undecided(problem: Problem) -> None:
    core = tank()
    core["parameters"][1] = {"name": "tau", "unit": "h", "status": "missing"}
    certificate = reproduce(problem, None, blueprint(**core))
    assert (certificate.verdict, certificate.missing) == ("ill-posed", ("tau",))


def test_what_cannot_be_computed_is_undecided_and_says_why(problem: Problem) -> None:
    core = tank()
    core["equations"][0]["rate"] = "(ambient - tank[t])/0[h]"
    certificate = reproduce(problem, None, blueprint(**core))
    assert certificate.verdict == "undecided"
    assert any("division by zero" in note for note in certificate.notes)


def drawn(distribution: str, arguments: dict[str, Any]) -> dict[str, Any]:
    definitions = listing("""
        - {name: mean, expression: "sum(x[s] for s in S)/len(S)"}
        - {name: used, expression: "sum(v[k]*p[k] for k in K)"}
    """)
    core = sampled(distribution, arguments, 300, unit="kW", generator="Philox", seed=3)
    return core | {"definitions": definitions}


FUNCTIONS: dict[str, Any] = {
    "sets": [
        *hours(4),
        {"name": "B", "kind": "range", "start": 1, "stop": 3},
        {"name": "W", "kind": "scenario", "elements": ["low", "high"], "probabilities": [0.3, 0.7]},
    ],
    "parameters": [
        number("load", [10, 25, 40, 5], "kW", index=["T"]),
        number("xs", [0, 20, 50], "kW", index=["B"]),
        number("ys", [0, 3, 12], "EUR", index=["B"]),
        number("yield_", {"low": 2, "high": 5}, "kWh", index=["W"]),
    ],
    "definitions": listing("""
        - {name: fee, index: [t in T], expression: "piecewise(load[t], xs, ys)"}
        - {name: tax, index: [t in T], unit: EUR,
          expression: "piecewise(load[t], (0, 30, 60), (1[EUR], 2[EUR], 5[EUR]))"}
        - {name: power, expression: "sumsq(load[t] for t in T)"}
        - {name: mean, expression: "expect(yield_[w] for w in W)"}
        - {name: late, expression: "first_index(load[t] > 20[kW] for t in T if pos(t) > 1)"}
        - {name: least, expression: "min(load[t] for t in T) if first(T) != last(T) else 0"}
    """),
}

CASES: dict[str, dict[str, Any]] = {
    "functions": FUNCTIONS,
    "shortfall": shortfall(scenarios=30),
    "thermostat": thermostat(),
    "normal": drawn("normal", {"mean": 3, "standard_deviation": "200[W]"}),
    "constant": drawn("normal", {"mean": 3, "standard_deviation": 0}),
    "uniform": drawn("uniform", {"lower": "1000[W]", "upper": 4}),
    "lognormal": drawn("lognormal", {"median": 2, "log_standard_deviation": 0.5}),
    "exponential": drawn("exponential", {"mean": 4}),
    "triangular": drawn("triangular", {"lower": 0, "mode": 1, "upper": 4}),
    "weibull": drawn("weibull", {"scale": 8, "shape": 2}),
    "discrete": drawn("discrete", {"values": "v", "probabilities": "p"}),
    "empirical": drawn("empirical", {"values": "v"}),
    "exact": cooling("exact"),
    "euler": cooling("euler", "10 min"),
    "degrees": {
        **cooling("exact"),
        "draws": listing("""
            - {name: ambient_noise, index: [t in T], distribution: normal, unit: degC,
              generator: SFC64, seed: 1, arguments: {mean: ambient, standard_deviation: "2[K]"}}
        """),
    },
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_computed_is_found_again(case: str, tmp_path: Path) -> None:
    plan = assumed(CASES[case])
    certificate = reproduce(bare(tmp_path), None, plan)
    assert certificate.verdict == "reproduced", certificate.to_json()
    through_file = evaluate_definitions(plan).to_dataset()
    again = reproduce(bare(tmp_path), through_file, plan)
    assert again.verdict == "reproduced"
    assert again.levels == certificate.levels


@pytest.mark.parametrize("case", CASES)
def test_any_number_that_is_altered_is_found(case: str, tmp_path: Path) -> None:
    plan = assumed(CASES[case])
    results = evaluate_definitions(plan)
    for name in results.series:
        certificate = reproduce(bare(tmp_path), altered(results, name), plan)
        assert certificate.verdict == "violated", name


def altered(results: Results, name: str) -> Results:
    """Return results in which the last number of one series is moved by one part in a thousand."""
    series = results.series[name]
    values = np.array(series.values, dtype=np.float64)
    flat = values.reshape(-1)
    flat[-1] = flat[-1] * 1.001 + 1e-3
    changed = replace(series, values=values)
    return replace(results, series={**results.series, name: changed})


def designed(**more: Any) -> Blueprint:
    design = mapping("""
        {choices: [{name: a, values: [0.5, 1, 2, 3, 4], unit: m2}], sense: minimize, merit: cost,
          unit: EUR}
    """)
    core: dict[str, Any] = {
        "sets": [],
        "parameters": [number("k", 3, "EUR/m2"), number("q", 12, "EUR*m2")],
        "definitions": [{"name": "cost", "expression": "k*a + q/a", "unit": "EUR"}],
    }
    return assumed(core | {"design": design | more})


def test_the_best_of_a_grid_is_reproduced_and_a_worse_one_is_not(tmp_path: Path) -> None:
    plan = designed()
    certificate = reproduce(bare(tmp_path), None, plan)
    assert certificate.verdict == "reproduced", certificate.to_json()
    assert certificate.objective is not None
    assert certificate.objective["value"] == pytest.approx(12.0)
    level = certificate.levels["optimality"]
    assert (level["status"], level["points"]) == ("pass", 5)
    worse = evaluate_definitions(plan, choices={"a": 3.0})
    certificate = reproduce(bare(tmp_path), worse, plan)
    assert certificate.verdict == "violated"
    assert "better merit" in certificate.violations[0]["message"]


@pytest.mark.parametrize("column", ["design__merit", "design__a"])
@pytest.mark.parametrize("value", [11.9, np.nan])
def test_the_points_that_are_handed_over_are_those_of_the_design(
    tmp_path: Path, column: str, value: float
) -> None:
    plan = designed(where="a <= 3[m2]")
    dataset = evaluate_definitions(plan).to_dataset()
    assert reproduce(bare(tmp_path), dataset, plan).verdict == "reproduced"
    dataset[column].values[1] = value
    certificate = reproduce(bare(tmp_path), dataset, plan)
    assert certificate.verdict == "violated"
    assert column in certificate.violations[0]["message"]
