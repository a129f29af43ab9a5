"""What machines draw by a law of their own, electricity bought outright, and the least of it."""

import re

from engiagent.agents.offline.draft import Json
from engiagent.agents.offline.goals import Goal
from engiagent.agents.offline.plant.laws import Law
from engiagent.agents.offline.plant.system import System


def without_supply(system: System, goal: Goal | None) -> list[str]:
    """Return what units draw where their electricity is the objective and nothing else gives it.

    Their electricity then needs no balance: whatever they draw can be had.
    """
    if goal is None or goal.target != "energy" or system.supplies.get("electricity"):
        return []
    return system.demands.pop("electricity", [])


def least_energy(system: System, goal: Goal, drawn: list[str]) -> Json | None:
    """Return the objective of the least electric energy; None, reported, where it is not clear."""
    draft = system.builder.draft
    if not drawn or system.plant_has("grid", "fuel"):
        draft.doubt(goal.line, "the least energy: of which units, and drawn from where?")
        return None
    if system.costs or system.burnt:
        draft.doubt(goal.line, "the objective is energy, and there are costs")
        return None
    return {
        "name": "energy",
        "sense": "minimize",
        "expression": f"sum(({' + '.join(drawn)})*dt(t) for t in T)",
        "unit": "MWh" if re.search(r"(?<![a-z])mwh", draft.lines[goal.line].line) else "kWh",
        "source_reference": draft.quote(goal.line),
    }


def drawn_by_law(system: System, name: str, law: Law) -> str:
    """Return the electric power of a machine that makes cold, by its law."""
    builder = system.builder
    texts = []
    on = any(v["name"] == f"{name}_on" for v in builder.variables)
    idle = any(power == 0 for power, _ in law.coefficients)
    if idle and not on and system.said("always_on", name, "chiller") is None:
        builder.draft.doubt(law.line, f"may {name} be off, and does it draw nothing then?")
    for power, value in law.coefficients:
        made = builder.value(f"{name}_law_{power}", value, f"coefficient {power} of its power")
        factor = {0: f"*{name}_on[t]" if on else "", 1: f"*{name}_cooling[t]/1[{law.unit}]"}.get(
            power, f"*({name}_cooling[t]/1[{law.unit}])**{power}"
        )
        texts.append(f"{made}{factor}")
    if system.has(name, "cop"):
        builder.draft.doubt(law.line, f"{name}: what it draws is given in two ways")
    if law.bent():
        system.curved.append(name)
    return f"({' + '.join(texts)})*1[{law.gives}]"


def outright(system: System, filled: dict[str, str]) -> bool:
    """Whether all electricity is bought as it is drawn: nothing else gives any, nothing limits it.

    Then a curved law needs no balance, which would not be convex, and its cost is the sum over what
    is drawn.
    """
    goal = system.reader.goal
    others = {"load", "pv", "wind", "battery", "vehicle", "genset", "chp", "zone"}
    limited = {"import_power_max", "export_price", "export_power_max"} & set(filled)
    peaks = any(r.slot.component == "grid" and r.slot.options.get("peak")
                for r in system.builder.draft.readings)  # fmt: skip
    timed = any(t.reading.slot.component == "grid" for t in system.reader.timed)
    plain = not (limited or peaks or timed or system.plant_has(*others))
    banned = any(ban.fact.startswith("ban import") for ban in system.reader.bans)
    emissions = any("emission" in r.slot.name for r in system.builder.draft.readings)
    bought = goal is not None and goal.target == "cost"
    return bool(system.curved) and plain and bought and not banned and not emissions


def buy_outright(system: System, filled: dict[str, str]) -> None:
    """Buy what is drawn at its price."""
    drawn = " + ".join(system.demands.pop("electricity"))
    system.most.pop("electricity", None)
    price = system.builder.at(filled["import_price"])
    if "import_adder" in filled:
        price = f"({price} + {filled['import_adder']})"
    system.costs.insert(0, ("+", f"sum({price}*({drawn})*dt(t) for t in T)"))
    system.builder.draft.assume("all electricity is bought from the grid as it is drawn")
