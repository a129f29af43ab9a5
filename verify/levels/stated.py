"""The programme that the text states.

A blueprint may ask for more than its text: a limit too tight, an equation for an inequality. Its
own bound then says nothing about the problem. Where somebody annotated the requirements, the
bound is therefore taken of these: of every plan that keeps them, whatever the blueprint adds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from engiagent.blueprint.elements import ConstraintDef, Core, VariableDef
from engiagent.blueprint.grammar import Reduce, Ref, parse, parse_binder, walk
from engiagent.errors import EngiagentError
from engiagent.units.unit import parse_unit
from engiagent.verify.case import Case
from engiagent.verify.documents import Bench, Declarations
from engiagent.verify.frames import Bools
from engiagent.verify.levels import robust
from engiagent.verify.levels.algebra import Row, rows_of
from engiagent.verify.levels.execution import Plant, physical_rows
from engiagent.verify.levels.goals import evaluate_objective
from engiagent.verify.levels.relaxation import Programme, programme_of
from engiagent.verify.levels.relaxed import row_balanced, scaled
from engiagent.verify.levels.variables import Bounds
from engiagent.verify.requirements import Goal, Requirements
from engiagent.verify.series import Series
from engiagent.verify.values import EPSILON, Floats, Ints, Value, triplets
from engiagent.verify.vocabulary import declared_unit, is_state


@dataclass(frozen=True, eq=False)
class Stated:
    """The requirements as a programme over the quantities in which they are written.

    ``bench``: on which they are evaluated. ``core``: their sets, parameters and rules, with a
    variable for every quantity. ``boxes``: bounds that rows with a single term set. ``rows``: those
    of its rules and of declared dynamics.
    """

    bench: Bench
    core: Core
    boxes: dict[str, Bounds]
    rows: tuple[Row, ...]


def stated_programme(bench: Bench, requirements: Requirements) -> Stated:
    """Return the programme that annotated requirements and declared dynamics state.

    Only quantities that the bench has numbers for are part of it; a rule over others is left out,
    which loosens every bound.
    """
    physics = tuple(physical_rows(Plant(bench, requirements.dynamics)))
    constraints = (
        ConstraintDef(constraint_id=r.id, expression=r.expression, forall=r.forall, where=r.where)
        for r in requirements.requirements
    )
    core = replace(requirements.core, constraints=(*constraints, *physics))
    rows = tuple(rows_of(bench, core))  # by which the bench learns which quantities there are
    kinds = {item.name: item.type for item in requirements.counted}
    variables = []
    for name in bench.variables:
        dims = bench.evaluator.environment.symbol(name).dims
        index = tuple(dim.name for dim in dims)
        if all(dim in bench.declarations.sets for dim in index):
            variables.append(
                VariableDef(name=name, index=index, type=kinds.get(name, "continuous"))
            )
    core = replace(core, decision_variables=tuple(variables))
    return Stated(bench, core, _boxes(bench, core, rows), rows)


def _boxes(bench: Bench, core: Core, rows: Sequence[Row]) -> dict[str, Bounds]:
    owner = {bench.variables[v.name].order: v.name for v in core.decision_variables}
    binary = {v.name for v in core.decision_variables if v.type == "binary"}
    boxes: dict[str, Bounds] = {}
    for name in owner.values():
        size = bench.variables[name].data.size
        ends = (0.0, 1.0) if name in binary else (-np.inf, np.inf)
        everywhere = np.broadcast_to(np.True_, (size,))
        boxes[name] = Bounds(np.full(size, ends[0]), np.full(size, ends[1]), everywhere)
    for row in rows:
        parts = triplets(row.excess) if row.excess.degree == 1 else {}
        named = [(owner[order], part) for order, part in parts.items() if order in owner]
        if len(parts) == len(named) == 1 and _one_term(named[0][1], row.excess.data.size):
            name, part = named[0]
            _tighten(boxes[name], row.equal, row.excess, bench.variables[name].data, part)
    return boxes


def _one_term(part: tuple[Ints, Ints, Floats], size: int) -> bool:
    """Whether every row has exactly one coefficient, other than zero."""
    rows, _, factors = part
    return rows.size == size and bool((np.diff(rows) == 1).all()) and bool(factors.all())


def _tighten(
    box: Bounds, equal: bool, excess: Value, here: Floats, part: tuple[Ints, Ints, Floats]
) -> None:
    _, places, factors = part
    limit = here[places] - excess.data / factors
    room = 16 * EPSILON * excess.size / np.abs(factors)
    for chosen in (factors > 0, factors < 0) if equal else (factors > 0,):
        np.minimum.at(box.upper, places[chosen], (limit + room)[chosen])
    for chosen in (factors > 0, factors < 0) if equal else (factors < 0,):
        np.maximum.at(box.lower, places[chosen], (limit - room)[chosen])


def without_repeats(rows: Sequence[Row], requirements: Requirements) -> tuple[Row, ...]:
    """Return rows without equations of declared dynamics that requirements state as well.

    Their coefficients are doubles: an equation that is repeated with another last digit would leave
    no plan at all, or prove what is not asked. Fewer rows only make a bound weaker.
    """
    own = {item.id for item in requirements.requirements}
    places = [_places(row) if row.equal and row.excess.degree == 1 else None for row in rows]
    pairs = list(zip(rows, places, strict=True))
    repeated = [part for row, part in pairs if part is not None and row.rule.id in own]
    covered = np.concatenate([np.zeros(0, dtype=np.int64), *repeated])
    return tuple(
        row
        for row, part in pairs
        if part is None or row.rule.id in own or not np.isin(part, covered).all()
    )


def _places(row: Row) -> Ints:
    """Return a number for each element that has a coefficient in a row."""
    parts = [at + (order << 32) for order, (_, at, _) in triplets(row.excess).items()]
    return np.unique(np.concatenate(parts))


def zeros(declarations: Declarations) -> dict[str, Series]:
    """Return zero for every variable: which number does not matter to what is affine."""
    points: dict[str, Series] = {}
    for variable in declarations.core.decision_variables:
        dims, _ = declarations.dims(variable.index)
        shape, names = tuple(dim.size for dim in dims), tuple(dim.name for dim in dims)
        unit = parse_unit(variable.unit or "1")
        points[variable.name] = Series(variable.name, np.zeros(shape), unit, names)
    return points


def with_points(
    declarations: Declarations, requirements: Requirements, points: Mapping[str, Series]
) -> dict[str, Series]:
    """Return series in which every quantity that requirements speak of has some number.

    What no series is there for gets noughts, over the sets by whose elements it is indexed.
    """
    found = dict(points)
    for requirement in requirements.requirements:
        try:
            node = parse(requirement.expression)
            binders = [parse_binder(text) for text in requirement.forall]
        except EngiagentError:
            continue  # the algebra level says what is wrong with it
        nodes = list(walk(node))
        binders += [b for part in nodes if isinstance(part, Reduce) for b in part.binders]
        over = {name: binder.set for binder in binders for name in binder.names}
        for part in nodes:
            if isinstance(part, Ref) and "." in part.name and part.name not in found:
                series = _noughts(part, over, declarations)
                if series is not None:
                    found[part.name] = series
    return found


def _noughts(ref: Ref, over: Mapping[str, str], declarations: Declarations) -> Series | None:
    """Return a series of noughts for a quantity, None where its sets or its unit are not known."""
    unit = declared_unit(ref.name)
    dims = []
    for index in ref.indices:
        names = [node.name for node in walk(index) if isinstance(node, Ref)]
        sets = [over.get(name, name) for name in names]
        known = declarations.sets.get(sets[0]) if len(sets) == 1 else None
        if known is None:
            return None
        if is_state(ref.name) and known.kind == "time":
            instants = [s for s in declarations.sets.values() if s.periods_of is known]
            known = next((s for s in instants if s.kind == "instants"), known)
        dims.append(known)
    if unit is None:
        return None
    shape = tuple(dim.size for dim in dims)
    return Series(ref.name, np.zeros(shape), unit, tuple(dim.name for dim in dims))


def plain_objective(bench: Bench, core: Core) -> tuple[str | None, str, str | None]:
    """Return the expression of an objective that is nothing but one, its sense, or why it is not.

    An objective over scenarios, of several goals, with penalties or at its worst under what is
    uncertain has no expression of its own.
    """
    definition = core.objective_function
    if definition is None:
        return None, "minimize", None
    sense = definition.sense
    if definition.expression is None or definition.terms or definition.scenario is not None:
        return None, sense, "the objective is made of several goals or scenarios"
    if any(c.hard is False and c.penalty is not None for c in core.constraints):
        return None, sense, "the objective has penalties for soft constraints"
    try:
        if robust.swung(bench, core) is not None:
            return None, sense, "the objective is that of the worst case"
    except EngiagentError:
        return None, sense, "what is uncertain was not read"
    return definition.expression, sense, None


# --- the linear programme that a problem states, as plain arrays that a second solver is given --


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


def stated_arrays(case: Case) -> StatedArrays | str:
    """Return what annotated requirements state, else what the blueprint does; or why not."""
    annotated = case.requirements
    left_out: list[str] = []
    by_text = case.bench(True) if case.series else None
    if by_text is not None and annotated is not None and annotated.objective is not None:
        stated = stated_programme(by_text, annotated)
        bench, core, boxes, goal = by_text, stated.core, stated.boxes, annotated.objective
        rows, over = rows_of(bench, core, left_out), "the stated requirements"
        chosen = without_repeats(tuple(rows), annotated)
    elif case.blueprint is not None and case.blueprint.core.objective_function is not None:
        core, boxes, over = case.blueprint.core, None, "the blueprint"
        declarations = Declarations(core, case.problem.folder)
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
