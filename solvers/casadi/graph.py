"""A program as a CasADi graph, with exact derivatives."""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from engiagent.formulations.program import OBJECTIVE, Program
from engiagent.formulations.values import ELEMENTARY
from engiagent.solvers.expressions import Algebra, Translator, curved_expressions, curved_rows

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


def graph(program: Program, scalar: bool | None = None) -> Graph:
    """Return the graph of a program, of scalar nodes (SX) or of vectors (MX); None is by size."""
    import casadi
    from scipy.sparse import csr_matrix

    size = program.nonzero_count + len(program.products.rows) + program.column_count
    kind = casadi.SX if (size <= SCALAR_LIMIT if scalar is None else scalar) else casadi.MX
    x = kind.sym("x", program.column_count)
    matrix = csr_matrix(
        (program.row_values, program.row_columns, program.row_starts),
        shape=(program.row_count, program.column_count),
    )
    curved = curved_rows(program)
    straight = np.ones(program.row_count)
    straight[[row for row in curved if row != OBJECTIVE]] = 0.0
    # Curved rows come whole, linear part and all.
    linear = csr_matrix(matrix.multiply(straight[:, None]))
    linear.eliminate_zeros()
    rows = casadi.DM(linear.tocsc()) @ x
    objective = casadi.dot(casadi.DM(program.cost), x) + program.offset
    functions = {name: getattr(casadi, name) for name in ELEMENTARY}
    algebra = Algebra(lambda constant, parts: sum(parts, start=kind(constant)), functions)
    whole = curved_expressions(program, Translator(casadi.vertsplit(x), algebra), curved)
    bent = dict(whole)
    if OBJECTIVE in bent:
        objective = objective + bent.pop(OBJECTIVE)
    if bent:
        numbers = list(bent)
        places = casadi.DM(
            csr_matrix(
                (np.ones(len(numbers)), (numbers, np.arange(len(numbers)))),
                shape=(program.row_count, len(numbers)),
            ).tocsc()
        )
        rows = rows + places @ casadi.vertcat(*bent.values())
    return Graph(x, objective, rows)
