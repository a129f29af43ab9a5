"""How fast a temperature may change: 'over no half-hour may it get warmer by more than 1 K'.

A limit is a difference, the span of time over which it holds, and the way in which it counts. Only
spans that are the steps of the plan are taken.
"""

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from engiagent.agents.offline.draft import Draft, Value, amount_value
from engiagent.agents.offline.plant.language.remarks import account
from engiagent.agents.offline.storage import constrain
from engiagent.agents.offline.tokens import Line, Period

if TYPE_CHECKING:
    from engiagent.agents.offline.plant.system import System

_SPANS: Final = {
    60.0: r"hour|full hour|hour mark|one-hour step|hourly step",
    30.0: r"half[- ]hour|half[- ]hour mark|half an hour|half-hourly step",
    15.0: r"quarter[- ]hour|quarter[- ]hour mark|quarter of an hour|quarter-hourly step",
    0.0: r"time step|step|mark|period|interval|block",
}
_SPAN: Final = "|".join(sorted("|".join(_SPANS.values()).split("|"), key=len, reverse=True))
_OVER: Final = (
    rf"(?:over|in|within|during) (?P<no>no|any|each|every|a|an|one)(?: single| one)? (?P<a>{_SPAN})"
    rf"|from (?:one|each|any|every|an?) (?P<b>{_SPAN})(?: mark)? to the next(?: one| mark)?"
    rf"|between (?:any )?(?:two )?(?:consecutive|successive|neighbouring|adjacent)"
    rf" (?P<c>{_SPAN})s(?: marks?)?"
    rf"|(?:per|an|each|every) (?P<d>{_SPAN})"
    rf"|(?P<e>hour|half-hour|quarter-hour|step) (?:to|by) (?P=e)"
)
_THING: Final = (
    r"(?:(?:the|its|this|that|our|inside|indoor|inner|room|air|water|temperature|temperatures|it|of"
    r"|in|room's|hall's|inside|indoors) )"
)
_MAY: Final = r"(?:may|must|shall|should|can|is to|are to|has to|is allowed to|are allowed to)"
_NOT: Final = r"(?:not|never|cannot|can not|mustn't)"
_MORE: Final = r"(?:by )?(?:more than|over|above)"
_ATMOST: Final = r"(?:by )?(?:at most|no more than|not more than|up to|a maximum of|at the most)"
_UP: Final = (
    r"(?:(?:get|gets|become|becomes|grow|grows|be) (?:any )?(?:warmer|hotter)|warm(?:s)?(?: up)?"
    r"|heat(?:s)? up|rises?|increases?|climbs?|go(?:es)? up)"
)
_DOWN: Final = (
    r"(?:(?:get|gets|become|becomes|grow|grows|be) (?:any )?(?:colder|cooler)|cools?(?: down)?"
    r"|falls?|drops?|decreases?|sinks?|go(?:es)? down)"
)
_BOTH: Final = r"(?:changes?|differs?|var(?:y|ies)|moves?|shifts?|jumps?)"
_WAY: Final = (
    rf"(?:(?P<both>(?:{_UP} (?:or|and|nor) {_DOWN})|(?:{_DOWN} (?:or|and|nor) {_UP})|{_BOTH})"
    rf"|(?P<up>{_UP})|(?P<down>{_DOWN}))"
)
_ASIDE: Final = (
    r"(?:up or down|in either direction|either way|in any direction|upwards or downwards)"
)
_D: Final = r"<difference#(?P<i>\d+)>"
_RATE: Final = re.compile(
    rf"(?:{_THING})*(?P<may>{_MAY}) (?:(?P<not>{_NOT}) )?(?:{_THING})*{_WAY}"
    rf"(?: (?P<more>{_MORE}|faster than|quicker than)| (?P<most>{_ATMOST}|at))"
    rf" <temperature_rate#(?P<i>\d+)>(?: (?P<aside>{_ASIDE}))?(?= ?[.,;)]|$)"
)
_OVER_FIRST: Final = re.compile(
    rf"(?:{_OVER}) ,? ?(?:{_THING})*(?:(?P<may>{_MAY}) )?(?:(?P<not>{_NOT}) )?(?:{_THING})*{_WAY}"
    rf"(?: (?P<more>{_MORE})| (?P<most>{_ATMOST})) {_D}(?: (?P<aside>{_ASIDE}))?(?= ?[.,;)]|$)"
)
_OVER_LAST: Final = re.compile(
    rf"(?:{_THING})*(?P<may>{_MAY}) (?:(?P<not>{_NOT}) )?(?:{_THING})*{_WAY}"
    rf"(?: (?P<more>{_MORE})| (?P<most>{_ATMOST})) {_D}(?: (?P<aside>{_ASIDE}))?"
    rf" ,? ?(?:{_OVER})(?: (?P<aside2>{_ASIDE}))?(?= ?[.,;)]|$)"
)


@dataclass(frozen=True)
class Change:
    """What a temperature may change by.

    Attributes
    ----------
    minutes
        The span of time; 0 for a step, None where the words name none.
    up, down
        Which ways the limit counts.
    owner
        The room that it is of; ``*`` for all.
    """

    value: Value
    period: Period | None
    line: int
    up: bool
    down: bool
    minutes: float | None = 0.0
    owner: str = "*"


