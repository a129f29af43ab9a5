"""Hourly weather of EPW files (EnergyPlus) and TMY3 files (NREL) as columns with units.

A row of either file is an hour that is named by its end, in the standard time of its station, which
knows no summer time. Radiation is the mean of the hour; temperatures and wind were read at its
end. The years of a typical year's months differ, so rows are known by month, day and hour.

pvlib reads the same numbers (a test compares them); it takes 1.5 s to import, leaves the codes of
missing values in the columns, and its errors name neither line nor field.
"""

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

import numpy as np
import numpy.typing as npt

from engiagent.errors import InputError
from engiagent.io.files import open_inside

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

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

# Header, name, unit and factor to it; from the TMY3 user's manual (NREL/TP-581-43156), table 1-2.
TMY3: Final = (
    ("Dry-bulb (C)", "dry_bulb_temperature", "degC", 1.0),
    ("Dew-point (C)", "dew_point_temperature", "degC", 1.0),
    ("RHum (%)", "relative_humidity", "%", 1.0),
    ("Pressure (mbar)", "atmospheric_pressure", "Pa", 100.0),
    ("ETR (W/m^2)", "extraterrestrial_horizontal_radiation", "W/m^2", 1.0),
    ("ETRN (W/m^2)", "extraterrestrial_normal_radiation", "W/m^2", 1.0),
    ("GHI (W/m^2)", "global_horizontal_radiation", "W/m^2", 1.0),
    ("DNI (W/m^2)", "direct_normal_radiation", "W/m^2", 1.0),
    ("DHI (W/m^2)", "diffuse_horizontal_radiation", "W/m^2", 1.0),
    ("Wdir (degrees)", "wind_direction", "deg", 1.0),
    ("Wspd (m/s)", "wind_speed", "m/s", 1.0),
    ("TotCld (tenths)", "total_sky_cover", "1", 1.0),
    ("OpqCld (tenths)", "opaque_sky_cover", "1", 1.0),
    ("Pwat (cm)", "precipitable_water", "mm", 10.0),
    ("Alb (unitless)", "albedo", "1", 1.0),
    ("Lprecip depth (mm)", "liquid_precipitation", "mm", 1.0),
)
TMY3_MISSING: Final = -9900.0


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
    # month, day, hour: when each hour starts in standard time, shape (N,): 1 to 12, 1 to 31, 0 to
    # 23
    month: Ints
    day: Ints
    hour: Ints
    # values by name, shape (N,); NaN where the file says that one is missing
    columns: Mapping[str, Floats]
    units: Mapping[str, str]  # by name

    def column(self, name: str) -> Floats:
        """Return a column, shape (N,), in its own unit.

        Raises InputError when there is none of this name.
        """
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
    start = next(
        (k for k, r in enumerate(rows) if r and r[0].strip().upper() == "DATA PERIODS"), -1
    )
    if start < 0:
        raise InputError("there is no line DATA PERIODS", file)
    if _number(rows[start], 2, file, start) != 1:
        raise InputError("several records an hour", file, start + 1, expected="1, hourly weather")
    lines = [k for k in range(start + 1, len(rows)) if rows[k]]
    for k in lines:
        if len(rows[k]) < EPW_FIELDS - 2:
            found = f"{len(rows[k])}"
            raise InputError("a short row", file, k + 1, found=found, expected="35 fields")
    month, day, ended = (
        np.array([_number(rows[k], field, file, k) for k in lines]).astype(np.int64)
        for field in (1, 2, 3)
    )
    columns, units = {}, {}
    for field, name, unit, missing in EPW:
        if all(len(rows[k]) > field for k in lines):
            values = np.array([_number(rows[k], field, file, k) for k in lines])
            columns[name] = np.where(values >= missing, np.nan, values)
            units[name] = unit
    numbers = [_number(head, field, file, 0) for field in (6, 7, 8, 9)]
    place = ", ".join(part.strip() for part in head[1:4] if part.strip() not in ("", "-"))
    return _weather(file, place, numbers, (month, day, ended - 1), columns, units)


def _tmy3(rows: list[list[str]], file: str) -> Weather:
    head, titles = rows[0], [title.strip() for title in rows[1]]
    if len(head) < 7:
        raise InputError("the first line is short", file, 1, expected="7 fields")
    lines = [k for k in range(2, len(rows)) if rows[k]]
    for k in lines:
        if len(rows[k]) < len(titles):
            expected = f"{len(titles)} as in the header"
            raise InputError("a short row", file, k + 1, found=f"{len(rows[k])}", expected=expected)
    times = np.array([_month_day_hour(rows[k], file, k) for k in lines]).reshape(-1, 3)
    columns, units = {}, {}
    for title, name, unit, factor in TMY3:
        if title in titles:
            field = titles.index(title)
            values = np.array([_number(rows[k], field, file, k) for k in lines])
            columns[name] = np.where(values <= TMY3_MISSING, np.nan, values * factor)
            units[name] = unit
    offset, latitude, longitude, elevation = (_number(head, k, file, 0) for k in (3, 4, 5, 6))
    place = f"{head[1].strip()}, {head[2].strip()}"
    numbers = [latitude, longitude, offset, elevation]
    return _weather(file, place, numbers, tuple(times.T), columns, units)


def _month_day_hour(row: list[str], file: str, line: int) -> tuple[int, int, int]:
    """Return when an hour starts; the file names it by its end, from 01:00 to 24:00."""
    try:
        month, day, _ = (int(part) for part in row[0].split("/"))
        hour, minute = (int(part) for part in row[1].split(":"))
    except ValueError:
        found = ",".join(row[:2])[:40]
        expected = "as 01/31/1988,01:00"
        raise InputError(
            "no date and time", file, line + 1, found=found, expected=expected
        ) from None
    if minute:
        raise InputError("no full hour", file, line + 1, found=row[1][:20], expected="as 01:00")
    return month, day, hour - 1


def _weather(
    file: str,
    place: str,
    numbers: Iterable[float],
    times: tuple[Ints, ...],
    columns: dict[str, Floats],
    units: dict[str, str],
) -> Weather:
    month, day, hour = times
    if not len(month):
        raise InputError("the file has no hours", file)
    if not columns:
        raise InputError("the file has none of the columns that are known", file)
    bad = (month < 1) | (month > 12) | (day < 1) | (day > 31) | (hour < 0) | (hour > 23)
    if bad.any():
        k = int(np.argmax(bad))
        found = f"month {month[k]}, day {day[k]}, hour {hour[k] + 1} in row {k + 1}"
        raise InputError("no hour of a year", file, found=found)
    latitude, longitude, offset, elevation = numbers
    return Weather(
        file,
        place,
        latitude,
        longitude,
        elevation,
        offset,
        month,
        day,
        hour,
        MappingProxyType(columns),
        MappingProxyType(units),
    )


def _number(row: list[str], field: int, file: str, line: int) -> float:
    text = row[field].strip() if field < len(row) else ""
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        raise InputError("no number", file, line + 1, field + 1, found=repr(text[:30]))
    return value
