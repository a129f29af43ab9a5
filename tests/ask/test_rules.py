"""Validations and paths: what they mean, and that nothing else can be said with them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engiagent.ask.figures import given_figures, unused
from engiagent.ask.rules import checked, follow, holds
from engiagent.errors import InputError

ANSWER = {
    "cost": {"value": 13.3, "unit": "EUR"},
    "zone.room.temperature": {"mean": 23.5},
    "figures": [
        {"name": "import", "component": "campus", "value": 50.0},
        {"name": "consumption", "component": "cooling", "value": 70.0},
        {"name": "consumption", "component": "lights", "value": 7.0},
    ],
}


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("answer.cost.value < 40 and answer.cost.unit == 'EUR'", True),
        ("10 < answer.cost.value <= 13", False),
        ("not answer.figures or len(answer.figures) == 3", True),
        ("abs(answer.figures[0].value - 2 * 25) < 1e-9", True),
        ("answer.figures['consumption/lights'].value / 7 == 1", True),
        ("answer['zone.room.temperature'].mean in [23.5, -1]", True),
    ],
)
def test_a_rule_means_what_it_says(rule: str, expected: bool) -> None:
    assert holds(rule, ANSWER) is expected


@pytest.mark.parametrize(
    "rule",
    [
        "__import__('os').system('true')",
        "answer.__class__",
        "(lambda: 1)()",
        "[x for x in answer]",
        "open('/etc/passwd')",
        "answer ** 9",
        "answer.cost.value <",
        "f'{answer}'",
        "answer.cost.value / 0 > 1",
        "answer.price > 1",
        "answer.cost > 'a'",
        "1 == 1 and " * 60 + "True",
    ],
)
def test_a_rule_can_say_nothing_else(rule: str) -> None:
    with pytest.raises(InputError):
        holds(rule, ANSWER)


@given(st.text(max_size=80))
def test_no_text_does_more_than_be_refused(text: str) -> None:
    try:
        checked(text)
    except InputError:
        return


def test_paths_go_by_key_number_and_name() -> None:
    assert follow(ANSWER, "figures.import.value")[-1] == 50.0
    assert follow(ANSWER, "figures[2].value")[-1] == 7.0
    assert follow(ANSWER, "figures.consumption/cooling.value")[-1] == 70.0
    assert follow(ANSWER, "zone.room.temperature.mean")[-1] == 23.5
    with pytest.raises(InputError, match=r"several items.*consumption/lights"):
        follow(ANSWER, "figures.consumption.value")
    with pytest.raises(InputError, match=r"has no 'price'.*figures"):
        follow(ANSWER, "price")


def test_money_of_a_question_enters_an_argument_in_the_currency_of_the_data() -> None:
    arguments = {"capital_power": 20, "capital_energy": 60, "rate": 0.05, "years": 15}
    given = list(given_figures("battery_sizing", arguments))
    question = "Power costs 20 EUR/kW and energy 60 EUR/kWh, over 15 years at 5 %; or 70 EUR/kWh?"
    assert unused(question, given, "") == ("70 EUR/kWh",)
    assert unused("It costs 60 EUR/kW.", given, "") == ("60 EUR/kW",)
