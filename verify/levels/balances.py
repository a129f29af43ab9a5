"""States executed by the balances that a document states itself, where no model declares them.

An equation such as ``e[v, t+1] == e[v, t] + (take[v, t] - give[v, t])*dt(t)`` is the declaration of
its state: starting from the first instant, every value follows from those before and from the
decisions. All states are computed so, one instant after another and together where they act on one
another, and the plan's own values are held against them. Where a balance holds products or
functions of states, as a tank's outflow by the root of its level, these are taken at the plan's
values first and then at the computed ones, until nothing moves any more.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from operator import itemgetter
from typing import Final

import numpy as np

from engiagent.blueprint.elements import VariableDef
from engiagent.blueprint.sets import IndexSet
from engiagent.errors import EngiagentError
from engiagent.verify.documents import Bench
from engiagent.verify.levels.algebra import rows_of
from engiagent.verify.plants.run import Trajectory
from engiagent.verify.series import Series
from engiagent.verify.values import Bools, Floats, Ints, Value, atoms_of, triplets
from engiagent.verify.vocabulary import is_state

REPETITIONS: Final = 500
"""How often nonlinear balances are computed again at most: a year's steps settle long before."""
PATIENCE: Final = 20
"""How many repetitions may pass without more elements at rest, or less movement of the others."""
AT_REST: Final = 1e-12
"""Share of a state's largest value below which a further repetition moves nothing."""


@dataclass(frozen=True)
class Executed:
    """What the balances make of a state.

    ``trajectories``: one for each element of the sets beside time; empty where a step has no
    balance. ``series``: the recomputed state as a whole, in the shape of the schedule's.
    """

    definition: VariableDef
    trajectories: tuple[Trajectory, ...] = ()
    series: Series | None = None


@dataclass(frozen=True)
class _State:
    """A state: its elements have the numbers from ``start`` on, ``times`` their place in time."""

    definition: VariableDef
    own: Value
    dims: tuple[IndexSet, ...]
    along: int
    start: int

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(d.size for d in self.dims)

    @property
    def times(self) -> Ints:
        places: Ints = np.indices(self.shape)[self.along].reshape(-1)
        return places


@dataclass(frozen=True)
class _Row:
    """A row of an equation: how elements of states enter it, and by how much it is off.

    ``alone``: nothing but states enters, so that it is no definition of something else.
    """

    excess: float
    elements: tuple[int, ...]
    factors: tuple[float, ...]
    alone: bool


@dataclass(frozen=True)
class _System:
    """The states of a plan and the rows of equations into which they enter.

    ``unfit``: states that do not run over time as a whole. ``bent``: whether products or functions
    of states stand in rows; their values are those at the plan's states.
    """

    states: Mapping[int, _State]
    rows: Sequence[_Row]
    unfit: Sequence[VariableDef]
    bent: bool

    @classmethod
    def of(cls, bench: Bench) -> "_System":
        """Return the states and equations of a document with the numbers of a plan."""
        states: dict[int, _State] = {}
        unfit = []
        start = 0
        for definition in states_of(bench):
            state = _state(bench, definition, start)
            if state is None:
                unfit.append(definition)
                continue
            states[state.own.order] = state
            start += state.own.data.size
        equations = rows_of(bench, bench.declarations.core) if states else ()
        found = [_rows(row.excess, states) for row in equations if row.equal]
        rows = [row for part, _ in found for row in part]
        return cls(states, rows, unfit, any(bent for _, bent in found))

    def part(self, state: _State) -> slice:
        """Return the numbers of a state's elements."""
        return slice(state.start, state.start + state.own.data.size)

    def propagated(self) -> tuple[Floats, Floats, Bools]:
        """Return what :func:`_propagated` makes of the rows."""
        times = np.concatenate([state.times for state in self.states.values()])
        return _propagated(self.rows, times)


def largest(off: Floats) -> float:
    """Return the largest magnitude, NaN when there is one."""
    return float(np.max(np.abs(off), initial=0.0))


def states_of(bench: Bench) -> list[VariableDef]:
    """Return the variables that a document calls states."""
    return [v for v in bench.declarations.core.decision_variables if v.role == "state"]


