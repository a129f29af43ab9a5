"""Time stamps of columns: ISO 8601, or as a stated format reads them; local clocks to UTC."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from engiagent.blueprint.stamps import stamp_seconds
from engiagent.errors import InputError

Floats = npt.NDArray[np.float64]
Fault = Callable[[int, str], InputError]
"""Makes the error for a row, counted from 0."""

EPOCHS: Final = {"epoch s": 1.0, "epoch ms": 1e3}
_DATE: Final = re.compile(r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}(?!\d)", re.A)
_START: Final = datetime(1970, 1, 1)


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
        wall = seconds + _written_offsets(texts) if zoned else seconds
        return Stamps(seconds, wall, zoned, fault)
    row = int(wrong[0])
    if row or _DATE.match(texts[0]):
        what = "no time stamp" if texts[row] else "an empty cell where a time stamp is needed"
        wrong_stamp = fault(row, what)
        wrong_stamp.expected = (
            "ISO 8601, as 2025-07-01T14:00, or --time-format, as '%d.%m.%Y %H:%M'"
        )
        raise wrong_stamp
    return None


def _written_offsets(texts: Sequence[str]) -> Floats:
    found = {text[-6:]: 0.0 for text in texts}
    for ending in found:
        match = re.fullmatch(r".*([+-])(\d{2}):?(\d{2})", ending)
        if match is not None:
            size = 3600.0 * int(match[2]) + 60.0 * int(match[3])
            found[ending] = -size if match[1] == "-" else size
    return np.array([found[text[-6:]] for text in texts])


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
    wall = np.array([(m.replace(tzinfo=None) - _START).total_seconds() for m in moments])
    offsets = [m.utcoffset() for m in moments]
    away = np.array([0.0 if o is None else o.total_seconds() for o in offsets])
    return Stamps(wall - away, wall, zoned, fault)


def localised(stamps: Stamps, zone: str) -> Floats:
    """Return wall-clock stamps as seconds of UTC; an hour that comes twice goes by row order.

    Raises
    ------
    InputError
        For a local time that does not exist because clocks go forward, and for one that clocks
        show twice where only one row has it.
    """
    import pandas as pd

    index: Any = pd.DatetimeIndex(np.rint(stamps.wall * 1e3).astype("datetime64[ms]"))
    early = np.ones(len(stamps), dtype=np.bool_)
    try:
        there = index.tz_localize(zone, ambiguous=early, nonexistent="NaT")
        if there.hasnans:
            row = int(np.argmax(there.isna()))
            what = f"this local time does not exist in {zone}: clocks go forward then"
            raise stamps.fault(row, what)
        twice = index.tz_localize(zone, ambiguous="NaT").isna()
        if twice.any():
            try:
                there = index.tz_localize(zone, ambiguous="infer")
            except ValueError:
                what = f"clocks in {zone} show this hour twice, and it needs a row for each"
                raise stamps.fault(int(np.argmax(twice)), what) from None
    except OverflowError as error:
        raise stamps.fault(0, str(error)) from None
    utc: Floats = there.tz_convert("UTC").tz_localize(None).as_unit("ms").asi8 / 1e3
    return utc


def wall_clock(seconds: Floats, zone: str) -> Floats:
    """Return seconds of UTC as seconds of the wall clock of a zone."""
    import pandas as pd

    index: Any = pd.DatetimeIndex(np.rint(seconds * 1e3).astype("datetime64[ms]"), tz="UTC")
    wall: Floats = index.tz_convert(zone).tz_localize(None).as_unit("ms").asi8 / 1e3
    return wall
