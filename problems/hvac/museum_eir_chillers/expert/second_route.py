"""A second route to "Two chillers by their EnergyPlus curves"."""

from engiagent.problems.reference import numbers


def solve() -> float:
    """Return the least energy [kWh]: in each hour the best of three pairings."""
    loads = numbers("260 410 560 690 740")
    factors = 0.42 + 0.02 * numbers("25 27 29 31 32")
    # Capacity, full power, the three terms of part load and the least ratio of Atrium and Depot.
    atrium = (500.0, 500 / 5.6, 0.18, 0.24, 0.58, 0.25)
    depot = (320.0, 320 / 5.1, 0.09, 0.46, 0.45, 0.2)

    def power(machine: tuple[float, ...], cooling: float) -> float:
        capacity, full, constant, linear, square, low = machine
        ratio = cooling / capacity
        if not low - 1e-12 <= ratio <= 1 + 1e-12:
            return float("inf")
        return full * (constant + linear * ratio + square * ratio**2)

    def both(load: float) -> float:
        low = max(0.25 * 500, load - 320)
        high = min(500.0, load - 0.2 * 320)
        if low > high:
            return float("inf")
        (a, pa, _, la, sa, _), (d, pd, _, ld, sd, _) = atrium, depot
        # Equal slopes: pa (la/a + 2 sa x/a^2) = pd (ld/d + 2 sd (load - x)/d^2).
        first, second = 2 * pa * sa / a**2, 2 * pd * sd / d**2
        split = (pd * ld / d + second * load - pa * la / a) / (first + second)
        split = min(max(split, low), high)
        return power(atrium, split) + power(depot, load - split)

    return float(
        sum(
            factor * min(power(atrium, load), power(depot, load), both(load))
            for load, factor in zip(loads, factors, strict=True)
        )
    )
