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
from engiagent.agents.offline.feeders.loads import NodeData, feeder_words, node_data, prices_of
from engiagent.agents.offline.feeders.sheets import Sheet, sheets_of
from engiagent.agents.offline.goals import Goal, read_goal
from engiagent.agents.offline.phrases import TIME_FACTS, apply_rules, relined
from engiagent.agents.offline.plant.engine import Reader, owners_of
from engiagent.agents.offline.plant.language.leftover import (
    check_length,
    check_resolution,
    drop_false_starts,
    refuse_unknown,
)
from engiagent.agents.offline.plant.language.spoken import spell_durations
from engiagent.agents.offline.plant.language.words import NEUTRAL, THING, UNKNOWN, Vocabulary, mark
from engiagent.agents.offline.plant.units import Instance, Plant, Unit, pattern_of, unit_of
from engiagent.agents.offline.results import Analysis, NotUnderstood
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
_TELLING: Final = frozenset(
    {"@house", "member", "@load", "@pv", "@wind", "@node", "@source", "@feeder", "@genset",
     "place", "active",
     "reactive", "impedance", "price", "outof", "into", "may", "available", "each", "power",
     "overday", "demand", "limit", "energy", "electric", "production", "import", "export", "hold",
     "has", "nominal", "twoway", "peak", "most", "rated", "capacity"}
)  # fmt: skip
_FACTS: Final = (
    "linear_flow", "lossy_flow", "single_phase", "three_phase", "unity", "genset_unity",
    "load_unity", "no_export", "both_ways", "curtailable", "not_curtailable",
)  # fmt: skip
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
    prices: Mapping[str, tuple[Sheet, int]] = field(default_factory=dict)


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
    draft.lines[:] = [relined(line, _rekinded(draft.text, line.tokens)) for line in draft.lines]
    _take_laws(draft)
    apply_rules(draft, frozenset(TIME_FACTS))
    data = node_data(draft, [s for s in sheets if s != lines.sheet], lines, currency)
    used = [d.sheet for d in data]
    take_tables(draft, [lines.sheet, *used])
    described = [s for s in sheets if s == lines.sheet or s in used or prices_of(s, feeder_words())]
    take_descriptions(draft, described, feeder_words())
    _take_counts(draft, lines)
    series = [s for s in sheets if s.times and (prices_of(s, feeder_words()) or s in used)]
    stamped = [s.times for s in series if s.times]
    axis = read_axis(draft, stamped, [])
    drop_false_starts(draft, axis)
    spell_durations(draft)
    goal = read_goal(draft)
    plant = _plant(draft, lines, data)
    reader = Reader(draft, plant, axis, goal=goal)
    reader.read_all()
    refuse_unknown(reader, _FACTS)
    check_length(draft, axis)
    check_resolution(draft, axis)
    prices = {role: (s, c) for s in series for c, role in prices_of(s, feeder_words())}
    scene = Scene(problem, draft, lines, data, axis, plant, prices)
    analysis = _analysis(scene, reader, goal, currency or "EUR")
    return Understanding(analysis, draft, owners_of(plant), axis)


def _rekinded(text: str, tokens: Sequence[Token]) -> list[Token]:
    """Give amounts the kinds that only feeders have, as volts, also those per unit."""
    result: list[Token] = []
    k = 0
    while k < len(tokens):
        token, used = tokens[k], 1
        amount = token.amount
        if amount is not None:
            kind = next((kind for p, kind in _KINDS if p.fullmatch(amount.unit)), amount.kind)
            unit = amount.unit
            if kind == "number" and not unit:
                behind = [t.text for t in tokens[k + 1 : k + 3]]
                raw = text[slice(*tokens[k + 1].span)] if k + 1 < len(tokens) else ""
                if raw in ("V", "A"):
                    kind, unit, used = {"V": "voltage", "A": "current"}[raw], raw, 2
                elif behind[:1] == ["pu"] or behind in (["per", "unit"], ["p", "u"]):
                    kind, used = "voltage_pu", 1 + len(behind[: 1 if behind[0] == "pu" else 2])
            span = (amount.span[0], tokens[k + used - 1].span[1])
            amount = replace(amount, kind=kind, unit=unit)
            if used > 1:
                amount = replace(amount, span=span, quote=text[slice(*span)])
            token = replace(token, amount=amount)
        result.append(token)
        k += used
    return result


def take_descriptions(draft: Draft, sheets: Sequence[Sheet], words: Vocabulary) -> None:
    """Account for what only says what a file or a table holds: no limits, no conditions."""
    files = {sheet.file for sheet in sheets if sheet.file}
    starts = [sheet.span[0] for sheet in sheets if not sheet.file]
    for n, line in enumerate(draft.lines):
        if n in draft.table_lines or line.sentence.is_heading:
            continue
        codes = [i for i, t in enumerate(line.tokens) if t.kind == "code"]
        pieces = [
            (i, codes[k + 1] if k + 1 < len(codes) else len(line.tokens))
            for k, i in enumerate(codes) if line.tokens[i].text in files
        ]  # fmt: skip
        end = line.sentence.span[1]
        leads = any(s >= end and not draft.text[end:s].strip() for s in starts)
        if leads and draft.text[:end].rstrip().endswith(":"):
            cut = max((i for i, t in enumerate(line.tokens) if t.text == ";"), default=-1)
            pieces.append((cut + 1, len(line.tokens)))
        said = mark(line, words)
        for a, b in pieces:
            told = {said.concepts[i] for i in range(a, b) if line.tokens[i].text != "over"}
            told -= {NEUTRAL, THING}
            if told <= _TELLING or (told <= _TELLING | {UNKNOWN} and "may" not in told):
                draft.take(n, [i for i in range(a, b) if line.tokens[i].kind in ("word", "mark")])


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


def take_tables(draft: Draft, sheets: Sequence[Sheet]) -> None:
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
        draft.lacks_axis()
    elif not scene.lines.problems:
        builder = Builder(scene.problem, draft, scene.axis)
        blueprint = blueprint_of(
            scene.problem, builder, lambda: build(scene, builder, reader, goal, currency),
            "radial feeder",
        )  # fmt: skip
    if goal is None:
        draft.lacks_goal()
    return draft.analysis(blueprint)
