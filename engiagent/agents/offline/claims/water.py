"""Pumps that fill a reservoir or feed a main: whether a text is on that, and what it says."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from engiagent.agents.offline.claims.card import Domain, domain
from engiagent.agents.offline.claims.study import Opened, named_units, understand
from engiagent.agents.offline.claims.water_model import Shape, build
from engiagent.agents.offline.engine import Understanding
from engiagent.agents.offline.phrases import relined
from engiagent.agents.offline.plant.machinery.formulas import Formula, _coefficients, formulas_in
from engiagent.agents.offline.tokens import Token

if TYPE_CHECKING:
    from engiagent.problems.problem import Problem

_FLOWS: Final = frozenset({"volume_flow", "mass_flow"})
_OTHERS: Final = re.compile(
    r"heat pumps?|chillers?|boilers?|turbines?|generators?|batter(?:y|ies)|cooling towers?|glycol"
    r"|hydrogen|compressors?"
)
FORMULA: Final = "formula-of-power"
VARIABLE: Final = "formula-variable"
_KILOWATTS: Final = re.compile(r"\s*(?:kilowatts?|kW)(?![\w/])")


def understand_water(problem: "Problem") -> Understanding | None:
    """Read a problem on pumps; None where the text is on something else."""
    opened = Opened(problem)
    card = domain("water")
    if not _is_water(opened, card):
        return None
    names = named_units(opened, card)
    shape = _formula(opened, frozenset(names.get("pump", {})))
    return understand(opened, card, names, lambda facts: build(facts, shape))


def _is_water(opened: Opened, card: Domain) -> bool:
    """Whether pumps are spoken of, flows of water are given, and no other machine is."""
    from engiagent.agents.offline.plant.units import pattern_of

    pump = pattern_of(card.units["pump"])
    lines = [line for line in opened.draft.lines if not line.sentence.is_heading]
    kinds = {t.amount.kind for line in lines for t in line.tokens if t.amount is not None}
    kinds |= {a.kind for line in lines for t in line.tokens for a in t.amounts}
    named = any(pump.search(line.line) for line in lines)
    return named and bool(kinds & _FLOWS) and not any(_OTHERS.search(line.line) for line in lines)


def _name_variable(opened: Opened, variable: str) -> None:
    """Let the variable of the formula be known wherever it stands by itself."""
    draft = opened.draft
    for n, line in enumerate(draft.lines):
        tokens = [
            Token("word", VARIABLE, t.span)
            if t.kind == "word" and draft.text[t.span[0] : t.span[1]] == variable else t
            for t in line.tokens
        ]  # fmt: skip
        if tokens != list(line.tokens):
            draft.lines[n] = relined(line, tokens)


@dataclass(frozen=True)
class _Place:
    line: int
    formula: Formula


def _formula(opened: Opened, owners: frozenset[str]) -> Shape | None:
    """Take the one formula of the text whose coefficients stand in the table of the pumps."""
    draft = opened.draft
    cells = _coefficients(draft, owners)
    known = frozenset(symbol for _, symbol in cells)
    if len(known) < 2:
        return None
    found = [
        _Place(n, f)
        for n, line in enumerate(draft.lines)
        if n not in draft.table_lines and not line.sentence.is_heading
        for f in formulas_in(draft.text, *line.sentence.span, known)
    ]
    if len(found) != 1:
        return None
    place = found[0]
    used = {s for t in place.formula.terms for s in re.findall(r"\{(\w+)\}", t.text)}
    used -= {place.formula.variable}
    values = {}
    for (owner, symbol), (value, row) in cells.items():
        if symbol in used:
            values[owner, symbol] = value
            draft.take(row, range(len(draft.lines[row].tokens)))
    line = draft.lines[place.line]
    a, b = place.formula.span
    unit = _KILOWATTS.match(draft.text, b)
    b = unit.end() if unit is not None else b
    inside = [i for i, t in enumerate(line.tokens) if a <= t.span[0] < b]
    tokens = list(line.tokens)
    tokens[inside[0] : inside[-1] + 1] = [Token("word", FORMULA, (a, b))]
    draft.lines[place.line] = relined(line, tokens)
    _name_variable(opened, place.formula.variable)
    return Shape(place.formula, values, place.line, unit is not None)
