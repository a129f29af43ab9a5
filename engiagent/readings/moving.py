"""Numbers that differ, moved into a blueprint along the sources that carry them.

A number is carried by a parameter whose source it is (as the checker's data level finds it), by a
probability of a scenario, or by the start or the number of periods of the one time set. Whatever
else rests on it has to be words, or a formula in which it does not stand as a literal.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final

from engiagent.blueprint.grammar import (
    Binary,
    GrammarError,
    Node,
    Number,
    Text,
    children,
    parse,
    references,
)
from engiagent.readings.alignment import Alignment, in_si, sentence_at, sign_lost
from engiagent.readings.reading import Gap
from engiagent.text.parts import Quantity, Span
from engiagent.units.unit import UnitError, parse_unit
from engiagent.verify.figures import without_counts
from engiagent.verify.levels.literals import close_to
from engiagent.verify.levels.sources import Source, all_leaves

Json = dict[str, Any]
Pair = tuple[Quantity, Quantity]

_PROSE: Final = frozenset(
    [
        "name",
        "description",
        "symbol",
        "source_reference",
        "unit",
        "param_id",
        "constraint_id",
        "category",
        "quantity",
        "role",
        "type",
        "index",
        "kind",
        "hard",
        "sense",
        "data",
        "model",
        "of",
        "binder",
        "zone",
        "start",
        "periods",
        "step",
        "status",
        "reason",
        "content",
    ]
)


@dataclass
class Move:
    """A blueprint on its way to another text; the document is changed in place.

    Attributes
    ----------
    carried
        The numbers of the old text that something carries, changed or not, by their place.
    moved
        The numbers that differ and were moved, by their place in the old text.
    gaps
        Why the text cannot be read; empty when all is well.
    changes
        The numbers that differ, old and new.
    """

    alignment: Alignment
    document: Json
    carried: set[Span] = field(default_factory=set)
    moved: set[Span] = field(default_factory=set)
    changed_parameters: set[str] = field(default_factory=set)
    gaps: list[Gap] = field(default_factory=list)
    changes: list[Pair] = field(init=False)

    def __post_init__(self) -> None:
        self.changes = self.alignment.changed()

    @classmethod
    def of(cls, alignment: Alignment, document: Json) -> "Move":
        """Return the move of a blueprint's numbers; sets of time are left to the horizon."""
        move = cls(alignment, deepcopy(document))
        core = move.core
        for parameter in core.get("parameters", []):
            move.value(parameter, "value", str(parameter["name"]))
        for item in core.get("sets", []):
            if "probabilities" in item:
                move.value(item, "probabilities", str(item["name"]))
        return move

    @property
    def core(self) -> Json:
        """The blueprint's core."""
        core: Json = self.document["core_model_elements"]
        return core

    def pairs_in(self, *leaves: Source) -> list[Pair]:
        """Return the numbers within some sources, each old with new."""
        return [
            pair
            for span in (leaf.span for leaf in leaves if leaf.span is not None)
            for pair in self.alignment.numbers
            if span[0] < pair[0].number_span[1] and pair[0].number_span[0] < span[1]
        ]

    def refuse(self, reason: str, *pairs: Pair) -> None:
        """Record why the text cannot be read, with the words as they stand and as they stood.

        Without numbers it is a data file that does not fit: the sentence that names it is quoted.
        """
        old, new = self.alignment.old, self.alignment.new
        quotes = [
            sentence_at(text, quantity.number_span[0])
            for pair in pairs
            for text, quantity in ((new, pair[1]), (old, pair[0]))
        ]
        if not pairs:
            named = (new.text.find(n, new.body_start) for n in re.findall(r"\S+\.\w+", reason))
            quotes = [sentence_at(new, place) for place in named if place >= 0][:1]
        self.gaps.append(Gap(tuple(dict.fromkeys(quotes)), reason))

    # --- values --------------------------------------------------------------------------------

    def value(self, owner: Json, key: str, name: str) -> None:
        """Move the value of a parameter, or the probabilities of a set."""
        leaves = all_leaves(owner.get("source_reference"))
        old = list(flat(owner.get(key)))
        inside = self.pairs_in(*leaves)
        changed = [pair for pair in inside if pair in self.changes]
        if not old or not all(is_number(v) for v in old):
            return  # missing, or a formula: the inputs of which are moved
        mapped = isinstance(owner.get("unit"), dict)  # units by label
        if mapped or any(leaf.kind not in ("text", "table") for leaf in leaves):
            if changed:
                self.refuse(f"{name} rests on it in a way that no rule can follow", *changed)
            return
        unit = str(owner.get("unit") or "1")
        groups = [[leaf] for leaf in leaves]
        if len(leaves) != len(old) or len(old) == 1:
            if any(v != old[0] for v in old):
                if changed:
                    self.refuse(f"{name} has {len(old)} values, {len(leaves)} sources", *changed)
                return
            groups = [list(leaves)]
        new = [
            self.number(name, float(v), unit, group, alone=len(old) == 1)
            for v, group in zip(old if len(groups) > 1 else old[:1], groups, strict=True)
        ]
        if len(groups) == 1:
            new *= len(old)
        if not any(item is not None for item in new):
            return
        values = [v if item is None else item[0] for v, item in zip(old, new, strict=True)]
        self.write(owner, key, values, unit, name)
        if len(old) == 1 and new[0] is not None and new[0][1] != unit:
            owner["unit"] = new[0][1]

    def write(self, owner: Json, key: str, values: Sequence[Any], unit: str, name: str) -> None:
        """Write values in the shape of the old ones; refuse a sign that none of them had."""
        old = [float(v) for v in flat(owner[key])]
        new = [float(v) for v in values]
        ranges = (min(old), max(old)), (min(new), max(new))
        if not parse_unit(unit).is_point and sign_lost(*ranges):
            leaves = all_leaves(owner.get("source_reference"))
            found = [pair for pair in self.pairs_in(*leaves) if pair in self.changes]
            self.refuse(
                f"{name} becomes 0 or changes its sign, on which a reading may rest", *found
            )
            return
        written = [str(v) if isinstance(owner[key], str) else v for v in values]
        owner[key] = _shaped(owner[key], iter(written))
        self.changed_parameters.add(name)

    def number(
        self, name: str, value: float, unit: str, leaves: Iterable[Source], alone: bool
    ) -> tuple[int | float, str] | None:
        """Return the new value and its unit; None where the value stays, or nothing fits."""
        inside = self.pairs_in(*leaves)
        agreeing = [p for p in inside if _agrees(value, unit, p[0])]
        # "7.50 EUR for each MWh": the other half of the unit stands among the words
        agreeing = agreeing or [p for p in inside if close_to(value, float(p[0].exact))]
        self.carried |= {old.number_span for old, _ in agreeing}
        changed = [pair for pair in agreeing if pair in self.changes]
        if not changed:
            return None
        if len({_si(new) for _, new in agreeing}) > 1:
            self.refuse(f"{name} is stated more than once, and not alike", *agreeing)
            return None
        bare = parse_unit(unit).is_dimensionless and all(old.unit is None for old, _ in agreeing)
        whole = bare and all(old.exact.denominator == 1 for old, _ in agreeing)
        if whole and changed[0][1].exact.denominator != 1:
            self.refuse(f"{name} was a whole number without unit, a count perhaps", *changed)
            return None
        found = _converted(value, unit, *changed[0], alone=alone)
        if found is None:
            self.refuse(f"{name}: the unit cannot be followed", *changed)
            return None
        self.moved |= {old.number_span for old, _ in changed}
        return found

    # --- what else rests on a number -----------------------------------------------------------

    def check(self) -> None:
        """Refuse every number that nothing carries, or that something else rests on as well."""
        for pair in self.changes:
            if pair[0].number_span not in self.moved and not self.gaps:
                self.refuse("no parameter of the stored reading carries this number", pair)
        extended = self.document.get("extended_analysis_and_robustness") or {}
        for item in extended.get("unused") or ():
            source = Source("text", tuple(item["span"]), item.get("quote"))
            found = [pair for pair in self.pairs_in(source) if pair in self.changes]
            if found:
                self.refuse("the stored reading made no use of this number", *found)
        for owner in _owners(self.document):
            self._check_owner(owner)
        for pair in self.changes:
            self._check_twice(pair)

    def _check_twice(self, changed: Pair) -> None:
        """Refuse a number that stands elsewhere, too, and nothing carries it there."""
        old = changed[0]
        for pair in self.alignment.numbers:
            other = pair[0]
            same = other.kind == old.kind and _si(other) == _si(old)
            if same and pair not in self.changes and other.number_span not in self.carried:
                self.refuse(
                    "the same amount stands twice, and differs in one place only", changed, pair
                )

    def _check_owner(self, owner: Json) -> None:
        """Refuse where a number that differs may stand as a literal in what rests on it."""
        inside = self.pairs_in(*all_leaves(owner.get("source_reference")))
        changed = [pair for pair in inside if pair in self.changes]
        if not changed:
            return
        if owner.get("kind") in ("labels", "range", "tuples", "periods", "subset"):
            self.refuse(f"the set {owner.get('name')} rests on this number", *changed)
            return
        strings = list(_formulas(owner))
        names = {n for text in strings for n in _names(text)}
        uses = bool(names & self._with_derived())
        kept = [old for old, _ in inside if (old, _) not in changed]
        for value, unit in (found for text in strings for found in _literals(text)):
            stands = any(_literal_is(value, unit, old) for old, _ in changed)
            if value in (0.0, 1.0) and (uses or not stands):
                continue
            if stands or not any(_literal_is(value, unit, old) for old in kept):
                title = owner.get("name") or owner.get("constraint_id") or "the objective"
                self.refuse(
                    f"the number {value:g} in the formula of {title} may be this one", *changed
                )
                return

    def _with_derived(self) -> set[str]:
        """Return the parameters that changed and those that are made of them."""
        found = set(self.changed_parameters)
        items = [*self.core.get("parameters", []), *self.core.get("expressions", [])]
        for _ in items:
            found |= {
                str(item["name"])
                for item in items
                if found & set(_names(item.get("value") or item.get("expression")))
            }
        return found

    # --- places --------------------------------------------------------------------------------

    def shift(self, part: Any) -> None:
        """Move every span and quote of a part of the document to the new text, in place."""
        if isinstance(part, dict):
            span = part.get("span")
            if isinstance(span, list) and len(span) == 2:
                self._shift_one(part, (int(span[0]), int(span[1])))
            for item in part.values():
                self.shift(item)
        elif isinstance(part, list):
            for item in part:
                self.shift(item)

    def _shift_one(self, part: Json, span: Span) -> None:
        found = self.alignment.moved(span)
        if found is None:
            words = self.alignment.old.text[slice(*span)]
            self.gaps.append(Gap((" ".join(words.split()),), "a source begins or ends within it"))
            return
        part["span"] = list(found)
        if "quote" in part:
            part["quote"] = self.alignment.new.text[slice(*found)]


