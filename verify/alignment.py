"""Columns with time stamps, laid onto the periods of a time set, or refused with their place."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from engiagent.blueprint.sets import IndexSet
from engiagent.blueprint.timeaxis import TimeAxis
from engiagent.errors import InputError
from engiagent.verify.foreign import Reading
from engiagent.verify.stampcolumns import Stamps, localised, wall_clock

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

NEAR: Final = 0.5
"""Seconds by which a stamp may miss an edge."""
DAY: Final = 86400.0


@dataclass(frozen=True)
class Wanted:
    """What a column is wanted for.

    Attributes
    ----------
    name
        Of the quantity or the variable.
    index_set
        The time set of its periods.
    state
        Whether it belongs to instants.
    power
        Whether its mean over a period is what the period has.
    """

    name: str
    index_set: IndexSet
    state: bool
    power: bool


@dataclass(frozen=True, eq=False)
class Laid:
    """Values of a column on a time set.

    Attributes
    ----------
    data
        Along the axis that had the stamps.
    moments
        Time stamps as the schedule's own dataset has them.
    zoned
        Whether the stamps are UTC.
    note
        What was done to the values, None for nothing.
    """

    data: Floats
    moments: npt.NDArray[np.datetime64] | None
    zoned: bool
    note: str | None = None


def lay(data: Floats, stamps: Stamps, wanted: Wanted, reading: Reading) -> Laid:
    """Return values, the first axis of which has the stamps, on the periods of a time set.

    Raises
    ------
    InputError
        With the row: stamps that repeat, go back or leave a gap, a step that does not fit, rows
        that are not there. With both clocks: stamps that lie a step beside the periods.
    """
    axis = wanted.index_set.root.axis
    if axis is None or axis.step_unit != "h":
        return Laid(data, None, False)
    edges = axis.edges if axis.zone is not None or not axis.dated else axis.local
    seconds = _same_clock(stamps, axis, reading)
    if wanted.state:
        return _instants(data, seconds, edges, axis, stamps, wanted, reading)
    starts = _starts(seconds, edges, reading)
    if starts.size == edges.size - 1 and bool((np.abs(starts - edges[:-1]) < NEAR).all()):
        return _laid(data, edges[:-1], axis)
    step = _step(starts, stamps, reading.zone or axis.zone)
    inside = _inside(starts, edges, step, stamps, wanted, reading)
    note = None
    if inside.size < starts.size:
        note = f"{starts.size - inside.size} rows outside {wanted.index_set.name} are left out"
    laid, done = _resampled(data[inside], starts[inside], edges, step, stamps, wanted, reading)
    notes = "; ".join(text for text in (note, done) if text)
    return _laid(laid, edges[:-1], axis, notes or None)


def fits(stamps: Stamps, index_set: IndexSet, reading: Reading) -> bool:
    """Whether stamps are exactly the periods or the instants of a time set."""
    axis = index_set.root.axis
    if axis is None or axis.step_unit != "h":
        return False
    edges = axis.edges if axis.zone is not None or not axis.dated else axis.local
    try:
        seconds = _same_clock(stamps, axis, reading)
    except InputError:
        return False
    return any(
        seconds.size == some.size and bool((np.abs(seconds - some) < NEAR).all())
        for some in (edges, edges[:-1], edges[1:])
    )


def at_periods(data: Floats, stamps: Stamps, axis: TimeAxis, rule: str) -> Floats:
    """Return a column of a data file at the periods of an axis, as a blueprint says it was aligned.

    Parameters
    ----------
    data
        One value for each row, shape (rows,); every row holds until the next begins.
    rule
        ``hold``, ``mean``, ``sum`` or ``interpolate``.

    Raises
    ------
    InputError
        At a row that repeats, goes back or leaves a gap; for rows that do not cover the axis, and
        for an unknown rule.
    """
    edges = axis.edges if axis.zone is not None or not axis.dated else axis.local
    starts = _same_clock(stamps, axis, Reading())
    step = _step(starts, stamps, axis.zone)
    step = step if np.isfinite(step) else float(edges[1] - edges[0])
    begins = edges[:-1]
    if starts[0] > begins[0] + NEAR or starts[-1] + step < begins[-1] - NEAR:
        raise stamps.fault(0, "the rows do not cover the periods")
    if rule == "interpolate":
        return np.asarray(np.interp(begins, starts, data))
    if rule == "hold":
        row = np.clip(np.floor((begins - starts[0] + NEAR) / step), 0, starts.size - 1)
        return np.asarray(data[row.astype(np.int64)])
    if rule not in ("mean", "sum"):
        raise stamps.fault(0, f"there is no rule of alignment {rule!r}")
    # Between any two neighbouring edges of rows and periods there is one row and one period.
    cuts = np.unique(np.concatenate((edges, starts, [starts[-1] + step])))
    cuts = cuts[(cuts >= edges[0]) & (cuts <= edges[-1])]
    middles, lengths = (cuts[:-1] + cuts[1:]) / 2, np.diff(cuts)
    row = np.searchsorted(starts, middles, side="right") - 1
    period = np.searchsorted(edges, middles, side="right") - 1
    amount = np.bincount(period, weights=data[row] * lengths, minlength=begins.size)
    return np.asarray(amount / (np.diff(edges) if rule == "mean" else step))


def _laid(data: Floats, edges: Floats, axis: TimeAxis, note: str | None = None) -> Laid:
    if not axis.dated:
        return Laid(data, None, False, note)
    moments = np.rint(edges * 1e3).astype("datetime64[ms]").astype("datetime64[ns]")
    return Laid(data, moments, axis.zone is not None, note)


def _same_clock(stamps: Stamps, axis: TimeAxis, reading: Reading) -> Floats:
    """Return stamps by the clock of the axis: UTC, the wall, or the time since its first day."""
    if not axis.dated:
        wall = (
            wall_clock(stamps.seconds, reading.zone)
            if stamps.zoned and reading.zone
            else (stamps.wall)
        )
        return np.asarray(wall - np.floor(wall[0] / DAY) * DAY)
    if axis.zone is not None:
        if stamps.zoned:
            return stamps.seconds
        zone = reading.zone or axis.zone
        return localised(stamps, zone)
    if stamps.zoned:
        return wall_clock(stamps.seconds, reading.zone) if reading.zone else stamps.wall
    return stamps.wall


def _starts(seconds: Floats, edges: Floats, reading: Reading) -> Floats:
    """Return the starts of the rows' periods."""
    if reading.labels == "start" or not seconds.size:
        return seconds
    if seconds.size == edges.size - 1 and bool((np.abs(seconds - edges[1:]) < NEAR).all()):
        return edges[:-1]
    if seconds.size == 1:
        return np.asarray(seconds - (edges[1] - edges[0]))
    steps = np.diff(seconds)
    values, counts = np.unique(np.rint(steps), return_counts=True)
    first = seconds[0] - values[np.argmax(counts)]
    return np.concatenate(([first], seconds[:-1]))


