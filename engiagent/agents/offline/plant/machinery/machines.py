"""Units with algebra of their own: outputs, switching, ramps, and what they burn."""

import re
from typing import Final

import numpy as np

from engiagent.agents.offline.builder import for_owner
from engiagent.agents.offline.draft import Json, source_span
from engiagent.agents.offline.plant.machinery.alike import before_first, several, whole
from engiagent.agents.offline.plant.machinery.curves import add_curve, add_offer, burn
from engiagent.agents.offline.plant.machinery.drawing import drawn_by_curves, drawn_by_law
from engiagent.agents.offline.plant.spaces.piping import taken_by_room
from engiagent.agents.offline.plant.system import (
    BEFORE,
    CAPACITY,
    LOGIC,
    SWITCHING,
    System,
    lacking,
)
from engiagent.agents.offline.plant.units import Instance
from engiagent.agents.offline.storage import requirements


def add_unit(system: System, instance: Instance) -> None:
    """Add a unit with the variables, terms on balances and costs of its card."""
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
    kind = instance.unit.component
    if kind == "heat_pump" and system.said("recovers", name, kind) is not None:
        # What it gives as heat beyond its electricity is taken from the chilled water.
        cold = system.text(name, "({cop} - 1)*{c}_electric_power[t]")
        system.supply("cooling", cold)
    law, eir = system.reader.laws.get(name), system.reader.eir.get(name)
    plain = law is None and eir is None
    for carrier, text in card.get("demands", {}).items() if plain else ():
        tops = [filled.get(v["upper"]) for v in card.get("variables", ())]
        upper = tops[0] if len(tops) == 1 else None
        slot = re.fullmatch(r"\{(\w+)\}", text)
        limit = filled.get(slot[1]) if slot else upper
        system.demand(carrier, system.text(name, text), limit)
    if instance.unit.switches:
        _switching(system, instance)
    if law is not None:
        system.demand("electricity", drawn_by_law(system, name, law))
    if eir is not None:
        system.demand("electricity", drawn_by_curves(system, name, eir))
    _ramp(system, instance)
    _stock(system, instance)
    _running_costs(system, instance)


def _either(system: System, instance: Instance) -> None:
    """Fill a limit that may be given in one of several ways."""
    name, filled = instance.name, system.filled[instance.name]
    for target, ways in dict(instance.unit.card.get("either", {})).items():
        for way in ways:
            names = re.findall(r"[a-z_]+", way)
            if not all(n in filled for n in names):
                continue
            text = re.sub(r"[a-z_]+", lambda m: system.builder.at(filled[m[0]]), way)
            if target in filled:  # given in both ways: both limits hold
                output = f"{name}_{instance.unit.card['output']}[t]"
                limit = str(way).split("*")[0].split("/")[0]
                system.row(f"largest output of {name}", f"{output} <= {text}", CAPACITY,
                           system.line_of(name, limit))  # fmt: skip
            elif way in filled:
                filled[target] = filled[way]
            else:
                inputs = [filled[n] for n in names]
                filled[target] = system.builder.derived(
                    f"{name}_{target}", text, "kW", target.replace("_", " "), inputs,
                    any(i in system.builder.indexed for i in inputs),
                )  # fmt: skip
        room = taken_by_room(system, instance) if target not in filled else None
        if room is not None:
            filled[target] = room
        if target not in filled:
            first = str(ways[0])
            filled[target] = lacking(system, instance, first)
    if system.has(name, "count"):
        several(system, instance)


def _by_product(system: System, instance: Instance) -> None:
    """Give the heat of a CHP in proportion to its electricity."""
    name = instance.name
    ways = (("heat_ratio",), ("heat_efficiency", "efficiency"), ("heat_max", "power_max"))
    given = [way for way in ways if system.has(name, *way)]
    if ("heat_ratio",) in given:
        if len(given) > 1:
            line = max(system.line_of(name, "heat_ratio", "power_ratio"), 0)
            system.builder.draft.doubt(line, f"{name}: its heat is given in two ways")
        heat = system.text(name, "{c}_power[t]*{heat_ratio}")
    elif system.has(name, "heat_efficiency", "efficiency"):
        if system.has(name, "heat_max"):
            system.builder.draft.doubt(
                max(system.line_of(name, "heat_max"), 0), f"{name}: its heat is given in two ways"
            )
        heat = system.text(name, "{c}_power[t]*{heat_efficiency}/{efficiency}")
    elif system.has(name, "heat_max", "power_max"):
        heat = system.text(name, "{c}_power[t]*{heat_max}/{power_max}")
    else:
        lacking(system, instance, "heat_efficiency")
        return
    system.supply("electricity", f"{name}_power[t]")
    system.supply("heat", heat)


