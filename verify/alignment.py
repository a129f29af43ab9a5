"""Columns with time stamps, aligned with the periods of a time set, or refused with their place."""

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

    @property
    def span(self) -> str:
        """The time set and its first and last period, for messages."""
        root = self.index_set.root
        assert root.axis is not None
        return f"{root.name} from {root.axis.labels[0]} to {root.axis.labels[-1]}"


@dataclass(frozen=True, eq=False)
class Aligned:
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


def align(data: Floats, stamps: Stamps, wanted: Wanted, reading: Reading) -> Aligned:
    """Return values, the first axis of which has the stamps, on the periods of a time set.

    Raises
    ------
    InputError
        With the row: stamps that repeat, go back or leave a gap, a step that does not fit, rows
        that are not there. With both clocks: stamps that lie a step beside the periods.
    """
    axis = wanted.index_set.root.axis
    if axis is None or axis.step_unit != "h":
        return Aligned(data, None, False)
    edges, seconds = _edges(axis), _same_clock(stamps, axis, reading)
    if wanted.state:
        return _at_instants(data, seconds, edges, axis, stamps, wanted, reading)
    starts = _starts(seconds, edges, reading)
    if not _equal(starts, edges[:-1]):
        step = _step(starts, stamps, reading.zone or axis.zone)
        data, notes = _resampled(data, starts, edges, step, stamps, wanted, reading)
        return _on_axis(data, edges[:-1], axis, "; ".join(notes) or None)
    return _on_axis(data, edges[:-1], axis)


def fits(stamps: Stamps, index_set: IndexSet, reading: Reading) -> bool:
    """Whether stamps are exactly the periods or the instants of a time set."""
    axis = index_set.root.axis
    if axis is None or axis.step_unit != "h":
        return False
    edges = _edges(axis)
    try:
        seconds = _same_clock(stamps, axis, reading)
    except InputError:
        return False
    return any(_equal(seconds, some) for some in (edges, edges[:-1], edges[1:]))


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
    edges = _edges(axis)
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


def _edges(axis: TimeAxis) -> Floats:
    return axis.edges if axis.zone is not None or not axis.dated else axis.local


def _equal(one: Floats, other: Floats) -> bool:
    return one.size == other.size and bool((np.abs(one - other) < NEAR).all())


def _on_axis(data: Floats, edges: Floats, axis: TimeAxis, note: str | None = None) -> Aligned:
    if not axis.dated:
        return Aligned(data, None, False, note)
    moments = np.rint(edges * 1e3).astype("datetime64[ms]").astype("datetime64[ns]")
    return Aligned(data, moments, axis.zone is not None, note)


def _same_clock(stamps: Stamps, axis: TimeAxis, reading: Reading) -> Floats:
    """Return stamps by the clock of the axis: UTC, the wall, or the time since its first day."""
    if axis.dated and axis.zone is not None:
        return stamps.seconds if stamps.zoned else localised(stamps, reading.zone or axis.zone)
    by_zone = stamps.zoned and reading.zone is not None
    wall = wall_clock(stamps.seconds, str(reading.zone)) if by_zone else stamps.wall
    return wall if axis.dated else np.asarray(wall - np.floor(wall[0] / DAY) * DAY)


def _starts(seconds: Floats, edges: Floats, reading: Reading) -> Floats:
    """Return the starts of the rows' periods."""
    if reading.labels == "start" or not seconds.size:
        return seconds
    if _equal(seconds, edges[1:]):
        return edges[:-1]
    step = _usual(np.diff(seconds)) if seconds.size > 1 else edges[1] - edges[0]
    return np.concatenate(([seconds[0] - step], seconds[:-1]))


def _usual(steps: Floats) -> float:
    values, counts = np.unique(np.rint(steps), return_counts=True)
    return float(values[np.argmax(counts)])


