"""Sources that can only be turned down in steps: '100 %, 60 %, 30 % or 0 % of what the sun offers'.

A step holds for a whole period; a change of the step may cost money, and then the step before the
first period has to be known.
"""

import re
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from engiagent.agents.offline.amounts import Amount
from engiagent.agents.offline.draft import Draft, Value, amount_value
from engiagent.agents.offline.plant.language.words import (
    NEUTRAL,
    THING,
    UNKNOWN,
    Marked,
    mark,
    vocabulary,
)
from engiagent.agents.offline.plant.system import LOGIC, System
from engiagent.agents.offline.plant.units import Plant, nouns
from engiagent.agents.offline.storage import constrain
from engiagent.agents.offline.timing import Axis
from engiagent.agents.offline.tokens import Line
from engiagent.blueprint.units import convert, parse_unit

_STEP: Final = r"(?:steps?|levels?|stages?|settings?|notch(?:es)?)"
_TURNED: Final = re.compile(
    rf"(?:turned|throttled|curtailed|reduced|dimmed|cut|limited|set|run|operated|switched)(?: back|"
    rf" down)?(?: only)? (?:in|to|at|by)(?: only)? (?:the |one of )?(?:the )?"
    r"(?P<count><number#\d+> )?"
    rf"(?:[a-z-]+ ){{0,2}}{_STEP}(?![a-z])"
)
_HELD: Final = re.compile(
    rf",? ?(?:and )?(?:one|the same|a single) {_STEP}(?: holds| is kept| applies)? "
    r"(?:for|per|in|during|throughout) (?:the |a |each |every |an )(?:whole )?"
    r"(?P<what>quarter hour|half hour|quarter of an hour|hour)(?![a-z])"
)
_OFFERED: Final = re.compile(
    r"of (?:what (?:the (?:sun|wind|weather|sky) (?:offers|gives|allows)|is available"
    r"|it could give)"
    r"|(?:the|its) (?:available|possible|potential) (?:power|output|production|infeed))"
)
_CHANGE: Final = re.compile(
    rf"(?:each|every|a|any) (?:change|switch)(?: of (?:the |its )?{_STEP})?"
    r"(?: (?:from (?:one|an) (?:hour|period|step) to the next|between (?:two|one) hours?))?"
    rf" (?:costs|is charged at|wears off) <money#(?P<cost>\d+)>"
    rf"|<money#(?P<cost2>\d+)> (?:for|per) (?:each |every |a )?change of (?:the |its )?{_STEP}"
)
_IT: Final = (
    r"(?:the (?:[a-z-]+ )?(?:farm|plant|park|roof|field|array|system|source)|it) "
    r"(?:is|stands|was|runs|ran|stood) at <percent#"
)
_AT_START: Final = (
    r"(?:before (?:that|the (?:first|day))(?: hour| begins| starts)?|at the (?:start|beginning))"
)
_BEFORE: Final = re.compile(
    rf"{_IT}(?P<level>\d+)> (?:<period_open#(?P<when>\d+)>|{_AT_START})"
    rf"|(?:<period_open#(?P<when2>\d+)>|{_AT_START}) ,? ?{_IT}(?P<level2>\d+)>"
)
_BOTH_WAYS: Final = re.compile(
    r"(?:and )?(?:going|turning|stepping) (?:back )?up (?:is a change|counts)(?: too"
    r"| as well| also)?|(?:and )?(?:up or down|upwards or downwards|in either direction"
    r"|either way|both ways)"
)
_LIKED: Final = frozenset({"may", "only", "swoff", "curtail", "power", "outof", "available",
                           "orterm", "@pv", "@wind", "most", "wear", "must"})  # fmt: skip
_OF_ANOTHER: Final = frozenset(
    {"rated", "nominal", "rating", "nameplate", "installed", "peak", "capacity", "reduction",
     "less", "day", "days", "week", "shift", "morning", "afternoon", "evening", "night", "month"}
)  # fmt: skip
_PLAIN: Final = frozenset(
    {"receiver", "receivers", "ripple-control", "remote", "control", "signal", "near", "classic",
     "classical", "whole", "farm", "park", "inverter", "inverters", "sun", "wind", "operator's",
     "network's", "steps", "step", "levels", "level", "stages", "stage", "settings", "setting",
     "choose", "switching"}
)  # fmt: skip


@dataclass(frozen=True)
class Steps:
    """The steps of a source.

    Attributes
    ----------
    levels
        Shares of what is available, each with its source.
    line, change_line
        Where the steps, and the cost of a change, are stated.
    change, before
        The cost of a change, and the place of the step before the first period; None where there
        is none.
    rated
        A rated power that stands beside the steps.
    """

    levels: tuple[Value, ...]
    line: int
    change: Value | None = None
    change_line: int = -1
    before: int | None = None
    rated: Value | None = None


