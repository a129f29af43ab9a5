"""Baselines by a rule: controls that go by a name, executed on the plant without a solver.

What a rule sets in each period follows from the physics that the checker executes, and is written
into the case ``baseline`` as equations. The balance then gives what the grid delivers, and the goal
what it costs; what no rule sets, as curtailment or the size of a connection, the goal decides.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np

from engiagent.blueprint.document import Blueprint
from engiagent.blueprint.elaborate import Elaboration
from engiagent.errors import EngiagentError, InputError
from engiagent.formulations.expansion import expand
from engiagent.models.systems.system import two_point
from engiagent.plant.statement import BASELINE, UNDER_RULE
from engiagent.run.limits import find_demands
from engiagent.verify.documents import Bench, Declarations
from engiagent.verify.levels.execution import Plant, buses_of, flow_of, sides_of
from engiagent.verify.levels.repeated import dynamics_of
from engiagent.verify.plants.buildings import zone_network
from engiagent.verify.plants.machines import heat_pump
from engiagent.verify.plants.stores import LOSSES, store
from engiagent.verify.plants.unit import Unit
from engiagent.verify.requirements import Dynamics
from engiagent.verify.values import Floats

GIVEN: Final = ("grid", "load", "generator_profile", "pv", "wind_turbine")
"""Models that nobody controls: what they take and give follows from data and from the balance."""
MACHINES: Final = ("heat_pump", "boiler")
_HEATED: Final = (["heater"], *(["emitter", model] for model in MACHINES))


@dataclass(frozen=True)
class Control:
    """The plant that a rule controls."""

    blueprint: Blueprint
    folder: Path | None
    broken: list[str] = field(default_factory=list)  # how the rule leaves limits, a clause each

    @cached_property
    def plant(self) -> Plant:
        """Its units as the checker executes them."""
        core = self.blueprint.core
        return Plant(Bench(Declarations(core, self.folder), {}), dynamics_of(core, self.folder))

    def units(self, model: str) -> list[Dynamics]:
        """Return its units of a model."""
        return [unit for unit in self.plant.units if unit.model == model]

    def refuse_others(self, rule: str, *models: str) -> None:
        """Refuse units that the rule says nothing about."""
        for unit in self.plant.units:
            if unit.element is not None:
                raise InputError(f"the rule {rule} speaks of one horizon", expected="without: […]")
            if unit.model not in (*GIVEN, *models):
                expected = f"none but {', '.join((*models, *GIVEN))}"
                said = f"the rule {rule} does not say what {unit.name} ({unit.model}) does"
                raise InputError(said, expected=expected)


Settings = Iterator[tuple[str, str, Floats]]
"""Component, quantity and values of what a rule sets [kW]."""


def self_consumption(control: Control) -> Settings:
    """Yield what batteries do that are charged from surplus alone, and discharged to loads alone.

    Surplus is what generation on their bus gives beyond its loads; batteries follow one another in
    the order in which they are stated.
    """
    control.refuse_others("self-consumption", "battery")
    plant, found = control.plant, False
    for bus, units in buses_of(plant).items():
        batteries = [unit for unit in units if unit.model == "battery"]
        sides = zip(sides_of(bus, units), (1.0, -1.0), strict=True)
        flows = [
            sign * flow_of(plant, unit, word)
            for side, sign in sides
            for unit, word in side
            if unit.model not in ("grid", "battery")
        ]
        if not batteries or not flows:
            continue
        found, surplus = True, np.asarray(sum(flows))
        for unit in batteries:
            charge, discharge = _followed(plant.of(unit), surplus)
            surplus = surplus - charge + discharge
            yield unit.name, "charge", charge
            yield unit.name, "discharge", discharge
    if not found:
        said = "the rule self-consumption has nothing to control"
        raise InputError(said, expected="a battery on a bus with a load or with generation")


def _followed(unit: Unit, surplus: Floats) -> tuple[Floats, Floats]:
    """Return charge and discharge of a battery that takes a surplus and covers what lacks."""
    if unit.given(*LOSSES):
        raise InputError(f"{unit.name} has losses by power", expected="constant efficiencies")
    battery, hours = store(unit), unit.hours
    decay, gain = battery.coefficients(hours, "euler" if unit.scheme == "euler" else "exact")
    limits = [unit.slot(f"{way}_power_max") for way in ("charge", "discharge")]
    wanted = [surplus, -surplus]
    most = [w if x is None else np.minimum(w, x) for w, x in zip(wanted, limits, strict=True)]
    charge, discharge = np.zeros(hours.size), np.zeros(hours.size)
    content = unit.need("initial_energy")
    for t in range(hours.size):
        content *= decay[t]
        charge[t], discharge[t] = battery.possible(most[0][t], most[1][t], content, gain[t])
        net = battery.charge_efficiency * charge[t] - discharge[t] / battery.discharge_efficiency
        content += gain[t] * net
    return charge, discharge


@dataclass(frozen=True)
class Heating:
    """What heats a zone."""

    # owner, word: the series that a control sets
    owner: str
    word: str
    # least, most: the heat while it runs. [kW]
    least: float | Floats
    most: Floats
    gain: float | Floats = 1.0  # heat over what is set


def thermostat(control: Control) -> Settings:
    """Yield what heaters draw, or heat pumps and boilers give, between the limits of their zones.

    Heating starts when its zone would fall below the lower limit, runs at full power until the
    upper one is reached, and then stands until the zone has cooled down again; see zone_limits.
    """
    control.refuse_others("thermostat", "thermal_zone", "heater", "emitter", *MACHINES)
    for zone in control.units("thermal_zone"):
        heating, limits = _heating(control, zone), zone_limits(control, zone.name)
        heat, reached = _heated(control.plant.of(zone), limits, heating)
        control.broken.extend(_broken(control, zone, reached))
        yield heating.owner, heating.word, heat / heating.gain
    if not control.units("thermal_zone"):
        said = "the rule thermostat has nothing to control"
        raise InputError(said, expected="a thermal_zone with a heater")


def _heating(control: Control, zone: Dynamics) -> Heating:
    """Return what heats a zone, with its limits by the physics of the checker."""
    plant, units = control.plant, control.plant.units
    serving = [plant.of(unit) for unit in units if unit.connections.get("zone") == zone.name]
    bus = serving[0].connections.get("heat_bus") if serving else None
    on_bus = [plant.of(u) for u in units if bus and u.connections.get("heat_bus") == bus]
    machines = [unit for unit in on_bus if unit.name != serving[0].name]
    known = [unit.model for unit in (*serving, *machines)]
    if known not in _HEATED or zone.connections.get("neighbours"):
        said = f"the rule thermostat does not know how to heat {zone.name}"
        expected = "one heater, or an emitter behind one heat pump or boiler; no neighbours"
        raise InputError(said, found=", ".join(known) or "no heating", expected=expected)
    if not machines:
        heater, most = serving[0], serving[0].slot("electric_power_max")
        if most is None:
            said = f"the rule thermostat needs the power of {heater.name}"
            raise InputError(said, expected="electric_power_max")
        cop = heater.series("cop")
        return Heating(heater.name, "electric_power", 0.0, most * cop, cop)
    machine, limit = machines[0], serving[0].slot("power_max")
    capacity = most = machine.series("rated_capacity")
    if machine.model == "heat_pump":
        pump, source, sink = heat_pump(machine)
        capacity = most = pump.capacity(source, sink) + np.zeros(machine.periods.size)
        drawn = machine.slot("electric_power_max")
        if drawn is not None:
            most = np.minimum(most, pump.heat(drawn, source=source, sink=sink))
    most = machine.need("count") * most
    most = most if limit is None else np.minimum(most, limit)
    return Heating(machine.name, "heat", machine.need("minimum_part_load") * capacity, most)


def zone_limits(control: Control, zone: str) -> tuple[Floats, Floats]:
    """Return between which temperatures [degC] a thermostat keeps a zone, by period.

    A lower limit applies to the periods that begin or end with it; without an upper one it is
    just kept, and where there is none nothing is heated.
    """
    low, high = _demanded(control, zone)
    low = np.maximum(low[:-1], low[1:])
    high = np.where(np.isinf(high[1:]), high[:-1], high[1:])
    return low, np.where(np.isinf(low) | np.isinf(high), low, high)


def _demanded(control: Control, zone: str) -> tuple[Floats, Floats]:
    """Return between which temperatures [degC] requirements keep a zone, at every instant."""
    name = f"{zone}_temperature"
    elaboration = Elaboration(expand(control.blueprint).core, control.folder)
    found = {limit.side: limit.values for limit in find_demands(elaboration, [name])}
    if set(found) != {"lower", "upper"}:
        said = f"the rule thermostat needs two limits of the temperature of {zone}"
        shown = f'must: "20 degC <= {zone}.temperature[t] <= 22 degC"'
        raise InputError(said, expected=shown, found=" and ".join(found) or "none")
    low, high = (np.array(found[side], dtype=float) for side in ("lower", "upper"))
    return np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)


def _broken(control: Control, zone: Dynamics, reached: Floats) -> Iterator[str]:
    """Yield where a zone first leaves the limits of its requirements, if it does."""
    low, high = (side[1:] for side in _demanded(control, zone.name))
    off = np.flatnonzero(np.maximum(low - reached, reached - high) > 1e-6)
    if off.size:
        first = int(off[0])
        side, limit = ("below", low) if reached[first] < low[first] else ("above", high)
        at = [*control.plant.of(zone).periods.root.labels, "the end"][first + 1]
        what = f"{reached[first]:.4g} degC at {at}, {side} its limit of {limit[first]:g} degC"
        yield f"the rule leaves {zone.name} at {what}"


def _heated(zone: Unit, limits: tuple[Floats, Floats], heating: Heating) -> tuple[Floats, Floats]:
    """Return the heat [kW] that a zone gets between two limits, and what it reaches [degC]."""
    model, start, _ = zone_network([zone])
    hours, temperature = zone.hours, float(start[0])
    outside, gains = (
        np.zeros(hours.size) if found is None else found
        for found in (zone.slot("ambient_temperature"), zone.slot("gains"))
    )
    scheme: Any = zone.scheme or "exact"
    steps = {step: model.discretise(step, scheme) for step in np.unique(hours).tolist()}
    least, most = heating.least + np.zeros(hours.size), heating.most
    heat, reached, runs = np.zeros(hours.size), np.zeros(hours.size), False
    for t, (step, low, high) in enumerate(zip(hours.tolist(), *limits, strict=True)):
        keep, drive = steps[step]
        free = keep[0, 0] * temperature + drive[0] @ np.array([outside[t], gains[t]])
        runs = two_point(runs, free, low, high)
        if runs:
            heat[t] = min(most[t], (high - free) / drive[0, 1])
            if heat[t] < least[t]:  # the rest of the way is too short for its least part load
                heat[t] = least[t] if free < low else 0.0
        reached[t] = temperature = free + drive[0, 1] * heat[t]
        runs = runs and temperature < high - 1e-9
    return heat, reached


RULES: Final[Mapping[str, Callable[[Control], Settings]]] = {
    "self-consumption": self_consumption,
    "thermostat": thermostat,
}


def with_rule(blueprint: Blueprint, rule: str, folder: Path | None) -> Blueprint:
    """Return a blueprint with the case of the baseline: the same plant under a rule.

    Requirements that name what the rule controls are left out, for the rule does not know them.

    Raises InputError when there is no such rule, or when it has no meaning on the plant.
    """
    if rule not in RULES:
        raise InputError("there is no such rule", found=repr(rule), expected=" or ".join(RULES))
    control = Control(blueprint, folder)
    try:
        series = list(RULES[rule](control))
    except InputError:
        raise
    except EngiagentError as error:  # a size that is open, a slot that is not there
        said = f"the rule {rule} cannot be executed: {error}"
        raise InputError(said, expected="given sizes of what it controls") from None
    document = blueprint.to_dict()
    core = document["core_model_elements"]
    patch = list(_patch(core, rule, series))
    report = core.setdefault("report", {})
    about = "; ".join((f"{UNDER_RULE}{rule}", *control.broken))
    case = {"name": BASELINE, "description": about, "patch": patch}
    report["cases"] = [*report.get("cases", ()), case]
    return Blueprint.from_dict(document)


def _patch(
    core: Mapping[str, Any], rule: str, series: Sequence[tuple[str, str, Floats]]
) -> Iterator[dict[str, Any]]:
    """Yield the operations that set series to values, in the place of requirements about them."""
    owners = {re.escape(owner) for owner, _, _ in series}
    source = {"kind": "assumption", "reason": f"the rule {rule} of the baseline"}
    named = re.compile(rf"(?<![\w.])(?:{'|'.join(owners)})_\w+")
    rows = [row for row in core.get("constraints", ()) if not named.search(row["expression"])]
    for owner, word, values in series:
        name = f"baseline_{owner}_{word}"
        about = {"param_id": name, "name": name, "index": ["T"], "unit": "kW"}
        entry = about | {"value": values.tolist(), "source_reference": source}
        yield {"op": "add", "path": "/core_model_elements/parameters/-", "value": entry}
        text = f"{owner}_{word}[t] == {name}[t]"
        row = {"constraint_id": name, "name": name, "forall": ["t in T"], "expression": text}
        rows.append(row | {"category": "Operational Logic", "source_reference": source})
    yield {"op": "add", "path": "/core_model_elements/constraints", "value": rows}
