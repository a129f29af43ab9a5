"""The connection to a grid: prices, limits, peaks."""

from collections.abc import Mapping

import numpy as np

from engiagent.agents.offline.amounts import currency_of
from engiagent.agents.offline.builder import for_owner
from engiagent.agents.offline.draft import Json, Priced, Reading
from engiagent.agents.offline.plant.machinery.drawing import buy_outright, outright
from engiagent.agents.offline.plant.market.tiers import add_tiers
from engiagent.agents.offline.plant.system import LOGIC, STORES, System
from engiagent.agents.offline.plant.times.timed import in_period
from engiagent.agents.offline.plant.units import Instance
from engiagent.agents.offline.results import Missing
from engiagent.agents.offline.storage import constrain, parameters
from engiagent.agents.offline.tariffs import scheduled
from engiagent.agents.offline.tokens import Period


def add_prices(system: System, instance: Instance) -> None:
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


def price_grid(system: System, instance: Instance) -> dict[str, list[Reading]]:
    """Fill the prices and limits of a connection; return all that was read of it."""
    builder, draft, name = system.builder, system.builder.draft, instance.name
    readings = for_owner(draft, "grid", name)
    wanted = {"import_power_max": "kW", "export_power_max": "kW"}
    limits = {k: v for k, v in readings.items() if k in (*wanted, "connection_power")}
    filled = parameters(builder, "grid", name, limits, wanted)
    for (owner, slot), value in draft.series.items():
        if owner == name:
            made = builder.value(slot, value, instance.unit.slots[slot].said)
            for target in instance.unit.slots[slot].options.get("fills", (slot,)):
                if target in filled:
                    draft.doubt(0, f"the {instance.unit.slots[slot].said} is given in two ways")
                filled[target] = made
    if "both_price" in filled:
        filled["import_price"] = filled["export_price"] = filled.pop("both_price")
    system.filled[name] = filled
    add_prices(system, instance)
    return readings


def add_grid(system: System, instance: Instance) -> None:
    """Add the connection to a grid with its prices, limits and peaks."""
    builder, draft, name = system.builder, system.builder.draft, instance.name
    readings = price_grid(system, instance)
    filled = system.filled[name]
    others = {i.unit.component for i in system.reader.plant.instances} - {"grid", "battery"}
    shared = not others or draft.has("same_price")
    shared = shared and "no_export" not in system.reader.facts
    if shared and "export_price" not in filled and "import_price" in filled:
        filled["export_price"] = filled["import_price"]
    sealed = "no_import" in system.reader.facts or _nothing_needed(system)
    if not sealed and "export_price" not in filled and _only_sells(system):
        draft.assume("buying is not mentioned: nothing is drawn from the grid")
        sealed = True
    if sealed and "export_price" not in filled and "import_price" in filled:
        filled["export_price"] = filled["import_price"]  # what is not bought can only be sold
    if sealed:
        _sealed(system, name, filled)
        return
    if "import_price" not in filled:
        filled["import_price"] = builder.missing(
            "import_price", "EUR/kWh", "price of electricity",
            Missing("site", "import_price", "the price of electricity is not given; add it or use "
                    '--set site.import_price="0.30 EUR/kWh"'),
        )  # fmt: skip
    adder = readings.get("import_adder")
    if adder is not None:
        filled["import_adder"] = builder.value("import_adder", adder[0].value, adder[0].slot.said)
    if outright(system, filled):
        buy_outright(system, filled)
        return
    _connection(system, name, filled)
    if system.reader.tiers is not None:
        add_tiers(system, name, system.reader.tiers)
    _ratchet(system, name, readings)
    for k, charge in enumerate(readings.get("demand_charge", []), 1):
        _peak(system, name, charge, None, k)
    for timed in system.reader.timed:
        if timed.reading.slot.name == "demand_charge":
            _peak(system, name, timed.reading, timed.period, 9)


def _nothing_needed(system: System) -> bool:
    """Whether the text says that electricity is not needed, and no unit takes any."""
    facts = system.reader.facts
    lines = facts.get("no_demand", []) or facts.get("all_sold", [])
    if lines and system.demands.get("electricity"):
        system.builder.draft.doubt(lines[0], "a unit takes electricity, which is not needed here")
        return False
    return bool(lines)


def _only_sells(system: System) -> bool:
    """Whether a text that asks for the largest revenue of sun or wind speaks of selling alone."""
    reader, kinds = system.reader, {i.unit.component for i in system.reader.plant.instances}
    if not kinds & {"pv", "wind"} or not kinds <= {"pv", "wind", "battery", "grid"}:
        return False
    if reader.goal is None or reader.goal.target != "profit" or _sale(system) is None:
        return False
    lines = enumerate(system.builder.draft.lines)
    return not any("import" in reader.marked(n).said() for n, _ in lines)


def _sealed(system: System, name: str, filled: dict[str, str]) -> None:
    """Add a connection through which nothing may be drawn."""
    builder, draft = system.builder, system.builder.draft
    facts = system.reader.facts
    said = (facts.get("no_import"), facts.get("no_demand"), facts.get("all_sold"))
    line = next((lines[0] for lines in said if lines), _sale(system) or 0)
    asked = {r.slot.name for r in draft.readings if r.slot.component == "grid"}
    asked |= {r.slot.name for r, _ in system.reader.priced if r.slot.component == "grid"}
    if asked & {"import_power_max", "import_price", "import_adder", "demand_charge"}:
        draft.doubt(line, "drawing from the grid is excluded here and priced or limited elsewhere")
    if "export_price" not in filled:
        filled["export_price"] = builder.missing(
            "export_price", "EUR/kWh", "price of electricity fed in",
            Missing("site", "export_price", "what electricity fed in earns is not given; add it or "
                    'use --set site.export_price="0.08 EUR/kWh"'),
        )  # fmt: skip
    limits = {"import_power_max": "0[kW]"}
    if "export_power_max" in filled:
        limits["export_power_max"] = filled["export_power_max"]
    builder.components.append({"name": name, "model": "grid", "index": "T", "parameters": limits})
    cost = f"{builder.at(filled['export_price'])}*{name}_export[t]*dt(t)"
    system.costs.append(("-", f"sum({cost} for t in T)"))
    system.supply("electricity", f"{name}_import[t]")
    system.demand("electricity", f"{name}_export[t]")


