"""Columns of external schedules from tables and JSON, before anybody knows what they mean.

A table is wide (a column for each quantity), long (``name``, ``value`` and perhaps ``unit``), or
has a row for each time stamp and element of a set (see ``index`` of a mapping). JSON is an object
of columns, which may stand in objects of their own, or a list of records.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from engiagent.errors import InputError
from engiagent.io.files import open_inside
from engiagent.io.jsonplaces import JsonPlaces, Step
from engiagent.io.jsontext import loads_strict
from engiagent.io.tableformats import read_csv, read_parquet
from engiagent.io.tabular import TableColumn, by_name, is_number
from engiagent.units.headers import split_header
from engiagent.verify.alignment import EPOCHS, Stamps, text_stamps
from engiagent.verify.foreign import Reading
from engiagent.verify.series import Coordinate, Floats

JsonPath = tuple[Step, ...]

MAX_BYTES: Final = 500_000_000
MAX_COLUMNS: Final = 10_000
SUFFIXES: Final = (".nc", ".nc4", ".csv", ".txt", ".tsv", ".json", ".parquet")
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
    coordinates
        Labels along an axis.
    stamps
        Time stamps, by axis.
    own
        Whether the file is our own dataset, whose units need no announcement.
    """

    data: Floats
    unit: str | None = None
    quantity: str | None = None
    dims: tuple[str, ...] = ()
    coordinates: Mapping[str, Coordinate] = field(default_factory=dict)
    stamps: Mapping[str, Stamps] = field(default_factory=dict)
    zoned: bool = False
    own: bool = False
    guessed: bool = False
    file: str | None = None
    line: int | None = None


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
    if hasattr(solution, "to_csv") and hasattr(solution, "columns"):
        index = type(solution.index).__name__ != "RangeIndex"
        named = solution.rename_axis(solution.index.name or "time") if index else solution
        data = named.to_csv(index=index).encode()
        return _from_text(data, "the table", replace(reading, skip=0), label_sets)
    if hasattr(solution, "data_vars"):
        from engiagent.verify.arrays import read_dataset

        return read_dataset(solution)
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
        expected = "a file ending in .nc, .csv, .json or .parquet"
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
    if ending == ".parquet":
        return _table(read_parquet(data, path.name), path.name, reading, label_sets)
    if ending != ".json":
        return _from_text(data, path.name, reading, label_sets)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError("the file is not UTF-8 text", path.name) from None
    return _from_tree(loads_strict(text, path.name), path.name, reading, label_sets, text)


# --- tables ------------------------------------------------------------------------------------


def _from_text(data: bytes, file: str, reading: Reading, label_sets: Collection[str]) -> Content:
    """Return the content of a CSV text; the first column may have no title.

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
        cells = [(row, c) for c in columns for row, cell in enumerate(c.texts()) if "," in cell]
        marked = [(row, c) for row, c in cells if _DECIMAL_COMMA.fullmatch(c.texts()[row])]
        if marked and all(_EITHER.fullmatch(c.texts()[row]) for row, c in marked):
            row, column = min(marked, key=lambda place: place[0])
            what = "a comma that may part thousands or decimals"
            raise column.error(row, what, None, "--decimal , or --decimal .")
    return _table(columns, file, reading, label_sets)


def _table(
    columns: Sequence[TableColumn], file: str, reading: Reading, label_sets: Collection[str]
) -> Content:
    """Return the content of a table.

    Raises
    ------
    InputError
        With line and column of the first stamp or number that is none.
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
    numbers: dict[str, Column] = {}
    faults: dict[str, InputError] = {}
    for name, column in named.items():
        if name in (time, *counts, *index.values()):
            continue
        try:
            data = _without_end(column)
        except InputError as error:
            faults[name] = error
            continue
        header = split_header(column.header)
        unit = column.unit_text or None
        guessed = unit is not None and header.unit is not None and header.span is None
        numbers[name] = Column(data, unit, guessed=guessed, file=file, line=1)
    if index:
        labels = {set_name: named[title] for set_name, title in index.items()}
        found = _pivoted(numbers, labels, None if time is None else named[time], reading)
        return Content(found, {}, faults)
    times = None if time is None else named[time].texts()
    stamps = None if time is None else _stamps(named[time], reading)
    return Content(with_axis(numbers, stamps or times), {}, faults)


def _long(
    named: Mapping[str, TableColumn],
    names: str,
    value: str,
    unit: str | None,
    reading: Reading,
    label_sets: Collection[str],
) -> Content:
    """Return the content of a table with a row for each number of each quantity."""
    rows: dict[str, list[int]] = {}
    for row, name in enumerate(named[names].texts()):
        rows.setdefault(name, []).append(row)
    others = [column for key, column in named.items() if key not in (names, value, unit)]
    reading = replace(reading, index={k: v for k, v in reading.index.items() if v in named})
    found: dict[str, Column] = {}
    faults: dict[str, InputError] = {}
    for name, chosen in rows.items():
        units = {named[unit].texts()[row] for row in chosen} if unit is not None else {""}
        if not name or len(units) > 1:
            what = f"{name} has several units" if name else "a row without a name"
            raise named[unit if unit and name else names].error(chosen[-1], what)
        own = replace(named[value].rows(chosen), header=name, name=name, unit_text=units.pop())
        every = [*(column.rows(chosen) for column in others), own]
        part = _table(every, own.file, reading, label_sets)
        found |= {key: replace(column, guessed=False) for key, column in part.columns.items()}
        faults |= part.faults
    return Content(found, {}, faults)


