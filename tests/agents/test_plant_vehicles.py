"""Vehicles at chargers: tables of vehicles, both directions, events, what they need."""

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog

from tests.agents.support import analysed, solved

LOAD = (42.0, 48.0, 51.0, 36.0)
CARS = ((41.0, 48.0, 11.0, 64.0), (58.0, 40.0, 22.0, 77.0))
N = len(LOAD)


def cheapest(
    low: float = 10.0, wear: float = 0.05, back: bool = True, loss_out: float = 0.93
) -> float:
    """Return the least cost of four hours, feed-in paid well in the second and third."""
    buy, sell = np.full(N, 0.29), np.array([0.06, 0.28, 0.28, 0.06])
    width = 2 * N * len(CARS) + 2 * N
    cost, upper = np.zeros(width), np.zeros(width)
    cost[-2 * N : -N], cost[-N:] = buy, -sell
    upper[-2 * N :] = 70.0
    rows_eq, right_eq, rows, right = [], [], [], []
    for k, (has, needs, power, capacity) in enumerate(CARS):
        charge = slice(2 * k * N, (2 * k + 1) * N)
        give = slice((2 * k + 1) * N, (2 * k + 2) * N)
        cost[give] = wear
        upper[charge], upper[give] = power, power if back else 0.0
        for t in range(1, N + 1):
            line = np.zeros(width)
            line[charge][:t], line[give][:t] = 0.93, -1 / loss_out
            rows += [line, -line]
            right += [capacity - has, has - (needs if t == N else low)]
    for t in range(N):
        line = np.zeros(width)
        for k in range(len(CARS)):
            line[2 * k * N + t], line[(2 * k + 1) * N + t] = -1.0, 1.0
        line[-2 * N + t], line[-N + t] = 1.0, -1.0
        rows_eq.append(line)
        right_eq.append(LOAD[t])
    found = linprog(cost, A_ub=np.array(rows), b_ub=right, A_eq=np.array(rows_eq), b_eq=right_eq,
                    bounds=np.column_stack([np.zeros(width), upper]))  # fmt: skip
    assert found.success, found.message
    return float(found.fun)


SERIES = "\n".join(f"| {12 + t}:00 | {x:g} |" for t, x in enumerate(LOAD))
TABLE = """
| Car | Content at 12:00 (kWh) | Needed at 16:00 (kWh) | Charger (kW) | Battery (kWh) |
|---|---|---|---|---|
| Red | 41 | 48 | 11 | 64 |
| Blue | 58 | 40 | 22 | 77 |
"""
OTHER = """
| Vehicle | Battery capacity (kWh) | Charging power (kW) | Energy on arrival (kWh) | Needed on departure (kWh) |
|---|---|---|---|---|
| Blue | 77 | 22 | 58 | 40 |
| Red | 64 | 11 | 41 | 48 |
"""  # noqa: E501
CARS_TEXT = "Two company cars with two-way chargers are plugged in all the time."
CHARGER = (
    "A charger works with its rated power at most, in both directions, and passes on 93 % each"
    " time."
)
LOW = "The warranty forbids to go below 10 kWh in any of them."
WEAR = "Wear is settled at 5 ct/kWh (euro cents) given back by a car."
PRICES = (
    "The operator has called an event for 13:00 to 15:00: whatever we feed in then is paid with"
    " 0.28 EUR/kWh. Outside the event feed-in brings 0.06 EUR/kWh. Buying costs 0.29 EUR/kWh at"
    " any time."
)
CABLE = "The service cable is good for 70 kW either way."


def office(cars: str = CARS_TEXT, table: str = TABLE, charger: str = CHARGER, low: str = LOW,
           wear: str = WEAR, prices: str = PRICES, cable: str = CABLE) -> str:  # fmt: skip
    """Return a problem of cars at an office."""
    return (
        f"# Cars\n\n{cars} We plan 9 June 2025, 12:00 to 16:00. {prices}\n\n"
        f"| Start | Load (kW) |\n|---|---|\n{SERIES}\n\nThe cars:\n{table}\n"
        f"{charger} {low} {wear} {cable}\n\nMinimise the cost, in EUR.\n"
    )


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"table": OTHER},
        {"cars": "Two electric vehicles with bidirectional chargers are connected all the time."},
        {"charger": "The efficiency of each charger is 93 % in each direction."},
        {"low": "None of the cars may fall below 10 kWh."},
        {"low": "Each car must always hold at least 10 kWh."},
        {"wear": "Wear costs 5 ct/kWh (euro cents) given back by each car."},
        {"prices": "Buying costs 0.29 EUR/kWh. Feed-in is paid with 0.28 EUR/kWh from 13:00 to"
                   " 15:00 and with 0.06 EUR/kWh at all other times."},
        {"cable": "The grid connection is limited to 70 kW in each direction."},
    ],
)  # fmt: skip
def test_cars_in_a_table_charge_and_give_back(tmp_path: Path, change: dict[str, str]) -> None:
    analysis = analysed(tmp_path, office(**change))
    assert analysis.complete, (analysis.not_understood, analysis.ambiguous, analysis.missing)
    assert solved(analysis, tmp_path)[1] == pytest.approx(cheapest(), rel=1e-6)


