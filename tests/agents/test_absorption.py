"""Absorption machines on bought heat beside compression machines and a tank of cold."""

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

from tests.agents.support import analysed, solved

COLD = np.array([5.0, 9.0, 11.0, 12.0, 9.0, 6.0])
STEAM = np.array([5.4, 5.0, 4.6, 5.2, 5.6, 5.0])
SPOT = np.array([74.0, 120.0, 160.0, 150.0, 90.0, 60.0])
FILES = {
    "network.csv": "begin,cold_mw\n"
    + "".join(f"2026-10-25T0{k}:00+02:00,{COLD[k]}\n" for k in range(2))
    + f"2026-10-25T02:00+02:00,{COLD[2]}\n2026-10-25T02:00+01:00,{COLD[3]}\n"
    + f"2026-10-25T03:00+01:00,{COLD[4]}\n2026-10-25T04:00+01:00,{COLD[5]}\n",
    "supply.csv": "begin,steam_mw,spot\n"
    + "".join(f"2026-10-25T0{k}:00+02:00,{STEAM[k]},{SPOT[k]}\n" for k in range(3))
    + "".join(f"2026-10-25T0{k}:00+01:00,{STEAM[k + 1]},{SPOT[k + 1]}\n" for k in range(2, 5)),
}
TEXT = """
Plan of operation wanted for the cooling network on 25 October 2026 (Europe/Madrid), {clocks}. Two
files, both with a column `begin`:

* `network.csv`: `cold_mw`, what the customers take
* `supply.csv`: `steam_mw`, {steam}, and `spot`, price of electricity in EUR/MWh

{absorber} {on} {slow} It is off when the day begins. {heat}

{machines} {names} Electricity is bought at the spot price plus 31 EUR/MWh for the grid.

{tank} Customers get exactly what they take.

What does it cost at least, in EUR?
"""
PARTS = {
    "clocks": "six hours in which the clocks go back",
    "steam": "heat that the waste incinerator can give at most",
    "absorber": "The absorption machine runs on that heat with a COP of 0.72. It is on or off.",
    "on": "On, it gives between 1.2 MW and 4 MW of cold, and its pumps take 0.11 MW.",
    "slow": "It is slow: once started it stays on for 3 hours or until the end of the day, and"
    " every start wastes steam worth 160 EUR.",
    "heat": "Heat is billed with 9 EUR/MWh.",
    "machines": "Two compression machines, of 4.5 MW each, can be set to anything from nothing to"
    " full.",
    "names": "The newer one has a COP of 5.4, the older one of 4.3.",
    "tank": "A tank evens things out: 12 MWh, at most 3 MW in or out, no losses to speak of, 5 MWh"
    " at the start and at least as much at the end.",
}
SAME = {
    "clocks": ("a night on which the clocks are put back", "since the clocks go back"),
    "steam": ("the steam that the power station can deliver at most",),
    "absorber": ("An absorption chiller turns heat into cold with a COP of 0.72.",),
    "on": ("When it is on, it makes between 1200 kW and 4000 kW of cold, and its pumps draw 110 kW",
           ),
    "slow": ("Its minimum up time is 3 hours. Each start costs 160 EUR.",),
    "heat": ("Heat costs 0.9 ct/kWh.",),
    "machines": ("There are two compression machines, each of 4.5 MW.",),
    "names": ("The larger one has a COP of 5.4 and the smaller one one of 4.3.",),
    "tank": ("A cold store holds 12 MWh and takes and gives at most 3 MW; 5 MWh are in it at the"
             " start, and at least 5 MWh must be in it at the end.",),
}  # fmt: skip


def cheapest() -> float:
    """Return the least cost: absorber, both machines, in and out of the tank, on and starts."""
    n = 6
    eye, zero = np.eye(n), np.zeros((n, n))
    sums = np.tril(np.ones((n, n)))
    change = eye - np.eye(n, k=-1)
    stay = np.zeros((n, n))
    for t in range(n):
        stay[t, max(0, t - 2) : t + 1] = 1
    inf = np.inf
    rows = [
        (np.hstack([eye, eye, eye, -eye, eye, zero, zero]), COLD, COLD),
        (np.hstack([eye, zero, zero, zero, zero, -1.2 * eye, zero]), 0, inf),
        (np.hstack([eye, zero, zero, zero, zero, -4 * eye, zero]), -inf, 0),
        (np.hstack([zero, zero, zero, sums, -sums, zero, zero]), -5, 7),
        (np.hstack([zero, zero, zero, zero, zero, change, -eye]), -inf, 0),
        (np.hstack([zero, zero, zero, zero, zero, -eye, stay]), -inf, 0),
        (np.hstack([zero, zero, zero, sums, -sums, zero, zero])[-1:], 0, inf),
    ]
    price = SPOT + 31
    cost = np.concatenate([np.full(n, 9 / 0.72), price / 5.4, price / 4.3, np.zeros(2 * n),
                           0.11 * price, np.full(n, 160.0)])  # fmt: skip
    top = np.concatenate([0.72 * STEAM, np.full(2 * n, 4.5), np.full(2 * n, 3.0), np.ones(2 * n)])
    found = milp(cost, constraints=[LinearConstraint(*row) for row in rows],
                 bounds=Bounds(np.zeros(7 * n), top), options={"mip_rel_gap": 0},
                 integrality=np.repeat([0, 1, 0], [5 * n, n, n]))  # fmt: skip
    assert found.success
    return float(found.fun)


def written(**changes: str) -> str:
    return TEXT.format(**{**PARTS, **changes})


@pytest.mark.parametrize("k", range(-1, 2))
def test_a_night_of_district_cooling(tmp_path: Path, k: int) -> None:
    changes = {} if k < 0 else {part: texts[k % len(texts)] for part, texts in SAME.items()}
    analysis = analysed(tmp_path, written(**changes), FILES)
    assert analysis.complete, (analysis.missing, analysis.not_understood, analysis.ambiguous)
    assert solved(analysis, tmp_path)[1] == pytest.approx(cheapest(), rel=1e-6)


@pytest.mark.parametrize(
    ("part", "text"),
    [
        ("steam", "heat that the waste incinerator gives at least"),
        ("steam", "heat that the waste incinerator needs"),
        ("absorber", "The absorption machine runs on that heat."),
        ("on", PARTS["on"].replace("1.2 MW", "1.2 MW in summer")),
        ("slow", PARTS["slow"].replace("stays on", "stays on at night")),
        ("heat", ""),
        ("heat", "Heat is billed with 9 EUR/MWh above 3 MW."),
        ("machines", PARTS["machines"].replace("of 4.5 MW each", "of 4.5 MW in all")),
        ("names", "The newer one has a COP of 5.4."),
        ("names", "One has a COP of 5.4, the other of 4.3."),
        ("tank", PARTS["tank"].replace("no losses to speak of", "losses of 1 % when filled")),
        ("tank", PARTS["tank"] + " The hot water tank next to it holds 3 MWh."),
        ("clocks", "six hours in which only half of the cold is needed"),
    ],
)
def test_district_cooling_said_otherwise(tmp_path: Path, part: str, text: str) -> None:
    assert not analysed(tmp_path, written(**{part: text}), FILES).complete, text
