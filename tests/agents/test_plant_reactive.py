"""Apparent and reactive power beside a heated house: fuses in kVA, inverters, heat pumps, flats."""

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize

from tests.agents.support import planted, solved

FLATS, LAG = np.array([14.0, 20.0, 30.0]), np.array([8.0, 12.0, 20.0])
SUN, OUT = np.array([6.0, 12.0, 3.0]), np.array([-1.0, 0.0, -2.0])
PRICE = np.array([0.23, 0.31, 0.31])

PARTS = {
    "fuse": (
        "Its fuse carries an apparent power of 40 kVA, that is, the root of the squares of active"
        " (kW) and reactive power (kvar) must not be larger in any hour.",
        "The fuse carries an apparent power of 40 kVA.",
        "The apparent power at the connection may be at most 40 kVA.",
        "At the connection the square root of the sum of the squares of active and reactive power"
        " must not exceed 40 kVA at any time.",
        "The transformer must not carry more than 40 kVA.",
    ),
    "pump": (
        "Heat pumps (all together): up to 20 kW, a COP of 3, and they draw 0.45 kvar per kW.",
        "The heat pump draws up to 20 kW of electric power with a COP of 3. It draws 0.45 kvar per"
        " kW.",
        "The heat pump has a COP of 3 and at most 20 kW, for each of which it draws 0.45 kvar/kW.",
    ),
    "inverter": (
        "Solar inverter: 15 kVA. The roof offers what the table says, of which it may leave out any"
        " part. With what it has left it can give or take reactive power: the root of the squares"
        " of its active and reactive power is within the 15 kVA. Reactive power is not free, as its"
        " losses are 0.04 kW for each kvar given; it never takes any.",
        "The roof offers what the table says and may be throttled. The solar inverter is rated at"
        " 15 kVA. The inverter can also give reactive power, with losses of 0.04 kW per kvar.",
        "The solar inverter of 15 kVA can give reactive power. The root of the squares of its"
        " active and reactive power is within the 15 kVA. Its losses for reactive power are 0.04"
        " kW/kvar. The roof yields what the table says.",
    ),
    "flats": ("Flats: as the table says, active and reactive.", ""),
}
TEXT = """
Plan 22 January 2026 from 15:00 to 18:00, hour by hour.

{fuse}

- {pump}
- {inverter}
- {flats}

| Hour | Flats (kW) | Flats (kvar) | Sun (kW) | Outdoors (°C) |
|---|---|---|---|---|
| 15:00 | 14 | 8 | 6 | -1 |
| 16:00 | 20 | 12 | 12 | 0 |
| 17:00 | 30 | 20 | 3 | -2 |

Nothing is sold; power bought costs 31 ct/kWh from 16:00 to 18:00 and 23 ct/kWh at other hours (euro
cents). The terrace stores 40 kWh/K and loses heat through 0.5 K/kW, with explicit steps of one
hour. It is at 21 °C at 15:00 and has to lie between 20 °C and 23 °C at every full hour; at the end
it must be back at 21 °C or more. Find the cheapest operation, in EUR.
"""


def cheapest() -> float:
    """Return the least cost by a method for smooth programmes in heat, sun and reactive power."""

    def parts(x: np.ndarray) -> tuple[np.ndarray, ...]:
        heat, sun, lag = x[:3], x[3:6], x[6:]
        return heat, sun, lag, FLATS + heat + 0.04 * lag - sun, LAG + 0.45 * heat - lag

    def limits(x: np.ndarray) -> np.ndarray:
        heat, sun, lag, active, reactive = parts(x)
        temp = [21.0]
        for t in range(3):
            temp.append(temp[-1] + ((OUT[t] - temp[-1]) / 0.5 + 3 * heat[t]) / 40)
        inside = np.array(temp[1:])
        return np.concatenate(
            [1600 - active**2 - reactive**2, 225 - sun**2 - lag**2, active, inside - 20,
             23 - inside, [inside[-1] - 21]]
        )  # fmt: skip

    found = minimize(
        lambda x: float(PRICE @ parts(x)[3]),
        np.concatenate([[14.0, 14.0, 14.0], SUN * 0.9, [5.0, 5.0, 10.0]]),
        bounds=[(0, 20)] * 3 + [(0, s) for s in SUN] + [(0, 15)] * 3,
        constraints={"type": "ineq", "fun": limits}, method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )  # fmt: skip
    assert found.success
    return float(found.fun)


def text_of(**changed: str) -> str:
    """Return the text with the first wording of every part, or what replaces it."""
    return TEXT.format(**({name: ways[0] for name, ways in PARTS.items()} | changed))


@pytest.mark.parametrize(
    ("part", "way"),
    [(p, k) for p, ways in PARTS.items() for k in range(len(ways)) if k or p == "fuse"],
)
def test_a_terrace_in_other_words(tmp_path: Path, part: str, way: int) -> None:
    analysis = planted(tmp_path, text_of(**{part: PARTS[part][way]}))
    assert analysis.complete, (analysis.missing, analysis.not_understood, analysis.ambiguous)
    assert solved(analysis, tmp_path)[1] == pytest.approx(cheapest(), rel=1e-6)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("give or take reactive power", "take reactive power"),
        ("it never takes any", "at night it takes all"),
        ("Flats (kvar)", "Shops (kvar)"),
        ("0.45 kvar per kW", "0.45 kvar per kW when it is cold"),
        ("apparent power of 40 kVA", "apparent power of 40 kVA by day"),
        ("Nothing is sold; power", "Power"),
        ("Find the cheapest", "The inverter stands still at night. Find the cheapest"),
        ("the root of the squares of its active", "the sum of its active"),
        ("The roof offers what the table says", "The roof offers half of what the table says"),
    ],
)
def test_what_changes_the_terrace_is_not_passed_over(tmp_path: Path, old: str, new: str) -> None:
    assert old in text_of()
    assert not planted(tmp_path, text_of().replace(old, new)).complete
