"""A second route to "Chilled water tank of a campus, a year of hours"."""

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from engiagent.problems.reference import columns

column = columns(__file__)


def solve() -> float:
    """Return the least cost of a year [USD], in tons; the plant is load plus what is stored."""
    load, wet, price = (
        column("campus.csv", name) for name in ("load_tons", "wet_bulb_degF", "price")
    )
    hours = load.size
    worth = price * (0.51 + 0.0042 * (wet - 50)) / 1000
    # Columns: flow into the tank, then the content at the end of each hour.
    keep = sp.eye_array(hours) - 0.9995 * sp.eye_array(hours, k=-1)
    flows = np.column_stack([np.maximum(-load, -1100), np.minimum(1500 - load, 1100)])
    contents = [[0.0, 9000.0]] * (hours - 1) + [[3000.0, 9000.0]]
    result = linprog(
        np.concatenate([worth, np.zeros(hours)]),
        A_eq=sp.hstack([-sp.eye_array(hours), keep]).tocsc(),
        b_eq=np.append(3000 * 0.9995, np.zeros(hours - 1)),
        bounds=np.vstack([flows, contents]),
    )
    return float(result.fun + worth @ load)
