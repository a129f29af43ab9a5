"""Every kind of mistake in a blueprint: its code, its place and the words it is told in.

The table is the contract: people and language models mend blueprints by these messages.
"""

from dataclasses import dataclass
from typing import Any

import pytest

from engiagent.blueprint.analysis import analyse
from engiagent.blueprint.diagnostics import BlueprintError
from engiagent.blueprint.document import Blueprint
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.pyomo_script import emit_pyomo
from tests.blueprints import DAY, EDGES, UNITS, blueprint, constraint, parameter, variable

Json = dict[str, Any]

SETS: list[Json] = [
    DAY,
    EDGES,
    UNITS,
    {"name": "K", "kind": "range", "start": 1, "stop": 3},
    {"name": "A", "kind": "tuples", "of": ["G", "G"], "elements": [["G1", "G2"], ["G2", "G3"]]},
    {"name": "S", "kind": "subset", "of": "T", "where": "price[t] > 20"},
]
PARAMETERS: list[Json] = [
    parameter("price", [30, -5, 10, 40], "EUR/MWh", "T"),
    parameter("outside", 5, "degC", "T"),
    parameter("eff", 90, "%"),
    parameter("fuel", {"G1": "gas", "G2": "oil", "G3": "gas"}, "1", "G", type="label"),
    parameter("dep", {"G1": 1, "G2": 2, "G3": 3}, "1", "G", type="element of K"),
]
VARIABLES: list[Json] = [
    variable("x", "t in T"),
    variable("soc", "i in I", unit="kWh"),
    variable("p", "g in G", "t in T", unit="MW"),
    variable("room", "i in I", unit="degC"),
    variable("f", "(i, j) in A", unit="kW"),
    variable("y", "t in S"),
    variable("z", "t in T", where="price[t] > 20"),
    variable("n", "k in K", unit="1", type="integer"),
]


@dataclass(frozen=True)
class Wrong:
    """One mistake: what is added to a right blueprint, and what is then said of it."""

    what: str
    added: Json
    code: str
    path: str
    column: int | None
    words: str


def row(
    what: str, expression: str, forall: str, code: str, column: int, words: str, **more: Any
) -> Wrong:
    """Return a wrong constraint."""
    binders = [part for part in forall.split("; ") if part]
    added = {"constraints": [constraint(expression, *binders, **more)]}
    return Wrong(what, added, code, "constraints[0].expression", column, words)


def where(what: str, condition: str, code: str, column: int, words: str) -> Wrong:
    """Return a wrong filter of a constraint."""
    added = {"constraints": [constraint("x[t] <= 5", "t in T", where=condition)]}
    return Wrong(what, added, code, "constraints[0].where", column, words)


def a_set(what: str, definition: Json, code: str, words: str, column: int | None = None) -> Wrong:
    """Return a wrong set, declared after the six right ones."""
    return Wrong(what, {"sets": [definition]}, code, "sets[6]", column, words)


def a_parameter(
    what: str, definition: Json, code: str, words: str, column: int | None = None
) -> Wrong:
    """Return a wrong parameter, declared after the five right ones."""
    return Wrong(what, {"parameters": [definition]}, code, "parameters[5]", column, words)


def a_variable(
    what: str, definition: Json, code: str, field: str, words: str, column: int | None = None
) -> Wrong:
    """Return a wrong variable, declared after the eight right ones."""
    path = f"decision_variables[8]{field}"
    return Wrong(what, {"decision_variables": [definition]}, code, path, column, words)


