"""Files with one row for each unit, as a list of vehicles: columns of numbers, and of times."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from engiagent.agents.offline.amounts import kind_of
from engiagent.agents.offline.draft import Cell, Draft, Reading, Value
from engiagent.agents.offline.files import unit_of_column
from engiagent.agents.offline.owners import identifier
from engiagent.agents.offline.plant.language.reading import plain_text, score_of
from engiagent.agents.offline.plant.language.words import mark, vocabulary
from engiagent.agents.offline.plant.units import Plant, nouns
from engiagent.agents.offline.results import NotUnderstood
from engiagent.agents.offline.tokens import Line

if TYPE_CHECKING:
    from engiagent.problems.problem import Problem

_STAMP: Final = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?")
_FROM: Final = frozenset({"arrive", "start"})
_UNTIL: Final = frozenset({"depart", "end", "needed"})


@dataclass(frozen=True)
class Roster:
    """A file whose first column names units."""

    file: str
    head: str
    labels: tuple[str, ...]
    columns: Mapping[str, Any] = field(repr=False)


def rosters_of(problem: "Problem") -> list[Roster]:
    """Return the files of a problem that have a row for each of several units."""
    found = []
    for name, file in problem.data.items():
        columns = list(file.columns.values())
        stamped = sum(all(_STAMP.fullmatch(str(v).strip()) for v in c.values) for c in columns)
        if (file.axis is not None and stamped < 2) or len(columns) < 2 or file.rows < 2:
            continue
        labels = tuple(str(v).strip() for v in columns[0].values)
        names = all(re.fullmatch(r"[A-Za-z][\w .-]*", label) for label in labels)
        other_text = [
            c for c in columns[1:]
            if c.dtype == "text" and not all(_STAMP.fullmatch(str(v).strip()) for v in c.values)
        ]  # fmt: skip
        if names and len(set(labels)) == len(labels) and not other_text:
            rest = {c.header: c for c in columns[1:]}
            found.append(Roster(name, columns[0].header, labels, rest))
    return found


def labels_of(rosters: Sequence[Roster]) -> list[tuple[str, tuple[str, ...]]]:
    """Return the names of units with what may say what they are."""
    return [
        (label, (plain_text(r.head), plain_text(r.file.rsplit(".", 1)[0])))
        for r in rosters
        for label in r.labels
    ]


def read_rosters(
    draft: Draft, plant: Plant, rosters: Sequence[Roster], currency: str | None
) -> dict[str, dict[str, tuple[str, Cell]]]:
    """Give every column of numbers a slot of the units; return the columns of times by unit.

    The sentences that say what the columns are, and nothing else, are accounted for.
    """
    times: dict[str, dict[str, tuple[str, Cell]]] = {}
    for roster in rosters:
        owners = {identifier(label): label for label in roster.labels}
        units = [i for i in plant.instances if i.name in owners]
        if len(units) != len(owners):
            _unread(draft, roster, "nothing in the engine is such a unit")
            continue
        clear = True
        for header, column in roster.columns.items():
            said = _said(draft, plant, roster, header)
            if column.dtype == "text":
                edge = _edge(said, header)
                clear = clear and edge is not None
                if edge is None:
                    _unread(draft, roster, f"what the times in '{header}' are is not clear")
                for unit in units if edge is not None else ():
                    row = roster.labels.index(owners[unit.name])
                    stamp = str(column.values[row]).strip().replace(" ", "T")[:16]
                    cell = Cell(roster.file, roster.head, header, owners[unit.name])
                    times.setdefault(unit.name, {})[str(edge)] = (stamp, cell)
                continue
            clear = _fill(draft, roster, column, said, units, owners, currency) and clear
        if clear:
            _describing(draft, roster)
    return times


def _fill(
    draft: Draft, roster: Roster, column: Any, said: frozenset[str], units: Sequence[Any],
    owners: Mapping[str, str], currency: str | None,
) -> bool:  # fmt: skip
    """Fill a slot of every unit with its row of a column; report a column that has none."""
    unit = unit_of_column(column, currency)
    kind = kind_of(unit) if unit else ""
    card = units[0].unit
    scored = []
    for name, slot in card.slots.items():
        bound = "lower" if "needed" in said and "lower" in slot.bounds else "value"
        says = card.says[name]
        plain = said - {"most", "least", "may", "must", "each"}
        score = score_of(card.component, says.needs, says.may, plain, bound)
        if kind in slot.kinds and score:
            scored.append((score, name))
    scored.sort(reverse=True)
    if not scored or (len(scored) > 1 and scored[0][0] == scored[1][0]):
        _unread(draft, roster, f"nothing takes the column '{column.header}'")
        return False
    slot = card.slots[scored[0][1]]
    source = {"kind": "file", "file": roster.file, "column": column.header}
    for instance in units:
        row = roster.labels.index(owners[instance.name])
        cell = Cell(roster.file, roster.head, column.header, owners[instance.name])
        value = Value(unit, dict(source), float(column.values[row]), cell=cell)
        draft.readings.append(Reading(instance.name, slot, value, "value", -1, (0, 0), slot.name))
    return True


def _said(draft: Draft, plant: Plant, roster: Roster, header: str) -> frozenset[str]:
    """Return what a header and the words before it in the text say, units of the plant aside."""
    words = vocabulary(nouns(plant), plant.concepts)
    found: frozenset[str] = frozenset()
    for line in draft.lines:
        codes = [i for i, t in enumerate(line.tokens) if t.kind == "code"]
        for k, i in enumerate(codes):
            if line.tokens[i].text == header and any(
                line.tokens[c].text == roster.file for c in codes
            ):
                before = codes[k - 1] + 1 if k else 0
                found |= mark(line, words).said(before, i)
    if not found:
        from engiagent.agents.offline.plant.columns import marked_text

        found = marked_text(plain_text(header), plant).said()
    return frozenset(c for c in found if not c.startswith("@")) - {"cond"}


def _edge(said: frozenset[str], header: str) -> str | None:
    """Return whether times are when a unit comes or when it goes."""
    words = set(plain_text(header).split())
    comes = bool(said & _FROM) or bool(words & {"from", "arrival", "arrives", "start"})
    goes = bool(said & {"depart"}) or bool(words & {"until", "to", "departure", "leaves", "end"})
    if comes is goes:
        return None
    return "from" if comes else "until"


def _describing(draft: Draft, roster: Roster) -> None:
    """Account for the sentences that name the file and its columns and give no number."""
    heads = {*roster.columns, roster.file, roster.head}
    for n, line in enumerate(draft.lines):
        codes = [t.text for t in line.tokens if t.kind == "code"]
        if roster.file in codes and set(codes) <= heads and _plain(line):
            first = next(i for i, t in enumerate(line.tokens) if t.text == roster.file)
            draft.take(n, range(first, len(line.tokens)))


def _plain(line: Line) -> bool:
    first = next(i for i, t in enumerate(line.tokens) if t.kind == "code")
    return all(t.kind in ("word", "mark", "code") for t in line.tokens[first:])


def _unread(draft: Draft, roster: Roster, reason: str) -> None:
    draft.not_understood.append(NotUnderstood(f"file {roster.file}", (0, 0), reason))
