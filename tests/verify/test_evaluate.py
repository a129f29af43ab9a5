"""What expressions mean to the vectorised evaluator, and its derivatives.

A naive evaluator agrees with it in ``test_naive.py``.
"""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from engiagent.blueprint.document import Blueprint
from engiagent.units.unit import parse_unit
from engiagent.verify.documents import Bench, Declarations
from engiagent.verify.exact.bench import ExactBench
from engiagent.verify.frames import EvaluationError
from engiagent.verify.series import Series
from engiagent.verify.values import NotExactError, triplets
from tests.blueprints import document

N = 5
DOCUMENT: dict[str, Any] = document(
    sets=[
        {"name": "T", "kind": "time", "start": "2025-07-01T06:00", "step": "15 min", "periods": N},
        {"name": "I", "kind": "instants", "of": "T"},
        {
            "name": "C",
            "kind": "time",
            "start": "06:00",
            "step": "1 h",
            "periods": N,
            "cyclic": True,
        },
        {"name": "G", "kind": "labels", "elements": ["a", "b"]},
        {"name": "Late", "kind": "subset", "of": "T", "binder": "t", "where": "pos(t) >= 2"},
        {"name": "A", "kind": "tuples", "of": ["G", "G"], "elements": [["a", "b"], ["b", "b"]]},
    ],
    parameters=[
        {"name": "price", "index": ["T"], "value": [5, -3, 2, 7, 1], "unit": "EUR/MWh"},
        {"name": "P", "index": ["G"], "value": {"a": 2, "b": 3}, "unit": "MW"},
        {"name": "outside", "value": 5, "unit": "degC"},
        {"name": "R", "value": 2, "unit": "K/kW"},
        {"name": "home", "index": ["G"], "type": "element of G", "value": {"a": "b", "b": "a"}},
    ],
    decision_variables=[
        {"name": "x", "index": ["t in T"], "unit": "kW"},
        {"name": "s", "index": ["i in I"], "unit": "kWh"},
        {"name": "w", "index": ["t in C"], "unit": "kW"},
        {"name": "y", "index": ["g in G", "t in T"], "unit": "MW"},
        {"name": "theta", "index": ["i in I"], "unit": "degC"},
        {"name": "f", "index": ["(i, j) in A"], "unit": "kW"},
    ],
    constraints=[],
)
DECLARATIONS = Declarations(Blueprint.from_dict(DOCUMENT).core, None)
SHAPES: dict[str, tuple[int, ...]] = {
    "x": (N,),
    "s": (N + 1,),
    "w": (N,),
    "y": (2, N),
    "theta": (N + 1,),
    "f": (2,),
}
UNITS = {"x": "kW", "s": "kWh", "w": "kW", "y": "MW", "theta": "degC", "f": "kW"}


def bench(seed: int = 0, shift: dict[str, np.ndarray[Any, Any]] | None = None) -> Bench:
    rng = np.random.default_rng(seed)
    series = {}
    for name, shape in SHAPES.items():
        data = rng.uniform(1.0, 9.0, shape)
        if shift is not None and name in shift:
            data = data + shift[name]
        dims = tuple(f"axis{k}" for k in range(len(shape)))
        series[name] = Series(name, data, parse_unit(UNITS[name]), dims)
    return Bench(DECLARATIONS, series)


def shown(text: str, *forall: str, where: str | None = None, seed: int = 0) -> list[float]:
    here = bench(seed)
    value = here.evaluator.evaluate(text, here.evaluator.frame(forall, where))
    return [round(v, 9) for v in value.shown.tolist()]


def numbers(name: str, seed: int = 0) -> np.ndarray[Any, Any]:
    return np.asarray(bench(seed).series[name].data)


@pytest.mark.parametrize(
    ("text", "forall", "expected"),
    [
        ("weekday(t)", ["t in T"], [1] * N),
        ("pos(t)", ["t in Late"], [0, 1, 2]),
        ("len(Late) + pos(last(I))", [], [8]),
        ("price[t] * 2", ["t in Late"], [4, 14, 2]),
        ("price['2025-07-01T06:15']", [], [-3]),
        ("P[g] + 500[kW]", ["g in G"], [2.5, 3.5]),
        ("(P[g] + (6 if g == 'a' else 0))/1[MW]", ["g in G"], [8, 3]),
        ("(P[g] + where(g == 'c', 0, 6))/1[MW]", ["g in G"], [8, 9]),
        ("1 if g in ('b', 'c') or g not in G else 0", ["g in G"], [0, 1]),
        ("50 * 2[%]", [], [100]),
    ],
)
def test_meanings_of_the_language(text: str, forall: list[str], expected: list[float]) -> None:
    assert shown(text, *forall) == pytest.approx(expected)


def test_units_convert_and_temperatures_keep_their_zero() -> None:
    here = bench()
    value = here.evaluator.evaluate("sum(price[t]*x[t]*dt(t) for t in T)")
    money = (np.array([5, -3, 2, 7, 1]) * numbers("x") * 0.25 / 1000).sum()
    assert float(value.data[0]) == pytest.approx(money)
    assert str(parse_unit("EUR").dimension) == str(value.unit.dimension)
    loss = here.evaluator.evaluate("(theta[i] - outside)/R", here.evaluator.frame(("i in I",)))
    assert loss.data / 1000 == pytest.approx((numbers("theta") - 5) / 2)
    warm = here.evaluator.evaluate("theta[i] + 2", here.evaluator.frame(("i in I",)))
    assert warm.shown == pytest.approx(numbers("theta") + 2)


