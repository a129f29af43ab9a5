"""Values of parameters from data files: columns, long tables, wide tables and arrays.

``file.csv#column`` is a column. Alone it fills one index in the order of the rows; with ``keys``,
the columns that name the elements, rows may stand in any order and there may be several indices.
``file.csv#*`` is a wide table: one row for each element, one column for each element of another
set. ``file.nc#variable`` is an array: its dimensions are the sets, by ``keys``, by name or in their
order. Whatever does not fit exactly is an error with its place in the file.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from engiagent.blueprint.elements import FrozenMap, ParameterDef
from engiagent.blueprint.sets import IndexSet
from engiagent.blueprint.stamps import parse_stamp, stamp_seconds
from engiagent.blueprint.timeaxis import Floats, Ints, TimeAxis
from engiagent.blueprint.values import Array, check_stamps, split_reference, unify_units, unit_of
from engiagent.errors import InputError
from engiagent.io.gridfiles import GridVariable, as_long_table, read_grid
from engiagent.io.tabular import TableColumn, TableFile, read_table
from engiagent.units.currencies import unit_of_column
from engiagent.units.unit import Unit, UnitError, conversion

MAX_VALUES: Final = 50_000_000
_CLOCK: Final = re.compile(r"(\d{1,2}):(\d{2})(?::00(?:\.0+)?)?(\+\d+d)?")

Sets = tuple[IndexSet, ...]


@dataclass(frozen=True)
class Wanted:
    """What a parameter wants of a file."""

    sets: Sets
    unit: Unit | None  # the unit of the values; None for labels
    overridden: bool  # whether the file's own unit is to be ignored

    def empty(self) -> Array:
        """Return an array to fill."""
        shape = tuple(s.size for s in self.sets)
        if np.prod(shape, dtype=np.float64) > MAX_VALUES:
            raise ValueError(f"the sets have more than {MAX_VALUES} combinations")
        return np.empty(shape, dtype=object if self.unit is None else np.float64)

    def taken(self, column: TableColumn) -> Array:
        """Return the cells of a column, converted."""
        if self.unit is None:
            return np.array(column.texts(), dtype=object)
        if column.is_text and column.texts() and parse_stamp(column.texts()[0]) is not None:
            raise ValueError(
                f"{column.file}: column {column.header!r} holds time stamps; a parameter of "
                'time stamps needs "type": "element of T", T a time set or its instants'
            )
        values: Array = column.numbers()
        if self.overridden or not column.unit_text:
            return values
        try:
            # Cents without a currency, or a bare sign, are those of the parameter's currency.
            factor, shift = conversion(unit_of_column(column.unit_text, self.unit), self.unit)
        except UnitError as error:
            where = f"{column.file}: column {column.header!r} is in {column.unit_text}"
            raise UnitError(f"{where}, the parameter in {self.unit}: {error}") from None
        return values if (factor, shift) == (1.0, 0.0) else values * factor + shift


def parts_of(sets: Sets) -> Sets:
    """Return sets, each tuple set replaced by the sets of its parts."""
    return tuple(part for s in sets for part in s.root.factors or (s,))


def listed(index_set: IndexSet) -> str:
    """Return the first few elements of a set as what was expected."""
    shown = ", ".join(map(label_text, index_set.labels[:4]))
    return f"one of {shown}{', …' if index_set.size > 4 else ''}" if shown else "nothing"


def label_text(label: object) -> str:
    """Return an element as text."""
    return ", ".join(map(str, label)) if isinstance(label, tuple) else str(label)


def element_text(flat: int, sets: Sets) -> str:
    """Return the element at a flat position in the grid of some sets as text."""
    places = np.unravel_index(flat, tuple(s.size for s in sets))
    return ", ".join(label_text(s.labels[int(k)]) for s, k in zip(sets, places, strict=True))


def file_values(d: ParameterDef, sets: Sets, folder: Path | None, labels: bool = False) -> Array:
    """Return the values that ``data`` of a parameter refers to, shape as the sets.

    Numbers are in :func:`~engiagent.blueprint.values.unit_of`; labels are texts.
    """
    wanted = Wanted(sets, None if labels else unit_of(d), d.unit_override is not None)
    reference = str(d.data)
    file, name = split_reference(reference)
    if folder is None:
        raise InputError(f"{reference!r} cannot be read: the blueprint has no folder with data")
    keys = tuple(d.keys)
    if file.lower().endswith(".nc") and name != "*":
        table, keys = _array_table(read_grid(folder, file, name), keys, sets)
    else:
        table = read_table(folder, file)
    if name == "*":
        columns, values = _wide(table, keys, wanted)
    else:
        columns, values = [table.column(name)], wanted.empty()
        cells = wanted.taken(columns[0])
        values.reshape(-1)[_rows(table, keys, sets, f"{file}#{columns[0].name}")] = cells
    own_units = any(column.unit_text for column in columns)
    if isinstance(d.unit, FrozenMap) and not (labels or wanted.overridden or own_units):
        values = unify_units(values, d.unit, sets)
    return values


def _rows(table: TableFile, keys: tuple[str, ...], sets: Sets, what: str) -> Ints | slice:
    """Return, for each row, where it stands in the grid of the sets: by keys, or in their order."""
    if keys:
        return _rows_by_key(table, keys, sets)
    if len(sets) > 1:
        raise ValueError(
            "a file column fills a parameter with one index; for several name the columns that "
            'hold the elements, as "keys": ["from", "to"]'
        )
    size = sets[0].size if sets else 1
    if table.rows != size:
        needed = f"{sets[0].name} has {size} elements" if sets else "a single value is needed"
        raise ValueError(f"{what} has {table.rows} rows, but {needed}")
    for only in sets:
        if only.axis is not None and only.root is only and only.kind == "time":
            check_stamps(table, only.axis)
    return slice(None)


def _rows_by_key(table: TableFile, keys: tuple[str, ...], sets: Sets) -> Ints:
    """Return, for each row, where it stands in the grid of the sets: each place once."""
    parts = parts_of(sets)
    if len(keys) != len(parts):
        each = ", ".join(part.name for part in parts) or "no set"
        text = f"'keys' names {len(keys)} columns, but the index needs {len(parts)}: one each for"
        raise ValueError(f"{text} {each}")
    if len(set(keys)) != len(keys):
        raise ValueError("'keys' names a column twice")
    columns = [table.column(key) for key in keys]
    flat: Ints = np.zeros(table.rows, dtype=np.int64)
    rest = list(columns)
    for index_set in sets:
        count = len(index_set.root.factors) or 1
        chosen, rest = rest[:count], rest[count:]
        flat = flat * index_set.size + _set_positions(chosen, index_set)
    size = int(np.prod([s.size for s in sets], dtype=np.int64))
    order = np.argsort(flat, kind="stable")
    again = np.flatnonzero(np.diff(flat[order]) == 0)
    if len(again):
        first, second = (int(order[k]) for k in (again[0], again[0] + 1))
        line = columns[0].line(first)
        place = f"line {line}" if line is not None else f"row {first + 1}"
        label = ", ".join(key.texts()[second] for key in columns)
        raise columns[0].error(second, f"a second row for this element, after {place}", label)
    if table.rows < size:
        there = np.zeros(size, dtype=bool)
        there[flat] = True
        more = size - table.rows - 1
        text = f"no row for {element_text(int(np.argmin(there)), sets)}"
        expected = f"a row for every element of {' x '.join(s.name for s in sets)}"
        text += f" and {more} more" if more else ""
        raise InputError(text, table.name, expected=expected)
    return flat


def _set_positions(keys: Sequence[TableColumn], index_set: IndexSet) -> Ints:
    if not index_set.root.factors:
        return _known(keys[0], index_set)
    parts = [_known(key, f) for key, f in zip(keys, index_set.root.factors, strict=True)]
    found = index_set.tuple_positions(parts)
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


# -- arrays ---------------------------------------------------------------------------------------


def _array_table(
    grid: GridVariable, keys: tuple[str, ...], sets: Sets
) -> tuple[TableFile, tuple[str, ...]]:
    """Return an array as a long table, and its key columns in the order of the sets."""
    parts, file, dims = parts_of(sets), grid.file, grid.dims
    if len(dims) != len(parts):
        needed = ", ".join(part.name for part in parts) or "a single value"
        what = f"the variable {grid.name!r} runs over other sets"
        raise InputError(what, file, found=f"({', '.join(dims)})", expected=needed)
    names = [part.name for part in parts]
    order = keys or (tuple(names) if sorted(names) == sorted(dims) else dims)
    if sorted(order) != sorted(dims):
        found, expected = ", ".join(keys), ", ".join(dims)
        raise InputError("'keys' must name every dimension once", file, None, None, found, expected)
    labels = {}
    for dim, part in zip(order, parts, strict=True):
        texts, size = _labels_along(grid, dim), grid.values.shape[dims.index(dim)]
        undated = part.root.axis is not None and not part.root.axis.dated
        if texts is None or (undated and part.root.kind in ("time", "instants")):
            if size != part.size:
                expected = f"{part.size}, as {part.name} has elements"
                found = f"{size} along {dim}"
                raise InputError("wrong number of values", file, None, None, found, expected)
            texts = tuple(map(label_text, part.labels))
        labels[dim] = texts
    return as_long_table(grid, labels), tuple(order)


def _labels_along(grid: GridVariable, dim: str) -> tuple[str, ...] | None:
    """Return the labels along a dimension: its own, or the only time stamps."""
    along = {name: texts for name, (own, texts) in grid.coordinates.items() if own == dim}
    if dim in along:
        return along[dim]
    stamped = [t for t in along.values() if t and parse_stamp(t[0]) is not None]
    return stamped[0] if len(stamped) == 1 else None


# -- wide tables ----------------------------------------------------------------------------------


def _wide(
    table: TableFile, keys: tuple[str, ...], wanted: Wanted
) -> tuple[list[TableColumn], Array]:
    """Return the columns of a table with one for each element of a set, and their values."""
    if len(wanted.sets) < 2:
        raise ValueError("'#*' is for a parameter with two or more indices")
    chosen = {table.column(key).position for key in keys}
    rest = [c for c in table.columns.values() if c.position not in chosen]
    if not keys:
        rest = [c for c in rest if not _is_stamps(c)]
    across = _set_across(rest, wanted.sets)
    down = tuple(s for s in wanted.sets if s is not wanted.sets[across])
    columns = _columns_of(wanted.sets[across], rest, table)
    rows = _rows(table, keys, down, table.name)
    values = wanted.empty()
    shape = [s.size for s in down]
    for position, column in enumerate(columns):
        cells = np.empty(int(np.prod(shape, dtype=np.int64)), dtype=values.dtype)
        cells[rows] = wanted.taken(column)
        np.moveaxis(values, across, -1)[..., position] = cells.reshape(shape)
    return columns, values


def _is_stamps(column: TableColumn) -> bool:
    return column.is_text and parse_stamp(column.texts()[0]) is not None


def _set_across(columns: Sequence[TableColumn], sets: Sets) -> int:
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
            expected = f"{listed(index_set)}, or a column named in 'keys'"
            raise InputError(text, table.name, 1, expected=expected)
    return found


# -- where labels and time stamps stand -----------------------------------------------------------


def positions_in(texts: Sequence[str], index_set: IndexSet) -> Ints:
    """Return the position of every label in a set, -1 where the set has no such element.

    A set with dates is matched by moments: stamps with an offset by the instant, others by the
    wall clock of the set's zone. All stamps may also name the ends of the periods.
    """
    root = index_set.root
    if root.kind in ("time", "instants") and root.axis is not None and root.axis.dated:
        found = _stamp_positions(texts, root, root.axis)
    else:
        lookup = {str(label): position for label, position in root.position_of.items()}
        clock = root.kind in ("time", "instants")
        keys = [_clock(text) if clock else text for text in texts]
        found = np.array([lookup.get(key, -1) for key in keys], dtype=np.int64)
    return index_set.from_root(found)


def _clock(text: str) -> str:
    match = _CLOCK.fullmatch(text.strip())
    return f"{int(match[1]):02d}:{match[2]}{match[3] or ''}" if match else text


def _stamp_positions(texts: Sequence[str], root: IndexSet, axis: TimeAxis) -> Ints:
    seconds, zoned = stamp_seconds(tuple(texts))
    if zoned and axis.zone is None:
        raise ValueError(
            f"the time stamps have an offset from UTC, but {root.name} names no zone; "
            'add "zone": "UTC" or the zone\'s name'
        )
    edges = axis.edges if zoned else axis.local
    if root.kind == "instants":
        return _nearest(seconds, edges, root)
    starts = _nearest(seconds, edges[:-1], root)
    if np.any(starts < 0):
        ends = _nearest(seconds, edges[1:], root)
        if np.all(ends >= 0):
            return ends
    return starts


def _nearest(seconds: Floats, edges: Floats, root: IndexSet) -> Ints:
    """Return where each moment stands among the edges, to the half second.

    On a day on which the clock is put back, the hour that is shown twice is told apart only where
    the file is in the order of the set.
    """
    if len(seconds) == len(edges) and np.all(np.abs(seconds - edges) < 0.5):
        return np.arange(len(edges), dtype=np.int64)
    order = np.argsort(edges, kind="stable")
    ordered = edges[order]
    doubtful = ordered[:-1][np.diff(ordered) < 0.5]
    if np.any(np.abs(seconds[:, None] - doubtful[None, :]) < 0.5):
        raise ValueError(
            f"the clock of {root.name} shows an hour twice; write the time stamps with their "
            "offset from UTC, as 2025-10-26T02:00+02:00, or the rows in the order of the periods"
        )
    at = np.searchsorted(ordered, np.nan_to_num(seconds, nan=-np.inf) - 0.5)
    at = np.minimum(at, len(ordered) - 1)
    return np.where(np.abs(ordered[at] - seconds) < 0.5, order[at], -1)
