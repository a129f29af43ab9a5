"""Batteries: their parameters, their requirements, and when both directions could pay."""

import re
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from engiagent.agents.offline.amounts import Span, kind_of
from engiagent.agents.offline.builder import Builder, for_owner, note_repeat, plain, single
from engiagent.agents.offline.cards import lexicon
from engiagent.agents.offline.draft import Fact, Json, Reading, source_span
from engiagent.agents.offline.owners import Owners
from engiagent.agents.offline.results import Missing

PARAMETERS = {
    "energy_capacity": "kWh", "charge_power_max": "kW", "discharge_power_max": "kW",
    "charge_efficiency": "1", "discharge_efficiency": "1", "initial_energy": "kWh",
    "minimum_energy": "kWh", "maximum_energy": "kWh", "self_discharge": "1/h",
}  # fmt: skip
_OPERATORS = {"lower": ">=", "upper": "<=", "value": "==", "exact": "=="}


def add_batteries(builder: Builder, owners: Owners, bus: str | None) -> tuple[str, ...]:
    """Add every battery as a component; return their names."""
    names = owners.instances("battery")
    for name in names:
        _add(builder, name, bus)
    return names


def add_final_states(builder: Builder, owners: Owners) -> None:
    """Add what the text requires of states at the end compared with the start."""
    for fact in builder.draft.facts:
        if fact.name in ("final_at_least_initial", "final_equals_initial"):
            _final(builder, owners, fact)


def _add(builder: Builder, name: str, bus: str | None) -> None:
    readings = for_owner(builder.draft, "battery", name)
    filled = parameters(builder, "battery", name, readings, PARAMETERS)
    for slot in ("charge_efficiency", "discharge_efficiency"):
        if slot not in filled:
            filled[slot] = _lacking(
                builder, name, slot, "1", "charge and discharge efficiency is not given",
                f"{name}.efficiency=0.95",
            )  # fmt: skip
    for slot, example in (
        ("energy_capacity", "100 kWh"), ("charge_power_max", "50 kW"),
        ("discharge_power_max", "50 kW"), ("initial_energy", "50 kWh"),
    ):  # fmt: skip
        if slot not in filled:
            said = lexicon().cards["battery"].slots[slot].said
            filled[slot] = _lacking(
                builder, name, slot, PARAMETERS[slot], f"the {said} is not given",
                f'{name}.{slot}="{example}"',
            )  # fmt: skip
    ordered = {slot: filled[slot] for slot in PARAMETERS if slot in filled}
    component: Json = {"name": name, "model": "battery", "index": "T", "parameters": ordered}
    if bus is not None:
        component["connections"] = {"bus": bus}
    builder.components.append(component)
    _conventions(builder, name, filled, readings)
    requirements(builder, name, readings, filled)
    _consistent(builder, name, filled)


def _lacking(builder: Builder, name: str, slot: str, unit: str, what: str, example: str) -> str:
    return builder.missing(
        f"{name}_{slot}", unit, slot.replace("_", " "),
        Missing(name, slot, f"battery '{name}': {what}; add it or use --set {example}"),
    )  # fmt: skip


