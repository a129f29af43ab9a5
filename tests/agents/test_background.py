"""Prose that changes nothing is passed over; prose that may change something is not."""

from itertools import pairwise
from pathlib import Path

import pytest

from engiagent.agents.offline import Analysis
from engiagent.agents.offline.plant.analyse import understand_plant
from engiagent.problems import Problem

TEXT = """# Plan

A wind turbine and a diesel generator feed a village. {before}A battery with a capacity of 60 kWh is
charged with at most 25 kW and discharged with at most 20 kW{aside}. The charging efficiency is 95 %
and the discharging efficiency is 94 %. {between}The battery holds 30 kWh at the start and must
hold at least 30 kWh at the end. The generator delivers at most 100 kW and costs 0.35 EUR/kWh.
There is no grid. {after}

| Hour | Demand (kW) | Wind (kW) |
|---|---|---|
| 00:00 | 60 | 20 |
| 01:00 | 55 | 40 |
| 02:00 | 50 | 45 |

Minimise the cost in EUR on 3 June 2026.
"""
SENTENCES = """
The mayor never liked the smell of the old sawmill.
Nobody remembers when the chapel was built.
Tourists come only when the snow has melted.
My sister, who teaches at the school, helped with the drawings.
The crane on the jetty was painted by volunteers, not by us.
Every family brought a cake to the opening of the footbridge.
Most fishermen sleep before the lantern is lit.
The bishop has never visited another valley.
The road was closed twice because of snow.
While the goats graze, the children play.
""".strip().splitlines()
ASIDES = """
, because the neighbours complained
, which is what the council wanted
, and the children love the blinking lamp
, although nobody believed the salesman
, for the sake of the old wiring
 (the mayor insisted)
, since the cellar is damp
, as we promised the bishop
, but the choir still grumbles
""".strip("\n").splitlines()
BEARING = """
It must never rest on holidays.
It never rests.
The unit sleeps at night only.
The kiln must not overheat.
The lamps may not be lit at the same time as the battery charges.
The battery never rests at night.
The temperature must never rise.
Nobody may use the battery when the chapel is open.
The value is only known tomorrow.
Either the first or the second half is lost.
The charge is never kept over night.
The cells only rest when they are full.
""".strip().splitlines()
LIMITING = """
, because it is empty at the start
, but only when the sun shines
, and never when the choir sings
, unless the bishop visits
, because it must rest at night
, and half of it belongs to the neighbour
, which is twice the value of last year
, but not at night
, and the kiln of the potter
, of which the kiln takes a part
, and it may rest on holidays only
""".strip("\n").splitlines()


def read(folder: Path, **pieces: str) -> Analysis:
    slots = {"before": "", "between": "", "after": "", "aside": ""} | pieces
    (folder / "problem.md").write_text(TEXT.format(**slots), encoding="utf-8")
    return understand_plant(Problem.load(folder / "problem.md")).analysis


def model(analysis: Analysis) -> object:
    """Return what a text can change, without the places that it rests on."""
    assert analysis.blueprint is not None
    return bare(analysis.blueprint.to_dict()["core_model_elements"])


def bare(value: object) -> object:
    if isinstance(value, dict):
        return {k: bare(v) for k, v in value.items() if k != "source_reference"}
    return [bare(v) for v in value] if isinstance(value, list) else value


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    found = read(tmp_path_factory.mktemp("plain"))
    assert found.complete, (found.missing, found.not_understood, found.ambiguous)
    return found


@pytest.mark.parametrize("sentence", SENTENCES)
@pytest.mark.parametrize("place", ["before", "between"])
def test_sentences_on_other_things_change_nothing(
    tmp_path: Path, plain: Analysis, sentence: str, place: str
) -> None:
    found = read(tmp_path, **{place: sentence + " "})
    assert found.complete, found.not_understood
    assert model(found) == model(plain)


@pytest.mark.parametrize("aside", ASIDES)
def test_asides_beside_numbers_change_nothing(tmp_path: Path, plain: Analysis, aside: str) -> None:
    found = read(tmp_path, aside=aside)
    assert found.complete, found.not_understood
    assert model(found) == model(plain)


def test_what_is_passed_over_is_said(tmp_path: Path) -> None:
    found = read(tmp_path, aside=ASIDES[0], after=SENTENCES[0])
    assert found.blueprint is not None
    quotes = [str(u["quote"]) for u in found.blueprint.to_dict()[
        "extended_analysis_and_robustness"]["unused"]]  # fmt: skip
    assert any("complained" in q for q in quotes)
    assert any("sawmill" in q for q in quotes)


@pytest.mark.parametrize("sentence", BEARING)
def test_sentences_that_may_limit_something_are_not_passed_over(
    tmp_path: Path, sentence: str
) -> None:
    found = read(tmp_path, between=sentence + " ")
    assert not found.complete, sentence


@pytest.mark.parametrize("aside", LIMITING)
def test_asides_that_may_limit_something_are_not_passed_over(tmp_path: Path, aside: str) -> None:
    assert not read(tmp_path, aside=aside).complete, aside


def test_asides_do_not_pile_up_to_a_limit(tmp_path: Path) -> None:
    for first, second in pairwise(ASIDES):
        assert read(tmp_path, aside=f"{first} {second}").complete, (first, second)


@pytest.mark.parametrize(
    ("word", "read_on"),
    [("village", True), ("emergency", True), ("future", False), ("second", False),
     ("removed", False), ("neighbour's", False), ("optional", False)],
)  # fmt: skip
def test_words_before_the_only_unit_of_a_kind_describe_it(
    tmp_path: Path, word: str, read_on: bool
) -> None:
    text = TEXT.replace("The generator delivers", f"The {word} generator delivers")
    empty = {"before": "", "between": "", "after": "", "aside": ""}
    (tmp_path / "problem.md").write_text(text.format(**empty), encoding="utf-8")
    found = understand_plant(Problem.load(tmp_path / "problem.md")).analysis
    assert found.complete is read_on
