"""Other words, other units, another order or idle talk do not change what is read."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engiagent.errors import InputError
from tests.agents.support import analysed, parameter_values, solved
from tests.agents.test_refusals import BATTERY
from tests.agents.texts import SPOT, TEXTS

SENTENCES = (
    "The battery stores 2 MWh.",
    "It charges with at most 1 MW.",
    "It discharges with at most 0.8 MW.",
    "The charging efficiency is 94 %.",
    "The discharging efficiency is 93 %.",
    "At the start of the day the battery holds 1 MWh.",
    "At the end of the day the battery must hold at least 1 MWh.",
    "Hourly prices in EUR/MWh for 24 hours are in `spot.csv`.",
    "Maximise the profit in EUR.",
)
PARAPHRASES = {
    0: ("Energy capacity of the battery: 2000 kWh.", "The battery can hold up to 2 MWh."),
    1: ("Charging is limited to 1000 kW.", "The charging power must not exceed 1 MW."),
    2: ("Discharging is limited to 800 kW.", "The discharging power is at most 0.8 MW."),
    3: ("Charging efficiency: 0.94.", "Charging has an efficiency of 94 percent."),
    4: ("Discharging efficiency: 0.93.", "The efficiency when discharging is 93 %."),
    5: ("Initially the battery contains 1000 kWh.", "The battery starts with 1 MWh."),
    6: (
        "When the day is over, the battery must contain no less than 1000 kWh.",
        "The final energy content must be at least 1 MWh.",
    ),
    7: ("The prices of the 24 hours (EUR/MWh) are given in `spot.csv`.",),
    8: ("Find the schedule with the highest profit in EUR.", "The aim is the largest profit."),
}
IDLE = (
    "The plant was built in 2019.",
    "The site covers 1200 m².",
    "The operator is a small company with 25 employees.",
    "The weather is expected to be fine.",
    "Our colleague in the other building will present the results.",
)


def read(tmp_path: Path, sentences: list[str]) -> dict[str, float]:
    analysis = analysed(tmp_path, "# Plan\n\n" + "\n".join(sentences) + "\n", SPOT)
    assert analysis.complete, (analysis.missing, analysis.not_understood, analysis.ambiguous)
    assert analysis.blueprint is not None
    values = parameter_values(analysis.blueprint, tmp_path)
    status, objective = solved(analysis, tmp_path)
    assert status == "optimal"
    return {**{k: float(np.sum(v)) for k, v in values.items()}, "objective": float(objective or 0)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("invariance")


@pytest.fixture(scope="module")
def plain(folder: Path) -> dict[str, float]:
    return read(folder, list(SENTENCES))


@given(choices=st.tuples(*(st.integers(0, len(p)) for p in PARAPHRASES.values())))
def test_other_words_and_units(
    choices: tuple[int, ...], folder: Path, plain: dict[str, float]
) -> None:
    options = [(SENTENCES[k], *PARAPHRASES[k]) for k in PARAPHRASES]
    said = [options[k][choice] for k, choice in enumerate(choices)]
    assert read(folder, said) == pytest.approx(plain)


@given(order=st.permutations(range(len(SENTENCES))))
def test_another_order(order: list[int], folder: Path, plain: dict[str, float]) -> None:
    said = [SENTENCES[k].replace("It ", "The battery ") for k in order]
    assert read(folder, said) == pytest.approx(plain)


@given(idle=st.lists(st.sampled_from(IDLE), unique=True), place=st.integers(0, len(SENTENCES)))
def test_idle_talk(idle: list[str], place: int, folder: Path, plain: dict[str, float]) -> None:
    said = list(SENTENCES)
    said[place:place] = idle
    said = [s.replace("It ", "The battery ") for s in said]
    assert read(folder, said) == pytest.approx(plain)


# --- provenance ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TEXTS)
def test_every_quote_stands_where_the_blueprint_says(name: str, tmp_path: Path) -> None:
    text = TEXTS[name]
    analysis = analysed(tmp_path, text.body, text.files)
    assert analysis.blueprint is not None
    document = analysis.blueprint.to_dict()
    places = list(_places(document))
    assert places
    for span, quote in places:
        assert text.body[slice(*span)] == quote
    for parameter in analysis.blueprint.core.parameters:
        assert parameter.status == "missing" or parameter.source_reference is not None


def _places(node: object) -> list[tuple[list[int], str]]:
    if isinstance(node, dict):
        own = [(node["span"], node["quote"])] if "span" in node and "quote" in node else []
        return own + [p for value in node.values() for p in _places(value)]
    if isinstance(node, list):
        return [p for item in node for p in _places(item)]
    return []


def test_same_text_gives_the_same_bytes(tmp_path: Path) -> None:
    text = TEXTS["house_with_everything"]
    first, second = (analysed(tmp_path, text.body, text.files).blueprint for _ in range(2))
    assert first is not None
    assert second is not None
    assert first.to_json() == second.to_json()


# --- values of the user --------------------------------------------------------------------------


def test_values_of_the_user_fill_and_replace(tmp_path: Path) -> None:
    text = BATTERY.format("").replace(
        "The charging efficiency is 94 % and the discharging efficiency is 93 %. ", ""
    )
    given_values = {"battery.efficiency": "0.95", "battery.initial_energy": "1500 kWh"}
    analysis = analysed(tmp_path, text, SPOT, given_values)
    assert analysis.complete
    assert analysis.blueprint is not None
    values = parameter_values(analysis.blueprint, tmp_path)
    assert values["battery.charge_efficiency"] == pytest.approx(0.95)
    assert values["battery.initial_energy"] == pytest.approx(1500)
    efficiency = next(p for p in analysis.blueprint.core.parameters if "efficiency" in p.name)
    assert efficiency.source_reference["kind"] == "user"


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("battery.colour", "3", "energy_capacity"),
        ("reactor.power", "3 kW", "battery"),
        ("battery.efficiency", "1.4", "0.3 to 1"),
        ("battery.energy_capacity", "5 kW", "kWh"),
        ("battery.energy_capacity", "a lot", "a lot"),
    ],
)
def test_values_of_the_user_that_do_not_fit(
    name: str, value: str, said: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as error:
        analysed(tmp_path, BATTERY.format(""), SPOT, {name: value})
    assert said in str(error.value)
