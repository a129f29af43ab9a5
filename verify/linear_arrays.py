"""The linear programme that a problem states, as plain arrays that a second solver is given."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from engiagent.blueprint.document import Blueprint
from engiagent.units.unit import parse_unit
from engiagent.verify.case import build_case, find_requirements
from engiagent.verify.documents import Bench, Declarations
from engiagent.verify.exact.addition import plain_objective
from engiagent.verify.frames import Bools
from engiagent.verify.levels.algebra import rows_of
from engiagent.verify.levels.goals import evaluate_objective
from engiagent.verify.levels.relaxation import Programme, programme_of
from engiagent.verify.levels.relaxed import row_balanced, scaled
from engiagent.verify.levels.sources import ProblemLike
from engiagent.verify.levels.stated import stated_programme, without_repeats, zeros
from engiagent.verify.requirements import Goal, Requirements
from engiagent.verify.values import Floats, Ints


@dataclass(frozen=True, eq=False)
class StatedArrays:
    """A mixed-integer linear programme; ``row_lower <= A x <= row_upper`` in CSR.

    ``over``: what it is of, in words. ``complete``: whether it says everything that is asked; else
    it only is easier to satisfy. ``unit``: of the objective. Columns are in units of their own.
    """

    sense: str
    cost: Floats
    offset: float
    column_lower: Floats
    column_upper: Floats
    integrality: Bools
    row_starts: Ints
    row_columns: Ints
    row_values: Floats
    row_lower: Floats
    row_upper: Floats
    unit: str
    over: str
    complete: bool


def stated_arrays(
    problem: ProblemLike,
    solution: Any,
    blueprint: Blueprint | None = None,
    requirements: Requirements | None = None,
    mapping: Any = None,
) -> StatedArrays | str:
    """Return what annotated requirements state, else what the blueprint does; or why not.

    ``problem``, ``solution``, ``blueprint``, ``requirements``, ``mapping``: as
    :func:`engiagent.verify.check` takes them.
    """
    annotated = find_requirements(problem, requirements)
    case = build_case(problem, solution, blueprint, annotated, mapping)
    left_out: list[str] = []
    by_text = case.bench(True) if case.series else None
    if by_text is not None and annotated is not None and annotated.objective is not None:
        stated = stated_programme(by_text, annotated)
        bench, core, boxes, goal = by_text, stated.core, stated.boxes, annotated.objective
        rows, over = rows_of(bench, core, left_out), "the stated requirements"
        chosen = without_repeats(tuple(rows), annotated)
    elif case.blueprint is not None and case.blueprint.core.objective_function is not None:
        core, boxes, over = case.blueprint.core, None, "the blueprint"
        declarations = Declarations(core, problem.folder)
        bench = Bench(declarations, case.series or zeros(declarations))
        expression, sense, why = plain_objective(bench, core)
        if expression is None:
            return why or "there is no objective"
        goal = Goal(sense, expression, case.blueprint.core.objective_function.unit)
        chosen = tuple(rows_of(bench, core, left_out))
    else:
        return "there is no objective"
    objective = evaluate_objective(bench, goal)
    if objective.node.degree > 1:
        return "the objective is not affine in the variables"
    if any(variable.type == "semicontinuous" for variable in core.decision_variables):
        return "a variable is semicontinuous"
    affine = [row for row in chosen if row.excess.degree < 2]
    left = len(left_out) + len(chosen) - len(affine)
    over += f" without {left} rules that are not affine" if left else ""
    for variable in core.decision_variables:
        bench.evaluator.environment.symbol(variable.name)
    return _arrays(bench, programme_of(bench, core, objective, boxes, affine), over, not left)


def _arrays(bench: Bench, built: Programme, over: str, complete: bool) -> StatedArrays:
    found, unit = built.relaxation, parse_unit(built.objective.unit)
    scales = np.ones(found.lower.size)
    for value in bench.variables.values():
        start = built.columns.starts.get(value.order)
        if start is not None:
            scales[start : start + value.data.size] = value.unit.scale
    matrix, factors = row_balanced(scaled(found.rows.matrix, columns=scales))
    limit = -found.rows.constant * factors
    cost = np.asarray(found.objective.matrix.toarray()).reshape(-1)
    return StatedArrays(
        built.objective.sense,
        built.sign * cost * scales / unit.scale,
        unit.from_si(built.sign * float(found.objective.constant[0])),
        found.lower / scales,
        found.upper / scales,
        built.whole > 0,
        matrix.indptr.astype(np.int64),
        matrix.indices.astype(np.int64),
        matrix.data,
        np.where(found.equal, limit, -np.inf),
        limit,
        str(unit),
        over,
        complete,
    )
