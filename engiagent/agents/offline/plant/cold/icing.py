"""Chillers that make cold or ice, and stores whose ice melts the slower the less of it is left."""

import re
from dataclasses import dataclass
from typing import Final

from engiagent.agents.offline.amounts import Amount
from engiagent.agents.offline.draft import Draft, Fact, Json, Reading, Value, amount_value
from engiagent.agents.offline.plant.cold.duties import at_edge, clause, only_of, says_day
from engiagent.agents.offline.plant.stores.tapers import Point, Taper
from engiagent.agents.offline.plant.units import Instance, Plant
from engiagent.agents.offline.timing import Axis
from engiagent.agents.offline.tokens import Line

_DIRECT: Final = re.compile(
    r"(?<![a-z])(?:direct(?:ly)?|(?:serv|cool|suppl)(?:e|es|ies|y|ing)? (?:the |our"
    r" )?[a-z]+)(?![a-z])"
)
_ICE: Final = re.compile(
    r"(?<![a-z])(?:(?:mak|produc|freez|build)(?:e|es|ing) (?:the )?ice|ice[- ]making"
    r"|(?:for|in) (?:making )?ice(?: mode)?)(?![a-z])"
)
_COP: Final = re.compile(r"(?<![a-z])(?:coefficient of performance|cop)(?![a-z])")
_MOST: Final = re.compile(r"up to|at most|a maximum of|no more than|maximum|at the most")
_PLAIN: Final = frozenset(
    ["the", "our", "a", "an", "it", "its", "is", "has", "can", "may", "with", "of", "and", "or",
     "up", "to", "at", "most", "maximum", "no", "more", "than", "coefficient", "performance", "cop",
     "cooling", "cold", "ice", "makes", "make", "making", "makes", "gives", "give", "directly",
     "direct", "either", "then", "for", "in", "mode", "while", "when", "kw", "chiller", "works",
     "runs", "operates", "ice-making", "produces", "produce", "producing", "freeze", "freezing",
     "building", "build", "serve", "serving", "serves", "supply", "supplies", "supplying", "cool",
     "cools"]
)  # fmt: skip
_BOTH: Final = (
    r"(?:the <number#\d+>(?: modes)?|these <number#\d+>|both|them|these|cooling and ice"
    r"|ice and cooling)"
)
_SHARED: Final = re.compile(
    rf"(?:it|they|the chiller) (?:may|can) (?:divide|split|share) (?:an|each|every|any|the|its)"
    rf" (?:hour"
    rf"|period|time|hours)(?: freely)? between {_BOTH}|(?:within|in) (?:an|each|any) hour it"
    rf" (?:may|can)"
    r" (?:do both|change between them)(?: in any proportion| in turn| one after the other)?"
)
_NEVER: Final = re.compile(
    r"(?:it (?:cannot|can not|must not|may not) do both|never both|not both|but not both|one or the"
    r" other)(?: (?:in|within|during) (?:one|the same|an|any) (?:hour|period))?"
)
_PARTS: Final = {"quarter": 0.25, "half": 0.5, "third": 1 / 3}
_EXAMPLE: Final = re.compile(
    r"(?:: |, )?(?:for (?:instance|example) ,? ?)?with (?:an? |one )?(?P<part>quarter|half|third)"
    r" of"
    r" (?:the|an) hour for ice ,? ?(?:for (?:instance|example) ,? )?it (?:makes|gives)"
    r" <power#(?P<ice>"
    r"\d+)> of ice and (?:at most|up to) <power#(?P<direct>\d+)>(?: for the [a-z]+| of cooling)?"
    r"(?: ,? as (?:means?|averages?) of the hour)?"
)
_FULL: Final = (
    r"(?: of (?:a full (?:store|tank|one)|(?:its|the) (?:full )?(?:capacity|content)|full))?"
)
_STORE: Final = r"(?:it|the (?:ice )?(?:store|tank|ice))"
_STRAIGHT: Final = (
    r"(?:in a straight line|linearly|proportionally|in proportion|along a straight line)"
)
_FROM: Final = re.compile(
    rf"(?:from|above|at) <percent#(?P<knee>\d+)>{_FULL}(?: upwards?| on(?:wards)?| or more| and"
    rf" (?:above|more))? ,? ?{_STORE} (?:gives|delivers|can give|can deliver|melts)"
    r"(?: at most| up to) <power#(?P<most>\d+)> [,;] (?:an |the )?empty (?:store|tank|one)"
    r" (?:gives|delivers) nothing ,? ?(?:and )?in between (?:the limit|it|that|this) (?:rises|grows"
    rf"|falls|changes) {_STRAIGHT}"
)
_WHILE: Final = re.compile(
    rf"{_STORE} (?:gives|delivers|can give|can deliver|melts)(?: at most| up to)"
    rf" <power#(?P<most>\d+)>"
    rf" (?:while|as long as|when) (?:at least|more than) <percent#(?P<knee>\d+)>{_FULL}(?: is|"
    rf" are)?"
    r"(?: left| there)?(?: in it)? [,;] below (?:that|this)(?: ,)? (?:the limit |it )?(?:falls"
    r"|drops"
    rf"|declines|decreases|sinks) {_STRAIGHT} (?:down )?to (?:zero|nothing)(?: when (?:it is"
    rf" )?empty"
    r"| for an empty (?:store|tank|one))?"
)
_COUNTS: Final = re.compile(
    rf"how (?:fast|quickly|much) (?:it|{_STORE}|the ice) (?:melts|gives|can (?:be melted|give))(?:"
    rf" on"
    r" demand| at most)? depends on the (?:ice|content|cold)(?: (?:that|which) is)?(?: left|"
    r" there)?"
    r"(?: in (?:it|the store|the tank))? at the (?P<edge>beginning|start|end) of (?:the|each|every)"
    r" (?:hour|period|step)"
)
_NO_LOSS: Final = re.compile(
    r"(?:what (?:has )?melt(?:s|ed) by itself|melting by itself|(?:standing |self-)?(?:losses"
    r"|melting)"
    r"|heat gains?) (?:can be|is|are|may be) (?:neglected|ignored|disregarded|negligible|left out)"
)
_HELD: Final = re.compile(
    r"(?:the (?:ice )?(?:store|tank|bank)|it) (?:holds|stores|takes|contains)(?: up to| at most)?"
    r" <energy#(?P<x>\d+)> of (?:cold as )?ice(?: when full| at most)?"
)
_AGAIN: Final = re.compile(
    r"(?:and )?(?:at the end|in the end|at <clock#(?P<clock>\d+)>(?: on <date#\d+>)?) (?:there"
    r" )?(?:have"
    r"|has|must|need)(?: to)? be at least as (?:many|much)(?: (?:again|left|in it|there))?"
)
_POWER: Final = re.compile(
    r"(?:besides|in addition to|on top of|apart from) (?:the )?energy(?: ,)? (?:the |our )?"
    r"(?:[a-z]+ ){0,3}"
    r"(?:bills|charges|prices|invoices)(?: us)?(?: for)?(?: the)? power :"
    r" <capacity_price#(?P<x>\d+)>"
    r" (?:for|on|of) the (?:highest|largest) (?:hour|hourly mean|hourly power)(?: of)?(?: the)?"
    r"(?: electric(?:al)?)? ?(?:power|draw|import)?(?: of the (?:chiller|plant|machine))?"
    r" <period#(?P<period>\d+)>(?: on <date#(?P<date>\d+)>)?"
)