def computed_states(bench: Bench) -> list[str]:
    """Return the states that a document defines as expressions over its decisions."""
    return [
        f"{e.quantity} is computed from the decisions by the expression {e.name}"
        for e in bench.declarations.core.expressions
        if e.quantity is not None and is_state(e.quantity)
    ]


def execute_balances(bench: Bench) -> Iterator[Executed]:
    """Yield every state with what the balances make of the decisions."""
    system = _System.of(bench)
    yield from map(Executed, system.unfit)
    if not system.states:
        return
    change, defect, known = system.propagated()
    if system.bent:
        change, known = _settled(bench, system, change, known)
    for state in system.states.values():
        own = system.part(state)
        if known[own].all():
            yield _executed(bench, state, change[own], defect[own])
        else:
            yield Executed(state.definition)


def _settled(bench: Bench, system: _System, change: Floats, known: Bools) -> tuple[Floats, Bools]:
    """Return the changes when what is nonlinear in the states follows them, and what is determined.

    Each repetition is one more step exact where the rows look back, and a contraction where they
    look ahead by short steps; a state that does not come to rest is not determined.
    """
    reach = np.concatenate(
        [np.full(s.own.data.size, largest(s.own.data)) for s in system.states.values()]
    )
    still = np.zeros(known.size, dtype=np.bool_)
    least, idle = (known.size + 1, float("inf")), 0
    for _ in range(REPETITIONS):
        if not np.isfinite(change).all() or idle == PATIENCE:
            break
        moved = Bench(
            bench.declarations, {**bench.series, **_moved(system, change)}, bench.recomputed
        )
        step, _, _ = _System.of(moved).propagated()
        change = change + step
        still = np.abs(step) <= AT_REST * reach
        if still.all():
            break
        left = int(np.count_nonzero(~still)), float(np.abs(step[~still]).max())
        least, idle = (left, 0) if left < least else (least, idle + 1)
    return change, known & still


def _moved(system: _System, change: Floats) -> dict[str, Series]:
    found = {}
    for state in system.states.values():
        definition, unit = state.definition, state.own.unit
        data = unit.from_si(state.own.data + change[system.part(state)])
        dims = tuple(d.name for d in state.dims)
        for name in {definition.name, definition.quantity or definition.name}:
            found[name] = Series(name, data.reshape(state.shape), unit, dims)
    return found


def _state(bench: Bench, definition: VariableDef, start: int) -> _State | None:
    dims = tuple(bench.evaluator.environment.symbol(definition.name).dims)
    own = bench.variables.get(definition.name)  # filled by the line above
    ordered = [k for k, d in enumerate(dims) if d.kind in ("instants", "time", "periods")]
    if own is None or len(ordered) != 1 or own.data.size != np.prod([d.size for d in dims]):
        return None
    return _State(definition, own, dims, ordered[0], start)


def _rows(value: Value, states: Mapping[int, _State]) -> tuple[list[_Row], bool]:
    """Return the rows of an equation into which states enter, and whether some are nonlinear."""
    found = triplets(value)
    parents = [parent for node in atoms_of([value]) if node.atom for parent in node.atom.parents]
    bent = any(states.keys() & triplets(parent).keys() for parent in parents)
    rows: dict[int, dict[int, float]] = {}
    for order in found.keys() & states.keys():
        start = states[order].start
        for row, element, factor in zip(*(part.tolist() for part in found[order]), strict=True):
            own = rows.setdefault(row, {})
            own[start + element] = own.get(start + element, 0.0) + factor
    result = []
    for row, factors in rows.items():
        used = {element: factor for element, factor in factors.items() if factor}
        if used:
            excess = float(value.data[row])
            alone = not bent and found.keys() <= states.keys()
            result.append(_Row(excess, tuple(used), tuple(used.values()), alone))
    return result, bent and bool(result)