def _pivoted(
    numbers: Mapping[str, Column],
    labels: Mapping[str, TableColumn],
    times: TableColumn | None,
    reading: Reading,
) -> dict[str, Column]:
    """Return columns whose rows are the elements of a grid as arrays over its axes."""
    keys = {**({} if times is None else {"time": times}), **labels}
    texts = [column.texts() for column in keys.values()]
    places = [{t: k for k, t in enumerate(dict.fromkeys(found))} for found in texts]
    shape = tuple(map(len, places))
    codes = [np.array([place[t] for t in f]) for place, f in zip(places, texts, strict=True)]
    flat = np.ravel_multi_index(tuple(codes), shape)
    counts = np.bincount(flat, minlength=int(np.prod(shape)))
    first = next(iter(keys.values()))
    if (counts > 1).any():
        row = int(np.flatnonzero(counts[flat] > 1)[-1])
        raise first.error(row, "a second row for one element", ", ".join(t[row] for t in texts))
    if (counts == 0).any():
        at = np.unravel_index(int(np.argmin(counts)), shape)
        absent = ", ".join(list(found)[int(k)] for found, k in zip(places, at, strict=True))
        raise InputError(f"there is no row for {absent}", first.file)
    coordinates: dict[str, Coordinate] = dict(zip(keys, map(tuple, places), strict=True))
    stamps: dict[str, Stamps] = {}
    if times is not None:
        rows = np.unique(codes[0], return_index=True)[1]
        found = _stamps(times.rows(rows.tolist()), reading)
        if found is not None:
            stamps["time"] = found
            del coordinates["time"]
    arrays = {}
    for name, column in numbers.items():
        if column.data.size != flat.size:
            raise InputError(f"the column {name} has empty cells", column.file)
        data = np.empty(flat.size)
        data[flat] = column.data
        data, dims = data.reshape(shape), tuple(keys)
        arrays[name] = replace(column, data=data, dims=dims, coordinates=coordinates, stamps=stamps)
    return arrays


def _without_end(column: TableColumn) -> Floats:
    """Return a column's numbers; cells may be empty at its end only, as beside a longer state."""
    cells = column.cells
    there = [c != "" for c in cells] if isinstance(cells, tuple) else (~np.isnan(cells)).tolist()
    size = len(there)
    while size and not there[size - 1]:
        size -= 1
    return (column if size == len(there) else replace(column, cells=cells[:size])).numbers()


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
        elif "" in texts:
            if known or _stamps(column.rows([0]), reading) is not None:
                raise column.error(texts.index(""), "a time stamp is missing")
        elif known or _stamps(column, reading) is not None:
            return name, counts
    return None, counts


def _stamps(column: TableColumn, reading: Reading) -> Stamps | None:
    return text_stamps(
        column.texts(), lambda row, what: column.error(row, what), reading.time_format
    )


def _require_count(column: TableColumn) -> None:
    """Raise where numbers of periods repeat, go back or leave one out.

    Raises
    ------
    InputError
        At the row; for numbers as large as those of an epoch, which need a format.
    """
    numbers = column.numbers()
    if numbers.size and numbers[0] > 1e8:
        formats = f"--time-format {' or '.join(map(repr, EPOCHS))}"
        what = "a number that may be seconds or milliseconds since 1970"
        raise column.error(0, what, None, formats)
    steps = np.diff(numbers)
    values, counts = np.unique(np.round(steps, 9), return_counts=True)
    step = values[np.argmax(counts)] if steps.size else 0.0
    wrong = np.flatnonzero(~(np.abs(steps - step) < 1e-6) | (steps <= 0))
    if wrong.size:
        twice = steps[wrong[0]] == 0
        what = "a period stands twice" if twice else "periods repeat, go back or leave one out"
        raise column.error(int(wrong[0]) + 1, what)


def with_axis(
    columns: Mapping[str, Column], times: Stamps | tuple[str, ...] | None
) -> dict[str, Column]:
    """Name the axes of columns that have none; one column may be shorter than the stamps by one."""
    result, rows = {}, 0 if times is None else len(times)
    for name, column in columns.items():
        shape = column.data.shape
        if column.dims:
            result[name] = column
        elif times is None or len(shape) != 1 or shape[0] not in (rows, rows - 1) or not rows:
            result[name] = replace(column, dims=tuple(f"axis {k + 1}" for k in range(len(shape))))
        elif isinstance(times, Stamps):
            result[name] = replace(column, dims=("time",), stamps={"time": times.first(shape[0])})
        else:
            marks = {"time": times[: shape[0]]}
            result[name] = replace(column, dims=("time",), coordinates=marks)
    return result


