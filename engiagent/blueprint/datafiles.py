"""Values of parameters from data files: columns, long tables, wide tables and arrays.

``file.csv#column`` is a column. Alone it fills one index in the order of the rows; with ``keys``,
the columns that name the elements, rows may stand in any order and there may be several indices.
``file.csv#*`` is a wide table: one row for each element, one column for each element of another
set. ``file.nc#variable`` is an array whose dimensions are matched to the sets by their labels or
time stamps. Whatever does not fit exactly is an error with its place in the file.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from engiagent.blueprint.document import FrozenMap, ParameterDef
from engiagent.blueprint.places import parse_stamp, positions_in, tuple_positions
from engiagent.blueprint.sets import IndexSet
from engiagent.blueprint.timeaxis import Ints
from engiagent.blueprint.units import Unit, UnitError, conversion, parse_unit
from engiagent.blueprint.values import (
    Array,
    FileColumn,
    check_stamps,
    split_reference,
    unify_units,
    unit_of,
)
from engiagent.errors import InputError
from engiagent.tabular import TableColumn, TableFile, read_table

MAX_VALUES = 50_000_000


@dataclass(frozen=True)
class Wanted:
    """What a parameter wants of a file.

    Attributes
    ----------
    unit
        The unit of the values; None for labels.
    overridden
        Whether the file's own unit is to be ignored.
    """

    sets: tuple[IndexSet, ...]
    unit: Unit | None
    overridden: bool

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the sets."""
        return tuple(s.size for s in self.sets)

    @property
    def parts(self) -> tuple[IndexSet, ...]:
        """The sets, each tuple set replaced by the sets of its parts."""
        return tuple(part for s in self.sets for part in s.root.factors or (s,))

    def empty(self) -> Array:
        """Return an array to fill."""
        if np.prod(self.shape, dtype=np.float64) > MAX_VALUES:
            raise ValueError(f"the sets have more than {MAX_VALUES} combinations")
        return np.empty(self.shape, dtype=object if self.unit is None else np.float64)

    def taken(self, column: TableColumn) -> Array:
        """Return the cells of a column, converted.

        Raises
        ------
        UnitError
            When the column is in a unit that does not fit, with file and column.
        """
        if self.unit is None:
            return np.array(column.texts(), dtype=object)
        values: Array = column.numbers()
        if self.overridden or not column.unit_text:
            return values
        where = f"{column.file}: column {column.header!r}"
        factor, shift = _conversion(column.unit_text, self.unit, where)
        return values if (factor, shift) == (1.0, 0.0) else values * factor + shift


def _conversion(text: str, unit: Unit, where: str) -> tuple[float, float]:
    try:
        return conversion(parse_unit(text), unit)
    except UnitError as error:
        raise UnitError(f"{where} is in {text}, the parameter in {unit}: {error}") from None


def file_values(
    d: ParameterDef, sets: tuple[IndexSet, ...], folder: Path | None, labels: bool = False
) -> Array:
    """Return the values that ``data`` of a parameter refers to, shape as the sets.

    Numbers are in :func:`~engiagent.blueprint.values.unit_of`; labels are texts.

    Raises
    ------
    InputError
        For whatever is wrong in the file, with its line and column.
    UnitError
        When the file is in a unit of another dimension.
    ValueError
        When the reference itself does not fit the parameter.
    """
    unit = None if labels else unit_of(d)
    wanted = Wanted(sets, unit, d.unit_override is not None)
    reference = str(d.data)
    file, name = split_reference(reference)
    if folder is None:
        raise InputError(f"{reference!r} cannot be read: the blueprint has no folder with data")
    keys = tuple(d.keys)
    if file.lower().endswith(".nc") and (keys or name != "*"):
        return _from_grid(folder, file, name, keys, wanted)
    table = read_table(folder, file)
    if name == "*":
        values = _wide(table, keys, wanted)
    elif keys:
        values = _long(table, table.column(name), keys, wanted)
    else:
        values = _in_order(FileColumn.of(table, table.column(name)), wanted)
    own_units = any(column.unit_text for column in _value_columns(table, name, keys))
    if isinstance(d.unit, FrozenMap) and not (labels or wanted.overridden or own_units):
        unify_units(values, d.unit, sets)
    return values


def _value_columns(table: TableFile, name: str, keys: Sequence[str]) -> Iterator[TableColumn]:
    key_columns = {table.column(key).position for key in keys}
    if name != "*":
        yield table.column(name)
    else:
        yield from (c for c in table.columns.values() if c.position not in key_columns)


# -- rows in order --------------------------------------------------------------------------------


