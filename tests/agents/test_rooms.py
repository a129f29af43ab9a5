"""Rooms in words of any order: the same room in other wordings, held against sums of our own."""

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog

from tests.agents.support import analysed, solved

OUT = np.array([2.0, 1.0, 0.0, 1.0, 3.0, 5.0])
PRICE = np.array([0.20, 0.20, 0.35, 0.35, 0.35, 0.20])
GAINS = np.array([0.0, 0.0, 1.5, 1.5, 1.5, 0.0])
LOW = np.array([16.0, 16.0, 20.0, 20.0, 20.0, 20.0, 16.0])  # instants 06:00 to 12:00
HIGH = 24.0

PARTS = {
    "room": (
        "The hall has a heat capacity of 8 kWh/K and loses 0.4 kW/K to the outdoors.",
        "Hall: 8 kWh/K, 2.5 K/kW towards the outside.",
        "The gym stores 8 kWh/K; the thermal resistance of its envelope is 2.5 K/kW.",
        "Thermal capacity 8000 Wh/K, conductance to the outdoor air 400 W/K.",
        "The office has 28.8 MJ/K, and 0.4 kW/K leave it through the walls to the outdoors.",
    ),
    "start": (
        "At 06:00 it is 19 degC inside.",
        "At the start the room is at 19 °C.",
        "It begins with 19 °C.",
        "The temperature at 06:00 is 66.2 °F.",
    ),
    "gains": (
        "People release 1.5 kW of heat from 08:00 to 11:00 and nothing at other times.",
        "From 08:00 to 11:00 visitors add 1.5 kW.",
        "Instruments and lamps give 1500 W of heat between 08:00 and 11:00.",
    ),
    "band": (
        "From 08:00 to 11:00, both marks included, it must be between 20 °C and 24 °C; at other"
        " times it must not fall below 16 °C, and 24 °C is the limit too.",
        "Between 08:00 and 11:00 the temperature has to lie between 20 °C and 24 °C; before and"
        " after 16 °C are enough, and 24 °C is the limit too.",
        "On every hour mark from 08:00 to 11:00 at least 20 °C, otherwise 16 °C or more. It may"
        " never be warmer than 24 °C.",
        "At all times it must be at or below 24 °C. From 08:00 to 11:00 it shall be 20 °C or"
        " warmer, at other times 16 °C or warmer.",
    ),
    "scheme": (
        "Temperatures are advanced with explicit Euler steps.",
        "Step it hour by hour with the heat flows at the beginning of each hour.",
        "The temperature follows the explicit Euler method, with losses at the start of the hour.",
    ),
    "heat": (
        "The heat pump draws at most 4 kW of electric power and works with a COP of 3.",
        "A heat pump with a coefficient of performance of 3 gives up to 12 kW of heat.",
        "The heat pump has a COP of 3.0 and takes up to 4 kW of electricity; it cannot cool.",
    ),
}
TEXT = """
Plan the heating of a hall on 14 January 2026 from 06:00 to 12:00, hour by hour.

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
    """Return the least cost of the hall by temperatures as sums of responses."""
    n, c, ua = 6, 8.0, 0.4
    keep = 1 - ua / c
    free, response = np.zeros(n + 1), np.zeros((n + 1, n))
    free[0] = 19.0
    for t in range(n):
        free[t + 1] = keep * free[t] + (ua * OUT[t] + GAINS[t]) / c
        response[t + 1] = keep * response[t]
        response[t + 1, t] += 3.0 / c
    found = linprog(
        PRICE,
        np.vstack([-response, response]),
        np.concatenate([free - LOW, HIGH - free]),
        bounds=[(0, 4)] * n,
    )
    assert found.success
    return float(found.fun)


def text_of(**changed: str) -> str:
    """Return the text with the first wording of every part, or what replaces it."""
    parts = {name: ways[0] for name, ways in PARTS.items()} | changed
    return TEXT.format(parts="\n\n".join(parts.values()))


@pytest.mark.parametrize(
    ("part", "way"), [(part, k) for part, ways in PARTS.items() for k in range(len(ways))]
)
def test_a_hall_in_other_words(tmp_path: Path, part: str, way: int) -> None:
    analysis = analysed(tmp_path, text_of(**{part: PARTS[part][way]}))
    assert analysis.complete, (analysis.missing, analysis.not_understood, analysis.ambiguous)
    assert solved(analysis, tmp_path)[1] == pytest.approx(cheapest(), rel=1e-7)


CHANGES = (
    "From 08:00 to 11:00 the heat pump must rest for an hour.",
    "The heat pump loses 5 % of its heat on the way.",
    "At night the windows are open.",
    "Half of the heat of people goes to the corridor.",
    "The temperature must not change by more than 1 K in two hours.",
    "On Sundays 18 °C are enough.",
    "The COP falls by 0.1 for each kelvin below 0 °C.",
    "The mean temperature must be at least 19 °C.",
    "If it is colder than 0 °C outside, 19 °C are enough.",
    "The corridor has 3 kWh/K.",
    "The hall must be at 21 °C at 09:30.",
    "The cellar is at 10 °C and takes 0.1 kW/K.",
)


@pytest.mark.parametrize("change", CHANGES)
def test_a_sentence_that_changes_the_hall_is_not_passed_over(tmp_path: Path, change: str) -> None:
    assert not analysed(tmp_path, text_of() + "\n" + change + "\n").complete, change
