"""Index grids as flat rows, and what names mean on them."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

from engiagent.blueprint.grammar import Binder, Node
from engiagent.blueprint.sets import IndexSet
from engiagent.blueprint.timeaxis import TimeAxis
from engiagent.errors import EngiagentError
from engiagent.units.unit import parse_unit
from engiagent.verify import values
from engiagent.verify.values import ONE, Floats, Ints, Value

MAX_PAIRS: Final = 400_000_000
CHUNK: Final = 4_000_000

Bools = npt.NDArray[np.bool_]


class EvaluationError(EngiagentError):
    """An expression cannot be evaluated: an unknown name, a wrong index, a unit that clashes."""


class MissingQuantity(EvaluationError):  # noqa: N818 - it is a condition to report, not a mistake
    """An expression needs a quantity that the schedule does not have."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"{name} is not in the schedule and cannot be recomputed")


@dataclass(frozen=True, eq=False)
class Symbol:
    """What a name stands for."""

    name: str
    dims: tuple[IndexSet, ...]  # the sets it is indexed by
    # numbers over the whole grid of ``dims``, flattened in their order; None for labels
    value: Value | None = None
    # labels over the grid, for a parameter whose values are no numbers
    labels: npt.NDArray[np.object_] | None = None
    # for a parameter whose values are elements of a set: the set and their positions
    elements: tuple[IndexSet, Ints] | None = None
    defined: Bools | None = None  # where a sparse variable exists; None when everywhere
    # values before the first period, latest first, for a variable that declares them
    before: Value | None = None


@dataclass(frozen=True, eq=False)
class Environment:
    """Sets and symbols; ``resolve`` finds a name that is computed only when somebody asks."""

    sets: Mapping[str, IndexSet]
    symbols: Mapping[str, Symbol]
    resolve: Callable[[str], Symbol | None] = field(default=lambda name: None)

    def symbol(self, name: str) -> Symbol:
        """Return what ``name`` stands for."""
        found = self.symbols.get(name) or self.resolve(name)
        if found is None:
            if "." in name:
                raise MissingQuantity(name)
            raise EvaluationError(f"unknown name {name!r}")
        return found

    def set(self, name: str) -> IndexSet:
        """Return the set of that name; EvaluationError when there is none."""
        if name not in self.sets:
            raise EvaluationError(f"unknown set {name!r}; known are {', '.join(self.sets)}")
        return self.sets[name]


@dataclass(frozen=True, eq=False)
class Elements:
    """One element of a set per row; positions may lie outside until somebody uses them.

    ``start`` is known where the positions are ``start, start + 1, …``.
    """

    set: IndexSet
    positions: Ints
    start: int | None = None


@dataclass(frozen=True, eq=False)
class Frame:
    """Rows, each of which binds every index name to an element."""

    size: int
    names: Mapping[str, Elements] = field(default_factory=dict)

    def take(self, rows: Ints) -> "Frame":
        """Return the frame of some of the rows."""
        names = {n: Elements(e.set, e.positions[rows]) for n, e in self.names.items()}
        return Frame(len(rows), names)

    def labels(self, row: int) -> dict[str, str]:
        """Return the labels of one row, by index name."""
        return {n: label_of(e.set, int(e.positions[row])) for n, e in self.names.items()}


def label_of(index_set: IndexSet, position: int) -> str:
    """Return one label; a year of quarter hours need not be spelt out for it."""
    root = index_set.root
    if root.axis is not None and root.kind in ("time", "instants") and root.given_labels is None:
        place = position if root is index_set else int(index_set.in_root[position])
        return root.axis.label(place)
    label = index_set.labels[position]
    return ", ".join(map(str, label)) if isinstance(label, tuple) else str(label)


Condition = Callable[[Node, Frame], Bools]


