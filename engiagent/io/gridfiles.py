"""netCDF files: arrays with the labels or time stamps along their dimensions, and tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from engiagent.errors import InputError
from engiagent.io.files import open_inside
from engiagent.io.tableformats import typed_column
from engiagent.io.tabular import (
    MAX_CELLS,
    MAX_COLUMNS,
    TableColumn,
    TableFile,
    check_size,
    header_unit,
)
from engiagent.units.headers import split_header
from engiagent.units.words import resolve_unit

MOST_NUMBERS: Final = 60_000_000
FEW_NUMBERS: Final = 1_250_000
MOST_TIMES: Final = 20
"""Numbers that any file may unpack to, and how many times its own size beyond them."""
STEPS: Final = {
    "days": 86_400 * 10**9,
    "hours": 3_600 * 10**9,
    "minutes": 60 * 10**9,
    "seconds": 10**9,
    "milliseconds": 10**6,
    "microseconds": 10**3,
    "nanoseconds": 1,
}
"""Lengths of the units in which netCDF counts instants. [ns]"""
_GREGORIAN: Final = ("standard", "gregorian", "proleptic_gregorian")
_UNREADABLE: Final = (
    *(ArithmeticError, AttributeError, LookupError, MemoryError, OSError),
    *(RuntimeError, TypeError, ValueError),
)


@dataclass(frozen=True, eq=False)
class GridVariable:
    """One variable of a netCDF file."""

    file: str
    name: str
    unit_text: str  # a unit that the table of units knows, else as written; empty without one
    dims: tuple[str, ...]
    # numbers (``float64``, NaN where the file has none) or labels (``object``), shape by ``dims``
    values: npt.NDArray[Any]
    # texts along dimensions and along auxiliary variables of one dimension: labels, or time stamps
    # in ISO 8601. By name: the dimension, and its texts.
    coordinates: Mapping[str, tuple[str, tuple[str, ...]]]


def open_netcdf(data: bytes, file: str) -> Any:
    """Return an open netCDF dataset of some bytes; InputError when the bytes are no netCDF file."""
    import netCDF4

    try:
        return netCDF4.Dataset("memory", mode="r", memory=data)
    except (OSError, ValueError, MemoryError, RuntimeError, AttributeError) as error:
        raise InputError(f"no readable netCDF file: {str(error)[:200]}", file) from None


def read_variable(variable: Any, file: str) -> Any:
    """Return all values of a netCDF variable, masked where the file has none.

    Raises InputError when they cannot be unpacked.
    """
    try:
        return variable[...]
    except (RuntimeError, OSError, ValueError, IndexError, TypeError) as error:
        text = f"the variable {variable.name!r} cannot be read: {str(error)[:200]}"
        raise InputError(text, file) from None


def read_stamps(variable: Any, values: Any, file: str) -> list[str]:
    """Return the values of a netCDF variable in ``hours since …`` as stamps, flattened.

    Raises InputError when one is missing, or the unit or the calendar is none.
    """
    import netCDF4

    where = f"column {variable.name!r}"
    if np.ma.getdata(values).dtype.kind not in "iuf":
        raise InputError(f"{where}: time stamps are no numbers", file)
    numbers = np.ma.filled(np.ma.asarray(values).astype(np.float64), np.nan).reshape(-1)
    if not bool(np.isfinite(numbers).all()):
        row = int(np.argmin(np.isfinite(numbers)))
        raise InputError(f"{where}, row {row + 1}: a value is missing", file)
    try:
        calendar = str(getattr(variable, "calendar", "standard"))
        dates: Any = netCDF4.num2date(numbers, str(variable.units), calendar)
        return [str(date.isoformat(" ")) for date in dates]
    except (ValueError, OverflowError, TypeError, AttributeError) as error:
        raise InputError(f"{where}: {str(error)[:200]}", file) from None


def read_netcdf(data: bytes, file: str) -> list[TableColumn]:
    """Return the variables of a netCDF file as columns; all lie along one dimension."""
    with open_netcdf(data, file) as source:
        for variable in source.variables.values():  # before anything is read
            size = int(np.prod(variable.shape, dtype=np.float64))
            check_size(file, size, len(source.variables))
        found = {name: _values(variable, file) for name, variable in source.variables.items()}
        shapes = {dims for _, dims in found.values()}
        if len(shapes) > 1 or any(len(shape) != 1 for shape in shapes):
            listed = ", ".join(f"{n}({', '.join(dims)})" for n, (_, dims) in found.items())
            expected = "variables along one and the same dimension"
            raise InputError("no plain table", file, found=listed[:200], expected=expected)
        columns = []
        for position, (name, (values, _)) in enumerate(found.items(), 1):
            unit = str(getattr(source.variables[name], "units", ""))
            cells: Any = tuple(values) if values.dtype == object else values
            if " since " in unit:
                columns.append(TableColumn(file, name, name, "", position, cells))
            else:
                columns.append(typed_column(file, name, position, unit, cells))
        return columns


@dataclass(frozen=True, eq=False)
class StoredArray:
    """An array as it is stored: time stamps as ``datetime64[ns]``, NaN for what is missing."""

    dims: tuple[str, ...]
    values: npt.NDArray[Any]
    attrs: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class StoredArrays:
    """Everything in a netCDF file, in the form of an ``xarray.Dataset``."""

    data_vars: Mapping[str, StoredArray]
    coords: Mapping[str, StoredArray]
    dims: tuple[str, ...]
    attrs: Mapping[str, Any]


def read_arrays(path: Path) -> StoredArrays:
    """Return all arrays of a netCDF file; xarray would take half a second to be imported.

    Raises InputError when it cannot be read, or declares more numbers than any file here has.
    """
    import netCDF4

    try:
        with netCDF4.Dataset(path) as source:
            # Looked at before anything is read: a small file can declare, or be packed from, any.
            cells = sum(int(np.prod(v.shape, dtype=np.float64)) for v in source.variables.values())
            most = min(MOST_NUMBERS, FEW_NUMBERS + MOST_TIMES * path.stat().st_size // 8)
            if cells > most:
                what, expected = "it declares more numbers than its file holds", f"up to {most}"
                raise InputError(what, path.name, found=f"{cells} numbers", expected=expected)
            arrays = {name: _stored(v) for name, v in source.variables.items()}
            attrs = {name: source.getncattr(name) for name in source.ncattrs()}
            dims = tuple(source.dimensions)
    except InputError:
        raise
    except _UNREADABLE as error:
        reason = str(error).split("\n")[0][:200]
        raise InputError(f"no readable netCDF: {reason}", path.name) from None
    listed = [attrs, *(array.attrs for array in arrays.values())]
    named = {word for some in listed for word in str(some.get("coordinates", "")).split()}
    coords = {name: array for name, array in arrays.items() if name in {*dims, *named}}
    series = {name: array for name, array in arrays.items() if name not in coords}
    return StoredArrays(series, coords, dims, attrs)


def _stored(variable: Any) -> StoredArray:
    import netCDF4

    attrs = {key: variable.getncattr(key) for key in variable.ncattrs()}
    values, dims = variable[...], tuple(variable.dimensions)
    step, since, start = str(attrs.get("units", "")).partition(" since ")
    kind = "O" if variable.dtype is str else np.asarray(values).dtype.kind
    if kind == "S" and len(dims) == np.ndim(values) > 0:
        values, dims = netCDF4.chartostring(np.ma.getdata(values)), dims[:-1]
    elif since and kind in "iuf":
        if str(attrs.get("calendar", "standard")).lower() not in _GREGORIAN:
            raise ValueError(f"time stamps of the calendar {attrs['calendar']!r}")
        numbers = np.ma.filled(np.ma.asarray(values), 0)
        lengths = numbers * STEPS[step.strip().lower()]  # whole counts stay whole
        missing = np.ma.getmaskarray(values) | ~np.isfinite(numbers)
        passed = np.rint(np.where(missing, 0, lengths)).astype(np.int64).astype("m8[ns]")
        first = datetime.fromisoformat(start.strip())
        first = first if first.tzinfo is None else first.astimezone(UTC).replace(tzinfo=None)
        moments = np.datetime64(first, "ns") + passed
        values = np.where(missing, np.datetime64("NaT", "ns"), moments)
    elif np.ma.is_masked(values) and kind in "iuf":
        values = np.ma.filled(values.astype(np.float64), np.nan)
    return StoredArray(dims, np.asarray(np.ma.getdata(values)), attrs)


def read_grid(folder: Path, file: str, name: str) -> GridVariable:
    """Return a variable of a netCDF file that lies inside a folder.

    Raises InputError for a path that leaves the folder, an unreadable or overlarge file, a variable
    that is not there.
    """
    data = open_inside(folder, file)
    with open_netcdf(data, file) as source:
        if len(source.variables) > MAX_COLUMNS:
            raise InputError("too many variables", file, found=f"{len(source.variables)}")
        if name not in source.variables:
            raise _absent(file, name, list(source.variables))
        values, dims = _values(source.variables[name], file)
        coordinates = dict(_coordinates(source, dims, file))
        unit = str(getattr(source.variables[name], "units", ""))
    if unit:
        known = resolve_unit(unit)
        unit = str(known) if known is not None else unit
    else:
        _, unit = header_unit(name)
    return GridVariable(file, name, unit, dims, values, coordinates)


def as_long_table(grid: GridVariable, labels: Mapping[str, Sequence[str]]) -> TableFile:
    """Return an array as a table with a row for each number.

    ``labels``: by dimension, in the order of the key columns; all dimensions.
    """
    values = grid.values.transpose([grid.dims.index(dim) for dim in labels])
    shape, columns = values.shape, []
    for axis, (dim, texts) in enumerate(labels.items()):
        once = np.repeat(np.array(texts, dtype=object), int(np.prod(shape[axis + 1 :])))
        cells = tuple(np.tile(once, int(np.prod(shape[:axis]))).tolist())
        columns.append(TableColumn(grid.file, dim, dim, "", axis + 1, cells))
    return _with_values(grid, columns, values.reshape(-1))


def as_table(grid: GridVariable) -> TableFile:
    """Return a variable along one dimension as a table with the labels beside it.

    Raises InputError when it has no dimension or several.
    """
    if len(grid.dims) != 1:
        shape = f"({', '.join(grid.dims)})"
        text = f"the variable {grid.name!r} is no column"
        raise InputError(text, grid.file, found=shape, expected="one dimension")
    along = {name: texts for name, (_, texts) in grid.coordinates.items() if name != grid.name}
    columns = [
        TableColumn(grid.file, name, name, "", position, texts)
        for position, (name, texts) in enumerate(along.items(), 1)
    ]
    return _with_values(grid, columns, grid.values)


def _with_values(
    grid: GridVariable, columns: Sequence[TableColumn], values: npt.NDArray[Any]
) -> TableFile:
    cells: Any = values if values.dtype != object else tuple(map(str, values))
    own = TableColumn(grid.file, grid.name, grid.name, grid.unit_text, len(columns) + 1, cells)
    named = {column.name: column for column in (*columns, own)}
    return TableFile(grid.file, MappingProxyType(named), len(values), "")


def _absent(file: str, name: str, names: list[str]) -> InputError:
    close = get_close_matches(name, names, n=1, cutoff=0.5)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    listed = ", ".join(names[:30])
    return InputError(f"there is no variable {name!r}{hint}", file, expected=f"one of {listed}")


def _values(variable: Any, file: str) -> tuple[npt.NDArray[Any], tuple[str, ...]]:
    """Return numbers or texts; texts may be stored letter by letter along a last dimension."""
    import netCDF4

    size = int(np.prod(variable.shape, dtype=np.float64))
    if size > MAX_CELLS:
        limit = f"at most {MAX_CELLS}"
        raise InputError("too many values", file, found=f"{size}", expected=limit)
    raw = read_variable(variable, file)
    dims = tuple(variable.dimensions)
    unit = str(getattr(variable, "units", ""))
    if " since " in unit:
        stamps = np.array(read_stamps(variable, raw, file), dtype=object)
        return stamps.reshape(np.shape(raw)), dims
    if variable.dtype is not str and variable.dtype.kind in "iuf":
        plain = np.ma.getdata(raw).astype(np.float64)
        return np.where(np.ma.getmaskarray(raw), np.nan, plain), dims
    if variable.dtype is not str and variable.dtype.kind == "S":
        raw = np.asarray(raw)
        if raw.ndim == len(dims) and raw.dtype.itemsize == 1 and dims:
            raw, dims = np.asarray(netCDF4.chartostring(raw)), dims[:-1]
    texts = np.empty(np.shape(raw), dtype=object)
    texts[...] = np.vectorize(lambda item: str(item).strip(), otypes=[object])(raw)
    return texts, dims


def _coordinates(source: Any, dims: tuple[str, ...], file: str) -> Any:
    for name, variable in source.variables.items():
        along = tuple(variable.dimensions)
        letters = len(along) == 2 and variable.dtype is not str and variable.dtype.kind == "S"
        if along[:1] and along[0] in dims and (len(along) == 1 or letters):
            stamped = " since " in str(getattr(variable, "units", ""))
            number = variable.dtype is not str and variable.dtype.kind == "f"
            if number and not stamped:
                continue  # a measured quantity; only whole numbers, texts and times are labels
            values, _ = _values(variable, file)
            texts = tuple(_label(item) for item in values.tolist())
            yield split_header(name).name if name not in dims else name, (along[0], texts)


def _label(item: object) -> str:
    return str(int(item)) if isinstance(item, float) and item == item else str(item)
