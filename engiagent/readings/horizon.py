"""What a changed date, number of hours or data file means for the one time set of a reading."""

import calendar
import json
import re
from datetime import date, datetime
from typing import Any, Final

import numpy as np

from engiagent.blueprint.timeaxis import parse_step, utc_offsets
from engiagent.readings.alignment import Pair, sentence_at
from engiagent.readings.datafiles import Json, unlike
from engiagent.readings.moving import PROSE, Move, mappings
from engiagent.readings.reading import Gap
from engiagent.text.parts import Quantity
from engiagent.units.unit import parse_unit
from engiagent.verify.levels.sources import all_leaves

_WEEKDAY: Final = re.compile(r"(?i)\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b")
_SPAN: Final = re.compile(
    r"(?i)\b(?:(?:to|mid)?(?:day|night)|week|weekend|month|season|year)s?\b(?!-ahead)"
)
_DAY: Final = 86400.0


def move_horizon(move: Move) -> None:
    """Let the time set and what is read from files follow a text and its data files."""
    old, new = move.old_files, move.new_files
    if set(old) != set(new):
        move.refuse(f"the data files were {sorted(old) or 'none'}, they are {sorted(new)}")
        return
    faults = [why for name in old if (why := unlike(name, old[name], new[name]))]
    for why in faults:
        move.refuse(why)
    times = [item for item in move.core.get("sets", []) if item["kind"] == "time"]
    if len(times) != 1 and move.changed_files and not faults:
        move.refuse("a data file differs, and the reading has not exactly one time set")
    if len(times) != 1 or faults:
        return
    index_set = times[0]
    inside = move.pairs_in(all_leaves(index_set.get("source_reference")))
    before = dict(index_set)
    _move_start(move, index_set, inside)
    if not move.gaps:
        _move_periods(move, index_set, inside)
    if not move.gaps and before != index_set:
        _check_clock(move, index_set)
    for name in move.changed_files:
        _follow_file(move, name)


# --- the first day -----------------------------------------------------------------------------


def _move_start(move: Move, index_set: Json, inside: list[Pair]) -> None:
    """Move the start with the dates of the text and the first stamps of the data files."""
    dates = [p for p in inside if p[0].kind == "date"]
    changed = [p for p in dates if p in move.changes]
    move.carried |= {p[0].number_span for p in dates}
    firsts = {n: file["first"] for n, file in move.old_files.items() if file["first"] is not None}
    shifts = {_days(p[0].date, p[1].date) for p in dates}
    shifts |= {_days(first, move.new_files[n]["first"]) for n, first in firsts.items()}
    if shifts <= {0}:
        return
    start = str(index_set["start"])
    known = any(p[0].date == start[:10] for p in dates)
    if not dates:  # the stamps lead
        known = all(first == start[:16] for first in firsts.values())
    days = shifts.pop()
    if shifts or not known or days is None:
        files = ", ".join(f"{n} at {move.new_files[n]['first']}" for n in firsts) or "no file"
        said = "the dates of the horizon and the first stamps of data files do not move together"
        move.refuse(f"{said} (now {files})", *dates)
        return
    new, place = move.alignment.new, move.alignment.new.body_start
    if (days % 7 or not dates) and _WEEKDAY.search(new.text, place):
        move.refuse("the date falls on another day of the week than before", *changed)
    first = date.fromisoformat(start[:10])
    moved = date.fromordinal(first.toordinal() + days)
    month = calendar.month_name[first.month]
    spans = [pair[1].span for pair in changed]
    named = (m.start() for m in re.compile(month, re.I).finditer(new.text, place))
    if moved.month != first.month and not all(any(a <= k < b for a, b in spans) for k in named):
        move.refuse(f"the text still speaks of {month}", *changed)
    if start[:10] in _written(move.core):
        move.refuse("the reading names the old date in a place of its own", *changed)
    index_set["start"] = moved.isoformat() + start[10:]
    move.moved |= {p[0].number_span for p in changed}


def _days(old: str | None, new: str | None) -> int | None:
    """Return the days between two dates or stamps; None if these are no whole days."""
    if old == new:
        return 0
    try:
        gap = datetime.fromisoformat(new or "") - datetime.fromisoformat(old or "")
    except ValueError:
        return None  # a day without its year
    return None if gap.seconds else gap.days


def _written(core: Json) -> str:
    """Return what stands in a blueprint's core beside prose."""
    listed = [part if isinstance(part, list) else [part] for part in core.values()]
    items = [item for part in listed for item in part if isinstance(item, dict)]
    return json.dumps([[v for k, v in i.items() if not PROSE.fullmatch(k)] for i in items])


# --- the number of periods ---------------------------------------------------------------------


