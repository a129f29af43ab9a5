"""Apparent power: what hangs on a fuse in kVA, and who draws and who gives reactive power.

Only texts that speak of reactive power are read so; in others a kVA limits active power.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from engiagent.agents.offline.builder import for_owner, single
from engiagent.agents.offline.cards import load_card
from engiagent.agents.offline.draft import Draft, Fact, Value
from engiagent.agents.offline.grids import Column
from engiagent.agents.offline.phrases import relined
from engiagent.agents.offline.plant.system import BALANCE, CAPACITY, System
from engiagent.agents.offline.plant.units import Instance, Plant, pattern_of, unit_of
from engiagent.agents.offline.tokens import Token

if TYPE_CHECKING:
    from engiagent.agents.offline.plant.engine import Reader

_KINDS: Final = (
    (re.compile(r"[kM]?W/[kM]?var"), "loss_ratio"),
    (re.compile(r"[kM]?var/[kM]?W"), "reactive_ratio"),
    (re.compile(r"[kM]?var"), "reactive"),
    (re.compile(r"[kM]?VA"), "apparent"),
)
_NO_LAG: Final = re.compile(
    r"(?:(?<=; )|(?<=, )|(?<=^))(?:and |but )?(?:it|the inverter|they)"
    r" (?:never takes? any|cannot take any|can not take any|must not take any|takes? none"
    r"|does not take any|only gives? (?:it|reactive power))(?: of it)?(?= [.;,]|$)"
)
_GIVES: Final = re.compile(
    r"(?:inverter|it)(?: [a-z<>#0-9]+){0,6}? can (?:also )?(?:give|supply|produce|inject)"
    r"(?P<both> or (?:take|absorb|consume))? reactive power"
)


@dataclass(frozen=True)
class Reactive:
    """Reactive power in a text.

    Attributes
    ----------
    gives, takes
        Whether the inverter of the sun may give, and take, reactive power.
    demand
        The series of what is drawn, None where no column has it.
    """

    gives: bool
    takes: bool
    demand: Value | None
    line: int


def speaks(draft: Draft) -> bool:
    """Whether a text speaks of reactive power."""
    return any(
        re.search(r"(?<![a-z])(?:reactive|kvar)(?![a-z])", line.line) for line in draft.lines
    )


def with_reactive(
    plant: Plant, draft: Draft, columns: Sequence[Column]
) -> tuple[Plant, list[Column], Reactive | None]:
    """Give units their slots of reactive power; take out the columns of a load that has both.

    Two columns of one name, of which one is in kW and the other in kvar, are the active and the
    reactive power of a load.
    """
    if not speaks(draft):
        return plant, list(columns), None
    card: dict[str, Any] = load_card("reactive")
    for n, line in enumerate(draft.lines):
        tokens = [_rekinded(t) for t in line.tokens]
        if tokens != list(line.tokens):
            draft.lines[n] = relined(line, tokens)
    gives, takes, where = _given(draft)
    pair = _pair(columns)
    units = dict(plant.units)
    for component, more in card["slots"].items():
        entry = dict(units[component].card)
        if component == "heat_pump" and _beside_ratio(draft):
            more = {**more, **card["beside_ratio"]}
            draft.assume("the power that stands beside what is drawn in kvar per kW is electric")
        entry["slots"] = {**entry["slots"], **more}
        units[component] = unit_of(entry)
    known = {i.unit.component for i in plant.instances}
    made = [replace(i, unit=units[i.unit.component]) for i in plant.instances]
    if pair is not None and "load" not in known:
        made.append(Instance("load", units["load"], pattern_of(units["load"].nouns)))
    if "grid" not in known:
        made.append(Instance("grid", units["grid"], pattern_of(units["grid"].nouns)))
    extra = {**plant.extra, "grid": str(card["nouns"]["grid"])}
    if "pv" in known and "battery" not in known:
        extra["pv"] = "|".join(filter(None, (extra.get("pv", ""), str(card["nouns"]["pv"]))))
    found = replace(
        plant, units=units, instances=tuple(made), extra=extra,
        concepts={**plant.concepts, **_joined(plant.concepts, card["concepts"])},
    )  # fmt: skip
    rest, demand = list(columns), None
    if pair is not None:
        active, reactive = pair
        rest = [c for c in columns if c not in pair]
        value = Value(active.unit, active.source, numbers=active.numbers, data=active.data)
        draft.series["load", "power"] = value
        demand = Value(reactive.unit, reactive.source, numbers=reactive.numbers, data=reactive.data)
    return found, rest, Reactive(gives, takes, demand, where)


def _beside_ratio(draft: Draft) -> bool:
    """Whether a power stands in one sentence with the reactive power drawn for each kW of it."""
    return any("<reactive_ratio#" in line.line and "<power#" in line.line for line in draft.lines)


def _joined(known: Any, more: Any) -> dict[str, str]:
    """Return the words of a card, added to those that a plant has for the same concept."""
    return {name: f"{known[name]}|{text}" if name in known else text for name, text in more.items()}


def _rekinded(token: Token) -> Token:
    amount = token.amount
    if amount is None:
        return token
    kind = next((kind for p, kind in _KINDS if p.fullmatch(amount.unit)), amount.kind)
    return token if kind == amount.kind else replace(token, amount=replace(amount, kind=kind))


def _given(draft: Draft) -> tuple[bool, bool, int]:
    """Return whether the inverter may give and take reactive power, and the line that says so."""
    gives = takes = False
    where = 0
    for n, line in enumerate(draft.lines):
        match = _GIVES.search(line.line)
        if match is not None:
            gives, takes, where = True, bool(match["both"]), n
    for n, line in enumerate(draft.lines):
        match = _NO_LAG.search(line.line)
        if match is not None and gives and re.search(r"reactive", line.line[: match.start()]):
            takes = False
            covered = list(line.covered(*match.span()))
            draft.take(n, covered)
            place = (line.tokens[covered[0]].span[0], line.tokens[covered[-1]].span[1])
            draft.facts.append(Fact("reactive_power_is_given_only", n, place, {}, match[0]))
    return gives, takes, where


def _pair(columns: Sequence[Column]) -> tuple[Column, Column] | None:
    """Return the columns of one name in kW and in kvar; None where there are none, or several."""
    found = []
    for reactive in columns:
        if not re.fullmatch(r"[kM]?var", reactive.unit or ""):
            continue
        stem = _stem(reactive.name)
        found += [
            (c, reactive) for c in columns
            if re.fullmatch(r"[kM]?W", c.unit or "") and _stem(c.name) == stem
        ]  # fmt: skip
    return found[0] if len(found) == 1 else None


def _stem(name: str) -> str:
    plain = re.sub(r"[(\[].*[)\]]", " ", name.lower())
    return re.sub(
        r"(?:_|\b)(?:kw|mw|kvar|mvar|active|reactive|p|q)(?:_|\b)|[_\W]+", " ", plain
    ).strip()


# --- the model -----------------------------------------------------------------------------------


def add_reactive(system: System) -> None:
    """Add the limits of apparent power, and the reactive power that inverters give."""
    reader: Reader = system.reader
    reactive = reader.reactive
    if reactive is None:
        return
    builder, plant = system.builder, reader.plant
    most = _number(system, "grid", "grid", "apparent_max")
    if most is None or len(plant.of("grid")) != 1:
        builder.draft.doubt(reactive.line, "reactive power, and no limit of apparent power")
        return
    terms = _drawn(system, reactive)
    given = _inverter(system, reactive)
    if given:
        terms.append(f"- {given}")
    if not terms:
        builder.draft.doubt(reactive.line, "what draws reactive power is not said")
        return
    if "no_export" not in reader.facts and not builder.draft.has("no_export"):
        builder.draft.doubt(reactive.line, "apparent power of a connection that also feeds in")
    total = " + ".join(terms).replace("+ - ", "- ").removeprefix("+ ")
    builder.variables.append(
        {"name": "grid_reactive", "index": ["t in T"], "type": "continuous", "lower": f"-{most}",
         "upper": most, "unit": "kvar", "quantity": "grid.reactive_power", "role": "auxiliary",
         "description": "reactive power at the meter"}
    )  # fmt: skip
    system.row("reactive power at the meter", f"grid_reactive[t] == {total}", BALANCE, -1)
    line = system.line_of("grid", "apparent_max")
    system.row("apparent power of the connection",
               f"grid_import[t]**2 + grid_reactive[t]**2 <= {most}**2", CAPACITY, line)  # fmt: skip


def _number(system: System, component: str, name: str, slot: str) -> str | None:
    readings = for_owner(system.builder.draft, component, name).get(slot)
    if not readings:
        return None
    reading = single(system.builder, readings)
    return system.builder.value(f"{name}_{slot}", reading.value, reading.slot.said)


def _drawn(system: System, reactive: Reactive) -> list[str]:
    """Return what loads and heat pumps draw of reactive power."""
    builder, plant = system.builder, system.reader.plant
    terms = []
    if reactive.demand is not None:
        made = builder.value("load_reactive", reactive.demand, "reactive power of the load")
        terms.append(builder.at(made))
    for component in ("load", "heat_pump"):
        for unit in plant.of(component):
            ratio = _number(system, component, unit.name, "reactive_ratio")
            if ratio is None:
                if component == "heat_pump" or reactive.demand is None:
                    builder.draft.assume(f"{unit.name} draws no reactive power")
                continue
            if component == "load" and reactive.demand is not None:
                builder.draft.doubt(reactive.line, "the reactive load is given in two ways")
            power = (system.text(unit.name, "{power}") if component == "load"
                     else f"{unit.name}_electric_power[t]")  # fmt: skip
            terms.append(f"{ratio}*{power}")
    return terms


def _inverter(system: System, reactive: Reactive) -> str:
    """Add the reactive power of the inverter within its rating; return it, empty for none."""
    builder, plant = system.builder, system.reader.plant
    sources = plant.of("pv")
    rated = _number(system, "pv", sources[0].name, "apparent_max") if len(sources) == 1 else None
    if not reactive.gives:
        if rated is not None:
            builder.draft.doubt(reactive.line, "may the inverter give reactive power?")
        return ""
    if rated is None:
        builder.draft.doubt(reactive.line, "which inverter gives reactive power, and how much?")
        return ""
    name = sources[0].name
    made = f"{name}_reactive"
    builder.variables.append(
        {"name": made, "index": ["t in T"], "type": "continuous",
         "lower": f"-{rated}" if reactive.takes else 0, "upper": rated, "unit": "kvar",
         "quantity": f"{name}.reactive_power", "role": "decision",
         "description": "reactive power that the inverter gives"}
    )  # fmt: skip
    line = system.line_of(name, "apparent_max")
    system.row("apparent power of the inverter",
               f"{name}_power[t]**2 + {made}[t]**2 <= {rated}**2", CAPACITY, line)  # fmt: skip
    loss = _number(system, "pv", name, "reactive_loss")
    if loss is not None:
        if reactive.takes:
            builder.draft.doubt(reactive.line, "losses of reactive power that is taken")
        system.demand("electricity", f"{loss}*{made}[t]", rated)
    return f"{made}[t]"
