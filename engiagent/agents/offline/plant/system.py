"""A plant as a blueprint: every unit's algebra, balances by carrier, costs and the objective."""

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from engiagent.agents.offline.builder import Builder, for_owner
from engiagent.agents.offline.draft import Json, Priced, Reading
from engiagent.agents.offline.goals import Goal, wanted_currency
from engiagent.agents.offline.plant.engine import Ban, Reader, Timed, instances_named
from engiagent.agents.offline.plant.units import Instance
from engiagent.agents.offline.results import Missing
from engiagent.agents.offline.storage import constrain, parameters, requirements
from engiagent.agents.offline.tariffs import aligned, condition, scheduled
from engiagent.agents.offline.tokens import Period

STORES = ("battery", "heat_store", "cold_store")
SWITCHING = ("min_power", "min_fraction", "start_cost", "min_up", "min_down", "no_load_cost")
BEFORE = ("start_cost", "min_up", "min_down")
PHYSICS, CAPACITY = "Physical Laws", "Resource Capacity"
BALANCE, LOGIC = "Supply-Demand Balance", "Operational Logic"
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
    filled: dict[str, dict[str, str]] = field(default_factory=dict)

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


def build(system: System, goal: Goal | None, currency: str) -> Json | None:
    """Add all units, balances and costs; return the objective."""
    plant = system.reader.plant
    for instance in plant.instances:
        if instance.unit.component not in ("grid", "fuel"):
            fill_slots(system, instance)
    for instance in plant.of("fuel"):
        fill_slots(system, instance)
        _prices(system, instance)
    for instance in plant.instances:
        component = instance.unit.component
        if component in STORES:
            _store(system, instance)
        elif component in ("pv", "wind"):
            _weather(system, instance)
        elif component not in ("grid", "fuel"):
            _unit(system, instance)
    for instance in plant.of("grid"):
        _grid(system, instance)
    _exclusive(system)
    add_timed(system)
    _balances(system)
    return _objective(system, goal, currency)


def fill_slots(system: System, instance: Instance) -> None:
    """Turn what was read of a unit into parameters."""
    builder, unit, name = system.builder, instance.unit, instance.name
    readings = for_owner(builder.draft, unit.component, name)
    wanted = {
        slot.name: slot.unit for slot in unit.slots.values()
        if not slot.options.get("constraint") and not slot.options.get("fills")
    }  # fmt: skip
    plain = {
        k: v for k, v in readings.items()
        if not v[0].slot.options.get("constraint") and not v[0].slot.options.get("wear")
    }  # fmt: skip
    filled = parameters(builder, unit.component, name, plain, wanted)
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
    for known in unit.slots.values():
        if known.required and known.name not in filled:
            filled[known.name] = _lacking(system, instance, known.name)


def _lacking(system: System, instance: Instance, slot: str) -> str:
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
    what = f"{component} '{instance.name}': the {unit.said} is not given; add it or use"
    example = f'--set {instance.name}.{slot}="5 {unit.unit}"'
    return system.builder.missing(
        f"{instance.name}_{slot}", unit.unit if unit.unit != "%" else "1", unit.said,
        Missing(instance.name, slot, f"{what} {example}"),
        bool(unit.options.get("series")),
    )  # fmt: skip


# -- storage and weather ----------------------------------------------------------------------


def _store(system: System, instance: Instance) -> None:
    builder, name = system.builder, instance.name
    filled = system.filled[name]
    carrier = str(instance.unit.card.get("carrier", "electricity"))
    if carrier != "electricity":
        for slot in ("charge_efficiency", "discharge_efficiency"):
            if slot not in filled:
                filled[slot] = builder.assumed(
                    f"{name}_{slot}", 1.0, "1", slot.replace("_", " "),
                    f"{name}: nothing is lost when it is filled and emptied",
                )  # fmt: skip
    _words_for_start(system, instance)
    slots = [
        "energy_capacity", "charge_power_max", "discharge_power_max", "charge_efficiency",
        "discharge_efficiency", "initial_energy", "minimum_energy", "maximum_energy",
        "self_discharge",
    ]  # fmt: skip
    builder.components.append(
        {"name": name, "model": "battery", "index": "T",
         "parameters": {s: filled[s] for s in slots if s in filled}}
    )  # fmt: skip
    system.demand(carrier, f"{name}_charge[t]", filled.get("charge_power_max"))
    system.supply(carrier, f"{name}_discharge[t]")
    readings = for_owner(builder.draft, instance.unit.component, name)
    requirements(builder, name, readings, filled)
    for found in readings.values():
        for direction in found[0].slot.options.get("wear", ()):
            made = builder.value(f"{name}_wear_cost", found[0].value, found[0].slot.said)
            system.costs.append(("+", f"sum({made}*{name}_{direction}[t]*dt(t) for t in T)"))
    _final(system, instance, bool({"final_energy", "final_fraction"} & set(readings)))
    if "minimum_energy" not in filled:
        builder.draft.assume(f"{name}: the content may fall to 0")


