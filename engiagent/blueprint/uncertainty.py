"""Uncertain parameters: how far their values may lie from those given, and where they may stand.

A value u lies within its deviation d of what is given, ``u = u0 + d*z`` with ``-1 <= z <= 1``; a
budget limits the sum of ``abs(z)`` over all elements of the parameter. A robust schedule obeys
every inequality whatever comes, and its objective is what it is worth in the worst case. That is
exact only where the number stands linearly in an inequality or in the objective; all other places
are refused here, save functions that are not linear, which the compiler finds.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engiagent.blueprint.diagnostics import BlueprintError, Diagnostic, located
from engiagent.blueprint.document import Core, FrozenMap, ParameterDef, UncertainDef
from engiagent.blueprint.elaborate import PATH, Elaboration
from engiagent.blueprint.grammar import ExpressionError, Node, Ref, parse, walk
from engiagent.blueprint.sets import IndexSet
from engiagent.blueprint.values import unit_of
from engiagent.units.unit import Unit

Floats = npt.NDArray[np.float64]
Number = int | float | str
DECLARED = "EB031"


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """An uncertain parameter.

    Attributes
    ----------
    nominal, deviation
        Values as given and how far they may lie off to either side, in ``unit``, each of the
        shape of ``sets``; deviations of temperatures are differences.
    budget
        The most that the sum of all relative deviations comes to; None for a box.
    """

    name: str
    sets: tuple[IndexSet, ...]
    unit: Unit
    nominal: Floats
    deviation: Floats
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


def names_in(text: object) -> set[str]:
    """Return the names in an expression; none for numbers and for what cannot be read."""
    tree = tree_of(text)
    return set() if tree is None else {n.name for n in walk(tree) if isinstance(n, Ref)}


# --- declarations ------------------------------------------------------------------------------


def uncertainties(elaboration: Elaboration) -> tuple[Uncertainty, ...]:
    """Return the uncertain parameters with their numbers.

    Raises
    ------
    BlueprintError
        With everything that is wrong in their declarations.
    """
    found: list[Uncertainty] = []
    wrong: list[Diagnostic] = []
    for position, definition in enumerate(elaboration.core.parameters):
        if definition.uncertain is None:
            continue
        path = f"{PATH}.parameters[{position}].uncertain"
        try:
            found.append(_uncertainty(elaboration, definition, definition.uncertain, path))
        except BlueprintError as error:
            wrong += error.diagnostics
    if wrong:
        raise BlueprintError(wrong)
    return tuple(found)


def _uncertainty(
    elaboration: Elaboration, definition: ParameterDef, given: UncertainDef, path: str
) -> Uncertainty:
    def refuse(field: str, text: str, hint: str | None = None) -> BlueprintError:
        place = f"{path}.{field}".rstrip(".")
        return BlueprintError(
            [Diagnostic(DECLARED, "error", place, text, None, hint, definition.name)]
        )

    if (definition.type or "number") != "number":
        raise refuse("", "labels and elements are not uncertain; only numbers are")
    if (given.set == "budget") != (given.budget is not None):
        raise refuse(
            "budget",
            "a budget belongs to the set 'budget', and that needs one",
            'as "set": "budget", "budget": 2.5',
        )
    by_label = isinstance(definition.unit, FrozenMap) and definition.unit_override is None
    if by_label and not isinstance(given.deviation, str):
        raise refuse("deviation", "the parameter has units by label", "write it with its unit")
    table = elaboration.table(definition.name)
    with located(f"{path}.deviation", definition.name):
        deviation = _deviation(elaboration, definition, given.deviation, table.values.shape)
    if not np.all(np.isfinite(deviation)) or np.any(deviation < 0):
        raise refuse("deviation", "a deviation is a finite number of at least 0")
    budget = None if given.budget is None else float(given.budget)
    return Uncertainty(
        definition.name, table.sets, unit_of(definition), table.values, deviation, budget
    )


def _deviation(
    elaboration: Elaboration, definition: ParameterDef, given: Number, shape: tuple[int, ...]
) -> Floats:
    """Return deviations in the parameter's unit; a bare name takes the parameter's own index."""
    if isinstance(given, int | float):
        return np.full(shape, float(given))
    tree = parse(given)
    binders = elaboration.binders(definition.index)
    checker = elaboration.checker()
    unit = unit_of(definition).difference()
    symbol = checker.symbols.get(tree.name) if isinstance(tree, Ref) else None
    if isinstance(tree, Ref) and symbol is not None and symbol.dims and not tree.indices:
        names = tuple(Ref(tree.span, name, ()) for binder in binders for name in binder.names)
        tree = Ref(tree.span, tree.name, names)
    typed = checker.number(tree, checker.scope_of(binders), unit)
    if typed.degree > 0:
        raise ExpressionError("a deviation depends on no variable", 1, None, DECLARED)
    grid = elaboration.grid(binders)
    values = np.broadcast_to(elaboration.evaluator.number(typed.node, grid), (grid.size,))
    return np.array(values, dtype=np.float64).reshape(shape)


def tree_of(text: object) -> Node | None:
    """Return an expression as a tree, None for numbers and for what cannot be read."""
    if not isinstance(text, str):
        return None
    try:
        return parse(text)
    except ExpressionError:
        return None  # whoever compiles it says what is wrong
