"""Numbers that differ, moved into a blueprint along the sources that carry them.

A number is carried by a parameter whose source it is (as the checker's data level finds it), by a
probability of a scenario, or by the start or the number of periods of the one time set. Whatever
else rests on it has to be words, or a formula in which it does not stand as a literal.
"""

import re
from collections.abc import Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final

from engiagent.blueprint.grammar import Binary, GrammarError, Number, Text, parse, walk
from engiagent.readings.alignment import Alignment, Pair, amount, in_si, sentence_at
from engiagent.readings.datafiles import Json, Shapes, sign_lost
from engiagent.readings.reading import Gap
from engiagent.text.parts import Quantity, Span
from engiagent.units.unit import Dimension, Unit, UnitError, parse_unit
from engiagent.verify.figures import close_to, without_counts
from engiagent.verify.levels.sources import Source, all_leaves

PROSE: Final = re.compile(
    "name|description|symbol|source_reference|unit|param_id|constraint_id|category|quantity|role|"
    "type|index|kind|hard|sense|data|model|of|binder|zone|start|periods|step|status|reason|content"
)
"""The keys of a blueprint under which no formula stands."""

Range = tuple[float, float]


@dataclass
class Move:
    """A blueprint on its way to another text."""

    alignment: Alignment
    # before, document: the blueprint as it was stored, and the copy into which numbers move
    before: Json
    # old_files, new_files: the shapes of the data files that the stored reading was made with, and
    # of those there are
    old_files: Shapes
    new_files: Shapes
    document: Json = field(init=False)
    # the numbers of the old text that something carries, changed or not, by their place
    carried: set[Span] = field(default_factory=set)
    # the numbers that differ and were moved, by their place in the old text
    moved: set[Span] = field(default_factory=set)
    changed_parameters: set[str] = field(default_factory=set)  # what they were moved into
    # why the text cannot be read; empty when all is well
    gaps: list[Gap] = field(default_factory=list)
    changes: list[Pair] = field(init=False)  # the numbers that differ, old and new

    def __post_init__(self) -> None:
        self.document = deepcopy(self.before)
        self.changes = [(a, b) for a, b in self.alignment.numbers if amount(a) != amount(b)]

    @property
    def core(self) -> Json:
        """The blueprint's core."""
        core: Json = self.document["core_model_elements"]
        return core

    @property
    def changed_files(self) -> list[str]:
        """The data files of both readings that differ."""
        known = [(n, self.new_files[n]) for n in self.old_files if n in self.new_files]
        return [n for n, file in known if file["sha256"] != self.old_files[n]["sha256"]]

    def pairs_in(self, leaves: Iterable[Source]) -> list[Pair]:
        """Return the numbers within some sources, each old with new."""
        return [
            pair
            for span in (leaf.span for leaf in leaves if leaf.span is not None)
            for pair in self.alignment.numbers
            if span[0] < pair[0].number_span[1] and pair[0].number_span[0] < span[1]
        ]

    def changed_in(self, leaves: Iterable[Source]) -> list[Pair]:
        """Return the numbers within some sources that differ."""
        return [pair for pair in self.pairs_in(leaves) if pair in self.changes]

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

    def values(self) -> None:
        """Move the values of parameters and the probabilities of sets."""
        for parameter in self.core.get("parameters", []):
            self._value(parameter, "value")
        for item in self.core.get("sets", []):
            self._value(item, "probabilities")

    def _value(self, owner: Json, key: str) -> None:
        name, unit = str(owner["name"]), owner.get("unit") or "1"
        leaves = all_leaves(owner.get("source_reference"))
        changed = self.changed_in(leaves)
        old = list(flat(owner.get(key)))
        if not old or not all(map(is_number, old)):
            return  # missing, or a formula: the inputs of which are moved
        each = len(leaves) == len(old) > 1
        written = all(leaf.kind in ("text", "table") for leaf in leaves)
        if not (written and isinstance(unit, str) and (each or len(set(old)) == 1)):
            if changed:
                self.refuse(f"{name} rests on it in a way that no rule can follow", *changed)
            return
        groups = [[leaf] for leaf in leaves] if each else [leaves]
        new = [self._number(name, float(old[k]), unit, own) for k, own in enumerate(groups)]
        if all(number is None for number in new):
            return
        new = new if each else new * len(old)
        values = [
            v if number is None else _plain(number) for v, number in zip(old, new, strict=True)
        ]
        if not parse_unit(unit).is_point and sign_lost(*([*map(float, v)] for v in (old, values))):
            said = f"{name} becomes 0 or changes its sign, on which a reading may rest"
            self.refuse(said, *changed)
            return
        owner[key] = _shaped(owner[key], iter(values))
        self.changed_parameters.add(name)

    def _number(self, name: str, value: float, unit: str, leaves: list[Source]) -> Fraction | None:
        """Return the new value in its unit; None where the value stays, or nothing fits."""
        inside = self.pairs_in(leaves)
        agreeing = [p for p in inside if _agrees(value, unit, p[0])]
        # "7.50 EUR for each MWh": the other half of the unit stands among the words
        agreeing = agreeing or [p for p in inside if close_to(value, float(p[0].exact))]
        self.carried |= {old.number_span for old, _ in agreeing}
        changed = [pair for pair in agreeing if pair in self.changes]
        if not changed:
            return None
        new = changed[0][1]
        bare = parse_unit(unit).is_dimensionless and all(old.unit is None for old, _ in agreeing)
        whole = bare and all(old.exact.denominator == 1 for old, _ in agreeing)
        found = _converted(value, unit, *changed[0])
        if len({amount(pair[1]) for pair in agreeing}) > 1:
            self.refuse(f"{name} is stated more than once, and not alike", *agreeing)
        elif whole and new.exact.denominator != 1:
            self.refuse(f"{name} was a whole number without unit, a count perhaps", *changed)
        elif found is None:
            self.refuse(f"{name}: the unit cannot be followed", *changed)
        else:
            self.moved |= {old.number_span for old, _ in changed}
            return found
        return None

    # --- what else rests on a number -----------------------------------------------------------

    def check(self) -> None:
        """Refuse every number that nothing carries, or that something else rests on as well."""
        for pair in self.changes:
            if pair[0].number_span not in self.moved and not self.gaps:
                self.refuse("no parameter of the stored reading carries this number", pair)
        extended = self.document.get("extended_analysis_and_robustness") or {}
        unused = [Source("text", tuple(item["span"])) for item in extended.get("unused") or ()]
        if found := self.changed_in(unused):
            self.refuse("the stored reading made no use of this number", *found)
        for owner in mappings(self.document):
            if "source_reference" in owner:
                self._check_owner(owner)
        for old, new in self.changes:
            for pair in self.alignment.numbers:
                same = pair[0].kind == old.kind and amount(pair[0]) == amount(old)
                if same and pair not in self.changes and pair[0].number_span not in self.carried:
                    said = "the same amount stands twice, and differs in one place only"
                    self.refuse(said, (old, new), pair)

    def _check_owner(self, owner: Json) -> None:
        """Refuse where a number that differs may stand as a literal in what rests on it."""
        inside = self.pairs_in(all_leaves(owner.get("source_reference")))
        changed = [pair for pair in inside if pair in self.changes]
        if not changed:
            return
        if owner.get("kind") in ("labels", "range", "tuples", "periods", "subset"):
            self.refuse(f"the set {owner.get('name')} rests on this number", *changed)
            return
        other = {k: v for k, v in owner.items() if k not in ("source_reference", "probabilities")}
        if all(map(is_number, flat(other.get("value")))):
            other.pop("value", None)  # it was moved
        for value, unit in (found for text in _texts(other) for found in _literals(text)):
            stands = any(_literal_is(value, unit, old) for old, _ in changed)
            kept = any(_literal_is(value, unit, p[0]) for p in inside if p not in changed)
            if stands or not (kept or value in (0.0, 1.0)):
                title = owner.get("name") or owner.get("constraint_id") or "the objective"
                said = f"the number {value:g} in the formula of {title} may be this one"
                self.refuse(said, *changed)
                return

    # --- places --------------------------------------------------------------------------------

    def shift(self, part: Any) -> None:
        """Move every span and quote of a part of a document to the new text, in place."""
        for item in mappings(part):
            if not isinstance(item.get("span"), list):
                continue
            span = int(item["span"][0]), int(item["span"][1])
            found = self.alignment.moved(span)
            if found is None:
                words = " ".join(self.alignment.old.text[slice(*span)].split())
                self.gaps.append(Gap((words,), "a source begins or ends within it"))
                continue
            item["span"] = list(found)
            if "quote" in item:
                item["quote"] = self.alignment.new.text[slice(*found)]


