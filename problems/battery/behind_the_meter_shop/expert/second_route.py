"""Second route to the bakery: a linear programme in energies, written by hand for scipy.

The columns are the energies of each quarter hour (bought, sold, charged, discharged, used from the
panels); the state of charge is eliminated by running sums.
"""

import csv
from pathlib import Path

import numpy as np
from scipy.optimize import linprog

DATA = Path(__file__).parents[1] / "site.csv"

HOURS = 0.25
CAPACITY, RESERVE, START, END = 40.0, 8.0, 16.0, 16.0  # kWh
BATTERY_MAX, BUY_MAX, SELL_MAX = 20.0, 30.0, 15.0  # kW
ETA = 0.88**0.5
LOW, HIGH, FEED_IN = 0.24, 0.38, 0.08  # EUR/kWh


def solve() -> float:
    """Return the smallest bill of the day [EUR]."""
    with DATA.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    load = np.array([float(row["load_kw"]) for row in rows]) * HOURS
    sun = np.array([float(row["pv_kw"]) for row in rows]) * HOURS
    hour = np.array([int(row["time"][11:13]) for row in rows])
    n = len(rows)
    dear = ((hour >= 6) & (hour < 10)) | ((hour >= 17) & (hour < 21))
    tariff = np.where(dear, HIGH, LOW)

    one, none, running = np.eye(n), np.zeros((n, n)), np.tril(np.ones((n, n)))
    balance = np.hstack([one, -one, -one, one, one])
    stored = np.hstack([none, none, ETA * running, -running / ETA, none])
    result = linprog(
        np.concatenate([tariff, np.full(n, -FEED_IN), np.zeros(3 * n)]),
        A_ub=np.vstack([stored, -stored, -stored[-1:]]),
        b_ub=np.concatenate(
            [np.full(n, CAPACITY - START), np.full(n, START - RESERVE), [START - END]]
        ),
        A_eq=balance,
        b_eq=load,
        bounds=np.column_stack(
            [
                np.zeros(5 * n),
                np.concatenate(
                    [
                        np.full(n, BUY_MAX * HOURS),
                        np.full(n, SELL_MAX * HOURS),
                        np.full(2 * n, BATTERY_MAX * HOURS),
                        sun,
                    ]
                ),
            ]
        ),
    )
    if result.status != 0:
        raise RuntimeError(result.message)
    return float(result.fun)


if __name__ == "__main__":
    print(f"{solve():.9f} EUR")
