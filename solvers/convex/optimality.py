r"""What a point and multipliers are worth, recomputed from the program itself.

For a convex program (minimised, :math:`y_i > 0` at a lower and :math:`y_i < 0` at an upper bound)
the tangents at :math:`\bar x` bound the objective at every feasible point from below:

.. math::

    f(x) \ge f(\bar x) + \sum_i y_i \, (r_i(y) - g_i(\bar x))
        + \sum_j \min_{x_j^- \le x_j \le x_j^+} z_j (x_j - \bar x_j), \qquad
    z = \nabla f(\bar x) - \nabla g(\bar x)^T y .

So the solver's own claim of a gap is not needed. Slopes are first derivatives of forms as sparse
matrices, by the chain rule over whole index grids.

The last digits of an optimum over products are found by Newton's method on the bounds that are
active. Rows and columns whose multiplier exceeds their distance to the bound are taken as active
(as in B. Stellato et al., OSQP, doi:10.1007/s12532-020-00179-2), and stationarity and the active
rows are solved,

.. math::

    \begin{pmatrix} H & J^T \\ J & 0 \end{pmatrix}
    \begin{pmatrix} \Delta x \\ -\Delta y \end{pmatrix} =
    \begin{pmatrix} -\nabla f + J^T y \\ b - g(x) \end{pmatrix} ,

each step with a small regularisation and iterative refinement; one step is exact for a quadratic
objective over linear rows. The guess of what is active may be wrong, so the point is taken only
where it is better by its own account.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from engiagent.formulations.program import OBJECTIVE, Program
from engiagent.formulations.values import ELEMENTARY, Atom, Floats, Form
from engiagent.solvers.convex.curvature import hessian

Sparse = Any
"""A ``scipy.sparse.csr_array``, which carries no types."""


def matrix(program: Program) -> Sparse:
    """Return the linear part of the rows, (m, n)."""
    from scipy.sparse import csr_array

    return csr_array(
        (program.row_values, program.row_columns, program.row_starts),
        shape=(program.row_count, program.column_count),
    )


def gradient(program: Program, x: Floats) -> Floats:
    """Return the gradient of the objective at ``x``, in its own sense, shape (n,)."""
    total = np.array(program.cost, dtype=np.float64)
    products = program.products.of_objective()
    np.add.at(total, products.first, products.values * x[products.second])
    np.add.at(total, products.second, products.values * x[products.first])
    for part in program.nonlinear:
        chosen = np.flatnonzero(part.row_numbers() == OBJECTIVE)
        if len(chosen):
            weights = np.broadcast_to(part.coefficients, (part.atom.size,))[chosen]
            total += atom_jacobian(part.atom.take(chosen), x).T @ weights
    return total


def jacobian(program: Program, x: Floats) -> Sparse:
    """Return the derivatives of the rows at ``x``, (m, n)."""
    total = matrix(program)
    inside = program.products.of_rows()
    shape = total.shape
    if len(inside.rows):
        total = total + _entries(
            np.concatenate([inside.rows, inside.rows]),
            np.concatenate([inside.first, inside.second]),
            np.concatenate([inside.values * x[inside.second], inside.values * x[inside.first]]),
            shape,
        )
    for part in program.nonlinear:
        rows = part.row_numbers()
        chosen = np.flatnonzero(rows != OBJECTIVE)
        if len(chosen):
            weights = np.broadcast_to(part.coefficients, (part.atom.size,))[chosen]
            spread = _entries(rows[chosen], np.arange(len(chosen)), weights, (shape[0], None))
            total = total + spread @ atom_jacobian(part.atom.take(chosen), x)
    return total


def reduced_costs(program: Program, x: Floats, row_dual: Floats) -> Floats:
    """Return ∂objective/∂x less what the rows' duals explain of it, shape (n,); no -0.0."""
    reduced: Floats = gradient(program, x) - jacobian(program, x).T @ row_dual + 0.0
    return reduced


def form_jacobian(form: Form, x: Floats) -> Sparse:
    """Return the derivatives of a form's rows at ``x``, (size, n)."""
    total = affine_matrix(form, len(x))
    for part in form.parts:
        rows = part.row_numbers()
        weights = np.broadcast_to(part.coefficients, rows.shape)
        spread = _entries(rows, np.arange(len(rows)), weights, (form.size, None))
        total = total + spread @ atom_jacobian(part.atom, x)
    return total


def affine_matrix(form: Form, count: int) -> Sparse:
    """Return the coefficients of a form's affine part, (size, count)."""
    from scipy.sparse import csr_array

    if not form.terms:
        return csr_array((form.size, count))
    rows = [term.row_numbers() for term in form.terms]
    values = [
        np.broadcast_to(t.coefficients, r.shape) for t, r in zip(form.terms, rows, strict=True)
    ]
    columns = np.concatenate([term.columns for term in form.terms])
    return _entries(np.concatenate(rows), columns, np.concatenate(values), (form.size, count))