def _words_for_start(system: System, instance: Instance) -> None:
    """Fill the initial content from words, as 'is empty at the start'."""
    filled, name = system.filled[instance.name], instance.name
    for fact, share in (("start_empty", "0"), ("start_half", "0.5"), ("start_full", "1")):
        line = system.said(fact, name, instance.unit.component)
        if line is None:
            continue
        known = next(
            (p for p in system.builder.parameters if p["name"] == filled["initial_energy"]), None
        )
        if known is None or known.get("status") != "missing":
            system.builder.draft.doubt(line, f"{name}: its content at the start is given twice")
            return
        system.builder.parameters.remove(known)
        gaps = system.builder.draft.missing
        gaps[:] = [m for m in gaps if (m.component, m.slot) != (name, "initial_energy")]
        span = system.builder.draft.lines[line].sentence.span
        made = system.builder.parameter(
            f"{name}_initial_energy", "kWh", "content at the start",
            value=f"{share}*{filled['energy_capacity']}",
            source_reference={
                "kind": "derived",
                "of": [system.builder.draft.quoted(span),
                       *_sources(system, filled["energy_capacity"])],
                "note": f"in words, {share} of the capacity",
            },
        )  # fmt: skip
        system.builder.numbers[made] = system.builder.evaluate(
            f"{share}*{filled['energy_capacity']}"
        )
        filled["initial_energy"] = made


def _sources(system: System, name: str) -> list[Json]:
    entry = next(p for p in system.builder.parameters if p["name"] == name)
    reference = entry.get("source_reference") or []
    return list(reference) if isinstance(reference, list) else [reference]


def _final(system: System, instance: Instance, stated: bool) -> None:
    name, draft = instance.name, system.builder.draft
    for fact, operator in (("final_at_least_initial", ">="), ("final_equals_initial", "==")):
        line = system.said(fact, name, instance.unit.component)
        found = draft.fact(fact)
        if line is None and found is not None:
            line = found.line
        if line is not None:
            stated = True
            state = f"{name}_state_of_charge"
            constrain(system.builder, f"content of {name} at the end",
                      f"{state}[last(I)] {operator} {state}[first(I)]",
                      "Strategic Requirements", line)  # fmt: skip
    if not stated:
        draft.assume(f"{name}: nothing is required of its content at the end")


def _weather(system: System, instance: Instance) -> None:
    name, draft = instance.name, system.builder.draft
    component: Json = {
        "name": name,
        "model": "generator_profile",
        "index": "T",
        "parameters": {"available_power": system.filled[name]["available_power"]},
    }
    fixed = system.said("not_curtailable", name, instance.unit.component) is not None or (
        draft.has("not_curtailable") and not draft.has("curtailable")
    )
    if fixed:
        component["options"] = {"curtailable": False}
    elif "curtailable" not in system.reader.facts and not draft.has("curtailable"):
        draft.assume(f"{name}: less than its available power may be used (curtailment)")
    system.builder.components.append(component)
    system.supply("electricity", f"{name}_power[t]")


# -- units with algebra of their own ----------------------------------------------------------


