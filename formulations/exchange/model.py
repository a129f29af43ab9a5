"""What an LP or MPS file says: named columns and rows, each with the line on which it stands."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np

from engiagent.errors import InputError
from engiagent.formulations.program import Sense
from engiagent.io.files import open_inside

INFINITE: Final = 1e20
"""What counts as infinite in bounds and sides, by convention of all readers."""

MAX_BYTES: Final = 100_000_000
"""Largest file, unpacked."""

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
        self, line: int, message: str, found: str | None = None, expected: str | None = None
    ) -> InputError:
        """Return an error at a line, counted from 1."""
        shown = None if found is None else repr(found if len(found) <= 60 else f"{found[:57]}...")
        return InputError(message, self.file, line, None, shown, expected)


def source_of(text: str, file: str = "model") -> SourceText:
    """Return the lines of a text."""
    return SourceText(file, tuple(line.rstrip("\r") for line in text.split("\n")))


def read_source(path: Path) -> SourceText:
    """Return the lines of a model file; InputError when it is absent, too large or no text."""
    data = open_inside(path.parent, path.name, max_bytes=MAX_BYTES)
    if b"\0" in data:
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        raise InputError("this is no text", path.name, line, None, "a zero byte", "LP or MPS")
    # What old files are in, where they are no UTF-8, never fails.
    try:
        return source_of(data.decode("utf-8-sig"), path.name)
    except UnicodeDecodeError:
        return source_of(data.decode("latin-1"), path.name)


@dataclass
class Column:
    """A column; ``stated`` are the sides that the file gives, ``lower`` or ``upper``."""

    name: str
    line: int
    lower: float = 0.0
    upper: float = np.inf
    integral: bool = False
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
    """A linear model: rows and columns by name, in the order of the file.

    ``offset`` is the objective's constant; ``assumptions``: what the file leaves open and how it
    was read.
    """

    source: SourceText
    name: str = "model"
    sense: Sense = "minimize"
    objective: Row = field(default_factory=lambda: Row("objective", 1))
    offset: float = 0.0
    columns: dict[str, Column] = field(default_factory=dict)
    rows: dict[str, Row] = field(default_factory=dict)
    assumptions: list[str] = field(default_factory=list)

    def column(self, name: str, line: int) -> Column:
        """Return a column, a new one when the name is new."""
        if name not in self.columns:
            self.columns[name] = Column(name, line)
        return self.columns[name]

    def add_row(self, row: Row) -> None:
        """Add a row whose name must be new."""
        before = self.rows.get(row.name)
        if before is not None:
            what = f"a second row of the same name; the first is on line {before.line}"
            raise self.source.error(row.line, what, row.name)
        self.rows[row.name] = row

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

    def finished(self) -> "FileModel":
        """Return the model once all is read, with rows joined that were written as two."""
        for row in list(self.rows.values()):
            before = self.rows.get(row.name.removesuffix(UPPER_PART), row)
            open_sides = (before.upper, row.lower) == (np.inf, -np.inf)
            if before is not row and open_sides and row.terms == before.terms:
                before.upper = row.upper
                del self.rows[row.name]
        return self
