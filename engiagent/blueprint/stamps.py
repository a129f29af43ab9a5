"""Time stamps of data files as seconds, all of a column at once where they are of one form."""

import re
from collections import deque
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import wraps
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt

from engiagent.blueprint.timeaxis import Floats, Ints

Read = TypeVar("Read")

_PLAIN: Final = re.compile(
    r"(?P<clock>\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?P<seconds>:\d\d)?)(?:[Zz]|[+-]\d\d:\d\d)?"
)
_BY_DAY: Final = re.compile(
    r"(\d{1,2})([./])(\d{1,2})\2(\d{4})"
    r"(?:[T ,]{1,2}(\d{1,2}):(\d\d)(:\d\d)?(?:\s?([AaPp])[Mm])?\s?(Z|UTC|[+-]\d\d:?\d\d)?)?"
)
_OFFSET: Final = re.compile(r"[+-](?P<hours>[01]\d|2[0-3]):(?P<minutes>[0-5]\d)")
_ZERO, _NEWLINE, _EPOCH = ord("0"), ord("\n"), datetime(1970, 1, 1)
_PUNCTUATION = {4: "-", 7: "-", 13: ":", 16: ":"}
Bytes = npt.NDArray[np.uint8]


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
    letters = _letters(texts, len(texts[0]))
    clock = match.end("clock")
    if letters is None or not _well_formed(letters, clock):
        return None
    year, month, day = (_number(letters, first, count) for first, count in ((0, 4), (5, 2), (8, 2)))
    hour, minute = _number(letters, 11, 2), _number(letters, 14, 2)
    second = _number(letters, 17, 2) if match["seconds"] else np.zeros_like(hour)
    if np.any((month < 1) | (month > 12) | (hour > 23) | (minute > 59) | (second > 59)):
        return None
    months = (year - 1970) * 12 + month - 1
    begun, over = _days(months), _days(months + 1)
    if np.any((day < 1) | (day > over - begun)):
        return None
    total = (begun + day - 1) * 86400.0 + (hour * 3600 + minute * 60 + second)
    if clock == letters.shape[1]:
        return total, False
    offsets = _offsets(letters[:, clock:])
    return None if offsets is None else (total - offsets, True)


def _letters(texts: Sequence[str], length: int) -> Bytes | None:
    """Return the characters, shape (texts, length); None when a text has another length."""
    joined = "\n".join(texts) + "\n"
    if len(joined) != len(texts) * (length + 1) or not joined.isascii():
        return None
    grid = np.frombuffer(joined.encode("ascii"), np.uint8).reshape(len(texts), length + 1)
    return grid[:, :-1] if np.all(grid[:, -1] == _NEWLINE) else None


def _well_formed(letters: Bytes, clock: int) -> bool:
    """Whether every row has digits, and punctuation, where a stamp has them."""
    for column in range(clock):
        here = letters[:, column]
        if column == 10:
            right = (here == ord("T")) | (here == ord(" "))
        elif column in _PUNCTUATION:
            right = here == ord(_PUNCTUATION[column])
        else:
            right = (here - _ZERO) <= 9  # unsigned: what lies below zero is large
        if not right.all():
            return False
    return True


def _number(letters: Bytes, first: int, count: int) -> Ints:
    value = np.zeros(len(letters), dtype=np.int64)
    for column in range(first, first + count):
        value = value * 10 + (letters[:, column] - _ZERO)
    return value


def _days(months: Ints) -> Ints:
    """Return days since 1970 of the first days of months since 1970."""
    return months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)


def _offsets(suffixes: Bytes) -> Floats | float | None:
    """Return offsets from UTC in seconds, one for all rows or one for each."""
    texts = np.ascontiguousarray(suffixes).view(f"S{suffixes.shape[1]}").reshape(-1)
    distinct, which = np.unique(texts, return_inverse=True)
    found = [_offset(text.decode("ascii")) for text in distinct.tolist()]
    if any(offset is None for offset in found):
        return None
    return np.asarray(np.array(found, dtype=np.float64)[which])


def _offset(suffix: str) -> float | None:
    if suffix in ("Z", "z"):
        return 0.0
    match = _OFFSET.fullmatch(suffix)
    if match is None:
        return None
    size = 3600.0 * int(match["hours"]) + 60.0 * int(match["minutes"])
    return -size if suffix[0] == "-" else size
