"""Hourly weather of EPW files (EnergyPlus) and TMY3 files (NREL), and along a horizon.

A row of either file is an hour that is named by its end, in the standard time of its station, which
knows no summer time. Radiation is the mean of the hour; temperatures and wind were read at its
end. The years of a typical year's months differ, so rows are known by month, day and hour, and a
typical year serves any calendar year. 29 February takes the 28th where the file has none.

pvlib reads the same numbers (a test compares them); it takes 1.5 s to import, leaves the codes of
missing values in the columns, and its errors name neither line nor field.
"""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from engiagent.errors import InputError
from engiagent.io.files import open_inside, write_atomic

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

HOUR: Final = 3600

# Field number, name, unit, and the value from which on a number stands for "missing"; from the
# documentation of EnergyPlus, "Auxiliary Programs", EPW data dictionary.
EPW: Final = (
    (6, "dry_bulb_temperature", "degC", 99.9),
    (7, "dew_point_temperature", "degC", 99.9),
    (8, "relative_humidity", "%", 999.0),
    (9, "atmospheric_pressure", "Pa", 999999.0),
    (10, "extraterrestrial_horizontal_radiation", "W/m^2", 9999.0),
    (11, "extraterrestrial_normal_radiation", "W/m^2", 9999.0),
    (12, "horizontal_infrared_radiation", "W/m^2", 9999.0),
    (13, "global_horizontal_radiation", "W/m^2", 9999.0),
    (14, "direct_normal_radiation", "W/m^2", 9999.0),
    (15, "diffuse_horizontal_radiation", "W/m^2", 9999.0),
    (20, "wind_direction", "deg", 999.0),
    (21, "wind_speed", "m/s", 999.0),
    (22, "total_sky_cover", "1", 99.0),
    (23, "opaque_sky_cover", "1", 99.0),
    (28, "precipitable_water", "mm", 999.0),
    (30, "snow_depth", "cm", 999.0),
    (32, "albedo", "1", 999.0),
    (33, "liquid_precipitation", "mm", 999.0),
)
EPW_FIELDS: Final = 34

# Header, name and factor to the unit above; from the TMY3 user's manual (NREL/TP-581-43156), table
# 1-2.
TMY3: Final = (
    ("Dry-bulb (C)", "dry_bulb_temperature", 1.0),
    ("Dew-point (C)", "dew_point_temperature", 1.0),
    ("RHum (%)", "relative_humidity", 1.0),
    ("Pressure (mbar)", "atmospheric_pressure", 100.0),
    ("ETR (W/m^2)", "extraterrestrial_horizontal_radiation", 1.0),
    ("ETRN (W/m^2)", "extraterrestrial_normal_radiation", 1.0),
    ("GHI (W/m^2)", "global_horizontal_radiation", 1.0),
    ("DNI (W/m^2)", "direct_normal_radiation", 1.0),
    ("DHI (W/m^2)", "diffuse_horizontal_radiation", 1.0),
    ("Wdir (degrees)", "wind_direction", 1.0),
    ("Wspd (m/s)", "wind_speed", 1.0),
    ("TotCld (tenths)", "total_sky_cover", 1.0),
    ("OpqCld (tenths)", "opaque_sky_cover", 1.0),
    ("Pwat (cm)", "precipitable_water", 10.0),
    ("Alb (unitless)", "albedo", 1.0),
    ("Lprecip depth (mm)", "liquid_precipitation", 1.0),
)
TMY3_MISSING: Final = -9900.0
_UNITS: Final = {name: unit for _, name, unit, _ in EPW}


