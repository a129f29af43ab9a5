"""Numbers inside expressions: what counts as one, and what it is held against."""

from types import SimpleNamespace
from typing import Any

import pytest

from engiagent.verify.levels.literals import Tracing, check_literals

TEXT = "At 02:00 each van must hold 30 kWh, on 2 October 2025."
SOURCE = {"kind": "text", "span": [0, 34], "quote": TEXT[0:34]}


def traced(expression: str, source: Any = SOURCE) -> Tracing:
    tracing = Tracing(SimpleNamespace(text=TEXT, tables=(), quantities=(), sentences=()))
    check_literals(tracing, "halfway", expression, source, {})
    return tracing


@pytest.mark.parametrize("stamp", ["02:00", "2025-10-02T02:00", "2025-10-02T02:00+02:00"])
def test_the_date_of_a_stamp_is_no_number_of_its_own(stamp: str) -> None:
    tracing = traced(f"sum(x[t] for t in T if t < '{stamp}') >= 30[kWh]")
    assert tracing.violations == []
    assert tracing.open == []


def test_the_clock_of_a_stamp_is_held_against_the_text() -> None:
    tracing = traced("sum(x[t] for t in T if t < '2025-10-02T03:30') >= 30[kWh]")
    assert [violation.name for violation in tracing.violations] == ["halfway"]


@pytest.mark.parametrize(
    "expression", ["7*x[t] <= 3*y[t]", "7*x[t] <= y[t]", "7*x[t] + 7*y[t] <= 1"]
)
def test_any_other_factor_does(expression: str) -> None:
    tracing = traced(expression)
    assert tracing.violations or tracing.open


def test_a_sign_of_the_text_is_a_sign_of_the_expression() -> None:
    text = "minimize: cost + -0.2 EUR/kWh * x"
    tracing = Tracing(SimpleNamespace(text=text, tables=(), quantities=(), sentences=()))
    source = {"kind": "text", "span": [0, len(text)], "quote": text}
    for right in ("-0.2[EUR/kWh]*x", "y - 0.2[EUR/kWh]*x", "-(0.2[EUR/kWh]*x)"):
        check_literals(tracing, "goal", right, source, {})
    assert not tracing.violations
    assert not tracing.open
    for wrong in ("0.2[EUR/kWh]*x", "y + 0.2[EUR/kWh]*x", "-y*(0.2[EUR/kWh])", "-0.3[EUR/kWh]*x"):
        check_literals(tracing, wrong, wrong, source, {})
    assert len(tracing.violations) == 4