def test_a_charger_of_one_direction_gives_nothing_back(tmp_path: Path) -> None:
    one = office(
        cars="Two company cars are plugged in all the time.",
        charger="The efficiency of charging is 93 % for each car.",
        wear="",
    )
    analysis = analysed(tmp_path, one)
    assert analysis.complete, (analysis.not_understood, analysis.ambiguous, analysis.missing)
    assert solved(analysis, tmp_path)[1] == pytest.approx(cheapest(back=False), rel=1e-6)


@pytest.mark.parametrize(
    "change",
    [
        {"charger": ""},  # no efficiency
        {"cars": "Three company cars with two-way chargers are plugged in all the time."},
        {"cars": CARS_TEXT + " They must not give back more than 5 kWh each in summer."},
        {"cars": CARS_TEXT + " Red leaves at 14:00."},
        {"low": "One of the cars must not fall below 10 kWh."},
        {"low": LOW + " Blue is charged by its owner in the morning."},
        {"wear": "Wear is settled at 5 ct/kWh (euro cents)."},
    ],
)
def test_what_is_not_clear_of_cars_is_not_guessed(tmp_path: Path, change: dict[str, str]) -> None:
    assert not analysed(tmp_path, office(**change)).complete


FLEET = """van,from,until,has_kwh,needs_kwh,max_kw
Ivy,2025-10-01T17:00,2025-10-02T05:00,14,62,11
Oak,2025-10-01T19:00,2025-10-02T04:00,6,55,22
"""
RENAMED = """vehicle,needs_kwh,max_kw,departure,arrival,has_kwh
Oak,55,22,2025-10-02T04:00,2025-10-01T19:00,6
Ivy,62,11,2025-10-02T05:00,2025-10-01T17:00,14
"""


def charging(limit: float = 52.0, early: bool = False) -> float:
    """Return the least cost of a night from 16:00 to 08:00 in hours, 18 kW paid by others."""
    price = np.array([0.27] * 7 + [0.12] * 7 + [0.21] * 2)
    vans = ((1, 13, 14.0, 62.0, 11.0), (3, 12, 6.0, 55.0, 22.0))
    cost, upper = np.tile(price, 2), np.zeros(32)
    rows, right = [], []
    for k, (first, last, has, needs, power) in enumerate(vans):
        upper[16 * k + first : 16 * k + last] = power
        line = np.zeros(32)
        line[16 * k : 16 * (k + 1)] = 0.92
        rows += [-line, line]
        right += [has - needs, 76.0 - has]
        if early:
            line = np.zeros(32)
            line[16 * k : 16 * k + 10] = -0.92
            rows.append(line)
            right.append(has - 0.5 * needs)
    for t in range(16):
        line = np.zeros(32)
        line[[t, 16 + t]] = 1.0
        rows.append(line)
        right.append(limit)
    found = linprog(cost, A_ub=np.array(rows), b_ub=right,
                    bounds=np.column_stack([np.zeros(32), upper]))  # fmt: skip
    assert found.success, found.message
    return float(found.fun)


COLUMNS = (
    "`vans.csv` says when each can be plugged in (`from`), when it must be ready (`until`), what it"
    " still has in its battery (`has_kwh`), what it needs at departure (`needs_kwh`) and how fast"
    " it can charge (`max_kw`)."
)
RULES = (
    "Each van must have at least what it needs when it leaves, and none can hold more than 76 kWh."
    " 8 % of what a charge point draws is lost before it reaches the cells."
)
COLD = (
    "The yard shares one supply for chargers and a cold store that runs at 18 kW all night: both"
    " together may draw 70 kW, not more. The cold store is paid by somebody else."
)
NIGHT = (
    "Electricity costs 0.27 GBP/kWh before 23:00, 0.12 GBP/kWh from 23:00 to 06:00 and 0.21 GBP/kWh"
    " after that."
)
EARLY = "At 02:00 each van that is in the yard must hold no less than half of what it needs."