def take_changes(draft: Draft) -> list[Change]:
    """Return the limits of changes that sentences state, and account for their words."""
    found = []
    for n, line in enumerate(draft.lines):
        if line.sentence.is_heading or n in draft.table_lines:
            continue
        for pattern in (_OVER_FIRST, _OVER_LAST, _RATE):
            match = pattern.search(line.line)
            alone = match is not None and _alone(draft, n, line, match)
            change = _change(draft, n, line, match) if match is not None and alone else None
            if match is not None and change is not None:
                found.append(change)
                account(draft, n, line, match, "")
                break
    return found


_BEFORE: Final = frozenset({"and", "but", "also", "besides", ",", ":", "moreover", "then"})
_OWN_CLAUSE: Final = re.compile(
    r" ?,? (?:and|but) (?:it|the [a-z]+(?: [a-z]+)?|at <clock#\d+>|on (?:every|each) [a-z -]+)"
    r"[^;,]*?(?<![a-z])(?:must|has to|have to|may|shall|should|is to)(?![a-z])"
)
_CONDITION: Final = re.compile(
    r"(?<![a-z])(?:if|when|whenever|unless|except|while|until|before|after|during|only|on|as long"
    r"|at|in|for|provided|once|but|and|nor)(?![a-z])"
)


def _alone(draft: Draft, n: int, line: Line, match: re.Match[str]) -> bool:
    """Whether nothing beside a limit says of what, or when, it holds."""
    covered = line.covered(*match.span())
    marks = [i for i, t in enumerate(line.tokens) if t.text == ";"]
    first = max((i + 1 for i in marks if i < covered[0]), default=0)
    last = min((i for i in marks if i > covered[-1]), default=len(line.tokens))
    before = [i for i in range(first, covered[0]) if not draft.is_taken(n, i)]
    behind = [i for i in range(covered[-1] + 1, last) if not draft.is_taken(n, i)]
    if _OWN_CLAUSE.match(line.line, match.end()) is not None:
        behind = []  # another requirement, which is read by itself
    plain = all(line.tokens[i].kind in ("word", "mark") for i in behind)
    rest = " ".join(line.tokens[i].text for i in behind)
    quiet = all(line.tokens[i].text in _BEFORE for i in before)
    return quiet and plain and _CONDITION.search(rest) is None


def _change(draft: Draft, n: int, line: Line, match: re.Match[str]) -> Change | None:
    """Return a limit; None where the words make no upper limit."""
    groups = match.groupdict()
    denied = (groups.get("no") == "no") is not bool(groups["not"])
    if bool(groups["more"]) is not denied or bool(groups["most"]) is denied:
        return None  # 'may change by more than 1 K' is no limit, nor is 'may not … at most'
    amount = line.tokens[int(match["i"])].amount
    if amount is None:
        return None
    aside = bool(groups["aside"] or groups.get("aside2"))
    both = bool(groups["both"])
    if aside and not both:
        return None
    words = next((groups[k] for k in "abcde" if groups.get(k)), "step")
    value = amount_value(amount, draft.source(n, amount))
    up, down = both or bool(groups["up"]), both or bool(groups["down"])
    return Change(value, None, n, up, down, minutes_of(words))


def minutes_of(words: str) -> float | None:
    """Return how long a span in words is: 0 for a step, None for one that nothing knows."""
    plain = words.strip()
    found = [m for m, text in _SPANS.items() if re.fullmatch(rf"(?:{text})(?: mark)?", plain)]
    return found[0] if len(found) == 1 else None


def direction(change: Change, text: str) -> Change:
    """Return a limit with the ways that the words of its sentence name; both where they do not."""
    up = re.search(r"warmer|rise|increase|heat up|up ", text) is not None
    down = re.search(r"colder|cooler|fall|drop|decrease|cool down|down", text) is not None
    return replace(change, up=up or not down, down=down or not up)


_SPAN_WORDS: Final = re.compile(
    r"(?:from (?:one|each|any)|consecutive|successive|(?:over|in|within) (?:any|no|each|every))"
    rf" (?P<a>{_SPAN})(?![a-z-])"
)


def span_in(text: str) -> float | None:
    """Return over what span of time a sentence limits a change; 0 where it names none."""
    match = _SPAN_WORDS.search(text)
    return minutes_of(match["a"]) if match is not None else 0.0


def add_changes(system: "System", name: str) -> None:
    """Limit what a temperature may change by from one step to the next."""
    builder = system.builder
    temperature = f"{name}_temperature"
    for change in system.reader.changes:
        text = builder.draft.lines[change.line].line
        zones = system.reader.plant.of("zone")
        named = [z.name for z in zones if len(zones) > 1 and z.finder.search(text)]
        if change.owner not in ("*", name) or (named and name not in named):
            continue
        if change.period is not None:
            builder.draft.doubt(change.line, "a change that is limited at some times only")
        if change.minutes not in (0.0, builder.axis.step_minutes):
            builder.draft.doubt(change.line, "the span of this limit is not that of a step")
        made = builder.value(f"{name}_change_max", change.value, "largest change in a step")
        if change.value.unit.endswith("/h"):
            made = f"{made}*dt(t)"
        step = f"{temperature}[t+1] - {temperature}[t]"
        for wanted, text in ((change.up, step), (change.down, f"-({step})")):
            if wanted:
                constrain(builder, "change of the temperature", f"{text} <= {made}",
                          "Resource Capacity", change.line, ["t in T"])  # fmt: skip
