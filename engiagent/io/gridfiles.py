"""netCDF files: arrays with the labels or time stamps along their dimensions, and tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Any

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


@dataclass(frozen=True, eq=False)
class GridVariable:
    """One variable of a netCDF file.

    Attributes
    ----------
    values
        Numbers (``float64``, NaN where the file has none) or labels (``object``), shape by
        ``dims``.
    unit_text
        A unit that the table of units knows, else as written; empty without one.
    coordinates
        Texts along dimensions and along auxiliary variables of one dimension: labels, or time
        stamps in ISO 8601. By name: the dimension, and its texts.
    """

    file: str
    name: str
    unit_text: str
    dims: tuple[str, ...]
    values: npt.NDArray[Any]
    coordinates: Mapping[str, tuple[str, tuple[str, ...]]]


def open_netcdf(data: bytes, file: str) -> Any:
    """Return an open netCDF dataset of some bytes.

    Raises
    ------
    InputError
        When the bytes are no netCDF file.
    """
    import netCDF4

    try:
        return netCDF4.Dataset("memory", mode="r", memory=data)
    except (OSError, ValueError, MemoryError, RuntimeError, AttributeError) as error:
        raise InputError(f"no readable netCDF file: {str(error)[:200]}", file) from None


def read_variable(variable: Any, file: str) -> Any:
    """Return all values of a netCDF variable, masked where the file has none.

    Raises
    ------
    InputError
        When they cannot be unpacked.
    """
    try:
        return variable[...]
    except (RuntimeError, OSError, ValueError, IndexError, TypeError) as error:
        text = f"the variable {variable.name!r} cannot be read: {str(error)[:200]}"
        raise InputError(text, file) from None


def read_stamps(variable: Any, values: Any, file: str) -> list[str]:
    """Return the values of a netCDF variable in ``hours since …`` as stamps, flattened.

    Raises
    ------
    InputError
        When one is missing, or the unit or the calendar is none.
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


def read_grid(folder: Path, file: str, name: str) -> GridVariable:
    """Return a variable of a netCDF file that lies inside a folder.

    Raises
    ------
    InputError
        For a path that leaves the folder, an unreadable or overlarge file, a variable that is not
        there.
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

    Parameters
    ----------
    labels
        By dimension, in the order of the key columns; all dimensions.
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

    Raises
    ------
    InputError
        When it has no dimension or several.
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
