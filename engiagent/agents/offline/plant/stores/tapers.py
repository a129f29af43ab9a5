"""Powers of a store that fall with its content: points in a sentence, or a table of them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Final

from engiagent.agents.offline.amounts import kind_of
from engiagent.agents.offline.cards import load_card
from engiagent.agents.offline.draft import Draft, Json, text_source
from engiagent.agents.offline.grids import Column, Grid
from engiagent.agents.offline.plant.language.words import (
    NEUTRAL,
    THING,
    Marked,
    Vocabulary,
    mark,
    vocabulary,
)
from engiagent.agents.offline.plant.units import Plant, nouns
from engiagent.agents.offline.tokens import Line
from engiagent.blueprint.units import convert, parse_unit

_FALLS: Final = re.compile(
    r"(?<![a-z])(?:falls?|drops?|declines?|decreases?|sinks?|goes down|shrinks?|rises?|grows?"
    r"|increases?|tapers?(?: off)?|is reduced|is throttled|is cut back|falling|dropping|declining)"
    r"(?![a-z])"
)
_STRAIGHT: Final = re.compile(
    r"(?<![a-z-])(?:in a straight line|along a straight line|on a straight line|linearly"
    r"|in proportion|proportionally|evenly|in a [a-z, ]*line)(?![a-z])"
)
_ITEM: Final = re.compile(
    r"<(?:power|energy|percent)#(?P<token>\d+)>"
    r"|(?<![a-z-])(?P<full>(?:when (?:it is )?)?(?:(?:completely |fully )?full|(?:fully|completely)"
    r" charged))(?![a-z-])"
    r"|(?<![a-z-])(?P<empty>(?:when (?:it is )?)?(?:completely )?empty)(?![a-z-])"
    r"|(?<![a-z-])(?P<none>zero|nothing|nil)(?![a-z-])"
)
_STEP: Final = (
    r"(?:hour|period|step|interval|quarter(?: of an)? hour|half hour|quarter-hour|half-hour)"
)
_EDGE: Final = re.compile(
    r"(?<![a-z])(?:content|level|charge|soc|state of charge|stored energy|energy (?:stored|in it))"
    r" (?:that )?(?:it has |the battery has |there is )?at the (?P<edge>beginning|start|end)"
    rf" of (?:the|each|every|that|an?) {_STEP}(?![a-z])"
)


@lru_cache(maxsize=8)
def _known(name: str) -> frozenset[str]:
    """Return words or concepts of the card of tapers."""
    return frozenset(str(load_card("tapers")[name]).split())


@dataclass(frozen=True)
class Point:
    """A power at a content; None is a content or power that a word, or another slot, gives."""

    content: float
    content_unit: str
    power: float | None
    power_unit: str
    sources: tuple[Json, Json | None]


@dataclass(frozen=True)
class Taper:
    """Points of the most that a store takes, or gives, by its content, contents rising.

    Attributes
    ----------
    way
        ``charge`` or ``discharge``.
    edge
        At which end of a period the content counts: ``start``, ``end``, or not said.
    table
        Whether the points stand in a table.
    """

    way: str
    points: tuple[Point, ...]
    line: int
    edge: str = ""
    table: bool = False


def take_tapers(draft: Draft, plant: Plant, grids: Sequence[Grid]) -> tuple[Taper, ...]:
    """Return the powers of a text that fall with the content; their words are accounted for."""
    if all(i.unit.card.get("model") != "battery" for i in plant.instances):
        return ()
    words = vocabulary(nouns(plant), plant.concepts)
    found: list[Taper] = []
    for n, line in enumerate(draft.lines):
        if line.sentence.is_heading or n in draft.table_lines:
            continue
        if _STRAIGHT.search(line.line) is None or "<power#" not in line.line:
            continue
        if _FALLS.search(line.line) is None or not _of_content(line):
            continue
        taper = _spoken(draft, n, mark(line, words))
        if taper is not None:
            draft.take(n, range(len(line.tokens)))
            found.append(taper)
    for grid in grids:
        found += _tabled(draft, grid, words)
    edge = _edge(draft, words) if found else ""
    return tuple(replace(taper, edge=edge) for taper in found)


def _of_content(line: Line) -> bool:
    kinds = {t.amount.kind for t in line.tokens if t.amount is not None}
    return bool(kinds & {"percent", "energy"})


def _spoken(draft: Draft, n: int, marked: Marked) -> Taper | None:
    """Return the points of one sentence; None where it says more, or anything else."""
    line = marked.line
    items = {i for match in _ITEM.finditer(line.line) for i in line.covered(*match.span())}
    strange = [
        token.text
        for i, (token, concept) in enumerate(zip(line.tokens, marked.concepts, strict=True))
        if concept not in (NEUTRAL, THING, *_known("concepts"))
        and token.text not in _known("words") and i not in items
    ]  # fmt: skip
    ways = _ways(line.line)
    if strange or len(ways) != 1:
        return None
    read = [_item(draft, line, match) for match in _ITEM.finditer(line.line)]
    known = sum(t.amount is not None for t in line.tokens)
    if known != sum(item[3] for item in read):
        return None
    points = _paired(read, line.line)
    return None if points is None else Taper(ways.pop(), points, n)


def _ways(text: str) -> set[str]:
    """Return which ways a text is about, by the words for them alone."""
    found = set()
    if re.search(r"(?<![a-z])(?:re)?charg(?:e|es|ed|ers?|ing)(?! level)(?![a-z])", text):
        found.add("charge")
    if re.search(r"(?<![a-z])(?:discharg(?:e|es|ed|ers?|ing)|unload(?:s|ing)?)(?![a-z])", text):
        found.add("discharge")
    return found


Item = tuple[str, float, str, bool, Json]


def _item(draft: Draft, line: Line, match: re.Match[str]) -> Item:
    """Return kind, value, unit, whether it is a number, and source of one item of a sentence."""
    if match["token"] is not None:
        amount = line.tokens[int(match["token"])].amount
        assert amount is not None
        kind = "power" if amount.kind == "power" else "content"
        return kind, amount.value, amount.unit, True, text_source(amount)
    tokens = line.covered(*match.span())
    span = (line.tokens[tokens[0]].span[0], line.tokens[tokens[-1]].span[1])
    said = draft.text[slice(*span)]
    if match["none"]:
        return "power", 0.0, "kW", False, _meant(f"'{said}' is 0 kW")
    share = 100.0 if match["full"] else 0.0
    return "content", share, "%", False, _meant(f"'{said}' is {share:g} % of the capacity")


def _meant(reason: str) -> Json:
    return {"kind": "assumption", "reason": reason}


def _paired(items: Sequence[Item], text: str) -> tuple[Point, ...] | None:
    """Return the points of contents and powers; a first content alone is where the fall begins."""
    kinds = "".join("p" if item[0] == "power" else "c" for item in items)
    pairs: list[tuple[Item, Item | None]]
    if kinds in ("ccpp", "ppcc") and re.search(r"between|from ", text):
        pairs = [_pair(items[0], items[2]), _pair(items[1], items[3])]
    else:
        rest = list(items)
        pairs = [(rest.pop(0), None)] if len(rest) % 2 and kinds[0] == "c" else []
        for a, b in zip(rest[::2], rest[1::2], strict=False):
            if a[0] == b[0]:
                return None
            pairs.append(_pair(a, b))
        if len(rest) % 2:
            return None
    if len(pairs) < 2 or len({content[2] for content, _ in pairs}) != 1:
        return None
    points = [
        Point(c[1], c[2], None if p is None else p[1], "kW" if p is None else p[2],
              (c[4], None if p is None else p[4]))
        for c, p in pairs
    ]  # fmt: skip
    points.sort(key=lambda point: point.content)
    rising = all(a.content < b.content for a, b in pairwise(points))
    return tuple(points) if rising else None


def _pair(a: Item, b: Item) -> tuple[Item, Item | None]:
    return (b, a) if a[0] == "power" else (a, b)


def _tabled(draft: Draft, grid: Grid, words: Vocabulary) -> list[Taper]:
    """Return the tapers of a table with a column of contents and one or two of powers."""
    if grid.curve is None or not grid.points:
        return []
    contents, *powers = grid.points
    before = [
        n for n, line in enumerate(draft.lines)
        if n not in draft.table_lines and not line.sentence.is_heading
        and line.sentence.span[1] <= grid.curve[0]
    ]  # fmt: skip
    line = before[-1] if before else 0
    found = [t for c in powers if (t := _column(contents, c, line)) is not None]
    if len(found) != len(powers) or len({t.way for t in found}) != len(found):
        return []
    span = grid.curve
    draft.not_understood[:] = [e for e in draft.not_understood if e.span != span]
    lead = draft.lines[line]
    concepts = mark(lead, words).said()
    plain = all(t.kind in ("word", "mark") for t in lead.tokens) and concepts <= _known("leads")
    rows = draft.text[lead.sentence.span[1] : span[0]].splitlines()
    near = not any(row.strip(" :*_") and not row.lstrip().startswith("|") for row in rows)
    if before and plain and near and lead.sentence.text.rstrip().endswith(":"):
        draft.take(line, range(len(lead.tokens)))
    return found


def _column(contents: Column, powers: Column, line: int) -> Taper | None:
    """Return the taper of one column of powers; None where it is not clear what it is of."""
    ways = _ways(powers.words.lower())
    unit = contents.unit or ("%" if "%" in contents.words else "")
    sound = kind_of(unit or "1") in ("energy", "percent") and kind_of(powers.unit or "1") == "power"
    if len(ways) != 1 or not sound or contents.numbers is None or powers.numbers is None:
        return None
    rows = sorted(zip(contents.numbers, powers.numbers, contents.source, powers.source,
                      strict=True), key=lambda row: row[0])  # fmt: skip
    if len(rows) < 2 or any(a[0] >= b[0] for a, b in pairwise(rows)):
        return None
    points = tuple(Point(c, unit, p, powers.unit, (x, y)) for c, p, x, y in rows)
    return Taper(ways.pop(), points, line, table=True)


def _edge(draft: Draft, words: Vocabulary) -> str:
    """Return at which end of a period the content counts, by the one sentence that says so."""
    found = set()
    for n, line in enumerate(draft.lines):
        match = None if line.sentence.is_heading else _EDGE.search(line.line)
        if match is None or not {t.text for t in line.tokens} & _known("counts"):
            continue
        if any(t.amount is not None and not draft.is_taken(n, i)
               for i, t in enumerate(line.tokens)):  # fmt: skip
            continue
        concepts = mark(line, words).concepts
        strange = [
            token.text
            for token, concept in zip(line.tokens, concepts, strict=True)
            if concept not in (NEUTRAL, THING, *_known("edges"))
            and token.text not in _known("counts")
        ]
        if not strange:
            found.add("end" if match["edge"] == "end" else "start")
            draft.take(n, range(len(line.tokens)))
    return found.pop() if len(found) == 1 else ""


def in_kilowatts(point: Point) -> float | None:
    """Return the power of a point in kW."""
    if point.power is None:
        return None
    return convert(point.power, parse_unit(point.power_unit), parse_unit("kW"))
