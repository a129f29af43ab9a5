r"""First derivatives of forms and programs, as sparse matrices by numpy alone.

The chain rule over whole index grids: with :math:`v = c + T x + \sum_p B_p f_p(u_p(x))`,

.. math:: \frac{\partial v}{\partial x} = T + \sum_p B_p \, \mathrm{diag}(f_p'(u_p)) \,
    \frac{\partial u_p}{\partial x} .
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from engiagent.formulations.program import OBJECTIVE, Program
from engiagent.formulations.values import ELEMENTARY, Atom, Floats, Form

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
