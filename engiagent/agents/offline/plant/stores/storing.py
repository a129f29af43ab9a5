"""Storage of any carrier, and sources that weather drives."""

import numpy as np

from engiagent.agents.offline.builder import for_owner
from engiagent.agents.offline.draft import Json
from engiagent.agents.offline.plant.cold.freezing import charged_with
from engiagent.agents.offline.plant.stores.cycles import add_cycles
from engiagent.agents.offline.plant.stores.exports import only_taking
from engiagent.agents.offline.plant.stores.switching import add_switching
from engiagent.agents.offline.plant.stores.vehicles import park
from engiagent.agents.offline.plant.stores.wearing import add_growing
from engiagent.agents.offline.plant.system import (
    System,
)
from engiagent.agents.offline.plant.units import Instance
from engiagent.agents.offline.storage import constrain, requirements


def add_store(system: System, instance: Instance) -> None:
    """Add a store on the balance of its carrier, with what is asked of its content."""
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
    if instance.unit.component == "vehicle":
        park(system, instance)
    _never_filled(system, instance)
    only_taking(system, instance)
    _words_for_start(system, instance)
    _lossless(system, instance)
    if carrier == "cooling":
        _bounded(system, name)
    _standing(system, instance)
    slots = [
        "energy_capacity", "charge_power_max", "discharge_power_max", "charge_efficiency",
        "discharge_efficiency", "initial_energy", "minimum_energy", "maximum_energy",
        "self_discharge",
    ]  # fmt: skip
    component: Json = {
        "name": name,
        "model": "battery",
        "index": "T",
        "parameters": {s: filled[s] for s in slots if s in filled},
    }
    if "self_discharge" in filled:
        component["options"] = {"scheme": _scheme(system, instance)}
    builder.components.append(component)
    into = charged_with(system, instance.unit.component, carrier)
    system.demand(into, f"{name}_charge[t]", filled.get("charge_power_max"))
    system.supply(carrier, f"{name}_discharge[t]")
    readings = for_owner(builder.draft, instance.unit.component, name)
    requirements(builder, name, readings, filled)
    for found in readings.values():
        for direction in found[0].slot.options.get("wear", ()):
            made = builder.value(f"{name}_wear_cost", found[0].value, found[0].slot.said)
            system.costs.append(("+", f"sum({made}*{name}_{direction}[t]*dt(t) for t in T)"))
    for wear in system.reader.growing if carrier == "electricity" else ():
        if len(system.reader.plant.of(instance.unit.component)) > 1:
            builder.draft.doubt(wear.line, "of which battery is this the wear?")
            continue
        system.costs += [("+", text) for text in add_growing(builder, name, wear)]
    add_switching(system, instance, readings)
    add_cycles(system, instance)
    _one_day(system, instance)
    _final(system, instance, bool({"final_energy", "final_fraction"} & set(readings)))
    if "minimum_energy" not in filled:
        builder.draft.assume(f"{name}: the content may fall to 0")


def _bounded(system: System, name: str) -> None:
    """Bound what goes in and out of a store without losses by what it can hold.

    No limit is stated, and a proof that nothing works needs one. Within a period the content cannot
    change by more than all of it; going in and out at once would come to the same.
    """
    builder, filled = system.builder, system.filled[name]
    ways = [builder.numbers.get(filled[f"{way}_efficiency"]) for way in ("charge", "discharge")]
    capacity = filled["energy_capacity"]
    if any(v is None or np.any(v != 1) for v in ways) or builder.axis.step_minutes < 60:
        return
    if capacity not in builder.numbers or "self_discharge" in filled:
        return
    for slot in ("charge_power_max", "discharge_power_max"):
        if slot not in filled:
            filled[slot] = builder.derived(
                f"{name}_{slot}", f"{capacity}/1[h]", "kW", slot.replace("_", " "), [capacity],
                note="no limit is stated; the content cannot change by more than all of it",
            )  # fmt: skip


def _one_day(system: System, instance: Instance) -> None:
    """Report a limit for a day in a horizon of several."""
    readings = for_owner(system.builder.draft, instance.unit.component, instance.name)
    for found in readings.values():
        if found[0].slot.options.get("one_day") and system.builder.axis.hours > 25:
            system.builder.draft.doubt(found[0].line, "a limit of each day, or of all days?")


def _scheme(system: System, instance: Instance) -> str:
    """Return how a standing loss is counted; report it where the text does not say."""
    readings = for_owner(system.builder.draft, instance.unit.component, instance.name)
    found = [*readings.get("self_discharge", []), *readings.get("hourly_loss", [])]
    words = {word for reading in found for word in reading.words.split()}
    facts = system.reader.facts
    begin = "lossbegin" in words or "loss_begin" in facts
    exact = "lossexact" in words or "loss_exact" in facts
    if begin is exact:
        line = max((reading.line for reading in found), default=0)
        system.builder.draft.doubt(
            max(line, 0),
            f"{instance.name}: is the loss a share of the content at the beginning of a period, or"
            " does it act on all that comes and goes within it?",
        )
    return "euler" if begin else "exact"


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


def _lossless(system: System, instance: Instance) -> None:
    """Report a way that is said to lose nothing and has an efficiency below 1."""
    builder, component = system.builder, instance.unit.component
    for way, facts in (
        ("charge", ("no_loss", "no_loss_in")), ("discharge", ("no_loss", "no_loss_out")),
    ):  # fmt: skip
        lines = [system.said(fact, instance.name, component) for fact in facts]
        stated = [line for line in lines if line is not None]
        value = builder.numbers.get(system.filled[instance.name].get(f"{way}_efficiency", ""))
        if stated and value is not None and np.any(value < 1 - 1e-12):
            reason = f"{instance.name}: said to lose nothing, and given an efficiency"
            builder.draft.doubt(stated[0], reason)


def _standing(system: System, instance: Instance) -> None:
    """Report a standing loss that is said not to count, and given."""
    line = system.said("no_standing", instance.name, instance.unit.component)
    if line is not None and "self_discharge" in system.filled[instance.name]:
        system.builder.draft.doubt(line, f"{instance.name}: does its standing loss count?")


def _never_filled(system: System, instance: Instance) -> None:
    """Let a store that cannot be filled again only give; what it holds bounds its content."""
    filled, name, builder = system.filled[instance.name], instance.name, system.builder
    if system.said("no_refill", name, instance.unit.component) is None:
        return
    builder.draft.assume(f"{name}: it cannot be filled again, so that its content only falls")
    filled["charge_power_max"] = "0[kW]"
    gap = next((m for m in builder.draft.missing
                if (m.component, m.slot) == (name, "energy_capacity")), None)  # fmt: skip
    known = [p for p in builder.parameters if p["name"] == filled.get("energy_capacity")]
    if gap is not None and known and "initial_energy" in filled:
        builder.draft.missing.remove(gap)
        builder.parameters.remove(known[0])
        filled["energy_capacity"] = filled["initial_energy"]


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


def add_weather(system: System, instance: Instance) -> None:
    """Add a source of which less than what is available may be used, unless the text forbids."""
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
    elif system.reader.steps is not None:
        pass  # the steps say how far
    elif "curtailable" not in system.reader.facts and not draft.has("curtailable"):
        draft.assume(f"{name}: less than its available power may be used (curtailment)")
    system.builder.components.append(component)
    system.supply("electricity", f"{name}_power[t]")
