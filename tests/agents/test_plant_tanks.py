"""A buffer tank between a heat pump and a house, and a COP by Carnot, in several wordings."""

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog

from tests.agents.support import planted, solved

OUT = np.array([2.0, 0.0, 4.0, 6.0])
ROOF = np.array([0.0, 1.0, 4.0, 5.0])
NEED = np.array([0.4, 0.5, 0.3, 0.3])

PARTS = {
    "carnot": (
        "It makes water of 48 °C and reaches 45 % of the Carnot efficiency, so that its COP is 0.45"
        " times 321.15 K over the difference between the water and the outdoor air in the same"
        " hour.",
        "It makes water of 48 °C and reaches 45 % of the Carnot efficiency.",
        "Its COP is 45 % of the Carnot value between the outdoor air and the water, with a supply"
        " temperature of 48 °C.",
        "With a flow temperature of 48 °C it achieves 0.45 of the ideal Carnot COP.",
        "It heats water to 118.4 °F; its COP is 45 % of what Carnot allows.",
    ),
    "tank": (
        "Tank: from 35 °C (empty) to 48 °C (full) it takes up 14 kWh; of its content 0.8 % is lost"
        " in each hour (of the content at the beginning of the hour). It starts with 5 kWh and ends"
        " with 5 kWh or more.",
        "The tank holds 14 kWh and loses 0.8 % of its content in each hour, of the content at the"
        " beginning of the hour. At the start it holds 5 kWh, and at the end at least 5 kWh.",
        "Tank: it stores 14 kWh between 35 °C and 48 °C. Its standing loss is 0.8 % per hour of the"
        " content at the start of the hour. It holds 5 kWh at the start and at the end 5 kWh or"
        " more.",
    ),
    "chain": (
        "Our heat pump feeds a buffer tank, the tank feeds the radiators, and whatever the roof"
        " gives too much is sold for next to nothing.",
        "The heat pump feeds a buffer tank, and the buffer tank feeds the radiators.",
        "A heat pump fills the buffer tank.",
    ),
    "radiators": (
        "What the radiators take, up to 9 kW, goes into the house.",
        "The radiators give the house up to 9 kW of heat.",
        "The house has radiators of at most 9 kW.",
    ),
    "roof": (
        "The roof cannot be throttled.",
        "What the roof yields cannot be curtailed.",
    ),
}
TEXT = """
Plan 14 March 2026 from 06:00 to 10:00, hour by hour, at the smallest net cost in EUR.

{chain}

Heat pump: electric power from 0 to 3.2 kW, any value. {carnot}

{tank}

{radiators}

The house stores 12 kWh/K and has 0.21 kW/K towards the outdoors, explicit hourly steps, 20.5 °C at
first. It must always be between 20 °C and 22.5 °C, and at the very end at 20.5 °C or more.

{roof} Bought power costs 0.284 EUR/kWh, sold power brings 0.071 EUR/kWh.

`day.csv`: outdoor temperature in °C, and what the roof yields and what the household needs, in kW.
"""
FILES = "time,outdoor_c,roof [kW],house [kW]\n" + "".join(
    f"2026-03-14 0{6 + k}:00,{OUT[k]},{ROOF[k]},{NEED[k]}\n" for k in range(4)
)


def cheapest() -> float:
    """Return the least net cost; powers, flows of the radiators, import and export by hour."""
    n, cop = 4, 0.45 * 321.15 / (48 - OUT)
    size = 4 * n
    energy, temp = np.zeros((n + 1, size + 1)), np.zeros((n + 1, size + 1))
    energy[0, -1], temp[0, -1] = 5.0, 20.5
    for t in range(n):
        energy[t + 1] = energy[t] * (1 - 0.008)
        energy[t + 1, [t, n + t]] += [cop[t], -1]
        temp[t + 1] = temp[t] * (1 - 0.21 / 12)
        temp[t + 1, n + t] += 1 / 12
        temp[t + 1, -1] += 0.21 * OUT[t] / 12
    rows = [-energy, energy, -temp, temp, -energy[n:], -temp[n:]]
    free = [energy[:, -1], 14 - energy[:, -1], temp[:, -1] - 20, 22.5 - temp[:, -1],
            energy[n:, -1] - 5, temp[n:, -1] - 20.5]  # fmt: skip
    balance = np.hstack([-np.eye(n), np.zeros((n, n)), np.eye(n), -np.eye(n)])
    found = linprog(
        [0] * (2 * n) + [0.284] * n + [-0.071] * n,
        np.vstack(rows)[:, :-1],
        np.concatenate(free),
        balance,
        NEED - ROOF,
        [(0, 3.2)] * n + [(0, 9)] * n + [(0, None)] * (2 * n),
    )
    assert found.success
    return float(found.fun)


def text_of(**changed: str) -> str:
    """Return the text with the first wording of every part, or what replaces it."""
    return TEXT.format(**({name: ways[0] for name, ways in PARTS.items()} | changed))


@pytest.mark.parametrize(
    ("part", "way"),
    [(p, k) for p, ways in PARTS.items() for k in range(len(ways)) if k or p == "carnot"],
)
def test_a_farmhouse_in_other_words(tmp_path: Path, part: str, way: int) -> None:
    analysis = planted(tmp_path, text_of(**{part: PARTS[part][way]}), {"day.csv": FILES})
    assert analysis.complete, (analysis.missing, analysis.not_understood, analysis.ambiguous)
    assert solved(analysis, tmp_path)[1] == pytest.approx(cheapest(), rel=1e-7)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("0.45 times 321.15 K", "0.40 times 321.15 K"),
        ("0.45 times 321.15 K", "0.45 times 318.15 K"),
        ("water of 48 °C and reaches", "water of 45 °C and reaches"),
        ("outdoor air in the same", "ground in the same"),
        ("feeds a buffer tank, the", "feeds a buffer tank through a filter that loses 3 %, the"),
        ("from 35 °C (empty)", "from 35 °C (never less)"),
        ("takes up 14 kWh", "takes up 14 kWh at 35 °C"),
        ("What the radiators take", "Half of what the radiators take"),
        ("The roof cannot be throttled", "Only the roof can be throttled"),
    ],
)
def test_what_changes_the_farmhouse_is_not_passed_over(tmp_path: Path, old: str, new: str) -> None:
    assert old in text_of()
    assert not planted(tmp_path, text_of().replace(old, new), {"day.csv": FILES}).complete
