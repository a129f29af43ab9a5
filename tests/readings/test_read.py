"""What a problem states, and values of the user in place of stated ones."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engiagent.agents.engines.offline import OfflineEngine
from engiagent.agents.protocol import Board, Question
from engiagent.blueprint.elements import ParameterDef
from engiagent.errors import InputError
from engiagent.readings import Reading
from engiagent.readings.read import read
from engiagent.solvers.result import SolveOptions
from engiagent.text import Problem, corpus_root

DAY = Problem.load(corpus_root() / "battery/merchant_day")
WITHOUT_EFFICIENCY = Problem.load(corpus_root() / "battery/missing_efficiency")
CAPACITY = "battery.energy_capacity"
EFFICIENCIES = ("battery.charge_efficiency", "battery.discharge_efficiency")


def capacity(found: Reading) -> ParameterDef:
    assert found.blueprint is not None
    return next(p for p in found.blueprint.core.parameters if p.name == "E_max")


@pytest.mark.parametrize(
    ("text", "expected"),
    [("25", 25.0), ("25 MWh", 25.0), ("25000 kWh", 25.0), ("90 GJ", 25.0), ("2.5e1MWh", 25.0)],
)
def test_a_value_comes_in_any_unit_of_its_dimension(text: str, expected: float) -> None:
    found = capacity(read(DAY, {CAPACITY: text}))
    assert found.value == pytest.approx(expected, rel=1e-12)
    assert (found.unit, found.status) == ("MWh", None)
    source = found.source_reference
    assert (source["kind"], source["note"]) == ("user", f"--set {CAPACITY}={text}")
    assert source["replaces"][0]["before"] == 20


@settings(max_examples=15)
@given(st.floats(1e-6, 1e6))
def test_a_parameter_and_the_slot_that_it_fills_are_one_value(value: float) -> None:
    by_slot, by_name = (
        read(DAY, {CAPACITY: f"{value!r} kWh"}),
        read(DAY, {"E_max": f"{value!r} kWh"}),
    )
    assert capacity(by_slot).value == capacity(by_name).value == pytest.approx(value / 1000)


def test_without_values_nothing_is_changed() -> None:
    assert read(DAY) == read(DAY, {})
    assert read(DAY).complete


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("battery.energy_capacty", "5 MWh", "expected energy_capacity"),
        ("batery.energy_capacity", "5 MWh", "expected battery.energy_capacity"),
        (CAPACITY, "5 MW", "expected one such as MWh"),
        (CAPACITY, "5 bananas", "bananas"),
        (CAPACITY, "full", "expected as 5, or '5 kW'"),
        (CAPACITY, "nan", "expected as 5, or '5 kW'"),
        ("price", "5 EUR/MWh", "expected numbers, it is indexed"),
    ],
)
def test_a_value_that_fits_nothing_is_refused_with_what_would(
    name: str, text: str, message: str
) -> None:
    with pytest.raises(InputError, match=f"--set {name}") as refused:
        read(DAY, {name: text})
    assert message in str(refused.value)


def test_missing_values_are_named_until_they_are_given() -> None:
    assert read(WITHOUT_EFFICIENCY).lacking == EFFICIENCIES
    half = read(WITHOUT_EFFICIENCY, {"eta_charge": "95 %"})
    assert half.lacking == EFFICIENCIES[1:]
    whole = read(WITHOUT_EFFICIENCY, dict.fromkeys(EFFICIENCIES, "0.95"))
    assert whole.complete


def test_prose_is_not_read_and_the_engine_says_so_in_words_of_the_text(tmp_path: Path) -> None:
    (tmp_path / "day.md").write_text("---\nid: day\n---\n# A day\n\nA battery of 5 kWh.\n")
    problem = Problem.load(tmp_path / "day.md")
    found = read(problem, {CAPACITY: "5 kWh"})
    assert found.blueprint is None
    (gap,) = found.not_understood
    assert gap.quotes == ("# A day",)
    board = Board(problem=problem, data=tmp_path, name="day", options=SolveOptions())
    answer = OfflineEngine().ask(Question("analyzer", "analyse", board, {}))
    assert answer.value is not None
    assert answer.value["sufficiency"] == "undecided"
    assert [entry["quote"] for entry in answer.value["not_understood"]] == ["# A day"]
