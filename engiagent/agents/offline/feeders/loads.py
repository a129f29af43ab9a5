"""Loads and generation at the nodes of a feeder, as tables and files give them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from engiagent.agents.offline.amounts import kind_of
from engiagent.agents.offline.cards import load_card
from engiagent.agents.offline.draft import Draft
from engiagent.agents.offline.feeders.lines import Lines
from engiagent.agents.offline.feeders.sheets import Sheet
from engiagent.agents.offline.grids import Column
from engiagent.agents.offline.passages import Sentence
from engiagent.agents.offline.plant.language.reading import plain_text
from engiagent.agents.offline.plant.language.words import Vocabulary, mark, vocabulary
from engiagent.agents.offline.results import NotUnderstood
from engiagent.agents.offline.series import _unit_in, description
from engiagent.agents.offline.tokens import tokenise

PRICES: Final = ("import_price", "export_price")
ROLES: Final = ("load", "reactive", "pv", "wind")
_LABELS: Final = frozenset({"no", "nr", "id", "name", "type", "remark", "note", "notes", "remarks"})


@dataclass(frozen=True)
class NodeData:
    """Values of one kind at some nodes.

    Attributes
    ----------
    role
        ``load``, ``reactive``, ``pv`` or ``wind``.
    columns
        The column of each node for series; the one column of values for all nodes else.
    varies
        Whether there is a value for every period.
    """

    role: str
    sheet: Sheet
    nodes: tuple[str, ...]
    columns: tuple[int, ...]
    unit: str
    varies: bool
    keys: int


def node_data(
    draft: Draft, sheets: Sequence[Sheet], lines: Lines, currency: str | None
) -> list[NodeData]:
    """Return what the tables and files beside that of the lines give; report what is not clear."""
    found: list[NodeData] = []
    for sheet in sheets:
        if (
            sheet.times is not None
            and not any(plain_text(h) in {plain_text(n) for n in lines.nodes} for h in sheet.heads)
            and prices_of(sheet, feeder_words())
        ):
            continue
        read = _series(draft, sheet, lines, currency) or _rows(sheet, lines)
        if isinstance(read, str):
            where = sheet.file or f"table {sheet.number + 1}"
            draft.not_understood.append(NotUnderstood(where, sheet.span, read))
            continue
        found += read
    for role in ROLES:
        if sum(d.role == role for d in found) > 1:
            first = next(d.sheet for d in found if d.role == role)
            reason = f"there are two tables of {role}"
            draft.not_understood.append(NotUnderstood(first.file or "table", first.span, reason))
    return found


def feeder_words() -> Vocabulary:
    """Return the words of feeders."""
    from engiagent.agents.offline.feeders.analyse import units

    nouns = {name: unit.nouns for name, unit in units().items()}
    return vocabulary(nouns, load_card("feeder")["concepts"])


def role_of(text: str, words: Vocabulary) -> str | None:
    """Return what words on a column say that it holds: a load, reactive load, sun or wind."""
    plain = re.sub(r"[^\w\s-]", " ", text.lower())
    line = tokenise(plain, Sentence((0, len(plain)), plain, 0, "", "", False), None)
    said = mark(line, words).said()
    makes = {role for role in ("pv", "wind") if f"@{role}" in said}
    takes = bool(said & {"@load", "demand", "into"})
    if makes and not takes and "reactive" not in said:
        return makes.pop() if len(makes) == 1 else None
    if makes or not takes:
        return "reactive" if "reactive" in said and not makes else None
    return "reactive" if "reactive" in said else "load"


def _series(
    draft: Draft, sheet: Sheet, lines: Lines, currency: str | None
) -> list[NodeData] | str | None:
    """Read a table with a column for each node and a row for each period."""
    read = wide(draft, sheet, lines.nodes, feeder_words(), currency)
    if isinstance(read, NodeData):
        return "it has values at the source" if lines.source in read.nodes else [read]
    return read


def wide(
    draft: Draft, sheet: Sheet, among: Sequence[str], words: Vocabulary, currency: str | None
) -> NodeData | str | None:
    """Read a table whose columns are some of several nodes, with a row for each period.

    Returns
    -------
    What it holds, why it cannot be read, or None where its rows are no periods.
    """
    if sheet.times is None:
        return None
    names = {plain_text(n): n for n in among}
    bare = [" ".join(plain_text(re.sub(r"[(\[].*", "", h)).split()) for h in sheet.heads]
    places = [c for c, head in enumerate(bare) if head in names]
    priced = {c for c, _ in prices_of(sheet, words)}
    others = [
        c for c in range(len(bare))
        if c not in places and c not in priced and sheet.numbers(c) is not None
    ]  # fmt: skip
    if not places:
        return None if priced and not others else "no column of it is a node"
    if others and not (len(others) == 1 and sheet.numbers(others[0]) and others[0] == 0):
        return f"nothing takes the column '{sheet.heads[others[0]]}'"
    if any(sheet.numbers(c) is None for c in places):
        return "some of its values are no numbers"
    texts = [plain_text(sheet.file.rsplit(".", 1)[0]) if sheet.file else sheet.lead]
    if sheet.file:
        column = Column(sheet.names[places[0]], "", "", {}, data=f"{sheet.file}#{bare[places[0]]}")
        behind, around = description(draft, column)
        texts = [behind, *texts, around]
    role = next((r for text in texts if text and (r := role_of(text, words)) is not None), None)
    unit = sheet.units[places[0]] or next(
        (u for text in texts if (u := _unit_in(text, currency))), ""
    )
    if role is None or any(sheet.units[c] != sheet.units[places[0]] for c in places):
        return "what its values are is not said"
    if not unit or kind_of(unit) != "power":
        return "the unit of its values is not given, or none of power"
    if (role == "reactive") is not ("var" in unit):
        return f"its unit {unit} is none of what it is said to be"
    stamp = next((c for c in range(len(bare)) if c not in places), 0)
    nodes = tuple(names[bare[c]] for c in places)
    return NodeData(role, sheet, nodes, tuple(places), unit, True, stamp)


def prices_of(sheet: Sheet, words: Vocabulary) -> list[tuple[int, str]]:
    """Return the columns of a table over time that are prices, with what they are prices of."""
    columns = [
        c for c, unit in enumerate(sheet.units)
        if sheet.times is not None and unit and unit != "pu" and sheet.numbers(c) is not None
        and kind_of(unit) == "price"
    ]  # fmt: skip
    found = []
    for c in columns:
        head = " ".join(sorted(sheet.words(c), key=sheet.heads[c].lower().find))
        line = tokenise(head, Sentence((0, len(head)), head, 0, "", "", False), None)
        said = mark(line, words).said()
        role = "export_price" if "export" in said else "import_price"
        found.append((c, role))
    roles = [role for _, role in found]
    return found if len(set(roles)) == len(roles) else []


def _rows(sheet: Sheet, lines: Lines) -> list[NodeData] | str:
    """Read a table with a row for each node."""
    known: Mapping[str, str] = {plain_text(n): n for n in lines.nodes}
    keys = [
        c for c in range(len(sheet.heads))
        if all(plain_text(text) in known for text in sheet.column(c))
    ]  # fmt: skip
    if len(keys) != 1 or len(set(sheet.column(keys[0]))) != len(sheet.rows):
        return "its rows are no nodes of the feeder"
    nodes = tuple(known[plain_text(text)] for text in sheet.column(keys[0]))
    if lines.source in nodes:
        return "it has values at the source"
    found = []
    for c, head in enumerate(sheet.heads):
        if c == keys[0] or sheet.words(c) <= _LABELS:
            continue
        words = " ".join(sorted(sheet.words(c), key=head.lower().find))
        role, unit = role_of(words, feeder_words()), sheet.units[c]
        reactive = "var" in unit
        role = {"p": "load", "pd": "load", "pl": "load", "q": "reactive", "qd": "reactive",
                "ql": "reactive"}.get("".join(sheet.words(c)), role)  # fmt: skip
        role = "reactive" if role == "load" and reactive else role
        if sheet.numbers(c) is None or role is None or not unit or kind_of(unit) != "power":
            return f"nothing takes the column '{head}' of the nodes"
        if (role == "reactive") is not reactive:
            return f"the unit of the column '{head}' is none of what it says"
        found.append(NodeData(role, sheet, nodes, (c,), unit, False, keys[0]))
    return found
