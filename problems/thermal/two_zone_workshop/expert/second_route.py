"""Second route to the workshop: both temperatures eliminated by superposition, an LP for scipy."""

import csv
from pathlib import Path

import numpy as np
from scipy.optimize import linprog

DATA = Path(__file__).parents[1] / "weather.csv"

HOURS, STEPS = 0.25, 96
CAPACITANCE = np.array([6.5, 1.4])  # kWh/K, hall and office
TO_OUTDOORS = np.array([3.5, 14.0])  # K/kW
WALL = 5.0  # K/kW
HEATER_MAX = np.array([15.0, 4.0])  # kW
START = np.array([13.0, 17.0])  # degC
SHIFT_GAINS = np.array([1.8, 0.5])  # kW
LOWEST_SHIFT, LOWEST_REST = np.array([16.0, 20.0]), np.array([8.0, 12.0])
HIGHEST = np.array([23.0, 25.0])
CONNECTION = 14.0  # kW
BASE, PEAK = 0.22, 0.51  # EUR/kWh


def temperatures(power: np.ndarray) -> np.ndarray:
    """Return the (97, 2) temperatures [degC] for a (96, 2) plan [kW]."""
    with DATA.open(encoding="utf-8") as file:
        outdoor = [float(row["temperature_c"]) for row in csv.DictReader(file)]
    result = np.empty((STEPS + 1, 2))
    result[0] = START
    for k in range(STEPS):
        now = result[k]
        gains = SHIFT_GAINS if 7 <= k * HOURS < 16 else 0.0
        flow = (outdoor[k] - now) / TO_OUTDOORS + (now[::-1] - now) / WALL + gains + power[k]
        result[k + 1] = now + HOURS / CAPACITANCE * flow
    return result


def solve() -> float:
    """Return the smallest electricity cost of the day [EUR]."""
    hour = np.arange(STEPS) * HOURS
    peak = ((hour >= 6) & (hour < 9)) | ((hour >= 16) & (hour < 20))
    price = np.where(peak, PEAK, BASE)
    free = temperatures(np.zeros((STEPS, 2))).ravel()
    units = np.eye(2 * STEPS).reshape(-1, STEPS, 2)
    response = np.column_stack([temperatures(unit).ravel() - free for unit in units])
    mark = np.arange(STEPS + 1) * HOURS
    shift = ((mark >= 7) & (mark <= 16))[:, None]
    lowest = np.where(shift, LOWEST_SHIFT, LOWEST_REST).ravel()
    highest = np.tile(HIGHEST, STEPS + 1)
    together = np.kron(np.eye(STEPS), np.ones((1, 2)))
    result = linprog(
        np.repeat(price * HOURS, 2),
        A_ub=np.vstack([-response, response, together]),
        b_ub=np.concatenate([free - lowest, highest - free, np.full(STEPS, CONNECTION)]),
        bounds=np.column_stack([np.zeros(2 * STEPS), np.tile(HEATER_MAX, STEPS)]),
    )
    if result.status != 0:
        raise RuntimeError(result.message)
    return float(result.fun)


if __name__ == "__main__":
    print(f"{solve():.9f} EUR")
