"""A second route to "A cold store or a second chiller": both chillers as one, size by size."""

import math

import cvxpy as cp

from engiagent.problems.reference import columns, optimum

column = columns(__file__)
DAYS, RATE, LOSS = 110, 0.04, 0.004


def annuity(years: int) -> float:
    """Return the share of what is paid once that is paid in a year."""
    return 1 / sum((1 + RATE) ** -year for year in range(1, years + 1))


def of_a_year(modules: int, tank: bool) -> float:
    """Return the least cost of a year with modules of the chiller and perhaps a tank [EUR].

    Both chillers have one coefficient of performance, so that their sum alone counts.
    """
    load, cop, price = (
        column("summer_day.csv", name) for name in ("cooling_kW", "cop", "price_EUR_per_kWh")
    )
    made, put, taken = cp.Variable(24), cp.Variable(24), cp.Variable(24)
    size, keep = cp.Variable(), math.exp(-LOSS)
    rules = [made >= 0, made <= 900 + 125 * modules, put >= 0, taken >= 0, size >= 0]
    rules += [put <= 200, taken <= 200, made + taken == load + put]
    rules.append(size <= (4000 if tank else 0))
    content: cp.Expression = cp.Constant(0.0)
    for hour in range(24):
        content = keep * content + (1 - keep) / LOSS * (put[hour] - taken[hour])
        rules += [content >= 0, content <= size]
    energy = DAYS * ((price / cop) @ made)
    once = annuity(30) * (38 * size + 24_000 * tank) + annuity(18) * 165 * 125 * modules
    try:
        return optimum(cp.Minimize(energy + once), rules)
    except RuntimeError:  # the load cannot be met
        return math.inf


CHOICES = [(modules, tank) for modules in range(5) for tank in (False, True)]


def solve() -> float:
    """Return the least cost of a year [EUR]."""
    return min(of_a_year(*choice) for choice in CHOICES)


def confirm() -> bool:
    """Whether one module and a tank are best, and neither suffices on its own."""
    alone = of_a_year(1, False), of_a_year(0, True)
    best = min(CHOICES, key=lambda choice: of_a_year(*choice))
    return best == (1, True) and alone == (math.inf, math.inf)