_OF_COOLING: Final = frozenset({"grid", "chiller", "cold_store", "cooling_load"})
"""Units among which the power of the chiller is all that is drawn."""


@dataclass(frozen=True)
class Icing:
    """A chiller that makes ice as well as cold, each at its own efficiency and limit.

    Attributes
    ----------
    shared
        Whether it may divide a period between the two; otherwise it does one of them.
    """

    name: str
    cop: Value
    most: Value
    shared: bool
    line: int


def take_icing(draft: Draft, plant: Plant) -> Icing | None:
    """Return how the only chiller of a plant makes ice; what it makes directly fills its card."""
    chiller, store = only_of(plant, ("chiller",)), only_of(plant, ("cold_store",))
    if chiller is None or store is None:
        return None
    for n, line in enumerate(draft.lines):
        if line.sentence.is_heading or n in draft.table_lines or not _ICE.search(line.line):
            continue
        parts = _parts(draft, n, line)
        if parts is None:
            continue
        direct, ice = parts
        shared = _sharing(draft, n, direct[1], ice[1])
        if shared is None:
            return None
        span = line.sentence.span
        for slot, amount in (("cop", direct[0]), ("cooling_max", direct[1])):
            value = amount_value(amount, draft.source(n, amount))
            known = chiller.unit.slots[slot]
            draft.readings.append(Reading(chiller.name, known, value, "value", n, span))
        draft.take(n, range(len(line.tokens)))
        cop, most = (amount_value(a, draft.source(n, a)) for a in ice)
        return Icing(chiller.name, cop, most, shared, n)
    return None