def _in_order(column: FileColumn, wanted: Wanted) -> Array:
    """Return a column whose rows are the elements of the only set, one after the other."""
    if len(wanted.sets) > 1:
        raise ValueError(
            "a file column fills a parameter with one index; for several name the columns that "
            'hold the elements, as "keys": ["from", "to"]'
        )
    size, rows = wanted.sets[0].size if wanted.sets else 1, len(column.column)
    if rows != size:
        what = f"{wanted.sets[0].name} has" if wanted.sets else "a single value is"
        number = f"{size} elements" if wanted.sets else "needed"
        raise ValueError(f"{column.reference} has {rows} rows, but {what} {number}")
    values = wanted.taken(column.column)
    if not wanted.sets:
        return values.reshape(())
    only = wanted.sets[0]
    if only.axis is not None and only.root is only and only.kind == "time":
        check_stamps(column, only.axis)
    return values


# -- long tables ----------------------------------------------------------------------------------


def _long(table: TableFile, column: TableColumn, keys: tuple[str, ...], wanted: Wanted) -> Array:
    """Return a column whose rows say by key columns which element they are for."""
    key_columns = _key_columns(table, keys, wanted.parts, wanted.sets)
    rows = _flat_positions(table, key_columns, wanted.sets)
    values = wanted.empty()
    _refuse_holes(table, rows, key_columns, wanted.sets)
    values.reshape(-1)[rows] = wanted.taken(column)
    return values


def _key_columns(
    table: TableFile,
    keys: tuple[str, ...],
    parts: tuple[IndexSet, ...],
    sets: tuple[IndexSet, ...],
) -> list[TableColumn]:
    if len(keys) != len(parts):
        listed = ", ".join(part.name for part in parts) or "no set"
        raise ValueError(
            f"'keys' names {len(keys)} columns, but the index needs {len(parts)}: one each for "
            f"{listed}"
        )
    if len(set(keys)) != len(keys):
        raise ValueError("'keys' names a column twice")
    return [table.column(key) for key in keys]


def _flat_positions(
    table: TableFile, keys: Sequence[TableColumn], sets: tuple[IndexSet, ...]
) -> Ints:
    """Return, for each row, where it stands in the grid of the sets."""
    flat: Ints = np.zeros(table.rows, dtype=np.int64)
    rest = list(keys)
    for index_set in sets:
        count = len(index_set.root.factors) or 1
        chosen, rest = rest[:count], rest[count:]
        flat = flat * index_set.size + _set_positions(chosen, index_set)
    return flat


def _set_positions(keys: Sequence[TableColumn], index_set: IndexSet) -> Ints:
    if not index_set.root.factors:
        return _known(keys[0], index_set)
    parts = [_known(key, f) for key, f in zip(keys, index_set.root.factors, strict=True)]
    found = tuple_positions(parts, index_set)
    for row in np.flatnonzero(found < 0)[:1]:
        label = ", ".join(key.texts()[row] for key in keys)
        raise keys[0].error(int(row), f"no element of {index_set.name}", found=label)
    return found


def _known(key: TableColumn, index_set: IndexSet) -> Ints:
    """Return the positions of the labels of a key column; refuse one that is unknown."""
    try:
        found = positions_in(key.texts(), index_set)
    except ValueError as error:
        raise InputError(f"column {key.header!r}: {error}", key.file) from None
    for row in np.flatnonzero(found < 0)[:1]:
        raise key.error(int(row), f"no element of {index_set.name}", expected=_listed(index_set))
    return found


def _listed(index_set: IndexSet) -> str:
    shown = ", ".join(map(_label, index_set.labels[:4]))
    return f"one of {shown}{', …' if index_set.size > 4 else ''}" if shown else "nothing"


def _label(label: object) -> str:
    return ", ".join(map(str, label)) if isinstance(label, tuple) else str(label)


def _refuse_holes(
    table: TableFile, flat: Ints, keys: Sequence[TableColumn], sets: tuple[IndexSet, ...]
) -> None:
    """Raise when two rows are for one element, or none is."""
    size = int(np.prod([s.size for s in sets], dtype=np.int64))
    order = np.argsort(flat, kind="stable")
    again = np.flatnonzero(np.diff(flat[order]) == 0)
    if len(again):
        first, second = (int(order[k]) for k in (again[0], again[0] + 1))
        line = keys[0].line(first)
        place = f"line {line}" if line is not None else f"row {first + 1}"
        label = ", ".join(key.texts()[second] for key in keys)
        raise keys[0].error(second, f"a second row for this element, after {place}", found=label)
    if table.rows < size:
        there = np.zeros(size, dtype=bool)
        there[flat] = True
        absent = _element(int(np.argmin(there)), sets)
        more = size - table.rows - 1
        raise InputError(
            f"no row for {absent}" + (f" and {more} more" if more else ""),
            table.name,
            expected=f"a row for every element of {' x '.join(s.name for s in sets)}",
        )


