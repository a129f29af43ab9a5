"""Random valid blueprints: linear and mixed-integer, over every kind of set and mixed units.

The declarations are drawn first (times with and without dates, daylight saving, uneven steps,
labels, tuples, subsets, a union), then expressions are grown top-down over them. Whatever is drawn
obeys the language, so a refusal is a bug of whoever refuses.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from engiagent.blueprint.document import Blueprint
from tests.blueprints import blueprint

Json = dict[str, Any]

STARTS: tuple[Json, ...] = (
    {"start": "2025-07-01T00:00", "zone": "Europe/Berlin"},
    {"start": "2025-03-30T00:00", "zone": "Europe/Berlin"},
    {"start": "2025-10-26T01:00", "zone": "Europe/Berlin"},
    {"start": "2025-02-28T22:30", "zone": "UTC"},
    {"start": "2024-12-31T23:00"},
    {"start": "22:00"},
)
FORALLS: tuple[tuple[str, ...], ...] = (
    (),
    ("t in T",),
    ("g in G", "t in T"),
    ("k in K",),
    ("(i, j) in A", "t in T"),
    ("t in S",),
    ("e in I",),
    ("t in T", "u in U"),
)


@dataclass
class World:
    """What the drawn declarations allow."""

    periods: int
    cyclic: bool
    dated: bool
    named: bool = False


def _numbers(draw: DrawFn, size: int, low: int = -40, high: int = 90) -> list[float]:
    tenths = st.integers(low * 10, high * 10)
    return [draw(tenths) / 10 for _ in range(size)]


@st.composite
def blueprints(draw: DrawFn) -> Blueprint:
    """Draw a blueprint whose variables all have finite bounds."""
    world, sets = _sets(draw)
    parameters = _parameters(draw, world)
    variables = _variables(draw)
    expressions = [
        {"name": "net", "index": ["t in T"], "expression": _power(draw, world, {"t"}, 2)},
        {"name": "total", "expression": _power(draw, world, set(), 2), "unit": "MW"},
        {
            "name": "late",
            "index": ["t in T"],
            "where": "pos(t) > 0",
            "expression": "x[t] - x[t-1]",
            "unit": "kW",
        },
    ]
    world.named = True
    constraints = [_constraint(draw, world, n) for n in range(draw(st.integers(1, 5)))]
    return blueprint(
        sets=sets,
        parameters=parameters,
        decision_variables=variables,
        expressions=expressions,
        constraints=constraints,
        objective_function={
            "name": "cost",
            "sense": draw(st.sampled_from(["minimize", "maximize"])),
            "expression": f"sum(price[t]*({_power(draw, world, {'t'}, 1)})*dt(t) for t in T)"
            + draw(st.sampled_from(["", " + 3[EUR]", " - 0.5[kEUR]", " + 2[EUR]*n[first(K)]"])),
            "unit": draw(st.sampled_from(["EUR", "kEUR", "ct_EUR"])),
        },
    )


def _sets(draw: DrawFn) -> tuple[World, list[Json]]:
    periods = draw(st.integers(2, 5))
    start = draw(st.sampled_from(STARTS))
    even = draw(st.sampled_from(["1 h", "15 min", "2 h", "30 s"]))
    lengths = st.sampled_from(["15 min", "1 h", "90 min"])
    step = draw(st.one_of(st.just(even), st.lists(lengths, min_size=periods, max_size=periods)))
    cyclic = draw(st.booleans())
    time = {"name": "T", "kind": "time", "step": step, "periods": periods, **start}
    pairs: Json = draw(
        st.sampled_from(
            [
                {"elements": [["G1", "G2"], ["G2", "G3"], ["G3", "G1"]]},
                {"binder": "a, b", "where": "pos(a) < pos(b)"},
                {"binder": "(a, b)", "where": "a != b and cap[b] > 0"},
            ]
        )
    )
    some: Json = draw(
        st.sampled_from(
            [
                {"where": "pos(t) % 2 == 0"},
                {"binder": "t", "where": "t != first(T)"},
                {"binder": "q in T", "where": "price[q] > 20 or q == last(T)"},
            ]
        )
    )
    low = draw(st.integers(-1, 2))
    sets: list[Json] = [
        time | ({"cyclic": True} if cyclic else {}),
        {"name": "I", "kind": "instants", "of": "T"},
        {"name": "G", "kind": "labels", "elements": ["G1", "G2", "G3"]},
        {"name": "K", "kind": "range", "start": low, "stop": low + draw(st.integers(0, 2))},
        {"name": "A", "kind": "tuples", "of": ["G", "G"], **pairs},
        {"name": "S", "kind": "subset", "of": "T", **some},
        {"name": "F", "kind": "subset", "of": "G", "elements": ["G3", "G1"]},
        {"name": "H", "kind": "labels", "elements": ["boiler"]},
        {"name": "U", "kind": "union", "of": ["F", "H"]},
    ]
    return World(periods, cyclic, "T" in start["start"]), draw(st.permutations(sets))


def _parameters(draw: DrawFn, world: World) -> list[Json]:
    size = world.periods
    labels = ("G1", "G2", "G3")
    kinds = st.sampled_from(["gas", "oil"])
    parameters: list[Json] = [
        {"name": "price", "index": ["T"], "value": _numbers(draw, size), "unit": "EUR/MWh"},
        {"name": "demand", "index": ["t in T"], "value": _numbers(draw, size), "unit": "kW"},
        {"name": "eff", "value": draw(st.integers(50, 100)), "unit": "%"},
        {"name": "energy", "value": draw(st.integers(1, 9)) / 4, "unit": "MWh"},
        {
            "name": "cap",
            "index": ["G"],
            "value": {g: draw(st.integers(1, 50)) for g in labels},
            "unit": {"G1": "kW", "G2": "MW", "G3": "kW"},
        },
        {
            "name": "share",
            "index": ["G", "T"],
            "value": {"G1": _numbers(draw, size), "G2": 0.5, "G3": _numbers(draw, size)},
        },
        {"name": "outside", "index": ["T"], "value": _numbers(draw, size), "unit": "degF"},
        {
            "name": "fuel",
            "index": ["G"],
            "type": "label",
            "value": {g: draw(kinds) for g in labels},
        },
        {
            "name": "level",
            "index": ["t in T"],
            "value": "0.9*prev(level[t], 0.02[MWh]) + abs(demand[t])*dt(t)",
            "unit": "kWh",
        }
        if not world.cyclic
        else {"name": "level", "index": ["t in T"], "value": "2*demand[t]*dt(t)", "unit": "kWh"},
        {"name": "flag", "index": ["t in T"], "value": "1 if '06:00' <= clock(t) < '23:30' else 0"},
        {"name": "weight", "index": ["A"], "value": 1.5},
    ]
    return draw(st.permutations(parameters))


def _variables(draw: DrawFn) -> list[Json]:
    power = st.sampled_from(["W", "kW", "MW"])
    heat = st.sampled_from(["degC", "degF"])
    box = {"lower": -20, "upper": 80}
    variables: list[Json] = [
        {"name": "x", "index": ["t in T"], "unit": draw(power), **box},
        {"name": "s", "index": ["e in I"], "unit": draw(st.sampled_from(["kWh", "MWh"])), **box},
        {
            "name": "p",
            "index": ["g in G", "t in T"],
            "unit": draw(power),
            "lower": 0,
            "upper": "cap[g]*1.2 + 5",
        },
        {"name": "on", "index": ["g in G", "t in T"], "type": "binary", "initial": 1},
        {"name": "n", "index": ["k in K"], "type": "integer", "lower": -3, "upper": 6},
        {"name": "f", "index": ["(i, j) in A", "t in T"], "unit": draw(power), **box},
        {
            "name": "y",
            "index": ["t in S"],
            "unit": "kW",
            "upper": "3*abs(demand[t]) + 1",
            "lower": 0,
        },
        {"name": "z", "index": ["t in T"], "where": "price[t] > 20", "unit": "kW", **box},
        {"name": "room", "index": ["e in I"], "unit": draw(heat), "lower": 10, "upper": 30},
        {"name": "h", "index": ["u in U"], "unit": draw(power), **box},
        {"name": "c", "unit": draw(power), **box},
    ]
    return draw(st.permutations(variables))


Scope = set[str]


def _constraint(draw: DrawFn, world: World, number: int) -> Json:
    forall = draw(st.sampled_from(FORALLS))
    scope = {name for binder in forall for name in binder.split(" in ")[0].strip("()").split(", ")}
    if forall == ("t in S",):
        scope.add("S")
    filtered = bool(forall) and draw(st.booleans())
    where = _condition(draw, world, scope, 1) if filtered else None
    result: Json = {
        "constraint_id": f"C{number}",
        "forall": list(forall),
        "expression": _relation(draw, world, scope),
    }
    return result | ({"where": where} if where else {})


def _relation(draw: DrawFn, world: World, scope: Scope) -> str:
    op = draw(st.sampled_from(["<=", ">=", "=="]))
    # A row without any variable is no row to a modelling tool, so each has at least this one.
    side = f"c + {_power(draw, world, scope, 2)}"
    if "e" in scope and draw(st.booleans()):
        return draw(
            st.sampled_from(
                [
                    "18 <= room[e] <= 75[degF]",
                    f"room[e] {op} room[first(I)] + 2[K]",
                    f"s[e] {op} 0.5*energy",
                    "s[last(I)] >= s[e] >= 3[kWh]",
                ]
            )
        )
    kind = draw(st.integers(0, 3))
    if kind == 0:
        return f"{side} {op} {draw(st.sampled_from(['0', '40', '0.03[MW]', 'eff*12[kW]']))}"
    if kind == 1:
        return f"-50[kW] <= {side} <= 0.09[MW]"
    if kind == 2:
        return f"{_power(draw, world, scope, 1)} <= {side} <= {_power(draw, world, scope, 1)}"
    return f"{side} {op} {_power(draw, world, scope, 2)}"


def _power(draw: DrawFn, world: World, scope: Scope, depth: int) -> str:
    """Draw an affine expression measured in power."""
    if depth == 0:
        return draw(st.sampled_from(_atoms(world, scope)))
    inner: Callable[[], str] = lambda: _power(draw, world, scope, depth - 1)  # noqa: E731
    rule = draw(st.integers(0, 8))
    if rule == 0:
        return f"({inner()})*{draw(st.sampled_from(['1.5', 'eff', '(1 - eff)', '2[kW]/1[MW]']))}"
    if rule == 1:
        return f"({inner()})/{draw(st.sampled_from(['4', '(1 + eff)', '(0.5[h]*2[1/h])']))}"
    if rule == 2:
        return f"-({inner()})"
    if rule == 3:
        return f"({inner()} if {_condition(draw, world, scope, 1)} else {inner()})"
    if rule == 4 and not scope & {"u", "v"}:
        # The body speaks of v instead of t, so that inner and outer index differ.
        body = _power(draw, world, (scope - {"t", "S"}) | {"v"}, depth - 1)
        where = draw(st.sampled_from(["", " if price[v] > 10", " if v in S"]))
        return f"sum({body} for v in T{where})/len(T)"
    if rule == 5 and "g" not in scope:
        body = _power(draw, world, scope | {"g"}, depth - 1)
        where = draw(st.sampled_from(["", " if fuel[g] == 'gas'", " if g not in ('G2', 'G3')"]))
        return f"sum({body} for g in G{where})"
    return f"{inner()} {draw(st.sampled_from(['+', '-']))} ({inner()})"


def _atoms(world: World, scope: Scope) -> list[str]:
    atoms = [
        "c",
        "25[kW]",
        "0.002[MW]",
        "x[last(T)]",
        "p['G1', first(T)]",
        "n[first(K)]*3[kW]",
        "sum(y[m] for m in S)",
        "sum(f[a, first(T)]*weight[a] for a in A)",
        "h['boiler']",
        "sum(o*n[o] for o in K)*1[kW]",
        "(s[last(I)] - s[first(I)])/2[h]",
        "sum(f[l, r, last(T)] for (l, r) in A if l != 'G2')",
        "sum(z[m] for m in T if price[m] > 20)",
        "p['G2', last(T)] - p['G2', last(T)-1]",
        "max(demand[first(T)], 3)",
        "sum(h[r] for r in U)",
    ]
    if world.named:
        atoms += [
            "total",
            "net[first(T)]",
            "late[last(T)]",
            "sum(late[m] for m in T if pos(m) > 0)",
        ]
    for t in sorted(scope & {"t", "v"}):
        atoms += _at_time(world, t)
    if "S" in scope:
        atoms = [atom for atom in atoms if not atom.startswith("prev")] + ["y[t]", "2*y[t]"]
    if "g" in scope:
        atoms += [
            "cap[g]",
            "(h[g] if g in F else c)",
            "sum(f[l, r, last(T)] for (l, r) in A if r == g)",
        ]
        if "t" in scope:
            atoms += [
                "p[g, t]",
                "cap[g]*on[g, t]",
                "share[g, t]*p[g, t]",
                "cap[g]*on[g, t-1]",
                "prev(p[g, t], p[g, first(T)])",
                "share[g, t]*1[kW]",
            ]
    if "i" in scope:
        atoms += ["f[i, j, t]", "weight[i, j]*f[i, j, t]", "cap[i]", "p[j, t]", "cap[j]*on[i, t]"]
    if "k" in scope:
        atoms += ["2[kW]*n[k]", "k*c", "n[k]*k*1[kW]"]
    if "u" in scope:
        atoms += ["h[u]", "(h[u] if u != 'boiler' else x[t])"]
    if "e" in scope:
        atoms += ["s[e]/1[h]", "(room[e] - 20[degC])*3[kW/K]"]
    return atoms


def _at_time(world: World, t: str) -> list[str]:
    atoms = [
        f"x[{t}]",
        f"demand[{t}]",
        f"p['G3', {t}]",
        f"(s[{t}+1] - s[{t}])/dt({t})",
        f"prev(x[{t}], 3)",
        f"prev(x[{t}], x[last(T)])",
        f"(x[{t}+1] if {t} != last(T) else x[{t}])",
        f"level[{t}]/dt({t})",
        f"flag[{t}]*x[{t}]",
        f"(z[{t}] if price[{t}] > 20 else 0)",
        f"(y[{t}] if {t} in S else c)",
        f"(outside[{t}] - room[{t}])*0.5[kW/degF_diff]",
        f"(room[{t}+1] - room[{t}])*2[kWh/K]/dt({t})",
        f"sum(p[q, {t}] for q in G if fuel[q] == fuel['G1'])",
        f"hour({t})*x[{t}]/10",
        f"sum(x[w] for w in T if pos(w) <= pos({t}))",
        f"-demand[{t}]*eff",
        f"sum(x[w] for w in T if w > {t})",
        f"min(abs(demand[{t}]), 5)*n[last(K)]",
        f"(1 + pos({t})**2)*c",
    ]
    if world.cyclic:
        return [*atoms, f"x[{t}-1]", f"x[{t}+3]", f"prev(x[{t}], 7)"]
    return [*atoms, f"prev(s[{t}], s[first(I)])/1[h]"]


def _condition(draw: DrawFn, world: World, scope: Scope, depth: int) -> str:
    options = ["len(T) > 3", "cap['G1'] >= 20", "eff < 0.8", "eff >= 75[%]", "fuel['G1'] != 'oil'"]
    for t in sorted(scope & {"t", "v"}):
        options += [
            f"hour({t}) >= 1",
            f"price[{t}] > 30",
            f"{t} != first(T)",
            f"pos({t}) % 2 == 0",
            f"'06:00' <= clock({t}) < '23:30'",
            f"{t} in S",
            f"{t} <= last(T)-1",
            f"abs(demand[{t}]) > 0.02[MW]",
            f"hour({t}) in (0, 2, 23)",
        ]
        options += [f"weekday({t}) < 5"] if world.dated else []
    if "g" in scope:
        options += ["g != 'G1'", "fuel[g] == 'gas'", "g in F", "g in ('G1', 'G3')", "g <= 'G2'"]
    if "k" in scope:
        options += ["k > 1", "k == 1", "k // 2 == 0"]
    if "i" in scope:
        options += ["i == 'G1'", "cap[i] < cap[j]", "pos(i) + 1 == pos(j)"]
    if "u" in scope:
        options += ["u in F", "u == 'boiler'"]
    if "e" in scope:
        options += ["e != first(I)", "pos(e) > 1", "hour(e) < 23"]
    first = draw(st.sampled_from(options))
    if depth == 0 or draw(st.booleans()):
        return first
    other = _condition(draw, world, scope, depth - 1)
    join = draw(st.sampled_from(["{} and {}", "{} or {}", "not ({}) and {}"]))
    return join.format(first, other)
