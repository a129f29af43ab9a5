"""The parts of a plant under construction: slots, balances, costs, rows."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from engiagent.agents.offline.builder import Builder, for_owner
from engiagent.agents.offline.plant.engine import Reader
from engiagent.agents.offline.plant.spaces.carnot import fill_carnot
from engiagent.agents.offline.plant.spaces.slopes import add_slope
from engiagent.agents.offline.plant.spaces.walls import walled
from engiagent.agents.offline.plant.units import Instance
from engiagent.agents.offline.results import Missing
from engiagent.agents.offline.storage import constrain, parameters
from engiagent.agents.offline.tariffs import scheduled

STORES = ("battery", "vehicle", "heat_store", "cold_store")
SWITCHING = (
    "min_power",
    "min_fraction",
    "start_cost",
    "min_up",
    "min_down",
    "no_load_cost",
    "no_load_fuel",
    "no_load_power",
)
BEFORE = ("start_cost", "min_up", "min_down")
PHYSICS, CAPACITY = "Physical Laws", "Resource Capacity"
BALANCE, LOGIC = "Supply-Demand Balance", "Operational Logic"
_APART = ("constraint", "wear", "reserve", "counted")
"""Options of slots that become rows or costs, and no parameters of a unit."""
_SLOT = re.compile(r"\{(\w+)\}")


@dataclass
class System:
    """What stands on the balances, what it costs, and the values of every unit's slots."""

    builder: Builder
    reader: Reader
    supplies: dict[str, list[str]] = field(default_factory=dict)
    demands: dict[str, list[str]] = field(default_factory=dict)
    most: dict[str, list[str | None]] = field(default_factory=dict)
    costs: list[tuple[str, str]] = field(default_factory=list)
    burnt: list[tuple[str, str]] = field(default_factory=list)
    blocks: dict[str, list[str]] = field(default_factory=dict)
    filled: dict[str, dict[str, str]] = field(default_factory=dict)
    sloped: set[int] = field(default_factory=set)
    staged: dict[str, str] = field(default_factory=dict)
    curved: list[str] = field(default_factory=list)

    # -- helpers ------------------------------------------------------------------------------

    def text(self, name: str, template: str) -> str:
        """Return a template with the values of a unit's slots."""
        values = self.filled[name]

        def value(match: re.Match[str]) -> str:
            return name if match[1] == "c" else self.builder.at(values[match[1]])

        return _SLOT.sub(value, template)

    def has(self, name: str, *slots: str) -> bool:
        """Whether all of some slots are filled."""
        return all(slot in self.filled.get(name, {}) for slot in slots)

    def supply(self, carrier: str, text: str) -> None:
        """Put something on the side of the supplies."""
        self.supplies.setdefault(carrier, []).append(text)

    def demand(self, carrier: str, text: str, most: str | None = None) -> None:
        """Put something on the side of the demands; ``most`` is the parameter that limits it."""
        self.demands.setdefault(carrier, []).append(text)
        self.most.setdefault(carrier, []).append(most)

    def row(
        self, name: str, text: str, category: str, line: int, where: str | None = None,
        spans: tuple[Any, ...] = (),
    ) -> None:  # fmt: skip
        """Add a row for every period."""
        constrain(self.builder, name, text, category, line, ["t in T"], where, spans=spans)

    def plant_has(self, *components: str) -> bool:
        """Whether there is a unit of one of some kinds."""
        return any(self.reader.plant.of(component) for component in components)

    def line_of(self, name: str, *slots: str) -> int:
        """Return the line that a slot of a unit was read in, -1 for none."""
        for reading in self.builder.draft.readings:
            if reading.slot.name in slots and reading.owner in (name, "*"):
                return reading.line
        return -1

    def said(self, fact: str, name: str, component: str) -> int | None:
        """Return the line that states a fact of a unit; None when nothing does."""
        stores = [i for i in self.reader.plant.instances if i.unit.component in STORES]
        alone = component in STORES and len(stores) == 1
        for stated, about, line in self.reader.fact_units:
            fits = about in (None, component) or (alone and about not in STORES)
            if stated == fact and fits:
                finders = {i.name: i.finder for i in self.reader.plant.of(component)}
                text = self.builder.draft.lines[line].line
                named = [n for n, f in finders.items() if len(finders) > 1 and f.search(text)]
                if not named or name in named:
                    return line
        return None


