"""Declared units as rows: what executing a plan demands of it, in the language of requirements.

Every row is implied by the tests of the physics level, so that a bound over them holds for every
plan that passes these. What cannot be written so is left out, which loosens the bound.
"""

from collections.abc import Iterator, Sequence

from engiagent.blueprint.document import ConstraintDef
from engiagent.errors import EngiagentError
from engiagent.slots import COMPONENTS
from engiagent.verify.levels.buses import Side, buses_of, sides_of
from engiagent.verify.levels.execution import Plant
from engiagent.verify.plants import entry_of
from engiagent.verify.plants.rows import known, row, written
from engiagent.verify.plants.unit import Unit


def physical_rows(plant: Plant) -> Iterator[ConstraintDef]:
    """Yield what the declared units demand of their quantities."""
    for unit in plant.units:
        if unit.model not in COMPONENTS:
            continue
        own = entry_of(unit.model).rows
        for make in (_limits, *(() if own is None else (own,))):
            try:
                yield from make(Unit(plant, unit))
            except EngiagentError:
                continue  # the physics level says what is wrong with the unit
    yield from _balances(plant)


def _limits(unit: Unit) -> Iterator[ConstraintDef]:
    over = unit.periods.name
    for word, slot in entry_of(unit.model).limits:
        name = known(unit, word)
        if name is None:
            continue
        yield row(f"{name} not negative", f"{name}[t] >= 0", over)
        most = written(unit, slot)
        if most is not None:
            yield row(f"{name} limit", f"{name}[t] <= {most}", over)


def _balances(plant: Plant) -> Iterator[ConstraintDef]:
    """Yield the balance of every bus that is judged."""
    for bus, units in buses_of(plant).items():
        try:
            texts = [_side(plant, side) for side in sides_of(bus, units)]
            over = plant.periods(units[0]).name
        except EngiagentError:
            continue
        if all(text is not None for text in texts):
            yield row(f"balance of {bus}", f"{texts[0]} == {texts[1]}", over)


def _side(plant: Plant, side: Sequence[Side]) -> str | None:
    """Return the sum of one side of a bus, None when a part of it has no quantity."""
    terms = []
    for unit, word in side:
        name = known(Unit(plant, unit), word)
        text = None if name is None else f"{name}[t]"
        if unit.model == "load":
            text = written(Unit(plant, unit), "power") or text
        if text is None:
            return None
        terms.append(text)
    return " + ".join(terms) or "0[kW]"
