"""Second route to the rooftop: every count of panels that can matter, for every mounting.

For a mounting and counts of two products the cheapest plan takes the fewest panels of the third
that reach the demand, so two nested loops see all candidates. Integer arithmetic throughout:
watts, square centimetres, euros.
"""

POWER = [275, 330, 330]  # Wp
AREA = [16400, 19400, 19400]  # cm2
PRICE = [130, 155, 175]  # EUR
YIELD = {"A": 1350, "B": 1450, "C": 1400}  # kWh/kWp per year
DEMAND = 50_000_000  # Wh per year
USABLE = 420_0000  # cm2


def candidates() -> list[tuple[int, str, tuple[int, int, int]]]:
    """Return (price, mounting, counts) of every plan that no other with fewer panels beats."""
    found = []
    for mounting, specific in YIELD.items():
        needed = -(-DEMAND // specific)  # Wp, rounded up
        for first in range(USABLE // AREA[0] + 1):
            for third in range((USABLE - first * AREA[0]) // AREA[2] + 1):
                rest = needed - first * POWER[0] - third * POWER[2]
                second = max(0, -(-rest // POWER[1]))
                counts = (first, second, third)
                if sum(a * n for a, n in zip(AREA, counts, strict=True)) <= USABLE:
                    price = sum(c * n for c, n in zip(PRICE, counts, strict=True))
                    found.append((price, mounting, counts))
    return sorted(found)


def solve() -> float:
    """Return the smallest capital expenditure [EUR]."""
    return float(candidates()[0][0])


def confirm() -> bool:
    """Whether the optimum is unique."""
    first, second = candidates()[:2]
    return first == (16200, "B", (3, 102, 0)) and second[0] > first[0]
