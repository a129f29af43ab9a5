r"""LinDist3Flow: squares of voltages linear in the powers of units, for a first and fast answer.

.. math::
    v_i = v_i^0 + 2 \operatorname{Re} \sum_j e^{-j\theta_i} Z_{ij} e^{j\theta_j} \overline{s_j}

with the impedances between nodes :math:`Z = Y^{-1}` (in a radial feeder those of the common path),
the voltages :math:`v^0` and angles :math:`\theta` of the power flow without the units. Losses that
the units cause are left out. Source: M. D. Sankur et al., arXiv:1606.04492.
"""

import numpy as np
from scipy.sparse.linalg import splu

from engiagent.errors import EngiagentError
from engiagent.solvers.result import SolveOptions
from engiagent.tools.grid.documents import Parts, solved
from engiagent.tools.grid.feeders import Feeder
from engiagent.tools.grid.network import Network
from engiagent.tools.grid.programmes import Answer, Question, curtailment, unit_parts


def solve_linear(feeder: Feeder, question: Question, seconds: float = 60.0) -> Answer:
    """Return the least curtailment with linearised voltages; ratings are not in it.

    Raises EngiagentError when there is none.
    """
    if question.bands is None or not np.isinf(question.loading):
        raise EngiagentError("the linear method has voltage bands and no ratings of branches")
    network = Network.of(feeder)
    place = {name: k for k, name in enumerate(network.nodes)}
    solver, bases = splu(network.admittance), np.array(network.bases)
    at = [place[unit.node] for unit in question.units]
    columns = np.zeros((len(place), len(at)), complex)
    columns[at, range(len(at))] = 1.0
    impedance = solver.solve(columns)  # [V/A]
    angles = np.exp(1j * np.angle(network.start))
    rotated = np.conj(angles)[:, None] * impedance * angles[at][None, :]
    factor = 2e3 * rotated / (bases[:, None] * bases[at][None, :])  # [1/kVA]
    square = np.abs(network.start / bases) ** 2
    # Nodes that no unit moves, as beside the source, are as they are.
    moved = [k for k in range(len(place)) if np.abs(factor[k]).max(initial=0.0) > 1e-9]
    nodes = [network.nodes[k] for k in moved]
    parts = Parts()
    parts.labels("N", nodes)
    unit_parts(parts, question.units)
    pairs = [(node, unit.name) for node in nodes for unit in question.units]
    parts.tuples("S", ["N", "U"], pairs)
    parts.table(
        "R", "S", pairs, factor[moved].real.ravel(), "voltage square by active power", "1/kW"
    )
    parts.table("X", "S", pairs, factor[moved].imag.ravel(), "voltage square by reactive", "1/kW")
    parts.table("v0", "N", nodes, square[moved], "voltage square without units")
    low, high = np.transpose([question.bands.of(node) for node in nodes])
    parts.table("low", "N", nodes, np.minimum(low**2, square[moved]), "lowest square")
    parts.table("high", "N", nodes, np.maximum(high**2, square[moved]), "highest square")
    total = "v0[n] + sum(R[i, u]*power[u] + X[i, u]*reactive[u] for (i, u) in S if i == n)"
    parts.rule("band", ["n in N"], f"low[n] <= {total} <= high[n]", "Resource Capacity")
    essence, options = f"Hosting capacity of {feeder.name}", SolveOptions(time_limit=seconds)
    status, objective, series = solved(essence, parts, curtailment(question.norm), options)
    values = series["power"] + 1j * series["reactive"]
    powers = {u.name: complex(v) for u, v in zip(question.units, values, strict=True)}
    found = square + np.real(np.conj(values) @ factor.T)
    voltages = {n: complex(np.sqrt(max(found[place[n]], 0.0))) for n in network.nodes}
    return Answer(status, objective, voltages, powers, {})
