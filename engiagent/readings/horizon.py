"""What a changed date, number of hours or data file means for the one time set of a reading."""

import calendar
import json
import re
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from itertools import islice
from typing import Any, Final

import numpy as np

from engiagent.blueprint.timeaxis import parse_step, utc_offsets
from engiagent.readings.alignment import sentence_at, unlike
from engiagent.readings.moving import Json, Move, Pair, flat, is_number
from engiagent.readings.reading import Gap
from engiagent.text.parts import Quantity
from engiagent.units.unit import parse_unit
from engiagent.verify.levels.sources import all_leaves

_WEEKDAY: Final = re.compile(r"(?i)\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b")
_SPAN: Final = re.compile(
    r"(?i)\b(?:(?:to|mid)?(?:day|night)|week|weekend|month|season|year)s?\b(?!-ahead)"
)
_DAY: Final = 86400.0


def move_horizon(move: Move, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    """Let the time set and what is read from files follow a text and its data files.

    Parameters
    ----------
    old, new
        The shapes of the data files that the stored reading was made with, and of those there are.
    """
    if set(old) != set(new):
        move.refuse(f"the data files were {sorted(old) or 'none'}, they are {sorted(new)}")
        return
    faults = [why for name in old if (why := unlike(name, old[name], new[name]))]
    for why in faults:
        move.refuse(why)
    times = [item for item in move.core.get("sets", []) if item["kind"] == "time"]
    if faults or len(times) != 1:
        if not faults and _differ(old, new):
            move.refuse("a data file differs, and the reading has not exactly one time set")
        return
    index_set = times[0]
    inside = move.pairs_in(*all_leaves(index_set.get("source_reference")))
    before = (str(index_set["start"]), int(index_set["periods"]))
    days = _days(move, index_set, inside)
    if not move.gaps:
        _move_stamps(move, index_set, inside, days, old, new)
    if not move.gaps:
        _move_periods(move, index_set, inside, old, new)
    if not move.gaps and before != (str(index_set["start"]), int(index_set["periods"])):
        _check_clock(move, index_set)
    for name in old:
        if old[name]["sha256"] != new[name]["sha256"]:
            _follow_file(move, name, old[name], new[name])


def _differ(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    return any(old[name]["sha256"] != new[name]["sha256"] for name in old)


# --- the first day -----------------------------------------------------------------------------


def _days(move: Move, index_set: Json, inside: list[Pair]) -> int:
    """Return by how many days the dates of the text moved; the set's start moves with them."""
    dates = [p for p in inside if p[0].kind == "date"]
    move.carried |= {p[0].number_span for p in dates}
    changed = [p for p in dates if p in move.changes]
    if not changed:
        return 0
    deltas = {_delta(p) for p in dates}
    start = str(index_set["start"])
    known = any(p[0].date == start[:10] for p in dates)
    if None in deltas or len(deltas) != 1 or not known:
        move.refuse("not all dates of the horizon moved by the same number of days", *dates)
        return 0
    days = deltas.pop() or 0
    body = move.alignment.new.text[move.alignment.new.body_start :]
    if days % 7 and _WEEKDAY.search(body):
        move.refuse("the date falls on another day of the week than before", *changed)
    first = date.fromisoformat(start[:10])
    moved = (first + timedelta(days)).isoformat()
    words = _without(body, move, changed)
    if moved[5:7] != start[5:7] and calendar.month_name[first.month].lower() in words.lower():
        move.refuse(f"the text still speaks of {calendar.month_name[first.month]}", *changed)
    elsewhere = json.dumps(
        [
            {
                k: v
                for k, v in item.items()
                if k not in ("source_reference", "start", "name", "description")
            }
            for key in ("sets", "parameters")
            for item in move.core.get(key, [])
        ]
    )
    if start[:10] in elsewhere or start[:10] in json.dumps(move.core.get("constraints", [])):
        move.refuse("the reading names the old date in a place of its own", *changed)
    index_set["start"] = moved + start[10:]
    move.moved |= {p[0].number_span for p in changed}
    return days


def _delta(pair: Pair) -> int | None:
    try:
        a, b = (date.fromisoformat(q.date or "") for q in pair)
    except ValueError:
        return None  # a day without its year
    return (b - a).days


def _without(body: str, move: Move, changed: list[Pair]) -> str:
    start = move.alignment.new.body_start
    kept = list(body)
    for _, new in changed:
        for place in range(new.span[0] - start, new.span[1] - start):
            kept[place] = " "
    return "".join(kept)


def _move_stamps(
    move: Move,
    index_set: Json,
    inside: list[Pair],
    days: int,
    old: Mapping[str, Any],
    new: Mapping[str, Any],
) -> None:
    """Hold the first stamps of the files against the text; lead the start where it has no date."""
    shifts = {
        name: _seconds(new[name]["first"]) - _seconds(old[name]["first"])
        for name in old
        if old[name]["first"] is not None
    }
    wrong = [name for name, shift in shifts.items() if shift != days * _DAY]
    if not wrong:
        return
    dates = [p for p in inside if p[0].kind == "date"]
    start = str(index_set["start"])
    leads = all(old[name]["first"] == start[:16] for name in shifts)
    same = len(set(shifts.values())) == 1 and shifts[wrong[0]] % _DAY == 0
    body = move.alignment.new.text[move.alignment.new.body_start :]
    if dates or not (leads and same) or _WEEKDAY.search(body):
        move.refuse(
            f"the time stamps of {wrong[0]} begin at {new[wrong[0]]['first']}, which the "
            "dates and weekdays of the text do not follow",
            *dates,
        )
        return
    index_set["start"] = str(new[wrong[0]]["first"])[:10] + start[10:]


def _seconds(stamp: str) -> float:
    return (datetime.fromisoformat(stamp) - datetime(1970, 1, 1)).total_seconds()


# --- the number of periods ---------------------------------------------------------------------


def _move_periods(
    move: Move, index_set: Json, inside: list[Pair], old: Mapping[str, Any], new: Mapping[str, Any]
) -> None:
    periods, length = int(index_set["periods"]), _step(index_set)
    counts = [p for p in inside if _counts(p[0], periods, length)]
    move.carried |= {p[0].number_span for p in counts}
    wanted = {_periods(p[1], length) for p in counts}
    if len(wanted) > 1 or None in wanted or any(w is not None and w % 1 for w in wanted):
        move.refuse("the number of periods is stated more than once, and not alike", *counts)
        return
    rows = {
        (old[n]["rows"], new[n]["rows"]) for n in old if old[n]["rows"] in (periods, periods + 1)
    }
    fixed = [
        n
        for n in old
        if old[n]["rows"] != new[n]["rows"] and old[n]["rows"] not in (periods, periods + 1)
    ]
    if fixed:
        move.refuse(f"{fixed[0]} has {new[fixed[0]]['rows']} rows, it had {old[fixed[0]]['rows']}")
        return
    by_rows = {after - (before - periods) for before, after in rows}
    found = {int(w) for w in wanted if w is not None} or by_rows or {periods}
    if len(found) != 1 or (by_rows and by_rows != found):
        has = ", ".join(f"{n}: {new[n]['rows']} rows" for n in new)
        move.refuse(f"text and data files differ about the number of periods ({has})", *counts)
        return
    count = found.pop()
    if count == periods:
        return
    others = [
        p for p in move.alignment.numbers if _counts(p[0], periods, length) and p not in counts
    ]
    if others:
        move.refuse(f"the text speaks of {periods} periods in another place, too", *others)
    ends = [p for p in move.alignment.numbers if _is_end(p[0], index_set)]
    if ends:
        move.refuse("the text names the time at which the old horizon ended", *ends)
    body, start = move.alignment.new.text, move.alignment.new.body_start
    for match in islice(_SPAN.finditer(body, start), 1):
        words = sentence_at(move.alignment.new, match.start())
        move.gaps.append(
            Gap((words,), f"{count} periods for {periods}, and the text speaks of a {match[0]}")
        )
    if count < 1:
        move.refuse("there is no period left", *counts)
    if _hand_listed(move, index_set):
        move.refuse(f"values or elements are listed for {periods} periods", *counts)
    index_set["periods"] = count
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
    if quantity.kind in ("clock", "date", "label", "percent"):
        return False
    found = _periods(quantity, length)
    return found is not None and found == periods


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
    listed = [s for s in move.core.get("sets", []) if s.get("of") in along and "elements" in s]
    values = [
        p
        for p in move.core.get("parameters", [])
        if along & set(re.findall(r"\w+", " ".join(p.get("index") or ())))
        and isinstance(p.get("value"), list | dict)
    ]
    return bool(listed or values)


def _check_clock(move: Move, index_set: Json) -> None:
    """Refuse a horizon on which clocks change: its hours and its days are not of one length."""
    zone, start = index_set.get("zone"), str(index_set["start"])
    if zone is None or "T" not in start:
        return
    first = _seconds(start[:16])
    last = first + _step(index_set) * int(index_set["periods"])
    offsets = utc_offsets(np.arange(first - _DAY / 2, last + _DAY / 2, 3600.0), str(zone))
    if len(set(offsets.tolist())) > 1:
        move.refuse(f"clocks change in {zone} within a day of the new horizon")


# --- columns -----------------------------------------------------------------------------------


def _follow_file(move: Move, name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    """Let references to columns follow their headers; refuse what was copied from the file."""
    headers = {a["header"]: b for a, b in zip(old["columns"], new["columns"], strict=True)}
    for item in [*move.core.get("parameters", []), *move.core.get("sets", [])]:
        file, _, header = str(item.get("data") or "").partition("#")
        listed = item.get("value") is not None or item.get("elements") is not None
        leaves = all_leaves(item.get("source_reference"))
        if listed and any(
            leaf.kind == "file" and leaf.fields.get("file") == name for leaf in leaves
        ):
            move.refuse(f"{item['name']} is written out as {name} had it")
        time_subset = item.get("kind") == "subset" and "elements" in item
        if time_subset and not leaves:
            move.refuse(f"{item['name']} lists its elements, which may rest on {name}")
        if file != name or header not in headers or headers[header]["header"] == header:
            continue
        if item.get("unit_override") is not None:
            move.refuse(f"{item['name']} is read in a unit that the header of {name} did not have")
        item["data"] = f"{name}#{headers[header]['header']}"
        move.changed_parameters.add(str(item["name"]))
        _rename(item.get("source_reference"), name, header, headers[header]["header"])


def _rename(part: Any, file: str, old: str, new: str) -> None:
    for item in part if isinstance(part, list) else [part]:
        if isinstance(item, dict):
            if item.get("file") == file and item.get("column") == old:
                item["column"] = new
            _rename(item.get("of") or [], file, old, new)


# --- the order of amounts ----------------------------------------------------------------------


def check_order(move: Move, document: Json, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    """Refuse where one amount of a kind passes another that the reading may rest on.

    A reading that leaves something out because one price is above another is right only as long
    as it is. Prices are compared always, other amounts where the reading makes assumptions.
    """
    extended = document.get("extended_analysis_and_robustness") or {}
    assumes = bool(extended.get("key_assumptions"))
    before, after = _ranges(document, old), _ranges(move.document, new)
    names = [name for name in before if name in after]
    for k, one in enumerate(names):
        for two in names[k + 1 :]:
            (a, dimension), (b, other) = before[one], before[two]
            money = any(len(base) == 3 and base.isupper() for base, _ in dimension)
            if dimension != other or not (money or assumes):
                continue
            was, is_now = _order(a, b), _order(after[one][0], after[two][0])
            if was not in (is_now, "crossing", "equal") or (was == "equal" != is_now and money):
                changed = [p for p in move.changes if p[0].number_span in move.moved]
                move.refuse(
                    f"{one} was {was} {two}, on which a reading may rest, and is no more", *changed
                )
                return


def _ranges(
    document: Json, shapes: Mapping[str, Any]
) -> dict[str, tuple[tuple[float, float], Any]]:
    """Return the least and the largest value of every parameter that is a number, in SI."""
    found = {}
    for item in document["core_model_elements"].get("parameters", []):
        if isinstance(item.get("unit"), dict):
            continue
        unit = parse_unit(str(item.get("unit") or "1"))
        values = _values(item, shapes)
        if values is not None:
            if values[1] is not None:
                unit = parse_unit(values[1])
            ends = (unit.to_si(min(values[0])), unit.to_si(max(values[0])))
            found[str(item["name"])] = (ends, unit.dimension)
    return found


def _values(item: Json, shapes: Mapping[str, Any]) -> tuple[list[float], str | None] | None:
    values = list(flat(item.get("value")))
    if values and all(is_number(v) for v in values):
        return [float(v) for v in values], None
    file, _, header = str(item.get("data") or "").partition("#")
    for column in shapes.get(file, {}).get("columns", []):
        if column["header"] == header and column["kind"] == "number":
            return [column["low"], column["high"]], column["unit"]
    return None


def _order(a: tuple[float, float], b: tuple[float, float]) -> str:
    if a == b and a[0] == a[1]:
        return "equal"
    return "below" if a[1] < b[0] else "above" if a[0] > b[1] else "crossing"