_Pair = tuple[Amount, Amount]


def _parts(draft: Draft, n: int, line: Line) -> tuple[_Pair, _Pair] | None:
    """Return COP and largest output of cooling directly and of making ice, in one sentence."""
    direct, ice = _DIRECT.search(line.line), _ICE.search(line.line)
    words = {t.text for t in line.tokens if t.kind == "word"}
    if direct is None or ice is None or not _COP.search(line.line):
        return None
    served = set(direct[0].split()[-1:]) if " " in direct[0] else set()
    if words - _PLAIN - served:
        return None
    first, second = sorted((direct, ice), key=lambda m: m.start())
    edge = line.token_at(second.start())
    pairs = []
    for start, stop in ((0, edge), (edge, len(line.tokens))):
        found = [a for t in line.tokens[start:stop] if (a := t.amount) is not None]
        end = line.starts[stop] if stop < len(line.starts) else None
        text = line.line[line.starts[start] : end]
        kinds = [a.kind for a in found]
        if sorted(kinds) != ["number", "power"] or not _MOST.search(text):
            return None
        pairs.append((found[kinds.index("number")], found[kinds.index("power")]))
    return (pairs[0], pairs[1]) if first is direct else (pairs[1], pairs[0])


def _sharing(draft: Draft, n: int, direct: Amount, ice: Amount) -> bool | None:
    """Return whether a period may be divided; None, reported, where it is not said."""
    for k, line in enumerate(draft.lines):
        match = _SHARED.search(line.line)
        if match is None:
            never = _NEVER.search(line.line)
            if never is not None and abs(k - n) <= 2:
                _note(draft, k, line, never)
                return False
            continue
        _note(draft, k, line, match)
        example = _EXAMPLE.match(line.line, match.end() + 1)
        if example is not None:
            part = _PARTS[example["part"]]
            told = [line.tokens[int(example[key])].amount for key in ("ice", "direct")]
            known = (part * ice.value, (1 - part) * direct.value)
            fits = all(a is not None and abs(a.value - v) <= 0.006 * v and a.unit == u.unit
                       for a, v, u in zip(told, known, (ice, direct), strict=True))  # fmt: skip
            if not fits:
                draft.doubt(k, "the example does not agree with the limits")
            draft.take(k, list(line.covered(*example.span())))
            for a in told:
                if a is not None:
                    _explain(draft, a, "an example that agrees with the limits")
        for i in line.covered(*match.span()):
            amount = line.tokens[i].amount
            if amount is not None:
                _explain(draft, amount, "counts cooling and ice")
        return True
    draft.doubt(n, "may it make cold and ice within the same period?")
    return True


