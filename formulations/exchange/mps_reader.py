"""MPS files: text to a model, every error with its line.

Fields are taken by blanks, as in free MPS. HiGHS's own reader, tried on the same files, takes
``r two`` for no entry, drops second entries, and never ends at a row that is not declared; so it is
not used.
"""

import math
import re
from collections.abc import Callable
from typing import Final

import numpy as np

from engiagent.errors import InputError
from engiagent.formulations.exchange.model import (
    INFINITE,
    Collector,
    Column,
    LinearModel,
    Row,
    SourceText,
    unlimited,
)

_NUMBER: Final = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eEdD][-+]?\d+)?")
_BEFORE: Final = {
    "COLUMNS": "ROWS",
    "LAZYCONS": "ROWS",
    "RHS": "COLUMNS",
    "RANGES": "COLUMNS",
    "BOUNDS": "COLUMNS",
    "QUADOBJ": "COLUMNS",
    "QMATRIX": "COLUMNS",
}
"""The section that each needs before it."""
_WITH_NUMBER: Final = ("UP", "LO", "FX", "LI", "UI", "SC")
_PLAIN: Final = ("FR", "MI", "PL", "BV")


def parse_mps(source: SourceText) -> LinearModel:
    """Return the model in the text of an MPS file.

    Raises
    ------
    InputError
        With the line, what was found there and what was expected.
    """
    return _Reader(source).read()


