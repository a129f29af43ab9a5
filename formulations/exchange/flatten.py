"""From a program to the flat model that LP and MPS files can say."""

import numpy as np

from engiagent.errors import EngiagentError
from engiagent.formulations.exchange.flat import FlatModel, SpecialOrderedSet
from engiagent.formulations.exchange.names import column_names, objective_name, row_names
from engiagent.formulations.program import OBJECTIVE, Program


def flatten(program: Program, form: str) -> FlatModel:
    """Return a program with a legal name for every row and column.

    Parameters
    ----------
    form
        What the file format is called, for messages.

    Raises
    ------
    EngiagentError
        When the program has no columns, or nonlinear functions or several objectives, which no LP
        or MPS file can say; the constraint is named.
    """
    if not program.column_count:
        raise EngiagentError(f"the blueprint has no variables, so {form} has nothing to say")
    _refuse(program, form)
    objective = objective_name(program)
    n = program.column_count
    return FlatModel(
        name=objective,
        sense=program.sense,
        objective_name=objective,
        cost=program.cost,
        offset=program.offset,
        column_names=tuple(column_names(program)),
        column_lower=program.column_lower,
        column_upper=program.column_upper,
        integrality=program.integrality,
        semicontinuous=np.zeros(n, dtype=np.bool_),
        row_names=tuple(row_names(program, objective)),
        row_starts=program.row_starts,
        row_columns=program.row_columns,
        row_values=program.row_values,
        row_lower=program.row_lower,
        row_upper=program.row_upper,
        products=program.products,
        indicators=program.indicators,
        sos=tuple(
            SpecialOrderedSet(f"sos{k}", 1, columns, np.arange(1.0, len(columns) + 1.0))
            for k, columns in enumerate(program.sos1, 1)
        ),
    )


def _refuse(program: Program, form: str) -> None:
    if len(program.goals) > 1:
        names = ", ".join(goal.name for goal in program.goals)
        raise EngiagentError(
            f"{form} files have one objective, but the blueprint has several: {names}; "
            "write it with one of them, or with a weighted sum"
        )
    for part in program.nonlinear:
        rows = part.row_numbers()
        if not len(rows):
            continue
        row = int(rows[0])
        owner = (
            f"the objective {program.objective_name!r}"
            if row == OBJECTIVE
            else f"the constraint {_block_of(program, row)!r}"
        )
        raise EngiagentError(
            f"{form} files say linear and quadratic terms only, but {owner} has the function "
            f"{part.atom.function!r}; emit it as a script, or bound the variables so that it can "
            "be written in linear rows"
        )


def _block_of(program: Program, row: int) -> str:
    return next(b.constraint_id for b in program.rows if b.start <= row < b.stop)