def take_melting(draft: Draft, plant: Plant, axis: Axis | None) -> list[Taper]:
    """Return how fast the ice of the only store melts by what is left; read what it holds."""
    store = only_of(plant, ("cold_store",))
    if store is None:
        return []
    edge = ""
    found: list[tuple[tuple[Point, ...], int]] = []
    for n, line in enumerate(draft.lines):
        if line.sentence.is_heading or n in draft.table_lines:
            continue
        _of_store(draft, n, line, store, axis)
        counts = _COUNTS.search(line.line)
        if counts is not None:
            edge = "end" if counts["edge"] == "end" else "start"
            _note(draft, n, line, counts)
        match = _FROM.search(line.line) or _WHILE.search(line.line)
        if match is not None and clause(line, match).strip() and not found:
            found.append(_limit(draft, n, line, match))
    return [Taper("discharge", points, n, edge) for points, n in found]


def _limit(draft: Draft, n: int, line: Line, match: re.Match[str]) -> tuple[tuple[Point, ...], int]:
    knee, most = (line.tokens[int(match[key])].amount for key in ("knee", "most"))
    assert knee is not None
    assert most is not None
    draft.take(n, list(line.covered(*match.span())))
    at, power = draft.source(n, knee), draft.source(n, most)
    empty: Json = {"kind": "assumption", "reason": "an empty store holds 0 % and gives 0 kW"}
    full: Json = {"kind": "assumption", "reason": "a full store holds 100 % of its capacity"}
    return (
        Point(0.0, "%", 0.0, most.unit, (empty, empty)),
        Point(knee.value, "%", most.value, most.unit, (at, power)),
        Point(100.0, "%", most.value, most.unit, (full, power)),
    ), n


def _of_store(draft: Draft, n: int, line: Line, store: Instance, axis: Axis | None) -> None:
    held = _HELD.search(line.line)
    if held is not None and not re.search(r"<clock|start|beginning|end(?![a-z])", line.line):
        amount = line.tokens[int(held["x"])].amount
        assert amount is not None
        value = amount_value(amount, draft.source(n, amount))
        slot, span = store.unit.slots["energy_capacity"], line.sentence.span
        draft.readings.append(Reading(store.name, slot, value, "value", n, span))
        draft.take(n, list(line.covered(*held.span())))
    loss = _NO_LOSS.search(line.line)
    if loss is not None:
        _note(draft, n, line, loss)
    again = _AGAIN.search(line.line)
    starts = [r for r in draft.readings if r.line == n and r.slot.name == "initial_energy"]
    if again is not None and starts and at_edge(line, again["clock"], axis, end=True):
        _note(draft, n, line, again, "final_at_least_initial")


def take_power_price(draft: Draft, plant: Plant, axis: Axis | None) -> tuple[int, int, int] | None:
    """Return line, amount and period of a price for the highest hour of the power drawn.

    Its words are accounted for where a date beside the period is that of the only such period.
    """
    for n, line in enumerate(draft.lines):
        match = _POWER.search(line.line)
        alone = {i.unit.component for i in plant.instances} <= _OF_COOLING
        if match is None or not plant.of("grid") or axis is None or axis.hours > 24 or not alone:
            continue
        place = int(match["period"])
        if match["date"] and not _falls_on(line, match["date"], place, axis):
            continue
        draft.take(n, list(line.covered(*match.span())))
        return n, int(match["x"]), place
    return None


def _falls_on(line: Line, date: str, period: int, axis: Axis) -> bool:
    """Whether a period of the day lies on a date, in a horizon of a day."""
    from datetime import date as day
    from datetime import timedelta

    token, told = line.tokens[period], line.tokens[int(date)].text
    if token.period is None or "T" not in axis.start:
        return False
    begins = token.period.ranges[0][0]
    first = day.fromisoformat(axis.start[:10])
    falls = first if begins >= axis.start_clock else first + timedelta(days=1)
    return says_day(told, falls)


def _note(draft: Draft, n: int, line: Line, match: re.Match[str], fact: str = "background") -> None:
    covered = line.covered(*match.span())
    span = (line.tokens[covered[0]].span[0], line.tokens[covered[-1]].span[1])
    draft.facts.append(Fact(fact, n, span, {}, match[0]))
    draft.take(n, list(covered))


def _explain(draft: Draft, amount: Amount, reason: str) -> None:
    draft.unused.append({"span": list(amount.span), "quote": amount.quote, "reason": reason})
