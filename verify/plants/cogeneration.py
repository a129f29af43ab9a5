"""Combined heat and power: engines by part load, extraction-condensing turbines."""

from collections.abc import Sequence

import numpy as np

from engiagent.models.chp import ExtractionChp, PartLoadChp
from engiagent.verify.frames import EvaluationError
from engiagent.verify.levels.execution import Plant
from engiagent.verify.plants.entry import Entry
from engiagent.verify.plants.run import Excess, Run
from engiagent.verify.plants.slots import SLOTS
from engiagent.verify.plants.switching import ONLY_WITH, switched
from engiagent.verify.requirements import Dynamics

TABLES = ("load", "electric_efficiency", "thermal_efficiency")
HALFPLANES = (
    "more fuel than there is at most",
    "less fuel than while running",
    "beyond the back-pressure line",
    "no heat can be negative, off",
    "no power can be negative, off",
    "above the greatest heat",
)
"""In the order of ``ExtractionChp.halfplanes``."""


def _execute_engine(plant: Plant, group: Sequence[Dynamics]) -> Run:
    unit = group[0]
    load, electric, thermal = (plant.table(unit, name) for name in TABLES)
    if load is None or electric is None or thermal is None:
        raise EvaluationError(f"{unit.name} has no efficiencies; give {', '.join(TABLES)}")
    chp = PartLoadChp(
        rated_power=plant.need(unit, "rated_power"),
        load=load,
        electric_efficiency=electric,
        thermal_efficiency=thermal,
    )
    over, rated = plant.periods(unit), chp.rated_power
    given, power = plant.decision(unit, "power"), plant.flow(unit, "power")
    state = switched(plant, unit, power, 1e-6 * rated)
    each = chp.output(state.each(power))
    # Heat may be thrown away where the plan says so.
    told = plant.claimed(unit, "dumped")
    thrown = np.zeros(over.size) if told is None else told
    name, waste = f"{unit.name}.power", f"{unit.name}.dumped"
    excesses = (
        Excess(f"sign:{waste}", waste, -thrown, "kW", rated, over, "negative"),
        Excess(
            f"limit:{waste}",
            waste,
            thrown - state.on * each.heat,
            "kW",
            rated,
            over,
            "more than there is",
        ),
        Excess(f"sign:{name}", name, -given, "kW", rated, over, "negative"),
        Excess(
            f"capacity:{name}",
            name,
            given - state.on * rated,
            "kW",
            rated,
            over,
            "above the rated power of what runs",
        ),
        Excess(
            f"least:{name}",
            name,
            state.on * chp.minimum_power - power,
            "kW",
            rated,
            over,
            "below the least load of what runs",
        ),
    )
    results = (
        plant.result(unit, "heat", state.on * each.heat - thrown, "its power"),
        plant.result(unit, "fuel", state.on * each.fuel, "its power"),
        *state.results,
    )
    return Run((), results, (*excesses, *state.excesses))


def _execute_turbine(plant: Plant, group: Sequence[Dynamics]) -> Run:
    unit = group[0]
    heat_max = plant.single(unit, "heat_max")
    chp = ExtractionChp(
        condensing_power_max=plant.need(unit, "condensing_power_max"),
        condensing_power_min=plant.need(unit, "condensing_power_min"),
        power_loss=plant.need(unit, "power_loss"),
        power_to_heat=plant.need(unit, "power_to_heat"),
        back_pressure_offset=plant.need(unit, "back_pressure_offset"),
        heat_max=np.inf if heat_max is None else heat_max,
        fuel_slope=plant.need(unit, "fuel_slope"),
        fuel_no_load=plant.need(unit, "fuel_no_load"),
        fuel_quadratic=plant.need(unit, "fuel_quadratic"),
    )
    over, scale = plant.periods(unit), chp.condensing_power_max
    power, heat = plant.decision(unit, "power"), plant.decision(unit, "heat")
    state = switched(plant, unit, np.maximum(power, heat), 1e-6 * scale)
    own, warmth = state.each(power), state.each(heat)
    fuel = state.on * chp.fuel(np.maximum(own, 0.0), np.maximum(warmth, 0.0))
    region = chp.excess(own, warmth)
    excesses = [
        Excess(
            f"region:{unit.name}.{k}",
            f"operating region of {unit.name}",
            state.on * region[:, k],
            "kW",
            scale,
            over,
            words,
        )
        for k, words in enumerate(HALFPLANES[: region.shape[1]])
    ]
    excesses += [
        Excess(
            f"standing:{unit.name}.{word}",
            f"{unit.name}.{word}",
            np.where(state.on > 0, 0.0, np.abs(series)),
            "kW",
            scale,
            over,
            "given while the unit stands,",
        )
        for word, series in (("power", power), ("heat", heat))
    ]
    results = (plant.result(unit, "fuel", fuel, "its power and heat"), *state.results)
    return Run((), results, (*excesses, *state.excesses))


CONNECTIONS = {
    "bus": "electric",
    "heat_bus": "that it feeds",
    "zone": "that it serves",
    "fuel_bus": "of its fuel",
}
SUPPLIES = {"bus": "power", "heat_bus": "heat", "zone": "heat"}

ENTRIES = {
    "chp": Entry(
        "chp",
        "engine or back-pressure unit: the power fixes the heat",
        SLOTS["chp"],
        _execute_engine,
        connections=CONNECTIONS,
        supplies=SUPPLIES,
        demands={"fuel_bus": "fuel"},
        only_with=ONLY_WITH,
    ),
    "extraction_chp": Entry(
        "extraction_chp",
        "extraction-condensing turbine: power and heat within a region",
        SLOTS["extraction_chp"],
        _execute_turbine,
        connections=CONNECTIONS,
        supplies=SUPPLIES,
        demands={"fuel_bus": "fuel"},
        only_with=ONLY_WITH,
    ),
}
