"""Numbers of data files, read a second time: columns, long and wide tables, arrays.

The files are opened by the readers that everybody shares; which number belongs to which element is
found here anew, cell by cell through dictionaries of labels.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from engiagent.blueprint.document import FrozenMap, ParameterDef
from engiagent.blueprint.sets import IndexSet
from engiagent.blueprint.stamps import parse_stamp
from engiagent.io.gridfiles import GridVariable, as_table, read_grid
from engiagent.io.tabular import TableColumn, TableFile, read_table
from engiagent.units.currencies import unit_of_column
from engiagent.units.unit import Unit, parse_unit
from engiagent.verify import values
from engiagent.verify.frames import EvaluationError
from engiagent.verify.values import Floats

Key = tuple[object, ...]


def read_again(
    definition: ParameterDef, dims: tuple[IndexSet, ...], unit: Unit, folder: Path
) -> Floats:
    """Return what the file of a parameter says, in SI, flat over the grid of its sets.

    ``unit`` is the parameter's own, in which columns without a unit are read.

    Raises EvaluationError when the file does not have exactly one number for each element;
    InputError when the file cannot be read.
    """
    file, _, name = str(definition.data).partition("#")
    wanted, keys = _Wanted(definition, dims, unit), tuple(definition.keys)
    if file.lower().endswith(".nc") and name != "*":
        grid = read_grid(folder, file, name)
        if len(keys) < 2 or len(grid.dims) != 1:
            return wanted.in_si(_array(grid, keys, dims), grid.unit_text)
        table = as_table(grid)
    else:
        table = read_table(folder, file)
    if name == "*":
        return _wide(wanted, table, keys)
    column = table.column(name)
    if not keys:
        return wanted.in_si(np.asarray(column.numbers()), column.unit_text)
    rows = _keys([table.column(key).texts() for key in keys], _parts(dims))
    known = dict(zip(rows, wanted.cells(column), strict=True))
    found = _gathered(known, len(column), dims, str(definition.data))
    return wanted.in_si(found, "") if wanted.by_label(column.unit_text) else found


@dataclass(frozen=True)
class _Wanted:
    """A parameter, and in which unit its numbers are."""

    definition: ParameterDef
    dims: tuple[IndexSet, ...]
    unit: Unit

    def by_label(self, text: str) -> bool:
        """Whether the unit of a number depends on the label that it belongs to."""
        mapped = isinstance(self.definition.unit, FrozenMap)
        return mapped and self.definition.unit_override is None and not text

    def unit_of(self, text: str) -> Unit:
        """Return the unit of a file's numbers: its own, unless the blueprint overrides it."""
        stated = text and self.definition.unit_override is None
        return unit_of_column(text, self.unit) if stated else self.unit

    def cells(self, column: TableColumn) -> list[float]:
        """Return a column's numbers in SI, or as they are where units go by label."""
        data = np.asarray(column.numbers())
        if not self.by_label(column.unit_text):
            own = self.unit_of(column.unit_text)
            if own.dimension != self.unit.dimension:
                raise EvaluationError(
                    f"{column.file}#{column.header} is in {own}, not in {self.unit}"
                )
            data = values.constant(data, own).data
        listed: list[float] = data.tolist()
        return listed

    def in_si(self, data: Floats, text: str) -> Floats:
        """Return numbers in grid order in SI; a map of units holds along the first set."""
        units = self.definition.unit
        if not (self.by_label(text) and isinstance(units, FrozenMap)):
            return values.constant(data, self.unit_of(text)).data
        rows = zip(data.reshape(self.dims[0].size, -1), self.dims[0].labels, strict=True)
        return np.concatenate(
            [values.constant(row, parse_unit(units[str(label)])).data for row, label in rows]
        )


# --- labels ------------------------------------------------------------------------------------


def _parts(dims: Sequence[IndexSet]) -> list[IndexSet]:
    """Return the sets, each tuple set replaced by those of its parts."""
    return [part for dim in dims for part in dim.root.factors or (dim,)]


