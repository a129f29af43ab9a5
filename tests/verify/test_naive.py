"""The checker's evaluator agrees with a deliberately naive one on random expressions and logic."""

import math
import random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from engiagent.blueprint.document import Blueprint
from engiagent.units.unit import parse_unit
from engiagent.verify.documents import Bench, Declarations
from engiagent.verify.relations import Judge, parts_of
from engiagent.verify.series import Series
from tests.verify import naive
from tests.verify.naive import Place, World
from tests.verify.small import document
from tests.written import listing, mapping

N = 6
START = 1751349600.0  # 2025-07-01T06:00, a Tuesday
PRICE = [5.0, -3.0, 2.0, 7.0, 1.0, -1.0]
VARIABLES: dict[str, tuple[list[str], list[str], str, tuple[int, ...]]] = {
    "x": (["T"], ["t in T"], "kW", (N,)),
    "s": (["I"], ["i in I"], "kWh", (N + 1,)),
    "w": (["C"], ["c in C"], "kW", (N,)),
    "y": (["G", "T"], ["g in G", "t in T"], "MW", (2, N)),
    "z": (["S", "T"], ["k in S", "t in T"], "kW", (3, N)),
    "d": (["D"], ["h in D"], "kW", (2,)),
    "f": (["A"], ["(g, j) in A"], "kW", (2,)),
    "b": (["T"], ["t in T"], "1", (N,)),
    "m": (["M"], ["p in M"], "kW", (4,)),
}
BLUEPRINT: Blueprint = document(
    [
        {"name": name, "index": index, "unit": unit}
        | ({"initial": [4, 3]} if name == "x" else {})
        | ({"type": "binary"} if name == "b" else {})
        for name, (_, index, unit, _) in VARIABLES.items()
    ],
    sets=[
        {"name": "T", "kind": "time", "start": "2025-07-01T06:00", "step": "15 min", "periods": N},
        {"name": "I", "kind": "instants", "of": "T"},
        {"name": "D", "kind": "time", "start": "2025-07-01T06:00", "step": "1 h", "periods": 2},
        {
            "name": "C",
            "kind": "time",
            "start": "06:00",
            "step": "30 min",
            "periods": N,
            "cyclic": True,
        },
        {"name": "G", "kind": "labels", "elements": ["a", "b"]},
        mapping("""
            {name: S, kind: scenario, elements: [low, usual, high], probabilities: [0.2, 0.5, 0.3]}
        """),
        {"name": "Late", "kind": "subset", "of": "T", "binder": "t", "where": "pos(t) >= 2"},
        {"name": "A", "kind": "tuples", "of": ["G", "G"], "elements": [["a", "b"], ["b", "b"]]},
        {"name": "M", "kind": "range", "start": 3, "stop": 6},
    ],
    parameters=[
        {"name": "price", "index": ["T"], "value": PRICE, "unit": "1"},
        {"name": "P", "index": ["G"], "value": {"a": 2, "b": 3}, "unit": "MW"},
        {"name": "home", "index": ["G"], "type": "element of G", "value": {"a": "b", "b": "a"}},
    ],
)
DECLARATIONS = Declarations(BLUEPRINT.core, None)


def both(seed: int) -> tuple[Bench, World]:
    """Return one random plan as the checker and as the naive evaluator see it."""
    rng = random.Random(seed)
    series, numbers = {}, {}
    for name, (_, _, unit, shape) in VARIABLES.items():
        places = list(np.ndindex(shape))
        drawn = [
            float(rng.randint(0, 1))
            if name == "b"
            else rng.choice([0.0, float(rng.randint(-4, 9)), rng.uniform(-5.0, 9.0)])
            for _ in places
        ]
        numbers[name] = {
            p: v * naive.FACTORS[None if unit == "1" else unit]
            for p, v in zip(places, drawn, strict=True)
        }
        dims = tuple(f"axis{k}" for k in range(len(shape)))
        series[name] = Series(name, np.array(drawn).reshape(shape), parse_unit(unit), dims)
    numbers["price"] = {(k,): v for k, v in enumerate(PRICE)}
    numbers["P"] = {(0,): 2e6, (1,): 3e6}
    quarters = [START + 900.0 * k for k in range(N + 1)]
    world = World(
        labels={
            "T": list(range(N)),
            "I": list(range(N + 1)),
            "C": list(range(N)),
            "D": [0, 1],
            "G": ["a", "b"],
            "S": ["low", "usual", "high"],
            "M": [3, 4, 5, 6],
        },
        roots={"Late": "T"},
        members={"Late": list(range(2, N))},
        cyclic={"C"},
        edges={
            "T": quarters,
            "I": quarters,
            "D": [START, START + 3600.0, START + 7200.0],
            "C": [21600.0 + 1800.0 * k for k in range(N + 1)],
        },
        instants={"I": "T"},
        chances={"S": [0.2, 0.5, 0.3]},
        tuples={"A": (["G", "G"], [(0, 1), (1, 1)])},
        numbers=numbers,
        dims={name: dims for name, (dims, _, _, _) in VARIABLES.items()}
        | {"price": ["T"], "P": ["G"], "home": ["G"]},
        before={"x": [4e3, 3e3]},
        elements={"home": {(0,): Place("G", 1), (1,): Place("G", 0)}},
    )
    return Bench(DECLARATIONS, series), world


