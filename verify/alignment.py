"""Time stamps of rows, and the periods of a time set that the rows are for.

Stamps are ISO 8601 or as a stated format reads them; local clocks become UTC. What does not fit a
time set is refused with its place.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from engiagent.blueprint.sets import IndexSet
from engiagent.blueprint.stamps import stamp_seconds
from engiagent.blueprint.timeaxis import TimeAxis, clock_instants, utc_offsets
from engiagent.errors import InputError
from engiagent.verify.foreign import Reading

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
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

    def __getitem__(self, rows: slice) -> "Stamps":
        """Return the stamps of the first rows."""
        return Stamps(self.seconds[rows], self.wall[rows], self.zoned, self.fault)

    @cached_property
    def moments(self) -> Moments:
        """As the time stamps of a dataset."""
        return moments_of(self.seconds)


def text_stamps(
    texts: tuple[str, ...], fault: Fault, time_format: str | None = None
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
        texts = tuple(_as_iso(row, text, time_format, fault) for row, text in enumerate(texts))
    try:
        seconds, zoned = stamp_seconds(texts)
    except ValueError as error:
        raise fault(0, str(error)) from None
    for row in np.flatnonzero(~np.isfinite(seconds))[:1]:
        if not row and not _DATE.match(texts[0]):
            return None
        refused = fault(int(row), "no time stamp")
        refused.expected = "ISO 8601, as 2025-07-01T14:00, or --time-format, as '%d.%m.%Y %H:%M'"
        raise refused
    bare = tuple(_OFFSET.sub("", text) for text in texts) if zoned else texts
    return Stamps(seconds, stamp_seconds(bare)[0], zoned, fault)


def _as_iso(row: int, text: str, time_format: str, fault: Fault) -> str:
    """Return a stamp that is written as a format says in ISO 8601."""
    try:
        if time_format in EPOCHS:
            return datetime.fromtimestamp(float(text) / EPOCHS[time_format], UTC).isoformat()
        return datetime.strptime(text, time_format).isoformat()
    except (ValueError, OverflowError, OSError):
        raise fault(row, f"no time stamp of the form {time_format!r}") from None


def localised(stamps: Stamps, zone: str) -> Floats:
    """Return wall-clock stamps as seconds of UTC; an hour that comes twice goes by row order.

    Raises
    ------
    InputError
        For a local time that does not exist because clocks go forward, and for one that clocks
        show twice where only one row has it.
    """
    wall = stamps.wall
    if np.ptp(wall) > LONGEST:
        raise stamps.fault(0, "its rows span more than two centuries")
    try:
        first, last = clock_instants(wall, zone)
    except (OverflowError, ValueError, OSError) as error:
        raise stamps.fault(0, str(error)) from None
    for row in np.flatnonzero(np.isnan(first))[:1]:
        what = f"this local time does not exist in {zone}: clocks go forward then"
        raise stamps.fault(int(row), what)
    rows = np.flatnonzero(first != last)
    for group in np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1) if rows.size else ():
        back = np.flatnonzero(np.diff(wall[group]) <= 0)
        if not back.size:
            what = f"clocks in {zone} show this hour twice, and it needs a row for each"
            raise stamps.fault(int(group[0]), what)
        first[group[back[0] + 1 :]] = last[group[back[0] + 1 :]]
    return first


def align(
    data: Floats, stamps: Stamps, over: IndexSet, reading: Reading, *, state: bool, power: bool
) -> tuple[Floats, Moments | None, str | None]:
    """Return values, the first axis of which has the stamps, on the periods of a time set.

    Parameters
    ----------
    state
        Whether the values belong to instants: they are taken there and never interpolated.
    power
        Whether the mean over a period is what the period has.

    Returns
    -------
    tuple
        The values; the stamps as the schedule's own dataset has them, None for a set without dates
        and for states at the ends of periods; what was done to the values, if anything.

    Raises
    ------
    InputError
        With the row: stamps that repeat, go back or leave a gap, a step that does not fit, rows
        that are not there.
    """
    axis = over.root.axis
    assert axis is not None
    edges, seconds = _edges(axis), _same_clock(stamps, axis, reading)
    late = reading.labels == "end"
    moments = moments_of(edges) if axis.dated else None
    begun = None if moments is None else moments[:-1]
    if state and _equal(seconds, edges):
        return data, moments, None
    if state and (_equal(seconds, edges[1:]) or (not late and _equal(seconds, edges[:-1]))):
        return data, None, None  # by convention the values at the ends of periods
    if not state and _equal(seconds, edges[1:] if late else edges[:-1]):
        return data, begun, None
    step = _step(seconds, edges, stamps, reading.zone or axis.zone)
    if not state:
        starts = seconds - step if late else seconds
        data, note = _over_periods(data, starts, step, stamps, over, reading, power)
        return data, begun, note
    rows = _meeting(seconds, edges)
    if rows[-1] < 0 and not late:
        rows = np.append(-1, _meeting(seconds + step, edges[1:]))
    for absent in np.flatnonzero(rows[1:] < 0)[:1] + 1:
        row = min(int(np.searchsorted(seconds, edges[absent])), seconds.size - 1)
        what = f"no value at {axis.labels[absent]}, and a state is not interpolated"
        raise stamps.fault(row, what)
    if rows[0] < 0:
        return data[rows[1:]], None, "its values at the ends of periods are taken"
    return data[rows], moments, "its values at the instants are taken"


def _meeting(seconds: Floats, edges: Floats) -> Ints:
    """Return the row of each instant, -1 where there is none."""
    row = np.minimum(np.searchsorted(seconds, edges - NEAR), seconds.size - 1)
    return np.where(np.abs(seconds[row] - edges) < NEAR, row, -1)


def _over_periods(
    data: Floats,
    starts: Floats,
    step: float,
    stamps: Stamps,
    over: IndexSet,
    reading: Reading,
    power: bool,
) -> tuple[Floats, str | None]:
    """Return a value for each period from rows of one step, and what was done for it."""
    axis, refused = over.root.axis, stamps.fault
    assert axis is not None
    edges = _edges(axis)
    shift, short = float(starts[0] - edges[0]), float(edges[-1] - starts[-1] - step)
    span = f"{over.name} from {axis.labels[0]} to {axis.labels[-1]}"
    one_late = reading.labels == "start" and abs(shift - step) < NEAR
    hint = "; if its time stamps name the ends of periods: --labels end" if one_late else ""
    if shift > NEAR:
        raise refused(0, f"its first row begins {_minutes(shift)} after {span}{hint}")
    if short > NEAR:
        raise refused(starts.size - 1, f"its rows end {_minutes(short)} before the end of {span}")
    # Places of the edges, counted in rows: whole where an edge is that of a row too.
    places = (edges - starts[0]) / step
    whole = bool((np.abs(places - np.rint(places)) * step < NEAR).all())
    begin = np.floor(places[:-1] + NEAR / step).astype(np.int64)
    end = np.ceil(places[1:] - NEAR / step).astype(np.int64)
    single = bool((end == begin + 1).all())
    for wrong, what in (
        (not single and not whole, "its step does not divide the periods, or begins beside them"),
        (not whole and not reading.hold, "a coarser step; --hold takes it as constant"),
        (not (single and whole) and not power, "only powers have a mean or can be held"),
    ):
        if wrong:
            shown = f"{_minutes(step)} against {_minutes(float(edges[1] - edges[0]))}"
            raise refused(0, f"{what}: {shown} of {span}")
    outside = starts.size - int(end[-1] - begin[0])
    notes = [f"{outside} rows outside {over.name} are left out"] if outside else []
    if not whole:
        notes.append(f"given every {_minutes(step)}: each value is held, as --hold asks")
    if not single:
        notes.append(f"given every {_minutes(step)}: the mean over each period is taken")
        counts = (end - begin).reshape((-1,) + (1,) * (data.ndim - 1))
        data = np.add.reduceat(data[: end[-1]], begin, axis=0) / counts
    return data[begin] if single else data, "; ".join(notes) or None


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
        return data[np.searchsorted(starts, begins + NEAR) - 1]
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


def moments_of(seconds: Floats) -> Moments:
    """Return seconds since 1970 as time stamps."""
    return np.rint(seconds * 1e3).astype("datetime64[ms]").astype("datetime64[ns]")


def _edges(axis: TimeAxis) -> Floats:
    return axis.edges if axis.zone is not None or not axis.dated else axis.local


def _equal(one: Floats, other: Floats) -> bool:
    return one.size == other.size and bool((np.abs(one - other) < NEAR).all())


def _same_clock(stamps: Stamps, axis: TimeAxis, reading: Reading) -> Floats:
    """Return stamps by the clock of the axis: UTC, the wall, or the time since its first day."""
    if axis.dated and axis.zone is not None:
        return stamps.seconds if stamps.zoned else localised(stamps, reading.zone or axis.zone)
    wall = stamps.wall
    if stamps.zoned and reading.zone is not None:
        wall = stamps.seconds + utc_offsets(stamps.seconds, reading.zone)
    return wall if axis.dated else np.asarray(wall - np.floor(wall[0] / DAY) * DAY)


def _step(seconds: Floats, edges: Floats, stamps: Stamps, zone: str | None) -> float:
    """Return the step in seconds that every row has; of a single row that of the first period.

    Raises
    ------
    InputError
        At the row that repeats, goes back or leaves a gap.
    """
    steps = np.diff(seconds)
    if not steps.size:
        return float(edges[1] - edges[0])
    for row in np.flatnonzero(~(steps > NEAR))[:1]:
        what = "a time stamp stands twice" if abs(steps[row]) <= NEAR else "time goes back"
        hint = "" if zone or stamps.zoned else "; name the zone if clocks change here (--zone)"
        raise stamps.fault(int(row) + 1, what + hint)
    values, counts = np.unique(np.rint(steps), return_counts=True)
    step = float(values[np.argmax(counts)])
    for row in np.flatnonzero(np.abs(steps - step) > NEAR)[:1]:
        here = _minutes(float(steps[row]))
        what = f"the time step is {here} here and {_minutes(step)} elsewhere"
        raise stamps.fault(int(row) + 1, what)
    return step


def _minutes(seconds: float) -> str:
    return f"{seconds / 60.0:g} min"
