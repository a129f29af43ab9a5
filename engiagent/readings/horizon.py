"""What a changed date or data file means for the one time set of a reading."""

import calendar
import hashlib
import json
import re
from datetime import date, datetime
from typing import Any, Final

import numpy as np

from engiagent.blueprint.timeaxis import parse_step, utc_offsets
from engiagent.readings.alignment import Pair, unlike_units
from engiagent.readings.moving import PROSE, Json, Move, Shapes, mappings, sign_lost
from engiagent.text import Problem
from engiagent.text.datafile import Column, DataFile
from engiagent.text.parts import Quantity
from engiagent.units.unit import Unit, parse_unit
from engiagent.verify.levels.sources import all_leaves

_WEEKDAY: Final = re.compile(r"(?i)\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b")
_DAY: Final = 86400.0


def shapes_of(problem: Problem) -> Shapes:
    """Return the shape of every data file by name: rows, stamps, columns and their ranges."""
    return {name: _shape(file) for name, file in problem.data.items()}


def _shape(file: DataFile) -> Json:
    axis = file.axis
    return {
        "sha256": file.sha256,
        "rows": file.rows,
        "first": None if axis is None else file.times[0].strftime("%Y-%m-%dT%H:%M"),
        "step_seconds": None if axis is None else axis.step_seconds,
        "zone": file.zone,
        "columns": [_column(c, name == file.time_column) for name, c in file.columns.items()],
    }


def _column(column: Column, is_time: bool) -> Json:
    unit = None if column.unit is None else str(column.unit)
    found: Json = {"name": column.name, "header": column.header, "unit": unit}
    if is_time:
        return found | {"kind": "time"}
    if isinstance(column.values, tuple):
        digest = hashlib.sha256("\n".join(column.values).encode()).hexdigest()
        return found | {"kind": "text", "digest": digest}
    low, high = float(column.values.min()), float(column.values.max())
    return found | {"kind": "number", "low": low, "high": high}


def unlike(name: str, old: Json, new: Json) -> str:
    """Return why a data file is not another one of the same shape; empty if it is.

    Units may differ within their dimension, and the first stamp and the number of rows at all: what
    they mean for the horizon is for the reading to say.
    """
    if old["sha256"] == new["sha256"]:
        return ""
    if (old["step_seconds"], old["zone"]) != (new["step_seconds"], new["zone"]):
        return f"{name}: the step or the zone of its time stamps differs"
    if len(old["columns"]) != len(new["columns"]):
        return f"{name} has {len(new['columns'])} columns, it had {len(old['columns'])}"
    for a, b in zip(old["columns"], new["columns"], strict=True):
        why = _unlike_column(a, b)
        if why:
            return f"{name}, column {b['header']}: {why}"
    return ""


def _unlike_column(old: Json, new: Json) -> str:
    before, after = _unit(old), _unit(new)
    if (old["name"], old["kind"]) != (new["name"], new["kind"]) or (
        before is None and old["header"] != new["header"]
    ):
        return f"it was {old['header']} of kind {old['kind']}"
    if why := unlike_units(before, after):
        return why
    if old["kind"] == "text" and old["digest"] != new["digest"]:
        return "its texts differ, which no number of the reading carries"
    if old["kind"] != "number" or (after is not None and after.is_point):
        return ""
    ends = (old["low"], old["high"]), (new["low"], new["high"])
    signs = "have a sign that none of the old ones had"
    return f"values from {ends[1][0]:g} to {ends[1][1]:g} {signs}" if sign_lost(*ends) else ""


def _unit(column: Json) -> Unit | None:
    return None if column["unit"] is None else parse_unit(str(column["unit"]))


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
        _require_periods(move, index_set, inside)
    if not move.gaps and before != index_set:
        _check_clock(move, index_set)
    for name in move.changed_files:
        _follow_file(move, name)


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
        text = "the dates of the horizon and the first stamps of data files do not move together"
        move.refuse(f"{text} (now {files})", *dates)
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


def _require_periods(move: Move, index_set: Json, inside: list[Pair]) -> None:
    """Refuse another number of periods, as the text or the rows of the data files may ask for."""
    periods, length = int(index_set["periods"]), _step(index_set)
    counts = [p for p in inside if _counts(p[0], periods, length)]
    move.carried |= {p[0].number_span for p in counts}
    changed = [p for p in counts if p in move.changes]
    old, new = move.old_files, move.new_files
    rows = [f"{n} has {new[n]['rows']} rows" for n in old if old[n]["rows"] != new[n]["rows"]]
    if changed or rows:
        text = f"the reading is one of {periods} periods, and no rule makes it one of others"
        move.refuse(f"{text}{''.join(f'; {row}' for row in rows)}", *changed)


def _step(index_set: Json) -> float:
    """Return the length of a period in seconds; 0 where periods have no single one."""
    step = index_set.get("step")
    return parse_step(step)[0] if isinstance(step, str) else 0.0


def _counts(quantity: Quantity, periods: int, length: float) -> bool:
    """Whether a number says how many periods there are, or how long all of them take."""
    number, unit = float(quantity.exact), quantity.unit
    if quantity.kind in ("clock", "date", "label", "percent"):
        return False
    if unit is None:
        return not quantity.unit_text and number == periods
    same = unit.dimension == parse_unit("s").dimension and bool(length)
    return same and number * unit.scale / length == periods


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