def _step(starts: Floats, stamps: Stamps, zone: str | None) -> float:
    """Return the step of the rows in seconds; each row has the same.

    Raises
    ------
    InputError
        At the row that repeats, goes back or leaves a gap.
    """
    steps = np.diff(starts)
    if not steps.size:
        return float("nan")
    wrong = np.flatnonzero(~(steps > NEAR))
    if wrong.size:
        row = int(wrong[0]) + 1
        what = "a time stamp stands twice" if abs(steps[row - 1]) <= NEAR else "time goes back"
        hint = "" if zone or stamps.zoned else "; name the zone if clocks change here (--zone)"
        raise stamps.fault(row, what + hint)
    values, counts = np.unique(np.rint(steps), return_counts=True)
    step = float(values[np.argmax(counts)])
    gaps = np.flatnonzero(np.abs(steps - step) > NEAR)
    if gaps.size:
        row = int(gaps[0]) + 1
        what = (
            f"the time step is {_length(float(steps[row - 1]))} here and {_length(step)} elsewhere"
        )
        missing = steps[row - 1] / step
        if zone is not None and not stamps.zoned and abs(missing - 2.0) < 0.01:
            what += f"; an hour that clocks in {zone} show twice needs a row for each"
        raise stamps.fault(row, what)
    return step


def _length(seconds: float) -> str:
    return f"{seconds / 60.0:g} min"


def _inside(
    starts: Floats, edges: Floats, step: float, stamps: Stamps, wanted: Wanted, reading: Reading
) -> Ints:
    """Return the rows in the horizon; none of its periods may be left without."""
    inside = np.flatnonzero((starts > edges[0] - NEAR) & (starts < edges[-1] - NEAR))
    length = step if np.isfinite(step) else edges[1] - edges[0]
    covering = np.flatnonzero((starts < edges[0] - NEAR) & (starts + length > edges[0] + NEAR))
    if covering.size and length > edges[1] - edges[0] + NEAR:
        inside = np.concatenate((covering, inside))
    shift = float(starts[0] - edges[0]) if starts.size else 0.0
    name = f"{wanted.name}: "
    if not inside.size:
        raise stamps.fault(
            0, f"{name}no row lies in {wanted.index_set.name}, which is {_span(wanted.index_set)}"
        )
    first, last = float(starts[inside[0]]), float(starts[inside[-1]]) + length
    beside = abs(abs(shift) - length) < NEAR and reading.labels == "start" and shift > 0
    hint = "; if its time stamps name the ends of periods: --labels end" if beside else ""
    if first > edges[0] + NEAR:
        what = f"{name}its first row begins {_length(first - edges[0])} after "
        raise stamps.fault(int(inside[0]), f"{what}{_span(wanted.index_set)}{hint}")
    if last < edges[-1] - NEAR:
        what = f"{name}its rows end {_length(edges[-1] - last)} before the end of "
        raise stamps.fault(int(inside[-1]), f"{what}{wanted.index_set.name}{hint}")
    return inside