def _unit(system: System, instance: Instance) -> None:
    card, name = instance.unit.card, instance.name
    filled = system.filled[name]
    _either(system, instance)
    for variable in card.get("variables", ()):
        upper = filled.get(variable["upper"])
        if variable["name"] == "heat" and card.get("by_product"):
            continue
        entry: Json = {"name": f"{name}_{variable['name']}", "index": ["t in T"],
                       "type": "continuous", "lower": 0}  # fmt: skip
        if upper is not None:
            entry["upper"] = system.builder.at(upper)
        entry |= {
            "unit": variable["unit"],
            "quantity": f"{name}.{variable['name']}",
            "role": "decision",
            "description": f"{variable['description']} of {name}",
        }
        system.builder.variables.append(entry)
    if card.get("by_product"):
        _by_product(system, instance)
    else:
        for carrier, text in card.get("supplies", {}).items():
            system.supply(carrier, system.text(name, text))
    for carrier, text in card.get("demands", {}).items():
        upper = next((filled.get(v["upper"]) for v in card.get("variables", ())), None)
        plain = re.fullmatch(r"\{(\w+)\}", text)
        limit = filled.get(plain[1]) if plain else upper
        system.demand(carrier, system.text(name, text), limit)
    if instance.unit.switches:
        _switching(system, instance)
    _ramp(system, instance)
    _running_costs(system, instance)


def _either(system: System, instance: Instance) -> None:
    """Fill a limit that may be given in one of several ways."""
    name, filled = instance.name, system.filled[instance.name]
    for target, ways in dict(instance.unit.card.get("either", {})).items():
        for way in ways:
            names = re.findall(r"[a-z_]+", way)
            if not all(n in filled for n in names):
                continue
            if way in filled:
                filled[target] = filled[way]
            else:
                text = re.sub(r"[a-z_]+", lambda m: system.builder.at(filled[m[0]]), way)
                inputs = [filled[n] for n in names]
                filled[target] = system.builder.derived(
                    f"{name}_{target}", text, "kW", target.replace("_", " "), inputs,
                    any(i in system.builder.indexed for i in inputs),
                )  # fmt: skip
            break
        if target not in filled:
            first = str(ways[0])
            filled[target] = _lacking(system, instance, first)


def _by_product(system: System, instance: Instance) -> None:
    """Give the heat of a CHP in proportion to its electricity."""
    name = instance.name
    if system.has(name, "heat_efficiency", "efficiency"):
        if system.has(name, "heat_max"):
            system.builder.draft.doubt(
                max(system.line_of(name, "heat_max"), 0), f"{name}: its heat is given in two ways"
            )
        heat = system.text(name, "{c}_power[t]*{heat_efficiency}/{efficiency}")
    elif system.has(name, "heat_max", "power_max"):
        heat = system.text(name, "{c}_power[t]*{heat_max}/{power_max}")
    else:
        _lacking(system, instance, "heat_efficiency")
        return
    system.supply("electricity", f"{name}_power[t]")
    system.supply("heat", heat)


def _switching(system: System, instance: Instance) -> None:
    """Add on, start and stop of a unit that has a least output, costs or times of its runs."""
    name, builder = instance.name, system.builder
    given = [slot for slot in SWITCHING if system.has(name, slot)]
    if not given:
        return
    output = f"{name}_{instance.unit.card['output']}[t]"
    top = next(v["upper"] for v in instance.unit.card["variables"]
               if v["name"] == instance.unit.card["output"])  # fmt: skip
    on = f"{name}_on"
    builder.variables.append(
        {"name": on, "index": ["t in T"], "type": "binary", "unit": "1", "quantity": f"{name}.on",
         "role": "decision", "description": f"1 while {name} runs"}
    )  # fmt: skip
    line = system.line_of(name, *given)
    system.row(f"{name} gives nothing when off", f"{output} <= {{{top}}}*{on}[t]".replace(
        f"{{{top}}}", builder.at(system.filled[name][top])), LOGIC, line)  # fmt: skip
    if system.has(name, "min_power"):
        least = builder.at(system.filled[name]["min_power"])
        system.row(f"least output of {name}", f"{output} >= {least}*{on}[t]", CAPACITY,
                   system.line_of(name, "min_power", "min_fraction"))  # fmt: skip
    if system.has(name, "no_load_cost"):
        text = system.text(name, "sum({no_load_cost}*{c}_on[t]*dt(t) for t in T)")
        system.costs.append(("+", text))
    if any(system.has(name, slot) for slot in BEFORE):
        _starts(system, instance, on)