class _Reader:
    """Reads one file."""

    def __init__(self, source: SourceText) -> None:
        self.source = source
        self.collector = Collector(source)
        self.objective: str | None = None
        self.free_rows: dict[str, int] = {}
        self.kinds: dict[str, str] = {}
        self.given: set[tuple[str, str]] = set()
        self.sets: dict[str, str] = {}
        self.whole = False
        self.latest = ""
        self.line = 0

    def error(
        self, message: str, found: str | None = None, expected: str | None = None
    ) -> InputError:
        """Return an error at the line that is being read."""
        return self.source.error(self.line, message, found, expected)

    def read(self) -> LinearModel:
        """Return the model."""
        section, seen = "", set[str]()
        for line, text in enumerate(self.source.lines, 1):
            self.line, fields = line, text.split()
            if not fields or text.startswith("*"):
                continue
            if text[0].isspace():
                if not section:
                    raise self.error("no section has begun", fields[0], "NAME or ROWS")
                comment = [k for k, word in enumerate(fields) if word[0] == "$" and k >= 2]
                fields = fields[: comment[0]] if comment else fields
                _SECTIONS[section](self, fields)
                continue
            section = self._header(fields, seen)
            if section == "ENDATA":
                return self._model()
        if not section:
            raise self.error("this is no MPS file", None, "NAME or ROWS at a line's start")
        raise self.error("the file is cut off", None, "ENDATA")

    def _header(self, words: list[str], seen: set[str]) -> str:
        section = words[0].upper()
        if section != "ENDATA" and section not in _SECTIONS:
            known = ", ".join([*_SECTIONS, "ENDATA"])
            raise self.error("this section is not read", words[0], f"one of {known}")
        if section in seen:
            raise self.error("a second section of this kind", words[0])
        needed = _BEFORE.get(section)
        if needed is not None and needed not in seen:
            raise self.error(f"this section needs {needed} before it", words[0], needed)
        seen.add(section)
        if section == "NAME" and len(words) > 1:
            self.collector.name = words[1]
        elif section == "OBJSENSE" and len(words) > 1:
            self._sense(words[1:])
        return section

    # -- values ---------------------------------------------------------------------------------

    def number(self, text: str) -> float:
        """Return a number, which may be infinite."""
        if _NUMBER.fullmatch(text):
            return float(text.replace("d", "e").replace("D", "e"))
        if text.lower().lstrip("+-") in ("inf", "infinity", "1.#inf"):
            return -math.inf if text.startswith("-") else math.inf
        raise self.error("a number is needed here", text, "as 3.5 or -1e30")

    def finite(self, text: str) -> float:
        """Return a number that is not infinite."""
        value = self.number(text)
        if abs(value) >= INFINITE:
            raise self.error("this coefficient is infinite", text, "less than 1e20")
        return value

    def known_row(self, name: str) -> Row:
        """Return a row that has been declared, or the objective."""
        row = self.collector.objective if name == self.objective else self.collector.rows.get(name)
        if row is None:
            raise self.error("this row is not declared", name, "a name from ROWS")
        return row

    def known_column(self, name: str) -> int:
        """Return the number of a column that has been declared."""
        if name not in self.collector.numbers:
            raise self.error("this column is not declared", name, "a name from COLUMNS")
        return self.collector.numbers[name]

    def pairs(self, fields: list[str], section: str) -> list[tuple[str, float]]:
        """Return rows and numbers of an RHS or RANGES line; its set's name may be left out."""
        if len(fields) % 2:
            self.one_set(section, fields[0])
            fields = fields[1:]
        if len(fields) not in (2, 4):
            what = f"a line of {section} has one or two entries"
            raise self.error(what, " ".join(fields), "ROW NUMBER")
        pairs = [(fields[k], self.number(fields[k + 1])) for k in range(0, len(fields), 2)]
        for name, _ in pairs:
            if (section, name) in self.given:
                raise self.error(f"a second entry in {section} for this row", name)
            self.given.add((section, name))
        return [(name, value) for name, value in pairs if name not in self.free_rows]

    def one_set(self, section: str, name: str) -> None:
        """Refuse a second set of right-hand sides, ranges or bounds."""
        first = self.sets.setdefault(section, name)
        if first != name:
            raise self.error(f"a second set in {section}; only one can be read", name, first)

    # -- sections -------------------------------------------------------------------------------

    def _nothing(self, fields: list[str]) -> None:
        raise self.error("nothing stands in this section", " ".join(fields))

    def _sense(self, fields: list[str]) -> None:
        word = fields[0].upper()
        if not re.fullmatch(r"(MIN|MAX)(IMI[SZ]E)?", word):
            raise self.error("this is no sense", fields[0], "MIN or MAX")
        self.collector.sense = "maximize" if word.startswith("MAX") else "minimize"

    def _row(self, fields: list[str]) -> None:
        kind = fields[0].upper()
        if kind not in ("N", "E", "L", "G") or len(fields) != 2:
            raise self.error("this is no row", " ".join(fields), "N, E, L or G and one name")
        name = fields[1]
        if name in self.free_rows or name == self.objective:
            raise self.error("a second row of the same name", name)
        if kind == "N" and self.objective is None:
            self.objective = self.collector.objective.name = name
            self.collector.objective.line = self.line
        elif kind == "N":
            self.free_rows[name] = self.line
        else:
            lower, upper = 0.0 if kind in "EG" else -np.inf, 0.0 if kind in "EL" else np.inf
            self.collector.add_row(Row(name, self.line, lower, upper))
            self.kinds[name] = kind

    def _column(self, fields: list[str]) -> None:
        if len(fields) >= 3 and fields[1] == "'MARKER'":
            if fields[-1].upper() not in ("'INTORG'", "'INTEND'"):
                raise self.error("this is no marker", fields[-1], "'INTORG' or 'INTEND'")
            self.whole = fields[-1].upper() == "'INTORG'"
            return
        if len(fields) not in (3, 5):
            what = "a column's line has a name and one or two entries"
            raise self.error(what, " ".join(fields), "COLUMN ROW NUMBER, names without blanks")
        name = fields[0]
        column = self.collector.column(name, self.line)
        if column < len(self.collector.numbers) - 1 and name != self.latest:
            first = self.collector.columns[name].line
            what = f"this column began on line {first} and has ended since"
            raise self.error(what, name, "all entries of a column together")
        self.latest = name
        self.collector.columns[name].integral = self.whole
        for place in range(1, len(fields), 2):
            value = self.finite(fields[place + 1])
            if fields[place] in self.free_rows:
                continue
            terms = self.known_row(fields[place]).terms
            if column in terms:
                raise self.error("a second entry in the same row", fields[place])
            terms[column] = value

    def _right_hand_side(self, fields: list[str]) -> None:
        for name, value in self.pairs(fields, "RHS"):
            row = self.known_row(name)
            if name == self.objective:
                if abs(value) >= INFINITE:
                    raise self.error("the objective's constant is infinite", f"{value:g}")
                self.collector.offset = -value
                continue
            row.lower = unlimited(value) if self.kinds[name] in "EG" else row.lower
            row.upper = unlimited(value) if self.kinds[name] in "EL" else row.upper
            if row.lower == np.inf or row.upper == -np.inf:
                raise self.error("this side is infinite on the wrong side", f"{value:g}")

    def _range(self, fields: list[str]) -> None:
        """Widen rows: an equation to the side that the sign says, others to their open side."""
        for name, value in self.pairs(fields, "RANGES"):
            if name == self.objective:
                continue
            row, kind = self.known_row(name), self.kinds[name]
            width = unlimited(abs(value))
            if kind == "G" or (kind == "E" and value > 0):
                row.upper = row.lower + width
            elif kind == "L" or value < 0:
                row.lower = row.upper - width

    def _bound(self, fields: list[str]) -> None:
        kind, rest = fields[0].upper(), fields[1:]
        if kind not in _WITH_NUMBER + _PLAIN:
            known = ", ".join(_WITH_NUMBER + _PLAIN)
            raise self.error("this is no bound", fields[0], f"one of {known}")
        columns = self.collector.columns
        needed = 2 if kind in _WITH_NUMBER else 1
        if len(rest) == 3 or (len(rest) == needed + 1 and rest[0] not in columns):
            self.one_set("BOUNDS", rest[0])
            rest = rest[1:]
        if len(rest) not in (needed, 2):
            raise self.error("this bound cannot be read", " ".join(rest), "SET COLUMN NUMBER")
        self.known_column(rest[0])
        value = self.number(rest[1]) if needed == 2 else 0.0
        self._apply_bound(kind, columns[rest[0]], value)

    def _apply_bound(self, kind: str, column: Column, value: float) -> None:
        if kind in ("UP", "UI", "SC"):
            column.semicontinuous |= kind == "SC"
            if value < 0.0 and "lower" not in column.bounded:
                column.lower = -np.inf
                self.collector.assumptions.append(
                    f"{column.name} has a negative upper bound and no lower one, which is read as "
                    f"no lower bound (line {self.line})"
                )
        lower = {"LO": value, "LI": value, "FX": value, "BV": 0.0, "FR": -np.inf, "MI": -np.inf}
        upper = {"UP": value, "UI": value, "SC": value, "FX": value, "BV": 1.0, "FR": np.inf}
        for side, values in (("lower", lower), ("upper", upper | {"PL": np.inf})):
            if kind in values:
                self.collector.bound(column, side, values[kind], self.line)
        column.integral |= kind in ("BV", "LI", "UI")

    def _triangle(self, fields: list[str], off_diagonal: float = 1.0) -> None:
        """Read one triangle of Q in 1/2 x'Qx of the objective."""
        if len(fields) != 3:
            what = "a quadratic term has two columns"
            raise self.error(what, " ".join(fields), "COLUMN COLUMN NUMBER")
        first, second = map(self.known_column, fields[:2])
        value = self.finite(fields[2]) * (0.5 if first == second else off_diagonal)
        pair, products = (max(first, second), min(first, second)), self.collector.products
        products[pair] = products.get(pair, 0.0) + value

    def _matrix(self, fields: list[str]) -> None:
        """Read an element of the whole Q in 1/2 x'Qx of the objective."""
        self._triangle(fields, 0.5)

    def _model(self) -> LinearModel:
        collector = self.collector
        defaults = [c for c in collector.columns.values() if c.integral and not c.bounded]
        for column in defaults:
            column.upper = 1.0
        for what, names in (
            (
                "integer columns without bounds are read as 0 or 1, as is the custom",
                [column.name for column in defaults],
            ),
            ("free rows beside the objective limit nothing and are left out", list(self.free_rows)),
        ):
            if names:
                more = ", …" if len(names) > 5 else ""
                collector.assumptions.append(f"{what}: {', '.join(names[:5])}{more}")
        return collector.model()


_SECTIONS: Final[dict[str, Callable[[_Reader, list[str]], None]]] = {
    "NAME": _Reader._nothing,
    "OBJSENSE": _Reader._sense,
    "ROWS": _Reader._row,
    "LAZYCONS": _Reader._row,
    "COLUMNS": _Reader._column,
    "RHS": _Reader._right_hand_side,
    "RANGES": _Reader._range,
    "BOUNDS": _Reader._bound,
    "QUADOBJ": _Reader._triangle,
    "QMATRIX": _Reader._matrix,
}
