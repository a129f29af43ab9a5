"""Second route to the cold snap: at full power all night it is still too cold.

The explicit rule multiplies the temperature before the hour by ``1 - dt/(R*C)``, which is positive
here, and the heat by ``dt/C``. More heat in any hour can therefore never lower a later temperature:
the run at full power is the warmest of all runs, and where it is below the limit, every run is.
The exact solution shows that the discretisation is not to blame.
"""

import math

import numpy as np

from engiagent.problems.reference import numbers, response

OUTDOOR = numbers("-4 -5.5 -7 -8.5 -10 -11.5 -13 -14 -15 -15.5 -16 -16")
LAG, RESISTANCE, POWER_MAX = 2.2 * 4.2, 4.2, 4.5  # h, K/kW, kW


def missed(keep: float) -> float:
    """Return by how much [K] the warmest run misses 10 degC."""
    free, matrix = response(17.0, OUTDOOR, RESISTANCE, keep)
    return 10.0 - float((free + matrix @ np.full(12, POWER_MAX)).min())


def confirm() -> bool:
    """Whether full power fails with either discretisation."""
    return 1 - 1 / LAG > 0 and missed(1 - 1 / LAG) > 1.0 and missed(math.exp(-1 / LAG)) > 0.5
