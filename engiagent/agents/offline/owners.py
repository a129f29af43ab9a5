"""Which components the text speaks of, what they are called, and which one a number belongs to."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from engiagent.agents.offline.cards import Card, lexicon
from engiagent.agents.offline.tokens import Line

_NEGATION: Final = re.compile(
    r"(?:no|not|without|neither|nor|none|never|isn't|lacks?|former|instead of)"
    r"(?: (?:an?|any|the|other|additional|own|active|mechanical))*(?: [a-z-]+)?"
    r"(?: (?:or|nor|and))? $"
)
_NUMBERED: Final = (
    r"(?P<name>(?:[a-d]|[1-9]|i{1,3}|north|south|east|west|one|two|three|large|small|old|new))"
)
_PRONOUN: Final = re.compile(r"(?:it|its|they|their|both|the unit|the device)(?![a-z])")
_GENERIC_ZONES: Final = frozenset(
    [
        "zone",
        "room",
        "building",
        "house",
        "home",
        "indoor",
        "indoors",
        "inside",
        "interior",
        "air",
        "shop",
        "flat",
        "apartment",
    ]
)


@dataclass(frozen=True)
class Owners:
    """The components of a problem.

    Attributes
    ----------
    present
        Kinds of components that the text speaks of.
    names
        For each kind the names of its instances, and a pattern that finds each.
    """

    present: frozenset[str]
    names: Mapping[str, Mapping[str, re.Pattern[str]]] = field(default_factory=dict)

    def instances(self, component: str) -> tuple[str, ...]:
        """Return the names of a kind's instances; empty when the text does not speak of it."""
        return tuple(self.names.get(component, {}))


def mentioned(lines: list[Line], card: Card) -> bool:
    """Whether the text speaks of a component other than to deny it."""
    for line in lines:
        for match in card.nouns.finditer(line.line):
            if not _NEGATION.search(line.line[: match.start()]):
                return True
    return False


def identifier(text: str) -> str:
    """Return a name that expressions can use: ``Hall (south)`` becomes ``hall_south``."""
    plain = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")
    return plain if re.match(r"[a-z]", plain) else f"unit_{plain}" if plain else "unit"


def find_names(lines: list[Line], card: Card, given: tuple[str, ...]) -> dict[str, re.Pattern[str]]:
    """Return the instances of a kind: from tables, from numbering, or a single one."""
    if len(given) > 1:
        return {name: _finder(name) for name in given}
    numbered: dict[str, str] = {}
    heads = re.compile(rf"(?<![a-z0-9-])(?P<noun>{card.nouns.pattern}) {_NUMBERED}(?![a-z0-9-])")
    for line in lines:
        for match in heads.finditer(line.line):
            label = match["name"]
            if re.fullmatch(r"[a-d]|\d|i{1,3}", label):
                if label == "a" and not re.search(
                    rf"{re.escape(match['noun'])} a(?![a-z0-9-])",
                    line.sentence.text.lower(),
                ):
                    continue
                if label == "a" and f"{match['noun']} A" not in _cased(line):
                    continue
                numbered[identifier(match[0])] = match[0]
    if len(numbered) > 1:
        return {name: _finder(text) for name, text in sorted(numbered.items())}
    return {}


def _cased(line: Line) -> str:
    """Return the sentence with nouns in lower case and single letters as they are."""
    return re.sub(r"[A-Za-z]{2,}", lambda m: m[0].lower(), line.sentence.text)


def zone_names(lines: list[Line]) -> dict[str, re.Pattern[str]]:
    """Return the rooms that own a heat capacity, when there are several in the running text."""
    card = lexicon().cards["zone"]
    found: list[str] = []
    for line in lines:
        places = [m.start() for m in re.finditer(r"<heat_capacity#\d+>", line.line)]
        nouns = [m for m in card.nouns.finditer(line.line) if m[0] not in _GENERIC_ZONES]
        if not nouns:
            continue
        if len(places) > 1 and "respectively" in line.line and len(nouns) >= len(places):
            found += [m[0] for m in nouns[: len(places)]]
            continue
        for place in places:
            before = [m for m in nouns if m.end() <= place]
            after = [m for m in nouns if m.start() > place]
            chosen = before[-1] if before else after[0]
            found.append(chosen[0])
    unique = list(dict.fromkeys(found))
    return {identifier(n): _finder(n) for n in unique} if len(unique) > 1 else {}


def _finder(name: str) -> re.Pattern[str]:
    words = re.escape(re.sub(r"[_\s]+", " ", name.lower())).replace(r"\ ", "[ -]")
    return re.compile(rf"(?<![a-z0-9-])(?:{words})(?:'s|s)?(?![a-z0-9-])")


def topic(
    lines: list[Line], n: int, position: int, patterns: Mapping[str, re.Pattern[str]]
) -> str | None:
    """Return which of some things is spoken of at a place in a line.

    The nearest mention before the place in the sentence counts, then one behind it, then the
    sentence before in the same paragraph, the lead-in of the list, and the heading.
    """
    line = lines[n]
    here = _last(line.line[:position], patterns)
    if here is None and not _PRONOUN.match(line.line):
        here = _first(line.line[position:], patterns)
    if here is not None:
        return here
    sentence = line.sentence
    for k in range(n - 1, -1 if sentence.passage >= 0 else n - 1, -1):
        before = lines[k].sentence
        if before.is_heading or before.heading != sentence.heading:
            break
        if before.passage != sentence.passage and not sentence.is_item and k < n - 3:
            break
        found = _subject(lines[k].line, patterns)
        if found is not None:
            return found
    for text in (sentence.lead, sentence.heading):
        found = _last(re.sub(r"[^\w\s-]", " ", text.lower()), patterns)
        if found is not None:
            return found
    return _first(line.line[position:], patterns)


def _last(text: str, patterns: Mapping[str, re.Pattern[str]]) -> str | None:
    ends = [
        (m.end(), m.end() - m.start(), k) for k, p in patterns.items() for m in p.finditer(text)
    ]
    return max(ends)[2] if ends else None


def _first(text: str, patterns: Mapping[str, re.Pattern[str]]) -> str | None:
    starts = [
        (m.start(), m.start() - m.end(), k) for k, p in patterns.items() for m in p.finditer(text)
    ]
    return min(starts)[2] if starts else None


def _subject(text: str, patterns: Mapping[str, re.Pattern[str]]) -> str | None:
    return _first(text, patterns)


def component_patterns(owners: Owners) -> dict[str, re.Pattern[str]]:
    """Return the nouns of the components that the text speaks of."""
    return {name: card.nouns for name, card in lexicon().cards.items() if name in owners.present}
