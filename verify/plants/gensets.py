"""Generating sets: fuel by power, least load, ramps, starts, least times."""

from collections.abc import Iterator, Sequence

import numpy as np

from engiagent.models.genset import Genset, GensetState
from engiagent.verify.frames import EvaluationError
from engiagent.verify.levels.execution import Plant
from engiagent.verify.plants.entry import Entry
from engiagent.verify.plants.run import Excess, Run
from engiagent.verify.plants.slots import SLOTS
from engiagent.verify.plants.switching import ONLY_WITH, Switched, switched
from engiagent.verify.requirements import Dynamics
from engiagent.verify.values import Floats

FUELS = ("l", "kg", "kWh")
"""In which fuel may be counted; cubic metres are litres."""
UNKNOWN = 1e9
"""Stands for a heating value that nobody gives, so that no efficiency is judged by it."""


def fuel_unit(plant: Plant, unit: Dynamics) -> str:
    """Return the unit in which the fuel of a set is counted."""
    slot = "fuel_rate" if "fuel_rate" in unit.parameters else "fuel_slope"
    for base in FUELS:
        try:
            if slot == "fuel_slope":
                plant.series(unit, slot, f"{base}/kWh")
            else:
                plant.table(unit, slot, f"{base}/h")
        except EvaluationError:
            continue
        return base
    raise EvaluationError(
        f"{slot} of {unit.name} is no fuel; give fuel_slope in l/kWh, kg/kWh or kWh/kWh, or the "
        "table fuel_power and fuel_rate"
    )


def genset(plant: Plant, unit: Dynamics, base: str) -> Genset:
    """Return the model of a set whose fuel is counted in a unit."""

    def fuel(slot: str, per: str) -> float:
        found = None if slot not in unit.parameters else plant.slot(unit, slot, f"{base}{per}")
        return 0.0 if found is None else float(found[0])

    slope = 1.0 if "fuel_rate" in unit.parameters else fuel("fuel_slope", "/kWh")
    value = 1.0 if base == "kWh" else UNKNOWN
    if "heating_value" in unit.parameters:
        found = plant.slot(unit, "heating_value", f"kWh/{base}")
        value = value if found is None else float(found[0])
    ramps = [plant.single(unit, f"ramp_{way}") for way in ("up", "down")]
    return Genset(
        rated_power=plant.need(unit, "rated_power"),
        fuel_slope=slope,
        fuel_no_load=fuel("fuel_no_load", "/h"),
        fuel_quadratic=fuel("fuel_quadratic", "/(kW**2*h)"),
        heating_value=value,
        minimum_load=plant.need(unit, "minimum_load"),
        start_fuel=fuel("start_fuel", ""),
        ramp_up=np.inf if ramps[0] is None else ramps[0],
        ramp_down=np.inf if ramps[1] is None else ramps[1],
    )


def _execute(plant: Plant, group: Sequence[Dynamics]) -> Run:
    unit = group[0]
    base = fuel_unit(plant, unit)
    model, over = genset(plant, unit, base), plant.periods(unit)
    power, hours = plant.flow(unit, "power"), plant.hours(over)
    state = switched(plant, unit, power, 1e-6 * plant.need(unit, "rated_power"))
    before = np.concatenate(([state.was], state.on[:-1]))
    starts = np.maximum(state.on - before, 0.0)
    rate = state.on * _rate(plant, unit, model, base, state, state.each(power))
    fuel = rate + np.asarray(model.start_fuel) * starts / hours
    text = "kW" if base == "kWh" else f"{base}/h"
    results = (plant.result(unit, "fuel", fuel, "its power and starts", text), *state.results)
    if "emission_factor" in unit.parameters:
        factor = plant.series(unit, "emission_factor", f"kg/{base}")
        results = (plant.result(unit, "emissions", factor * fuel, "its fuel"), *results)
    limits = tuple(_limits(plant, unit, model, state, power))
    return Run((), results, (*limits, *state.excesses))


def _rate(
    plant: Plant, unit: Dynamics, model: Genset, base: str, state: Switched, each: Floats
) -> Floats:
    """Return the fuel of one running set per hour, by its curve or its table."""
    table = plant.table(unit, "fuel_rate", f"{base}/h")
    if table is None:
        return model.fuel_rate(each, state.on > 0)
    powers = plant.table(unit, "fuel_power")
    if powers is None or len(powers) != len(table):
        raise EvaluationError(f"{unit.name} needs one fuel_power for each fuel_rate")
    return state.running * np.interp(each, powers, table)


def _limits(
    plant: Plant, unit: Dynamics, model: Genset, state: Switched, power: Floats
) -> Iterator[Excess]:
    over, rated = plant.periods(unit), plant.need(unit, "rated_power")
    name, given = f"{unit.name}.power", plant.decision(unit, "power")
    reserve = plant.claimed(unit, "reserve")
    if reserve is not None:
        most = plant.largest(unit, "reserve_max") * state.on
        spare = np.minimum(state.on * rated - given, np.where(state.on > 0, most, 0.0))
        yield Excess(
            f"limit:{unit.name}.reserve",
            f"{unit.name}.reserve",
            reserve - spare,
            "kW",
            rated,
            over,
            "more than the set can add",
        )
    yield Excess(f"sign:{name}", name, -given, "kW", rated, over, "negative")
    yield Excess(
        f"capacity:{name}",
        name,
        given - state.on * rated,
        "kW",
        rated,
        over,
        "above the rated power of what runs",
    )
    least = state.on * plant.need(unit, "minimum_load") * rated
    yield Excess(
        f"least:{name}", name, least - power, "kW", rated, over, "below the least load of what runs"
    )
    if np.isinf(model.ramp_up) and np.isinf(model.ramp_down):
        return
    if state.count > 1:
        raise EvaluationError(f"{unit.name} are several sets; a ramp is checked of a single one")
    begun = GensetState(running=state.was > 0, power=plant.need(unit, "initial_power"))
    ramp = model.excess(power, state.on, plant.hours(over), begun).ramp
    yield Excess(f"ramp:{name}", name, ramp, "kW", rated, over, "beyond its ramp")


ENTRIES = {
    "genset": Entry(
        "genset",
        "generating set with a fuel curve",
        SLOTS["genset"],
        _execute,
        connections={"bus": "electric", "fuel_bus": "of a fuel that is counted by its energy"},
        supplies={"bus": "power"},
        demands={"fuel_bus": "fuel"},
        only_with={**ONLY_WITH, "emissions": ("emission_factor",)},
    )
}
