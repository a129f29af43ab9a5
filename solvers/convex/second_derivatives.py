r"""Second derivatives of a Lagrangian, as a sparse matrix by numpy alone.

.. math:: \nabla^2 \bigl(f(x) - y^T g(x)\bigr)

For an atom's element :math:`w f(u_1, u_2)` of arguments u the chain rule gives
:math:`w \sum_{kl} f_{kl} \nabla u_k \nabla u_l^T + w \sum_k f_k \nabla^2 u_k`.
"""

from collections.abc import Callable
from typing import Final

import numpy as np

from engiagent.formulations.program import OBJECTIVE, Program
from engiagent.formulations.values import ELEMENTARY, Atom, Floats, Form
from engiagent.solvers.convex.curvature import hessian
from engiagent.solvers.convex.derivatives import SLOPES, Sparse, form_jacobian


def lagrangian_hessian(program: Program, x: Floats, y: Floats, weight: float = 1.0) -> Sparse:
    """Return ``weight * objective'' - sum of y_i row_i''`` at ``x``; symmetric, (n, n).

    ``y``: multipliers of the rows, shape (m,). ``weight``: what the objective counts.
    """
    n = program.column_count
    factors = np.append(-y, weight)  # the objective is row -1
    products = program.products
    weighted = type(products)(
        products.rows, products.first, products.second, products.values * factors[products.rows]
    )
    total = hessian(weighted, n)
    for part in program.nonlinear:
        rows = part.row_numbers()
        inside = np.where(rows == OBJECTIVE, len(y), rows)
        weights = np.broadcast_to(part.coefficients, rows.shape) * factors[inside]
        used = np.flatnonzero(weights)
        if len(used):
            total = total + _atom(part.atom.take(used), x, weights[used])
    return total


def _form(form: Form, x: Floats, weights: Floats) -> Sparse:
    """Return the second derivatives of the weighted sum of a form's rows."""
    from scipy.sparse import csr_array

    total: Sparse = csr_array((len(x), len(x)))
    for part in form.parts:
        rows = part.row_numbers()
        values = np.broadcast_to(part.coefficients, rows.shape) * weights[rows]
        total = total + _atom(part.atom, x, values)
    return total


def _atom(atom: Atom, x: Floats, weights: Floats) -> Sparse:
    from scipy.sparse import csr_array, diags_array

    with np.errstate(all="ignore"):
        inner = [form.at(x) for form in atom.args]
        slopes = SLOPES[atom.function](atom, inner)
        bends = _BENDS[atom.function](atom, inner)
    total: Sparse = csr_array((len(x), len(x)))
    jacobians = [form_jacobian(form, x) for form in atom.args]
    for (k, m), bend in bends.items():
        middle = diags_array(np.broadcast_to(bend, (atom.size,)) * weights)
        term = jacobians[k].T @ middle @ jacobians[m]
        total = total + (term if k == m else term + term.T)
    for form, slope in zip(atom.args, slopes, strict=True):
        if form.parts:
            total = total + _form(form, x, weights * slope)
    return total


_Bends = dict[tuple[int, int], Floats]


def _power_bends(atom: Atom, u: list[Floats]) -> _Bends:
    p = np.broadcast_to(atom.numbers[0], (atom.size,))
    straight = (p == 0) | (p == 1)
    return {(0, 0): np.where(straight, 0.0, p * (p - 1) * np.power(u[0], p - 2))}


_BENDS: Final[dict[str, Callable[[Atom, list[Floats]], _Bends]]] = {
    "power": _power_bends,
    "product": lambda atom, u: {(0, 1): np.ones_like(u[0])},
    "quotient": lambda atom, u: {(0, 1): -1.0 / u[1] ** 2, (1, 1): 2.0 * u[0] / u[1] ** 3},
    **dict.fromkeys(ELEMENTARY, lambda atom, u: {(0, 0): ELEMENTARY[atom.function].bend(u[0])}),
}
