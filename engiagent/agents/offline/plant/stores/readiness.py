"""Batteries that must be ready: whatever comes, the content has to carry a load for some hours.

The load of a readiness is no load of the plant: it hangs on the battery in an emergency only. It
may be uncertain, each value within a band, and only so many of them higher at a time.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from engiagent.agents.offline.amounts import Amount, kind_of
from engiagent.agents.offline.draft import Draft, Fact, Value, amount_value
from engiagent.agents.offline.grids import Column
from engiagent.agents.offline.phrases import TIME_FACTS
from engiagent.agents.offline.plant.language.reading import plain_text
from engiagent.agents.offline.plant.system import System
from engiagent.agents.offline.storage import constrain

Row = tuple[str, list[str], str | None]
_MOST: Final = 2
_LOAD: Final = (
    r"(?:critical|emergency|essential|vital|protected|backup|priority)? ?(?:load|demand|need)"
)
_BAND: Final = r"(?:band|deviation|tolerance|margin|uncertainty|spread)"
_MUST: Final = r"(?:must|has to|shall|needs to|should)"
_STORE: Final = r"(?: (?:of|in) (?:the|our) (?:battery|storage|store))?"
_END: Final = r"(?:midnight|<clock#\d+>|the end(?: of the (?:day|plan|horizon))?)"
_UP: Final = (
    r"(?:comes? out|turns? out|is|are|proves?)(?: to be)? (?:higher|larger|more|above)"
    rf"(?: than (?:expected|planned|given|forecast))? by (?:its|their|the) "
    rf"(?:full |whole )?{_BAND}s?"
)
_PIECES: Final = {
    "moment": r"at the (?:beginning|start) of (?:every|each|any) (?:hour|period|step)",
    "enough": rf"(?:the )?(?:content|energy|stored energy|state of charge){_STORE} {_MUST} "
              r"(?:always )?(?:be enough|be sufficient|suffice|be large enough) "
              r"(?:to (?:supply|cover|carry|serve|feed|meet)|for)",
    "after": rf"the {_LOAD} (?:of|in|for|during) (?:that|this|the same) hour and (?:of |in |for )?"
             r"(?:the )?<(?:number|duration)#(?P<after>\d+)>(?: hours)? (?:after|following|behind) "
             r"(?:it|that)",
    "next": rf"the {_LOAD} (?:of|in|for|during) the (?:next|coming|following) "
            r"<(?:number|duration)#(?P<next>\d+)>(?: hours)?",
    "fewer": rf"[(] ?(?:fewer|less|shorter) (?:near|towards|before|at) {_END} ?[)]",
    "one": r"(?:even|also) (?:if|when) (?:any )?(?:one|a single one) of "
           rf"(?:them|these hours?|its hours) {_UP}",
    "some": r"(?:even|also) (?:if|when) (?:any )?<number#(?P<some>\d+)> of (?:them|these hours?"
            rf"|its hours) {_UP}",
    "all": rf"(?:even|also) (?:if|when) (?:all of them|all these hours|every one of them) {_UP}",
    "single": r"we (?:want to |only )?protect ourselves against (?:only )?one such hour at a time",
    "fill": r"[,:;]|and|then",
}  # fmt: skip
_TOLD: Final = (
    rf"(?:the )?{_LOAD} is (?:only )?(?:an? )?(?:expectation|forecast|expected value|estimate|best"
    r" guess)",
    r"in (?:a single|any|any single|every|each) hour it (?:can|may|might|could) "
    rf"(?:be|turn out|come out) (?:higher|larger) (?:by|than this by) (?:up to )?its {_BAND}",
    r"as long as it can (?:carry|bridge|keep|supply|take|bring) (?:the )?(?:[a-z]+ ){1,3}"
    r"(?:through|during|in|over) (?:a |an |any )?(?:grid failure|blackout|outage|power cut)s?"
    r"(?: at any (?:moment|time))?",
)
_NORMAL: Final = (
    r"in normal (?:operation|times|hours) (?:the [a-z]+|it|this load) is (?:fed|supplied|served) "
    r"(?:by|from) the grid"
)
_FREELY: Final = r"(?:so|and|so that) (?:the battery|it) (?:trades|can trade|may trade) freely"


@dataclass(frozen=True)
class Readiness:
    """What a content has to carry.

    Attributes
    ----------
    load, band
        The load over the periods, and how much higher each value may be.
    hours
        How long, and whether the hour in which it begins counts beside them.
    budget
        How many values may be higher at a time; None for all.
    """

    load: Value
    band: Value | None
    hours: Value
    beside: bool
    budget: int | None
    line: int


def take_readiness(
    draft: Draft, columns: Sequence[Column]
) -> tuple[Readiness | None, list[Column]]:
    """Take the sentence that asks for readiness; return it, and the columns that are left."""
    for n, line in enumerate(draft.lines):
        if line.sentence.is_heading or n in draft.table_lines:
            continue
        said = _pieces(line.line)
        if said is None:
            continue
        load, band = _columns(columns)
        wants_band = bool({"one", "some", "all"} & set(said))
        if load is None or wants_band is not (band is not None):
            draft.doubt(n, "which series is the load, and which its band?")
            return None, list(columns)
        found = _made(draft, n, said, load, band)
        if found is None:
            return None, list(columns)
        # 'The two hours after it' are no horizon.
        draft.facts[:] = [f for f in draft.facts if f.line != n or f.name not in TIME_FACTS]
        _take(draft, n, 0, len(line.line))
        _told(draft, n)
        return found, [c for c in columns if c not in (load, band)]
    return None, list(columns)


def _pieces(text: str) -> dict[str, re.Match[str]] | None:
    """Return the pieces of a sentence that asks for readiness, if it holds nothing else."""
    found: dict[str, re.Match[str]] = {}
    place = 0
    while place < len(text):
        if text[place] == " ":
            place += 1
            continue
        name, match = _piece(text, place)
        if match is None:
            return None
        if name != "fill" and name in found:
            return None
        found[name] = match
        place = match.end()
    whole = {"moment", "enough"} <= found.keys() and ("after" in found) is not ("next" in found)
    return found if whole and len({"one", "some", "all"} & found.keys()) < 2 else None


def _piece(text: str, place: int) -> tuple[str, re.Match[str] | None]:
    """Return the piece that begins at a place."""
    for name, pattern in _PIECES.items():
        match = re.compile(rf"(?:{pattern})(?![a-z-])").match(text, place)
        if match is not None:
            return name, match
    return "", None


def _columns(columns: Sequence[Column]) -> tuple[Column | None, Column | None]:
    """Return the columns of the load and of its band; None where there is not one of a kind."""
    powers = [c for c in columns if c.unit and kind_of(c.unit) == "power"]
    loads = [c for c in powers if re.match(rf"{_LOAD}(?![a-z])", plain_text(c.name))]
    bands = [c for c in powers if re.match(rf"(?:load )?{_BAND}(?![a-z])", plain_text(c.name))]
    return (loads[0] if len(loads) == 1 else None), (bands[0] if len(bands) == 1 else None)


def _made(
    draft: Draft, n: int, said: dict[str, re.Match[str]], load: Column, band: Column | None
) -> Readiness | None:
    place = said["after"]["after"] if "after" in said else said["next"]["next"]
    amount = draft.lines[n].tokens[int(place)].amount
    if amount is None or kind_of(amount.unit) not in ("number", "duration"):
        return None
    budget: int | None = 1 if "one" in said else None
    if "some" in said:
        count = draft.lines[n].tokens[int(said["some"]["some"])].amount
        budget = round(count.value) if count is not None else None
    if budget is not None and not 1 <= budget <= _MOST:
        draft.doubt(n, "more values that may be higher at a time than the engine writes out")
        return None
    if "single" in said and budget != 1:
        draft.doubt(n, "how many hours may be higher at a time?")
        return None
    hours = Amount(amount.value, amount.unit or "h", "duration", amount.span, amount.quote)
    values = [
        None if c is None else Value(c.unit, c.source, numbers=c.numbers, data=c.data)
        for c in (load, band)
    ]
    assert values[0] is not None
    return Readiness(values[0], values[1], amount_value(hours, draft.source(n, hours)),
                     "after" in said, budget, n)  # fmt: skip


def _told(draft: Draft, n: int) -> None:
    """Take what a text says of the load and of emergencies besides; report what it leaves open."""
    normal = None
    for k, line in enumerate(draft.lines):
        if line.sentence.is_heading or k in draft.table_lines or k == n:
            continue
        for pattern in _TOLD:
            for match in re.finditer(rf"(?<![a-z-])(?:{pattern})(?![a-z-])", line.line):
                _take(draft, k, *match.span())
        for match in re.finditer(
            rf"(?<![a-z-]){_NORMAL}(?:,| )*(?:{_FREELY})?(?![a-z-])", line.line
        ):
            _take(draft, k, *match.span())
            normal = k
    if normal is None:
        draft.doubt(n, "does the load hang on the battery at other times as well?")


def _take(draft: Draft, n: int, start: int, end: int) -> None:
    line = draft.lines[n]
    covered = line.covered(start, end)
    draft.take(n, covered)
    first, last = line.tokens[covered[0]], line.tokens[covered[-1]]
    draft.facts.append(Fact("readiness", n, (first.span[0], last.span[1]), {}, ""))


def add_readiness(system: System) -> None:
    """Require of the content what a readiness asks for."""
    ready: Readiness | None = system.reader.ready
    if ready is None:
        return
    builder = system.builder
    stores = system.reader.plant.of("battery")
    if builder.axis.step_minutes != 60:
        builder.draft.doubt(ready.line, "hours that are counted, with other steps")
    if len(stores) != 1:
        builder.draft.doubt(ready.line, "of which battery is this asked?")
        return
    name = stores[0].name
    load = builder.value("critical_load", ready.load, "load in an emergency")
    hours = builder.value("ready_hours", ready.hours, "how long the content has to last")
    before = "<=" if ready.beside else "<"

    def within(index: str) -> str:
        return f"pos({index}) >= pos(t) and (pos({index}) - pos(t))*dt(t) {before} {hours}"

    def summed(name: str) -> str:
        return f"sum({builder.at(name, 's')}*dt(s) for s in T if {within('s')})"

    content = f"{system.filled[name]['discharge_efficiency']}*{name}_state_of_charge[t]"
    rows: list[Row] = [(summed(load), ["t in T"], None)]
    if ready.band is not None:
        band = builder.value("critical_band", ready.band, "how much higher the load may be")
        rows = _higher(summed(load), summed(band), builder.at(band, "{i}"), ready.budget, within)
    for text, forall, where in rows:
        constrain(builder, "ready for an emergency", f"{content} >= {text}",
                  "Strategic Requirements", ready.line, forall, where)  # fmt: skip
    _power(system, name, load, ready)


def _higher(
    load: str, bands: str, band: str, budget: int | None, within: Callable[[str], str]
) -> list[Row]:
    """Return what has to be carried when some values, or all of them, are higher by their bands.

    Written out for every choice of values: near the end there may be fewer than come higher.
    """
    if budget is None:
        return [(f"{load} + {bands}", ["t in T"], None)]
    rows: list[Row] = []
    for count in range(1, budget + 1):
        names = [f"h{k}" for k in range(1, count + 1)]
        extra = " + ".join(f"{band.format(i=i)}*dt({i})" for i in names)
        inside = [within(i) for i in names]
        order = [f"pos({a}) < pos({b})" for a, b in pairwise(names)]
        rows.append((f"{load} + {extra}", ["t in T", *(f"{i} in T" for i in names)],
                     " and ".join([*inside, *order])))  # fmt: skip
    return rows


def _power(system: System, name: str, load: str, ready: Readiness) -> None:
    """Report a load that the battery has not the power for, which no content would change."""
    numbers = system.builder.numbers
    most = numbers.get(system.filled[name].get("discharge_power_max", ""))
    high = numbers[load] + (numbers["critical_band"] if ready.band is not None else 0.0)
    if most is None or (high > most).any():
        system.builder.draft.doubt(ready.line, "the battery cannot give the power of this load")
