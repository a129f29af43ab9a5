"""Every number of the body: in sentences, in tables, with its unit and its place.

Numbers share the unit of a range or a list with their neighbours.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from typing import Final

from engiagent.errors import InputError
from engiagent.text.lexer import Token, kind_of, tokens_of
from engiagent.text.parts import Quantity, Sentence, Span, Table
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
    """Return the quantities of sentences and tables in the order of the text."""
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
                    bare = quantity.kind == "number" and not quantity.unit_text
                    found = self._table_unit(table, row, column) if bare and row >= 0 else None
                    if found is not None:
                        unit, text, span = found
                        quantity = replace(quantity, unit=unit, unit_text=text, unit_span=span)
                        quantity = replace(quantity, kind=kind_of(unit, text))
                    self.found.append(replace(quantity, table=(index, row, column)))

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
        def moved(start: int, end: int) -> Span:
            return start + shift, end + shift

        span = moved(token.start, token.end)
        return Quantity(
            value=float(token.exact),
            exact=token.exact,
            unit=token.unit,
            unit_text=token.unit_text,
            span=span,
            number_span=moved(*token.number),
            unit_span=None if token.unit_span is None else moved(*token.unit_span),
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
    times = Counter(table.names)
    for column, (name, unit) in enumerate(zip(table.names, table.units, strict=True)):
        words = name.lower().split()
        timed = unit is None or unit.dimension == (("s", 1),)
        numbered = column == 0 or times[name] > 1
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


_RANGE: Final = re.compile(
    r"(?i)\s{0,20}(?:-|–|—|\u2012|to|until|till|through|up\s{1,20}to(?:\s{1,20}and\s{1,20}including)?|\.{2,3}|…)\s{0,20}"
)
_AND: Final = re.compile(r"(?i)\s{0,20}and\s{0,20}")
_LIST: Final = re.compile(r"(?i)\s{0,20}(?:,|;|/|&|,?\s{0,20}(?:and|or|respectively))\s{0,20}")
_BETWEEN: Final = re.compile(
    r"(?i)\b(?:between|in\s{1,20}the\s{1,20}range)(?:\s{1,20}of)?\s{1,20}$"
)
_DIMENSIONLESS: Final = re.compile(
    r"(?i)(?:efficienc|\bcop\b|coefficient|factor|share|ratio|fraction|probabilit|number\s{1,20}of)"
    r"[^,.;]{0,30}$"
)
_MAX_GAP: Final = 60


def share(text: str, tokens: Iterable[Token]) -> list[Token]:
    """Return the tokens of a stretch with shared units filled in and ranges joined."""
    found = list(tokens)
    ranges = 0
    for k in range(len(found) - 2, -1, -1):
        left, right = found[k], found[k + 1]
        gap = text[left.end : right.start]
        if len(gap) > _MAX_GAP:
            continue
        if _is_range(text, gap, left) and _comparable(left, right):
            first, second = _ends(left, right)
            index = ranges if right.range_index is None else right.range_index
            ranges += right.range_index is None
            found[k] = replace(first, range_index=index)
            found[k + 1] = replace(second, range_index=index)
        elif (right.plus_minus and not gap.strip()) or (
            _LIST.fullmatch(gap) and _list_shares(text, left, right)
        ):
            found[k] = _with_unit_of(left, right)
    return _labels_on(text, found)


def _is_range(text: str, gap: str, left: Token) -> bool:
    if _RANGE.fullmatch(gap):
        return True
    before = text[max(0, left.start - 30) : left.start]
    return bool(_AND.fullmatch(gap) and _BETWEEN.search(before))


def _comparable(left: Token, right: Token) -> bool:
    """Whether two neighbours can be the ends of one range."""
    if left.kind == right.kind and left.kind in ("clock", "date"):
        return True
    plain = ("number", "percent", "duration", "word")
    if right.kind == "clock" and left.is_bare:
        return left.exact.denominator == 1 and 0 <= left.exact <= 24
    if left.kind not in plain or right.kind not in plain:
        return False
    if _per_follows(left, right):
        return True
    if left.unit is not None and right.unit is not None:
        return left.unit.same_dimension(right.unit)
    if left.unit_text and right.unit_text:
        return left.unit_text == right.unit_text
    return not (left.kind == "word" and right.kind == "word" and not right.unit_text)


def _ends(left: Token, right: Token) -> tuple[Token, Token]:
    if right.kind == "clock" and left.is_bare:
        hours = left.exact
        if right.half:
            hours = hours % 12 + (12 if right.half == "p" else 0)
            if hours > right.exact and right.half == "p":
                hours -= 12  # from 9 to 5 pm
        return replace(left, kind="clock", exact=Fraction(hours)), right
    if right.kind == "clock" and right.is_midnight:
        return left, replace(right, exact=Fraction(24))  # from 22:00 to midnight
    if _per_follows(left, right):
        unit = resolve_unit(f"{left.unit}{str(right.unit)[1:]}")
        text = f"{left.unit_text} {right.unit_text}"
        return replace(left, unit=unit, unit_text=text), replace(right, unit=unit, unit_text=text)
    if not left.unit_text and right.unit_text:
        return _with_unit_of(left, right), right
    if left.unit_text and not right.unit_text:
        return left, _with_unit_of(right, left)
    return left, right


def _per_follows(left: Token, right: Token) -> bool:
    """Whether a currency before the first number and a ``per`` behind the second are one unit."""
    per = right.unit_text.lower().startswith(("per ", "/")) and right.unit is not None
    return per and bool(left.currency) and left.unit_text == left.currency


def _with_unit_of(bare: Token, other: Token) -> Token:
    if bare.unit_text or not other.unit_text or bare.kind not in ("number", "word"):
        return bare
    kind = other.kind if bare.kind == "number" or other.kind == "duration" else bare.kind
    return replace(
        bare, unit=other.unit, unit_text=other.unit_text, unit_span=other.unit_span, kind=kind
    )


def _list_shares(text: str, left: Token, right: Token) -> bool:
    if not left.is_bare or not right.unit_text or right.currency:
        return False
    return not _DIMENSIONLESS.search(text[max(0, left.start - 60) : left.start])


def _labels_on(text: str, found: list[Token]) -> list[Token]:
    """Make the rest of "zones 1, 2 and 3" labels like its first number."""
    for k in range(1, len(found)):
        left, right = found[k - 1], found[k]
        gap = text[left.end : right.start]
        if (
            left.kind == "label"
            and right.is_bare
            and right.exact.denominator == 1
            and (_LIST.fullmatch(gap[:_MAX_GAP]) or _RANGE.fullmatch(gap[:_MAX_GAP]))
        ):
            found[k] = replace(right, kind="label")
    return found
