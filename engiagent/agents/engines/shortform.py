r"""The blueprint as it goes over the wire: nothing that our side knows anyway, sources as words.

=========================== ======================================================================
``"8 MW"``                  words of the text; ``"holds [6 MWh]"`` where they stand more than once
``"list:Load in kW"``       the numbers of the list that follows these words
``"table:0:2:Power"``       the cell of table 0 in row 2, both counted from 0; without the row all
``"file:prices.csv#price"`` a column of a data file
``"assumption: reason"``    what the text does not say
``{"kind": "derived", …}``  as in the language, with sources in ``of`` in this form
=========================== ======================================================================

:func:`in_short` makes it from a blueprint, :func:`in_full` makes a blueprint of it. What a source
says is found in the problem; what is not found keeps its words and no place, which the checker
reports.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from engiagent.text import Problem
from engiagent.units.unit import UnitError, parse_unit
from engiagent.units.words import find_unit

Span = tuple[int, int]

MOST_WORDS: Final = 12
"""Of the words around a quote that tell it from others."""
_ALIKE: Final = (
    "-\N{HYPHEN}\N{NON-BREAKING HYPHEN}–—−",
    "'`\N{LEFT SINGLE QUOTATION MARK}\N{RIGHT SINGLE QUOTATION MARK}",
    '"“”„',
    "*×·",
    "μµ",
)
_NUMBER: Final = re.compile(r"[-+−–]?\d+(?:[.,]\d+)*(?:[eE][-+]?\d+)?")
_BETWEEN: Final = re.compile(r"(?:[\s,;:=&|\[\]({`]|\\\\|\band\b|(?:\bnp\.)?\barray\(|[€$£¥])+")
_BLANK: Final = re.compile(r"\s")
_MARKED: Final = re.compile(r"^(.*?)\[([^\[\]]+)\](.*)$", re.DOTALL)


@dataclass
class Quoting:
    """Finds quotes in a text, each at a place of its own; before ``begin`` it searches last."""

    text: str
    begin: int = 0
    taken: set[Span] = field(default_factory=set)

    def place(self, quote: str) -> Span | None:
        """Return where words stand, None where they do not."""
        marked = None if self._places(quote) else _MARKED.match(quote)
        places = self._places(quote) if marked is None else self._within(*marked.groups())
        if not places:
            return None
        fresh = [span for span in places if span not in self.taken]
        found = (fresh or places)[0]
        self.taken.add(found)
        return found

    def _places(self, quote: str) -> list[Span]:
        """Return the places of some words, those of the text proper first."""
        core = _pattern(quote)
        if not core:
            return []
        # "10 %" is no quote of "110 %", unless nothing else is there.
        for pattern in (rf"(?<![\w.,]){core}(?!\w)", core):
            found = [match.span() for match in re.finditer(pattern, self.text)]
            if found:
                return sorted(found, key=lambda span: (span[0] < self.begin, span))
        return []

    def _within(self, before: str, quote: str, after: str) -> list[Span]:
        """Return the places of a quote between other words."""
        parts = [_pattern(before), f"(?P<quote>{_pattern(quote)})", _pattern(after)]
        pattern = r"\s*".join(part for part in parts if part)
        return [match.span("quote") for match in re.finditer(pattern, self.text)]


def end_of_list(text: str, start: int) -> int:
    """Return where the numbers end that begin at a place, with the units beside them."""
    position = end = start
    while True:
        between = _BETWEEN.match(text, position)
        position = between.end() if between else position
        number = _NUMBER.match(text, position)
        if number is None:
            return end
        blank = _BLANK.match(text, number.end())
        unit = find_unit(text, number.end() if blank is None else blank.end())
        position = end = number.end() if unit is None else unit.end


def marked_quote(text: str, span: Span, begin: int = 0) -> str:
    """Return the words at a place, with words around them where they stand more than once."""
    quote = " ".join(text[slice(*span)].split())
    if Quoting(text, begin).place(quote) == span and len(Quoting(text)._places(quote)) == 1:
        return quote
    before, after = text[: span[0]].split(), text[span[1] :].split()
    for words in range(1, MOST_WORDS + 1):
        for left, right in ((words, 0), (words, words)):
            around = [*before[-left:], f"[{quote}]", *after[:right]]
            # No blank where the text has none: "5 kW" in "(5 kW)".
            said = " ".join(around)
            if _only(text, said) == span:
                return said
    return quote


def _only(text: str, said: str) -> Span | None:
    """Return the place of a marked quote that stands in one place only."""
    marked = _MARKED.match(said)
    if marked is None:
        return None
    found = Quoting(text)._within(*marked.groups())
    return found[0] if len(found) == 1 else None


def _pattern(words: str) -> str:
    """Return a pattern for words: any white space between them, signs that look alike as one."""
    return r"\s+".join("".join(_sign(char) for char in word) for word in words.split())


def _sign(char: str) -> str:
    alike = next((signs for signs in _ALIKE if char in signs), None)
    return re.escape(char) if alike is None else f"[{re.escape(alike)}]"


Json = Any

SOURCE: Final = "source_reference"
UNUSED: Final = "unused"
UNIT: Final = "unit"
EXPRESSIONS: Final = frozenset(["expression", "value", "where", "lower", "upper", "weight", "rate"])
_INLINE: Final = re.compile(r"(?<![\w.])(\d[\d.]*(?:[eE][-+]?\d+)?)\[([^\[\]]*)\]")
"""A number with a unit in an expression, and no name that ends in a digit."""
_POWER: Final = re.compile(r"(?<=[A-Za-z])([23])(?![\w.])")
"""An exponent without its sign, as in ``W/m2`` or ``ct/(K2*h)``."""
_CORE: Final = "core_model_elements"
_LISTS: Final = ("sets", "parameters", "decision_variables", "constraints")
_CELL: Final = re.compile(r"table:(\d{1,6}):(?:(\d{1,6}):)?(.+)", re.DOTALL)
_FILE: Final = re.compile(r"file:([^#]+)#(.+)", re.DOTALL)
_LIST: Final = re.compile(r"list:\s*(.+)", re.DOTALL)
_ASSUMED: Final = re.compile(r"assumption:\s*(.+)", re.DOTALL)
_VERSION: Final = "engiagent-blueprint/1"


# --- from a blueprint ----------------------------------------------------------------------------


def in_short(document: Mapping[str, Json], problem: Problem | None) -> dict[str, Json]:
    """Return a blueprint's JSON in its short form; what is no blueprint keeps its shape."""
    found = {key: _shortened(key, part, problem) for key, part in document.items()}
    found.pop("schema", None)
    if found.get("kind") == "programme":
        del found["kind"]
    core = found.get(_CORE)
    if isinstance(core, dict):
        found[_CORE] = {name: part for name, part in core.items() if part != []}
        parameters = core.get("parameters")
        for parameter in parameters if isinstance(parameters, list) else ():
            if isinstance(parameter, dict):
                parameter.pop("param_id", None)
    return found