def _owners(part: Any) -> Iterator[Json]:
    """Yield everything in a document that names a source."""
    if isinstance(part, dict):
        if "source_reference" in part:
            yield part
        for key, item in part.items():
            if key != "source_reference":
                yield from _owners(item)
    elif isinstance(part, list):
        for item in part:
            yield from _owners(item)


def _formulas(owner: Mapping[str, Any]) -> Iterator[str]:
    """Yield what may be a formula in a thing, but not in its parts that name sources of their own.

    The value of a parameter that is a number was moved already.
    """
    for key, item in owner.items():
        if key in _PROSE or (key == "value" and all(map(is_number, flat(item)))):
            continue
        if key == "probabilities":
            continue
        yield from _texts(item)


def _texts(item: Any) -> Iterator[str]:
    if isinstance(item, str):
        yield item
    elif isinstance(item, bool):
        return
    elif isinstance(item, int | float):
        yield repr(item)
    elif isinstance(item, list):
        for part in item:
            yield from _texts(part)
    elif isinstance(item, dict) and "source_reference" not in item:
        for key, part in item.items():
            if key not in _PROSE:
                yield from _texts(part)


def _names(text: Any) -> set[str]:
    try:
        return {ref.name for ref in references(text)} if isinstance(text, str) else set()
    except GrammarError:
        return set()


