"""What is left of a blueprint when only some of it may count.

Every function here takes demands away and adds none, so that what has no solution afterwards had
none before.
"""

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from engiagent.blueprint import Blueprint
from engiagent.blueprint.elements import ConstraintDef, Core, ObjectiveDef, VariableDef
from engiagent.blueprint.grammar import GrammarError, Ref, parse, walk

NOTHING = ObjectiveDef(name="nothing", sense="minimize", expression="0", unit="1")


def names_in(text: object) -> set[str]:
    """Return the names in an expression, none for a number, an absent one or an unreadable one."""
    if not isinstance(text, str):
        return set()
    try:
        return {node.name for node in walk(parse(text)) if isinstance(node, Ref)}
    except GrammarError:
        return set()


def without_gaps(blueprint: Blueprint) -> Blueprint:
    """Return an expanded blueprint without objective, wishes, and all that rests on missing values.

    A constraint that cannot be evaluated is left out, and so is a bound; a set or expression that
    rests on a missing value takes what uses it along.
    """
    core = blueprint.core
    gone = _gone(core)
    variables = tuple(
        _unbounded(v, gone)
        for v in core.decision_variables
        if v.name not in gone and not _over(v.index, gone) and not names_in(v.where) & gone
    )
    gone |= {v.name for v in core.decision_variables} - {v.name for v in variables}
    constraints = tuple(
        c
        for c in core.constraints
        if c.hard is not False and c.penalty is None and not _uses(c, gone)
    )
    small = Core(
        sets=tuple(s for s in core.sets if s.name not in gone),
        parameters=tuple(p for p in core.parameters if p.name not in gone),
        decision_variables=variables,
        expressions=tuple(e for e in core.expressions if e.name not in gone),
        objective_function=NOTHING,
        constraints=constraints,
    )
    return Blueprint(
        schema=blueprint.schema,
        kind=blueprint.kind,
        modeling_context=blueprint.modeling_context,
        core_model_elements=small,
    )


def only(blueprint: Blueprint, constraints: Collection[str], bounds: Collection[Any]) -> Blueprint:
    """Return a blueprint with some of its constraints and bounds.

    ``constraints`` are ids, ``bounds`` pairs of a variable and ``lower`` or ``upper``.
    """
    core = blueprint.core
    variables = tuple(
        replace(
            v,
            lower=v.lower if (v.name, "lower") in bounds else None,
            upper=v.upper if (v.name, "upper") in bounds else None,
        )
        for v in core.decision_variables
    )
    kept = tuple(c for c in core.constraints if c.constraint_id in constraints)
    return replace(
        blueprint, core_model_elements=replace(core, decision_variables=variables, constraints=kept)
    )


def _gone(core: Core) -> set[str]:
    gone = {p.name for p in core.parameters if p.status == "missing"}
    uses: dict[str, set[str]] = {}
    for parameter in core.parameters:
        uses[parameter.name] = names_in(parameter.value) | _sets_of(parameter.index)
    for index_set in core.sets:
        of = index_set.of if isinstance(index_set.of, tuple) else (index_set.of,)
        uses[index_set.name] = names_in(index_set.where) | {name for name in of if name}
    for expression in core.expressions:
        used = names_in(expression.expression) | names_in(expression.where)
        uses[expression.name] = used | _sets_of(expression.index)
    while more := {name for name, used in uses.items() if name not in gone and used & gone}:
        gone |= more
    return gone


def _sets_of(index: Collection[str]) -> set[str]:
    """Return the names in ``t in T`` or ``T``."""
    return {word for binder in index for word in binder.replace(",", " ").split()}


def _over(index: Collection[str], gone: set[str]) -> bool:
    return bool(_sets_of(index) & gone)


def _unbounded(variable: VariableDef, gone: set[str]) -> VariableDef:
    lower, upper = (
        None if names_in(bound) & gone else bound for bound in (variable.lower, variable.upper)
    )
    return replace(variable, lower=lower, upper=upper)


def _uses(constraint: ConstraintDef, gone: set[str]) -> bool:
    used = names_in(constraint.expression) | names_in(constraint.where)
    return bool(used & gone) or _over(constraint.forall, gone)
