"""MPS files: text to a model, every error with its line.

Fields are taken by blanks, as in free MPS. HiGHS's own reader, tried on the same files, takes
``r two`` for no entry, drops second entries, and never ends at a row that is not declared; so it is
not used.
"""

import math
import re
from collections.abc import Callable, Iterator
from typing import Final

from engiagent.errors import InputError
from engiagent.formulations.exchange.model import INFINITE, FileModel, Row, SourceText

_NUMBER: Final = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eEdD][-+]?\d+)?")
_RELATIONS: Final = {"E": "=", "L": "<=", "G": ">="}
_BOUNDS: Final[dict[str, tuple[tuple[str, float | None], ...]]] = {
    "UP": (("<=", None),),
    "LO": ((">=", None),),
    "FX": (("=", None),),
    "LI": ((">=", None),),
    "UI": (("<=", None),),
    "SC": (("<=", None),),
    "FR": ((">=", -math.inf), ("<=", math.inf)),
    "MI": ((">=", -math.inf),),
    "PL": (("<=", math.inf),),
    "BV": ((">=", 0.0), ("<=", 1.0)),
}
"""What each kind of bound says; None stands for the number on its line."""


def parse_mps(source: SourceText) -> FileModel:
    """Return the model in the text of an MPS file.

    Raises
    ------
    InputError
        With the line, what was found there and what was expected.
    """
    return _Reader(source).read()


