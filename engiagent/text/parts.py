"""What a problem's text consists of: sentences, tables and quantities, each with its place."""

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Literal

from engiagent.units.unit import Unit

Span = tuple[int, int]
"""Half-open character offsets into the problem's text."""

SentenceKind = Literal["sentence", "item", "heading", "code"]
QuantityKind = Literal["number", "percent", "clock", "date", "duration", "label", "word"]


@dataclass(frozen=True)
class Sentence:
    """A sentence, a list item, a heading or a line of code."""

    text: str  # the words, markup removed and white space collapsed
    span: Span  # where it stands, markup included
    kind: SentenceKind = "sentence"  # what it is
    heading: int | None = None  # index of the heading above it, or None


@dataclass(frozen=True)
class Cell:
    """One cell of a table: its text without surrounding blanks, and where that stands."""

    text: str
    span: Span


@dataclass(frozen=True)
class Table:
    """A pipe table."""

    header: tuple[Cell, ...]  # the cells of the first row
    # the cells of the others; every row is as long as the header
    rows: tuple[tuple[Cell, ...], ...]
    names: tuple[str, ...]  # the headers without units
    units: tuple[Unit | None, ...]  # the unit of each column, or None
    unit_texts: tuple[str, ...]  # the units as written in the headers; empty where there is none
    unit_spans: tuple[Span | None, ...]
    unit_column: int | None  # index of the column that holds the rows' units, or None
    # the line ``Table 1: …`` above or below it, else the heading above it; empty without one
    caption: str
    span: Span  # from the first to the last character of the table

    def column(self, name: str) -> int | None:
        """Return the index of a column by its name, without regard to case; None if absent."""
        wanted = name.strip().lower()
        for k, (bare, cell) in enumerate(zip(self.names, self.header, strict=True)):
            if wanted in (bare.lower(), cell.text.lower()):
                return k
        return None

    def cells_of(self, name: str) -> tuple[tuple[int, Cell], ...]:
        """Return the rows and cells of a column, and of all that repeat it to the right.

        Groups of columns, as in ``hour | load | sun | hour | load | sun``, are one series: in the
        order of the evenly spaced numbers or times of day that each group begins with, else one
        group after another.
        """
        first = self.column(name)
        if first is None:
            return ()
        names = [name.lower() for name in self.names]
        columns = [k for k, bare in enumerate(names) if bare == names[first]]
        start = first
        while start and names[start - 1] != names[first]:
            if names.count(names[start - 1]) != len(columns):
                break
            start -= 1
        found = [
            (self._order(row, k - first + start), row, self.rows[row][k])
            for k in columns
            for row in range(len(self.rows))
            if len(columns) == 1 or self.rows[row][k].text
        ]
        orders = [order for order, _, _ in found if order is not None]
        even = {b - a for a, b in pairwise(sorted(orders))}
        steps = {b - a for a, b in pairwise(orders) if b > a}  # a day may turn at midnight
        if len(orders) == len(found) and len(even) == 1 and steps != even != {0.0}:
            found.sort(key=lambda item: item[0] or 0.0)
        return tuple((row, cell) for _, row, cell in found)

    def _order(self, row: int, column: int) -> float | None:
        """Return the number or the minute of the day in a cell, None where there is neither."""
        hours, _, minutes = self.rows[row][column].text.partition(":")
        if not (hours.isdigit() and (minutes or "0").isdigit()):
            return None
        return 60.0 * int(hours) + int(minutes or 0)

    def __repr__(self) -> str:
        size = f"{len(self.rows)} x {len(self.header)}"
        return f"Table({size}, {[c.text for c in self.header]}, caption={self.caption!r})"


@dataclass(frozen=True)
class Quantity:
    """A number in the text with what it measures."""

    # the number in the unit written: 96 for ``96 %``, hours for a clock time, the day's ordinal for
    # a complete date, the year for a year alone
    value: float
    exact: Fraction  # the same without rounding
    unit: Unit | None  # None where there is none or it cannot be read
    unit_text: str  # how it is written
    span: Span  # the number and, where it stands beside it, the unit
    number_span: Span  # the number with its sign
    unit_span: Span | None  # the unit; one on both sides of the number (``$0.12/kWh``) covers it
    text: str  # the text at ``span``, white space collapsed
    kind: QuantityKind  # ``label`` is a number that only names something (zone 2, Table 1, R1, 2nd)
    sentence: int | None = None  # index of the sentence; None in a table
    # table, row and column, each from 0, header cells in row -1; None in prose
    table: tuple[int, int, int] | None = None
    range_id: int | None = None  # the same number for both ends of a range
    approximate: bool = False  # whether the text says about, roughly, ~ and the like
    ambiguous: str = ""  # how the number could be read otherwise; empty when there is no doubt
    date: str | None = None  # the date in ISO 8601 as far as it is written, for kind ``date``

    def __repr__(self) -> str:
        unit = f" {self.unit or self.unit_text}" if self.unit or self.unit_text else ""
        return f"Quantity({self.value:g}{unit}, {self.kind}, {self.text!r} at {self.span[0]})"