def atom_jacobian(atom: Atom, x: Floats) -> Sparse:
    """Return the derivatives of an atom's elements at ``x``, (size, n)."""
    from scipy.sparse import diags_array

    with np.errstate(all="ignore"):
        inner = [form.at(x) for form in atom.args]
        factors = SLOPES[atom.function](atom, inner)
    total: Sparse = 0
    for factor, form in zip(factors, atom.args, strict=True):
        total = total + diags_array(np.asarray(factor, dtype=np.float64)) @ form_jacobian(form, x)
    return total


def _entries(rows: Any, columns: Any, values: Floats, shape: tuple[int, int | None]) -> Sparse:
    from scipy.sparse import coo_array

    width = len(rows) if shape[1] is None else shape[1]
    return coo_array((values, (rows, columns)), shape=(shape[0], width)).tocsr()


def _power_slopes(atom: Atom, u: list[Floats]) -> tuple[Floats, ...]:
    exponent = atom.numbers[0]
    return (np.where(exponent == 0, 0.0, exponent * np.power(u[0], exponent - 1.0)),)


SLOPES: Final[dict[str, Callable[[Atom, list[Floats]], tuple[Floats, ...]]]] = {
    "power": _power_slopes,
    "product": lambda atom, u: (u[1], u[0]),
    "quotient": lambda atom, u: (1.0 / u[1], -u[0] / u[1] ** 2),
    **dict.fromkeys(ELEMENTARY, lambda atom, u: (ELEMENTARY[atom.function].slope(u[0]),)),
}


NEGLIGIBLE = 1e-7
"""What is left of a reduced cost whose terms cancel, relative to them, where a column has no bound
that could take it up."""


FAR = 1e11
"""Size of a point from which rounding decides what slopes are."""


@dataclass(frozen=True, eq=False)
class Account:
    """A point with its multipliers."""

    # x, row_dual, column_dual: the point, its multipliers and reduced costs in the objective's own
    # sense
    x: Floats
    row_dual: Floats
    column_dual: Floats
    # largest violation of a bound or a row, relative to ``max(1, size of its numbers)``; infinite
    # when a value is NaN
    violation: float
    # objective, bound: in the objective's own sense; the bound holds when the program is convex.
    # None when the multipliers prove none.
    objective: float
    bound: float | None

    @property
    def gap(self) -> float:
        """Relative distance of objective and bound, infinite without a bound."""
        if self.bound is None:
            return np.inf
        return abs(self.objective - self.bound) / max(1.0, abs(self.objective))


def examine(program: Program, x: Floats, row_dual: Floats) -> Account:
    """Return what a point (n,) and multipliers (m,) in the objective's own sense are worth."""
    sign = -1.0 if program.sense == "maximize" else 1.0
    y = sign * np.nan_to_num(row_dual)
    side = np.where(y > 0, program.row_lower, program.row_upper)
    # Those that point to a bound which does not exist count nothing.
    y = np.where(np.isfinite(side), y, 0.0)
    with np.errstate(all="ignore"):
        slope, derivatives = sign * gradient(program, x), jacobian(program, x)
        activity, objective = program.activity_at(x), program.objective_at(x)
        z = slope - derivatives.T @ y
        terms = np.abs(slope) + abs(derivatives).T @ np.abs(y)
        bound = _bound(program, x, y, z, terms, activity, sign * objective)
    violation = max(
        violation_of(activity, program.row_lower, program.row_upper),
        violation_of(x, program.column_lower, program.column_upper),
    )
    return Account(
        x,
        sign * y + 0.0,
        sign * z + 0.0,
        violation if np.isfinite(objective) else np.inf,
        objective,
        None if bound is None else sign * bound,
    )


def violation_of(values: Floats, lower: Floats, upper: Floats) -> float:
    """Return the largest violation relative to ``max(1, |value|)``; infinite for a NaN."""
    if not bool(np.all(np.isfinite(values))):
        return np.inf
    excess = np.maximum(lower - values, values - upper)
    return float(np.max(excess / np.maximum(1.0, np.abs(values)), initial=0.0))


def _bound(
    program: Program,
    x: Floats,
    y: Floats,
    z: Floats,
    terms: Floats,
    activity: Floats,
    objective: float,
) -> float | None:
    """Return the tangents' bound on the minimised objective, None when there is none."""
    if float(np.max(np.abs(x), initial=0.0)) >= FAR:
        return None
    side = np.where(y > 0, program.row_lower, program.row_upper)
    rows = np.zeros_like(y)
    used = y != 0
    rows[used] = y[used] * (side[used] - activity[used])
    reach = np.where(z > 0, program.column_lower, program.column_upper)
    open_ended = ~np.isfinite(reach)
    scale = max(1.0, float(np.max(terms, initial=0.0)))
    if np.any(np.abs(z[open_ended]) > NEGLIGIBLE * np.maximum(terms[open_ended], 1e-3 * scale)):
        return None
    columns = z * (np.where(open_ended, x, reach) - x)
    value = objective + float(rows.sum()) + float(columns.sum())
    return value if np.isfinite(value) else None


