"""A program as a CasADi graph, one node for a whole index grid.

Affine parts are sparse matrix products, atoms element-wise functions of vectors, sums over groups
products with selection matrices; nothing is written row by row.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from engiagent.formulations.program import OBJECTIVE, Program
from engiagent.formulations.values import ELEMENTARY, Atom, Form, Ints

Symbol = Any
"""A ``casadi.SX`` or ``casadi.MX``; CasADi carries no types."""

SCALAR_LIMIT: Final = 200_000
"""Coefficients up to which each is a node of its own (SX), which evaluates fastest."""


@dataclass(frozen=True, eq=False)
class Graph:
    """Objective and rows as expressions of the columns."""

    x: Symbol  # the columns, (n, 1)
    objective: Symbol  # in the program's own sense, with its constant
    rows: Symbol  # the activities, (m, 1)


def graph(program: Program, scalar: bool | None = None, x: Symbol | None = None) -> Graph:
    """Return the graph of a program.

    ``scalar``: whether to use scalar nodes (SX) or nodes of vectors (MX); None decides by size.
    ``x``: the columns as a symbol of either kind, (n, 1).
    """
    import casadi

    size = program.nonzero_count + len(program.products.rows) + program.column_count
    if scalar is None:
        scalar = size <= SCALAR_LIMIT
    kind = casadi.SX if scalar else casadi.MX
    if x is None:
        x = kind.sym("x", program.column_count)
    builder = _Builder(x)
    objective = casadi.dot(casadi.DM(program.cost), x) + program.offset
    rows = builder.affine_rows(program)
    products = program.products
    if len(products.rows):
        terms = (
            casadi.DM(products.values)
            * builder.pick(products.first)
            * builder.pick(products.second)
        )
        inside = products.rows != OBJECTIVE
        rows = rows + _collect(products.rows[inside], program.row_count, inside) @ terms
        objective = objective + casadi.dot(casadi.DM(np.where(inside, 0.0, 1.0)), terms)
    for part in program.nonlinear:
        numbers = part.row_numbers()
        weights = np.broadcast_to(part.coefficients, numbers.shape)
        terms = casadi.DM(weights) * builder.atom(part.atom)
        inside = numbers != OBJECTIVE
        rows = rows + _collect(numbers[inside], program.row_count, inside) @ terms
        if not inside.all():
            objective = objective + casadi.dot(casadi.DM(np.where(inside, 0.0, 1.0)), terms)
    return Graph(x, objective, rows)


def sparse(rows: Any, columns: Any, values: Any, shape: tuple[int, int]) -> Any:
    """Return a sparse constant of CasADi."""
    import casadi
    from scipy.sparse import coo_matrix

    entries = (np.asarray(values, dtype=np.float64), (np.asarray(rows), np.asarray(columns)))
    return casadi.DM(coo_matrix(entries, shape=shape).tocsc())


def _collect(rows: Any, count: int, chosen: Any) -> Any:
    """Return the matrix that adds chosen elements to their rows."""
    return sparse(rows, np.flatnonzero(chosen), np.ones(len(rows)), (count, len(chosen)))


class _Builder:
    """Turns forms of one program into expressions."""

    def __init__(self, x: Symbol) -> None:
        self.x = x

    def pick(self, columns: Ints) -> Symbol:
        """Return some of the columns as a vector."""
        return self.x[np.asarray(columns).tolist()]

    def affine_rows(self, program: Program) -> Symbol:
        """Return the linear part of the rows, (m, 1)."""
        rows = np.repeat(np.arange(program.row_count), np.diff(program.row_starts))
        shape = (program.row_count, program.column_count)
        return sparse(rows, program.row_columns, program.row_values, shape) @ self.x

    def form(self, form: Form) -> Symbol:
        """Return a form, (size, 1)."""
        import casadi

        total = casadi.DM(np.array(np.broadcast_to(form.constant, (form.size,))))
        shape = (form.size, self.x.shape[0])
        for term in form.terms:
            rows = term.row_numbers()
            values = np.broadcast_to(term.coefficients, rows.shape)
            total = total + sparse(rows, term.columns, values, shape) @ self.x
        for part in form.parts:
            rows = part.row_numbers()
            values = np.broadcast_to(part.coefficients, rows.shape)
            spread = sparse(rows, np.arange(len(rows)), values, (form.size, len(rows)))
            total = total + spread @ self.atom(part.atom)
        return casadi.densify(total)

    def atom(self, atom: Atom) -> Symbol:
        """Return an atom's elements, (size, 1)."""
        inner = [self.form(argument) for argument in atom.args]
        return _EXPRESSIONS[atom.function](atom, inner)


def _power(atom: Atom, value: Symbol) -> Symbol:
    """Return powers; squares and whole exponents as such, for they need no logarithm."""
    import casadi

    exponents = np.broadcast_to(atom.numbers[0], (atom.size,))
    if np.all(exponents == exponents[0]):
        return casadi.power(value, float(exponents[0]))
    return casadi.power(value, casadi.DM(np.array(exponents)))


def _plain(name: str) -> Callable[[Atom, list[Symbol]], Symbol]:
    def apply(atom: Atom, inner: list[Symbol]) -> Symbol:
        import casadi

        return getattr(casadi, name)(inner[0])

    return apply


_EXPRESSIONS: Final[dict[str, Callable[[Atom, list[Symbol]], Symbol]]] = {
    "power": lambda atom, inner: _power(atom, inner[0]),
    "product": lambda atom, inner: inner[0] * inner[1],
    "quotient": lambda atom, inner: inner[0] / inner[1],
    **{name: _plain(name) for name in ELEMENTARY},
}
