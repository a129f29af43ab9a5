"""Sentences as concepts: what each word of a line means, and which words nothing knows."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from engiagent.agents.offline.cards import load_card
from engiagent.agents.offline.tokens import Line
from engiagent.blueprint.units import CURRENCIES

NEUTRAL: Final = "~"
UNKNOWN: Final = "?"
THING: Final = "#"
_CARDS: Final = ("idioms", "words_everyday", "words_market", "words")
_WORD: Final = re.compile(r"[a-z][a-z0-9'-]*")


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """The phrases of all concepts, units included, and the neutral words."""

    phrases: tuple[tuple[str, re.Pattern[str]], ...]
    neutral: frozenset[str]


@dataclass(frozen=True)
class Marked:
    """A line with the concept of every token.

    Attributes
    ----------
    concepts
        A concept for each token: ``~`` for neutral words and marks, ``?`` for words that nothing
        knows, ``#`` for numbers, times and files; ``@chp`` names a unit.
    joints
        The tokens of whole phrases that change nothing, as 'day and night', and of names of units.
    phrased
        The tokens of all phrases that the cards know.
    """

    line: Line
    concepts: tuple[str, ...]
    joints: frozenset[int] = frozenset()
    phrased: frozenset[int] = frozenset()

    def unknown(self) -> list[str]:
        """Return the words that nothing knows."""
        pairs = zip(self.line.tokens, self.concepts, strict=True)
        return [token.text for token, concept in pairs if concept == UNKNOWN]

    def said(self, start: int = 0, stop: int | None = None) -> frozenset[str]:
        """Return the concepts between two tokens."""
        return frozenset(c for c in self.concepts[start:stop] if c not in (NEUTRAL, UNKNOWN, THING))


@lru_cache(maxsize=1)
def _cards() -> tuple[Mapping[str, Any], ...]:
    """Return the cards of words: the common one, and those that add to it."""
    return tuple(load_card(name) for name in _CARDS)


@lru_cache(maxsize=1)
def concepts() -> tuple[tuple[str, str], ...]:
    """Return the phrases of the concepts that are no units, by card."""
    return tuple(
        (name, text.replace("|\n", "|").strip())
        for card in _cards()
        for name, text in card["concepts"].items()
    )


@lru_cache(maxsize=1)
def neutral() -> frozenset[str]:
    """Return the words that change no meaning; none that counts, compares or limits is one."""
    cards = (*_cards(), load_card("rooms"))
    words = (word for card in cards for word in str(card.get("neutral", "")).split())
    return frozenset(words) - frozenset(str(load_card("background")["bearing"]).split())


@lru_cache(maxsize=8)
def group(name: str) -> frozenset[str]:
    """Return a group of concepts, as those that a later piece of a sentence inherits."""
    apart = (load_card(name) for name in ("feeder", "community", "voyage"))
    cards = (*_cards(), *apart)
    texts = (str(card.get("groups", {}).get(name, "")) for card in cards)
    return frozenset(word for text in texts for word in text.split())


@lru_cache(maxsize=1)
def exclusive() -> tuple[frozenset[str], ...]:
    """Return groups of concepts of which a number is about one."""
    return tuple(frozenset(str(g).split()) for card in _cards() for g in card.get("exclusive", ()))


@lru_cache(maxsize=2)
def card_words(scope: bool = True) -> frozenset[str]:
    """Return every word that stands in the cards of phrases, numbers' slots and scope.

    ``scope`` False leaves out the words that may not be passed over.
    """
    own = ("lexicon", "battery", "thermal", "site", "states", "objective")
    names = (*own, *(("scope",) if scope else ()))
    texts = (str(load_card(name)) for name in names)
    return frozenset(word for text in texts for word in re.findall(r"[a-z][a-z'-]+", text.lower()))


def _compiled(entries: tuple[tuple[str, str], ...]) -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((name, _phrases(text)) for name, text in entries)


@lru_cache(maxsize=4096)
def _phrases(text: str) -> re.Pattern[str]:
    """Return a pattern for alternatives as words of their own."""
    return re.compile(rf"(?<![a-z0-9'-])(?:{longest_first(text)})(?![a-z0-9'-])")


def vocabulary(nouns: Mapping[str, str], first: Mapping[str, str] | None = None) -> Vocabulary:
    """Return the vocabulary with the nouns of units, as ``{"chp": "chp|cogeneration unit"}``.

    ``first`` are concepts that come before those of the card of words.
    """
    return _vocabulary(tuple(nouns.items()), tuple((first or {}).items()))


@lru_cache(maxsize=64)
def _vocabulary(
    nouns: tuple[tuple[str, str], ...], first: tuple[tuple[str, str], ...]
) -> Vocabulary:
    entries = [(f"@{unit}", text) for unit, text in nouns]
    entries += [(name, text.replace("|\n", "|")) for name, text in first]
    common = load_card("rooms")["common"]
    entries += [(name, text.replace("|\n", "|")) for name, text in common.items()]
    entries += concepts()
    return Vocabulary(_compiled(tuple(entries)), neutral())


def longest_first(text: str) -> str:
    """Return alternatives in an order in which a long one is tried before a short one in it."""
    parts, depth, start = [], 0, 0
    for i, letter in enumerate(text):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if letter == "|" and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    parts.append(text[start:])
    return "|".join(sorted(parts, key=len, reverse=True))


def mark(line: Line, words: Vocabulary, extra: Mapping[int, str] | None = None) -> Marked:
    """Return a line with its concepts; ``extra`` gives those of single tokens."""
    result = [_plain(line, i, words) for i in range(len(line.tokens))]
    claimed: set[int] = set()
    joints: set[int] = set()
    for length, _, start, name in _phrases_in(line.line, words):
        covered = line.covered(start, start - length)
        if any(i in claimed or result[i] == THING for i in covered):
            continue
        claimed.update(covered)
        joints.update(covered if name == NEUTRAL or name.startswith("@") else ())
        for i in covered:
            result[i] = NEUTRAL
        result[covered[0]] = name
    for i, name in (extra or {}).items():
        result[i] = name
    return Marked(line, tuple(result), frozenset(joints), frozenset(claimed))


@lru_cache(maxsize=1024)
def _phrases_in(text: str, words: Vocabulary) -> tuple[tuple[int, int, int, str], ...]:
    """Return the phrases in a line, the longest first: length below zero, order, start, concept.

    Every step of a reading asks this of the same lines again.
    """
    found = [
        (match.start() - match.end(), order, match.start(), name)
        for order, (name, pattern) in enumerate(words.phrases)
        for match in pattern.finditer(text)
        if match.end() > match.start()
    ]
    return tuple(sorted(found))


def _plain(line: Line, i: int, words: Vocabulary) -> str:
    token = line.tokens[i]
    if token.kind == "mark":
        return NEUTRAL
    if token.kind != "word":
        return THING
    plain = token.text.removesuffix("'s")
    if plain in words.neutral or plain.rstrip("s") in words.neutral:
        return NEUTRAL
    if len(token.text) == 1 or token.text.isdigit() or token.text.upper() in CURRENCIES:
        return NEUTRAL
    return NEUTRAL if _is_name(line, i) else UNKNOWN


def _is_name(line: Line, i: int) -> bool:
    """Whether a word is written as a name: with a capital, and not at the start of a sentence."""
    span = line.tokens[i].span
    start = line.sentence.span[0]
    raw = line.sentence.text[span[0] - start : span[1] - start]
    return i > 0 and span[0] > start and raw[:1].isupper() and raw[1:2].islower()