def _dated(index_set: IndexSet) -> bool:
    root = index_set.root
    return root.axis is not None and root.axis.dated and root.kind in ("time", "instants")


def _keys(columns: Sequence[Sequence[str]], parts: Sequence[IndexSet]) -> list[Key]:
    """Return the key of every row: labels, or seconds where the set has dates."""
    if len(columns) != len(parts):
        raise EvaluationError(f"{len(columns)} key columns for {len(parts)} indices")
    spelled = [
        _moments(column, part) if _dated(part) else [_label(text, part) for text in column]
        for column, part in zip(columns, parts, strict=True)
    ]
    keys = list(zip(*spelled, strict=True))
    if len(set(keys)) != len(keys):
        raise EvaluationError("two rows are for one element")
    return keys


def _label(text: object, part: IndexSet) -> str:
    """Return a label as text; a time of day with two digits for the hour."""
    plain = str(text).strip()
    if part.root.kind not in ("time", "instants"):
        return plain
    plain = f"0{plain}" if plain[1:2] == ":" else plain
    return plain[:-3] if plain[5:] == ":00" else plain


def _moments(texts: Sequence[str], part: IndexSet) -> list[object]:
    """Return stamps as whole seconds; those that name ends of periods are moved to the starts."""
    stamps = [datetime.fromisoformat(text.strip()) for text in texts]
    zoned = stamps[0].tzinfo is not None
    start = datetime(1970, 1, 1)
    seconds = [
        round(s.timestamp() if s.tzinfo is not None else (s - start).total_seconds())
        for s in stamps
    ]
    axis = part.root.axis
    assert axis is not None
    edges = [round(float(edge)) for edge in (axis.edges if zoned else axis.local)]
    absolute = [round(float(edge)) for edge in axis.edges]
    if seconds == edges[: part.size] and part.root is part:
        return list(absolute[: part.size])  # in order, also where a clock shows an hour twice
    starts, ends = (dict(zip(e, absolute, strict=False)) for e in (edges, edges[1:]))
    if part.root.kind == "time" and not set(seconds) <= set(edges[:-1]):
        starts = ends
    return [starts.get(second) for second in seconds]


def _own(part: IndexSet, position: int) -> object:
    if _dated(part):
        assert part.root.axis is not None
        return round(float(part.root.axis.edges[int(part.in_root[position])]))
    return _label(part.labels[position], part)


def _elements(dims: tuple[IndexSet, ...]) -> list[Key]:
    """Return the key of every element of the grid, in its order."""
    per_set = []
    for dim in dims:
        listed = [c[dim.in_root] for c in dim.root.columns] if dim.root.factors else None
        named = [
            [_own(part, int(p)) for p in column]
            for part, column in zip(_parts([dim]), listed or [np.arange(dim.size)], strict=True)
        ]
        per_set.append(list(zip(*named, strict=True)))
    return [tuple(item for part in found for item in part) for found in product(*per_set)]


def _gathered(
    known: Mapping[Key, float], given: int, dims: tuple[IndexSet, ...], where: str
) -> Floats:
    wanted = _elements(dims)
    absent = [key for key in wanted if key not in known]
    if absent or given != len(wanted):
        shown = f"none for {absent[0]}" if absent else f"{given} numbers for {len(wanted)} elements"
        raise EvaluationError(f"{where}: {shown}")
    return np.array([known[key] for key in wanted], dtype=np.float64)


# --- wide tables and arrays --------------------------------------------------------------------


