"""Demand response in any words: caps, baselines and credits at the times of an event."""

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog

from engiagent.agents.offline import Analysis
from engiagent.agents.offline.draft import Draft
from engiagent.agents.offline.passages import passages, sentences
from engiagent.agents.offline.plant.analyse import understand_plant
from engiagent.agents.offline.plant.language.finding import find_units
from engiagent.agents.offline.plant.market.events import Event, take_events
from engiagent.agents.offline.tokens import tokenise
from engiagent.problems import Problem
from tests.agents.support import solved

TEXT = """
We heat a house on 11 December 2026. {event}

The house has 20 kWh/K and 0.5 kW/K to the outdoors; {panels} have 12 kW. At 00:00 it is 21 °C
inside, and on every hour mark it must be between 20 °C and 23 °C. Outdoor temperatures, from
00:00 to 07:00 and each for an hour, in °C:

1, 0, -1, -2, -2, 0, 1, 3.

Step it hour by hour with the heat flows at the beginning of each hour.

**Rate.** 0.20 EUR/kWh from 00:00 to 04:00, otherwise 0.30 EUR/kWh.

Minimise {goal}, in EUR.
"""
CREDIT = (
    "During these hours our electric panel heaters may draw no more than 6 kW, and for each kWh"
    " that they stay below their baseline of 9 kW we get a credit of 0.40 EUR/kWh."
)
FIRST = {
    "event": f"The utility has called an event for 11 December 2026, 05:00 to 07:00. {CREDIT}",
    "panels": "the panels",
    "goal": "electricity cost less the credit",
}


def house(folder: Path, **other: str) -> Analysis:
    (folder / "problem.md").write_text(TEXT.format(**(FIRST | other)), encoding="utf-8")
    return understand_plant(Problem.load(folder / "problem.md")).analysis


def test_an_event_in_the_model(tmp_path: Path) -> None:
    found = house(tmp_path)
    assert found.complete, (found.missing, found.not_understood, found.ambiguous)
    outside = np.array([1.0, 0, -1, -2, -2, 0, 1, 3])
    price = np.array([0.2] * 4 + [0.3] * 4)
    event = np.array([0.0] * 5 + [1.0] * 2 + [0.0])
    keep = 1 - 0.5 / 20
    free, response = [21.0], np.zeros((9, 8))
    for t in range(8):
        free.append(keep * free[t] + 0.5 * outside[t] / 20)
        response[t + 1] = keep * response[t]
        response[t + 1, t] += 1 / 20
    best = linprog(
        price + 0.4 * event,
        np.vstack([response, -response]),
        np.concatenate([23 - np.array(free), np.array(free) - 20]),
        bounds=[(0, 6 if e else 12) for e in event],
    )
    assert solved(found, tmp_path)[1] == pytest.approx(best.fun - 0.4 * 9 * 2, rel=1e-7)


def events(text: str) -> list[tuple[list[float], str | None, float | None, float | None, bool]]:
    """Return the events of a text: begin and end, unit, cap, baseline, whether paid."""
    text = f"The house has electric panel heaters. {text}"
    found = sentences(text, passages(text, 0, ()))
    draft = Draft(text, [tokenise(text, sentence, "EUR") for sentence in found])

    def shown(event: Event) -> tuple[list[float], str | None, float | None, float | None, bool]:
        number = [None if v is None else v.number for v in (event.cap, event.baseline)]
        return (list(event.period.ranges[0]), event.unit, number[0], number[1],
                event.credit is not None)  # fmt: skip

    made = [shown(e) for e in take_events(draft, find_units(draft.lines, []))]
    return made if not draft.ambiguous else []


WHO = "electric_heater"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (FIRST["event"], ([5, 7], WHO, 6, 9, True)),
        ("An event lasts from 5 a.m. to 7 a.m. During the event the electric heaters must not draw"
         " more than 6 kW.", ([5, 7], WHO, 6, None, False)),
        ("Between 17:00 and 20:00 we get paid for every kilowatt-hour that our electric panel"
         " heaters stay below 24 kW.", ([17, 20], WHO, None, 24, False)),
        ("From 17:00 to 20:00 we receive 0.40 EUR for each kWh that the electric heaters stay"
         " below 9 kW.", ([17, 20], WHO, None, 9, True)),
        ("From 17:00 to 20:00 for every kWh by which they are below the agreed baseline of 9 kW we"
         " are paid a premium of 0.40 EUR/kWh.", ([17, 20], WHO, None, 9, True)),
        ("On 6 August 2026 the aggregator pays 0.45 EUR for every kWh by which the electric heaters"
         " stay below 30 kW between 14:00 and 17:00.", ([14, 17], WHO, None, 30, True)),
        ("The grid operator has announced a flexibility event on 11 December 2026, 17:00 to 20:00."
         " In these hours the electric heaters may use at most 6 kW.", ([17, 20], WHO, 6, None,
                                                                        False)),
    ],
)  # fmt: skip
def test_events_in_other_words(text: str, wanted: tuple[object, ...]) -> None:
    assert events(text) == [wanted]


@pytest.mark.parametrize(
    "text",
    [
        "The utility has called an event for 11 December 2026, 17:00 to 20:00.",
        "From 17:00 to 20:00 the electric heaters may draw more than 6 kW.",
        "From 17:00 to 20:00 the electric heaters may draw at most 6 kW of heat.",
        "From 17:00 to 20:00 the fridge may draw at most 6 kW.",
        "From 17:00 to 20:00 our company pays 0.45 EUR for every kWh by which the electric heaters"
        " stay below 30 kW.",
        "During these hours the electric heaters may draw at most 6 kW.",
        "From 17:00 to 20:00 we pay 0.40 EUR/kWh for each kWh that the electric heaters are above"
        " 9 kW.",
        "From 17:00 to 20:00 we get 0.40 EUR/kWh for each kWh that the electric heaters stay below"
        " their use of the day before.",
    ],
)
def test_what_is_no_such_event_is_not_taken_for_one(text: str) -> None:
    assert events(text) == []


@pytest.mark.parametrize(
    "other",
    [
        {"event": FIRST["event"].replace("0.40 EUR/kWh", "a sum that is in annex B")},
        {"event": FIRST["event"].replace("these hours", "those hours, if asked again,")},
        {"event": FIRST["event"].replace("07:00", "06:30")},
        {"goal": "the electricity cost"},
        {"goal": "electricity cost plus the credit"},
        {"event": FIRST["event"] + " The credit is halved after the first event."},
        {"panels": "the solar panels"},
        {"event": FIRST["event"] + " What is drawn above the baseline costs 1 EUR/kWh."},
    ],
)
def test_what_an_event_leaves_open_stays_open(tmp_path: Path, other: dict[str, str]) -> None:
    assert not house(tmp_path, **other).complete


@pytest.mark.parametrize("where", ["annex B, which was not attached to the mail",
                                   "the appendix, which is missing"])  # fmt: skip
def test_a_credit_that_is_not_here_is_missing(tmp_path: Path, where: str) -> None:
    event = (
        "Between 05:00 and 07:00 we get paid for every kilowatt-hour that our electric panel"
        f" heaters stay below 9 kW. The rate is in {where}. We would like to know how they should"
        " run."
    )
    found = house(tmp_path, event=event, goal="electricity less what the aggregator pays")
    assert [(m.component, m.slot) for m in found.missing] == [("event", "credit")]
    assert not found.not_understood
    assert not found.ambiguous
