"""From a problem on an energy community to its blueprint."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from engiagent.agents.offline.cards import load_card
from engiagent.agents.offline.draft import Draft
from engiagent.agents.offline.engine import Understanding, currency_of_text, open_draft
from engiagent.agents.offline.feeders.analyse import take_descriptions, take_tables
from engiagent.agents.offline.feeders.loads import NodeData, wide
from engiagent.agents.offline.feeders.sheets import Sheet, sheets_of
from engiagent.agents.offline.goals import Goal, read_goal
from engiagent.agents.offline.phrases import TIME_FACTS, apply_rules
from engiagent.agents.offline.plant.engine import Reader, owners_of
from engiagent.agents.offline.plant.language.leftover import (
    check_length,
    check_resolution,
    drop_false_starts,
    refuse_unknown,
)
from engiagent.agents.offline.plant.language.spoken import spell_durations
from engiagent.agents.offline.plant.language.words import vocabulary
from engiagent.agents.offline.plant.units import (
    Instance,
    Plant,
    Says,
    Unit,
    catalogue,
    pattern_of,
    unit_of,
)
from engiagent.agents.offline.results import Analysis, NotUnderstood
from engiagent.agents.offline.timing import Axis, read_axis

if TYPE_CHECKING:
    from engiagent.problems.problem import Problem

_SHARED: Final = re.compile(
    r"(?i)\bneighbou?rs?\b|\b(?:each|one an)other\b|\benergy communit|\bpeers?\b"
)
_FACTS: Final = (
    "trade", "cancels", "common_good", "not_curtailable", "curtailable", "no_loss", "no_loss_in",
    "no_loss_out", "start_empty", "start_half", "start_full", "no_terminal", "exclusive",
    "final_at_least_initial", "final_equals_initial", "loss_begin", "loss_exact",
    "alike",
)  # fmt: skip
_HAVE: Final = r"(?:have|has|own|owns|with)"
_PANELS: Final = r"(?:solar )?(?:panels|pv|photovoltaics|roofs)(?: on (?:the|their) roofs?)?"


@dataclass
class Scene:
    """What is known of a community before its sentences are read."""

    problem: "Problem"
    draft: Draft
    members: tuple[str, ...]
    data: dict[str, NodeData]
    axis: Axis | None
    plant: Plant


@lru_cache(maxsize=1)
def units() -> dict[str, Unit]:
    """Return the units of communities; their battery is that of plants."""
    own = {entry["component"]: unit_of(entry) for entry in load_card("community")["units"]}
    battery = catalogue()["battery"]
    says = {name: Says(s.needs, s.may | {"member"}) for name, s in battery.says.items()}
    return {**own, "battery": replace(battery, says=says)}


def understand_community(problem: "Problem") -> Understanding | None:
    """Read a problem whose members have columns in several tables; None where there are none."""
    if _SHARED.search(problem.text[problem.body_start :]) is None:
        return None
    currency = currency_of_text(problem)
    sheets = sheets_of(problem, currency)
    members = _members(problem, sheets)
    if members is None:
        return None
    draft, _ = open_draft(problem, currency)
    apply_rules(draft, frozenset(TIME_FACTS))
    data = _data(draft, sheets, members, currency)
    used = [d.sheet for d in data.values()]
    take_tables(draft, used)
    take_descriptions(draft, [s for s in used if not s.file], _words(_concepts()))
    _take_members(draft, members, data)
    axis = read_axis(draft, [d.sheet.times for d in data.values() if d.sheet.times], [])
    drop_false_starts(draft, axis)
    spell_durations(draft)
    goal = read_goal(draft)
    plant = _plant(draft, members)
    reader = Reader(draft, plant, axis, goal=goal)
    reader.read_all()
    refuse_unknown(reader, _FACTS, ("growing",))
    check_length(draft, axis)
    check_resolution(draft, axis)
    analysis = _analysis(
        Scene(problem, draft, members, data, axis, plant), reader, goal, currency or "EUR"
    )
    return Understanding(analysis, draft, owners_of(plant), axis)


def _members(problem: "Problem", sheets: Sequence[Sheet]) -> tuple[str, ...] | None:
    """Return the names that are columns of two tables over time, and that the text names."""
    timed = [s for s in sheets if s.times is not None]
    heads = [
        [re.sub(r"\s*[(\[].*", "", h).strip() for c, h in enumerate(s.heads)
         if s.numbers(c) is not None]
        for s in timed
    ]  # fmt: skip
    if len(timed) < 2:
        return None
    widest = max(heads, key=len)
    body = problem.text[problem.body_start :]
    named = [h for h in widest if re.search(rf"\b{re.escape(h)}\b", body)]
    shared = sum(len(set(names) & set(widest)) >= 2 for names in heads)
    return tuple(widest) if shared >= 2 and len(named) >= len(widest) >= 2 else None


def _concepts() -> dict[str, str]:
    return dict(load_card("community")["concepts"])


def _words(concepts: dict[str, str]) -> Any:
    return vocabulary({name: unit.nouns for name, unit in units().items()}, concepts)


def _data(
    draft: Draft, sheets: Sequence[Sheet], members: Sequence[str], currency: str | None
) -> dict[str, NodeData]:
    """Return the tables of the members by what they hold; report those that are not clear."""
    words = _words(_concepts())
    found: dict[str, NodeData] = {}
    for sheet in sheets:
        read = wide(draft, sheet, members, words, currency)
        where = sheet.file or f"table {sheet.number + 1}"
        if isinstance(read, NodeData) and read.role in ("load", "pv") and read.role not in found:
            found[read.role] = read
            continue
        reason = read if isinstance(read, str) else "what it holds of the members is not clear"
        if sheet.file or sheet.times is not None or read is not None:
            draft.not_understood.append(NotUnderstood(where, sheet.span, reason))
    return found


def _take_members(draft: Draft, members: Sequence[str], data: dict[str, NodeData]) -> None:
    """Account for who has panels and how many members there are, where the tables agree."""
    made = data.get("pv")
    sunny = set()
    for name, place in zip(made.nodes, made.columns, strict=True) if made is not None else ():
        if any(value > 0 for value in made.sheet.numbers(place) or ()) if made else False:
            sunny.add(name.lower())
    names = "|".join(re.escape(m.lower()) for m in members)
    owns = re.compile(rf"<number#(?P<n>\d+)>(?: of (?:them|the [a-z]+))? {_HAVE} {_PANELS}")
    none = re.compile(rf"(?P<who>{names}) {_HAVE} (?:none|no {_PANELS})")
    some = re.compile(rf"(?P<who>{names}) {_HAVE} {_PANELS}")
    store = re.compile(rf"(?:and )?(?P<who>{names}) {_HAVE} (?:a|the only|one) battery(?! of)")
    all_of = re.compile(rf"(?:{names})(?: (?:, |and |, and )(?:{names})){{{len(members) - 1}}}")
    count = re.compile(
        r"<number#(?P<n>\d+)> (?:houses|homes|households|members|participants|flats|bills|farms"
        r"|neighbours|prosumers)"
    )
    for n, line in enumerate(draft.lines):
        if line.sentence.is_heading or n in draft.table_lines:
            continue
        for pattern, right in ((owns, len(sunny)), (count, len(members))):
            for match in pattern.finditer(line.line):
                amount = line.tokens[int(match["n"])].amount
                if amount is not None and amount.value == right:
                    number = [int(match["n"])] if pattern is count else None
                    draft.take(n, number or list(line.covered(*match.span())))
                    draft.unused.append({"span": list(amount.span), "quote": amount.quote,
                                         "reason": "counts what the tables hold"})  # fmt: skip
        for pattern, wanted in ((none, False), (some, True)):
            for match in pattern.finditer(line.line):
                if (match["who"] in sunny) is wanted:
                    draft.take(n, list(line.covered(*match.span())))
                else:
                    draft.doubt(n, f"what {match['who']} has is another matter in the tables")
        listed = (re.findall(names, m[0]) for m in all_of.finditer(line.line))
        everybody = any(sorted(found) == sorted(m.lower() for m in members) for found in listed)
        for match in (
            *store.finditer(line.line),
            *(all_of.finditer(line.line) if everybody else ()),
        ):
            draft.take(n, list(line.covered(*match.span())))


def _plant(draft: Draft, members: Sequence[str]) -> Plant:
    known = units()
    concepts = dict(load_card("community")["concepts"])
    concepts["member"] = "|".join(re.escape(m.lower()) for m in members)
    text = [
        line.line for n, line in enumerate(draft.lines)
        if n not in draft.table_lines and not line.sentence.is_heading
    ]  # fmt: skip
    found = []
    for component, unit in known.items():
        pattern = pattern_of(unit.nouns)
        if component in ("grid", "house", "load", "pv") or any(map(pattern.search, text)):
            found.append(Instance(component, unit, pattern))
    return Plant(known, tuple(found), {}, {}, concepts)


def _analysis(scene: Scene, reader: Reader, goal: Goal | None, currency: str) -> Analysis:
    from engiagent.agents.offline.assembly import blueprint_of
    from engiagent.agents.offline.builder import Builder
    from engiagent.agents.offline.communities.build import build

    draft = scene.draft
    blueprint: Any = None
    if scene.axis is None:
        draft.lacks_axis()
    else:
        builder = Builder(scene.problem, draft, scene.axis)
        blueprint = blueprint_of(
            scene.problem, builder, lambda: build(scene, builder, reader, goal, currency),
            "energy community",
        )  # fmt: skip
    if goal is None:
        draft.lacks_goal()
    return draft.analysis(blueprint)
