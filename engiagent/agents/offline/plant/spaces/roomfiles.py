"""Rooms in files: what each of them is, the walls between them, and when each is in use."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from engiagent.agents.offline.amounts import kind_of
from engiagent.agents.offline.draft import Band, Cell, Draft, Fact, Json, Reading, Value
from engiagent.agents.offline.files import unit_of_column
from engiagent.agents.offline.grids import Column
from engiagent.agents.offline.owners import identifier
from engiagent.agents.offline.plant.spaces.links import Link
from engiagent.agents.offline.plant.spaces.nodes import has_capacities
from engiagent.agents.offline.plant.stores.rosters import Roster
from engiagent.agents.offline.plant.units import Plant, unit_of
from engiagent.agents.offline.results import NotUnderstood
from engiagent.agents.offline.series import bare_name, description
from engiagent.agents.offline.storage import constrain

if TYPE_CHECKING:
    from engiagent.agents.offline.plant.system import System
    from engiagent.problems.problem import Problem

_BY_KIND: Final = {
    "heat_capacity": "capacitance", "conductance": "conductance", "resistance": "resistance",
}  # fmt: skip
_START: Final = re.compile(r"(?<![a-z])(?:midnight|start|initial|beginning|begin|first)(?![a-z])")
_GAIN: Final = re.compile(
    r"(?<![a-z])(?:people|persons?|occupants?|pupils|guests|gains?|equipment|computers|machines)"
    r"(?![a-z])"
)
_EMITS: Final = re.compile(r"(?<![a-z])(?:radiators?|heaters?|heating|convectors?)(?![a-z])")
_IN_USE: Final = (
    r"in use|occupied|(?:while|when) (?:it is|they are|the room is|people are there) (?:in use|used"
    r"|occupied)|while used|during (?:its |their )?use"
)
_FROM: Final = re.compile(r"(?<![a-z])(?:from|start|begin|opens?)(?![a-z])")
_TO: Final = re.compile(r"(?<![a-z])(?:to|until|till|end|closes?)(?![a-z])")
_MARKS: Final = (
    r"(?:that|this|it) (?:goes|holds|is|counts) for every (?:[a-z-]+ )?mark from <code#(?P<a>\d+)>"
    r" (?:to|until) <code#(?P<b>\d+)>(?: , (?P<both>both(?: marks)? included))?"
)
_COUNTS: Final = (
    r"(?:the )?heat (?:from|of) people (?:counts|is there|comes|enters) in the"
    r" (?:half-hours|hours|quarter-hours|periods|steps) from <code#(?P<a>\d+)> (?:until|to)"
    r" <code#(?P<b>\d+)>"
)


@dataclass
class RoomFiles:
    """What files say of rooms.

    Attributes
    ----------
    use
        When each room is in use: the hours of the day from which and until which.
    gains
        The heat of people in each room, and whether it is there only while the room is in use.
    bands
        Limits while a room is in use, and at all other times (``rest``).
    """

    files: frozenset[str] = frozenset()
    links: list[Link] = field(default_factory=list)
    use: dict[str, tuple[Value, Value]] = field(default_factory=dict)
    gains: dict[str, tuple[Value, bool]] = field(default_factory=dict)
    bands: list[tuple[Band, bool]] = field(default_factory=list)


def room_files(
    problem: "Problem", rosters: Sequence[Roster], draft: Draft
) -> tuple[RoomFiles, list[Roster], list[Roster]]:
    """Return what belongs to rooms among the files, and the rosters of rooms and of other things.

    A file with heat capacities names the rooms; files of theirs have the same names in a column, or
    in two where they tell of walls.
    """
    own = [r for r in rosters if has_capacities(r)]
    if len(own) != 1:
        return RoomFiles(), [], list(rosters)
    labels = set(own[0].labels)
    theirs = [r for r in rosters if r is own[0] or set(r.labels) <= labels]
    walls = frozenset(
        name for name, file in problem.data.items() if _wall_columns(file, labels) is not None
    )
    found = RoomFiles(walls | {r.file for r in theirs})
    for name in sorted(walls):
        _walls(problem, name, labels, found)
        _taken(draft, name, [c.header for c in problem.data[name].columns.values()])
    return found, theirs, [r for r in rosters if r not in theirs]


def _wall_columns(file: Any, labels: set[str]) -> tuple[str, str, str] | None:
    """Return the headers of two columns of rooms and of one of conductances between them."""
    columns = list(file.columns.values())
    rooms = [
        c for c in columns if c.dtype == "text" and {str(v).strip() for v in c.values} <= labels
    ]
    numbers = [c for c in columns if c.dtype != "text"]
    if len(rooms) != 2 or len(numbers) != 1 or len(columns) != 3:
        return None
    kind = kind_of(unit_of_column(numbers[0], None) or "1")
    if kind not in ("conductance", "resistance"):
        return None
    return rooms[0].header, rooms[1].header, numbers[0].header


def _walls(problem: "Problem", name: str, labels: set[str], found: RoomFiles) -> None:
    file = problem.data[name]
    headers = _wall_columns(file, labels)
    assert headers is not None
    a, b, c = (next(k for k in file.columns.values() if k.header == h) for h in headers)
    unit = unit_of_column(c, None)
    source = {"kind": "file", "file": name, "column": c.header}
    for row in range(file.rows):
        first, second = (str(k.values[row]).strip() for k in (a, b))
        cell = Cell(name, f"{a.header},{b.header}", c.header, f"{first}', '{second}")
        value = Value(unit, dict(source), float(c.values[row]), cell=cell)
        pair = identifier(first), identifier(second)
        found.links.append(Link(*pair, value, kind_of(unit) == "conductance", -1))


def _taken(draft: Draft, file: str, heads: Sequence[str]) -> None:
    """Account for the sentences that say what a file and its columns are, and give no number."""
    known = {file, *heads, *(bare_name(h) for h in heads)}
    for n, line in enumerate(draft.lines):
        codes = [i for i, t in enumerate(line.tokens) if t.kind == "code"]
        if not any(line.tokens[i].text == file for i in codes):
            continue
        behind = line.tokens[codes[0] :]
        plain = all(t.kind in ("word", "mark", "code", "clock") for t in behind)
        if plain and {line.tokens[i].text for i in codes} <= known:
            draft.take(n, range(codes[0], len(line.tokens)))


# --- rooms and their use -------------------------------------------------------------------------


def read_rooms(
    draft: Draft, plant: Plant, rosters: Sequence[Roster], found: RoomFiles, start: float | None,
    currency: str | None,
) -> Plant:  # fmt: skip
    """Fill the slots of all rooms from their files; return the plant with the words of use."""
    zones = {identifier(label): label for r in rosters for label in r.labels}
    for roster in rosters:
        clear = True
        for header, column in roster.columns.items():
            place = _place(draft, roster, header, column, start, currency)
            if place is None:
                reason = f"nothing takes the column '{header}'"
                draft.not_understood.append(NotUnderstood(f"file {roster.file}", (0, 0), reason))
                clear = False
                continue
            for name, label in zones.items():
                if label in roster.labels:
                    _fill(draft, plant, found, place, name, _value(roster, column, label, place))
        if clear:
            _taken(draft, roster.file, [roster.head, *roster.columns])
    if not found.use:
        return plant
    _sentences(draft)
    entry: dict[str, Any] = dict(plant.units["zone"].card)
    entry["slots"] = {
        name: {**slot, "may": [*slot.get("may", []), "inuse"]} if slot.get("band") else slot
        for name, slot in entry["slots"].items()
    }
    unit = unit_of(entry)
    instances = tuple(
        replace(i, unit=unit) if i.unit.component == "zone" else i for i in plant.instances
    )
    concepts = {**plant.concepts, "inuse": _IN_USE}
    return replace(
        plant, units={**plant.units, "zone": unit}, instances=instances, concepts=concepts
    )


def _value(roster: Roster, column: Any, label: str, place: tuple[str, str, bool]) -> Value:
    row = roster.labels.index(label)
    source = {"kind": "file", "file": roster.file, "column": column.header}
    cell = Cell(roster.file, roster.head, column.header, label)
    return Value(place[1], source, float(column.values[row]), cell=cell)


def _place(
    draft: Draft, roster: Roster, header: str, column: Any, start: float | None,
    currency: str | None,
) -> tuple[str, str, bool] | None:  # fmt: skip
    """Return the slot, the unit, and whether the value holds in use only; None where unclear."""
    if column.dtype == "text":
        return None
    unit = unit_of_column(column, currency)
    source = {"kind": "file", "file": roster.file, "column": header}
    shown = Column(header, "", unit, source, data=f"{roster.file}#{header}")
    text = f"{header} ; {description(draft, shown)[0]}".lower()
    kind = kind_of(unit) if unit else "number"
    if kind in _BY_KIND:
        return _BY_KIND[kind], unit, False
    if kind == "temperature" and _START.search(text) and ("midnight" not in text or not start):
        return "initial_temperature", unit, False
    if kind == "power" and bool(_GAIN.search(text)) is not bool(_EMITS.search(text)):
        used = re.search(_IN_USE, text) is not None
        return ("gains" if _GAIN.search(text) else "heat_limit"), unit, used
    if kind in ("number", "duration") and unit in ("", "1", "h"):
        plain = re.sub(r"[_\W]+", " ", header.lower())
        sides = bool(_FROM.search(plain)), bool(_TO.search(plain))
        if sides in ((True, False), (False, True)):
            return ("use_from" if sides[0] else "use_to"), "h", False
    return None


def _fill(
    draft: Draft, plant: Plant, found: RoomFiles, place: tuple[str, str, bool], name: str,
    value: Value,
) -> None:  # fmt: skip
    slot, _, used = place
    if slot == "gains":
        found.gains[name] = (value, used)
    elif slot in ("use_from", "use_to"):
        known = found.use.get(name, (value, value))
        found.use[name] = (value, known[1]) if slot == "use_from" else (known[0], value)
    else:
        known_slot = plant.units["zone"].slots[slot]
        draft.readings.append(Reading(name, known_slot, value, "value", -1, (0, 0), slot))


def _sentences(draft: Draft) -> None:
    """Account for the sentences that say at which marks and in which periods use counts."""
    for n, line in enumerate(draft.lines):
        for pattern in (_MARKS, _COUNTS):
            match = re.search(pattern, line.line)
            if match is None:
                continue
            heads = [line.tokens[int(match[k])].text.lower() for k in ("a", "b")]
            if not (_FROM.search(heads[0]) and _TO.search(heads[1])):
                continue
            covered = list(line.covered(*match.span()))
            draft.take(n, covered)
            span = (line.tokens[covered[0]].span[0], line.tokens[covered[-1]].span[1])
            draft.facts.append(Fact("background", n, span, {}, match[0]))


# --- the model -----------------------------------------------------------------------------------


def use_of(system: "System", name: str) -> tuple[str, str] | None:
    """Return the parameters of when a room is in use; None where nothing says it."""
    rooms, builder = system.reader.rooms, system.builder
    if rooms is None or name not in rooms.use:
        return None
    made = []
    for value, word in zip(rooms.use[name], ("from", "to"), strict=True):
        known = next((p["name"] for p in builder.parameters if p["name"] == f"{name}_use_{word}"),
                     None)  # fmt: skip
        made.append(str(known or builder.value(f"{name}_use_{word}", value, f"in use {word}")))
    low, high = (float(v.number or 0.0) for v in rooms.use[name])
    if not 0 < low < high < 24 or builder.axis.hours > 24 + 1e-9 or builder.axis.start_clock:
        builder.draft.doubt(0, f"{name}: use over midnight, or on several days")
    return made[0], made[1]


def use_gains(system: "System", name: str) -> str | None:
    """Return the heat of people in a room as its files give it; None where they do not."""
    rooms, builder = system.reader.rooms, system.builder
    if rooms is None or name not in rooms.gains:
        return None
    value, used = rooms.gains[name]
    made = builder.value(f"{name}_people", value, "heat of people")
    times = use_of(system, name) if used else None
    if not used:
        return made
    if times is None:
        builder.draft.doubt(0, f"{name}: when it is in use is not said")
        return made
    text = f"{made} if {times[0]} <= clock(t) and clock(t) < {times[1]} else 0[kW]"
    return builder.derived(
        f"{name}_people_in_use", text, "kW", "heat of people while the room is in use",
        [made, *times], series=True, note="by the time of day at the start of the period",
    )  # fmt: skip


def add_use_bands(system: "System", name: str) -> None:
    """Add the limits of a room's temperature while it is in use, and at other times."""
    rooms, builder = system.reader.rooms, system.builder
    for k, (band, rest) in enumerate(rooms.bands if rooms is not None else (), 1):
        times = use_of(system, name)
        if times is None:
            builder.draft.doubt(band.line, f"{name}: when it is in use is not said")
            continue
        if band.owner not in (name, "*"):
            continue
        limits: Json = {}
        for kind, value in band.limits:
            word = "lowest" if kind == "lower" else "highest"
            limits[kind] = builder.value(f"{name}_{word}_in_use_{k}", value, f"{word} temperature")
        text = f"{name}_temperature[i]"
        text = f"{limits['lower']} <= {text}" if "lower" in limits else text
        text = f"{text} <= {limits['upper']}" if "upper" in limits else text
        where = f"{times[0]} <= clock(i) and clock(i) <= {times[1]}"
        constrain(
            builder, f"temperature limits of {name} in use", text, "Strategic Requirements",
            band.line, ["i in I"], f"not ({where})" if rest else where,
        )  # fmt: skip