def _element(flat: int, sets: tuple[IndexSet, ...]) -> str:
    places = np.unravel_index(flat, tuple(s.size for s in sets))
    return ", ".join(_label(s.labels[int(k)]) for s, k in zip(sets, places, strict=True))


# -- wide tables ----------------------------------------------------------------------------------


def _wide(table: TableFile, keys: tuple[str, ...], wanted: Wanted) -> Array:
    """Return a table with a column for each element of one set."""
    if len(wanted.sets) < 2:
        raise ValueError("'#*' is for a parameter with two or more indices")
    chosen = {table.column(key).position for key in keys}
    rest = [c for c in table.columns.values() if c.position not in chosen]
    if not keys:
        rest = [c for c in rest if not _is_stamps(c)]
    across = _set_across(rest, wanted.sets)
    down = tuple(s for s in wanted.sets if s is not wanted.sets[across])
    columns = _columns_of(wanted.sets[across], rest, table)
    if keys:
        parts = Wanted(down, None, False).parts
        key_columns = _key_columns(table, keys, parts, down)
        rows = _flat_positions(table, key_columns, down)
        _refuse_holes(table, rows, key_columns, down)
    else:
        rows = _rows_in_order(table, down)
    size = int(np.prod([s.size for s in down], dtype=np.int64))
    values = wanted.empty()
    for position, column in enumerate(columns):
        cells = np.empty(size, dtype=values.dtype)
        cells[rows] = wanted.taken(column)
        np.moveaxis(values, across, -1)[..., position] = cells.reshape([s.size for s in down])
    return values


def _is_stamps(column: TableColumn) -> bool:
    return column.is_text and parse_stamp(column.texts()[0]) is not None


def _rows_in_order(table: TableFile, down: tuple[IndexSet, ...]) -> Ints:
    if len(down) > 1:
        raise ValueError("name the columns that hold the elements of each row in 'keys'")
    only = down[0]
    if table.rows != only.size:
        raise ValueError(
            f"{table.name} has {table.rows} rows, but {only.name} has {only.size} elements"
        )
    for column in table.columns.values():
        if _is_stamps(column) and only.root.kind == "time" and only.root.axis is not None:
            if only.root is only:
                check_stamps(FileColumn.of(table, column), only.root.axis)
            break
    return np.arange(table.rows, dtype=np.int64)


def _set_across(columns: Sequence[TableColumn], sets: tuple[IndexSet, ...]) -> int:
    """Return the set whose labels the headers are: the one of which most are there."""
    headers = {text for c in columns for text in (c.name, c.header)}
    shares = [
        -1.0
        if s.root.factors or s.size > 10 * len(headers) + 10
        else sum(str(label) in headers for label in s.labels) / max(s.size, 1)
        for s in sets
    ]
    best = max(shares)
    if best <= 0:
        return len(sets) - 1
    return max(k for k, share in enumerate(shares) if share == best)


def _columns_of(
    index_set: IndexSet, columns: Sequence[TableColumn], table: TableFile
) -> list[TableColumn]:
    """Return a column for each element; none may be absent and none be left over."""
    by_name = {c.header: c for c in columns} | {c.name: c for c in columns}
    labels = [_label(label) for label in index_set.labels]
    for label in labels:
        if label not in by_name:
            listed = ", ".join(c.header for c in columns[:30])
            raise InputError(
                f"there is no column for {label} of {index_set.name}", table.name, 1, found=listed
            )
    found = [by_name[label] for label in labels]
    positions = {c.position for c in found}
    for column in columns:
        if column.position not in positions:
            text = f"the column {column.header!r} is no element of {index_set.name}"
            raise InputError(
                text, table.name, 1, expected=f"{_listed(index_set)}, or a column named in 'keys'"
            )
    return found


# -- arrays ---------------------------------------------------------------------------------------


def _from_grid(folder: Path, file: str, name: str, keys: tuple[str, ...], wanted: Wanted) -> Array:
    """Return a netCDF variable with its dimensions in the order of the sets."""
    from engiagent.gridfiles import GridVariable, read_grid

    grid: GridVariable = read_grid(folder, file, name)
    parts = wanted.parts
    where = f"the variable {name!r}"
    if len(grid.dims) != len(parts):
        shape = f"({', '.join(grid.dims)})"
        needed = ", ".join(part.name for part in parts) or "a single value"
        raise InputError(f"{where} runs over other sets", file, found=shape, expected=needed)
    axes = _axes(grid.dims, grid.coordinates, keys, parts, file)
    values = grid.values.transpose(axes)
    for axis, (part, number) in enumerate(zip(parts, axes, strict=True)):
        key = keys[axis] if keys else grid.dims[number]
        along = _along(grid.dims[number], key, grid.coordinates)
        values = np.take(values, _order(along, part, values.shape[axis], file, key), axis=axis)
    values = _listed_tuples(values, wanted)
    if wanted.unit is None:
        return np.array([str(v) for v in values.reshape(-1)], dtype=object).reshape(values.shape)
    if values.dtype == object:
        raise InputError(f"{where} holds text", file, expected="numbers")
    _refuse_gaps(values, wanted, where, file)
    if wanted.overridden or not grid.unit_text:
        return values
    factor, shift = _conversion(grid.unit_text, wanted.unit, f"{file}: {where}")
    return np.asarray(values * factor + shift)


