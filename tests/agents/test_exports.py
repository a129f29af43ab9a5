"""Energy to be fed in or bought in all, bans of feed-in, stores with a free room."""

from pathlib import Path

import pytest

from engiagent.agents.offline.plant.analyse import understand_plant
from engiagent.agents.offline.results import Analysis
from engiagent.problems import Problem
from tests.agents.support import solved

PARTS = {
    "site": "On 4 June 2026, 9:00 to 13:00, the school needs 5 kW all the time and the panels give"
    " 20, 31, 28 and 24 kW in the four hours.",
    "ban": "From the connection agreement: no power may be fed into the grid between 9:00 and"
    " 13:00.",
    "battery": "The battery takes 15 kW at the most and stores everything it takes; 30 kWh are free"
    " in it.",
    "panels": "The panels can be turned down if need be.",
    "grant": "From the grant notice of last year: at least 25 kWh of the production of these four"
    " hours must be fed into the grid, or the grant is lost.",
    "hard": "We cannot do without it.",
    "prices": "Bought energy costs 2.20 DKK/kWh, fed-in energy earns 0.40 DKK/kWh.",
    "goal": "Make the bill small, in DKK.",
}  # fmt: skip


def read(folder: Path, **changes: str) -> Analysis:
    """Return what the reader of plants makes of the text with other parts."""
    body = "\n\n".join(part for part in {**PARTS, **changes}.values() if part)
    (folder / "problem.md").write_text(f"# A school\n\n{body}\n", encoding="utf-8")
    return understand_plant(Problem.load(folder / "problem.md")).analysis


CONTRADICTIONS = [
    {},
    {"ban": "Feeding in is forbidden from 9:00 to 13:00."},
    {"ban": "Nothing may be fed into the grid."},
    {"grant": "The subsidy notice says: at least 25 kWh must be fed in over the four hours, or"
     " the subsidy is withdrawn.", "hard": "We depend on it."},
    {"grant": "No less than 0.025 MWh of the solar production must be sold to the grid.",
     "hard": ""},
    {"battery": "The battery is charged with up to 15 kW, nothing is lost, and it has room for"
     " 30 kWh."},
    {"site": "The panels give 20, 31, 28 and 24 kW in the four hours from 9:00 of 4 June 2026. The"
     " building uses 5 kW."},
    {"battery": "The battery holds 40 kWh, has 10 kWh in it at the start, takes and gives 15 kW and"
     " loses nothing."},
]  # fmt: skip


@pytest.mark.parametrize("changes", CONTRADICTIONS)
def test_what_is_forbidden_and_required_has_no_plan(
    changes: dict[str, str], tmp_path: Path
) -> None:
    prices = "Bought energy costs 2.20 DKK/kWh."
    if changes.get("ban", "").startswith("Nothing"):  # at no time, so that no price is due
        changes = {**changes, "prices": prices}
    analysis = read(tmp_path, **changes)
    assert analysis.complete, (analysis.missing, analysis.not_understood, analysis.ambiguous)
    assert analysis.blueprint is not None
    rows = {c.name: c.expression for c in analysis.blueprint.core.constraints}
    assert rows["least energy fed in"].startswith("sum(grid_export[t]*dt(t) for t in T) >= ")


NOT_THIS = [
    {"hard": ""},
    {"grant": ""},
    {"grant": PARTS["grant"].replace("must be fed", "may be fed")},
    {"ban": PARTS["ban"].replace("9:00 and 13:00", "9:00 and 11:00")},
    {"ban": PARTS["ban"].replace("9:00 and 13:00", "9:00 and 15:30")},
    {"ban": ""},
    {"ban": "From the old agreement, which no longer holds: no power may be fed into the grid."},
    {"ban": PARTS["ban"].replace("the connection", "the old connection")},
    {"battery": PARTS["battery"] + " It gives 10 kW at the most."},
    {"site": PARTS["site"].replace("needs 5 kW", "needs 5 kW of heat")},
    {"site": PARTS["site"].replace("in the four hours", "in the five hours")},
    {"panels": "The panels can be turned down if the mayor agrees."},
    {"prices": PARTS["prices"] + " Energy sent back is not paid."},
]


@pytest.mark.parametrize("changes", NOT_THIS)
def test_other_meanings_are_not_read_so(changes: dict[str, str], tmp_path: Path) -> None:
    analysis = read(tmp_path, **changes)
    if analysis.complete and "15:30" in changes.get("ban", ""):
        return  # a ban that lasts longer than the plan forbids all of it
    assert not analysis.complete


def test_energy_in_all_is_limited_where_that_can_be_kept(tmp_path: Path) -> None:
    battery = (
        "The battery holds 30 kWh, is empty at the start, takes and gives 15 kW and loses nothing."
    )
    least = "At least 45 kWh must be fed into the grid in total."
    cheap = read(tmp_path, ban="", grant="", hard="", battery=battery)
    bound = read(tmp_path, ban="", grant=least, hard="", battery=battery)
    most = read(
        tmp_path, ban="", grant=least.replace("At least", "At most").replace("must", "may"),
        hard="", battery=battery,
    )  # fmt: skip
    for analysis in (cheap, bound, most):
        assert analysis.complete, (analysis.not_understood, analysis.ambiguous)
    made, used = 103.0, 20.0
    assert solved(cheap, tmp_path)[1] == pytest.approx(-0.4 * (made - used))
    assert solved(bound, tmp_path)[1] == pytest.approx(-0.4 * (made - used))
    assert solved(most, tmp_path)[1] == pytest.approx(-0.4 * 45)
