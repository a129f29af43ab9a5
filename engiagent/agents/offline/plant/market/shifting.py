"""Consumers that can take less at some times and more at others: 'the mill can shift its grinders'.

Only the difference to what they take as usual enters the model; the rest is on nobody's account.
"""

import re
from dataclasses import dataclass, replace
from typing import Final

from engiagent.agents.offline.draft import Draft, Fact, Json, Value, amount_value
from engiagent.agents.offline.plant.system import LOGIC, System
from engiagent.agents.offline.plant.units import Instance, Plant, Unit, pattern_of
from engiagent.agents.offline.storage import constrain
from engiagent.agents.offline.timing import Axis
from engiagent.blueprint.units import convert, parse_unit

_USUAL: Final = r"(?:usual(?:ly)?|normal(?:ly)?|planned|otherwise|always|without (?:this|that|it))"
_WHEN: Final = r"(?: (?:in|at) (?:any|every|each|one|an) (?:hour|time|period|step))?"
_THAN: Final = rf"(?: than {_USUAL})?{_WHEN}"
_LESS: Final = rf"(?:less|lower|below){_THAN}"
_MORE: Final = rf"(?:more|higher|above){_THAN}"
_BOTH: Final = r"(?:less or more|more or less|up or down|in either direction|either way)"
_AND: Final = r"(?: ,)?(?: (?:and|or|but))?(?: also)? "


def _upto(name: str) -> str:
    return rf"(?:by )?(?:up to|at most|no more than|at the most) <power#(?P<{name}>\d+)> "


_INTRO: Final = re.compile(
    r"(?P<who>(?:[a-z-]+ )?[a-z-]+) (?:that |which |, which )?(?:can|may|is able to) "
    r"(?:shift|move|postpone|bring forward|delay|reschedule) "
    r"(?:its|their|some of its|part of its) [a-z-]+(?: [a-z-]+)?"
)
_ITEM: Final = re.compile(
    rf"{_upto('less')}{_LESS}{_AND}{_upto('more')}{_MORE}"
    rf"|{_upto('more2')}{_MORE}{_AND}{_upto('less2')}{_LESS}|{_upto('both')}{_BOTH}{_THAN}"
)
_PLAIN: Final = (
    r"(?:hours?|day|evening|night|morning|afternoon|time|period|horizon|plan|whole period)"
)
_NEUTRAL: Final = re.compile(
    r"(?:over|in|within|across|during) (?:the|these|all|all the) "
    rf"(?:<(?:number|duration)#(?P<n>\d+)> )?(?:{_PLAIN} )?(?:together )?(?:, )?"
    r"(?:it|they|(?:the|our) [a-z -]+?) (?:must|has to|have to|needs? to|shall) (?:still )?"
    r"(?:take|use|draw|consume|get|need) (?:just )?(?:as much energy as|the same energy as"
    r"|exactly as much as|as much as|the energy that it takes) "
    rf"{_USUAL}(?: ,? ?to the kilowatt-hour|,? exactly)?"
)


@dataclass(frozen=True)
class Shift:
    """How far a consumer can go below and above what it takes as usual.

    Attributes
    ----------
    name
        What the text calls it.
    line, neutral
        Where its limits stand, and where that its energy stays the same; None where nothing does.
    """

    name: str
    less: Value
    more: Value
    line: int
    neutral: int | None