@dataclass(frozen=True, eq=False)
class Weather:
    """A year, or part of one, of hourly weather."""

    file: str  # its name
    place: str  # the station as the file calls it
    # latitude, longitude: north and east are above 0. [deg]
    latitude: float
    longitude: float
    elevation: float  # above the sea. [m]
    offset: float  # standard time less UTC. [h]
    # month, day, hour: when each hour starts in standard time, shape (N,): from 1, from 1, from 0
    month: Ints
    day: Ints
    hour: Ints
    # values by name, shape (N,); NaN where the file says that one is missing
    columns: Mapping[str, Floats]

    @property
    def units(self) -> Mapping[str, str]:
        """The units by name."""
        return {name: _UNITS[name] for name in self.columns}

    def column(self, name: str) -> Floats:
        """Return a column, shape (N,), in its own unit; InputError when there is none."""
        if name not in self.columns:
            expected = ", ".join(self.columns)
            raise InputError(f"no column {name!r}", self.file, expected=expected)
        return self.columns[name]


def read_weather(path: Path | str) -> Weather:
    """Return the weather of an EPW or a TMY3 file.

    Raises InputError when the file cannot be read or is neither, with the line and the column.
    """
    where = Path(path)
    data = open_inside(where.parent, where.name)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")  # place names of older files
    rows = list(csv.reader(io.StringIO(text)))
    if rows and rows[0] and rows[0][0].strip().upper() == "LOCATION":
        return _epw(rows, where.name)
    if len(rows) > 1 and rows[1] and rows[1][0].strip().startswith("Date (MM/DD/YYYY)"):
        return _tmy3(rows, where.name)
    expected = "an EPW file (its first line begins with LOCATION) or a TMY3 file"
    raise InputError("this is no weather file", where.name, 1, expected=expected)


def _epw(rows: list[list[str]], file: str) -> Weather:
    head = rows[0]
    if len(head) < 10:
        raise InputError("the line LOCATION is short", file, 1, expected="10 fields")
    titles = [row[0].strip().upper() if row else "" for row in rows]
    if "DATA PERIODS" not in titles:
        raise InputError("there is no line DATA PERIODS", file)
    start = titles.index("DATA PERIODS")
    if _number(rows[start], 2, file, start) != 1:
        raise InputError("several records an hour", file, start + 1, expected="1, hourly weather")
    lines = _lines(rows, start + 1, EPW_FIELDS - 2, file)
    month, day, ended = (_field(rows, lines, k, file).astype(np.int64) for k in (1, 2, 3))
    columns = {}
    for field, name, _, missing in EPW:
        if all(len(rows[k]) > field for k in lines):
            values = _field(rows, lines, field, file)
            columns[name] = np.where(values >= missing, np.nan, values)
    latitude, longitude, offset, elevation = (_number(head, k, file, 0) for k in (6, 7, 8, 9))
    place = ", ".join(part.strip() for part in head[1:4] if part.strip() not in ("", "-"))
    station = file, place, latitude, longitude, elevation, offset
    return _checked(Weather(*station, month, day, ended - 1, columns))


def _tmy3(rows: list[list[str]], file: str) -> Weather:
    head, titles = rows[0], [title.strip() for title in rows[1]]
    if len(head) < 7:
        raise InputError("the first line is short", file, 1, expected="7 fields")
    lines = _lines(rows, 2, len(titles), file)
    times = np.array([_month_day_hour(rows[k], file, k) for k in lines]).reshape(-1, 3)
    columns = {}
    for title, name, factor in TMY3:
        if title in titles:
            values = _field(rows, lines, titles.index(title), file)
            columns[name] = np.where(values <= TMY3_MISSING, np.nan, values * factor)
    offset, latitude, longitude, elevation = (_number(head, k, file, 0) for k in (3, 4, 5, 6))
    place = f"{head[1].strip()}, {head[2].strip()}"
    station = file, place, latitude, longitude, elevation, offset
    return _checked(Weather(*station, times[:, 0], times[:, 1], times[:, 2], columns))


def _lines(rows: list[list[str]], start: int, fields: int, file: str) -> list[int]:
    """Return the numbers of the rows of hours."""
    lines = [k for k in range(start, len(rows)) if rows[k]]
    for k in lines:
        if len(rows[k]) < fields:
            found, expected = f"{len(rows[k])}", f"{fields} fields"
            raise InputError("a short row", file, k + 1, found=found, expected=expected)
    return lines


