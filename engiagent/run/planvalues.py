"""What a plan says: series of components over time, and what expressions are worth at it."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from engiagent.blueprint.elaborate import Elaboration
from engiagent.blueprint.elements import ExpressionDef, VariableDef
from engiagent.blueprint.evaluate import Evaluator
from engiagent.blueprint.grammar import Binary, Compare, Node, Ref, parse, walk
from engiagent.blueprint.grid import Grid
from engiagent.blueprint.indexing import Value
from engiagent.blueprint.placement import WEIGHT
from engiagent.blueprint.sets import IndexSet
from engiagent.blueprint.timeaxis import Floats
from engiagent.errors import EngiagentError
from engiagent.formulations.components.fragment import buses_of
from engiagent.solvers.arrays import AnySolution
from engiagent.units.unit import UnitError, conversion, parse_unit


class MissingValuesError(EngiagentError):
    """A variable has no values in a schedule, as in the record of a plant that does not show it."""


class PlanEvaluator(Evaluator):
    """Evaluates expressions at a plan: a variable is worth what the schedule says."""

    def __init__(self, elaboration: Elaboration, solution: AnySolution) -> None:
        super().__init__(elaboration.index_set, elaboration.table, elaboration.named)
        self._solution = solution
        self._sets = {
            variable.name: tuple(
                elaboration.index_set(b.set) for b in elaboration.binders(variable.index)
            )
            for variable in elaboration.core.decision_variables
        }

    def is_variable(self, name: str) -> bool:
        """Whether a name is a decision variable."""
        return name in self._sets

    def sets_of(self, name: str) -> tuple[Any, ...]:
        """Return the sets by which a name is indexed."""
        return self._sets[name] if name in self._sets else super().sets_of(name)

    def variable(self, ref: Ref, grid: Grid) -> Value:
        """Return what the plan says at the elements that a reference names."""
        sets = self._sets[ref.name]
        if ref.name not in self._solution:
            raise MissingValuesError(f"the schedule does not hold {ref.name}")
        place = self.place(ref, sets, grid)
        self.refuse_outside(ref, place, grid)
        values = np.asarray(self._solution.variables[ref.name].values, dtype=np.float64)
        if values.shape != tuple(index_set.size for index_set in sets):
            raise EngiagentError(f"{ref.name} of the schedule is not indexed as the blueprint says")
        return values.reshape(-1)[place.flat]


@dataclass(frozen=True)
class Horizon:
    """One of the horizons that stand for a year: its name, its set if any, and how many of it."""

    name: str
    weight: float
    over: str | None = None
    position: int = 0


def horizons_of(elaboration: Elaboration) -> list[Horizon]:
    """Return the horizons of a plan that has weights; none of a plan that stands for itself."""
    known = next((p for p in elaboration.core.parameters if p.name == WEIGHT), None)
    if known is None:
        return []
    found = elaboration.table(WEIGHT)
    weights = np.asarray(found.values, dtype=np.float64).ravel().tolist()
    if not found.sets:
        return [Horizon("horizon", weights[0])]
    over = found.sets[0]
    names = zip(over.labels, weights, strict=True)
    return [Horizon(str(name), weight, over.name, k) for k, (name, weight) in enumerate(names)]


@dataclass(frozen=True)
class _Place:
    """Which index of an array is time, and which one is that of a horizon."""

    along: int
    across: int | None
    position: int

    @classmethod
    def of(cls, sets: Sequence[IndexSet], along: int, horizon: Horizon | None) -> "_Place":
        """Return where in an array over some sets a series of a horizon lies."""
        over = None if horizon is None else horizon.over
        across = next((k for k, s in enumerate(sets) if s.name == over), None)
        return cls(along, across, 0 if horizon is None else horizon.position)

    def series(self, values: Floats) -> Floats:
        """Return the values of the horizon, time last."""
        last = np.moveaxis(values, self.along, -1)
        if self.across is None:
            return last
        across = self.across - (self.across > self.along)
        return np.asarray(np.take(last, self.position, axis=across), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class PlanSeries:
    """A series of a component over time."""

    # variable, component, word: the name in the blueprint, and what it is of what
    variable: str
    component: str
    word: str
    unit: str
    values: Floats  # in ``unit``, time last; NaN where there is nothing
    time: IndexSet  # the set of times
    place: "_Place"  # where it lies in the blueprint's own shape

    def within(self, unit: str) -> "PlanSeries | None":
        """Return the series in another unit; None in one of another dimension."""
        try:
            factor, shift = conversion(parse_unit(self.unit), parse_unit(unit))
        except UnitError:
            return None
        return replace(self, values=factor * self.values + shift, unit=unit)

    @property
    def key(self) -> tuple[str, str]:
        """The component and the word."""
        return self.component, self.word

    @property
    def summed(self) -> Floats:
        """The sum over units at each place of the whole axis."""
        full = np.zeros(self.time.root.size)
        rows = self.values.reshape(-1, self.values.shape[-1])
        full[self.time.in_root] = np.nansum(rows, axis=0)
        return full

    def integral(self) -> float:
        """Return the sum over units and time [unit times h], by trapezoids between instants."""
        values, axis = self.summed, self.time.root.axis
        assert axis is not None
        if self.time.root.kind == "instants":
            values = (values[:-1] + values[1:]) / 2.0
        return float(values @ axis.steps)


def plan_series(
    elaboration: Elaboration, solution: AnySolution, horizon: Horizon | None = None
) -> Iterator[PlanSeries]:
    """Yield the series of a plan, but for those that differ between scenarios."""
    core, arrays = elaboration.core, solution.variables
    names = {part.name for part in core.components}
    items: Iterable[VariableDef | ExpressionDef] = (*core.decision_variables, *core.expressions)
    for item in items:
        owner, _, word = (item.quantity or "").rpartition(".")
        if not owner or item.name not in arrays:
            continue
        array = arrays[item.name]
        sets = [elaboration.index_set(binder.set) for binder in elaboration.binders(item.index)]
        at = [k for k, s in enumerate(sets) if (a := s.root.axis) and a.step_unit == "h"]
        if len(at) != 1 or array.shape != tuple(s.size for s in sets):
            continue
        place = _Place.of(sets, at[0], horizon)
        others = (s for k, s in enumerate(sets) if k != place.across)
        if not any("scenario" in _kinds(s.root) for s in others):
            values = place.series(np.asarray(array.values, dtype=np.float64))
            unit = str(array.attrs.get("units") or "1")
            component, time = _component(owner, names), sets[at[0]]
            yield PlanSeries(item.name, component, word, unit, values, time, place)


def _component(owner: str, names: Collection[str]) -> str:
    """Return the component of a quantity's first words, as of ``zone.kitchen``."""
    inner = owner.removeprefix("zone.")
    known = (owner, inner, inner.partition(".")[0])
    return next((name for name in known if name in names), owner)


