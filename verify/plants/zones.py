"""Zones of buildings, together with their neighbours."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from engiagent.blueprint.document import ConstraintDef
from engiagent.models import ThermalNetwork, ThermalZone
from engiagent.verify.frames import MissingQuantity
from engiagent.verify.plants.entry import Entry
from engiagent.verify.plants.rows import known, row, written
from engiagent.verify.plants.run import Run
from engiagent.verify.plants.unit import Unit
from engiagent.verify.requirements import Dynamics
from engiagent.verify.values import Floats

WAYS = ("heating", "cooling")


def groups(zones: Sequence[Unit]) -> Iterator[list[Unit]]:
    """Yield zones that exchange heat together, each group once."""
    left = list(zones)
    while left:
        group = [left.pop(0)]
        grown = True
        while grown:
            names = {zone.name for zone in group}
            touching = [
                zone
                for zone in left
                if names & set(_walls(zone)) or any(zone.name in _walls(z) for z in group)
            ]
            grown = bool(touching)
            group += touching
            left = [zone for zone in left if zone not in touching]
        yield group


def _walls(zone: Dynamics | Unit) -> Mapping[str, Any]:
    walls: Mapping[str, Any] = zone.connections.get("neighbours") or {}
    return walls


def network(zones: Sequence[Unit]) -> tuple[ThermalNetwork, Floats, list[Floats | None]]:
    """Return the model of zones, their first temperatures and those of the schedule. [degC]."""
    names = [zone.name for zone in zones]
    models = tuple(
        ThermalZone(
            name=zone.name,
            capacitance=zone.need("capacitance"),
            resistance=zone.largest("resistance"),
            neighbours={
                other: zone.constant(text, "K/kW")
                for other, text in _walls(zone).items()
                if other in names
            },
        )
        for zone in zones
    )
    claimed = [zone.state("temperature")[1] for zone in zones]
    pairs = zip(zones, claimed, strict=True)
    start = [zone.start("initial_temperature", found) for zone, found in pairs]
    return ThermalNetwork(models), np.array(start), claimed


def _execute(zones: Sequence[Unit]) -> Run:
    model, start, claimed = network(zones)
    plant, hours = zones[0].plant, zones[0].hours
    heats = [{word: plant.heat(zone.declared, word) for word in WAYS} for zone in zones]
    if all(found is None for pair in heats for found in pair.values()):
        raise MissingQuantity(zones[0].names("heating")[0])
    ambient = [zone.slot("ambient_temperature") for zone in zones]
    outside = next((a for a in ambient if a is not None), np.zeros(len(hours)))
    heat = np.zeros((len(hours), len(zones)))
    for column, (zone, pair) in enumerate(zip(zones, heats, strict=True)):
        gains = zone.slot("gains")
        for sign, part in ((1.0, pair["heating"]), (-1.0, pair["cooling"]), (1.0, gains)):
            if part is not None:
                heat[:, column] += sign * part
        own = ambient[column]
        if own is not None:
            # One ambient for the network; what differs enters as heat through the wall.
            heat[:, column] += (own - outside) / model.zones[column].resistance
    scheme: Any = zones[0].scheme or "exact"
    declared = model.simulate(outside, hours, heat, initial=start, scheme=scheme)
    exact = declared
    if scheme != "exact":
        exact = model.simulate(outside, hours, heat, initial=start)
    predicted = None
    if all(found is not None for found in claimed):
        before = np.column_stack([found for found in claimed if found is not None])
        predicted = _one_step(model, before, np.column_stack((outside, heat)), hours, scheme)
    states, why = [], "the sum of the units that serve it"
    for k, zone in enumerate(zones):
        after = None if predicted is None else predicted[:, k]
        path, scale = declared[:, k], float(np.max(np.abs(declared[:, k]), initial=1.0))
        states.append(zone.trajectory("temperature", path, scale, exact=exact[:, k], after=after))
    results = tuple(
        zone.result(word, found, why)
        for zone, pair in zip(zones, heats, strict=True)
        for word, found in pair.items()
        if found is not None
    )
    return Run(tuple(states), results)


def _one_step(
    model: ThermalNetwork, known: Floats, inputs: Floats, hours: Floats, scheme: Any
) -> Floats:
    """Return what follows from each of the schedule's states after one step."""
    predicted = np.empty((len(hours), known.shape[1]))
    for step in np.unique(hours):
        rows = np.flatnonzero(hours == step)
        a, b = model.discretise(float(step), scheme)
        predicted[rows] = known[rows] @ a.T + inputs[rows] @ b.T
    return predicted


def _rows(unit: Unit) -> Iterator[ConstraintDef]:
    """Yield the dynamics of a zone without neighbours; what several do is left to requirements."""
    over = unit.periods
    instants, state = unit.instants, known(unit, "temperature")
    if unit.connections.get("neighbours") or instants is None or state is None:
        return
    model, start, _ = network([unit])
    hours = unit.hours
    ambient = written(unit, "ambient_temperature")
    if not (hours == hours[0]).all() or ambient is None:
        return
    scheme: Any = unit.scheme or "exact"
    keep, drive = model.discretise(float(hours[0]), scheme)
    sources = [
        f"{sign}{name}[t]"
        for sign, word in (("+", "heating"), ("-", "cooling"))
        if (name := known(unit, word)) is not None
    ]
    gains = written(unit, "gains")
    heat = " ".join([*sources, *([] if gains is None else [f"+{gains}"])])
    if not sources:
        return
    zero = "0[degC]"
    text = (
        f"{state}[t+1] - {zero} == {float(keep[0, 0])!r}*({state}[t] - {zero})"
        f" + {float(drive[0, 0])!r}*({ambient} - {zero})"
        f" + {float(drive[0, 1])!r}[K/kW]*({heat.lstrip('+')})"
    )
    yield row(f"{unit.name} dynamics", text, over.name)
    if unit.parameters.get("initial_temperature") is not None:
        text = f"{state}[first({instants.name})] == {float(start[0])!r}[degC]"
        yield row(f"{unit.name} start", text, None)


ENTRIES = {"thermal_zone": Entry(groups=groups, together=_execute, rows=_rows)}
