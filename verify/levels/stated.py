r"""The programme that the text states, and bounds of it.

A blueprint may ask for more than its text: a limit too tight, an equation for an inequality. Its
own bound then says nothing about the problem. Where somebody annotated the requirements, the
bound is therefore taken of these: of every plan that keeps them, whatever the blueprint adds.

Any multipliers give a valid bound. Those of the schedule belong to the blueprint's rows; a row that
says the same as a requirement, up to a factor, hands its multiplier over. Where that does not close
the gap, a linear solver proposes others (:mod:`engiagent.verify.levels.relaxation`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

import numpy as np

from engiagent.blueprint.document import ConstraintDef, Core, VariableDef
from engiagent.blueprint.grammar import Reduce, Ref, parse, parse_binder, walk
from engiagent.errors import EngiagentError
from engiagent.units.unit import parse_unit
from engiagent.verify.documents import Bench, Declarations
from engiagent.verify.levels.buses import physical_rows
from engiagent.verify.levels.execution import Plant
from engiagent.verify.levels.forms import Columns, Form
from engiagent.verify.levels.goals import Objective
from engiagent.verify.levels.optimality import DualBound, Row, rows_of
from engiagent.verify.levels.relaxation import Programme, programme_of
from engiagent.verify.levels.relaxed import weights_of
from engiagent.verify.levels.variables import Bounds
from engiagent.verify.requirements import Requirements
from engiagent.verify.schedule import Multipliers
from engiagent.verify.series import Series
from engiagent.verify.sweeps import triplets
from engiagent.verify.values import EPSILON, Floats, Ints, Value
from engiagent.verify.vocabulary import declared_unit, is_state

METHOD: Final = "dual bound of the stated requirements, recomputed from duals"
ALIKE: Final = 1e-9
"""How near to one another two rows say the same; a mistake here weakens the bound, no more."""


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
    """Return the bounds that rows with a single term set, and what says yes or no."""
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
    """Tighten a box in place by rows with one term each, rounded outwards."""
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


def handed_over(
    stated: Stated, objective: Objective, bench: Bench, core: Core, duals: Mapping[str, Multipliers]
) -> DualBound:
    """Return the bound from multipliers of blueprint rows that say what requirements say, in SI.

    ``objective``: the text's objective. ``bench``, ``core``, ``duals``: the blueprint and the
    multipliers of its rows.
    """
    if objective.node.degree > 1:
        return DualBound(None, reason="the objective is not affine in the quantities")
    affine = [row for row in stated.rows if row.excess.degree < 2]
    built = programme_of(stated.bench, stated.core, objective, stated.boxes, affine)
    rows = list(rows_of(bench, core))
    given = weights_of(rows, duals, objective.node.unit, built.sign)
    columns = _shared_columns(stated, built, bench, core)
    ours = list(zip(affine, _spans(affine), strict=True))
    y = np.zeros(built.relaxation.rows.size)
    for row, own in zip(rows, _spans(rows), strict=True):
        if row.excess.degree != 1 or not given[own].any():
            continue
        form = columns.form(row.excess)
        for other, span in ours if form.size else ():
            factor = _factor(form, built.relaxation.rows, span)
            if factor is not None and (other.equal or (factor > 0).all()):
                y[span] += given[own] / factor
                break
    found = built.given_bound(y)
    return DualBound(None if found is None else built.sign * found)


def _spans(rows: Sequence[Row]) -> list[slice]:
    """Return where each of some rows stands when they are stacked."""
    stops = np.cumsum([row.excess.data.size for row in rows]).tolist()
    return [slice(start, stop) for start, stop in pairwise([0, *stops])]


def _shared_columns(stated: Stated, built: Programme, bench: Bench, core: Core) -> Columns:
    """Return where the elements of a blueprint's variables are, those of quantities with these."""
    starts: dict[int, int] = {}
    point = list(built.columns.pieces)
    total = sum(part.size for part in point)
    for variable in core.decision_variables:
        own = bench.variables.get(variable.name)
        quantity = stated.bench.variables.get(variable.quantity or "")
        if own is None:
            continue
        here = None if quantity is None else built.columns.starts.get(quantity.order)
        if quantity is not None and here is not None and quantity.data.size == own.data.size:
            starts[own.order] = here
            continue
        starts[own.order] = total
        point.append(own.data)
        total += own.data.size
    return Columns(starts, point)


def _factor(one: Form, stacked: Form, span: slice) -> Floats | None:
    """Return by what each row of one form has to be multiplied to be that of a part of another."""
    starts = stacked.matrix.indptr[span.start : span.stop + 1]
    if one.size != span.stop - span.start or one.matrix.nnz != starts[-1] - starts[0]:
        return None
    two = stacked.take(span)
    a, b = one.matrix, two.matrix
    counts = np.diff(a.indptr)
    if not np.array_equal(a.indptr, b.indptr) or not counts.all():
        return None
    a.sort_indices()
    b.sort_indices()
    if not np.array_equal(a.indices, b.indices) or not a.data.all():
        return None
    first = a.indptr[:-1]
    factor = np.asarray(b.data[first] / a.data[first])
    scaled = np.repeat(factor, counts) * a.data
    if (np.abs(scaled - b.data) > ALIKE * np.abs(b.data)).any():
        return None
    # The errors of the constants tell how large the terms are that make them.
    room = ALIKE / EPSILON * (two.error + np.abs(factor) * one.error)
    if (np.abs(factor * one.constant - two.constant) > room).any():
        return None
    return factor if factor.all() and np.isfinite(factor).all() else None
