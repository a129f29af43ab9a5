"""A second route to "A cold store or a second chiller": both chillers as one, size by size."""

import math

import cvxpy as cp

from engiagent.problems.reference import annuity, columns, fading, optimum

column = columns(__file__)
DAYS, RATE, LOSS = 110, 0.04, 0.004
CHOICES = [(modules, tank) for modules in range(5) for tank in (False, True)]


def of_a_year(modules: int, tank: bool) -> float:
    """Return the least cost of a year with modules of the chiller and perhaps a tank [EUR].

    Both chillers have one coefficient of performance, so that their sum alone counts.
    """
    load, cop, price = (
        column("summer_day.csv", name) for name in ("cooling_kW", "cop", "price_EUR_per_kWh")
    )
    made = cp.Variable(24, bounds=[0, 900 + 125 * modules])
    put, taken = cp.Variable(24, bounds=[0, 200]), cp.Variable(24, bounds=[0, 200])
    size, keep = cp.Variable(bounds=[0, 4000 * tank]), math.exp(-LOSS)
    content = (1 - keep) / LOSS * fading(keep, 24) @ (put - taken)
    rules = [made + taken == load + put, content >= 0, content <= size]
    energy = DAYS * ((price / cop) @ made)
    once = annuity(RATE, 30) * (38 * size + 24_000 * tank) + annuity(RATE, 18) * 165 * 125 * modules
    try:
        return optimum(cp.Minimize(energy + once), rules)
    except RuntimeError:  # the load cannot be met
        return math.inf


def solve() -> float:
    """Return the least cost of a year [EUR]."""
    return min(of_a_year(*choice) for choice in CHOICES)


def confirm() -> bool:
    """Whether one module and a tank are best, and neither suffices on its own."""
    alone = of_a_year(1, False), of_a_year(0, True)
    best = min(CHOICES, key=lambda choice: of_a_year(*choice))
    return best == (1, True) and alone == (math.inf, math.inf)