def _propagated(rows: Sequence[_Row], times: Ints) -> tuple[Floats, Floats, Bools]:
    """Return by how much every element changes when it is computed from those before it.

    With it by how much each step is off on its own, and which elements are determined; those at the
    beginning of which no equation speaks alone are the plan's own choice.

    What links neighbours in time comes before what closes a circle or a window, and both before
    what holds at one time: that a store is full at the end is a requirement, not its balance.
    """
    change, defect = np.zeros(times.size), np.zeros(times.size)
    known = np.zeros(times.size, dtype=np.bool_)
    due: dict[int, list[tuple[int, bool, _Row]]] = {}
    at = times.tolist()
    for row in rows:
        ends = [at[k] for k in row.elements]
        due.setdefault(max(ends), []).append((max(ends) - min(ends), not row.alone, row))
    for time in range(max(at) + 1):
        waiting = sorted(due.get(time, ()), key=itemgetter(0, 1))
        links = [row for span, _, row in waiting if span]
        for rules in (links, [row for span, _, row in waiting if not span]):
            for row in rules:
                unknown = [k for k in row.elements if not known[k]]
                if len(unknown) != 1 or at[unknown[0]] < time:
                    continue
                element = unknown[0]
                factor = row.factors[row.elements.index(element)]
                defect[element] = row.excess / factor
                change[element] = -(row.excess + _before(row, change, known)) / factor
                known[element] = True
            seen = links if rules is links else [row for _, _, row in waiting]
            coupled = [r for r in seen if {at[k] for k in r.elements if not known[k]} == {time}]
            _together(coupled, change, defect, known)
        if time == 0:
            known |= times == 0
    return change, defect, known


def _before(row: _Row, change: Floats, known: Bools) -> float:
    pairs = zip(row.elements, row.factors, strict=True)
    return sum(factor * float(change[k]) for k, factor in pairs if known[k])


def _together(rows: Sequence[_Row], change: Floats, defect: Floats, known: Bools) -> None:
    """Solve for elements of one time that act on one another, where their equations fix them."""
    unknown = sorted({k for row in rows for k in row.elements if not known[k]})
    if not unknown or len(rows) < len(unknown):
        return
    place = {k: n for n, k in enumerate(unknown)}
    matrix = np.zeros((len(rows), len(unknown)))
    for n, row in enumerate(rows):
        for k, factor in zip(row.elements, row.factors, strict=True):
            if k in place:
                matrix[n, place[k]] += factor
    own = np.array([row.excess for row in rows])
    carried = np.array([_before(row, change, known) for row in rows])
    found, _, rank, _ = np.linalg.lstsq(matrix, np.stack([own, own + carried], axis=1), rcond=None)
    if rank < len(unknown):
        return
    defect[unknown], change[unknown] = found[:, 0], -found[:, 1]
    known[unknown] = True


def _executed(bench: Bench, state: _State, change: Floats, defect: Floats) -> Executed:
    definition, unit = state.definition, state.own.unit
    name = definition.quantity or definition.name

    def along(values: Floats) -> Floats:
        rows = np.moveaxis(values.reshape(state.shape), state.along, -1)
        return rows.reshape(-1, rows.shape[-1])

    to_unit = np.vectorize(unit.from_si, otypes=[np.float64])
    claimed, declared = to_unit(state.own.data), to_unit(state.own.data + change)
    others = [d for k, d in enumerate(state.dims) if k != state.along]
    scale = _scale(bench, definition, declared)
    keys, rows = product(*(d.labels for d in others)), (claimed, declared, defect / unit.scale)
    found = []
    for key, was, computed, off in zip(keys, *map(along, rows), strict=True):
        shown = name if not key else f"{name}[{', '.join(map(str, key))}]"
        instants, steps = state.dims[state.along], off[1:]
        text = str(unit)
        found.append(
            Trajectory((name,), shown, text, computed, computed, was, steps, scale, instants)
        )
    dims = tuple(d.name for d in state.dims)
    whole = Series(name, declared.reshape(state.shape), unit, dims)
    return Executed(definition, tuple(found), whole)


def _scale(bench: Bench, definition: VariableDef, declared: Floats) -> float:
    """Return what an error is measured by: the range that is declared, else what it comes to."""
    sizes = []
    for bound in (definition.lower, definition.upper):
        try:
            value = bench.evaluator.evaluate(str(bound)) if bound is not None else None
        except EngiagentError:
            value = None
        if value is not None and value.data.size and not value.degree:
            sizes.append(largest(value.data) / (1.0 if value.bare else value.unit.scale))
    return max([size for size in sizes if np.isfinite(size)], default=0.0) or largest(declared)