def _literals(text: str) -> list[tuple[float, str | None]]:
    """Return the numbers of a formula; a text, as of a time, counts by the digits in it."""
    condition = text.split(" where ")[-1]
    try:
        return list(_numbers(parse(condition)))
    except GrammarError:
        digits = "".join(c if c.isdigit() or c == "." else " " for c in text).split()
        return [(float(d), None) for d in digits if d.replace(".", "", 1).isdigit()]


def _numbers(node: Node) -> Iterator[tuple[float, str | None]]:
    if isinstance(node, Number):
        yield node.value, node.unit
    if isinstance(node, Text):
        clock = [float(part) for part in node.value.split(":") if part.isdigit()]
        if len(clock) > 1:
            yield clock[0] + clock[1] / 60, "h"
        elif any(c.isdigit() for c in node.value) and not node.value[:1].isalpha():
            yield -1.0, None  # a stamp, which no number of the text can explain
    exponent = node.right if isinstance(node, Binary) and node.op == "**" else None
    for child in children(node):
        if child is not exponent:
            yield from _numbers(child)


def _literal_is(value: float, unit: str | None, quantity: Quantity) -> bool:
    """Whether a literal is a number of the text, units converted where both have one."""
    number = float(quantity.exact)
    if quantity.unit is None or unit is None:
        scale = 1.0 if quantity.unit is None else quantity.unit.scale
        return close_to(value, number) or close_to(value, number * scale)
    try:
        known = parse_unit(unit)
    except UnitError:
        return True
    same = known.dimension == quantity.unit.dimension
    return same and close_to(value * known.scale, number * quantity.unit.scale)


