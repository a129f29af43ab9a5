"""The temperature of condenser water as a choice between the chiller and the fan of the tower."""

from pathlib import Path

import pytest
from scipy.optimize import minimize_scalar

from tests.agents.support import analysed, solved

LOAD = (420.0, 820.0, 980.0)
WET = (61.0, 68.5, 71.5)
TEXT = """
{past} I would like to see the best temperature for each hour of 22 June 2026 from 09:00 to 12:00,
and what the three hours then cost.

| Hour | Chiller load (tons) | Wet bulb (°F) |
|---|---|---|
| 09:00 | 420 | 61.0 |
| 10:00 | 820 | 68.5 |
| 11:00 | 980 | 71.5 |

{chiller} {range}

The tower pays for it with its fan. {approach} {law} {fan} {colder}

Chiller and fan buy electricity at 0.142 $/kWh. Minimise their cost over the three hours, in USD.
"""
PARTS = {
    "past": "We have always held the condenser water at 85 °F.",
    "chiller": "Colder water helps the chiller: with the water at the temperature T it takes"
    " 0.500 kW/TR (per ton of refrigeration) at 65 °F, plus 0.0078 kW/TR for each °F above 65 °F.",
    "range": "It works with any T from 74 °F to 85 °F; in colder water its oil return fails.",
    "approach": "At full speed and 1000 tons the water leaves 7.2 °F warmer than the wet bulb.",
    "law": "This approach is proportional to the load and inversely proportional to the fan speed:"
    " at half the speed it is twice as large.",
    "fan": "Full speed draws 62 kW, and the power goes with the cube of the speed, between 20 % and"
    " 100 % of full speed.",
    "colder": "The water may not be colder than the tower can make it at the chosen speed; warmer"
    " is possible by a bypass.",
}
SAME = {
    "past": "",
    "chiller": "The chiller needs 0.500 kW/TR at 65 °F and 0.0078 kW/TR for each °F more above"
    " 65 °F.",
    "range": "The chiller can work with water between 74 °F and 85 °F.",
    "approach": "At full speed and 1000 tons, the condenser water leaves the tower 7.2 °F above the"
    " wet bulb.",
    "law": "The approach is proportional to the load and inversely proportional to the speed of the"
    " fan.",
    "fan": "Full speed takes 62 kW and the power rises with the third power of the speed between"
    " 20 % and 100 %.",
    "colder": "The water cannot be colder than the tower can make it at the given speed.",
}


def cheapest() -> float:
    """Return the least cost, hour by hour in the temperature of the water alone."""

    def power(water: float, load: float, wet: float) -> float:
        speed = max(0.2, 7.2 * load / 1000 / (water - wet))
        fan = 62 * speed**3 if speed <= 1 else 1e6 * speed
        return load * (0.5 + 0.0078 * (water - 65)) + fan

    found = [
        minimize_scalar(power, bounds=(74.0, 85.0), args=pair, method="bounded",
                        options={"xatol": 1e-10})
        for pair in zip(LOAD, WET, strict=True)
    ]  # fmt: skip
    return 0.142 * sum(float(f.fun) for f in found)


def written(**changes: str) -> str:
    return TEXT.format(**{**PARTS, **changes})


@pytest.mark.parametrize(
    "parts", [(), ("past", "chiller", "range"), ("approach", "law", "colder"), ("fan",)]
)
def test_water_between_chiller_and_tower(tmp_path: Path, parts: tuple[str, ...]) -> None:
    analysis = analysed(tmp_path, written(**{part: SAME[part] for part in parts}))
    assert analysis.complete, (analysis.missing, analysis.not_understood, analysis.ambiguous)
    assert solved(analysis, tmp_path)[1] == pytest.approx(cheapest(), rel=1e-5)


@pytest.mark.parametrize(
    ("part", "text"),
    [
        ("past", "The condenser water must be held at 80 °F or above after 10:00."),
        ("chiller", PARTS["chiller"].replace("plus", "minus")),
        ("chiller", PARTS["chiller"].replace("above 65 °F", "above 70 °F")),
        ("range", PARTS["range"].replace("works", "works best")),
        ("range", ""),
        ("approach", PARTS["approach"].replace("wet bulb", "outdoor air")),
        ("law", PARTS["law"].replace("inversely proportional", "proportional")),
        ("law", ""),
        ("fan", PARTS["fan"].replace("cube", "square")),
        ("fan", PARTS["fan"] + " The pump takes another 20 kW."),
        ("colder", PARTS["colder"].replace("may not be colder", "may be colder")),
        ("colder", PARTS["colder"] + " The speed must be the same in all hours."),
    ],
)
def test_water_that_is_spoken_of_otherwise(tmp_path: Path, part: str, text: str) -> None:
    assert not analysed(tmp_path, written(**{part: text})).complete, text
