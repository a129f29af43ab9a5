"""Claims that nothing is allowed, where what contradicts is no row: bounds and empty sets."""

from pathlib import Path
from typing import Any

import pytest

from engiagent.blueprint.document import Blueprint
from engiagent.formulations.compile import compile_blueprint
from engiagent.run.certify import certify
from engiagent.solvers.solution import to_dataset
from engiagent.solvers.solving import solve
from engiagent.verify.certificate import Certificate
from tests.verify.small import document, rule


def certificate(blueprint: Blueprint) -> Certificate:
    """Return the certificate of what a solver says of a blueprint."""
    program = compile_blueprint(blueprint)
    answer = to_dataset(program, solve(program, isolate=False))
    return certify(None, answer, blueprint, folder=Path(), name="none")


@pytest.mark.parametrize(
    ("lower", "upper", "unit"), [(0.2, 0.8, None), (2.5, 2.5, "kW"), (-0.9, -0.1, "MW")]
)
def test_bounds_that_hold_no_whole_number_prove_it(lower: float, upper: float, unit: Any) -> None:
    n = {"name": "n", "type": "integer", "lower": lower, "upper": upper}
    n |= {"unit": unit} if unit else {}
    found = certificate(document([n], [rule("n >= -5", None)]))
    assert found.verdict == "proven infeasible"


def test_bounds_beside_a_whole_number_by_rounding_prove_nothing() -> None:
    n = {"name": "n", "type": "integer", "lower": 1 + 1e-10, "upper": 1.5}
    assert certificate(document([n], [rule("n >= -5", None)])).verdict == "certified"


def test_a_variable_over_an_empty_set_is_no_obstacle() -> None:
    x = {"name": "x", "index": ["z in Z"], "lower": 0, "upper": 1, "unit": "kW"}
    sets = [{"name": "Z", "kind": "labels", "elements": []}]
    blueprint = document([x], [rule("sum(x[z] for z in Z) >= 3", None)], sets=sets)
    assert certificate(blueprint).verdict == "proven infeasible"


def test_ends_of_a_chain_that_cross_prove_it() -> None:
    x = {"name": "x", "lower": 0, "upper": 9, "unit": "kW"}
    found = certificate(document([x], [rule("2000[W] >= x >= 3", None)]))
    assert found.verdict == "proven infeasible"
