"""A second route to "Old converter with a minimum power"."""

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from engiagent.problems.reference import numbers

PRICES = "61 55 48 -4 -18 -22 9 57 88 79 52 31 24 27 44 70 103 126 131 108 84 72 66 59"


def solve() -> float:
    """Return the best income [EUR]; blocks of 24: in, out, charging, discharging, starts."""
    price = numbers(PRICES)
    n = len(price)
    one, none = np.eye(n), np.zeros((n, n))
    running = np.tril(np.ones((n, n)))
    change = one - np.eye(n, k=-1)
    content = np.hstack([0.91 * running, -running, none, none, none])
    rules = [
        LinearConstraint(content, -2, 6),
        LinearConstraint(content[-1:], 0, np.inf),
        LinearConstraint(np.hstack([one, none, -3 * one, none, none]), -np.inf, 0),
        LinearConstraint(np.hstack([none, one, none, -3 * one, none]), -np.inf, 0),
        LinearConstraint(np.hstack([one, none, -0.9 * one, none, none]), 0, np.inf),
        LinearConstraint(np.hstack([none, one, none, -0.9 * one, none]), 0, np.inf),
        LinearConstraint(np.hstack([none, none, one, one, none]), 0, 1),
        LinearConstraint(np.hstack([none, none, -change, -change, one]), 0, np.inf),
    ]
    result = milp(
        np.concatenate([price, -price, 0.08 * price, 0.08 * price, np.full(n, 12.0)]),
        constraints=rules,
        integrality=np.repeat([0, 0, 1, 1, 0], n),
        bounds=Bounds(0, np.repeat([3, 3, 1, 1, 1], n)),
        options={"mip_rel_gap": 1e-9},
    )
    if not result.success:
        raise RuntimeError(result.message)
    return -float(result.fun)
