"""Amounts into slots by what is said around them, whatever the order of the words.

A sentence is cut between its amounts so that every piece says what one amount is. A piece fits a
slot when all concepts that the slot needs are there and all that are there are ones it may have: a
word too many leaves the sentence not understood.
"""

import re
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from engiagent.agents.offline.cards import Slot
from engiagent.agents.offline.plant.language.words import NEUTRAL, THING, Marked, exclusive, group
from engiagent.agents.offline.plant.units import Plant

LINKS: Final = frozenset({"and", "to", "-", "or"})
_ANYWHERE: Final = frozenset({"may", "@zone", "plate"})
_MOST_GAP: Final = 14


@dataclass(frozen=True)
class Item:
    """One amount, or the two ends of a range, by their tokens."""

    tokens: tuple[int, ...]


@dataclass(frozen=True)
class Found:
    """A slot that an amount fills."""

    token: int
    slot: Slot
    bound: str
    mentioned: str | None
    score: int
    said: frozenset[str]


@dataclass(frozen=True)
class Scene:
    """What a sentence is read against.

    Attributes
    ----------
    topic
        The unit that the sentences before speak of.
    times
        Whether the sentence has times of the day that belong to its amounts.
    """

    plant: Plant
    topic: str | None
    owner: str | None = None


def items_of(marked: Marked, free: Sequence[int]) -> list[Item]:
    """Return the amounts of a line, those of a range together."""
    items: list[Item] = []
    k = 0
    while k < len(free):
        a = free[k]
        b = free[k + 1] if k + 1 < len(free) else None
        if b is not None and _is_range(marked, a, b):
            items.append(Item((a, b)))
            k += 2
        else:
            items.append(Item((a,)))
            k += 1
    return items


def _is_range(marked: Marked, a: int, b: int) -> bool:
    tokens = marked.line.tokens
    first, second = tokens[a].amount, tokens[b].amount
    if first is None or second is None or first.kind != second.kind or b - a != 2:
        return False
    link, before = tokens[a + 1].text, tokens[a - 1].text if a else ""
    if link == "and":
        return before == "between" or (a > 1 and tokens[a - 2].text == "between")
    return link in ("to", "-") and first.value < second.value


def read(marked: Marked, items: Sequence[Item], scene: Scene) -> list[Found] | str:
    """Return the slots of all items of a line; why there is no reading when there is none."""
    unknown = marked.unknown()
    if unknown:
        return f"unknown words beside a number: {', '.join(dict.fromkeys(unknown))}"
    search = _Search(marked, items, scene)
    search.extend(0, 0, 0, _Before(subject=scene.topic))
    best = search.best
    if not best:
        return "no slot of a unit takes these numbers in these words"
    if len(best) > 1:
        names = sorted({f.slot.said for _, found in best for f in found})
        return f"the numbers can be shared out in several ways: {', '.join(names)}"
    return best[0][1]


def _same(a: Sequence[Found], b: Sequence[Found]) -> bool:
    def key(found: Sequence[Found]) -> list[tuple[int, str, str, str, str | None]]:
        return [(f.token, f.slot.component, f.slot.name, f.bound, f.mentioned) for f in found]

    return key(a) == key(b)


def _cuts(marked: Marked, left: Item, right: Item) -> Iterator[tuple[int, int]]:
    """Yield where a line may be cut between two amounts, with how unlikely it is."""
    tokens = marked.line.tokens
    a, b = left.tokens[-1] + 1, right.tokens[0]
    if b - a > _MOST_GAP:
        separators = [i for i in range(a, b) if tokens[i].text in (",", ";", "and", "but", ".")]
        places: Sequence[int] = [a, *separators, b]
    else:
        places = range(a, b + 1)
    ranks = {";": 0, ".": 0, ",": 1, "(": 1, "and": 2, "or": 3, "but": 1, "while": 1, "/": 1,
             "that": 3, "which": 2, "with": 4, "at": 4, "whose": 2, ")": 3}  # fmt: skip
    for place in places:
        if place == b and place > a:
            yield 7, place
            continue
        yield ranks.get(tokens[place].text, 6 if place > a else 5), place


@dataclass(frozen=True)
class _Before:
    """What the pieces of a line before one lend it: their words, the unit, and their readings."""

    head: frozenset[str] = frozenset()
    last: frozenset[str] = frozenset()
    subject: str | None = None
    found: tuple[Found, ...] = ()

    @property
    def of_loss(self) -> bool:
        """Whether the amount before is a loss, of which the next one may be another way's."""
        return bool(self.found) and self.found[-1].slot.name.endswith("_loss")


