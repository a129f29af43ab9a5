"""Condenser water whose temperature is free: colder helps the chiller, and costs the tower's fan.

Read is a chiller whose power per ton rises with the temperature in a straight line, a range for
it, and a tower whose approach is proportional to the load and inversely proportional to the speed
of a fan that follows the cube law. Whatever of this is not said leaves the text to other readers.
"""

import re
from dataclasses import dataclass, replace
from typing import Final

from engiagent.agents.offline.amounts import Amount
from engiagent.agents.offline.draft import Draft, Fact, Value, amount_value
from engiagent.agents.offline.tokens import Line

_WATER: Final = r"(?:the )?(?:condenser |cooling |entering )?water"
_SPECIFIC: Final = re.compile(
    rf"(?:with {_WATER} at (?:the )?(?:a )?temperature(?: t)? )?(?:it|the chiller) (?:takes|needs"
    rf"|draws"
    r"|uses) <power_per_cold#(?P<base>\d+)>(?: \( [^()]* \))? at <temperature#(?P<at>\d+)> ,?"
    r" ?(?:and"
    r" |plus )(?:<other#(?P<slope>\d+)>)(?: more)? above (?:<temperature#(?P<again>\d+)>|that|it)"
)
_RANGE: Final = re.compile(
    rf"(?:it|the chiller) (?:works|runs|can work|can run) with (?:any (?:t|temperature)|{_WATER})"
    r" (?:from|between) <temperature#(?P<low>\d+)> (?:to|and) <temperature#(?P<high>\d+)>"
    r"(?: ;? in colder water [a-z' ]+ fails?)?"
    rf"|{_WATER} (?:must|has to|may) (?:be|stay|lie) (?:from|between) <temperature#(?P<low2>\d+)>"
    r" (?:to|and) <temperature#(?P<high2>\d+)>"
)
_APPROACH: Final = re.compile(
    r"at full speed and <power#(?P<load>\d+)> ,? ?(?:the )?(?:condenser |cooling )?water leaves"
    r"(?: the tower)? <temperature#(?P<approach>\d+)> (?:warmer|above) (?:than )?the wet[- ]bulb"
)
_LAW: Final = re.compile(
    r"(?:this|the) approach is proportional to the load and inversely proportional to the (?:fan )?"
    r"speed(?: of the fan)?(?: : at half the speed it is twice as large)?"
)
_FAN: Final = re.compile(
    r"(?:at )?full speed (?:draws|takes|needs) <power#(?P<power>\d+)> ,? ?and the power (?:goes"
    r"|grows"
    r"|rises) with the (?:cube|third power) of the speed ,? ?(?:which lies |at )?between <percent#"
    r"(?P<low>\d+)> and <percent#(?P<high>\d+)>(?: of full speed)?"
)
_NOT_COLDER: Final = re.compile(
    rf"{_WATER} (?:may not|cannot|can not|must not) be colder than the tower can make it at the (?:"
    r"chosen |same |given )?speed(?: ;? (?:and )?warmer is possible by (?:a |the )?bypass)?"
)
_PAST: Final = re.compile(
    rf"(?:we|they) have always (?:held|kept|had) {_WATER} at <temperature#(?P<past>\d+)>"
)
_ASIDES: Final = (
    re.compile(r"^colder water helps the chiller(?= :)"),
    re.compile(r"the tower pays for (?:it|that|this) with its fan"),
    re.compile(r"(?:i|we) would like to see the best temperature for each (?:hour|period)(?= of)"),
    re.compile(r"(?:, )?and what the <(?:number|duration)#\d+>(?: hours)? then cost"),
)


@dataclass(frozen=True)
class Reset:
    """The chiller and the tower between which the temperature of the water is chosen.

    Attributes
    ----------
    base, at, slope
        The power per cold at a temperature, and what it rises by per ``degree`` above it.
    low, high
        The range of the water's temperature.
    approach, load
        By how much the water stays warmer than the wet bulb at full speed and this load.
    fan, slowest, fastest
        The power at full speed, and the range of the speed.
    lines
        Those of the power of the chiller, of the range, and of what the tower can do.
    """

    base: Value
    at: Value
    slope: Value
    low: Value
    high: Value
    approach: Value
    load: Value
    fan: Value
    slowest: Value
    fastest: Value
    degree: str
    lines: tuple[int, int, int]


