"""Terminals, demands, sources and stores of a plant as modules."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

import numpy as np

from engiagent.environment.built import BUS, CHARGING, Built, Name, domain_of
from engiagent.environment.interface import Signal
from engiagent.errors import InputError
from engiagent.models.systems import electrical, thermal
from engiagent.models.systems.system import Module
from engiagent.verify.plants import buildings, generators, stores, tanks
from engiagent.verify.plants.unit import Unit


def _grid(site: Built, unit: Unit) -> None:
    domain, cold = domain_of(site, unit)
    site.modules[unit.name] = electrical.grid(domain, cold=cold)
    site.join(unit, "exchange", "bus")
    for way, sign in (("import", 1.0), ("export", -1.0)):
        site.shown(unit, way)
        site.priced(unit, f"{way}_price", way, sign)
    if unit.given("emission_factor"):
        factor = f"{unit.name}.emission_factor"
        site.series[factor] = unit.series("emission_factor")
        site.names[factor] = Name(Signal("kg/kWh", "disturbance"), reads=factor)


def _load(site: Built, unit: Unit) -> None:
    domain, cold = domain_of(site, unit)
    site.modules[unit.name] = electrical.load(domain, cold=cold)
    site.given(unit, "power")
    site.join(unit, "power", "bus")


def _flexible(site: Built, unit: Unit) -> None:
    name, demand, ends = unit.name, unit.series("power"), (np.inf, np.inf)
    if unit.model == "shiftable_load":
        ways = {way: (f"shift_{way}", unit.series(f"shift_{way}_max")) for way in ("up", "down")}
        ends = unit.largest("ahead_energy_max"), unit.largest("delayed_energy_max")
        signal = Signal("kWh", "state", None, -ends[1], ends[0])
        site.names[f"{name}.shifted_energy"] = Name(signal, reads=f"{name}.shifted_energy")
    else:
        ways = {"down": ("unmet", unit.series("curtailable_share") * demand)}
        site.priced(unit, "lost_load_value", "unmet")
    _uncooled(site, unit, electrical.flexible_load(*ends))
    site.driven(unit, "demand", "kW", f"{name}.demand", demand)
    site.series[f"{name}.up_max"] = np.zeros(demand.size)
    for way, (word, most) in ways.items():
        site.series[f"{name}.{way}_max"] = most
        site.action(f"{name}.{word}", most.max(), port=f"{name}.{way}")


def _job(site: Built, unit: Unit) -> None:
    latest = unit.single("latest")
    window = unit.need("earliest"), float(unit.hours.sum()) if latest is None else latest
    power, hours, runs = (unit.need(slot) for slot in ("power", "duration", "runs"))
    _uncooled(site, unit, electrical.job(power, hours, window, round(runs)))
    site.action(f"{unit.name}.begin", 1.0, unit="1", rest=1.0)


def _uncooled(site: Built, unit: Unit, module: Module) -> None:
    """Add a demand on a bus of anything but cold."""
    if domain_of(site, unit)[1]:
        raise InputError(f"{unit.name} is a {unit.model} on a bus of cold", expected="a load")
    site.modules[unit.name] = module
    site.join(unit, "power", "bus")
    site.shown(unit, "power")


def _demand_response(site: Built, unit: Unit) -> None:
    site.modules[unit.name] = electrical.demand_response()
    metered = buildings.partner(unit, "grid", "grid").name
    site.wires |= {f"{unit.name}.{way}": f"{metered}.{way}" for way in ("import", "export")}
    site.given(unit, "event")
    site.given(unit, "baseline")
    slot = "reduction_max" if unit.given("reduction_max") else "baseline"
    site.series[f"{unit.name}.reduction_max"] = unit.series(slot)
    site.shown(unit, "reduction")
    site.priced(unit, "reward", "reduction", -1.0)


_AVAILABLE: Final[Mapping[str, Callable[[Unit], Any]]] = {
    "generator_profile": generators._profile,
    "pv": generators._pv,
    "wind_turbine": generators._wind,
}


def _source(site: Built, unit: Unit) -> None:
    site.modules[unit.name] = electrical.source()
    available = _AVAILABLE[unit.model](unit)
    site.driven(unit, "available_power", "kW", f"{unit.name}.profile", available)
    site.action(f"{unit.name}.power", writes=f"{unit.name}.limit", rest=None)
    site.join(unit, "power", "bus")


def _battery(site: Built, unit: Unit) -> None:
    model, loss = stores.store(unit), None
    if unit.given(*stores.LOSSES):
        model = replace(model, charge_efficiency=1.0, discharge_efficiency=1.0)
        loss = stores.converter(unit)
        site.shown(unit, "loss")
    model = replace(model, initial_energy=unit.need("initial_energy"))
    site.modules[unit.name] = electrical.battery(model, loss=loss)
    _ways(site, unit, "bus")
    _content(site, unit, "state_of_charge", unit.need("energy_capacity"))


def _ways(site: Built, unit: Unit, connection: str, ways: tuple[str, ...] = CHARGING) -> None:
    """Name charge and discharge and put them on a bus."""
    for way in ways:
        limit = f"{way}_power_max"
        site.action(f"{unit.name}.{way}", unit.largest(limit) if limit in unit.slots else np.inf)
        site.join(unit, way, connection)


def _content(site: Built, unit: Unit, word: str, most: float) -> None:
    """Name the content of a store."""
    signal = Signal("kWh", "state", None, 0.0, most)
    site.names[f"{unit.name}.{word}"] = Name(signal, reads=f"{unit.name}.energy")


def _thermal_store(site: Built, unit: Unit) -> None:
    ice, zones = unit.model == "ice_tank", unit.model == "two_zone_tank"
    cold = ice or tanks.cold(unit)
    if unit.given("charge_curve", "discharge_curve", "charge_limit", "discharge_limit"):
        raise InputError(f"{unit.name} has limits by its content, which are not simulated")
    if zones:
        model = tanks.zones(unit)
        start = unit.need("initial_fraction") * model.energy_capacity
        site.series[f"{unit.name}.standing"] = np.ones(unit.periods.size) * tanks.standing(unit)
    else:
        model = tanks.ice(unit) if ice else stores.store(unit)
        start = unit.need("initial_energy")
    model = replace(model, initial_energy=start)
    store = electrical.battery(model, domain="thermal", cold=cold, standing=zones)
    site.modules[unit.name] = store
    _ways(site, unit, BUS[cold])
    _content(site, unit, "energy", model.energy_capacity)


def _tank(site: Built, unit: Unit) -> None:
    cold, drawn = tanks.cold(unit), unit.model == "hot_water_tank"
    ways = CHARGING[:1] if drawn else CHARGING
    limits = {way: unit.largest(f"{way}_power_max") if way in ways else 0.0 for way in CHARGING}
    initial = unit.need("initial_temperature")
    module = thermal.tank(tanks.body(unit), initial, limits, cold=cold)
    site.modules[unit.name] = module
    _ways(site, unit, BUS[cold], ways)
    if drawn:
        site.put(None, f"{unit.name}.discharge", "thermal")
        site.driven(unit, "draw", "kW", f"{unit.name}.draw", tanks.draw_heat(unit))
    site.given(unit, "ambient_temperature", "ambient")
    site.seen(f"{unit.name}.temperature", "degC", f"{unit.name}.temperature", "state")


def _ev(site: Built, unit: Unit) -> None:
    site.modules[unit.name] = electrical.vehicle(stores.vehicle(unit), stores.stays(unit))
    _ways(site, unit, "bus")
    _content(site, unit, "state_of_charge", unit.need("energy_capacity"))


FAMILIES: Final[Mapping[str, Callable[[Built, Unit], None]]] = {
    "battery": _battery,
    "curtailable_load": _flexible,
    "demand_response": _demand_response,
    "ev": _ev,
    "generator_profile": _source,
    "grid": _grid,
    "hot_water_tank": _tank,
    "ice_tank": _thermal_store,
    "job": _job,
    "load": _load,
    "pv": _source,
    "shiftable_load": _flexible,
    "tank": _tank,
    "thermal_store": _thermal_store,
    "two_zone_tank": _thermal_store,
    "wind_turbine": _source,
}
