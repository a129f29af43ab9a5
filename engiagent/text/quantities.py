"""Every number of the body: in sentences, in tables, with its unit and its place."""

import re
from dataclasses import replace
from typing import Final

from engiagent.errors import InputError
from engiagent.text.lexer import Token, tokens_of
from engiagent.text.parts import Quantity, QuantityKind, Sentence, Span, Table
from engiagent.text.sharing import share
from engiagent.units.headers import split_header
from engiagent.units.unit import Unit
from engiagent.units.wordlists import listed
from engiagent.units.words import Conventions, resolve_unit

MAX_QUANTITIES: Final = 50_000

_HEADING_NUMBER: Final = re.compile(r"\d{1,3}(?:\.\d{1,3}){0,5}[.)]?\s")
_INDEX_HEADERS: Final = frozenset(listed("text", "headers of row numbers"))


def read_quantities(
    text: str,
    spaced: str,
    sentences: tuple[Sentence, ...],
    tables: tuple[Table, ...],
    conventions: Conventions,
    file: str,
) -> tuple[Quantity, ...]:
    """Return the quantities of sentences and tables in the order of the text.

    Raises InputError when there are more than 50 000.
    """
    reader = _Reader(text, spaced, conventions, file)
    for index, sentence in enumerate(sentences):
        reader.sentence(index, sentence)
    for index, table in enumerate(tables):
        reader.table(index, table)
    return tuple(sorted(reader.found, key=lambda q: q.number_span))


class _Reader:
    def __init__(self, text: str, spaced: str, conventions: Conventions, file: str) -> None:
        self.text, self.spaced, self.conventions, self.file = text, spaced, conventions, file
        self.found: list[Quantity] = []
        self.ranges = 0

    def sentence(self, index: int, sentence: Sentence) -> None:
        """Add the numbers of one sentence."""
        numbered = sentence.kind == "heading" and _HEADING_NUMBER.match(
            self.spaced[slice(*sentence.span)]
        )
        for quantity in self._stretch(sentence.span):
            if numbered and quantity.span[0] == sentence.span[0] and quantity.kind == "number":
                quantity = replace(quantity, kind="label")
            self.found.append(replace(quantity, sentence=index))

    def table(self, index: int, table: Table) -> None:
        """Add the numbers of one table; a bare number takes the unit of its row or its column."""
        keys = _key_columns(table)
        across = _counts_up([cell.text for cell in table.header if cell.text.isdigit()])
        for row, cells in enumerate((table.header, *table.rows), start=-1):
            for column, cell in enumerate(cells):
                for quantity in self._stretch(cell.span):
                    keyed = column in keys or (column == 0 and not _is_numeric(cell.text))
                    if _names_only(quantity) and (keyed if row >= 0 else across):
                        quantity = replace(quantity, kind="label")
                    if row >= 0 and quantity.kind == "number" and not quantity.unit_text:
                        quantity = self._in_table(quantity, table, row, column)
                    self.found.append(replace(quantity, table=(index, row, column)))

    def _in_table(self, quantity: Quantity, table: Table, row: int, column: int) -> Quantity:
        found = self._table_unit(table, row, column)
        if found is None:
            return quantity
        unit, written, span = found
        return replace(
            quantity, unit=unit, unit_text=written, unit_span=span, kind=_kind(unit, written)
        )

    def _table_unit(
        self, table: Table, row: int, column: int
    ) -> tuple[Unit | None, str, Span | None] | None:
        """Return the unit of a bare number: of the unit column, its column, or its row's name."""
        if column == table.unit_column:
            return None
        if table.unit_column is not None:
            cell = table.rows[row][table.unit_column]
            if cell.text and cell.text not in "-–—":
                return resolve_unit(cell.text, self.conventions), cell.text, cell.span
        if table.unit_texts[column]:
            return table.units[column], table.unit_texts[column], table.unit_spans[column]
        first = table.rows[row][0]
        header = split_header(first.text, self.conventions) if column else None
        if header is not None and header.unit_text and header.span is not None:
            shift = first.span[0]
            span = (header.span[0] + shift, header.span[1] + shift)
            return header.unit, header.unit_text, span
        return None

    def _stretch(self, span: Span) -> list[Quantity]:
        stretch = self.spaced[span[0] : span[1]]
        room = MAX_QUANTITIES - len(self.found)
        tokens = tokens_of(stretch, self.conventions, room + 1)
        if len(tokens) > room:
            raise InputError(f"more than {MAX_QUANTITIES} numbers", self.file)
        tokens = share(stretch, tokens)
        found = [self._quantity(token, span[0]) for token in tokens]
        self.ranges += 1 + max((token.range_index or 0 for token in tokens), default=0)
        return found

    def _quantity(self, token: Token, shift: int) -> Quantity:
        span = _moved(token.start, token.end, shift)
        return Quantity(
            value=float(token.exact),
            exact=token.exact,
            unit=token.unit,
            unit_text=token.unit_text,
            span=span,
            number_span=_moved(*token.number, shift),
            unit_span=None if token.unit_span is None else _moved(*token.unit_span, shift),
            text=" ".join(self.text[slice(*span)].split()),
            kind=token.kind,
            range_id=None if token.range_index is None else self.ranges + token.range_index,
            approximate=token.approximate,
            ambiguous=token.ambiguous,
            date=token.date,
        )


def _key_columns(table: Table) -> set[int]:
    """Return the columns that only number the rows: hours, periods, and a first one that counts."""
    found = set()
    for column, (name, unit) in enumerate(zip(table.names, table.units, strict=True)):
        words = name.lower().split()
        timed = unit is None or unit.dimension == (("s", 1),)
        numbered = column == 0 or table.names.count(name) > 1
        counted = column == 0 and timed and _counts_up([row[0].text for row in table.rows])
        if counted or (numbered and bool(words) and words[0] in _INDEX_HEADERS):
            found.add(column)
    return found


def _counts_up(texts: list[str]) -> bool:
    """Whether at least three cells hold whole numbers, each one more than the one before."""
    if len(texts) < 3 or not all(text.isdigit() and len(text) < 5 for text in texts):
        return False
    return [int(text) - int(texts[0]) for text in texts] == list(range(len(texts)))


def _is_numeric(text: str) -> bool:
    """Whether a cell holds a value, not a name with a number in it, as ``Truck 3``."""
    return not re.match(r"[A-Za-z]", text)


def _names_only(quantity: Quantity) -> bool:
    bare = quantity.kind == "number" and not quantity.unit_text
    return bare and quantity.exact.denominator == 1 and quantity.exact < 10_000


def _moved(start: int, end: int, shift: int) -> Span:
    return start + shift, end + shift


def _kind(unit: Unit | None, written: str) -> QuantityKind:
    if written.lower().startswith(("%", "percent", "per cent")):
        return "percent"
    if unit is not None and unit.dimension == (("s", 1),):
        return "duration"
    return "number"
