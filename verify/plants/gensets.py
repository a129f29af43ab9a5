"""Generating sets: fuel by power, least load, ramps, starts, least times."""

from collections.abc import Iterator

import numpy as np

from engiagent.models.engines import Genset, GensetState
from engiagent.verify.frames import EvaluationError
from engiagent.verify.plants.entry import Entry
from engiagent.verify.plants.run import Excess, Run
from engiagent.verify.plants.switching import ONLY_WITH, Switched, switched
from engiagent.verify.plants.unit import Unit
from engiagent.verify.values import Floats

FUELS = ("l", "kg", "kWh")
"""In which fuel may be counted; cubic metres are litres."""
UNKNOWN = 1e9
"""Stands for a heating value that nobody gives, so that no efficiency is judged by it."""


def fuel_unit(unit: Unit) -> str:
    """Return the unit in which the fuel of a set is counted."""
    slot = "fuel_rate" if unit.given("fuel_rate") else "fuel_slope"
    for base in FUELS:
        try:
            if slot == "fuel_slope":
                unit.series(slot, f"{base}/kWh")
            else:
                unit.table(slot, f"{base}/h")
        except EvaluationError:
            continue
        return base
    raise EvaluationError(
        f"{slot} of {unit.name} is no fuel; give fuel_slope in l/kWh, kg/kWh or kWh/kWh, or the "
        "table fuel_power and fuel_rate"
    )


def genset(unit: Unit, base: str) -> Genset:
    """Return the model of a set whose fuel is counted in a unit."""

    def fuel(slot: str, per: str) -> float:
        found = None if slot not in unit.parameters else unit.slot(slot, f"{base}{per}")
        return 0.0 if found is None else float(found[0])

    slope = 1.0 if unit.given("fuel_rate") else fuel("fuel_slope", "/kWh")
    value = 1.0 if base == "kWh" else UNKNOWN
    if unit.given("heating_value"):
        found = unit.slot("heating_value", f"kWh/{base}")
        value = value if found is None else float(found[0])
    ramps = [unit.single(f"ramp_{way}") for way in ("up", "down")]
    return Genset(
        rated_power=unit.need("rated_power"),
        fuel_slope=slope,
        fuel_no_load=fuel("fuel_no_load", "/h"),
        fuel_quadratic=fuel("fuel_quadratic", "/(kW**2*h)"),
        heating_value=value,
        minimum_load=unit.need("minimum_load"),
        start_fuel=fuel("start_fuel", ""),
        ramp_up=np.inf if ramps[0] is None else ramps[0],
        ramp_down=np.inf if ramps[1] is None else ramps[1],
    )


def _execute(unit: Unit) -> Run:
    base = fuel_unit(unit)
    model = genset(unit, base)
    power, hours = unit.flow("power"), unit.hours
    state = switched(unit, power, 1e-6 * unit.need("rated_power"))
    before = np.concatenate(([state.was], state.on[:-1]))
    starts = np.maximum(state.on - before, 0.0)
    rate = state.on * _rate(unit, model, base, state, state.each(power))
    fuel = rate + np.asarray(model.start_fuel) * starts / hours
    text = "kW" if base == "kWh" else f"{base}/h"
    results = (unit.result("fuel", fuel, "its power and starts", unit=text), *state.results)
    if unit.given("emission_factor"):
        factor = unit.series("emission_factor", f"kg/{base}")
        results = (unit.result("emissions", factor * fuel, "its fuel"), *results)
    limits = tuple(_limits(unit, model, state, power))
    return Run((), results, (*limits, *state.excesses))


def _rate(unit: Unit, model: Genset, base: str, state: Switched, each: Floats) -> Floats:
    """Return the fuel of one running set per hour, by its curve or its table."""
    table = unit.table("fuel_rate", f"{base}/h")
    if table is None:
        return model.fuel_rate(each, state.on > 0)
    powers = unit.table("fuel_power")
    if powers is None or len(powers) != len(table):
        raise EvaluationError(f"{unit.name} needs one fuel_power for each fuel_rate")
    return state.running * np.interp(each, powers, table)


def _limits(unit: Unit, model: Genset, state: Switched, power: Floats) -> Iterator[Excess]:
    rated, given = unit.need("rated_power"), unit.decision("power")
    reserve = unit.claimed("reserve")
    if reserve is not None:
        most = unit.largest("reserve_max") * state.on
        spare = np.minimum(state.on * rated - given, np.where(state.on > 0, most, 0.0))
        yield unit.excess("limit", "reserve", reserve - spare, rated, "more than the set can add")
    yield unit.sign("power", given, rated)
    yield unit.excess(
        "capacity", "power", given - state.on * rated, rated, "above the rated power of what runs"
    )
    least = state.on * unit.need("minimum_load") * rated
    yield unit.excess("least", "power", least - power, rated, "below the least load of what runs")
    if np.isinf(model.ramp_up) and np.isinf(model.ramp_down):
        return
    if state.count > 1:
        raise EvaluationError(f"{unit.name} are several sets; a ramp is checked of a single one")
    begun = GensetState(running=state.was > 0, power=unit.need("initial_power"))
    ramp = model.excess(power, state.on, unit.hours, begun).ramp
    yield unit.excess("ramp", "power", ramp, rated, "beyond its ramp")


ENTRIES = {
    "genset": Entry(
        _execute,
        supplies={"bus": "power"},
        demands={"fuel_bus": "fuel"},
        only_with={**ONLY_WITH, "emissions": ("emission_factor",)},
    )
}
