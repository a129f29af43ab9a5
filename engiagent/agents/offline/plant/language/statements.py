"""Sentences that ask for something, or state something, without a number of their own."""

from dataclasses import dataclass
from functools import lru_cache

from engiagent.agents.offline.cards import load_card
from engiagent.agents.offline.plant.language.words import Marked, group


@dataclass(frozen=True)
class Rule:
    """Concepts that together state a fact.

    Attributes
    ----------
    needs, may
        What has to be said, and what may be said beside it.
    any
        Whether it holds of whatever a sentence is about.
    fact
        What follows; ``holds`` for what the model obeys anyway.
    """

    fact: str
    needs: tuple[frozenset[str], ...]
    may: frozenset[str]
    units: bool
    any: bool


@lru_cache(maxsize=1)
def rules() -> tuple[Rule, ...]:
    """Return the rules of the cards."""
    return tuple(
        Rule(
            str(entry["fact"]),
            tuple(frozenset(str(text).split()) for text in entry["needs"]),
            frozenset(str(entry.get("may", "")).split()),
            bool(entry.get("units", True)),
            bool(entry.get("any", False)),
        )
        for card in ("statements", "feeder", "community", "voyage")
        for entry in load_card(card)["rules"]
    )


@lru_cache(maxsize=1024)
def stated(said: frozenset[str], strange: bool = False) -> str | None:
    """Return the fact that concepts state; None when no rule, or more than one, covers them.

    ``strange`` is for a sentence on something that nothing knows.
    """
    found: dict[str, int] = {}
    for rule in rules():
        if strange and not rule.any:
            continue
        for need in rule.needs:
            rest = said - need - rule.may
            if ("@window" in said) is not ("@window" in need):
                continue
            if rule.units:
                rest = frozenset(c for c in rest if not c.startswith("@"))
            if need <= said and not rest:
                found[rule.fact] = max(found.get(rule.fact, 0), len(need))
    if not found:
        return None
    top = max(found.values())
    winners = [fact for fact, score in found.items() if score == top]
    return winners[0] if len(winners) == 1 else None


def bears(marked: Marked, said: frozenset[str], times: bool) -> bool:
    """Whether a sentence without numbers may change the problem and has to be understood."""
    triggers = group("triggers")
    domain = any(c.startswith("@") for c in said) or bool(said - triggers)
    return bool(said & group("binding")) or (domain and (bool(said & triggers) or times))