def _starts(system: System, instance: Instance, on: str) -> None:
    name, builder = instance.name, system.builder
    component = instance.unit.component
    off = system.said("units_off", name, component)
    running = system.said("units_on", name, component)
    before = "1" if running is not None else "0"
    if off is None and running is None:
        line = max(system.line_of(name, *BEFORE), 0)
        builder.draft.doubt(line, f"whether {name} runs before the first period is not said")
    for event in ("start", "stop"):
        builder.variables.append(
            {"name": f"{name}_{event}", "index": ["t in T"], "type": "binary", "unit": "1",
             "quantity": f"{name}.{event}", "role": "auxiliary",
             "description": f"1 when {name} makes a {event}"}
        )  # fmt: skip
    stated = off if off is not None else running
    system.row(f"starts and stops of {name}",
               f"{on}[t] - prev({on}[t], {before}) == {name}_start[t] - {name}_stop[t]", LOGIC,
               stated if stated is not None else -1)  # fmt: skip
    system.row(f"{name} does not start and stop at once",
               f"{name}_start[t] + {name}_stop[t] <= 1", LOGIC, -1)  # fmt: skip
    for slot, event, state in (
        ("min_up", "start", f"{on}[t]"), ("min_down", "stop", f"1 - {on}[t]"),
    ):  # fmt: skip
        if not system.has(name, slot):
            continue
        least = system.filled[name][slot]
        system.row(
            instance.unit.slots[slot].said + f" of {name}",
            f"sum({name}_{event}[s] for s in T if pos(s) <= pos(t) and "
            f"(pos(t) - pos(s))*dt(t) < {least}) <= {state}",
            LOGIC, system.line_of(name, slot),
        )  # fmt: skip
        builder.draft.assume(f"{name}: its state before the first period binds no longer")
    if system.has(name, "start_cost"):
        text = system.text(name, "sum({start_cost}*{c}_start[t] for t in T)")
        system.costs.append(("+", text))


def _ramp(system: System, instance: Instance) -> None:
    name = instance.name
    if not system.has(name, "ramp"):
        return
    output = f"{name}_{instance.unit.card['output']}"
    ramp, line = system.filled[name]["ramp"], system.line_of(name, "ramp")
    for sign in ("", "-"):
        system.row(f"ramp of {name}", f"{sign}({output}[t] - {output}[t-1]) <= {ramp}*dt(t)",
                   CAPACITY, line, where="t != first(T)")  # fmt: skip
    system.builder.draft.assume(f"{name}: the first period may have any output")


def _running_costs(system: System, instance: Instance) -> None:
    """Add what a unit burns, or what its output costs."""
    card, name, draft = instance.unit.card, instance.name, system.builder.draft
    for entry in card.get("costs", ()):
        if system.has(name, *entry["if"]):
            system.costs.append(("+", f"sum({system.text(name, entry['text'])} for t in T)"))
    burns = card.get("burns")
    if burns is None:
        return
    fuels = system.reader.plant.of("fuel")
    price = system.filled[name].get("fuel_price") or next(
        (system.filled[f.name]["price"] for f in fuels if "price" in system.filled[f.name]), None
    )
    if system.has(name, "energy_cost"):
        if system.has(name, "efficiency") and price is not None and card["output"] == "power":
            line = max(system.line_of(name, "energy_cost"), 0)
            draft.doubt(line, f"{name}: both a cost of generation and a price of fuel are given")
        return
    if price is not None and system.has(name, "efficiency"):
        at = system.builder.at(price)
        text = system.text(name, burns)
        system.costs.append(("+", f"sum({at}*{text}*dt(t) for t in T)"))
        return
    slot = "efficiency" if price is not None else "fuel_price"
    _lacking(system, instance, slot)


# -- limits by the time of the day ------------------------------------------------------------


