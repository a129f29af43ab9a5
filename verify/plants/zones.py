"""Zones of buildings, together with their neighbours."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from engiagent.blueprint.document import ConstraintDef
from engiagent.models import ThermalNetwork, ThermalZone
from engiagent.verify.frames import MissingQuantity
from engiagent.verify.levels.execution import Plant
from engiagent.verify.plants.entry import Entry
from engiagent.verify.plants.rows import known, row, written
from engiagent.verify.plants.run import Result, Run, Trajectory
from engiagent.verify.plants.slots import SLOTS
from engiagent.verify.plants.starts import first
from engiagent.verify.requirements import Dynamics
from engiagent.verify.values import Floats

WAYS = ("heating", "cooling")


def groups(zones: Sequence[Dynamics]) -> Iterator[list[Dynamics]]:
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


def _walls(zone: Dynamics) -> Mapping[str, Any]:
    walls: Mapping[str, Any] = zone.connections.get("neighbours") or {}
    return walls


def network(
    plant: Plant, zones: Sequence[Dynamics]
) -> tuple[ThermalNetwork, Floats, list[tuple[str, Floats | None]]]:
    """Return the model of zones, their first temperatures and those of the schedule. [degC]."""
    names = [zone.name for zone in zones]
    models, start, claimed = [], [], []
    for zone in zones:
        resistance = plant.single(zone, "resistance")
        models.append(
            ThermalZone(
                name=zone.name,
                capacitance=plant.need(zone, "capacitance"),
                resistance=np.inf if resistance is None else resistance,
                neighbours={
                    other: float(plant.number(zone, text, "K/kW")[0])
                    for other, text in _walls(zone).items()
                    if other in names
                },
            )
        )
        claimed.append(plant.state(zone, "temperature"))
        start.append(first(plant, zone, "initial_temperature", claimed[-1][1]))
    return ThermalNetwork(tuple(models)), np.array(start), claimed


def _execute(plant: Plant, zones: Sequence[Dynamics]) -> Run:
    model, start, claimed = network(plant, zones)
    periods = plant.periods(zones[0])
    hours = plant.hours(periods)
    heats = [{word: plant.heat(zone, word) for word in WAYS} for zone in zones]
    if all(found is None for pair in heats for found in pair.values()):
        raise MissingQuantity(plant.names(zones[0], "heating")[0])
    ambient = [plant.slot(zone, "ambient_temperature") for zone in zones]
    outside = next((a for a in ambient if a is not None), np.zeros(periods.size))
    heat = np.zeros((periods.size, len(zones)))
    for column, (zone, pair) in enumerate(zip(zones, heats, strict=True)):
        gains = plant.slot(zone, "gains")
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
    if all(found is not None for _, found in claimed):
        before = np.column_stack([found for _, found in claimed if found is not None])
        predicted = _one_step(model, before, np.column_stack((outside, heat)), hours, scheme)
    return Run(
        tuple(
            _temperature(
                plant,
                zone,
                claimed[k],
                declared[:, k],
                exact[:, k],
                None if predicted is None else predicted[:, k],
                float(start[k]),
            )
            for k, zone in enumerate(zones)
        ),
        tuple(_served(plant, zones, heats)),
    )


def _served(
    plant: Plant, zones: Sequence[Dynamics], heats: Sequence[Mapping[str, Floats | None]]
) -> Iterator[Result]:
    for zone, pair in zip(zones, heats, strict=True):
        for word, found in pair.items():
            if found is not None:
                yield plant.result(zone, word, found, "the sum of the units that serve it")


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


def _temperature(
    plant: Plant,
    zone: Dynamics,
    claimed: tuple[str, Floats | None],
    declared: Floats,
    exact: Floats,
    predicted: Floats | None,
    start: float,
) -> Trajectory:
    name, known = claimed
    defect = None
    if known is not None and predicted is not None:
        defect = np.concatenate(([known[0] - start], known[1:] - predicted))
    scale = float(np.max(np.abs(declared), initial=1.0))
    names = tuple(plant.names(zone, "temperature"))
    over = plant.instants(plant.periods(zone))
    return Trajectory(names, name, "degC", declared, exact, known, defect, scale, over)


def _rows(plant: Plant, unit: Dynamics) -> Iterator[ConstraintDef]:
    """Yield the dynamics of a zone without neighbours; what several do is left to requirements."""
    over = plant.periods(unit)
    instants, state = plant.instants(over), known(plant, unit, "temperature")
    if unit.connections.get("neighbours") or instants is None or state is None:
        return
    model, start, _ = network(plant, [unit])
    hours = plant.hours(over)
    ambient = written(plant, unit, "ambient_temperature")
    if not (hours == hours[0]).all() or ambient is None:
        return
    scheme: Any = unit.scheme or "exact"
    keep, drive = model.discretise(float(hours[0]), scheme)
    sources = [
        f"{sign}{name}[t]"
        for sign, word in (("+", "heating"), ("-", "cooling"))
        if (name := known(plant, unit, word)) is not None
    ]
    gains = written(plant, unit, "gains")
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


ENTRIES = {
    "thermal_zone": Entry(
        "thermal_zone",
        "zone of a building with its heat balance",
        SLOTS["thermal_zone"],
        _execute,
        groups=groups,
        connections={"neighbours": "other zones with the thermal resistance to each, in K/kW"},
        rows=_rows,
    )
}
