"""Several temperatures in one text: told apart by words, joined by walls, fed by units."""

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog

from tests.agents.support import planted, solved

OUT = np.array([2.0, 1.0, 0.0, 1.0, 3.0, 5.0])
PRICE = np.array([0.20, 0.20, 0.35, 0.35, 0.35, 0.20])
LOW = np.array([18.0, 18.0, 20.0, 20.0, 20.0, 20.0, 18.0])

PARTS = {
    "nodes": (
        "- the screed: 9 kWh/K; it gets the heat of the heat pump and passes heat to the room"
        " through 1.5 K/kW;\n- the room: 3 kWh/K, with 5 K/kW to the outdoor air; a steady 0.4 kW"
        " of people and appliances heat it directly.",
        "The heat pump heats the screed. The screed stores 9 kWh/K and the room stores 3 kWh/K."
        " Between the screed and the room there is a resistance of 1.5 K/kW. The room loses 200"
        " W/K to the outdoors. In the room people give 0.4 kW of heat at all times.",
        "Screed: 9000 Wh/K. Room: 3 kWh/K and 0.2 kW/K to the outside, with gains of 400 W."
        " The heat pump feeds the screed. Between them 1.5 K/kW.",
        "The room has a heat capacity of 3 kWh/K, a resistance of 5 K/kW to the outdoor air and"
        " 0.4 kW of heat from appliances. The screed has a heat capacity of 9 kWh/K, gets the heat"
        " from the heat pump and gives heat to the room through a resistance of 1.5 K/kW.",
        "The heat pump gives its heat to the screed.\n\n- the screed: 32.4 MJ/K\n"
        "- the room: 3 kWh/K, 5 K/kW towards the outdoors, people in it add 0.4 kW\n\n"
        "Between the two 1.5 K/kW conduct heat.",
    ),
    "start": (
        "At the start the screed has 25 °C and the room 20 °C.",
        "At 06:00 the room is at 20 °C and the screed at 25 °C.",
        "The screed begins with 25 °C. The room is at 68 °F at the beginning.",
    ),
    "band": (
        "From 08:00 to 11:00, both marks included, the room must be between 20 °C and 24 °C, at"
        " other times between 18 °C and 24 °C. The screed must not exceed 29 °C, ever. At the end"
        " it must be at 25 °C or warmer.",
        "The screed may never be above 29 °C, and it must have at least 25 °C at the end. The room"
        " shall be between 20 °C and 24 °C from 08:00 to 11:00 and between 18 °C and 24 °C at"
        " other times.",
    ),
    "heat": (
        "The heat pump gives up to 8 kW of heat, as little as wanted, with a COP of 3.",
        "The heat pump has a COP of 3 and at most 8 kW of heat.",
    ),
}
TEXT = """
Plan the floor heating of a house on 14 January 2026 from 06:00 to 12:00, hour by hour, with
explicit Euler steps.

{parts}

Electricity costs 0.35 EUR/kWh from 08:00 to 11:00 and 0.20 EUR/kWh at other times.

| Hour | Outside (°C) |
|---|---|
| 06:00 | 2 |
| 07:00 | 1 |
| 08:00 | 0 |
| 09:00 | 1 |
| 10:00 | 3 |
| 11:00 | 5 |

Minimise the electricity cost in EUR.
"""


def cheapest() -> float:
    """Return the least cost with the temperatures as sums of responses."""
    n = 6
    screed, room = np.zeros((n + 1, n + 1)), np.zeros((n + 1, n + 1))  # last column: free
    screed[0, n], room[0, n] = 25.0, 20.0
    for t in range(n):
        flow = (screed[t] - room[t]) / 1.5
        screed[t + 1] = screed[t] - flow / 9
        screed[t + 1, t] += 1 / 9
        room[t + 1] = room[t] + (flow - room[t] / 5) / 3
        room[t + 1, n] += (OUT[t] / 5 + 0.4) / 3
    end = screed[n:, :]
    rows = np.vstack([-room[:, :n], room[:, :n], screed[:, :n], -end[:, :n]])
    free = np.concatenate([room[:, n] - LOW, 24 - room[:, n], 29 - screed[:, n], end[:, n] - 25])
    found = linprog(PRICE / 3, rows, free, bounds=[(0, 8)] * n)
    assert found.success
    return float(found.fun)


def text_of(**changed: str) -> str:
    """Return the text with the first wording of every part, or what replaces it."""
    parts = {name: ways[0] for name, ways in PARTS.items()} | changed
    return TEXT.format(parts="\n\n".join(parts.values()))


@pytest.mark.parametrize(
    ("part", "way"), [(part, k) for part, ways in PARTS.items() for k in range(len(ways))]
)
def test_a_screed_and_a_room_in_other_words(tmp_path: Path, part: str, way: int) -> None:
    analysis = planted(tmp_path, text_of(**{part: PARTS[part][way]}))
    assert analysis.complete, (analysis.missing, analysis.not_understood, analysis.ambiguous)
    assert solved(analysis, tmp_path)[1] == pytest.approx(cheapest(), rel=1e-7)


