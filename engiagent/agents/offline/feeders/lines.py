"""The sections of a radial network out of a table of lines, from its source to its ends."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from engiagent.agents.offline.feeders.sheets import PER_UNIT, Sheet
from engiagent.blueprint.units import parse_unit

_FROM: Final = frozenset({"from", "start", "sending", "upstream", "source", "head", "begin"})
_TO: Final = frozenset({"to", "end", "receiving", "downstream", "target", "tail"})
_FILLER: Final = frozenset({"node", "bus", "busbar", "point", "of", "the", "line", "section"})
_SECTION: Final = frozenset({"section", "line", "branch", "cable", "segment", "edge", "between"})
_PAIR: Final = re.compile(
    r"(.+?)\s+(?:to|and)\s+(.+)|(.+?)\s*(?:->|→|–|—|\s-\s|/)\s*(.+)|(\w+)-(\w+)"
)
_ROLES: Final[Mapping[str, frozenset[str]]] = {
    "r": frozenset({"r", "resistance", "ohmic"}),
    "x": frozenset({"x", "reactance"}),
    "limit": frozenset(
        {"limit", "rating", "rated", "capacity", "max", "maximum", "largest", "highest", "ampacity",
         "thermal", "imax", "smax", "pmax", "current", "loadability"}
    ),
    "length": frozenset({"length", "km"}),
}  # fmt: skip
_LABELS: Final = frozenset(
    {"id", "no", "nr", "number", "name", "line", "section", "branch", "conductor", "cable"}
)


@dataclass(frozen=True)
class Lines:
    """The sections of a radial network.

    Attributes
    ----------
    sheet
        Where they stand.
    ends
        Columns of their two ends: two of them, or one that holds both.
    pairs
        From and to of each section, in the order of the rows; away from the source.
    nodes
        All nodes, the source first.
    roles
        The columns of ``r``, ``x``, ``limit`` and ``length``.
    problems
        Why they are no radial network, or which columns nothing takes.
    """

    sheet: Sheet
    ends: tuple[int, ...]
    pairs: tuple[tuple[str, str], ...]
    nodes: tuple[str, ...]
    roles: Mapping[str, int]
    problems: tuple[str, ...]

    @property
    def source(self) -> str:
        """The node that feeds the network."""
        return self.nodes[0]

    def unit(self, role: str) -> str:
        """Return the unit of a column, empty where it has none."""
        return self.sheet.units[self.roles[role]]


def lines_of(sheets: Sequence[Sheet]) -> Lines | None:
    """Return the lines of the one table that gives sections with resistances."""
    found = [lines for sheet in sheets if (lines := _read(sheet)) is not None]
    return found[0] if len(found) == 1 else None


def _read(sheet: Sheet) -> Lines | None:
    roles = _roles(sheet)
    if "r" not in roles or len(sheet.rows) < 1:
        return None
    ends = _ends(sheet)
    if ends is None:
        return None
    places, pairs = ends
    nodes, problems = _tree(pairs)
    taken = {*places, *roles.values()}
    for c, head in enumerate(sheet.heads):
        if c in taken or (sheet.words(c) <= _LABELS and sheet.numbers(c) is None):
            continue
        if not (sheet.words(c) <= _LABELS and _counts(sheet.numbers(c))):
            problems += (f"nothing takes the column '{head}' of the lines",)
    return Lines(sheet, places, pairs, nodes, roles, problems)


def _counts(numbers: tuple[float, ...] | None) -> bool:
    return numbers is not None and [n - numbers[0] for n in numbers] == list(range(len(numbers)))


def _roles(sheet: Sheet) -> dict[str, int]:
    """Return which column is what; a role that two columns could have is nobody's."""
    found: dict[str, list[int]] = {}
    for c in range(len(sheet.heads)):
        if sheet.numbers(c) is None:
            continue
        words, unit = sheet.words(c), sheet.units[c]
        for role, names in _ROLES.items():
            if words & names and _fits(role, unit):
                found.setdefault(role, []).append(c)
                break
    return {role: places[0] for role, places in found.items() if len(places) == 1}


def _fits(role: str, unit: str) -> bool:
    """Whether a unit is one that a column of lines may have."""
    if unit in ("", PER_UNIT, "1"):
        return role in ("r", "x", "limit")
    wanted = {"r": ("ohm", "ohm/km"), "x": ("ohm", "ohm/km"), "limit": ("kW", "A"),
              "length": ("km",)}[role]  # fmt: skip
    dimension = parse_unit(unit).dimension
    return any(parse_unit(name).dimension == dimension for name in wanted)


def _ends(sheet: Sheet) -> tuple[tuple[int, ...], tuple[tuple[str, str], ...]] | None:
    """Return the columns of the ends of the sections, and the ends."""
    bare = [sheet.words(c) - _FILLER for c in range(len(sheet.heads))]
    first = [c for c, words in enumerate(bare) if words and words <= _FROM]
    second = [c for c, words in enumerate(bare) if words and words <= _TO]
    if len(first) == 1 and len(second) == 1:
        pairs = zip(sheet.column(first[0]), sheet.column(second[0]), strict=True)
        return (first[0], second[0]), tuple(pairs)
    for c in range(len(sheet.heads)):
        if not sheet.words(c) & _SECTION:
            continue
        matches = [_PAIR.fullmatch(text) for text in sheet.column(c)]
        if all(matches):
            ends = [[g.strip() for g in m.groups() if g] for m in matches if m is not None]
            return (c,), tuple((a, b) for a, b in ends)
    return None


def _tree(pairs: Sequence[tuple[str, str]]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the nodes of a tree, its root first, and what is wrong with it."""
    nodes = list(dict.fromkeys(n for pair in pairs for n in pair))
    ends = [b for _, b in pairs]
    roots = [n for n in nodes if n not in ends]
    if len(roots) != 1 or len(set(ends)) != len(ends) or len(nodes) != len(pairs) + 1:
        return tuple(nodes), ("the lines are no radial network with one source",)
    reached, count = {roots[0]}, 0
    while len(reached) > count:
        count = len(reached)
        reached |= {b for a, b in pairs if a in reached}
    whole = () if len(reached) == len(nodes) else ("some nodes are not connected to the source",)
    return (roots[0], *(n for n in nodes if n != roots[0])), whole