REGULARISATION = 1e-9
REFINEMENTS = 12
STEPS = 6
LARGEST = 40_000
"""Rows and columns beyond which the factors could fill."""
GOOD = 1e-12
ROUNDING = 1e-13
EXACT = 1e-11
"""Violation that is as good as none."""
MOVED = 1e-5
"""How much worse, relative to it, the objective may become when the point becomes exact."""

Places = np.ndarray[tuple[int], np.dtype[np.intp]]


def polished(program: Program, account: Account) -> Account:
    """Return a better account of the same optimum where there is one."""
    if program.nonlinear or not np.isfinite(account.violation) or _is_good(program, account):
        return account
    if program.column_count + program.row_count > LARGEST:
        return account
    with np.errstate(all="ignore"):
        solved = _on_active_set(program, account)
    if solved is None:
        return account
    better = examine(program, *solved)
    sign = -1.0 if program.sense == "maximize" else 1.0
    worse = sign * (better.objective - account.objective)
    near = worse <= MOVED * max(1.0, abs(account.objective))
    return better if near and _is_better(better, account) else account


def _is_good(program: Program, account: Account) -> bool:
    """Whether point, gap and the reduced costs of columns between bounds are exact already."""
    x, z = account.x, np.abs(account.column_dual)
    room = EXACT * np.maximum(1.0, np.abs(x))
    inside = (x - program.column_lower > room) & (program.column_upper - x > room)
    straight = float(np.max(z[inside], initial=0.0)) <= EXACT * max(1.0, float(z.max(initial=0.0)))
    return account.violation <= GOOD and account.gap <= GOOD and straight


def _is_better(new: Account, old: Account) -> bool:
    """Whether neither measure got worse beyond rounding."""
    feasible = new.violation <= max(old.violation, EXACT)
    return feasible and new.gap <= max(old.gap, ROUNDING)


def _on_active_set(program: Program, account: Account) -> tuple[Floats, Floats] | None:
    sign = -1.0 if program.sense == "maximize" else 1.0
    z, x = sign * account.column_dual, account.x.copy()
    y = sign * account.row_dual
    rows, sides = _active(program.activity_at(x), y, program.row_lower, program.row_upper)
    fixed, values = _active(x, z, program.column_lower, program.column_upper)
    free = np.setdiff1d(np.arange(program.column_count), fixed)
    x[fixed] = values
    inactive = np.setdiff1d(np.arange(program.row_count), rows)
    y[inactive] = 0.0
    for _ in range(STEPS if len(program.products.of_rows().rows) else 2):
        step = _newton_step(program, sign, x, y, (rows, sides, free))
        if step is None:
            return None
        x[free] += step[: len(free)]
        y[rows] -= step[len(free) :]
        if float(np.max(np.abs(step), initial=0.0)) <= ROUNDING * max(1.0, float(np.abs(x).max())):
            break
    return np.clip(x, program.column_lower, program.column_upper), sign * y


def _newton_step(
    program: Program, sign: float, x: Floats, y: Floats, active: tuple[Places, Floats, Places]
) -> Floats | None:
    from scipy.sparse import block_array, csr_array, diags_array
    from scipy.sparse.linalg import splu

    rows, sides, free = active
    slopes = jacobian(program, x)[rows]
    weights = np.append(-y, sign)  # the objective is row -1
    weighted = program.products.values * weights[program.products.rows]
    lagrangian = hessian(replace(program.products, values=weighted), program.column_count)
    curvature = lagrangian[free][:, free]
    stationarity = (sign * gradient(program, x) - slopes.T @ y[rows])[free]
    residual = np.concatenate([-stationarity, sides - program.activity_at(x)[rows]])
    size = len(residual)
    if size == 0:
        return residual
    inner = slopes[:, free]
    corner = csr_array((len(rows), len(rows)))
    exact: Any = block_array([[curvature, inner.T], [inner, corner]], format="csc")
    damping = np.concatenate([np.ones(len(free)), -np.ones(len(rows))]) * REGULARISATION
    try:
        factors = splu((exact + diags_array(damping)).tocsc())
    except (RuntimeError, ValueError):  # singular, or not a number
        return None
    step = np.zeros(size)
    for _ in range(REFINEMENTS):
        step = step + factors.solve(residual - exact @ step)
    return step if bool(np.all(np.isfinite(step))) else None


def _active(values: Floats, dual: Floats, lower: Floats, upper: Floats) -> tuple[Places, Floats]:
    """Return which bounds are active, and where."""
    size = max(1.0, float(np.max(np.abs(dual), initial=0.0)))
    with np.errstate(invalid="ignore"):
        at_lower = (lower == upper) | ((values - lower) / np.maximum(1.0, abs(lower)) < dual / size)
        at_upper = (upper - values) / np.maximum(1.0, abs(upper)) < -dual / size
    at_lower &= np.isfinite(lower)
    at_upper &= np.isfinite(upper) & ~at_lower
    active = np.flatnonzero(at_lower | at_upper)
    return active, np.where(at_lower, lower, upper)[active]
