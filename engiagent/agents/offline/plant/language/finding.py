"""Which units a text speaks of, and how many of each kind there are."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from engiagent.agents.offline.cards import load_card
from engiagent.agents.offline.plant.cold.coldness import (
    cold_nouns,
    told_apart,
    with_cold_stores,
    with_heat_source,
)
from engiagent.agents.offline.plant.language.naming import (
    instances_of,
    labels_for,
    mentions_in,
    plain_label,
)
from engiagent.agents.offline.plant.units import (
    GENERIC,
    Instance,
    Plant,
    Unit,
    catalogue,
    pattern_of,
)
from engiagent.agents.offline.tokens import Line

_PLAIN_ENGINES: Final = (
    r"(?:steam |gas |thermal |generating )?(?:sets?|turbines?|engines?|machines?|generators?)"
    r"|(?:generating |thermal )units?"
)
_NEGATED: Final = re.compile(
    r"(?:(?:there is|there are|has|have|with|we have|is) )?(?:no|not|without|neither|nor)"
    r"(?: (?:an?|any|other|own|additional|further))*(?: [a-z-]+)? $"
)


def find_units(lines: Sequence[Line], tabled: Sequence[tuple[str, tuple[str, ...]]]) -> Plant:
    """Return the units that a text speaks of other than to deny them.

    ``tabled`` are the labels of tables whose rows, or columns, are units, each with the texts that
    may say what they are.
    """
    known = catalogue()
    # Longer nouns claim their words first: a heat pump is no pump, a gas boiler no gas.
    patterns = {c: pattern_of(u.nouns) for c, u in known.items()}
    plain = _plain_engines(patterns, lines, tabled)
    kind = "chiller" if _is_cold(patterns, lines) else "genset"
    if not plain and (cold := cold_nouns(lines, patterns["chiller"])):
        kind, plain = "chiller", cold
    if plain:
        patterns[kind] = pattern_of(f"{known[kind].nouns}|{plain}")
    present: dict[str, list[tuple[Line, re.Match[str]]]] = {}
    for line in lines:
        if line.sentence.is_heading:
            continue
        for component, match in mentions_in(line.line, patterns):
            if not _NEGATED.search(line.line[: match.start()]):
                present.setdefault(component, []).append((line, match))
    _wheels(present, lines)
    cold_room = _cold_room(present)
    heaters = _short_heaters(present)
    instances: list[Instance] = []
    if "pv" not in present and _yields(lines):
        patterns["pv"] = _ROOF
        present["pv"] = [(line, m) for line in lines for m in _ROOF.finditer(line.line)
                         if not line.sentence.is_heading]  # fmt: skip
    for component in known:
        if component in present:
            labels = labels_for(known, patterns, component, tabled)
            instances += instances_of(known[component], present[component], labels)
    kinds = {i.unit.component for i in instances}
    if "chiller" not in kinds and _has_cold_ratio(lines):
        plant = known["chiller"]
        instances.append(Instance("chiller", plant, pattern_of("plants?"), "plant"))
    instances, kinds = _with_cold(known, lines, instances)
    stores = set(GENERIC["@store"][1])
    if not kinds & {*stores, "vehicle", "heat_load", "cooling_load"}:
        instances += _plain_store(known, lines)
        kinds = {i.unit.component for i in instances}
    generic = {}
    for name, (_, members) in GENERIC.items():
        there = [m for m in members if m in kinds]
        if len(there) == 1:
            generic[name] = f"@{there[0]}"
    extra = {kind: plain} if plain else {}
    extra |= {"electric_heater": heaters} if heaters else {}
    if "vehicle" in kinds and "battery" not in kinds:
        extra["vehicle"] = known["battery"].nouns  # 'its battery' is that of the vehicle
    if any(i.noun for i in instances if i.unit.component == "cold_store"):
        extra["cold_store"] = known["heat_store"].nouns  # 'the buffer' is one of cold
    if patterns.get("pv") is _ROOF or ("pv" in kinds and _yields(lines)):
        extra["pv"] = "roofs?"
    if cold_room:
        extra["load"] = known["cold_store"].nouns
    concepts = load_card("words")["of_vehicles"] if "vehicle" in kinds else {}
    if "battery" in kinds and "vehicle" not in kinds:
        concepts = {"charge": "chargers?"}
    return Plant(known, tuple(instances), generic, extra, concepts)


def _with_cold(
    known: Mapping[str, Unit], lines: Sequence[Line], instances: list[Instance]
) -> tuple[list[Instance], set[str]]:
    """Return the units, and their kinds, with tanks as stores of cold where only cold is made."""
    found = with_cold_stores(known, lines, told_apart(lines, instances), _NEGATED)
    found = with_heat_source(known, found)
    return found, {i.unit.component for i in found}


_HEATING_PARTS: Final = re.compile(
    r"(?<![a-z])(panel|coil|rod|element|convector|heater)s?(?![a-z])"
)


def _short_heaters(present: dict[str, list[tuple[Line, re.Match[str]]]]) -> str:
    """Return what electric heaters are called in short: 'the panels' for electric panel heaters.

    Panels are these, and none of the sun, where nothing else speaks of it.
    """
    named = {
        word[1] for _, match in present.get("electric_heater", ())
        for word in _HEATING_PARTS.finditer(match[0])
    }  # fmt: skip
    sunny = [match[0] for _, match in present.get("pv", ())]
    if "panel" in named and set(sunny) <= {"panels", "panel"}:
        present.pop("pv", None)
    elif "panel" in named:
        named.discard("panel")
    return "|".join(f"{name}s?" for name in sorted(named))


def _cold_room(present: dict[str, list[tuple[Line, re.Match[str]]]]) -> bool:
    """Take a cold store for a room that uses electricity where nothing makes or needs cold."""
    if "cold_store" not in present or present.keys() & {"chiller", "cooling_load"}:
        return False
    mentions = present["cold_store"]
    stored = any(re.search(r"ice|tank|<energy#|chilled", line.line) for line, _ in mentions)
    if not stored:
        present.setdefault("load", []).extend(present.pop("cold_store"))
    return not stored


def _has_cold_ratio(lines: Sequence[Line]) -> bool:
    """Whether the text speaks of electricity for cold, as kW/ton: then a plant makes cold."""
    return any(
        t.amount is not None and t.amount.kind in ("power_per_cold", "cold_per_power")
        for line in lines for t in line.tokens
    )  # fmt: skip


def _is_cold(patterns: Mapping[str, re.Pattern[str]], lines: Sequence[Line]) -> bool:
    """Whether machines without a kind are chillers: the text speaks of these and of no engines."""
    chillers = any(patterns["chiller"].search(line.line) for line in lines)
    engines = any(patterns[m].search(line.line) for m in GENERIC["@engine"][1] for line in lines)
    return chillers and not engines


_ROOF: Final = re.compile(r"(?<![a-z-])roofs?(?![a-z-])")
_YIELDS: Final = re.compile(
    r"(?<![a-z-])roofs? (?:yields?|generates?|produces?|delivers?|makes?|gives?|offers?)(?![a-z])"
)


def _yields(lines: Sequence[Line]) -> bool:
    """Whether a text speaks of what the roof yields: panels on it."""
    return any(_YIELDS.search(line.line) for line in lines if not line.sentence.is_heading)


_CHARGING: Final = re.compile(
    r"(?<![a-z])(?:(?:re)?charg(?:e|es|ed|ers?|ing)|plugged|plugs?)(?![a-z])"
)
_STANDING: Final = re.compile(
    r"stationary|(?:battery|energy) storage|(?:battery|storage) (?:container|unit|system|cabinet)"
    r"|(?:site|depot|yard|own|home|house|station)(?:'s)? battery|buffer battery"
)


def _wheels(present: dict[str, list[tuple[Line, re.Match[str]]]], lines: Sequence[Line]) -> None:
    """Leave out vehicles that nothing charges, and batteries that are those of vehicles."""
    if "vehicle" not in present:
        return
    text = [line.line for line in lines if not line.sentence.is_heading]
    if not any(_CHARGING.search(t) for t in text) or _part_of_battery(present, lines):
        del present["vehicle"]
    elif not any(_STANDING.search(t) for t in text):
        present.pop("battery", None)


def _part_of_battery(
    present: dict[str, list[tuple[Line, re.Match[str]]]], lines: Sequence[Line]
) -> bool:
    """Whether only 'the charger' speaks of vehicles, and there is a battery that it fills."""
    alone = all(match[0] == "charger" for _, match in present["vehicle"])
    boxed = any(
        _BOXES.search(line.line) and "<energy#" in line.line
        for line in lines if not line.sentence.is_heading
    )  # fmt: skip
    return alone and ("battery" in present or boxed)


def _plain_engines(
    patterns: Mapping[str, re.Pattern[str]],
    lines: Sequence[Line],
    tabled: Sequence[tuple[str, tuple[str, ...]]],
) -> str:
    """Return nouns for generating sets where a table lists sets and no kind of them is named."""
    engine = pattern_of(_PLAIN_ENGINES)
    listed = any(engine.fullmatch(plain_label(over[0])) for _, over in tabled if over)
    text = [line.line for line in lines if not line.sentence.is_heading]
    named = any(patterns[m].search(t) for m in GENERIC["@engine"][1] for t in text)
    return _PLAIN_ENGINES if listed and not named else ""


_SIZED: Final = re.compile(
    r"<power#\d+> (?:/|and|,|by|with) <energy#\d+> "
    r"(?P<box>unit|system|plant|installation|project|asset)(?![a-z])"
)
_BOXES: Final = re.compile(
    r"(?<![a-z-])(?P<box>container|cabinet|pack|bank|cells|accumulators)(?![a-z-])"
)


def _plain_store(known: Mapping[str, Unit], lines: Sequence[Line]) -> list[Instance]:
    """Return a battery for a text that calls it a storage and speaks of no heat or cold."""
    words = pattern_of(GENERIC["@store"][0])
    mentions = [
        (line, match) for line in lines if not line.sentence.is_heading
        for match in words.finditer(line.line)
    ]  # fmt: skip
    if any(not _NEGATED.search(line.line[: match.start()]) for line, match in mentions):
        return [Instance("battery", known["battery"], words)]
    for line in (line for line in lines if not line.sentence.is_heading):
        match = _SIZED.search(line.line) or (
            _BOXES.search(line.line) if "<energy#" in line.line else None
        )
        if match is not None:
            return [Instance("battery", known["battery"], pattern_of(match["box"]), match["box"])]
    return []