def _switching(system: System, instance: Instance) -> None:
    """Add on, start and stop of a unit that has a least output, costs or times of its runs."""
    name, builder = instance.name, system.builder
    given = [slot for slot in SWITCHING if system.has(name, slot)]
    if given == ["min_power"] and not np.any(builder.numbers[system.filled[name]["min_power"]]):
        given = []  # 'from 0 to 3.2 kW' is no least output
        _no_least(system, name)
    kind = instance.unit.component
    shared = any("shareload" in r.words.split() for r in system.builder.draft.readings)
    stays = (shared and name in system.reader.curves) or (
        any(f == "not_curtailable" and unit == kind for f, unit, _ in system.reader.fact_units)
        and system.said("not_curtailable", name, kind) is not None
    )
    stays = stays or system.said("always_on", name, kind) is not None
    if stays:
        _always_on(system, instance)
        return
    if not given:
        return
    output = f"{name}_{instance.unit.card['output']}[t]"
    top = next(v["upper"] for v in instance.unit.card["variables"]
               if v["name"] == instance.unit.card["output"])  # fmt: skip
    on = f"{name}_on"
    builder.variables.append(
        {"name": on, "index": ["t in T"], **whole(system, name), "unit": "1",
         "quantity": f"{name}.on", "role": "decision", "description": f"1 while {name} runs"}
    )  # fmt: skip
    top = "unit_most" if system.has(name, "unit_most") else top
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
    if system.has(name, "no_load_power"):
        system.demand("electricity", system.text(name, "{no_load_power}*{c}_on[t]"),
                      system.filled[name]["no_load_power"])  # fmt: skip
    if any(system.has(name, slot) for slot in BEFORE):
        _starts(system, instance, on)


def _no_least(system: System, name: str) -> None:
    """Account for a least output of nothing, which limits nothing."""
    builder = system.builder
    made = system.filled[name].pop("min_power")
    builder.parameters[:] = [p for p in builder.parameters if p["name"] != made]
    for reading in builder.draft.readings:
        span = source_span(reading.value.source)
        if reading.slot.name == "min_power" and reading.owner in (name, "*") and span is not None:
            entry = {"span": list(span), "quote": builder.draft.text[slice(*span)],
                     "reason": "a least output of nothing limits nothing"}  # fmt: skip
            builder.draft.unused.append(entry)


def _always_on(system: System, instance: Instance) -> None:
    """Keep a unit that is never switched off at its least output or above."""
    name, builder = instance.name, system.builder
    if any(system.has(name, slot) for slot in BEFORE):
        line = max(system.line_of(name, *BEFORE), 0)
        builder.draft.doubt(line, f"{name} is never switched off, and yet its runs have costs")
    for slot in ("no_load_cost", "no_load_fuel"):
        if system.has(name, slot):
            line = max(system.line_of(name, slot), 0)
            builder.draft.doubt(line, f"{name} is never switched off; a cost while it runs?")
    if system.has(name, "min_power"):
        least = builder.at(system.filled[name]["min_power"])
        output = f"{name}_{instance.unit.card['output']}[t]"
        system.row(f"least output of {name}", f"{output} >= {least}", CAPACITY,
                   system.line_of(name, "min_power", "min_fraction"))  # fmt: skip


