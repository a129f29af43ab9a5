"""From a problem on a radial feeder to its blueprint."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from engiagent.agents.offline.cards import load_card
from engiagent.agents.offline.draft import Draft
from engiagent.agents.offline.engine import Understanding, currency_of_text, open_draft
from engiagent.agents.offline.feeders.laws import laws_in
from engiagent.agents.offline.feeders.lines import Lines, lines_of
from engiagent.agents.offline.feeders.loads import NodeData, node_data
from engiagent.agents.offline.feeders.sheets import Sheet, sheets_of
from engiagent.agents.offline.goals import Goal, read_goal
from engiagent.agents.offline.phrases import TIME_FACTS, apply_rules, relined
from engiagent.agents.offline.plant.engine import Reader, owners_of
from engiagent.agents.offline.plant.spoken import spell_durations
from engiagent.agents.offline.plant.units import Instance, Plant, Unit, pattern_of, unit_of
from engiagent.agents.offline.results import Analysis, Missing, NotUnderstood
from engiagent.agents.offline.timing import Axis, read_axis
from engiagent.agents.offline.tokens import Token

if TYPE_CHECKING:
    from engiagent.problems.problem import Problem

_KINDS: Final = (
    (re.compile(r"[kM]?var/[kM]?W"), "reactive_ratio"),
    (re.compile(r"[kM]?var"), "reactive"),
    (re.compile(r"[kM]?VA"), "apparent"),
    (re.compile(r"[kM]?V"), "voltage"),
)
_PER_UNIT: Final = re.compile(r"pu|p\.u|per")
_COUNTED: Final = re.compile(
    r"<number#(?P<place>\d+)> (?P<what>nodes?|buse?s?|sections?|lines?)(?![a-z])"
)


@dataclass
class Scene:
    """What is known of a feeder before its sentences are read."""

    problem: "Problem"
    draft: Draft
    lines: Lines
    data: Sequence[NodeData]
    axis: Axis | None
    plant: Plant
    places: dict[str, str] = field(default_factory=dict)


@lru_cache(maxsize=1)
def units() -> Mapping[str, Unit]:
    """Return the units of feeders."""
    return {entry["component"]: unit_of(entry) for entry in load_card("feeder")["units"]}


def understand_feeder(problem: "Problem") -> Understanding | None:
    """Read a problem with a table of lines; None where there is none, or several."""
    currency = currency_of_text(problem)
    sheets = sheets_of(problem, currency)
    lines = lines_of(sheets)
    if lines is None:
        return None
    draft, _ = open_draft(problem, currency)
    draft.missing.clear()
    draft.not_understood.clear()
    draft.lines[:] = [relined(line, _rekinded(line.tokens)) for line in draft.lines]
    _take_laws(draft)
    apply_rules(draft, frozenset(TIME_FACTS))
    data = node_data(draft, [s for s in sheets if s != lines.sheet], lines, currency)
    _take_tables(draft, [lines.sheet, *(d.sheet for d in data)])
    _take_counts(draft, lines)
    stamped = [s.times for s in {id(d.sheet): d.sheet for d in data}.values() if s.times]
    axis = read_axis(draft, stamped, [])
    spell_durations(draft)
    goal = read_goal(draft)
    plant = _plant(draft, lines, data)
    reader = Reader(draft, plant, axis, goal=goal)
    reader.read_all()
    analysis = _analysis(
        Scene(problem, draft, lines, data, axis, plant), reader, goal, currency or "EUR"
    )
    return Understanding(analysis, draft, owners_of(plant), axis)


def _rekinded(tokens: Sequence[Token]) -> list[Token]:
    """Give amounts the kinds that only feeders have, as voltages, also those per unit."""
    result = []
    for k, token in enumerate(tokens):
        amount = token.amount
        if amount is not None:
            kind = next((kind for p, kind in _KINDS if p.fullmatch(amount.unit)), amount.kind)
            behind = [t.text for t in tokens[k + 1 : k + 4]]
            if kind == "number" and not amount.unit and _is_per_unit(behind):
                kind = "voltage_pu"
            token = replace(token, amount=replace(amount, kind=kind))
        elif token.kind == "list":
            pass
        result.append(token)
    return result


def _is_per_unit(behind: Sequence[str]) -> bool:
    """Whether 'pu' stands behind a number, or behind the other end of its range."""
    text = " ".join(behind)
    return re.match(r"(?:(?:and|to|-) [\d.]+ )?(?:pu|p u|per unit)(?: |$)", text) is not None


def _take_laws(draft: Draft) -> None:
    """Account for the laws of flow; what they say of losses is a fact."""
    from engiagent.agents.offline.draft import Fact

    for n, line in enumerate(draft.lines):
        if n in draft.table_lines or line.sentence.is_heading:
            continue
        for law in laws_in(draft.text, *line.sentence.span):
            covered = [
                i for i, t in enumerate(line.tokens)
                if law.span[0] <= t.span[0] and t.span[1] <= law.span[1]
            ]  # fmt: skip
            draft.take(n, covered)
            for i in covered:
                amount = line.tokens[i].amount
                if amount is not None:
                    draft.unused.append({"span": list(amount.span), "quote": amount.quote,
                                         "reason": "a factor of the law of flow"})  # fmt: skip
            if law.name in ("linear", "lossy"):
                draft.facts.append(Fact(f"{law.name}_flow", n, law.span, {}, ""))
            if law.falls:
                draft.facts.append(Fact("fall_of_voltage", n, law.span, {}, ""))


def _take_tables(draft: Draft, sheets: Sequence[Sheet]) -> None:
    """Account for the cells of tables that were read as a whole."""
    spans = [sheet.span for sheet in sheets if not sheet.file]
    for n in draft.table_lines:
        line = draft.lines[n]
        a, b = line.sentence.span
        if any(first <= a and b <= last for first, last in spans):
            draft.take(n, range(len(line.tokens)))


def _take_counts(draft: Draft, lines: Lines) -> None:
    """Account for the numbers of nodes and sections, where they are right."""
    sections = len(lines.pairs)
    for n, line in enumerate(draft.lines):
        for match in _COUNTED.finditer(line.line):
            i = int(match["place"])
            amount = line.tokens[i].amount
            right = (sections,) if match["what"][0] in "sl" else (sections, sections + 1)
            if amount is not None and amount.value in right:
                draft.take(n, [i])
                draft.unused.append({"span": list(amount.span), "quote": amount.quote,
                                     "reason": "counts what the table lists"})  # fmt: skip


def _plant(draft: Draft, lines: Lines, data: Sequence[NodeData]) -> Plant:
    """Return the units of a feeder: itself, its source, its loads, and what stands at its nodes."""
    known = units()
    concepts: dict[str, str] = dict(load_card("feeder")["concepts"])
    inner = [re.escape(n.lower()) for n in lines.nodes[1:]]
    concepts["place"] = "|".join(inner)
    text = [
        line.line for n, line in enumerate(draft.lines)
        if n not in draft.table_lines and not line.sentence.is_heading
    ]  # fmt: skip
    found = []
    for component, unit in known.items():
        pattern = pattern_of(unit.nouns)
        there = component in ("feeder", "source", "load", "node") or any(map(pattern.search, text))
        if not there:
            continue
        noun = re.escape(lines.source.lower()) if component == "source" else ""
        finder = pattern_of(f"{unit.nouns}|{noun}") if noun else pattern
        found.append(Instance(component, unit, finder, "", noun))
    return Plant(known, tuple(found), {}, {}, concepts)


def _analysis(scene: Scene, reader: Reader, goal: Goal | None, currency: str) -> Analysis:
    from engiagent.agents.offline.assembly import blueprint_of
    from engiagent.agents.offline.builder import Builder
    from engiagent.agents.offline.feeders.build import build

    draft = scene.draft
    for problem in scene.lines.problems:
        draft.not_understood.append(
            NotUnderstood("table of lines", scene.lines.sheet.span, problem)
        )
    blueprint: Any = None
    if scene.axis is None:
        draft.missing.append(
            Missing("time", "periods", "the time axis is not given: how many periods, how long?")
        )
    elif not scene.lines.problems:
        builder = Builder(scene.problem, draft, scene.axis)
        blueprint = blueprint_of(
            scene.problem, builder, lambda: build(scene, builder, reader, goal, currency),
            "radial feeder",
        )  # fmt: skip
    if goal is None:
        draft.missing.append(
            Missing("objective", "sense", "no objective is stated: what is to be small or large?")
        )
    return Analysis(
        blueprint, tuple(draft.missing), tuple(draft.not_understood), tuple(draft.ambiguous),
        tuple(draft.assumptions), tuple(draft.notes), tuple(draft.conflicts),
        tuple(draft.implausible),
    )  # fmt: skip