def add_timed(system: System) -> None:
    """Add the limits that hold at some times of the day only."""
    builder = system.builder
    for timed in system.reader.timed:
        reading = timed.reading
        slot = reading.slot
        if slot.options.get("peak"):
            continue
        for instance in instances_named(system.reader.plant, reading.owner, slot.component):
            made = builder.value(f"{instance.name}_{slot.name}_at", reading.value, slot.said)
            amount = made
            share = dict(slot.options.get("derive", {}))
            if share:
                amount = next(iter(share.values())).replace("x0", made)
                for name, value in system.filled[instance.name].items():
                    amount = re.sub(rf"\b{name}\b", value, amount)
            if timed.period is not None:
                text = str(slot.options["window"]).format(c=instance.name, x=amount)
                _in_period(system, slot.said, text, timed.period, reading.line)
            elif timed.clock is not None:
                _at_moment(system, instance.name, timed, amount)
    for ban in system.reader.bans:
        _forbid(system, ban)


def _in_period(
    system: System, name: str, text: str, period: Period, line: int, outside: bool = False
) -> None:
    builder = system.builder
    if not aligned(builder, period):
        builder.draft.doubt(line, "times that begin or end within a step")
        return
    where = condition(period, "t")
    where = f"not ({where})" if outside else where
    constrain(builder, name, text, CAPACITY, line, ["t in T"], where, spans=period.spans)


def _at_moment(system: System, name: str, timed: Timed, amount: str) -> None:
    """Require a content at a time of the day, on every day of the horizon."""
    builder, reading, clock = system.builder, timed.reading, timed.clock
    assert clock is not None
    assert clock.clock is not None
    moment = Period(((clock.clock, 24.0),))
    if not aligned(builder, moment) or reading.bound not in ("lower", "upper", "value", "exact"):
        builder.draft.doubt(reading.line, "a moment within a step")
        return
    operator = {"lower": ">=", "upper": "<="}.get(reading.bound, "==")
    constrain(
        builder, reading.slot.said, f"{name}_state_of_charge[i] {operator} {amount}",
        "Strategic Requirements", reading.line, ["i in I"],
        f"clock(i) == {clock.clock:g}[h]", spans=(clock.span,),
    )  # fmt: skip


def _forbid(system: System, ban: Ban) -> None:
    plant, draft = system.reader.plant, system.builder.draft
    flows = ban.fact.split()[1:]
    component = "grid" if {"import", "export"} & set(flows) else ban.unit
    stores = [i for i in plant.instances if i.unit.component in STORES]
    if {"charge", "discharge"} & set(flows) and component not in STORES and len(stores) == 1:
        component = stores[0].unit.component
    units = [i for i in plant.instances if i.unit.component == component]
    text = draft.lines[ban.line].line
    named = [i for i in units if len(units) > 1 and i.finder.search(text)]
    if not units or (component in STORES) is not bool({"charge", "discharge"} & set(flows)):
        draft.refuse(ban.line, "no unit does what is forbidden here")
        return
    for instance in named or units:
        for flow in flows:
            if flow == "output":
                flow = str(instance.unit.card.get("output", "power"))
            _in_period(system, f"{instance.name}: no {flow}", f"{instance.name}_{flow}[t] <= 0[kW]",
                       ban.period, ban.line, ban.only)  # fmt: skip


# -- grid, balances, objective ----------------------------------------------------------------


def _prices(system: System, instance: Instance) -> None:
    """Turn prices by the time of the day into parameters."""
    builder = system.builder
    by_slot: dict[str, list[Priced]] = {}
    for reading, priced in system.reader.priced:
        if reading.slot.component == instance.unit.component:
            for slot in reading.slot.options.get("fills", (reading.slot.name,)):
                by_slot.setdefault(slot, []).append(priced)
    filled = system.filled[instance.name]
    for slot, entries in by_slot.items():
        said = instance.unit.slots[slot].said
        if slot in filled:
            builder.draft.doubt(max(entries[0].line, 0), f"the {said} is given in two ways")
            continue
        made = scheduled(builder, slot, entries, entries[0].value.unit, said, None)
        if made is not None:
            filled[slot] = made