def _connection(system: System, name: str, filled: dict[str, str]) -> None:
    builder, draft = system.builder, system.builder.draft
    no_export = "no_export" in system.reader.facts or draft.has("no_export")
    if "export_price" not in filled and not no_export and _unpaid(system):
        currency = (
            currency_of(system.reader.priced[0][1].value.unit) if system.reader.priced else None
        )
        filled["export_price"] = builder.assumed(
            "export_price", 0.0, f"{currency or 'EUR'}/kWh", "price of electricity fed in",
            "the text says that what is fed in is not paid",
        )  # fmt: skip
    paid = "export_price" in filled
    if no_export and (paid or "export_power_max" in filled):
        line = system.reader.facts.get("no_export", [0])[0]
        draft.doubt(line, "feed-in is excluded here and priced or limited elsewhere")
    limits = {k: filled[k] for k in ("import_power_max", "export_power_max") if k in filled}
    bare = [r for r in for_owner(draft, "grid", name).get("import_power_max", [])
            if not set(r.words.split()) & {"import", "into", "peak", "outof"}]  # fmt: skip
    if paid and bare:
        draft.doubt(max(bare[0].line, 0), "is this the limit of the import, or of both directions?")
    if not paid:
        both_ways = _sale(system) is None and not system.line_of(name, "export_power_max") >= 0
        if "export_power_max" in limits and not both_ways:
            draft.doubt(
                max(system.line_of(name, "export_power_max", "connection_power"), 0),
                "feed-in is limited, but what it earns is not said",
            )
        sale = None if no_export else _sale(system)
        if sale is not None:
            draft.doubt(sale, "something is sold or fed in here, but what it earns is not said")
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
    if "exclusive_grid" in system.reader.facts and paid:
        if len(limits) < 2:
            draft.doubt(system.reader.facts["exclusive_grid"][0], "the connection has no limit")
        component["options"] = {"exclusive_on": "T"}
    elif bought is not None and sold is not None and np.any(sold >= bought):
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


def _unpaid(system: System) -> bool:
    """Whether the text says that what is fed in is not paid."""
    limits = for_owner(system.builder.draft, "grid", "grid").get("export_power_max", [])
    said = any("unpaid" in reading.words.split() for reading in limits)
    return said or "export_unpaid" in system.reader.facts


def _sale(system: System) -> int | None:
    """Return the first line that speaks of selling or feeding in, other than a heading."""
    reader = system.reader
    for n, line in enumerate(system.builder.draft.lines):
        if not line.sentence.is_heading and "export" in reader.marked(n).said():
            return n
    return None


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
    _of_one_unit(system, reading)
    made = system.builder.value("demand_charge", reading.value, reading.slot.said)
    if "/d" in reading.value.unit or "/month" in reading.value.unit or "/yr" in reading.value.unit:
        system.builder.draft.doubt(reading.line, "a demand charge per time over this horizon")
    peak = "grid_peak" if period is None else f"grid_peak_{len(system.builder.variables)}"
    limit = system.filled[name]["import_enough"]
    above = f"max({limit}[t] for t in T)" if limit in system.builder.indexed else limit
    least = system.filled[name].get("billed_least")
    if least is not None and above:
        above = f"{above} + {least}"  # what is billed at least may be more than what can be drawn
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
        in_period(system, "peak of the import", text, period, reading.line)
    floor = system.filled[name].get("billed_least")
    if floor is not None and period is None:
        constrain(system.builder, "demand billed at least", f"{peak} >= {floor}", LOGIC,
                  system.line_of(name, "ratchet_share", "ratchet_record"))  # fmt: skip
    system.costs.append(("+", f"{made}*{peak}"))


def _of_one_unit(system: System, reading: Reading) -> None:
    """Report a charge for the peak of a unit that is not alone behind the meter."""
    named = {w[1:] for w in reading.words.split() if w.startswith("@")} - {"grid", "zone"}
    kinds = {i.unit.component for i in system.reader.plant.instances
             if i.unit.component in STORES or "electricity" in
             {*i.unit.card.get("demands", {}), *i.unit.card.get("supplies", {})}
             or i.unit.component in ("pv", "wind")}  # fmt: skip
    thermal = {"heat_store", "cold_store"}
    if named and kinds - named - thermal:
        system.builder.draft.doubt(reading.line, "the peak of this unit, or of all that is bought?")


def _ratchet(system: System, name: str, readings: Mapping[str, list[Reading]]) -> None:
    """Turn a share of an earlier peak into the least demand that is billed."""
    builder = system.builder
    share, record = readings.get("ratchet_share"), readings.get("ratchet_record")
    if not (share or record):
        return
    if not record or len(readings.get("demand_charge", [])) != 1:
        line = (share or record or [])[0].line
        builder.draft.doubt(line, "of which peak, or at which demand charge, a least is billed?")
        return
    stated = builder.value("earlier_peak", record[0].value, record[0].slot.said)
    if share:
        part = builder.value("billed_share", share[0].value, share[0].slot.said)
        stated = builder.derived("billed_least", f"{part}*{stated}", "kW", "least demand that is"
                                 " billed", [part, stated])  # fmt: skip
    system.filled[name]["billed_least"] = stated
