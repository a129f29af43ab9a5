"""The names on which two readings of a text agree before they are written apart.

By rule from the first blueprint: quantities, units, index sets with their members, whether values
are whole, and a line of meaning. No bound, value, constraint or goal: a nomenclature says what is
spoken of, never what is said of it.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from engiagent.blueprint import Blueprint
from engiagent.blueprint.elements import Core, ExpressionDef, VariableDef
from engiagent.blueprint.grammar import parse_binder, references
from engiagent.blueprint.sets import IndexSet
from engiagent.errors import EngiagentError
from engiagent.formulations.expansion import expand
from engiagent.units.unit import UnitError, parse_unit
from engiagent.verify.documents import Declarations
from engiagent.verify.vocabulary import SERIES

SHOWN: Final = 40
"""Members of a set that a prompt lists; of longer sets the first, the last and how many."""
ENDS: Final = 3
"""The same of periods, instants and ranges, whose members follow from their ends."""
_FIGURE: Final = re.compile(r"(?<![\w.])(?![01]\b)\d")
_SIGNED: Final = ("shifted_energy",)
"""Words of the vocabulary that fall below zero: energy that a load is ahead or behind."""


@dataclass(frozen=True)
class IndexName:
    """An index set: its kind, members as labels, and how a blueprint declares it."""

    name: str
    kind: str
    members: tuple[str, ...]
    declared: Mapping[str, Any]


@dataclass(frozen=True)
class Entry:
    """One quantity by its dotted name; ``sign`` is ``magnitude`` where it is never negative.

    ``unit`` is ``1`` for a pure number, ``type`` one of ``continuous``, ``integer`` and ``binary``.
    """

    name: str
    unit: str
    sets: tuple[str, ...]
    type: str
    sign: str
    meaning: str


@dataclass(frozen=True)
class Nomenclature:
    """Quantities and index sets, in the order of the blueprint that they come from."""

    entries: tuple[Entry, ...]
    sets: tuple[IndexName, ...]

    def entry(self, name: str) -> Entry | None:
        """Return the entry of a quantity; ``battery_charge`` finds ``battery.charge``."""
        for found in self.entries:
            if name in (found.name, found.name.replace(".", "_")):
                return found
        return None

    def index(self, name: str) -> IndexName | None:
        """Return an index set by its name."""
        return next((item for item in self.sets if item.name == name), None)

    def to_text(self) -> str:
        """Return the nomenclature as a prompt shows it."""
        lines = ["Quantities:"]
        for e in self.entries:
            over = f" over {' x '.join(e.sets)}" if e.sets else ""
            sign = "a magnitude, never negative" if e.sign == "magnitude" else "sign as described"
            lines.append(f"- {e.name} [{e.unit}]{over}, {e.type}, {sign}: {e.meaning}")
        lines.append("Index sets:")
        for s in self.sets:
            most = SHOWN if s.kind in ("labels", "tuples", "scenario", "subset", "union") else ENDS
            listed = s.members if len(s.members) <= most else (s.members[0], "...", s.members[-1])
            lines.append(f"- {s.name} ({s.kind}, {len(s.members)}): {', '.join(listed)}")
        return "\n".join(lines)


def nomenclature(blueprint: Blueprint, folder: Path | None = None) -> Nomenclature:
    """Return the names of every quantity that enters a constraint or the goal of a first reading.

    ``folder`` is where its data files lie, from which index sets may be read.
    """
    core = expand(blueprint).core
    declarations = Declarations(core, folder)
    used = entering(core)
    expressions = {e.name: e.expression for e in core.expressions}
    variables = {v.name for v in core.decision_variables}
    about = {c.name: c.description or c.model.replace("_", " ") for c in core.components}
    entries: list[Entry] = []
    for v in core.decision_variables:
        if v.name in used and (v.quantity or v.role != "auxiliary"):
            entries.append(_entry(declarations, v, v.type, v.unit, about))
    for e in core.expressions:
        if e.name in used and e.quantity and entering_from([e.expression], expressions) & variables:
            entries.append(_entry(declarations, e, "continuous", e.unit, about))
    unique = {entry.name: entry for entry in reversed(entries)}
    kept = tuple(entry for entry in entries if unique[entry.name] is entry)
    names = dict.fromkeys(name for entry in kept for name in entry.sets)
    return Nomenclature(kept, tuple(_index(declarations, name) for name in names))


def entering(core: Core) -> set[str]:
    """Return the names in constraints and goal, and in the expressions that these refer to."""
    texts: list[Any] = []
    for c in core.constraints:
        texts += [c.expression, c.where, None if c.penalty is None else c.penalty.weight]
    goal = core.objective_function
    if goal is not None:
        texts += [goal.expression]
        for term in goal.terms:
            texts += [term.expression, term.weight, term.limit]
    both = ((key, e.expression) for e in core.expressions for key in (e.name, e.quantity))
    found = entering_from(texts, {key: text for key, text in both if key})
    found |= {e.name for e in core.expressions if e.quantity in found}
    by_quantity = {v.quantity: v.name for v in core.decision_variables if v.quantity}
    return found | {by_quantity[name] for name in found if name in by_quantity}


def entering_from(texts: Iterable[Any], expressions: Mapping[str, str]) -> set[str]:
    """Return the names in texts, and in the expressions that these refer to."""
    found: set[str] = set()
    open_ = list(_names(texts))
    while open_:
        name = open_.pop()
        if name not in found:
            found.add(name)
            open_ += _names([expressions.get(name)])
    return found


def _names(texts: Iterable[Any]) -> Iterator[str]:
    for text in texts:
        if isinstance(text, str):
            try:
                yield from (ref.name for ref in references(text))
            except EngiagentError:
                continue  # static analysis names what is wrong with it


def set_names(index: Iterable[str]) -> tuple[str, ...]:
    """Return the sets of an index list such as ``["t in T"]`` or ``["T"]``."""
    return tuple(parse_binder(item).set if " in " in item else item for item in index)


def _entry(
    declarations: Declarations,
    definition: VariableDef | ExpressionDef,
    type_: str,
    unit: str | None,
    about: Mapping[str, str],
) -> Entry:
    name = definition.quantity or definition.name
    # A subset is a modelling choice of the first reader: the name stands for the whole set.
    over = tuple(declarations.sets[s].root.name for s in set_names(definition.index))
    owner, _, word = name.rpartition(".")
    plain = f"{word.replace('_', ' ')} of {about.get(owner, owner) or 'the problem'}"
    meaning = " ".join((definition.description or plain).split())
    if _FIGURE.search(meaning):
        meaning = plain  # a number in a description may be the limit that B has to read itself
    kind = type_ if type_ in ("integer", "binary") else "continuous"
    sign = "magnitude" if is_magnitude(name, unit or "1") else "as described"
    return Entry(name, unit or "1", over, kind, sign, meaning)


def is_magnitude(name: str, unit: str) -> bool:
    """Whether a quantity of the shared vocabulary can by its meaning not be negative.

    Examples
    --------
    >>> is_magnitude("battery.charge", "MW"), is_magnitude("zone.temperature", "degC")
    (True, False)
    >>> is_magnitude("pipe.charge", "m")  # it measures something else
    False
    """
    word = name.rpartition(".")[2]
    meanings = [group[word] for group in SERIES.values() if word in group]
    if word in _SIGNED or "." not in name:
        return False
    try:
        own = parse_unit(unit)
        known = [parse_unit(meaning.unit) for meaning in meanings]
    except UnitError:
        return False
    return any(k.dimension == own.dimension and not k.is_point for k in known)


def _index(declarations: Declarations, name: str) -> IndexName:
    found = declarations.sets[name]
    definition = next(s for s in declarations.core.sets if s.name == name)
    declared: dict[str, Any] = {"name": name, "kind": definition.kind}
    for key in ("start", "stop", "step", "periods", "zone", "cyclic", "of"):
        value = getattr(definition, key)
        if value is not None:
            declared[key] = list(value) if isinstance(value, tuple) else value
    if definition.kind in ("labels", "scenario", "tuples") and not isinstance(found.labels, range):
        declared["elements"] = [list(x) if isinstance(x, tuple) else x for x in found.labels]
    return IndexName(name, definition.kind, labels_of(found), declared)


def labels_of(index_set: IndexSet) -> tuple[str, ...]:
    """Return the members of a set as text."""
    return tuple(
        ",".join(map(str, x)) if isinstance(x, tuple) else str(x) for x in index_set.labels
    )