def take_steps(draft: Draft, plant: Plant, axis: Axis | None) -> Steps | None:
    """Take the sentences on the steps of the one source of sun or wind; None for none."""
    sources = [i for i in plant.instances if i.unit.component in ("pv", "wind")]
    if len(sources) != 1 or axis is None:
        return None
    words = vocabulary(nouns(plant), plant.concepts)
    found: Steps | None = None
    for n, line in enumerate(draft.lines):
        if line.sentence.is_heading or n in draft.table_lines:
            continue
        read = _levels(draft, n, mark(line, words), axis)
        if read is not None:
            if found is not None:
                draft.doubt(n, "steps are stated twice")
            found = read
    if found is None:
        return None
    for n, line in enumerate(draft.lines):
        if not line.sentence.is_heading and n not in draft.table_lines and n != found.line:
            found = _change(draft, n, mark(line, words), axis, found)
    return found


def _levels(draft: Draft, n: int, marked: Marked, axis: Axis) -> Steps | None:
    line = marked.line
    turned = _TURNED.search(line.line)
    shares = _shares(line)
    if turned is None or len(shares[1]) < 2:
        return None
    covered = {*line.covered(*turned.span()), *shares[0]}
    count = turned["count"]
    if count is not None:
        amount = line.tokens[int(re.sub(r"\D", "", count))].amount
        if amount is None or amount.value != len(shares[1]):
            return None
    held = _HELD.search(line.line)
    if held is not None:
        minutes = {"hour": 60.0, "half hour": 30.0}.get(held["what"], 15.0)
        if minutes != axis.step_minutes:
            return None
        covered |= set(line.covered(*held.span()))
    offered = _OFFERED.search(line.line)
    covered |= set(line.covered(*offered.span())) if offered is not None else set()
    powers = [i for i, t in enumerate(line.tokens) if t.amount and t.amount.kind == "power"]
    set_to = re.match(r"set|run|operated", turned[0]) is not None
    if (offered is None and not set_to) or _of_something_else(line, covered):
        return None
    if len(powers) > 1 or not _harmless(marked, covered | set(powers)):
        return None
    draft.take(n, range(len(line.tokens)))
    rated = line.tokens[powers[0]].amount if powers else None
    levels = tuple(amount_value(a, draft.source(n, a)) for a in shares[1])
    beside = None if rated is None else amount_value(rated, draft.source(n, rated))
    return Steps(levels, n, rated=beside)


def _of_something_else(line: Line, covered: set[int]) -> bool:
    """Whether shares are of a rated power, or say by how much the power is reduced."""
    rest = {t.text for i, t in enumerate(line.tokens) if i not in covered}
    by = re.search(r"(?:by|of|reductions?) (?:<list_percent|<percent)", line.line) is not None
    return by or bool(rest & _OF_ANOTHER)


def _shares(line: Line) -> tuple[list[int], list[Amount]]:
    """Return the percentages of a line and the tokens from the first to the last of them."""
    places = [
        i for i, t in enumerate(line.tokens)
        if (t.amount is not None and t.amount.kind == "percent")
        or (t.kind == "list" and t.amounts[0].kind == "percent")
    ]  # fmt: skip
    if not places:
        return [], []
    inside = list(range(places[0], places[-1] + 1))
    joined = all(i in places or line.tokens[i].text in (",", "or", "and", "/") for i in inside)
    amounts: list[Amount] = []
    for i in places:
        token = line.tokens[i]
        amounts += token.amounts or ([token.amount] if token.amount is not None else [])
    values = [a.value for a in amounts]
    fine = joined and len(set(values)) == len(values) and all(0 <= v <= 100 for v in values)
    return (inside, amounts) if fine else ([], [])


def _harmless(marked: Marked, covered: set[int]) -> bool:
    """Whether what is left of a sentence only describes: no number, no limit, no strange word."""
    tokens = marked.line.tokens
    colon = next((i for i, t in enumerate(tokens) if t.text == ":" and t.kind == "mark"), 0)
    for i, concept in enumerate(marked.concepts):
        if i in covered or concept == NEUTRAL or concept in _LIKED:
            continue
        heading = i < colon and not any(t.amount for t in tokens[:colon])
        if concept == UNKNOWN and (heading or tokens[i].text in _PLAIN):
            continue
        if concept == THING or tokens[i].text not in _PLAIN:
            return False
    return True


def _change(draft: Draft, n: int, marked: Marked, axis: Axis, steps: Steps) -> Steps:
    """Add what a change of the step costs, and the step before the first period."""
    line = marked.line
    change, before = _CHANGE.search(line.line), _BEFORE.search(line.line)
    if change is None and before is None:
        return steps
    covered: set[int] = set()
    ways = _BOTH_WAYS.search(line.line)
    for match in (change, before, ways):
        covered |= set(line.covered(*match.span())) if match is not None else set()
    place, stated = _first_step(line, before, axis, steps)
    amount = None if change is None else line.tokens[int(change["cost"] or change["cost2"])].amount
    twice = (amount and steps.change) or (before is not None and steps.before is not None)
    if twice or (before is not None and place is None) or not _harmless(marked, covered):
        return steps
    draft.take(n, range(len(line.tokens)))
    if stated is not None:
        draft.unused.append({"span": list(stated.span), "quote": stated.quote,
                             "reason": "names the step before the first period"})  # fmt: skip
        steps = replace(steps, before=place)
    if amount is None:
        return steps
    return replace(steps, change=amount_value(amount, draft.source(n, amount)), change_line=n)


