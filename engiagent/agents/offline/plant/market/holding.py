"""Rows and pay of capacity that a battery holds ready for a balancing market."""

from engiagent.agents.offline.amounts import kind_of
from engiagent.agents.offline.draft import Value, amount_value
from engiagent.agents.offline.plant.market.balancing import Backing, Product
from engiagent.agents.offline.plant.system import CAPACITY, STORES, System

_FLOWS = {
    "net": "{c}_discharge[t] - {c}_charge[t]",
    "anti": "{c}_charge[t] - {c}_discharge[t]",
    "out": "{c}_discharge[t]",
    "into": "{c}_charge[t]",
}


def add_balancing(system: System) -> None:
    """Add what is offered in each direction, what backs it, and what it earns."""
    balancing = system.reader.balancing
    if balancing is None:
        return
    draft = system.builder.draft
    stores = [i for i in system.reader.plant.instances if i.unit.component in STORES]
    if len(stores) != 1 or stores[0].unit.component != "battery":
        draft.doubt(balancing.line, "which unit holds the capacity?")
        return
    name = stores[0].name
    held = {p.side: _offer(system, p) for p in balancing.products}
    for backing in balancing.backing:
        if backing.side not in held:
            draft.doubt(backing.line, "what backs capacity for which there is no price")
        elif backing.hours is None:
            _power(system, name, backing, held[backing.side])
        else:
            _energy(system, name, backing, held[backing.side])
    for product in balancing.products:
        asked = [b for b in balancing.backing if b.side == product.side]
        if not any(b.hours is None for b in asked) or not any(b.hours for b in asked):
            draft.doubt(balancing.line, f"what power and what energy back the capacity "
                        f"{product.side}?")  # fmt: skip
    draft.assume("no energy is activated for the capacity that is held")
    # Energy that is burnt by doing both at once would make room for capacity.
    for part in system.builder.components:
        if part["name"] == name:
            part["options"] = {**part.get("options", {}), "exclusive_on": "T"}
    draft.assume("a battery does not charge and discharge in the same period")


def _offer(system: System, product: Product) -> str:
    """Add the capacity in one direction and its pay; return what is held in a period ``t``."""
    builder, balancing = system.builder, system.reader.balancing
    assert balancing is not None
    name, blocks = f"capacity_{product.side}", product.blocks
    index = "t in T" if blocks is None else f"b in {blocks.name}"
    at = "t" if blocks is None else f"at(t, {blocks.name})"
    if blocks is None:
        price = builder.value(f"price_{product.side}", product.price, "price of capacity")
    else:
        price = builder.by_block(f"price_{product.side}", product.price, "price of capacity")
    builder.variables.append({
        "name": name, "index": [index], "type": "continuous", "lower": 0, "unit": "kW",
        "quantity": f"reserve.{product.side}", "role": "decision",
        "description": f"capacity offered {product.side}",
    })  # fmt: skip
    timed = kind_of(product.price.unit) == "price"
    if not timed and not balancing.basis:
        builder.draft.doubt(balancing.line, "is capacity paid for each hour, or for a block?")
    if timed and balancing.basis == "block":
        builder.draft.doubt(balancing.line, "a price for an hour, paid for a block?")
    if timed or balancing.basis == "hour":
        pay = f"sum({price}[{at}]*{name}[{at}]*dt(t){'' if timed else '/1[h]'} for t in T)"
    else:
        i, over = ("t", "T") if blocks is None else ("b", blocks.name)
        pay = f"sum({price}[{i}]*{name}[{i}] for {i} in {over})"
    system.costs.append(("-", pay))
    return f"{name}[{at}]"


def _power(system: System, name: str, backing: Backing, held: str) -> None:
    """Keep the power for the capacity free."""
    builder = system.builder
    assert backing.most is not None
    value = amount_value(backing.most, builder.draft.source(backing.line, backing.most))
    most = builder.value(f"power_with_{backing.side}", value, "largest power with the capacity")
    flow = _FLOWS[backing.flow].format(c=name)
    system.row(f"power for {backing.side}", f"{flow} + {held} <= {most}", CAPACITY, backing.line)


def _energy(system: System, name: str, backing: Backing, held: str) -> None:
    """Keep the energy, or the room, for the capacity."""
    builder, filled = system.builder, system.filled[name]
    length = f"{backing.hours:g}[h]"
    if backing.duration is not None:
        amount = backing.duration
        value = Value(amount.unit, builder.draft.source(backing.line, amount), amount.value)
        length = builder.value(f"{name}_hold_{backing.side}", value, "how long capacity lasts")
    state = f"{name}_state_of_charge"
    for edge in backing.edges:
        content = f"{state}[{'t' if edge == 'start' else 't+1'}]"
        if backing.side == "up":
            loss = f"/{filled['discharge_efficiency']}" if backing.lossy else ""
            floor = filled.get("minimum_energy")
            left = f"{content} - {builder.at(floor)}" if floor else content
            text = f"{left} >= {held}*{length}{loss}"
        else:
            full = filled.get("maximum_energy", filled["energy_capacity"])
            gain = f"{filled['charge_efficiency']}*" if backing.lossy else ""
            text = f"{builder.at(full)} - {content} >= {gain}{held}*{length}"
        system.row(f"energy for {backing.side} at the {edge}", text, CAPACITY, backing.line)
