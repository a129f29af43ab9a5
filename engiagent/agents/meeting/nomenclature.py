"""The names on which two readings of a text agree before they are written apart.

By rule from the first blueprint: quantities, units, index sets with their members, whether values
are whole, and a line of meaning. No bound, value, constraint or goal: a nomenclature says what is
spoken of, never what is said of it. A reader who was given names, units and signs does not write
them again: what a second reading leaves to its nomenclature, lower bounds of magnitudes,
declarations of quantities and their index sets, is supplied, and every addition is recorded.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from engiagent.blueprint import Blueprint
from engiagent.blueprint.document import (
    ConstraintDef,
    Core,
    ExpressionDef,
    SetDef,
    VariableDef,
    freeze,
)
from engiagent.blueprint.grammar import (
    Binary,
    Binder,
    Call,
    Node,
    Ref,
    parse,
    parse_binder,
    references,
)
from engiagent.blueprint.sets import IndexSet
from engiagent.errors import EngiagentError
from engiagent.formulations.expansion import expand
from engiagent.units.unit import UnitError, parse_unit
from engiagent.verify.documents import Declarations
from engiagent.verify.vocabulary import SERIES, is_state

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
    """Return the names of every quantity that enters a constraint or the goal of a reading."""
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


def normalise(blueprint: Blueprint, names: Nomenclature) -> tuple[Blueprint, tuple[str, ...]]:
    """Return a second reading ready to be compiled, and in words what was supplied.

    Components are expanded; quantities that are used by agreed names are declared; magnitudes of
    the vocabulary get the lower bound 0 where the reading states none.
    """
    supplied: list[str] = []
    written = blueprint.with_core(**_declared(blueprint.core, names, supplied))
    full = expand(written)
    variables = []
    for v in full.core.decision_variables:
        known = names.entry(v.quantity or v.name)
        name = known.name if known is not None else v.quantity or v.name
        if v.quantity is None and known is not None:
            v = replace(v, quantity=known.name)
        free = v.lower is None and v.type in ("continuous", "integer")
        if free and is_magnitude(name, v.unit or "1"):
            v = replace(v, lower=0)
            supplied.append(f"{name} >= 0: a magnitude of the vocabulary")
        variables.append(v)
    return full.with_core(decision_variables=tuple(variables)), tuple(supplied)


# --- quantities by the names agreed on --------------------------------------------------------


def _declared(core: Core, names: Nomenclature, supplied: list[str]) -> dict[str, Any]:
    """Return the fields of the core in which names of the nomenclature are those of variables."""
    own = {v.quantity: v.name for v in core.decision_variables if v.quantity}
    own |= {e.quantity: e.name for e in core.expressions if e.quantity}
    groups = (core.decision_variables, core.expressions, core.parameters, core.sets)
    declared = {item.name for group in groups for item in group}
    used: dict[str, list[tuple[Ref, dict[str, str]]]] = {}
    for text, scope in _texts(core):
        for ref, bound in _scoped(parse(text), scope):
            entry = names.entry(ref.name)
            if entry is None or ref.name in own or ref.name in declared or ref.name in bound:
                continue
            if "." in ref.name or ref.name == entry.name:  # others are names that components make
                used.setdefault(ref.name, []).append((ref, bound))
    sets = list(core.sets)
    added = []
    for name, uses in used.items():
        entry = names.entry(name)
        assert entry is not None
        over = _index_sets(entry, uses, sets, names, supplied)
        own[name] = name.replace(".", "_")
        binary = {"lower": 0, "upper": 1} if entry.type == "binary" else {}
        made: dict[str, Any] = {"name": own[name], "quantity": name, "index": over, **binary}
        made |= {"type": entry.type, "unit": entry.unit}
        added.append(VariableDef(**made))
        supplied.append(f"{name} is declared over {' x '.join(over) or 'nothing'}, {entry.type}")
    if not added:
        return {}
    renamed = ("constraints", "expressions", "objective_function")
    return {
        **{name: _renamed(getattr(core, name), own) for name in renamed},
        "sets": tuple(sets),
        "decision_variables": (*core.decision_variables, *added),
    }


def _texts(core: Core) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield expressions with the set of each index in scope."""
    both: tuple[ConstraintDef | ExpressionDef, ...] = (*core.constraints, *core.expressions)
    for item in both:
        binders = item.forall if isinstance(item, ConstraintDef) else item.index
        yield item.expression, _scope(parse_binder(b) for b in binders if " in " in b)
    goal = core.objective_function
    for text in () if goal is None else (goal.expression, *(t.expression for t in goal.terms)):
        if text is not None:
            yield text, {}


