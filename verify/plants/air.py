"""Air handlers: outdoor and return air mixed, heated or cooled, and blown into a zone."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from engiagent.verify.frames import EvaluationError, MissingQuantity
from engiagent.verify.plants.entry import Entry
from engiagent.verify.plants.run import Excess, Run
from engiagent.verify.plants.slots import SLOTS
from engiagent.verify.requirements import Dynamics
from engiagent.verify.values import Floats

if TYPE_CHECKING:
    from engiagent.verify.levels.execution import Plant


def _execute(plant: "Plant", group: Sequence[Dynamics]) -> Run:
    """Keep flow, share of outdoor air, supply temperature and coils; the rest follows."""
    from engiagent.models.hvac.moist_air import DRY_AIR_HEAT

    unit = group[0]
    over, rated = plant.periods(unit), plant.need(unit, "rated_flow")
    flow, share = plant.decision(unit, "flow"), plant.decision(unit, "outdoor_share")
    supply, room = plant.decision(unit, "supply_temperature"), _room(plant, unit)
    coils = [plant.claimed(unit, f"{way}_coil") for way in ("heating", "cooling")]
    heat, cold = (np.zeros(over.size) if coil is None else coil for coil in coils)
    mixed = room + share * (plant.series(unit, "outdoor_temperature") - room)
    stream = flow * DRY_AIR_HEAT
    power = plant.need(unit, "rated_power") * (flow / rated) ** 3
    gap = np.abs(stream * (supply - mixed) - (heat - cold))
    scale = float(np.max(np.abs(stream * (supply - mixed)), initial=0.0))
    scale = max(scale, float(np.max(np.abs(heat) + np.abs(cold), initial=0.0)))
    excesses = [
        Excess(f"coils:{unit.name}", f"heat balance of the coils of {unit.name}", gap, "kW", scale,
               over, "the air does not take up what the coils give, off"),
    ]  # fmt: skip
    least = plant.need(unit, "minimum_flow") * rated
    bands: tuple[tuple[str, Floats, Floats | float | None, Floats | float | None, str], ...] = (
        ("flow", flow, least, rated, "kg/s"),
        ("outdoor_share", share, plant.slot(unit, "outdoor_share_min"),
         plant.slot(unit, "outdoor_share_max"), "1"),
        ("supply_temperature", supply, plant.slot(unit, "supply_temperature_min"),
         plant.slot(unit, "supply_temperature_max"), "degC"),
        ("heating_coil", heat, 0.0, plant.slot(unit, "heating_power_max"), "kW"),
        ("cooling_coil", cold, 0.0, plant.slot(unit, "cooling_power_max"), "kW"),
    )  # fmt: skip
    for word, series, low, high, text in bands:
        name, size = f"{unit.name}.{word}", float(np.max(np.abs(series), initial=0.0))
        if low is not None:
            excesses.append(Excess(f"least:{name}", name, low - series, text, size, over,
                                   "below its least value"))  # fmt: skip
        if high is not None:
            excesses.append(Excess(f"limit:{name}", name, series - high, text, size, over,
                                   "above its limit"))  # fmt: skip
    results = (
        plant.result(unit, "cooling", stream * (room - supply), "its flow and temperatures"),
        plant.result(unit, "mixed_temperature", mixed, "its share of outdoor air"),
        plant.result(unit, "electric_power", power, "its flow"),
    )
    return Run((), results, tuple(excesses))


def _room(plant: "Plant", unit: Dynamics) -> Floats:
    """Return the temperature of the zone at the start of each period, as the plan has it."""
    name = unit.connections.get("zone")
    zone = next((u for u in plant.units if u.name == name and u.model == "thermal_zone"), None)
    if zone is None:
        raise EvaluationError(f"{unit.name} serves no zone; connect it to a thermal_zone")
    word, found = plant.state(zone, "temperature")
    if found is None:
        raise MissingQuantity(word)
    return found[:-1]


ENTRIES = {
    "air_handler": Entry(
        "air_handler",
        "air handler with economiser, coils and a fan, for sensible heat",
        SLOTS["air_handler"],
        _execute,
        connections={"bus": "electric", "heat_bus": "of its heating coil",
                     "cooling_bus": "of its cooling coil", "zone": "that it serves"},
        supplies={"zone": "cooling"},
        demands={"bus": "electric_power", "heat_bus": "heating_coil",
                 "cooling_bus": "cooling_coil"},
    )
}  # fmt: skip
