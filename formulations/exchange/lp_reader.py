"""CPLEX LP files: text to a model, every error with its line.

Read are sums of terms with a number on the right, bounds on lines of their own and whole numbers.
HiGHS's own reader knows no names such as ``x[1,2]`` and drops the constant of ``x + 3 >= 4``; so it
is not used.
"""

import re
from collections.abc import Iterator
from typing import Final

from engiagent.formulations.exchange.model import INFINITE, FileModel, Row, SourceText

_SECTIONS: Final = {
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
    r"\s*(?:" + "|".join(f"(?P<{name}>{words})" for name, words in _SECTIONS.items()) + r")"
    r"(?=\s|$)(?!\s*(?:[:<>=*^+-]|free\b))",
    re.IGNORECASE,
)
# A bracket that follows a name at once belongs to it, with whatever it holds: x[1,2], x(t-1).
_HEAD: Final = r"""[^\W\d]|[_!"#$%&,;?@'`{}|~]"""
_NUMBER: Final = r"(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|(?i:inf(?:inity)?)(?![\w\[(]))"
_NAME: Final = rf"(?!{_NUMBER})(?:{_HEAD})(?:{_HEAD}|[\d./]|\[[^\[\]\s]*\]|\([^()\s]*\)|[()])*+"
_RELATION: Final = r"<=|=<|>=|=>|<(?!-)|>|="
_SIGNED: Final = rf"(?:[+-]\s*)?{_NUMBER}"
_LABEL: Final = re.compile(rf"\s*({_NAME})\s*:")
_TERM: Final = re.compile(
    rf"\s*(?P<signs>(?:[+-]\s*)*)(?:(?P<number>{_NUMBER})\s*\*?)?\s*(?P<name>{_NAME})?\s*"
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
    known = ", ".join(name for name in _SECTIONS if name != "unknown")
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
