"""Second route to the cold snap: at full power all night it is still too cold.

The explicit rule multiplies the temperature before the hour by ``1 - dt/(R*C)``, which is positive
here, and the heat by ``dt/C``. More heat in any hour can therefore never lower a later temperature:
the run at full power is the warmest of all runs, and where it is below the limit, every run is.
"""

import math

HOURS, CAPACITANCE, RESISTANCE = 1.0, 2.2, 4.2  # h, kWh/K, K/kW
POWER_MAX, START, LOWEST = 4.5, 17.0, 10.0  # kW, degC, degC
OUTDOOR = [-4.0, -5.5, -7.0, -8.5, -10.0, -11.5, -13.0, -14.0, -15.0, -15.5, -16.0, -16.0]


def warmest() -> list[float]:
    """Return the highest temperature [degC] that can be reached at every full hour."""
    keep = 1 - HOURS / (RESISTANCE * CAPACITANCE)
    if keep <= 0:
        raise RuntimeError("the argument needs a positive factor")
    result = [START]
    for outdoor in OUTDOOR:
        goal = outdoor + RESISTANCE * POWER_MAX
        result.append(goal + keep * (result[-1] - goal))
    return result


def warmest_exact() -> list[float]:
    """Return the same with the exact solution, to show that the discretisation is not to blame."""
    keep = math.exp(-HOURS / (RESISTANCE * CAPACITANCE))
    result = [START]
    for outdoor in OUTDOOR:
        goal = outdoor + RESISTANCE * POWER_MAX
        result.append(goal + keep * (result[-1] - goal))
    return result


def solve() -> float:
    """Return by how much [K] the warmest run misses the limit; positive means infeasible."""
    return LOWEST - min(warmest())


if __name__ == "__main__":
    print(f"short by {solve():.6f} K, exactly by {LOWEST - min(warmest_exact()):.6f} K")


def confirm() -> bool:
    """Whether full power fails with either discretisation."""
    return solve() > 1.0 and min(warmest_exact()) < LOWEST - 0.5
