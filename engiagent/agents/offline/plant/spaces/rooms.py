"""Rooms of a plant: whether a text has one, and what it says of temperatures and heat in it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from engiagent.agents.offline.cards import load_card
from engiagent.agents.offline.draft import Band, Draft, Fact, Priced, amount_value
from engiagent.agents.offline.grids import Column
from engiagent.agents.offline.phrases import relined
from engiagent.agents.offline.plant.language.words import Marked
from engiagent.agents.offline.plant.spaces.changes import Change, direction, span_in
from engiagent.agents.offline.plant.spaces.nodes import Node, finder_of
from engiagent.agents.offline.plant.times.limits import TIMES
from engiagent.agents.offline.plant.units import Instance, Plant, Unit, pattern_of, unit_of
from engiagent.agents.offline.schedules import Item, assign, period_of
from engiagent.agents.offline.tokens import Line, Period, Token

if TYPE_CHECKING:
    from engiagent.agents.offline.plant.language.numbers import Numbers
    from engiagent.agents.offline.plant.language.reading import Found

_CAPACITY_OF: Final = re.compile(
    r"(?:heat|thermal) (?:capacity|mass) of the (?P<name>[a-z-]+)(?: [a-z]| [,.]|$)"
)
_MARKS: Final[Mapping[str, float]] = {"mark60": 60.0, "mark30": 30.0, "mark15": 15.0}
TIMED: Final = ("band", "gain", "change", "by_time")


@lru_cache(maxsize=1)
def card() -> tuple[Unit, Mapping[str, str]]:
    """Return the unit of a zone and the concepts of texts that have one."""
    found: dict[str, Any] = load_card("rooms")
    return unit_of(found["zone"]), found["concepts"]


_POOL: Final = re.compile(
    r"(?<![a-z])(?:pools?|basins?|baths?|lidos?|aquari(?:um|a)|tanks?|ponds?|spa|vats?|tubs?"
    r"|fermenters?)(?![a-z])"
)
_WATER: Final = re.compile(r"\|water(?: temperature)?(?=\||$)")


def with_zone(
    plant: Plant, draft: Draft, columns: Sequence[Column], nodes: "Sequence[Node]" = ()
) -> Plant:
    """Add the zone of a text that speaks of a heat capacity, or the several that it tells apart."""
    name = _zone_name(draft, columns)
    if name is None and not nodes:
        return plant
    unit, concepts = card()
    if not any(_POOL.search(line.line) for line in draft.lines):
        # The water of radiators is not the room that they heat.
        concepts = {**concepts, "temp": _WATER.sub("", concepts["temp"]), "water": "water"}
    if nodes:  # of several rooms, what differs is not what one of them changes by
        concepts = {**concepts, "apart": "differs?(?: by)?|differences?(?: between| of)?|apart"}
    zones = [Instance(n.name, unit, finder_of(n.label), n.label) for n in nodes]
    zones = zones or [Instance(str(name), unit, pattern_of(unit.nouns))]
    instances = tuple(
        i for i in plant.instances if i.unit.component not in ("heat_load", "cooling_load")
    )
    return replace(
        plant,
        units={**plant.units, "zone": unit},
        instances=(*instances, *zones),
        concepts={**plant.concepts, **concepts},
    )


def _zone_name(draft: Draft, columns: Sequence[Column]) -> str | None:
    named = [m["name"] for line in draft.lines if (m := _CAPACITY_OF.search(line.line))]
    amounts = [t.amount for line in draft.lines for t in line.tokens if t.amount is not None]
    if any(a.kind == "heat_capacity" for a in amounts) and not _tabled(draft):
        return "zone"
    return named[0] if named and named[0] not in ("whole", "inside", "total") else None


def _tabled(draft: Draft) -> bool:
    """Whether heat capacities stand in a table, which has one for each of several rooms."""
    return any(
        t.amount is not None and t.amount.kind == "heat_capacity"
        for n in draft.table_lines for t in draft.lines[n].tokens
    )  # fmt: skip


# --- words for times -----------------------------------------------------------------------------

_REST: Final = re.compile(
    r"(?<![a-z0-9-])(?:at night|overnight|in the night|by night|before and after(?: that| it)?"
    r"|before or after|outside these (?:hours|times)|outside (?:of )?(?:this|that) time"
    r"|(?:at|on|for) (?:the|all|any) other (?:hours?|times?|marks?|hour marks?)"
    r"|on the other marks|at other (?:times|marks|hours)"
    r"|(?:in|during) the (?:daytime|day)(?= [.,;(]|$)|by day|in daytime)(?![a-z0-9-])"
)
_BY_DAY: Final = re.compile(r"day(?:time)?$")


def name_rests(draft: Draft) -> None:
    """Turn 'at night' and the like into all other times, where the paragraph names times before.

    'At night' is the rest of the times of a day only where these do not run over midnight.
    """
    known: dict[int, list[Period]] = {}
    for n, line in enumerate(draft.lines):
        periods = known.setdefault(line.sentence.passage, [])
        for match in reversed(list(_REST.finditer(line.line))):
            places = list(line.covered(*match.span()))
            here = [t.period for i, t in enumerate(line.tokens)
                    if t.kind == "period" and t.period is not None]  # fmt: skip
            daily = [p for p in (*periods, *here) if len(p.ranges) == 1]
            if _BY_DAY.search(match[0]):
                if not here or not all(p.ranges and _nightly(p) for p in here):
                    continue
            elif not daily or (len(daily) < len(periods) and "night" in match[0]):
                continue
            if any(line.tokens[i].kind not in ("word", "mark") for i in places):
                continue
            tokens = list(line.tokens)
            span = (tokens[places[0]].span[0], tokens[places[-1]].span[1])
            rest = Token("rest", match[0], span, period=Period(rest=True))
            tokens[places[0] : places[-1] + 1] = [rest]
            line = draft.lines[n] = relined(line, tokens)
        periods += [t.period for t in line.tokens if t.kind == "period" and t.period is not None]


def _nightly(period: Period) -> bool:
    """Whether a period is a night: from an evening over midnight to a morning."""
    evening = any(a >= 19 and b == 24 for a, b in period.ranges)
    morning = any(a == 0 and b <= 9 for a, b in period.ranges)
    return evening and morning and len(period.ranges) == 2


# --- how temperatures are stepped ----------------------------------------------------------------

_ABOUT: Final = re.compile(
    r"temperatures?|heat balance|heat flows?|losses|leak|respon[ds]\w*|integrat\w+|euler|equation"
    r"|dynamics|one[- ]node|stepp?(?:ed|ing)?|difference quotient|march|advance[ds]?|method"
)
_SOLVED: Final = r"(?:integrat|respon[ds]|solv|comput|calculat|follow)[a-z]*"
_EXACT: Final = re.compile(
    r"exact (?:(?:one-node |analytical )?(?:solution|response|exponential|integration|integral))"
    rf"|{_SOLVED}(?: [a-z,()-]+){{0,6}} exactly|exactly (?:{_SOLVED})"
    r"|exponential(?:ly)?|analytic\w*|closed[- ]form|matrix exponential|zero-order hold"
)
_STEP: Final = (
    r"(?:the|each|every|a) (?:[a-z-]+ )?(?:step|hour|half[- ]hour|quarter[- ]hour"
    r"|quarter of an hour|interval|period|block|stretch)"
)
_EXPLICIT: Final = re.compile(
    r"explicit(?:ly)?|(?:step|march|forward euler)[a-z]*(?: [a-z]+){0,3} forward"
    r"|forward (?:euler|difference)s?|(?<!implicit )(?<!backward )euler"
    rf"|(?:flows?|losses|leak|taken|are) (?:[a-z,]+ ){{0,6}}(?:at|of) the (?:beginning|start)"
    rf" of {_STEP}"
    r"|at the present temperature"
)
_IMPLICIT: Final = re.compile(
    rf"implicit(?:ly)?|backward|(?:losses|flows)[a-z ]{{0,40}} at the end of {_STEP}"
)
_NOT: Final = re.compile(
    r"not (?:from |by )?(?:an? |the )?(?:explicit |forward |implicit )?"
    r"(?:euler(?: step| rule| method)?|difference quotient)"
)
_LIMITS: Final = re.compile(
    r"(?<![a-z])(?:must|shall|should|may not|never|at least|at most|more than|less than|least|most"
    r"|limits?|cannot|only|exceed|(?:is|are|has|have|needs?) to|kept?|held)(?![a-z])"
)


def read_scheme(draft: Draft) -> None:
    """Note how temperatures are stepped, and account for the sentences that only say so."""
    for n, line in enumerate(draft.lines):
        if line.sentence.is_heading or n in draft.table_lines:
            continue
        for first, last in _pieces(line):
            text = " ".join(t.text for t in line.tokens[first:last])
            scheme = _scheme(text)
            if scheme is None or _LIMITS.search(text):
                continue
            inside = range(first, last)
            if any(line.tokens[i].amount is not None for i in inside if not _plain(line, i)):
                continue
            span = (line.tokens[first].span[0], line.tokens[last - 1].span[1])
            draft.facts.append(Fact(scheme, n, span, {}, text))
            draft.take(n, list(inside))


def _plain(line: Line, i: int) -> bool:
    """Whether a number only names a step, as in 'half an hour times the heat flows'."""
    amount = line.tokens[i].amount
    return amount is not None and amount.kind in ("duration", "number")


def _pieces(line: Line) -> list[tuple[int, int]]:
    """Return the sentence as a whole where it has no data, else its pieces between marks."""
    data = [i for i, t in enumerate(line.tokens)
            if t.kind in (*TIMES, "clock", "list", "code", "date")
            or (t.amount is not None and not _plain(line, i))]  # fmt: skip
    if not data:
        return [(0, len(line.tokens))]
    cuts = [-1, *(i for i, t in enumerate(line.tokens) if t.text in (",", ";", ":")),
            len(line.tokens)]  # fmt: skip
    found = []
    for a, b in pairwise(cuts):
        if b - a > 1 and not any(a < i < b for i in data):
            found.append((a + 1, b))
    return found


def _scheme(text: str) -> str | None:
    denied = _NOT.search(text)
    plain = _NOT.sub(" ", text)
    found = {
        name
        for name, pattern in (("exact", _EXACT), ("euler", _EXPLICIT), ("implicit", _IMPLICIT))
        if pattern.search(plain)
    }
    if found == {"implicit", "euler"} and "implicit" in plain:
        found = {"implicit"} if not re.search(r"explicit|forward", plain) else found
    if len(found) != 1:
        return None
    step = _ABOUT.search(plain) or denied or re.search(r"steps?", plain)
    return found.pop() if step else None


# --- numbers -------------------------------------------------------------------------------------


def take_room(
    reader: "Numbers", n: int, marked: Marked, found: "Sequence[Found]", span: tuple[int, int]
) -> str | None:
    """Take the numbers of a clause of which some are limits of a temperature or heat gains."""
    draft = reader.draft
    line = draft.lines[n]
    said = frozenset().union(*(f.said for f in found))
    axis = reader.axis
    if any("band" in f.slot.options for f in found) and _elsewhere(draft, n):
        return "of another room than the one that is modelled"
    for mark, minutes in _MARKS.items():
        if mark in said and axis is not None and axis.step_minutes != minutes:
            return "the marks that it speaks of are not those of the steps"
    timely = any(line.tokens[i].kind in TIMES and not draft.is_taken(n, i)
                and not reader.whole(line.tokens[i]) for i in range(*span))  # fmt: skip
    timed = [f for f in found if set(TIMED) & set(f.slot.options)
             and (timely or "by_time" not in f.slot.options)]  # fmt: skip
    gains = [f for f in timed if "gain" in f.slot.options]
    if gains and not _nothing_else(draft, n, span, "not" in said, len(gains) == len(found)):
        return "whether heat is released at the other times is not clear"
    for one in found:
        if one not in timed:
            reason = reader.take_found(n, one, [], [])
            if reason is not None:
                return reason
    moments = [
        i for i in range(*span)
        if line.tokens[i].kind == "clock" and marked.concepts[i] not in ("start", "end")
    ]  # fmt: skip
    items, always = _items(timed), []
    if len(items) > 1:
        always = [some for some in items if _always(line, some, items)]
        items = _joined(line, [some for some in items if some not in always], span)
    if moments and not (len(moments) == 1 and len(items) == 1):
        return f"the time '{line.tokens[moments[0]].text}' belongs to nothing"
    if moments and not _on_mark(reader, line.tokens[moments[0]]):
        return f"'{line.tokens[moments[0]].text}' lies within a step"
    elsewhere = {(n, i) for i in range(len(line.tokens)) if i not in range(*span)} - draft.taken
    draft.taken |= elsewhere  # times of other clauses hold for their own numbers
    groups = assign(draft, n, [Item(tuple(f.token for f in some)) for some in items])
    draft.taken -= elsewhere
    if groups is None:
        return "which number holds at which times is not clear"
    if sum(map(len, groups)) != sum(
        line.tokens[i].kind in TIMES and not draft.is_taken(n, i) for i in range(*span)
    ):
        return "which number holds at which times is not clear"
    for some, times in zip(items, groups, strict=True):
        period = period_of(line, times)
        if moments:
            clock = line.tokens[moments[0]]
            assert clock.clock is not None
            period = Period(((clock.clock, clock.clock),), spans=(clock.span,))
        if not _note(reader, n, some, period):
            return "of which room this is said is not clear"
    for some in always:
        if not _note(reader, n, some, None):
            return "of which room this is said is not clear"
    draft.take(n, range(*span))
    return None


_ANOTHER: Final = re.compile(
    r"(?<![a-z])(?:in|of) (?:the|our|its|each|every) (?P<place>corridors?|cellars?|basement|attic"
    r"|lobby|foyer|stairwell|staircase|stairs|garage|bathrooms?|bedrooms?|hallway|entrance|loft"
    r"|crypt|vestry|annex|next room|(?:neighbouring|adjacent|other|next) [a-z]+)(?![a-z])"
)


def _elsewhere(draft: Draft, n: int) -> bool:
    """Whether a limit is of a place that is not the room whose heat capacity is given."""
    match = _ANOTHER.search(draft.lines[n].line)
    if match is None:
        return False
    own = (line.line for line in draft.lines if "<heat_capacity#" in line.line)
    return all(match["place"] not in text for text in own)


def _on_mark(reader: "Numbers", token: Token) -> bool:
    """Whether a time of the day is a limit of two steps."""
    axis = reader.axis
    if axis is None or token.clock is None:
        return False
    steps = (token.clock - axis.start_clock) * 60 / axis.step_minutes
    return abs(steps - round(steps)) < 1e-6


_EVER: Final = re.compile(r"(?:never|nowhere|always|ever|at (?:any|all|no) times?|at any time)")


def _always(line: Line, some: "Sequence[Found]", items: "Sequence[Sequence[Found]]") -> bool:
    """Whether a limit is said to hold at all times, beside others with times of their own."""
    if "band" not in some[0].slot.options:
        return False
    before = [f.token for other in items for f in other if f.token < some[0].token]
    first = max(before, default=-1) + 1
    words = " ".join(t.text for t in line.tokens[first : some[0].token] if t.kind == "word")
    times = any(t.kind in TIMES for t in line.tokens[first : some[0].token])
    return not times and _EVER.search(words) is not None


def _joined(line: Line, items: "list[list[Found]]", span: tuple[int, int]) -> "list[list[Found]]":
    """Return limits as one where a single time of the day stands before, or behind, all of them."""
    times = [i for i in range(*span) if line.tokens[i].kind in TIMES]
    found = [f for some in items for f in some]
    bounds = [f.bound for f in found]
    bands = all("band" in f.slot.options for f in found)
    if len(times) != 1 or not bands or len(set(bounds)) < len(bounds) or len(items) < 2:
        return items
    aside = times[0] < found[0].token or times[0] > found[-1].token
    return [found] if aside else items


def _nothing_else(draft: Draft, n: int, span: tuple[int, int], denies: bool, alone: bool) -> bool:
    """Account for 'and nothing at other times' beside heat gains; False where more is denied."""
    tokens = draft.lines[n].tokens
    rests = [i for i in range(*span) if tokens[i].kind == "rest" and i > span[0]]
    nothing = [i for i in rests if tokens[i - 1].text in ("nothing", "none", "zero")]
    if not denies and not nothing:
        return True
    if len(nothing) != 1 or not alone:
        return False
    draft.take(n, nothing)
    words = [t.text for t in tokens[span[0] : span[1]] if t.kind == "word"]
    return sum(w in ("no", "not", "never", "nothing", "none", "without") for w in words) <= 1


def _items(found: "Sequence[Found]") -> "list[list[Found]]":
    """Return the limits of one range together: a lower one and the upper one behind it."""
    items: list[list[Found]] = []
    for one in sorted(found, key=lambda f: f.token):
        last = items[-1] if items else []
        joined = (
            len(last) == 1
            and "band" in one.slot.options
            and (last[0].bound, one.bound) == ("lower", "upper")
            and one.token - last[0].token == 2
        )
        if joined:
            last.append(one)
        else:
            items.append([one])
    return items


def _note(reader: "Numbers", n: int, some: "Sequence[Found]", period: Period | None) -> bool:
    """Note limits, gains or a change for the rooms that they are of; False for none."""
    draft = reader.draft
    owners = reader._owners(n, some[0])
    line = draft.lines[n]
    values = []
    for one in some:
        amount = line.tokens[one.token].amount
        assert amount is not None
        values.append((one.bound, amount_value(amount, draft.source(n, amount))))
    slot = some[0].slot
    if "gain" in slot.options:
        draft.gains += [Priced(o, values[0][1], period, n, line.sentence.span) for o in owners]
    elif "by_time" in slot.options:
        entry = Priced(slot.name, values[0][1], period, n, line.sentence.span)
        reader.by_time.setdefault(slot.name, []).append(entry)
    elif "band" in slot.options:
        inclusive = "includ" in line.line or "inclusive" in line.line
        place = line.sentence.span
        rest = period is not None and period.rest and not period.ranges
        used = "inuse" in some[0].said
        owners = owners or (["*"] if used or rest else [])
        found = [Band(o, tuple(values), period, n, place, inclusive) for o in owners]
        files = reader.rooms
        if files is not None and files.use and (used or rest):
            files.bands += [(band, not used) for band in found]
        else:
            draft.bands += found
    else:
        both = "eachway" in some[0].said
        for owner in owners:
            change = Change(values[0][1], period, n, both, both, span_in(line.line), owner)
            reader.changes.append(change if both else direction(change, line.line))
    return bool(owners)
