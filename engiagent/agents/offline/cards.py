"""The cards: what the engine knows of components, phrases and prices, read from YAML files."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any

from engiagent.files import packaged_yaml

PROPER_MACRO = re.compile(r"\{([a-z_]+\d*)\}")


@dataclass(frozen=True)
class Pattern:
    """A phrase around an amount (◆), how telling it is, and when it counts."""

    score: int
    regex: re.Pattern[str]
    condition: str = ""


@dataclass(frozen=True)
class Slot:
    """One thing to be known of a component.

    Attributes
    ----------
    kinds
        What an amount must measure to fit.
    bounds
        Which limiting words fit: ``value`` (none), ``exact``, ``lower``, ``upper``.
    options
        What else the card says, by its name in the file.
    """

    component: str
    name: str
    kinds: tuple[str, ...]
    unit: str
    said: str
    low: float
    high: float
    range_unit: str
    bounds: tuple[str, ...]
    patterns: tuple[Pattern, ...]
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def required(self) -> bool:
        """Whether the component cannot do without it."""
        return bool(self.options.get("required"))


@dataclass(frozen=True)
class Card:
    """A kind of component."""

    component: str
    model: str
    nouns: re.Pattern[str]
    slots: Mapping[str, Slot]


@dataclass(frozen=True)
class Rule:
    """A phrase without a slot: a fact that it states."""

    fact: str
    regex: re.Pattern[str]


@dataclass(frozen=True)
class Lexicon:
    """All cards."""

    cards: Mapping[str, Card]
    rules: tuple[Rule, ...]
    modifiers: tuple[tuple[str, re.Pattern[str]], ...]
    prices: Mapping[str, tuple[Pattern, ...]]
    adders: re.Pattern[str]
    series: Mapping[str, tuple[tuple[str, ...], re.Pattern[str]]]
    objective: Mapping[str, re.Pattern[str]]
    targets: Mapping[str, re.Pattern[str]]
    scope: Mapping[str, re.Pattern[str]]
    background_kinds: frozenset[str]
    shares: tuple[tuple[str, re.Pattern[str]], ...]
    aliases: Mapping[str, Mapping[str, str]]
    start: re.Pattern[str]
    end: re.Pattern[str]


@cache
def load_card(name: str) -> Any:
    """Return what a file of cards says; it is read once, and not to be changed."""
    return packaged_yaml("engiagent.agents.offline", f"cards/{name}.yaml")


class _Macros:
    """Replaces ``{name}`` by the entry of that name, as deep as it takes."""

    def __init__(self, *tables: Mapping[str, str]) -> None:
        self.table = {key: value for table in tables for key, value in table.items()}

    def expand(self, text: str) -> str:
        for _ in range(6):
            replaced = PROPER_MACRO.sub(lambda m: self.table.get(m[1], m[0]), text)
            if replaced == text:
                return text
            text = replaced
        return text

    def compile(self, text: str, word: bool = False) -> re.Pattern[str]:
        body = self.expand(text)
        if word:
            body = rf"(?<![a-z0-9-])(?:{body})(?![a-z0-9-])"
        return re.compile(_distinct_groups(body))


def _distinct_groups(text: str) -> str:
    """Give every named group its own name, since a macro may stand twice in one pattern."""
    seen: dict[str, int] = {}

    def rename(match: re.Match[str]) -> str:
        count = seen[match[1]] = seen.get(match[1], -1) + 1
        return f"(?P<{match[1]}>" if count == 0 else f"(?P<{match[1]}_{count}>"

    return re.sub(r"\(\?P<([a-z0-9]+)>", rename, text)


def _patterns(entries: list[list[Any]], macros: _Macros) -> tuple[Pattern, ...]:
    return tuple(
        Pattern(
            int(e[0]), macros.compile(_bounded(_behind(str(e[1])))), str(e[2]) if len(e) > 2 else ""
        )
        for e in entries
    )


def _behind(pattern: str) -> str:
    """Words around an amount end where another statement begins, at 'and' or 'but'."""
    pattern = re.sub(r"◆ \{g(\d*)\}", r"◆ {a\1}", pattern)
    return re.sub(r"\{g(\d*)\}◆", r"{a\1}◆", pattern)


def _bounded(pattern: str) -> str:
    """Let a pattern begin and end between words."""
    head = "" if pattern.startswith("^") else "{b}"
    return f"{head}(?:{pattern.removeprefix('{b}')}){{e}}"


def _slot(component: str, name: str, entry: dict[str, Any], macros: _Macros) -> Slot:
    low, high = entry.get("range", [float("-inf"), float("inf")])
    known = {"kinds", "unit", "said", "range", "range_unit", "bounds", "patterns"}
    unit = str(entry.get("unit", ""))
    return Slot(
        component,
        name,
        tuple(entry["kinds"]),
        unit,
        str(entry.get("said", name.replace("_", " "))),
        float(low),
        float(high),
        str(entry.get("range_unit", "1" if unit == "%" else unit)),
        tuple(entry["bounds"]),
        _patterns(entry["patterns"], macros),
        {key: value for key, value in entry.items() if key not in known},
    )


def _card(entry: dict[str, Any], shared: Mapping[str, str]) -> Card:
    macros = _Macros(shared, entry.get("macros") or {})
    return Card(
        entry["component"],
        entry["model"],
        macros.compile(entry["nouns"], word=True),
        {
            name: _slot(entry["component"], name, slot, macros)
            for name, slot in entry["slots"].items()
        },
    )


_SCOPES = ("requirement", "condition", "command", "foreign")


@lru_cache(maxsize=1)
def lexicon() -> Lexicon:
    """Return all cards."""
    words, site, scope = load_card("lexicon"), load_card("site"), load_card("scope")
    objective, states = load_card("objective"), load_card("states")
    shared = words["macros"]
    macros = _Macros(shared)
    entries = [load_card("battery"), *site["cards"], *load_card("thermal")["cards"]]
    return Lexicon(
        {entry["component"]: _card(entry, shared) for entry in entries},
        tuple(Rule(r["fact"], macros.compile(_bounded(r["pattern"]))) for r in words["rules"]),
        tuple((str(k), macros.compile(_bounded(str(p)))) for k, p in words["modifiers"]),
        {role: _patterns(entries, macros) for role, entries in site["prices"].items()},
        macros.compile(site["adders"], word=True),
        {
            role: (tuple(entry["kinds"]), re.compile(rf"(?<![a-z])(?:{entry['words']})s?(?![a-z])"))
            for role, entry in site["series"].items()
        },
        {sense: macros.compile(objective[sense], word=True) for sense in ("minimise", "maximise")},
        {name: macros.compile(text, word=True) for name, text in objective["targets"].items()},
        {
            name: macros.compile(scope[name], word=True)
            for name in (*_SCOPES, "background_words", "strong_background")
        },
        frozenset(scope["background_kinds"]),
        tuple((share, macros.compile(text, word=True)) for share, text in states["shares"].items()),
        states["aliases"],
        macros.compile("{start}", word=True),
        macros.compile("{end}", word=True),
    )
