"""Time stamps of rows, and the periods of a time set that the rows are for.

Stamps are ISO 8601; local clocks become UTC. What does not fit is refused with its place.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from engiagent.blueprint.sets import IndexSet
from engiagent.blueprint.stamps import StampError, in_iso, stamp_seconds
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
_DATE: Final = re.compile(r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}(?!\d)", re.A)
_OFFSET: Final = re.compile(r"(?:[Zz]|[+-]\d{2}:?\d{2})$")


@dataclass(frozen=True, eq=False)
class Stamps:
    """The time stamps of rows in seconds since 1970; ``fault`` makes the error for a row.

    ``seconds`` by UTC where ``zoned``, ``wall`` by the clock as written.
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


def text_stamps(texts: tuple[str, ...], fault: Fault) -> Stamps | None:
    """Return the stamps of texts; None when the first is no date."""
    if not texts:
        return None
    try:
        texts = in_iso(texts)
        seconds, zoned = stamp_seconds(texts)
    except StampError as error:
        refused = fault(error.row, str(error))
        refused.expected = error.expected
        raise refused from None
    except ValueError as error:
        raise fault(0, str(error)) from None
    for row in np.flatnonzero(~np.isfinite(seconds))[:1]:
        if not row and not _DATE.match(texts[0]):
            return None
        refused = fault(int(row), "no time stamp")
        refused.expected = "ISO 8601, as 2025-07-01T14:00"
        raise refused
    bare = tuple(_OFFSET.sub("", text) for text in texts) if zoned else texts
    return Stamps(seconds, stamp_seconds(bare)[0], zoned, fault)


def localised(stamps: Stamps, zone: str) -> Floats:
    """Return wall-clock stamps as seconds of UTC; an hour that comes twice goes by row order."""
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

    A ``state`` is taken at instants and never interpolated; only a ``power`` has a mean over a
    period. With the values come the stamps as the schedule's own dataset has them, None for a set
    without dates and for states at the ends of periods, and what was done, if anything.
    """
    axis = over.root.axis
    assert axis is not None
    edges, seconds = _edges(axis), _same_clock(stamps, axis, reading)
    late = reading.labels == "end"
    moments = moments_of(edges) if axis.dated else None
    begun = None if moments is None else moments[:-1]
    if _equal(seconds, edges[1:]) and (state or late):
        return data, None if state else begun, None  # by convention states at ends of periods
    if _equal(seconds, edges[:-1]) and not late:
        return data, None if state else begun, None
    if state and _equal(seconds, edges):
        return data, moments, None
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


def _equal(one: Floats, other: Floats) -> bool:
    return one.size == other.size and bool((np.abs(one - other) < NEAR).all())


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
    row_of = _meeting(np.append(starts, starts[-1] + step), edges)
    finer = bool((row_of >= 0).all())
    begin = row_of[:-1] if finer else np.searchsorted(starts, edges[:-1] + NEAR) - 1
    counts = np.diff(row_of) if finer else np.ones(begin.size, dtype=np.int64)
    # Where an edge of a row lies inside a period, neither a mean nor one value is that of it.
    cut = not finer and bool((starts[begin] + step < edges[1:] - NEAR).any())
    single = bool((counts == 1).all())
    for wrong, what in (
        (cut, "its step does not divide the periods, or begins beside them"),
        (not finer and not reading.hold, "a coarser step; --hold takes it as constant"),
        (not (finer and single) and not power, "only powers have a mean or can be held"),
    ):
        if wrong:
            shown = f"{_minutes(step)} against {_minutes(float(edges[1] - edges[0]))}"
            raise refused(0, f"{what}: {shown} of {span}")
    every = f"given every {_minutes(step)}: "
    used = int(begin[-1] + counts[-1] - begin[0])
    notes = [f"{starts.size - used} rows outside {over.name} are left out"]
    notes = notes if used < starts.size else []
    notes += [] if finer else [f"{every}each value is held, as --hold asks"]
    if single:
        return data[begin], "; ".join(notes) or None
    notes.append(f"{every}the mean over each period is taken")
    sums = np.add.reduceat(data[: row_of[-1]], begin, axis=0)
    return sums / counts.reshape((-1,) + (1,) * (data.ndim - 1)), "; ".join(notes)


def at_periods(data: Floats, stamps: Stamps, axis: TimeAxis, rule: str) -> Floats:
    """Return a column of a data file at the periods of an axis, as a blueprint says it was aligned.

    Every row holds until the next begins; ``rule`` is ``hold``, ``mean``, ``sum`` or
    ``interpolate``.
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


def _same_clock(stamps: Stamps, axis: TimeAxis, reading: Reading) -> Floats:
    """Return stamps by the clock of the axis: UTC, the wall, or the time since its first day."""
    if axis.dated and axis.zone is not None:
        return stamps.seconds if stamps.zoned else localised(stamps, reading.zone or axis.zone)
    wall = stamps.wall
    if stamps.zoned and reading.zone is not None:
        wall = stamps.seconds + utc_offsets(stamps.seconds, reading.zone)
    return wall if axis.dated else np.asarray(wall - np.floor(wall[0] / DAY) * DAY)


def _step(seconds: Floats, edges: Floats, stamps: Stamps, zone: str | None) -> float:
    """Return the step in seconds that every row has; of a single row that of the first period."""
    steps = np.diff(seconds)
    if not steps.size:
        return float(edges[1] - edges[0])
    for row in np.flatnonzero(~(steps > NEAR))[:1]:
        twice = "a time stamp stands twice, where a table has one row for each step"
        what = twice if abs(steps[row]) <= NEAR else "time goes back"
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
