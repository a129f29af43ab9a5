"""Air handlers and their boxes: air mixed, heated or cooled, and blown into zones."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from engiagent.models.hvac.moist_air import DRY_AIR_HEAT
from engiagent.verify.frames import EvaluationError, MissingQuantity
from engiagent.verify.levels.execution import Plant
from engiagent.verify.plants.entry import Entry
from engiagent.verify.plants.run import Excess, Run
from engiagent.verify.plants.slots import SLOTS
from engiagent.verify.requirements import Dynamics
from engiagent.verify.values import Floats

OUTDOOR: Final = "outdoor_temperature"
Band = tuple[str, Floats, Floats | float | None, Floats | float | None, str]


def _handle(plant: Plant, group: Sequence[Dynamics]) -> Run:
    """Keep flow, share of outdoor air, supply temperature and coils; the rest follows."""
    unit = group[0]
    over, rated = plant.periods(unit), plant.need(unit, "rated_flow")
    flow, share = plant.decision(unit, "flow"), plant.decision(unit, "outdoor_share")
    supply, outdoor = plant.decision(unit, "supply_temperature"), plant.series(unit, OUTDOOR)
    coils = [plant.claimed(unit, f"{way}_coil") for way in ("heating", "cooling")]
    heat, cold = (np.zeros(over.size) if coil is None else coil for coil in coils)
    served = _served(plant, unit, flow)
    streams = [(part * DRY_AIR_HEAT, zone) for part, zone in served]
    taken = sum(s * (supply - zone - share * (outdoor - zone)) for s, zone in streams)
    excesses = [
        _apart(
            f"coils:{unit.name}",
            f"heat balance of the coils of {unit.name}",
            np.asarray(taken),
            heat - cold,
            "kW",
            over,
            "the air does not take up what the coils give, off",
        )
    ]
    power = plant.need(unit, "rated_power") * (flow / rated) ** 3
    results = [
        plant.result(
            unit,
            "cooling",
            np.asarray(sum(s * (zone - supply) for s, zone in streams)),
            "its flow and temperatures",
        ),
        plant.result(unit, "electric_power", power, "its flow"),
    ]
    if unit.connections.get("zone") is None:
        total = np.asarray(sum(part for part, _ in served))
        excesses.append(
            _apart(
                f"flows:{unit.name}",
                f"flow of {unit.name}",
                flow,
                total,
                "kg/s",
                over,
                "not the sum of its boxes', off",
            )
        )
    else:
        room = served[0][1]
        mixed = room + share * (outdoor - room)
        results.append(plant.result(unit, "mixed_temperature", mixed, "its share of outdoor air"))
    bands: tuple[Band, ...] = (
        ("flow", flow, plant.need(unit, "minimum_flow") * rated, rated, "kg/s"),
        (
            "outdoor_share",
            share,
            plant.slot(unit, "outdoor_share_min"),
            plant.slot(unit, "outdoor_share_max"),
            "1",
        ),
        (
            "supply_temperature",
            supply,
            plant.slot(unit, "supply_temperature_min"),
            plant.slot(unit, "supply_temperature_max"),
            "degC",
        ),
        ("heating_coil", heat, 0.0, plant.slot(unit, "heating_power_max"), "kW"),
        ("cooling_coil", cold, 0.0, plant.slot(unit, "cooling_power_max"), "kW"),
    )
    return Run((), tuple(results), (*excesses, *_outside(unit, bands, over)))


def _reheat(plant: Plant, group: Sequence[Dynamics]) -> Run:
    """Keep the flow and the reheat of a box; what it does to the zone follows."""
    unit = group[0]
    over = plant.periods(unit)
    flow, reheat = plant.decision(unit, "flow"), plant.claimed(unit, "reheat")
    heat = np.zeros(over.size) if reheat is None else reheat
    handler = _partner(plant, unit, "air_handler", "air_handler")
    supply, stream = plant.decision(handler, "supply_temperature"), flow * DRY_AIR_HEAT
    cooling = stream * (_room(plant, unit) - supply) - heat
    bands: list[Band] = [
        ("flow", flow, plant.slot(unit, "flow_min"), plant.slot(unit, "flow_max"), "kg/s"),
        ("reheat", heat, 0.0, plant.slot(unit, "reheat_max"), "kW"),
    ]
    warmest = plant.slot(unit, "discharge_temperature_max")
    if warmest is not None:
        bands.append(("reheat", heat, None, stream * (warmest - supply), "kW"))
    result = plant.result(unit, "cooling", cooling, "its flow, reheat and temperatures")
    return Run((), (result,), tuple(_outside(unit, bands, over)))


def _apart(
    identifier: str, name: str, left: Floats, right: Floats, unit: str, over: Any, what: str
) -> Excess:
    """Return by how much two series differ that have to be the same."""
    size = float(max(np.max(np.abs(side), initial=0.0) for side in (left, right)))
    return Excess(identifier, name, np.abs(left - right), unit, size, over, what)


def _outside(unit: Dynamics, bands: Iterable[Band], over: Any) -> Iterator[Excess]:
    """Yield by how much series are below or above their limits."""
    for word, series, low, high, text in bands:
        name, size = f"{unit.name}.{word}", float(np.max(np.abs(series), initial=0.0))
        if low is not None:
            yield Excess(
                f"least:{name}", name, low - series, text, size, over, "below its least value"
            )
        if high is not None:
            yield Excess(f"limit:{name}", name, series - high, text, size, over, "above its limit")


def _served(plant: Plant, unit: Dynamics, flow: Floats) -> list[tuple[Floats, Floats]]:
    """Return the flow into every zone that gets air, and its temperature."""
    if unit.connections.get("zone") is not None:
        return [(flow, _room(plant, unit))]
    boxes = [
        u
        for u in plant.units
        if u.model == "vav_box" and u.connections.get("air_handler") == unit.name
    ]
    if not boxes:
        raise EvaluationError(f"{unit.name} serves no zone; connect it to a thermal_zone or boxes")
    return [(plant.decision(box, "flow"), _room(plant, box)) for box in boxes]


def _room(plant: Plant, unit: Dynamics) -> Floats:
    """Return the temperature of the zone at the start of each period, as the plan has it."""
    zone = _partner(plant, unit, "zone", "thermal_zone")
    word, found = plant.state(zone, "temperature")
    if found is None:
        raise MissingQuantity(word)
    return found[:-1]


def _partner(plant: Plant, unit: Dynamics, port: str, model: str) -> Dynamics:
    name = unit.connections.get(port)
    found = next((u for u in plant.units if u.name == name and u.model == model), None)
    if found is None:
        raise EvaluationError(f"{unit.name} is connected to no {model}; name one as its {port}")
    return found


ENTRIES = {
    "air_handler": Entry(
        "air_handler",
        "air handler with economiser, coils and a fan, for sensible heat; of one zone or of boxes",
        SLOTS["air_handler"],
        _handle,
        connections={
            "bus": "electric",
            "heat_bus": "of its heating coil",
            "cooling_bus": "of its cooling coil",
            "zone": "that it serves",
        },
        supplies={"zone": "cooling"},
        demands={
            "bus": "electric_power",
            "heat_bus": "heating_coil",
            "cooling_bus": "cooling_coil",
        },
    ),
    "vav_box": Entry(
        "vav_box",
        "box for variable air volume with reheat, between an air handler and a zone",
        SLOTS["vav_box"],
        _reheat,
        connections={
            "air_handler": "that blows",
            "zone": "that it serves",
            "heat_bus": "of its coil",
        },
        supplies={"zone": "cooling"},
        demands={"heat_bus": "reheat"},
    ),
}