class _Reader:
    """Reads one file; ``line`` is the one being read."""

    def __init__(self, source: SourceText) -> None:
        self.source, self.model, self.line = source, FileModel(source), 0
        self.kinds: dict[str, str] = {}
        self.entered: set[tuple[str, str]] = set()
        self.sets: dict[str, str] = {}
        self.whole, self.latest = False, ""

    def error(
        self, message: str, found: str | None = None, expected: str | None = None
    ) -> InputError:
        """Return an error at the line that is being read."""
        return self.source.error(self.line, message, found, expected)

    def read(self) -> FileModel:
        """Return the model."""
        section, seen = "", set[str]()
        for line, text in enumerate(self.source.lines, 1):
            self.line, fields = line, text.split()
            if not fields or text.startswith("*"):
                continue
            if text[0].isspace():
                if not section:
                    raise self.error("no section has begun", fields[0], "NAME or ROWS")
                comments = [k for k, word in enumerate(fields) if word[0] == "$" and k >= 2]
                _SECTIONS[section][0](self, fields[: comments[0]] if comments else fields)
                continue
            section = fields[0].upper()
            if section == "ENDATA":
                return self._finished()
            self._begin(section, fields, seen)
        if not section:
            raise self.error("this is no MPS file", None, "NAME or ROWS at a line's start")
        raise self.error("the file is cut off", None, "ENDATA")

    def _begin(self, section: str, words: list[str], seen: set[str]) -> None:
        if section not in _SECTIONS:
            known = ", ".join([*_SECTIONS, "ENDATA"])
            raise self.error("this section is not read", words[0], f"one of {known}")
        if section in seen:
            raise self.error("a second section of this kind", words[0])
        needed = _SECTIONS[section][1]
        if needed and needed not in seen:
            raise self.error(f"this section needs {needed} before it", words[0], needed)
        seen.add(section)
        if section == "NAME" and len(words) > 1:
            self.model.name = words[1]
        elif section == "OBJSENSE" and len(words) > 1:
            self._sense(words[1:])

    # -- fields ---------------------------------------------------------------------------------

    def number(self, text: str) -> float:
        """Return a number, which may be infinite."""
        if _NUMBER.fullmatch(text):
            return float(text.replace("d", "e").replace("D", "e"))
        if text.lower().lstrip("+-") in ("inf", "infinity", "1.#inf"):
            return -math.inf if text.startswith("-") else math.inf
        raise self.error("a number is needed here", text, "as 3.5 or -1e30")

    def finite(self, text: str) -> float:
        """Return a number that is not infinite."""
        if abs(self.number(text)) >= INFINITE:
            raise self.error("this coefficient is infinite", text, "less than 1e20")
        return self.number(text)

    def row(self, name: str) -> Row | None:
        """Return a declared row or the objective; None for another row without limits."""
        if name not in self.kinds:
            raise self.error("this row is not declared", name, "a name from ROWS")
        if self.kinds[name] != "N":
            return self.model.rows[name]
        return self.model.objective if name == self.model.objective.name else None

    def column(self, name: str) -> str:
        """Return the name of a column that has been declared."""
        if name not in self.model.columns:
            raise self.error("this column is not declared", name, "a name from COLUMNS")
        return name

    def sides(self, fields: list[str], section: str) -> Iterator[tuple[Row, float]]:
        """Yield rows and numbers of RHS or RANGES; the name of the set may be left out."""
        if len(fields) % 2:
            self.one_set(section, fields.pop(0))
        if len(fields) not in (2, 4):
            what = f"a line of {section} has one or two entries"
            raise self.error(what, " ".join(fields), "ROW NUMBER")
        for name, text in zip(fields[::2], fields[1::2], strict=True):
            if (section, name) in self.entered:
                raise self.error(f"a second entry in {section} for this row", name)
            self.entered.add((section, name))
            row, value = self.row(name), self.number(text)
            if row is not None:
                yield row, value

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
        self.model.sense = "maximize" if word.startswith("MAX") else "minimize"

    def _row(self, fields: list[str]) -> None:
        kind = fields[0].upper()
        if kind not in ("N", *_RELATIONS) or len(fields) != 2:
            raise self.error("this is no row", " ".join(fields), "N, E, L or G and one name")
        row = Row(fields[1], self.line)
        if row.name in self.kinds:
            raise self.error("a second row of the same name", row.name)
        if kind != "N":
            self.model.add_row(row)
            self.model.limit(row, _RELATIONS[kind], 0.0, self.line)
        elif "N" not in self.kinds.values():
            self.model.objective = row
        self.kinds[row.name] = kind

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
        if name in self.model.columns and name != self.latest:
            what = f"this column began on line {self.model.columns[name].line} and has ended since"
            raise self.error(what, name, "all entries of a column together")
        self.latest = name
        self.model.column(name, self.line).integral = self.whole
        for row_name, text in zip(fields[1::2], fields[2::2], strict=True):
            row, value = self.row(row_name), self.finite(text)
            if row is not None and name in row.terms:
                raise self.error("a second entry in the same row", row_name)
            if row is not None:
                row.terms[name] = value

    def _right_hand_side(self, fields: list[str]) -> None:
        for row, value in self.sides(fields, "RHS"):
            if row is not self.model.objective:
                self.model.limit(row, _RELATIONS[self.kinds[row.name]], value, self.line)
            elif abs(value) >= INFINITE:
                raise self.error("the objective's constant is infinite", f"{value:g}")
            else:
                self.model.offset = -value

    def _range(self, fields: list[str]) -> None:
        """Widen rows: an equation to the side that the sign says, others to their open side."""
        for row, value in self.sides(fields, "RANGES"):
            kind = self.kinds[row.name]
            if kind == "G" or (kind == "E" and value > 0):
                self.model.limit(row, "<=", row.lower + abs(value), self.line)
            elif kind == "L" or (kind == "E" and value < 0):
                self.model.limit(row, ">=", row.upper - abs(value), self.line)

    def _bound(self, fields: list[str]) -> None:
        kind, rest = fields[0].upper(), fields[1:]
        if kind not in _BOUNDS:
            raise self.error("this is no bound", fields[0], f"one of {', '.join(_BOUNDS)}")
        needed = 2 if any(value is None for _, value in _BOUNDS[kind]) else 1
        if len(rest) == 3 or (len(rest) == needed + 1 and rest[0] not in self.model.columns):
            self.one_set("BOUNDS", rest.pop(0))
        if len(rest) not in (needed, 2):
            raise self.error("this bound cannot be read", " ".join(rest), "SET COLUMN NUMBER")
        column = self.model.columns[self.column(rest[0])]
        given = self.number(rest[1]) if needed == 2 else 0.0
        if kind in ("UP", "UI", "SC") and given < 0.0 and "lower" not in column.stated:
            column.lower = -math.inf
            self.model.assumptions.append(
                f"{column.name} has a negative upper bound and no lower one, which is read as "
                f"no lower bound (line {self.line})"
            )
        for relation, value in _BOUNDS[kind]:
            self.model.limit(column, relation, given if value is None else value, self.line)
        column.semicontinuous |= kind == "SC"
        column.integral |= kind in ("BV", "LI", "UI")

    def _quadratic(self, off_diagonal: float, fields: list[str]) -> None:
        """Read an element of Q in 1/2 x'Qx of the objective."""
        if len(fields) != 3:
            what = "a quadratic term has two columns"
            raise self.error(what, " ".join(fields), "COLUMN COLUMN NUMBER")
        first, second = map(self.column, fields[:2])
        factor = 0.5 if first == second else off_diagonal
        self.model.add_product(first, second, factor * self.finite(fields[2]))

    def _finished(self) -> FileModel:
        model = self.model
        defaults = [c for c in model.columns.values() if c.integral and not c.stated]
        for column in defaults:
            column.upper = 1.0
        named = [column.name for column in defaults]
        self._assume("integer columns without bounds are read as 0 or 1, as is the custom", named)
        free = [k for k, kind in self.kinds.items() if kind == "N" and k != model.objective.name]
        self._assume("free rows beside the objective limit nothing and are left out", free)
        return model.finished()

    def _assume(self, what: str, names: list[str]) -> None:
        if names:
            more = ", …" if len(names) > 5 else ""
            self.model.assumptions.append(f"{what}: {', '.join(names[:5])}{more}")


_SECTIONS: Final[dict[str, tuple[Callable[[_Reader, list[str]], None], str]]] = {
    "NAME": (_Reader._nothing, ""),
    "OBJSENSE": (_Reader._sense, ""),
    "ROWS": (_Reader._row, ""),
    "LAZYCONS": (_Reader._row, "ROWS"),
    "COLUMNS": (_Reader._column, "ROWS"),
    "RHS": (_Reader._right_hand_side, "COLUMNS"),
    "RANGES": (_Reader._range, "COLUMNS"),
    "BOUNDS": (_Reader._bound, "COLUMNS"),
    "QUADOBJ": (lambda reader, fields: reader._quadratic(1.0, fields), "COLUMNS"),  # a triangle
    "QMATRIX": (lambda reader, fields: reader._quadratic(0.5, fields), "COLUMNS"),  # all of it
}
"""What reads the lines of each section, and the section that it needs before it."""
