"""Multipliers that a linear solver proposes for an exact programme; exactness judges them."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from engiagent.verify.exact.forms import Exact
from engiagent.verify.exact.numbers import Fractions, floats
from engiagent.verify.exact.programme import Linear
from engiagent.verify.levels.forms import Form
from engiagent.verify.levels.proposing import ITERATIONS, row_balanced, scaled
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


def solved(
    system: Linear, goal: Exact, point: Fractions, sign: int
) -> tuple[Floats, Floats] | None:
    """Return an optimum and multipliers of the rows of a minimisation, None without any."""
    from scipy.optimize import linprog

    relaxation = as_relaxation(system, goal, point, sign)
    scale = scales(relaxation)
    matrix, factors = row_balanced(scaled(relaxation.rows.matrix, columns=scale))
    right, equal = -relaxation.rows.constant * factors, relaxation.equal
    cost = np.asarray(relaxation.objective.matrix.toarray()).reshape(-1) * scale
    weight = float(np.abs(cost).max(initial=0.0)) or 1.0
    result = linprog(
        cost / weight,
        A_ub=matrix[~equal] if (~equal).any() else None,
        b_ub=right[~equal] if (~equal).any() else None,
        A_eq=matrix[equal] if equal.any() else None,
        b_eq=right[equal] if equal.any() else None,
        bounds=np.stack([relaxation.lower / scale, relaxation.upper / scale], axis=1),
        method="highs",
        options={"maxiter": ITERATIONS},
    )
    if result.status != 0:
        return None
    y = np.zeros(system.constant.size)
    y[~equal] = np.maximum(-np.asarray(result.ineqlin.marginals), 0.0)
    y[equal] = -np.asarray(result.eqlin.marginals)
    return result.x * scale, _in_own_sense(y * weight * factors, system)


def optimal_weights(system: Linear, goal: Exact, point: Fractions, sign: int) -> Floats | None:
    """Return multipliers of the rows of a minimisation, None where the solver finds none."""
    found = solved(system, goal, point, sign)
    return None if found is None else found[1]


def ray(system: Linear, point: Fractions) -> Floats | None:
    """Return weights of the rows by which they may contradict the bounds, None without any.

    They are multipliers of the task to make the largest violation small, which may be negative:
    so there always are some, and a conflict by a billionth shows as well as one by half.
    """
    import scipy.sparse as sp
    from scipy.optimize import linprog

    if not system.constant.size:
        return None
    relaxation = as_relaxation(system, None, point, 1)
    scale = scales(relaxation)
    matrix, factors = row_balanced(scaled(relaxation.rows.matrix, columns=scale))
    right = -relaxation.rows.constant * factors
    equal = np.flatnonzero(relaxation.equal)
    both = sp.vstack([matrix, -matrix[equal]], format="csr")
    stretch = sp.csr_matrix(-np.ones((both.shape[0], 1)))
    box = np.stack([relaxation.lower / scale, relaxation.upper / scale], axis=1)
    result = linprog(
        np.append(np.zeros(matrix.shape[1]), 1.0),
        A_ub=sp.hstack([both, stretch], format="csr"),
        b_ub=np.concatenate([right, -right[equal]]),
        bounds=np.vstack([box, [-1.0, np.inf]]),
        method="highs",
        options={"maxiter": ITERATIONS},
    )
    if result.status != 0:
        return None
    y = np.maximum(-np.asarray(result.ineqlin.marginals), 0.0)
    rows = matrix.shape[0]
    own = y[:rows].copy()
    own[equal] -= y[rows:]
    return _in_own_sense(own * factors, system)


def scales(relaxation: Relaxation) -> Floats:
    """Return the size of each column by its bounds and by rows with no other column.

    Without any it is that of the others: a coefficient that scaling makes tiny is dropped by
    solvers, and the row with it.
    """
    ends = np.maximum(
        np.where(np.isfinite(relaxation.lower), np.abs(relaxation.lower), 0.0),
        np.where(np.isfinite(relaxation.upper), np.abs(relaxation.upper), 0.0),
    )
    rows = relaxation.rows
    single = np.flatnonzero(np.diff(rows.matrix.indptr) == 1)
    places = rows.matrix.indptr[single]
    limits = np.abs(rows.constant[single] / rows.matrix.data[places])
    np.maximum.at(ends, rows.matrix.indices[places], limits)
    ends = np.where(ends > 1e-12 * float(ends.max(initial=0.0)), ends, 0.0)
    known = ends[ends > 0]
    usual = float(np.exp(np.log(known).mean())) if known.size else 1.0
    return np.where(ends > 0, ends, usual)


def _in_own_sense(y: Floats, system: Linear) -> Floats:
    """Return multipliers of ``form <= 0`` as those of the rows as they stand."""
    return np.where(system.ops == ">=", y, -y)
