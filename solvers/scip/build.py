"""A program as a model of SCIP."""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from engiagent.formulations.program import OBJECTIVE, Program
from engiagent.solvers.expressions import Algebra, Translator, curved_expressions, curved_rows
from engiagent.solvers.result import Floats


def _total(constant: float, children: list[Any]) -> Any:
    from pyscipopt.scip import Constant, SumExpr

    if not children:
        return Constant(constant)
    if len(children) == 1 and constant == 0.0:
        return children[0]
    total = SumExpr()
    total.children = list(children)
    total.constant = constant
    return total


ALGEBRA: Final = Algebra(
    _total,
    {
        "cos": lambda inner: inner.cos(),
        "exp": lambda inner: inner.exp(),
        "log": lambda inner: inner.log(),
        "sin": lambda inner: inner.sin(),
    },
)


@dataclass(frozen=True, eq=False)
class Built:
    """A model of SCIP and its variables, one per column of the program."""

    model: Any
    variables: list[Any]

    def point(self, solution: Any) -> Floats:
        """Return a solution as a point of the program, shape (n,)."""
        value = self.model.getSolVal
        return np.array([value(solution, variable) for variable in self.variables], np.float64)


def build(program: Program) -> Built:
    """Return the model, complete but for settings."""
    from pyscipopt import Model

    model = Model()
    model.hideOutput()
    if program.sense == "maximize":
        model.setMaximize()
    variables = _add_columns(model, program)
    if program.offset:
        model.addObjoffset(program.offset)
    conditions = _conditions(program)
    curved = curved_rows(program)
    if len(curved):
        _add_curved(model, program, variables, curved, conditions)
    _add_linear(model, program, variables, curved, conditions)
    for group in program.sos1:
        model.addConsSOS1([variables[column] for column in group.tolist()])
    return Built(model, variables)


def _add_columns(model: Any, program: Program) -> list[Any]:
    whole = program.integrality
    binary = whole & (program.column_lower >= 0) & (program.column_upper <= 1)
    kinds = np.where(binary, "B", np.where(whole, "I", "C")).tolist()
    return [
        model.addVar(f"x{column}", kind, low, high, cost)
        for column, (kind, low, high, cost) in enumerate(
            zip(
                kinds,
                _limits(program.column_lower),
                _limits(program.column_upper),
                program.cost.tolist(),
                strict=True,
            )
        )
    ]


def _limits(values: Floats) -> list[float | None]:
    """Return limits as SCIP wants them: None for infinite ones."""
    return [
        value if finite else None
        for value, finite in zip(values.tolist(), np.isfinite(values).tolist(), strict=True)
    ]


def _conditions(program: Program) -> dict[int, tuple[int, bool]]:
    """Return the binary column, and its value, on which rows depend."""
    given = program.indicators
    return {
        row: (column, bool(active))
        for row, column, active in zip(
            given.rows.tolist(), given.columns.tolist(), given.active.tolist(), strict=True
        )
    }


def _add_linear(
    model: Any,
    program: Program,
    variables: list[Any],
    curved: list[int],
    conditions: dict[int, tuple[int, bool]],
) -> None:
    from pyscipopt.scip import Expr, ExprCons, Term

    terms = [Term(variable) for variable in variables]
    free = np.isinf(program.row_lower) & np.isinf(program.row_upper)
    free[[row for row in curved if row != OBJECTIVE]] = True
    starts = program.row_starts.tolist()
    columns, values = program.row_columns.tolist(), program.row_values.tolist()
    lower, upper = _limits(program.row_lower), _limits(program.row_upper)
    for row in np.flatnonzero(~free).tolist():
        inside = slice(starts[row], starts[row + 1])
        chosen = [terms[column] for column in columns[inside]]
        expression = Expr(dict(zip(chosen, values[inside], strict=True)))
        if row in conditions:
            _add_conditional(
                model, expression, (lower[row], upper[row]), conditions[row], variables
            )
        else:
            model.addCons(ExprCons(expression, lower[row], upper[row]))


def _add_conditional(
    model: Any,
    expression: Any,
    limits: tuple[float | None, float | None],
    condition: tuple[int, bool],
    variables: list[Any],
) -> None:
    from pyscipopt.scip import Expr, ExprCons

    column, active = condition
    low, high = limits
    for side in ((None, high), (low, None)):
        if side != (None, None):
            # The constraint takes the expression over and may change it.
            own = Expr(dict(expression.terms))
            model.addConsIndicator(ExprCons(own, *side), variables[column], active)


def _add_curved(
    model: Any,
    program: Program,
    variables: list[Any],
    curved: list[int],
    conditions: dict[int, tuple[int, bool]],
) -> None:
    """Add the rows with products and functions, and a variable for a curved objective."""
    from pyscipopt.scip import Expr, ExprCons, Term, VarExpr

    translator = Translator([VarExpr(variable) for variable in variables], ALGEBRA)
    for row, expression in curved_expressions(program, translator, curved):
        if row == OBJECTIVE:
            value = model.addVar("objective", "C", None, None, 1.0)
            side = (None, 0.0) if program.sense == "minimize" else (0.0, None)
            model.addCons(ExprCons(expression + (-1.0) * value, *side))
            continue
        limits = (_limit(program.row_lower[row]), _limit(program.row_upper[row]))
        if limits == (None, None):
            continue
        if row in conditions:
            value = model.addVar(f"row{row}", "C", None, None, 0.0)
            model.addCons(ExprCons(expression + (-1.0) * value, 0.0, 0.0))
            linear = Expr({Term(value): 1.0})
            _add_conditional(model, linear, limits, conditions[row], variables)
        else:
            model.addCons(ExprCons(expression, *limits))


def _limit(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
