"""Columns of external schedules from tables and JSON, before anybody knows what they mean.

A table is wide (a column for each quantity), long (``name``, ``value`` and perhaps ``unit``), or
has a row for each time stamp and element of a set (see ``index`` of a mapping). JSON is an object
of columns, which may stand in objects of their own, or a list of records.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from engiagent.errors import InputError
from engiagent.io.files import open_inside
from engiagent.io.jsontext import loads_strict
from engiagent.io.tableformats import read_csv, read_excel, read_parquet
from engiagent.io.tabular import TableColumn, by_name, header_unit, is_number
from engiagent.units.headers import split_header
from engiagent.verify.alignment import EPOCHS, Stamps, text_stamps
from engiagent.verify.foreign import Reading
from engiagent.verify.series import Floats

Marks = Stamps | tuple[str, ...]
"""Time stamps or labels along an axis."""

MAX_BYTES: Final = 500_000_000
MAX_COLUMNS: Final = 10_000
SUFFIXES: Final = (".nc", ".nc4", ".csv", ".txt", ".tsv", ".json", ".parquet", ".xlsx")
TIME_NAMES: Final = frozenset(
    re.split(r"\s", "time timestamp datetime date hour period start t index snapshot step timestep")
)
_NAMES: Final = ("name", "variable", "quantity")
CLAIMED: Final = ("objective",)
_DECIMAL_COMMA: Final = re.compile(r"[+-]?\d+,\d+(?:[eE][+-]?\d+)?", re.A)
_EITHER: Final = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}", re.A)


@dataclass(frozen=True, eq=False)
class Column:
    """Numbers under one header.

    Attributes
    ----------
    unit
        As written; ``guessed`` where it is read from the ending of a name such as ``load_kw``.
    dims
        A name for each axis of the numbers.
    marks
        By axis what stands along it, where anything does.
    own
        Whether the file is our own dataset, whose units need no announcement.
    """

    data: Floats
    unit: str | None = None
    quantity: str | None = None
    dims: tuple[str, ...] = ()
    marks: Mapping[str, Marks] = field(default_factory=dict)
    own: bool = False
    guessed: bool = False
    file: str | None = None


@dataclass(frozen=True)
class Content:
    """What a file holds.

    Attributes
    ----------
    columns
        By name.
    claims
        What the schedule says about itself: status, objective …
    faults
        Why columns hold no numbers; only who needs one of them has to know.
    """

    columns: Mapping[str, Column]
    claims: Mapping[str, Any] = field(default_factory=dict)
    faults: Mapping[str, InputError] = field(default_factory=dict)


def read_content(solution: Any, reading: Reading, label_sets: Collection[str] = ()) -> Content:
    """Return the content of a file, a dataset, a table or a mapping of arrays.

    Parameters
    ----------
    label_sets
        The names of the problem's sets of labels: a column that is called so holds their elements.

    Raises
    ------
    InputError
        With file, line and column.
    """
    if isinstance(solution, str | Path):
        return _read_file(Path(solution), reading, label_sets)
    if hasattr(solution, "data_vars"):
        from engiagent.verify.arrays import read_dataset

        return read_dataset(solution)
    if hasattr(solution, "to_csv") and hasattr(solution, "columns"):
        index = type(solution.index).__name__ != "RangeIndex"
        named = solution.rename_axis(solution.index.name or "time") if index else solution
        columns = _csv(named.to_csv(index=index).encode(), "the table", replace(reading, skip=0))
        return _table(columns, "the table", reading, label_sets)
    if isinstance(solution, Mapping):
        return _from_tree(solution, "the schedule", reading, label_sets)
    raise InputError(
        f"a {type(solution).__name__} is no schedule",
        "the schedule",
        expected="an xarray.Dataset, a table, a mapping of arrays or a path",
    )


def _read_file(path: Path, reading: Reading, label_sets: Collection[str]) -> Content:
    ending = path.suffix.lower()
    if ending not in SUFFIXES:
        expected = "a file ending in .nc, .csv, .xlsx, .json or .parquet"
        raise InputError("a schedule of unknown kind", path.name, expected=expected)
    try:  # the name may be a link, for it is the user who gave it
        real = path.resolve(strict=True)
        if not real.is_file():
            raise OSError
    except (OSError, RuntimeError, ValueError):
        raise InputError("there is no such file", path.name) from None
    data = open_inside(real.parent, real.name, max_bytes=MAX_BYTES)
    if ending in (".nc", ".nc4"):
        from engiagent.verify.arrays import read_netcdf

        return read_netcdf(path)
    if ending == ".json":
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise InputError("the file is not UTF-8 text", path.name) from None
        return _from_tree(loads_strict(text, path.name), path.name, reading, label_sets)
    binary = {".parquet": read_parquet, ".xlsx": read_excel}
    columns = (
        binary[ending](data, path.name) if ending in binary else _csv(data, path.name, reading)
    )
    return _table(columns, path.name, reading, label_sets)


# --- tables ------------------------------------------------------------------------------------


def _csv(data: bytes, file: str, reading: Reading) -> list[TableColumn]:
    """Return the columns of a CSV text; the first column may have no title.

    Raises
    ------
    InputError
        Also where commas may part thousands or decimals and no number tells.
    """
    lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    lines[: reading.skip] = [b""] * min(reading.skip, len(lines))
    header = next((k for k, line in enumerate(lines) if line.strip() and line[:1] != b"#"), None)
    if header is not None and lines[header].lstrip(b' "')[:1] in (b",", b";", b"\t"):
        lines[header] = b"index" + lines[header].lstrip(b' "')
    columns = read_csv(b"\n".join(lines), file, None, reading.decimal)
    if not len(columns[0]):
        raise InputError("a schedule needs a header and at least one row", file)
    if reading.decimal is None and columns[0].decimal == ",":
        marked = [
            (row, column)
            for column in columns
            for row, cell in enumerate(column.texts())
            if _DECIMAL_COMMA.fullmatch(cell)
        ]
        if marked and all(_EITHER.fullmatch(column.texts()[row]) for row, column in marked):
            row, column = min(marked, key=lambda place: place[0])
            what = "a comma that may part thousands or decimals"
            raise column.error(row, what, None, "--decimal , or --decimal .")
    return columns


def _table(
    columns: Sequence[TableColumn], file: str, reading: Reading, label_sets: Collection[str]
) -> Content:
    """Return the content of a wide table, of a long one, or of one with a row for each element.

    Raises
    ------
    InputError
        With line and column of the first stamp or label that is none.
    """
    if len(columns) > MAX_COLUMNS:
        raise InputError(f"more than {MAX_COLUMNS} columns", file, 1)
    named = by_name(columns, file)
    lower = {name.lower(): name for name in named}
    names = next((lower[word] for word in _NAMES if word in lower), None)
    if names is not None and "value" in lower:
        return _long(named, names, lower["value"], lower.get("unit"), reading, label_sets)
    index = {name: name for name in named if name in label_sets} | dict(reading.index)
    for set_name, title in index.items():
        if title not in named:
            what = f"there is no column {title!r} for the set {set_name}"
            raise InputError(what, file, 1, expected=f"one of {', '.join(named)}")
    time, counts = _time_column(named, reading, set(index.values()))
    keys = {} if time is None else {"time": named[time]}
    keys |= {set_name: named[title] for set_name, title in index.items()}
    rows = _rows_of_elements(keys) if index else None
    marks: dict[str, Marks] = {}
    for axis, (key, column) in enumerate(keys.items()):
        if rows is not None:  # along an axis, at the first label of every other one
            along = np.moveaxis(rows, axis, 0).reshape(rows.shape[axis], -1)[:, 0]
            column = column.rows(along.tolist())
        stamps = _stamps(column, reading) if key == "time" else None
        marks[key] = column.texts() if stamps is None else stamps
    found: dict[str, Column] = {}
    faults: dict[str, InputError] = {}
    for name, column in named.items():
        if name not in (time, *counts, *index.values()):
            try:
                found[name] = _column(column, marks, rows)
            except InputError as error:
                faults[name] = error
    return Content(found, {}, faults)


def _long(
    named: Mapping[str, TableColumn],
    names: str,
    value: str,
    unit: str | None,
    reading: Reading,
    label_sets: Collection[str],
) -> Content:
    """Return the content of a table with a row for each number of each quantity."""
    chosen: dict[str, list[int]] = {}
    for row, name in enumerate(named[names].texts()):
        chosen.setdefault(name, []).append(row)
    others = [column for key, column in named.items() if key not in (names, value, unit)]
    reading = replace(reading, index={k: v for k, v in reading.index.items() if v in named})
    columns: dict[str, Column] = {}
    faults: dict[str, InputError] = {}
    for name, rows in chosen.items():
        units = {"" if unit is None else named[unit].texts()[row] for row in rows}
        if not name or len(units) > 1:
            what = f"{name} has several units" if name else "a row without a name"
            raise named[unit if unit and name else names].error(rows[-1], what)
        title, own = _with_unit(name, units.pop()), named[value].rows(rows)
        own = replace(own, header=title, name=name, unit_text=header_unit(title)[1])
        part = _table([*(c.rows(rows) for c in others), own], own.file, reading, label_sets)
        columns |= part.columns
        faults |= part.faults
    return Content(columns, {}, faults)


def _with_unit(name: str, unit: str) -> str:
    """Return a header that states its unit."""
    return f"{name} [{unit}]" if unit else name


def _rows_of_elements(keys: Mapping[str, TableColumn]) -> npt.NDArray[np.int64]:
    """Return the row of each element of the grid that key columns span, an axis for each."""
    import pandas as pd

    first = next(iter(keys.values()))
    given = pd.MultiIndex.from_arrays([column.texts() for column in keys.values()])
    for row in np.flatnonzero(given.duplicated())[:1]:
        raise first.error(int(row), "a second row for one element", ", ".join(given[row]))
    labels = [given.get_level_values(axis).unique() for axis in range(len(keys))]
    elements = pd.MultiIndex.from_product(labels)
    rows = given.get_indexer(elements)
    for absent in np.flatnonzero(rows < 0)[:1]:
        raise InputError(f"there is no row for {', '.join(elements[absent])}", first.file)
    return np.asarray(rows, dtype=np.int64).reshape([len(some) for some in labels])


def _column(
    column: TableColumn, marks: Mapping[str, Marks], rows: npt.NDArray[np.int64] | None
) -> Column:
    """Return a column's numbers; cells may be empty at its end only, as beside a longer state."""
    cells = column.cells
    there = [c != "" for c in cells] if isinstance(cells, tuple) else (~np.isnan(cells)).tolist()
    size = len(there) - there[::-1].index(True) if True in there and rows is None else len(there)
    data = (column if size == len(there) else replace(column, cells=cells[:size])).numbers()
    if rows is None:  # numbers beyond the stamps, as of a state, stand by themselves
        marks = {axis: some[:size] for axis, some in marks.items() if size <= len(some)}
    header = split_header(column.header)
    guessed = header.unit is not None and header.span is None
    return Column(
        data if rows is None else data[rows],
        column.unit_text or None,
        dims=tuple(marks) or ("axis 1",),
        marks=marks,
        guessed=guessed and column.unit_text == str(header.unit),
        file=column.file,
    )