# --- documents ---------------------------------------------------------------------------------


def mappings(part: Any) -> Iterator[Json]:
    """Yield every mapping in a part of a document, one before those within it."""
    if isinstance(part, dict):
        yield part
    if isinstance(part, dict | list):
        for item in part.values() if isinstance(part, dict) else part:
            yield from mappings(item)


def is_number(value: Any) -> bool:
    """Whether a value of a document is a number, or a text that is one."""
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return not isinstance(value, bool)


def flat(value: Any) -> Iterator[Any]:
    """Yield the values of lists and mappings, one within another."""
    if isinstance(value, list | dict):
        for part in value.values() if isinstance(value, dict) else value:
            yield from flat(part)
    elif value is not None:
        yield value


def _shaped(old: Any, values: Iterator[Any]) -> Any:
    """Return values in the shape of others, as text where those are text."""
    if isinstance(old, dict):
        return {key: _shaped(part, values) for key, part in old.items()}
    if isinstance(old, list):
        return [_shaped(part, values) for part in old]
    return str(next(values)) if isinstance(old, str) else next(values)


def _texts(item: Any) -> Iterator[str]:
    """Yield what may be a formula, but not in parts that name sources of their own."""
    if isinstance(item, list):
        for part in item:
            yield from _texts(part)
    elif isinstance(item, dict) and "source_reference" not in item:
        yield from _texts([part for key, part in item.items() if not PROSE.fullmatch(key)])
    elif isinstance(item, str | int | float) and not isinstance(item, bool):
        yield str(item)


