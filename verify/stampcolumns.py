"""Time stamps of schedules: ISO 8601, day or month first, epochs and spreadsheet days."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt

from engiagent.blueprint.stamps import stamp_seconds
from engiagent.errors import InputError
from engiagent.verify.foreign import Dates

Floats = npt.NDArray[np.float64]
Fault = Callable[[int, str], InputError]
"""Makes the error for a row, counted from 0."""

_OTHER: Final = re.compile(
    r"(\d{1,4})([./-])(\d{1,2})\2(\d{1,4})"
    r"(?:[T ,]\s*(\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?(?:\s*([AaPp])\.?[Mm]\.?)?)?"
    r"\s*(Z|UTC|GMT|[+-]\d{2}:?\d{2})?",
    re.A,
)
_MIDNIGHT: Final = re.compile(r"(.*[T ])24:00(:00)?(Z|[+-]\d{2}:?\d{2})?", re.A)
# Counted units of an epoch by the size of its numbers: all of them mean the years 1980 to 2200.
_EPOCHS: Final = (
    (3.2e8, 7.3e9, 1.0),
    (3.2e11, 7.3e12, 1e3),
    (3.2e14, 7.3e15, 1e6),
    (3.2e17, 7.3e18, 1e9),
)
_SPREADSHEET: Final = (29_000.0, 110_000.0)  # days since 1899-12-30: the years 1979 to 2201
QUARTER: Final = 900.0
_DAY_ZERO: Final = -2_209_161_600.0


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


def text_stamps(texts: Sequence[str], fault: Fault, dates: Dates | None) -> Stamps | None:
    """Return the stamps of texts; None when the first is no date.

    Raises
    ------
    InputError
        For a later text that is none, an order of day and month that cannot be told, and stamps of
        which only some have an offset.
    """
    if not texts:
        return None
    try:
        seconds, zoned = stamp_seconds(tuple(texts))
    except ValueError as error:
        raise InputError(str(error), fault(0, "").file) from None
    if np.isfinite(seconds).all():
        wall = seconds + _written_offsets(texts) if zoned else seconds
        return Stamps(seconds, wall, zoned, fault)
    return _other_stamps(texts, fault, dates)


def _written_offsets(texts: Sequence[str]) -> Floats:
    found = {text[-6:]: 0.0 for text in texts}
    for ending in found:
        match = re.fullmatch(r".*([+-])(\d{2}):?(\d{2})", ending)
        if match is not None:
            size = 3600.0 * int(match[2]) + 60.0 * int(match[3])
            found[ending] = -size if match[1] == "-" else size
    return np.array([found[text[-6:]] for text in texts])


def _other_stamps(texts: Sequence[str], fault: Fault, dates: Dates | None) -> Stamps | None:
    matches = [_OTHER.fullmatch(_without_midnight(text.strip())[0]) for text in texts]
    if matches[0] is None:
        return None
    day_first = _day_first(matches, fault, dates)
    seconds, wall, zoned = [], [], []
    for row, (text, match) in enumerate(zip(texts, matches, strict=True)):
        if match is None:
            what = "an empty cell where a time stamp is needed" if not text else "no time stamp"
            raise fault(row, what)
        plain = _moment(match, day_first)
        if plain is None:
            raise fault(row, "no such date or time")
        moment = (plain - datetime(1970, 1, 1)).total_seconds()
        moment += 86400.0 if _without_midnight(text.strip())[1] else 0.0
        offset = _offset(match[9])
        wall.append(moment)
        seconds.append(moment - (offset or 0.0))
        zoned.append(offset is not None)
    if any(zoned) and not all(zoned):
        row = zoned.index(not zoned[0])
        raise fault(row, "some time stamps have an offset from UTC and some have none")
    return Stamps(np.array(seconds), np.array(wall), zoned[0], fault)


def _without_midnight(text: str) -> tuple[str, bool]:
    """Return a stamp at 24:00 as one at 00:00, and whether it was one."""
    match = _MIDNIGHT.fullmatch(text)
    if match is None:
        return text, False
    return f"{match[1]}00:00{match[2] or ''}{match[3] or ''}", True


def _day_first(matches: Sequence[re.Match[str] | None], fault: Fault, dates: Dates | None) -> bool:
    """Return whether dates begin with the day, by the whole column; dots say so by themselves."""
    over_first = over_second = strokes = None
    for row, match in enumerate(matches):
        if match is None or len(match[1]) > 2:
            continue
        over_first = row if int(match[1]) > 12 else over_first
        over_second = row if int(match[3]) > 12 else over_second
        strokes = row if match[2] != "." and strokes is None else strokes
    if over_first is not None and over_second is not None:
        raise fault(max(over_first, over_second), "day and month in two orders")
    told = True if over_first is not None else False if over_second is not None else None
    if dates is not None:
        if told is not None and told != (dates == "day first"):
            raise fault(over_first or over_second or 0, f"this date is not written {dates}")
        return dates == "day first"
    if told is None and strokes is not None:
        error = fault(strokes, "day and month cannot be told apart")
        raise InputError(
            error.message,
            error.file,
            error.line,
            error.column,
            error.found,
            "--dates 'day first' or --dates 'month first'",
        )
    return told is not False


def _moment(match: re.Match[str], day_first: bool) -> datetime | None:
    first, middle, last = int(match[1]), int(match[3]), int(match[4])
    if len(match[1]) == 4:
        year, month, day = first, middle, last
    elif len(match[4]) == 4:
        year = last
        day, month = (first, middle) if day_first else (middle, first)
    else:
        return None  # a year of two digits is anybody's guess
    hour, minute, second = int(match[5] or 0), int(match[6] or 0), int(match[7] or 0)
    if match[8] is not None:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if match[8] in "pP" else 0)
    try:
        return datetime(year, month, day, hour, minute, second)
    except ValueError:
        return None


def _offset(written: str | None) -> float | None:
    if written is None:
        return None
    if written in ("Z", "UTC", "GMT"):
        return 0.0
    sign = -1.0 if written[0] == "-" else 1.0
    return sign * (3600.0 * int(written[1:3]) + 60.0 * int(written[-2:]))


def number_stamps(numbers: Floats, fault: Fault) -> tuple[Stamps, str] | None:
    """Return the stamps of an epoch or of days of a spreadsheet, and which it is; None for a count.

    Raises
    ------
    InputError
        When only some of the numbers are stamps.
    """
    if not numbers.size or not np.isfinite(numbers).all():
        return None
    for low, high, scale in _EPOCHS:
        inside = (numbers >= low) & (numbers <= high)
        if inside[0]:
            if not inside.all():
                raise fault(int(np.argmin(inside)), "a number far from the other time stamps")
            seconds = numbers / scale
            kind = {1.0: "seconds", 1e3: "milliseconds", 1e6: "microseconds"}.get(
                scale, "nanoseconds"
            )
            return Stamps(seconds, seconds, True, fault), f"{kind} since 1970 UTC"
    inside = (numbers >= _SPREADSHEET[0]) & (numbers <= _SPREADSHEET[1])
    if inside.all():
        seconds = np.rint(numbers * 86400.0) + _DAY_ZERO
        return Stamps(seconds, seconds, False, fault), "days of a spreadsheet (since 1899-12-30)"
    return None


def localised(stamps: Stamps, zone: str) -> Floats:
    """Return wall-clock stamps as seconds of UTC; an hour that comes twice goes by row order.

    Raises
    ------
    InputError
        For a local time that does not exist because clocks go forward.
    """
    info = ZoneInfo(zone)
    known: dict[tuple[float, int], float] = {}

    def utc(wall: float, fold: int) -> float:
        naive = datetime(1970, 1, 1) + timedelta(seconds=wall)
        return naive.replace(tzinfo=info, fold=fold).timestamp()

    def offset(quarter: float, fold: int) -> float:
        if (quarter, fold) not in known:
            known[quarter, fold] = quarter * QUARTER - utc(quarter * QUARTER, fold)
        return known[quarter, fold]

    # Offsets change at full quarters, so that one look per quarter of the wall clock is enough.
    quarters = np.floor(stamps.wall / QUARTER)
    distinct, which = np.unique(quarters, return_inverse=True)
    early, late = (np.array([offset(float(q), fold) for q in distinct])[which] for fold in (0, 1))
    doubtful = np.flatnonzero(early != late)
    result: Floats = stamps.wall - early
    repeated, previous = False, -2
    for row in doubtful.tolist():
        moment = stamps.wall[row] - early[row]
        back = datetime.fromtimestamp(moment, UTC).astimezone(info).replace(tzinfo=None)
        if (back - datetime(1970, 1, 1)).total_seconds() != stamps.wall[row]:
            raise stamps.fault(
                row, f"this local time does not exist in {zone}: clocks go forward then"
            )
        inside = row == previous + 1
        repeated = inside and (repeated or bool(stamps.wall[row] <= stamps.wall[row - 1]))
        if repeated:
            result[row] = stamps.wall[row] - late[row]
        previous = row
    return result


def wall_clock(seconds: Floats, zone: str) -> Floats:
    """Return seconds of UTC as seconds of the wall clock of a zone."""
    info = ZoneInfo(zone)
    quarters = np.floor(seconds / QUARTER)
    distinct, which = np.unique(quarters, return_inverse=True)
    offsets = [
        (datetime.fromtimestamp(h * QUARTER, UTC).astimezone(info).utcoffset() or timedelta())
        for h in distinct.tolist()
    ]
    return np.asarray(seconds + np.array([o.total_seconds() for o in offsets])[which])
