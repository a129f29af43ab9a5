"""Numbers that look like slips: outside what is usual, in another's unit, in the wrong order."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import numpy as np

from engiagent.agents.offline import Implausible, Understanding
from engiagent.agents.offline.amounts import Amount, currency_of, kind_of
from engiagent.agents.offline.cards import Slot, lexicon
from engiagent.agents.offline.draft import Band, Value, source_span
from engiagent.agents.offline.slots import MARK, marked
from engiagent.audit.evidence import Evidence
from engiagent.audit.findings import Finding
from engiagent.audit.tables import Confusion, ranges
from engiagent.blueprint.units import UnitError, convert, parse_unit
from engiagent.explain.labels import shown
from engiagent.explain.places import Span, Text

if TYPE_CHECKING:
    from engiagent.problems import Problem

_RANGE: Final = re.compile(r"\s*(?:and|to|up to|-|–|—|…)\s*")
_REACH: Final = 48
"""How many characters may stand between a slot's name and its number."""


def implausible_values(found: Understanding, text: Text, evidence: Evidence) -> Iterator[Finding]:
    """Yield the numbers that the engine refused for a slot, with what may have been meant.

    In a text that was hardly understood a number may belong to another slot.
    """
    if not evidence.familiar:
        return
    for item in found.analysis.implausible:
        meant = guesses(item)
        reason = f": {item.because}" if item.because else ""
        yield Finding(
            code="implausible-value",
            severity="suspicious",
            component=item.owner if item.owner != "*" else item.component,
            quantity=item.slot,
            explanation=f"{item.amount.quote} cannot be the {item.said}, which lies from "
            f"{shown(item.low, item.unit)} to {shown(item.high, item.unit)}{reason}",
            suggestion=f"is {' or '.join(meant)} meant?" if meant else "correct the number",
            places=(text.at(item.amount.span),),
        )


def guesses(item: Implausible) -> list[str]:
    """Return what a number may have been meant as: each lies in the range of its slot."""
    value, unit, kind = item.amount.value, item.amount.unit, item.amount.kind
    candidates: list[tuple[str, float, str]] = []
    if kind == "number" and item.unit in ("1", ""):
        candidates += [(f"{value:g} %", value / 100, "1"), (f"{value / 10:g}", value / 10, "1")]
    if kind == "percent" and value <= 1:
        candidates += [(f"{100 * value:g} %", value, "1"), (f"{value:g}", value, "1")]
    if kind == "temperature":
        kelvin = f"{value:g} K, which is {value - 273.15:.2f} °C,"
        candidates.append((kelvin, value - 273.15, "degC"))
        candidates.append((f"{value:g} °F", (value - 32) / 1.8, "degC"))
    if value < 0:
        candidates.append((f"{-value:g} {unit}".strip(), -value, unit or "1"))
    if kind not in ("number", "percent", "temperature") and value > 0:
        for factor in (1e-3, 1e3):
            candidates.append((f"{shown(value * factor, unit)}", value * factor, unit))
    return [said for said, number, measure in candidates if _inside(item, number, measure)]


def _inside(item: Implausible, value: float, unit: str) -> bool:
    try:
        if item.unit and unit:
            value = convert(value, parse_unit(unit), parse_unit(item.unit))
    except UnitError:
        return False
    return item.low <= value <= item.high


# --- usual ranges ------------------------------------------------------------------------------


def unusual_values(
    found: Understanding, problem: "Problem", text: Text, evidence: Evidence
) -> Iterator[Finding]:
    """Yield values that a slot may have but rarely has, prices and series among them.

    A number of a sentence that was not understood may be of something else.
    """
    for value, findings in _judged(found, problem, text):
        span = source_span(value.source)
        if evidence.familiar and (span is None or not evidence.covers([span])):
            yield from findings


