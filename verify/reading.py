"""Columns of schedule files, before anybody knows what they mean."""

import csv
import io
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np

from engiagent.errors import InputError
from engiagent.jsontext import loads_strict
from engiagent.verify.series import Coordinate, Floats

MAX_BYTES: Final = 500_000_000
MAX_COLUMNS: Final = 10_000
TIME_NAMES: Final = ("time", "timestamp", "datetime", "date", "hour", "period", "start", "t")
_HEADER = re.compile(r"\s*(.*?)\s*(?:\[([^\[\]]*)\]|\(([^()]*)\))?\s*")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?")


@dataclass(frozen=True, eq=False)
class Column:
    """Numbers under one header.

    Attributes
    ----------
    own
        Whether the file is our own dataset, whose units need no announcement.
    """

    data: Floats
    unit: str | None = None
    quantity: str | None = None
    dims: tuple[str, ...] = ()
    coordinates: Mapping[str, Coordinate] = field(default_factory=dict)
    zoned: bool = False
    own: bool = False
    file: str | None = None
    line: int | None = None


Columns = tuple[dict[str, Column], dict[str, Any]]


def read_file(path: Path) -> Columns:
    """Return the columns of a schedule file and what it claims about itself.

    Raises
    ------
    InputError
        With file, line and column.
    """
    ending = path.suffix.lower()
    if ending not in (".nc", ".nc4", ".csv", ".json"):
        raise InputError(
            "a schedule of unknown kind", path.name, expected="a file ending in .nc, .csv or .json"
        )
    try:
        if not path.is_file():
            raise InputError("there is no such file", path.name)
        if path.stat().st_size > MAX_BYTES:
            raise InputError(f"a schedule has at most {MAX_BYTES} bytes", path.name)
        if ending in (".nc", ".nc4"):
            return _netcdf(path)
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InputError("the file is not UTF-8 text", path.name) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", path.name) from None
    return _csv(text, path.name) if ending == ".csv" else _json(text, path.name)


def _netcdf(path: Path) -> Columns:
    import xarray as xr

    try:
        with xr.open_dataset(path) as dataset:
            return from_mapping(dataset.load())
    except (ValueError, OSError, KeyError) as error:
        raise InputError(f"no readable netCDF: {error}", path.name) from None


def from_mapping(solution: Any) -> Columns:
    """Return the columns of a dataset, a table or a mapping of arrays.

    Raises
    ------
    InputError
        When something in it is no array of numbers.
    """
    import xarray as xr

    if isinstance(solution, xr.Dataset):
        return _dataset(solution)
    if hasattr(solution, "to_csv") and hasattr(solution, "columns"):
        index = not _is_range(solution.index)
        named = solution.rename_axis(solution.index.name or "time") if index else solution
        return _csv(named.to_csv(index=index), "the table")
    if isinstance(solution, Mapping):
        return _object(solution, "the schedule")
    raise InputError(
        f"a {type(solution).__name__} is no schedule",
        "the schedule",
        expected="an xarray.Dataset, a table, a mapping of arrays or a path",
    )


def _is_range(index: Any) -> bool:
    return type(index).__name__ == "RangeIndex"


