"""A second route to "Overnight charging of delivery vans"."""

import csv
from datetime import datetime
from pathlib import Path

import cvxpy as cp
import numpy as np

from engiagent.problems.reference import optimum

FOLDER = Path(__file__).parents[1]


def solve() -> float:
    """Return the least cost of charging [GBP]; periods are half hours from 16:00."""
    with (FOLDER / "vans.csv").open(encoding="utf-8") as file:
        vans = list(csv.DictReader(file))
    start = datetime(2025, 10, 1, 16)

    def slot(text: str) -> int:
        return round((datetime.fromisoformat(text) - start).total_seconds() / 1800)

    has, needs, most = (
        np.array([float(van[key]) for van in vans]) for key in ("has_kwh", "needs_kwh", "max_kw")
    )
    here = np.zeros((len(vans), 32))
    for row, van in zip(here, vans, strict=True):
        row[slot(van["from"]) : slot(van["until"])] = 1
    price = np.full(32, 0.27)
    price[14:28], price[28:] = 0.12, 0.21
    draw = cp.Variable(here.shape, nonneg=True)
    stored = 0.92 * draw / 2
    return optimum(
        cp.Minimize(cp.sum(draw @ price) / 2),
        [
            draw <= most[:, None] * here,
            has + cp.sum(stored, axis=1) >= needs,
            has + cp.sum(stored, axis=1) <= 76,
            has + cp.sum(stored[:, :20], axis=1) >= needs / 2,
            cp.sum(draw, axis=0) + 18 <= 70,
        ],
    )
