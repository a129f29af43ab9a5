"""A second route to "How many battery containers": one linear programme for each number of them."""

import numpy as np
from scipy.optimize import linprog

from engiagent.problems.reference import columns

column = columns(__file__)
DAYS, CONNECTION, LIFE, RATE = 250, 115.0, 12, 0.06


def of_a_year(containers: int) -> float:
    """Return what the depot pays in a year with a number of containers [EUR].

    Unknown are charge, discharge and, last, the connection; what is stored is a running sum.
    """
    load, price = column("day.csv", "load_kW"), column("day.csv", "price_EUR_per_kWh")
    count = load.size
    stored = np.hstack([0.94 * np.tri(count), -np.tri(count) / 0.95, np.zeros((count, 1))])
    drawn = np.hstack([np.eye(count), -np.eye(count)])  # beside the load
    rows = [
        np.hstack([drawn, -np.ones((count, 1))]),
        np.hstack([-drawn, np.zeros((count, 1))]),
        stored,
        -stored,
    ]
    sides = [-load, load, np.full(count, 150.0 * containers), np.zeros(count)]
    costs = np.concatenate([DAYS * price, -DAYS * price, [CONNECTION]])
    bounds = [(0, 200 * (containers > 0))] * (2 * count) + [(0, 500)]
    best = linprog(costs, np.vstack(rows), np.concatenate(sides), bounds=bounds)
    capital = 275.0 * 150 * containers + 18_000.0 * (containers > 0)
    share = 1 / sum((1 + RATE) ** -year for year in range(1, LIFE + 1))
    return float(best.fun + DAYS * price @ load + share * capital)


def solve() -> float:
    """Return the least cost of a year [EUR]."""
    return min(map(of_a_year, range(5)))


def confirm() -> bool:
    """Whether two containers are the best number, neither none nor all that there is room for."""
    return min(range(5), key=of_a_year) == 2