def _starts(system: System, instance: Instance, on: str) -> None:
    name, builder = instance.name, system.builder
    component = instance.unit.component
    off = system.said("units_off", name, component)
    running = system.said("units_on", name, component)
    before = before_first(system, name, running)
    if off is None and running is None and not system.has(name, "initial_on"):
        line = max(system.line_of(name, *BEFORE), 0)
        builder.draft.doubt(line, f"whether {name} runs before the first period is not said")
    for event in ("start", "stop"):
        builder.variables.append(
            {"name": f"{name}_{event}", "index": ["t in T"], **whole(system, name), "unit": "1",
             "quantity": f"{name}.{event}", "role": "auxiliary",
             "description": f"1 when {name} makes a {event}"}
        )  # fmt: skip
    stated = off if off is not None else running
    system.row(f"starts and stops of {name}",
               f"{on}[t] - prev({on}[t], {before}) == {name}_start[t] - {name}_stop[t]", LOGIC,
               stated if stated is not None else -1)  # fmt: skip
    if not system.has(name, "count"):
        system.row(f"{name} does not start and stop at once",
                   f"{name}_start[t] + {name}_stop[t] <= 1", LOGIC, -1)  # fmt: skip
    most = system.filled[name].get("count", "1")
    for slot, event, state in (
        ("min_up", "start", f"{on}[t]"), ("min_down", "stop", f"{most} - {on}[t]"),
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
    if not any(system.has(name, slot) for slot in ("ramp", "ramp_up", "ramp_down")):
        return
    both = system.has(name, "ramp")
    output = f"{name}_{instance.unit.card['output']}"
    for sign, slot in (("", "ramp_up"), ("-", "ramp_down")):
        slot = "ramp" if both else slot
        if not system.has(name, slot):
            continue
        ramp = system.filled[name][slot]
        line = system.line_of(name, slot, f"{slot}_hour")
        hourly = system.line_of(name, f"{slot}_hour") >= 0
        if hourly and system.builder.axis.step_minutes != 60:
            system.builder.draft.doubt(line, "a change from hour to hour, with other steps")
        system.row(f"ramp of {name}", f"{sign}({output}[t] - {output}[t-1]) <= {ramp}*dt(t)",
                   CAPACITY, line, where="t != first(T)")  # fmt: skip
        system.builder.draft.assume(f"{name}: the first period may have any output")
    if both and (system.has(name, "ramp_up") or system.has(name, "ramp_down")):
        line = max(system.line_of(name, "ramp", "ramp_hour"), 0)
        system.builder.draft.doubt(line, f"{name}: its ramp is given in two ways")


def _stock(system: System, instance: Instance) -> None:
    """Limit what a unit makes in all by what its fuel is good for."""
    name, builder = instance.name, system.builder
    readings = for_owner(builder.draft, instance.unit.component, name)
    requirements(builder, name, {k: v for k, v in readings.items() if k == "energy_total"}, {})


_BURNT: Final = ("energy_cost", "efficiency", "fuel_volume", "no_load_cost", "fuel_price")
_FUELS: Final = re.compile(
    r"(?<![a-z-])(?:natural )?(gas|diesel|oil|biogas|pellet|wood|biomass|propane|lpg|petrol|coal)"
    r"(?![a-rt-z])"
)


def _one_fuel(system: System) -> None:
    """Report a text that speaks of several fuels where one price is there for all of them."""
    found: dict[str, int] = {}
    for n, line in enumerate(system.builder.draft.lines):
        if not line.sentence.is_heading:
            for match in _FUELS.finditer(line.line):
                found.setdefault(match[1], n)
    if len(found) > 1:
        kinds = " and ".join(sorted(found))
        system.builder.draft.doubt(
            max(found.values()), f"the price of fuel is read as one for {kinds}"
        )


def _running_costs(system: System, instance: Instance) -> None:
    """Add what a unit burns, or what its output costs."""
    card, name, draft = instance.unit.card, instance.name, system.builder.draft
    if add_offer(system, instance):
        return
    curve = system.reader.curves.get(name)
    if curve is not None:
        given = [s for s in _BURNT if system.has(name, s)]
        if given:
            line = max(system.line_of(name, *given), 0)
            draft.doubt(line, f"{name}: what it burns is given in two ways")
        add_curve(system, instance, curve)
        return
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
    if price is not None and "fuel_price" not in system.filled[name]:
        _one_fuel(system)
    if system.has(name, "energy_cost"):
        if system.has(name, "efficiency") and price is not None and card["output"] == "power":
            line = max(system.line_of(name, "energy_cost"), 0)
            draft.doubt(line, f"{name}: both a cost of generation and a price of fuel are given")
        return
    ratio = system.has(name, "fuel_ratio")
    if ratio and system.has(name, "efficiency"):
        line = max(system.line_of(name, "fuel_ratio"), 0)
        draft.doubt(line, f"{name}: what it burns is given in two ways")
    if price is not None and (ratio or system.has(name, "efficiency")):
        at = system.builder.at(price)
        text = system.text(name, "{fuel_ratio}*{c}_power[t]" if ratio else burns)
        if system.has(name, "no_load_fuel"):
            text = system.text(name, f"({text} + {{no_load_fuel}}*{{c}}_on[t])")
        system.costs.append(("+", f"sum({at}*{text}*dt(t) for t in T)"))
        return
    if system.has(name, "fuel_volume") and card["output"] == "power":
        _one_fuel(system)
        twice = price is not None or system.has(name, "efficiency")
        if twice or system.has(name, "fuel_ratio"):
            line = max(system.line_of(name, "fuel_volume"), 0)
            draft.doubt(line, f"{name}: what it burns is given in two ways")
        burn(system, instance, "L", system.text(name, "{fuel_volume}*{c}_power[t]*dt(t)"))
        return
    linear = system.has(name, "fuel_price", "no_load_cost") and not system.has(name, "efficiency")
    if linear and card["output"] == "power":
        # Fuel while running and per kWh: the line of a cost curve, not a price of fuel burnt.
        draft.assume(f"{name}: the cost of fuel per kWh is for each kWh generated")
        text = system.text(name, "{fuel_price}*{c}_power[t]*dt(t)")
        system.costs.append(("+", f"sum({text} for t in T)"))
        return
    if system.reader.goal is not None and system.reader.goal.target == "points":
        return  # what fuel costs does not matter
    slot = "efficiency" if price is not None else "fuel_price"
    lacking(system, instance, slot)
