"""Statements of a text that contradict each other as they stand, before anything is computed."""

from collections.abc import Iterator
from typing import Final

from engiagent.agents.offline import Understanding
from engiagent.audit.findings import Finding
from engiagent.audit.places import Text

_SAID: Final = {
    "two-values": ("two-values", "keep the one that is right"),
    "outside-limits": (
        "outside-limits",
        "correct the start or the limit, or say from when on the limit holds",
    ),
    "lengths": ("lengths-differ", "say which of them counts"),
}


def stated_clashes(found: Understanding, text: Text) -> Iterator[Finding]:
    """Yield what the engine found to be said twice and differently, or outside its own limits."""
    for conflict in found.analysis.conflicts:
        if conflict.code not in _SAID:
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
