"""The card of a domain: its nouns, its words, and the claims that a piece of a text may make."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final

from engiagent.agents.offline.cards import load_card
from engiagent.agents.offline.plant.language.words import NEUTRAL, Vocabulary, _compiled, concepts

GOAL: Final = "+goal"
"""Stands for what a question or an objective of the domain may speak of."""


@dataclass(frozen=True)
class Claim:
    """Something that a piece of a text may say.

    Attributes
    ----------
    about
        The kind of unit that it is said of; empty where it needs none.
    needs
        Sets of concepts, one of which has to be there.
    may
        What may stand beside them.
    numbers
        The amounts that it takes, by name, with the kinds that each may be of.
    bounds
        How its amount may be limited: ``value``, ``lower``, ``upper``, ``exact``.
    points
        Whether times of the day beside it name the periods in which it holds.
    only
        Where it may stand: ``text``, ``table``, ``column``; empty for all.
    bare
        Whether its amount may stand alone behind another one on the same unit: ', 22 kW'.
    strange
        Whether its subject may be anything: 'the cows take 2 m3/h'.
    sure
        Whether its amount can be of no other unit, so that it needs no mention of its own.
    asks
        Whether it is a question: only in a sentence that ends as one, or asks for something.
    """

    name: str
    about: str
    needs: tuple[frozenset[str], ...]
    may: frozenset[str]
    numbers: tuple[tuple[str, frozenset[str]], ...]
    bounds: frozenset[str]
    points: bool
    only: frozenset[str]
    bare: bool = False
    strange: bool = False
    asks: bool = False
    sure: bool = False


@dataclass(frozen=True)
class Domain:
    """A card, compiled.

    Attributes
    ----------
    loose
        Concepts that a piece without numbers may hold without asking for anything.
    """

    name: str
    units: Mapping[str, str]
    words: Vocabulary
    claims: tuple[Claim, ...]
    loose: frozenset[str]


@lru_cache(maxsize=8)
def domain(name: str) -> Domain:
    """Return a domain by the name of its card."""
    base, own = load_card("claims"), load_card(f"claims_{name}")
    units = {kind: _flat(text) for kind, text in own["units"].items()}
    common = dict(concepts())
    entries = [(f"@{kind}", text) for kind, text in units.items()]
    entries += [(key, _flat(text)) for key, text in own["concepts"].items()]
    entries += [
        (key, _flat(text))
        for key, text in base["concepts"].items()
        if key == NEUTRAL or key not in own["concepts"]
    ]
    given = {key for key, _ in entries} | {
        word for text in (own.get("without", ""),) for word in text.split()
    }
    more: dict[str, str] = {}
    for card in (base, own):
        for key, text in card["concepts"].items():
            if key.endswith("+"):
                more[key] = "|".join(filter(None, (more.get(key, ""), _flat(text))))
    entries = [(key, text) for key, text in entries if key not in more]
    for key in str(base["borrowed"]).split():
        if key not in given:
            added = more.get(f"{key}+", "")
            entries.append((key, f"{common[key]}|{added}" if added else common[key]))
    neutral = frozenset(str(base["neutral"]).split()) | frozenset(
        str(own.get("neutral", "")).split()
    )
    goal = frozenset(str(own["goal"]).split())
    return Domain(
        name,
        units,
        Vocabulary(_compiled(tuple(entries)), neutral),
        tuple(_claim(entry, goal) for entry in (*base["claims"], *own["claims"])),
        frozenset(str(base["loose"]).split()) | frozenset(str(own.get("loose", "")).split()),
    )


def with_units(card: Domain, units: Mapping[str, str]) -> Domain:
    """Return a domain in which units are called otherwise as well."""
    own = _compiled(tuple((f"@{kind}", text) for kind, text in units.items()))
    words = Vocabulary((*own, *card.words.phrases), card.words.neutral)
    return replace(card, units=units, words=words)


def _flat(text: str) -> str:
    return str(text).replace("|\n", "|").strip()


def _claim(entry: Mapping[str, Any], goal: frozenset[str]) -> Claim:
    numbers = entry.get("numbers", {})
    may = frozenset(str(entry.get("may", "")).split())
    if GOAL in may:
        may = may - {GOAL} | goal
    named = numbers if isinstance(numbers, Mapping) else {"value": numbers}
    return Claim(
        str(entry["claim"]),
        str(entry.get("about", "")),
        tuple(frozenset(str(text).split()) for text in entry["needs"]),
        may,
        tuple((key, frozenset(str(kinds).split())) for key, kinds in named.items()),
        frozenset(str(entry.get("bounds", "value")).split()),
        bool(entry.get("points", False)),
        frozenset(str(entry.get("only", "")).split()),
        bool(entry.get("bare", False)),
        bool(entry.get("strange", False)),
        bool(entry.get("asks", False)),
        bool(entry.get("sure", False)),
    )