# --- expressions of the grammar, powers and plain numbers over periods in scope ------------------


def conditions(scope: tuple[str, ...]) -> st.SearchStrategy[str]:
    t = st.sampled_from(scope)
    leaf = st.one_of(
        st.tuples(t, st.integers(0, N)).map(lambda p: f"pos({p[0]}) > {p[1]}"),
        t.map(lambda n: f"price[{n}] > 0"),
        t.map(lambda n: f"-2 < price[{n}] <= 5"),
        t.map(lambda n: f"{n} in Late"),
        t.map(lambda n: f"{n} not in Late"),
        t.map(lambda n: f"clock({n}) >= '06:30'"),
        t.map(lambda n: f"hour({n}) == 6"),
        t.map(lambda n: f"weekday({n}) in (1, 2)"),
        t.map(lambda n: f"{n} == first(Late)"),
        t.map(lambda n: f"{n} + 1 <= last(T)"),
        t.map(lambda n: f"at({n}, D) == first(D)"),
        t.map(lambda n: f"within({n}, first(D))"),
        st.tuples(t, t).map(lambda p: f"{p[0]} <= {p[1]}"),
    )
    return st.one_of(
        leaf,
        st.tuples(leaf, st.sampled_from(["and", "or"]), leaf).map(" ".join),
        leaf.map(lambda c: f"not ({c})"),
    )


def leaves(scope: tuple[str, ...]) -> st.SearchStrategy[str]:
    t = st.sampled_from(scope)
    return st.one_of(
        t.map(lambda n: f"x[{n}]"),
        st.tuples(t, st.integers(1, 2)).map(lambda p: f"x[{p[0]}-{p[1]}]"),
        t.map(lambda n: f"(x[{n}+1] if {n} < last(T) else x[first(T)])"),
        t.map(lambda n: f"prev(x[{n}], 2[kW])"),
        t.map(lambda n: f"prev(y['a', {n}], y['b', last(T)])"),
        t.map(lambda n: f"(s[{n}+1] - s[{n}])/dt({n})"),
        t.map(lambda n: f"d[at({n}, D)]"),
        t.map(lambda n: f"expect(z[k, {n}] for k in S)"),
        t.map(lambda n: f"max(z[k, {n}] for k in S)"),
        t.map(lambda n: f"sum(prob(k)*z[k, {n}] for k in S if k != 'low')"),
        t.map(lambda n: f"sum(y[g, {n}] for g in G)"),
        t.map(lambda n: f"sum(y[home[g], {n}] for g in G if g == 'a')"),
        t.map(lambda n: f"sum(x[q] for q in T if within(q, at({n}, D)))"),
        st.sampled_from(
            listing("""
                ["3[kW]", "sum(P[g] for g in G)", "sum(f[g, j] for (g, j) in A if g != j)",
                  "sum(w[c-1]*(pos(c)+1) for c in C)", "w[first(C)-2]", "w[last(C)+1]",
                  "sum(m[p]*p for p in M if p > 4)",
                  "sum(w[c] - w[c+1] for c in C if clock(c) >= '07:00')",
                  "sum(P[j] for (g, j) in A)", "f['a', 'b']", "m[5]"]
            """)
        ),
    )


def plain(inner: st.SearchStrategy[str], scope: tuple[str, ...]) -> st.SearchStrategy[str]:
    """Return numbers without a unit."""
    t = st.sampled_from(scope)
    ratio = inner.map(lambda e: f"(({e})/20[MW])")
    return st.one_of(
        ratio,
        st.tuples(st.sampled_from(["exp", "sin", "cos", "tanh", "abs"]), ratio).map(
            lambda p: f"{p[0]}({p[1]})"
        ),
        ratio.map(lambda r: f"sqrt(1 + {r}**2)"),
        ratio.map(lambda r: f"log(2 + abs({r}))"),
        ratio.map(lambda r: f"(1.5 + tanh({r}))**0.5"),
        ratio.map(lambda r: f"(2 + sin({r}))**(-1)"),
        ratio.map(lambda r: f"piecewise(tanh({r}), (-1, 0, 0.25, 1), (2, 0, 1, 5))"),
        st.sampled_from(
            listing("""
                ["b[last(T)]", len(Late), "first_index(price[q] < 0 for q in T)",
                  "first_index(price[q] > 9 for q in T)", "7 % 4", -7 // 2]
            """)
        ),
        t.map(lambda n: f"pos({n})"),
        t.map(lambda n: f"b[{n}]"),
        t.map(lambda n: f"sumsq(price[q]/9 for q in T if q <= {n})"),
    )


