"""netCDF files: arrays with the labels or time stamps along their dimensions, and tables."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
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
from engiagent.io.tabular import MAX_COLUMNS, TableColumn, TableFile, check_size, header_unit
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
_ONE_AT_A_TIME: Final = threading.RLock()
"""The netCDF library may not be called from two threads at once."""


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


@dataclass(frozen=True, eq=False)
class GridVariable:
    """One variable of a netCDF file."""

    file: str
    name: str
    unit_text: str  # a unit that the table of units knows, else as written; empty without one
    dims: tuple[str, ...]
    # numbers (``float64``, NaN where the file has none) or texts (``object``), shape by ``dims``
    values: npt.NDArray[Any]
    # texts along dimensions and along auxiliary variables of one dimension: labels, or time stamps
    # in ISO 8601. By name: the dimension, and its texts.
    coordinates: Mapping[str, tuple[str, tuple[str, ...]]]


def read_arrays(path: Path) -> StoredArrays:
    """Return all arrays of a netCDF file; xarray would take half a second to be imported."""
    with _opened(path, path.name) as source:
        arrays = {name: _stored(v) for name, v in source.variables.items()}
        attrs = {name: source.getncattr(name) for name in source.ncattrs()}
        dims = tuple(source.dimensions)
    listed = [attrs, *(array.attrs for array in arrays.values())]
    named = {word for some in listed for word in str(some.get("coordinates", "")).split()}
    coords = {name: array for name, array in arrays.items() if name in {*dims, *named}}
    series = {name: array for name, array in arrays.items() if name not in coords}
    return StoredArrays(series, coords, dims, attrs)


@contextmanager
def _opened(place: Path | bytes, file: str) -> Iterator[Any]:
    """Open a netCDF file, or its bytes, while no other thread has one open."""
    import netCDF4

    with _ONE_AT_A_TIME:
        try:
            if isinstance(place, bytes):
                opened, size = netCDF4.Dataset("memory", mode="r", memory=place), len(place)
            else:
                opened, size = netCDF4.Dataset(place), place.stat().st_size
            with opened as source:
                # Before anything is read: a small file can declare, or be packed from, any.
                shapes = (v.shape for v in source.variables.values())
                cells = sum(int(np.prod(shape, dtype=np.float64)) for shape in shapes)
                most = min(MOST_NUMBERS, FEW_NUMBERS + MOST_TIMES * size // 8)
                if cells > most:
                    what, expected = "it declares more numbers than its file holds", f"up to {most}"
                    raise InputError(what, file, found=f"{cells} numbers", expected=expected)
                yield source
        except InputError:
            raise
        except _UNREADABLE as error:
            reason = str(error).split("\n")[0][:200]
            raise InputError(f"no readable netCDF: {reason}", file) from None


def _stored(variable: Any) -> StoredArray:
    import netCDF4

    attrs = {key: variable.getncattr(key) for key in variable.ncattrs()}
    dims = tuple(variable.dimensions)
    try:
        values = variable[...]
        kind = "O" if variable.dtype is str else np.asarray(values).dtype.kind
        if kind == "S" and len(dims) == np.ndim(values) > 0:
            values, dims = netCDF4.chartostring(np.ma.getdata(values)), dims[:-1]
        elif " since " in str(attrs.get("units", "")):
            values = _moments(values, attrs)
        elif np.ma.is_masked(values) and kind in "iuf":
            values = np.ma.filled(values.astype(np.float64), np.nan)
    except _UNREADABLE as error:
        raise ValueError(f"column {variable.name!r}: {error}") from None
    return StoredArray(dims, np.asarray(np.ma.getdata(values)), attrs)


def _moments(values: Any, attrs: Mapping[str, Any]) -> npt.NDArray[np.datetime64]:
    """Return numbers in ``hours since …`` as time stamps by UTC, NaT for what is missing."""
    step, _, start = str(attrs["units"]).partition(" since ")
    if str(attrs.get("calendar", "standard")).lower() not in _GREGORIAN:
        raise ValueError(f"time stamps of the calendar {attrs['calendar']!r}")
    first = datetime.fromisoformat(start.strip())
    first = first if first.tzinfo is None else first.astimezone(UTC).replace(tzinfo=None)
    numbers = np.ma.filled(np.ma.asarray(values), 0)
    missing = np.ma.getmaskarray(values) | ~np.isfinite(numbers)
    length = STEPS[step.strip().lower()]
    if np.any(np.abs(np.where(missing, 0.0, numbers)) > 2.0**63 / length):
        raise ValueError("a time stamp beyond the calendar")
    whole = numbers.astype(np.int64 if numbers.dtype.kind in "iu" else np.float64)
    passed = np.rint(np.where(missing, 0, whole * length)).astype(np.int64).astype("m8[ns]")
    return np.where(missing, np.datetime64("NaT", "ns"), np.datetime64(first, "ns") + passed)


def read_netcdf(data: bytes, file: str) -> list[TableColumn]:
    """Return the variables of a netCDF file as columns; all lie along one dimension."""
    with _opened(data, file) as source:
        found = {name: _stored(variable) for name, variable in source.variables.items()}
    shapes = {array.dims for array in found.values()}
    if len(shapes) > 1 or any(len(shape) != 1 for shape in shapes):
        listed = ", ".join(f"{name}({', '.join(a.dims)})" for name, a in found.items())
        expected = "variables along one and the same dimension"
        raise InputError("no plain table", file, found=listed[:200], expected=expected)
    columns = []
    for position, (name, array) in enumerate(found.items(), 1):
        check_size(file, len(array.values), len(found))
        values = _cells(array, name, file)
        cells: Any = tuple(values) if values.dtype == object else values
        if array.values.dtype.kind == "M":
            columns.append(TableColumn(file, name, name, "", position, cells))
        else:
            unit = str(array.attrs.get("units", ""))
            columns.append(typed_column(file, name, position, unit, cells))
    return columns


def read_grid(folder: Path, file: str, name: str) -> GridVariable:
    """Return a variable of a netCDF file that lies inside a folder."""
    with _opened(open_inside(folder, file), file) as source:
        if len(source.variables) > MAX_COLUMNS:
            raise InputError("too many variables", file, found=f"{len(source.variables)}")
        if name not in source.variables:
            close = get_close_matches(name, list(source.variables), n=1, cutoff=0.5)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            listed = f"one of {', '.join(list(source.variables)[:30])}"
            raise InputError(f"there is no variable {name!r}{hint}", file, expected=listed)
        array = _stored(source.variables[name])
        coordinates = dict(_coordinates(source, array.dims, file))
    unit = str(array.attrs.get("units", "")) if array.values.dtype.kind != "M" else ""
    if unit:
        known = resolve_unit(unit)
        unit = str(known) if known is not None else unit
    else:
        _, unit = header_unit(name)
    return GridVariable(file, name, unit, array.dims, _cells(array, name, file), coordinates)


def _cells(array: StoredArray, name: str, file: str) -> npt.NDArray[Any]:
    """Return numbers as doubles, time stamps and labels as texts."""
    values = array.values
    if values.dtype.kind in "iuf":
        return values.astype(np.float64)
    if values.dtype.kind == "M":
        if np.isnat(values).any():
            row = int(np.argmax(np.isnat(values).reshape(-1)))
            raise InputError(f"column {name!r}, row {row + 1}: a value is missing", file)
        values = np.char.replace(np.datetime_as_string(values, unit="s"), "T", " ")
    texts = np.empty(np.shape(values), dtype=object)
    texts[...] = np.vectorize(lambda item: str(item).strip(), otypes=[object])(values)
    return texts


def _coordinates(
    source: Any, dims: tuple[str, ...], file: str
) -> Iterator[tuple[str, tuple[str, tuple[str, ...]]]]:
    for name, variable in source.variables.items():
        along = tuple(variable.dimensions)
        letters = len(along) == 2 and variable.dtype is not str and variable.dtype.kind == "S"
        if along[:1] and along[0] in dims and (len(along) == 1 or letters):
            array = _stored(variable)
            if array.values.dtype.kind == "f":
                continue  # a measured quantity; only whole numbers, texts and times are labels
            texts = tuple(map(_label, _cells(array, name, file).tolist()))
            yield split_header(name).name if name not in dims else name, (along[0], texts)


def _label(item: object) -> str:
    return str(int(item)) if isinstance(item, float) else str(item)


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
    """Return a variable along one dimension as a table with the labels beside it."""
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