def fill_slots(system: System, instance: Instance) -> None:
    """Turn what was read of a unit into parameters."""
    builder, unit, name = system.builder, instance.unit, instance.name
    readings = for_owner(builder.draft, unit.component, name)
    wanted = {
        slot.name: slot.unit for slot in unit.slots.values()
        if not any(slot.options.get(key) for key in ("constraint", "fills", "reserve", "counted"))
    }  # fmt: skip
    plain = {
        k: v for k, v in readings.items()
        if not any(v[0].slot.options.get(key) for key in _APART)
    }  # fmt: skip
    sloped: dict[str, str] = {}
    _sloped(system, instance, sloped)
    fill_carnot(system, instance, sloped)
    filled = parameters(builder, unit.component, name, plain, wanted, sloped)
    for (owner, slot), value in builder.draft.series.items():
        if owner == name:
            if slot in filled:
                line = system.line_of(name, slot)
                builder.draft.doubt(
                    max(line, 0), f"{name}: {slot} is given as a series and a number"
                )
            filled[slot] = builder.value(f"{name}_{slot}", value, unit.slots[slot].said,
                                         unit.slots[slot].unit)  # fmt: skip
    system.filled[name] = filled
    _by_time(system, instance)
    _offered(system, instance)
    if instance.unit.component in STORES:
        from engiagent.agents.offline.plant.stores.tapering import fill_tapered

        fill_tapered(system, instance)
    outside = unit.component == "zone" and _outside(system, instance)
    if "energy_capacity" in unit.slots and "maximum_energy" in filled:
        filled.setdefault("energy_capacity", filled["maximum_energy"])  # no more is ever in it
    for known in unit.slots.values():
        inner = unit.component == "zone" and not outside and known.name in _TO_OUTSIDE
        inner |= unit.component == "heat_pump" and system.reader.radiators is not None
        spared = inner or str(known.options.get("spared_by", "")) in filled
        spared |= known.name == "cop" and name in (*system.reader.laws, *system.reader.eir)
        if known.required and known.name not in filled and not spared:
            filled[known.name] = lacking(system, instance, known.name)


_TO_OUTSIDE = ("resistance", "ambient_temperature")


def _outside(system: System, instance: Instance) -> bool:
    """Whether a room is joined to the outside: all are but those that only others surround.

    The temperature outside is the same for all rooms of a text that has several.
    """
    filled, zones = system.filled[instance.name], system.reader.plant.of("zone")
    if not walled(system, instance.name):
        return False
    if len(zones) > 1 and "resistance" not in filled:
        return not any(instance.name in (k.first, k.second) for k in system.reader.links)
    if len(zones) > 1 and "ambient_temperature" not in filled:
        weather = weather_series(system, "outdoor")
        if weather is not None:
            filled["ambient_temperature"] = weather
    return True


def _by_time(system: System, instance: Instance) -> None:
    """Fill the slots of a room whose value depends on the time of the day."""
    name, filled = instance.name, system.filled[instance.name]
    for slot, entries in system.reader.by_time.items() if instance.unit.card.get("rooms") else ():
        known = instance.unit.slots[slot]
        if slot in filled:
            system.builder.draft.doubt(entries[0].line, f"the {known.said} is given in two ways")
            continue
        made = scheduled(system.builder, f"{name}_{slot}", entries, known.unit, known.said, None)
        if made is not None:
            filled[slot] = made


def _offered(system: System, instance: Instance) -> None:
    """Fill the largest output of a unit with what its blocks make together."""
    builder, name = system.builder, instance.name
    offer = system.reader.offers.get(name)
    if offer is None:
        return
    made = [
        builder.value(f"{name}_block_{k}_power", power, f"power of block {k} of {name}")
        for k, (power, _) in enumerate(offer.blocks, 1)
    ]
    system.blocks[name] = made
    if "power_max" in system.filled[name]:
        builder.draft.doubt(offer.line, f"{name}: its largest output is given, and blocks are")
    system.filled[name]["power_max"] = builder.derived(
        f"{name}_power_max", " + ".join(made), "kW", f"all blocks of {name}", made
    )