# --- numbers and units -------------------------------------------------------------------------


def is_number(value: Any) -> bool:
    """Whether a value of a document is a number, or a text that is one."""
    if isinstance(value, str):
        try:
            float(value)
        except ValueError:
            return False
        return True
    return isinstance(value, int | float) and not isinstance(value, bool)


def flat(value: Any) -> Iterator[Any]:
    """Yield the values of lists and mappings, one within another."""
    if isinstance(value, list | dict):
        for part in value.values() if isinstance(value, dict) else value:
            yield from flat(part)
    elif value is not None:
        yield value


def _shaped(old: Any, values: Iterator[Any]) -> Any:
    if isinstance(old, dict):
        return {key: _shaped(part, values) for key, part in old.items()}
    return [_shaped(part, values) for part in old] if isinstance(old, list) else next(values)


def _si(quantity: Quantity) -> tuple[Any, Fraction]:
    """Return the dimension and the exact value in SI, by which amounts are compared."""
    if quantity.unit is None:
        return quantity.unit_text, quantity.exact
    return quantity.unit.dimension, in_si(quantity)


def _agrees(value: float, unit: str, quantity: Quantity) -> bool:
    """Whether a parameter's value is this number of the text, as the data level compares them."""
    own, number = parse_unit(unit), float(quantity.exact)
    if quantity.unit is not None and _alike(own, quantity.unit):
        return close_to(own.to_si(value), quantity.unit.to_si(number))
    if quantity.unit is not None:
        return False
    return close_to(value, number) or (own.is_dimensionless and close_to(value * own.scale, number))


def _alike(one: Any, two: Any) -> bool:
    dimensions = without_counts(one.dimension) == without_counts(two.dimension)
    return dimensions and one.is_point == two.is_point


def _converted(
    value: float, unit: str, old: Quantity, new: Quantity, alone: bool
) -> tuple[int | float, str] | None:
    """Return a parameter's new value and unit.

    The unit follows the text where it was the text's; else the value is converted.
    """
    own, exact = parse_unit(unit), new.exact
    if old.unit is None or new.unit is None:
        if old.unit is not new.unit:
            return None
        # A bare 0.95 for a parameter in % was scaled when it was read.
        scaled = not close_to(value, float(old.exact))
        return _plain(exact / own.factor if scaled else exact), unit
    before, after = old.unit, new.unit
    if not _alike(own, before):  # "7.50 EUR for each MWh", or a difference written in °C
        if (before.factor, before.zero) == (after.factor, after.zero):
            return _plain(exact), unit
        return None if before.is_point else (_plain(exact * after.factor / before.factor), unit)
    if (own.factor, own.zero) == (after.factor, after.zero):
        return _plain(exact), unit
    if alone and (own.factor, own.zero) == (before.factor, before.zero):
        try:
            if parse_unit(str(after)).factor == after.factor:
                return _plain(exact), str(after)
        except UnitError:
            pass
    inside = exact * after.factor + (after.zero or 0)
    return _plain((inside - (own.zero or 0)) / own.factor), unit


def _plain(number: Fraction) -> int | float:
    return int(number) if number.denominator == 1 else float(number)