def parameters(
    builder: Builder,
    component: str,
    name: str,
    readings: dict[str, list[Reading]],
    wanted: dict[str, str],
    known: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Turn readings into parameters; return the parameter's name for each model parameter.

    ``known`` are parameters that other words have filled.
    """
    filled: dict[str, str] = dict(known or {})
    later: list[tuple[str, str, Reading]] = []
    for found in readings.values():
        reading = single(builder, found)
        options = reading.slot.options
        derive = dict(options.get("derive", {}))
        if reading.value.expression != "x0" and reading.slot.name in wanted:
            derive = {reading.slot.name: reading.value.expression}
        if derive:
            later += [(target, expression, reading) for target, expression in derive.items()]
        elif "fills" in options:
            made = _made(builder, f"{name}_{reading.slot.name}", reading)
            for target in options["fills"]:
                _settle(builder, filled, target, made, reading)
        elif reading.slot.name in wanted:
            made = _made(builder, f"{name}_{reading.slot.name}", reading)
            _settle(builder, filled, reading.slot.name, made, reading)
    bases: dict[int, str] = {}
    for target, expression, reading in later:
        _derive(builder, name, filled, bases, target, expression, reading, wanted[target])
    return filled


def _made(builder: Builder, name: str, reading: Reading) -> str:
    return builder.value(name, plain(reading.value), reading.slot.said)


def _settle(
    builder: Builder, filled: dict[str, str], target: str, made: str, reading: Reading
) -> None:
    """Fill a model parameter; two sources must agree."""
    if target not in filled:
        filled[target] = made
        return
    a, b = builder.numbers[filled[target]], builder.numbers[made]
    if not np.allclose(a, b, rtol=1e-9):
        builder.draft.clash(
            reading.line,
            "two-values",
            (reading.owner, target),
            f"{reading.owner}: {target.replace('_', ' ')} is given in two ways that differ",
            (*_places(builder, filled[target]), builder.draft.place(reading)),
        )
    else:
        note_repeat(builder, reading.value)
        if made != filled[target] and made not in filled.values():
            _forget(builder, made)


def _places(builder: Builder, parameter: str) -> tuple[Span, ...]:
    """Return where the numbers behind a parameter stand in the text."""
    entry = next(p for p in builder.parameters if p["name"] == parameter)
    reference = entry.get("source_reference") or {}
    parts = reference if isinstance(reference, list) else [reference]
    leaves = [leaf for part in parts for leaf in (part.get("of") or [part])]
    return tuple(span for leaf in leaves if (span := source_span(leaf)) is not None)


def _derive(
    builder: Builder,
    name: str,
    filled: dict[str, str],
    bases: dict[int, str],
    target: str,
    expression: str,
    reading: Reading,
    unit: str,
) -> None:
    names = [n for n in re.findall(r"[a-z_]{3,}", expression) if n not in ("sqrt", "log", "exp")]
    if any(n not in filled for n in names):
        return
    inputs = [filled[n] for n in names]
    builder.used.append(reading.value.source)
    text = expression
    for slot in names:
        text = re.sub(rf"\b{slot}\b", builder.at(filled[slot]), text)
    if "x0" in text:
        if id(reading) not in bases:
            bases[id(reading)] = _made(builder, f"{name}_{reading.slot.name}", reading)
        text = text.replace("x0", bases[id(reading)])
        inputs = [bases[id(reading)], *inputs]
    note = reading.slot.options.get("assume", "") if not _stated(builder, reading) else ""
    if note:
        builder.draft.assume(f"{name}: {note}")
    said = reading.value.said
    if target in filled and reading.value.number is not None:
        made = builder.evaluate(text)
        if not np.allclose(made, builder.numbers[filled[target]], rtol=1e-6):
            builder.draft.clash(
                reading.line,
                "two-values",
                (name, target),
                f"{name}: {target.replace('_', ' ')} is given in two ways that differ",
                (*_places(builder, filled[target]), builder.draft.place(reading)),
            )
        elif "derive" in reading.slot.options and reading.value.expression == "x0":
            _forget(builder, bases.pop(id(reading), ""))
            note_repeat(builder, reading.value)
        return
    series = any(i in builder.indexed for i in inputs)
    filled[target] = builder.derived(
        f"{name}_{target}", text, unit, target.replace("_", " "), inputs, series,
        note=f"'{said}': {text}" if said else (note or text),
        more=(reading.value.source,) if said else (),
    )  # fmt: skip


def _forget(builder: Builder, name: str) -> None:
    """Leave out a parameter of which another one says all that it says."""
    builder.parameters[:] = [p for p in builder.parameters if p["name"] != name]


def _stated(builder: Builder, reading: Reading) -> bool:
    fact = reading.slot.options.get("unless")
    return fact is not None and builder.draft.has(fact)


def requirements(
    builder: Builder, name: str, readings: dict[str, list[Reading]], filled: dict[str, str]
) -> None:
    """Add the constraints that slots with a template stand for."""
    for found in readings.values():
        template = found[0].slot.options.get("constraint")
        if template is None:
            continue
        reading = single(builder, found)
        if reading.value.number is None and reading.value.expression != "x0":
            builder.used.append(reading.value.source)
            amount = reading.value.expression.replace("energy_capacity", filled["energy_capacity"])
        else:
            value = plain(reading.value)
            if value.unit != "cycle" and kind_of(value.unit) == "daily_cycles":
                value = replace(value, unit="cycle")  # the horizon is one day
            amount = builder.value(f"{name}_{reading.slot.name}", value, reading.slot.said)
        if not _whole_day(builder, reading):
            continue
        note = reading.slot.options.get("assume")
        if note:
            builder.draft.assume(f"{name}: {note}")
        text = template.format(
            c=name, op=_OPERATORS[reading.bound], x=amount,
            energy_capacity=filled.get("energy_capacity", ""),
        )  # fmt: skip
        constrain(builder, reading.slot.said, text, reading.slot.options["category"], reading.line)


def _whole_day(builder: Builder, reading: Reading) -> bool:
    """Limits per day need a horizon of one day."""
    daily = reading.slot.options.get("cycles") or reading.slot.options.get("daily")
    if not daily or abs(builder.axis.hours - 24) < 1.5:
        return True
    builder.draft.refuse(max(reading.line, 0), "a limit per day over more, or less, than one day")
    return False


def constrain(
    builder: Builder,
    name: str,
    expression: str,
    category: str,
    line: int,
    forall: list[str] | None = None,
    where: str | None = None,
    description: str | None = None,
    spans: tuple[Span, ...] = (),
) -> None:
    """Add a constraint with the sentence that it rests on, and other places of the text."""
    entry: Json = {"constraint_id": f"C{len(builder.constraints) + 1}", "name": name}
    if forall:
        entry["forall"] = forall
    if where:
        entry["where"] = where
    entry |= {"expression": expression, "category": category, "hard": True}
    if description:
        entry["description"] = description
    if line >= 0:
        source = builder.draft.quote(line, *spans)
        spoken = builder.draft.spoken_clock(spans)
        entry["source_reference"] = source if spoken is None else [source, spoken]
    builder.constraints.append(entry)


def _conventions(
    builder: Builder, name: str, filled: dict[str, str], readings: dict[str, list[Reading]]
) -> None:
    draft = builder.draft
    if "minimum_energy" not in filled and "maximum_energy" not in filled:
        draft.assume(f"{name}: the state of charge may lie anywhere from 0 to the energy capacity")
    final = {"final_energy", "final_fraction"} & set(readings)
    stated = any(f.name.startswith("final_") or f.name == "no_terminal" for f in draft.facts)
    if not final and not stated:
        draft.assume(f"{name}: nothing is required of the state of charge at the end")
    if "self_discharge" not in filled and not draft.has("no_self_discharge"):
        draft.assume(f"{name}: no standing loss")


def _final(builder: Builder, owners: Owners, fact: Fact) -> None:
    """Require the state at the end that the text compares with the start, for every unit."""
    line = builder.draft.lines[fact.line].line
    thermal = "zone" in owners.present and (
        "battery" not in owners.present or re.search(r"temperature|warm|cold|degrees", line)
    )
    names = owners.instances("zone") if thermal else owners.instances("battery")
    series = "temperature" if thermal else "state_of_charge"
    operator = ">=" if fact.name == "final_at_least_initial" else "=="
    mentioned = [n for n in names if owners.names["zone" if thermal else "battery"][n].search(line)]
    for name in mentioned if len(mentioned) < len(names) and mentioned else names:
        text = f"{name}_{series}[last(I)] {operator} {name}_{series}[first(I)]"
        if all(c["expression"] != text for c in builder.constraints):
            constrain(builder, "state at the end", text, "Strategic Requirements", fact.line)


def _consistent(builder: Builder, name: str, filled: dict[str, str]) -> None:
    """Report a start outside the limits, which is a contradiction."""
    values = builder.numbers
    start = values.get(filled["initial_energy"])
    low = values.get(filled.get("minimum_energy", ""))
    high = values.get(filled.get("maximum_energy", filled["energy_capacity"]))
    if start is None:
        return
    for bound, sign in ((low, -1.0), (high, 1.0)):
        if bound is not None and sign * (float(start) - float(bound)) > 1e-9:
            reading = builder.draft.find(name, "initial_energy")
            limit = filled.get("minimum_energy" if sign < 0 else "maximum_energy")
            builder.draft.clash(
                reading.line if reading else 0,
                "outside-limits",
                (name, "initial_energy"),
                f"{name}: the energy at the start lies outside the limits of the state of charge",
                (
                    *_places(builder, filled["initial_energy"]),
                    *_places(builder, limit or filled["energy_capacity"]),
                ),
            )
