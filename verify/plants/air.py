"""Air handlers and their boxes: air mixed, heated or cooled, and blown into zones."""

from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np

from engiagent.models.hvac.fluids import DRY_AIR_HEAT
from engiagent.verify.frames import EvaluationError, MissingQuantity
from engiagent.verify.plants.entry import Entry
from engiagent.verify.plants.run import Excess, Run
from engiagent.verify.plants.unit import Unit, size
from engiagent.verify.values import Floats

OUTDOOR: Final = "outdoor_temperature"
Band = tuple[str, Floats, Floats | float | None, Floats | float | None]


def _handle(unit: Unit) -> Run:
    """Keep flow, share of outdoor air, supply temperature and coils; the rest follows."""
    rated = unit.need("rated_flow")
    flow, share = unit.decision("flow"), unit.decision("outdoor_share")
    supply, outdoor = unit.decision("supply_temperature"), unit.series(OUTDOOR)
    heat, cold = (unit.optional(f"{way}_coil") for way in ("heating", "cooling"))
    served = _served(unit, flow)
    streams = [(part * DRY_AIR_HEAT, zone) for part, zone in served]
    taken = sum(s * (supply - zone - share * (outdoor - zone)) for s, zone in streams)
    balance = f"heat balance of the coils of {unit.name}"
    words = "the air does not take up what the coils give, off"
    gap = np.abs(np.asarray(taken) - (heat - cold))
    scale = max(size(np.asarray(taken)), size(heat - cold))
    excesses = [unit.fault("coils", balance, gap, "kW", scale, words)]
    power = unit.need("rated_power") * (flow / rated) ** 3
    use = np.asarray(sum(s * (zone - supply) for s, zone in streams))
    results = [
        unit.result("cooling", use, "its flow and temperatures"),
        unit.result("electric_power", power, "its flow"),
    ]
    if unit.connections.get("zone") is None:
        total = np.asarray(sum(part for part, _ in served))
        name, words = f"flow of {unit.name}", "not the sum of its boxes', off"
        scale = max(size(flow), size(total))
        excesses.append(unit.fault("flows", name, np.abs(flow - total), "kg/s", scale, words))
    else:
        room = served[0][1]
        mixed = room + share * (outdoor - room)
        results.append(unit.result("mixed_temperature", mixed, "its share of outdoor air"))
    bands: list[Band] = [("flow", flow, unit.need("minimum_flow") * rated, rated)]
    for word, series in (("outdoor_share", share), ("supply_temperature", supply)):
        bands.append((word, series, unit.slot(f"{word}_min"), unit.slot(f"{word}_max")))
    for way, series in (("heating", heat), ("cooling", cold)):
        bands.append((f"{way}_coil", series, 0.0, unit.slot(f"{way}_power_max")))
    return Run((), tuple(results), (*excesses, *_outside(unit, bands)))


def _reheat(unit: Unit) -> Run:
    """Keep the flow and the reheat of a box; what it does to the zone follows."""
    flow, heat = unit.decision("flow"), unit.optional("reheat")
    supply = _partner(unit, "air_handler", "air_handler").decision("supply_temperature")
    stream = flow * DRY_AIR_HEAT
    cooling = stream * (_room(unit) - supply) - heat
    bands: list[Band] = [
        ("flow", flow, unit.slot("flow_min"), unit.slot("flow_max")),
        ("reheat", heat, 0.0, unit.slot("reheat_max")),
    ]
    warmest = unit.slot("discharge_temperature_max")
    if warmest is not None:
        bands.append(("reheat", heat, None, stream * (warmest - supply)))
    result = unit.result("cooling", cooling, "its flow, reheat and temperatures")
    return Run((), (result,), tuple(_outside(unit, bands)))


def _outside(unit: Unit, bands: Iterable[Band]) -> Iterator[Excess]:
    """Yield by how much series are below or above their limits."""
    for word, series, low, high in bands:
        if low is not None:
            text = "below its least value"
            yield unit.excess("least", word, low - series, size(series), text)
        if high is not None:
            yield unit.excess("limit", word, series - high, size(series), "above its limit")


def _served(unit: Unit, flow: Floats) -> list[tuple[Floats, Floats]]:
    """Return the flow into every zone that gets air, and its temperature."""
    if unit.connections.get("zone") is not None:
        return [(flow, _room(unit))]
    boxes = [
        Unit(unit.plant, u)
        for u in unit.plant.units
        if u.model == "vav_box" and u.connections.get("air_handler") == unit.name
    ]
    if not boxes:
        raise EvaluationError(f"{unit.name} serves no zone; connect it to a thermal_zone or boxes")
    return [(box.decision("flow"), _room(box)) for box in boxes]


def _room(unit: Unit) -> Floats:
    """Return the temperature of the zone at the start of each period, as the plan has it."""
    word, found = _partner(unit, "zone", "thermal_zone").state("temperature")
    if found is None:
        raise MissingQuantity(word)
    return found[:-1]


def _partner(unit: Unit, port: str, model: str) -> Unit:
    name = unit.connections.get(port)
    found = next((u for u in unit.plant.units if u.name == name and u.model == model), None)
    if found is None:
        raise EvaluationError(f"{unit.name} is connected to no {model}; name one as its {port}")
    return Unit(unit.plant, found)


ENTRIES = {
    "air_handler": Entry(
        _handle,
        supplies={"zone": "cooling"},
        demands={
            "bus": "electric_power",
            "heat_bus": "heating_coil",
            "cooling_bus": "cooling_coil",
        },
    ),
    "vav_box": Entry(_reheat, supplies={"zone": "cooling"}, demands={"heat_bus": "reheat"}),
}