def _axes(
    dims: tuple[str, ...],
    coordinates: Any,
    keys: tuple[str, ...],
    parts: tuple[IndexSet, ...],
    file: str,
) -> list[int]:
    """Return, for each part, which dimension of the file it is."""
    if keys:
        named = [key if key in dims else coordinates.get(key, (None, ()))[0] for key in keys]
        for key, dim in zip(keys, named, strict=True):
            if dim is None:
                raise InputError(f"there is no dimension {key!r}", file, expected=", ".join(dims))
        if sorted(named) != sorted(dims):
            raise InputError("'keys' must name every dimension once", file, found=", ".join(keys))
        return [dims.index(dim) for dim in named]
    names = [part.name for part in parts]
    if sorted(names) == sorted(dims) and len(set(dims)) == len(dims):
        return [dims.index(name) for name in names]
    fits = [[_fits(dim, part, coordinates) for dim in dims] for part in parts]
    chosen = [row.index(True) for row in fits if sum(row) == 1]
    if len(chosen) == len(parts) and len(set(chosen)) == len(parts):
        return chosen
    return list(range(len(dims)))


def _fits(dim: str, part: IndexSet, coordinates: Any) -> bool:
    """Whether a dimension has the labels of a set."""
    texts = _along(dim, dim, coordinates)
    if texts is None or len(texts) < part.size:
        return False
    try:
        return bool(np.all(np.isin(np.arange(part.size), positions_in(texts, part))))
    except ValueError:
        return False


def _along(dim: str, key: str, coordinates: Any) -> tuple[str, ...] | None:
    """Return the labels along a dimension: its own, those named, or the only time stamps."""
    for name in (key, dim):
        if name in coordinates and coordinates[name][0] == dim:
            texts: tuple[str, ...] = coordinates[name][1]
            return texts
    stamped = [
        texts
        for along, texts in coordinates.values()
        if along == dim and texts and parse_stamp(texts[0]) is not None
    ]
    return stamped[0] if len(stamped) == 1 else None


def _order(texts: tuple[str, ...] | None, part: IndexSet, size: int, file: str, dim: str) -> Ints:
    """Return the places along a dimension at which the elements of a set stand, in their order."""
    undated = part.root.axis is not None and not part.root.axis.dated
    if texts is None or (undated and part.root.kind in ("time", "instants")):
        if size != part.size:
            raise InputError(
                "wrong number of values",
                file,
                found=f"{size} along {dim}",
                expected=f"{part.size}, as {part.name} has elements",
            )
        return np.arange(size, dtype=np.int64)
    try:
        found = positions_in(texts, part)
    except ValueError as error:
        raise InputError(f"dimension {dim!r}: {error}", file) from None
    for row in np.flatnonzero(found < 0)[:1]:
        text = f"dimension {dim!r}, place {row + 1}: no element of {part.name}"
        raise InputError(text, file, found=repr(texts[row][:60]), expected=_listed(part))
    counts = np.bincount(found, minlength=part.size)
    for position in np.flatnonzero(counts != 1)[:1]:
        what = "is there twice" if counts[position] else "is not there"
        raise InputError(f"dimension {dim!r}: {_label(part.labels[position])} {what}", file)
    return np.argsort(found, kind="stable")


def _listed_tuples(values: Array, wanted: Wanted) -> Array:
    """Pick the elements of tuple sets out of the product of their parts."""
    for axis, index_set in enumerate(wanted.sets):
        if index_set.root.factors:
            chosen = tuple(c[index_set.in_root] for c in index_set.root.columns)
            values = values[((slice(None),) * axis + chosen)]
    return values


def _refuse_gaps(values: npt.NDArray[Any], wanted: Wanted, where: str, file: str) -> None:
    good = np.isfinite(values)
    if not bool(good.all()):
        place = _element(int(np.argmin(good.reshape(-1))), wanted.sets) if wanted.sets else ""
        at = f" at {place}" if place else ""
        raise InputError(f"{where}{at}: a value is missing or not finite", file)
