"""What machines draw by a law of their own, electricity bought outright, and the least of it."""

import re

from engiagent.agents.offline.draft import Json
from engiagent.agents.offline.goals import Goal
from engiagent.agents.offline.plant.cold.eir import Eir, Warmth
from engiagent.agents.offline.plant.machinery.laws import Law
from engiagent.agents.offline.plant.system import System, weather_series
from engiagent.agents.offline.results import Missing


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
    text = draft.lines[goal.line].line
    machines = [i for i in system.reader.plant.instances if i.unit.card.get("output")]
    named = [i for i in machines if i.finder.search(text)]
    if not drawn or system.plant_has("grid", "fuel") or len(named) not in (0, len(machines)):
        draft.doubt(goal.line, "the least energy: of which units, and drawn from where?")
        return None
    if system.costs or system.burnt:
        draft.doubt(goal.line, "the objective is energy, and there are costs")
        return None
    return {
        "name": "energy",
        "sense": "minimize",
        "expression": f"sum(({' + '.join(drawn)})*dt(t) for t in T)",
        "unit": "MWh" if re.search(r"(?<![a-z])mwh", text) else "kWh",
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
    if system.has(name, "count"):
        builder.draft.doubt(law.line, f"{name}: does each draw by this law, or all together?")
    if law.bent():
        system.curved.append(name)
    return f"({' + '.join(texts)})*1[{law.gives}]"


def drawn_by_curves(system: System, name: str, eir: Eir) -> str:
    """Return the electric power of a chiller by the curves of EnergyPlus."""
    builder = system.builder
    capacity = builder.at(system.filled[name]["cooling_max"])
    cop = builder.value(f"{name}_reference_cop", eir.cop, "reference COP")
    rated = f"{capacity}/{cop}"
    if eir.warmth is not None:
        rated += f"*{_warmth(system, eir.warmth)}[t]"
    if not any(v["name"] == f"{name}_on" for v in builder.variables):
        builder.draft.doubt(eir.line, f"may {name} be off, or how little may it make?")
    if system.has(name, "cop") or system.has(name, "count"):
        builder.draft.doubt(eir.line, f"{name}: what it draws is given in two ways, or of several")
    texts = []
    for power, value in eir.terms:
        said = f"coefficient {power} of part load"
        made = builder.value(f"{name}_part_load_{power}", value, said)
        ratio = f"({name}_cooling[t]/{capacity})"
        texts.append(made + (f"*{name}_on[t]", f"*{ratio}", f"*{ratio}**2")[power])
    system.curved.append(name)
    return f"{rated}*({' + '.join(texts)})"


def _warmth(system: System, warmth: Warmth) -> str:
    """Return the modifier of temperature, which all chillers share."""
    builder, draft = system.builder, system.builder.draft
    made = "temperature_modifier"
    if any(p["name"] == made for p in builder.parameters):
        return made
    base = builder.value("modifier_base", warmth.base, "constant of the modifier of temperature")
    slope = builder.value("modifier_slope", warmth.slope, "slope of the modifier of temperature")
    water = weather_series(system, "condenser_water")
    if water is None:
        water = builder.missing(
            "condenser_water_temperature", "degC", "temperature of the entering condenser water",
            Missing("condenser_water", "temperature", "the temperature of the entering condenser "
                    "water is not given"), True,
        )  # fmt: skip
        draft.doubt(warmth.line, "the temperature of the entering condenser water is not given")
    per = {"degC": "K", "degF": "degF_diff"}[warmth.scale]
    sign = "+" if warmth.sign > 0 else "-"
    return builder.derived(
        made, f"{base} {sign} {slope}*({water}[t] - 0[{warmth.scale}])/1[{per}]", "1",
        "modifier of temperature", [base, slope, water], series=True,
        note="by the temperature of the same period",
    )  # fmt: skip


def keep_one_way(system: System) -> None:
    """Keep stores without losses from filling and emptying at once beside a curved law.

    It would cost nothing there, and of all optima of a quadratic programme a solver returns one
    from the middle.
    """
    builder = system.builder
    for part in builder.components if system.curved else ():
        given = part["parameters"]
        names = [given.get(f"{way}_efficiency", "") for way in ("charge", "discharge")]
        ways = [builder.numbers.get(name) for name in names]
        lossless = all(v is not None and bool((v == 1).all()) for v in ways)
        limited = {"charge_power_max", "discharge_power_max"} <= set(given)
        if part["model"] == "battery" and lossless and limited:
            part["options"] = {**part.get("options", {}), "exclusive_on": "T"}


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
