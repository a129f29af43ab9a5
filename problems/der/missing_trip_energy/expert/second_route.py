"""A second route to "Taxi rank with an unknown night shift"."""

import numpy as np
from scipy.optimize import linprog


def solve(bella: float = 25.0) -> float:
    """Return the least cost [EUR] when Bella needs a given content."""
    price = np.repeat([0.44, 0.44, 0.30, 0.30], 2)  # Anna and Bella take turns
    shared = np.kron(np.eye(4), np.ones((1, 2)))
    each, has = np.kron(np.ones((1, 4)), np.eye(2)), np.array([18.0, 25.0])
    sides = np.concatenate([np.full(4, 22.0), has - np.array([45.0, bella]), 60 - has])
    return float(linprog(price, np.vstack([shared, -each, each]), sides).fun)


def confirm() -> bool:
    """Whether the energy of the trip moves the optimum."""
    return abs(solve(bella=25.0) - solve(bella=60.0)) > 5
