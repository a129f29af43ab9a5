"""Programs with their objective changed or taken away."""

from dataclasses import replace

import numpy as np

from engiagent.formulations.program import OBJECTIVE, Program
from engiagent.formulations.values import Floats, Part


def with_linear_objective(program: Program, cost: Floats, offset: float = 0.0) -> Program:
    """Return the program with a linear objective of the same sense.

    Products and functions of the old objective are left out, and with it all goals.
    """
    return replace(
        program,
        cost=cost,
        offset=offset,
        products=program.products.of_rows(),
        nonlinear=_of_rows(program),
        goals=(),
        method=None,
    )


def without_objective(program: Program) -> Program:
    """Return the program that asks for any point at all."""
    return with_linear_objective(program, np.zeros_like(program.cost))


def _of_rows(program: Program) -> tuple[Part, ...]:
    kept = []
    for part in program.nonlinear:
        rows = part.row_numbers()
        inside = np.flatnonzero(rows != OBJECTIVE)
        if len(inside) == len(rows):
            kept.append(part)
        elif len(inside):
            weights = np.broadcast_to(part.coefficients, rows.shape)[inside]
            kept.append(Part(rows[inside], weights, part.atom.take(inside)))
    return tuple(kept)