def _grid(system: System, instance: Instance) -> None:
    builder, draft, name = system.builder, system.builder.draft, instance.name
    readings = for_owner(draft, "grid", name)
    wanted = {"import_power_max": "kW", "export_power_max": "kW"}
    limits = {k: v for k, v in readings.items() if k in (*wanted, "connection_power")}
    filled = parameters(builder, "grid", name, limits, wanted)
    for (owner, slot), value in draft.series.items():
        if owner == name:
            filled[slot] = builder.value(slot, value, instance.unit.slots[slot].said)
    if "both_price" in filled:
        filled["import_price"] = filled["export_price"] = filled.pop("both_price")
    system.filled[name] = filled
    _prices(system, instance)
    others = {i.unit.component for i in system.reader.plant.instances} - {"grid", "battery"}
    shared = not others or draft.has("same_price")
    if shared and "export_price" not in filled and "import_price" in filled:
        filled["export_price"] = filled["import_price"]
    if "import_price" not in filled:
        filled["import_price"] = builder.missing(
            "import_price", "EUR/kWh", "price of electricity",
            Missing("site", "import_price", "the price of electricity is not given; add it or use "
                    '--set site.import_price="0.30 EUR/kWh"'),
        )  # fmt: skip
    adder = readings.get("import_adder")
    if adder is not None:
        filled["import_adder"] = builder.value("import_adder", adder[0].value, adder[0].slot.said)
    _connection(system, name, filled)
    for k, charge in enumerate(readings.get("demand_charge", []), 1):
        _peak(system, name, charge, None, k)
    for timed in system.reader.timed:
        if timed.reading.slot.name == "demand_charge":
            _peak(system, name, timed.reading, timed.period, 9)


def _connection(system: System, name: str, filled: dict[str, str]) -> None:
    builder, draft = system.builder, system.builder.draft
    no_export = "no_export" in system.reader.facts or draft.has("no_export")
    paid = "export_price" in filled
    if no_export and (paid or "export_power_max" in filled):
        line = system.reader.facts.get("no_export", [0])[0]
        draft.doubt(line, "feed-in is excluded here and priced or limited elsewhere")
    limits = {k: filled[k] for k in ("import_power_max", "export_power_max") if k in filled}
    if not paid:
        if "export_power_max" in limits:
            draft.doubt(
                max(system.line_of(name, "export_power_max", "connection_power"), 0),
                "feed-in is limited, but what it earns is not said",
            )
        if not no_export:
            draft.assume("feed-in is not mentioned: nothing is fed into the grid")
        limits["export_power_max"] = "0[kW]"
    if "import_power_max" not in limits:
        enough = _enough(system)
        limits = {**({"import_power_max": enough} if enough else {}), **limits}
        filled["import_enough"] = enough or ""
    else:
        filled["import_enough"] = limits["import_power_max"]
    component: Json = {"name": name, "model": "grid", "index": "T", "parameters": limits}
    bought, sold = builder.numbers.get(filled["import_price"]), None
    if paid:
        sold = builder.numbers.get(filled["export_price"])
        cost = f"{builder.at(filled['export_price'])}*{name}_export[t]*dt(t)"
        system.costs.append(("-", f"sum({cost} for t in T)"))
    price = builder.at(filled["import_price"])
    if "import_adder" in filled:
        price = f"({price} + {filled['import_adder']})"
        if bought is not None:
            bought = bought + builder.numbers[filled["import_adder"]]
    if bought is not None and sold is not None and np.any(sold >= bought):
        if len(limits) == 2:
            component["options"] = {"exclusive_on": "T"}
        elif not (
            filled["import_price"] == filled["export_price"] and "import_adder" not in filled
        ):
            draft.doubt(0, "buying and selling at once would pay; the connection has no limit")
    builder.components.append(component)
    system.costs.insert(0, ("+", f"sum({price}*{name}_import[t]*dt(t) for t in T)"))
    system.supply("electricity", f"{name}_import[t]")
    system.demand("electricity", f"{name}_export[t]")


def _enough(system: System) -> str | None:
    """Return a bound on the import where none is stated: more could only be fed back at once."""
    names = system.most.get("electricity", [])
    if not names or any(name is None for name in names):
        return None
    known = [str(name) for name in names]
    return system.builder.derived(
        "grid_import_enough", " + ".join(system.builder.at(n) for n in known), "kW",
        "what all demands can take together", known,
        any(n in system.builder.indexed for n in known),
        note="no limit is stated; import beyond all demands would go straight back",
    )  # fmt: skip


