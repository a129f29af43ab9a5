"""Messages for units that do not meet, and the mends that they offer."""

from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engiagent.blueprint.document import Blueprint
from engiagent.blueprint.grammar import Node, parse
from engiagent.blueprint.spelling import spell
from engiagent.blueprint.symbols import SetInfo, Symbol
from engiagent.blueprint.typecheck import TypeChecker
from engiagent.blueprint.unithints import Names, clash, suggestion
from engiagent.units.unit import parse_unit
from tests.strategies import blueprints

SETS = {
    "T": SetInfo("time", (), "h"),
    "I": SetInfo("instants", (), "h"),
    "J": SetInfo("periods", (), "timeunit"),
    "G": SetInfo("labels"),
}


def symbol(name: str, unit: str, *dims: str, kind: str = "variable") -> Symbol:
    return Symbol(name, kind, dims, parse_unit(unit), degree=int(kind == "variable"))


SYMBOLS = {
    item.name: item
    for item in (
        symbol("soc", "kWh", "I"),
        symbol("charge", "kW", "T"),
        symbol("power", "kW", "G", "T"),
        symbol("stock", "unit", "J"),
        symbol("rate", "unit/timeunit", "J"),
        symbol("price", "EUR/MWh", "T", kind="parameter"),
        symbol("fee", "USD", kind="parameter"),
        symbol("budget", "EUR", kind="parameter"),
        symbol("T_out", "degC", "T", kind="parameter"),
        symbol("number", "1", "G", kind="parameter"),
        symbol("mass", "kg", kind="parameter"),
    )
}
SCOPE = {"t": "T", "g": "G", "j": "J"}


def hint(text: str, wanted: str) -> str | None:
    checker = TypeChecker(SETS, SYMBOLS)
    found = checker.number(parse(text), SCOPE).unit
    return suggestion(parse(text), found, parse_unit(wanted), Names(SYMBOLS, SETS))


@pytest.mark.parametrize(
    ("text", "wanted", "mend"),
    [
        ("charge[t]", "kWh", "did you mean charge[t]*dt(t)?"),
        ("soc[t]", "kW", "did you mean (soc[t+1] - soc[t])/dt(t)?"),
        ("soc[t-1]", "kW", "did you mean (soc[t] - soc[t-1])/dt(t)?"),
        ("soc[t+1] - soc[t]", "kW", "did you mean (soc[t+1] - soc[t])/dt(t)?"),
        ("charge[t] - 0.9*power[g, t]", "MWh", "did you mean (charge[t] - 0.9*power[g, t])*dt(t)?"),
        ("sum(charge[s] for s in T)", "kWh", "did you mean sum(charge[s]*dt(s) for s in T)?"),
        ("sum(power[h, t] for h in G)", "kWh", "did you mean sum(power[h, t] for h in G)*dt(t)?"),
        (
            "sum(price[s]*charge[s] for s in T)",
            "EUR",
            "did you mean sum(price[s]*charge[s]*dt(s) for s in T)?",
        ),
        ("price[t]*charge[t]*dt(t)", "EUR/h", "did you mean price[t]*charge[t]*dt(t)/dt(t)?"),
        ("rate[j]", "unit", "did you mean rate[j]*dt(j)?"),
        ("stock[j]", "unit/timeunit", "did you mean stock[j]/dt(j)?"),
        ("price[t]", "EUR", "multiply the price by an energy, as price[t]*power[t]*dt(t)"),
        ("price[t]", "EUR/h", "multiply the price by a power"),
        ("soc[t]", "EUR", "multiply by a price in EUR/kWh"),
        ("fee", "EUR", "multiply by an exchange rate in EUR/USD"),
        ("5*number[g]", "kW", "give the number its unit, as 5[kW]"),
        ("exp(0.5*number[g])*(3 + number[g])", "kW", "give the number its unit, as 3[kW]"),
        ("exp(2*number[g])", "kW", "multiply by one unit of it, as exp(2*number[g])*1[kW]"),
        ("number[g]", "kW", "multiply by one unit of it, as number[g]*1[kW]"),
        ("T_out[t]", "K", "take a difference, as T_out[t] - 20[degC]"),
        ("5[K]", "degC", "write 5[degC] for a temperature"),
        ("T_out[t] - 3[degC]", "degC", "add it to a temperature, as 20[degC] + T_out[t] - 3[degC]"),
        ("mass", "kW", None),
    ],
)
def test_the_usual_mends(text: str, wanted: str, mend: str | None) -> None:
    assert hint(text, wanted) == mend


