"""What readers make of an LP or MPS file: named rows and columns with their lines, and arrays."""

import gzip
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from engiagent.errors import InputError
from engiagent.formulations.program import Sense
from engiagent.formulations.values import Floats, Ints

Bools = npt.NDArray[np.bool_]
Pair = tuple[int, int]

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
    """A column as it is being read."""

    name: str
    line: int
    lower: float = 0.0
    upper: float = np.inf
    integral: bool = False
    semicontinuous: bool = False
    bounded: set[str] = field(default_factory=set)


@dataclass
class Row:
    """A row as it is being read: coefficients by the numbers of the columns."""

    name: str
    line: int
    lower: float = -np.inf
    upper: float = np.inf
    terms: dict[int, float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, kw_only=True)
class LinearModel:
    """A model with n named columns and m named rows, linear but for the objective's ``products``.

    Attributes
    ----------
    cost, offset, row_starts … row_upper
        As in a :class:`~engiagent.formulations.program.Program`.
    integrality, semicontinuous
        Whether a column takes whole numbers; whether it may also be zero, outside its bounds; (n,).
    products
        The objective's quadratic terms: coefficients by pairs of columns.
    column_lines, row_lines, objective_line
        Where in the file they stand, counted from 1.
    assumptions
        What the file leaves open and how it was read.
    """

    file: str
    name: str
    sense: Sense
    objective_name: str
    objective_line: int
    cost: Floats
    offset: float
    products: dict[Pair, float]
    column_names: tuple[str, ...]
    column_lines: tuple[int, ...]
    column_lower: Floats
    column_upper: Floats
    integrality: Bools
    semicontinuous: Bools
    row_names: tuple[str, ...]
    row_lines: tuple[int, ...]
    row_starts: Ints
    row_columns: Ints
    row_values: Floats
    row_lower: Floats
    row_upper: Floats
    assumptions: tuple[str, ...] = ()


class Collector:
    """The rows and columns of one file while it is being read."""

    def __init__(self, source: SourceText) -> None:
        self.source = source
        self.name = "model"
        self.columns: dict[str, Column] = {}
        self.numbers: dict[str, int] = {}
        self.rows: dict[str, Row] = {}
        self.objective = Row("objective", 1)
        self.products: dict[Pair, float] = {}
        self.offset = 0.0
        self.sense: Sense = "minimize"
        self.assumptions: list[str] = []

    def column(self, name: str, line: int) -> int:
        """Return the number of a column, a new one when the name is new."""
        found = self.numbers.get(name)
        if found is None:
            self._refuse_long(name, line)
            found = self.numbers[name] = len(self.numbers)
            self.columns[name] = Column(name, line)
        return found

    def _refuse_long(self, name: str, line: int) -> None:
        if len(name) > MAX_NAME:
            what = f"a name of {len(name)} characters"
            raise self.source.error(line, what, name, f"at most {MAX_NAME}")

    def add_row(self, row: Row) -> None:
        """Add a row whose name must be new."""
        self._refuse_long(row.name, row.line)
        before = self.rows.get(row.name)
        if before is not None:
            what = f"a second row of the same name; the first is on line {before.line}"
            raise self.source.error(row.line, what, row.name)
        self.rows[row.name] = row

    def bound(self, column: Column, side: str, value: float, line: int) -> None:
        """Set one side of a column's bounds."""
        if (side == "lower" and value >= INFINITE) or (side == "upper" and value <= -INFINITE):
            what = f"the {side} bound of {column.name} is infinite on the wrong side"
            raise self.source.error(line, what, f"{value:g}")
        setattr(column, side, unlimited(value))
        column.bounded.add(side)

    def model(self) -> LinearModel:
        """Return the arrays of everything read.

        Raises
        ------
        InputError
            For a semi-continuous column that is integer, negative or has no upper bound.
        """
        columns, rows = list(self.columns.values()), _merged(self.rows.values())
        for column in columns:
            column.semicontinuous &= column.lower != 0.0  # else zero is within the bounds
            if column.semicontinuous and (
                column.lower < 0.0 or column.upper == np.inf or column.integral
            ):
                what = f"the semi-continuous {column.name} is not read"
                expected = "no integer, a lower bound from 0 on and a finite upper bound"
                raise self.source.error(column.line, what, None, expected)
        entries = [sorted((k, v) for k, v in row.terms.items() if v != 0.0) for row in rows]
        flat = np.array([e for part in entries for e in part], dtype=np.float64).reshape(-1, 2)
        cost = np.zeros(len(columns))
        cost[list(self.objective.terms)] = list(self.objective.terms.values())
        return LinearModel(
            file=self.source.file,
            name=self.name,
            sense=self.sense,
            objective_name=self.objective.name,
            objective_line=self.objective.line,
            cost=cost,
            offset=self.offset,
            products={pair: v for pair, v in sorted(self.products.items()) if v != 0.0},
            column_names=tuple(c.name for c in columns),
            column_lines=tuple(c.line for c in columns),
            column_lower=np.array([c.lower for c in columns], dtype=np.float64),
            column_upper=np.array([c.upper for c in columns], dtype=np.float64),
            integrality=np.array([c.integral for c in columns], dtype=np.bool_),
            semicontinuous=np.array([c.semicontinuous for c in columns], dtype=np.bool_),
            row_names=tuple(row.name for row in rows),
            row_lines=tuple(row.line for row in rows),
            row_starts=np.cumsum([0, *map(len, entries)]),
            row_columns=flat[:, 0].astype(np.int64),
            row_values=flat[:, 1].copy(),
            row_lower=np.array([row.lower for row in rows], dtype=np.float64),
            row_upper=np.array([row.upper for row in rows], dtype=np.float64),
            assumptions=tuple(self.assumptions),
        )


def unlimited(value: float) -> float:
    """Return a bound with what counts as infinite made infinite."""
    return float(np.copysign(np.inf, value)) if abs(value) >= INFINITE else value


def _merged(rows: Iterable[Row]) -> list[Row]:
    """Return the rows with those two that are one row with two sides joined again."""
    result: list[Row] = []
    for row in rows:
        before = result[-1] if result else None
        if (
            before is not None
            and row.name == before.name + UPPER_PART
            and (before.upper, row.lower) == (np.inf, -np.inf)
            and row.terms == before.terms
        ):
            before.upper = row.upper
        else:
            result.append(row)
    return result