_BY_KIND: Mapping[str, tuple[str, ...]] = {
    "number": ("cop",),
    "power_per_cold": ("cop",),
    "power": ("cooling_max", "heat_max"),
}


def _sloped(system: System, instance: Instance, filled: dict[str, str]) -> None:
    """Fill what depends on a temperature in a straight line."""
    builder, unit, name = system.builder, instance.unit, instance.name
    for slope in system.reader.slopes:
        slots = [s for s in _BY_KIND.get(slope.kind, ()) if s in unit.slots]
        about = system.reader.about(slope.line, 0)
        machines = [i for i in system.reader.plant.instances
                    if set(_BY_KIND.get(slope.kind, ())) & set(i.unit.slots)]  # fmt: skip
        meant = about == unit.component or (len(machines) == 1 and about not in STORES)
        several = len(system.reader.plant.of(unit.component)) > 1
        words = builder.draft.lines[slope.line].line.split()
        each = bool({"each", "every", "both", "their", "all"} & set(words))
        if not slots or not meant or (several and not each):
            continue
        system.sloped.add(slope.line)
        weather = weather_series(system, slope.measure)
        said = unit.slots[slots[0]].said
        if weather is None or slots[0] in filled:
            builder.draft.doubt(slope.line, f"{name}: the {said} by which temperature, from where?")
            continue
        if slope.kind == "power_per_cold":
            made = add_slope(builder, f"{name}_specific_power", slope, weather, said)
            filled["cop"] = builder.derived(f"{name}_cop", f"1/{made}[t]", "1", said, [made], True)
        else:
            filled[slots[0]] = add_slope(builder, f"{name}_{slots[0]}", slope, weather, said)


def weather_series(system: System, measure: str) -> str | None:
    """Return the series of a temperature of the weather; None where there is none."""
    builder, series = system.builder, system.builder.draft.series
    rooms = [i.name for i in system.reader.plant.instances if i.unit.component == "zone"]
    own = [system.filled[r]["ambient_temperature"] for r in rooms
           if "ambient_temperature" in system.filled.get(r, {})]  # fmt: skip
    if measure == "outdoor" and own:
        return own[0] if own[0] in builder.indexed else None
    if ("weather", measure) not in series:
        return None
    known = [p["name"] for p in builder.parameters if p["name"] == f"{measure}_temperature"]
    made = f"{measure}_temperature"
    return made if known else builder.value(made, series["weather", measure], "temperature")


def lacking(system: System, instance: Instance, slot: str) -> str:
    """Report a slot that nothing fills; return the parameter that stands for it."""
    unit = instance.unit.slots[slot]
    ways = {"charge_efficiency": "no_loss_in", "discharge_efficiency": "no_loss_out"}
    component = instance.unit.component
    lossless = slot in ways and any(
        system.said(fact, instance.name, component) is not None for fact in ("no_loss", ways[slot])
    )
    if lossless:
        return system.builder.assumed(
            f"{instance.name}_{slot}", 1.0, "1", unit.said, "the text says that nothing is lost"
        )
    if "otherwise" in unit.options:
        return system.builder.assumed(
            f"{instance.name}_{slot}", float(unit.options["otherwise"]), "1", unit.said,
            f"{instance.name}: all of its electric power becomes heat",
        )  # fmt: skip
    what = f"{component} '{instance.name}': the {unit.said} is not given; add it or use"
    example = f'--set {instance.name}.{slot}="5 {unit.unit}"'
    return system.builder.missing(
        f"{instance.name}_{slot}", unit.unit if unit.unit != "%" else "1", unit.said,
        Missing(instance.name, slot, f"{what} {example}"),
        bool(unit.options.get("series")),
    )  # fmt: skip
