"""Data files of a problem: columns with units and types, time stamps with a regular step."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from engiagent.errors import InputError
from engiagent.io.tabular import TableColumn, TableFile, missing_column, read_table
from engiagent.text.timestamps import Times, looks_like_time, read_times
from engiagent.units.headers import same_header
from engiagent.units.unit import Unit
from engiagent.units.words import Conventions, resolve_unit

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Column:
    """A column of a data file."""

    name: str  # the header without its unit
    header: str  # the header as written
    # unit, unit_text: the unit and how it is written; None and empty where none is named
    unit: Unit | None
    unit_text: str
    values: Floats | tuple[str, ...] = field(repr=False)  # numbers, shape (rows,), or the texts
    dtype: str  # ``float64`` or ``text``
    source: TableColumn = field(repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.values)

    def numbers(self) -> Floats:
        """Return the values as numbers, shape (rows,), in the column's unit."""
        return self.source.numbers() if isinstance(self.values, tuple) else self.values


@dataclass(frozen=True)
class DataFile:
    """A table beside a problem."""

    name: str  # the file's name, relative to the problem's folder
    # the columns by name, in the file's order, the time stamps' included
    columns: Mapping[str, Column]
    axis: Times | None = field(repr=False)  # the time stamps as numbers; None without a time column
    time_column: str | None  # the name of the time stamps' column, or None
    rows: int  # the number of rows
    sha256: str = field(repr=False)  # of the file's bytes

    @property
    def times(self) -> Any:
        """The time stamps, a pandas ``DatetimeIndex``; None without a time column."""
        return None if self.axis is None else self.axis.index

    @property
    def step(self) -> Any:
        """Their step, a pandas ``Timedelta``; None without time stamps or with a single one."""
        return None if self.axis is None else self.axis.step

    @property
    def zone(self) -> str | None:
        """The time zone of the stamps, where one is known."""
        return None if self.axis is None else self.axis.zone

    def column(self, name: str) -> Column:
        """Return a column by its name or its header, its unit in whatever brackets."""
        for column in self.columns.values():
            if name in (column.name, column.header) or same_header(name, column.header):
                return column
        raise missing_column(self.name, name, [c.header for c in self.columns.values()])

    @property
    def series(self) -> tuple[Column, ...]:
        """The columns of numbers, the time stamps left out."""
        return tuple(
            c for k, c in self.columns.items() if c.dtype == "float64" and k != self.time_column
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __repr__(self) -> str:
        listed = [
            f"{c.name} [{c.unit or c.unit_text}]" if c.unit or c.unit_text else c.name
            for c in self.columns.values()
        ]
        when = "" if self.axis is None else f", {self.times[0]} … every {self.step}"
        return f"DataFile({self.name!r}, {self.rows} rows: {', '.join(listed[:12])}{when})"


def load_data_file(folder: Path, name: str, conventions: Conventions, zone: str | None) -> DataFile:
    """Read a data file of a problem.

    ``folder``, ``name``: the problem's folder and the file's path in it. ``conventions``: what the
    problem's text says about units. ``zone``: of stamps without an offset.
    """
    table = read_table(folder, name)
    time = next((c for c in table.columns.values() if looks_like_time(c)), None)
    times = None
    if time is not None:
        try:
            times = read_times(time, zone)
        except InputError:
            if not _rows_have_names(table, time):
                raise
            time = None  # vehicles with their arrivals have stamps in any order, which is no fault
    columns = {key: _column(c, conventions, c is time) for key, c in table.columns.items()}
    key = next((k for k, c in table.columns.items() if c is time), None)
    return DataFile(name, MappingProxyType(columns), times, key, table.rows, table.sha256)


def _rows_have_names(table: TableFile, time: TableColumn) -> bool:
    """Whether a column of texts, all of them different, stands before the time stamps."""
    columns = list(table.columns.values())
    before = columns[: next(k for k, column in enumerate(columns) if column is time)]
    return any(
        not column.looks_numeric() and len(set(column.texts())) == table.rows for column in before
    )


def _column(column: TableColumn, conventions: Conventions, is_time: bool) -> Column:
    unit = resolve_unit(column.unit_text, conventions) if column.unit_text else None
    numeric = not is_time and (bool(column.unit_text) or column.looks_numeric())
    values = column.numbers() if numeric else column.texts()
    if isinstance(values, np.ndarray):
        values.flags.writeable = False
    dtype = "float64" if numeric else "text"
    return Column(column.name, column.header, unit, column.unit_text, values, dtype, column)


def mentioned_files(folder: Path, body: str, suffixes: Sequence[str], limit: int) -> list[str]:
    """Return the tables in a folder, and in folders below it, that a text mentions, sorted."""
    paths = re.findall(r"(?<![\w./\\-])[\w-][\w.-]*(?:/[\w-][\w.-]*)+(?![\w-])", body)
    named = dict.fromkeys(path for path in paths if Path(path).suffix.lower() in suffixes)
    names = [path for path in named if (folder / path).is_file()]
    for count, entry in enumerate(folder.iterdir()):
        if count >= limit:
            raise InputError(f"the folder {folder.name} holds more than {limit} entries")
        mention = rf"(?<![\w./\\-]){re.escape(entry.name)}(?![\w-])"
        if entry.suffix.lower() in suffixes and re.search(mention, body):
            names.append(entry.name)
    return sorted(names)