def _step(starts: Floats, stamps: Stamps, zone: str | None) -> float:
    """Return the step of the rows in seconds, which each row has; NaN for a single row.

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
    step = _usual(steps)
    gaps = np.flatnonzero(np.abs(steps - step) > NEAR)
    if gaps.size:
        row = int(gaps[0]) + 1
        here = _minutes(float(steps[row - 1]))
        raise stamps.fault(row, f"the time step is {here} here and {_minutes(step)} elsewhere")
    return step


def _minutes(seconds: float) -> str:
    return f"{seconds / 60.0:g} min"


def _resampled(
    data: Floats,
    starts: Floats,
    edges: Floats,
    step: float,
    stamps: Stamps,
    wanted: Wanted,
    reading: Reading,
) -> tuple[Floats, list[str]]:
    """Return a value for each period, and what was done for it."""
    name, lengths = wanted.name, np.diff(edges)
    step = step if np.isfinite(step) else float(lengths[0])
    inside = (starts + step > edges[0] + NEAR) & (starts < edges[-1] - NEAR)
    if not inside.any():
        raise stamps.fault(0, f"{name}: no row lies in {wanted.span}")
    shift = float(starts[0] - edges[0])
    one_late = reading.labels == "start" and abs(shift - step) < NEAR
    hint = "; if its time stamps name the ends of periods: --labels end" if one_late else ""
    first, last = np.flatnonzero(inside)[[0, -1]].tolist()
    if shift > NEAR:
        raise stamps.fault(
            first, f"{name}: its first row begins {_minutes(shift)} after {wanted.span}{hint}"
        )
    short = float(edges[-1] - starts[-1] - step)
    if short > NEAR:
        what = f"{name}: its rows end {_minutes(short)} before the end of {wanted.index_set.name}"
        raise stamps.fault(last, what + hint)
    # Places of the edges, counted in rows: whole where an edge is that of a row too.
    places = (edges - starts[0]) / step
    on_row = np.abs(places - np.rint(places)) * step < NEAR
    begin = np.floor(places[:-1] + NEAR / step).astype(np.int64)
    end = np.ceil(places[1:] - NEAR / step).astype(np.int64)
    notes = []
    if not inside.all():
        left = int((~inside).sum())
        notes.append(f"{left} rows outside {wanted.index_set.name} are left out")
    shown = f"{_minutes(step)} against {_minutes(float(lengths[0]))} of {wanted.index_set.name}"
    single = bool((end == begin + 1).all())
    if single and on_row.all():
        return data[begin], notes
    if step < float(lengths.min()) - NEAR:
        if not on_row.all():
            raise stamps.fault(0, f"{name}: its step does not divide the periods: {shown}")
        if not wanted.power:
            raise stamps.fault(0, f"{name} has a finer step, {shown}, and only powers have a mean")
        shape = (-1,) + (1,) * (data.ndim - 1)
        sums = np.add.reduceat(data[: end[-1]], begin, axis=0)
        notes.append(f"given every {_minutes(step)}: the mean over each period is taken")
        return sums / (end - begin).reshape(shape), notes
    if step > float(lengths.max()) + NEAR:
        if not reading.hold:
            what = f"{name} has a coarser step, {shown}; --hold takes it as constant"
            raise stamps.fault(0, what)
        if not wanted.power:
            raise stamps.fault(0, f"{name} has a coarser step, {shown}: only powers hold")
        if not single:
            raise stamps.fault(0, f"{name}: its rows end inside periods: {shown}")
        notes.append(f"given every {_minutes(step)}: each value is held, as --hold asks")
        return data[begin], notes
    raise stamps.fault(0, f"{name}: its rows begin beside the periods of {wanted.span}: {shown}")


def _at_instants(
    data: Floats,
    seconds: Floats,
    edges: Floats,
    axis: TimeAxis,
    stamps: Stamps,
    wanted: Wanted,
    reading: Reading,
) -> Aligned:
    """Return a state at the instants, or at the ends of the periods without the first."""
    if _equal(seconds, edges):
        return _on_axis(data, edges, axis)
    if _equal(seconds, edges[1:]) or _equal(seconds, edges[:-1]):
        return Aligned(data, None, False)  # by convention the values at the ends of periods
    step = _step(seconds, stamps, reading.zone or axis.zone)
    place, found = _meeting(seconds, edges)
    if found.all():
        return _on_axis(data[place], edges, axis, "its values at the instants are taken")
    if not found[-1] and reading.labels == "start" and np.isfinite(step):
        place, found = _meeting(seconds + step, edges)
    if found[1:].all():
        return Aligned(data[place[1:]], None, False, "its values at the ends of periods are taken")
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