NOT = (
    ("gets the heat of the heat pump", "gets half of the heat of the heat pump"),
    ("it gets the heat of the heat pump and passes heat", "it passes heat"),
    ("passes heat to the room through 1.5 K/kW", "passes heat to the cellar through 1.5 K/kW"),
    ("passes heat to the room", "passes heat only by day to the room"),
    ("the room: 3 kWh/K", "the room: 3 kWh/K in winter"),
    ("The screed must not", "One of the two must not"),
    ("at the start the screed has 25 °C and the room 20 °C", "at the start one has 25 °C"),
    ("At the end it must", "At the end of the second day it must"),
)


@pytest.mark.parametrize(("old", "new"), NOT)
def test_what_changes_one_of_several_is_not_passed_over(tmp_path: Path, old: str, new: str) -> None:
    text = text_of().replace("At the start", "at the start").replace(old, new)
    assert new in text
    assert not planted(tmp_path, text).complete


# --- rooms in a table ----------------------------------------------------------------------------

COLUMNS = """
| | North hall | South hall |
|---|---|---|
| Capacity (kWh/°F) | 6.7 | 8.4 |
| Conductance to outdoors (kW/°F) | 0.39 | 0.56 |
| Temperature at 6 a.m. (°F) | 75 | 76 |
| Most cooling (tons of refrigeration) | 14 | 13 |
"""
ROWS = """
| Room | Capacity (kWh/°F) | Conductance to the outside (kW/°F) | Temperature at 06:00 (°F) | Largest cooling (tons) |
|---|---|---|---|---|
| North hall | 6.7 | 0.39 | 75 | 14 |
| South hall | 8.4 | 0.56 | 76 | 13 |
"""  # noqa: E501
COOLED = """
One chiller serves the north hall and the south hall. Plan 12 August 2026 from 06:00 to 10:00 in
hours. Both halls are plain capacities, stepped explicitly every hour.
{table}
{wall}

{chiller} {band}

Electricity costs $92/MWh, and $17.80 per kW of the {peak}. What is the smallest sum of energy and
demand charge, in dollars?

| Hour | Outside (°F) | North sun (tons) | South people (tons) |
|---|---|---|---|
| 06:00 | 76 | 1 | 2 |
| 07:00 | 79 | 2 | 3 |
| 08:00 | 85 | 4 | 3 |
| 09:00 | 88 | 5 | 4 |
"""
WAYS = {
    "table": (COLUMNS, ROWS),
    "wall": (
        "Between them the wall conducts 0.18 kW/°F.",
        "The wall between the north hall and the south hall has 0.18 kW/°F.",
        "The two halls exchange heat through a partition: 0.18 kW/°F between the two.",
    ),
    "chiller": (
        "The chiller makes 18 tons at most for both halls together and draws 1.15 kW/ton at any"
        " load.",
        "The chiller gives at most 18 tons of cooling and draws 1.15 kW per ton.",
    ),
    "band": (
        "From 8 a.m. to 10 a.m., both marks included, each hall is kept between 69 °F and 75.5 °F;"
        " outside these hours at or below 80 °F will do, and nowhere below 69 °F.",
        "Each hall must be between 69 °F and 75.5 °F from 08:00 to 10:00, both marks included, and"
        " between 69 °F and 80 °F at other times.",
    ),
    "peak": ("highest hour", "highest hour of the chiller"),
}


def cooled(**changed: str) -> str:
    """Return the text on two halls with the first wording of every part, or other ones."""
    return COOLED.format(**({name: ways[0] for name, ways in WAYS.items()} | changed))


def halls() -> float:
    """Return the least cost of the two halls by a linear programme of our own."""
    ton = 3.516852842067  # kW
    out, sun = [76.0, 79.0, 85.0, 88.0], [[1, 2, 4, 5], [2, 3, 3, 4]]
    size = 9  # cooling of both halls in kW, by hour, and the peak
    temp = np.zeros((5, 2, size + 1))  # the last entry is free of the cooling
    temp[0, 0, -1], temp[0, 1, -1] = 75, 76
    for t in range(4):
        for z, (c, u) in enumerate(((6.7, 0.39), (8.4, 0.56))):
            flow = 0.18 * (temp[t, 1 - z] - temp[t, z]) - u * temp[t, z]
            flow[-1] += u * out[t] + sun[z][t] * ton
            flow[4 * z + t] -= 1
            temp[t + 1, z] = temp[t, z] + flow / c
    rows, free = [], []
    for t in range(5):
        for z in range(2):
            rows += [temp[t, z, :-1], -temp[t, z, :-1]]
            free += [(75.5 if t in (2, 3, 4) else 80) - temp[t, z, -1], temp[t, z, -1] - 69]
    per = 1.15 / ton
    for t in range(4):
        both = np.zeros(size)
        both[[t, 4 + t]] = 1
        rows.append(both)
        free.append(18 * ton)
        rows.append(both * per - np.eye(size)[8])
        free.append(0)
    cost = np.array([per * 0.092] * 8 + [17.8])
    bounds = [(0, 14 * ton)] * 4 + [(0, 13 * ton)] * 4 + [(0, None)]
    found = linprog(cost, np.array(rows), np.array(free), bounds=bounds)
    assert found.success
    return float(found.fun)


