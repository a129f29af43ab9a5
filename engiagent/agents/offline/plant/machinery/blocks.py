"""Offers in blocks: '120 MW at 30 EUR/MWh and 80 MW at 40 EUR/MWh' of a unit."""

import re
from dataclasses import dataclass
from typing import Final

from engiagent.agents.offline.amounts import Span
from engiagent.agents.offline.draft import Draft, Fact, Value, amount_value
from engiagent.agents.offline.owners import topic
from engiagent.agents.offline.plant.units import Plant

_BLOCK: Final = r"<power#\d+> (?:at|for) <price#\d+>"
_BLOCKS: Final = re.compile(
    rf"{_BLOCK}(?: ?,? ?(?:and |then |plus )*(?:another |further )?{_BLOCK})+"
)
_COUNT: Final = re.compile(
    r"(?:(?:in|into|of|with) )?<number#(?P<n>\d+)> (?:blocks?|steps?|tranches?|bands?)"
    r"(?: of energy)?(?: each)?"
)


@dataclass(frozen=True)
class Offer:
    """The blocks of a unit, each a power with its price, in the order of the text."""

    blocks: tuple[tuple[Value, Value], ...]
    line: int


def take_offers(draft: Draft, plant: Plant) -> dict[str, Offer]:
    """Return the offers of units; their words, and how many blocks there are, are accounted for."""
    units = [i for c in ("genset", "chp") for i in plant.of(c)]
    finders = {i.name: i.finder for i in units}
    offers: dict[str, Offer] = {}
    for n, line in enumerate(draft.lines):
        for match in _BLOCKS.finditer(line.line) if not line.sentence.is_heading else ():
            if len(units) == 1:
                owner: str | None = units[0].name
            else:
                owner = topic(draft.lines, n, match.start(), finders) if finders else None
            if owner is None or owner in offers:
                draft.refuse(n, "whose blocks are these?")
                continue
            amounts = [line.tokens[i].amount for i in line.covered(*match.span())]
            values = [amount_value(a, draft.source(n, a)) for a in amounts if a is not None]
            offers[owner] = Offer(tuple(zip(values[::2], values[1::2], strict=True)), n)
            draft.take(n, line.covered(*match.span()))
    for n, line in enumerate(draft.lines):
        for match in _COUNT.finditer(line.line) if offers else ():
            amount = line.tokens[int(match["n"])].amount
            told = {len(offer.blocks) for offer in offers.values()}
            if amount is None or told != {round(amount.value)}:
                draft.refuse(n, "other numbers of blocks are given than are told")
            else:
                draft.take(n, line.covered(*match.span()))
            if amount is not None:
                span = amount.span
                draft.facts[:] = [f for f in draft.facts if not _is_horizon(f, n, span)]
    return offers


def _is_horizon(fact: Fact, n: int, span: Span) -> bool:
    """Whether a number of blocks was taken for the length of the horizon."""
    told = fact.name in ("horizon", "horizon_hours") and fact.line == n
    return told and fact.span[0] <= span[1] + 4 and span[0] <= fact.span[1]
