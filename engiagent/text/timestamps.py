"""Time stamps of a data file: read strictly, put in order, checked for gaps.

Local time with a zone is turned into instants; on the day when clocks go back, the hour that
comes twice is told apart by the order of the rows.
"""

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from engiagent.blueprint.stamps import StampError, in_iso, is_by_day, parse_stamp, stamp_seconds
from engiagent.blueprint.timeaxis import clock_instants
from engiagent.io.tabular import TableColumn
from engiagent.text.frontmatter import is_zone

Seconds = npt.NDArray[np.int64]

_TIME_NAMES: Final = re.compile(
    r"(?i)^(?:utc|.*(?:time|stamp|hour_(?:beginning|ending)|delivery_start|start|begin|date).*)$"
)


@dataclass(frozen=True, eq=False)
class Times:
    """Regular time stamps of a file."""

    # seconds since 1970, shape (rows,); by the wall clock where no zone is known
    instants: Seconds = field(repr=False)
    zone: str | None  # the time zone, None where none is known
    step_seconds: int | None  # the step; None with a single time stamp

    @cached_property
    def index(self) -> Any:
        """The time stamps as a pandas ``DatetimeIndex``, in their zone where one is known."""
        import pandas as pd  # here, for it takes more memory than most problems

        index = pd.DatetimeIndex(self.instants.astype("datetime64[s]"))
        return index if self.zone is None else index.tz_localize("UTC").tz_convert(self.zone)

    @cached_property
    def step(self) -> Any:
        """The step as a pandas ``Timedelta``; None with a single time stamp."""
        import pandas as pd

        return None if self.step_seconds is None else pd.Timedelta(seconds=self.step_seconds)


def looks_like_time(column: TableColumn) -> bool:
    """Whether a column holds time stamps: its cells say so, or some do and its name does."""
    if not column.is_text:
        return False
    texts = column.texts()[: 5 if _TIME_NAMES.match(column.name) else 1]
    return any(parse_stamp(text) is not None or is_by_day(text) for text in texts)


def read_times(column: TableColumn, zone: str | None) -> Times:
    """Return the time stamps of a column.

    ``column``: text in ISO 8601 with or without offset, or as ``01.07.2025 00:00``. ``zone``: the
    time zone of stamps without offset; None takes that of the header, as in ``time
    [Europe/Berlin]``, or leaves them without a zone.
    """
    seconds, known = read_instants(column, zone)
    return Times(seconds, known, _checked_step(column, seconds, known is None))


def read_instants(column: TableColumn, zone: str | None) -> tuple[Seconds, str | None]:
    """Return the time stamps of a column, whatever their order and step, and their zone."""
    try:
        found, aware = stamp_seconds(in_iso(column.texts()))
    except StampError as error:
        raise column.error(error.row, str(error), expected=error.expected) from None
    if np.isnan(found).any():
        row = int(np.argmax(np.isnan(found)))
        what = "no time stamp" if column.texts()[row] else "an empty cell"
        raise column.error(row, what, expected="a time stamp such as 2025-07-01 00:00")
    seconds = found.astype(np.int64)
    if aware:
        return seconds, zone or "UTC"
    own = column.unit_text
    if (own == "UTC" or "/" in own) and is_zone(own):  # CET may or may not have summer time
        if zone not in (None, own):
            expected = "one zone, or stamps with offsets, as 2025-07-01T00:00+02:00"
            raise column.error(0, f"the header says {own}, not {zone}", expected=expected)
        zone = own
    if zone is not None and zone != "UTC":
        seconds = _localised(column, seconds, zone)
    return seconds, zone


def _localised(column: TableColumn, wall: Seconds, zone: str) -> Seconds:
    """Return local wall-clock times as instants; a repeated hour counts in the order of rows."""
    early, late = clock_instants(wall, zone)
    missing = np.isnan(early)
    if missing.any():
        row = int(np.argmax(missing))
        said = f"this local time does not exist in {zone}: clocks go forward"
        raise column.error(row, said, expected="stamps by these clocks, or with offsets as +01:00")
    is_first = np.ones(len(wall), bool)
    repeated, previous = False, -2
    for k in np.flatnonzero(early != late).tolist():
        inside = k == previous + 1
        repeated = inside and (repeated or bool(wall[k] <= wall[k - 1]))
        is_first[k] = not repeated
        previous = k
    return np.where(is_first, early, late).astype(np.int64)


def _checked_step(column: TableColumn, instants: Seconds, naive: bool) -> int | None:
    """Return the step in seconds; raise where stamps repeat, go back or leave a gap."""
    steps = np.diff(instants)
    if steps.size == 0:
        return None
    if steps[0] > 0 and bool((steps == steps[0]).all()):
        return int(steps[0])
    values, counts = np.unique(steps, return_counts=True)
    step = int(values[np.argmax(counts)])
    hint = f"; if clocks change here, name the zone in the header: '{column.name} [Europe/Berlin]'"
    wrong = np.flatnonzero(steps <= 0)
    if wrong.size:
        row = int(wrong[0]) + 1
        what = "a time stamp stands twice" if steps[row - 1] == 0 else "time goes back"
        what += hint if naive and step - steps[row - 1] == 3600 else ""
        before = column.texts()[row - 1]
        raise column.error(row, what, expected=f"a time after {before}")
    irregular = np.flatnonzero(steps != step)
    row = int(irregular[0]) + 1
    text = f"the time step is {steps[row - 1] / 60:g} min here"
    if bool((steps[irregular] % step == 0).all()):
        text += f", a gap of {int(steps[row - 1]) // step - 1} time stamp(s)"
        text += f" after {column.texts()[row - 1]}"
        text += f", and {len(irregular) - 1} more gap(s)" if len(irregular) > 1 else ""
    text += hint if naive and steps[row - 1] - step == 3600 else ""
    raise column.error(row, text, expected=f"{step / 60:g} min as elsewhere")