def short_text(document: Mapping[str, Json], problem: Problem | None) -> str:
    """Return a blueprint's JSON in its short form, on one line."""
    short = in_short(document, problem)
    return json.dumps(short, ensure_ascii=False, separators=(",", ":"))


def _shortened(key: str, value: Json, problem: Problem | None) -> Json:
    """Return what stands under a key, in short."""
    if key == SOURCE:
        return _short_source(value, problem)
    if key == UNUSED and isinstance(value, list):
        return [_short_unused(entry, problem) for entry in value]
    if isinstance(value, list):
        return [_shortened("", item, problem) for item in value]
    if isinstance(value, dict):
        return {name: _shortened(name, part, problem) for name, part in value.items()}
    return value


def _short_unused(entry: Json, problem: Problem | None) -> Json:
    if not (isinstance(entry, dict) and isinstance(entry.get("quote"), str)):
        return entry
    return {"quote": _quote(entry, problem), "reason": entry.get("reason")}


def _short_source(source: Json, problem: Problem | None) -> Json:
    if isinstance(source, list):
        column = _whole_column(source, problem)
        return column or [_short_source(item, problem) for item in source]
    if not isinstance(source, dict) or "spans" in source:
        return source
    kind = source.get("kind")
    if kind == "text":
        return _quote(source, problem)
    if kind == "table" and isinstance(source.get("row"), int):
        return f"table:{source.get('table')}:{source['row']}:{source.get('column')}"
    if kind == "file":
        return f"file:{source.get('file')}#{source.get('column')}"
    if kind == "assumption":
        return f"assumption: {source.get('reason')}"
    kept = {k: v for k, v in source.items() if k != "of"}
    return {**kept, "of": _short_source(source["of"], problem)} if "of" in source else kept


