"""What a second reading leaves to its nomenclature is supplied, and every addition is recorded.

A reader who was given names, units and signs does not write them again: lower bounds of magnitudes,
declarations of quantities that are used by the names agreed on, and their index sets.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from engiagent.agents.meeting.nomenclature import Entry, Nomenclature, is_magnitude, set_names
from engiagent.blueprint import Blueprint
from engiagent.blueprint.elements import (
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
    Compare,
    Node,
    Number,
    Ref,
    Unary,
    parse,
    parse_binder,
    references,
    walk,
)
from engiagent.errors import EngiagentError
from engiagent.formulations.expansion import expand
from engiagent.verify.vocabulary import is_state


def normalise(blueprint: Blueprint, names: Nomenclature) -> tuple[Blueprint, tuple[str, ...]]:
    """Return a second reading ready to be compiled, and in words what was supplied.

    Components are expanded; quantities that are used by agreed names are declared; rows over
    the whole index that hold a single quantity become bounds too; magnitudes of the vocabulary get
    the lower bound 0 where the reading states none over their whole index.
    """
    supplied: list[str] = []
    written = blueprint.with_core(**_declared(blueprint.core, names, supplied))
    core = expand(written).core
    bounded = _from_rows(core, supplied)
    variables = []
    for v in bounded:
        known = names.entry(v.quantity or v.name)
        name = known.name if known is not None else v.quantity or v.name
        if v.quantity is None and known is not None:
            v = replace(v, quantity=known.name)
        free = v.lower is None and v.type in ("continuous", "integer")
        if free and is_magnitude(name, v.unit or "1"):
            v = replace(v, lower=0)
            supplied.append(f"{name} >= 0: a magnitude of the vocabulary")
        variables.append(v)
    done = expand(written).with_core(decision_variables=tuple(variables))
    return done, tuple(supplied)


# --- quantities by the names agreed on --------------------------------------------------------


def _declared(core: Core, names: Nomenclature, supplied: list[str]) -> dict[str, Any]:
    """Return the fields of the core in which names of the nomenclature are those of variables.

    Most of these have a dot; a name without one is the reading's own where it declares it.
    """
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


# --- rows that are bounds ----------------------------------------------------------------------


def _from_rows(core: Core, supplied: list[str]) -> list[VariableDef]:
    """Return the variables with the bounds that rows over their whole index state.

    The rows stay: a difference is reported in their words.
    """
    variables = {v.name: v for v in core.decision_variables}
    known: tuple[VariableDef | ExpressionDef, ...]
    known = (*core.decision_variables, *core.expressions)
    decided = {name for item in known for name in (item.name, item.quantity) if name}
    for row in core.constraints:
        node = parse(row.expression)
        if row.hard is False or row.where is not None or not isinstance(node, Compare):
            continue
        for op, left, right in zip(node.ops, node.operands, node.operands[1:], strict=False):
            for given, other, side in ((left, right, op), (right, left, _TURNED.get(op, ""))):
                one, factor, sign = _peeled(given, row.expression)
                side = _TURNED.get(side, "") if sign < 0 else side
                if side not in _TURNED or one is None or one.name not in variables:
                    continue
                v = variables[one.name]
                if any(isinstance(n, Ref) and n.name in decided for n in walk(other)):
                    continue
                text = row.expression[slice(*other.span)]
                limit = _limit(v, row, one, text if factor is None else f"({text})/({factor})")
                key = "upper" if side == "<=" else "lower"
                if limit is None or getattr(v, key) is not None or v.type == "semicontinuous":
                    continue
                index, text = limit
                changes: dict[str, Any] = {"index": index, key: text}
                variables[one.name] = replace(v, **changes)
                said = f"the row {row.constraint_id} as {key} bound"
                supplied.append(f"{said} of {v.quantity or v.name}")
    return [variables[v.name] for v in core.decision_variables]


_TURNED = {"<=": ">=", ">=": "<="}


def _peeled(node: Node, text: str) -> tuple[Ref | None, str | None, int]:
    """Return the quantity of ``2*x[t]``, ``-x[t]`` or ``x[t]*dt(t)``, factor and sign."""
    if isinstance(node, Ref):
        return node, None, 1
    if isinstance(node, Unary) and node.op == "-":
        ref, factor, sign = _peeled(node.operand, text)
        return ref, f"-{factor or '1'}", -sign
    if isinstance(node, Binary) and node.op == "*":
        for one, other in ((node.left, node.right), (node.right, node.left)):
            positive = isinstance(one, Number) and one.value > 0
            if (positive or (isinstance(one, Call) and one.function == "dt")) and isinstance(
                other, Ref
            ):
                return other, text[slice(*one.span)], 1
    return None, None, 1


def _limit(
    v: VariableDef, row: ConstraintDef, ref: Ref, text: str
) -> tuple[tuple[str, ...], str] | None:
    """Return index list and text of the bound, None where the row is not over the whole index."""
    if set_names(row.forall) != set_names(v.index) or v.where is not None:
        return None
    binders = [parse_binder(item) if " in " in item else None for item in row.forall]
    if any(b is None or len(b.names) != 1 for b in binders):
        return None
    own = [b.names[0] for b in binders if b is not None]
    if [i.name if isinstance(i, Ref) else None for i in ref.indices] != own:
        return None
    taken = [item.partition(" in ")[0].strip() for item in v.index if " in " in item]
    bounds = [b for b in (v.lower, v.upper) if isinstance(b, str)]
    if bounds and taken != own:
        return None  # the other bound uses the variable's own index names
    return row.forall, text
