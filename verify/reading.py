"""Columns of schedules from files and from memory, before anybody knows what they mean."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from engiagent.errors import InputError
from engiagent.io.files import open_inside
from engiagent.io.tableformats import read_parquet
from engiagent.io.tabular import TableColumn, by_name, is_number
from engiagent.units.headers import split_header
from engiagent.verify.delimited import read_delimited
from engiagent.verify.foreign import Reading
from engiagent.verify.series import Coordinate, Floats
from engiagent.verify.stampcolumns import Stamps, number_stamps, text_stamps

MAX_BYTES: Final = 500_000_000
MAX_COLUMNS: Final = 10_000
SUFFIXES: Final = (".nc", ".nc4", ".csv", ".txt", ".tsv", ".json", ".parquet")
TIME_NAMES: Final = frozenset(
    [
        "time",
        "timestamp",
        "datetime",
        "date",
        "hour",
        "period",
        "start",
        "t",
        "index",
        "snapshot",
        "utc",
        "date/time",
        "datum",
        "zeit",
        "zeitstempel",
        "interval start",
        "step",
        "timestep",
    ]
)
_CLOCK: Final = re.compile(r"\d{1,2}:\d{2}(:\d{2})?(\s*[AaPp][Mm])?", re.A)


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
    notes
        What was assumed on reading.
    """

    columns: Mapping[str, Column]
    claims: Mapping[str, Any] = field(default_factory=dict)
    faults: Mapping[str, InputError] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def read_file(path: Path, reading: Reading) -> Content:
    """Return the content of a schedule file.

    Raises
    ------
    InputError
        With file, line and column.
    """
    ending = path.suffix.lower()
    if ending not in SUFFIXES:
        raise InputError(
            "a schedule of unknown kind",
            path.name,
            expected="a file ending in .nc, .csv, .json or .parquet",
        )
    data = _bytes(path)
    if ending in (".nc", ".nc4"):
        from engiagent.verify.arrays import read_netcdf

        return read_netcdf(path)
    if ending == ".json":
        from engiagent.verify.jsonforms import read_json

        return read_json(data, path.name, reading)
    if ending == ".parquet":
        return from_columns(read_parquet(data, path.name), path.name, reading)
    return _from_text(data, path.name, reading)


def _bytes(path: Path) -> bytes:
    """Return the bytes of a file; the name may be a link, for it is the user who gave it."""
    try:
        real = path.resolve(strict=True)
        if not real.is_file():
            raise InputError("there is no such file", path.name)
    except (OSError, RuntimeError, ValueError):
        raise InputError("there is no such file", path.name) from None
    return open_inside(real.parent, real.name, max_bytes=MAX_BYTES)


def from_memory(solution: Any, reading: Reading) -> Content:
    """Return the content of a dataset, a table or a mapping of arrays.

    Raises
    ------
    InputError
        When something in it is no array of numbers.
    """
    if hasattr(solution, "to_csv") and hasattr(solution, "columns"):
        index = type(solution.index).__name__ != "RangeIndex"
        named = solution.rename_axis(solution.index.name or "time") if index else solution
        return _from_text(named.to_csv(index=index).encode(), "the table", reading)
    if isinstance(solution, Mapping) and not hasattr(solution, "data_vars"):
        from engiagent.verify.jsonforms import read_tree

        return read_tree(solution, "the schedule", reading)
    if hasattr(solution, "data_vars"):
        from engiagent.verify.arrays import read_dataset

        return read_dataset(solution)
    raise InputError(
        f"a {type(solution).__name__} is no schedule",
        "the schedule",
        expected="an xarray.Dataset, a table, a mapping of arrays or a path",
    )


def _from_text(data: bytes, file: str, reading: Reading) -> Content:
    table = read_delimited(data, file, reading.decimal)
    content = from_columns(table.columns, file, reading)
    return replace(content, notes=(*table.notes, *content.notes))


# --- tables ------------------------------------------------------------------------------------


def from_columns(columns: Sequence[TableColumn], file: str, reading: Reading) -> Content:
    """Return the content of a table: its time column, and every other one as numbers.

    Raises
    ------
    InputError
        With line and column of the first stamp or number that is none.
    """
    if len(columns) > MAX_COLUMNS:
        raise InputError(f"more than {MAX_COLUMNS} columns", file, 1)
    named = by_name(columns, file)
    times, used, notes = _time_column(named, reading)
    numbers: dict[str, Column] = {}
    faults: dict[str, InputError] = {}
    for name, column in named.items():
        if name in used:
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
    return Content(with_axis(numbers, times), {}, faults, tuple(notes))


