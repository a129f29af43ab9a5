"""A second route to "Taxi rank with an unknown night shift"."""

import numpy as np
from scipy.optimize import linprog


def solve(bella: float = 25.0) -> float:
    """Return the least cost [EUR] when Bella needs a given content."""
    price = np.repeat([0.44, 0.44, 0.30, 0.30], 2)  # Anna and Bella take turns
    shared = np.kron(np.eye(4), np.ones((1, 2)))
    each = np.kron(np.ones((1, 4)), np.eye(2))
    has = np.array([18.0, 25.0])
    result = linprog(
        price,
        A_ub=np.vstack([shared, -each, each]),
        b_ub=np.concatenate([np.full(4, 22.0), has - np.array([45.0, bella]), 60 - has]),
    )
    if result.status != 0:
        raise RuntimeError(result.message)
    return float(result.fun)


def confirm() -> bool:
    """Whether the energy of the trip moves the optimum."""
    return abs(solve(bella=25.0) - solve(bella=60.0)) > 5