T = "t in T"
TABLE = [
    # --- the grammar ---
    row("a single equals sign", "x[t] = 5", T, "EB001", 6, "write =="),
    row(
        "a call of something unknown",
        "integral(x[t]) <= 5",
        T,
        "EB001",
        1,
        "unknown function 'integral'",
    ),
    row("a misspelt function", "x[t] <= sqr(4)", T, "EB001", 9, "did you mean sqrt?"),
    row("an attribute walk", "x.__class__[t] <= 5", T, "EB001", 1, "joined by dots"),
    row("a lambda", "(lambda: 5) <= x[t]", T, "EB001", 2, "a lambda is not part"),
    row("an unfinished expression", "x[t] + <= 5", T, "EB001", 8, "cannot read this"),
    row("an unclosed bracket", "(x[t] <= 5", T, "EB001", 1, "never closed"),
    row("a caret", "x[t]^2 <= 5", T, "EB001", 5, "write ** for a power"),
    row("mathematical signs", "x[t] ≤ 5", T, "EB001", 6, "write <= >= != * and - in plain ASCII"),
    row("ampersands", "x[t] <= 5 && x[t] >= 1", T, "EB001", 12, "write 'and' and 'or'"),
    row("a sum without index", "sum(x) <= 5", "", "EB001", 1, "write sum(x[t] for t in T)"),
    row(
        "too few arguments", "prev(x[t]) <= 5", T, "EB001", 1, "prev takes 2 arguments, here are 1"
    ),
    row(
        "chained indices",
        "p[g][t] <= 5",
        "g in G; t in T",
        "EB001",
        1,
        "write x[i, j], not x[i][j]",
    ),
    row("an empty unit", "x[t] <= 5[]", T, "EB001", 11, "an empty unit"),
    row("a huge number", "x[t] <= 1e999", T, "EB001", 9, "too large"),
    row("a huge power", "x[t] <= 9**99*1[kW]", T, "EB001", 12, "between -8 and 8"),
    # --- names ---
    row("a misspelt name", "x[t] <= prise[t]*1[kW]", T, "EB002", 9, "did you mean price?"),
    row("a set as a number", "x[t] <= T", T, "EB002", 9, "T is a set; name one of its elements"),
    row(
        "an unknown set in a sum", "sum(x[t] for t in TT) <= 5", "", "EB002", 14, "did you mean T?"
    ),
    row("last of a number", "soc[last(x)] <= 5", "", "EB002", 5, "last needs the name of a set"),
    # --- indices ---
    row(
        "too few indices", "p[t] <= 5", T, "EB003", 1, "p has 2 indices, here are 1; it is p[G, T]"
    ),
    row(
        "an index on a single value", "x[t] <= eff[t]*1[kW]", T, "EB003", 9, "it is a single value"
    ),
    row(
        "a label that is not there",
        "p['G9', t] <= 5",
        T,
        "EB003",
        3,
        "'G9' is not an element of G; it has G1, G2, G3",
    ),
    row(
        "an element of another set",
        "x[g] <= 5",
        "g in G",
        "EB003",
        3,
        "element of G, but T is needed",
    ),
    row("half an offset", "x[t+0.5] <= 5", T, "EB003", 3, "an offset is a whole number"),
    row("an offset with a unit", "x[t+1[h]] <= 5", T, "EB003", 5, "without a unit"),
    row("a time as a number", "t*x[t] <= 5", T, "EB003", 1, "use pos(), hour() or clock() of it"),
    row(
        "a label as a number",
        "pos(g)*fuel[g] <= 5",
        "g in G",
        "EB010",
        8,
        "a number is needed here",
    ),
    row(
        "dt of a label",
        "x[t]*dt(g) <= 5",
        "g in G; t in T",
        "EB003",
        6,
        "needs an element of a time set",
    ),
    row(
        "dt of an instant",
        "x[first(T)]*dt(i) <= 5",
        "i in I",
        "EB003",
        13,
        "an instant has no length",
    ),
    row(
        "a binder with too few names",
        "sum(f[i, i] for i in A) <= 5",
        "",
        "EB003",
        7,
        "element of A, but G is needed",
    ),
    row(
        "a number between two elements", "n[1.5] <= 2", "", "EB003", 3, "1.5 is no element of a set"
    ),
    # --- elements that are not there ---
    row(
        "the step before the first",
        "x[t] - x[t-1] <= 5",
        T,
        "EB004",
        8,
        "x has no such element at t = 2025-07-01T00:00+02:00",
    ),
    row(
        "the step after the last edge",
        "soc[i+1] >= soc[i]",
        "i in I",
        "EB004",
        1,
        "use prev(x[t], x0)",
    ),
    row(
        "a variable outside its subset",
        "y[t] <= 5",
        T,
        "EB004",
        1,
        "y has no such element at t = 2025-07-01T01:00",
    ),
    row(
        "a filtered variable",
        "z[t] <= 5",
        T,
        "EB004",
        1,
        "z does not exist at [2025-07-01T01:00+02:00]",
    ),
    row("a pair that is not listed", "f['G3', 'G1'] <= 5", "", "EB004", 1, "f has no such element"),
    # --- units ---
    row(
        "a power compared with an energy",
        "x[t] <= soc[t]",
        T,
        "EB005",
        9,
        "left side is kW, right side is kWh (soc[t]); did you mean (soc[t+1] - soc[t])/dt(t)?",
    ),
    row(
        "an energy balance without dt",
        "soc[t+1] == soc[t] + x[t]",
        T,
        "EB005",
        22,
        "did you mean x[t]*dt(t)?",
    ),
    row(
        "money and energy",
        "x[t]*price[t]*dt(t) <= 5[kWh]",
        T,
        "EB005",
        24,
        "right side is kWh (5[kWh])",
    ),
    row(
        "two currencies", "x[t]*dt(t)*(price[t] + 1[USD/MWh]) <= 5[EUR]", T, "EB005", 24, "EUR/MWh"
    ),
    row("an unknown unit", "x[t] <= 5[kkW]", T, "EB006", 9, "did you mean kW?"),
    row(
        "an ambiguous unit",
        "x[t]*price[t]*dt(t) <= 50[ct]",
        T,
        "EB006",
        24,
        "cents of which currency",
    ),
    row(
        "a doubled temperature",
        "2*room[i] <= 40[degC]",
        "i in I",
        "EB007",
        3,
        "subtract a temperature first",
    ),
    row(
        "two temperatures added",
        "room[i] + room[i] <= 40[degC]",
        "i in I",
        "EB007",
        1,
        "two temperatures cannot be added",
    ),
    row(
        "a temperature and a difference", "room[i] <= 5[K]", "i in I", "EB007", 12, "a temperature"
    ),
    row(
        "a sum of temperatures",
        "sum(outside[t] for t in T) <= 40[degC]",
        "",
        "EB007",
        5,
        "cannot be scaled or summed",
    ),
    row(
        "an exponential with a unit",
        "x[t] <= exp(x[t])*1[kW]",
        T,
        "EB005",
        9,
        "exp needs a pure number, this is kW",
    ),
    row(
        "an exponent with a unit", "x[t]*2**1[h] <= 5[kW]", T, "EB005", 9, "an exponent has no unit"
    ),
    # --- linearity ---
    row(
        "a variable in an exponent",
        "2**n[1] <= 5",
        "",
        "EB008",
        4,
        "a variable cannot be an exponent",
    ),
    row(
        "a variable under modulo",
        "n[1] % 2 == 0",
        "",
        "EB008",
        1,
        "% cannot be taken of a variable",
    ),
    # --- comparisons and conditions ---
    row("a strict comparison", "x[t] < 5", T, "EB009", 1, "use <="),
    row("no comparison", "x[t] + 5", T, "EB010", 1, "a constraint must compare"),
    row("an inequality sign", "x[t] != 5", T, "EB010", 1, "'!=' is no constraint"),
    where("a number as a condition", "hour(t)", "EB010", 1, "compare two things, as hour(t) < 7"),
    where(
        "a condition on a variable", "x[t] > 5", "EB011", 1, "state the relation as a constraint"
    ),
    where(
        "a misspelt element",
        "t == '2025-07-02T00:00'",
        "EB003",
        6,
        "is not an element of T; it has 2025-07-01T00:00+02:00",
    ),
    where("no time of day", "clock(t) < '25:99'", "EB003", 12, "write it as '07:30'"),
    where("membership in a number", "t in 5", "EB003", 6, "needs a set or a list"),
    where("elements of strange sets", "t == first(G)", "EB003", 1, "never meet"),
    # --- one name, one thing ---
    Wrong(
        "a name used twice",
        {"parameters": [parameter("x", 1)]},
        "EB012",
        "decision_variables[0]",
        None,
        "already used under 'parameters'",
    ),
    Wrong(
        "a word of the syntax as a name",
        {"parameters": [parameter("lambda", 1)]},
        "EB012",
        "parameters[5]",
        None,
        "a word of the expression syntax",
    ),
    Wrong(
        "an id used twice",
        {"constraints": [constraint("x[t] <= 5", T), constraint("x[t] <= 6", T)]},
        "EB012",
        "constraints[1]",
        None,
        "the id 'C1' is used twice",
    ),
    row(
        "an index used twice",
        "sum(x[t] for t in T) <= 5",
        T,
        "EB012",
        14,
        "the index 't' is used twice",
    ),
    Wrong(
        "expressions in a circle",
        {"expressions": [{"name": "a", "expression": "b"}, {"name": "b", "expression": "a"}]},
        "EB012",
        "expressions[0]",
        None,
        "need one another: a, b",
    ),
    Wrong(
        "a soft constraint without a penalty",
        {"constraints": [constraint("x[t] <= 5", T, hard=False)]},
        "EB017",
        "constraints[0].hard",
        None,
        "needs a penalty",
    ),
    Wrong(
        "a penalty in the wrong unit",
        {"constraints": [constraint("x[t] <= 5", T, hard=False, penalty={"weight": "3[h]"})]},
        "EB005",
        "constraints[0].penalty.weight",
        1,
        "the weight is in h",
    ),
    Wrong(
        "a penalty on a hard constraint",
        {"constraints": [constraint("x[t] <= 5", T, penalty={"weight": 3})]},
        "EB017",
        "constraints[0].penalty",
        None,
        "a hard constraint has no penalty",
    ),
    row(
        "a condition on no binary",
        "implies(x[t], x[t] >= 3)",
        T,
        "EB010",
        9,
        "a binary variable is needed",
    ),
    row(
        "a statement as a value",
        "implies(n[1] == 1, n[2] == 1) + 1 <= 3",
        "",
        "EB010",
        1,
        "states a constraint and has no value",
    ),
    row(
        "a table of unlike lengths",
        "piecewise(x[t], (0, 1, 2), (0, 1)) <= 3",
        T,
        "EB003",
        1,
        "there are 3 breakpoints and 2 values",
    ),
    row(
        "a table that goes back",
        "piecewise(x[t], (0, 2, 1), (0, 1, 2)) <= 3",
        T,
        "EB016",
        1,
        "the breakpoints do not increase",
    ),
    row(
        "an expectation over hours",
        "expect(x[s] for s in T) <= 3",
        "",
        "EB003",
        1,
        "expect runs over one scenario set",
    ),
    Wrong(
        "an unknown set in forall",
        {"constraints": [constraint("x[t] <= 5", "t in TT")]},
        "EB002",
        "constraints[0].forall",
        1,
        "unknown set 'TT'; declared are T, I",
    ),
    # --- sets ---
    a_set(
        "a subset of nothing",
        {"name": "Q", "kind": "subset", "where": "1 == 1"},
        "EB014",
        "needs 'of'",
    ),
    a_set(
        "a time set without a step",
        {"name": "Q", "kind": "time", "periods": 3},
        "EB014",
        "a 'step' such as '1 h'",
    ),
    a_set(
        "an impossible start",
        {"name": "Q", "kind": "time", "start": "tomorrow", "step": "1 h", "periods": 3},
        "EB014",
        "'tomorrow' is no start",
    ),
    a_set(
        "an unknown zone",
        {
            "name": "Q",
            "kind": "time",
            "start": "2025-07-01",
            "zone": "Europe/Atlantis",
            "step": "1 h",
            "periods": 3,
        },
        "EB014",
        "unknown time zone 'Europe/Atlantis'",
    ),
    a_set(
        "an hour that no clock shows",
        {
            "name": "Q",
            "kind": "time",
            "start": "2025-03-30T02:30",
            "zone": "Europe/Berlin",
            "step": "1 h",
            "periods": 3,
        },
        "EB014",
        "the clock is put forward",
    ),
    a_set(
        "a step in kilowatts",
        {"name": "Q", "kind": "time", "step": "1 kW", "periods": 3},
        "EB014",
        "'1 kW' is no duration",
    ),
    a_set(
        "too few steps",
        {"name": "Q", "kind": "time", "step": ["1 h", "2 h"], "periods": 3},
        "EB014",
        "2 steps are listed for 3 periods",
    ),
    a_set(
        "an element twice",
        {"name": "Q", "kind": "labels", "elements": ["a", "b", "a"]},
        "EB014",
        "'a' is listed twice",
    ),
    a_set(
        "a pair of a strange element",
        {"name": "Q", "kind": "tuples", "of": ["G", "G"], "elements": [["G1", "G7"]]},
        "EB014",
        "'G7' is not an element of G",
    ),
    a_set(
        "a triple among pairs",
        {"name": "Q", "kind": "tuples", "of": ["G", "G"], "elements": [["G1", "G2", "G3"]]},
        "EB014",
        "no tuple of 2 elements",
    ),
    a_set(
        "instants of labels",
        {"name": "Q", "kind": "instants", "of": "G"},
        "EB014",
        "instants are the edges of a time set; G is none",
    ),
    a_set(
        "a range of texts",
        {"name": "Q", "kind": "range", "start": "a", "stop": 3},
        "EB014",
        "whole numbers 'start' and 'stop'",
    ),
    a_set(
        "a range beyond memory",
        {"name": "Q", "kind": "range", "start": 0, "stop": 10**12},
        "EB014",
        "more than 50000000",
    ),
    a_set(
        "a time beyond the calendar",
        {"name": "Q", "kind": "time", "start": "2025-01-01", "step": "9999 yr", "periods": 9},
        "EB014",
        "after the year 9998",
    ),
    a_set(
        "a filter by a variable",
        {"name": "Q", "kind": "subset", "of": "T", "where": "x[t] > 1"},
        "EB011",
        "depends on a variable",
        1,
    ),
    a_set(
        "a file that is not there",
        {"name": "Q", "kind": "labels", "data": "units.csv#name"},
        "EB014",
        "units.csv",
    ),
    Wrong(
        "a parent that is not there",
        {"sets": [{"name": "Q", "kind": "subset", "of": "TT", "where": "1 == 1"}]},
        "EB002",
        "sets[6].of",
        None,
        "unknown set 'TT'",
    ),
    # --- parameters ---
    a_parameter(
        "too few values",
        parameter("q", [1, 2], "kW", "T"),
        "EB014",
        "2 values are listed, but T has 4 elements",
    ),
    a_parameter(
        "a label too few",
        parameter("q", {"G1": 1, "G2": 2}, "kW", "G"),
        "EB014",
        "no value is given for G3 of G",
    ),
    a_parameter(
        "a label too many",
        parameter("q", {"G1": 1, "G2": 2, "G3": 3, "G4": 4}, "kW", "G"),
        "EB014",
        "G4 is not an element of G",
    ),
    a_parameter(
        "a list over two indices",
        parameter("q", [1, 2, 3], "kW", "G", "T"),
        "EB014",
        "give an object by label",
    ),
    a_parameter(
        "a text among numbers",
        parameter("q", [1, 2, "three", 4], "kW", "T"),
        "EB014",
        "found 'three'; expected a number",
    ),
    a_parameter(
        "neither value nor data", {"name": "q", "unit": "kW"}, "EB014", "neither 'value' nor 'data'"
    ),
    a_parameter("an unknown unit", parameter("q", 1, "kilowat"), "EB006", "unknown unit 'kilowat'"),
    a_parameter(
        "an element of a strange set",
        parameter("q", "G9", type="element of G"),
        "EB014",
        "'G9' is not an element of G",
    ),
    a_parameter(
        "units that do not mix",
        parameter("q", {"G1": 1, "G2": 2, "G3": 3}, {"G1": "kW", "G2": "kWh", "G3": "kW"}, "G"),
        "EB006",
        "measure different things",
    ),
    a_parameter(
        "an expression in a strange unit",
        parameter("q", "2*price[first(T)]", "kWh"),
        "EB005",
        "this is EUR/MWh, but kWh is needed",
        1,
    ),
    a_parameter(
        "a recursion without a start",
        parameter("q", "q[t]*2", "1", "t in T"),
        "EB014",
        "use prev(x[t], x0) for the first value",
    ),
    a_parameter(
        "a file without a folder",
        {"name": "q", "index": ["T"], "data": "day.csv#price", "unit": "kW"},
        "EB014",
        "no folder with data",
    ),
    a_parameter(
        "a division by zero", parameter("q", "1/(eff - 90[%])", "1"), "EB016", "division by zero", 1
    ),
    # --- variables ---
    a_variable(
        "a bound in the wrong unit",
        variable("q", upper="5[kWh]"),
        "EB005",
        ".upper",
        "this is kWh, but kW is needed",
        1,
    ),
    a_variable(
        "a bound by a variable",
        variable("q", upper="x[first(T)]"),
        "EB011",
        ".upper",
        "only parameters can stand here",
        1,
    ),
    a_parameter(
        "a value by a variable",
        parameter("q", "2*x[first(T)]", "kW"),
        "EB011",
        "only parameters can stand here",
        3,
    ),
    a_variable(
        "a history without time",
        variable("q", initial=1),
        "EB014",
        ".initial",
        "an index along a time set",
    ),
    a_variable("an unknown set", variable("q", "t in TT"), "EB002", "", "unknown set 'TT'", 1),
    a_variable(
        "an index that is a name",
        variable("q", "x in T"),
        "EB012",
        ".where",
        "is also the name of something else",
        1,
    ),
    # --- the objective ---
    Wrong(
        "an objective in the wrong unit",
        {"objective_function": {"sense": "minimize", "expression": "x[first(T)]", "unit": "EUR"}},
        "EB005",
        "objective_function.expression",
        1,
        "this is kW, but EUR is needed",
    ),
    Wrong(
        "an objective over a free index",
        {"objective_function": {"sense": "minimize", "expression": "x[t]"}},
        "EB002",
        "objective_function.expression",
        3,
        "unknown name 't'",
    ),
    # --- named expressions ---
    Wrong(
        "an expression that leaves its set",
        {"expressions": [{"name": "e", "index": [T], "expression": "x[t] - x[t-1]"}]},
        "EB004",
        "expressions[0].expression",
        8,
        "no such element",
    ),
    Wrong(
        "an expression used where it is not",
        {
            "expressions": [
                {"name": "e", "index": [T], "where": "pos(t) > 0", "expression": "x[t] - x[t-1]"}
            ],
            "constraints": [constraint("e[t] <= 5", T)],
        },
        "EB004",
        "constraints[0].expression",
        1,
        "its 'where' leaves some out",
    ),
    Wrong(
        "expressions that double",
        {
            "expressions": [{"name": "e0", "expression": "x[first(T)]"}]
            + [{"name": f"e{k}", "expression": f"e{k - 1} + e{k - 1}"} for k in range(1, 40)]
        },
        "EB012",
        "expressions[10].expression",
        6,
        "written out",
    ),
]


