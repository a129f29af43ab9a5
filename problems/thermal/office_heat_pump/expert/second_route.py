"""Second route to the office: temperatures eliminated by the step response, a small LP for scipy.

The room temperature at every half-hour mark is an affine function of the heat pump's powers, with
coefficients that are powers of ``exp(-dt/(R*C))``. An integration of the differential equation
itself with small steps confirms the coefficients.
"""

import csv
import math
from pathlib import Path

import numpy as np
from scipy.optimize import linprog

FOLDER = Path(__file__).parents[1]

HOURS, STEPS = 0.5, 48
CAPACITANCE, RESISTANCE = 9.5, 2.8  # kWh/K, K/kW
START, COP, POWER_MAX = 18.5, 3.1, 4.5
GAINS = 2.4  # kW, from 08:00 to 18:00


def column(name: str, header: str) -> np.ndarray:
    """Return a column of a data file."""
    with (FOLDER / name).open(encoding="utf-8") as file:
        return np.array([float(row[header]) for row in csv.DictReader(file)])


def gains() -> np.ndarray:
    """Return the heat from people and computers [kW]."""
    hour = np.arange(STEPS) * HOURS
    return np.where((hour >= 8) & (hour < 18), GAINS, 0.0)


def temperatures(power: np.ndarray) -> np.ndarray:
    """Return the 49 temperatures [degC] that a plan [kW electric] leads to."""
    outdoor, heat = column("outdoor.csv", "outdoor_degC"), gains() + COP * power
    keep = math.exp(-HOURS / (RESISTANCE * CAPACITANCE))
    result = [START]
    for k in range(STEPS):
        goal = outdoor[k] + RESISTANCE * heat[k]
        result.append(goal + keep * (result[-1] - goal))
    return np.array(result)


def integrated(power: np.ndarray, parts: int = 2000) -> np.ndarray:
    """Return the same temperatures by the midpoint rule with ``parts`` parts a step."""
    outdoor, heat = column("outdoor.csv", "outdoor_degC"), gains() + COP * power
    result, now, small = [START], START, HOURS / parts
    for k in range(STEPS):
        for _ in range(parts):
            middle = now + small / 2 * ((outdoor[k] - now) / RESISTANCE + heat[k]) / CAPACITANCE
            now += small * ((outdoor[k] - middle) / RESISTANCE + heat[k]) / CAPACITANCE
        result.append(now)
    return np.array(result)


def plan() -> tuple[float, np.ndarray]:
    """Return the smallest cost [EUR] and a plan [kW] that reaches it."""
    price = column("electricity.csv", "price")
    free = temperatures(np.zeros(STEPS))
    response = np.column_stack([temperatures(unit) - free for unit in np.eye(STEPS)])
    mark = np.arange(STEPS + 1) * HOURS
    comfort = (mark >= 7) & (mark <= 19)
    lowest = np.where(comfort, 20.5, 16.0)
    result = linprog(
        price * HOURS,
        A_ub=np.vstack([-response, response[comfort]]),
        b_ub=np.concatenate([free - lowest, 24.0 - free[comfort]]),
        bounds=(0, POWER_MAX),
    )
    if result.status != 0:
        raise RuntimeError(result.message)
    return float(result.fun), result.x


def solve() -> float:
    """Return the smallest electricity cost of the day [EUR]."""
    return plan()[0]


if __name__ == "__main__":
    cost, power = plan()
    error = np.abs(integrated(power) - temperatures(power)).max()
    print(f"{cost:.9f} EUR; temperatures agree with the integration within {error:.1e} K")


def confirm() -> bool:
    """Whether the temperatures are those of the differential equation."""
    _, power = plan()
    return bool(np.allclose(integrated(power, 200), temperatures(power), rtol=1e-7, atol=1e-8))