def take_shifts(draft: Draft, plant: Plant, axis: Axis | None) -> tuple[list[Shift], Plant]:
    """Take what a text says of a consumer that can shift; return it and the plant with it."""
    names = _introduced(draft, plant)
    found = []
    for n, line in enumerate(draft.lines):
        match = (
            None if line.sentence.is_heading or n in draft.table_lines else _ITEM.search(line.line)
        )
        if match is None or len(names) != 1:
            continue
        who = names[0]
        if not re.search(rf"(?<![a-z]){who}(?![a-z])", line.line[: match.start()]):
            continue
        groups = match.groupdict()
        places = [groups[k] for k in ("less", "less2", "both") if groups[k]]
        others = [groups[k] for k in ("more", "more2", "both") if groups[k]]
        less, more = (line.tokens[int(some[0])].amount for some in (places, others))
        assert less is not None
        assert more is not None
        _take(draft, n, match)
        neutral = next((k for k in (n, n + 1) if _neutral(draft, k, axis)), None)
        values = [amount_value(a, draft.source(n, a)) for a in (less, more)]
        found.append(Shift(who, values[0], values[1], n, neutral))
    if len(found) != 1:
        return [], plant
    unit = Unit("shifting", "shifting", rf"(?:[a-z-]+ )?{found[0].name}s?", {}, {},
                {"output": "reduction"})  # fmt: skip
    made = Instance(found[0].name, unit, pattern_of(unit.nouns))
    _take_intro(draft)
    return found, replace(
        plant, units={**plant.units, "shifting": unit}, instances=(*plant.instances, made)
    )


def _introduced(draft: Draft, plant: Plant) -> list[str]:
    """Return what can shift, by the last word of its name; units of other kinds cannot."""
    found = []
    for line in draft.lines:
        for match in _INTRO.finditer(line.line):
            noun = match["who"].split()[-1]
            if not any(i.finder.search(match["who"]) for i in plant.instances):
                found.append(noun)
    return list(dict.fromkeys(found))


def _take_intro(draft: Draft) -> None:
    for n, line in enumerate(draft.lines):
        for match in _INTRO.finditer(line.line):
            _take(draft, n, match)


def _neutral(draft: Draft, n: int, axis: Axis | None) -> bool:
    """Take 'over the day it must take as much energy as usual' where that is the whole horizon."""
    if n >= len(draft.lines) or axis is None:
        return False
    line = draft.lines[n]
    match = _NEUTRAL.search(line.line)
    if match is None:
        return False
    amount = line.tokens[int(match["n"])].amount if match["n"] else None
    if amount is not None:
        hours = convert(amount.value, parse_unit(amount.unit or "h"), parse_unit("h"))
        if abs(hours - axis.hours) > 1e-9:
            return False
    elif not (re.search(r"horizon|plan|period|time", match[0]) or abs(axis.hours - 24) < 1.5):
        return False
    _take(draft, n, match)
    return True


def _take(draft: Draft, n: int, match: re.Match[str]) -> None:
    line = draft.lines[n]
    covered = line.covered(*match.span())
    draft.take(n, covered)
    first, last = line.tokens[covered[0]], line.tokens[covered[-1]]
    draft.facts.append(Fact("shifts", n, (first.span[0], last.span[1]), {}, match[0]))


def add_shifts(system: System) -> None:
    """Put what consumers take less than usual on the side of the supplies."""
    builder, ahead = system.builder, system.reader.ahead
    made = ahead.commitment if ahead is not None else None
    for shift in system.reader.shifts:
        if made is None or made.carrier != "electricity":
            # Without a settlement of both ways a reduction needs the usual consumption beside it.
            builder.draft.doubt(shift.line, f"what does {shift.name} take as usual, and who pays?")
        less = builder.value(
            f"{shift.name}_less", shift.less, f"how much less {shift.name} may take"
        )
        more = builder.value(
            f"{shift.name}_more", shift.more, f"how much more {shift.name} may take"
        )
        name = f"{shift.name}_reduction"
        entry: Json = {"name": name, "index": ["t in T"], "type": "continuous",
                       "lower": f"-{more}", "upper": less, "unit": "kW",
                       "quantity": f"{shift.name}.reduction", "role": "decision",
                       "description": f"what {shift.name} takes less than usual"}  # fmt: skip
        builder.variables.append(entry)
        system.supply("electricity", f"{name}[t]")
        if shift.neutral is None:
            builder.draft.doubt(shift.line, "must what is shifted be made up for, and when?")
            continue
        constrain(builder, f"energy of {shift.name}", f"sum({name}[t]*dt(t) for t in T) == 0[kWh]",
                  LOGIC, shift.neutral)  # fmt: skip
