"""Efficiencies by example: '100 kWh in gives 83 kWh out', 'of 1 kWh taken 0.95 kWh are stored'."""

import re
from dataclasses import dataclass
from typing import Final

from engiagent.agents.offline.amounts import Amount
from engiagent.agents.offline.draft import Value
from engiagent.agents.offline.plant.language.words import Marked
from engiagent.agents.offline.tokens import Line
from engiagent.blueprint.units import convert, parse_unit

_LOSS: Final = re.compile(
    r"(?:book|count|take|put|charge|assign|attribute|allocate)(?:ed)? (?:all of )?(?:the |this )?"
    r"(?:whole |entire |full |complete |all )?(?:the )?loss(?:es)?(?: (?:to|when|while|on|in|for))*"
    r" (?:the )?(?P<way>way in|way out|charging|discharging|charge|discharge)"
)
_AMOUNT: Final = r"<energy#(?P<{name}>\d+)>"
_MID: Final = r"(?:[a-z'-]+ |, ){0,7}?"
_IN: Final = (
    r"(?:(?:put |taken |going |fed |drawn )?in(?:to (?:it|the cells|the battery))?|charged"
    r"|taken(?: from the grid)?|drawn)"
)
_OUT: Final = (
    r"(?:(?:come |comes |taken |given |going )?out(?: again)?|back|discharged|delivered"
    r"|at the terminals|returned)"
)
_BOTH: Final = re.compile(
    rf"{_AMOUNT.format(name='first')} {_IN} {_MID}{_AMOUNT.format(name='second')} {_OUT}(?![a-z])"
)
_FALLS: Final = re.compile(
    rf"{_AMOUNT.format(name='first')} {_OUT} ,? ?{_MID}(?:falls|drops|sinks|goes down|decreases"
    rf"|is reduced|shrinks) by {_AMOUNT.format(name='second')}"
)
_RISES: Final = re.compile(
    rf"{_AMOUNT.format(name='first')} {_IN} ,? ?{_MID}(?:rises|grows|goes up|increases|climbs) by "
    rf"{_AMOUNT.format(name='second')}"
)
_STORED: Final = re.compile(
    rf"{_AMOUNT.format(name='first')} {_IN} ,? ?{_MID}{_AMOUNT.format(name='second')} "
    r"(?:is |are )?(?:stored|held|kept|arrives? in the cells|reach(?:es)? the cells)"
)


@dataclass(frozen=True)
class Ratio:
    """An efficiency by two energies.

    Attributes
    ----------
    slots
        The slots of a store that it fills, with the value for each.
    tokens, split
        Where it stands in its line, and where the words stand that say which way loses.
    first
        The energy that the other one is compared with, which is part of the values' expressions.
    """

    slots: tuple[tuple[str, Value], ...]
    tokens: range
    first: Amount
    lossless: str = ""
    split: range = range(0)


def ratio_in(marked: Marked, free: list[int], text: str) -> Ratio | None:
    """Return the efficiency that two energies of a line state; None when they state none."""
    line = marked.line
    for pattern, slot, turned in (
        (_FALLS, "discharge_efficiency", True),
        (_RISES, "charge_efficiency", False),
        (_STORED, "charge_efficiency", False),
        (_BOTH, "", False),
    ):
        match = pattern.search(line.line)
        if match is None or not {int(match["first"]), int(match["second"])} <= set(free):
            continue
        first = line.tokens[int(match["first"])].amount
        second = line.tokens[int(match["second"])].amount
        assert first is not None
        assert second is not None
        covered = line.covered(*match.span())
        if slot:
            value = _value(first, second, "{first}/x0" if turned else "x0/{first}", text)
            return Ratio(((slot, value),), covered, first)
        return _both(line, first, second, covered, text)
    return None


def _both(line: Line, first: Amount, second: Amount, covered: range, text: str) -> Ratio:
    """Return a round trip, all on one way where the text says so."""
    loss = _LOSS.search(line.line)
    way = "" if loss is None else "out" if loss["way"] in _OUTWARD else "in"
    if not way:
        value = _value(first, second, "sqrt(x0/{first})", text)
        return Ratio(
            (("charge_efficiency", value), ("discharge_efficiency", value)), covered, first
        )
    slot = "discharge_efficiency" if way == "out" else "charge_efficiency"
    other = "no_loss_in" if way == "out" else "no_loss_out"
    value = _value(first, second, "x0/{first}", text)
    assert loss is not None
    return Ratio(((slot, value),), covered, first, other, line.covered(*loss.span()))


_OUTWARD: Final = frozenset({"way out", "discharging", "discharge"})


def _value(first: Amount, second: Amount, expression: str, text: str) -> Value:
    size = convert(first.value, parse_unit(first.unit), parse_unit("kWh"))
    source = {
        "kind": "text", "span": list(second.span), "quote": second.quote,
        "spans": [{"span": list(first.span), "quote": text[slice(*first.span)]}],
    }  # fmt: skip
    return Value(
        second.unit, source, second.value, expression=expression.format(first=f"{size:g}[kWh]")
    )
