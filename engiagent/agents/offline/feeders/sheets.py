"""Tables of a text and data files as one thing: heads with units, rows of texts, and sources."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from engiagent.agents.offline.files import file_columns, unit_of_column
from engiagent.agents.offline.grids import Times, clean_unit, read_table
from engiagent.agents.offline.plant.language.reading import plain_text

if TYPE_CHECKING:
    from engiagent.problems.problem import Problem

_UNIT: Final = re.compile(r"[(\[,]\s*(?:in\s+)?([^()\[\],]+?)\s*[)\]]?\s*$")
_PU: Final = re.compile(r"(?i)p\.?u\.?|per unit")
PER_UNIT: Final = "pu"


@dataclass(frozen=True)
class Sheet:
    """A table or a file.

    Attributes
    ----------
    file, number
        The name of the file, or the number of the table in the text.
    heads, units
        Of each column; ``pu`` for values per unit, empty where no unit is given.
    names
        What a blueprint calls the columns of a file.
    rows
        The texts of the cells.
    spans
        The places of the cells in the text, for tables.
    times
        What the time stamps say, where there are any.
    lead
        The sentence directly above a table.
    """

    file: str
    number: int
    heads: tuple[str, ...]
    names: tuple[str, ...]
    units: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    spans: tuple[tuple[tuple[int, int], ...], ...] = ()
    span: tuple[int, int] = (0, 0)
    times: Times | None = field(default=None, compare=False)
    lead: str = ""

    def column(self, place: int) -> tuple[str, ...]:
        """Return the texts of a column."""
        return tuple(row[place] for row in self.rows)

    def numbers(self, place: int) -> tuple[float, ...] | None:
        """Return the numbers of a column, None where a cell holds none."""
        texts = [text.replace("−", "-") for text in self.column(place)]
        if not all(re.fullmatch(r"[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?", t) for t in texts):
            return None
        return tuple(float(text) for text in texts)

    def source(self, place: int, rows: Sequence[int] | None = None) -> Any:
        """Return the source of a column, or of some rows of it."""
        if self.file:
            return {"kind": "file", "file": self.file, "column": self.names[place]}
        return [
            {"kind": "table", "span": list(self.spans[r][place]), "quote": self.rows[r][place],
             "table": self.number, "row": r, "column": self.names[place]}
            for r in (range(len(self.rows)) if rows is None else rows)
        ]  # fmt: skip

    def words(self, place: int) -> frozenset[str]:
        """Return the words of a head, its unit aside."""
        bare = _UNIT.sub("", self.heads[place]) if _UNIT.search(self.heads[place]) else ""
        return frozenset(plain_text(bare or self.heads[place]).split())


def sheets_of(problem: "Problem", currency: str | None) -> list[Sheet]:
    """Return the tables and data files of a problem."""
    found = [_of_table(problem, k, table, currency) for k, table in enumerate(problem.tables)]
    return found + [_of_file(problem, name, file, currency) for name, file in problem.data.items()]


def _of_table(problem: "Problem", number: int, table: Any, currency: str | None) -> Sheet:
    heads = tuple(cell.text for cell in table.header)
    units = tuple(
        clean_unit(text or "", currency) or _bracketed(head, currency)
        for text, head in zip(table.unit_texts, heads, strict=True)
    )
    return Sheet(
        "", number, heads, tuple(table.names), units,
        tuple(tuple(cell.text.strip() for cell in row) for row in table.rows),
        tuple(tuple(cell.span for cell in row) for row in table.rows),
        table.span, read_table(problem.text, number, table, currency).times,
        _lead(problem.text, table.span[0]),
    )  # fmt: skip


def _lead(text: str, start: int) -> str:
    """Return the line of text that stands directly above a table."""
    above = [line.strip() for line in text[:start].splitlines() if line.strip()]
    last = above[-1] if above else ""
    return "" if last.startswith(("|", "#")) else re.split(r"(?<=[.!?])\s|;", last)[-1]


def _of_file(problem: "Problem", name: str, file: Any, currency: str | None) -> Sheet:
    columns = list(file.columns.values())
    units = []
    for column in columns:
        text = "" if column.dtype == "text" else unit_of_column(column, currency)
        per_unit = _bracketed(column.header, currency)
        units.append(per_unit if per_unit == PER_UNIT else text)
    times = None
    if file.times is not None:
        times = next(t for t in file_columns(problem, currency)[1] if t.origin == name)
    return Sheet(
        name, -1, tuple(c.header for c in columns), tuple(c.name for c in columns), tuple(units),
        tuple(tuple(str(c.values[r]).strip() for c in columns) for r in range(file.rows)),
        times=times,
    )  # fmt: skip


def _bracketed(head: str, currency: str | None) -> str:
    match = _UNIT.search(head.strip())
    if match is None:
        return ""
    return PER_UNIT if _PU.fullmatch(match[1]) else clean_unit(match[1], currency)