def _move_periods(move: Move, index_set: Json, inside: list[Pair]) -> None:
    """Let the number of periods follow the text and the rows of the data files."""
    old, new = move.old_files, move.new_files
    periods, length = int(index_set["periods"]), _step(index_set)
    counts = [p for p in inside if _counts(p[0], periods, length)]
    move.carried |= {p[0].number_span for p in counts}
    led = [name for name in old if old[name]["rows"] - periods in (0, 1)]
    found = {_periods(p[1], length) for p in counts}
    found |= {float(new[name]["rows"] - old[name]["rows"] + periods) for name in led}
    odd = [name for name in old if name not in led and old[name]["rows"] != new[name]["rows"]]
    count = found.pop() if found else float(periods)
    if found or odd or count is None or count % 1 or count < 1:
        rows = ", ".join(f"{name}: {new[name]['rows']} rows" for name in new)
        said = f"text and data files do not agree on a number of periods ({rows or 'no files'})"
        move.refuse(said, *counts)
        return
    if count == periods:
        return
    others = [
        p
        for p in move.alignment.numbers
        if p not in counts and (_counts(p[0], periods, length) or _is_end(p[0], index_set))
    ]
    if others:
        said = f"the text speaks of {periods} periods, or of their end, in another place, too"
        move.refuse(said, *others)
    match = _SPAN.search(move.alignment.new.text, move.alignment.new.body_start)
    if match is not None:
        words = sentence_at(move.alignment.new, match.start())
        said = f"{count:g} periods for {periods}, and the text speaks of a {match[0]}"
        move.gaps.append(Gap((words,), said))
    if _hand_listed(move, index_set):
        move.refuse(f"values or elements are listed for {periods} periods", *counts)
    index_set["periods"] = int(count)
    move.moved |= {p[0].number_span for p in counts if p in move.changes}


def _is_end(quantity: Quantity, index_set: Json) -> bool:
    """Whether a clock time is that at which the horizon ends."""
    start = re.search(r"(\d\d):(\d\d)", str(index_set["start"]))
    if quantity.kind != "clock" or start is None:
        return False
    end = int(start[1]) + int(start[2]) / 60 + _step(index_set) * int(index_set["periods"]) / 3600
    return float(quantity.exact) == end


def _step(index_set: Json) -> float:
    """Return the length of a period in seconds; 0 where periods have no single one."""
    step = index_set.get("step")
    return parse_step(step)[0] if isinstance(step, str) else 0.0


def _counts(quantity: Quantity, periods: int, length: float) -> bool:
    """Whether a number says how many periods there are, or how long all of them take."""
    other = quantity.kind in ("clock", "date", "label", "percent")
    return not other and _periods(quantity, length) == periods


def _periods(quantity: Quantity, length: float) -> float | None:
    if quantity.unit is None:
        return None if quantity.unit_text else float(quantity.exact)
    if quantity.unit.dimension != parse_unit("s").dimension or not length:
        return None
    return float(quantity.exact) * quantity.unit.scale / length


def _hand_listed(move: Move, index_set: Json) -> bool:
    """Whether anything is written out for each period, so that more periods lack it."""
    along = {str(index_set["name"])}
    along |= {str(s["name"]) for s in move.core.get("sets", []) if s.get("of") in along}
    listed = any(s.get("of") in along and "elements" in s for s in move.core.get("sets", []))
    return listed or any(
        along & set(re.findall(r"\w+", " ".join(p.get("index") or ())))
        for p in move.core.get("parameters", [])
        if isinstance(p.get("value"), list | dict)
    )


def _check_clock(move: Move, index_set: Json) -> None:
    """Refuse a horizon on which clocks change: its hours and its days are not of one length."""
    zone, start = index_set.get("zone"), str(index_set["start"])
    if zone is None or "T" not in start:
        return
    first = float(np.datetime64(start[:16], "s").astype(np.int64))
    last = first + _step(index_set) * int(index_set["periods"])
    offsets = utc_offsets(np.arange(first - _DAY / 2, last + _DAY / 2, 3600.0), str(zone))
    if np.ptp(offsets):
        move.refuse(f"clocks change in {zone} within a day of the new horizon")


# --- columns -----------------------------------------------------------------------------------


def _follow_file(move: Move, name: str) -> None:
    """Let references to columns follow their headers; refuse what was copied from the file."""
    columns = move.old_files[name]["columns"], move.new_files[name]["columns"]
    headers: dict[str, Any] = {a["header"]: b["header"] for a, b in zip(*columns, strict=True)}
    for item in [*move.core.get("parameters", []), *move.core.get("sets", [])]:
        file, _, header = str(item.get("data") or "").partition("#")
        listed = item.get("value") is not None or item.get("elements") is not None
        leaves = all_leaves(item.get("source_reference"))
        if listed and any(x.kind == "file" and x.fields.get("file") == name for x in leaves):
            move.refuse(f"{item['name']} is written out as {name} had it")
        if item.get("kind") == "subset" and "elements" in item and not leaves:
            move.refuse(f"{item['name']} lists its elements, which may rest on {name}")
        if file != name or headers.get(header, header) == header:
            continue
        if item.get("unit_override") is not None:
            move.refuse(f"{item['name']} is read in a unit that the header of {name} did not have")
        item["data"] = f"{name}#{headers[header]}"
        move.changed_parameters.add(str(item["name"]))
        for source in mappings(item.get("source_reference")):
            if (source.get("file"), source.get("column")) == (name, header):
                source["column"] = headers[header]
