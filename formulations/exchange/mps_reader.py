"""MPS files: text to a model, every error with its line.

Fields are taken by blanks, as in free MPS. HiGHS's own reader, tried on the same files, takes
``r two`` for no entry, drops second entries, and never ends at a row that is not declared; so it is
not used.
"""

import math
import re
from typing import Final

from engiagent.errors import InputError
from engiagent.formulations.exchange.model import INFINITE, FileModel, Row, SourceText

_NUMBER: Final = re.compile(r"[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|(?i:inf(?:inity)?))")
_RELATIONS: Final = {"E": "=", "L": "<=", "G": ">="}
_BOUNDS: Final[dict[str, tuple[tuple[str, float | None], ...]]] = {
    "UP": (("<=", None),),
    "LO": ((">=", None),),
    "FX": (("=", None),),
    "LI": ((">=", None),),
    "UI": (("<=", None),),
    "FR": ((">=", -math.inf), ("<=", math.inf)),
    "MI": ((">=", -math.inf),),
    "PL": (("<=", math.inf),),
    "BV": ((">=", 0.0), ("<=", 1.0)),
}
"""What each kind of bound says; None stands for the number on its line."""
_SECTIONS: Final = {
    "NAME": ("", "nothing"),
    "OBJSENSE": ("", "MIN or MAX"),
    "ROWS": ("", "N, E, L or G and one name"),
    "COLUMNS": ("ROWS", "COLUMN ROW NUMBER, perhaps ROW NUMBER, names without blanks"),
    "RHS": ("COLUMNS", "SET ROW NUMBER, perhaps ROW NUMBER"),
    "RANGES": ("COLUMNS", "SET ROW NUMBER, perhaps ROW NUMBER"),
    "BOUNDS": ("COLUMNS", f"{', '.join(_BOUNDS)}, then SET COLUMN NUMBER"),
}
"""By section the one that it needs before it, and what stands on its lines."""


def parse_mps(source: SourceText) -> FileModel:
    """Return the model in the text of an MPS file; InputError with the line."""
    reader, section, seen = _Reader(source), "", set[str]()
    for line, text in enumerate(source.lines, 1):
        reader.line, fields = line, text.split()
        if not fields or text.startswith("*"):
            continue
        if not text[0].isspace():
            section = fields.pop(0).upper()
            if section == "ENDATA":
                return reader.finished()
            needed = _SECTIONS.get(section, ("?",))[0]
            if section in seen or (needed and needed not in seen):
                what = "this section is not read, or cannot stand here"
                raise reader.error(what, section, f"one of {', '.join(_SECTIONS)}, each once")
            seen.add(section)
            if section == "NAME":
                reader.model.name = fields[0] if fields else "model"
            if section != "OBJSENSE" or not fields:
                continue
        if not section:
            raise reader.error("this is no MPS file", fields[0], "NAME or ROWS at a line's start")
        comments = [k for k, word in enumerate(fields) if word[0] == "$" and k >= 2]
        try:
            reader.read(section, fields[: comments[0]] if comments else fields)
        except (ValueError, IndexError):
            what, expected = f"this is no line of {section}", _SECTIONS[section][1]
            raise reader.error(what, " ".join(fields), expected) from None
        except KeyError as error:
            raise reader.error(f"{error} is not declared", " ".join(fields)) from None
    raise reader.error("the file is cut off or no MPS file", None, "NAME, ROWS, … and ENDATA")


