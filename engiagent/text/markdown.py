"""The blocks of a Markdown text, read line by line, with markup blanked out in place.

The masks have the length of the text, so that an offset means the same place in all three:
``clean`` marks dropped markup with NUL (which no problem text contains), ``spaced`` with blanks.
"""

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Literal

from engiagent.errors import InputError
from engiagent.text.parts import Cell, Span
from engiagent.units.currencies import MATH

BlockKind = Literal["paragraph", "item", "heading", "code", "table"]

MAX_TABLES: Final = 1_000
MAX_CELLS: Final = 200_000
DROPPED: Final = "\0"

_HEADING: Final = re.compile(r" {0,3}(#{1,6})(?:[ \t]+|$)")
_ITEM: Final = re.compile(r"[ \t]*(?:[-*+•–]|\d{1,3}[.)]|[a-z]\))[ \t]+(?=\S)")
_FENCE: Final = re.compile(r"[ \t]*(`{3,}|~{3,})")
_RULE: Final = re.compile(r" {0,3}(?:-[ \t]*){3,}$| {0,3}(?:\*[ \t]*){3,}$| {0,3}(?:_[ \t]*){3,}$")
_QUOTE: Final = re.compile(r" {0,3}(?:> ?)+")
_DELIMITER_CELL: Final = re.compile(r":?-+:?")

_MATH_MARKUP: Final = re.compile(r"\\(?:text|mathrm|mathit|operatorname)\b|\\[,;:! ]|[{}]|\\(?=%)")
_MATH_UNIT: Final = re.compile(
    r"(\^\{?\\circ\}?\s?)?(?:\\(?:text|mathrm)\s?)?\{?([A-Za-z]{1,4})\}?(?(1)|\^\{?(-?\d)\}?)"
)
"""A degree, or a unit with an exponent behind its braces."""
_INDEX: Final = re.compile(r"(?<=[A-Za-z}])_\{[^{}\n]{1,60}\}")
_YES_OR_NO: Final = re.compile(r"\\?\{\s{0,3}0\s{0,3},\s{0,3}1\s{0,3}\\?\}")
_EMPHASIS: Final = re.compile(
    r"(?<![\w*])\*{1,3}(?=[^\s*])|(?<=[^\s*])\*{1,3}(?![\w*])"
    r"|(?<![\w_])_{1,3}(?=[^\s_])|(?<=[^\s_])_{1,3}(?![\w_])|`+"
)
_LINK: Final = re.compile(r"!?\[([^\[\]\n]{1,300})\]\(([^()\s]{1,500})\)")
_URL: Final = re.compile(r"https?://[^\s<>)\]]+")


@dataclass(frozen=True)
class Block:
    """A stretch of text of one kind; headings and items without their markers."""

    kind: BlockKind
    span: Span


@dataclass(frozen=True)
class RawTable:
    """A pipe table before its meaning is looked at."""

    header: tuple[Cell, ...]
    rows: tuple[tuple[Cell, ...], ...]
    span: Span


@dataclass(frozen=True)
class Layout:
    """A text taken apart: blocks in order, tables in order, and the two masks."""

    blocks: tuple[Block, ...]
    tables: tuple[RawTable, ...]
    clean: str
    spaced: str


class _Mask:
    """Characters of the text that are markup, collected while reading."""

    def __init__(self, text: str) -> None:
        self.clean = list(text)
        self.spaced = list(text)

    def drop(self, start: int, end: int, visible: bool = False) -> None:
        self.spaced[start:end] = " " * (end - start)
        if not visible:
            self.clean[start:end] = DROPPED * (end - start)

    def write(self, end: int, words: str) -> None:
        """Put words in the place of what was dropped, so that they end there."""
        for k, char in enumerate(words, end - len(words)):
            self.clean[k] = self.spaced[k] = char


def read_layout(text: str, body_start: int, file: str) -> Layout:
    """Take a text apart."""
    mask = _Mask(text)
    reader = _Reader(text, "".join(mask.spaced), body_start, file, mask)
    blocks, tables = reader.read()
    _mask_inline(text, body_start, mask)
    spaced = "".join(mask.spaced).replace("\n", " ")
    return Layout(tuple(blocks), tuple(tables), "".join(mask.clean), spaced)


def _mask_inline(text: str, start: int, mask: _Mask) -> None:
    for pattern in (_INDEX, _YES_OR_NO):  # name a variable and say what it may be: no data
        for match in pattern.finditer(text, start):
            mask.drop(*match.span(), visible=True)
    for match in MATH.finditer(text, start):
        inner, after = match.start(1), match.end(1)
        mask.drop(match.start(), inner)
        mask.drop(after, match.end())
        for markup in _MATH_MARKUP.finditer(text, inner, after):
            mask.drop(*markup.span())
        for unit in _MATH_UNIT.finditer(text, inner, after):
            mask.drop(*unit.span())
            mask.write(unit.end(), f"°{unit[2]}" if unit[1] else f"{unit[2]}^{unit[3]}")
    for match in _LINK.finditer(text, start):
        mask.drop(match.start(), match.start(1))
        mask.drop(match.end(1), match.end())
    for match in _EMPHASIS.finditer(text, start):
        mask.drop(*match.span())
    for match in _URL.finditer(text, start):
        mask.drop(*match.span(), visible=True)