class _Search:
    """Cuts a line between its amounts, from the left, in every way in which each piece fits.

    ``dead`` holds from where no way leads to the end: many cuts come to the same rest of a line.
    """

    def __init__(self, marked: Marked, items: Sequence[Item], scene: Scene) -> None:
        self.marked, self.items, self.scene = marked, items, scene
        self.cuts = [sorted(_cuts(marked, x, y)) for x, y in pairwise(items)]
        self.shared = _distributed(marked, items)
        self.best: list[tuple[tuple[int, int], list[Found]]] = []
        self.dead: set[tuple[Hashable, ...]] = set()

    def extend(self, k: int, start: int, rank: int, before: _Before) -> bool:
        """Read the piece of amount k, which begins at a token, and what follows it.

        Return whether a way leads to the end, or may do so and is worse than one that is known.
        """
        if self.best and rank > self.best[0][0][0]:
            return True
        state = k, start, before.head, before.last, before.subject, before.of_loss
        if state in self.dead:
            return False
        arrives = False
        last = k == len(self.items) - 1
        ends = [(0, len(self.marked.concepts))] if last else self.cuts[k]
        for more, stop in ends:
            after = self._piece(k, (start, stop), before)
            if after is None:
                continue
            if last:
                self._keep(rank, list(after.found))
                arrives = True
            elif self.extend(k + 1, stop, rank + more, after):
                arrives = True
        if not arrives:
            self.dead.add(state)
        return arrives

    def _keep(self, rank: int, found: list[Found]) -> None:
        cost = (rank, -sum(f.score for f in found))
        if not self.best or cost < self.best[0][0]:
            self.best = [(cost, found)]
        elif cost == self.best[0][0] and not any(_same(found, other) for _, other in self.best):
            self.best.append((cost, found))

    def _piece(self, k: int, span: tuple[int, int], before: _Before) -> _Before | None:
        marked, item, scene = self.marked, self.items[k], self.scene
        said = self.shared[k] if self.shared else marked.said(*span)
        said |= {"plate"} & before.head  # 'nameplate:' leads in all that follows
        named = [c[1:] for c in marked.concepts[slice(*span)] if c.startswith("@")]
        named = [c for c in named if c != "zone"] or named
        mentioned = named[0] if named else None
        if said and said <= _WAYS and before.of_loss:
            said |= {"loss"} if _alike(marked, self.items[k - 1], item) else set()
        bare = bool(k) and not said  # '0.28 EUR/kWh by day and 0.20 EUR/kWh by night'
        lent = _inherit(said, before.head)
        ways: list[tuple[frozenset[str], str | None]] = [(lent, None)] if bare else []
        ways.append((said, mentioned))
        ways += [(lent, mentioned), (_inherit(said, before.last), mentioned)] if k else []
        ways += [(said, None)] if mentioned == "fuel" else []  # what a unit burns, not the fuel
        for words, unit in ways:
            found = _item(marked, item, words, scene, unit, before.subject)
            if found is not None:
                subject = mentioned or before.subject
                return _Before(lent, said, subject, (*before.found, *found))
        return None


_WAYS: Final = frozenset(
    {"wayin", "wayout", "charge", "discharge", "whencharging", "whendischarging"}
)


def _alike(marked: Marked, a: Item, b: Item) -> bool:
    """Whether two amounts are of one kind, as those of '4 % in and 4 % out'."""
    kinds = {marked.line.tokens[i.tokens[0]].amount for i in (a, b)}
    return len({amount.kind for amount in kinds if amount is not None}) == 1


def _distributed(marked: Marked, items: Sequence[Item]) -> list[frozenset[str]] | None:
    """Return what each of several amounts is said to be where the names come first.

    'Charging and discharging efficiency are 95 % and 93 %': as many names as amounts, in order.
    """
    if len(items) < 2 or any(len(item.tokens) > 1 for item in items):
        return None
    before = range(items[0].tokens[0])
    rest = [i for i in range(items[0].tokens[0], len(marked.concepts)) if i not in before]
    words = {marked.concepts[i] for i in rest} - {NEUTRAL, THING}
    if words:
        return None
    common = marked.said(before.start, before.stop)
    if len(items) == 2 and "loadedge" in common:
        return [common - {"loadedge"} | {way} for way in ("charge", "discharge")]
    for some in exclusive():
        named = [marked.concepts[i] for i in before if marked.concepts[i] in some]
        if len(named) == len(items) and len(set(named)) == len(named):
            return [common - some | {name} for name in named]
    return None


def _inherit(said: frozenset[str], head: frozenset[str]) -> frozenset[str]:
    """Return concepts with those that an earlier piece of the sentence lends them."""
    lent = {c for c in head if c in group("inherited") or c.startswith("@")}
    for some in exclusive():
        if said & some:
            lent -= some
    if any(c.startswith("@") for c in said):
        lent = {c for c in lent if not c.startswith("@")}
    return said | lent