@pytest.mark.parametrize(
    ("text", "forall", "words"),
    [
        ("x[t-1]", ["t in T"], "no such element at t = 2025-07-01T06:00"),
        ("x[t+1]", ["t in T"], "no such element at t = 2025-07-01T07:00"),
        ("s[t+2]", ["t in T"], "no such element"),
        ("f['a', 'a']", [], "no such element"),
        ("x[t] + s[t]", ["t in T"], "one side is kW, the other kWh"),
        ("theta[i] + theta[i]", ["i in I"], "two temperatures cannot be added"),
        ("2*theta[i]", ["i in I"], "cannot be scaled"),
        ("sum(theta[i] for i in I)", [], "cannot be scaled or summed"),
        ("exp(x[t])", ["t in T"], "one side is kW"),
        ("nothing[t]", ["t in T"], "unknown name 'nothing'"),
        ("battery.charge[t]", ["t in T"], "not in the schedule"),
        ("x[g]", ["g in G"], "an element of G stands where T is needed"),
        ("x[0.5]", [], "not in T"),
        ("x[t] + 1[kkW]", ["t in T"], "unknown unit"),
        ("x[t] if x[t] > 1 else 0", ["t in T"], "indices and parameters only"),
    ],
)
def test_what_has_no_meaning_is_refused(text: str, forall: list[str], words: str) -> None:
    with pytest.raises(EvaluationError, match=words):
        shown(text, *forall)


# --- derivatives of random expressions -----------------------------------------------------------

FACTORS = {"x": 1e3, "s": 3.6e6, "w": 1e3, "y": 1e6}


def expressions(depth: int, scope: tuple[str, ...]) -> st.SearchStrategy[str]:
    """Return powers in expressions over the periods ``scope``."""
    index = st.sampled_from(scope)
    leaf = st.one_of(
        index.map(lambda t: f"x[{t}]"),
        index.map(lambda t: f"(s[{t}+1] - s[{t}])/dt({t})"),
        st.just("3[kW]"),
        index.map(lambda t: f"sum(y[g, {t}] for g in G)"),
        st.just("sum(P[g] for g in G)"),
    )
    if depth == 0:
        return leaf
    inner = expressions(depth - 1, scope)
    fresh = f"u{depth}"
    within = expressions(depth - 1, (*scope, fresh))
    return st.one_of(
        leaf,
        st.tuples(inner, st.sampled_from("+-"), inner).map(lambda p: f"({p[0]} {p[1]} {p[2]})"),
        st.tuples(st.integers(-3, 3), inner).map(lambda p: f"({p[0]})*({p[1]})"),
        st.tuples(inner, inner).map(lambda p: f"({p[0]})*({p[1]})/4[kW]"),
        inner.map(lambda e: f"-({e})"),
        st.tuples(inner, inner).map(lambda p: f"max({p[0]}, {p[1]})"),
        st.tuples(inner, index, inner).map(lambda p: f"({p[0]} if price[{p[1]}] > 0 else {p[2]})"),
        st.tuples(within, st.integers(0, 2)).map(
            lambda p: f"sum({p[0]} for {fresh} in T if pos({fresh}) > {p[1]})"
        ),
        within.map(lambda e: f"max({e} for {fresh} in T)"),
    )


@settings(deadline=None, max_examples=80)
@given(expressions(2, ("t",)), st.integers(0, 1000))
def test_coefficients_are_those_of_finite_differences(text: str, seed: int) -> None:
    rng = np.random.default_rng(seed)

    def at(shift: dict[str, np.ndarray[Any, Any]] | None = None) -> tuple[Any, Bench]:
        here = bench(seed, shift)
        return here.evaluator.evaluate(text, here.evaluator.frame(("t in T",))), here

    value, here = at()
    assume(value.degree < 2)
    slopes = triplets(value) if value.degree else {}
    for name in ("x", "s", "y"):
        direction = rng.uniform(-1, 1, SHAPES[name])
        change = at({name: direction})[0].data - value.data
        known = here.variables.get(name)
        along = np.zeros(N)
        if known is not None and known.order in slopes:
            rows, places, factors = slopes[known.order]
            np.add.at(along, rows, factors * direction.reshape(-1)[places] * FACTORS[name])
        assert change == pytest.approx(along, rel=1e-9, abs=1e-9 * (1 + float(value.size.max())))


@settings(deadline=None, max_examples=80)
@given(expressions(2, ("t",)), st.integers(0, 1000))
def test_fractions_agree_with_doubles_on_values_and_coefficients(text: str, seed: int) -> None:
    here = bench(seed)
    frame = here.evaluator.frame(("t in T",))
    value = here.evaluator.evaluate(text, frame)
    exactly = ExactBench(here)
    try:
        found = exactly.evaluator.evaluate(text, frame)
    except NotExactError:
        return
    room = 1e-9 * (1 + float(value.size.max()))
    assert all(isinstance(number, Fraction) for number in found.data)
    assert found.data.astype(float) == pytest.approx(value.data, rel=1e-9, abs=room)
    assert (found.degree, found.unit.dimension) == (value.degree, value.unit.dimension)
    for name, variable in exactly.variables.items() if found.degree == 1 else ():
        own = triplets(value).get(here.variables[name].order)
        other = triplets(found).get(variable.order)
        assert (own is None) == (other is None)
        if own is not None and other is not None:
            assert other[2].sum() == pytest.approx(own[2].sum(), rel=1e-9, abs=1e-9)
