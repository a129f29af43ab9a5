r"""The programme that the text states, and bounds of it.

A blueprint may ask for more than its text: a limit too tight, an equation for an inequality. Its
own bound then says nothing about the problem. Where somebody annotated the requirements, the
bound is therefore taken of these: of every plan that keeps them, whatever the blueprint adds.

Any multipliers give a valid bound. Those of the schedule belong to the blueprint's rows; a row that
says the same as a requirement, up to a factor, hands its multiplier over. Where that does not close
the gap, a linear solver proposes others (:mod:`engiagent.verify.levels.relaxation`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np

from engiagent.blueprint.document import ConstraintDef, Core, VariableDef
from engiagent.blueprint.grammar import Reduce, Ref, parse, parse_binder, walk
from engiagent.errors import EngiagentError
from engiagent.verify import arithmetic, values
from engiagent.verify.documents import Bench, Declarations
from engiagent.verify.evaluate import Compared
from engiagent.verify.levels.algebra import Rule, rules_of_core
from engiagent.verify.levels.bands import Banded, banded, bands_of, common_factor, tighten_band
from engiagent.verify.levels.execution import Plant
from engiagent.verify.levels.forms import Columns, Form
from engiagent.verify.levels.goals import Objective
from engiagent.verify.levels.optimality import DualBound, Row, bound_of_rows, row_of, rows_of
from engiagent.verify.levels.physical import physical_rows
from engiagent.verify.levels.variables import Bounds
from engiagent.verify.requirements import Requirements
from engiagent.verify.schedule import Multipliers
from engiagent.verify.series import Series
from engiagent.verify.sweeps import triplets
from engiagent.verify.values import EPSILON, Floats, Ints, Value
from engiagent.verify.vocabulary import declared_unit, is_state

METHOD: Final = "dual bound of the stated requirements, recomputed from multipliers"
ALIKE: Final = 1e-9
"""How near to one another two rows say the same; a mistake here weakens the bound, no more."""
Said = tuple[str, int, int, str, float]
"""Quantity, first element, how many, operator and number."""


@dataclass(frozen=True, eq=False)
class Stated:
    """The requirements as a programme over the quantities in which they are written.

    Attributes
    ----------
    bench
        On which they are evaluated.
    core
        Their sets, parameters and rules, with a variable for every quantity.
    boxes
        Bounds that rows with a single term set.
    rows
        All other rows, as excesses that an operator compares with zero.
    """

    bench: Bench
    core: Core
    boxes: dict[str, Bounds]
    rows: tuple[tuple[Rule, str, Value], ...]


def stated_programme(bench: Bench, requirements: Requirements) -> Stated:
    """Return the programme that annotated requirements and declared dynamics state.

    Only quantities that the bench has numbers for are part of it; a rule over others is left out,
    which loosens every bound.
    """
    constraints = tuple(
        ConstraintDef(constraint_id=r.id, expression=r.expression, forall=r.forall, where=r.where)
        for r in requirements.requirements
    )
    physics = tuple(physical_rows(Plant(bench, requirements.dynamics)))
    core = replace(requirements.core, constraints=(*constraints, *physics))
    for _ in _compared(bench, core):
        pass  # by which the bench learns which quantities there are
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
    return Stated(bench, core, *_boxes(bench, core))


def _compared(bench: Bench, core: Core) -> Iterator[tuple[Rule, Compared]]:
    """Yield the comparisons of every rule that can be evaluated."""
    for rule in rules_of_core(core):
        try:
            frame = bench.evaluator.frame(rule.forall, rule.where)
            compared = bench.evaluator.compared(rule.expression, frame) if frame.size else []
        except EngiagentError:
            continue  # the algebra level says what is wrong with it
        yield rule, compared


def _boxes(
    bench: Bench, core: Core
) -> tuple[dict[str, Bounds], tuple[tuple[Rule, str, Value], ...]]:
    """Return the bounds of all quantities, and the rows that are none.

    Bounds are set by rows with a single term, and by what says yes or no. Rows are excesses that an
    operator compares with zero.
    """
    owner = {bench.variables[v.name].order: v.name for v in core.decision_variables}
    boxes: dict[str, Bounds] = {}
    binary = {v.name for v in core.decision_variables if v.type == "binary"}
    for name in owner.values():
        size = bench.variables[name].data.size
        everywhere = np.broadcast_to(np.True_, (size,))
        ends = (0.0, 1.0) if name in binary else (-np.inf, np.inf)
        boxes[name] = Bounds(np.full(size, ends[0]), np.full(size, ends[1]), everywhere)
    others = []
    done: set[Said | None] = set()
    for rule, compared in _compared(bench, core):
        for op, left, right in compared:
            if _is_bound(bench, boxes, owner, op, (left, right), done):
                continue
            excess = arithmetic.add(left, right, -1.0)
            if not _is_loose_bound(bench, boxes, owner, op, excess):
                others.append((rule, op, excess))
    return boxes, tuple(others)


def _is_bound(
    bench: Bench,
    boxes: Mapping[str, Bounds],
    owner: Mapping[int, str],
    op: str,
    sides: tuple[Value, Value],
    done: set[Said | None],
) -> bool:
    """Tighten the box of a quantity that is compared with a number; whether it was one.

    What is ``done`` was said before, by a requirement or by the limit of a unit.
    """
    if sides[0].degree + sides[1].degree != 1:
        return False
    bands = bands_of(sides[0] if sides[0].degree else sides[1]) or []
    if len(bands) != 1 or bands[0].order not in owner or not bands[0].factors.all():
        return False
    name, band = owner[bands[0].order], bands[0]
    if sides[1].degree:
        band = replace(band, factors=-band.factors)
    said = _said(name, band.start, op, sides)
    if said is None or said not in done:
        tighten_band(boxes[name], op, sides, bench.variables[name].data, band)
        done.add(said)
    return True


def _said(name: str, start: int, op: str, sides: tuple[Value, Value]) -> Said | None:
    """Return what a comparison of a plain quantity with one number says; None of any other."""
    turned = bool(sides[1].degree)
    here, number = sides[turned], values.thin(sides[not turned].data)
    plain = all(link.kind == "gather" and not link.parent.links for link in here.links)
    if not plain or number.size != 1:
        return None
    if turned:
        op = {"<=": ">=", ">=": "<="}.get(op, op)
    return name, start, here.data.size, op, float(number[0])


def _is_loose_bound(
    bench: Bench, boxes: Mapping[str, Bounds], owner: Mapping[int, str], op: str, excess: Value
) -> bool:
    """Tighten the box of the only quantity in an excess, one term a row in whatever order."""
    if excess.degree != 1 or bands_of(excess) is not None:
        return False
    parts = triplets(excess)
    named = [(owner[order], part) for order, part in parts.items() if order in owner]
    if len(parts) != 1 or not named or not _one_term(named[0][1], excess.data.size):
        return False
    name, found = named[0]
    _tighten(boxes[name], op, excess, bench.variables[name].data, found)
    return True


def _one_term(part: tuple[Ints, Ints, Floats], size: int) -> bool:
    """Whether every row has exactly one coefficient, other than zero."""
    rows, _, factors = part
    return rows.size == size and bool((np.diff(rows) == 1).all()) and bool(factors.all())


def _tighten(
    box: Bounds, op: str, excess: Value, here: Floats, part: tuple[Ints, Ints, Floats]
) -> None:
    """Tighten a box in place by rows with one term each, rounded outwards."""
    _, places, factors = part
    limit = here[places] - excess.data / factors
    room = 16 * EPSILON * excess.size / np.abs(factors)
    positive = factors > 0
    if op != "<=":
        np.maximum.at(box.lower, places[positive], (limit - room)[positive])
        np.minimum.at(box.upper, places[~positive], (limit + room)[~positive])
    if op != ">=":
        np.minimum.at(box.upper, places[positive], (limit + room)[positive])
        np.maximum.at(box.lower, places[~positive], (limit - room)[~positive])


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

    Parameters
    ----------
    objective
        The text's objective.
    bench, core, duals
        The blueprint and the multipliers of its rows.
    """
    if objective.node.degree > 1:
        return DualBound(None, reason="the objective is not affine in the quantities")
    sign = 1.0 if objective.sense == "minimize" else -1.0
    try:
        theirs = list(rows_of(bench, core, duals, objective.node.unit, sign))
    except EngiagentError as error:
        return DualBound(None, reason=str(error))
    columns, other = _columns(stated, bench, core)
    ours = [
        (rule, op, Comparable(excess, columns))
        for rule, op, excess in stated.rows
        if excess.degree == 1
    ]
    rows = []
    for row in theirs:
        if row.value.degree == 1 and row.multipliers.any():
            rows += _same(row, Comparable(row.value, other), ours)
    return bound_of_rows(stated.bench, stated.core, rows, stated.boxes, objective.node, sign)