def bound_of(said: frozenset[str]) -> tuple[str, frozenset[str]] | None:
    """Return how words limit an amount, and the concepts that are left; None when unclear."""
    found: set[str] = set()
    left = set(said)
    if "move" in left:
        # 'Must not fall below' is a limit; what falls or rises otherwise is another matter.
        if not ("not" in left and left & {"below", "above"}):
            return None
        left.discard("move")
    if "not" in left and left & {"below", "above"}:
        left.discard("orterm")  # 'never colder than 10 °C or warmer than 20 °C'
        if "below" in left:
            found.add("lower")
        if "above" in left:
            found.add("upper")
        left -= {"not", "below", "above"}
    elif left & {"below", "above"}:
        if not left & {"must", "keep", "always"}:
            return None
        found |= {"upper"} if "below" in left else set()
        found |= {"lower"} if "above" in left else set()
        left -= {"below", "above"}
    for concept, bound in (("least", "lower"), ("most", "upper"), ("exact", "exact")):
        if concept in left:
            found.add(bound)
            left.discard(concept)
    if "limit" in left and not found:
        found.add("upper")
    if len(found) > 1:
        return None
    return (found.pop() if found else "value"), frozenset(left)


def _item(
    marked: Marked,
    item: Item,
    said: frozenset[str],
    scene: Scene,
    mentioned: str | None,
    subject: str | None,
) -> list[Found] | None:
    if len(item.tokens) == 1:
        bounded = bound_of(said)
        if bounded is None:
            return None
        found = _best(marked, item.tokens[0], bounded, scene, mentioned, subject)
        return None if found is None else [found]
    result = []
    for token, bound in zip(item.tokens, ("lower", "upper"), strict=True):
        left = said - {"least", "most"}
        found = _best(marked, token, (bound, left), scene, mentioned, subject)
        if found is None:
            return None
        result.append(found)
    return result


def _best(
    marked: Marked,
    token: int,
    bounded: tuple[str, frozenset[str]],
    scene: Scene,
    mentioned: str | None,
    subject: str | None,
) -> Found | None:
    bound, said = bounded
    amount = marked.line.tokens[token].amount
    assert amount is not None
    about = mentioned or subject
    found: list[Found] = []
    for component in dict.fromkeys(i.unit.component for i in scene.plant.instances):
        unit = scene.plant.units[component]
        others = component not in (about, *(() if mentioned is None else (mentioned,)))
        for name, slot in unit.slots.items():
            if amount.kind not in slot.kinds or bound not in slot.bounds:
                continue
            score = score_of(component, unit.says[name].needs, unit.says[name].may, said, bound)
            sure = slot.options.get("sure") and mentioned in (None, component)
            if score is None or (others and not sure and (score == 0 or not unit.card.get("site"))):
                continue
            if slot.options.get("own") and (others or not _is_its(marked, token, said, component)):
                continue
            bonus = 2 if component == about else 0
            found.append(Found(token, slot, bound, mentioned, 2 * score + bonus, said))
    found.sort(key=lambda f: -f.score)
    known = scene.plant.units.get(about or "")
    site = about is None or (known is not None and bool(known.card.get("site")))
    if not found and mentioned is None and site and subject == scene.topic:
        return _only(marked, token, bounded, scene)
    if not found or (len(found) > 1 and found[1].score == found[0].score):
        return None
    return found[0]


def _is_its(marked: Marked, token: int, said: frozenset[str], component: str) -> bool:
    """Whether what a unit has of its own is meant, and not what another one gives to it."""
    before = [c for c in marked.concepts[:token] if c.startswith("@")]
    behind = f"@{component}" in marked.concepts[token:]
    return "emitter" in said or (before[-1] == f"@{component}" if before else not behind)


def _only(
    marked: Marked, token: int, bounded: tuple[str, frozenset[str]], scene: Scene
) -> Found | None:
    """Return the slot of the only unit of a plant that an amount fits, whatever it is about.

    A pronoun after a sentence on the grid may take up the unit that was spoken of before it.
    """
    units = [i.unit.component for i in scene.plant.instances if not i.unit.card.get("site")]
    found = [_best(marked, token, bounded, scene, u, u) for u in dict.fromkeys(units)]
    fitting = [f for f in found if f is not None and f.score > 2]
    return fitting[0] if len(fitting) == 1 else None


def score_of(
    component: str,
    needs: Sequence[frozenset[str]],
    may: frozenset[str],
    said: frozenset[str],
    bound: str,
) -> int | None:
    """Return how many concepts a slot explains, None when it does not explain them all."""
    own = said | ({"bound:lower"} if bound == "lower" else frozenset())
    best: int | None = None
    for need in needs:
        rest = own - need - may - _ANYWHERE - {f"@{component}", "bound:lower"}
        if need <= own and not rest:
            score = len(need - {"bound:lower"})
            best = score if best is None else max(best, score)
    return best


def plain_text(text: str) -> str:
    """Return a header as words: ``wind_kW`` becomes ``wind kw``."""
    spaced = re.sub(r"([a-z])([A-Z])", r"\1 \2", text)
    return re.sub(r"[_\W]+", " ", spaced).lower().strip()
