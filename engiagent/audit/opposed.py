"""Limits that no temperature can meet: one above the other, of the same thing, at all times.

Two units may have limits apart, and a limit may hold at some times only. So both sentences have to
name the same thing in the same words, and neither may have a time or a condition.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Final

from engiagent.agents.offline import Understanding
from engiagent.agents.offline.amounts import Amount
from engiagent.agents.offline.cards import lexicon
from engiagent.agents.offline.draft import Draft
from engiagent.agents.offline.slots import marked, modifier
from engiagent.agents.offline.tokens import Line
from engiagent.audit.evidence import plain
from engiagent.audit.findings import Finding
from engiagent.audit.tables import clash_words
from engiagent.blueprint.units import convert, parse_unit
from engiagent.explain.places import Span, Text

_TIMES: Final = ("period", "period_open", "rest", "clock", "date")
_SUBJECT: Final = re.compile(
    r"(?:the|our|its|their) (?P<thing>(?:[a-z-]+ ){0,2}[a-z-]+) (?:must|may|shall|should|has to"
    r"|have to|cannot|can not|can|is to|are to|is not allowed to|is never allowed to) "
)
_OPTIONAL: Final = re.compile(
    r"\b(?:if|unless|when|whenever|while|once|as long as|preferably|ideally|penalt\w+|fines?|"
    r"otherwise|deviation\w*|on average|mean)\b"
)


@dataclass(frozen=True)
class Limit:
    """A limit of the temperature of a thing at all times; ``value`` in degC."""

    thing: str
    bound: str
    value: float
    amount: Amount
    sentence: Span


def opposed_limits(found: Understanding, text: Text) -> Iterator[Finding]:
    """Yield pairs of limits of one thing of which the lower is above the upper."""
    limits = [limit for line in _sentences(found.draft) if (limit := _limit(line)) is not None]
    lowest = [limit for limit in limits if limit.bound == "lower"]
    highest = [limit for limit in limits if limit.bound == "upper"]
    for low, high in product(lowest, highest):
        if low.thing != high.thing or not low.value > high.value:
            continue
        yield Finding(
            code="limits-opposed",
            severity="contradictory",
            component=low.thing,
            quantity="temperature",
            explanation=f"the {low.thing} cannot be at {low.amount.quote} or above and at "
            f"{high.amount.quote} or below at once",
            suggestion="correct one of the two limits, or say when each of them holds",
            places=text.spans([low.sentence, high.sentence]),
        )


def _sentences(draft: Draft) -> Iterator[Line]:
    for n, line in enumerate(draft.lines):
        if not line.sentence.is_heading and n not in draft.table_lines:
            yield line


def _limit(line: Line) -> Limit | None:
    """Return the limit that a sentence states, when it states one and nothing else."""
    amounts = [(i, t.amount) for i, t in enumerate(line.tokens) if t.amount is not None]
    subject = _SUBJECT.search(line.line)
    if len(amounts) != 1 or subject is None or any(t.kind in _TIMES for t in line.tokens):
        return None
    place, amount = amounts[0]
    conditional = _OPTIONAL.search(line.line) or lexicon().scope["condition"].search(line.line)
    if amount.kind != "temperature" or conditional or clash_words().others.search(subject["thing"]):
        return None
    bound = modifier(marked(line, place)[0])
    if bound not in ("lower", "upper"):
        return None
    value = convert(amount.value, parse_unit(amount.unit), parse_unit("degC"))
    return Limit(plain(subject["thing"]), bound, value, amount, line.sentence.span)