def _dataset(dataset: Any) -> Columns:
    columns = {}
    for name, array in dataset.data_vars.items():
        try:
            data = np.asarray(array.values, dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError(f"{name} holds no numbers", "the schedule") from None
        coordinates: dict[str, Coordinate] = {}
        zoned = False
        for dim in map(str, array.dims):
            if dim in array.coords:
                given = array.coords[dim]
                if np.issubdtype(given.dtype, np.datetime64):
                    coordinates[dim] = given.values
                    zoned = zoned or "zone" in given.attrs
                else:
                    coordinates[dim] = tuple(str(v) for v in given.values.tolist())
        unit, quantity = array.attrs.get("units"), array.attrs.get("quantity")
        columns[str(name)] = Column(
            data,
            None if unit is None else str(unit),
            str(quantity) if quantity else None,
            tuple(map(str, array.dims)),
            coordinates,
            zoned,
            own=unit is not None,
        )
    return columns, {str(k): v for k, v in dataset.attrs.items()}


def _json(text: str, file: str) -> Columns:
    value = loads_strict(text, file)
    if not isinstance(value, dict):
        raise InputError("a schedule is an object of columns", file, found=type(value).__name__)
    return _object(value, file)


def _object(value: Mapping[str, Any], file: str) -> Columns:
    """Read ``{name: list}`` or ``{name: {"unit", "values"}}``; plain texts are claims."""
    inner = value.get("columns")
    content = inner if isinstance(inner, Mapping) else value
    claims = {k: v for k, v in value.items() if isinstance(v, str) or k == "objective"}
    columns: dict[str, Column] = {}
    times: Coordinate | None = None
    zoned = False
    for header, item in content.items():
        name, unit = split_header(str(header))
        quantity = None
        if isinstance(item, Mapping):
            unit, quantity = item.get("unit", item.get("units", unit)), item.get("quantity")
            item = item.get("values")
        if isinstance(item, str) or header in claims or header == "columns":
            continue
        if name.lower() in TIME_NAMES and _texts(item):
            times, zoned = _times([str(v) for v in item], file)
            continue
        columns[name] = Column(_array(name, item, file), unit, quantity, file=file)
    return _with_axis(columns, times, zoned), claims


def _texts(item: Any) -> bool:
    return bool(len(item)) and isinstance(item[0], str)


def _array(name: str, item: Any, file: str) -> Floats:
    try:
        array = np.asarray(item, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} holds something that is no number", file) from None
    finite = np.isfinite(array)
    if not finite.all():
        place = ", ".join(str(int(p[0]) + 1) for p in np.nonzero(~finite))
        raise InputError(
            f"{name} holds a value that is not finite",
            file,
            found=str(array[~finite][0]),
            expected=f"a number at position {place}",
        )
    return array


def _with_axis(
    columns: dict[str, Column], times: Coordinate | None, zoned: bool
) -> dict[str, Column]:
    """Name the axes of columns that have none; those as long as the time column share its name."""
    from dataclasses import replace

    result = {}
    for name, column in columns.items():
        shape = column.data.shape
        along = times is not None and len(shape) == 1 and shape[0] == len(times)
        dims = ("time",) if along else tuple(f"axis {k + 1}" for k in range(len(shape)))
        coordinates = {"time": times} if along and times is not None else {}
        result[name] = replace(column, dims=dims, coordinates=coordinates, zoned=zoned and along)
    return result


def split_header(header: str) -> tuple[str, str | None]:
    """Return name and unit of a header such as ``charge [kW]`` or ``charge (kW)``.

    Examples
    --------
    >>> split_header("battery.charge [kW]")
    ('battery.charge', 'kW')
    """
    match = _HEADER.fullmatch(header)
    if match is None or not match[1]:
        return header.strip(), None
    unit = match[2] if match[2] is not None else match[3]
    return match[1], (unit.strip() or None) if unit is not None else None


def _csv(text: str, file: str) -> Columns:
    if "\0" in text:
        raise InputError("the file holds a NUL character", file)
    first = text.split("\n", 1)[0]
    delimiter = max(",;\t", key=first.count)
    try:
        table = list(csv.reader(io.StringIO(text), delimiter=delimiter, strict=True))
    except csv.Error as error:
        raise InputError(f"no readable CSV: {error}", file) from None
    rows = [(line, row) for line, row in enumerate(table, 1) if any(cell.strip() for cell in row)]
    if len(rows) < 2:
        raise InputError("a schedule needs a header and at least one row", file)
    headers = [split_header(cell) for cell in rows[0][1]]
    if len(headers) > MAX_COLUMNS:
        raise InputError(f"more than {MAX_COLUMNS} columns", file, 1)
    names = [name for name, _ in headers]
    twice = next((name for name in names if name and names.count(name) > 1), None)
    if twice is not None:
        raise InputError("two columns of one name", file, 1, found=repr(twice))
    for line, row in rows[1:]:
        if len(row) != len(headers):
            raise InputError(
                "a row of another length",
                file,
                line,
                found=str(len(row)),
                expected=str(len(headers)),
            )
    columns: dict[str, Column] = {}
    times: Coordinate | None = None
    zoned = False
    for place, (name, unit) in enumerate(headers):
        cells = [(line, row[place].strip()) for line, row in rows[1:]]
        is_time = name.lower() in TIME_NAMES or (place == 0 and not name)
        if is_time and not all(_NUMBER.fullmatch(cell) for _, cell in cells):
            times, zoned = _times([cell for _, cell in cells], file)
        elif not is_time:
            columns[name] = Column(_numbers(cells, name, place, file), unit, file=file, line=1)
    return _with_axis(columns, times, zoned), {}


def _numbers(cells: list[tuple[int, str]], name: str, place: int, file: str) -> Floats:
    """Return one column; empty cells are allowed at its end only, as beside a longer state."""
    while cells and not cells[-1][1]:
        cells = cells[:-1]
    for line, cell in cells:
        if not _NUMBER.fullmatch(cell):
            raise InputError(
                f"{name} is no number", file, line, place + 1, found=repr(cell), expected="as 12.5"
            )
    data = np.array([float(cell) for _, cell in cells])
    if not np.isfinite(data).all():
        line, cell = cells[int(np.argmin(np.isfinite(data)))]
        raise InputError(f"{name} is too large", file, line, place + 1, found=cell)
    return data


def _times(texts: list[str], file: str) -> tuple[Coordinate, bool]:
    """Return time stamps, and whether they are UTC; texts that are no dates stay texts."""
    moments = []
    for text in texts:
        try:
            moments.append(datetime.fromisoformat(text))
        except ValueError:
            return tuple(texts), False
    zoned = [moment.tzinfo is not None for moment in moments]
    if any(zoned) and not all(zoned):
        raise InputError("some time stamps have an offset from UTC and some have none", file)
    if zoned[0]:
        moments = [moment.astimezone(UTC).replace(tzinfo=None) for moment in moments]
    stamps = np.array(moments, dtype="datetime64[ns]")
    if len(stamps) > 1 and not (np.diff(stamps) > np.timedelta64(0)).all() and all(zoned):
        row = int(np.argmin(np.diff(stamps) > np.timedelta64(0))) + 1
        raise InputError("time stamps that do not increase", file, row + 2, found=texts[row])
    return stamps, zoned[0]
