"""A second route to "Panels and a battery for the dairy farm": linprog, flow by flow."""

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from engiagent.problems.reference import columns

column = columns(__file__)
WEEKS, RATE, ETA = 52, 0.05, 0.96


def annuity(years: int) -> float:
    """Return the share of the loan that is paid in a year."""
    return 1 / sum((1 + RATE) ** -year for year in range(1, years + 1))


def solve() -> float:
    """Return the least cost of a year [EUR].

    Hour by hour are unknown: from the grid, sold, charged, discharged; then panels and battery.
    What the panels could yield beyond that is not used.
    """
    load, sun, price = (
        column("week.csv", name) for name in ("load_kW", "sun", "price_EUR_per_kWh")
    )
    count = load.size
    one, none = sp.identity(count), sp.csr_matrix((count, count))
    nothing = sp.csr_matrix((count, 1))
    stored = np.tri(count)
    content = [none, none, sp.csr_matrix(ETA * stored), sp.csr_matrix(-stored / ETA)]
    rows = sp.bmat(
        [
            # grid - sold - charged + discharged lies between load - sun*panels and load
            [one, -one, -one, one, nothing, nothing],
            [-one, one, one, -one, -sun[:, None], nothing],
            [*content, nothing, -np.ones((count, 1))],
            [*(-part for part in content), nothing, nothing],
            [*[sp.csr_matrix((1, count))] * 4, np.array([[980.0]]), np.array([[340.0]])],
        ],
        format="csr",
    )
    sides = np.concatenate([load, -load, np.zeros(2 * count), [75_000.0]])
    once = [annuity(25) * 980.0, annuity(15) * 340.0]
    costs = np.concatenate(
        [WEEKS * price, np.full(count, -WEEKS * 0.06), np.zeros(2 * count), once]
    )
    bounds = [(0, None)] * (2 * count) + [(0, 30)] * (2 * count) + [(0, 120), (0, 150)]
    return float(linprog(costs, rows, sides, bounds=bounds).fun)