def _span(index_set: IndexSet) -> str:
    root = index_set.root
    axis = root.axis
    assert axis is not None
    return f"{root.name} from {axis.labels[0]} to {axis.labels[-1]}"


def _resampled(
    data: Floats,
    starts: Floats,
    edges: Floats,
    step: float,
    stamps: Stamps,
    wanted: Wanted,
    reading: Reading,
) -> tuple[Floats, str | None]:
    """Return a value for each period, and what was done for it."""
    place = np.searchsorted(edges, starts + NEAR, side="right") - 1
    periods = edges.size - 1
    at_edges = np.abs(starts - edges[np.clip(place, 0, periods)]) < NEAR
    if starts.size == periods and bool(at_edges.all()) and bool((np.diff(place) == 1).all()):
        return data, None
    lengths = np.diff(edges)
    shown = f"{_length(step)} against {_length(float(lengths[0]))} of {wanted.index_set.name}"
    if step < float(lengths.min()) - NEAR:
        divides = np.abs(np.rint(lengths / step) * step - lengths) < NEAR
        counts = np.bincount(np.clip(place, 0, periods - 1), minlength=periods)
        first = np.searchsorted(place, np.arange(periods))
        if (
            not divides.all()
            or (counts != np.rint(lengths / step)).any()
            or not at_edges[first].all()
        ):
            raise stamps.fault(0, f"{wanted.name}: its step does not divide the periods: {shown}")
        if not wanted.power:
            raise stamps.fault(
                0, f"{wanted.name} has a finer step, {shown}, and only powers have a mean"
            )
        shape = (-1,) + (1,) * (data.ndim - 1)
        means = np.add.reduceat(data, first, axis=0) / counts.reshape(shape)
        return means, f"given every {_length(step)}: the mean over each period is taken"
    if step > float(lengths.max()) + NEAR:
        if not reading.hold:
            raise stamps.fault(
                0, f"{wanted.name} has a coarser step, {shown}; --hold takes it as constant"
            )
        if not wanted.power:
            raise stamps.fault(0, f"{wanted.name} has a coarser step, {shown}: only powers hold")
        row = np.searchsorted(starts, edges[:-1] + NEAR, side="right") - 1
        ends = starts[row] + step
        if (edges[1:] > ends + NEAR).any():
            raise stamps.fault(0, f"{wanted.name}: its rows end inside periods: {shown}")
        return data[row], f"given every {_length(step)}: each value is held, as --hold asks"
    raise stamps.fault(
        0, f"{wanted.name}: its rows begin beside the periods of {_span(wanted.index_set)}: {shown}"
    )


def _instants(
    data: Floats,
    seconds: Floats,
    edges: Floats,
    axis: TimeAxis,
    stamps: Stamps,
    wanted: Wanted,
    reading: Reading,
) -> Laid:
    """Return a state at the instants, or at the ends of the periods without the first."""
    for some in (edges, edges[1:]):
        if seconds.size == some.size and bool((np.abs(seconds - some) < NEAR).all()):
            return _laid(data, some, axis) if some is edges else Laid(data, None, False)
    if seconds.size == edges.size - 1 and bool((np.abs(seconds - edges[:-1]) < NEAR).all()):
        return Laid(data, None, False)  # by convention the values at the ends of those periods
    step = _step(seconds, stamps, reading.zone or axis.zone)
    place, found = _meeting(seconds, edges)
    if found.all():
        note = None if seconds.size == edges.size else "its values at the instants are taken"
        return _laid(data[place], edges, axis, note)
    if not found[-1] and reading.labels == "start" and np.isfinite(step):
        place, found = _meeting(seconds + step, edges)
    if found[1:].all():
        return Laid(data[place[1:]], None, False, "its values at the ends of periods are taken")
    first = int(np.argmin(found))
    raise stamps.fault(
        min(int(place[first]), seconds.size - 1),
        f"{wanted.name} has no value at {axis.labels[first]}, and a state is not interpolated",
    )


def _meeting(seconds: Floats, edges: Floats) -> tuple[Ints, npt.NDArray[np.bool_]]:
    """Return the row of each instant, and for which instants there is one."""
    place = np.searchsorted(seconds, edges - NEAR)
    found = place < seconds.size
    found[found] = np.abs(seconds[place[found]] - edges[found]) < NEAR
    return place, found
