"""Which rows of a program speak of columns that no variable of the blueprint stands for."""

from collections.abc import Collection

import numpy as np
import numpy.typing as npt

from engiagent.formulations.program import OBJECTIVE, Program
from engiagent.formulations.values import Form, Part, atoms

Bools = npt.NDArray[np.bool_]


def columns_beside(program: Program, variables: Collection[str]) -> Bools:
    """Return which columns belong to none of some variables, shape (n,)."""
    found = np.zeros(program.column_count, dtype=bool)
    for block in program.columns:
        found[block.start : block.stop] = block.generated or block.name not in variables
    return found


def rows_with(program: Program, columns: Bools) -> tuple[Bools, bool]:
    """Return which rows have one of the columns, shape (m,), and whether an objective has.

    A row that holds conditionally is one of them, whatever its columns.
    """
    # One place more than there are rows, at the end, stands for the objective: OBJECTIVE is -1.
    found = np.zeros(program.row_count + 1, dtype=bool)
    row_of = np.repeat(np.arange(program.row_count), np.diff(program.row_starts))
    found[row_of[columns[program.row_columns]]] = True
    products = program.products
    found[products.rows[columns[products.first] | columns[products.second]]] = True
    for part in program.nonlinear:
        if any(columns[used].any() for used in _columns_of(part)):
            found[part.row_numbers()] = True
    found[program.indicators.rows] = True
    costs = [program.cost, *(goal.cost for goal in program.goals)]
    found[OBJECTIVE] |= any(bool(np.any(cost[columns])) for cost in costs)
    return found[:OBJECTIVE], bool(found[OBJECTIVE])


def _columns_of(part: Part) -> list[npt.NDArray[np.int64]]:
    inner = [part.atom, *(a for form in part.atom.args for a in atoms(form))]
    forms: list[Form] = [form for atom in inner for form in atom.args]
    return [np.asarray(term.columns, dtype=np.int64) for form in forms for term in form.terms]
