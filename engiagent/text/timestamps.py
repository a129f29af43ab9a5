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

from engiagent.blueprint.stamps import StampError, in_iso, is_by_day, plain_seconds
from engiagent.blueprint.timeaxis import clock_instants
from engiagent.io.tabular import TableColumn

Seconds = npt.NDArray[np.int64]

_STAMP: Final = re.compile(
    r"(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)\s?"
    r"(Z|UTC|[+-]\d{2}:?\d{2})?)?"
)
_TIME_NAMES: Final = re.compile(
    r"(?i)^(?:date|time|timestamp|datetime|date_?time|utc|.*(?:time|stamp|hour_(?:beginning|ending)|"
    r"delivery_start|start|begin|beginning|date).*)$"
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
    texts = column.texts()
    if _is_stamp(texts[0]):
        return True
    return bool(_TIME_NAMES.match(column.name)) and any(_is_stamp(t) for t in texts[:5])


def _is_stamp(text: str) -> bool:
    return _STAMP.fullmatch(text) is not None or is_by_day(text)


def read_times(column: TableColumn, zone: str | None) -> Times:
    """Return the time stamps of a column.

    ``column``: text in ISO 8601 with or without offset, or as ``01.07.2025 00:00``. ``zone``: the
    time zone of stamps without offset; None leaves them without a zone. Raises InputError with line
    and column: no time stamp, a local time that does not exist, two orders of day and month, stamps
    that repeat, go back or leave a gap.
    """
    seconds, known = read_instants(column, zone)
    return Times(seconds, known, _checked_step(column, seconds, known is None))


def read_instants(column: TableColumn, zone: str | None) -> tuple[Seconds, str | None]:
    """Return the time stamps of a column, whatever their order and step, and their zone."""
    seconds, aware = _parse(column)
    if aware:
        return seconds, zone or "UTC"
    if zone is not None and zone != "UTC":
        seconds = _localised(column, seconds, zone)
    return seconds, zone


def _parse(column: TableColumn) -> tuple[Seconds, bool]:
    """Return seconds since 1970 and whether they count in UTC, else by the wall clock."""
    plain = plain_seconds(column.texts())
    if plain is not None:
        return plain[0].astype(np.int64), plain[1]
    try:
        texts = in_iso(column.texts())
    except StampError as error:
        raise column.error(error.row, str(error), expected=error.expected) from None
    plain = plain_seconds(texts)
    if plain is not None:
        return plain[0].astype(np.int64), plain[1]
    rows = [_stamp(column, row, text) for row, text in enumerate(texts)]
    seconds = np.array([wall for wall, _ in rows], dtype=np.int64)
    given = [offset for _, offset in rows]
    if all(offset is None for offset in given):
        return seconds, False
    for row, offset in enumerate(given):
        if offset is None:
            raise column.error(row, "a time stamp without offset among others with one")
    return seconds - np.array(given, dtype=np.int64), True


def _stamp(column: TableColumn, row: int, text: str) -> tuple[int, int | None]:
    match = _STAMP.fullmatch(text)
    if match is None:
        message = "an empty cell where a time stamp is needed" if not text else "no time stamp"
        raise column.error(row, message, expected="a time stamp such as 2025-07-01 00:00")
    day, clock, offset = match.groups()
    try:
        wall = np.datetime64(f"{day}T{clock or '00:00'}", "s").astype(np.int64)
    except ValueError:
        raise column.error(row, "no such date or time") from None
    return int(wall), _offset_seconds(offset)


def _offset_seconds(written: str | None) -> int | None:
    if written is None:
        return None
    if written in ("Z", "UTC"):
        return 0
    sign = -1 if written[0] == "-" else 1
    return sign * (3600 * int(written[1:3]) + 60 * int(written[-2:]))


def _localised(column: TableColumn, wall: Seconds, zone: str) -> Seconds:
    """Return local wall-clock times as instants; a repeated hour counts in the order of rows."""
    early, late = clock_instants(wall, zone)
    missing = np.isnan(early)
    if missing.any():
        row = int(np.argmax(missing))
        raise column.error(row, f"this local time does not exist in {zone}: clocks go forward")
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
    wrong = np.flatnonzero(steps <= 0)
    if wrong.size:
        row = int(wrong[0]) + 1
        what = "a time stamp stands twice" if steps[row - 1] == 0 else "time goes back"
        hint = "; give the 'zone' if clocks change here" if naive else ""
        before = column.texts()[row - 1]
        raise column.error(row, what + hint, expected=f"a time after {before}")
    if bool((steps == steps[0]).all()):
        return int(steps[0])
    values, counts = np.unique(steps, return_counts=True)
    step = int(values[np.argmax(counts)])
    irregular = np.flatnonzero(steps != step)
    row, many = int(irregular[0]) + 1, len(irregular) - 1
    said = f"the time step is {_minutes(int(steps[row - 1]))} here"
    if bool((steps[irregular] % step == 0).all()):
        missing = int(steps[row - 1]) // step - 1
        said += f", a gap of {missing} time stamp(s) after {column.texts()[row - 1]}"
        said += f", and {many} more gap(s)" if many else ""
    raise column.error(row, said, expected=f"{_minutes(step)} as elsewhere")


def _minutes(seconds: int) -> str:
    return f"{seconds / 60:g} min"