class _Reader:
    """Read lines into blocks; the text may be anything, so nothing here backtracks."""

    def __init__(self, text: str, masked: str, start: int, file: str, mask: _Mask) -> None:
        self.text, self.file, self.mask = text, file, mask
        self.lines: list[Span] = []
        position = start
        for line in masked[start:].split("\n"):
            self.lines.append((position, position + len(line)))
            position += len(line) + 1
        self.masked = masked
        self.blocks: list[Block] = []
        self.tables: list[RawTable] = []
        self.cells = 0

    def read(self) -> tuple[list[Block], list[RawTable]]:
        k = 0
        while k < len(self.lines):
            k = self._block(k)
        return self.blocks, self.tables

    def _line(self, k: int) -> str:
        start, end = self.lines[k]
        return self.masked[start:end]

    def _strip_quote(self, k: int) -> None:
        """Blank the ``>`` of a quotation and shorten the line to what follows."""
        match = _QUOTE.match(self._line(k))
        if match is not None:
            start, end = self.lines[k]
            self.mask.drop(start, start + match.end())
            self.lines[k] = (start + match.end(), end)

    def _block(self, k: int) -> int:
        self._strip_quote(k)
        line, (start, end) = self._line(k), self.lines[k]
        if not line.strip():
            return k + 1
        fence = _FENCE.match(line)
        if fence is not None:
            return self._code(k, fence[1])
        heading = _HEADING.match(line)
        if heading is not None:
            self.mask.drop(start, start + heading.end())
            closing = len(line) - len(line.rstrip().rstrip("#"))
            self.mask.drop(end - closing, end)
            self._add("heading", start + heading.end(), end - closing)
            return k + 1
        if _RULE.match(line):
            self.mask.drop(start, end)
            return k + 1
        if self._is_table(k):
            return self._table(k)
        return self._paragraph(k)

    def _add(self, kind: BlockKind, start: int, end: int) -> None:
        if self.masked[start:end].strip():
            self.blocks.append(Block(kind, (start, end)))

    def _code(self, k: int, fence: str) -> int:
        self.mask.drop(*self.lines[k])
        k += 1
        while k < len(self.lines):
            if self._line(k).strip().startswith(fence):
                self.mask.drop(*self.lines[k])
                return k + 1
            self._add("code", *self.lines[k])
            k += 1
        return k

    def _paragraph(self, k: int) -> int:
        """Read a paragraph or a list item up to the line where something else begins."""
        item = _ITEM.match(self._line(k))
        first, end = self.lines[k]
        if item is not None:
            self.mask.drop(first, first + item.end())
            first += item.end()
        k += 1
        while k < len(self.lines):
            self._strip_quote(k)
            line = self._line(k)
            if not line.strip() or self._interrupts(k, line):
                break
            end = self.lines[k][1]
            k += 1
        self._add("item" if item is not None else "paragraph", first, end)
        return k

    def _interrupts(self, k: int, line: str) -> bool:
        starts = _HEADING.match(line) or _FENCE.match(line) or _RULE.match(line)
        return bool(starts or _ITEM.match(line)) or self._is_table(k)

    def _is_table(self, k: int) -> bool:
        if "|" not in self._line(k) or k + 1 >= len(self.lines):
            return False
        below = self._line(k + 1)
        quote = _QUOTE.match(below)
        if quote is not None:
            below = below[quote.end() :]
        if "-" not in below or not set(below) <= set(" \t|:-"):
            return False
        marks = below.strip().strip("|").split("|")
        if not all(_DELIMITER_CELL.fullmatch(mark.strip()) for mark in marks):
            return False
        # A separator with a cell too few or too many is a slip; the header says how many there are.
        return len(marks) == len(self._cells(k)) or ("|" in below and len(self._cells(k)) > 1)

    def _table(self, k: int) -> int:
        header = self._cells(k)
        start, end = self.lines[k][0], self.lines[k + 1][1]
        self._strip_quote(k + 1)
        self.mask.drop(*self.lines[k + 1])
        rows = []
        k += 2
        while k < len(self.lines):
            self._strip_quote(k)
            line = self._line(k)
            if "|" not in line or not line.strip():
                break
            rows.append(self._padded(self._cells(k), header, k))
            end = self.lines[k][1]
            k += 1
        self.tables.append(RawTable(header, tuple(rows), (start, end)))
        self._add("table", start, end)
        self.cells += len(header) * (len(rows) + 1)
        if len(self.tables) > MAX_TABLES or self.cells > MAX_CELLS:
            raise InputError(f"more than {MAX_TABLES} tables or {MAX_CELLS} cells", self.file)
        return k

    def _padded(
        self, cells: tuple[Cell, ...], header: tuple[Cell, ...], k: int
    ) -> tuple[Cell, ...]:
        if len(cells) > len(header):
            start = self.lines[k][0]
            place = self.text.count("\n", 0, start) + 1, cells[len(header)].span[0] - start + 1
            found, expected = f"{len(cells)}", f"{len(header)} as in the header"
            what = "a table row with too many cells"
            raise InputError(what, self.file, *place, found, expected)
        end = self.lines[k][1]
        return cells + tuple(Cell("", (end, end)) for _ in range(len(header) - len(cells)))

    def _cells(self, k: int) -> tuple[Cell, ...]:
        """Split a line at the pipes that no backslash escapes."""
        start, end = self.lines[k]
        line = self.text[start:end]
        bars = [
            m.start() for m in re.finditer(r"\|", line) if line[m.start() - 1 : m.start()] != "\\"
        ]
        edges = [-1, *bars, len(line)]
        cells = []
        for left, right in pairwise(edges):
            inner = line[left + 1 : right]
            lead = len(inner) - len(inner.lstrip())
            content = inner.strip()
            at = start + left + 1 + (lead if content else 0)
            cells.append(Cell(content, (at, at + len(content))))
        if cells and not cells[0].text and line.lstrip().startswith("|"):
            cells = cells[1:]
        if cells and not cells[-1].text and line.rstrip().endswith("|"):
            cells = cells[:-1]
        return tuple(cells)
