"""Time stamps of rows, and the periods of a time set that the rows are for.

Stamps are ISO 8601 or as a stated format reads them; local clocks become UTC. What does not fit a
time set is refused with its place.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import numpy as np
import numpy.typing as npt

from engiagent.blueprint.sets import IndexSet
from engiagent.blueprint.stamps import stamp_seconds
from engiagent.blueprint.timeaxis import TimeAxis, utc_offsets
from engiagent.errors import InputError
from engiagent.verify.foreign import Reading

Floats = npt.NDArray[np.float64]
Moments = npt.NDArray[np.datetime64]
Fault = Callable[[int, str], InputError]
"""Makes the error for a row, counted from 0."""

NEAR: Final = 0.5
"""Seconds by which a stamp may miss an edge."""
DAY: Final = 86400.0
LONGEST: Final = 200 * 366 * DAY
"""The longest time in seconds over which the clocks of a zone are looked up."""
EPOCHS: Final = {"epoch s": 1.0, "epoch ms": 1e3}
_DATE: Final = re.compile(r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}(?!\d)", re.A)
_OFFSET: Final = re.compile(r"(?:[Zz]|[+-]\d{2}:?\d{2})$")


@dataclass(frozen=True, eq=False)
class Stamps:
    """The time stamps of rows.

    Attributes
    ----------
    seconds
        Since 1970, by UTC where ``zoned``, by the wall clock otherwise.
    wall
        Since 1970 by the wall clock as written.
    fault
        Makes the error that points at a row.
    """

    seconds: Floats
    wall: Floats
    zoned: bool
    fault: Fault

    def __len__(self) -> int:
        return len(self.seconds)

    def first(self, count: int) -> "Stamps":
        """Return the stamps of the first rows."""
        return Stamps(self.seconds[:count], self.wall[:count], self.zoned, self.fault)


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


def text_stamps(
    texts: Sequence[str], fault: Fault, time_format: str | None = None
) -> Stamps | None:
    """Return the stamps of texts; None when the first is no date.

    Raises
    ------
    InputError
        For a later text that is none, a date that is not ISO 8601 where no format is given, and
        stamps of which only some have an offset.
    """
    if not texts:
        return None
    if time_format is not None:
        return _formatted(texts, fault, time_format)
    try:
        seconds, zoned = stamp_seconds(tuple(texts))
    except ValueError as error:
        raise InputError(str(error), fault(0, "").file) from None
    wrong = np.flatnonzero(~np.isfinite(seconds))
    if not wrong.size:
        bare = tuple(_OFFSET.sub("", text) for text in texts)
        return Stamps(seconds, stamp_seconds(bare)[0] if zoned else seconds, zoned, fault)
    row = int(wrong[0])
    if row or _DATE.match(texts[0]):
        what = "no time stamp" if texts[row] else "an empty cell where a time stamp is needed"
        refused = fault(row, what)
        refused.expected = "ISO 8601, as 2025-07-01T14:00, or --time-format, as '%d.%m.%Y %H:%M'"
        raise refused
    return None


def _formatted(texts: Sequence[str], fault: Fault, time_format: str) -> Stamps:
    """Return stamps that are written as a format says."""
    moments: list[datetime] = []
    for row, text in enumerate(texts):
        try:
            if time_format in EPOCHS:
                moments.append(datetime.fromtimestamp(float(text) / EPOCHS[time_format], UTC))
            else:
                moments.append(datetime.strptime(text, time_format))
        except (ValueError, OverflowError, OSError):
            raise fault(row, f"no time stamp of the form {time_format!r}") from None
    zoned = moments[0].tzinfo is not None
    wall = np.array([m.replace(tzinfo=UTC).timestamp() for m in moments])
    seconds = np.array([m.timestamp() for m in moments]) if zoned else wall
    return Stamps(seconds, wall, zoned, fault)


def localised(stamps: Stamps, zone: str) -> Floats:
    """Return wall-clock stamps as seconds of UTC; an hour that comes twice goes by row order.

    Raises
    ------
    InputError
        For a local time that does not exist because clocks go forward, and for one that clocks
        show twice where only one row has it.
    """
    wall = stamps.wall
    if not wall.size:
        return wall
    if np.ptp(wall) > LONGEST:
        raise stamps.fault(0, "its rows span more than two centuries")
    try:
        # With the offset of the day before and that of the day after: seldom do they differ.
        early, late = (wall - utc_offsets(wall + side * DAY, zone) for side in (-1, 1))
        valid = [utc + utc_offsets(utc, zone) == wall for utc in (early, late)]
    except (OverflowError, ValueError, OSError) as error:
        raise stamps.fault(0, str(error)) from None
    absent = np.flatnonzero(~(valid[0] | valid[1]))
    if absent.size:
        what = f"this local time does not exist in {zone}: clocks go forward then"
        raise stamps.fault(int(absent[0]), what)
    twice = valid[0] & valid[1] & (early != late)
    second = ~valid[0]
    rows = np.flatnonzero(twice)
    for group in np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1) if rows.size else ():
        back = np.flatnonzero(np.diff(wall[group]) <= 0)
        if not back.size:
            what = f"clocks in {zone} show this hour twice, and it needs a row for each"
            raise stamps.fault(int(group[0]), what)
        second[group[back[0] + 1 :]] = True
    return np.where(second, late, early)


def align(
    data: Floats, stamps: Stamps, wanted: Wanted, reading: Reading
) -> tuple[Floats, Moments | None, str | None]:
    """Return values, the first axis of which has the stamps, on the periods of a time set.

    Returns
    -------
    tuple
        The values; the stamps as the schedule's own dataset has them, None for a set without dates
        and for states at the ends of periods; what was done to the values, None for nothing.

    Raises
    ------
    InputError
        With the row: stamps that repeat, go back or leave a gap, a step that does not fit, rows
        that are not there. With both clocks: stamps that lie a step beside the periods.
    """
    axis = wanted.index_set.root.axis
    if axis is None or axis.step_unit != "h":
        return data, None, None
    edges, seconds = _edges(axis), _same_clock(stamps, axis, reading)
    if wanted.state:
        rows, at_edges, note = _rows_at_instants(seconds, edges, stamps, wanted, reading)
        return data[rows], _moments(edges, axis) if at_edges else None, note
    starts = _starts(seconds, edges, reading)
    notes: list[str] = []
    if not _equal(starts, edges[:-1]):
        data, notes = _resampled(data, starts, edges, stamps, wanted, reading)
    return data, _moments(edges[:-1], axis), "; ".join(notes) or None


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
    step = _step(starts, edges, stamps, axis.zone)
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


def moments_of(seconds: Floats) -> Moments:
    """Return seconds since 1970 as time stamps."""
    return np.rint(seconds * 1e3).astype("datetime64[ms]").astype("datetime64[ns]")


def _moments(edges: Floats, axis: TimeAxis) -> Moments | None:
    return moments_of(edges) if axis.dated else None


def _same_clock(stamps: Stamps, axis: TimeAxis, reading: Reading) -> Floats:
    """Return stamps by the clock of the axis: UTC, the wall, or the time since its first day."""
    if axis.dated and axis.zone is not None:
        return stamps.seconds if stamps.zoned else localised(stamps, reading.zone or axis.zone)
    wall = stamps.wall
    if stamps.zoned and reading.zone is not None:
        wall = stamps.seconds + utc_offsets(stamps.seconds, reading.zone)
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


def _step(starts: Floats, edges: Floats, stamps: Stamps, zone: str | None) -> float:
    """Return the step in seconds that every row has; of a single row that of the first period.

    Raises
    ------
    InputError
        At the row that repeats, goes back or leaves a gap.
    """
    steps = np.diff(starts)
    if not steps.size:
        return float(edges[1] - edges[0])
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
    data: Floats, starts: Floats, edges: Floats, stamps: Stamps, wanted: Wanted, reading: Reading
) -> tuple[Floats, list[str]]:
    """Return a value for each period, and what was done for it."""
    root, zone = wanted.index_set.root, reading.zone
    assert root.axis is not None
    name, lengths, axis = wanted.name, np.diff(edges), root.axis
    step = _step(starts, edges, stamps, zone or axis.zone)
    span = f"{root.name} from {axis.labels[0]} to {axis.labels[-1]}"
    inside = (starts + step > edges[0] + NEAR) & (starts < edges[-1] - NEAR)
    if not inside.any():
        raise stamps.fault(0, f"{name}: no row lies in {span}")
    shift, short = float(starts[0] - edges[0]), float(edges[-1] - starts[-1] - step)
    one_late = reading.labels == "start" and abs(shift - step) < NEAR
    hint = "; if its time stamps name the ends of periods: --labels end" if one_late else ""
    first, last = np.flatnonzero(inside)[[0, -1]].tolist()
    if shift > NEAR:
        raise stamps.fault(
            first, f"{name}: its first row begins {_minutes(shift)} after {span}{hint}"
        )
    if short > NEAR:
        what = f"{name}: its rows end {_minutes(short)} before the end of {root.name}"
        raise stamps.fault(last, what + hint)
    # Places of the edges, counted in rows: whole where an edge is that of a row too.
    places = (edges - starts[0]) / step
    on_row = bool((np.abs(places - np.rint(places)) * step < NEAR).all())
    begin = np.floor(places[:-1] + NEAR / step).astype(np.int64)
    end = np.ceil(places[1:] - NEAR / step).astype(np.int64)
    single = bool((end == begin + 1).all())
    notes: list[str] = []
    if not inside.all():
        notes.append(f"{int((~inside).sum())} rows outside {root.name} are left out")
    if single and on_row:
        return data[begin], notes
    finer, coarser = step < float(lengths.min()) - NEAR, step > float(lengths.max()) + NEAR
    shown = f"{_minutes(step)} against {_minutes(float(lengths[0]))} of {root.name}"
    for wrong, what in (
        (finer and not on_row, "its step does not divide the periods"),
        (coarser and not reading.hold, "a coarser step; --hold takes it as constant"),
        (not wanted.power, "another step, and only powers have a mean or can be held"),
        (not finer and not (coarser and single), f"its rows begin beside the periods of {span}"),
    ):
        if wrong:
            raise stamps.fault(0, f"{name}: {what}: {shown}")
    if coarser:
        return data[begin], [
            *notes,
            f"given every {_minutes(step)}: each value is held, as --hold asks",
        ]
    sums = np.add.reduceat(data[: end[-1]], begin, axis=0)
    counts = (end - begin).reshape((-1,) + (1,) * (data.ndim - 1))
    return sums / counts, [
        *notes,
        f"given every {_minutes(step)}: the mean over each period is taken",
    ]


def _rows_at_instants(
    seconds: Floats, edges: Floats, stamps: Stamps, wanted: Wanted, reading: Reading
) -> tuple[npt.NDArray[np.int64] | slice, bool, str | None]:
    """Return the rows of a state, whether they are for all instants, and what was done."""
    if _equal(seconds, edges):
        return slice(None), True, None
    if _equal(seconds, edges[1:]) or _equal(seconds, edges[:-1]):
        return slice(None), False, None  # by convention the values at the ends of periods
    axis = wanted.index_set.root.axis
    assert axis is not None
    step = _step(seconds, edges, stamps, reading.zone or axis.zone)
    rows, found = _meeting(seconds, edges)
    if found.all():
        return rows, True, "its values at the instants are taken"
    if not found[-1] and reading.labels == "start" and seconds.size > 1:
        rows, found = _meeting(seconds + step, edges)
    if found[1:].all():
        return rows[1:], False, "its values at the ends of periods are taken"
    first = int(np.argmin(found))
    raise stamps.fault(
        min(int(rows[first]), seconds.size - 1),
        f"{wanted.name} has no value at {axis.labels[first]}, and a state is not interpolated",
    )


def _meeting(seconds: Floats, edges: Floats) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Return the row of each instant, and for which instants there is one."""
    place = np.searchsorted(seconds, edges - NEAR)
    found = place < seconds.size
    found[found] = np.abs(seconds[place[found]] - edges[found]) < NEAR
    return place, found