def _kinds(found: IndexSet) -> tuple[str, ...]:
    """Return the kinds of a set and of the parts of its elements."""
    return (found.kind, *(kind for part in found.factors for kind in _kinds(part.root)))


@dataclass(frozen=True)
class BusTerm:
    """What one series of a component gives to a bus, or takes from it, over the horizon."""

    # bus, component, word: whose series it is, by the last word of its quantity, and on which bus
    bus: str
    component: str
    word: str
    supplies: bool  # whether it stands among the sources
    energy: float  # its power times the lengths of the periods. [kWh]


def bus_terms(
    elaboration: Elaboration,
    solution: AnySolution,
    series: Collection[PlanSeries],
    horizon: Horizon | None = None,
) -> Iterator[BusTerm]:
    """Yield the terms of the balance of every bus that components are on."""
    core = elaboration.core
    buses = dict.fromkeys(bus for part in core.components for bus in buses_of(part))
    rows = {row.constraint_id: row for row in core.constraints}
    evaluator, checker = PlanEvaluator(elaboration, solution), elaboration.checker()
    for bus, row in ((bus, rows.get(f"balance_{bus}")) for bus in buses):
        binders = () if row is None else elaboration.binders(row.forall)
        sets = [elaboration.index_set(binder.set) for binder in binders]
        along = next((k for k, s in enumerate(sets) if (a := s.axis) and a.step_unit == "h"), None)
        tree = None if row is None else parse(row.expression)
        if along is None or not isinstance(tree, Compare):
            continue
        place, axis = _Place.of(sets, along, horizon), sets[along].axis
        if axis is None or len(sets) > 1 + (place.across is not None):
            continue
        grid, scope = elaboration.grid(binders), checker.scope_of(binders)
        sides = zip(tree.operands, (True, False), strict=True)
        for node, supplies in (term for side, up in sides for term in _terms(side, up)):
            names = {part.name for part in walk(node) if isinstance(part, Ref)}
            own = next((item for item in series if item.variable in names), None)
            if own is not None:
                typed = checker.number(node, scope, parse_unit("kW"))
                try:
                    power = np.broadcast_to(evaluator.number(typed.node, grid), (grid.size,))
                except MissingValuesError:
                    continue
                shaped = power.reshape([s.size for s in sets])
                energy = float(place.series(shaped) @ axis.steps)
                yield BusTerm(bus, own.component, own.word, supplies, energy)


def _terms(node: Node, supplies: bool) -> Iterator[tuple[Node, bool]]:
    """Yield the additive terms of a side of a balance, each with whether it supplies the bus."""
    if isinstance(node, Binary) and node.op in "+-":
        yield from _terms(node.left, supplies)
        yield from _terms(node.right, supplies == (node.op == "+"))
    else:
        yield node, supplies
