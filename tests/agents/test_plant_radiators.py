"""Radiators by the power law of their excess temperature, in several wordings."""

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize

from tests.agents.support import planted, solved

OUT, PRICE = np.array([-8.0, -6.0, -2.0]), np.array([29.0, 38.0, 24.0])

PARTS = {
    "law": (
        "Heat of all radiators together, in kW: 0.085 kW times the 1.3rd power of the difference,"
        " in K, between the water and the room at the beginning of the block.",
        "The radiators give 0.085 kW times the difference in K between the water and the room to"
        " the power of 1.3.",
        "What the radiators give is 85 W times the excess of the water over the room with an"
        " exponent of 1.3.",
    ),
    "water": (
        "Water may be between 30 °C and 60 °C, so the radiators always give something.",
        "The water temperature must be between 30 °C and 60 °C.",
    ),
    "pump": (
        "The electric power of the heat pump is this heat times the lift from outdoors to the"
        " water, divided by 0.41 times the absolute temperature of the water (water in °C plus"
        " 273.15). No limit on power other than what the 60 °C say.",
        "The heat pump draws this heat times the difference between the outdoor air and the water,"
        " divided by 0.41 times the absolute temperature of the water.",
        "The heat pump reaches 41 % of Carnot between the outdoor air and the water.",
    ),
    "band": (
        "After each block it has to be between 19 °C and 22 °C, after the last at 20 °C or more.",
        "It must always be between 19 °C and 22 °C, and at the end at least 20 °C.",
    ),
}
TEXT = """
The villa keeps its cast-iron radiators, and the new heat pump suffers for it: the more heat we
want, the hotter the water, and the hotter the water, the poorer the machine. Please choose the mean
water temperature for each of the three two-hour blocks of 18 January 2026 between 06:00 and 12:00.

{law}

{water} {pump}

The villa: 11 kWh/K and 0.24 kW/K to the outdoors, explicit steps (room at the beginning of the
block), 19.6 °C at 06:00. {band}

| Block | Outdoors (°C) | Price (ct/kWh) |
|---|---|---|
| 06:00 | -8 | 29 |
| 08:00 | -6 | 38 |
| 10:00 | -2 | 24 |

What is the least cost of the electricity, in EUR (the prices are in euro cents)?
"""


def cheapest() -> float:
    """Return the least cost by a method for smooth programmes in the temperatures of the water."""

    def rooms(water: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        room, heat = [19.6], []
        for t in range(3):
            heat.append(0.085 * max(water[t] - room[-1], 1e-9) ** 1.3)
            room.append(room[-1] + 2 / 11 * (0.24 * (OUT[t] - room[-1]) + heat[-1]))
        return np.array(room), np.array(heat)

    def cost(water: np.ndarray) -> float:
        heat = rooms(water)[1]
        return float(PRICE @ (heat * (water - OUT) / (0.41 * (water + 273.15)))) * 0.02

    found = minimize(
        cost, [45.0, 40.0, 45.0], bounds=[(30, 60)] * 3, method="SLSQP",
        constraints={"type": "ineq", "fun": lambda w: np.concatenate(
            [rooms(w)[0][1:] - 19, 22 - rooms(w)[0][1:], [rooms(w)[0][-1] - 20]])},
        options={"ftol": 1e-13, "maxiter": 500},
    )  # fmt: skip
    assert found.success
    return float(found.fun)


def text_of(**changed: str) -> str:
    """Return the text with the first wording of every part, or what replaces it."""
    return TEXT.format(**({name: ways[0] for name, ways in PARTS.items()} | changed))


@pytest.mark.parametrize(
    ("part", "way"),
    [(p, k) for p, ways in PARTS.items() for k in range(len(ways)) if k or p == "law"],
)
def test_radiators_in_other_words(tmp_path: Path, part: str, way: int) -> None:
    analysis = planted(tmp_path, text_of(**{part: PARTS[part][way]}))
    assert analysis.complete, (analysis.missing, analysis.not_understood, analysis.ambiguous)
    assert solved(analysis, tmp_path)[1] == pytest.approx(cheapest(), rel=1e-6)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("of all radiators together", "of one of the radiators"),
        ("between the water and the room", "between the water and the outdoor air"),
        ("Water may be between 30 °C and 60 °C", "Water may be 60 °C by day"),
        ("times the lift", "times half the lift"),
        ("plus 273.15", "plus 459.67"),
        ("what the 60 °C say", "what the 55 °C say"),
        ("No limit on power", "At most 5 kW of heat, no limit on power"),
        ("three two-hour blocks", "four two-hour blocks"),
        ("after the last at", "after the second at"),
    ],
)
def test_what_changes_the_radiators_is_not_passed_over(tmp_path: Path, old: str, new: str) -> None:
    assert old in text_of()
    assert not planted(tmp_path, text_of().replace(old, new)).complete


def test_water_of_radiators_is_no_room(tmp_path: Path) -> None:
    text = text_of(law="", pump="The heat pump has a COP of 3 and gives up to 9 kW of heat.")
    assert not planted(tmp_path, text).complete
