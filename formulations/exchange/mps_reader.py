"""MPS files, fixed or free: text to a flat model, every error with its line.

Fields are taken by blanks, as in free MPS. A file in which this fails and whose names have blanks
is read by the columns of fixed MPS.
"""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np

from engiagent.errors import InputError
from engiagent.formulations.exchange.collecting import INFINITE, Column, Row, unlimited
from engiagent.formulations.exchange.flat import FlatModel, SpecialOrderedSet
from engiagent.formulations.exchange.mps_state import MpsState
from engiagent.formulations.exchange.source import SourceText, read_source

_FIXED: Final = ((1, 3), (4, 12), (14, 22), (24, 36), (39, 47), (49, 61))
_SENSES: Final = {
    "MIN": False,
    "MINIMIZE": False,
    "MINIMISE": False,
    "MAX": True,
    "MAXIMIZE": True,
    "MAXIMISE": True,
}
_OPENING: Final = ("NAME", "OBJSENSE", "OBJNAME", "OBJECT", "ROWS", "ENDATA")
_QUOTED_MARKERS: Final = {"'INTORG'": True, "'INTEND'": False}


def read_mps(path: Path) -> FlatModel:
    """Return the model in an MPS file, which may be packed with gzip.

    Raises
    ------
    InputError
        With the line, what was found there and what was expected.
    """
    return parse_mps(read_source(path))


def parse_mps(source: SourceText) -> FlatModel:
    """Return the model in the text of an MPS file; see :func:`read_mps`."""
    try:
        return _Reader(source, fixed=False).read()
    except InputError as error:
        try:
            return _Reader(source, fixed=True).read()
        except InputError:
            raise error from None


