"""What the reader of MPS files knows while it reads, and how it looks things up."""

import math
import re
from typing import Final

from engiagent.errors import InputError
from engiagent.formulations.exchange.collecting import INFINITE, Collector, Column, Row
from engiagent.formulations.exchange.source import SourceText

_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eEdD][-+]?\d+)?")
_INFINITY: Final = ("inf", "infinity", "1.#inf")


class MpsState:
    """One file in one layout."""

    def __init__(self, source: SourceText, fixed: bool) -> None:
        self.source = source
        self.fixed = fixed
        self.collector = Collector(source)
        self.name = "model"
        self.objective: str | None = None
        self.wanted: str | None = None
        self.free_rows: dict[str, int] = {}
        self.rows: dict[str, Row] = {}
        self.kinds: dict[str, str] = {}
        self.given: dict[str, set[str]] = {"RHS": set(), "RANGES": set()}
        self.whole = False
        self.sets: dict[str, str] = {}
        self.argument = ""
        self.latest = ""

    def error(
        self, line: int, message: str, found: str | None = None, expected: str | None = None
    ) -> InputError:
        """Return an error at a line."""
        shown = None if found is None else repr(found)
        return self.source.error(line, message, found=shown, expected=expected)

    def number(self, line: int, text: str) -> float:
        """Return a number, which may be infinite."""
        if _NUMBER.fullmatch(text):
            return float(text.replace("d", "e").replace("D", "e"))
        if text.lower().lstrip("+-") in _INFINITY:
            return -math.inf if text.startswith("-") else math.inf
        raise self.error(line, "a number is needed here", text, "as 3.5 or -1e30")

    def finite(self, line: int, text: str) -> float:
        """Return a number that is not infinite."""
        value = self.number(line, text)
        if abs(value) >= INFINITE:
            raise self.error(line, "this coefficient is infinite", text, "less than 1e20")
        return value

    def known_row(self, line: int, name: str) -> Row:
        """Return a row that has been declared."""
        row = self.rows.get(name)
        if row is None:
            raise self.error(line, "this row is not declared", name, "a name from ROWS")
        return row

    def known_column(self, line: int, name: str) -> Column:
        """Return a column that has been declared."""
        column = self.collector.columns.get(name)
        if column is None:
            raise self.error(line, "this column is not declared", name, "a name from COLUMNS")
        return column

    def pairs(self, line: int, fields: list[str], section: str) -> list[tuple[str, float]]:
        """Return rows and numbers of an RHS or RANGES line; its set's name may be left out."""
        if len(fields) % 2:
            self.one_set(line, section, fields[0])
            fields = fields[1:]
        if len(fields) not in (2, 4):
            raise self.error(
                line, f"a line of {section} has one or two entries", " ".join(fields), "ROW NUMBER"
            )
        pairs = [(fields[k], self.number(line, fields[k + 1])) for k in range(0, len(fields), 2)]
        for name, _ in pairs:
            if name in self.given[section]:
                raise self.error(line, f"a second entry in {section} for this row", name)
            self.given[section].add(name)
        return [(name, value) for name, value in pairs if name not in self.free_rows]

    def one_set(self, line: int, section: str, name: str) -> None:
        """Refuse a second set of right-hand sides, ranges or bounds."""
        first = self.sets.setdefault(section, name)
        if first != name:
            raise self.error(
                line, f"a second set in {section}; only one can be read", name, repr(first)
            )
