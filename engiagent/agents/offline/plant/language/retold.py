"""Numbers that say again what the data says, or that no equation needs: counts of rows, areas."""

import re
from collections.abc import Sequence
from typing import Final

from engiagent.agents.offline.draft import Draft
from engiagent.agents.offline.grids import Column
from engiagent.agents.offline.timing import Axis

_STEPS: Final = {
    5.0: r"five[- ]minutes?|five-minute (?:steps|periods)", 15.0: r"quarters?[- ](?:of an )?hours?",
    30.0: r"half[- ]hours?", 60.0: r"hours?|hourly",
}  # fmt: skip
_OF_THEM: Final = re.compile(r"<number#(?P<place>\d+)> (?:of (?:them|these)|in all|altogether)")
_SIZES: Final = frozenset({"area", "volume", "length"})
_ASKS: Final = re.compile(
    r"(?<![a-z])(?:must|shall|should|may|can|at (?:least|most)|only|per|each|every|if|when|limit)"
    r"(?![a-z])"
)


def take_step_counts(draft: Draft, axis: Axis) -> None:
    """Account for '192 of them' behind the steps of the horizon, where there are as many."""
    steps = _STEPS.get(axis.step_minutes)
    for n, line in enumerate(draft.lines):
        for match in _OF_THEM.finditer(line.line):
            amount = line.tokens[int(match["place"])].amount
            told = steps and re.search(rf"(?<![a-z])(?:{steps}|steps)", line.line[: match.start()])
            if amount is None or not told or amount.value != axis.periods:
                continue
            draft.take(n, list(line.covered(*match.span())))
            _explain(draft, amount.span, amount.quote, "counts the periods")
        for match in re.finditer(rf"<number#(?P<place>\d+)> (?:{steps}|steps)(?![a-z])", line.line):
            amount = line.tokens[int(match["place"])].amount
            if steps and amount is not None and amount.value == axis.periods:
                draft.take(n, list(line.covered(*match.span())))
                _explain(draft, amount.span, amount.quote, "counts the periods")
    _take_bills(draft, axis)


_MONTHS: Final = ("january", "february", "march", "april", "may", "june", "july", "august",
                  "september", "october", "november", "december")  # fmt: skip
_BILL: Final = re.compile(rf"bills? (?:for|of|in) (?P<month>{'|'.join(_MONTHS)})(?![a-z])")


def _take_bills(draft: Draft, axis: Axis) -> None:
    """Account for 'the bill for August' where the horizon lies in that month."""
    month = _MONTHS[int(axis.start[5:7]) - 1] if "T" in axis.start else None
    for n, line in enumerate(draft.lines):
        for match in _BILL.finditer(line.line):
            if match["month"] == month:
                draft.take(n, list(line.covered(*match.span())))


def take_headings(draft: Draft) -> None:
    """Account for the numbers of headings that the text below gives again."""
    told = {
        (t.amount.value, t.amount.unit)
        for line in draft.lines if not line.sentence.is_heading
        for t in line.tokens if t.amount is not None and t.amount.unit
    }  # fmt: skip
    for line in draft.lines:
        for token in line.tokens if line.sentence.is_heading else ():
            amount = token.amount
            if amount is not None and (amount.value, amount.unit) in told:
                _explain(draft, amount.span, amount.quote, "names what the text gives")


_LEADS: Final = re.compile(
    r"<number#(?P<place>\d+)> (?:figures|numbers|prices|parts|items|things|amounts|values|terms) :"
)


def take_leads(draft: Draft) -> None:
    """Account for 'two figures:' before as many amounts in the same sentence."""
    for n, line in enumerate(draft.lines):
        match = _LEADS.search(line.line)
        amount = line.tokens[int(match["place"])].amount if match else None
        if match is None or amount is None or amount.unit:
            continue
        behind = range(line.covered(*match.span())[-1] + 1, len(line.tokens))
        if sum(line.tokens[i].amount is not None for i in behind) == amount.value:
            draft.take(n, [int(match["place"])])
            _explain(draft, amount.span, amount.quote, "counts what follows")


def take_sizes(draft: Draft, columns: Sequence[Column]) -> None:
    """Account for the size of a thing where nothing is measured by size.

    A floor area enters no equation unless some other number, or column, is per square metre.
    """
    amounts = [t.amount for line in draft.lines for t in line.tokens if t.amount is not None]
    units = [a.unit for a in amounts if a.kind not in _SIZES] + [c.unit for c in columns]
    if any(re.search(r"m2|m²|m3|m³|ft|L(?![a-z])|/m(?![a-z])", unit or "") for unit in units):
        return
    if any(re.search(r"(?<![a-z])(?:square|cubic) (?:met|f)", line.line) for line in draft.lines):
        return
    for n, line in enumerate(draft.lines):
        numbers = [i for i, t in enumerate(line.tokens) if t.amount is not None]
        sizes = [i for i in numbers if line.tokens[i].amount.kind in _SIZES]  # type: ignore[union-attr]
        if n in draft.table_lines or not sizes or sizes != numbers or _ASKS.search(line.line):
            continue
        for i in sizes:
            amount = line.tokens[i].amount
            assert amount is not None
            draft.take(n, [i])
            _explain(draft, amount.span, amount.quote, "a size; it enters no equation")


def _explain(draft: Draft, span: tuple[int, int], quote: str, reason: str) -> None:
    draft.unused.append({"span": list(span), "quote": quote, "reason": reason})


_COUNTS: Final = {"two": 2, "three": 3, "four": 4, "six": 6, "eight": 8, "twelve": 12}
_HOURLY: Final = re.compile(
    rf"(?:in|with|by|at) (?P<count>{'|'.join(_COUNTS)}|\d+)[- ]hour(?:ly)?"
    r" (?:steps|periods|intervals|blocks|resolution)(?![a-z])"
)


def take_step_words(draft: Draft, axis: Axis) -> None:
    """Account for 'in two-hour steps' where the steps are as long."""
    for n, line in enumerate(draft.lines):
        for match in _HOURLY.finditer(line.line):
            hours = _COUNTS.get(match["count"]) or int(match["count"])
            if abs(60 * hours - axis.step_minutes) < 1e-9:
                draft.take(n, list(line.covered(*match.span())))


_STANDARDS: Final = frozenset({"iso", "en", "din", "vdi", "ashrae", "astm", "iec", "sia", "bs"})


def take_standards(draft: Draft) -> None:
    """Account for the numbers that name a standard, as in 'ISO 13790'."""
    for n, line in enumerate(draft.lines):
        for i, token in enumerate(line.tokens):
            named = i > 0 and line.tokens[i - 1].text.lower() in _STANDARDS
            bare = token.amount is None or not token.amount.unit
            if named and bare and re.fullmatch(r"\d{3,6}(?:-\d+)*", token.text):
                draft.take(n, [i - 1, i])
                _explain(draft, token.span, draft.text[slice(*token.span)], "names a standard")


def take_retold(draft: Draft, columns: Sequence[Column]) -> None:
    """Account for all numbers that say nothing of their own, other than counts of periods."""
    take_sizes(draft, columns)
    take_leads(draft)
    take_headings(draft)
    take_standards(draft)
