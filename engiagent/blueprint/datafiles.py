"""Values of parameters from data files: columns, long tables, wide tables and arrays.

``file.csv#column`` is a column. Alone it fills one index in the order of the rows; with ``keys``,
the columns that name the elements, rows may stand in any order and there may be several indices.
``file.csv#*`` is a wide table: one row for each element, one column for each element of another
set. ``file.nc#variable`` is an array whose dimensions are matched to the sets by their labels or
time stamps. Whatever does not fit exactly is an error with its place in the file.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from engiagent.blueprint.datawanted import Wanted, element_text, label_text, listed
from engiagent.blueprint.document import FrozenMap, ParameterDef
from engiagent.blueprint.places import positions_in, tuple_positions
from engiagent.blueprint.sets import IndexSet
from engiagent.blueprint.stamps import parse_stamp
from engiagent.blueprint.timeaxis import Ints
from engiagent.blueprint.values import (
    Array,
    FileColumn,
    check_stamps,
    split_reference,
    unify_units,
    unit_of,
)
from engiagent.errors import InputError
from engiagent.io.gridfiles import GridVariable, as_long_table, as_table, read_grid
from engiagent.io.tabular import TableColumn, TableFile, read_table


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
    if file.lower().endswith(".nc") and name != "*":
        grid = read_grid(folder, file, name)
        table, keys = _array_table(grid, keys, wanted)
    else:
        table = read_table(folder, file)
    if name == "*":
        values = _wide(table, keys, wanted)
    elif keys:
        values = _long(table, table.column(name), keys, wanted)
    else:
        values = _in_order(FileColumn.of(table, table.column(name)), wanted)
    own_units = any(column.unit_text for column in _value_columns(table, name, keys))
    if isinstance(d.unit, FrozenMap) and not (labels or wanted.overridden or own_units):
        values = unify_units(values, d.unit, sets)
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
    table: TableFile, keys: tuple[str, ...], parts: tuple[IndexSet, ...], sets: tuple[IndexSet, ...]
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
        raise key.error(int(row), f"no element of {index_set.name}", expected=listed(index_set))
    return found


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
        absent = element_text(int(np.argmin(there)), sets)
        more = size - table.rows - 1
        raise InputError(
            f"no row for {absent}" + (f" and {more} more" if more else ""),
            table.name,
            expected=f"a row for every element of {' x '.join(s.name for s in sets)}",
        )


# -- arrays ---------------------------------------------------------------------------------------


def _array_table(
    grid: GridVariable, keys: tuple[str, ...], wanted: Wanted
) -> tuple[TableFile, tuple[str, ...]]:
    """Return an array as a long table, and its key columns in the order of the sets.

    Raises
    ------
    InputError
        When the dimensions do not fit the sets.
    """
    parts, file, dims = wanted.parts, grid.file, grid.dims
    if len(keys) > 1 and len(dims) == 1:
        return as_table(grid), keys
    if len(dims) != len(parts):
        needed = ", ".join(part.name for part in parts) or "a single value"
        what = f"the variable {grid.name!r} runs over other sets"
        raise InputError(what, file, found=f"({', '.join(dims)})", expected=needed)
    order = _dimensions(grid, keys, parts)
    labels = {}
    for dim, key, part in zip(order, keys or order, parts, strict=True):
        texts, size = _labels_along(grid, dim, key), grid.values.shape[dims.index(dim)]
        undated = part.root.axis is not None and not part.root.axis.dated
        if texts is None or (undated and part.root.kind in ("time", "instants")):
            if size != part.size:
                expected = f"{part.size}, as {part.name} has elements"
                found = f"{size} along {dim}"
                raise InputError("wrong number of values", file, found=found, expected=expected)
            texts = tuple(map(label_text, part.labels))
        labels[dim] = texts
    table = as_long_table(grid, labels)
    column = table.columns[grid.name]
    if any(s.root.factors for s in wanted.sets) and not column.is_text:
        # Of a matrix, a sparse set takes the places that hold something.
        there = np.flatnonzero(np.isfinite(np.asarray(column.cells))).tolist()
        rows = {name: c.rows(there) for name, c in table.columns.items()}
        table = replace(table, columns=rows, rows=len(there))
    return table, tuple(order)


def _dimensions(
    grid: GridVariable, keys: tuple[str, ...], parts: tuple[IndexSet, ...]
) -> list[str]:
    """Return the dimension of each part: by 'keys', by name, by labels, else in their order."""
    dims = grid.dims
    if keys:
        named = [k if k in dims else grid.coordinates.get(k, (None, ()))[0] for k in keys]
        if None in named:
            what = f"there is no dimension {keys[named.index(None)]!r}"
            raise InputError(what, grid.file, expected=", ".join(dims))
        if sorted(map(str, named)) != sorted(dims):
            found = ", ".join(keys)
            raise InputError("'keys' must name every dimension once", grid.file, found=found)
        return [str(dim) for dim in named]
    names = [part.name for part in parts]
    if sorted(names) == sorted(dims):
        return names
    fits = [[dim for dim in dims if _holds(_labels_along(grid, dim, dim), p)] for p in parts]
    chosen = [found[0] for found in fits if len(found) == 1]
    return chosen if len(set(chosen)) == len(parts) else list(dims)


def _labels_along(grid: GridVariable, dim: str, key: str) -> tuple[str, ...] | None:
    """Return the labels along a dimension: those of a key, its own, or the only time stamps."""
    for name in (key, dim):
        if name in grid.coordinates and grid.coordinates[name][0] == dim:
            return grid.coordinates[name][1]
    stamped = [
        texts
        for along, texts in grid.coordinates.values()
        if along == dim and texts and parse_stamp(texts[0]) is not None
    ]
    return stamped[0] if len(stamped) == 1 else None


def _holds(texts: tuple[str, ...] | None, part: IndexSet) -> bool:
    """Whether labels are those of a set."""
    if texts is None or len(texts) < part.size:
        return False
    try:
        return bool(np.all(np.isin(np.arange(part.size), positions_in(texts, part))))
    except ValueError:
        return False


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
    labels = [label_text(label) for label in index_set.labels]
    for label in labels:
        if label not in by_name:
            headers = ", ".join(c.header for c in columns[:30])
            text = f"there is no column for {label} of {index_set.name}"
            raise InputError(text, table.name, 1, found=headers)
    found = [by_name[label] for label in labels]
    positions = {c.position for c in found}
    for column in columns:
        if column.position not in positions:
            text = f"the column {column.header!r} is no element of {index_set.name}"
            raise InputError(
                text, table.name, 1, expected=f"{listed(index_set)}, or a column named in 'keys'"
            )
    return found