def _time_column(
    columns: Mapping[str, TableColumn], reading: Reading, taken: set[str]
) -> tuple[str | None, set[str]]:
    """Return the column of time stamps, or of labels that are no dates, and those that count."""
    counts: set[str] = set()
    known = [n for n in columns if n.strip().lower() in TIME_NAMES and n not in taken]
    for name in known or list(columns)[:1]:
        column, texts = columns[name], columns[name].texts()
        if texts and is_number(texts[0]) and reading.time_format not in EPOCHS:
            if known:
                _require_count(column)
                counts.add(name)
        elif known or (texts and _stamps(column.rows([0]), reading) is not None):
            if "" in texts:
                raise column.error(texts.index(""), "a time stamp is missing")
            return name, counts
    return None, counts


def _stamps(column: TableColumn, reading: Reading) -> Stamps | None:
    return text_stamps(column.texts(), column.error, reading.time_format)


def _require_count(column: TableColumn) -> None:
    """Raise where numbers of periods repeat, go back or leave one out.

    Raises
    ------
    InputError
        At the row; for numbers as large as those of an epoch, which need a format.
    """
    numbers = column.numbers()
    if numbers[0] > 1e8:
        formats = f"--time-format {' or '.join(map(repr, EPOCHS))}"
        what = "a number that may be seconds or milliseconds since 1970"
        raise column.error(0, what, None, formats)
    steps = np.diff(numbers)
    usual = np.median(steps) if steps.size else 0.0
    for row in np.flatnonzero(~(np.abs(steps - usual) < 1e-6) | (steps <= 0))[:1] + 1:
        raise column.error(int(row), "periods repeat, go back or leave one out")


