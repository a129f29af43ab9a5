"""Sentences: prose cut where sentences end, and nowhere else."""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from engiagent.errors import InputError
from engiagent.text.markdown import DROPPED, Block, Layout
from engiagent.text.parts import Sentence, SentenceKind, Span

MAX_SENTENCES: Final = 50_000

_END: Final = re.compile(r"(?<![.!?…])[.!?…]{1,20}[\"'”\u2019)\]*_`\0]{0,4}(?=\s)")
_NEXT: Final = re.compile(r"\s+[\"'“\u2018(\[*_`\0]{0,4}(\S)")
_KEY_LINE: Final = re.compile(r"[ \t]*[A-Z][^\n.!?:=]{0,50}[:=][ \t]+\S")
_ABBREVIATIONS: Final = frozenset(
    [
        "approx",
        "e.g",
        "i.e",
        "eg",
        "ie",
        "no",
        "nos",
        "fig",
        "figs",
        "eq",
        "eqs",
        "tab",
        "sec",
        "ch",
        "vs",
        "ca",
        "cf",
        "resp",
        "dr",
        "mr",
        "mrs",
        "ms",
        "st",
        "prof",
        "incl",
        "excl",
        "temp",
        "avg",
        "max",
        "min",
        "al",
        "ref",
        "refs",
        "app",
        "dept",
        "est",
        "nom",
        "p",
        "pp",
        "vol",
        "mio",
        "mrd",
        "wk",
        "hr",
        "hrs",
    ]
)
# A sentence may end with these, so a capital letter behind them opens a new one after a number.
_UNIT_LIKE: Final = frozenset(["min", "max", "hr", "hrs", "p", "temp", "no", "sec"])


def read_sentences(layout: Layout, file: str) -> tuple[Sentence, ...]:
    """Return the sentences of all blocks but tables, in order.

    Raises
    ------
    InputError
        When there are more than 50 000.
    """
    found: list[Sentence] = []
    heading: int | None = None
    for block in layout.blocks:
        if block.kind == "table":
            continue
        for span in _pieces(block, layout.clean):
            text = _plain(layout.clean, span)
            if not text:
                continue
            found.append(Sentence(text, span, _kind(block), heading))
        if block.kind == "heading" and found:
            heading = len(found) - 1
        if len(found) > MAX_SENTENCES:
            raise InputError(f"more than {MAX_SENTENCES} sentences", file)
    return tuple(found)


def _kind(block: Block) -> SentenceKind:
    if block.kind in ("heading", "code", "item"):
        return block.kind
    return "sentence"


def _plain(clean: str, span: Span) -> str:
    return " ".join(clean[span[0] : span[1]].replace(DROPPED, "").split())


def _pieces(block: Block, clean: str) -> Iterator[Span]:
    start, end = block.span
    if block.kind in ("heading", "code"):
        yield _trimmed(clean, start, end)
        return
    for first, last in _key_lines(block, clean) if block.kind == "paragraph" else [(start, end)]:
        position = first
        for match in _END.finditer(clean, first, last):
            if match.start() >= position and _ends(clean, position, match, last):
                yield _trimmed(clean, position, match.end())
                position = match.end()
        if clean[position:last].strip(" \t\n\0"):
            yield _trimmed(clean, position, last)


def _key_lines(block: Block, clean: str) -> list[Span]:
    """Cut a paragraph that is a list of ``Name: value`` lines at these lines."""
    start, end = block.span
    cuts, position = [], start
    for line in clean[start:end].split("\n"):
        if _KEY_LINE.match(line):
            cuts.append(position)
        position += len(line) + 1
    if len(cuts) < 2:
        return [(start, end)]
    edges = sorted({start, *cuts, end})
    return list(pairwise(edges))


def _ends(clean: str, start: int, match: re.Match[str], last: int) -> bool:
    """Whether a full stop ends a sentence: what follows opens one, and no abbreviation precedes."""
    following = _NEXT.match(clean, match.end(), last)
    if following is None:
        return True
    if match[0][0] in "!?":
        return True
    head = following[1]
    word = re.search(
        r"([A-Za-z][A-Za-z.]{0,12})$", clean[max(start, match.start() - 14) : match.start()]
    )
    name = word[1].lower().rstrip(".") if word else ""
    if head.islower():
        return False
    if name in _ABBREVIATIONS:
        return name in _UNIT_LIKE and not head.isdigit() and _after_number(clean, match, word)
    if name in ("a.m", "p.m", "etc", "u.s"):
        return head.isupper()
    return True


def _after_number(clean: str, match: re.Match[str], word: re.Match[str] | None) -> bool:
    length = len(word[1]) if word else 0
    before = clean[max(0, match.start() - length - 4) : match.start() - length]
    return bool(re.search(r"\d\s*$", before))


def _trimmed(clean: str, start: int, end: int) -> Span:
    blank = " \t\n\0"
    while start < end and clean[start] in blank:
        start += 1
    while end > start and clean[end - 1] in blank:
        end -= 1
    return start, end
