"""What units exchange over the buses of a site, and what executing them demands, as rows.

Every row is implied by the tests of the physics level, so that a bound over them holds for every
plan that passes these. What cannot be written so is left out, which loosens the bound.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from engiagent.blueprint.document import ConstraintDef
from engiagent.errors import EngiagentError
from engiagent.slots import COMPONENTS
from engiagent.units.unit import parse_unit
from engiagent.verify.levels.execution import Plant
from engiagent.verify.plants import entry_of
from engiagent.verify.plants.rows import chosen, known, row, written
from engiagent.verify.plants.unit import Unit
from engiagent.verify.requirements import Dynamics
from engiagent.verify.series import Series
from engiagent.verify.values import Floats

Side = tuple[Dynamics, str]
"""A unit and the quantity that it feeds into a bus, or draws from it."""


def buses_of(plant: Plant) -> dict[str, list[Dynamics]]:
    """Return the units on every bus that is judged.

    That is one with a grid or a load; within a feeder the power flow says what goes where.
    """
    fed = {
        str(bus)
        for unit in plant.units
        if unit.model == "feeder"
        for bus in unit.connections.get("buses") or ()
        if bus != unit.connections.get("source")
    }
    buses: dict[str, list[Dynamics]] = {}
    for unit in plant.units:
        if unit.model not in COMPONENTS:
            continue
        model = entry_of(unit.model)
        for port in dict.fromkeys((*model.supplies, *model.demands)):
            bus = None if port == "zone" else unit.connections.get(port)
            if bus is not None and str(bus) not in fed:
                members = buses.setdefault(str(bus), [])
                if unit not in members:
                    members.append(unit)
    return {
        name: units
        for bus, members in buses.items()
        if any(unit.model in ("grid", "load") for unit in members)
        for name, units in _by_scenario(bus, members)
    }


def _by_scenario(bus: str, members: list[Dynamics]) -> Iterator[tuple[str, list[Dynamics]]]:
    """Yield a bus in every scenario, with those of its units that are there."""
    scenarios = {m.element.scenario: None for m in members if m.element and m.element.scenario}
    if not scenarios:
        yield bus, members
    for scenario in scenarios:
        units = [m for m in members if m.element is None or m.element.scenario in ((), scenario)]
        yield f"{bus}[{','.join(scenario)}]", units


def sides_of(bus: str, units: Sequence[Dynamics]) -> tuple[list[Side], list[Side]]:
    """Return what flows into a bus, in one scenario perhaps, and what flows out of it."""
    bus = bus.partition("[")[0]
    sides: tuple[list[Side], list[Side]] = ([], [])
    for unit in units:
        model = entry_of(unit.model)
        for flows, side in ((model.supplies, sides[0]), (model.demands, sides[1])):
            side += [
                (unit, word) for port, word in flows.items() if unit.connections.get(port) == bus
            ]
    return sides


def total(plant: Plant, side: Sequence[Side]) -> Floats:
    """Return the sum of one side of a bus over the periods. [kW]."""
    found = np.zeros(1)
    for unit, word in side:
        found = found + flow_of(plant, unit, word)
    return found


def flow_of(plant: Plant, unit: Dynamics, word: str) -> Floats:
    """Return what a unit feeds into its bus, or draws from it. [kW]."""
    if unit.model == "load":
        power = plant.of(unit).slot("power")
        return plant.of(unit).decision(word) if power is None else power
    return plant.value(unit, word)


def grid_series(plant: Plant) -> Iterator[tuple[str, Series]]:
    """Yield import and export of every single grid on a bus, as all other units there need it."""
    for bus, units in buses_of(plant).items():
        grids = [unit for unit in units if unit.model == "grid"]
        if len(grids) != 1 or ("[" in bus and grids[0].element is None):
            continue  # what one grid gives in several scenarios at once, no balance of one says
        grid, others = grids[0], [unit for unit in units if unit.model != "grid"]
        try:
            supply, demand = (total(plant, side) for side in sides_of(bus, others))
        except EngiagentError:
            continue  # the balance is unchecked
        over = plant.of(grid).periods
        net = np.broadcast_to(demand - supply, (over.size,))
        for word, data in (("import", np.maximum(net, 0.0)), ("export", np.maximum(-net, 0.0))):
            name = f"{grid.name}.{word}"
            yield name, Series(name, data, parse_unit("kW"), (over.name,))


# --- as rows -----------------------------------------------------------------------------------


def physical_rows(plant: Plant) -> Iterator[ConstraintDef]:
    """Yield what the declared units demand of their quantities."""
    for unit in plant.units:
        if unit.model not in COMPONENTS:
            continue
        model = entry_of(unit.model)
        own = model.rows if chosen(plant.of(unit)) <= model.sized else None
        for make in (_limits, *(() if own is None else (own,))):
            try:
                yield from make(plant.of(unit))
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
            over = plant.of(units[0]).periods.name
        except EngiagentError:
            continue
        if all(text is not None for text in texts):
            yield row(f"balance of {bus}", f"{texts[0]} == {texts[1]}", over)


def _side(plant: Plant, side: Sequence[Side]) -> str | None:
    """Return the sum of one side of a bus, None when a part of it has no quantity."""
    terms = []
    for unit, word in side:
        name = known(plant.of(unit), word)
        text = None if name is None else f"{name}[t]"
        if unit.model == "load":
            text = written(plant.of(unit), "power") or text
        if text is None:
            return None
        terms.append(text)
    return " + ".join(terms) or "0[kW]"
