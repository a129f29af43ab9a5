"""Balances as stacked areas: what feeds a bus goes up, what it feeds goes down.

Any constraint of the category Supply-Demand Balance that runs over time is one, whoever wrote it.
Its additive terms are evaluated at the plan, and a sum over units is drawn unit by unit.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from engiagent.blueprint.elaborate import Elaboration
from engiagent.blueprint.elements import ConstraintDef
from engiagent.blueprint.grammar import (
    Binary,
    Binder,
    Compare,
    Node,
    Reduce,
    Ref,
    Text,
    Unary,
    parse,
    walk,
)
from engiagent.blueprint.grid import Grid, bind_set
from engiagent.errors import EngiagentError
from engiagent.report.charts.palette import STYLES
from engiagent.report.charts.panels import Curve, Panel
from engiagent.report.charts.series import Dimension, Plan, set_dimension, settled
from engiagent.report.charts.timeline import Floats
from engiagent.run.planvalues import PlanEvaluator
from engiagent.solvers.arrays import AnySolution
from engiagent.units.unit import Unit, parse_unit

BALANCE = "Supply-Demand Balance"
_SPLIT = 6
_PANELS = 6
_LEAST = 3
_LONGEST = 40
_Binders = tuple[Binder, ...]


@dataclass(frozen=True)
class _Term:
    """One additive part of a balance.

    ``up``: whether it is drawn upwards; ``fixed``: the element that stands for the binder of a sum
    of which this is a part.
    """

    node: Node
    up: bool
    label: str
    fixed: tuple[tuple[Binder, int], ...] = ()


def balance_panels(plan: Plan) -> list[Panel]:
    """Return the balances of a plan, at most six, those of reactive power last.

    One of fewer than three terms is left out: it would show one curve twice.
    """
    if plan.solution is None or plan.elaboration is None:
        return []
    panels = []
    for constraint in plan.elaboration.core.constraints:
        if constraint.category == BALANCE:
            try:
                panels += list(_panels(plan.elaboration, plan.solution, constraint))
            except (EngiagentError, KeyError):  # a plan of another blueprint has other names
                continue
    panels.sort(key=lambda panel: "var" in panel.unit)
    return panels[:_PANELS]


def _panels(
    elaboration: Elaboration, solution: AnySolution, constraint: ConstraintDef
) -> Iterator[Panel]:
    tree = parse(constraint.expression)
    if not isinstance(tree, Compare) or len(tree.operands) != 2:
        return
    binders = elaboration.binders(constraint.forall)
    dimensions = [set_dimension(elaboration.index_set(b.set)) for b in binders]
    ordered = [k for k, d in enumerate(dimensions) if d.axis.kind != "label"]
    terms = _oriented(elaboration, tree, constraint.expression)
    if not ordered or dimensions[ordered[-1]].axis.places.size < 2 or len(terms) < 2:
        return
    along = ordered[-1]
    grid, positions = elaboration.grid_with_positions(binders, constraint.where)
    unit = _unit(elaboration, terms, binders)
    evaluator = PlanEvaluator(elaboration, solution)
    shape = tuple(elaboration.index_set(b.set).size for b in binders)
    arrays = []
    for term in terms:
        values = _values(elaboration, evaluator, term, grid, binders, unit)
        full = np.full(int(np.prod(shape)), np.nan)
        full[positions] = values if term.up else -values
        arrays.append(np.moveaxis(full.reshape(shape), along, -1).reshape(-1, shape[along]))
    scale = max(float(np.abs(part[np.isfinite(part)]).max(initial=0.0)) for part in arrays)
    arrays = [settled(part, scale) for part in arrays]
    shown = [k for k, part in enumerate(arrays) if np.any(np.nan_to_num(part))]
    if len(shown) < _LEAST:
        return
    others = [d.axis.labels for k, d in enumerate(dimensions) if k != along]
    name = constraint.name or constraint.constraint_id
    for row, key in enumerate(list(product(*others))[:_PANELS]):
        title = f"{name} [{', '.join(key)}]" if key else name
        parts = [(terms[k], arrays[k][row]) for k in shown]
        yield Panel(title, str(unit), dimensions[along].axis, _curves(parts, dimensions[along]))


def _oriented(elaboration: Elaboration, tree: Compare, text: str) -> list[_Term]:
    """Return the terms, those of the left side up unless only the right one can be decided."""
    left, right = (list(_terms(elaboration, side, True, text)) for side in tree.operands)
    decided = [any(_varies(elaboration, t) for t in side) for side in (left, right)]
    swapped = decided == [False, True]
    return [
        *(replace(term, up=term.up != swapped) for term in left),
        *(replace(term, up=term.up == swapped) for term in right),
    ]


def _terms(elaboration: Elaboration, node: Node, up: bool, text: str) -> Iterator[_Term]:
    """Yield the additive parts of an expression, a sum over few labels part by part."""
    if isinstance(node, Binary) and node.op in "+-":
        yield from _terms(elaboration, node.left, up, text)
        yield from _terms(elaboration, node.right, up == (node.op == "+"), text)
    elif isinstance(node, Unary) and node.op in "+-":
        yield from _terms(elaboration, node.operand, up == (node.op == "+"), text)
    elif isinstance(node, Reduce) and (size := _members(elaboration, node)):
        binder = node.binders[0]
        labels = elaboration.index_set(binder.set).labels
        for position in range(size):
            label = f"{_label(elaboration, node.body, text)}[{labels[position]}]"
            yield _Term(node.body, up, label, ((binder, position),))
    else:
        yield _Term(node, up, _label(elaboration, node, text))


def _members(elaboration: Elaboration, node: Node) -> int:
    """Return over how many labels a sum runs; 0 for what is no sum over one short set of them."""
    if not isinstance(node, Reduce) or node.function != "sum" or node.where is not None:
        return 0
    if len(node.binders) != 1:
        return 0
    index_set = elaboration.index_set(node.binders[0].set)
    labels = set_dimension(index_set).axis.kind == "label"
    return index_set.size if labels and index_set.size <= _SPLIT else 0


def _unit(elaboration: Elaboration, terms: Sequence[_Term], binders: _Binders) -> Unit:
    """Return the unit of a balance: that of its first term that has one."""
    checker = elaboration.checker()
    scopes = (checker.scope_of((*binders, *(b for b, _ in term.fixed))) for term in terms)
    found = (checker.number(t.node, scope).unit for t, scope in zip(terms, scopes, strict=True))
    units = [unit for unit in found if unit is not None]
    if not units:
        raise EngiagentError("nothing in this balance has a unit")
    return next((unit for unit in units if unit.dimension != parse_unit("1").dimension), units[0])


def _values(
    elaboration: Elaboration,
    evaluator: PlanEvaluator,
    term: _Term,
    grid: Grid,
    binders: _Binders,
    unit: Unit,
) -> Floats:
    """Return a term on every row of a grid, shape (rows,)."""
    names = dict(grid.names)
    for binder, position in term.fixed:
        names |= bind_set(binder.names, elaboration.index_set(binder.set), np.array(position))
    checker = elaboration.checker()
    scope = checker.scope_of((*binders, *(binder for binder, _ in term.fixed)))
    typed = checker.number(term.node, scope, unit)
    values = evaluator.number(typed.node, grid.bind(names))
    return np.array(np.broadcast_to(values, (grid.size,)), dtype=np.float64)


def _varies(elaboration: Elaboration, term: _Term) -> bool:
    """Say whether a term depends on a decision."""
    symbols = [elaboration.symbols.get(n.name) for n in walk(term.node) if isinstance(n, Ref)]
    return any(s is not None and (s.kind == "variable" or s.degree > 0) for s in symbols)


def _label(elaboration: Elaboration, node: Node, text: str) -> str:
    """Return the quantity that a term is, else how it is written."""
    core = elaboration.core
    if isinstance(node, Ref):
        named = (item for group in (core.decision_variables, core.expressions) for item in group)
        found = next((item.quantity for item in named if item.name == node.name), None)
        shown = [part.value for part in node.indices if isinstance(part, Text)]
        return f"{found or node.name}[{', '.join(shown)}]" if shown else str(found or node.name)
    written = text[node.span[0] : node.span[1]].strip()
    return written if len(written) <= _LONGEST else written[: _LONGEST - 1] + "…"


def _curves(parts: Sequence[tuple[_Term, Floats]], dimension: Dimension) -> tuple[Curve, ...]:
    """Return terms as stacked curves; those beyond the styles there are become one for each way.

    A term has the same style on every panel of its balance.
    """
    places, size = dimension.axis.edges, dimension.axis.places.size
    most = STYLES if len(parts) <= STYLES else STYLES - 2
    found: dict[tuple[str, int], Floats] = {}
    for style, (term, values) in enumerate(parts):
        if not np.any(np.nan_to_num(values)):
            continue
        full = np.full(size, np.nan)
        full[slice(None) if dimension.positions is None else dimension.positions] = values
        key = (term.label, style)
        if style >= most:
            key = ("other supply", STYLES - 2) if term.up else ("other use", STYLES - 1)
            full = np.nan_to_num(full) + found.get(key, 0.0)
        found[key] = full
    return tuple(
        Curve(label, places, values, "step", "stack", style=style)
        for (label, style), values in found.items()
    )
