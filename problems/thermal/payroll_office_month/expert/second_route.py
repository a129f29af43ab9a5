"""A second route to "A month of heating an office on a tiered rate"."""

import cvxpy as cp

from engiagent.problems.reference import columns, optimum

column = columns(__file__)


def solve() -> float:
    """Return bill and complaints [USD], in kWh and °F."""
    outdoor, gains, staffed = (
        column("february.csv", c) for c in ("outdoor [degF]", "gains [kBTU/h]", "staffed")
    )
    heat = cp.Variable(672, bounds=[0, 32])
    inside = cp.Variable(673, bounds=[55, 78])
    known = 0.3 * outdoor + gains * 1.05505585262 / 3.6
    complaints = cp.pos(69 - inside[1:])[staffed > 0]
    energy = cp.sum(heat)
    bill = 0.094 * energy + (0.161 - 0.094) * cp.pos(energy - 2600) + 9.6 * cp.max(heat)
    warming = 15 * cp.diff(inside) == heat + known - 0.3 * inside[:-1]
    return optimum(cp.Minimize(bill + 1.3 * cp.sum(complaints)), [inside[0] == 66, warming])