def _quote(source: Mapping[str, Json], problem: Problem | None) -> str:
    span: Json = source.get("span")
    quote = str(source.get("quote") or "")
    if problem is None or not _is_span(span, problem.text):
        return quote
    return marked_quote(problem.text, (span[0], span[1]), problem.body_start)


def _whole_column(sources: list[Json], problem: Problem | None) -> str | None:
    """Return the name of a column whose cells, all of them in order, a list of sources is."""
    cells = [s for s in sources if isinstance(s, dict) and s.get("kind") == "table"]
    if problem is None or not cells or len(cells) != len(sources):
        return None
    table, column = cells[0].get("table"), cells[0].get("column")
    if not isinstance(table, int) or not 0 <= table < len(problem.tables):
        return None
    wanted = [list(cell.span) for _, cell in problem.tables[table].cells_of(str(column))]
    found = [c.get("span") for c in cells]
    same = all((c.get("table"), c.get("column")) == (table, column) for c in cells)
    return f"table:{table}:{column}" if same and found == wanted else None


# --- to a blueprint ------------------------------------------------------------------------------


def in_full(document: Mapping[str, Json], problem: Problem) -> dict[str, Json]:
    """Return the blueprint's JSON that a short form stands for."""
    placed = Placing.of(problem).value(document)
    core = placed.get(_CORE)
    if isinstance(core, dict):
        report = {"report": placed.pop("report")} if "report" in placed else {}
        placed[_CORE] = {**{name: [] for name in _LISTS}, **report, **core}
    return {"schema": _VERSION, "kind": "programme", **placed}