class _Reader:
    """Reads one file; ``line`` is the one being read."""

    def __init__(self, source: SourceText) -> None:
        self.model, self.line = FileModel(source), 1
        self.rows: dict[str, Row] = {}  # those without limits too
        self.kinds: dict[str, str] = {}
        self.entered: set[tuple[str, ...]] = set()
        self.sets: dict[str, str] = {}
        self.whole, self.latest = False, ""

    def error(self, what: str, found: str | None = None, expected: str | None = None) -> InputError:
        """Return an error at the line that is being read."""
        return self.model.source.error(self.line, what, found, expected)

    def read(self, section: str, fields: list[str]) -> None:
        """Read a line; of a wrong form it is a ValueError, of an unknown name a KeyError."""
        if section == "OBJSENSE" and re.fullmatch(r"(?i)(min|max)(imi[sz]e)?", fields[0]):
            self.model.sense = "maximize" if fields[0].upper()[:3] == "MAX" else "minimize"
        elif section == "ROWS":
            self.declare(fields[0].upper(), *fields[1:])
        elif section == "BOUNDS":
            self.bound(fields[0].upper(), fields[1:])
        elif section == "COLUMNS" and fields[1:2] == ["'MARKER'"]:
            self.whole = ("'INTEND'", "'INTORG'").index(fields[-1].upper()) == 1
        elif section == "COLUMNS":
            self.column(fields[0], fields[1:])
        elif section in ("RHS", "RANGES"):
            if len(fields) % 2:
                self.one_set(section, fields.pop(0))
            for name, value in self.pairs(fields):
                self.once(section, name)
                (self.side if section == "RHS" else self.widen)(name, value)
        else:
            raise ValueError

    def number(self, text: str) -> float:
        """Return a number, which may be infinite."""
        if not _NUMBER.fullmatch(text):
            raise self.error("a number is needed here", text, "as 3.5 or -1e30")
        return float(text)

    def once(self, section: str, *entry: str) -> None:
        """Refuse a second entry of a section."""
        if (section, *entry) in self.entered:
            raise self.error(f"a second entry in {section}", " ".join(entry))
        self.entered.add((section, *entry))

    def one_set(self, section: str, name: str) -> None:
        """Refuse a second set of right-hand sides, ranges or bounds."""
        if self.sets.setdefault(section, name) != name:
            raise self.error(f"a second set in {section}", name, self.sets[section])

    def pairs(self, fields: list[str]) -> list[tuple[str, float]]:
        """Return one or two names with their numbers."""
        if len(fields) not in (2, 4):
            raise ValueError
        return list(zip(fields[::2], map(self.number, fields[1::2]), strict=True))

    def declare(self, kind: str, name: str, *more: str) -> None:
        """Declare a row."""
        if more or kind not in ("N", *_RELATIONS):
            raise ValueError
        self.once("ROWS", name)
        row = self.rows[name] = Row(name, self.line)
        if kind != "N":
            self.model.add_row(row)
            self.model.limit(row, _RELATIONS[kind], 0.0, self.line)
        elif "N" not in self.kinds.values():
            self.model.objective = row
        self.kinds[name] = kind

    def column(self, name: str, entries: list[str]) -> None:
        """Read coefficients of a column, which stand together."""
        if name in self.model.columns and name != self.latest:
            what = f"this column began on line {self.model.columns[name].line} and has ended since"
            raise self.error(what, name, "all entries of a column together")
        self.latest = name
        pairs = self.pairs(entries)
        self.model.column(name, self.line).integral = self.whole
        for row, value in pairs:
            if abs(value) >= INFINITE:
                raise self.error("this number is infinite", f"{value:g}", "less than 1e20")
            self.once("COLUMNS", name, row)
            self.rows[row].terms[name] = value

    def side(self, name: str, value: float) -> None:
        """Read the right-hand side of a row, or the constant of the objective."""
        row = self.rows[name]
        if row is self.model.objective and abs(value) >= INFINITE:
            raise self.error("this number is infinite", f"{value:g}", "less than 1e20")
        if row is self.model.objective:
            self.model.offset = -value
        elif self.kinds[name] != "N":
            self.model.limit(row, _RELATIONS[self.kinds[name]], value, self.line)

    def widen(self, name: str, value: float) -> None:
        """Widen a row: an equation to the side that the sign says, others to their open side."""
        row, kind = self.rows[name], self.kinds[name]
        if kind == "G" or (kind == "E" and value > 0):
            self.model.limit(row, "<=", row.lower + abs(value), self.line)
        elif kind == "L" or (kind == "E" and value < 0):
            self.model.limit(row, ">=", row.upper - abs(value), self.line)

    def bound(self, kind: str, rest: list[str]) -> None:
        """Read a bound of a column; the name of its set may be left out."""
        limits = _BOUNDS.get(kind, ())
        needed = 2 if any(value is None for _, value in limits) else 1
        if len(rest) == 3 or (len(rest) == needed + 1 and rest[0] not in self.model.columns):
            self.one_set("BOUNDS", rest.pop(0))
        if not limits or len(rest) not in (needed, 2):
            raise ValueError
        column = self.model.columns[rest[0]]
        given = self.number(rest[1]) if needed == 2 else 0.0
        if kind in ("UP", "UI") and given < 0.0 and "lower" not in column.stated:
            what = "a negative upper bound and no lower one, which readers take for 0 or -infinity"
            raise self.error(what, column.name, "its lower bound before it, as LO or MI")
        for relation, value in limits:
            self.model.limit(column, relation, given if value is None else value, self.line)
        column.integral |= kind in ("BV", "LI", "UI")

    def finished(self) -> FileModel:
        """Return the model once all is read."""
        model = self.model
        defaults = [c for c in model.columns.values() if c.integral and not c.stated]
        for column in defaults:
            column.upper = 1.0
        free = [k for k, kind in self.kinds.items() if kind == "N" and k != model.objective.name]
        for what, names in (
            ("integer columns without bounds are read as 0 or 1", [c.name for c in defaults]),
            ("free rows beside the objective limit nothing and are left out", free),
        ):
            more = ", …" if len(names) > 5 else ""
            model.assumptions += [f"{what}: {', '.join(names[:5])}{more}"] if names else []
        return model.finished()
