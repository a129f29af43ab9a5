"""Columns of external schedules from tables and JSON, before anybody knows what they mean.

A table has one row for each step and one column for each series; JSON is an object of columns
or a list of records.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from engiagent.errors import InputError
from engiagent.io.files import open_inside
from engiagent.io.gridfiles import read_arrays
from engiagent.io.jsontext import loads_strict
from engiagent.io.tableformats import read_csv, read_excel, read_parquet
from engiagent.io.tabular import TableColumn, by_name, header_unit, is_number
from engiagent.verify.alignment import Stamps, text_stamps
from engiagent.verify.series import Floats

Marks = Stamps | tuple[str, ...]
"""Time stamps or labels along an axis."""

MAX_BYTES: Final = 500_000_000
MAX_COLUMNS: Final = 10_000
NETCDF: Final = (".nc", ".nc4")
SUFFIXES: Final = (*NETCDF, ".csv", ".txt", ".tsv", ".json", ".parquet", ".xlsx")
TIME_NAMES: Final = "time timestamp datetime date hour period start t index snapshot step timestep"
_DECIMAL_COMMA: Final = re.compile(
    rb"(?:^|[;\t])[ \"]*[-+]?\d+,(?:\d{1,2}|\d{4,})[ \"]*(?:[;\t\r]|$)", re.MULTILINE
)
_OBJECT: Final = 'lists of numbers by name, as {"time": ["2025-07-01T00:00"], "charge [kW]": [5]}'


@dataclass(frozen=True, eq=False)
class Column:
    """Numbers under one header, their unit as written.

    ``dims`` names each axis of the numbers, ``marks`` what stands along it, where anything does;
    ``own``: whether the file is our own dataset, whose units need no announcement.
    """

    data: Floats
    unit: str | None = None
    quantity: str | None = None
    dims: tuple[str, ...] = ()
    marks: Mapping[str, Marks] = field(default_factory=dict)
    own: bool = False
    file: str | None = None
    header: str = ""


@dataclass(frozen=True)
class Content:
    """Columns by name, what a schedule claims of itself, and why columns hold no numbers."""

    columns: Mapping[str, Column]
    claims: Mapping[str, Any] = field(default_factory=dict)
    faults: Mapping[str, InputError] = field(default_factory=dict)


def read_content(solution: Any, decimal: str | None = None) -> Content:
    """Return the content of a file, a dataset, a table or a mapping of arrays."""
    if isinstance(solution, str | Path):
        return _read_file(Path(solution), decimal)
    if hasattr(solution, "data_vars"):
        return read_dataset(solution)
    if hasattr(solution, "to_csv") and hasattr(solution, "columns"):
        index = type(solution.index).__name__ != "RangeIndex"
        text = solution.to_csv(index=index, index_label=solution.index.name or "time")
        return _table(_csv(text.encode(), "the table", "."), "the table")
    if isinstance(solution, Mapping):
        return _from_object(solution, "the schedule")
    what, expected = f"a {type(solution).__name__} is no schedule", "a dataset, a table or a path"
    raise InputError(what, "the schedule", expected=expected)


def _read_file(path: Path, decimal: str | None) -> Content:
    ending, file = path.suffix.lower(), path.name
    if ending not in SUFFIXES:
        expected = "a file ending in .nc, .csv, .xlsx, .json or .parquet"
        raise InputError("a schedule of unknown kind", file, expected=expected)
    try:  # the name may be a link, for it is the user who gave it
        real = path.resolve(strict=True)
        if not real.is_file():
            raise OSError
    except (OSError, RuntimeError, ValueError):
        raise InputError("there is no such file", file) from None
    data = open_inside(real.parent, real.name, max_bytes=MAX_BYTES)
    if ending in NETCDF:
        return read_dataset(read_arrays(path), file)
    if ending == ".json":
        try:
            return _from_object(loads_strict(data.decode("utf-8-sig"), file), file)
        except UnicodeDecodeError:
            raise InputError("the file is not UTF-8 text", file) from None
    binary = {".parquet": read_parquet, ".xlsx": read_excel}
    return _table(
        binary[ending](data, file) if ending in binary else _csv(data, file, decimal), file
    )


def _csv(data: bytes, file: str, decimal: str | None) -> list[TableColumn]:
    """Return the columns of a CSV text; the first column may have no title, as pandas writes it.

    A comma between fields that semicolons or tabs separate is decimal as soon as one of them cannot
    group thousands; in doubt the number is refused.
    """
    if decimal is None:
        decimal = "," if _DECIMAL_COMMA.search(data) else "."
    head, mark, body = data.removeprefix(b"\xef\xbb\xbf").partition(b"\n")
    if head.lstrip(b' "')[:1] in (b",", b";", b"\t"):
        head = b"index" + head.lstrip(b' "')
    columns = read_csv(head + mark + body, file, decimal)
    if not len(columns[0]):
        raise InputError("a schedule needs a header and at least one row", file)
    return columns


def _table(columns: Sequence[TableColumn], file: str) -> Content:
    if len(columns) > MAX_COLUMNS:
        raise InputError(f"more than {MAX_COLUMNS} columns", file, 1)
    named = by_name(columns, file)
    marks = _time_marks(named)
    found: dict[str, Column] = {}
    faults: dict[str, InputError] = {}
    for name, column in named.items():
        cells = column.cells
        blank = np.isnan(cells) if not isinstance(cells, tuple) else np.equal(cells, "")
        size = len(cells) - (int(np.argmin(blank[::-1])) if blank.size else 0)
        try:  # cells may be empty at its end only, as beside a longer state
            data = (column if size == len(cells) else replace(column, cells=cells[:size])).numbers()
        except InputError as error:
            faults[name] = error
            continue
        # Numbers beyond the stamps, as of a state, stand by themselves.
        along = {"time": marks[:size]} if 0 < size <= len(marks) else {}
        dims = tuple(along) or ("axis 1",)
        unit, header = column.unit_text or None, column.header
        found[name] = Column(data, unit, dims=dims, marks=along, file=file, header=header)
    return Content(found, {}, faults)


def _time_marks(columns: dict[str, TableColumn]) -> Marks:
    """Take out the column of time stamps or of texts such as ``18:00``, and return what it says.

    Numbers of periods say nothing, but have to count the rows.
    """
    known = [name for name in columns if name.strip().lower() in TIME_NAMES.split()]
    for name in known or list(columns)[:1]:
        column, texts = columns[name], columns[name].texts()
        if not texts or (not known and text_stamps(texts[:1], column.error) is None):
            continue
        del columns[name]
        if not is_number(texts[0]):
            if "" in texts:
                raise column.error(texts.index(""), "a time stamp is missing")
            return text_stamps(texts, column.error) or texts
        numbers = column.numbers()
        for row in np.flatnonzero(numbers != np.arange(len(texts)) + (numbers[0] == 1))[:1]:
            expected = "0, 1, 2 … or 1, 2, 3 …, or time stamps in ISO 8601"
            raise column.error(int(row), "rows are not counted one by one", None, expected)
    return ()


def _from_object(value: Any, file: str) -> Content:
    if isinstance(value, list) and value and isinstance(value[0], Mapping):
        for k, row in enumerate(value):
            if not isinstance(row, Mapping) or row.keys() != value[0].keys():
                raise InputError(f"[{k}]: not the names of the first record", file)
        value = {title: [row[title] for row in value] for title in value[0]}
    if not isinstance(value, Mapping):
        what = "a schedule is an object or a list of records"
        raise InputError(what, file, found=repr(value)[:80], expected=_OBJECT)
    claims = {str(k): v for k, v in value.items() if isinstance(v, str) or k == "objective"}
    columns: list[TableColumn] = []
    arrays: dict[str, Column] = {}
    faults: dict[str, InputError] = {}
    for title, item in [(str(k), v) for k, v in value.items() if str(k) not in claims]:
        name, unit = header_unit(title)
        if isinstance(item, Mapping):
            raise InputError(f"{title} is an object", file, expected=_OBJECT)
        try:
            cells = _cells(title, item, file)
        except InputError as error:
            faults[name] = error
            continue
        if isinstance(cells, tuple) or cells.ndim == 1:
            columns.append(TableColumn(file, title, name, unit, len(columns) + 1, cells))
        else:
            axes = tuple(f"axis {k + 1}" for k in range(cells.ndim))
            arrays[title] = Column(cells, unit or None, dims=axes, file=file)
    found = _table(columns, file)
    return Content({**found.columns, **arrays}, claims, {**found.faults, **faults})


def _cells(title: str, item: Any, file: str) -> tuple[str, ...] | Floats:
    """Return texts, or numbers with NaN for what is missing."""
    if not isinstance(item, list) and (array := np.asarray(item)).dtype.kind in "MUO":
        moments = array.dtype.kind == "M"
        item = np.datetime_as_string(array.astype("M8[s]")).tolist() if moments else array.tolist()
    listed = item if isinstance(item, list) else [item]
    if item is listed and listed and all(isinstance(v, str) for v in listed):
        return tuple(map(str.strip, listed))
    for k, one in enumerate(listed):
        if isinstance(one, str | bool | Mapping):
            place = f"[{k}]" if item is listed else ""
            raise InputError(f"{title}{place}: no number", file, found=repr(one)[:80])
    try:
        return np.asarray(item, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{title}: no number", file, found=repr(item)[:80]) from None


# --- arrays with named axes --------------------------------------------------------------------


def read_dataset(dataset: Any, file: str = "the schedule") -> Content:
    """Return the content of an ``xarray.Dataset``, or of anything of its form."""
    # Asked for one by one, each array of a dataset takes as long as there are arrays; plain arrays
    # of a solution have no such view.
    variables = dict(getattr(dataset, "variables", dataset.data_vars))
    coordinates = set(dataset.coords)
    marks = {
        str(dim): _along(str(dim), dataset.coords[dim], file)
        for dim in dataset.dims
        if dim in coordinates
    }
    columns: dict[str, Column] = {}
    faults: dict[str, InputError] = {}
    for name, array in variables.items():
        if name in coordinates:
            continue
        values, own = array.values, tuple(map(str, array.dims))
        listed = values.flat if values.dtype.kind == "O" else ()
        if values.dtype.kind not in "biufO" or any(isinstance(v, str | bytes) for v in listed):
            faults[str(name)] = InputError(f"{name} holds no numbers", file)
            continue
        unit, quantity = array.attrs.get("units"), array.attrs.get("quantity")
        columns[str(name)] = Column(
            np.asarray(values, dtype=np.float64),
            None if unit is None else str(unit),
            str(quantity) if quantity else None,
            own,
            {dim: marks[dim] for dim in own if dim in marks},
            own=unit is not None,
            file=file,
        )
    return Content(columns, {str(k): v for k, v in dataset.attrs.items()}, faults)


def _along(name: str, given: Any, file: str) -> Marks:
    """Return the labels or the time stamps of an axis; they are UTC where a zone is named."""
    moments = given.values
    if moments.dtype.kind != "M":
        return tuple(str(value) for value in moments.tolist())
    for row in np.flatnonzero(np.isnat(moments))[:1]:
        raise InputError(f"a time stamp of {name} is missing", file, found=f"at place {row + 1}")
    zoned = "zone" in given.attrs or str(given.attrs.get("timezone", "")).upper() == "UTC"
    seconds = moments.astype("datetime64[ns]").astype(np.int64) / 1e9

    def fault(row: int, message: str) -> InputError:
        return InputError(f"{name}, value {row + 1}: {message}", file, found=str(moments[row])[:19])

    return Stamps(seconds, seconds, zoned, fault)