# --- JSON, and mappings in memory --------------------------------------------------------------


class Leaf(NamedTuple):
    """What stands under a name: a series, an array or a number, and where."""

    title: str
    item: Any
    path: JsonPath
    unit: str | None = None
    quantity: str | None = None


def _from_tree(
    value: Any, file: str, reading: Reading, label_sets: Collection[str], text: str | None = None
) -> Content:
    """Return the content of an object of columns, or of a list of records.

    Raises
    ------
    InputError
        With the path, and the place in the text if there is one.
    """

    def error(path: JsonPath, message: str, found: Any = None) -> InputError:
        shown = "".join(f"[{s}]" if isinstance(s, int) else f".{s}" for s in path).lstrip(".")
        line, column = _json_place(text, path)
        message = f"{shown}: {message}" if shown else message
        return InputError(message, file, line, column, None if found is None else repr(found)[:80])

    claims: dict[str, Any] = {}
    if isinstance(value, Mapping):
        claims = {str(k): v for k, v in value.items() if isinstance(v, str) or k in CLAIMED}
        leaves = list(_leaves({k: v for k, v in value.items() if k not in claims}, "", ()))
    elif isinstance(value, list) and value and all(isinstance(row, Mapping) for row in value):
        for k, row in enumerate(value):
            for title in sorted({*value[0]} ^ {*row}):
                which = "the" if title in value[0] else "the first"
                raise error((k,), f"{which} record has no {title}")
        leaves = [Leaf(str(title), [row[title] for row in value], ()) for title in value[0]]
    else:
        raise error((), "a schedule is an object of columns or a list of records", value)
    columns: list[TableColumn] = []
    arrays: dict[str, Column] = {}
    faults: dict[str, InputError] = {}
    stated: dict[str, Leaf] = {}
    for leaf in leaves:
        title, item, path, unit, quantity = leaf
        header = split_header(title)
        try:
            cells = _cells(item)
        except (TypeError, ValueError, OverflowError):
            listed = item if isinstance(item, list) else []
            wrong = [k for k, v in enumerate(listed) if type(v) not in (int, float)]
            at = (*path, wrong[0]) if wrong else path
            faults[header.name] = error(at, "no number", item[wrong[0]] if wrong else item)
            continue
        own = unit or (str(header.unit) if header.unit is not None else header.unit_text)
        if isinstance(cells, tuple) or cells.ndim == 1:
            columns.append(TableColumn(file, title, header.name, own, len(columns) + 1, cells))
            if unit or quantity:
                stated[header.name] = leaf
        elif np.isfinite(cells).all():
            arrays[header.name] = Column(cells, own or None, quantity, file=file)
        else:
            faults[header.name] = error(path, "a value that is not finite")
    found = _table(columns, file, reading, label_sets) if columns else Content({})
    series = dict(found.columns)
    for name in stated.keys() & series.keys():
        leaf = stated[name]
        series[name] = replace(series[name], quantity=leaf.quantity, guessed=not leaf.unit)
    return Content(with_axis(series | arrays, None), claims, {**found.faults, **faults})


def _leaves(value: Mapping[str, Any], prefix: str, at: JsonPath) -> Iterator[Leaf]:
    """Yield columns, columns with units, and those of objects of these."""
    for key, item in value.items():
        name, path = f"{prefix}{key}", (*at, str(key))
        inner = item.get("values", item.get("data")) if isinstance(item, Mapping) else None
        if not isinstance(item, Mapping):
            yield Leaf(name, item, path)
        elif inner is not None and not isinstance(inner, Mapping):
            unit, quantity = item.get("unit", item.get("units")), item.get("quantity")
            texts = (None if text is None else str(text) for text in (unit, quantity))
            yield Leaf(name, inner, path, *texts)
        else:
            yield from _leaves(item, f"{name}.", path)


def _cells(item: Any) -> tuple[str, ...] | Floats:
    """Return texts, or numbers with NaN for what is missing.

    Raises
    ------
    TypeError, ValueError, OverflowError
        For anything else.
    """
    if isinstance(item, str | bool) or item is None:
        raise TypeError("no number")
    if not isinstance(item, list) and (array := np.asarray(item)).dtype.kind in "MUO":
        moments = array.dtype.kind == "M"
        item = np.datetime_as_string(array.astype("M8[s]")).tolist() if moments else array.tolist()
    values = item if isinstance(item, list) else []
    if values and all(isinstance(v, str) for v in values):
        return tuple(map(str.strip, values))
    if any(isinstance(v, str | bool | Mapping) for v in values):
        raise TypeError("texts or records among numbers")
    return np.asarray(item, dtype=np.float64)


def _json_place(text: str | None, path: JsonPath) -> tuple[int | None, int | None]:
    if text is None:
        return None, None
    places = JsonPlaces(text)
    region = places.region(places.nearest(path))
    return region.line, region.column
