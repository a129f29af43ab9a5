"""A second route to "Three engines of a mine"."""

import cvxpy as cp
import numpy as np

from engiagent.problems.reference import numbers, optimum


def solve() -> float:
    """Return the least cost [USD]; rows are North, Centre and South."""
    load = numbers("410 395 388 402 455 540 668 742 781 803 815 790")
    a, b, c = numbers("520 430 610"), numbers("214 205 196"), numbers("0.31 0.52 0.66")
    output = cp.Variable((3, 12))
    fuel = 12 * a.sum() + cp.sum(b @ output) + cp.sum_squares(np.diag(np.sqrt(c)) @ output)
    rules = [cp.sum(output, axis=0) == load, cp.abs(cp.diff(output, axis=1)) <= 45]
    rules += [output >= np.array([[60], [50], [50]]), output <= np.array([[320], [280], [260]])]
    return optimum(cp.Minimize(0.94 * fuel), [*rules, output[0, 6:] <= 285], cp.CLARABEL)
