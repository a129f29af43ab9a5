"""Commitments: what is sold or bought before it is known what comes, and what settles the rest.

Which way a difference goes is read twice, by words of more and less and by who pays; a sentence in
which the two do not agree is left alone, so that it is reported.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Final

from engiagent.agents.offline.cards import load_card
from engiagent.agents.offline.draft import Draft, Fact, Value, amount_value
from engiagent.agents.offline.tokens import Line

SURPLUS: Final = "surplus"
SHORTAGE: Final = "shortage"
OWN: Final = "own"
_CARRIERS: Final = {"cold": "cooling", "cooling": "cooling", "heat": "heat", "steam": "heat"}
_DIFFERENCES: Final = ("useless", "late", "more", "less", "surplus", "deficit")
_CUTS: Final = (";", ",", "and", "but", "while", "whereas", ".")


@dataclass(frozen=True)
class Rate:
    """A price: a value, or the price of the market with something added or as a share of it.

    Attributes
    ----------
    form
        ``flat``, ``plus``, ``minus``, ``share``, ``spot`` or ``nothing``.
    """

    form: str
    value: Value | None
    line: int
    cap: Value | None = None


@dataclass
class Commitment:
    """What is committed to.

    Attributes
    ----------
    sells
        Whether energy is sold; bought otherwise.
    rates
        What is paid for what is committed to, for more and for less.
    wasted
        The line that lets what is left over go to waste.
    limit_of
        The unit whose largest power bounds the commitment, and the line that says so.
    lines
        Where the text speaks of the commitment itself.
    verbs
        What is done with it, as 'buy'.
    """

    sells: bool
    carrier: str
    rates: dict[str, Rate] = field(default_factory=dict)
    wasted: int | None = None
    limit_of: tuple[str, int] | None = None
    lines: set[int] = field(default_factory=set)
    verbs: set[str] = field(default_factory=set)

    @property
    def nouns(self) -> str:
        """A pattern for what the text calls it."""
        card = load_card("scenarios")["commitments"]
        own = str(card["sold" if self.sells else "bought"])
        return "|".join((rf"(?:day-ahead |hourly |our |its )*(?:{own}|{card['either']})",
                         *map(re.escape, sorted(self.verbs))))  # fmt: skip


@lru_cache(maxsize=1)
def patterns() -> Mapping[str, re.Pattern[str]]:
    """Return the phrases of the card."""
    card = load_card("scenarios")["commitments"]
    spot = f"(?:{card['spot']})"
    return {
        name: re.compile(rf"(?<![a-z0-9-])(?:{str(text).replace('{spot}', spot)})(?![a-z0-9-])")
        for name, text in card.items()
        if name not in ("fill", "uses")
    }


@lru_cache(maxsize=2)
def _fill(name: str) -> frozenset[str]:
    """Return the words that a clause on a difference, or on what is committed to, may hold."""
    words = frozenset(str(load_card("scenarios")["commitments"]["fill"]).split())
    uses = frozenset(str(load_card("scenarios")["commitments"]["uses"]).split())
    return words if name == "own" else words | uses


def take_commitment(draft: Draft) -> Commitment | None:
    """Return the commitment of a text with its settlement; None where there is none.

    The words and numbers of clauses that settle a difference are taken.
    """
    read = [(found, pieces) for sells in _senses(draft) if (found := Commitment(sells, ""))
            and (pieces := _settled(draft, found)) and _settles(draft, found)]  # fmt: skip
    if not read:
        return None
    most = max(len(found.rates) for found, _ in read)
    best = [(found, pieces) for found, pieces in read if len(found.rates) == most]
    found, pieces = best[0]
    if len(best) > 1:
        draft.doubt(pieces[0][0], "is energy sold in advance here, or bought?")
    for n, covered in pieces:
        _take(draft, n, covered)
    found.carrier = _carrier(draft, found.sells)
    found.wasted = _wasted(draft)
    _asides(draft, found)
    return found


def _settles(draft: Draft, found: Commitment) -> bool:
    """Whether it is said what becomes of a difference: both ways of what is sold."""
    differs = {SURPLUS, SHORTAGE} & found.rates.keys()
    if found.sells:
        return len(differs) == 2
    return bool(differs) or (OWN in found.rates and _lost(draft))


def _lost(draft: Draft) -> bool:
    return any(patterns()[name].search(line.line) for line in draft.lines
               for name in ("wasted", "useless"))  # fmt: skip


def _senses(draft: Draft) -> list[bool]:
    """Return whether things may be sold, and bought, in advance, by the nouns of a text."""
    lines = [line.line for n, line in enumerate(draft.lines)
             if not line.sentence.is_heading and n not in draft.table_lines]  # fmt: skip
    found = {name: any(patterns()[name].search(text) for text in lines)
             for name in ("sold", "bought", "either")}  # fmt: skip
    return [sells for sells, name in ((True, "sold"), (False, "bought"))
            if found[name] or found["either"]]  # fmt: skip


def _carrier(draft: Draft, sells: bool) -> str:
    """Return what is committed to: electricity unless the sentences on it speak of heat or cold.

    What is sold in advance is electricity: nobody settles a difference of heat at a market.
    """
    if sells:
        return "electricity"
    nouns = patterns()["bought"]
    found = set()
    for n, line in enumerate(draft.lines):
        if line.sentence.is_heading or n in draft.table_lines or not nouns.search(line.line):
            continue
        words = {t.text for t in line.tokens if t.kind == "word"}
        if not words & {"electricity", "electric", "pump", "pumps"}:
            found |= {_CARRIERS[w] for w in words & set(_CARRIERS)}
    return found.pop() if len(found) == 1 else "electricity"


# --- clauses -------------------------------------------------------------------------------------


def _settled(draft: Draft, found: Commitment) -> list[tuple[int, range]]:
    """Fill the rates of a commitment; return the clauses that give them."""
    pieces = []
    for n, line in enumerate(draft.lines):
        if line.sentence.is_heading or n in draft.table_lines:
            continue
        for covered in _clauses(line):
            read = _clause(draft, n, covered, found)
            if read is None:
                continue
            side, rate = read
            if side in found.rates:
                continue  # its number is left over, and so is reported
            found.rates[side] = rate
            pieces.append((n, covered))
    return pieces


def _clauses(line: Line) -> list[range]:
    """Return the pieces of a line that hold one price each, from one cut to the next."""
    cuts = [0, *(i + 1 for i, t in enumerate(line.tokens) if t.text in _CUTS), len(line.tokens)]
    found: list[range] = []
    start = 0
    for a, b in pairwise(cuts):
        text = _text(line, range(a, b))
        capped = bool(found) and patterns()["cap"].fullmatch(text.strip(" ,;")) is not None
        if capped and found[-1].stop == a:
            found[-1] = range(found[-1].start, b)
            start = b
        elif _price(text) is not None:
            found.append(range(start, b))
            start = b
        elif any(t.amount is not None for t in line.tokens[a:b]) or text.rstrip().endswith(";"):
            start = b
    return found


def _text(line: Line, covered: range) -> str:
    if not covered:
        return ""
    edges = [*line.starts, len(line.line) + 1]
    return line.line[edges[covered.start] : edges[covered.stop] - 1]


def _price(text: str) -> tuple[str, re.Match[str]] | None:
    """Return the form of the only price of a clause."""
    for form in ("plus", "minus", "share", "flat", "nothing", "spot"):
        match = patterns()[form].search(text)
        if match is not None:
            return form, match
    return None


def _clause(draft: Draft, n: int, covered: range, found: Commitment) -> tuple[str, Rate] | None:
    """Return which difference a clause settles, or what is committed, and at what price."""
    line = draft.lines[n]
    text = _text(line, covered)
    priced = _price(text)
    assert priced is not None
    form, match = priced
    value = _value(draft, n, match)
    nothing = form == "nothing"
    text = text[: match.start()] + ("~" if not nothing else " earns ") + text[match.end() :]
    if _price(text.replace("earns", "~")) is not None:
        return None
    capped = patterns()["cap"].search(text)
    cap = _value(draft, n, capped) if capped is not None else None
    if capped is not None:
        text = text[: capped.start()] + "~" + text[capped.end() :]
    said = {name: patterns()[name].search(text) is not None for name in ("earns", "costs")}
    own = "sold" if found.sells else "bought"
    for name in (*_DIFFERENCES, own, "either", "earns", "costs", "paid"):
        text, count = patterns()[name].subn("~", text)
        said[name] = said.get(name, False) or count > 0
    side = _side(said, found.sells)
    strange = set(re.findall(r"[a-z][a-z-]*", text)) - _fill("own" if side == OWN else "fill")
    if side is None or strange or "<" in text or (cap is not None and side != SHORTAGE):
        return None
    return side, Rate(form, value, n, cap)


def _value(draft: Draft, n: int, match: re.Match[str]) -> Value | None:
    places = [v for v in match.groupdict().values() if v is not None]
    amount = draft.lines[n].tokens[int(places[0])].amount if places else None
    return amount_value(amount, draft.source(n, amount)) if amount is not None else None


def _side(said: Mapping[str, bool], sells: bool) -> str | None:
    """Return what a clause is about by its words; None where they do not agree."""
    own = said["sold" if sells else "bought"] or said["either"]
    sides = set()
    if said["more"]:
        sides.add(SURPLUS if sells else SHORTAGE)
    if said["less"]:
        sides.add(SHORTAGE if sells else SURPLUS)
    sides |= {SURPLUS} if said["surplus"] else set()
    sides |= {SHORTAGE} if said["deficit"] else set()
    if said["late"]:
        return SHORTAGE if not sells and not sides and not said["earns"] else None
    if len(sides) > 1:
        return None
    earns, costs = said["earns"], said["costs"]
    if not sides:
        paid = earns if sells else (costs or said["paid"])
        return OWN if own and paid and not (costs if sells else earns) else None
    side = sides.pop()
    if said["paid"] and not earns and not costs:
        return side if sells else None  # what is sold is paid to the seller
    if earns is costs:
        return None
    return side if earns is (side == SURPLUS) else None


def _take(draft: Draft, n: int, covered: range) -> None:
    line = draft.lines[n]
    draft.take(n, covered)
    first, last = line.tokens[covered.start], line.tokens[covered.stop - 1]
    draft.facts.append(Fact("settled", n, (first.span[0], last.span[1]), {}, ""))


# --- beside the prices ---------------------------------------------------------------------------


def _wasted(draft: Draft) -> int | None:
    """Return the line that lets what nobody needs go, and take it."""
    found = None
    for n, line in enumerate(draft.lines):
        if line.sentence.is_heading:
            continue
        for name in ("wasted", "useless"):
            for match in patterns()[name].finditer(line.line):
                found = n
                _take(draft, n, line.covered(*match.span()))
    return found


def _asides(draft: Draft, found: Commitment) -> None:
    """Take phrases that say how often a commitment is given, and which unit bounds it."""
    nouns = re.compile(rf"(?<![a-z])(?:{found.nouns})(?![a-z])")
    for n, line in enumerate(draft.lines):
        if line.sentence.is_heading or n in draft.table_lines:
            continue
        bounds = list(patterns()["asmuch"].finditer(line.line))
        trades = list(patterns()["trades"].finditer(line.line))
        if bounds:
            found.limit_of = (bounds[0]["unit"], n)
        for match in bounds:
            _take(draft, n, line.covered(*match.span()))
        for match in trades:
            found.verbs.add(match["verb"])
            verb = line.token_at(match.start("verb"))
            draft.take(n, [i for i in line.covered(*match.span()) if i != verb])
        if not (bounds or trades or nouns.search(line.line)):
            continue
        found.lines.add(n)
        for name in ("hourly", "acts"):
            for match in patterns()[name].finditer(line.line):
                draft.take(n, line.covered(*match.span()))