HALLS = halls()


@pytest.mark.parametrize(
    ("part", "way"),
    [(p, k) for p, ways in WAYS.items() for k in range(len(ways)) if k or p == "table"],
)
def test_two_halls_in_a_table(tmp_path: Path, part: str, way: int) -> None:
    analysis = planted(tmp_path, cooled(**{part: WAYS[part][way]}))
    assert analysis.complete, (analysis.missing, analysis.not_understood, analysis.ambiguous)
    assert analysis.blueprint is not None
    zones = {c.name: c for c in analysis.blueprint.core.components if c.model == "thermal_zone"}
    assert set(zones) == {"north_hall", "south_hall"}
    assert sum(bool(z.connections) for z in zones.values()) == 1
    assert solved(analysis, tmp_path)[1] == pytest.approx(HALLS, rel=1e-7)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("serves the north hall and the south hall", "serves the north hall"),
        ("Between them the wall", "To the cellar the wall"),
        ("each hall is kept", "one hall is kept"),
        ("North sun (tons)", "Mean sun (tons)"),
        ("for both halls together", "for the north hall"),
        ("at any load", "at full load"),
    ],
)
def test_what_is_said_of_one_hall_is_not_said_of_both(tmp_path: Path, old: str, new: str) -> None:
    assert old in cooled()
    analysis = planted(tmp_path, cooled().replace(old, new))
    if analysis.complete:  # another model, but not this one
        assert solved(analysis, tmp_path)[1] != pytest.approx(HALLS, rel=1e-4)


# --- two rooms in plain words --------------------------------------------------------------------

TWO = (
    "The hall stores 8 kWh/K and loses 0.4 kW/K to the outdoors. The annex stores 3 kWh/K and loses"
    " 0.2 kW/K to the outdoors. At the start both are at 19 °C. Both must always be between 16 °C"
    " and 24 °C. The heat pump serves both rooms. It has a COP of 3 and at most 9 kW of heat."
)


def two(more: str) -> str:
    """Return a text on two rooms with one more sentence."""
    return TEXT.format(parts=f"{TWO} {more}")


@pytest.mark.parametrize(
    "more",
    [
        "Between the hall and the annex 0.1 kW/K from 08:00 to 10:00.",
        "Each wall between neighbouring rooms conducts 0.1 kW/K.",
        "Between them 0.1 kW/K while the door is open.",
        "The mean of both must be at 20 °C or more at the end.",
        "They must not differ by more than 2 K.",
        "One of the rooms must be at 20 °C at the end.",
        "The other room must be at 20 °C at the end.",
        "People give 1 kW of heat to both rooms together.",
        "Together they must not take more than 5 kW of heat.",
        "The annex is not heated from 08:00 to 10:00.",
        "The cellar below the annex is at 10 °C.",
    ],
)
def test_what_is_said_of_two_rooms_is_not_read_of_each(tmp_path: Path, more: str) -> None:
    assert not planted(tmp_path, two(more)).complete


def test_two_rooms_in_plain_words(tmp_path: Path) -> None:
    alone = solved(planted(tmp_path, two("")), tmp_path)[1]
    gains = solved(planted(tmp_path, two("In each room people give 1 kW of heat.")), tmp_path)[1]
    hall = solved(planted(tmp_path, two("In the hall people give 1 kW of heat.")), tmp_path)[1]
    assert alone is not None
    assert gains is not None
    assert hall is not None
    assert gains < hall < alone


@pytest.mark.parametrize(
    ("prices", "read"),
    [
        ("0.20 EUR/kWh from 22:00 to 06:00 and 0.35 EUR/kWh in the daytime", True),
        ("0.35 EUR/kWh by day and 0.20 EUR/kWh between 22:00 and 06:00", True),
        ("0.40 EUR/kWh from 17:00 to 20:00 and 0.25 EUR/kWh in the daytime", False),
        ("0.20 EUR/kWh from 00:00 to 06:00 and 0.35 EUR/kWh by day", False),
    ],
)
def test_by_day_is_the_rest_of_a_night_only(tmp_path: Path, prices: str, read: bool) -> None:
    text = two("").replace(
        "0.35 EUR/kWh from 08:00 to 11:00 and 0.20 EUR/kWh at other times", prices
    )
    assert prices in text
    assert planted(tmp_path, text).complete is read
