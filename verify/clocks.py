"""Time grids laid side by side: which period lies in which, and what a clock says."""

import numpy as np

from engiagent.blueprint.sets import IndexSet
from engiagent.blueprint.timeaxis import TimeAxis
from engiagent.units.unit import parse_unit
from engiagent.verify import values
from engiagent.verify.frames import Bools, Elements, EvaluationError
from engiagent.verify.values import ONE, Floats, Ints, Value

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