def _literals(text: str) -> Iterator[tuple[float, str | None]]:
    """Yield the numbers of a formula; a text, as of a time, counts by the digits in it."""
    try:
        nodes = list(walk(parse(text.split(" where ")[-1])))
    except GrammarError:
        yield from ((float(digits), None) for digits in re.findall(r"\d+(?:\.\d*)?|\.\d+", text))
        return
    powers = [id(n.right) for n in nodes if isinstance(n, Binary) and n.op == "**"]
    for node in nodes:
        if isinstance(node, Number) and id(node) not in powers:
            yield node.value, node.unit
        if isinstance(node, Text):
            clock = [float(part) for part in node.value.split(":") if part.isdigit()]
            if len(clock) > 1:
                yield clock[0] + clock[1] / 60, "h"
            elif any(c.isdigit() for c in node.value) and not node.value[:1].isalpha():
                yield -1.0, None  # a stamp, which no number of the text can explain


# --- numbers and units -------------------------------------------------------------------------


def _literal_is(value: float, unit: str | None, quantity: Quantity) -> bool:
    """Whether a literal is a number of the text, units converted where both have one."""
    number = float(quantity.exact)
    if quantity.unit is None or unit is None:
        scale = 1.0 if quantity.unit is None else quantity.unit.scale
        return close_to(value, number) or close_to(value, number * scale)
    try:
        known = parse_unit(unit)
    except UnitError:
        return True  # it may be: the reading is left undecided
    same = known.dimension == quantity.unit.dimension
    return same and close_to(value * known.scale, number * quantity.unit.scale)


