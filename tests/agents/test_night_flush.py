"""Night air through a hall: fans in stages, in several wordings, held against all sequences."""

from itertools import product
from pathlib import Path

import pytest

from engiagent.agents.offline import Analysis
from engiagent.agents.offline.claims.flush import understand_flush
from engiagent.problems import Problem
from tests.agents.support import solved

OUT = (23.0, 19.0, 16.5)
PARTS = {
    "stages": (
        "In each of three stretches of two hours between 22:00 on 10 August 2026 and 04:00 the fans"
        " are off, at half speed or at full speed.",
        "There are three blocks of two hours from 22:00 on 10 August 2026 to 04:00. In each block"
        " the fans may be off, at full speed or at half speed.",
    ),
    "fans": (
        "Full speed moves 5.2 kg/s and draws 9.6 kW; half speed moves 2.6 kg/s and draws 1.2 kW, an"
        " eighth, as the affinity law has it.",
        "At half speed the fans move 2.6 kg/s and take 1.2 kW, at full speed they move 5.2 kg/s and"
        " take 9.6 kW.",
        "Full speed blows 5.2 kg/s of air and needs 9600 W. Half speed blows 2.6 kg/s of air and"
        " needs 1.2 kW.",
    ),
    "air": (
        "Air that is moved carries 1.006 kJ/(kg·K) times the difference between the hall at the"
        " beginning of the stretch and the outside:",
        "The air takes up 1.006 kJ/(kg·K) times the difference between the hall at the start of the"
        " block and the outside.",
    ),
    "hall": (
        "The hall is at 27.5 °C at 22:00. It stores 31 kWh/K and loses or gains nothing else at"
        " night. It must not get colder than 20.5 °C.",
        "At the start the hall is at 27.5 °C; its heat capacity is 31 kWh/K. It exchanges no other"
        " heat. The hall has to be at 20.5 °C or above at all times.",
    ),
    "worth": (
        "What the hall is below 27.5 °C at 04:00 saves 4.20 EUR/K of chiller work on the next day.",
        "Every kelvin by which the hall is below 27.5 °C at the end saves 4.20 EUR/K of cooling"
        " costs on the following day.",
    ),
    "goal": (
        "Fan electricity costs 0.24 EUR/kWh. Which stages in which stretches save the most, after"
        " paying for the fans, in EUR?",
        "Electricity costs 24 ct/kWh. Find the stages that save the most less the cost of the fans,"
        " in EUR.",
    ),
}
TEXT = """
After hot days we let the fans of the big lecture hall pull night air through it, concrete and all.
{stages} {fans}

{air}

| From | Outside (°C) |
|---|---|
| 22:00 | 23.0 |
| 00:00 | 19.0 |
| 02:00 | 16.5 |

{hall}

{worth} {goal}
"""


def most() -> float:
    """Return the largest saving of all sequences of stages."""
    best = float("-inf")
    for stages in product(((0.0, 0.0), (2.6, 1.2), (5.2, 9.6)), repeat=3):
        hall, cost, cold = 27.5, 0.0, False
        for (flow, power), out in zip(stages, OUT, strict=True):
            hall -= 2 / 31 * 1.006 * flow * (hall - out)
            cost += 0.24 * power * 2
            cold |= hall < 20.5
        if not cold:
            best = max(best, 4.2 * (27.5 - hall) - cost)
    return best


def text_of(**changed: str) -> str:
    """Return the text with the first wording of every part, or what replaces it."""
    return TEXT.format(**({name: ways[0] for name, ways in PARTS.items()} | changed))


def analysed(folder: Path, body: str) -> Analysis:
    """Return the analysis of a text by the reader of night air alone."""
    (folder / "problem.md").write_text(body, encoding="utf-8")
    found = understand_flush(Problem.load(folder / "problem.md"))
    assert found is not None
    return found.analysis


@pytest.mark.parametrize(
    ("part", "way"),
    [(p, k) for p, ways in PARTS.items() for k in range(len(ways)) if k or p == "fans"],
)
def test_night_air_in_other_words(tmp_path: Path, part: str, way: int) -> None:
    analysis = analysed(tmp_path, text_of(**{part: PARTS[part][way]}))
    assert analysis.complete, (analysis.missing, analysis.not_understood, analysis.ambiguous)
    assert solved(analysis, tmp_path)[1] == pytest.approx(most(), rel=1e-7)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("draws 1.2 kW, an", "draws 2.4 kW, an"),
        ("off, at half speed or at full speed", "off or at full speed"),
        ("off, at half speed or at full speed", "off at most once, at half speed or full speed"),
        ("at the beginning of the stretch and", "at the end of the stretch and"),
        ("loses or gains nothing else", "loses 0.2 kW/K"),
        ("at 04:00 saves", "saves"),
        (", after paying for the fans", ""),
        ("It must not get colder", "The air must not get colder"),
        ("Fan electricity costs", "Fan electricity costs twice"),
        ("4.20 EUR/K of", "4.20 EUR/K, at most 10 EUR, of"),
        ("The hall is at 27.5 °C at 22:00", "The hall is at 27.5 °C at 23:00"),
        ("| 22:00 | 23.0 |", "| 22:00 | 29.0 |"),
    ],
)
def test_what_changes_the_night_is_not_passed_over(tmp_path: Path, old: str, new: str) -> None:
    assert old in text_of()
    assert not analysed(tmp_path, text_of().replace(old, new)).complete


def test_other_plants_with_fans_are_none_of_these(tmp_path: Path) -> None:
    (tmp_path / "problem.md").write_text(
        text_of() + "\nA heat pump of 5 kW heats the hall by day.\n", encoding="utf-8"
    )
    assert understand_flush(Problem.load(tmp_path / "problem.md")) is None