def expand(
    frame: Frame,
    binders: tuple[Binder, ...],
    sets: Callable[[str], IndexSet],
    where: Node | None,
    condition: Condition,
) -> tuple[Frame, Ints]:
    """Return the frame of all combinations that pass ``where``, and the row each came from."""
    members = [sets(binder.set) for binder in binders]
    count = math.prod(m.size for m in members)
    if frame.size * float(count) > MAX_PAIRS:
        raise EvaluationError(f"an index grid of {frame.size} x {count} rows is too large")
    for name in (name for binder in binders for name in binder.names):
        if name in frame.names:
            raise EvaluationError(f"the index {name!r} is used twice")
    if frame.size == 1 and not frame.names and where is None:
        return Frame(count, _bind_all(binders, members)), np.broadcast_to(np.int64(0), (count,))
    pieces = []
    for start in range(0, max(frame.size, 1), max(CHUNK // max(count, 1), 1)):
        stop = min(start + max(CHUNK // max(count, 1), 1), frame.size)
        outer = np.repeat(np.arange(start, stop), count)
        inner = np.tile(np.arange(count), stop - start)
        part = frame.take(outer)
        part = Frame(part.size, {**part.names, **_bind(binders, members, inner)})
        if where is not None:
            kept = np.flatnonzero(condition(where, part))
            part, outer = part.take(kept), outer[kept]
        pieces.append((part, outer))
    if len(pieces) == 1:
        return pieces[0]
    names = {
        name: Elements(e.set, np.concatenate([p.names[name].positions for p, _ in pieces]))
        for name, e in pieces[0][0].names.items()
    }
    rows = np.concatenate([outer for _, outer in pieces])
    return Frame(len(rows), names), rows


def _bind(binders: tuple[Binder, ...], members: list[IndexSet], flat: Ints) -> dict[str, Elements]:
    names: dict[str, Elements] = {}
    for binder, member in zip(reversed(binders), reversed(members), strict=True):
        flat, here = np.divmod(flat, max(member.size, 1))
        if len(binder.names) == 1:
            names[binder.names[0]] = Elements(member, here)
            continue
        root = member.root
        if len(binder.names) != len(root.factors):
            raise EvaluationError(
                f"{member.name} has elements of {len(root.factors) or 1} parts, "
                f"not {len(binder.names)}"
            )
        in_root = member.in_root[here]
        for name, factor, column in zip(binder.names, root.factors, root.columns, strict=True):
            names[name] = Elements(factor, column[in_root])
    return names


def _bind_all(binders: tuple[Binder, ...], members: list[IndexSet]) -> dict[str, Elements]:
    count = math.prod(member.size for member in members)
    if len(binders) == 1 and len(binders[0].names) == 1 and count:
        return {binders[0].names[0]: Elements(members[0], counted(count), 0)}
    return _bind(binders, members, np.arange(count))


@lru_cache(maxsize=2)
def counted(count: int) -> Ints:
    """Return ``0, 1, …``; the periods and the instants of a problem are asked for all the time."""
    numbers = np.arange(count)
    numbers.flags.writeable = False
    return numbers


def whole_grid(dims: tuple[IndexSet, ...], binders: tuple[Binder, ...]) -> Frame:
    """Return the frame of a full grid, in the flattened order of :class:`Symbol`."""
    return Frame(math.prod(dim.size for dim in dims), _bind_all(binders, list(dims)))


# --- time grids laid side by side: which period lies in which, and what a clock says ------------


HOUR = parse_unit("h")
CLOSE = 5e-4  # seconds: edges of two grids that are meant to coincide differ by rounding only


def axis_of(index_set: IndexSet) -> TimeAxis:
    """Return the axis of a time set; EvaluationError when it has none."""
    if index_set.root.axis is None:
        raise EvaluationError(f"{index_set.name} is no time set")
    return index_set.root.axis


def _common(one: IndexSet, other: IndexSet) -> tuple[Floats, Floats]:
    first, second = axis_of(one), axis_of(other)
    if not first.counts_as(second):
        raise EvaluationError(f"{one.name} and {other.name} cannot be laid side by side")
    return first.edges, second.edges


def placed(elements: Elements) -> Ints:
    """Return positions in the root set; EvaluationError when an offset has led out of the set."""
    positions = elements.positions
    if elements.start == 0 and positions.size == elements.set.size:
        return positions if elements.set.root is elements.set else elements.set.in_root
    if positions.size and (positions.min() < 0 or positions.max() >= elements.set.size):
        raise EvaluationError(f"an index leads out of {elements.set.name}")
    return positions if elements.set.root is elements.set else elements.set.in_root[positions]


def ends_of(elements: Elements) -> tuple[Ints, Ints]:
    """Return the numbers of the edges at which periods begin and end; an instant is its own."""
    places = placed(elements)
    return places, places if elements.set.root.kind == "instants" else places + 1


def within(inner: Elements, outer: Elements) -> Bools:
    """Return whether each period lies inside the period beside it."""
    fine, coarse = _common(inner.set, outer.set)
    holds = np.zeros(inner.positions.size, dtype=bool)
    # ``at`` may have found no period, and nothing lies inside that.
    rows = np.flatnonzero(_inside(inner) & _inside(outer))
    begin, end = ends_of(Elements(inner.set, inner.positions[rows]))
    start, stop = ends_of(Elements(outer.set, outer.positions[rows]))
    holds[rows] = (fine[begin] > coarse[start] - CLOSE) & (fine[end] < coarse[stop] + CLOSE)
    return holds


def _inside(elements: Elements) -> Bools:
    return np.asarray((elements.positions >= 0) & (elements.positions < elements.set.size))


def inside_ranges(inner: IndexSet, outer: Elements) -> tuple[Ints, Ints]:
    """Return the positions of the first element inside each period, and of the first after them.

    ``inner`` is a whole set, not a subset.
    """
    fine, coarse = _common(inner, outer.set)
    start, stop = ends_of(outer)
    count = inner.size
    low = np.searchsorted(fine[:count], coarse[start] - CLOSE, side="left")
    last = fine[:count] if inner.kind == "instants" else fine[1 : count + 1]
    high = np.searchsorted(last, coarse[stop] + CLOSE, side="left")
    return low.astype(np.int64), np.maximum(high, low).astype(np.int64)


def containing(elements: Elements, target: IndexSet) -> Elements:
    """Return the period of ``target`` in which each element begins; -1 or the size outside."""
    fine, coarse = _common(elements.set, target)
    begin, _ = ends_of(elements)
    root = target.root
    found = np.searchsorted(coarse, fine[begin] + CLOSE, side="right") - 1
    if target is root:
        return Elements(target, found.astype(np.int64))
    mapping = root.map_to(target)
    assert mapping is not None
    known = (found >= 0) & (found < root.size)
    return Elements(target, np.where(known, mapping[np.clip(found, 0, root.size - 1)], -1))


# --- what a clock says -------------------------------------------------------------------------


def _plain(data: Floats) -> Value:
    return values.constant(data, ONE)


def _placed(elements: Elements) -> tuple[TimeAxis, Ints]:
    return axis_of(elements.set), placed(elements)


def dt(elements: Elements) -> Value:
    """Return the length of periods."""
    axis, places = _placed(elements)
    if elements.set.root.kind == "instants" and places.size and places.max() >= len(axis.edges) - 1:
        raise EvaluationError("dt of the last instant: no period begins there")
    step, unit = axis.step, parse_unit(axis.step_unit)
    if step is not None:
        return values.repeated(step, unit, places.size)
    return values.constant(axis.steps[places], unit)


def clock(elements: Elements) -> Value:
    """Return the time of day."""
    return values.constant(_time_of_day(elements), HOUR)


def hour(elements: Elements) -> Value:
    """Return the whole hours of the time of day."""
    return _plain(np.floor(_time_of_day(elements) + 1e-9))


def _time_of_day(elements: Elements) -> Floats:
    axis, places = _placed(elements)
    if not axis.begun:
        raise EvaluationError(f"it is not said when {elements.set.name} starts")
    return np.asarray(axis.clock[places])


def weekday(elements: Elements) -> Value:
    """Return the day of the week, 0 for Monday."""
    axis, places = _placed(elements)
    if not axis.dated:
        raise EvaluationError(f"{elements.set.name} has no date, so no days of the week")
    return _plain(axis.weekday[places].astype(np.float64))


def pos(elements: Elements) -> Value:
    """Return the position in the set that an index runs over, from 0."""
    placed(elements)
    return _plain(elements.positions.astype(np.float64))


def prob(elements: Elements) -> Value:
    """Return the probability of scenarios; EvaluationError when the set has no probabilities."""
    chances = elements.set.root.probabilities
    if chances is None:
        raise EvaluationError(f"{elements.set.name} has no probabilities")
    return _plain(np.asarray(chances[placed(elements)], dtype=np.float64))
