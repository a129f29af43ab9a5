"""Second route to the merchant day: every choice of direction in the hours with negative prices.

Charging and discharging at once can only pay where the price is below
``-wear * eta / (1 - eta)`` with ``eta`` the round-trip efficiency, hence only in hours with a
negative price. For each assignment of a direction to those hours the rest is a linear programme
in the charging and discharging energies alone (no state variables), and the largest of these
optima is the answer. A grid dynamic programme, whose plans are all allowed, bounds it from below.
"""

import itertools

import numpy as np
from scipy.optimize import linprog

from engiagent.problems.reference import Array, columns

column = columns(__file__)
CHARGE_MAX, DISCHARGE_MAX = 8.0, 10.0  # MW
ETA_CHARGE, ETA_DISCHARGE = 0.96, 0.95
LOWEST, HIGHEST = 0.10 * 20.0, 0.95 * 20.0  # MWh
START, END = 6.0, 6.0  # MWh
WEAR = 7.50  # EUR/MWh


def best_profit(price: Array, charge_max: Array, discharge_max: Array) -> float:
    """Return the largest profit [EUR] under hourly power limits [MW], or minus infinity."""
    n = len(price)
    running = np.tril(np.ones((n, n)))
    stored = np.hstack([ETA_CHARGE * running, -running / ETA_DISCHARGE])  # state - START
    rows = np.vstack([stored, -stored, -stored[-1:]])
    limits = np.concatenate(
        [np.full(n, HIGHEST - START), np.full(n, START - LOWEST), [START - END]]
    )
    cost = np.concatenate([price, WEAR - price])
    upper = np.concatenate([charge_max, discharge_max])
    result = linprog(cost, A_ub=rows, b_ub=limits, bounds=np.column_stack([0 * upper, upper]))
    return -float(result.fun) if result.status == 0 else -np.inf


def solve() -> float:
    """Return the largest profit of the day [EUR]."""
    price = column("day_ahead.csv", "price_eur_per_mwh")
    negative = np.flatnonzero(price < 0)
    best = -np.inf
    for directions in itertools.product((0.0, 1.0), repeat=len(negative)):
        charge_max = np.full(len(price), CHARGE_MAX)
        discharge_max = np.full(len(price), DISCHARGE_MAX)
        charge_max[negative] *= directions
        discharge_max[negative] *= 1.0 - np.array(directions)
        best = max(best, best_profit(price, charge_max, discharge_max))
    return best


def grid_profit(cell: float = 0.01) -> float:
    """Return the best profit [EUR] of a plan whose states lie on a grid of ``cell`` MWh."""
    price = column("day_ahead.csv", "price_eur_per_mwh")
    states = round((HIGHEST - LOWEST) / cell) + 1
    down = int(DISCHARGE_MAX / ETA_DISCHARGE / cell)
    up = int(CHARGE_MAX * ETA_CHARGE / cell)
    steps = np.arange(-down, up + 1)
    grid_energy = np.where(
        steps > 0, steps * cell / ETA_CHARGE, steps * cell * ETA_DISCHARGE
    )  # bought, MWh
    level = LOWEST + cell * np.arange(states)
    value = np.where(level >= END - 1e-9, 0.0, -np.inf)
    for p in price[::-1]:
        gain = -p * grid_energy - WEAR * np.maximum(-grid_energy, 0.0)
        padded = np.concatenate([np.full(down, -np.inf), value, np.full(up, -np.inf)])
        options = np.lib.stride_tricks.sliding_window_view(padded, len(steps)) + gain
        value = options.max(axis=1)
    return float(value[round((START - LOWEST) / cell)])


def confirm() -> bool:
    """Whether allowed plans and the relaxation bracket the optimum."""
    # The relaxation burns energy at negative prices; a plan that promises so much is wrong.
    best = solve()
    price = column("day_ahead.csv", "price_eur_per_mwh")
    both = best_profit(price, np.full(24, CHARGE_MAX), np.full(24, DISCHARGE_MAX))
    return best - 0.1 < grid_profit(0.01) <= best and both > best + 10
