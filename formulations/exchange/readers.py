"""CPLEX LP and MPS files: text to a model, every error with its line.

Of LP files sums of terms with a number on the right, bounds on lines of their own and whole numbers
are read; fields of MPS files are taken by blanks, as in free MPS. HiGHS's own readers drop the
constant of ``x + 3 >= 4``, know no names such as ``x[1,2]``, take ``r two`` for no entry and never
end at a row that is not declared; so they are not used.
"""

import math
import re
from collections.abc import Iterator
from typing import Final

from engiagent.errors import InputError
from engiagent.formulations.exchange.model import INFINITE, FileModel, Row, SourceText

_LP_SECTIONS: Final = {
    "minimize": r"minimi[sz]e|minimum|min",
    "maximize": r"maximi[sz]e|maximum|max",
    "constraints": r"subject\s+to|such\s+that|s\.t\.|st\.|st",
    "unknown": r"general\s+constraints?|gencons(?:tr)?|semi-\w+|semis?|sos[12]?|pwlobj|pwl"
    r"|lazy\s+constraints?|user\s+cuts?",
    "bounds": r"bounds?",
    "generals": r"generals?|gen|integers?|int",
    "binaries": r"binary|binaries|bin",
    "end": r"end",
}
_SECTION: Final = re.compile(
    r"\s*(?:" + "|".join(f"(?P<{name}>{words})" for name, words in _LP_SECTIONS.items()) + r")"
    r"(?=\s|$)(?!\s*(?:[:<>=*^+-]|free\b))",
    re.IGNORECASE,
)
# A bracket that follows a name at once belongs to it, with whatever it holds: x[1,2], x(t-1).
_HEAD: Final = r"""[^\W\d]|[_!"#$%&,;?@'`{}|~]"""
_LP_NUMBER: Final = r"(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|(?i:inf(?:inity)?)(?![\w\[(]))"
_NAME: Final = rf"(?!{_LP_NUMBER})(?:{_HEAD})(?:{_HEAD}|[\d./]|\[[^\[\]\s]*\]|\([^()\s]*\)|[()])*+"
_RELATION: Final = r"<=|=<|>=|=>|<(?!-)|>|="
_SIGNED: Final = rf"(?:[+-]\s*)?{_LP_NUMBER}"
_LABEL: Final = re.compile(rf"\s*({_NAME})\s*:")
_TERM: Final = re.compile(
    rf"\s*(?P<signs>(?:[+-]\s*)*)(?:(?P<number>{_LP_NUMBER})\s*\*?)?\s*(?P<name>{_NAME})?\s*"
)
_SIDE: Final = re.compile(rf"(?P<relation>{_RELATION})\s*(?P<value>{_SIGNED})[ \t]*(?=\n|\Z)")
_BOUND: Final = re.compile(
    rf"(?:(?P<left>{_SIGNED})\s*(?P<first>{_RELATION})\s*)?(?P<name>{_NAME})"
    rf"(?:\s+(?P<free>(?i:free))|\s*(?P<second>{_RELATION})\s*(?P<right>{_SIGNED}))?"
)
_CONSTRAINT: Final = "terms left and one number right, as cap: 2 x + y <= 4; no quadratic terms"


def parse_lp(source: SourceText) -> FileModel:
    """Return the model in the text of an LP file; InputError with the line."""
    model, begun = FileModel(source), False
    for section, first, text in _sections(source):
        if (section in ("minimize", "maximize")) == begun:
            expected = "Subject To, Bounds, …" if begun else "Minimize or Maximize"
            raise source.error(first, "this section cannot stand here", section, expected)
        if not begun:
            begun, model.sense = True, "minimize" if section == "minimize" else "maximize"
            label = _LABEL.match(text)
            model.objective = Row("objective" if label is None else label[1], first)
            model.name = model.objective.name
            place = label.end() if label is not None else 0
            place, model.offset = _terms(model, model.objective, text, place, first)
            if place < len(text.rstrip()):
                raise _no_sum(source, text, place, first)
        elif section == "constraints":
            _constraints(model, text.rstrip(), first)
        for line, part in enumerate(text.split("\n"), first):
            if section == "bounds" and part.strip():
                _bound(model, line, part.strip())
            for name in part.split() if section in ("generals", "binaries") else ():
                if not re.fullmatch(_NAME, name):
                    raise source.error(line, "a variable is needed here", name)
                column = model.column(name, line)
                column.integral = True
                if section == "binaries":
                    column.lower, column.upper = max(column.lower, 0.0), min(column.upper, 1.0)
    return model.finished()