def take_reset(draft: Draft) -> Reset | None:
    """Return what a text says of the choice; None, with nothing taken, where a part is missing."""
    patterns = (_SPECIFIC, _RANGE, _APPROACH, _LAW, _FAN, _NOT_COLDER)
    found = [_first(draft, pattern) for pattern in patterns]
    if any(f is None for f in found):
        return None
    places = [f for f in found if f is not None]
    (n, one), (m, span), (k, tower), _, (f, fan), (last, _) = places
    ranged = ("low", "high") if span["low"] else ("low2", "high2")
    values = {
        "base": _value(draft, n, one["base"]), "at": _value(draft, n, one["at"]),
        "slope": _value(draft, n, one["slope"]),
        "low": _value(draft, m, span[ranged[0]]), "high": _value(draft, m, span[ranged[1]]),
        "approach": _difference(_value(draft, k, tower["approach"])),
        "load": _value(draft, k, tower["load"]), "fan": _value(draft, f, fan["power"]),
        "slowest": _value(draft, f, fan["low"]), "fastest": _value(draft, f, fan["high"]),
    }  # fmt: skip
    per = re.fullmatch(r"(.+)/(degF_diff|K)", values["slope"].unit)
    same = per is not None and per[1] == values["base"].unit
    again = _value(draft, n, one["again"]) if one["again"] else values["at"]
    if not same or (again.number, again.unit) != (values["at"].number, values["at"].unit):
        return None
    assert per is not None
    values["slope"] = replace(values["slope"], unit=per[1])
    for line, match in places:
        _note(draft, line, match)
    _besides(draft, again, values["at"])
    return Reset(**values, degree=per[2], lines=(n, m, last))


def _first(draft: Draft, pattern: re.Pattern[str]) -> tuple[int, re.Match[str]] | None:
    for n, line in enumerate(draft.lines):
        match = None if line.sentence.is_heading else pattern.search(line.line)
        if match is not None:
            return n, match
    return None


def _value(draft: Draft, n: int, place: str) -> Value:
    amount = draft.lines[n].tokens[int(place)].amount
    assert amount is not None
    return amount_value(amount, draft.source(n, amount))


def _difference(value: Value) -> Value:
    return replace(value, unit="degF_diff" if "F" in value.unit else "K")


def _besides(draft: Draft, again: Value, at: Value) -> None:
    """Account for what was done so far, for asides, and for a temperature that is said twice."""
    if again.source != at.source:
        _explain(draft, again.source["span"], again.source["quote"], "says it again")
    past = _first(draft, _PAST)
    if past is not None:
        n, match = past
        amount = draft.lines[n].tokens[int(match["past"])].amount
        assert amount is not None
        _explain(draft, amount.span, amount.quote, "what was done before")
        _note(draft, n, match)
    for pattern in _ASIDES:
        place = _first(draft, pattern)
        if place is not None:
            for amount in _amounts(draft.lines[place[0]], place[1]):
                _explain(draft, amount.span, amount.quote, "counts the hours")
            _note(draft, *place)


def _amounts(line: Line, match: re.Match[str]) -> list[Amount]:
    return [a for i in line.covered(*match.span()) if (a := line.tokens[i].amount) is not None]


def _explain(draft: Draft, span: tuple[int, int], quote: str, reason: str) -> None:
    draft.unused.append({"span": list(span), "quote": quote, "reason": reason})


def _note(draft: Draft, n: int, match: re.Match[str]) -> None:
    line = draft.lines[n]
    covered = line.covered(*match.span())
    span = (line.tokens[covered[0]].span[0], line.tokens[covered[-1]].span[1])
    draft.facts.append(Fact("background", n, span, {}, match[0]))
    draft.take(n, list(covered))