def _peak(system: System, name: str, reading: Reading, period: Period | None, k: int) -> None:
    if k in (2, 3):
        system.builder.draft.doubt(reading.line, "there are two demand charges at all times")
    made = system.builder.value("demand_charge", reading.value, reading.slot.said)
    if "/d" in reading.value.unit or "/month" in reading.value.unit or "/yr" in reading.value.unit:
        system.builder.draft.doubt(reading.line, "a demand charge per time over this horizon")
    peak = "grid_peak" if period is None else f"grid_peak_{len(system.builder.variables)}"
    limit = system.filled[name]["import_enough"]
    above = f"max({limit}[t] for t in T)" if limit in system.builder.indexed else limit
    system.builder.variables.append(
        {"name": peak, "type": "continuous", "lower": 0, **({"upper": above} if above else {}),
         "unit": "kW",
         "quantity": f"grid.{peak.removeprefix('grid_')}", "role": "auxiliary",
         "description": "largest import"}
    )  # fmt: skip
    text = f"{name}_import[t] <= {peak}"
    if period is None:
        system.row("peak of the import", text, LOGIC, reading.line)
    else:
        _in_period(system, "peak of the import", text, period, reading.line)
    system.costs.append(("+", f"{made}*{peak}"))


def _exclusive(system: System) -> None:
    """Keep batteries from burning energy where that could pay."""
    builder, draft = system.builder, system.builder.draft
    stores = [c for c in builder.components if c["model"] == "battery"]
    if not stores:
        return
    units = {i.unit.component for i in system.reader.plant.instances}
    stated = "exclusive" in system.reader.facts or draft.has("exclusive")
    prices = system.filled.get("grid", {})
    conditions = []
    for price in dict.fromkeys((prices.get("import_price"), prices.get("export_price"))):
        values = builder.numbers.get(price or "")
        if price and values is not None and np.any(values <= 0):
            conditions.append(f"{builder.at(price)} <= 0")
    surplus = bool(units & {"pv", "wind", "chp"}) or any(
        system.has(i.name, "min_power") for i in system.reader.plant.instances
    )
    electric = (
        [c for c in stores if f"{c['name']}_charge[t]" in system.demands["electricity"]]
        if "electricity" in system.demands
        else []
    )
    where = "T" if surplus else None
    if not surplus and conditions:
        where = "T_exclusive"
        builder.sets.append({"name": where, "kind": "subset", "of": "T", "binder": "t",
                             "where": " or ".join(f"({c})" for c in conditions)})  # fmt: skip
    if where is None:
        return
    if not stated:
        draft.assume("a battery does not charge and discharge in the same period")
    for part in electric:
        part["options"] = {"exclusive_on": where}


def _balances(system: System) -> None:
    draft = system.builder.draft
    for carrier in dict.fromkeys([*system.supplies, *system.demands]):
        supply = " + ".join(system.supplies.get(carrier, [])) or "0[kW]"
        demand = " + ".join(system.demands.get(carrier, [])) or "0[kW]"
        operator = "=="
        if carrier == "heat" and system.reader.plant.of("chp"):
            if "dump_heat" in system.reader.facts:
                operator = ">="
            elif "no_dump_heat" not in system.reader.facts:
                draft.doubt(0, "whether heat of the CHP may be wasted is not said")
        line = -1
        constrain(system.builder, f"balance of {carrier}", f"{supply} {operator} {demand}",
                  PHYSICS, line, ["t in T"])  # fmt: skip


def _objective(system: System, goal: Goal | None, currency: str) -> Json | None:
    if goal is None:
        return None
    if goal.target not in ("cost", "profit"):
        system.builder.draft.refuse(goal.line, "the engine has no such objective for a plant")
        return None
    profit = goal.target == "profit"
    flip = {"+": "-", "-": "+"}
    signed = [(flip[s] if profit else s, text) for s, text in system.costs]
    signed.sort(key=lambda p: p[0] != "+")
    text = "".join(f" {sign} {term}" for sign, term in signed).strip()
    text = text.removeprefix("+ ") if text.startswith("+") else f"-{text.removeprefix('- ')}"
    return {
        "name": goal.target,
        "sense": "maximize" if profit else "minimize",
        "expression": text,
        "unit": wanted_currency(system.builder.draft, goal, currency),
        "source_reference": system.builder.draft.quote(goal.line),
    }
