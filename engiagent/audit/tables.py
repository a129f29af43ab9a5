"""What the YAML files of this package hold, read once."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from engiagent.files import packaged_yaml


@dataclass(frozen=True)
class Ratio:
    """Two parameters of a component whose quotient, or product, has a usual range."""

    component: str
    first: str
    second: str
    product: bool
    unit: str
    low: float
    high: float
    said: str
    because: str


@dataclass(frozen=True)
class Confusion:
    """A kind of amount that stands where another is wanted, and what was meant."""

    given: str
    wanted: str
    meant: str


@dataclass(frozen=True)
class Ranges:
    """What is usual; ``prices`` are per kWh by currency."""

    prices: Mapping[str, tuple[float, float]]
    price_reason: str
    ratios: tuple[Ratio, ...]
    confusions: tuple[Confusion, ...]
    reference: re.Pattern[str]
    referred: re.Pattern[str]


@dataclass(frozen=True)
class ClashWords:
    """Words that make a second number no second value, and those that name a property."""

    others: re.Pattern[str]
    named: Mapping[str, re.Pattern[str]]


@dataclass(frozen=True)
class Quantity:
    """A quantity by the words that name it; ``kinds`` of amounts and columns could give it."""

    slots: re.Pattern[str]
    names: re.Pattern[str]
    words: re.Pattern[str]
    kinds: frozenset[str]
    series: bool


@dataclass(frozen=True)
class AbsenceWords:
    """How texts say that a value is not known, and what could give one all the same."""

    quantities: tuple[Quantity, ...]
    goals: re.Pattern[str]
    plain_goals: re.Pattern[str]
    plain_times: re.Pattern[str]
    lossless: re.Pattern[str]
    times: re.Pattern[str]
    nouns: re.Pattern[str]
    says: tuple[re.Pattern[str], ...]
    instead: re.Pattern[str]
    cells: re.Pattern[str]

    def quantity(self, slot: str) -> Quantity:
        """Return what a slot holds."""
        return next(q for q in self.quantities if q.slots.search(slot))


def _load(name: str) -> Any:
    return packaged_yaml("engiagent.audit", f"{name}.yaml")


def bounded(text: str) -> re.Pattern[str]:
    """Return a pattern that begins and ends between words."""
    return re.compile(rf"(?<![a-z0-9-])(?:{text})(?![a-z0-9-])")


@lru_cache(maxsize=1)
def ranges() -> Ranges:
    """Return what is usual."""
    table = _load("ranges")
    words = table["references"]
    noun = rf"{words['determiners']} (?P<noun>(?:[a-z-]+ ){{0,3}}?{words['heads']})"
    return Ranges(
        {name: (float(low), float(high)) for name, (low, high) in table["prices"]["usual"].items()},
        str(table["prices"]["because"]).strip(),
        tuple(
            Ratio(
                r["component"], r["first"], r["second"], bool(r.get("product")), r["unit"],
                float(r["usual"][0]), float(r["usual"][1]), r["said"], str(r["because"]).strip(),
            )
            for r in table["ratios"]
        ),
        tuple(Confusion(c["given"], c["wanted"], c["meant"]) for c in table["confusions"]),
        bounded(rf"{words['verbs']}(?: (?:of|by|with|to|in))? {noun}"),
        bounded(rf"{noun}(?: [a-z-]+){{0,3}} (?:be|been|is|are) (?:never |not )?{words['verbs']}"),
    )  # fmt: skip


@lru_cache(maxsize=1)
def clash_words() -> ClashWords:
    """Return when two numbers for one property contradict each other."""
    table = _load("clashes")
    named = {name: bounded(text) for name, text in table["named"].items()}
    return ClashWords(bounded(table["others"]), named)


@lru_cache(maxsize=1)
def absence_words() -> AbsenceWords:
    """Return how texts say that a value is not known."""
    table = _load("absences")
    quantities = tuple(
        Quantity(
            re.compile(entry["slots"]),
            bounded(entry["names"]),
            bounded(entry["words"]),
            frozenset(entry["kinds"]),
            bool(entry.get("series")),
        )
        for entry in table["quantities"]
    )
    return AbsenceWords(
        quantities=quantities,
        goals=re.compile(table["goals"]),
        plain_goals=bounded(table["plain_goals"]),
        plain_times=re.compile(table["plain_times"]),
        lossless=bounded(table["lossless"]),
        times=re.compile(table["times"]),
        nouns=bounded(table["nouns"]),
        says=tuple(bounded(text) for text in table["says"]),
        instead=bounded(table["instead"]),
        cells=re.compile(table["cells"], re.I),
    )


@lru_cache(maxsize=1)
def flow_words() -> Mapping[str, Any]:
    """Return the patterns of flows; ``flows`` holds one pattern for each."""
    table = _load("flows")
    found: dict[str, Any] = {
        name: re.compile(text) if "◆" in text else bounded(text)
        for name, text in table.items()
        if isinstance(text, str)
    }
    found["flows"] = {name: bounded(text) for name, text in table["flows"].items()}
    return found
