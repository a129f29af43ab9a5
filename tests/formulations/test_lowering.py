"""Functions with kinks, tables and logic as rows: the optimum is that of trying every point."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from engiagent.blueprint.diagnostics import BlueprintError
from engiagent.blueprint.document import Blueprint
from engiagent.formulations.compile import compile_blueprint
from engiagent.solvers.solving import solve
from tests.blueprints import blueprint as core_blueprint

Point = dict[str, int]

VARIABLES: dict[str, tuple[str, int, int]] = {
    "x": ("integer", -3, 4),
    "y": ("integer", 0, 5),
    "a": ("binary", 0, 1),
    "b": ("binary", 0, 1),
}


@dataclass(frozen=True)
class Piece:
    """Text of the language and what it means at a point."""

    text: str
    at: Callable[[Point], float]


@dataclass(frozen=True)
class Statement:
    """A constraint and whether it holds at a point."""

    text: str
    holds: Callable[[Point], bool]


NUMBERS = st.integers(-4, 4)


@st.composite
def affine(draw: st.DrawFn) -> Piece:
    p, q, r = draw(NUMBERS), draw(NUMBERS), draw(NUMBERS)
    return Piece(f"({p}*x + {q}*y + {r})", lambda v: p * v["x"] + q * v["y"] + r)


@st.composite
def largest(draw: st.DrawFn) -> Piece:
    parts = draw(st.lists(pieces(), min_size=2, max_size=3))
    name, choose = draw(st.sampled_from([("max", max), ("min", min)]))
    text = ", ".join(part.text for part in parts)
    return Piece(f"{name}({text})", lambda v: choose(part.at(v) for part in parts))


@st.composite
def absolute(draw: st.DrawFn) -> Piece:
    part = draw(pieces())
    return Piece(f"abs({part.text})", lambda v: abs(part.at(v)))


@st.composite
def switched(draw: st.DrawFn) -> Piece:
    part, name = draw(pieces()), draw(st.sampled_from("ab"))
    off = draw(st.booleans())
    text = f"(1 - {name})*{part.text}" if off else f"{part.text}*{name}"
    return Piece(text, lambda v: (1 - v[name] if off else v[name]) * part.at(v))


@st.composite
def table(draw: st.DrawFn) -> Piece:
    steps = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    xs = [*itertools.accumulate(steps, initial=-3), 5]  # whatever x is
    assume(xs[-2] < 5)
    ys = draw(st.lists(st.integers(-5, 5), min_size=len(xs), max_size=len(xs)))
    text = f"piecewise(x, ({', '.join(map(str, xs))}), ({', '.join(map(str, ys))}))"
    return Piece(text, lambda v: float(np.interp(v["x"], xs, ys)))


@st.composite
def added(draw: st.DrawFn) -> Piece:
    left, right = draw(pieces()), draw(pieces())
    factor = draw(st.sampled_from([-2, -1, 1, 3]))
    text = f"({left.text} + {factor}*{right.text})"
    return Piece(text, lambda v: left.at(v) + factor * right.at(v))


def pieces(depth: int = 2) -> st.SearchStrategy[Piece]:
    return st.deferred(
        lambda: st.one_of(affine(), affine(), largest(), absolute(), switched(), table(), added())
    )


@st.composite
def comparison(draw: st.DrawFn) -> Statement:
    part, limit = draw(pieces()), draw(st.integers(-6, 8))
    op = draw(st.sampled_from(["<=", ">=", "=="]))
    tests: dict[str, Callable[[float], bool]] = {
        "<=": lambda value: value <= limit + 1e-9,
        ">=": lambda value: value >= limit - 1e-9,
        "==": lambda value: abs(value - limit) <= 1e-9,
    }
    return Statement(f"{part.text} {op} {limit}", lambda v: tests[op](part.at(v)))


CONDITIONS: dict[str, Callable[[Point], bool]] = {
    "a": lambda v: v["a"] == 1,
    "not b": lambda v: v["b"] == 0,
    "a and not b": lambda v: v["a"] == 1 and v["b"] == 0,
    "a or b == 1": lambda v: v["a"] == 1 or v["b"] == 1,
    "not (a and b)": lambda v: not (v["a"] == 1 and v["b"] == 1),
}


@st.composite
def implication(draw: st.DrawFn) -> Statement:
    condition, then = draw(st.sampled_from(sorted(CONDITIONS))), draw(comparison())
    holds = CONDITIONS[condition]
    text = f"implies({condition}, {then.text})"
    return Statement(text, lambda v: not holds(v) or then.holds(v))


@st.composite
def alternatives(draw: st.DrawFn) -> Statement:
    parts = draw(st.lists(comparison(), min_size=2, max_size=3))
    text = ", ".join(part.text for part in parts)
    return Statement(f"either({text})", lambda v: any(part.holds(v) for part in parts))


@st.composite
def exclusion(draw: st.DrawFn) -> Statement:
    parts = [*draw(st.lists(affine(), min_size=1, max_size=2)), Piece("a", lambda v: v["a"])]
    text = ", ".join(part.text for part in parts)
    return Statement(
        f"exclusive({text})", lambda v: sum(abs(part.at(v)) > 1e-9 for part in parts) <= 1
    )


@st.composite
def complement(draw: st.DrawFn) -> Statement:
    left, right = draw(affine()), draw(pieces())

    def holds(v: Point) -> bool:
        pair = left.at(v), right.at(v)
        return min(pair) >= -1e-9 and min(pair) <= 1e-9

    return Statement(f"complements({left.text} >= 0, {right.text} >= 0)", holds)


STATEMENTS = st.one_of(comparison(), implication(), alternatives(), exclusion(), complement())


def blueprint(objective: str, sense: str, statements: list[str]) -> Blueprint:
    core: dict[str, Any] = {
        "sets": [],
        "parameters": [],
        "decision_variables": [
            {"name": name, "type": kind, "lower": low, "upper": high}
            for name, (kind, low, high) in VARIABLES.items()
        ],
        "objective_function": {"sense": sense, "expression": objective},
        "constraints": [
            {"constraint_id": f"C{k}", "expression": text} for k, text in enumerate(statements)
        ],
    }
    return core_blueprint(**core)


def points() -> Iterator[Point]:
    ranges = [range(low, high + 1) for _, low, high in VARIABLES.values()]
    for values in itertools.product(*ranges):
        yield dict(zip(VARIABLES, values, strict=True))


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(pieces(), st.sampled_from(["minimize", "maximize"]), st.lists(STATEMENTS, max_size=3))
def test_the_optimum_is_that_of_trying_every_point(
    objective: Piece, sense: str, statements: list[Statement]
) -> None:
    assume(len(objective.text) + sum(len(s.text) for s in statements) < 900)
    values = [objective.at(v) for v in points() if all(s.holds(v) for s in statements)]
    program = compile_blueprint(blueprint(objective.text, sense, [s.text for s in statements]))
    assert program.is_linear
    result = solve(program, isolate=False)
    if not values:
        assert result.status == "infeasible"
        return
    best = min(values) if sense == "minimize" else max(values)
    assert result.objective == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize(
    ("objective", "sense", "binaries"),
    [
        ("max(x, y, 2)", "minimize", 2),  # an epigraph needs no choice
        ("max(x, y, 2)", "maximize", 5),
        ("min(x, y)", "maximize", 2),
        ("abs(x)", "minimize", 2),
        ("piecewise(x, (-3, 0, 4), (3, 0, 4))", "minimize", 2),  # convex
        ("piecewise(x, (-3, 0, 4), (3, 0, 4))", "maximize", 3),
        ("max(x, y - 9)", "maximize", 2),  # the second can never be the greater one
        ("abs(y)", "maximize", 2),  # never negative
    ],
)
def test_binaries_are_put_in_only_where_they_are_needed(
    objective: str, sense: str, binaries: int
) -> None:
    program = compile_blueprint(blueprint(objective, sense, []))
    zero_or_one = program.integrality & (program.column_upper <= 1) & (program.column_lower >= 0)
    assert int(zero_or_one.sum()) == binaries


def test_a_divisor_that_may_be_zero_is_refused_at_its_place() -> None:
    with pytest.raises(BlueprintError) as caught:
        compile_blueprint(blueprint("x", "minimize", ["1/(y - 2) <= 3"]))
    (found,) = caught.value.diagnostics
    assert (found.code, found.column) == ("EB027", 1)
    assert "bounds that exclude zero" in str(found)


def test_what_no_bound_limits_becomes_a_conditional_row() -> None:
    plain = blueprint("x", "minimize", ["implies(a, x >= 3)", "a == 1"])
    free = plain.with_core(
        decision_variables=(
            *plain.core.decision_variables[1:],
            type(plain.core.decision_variables[0])(name="x", lower=None, upper=None),
        )
    )
    program = compile_blueprint(free)
    assert len(program.indicators.rows) == 1
    assert program.indicators.active.tolist() == [1]
