"""A plant as a blueprint: all units, the balances of their carriers, and the objective."""

from typing import Final

import numpy as np

from engiagent.agents.offline.draft import Json
from engiagent.agents.offline.goals import Goal, wanted_currency
from engiagent.agents.offline.plant.cold.freezing import add_icing
from engiagent.agents.offline.plant.cold.moding import add_modes
from engiagent.agents.offline.plant.cold.resetting import add_reset
from engiagent.agents.offline.plant.language.words import mark
from engiagent.agents.offline.plant.machinery.curves import least_fuel
from engiagent.agents.offline.plant.machinery.drawing import (
    keep_one_way,
    least_energy,
    without_supply,
)
from engiagent.agents.offline.plant.machinery.emissions import add_emissions
from engiagent.agents.offline.plant.machinery.machines import add_unit
from engiagent.agents.offline.plant.machinery.reserve import add_contingency, add_reserve
from engiagent.agents.offline.plant.machinery.staged import add_staged
from engiagent.agents.offline.plant.machinery.steps import add_steps
from engiagent.agents.offline.plant.market.acceptance import add_acceptance
from engiagent.agents.offline.plant.market.events import add_events
from engiagent.agents.offline.plant.market.holding import add_balancing
from engiagent.agents.offline.plant.market.investing import price_asked
from engiagent.agents.offline.plant.market.priorities import add_priorities, most_points
from engiagent.agents.offline.plant.market.reactive import add_reactive
from engiagent.agents.offline.plant.market.shifting import add_shifts
from engiagent.agents.offline.plant.market.site import add_grid, add_prices
from engiagent.agents.offline.plant.spaces.radiators import add_radiators, follows_water
from engiagent.agents.offline.plant.spaces.reversible import check_both_at_once
from engiagent.agents.offline.plant.spaces.soft import add_soft
from engiagent.agents.offline.plant.spaces.zones import add_zone
from engiagent.agents.offline.plant.stores.exports import add_energies
from engiagent.agents.offline.plant.stores.readiness import add_readiness
from engiagent.agents.offline.plant.stores.storing import add_store, add_weather
from engiagent.agents.offline.plant.stores.tanks import bound_stores, check_through
from engiagent.agents.offline.plant.system import (
    LOGIC,
    PHYSICS,
    STORES,
    System,
    fill_slots,
)
from engiagent.agents.offline.plant.times.constancy import add_constants
from engiagent.agents.offline.plant.times.timed import add_timed
from engiagent.agents.offline.plant.uncertain.committing import add_settlement, never_burns
from engiagent.agents.offline.results import Missing
from engiagent.agents.offline.storage import constrain


def build(system: System, goal: Goal | None, currency: str) -> Json | None:
    """Add all units, balances and costs; return the objective."""
    plant = system.reader.plant
    # Rooms first: what depends on the weather rests on their outdoor temperature.
    for instance in sorted(plant.instances, key=lambda i: i.unit.component != "zone"):
        if instance.unit.component not in ("grid", "fuel", "commitment"):
            fill_slots(system, instance)
    for instance in plant.of("fuel"):
        fill_slots(system, instance)
        add_prices(system, instance)
    for instance in plant.instances:
        component = instance.unit.component
        if follows_water(system, instance):
            add_radiators(system, instance)
        elif component in STORES:
            add_store(system, instance)
        elif component in ("pv", "wind"):
            add_weather(system, instance)
        elif component not in ("grid", "fuel", "zone", "commitment", "shifting"):
            add_unit(system, instance)
    bound_stores(system)
    add_shifts(system)
    add_readiness(system)
    if system.reader.staged is not None:
        add_staged(system, system.reader.staged)
    for instance in plant.of("zone"):
        add_zone(system, instance)
    add_soft(system, system.reader.wishes)
    add_modes(system)
    add_icing(system)
    add_reset(system)
    add_reactive(system)
    for instance in plant.of("grid"):
        if not add_settlement(system, instance):
            add_grid(system, instance)
    add_priorities(system)
    add_acceptance(system)
    add_constants(system)
    add_steps(system)
    add_energies(system)
    check_both_at_once(system)
    add_events(system, system.reader.events)
    add_balancing(system)
    _exclusive(system)
    keep_one_way(system)
    _from_sources(system)
    add_timed(system)
    add_reserve(system)
    add_contingency(system)
    _nowhere_else(system)
    _checked(system)
    _paid_by_others(system)
    drawn = without_supply(system, goal)
    _balances(system)
    add_emissions(system)
    _denied(system)
    check_through(system)
    if goal is not None and goal.target == "energy":
        return least_energy(system, goal, drawn)
    return _objective(system, goal, currency)


