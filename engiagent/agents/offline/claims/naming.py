"""What the units of a kind are called: by a table, an adjective, a letter, a name, a count."""

import re
from collections.abc import Sequence
from typing import Final

from engiagent.agents.offline.owners import identifier
from engiagent.agents.offline.plant.language.naming import _finder, _listed, plain_label
from engiagent.agents.offline.plant.units import pattern_of
from engiagent.agents.offline.tokens import Line

_ADJECTIVES: Final = (
    r"(?:large|small|larger|smaller|big|bigger|old|older|new|newer|middle|first|second|third"
    r"|north|south|east|west|left|right|strong|weak|stronger|weaker)"
)
_LETTER: Final = r"(?:[A-H]|[1-9]|I{1,3}|North|South|East|West|Old|New)"


def name_units(
    kind: str,
    nouns: str,
    lines: Sequence[Line],
    tabled: Sequence[tuple[str, tuple[str, ...]]],
    others: Sequence[str] = (),
) -> dict[str, re.Pattern[str]]:
    """Return the names of the units of a kind, each with a pattern that finds it.

    Parameters
    ----------
    kind, nouns
        The kind, and the pattern of what it is called.
    lines
        The text.
    tabled
        The labels of tables with the texts that may say what they are, nearest first.
    others
        The nouns of the other kinds: a label that one of them heads is none of this kind.
    """
    pattern = pattern_of(nouns)
    text = [line for line in lines if not line.sentence.is_heading]
    mentions = [(line, m) for line in text for m in pattern.finditer(line.line)]
    rest = [pattern_of(other) for other in others]
    labels = [label for label, over in tabled if _heads(pattern, rest, over)]
    if len(labels) > 1:
        found = dict.fromkeys(labels)
        return {identifier(label): tabled_finder(plain_label(label), nouns) for label in found}
    names = _by_adjectives(kind, nouns, text)
    if len(names) > 1:
        return names
    names = {}
    for line, match in mentions:
        raw = line.sentence.text
        more = rf"(?:(?:, ({_LETTER}))*,? and ({_LETTER}))?(?![\w-])"
        for place in re.finditer(rf"(?i:{re.escape(match[0])}) ({_LETTER}){more}", raw):
            for letter in filter(None, place.groups()):
                low = letter.lower()
                alone = "" if low in "ai123456789" else f"|{low}(?= )"  # 'a' is an article
                finder = pattern_of(rf"(?:{nouns}) {low}{alone}")
                names[identifier(f"{kind} {letter}")] = finder
    if len(names) > 1:
        return names
    listed = list(dict.fromkeys(_listed(pattern, mentions)))
    if len(listed) > 1:
        return {identifier(name): _finder(plain_label(name)) for name in listed}
    count = _count(mentions)
    if count > 1:
        return {f"{kind}_{k}": re.compile(r"(?!)x") for k in range(1, count + 1)}
    return {kind: pattern} if mentions else {}


def tabled_finder(label: str, nouns: str) -> re.Pattern[str]:
    """Return a pattern that finds a row's label; a letter or a number alone needs its noun."""
    if len(label) < 2 or label.isdigit():
        return pattern_of(rf"(?:{nouns}) {re.escape(label)}")
    return _finder(label)


def _by_adjectives(kind: str, nouns: str, text: Sequence[Line]) -> dict[str, re.Pattern[str]]:
    """Return units such as 'the big pump', also where the text calls another 'the small one'."""
    words: dict[str, bool] = {}
    for line in text:
        for match in re.finditer(
            rf"(?<![a-z-])({_ADJECTIVES}) ((?:{nouns})|one)(?![a-z0-9-])", line.line
        ):
            words[match[1]] = words.get(match[1], False) or match[2] != "one"
    if not any(words.values()):
        return {}
    return {f"{word}_{kind}": pattern_of(rf"{word} (?:{nouns}|one)") for word in words}


def _heads(pattern: re.Pattern[str], rest: Sequence[re.Pattern[str]], over: Sequence[str]) -> bool:
    """Whether the nearest text that says what a label is speaks of this kind."""
    for text in over:
        plain = plain_label(text)
        own = pattern.search(plain)
        if own is not None and own.start() == 0:
            return True
        other = any(p.search(plain) for p in rest)
        if own is not None and not other:
            return True
        if other:
            return False
    return False


def _count(mentions: Sequence[tuple[Line, re.Match[str]]]) -> int:
    """Return how many identical units the text says that there are."""
    counts = set()
    for line, match in mentions:
        place = line.token_at(match.start())
        for k in (place - 1, place - 2, place - 3):
            amount = line.tokens[k].amount if k >= 0 else None
            if amount is not None and not amount.unit and 2 <= amount.value <= 12:
                counts.add(round(amount.value))
    return counts.pop() if len(counts) == 1 else 1
