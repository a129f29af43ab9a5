"""Limits that hold at some times of the day only."""

import re

from engiagent.agents.offline.plant.engine import instances_named
from engiagent.agents.offline.plant.system import (
    CAPACITY,
    STORES,
    System,
)
from engiagent.agents.offline.plant.times.limits import Ban, Timed
from engiagent.agents.offline.storage import constrain
from engiagent.agents.offline.tariffs import aligned, condition
from engiagent.agents.offline.tokens import Period


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
                in_period(system, slot.said, text, timed.period, reading.line)
            elif timed.clock is not None:
                _at_moment(system, instance.name, timed, amount)
    for ban in system.reader.bans:
        _forbid(system, ban)


def in_period(
    system: System, name: str, text: str, period: Period, line: int, outside: bool = False
) -> None:
    """Add a row for the periods that begin in a period of the day, or outside it."""
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
            name, text = f"{instance.name}: no {flow}", f"{instance.name}_{flow}[t] <= 0[kW]"
            if ban.period is not None:
                in_period(system, name, text, ban.period, ban.line, ban.only)
            elif ban.price is not None:
                _while_price(system, name, text, ban)


def _while_price(system: System, name: str, text: str, ban: Ban) -> None:
    """Add a row for the periods in which the price of electricity is on one side of a value."""
    assert ban.price is not None
    builder, grid = system.builder, system.filled.get("grid", {})
    prices = {grid[s] for s in ("import_price", "export_price") if s in grid}
    if len(prices) != 1 or ("import_adder" in grid and "export_price" not in grid):
        builder.draft.doubt(ban.line, "which of the prices of electricity is meant?")
        return
    relation, value = ban.price
    made = builder.value(f"price_threshold_{ban.line}", value, "price that matters to a rule")
    where = f"{builder.at(prices.pop())} {relation} {made}"
    constrain(builder, name, text, CAPACITY, ban.line, ["t in T"], where)
