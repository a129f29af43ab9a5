"""Rooms in files: a row for each, walls between them, hours of use; in several wordings."""

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog

from engiagent.agents.offline import Analysis
from engiagent.agents.offline.plant.analyse import understand_plant
from engiagent.problems import Problem
from tests.agents.support import solved

OUT = np.array([2.0 + 0.5 * (k % 12) for k in range(24)])
ROOMS = (
    "room,capacity [kWh/K],outside [W/K],people [kW],midnight [degC],radiator [kW]\n"
    "Nursery,2.1,95,1.4,18.0,6\nMusic,1.7,70,0.9,16.0,5\n"
)
FILES = {
    "rooms.csv": ROOMS,
    "walls.csv": "a,b,conductance [W/K]\nNursery,Music,110\n",
    "use.csv": "room,from,to\nNursery,9,12\nMusic,15,20\n",
    "outside.csv": "time,outdoor [degC]\n"
    + "".join(f"2026-03-08 {k:02d}:00,{OUT[k]}\n" for k in range(24)),
}
PARTS = {
    "files": (
        "* `rooms.csv`: for each room the thermal capacity (kWh/K), the conductance to the outside"
        " (W/K), the heat from people while the room is in use (kW), the temperature at midnight"
        " (degC) and the largest radiator power (kW)\n* `walls.csv`: pairs of rooms that share a"
        " wall, conductance in W/K, good for both directions\n* `use.csv`: when each room is in"
        " use; `from` and `to` are hours of the day\n* `outside.csv`: outdoor temperature (degC)",
        "The rooms are in `rooms.csv`: `people` is the heat of people while the room is occupied,"
        " `midnight` the temperature at the start and `radiator` the largest power of its"
        " radiators. `walls.csv` has the walls between them. `use.csv` says when a room is"
        " occupied. `outside.csv` has the outdoor temperature.",
    ),
    "band": (
        "A room in use must be at 19.5 °C or more; that goes for every hour mark from `from` to"
        " `to`, both included. Otherwise 12 °C will do, and no room should ever be above 23 °C.",
        "A room that is in use must not be colder than 19.5 °C. At other times 12 °C suffice. No"
        " room may ever be above 23 °C.",
        "Every room must be at 19.5 °C or more while it is in use; otherwise 12 °C are enough. At"
        " all times at most 23 °C are allowed in any room.",
    ),
    "people": ("Heat from people counts in the hours from `from` until `to`.", ""),
    "boiler": (
        "The boiler gives at most 8 kW at any time and turns 94 % of the gas into heat. Gas is 7.9"
        " p/kWh (pence).",
        "The boiler has 8 kW and an efficiency of 94 %. Gas costs 0.079 GBP/kWh.",
    ),
}
TEXT = """
The centre has two rooms and one boiler that can't feed all radiators at once. For 8 March 2026 I'd
like an hourly heating plan, 24 steps, that burns as little gas money as possible.

{files}

{boiler}

{band} {people}

Step the rooms forward explicitly. Give me the cost of the gas in GBP.
"""


def cheapest() -> float:
    """Return the least cost of the gas with the temperatures as sums of responses."""
    rooms = ((2.1, 0.095, 1.4, 18.0, 6, 9, 12), (1.7, 0.07, 0.9, 16.0, 5, 15, 20))
    temp = np.zeros((25, 2, 49))
    for z, room in enumerate(rooms):
        temp[0, z, -1] = room[3]
    for t in range(24):
        for z, (c, u, people, _, _, a, b) in enumerate(rooms):
            flow = 0.11 * (temp[t, 1 - z] - temp[t, z]) - u * temp[t, z]
            flow[-1] += u * OUT[t] + people * (a <= t < b)
            flow[24 * z + t] += 1
            temp[t + 1, z] = temp[t, z] + flow / c
    rows, free = [], []
    for t in range(25):
        for z, room in enumerate(rooms):
            low = 19.5 if room[5] <= t <= room[6] else 12.0
            rows += [temp[t, z, :-1], -temp[t, z, :-1]]
            free += [23 - temp[t, z, -1], temp[t, z, -1] - low]
    both = np.hstack([np.eye(24), np.eye(24)])
    found = linprog(
        [0.079 / 0.94] * 48, np.vstack([*rows, both]), [*free, *[8.0] * 24],
        bounds=[(0, 6)] * 24 + [(0, 5)] * 24,
    )  # fmt: skip
    assert found.success
    return float(found.fun)


def text_of(**changed: str) -> str:
    """Return the text with the first wording of every part, or what replaces it."""
    return TEXT.format(**({name: ways[0] for name, ways in PARTS.items()} | changed))


def analysed(folder: Path, body: str, **files: str) -> Analysis:
    """Return the analysis of a text by the reader of plants alone."""
    (folder / "problem.md").write_text(body, encoding="utf-8")
    for name, content in (FILES | {f"{k}.csv": v for k, v in files.items()}).items():
        (folder / name).write_text(content, encoding="utf-8")
    return understand_plant(Problem.load(folder / "problem.md")).analysis


@pytest.mark.parametrize(
    ("part", "way"),
    [(p, k) for p, ways in PARTS.items() for k in range(len(ways)) if k or p == "files"],
)
def test_rooms_in_files_in_other_words(tmp_path: Path, part: str, way: int) -> None:
    analysis = analysed(tmp_path, text_of(**{part: PARTS[part][way]}))
    assert analysis.complete, (analysis.missing, analysis.not_understood, analysis.ambiguous)
    assert solved(analysis, tmp_path)[1] == pytest.approx(cheapest(), rel=1e-7)


@pytest.mark.parametrize(
    "files",
    [
        {"use": "room,from,to\nNursery,9,12\nCellar,15,20\n"},
        {"use": "room,from,to\nNursery,9,12\nMusic,20,6\n"},
        {"use": "room,from,to\nNursery,9,12\n"},
        {"walls": "a,b,conductance [W/K]\nNursery,Cellar,110\n"},
        {"rooms": ROOMS.replace("people [kW]", "losses [kW]")},
    ],
)
def test_files_of_other_rooms_are_not_passed_over(tmp_path: Path, files: dict[str, str]) -> None:
    assert not analysed(tmp_path, text_of(), **files).complete


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("A room in use", "The largest room in use"),
        ("that burns as little gas money", "that burns for an hour as little gas money"),
        ("no room should", "one room should not"),
        ("the boiler gives", "the boiler gives the nursery"),
    ],
)
def test_what_changes_the_rooms_is_not_passed_over(tmp_path: Path, old: str, new: str) -> None:
    text = text_of().replace("The boiler gives", "the boiler gives")
    assert old in text
    assert not analysed(tmp_path, text.replace(old, new)).complete
