"""Tanks of heat: between which temperatures a capacity is, and what heat passes through them."""

import re
from typing import Final

from engiagent.agents.offline.builder import for_owner
from engiagent.agents.offline.draft import Draft
from engiagent.agents.offline.plant.system import System

_RANGE: Final = re.compile(
    r"(?:from|between) <temperature#(?P<low>\d+)>(?: [(] empty [)])? (?:to|and)"
    r" <temperature#(?P<high>\d+)>(?: [(] full [)])?"
    r"(?= (?:it |the (?:tank|store|buffer) )?(?:can )?(?:takes? up|takes?|holds?|stores?|contains?)"
    r" <energy#)"
)
_RANGE_BEHIND: Final = re.compile(
    r"(?<=> )(?:(?:when (?:it is )?(?:heated|warmed)|if heated) )?(?:from|between)"
    r" <temperature#(?P<low>\d+)>(?: [(] empty [)])? (?:to|and)"
    r" <temperature#(?P<high>\d+)>(?: [(] full [)])?(?= [.,;)]|$)"
)


def take_ranges(draft: Draft) -> None:
    """Account for the two temperatures between which a tank's capacity in energy is given.

    Where the capacity is one in energy, these temperatures only name what empty and full are.
    """
    for n, line in enumerate(draft.lines):
        if n in draft.table_lines or "<energy#" not in line.line:
            continue
        told = re.search(r"(?:tank|store|buffer|accumulator)", line.line)
        for pattern in (_RANGE, _RANGE_BEHIND) if told else ():
            for match in pattern.finditer(line.line):
                low, high = (line.tokens[int(match[k])].amount for k in ("low", "high"))
                if low is None or high is None or low.value >= high.value:
                    continue
                if pattern is _RANGE_BEHIND and not re.search(
                    r"<energy#\d+> $", line.line[: match.start()]
                ):
                    continue
                draft.take(n, list(line.covered(*match.span())))
                for amount in (low, high):
                    draft.unused.append(
                        {"span": list(amount.span), "quote": amount.quote,
                         "reason": "names what empty and full are; the capacity is in energy"}
                    )  # fmt: skip


def check_through(system: System) -> None:
    """Hold 'the heat pump feeds the tank, the tank the radiators' against the balance of heat.

    Heat through a tank that loses nothing on the way is the same as heat beside it; where a way in
    or out is limited or loses, or several units give heat, it is not.
    """
    lines = system.reader.facts.get("through_store", [])
    if not lines:
        return
    plant = system.reader.plant
    stores = [i for c in ("heat_store", "cold_store") for i in plant.of(c)]
    if len(stores) != 1:
        system.builder.draft.doubt(lines[0], "which store is it that passes the heat on?")
        return
    name = stores[0].name
    carrier = str(stores[0].unit.card["carrier"])
    makers = [i for i in plant.instances if carrier in i.unit.card.get("supplies", {})]
    stated = set(for_owner(system.builder.draft, stores[0].unit.component, name))
    limited = any(re.search(r"power|efficiency", slot) for slot in stated)
    if limited or len(makers) != 1 or len(plant.of("zone")) > 1:
        system.builder.draft.doubt(lines[0], "does all heat pass through the tank?")
        return
    _flow_through(system, name)


def _flow_through(system: System, name: str) -> None:
    """Let water flow through a store: in from the pump and out to the radiators at once."""
    state, energy = f"{name}_state_of_charge", f"{name}_energy"
    for part in system.builder.components:
        if part["name"] == name:
            part["model"] = "thermal_store"
    for row in system.builder.constraints:
        row["expression"] = row["expression"].replace(state, energy)


def bound_stores(system: System) -> None:
    """Give stores of heat and cold the limits that the units and their capacity set anyway.

    More cannot be put in than all units make; more cannot be taken out in a period than a full
    store holds and takes in. Without them a plan could send heat round in a circle.
    """
    builder, plant = system.builder, system.reader.plant
    for store in [i for c in ("heat_store", "cold_store") for i in plant.of(c)]:
        name, filled = store.name, system.filled[store.name]
        part = next((c for c in builder.components if c["name"] == name), None)
        made = largest_made(system, str(store.unit.card["carrier"]))
        if part is None or made is None or "energy_capacity" not in filled:
            continue
        text, inputs = made
        ways = [s for s in ("charge_power_max", "discharge_power_max") if s not in filled]
        for slot in ways:
            out = slot == "discharge_power_max"
            content = f" + {filled['energy_capacity']}/dt(t)" if out else ""
            known = [*inputs, *([filled["energy_capacity"]] if out else [])]
            series = out or any(i in builder.indexed for i in inputs)
            limit = builder.derived(
                f"{name}_{slot}", text + content, "kW", slot.replace("_", " "), known, series,
                note="what all units together can make" + (" and a full store holds" * out),
            )  # fmt: skip
            part["parameters"][slot] = filled[slot] = limit


def largest_made(system: System, carrier: str) -> tuple[str, list[str]] | None:
    """Return the most that all units can make, and the parameters in it; None without a limit."""
    terms: list[str] = []
    inputs: list[str] = []
    for unit in system.reader.plant.instances:
        text = dict(unit.unit.card.get("supplies", {})).get(carrier)
        if text is None:
            continue
        for variable in unit.unit.card.get("variables", ()):
            text = text.replace(f"{{c}}_{variable['name']}[t]", f"{{{variable['upper']}}}")
        slots = re.findall(r"\{(\w+)\}", text)
        filled = system.filled[unit.name]
        if any(slot not in filled for slot in slots):
            return None
        inputs += [filled[slot] for slot in slots]
        terms.append(system.text(unit.name, text))
    if carrier in system.staged:
        inputs.append(system.staged[carrier])
        terms.append(system.staged[carrier])
    return (" + ".join(terms), list(dict.fromkeys(inputs))) if terms else None