# --- JSON, and mappings in memory --------------------------------------------------------------


def _from_tree(value: Any, file: str, reading: Reading, label_sets: Collection[str]) -> Content:
    """Return the content of an object of columns, or of a list of records.

    Raises
    ------
    InputError
        With the name and the place in its list.
    """
    claims: dict[str, Any] = {}
    if isinstance(value, Mapping):
        claims = {str(k): v for k, v in value.items() if isinstance(v, str) or k in CLAIMED}
        leaves = list(_leaves({k: v for k, v in value.items() if k not in claims}))
    elif isinstance(value, list) and value and all(isinstance(row, Mapping) for row in value):
        for k, row in enumerate(value):
            for title in sorted({*value[0]} ^ {*row}):
                which = "the" if title in value[0] else "the first"
                raise InputError(f"[{k}]: {which} record has no {title}", file)
        leaves = [(str(title), [row[title] for row in value]) for title in value[0]]
    else:
        what = "a schedule is an object of columns or a list of records"
        raise InputError(what, file, found=repr(value)[:80])
    columns: list[TableColumn] = []
    arrays: dict[str, Column] = {}
    faults: dict[str, InputError] = {}
    for title, item in leaves:
        name, unit = header_unit(title)
        try:
            cells = _cells(title, item, file)
        except InputError as error:
            faults[name] = error
            continue
        if isinstance(cells, tuple) or cells.ndim == 1:
            columns.append(TableColumn(file, title, name, unit, len(columns) + 1, cells))
        elif np.isfinite(cells).all():
            axes = tuple(f"axis {k + 1}" for k in range(cells.ndim))
            arrays[title] = Column(cells, unit or None, dims=axes, file=file)
        else:
            faults[name] = InputError(f"{title}: a value that is not finite", file)
    found = _table(columns, file, reading, label_sets)
    return Content({**found.columns, **arrays}, claims, {**found.faults, **faults})


