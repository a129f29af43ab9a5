"""What a reader noted and a builder of its own does not know: nothing of it may vanish silently."""

import re
from collections.abc import Iterable
from typing import Any, Final

from engiagent.agents.offline.draft import Draft
from engiagent.agents.offline.horizons import dated_span
from engiagent.agents.offline.plant.engine import Reader
from engiagent.agents.offline.results import NotUnderstood
from engiagent.agents.offline.timing import Axis

_NOTED: Final = (
    "bans", "timed", "growing", "changes", "events", "wishes", "flags", "by_time", "slopes",
    "carnots", "links", "feeds", "shifts", "constants", "tapers", "shares",
)  # fmt: skip
_ALWAYS: Final = frozenset({"holds", "background"})
_RESOLUTION: Final = re.compile(
    r"(?:figures|values|numbers|data|powers|prices|columns?|rows?|files?|series)(?: [a-z]+){0,4}"
    r" (?:for|in|of|per|by|every|each) (?P<step>quarter[- ]hours?|half[- ]hours?|minutes?)"
    r"(?![a-z])"
)


def refuse_unknown(reader: Reader, facts: Iterable[str], lists: Iterable[str] = ()) -> None:
    """Report every fact but some, and every limit at some times, that was noted.

    Parameters
    ----------
    reader
        After it has read all.
    facts
        The facts that the builder knows.
    lists
        Of what else a reader notes, what the builder knows.
    """
    draft = reader.draft
    known = {*facts, *_ALWAYS}
    for fact, lines in reader.facts.items():
        for line in lines if fact not in known else ():
            draft.refuse(line, f"'{fact.replace('_', ' ')}' has no place in this kind of model")
    for name in set(_NOTED) - set(lists):
        for item in _items(getattr(reader, name, ())):
            place = _line(item)
            if place is not None and place >= 0:
                draft.refuse(place, "a limit or a change that has no place in this kind of model")
            else:
                draft.not_understood.append(
                    NotUnderstood(name, (0, 0), "has no place in this kind of model")
                )


def _items(noted: Any) -> Iterable[Any]:
    return noted.values() if isinstance(noted, dict) else noted or ()


def _line(item: Any) -> int | None:
    for holder in (item, getattr(item, "reading", None)):
        line = getattr(holder, "line", None)
        if isinstance(line, int):
            return line
    return None


def check_length(draft: Draft, axis: Axis | None) -> None:
    """Report a horizon that is as long as something else that the text speaks of."""
    span = dated_span(draft)
    if axis is None or span is None:
        return
    if abs(span[1] - span[0] - axis.hours) > 1e-9:
        draft.doubt(0, f"the horizon: {span[1] - span[0]:g} h by its clock times, or"
                    f" {axis.hours:g} h?")  # fmt: skip


def check_resolution(draft: Draft, axis: Axis | None) -> None:
    """Report a sentence that gives the data another step than that of the plan."""
    if axis is None:
        return
    for n, line in enumerate(draft.lines):
        match = _RESOLUTION.search(line.line)
        if match is None or line.sentence.is_heading:
            continue
        minutes = {"quarter": 15.0, "half": 30.0}.get(re.split(r"[- ]", match["step"])[0])
        if minutes is not None and minutes != axis.step_minutes:
            draft.doubt(n, "the data have another step than the plan")


def drop_false_starts(draft: Draft, axis: Axis | None) -> None:
    """Give back the words 'from 12:00 on' that were taken for the start of another horizon."""
    if axis is None or not axis.known_start:
        return
    for fact in [f for f in draft.facts if f.name == "start_clock"]:
        line = draft.lines[fact.line]
        covered = [
            i for i, t in enumerate(line.tokens)
            if fact.span[0] <= t.span[0] and t.span[1] <= fact.span[1]
        ]  # fmt: skip
        clocks = [t.clock for i in covered if (t := line.tokens[i]).clock is not None]
        if clocks and all(abs(c % 24 - axis.start_clock % 24) > 1e-9 for c in clocks if c):
            draft.facts.remove(fact)
            draft.taken.difference_update((fact.line, i) for i in covered)
