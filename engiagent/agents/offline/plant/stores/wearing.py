"""Wear that grows with the power: a price at one power, in proportion to it at others."""

import re
from dataclasses import dataclass
from typing import Final

from engiagent.agents.offline.amounts import Amount
from engiagent.agents.offline.builder import Builder
from engiagent.agents.offline.draft import Json, amount_value
from engiagent.agents.offline.plant.language.words import NEUTRAL, THING, UNKNOWN, Marked
from engiagent.blueprint.units import convert, parse_unit

_GROWS: Final = re.compile(
    r"(?:in |directly )?proportion(?:al|ally|ate)?(?: to)?|grows linearly|rises linearly"
    r"|linearly|in line with"
)
_EXAMPLE: Final = re.compile(r"<power#(\d+)>.*<energy#(\d+)>.*<price#(\d+)>")
_WAYS: Final = {"charge": "charge", "whencharging": "charge", "wayin": "charge",
                "discharge": "discharge", "whendischarging": "discharge", "wayout": "discharge",
                "outof": "discharge"}  # fmt: skip
_MAY: Final = frozenset(
    [
        "wear",
        "price",
        "power",
        "each",
        "eachway",
        "whileon",
        "onstate",
        "always",
        "loadedge",
        "must",
        "into",
        "energy",
        "cond",
        "vague",
        "@battery",
        "others",
        "reserve",
    ]
)


@dataclass(frozen=True)
class Growing:
    """A price of wear at one power; the cost of an hour grows with the square of the power."""

    price: Amount
    power: Amount
    directions: tuple[str, ...]
    line: int
    example: tuple[Amount, ...] = ()


def growing_wear(marked: Marked, n: int, free: list[int]) -> Growing | str | None:
    """Return a wear that is in proportion to the power; None where a line states none.

    A text says why there is no reading where it speaks of such a wear and of more.
    """
    line, said = marked.line, marked.said()
    if "wear" not in said or _GROWS.search(line.line) is None:
        return None
    kinds = [(i, line.tokens[i].amount) for i in free]
    prices = [(i, a) for i, a in kinds if a is not None and a.kind == "price"]
    powers = [(i, a) for i, a in kinds if a is not None and a.kind == "power"]
    if not prices or not powers or len(free) not in (2, 5):
        return "a wear that grows with the power, and other numbers"
    if len(free) == 5 and not _agrees(line.line, marked, prices[0][1], powers[0][1]):
        return "the example does not agree with the wear that it is to explain"
    example = tuple(a for _, a in kinds if a not in (prices[0][1], powers[0][1]) and a is not None)
    ways = {_WAYS[c] for c in said if c in _WAYS}
    if "loadedge" in said or "eachway" in said:
        ways = {"charge", "discharge"}
    strange = said - _MAY - set(_WAYS)
    if not ways or strange:
        return "whether the wear counts what is charged or what is discharged is not clear"
    order = tuple(sorted(ways))
    return Growing(prices[0][1], powers[0][1], order, n, example)


def _agrees(line: str, marked: Marked, price: Amount, power: Amount) -> bool:
    """Whether 'an hour at 5 kW wears it by 5 kWh times 3 ct/kWh' follows from the rule."""
    tail = line[line.index(">", line.index("<power#")) :]
    match = _EXAMPLE.search(tail)
    if match is None:
        return False
    at, energy, cost = (marked.line.tokens[int(g)].amount for g in match.groups())
    assert at is not None
    assert energy is not None
    assert cost is not None
    kilowatts = _in(at, "kW")
    expected = _in(price, cost.unit) * kilowatts / _in(power, "kW")
    hour = abs(_in(energy, "kWh") - kilowatts) < 1e-9 * max(1.0, kilowatts)
    return hour and abs(expected - cost.value) < 1e-6 * max(1.0, abs(cost.value))


def _in(amount: Amount, unit: str) -> float:
    return convert(amount.value, parse_unit(amount.unit), parse_unit(unit))


def unknown_beside(marked: Marked) -> list[str]:
    """Return the words beside a growing wear that nothing knows and that are no part of it."""
    text = _GROWS.search(marked.line.line)
    away = set(marked.line.covered(*text.span())) if text else set()
    first = [i for i, c in enumerate(marked.concepts) if c not in (NEUTRAL, UNKNOWN)]
    subject = set(range(first[0] if first else 0))  # whoever says so
    return [
        t.text
        for i, (t, c) in enumerate(zip(marked.line.tokens, marked.concepts, strict=True))
        if c == UNKNOWN and c != THING and i not in away and i not in subject
    ]


def add_growing(builder: Builder, name: str, wear: Growing) -> list[str]:
    """Return the costs of a wear that grows with the power, of one store."""
    source = builder.draft.source

    def made(label: str, amount: Amount) -> str:
        reference: Json = source(wear.line, amount)
        return builder.value(f"{name}_{label}", amount_value(amount, reference), label)

    price, power = made("wear_price", wear.price), made("wear_power", wear.power)
    return [f"sum({price}*{name}_{way}[t]**2/{power}*dt(t) for t in T)" for way in wear.directions]
