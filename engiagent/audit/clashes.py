"""Statements of a text that contradict each other as they stand, before anything is computed."""

from collections.abc import Iterator
from typing import Final

from engiagent.agents.offline import Conflict, Understanding
from engiagent.agents.offline.cards import lexicon
from engiagent.audit.evidence import Evidence
from engiagent.audit.findings import Finding
from engiagent.audit.tables import clash_words
from engiagent.explain.places import Span, Text

_SAID: Final = {
    "two-values": ("two-values", "keep the one that is right"),
    "outside-limits": (
        "outside-limits",
        "correct the start or the limit, or say from when on the limit holds",
    ),
    "lengths": ("lengths-differ", "say which of them counts"),
}
_TIMES: Final = ("period", "period_open", "rest", "clock")


def stated_clashes(found: Understanding, text: Text, evidence: Evidence) -> Iterator[Finding]:
    """Yield what the engine found to be said twice and differently, or outside its own limits.

    Two numbers contradict each other only where both sentences plainly give the same property: a
    second one for some time of the day, for a case or for another thing does not.
    """
    for conflict in found.analysis.conflicts:
        if conflict.code not in _SAID:
            continue
        if conflict.code == "two-values" and not _plain(found, conflict):
            continue
        if conflict.code != "outside-limits" and evidence.covers(conflict.spans):
            continue
        # Lengths that differ may be of series that were not understood.
        if conflict.code == "lengths" and (evidence.unread or evidence.columns):
            continue
        if conflict.code == "outside-limits" and _refused(found, conflict):
            continue
        code, suggestion = _SAID[conflict.code]
        places = text.spans(conflict.spans)
        quotes = " and ".join(f"'{place.quote}'" for place in places)
        yield Finding(
            code=code,
            severity="contradictory",
            component=conflict.component,
            quantity=conflict.quantity,
            explanation=conflict.message + (f": {quotes}" if quotes else ""),
            suggestion=suggestion,
            places=places,
        )


def _refused(found: Understanding, conflict: Conflict) -> bool:
    """Whether a sentence of a clash was not understood in full, so that it may say less."""
    return any(
        entry.span[0] <= start and end <= entry.span[1]
        for entry in found.analysis.not_understood
        for start, end in conflict.spans
    )


def _plain(found: Understanding, conflict: Conflict) -> bool:
    """Whether every sentence of a clash gives its number without a condition.

    One sentence that gives two numbers speaks of two things.
    """
    words, scope = clash_words(), lexicon().scope
    named = words.named.get(conflict.quantity)
    seen: set[Span] = set()
    for start, end in conflict.spans:
        line = next(
            (
                k
                for k in found.draft.lines
                if k.sentence.span[0] <= start and end <= k.sentence.span[1]
            ),
            None,
        )
        if line is None:
            continue
        if line.sentence.span in seen:
            return False
        seen.add(line.sentence.span)
        if any(token.kind in _TIMES for token in line.tokens):
            return False
        if any(p.search(line.line) for p in (scope["condition"], scope["foreign"], words.others)):
            return False
        if named is not None and not named.search(line.line):
            return False
    return True
