"""The programme that a problem states, as plain arrays that any solver can be given."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from engiagent.blueprint.document import Blueprint
from engiagent.units.unit import parse_unit
from engiagent.verify.case import build_case, find_requirements
from engiagent.verify.documents import Bench, Declarations
from engiagent.verify.exact.addition import plain_objective, stated_exactly, zeros
from engiagent.verify.exact.numbers import floats
from engiagent.verify.exact.programme import ExactProgramme, linear_of, programme_of
from engiagent.verify.frames import Bools
from engiagent.verify.levels.sources import ProblemLike
from engiagent.verify.requirements import Requirements
from engiagent.verify.values import Floats, Ints


@dataclass(frozen=True, eq=False)
class StatedArrays:
    """A mixed-integer linear programme; ``row_lower <= A x <= row_upper`` in CSR.

    ``over``: what it is of, in words. ``complete``: whether it says everything that is asked; else
    it only is easier to satisfy. ``unit``: of the objective. Columns and rows are in units of their
    own, whole numbers among them.
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
    case = build_case(
        problem, solution, blueprint, find_requirements(problem, requirements), mapping
    )
    planned = bool(case.series)
    if planned and case.requirements is not None and case.requirements.objective is not None:
        bench = case.bench(True)
        assert bench is not None
        programme = stated_exactly(bench, case.requirements)
        goal = case.requirements.objective.unit
        over = "the stated requirements"
    elif case.blueprint is not None and case.blueprint.core.objective_function is not None:
        core = case.blueprint.core
        declarations = Declarations(core, problem.folder)
        bench = Bench(declarations, case.series if planned else zeros(declarations))
        expression, sense, why = plain_objective(bench, core)
        if expression is None:
            return why or "there is no objective"
        programme = programme_of(bench, core, expression, sense)
        definition = core.objective_function
        goal, over = None if definition is None else definition.unit, "the blueprint"
    else:
        return "there is no objective"
    if programme is None or programme.objective is None or programme.objective.degree > 1:
        return "the objective is not affine in the variables"
    if any(box.kind == "semicontinuous" for box in programme.boxes):
        return "a variable is semicontinuous"
    return _arrays(programme, goal, over)


def _arrays(programme: ExactProgramme, goal: str | None, over: str) -> StatedArrays:
    import scipy.sparse as sp

    system = linear_of(programme)
    assert programme.objective is not None
    unit = parse_unit(goal) if goal is not None else programme.objective.unit
    variables = programme.bench.variables.values()
    scales = np.concatenate([np.full(v.data.size, v.unit.scale) for v in variables] or [np.ones(0)])
    relaxation = system.relaxation()
    matrix = relaxation.rows.matrix @ sp.diags(scales)
    rows = system.constant.size
    largest = np.asarray(abs(matrix).max(axis=1).todense()).reshape(-1) if rows else np.zeros(0)
    factors = 1.0 / np.where(largest > 0, largest, 1.0)
    matrix = (sp.diags(factors) @ matrix).tocsr()
    limit = -floats(system.constant) * factors
    sign = programme.sign
    offset = sign * system.offset - (unit.zero or 0)
    left_out = len(programme.left_out) + sum(row.excess.degree > 1 for row in programme.rows)
    return StatedArrays(
        programme.sense,
        sign * floats(system.cost) * scales / unit.scale,
        float(offset / unit.factor),
        relaxation.lower / scales,
        relaxation.upper / scales,
        np.array([bool(step) for step in system.whole], dtype=bool),
        matrix.indptr.astype(np.int64),
        matrix.indices.astype(np.int64),
        matrix.data,
        np.where(system.equal, limit, -np.inf),
        limit,
        str(unit),
        over if not left_out else f"{over} without {left_out} rules that are not affine",
        not left_out,
    )