def _denied(system: System) -> None:
    """Report a unit that does what the text says it cannot, and slopes that are of no unit."""
    plant, draft = system.reader.plant, system.builder.draft
    for slope in system.reader.slopes:
        if slope.line not in system.sloped:
            draft.doubt(slope.line, "of which unit is it that a temperature changes this?")
    for fact, about, line in system.reader.fact_units:
        carrier = {"cannot_heat": "heat", "cannot_cool": "cooling"}.get(fact)
        if carrier is not None:
            units = [i for i in plant.instances if i.unit.component == about]
            if not units or any(carrier in i.unit.card.get("supplies", {}) for i in units):
                draft.doubt(line, "which unit is it that cannot?")
        stores = [i for i in plant.instances if i.unit.component in STORES]
        if fact == "serve_together":
            named = {c[1:] for c in system.reader.marked(line).concepts if c.startswith("@")}
            makers = {i.unit.component for i in plant.instances if i.unit.card.get("supplies")}
            if not makers <= named:
                draft.doubt(line, "are these units alone to serve the load?")
        if fact == "share_evenly" and not any(
            "count" in filled for filled in system.filled.values()
        ):
            draft.doubt(line, "units that are not alike share a load evenly")
        if fact == "no_storage" and any(i.unit.component != "battery" for i in stores):
            draft.doubt(line, "nothing is stored, and there is a store")


def _exclusive(system: System) -> None:
    """Keep batteries from burning energy where that could pay."""
    builder, draft = system.builder, system.builder.draft
    stores = [
        c for c in builder.components
        if c["model"] == "battery" and c["parameters"].get("discharge_power_max") != "0[kW]"
    ]  # fmt: skip
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
    surplus = surplus and not never_burns(system)
    electric = (
        [c for c in stores if f"{c['name']}_charge[t]" in system.demands["electricity"]]
        if "electricity" in system.demands
        else []
    )
    where = "T" if surplus else None
    known = [builder.numbers[name] for name in prices.values() if name in builder.numbers]
    if conditions and any(values.ndim > 1 for values in known):
        where = "T"  # prices differ from scenario to scenario, and what it does may not
    elif not surplus and conditions:
        where = "T_exclusive"
        builder.sets.append({"name": where, "kind": "subset", "of": "T", "binder": "t",
                             "where": " or ".join(f"({c})" for c in conditions)})  # fmt: skip
    if where is None:
        return
    if not stated:
        draft.assume("a battery does not charge and discharge in the same period")
    for part in electric:
        part["options"] = {**part.get("options", {}), "exclusive_on": where}


def _from_sources(system: System) -> None:
    """Let batteries be charged by sun and wind alone where the text says so."""
    plant, reader = system.reader.plant, system.reader
    for line in reader.facts.get("source_only", []):
        text = system.builder.draft.lines[line].line
        sources = [
            i for c in ("pv", "wind") for i in plant.of(c) if i.finder.search(text)
        ]  # fmt: skip
        stores = plant.of("battery")
        named = [i for i in stores if len(stores) > 1 and i.finder.search(text)]
        given = " + ".join(f"{i.name}_power[t]" for i in sources)
        taken = " + ".join(f"{i.name}_charge[t]" for i in named or stores)
        if not sources:
            system.builder.draft.refuse(line, "which source may charge the battery is not clear")
            continue
        system.row("charged by its own sources only", f"{taken} <= {given}", LOGIC, line)


def _nowhere_else(system: System) -> None:
    """Hold 'what is too much can only go into the battery' against sources that could be cut."""
    lines = system.reader.facts.get("surplus_into_store", [])
    if lines and any(system.reader.plant.of(c) for c in ("pv", "wind", "grid")):
        system.builder.draft.doubt(lines[0], "may sun and wind be throttled, or power be sold?")


def _checked(system: System) -> None:
    """Hold statements that only describe against what they describe."""
    facts, draft = system.reader.facts, system.builder.draft
    if "shape" in facts and not system.reader.curves:
        draft.refuse(facts["shape"][0], "the shape of a curve that is not given")
    _series_limit(system)
    if "untold" in facts and not draft.missing:
        draft.doubt(facts["untold"][0], "something is not known here, and nothing is missing")


def _series_limit(system: System) -> None:
    """Hold words on 'the limit of the line' against a limit that is given as a series."""
    filled = system.filled.get("grid", {})
    limits = {filled.get("import_power_max"), filled.get("export_power_max")} - {None}
    for fact in ("limit_varies", "within_limit"):
        for line in system.reader.facts.get(fact, []):
            if not limits & system.builder.indexed:
                system.builder.draft.doubt(line, "which limit, and where is it given?")