def _wide(wanted: _Wanted, table: TableFile, keys: tuple[str, ...]) -> Floats:
    """Return a table with a column for each element of one of the sets."""
    dims, key_columns = wanted.dims, [table.column(key) for key in keys]
    places = {column.position for column in key_columns}
    headers = {
        text: column
        for column in table.columns.values()
        if column.position not in places
        for text in (column.header, column.name)
    }
    shares = [len({str(label) for label in dim.labels} & set(headers)) for dim in dims]
    across = max(range(len(dims)), key=lambda k: (shares[k] == dims[k].size, shares[k], k))
    down = (*dims[:across], *dims[across + 1 :])
    rows = _keys([c.texts() for c in key_columns], _parts(down)) if keys else _elements(down)
    if len(rows) != table.rows:
        raise EvaluationError(f"{table.name} has {table.rows} rows for {len(rows)} elements")
    split = len(_parts(dims[:across]))
    known: dict[Key, float] = {}
    for position, label in enumerate(dims[across].labels):
        shown = ", ".join(map(str, label)) if isinstance(label, tuple) else str(label)
        if shown not in headers:
            raise EvaluationError(f"{table.name} has no column for {shown}")
        own = _own(dims[across], position)
        for row, cell in zip(rows, wanted.cells(headers[shown]), strict=True):
            known[(*row[:split], own, *row[split:])] = cell
    found = _gathered(known, len(known), dims, table.name)
    own_units = any(column.unit_text for column in headers.values())
    return wanted.in_si(found, "") if wanted.by_label("") and not own_units else found


def _array(grid: GridVariable, keys: tuple[str, ...], dims: tuple[IndexSet, ...]) -> Floats:
    """Return an array, its axes and places matched to the sets by their labels."""
    parts = _parts(dims)
    if len(grid.dims) != len(parts):
        raise EvaluationError(f"{grid.name} has {len(grid.dims)} dimensions for {len(parts)}")
    labels = [_along(grid, dim, keys) for dim in grid.dims]
    order = _axes(grid, keys, parts, labels)
    data = np.asarray(grid.values, dtype=np.float64).transpose(order)
    for axis, (part, source) in enumerate(zip(parts, order, strict=True)):
        texts = labels[source]
        if texts is None or (part.root.axis is not None and not _dated(part)):
            if data.shape[axis] != part.size:
                raise EvaluationError(f"{grid.name}: {data.shape[axis]} values for {part.size}")
            continue
        place = {key: k for k, (key,) in enumerate(_keys([texts], [part]))}
        found = [place.get(_own(part, k), -1) for k in range(part.size)]
        if -1 in found:
            raise EvaluationError(f"{grid.name} has nothing for an element of {part.name}")
        data = np.take(data, found, axis=axis)
    for axis, dim in enumerate(dims):
        if dim.root.factors:
            chosen: tuple[Any, ...] = tuple(c[dim.in_root] for c in dim.root.columns)
            data = data[(slice(None),) * axis + chosen]
    return data.reshape(-1)


def _along(grid: GridVariable, dim: str, keys: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the labels along a dimension: those under its name, or those that a key names."""
    for name in (*keys, dim):
        if name in grid.coordinates and grid.coordinates[name][0] == dim:
            return grid.coordinates[name][1]
    dated = [
        t
        for along, t in grid.coordinates.values()
        if along == dim and parse_stamp(t[0]) is not None
    ]
    return dated[0] if len(dated) == 1 else None


def _axes(
    grid: GridVariable,
    keys: tuple[str, ...],
    parts: Sequence[IndexSet],
    labels: Sequence[tuple[str, ...] | None],
) -> list[int]:
    """Return which dimension of the file belongs to each part."""
    if keys:
        named = [key if key in grid.dims else grid.coordinates[key][0] for key in keys]
        return [grid.dims.index(name) for name in named]
    names = [part.name for part in parts]
    if sorted(names) == sorted(grid.dims):
        return [grid.dims.index(name) for name in names]
    fits = [[k for k, t in enumerate(labels) if t is not None and _same(t, part)] for part in parts]
    if all(len(found) == 1 for found in fits) and len({f[0] for f in fits}) == len(parts):
        return [found[0] for found in fits]
    return list(range(len(parts)))


def _same(texts: tuple[str, ...], part: IndexSet) -> bool:
    if len(texts) != part.size or _dated(part) != (parse_stamp(texts[0]) is not None):
        return False
    known = {key for (key,) in _keys([texts], [part])}
    return known == {_own(part, k) for k in range(part.size)}
