"""Machines of a plant as modules, and what moves their water and air."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

import numpy as np

from engiagent.environment.built import BUS, Built
from engiagent.errors import InputError
from engiagent.models.hvac.curves import Table, TableEfficiency
from engiagent.models.hvac.fluids import YorkCalcTower
from engiagent.models.systems import electrical, thermal
from engiagent.models.systems.system import Domain, Module
from engiagent.verify.plants import buildings, generators, machines
from engiagent.verify.plants.unit import Unit


def _part_load(unit: Unit) -> Table | None:
    """Return the table of a machine's input by part load, None where there is none."""
    ratios, shares = unit.table("part_load"), unit.table("part_load_power")
    return None if ratios is None or shares is None else Table(ratios, shares)


def _serve(site: Built, unit: Unit, port: str, way: str, *, asked: str | None = None) -> None:
    """Put what a machine gives on its bus, or into the zone that it serves."""
    zone = unit.connections.get("zone")
    if zone is not None:
        site.put(f"{zone}.{way}", f"{unit.name}.{port}", "thermal")
    else:
        site.join(unit, port, BUS[way == "cooling"], asked=asked)


def _converter(site: Built, unit: Unit) -> None:
    most = unit.largest("electric_power_max")
    cools = unit.model == "cooler"
    word, way = ("cooling", "cooling") if cools else ("heat", "heating")
    site.modules[unit.name] = thermal.converter(most, cooling=cools)
    site.given(unit, "cop")
    site.action(f"{unit.name}.electric_power", most)
    site.join(unit, "electric_power", "bus")
    _serve(site, unit, word, way)
    site.shown(unit, word)


def _machine(site: Built, unit: Unit, module: Module, word: str, capacity: float) -> None:
    """Add a machine that is asked for what its bus leaves, by ``load``, and gives ``word``."""
    count = _several(site, unit, module, capacity)
    rest = None if unit.connections.get("zone") is None else 0.0
    site.action(f"{unit.name}.{word}", count * capacity, writes=f"{unit.name}.load", rest=rest)
    _serve(site, unit, word, "cooling" if word == "cooling" else "heating", asked="load")
    ports = [port.name for port in module.ports]
    if "electric_power" in ports:
        site.join(unit, "electric_power", "bus")
    words = ("electric_power", "fuel", "heat_rejected", "source_heat")
    site.shown(unit, *(port for port in ports if port in words))


def _several(site: Built, unit: Unit, module: Module, capacity: float) -> int:
    """Add a machine, or as many alike as there are, and return how many that is."""
    count = round(unit.single("count") or 1.0) if "count" in unit.slots else 1
    alike = thermal.several(module, count, capacity) if count > 1 else module
    site.modules[unit.name] = alike
    return count


def _heat_pump(site: Built, unit: Unit) -> None:
    table = _part_load(unit)
    capacity = unit.largest("rated_capacity")
    pump, source, sink = machines.heat_pump(unit)
    curves = unit.given("capacity_curve", "modulation_curve")
    if not curves and (table is not None or not unit.need("minimum_part_load")):
        # At any load the coefficient is that of the temperatures, known for all periods.
        cop = pump.full_load_cop(source, sink)
        module = thermal.stated_heat_pump(capacity, unit.need("standby_power"), table)
        _machine(site, unit, module, "heat", capacity)
        site.driven(unit, "cop", "1", f"{unit.name}.cop", cop)
        return
    if unit.given("cop") or table is not None:
        what = "a cop by period" if table is None else "a table of part load"
        raise InputError(f"{unit.name} has {what} and curves", expected="carnot_fraction")
    _machine(site, unit, thermal.heat_pump(pump), "heat", capacity)
    for end in ("source", "sink"):
        site.given(unit, f"{end}_temperature", end)


