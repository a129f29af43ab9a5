"""Rooms whose walls do not count: nothing leaks in or out, and their temperature moves in lines."""

import re
from typing import TYPE_CHECKING, Final

from engiagent.agents.offline.draft import Draft, Fact
from engiagent.agents.offline.plant.language.remarks import account

if TYPE_CHECKING:
    from engiagent.agents.offline.plant.system import System

_SUBJECT: Final = (
    r"(?:(?:the |its |all )?(?:walls?|envelope|outside walls|outer walls)"
    r"|(?:the |its )?(?:heat|losses|heat losses|heat flows?) (?:through|to) (?:the |its )?"
    r"(?:walls?|envelope|outside|outdoors))"
)
_NO_WALLS: Final = re.compile(
    rf"(?<![a-z]){_SUBJECT} (?:do not|don't|does not|doesn't) (?:matter|count|play a role)"
    r"(?= ?[.,;]|$)"
    rf"|(?<![a-z]){_SUBJECT} (?:is|are|can be|may be) (?:neglected|ignored"
    r"|disregarded|negligible|left out)(?= ?[.,;]|$)"
    r"|(?<![a-z])(?:no heat|nothing) (?:passes|leaks|goes|gets|is lost|flows)(?: in or out)?"
    r" through (?:the|its) (?:walls|envelope)(?= ?[.,;]|$)"
)
_STRAIGHT: Final = re.compile(
    r"^(?:the |its )?temperature(?: of the [a-z]+| inside)? (?:moves|changes|runs|goes)"
    r" (?:in|along) a straight line (?:through|over|within|in|during) (?:each|every) "
    r"(?:hour|step|period|half-hour|quarter-hour)$"
)
_TONS: Final = re.compile(r"<power#(?P<at>\d+)> (?P<of>of refrigeration)(?![a-z])")


def take_walls(draft: Draft) -> None:
    """Note that walls do not count, and what then says nothing more."""
    for n, line in enumerate(draft.lines):
        match = None if line.sentence.is_heading else _NO_WALLS.search(line.line)
        if match is not None:
            draft.facts.append(Fact("no_walls", n, line.sentence.span, {}, match[0]))
            account(draft, n, line, match, "")
    if not draft.has("no_walls"):
        return
    for n, line in enumerate(draft.lines):
        match = None if line.sentence.is_heading else _STRAIGHT.search(line.line)
        if match is not None:
            draft.facts.append(Fact("euler", n, line.sentence.span, {}, match[0]))
            account(draft, n, line, match, "")


def take_tons(draft: Draft) -> None:
    """Account for 'of refrigeration' behind tons, which are a unit of power and no cooling."""
    for n, line in enumerate(draft.lines):
        for match in _TONS.finditer(line.line):
            amount = line.tokens[int(match["at"])].amount
            if amount is not None and re.search(r"\btons?$", amount.quote):
                draft.take(n, list(line.covered(*match.span("of"))))


def walled(system: "System", name: str) -> bool:
    """Whether a room has walls; report a wall that is given and does not count."""
    fact = system.builder.draft.fact("no_walls")
    given = {"resistance", "ambient_temperature"} & set(system.filled[name])
    if fact is not None and given:
        system.builder.draft.doubt(fact.line, f"walls do not count, and a {given.pop()} is given")
    return fact is None