def _columns(stated: Stated, bench: Bench, core: Core) -> tuple[Columns, Columns]:
    """Return where the elements of quantities, and of variables that stand for them, are."""
    starts: dict[int, int] = {}
    names: dict[str, int] = {}
    point: list[Floats] = []
    total = 0
    for definition in stated.core.decision_variables:
        value = stated.bench.variables[definition.name]
        starts[value.order] = names[definition.name] = total
        point.append(value.data)
        total += value.data.size
    theirs: dict[int, int] = {}
    for variable in core.decision_variables:
        known = bench.variables.get(variable.name)
        if known is None:
            continue
        size = known.data.size
        here = names.get(variable.quantity or "")
        if here is not None and stated.bench.variables[str(variable.quantity)].data.size == size:
            theirs[known.order] = here
            continue
        theirs[known.order] = total
        point.append(known.data)
        total += size
    return Columns(starts, point), Columns(theirs, point)


@dataclass(frozen=True, eq=False)
class Comparable:
    """An affine value over columns, as bands where it is some, else as a sparse matrix."""

    value: Value
    over: Columns

    @cached_property
    def banded(self) -> Banded | None:
        """The value as bands."""
        return banded(self.value, self.over.starts)

    @cached_property
    def form(self) -> Form:
        """The value as a sparse matrix."""
        return self.over.form(self.value)

    def factor(self, other: "Comparable") -> Floats | None:
        """Return by what each row of this value has to be multiplied to be that of another."""
        if self.banded is not None and other.banded is not None:
            return common_factor(self.banded, other.banded, self.over.at, ALIKE)
        return _factor(self.form, other.form)


def _same(row: Row, theirs: Comparable, ours: Sequence[tuple[Rule, str, Comparable]]) -> list[Row]:
    """Return the requirements that say the same as a row, with its multipliers."""
    for rule, op, own in ours:
        factor = theirs.factor(own)
        if factor is not None:
            return [row_of(rule, own.value, op, row.multipliers / factor)]
    return []


def _factor(one: Form, two: Form) -> Floats | None:
    """Return by what each row of one form has to be multiplied to be that of another."""
    a, b = one.matrix, two.matrix
    if one.size != two.size or a.nnz != b.nnz or not np.array_equal(a.indptr, b.indptr):
        return None
    a.sort_indices()
    b.sort_indices()
    counts = np.diff(a.indptr)
    if not counts.all() or not np.array_equal(a.indices, b.indices) or not a.data.all():
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
