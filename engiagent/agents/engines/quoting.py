"""Words of a text and their places: a model quotes, the place is found here.

Nobody who writes words counts characters well, so that a language model says which words a number
comes from and never at which offset. Words that stand in a text more than once are told apart by
those around them: in ``holds [6 MWh]`` the brackets mark the quote.
"""

import re
from dataclasses import dataclass, field
from typing import Final

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
    """Finds quotes in a text, each at a place of its own where there are several.

    What stands before ``begin``, where the text proper begins, is searched last.
    """

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
