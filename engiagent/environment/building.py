"""From the components of a plant to modules that run: one function for each family of models.

Parameters are read as the checker reads them and go into the same models of physics, so that what
is optimised is what is simulated. A component without a module is refused by name.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np

from engiagent.blueprint.document import Blueprint
from engiagent.environment.interface import Role, Signal
from engiagent.errors import EngiagentError, InputError
from engiagent.models.buildings import HeatNetwork, Node
from engiagent.models.buildings import Link as HeatLink
from engiagent.models.hvac.curves import Table, TableEfficiency
from engiagent.models.hvac.fluids import YorkCalcTower
from engiagent.models.systems import electrical, thermal
from engiagent.models.systems.system import Bus, Domain, Module, Port, System, surroundings
from engiagent.plant.source import nearest
from engiagent.verify.documents import Bench, Declarations
from engiagent.verify.levels.execution import Plant
from engiagent.verify.levels.repeated import dynamics_of
from engiagent.verify.plants import buildings, generators, machines, stores, tanks
from engiagent.verify.plants.unit import Unit

Floats = np.ndarray[Any, np.dtype[np.float64]]
Flows = Mapping[str, Sequence[str]]
RESIDUAL: Final = "residual of "
"""Before the name of a bus: what its members take beyond what they give."""
CHARGING: Final = ("charge", "discharge")
_BUS: Final = {False: "heat_bus", True: "cooling_bus"}
"""By whether what is on it is cold."""


@dataclass(frozen=True)
class Name:
    """A signal of the plant: where it is written to, and where it is read, by full port names."""

    signal: Signal
    writes: str | None = None
    reads: str | None = None


@dataclass
class Built:
    """A site on its way to a system, and the names that its document has for the ports.

    ``series`` are disturbances over the periods of the plant by full port name, ``followers``
    machines that serve what their bus leaves, ``wires`` signals that inputs read, ``prices`` of
    which quantity each price is, with the sign of its cost.
    """

    units: Sequence[Unit]
    modules: dict[str, Module] = field(default_factory=dict)
    members: dict[str, list[str]] = field(default_factory=dict)
    domains: dict[str, Domain] = field(default_factory=dict)
    followers: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    names: dict[str, Name] = field(default_factory=dict)
    series: dict[str, Floats] = field(default_factory=dict)
    wires: dict[str, str] = field(default_factory=dict)
    prices: dict[str, tuple[str, float]] = field(default_factory=dict)

    @cached_property
    def system(self) -> System:
        """The modules on their buses; a bus that nothing balances shows what it lacks."""
        ports = self.ports()
        for bus, members in self.members.items():
            if not any(ports[member].is_free for member in members):
                self.seen(f"{bus}.unserved", ports[members[0]].unit, f"{RESIDUAL}{bus}")
        buses = (
            Bus(
                name=bus,
                domain=self.domains[bus],
                members=tuple(members),
                followers=tuple(self.followers.get(bus, ())),
            )
            for bus, members in self.members.items()
        )
        wires = {full: str(self.names[read].reads) for full, read in self.wires.items()}
        return System(modules=self.modules, buses=tuple(buses), wires=wires)

    def ports(self) -> dict[str, Port]:
        """Return the ports of all modules by full name."""
        return {f"{n}.{p.name}": p for n, module in self.modules.items() for p in module.ports}

    def circulate(self, bus: str, flows: Sequence[str]) -> None:
        """Put flows of water or air on a bus; pumps and fans give what the others on it take."""
        ports = {n: self.ports().get(str(name.reads)) for n, name in self.names.items()}
        known = [n for n, port in ports.items() if port and port.unit == "kg/s" and port.way]
        for flow in flows:
            name, port = self.names.get(flow), ports.get(flow)
            if name is None or port is None or flow not in known:
                raise InputError(f"{flow} is no flow", bus, expected=nearest(flow, known))
            self.put(bus, str(name.reads), port.domain)
            if port.role == "observation" and name.writes is not None:
                self.followers.setdefault(bus, []).append((name.writes, str(name.reads)))
                self.names[flow] = replace(name, signal=replace(name.signal, default=None))

    def join(self, unit: Unit, port: str, connection: str, *, asked: str | None = None) -> None:
        """Put a flow on the bus that a connection names; else on one of its own."""
        bus = unit.connections.get(connection)
        full = f"{unit.name}.{port}"
        domain: Domain = next(p.domain for p in self.modules[unit.name].ports if p.name == port)
        self.put(bus, full, _domain(self, unit)[0] if domain == "information" else domain)
        if asked is not None and bus not in (None, "none"):
            self.followers.setdefault(str(bus), []).append((f"{unit.name}.{asked}", full))

    def put(self, bus: str | None, full: str, domain: Domain) -> None:
        """Put a flow on a bus, or let the surroundings take or give it where there is none."""
        if bus in (None, "none"):
            bus = f"around_{full.replace('.', '_')}"
            self.modules[bus] = surroundings(domain)
            self.members[bus] = [f"{bus}.exchange"]
        bus = str(bus)
        if domain in ("electrical", "fuel"):  # a gas engine drives as a motor does
            fuels = {unit.connections.get("fuel_bus") for unit in self.units}
            domain = "fuel" if bus in fuels else "electrical"
        known = self.domains.setdefault(bus, domain)
        if known != domain:
            raise InputError(f"the bus {bus} is {known}, {full} is {domain}")
        self.members.setdefault(bus, []).append(full)

    def action(
        self,
        name: str,
        upper: float = np.inf,
        *,
        lower: float = 0.0,
        port: str | None = None,
        writes: str | None = None,
        reads: str | None = None,
        unit: str = "kW",
        rest: float | None = 0.0,
    ) -> None:
        """Name an action by its port; ``writes`` and ``reads`` where set and done are two."""
        signal = Signal(unit, "action", rest, lower, upper)
        self.names[name] = Name(signal, writes or port or name, reads or port or name)

    def seen(self, name: str, unit: str, reads: str, role: Role = "observation") -> None:
        """Name what is read."""
        self.names.setdefault(name, Name(Signal(unit, role), reads=reads))

    def shown(self, unit: Unit, *words: str) -> None:
        """Name flows [kW] of a unit that go by the words of their ports."""
        for word in words:
            self.seen(f"{unit.name}.{word}", "kW", f"{unit.name}.{word}")

    def priced(self, unit: Unit, slot: str, word: str, sign: float = 1.0) -> None:
        """Show the price of a quantity; it drives nothing and is there for who decides."""
        written = unit.parameters.get(slot)
        if written is not None:
            goal = unit.plant.bench.declarations.core.objective_function
            text = f"{(goal.unit or 'EUR')[:3] if goal is not None else 'EUR'}/kWh"
            name = f"{unit.name}.{slot}"
            self.series[name] = unit.number(written, text)
            self.names[name] = Name(Signal(text, "disturbance"), reads=name)
            self.prices[name] = (f"{unit.name}.{word}", sign)

    def given(self, unit: Unit, slot: str, port: str | None = None) -> None:
        """Let the series of a slot drive a disturbance; outside it goes by its slot."""
        self.driven(
            unit, slot, unit.slots[slot].unit, f"{unit.name}.{port or slot}", unit.series(slot)
        )

    def driven(self, unit: Unit, slot: str, text: str, full: str, values: Floats) -> None:
        """Let a series drive a disturbance."""
        self.series[full] = np.broadcast_to(values, unit.periods.size)
        self.names[f"{unit.name}.{slot}"] = Name(Signal(text, "disturbance"), full, full)


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


# -- terminals and sources ------------------------------------------------------------------------


def _domain(site: Built, unit: Unit) -> tuple[Domain, bool]:
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
    return "fuel" if "fuel_bus" in ports else "electrical", False


def _grid(site: Built, unit: Unit) -> None:
    domain, cold = _domain(site, unit)
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
    domain, cold = _domain(site, unit)
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
    if _domain(site, unit)[1]:
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


# -- stores ---------------------------------------------------------------------------------------


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
    _ways(site, unit, _BUS[cold])
    _content(site, unit, "energy", model.energy_capacity)


def _tank(site: Built, unit: Unit) -> None:
    cold, drawn = tanks.cold(unit), unit.model == "hot_water_tank"
    ways = CHARGING[:1] if drawn else CHARGING
    limits = {way: unit.largest(f"{way}_power_max") if way in ways else 0.0 for way in CHARGING}
    initial = unit.need("initial_temperature")
    module = thermal.tank(tanks.body(unit), initial, limits, cold=cold)
    site.modules[unit.name] = module
    _ways(site, unit, _BUS[cold], ways)
    if drawn:
        site.put(None, f"{unit.name}.discharge", "thermal")
        site.driven(unit, "draw", "kW", f"{unit.name}.draw", tanks.draw_heat(unit))
    site.given(unit, "ambient_temperature", "ambient")
    site.seen(f"{unit.name}.temperature", "degC", f"{unit.name}.temperature", "state")


def _ev(site: Built, unit: Unit) -> None:
    site.modules[unit.name] = electrical.vehicle(stores.vehicle(unit), stores.stays(unit))
    _ways(site, unit, "bus")
    _content(site, unit, "state_of_charge", unit.need("energy_capacity"))


# -- machines -------------------------------------------------------------------------------------


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
        site.join(unit, port, _BUS[way == "cooling"], asked=asked)


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
    site.join(unit, "power", _BUS[cools])
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


# -- buildings ------------------------------------------------------------------------------------


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
    site.put(unit.connections.get(_BUS[way == "cooling"]), full, "thermal")


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
    "air_handler": _air_handler,
    "battery": _battery,
    "boiler": _boiler,
    "chiller": _chiller,
    "chp": _cogeneration,
    "cooler": _converter,
    "cooling_tower": _tower,
    "curtailable_load": _flexible,
    "demand_response": _demand_response,
    "emitter": _emitter,
    "ev": _ev,
    "extraction_chp": _cogeneration,
    "fan": _fan,
    "genset": _genset,
    "generator_profile": _source,
    "grid": _grid,
    "heat_pump": _heat_pump,
    "heater": _converter,
    "hot_water_tank": _tank,
    "ice_tank": _thermal_store,
    "job": _job,
    "load": _load,
    "pump": _fan,
    "pv": _source,
    "rc_network": _rc_network,
    "shiftable_load": _flexible,
    "tank": _tank,
    "thermal_store": _thermal_store,
    "thermal_zone": _zones,
    "two_zone_tank": _thermal_store,
    "vav_box": _box,
    "wind_turbine": _source,
    "zone_5r1c": _zone_5r1c,
}
"""By model of component: what adds its modules."""