def _balances(system: System) -> None:
    draft = system.builder.draft
    for carrier in dict.fromkeys([*system.supplies, *system.demands]):
        supply = " + ".join(system.supplies.get(carrier, [])) or "0[kW]"
        demand = " + ".join(system.demands.get(carrier, [])) or "0[kW]"
        if carrier not in system.demands and carrier != "electricity":
            lack = f"what takes the {carrier} that is made is not given"
            draft.missing.append(Missing(f"{carrier}_load", carrier, lack))
        operator = "=="
        if carrier == "heat" and system.reader.plant.of("chp"):
            if "dump_heat" in system.reader.facts:
                operator = ">="
            elif "no_dump_heat" not in system.reader.facts:
                draft.doubt(0, "whether heat of the CHP may be wasted is not said")
        line = -1
        constrain(system.builder, f"balance of {carrier}", f"{supply} {operator} {demand}",
                  PHYSICS, line, ["t in T"])  # fmt: skip


def _enumerated(system: System, goal: Goal) -> None:
    """Report an objective that is spelled out and leaves out a cost that is given."""
    line = system.builder.draft.lines[goal.line]
    said = mark(line, system.reader.words).said()
    if goal.target != "profit" or "less" not in said or not said & {"export"}:
        return
    readings = system.builder.draft.readings
    wear = any(r.slot.options.get("wear") for r in readings)
    buys = any(sign == "+" and "_import[t]" in text for sign, text in system.costs)
    general = bool(said & {"price", "fuelcost"})
    if ((wear and "wear" not in said) or (buys and "import" not in said)) and not general:
        system.builder.draft.doubt(
            goal.line, "the objective is spelled out and leaves out a cost that is given"
        )


_PLANS: Final = frozenset(
    ["schedule", "schedules", "plan", "plans", "dispatch", "operation", "strategy", "programme"]
)


def _of_one(system: System, goal: Goal) -> None:
    """Leave what a given load costs out of an objective that is the cost of a unit alone."""
    builder, plant = system.builder, system.reader.plant
    marked = system.reader.marked(goal.line)
    words = [token.text for token in marked.line.tokens]
    named = {
        c[1:] for i, c in enumerate(marked.concepts)
        if c.startswith("@") and not plant.units[c[1:]].card.get("site")
        and not _PLANS & set(words[i + 1 : i + 3])  # 'the battery schedule' is what is looked for
    }  # fmt: skip
    loads = plant.of("load")
    if not named or not loads or not plant.of("grid"):
        return
    others = {i.unit.component for i in plant.instances} - named - {"grid", "load", "zone"}
    grid = system.filled.get("grid", {})
    if others or "export_price" in grid or len(loads) > 1:
        builder.draft.doubt(goal.line, "the cost of this unit alone, or of all that is bought?")
        return
    bought = [k for k, (_, text) in enumerate(system.costs) if "grid_import[t]" in text]
    if len(bought) != 1 or any("grid_peak" in text for _, text in system.costs):
        builder.draft.doubt(goal.line, "which part of the bill is that of this unit?")
        return
    _less_load(system, bought[0])


def _less_load(system: System, k: int) -> None:
    """Take what the load draws out of a cost of import."""
    sign, text = system.costs[k]
    load = system.text(system.reader.plant.of("load")[0].name, "{power}")
    system.costs[k] = (sign, text.replace("grid_import[t]", f"(grid_import[t] - {load})"))
    system.builder.draft.assume("the load that is given is no part of the cost that is asked for")


def _paid_by_others(system: System) -> None:
    """Leave out of the costs what the load draws where somebody else pays for it."""
    lines = system.reader.facts.get("load_unpaid", [])
    if not lines:
        return
    bought = [k for k, (_, text) in enumerate(system.costs) if "grid_import[t]" in text]
    loads, grid = system.reader.plant.of("load"), system.filled.get("grid", {})
    peak = any("grid_peak" in text for _, text in system.costs)
    if len(bought) != 1 or len(loads) != 1 or peak or "export_price" in grid:
        system.builder.draft.doubt(lines[0], "which part of the bill is paid by others?")
        return
    _less_load(system, bought[0])


def _objective(system: System, goal: Goal | None, currency: str) -> Json | None:
    if goal is None:
        return None
    if goal.target == "fuel":
        return least_fuel(system, goal)
    if goal.target == "points":
        return most_points(system, goal)
    if goal.target not in ("cost", "profit"):
        system.builder.draft.refuse(goal.line, "the engine has no such objective for a plant")
        return None
    _enumerated(system, goal)
    _of_one(system, goal)
    profit = goal.target == "profit"
    flip = {"+": "-", "-": "+"}
    signed = [(flip[s] if profit else s, text) for s, text in system.costs]
    signed.sort(key=lambda p: p[0] != "+")
    text = "".join(f" {sign} {term}" for sign, term in signed).strip()
    text = text.removeprefix("+ ") if text.startswith("+") else f"-{text.removeprefix('- ')}"
    if system.reader.investing is not None:
        return price_asked(system, goal, text, currency)
    return {
        "name": goal.target,
        "sense": "maximize" if profit else "minimize",
        "expression": text,
        "unit": wanted_currency(system.builder.draft, goal, currency),
        "source_reference": system.builder.draft.quote(goal.line),
    }
