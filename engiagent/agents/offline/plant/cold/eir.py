"""Chillers by the curves of EnergyPlus: capacity, COP, and what their power does at part load.

Power is the reference capacity over the reference COP, times a modifier of temperature, times a
polynomial of the part load ratio (Chiller:Electric:EIR in the EnergyPlus Engineering Reference).
The coefficients of part load stand in a table; the modifier of temperature is a straight line in
the temperature of the entering condenser water, or is not spoken of.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from engiagent.agents.offline.draft import Draft, Fact, Reading, Value, amount_value
from engiagent.agents.offline.plant.units import Instance, Plant
from engiagent.agents.offline.tokens import Line

_RATED: Final = r"(?:reference|rated|nominal|design)"
_LABELS: Final = {
    "capacity": re.compile(rf"{_RATED} (?:cooling )?capacity"),
    "cop": re.compile(rf"{_RATED} (?:cop|coefficient of performance)"),
    "least": re.compile(r"(?:least|minimum|lowest|min) (?:part load(?: ratio)?|plr)"),
}
_PART_LOAD: Final = re.compile(
    r"(?:(?:eir|energy input ratio|power|modifier) )?(?:by|of|for|at|over)? ?(?:part load(?:"
    r" ratio)?"
    r"|plr)(?: (?:curve|modifier))? (?P<term>[a-z ]+)"
)
_TERMS: Final = {
    "constant": 0, "intercept": 0, "linear": 1, "linear term": 1, "square": 2, "squared": 2,
    "quadratic": 2, "square term": 2, "quadratic term": 2, "constant term": 0,
}  # fmt: skip
_KIND: Final = r"(?:modifier|factor|curve|correction)"
_BY: Final = r"(?: (?:of|for|by|in|with))?(?: the)?"
_POWER: Final = re.compile(
    r"(?:the |its |their )?(?:electric(?:al)? )?(?:power|input)(?: of (?:a|an|each|the) chiller)?"
    rf" (?:is|equals) (?:the |its )?(?:{_RATED} )?(?:cooling )?capacity (?:over|divided by|/)"
    rf" (?:the |its )?(?:{_RATED} )?cop(?P<factors>(?: ,)?(?: and)? times (?:the |its |an?"
    rf" )?(?:eir )?"
    rf"{_KIND}{_BY} (?:temperature|part load)(?: \( ?[^()]* ?\))?){{1,2}}"
)
_SUM: Final = re.compile(
    r"\( ?constant \+ linear (?:times |x )?plr \+ (?:square|quadratic) (?:times |x )?plr(?:²|2|\^2)"
    rf"(?: ,? ?(?:with |where )?plr (?:being|is) (?:the )?cooling(?: load)? over (?:the"
    rf" )?(?:{_RATED} )?"
    r"capacity)? ?\)"
)
_TEMPERATURE: Final = re.compile(
    rf"(?:the )?(?:eir )?{_KIND}{_BY} temperature (?:is|equals|follows)(?: the same for (?:both|all"
    r"|each)(?: (?:chillers|machines|of them))? ,)? <number#(?P<base>\d+)> (?P<sign>\+|-|plus"
    r"|minus)"
    r" <number#(?P<slope>\d+)> (?:times |x )?(?:the )?(?:temperature of )?(?:the )?entering"
    r" condenser[- ]water(?: temperature)? in (?:degrees )?(?P<scale>c|celsius|f"
    r"|fahrenheit)(?![a-z])"
)
_CHILLED: Final = re.compile(
    r"(?:the )?(?:leaving )?chilled water (?:always |constantly )?(?:has|is at|leaves at|leaves"
    r" with"
    r"|stays at) <temperature#(?P<place>\d+)> (?:and|,) (?:it |this )?is (?:already )?(?:in"
    r"|contained"
    r" in|part of) the constant(?: already)?"
)
_HOLDS: Final = (
    re.compile(r"(?:the |their )?capacit(?:y|ies) (?:does|do) not (?:depend on|change with|vary"
               r" with)"
               r" (?:the )?temperatures?"),
    re.compile(r"(?:a|any|each|every|the) (?:chiller|machine|unit) (?:that|which) is off"
               r" (?:needs|draws|takes|uses|consumes) (?:nothing|no (?:power|electricity))"),
    re.compile(r"(?:a|any|each|every)? ?(?:chiller|machine|unit|one) (?:that|which) (?:is on|runs"
               r"|is"
               r" running) (?:may|must|can|shall) (?:not|never) (?:go|fall|drop|run|be loaded)"
               r" below its"
               r" (?:least|minimum|lowest) (?:part load(?: ratio)?|load|plr)"),
)  # fmt: skip
_OF_CURVES: Final = frozenset(
    ["plr", "part-load", "cop", "modifier", "modifiers", "eir", "capacity", "capacities", "curve"]
)
_NAMED: Final = re.compile(r"(?:chiller : )?electric : eir(?![a-z])|electriceir|eir chiller model")


@dataclass(frozen=True)
class Warmth:
    """The modifier of temperature: a number, its slope by the condenser water, and its scale."""

    base: Value
    slope: Value
    sign: int
    scale: str
    line: int


@dataclass(frozen=True)
class Eir:
    """A chiller by its curves; ``terms`` are the coefficients of part load by their power."""

    cop: Value
    terms: tuple[tuple[int, Value], ...]
    warmth: Warmth | None
    line: int


def take_eir(draft: Draft, plant: Plant) -> Mapping[str, Eir]:
    """Return the curves of the chillers of a table, and account for the words that belong to them.

    All chillers of the plant have curves, or none: half a table stays for the reader of plants.
    """
    chillers = plant.of("chiller")
    cells = {i.name: _cells(draft, i) for i in chillers}
    if not chillers or any(not {"capacity", "cop", 0, 1} <= set(c) for c in cells.values()):
        return {}
    lines = [(n, line) for n, line in enumerate(draft.lines)
             if not line.sentence.is_heading and n not in draft.table_lines]  # fmt: skip
    warmth = next((w for n, line in lines if (w := _warmth(draft, n, line)) is not None), None)
    if not any(_stated(draft, n, line, warmth is not None) for n, line in lines):
        return {}
    for n, line in lines:
        _held(draft, n, line)
    if warmth is not None:
        _take(draft, warmth.line, _TEMPERATURE.search(draft.lines[warmth.line].line))
    _nothing_else(draft, lines)
    return {i.name: _settled(draft, i, cells[i.name], warmth) for i in chillers}


def _nothing_else(draft: Draft, lines: list[tuple[int, Line]]) -> None:
    """Report whatever else is said of curves: half a formula must not pass for a whole one."""
    for n, line in lines:
        for match in _NAMED.finditer(line.line):
            draft.take(n, list(line.covered(*match.span())))
        words = {t.text for i, t in enumerate(line.tokens) if not draft.is_taken(n, i)}
        if words & _OF_CURVES:
            draft.refuse(n, "what this says of the curves of the chillers is not understood")


_Cells = dict[str | int, tuple[Value, int]]


def _cells(draft: Draft, instance: Instance) -> _Cells:
    """Return the values of a chiller by what their labels say, each with its line."""
    found: _Cells = {}
    own = set(re.split(r"[\W_]+", instance.name))
    for n, cell in draft.table_lines.items():
        line = draft.lines[n]
        amounts = [a for t in line.tokens if (a := t.amount) is not None]
        if cell.get("owner") != instance.name or len(amounts) != 1:
            continue
        words = line.line.partition(" : ")[0].split()
        label = " ".join(w for k, w in enumerate(words) if not (k < len(own) and w in own))
        key: str | int | None = next(
            (k for k, pattern in _LABELS.items() if pattern.fullmatch(label)), None
        )
        part = _PART_LOAD.fullmatch(label)
        if key is None and part is not None:
            key = _TERMS.get(part["term"])
        fits = amounts[0].kind == ("power" if key == "capacity" else "number") or (
            key == "least" and amounts[0].kind == "percent"
        )
        if key is not None and fits and key not in found:
            found[key] = amount_value(amounts[0], draft.source(n, amounts[0])), n
    return found


def _warmth(draft: Draft, n: int, line: Line) -> Warmth | None:
    match = _TEMPERATURE.search(line.line)
    if match is None:
        return None
    base, slope = (line.tokens[int(match[key])].amount for key in ("base", "slope"))
    if base is None or slope is None:
        return None
    sign = 1 if match["sign"] in ("+", "plus") else -1
    scale = "degF" if match["scale"][0] == "f" else "degC"
    return Warmth(amount_value(base, draft.source(n, base)),
                  amount_value(slope, draft.source(n, slope)), sign, scale, n)  # fmt: skip


def _stated(draft: Draft, n: int, line: Line, warm: bool) -> bool:
    """Whether a line says how the power follows from the curves: in a formula, or by its name."""
    match = _POWER.search(line.line)
    if match is None:
        return _NAMED.search(line.line) is not None and not any(
            _POWER.search(other.line) for other in draft.lines
        )
    text = match[0]
    inside = re.search(r"\(.*\)", text)
    known = inside is None or _SUM.fullmatch(inside[0]) is not None
    both = re.search(rf"{_KIND}{_BY} temperature", text) is not None
    if not known or both is not warm or "part load" not in text:
        return False
    _background(draft, n, line, match)
    return True


def _held(draft: Draft, n: int, line: Line) -> None:
    """Account for what holds of such chillers anyway."""
    for pattern in _HOLDS:
        match = pattern.search(line.line)
        if match is not None:
            _background(draft, n, line, match)
    chilled = _CHILLED.search(line.line)
    amount = line.tokens[int(chilled["place"])].amount if chilled is not None else None
    if chilled is not None and amount is not None:
        draft.unused.append({"span": list(amount.span), "quote": amount.quote,
                             "reason": "is in the constant of the modifier"})  # fmt: skip
        _take(draft, n, chilled)


def _settled(draft: Draft, unit: Instance, cells: _Cells, warmth: Warmth | None) -> Eir:
    """Return the curves of a chiller; its capacity and least load become those of its card."""
    slots = {"capacity": "cooling_max", "least": "min_fraction"}
    for key, slot in slots.items():
        if key in cells:
            value, n = cells[key]
            span, known = draft.lines[n].sentence.span, unit.unit.slots[slot]
            draft.readings.append(Reading(unit.name, known, value, "value", n, span))
    for _, n in cells.values():
        draft.take(n, range(len(draft.lines[n].tokens)))
    terms = tuple((k, cells[k][0]) for k in (0, 1, 2) if k in cells)
    return Eir(cells["cop"][0], terms, warmth, cells["cop"][1])


def _background(draft: Draft, n: int, line: Line, match: re.Match[str]) -> None:
    covered = line.covered(*match.span())
    span = (line.tokens[covered[0]].span[0], line.tokens[covered[-1]].span[1])
    draft.facts.append(Fact("background", n, span, {}, match[0]))
    draft.take(n, list(covered))


def _take(draft: Draft, n: int, match: re.Match[str] | None) -> None:
    if match is not None:
        draft.take(n, list(draft.lines[n].covered(*match.span())))