def _chiller(site: Built, unit: Unit) -> None:
    capacity, cop = unit.need("rated_capacity"), unit.need("rated_cop")
    model = replace(machines.chiller(unit), rated_capacity=capacity, rated_cop=cop)
    if (table := _part_load(unit)) is not None:
        model = replace(model, part_load_curve=table, minimum_part_load=0.0, minimum_unloading=None)
    rejects = unit.connections.get("heat_bus") is not None
    module = thermal.chiller(model, condenser_bus=rejects)
    _machine(site, unit, module, "cooling", capacity)
    if rejects:
        site.join(unit, "heat_rejected", "heat_bus")
    for end in ("leaving", "entering"):
        site.given(unit, f"{end}_temperature", end)


def _boiler(site: Built, unit: Unit) -> None:
    model = machines.boiler(unit)
    if (table := _part_load(unit)) is not None:
        model = replace(model, efficiency_curve=TableEfficiency(table), minimum_part_load=0.0)
    _machine(site, unit, thermal.boiler(model), "heat", unit.need("rated_capacity"))
    site.join(unit, "fuel", "fuel_bus" if unit.connections.get("fuel_bus") else "bus")
    curved = unit.given("efficiency_curve")
    water = unit.series("water_temperature") if curved else np.zeros(1)
    site.driven(unit, "water_temperature", "degC", f"{unit.name}.water", water)


def _cogeneration(site: Built, unit: Unit) -> None:
    name = unit.name
    if unit.model == "chp":
        engine = generators.engine(unit)
        site.modules[name], most = thermal.engine(engine), engine.rated_power
        site.shown(unit, "heat")
    else:
        turbine = generators.turbine(unit)
        site.modules[name], most = thermal.turbine(turbine), turbine.condensing_power_max
        warmest = float(turbine.polygon()[:, 0].max())
        site.action(f"{name}.heat", warmest, writes=f"{name}.heating")
    site.action(f"{name}.power", most, writes=f"{name}.load")
    site.join(unit, "power", "bus")
    _serve(site, unit, "heat", "heating")
    site.join(unit, "fuel", "fuel_bus")
    site.shown(unit, "fuel")


def _genset(site: Built, unit: Unit) -> None:
    name, base = unit.name, generators.fuel_unit(unit)
    model, count = generators.genset(unit, base), round(unit.need("count"))
    known = base == "kWh" or unit.given("heating_value")
    if not known and unit.connections.get("fuel_bus") not in (None, "none"):
        raise InputError(f"{name} has no heating_value", expected="kWh/l, for the fuel bus")
    first = unit.need("initial_power") if unit.given("initial_power") else -1.0
    before, value = (unit.need("initially_on"), first), model.heating_value if known else 0.0
    rate = generators.rate(unit, model, base)
    site.modules[name] = electrical.generating_set(model, rate, count, value, before)
    site.action(f"{name}.power", count * model.rated_power, writes=f"{name}.load")
    site.action(f"{name}.on", count, writes=f"{name}.commit", unit="1", rest=None)
    site.join(unit, "power", "bus")
    site.join(unit, "burnt", "fuel_bus")
    site.seen(f"{name}.fuel", "kW" if base == "kWh" else f"{base}/h", f"{name}.fuel")
    if unit.given("emission_factor"):
        factor, per = f"{name}.emission_factor", f"kg/{base}"
        site.driven(unit, "emission_factor", per, factor, unit.series("emission_factor", per))
        site.seen(f"{name}.emissions", "kg/h", f"{name}.emissions")


def _fan(site: Built, unit: Unit) -> None:
    most, least = unit.need("rated_flow"), unit.need("minimum_flow")
    domain: Domain = "water" if unit.model == "pump" else "air"
    count = _several(site, unit, thermal.fan(machines.fan(unit), least, domain), most)
    site.action(f"{unit.name}.flow", count * most, writes=f"{unit.name}.load", unit="kg/s")
    site.join(unit, "electric_power", "bus")
    site.shown(unit, "electric_power")


def _tower(site: Built, unit: Unit) -> None:
    tower = YorkCalcTower(**unit.numbers("rated_water_flow", "rated_fan_power", "fan_exponent"))
    site.modules[unit.name] = thermal.cooling_tower(tower)
    site.given(unit, "wet_bulb_temperature")
    stated = unit.slot("water_flow")
    flow = unit.series("rated_water_flow") if stated is None else stated
    site.driven(unit, "water_flow", "kg/s", f"{unit.name}.water_flow", flow)
    site.action(f"{unit.name}.speed", 1.0, unit="1", rest=1.0)
    site.join(unit, "heat_rejected", "heat_bus")
    site.join(unit, "electric_power", "bus")
    site.shown(unit, "heat_rejected", "electric_power")
    water = f"{unit.name}.water_temperature"
    site.seen(water, "degC", water)