def _field(rows: list[list[str]], lines: list[int], field: int, file: str) -> Floats:
    return np.array([_number(rows[k], field, file, k) for k in lines], dtype=np.float64)


def _number(row: list[str], field: int, file: str, line: int) -> float:
    text = row[field].strip() if field < len(row) else ""
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        raise InputError("no number", file, line + 1, field + 1, found=repr(text[:30]))
    return value


def _month_day_hour(row: list[str], file: str, line: int) -> tuple[int, int, int]:
    """Return when an hour starts; the file names it by its end, from 01:00 to 24:00."""
    try:
        month, day, _ = (int(part) for part in row[0].split("/"))
        hour, minute = (int(part) for part in row[1].split(":"))
        if minute:
            raise ValueError
    except ValueError:
        found = ",".join(row[:2])[:40]
        expected = "a full hour, as 01/31/1988,01:00"
        raise InputError("no date and time", file, line + 1, None, found, expected) from None
    return month, day, hour - 1


def _checked(weather: Weather) -> Weather:
    month, day, hour = weather.month, weather.day, weather.hour
    if not len(month):
        raise InputError("the file has no hours", weather.file)
    if not weather.columns:
        raise InputError("the file has none of the columns that are known", weather.file)
    bad = (month < 1) | (month > 12) | (day < 1) | (day > 31) | (hour < 0) | (hour > 23)
    if bad.any():
        k = int(np.argmax(bad))
        found = f"month {month[k]}, day {day[k]}, hour {hour[k] + 1} in row {k + 1}"
        raise InputError("no hour of a year", weather.file, found=found)
    return weather


def series_over(
    weather: Weather, name: str, start: datetime, step_hours: float, periods: int
) -> Floats:
    """Return a column over a horizon in its own unit, shape (periods,).

    A period shorter than an hour has the value of its hour, one of several hours their mean.
    ``start``: of the first period; a zone is taken into account, without one the clock is the
    station's. ``step_hours``: length of a period: a whole number of hours, or a part that divides
    one. [h] Raises InputError when a period is cut by an hour of the file, or an hour of the
    horizon is missing in it.
    """
    step = round(step_hours * HOUR)
    fits = step > 0 and abs(step - step_hours * HOUR) < 1e-6 and not (HOUR % step and step % HOUR)
    if periods < 1 or not fits:
        expected = "whole hours, or a length that divides an hour, as 0.25"
        raise InputError(f"{periods} periods of {step_hours} h", weather.file, expected=expected)
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
    table = np.full(13 * 32 * 24, -1, dtype=np.int64)
    key = (weather.month * 32 + weather.day) * 24 + weather.hour
    if len(np.unique(key)) < len(key):
        raise InputError("an hour stands twice; give a file of at most one year", weather.file)
    table[key] = np.arange(len(key))
    leap = (2 * 32 + 29) * 24 + np.arange(24)
    table[leap] = np.where(table[leap] < 0, table[leap - 24], table[leap])
    rows: Ints = table[(month * 32 + day) * 24 + seconds // HOUR % 24]
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
    """Write columns over a horizon as CSV with units in the header and a time stamp in each row."""
    columns = [series_over(weather, name, start, step_hours, periods).tolist() for name in names]
    # Periods are equal in absolute time; their stamps are read on the wall clock.
    absolute = start if start.tzinfo is None else start.astimezone(UTC)
    ends: Iterable[datetime] = (absolute + k * timedelta(hours=step_hours) for k in range(periods))
    stamps = [(t if start.tzinfo is None else t.astimezone(start.tzinfo)).isoformat() for t in ends]
    header = ["time", *(f"{name} [{weather.units[name]}]" for name in names)]
    rows = zip(stamps, *(map(repr, values) for values in columns), strict=True)
    write_atomic(Path(path), "\n".join(map(",".join, [header, *rows])) + "\n")