def _judged(
    found: Understanding, problem: "Problem", text: Text
) -> Iterator[tuple[Value, Iterator[Finding]]]:
    """Yield every value with what is to be said of it."""
    for reading in found.draft.readings:
        value = reading.value
        yield value, _unusual(reading.slot, reading.owner, value, problem, text)
    comfort = lexicon().cards["zone"].slots["comfort"]
    for band in found.draft.bands:
        for _, value in band.limits:
            yield value, _unusual(comfort, band.owner, value, problem, text)
    for (component, name), value in found.draft.series.items():
        card = lexicon().cards.get(component)
        slot = card.slots.get(name) if card is not None else None
        if slot is not None:
            yield value, _unusual(slot, component, value, problem, text)
        elif kind_of(value.unit) == "price":
            yield value, _price(name, value, problem, text)
    for price in found.draft.prices:
        yield price.value, _price(f"{price.role}_price", price.value, problem, text)


def _unusual(
    slot: Slot, owner: str, value: Value, problem: "Problem", text: Text
) -> Iterator[Finding]:
    usual = slot.options.get("usual")
    if usual is None or value.expression != "x0":
        return
    low, high = (float(end) for end in usual)
    because = str(slot.options.get("because", ""))
    component = owner if owner != "*" else slot.component
    yield from _outside(
        (component, slot.name, slot.said), value, (low, high, slot.range_unit, because),
        problem, text,
    )  # fmt: skip


def _price(name: str, value: Value, problem: "Problem", text: Text) -> Iterator[Finding]:
    currency = currency_of(value.unit)
    usual = ranges().prices.get(currency or "")
    if usual is None or kind_of(value.unit) != "price":
        return
    limits = (*usual, f"{currency}/kWh", ranges().price_reason)
    yield from _outside(
        ("site", name, name.replace("_", " ")), value, limits, problem, text
    )  # fmt: skip


def _outside(
    about: tuple[str, str, str],
    value: Value,
    limits: tuple[float, float, str, str],
    problem: "Problem",
    text: Text,
) -> Iterator[Finding]:
    component, quantity, said = about
    low, high, unit, because = limits
    numbers = _numbers(value, problem, unit)
    wrong = np.flatnonzero(~((numbers >= low - 1e-12) & (numbers <= high + 1e-12)))
    if not wrong.size:
        return
    worst = int(wrong[np.argmax(np.abs(numbers[wrong]))])
    count = f", as {wrong.size} of {numbers.size} values are" if numbers.size > 1 else ""
    number = float(numbers[worst])
    per_mwh = kind_of(unit) == "price" and low <= number / 1000 <= high
    yield Finding(
        code="unusual-value",
        severity="suspicious",
        component=component,
        quantity=quantity,
        explanation=f"{shown(number, unit)} is unusual for the {said}{count}; "
        f"usual are {shown(low, unit)} to {shown(high, unit)}: {because}",
        suggestion=f"is {shown(number, unit.replace('/kWh', '/MWh'))} meant?"
        if per_mwh
        else "check number and unit",
        places=_places(value, [int(k) for k in wrong], text),
    )


def _places(value: Value, rows: list[int], text: Text) -> tuple:  # type: ignore[type-arg]
    source = value.source
    if isinstance(source, list) and value.numbers is not None and len(source) == len(value.numbers):
        source = [source[row] for row in rows[:6]]
    return text.of(source, rows)


def _numbers(value: Value, problem: "Problem", unit: str) -> np.ndarray:
    if value.data is not None:
        file, column = value.data.split("#", 1)
        raw = np.asarray(problem.data[file].column(column).numbers(), dtype=float)
    else:
        raw = np.atleast_1d(
            np.asarray(value.number if value.numbers is None else value.numbers, dtype=float)
        )
    if not value.unit or not unit:
        return raw
    try:
        source, target = parse_unit(value.unit), parse_unit(unit)
        return np.array([convert(float(x), source, target) for x in raw])
    except UnitError:
        return np.zeros(0)


# --- the unit of another quantity ---------------------------------------------------------------