@dataclass
class Placing:
    """Finds the places of sources in a problem."""

    problem: Problem
    quoting: Quoting

    @classmethod
    def of(cls, problem: Problem) -> "Placing":
        """Return it for a problem."""
        return cls(problem, Quoting(problem.text, problem.body_start))

    def value(self, value: Json) -> Json:
        """Return a part of a blueprint with the places of its sources."""
        if isinstance(value, list):
            return [self.value(item) for item in value]
        if not isinstance(value, dict):
            return value
        full = {}
        for key, part in value.items():
            if key == SOURCE:
                full[key] = self.source(part)
            elif key == UNUSED and isinstance(part, list):
                full[key] = self.all_unused(part)
            elif isinstance(part, str):
                full[key] = self.units(key, part)
            else:
                full[key] = self.value(part)
        return full

    def units(self, key: str, text: str) -> str:
        """Return a unit, or an expression with units, with what the problem's text settles."""
        if key == UNIT:
            return self._settled(text)
        if key not in EXPRESSIONS:
            return text
        return _INLINE.sub(lambda match: f"{match[1]}[{self._settled(match[2])}]", text)

    def _settled(self, unit: str) -> str:
        try:
            parse_unit(unit)
        except UnitError:
            powered = _POWER.sub(r"^\1", unit.replace("**", "^"))
            found = find_unit(powered, 0, self.problem.conventions)
            if found is not None and found.end == len(powered) and found.unit is not None:
                return str(found.unit)
        return unit

    def at(self, path: str, value: Json) -> Json:
        """Return what a patch puts at a path, with the places of its sources."""
        steps = path.split("/")
        if steps[-1] == SOURCE:
            return self.source(value)
        if UNUSED in steps and isinstance(value, dict):
            found = self.unused(value)
            return found[0] if len(found) == 1 else value
        if steps[-1] == UNUSED and isinstance(value, list):
            return self.all_unused(value)
        if isinstance(value, str):
            return self.units(steps[-1], value)
        return self.value(value)

    def source(self, source: Json) -> Json:
        """Return a source with its place."""
        if isinstance(source, list):
            found = [self.source(item) for item in source]
            return [leaf for item in found for leaf in (item if isinstance(item, list) else [item])]
        if isinstance(source, str):
            return self._named(source)
        if not isinstance(source, dict):
            return source
        if source.get("kind") == "text" and isinstance(source.get("quote"), str):
            return self._text(source["quote"], source.get("span"))
        return {**source, "of": self.source(source["of"])} if "of" in source else source

    def all_unused(self, entries: list[Json]) -> list[Json]:
        """Return the places of everything that enters no equation."""
        return [found for entry in entries for found in self.unused(entry)]

    def unused(self, entry: Json) -> list[Json]:
        """Return the places of what enters no equation: words, a cell, a column, a data file."""
        if not (isinstance(entry, dict) and isinstance(entry.get("quote"), str)):
            return [entry]
        reason = entry.get("reason", "")
        file = _FILE.fullmatch(entry["quote"])
        if file is not None and file[1].strip() in self.problem.data:
            found = self._text(file[1].strip())
        elif _is_span(entry.get("span"), self.problem.text):
            found = self._text(entry["quote"], entry["span"])
        else:
            found = self._named(entry["quote"])
        return [
            {"span": place["span"], "quote": place["quote"], "reason": reason}
            for place in (found if isinstance(found, list) else [found])
            if "span" in place
        ]

    def _named(self, source: str) -> Json:
        patterns = (_CELL, _FILE, _ASSUMED, _LIST)
        cell, file, assumed, listed = (p.fullmatch(source) for p in patterns)
        if assumed is not None:
            return {"kind": "assumption", "reason": assumed[1].strip()}
        if file is not None and file[1].strip() in self.problem.data:
            return {"kind": "file", "file": file[1].strip(), "column": file[2].strip()}
        if listed is not None:
            return self._text(self._following(listed[1]))
        cells = None if cell is None else self._cells(int(cell[1]), cell[2], cell[3].strip())
        return self._text(source) if cells is None else cells

    def _following(self, words: str) -> str:
        """Return some words and the list of numbers behind them, as they stand in the text."""
        place = Quoting(self.problem.text, self.problem.body_start).place(words)
        if place is None:
            return words
        return self.problem.text[place[0] : end_of_list(self.problem.text, place[1])]

    def _cells(self, table: int, row: str | None, header: str) -> Json | None:
        if table >= len(self.problem.tables):
            return None
        found = self.problem.tables[table]
        column = found.column(header)
        if column is None or (row is not None and int(row) >= len(found.rows)):
            return None
        chosen = found.cells_of(header)
        if row is not None:
            chosen = ((int(row), found.rows[int(row)][column]),)
        cells = [
            {
                "kind": "table",
                "span": list(cell.span),
                "quote": cell.text,
                "table": table,
                "row": r,
                "column": header,
            }
            for r, cell in chosen
        ]
        return cells if row is None else cells[0]

    def _text(self, quote: str, span: Json = None) -> dict[str, Json]:
        """Return words of the text with their place; a place that was given and holds is kept."""
        text = self.problem.text
        if _is_span(span, text):
            start, stop = span
            if " ".join(text[start:stop].split()) == " ".join(quote.split()):
                return {"kind": "text", "span": [start, stop], "quote": text[start:stop]}
        place = self.quoting.place(quote)
        if place is None:
            return {"kind": "text", "quote": quote}
        return {"kind": "text", "span": list(place), "quote": text[slice(*place)]}


def _is_span(span: Json, text: str) -> bool:
    """Whether something is a place in a text."""
    if not (isinstance(span, list) and len(span) == 2 and all(type(n) is int for n in span)):
        return False
    return bool(0 <= span[0] < span[1] <= len(text))
