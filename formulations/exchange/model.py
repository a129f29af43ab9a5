"""What an LP or MPS file says: named columns and rows, each with the line on which it stands."""

import gzip
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np

from engiagent.errors import InputError
from engiagent.formulations.program import Sense

Pair = tuple[str, str]

INFINITE: Final = 1e20
"""What counts as infinite in bounds and sides, by convention of all readers."""

MAX_BYTES: Final = 100_000_000
"""Largest file, unpacked."""

MAX_NAME: Final = 1000
UPPER_PART: Final = "~upper"
"""What the name of the second of two rows ends in that are one row with two sides."""


def number(value: float) -> str:
    """Return the shortest text that reads as the same double.

    >>> number(40.0), number(0.1), number(-np.inf)
    ('40', '0.1', '-inf')
    """
    text = repr(float(value))
    return text.removesuffix(".0") if value != np.inf else "+inf"


@dataclass(frozen=True)
class SourceText:
    """The lines of a model file under the name that messages use."""

    file: str
    lines: tuple[str, ...]

    def error(
        self,
        line: int,
        message: str,
        found: str | None = None,
        expected: str | None = None,
        column: int | None = None,
    ) -> InputError:
        """Return an error at a line, counted from 1."""
        shown = None if found is None else repr(found if len(found) <= 60 else f"{found[:57]}...")
        return InputError(message, self.file, line, column, shown, expected)


def source_of(text: str, file: str = "model") -> SourceText:
    """Return the lines of a text."""
    return SourceText(file, tuple(line.rstrip("\r") for line in text.split("\n")))


def read_source(path: Path) -> SourceText:
    """Return the lines of a model file, which may be packed with gzip.

    Raises
    ------
    InputError
        When the file is absent, no regular file, too large, cut off, or no text.
    """
    name = path.name
    if path.exists() and not path.is_file():
        raise InputError("this is no regular file", name, expected="an LP or MPS file")
    try:
        with open(path, "rb") as stream:
            packed = stream.read(2) == b"\x1f\x8b"
            stream.seek(0)
            # Reading one byte more than allowed stops what unpacks without end.
            data = (gzip.GzipFile(fileobj=stream) if packed else stream).read(MAX_BYTES + 1)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise InputError("the gzip file is damaged or cut off", name) from None
    except OSError as error:
        raise InputError(f"cannot read the model: {error.strerror or error}", name) from None
    if len(data) > MAX_BYTES:
        raise InputError("the model is too large", name, expected=f"at most {MAX_BYTES} bytes")
    if b"\0" in data:
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        raise InputError("this is no text", name, line, None, "a zero byte", "an LP or MPS file")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")  # what old files are in; it never fails
    return source_of(text, name)


@dataclass
class Column:
    """A column; ``stated`` are the sides that the file gives, ``lower`` or ``upper``."""

    name: str
    line: int
    lower: float = 0.0
    upper: float = np.inf
    integral: bool = False
    semicontinuous: bool = False
    stated: set[str] = field(default_factory=set)


@dataclass
class Row:
    """A row: coefficients by the names of columns, and two sides."""

    name: str
    line: int
    lower: float = -np.inf
    upper: float = np.inf
    terms: dict[str, float] = field(default_factory=dict)
    stated: set[str] = field(default_factory=set)


@dataclass
class FileModel:
    """A model with named rows and columns, linear but for the objective's ``products``.

    Attributes
    ----------
    columns, rows
        By name, in the order of the file.
    products, offset
        The objective's quadratic terms, coefficients by pairs of columns, and its constant.
    assumptions
        What the file leaves open and how it was read.
    """

    source: SourceText
    name: str = "model"
    sense: Sense = "minimize"
    objective: Row = field(default_factory=lambda: Row("objective", 1))
    offset: float = 0.0
    products: dict[Pair, float] = field(default_factory=dict)
    columns: dict[str, Column] = field(default_factory=dict)
    rows: dict[str, Row] = field(default_factory=dict)
    assumptions: list[str] = field(default_factory=list)

    def column(self, name: str, line: int) -> Column:
        """Return a column, a new one when the name is new."""
        if name not in self.columns:
            self._refuse_long(name, line)
            self.columns[name] = Column(name, line)
        return self.columns[name]

    def add_row(self, row: Row) -> None:
        """Add a row whose name must be new."""
        self._refuse_long(row.name, row.line)
        before = self.rows.get(row.name)
        if before is not None:
            what = f"a second row of the same name; the first is on line {before.line}"
            raise self.source.error(row.line, what, row.name)
        self.rows[row.name] = row

    def _refuse_long(self, name: str, line: int) -> None:
        if len(name) > MAX_NAME:
            what = f"a name of {len(name)} characters"
            raise self.source.error(line, what, name, f"at most {MAX_NAME}")

    def limit(self, what: Column | Row, relation: str, value: float, line: int) -> None:
        """Set the sides of a column or row that ``<=``, ``>=`` or ``=`` and a number limit."""
        value = float(np.copysign(np.inf, value)) if abs(value) >= INFINITE else value
        for side, one, wrong in (("lower", ">=", np.inf), ("upper", "<=", -np.inf)):
            if relation in (one, "="):
                if value == wrong or np.isnan(value):
                    message = f"the {side} bound of {what.name} is infinite on the wrong side"
                    raise self.source.error(line, message, f"{value:g}")
                setattr(what, side, value)
                what.stated.add(side)

    def add_product(self, first: str, second: str, value: float) -> None:
        """Add a term of two columns, in any order, to the objective."""
        pair = (second, first) if (second, first) in self.products else (first, second)
        self.products[pair] = self.products.get(pair, 0.0) + value

    def finished(self) -> "FileModel":
        """Return the model once all is read, with rows joined that were written as two.

        Raises
        ------
        InputError
            For a semi-continuous column that is integer, negative or has no upper bound.
        """
        for column in self.columns.values():
            column.semicontinuous &= column.lower != 0.0  # else zero is within the bounds
            if column.semicontinuous and (
                column.lower < 0.0 or column.upper == np.inf or column.integral
            ):
                what = f"the semi-continuous {column.name} is not read"
                expected = "no integer, a lower bound from 0 on and a finite upper bound"
                raise self.source.error(column.line, what, None, expected)
        for row in list(self.rows.values()):
            before = self.rows.get(row.name.removesuffix(UPPER_PART), row)
            open_sides = (before.upper, row.lower) == (np.inf, -np.inf)
            if before is not row and open_sides and row.terms == before.terms:
                before.upper = row.upper
                del self.rows[row.name]
        return self
