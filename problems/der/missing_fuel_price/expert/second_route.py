"""A second route to "Genset of a construction site"."""


def solve(diesel: float = 9.0) -> float:
    """Return the least cost [NOK]: hour by hour the cheaper source first."""
    load = (95, 140, 165, 170, 160, 90, 150, 155)
    sun = (8, 15, 22, 28, 31, 32, 29, 24)
    sources = sorted([(1.32, 60.0), (0.27 * diesel, 150.0)])
    cost = 0.0
    for need, gives in zip(load, sun, strict=True):
        left = float(need - gives)
        for price, most in sources:
            cost += price * min(left, most)
            left -= min(left, most)
    return cost


def confirm() -> bool:
    """Whether the price of diesel moves the optimum."""
    return abs(solve(diesel=3.0) - solve(diesel=9.0)) > 500
