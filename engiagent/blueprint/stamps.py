"""Time stamps of data files as seconds, all of a column at once where they are of one form."""

import re
from collections import deque
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import wraps
from typing import Final, TypeVar

import numpy as np

from engiagent.blueprint.timeaxis import Floats

Read = TypeVar("Read")

_PLAIN: Final = re.compile(
    r"(?P<clock>\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d)?)(?:[Zz]|[+-]\d\d:\d\d)?"
)
_BY_DAY: Final = re.compile(
    r"(\d{1,2})([./])(\d{1,2})\2(\d{4})"
    r"(?:[T ,]{1,2}(\d{1,2}):(\d\d)(:\d\d)?(?:\s?([AaPp])[Mm])?\s?(Z|UTC|[+-]\d\d:?\d\d)?)?"
)
_EPOCH: Final = datetime(1970, 1, 1)


def parse_stamp(text: str) -> datetime | None:
    """Return a time stamp in ISO 8601 with a date, None for anything else."""
    if "-" not in text:
        return None  # 20250701 is a number
    try:
        return datetime.fromisoformat(text.strip().replace(" UTC", "Z").replace("UTC", "Z"))
    except ValueError:
        return None


def _remembering(read: Callable[[tuple[str, ...]], Read]) -> Callable[[tuple[str, ...]], Read]:
    """Return a function that knows the texts that it was given last.

    Columns of a file are asked for again and again, as the very same tuple: to hash or to compare
    a year of texts takes nearly as long as to read them.
    """
    recent: deque[tuple[tuple[str, ...], Read]] = deque(maxlen=8)

    @wraps(read)
    def remembered(texts: tuple[str, ...]) -> Read:
        for known, found in recent:
            if known is texts:
                return found
        found = read(texts)
        recent.append((texts, found))
        return found

    return remembered


class StampError(ValueError):
    """What is wrong with the stamps of a column, and in which row counted from 0."""

    def __init__(self, row: int, message: str, expected: str | None = None) -> None:
        super().__init__(message)
        self.row, self.expected = row, expected


def is_by_day(text: str) -> bool:
    """Whether a stamp has its year last, as 01.07.2025 14:00 or 7/1/2025 2:00 PM."""
    return _BY_DAY.fullmatch(text) is not None


@_remembering
def in_iso(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Return stamps that have their year last in ISO 8601, all others as they are.

    Whether they begin with the day is told by the whole column.
    """
    found = [(row, m) for row, text in enumerate(texts) if (m := _BY_DAY.fullmatch(text))]
    if not found:
        return texts
    first = next((row for row, match in found if int(match[1]) > 12), None)
    second = next((row for row, match in found if int(match[3]) > 12), None)
    if first is not None and second is not None:
        raise StampError(max(first, second), "day and month in two orders")
    halves = any(match[8] for _, match in found)  # with AM and PM it is the month
    strokes = next((row for row, match in found if match[2] == "/"), None)
    if strokes is not None and first is None and second is None and not halves:
        expected = "dates such as 2025-07-01"
        raise StampError(strokes, "day and month cannot be told apart", expected)
    written = list(texts)
    for row, match in found:
        a, _, b, year, hour, minute, seconds, half, offset = match.groups()
        day, month = (b, a) if second is not None or (halves and first is None) else (a, b)
        clock = int(hour or 0) if half is None else int(hour) % 12 + 12 * (half in "Pp")
        zone = {"UTC": "Z", None: ""}.get(offset, offset)
        zone = f"{zone[:3]}:{zone[-2:]}" if len(zone) > 1 else zone
        time = f"{clock:02}:{minute or '00'}{seconds or ''}"
        written[row] = f"{year}-{int(month):02}-{int(day):02}T{time}{zone}"
    return tuple(written)


@_remembering
def stamp_seconds(texts: tuple[str, ...]) -> tuple[Floats, bool]:
    """Return time stamps in seconds since 1970, NaN where a text is none, and whether by UTC.

    Stamps without an offset count by the wall clock.
    """
    plain = plain_seconds(texts)
    if plain is not None:
        return plain
    stamps = [parse_stamp(text) for text in texts]
    aware = {stamp.tzinfo is not None for stamp in stamps if stamp is not None}
    if len(aware) > 1:
        row = next(k for k, stamp in enumerate(stamps) if stamp and stamp.tzinfo is None)
        raise StampError(row, "a time stamp without offset from UTC among others with one")
    count = datetime.timestamp if True in aware else lambda stamp: (stamp - _EPOCH).total_seconds()
    seconds = [np.nan if stamp is None else count(stamp) for stamp in stamps]
    return np.array(seconds, dtype=np.float64), True in aware


@_remembering
def plain_seconds(texts: tuple[str, ...]) -> tuple[Floats, bool] | None:
    """Read stamps of the form of the first one all at once, ten times faster than one by one.

    None when the first is of no plain form, or another one is of a different form or no time.
    """
    match = _PLAIN.fullmatch(texts[0]) if texts else None
    if match is None:
        return None
    rows, clock, joined = len(texts), match.end("clock"), "\n".join(texts) + "\n"
    if len(joined) != rows * (match.end() + 1) or not joined.isascii():
        return None
    letters = np.frombuffer(joined.encode("ascii"), "S1").reshape(rows, -1)
    # numpy reads a year with a sign and an offset behind the hour, too
    if np.any(letters[:, 0] < b"0") or np.any(letters[:, (13, -1)] != (b":", b"\n")):
        return None
    try:
        stamps = np.ascontiguousarray(letters[:, :clock]).view(f"S{clock}").reshape(rows)
        seconds: Floats = stamps.astype("M8[s]").astype(np.float64)
        if clock == match.end():
            return seconds, False
        suffixes = np.ascontiguousarray(letters[:, clock:-1]).view(f"S{match.end() - clock}")
        distinct, which = np.unique(suffixes.reshape(rows), return_inverse=True)
        offsets = np.array([_offset(suffix.decode("ascii")) for suffix in distinct.tolist()])
    except ValueError:
        return None
    return seconds - offsets[which], True


def _offset(suffix: str) -> float:
    """Return the seconds by which clocks with a suffix such as Z or +02:00 are ahead of UTC."""
    zone = datetime.fromisoformat(f"2000-01-01T00:00{suffix.upper()}").utcoffset()
    return (zone or timedelta()).total_seconds()