def _first_step(
    line: Line, before: re.Match[str] | None, axis: Axis, steps: Steps
) -> tuple[int | None, Amount | None]:
    """Return which step holds before the first period, and the number that says so."""
    if before is None:
        return None, None
    stated = line.tokens[int(before["level"] or before["level2"])].amount
    values = [level.number for level in steps.levels]
    place = values.index(stated.value) if stated and stated.value in values else None
    when = before["when"] or before["when2"]
    clock = line.tokens[int(when)] if when else None
    if clock is not None and (
        clock.clock != axis.start_clock or not clock.text.lower().startswith("before")
    ):
        return None, stated
    return place, stated


def add_steps(system: System) -> None:
    """Add the choice of a step for every period, and what its changes cost."""
    steps = system.reader.steps
    if steps is None:
        return
    builder, draft = system.builder, system.builder.draft
    for line in system.reader.facts.get("not_curtailable", []):
        draft.doubt(line, "what must not be turned down can be turned down in steps")
    source = next(i for i in system.reader.plant.instances if i.unit.component in ("pv", "wind"))
    name = source.name
    available = system.filled[name]["available_power"]
    labels = [f"{level.number:g} %" for level in steps.levels]
    builder.sets.append({"name": "Steps", "kind": "labels", "elements": labels,
                         "source_reference": draft.quote(steps.line)})  # fmt: skip
    share = builder.parameter(
        "step_share", "%", "share of what is available", index=["Steps"],
        value={k: v.number for k, v in zip(labels, steps.levels, strict=True)},
        source_reference=[level.source for level in steps.levels],
    )  # fmt: skip
    builder.variables.append({
        "name": "at_step", "index": ["s in Steps", "t in T"], "type": "binary", "unit": "1",
        "quantity": f"{name}.step", "role": "decision", "description": "1 at the step in use",
    })  # fmt: skip
    system.row("one step in each period", "sum(at_step[s, t] for s in Steps) == 1", LOGIC,
               steps.line)  # fmt: skip
    text = (
        f"{name}_power[t] == {builder.at(available)}*sum({share}[s]*at_step[s, t] for s in Steps)"
    )
    system.row("power at the step", text, LOGIC, steps.line)
    _rated(system, steps, available)
    _spelled_out(system, steps)
    if steps.change is not None:
        _changes(system, steps, name, labels)


def _rated(system: System, steps: Steps, available: str) -> None:
    """Hold a rated power against what is available at the most: it must not limit anything."""
    if steps.rated is None or steps.rated.number is None:
        return
    builder = system.builder
    builder.used.append(steps.rated.source)
    rated = convert(steps.rated.number, parse_unit(steps.rated.unit), parse_unit("kW"))
    numbers = builder.numbers.get(available)
    if numbers is None or not bool(np.all(numbers <= rated * (1 + 1e-9))):
        builder.draft.doubt(steps.line, "more is available than the rated power")
    span = steps.rated.source["span"]
    quote = builder.draft.text[span[0] : span[1]]
    reason = "the rated power; what is available stays below it"
    builder.draft.unused.append({"span": span, "quote": quote, "reason": reason})


def _spelled_out(system: System, steps: Steps) -> None:
    """Hold 'revenue less switching' against the costs that are given."""
    goal = system.reader.goal
    if goal is None:
        return
    said = mark(system.builder.draft.lines[goal.line], system.reader.words).said()
    listed = "less" in said and not said & {"price", "fuelcost"}
    if "switchcost" in said and steps.change is None:
        system.builder.draft.doubt(goal.line, "what switching costs is not given")
    if listed and "switchcost" not in said and steps.change is not None:
        system.builder.draft.doubt(goal.line, "the objective leaves out what a change costs")


def _changes(system: System, steps: Steps, name: str, labels: list[str]) -> None:
    builder = system.builder
    assert steps.change is not None
    if steps.before is None:
        builder.draft.doubt(steps.change_line, "at which step is it before the first period?")
    cost = builder.value("step_change_cost", steps.change, "cost of a change of the step")
    builder.variables.append({
        "name": "changed", "index": ["t in T"], "type": "continuous", "lower": 0, "upper": 1,
        "unit": "1", "quantity": f"{name}.changed", "role": "auxiliary",
        "description": "1 where the step differs from that before",
    })  # fmt: skip
    first = labels[steps.before or 0]
    text = f"changed[t] >= at_step[s, t] - prev(at_step[s, t], 1 if s == '{first}' else 0)"
    constrain(builder, "change of the step", text, LOGIC, steps.change_line,
              ["s in Steps", "t in T"])  # fmt: skip
    system.costs.append(("+", f"sum({cost}*changed[t] for t in T)"))