def _sections(source: SourceText) -> Iterator[tuple[str, int, str]]:
    """Yield the sections of a file: their name, their first line and their text."""
    known = ", ".join(name for name in _LP_SECTIONS if name != "unknown")
    section, first, lines = "", 1, list[str]()
    for line, text in enumerate(source.lines, 1):
        content = text.partition("\\")[0].rstrip()
        found = _SECTION.match(content)
        if section == "end" and content:
            raise source.error(line, "text after the end", content.strip())
        if found is None or section == "end":
            lines.append(content)
        elif found["unknown"]:
            what = "this kind of section is not read"
            raise source.error(line, what, content.strip(), f"one of {known}")
        else:
            if section:
                yield section, first, "\n".join(lines)
            section, first, lines = found.lastgroup or "", line, [content[found.end() :]]
        if not section and content:
            expected = "Minimize or Maximize (the CPLEX LP format; lp_solve's own is another one)"
            raise source.error(line, "this is no LP file", content.strip(), expected)
    if not section:
        raise source.error(1, "the file is empty", None, "Minimize or Maximize")
    if section != "end" or any(map(str.strip, lines)):
        last = len(source.lines)
        raise source.error(last, "the file is cut off", None, "End on a line of its own")


def _line(text: str, place: int, first: int) -> int:
    return first + text.count("\n", 0, place + len(text[place:]) - len(text[place:].lstrip()))


def _no_sum(source: SourceText, text: str, place: int, first: int) -> Exception:
    """Return the error for what cannot be read as terms, or as the side of a constraint."""
    found = text[place:].lstrip().split("\n")[0].rstrip()
    line = _line(text, place, first)
    return source.error(line, "this is no sum", found or "the end of the section", _CONSTRAINT)


def _terms(model: FileModel, row: Row, text: str, place: int, first: int) -> tuple[int, float]:
    """Read terms into a row; return where they end, and the constant among them."""
    constant, begin, line, counted = 0.0, place, first + text.count("\n", 0, place), place
    while place < len(text) and (match := _TERM.match(text, place)):
        number, name = match["number"], match["name"]
        if not (number or name) or (place > begin and not match["signs"]):
            break
        value = (-1.0) ** match["signs"].count("-") * float(number or 1.0)
        if abs(value) >= INFINITE:
            what = "this number is infinite"
            raise model.source.error(_line(text, place, first), what, number, "less than 1e20")
        if name:
            line += text.count("\n", counted, match.start("name"))
            counted = match.start("name")
            known = model.column(name, line).name
            row.terms[known] = row.terms.get(known, 0.0) + value
        else:
            constant += value
        place = match.end()
    return place, constant


def _constraints(model: FileModel, text: str, first: int) -> None:
    """Read constraints, each with one number on its right side, at the end of a line."""
    place, line, counted = 0, first, 0
    while place < len(text):
        start = place + len(text[place : place + 200]) - len(text[place : place + 200].lstrip())
        line, counted = line + text.count("\n", counted, start), start
        label = _LABEL.match(text, place)
        name = label[1] if label is not None else f"R{len(model.rows) + 1}"
        while label is None and name in model.rows:
            name += "_"
        row = Row(name, line)
        place = label.end() if label is not None else place
        place, constant = _terms(model, row, text, place, first)
        side = _SIDE.match(text, place)
        if side is None or constant or not row.terms:
            raise _no_sum(model.source, text, place if side is None else start, first)
        value = float("".join(side["value"].split()))
        model.limit(row, _relation(side["relation"]), value, line)
        model.add_row(row)
        place = side.end()


def _relation(text: str) -> str:
    return "<=" if "<" in text else ">=" if ">" in text else "="


def _bound(model: FileModel, line: int, text: str) -> None:
    """Read the bounds of one variable."""
    found = _BOUND.fullmatch(text)
    if found is None or not (found["left"] or found["free"] or found["second"]):
        expected = "one variable and numbers, as 1 <= x <= 3"
        raise model.source.error(line, "this is no bound", text, expected)
    column = model.column(found["name"], line)
    if found["free"]:
        model.limit(column, ">=", float("-inf"), line)
        model.limit(column, "<=", float("inf"), line)
    if found["first"]:
        relation = {"<=": ">=", ">=": "<=", "=": "="}[_relation(found["first"])]
        model.limit(column, relation, float("".join(found["left"].split())), line)
    if found["second"]:
        value = float("".join(found["right"].split()))
        model.limit(column, _relation(found["second"]), value, line)


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