def depot(columns: str = COLUMNS, rules: str = RULES, cold: str = COLD, night: str = NIGHT,
          more: str = "") -> str:  # fmt: skip
    """Return a problem of vans that are listed in a file."""
    return (
        "---\nid: yard\ntitle: Yard\nfamily: der\ndata: [vans.csv]\n---\n# Vans\n\n"
        "Two electric vans return to the yard in the evening of 1 October 2025 and leave again the"
        f" next morning. {columns}\n\n{rules} {cold}\n\nAn hourly plan from 16:00 to 08:00 is"
        f" wanted. {night} {more}\nFind the lowest cost of charging in GBP.\n"
    )


@pytest.mark.parametrize(
    ("change", "file"),
    [
        ({}, FLEET),
        (
            {"columns": "`vans.csv` has for each van its `arrival`, its `departure`, the energy it"
                        " still has on arrival (`has_kwh`), the energy needed on departure"
                        " (`needs_kwh`) and the largest charging power (`max_kw`)."},
            RENAMED,
        ),
        ({"night": "Electricity costs 0.12 GBP/kWh from 23:00 to 06:00, 0.27 GBP/kWh before 23:00"
                   " and 0.21 GBP/kWh after 06:00."}, FLEET),
        ({"rules": "Each van must have what it needs when it leaves. Each can hold 76 kWh at the"
                   " most. The charging efficiency of each van is 92 %."}, FLEET),
    ],
)  # fmt: skip
def test_vans_in_a_file_come_and_go(tmp_path: Path, change: dict[str, str], file: str) -> None:
    analysis = analysed(tmp_path, depot(**change), {"vans.csv": file})
    assert analysis.complete, (analysis.not_understood, analysis.ambiguous, analysis.missing)
    assert solved(analysis, tmp_path)[1] == pytest.approx(charging(), rel=1e-6)


@pytest.mark.parametrize(
    "early",
    [
        EARLY,
        "The manager wants no van to be left uncharged until the last moment: at 02:00 each van"
        " must have at least 50 % of what it needs.",
        "At 02:00 every van that is plugged in has to contain not less than half of what it needs.",
    ],
)
def test_a_share_of_what_vans_need_at_a_time(tmp_path: Path, early: str) -> None:
    analysis = analysed(tmp_path, depot(more=early), {"vans.csv": FLEET})
    assert analysis.complete, (analysis.not_understood, analysis.ambiguous, analysis.missing)
    assert solved(analysis, tmp_path)[1] == pytest.approx(charging(early=True), rel=1e-6)


@pytest.mark.parametrize(
    ("change", "file"),
    [
        ({}, FLEET.replace("17:00", "17:20")),  # within a step
        ({}, FLEET.replace(",max_kw", ",seats")),  # a column of something else
        ({"columns": "`vans.csv` lists the vans."}, FLEET.replace("from,until", "a,b")),
        ({"more": "At 02:00 each van must hold at least half of what it holds at 08:00."}, FLEET),
        ({"more": "At 02:00 one van must hold at least half of what it needs."}, FLEET),
        ({"cold": COLD.replace("all night", "half the night")}, FLEET),
        ({"rules": RULES.replace("none", "one of them")}, FLEET),
    ],
)
def test_what_is_not_clear_of_a_file_of_vans_is_not_guessed(
    tmp_path: Path, change: dict[str, str], file: str
) -> None:
    assert not analysed(tmp_path, depot(**change), {"vans.csv": file}).complete


TAXIS = """# Taxis

Two electric taxis, Anna and Bella, wait at the rank on 11 October 2025 from 18:00 until 22:00 and
share one 22 kW connection; each charger can use all of it. Anna comes with 18 kWh and Bella with
25 kWh in the battery; 60 kWh fit into each. Electricity costs 0.44 EUR/kWh until 20:00 and 0.30
EUR/kWh from then on; charging loses nothing. At 22:00 Anna must have 45 kWh. {bella}

Cheapest charging in hourly steps, in EUR.
"""


def test_named_taxis_share_a_connection(tmp_path: Path) -> None:
    body = TAXIS.format(bella="At 22:00 Bella must have 50 kWh. Nothing is fed in.")
    analysis = analysed(tmp_path, body)
    gaps = {(m.component, m.slot) for m in analysis.missing}
    assert not gaps
    assert {c.name for c in analysis.blueprint.core.components} >= {"anna", "bella"}  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "bella", ["", "Bella's demand is still to be announced.", "What Bella needs is not known yet."]
)
def test_what_one_vehicle_needs_is_missing(tmp_path: Path, bella: str) -> None:
    analysis = analysed(tmp_path, TAXIS.format(bella=bella))
    assert ("bella", "final_energy") in {(m.component, m.slot) for m in analysis.missing}
