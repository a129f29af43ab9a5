"""Several temperatures in one plant: rooms, or other capacities, that a text tells apart.

They are told apart by a table with heat capacities, by a file with a row for each, or by the
running text, which gives each of them a heat capacity of its own.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from engiagent.agents.offline.amounts import kind_of
from engiagent.agents.offline.draft import Draft
from engiagent.agents.offline.owners import identifier
from engiagent.agents.offline.plant.language.naming import plain_label
from engiagent.agents.offline.tokens import Line

if TYPE_CHECKING:
    from engiagent.agents.offline.grids import Column, Grid
    from engiagent.agents.offline.plant.stores.rosters import Roster
    from engiagent.agents.offline.plant.units import Instance, Plant

_TELLING: Final = (
    "north|south|east|west|upper|lower|ground|first|second|third|left|right|front|back|rear|old"
    "|new|large|small|big|inner|outer|main|side|glazed|heavy|light"
)
_LETTER: Final = r"(?: (?:[a-h]|[1-9]|i{1,3})(?= (?:has|stores|holds|is|and|:|[(]|loses|weighs)))?"
_ITEM: Final = re.compile(
    r"(?:- |\* )?(?:the |our |an? )?(?P<name>[a-z][a-z-]*(?: [a-z-]+)?) [:(] "
)
_AMOUNT: Final = re.compile(r"<heat_capacity#\d+>")
_SUBJECT: Final = re.compile(
    r"(?:^|(?<=[;,] )|(?<=and ))(?:the|our) (?P<name>[a-z][a-z-]+) (?:stores|has|holds)"
    r"(?: a (?:heat|thermal) (?:capacity|mass) of)? $"
)
_NO_NAME: Final = frozenset({"whole", "inside", "total", "capacity", "heat capacity", "it"})


@dataclass(frozen=True)
class Node:
    """One of several temperatures, with what a table or the text calls it."""

    name: str
    label: str


def nodes_of(
    draft: Draft, grids: "Sequence[Grid]", rosters: "Sequence[Roster]", nouns: str
) -> tuple[Node, ...]:
    """Return the temperatures of a text that tells several apart; none for other texts."""
    for labels in (_tabled(grids), _filed(rosters), _told(draft.lines, nouns)):
        found = {identifier(label): label for label in labels}
        if len(found) > 1:
            return tuple(Node(name, plain_label(label)) for name, label in found.items())
    return ()


def of_nodes(grid: "Grid") -> bool:
    """Whether a table gives heat capacities of several rooms."""
    return len(_with_capacities((grid,))) > 1


def has_capacities(roster: "Roster") -> bool:
    """Whether a file with a row for each of several things gives their heat capacities."""
    return any(_is_capacity(column) for column in roster.columns.values())


def _is_capacity(column: object) -> bool:
    unit = str(getattr(column, "unit_text", "") or getattr(column, "unit", "") or "")
    from engiagent.agents.offline.grids import clean_unit

    clean = clean_unit(unit, None)
    return bool(clean) and kind_of(clean) == "heat_capacity"


def _tabled(grids: "Sequence[Grid]") -> list[str]:
    return [label.replace("_", " ") for label in _with_capacities(grids)]


def _with_capacities(grids: "Sequence[Grid]") -> list[str]:
    """Return the labels in tables beside which a heat capacity stands."""
    found = [
        str(cell.get("owner"))
        for grid in grids
        for line, cell in grid.lines
        if cell.get("owner")
        and any(t.amount is not None and t.amount.kind == "heat_capacity" for t in line.tokens)
    ]
    return list(dict.fromkeys(found))


def _filed(rosters: "Sequence[Roster]") -> list[str]:
    return [label for r in rosters if has_capacities(r) for label in r.labels]


def _told(lines: Sequence[Line], nouns: str) -> list[str]:
    """Return what owns each heat capacity of the running text; none where one is not named."""
    names: list[str] = []
    pattern = re.compile(rf"(?<![a-z0-9'-])(?:(?:{_TELLING}) )?(?:{nouns}){_LETTER}(?![a-z0-9'-])")
    for line in lines:
        if line.sentence.is_heading or line.sentence.passage < 0:
            continue
        for match in _AMOUNT.finditer(line.line):
            named = _owner_before(line.line, match.start(), pattern)
            if named is None:
                return []
            names.append(named)
    return names if len(set(names)) == len(names) else []


def _owner_before(text: str, place: int, pattern: re.Pattern[str]) -> str | None:
    """Return what a heat capacity at a place of a line is of: 'the screed: 16 kWh/K'."""
    item = _ITEM.match(text)
    if item is not None and item.end() == place and item["name"] not in _NO_NAME:
        return item["name"]
    before = list(pattern.finditer(text[:place]))
    if before:
        return before[-1][0]
    subject = _SUBJECT.search(text[:place])
    if subject is not None and subject["name"] not in _NO_NAME:
        return subject["name"]
    after = re.match(r"<heat_capacity#\d+> (?:of|in|for|belongs? to) (?:the |an? )", text[place:])
    if after is not None and (found := pattern.match(text, place + after.end())):
        return found[0]
    return None


def finder_of(label: str) -> re.Pattern[str]:
    """Return a pattern for a name in the running text, in the singular or the plural."""
    words = [re.escape(w) for w in label.split()]
    last = words[-1]
    stem = last[:-1] if last.endswith("s") and len(last) > 3 else last
    words[-1] = rf"{stem}(?:s|es)?(?:'s|')?"
    return re.compile(rf"(?<![a-z0-9-]){'[- ]'.join(words)}(?![a-z0-9-])")


def column_zone(plant: "Plant", name: str) -> "Instance | None":
    """Return the room that the name of a column begins or ends with, as ``office_kw``.

    A part of at least four letters is enough where it is the beginning of one room's name only.
    """
    words = [w for w in re.split(r"[_\W]+", name.lower()) if w]
    found = {
        zone.name: zone
        for zone in plant.of("zone")
        for part in zone.name.split("_")
        for word in words
        if word == part or _shortened(word, part)
    }
    return next(iter(found.values())) if len(found) == 1 else None


def _shortened(word: str, part: str) -> bool:
    return len(word) >= 4 and (part.startswith(word) or (word.startswith(part) and len(part) >= 4))


def spoken_zone(plant: "Plant", texts: Iterable[str]) -> "Instance | None":
    """Return the one room that the first of some texts that names any names."""
    for text in texts:
        named = [zone for zone in plant.of("zone") if zone.finder.search(text.lower())]
        if named:
            return named[0] if len(named) == 1 else None
    return None


def columns_of_nodes(plant: "Plant", columns: "Sequence[Column]") -> "dict[str, Instance]":
    """Return for the name of every column of a room that room."""
    found = {}
    for column in columns:
        zone = column_zone(plant, column.name)
        if zone is not None:
            found[column.name] = zone
    return found
