"""What a short line in front says of the one behind it: 'Outdoor temperatures, in °C:' or 'Rate'.

A list of bare numbers takes the unit of the line that ends with a colon before it, and a line of
bare prices is of what the heading before it names.
"""

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from engiagent.agents.offline.amounts import kind_of
from engiagent.agents.offline.draft import Band, Draft, Fact, amount_value
from engiagent.agents.offline.phrases import relined
from engiagent.agents.offline.plant.language.words import Marked
from engiagent.agents.offline.series import _unit_in
from engiagent.agents.offline.tokens import Line

if TYPE_CHECKING:
    from engiagent.agents.offline.plant.engine import Reader

_HOURS: Final = re.compile(
    r"<period#(?P<span>\d+)>(?: ,)?(?: and)?(?: (?:each|every one|one|one value)"
    r"(?: (?:for|per|of))?(?: (?:<duration#(?P<step>\d+)>|an?|one|each|every))? hours?)?"
)


def lead_lists(draft: Draft, currency: str | None) -> None:
    """Give a list that stands alone the words and the unit of the line in front of it."""
    for n in range(1, len(draft.lines)):
        line, lead = draft.lines[n], draft.lines[n - 1]
        token = next((t for t in line.tokens if t.kind == "list"), None)
        alone = all(t.kind == "list" or t.text in "[](){}" for t in line.tokens)
        if token is None or not alone or n in draft.table_lines or token.amounts[0].unit:
            continue
        said = lead.sentence.text.rstrip()
        unit = _unit_in(said, currency)
        count = len(token.amounts)
        if not said.endswith(":") or not unit or not _only_times(draft, n - 1, lead, count):
            continue
        amounts = tuple(replace(a, unit=unit, kind=kind_of(unit)) for a in token.amounts)
        token = replace(token, amounts=amounts)
        joined = replace(line, sentence=replace(line.sentence, lead=said))
        draft.lines[n] = relined(joined, [token])
        draft.take(n - 1, range(len(lead.tokens)))


def _only_times(draft: Draft, n: int, lead: Line, count: int) -> bool:
    """Whether the numbers of a line in front only say at which hours the values of a list hold."""
    match = _HOURS.search(lead.line)
    spans = set(lead.covered(*match.span())) if match is not None else set()
    times = ("period", "clock", "list", "rest")
    open_ = [t for i, t in enumerate(lead.tokens) if i not in spans and not draft.is_taken(n, i)]
    if any(t.amount is not None or t.kind in times for t in open_):
        return False
    if match is None:
        return True
    token = lead.tokens[int(match["span"])]
    ranges = token.period.ranges if token.period is not None else ()
    if len(ranges) != 1:
        return False
    a, b = ranges[0]
    whole = abs(b - a - count) < 1e-9  # 'from 00:00 to 24:00'
    starts = abs(b - a - (count - 1)) < 1e-9 and "hour" in match[0]  # the hours' beginnings
    if not (whole or starts):
        return False
    clock = replace(token, kind="clock", clock=a, period=None)
    draft.facts.append(Fact("start_clock", n, token.span, {"clock": clock}, "hours from"))
    draft.facts.append(Fact("step_word", n, token.span, {"h": token}, "hourly"))
    return True


_NEVER: Final = re.compile(
    r"(?P<side>above|over|below|under) <temperature#(?P<at>\d+)> (?:[a-z]+ ){1,7}, so"
    r" (?:we must |please |it must )?(?:never|do not|don't) (?:go|let it go|be|get) there"
    r"(?: , nor (?P<other>above|over|below|under) <temperature#(?P<and>\d+)>)?(?= ?[.,;]|$)"
)


def take_never(draft: Draft) -> None:
    """Read 'above 31 °C we lose flowers, so never go there, nor under 19 °C' as limits."""
    for n, line in enumerate(draft.lines):
        match = None if line.sentence.is_heading else _NEVER.search(line.line)
        if match is None:
            continue
        for side, token in (("side", "at"), ("other", "and")):
            amount = line.tokens[int(match[token])].amount if match[token] else None
            if amount is None:
                continue
            kind = "upper" if match[side] in ("above", "over") else "lower"
            value = amount_value(amount, draft.source(n, amount))
            draft.bands.append(Band("*", ((kind, value),), None, n, line.sentence.span))
        draft.take(n, list(line.covered(*match.span())))


_OF_MONEY: Final = re.compile(
    r"(?:the |our )?(?:(?:electricity|energy|power|grid|time-of-use) )?"
    r"(?:rates?|tariffs?|prices?|costs?)(?: (?:of|for) (?:electricity|power|energy))?(?: :)?"
)


def led_prices(reader: "Reader") -> None:
    """Let a line of prices and times alone be of what the short line before it names."""
    draft = reader.draft
    for n in range(1, len(draft.lines)):
        line = draft.lines[n]
        kinds = {t.amount.kind for t in line.tokens if t.amount is not None}
        others = [t for t in line.tokens if t.kind == "word"]
        if kinds != {"price"} or others or n in draft.table_lines:
            continue
        before = draft.lines[n - 1]
        heading = before.sentence.is_heading or before.sentence.passage == line.sentence.passage
        if not (heading and _OF_MONEY.fullmatch(before.line)):
            continue
        place = next((i for i, t in enumerate(line.tokens) if t.kind in ("period", "rest")), None)
        if place is None:
            continue
        concepts = list(reader.marked(n).concepts)
        concepts[place] = "price"
        reader.cache[n] = Marked(line, tuple(concepts), reader.marked(n).joints)