def _agrees(value: float, unit: str, quantity: Quantity) -> bool:
    """Whether a parameter's value is this number of the text, as the data level compares them."""
    own, number = parse_unit(unit), float(quantity.exact)
    if quantity.unit is not None:
        alike = _alike(own, quantity.unit)
        return alike and close_to(own.to_si(value), quantity.unit.to_si(number))
    return close_to(value, number) or (own.is_dimensionless and close_to(value * own.scale, number))


def _alike(one: Unit, two: Unit) -> bool:
    dimensions = without_counts(one.dimension) == without_counts(two.dimension)
    return dimensions and one.is_point == two.is_point


def _converted(value: float, unit: str, old: Quantity, new: Quantity) -> Fraction | None:
    """Return a parameter's new value in its unit; None where the units allow none."""
    own, exact = parse_unit(unit), new.exact
    if old.unit is None or new.unit is None:
        if old.unit is not new.unit:
            return None
        # A bare 0.95 for a parameter in % was scaled when it was read.
        return exact if close_to(value, float(old.exact)) else exact / own.factor
    if _alike(own, old.unit):
        return (in_si(new) - (own.zero or 0)) / own.factor
    if (old.unit.factor, old.unit.zero) == (new.unit.factor, new.unit.zero):
        return exact  # "7.50 EUR for each MWh", or a difference written in °C
    return None if old.unit.is_point else exact * new.unit.factor / old.unit.factor


def _plain(number: Fraction) -> int | float:
    return int(number) if number.denominator == 1 else float(number)


# --- whether one amount passes another -----------------------------------------------------------


def check_order(move: Move) -> None:
    """Refuse where one amount of a kind passes another that the reading may rest on.

    A reading that leaves something out because one price is above another is right only as long
    as it is. Prices are compared always, other amounts where the reading makes assumptions.
    """
    extended = move.before.get("extended_analysis_and_robustness") or {}
    assumes = bool(extended.get("key_assumptions"))
    before, after = _ranges(move.before, move.old_files), _ranges(move.document, move.new_files)
    names = [name for name in before if name in after]
    for k, one in enumerate(names):
        for two in names[k + 1 :]:
            (a, dimension), (b, other) = before[one], before[two]
            money = any(len(base) == 3 and base.isupper() for base, _ in dimension)
            if dimension != other or not (money or assumes):
                continue
            was, is_now = _order(a, b), _order(after[one][0], after[two][0])
            if was not in (is_now, "crossing", "equal") or (was == "equal" != is_now and money):
                changed = [p for p in move.changes if p[0].number_span in move.moved]
                move.refuse(
                    f"{one} was {was} {two}, on which a reading may rest, and is no more", *changed
                )
                return


def _ranges(document: Json, shapes: Shapes) -> dict[str, tuple[Range, Dimension]]:
    """Return the least and the largest value of every parameter that is a number, in SI."""
    found = {}
    for item in document["core_model_elements"].get("parameters", []):
        written = item.get("unit") or "1"
        values = list(flat(item.get("value")))
        file, _, header = str(item.get("data") or "").partition("#")
        for column in shapes.get(file, {}).get("columns", []):
            if not values and column["header"] == header and column["kind"] == "number":
                values, written = [column["low"], column["high"]], column["unit"] or written
        if isinstance(written, str) and values and all(map(is_number, values)):
            unit, numbers = parse_unit(written), [float(v) for v in values]
            ends = unit.to_si(min(numbers)), unit.to_si(max(numbers))
            found[str(item["name"])] = (ends, unit.dimension)
    return found


def _order(a: Range, b: Range) -> str:
    if a == b and a[0] == a[1]:
        return "equal"
    return "below" if a[1] < b[0] else "above" if a[0] > b[1] else "crossing"
