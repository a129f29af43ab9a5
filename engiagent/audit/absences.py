"""What a text says itself to be unknown: 'the record is lost', 'to be announced', 'withheld'."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from engiagent.agents.offline import Understanding
from engiagent.agents.offline.tokens import Line
from engiagent.audit.evidence import plain
from engiagent.audit.findings import Finding
from engiagent.audit.tables import absence_words
from engiagent.explain.places import Span, Text

if TYPE_CHECKING:
    from engiagent.problems import Problem

_MOSTLY: Final = 0.5
"""The share of a column that must be numbers for a word in it to stand for one."""
_NUMBER: Final = re.compile(r"[-+−]?[\d.,' ]*\d(?:\s*\S{0,8})?")


def unknown_values(found: Understanding, problem: "Problem") -> Iterator[tuple[Span, str]]:
    """Yield the sentences that say that a value is not known, with the words for the value.

    A sentence that gives something in its place, or the next one that does, says no such thing.
    """
    draft, words = found.draft, absence_words()
    lines = [
        line
        for n, line in enumerate(draft.lines)
        if not line.sentence.is_heading and n not in draft.table_lines
    ]
    for n, line in enumerate(lines):
        said = plain(problem.text[slice(*line.sentence.span)])
        match = next((m for pattern in words.says if (m := pattern.search(said))), None)
        behind = _behind(lines, n, problem)
        if match is None or words.instead.search(said) or words.instead.search(behind):
            continue
        before = plain(problem.text[slice(*lines[n - 1].sentence.span)]) if n else ""
        noun = _noun(said, match.start()) or _noun(before, len(before))
        if noun:
            yield line.sentence.span, noun


def _behind(lines: list[Line], n: int, problem: "Problem") -> str:
    """Return the sentence that follows in the same paragraph."""
    if n + 1 >= len(lines) or lines[n + 1].sentence.passage != lines[n].sentence.passage:
        return ""
    return plain(problem.text[slice(*lines[n + 1].sentence.span)])


def _noun(said: str, place: int) -> str:
    """Return the noun of a quantity nearest to a place, those before it first."""
    found = [(m.start() > place, abs(m.start() - place), m[0]) for m in
             absence_words().nouns.finditer(said)]  # fmt: skip
    return min(found)[2] if found else ""


def stated_absences(
    unknown: list[tuple[Span, str]], named: list[Finding], text: Text
) -> Iterator[Finding]:
    """Yield a finding for each sentence that says that a value is not known.

    A sentence that a finding of the engine is already about, by the same noun, is left out.
    """
    words = absence_words()
    for span, noun in unknown:
        if any(words.quantity(f.quantity).names.search(noun) for f in named if f.quantity):
            continue
        place = text.at(span)
        yield Finding(
            code="said-unknown",
            severity="missing",
            component="text",
            quantity=noun,
            explanation=f"the text says itself that something is not known ({noun}): "
            f"'{plain(place.quote)}'",
            suggestion="find out the value and add it, or say what to reckon with in its place",
            places=(place,),
        )


def missing_cells(problem: "Problem", text: Text) -> Iterator[Finding]:
    """Yield the cells of columns of numbers that say that their number is not there."""
    cells = absence_words().cells
    for table in problem.tables:
        for k, header in enumerate(table.header):
            column = [row[k] for row in table.rows if k < len(row)]
            numbers = sum(bool(_NUMBER.fullmatch(c.text.strip())) for c in column)
            absent = [c for c in column if cells.fullmatch(c.text.strip())]
            if absent and numbers >= _MOSTLY * len(column):
                yield Finding(
                    code="missing-cells",
                    severity="missing",
                    component="data",
                    quantity=header.text,
                    explanation=f"{len(absent)} of {len(column)} values of the column "
                    f"{header.text} are not given",
                    suggestion="complete the table, or say what to reckon with in their place",
                    places=text.spans([c.span for c in absent]),
                )