def _emitter(site: Built, unit: Unit) -> None:
    cools = "cooling_bus" in unit.connections
    most = unit.largest("power_max")
    site.modules[unit.name] = thermal.emitter(most, cooling=cools)
    word, way = ("cooling", "cooling") if cools else ("heat", "heating")
    site.action(f"{unit.name}.{word}", most, port=f"{unit.name}.power")
    site.join(unit, "power", BUS[cools])
    zone = unit.connections.get("zone")
    if zone is None:
        raise InputError(f"{unit.name} serves no zone", expected="zone: its name")
    site.put(f"{zone}.{way}", f"{unit.name}.room", "thermal")


def _air_handler(site: Built, unit: Unit) -> None:
    name, warmest, rated = unit.name, {}, unit.need("rated_flow")
    least = unit.need("minimum_flow") * rated
    boxes = [other for other in site.units if other.connections.get("air_handler") == name]
    for part in boxes or [unit]:
        own, full = part.name, f"{name}.{part.name}"
        low, high, warmest[own] = least, rated, np.inf
        if boxes:
            low, high = float(part.series("flow_min").min()), part.largest("flow_max")
            warmest[own] = part.largest("discharge_temperature_max")
            site.action(f"{own}.reheat", part.largest("reheat_max"), port=f"{full}.reheat")
            site.put(part.connections.get("heat_bus"), f"{full}.reheat", "thermal")
            site.seen(f"{own}.cooling", "kW", f"{full}.cooling")
            site.put(f"{name}_air", f"{full}.flow", "air")
        site.action(f"{own}.flow", high, lower=low, rest=low, unit="kg/s", port=f"{full}.flow")
        zone = buildings.partner(part, "zone", "thermal_zone")
        site.wires[f"{full}.room"] = zone.names("temperature")[0]
        site.put(f"{zone.name}.cooling", f"{full}.cooling", "thermal")
    low, word = float(unit.series("outdoor_share_min").min()), f"{name}.outdoor_share"
    site.action(word, unit.largest("outdoor_share_max"), lower=low, rest=low, unit="1")
    low = float(unit.series("supply_temperature_min").min())
    ends, word = (low, unit.largest("supply_temperature_max")), f"{name}.supply_temperature"
    site.action(word, ends[1], lower=low, rest=None, unit="degC", writes=f"{name}.set_point")
    coils = unit.largest("heating_power_max"), unit.largest("cooling_power_max")
    site.modules[name] = thermal.air_handler(machines.fan(unit), least, ends, coils, warmest)
    if boxes:
        site.put(f"{name}_air", f"{name}.flow", "air")
    site.given(unit, "outdoor_temperature", "outdoor")
    for word, text in (("flow", "kg/s"), ("mixed_temperature", "degC"), ("cooling", "kW")):
        site.seen(f"{name}.{word}", text, f"{name}.{word}")
    flows = {"heating_coil": "heat_bus", "cooling_coil": "cooling_bus", "electric_power": "bus"}
    for word, bus in flows.items():
        site.join(unit, word, bus)
    site.shown(unit, *flows)


def _box(site: Built, unit: Unit) -> None:
    buildings.partner(unit, "air_handler", "air_handler")  # which blows through it


FAMILIES: Final[Mapping[str, Callable[[Built, Unit], None]]] = {
    "air_handler": _air_handler,
    "boiler": _boiler,
    "chiller": _chiller,
    "chp": _cogeneration,
    "cooler": _converter,
    "cooling_tower": _tower,
    "emitter": _emitter,
    "extraction_chp": _cogeneration,
    "fan": _fan,
    "genset": _genset,
    "heat_pump": _heat_pump,
    "heater": _converter,
    "pump": _fan,
    "vav_box": _box,
}
