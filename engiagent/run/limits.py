"""Limits that a blueprint puts on a variable: bounds, and constraints such as ``x[t] <= P``.

A bound that follows from given series is no limit that the problem states: the sun that there
is, or the temperature that a room never reaches.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from engiagent.blueprint.elaborate import Elaboration
from engiagent.blueprint.elements import ConstraintDef, VariableDef
from engiagent.blueprint.grammar import Binary, Binder, Compare, Node, Reduce, Ref, parse, walk
from engiagent.blueprint.timeaxis import Floats, Ints
from engiagent.errors import EngiagentError
from engiagent.units.unit import parse_unit

Side = Literal["lower", "upper"]


@dataclass(frozen=True, eq=False)
class Limit:
    """The tightest limits of one variable: an array of its shape, NaN where there is none."""

    variable: str
    side: Side
    values: Floats


def find_limits(elaboration: Elaboration) -> list[Limit]:
    """Return the limits of every variable that can be read off without solving anything."""
    return _tightest(_all(elaboration))


def find_demands(elaboration: Elaboration, names: Collection[str]) -> list[Limit]:
    """Return what constraints, hard or soft, require of some variables; a slack does not count."""
    rows = (c for c in elaboration.core.constraints if _speaks_of(c, names))
    return [
        limit
        for limit in _tightest(_of_rows(elaboration, rows, soft=True))
        if limit.variable in names
    ]


def _speaks_of(constraint: ConstraintDef, names: Collection[str]) -> bool:
    nodes = walk(parse(constraint.expression))
    return any(isinstance(node, Ref) and node.name in names for node in nodes)


def _tightest(limits: Iterable[tuple[str, Side, Floats]]) -> list[Limit]:
    found: dict[tuple[str, Side], Floats] = {}
    for name, side, values in limits:
        tighter = np.fmin if side == "upper" else np.fmax
        known = found.get((name, side))
        found[name, side] = values if known is None else tighter(known, values)
    return [Limit(name, side, values) for (name, side), values in found.items()]


def _all(elaboration: Elaboration) -> Iterator[tuple[str, Side, Floats]]:
    for variable in elaboration.core.decision_variables:
        if variable.type == "binary":
            continue  # everybody knows that it ends at 1
        try:
            yield from _bounds(elaboration, variable)
        except EngiagentError:
            continue
    yield from _of_rows(elaboration, elaboration.core.constraints)


def _of_rows(
    elaboration: Elaboration, constraints: Iterable[ConstraintDef], *, soft: bool = False
) -> Iterator[tuple[str, Side, Floats]]:
    for constraint in constraints:
        try:
            yield from _simple(elaboration, constraint, soft=soft)
        except EngiagentError:
            continue


def _bounds(elaboration: Elaboration, variable: VariableDef) -> Iterator[tuple[str, Side, Floats]]:
    binders = elaboration.binders(variable.index)
    sides: tuple[tuple[Side, int | float | str | None], ...] = (
        ("lower", variable.lower),
        ("upper", variable.upper),
    )
    for side, bound in sides:
        if isinstance(bound, str):
            if follows_series(elaboration, parse(bound), variable.name):
                continue
            values = _evaluate(elaboration, parse(bound), binders, variable.where, variable.name)
            yield variable.name, side, _on_grid(elaboration, variable.name, *values)
        elif bound is not None:
            shape = _shape(elaboration, variable.name)
            yield variable.name, side, np.full(shape, float(bound))


def follows_series(elaboration: Elaboration, node: Node, name: str) -> bool:
    """Whether a bound of a variable is worked out from series over time, and not stated."""
    unit = elaboration.symbols[name].unit
    is_temperature = unit is not None and unit.dimension == parse_unit("K").dimension
    parameters = {item.name: item for item in elaboration.core.parameters}
    for part in walk(node):
        if isinstance(part, Reduce) and _over_time(elaboration, [b.set for b in part.binders]):
            return True
        found = parameters.get(part.name) if isinstance(part, Ref) else None
        if found is None:
            continue
        if not is_temperature and _over_time(elaboration, elaboration.symbols[found.name].dims):
            return True
        if isinstance(found.value, str) and follows_series(elaboration, parse(found.value), name):
            return True
    return False


def _over_time(elaboration: Elaboration, sets: Iterable[str]) -> bool:
    return any(elaboration.index_set(name).root.kind in ("time", "instants") for name in sets)


def _simple(
    elaboration: Elaboration, constraint: ConstraintDef, *, soft: bool
) -> Iterator[tuple[str, Side, Floats]]:
    tree = parse(constraint.expression)
    if not isinstance(tree, Compare):
        return
    binders = elaboration.binders(constraint.forall)
    for op, left, right in zip(tree.ops, tree.operands, tree.operands[1:], strict=False):
        for subject, bound, upper in ((left, right, op == "<="), (right, left, op == ">=")):
            if op not in ("<=", ">=") or not _varies(elaboration, subject):
                continue
            if soft:
                bound = _without_slack(elaboration, bound, "+" if upper else "-")
            if any(_varies(elaboration, node) for node in walk(bound)):
                continue
            assert isinstance(subject, Ref)
            where, name = constraint.where, subject.name
            _, values = _evaluate(elaboration, bound, binders, where, name)
            grid = elaboration.grid(binders, where)
            sets = tuple(elaboration.index_set(d) for d in elaboration.symbols[name].dims)
            flat = elaboration.evaluator.place(subject, sets, grid).flat
            side: Side = "upper" if upper else "lower"
            yield name, side, _on_grid(elaboration, name, np.asarray(flat), values)


def _without_slack(elaboration: Elaboration, bound: Node, loosens: str) -> Node:
    """Return a bound without variables from 0 that are added to, or taken from, it last."""
    if not isinstance(bound, Binary) or bound.op != loosens or not isinstance(bound.right, Ref):
        return bound
    variables = elaboration.core.decision_variables
    starts = next((v.lower for v in variables if v.name == bound.right.name), None)
    return _without_slack(elaboration, bound.left, loosens) if starts == 0 else bound


def _evaluate(
    elaboration: Elaboration, node: Node, binders: tuple[Binder, ...], where: str | None, like: str
) -> tuple[Ints, Floats]:
    """Return the positions of a grid and an expression on it, in the unit of a variable."""
    grid, positions = elaboration.grid_with_positions(binders, where)
    checker = elaboration.checker()
    unit = elaboration.symbols[like].unit
    typed = checker.number(node, checker.scope_of(binders), unit)
    values = elaboration.evaluator.number(typed.node, grid)
    return positions, np.array(np.broadcast_to(values, (grid.size,)), dtype=np.float64)


def _on_grid(elaboration: Elaboration, name: str, flat: Ints, values: Floats) -> Floats:
    result = np.full(_shape(elaboration, name), np.nan)
    result.reshape(-1)[flat] = values
    return result


def _shape(elaboration: Elaboration, name: str) -> tuple[int, ...]:
    return tuple(elaboration.index_set(dim).size for dim in elaboration.symbols[name].dims)


def _varies(elaboration: Elaboration, node: Node) -> bool:
    if not isinstance(node, Ref) or node.name not in elaboration.symbols:
        return False
    symbol = elaboration.symbols[node.name]
    return symbol.kind == "variable" or (symbol.kind == "expression" and symbol.degree > 0)
