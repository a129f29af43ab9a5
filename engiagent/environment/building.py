"""From the components of a plant to modules that run: one function for each family of models.

Parameters are read as the checker reads them and go into the same models of physics, so that what
is optimised is what is simulated. A component without a module is refused by name.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from engiagent.blueprint.document import Blueprint
from engiagent.environment import conversion, supply
from engiagent.environment.built import BUS, Built, Floats, Flows
from engiagent.errors import EngiagentError, InputError
from engiagent.models.buildings import HeatNetwork, Node
from engiagent.models.buildings import Link as HeatLink
from engiagent.models.systems import thermal
from engiagent.verify.documents import Bench, Declarations
from engiagent.verify.levels.execution import Plant
from engiagent.verify.levels.repeated import dynamics_of
from engiagent.verify.plants import buildings
from engiagent.verify.plants.unit import Unit


def _zones(site: Built, unit: Unit) -> None:
    """Add all zones that exchange heat with one another, once, as one network."""
    alike = [other for other in site.units if other.model == "thermal_zone"]
    group = next(g for g in buildings.groups(alike) if any(z.name == unit.name for z in g))
    if group[0].name != unit.name:
        return
    model, start, _ = buildings.zone_network(group)
    nodes = tuple(
        Node(name=z.name, capacity=z.capacitance, initial_temperature=float(first))
        for z, first in zip(model.zones, start, strict=True)
    )
    walls = {(nodes[i].name, nodes[j].name): r for (i, j), r in model._walls().items()}
    outer = {f"{z.name}_ambient": z for z in model.zones if np.isfinite(z.resistance)}
    walls |= {(ambient, z.name): z.resistance for ambient, z in outer.items()}
    links = (HeatLink(one=a, other=b, conductance=1.0 / r) for (a, b), r in walls.items())
    network = HeatNetwork(nodes=nodes, links=tuple(links), boundaries=tuple(outer))
    driven = {
        f"{zone.name}.{way}": zone.largest(f"{way}_power_max")
        for zone in group
        for way in buildings.POWERS
        if not _serving(site, zone, way)
    }
    body = f"{unit.name}_building"
    rooms = tuple(zone.name for zone in group)
    site.modules[body] = thermal.heat_network(network, rooms, driven)
    for zone in group:
        for way in buildings.POWERS:
            full = f"{body}.{zone.name}.{way}"
            most = driven.get(f"{zone.name}.{way}")
            _power(site, zone, full, zone.names(way)[0], way, most)
        own = zone.names("temperature")[0]
        site.seen(own, "degC", f"{body}.{zone.name}.temperature", "state")
        if f"{zone.name}_ambient" in outer:
            ambient = zone.series("ambient_temperature")
            full = f"{body}.{zone.name}_ambient"
            site.driven(zone, "ambient_temperature", "degC", full, ambient)
        gains = zone.slot("gains")
        if gains is not None:
            site.driven(zone, "gains", "kW", f"{body}.{zone.name}.gains", gains)


def _serving(site: Built, zone: Unit, way: str) -> bool:
    """Whether some unit heats or cools a zone; warm air cools it by less than nothing."""
    cooling = ("cooler", "chiller", "air_handler", "vav_box")
    return any(
        (unit.model in cooling or "cooling_bus" in unit.connections) == (way == "cooling")
        for unit in site.units
        if unit.connections.get("zone") == zone.name
    )


def _power(site: Built, unit: Unit, full: str, name: str, way: str, most: float | None) -> None:
    """Join heating or cooling of a room with what serves it, or name it as an action."""
    if most is None:
        site.put(f"{unit.name}.{way}", full, "thermal")
        site.seen(name, "kW", full)
        return
    site.action(name, most, port=full)
    site.put(unit.connections.get(BUS[way == "cooling"]), full, "thermal")


def _zone_5r1c(site: Built, unit: Unit) -> None:
    network, boundary, heat = buildings.zone_parts(unit)
    start = unit.need("initial_temperature")
    nodes = tuple(replace(node, initial_temperature=start) for node in network.nodes)
    powers = {("air", way): unit.largest(f"{way}_power_max") for way in buildings.POWERS}
    names = {("air", way): f"{unit.name}.{way}" for way in buildings.POWERS}
    _network(site, unit, replace(network, nodes=nodes), (boundary, heat), powers, names)


def _rc_network(site: Built, unit: Unit) -> None:
    network, boundary, heat = buildings.network_parts(unit)
    powers = {
        (node, way): np.inf if written is None else float(unit.number(written, "kW").max())
        for way, key in (("heating", "heated"), ("cooling", "cooled"))
        for node, written in (unit.connections.get(key) or {}).items()
    }
    names = {key: f"{unit.name}.{key[1]}_{key[0]}" for key in powers}
    _network(site, unit, network, (boundary, heat), powers, names)


def _network(
    site: Built,
    unit: Unit,
    network: HeatNetwork,
    given: tuple[Mapping[str, Floats], Mapping[str, Floats]],
    powers: Mapping[tuple[str, str], float],
    names: Mapping[tuple[str, str], str],
) -> None:
    """Add a network with given temperatures and heat, and powers by node and way."""
    boundary, heat = given
    own, heated = unit.name, {*heat, *(node for node, _ in powers)}
    nodes = [node.name for node in network.nodes]
    rooms = tuple(node for node in nodes if node in heated) or (nodes[0],)
    driven = {f"{node}.{way}": most for (node, way), most in powers.items()}
    site.modules[own] = thermal.heat_network(network, rooms, driven)
    for (node, way), most in powers.items():
        _power(site, unit, f"{own}.{node}.{way}", names[node, way], way, most)
    for name, values in boundary.items():
        slot = f"{name}_temperature" if unit.model == "zone_5r1c" else f"boundaries.{name}"
        site.driven(unit, slot, "degC", f"{own}.{name}", values)
    for name, values in heat.items():
        site.driven(unit, f"heat.{name}", "kW", f"{own}.{name}.gains", values)
    for part in network.nodes:
        if part.capacity > 0:
            name = f"{own}.{part.name}.temperature"
            site.seen(name, "degC", name, "state")
        if part.name in rooms:
            name = f"{own}.{part.name}.mean_temperature"
            site.seen(name, "degC", name)


FAMILIES: Final[Mapping[str, Callable[[Built, Unit], None]]] = {
    **supply.FAMILIES,
    **conversion.FAMILIES,
    "rc_network": _rc_network,
    "thermal_zone": _zones,
    "zone_5r1c": _zone_5r1c,
}
"""By model of component: what adds its modules."""


def build(blueprint: Blueprint, folder: Path | None, flows: Flows) -> Built:
    """Return a plant as a system; ``flows`` of water and air by the bus that they are on.

    Raises InputError for a component that has no module, with its name and those that have one.
    """
    core = blueprint.core
    plant = Plant(Bench(Declarations(core, folder), {}), dynamics_of(core, folder))
    units = tuple(plant.of(unit) for unit in plant.units)
    if not units:
        raise InputError("there is no component to simulate", expected="components of a plant file")
    for unit in units:
        if unit.model not in FAMILIES or unit.element is not None:
            what = unit.model if unit.element is None else f"one {unit.model} of several"
            raise InputError(
                f"{unit.name} is {what}, which the environment does not run",
                expected=f"components among {', '.join(FAMILIES)}",
            )
    site = Built(units)
    for unit in units:
        try:
            FAMILIES[unit.model](site, unit)
        except InputError:
            raise
        except EngiagentError as error:
            raise InputError(f"{unit.name} cannot be simulated: {error}") from None
    for bus, members in flows.items():
        site.circulate(bus, members)
    _ = site.system
    return site
