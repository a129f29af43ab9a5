"""Numbers traced as people write them: each text is accepted as it stands, its wrong twin never."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from engiagent.agents.engines.shortform import in_full
from engiagent.blueprint.document import Blueprint
from engiagent.formulations.expansion import expand
from engiagent.text import Problem
from engiagent.verify.checking import check
from engiagent.verify.levels.coverage import uncovered
from tests.blueprints import blueprint
from tests.pace import soon


class Outcome(NamedTuple):
    """What the data level says: what is open, and what contradicts the text."""

    open: list[str]
    wrong: list[str]


def traced(
    folder: Path,
    text: str,
    parameters: Sequence[dict[str, Any]],
    periods: int = 3,
    unused: Sequence[dict[str, str]] = (),
    **core: Any,
) -> Outcome:
    """Return what the data level says of parameters in the short form that a reader writes.

    Every parameter is used, in a constraint that holds whatever its value is.
    """
    (folder / "problem.md").write_text(text)
    problem = Problem.load(folder / "problem.md")
    rules = [
        {
            "constraint_id": f"use_{p['name']}",
            "forall": _binders(p),
            "expression": f"{p['name']}{_indices(p)}*x >= {p['name']}{_indices(p)}*x",
        }
        for p in parameters
    ]
    document = {
        "modeling_context": {"problem_essence": "numbers"},
        "core_model_elements": {
            "sets": [
                {"name": "T", "kind": "time", "start": "00:00", "step": "1 h", "periods": periods}
            ],
            "parameters": list(parameters),
            "decision_variables": [{"name": "x", "lower": 0}],
            "constraints": [*core.pop("constraints", []), *rules],
            **core,
        },
        "extended_analysis_and_robustness": {"unused": list(unused)},
    }
    blueprint = Blueprint.from_dict(in_full(document, problem))
    data = check(problem, None, expand(blueprint)).to_dict()
    level = data["levels"]["data"]
    wrong = [v["message"] for v in data["violations"] if v["level"] == "data"]
    return Outcome(list(level["findings"]), wrong)


def _binders(parameter: dict[str, Any]) -> list[str]:
    return [f"i_{k} in {name}" for k, name in enumerate(parameter.get("index", []))]


def _indices(parameter: dict[str, Any]) -> str:
    names = [f"i_{k}" for k, _ in enumerate(parameter.get("index", []))]
    return f"[{', '.join(names)}]" if names else ""


def series(name: str, values: list[float], unit: str, source: Any) -> dict[str, Any]:
    return {"name": name, "index": ["T"], "value": values, "unit": unit, "source_reference": source}


def number(name: str, value: float, unit: str, source: Any) -> dict[str, Any]:
    return {"name": name, "value": value, "unit": unit, "source_reference": source}


FINE = Outcome([], [])

# --- a whole series by one reference ----------------------------------------------------------

LISTED = "The prices of the three hours are 20, 35.5 and 41 EUR/MWh.\n"


@pytest.mark.parametrize(
    ("text", "source"),
    [
        (LISTED, "20, 35.5 and 41 EUR/MWh"),
        (LISTED, "The prices of the three hours are 20, 35.5 and 41 EUR/MWh"),
        (LISTED, "list:hours are"),
        ("Price in EUR/MWh: 20, 35.5, 41.\n", "list:Price in EUR/MWh"),
        ("Prices in EUR/MWh: `np.array([20, 35.5, 41])`.\n", "list:Prices in EUR/MWh"),
        (
            "Prices: hour 1: 20 EUR/MWh, hour 2: 35.5 EUR/MWh, hour 3: 41 EUR/MWh.\n",
            "hour 1: 20 EUR/MWh, hour 2: 35.5 EUR/MWh, hour 3: 41 EUR/MWh",
        ),
        ("The prices in EUR/MWh are 1: 20, 2: 35.5, 3: 41.\n", "1: 20, 2: 35.5, 3: 41"),
        (
            "The price is given in EUR/MWh.\n\n```\nprice = [20, 35.5, 41]  # EUR/MWh\n```\n",
            "list:price =",
        ),
        (
            "With prices in EUR/MWh of $c = \\begin{bmatrix} 20 & 35.5 & 41 \\end{bmatrix}$.\n",
            "20 & 35.5 & 41",
        ),
    ],
)
def test_one_reference_stands_for_a_series(tmp_path: Path, text: str, source: str) -> None:
    right = traced(tmp_path, text, [series("price", [20, 35.5, 41], "EUR/MWh", source)])
    assert right == FINE
    for wrong in ([20, 35.5, 42], [35.5, 20, 41], [1.0, 2, 3]):
        assert traced(tmp_path, text, [series("price", wrong, "EUR/MWh", source)]).wrong
    # Another unit of the same kind is another number.
    assert traced(tmp_path, text, [series("price", [20, 35.5, 41], "EUR/kWh", source)]).wrong
    short = traced(tmp_path, text, [series("price", [20, 35.5], "EUR/MWh", source)], periods=2)
    assert short.open or short.wrong


# --- nothing, none, zero ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("The initial stock is = 0.\n", "= 0"),
        ("Self-discharge: none.\n", "Self-discharge: none"),
        ("There is no load at night.\n", "no load at night"),
        ("The store is empty at first.\n", "empty at first"),
    ],
)
def test_nothing_is_zero_in_every_unit(tmp_path: Path, text: str, source: str) -> None:
    assert traced(tmp_path, text, [number("n", 0, "kWh", source)]) == FINE
    assert traced(tmp_path, text, [number("n", 5, "kWh", source)]).wrong


# --- money and rates --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value", "right", "wrong"),
    [
        ("The oven is worth 35 points per hour.\n", 35, "1/h", "1/min"),
        ("It earns 4 loyalty stars per kWh that is served.\n", 4, "1/kWh", "1/MWh"),
        ("The desk sees 12 visitors an hour.\n", 12, "1/h", "1/d"),
    ],
)
def test_things_that_are_no_unit_are_counted_per_unit(
    tmp_path: Path, text: str, value: float, right: str, wrong: str
) -> None:
    assert traced(tmp_path, text, [number("n", value, right, str(value))]) == FINE
    assert traced(tmp_path, text, [number("n", value, wrong, str(value))]).wrong
    assert traced(tmp_path, text, [number("n", value + 1, right, str(value))]).wrong
    silent = text.replace("per hour", "").replace("per kWh", "").replace("an hour", "")
    assert traced(tmp_path, silent, [number("n", value, right, str(value))]).open


@pytest.mark.parametrize(
    ("text", "value", "unit", "wrong"),
    [
        ("Diesel costs C$1.25 per litre.", 1.25, "CAD/L", "USD/L"),
        ("All amounts are in Canadian dollars. Power costs $0.12/kWh.", 0.12, "CAD/kWh", "USD/kWh"),
        ("Amounts in CAD. The fee is $30.", 30, "CAD", "AUD"),
        ("Power costs $0.12/kWh.", 0.12, "USD/kWh", "CAD/kWh"),
        ("Power costs 0.8 RMB/kWh.", 0.8, "CNY/kWh", "JPY/kWh"),
        ("Power costs 0.8 yuan per kWh.", 0.8, "CNY/kWh", "USD/kWh"),
        ("Prices in RMB. Power costs ¥0.8/kWh.", 0.8, "CNY/kWh", "JPY/kWh"),
        ("Power costs ¥12/kWh.", 12, "JPY/kWh", "CNY/kWh"),
        ("The fee is 30 USD; power costs 12 cents/kWh.", 0.12, "USD/kWh", "EUR/kWh"),
        ("The fee is 30 USD; power costs 12 ¢/kWh.", 12, "ct_USD/kWh", "USD/kWh"),
        ("The fee is A$30; power costs 12 cents per kWh.", 0.12, "AUD/kWh", "USD/kWh"),
        ("Upkeep is 25 EUR per kWp and year.", 25, "EUR/(kWp*yr)", "EUR/kWp"),
        ("Upkeep is 25 € per kWp per year.", 25, "EUR/kWp/yr", "EUR/(kWp*d)"),
        ("Upkeep is €25/kWp and year.", 25, "EUR/(kWp*yr)", "EUR/MWp/yr"),
        ("It loses 0.4 % of its content per hour.", 0.4, "%/h", "%/d"),
        ("It loses 0.4 % of the stored energy each day.", 0.4, "%/d", "%/h"),
        ("Every hour it loses 0.4 % of what it holds.", 0.4, "%/h", "%/d"),
    ],
)
def test_money_and_rates_as_they_are_written(
    tmp_path: Path, text: str, value: float, unit: str, wrong: str
) -> None:
    quote = text.split(". ")[-1].split("; ")[-1].rstrip(".")
    fee = [number("fee", 30, unit.split("/")[0].removeprefix("ct_"), "30")] if "30" in quote else []
    others = [{"quote": text.split(quote)[0], "reason": "says no amount of power"}]
    unused = [] if text.startswith(quote) else others
    assert not fee or value == 30
    assert traced(tmp_path, text, [number("c", value, unit, quote)], unused=unused) == FINE
    assert traced(tmp_path, text, [number("c", value, wrong, quote)], unused=unused).wrong
    assert traced(tmp_path, text, [number("c", 2 * value, unit, quote)], unused=unused).wrong


# --- what a text says twice -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "source", "fine"),
    [
        (
            "A 200 kWh battery serves a farm.\n\nThe battery stores 200 kWh.\n",
            "stores 200 kWh",
            True,
        ),
        (
            "The battery stores 200 kWh.\n\nWith its 0.2 MWh the battery is small.\n",
            "stores 200 kWh",
            True,
        ),
        ("It charges with 40 kW. It discharges with 40 kW.\n", "charges with 40 kW", False),
        ("Boiler A yields 40 kW. Boiler B yields 40 kW.\n", "Boiler A yields 40 kW", False),
        ("The boiler yields 40 kW. The pump takes 40 kW.\n", "boiler yields 40 kW", False),
        ("The boiler yields 40 kW. Once more: the boiler yields 41 kW.\n", "yields 40 kW", False),
        (
            "The store begins with 40 kWh. The store ends with 40 kWh.\n",
            "begins with 40 kWh",
            False,
        ),
    ],
)
def test_a_number_that_is_said_twice(tmp_path: Path, text: str, source: str, fine: bool) -> None:
    amount = source.rsplit(" ", 2)
    found = traced(tmp_path, text, [number("n", float(amount[1]), amount[2], source)])
    assert not found.wrong
    assert (not found.open) is fine


@pytest.mark.parametrize(
    "part", ["(", "[", "{", "([{", "5 kW (", "{0,1", "\\begin{array}{c} ", "in kW (", "$C = a + ("]
)
def test_a_long_text_of_brackets_is_traced_soon(tmp_path: Path, part: str) -> None:
    text = "The pump takes 7 kW. " + part * (20_000 // len(part)) + "\n"
    with soon(4.0):  # such a text took 20 s
        assert not traced(tmp_path, text, [number("p", 7, "kW", "7 kW")]).wrong


@pytest.mark.parametrize(
    ("text", "right", "wrong"),
    [
        (
            "Each °F by which the air is cooled takes 10.4 kBTU/h.\n",
            number("k", 10.4, "kBTU/(h*degF)", "10.4 kBTU/h"),
            number("k", 10.4, "kBTU/(h*kW)", "10.4 kBTU/h"),
        ),
        (
            "Take 1 hp as 0.7457 kW.\n",
            number("k", 0.7457, "kW/hp", "1 hp as 0.7457 kW"),
            number("k", 0.7457, "hp/kW", "1 hp as 0.7457 kW"),
        ),
        ("Its pause is 3 hours.\n", number("k", 3, "1", "3 hours"), number("k", 4, "1", "3 hours")),
        (
            "The big pump is at rest before 04:00.\n",
            number("k", 0, "1", "is at rest before 04:00"),
            number("k", 1, "1", "is at rest before 04:00"),
        ),
        (
            "Fuel is 13 ct/kWh and the bill is in USD.\n",
            number("k", 13, "ct/kWh", "13 ct/kWh"),
            number("k", 13, "USD/kWh", "13 ct/kWh"),
        ),
        (
            "Tons are tons of refrigeration: the machine makes 300 tons.\n",
            number("k", 300, "ton", "300 tons"),
            number("k", 300, "kW", "300 tons"),
        ),
    ],
)
def test_what_words_say_of_a_number(
    tmp_path: Path, text: str, right: dict[str, Any], wrong: dict[str, Any]
) -> None:
    assert traced(tmp_path, text, [right]) == FINE
    assert traced(tmp_path, text, [wrong]) != FINE


@pytest.mark.parametrize(
    "words",
    [
        "Our transformer is 630 kVA, so that's not a limit.",
        "State the cost with at least one decimal place.",
        "Utility rate (energy only, we have no demand charge):",
        "Minimum on and off times: none beyond the blocks themselves.",
        "Last year it was 12, a figure for context only.",
    ],
)
def test_what_limits_nothing_asks_for_nothing(words: str, tmp_path: Path) -> None:
    assert not demands(words, tmp_path)


@pytest.mark.parametrize(
    "words",
    [
        "The transformer must not exceed its limit.",
        "It may only charge at night.",
        "Charging is possible on weekdays only.",
        "There must be at least 8 kWh in it.",
        "Assume that it is never above 40 kWh.",
        "The engine runs only when the boiler rests.",
        "No minimum, but at most 8 kW.",
    ],
)
def test_what_limits_asks_for_it(words: str, tmp_path: Path) -> None:
    assert demands(words, tmp_path)


def demands(words: str, folder: Path) -> list[str]:
    """Return what an empty blueprint leaves unanswered of a text."""
    (folder / "problem.md").write_text(f"# A site\n\n{words}\n")
    return uncovered(Problem.load(folder / "problem.md"), blueprint()).demands


# --- how engineers write units, hours and what is nothing ---------------------------------------


@pytest.mark.parametrize(
    ("text", "value", "unit", "source", "wrong"),
    [
        ("So every gallon carries 8.34 lb of it.\n", 8.34, "lb/gal", "8.34 lb", 8.43),
        (
            "Each square of a kelvin of deviation costs 0.06 € per hour.\n",
            0.06,
            "EUR/(K^2*h)",
            "0.06 €",
            0.6,
        ),
        ("It carries 8.34 lb × 1 BTU/(lb·°F).\n", 1.0, "BTU/(lb*degF)", "lb × [1 BTU]", 2.0),
        ("A night price of 7.2 ¢/kWh.\n", 0.072, "USD/kWh", "7.2 ¢/kWh", 0.72),
        (
            "A night price of 7.2 ¢/kWh.\n",
            0.072,
            "USD/kWh",
            {
                "kind": "conversion",
                "relation": "x0/100",
                "of": [{"kind": "text", "quote": "7.2 ¢/kWh"}],
            },
            0.0072,
        ),
        ("1 kWh from the grid = 0.92 kWh inside.\n", 0.92, "1", "0.92 kWh inside", 0.29),
        ("It gives $P_k \\le 3.0$ MW, for 5 $ per hour.\n", 3.0, "MW", "3.0$ MW", 0.3),
        ("At most three starts a day.\n", 3.0, "1", "three starts a day", 4.0),
        ("Heat is 0.82 × power (in MW).\n", 0.82, "1", "0.82", 0.28),
        ("```\nhp.max = 1.4      hp.cop = 3\n```\nAll in MW.\n", 1.4, "MW", "1.4", 4.1),
    ],
)
def test_a_number_is_read_as_engineers_write_it(
    tmp_path: Path, text: str, value: float, unit: str, source: Any, wrong: float | None
) -> None:
    assert not traced(tmp_path, text, [number("c", value, unit, source)]).wrong
    if wrong is not None:
        found = traced(tmp_path, text, [number("c", wrong, unit, source)])
        assert found.wrong or found.open


def test_a_clock_may_be_the_end_of_a_period_that_the_text_names_by_its_beginning(
    tmp_path: Path,
) -> None:
    text = "In the hours beginning 12 PM through 5 PM the room has a gain of 2 kW.\n"

    def gain(end: str) -> dict[str, Any]:
        value = f"high if '12:00' <= clock(t) < '{end}' else 0"
        return {"name": "gain", "index": ["t in T"], "value": value, "unit": "kW"}

    high = number("high", 2.0, "kW", "2 kW")
    source = {"source_reference": "hours beginning 12 PM through 5 PM"}
    assert traced(tmp_path, text, [high, {**gain("18:00"), **source}], 24).wrong == []
    assert traced(tmp_path, text, [high, {**gain("20:00"), **source}], 24).wrong
