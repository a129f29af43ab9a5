"""A program as a Pyomo model.

The objective is always minimised (one that is maximised changes sign), so that every solver's
duals have one sign convention: what the objective gains per unit of the right-hand side.
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from engiagent.formulations.program import OBJECTIVE, Program
from engiagent.formulations.values import ELEMENTARY, Floats
from engiagent.solvers.expressions import Algebra, Translator, curved_expressions, curved_rows

ROUNDING: Final = 1e-9
"""How far, relative to its size, a constant may be from its limits."""


@dataclass(frozen=True, eq=False)
class Built:
    """A Pyomo model."""

    model: Any  # the ConcreteModel, with variables ``x`` and constraints ``c``
    variables: list[Any]  # one per column
    # by row number; rows without limits, and those that nothing can change, have none
    constraints: dict[int, Any]
    # whether all rows that nothing can change hold; if not, the program is infeasible
    holds: bool = True


def _total(constant: float, children: list[Any]) -> Any:
    import pyomo.environ as pyo

    return pyo.quicksum([*children, constant]) if children else constant


def _unary(name: str) -> Any:
    def function(inner: Any) -> Any:
        import pyomo.environ as pyo

        return getattr(pyo, name)(inner)

    return function


ALGEBRA: Final = Algebra(
    _total,  # a root is written as a power
    {n: _unary(n) for n in ELEMENTARY if n != "sqrt"},
)


def build(program: Program, *, curved_as_row: bool = False) -> Built:
    """Return the model of a program without conditions and groups.

    ``curved_as_row`` puts a curved objective under a variable of its own, for solvers that only
    take linear ones: Pyomo's own way to do so loses that the objective has no bound.
    """
    import pyomo.environ as pyo
    from pyomo.core.expr.numeric_expr import LinearExpression

    model: Any = pyo.ConcreteModel(name="engiagent")
    variables = _columns(model, program)
    curved = curved_rows(program)
    translator = Translator(variables, ALGEBRA)
    whole = dict(curved_expressions(program, translator, curved))
    sign = -1.0 if program.sense == "maximize" else 1.0
    used = np.flatnonzero(program.cost)
    cost = LinearExpression(
        constant=program.offset,
        linear_coefs=program.cost[used].tolist(),
        linear_vars=[variables[column] for column in used.tolist()],
    )
    model.objective = pyo.Objective(expr=sign * cost)
    if OBJECTIVE in whole:
        _add_curved(model, sign * whole[OBJECTIVE], as_row=curved_as_row)
    free = np.isinf(program.row_lower) & np.isinf(program.row_upper)
    # A row without terms holds (or the program is infeasible); Pyomo cannot say it.
    empty = np.diff(program.row_starts) == 0
    empty[[row for row in curved if row != OBJECTIVE]] = False
    free |= empty
    starts, columns = program.row_starts.tolist(), program.row_columns.tolist()
    values = program.row_values.tolist()
    lower, upper = _limits(program.row_lower), _limits(program.row_upper)
    model.c = pyo.Constraint(pyo.Any)
    constraints = {}
    holds = True
    for row in np.flatnonzero(~free).tolist():
        inside = slice(starts[row], starts[row + 1])
        body = (
            whole[row]
            if row in whole
            else LinearExpression(
                constant=0.0,
                linear_coefs=values[inside],
                linear_vars=[variables[column] for column in columns[inside]],
            )
        )
        if _is_constant(body):
            holds &= _is_within(body, lower[row], upper[row])
            continue
        model.c[row] = (lower[row], body, upper[row])
        constraints[row] = model.c[row]
    return Built(model, variables, constraints, holds)


def _is_constant(body: Any) -> bool:
    """Whether an expression has no variables; Pyomo refuses it as a constraint."""
    from pyomo.core.expr.numvalue import is_potentially_variable

    return not is_potentially_variable(body)


def _is_within(body: Any, lower: float | None, upper: float | None) -> bool:
    """Whether a constant lies between its limits, up to rounding."""
    from pyomo.core.expr.numvalue import value

    number = float(value(body))
    room = ROUNDING * max(1.0, abs(number))
    above = lower is None or number >= lower - room
    return above and (upper is None or number <= upper + room)


def _add_curved(model: Any, curved: Any, *, as_row: bool) -> None:
    import pyomo.environ as pyo

    if not as_row:
        model.objective.expr += curved
        return
    model.curved = pyo.Var()
    model.below = pyo.Constraint(expr=(None, curved - model.curved, 0.0))
    model.objective.expr += model.curved


def _columns(model: Any, program: Program) -> list[Any]:
    import pyomo.environ as pyo

    whole = program.integrality
    binary = whole & (program.column_lower >= 0) & (program.column_upper <= 1)
    kinds = np.where(binary, "Binary", np.where(whole, "Integers", "Reals")).tolist()
    domains = {"Binary": pyo.Binary, "Integers": pyo.Integers, "Reals": pyo.Reals}
    lower, upper = _limits(program.column_lower), _limits(program.column_upper)
    model.x = pyo.Var(
        range(program.column_count),
        domain=lambda _, j: domains[kinds[j]],
        bounds=lambda _, j: (lower[j], upper[j]),
    )
    return [model.x[column] for column in range(program.column_count)]


def _limits(values: Floats) -> list[float | None]:
    finite = np.isfinite(values).tolist()
    return [value if good else None for value, good in zip(values.tolist(), finite, strict=True)]
