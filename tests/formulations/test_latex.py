"""LaTeX of blueprints: every construct has a counterpart, everything opened is closed."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engiagent.blueprint import Blueprint
from engiagent.blueprint.diagnostics import BlueprintError
from engiagent.blueprint.grammar import FUNCTIONS
from engiagent.errors import EngiagentError
from engiagent.formulations.latex import emit_latex
from engiagent.formulations.latex.expressions import Printer, escaped, symbol
from tests.blueprints import DAY, EDGES, UNITS, blueprint, constraint, parameter, variable
from tests.definitions.cases import blueprint as computed
from tests.definitions.cases import shortfall
from tests.strategies import blueprints
from tests.written import listing

CORPUS = Path(__file__).parents[2] / "problems"


def problems_of(text: str) -> Iterator[str]:
    """Yield what is wrong with the nesting of a LaTeX text."""
    stack: list[str] = []
    pattern = r"\\begin\{([a-z]+\*?)\}|\\end\{([a-z]+\*?)\}|\\(left|right)(?![a-z])|\\.|[{}$&]"
    for match in re.finditer(pattern, text):
        token, line = match[0], text.count("\n", 0, match.start()) + 1
        if match[1]:
            stack.append(match[1])
        elif token == "{" or match[3] == "left" or (token == "$" and stack[-1:] != ["$"]):
            stack.append(token)
        elif match[2] or token in "}$" or match[3] == "right":
            wanted = match[2] or {"}": "{", "$": "$"}.get(token, "\\left")
            if not stack or stack.pop() != wanted:
                yield f"line {line}: {token} closes nothing"
        elif token == "&" and not {"longtable", "aligned", "cases"} & set(stack):
            yield f"line {line}: & outside a table"
    yield from (f"{token} is never closed" for token in stack)


def mathematics(text: str) -> Iterator[str]:
    """Yield everything that is set as mathematics."""
    yield from re.findall(r"\\begin\{gather\*\}(.*?)\\end\{gather\*\}", text, re.DOTALL)
    yield from re.findall(r"(?<!\\)\$(.+?)(?<!\\)\$", text)


def sound(text: str) -> None:
    """Assert that a document is well formed."""
    assert list(problems_of(text)) == []
    assert text.isascii() or all(c.isascii() or c.isalpha() for c in text)
    for part in mathematics(text):
        assert not re.search(r"[_^]\s*[_^]|(?<!\\)#", part), part
        bare = re.sub(r"\\text(?:tt)?\{[^{}]*\}", "", part)
        assert not re.search(r"(?<!\\)%", bare), part


def parsed(text: str) -> None:
    """Assert that a parser of LaTeX reads a document without tolerance, where one is installed."""
    walker = pytest.importorskip("pylatexenc.latexwalker")
    nodes, _, length = walker.LatexWalker(text, tolerant_parsing=False).get_latex_nodes()
    assert length == len(text)
    assert nodes


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*/*/expert/blueprint.json")), ids=str)
def test_the_corpus(path: Path) -> None:
    if Blueprint.load(path).kind != "programme":
        pytest.skip("definitions have no document")
    text = emit_latex(Blueprint.load(path), path.parents[1])
    sound(text)
    parsed(text)
    assert text == emit_latex(Blueprint.load(path), path.parents[1])


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(blueprints())
def test_any_blueprint(drawn: Blueprint) -> None:
    sound(emit_latex(drawn))


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        ("(a + b) * c", r"\left(\mathit{aa} + b\right) \cdot c"),
        ("a - (-b)", r"\mathit{aa} - \left(-b\right)"),
        ("a / (b + c)", r"\frac{\mathit{aa}}{b + c}"),
        ("a ** -2", r"{\mathit{aa}}^{-2}"),
        ("1.5e-7 * b", r"1.5 \cdot 10^{-7} \cdot b"),
        ("b % 2 == 1", r"b \bmod 2 = 1"),
        ("b // 2", r"\left\lfloor\frac{b}{2}\right\rfloor"),
        ("sum(b[i] for i in I) * c", r"\left(\sum_{i \in I} b_{i}\right) \cdot c"),
        ("max(b[i] for i in I)", r"\max_{i \in I} b_{i}"),
        ("expect(b[s] for s in S)", r"\mathbb{E}_{s \in S}\left[b_{s}\right]"),
        ("abs(b) + sqrt(c) + exp(b)", r"\left|b\right| + \sqrt{c} + \exp\left(b\right)"),
        ("implies(b, c <= 3)", r"b \;\Rightarrow\; c \le 3"),
        ("complements(b >= 0, c >= 0)", r"b \ge 0 \;\perp\; c \ge 0"),
        (
            "b if i in (1, 2) else c",
            r"\begin{cases} b & \text{if } i \in \{1, 2\} \\ c & \text{otherwise} \end{cases}",
        ),
        ("not (i == 1 and j == 2) or k == 3", r"\lnot \left(i = 1 \land j = 2\right) \lor k = 3"),
        ("battery.charge[t]", r"\mathit{battery}.\mathit{charge}_{t}"),
        ("eta_charge * P_max_in[t]", r"\eta_{\mathrm{charge}} \cdot P_{\mathrm{max\ in},t}"),
    ],
)
def test_expressions(expression: str, wanted: str) -> None:
    assert Printer({"a": "aa"}).text(expression) == wanted


@pytest.mark.parametrize("function", sorted(FUNCTIONS))
def test_every_function_is_set(function: str) -> None:
    arguments = ", ".join(["x >= 0", "y >= 0", "z >= 0"][: FUNCTIONS[function][0]])
    text = Printer({}).text(f"{function}({arguments})")
    assert list(problems_of(text)) == []
    assert "x" in text


@pytest.mark.parametrize(
    ("given_symbol", "wanted"),
    [
        (None, r"P_{\mathrm{max},t}"),
        ("η_c", r"\eta_{\mathrm{c},t}"),
        ("$E$", "E_{t}"),
        (r"\input{/etc/passwd}", r"\text{\textbackslash{}input\{/etc/passwd\}}_{t}"),
        (r"\write18{rm}", r"\text{\textbackslash{}write18\{rm\}}_{t}"),
        ("P_{max", r"\text{P\_\{max}_{t}"),
        ("a__b", r"\text{a\_\_b}_{t}"),
    ],
)
def test_symbols_are_used_where_they_are_harmless(given_symbol: str | None, wanted: str) -> None:
    assert symbol("P_max", given_symbol, ["t"]) == wanted


@given(st.text(max_size=30))
def test_any_text_can_be_printed(text: str) -> None:
    shown = escaped(text)
    assert list(problems_of(shown)) == []
    assert not re.search(r"(?<!\\)[#%&_]", shown.replace(r"\\", ""))
    assert list(problems_of(symbol("x", text or None, ["t"]))) == []


def document() -> dict[str, Any]:
    return {
        "sets": [DAY, EDGES, UNITS],
        "parameters": [
            parameter("price", [30.0, 80.5, -5.0, 1e-6], "EUR/MWh", "T", description="50 % & more"),
            parameter("E_max", 200, "kWh", symbol="Ê_max"),
        ],
        "decision_variables": [
            variable("charge", "t in T", upper=50, description="power at the terminals"),
            variable("soc", "i in I", upper="E_max", unit="kWh"),
            {"name": "on", "index": ["g in G", "t in T"], "type": "binary"},
            {"name": "starts", "index": ["g in G"], "type": "integer", "lower": 0, "unit": "1"},
        ],
        "expressions": listing("""
            [{name: stored, index: [t in T], expression: "soc[t+1] - soc[t]", unit: kWh}]
        """),
        "constraints": [
            constraint(
                "stored[t] == 0.9*charge[t]*dt(t)",
                "t in T",
                name="balance_1",
                category="Physical Laws",
            )
        ],
        "objective_function": {
            "name": "cost",
            "sense": "minimize",
            "unit": "EUR",
            "expression": "sum(price[t]*charge[t]*dt(t) for t in T)",
        },
    }


def test_a_document_says_everything() -> None:
    text = emit_latex(blueprint(**document()))
    sound(text)
    parsed(text)
    for part in (
        r"\documentclass",
        r"$\mathit{price}_{T}$ & $30$, $80.5$, $-5$, $10^{-6}$ & EUR/\allowbreak{}MWh",
        r"& 50 \% \& more",
        r"$\text{Ê\_\allowbreak{}max}$ & $200$ & kWh",
        r"$0 \le \mathit{soc}_{i} \le \text{Ê\_\allowbreak{}max}$",
        r"$\mathit{on}_{g,t} \in \{0, 1\}$",
        r"$\mathit{starts}_{g} \in \mathbb{Z}$, $\mathit{starts}_{g} \ge 0$",
        r"\mathit{stored}_{t} = \mathit{soc}_{t + 1} - \mathit{soc}_{t} \qquad \forall\, t \in T",
        r"\textbf{balance\_1} (Physical Laws)",
        r"\tag*{\texttt{C1}}",
        r"\min \quad \sum_{t \in T} \mathit{price}_{t} \cdot \mathit{charge}_{t} \cdot \Delta_{t}",
        r"\end{document}",
    ):
        assert part in text, part


def test_definitions_have_no_document() -> None:
    with pytest.raises(EngiagentError, match="definitions have no LaTeX"):
        emit_latex(computed(**shortfall()))


def test_long_sums_are_broken_into_lines() -> None:
    names = [f"flow_{k}" for k in range(30)]
    core = {
        "decision_variables": [variable(name) for name in names],
        "constraints": [constraint(" + ".join(names) + " <= 40[kW]")],
    }
    text = emit_latex(blueprint(**core))
    sound(text)
    body = re.findall(r"^& .*", text, re.MULTILINE)
    assert len(body) > 2
    assert all(len(re.sub(r"\\[a-z]+|[{}_ ]", "", line)) < 110 for line in body)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"constraints": [constraint("charge[t] = 3", "t in T")]}, "constraints.0..*write =="),
        ({"constraints": [constraint("charge[t] <= 3", "t over T")]}, "constraints.0..forall"),
        ({"sets": [DAY]}, "unknown set|G"),
    ],
)
def test_what_cannot_be_read_is_located(change: dict[str, Any], message: str) -> None:
    with pytest.raises((BlueprintError, EngiagentError), match=message):
        emit_latex(blueprint(**document() | change))
