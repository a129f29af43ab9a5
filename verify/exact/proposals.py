"""Multipliers that a linear solver proposes for an exact programme; exactness judges them."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from engiagent.verify.exact.forms import Exact
from engiagent.verify.exact.numbers import Fractions, floats
from engiagent.verify.exact.programme import Linear
from engiagent.verify.levels.forms import Form
from engiagent.verify.levels.relaxation import elastic, linear
from engiagent.verify.levels.relaxed import Relaxation
from engiagent.verify.values import Floats


def as_relaxation(system: Linear, goal: Exact | None, point: Fractions, sign: int) -> Relaxation:
    """Return a linear system and an objective in doubles, without nonlinear parts."""
    import scipy.sparse as sp

    size = len(system.lower)
    flips = np.where(system.ops == ">=", -1.0, 1.0)
    entries = system.entries
    values = floats(entries.factors) * flips[entries.rows]
    rows = system.constant.size
    matrix = sp.csr_matrix((values, (entries.rows, entries.columns)), shape=(rows, size))
    constant = floats(system.constant) * flips
    cost = np.zeros(size)
    if goal is not None:
        own = goal.joined()
        np.add.at(cost, own.columns, sign * floats(own.factors))
    return Relaxation(
        Form(sp.csr_matrix(cost[None, :]), np.zeros(1), np.zeros(1)),
        Form(matrix, constant, np.zeros(rows)),
        np.asarray(system.ops == "==", dtype=bool),
        (),
        ends_as_floats(system.lower, -np.inf),
        ends_as_floats(system.upper, np.inf),
    )


def ends_as_floats(ends: Sequence[Fraction | None], default: float) -> Floats:
    """Return bounds as doubles, infinite where there is none."""
    return np.array([default if end is None else float(end) for end in ends], dtype=np.float64)


def optimal_weights(system: Linear, goal: Exact, point: Fractions, sign: int) -> Floats | None:
    """Return multipliers of the rows of a minimisation, None where the solver finds none."""
    relaxation = as_relaxation(system, goal, point, sign)
    solved = linear(relaxation, floats(point))
    return None if solved is None else _in_own_sense(solved[1], system)


def ray(system: Linear, point: Fractions) -> Floats | None:
    """Return weights of the rows by which they may contradict the bounds, None without any."""
    stretched, start = elastic(as_relaxation(system, None, point, 1), floats(point))
    solved = linear(stretched, start)
    if solved is None:
        return None
    rows, equal = system.constant.size, np.flatnonzero(system.ops == "==")
    y = solved[1][:rows].copy()
    y[equal] -= solved[1][rows:]
    return _in_own_sense(y, system)


def _in_own_sense(y: Floats, system: Linear) -> Floats:
    """Return multipliers of ``form <= 0`` as those of the rows as they stand."""
    return np.where(system.ops == ">=", y, -y)
