"""Combined heat and power: engines by part load, extraction-condensing turbines."""

import numpy as np

from engiagent.models.engines import ExtractionChp, PartLoadChp
from engiagent.verify.frames import EvaluationError
from engiagent.verify.plants.entry import Entry
from engiagent.verify.plants.run import Run
from engiagent.verify.plants.switching import ONLY_WITH, switched
from engiagent.verify.plants.unit import Unit

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


def _execute_engine(unit: Unit) -> Run:
    load, electric, thermal = (unit.table(name) for name in TABLES)
    if load is None or electric is None or thermal is None:
        raise EvaluationError(f"{unit.name} has no efficiencies; give {', '.join(TABLES)}")
    chp = PartLoadChp(
        rated_power=unit.need("rated_power"),
        load=load,
        electric_efficiency=electric,
        thermal_efficiency=thermal,
    )
    rated = chp.rated_power
    given, power = unit.decision("power"), unit.flow("power")
    state = switched(unit, power, 1e-6 * rated)
    own = state.each(power)
    exact = chp.output(own)
    # The plan goes straight between even steps from the least load to full load.
    knots = np.linspace(chp.minimum_power, rated, int(unit.need("segments")) + 1)
    steps = chp.output(knots)
    fuel, heat = (np.interp(own, knots, values) for values in (steps.fuel, steps.heat))
    # Heat may be thrown away where the plan says so.
    thrown = unit.optional("dumped")
    excesses = (
        *unit.between("dumped", thrown, state.on * heat, rated, "more than there is"),
        unit.sign("power", given, rated),
        unit.excess(
            "capacity",
            "power",
            given - state.on * rated,
            rated,
            "above the rated power of what runs",
        ),
        unit.excess(
            "least",
            "power",
            state.on * chp.minimum_power - power,
            rated,
            "below the least load of what runs",
        ),
    )
    results = (
        unit.result(
            "heat", state.on * heat - thrown, "its power", exact=state.on * exact.heat - thrown
        ),
        unit.result("fuel", state.on * fuel, "its power", exact=state.on * exact.fuel),
        *state.results,
    )
    return Run((), results, (*excesses, *state.excesses))


def _execute_turbine(unit: Unit) -> Run:
    heat_max = unit.single("heat_max")
    chp = ExtractionChp(
        **unit.numbers(
            "condensing_power_max",
            "condensing_power_min",
            "power_loss",
            "power_to_heat",
            "back_pressure_offset",
        ),
        heat_max=np.inf if heat_max is None else heat_max,
        **unit.numbers("fuel_slope", "fuel_no_load", "fuel_quadratic"),
    )
    scale = chp.condensing_power_max
    power, heat = unit.decision("power"), unit.decision("heat")
    state = switched(unit, np.maximum(power, heat), 1e-6 * scale)
    own, warmth = state.each(power), state.each(heat)
    fuel = state.on * chp.fuel(np.maximum(own, 0.0), np.maximum(warmth, 0.0))
    region = chp.excess(own, warmth)
    name = f"operating region of {unit.name}"
    excesses = [
        unit.fault("region", name, state.on * region[:, k], "kW", scale, words, part=f".{k}")
        for k, words in enumerate(HALFPLANES[: region.shape[1]])
    ]
    excesses += [
        unit.excess(
            "standing",
            word,
            np.where(state.on > 0, 0.0, np.abs(series)),
            scale,
            "given while the unit stands,",
        )
        for word, series in (("power", power), ("heat", heat))
    ]
    results = (unit.result("fuel", fuel, "its power and heat"), *state.results)
    return Run((), results, (*excesses, *state.excesses))


SUPPLIES = {"bus": "power", "heat_bus": "heat", "zone": "heat"}

ENTRIES = {
    "chp": Entry(
        _execute_engine, supplies=SUPPLIES, demands={"fuel_bus": "fuel"}, only_with=ONLY_WITH
    ),
    "extraction_chp": Entry(
        _execute_turbine, supplies=SUPPLIES, demands={"fuel_bus": "fuel"}, only_with=ONLY_WITH
    ),
}