def test_a_mend_that_is_offered_as_an_expression_has_the_wanted_dimension() -> None:
    for text, wanted in (
        ("soc[t]", "kW"),
        ("charge[t]", "kWh"),
        ("rate[j]", "unit"),
        ("sum(charge[s] for s in T)", "kWh"),
    ):
        offered = (hint(text, wanted) or "").removeprefix("did you mean ").removesuffix("?")
        typed = TypeChecker(SETS, SYMBOLS).number(parse(offered), SCOPE)
        assert typed.unit.same_dimension(parse_unit(wanted))


def test_the_message_names_both_sides_and_quotes_the_term() -> None:
    answer = clash(
        ("left side", "right side"),
        parse_unit("kW"),
        parse("soc[t]"),
        parse_unit("kWh"),
        Names(SYMBOLS, SETS),
    )
    assert answer == (
        "left side is kW, right side is kWh (soc[t])",
        "did you mean (soc[t+1] - soc[t])/dt(t)?",
    )


def test_a_long_term_is_not_quoted_and_its_mend_is_named_in_general() -> None:
    text = " + ".join(f"power['G{k}', t]" for k in range(9))
    message, mend = clash(
        ("left side", "right side"),
        parse_unit("kWh"),
        parse(text),
        parse_unit("kW"),
        Names(SYMBOLS, SETS),
    )
    assert (message, mend) == ("left side is kWh, right side is kW", "multiply by dt(t)")


# --- spelling ------------------------------------------------------------------------------------


def bare(node: Any) -> Any:
    """Return a tree without the columns that its parts stand in."""
    if isinstance(node, Node):
        parts = {f.name: bare(getattr(node, f.name)) for f in fields(node) if f.name != "span"}
        return replace(node, span=(0, 0), **parts)
    return tuple(map(bare, node)) if isinstance(node, tuple) else node


@pytest.mark.parametrize(
    "text",
    [
        "a - (b - c)",
        "a - b - c",
        "a/(b/c)",
        "a/b/c",
        "(a + b)*c",
        "-(a + b)",
        "-a**2",
        "(-a)**2",
        "2**-1",
        "(a**b)**c",
        "a**b**c",
        "(a if t == 'x' else b)*2",
        "not (a > 1 and b > 2) or c < 3",
        "x[t+1, 'G 1'] <= 3[kW]",
        "g in ('a',)",
        "min(x[t] for t in T if t != first(T) and pos(t) % 2 == 0)",
        "prev(x[t], -1)",
        "sum(f[i, j] for (i, j) in A for t in T)",
        "a // b % c",
        "(a if b > 1 else c) if d > 2 else e",
        "not a > 1",
        "x[t-(k+1)]",
        "0.1 + 1e-7*a + 1e20",
        "'it\\'s' == g",
        "(a <= b) and c not in S",
        "+a - -b",
    ],
)
def test_spelling_reads_back(text: str) -> None:
    assert bare(parse(spell(parse(text)))) == bare(parse(text))


@settings(max_examples=30)
@given(st.data())
def test_spelling_of_random_expressions_reads_back(data: st.DataObject) -> None:
    drawn: Blueprint = data.draw(blueprints())
    for constraint in drawn.core.constraints:
        tree = parse(constraint.expression)
        assert bare(parse(spell(tree))) == bare(tree)
