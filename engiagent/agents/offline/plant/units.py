"""The units that a plant may have, from their cards, and the units of one plant."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from engiagent.agents.offline.cards import Slot, load_card
from engiagent.agents.offline.plant.language.words import longest_first

GENERIC: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "@store": (
        "stores?(?! <| up to <| at most <)|storages?|tanks?|storage tanks?",
        ("heat_store", "cold_store", "battery"),
    ),
    "@engine": ("engines?|motors?", ("chp", "genset")),
}


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
    if plant is not None and "panel" in plant.extra.get("electric_heater", ""):
        found["pv"] = "(?!)x"
    if plant is not None and "vehicle" in plant.extra:
        found["battery"] = "(?!)x"
    alone = plant is not None and plant.of("battery") and not plant.of("vehicle")
    if alone and "vehicle" in found:
        # A charger is part of the battery where there are no vehicles.
        found["vehicle"] = found["vehicle"].replace(f"|{known['vehicle'].card['chargers']}", "")
    if plant is not None and "cold_store" in plant.extra:
        found["heat_store"] = "(?!)x"
    if plant is not None and "load" in plant.extra:
        found["cold_store"] = "(?!)x"
    for component, more in plant.extra.items() if plant is not None else ():
        found[component] += f"|{more}"
    for instance in plant.instances if plant is not None else ():
        if instance.noun:
            found[instance.unit.component] += f"|{instance.noun}"
        if instance.label:
            found[instance.unit.component] += f"|{flexible(instance.label)}"
    return found | {name.removeprefix("@"): text for name, (text, _) in GENERIC.items()}


@lru_cache(maxsize=4096)
def pattern_of(text: str) -> re.Pattern[str]:
    """Return a pattern for nouns as words of their own."""
    return re.compile(rf"(?<![a-z0-9'-])(?:{longest_first(text)})(?![a-z0-9'-])")


def flexible(text: str) -> str:
    """Return a pattern for a name whose parts a space or a hyphen may join."""
    return "[- ]".join(re.escape(part) for part in re.split(r"[- ]", text))