def confused_units(found: Understanding, text: Text, evidence: Evidence) -> Iterator[Finding]:
    """Yield amounts that stand where a required quantity of another kind is wanted.

    Where an amount of the right kind stands in a sentence that was not understood, it may be the
    one, and the other is what it says it is.
    """
    unread = frozenset().union(*(piece.kinds for piece in evidence.unread))
    lacking = {(m.component, m.slot.rpartition(".")[2]) for m in found.analysis.missing}
    for line in found.draft.lines:
        if line.sentence.is_heading:
            continue
        for i, token in enumerate(line.tokens):
            if token.amount is None:
                continue
            shape, position = marked(line, i)
            for slot, owner in _wanted(found, lacking):
                confusion = _confusion(slot, token.amount)
                if unread & set(slot.kinds):
                    continue
                if confusion is not None and _names(slot, shape, position):
                    yield _confused(slot, owner, token.amount, confusion, text)


def _wanted(found: Understanding, lacking: set[tuple[str, str]]) -> Iterator[tuple[Slot, str]]:
    for card in lexicon().cards.values():
        for owner in found.owners.instances(card.component):
            for slot in card.slots.values():
                if (owner, slot.name) in lacking:
                    yield slot, owner


def _confusion(slot: Slot, amount: Amount) -> Confusion | None:
    if amount.kind in slot.kinds:
        return None
    return next(
        (c for c in ranges().confusions if c.given == amount.kind and c.wanted in slot.kinds), None
    )


def _names(slot: Slot, line: str, position: int) -> bool:
    """Whether the words around an amount name the slot: by its patterns, or by what it is called.

    A pattern that takes any number of its kind names nothing.
    """
    said = re.compile(rf"{re.escape(slot.said)}(?: [a-z:=]+){{0,4}} {MARK}")
    patterns = [p.regex for p in slot.patterns if not p.condition or p.condition == "topic"]
    named = [p for p in patterns if re.search(r"[a-z]{3}", p.pattern.split("(?:", 2)[-1])]
    for pattern in [said, *(p for p in named if not p.search(f" {MARK} "))]:
        match = pattern.search(line)
        if match is not None and match.start() <= position < match.end():
            return len(match[0]) < 3 * _REACH
    return False


def _confused(slot: Slot, owner: str, amount: Amount, confusion: Confusion, text: Text) -> Finding:
    number = f"{amount.value:g}"
    meant = confusion.meant.format(value=number, unit=amount.unit)
    return Finding(
        code="confused-unit",
        severity="suspicious",
        component=owner,
        quantity=slot.name,
        explanation=f"{amount.quote} stands where the {slot.said} is wanted, but it is "
        f"{_article(amount.kind)} and not {_article(slot.kinds[0])}",
        suggestion=f"is {meant} meant?",
        places=(text.at(amount.span),),
    )


def _article(kind: str) -> str:
    name = {"money": "sum of money", "difference": "temperature difference",
            "price": "price per energy"}.get(kind, kind.replace("_", " "))  # fmt: skip
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


# --- order ---------------------------------------------------------------------------------------


def reversed_bands(found: Understanding, problem: "Problem", text: Text) -> Iterator[Finding]:
    """Yield ranges whose first number is the larger one, as 'between 24 and 20 °C'."""
    for band in found.draft.bands:
        spans = reversed_range(band, problem)
        if spans is None:
            continue
        low, high = spans
        words = " ".join(problem.text[low[0] : high[1]].split())
        yield Finding(
            code="band-reversed",
            severity="suspicious",
            component=band.owner if band.owner != "*" else "zone",
            quantity="temperature",
            explanation=f"the range {words!r} begins with its larger number",
            suggestion="turn it round, or correct one of the two numbers",
            places=(text.at((low[0], high[1])),),
        )


def reversed_range(band: Band, problem: "Problem") -> tuple[Span, Span] | None:
    """Return the places of the two ends of a range that is written the wrong way round."""
    limits = dict(band.limits)
    low, high = limits.get("lower"), limits.get("upper")
    if low is None or high is None or low.number is None or high.number is None:
        return None
    places = [v.source.get("span") for v in (low, high) if isinstance(v.source, dict)]
    if len(places) != 2 or None in places or low.number <= high.number:
        return None
    first, second = ((int(place[0]), int(place[1])) for place in places if place is not None)
    if second[0] < first[1] or not _RANGE.fullmatch(problem.text[first[1] : second[0]]):
        return None
    return first, second
