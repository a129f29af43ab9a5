"""Limits that hold at some times only, while a price holds, or held in an earlier year."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from engiagent.agents.offline.draft import Reading, Value, amount_value
from engiagent.agents.offline.plant.language.discourse import Discourse
from engiagent.agents.offline.plant.language.statements import bears, stated
from engiagent.agents.offline.plant.language.words import NEUTRAL, THING, UNKNOWN, Marked
from engiagent.agents.offline.timing import Axis
from engiagent.agents.offline.tokens import Line, Period, Token

TIMES: Final = ("period", "period_open", "rest")
_STORY: Final = re.compile(
    r"(?:last (?:spring|summer|autumn|fall|winter|year|month|week)|in the past"
    r"|(?:some|many|a few|several|two|three) (?:years|months|weeks) ago|years ago) "
)
_COMPLAINT: Final = re.compile(r"(?<![a-z])too (?:often|seldom|rarely|early|late|long|frequently)")
_STATES: Final = {
    **dict.fromkeys(("yes", "on", "running"), "units_on"),
    **dict.fromkeys(("no", "off", "stopped"), "units_off"),
}
_QUESTION: Final = re.compile(
    r"^the question is (?:not )?(?:which|how|when|whether|what)"
    r"|we ask (?:you )?(?:what|which|how|when)"
    r"|how (?:much|many|hard|long)(?: [a-z]+){0,6} (?:gives?|runs?|makes?|delivers?|takes?)"
    r"|(?:which|how|when|what|in which order)(?: [a-z'-]+){0,6} (?:should|shall|ought to|to) "
    r"(?:(?:it|they|we|the [a-z]+) )?(?:run|operate|be used|be run|be dispatched|be operated|charge"
    r"|discharge|deliver|produce)"
)
_OF_QUESTIONS: Final = frozenset(
    {
        "must",
        "onstate",
        "charge",
        "discharge",
        "loadedge",
        "outof",
        "each",
        "together",
        "vague",
        "heat",
        "cool",
        "electric",
    }
)
_OF_STORIES: Final = frozenset({"timeword", "loss", "cond", "vague", "each", "always"})
_UNDER: Final = ("below", "under", "less than", "lower than")
_WHILE_PRICE: Final = re.compile(
    r"(?:while|when|whenever|if|as long as|in (?:all |the |any )?hours? (?:when|in which"
    r"|where)) (?:the |its )?(?:(?:spot|market|electricity|day-ahead|hourly|grid)"
    r" )*price (?:is |lies |stays |falls |drops |rises )?(?P<side>below|under|less than|lower than"
    r"|above|over|more than|higher than) <price#(?P<place>\d+)>"
)


@dataclass(frozen=True)
class Timed:
    """A limit that holds in a period of the day, or at a moment of it."""

    reading: Reading
    period: Period | None
    clock: Token | None


@dataclass(frozen=True)
class Ban:
    """Something that a unit must not do in a period of the day; ``only`` turns the period round.

    ``price`` stands in place of the period for what is forbidden while the price of electricity
    is on one side of a value: the relation, and the value.
    """

    fact: str
    unit: str | None
    line: int
    period: Period | None
    only: bool
    price: tuple[str, Value] | None = None


_STEP_WORD: Final = r"(?:(?:half|quarter|full) )?(?:hour|quarter|half|period|step|interval)"
_OUTSIDE: Final = re.compile(
    rf"(?:an?|the|any|every|each) {_STEP_WORD}(?: of an hour)? (?:that |which )?"
    r"(?:starts|begins|starting|beginning) at <clock#(?P<clock>\d+)> "
    r"(?:(?:is |lies |falls )?(?:already |then )?outside|is (?:no longer|not) (?:in|inside|part of)"
    r"(?: it| the window| the period| them)?|no longer counts|does not count)"
)


def leaves_out_the_end(lines: Sequence[Line], n: int) -> range | None:
    """Return the words that say that a period does not hold its last instant.

    That is what every period is taken for, so that nothing follows; the time must be the end of a
    period that was spoken of shortly before.
    """
    match = _OUTSIDE.search(lines[n].line)
    if match is None:
        return None
    clock = lines[n].tokens[int(match["clock"])].clock
    near = [t for line in lines[max(0, n - 3) : n + 1] for t in line.tokens if t.period is not None]
    ends = {b for t in near if t.period is not None for _, b in t.period.ranges}
    return lines[n].covered(*match.span()) if clock in ends else None


def while_price(
    reader: Discourse, n: int, marked: Marked, free: list[int], span: tuple[int, int]
) -> Ban | None:
    """Return what a clause forbids while the price is on one side of its only number."""
    line = reader.draft.lines[n]
    match = _WHILE_PRICE.search(line.line)
    if match is None or len(free) != 1 or int(match["place"]) != free[0]:
        return None
    covered = set(line.covered(*match.span()))
    marks = (",", ";", "and", "but")
    edges = [span[0], *(i for i in range(*span) if line.tokens[i].text in marks), span[1]]
    facts: list[tuple[str, str | None]] = []
    for a, b in pairwise(edges):
        rest = [i for i in range(a, b) if i not in covered]
        said = frozenset(marked.concepts[i] for i in rest) - {NEUTRAL, UNKNOWN, THING}
        fact = stated(said | {"@window"}) if said else None
        clear = all(marked.concepts[i] != UNKNOWN for i in rest)
        if fact is not None and clear:
            named = [c[1:] for c in said if c.startswith("@")]
            facts.append((fact, named[0] if named else reader.about(n, free[0])))
        elif said and bears(marked, said, False):
            return None
    if len(facts) != 1:
        return None
    amount = line.tokens[free[0]].amount
    assert amount is not None
    relation = "<" if match["side"] in _UNDER else ">"
    value = amount_value(amount, reader.draft.source(n, amount))
    return Ban(facts[0][0], facts[0][1], n, None, False, (relation, value))


def is_story(marked: Marked, first: int, last: int, said: frozenset[str]) -> bool:
    """Whether a sentence tells what happened in an earlier year, and names nothing of the plant."""
    text = " ".join(t.text for t in marked.line.tokens[first:last])
    if _COMPLAINT.search(text) and {c for c in said if not c.startswith("@")} <= _OF_STORIES:
        return True
    return _STORY.match(text) is not None and said <= _OF_STORIES


def is_question(marked: Marked, first: int, last: int, said: frozenset[str]) -> bool:
    """Whether a clause asks which units should run, and asks for nothing else."""
    text = " ".join(t.text for t in marked.line.tokens[first:last] if t.kind == "word")
    rest = {c for c in said if not c.startswith("@")} - {"cond"}  # 'when' asks here
    rest -= {"timeword"} if "we ask" in text else set()
    rest -= {"not"} if text.startswith("the question is not") else set()
    return _QUESTION.search(text) is not None and rest <= _OF_QUESTIONS


_BESIDES: Final = re.compile(
    r"(?:and |also |then )*(?:give|say|report|state|show|tell|name|list|explain)"
    r"(?: also| me| us)? (?:the|its|their|what|which|how|why|whether|by how much) "
)
_ASKING: Final = frozenset({"must", "least", "most", "limit", "keep", "only", "exact"})


def told_besides(marked: Marked, first: int, last: int) -> int:
    """Return where the part of an objective ends behind which it only asks for more results."""
    tokens = marked.line.tokens
    for i in range(first + 1, last):
        if tokens[i - 1].text not in (",", "and", ";"):
            continue
        text = "".join(f"{t.text} " for t in tokens[i:last] if t.kind == "word")
        besides = _BESIDES.match(text) is not None
        plain = all(t.amount is None and t.kind not in TIMES for t in tokens[i:last])
        if besides and plain and not marked.said(i, last) & _ASKING:
            return i
    return last


def running_state(marked: Marked, axis: Axis | None) -> str | None:
    """Return whether a cell such as 'running at 06:00: yes' puts a unit on or off at the start."""
    *label, last = marked.line.tokens or (None,)
    state = _STATES.get(last.text) if last is not None else None
    if state is None or last is None:
        return None
    said = {c for c in marked.said(0, len(label)) if not c.startswith("@")}
    words = {token.text for token in label if token is not None}
    spans = [t for t in label if t is not None and t.kind in TIMES]
    if len(spans) == 1 and spans[0].text.startswith("before") and axis is not None:
        ends = spans[0].period.ranges[-1][1] if spans[0].period is not None else None
        said |= {"start"} if ends == axis.start_clock else set()
    runs = "onstate" in said or "on" in words or last.text in ("on", "off", "running", "stopped")
    return state if "start" in said and said <= {"onstate", "start", "cond"} and runs else None


_LETTERED: Final = re.compile(
    r"(?<![a-z-])(?:unit|machine|pump|device|set|fan|cooler|heater|block|stage) (?:[a-h]|[1-9])"
    r"(?![a-z0-9'-])"
)


def of_a_letter(line: Line, finders: Sequence[re.Pattern[str]]) -> bool:
    """Whether a sentence is about 'unit B' where no unit of the plant is called so."""
    match = _LETTERED.search(line.line)
    return match is not None and not any(f.search(match[0]) for f in finders)
