"""Wrong blueprints whose model was changed: vague, unphysical or over-constrained."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from engiagent.blueprint.document import Blueprint
from engiagent.blueprint.elements import ConstraintDef, VariableDef
from engiagent.blueprint.grammar import (
    Binary,
    Compare,
    GrammarError,
    Node,
    Number,
    Ref,
    parse,
    walk,
)
from tests.mutants.numbers import Blueprints
from tests.mutants.runs import Run

# --- vague: something is missing -----------------------------------------------------------------


def requirement_dropped(run: Run) -> Blueprints:
    """Drop every constraint in turn."""
    for dropped in run.blueprint.core.constraints:
        yield dropped.constraint_id, _with_constraint(run, dropped, None)


def requirement_softened(run: Run) -> Blueprints:
    """Call every hard constraint a wish."""
    for constraint in run.blueprint.core.constraints:
        if constraint.hard:
            yield (
                constraint.constraint_id,
                _with_constraint(run, constraint, replace(constraint, hard=False)),
            )


def limit_dropped(run: Run) -> Blueprints:
    """Drop every bound that a parameter gives to a variable."""
    for definition in run.blueprint.core.decision_variables:
        loose = {"lower": replace(definition, lower=-1e6), "upper": replace(definition, upper=1e6)}
        for side, wide in loose.items():
            if isinstance(getattr(definition, side), str):
                yield (
                    f"{side} bound of {definition.quantity}",
                    _with_variable(run, definition, wide),
                )


def sign_of_variable_freed(run: Run) -> Blueprints:
    """Let what cannot be negative be negative."""
    for definition in run.blueprint.core.decision_variables:
        if definition.lower == 0:
            wide = replace(definition, lower=-1e6)
            yield str(definition.quantity), _with_variable(run, definition, wide)


def wholeness_dropped(run: Run) -> Blueprints:
    """Let a number of things be a fraction."""
    for definition in run.blueprint.core.decision_variables:
        if definition.type in ("integer", "binary"):
            upper = 1 if definition.type == "binary" else definition.upper
            loose = replace(definition, type="continuous", lower=definition.lower or 0, upper=upper)
            yield definition.name, _with_variable(run, definition, loose)


def only_once(run: Run) -> Blueprints:
    """Ask a constraint of the first element only."""
    yield from _where(run, "{0} == first({1})")


def not_at_the_end(run: Run) -> Blueprints:
    """Ask a constraint of all elements but the last."""
    yield from _where(run, "{0} != last({1})")


def _where(run: Run, condition: str) -> Blueprints:
    """Ask every constraint of fewer elements of each of its sets."""
    for constraint in run.blueprint.core.constraints:
        for k, binder in enumerate(constraint.forall):
            name, _, over = binder.partition(" in ")
            if " " in over.strip():
                continue
            where = condition.format(name.strip(), over.strip())
            if constraint.where:
                where = f"({constraint.where}) and {where}"
            changed = replace(constraint, where=where)
            yield f"{constraint.constraint_id}[{k}]", _with_constraint(run, constraint, changed)


def cost_left_out(run: Run) -> Blueprints:
    """Leave a term out of the objective."""
    yield from _objective(run, _without_term)


# --- violated physics ----------------------------------------------------------------------------


def equation_relaxed(run: Run) -> Blueprints:
    """Ask for at least, or at most, where equality is meant."""
    yield from _expressions(run, lambda text: _other_relations(text, "==", ("<=", ">=")))


def relation_turned(run: Run) -> Blueprints:
    """Turn at most into at least, and the other way round."""

    def change(text: str) -> Iterator[tuple[str, str]]:
        yield from _other_relations(text, "<=", (">=",))
        yield from _other_relations(text, ">=", ("<=",))

    yield from _expressions(run, change)


def term_left_out(run: Run) -> Blueprints:
    """Leave a term out of a sum."""
    yield from _expressions(run, _without_term)


def plus_for_minus(run: Run) -> Blueprints:
    """Add what is to be subtracted, and the other way round."""
    yield from _expressions(run, lambda text: _operators(text, {"+": "-", "-": "+"}))


def times_for_divided(run: Run) -> Blueprints:
    """Multiply where division is meant, and the other way round."""
    yield from _expressions(run, lambda text: _operators(text, {"*": "/", "/": "*"}))


def factor_left_out(run: Run) -> Blueprints:
    """Leave a factor out of a product: an efficiency, a step, a price."""
    yield from _expressions(run, _without_factor)


def offset_left_out(run: Run) -> Blueprints:
    """Write the state now for the state at the end of the step, and the other way round."""

    def change(text: str) -> Iterator[tuple[str, str]]:
        for node in _nodes(text):
            if isinstance(node, Ref):
                for index in node.indices:
                    if isinstance(index, Binary) and isinstance(index.left, Ref):
                        yield f"{node.name}[{index.left.name}]", _cut(text, index, index.left.name)

    yield from _expressions(run, change)


def other_variable(run: Run) -> Blueprints:
    """Write one variable where another of its unit and index is meant."""
    variables = run.blueprint.core.decision_variables

    def change(text: str) -> Iterator[tuple[str, str]]:
        for node in _nodes(text):
            if not isinstance(node, Ref):
                continue
            own = next((v for v in variables if v.name == node.name), None)
            for other in variables:
                if own and other is not own and (other.unit, other.index) == (own.unit, own.index):
                    start = node.span[0]
                    yield (
                        f"{other.name} for {own.name}",
                        (text[:start] + other.name + text[start + len(own.name) :]),
                    )

    yield from _expressions(run, change)


def objective_misread(run: Run) -> Blueprints:
    """Change a sign, a factor or a series of the objective."""

    def change(text: str) -> Iterator[tuple[str, str]]:
        yield from _operators(text, {"+": "-", "-": "+"})
        yield from _without_factor(text)

    yield from _objective(run, change)


def sense_turned(run: Run) -> Blueprints:
    """Minimise what is to be maximised, and the other way round."""
    objective = run.blueprint.core.objective_function
    if objective is not None:
        turned = replace(objective, sense="maximize")
        if objective.sense == "maximize":
            turned = replace(objective, sense="minimize")
        yield str(turned.sense), run.blueprint.with_core(objective_function=turned)


# --- over-constrained ----------------------------------------------------------------------------


def inequality_to_equation(run: Run) -> Blueprints:
    """Ask for equality where a limit is meant."""

    def change(text: str) -> Iterator[tuple[str, str]]:
        yield from _other_relations(text, "<=", ("==",))
        yield from _other_relations(text, ">=", ("==",))

    yield from _expressions(run, change)


def limit_tightened(run: Run) -> Blueprints:
    """Use nine tenths of every bound that a parameter gives."""
    for definition in run.blueprint.core.decision_variables:
        upper, lower = definition.upper, definition.lower
        if isinstance(upper, str):
            tight = replace(definition, upper=f"0.9*({upper})")
            yield f"upper bound of {definition.name}", _with_variable(run, definition, tight)
        if isinstance(lower, str):
            tight = replace(definition, lower=f"1.1*({lower})")
            yield f"lower bound of {definition.name}", _with_variable(run, definition, tight)


def wholeness_added(run: Run) -> Blueprints:
    """Ask for whole numbers where fractions are allowed."""
    for definition in run.blueprint.core.decision_variables:
        if definition.type == "continuous" and definition.role == "decision":
            whole = replace(definition, type="integer")
            yield definition.name, _with_variable(run, definition, whole)


def _added(run: Run, word: str, forall: tuple[str, ...], expression: str, where: Any = None) -> Any:
    constraint = ConstraintDef(
        constraint_id=f"added_{word}", forall=forall, expression=expression, where=where
    )
    return f"{word}: {expression}", run.blueprint.with_core(
        constraints=(*run.blueprint.core.constraints, constraint)
    )


def _over_time(run: Run) -> Iterator[tuple[VariableDef, str]]:
    """Yield decisions over one time set, with its name."""
    timed = {s.name for s in run.blueprint.core.sets if s.kind == "time"}
    for definition in run.blueprint.core.decision_variables:
        index = [item.partition(" in ")[2].strip() or item for item in definition.index]
        if definition.role == "decision" and len(index) == 1 and index[0] in timed:
            yield definition, index[0]


def idle_in_an_hour(run: Run) -> Blueprints:
    """Forbid a decision in the hour in which the best plan uses it most."""
    for definition, over in _over_time(run):
        values = run.schedule[definition.name].values
        hour = int(values.argmax())
        if values[hour] > 0:
            label = "first" if hour == 0 else "last" if hour == len(values) - 1 else None
            place = f"{label}({over})" if label else f"t - {hour} == first({over})"
            where = f"t == {place}" if label else place
            yield _added(run, "idle", (f"t in {over}",), f"{definition.name}[t] <= 0", where)


def never_falling(run: Run) -> Blueprints:
    """Let a decision only rise over time."""
    for definition, over in _over_time(run):
        text = f"{definition.name}[t] >= {definition.name}[t-1]"
        yield _added(run, "rising", (f"t in {over}",), text, f"t != first({over})")


def closed_at_the_end(run: Run) -> Blueprints:
    """Demand that a state ends exactly where it began."""
    instants = {s.name for s in run.blueprint.core.sets if s.kind == "instants"}
    for definition in run.blueprint.core.decision_variables:
        index = [item.partition(" in ")[2].strip() or item for item in definition.index]
        if definition.role == "state" and len(index) == 1 and index[0] in instants:
            over = index[0]
            text = f"{definition.name}[last({over})] == {definition.name}[first({over})]"
            yield _added(run, "closed", (), text)


def together_limited(run: Run) -> Blueprints:
    """Limit the sum of two decisions by the larger of what each does in the best plan."""
    found = list(_over_time(run))
    for k, (one, over) in enumerate(found):
        for two, other in found[k + 1 :]:
            if over == other and one.unit == two.unit and one.unit is not None:
                most = max(float(run.schedule[v.name].max()) for v in (one, two))
                text = f"{one.name}[t] + {two.name}[t] <= {0.8 * most:.6f}[{one.unit}]"
                yield _added(run, "together", (f"t in {over}",), text)


# --- editing -------------------------------------------------------------------------------------

Change = Callable[[str], Iterator[tuple[str, str]]]


def _with_constraint(run: Run, old: ConstraintDef, new: ConstraintDef | None) -> Blueprint:
    changed = [c if c is not old else new for c in run.blueprint.core.constraints]
    return run.blueprint.with_core(constraints=tuple(c for c in changed if c is not None))


def _with_variable(run: Run, old: VariableDef, new: VariableDef) -> Blueprint:
    variables = run.blueprint.core.decision_variables
    return run.blueprint.with_core(
        decision_variables=tuple(new if v is old else v for v in variables)
    )


def _expressions(run: Run, change: Change) -> Blueprints:
    """Change the expression of every constraint in every way."""
    for constraint in run.blueprint.core.constraints:
        for word, text in change(constraint.expression):
            changed = replace(constraint, expression=text)
            where = f"{constraint.constraint_id}: {word}"
            yield where, _with_constraint(run, constraint, changed)


def _objective(run: Run, change: Change) -> Blueprints:
    objective = run.blueprint.core.objective_function
    if objective is not None and isinstance(objective.expression, str):
        for word, text in change(objective.expression):
            changed = replace(objective, expression=text, components=())
            yield word, run.blueprint.with_core(objective_function=changed)


def _nodes(text: str) -> Iterator[Node]:
    try:
        yield from walk(parse(text))
    except GrammarError:
        return


def _cut(text: str, node: Node, new: str) -> str:
    start, stop = node.span
    return text[:start] + new + text[stop:]


def _between(text: str, left: Node, right: Node, old: str, new: str) -> str | None:
    """Replace an operator between two operands, brackets and blanks around it kept."""
    start, stop = left.span[1], right.span[0]
    gap = text[start:stop]
    if gap.count(old) != 1:
        return None
    return text[:start] + gap.replace(old, new) + text[stop:]


def _operators(text: str, other: dict[str, str]) -> Iterator[tuple[str, str]]:
    for node in _nodes(text):
        if isinstance(node, Binary) and node.op in other and not _is_index(text, node):
            changed = _between(text, node.left, node.right, node.op, other[node.op])
            if changed is not None:
                yield f"{other[node.op]} at {node.right.span[0]}", changed


def _is_index(text: str, node: Node) -> bool:
    """Whether an operation stands inside an index, where it is an offset."""
    before, after = text[: node.span[0]], text[node.span[1] :]
    return bool(re.search(r"\w\[[^\[\]]*$", before)) and after.lstrip()[:1] in ("]", ",")


def _other_relations(text: str, old: str, new: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for node in _nodes(text):
        if isinstance(node, Compare):
            for k, op in enumerate(node.ops):
                if op == old:
                    for other in new:
                        left, right = node.operands[k], node.operands[k + 1]
                        changed = _between(text, left, right, old, other)
                        if changed is not None:
                            yield f"{other} for {old}", changed


def _without_term(text: str) -> Iterator[tuple[str, str]]:
    for node in _nodes(text):
        if isinstance(node, Binary) and node.op in "+-" and not _is_index(text, node):
            right, left = (text[slice(*part.span)] for part in (node.right, node.left))
            yield f"without {right}", _cut(text, node, f"({left})")
            sign = "-" if node.op == "-" else ""
            yield f"without {left}", _cut(text, node, f"({sign}({right}))")


def _without_factor(text: str) -> Iterator[tuple[str, str]]:
    for node in _nodes(text):
        if isinstance(node, Binary) and node.op in "*/" and not isinstance(node.right, Number):
            right, left = (text[slice(*part.span)] for part in (node.right, node.left))
            yield f"without {right}", _cut(text, node, f"({left})")
            if node.op == "*":
                yield f"without {left}", _cut(text, node, f"({right})")
