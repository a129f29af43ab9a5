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
