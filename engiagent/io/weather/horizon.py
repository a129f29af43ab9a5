"""Weather along a horizon: each period takes the hours of the file that it covers.

Hours are matched by month, day and hour in the standard time of the station, so that a typical year
serves any calendar year, and summer time moves nothing. 29 February takes the 28th where the file
has none. A period shorter than an hour has the value of its hour, one of several hours their mean;
what was read at the end of an hour thus stands for the whole hour, as in the file.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from engiagent.errors import InputError
from engiagent.io.files import write_atomic
from engiagent.io.weather.files import Floats, Ints, Weather

HOUR = 3600


def series_over(
    weather: Weather, name: str, start: datetime, step_hours: float, periods: int
) -> Floats:
    """Return a column over a horizon in its own unit, shape (periods,).

    ``weather``, ``name``: the file and the column. ``start``: start of the first period; a zone is
    taken into account, without one the clock is the station's. ``step_hours``: length of a period:
    a whole number of hours, or a part that divides one. Above 0. [h] ``periods``: how many. At
    least 1. Raises InputError when a period is cut by an hour of the file, or an hour of the
    horizon is missing in it.
    """
    step = round(step_hours * HOUR)
    if (
        periods < 1
        or step < 1
        or abs(step - step_hours * HOUR) > 1e-6
        or (HOUR % step and step % HOUR)
    ):
        raise InputError(
            f"{periods} periods of {step_hours} h",
            weather.file,
            expected="whole hours, or a length that divides an hour, as 0.25",
        )
    if start.tzinfo is None:
        first = int(np.datetime64(start, "s").astype(np.int64))
    else:
        first = round(start.timestamp() + weather.offset * HOUR)
    fine = min(step, HOUR)
    if first % fine:
        found = start.isoformat()
        raise InputError("the horizon starts within an hour of the file", weather.file, found=found)
    seconds = first + fine * np.arange(periods * (step // fine), dtype=np.int64)
    values = weather.column(name)[_rows(weather, seconds)]
    missing = np.isnan(values)
    if missing.any():
        when = np.datetime64(int(seconds[np.argmax(missing)]), "s")
        raise InputError(f"{name} is missing at {when} standard time", weather.file)
    means: Floats = values.reshape(periods, -1).mean(axis=1)
    return means


def _rows(weather: Weather, seconds: Ints) -> Ints:
    """Return the row of each instant of standard time."""
    instants = seconds.astype("datetime64[s]")
    days = instants.astype("datetime64[D]")
    months = days.astype("datetime64[M]")
    month = months.astype(np.int64) % 12 + 1
    day = (days - months).astype(np.int64) + 1
    hour = seconds // HOUR % 24
    table = np.full(13 * 32 * 24, -1, dtype=np.int64)
    key = (weather.month * 32 + weather.day) * 24 + weather.hour
    if len(np.unique(key)) < len(key):
        raise InputError("an hour stands twice; give a file of at most one year", weather.file)
    table[key] = np.arange(len(key))
    leap = (2 * 32 + 29) * 24 + np.arange(24)
    table[leap] = np.where(table[leap] < 0, table[leap - 24], table[leap])
    rows: Ints = table[(month * 32 + day) * 24 + hour]
    if (rows < 0).any():
        raise InputError(f"the file has no {instants[np.argmin(rows)]}", weather.file)
    return rows


def write_series(
    path: Path | str,
    weather: Weather,
    names: Sequence[str],
    start: datetime,
    step_hours: float,
    periods: int,
) -> None:
    """Write columns over a horizon as CSV with units in the header and a time stamp in each row.

    Raises InputError as :func:`series_over`.
    """
    columns = [series_over(weather, name, start, step_hours, periods) for name in names]
    step = timedelta(hours=step_hours)
    stamps = []
    for k in range(periods):
        # Periods are equal in absolute time; their stamps are read on the wall clock.
        at = (
            start + k * step
            if start.tzinfo is None
            else (start.astimezone(UTC) + k * step).astimezone(start.tzinfo)
        )
        stamps.append(at.isoformat())
    header = ["time", *(f"{name} [{weather.units[name]}]" for name in names)]
    rows = zip(stamps, *(values.tolist() for values in columns), strict=True)
    lines = [",".join(header), *(",".join([row[0], *map(repr, row[1:])]) for row in rows)]
    write_atomic(Path(path), "\n".join(lines) + "\n")
