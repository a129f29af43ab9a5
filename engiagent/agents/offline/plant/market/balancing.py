"""Capacity held ready for a balancing market: what is paid for it, and what has to back it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final

from engiagent.agents.offline.amounts import Amount, kind_of
from engiagent.agents.offline.cards import load_card
from engiagent.agents.offline.draft import Blocks, Draft, Value
from engiagent.agents.offline.grids import Column
from engiagent.agents.offline.plant.language.words import NEUTRAL, THING, Marked, mark, vocabulary
from engiagent.agents.offline.plant.units import Plant, nouns
from engiagent.agents.offline.series import description
from engiagent.agents.offline.tokens import Line

_SIDES: Final = {
    "up": r"up(?:wards?)?|upward|positive|raise",
    "down": r"down(?:wards?)?|downward|negative|lower",
}
_KIND: Final = r"(?:balancing |reserve |regulation |control )*(?:capacity|reserve|regulation)"
_CAPACITY: Final = (
    rf"(?:the |its |an? )?(?:(?P<{{0}}a>{_SIDES['up']}|{_SIDES['down']}) {_KIND}"
    r"(?: offered| held| sold)?"
    rf"|{_KIND} (?:offered |held |sold )?(?P<{{0}}b>up|down|upwards|downwards))"
)
_FLOW: Final = (
    r"(?:the |its )?(?:(?P<net>net (?:delivery|discharge|discharging(?: power)?|output|supply)"
    r"|discharg(?:e|ing)(?: power)? (?:less|minus|-) charg(?:e|ing)(?: power)?)"
    r"|(?P<anti>net (?:offtake|charge|charging(?: power)?|consumption|intake|withdrawal)"
    r"|charg(?:e|ing)(?: power)? (?:less|minus|-) discharg(?:e|ing)(?: power)?)"
    r"|(?P<out>discharg(?:e|ing)(?: power)?|delivery)|(?P<into>charg(?:e|ing)(?: power)?|offtake))"
)
_MOST: Final = (
    r"(?:together )?(?:(?:must|may|can|shall|is|are|has to|have to)(?: together)? )?"
    r"(?:not (?:to )?(?:exceed|be (?:more|larger|higher|greater) than)|never exceed"
    r"|(?:be |stay |remain )?(?:at most|no more than|within|not above|limited to))"
)
_JOIN: Final = r"(?:plus|and|together with|with|\+)"
_POWER: Final = re.compile(
    rf"(?:{_FLOW} {_JOIN} {_CAPACITY.format('x')}|{_CAPACITY.format('y')} {_JOIN} "
    + _FLOW.replace("?P<", "?P<z")
    + rf") {_MOST} <power#(?P<most>\d+)>"
)
_STEP: Final = r"(?:hour|period|step|interval|quarter(?: of an)? hour|half hour)"
_EDGES: Final = re.compile(
    r"at (?:the )?(?P<start>start|beginning)(?P<both> and(?: at)?(?: the)? end)? of"
    rf" (?:the|each|every|any) {_STEP}|at (?:the )?(?P<end>end) of (?:the|each|every|any) {_STEP}"
    r"|(?P<all>at all times|at any (?:time|moment)|at every (?:hour mark|instant|moment|time))"
)
_LONG: Final = (
    r"(?:an?|one|a single) (?:full |whole )?(?P<{0}h>half hour|quarter of an hour|hour)"
    r"|(?P<{0}half>half an hour)|<duration#(?P<{0}t>\d+)>(?: hours?| minutes?)?"
)
_WAY_OUT: Final = (
    r"(?:with|including|after|counting|plus) (?:the |its )?(?:losses(?: on the way out"
    r"| of discharging| when discharging)?|discharging losses)|losses (?:on the way out )?included"
)
_WAY_IN: Final = (
    r"(?:less|minus|with|including|after|counting) (?:the |its )?(?:losses(?: on the way in"
    r"| of charging| when charging)?|charging losses)|losses (?:on the way in )?included"
)
_NONE: Final = (
    r"without(?: counting)?(?: the| any)? losses|losses (?:are )?(?:neglected|not counted)"
)
_BACKED: Final = re.compile(
    r"(?:must|has to|needs to|should|shall) (?:always )?(?:contain|hold|have|store|keep)"
    r"(?: at least)? enough (?:energy )?(?:left )?to (?:deliver|supply|give|provide|sustain|serve) "
    rf"{_CAPACITY.format('u')} for (?:{_LONG.format('u')})"
    rf"(?: ?,? ?(?:(?P<uloss>{_WAY_OUT})|(?P<ufree>{_NONE})))?"
)
_ROOM: Final = re.compile(
    r"(?:there (?:must|has to|needs to|should|shall) (?:always )?be"
    r"|(?:must|has to|needs to|should|shall) (?:always )?have|(?<=and )have)(?: enough)?(?: free)?"
    r" (?:room|space|room left|free capacity) "
    r"to (?:take|absorb|store|receive|take in|take up) "
    rf"{_CAPACITY.format('d')} for (?:{_LONG.format('d')})"
    rf"(?: ?,? ?(?:(?P<dloss>{_WAY_IN})|(?P<dfree>{_NONE})))?"
)
_NET: Final = re.compile(
    r"\( net (?:is|means|=) discharg(?:e|ing) (?:less|minus) charg(?:e|ing) \)"
)
_NO_CALLS: Final = re.compile(
    r"(?:no (?:activation|call)(?: payments?| income| revenue| energy)?s? (?:is|are)(?: to be)?"
    r" (?:counted|considered|paid|made|expected|assumed)"
    r"|(?:activations?|calls)(?: payments?| energy)? (?:is|are) (?:neglected|ignored|not counted"
    r"|not paid|left out|disregarded)|nothing is (?:activated|called))"
)
_WATTS: Final = r"(?:mw|kw|megawatt|kilowatt)"
_PER_HOUR: Final = re.compile(rf"{_WATTS} (?:per|and|an|for each|for every|each) hour")
_PER_BLOCK: Final = re.compile(
    rf"{_WATTS} (?:per|and|for each|for every|for the whole|each) (?:whole )?block"
)
_ALL_HOURS: Final = re.compile(
    r"(?:for|in) all <(?:duration|number)#(?P<n>\d+)> hours of (?:the|each|a) block"
)
_EVEN: Final = re.compile(
    r"(?:one|a) (?:constant|single|same) (?:quantity|amount|power|volume)"
    r"|the same (?:quantity|amount|power|volume)|constant"
)


_MARKET: Final = re.compile(
    r"(?:on|in|at|for) (?:the |a )?(?:[a-z-]+ (?:and )?)*(?:markets?|auctions?)(?![a-z-])"
)
_SHARING: Final = frozenset(
    {"both", "each", "either", "per", "every", "hour", "hours", "hourly", "block", "blocks"}
)
_WANTS: Final = re.compile(r"(?:need|want|have|like) to (?:know|decide|find|plan|choose)")


@dataclass(frozen=True)
class Product:
    """Capacity in one direction with its price, by block or by period."""

    side: str
    price: Value
    blocks: Blocks | None = None


@dataclass(frozen=True)
class Backing:
    """What has to be there for capacity: power beside a flow, or energy for some time.

    Attributes
    ----------
    flow
        ``net``, ``anti``, ``out`` or ``into`` for a limit of power.
    hours
        For how long the energy has to last; None for a limit of power.
    edges
        ``start``, ``end`` or both, of a period.
    lossy
        Whether losses count.
    """

    side: str
    line: int
    flow: str = ""
    most: Amount | None = None
    hours: float | None = None
    duration: Amount | None = None
    edges: tuple[str, ...] = ()
    lossy: bool = True


@dataclass
class Balancing:
    """Everything a text says of capacity that is held ready."""

    products: list[Product] = field(default_factory=list)
    backing: list[Backing] = field(default_factory=list)
    basis: str = ""
    line: int = 0


@lru_cache(maxsize=4)
def _known(name: str) -> frozenset[str]:
    """Return words or concepts of the card of balancing."""
    return frozenset(str(load_card("balancing")[name]).split())


def take_products(draft: Draft, columns: Sequence[Column]) -> tuple[Balancing | None, list[Column]]:
    """Return the columns of prices of capacity as products, and the other columns.

    Such a column is named for a direction, and the text speaks of capacity or reserve.
    """
    spoken = [n for n, line in enumerate(draft.lines) if _speaks(line) and not _heading(line)]
    found = {column.name: side for column in columns if (side := _side(draft, column))}
    if not spoken or not found:
        return None, list(columns)
    products = [
        Product(found[c.name], Value(c.unit, c.source, numbers=c.numbers, data=c.data))
        for c in columns if c.name in found
    ]  # fmt: skip
    if len({p.side for p in products}) != len(products):
        draft.doubt(spoken[0], "several prices for capacity in one direction")
    rest = [c for c in columns if c.name not in found]
    return Balancing(products, line=spoken[0]), rest


def _heading(line: Line) -> bool:
    return line.sentence.is_heading


_TOLD: Final = re.compile(
    rf"(?<![a-z-])(?:(?:{_SIDES['up']}|{_SIDES['down']}) {_KIND}|{_KIND} (?:held |offered |sold )?"
    r"(?:up|down)|(?:balancing|reserve|regulation) (?:capacity|market|power)"
    r"|capacit(?:y|ies) (?:that (?:is|are) |we )?(?:held|offer(?:ed)?|sold|sell|awarded|bid)"
    r"|(?:offered|awarded|held) capacit(?:y|ies)"
    r"|(?:each|every|any|the|a|our) (?:product|bid|offer)s?|(?:products|bids|offers))(?![a-z-])"
)


def _speaks(line: Line) -> bool:
    return _TOLD.search(line.line) is not None


def _side(draft: Draft, column: Column) -> str:
    """Return the direction that a column of prices is named for; empty for other columns."""
    if not column.unit or kind_of(column.unit) not in ("capacity_price", "price"):
        return ""
    words = re.sub(r"[_\W]+", " ", column.name).lower().split()
    behind, _ = description(draft, column)
    for text in (words, re.sub(r"[_\W]+", " ", behind).lower().split()):
        sides = [s for s, p in _SIDES.items() if any(re.fullmatch(p, word) for word in text)]
        if len(sides) == 1:
            return sides[0]
    return ""


def read_balancing(
    draft: Draft, plant: Plant, balancing: Balancing | None, blocks: Sequence[Blocks], goal: int
) -> None:
    """Read the sentences on capacity; those that none of the readers here covers are reported.

    ``goal`` is the line of the objective, which says what it says of capacity itself.
    """
    if balancing is None:
        return
    from engiagent.agents.offline.plant.times.timegrids import grid_of

    for k, product in enumerate(balancing.products):
        grid = grid_of(product.price, blocks)
        price = replace(product.price, blocks=grid)
        balancing.products[k] = replace(product, price=price, blocks=grid)
    words = vocabulary(nouns(plant), plant.concepts)
    for n, line in enumerate(draft.lines):
        if line.sentence.is_heading or n in draft.table_lines or n == goal:
            continue
        marked = mark(line, words)
        read = (
            _backed(draft, marked, n, balancing) or _described(marked, n, balancing)
            or _plain(marked, balancing)
        )  # fmt: skip
        if read:
            draft.take(n, range(len(line.tokens)))
        elif _speaks(line):
            draft.refuse(n, "what this says of capacity is not understood")


def _rest(
    marked: Marked, covered: set[int], words: frozenset[str], concepts: frozenset[str]
) -> list[int]:
    """Return the tokens that are neither covered nor of words that may stand beside them."""
    tokens = marked.line.tokens
    return [
        i for i, concept in enumerate(marked.concepts)
        if i not in covered and (
            tokens[i].kind not in ("word", "mark", "code", "date", "tz")
            or (concept not in (NEUTRAL, THING, *concepts) and tokens[i].text not in words)
        )
    ]  # fmt: skip


def _covered(line: Line, matches: Sequence[re.Match[str]]) -> set[int]:
    return {i for match in matches for i in line.covered(*match.span())}


def _backed(draft: Draft, marked: Marked, n: int, balancing: Balancing) -> bool:
    """Read what a sentence asks of power and energy for the capacity."""
    line = marked.line
    powers = list(_POWER.finditer(line.line))
    energies = [*_BACKED.finditer(line.line), *_ROOM.finditer(line.line)]
    edges, nets = list(_EDGES.finditer(line.line)), list(_NET.finditer(line.line))
    if not (powers or energies) or (energies and len(edges) != 1):
        return False
    covered = _covered(line, [*powers, *energies, *edges, *nets])
    if _rest(marked, covered, frozenset({"so"}), _known("beside")):
        return False
    found = [_power(line, match, n) for match in powers]
    found += [_energy(line, match, n, _which(edges[0])) for match in energies]
    if any(f is None for f in found):
        return False
    balancing.backing += [f for f in found if f is not None]
    return True


def _which(match: re.Match[str]) -> tuple[str, ...]:
    if match["all"] or match["both"]:
        return ("start", "end")
    return ("start",) if match["start"] else ("end",)


def _direction(match: re.Match[str], *keys: str) -> str | None:
    said = next((match[k] for key in keys for k in (f"{key}a", f"{key}b") if match[k]), None)
    sides = [s for s, p in _SIDES.items() if said and re.fullmatch(p, said)]
    return sides[0] if sides else None


_FITS: Final = {"up": ("net", "out"), "down": ("anti", "into")}


def _power(line: Line, match: re.Match[str], n: int) -> Backing | None:
    names = [k for k in _FITS["up"] + _FITS["down"] if match[k] or match[f"z{k}"]]
    side = _direction(match, "x", "y")
    amount = line.tokens[int(match["most"])].amount
    if side is None or len(names) != 1 or names[0] not in _FITS[side]:
        return None
    return Backing(side, n, names[0], amount)


def _energy(line: Line, match: re.Match[str], n: int, edges: tuple[str, ...]) -> Backing | None:
    key = "u" if match.re is _BACKED else "d"
    side = _direction(match, key)
    lossy, free = bool(match[f"{key}loss"]), bool(match[f"{key}free"])
    if side != {"u": "up", "d": "down"}[key] or lossy is free:
        return None
    duration = None
    if match[f"{key}t"]:
        duration = line.tokens[int(match[f"{key}t"])].amount
    words = {"hour": 1.0, "half hour": 0.5, "quarter of an hour": 0.25}
    hours = 0.5 if match[f"{key}half"] else words.get(match[f"{key}h"] or "", 1.0)
    return Backing(side, n, "", None, hours, duration, edges, lossy)


def _described(marked: Marked, n: int, balancing: Balancing) -> bool:
    """Read what a sentence says of the pay for capacity: for each hour, or for a whole block."""
    line = marked.line
    hour, block = _PER_HOUR.search(line.line), _PER_BLOCK.search(line.line)
    counts = list(_ALL_HOURS.finditer(line.line))
    if not (_speaks(line) and (hour or block)) or not marked.said() & {"price"}:
        return False
    grids = {p.blocks.step_minutes / 60 for p in balancing.products if p.blocks is not None}
    for match in counts:
        amount = line.tokens[int(match["n"])].amount
        if amount is None or grids != {amount.value}:
            return False
    covered = _covered(line, counts)
    if _rest(marked, covered, _known("words"), _known("concepts")):
        return False
    balancing.basis = "hour" if hour else "block"
    return True


def _plain(marked: Marked, balancing: Balancing) -> bool:
    """Whether a sentence only asks for the bid, or says what the model does anyway."""
    line = marked.line
    calls, even = list(_NO_CALLS.finditer(line.line)), list(_EVEN.finditer(line.line))
    words, concepts = _known("words"), _known("concepts")
    if calls:
        return not _rest(marked, _covered(line, calls), frozenset(), frozenset())
    tokens = {t.text for t in line.tokens}
    if even and tokens & {"product", "capacity", "offer", "bid"} and "block" in tokens:
        return not _rest(marked, _covered(line, even), words, concepts)
    asks = re.search(r"how (?:much|many)|which|what", line.line) is not None and _speaks(line)
    if _MARKET.search(line.line) and not tokens & _SHARING:
        return not _rest(marked, set(), words, concepts)
    wants = list(_WANTS.finditer(line.line)) if asks else []
    awarded = tokens & {"awarded", "accepted"} and "full" in tokens
    promise = tokens & {"promise", "promised"} and line.sentence.text.rstrip().endswith(":")
    if asks or awarded or promise:
        duration = [i for i, t in enumerate(line.tokens) if t.kind == "amount"]
        return not duration and not _rest(
            marked, _covered(line, wants), words, concepts | {"fullword"}
        )
    return False