def _without_end(column: TableColumn) -> Floats:
    """Return a column's numbers; cells may be empty at its end only, as beside a longer state."""
    if isinstance(column.cells, tuple):
        cells = column.cells
        size = len(cells)
        while size and not cells[size - 1]:
            size -= 1
        return (column if size == len(cells) else replace(column, cells=cells[:size])).numbers()
    values = column.cells
    size = values.size
    while size and np.isnan(values[size - 1]):
        size -= 1
    return replace(column, cells=values[:size]).numbers()


Times = Stamps | tuple[str, ...] | None


def _time_column(
    columns: Mapping[str, TableColumn], reading: Reading
) -> tuple[Times, set[str], list[str]]:
    """Return the stamps of a table, or labels that are no dates, and the columns they stand in."""
    names = list(columns)
    likely = [n for k, n in enumerate(names) if n.strip().lower() in TIME_NAMES or k == 0]
    for name in likely:
        column = columns[name]
        known = name.strip().lower() in TIME_NAMES
        if any(is_number(cell) for cell in column.texts()[:1]):
            found = number_stamps(column.numbers(), _fault(column)) if known else None
            if found is not None:
                return found[0], {name}, [f"{name} is read as {found[1]}"]
            continue
        joined = _date_and_clock(columns, name)
        texts, used = joined if joined is not None else (column.texts(), {name})
        if any(not text for text in texts):
            if known or text_stamps(texts[:1], _fault(column), reading.dates) is not None:
                raise column.error([*map(bool, texts)].index(False), "a time stamp is missing")
            continue
        stamps = text_stamps(texts, _fault(column), reading.dates)
        if stamps is not None:
            return stamps, used, []
        if known:
            return tuple(texts), used, []
    counted = [n for n in likely if n.strip().lower() in TIME_NAMES]
    for name in counted:
        if any(is_number(cell) for cell in columns[name].texts()[:1]):
            _require_count(columns[name])
    return None, set(counted), []


def _fault(column: TableColumn) -> Callable[[int, str], InputError]:
    return lambda row, message: column.error(row, message)


def _date_and_clock(
    columns: Mapping[str, TableColumn], date: str
) -> tuple[tuple[str, ...], set[str]] | None:
    """Join a column of dates and one of times of day, as two columns of an export."""
    days = columns[date].texts()
    if not days or ":" in days[0]:
        return None
    for name in ("time", "hour", "zeit", "uhrzeit", "clock"):
        for other, column in columns.items():
            cells = column.texts()
            if other != date and other.strip().lower() == name and _CLOCK.fullmatch(cells[0]):
                padded = (cell.zfill(5) if len(cell) < 5 else cell for cell in cells)
                joined = tuple(f"{d} {c}" for d, c in zip(days, padded, strict=True))
                return joined, {date, other}
    return None


def _require_count(column: TableColumn) -> None:
    """Raise where numbers of periods repeat, go back or leave one out; days may begin anew.

    Raises
    ------
    InputError
        At the row.
    """
    numbers = column.numbers()
    steps = np.diff(numbers)
    if not steps.size:
        return
    values, counts = np.unique(np.round(steps, 9), return_counts=True)
    step = float(values[np.argmax(counts)])
    again = (numbers[1:] == numbers.min()) & (numbers[:-1] == numbers.max())
    wrong = np.flatnonzero(~((np.abs(steps - step) < 1e-6) | again) | (steps == 0))
    if wrong.size or step <= 0:
        row = int(wrong[0]) + 1 if wrong.size else 1
        said = {True: "a period stands twice", False: "periods go back or leave one out"}
        raise column.error(
            row, said[bool(steps[row - 1] == 0)], None, f"{float(numbers[row - 1]) + abs(step):g}"
        )


def with_axis(columns: Mapping[str, Column], times: Times) -> dict[str, Column]:
    """Name the axes of columns that have none; one column may be shorter than the stamps by one."""
    result = {}
    for name, column in columns.items():
        if column.dims:
            result[name] = column
            continue
        shape = column.data.shape
        rows = 0 if times is None else len(times)
        along = times is not None and len(shape) == 1 and shape[0] in (rows, rows - 1) and rows > 0
        dims = ("time",) if along else tuple(f"axis {k + 1}" for k in range(len(shape)))
        changed = replace(column, dims=dims)
        if along and isinstance(times, Stamps):
            changed = replace(changed, stamps={"time": times.first(shape[0])})
        elif along and times is not None and not isinstance(times, Stamps):
            changed = replace(changed, coordinates={"time": times[: shape[0]]})
        result[name] = changed
    return result