def the_wrong(case: Wrong) -> Blueprint:
    """Return a right blueprint with one mistake added."""
    core: Json = {
        "sets": SETS,
        "parameters": PARAMETERS,
        "decision_variables": VARIABLES,
        "expressions": [],
        "constraints": [],
        "objective_function": {"sense": "minimize", "expression": "x[first(T)]", "unit": "kW"},
    }
    for part, added in case.added.items():
        core[part] = [*core[part], *added] if isinstance(added, list) else added
    return blueprint(**core)


def test_without_the_mistakes_nothing_is_wrong() -> None:
    right = the_wrong(Wrong("nothing", {}, "", "", None, ""))
    assert analyse(right).errors == ()
    compile_blueprint(right)


@pytest.mark.parametrize("case", TABLE, ids=lambda case: case.what.replace(" ", "-"))
def test_mistake_is_named_with_its_place(case: Wrong) -> None:
    wrong = the_wrong(case)
    found = analyse(wrong).errors
    told = [
        d
        for d in found
        if d.code == case.code
        and d.path == f"core_model_elements.{case.path}"
        and d.column == case.column
        and case.words in str(d)
    ]
    assert told, f"{case.code} {case.path}, column {case.column}: … {case.words} …\n" + "\n".join(
        f"found: {d.code} {d.path}, column {d.column}: {d}" for d in found
    )
    assert len({d.path for d in found}) == 1, "one mistake is one finding"


@pytest.mark.parametrize("case", TABLE, ids=lambda case: case.what.replace(" ", "-"))
def test_compiler_and_script_refuse_it_alike(case: Wrong) -> None:
    wrong = the_wrong(case)
    with pytest.raises(BlueprintError) as compiled:
        compile_blueprint(wrong)
    assert case.code in {d.code for d in compiled.value.diagnostics}
    with pytest.raises(BlueprintError) as emitted:
        emit_pyomo(wrong)
    assert str(emitted.value) == str(compiled.value)
