"""How the temperatures of a plant hang together: walls between rooms, and which room heat goes to.

What is said here is read in closed phrases: every word between two names and an amount has to be
one of those that a wall may be described with, or the phrase is left to the rules for numbers.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from engiagent.agents.offline.draft import Draft, Value, amount_value
from engiagent.agents.offline.owners import topic
from engiagent.agents.offline.plant.units import Instance, Plant
from engiagent.agents.offline.tokens import Line

_AMOUNT: Final = r"<(?P<kind>resistance|conductance)#(?P<place>\d+)>"
_WALL: Final = (
    r"(?:the|an?|of|is|are|has|there|with|in|each|single|common|shared|open|inner|internal|party"
    r"|corridor|partition|dividing|thin|thick|wall|walls|door|ceiling|floor|partitions|wooden|glass"
    r"|brick|heat|flows|passes|goes|leaks|conducts|conduct|transmits|lets|through|pass|thermal"
    r"|conductance|resistance|conductances|transfer|coefficient|exchange|exchanges|exchanged|at|by|"
    r"over|via|:|,|-|and)"
)
_GAP: Final = rf"(?:{_WALL} )*"
_TAIL: Final = r"(?: (?:conducts?|pass|passes|leaks?|flows?)(?: heat)?(?= [.,;]|$))?"
_PAIR: Final = (
    r"(?:them|(?:the|these) (?:two|<number#\d+>)"
    r"(?: (?:rooms|zones|halls|spaces|nodes|temperatures|parts))?"
    r"|both(?: (?:rooms|zones|halls|spaces|nodes|parts))?"
    r"|the (?:rooms|zones)|one and the other)"
)
_GIVES: Final = (
    r"(?:passes|gives|conducts|transfers|exchanges|loses|leaks|releases|hands|sends|delivers)"
    r"(?: on)?(?: its| the)?(?: heat)?(?: on)?"
)


@dataclass(frozen=True)
class Link:
    """A wall, or what else joins two temperatures."""

    first: str
    second: str
    value: Value
    conductance: bool
    line: int


@dataclass(frozen=True)
class Feed:
    """A unit whose heat, or cold, goes to some rooms and to no others."""

    unit: str
    zones: tuple[str, ...]
    line: int


def _named(zones: Sequence[Instance]) -> str:
    """Return a pattern for the names of rooms, with an article."""
    names = "|".join(z.finder.pattern for z in zones)
    return rf"(?:(?:the|our) )?(?:{names})"


def take_links(draft: Draft, zones: Sequence[Instance]) -> list[Link]:
    """Return the walls between rooms that the text gives, and account for their words."""
    if len(zones) < 2:
        return []
    name = _named(zones)
    a, b = f"(?P<a>{name})", f"(?P<b>{name})"
    patterns = [
        re.compile(rf"(?<![a-z])(?:in ?)?between {a} and {b} {_GAP}{_AMOUNT}{_TAIL}"),
        re.compile(rf"(?<![a-z]){_AMOUNT} {_GAP}(?:in ?)?between {a} and {b}"),
        re.compile(rf"(?:^|(?<=[;,] )){a} and {b} (?:share|are joined|are separated|exchange) "
                   rf"{_GAP}{_AMOUNT}"),
        re.compile(rf"(?<![a-z])(?:in ?)?between {_PAIR} {_GAP}{_AMOUNT}{_TAIL}"),
        re.compile(rf"(?<![a-z]){_AMOUNT} {_GAP}(?:in ?)?between {_PAIR}(?![a-z])"),
        re.compile(rf"(?<![a-z]){_GIVES} (?:to|into|with) {b} (?:{_WALL} )*{_AMOUNT}"),
        re.compile(rf"(?<![a-z])(?:with )?{_AMOUNT} (?:to|towards|into|with) {b}"),
    ]  # fmt: skip
    found = []
    for n, line in enumerate(draft.lines):
        if line.sentence.is_heading or n in draft.table_lines:
            continue
        for pattern in patterns:
            for match in pattern.finditer(line.line):
                link = _link(draft, zones, n, match)
                if link is not None:
                    found.append(link)
    return found


def _link(draft: Draft, zones: Sequence[Instance], n: int, match: re.Match[str]) -> Link | None:
    """Return the wall of a match that nothing has taken; None where its rooms are not clear."""
    line, groups = draft.lines[n], match.groupdict()
    place = int(groups["place"])
    amount = line.tokens[place].amount
    if amount is None or draft.is_taken(n, place) or _timed(draft, n, place):
        return None
    finders = {z.name: z.finder for z in zones}
    if groups.get("a"):
        pair = [_which(finders, groups[k]) for k in ("a", "b")]
    elif groups.get("b"):
        before = topic(draft.lines, n, match.start(), _without(line, match, finders))
        pair = [before, _which(finders, groups["b"])]
    else:
        pair = [z.name for z in zones]
    if len(pair) != 2 or None in pair or pair[0] == pair[1]:
        return None
    draft.take(n, list(line.covered(*match.span())))
    value = amount_value(amount, draft.source(n, amount))
    return Link(str(pair[0]), str(pair[1]), value, amount.kind == "conductance", n)


_OUT: Final = r"(?:the |its )?(?:out|ambient|surround|exterior|environment|street|weather|open air)"
_ELSEWHERE: Final = (
    r"(?<![a-z])(?:(?:to|towards|with|into) {room}|between {room}(?! and {out})"
    r"|between (?:them|these|those|each other|all|both|neighbours|the (?:two|three|four|number)))"
    r"(?![a-z])"
)
_A_ROOM: Final = r"(?:the |an? |its |our |their )?(?:[a-z]+ ){{0,2}}?(?:{nouns})"


def leads_elsewhere(draft: Draft, n: int, token: int, nouns: str) -> bool:
    """Whether a resistance is said to lead to another room, by words that no wall has taken."""
    tokens = draft.lines[n].tokens
    first = max((i + 1 for i in range(token) if tokens[i].text == ";"), default=0)
    last = next((i for i in range(token, len(tokens)) if tokens[i].text == ";"), len(tokens))
    clause = " ".join("_" if draft.is_taken(n, i) else tokens[i].text for i in range(first, last))
    room = _A_ROOM.format(nouns=nouns)
    return re.search(_ELSEWHERE.format(room=room, out=_OUT), clause.lower()) is not None


def _timed(draft: Draft, n: int, place: int) -> bool:
    """Whether the clause of a token speaks of times: a wall that is open at some of them only."""
    tokens = draft.lines[n].tokens
    first = max((i + 1 for i in range(place) if tokens[i].text in (";", ".")), default=0)
    last = next((i for i in range(place, len(tokens)) if tokens[i].text in (";", ".")), len(tokens))
    return any(
        tokens[i].kind in ("period", "period_open", "rest", "clock") for i in range(first, last)
    )


def _which(finders: Mapping[str, re.Pattern[str]], text: str) -> str | None:
    named = [name for name, finder in finders.items() if finder.search(text)]
    longest = [n for n in named if finders[n].fullmatch(re.sub(r"^(?:the|our) ", "", text))]
    return (longest or named)[0] if len(longest or named) == 1 else None


def _without(
    line: Line, match: re.Match[str], finders: Mapping[str, re.Pattern[str]]
) -> dict[str, re.Pattern[str]]:
    """Return the finders of all rooms but the one at the other end of a wall."""
    other = _which(finders, match["b"])
    return {name: finder for name, finder in finders.items() if name != other}


# --- where heat goes -----------------------------------------------------------------------------

_TAKES: Final = r"(?:gets?|receives?|takes|takes up|is (?:heated|cooled|fed|warmed|served) by)"
_HEATS: Final = r"(?:heats?|warms?|cools?|feeds?|serves?|supplies|supply)"
_INTO: Final = (
    r"(?:(?:gives?|delivers?|puts?|passes|sends?|brings?)(?: all)?(?: of)?(?: its| the)?"
    r"(?: (?:heat|cold|cooling|warmth))? (?:to|into)"
    r"|(?:heat|cold) goes(?: only)? (?:to|into))"
)
_OF_HEAT: Final = r"(?:(?:all )?(?:the |its )?(?:heat|cold|cooling|warmth) (?:of|from) )?"
_ASIDE: Final = r"(?: [(][^()<>]{1,30}[)])?"


def take_feeds(draft: Draft, plant: Plant) -> list[Feed]:
    """Return which rooms the heat of which unit goes to, and account for the words."""
    zones = plant.of("zone")
    units = [i for i in plant.instances if set(i.unit.card.get("supplies", {})) - {"electricity"}]
    if len(zones) < 2 or not units:
        return []
    name = rf"{_named(zones)}{_ASIDE}"
    some = rf"(?P<zones>{name}(?:(?: ,)? (?:and )?{name})*|both(?: (?:rooms|zones|of them))?"
    some += r"|(?:all|each of) (?:the )?(?:rooms|zones))"
    machine = "|".join(u.finder.pattern for u in units)
    unit = rf"(?P<unit>(?:(?:the|our|an?|one|this|single) )*(?:[a-z]+-[a-z]+ )?(?:{machine}))"
    verbs = "passes|gives|draws|has|takes|it|they|makes|is|are|can|uses|loses|costs|needs|stores"
    end = rf"(?= [.,;:)]| and (?:{verbs}) | of | through | by | with |$)"
    end += rf"(?! only)(?!(?: ,)?(?: and)? {name})"
    patterns = [
        re.compile(rf"(?:^|(?<=[;,:] )|(?<=and )){unit} {_HEATS} {some}{end}"),
        re.compile(rf"(?:^|(?<=[;,:] )|(?<=and )){unit}(?:'s)? {_INTO} {some}{end}"),
        re.compile(rf"(?:^|(?<=[;,:] )|(?<=and ))(?:(?P<zones>{name}|it) )?{_TAKES}"
                   rf" {_OF_HEAT}{unit}{end}"),
    ]  # fmt: skip
    found = []
    for n, line in enumerate(draft.lines):
        if line.sentence.is_heading or n in draft.table_lines:
            continue
        for pattern in patterns:
            for match in pattern.finditer(line.line):
                feed = _feed(draft, zones, units, n, match)
                if feed is not None:
                    found.append(feed)
    return found


def _feed(
    draft: Draft, zones: Sequence[Instance], units: Sequence[Instance], n: int,
    match: re.Match[str],
) -> Feed | None:  # fmt: skip
    line = draft.lines[n]
    finders = {z.name: z.finder for z in zones}
    named: list[str] = [z.name for z in zones if z.finder.search(match["zones"] or "")]
    if match["zones"] in (None, "it"):
        about = topic(draft.lines, n, match.start(), finders)
        named = [about] if about is not None else []
    elif not named:
        named = list(finders)
    served = [u for u in units if u.finder.search(match["unit"])]
    if not named or len(served) != 1:
        return None
    # The unit stays: what 'it' does behind this sentence is about the unit.
    unit = set(line.covered(*match.span("unit"))) if match["zones"] != "it" else set()
    draft.take(n, [i for i in line.covered(*match.span()) if i not in unit])
    return Feed(served[0].name, tuple(named), n)
