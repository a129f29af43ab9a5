"""Generating sets, combined heat and power, and what the weather gives."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from engiagent.models.engines import ExtractionChp, Genset, GensetState, PartLoadChp
from engiagent.models.renewables import PVWATTS_LOSS, PvArray, WindTurbine
from engiagent.verify.frames import EvaluationError
from engiagent.verify.plants import Entry
from engiagent.verify.plants.run import Excess, Run
from engiagent.verify.plants.switching import ONLY_WITH, Switched, running_limits, switched
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


def _content(unit: Unit) -> tuple[float, str]:
    base = fuel_unit(unit)
    value = genset(unit, base).heating_value
    if value == UNKNOWN:
        raise EvaluationError(f"{unit.name} needs a heating_value for its fuel bus")
    return value, f"kWh/{base}"


def _genset(unit: Unit) -> Run:
    base = fuel_unit(unit)
    model = genset(unit, base)
    power, hours = unit.flow("power"), unit.hours
    state = switched(unit, power, 1e-6 * unit.need("rated_power"))
    fuel = state.on * rate(unit, model, base)(state.each(power))
    fuel = fuel + np.asarray(model.start_fuel) * state.starts / hours
    text = "kW" if base == "kWh" else f"{base}/h"
    results = (unit.result("fuel", fuel, "its power and starts", unit=text), *state.results)
    if unit.given("emission_factor"):
        factor = unit.series("emission_factor", f"kg/{base}")
        results = (unit.result("emissions", factor * fuel, "its fuel"), *results)
    limits = tuple(_limits(unit, model, state, power))
    return Run((), results, (*limits, *state.excesses))


def rate(unit: Unit, model: Genset, base: str) -> Callable[[Any], Floats]:
    """Return the fuel of one running set per hour by its power, of its curve or its table."""
    table, powers = unit.table("fuel_rate", f"{base}/h"), unit.table("fuel_power")
    if table is None:
        return lambda power: model.fuel_rate(power, True)
    if powers is None or len(powers) != len(table):
        raise EvaluationError(f"{unit.name} needs one fuel_power for each fuel_rate")
    return lambda power: np.interp(power, powers, table)


def _limits(unit: Unit, model: Genset, state: Switched, power: Floats) -> Iterator[Excess]:
    rated, given = unit.need("rated_power"), unit.decision("power")
    reserve = unit.claimed("reserve")
    if reserve is not None:
        most = unit.largest("reserve_max") * state.on
        spare = np.minimum(state.on * rated - given, np.where(state.on > 0, most, 0.0))
        yield unit.excess("limit", "reserve", reserve - spare, rated, "more than the set can add")
    least = unit.need("minimum_load") * rated
    yield from running_limits(unit, state, "power", given, rated, (least, rated))
    if np.isinf(model.ramp_up) and np.isinf(model.ramp_down):
        return
    if state.count > 1:
        raise EvaluationError(f"{unit.name} are several sets; a ramp is checked of a single one")
    begun = GensetState(running=state.was > 0, power=unit.need("initial_power"))
    ramp = model.excess(power, state.on, unit.hours, begun).ramp
    yield unit.excess("ramp", "power", ramp, rated, "beyond its ramp")


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


def engine(unit: Unit) -> PartLoadChp:
    """Return the model of an engine with heat."""
    load, electric, thermal = (unit.table(name) for name in TABLES)
    if load is None or electric is None or thermal is None:
        raise EvaluationError(f"{unit.name} has no efficiencies; give {', '.join(TABLES)}")
    return PartLoadChp(
        rated_power=unit.need("rated_power"),
        load=load,
        electric_efficiency=electric,
        thermal_efficiency=thermal,
    )


def _engine(unit: Unit) -> Run:
    chp = engine(unit)
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
        *running_limits(unit, state, "power", given, rated, (chp.minimum_power, rated)),
    )
    warmth, better = (state.on * one - thrown for one in (heat, exact.heat))
    results = (
        unit.result("heat", warmth, "its power", exact=better),
        unit.result("fuel", state.on * fuel, "its power", exact=state.on * exact.fuel),
        *state.results,
    )
    return Run((), results, (*excesses, *state.excesses))


def turbine(unit: Unit) -> ExtractionChp:
    """Return the model of an extraction turbine."""
    heat_max = unit.single("heat_max")
    return ExtractionChp(
        **unit.numbers("condensing_power_max", "condensing_power_min", "power_loss"),
        **unit.numbers("power_to_heat", "back_pressure_offset"),
        heat_max=np.inf if heat_max is None else heat_max,
        **unit.numbers("fuel_slope", "fuel_no_load", "fuel_quadratic"),
    )


def _turbine(unit: Unit) -> Run:
    chp = turbine(unit)
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
    words = "given while the unit stands,"
    excesses += [
        unit.excess("standing", word, np.where(state.on > 0, 0.0, np.abs(given)), scale, words)
        for word, given in (("power", power), ("heat", heat))
    ]
    results = (unit.result("fuel", fuel, "its power and heat"), *state.results)
    return Run((), results, (*excesses, *state.excesses))


Available = Callable[[Unit], Floats]


def _profile(unit: Unit) -> Floats:
    return unit.series("available_power")


def _pv(unit: Unit) -> Floats:
    losses = unit.single("losses")
    array = PvArray(
        dc_capacity=unit.need("dc_capacity"),
        ac_capacity=unit.largest("ac_capacity"),
        temperature_coefficient=unit.need("temperature_coefficient"),
        losses=PVWATTS_LOSS if losses is None else losses,
        **unit.numbers("inverter_efficiency", "heat_loss", "heat_loss_by_wind"),
    )
    weather = (unit.series(name) for name in ("irradiance", "air_temperature", "wind_speed"))
    return array.power(*weather)


def _wind(unit: Unit) -> Floats:
    speeds, powers = unit.table("speeds"), unit.table("powers")
    if speeds is None or powers is None:
        raise EvaluationError(f"{unit.name} has no power curve; give speeds and powers")
    turbine = WindTurbine(
        speeds=speeds,
        powers=powers,
        restart_speed=unit.single("restart_speed"),
        **unit.numbers("reference_density", "losses"),
    )
    wind = unit.series("wind_speed")
    return turbine.power(wind, unit.slot("air_density"), turbine.running(wind))


def _source(available: Available, unit: Unit) -> Run:
    most = available(unit)
    power, curtailed = unit.claimed("power"), unit.claimed("curtailed")
    if power is None:
        power = most if curtailed is None else most - curtailed
    scale = float(abs(most).max(initial=0.0))
    excesses = [
        excess
        for word, series in (("power", power), ("curtailed", most - power))
        if available is not _profile  # whose declared series its limits bound
        for excess in unit.between(word, series, most, scale, "above what is available")
    ]
    if not unit.flag("curtailable"):
        name, words = f"{unit.name}.power", "less than what has to be taken"
        excesses.append(unit.fault("all", name, most - power, "kW", scale, words))
    results = (
        unit.result("power", power, "what is available less what is curtailed"),
        unit.result("curtailed", most - power, "what is available less the power"),
    )
    return Run((), results, tuple(excesses))


def _weather(available: Available, limits: tuple[tuple[str, str], ...] = ()) -> Entry:
    execute = partial(_source, available)
    return Entry(execute, limits=limits, supplies={"bus": "power"}, answered=("power",))


PROFILE = (("power", "available_power"), ("curtailed", "available_power"))
COGENERATED = {"bus": "power", "heat_bus": "heat", "zone": "heat"}
FUEL = {"fuel_bus": "fuel"}
BURNT = {**ONLY_WITH, "emissions": ("emission_factor",)}
ENTRIES = {
    "genset": Entry(
        _genset,
        supplies={"bus": "power"},
        demands=FUEL,
        contents={"fuel": _content},
        only_with=BURNT,
    ),
    "chp": Entry(_engine, supplies=COGENERATED, demands=FUEL, only_with=ONLY_WITH),
    "extraction_chp": Entry(_turbine, supplies=COGENERATED, demands=FUEL, only_with=ONLY_WITH),
    "generator_profile": _weather(_profile, PROFILE),
    "pv": _weather(_pv),
    "wind_turbine": _weather(_wind),
}
