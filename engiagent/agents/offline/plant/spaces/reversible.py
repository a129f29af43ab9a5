"""Heat pumps that heat and cool: their unit, and a COP that is said as a fraction.

'Heat costs 1/3.8 of its amount in electricity' is a COP of 3.8.
"""

import re
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from engiagent.agents.offline.cards import load_card
from engiagent.agents.offline.draft import Draft, Reading, amount_value
from engiagent.agents.offline.plant.units import Plant, Unit, unit_of
from engiagent.agents.offline.tokens import Line

if TYPE_CHECKING:
    from engiagent.agents.offline.plant.system import System

_PUMP: Final = r"(?:heat pumps?|heatpumps?)"
_BOTH_WAYS: Final = re.compile(
    rf"reversible (?:[a-z-]+ ){{0,2}}{_PUMP}|{_PUMP}[^;<]{{0,40}}(?<![a-z])(?:is|are) reversible"
    rf"|{_PUMP}[^;]{{0,60}}(?<![a-z])(?:heats?|warms?)[^;]{{0,40}}(?<![a-z])(?:and|or)[^;]{{0,30}}"
    rf"(?<![a-z])cools?(?![a-z])"
    rf"|{_PUMP}[^;]{{0,60}}(?<![a-z])cools?[^;]{{0,40}}(?<![a-z])(?:and|or)[^;]{{0,30}}"
    rf"(?<![a-z])(?:heats?|warms?)(?![a-z])"
)
_DENIED: Final = re.compile(r"(?<![a-z])(?:not|never|no|cannot|can't|nor|neither|without)(?![a-z])")
_OWN_SHARE: Final = (
    r"of (?:its|their|that|the) (?:own )?(?:amount|energy|quantity|size|value)"
    r"(?: (?:of|as|in))? (?:electricity|electric energy|power)"
    r"|of (?:it|that|them|this) in electricity|as much electricity"
)
_FRACTION: Final = (
    r"(?P<{0}>heat|heating|cold|cooling)(?: (?:costs?|needs?|takes?|uses?|is paid with))? "
    r"(?:<number#(?P<{0}one>\d+)>|an?|one) / <number#(?P<{0}of>\d+)>"
)
_FRACTIONS: Final = re.compile(
    rf"{_FRACTION.format('a')}(?: (?:and|,) {_FRACTION.format('b')})? (?:{_OWN_SHARE})"
)


@lru_cache(maxsize=1)
def _unit() -> Unit:
    return unit_of(load_card("rooms")["reversible"])


def with_reversible(plant: Plant, draft: Draft) -> Plant:
    """Return a plant whose one heat pump also cools where the text says that it does."""
    pumps = plant.of("heat_pump")
    if len(pumps) != 1 or not any(_says_so(line) for line in draft.lines):
        return plant
    unit = _unit()
    others = tuple(i for i in plant.instances if i.unit.component != "heat_pump")
    return replace(
        plant,
        units={**plant.units, "heat_pump": unit},
        instances=(*others, replace(pumps[0], unit=unit)),
    )


def _says_so(line: Line) -> bool:
    match = None if line.sentence.is_heading else _BOTH_WAYS.search(line.line)
    return match is not None and _DENIED.search(match[0]) is None


def take_fractions(draft: Draft, plant: Plant) -> None:
    """Read 'heat costs 1/3.8 of its amount in electricity' as the COP of the one heat pump."""
    pumps = [i for i in plant.of("heat_pump") if "cooling_cop" in i.unit.slots]
    if len(pumps) != 1:
        return
    for n, line in enumerate(draft.lines):
        match = _FRACTIONS.search(line.line)
        if match is None or line.sentence.is_heading:
            continue
        found = [_one(draft, n, line, match, k) for k in ("a", "b") if match[k]]
        for slot, token in (f for f in found if f is not None):
            amount = line.tokens[token].amount
            assert amount is not None
            value = amount_value(amount, draft.source(n, amount))
            reading = Reading(
                pumps[0].name, pumps[0].unit.slots[slot], value, "value", n, line.sentence.span
            )
            draft.readings.append(reading)
        if all(f is not None for f in found):
            draft.take(n, list(line.covered(*match.span())))


def _one(
    draft: Draft, n: int, line: Line, match: "re.Match[str]", k: str
) -> tuple[str, int] | None:
    """Return the slot and the token of one fraction; None where it is none with one above."""
    above = match[f"{k}one"]
    if above is not None:
        amount = line.tokens[int(above)].amount
        if amount is None or amount.value != 1 or amount.unit:
            return None
        draft.unused.append(
            {"span": list(amount.span), "quote": amount.quote, "reason": "the one of a fraction"}
        )
    slot = "cop" if match[k].startswith("heat") else "cooling_cop"
    return slot, int(match[f"{k}of"])


def check_both_at_once(system: "System") -> None:
    """Report a heat pump that could earn by heating and cooling in one period.

    With one room and prices above zero no optimum does both: what the one adds the other has to
    take away again. Else whether it may has to be said.
    """
    plant, numbers = system.reader.plant, system.builder.numbers
    pumps = [i for i in plant.of("heat_pump") if "cooling_cop" in i.unit.slots]
    grid = system.filled.get("grid", {})
    prices = [numbers.get(grid[k]) for k in ("import_price", "export_price") if k in grid]
    dear = all(p is not None and bool(np.all(np.asarray(p) > 0)) for p in prices)
    alone = len(plant.of("zone")) == 1 and not any(
        i.unit.card.get("carrier") in ("heat", "cooling") for i in plant.instances
    )
    for pump in () if dear and alone else pumps:
        line = max(system.line_of(pump.name, "cooling_max", "cooling_cop"), 0)
        system.builder.draft.doubt(line, f"{pump.name}: may it heat and cool at once?")
