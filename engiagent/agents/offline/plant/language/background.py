"""Clauses that change nothing: who wants it and why, what things are like, what happens elsewhere.

A clause is background when nothing in it can enter the model: no number and no time of the day, no
unit and no quantity that the cards know, and no words of obligation. What is said of 'it', or of
'the machine', may be said of a unit; such a clause is background only where it sets no limit.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final

from engiagent.agents.offline.plant.language.statements import stated
from engiagent.agents.offline.plant.language.weight import plainly_nothing
from engiagent.agents.offline.plant.language.words import NEUTRAL, THING, UNKNOWN, Marked, group
from engiagent.agents.offline.tokens import Token

PLAIN: Final = frozenset({"word", "mark", "tz", "date"})
_OBLIGES: Final = frozenset({"must", "limit", "exact", "keep", "same", "exclusive"})
_JOINTS: Final = frozenset({",", ";", ":", "(", ")", "and", "but", "-"})


@dataclass(frozen=True)
class Scenery:
    """The closed classes of words that tell background from requirements; see ``words.yaml``."""

    reasons: re.Pattern[str]
    verbs: frozenset[str]
    auxiliaries: frozenset[str]
    generic: frozenset[str]
    doubtful: frozenset[str]
    loose: frozenset[str]
    quantities: frozenset[str]
    pronouns: frozenset[str]
    subjects: frozenset[str]
    demands: Mapping[str, str]


@lru_cache(maxsize=1)
def scenery() -> Scenery:
    """Return the words of the cards."""
    from engiagent.agents.offline.cards import load_card

    card = load_card("background")
    verbs = str(card["verbs"]).split()
    return Scenery(
        re.compile(rf"(?:{' '.join(str(card['reasons']).split())})(?![a-z'-])".replace("| ", "|")),
        frozenset(form for verb in verbs for form in _forms(verb)),
        frozenset(str(card["auxiliaries"]).split()),
        frozenset(str(card["generic"]).split()),
        frozenset(str(card["doubtful"]).split()),
        frozenset(str(card["loose"]).split()),
        frozenset(str(card["quantities"]).split()),
        frozenset(str(card["pronouns"]).split()),
        frozenset(str(card["subjects"]).split()),
        {verb: concept for concept, verbs in card["demands"].items() for verb in verbs.split()},
    )


def _forms(verb: str) -> tuple[str, ...]:
    """Return a verb with its regular endings; irregular forms stand in the card themselves."""
    stem = verb.removesuffix("e")
    third = f"{verb[:-1]}ies" if re.search(r"[^aeiou]y$", verb) else f"{verb}s"
    past = f"{verb[:-1]}ied" if re.search(r"[^aeiou]y$", verb) else f"{stem}ed"
    return verb, third, f"{verb}es", past, f"{stem}ing"


def says_nothing(marked: Marked, first: int, last: int, reasoned: bool = False) -> bool:
    """Whether a clause without numbers speaks only of things that are no part of any model.

    Parameters
    ----------
    marked
        The line.
    first, last
        The tokens of the clause.
    reasoned
        Whether a word of reason stands before it; else its verb has to be one of people and things.
    """
    tokens = marked.line.tokens[first:last]
    if not tokens or any(token.kind not in PLAIN for token in tokens):
        return False
    said = marked.said(first, last)
    known = scenery()
    generic = tokens[0].text in ("a", "an")
    if generic and said - {"not", "always"} == {marked.concepts[first + 1]}:
        said -= {marked.concepts[first + 1]}  # 'a rotor never rests' is said of all rotors
    if said - known.loose or not any(c == UNKNOWN for c in marked.concepts[first:last]):
        return False
    if "may" in said and said & {"not", "only"}:
        return False
    words = {token.text for token in tokens if token.kind == "word"}
    if words & known.quantities:
        return False
    if not plainly_nothing(marked, first, last):
        return False
    if said and not (generic or reasoned) and not words & (known.verbs - known.auxiliaries):
        return False  # 'cooking may be put off' tells of nobody
    return not (said and words & (known.pronouns | known.generic))


def gives_reason(marked: Marked, first: int, last: int) -> bool:
    """Whether a clause begins with a word of reason or relation and sets no limit.

    'Because the cells are old' may name what the model has; it must not say what its state is, or
    what it may do.
    """
    tokens = marked.line.tokens[first:last]
    if any(token.kind not in PLAIN for token in tokens):
        return False
    words = [t.text for t in tokens]
    match = scenery().reasons.match(" ".join(words))
    if match is None:
        return False
    if match[0].startswith("or "):
        # What follows from breaking a rule: "or we pay a fine" may be a price, and no reason.
        quiet = tuple(NEUTRAL if c == "orterm" else c for c in marked.concepts)
        return says_nothing(Marked(marked.line, quiet, marked.joints), first, last, reasoned=True)
    behind = first + len(match[0].split())
    if says_nothing(marked, first, last) or (
        behind < last and says_nothing(marked, behind, last, reasoned=True)
    ):
        return True
    said = marked.said(behind, last)
    if said & (_OBLIGES | group("binding") | group("triggers") | {"may"}):
        return False
    return stated(said) is None


def asides(marked: Marked, first: int, last: int) -> list[tuple[int, int]]:
    """Return the pieces of a clause with numbers that say nothing themselves.

    Such a piece stands between commas, brackets or joints, and is a reason, a relative clause or a
    sentence of its own on things that nothing knows.
    """
    tokens = marked.line.tokens
    found = _brackets(marked, first, last)
    edges = [first, *(i for i in range(first + 1, last) if _parts(tokens, i)), last]
    for a, b in pairwise(edges):
        start = a
        while start < b and tokens[start].text in _JOINTS:
            start += 1
        if start == b or not _ends(tokens, b, last):
            continue
        own = start == first or tokens[start - 1].text in _JOINTS or _reasoned(tokens, start)
        if own and (
            gives_reason(marked, start, b)
            or _of_a_time(marked, start, b)
            or _lets_trade(marked, start, b, last)
            or (_is_sentence(tokens, start, b) and says_nothing(marked, start, b))
        ):
            found.append((a, b))
    return found


def _brackets(marked: Marked, first: int, last: int) -> list[tuple[int, int]]:
    """Return brackets behind a word that only name things that nothing knows."""
    tokens = marked.line.tokens
    found, start = [], None
    for i in range(first, last):
        if tokens[i].text == "(":
            start = i
        elif tokens[i].text == ")" and start is not None:
            # 'an oil pump' is a pump that nothing knows, and no oil
            inside = [
                c for k, c in enumerate(marked.concepts[start + 1 : i], start + 1)
                if not ((c == "fuel" or c[0] == "@") and marked.concepts[k + 1] == UNKNOWN)
            ]  # fmt: skip
            words = {t.text for t in tokens[start + 1 : i]}
            short = 0 < i - start - 1 <= 6 and not words & scenery().quantities
            if short and UNKNOWN in inside and set(inside) <= {UNKNOWN, NEUTRAL}:
                found.append((start, i + 1))
            start = None
    return found


def _parts(tokens: Sequence[Token], i: int) -> bool:
    return tokens[i].text in _JOINTS or _reasoned(tokens, i)


def _reasoned(tokens: Sequence[Token], i: int) -> bool:
    text = " ".join(t.text for t in tokens[i : i + 5] if t.kind == "word")
    return tokens[i].kind == "word" and scenery().reasons.match(text) is not None


def _ends(tokens: Sequence[Token], b: int, last: int) -> bool:
    """Whether a piece ends where another begins, and not in the middle of a list."""
    return b == last or tokens[b].text in _JOINTS or _reasoned(tokens, b)


def _of_a_time(marked: Marked, first: int, last: int) -> bool:
    """Whether a piece behind a comma tells what happens at the time that stands before it.

    'At midnight, when the crew returns' says nothing more than 'at midnight'.
    """
    tokens = marked.line.tokens
    if tokens[first].text not in ("when", "where") or first < 2 or tokens[first - 1].text != ",":
        return False
    before = tokens[first - 2]
    timed = before.kind in ("clock", "date", "period") or before.text in ("day", "midnight")
    said = marked.said(first, last) - {"cond"}
    said -= {"arrive", "depart"} if UNKNOWN in marked.concepts[first:last] else set()
    plain = all(token.kind in PLAIN for token in tokens[first:last])
    return timed and plain and not said and _is_sentence(tokens, first + 1, last)


_TRADES: Final = re.compile(
    r"(?:may|can|is free to|is allowed to|is to|will)(?: now| also)? (?:trade|be traded|earn money"
    r"|take part|join the market|be used to trade)(?![a-z])"
)


def _lets_trade(marked: Marked, first: int, last: int, end: int) -> bool:
    """Whether a piece tells since when, or while what, a unit may trade, as it does in the plan.

    'While the ship is in dock, her 2 MWh pack may trade': the plan is about that time.
    """
    tokens = marked.line.tokens
    leads = tokens[first].text in ("while", "during", "as", "now", "since")
    plain = all(token.kind in PLAIN for token in tokens[first:last])
    said = marked.said(first, last) - {"cond", "keep", "same"}
    if not leads or not plain or said or UNKNOWN not in marked.concepts[first:last]:
        return False
    if scenery().quantities & {t.text for t in tokens[first:last]}:
        return False
    rest = marked.said(last, end) - {"may"}
    text = " ".join(t.text for t in tokens[last:end] if t.kind == "word")
    return _TRADES.search(text) is not None and all(c.startswith("@") for c in rest)


_HAPPENS: Final = re.compile(
    r"(?:while|as long as|whenever|when) (?:the |our )?"
    r"(?:[a-z]+s|people|children|staff|choir|orchestra|team|audience|class|school)"
    r" [a-z]+(?: [a-z]+)? "
)


def of_a_period(marked: Marked, first: int, last: int) -> list[int]:
    """Return the words that tell what happens at the times that stand right behind them.

    'While clubs train, from 16:00 to 22:00, …' says nothing more than 'from 16:00 to 22:00, …'.
    """
    tokens = marked.line.tokens
    for i in range(first, last):
        if marked.concepts[i] != "cond" or (i > first and tokens[i - 1].text not in (",", ":")):
            continue
        end = next((k for k in range(i, last) if tokens[k].text == ","), last)
        behind = next((k for k in range(end + 1, last) if tokens[k].text == ","), last)
        times = [k for k in range(end, behind) if tokens[k].kind == "period"]
        text = "".join(f"{t.text} " for t in tokens[i:end])
        plain = all(token.kind == "word" for token in tokens[i:end])
        said = marked.said(i, end) - {"cond", "gain"}
        numbers = any(t.amount is not None for t in tokens[end:behind])
        if plain and not said and len(times) == 1 and not numbers and _HAPPENS.fullmatch(text):
            return list(range(i, end))
    return []


def _is_sentence(tokens: Sequence[Token], first: int, last: int) -> bool:
    """Whether a piece has a subject of its own and a verb of those that say nothing of a plant."""
    words = [t.text for t in tokens[first:last] if t.kind == "word"]
    if len(words) < 3 or words[0] not in scenery().subjects:
        return False
    places = [k for k, word in enumerate(words) if word in scenery().verbs]
    return any(1 <= k <= 5 for k in places)


def cost_labels(marked: Marked, first: int, last: int) -> list[int]:
    """Return the words for what money is paid: '12 EUR for the contactors each time …'."""
    tokens = marked.line.tokens
    found = []
    for i in range(first, last - 2):
        amount = tokens[i].amount
        if amount is None or amount.kind != "money" or tokens[i + 1].text != "for":
            continue
        k = i + 2
        k += tokens[k].text in ("the", "its", "their", "a")
        if k < last and marked.concepts[k] == UNKNOWN:
            found.append(k)
    return found


def demanded(marked: Marked, first: int, last: int) -> Marked:
    """Return a line in which who demands something is quiet, and the demand is an obligation.

    'The insurer wants the content kept above 5 kWh' obliges; 'the kiln wants 5 kW' is a load of
    something that nothing knows.
    """
    tokens = marked.line.tokens
    known = scenery()
    for i in range(first + 1, min(first + 8, last - 1)):
        before = marked.concepts[first:i]
        if any(c not in (NEUTRAL, UNKNOWN) for c in before) or tokens[i].kind != "word":
            break
        concept = known.demands.get(tokens[i].text)
        if concept is None or UNKNOWN not in before or tokens[first].text not in known.subjects:
            continue
        ahead = [c for c in marked.concepts[i + 1 : i + 6] if c not in (NEUTRAL, UNKNOWN)]
        if not ahead or ahead[0] == THING or tokens[i + 1].kind != "word":
            break
        found = list(marked.concepts)
        found[first:i] = [NEUTRAL] * (i - first)
        found[i] = concept
        return Marked(marked.line, tuple(found), marked.joints, marked.phrased)
    return marked


def described(marked: Marked, only: frozenset[str], first: int, last: int) -> list[int]:
    """Return unknown words that only describe a unit of which there is one.

    'The demonstration battery' is the battery; ``only`` are the kinds of units with one instance.
    """
    found = []
    tokens = marked.line.tokens
    for i in range(first, last - 1):
        nextby = marked.concepts[i + 1]
        before = tokens[i - 1].text if i else ""
        word = tokens[i].text
        names = (
            nextby.startswith("@")
            and nextby[1:] in only
            and before in ("the", "our", "a", "an", "my", "this")
            and word not in scenery().doubtful
            and not re.search(r"(?:ed|ing|'s|s')$", word)
        )
        if marked.concepts[i] == UNKNOWN and (names or _owns(marked, only, first, i)):
            found.append(i)
    return found


def _owns(marked: Marked, only: frozenset[str], first: int, i: int) -> bool:
    """Whether an unknown word only says whose the one unit of a kind is: 'the plant of a dairy'."""
    tokens = marked.line.tokens
    if i - 3 < first or tokens[i - 2].text != "of" or tokens[i - 1].text not in _ARTICLES:
        return False
    before = [c for c in marked.concepts[max(first, i - 6) : i - 2] if c != NEUTRAL]
    unit, after = before[-1] if before else "", marked.concepts[i + 1]
    plain = tokens[i].text not in scenery().doubtful and after != UNKNOWN
    return unit.startswith("@") and unit[1:] in only and plain


_ARTICLES: Final = frozenset({"a", "an", "the", "our", "my", "their"})


def quieted(marked: Marked, places: Sequence[int]) -> Marked:
    """Return a line in which some words say nothing; numbers and times stay what they are."""
    away = set(places)
    return Marked(
        marked.line,
        tuple(NEUTRAL if i in away and c != THING else c for i, c in enumerate(marked.concepts)),
    )