def powers(depth: int, scope: tuple[str, ...]) -> st.SearchStrategy[str]:
    if depth == 0:
        return leaves(scope)
    inner = powers(depth - 1, scope)
    fresh = f"u{depth}"
    within = powers(depth - 1, (*scope, fresh))
    where = conditions((*scope, fresh))
    return st.one_of(
        leaves(scope),
        st.tuples(inner, st.sampled_from("+-"), inner).map(lambda p: f"({p[0]} {p[1]} {p[2]})"),
        st.tuples(plain(inner, scope), inner).map(lambda p: f"({p[0]})*({p[1]})"),
        st.tuples(inner, plain(inner, scope)).map(lambda p: f"({p[0]})/(3 + abs({p[1]}))"),
        st.tuples(inner, inner).map(lambda p: f"({p[0]})*({p[1]})/4[MW]"),
        inner.map(lambda e: f"-({e})"),
        inner.map(lambda e: f"abs({e})"),
        st.tuples(st.sampled_from(["min", "max"]), inner, inner).map(
            lambda p: f"{p[0]}({p[1]}, {p[2]})"
        ),
        st.tuples(inner, conditions(scope), inner).map(lambda p: f"({p[0]} if {p[1]} else {p[2]})"),
        st.tuples(conditions(scope), inner, inner).map(lambda p: f"where({p[0]}, {p[1]}, {p[2]})"),
        st.tuples(within, where).map(lambda p: f"sum({p[0]} for {fresh} in T if {p[1]})"),
        within.map(lambda e: f"sum({e} for {fresh} in Late)"),
        st.tuples(st.sampled_from(["min", "max"]), within).map(
            lambda p: f"{p[0]}({p[1]} for {fresh} in T)"
        ),
        within.map(lambda e: f"sumsq({e} for {fresh} in Late)/9[MW]"),
    )


def close(one: float, other: float, scale: float) -> bool:
    return abs(one - other) <= 1e-9 * (abs(one) + abs(other) + scale)


@settings(deadline=None, max_examples=400)
@given(powers(3, ("t",)), st.integers(0, 10_000))
def test_values_agree_on_every_row(text: str, seed: int) -> None:
    if len(text) > 3500:
        return
    bench, world = both(seed)
    value = bench.evaluator.evaluate(text, bench.evaluator.frame(("t in T",)))
    expected = [naive.value(text, {"t": Place("T", k)}, world) for k in range(N)]
    for found, wanted, size in zip(value.data, expected, value.size, strict=True):
        assert close(float(found), wanted, float(size)), text


def constraints() -> st.SearchStrategy[str]:
    side = powers(1, ("t",))
    compare = st.tuples(side, st.sampled_from(["<=", ">=", "=="]), side).map(" ".join)
    signs = st.tuples(side, st.sampled_from(["<=", ">="]), side).map(" ".join)
    switch = st.sampled_from(
        listing("""
            ["b[t]", "not b[t]", "b[t] == 1", "b[t] == 0", "b[t] and b[last(T)]",
              "b[t] or b[first(T)] == 0"]
        """)
    )
    return st.one_of(
        compare,
        st.tuples(side, side, side).map(" <= ".join),
        st.tuples(switch, compare).map(lambda p: f"implies({p[0]}, {p[1]})"),
        st.tuples(switch, compare, signs).map(lambda p: f"implies({p[0]}, {p[1]} and {p[2]})"),
        st.tuples(compare, compare).map(lambda p: f"either({p[0]}, {p[1]})"),
        st.tuples(compare, signs, signs).map(lambda p: f"either({p[0]}, {p[1]} and {p[2]})"),
        st.tuples(side, side).map(lambda p: f"exclusive({p[0]}, {p[1]})"),
        st.tuples(side, side, side).map(lambda p: f"exclusive({p[0]}, {p[1]}, {p[2]})"),
        st.tuples(signs, signs).map(lambda p: f"complements({p[0]}, {p[1]})"),
    )


@settings(deadline=None, max_examples=400)
@given(constraints(), st.integers(0, 10_000))
def test_verdicts_on_constraints_and_logic_agree_on_every_row(text: str, seed: int) -> None:
    bench, world = both(seed)
    frame = bench.evaluator.frame(("t in T",))
    parts = parts_of(bench.evaluator, text, frame, Judge(lambda unit: 1.0))  # 1 W
    for k in range(N):
        margins = [
            float(part.slack[at] + part.tolerance[at])
            for part in parts
            for at, row in enumerate(range(N) if part.rows is None else part.rows.tolist())
            if row == k
        ]
        wanted = naive.margin(text, {"t": Place("T", k)}, world)
        if abs(wanted + 1.0) > 0.5:  # what misses by about the tolerance may be judged either way
            assert (min(margins, default=math.inf) >= 0) == (wanted >= -1.0), (text, k)
