"""Vessels that go to and fro: legs, stops with a charger, contents on arrival and at the end."""

from pathlib import Path

import pytest
from scipy.optimize import linprog

from engiagent.agents.offline.results import Analysis
from engiagent.agents.offline.voyages.analyse import understand_voyage
from engiagent.problems import Problem
from tests.agents.support import solved

PARTS = {
    "legs": "The ferry crosses the bay six times in the morning of 5 May 2026, from 06:00 on: every"
    " half hour she leaves one of the docks, is under way for 18 minutes and lies still for the"
    " rest.",
    "energy": "Each crossing takes 120 kWh out of her battery.",
    "stops": "Only at the east dock is there a charger, so she can charge after the second and the"
    " fourth crossing only; it gives 1.5 MW on board for 12 minutes each time, and nothing is"
    " lost.",
    "battery": "Her battery is good for 900 kWh.",
    "content": "She sails with 700 kWh at 06:00, must never have less than 200 kWh on board,"
    " and the"
    " captain insists on 400 kWh when the sixth crossing is done.",
    "price": "The energy is bought for 1.20 NOK/kWh.",
    "goal": "How much should she take at each stop so that the morning is as cheap as possible, in"
    " NOK?",
}


def read(folder: Path, **changes: str) -> Analysis | None:
    """Return what the reader of voyages makes of the text with other parts."""
    body = "\n\n".join(part for part in {**PARTS, **changes}.values() if part)
    (folder / "problem.md").write_text(f"# A ferry\n\n{body}\n", encoding="utf-8")
    found = understand_voyage(Problem.load(folder / "problem.md"))
    return None if found is None else found.analysis


def cheapest(start: float = 700.0, end: float = 400.0, gain: float = 1.0) -> float | None:
    """Return the least cost of two stops, by sums over the legs."""
    rows, right = [], []
    for k in range(1, 7):
        on_arrival = [gain * (stop < k) for stop in (2, 4)]
        rows.append([-x for x in on_arrival])
        right.append(start - 120.0 * k - (end if k == 6 else 200.0))
        after = [gain * (stop <= k) for stop in (2, 4)]
        rows.append(after)
        right.append(900.0 - start + 120.0 * k)
    found = linprog([1.2, 1.2], A_ub=rows, b_ub=right, bounds=[(0, 300.0)] * 2)
    return float(found.fun) if found.success else None


def test_the_stops_are_as_cheap_as_they_can_be(tmp_path: Path) -> None:
    analysis = read(tmp_path)
    assert analysis is not None
    assert analysis.complete, (analysis.missing, analysis.not_understood, analysis.ambiguous)
    assert solved(analysis, tmp_path)[1] == pytest.approx(cheapest())


WORDINGS = [
    {"legs": "The ferry makes six crossings on 5 May 2026, from 06:00 on; she leaves every 30"
     " minutes"
     " and is under way for 18 minutes."},
    {"legs": "On 5 May 2026, from 06:00 on, the ferry goes to and fro: she makes six trips, one"
     " trip"
     " every half hour.", "energy": "Every trip needs 120 kWh.",
     "stops": "She recharges after the second and fourth trip. The charger gives 1,500 kW for"
     " 12 minutes each time; nothing is lost.",
     "content": "She starts with 700 kWh at 06:00. There must always be at least 200 kWh on board,"
     " and after the last trip at least 400 kWh."},
    {"energy": "Her battery gives 120 kWh for every crossing."},
    {"content": "She has 700 kWh on board at 06:00, she must never fall below 200 kWh, and 400 kWh"
     " are wanted when the last crossing is done."},
    {"price": "A kWh from the grid costs 1.20 NOK."},
    {"goal": "Find the cheapest plan; minimise the cost in NOK."},
    {"battery": "Her battery holds 900 kWh."},
]  # fmt: skip


@pytest.mark.parametrize("changes", WORDINGS)
def test_other_words_give_the_same_voyage(changes: dict[str, str], tmp_path: Path) -> None:
    analysis = read(tmp_path, **changes)
    assert analysis is not None
    assert analysis.complete, (analysis.missing, analysis.not_understood, analysis.ambiguous)
    assert analysis.blueprint is not None
    core = analysis.blueprint.core
    assert [c.expression for c in core.constraints] == [
        "content[t+1] == content[t] - leg_energy + (taken[t] if t in Stops else 0[kWh])",
        "content[t] - leg_energy >= minimum_energy",
        "content[first(I)] == initial_energy",
        "content[last(I)] >= final_energy",
    ]
    stops = next(s for s in core.sets if s.name == "Stops")
    assert list(stops.elements or ()) == ["2026-05-05T06:30", "2026-05-05T07:30"]


def test_losses_on_the_way_into_the_battery_are_counted(tmp_path: Path) -> None:
    stops = PARTS["stops"].replace(", and nothing is lost", "; its efficiency is 90 %")
    analysis = read(tmp_path, stops=stops)
    assert analysis is not None
    assert analysis.complete, (analysis.missing, analysis.not_understood, analysis.ambiguous)
    assert solved(analysis, tmp_path)[1] == pytest.approx(cheapest(gain=0.9))


def test_a_captain_who_wants_too_much_gets_no_plan(tmp_path: Path) -> None:
    analysis = read(tmp_path, content=PARTS["content"].replace("400 kWh", "600 kWh"))
    assert analysis is not None
    assert analysis.complete
    assert cheapest(end=600.0) is None
    assert solved(analysis, tmp_path)[0] == "infeasible"


NOT_THIS = [
    {"stops": PARTS["stops"].replace("the second and the fourth", "the second and the eighth")},
    {"stops": PARTS["stops"].replace("the second and the fourth crossing", "some crossings")},
    {"stops": PARTS["stops"].replace(", and nothing is lost", "")},
    {"stops": PARTS["stops"].replace("12 minutes", "14 minutes")},
    {"stops": PARTS["stops"] + " At the fourth she must not take more than 100 kWh."},
    {"stops": PARTS["stops"].replace("the fourth crossing only", "the sixth crossing only")},
    {"stops": "She can charge after every second crossing but not at the end; nothing is lost."},
    {"energy": PARTS["energy"] + " Against the wind a crossing takes 150 kWh."},
    {"energy": "Each crossing takes 120 kWh, the last crossing takes 100 kWh."},
    {"content": PARTS["content"].replace("She sails with 700 kWh at 06:00, ", "She ")},
    {"content": PARTS["content"] + " At 07:30 she must have 500 kWh on board."},
    {"content": PARTS["content"].replace("at 06:00", "at 06:00 (she may take more by then)")},
    {"content": PARTS["content"] + " She may not be charged before 07:00."},
    {"price": PARTS["price"] + " The price doubles after 07:00."},
    {"price": ""},
    {"price": "The energy is bought for 1.20 NOK/kWh before 07:00 and for more later."},
    {"legs": PARTS["legs"].replace("every half hour", "every now and then")},
    {"legs": PARTS["legs"].replace("six times", "six times, five times on Sundays,")},
    {"goal": "How much should she take at each stop so that the morning is as short as possible?"},
]


@pytest.mark.parametrize("changes", NOT_THIS)
def test_other_meanings_are_not_read_so(changes: dict[str, str], tmp_path: Path) -> None:
    analysis = read(tmp_path, **changes)
    assert analysis is None or not analysis.complete
