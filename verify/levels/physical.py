"""Declared units as rows: what executing a plan demands of it, in the language of requirements.

Every row is implied by the tests of the physics level, so that a bound over them holds for every
plan that passes these. What cannot be written so is left out, which loosens the bound.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from engiagent.blueprint.document import ConstraintDef
from engiagent.errors import EngiagentError
from engiagent.verify.levels.execution import DEMANDS, SUPPLIES, Plant
from engiagent.verify.requirements import Dynamics

LIMITS = {
    "battery": (("charge", "charge_power_max"), ("discharge", "discharge_power_max")),
    "grid": (("import", "import_power_max"), ("export", "export_power_max")),
    "heater": (("electric_power", "electric_power_max"),),
    "cooler": (("electric_power", "electric_power_max"),),
    "generator_profile": (("power", "available_power"), ("curtailed", "available_power")),
}
"""By model of a unit: its powers and the slots that limit them."""


def physical_rows(plant: Plant) -> Iterator[ConstraintDef]:
    """Yield what the declared units demand of their quantities."""
    for unit in plant.units:
        for make in (_limits, *_OWN.get(unit.model, ())):
            try:
                yield from make(plant, unit)
            except EngiagentError:
                continue  # the physics level says what is wrong with the unit
    yield from _balances(plant)


def _row(name: str, expression: str, over: str | None) -> ConstraintDef:
    forall = () if over is None else (f"t in {over}",)
    return ConstraintDef(constraint_id=name, expression=expression, forall=forall)


def _written(plant: Plant, unit: Dynamics, slot: str) -> str | None:
    """Return a slot as an expression of the period ``t``, None when it is not given."""
    given = unit.parameters.get(slot)
    if given is None:
        return None
    text = str(given)
    if text.isidentifier():
        try:
            dims = plant.bench.evaluator.environment.symbol(text).dims
        except EngiagentError:
            return None
        return f"{text}[t]" if len(dims) == 1 else text
    return f"({text})"


def _name(plant: Plant, unit: Dynamics, word: str) -> str | None:
    """Return the quantity by which the schedule has a series of a unit."""
    return next((n for n in plant.names(unit, word) if n in plant.bench.series), None)


def _limits(plant: Plant, unit: Dynamics) -> Iterator[ConstraintDef]:
    over = plant.periods(unit).name
    for word, slot in LIMITS.get(unit.model, ()):
        name = _name(plant, unit, word)
        if name is None:
            continue
        yield _row(f"{name} not negative", f"{name}[t] >= 0", over)
        most = _written(plant, unit, slot)
        if most is not None:
            yield _row(f"{name} limit", f"{name}[t] <= {most}", over)


def _battery(plant: Plant, unit: Dynamics) -> Iterator[ConstraintDef]:
    battery, over = plant.battery(unit), plant.periods(unit)
    instants = plant.instants(over)
    names = [_name(plant, unit, word) for word in ("charge", "discharge", "state_of_charge")]
    if instants is None or None in names:
        return
    charge, discharge, state = names
    hours = plant.hours(over)
    if not (hours == hours[0]).all():
        return
    decay, gain = battery.coefficients(hours[:1], "euler" if unit.scheme == "euler" else "exact")
    flow = (
        f"{battery.charge_efficiency!r}*{charge}[t] - {discharge}[t]"
        f"/{battery.discharge_efficiency!r}"
    )
    yield _row(
        f"{unit.name} dynamics",
        f"{state}[t+1] == {float(decay[0])!r}*{state}[t] + {float(gain[0])!r}[h]*({flow})",
        over.name,
    )
    given = plant.slot(unit, "initial_energy", "kWh")
    if given is not None:
        text = f"{state}[first({instants.name})] == {float(given[0])!r}[kWh]"
        yield _row(f"{unit.name} start", text, None)
    low, high = battery.minimum_energy, battery.upper_energy
    yield ConstraintDef(
        constraint_id=f"{unit.name} energy",
        expression=f"{low!r}[kWh] <= {state}[i] <= {high!r}[kWh]",
        forall=(f"i in {instants.name}",),
    )
    yield _row(f"{unit.name} one way", f"min({charge}[t], {discharge}[t]) <= 0[kW]", over.name)


def _converter(plant: Plant, unit: Dynamics) -> Iterator[ConstraintDef]:
    word = "heat" if unit.model == "heater" else "cooling"
    power, output = _name(plant, unit, "electric_power"), _name(plant, unit, word)
    cop = _written(plant, unit, "cop") or "1"
    if power is not None and output is not None:
        text = f"{output}[t] == {cop}*{power}[t]"
        yield _row(f"{unit.name} output", text, plant.periods(unit).name)


def _zone(plant: Plant, unit: Dynamics) -> Iterator[ConstraintDef]:
    """Yield the dynamics of a zone without neighbours; what several do is left to requirements."""
    over = plant.periods(unit)
    instants, state = plant.instants(over), _name(plant, unit, "temperature")
    if unit.connections.get("neighbours") or instants is None or state is None:
        return
    network, start, _ = plant.network([unit])
    hours = plant.hours(over)
    ambient = _written(plant, unit, "ambient_temperature")
    if not (hours == hours[0]).all() or ambient is None:
        return
    scheme: Any = unit.scheme or "exact"
    keep, drive = network.discretise(float(hours[0]), scheme)
    sources = [
        f"{sign}{name}[t]"
        for sign, word in (("+", "heating"), ("-", "cooling"))
        if (name := _name(plant, unit, word)) is not None
    ]
    gains = _written(plant, unit, "gains")
    heat = " ".join([*sources, *([] if gains is None else [f"+{gains}"])])
    if not sources:
        return
    zero = "0[degC]"
    text = (
        f"{state}[t+1] - {zero} == {float(keep[0, 0])!r}*({state}[t] - {zero})"
        f" + {float(drive[0, 0])!r}*({ambient} - {zero})"
        f" + {float(drive[0, 1])!r}[K/kW]*({heat.lstrip('+')})"
    )
    yield _row(f"{unit.name} dynamics", text, over.name)
    if unit.parameters.get("initial_temperature") is not None:
        text = f"{state}[first({instants.name})] == {float(np.asarray(start)[0])!r}[degC]"
        yield _row(f"{unit.name} start", text, None)


_OWN = {
    "battery": (_battery,),
    "heater": (_converter,),
    "cooler": (_converter,),
    "thermal_zone": (_zone,),
}


def _balances(plant: Plant) -> Iterator[ConstraintDef]:
    """Yield the balance of every bus with a grid or a load."""
    buses: dict[str, list[Dynamics]] = {}
    for unit in plant.units:
        bus = unit.connections.get("bus")
        if bus is not None:
            buses.setdefault(str(bus), []).append(unit)
    for bus, units in buses.items():
        if not any(unit.model in ("grid", "load") for unit in units):
            continue
        try:
            sides = [_side(plant, units, words) for words in (SUPPLIES, DEMANDS)]
            over = plant.periods(units[0]).name
        except EngiagentError:
            continue
        if all(side is not None for side in sides):
            yield _row(f"balance of {bus}", f"{sides[0]} == {sides[1]}", over)


def _side(plant: Plant, units: Sequence[Dynamics], words: dict[str, str]) -> str | None:
    """Return the sum of one side of a bus, None when a part of it has no quantity."""
    terms = []
    for unit in units:
        word = words.get(unit.model)
        if word is None:
            continue
        name = _name(plant, unit, word)
        text = None if name is None else f"{name}[t]"
        if unit.model == "load":
            text = _written(plant, unit, "power") or text
        if text is None:
            return None
        terms.append(text)
    return " + ".join(terms) or "0[kW]"
