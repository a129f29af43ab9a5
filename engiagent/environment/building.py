"""From the components of a plant to modules that run: one function for each family of models.

Parameters are read as the checker reads them and go into the same models of physics, so that what
is optimised is what is simulated. A component without a module is refused by name.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from engiagent.blueprint.document import Blueprint
from engiagent.environment.interface import Role, Signal
from engiagent.errors import EngiagentError, InputError
from engiagent.models.buildings.iso13790 import H_MS, Zone5R1C
from engiagent.models.buildings.network import HeatNetwork, Node
from engiagent.models.buildings.network import Link as HeatLink
from engiagent.models.chp import PartLoadChp
from engiagent.models.hvac.boiler import Boiler
from engiagent.models.hvac.curves import Biquadratic, Polynomial
from engiagent.models.hvac.turbomachines import PartLoadFan
from engiagent.models.hvac.york_calc import YorkCalcTower
from engiagent.models.systems import electrical, signals, thermal
from engiagent.models.systems.module import Domain, Module
from engiagent.models.systems.system import Bus, System
from engiagent.slots import COMPONENTS
from engiagent.verify.documents import Bench, Declarations
from engiagent.verify.levels.execution import Plant
from engiagent.verify.levels.repeated import dynamics_of
from engiagent.verify.plants import batteries, cooling, generation, machines, stores, tanks, zones
from engiagent.verify.plants.heating import heat_pump
from engiagent.verify.plants.networks import SIZES, network_parts
from engiagent.verify.plants.unit import Unit

Floats = np.ndarray[Any, np.dtype[np.float64]]
RESIDUAL: Final = "residual of "
"""Before the name of a bus: what its members take beyond what they give."""
TABLES: Final = ("part_load", "part_load_power", "segments")


@dataclass(frozen=True)
class Name:
    """A signal of the plant: where it is written to, and where it is read, by full port names."""

    signal: Signal
    writes: str | None = None
    reads: str | None = None


@dataclass
class Built:
    """A system with the names that the plant's own document has for its ports.

    Attributes
    ----------
    system
        That runs.
    names
        All signals.
    series
        Disturbances over the plant's periods, by full port name.
    hours
        The lengths of these periods. [h]
    units
        The components.
    """

    system: System
    names: dict[str, Name]
    series: dict[str, Floats]
    hours: Floats
    units: tuple[Unit, ...]


@dataclass
class _Site:
    """What is put together, module by module."""

    units: Sequence[Unit]
    modules: dict[str, Module] = field(default_factory=dict)
    members: dict[str, list[str]] = field(default_factory=dict)
    domains: dict[str, Domain] = field(default_factory=dict)
    followers: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    names: dict[str, Name] = field(default_factory=dict)
    series: dict[str, Floats] = field(default_factory=dict)

    def add(self, unit: Unit, module: Module) -> None:
        """Add the module of a unit."""
        self.modules[unit.name] = module

    def join(self, unit: Unit, port: str, connection: str, *, asked: str | None = None) -> None:
        """Put a flow on the bus that a connection names; else on one of its own."""
        bus = unit.connections.get(connection)
        full = f"{unit.name}.{port}"
        domain: Domain = next(p.domain for p in self.modules[unit.name].ports if p.name == port)
        if bus in (None, "none"):
            self.alone(full, domain)
            return
        self.on(str(bus), full, domain)
        if asked is not None:
            self.followers.setdefault(str(bus), []).append((f"{unit.name}.{asked}", full))

    def on(self, bus: str, full: str, domain: Domain) -> None:
        """Put a flow on a bus."""
        known = self.domains.setdefault(bus, domain)
        if known != domain:
            raise InputError(f"the bus {bus} is {known}, {full} is {domain}")
        self.members.setdefault(bus, []).append(full)

    def alone(self, full: str, domain: Domain) -> None:
        """Let the surroundings take or give a flow that no bus has."""
        name = f"around_{full.replace('.', '_')}"
        self.modules[name] = signals.surroundings(domain)
        self.domains[name] = domain
        self.members[name] = [full, f"{name}.exchange"]

    def action(
        self,
        name: str,
        unit: str,
        writes: str,
        reads: str | None = None,
        upper: float = np.inf,
        rest: float | None = 0.0,
    ) -> None:
        """Name an action; ``reads`` is where what is done is seen."""
        signal = Signal(unit, "action", rest, 0.0, upper)
        self.names[name] = Name(signal, writes, reads or writes)

    def seen(self, name: str, unit: str, reads: str, role: Role = "observation") -> None:
        """Name what is read."""
        self.names.setdefault(name, Name(Signal(unit, role), reads=reads))

    def content(self, name: str, reads: str, capacity: float) -> None:
        """Name the content of a store."""
        self.names[name] = Name(Signal("kWh", "state", None, 0.0, capacity), reads=reads)

    def given(self, unit: Unit, slot: str, port: str | None = None) -> None:
        """Let a series of a slot drive a disturbance; outside it goes by its slot."""
        self.driven(
            f"{unit.name}.{slot}", unit.slots[slot].unit, unit, port or slot, unit.series(slot)
        )

    def driven(self, name: str, text: str, unit: Unit, port: str, values: Floats) -> None:
        """Let a series drive a disturbance."""
        full = f"{unit.name}.{port}"
        self.series[full] = np.broadcast_to(values, unit.periods.size)
        signal = Signal(text, "disturbance", None)
        self.names[name] = Name(signal, writes=full, reads=full)


def build(blueprint: Blueprint, folder: Path | None) -> Built:
    """Return a plant as a system.

    Raises
    ------
    InputError
        For a component that has no module, with its name and those that have one.
    """
    core = blueprint.core
    plant = Plant(Bench(Declarations(core, folder), {}), dynamics_of(core, folder))
    units = tuple(plant.of(unit) for unit in plant.units)
    if not units:
        raise InputError("there is no component to simulate", expected="components of a plant file")
    for unit in units:
        if unit.model not in FAMILIES or unit.declared.element is not None:
            what = unit.model if unit.declared.element is None else f"one {unit.model} of several"
            raise InputError(
                f"{unit.name} is {what}, which the environment does not run",
                expected=f"components among {', '.join(FAMILIES)}",
            )
    site = _Site(units)
    for unit in units:
        try:
            if unit.model in FAMILIES:
                FAMILIES[unit.model](site, unit)
        except InputError:
            raise
        except EngiagentError as error:
            raise InputError(f"{unit.name} cannot be simulated: {error}") from None
    return Built(_system(site), site.names, site.series, units[0].hours, units)


def _system(site: _Site) -> System:
    """Return the modules on their buses; a bus that nothing balances shows what it lacks."""
    ports = {f"{n}.{p.name}": p for n, module in site.modules.items() for p in module.ports}
    for bus, members in site.members.items():
        if not any(ports[member].is_free for member in members):
            site.seen(f"{bus}.unserved", "kW", f"{RESIDUAL}{bus}")
    buses = tuple(
        Bus(
            name=bus,
            domain=site.domains[bus],
            members=tuple(members),
            followers=tuple(site.followers.get(bus, ())),
        )
        for bus, members in site.members.items()
    )
    return System(modules=site.modules, buses=buses)


# -- terminals and sources ------------------------------------------------------------------------


def _domain(site: _Site, unit: Unit) -> tuple[Domain, bool]:
    """Return of which domain the bus of a terminal is, by what else is on it, and if it is cold."""
    bus = unit.connections.get("bus")
    ports = {
        port
        for other in site.units
        for port, name in other.connections.items()
        if name == bus and other.model not in ("grid", "load")
    }
    if ports & {"heat_bus", "cooling_bus"}:
        return "thermal", "cooling_bus" in ports and "heat_bus" not in ports
    return "electrical", False


def _grid(site: _Site, unit: Unit) -> None:
    domain, _ = _domain(site, unit)
    limits = (unit.largest(f"{way}_power_max") for way in ("import", "export"))
    site.add(unit, electrical.grid(*limits, domain=domain))
    site.join(unit, "exchange", "bus")
    goal = unit.plant.bench.declarations.core.objective_function
    currency = (goal.unit or "EUR")[:3] if goal is not None else "EUR"
    for way in ("import", "export"):
        site.seen(f"{unit.name}.{way}", "kW", f"{unit.name}.{way}")
        written = unit.parameters.get(f"{way}_price")
        if written is not None:
            # A price drives nothing; it is there for who decides.
            name, text = f"{unit.name}.{way}_price", f"{currency}/kWh"
            site.series[name] = unit.number(written, text)
            site.names[name] = Name(Signal(text, "disturbance"), reads=name)


def _load(site: _Site, unit: Unit) -> None:
    domain, cold = _domain(site, unit)
    site.add(unit, electrical.load(domain, cold=cold))
    site.given(unit, "power")
    site.join(unit, "power", "bus")


_AVAILABLE: Final[Mapping[str, Callable[[Unit], Any]]] = {
    "generator_profile": generation._profile,
    "pv": generation._pv,
    "wind_turbine": generation._wind,
}


def _source(site: _Site, unit: Unit) -> None:
    site.add(unit, electrical.source(limited=True))
    available = _AVAILABLE[unit.model](unit)
    site.driven(f"{unit.name}.available_power", "kW", unit, "profile", available)
    site.action(f"{unit.name}.power", "kW", f"{unit.name}.limit", f"{unit.name}.power", rest=None)
    site.join(unit, "power", "bus")


# -- stores ---------------------------------------------------------------------------------------


def _battery(site: _Site, unit: Unit) -> None:
    losses = unit.given(*batteries.LOSSES)
    model = batteries.store(unit)
    if losses:
        model = replace(model, charge_efficiency=1.0, discharge_efficiency=1.0)
    site.add(unit, _store(model, unit, batteries.converter(unit) if losses else None))
    _ways(site, unit, "bus", "state_of_charge")
    if losses:
        site.seen(f"{unit.name}.loss", "kW", f"{unit.name}.loss")


def _store(model: Any, unit: Unit, loss: Any = None, **more: Any) -> Module:
    started = replace(model, initial_energy=unit.need("initial_energy"))
    return electrical.battery(started, loss=loss, **more)


def _ways(site: _Site, unit: Unit, connection: str, state: str) -> None:
    for way in ("charge", "discharge"):
        most = unit.largest(f"{way}_power_max") if f"{way}_power_max" in unit.slots else np.inf
        site.action(f"{unit.name}.{way}", "kW", f"{unit.name}.{way}", upper=most)
        site.join(unit, way, connection)
    site.content(f"{unit.name}.{state}", f"{unit.name}.energy", unit.need("energy_capacity"))


def _side(unit: Unit) -> tuple[str, bool]:
    """Return the connection of a store of heat or cold, and whether it holds cold."""
    cold = tanks.cold(unit)
    return ("cooling_bus" if cold else "heat_bus"), cold


def _thermal_store(site: _Site, unit: Unit) -> None:
    connection, cold = _side(unit)
    cold = cold or unit.model == "ice_tank"
    model = stores.ice(unit) if unit.model == "ice_tank" else batteries.store(unit)
    if unit.given("charge_curve", "discharge_curve", "charge_limit", "discharge_limit"):
        raise InputError(f"{unit.name} has limits by its content, which are not simulated")
    site.add(unit, _store(model, unit, domain="thermal", cold=cold))
    _ways(site, unit, "cooling_bus" if cold else connection, "energy")


def _tank(site: _Site, unit: Unit) -> None:
    connection, cold = _side(unit)
    drawn = unit.model == "hot_water_tank"
    words = ("charge",) if drawn else ("charge", "discharge")
    limits = [unit.largest(f"{way}_power_max") for way in words]
    initial = unit.need("initial_temperature")
    site.add(
        unit,
        thermal.tank(
            tanks.body(unit), initial, (limits[0], 0.0 if drawn else limits[1]), cold=cold
        ),
    )
    for way, most in zip(words, limits, strict=True):
        site.action(f"{unit.name}.{way}", "kW", f"{unit.name}.{way}", upper=most)
        site.join(unit, way, connection)
    if drawn:
        site.alone(f"{unit.name}.discharge", "thermal")
        site.driven(f"{unit.name}.draw", "kW", unit, "draw", tanks.draw_heat(unit))
    site.given(unit, "ambient_temperature", "ambient")
    site.seen(f"{unit.name}.temperature", "degC", f"{unit.name}.temperature", "state")


def _ev(site: _Site, unit: Unit) -> None:
    from engiagent.verify.plants.vehicles import stays, vehicle

    site.add(unit, electrical.vehicle(vehicle(unit), stays(unit)))
    for way in ("charge", "discharge"):
        most = unit.need(f"{way}_power_max")
        site.action(f"{unit.name}.{way}", "kW", f"{unit.name}.{way}", upper=most)
        site.join(unit, way, "bus")
    full = unit.need("energy_capacity")
    site.content(f"{unit.name}.state_of_charge", f"{unit.name}.energy", full)


# -- machines -------------------------------------------------------------------------------------


def _plain(unit: Unit) -> None:
    """Refuse what no module has: tables of part load, several units alike."""
    if unit.given(*TABLES):
        raise InputError(f"{unit.name} has a table of part load, which is not simulated")
    if "count" in unit.slots and (unit.single("count") or 1.0) != 1.0:
        raise InputError(f"{unit.name} is several alike; state each as a component of its own")


def _serve(site: _Site, unit: Unit, port: str, way: str, *, asked: str | None = None) -> None:
    """Put what a machine gives on its bus, or into the zone that it serves."""
    zone = unit.connections.get("zone")
    if zone is not None:
        site.on(f"{zone}.{way}", f"{unit.name}.{port}", "thermal")
    else:
        site.join(unit, port, "heat_bus" if way == "heating" else "cooling_bus", asked=asked)


def _converter(site: _Site, unit: Unit) -> None:
    heats = unit.model == "heater"
    most = unit.largest("electric_power_max")
    site.add(unit, (thermal.heater if heats else thermal.cooler)(most))
    site.given(unit, "cop")
    name = f"{unit.name}.electric_power"
    site.action(name, "kW", name, upper=most)
    site.join(unit, "electric_power", "bus")
    word = "heat" if heats else "cooling"
    _serve(site, unit, word, "heating" if heats else "cooling")
    site.seen(f"{unit.name}.{word}", "kW", f"{unit.name}.{word}")


def _machine(site: _Site, unit: Unit, module: Module, word: str, capacity: float) -> None:
    """Add a machine that is asked for what its bus leaves, by ``load``, and gives ``word``."""
    site.add(unit, module)
    way = "cooling" if word == "cooling" else "heating"
    on_bus = unit.connections.get("zone") is None
    rest = None if on_bus else 0.0
    name = f"{unit.name}.{word}"
    site.action(name, "kW", f"{unit.name}.load", name, upper=capacity, rest=rest)
    _serve(site, unit, word, way, asked="load")
    for port in module.ports:
        if port.name == "electric_power":
            site.join(unit, "electric_power", "bus")
        if port.name in ("electric_power", "fuel", "heat_rejected", "source_heat"):
            site.seen(f"{unit.name}.{port.name}", "kW", f"{unit.name}.{port.name}")


def _heat_pump(site: _Site, unit: Unit) -> None:
    _plain(unit)
    capacity = unit.largest("rated_capacity")
    pump, source, sink = heat_pump(unit)
    if not unit.given("capacity_curve", "modulation_curve") and not unit.need("minimum_part_load"):
        # At any load the coefficient is that of the temperatures, known for all periods.
        cop = pump.full_load_cop(source, sink)
        module = thermal.stated_heat_pump(capacity, unit.need("standby_power"))
        _machine(site, unit, module, "heat", capacity)
        site.driven(f"{unit.name}.cop", "1", unit, "cop", cop)
        return
    if unit.given("cop"):
        raise InputError(f"{unit.name} has a cop by period and curves; give carnot_fraction")
    _machine(site, unit, thermal.heat_pump(pump), "heat", capacity)
    for end in ("source", "sink"):
        site.given(unit, f"{end}_temperature", end)


def _chiller(site: _Site, unit: Unit) -> None:
    _plain(unit)
    capacity, cop = unit.need("rated_capacity"), unit.need("rated_cop")
    model = replace(cooling.chiller(unit), rated_capacity=capacity, rated_cop=cop)
    rejects = unit.connections.get("heat_bus") is not None
    module = thermal.chiller(model, condenser_bus=rejects)
    _machine(site, unit, module, "cooling", capacity)
    if rejects:
        site.join(unit, "heat_rejected", "heat_bus")
    for end in ("leaving", "entering"):
        site.given(unit, f"{end}_temperature", end)


def _boiler(site: _Site, unit: Unit) -> None:
    _plain(unit)
    curve = unit.table("efficiency_curve")
    model = Boiler(
        **unit.numbers("rated_capacity", "rated_efficiency", "minimum_part_load", "standby_loss"),
        efficiency_curve=None if curve is None else Biquadratic(curve),
    )
    carrier = next((c for c in ("fuel_bus", "bus") if unit.connections.get(c)), None)
    module = thermal.boiler(model, fuel_bus=carrier is not None)
    _machine(site, unit, module, "heat", unit.need("rated_capacity"))
    if carrier is not None:
        site.join(unit, "fuel", carrier)
    water = np.zeros(1) if curve is None else unit.series("water_temperature")
    site.driven(f"{unit.name}.water_temperature", "degC", unit, "water", water)


def _chp(site: _Site, unit: Unit) -> None:
    _plain(unit)
    load, electric, heat = (
        unit.table(name) for name in ("load", "electric_efficiency", "thermal_efficiency")
    )
    if load is None or electric is None or heat is None:
        raise InputError(f"{unit.name} has no efficiencies")
    rated = unit.need("rated_power")
    model = PartLoadChp(
        rated_power=rated, load=load, electric_efficiency=electric, thermal_efficiency=heat
    )
    carrier = unit.connections.get("fuel_bus")
    site.add(unit, thermal.engine(model, fuel_bus=carrier is not None))
    name = f"{unit.name}.power"
    site.action(name, "kW", f"{unit.name}.load", name, upper=rated)
    site.join(unit, "power", "bus")
    _serve(site, unit, "heat", "heating")
    if carrier is not None:
        site.join(unit, "fuel", "fuel_bus")
    for word in ("heat", "fuel"):
        site.seen(f"{unit.name}.{word}", "kW", f"{unit.name}.{word}")


def _fan(site: _Site, unit: Unit) -> None:
    _plain(unit)
    model = PartLoadFan(
        **unit.numbers("rated_flow", "rated_power"),
        power_curve=Polynomial(unit.table("power_curve") or machines.AFFINITY),
    )
    site.add(unit, thermal.fan(model))
    name, most = f"{unit.name}.flow", unit.need("rated_flow")
    site.action(name, "kg/s", f"{unit.name}.load", name, upper=most)
    site.join(unit, "electric_power", "bus")
    site.seen(f"{unit.name}.electric_power", "kW", f"{unit.name}.electric_power")


def _tower(site: _Site, unit: Unit) -> None:
    tower = YorkCalcTower(**unit.numbers("rated_water_flow", "rated_fan_power", "fan_exponent"))
    site.add(unit, thermal.cooling_tower(tower))
    site.given(unit, "wet_bulb_temperature")
    stated = unit.slot("water_flow")
    flow = unit.series("rated_water_flow") if stated is None else stated
    site.driven(f"{unit.name}.water_flow", "kg/s", unit, "water_flow", flow)
    site.action(f"{unit.name}.speed", "1", f"{unit.name}.speed", upper=1.0, rest=1.0)
    site.join(unit, "heat_rejected", "heat_bus")
    site.join(unit, "electric_power", "bus")
    for word, text in (
        ("heat_rejected", "kW"),
        ("electric_power", "kW"),
        ("water_temperature", "degC"),
    ):
        site.seen(f"{unit.name}.{word}", text, f"{unit.name}.{word}")


def _emitter(site: _Site, unit: Unit) -> None:
    cools = "cooling_bus" in unit.connections
    most = unit.largest("power_max")
    site.add(unit, thermal.emitter(most, cooling=cools))
    word, way = ("cooling", "cooling") if cools else ("heat", "heating")
    site.action(f"{unit.name}.{word}", "kW", f"{unit.name}.power", upper=most)
    site.join(unit, "power", "cooling_bus" if cools else "heat_bus")
    zone = unit.connections.get("zone")
    if zone is None:
        raise InputError(f"{unit.name} serves no zone", expected="zone: its name")
    site.on(f"{zone}.{way}", f"{unit.name}.room", "thermal")


# -- buildings ------------------------------------------------------------------------------------


def _zones(site: _Site, unit: Unit) -> None:
    """Add all zones that exchange heat with one another, once, as one network."""
    alike = [other for other in site.units if other.model == "thermal_zone"]
    group = next(g for g in zones.groups(alike) if any(z.name == unit.name for z in g))
    if group[0].name != unit.name:
        return
    model, start, _ = zones.network(group)
    nodes = tuple(
        Node(name=z.name, capacity=z.capacitance, initial_temperature=float(first))
        for z, first in zip(model.zones, start, strict=True)
    )
    walls = model._walls()
    links = [
        HeatLink(one=nodes[i].name, other=nodes[j].name, conductance=1.0 / r)
        for (i, j), r in walls.items()
    ]
    outer = [z for z in model.zones if np.isfinite(z.resistance)]
    links += [
        HeatLink(one=f"{z.name}_ambient", other=z.name, conductance=1.0 / z.resistance)
        for z in outer
    ]
    network = HeatNetwork(
        nodes=nodes, links=tuple(links), boundaries=tuple(f"{z.name}_ambient" for z in outer)
    )
    rooms = tuple(zone.name for zone in group)
    driven = dict(_driven(site, group))
    house = thermal.heat_network(network, rooms, driven=driven)
    body = f"{unit.name}_building"
    site.modules[body] = house
    for zone in group:
        _room(site, zone, body, zone.name, driven)
        own = zone.names("temperature")[0]
        site.seen(own, "degC", f"{body}.{zone.name}.temperature", "state")
        if f"{zone.name}_ambient" in network.boundaries:
            ambient = zone.slot("ambient_temperature")
            if ambient is None:
                raise InputError(f"{zone.name} has no ambient_temperature")
            _boundary(site, zone, body, f"{zone.name}_ambient", "ambient_temperature", ambient)
        gains = zone.slot("gains")
        if gains is not None:
            _boundary(site, zone, body, f"{zone.name}.gains", "gains", gains)


def _driven(site: _Site, group: Sequence[Unit]) -> Iterator[tuple[str, float]]:
    """Yield what zones have of heating and cooling without units that serve them."""
    for zone in group:
        for way in zones.WAYS:
            if not _serving(site, zone, way):
                yield f"{zone.name}.{way}", zone.largest(f"{way}_power_max")


def _serving(site: _Site, zone: Unit, way: str) -> bool:
    """Whether some unit heats or cools a zone."""
    for unit in site.units:
        if unit.connections.get("zone") == zone.name:
            cools = unit.model in ("cooler", "chiller") or "cooling_bus" in unit.connections
            if cools == (way == "cooling"):
                return True
    return False


def _room(site: _Site, unit: Unit, body: str, room: str, driven: Mapping[str, float]) -> None:
    """Join a room with what serves it, or let its power be an action."""
    for way in zones.WAYS:
        full = f"{body}.{room}.{way}"
        if f"{room}.{way}" not in driven:
            site.on(f"{unit.name}.{way}", full, "thermal")
            site.seen(f"{unit.names(way)[0]}", "kW", full)
            continue
        name = unit.names(way)[0]
        if unit.model == "rc_network":
            name = f"{unit.name}.{way}_{room}"
        site.action(name, "kW", full, upper=driven[f"{room}.{way}"])
        bus = unit.connections.get("heat_bus" if way == "heating" else "cooling_bus")
        if bus is None:
            site.alone(full, "thermal")
        else:
            site.on(str(bus), full, "thermal")


def _boundary(site: _Site, unit: Unit, body: str, port: str, slot: str, values: Floats) -> None:
    full = f"{body}.{port}"
    site.series[full] = np.broadcast_to(values, unit.periods.size)
    text = "degC" if "temperature" in slot or slot.startswith("boundaries") else "kW"
    name = f"{unit.name}.{slot}"
    site.names[name] = Name(Signal(text, "disturbance", None), full, full)


def _zone_5r1c(site: _Site, unit: Unit) -> None:
    sizes = unit.numbers(*SIZES)
    network = Zone5R1C(**sizes).network(unit.need("ventilation"))
    start = unit.need("initial_temperature")
    nodes = tuple(replace(node, initial_temperature=start) for node in network.nodes)
    network = replace(network, nodes=nodes)
    driven = {f"air.{way}": unit.largest(f"{way}_power_max") for way in zones.WAYS}
    site.modules[unit.name] = thermal.heat_network(
        network, ("air", "surface", "mass"), driven=driven
    )
    _room(site, unit, unit.name, "air", driven)
    ambient, supply = unit.series("ambient_temperature"), unit.slot("supply_temperature")
    _boundary(site, unit, unit.name, "ambient", "ambient_temperature", ambient)
    supplied = ambient if supply is None else supply
    _boundary(site, unit, unit.name, "supply", "supply_temperature", supplied)
    # ISO 13790, C.2: half of the internal gains and all of the sun reach surfaces and mass.
    internal, solar = unit.series("internal_gains"), unit.series("solar_gains")
    share = sizes["mass_area"] / sizes["surface_area"]
    lost = 1000.0 * sizes["window_conductance"] / (H_MS * sizes["surface_area"])
    radiant = 0.5 * internal + solar
    for node, gains in (
        ("air", 0.5 * internal),
        ("surface", (1.0 - share - lost) * radiant),
        ("mass", share * radiant),
    ):
        _boundary(site, unit, unit.name, f"{node}.gains", f"{node}.gains", gains)
    _temperatures(site, unit, ("air", "surface", "mass"), {"mass"})


def _rc_network(site: _Site, unit: Unit) -> None:
    network, boundary, heat = network_parts(unit)
    driven = {
        f"{node}.{way}": np.inf if written is None else float(unit.number(written, "kW").max())
        for way, key in (("heating", "heated"), ("cooling", "cooled"))
        for node, written in (unit.connections.get(key) or {}).items()
    }
    named = {*heat, *(key.partition(".")[0] for key in driven)}
    rooms = tuple(n.name for n in network.nodes if n.name in named) or (network.nodes[0].name,)
    site.modules[unit.name] = thermal.heat_network(network, rooms, driven=driven)
    for name, values in boundary.items():
        _boundary(site, unit, unit.name, name, f"boundaries.{name}", values)
    for room in rooms:
        for way in zones.WAYS:
            if f"{room}.{way}" in driven:
                _room_way(site, unit, room, way, driven[f"{room}.{way}"])
        if room in heat:
            _boundary(site, unit, unit.name, f"{room}.gains", f"heat.{room}", heat[room])
    heavy = {node.name for node in network.nodes if node.capacity > 0}
    _temperatures(site, unit, rooms, heavy)


def _room_way(site: _Site, unit: Unit, room: str, way: str, most: float) -> None:
    """Name the power into a node, which a bus of heat or cold may give."""
    full, bus = f"{unit.name}.{room}.{way}", "heat_bus" if way == "heating" else "cooling_bus"
    site.action(f"{unit.name}.{way}_{room}", "kW", full, upper=most)
    site.join(unit, f"{room}.{way}", bus)


def _temperatures(site: _Site, unit: Unit, rooms: Sequence[str], heavy: set[str]) -> None:
    for node in (*rooms, *sorted(heavy - {*rooms})):
        if node in heavy:
            name = f"{unit.name}.{node}.temperature"
            site.seen(name, "degC", name, "state")
        if node in rooms:
            name = f"{unit.name}.{node}.mean_temperature"
            site.seen(name, "degC", name)


FAMILIES: Final[Mapping[str, Callable[[_Site, Unit], None]]] = {
    "battery": _battery,
    "boiler": _boiler,
    "chiller": _chiller,
    "chp": _chp,
    "cooler": _converter,
    "cooling_tower": _tower,
    "emitter": _emitter,
    "ev": _ev,
    "fan": _fan,
    "generator_profile": _source,
    "grid": _grid,
    "heat_pump": _heat_pump,
    "heater": _converter,
    "hot_water_tank": _tank,
    "ice_tank": _thermal_store,
    "load": _load,
    "pump": _fan,
    "pv": _source,
    "rc_network": _rc_network,
    "tank": _tank,
    "thermal_store": _thermal_store,
    "thermal_zone": _zones,
    "wind_turbine": _source,
    "zone_5r1c": _zone_5r1c,
}
"""By model of component: what adds its modules."""
assert set(FAMILIES) <= set(COMPONENTS)
