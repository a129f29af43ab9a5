"""A second route to "Panels and a battery for the dairy farm"."""

import cvxpy as cp

from engiagent.problems.reference import annuity, columns, optimum

column = columns(__file__)
RATE, ETA = 0.05, 0.96


def solve() -> float:
    """Return the least cost of a year [EUR]; what the panels could yield beyond is not used."""
    load, sun, price = (
        column("week.csv", name) for name in ("load_kW", "sun", "price_EUR_per_kWh")
    )
    panels, battery = cp.Variable(bounds=[0, 120]), cp.Variable(bounds=[0, 150])
    bought, sold = cp.Variable(load.size, nonneg=True), cp.Variable(load.size, nonneg=True)
    put, taken = cp.Variable(load.size, bounds=[0, 30]), cp.Variable(load.size, bounds=[0, 30])
    net, content = bought - sold - put + taken, cp.cumsum(ETA * put - taken / ETA)
    rules = [net <= load, net >= load - sun * panels, content >= 0, content <= battery]
    rules += [980 * panels + 340 * battery <= 75_000]
    once = annuity(RATE, 25) * 980 * panels + annuity(RATE, 15) * 340 * battery
    return optimum(cp.Minimize(52 * (price @ bought - 0.06 * cp.sum(sold)) + once), rules)
