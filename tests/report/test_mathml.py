from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engiagent.report import mathml

CASES = {
    # text: what a reader sees, tags taken away
    "P_max": "Pmax",
    "soc_at_end[t]": "socat\u00a0end,t",
    "a - (b - c)": "a−(b−c)",
    "a - b - c": "a−b−c",
    "(a + b) * c": "(a+b)⋅c",
    "a + b * c": "a+b⋅c",
    "(a + b) ** 2": "(a+b)2",
    "-a * b": "−a⋅b",
    "a * -b": "a⋅(−b)",
    "(a + b) / c": "a+bc",
    "sum(x[t] for t in T) * c": "(∑t∈Txt)⋅c",
    "sum(a[t] + b[t] for t in T)": "∑t∈T(at+bt)",
    "sum(x[i, j] for (i, j) in A if i != 3)": "∑(i,j)∈A,i≠3xi,j",
    "x[t-1] <= 40[degC]": "xt−1≤40\u00a0°C",
    "0 <= x <= 5": "0≤x≤5",
    'x["G1"]': "x“G1”",
    "sqrt(abs(x))": "|x|",
    "eta * dt(t)": "η⋅Δt",
    "a if hour(t) < 7 else b": "{aif\u00a0hour\u2061(t)<7botherwise",
    "not (a < b or c < d) and e < f": "¬(a<b∨c<d)∧e<f",
    "battery.charge[t] >= 1e-7": "battery.charget≥1×10⁻⁷",
    "g in (1, 2)": "g∈{1,2}",
    "a // b % c": "⌊ab⌋modc",
}


def formulas(markup: str) -> list[str]:
    """Return what each formula shows; between two of them a line may end."""
    return ["".join(part.itertext()) for part in ElementTree.fromstring(f"<p>{markup}</p>")]


def shown(markup: str) -> str:
    return "".join(formulas(markup))


@pytest.mark.parametrize("text", CASES)
def test_a_reader_sees_the_expression(text: str) -> None:
    assert shown(mathml.expression(text)) == CASES[text]


def test_a_constraint_shows_its_binders_and_condition() -> None:
    text = mathml.constraint("x[t] <= P", ["t in T"], "hour(t) >= 7")
    assert shown(text) == "xt≤P,\u2003t∈T,\u2003hour\u2061(t)≥7"


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("a - (b - c) + d <= e", ["a", "−(b−c)", "+d", "≤e"]),
        ("0 <= x + y <= 5", ["0", "≤x", "+y", "≤5"]),
        ("(a + b) * c", ["(a+b)⋅c"]),
        ("implies(on[t], x[t] >= a + b)", ["ont⇒xt≥a+b"]),
    ],
)
def test_a_line_may_end_between_the_terms_of_sums_and_sides(text: str, lines: list[str]) -> None:
    found = [line for line in formulas(mathml.constraint(text)) if line]
    assert found == lines
    assert "".join(found) == shown(mathml.expression(text))


def test_an_objective_stands_in_lines_too() -> None:
    markup = mathml.objective("maximize", "sum(p * x[t] for t in T) - c")
    assert [line for line in formulas(markup) if line] == ["max∑t∈Tp⋅xt", "−c"]


@pytest.mark.parametrize("text", ["x = 3", "<script>alert(1)</script>", "x]] >", "\x00", ""])
def test_what_cannot_be_read_stands_as_written_and_escaped(text: str) -> None:
    markup = mathml.constraint(text, [text], text)
    formulas(markup)
    assert "<script" not in markup


NAMES = st.sampled_from(["x", "P_max", "eta", "_", "__", "a_b_c"])
LEAVES = st.one_of(NAMES.filter(lambda n: not n.startswith("__")), st.integers(0, 99).map(str))
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "**", "%", "//"]), inner).map(
            lambda p: f"({p[0]}) {p[1]} ({p[2]})"
        ),
        inner.map(lambda e: f"sum({e} for t in T if t > 0)"),
        inner.map(lambda e: f"-({e})"),
        inner.map(lambda e: f"max({e}, 0)"),
    ),
    max_leaves=12,
)


@given(TREES)
def test_every_expression_gives_balanced_mathml(text: str) -> None:
    root = ElementTree.fromstring(mathml.expression(text, "block"))
    assert root.tag == "math"
    for part in root.iter():
        arity = {"mfrac": 2, "msup": 2, "msub": 2, "munder": 2}.get(part.tag)
        assert arity is None or len(part) == arity
