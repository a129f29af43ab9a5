"""A second route to "Cogeneration with a heat store"."""

import cvxpy as cp
import numpy as np

from engiagent.problems.reference import columns, fading, optimum

column = columns(__file__)


def solve() -> float:
    """Return the least net costs [EUR], in MW and MWh."""
    heat, spot = column("day.csv", "heat_kw") / 1000, column("day.csv", "spot_eur_mwh")
    on = cp.Variable(24, boolean=True)
    power, boiler = cp.Variable(24), cp.Variable(24, bounds=[0, 0.35])
    flow = 1.3 * power + boiler - heat
    content = 0.4 * 0.988 ** np.arange(1, 25) + fading(0.988, 24) @ flow
    gas = 2.1 * power + 0.095 * on + boiler / 0.92
    rules = [power >= 0.14 * on, power <= 0.28 * on, cp.abs(flow) <= 0.3]
    rules += [content >= 0, content <= 0.9, content[23] >= 0.4]
    return optimum(cp.Minimize(41 * cp.sum(gas) - spot @ power), rules)
