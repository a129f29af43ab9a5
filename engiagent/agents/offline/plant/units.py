"""The units that a plant may have, from their cards, and which of them a text speaks of."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from engiagent.agents.offline.amounts import Amount
from engiagent.agents.offline.cards import Slot, load_card
from engiagent.agents.offline.owners import identifier
from engiagent.agents.offline.plant.words import longest_first
from engiagent.agents.offline.tokens import Line

_GENERIC: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "@store": (
        "stores?(?! <)|storages?|tanks?|storage tanks?",
        ("heat_store", "cold_store", "battery"),
    ),
    "@engine": ("engines?|motors?", ("chp", "genset")),
}
_PLAIN_ENGINES: Final = (
    r"(?:steam |gas |thermal |generating )?(?:sets?|turbines?|engines?|machines?|generators?)"
    r"|(?:generating |thermal )units?"
)
_LABEL: Final = (
    r"(?:[a-h]|[1-9]|i{1,3}|one|two|three|north|south|east|west|large|small|old|new|left|right)"
)
_ADJECTIVE: Final = (
    r"(?:large|small|larger|smaller|big|old|older|new|newer|first|second|third|north|south"
    r"|east|west|left|right|main|spare)"
)
_NEGATED: Final = re.compile(
    r"(?:(?:there is|there are|has|have|with|we have|is) )?(?:no|not|without|neither|nor)"
    r"(?: (?:an?|any|other|own|additional|further))*(?: [a-z-]+)? $"
)


@dataclass(frozen=True)
class Says:
    """What has to be said of a slot, and what may be."""

    needs: tuple[frozenset[str], ...]
    may: frozenset[str]


@dataclass(frozen=True)
class Unit:
    """A kind of unit: its card."""

    component: str
    model: str
    nouns: str
    slots: Mapping[str, Slot]
    says: Mapping[str, Says]
    card: Mapping[str, Any]

    @property
    def switches(self) -> bool:
        """Whether it can be switched on and off."""
        return bool(self.card.get("switches"))


@dataclass(frozen=True)
class Instance:
    """One unit of a plant.

    Attributes
    ----------
    finder
        Where a text speaks of this one.
    label
        What a table calls it.
    noun
        A pattern for what the running text calls it, where that is no noun of its kind.
    """

    name: str
    unit: Unit
    finder: re.Pattern[str]
    label: str = ""
    noun: str = ""


@dataclass(frozen=True)
class Plant:
    """The units that a text speaks of; ``concepts`` are words that matter where they are."""

    units: Mapping[str, Unit]
    instances: tuple[Instance, ...]
    generic: Mapping[str, str] = field(default_factory=dict)
    extra: Mapping[str, str] = field(default_factory=dict)
    concepts: Mapping[str, str] = field(default_factory=dict)

    def of(self, component: str) -> tuple[Instance, ...]:
        """Return the instances of a kind."""
        return tuple(i for i in self.instances if i.unit.component == component)


@lru_cache(maxsize=1)
def catalogue() -> Mapping[str, Unit]:
    """Return the cards of all units."""
    return {entry["component"]: unit_of(entry) for entry in load_card("plant")["units"]}


def unit_of(entry: dict[str, Any]) -> Unit:
    """Return the unit of a card."""
    component = str(entry["component"])
    slots, says = {}, {}
    for name, card in entry["slots"].items():
        slots[name] = _slot(component, name, card)
        needs = tuple(frozenset(str(text).split()) for text in card["says"])
        says[name] = Says(needs, frozenset(card.get("may") or ()))
    return Unit(component, str(entry["model"]), str(entry["nouns"]), slots, says, entry)


def _slot(component: str, name: str, card: dict[str, Any]) -> Slot:
    low, high = card.get("range", [float("-inf"), float("inf")])
    unit = str(card.get("unit", ""))
    known = {"kinds", "unit", "said", "range", "bounds", "says", "may"}
    return Slot(
        component,
        name,
        tuple(card["kinds"]),
        unit,
        str(card.get("said", name.replace("_", " "))),
        float(low),
        float(high),
        "1" if unit == "%" else unit,
        tuple(card["bounds"]),
        (),
        {key: value for key, value in card.items() if key not in known},
    )


def nouns(plant: "Plant | None" = None) -> dict[str, str]:
    """Return the nouns of all units, and of groups of them; with the names in a plant."""
    known = catalogue() if plant is None else plant.units
    found = {unit.component: unit.nouns for unit in known.values()}
    if plant is not None and "vehicle" in plant.extra:
        found["battery"] = "(?!)x"
    for component, more in plant.extra.items() if plant is not None else ():
        found[component] += f"|{more}"
    for instance in plant.instances if plant is not None else ():
        if instance.noun:
            found[instance.unit.component] += f"|{instance.noun}"
        if instance.label:
            found[instance.unit.component] += f"|{_flexible(instance.label)}"
    return found | {name.removeprefix("@"): text for name, (text, _) in _GENERIC.items()}


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
    if plain:
        patterns[kind] = pattern_of(f"{known[kind].nouns}|{plain}")
    present: dict[str, list[tuple[Line, re.Match[str]]]] = {}
    for line in lines:
        if line.sentence.is_heading:
            continue
        for component, match in _mentions(line.line, patterns):
            if not _NEGATED.search(line.line[: match.start()]):
                present.setdefault(component, []).append((line, match))
    _wheels(present, lines)
    instances: list[Instance] = []
    for component in known:
        if component in present:
            labels = _labels(known, patterns, component, tabled)
            instances += _instances(known[component], present[component], labels)
    kinds = {i.unit.component for i in instances}
    if "chiller" not in kinds and _has_cold_ratio(lines):
        plant = known["chiller"]
        instances.append(Instance("chiller", plant, pattern_of("plants?"), "plant"))
    stores = set(_GENERIC["@store"][1])
    if not kinds & {*stores, "vehicle", "heat_load", "cooling_load"}:
        instances += _plain_store(known, lines)
        kinds = {i.unit.component for i in instances}
    generic = {}
    for name, (_, members) in _GENERIC.items():
        there = [m for m in members if m in kinds]
        if len(there) == 1:
            generic[name] = f"@{there[0]}"
    extra = {kind: plain} if plain else {}
    if "vehicle" in kinds and "battery" not in kinds:
        extra["vehicle"] = known["battery"].nouns  # 'its battery' is that of the vehicle
    return Plant(known, tuple(instances), generic, extra)


def _has_cold_ratio(lines: Sequence[Line]) -> bool:
    """Whether the text speaks of electricity for cold, as kW/ton: then a plant makes cold."""
    return any(
        t.amount is not None and t.amount.kind in ("power_per_cold", "cold_per_power")
        for line in lines for t in line.tokens
    )  # fmt: skip


def _is_cold(patterns: Mapping[str, re.Pattern[str]], lines: Sequence[Line]) -> bool:
    """Whether machines without a kind are chillers: the text speaks of these and of no engines."""
    chillers = any(patterns["chiller"].search(line.line) for line in lines)
    engines = any(patterns[m].search(line.line) for m in _GENERIC["@engine"][1] for line in lines)
    return chillers and not engines


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
    if not any(_CHARGING.search(t) for t in text):
        del present["vehicle"]
    elif not any(_STANDING.search(t) for t in text):
        present.pop("battery", None)


def _plain_engines(
    patterns: Mapping[str, re.Pattern[str]],
    lines: Sequence[Line],
    tabled: Sequence[tuple[str, tuple[str, ...]]],
) -> str:
    """Return nouns for generating sets where a table lists sets and no kind of them is named."""
    engine = pattern_of(_PLAIN_ENGINES)
    listed = any(engine.fullmatch(_plain(over[0])) for _, over in tabled if over)
    text = [line.line for line in lines if not line.sentence.is_heading]
    named = any(patterns[m].search(t) for m in _GENERIC["@engine"][1] for t in text)
    return _PLAIN_ENGINES if listed and not named else ""


def _plain_store(known: Mapping[str, Unit], lines: Sequence[Line]) -> list[Instance]:
    """Return a battery for a text that calls it a storage and speaks of no heat or cold."""
    words = pattern_of(_GENERIC["@store"][0])
    mentions = [
        (line, match) for line in lines if not line.sentence.is_heading
        for match in words.finditer(line.line)
    ]  # fmt: skip
    if any(not _NEGATED.search(line.line[: match.start()]) for line, match in mentions):
        return [Instance("battery", known["battery"], words)]
    return []


def pattern_of(text: str) -> re.Pattern[str]:
    """Return a pattern for nouns as words of their own."""
    return re.compile(rf"(?<![a-z0-9'-])(?:{longest_first(text)})(?![a-z0-9'-])")


def _mentions(
    text: str, patterns: Mapping[str, re.Pattern[str]]
) -> list[tuple[str, re.Match[str]]]:
    found = [(c, m) for c, p in patterns.items() for m in p.finditer(text)]
    found.sort(key=lambda pair: pair[1].start() - pair[1].end())
    kept: list[tuple[str, re.Match[str]]] = []
    for component, match in found:
        if all(match.end() <= m.start() or m.end() <= match.start() for _, m in kept):
            kept.append((component, match))
    return kept


def _instances(
    unit: Unit, mentions: Sequence[tuple[Line, re.Match[str]]], tabled: Sequence[str]
) -> list[Instance]:
    """Return the units of one kind: from tables, numbered, told apart by a word, or one."""
    pattern = pattern_of(unit.nouns)
    named = {identifier(label): label for label in (*tabled, *_listed(pattern, mentions))}
    labels = list(named.values())
    if len(labels) > 1:
        tabled_units = [
            Instance(identifier(t), unit, _finder(_plain(t)), _plain(t)) for t in labels
        ]
        return [*tabled_units, *_further(unit, mentions)]
    names: dict[str, str] = {}
    for line, match in mentions:
        text = line.line
        behind = re.compile(rf" ({_LABEL})(?![a-z0-9'-])").match(text, match.end())
        if behind is not None and _is_label(line, behind):
            names[identifier(f"{unit.component} {behind[1]}")] = f"{match[0]} {behind[1]}"
        before = re.compile(rf"(?<![a-z])({_ADJECTIVE}) $").search(text[: match.start()])
        if before is not None:
            names[identifier(f"{before[1]} {unit.component}")] = f"{before[1]} {match[0]}"
    if len(names) > 1:
        return [Instance(name, unit, _finder(text)) for name, text in sorted(names.items())]
    counted = _ordinals(unit, pattern, mentions)
    if counted:
        return counted
    return [Instance(unit.component, unit, pattern)]


_FURTHER: Final = re.compile(r"(?:^|[^a-z])an? (third|fourth|fifth|sixth|further|additional) $")
_ORDINALS: Final = ("first", "second", "third", "fourth", "fifth")


def _further(unit: Unit, mentions: Sequence[tuple[Line, re.Match[str]]]) -> list[Instance]:
    """Return the one unit beside those of a table that the text adds, as 'a third set'."""
    found = {}
    for line, match in mentions:
        before = _FURTHER.search(line.line[: match.start()])
        if before is not None:
            found[identifier(f"{before[1]} {unit.component}")] = f"{before[1]} {match[0]}"
    return [
        Instance(name, unit, _finder(text), noun=re.escape(text)) for name, text in found.items()
    ]


def _ordinals(
    unit: Unit, pattern: re.Pattern[str], mentions: Sequence[tuple[Line, re.Match[str]]]
) -> list[Instance]:
    """Return units that are counted and then called the first, the second and so on."""
    lines = list(dict.fromkeys(line for line, _ in mentions))
    counts = [
        round(amount.value)
        for line, match in mentions
        if (amount := _amount_before(line, match.start())) is not None
    ]
    passages = {line.sentence.passage for line in lines}
    if (
        not unit.switches
        or len(set(counts)) != 1
        or not 2 <= counts[0] <= len(_ORDINALS)
        or len(passages) > 2
    ):
        return []
    nouns = {
        name: rf"the {name}(?: {unit.nouns})?(?! (?:hour|day|time|half|quarter|period|block|of))"
        for name in _ORDINALS[: counts[0]]
    }
    return [
        Instance(f"{name}_{unit.component}", unit, pattern_of(noun), noun=noun)
        for name, noun in nouns.items()
    ]


def _amount_before(line: Line, position: int) -> Amount | None:
    """Return the number that stands before a place, with one word between at most."""
    place = line.token_at(position)
    for k in (place - 1, place - 2):
        if k >= 0 and (amount := line.tokens[k].amount) is not None and not amount.unit:
            return amount
    return None


def _labels(
    known: Mapping[str, Unit],
    patterns: Mapping[str, re.Pattern[str]],
    component: str,
    tabled: Sequence[tuple[str, tuple[str, ...]]],
) -> list[str]:
    """Return the labels of tables that name units of a kind: by a noun, else by what stands over.

    A label without a noun of any kind is a name, as G1; it is of the kind that the first text
    speaks of that speaks of one at all.
    """
    found = []
    for label, over in tabled:
        kinds = {c for c, _ in _mentions(_plain(label), patterns)}
        for text in over if not kinds else ():
            kinds = {c for c, _ in _mentions(_plain(text), patterns)}
            if kinds:
                break
        kinds = kinds if len(kinds) == 1 else set()
        if component in kinds:
            found.append(label)
    return found


_NAME: Final = r"[A-Z][A-Za-z]{0,3}[- ]?\d{1,2}"
_NAMES: Final = re.compile(rf",? ?(?:called |named |\()?({_NAME}(?:, {_NAME})*,? and {_NAME})")


def _listed(pattern: re.Pattern[str], mentions: Sequence[tuple[Line, re.Match[str]]]) -> list[str]:
    """Return names behind a noun, as in 'two generators, G1 and G2'."""
    found: list[str] = []
    for line in dict.fromkeys(line for line, _ in mentions):
        text = line.sentence.text
        for match in pattern.finditer(text.lower()):
            names = _NAMES.match(text, match.end())
            if names is not None:
                found += re.findall(_NAME, names[1])
    return found


def _is_label(line: Line, match: re.Match[str]) -> bool:
    if match[1] != "a":
        return re.fullmatch(r"[a-h]|\d|i{1,3}|one|two|three", match[1]) is not None
    token = line.tokens[line.token_at(match.start(1))]
    raw = line.sentence.text[token.span[0] - line.sentence.span[0] :]
    return raw.startswith("A")


def _plain(text: str) -> str:
    return re.sub(r"[^a-z0-9-]+", " ", text.lower()).strip()


def _finder(text: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![a-z0-9-]){_flexible(text)}(?![a-z0-9-])")


def _flexible(text: str) -> str:
    """Return a pattern for a name whose parts a space or a hyphen may join."""
    return "[- ]".join(re.escape(part) for part in re.split(r"[- ]", text))
