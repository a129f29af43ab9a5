"""Second route to the office: temperatures eliminated by the step response, a small LP for scipy.

The room temperature at every half-hour mark is an affine function of the heat pump's powers, with
coefficients that are powers of ``exp(-dt/(R*C))``. An integration of the differential equation
itself with small steps confirms the coefficients.
"""

import math

import numpy as np
from scipy.optimize import linprog

from engiagent.problems.reference import Array, columns, response, within

column = columns(__file__)
STEP, CAPACITANCE, RESISTANCE = 0.5, 9.5, 2.8  # h, kWh/K, K/kW
START, COP, POWER_MAX = 18.5, 3.1, 4.5
MARK = np.arange(49) * STEP
GAINS = np.where((MARK[:-1] >= 8) & (MARK[:-1] < 18), 2.4, 0.0)  # kW


def integrated(power: Array, parts: int = 200) -> Array:
    """Return the 49 temperatures [degC] by the midpoint rule with ``parts`` parts a step."""
    heat = GAINS + COP * power
    result, now, small = [START], START, STEP / parts
    for outdoor, given in zip(column("outdoor.csv", "outdoor_degC"), heat, strict=True):
        for _ in range(parts):
            middle = now + small / 2 * ((outdoor - now) / RESISTANCE + given) / CAPACITANCE
            now += small * ((outdoor - middle) / RESISTANCE + given) / CAPACITANCE
        result.append(now)
    return np.array(result)


def plan() -> tuple[float, Array, Array]:
    """Return the smallest cost [EUR], a plan [kW] that reaches it and its temperatures [degC]."""
    outdoor = column("outdoor.csv", "outdoor_degC")
    keep = math.exp(-STEP / (RESISTANCE * CAPACITANCE))
    free, by_heat = response(START, outdoor + RESISTANCE * GAINS, RESISTANCE, keep)
    matrix, comfort = COP * by_heat, (MARK >= 7) & (MARK <= 19)
    low, high = np.where(comfort, 20.5, 16.0), np.where(comfort, 24.0, np.inf)
    rows, sides = within(free, matrix, low, high)
    cost = column("electricity.csv", "price") * STEP
    found = linprog(cost, A_ub=rows, b_ub=sides, bounds=(0, POWER_MAX))
    return float(found.fun), found.x, free + matrix @ found.x


def solve() -> float:
    """Return the smallest electricity cost of the day [EUR]."""
    return plan()[0]


def confirm() -> bool:
    """Whether the temperatures are those of the differential equation."""
    _, power, temperature = plan()
    return bool(np.allclose(integrated(power), temperature, rtol=1e-7, atol=1e-8))
