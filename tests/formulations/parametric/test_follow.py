"""A program that follows parameters equals a fresh compilation of the changed blueprint."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, event, given, settings
from hypothesis import strategies as st

from engiagent.blueprint.document import Blueprint
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.parametric import StructureError, compile_parametric
from engiagent.formulations.program import Program
from tests.strategies import blueprints

NAMES = ("price", "demand", "eff", "energy", "cap", "share", "outside", "weight")


def changed(blueprint: Blueprint, values: dict[str, Any]) -> Blueprint:
    """Return a blueprint in which some parameters have other values."""
    document = blueprint.to_dict()
    for parameter in document["core_model_elements"]["parameters"]:
        if parameter["name"] in values:
            parameter["value"] = values[parameter["name"]]
    return Blueprint.from_dict(document)


def dense(program: Program) -> np.ndarray:
    matrix = np.zeros((program.row_count, program.column_count))
    row_of = np.repeat(np.arange(program.row_count), np.diff(program.row_starts))
    matrix[row_of, program.row_columns] = program.row_values
    return matrix


def quadratic(program: Program) -> dict[tuple[int, int, int], float]:
    p = program.products
    keys = zip(p.rows.tolist(), p.first.tolist(), p.second.tolist(), strict=True)
    return {k: v for k, v in zip(keys, p.values.tolist(), strict=True) if abs(v) > 1e-15}


def assert_equal(live: Program, fresh: Program) -> None:
    assert [b.name for b in live.columns] == [b.name for b in fresh.columns]
    assert [(b.constraint_id, b.start, b.stop) for b in live.rows] == [
        (b.constraint_id, b.start, b.stop) for b in fresh.rows
    ]
    close = partial(np.testing.assert_allclose, rtol=1e-12, atol=1e-10)
    for name in ("cost", "column_lower", "column_upper", "row_lower", "row_upper"):
        close(getattr(live, name), getattr(fresh, name))
    np.testing.assert_array_equal(live.integrality, fresh.integrality)
    close(live.offset, fresh.offset)
    close(dense(live), dense(fresh))
    ours, theirs = quadratic(live), quadratic(fresh)
    assert set(ours) == set(theirs)
    for key, value in theirs.items():
        assert ours[key] == pytest.approx(value, rel=1e-11)
    x = np.random.default_rng(1).uniform(0.5, 2, live.column_count)
    for one, other in zip(live.expressions, fresh.expressions, strict=True):
        np.testing.assert_allclose(one.evaluate(x), other.evaluate(x), rtol=1e-10, atol=1e-8)
    np.testing.assert_allclose(live.activity_at(x), fresh.activity_at(x), rtol=1e-10, atol=1e-8)


def new_values(name: str, blueprint: Blueprint, random: np.random.Generator) -> Any:
    """Return values for a parameter of the random blueprints, in the form of a blueprint."""
    size = next(s["periods"] for s in sets_of(blueprint) if s["name"] == "T")

    def series() -> list[float]:
        return [round(float(v), 3) for v in random.normal(20, 30, size)]

    makers: dict[str, Callable[[], Any]] = {
        "price": series,
        "demand": series,
        "outside": series,
        "eff": lambda: float(random.uniform(40, 100)),
        "energy": lambda: float(random.uniform(0.2, 3)),
        "weight": lambda: float(random.normal()),
        "cap": lambda: {g: float(random.uniform(1, 50)) for g in ("G1", "G2", "G3")},
        "share": lambda: {"G1": series(), "G2": [0.0] * size, "G3": series()},
    }
    return makers[name]()


def array(value: Any) -> Any:
    """Return values by label in the order of the labels."""
    return list(value.values()) if isinstance(value, dict) else value


def sets_of(blueprint: Blueprint) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = blueprint.to_dict()["core_model_elements"]["sets"]
    return found


@settings(deadline=None, max_examples=60, phases=(Phase.generate,))
@given(blueprints(), st.sets(st.sampled_from(NAMES), min_size=1, max_size=3), st.integers(0, 999))
def test_updates_equal_a_fresh_compilation(
    blueprint: Blueprint, names: set[str], seed: int
) -> None:
    random = np.random.default_rng(seed)
    chosen = sorted(names)
    try:
        parametric = compile_parametric(blueprint, None, chosen)
    except StructureError:
        event("structural")
        parametric = compile_parametric(blueprint, None, chosen, structure="recompile")
    assert_equal(parametric.program, compile_blueprint(blueprint))
    values: dict[str, Any] = {}
    for _ in range(2):
        for name in chosen[: 1 + seed % len(chosen)]:
            values[name] = new_values(name, blueprint, random)
        parametric.update(**{name: array(value) for name, value in values.items()})
        assert_equal(parametric.program, compile_blueprint(changed(blueprint, values)))
