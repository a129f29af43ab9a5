"""What the units of one kind are called: by tables, lists, letters, adjectives or their order."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from engiagent.agents.offline.amounts import Amount
from engiagent.agents.offline.owners import identifier
from engiagent.agents.offline.plant.units import Instance, Unit, flexible, pattern_of
from engiagent.agents.offline.tokens import Line

_LABEL: Final = (
    r"(?:[a-h]|[1-9]|i{1,3}|one|two|three|north|south|east|west|large|small|old|new|left|right)"
)
_ADJECTIVE: Final = (
    r"(?:large|small|larger|smaller|big|old|older|new|newer|first|second|third|north|south"
    r"|east|west|left|right|main|spare)"
)


def mentions_in(
    text: str, patterns: Mapping[str, re.Pattern[str]]
) -> list[tuple[str, re.Match[str]]]:
    """Return the units that a text mentions with their places, the longest nouns first."""
    found = [(c, m) for c, p in patterns.items() for m in p.finditer(text)]
    found.sort(key=lambda pair: pair[1].start() - pair[1].end())
    kept: list[tuple[str, re.Match[str]]] = []
    for component, match in found:
        if all(match.end() <= m.start() or m.end() <= match.start() for _, m in kept):
            kept.append((component, match))
    return kept


def instances_of(
    unit: Unit, mentions: Sequence[tuple[Line, re.Match[str]]], tabled: Sequence[str]
) -> list[Instance]:
    """Return the units of one kind: from tables, numbered, told apart by a word, or one."""
    pattern = pattern_of(unit.nouns)
    named = {identifier(label): label for label in (*tabled, *_listed(pattern, mentions))}
    labels = list(named.values())
    if len(labels) > 1:
        tabled_units = [
            Instance(identifier(t), unit, _finder(plain_label(t)), plain_label(t)) for t in labels
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


def labels_for(
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
        kinds = {c for c, _ in mentions_in(plain_label(label), patterns)}
        for text in over if not kinds else ():
            kinds = {c for c, _ in mentions_in(plain_label(text), patterns)}
            if kinds:
                break
        kinds = kinds if len(kinds) == 1 else set()
        if component in kinds:
            found.append(label)
    return found


_NAME: Final = r"[A-Z][A-Za-z]{0,3}[- ]?\d{1,2}"
_PROPER: Final = r"[A-Z][a-z]{2,}"
_PROPERS: Final = re.compile(
    rf",? (?:called |named |\()?({_PROPER}(?:, {_PROPER})*,? and {_PROPER})(?= ?[,.;:)]|$)"
)
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
            proper = _PROPERS.match(text, match.end())
            if proper is not None:
                found += re.findall(_PROPER, proper[1])
    return found


def _is_label(line: Line, match: re.Match[str]) -> bool:
    if match[1] != "a":
        return re.fullmatch(r"[a-h]|\d|i{1,3}|one|two|three", match[1]) is not None
    token = line.tokens[line.token_at(match.start(1))]
    raw = line.sentence.text[token.span[0] - line.sentence.span[0] :]
    return raw.startswith("A")


def plain_label(text: str) -> str:
    """Return a label as plain words."""
    return re.sub(r"[^a-z0-9-]+", " ", text.lower()).strip()


def _finder(text: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![a-z0-9-]){flexible(text)}(?![a-z0-9-])")
