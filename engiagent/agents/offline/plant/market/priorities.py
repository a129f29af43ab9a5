"""Loads that are worth points: each is served or not, by the hour or in blocks of hours."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from engiagent.agents.offline.amounts import Amount, kind_of, number_of
from engiagent.agents.offline.draft import Blocks, Draft, Json
from engiagent.agents.offline.goals import Goal
from engiagent.agents.offline.grids import clean_unit
from engiagent.agents.offline.owners import identifier
from engiagent.agents.offline.tokens import Line, Period
from engiagent.blueprint.units import convert, parse_unit

if TYPE_CHECKING:
    from engiagent.agents.offline.plant.system import System
    from engiagent.agents.offline.timing import Axis
    from engiagent.problems.problem import Problem

_NAME: Final = (
    r"^(?:the |our |an? )?(?P<name>[a-z][a-z' -]*?)(?: ?[,:(-])*(?: needs| draws| takes| uses)?"
)
_WORTH: Final = (
    r"(?:(?:and )?(?:(?:is|it is|they are) )?(?:worth|brings|earns|scores|gives|counts) )?"
)
_EACH: Final = r"(?:per|for each|for every|an|each|every)"
_POINTS: Final = rf"<number#(?P<points>\d+)> points?(?: {_EACH} (?P<per>hour|block))?"
_WHEN: Final = (
    r"(?: ?[,;)]+)?(?: (?:but |and )?(?:(?P<not>not) <period_open#(?P<open>\d+)>"
    r"|(?P<only>only) <(?:period|period_open)#(?P<span>\d+)>))? ?[;,.]?$"
)
_ITEMS: Final = (
    re.compile(rf"{_NAME} (?:at )?<power#(?P<power>\d+)> ?[,;)]? ?{_WORTH}{_POINTS}{_WHEN}"),
    re.compile(
        rf"{_NAME} {_WORTH}{_POINTS} ?[,;)]? ?(?:for|at|with)? ?<power#(?P<power>\d+)>{_WHEN}"
    ),
)
_WHOLE: Final = re.compile(
    r"(?:(?:each|all|every one|they run|they are served|each runs|each is served)(?: of them)? )?"
    r"(?:(?:entirely|fully|wholly|completely|in full|as a whole) or not(?: at all)?|all or nothing"
    r"|(?:either )?(?:fully )?(?:on|served|supplied) or (?:off|not(?: at all)?))"
)
_PARTLY: Final = re.compile(
    r"(?:each |all )?(?:also )?(?:in part|partly|in any share|to any degree)"
)
_RUNS: Final = re.compile(
    r"(?:(?:is |are |be )?(?:switched|run|runs|served|supplied|decided)(?: only| on)? )?"
    r"(?:for|in (?:blocks|runs|spans|pieces) of) <duration#(?P<long>\d+)>(?: hours?)?"
    r"(?: in a row| at a time| on end| each)?"
    r"(?: ?\(? ?(?:starting |beginning )?(?:at )?(?P<list><(?:period_open|clock)#\d+>"
    r"(?: ?,? ?(?:and )?<clock#\d+>)*)(?: \))?)?"
)
_COUNT: Final = re.compile(
    r"<number#(?P<n>\d+)> (?:further |other |more |optional )?(?:loads|consumers|demands|uses)"
)
_LEAD_WORDS: Final = frozenset(
    {
        "after",
        "that",
        "them",
        "then",
        "come",
        "comes",
        "follow",
        "follows",
        "there",
        "are",
        "further",
        "other",
        "optional",
        "loads",
        "load",
        "consumers",
        "and",
        "the",
        "these",
        "with",
        "points",
    }
)
_ALL: Final = (
    r"(?:the )?(?:sum of (?:all )?(?:the )?|total(?: number)? of (?:the )?|total |number of )?"
)
_AS: Final = r"as (?:many|high|large|great|much)"
_POSSIBLE: Final = r"as (?:possible|it gets|they get|can be|we can)"
_GOAL: Final = re.compile(
    rf"(?:so that |such that )?{_ALL}points? (?:is|are|be|becomes?) {_AS} {_POSSIBLE}"
    rf"|maximi[sz](?:e|es|ing) {_ALL}points"
    rf"|(?:(?:collect|earn|get|score|reach) )?as many points {_POSSIBLE}"
    r"|(?:the )?(?:highest|largest|greatest) (?:number|sum|total) of points|the most points"
)
_HEAD: Final = re.compile(r"(?i)\b(?:points?|score|worth)\b")


@dataclass(frozen=True)
class Load:
    """A load with its power, its points and the times at which it must not, or may only, run."""

    name: str
    power: Amount
    points: Amount
    per: str
    line: int
    period: Period | None = None
    only: bool = False
    sources: tuple[Json, Json] | None = None


@dataclass(frozen=True)
class Priorities:
    """All loads that are worth points, in which blocks they run, and whether as a whole."""

    loads: tuple[Load, ...]
    blocks: Blocks | None
    whole: bool
    line: int


def take_priorities(
    draft: Draft, problem: "Problem", axis: "Axis | None"
) -> tuple[Priorities | None, Goal | None]:
    """Return the loads that are worth points, and the objective of many points.

    The words of their list, of what leads in it and of the objective are taken.
    """
    loads = _items(draft) or _tabled(draft, problem)
    goals = [(n, m) for n, line in enumerate(draft.lines)
             if not line.sentence.is_heading and n not in draft.table_lines
             and (m := _GOAL.search(line.line))]  # fmt: skip
    if not loads or len(goals) != 1 or axis is None:
        return None, None
    found = _led(draft, loads, axis)
    if found is None:
        return None, None
    n, match = goals[0]
    draft.take(n, list(draft.lines[n].covered(*match.span())))
    return found, Goal("points", n)


def _items(draft: Draft) -> list[Load]:
    """Return the loads of a list in the text."""
    loads = []
    for n, line in enumerate(draft.lines):
        match = next((m for p in _ITEMS if (m := p.search(line.line))), None)
        if match is None or not line.sentence.is_item:
            continue
        power, points = (line.tokens[int(match[key])].amount for key in ("power", "points"))
        assert power is not None
        assert points is not None
        place = match["open"] or match["span"]
        period = line.tokens[int(place)].period if place else None
        name = identifier(match["name"].strip())
        loads.append(Load(name, power, points, match["per"] or "", n, period, bool(match["only"])))
    return loads


def _tabled(draft: Draft, problem: "Problem") -> list[Load]:
    """Return the loads of a table with a column of powers and one of points."""
    for k, table in enumerate(problem.tables):
        heads = [cell.text for cell in table.header]
        units = [clean_unit(table.unit_texts[c] or "", None) for c in range(len(heads))]
        powers = [c for c, unit in enumerate(units) if unit and kind_of(unit) == "power"]
        points = [c for c, head in enumerate(heads) if c and _HEAD.search(head)]
        if len(heads) != 3 or len(powers) != 1 or len(points) != 1 or powers == points:
            continue
        per = re.search(r"(?:per|/|an|each) ?(hour|h|block)\b", heads[points[0]].lower())
        loads = []
        for r, row in enumerate(table.rows):
            made, sources = [], []
            for c, unit in ((powers[0], units[powers[0]]), (points[0], "")):
                cell = row[c]
                if not re.fullmatch(r"\d+(?:\.\d+)?", cell.text.strip()):
                    return []
                kind = kind_of(unit) if unit else "number"
                made.append(Amount(number_of(cell.text), unit, kind, cell.span, cell.text))
                sources.append({"kind": "table", "span": list(cell.span), "quote": cell.text,
                                "table": k, "row": r, "column": table.names[c]})  # fmt: skip
            name = identifier(row[0].text)
            said = {"h": "hour"}.get(per[1], per[1]) if per else ""
            loads.append(Load(name, made[0], made[1], said, -1, sources=(sources[0], sources[1])))
        a, b = table.span
        for n in draft.table_lines:
            if a <= draft.lines[n].sentence.span[0] < b:
                draft.take(n, range(len(draft.lines[n].tokens)))
        return loads
    return []


def _led(draft: Draft, loads: Sequence[Load], axis: "Axis") -> Priorities | None:
    """Read the sentence that leads in the loads; None where it says more than is understood."""
    leads = {draft.lines[x.line].sentence.lead for x in loads if x.line >= 0}
    for n, line in enumerate(draft.lines):
        text = line.sentence.text.rstrip()
        whole, partly = _WHOLE.search(line.line), _PARTLY.search(line.line)
        leading = not leads or (text.endswith(":") and any(x.endswith(text) for x in leads))
        if line.sentence.is_heading or not leading or (whole is None) is (partly is None):
            continue
        runs, counts = _RUNS.search(line.line), list(_COUNT.finditer(line.line))
        matches = [m for m in (whole, partly, runs, *counts) if m is not None]
        covered = {i for m in matches for i in line.covered(*m.span())}
        rest = [
            t for i, t in enumerate(line.tokens)
            if i not in covered and t.kind not in ("mark", "rest") and t.text not in _LEAD_WORDS
        ]  # fmt: skip
        numbers = [line.tokens[int(m["n"])].amount for m in counts]
        if rest or any(a is None or a.value != len(loads) for a in numbers):
            return None
        _unread(draft, loads, n)
        blocks = _blocks(line, runs, axis) if runs is not None else None
        if runs is not None and blocks is None:
            return None
        if len({load.name for load in loads}) != len(loads):
            return None
        for entry in (n, *(load.line for load in loads if load.line >= 0)):
            draft.take(entry, range(len(draft.lines[entry].tokens)))
        return Priorities(tuple(loads), blocks, whole is not None, n)
    return None


def _unread(draft: Draft, loads: Sequence[Load], lead: int) -> None:
    """Report sentences that name one of the loads beyond their list."""
    names = re.compile(
        rf"(?<![a-z-])(?:{'|'.join(x.name.replace('_', ' ') for x in loads)})(?![a-z-])"
    )
    known = {lead, *(load.line for load in loads)}
    for n, line in enumerate(draft.lines):
        other = n not in known and n not in draft.table_lines and not line.sentence.is_heading
        if other and names.search(line.line):
            draft.refuse(n, "what this says of a load is not understood")


def _blocks(line: Line, match: re.Match[str], axis: "Axis") -> Blocks | None:
    """Return the blocks of a length; the times at which they begin have to be those of all."""
    amount = line.tokens[int(match["long"])].amount
    assert amount is not None
    minutes = convert(amount.value, parse_unit(amount.unit or "h"), parse_unit("min"))
    count = axis.hours * 60 / minutes
    if abs(count - round(count)) > 1e-9 or (minutes / axis.step_minutes) % 1 > 1e-9:
        return None
    if match["list"]:
        places = [int(k) for k in re.findall(r"#(\d+)", match["list"])]
        clocks = [line.tokens[k].clock for k in places]
        begin = [(axis.start_clock + k * minutes / 60) % 24 for k in range(round(count))]
        if clocks != begin:
            return None
    return Blocks("B", axis.start, minutes, round(count), axis.zone)


def add_priorities(system: "System") -> None:
    """Add the loads, when they run and where they must not."""
    from engiagent.agents.offline.plant.times.timed import in_period

    found, builder = system.reader.priorities, system.builder
    if found is None:
        return
    units = {load.power.unit for load in found.loads}
    if len(units) != 1 or len({load.per for load in found.loads}) != 1:
        builder.draft.doubt(found.line, "powers or points in several units")
        return
    builder.sets.append(
        {"name": "loads", "kind": "labels", "elements": [load.name for load in found.loads]}
    )
    _column(system, "optional_power", units.pop(), [x.power for x in found.loads], 0)
    _column(system, "optional_points", "1", [x.points for x in found.loads], 1)
    over, at = "t in T", "t"
    if found.blocks is not None:
        builder.use_blocks(found.blocks)
        over, at = f"b in {found.blocks.name}", f"at(t, {found.blocks.name})"
    bounds: Json = {"type": "binary"} if found.whole else {
        "type": "continuous", "lower": 0, "upper": 1}  # fmt: skip
    builder.variables.append({
        "name": "optional_runs", "index": ["d in loads", over], **bounds, "unit": "1",
        "quantity": "load.runs", "role": "decision", "description": "1 while a load is served",
    })  # fmt: skip
    system.demand("electricity", f"sum(optional_power[d]*optional_runs[d, {at}] for d in loads)")
    for load in found.loads:
        if load.period is not None:
            text = f"optional_runs['{load.name}', {at}] <= 0"
            in_period(system, f"when {load.name} runs", text, load.period, load.line, load.only)


def _column(system: "System", name: str, unit: str, amounts: Sequence[Amount], k: int) -> None:
    """Add a parameter over the loads."""
    builder, found = system.builder, system.reader.priorities
    assert found is not None
    sources = [
        builder.draft.source(load.line, amount) if load.sources is None else load.sources[k]
        for load, amount in zip(found.loads, amounts, strict=True)
    ]
    values = {x.name: a.value for x, a in zip(found.loads, amounts, strict=True)}
    made = builder.parameter(name, unit, name.replace("_", " "), index=["loads"], value=values,
                             source_reference=sources)  # fmt: skip
    builder.indexed.discard(made)


def most_points(system: "System", goal: Goal) -> Json | None:
    """Return the objective of as many points as possible."""
    found, draft = system.reader.priorities, system.builder.draft
    if found is None or system.costs:
        draft.doubt(goal.line, "points are to be many, and there are costs")
        return None
    per = found.loads[0].per
    at = "t" if found.blocks is None else f"at(t, {found.blocks.name})"
    text = f"sum(optional_points[d]*optional_runs[d, {at}]*dt(t)/1[h] for d in loads for t in T)"
    if per != "hour":
        if found.blocks is None or per != "block":
            draft.doubt(found.line, "are points given for each hour, or for each block?")
        over = "t in T" if found.blocks is None else f"b in {found.blocks.name}"
        text = f"sum(optional_points[d]*optional_runs[d, {over[0]}] for d in loads for {over})"
    return {
        "name": "points", "sense": "maximize", "expression": text, "unit": "1",
        "source_reference": draft.quote(goal.line),
    }  # fmt: skip
