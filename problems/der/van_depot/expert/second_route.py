"""A second route to "Overnight charging of delivery vans"."""

import csv
from datetime import datetime
from pathlib import Path

import cvxpy as cp
import numpy as np

from engiagent.problems.reference import optimum


def solve() -> float:
    """Return the least cost of charging [GBP]; periods are half hours from 16:00."""
    with (Path(__file__).parents[1] / "vans.csv").open(encoding="utf-8") as file:
        vans = list(csv.DictReader(file))
    has, needs, most = (
        np.array([float(van[key]) for van in vans]) for key in ("has_kwh", "needs_kwh", "max_kw")
    )
    here, start = np.zeros((len(vans), 32)), datetime(2025, 10, 1, 16)
    for row, van in zip(here, vans, strict=True):
        stay = (datetime.fromisoformat(van[end]) - start for end in ("from", "until"))
        row[slice(*(round(time.total_seconds() / 1800) for time in stay))] = 1
    price = np.full(32, 0.27)
    price[14:28], price[28:] = 0.12, 0.21
    draw = cp.Variable(here.shape, nonneg=True)
    content, early = (has + 0.46 * cp.sum(draw[:, :end], axis=1) for end in (32, 20))
    rules = [draw <= most[:, None] * here, cp.sum(draw, axis=0) + 18 <= 70]
    rules += [content >= needs, content <= 76, early >= needs / 2]
    return optimum(cp.Minimize(cp.sum(draw @ price) / 2), rules)