class _Reader(MpsState):
    """Reads one file in one layout."""

    def read(self) -> FlatModel:
        section = ""
        seen: set[str] = set()
        for line, text in enumerate(self.source.lines, 1):
            if not text.strip() or text.startswith("*"):
                continue
            if not text[0].isspace():
                section = self._header(line, text, seen)
                if section == "ENDATA":
                    return self._model()
                continue
            reader = _SECTIONS.get(section)
            if reader is None:
                raise self.error(line, "no section has begun", text.split()[0], "NAME or ROWS")
            reader(self, line, self._fields(text))
        last = len(self.source.lines)
        if not section:
            raise self.error(last, "this is no MPS file", None, "NAME or ROWS at a line's start")
        raise self.error(last, "the file is cut off", None, "ENDATA")

    def _header(self, line: int, text: str, seen: set[str]) -> str:
        words = text.split()
        section = words[0].upper()
        if section == "NAME":
            self.name = words[1] if len(words) > 1 else self.name
        elif section == "OBJSENSE" and len(words) > 1:
            self._sense(line, words[1:])
        elif section not in _SECTIONS and section != "ENDATA":
            known = ", ".join([*_SECTIONS, "ENDATA"])
            raise self.error(line, "this section is not read", words[0], f"one of {known}")
        if section in seen and section in ("NAME", "ROWS", "COLUMNS"):
            raise self.error(line, "a second section of this kind", words[0])
        if section not in _OPENING:
            needed = "ROWS" if section in ("COLUMNS", "LAZYCONS", "USERCUTS") else "COLUMNS"
            if needed not in seen:
                raise self.error(line, f"this section needs {needed} before it", words[0], needed)
        seen.add(section)
        self.argument = words[1] if len(words) > 1 else ""
        if section in ("QSECTION", "QCMATRIX"):
            self._quadratic_row(line)
        return section

    def _fields(self, text: str) -> list[str]:
        if not self.fixed:
            fields = text.split()
        else:
            fields = [text[a:b].strip() for a, b in _FIXED]
            if fields[0] == "":
                fields = fields[1:]
            while fields and not fields[-1]:
                fields.pop()
        for place, word in enumerate(fields):
            if word.startswith("$") and place >= 2:
                return fields[:place]
        return fields

    # -- sections -------------------------------------------------------------------------------

    def _sense(self, line: int, fields: list[str]) -> None:
        word = fields[0].upper()
        if word not in _SENSES:
            raise self.error(line, "this is no sense", fields[0], "MIN or MAX")
        self.collector.sense = "maximize" if _SENSES[word] else "minimize"

    def _object(self, line: int, fields: list[str]) -> None:
        self.wanted = fields[0]

    def _row(self, line: int, fields: list[str]) -> None:
        kind = fields[0].upper()
        if kind not in ("N", "E", "L", "G") or len(fields) != 2:
            raise self.error(line, "this is no row", " ".join(fields), "N, E, L or G and one name")
        name = fields[1]
        if name in self.free_rows or name == self.objective:
            raise self.error(line, "a second row of the same name", name)
        if kind == "N":
            if self.objective is None and self.wanted in (None, name):
                self.objective = name
                self.collector.objective.line = line
            else:
                self.free_rows[name] = line
            return
        lower = 0.0 if kind in "EG" else -np.inf
        row = Row(name, line, lower, 0.0 if kind in "EL" else np.inf)
        self.collector.add_row(row)
        self.rows[name] = row
        self.kinds[name] = kind

    def _column(self, line: int, fields: list[str]) -> None:
        if len(fields) >= 3 and fields[1] == "'MARKER'":
            if fields[-1].upper() not in _QUOTED_MARKERS:
                raise self.error(line, "this is no marker", fields[-1], "'INTORG' or 'INTEND'")
            self.whole = _QUOTED_MARKERS[fields[-1].upper()]
            return
        if len(fields) not in (3, 5):
            raise self.error(
                line,
                "a column's line has a name and one or two entries",
                " ".join(fields),
                "COLUMN ROW NUMBER",
            )
        name = fields[0]
        number = self.collector.column(name, line)
        if number < len(self.collector.numbers) - 1 and name != self.latest:
            first = self.collector.columns[name].line
            raise self.error(
                line,
                f"this column began on line {first} and has ended since",
                name,
                "all entries of a column together",
            )
        self.latest = name
        self.collector.columns[name].integral = self.whole
        for place in range(1, len(fields), 2):
            value = self.finite(line, fields[place + 1])
            if fields[place] in self.free_rows:
                continue
            terms = self._terms_of(line, fields[place])
            if number in terms:
                raise self.error(line, "a second entry in the same row", fields[place])
            terms[number] = value

    def _terms_of(self, line: int, row: str) -> dict[int, float]:
        if row == self.objective:
            return self.collector.objective.terms
        return self.known_row(line, row).terms

    def _right_hand_side(self, line: int, fields: list[str]) -> None:
        for name, value in self.pairs(line, fields, "RHS"):
            if name == self.objective:
                if abs(value) >= INFINITE:
                    raise self.error(line, "the objective's constant is infinite", f"{value:g}")
                self.collector.offset = -value
                continue
            row = self.known_row(line, name)
            row.lower = unlimited(value) if self.kinds[name] in "EG" else row.lower
            row.upper = unlimited(value) if self.kinds[name] in "EL" else row.upper
            if row.lower == np.inf or row.upper == -np.inf:
                raise self.error(line, "this side is infinite on the wrong side", f"{value:g}")

    def _range(self, line: int, fields: list[str]) -> None:
        """Widen rows: an equation to the side that the sign says, others to their open side."""
        for name, value in self.pairs(line, fields, "RANGES"):
            if name == self.objective:
                continue
            row, kind = self.known_row(line, name), self.kinds[name]
            width = unlimited(abs(value))
            if kind == "G" or (kind == "E" and value > 0):
                row.upper = row.lower + width
            elif kind == "L" or value < 0:
                row.lower = row.upper - width

    def _bound(self, line: int, fields: list[str]) -> None:
        kind = fields[0].upper()
        if kind not in _BOUNDS:
            raise self.error(line, "this is no bound", fields[0], f"one of {', '.join(_BOUNDS)}")
        needs = _BOUNDS[kind]
        name, number = self._bound_parts(line, fields[1:], needs)
        column = self.known_column(line, name)
        if needs and number is None and kind not in ("SC", "SI"):
            raise self.error(line, "this bound has no number", name, "SET COLUMN NUMBER")
        value = self.number(line, number) if needs and number is not None else 0.0
        self._apply_bound(line, kind, column, value, number is not None)

    def _bound_parts(self, line: int, rest: list[str], needs: bool) -> tuple[str, str | None]:
        """Return the column and the number of a bound, whose set's name may be left out."""
        columns = self.collector.columns
        if len(rest) == 3:
            self.one_set(line, "BOUNDS", rest[0])
            return rest[1], rest[2]
        if len(rest) == 2 and rest[1] in columns and not (needs and rest[0] in columns):
            return rest[1], None
        if len(rest) == 2 and (rest[0] in columns or needs):
            return rest[0], rest[1]
        if len(rest) == 1 and not needs:
            return rest[0], None
        place = rest[1] if len(rest) == 2 else " ".join(rest)
        raise self.error(line, "this bound cannot be read", place, "SET COLUMN NUMBER")

    def _apply_bound(
        self, line: int, kind: str, column: Column, value: float, has_number: bool
    ) -> None:
        bound = self.collector.bound
        if kind in ("UP", "UI", "SC", "SI"):
            if kind in ("SC", "SI"):
                column.semicontinuous = True
                value = value if has_number and value != 0.0 else math.inf
            if value < 0.0 and "lower" not in column.bounded:
                column.lower = -np.inf
                self.collector.assumptions[
                    f"{column.name} has a negative upper bound and no lower one, which is read as "
                    f"no lower bound (line {line})"
                ] = None
            bound(column, "upper", value, line)
        elif kind in ("LO", "LI"):
            bound(column, "lower", value, line)
        elif kind in ("FX", "BV", "FR"):
            lower, upper = {"FX": (value, value), "BV": (0.0, 1.0), "FR": (-np.inf, np.inf)}[kind]
            bound(column, "lower", lower, line)
            bound(column, "upper", upper, line)
        else:
            side = "lower" if kind == "MI" else "upper"
            bound(column, side, -np.inf if kind == "MI" else np.inf, line)
        if kind in ("BV", "LI", "UI", "SI"):
            column.integral = True

    # -- quadratic terms, special ordered sets, conditions --------------------------------------

    def _quadratic_row(self, line: int) -> None:
        name = self.argument
        if not name:
            raise self.error(line, "the name of a row is missing", None, "QCMATRIX ROW")
        if name != self.objective:
            self.known_row(line, name)

    def _entry(self, line: int, fields: list[str]) -> tuple[tuple[int, int], float]:
        if len(fields) != 3:
            raise self.error(
                line, "a quadratic term has two columns", " ".join(fields), "COLUMN COLUMN NUMBER"
            )
        for name in fields[:2]:
            self.known_column(line, name)
        first, second = (self.collector.numbers[name] for name in fields[:2])
        return (max(first, second), min(first, second)), self.finite(line, fields[2])

    def _triangle(self, line: int, fields: list[str]) -> None:
        """Read one triangle of Q in 1/2 x'Qx of the objective, or of the row of a QSECTION."""
        row = self.collector.objective
        if self.argument and self.argument != self.objective:
            row = self.known_row(line, self.argument)
        pair, value = self._entry(line, fields)
        half = value / 2.0 if pair[0] == pair[1] else value
        row.products[pair] = row.products.get(pair, 0.0) + half

    def _matrix(self, line: int, fields: list[str]) -> None:
        """Read an element of the whole Q in 1/2 x'Qx of the objective."""
        pair, value = self._entry(line, fields)
        products = self.collector.objective.products
        products[pair] = products.get(pair, 0.0) + value / 2.0

    def _row_matrix(self, line: int, fields: list[str]) -> None:
        """Read an element of the whole Q in x'Qx of a row."""
        pair, value = self._entry(line, fields)
        row = self.collector.objective
        if self.argument != self.objective:
            row = self.known_row(line, self.argument)
        row.products[pair] = row.products.get(pair, 0.0) + value

    def _sos(self, line: int, fields: list[str]) -> None:
        sos = self.collector.sos
        if fields[0].upper() in ("S1", "S2"):
            name = fields[-1] if len(fields) > 1 else f"sos{len(sos) + 1}"
            empty = np.zeros(0, dtype=np.int64), np.zeros(0)
            sos.append(SpecialOrderedSet(name, int(fields[0][1]), *empty))
            return
        if not sos or len(fields) not in (2, 3):
            raise self.error(line, "this is no member of a set", " ".join(fields), "COLUMN WEIGHT")
        self.known_column(line, fields[-2])
        last = sos.pop()
        columns = np.append(last.columns, self.collector.numbers[fields[-2]])
        weights = np.append(last.weights, self.finite(line, fields[-1]))
        sos.append(SpecialOrderedSet(last.name, last.order, columns, weights))

    def _indicator(self, line: int, fields: list[str]) -> None:
        if len(fields) != 4 or fields[0].upper() != "IF" or fields[3] not in ("0", "1"):
            raise self.error(line, "this is no condition", " ".join(fields), "IF ROW COLUMN 0 or 1")
        row = self.known_row(line, fields[1])
        self.known_column(line, fields[2])
        row.condition = (self.collector.numbers[fields[2]], int(fields[3]))

    # -- the end --------------------------------------------------------------------------------

    def _model(self) -> FlatModel:
        collector = self.collector
        defaults = [
            column.name
            for column in collector.columns.values()
            if column.integral and not column.bounded
        ]
        for name in defaults:
            collector.columns[name].upper = 1.0
        if defaults:
            more = ", …" if len(defaults) > 5 else ""
            collector.assumptions[
                "integer columns without bounds are read as 0 or 1, as is the custom: "
                f"{', '.join(defaults[:5])}{more}"
            ] = None
        if self.free_rows:
            collector.assumptions[
                "free rows beside the objective limit nothing and are left out: "
                f"{', '.join(list(self.free_rows)[:5])}{', …' if len(self.free_rows) > 5 else ''}"
            ] = None
        return collector.model(self.name, self.objective or "objective")


_BOUNDS: Final = {
    "UP": True,
    "LO": True,
    "FX": True,
    "FR": False,
    "MI": False,
    "PL": False,
    "BV": False,
    "LI": True,
    "UI": True,
    "SC": True,
    "SI": True,
}

_SECTIONS: Final[dict[str, Callable[[_Reader, int, list[str]], None]]] = {
    "NAME": _Reader._row,
    "OBJSENSE": _Reader._sense,
    "OBJNAME": _Reader._object,
    "OBJECT": _Reader._object,
    "ROWS": _Reader._row,
    "LAZYCONS": _Reader._row,
    "USERCUTS": _Reader._row,
    "COLUMNS": _Reader._column,
    "RHS": _Reader._right_hand_side,
    "RANGES": _Reader._range,
    "BOUNDS": _Reader._bound,
    "SOS": _Reader._sos,
    "QUADOBJ": _Reader._triangle,
    "QSECTION": _Reader._triangle,
    "QMATRIX": _Reader._matrix,
    "QCMATRIX": _Reader._row_matrix,
    "INDICATORS": _Reader._indicator,
}
