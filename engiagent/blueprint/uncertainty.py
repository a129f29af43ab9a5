"""Uncertain parameters: how far their values may lie from those given, and where they may stand.

A value u lies within its deviation d of what is given, ``u = u0 + d*z`` with ``-1 <= z <= 1``; a
budget limits the sum of ``abs(z)`` over all elements of the parameter. A robust schedule obeys
every inequality whatever comes, and its objective is what it is worth in the worst case. That is
exact only where the number stands linearly in an inequality or in the objective; all other places
are refused here, save functions that are not linear, which the compiler finds.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engiagent.blueprint import grammar
from engiagent.blueprint.diagnostics import BlueprintError, Diagnostic, collected, located, refused
from engiagent.blueprint.elaborate import PATH, Elaboration
from engiagent.blueprint.elements import Core, FrozenMap, ParameterDef, UncertainDef
from engiagent.blueprint.grammar import LOGICAL, Binary, Call, Node, Ref, names_in, tree_of, walk
from engiagent.blueprint.sets import IndexSet
from engiagent.blueprint.values import unit_of
from engiagent.units.unit import Unit

Floats = npt.NDArray[np.float64]
Number = int | float | str
DECLARATION = "EB031"
PLACE = "EB032"
LATER_STAGE = "EB033"
SCENARIOS = "use scenarios for it, or leave its 'uncertain' out"
PLACES = {
    "where": f"a filter decides which rows there are; {SCENARIOS}",
    "bound": "write the bound as a constraint, which then holds whatever comes",
    "number": f"this has to be one number; {SCENARIOS}",
    "==": "an equality cannot hold for every value; put what it determines in its place, as a "
    "named expression, or use scenarios",
    "logic": "a logical constraint has no exact robust counterpart; write it with binaries, or "
    "use scenarios",
    "cvar": "the tail of an uncertain cost has no exact robust counterpart; use 'worst'",
}


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """An uncertain parameter."""

    name: str
    sets: tuple[IndexSet, ...]
    unit: Unit
    # nominal, deviation: values as given and how far they may lie off to either side, in ``unit``,
    # each of the shape of ``sets``; deviations of temperatures are differences
    nominal: Floats
    deviation: Floats
    # the most that the sum of all relative deviations comes to; None for a box
    budget: float | None


def uncertain_names(core: Core) -> tuple[str, ...]:
    """Return the names of the uncertain parameters, in order."""
    return tuple(p.name for p in core.parameters if p.uncertain is not None)


def reached_names(core: Core) -> frozenset[str]:
    """Return the uncertain parameters and all that is computed from one of them."""
    reached = set(uncertain_names(core))
    uses = {p.name: names_in(p.value) for p in core.parameters if isinstance(p.value, str)}
    uses |= {e.name: names_in(e.expression) for e in core.expressions}
    while more := {name for name, used in uses.items() if name not in reached and used & reached}:
        reached |= more
    return frozenset(reached)


def uncertainties(elaboration: Elaboration) -> tuple[Uncertainty, ...]:
    """Return the uncertain parameters with their numbers."""
    found: list[Uncertainty] = []
    wrong: list[Diagnostic] = []
    for position, definition in enumerate(elaboration.core.parameters):
        if definition.uncertain is None:
            continue
        path = f"{PATH}.parameters[{position}].uncertain"
        with collected(wrong):
            found.append(_uncertainty(elaboration, definition, definition.uncertain, path))
    if wrong:
        raise BlueprintError(wrong)
    return tuple(found)


def _uncertainty(
    elaboration: Elaboration, definition: ParameterDef, given: UncertainDef, path: str
) -> Uncertainty:
    def refuse(field: str, text: str, hint: str | None = None) -> BlueprintError:
        return refused(DECLARATION, f"{path}.{field}".rstrip("."), text, hint, definition.name)

    if (definition.type or "number") != "number":
        raise refuse("", "labels and elements are not uncertain; only numbers are")
    if (given.set == "budget") != (given.budget is not None):
        text = "a budget belongs to the set 'budget', and that needs one"
        raise refuse("budget", text, 'as "set": "budget", "budget": 2.5')
    by_label = isinstance(definition.unit, FrozenMap) and definition.unit_override is None
    if by_label and not isinstance(given.deviation, str):
        raise refuse("deviation", "the parameter has units by label", "write it with its unit")
    table = elaboration.table(definition.name)
    with located(f"{path}.deviation", definition.name):
        deviation = _deviation(elaboration, definition, given.deviation, table.values.shape)
    if not np.all(np.isfinite(deviation)) or np.any(deviation < 0):
        raise refuse("deviation", "a deviation is a finite number of at least 0")
    budget = None if given.budget is None else float(given.budget)
    unit = unit_of(definition)
    return Uncertainty(definition.name, table.sets, unit, table.values, deviation, budget)


def _deviation(
    elaboration: Elaboration, definition: ParameterDef, given: Number, shape: tuple[int, ...]
) -> Floats:
    """Return deviations in the parameter's unit; a bare name takes the parameter's own index."""
    if isinstance(given, int | float):
        return np.full(shape, float(given))
    tree = grammar.parse(given)
    binders = elaboration.binders(definition.index)
    checker = elaboration.checker()
    unit = unit_of(definition).difference()
    symbol = checker.symbols.get(tree.name) if isinstance(tree, Ref) else None
    if isinstance(tree, Ref) and symbol is not None and symbol.dims and not tree.indices:
        names = tuple(Ref(tree.span, name, ()) for binder in binders for name in binder.names)
        tree = Ref(tree.span, tree.name, names)
    typed = checker.number(tree, checker.scope_of(binders), unit)
    grid = elaboration.grid(binders)
    values = np.broadcast_to(elaboration.evaluator.number(typed.node, grid), (grid.size,))
    return np.array(values, dtype=np.float64).reshape(shape)


def uncertainty_findings(elaboration: Elaboration) -> tuple[Diagnostic, ...]:
    """Return what is wrong with uncertain parameters: their declarations and their places."""
    if not uncertain_names(elaboration.core):
        return ()
    found: list[Diagnostic] = []
    with collected(found):
        uncertainties(elaboration)
    core = elaboration.core
    return (*found, *_waiting(core), *_places(core, reached_names(core)))


def _waiting(core: Core) -> Iterator[Diagnostic]:
    """Yield variables that are to be decided once the uncertain values are known."""
    scenarios = {s.name for s in core.sets if s.kind in ("scenario", "subset")}
    for position, variable in enumerate(core.decision_variables):
        indexed = any(text.split(" in ")[-1].strip() in scenarios for text in variable.index)
        if variable.stage not in (None, 1) and not indexed:
            path = f"{PATH}.decision_variables[{position}].stage"
            text = "it waits for what comes, but all decisions of a robust model are made before"
            hint = "give the values by a set of kind 'scenario', and take the 'worst' of the goal"
            yield Diagnostic(LATER_STAGE, "error", path, text, None, hint, variable.name)


def _places(core: Core, reached: frozenset[str]) -> Iterator[Diagnostic]:
    """Yield every place in which an uncertain number cannot be treated exactly."""
    for path, text, kind, label in (*_fixed_texts(core), *_constraint_texts(core)):
        for name in sorted(names_in(text) & reached):
            yield _refusal(path, name, kind, label)
    for path, text, label in _expressions(core):
        tree = tree_of(text)
        for node in _structural(tree) if tree is not None else ():
            for part in walk(node):
                if isinstance(part, Ref) and part.name in reached:
                    yield _refusal(path, part.name, "where", label, part.span[0] + 1)


def _refusal(
    path: str, name: str, kind: str, label: str | None, column: int | None = None
) -> Diagnostic:
    text = f"{name} is uncertain and has no exact robust counterpart here"
    return Diagnostic(PLACE, "error", f"{PATH}.{path}", text, column, PLACES[kind], label)


def _fixed_texts(core: Core) -> Iterator[tuple[str, object, str, str | None]]:
    """Yield what has to be known beforehand: path, text, kind and name."""
    for k, s in enumerate(core.sets):
        yield f"sets[{k}].where", s.where, "where", s.name
    for k, p in enumerate(core.parameters):
        if p.uncertain is not None:
            deviation = p.uncertain.deviation
            yield f"parameters[{k}].uncertain.deviation", deviation, "number", p.name
        if p.name in names_in(p.value):
            yield f"parameters[{k}].value", p.value, "number", p.name
    for k, v in enumerate(core.decision_variables):
        place = f"decision_variables[{k}]"
        for field in ("lower", "upper"):
            yield f"{place}.{field}", getattr(v, field), "bound", v.name
        yield f"{place}.where", v.where, "where", v.name
        yield f"{place}.stage", v.stage, "where", v.name
        for item in v.initial if isinstance(v.initial, tuple) else (v.initial,):
            yield f"{place}.initial", item, "number", v.name
    for k, e in enumerate(core.expressions):
        yield f"expressions[{k}].where", e.where, "where", e.name


def _constraint_texts(core: Core) -> Iterator[tuple[str, object, str, str | None]]:
    for k, c in enumerate(core.constraints):
        label, place = c.name or c.constraint_id, f"constraints[{k}]"
        yield f"{place}.where", c.where, "where", label
        if c.penalty is not None:
            yield f"{place}.penalty.weight", c.penalty.weight, "number", label
        tree = tree_of(c.expression)
        if isinstance(tree, Call) and tree.function in LOGICAL and tree.function != "implies":
            yield f"{place}.expression", c.expression, "logic", label
        elif tree is not None and _states_equality(tree):
            yield f"{place}.expression", c.expression, "==", label
    goal = core.objective_function
    if goal is None:
        return
    for k, term in enumerate(goal.terms):
        for field in ("tolerance", "limit"):
            value = getattr(term, field)
            yield f"objective_function.terms[{k}].{field}", value, "number", term.name
    if goal.risk is not None and goal.risk.measure == "cvar":
        for path, text in goal_texts(core):
            yield path, text, "cvar", goal.name


def _states_equality(tree: Node) -> bool:
    """Whether a constraint, or what one implies, compares by ==."""
    stated = tree.args[-1] if isinstance(tree, Call) and tree.function == "implies" else tree
    parts = stated.operands if isinstance(stated, grammar.Logic) else (stated,)
    return any(isinstance(part, grammar.Compare) and "==" in part.ops for part in parts)


def goal_texts(core: Core) -> Iterator[tuple[str, object]]:
    """Yield the expressions of an objective with their paths below the core."""
    goal = core.objective_function
    if goal is not None:
        yield "objective_function.expression", goal.expression
        for k, term in enumerate(goal.terms):
            yield f"objective_function.terms[{k}].expression", term.expression
            yield f"objective_function.terms[{k}].weight", term.weight


def _expressions(core: Core) -> Iterator[tuple[str, object, str | None]]:
    for k, p in enumerate(core.parameters):
        yield f"parameters[{k}].value", p.value, p.name
    for k, e in enumerate(core.expressions):
        yield f"expressions[{k}].expression", e.expression, e.name
    for k, c in enumerate(core.constraints):
        yield f"constraints[{k}].expression", c.expression, c.name or c.constraint_id
    for path, text in goal_texts(core):
        yield path, text, core.objective_function.name if core.objective_function else None


def _structural(tree: Node) -> Iterator[Node]:
    """Yield the parts of an expression that have to be known: conditions, indices, exponents."""
    for node in walk(tree):
        if isinstance(node, grammar.Reduce) and node.where is not None:
            yield node.where
        elif isinstance(node, grammar.Choice):
            yield node.condition
        elif isinstance(node, Ref):
            yield from node.indices
        elif isinstance(node, Binary) and node.op in ("%", "//"):
            yield node
        elif isinstance(node, Binary) and node.op == "**":
            yield node.right
        elif isinstance(node, Call) and node.function == "piecewise":
            yield from node.args[1:]