def _leaves(value: Mapping[Any, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield headers and numbers of columns, columns with units, and objects of these."""
    for key, item in value.items():
        name = f"{prefix}{key}"
        inner = item.get("values", item.get("data")) if isinstance(item, Mapping) else item
        if not isinstance(item, Mapping):
            yield name, item
        elif inner is not None and not isinstance(inner, Mapping):
            yield _with_unit(name, str(item.get("unit", item.get("units")) or "")), inner
        else:
            yield from _leaves(item, f"{name}.")


def _cells(title: str, item: Any, file: str) -> tuple[str, ...] | Floats:
    """Return texts, or numbers with NaN for what is missing.

    Raises
    ------
    InputError
        For anything else, with its place.
    """
    if not isinstance(item, list) and (array := np.asarray(item)).dtype.kind in "MUO":
        moments = array.dtype.kind == "M"
        item = np.datetime_as_string(array.astype("M8[s]")).tolist() if moments else array.tolist()
    listed = item if isinstance(item, list) else [item]
    if item is listed and listed and all(isinstance(v, str) for v in listed):
        return tuple(map(str.strip, listed))
    wrong = [k for k, v in enumerate(listed) if isinstance(v, str | bool | Mapping)]
    try:
        if not wrong and item is not None:
            return np.asarray(item, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        pass  # told below
    place, found = (f"[{wrong[0]}]", listed[wrong[0]]) if item is listed and wrong else ("", item)
    raise InputError(f"{title}{place}: no number", file, found=repr(found)[:80])
