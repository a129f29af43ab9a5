"""Strict tables: CSV, Excel, Parquet and netCDF files as named columns, every fault with its place.

Nothing is guessed and nothing is repaired: a cell that should be a number is one or is an error
with file, line and column. ``nan``, ``inf``, ``1_000``, thousands separators and digits of other
scripts are errors. pandas takes all of these for numbers and keeps no places, and its import takes
longer than a small run; so it is not used here. A column is read as numbers by
:meth:`TableColumn.numbers` and as text by :meth:`TableColumn.texts`.
"""

import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from engiagent.errors import InputError
from engiagent.io.files import open_inside, sha256_bytes
from engiagent.units.headers import same_header, split_header

Floats = npt.NDArray[np.float64]

MAX_ROWS: Final = 5_000_000
MAX_COLUMNS: Final = 2_000
MAX_CELLS: Final = 20_000_000
SUFFIXES: Final = (".csv", ".xlsx", ".parquet", ".nc")
"""Endings of the file names that can be read."""

_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?")
_NUMBER_CHARACTERS: Final = re.compile(r"[0-9+\-.eE \n]*")


@dataclass(frozen=True)
class TableColumn:
    """One column of a table."""

    file: str  # the file's name
    header: str  # the header as written
    name: str  # the header without the unit
    # a unit that ``parse_unit`` reads, where the header (or the file's own attributes) names a
    # known one; else the unit as written; empty without one
    unit_text: str
    position: int  # the column's place in the file, from 1
    # the values as the file holds them: text (CSV, labels) or numbers
    cells: tuple[str, ...] | Floats = field(repr=False)
    decimal: str = "."
    _place: Callable[[int, int], tuple[int | None, int | None]] = field(
        default=lambda row, column: (None, None), repr=False, compare=False
    )

    def __len__(self) -> int:
        return len(self.cells)

    @property
    def is_text(self) -> bool:
        """Whether the file holds text here; a CSV file holds nothing else."""
        return isinstance(self.cells, tuple)

    def rows(self, chosen: Sequence[int]) -> "TableColumn":
        """Return some rows of the column; errors still name their places in the file."""
        cells: Any = np.asarray(self.cells, dtype=object if self.is_text else None)[list(chosen)]
        place = self._place
        return replace(
            self,
            cells=tuple(cells.tolist()) if self.is_text else cells,
            _place=lambda row, column: place(chosen[row], column),
        )

    def texts(self) -> tuple[str, ...]:
        """Return the cells as text, blanks around them removed."""
        if isinstance(self.cells, tuple):
            return self.cells
        return tuple(
            str(int(v)) if float(v).is_integer() else repr(float(v)) for v in self.cells.tolist()
        )

    def numbers(self) -> Floats:
        """Return the cells as numbers, shape (rows,), in the column's own unit."""
        return self._numbers

    @cached_property
    def _numbers(self) -> Floats:
        if not isinstance(self.cells, tuple):
            good = np.isfinite(self.cells)
            if not bool(good.all()):
                text = "a value is missing or not finite"
                raise self.error(int(np.argmin(good)), text, expected="a number")
            return self.cells
        cells = self.with_points(self.cells)
        if _NUMBER_CHARACTERS.fullmatch("\n".join(cells)):
            try:
                values = np.array([float(cell) for cell in cells], dtype=np.float64)
            except ValueError:
                values = None
            if values is not None and bool(np.isfinite(values).all()):
                values.flags.writeable = False  # whoever asks next gets the same array
                return values
        row = next(r for r, cell in enumerate(cells) if not is_number(cell))
        raise self.error(row, _number_fault(self.cells[row], self.decimal), expected="a number")

    def looks_numeric(self) -> bool:
        """Whether at least half of the cells are numbers or plainly meant as numbers."""
        if not isinstance(self.cells, tuple):
            return True
        sample = self.with_points(self.cells[:: max(1, len(self.cells) // 500)])
        meant = sum(1 for cell in sample if is_number(cell) or _MEANT.fullmatch(cell))
        return bool(sample) and 2 * meant >= len(sample) and any(map(str.strip, sample))

    def line(self, row: int) -> int | None:
        """Return the line of a row (counted from 0) in the file, or None in a binary file."""
        return self._place(row, self.position - 1)[0]

    def error(
        self, row: int, message: str, found: str | None = None, expected: str | None = None
    ) -> InputError:
        """Return an error that points at one cell."""
        line, column = self._place(row, self.position - 1)
        where = f"column {self.header!r}"
        if line is None:
            where += f", row {row + 1}"
        if found is None:
            found = repr(self.texts()[row][:60] if self.is_text else float(self.cells[row]))
        return InputError(f"{where}: {message}", self.file, line, column, found, expected)

    def with_points(self, cells: Sequence[str]) -> Sequence[str]:
        """Return cells of the column with decimal points."""
        if self.decimal == ".":
            return cells
        # A point in a file with decimal commas is a fault and must not pass as a decimal point.
        return [cell.replace(",", ".") if "." not in cell else f"?{cell}" for cell in cells]


_MEANT: Final = re.compile(r"(?i)[+-]?(?:nan|inf(?:inity)?|n/?a|null)|[+-]?[\d_.,' ]*\d[\d_.,' ]*")


@dataclass(frozen=True)
class TableFile:
    """A file of columns of equal length."""

    name: str  # the file's name as given
    columns: Mapping[str, TableColumn]  # the columns in the file's order, by bare name
    rows: int  # the number of rows
    sha256: str  # of the file's bytes

    def column(self, name: str) -> TableColumn:
        """Return a column by its bare name or its header, its unit in whatever brackets."""
        found = self.columns.get(name)
        if found is not None:
            return found
        for column in self.columns.values():
            if column.header == name or same_header(name, column.header):
                return column
        raise missing_column(self.name, name, [c.header for c in self.columns.values()])


def missing_column(file: str, name: str, headers: Sequence[str]) -> InputError:
    """Return the error for a column that is not there."""
    by_lower = {split_header(header).name.lower(): header for header in headers}
    by_lower |= {header.lower(): header for header in headers}
    close = get_close_matches(name.lower(), list(by_lower), n=1, cutoff=0.5)
    hint = f"; did you mean {by_lower[close[0]]!r}?" if close else ""
    listed = ", ".join(headers[:30]) + (", …" if len(headers) > 30 else "")
    return InputError(f"there is no column {name!r}{hint}", file, 1, expected=f"one of {listed}")


def is_number(cell: str) -> bool:
    """Whether a cell is a finite number in plain ASCII with a decimal point."""
    stripped = cell.strip(" ")
    return bool(_NUMBER.fullmatch(stripped)) and abs(float(stripped)) < float("inf")


def _number_fault(cell: str, decimal: str) -> str:
    lower = cell.strip().lower()
    if not lower:
        return "an empty cell where a number is needed"
    if lower.lstrip("+-") in ("nan", "inf", "infinity", "na", "n/a", "null"):
        return "not a finite number"
    if _NUMBER.fullmatch(lower):
        if decimal == "," and "." in lower:
            return "a decimal point in a file with decimal commas"
        return "a number too large for double precision"
    if any(c.isdigit() and not c.isascii() for c in lower):
        return "a number with digits other than 0 to 9"
    if "_" in lower and lower.replace("_", "").isdigit():
        return "a number with underscores"
    if decimal == "." and re.fullmatch(r"[+-]?\d+,\d+", lower):
        return "a number with a comma; write a decimal point, or of a schedule --decimal ,"
    if re.fullmatch(r"[+-]?[\d., ']+", lower):
        return "a number with thousands separators"
    return "text where a number is needed"


def read_table(folder: Path, name: str) -> TableFile:
    """Read a table that lies inside a folder.

    In a CSV file the separator is found from the first lines, and a comma is a decimal mark only
    where semicolons or tabs separate columns and numbers are written with commas. Raises InputError
    for a path that leaves the folder, an absent, empty or overlarge file, an unknown format, a
    ragged row, a header that stands twice or a broken quotation.
    """
    suffix = Path(name).suffix.lower()
    if suffix not in SUFFIXES:
        allowed = ", ".join(SUFFIXES)
        raise InputError(f"{name[:80]!r} is no table that can be read", expected=allowed)
    data = open_inside(folder, name)
    if not data:
        raise InputError("the file is empty", name)
    for known, content, table in _RECENT:
        if known == name and content == data:
            return table
    table = _parse(data, name, suffix)
    _RECENT.append((name, data, table))
    return table


# A run reads the same file for the problem, for each parameter and again in the checker. What was
# read is kept with its content, so that a changed file is read anew; a table is immutable.
_RECENT: deque[tuple[str, bytes, TableFile]] = deque(maxlen=4)


def _parse(data: bytes, name: str, suffix: str) -> TableFile:
    from engiagent.io.gridfiles import read_netcdf
    from engiagent.io.tableformats import read_csv, read_excel, read_parquet

    readers = {".csv": read_csv, ".parquet": read_parquet, ".xlsx": read_excel, ".nc": read_netcdf}
    columns = readers[suffix](data, name)
    if not columns:
        raise InputError("the file has no columns", name)
    rows = len(columns[0])
    if rows == 0:
        raise InputError("the file has a header but no rows", name)
    return TableFile(name, MappingProxyType(by_name(columns, name)), rows, sha256_bytes(data))


def by_name(columns: Sequence[TableColumn], file: str) -> dict[str, TableColumn]:
    """Return columns by bare name; names that differ in the unit alone keep their whole header."""
    headers = [column.header for column in columns]
    for k, header in enumerate(headers):
        if header in headers[:k]:
            raise InputError("a header stands twice", file, 1, found=repr(header[:60]))
    names = [column.name for column in columns]
    return {
        column.header if names.count(column.name) > 1 else column.name: column for column in columns
    }


def header_unit(header: str) -> tuple[str, str]:
    """Return a header's bare name, and its unit in the table's spelling where it is known."""
    found = split_header(header)
    return found.name, str(found.unit) if found.unit is not None else found.unit_text


def check_size(file: str, rows: int, columns: int) -> None:
    """Raise an InputError for a table too large to read."""
    if columns > MAX_COLUMNS:
        raise InputError("too many columns", file, 1, found=f"{columns}", expected=f"{MAX_COLUMNS}")
    if rows > MAX_ROWS or rows * columns > MAX_CELLS:
        limit = f"at most {MAX_ROWS} rows and {MAX_CELLS} cells"
        raise InputError("too many rows", file, found=f"{rows} x {columns}", expected=limit)
