"""The words of an LP file: sections, and in each its tokens with their places."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from engiagent.formulations.exchange.source import SourceText


class Token(NamedTuple):
    """A word: ``kind`` is ``number``, ``name``, ``relation``, ``arrow`` or the sign itself."""

    kind: str
    text: str
    line: int
    column: int


@dataclass(frozen=True)
class Section:
    """A section's keyword, as the table names it, and its tokens."""

    keyword: str
    line: int
    tokens: list[Token]


SECTIONS: Final[tuple[tuple[str, str], ...]] = (
    ("minimize", r"minimi[sz]e|minimum|min"),
    ("maximize", r"maximi[sz]e|maximum|max"),
    ("constraints", r"subject\s+to|such\s+that|s\.t\.|st\.|st|lazy\s+constraints?|user\s+cuts?"),
    ("general constraints", r"general\s+constraints?|gencons(?:tr)?"),
    ("bounds", r"bounds?"),
    ("generals", r"generals?|gen|integers?|int"),
    ("binaries", r"binary|binaries|bin"),
    ("semi-continuous", r"semi-continuous|semis?"),
    ("semi-integer", r"semi-integers?"),
    ("sos", r"sos"),
    ("sos1 or sos2", r"sos[12]"),
    ("piecewise linear", r"pwlobj|pwl"),
    ("end", r"end"),
)
_SECTION = re.compile(
    r"\s*(?:" + "|".join(f"(?P<s{k}>{words})" for k, (_, words) in enumerate(SECTIONS)) + r")"
    r"(?=\s|$)(?!\s*(?:[:<>=*^+-]|free\b))",
    re.IGNORECASE,
)
# A bracket that follows a name at once belongs to it, with whatever it holds: x[1,2], x(t-1).
_HEAD = r"""[^\W\d]|[_!"#$%&,;?@'`{}|~]"""
_TOKEN = re.compile(
    rf"""\s*(?:(?P<name>(?:{_HEAD})(?:{_HEAD}|[\d./]|\[[^\[\]\s]*\]|\([^()\s]*\)|[()])*)
    |(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
    |(?P<arrow><->|->)|(?P<relation><=|=<|>=|=>|<|>|=)|(?P<sign>[-+*^:/\[\]]))""",
    re.VERBOSE,
)
_LP_SOLVE = re.compile(r"\s*(?:max|min|maximi[sz]e|minimi[sz]e)\s*:|\s*/[*/]", re.IGNORECASE)


def sections(source: SourceText) -> Iterator[Section]:
    """Yield the sections of a file in their order.

    Raises
    ------
    InputError
        At what stands before the first section, after the end, or is no word of the format.
    """
    current: Section | None = None
    for line, text in enumerate(source.lines, 1):
        content = text.partition("\\")[0]
        if not content.strip():
            continue
        found = _SECTION.match(content)
        start = 0
        if found and found.lastgroup:
            if current is not None:
                yield current
            current = Section(SECTIONS[int(found.lastgroup[1:])][0], line, [])
            start = found.end()
        if current is None:
            raise _no_beginning(source, line, content)
        if current.keyword == "end" and content[start:].strip():
            raise source.error(line, "text after the end", found=content[start:].strip())
        current.tokens.extend(_tokens(source, line, content, start))
    if current is None:
        raise source.error(1, "the file is empty", expected="Minimize or Maximize")
    yield current


def _no_beginning(source: SourceText, line: int, content: str) -> Exception:
    expected = "Minimize or Maximize (the CPLEX LP format)"
    if _LP_SOLVE.match(content):
        expected += "; this looks like lp_solve's own format, which is another one"
    return source.error(line, "this is no LP file", found=content.strip(), expected=expected)


def _tokens(source: SourceText, line: int, text: str, start: int) -> Iterator[Token]:
    text = text.rstrip()
    place = start
    for match in _TOKEN.finditer(text, start):
        if match.start() != place:
            break
        kind = match.lastgroup or ""
        word = match[kind]
        yield Token(word if kind == "sign" else kind, word, line, match.start(kind) + 1)
        place = match.end()
    if place < len(text) and text[place:].strip():
        place += len(text[place:]) - len(text[place:].lstrip())
        raise source.error(
            line, "this character has no meaning here", column=place + 1, found=repr(text[place])
        )