def _scope(binders: Iterator[Binder] | Sequence[Binder]) -> dict[str, str]:
    return {b.names[0]: b.set for b in binders if len(b.names) == 1}


def _scoped(node: Node, scope: dict[str, str]) -> Iterator[tuple[Ref, dict[str, str]]]:
    inner = scope | _scope(getattr(node, "binders", ()))
    if isinstance(node, Ref):
        yield node, inner
    for name in node.__dataclass_fields__:
        value = getattr(node, name)
        for child in value if isinstance(value, tuple) else (value,):
            if isinstance(child, Node):
                yield from _scoped(child, inner)


def _index_sets(
    entry: Entry,
    uses: Sequence[tuple[Ref, dict[str, str]]],
    sets: list[SetDef],
    names: Nomenclature,
    supplied: list[str],
) -> tuple[str, ...]:
    """Return over which sets a quantity runs: the union of its uses, instants for a state."""
    by_name = {s.name: s for s in sets}
    instants = {str(s.of): s.name for s in sets if s.kind == "instants"}
    found = []
    for place, default in enumerate(entry.sets):
        at = [(ref.indices[place], scope) for ref, scope in uses if place < len(ref.indices)]
        used = {s for index, scope in at if (s := _set_of(index, scope)) is not None}
        roots = {_root(name, by_name) for name in used}
        ends = any(isinstance(i, Binary) and i.op == "+" for i, _ in at) or is_state(entry.name)
        roots = {instants.get(name, name) if ends else name for name in roots}
        roots -= {
            str(by_name[n].of) for n in roots if n in by_name and by_name[n].kind == "instants"
        }
        chosen = next(iter(roots)) if len(roots) == 1 else default
        if chosen not in by_name:
            known = names.index(chosen)
            if known is None:
                raise EngiagentError(f"{entry.name}: there is no index set {chosen!r}")
            definition = SetDef(**{k: freeze(v) for k, v in known.declared.items()})
            if definition.of is not None and str(definition.of) not in by_name:
                whole = names.index(str(definition.of))
                periods = [s.name for s in sets if s.kind in ("time", "periods")]
                if whole is not None:
                    sets.append(SetDef(**{k: freeze(v) for k, v in whole.declared.items()}))
                elif len(periods) == 1:
                    definition = replace(definition, of=periods[0])
            sets.append(definition)
            by_name = {s.name: s for s in sets}
            supplied.append(f"the index set {chosen} of the nomenclature")
        found.append(chosen)
    return tuple(found)


def _set_of(index: Node, scope: dict[str, str]) -> str | None:
    if isinstance(index, Ref):
        return scope.get(index.name)
    if isinstance(index, Binary):
        return _set_of(index.left, scope)
    if isinstance(index, Call) and index.function in ("first", "last"):
        (inside,) = index.args
        return inside.name if isinstance(inside, Ref) else None
    return None


def _root(name: str, sets: dict[str, SetDef]) -> str:
    while name in sets and sets[name].kind == "subset":
        name = str(sets[name].of)
    return name


def _renamed(value: Any, names: dict[str, str]) -> Any:
    """Return constraints, expressions or a goal in which dotted names are variables' names."""
    if isinstance(value, tuple):
        return tuple(_renamed(item, names) for item in value)
    if value is None:
        return None
    changes: dict[str, Any] = {}
    if isinstance(value.expression, str):
        changes["expression"] = with_names(value.expression, names)
    for key in ("terms", "components"):
        if getattr(value, key, ()):
            changes[key] = () if key == "components" else _renamed(getattr(value, key), names)
    return replace(value, **changes)


def with_names(text: str, names: dict[str, str]) -> str:
    """Return an expression in which some names are replaced by others.

    Examples
    --------
    >>> with_names("2*P[t] <= cap", {"P": "pump.power"})
    '2*pump.power[t] <= cap'
    """
    places = {ref.span[0]: ref.name for ref in references(text) if ref.name in names}
    for start in sorted(places, reverse=True):
        old = places[start]
        spelt = re.match(re.escape(old).replace(r"\.", r"\s*\.\s*"), text[start:])
        length = len(old) if spelt is None else spelt.end()
        text = text[:start] + names[old] + text[start + length :]
    return text
