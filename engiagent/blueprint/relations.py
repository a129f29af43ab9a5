"""What a constraint may say: a comparison, or one of the logical functions over comparisons.

``implies(on[t], P[t] >= 5)``, ``either(x <= 2, x >= 7)``, ``exclusive(charge[t], discharge[t])``
and ``complements(price - cost >= 0, output >= 0)`` state constraints and have no value.
"""

from collections.abc import Iterator
from dataclasses import replace

from engiagent.blueprint.grammar import LOGICAL, Call, Compare, Logic, Node, Number, Ref, Unary
from engiagent.blueprint.symbols import ONE, Scope, Typed, type_error
from engiagent.blueprint.typecheck import TypeChecker

MAX_CLAUSES = 64

Literal = tuple[Ref, bool]
"""A binary variable and the value, true for 1, at which the literal holds."""


def checked_relation(checker: TypeChecker, node: Node, scope: Scope) -> Typed:
    """Check a constraint.

    Returns the checked tree: a ``Compare``, or a ``Call`` of one of the logical functions whose
    arguments are checked.
    """
    if isinstance(node, Call) and node.function in LOGICAL:
        return _RULES[node.function](checker, node, scope)
    return checker.comparison(node, scope)


def comparisons(node: Node) -> tuple[Compare, ...]:
    """Return the comparisons of a checked relation: itself, or those that ``and`` joins."""
    if isinstance(node, Compare):
        return (node,)
    assert isinstance(node, Logic)
    return tuple(part for item in node.operands for part in comparisons(item))


def numeric_parts(node: Node) -> Iterator[Node]:
    """Yield every numeric expression of a checked constraint."""
    if isinstance(node, Compare):
        yield from node.operands
    elif isinstance(node, Call) and node.function in LOGICAL:
        for part in node.args:
            yield from numeric_parts(part)
    elif isinstance(node, Logic):
        for part in node.operands:
            yield from numeric_parts(part)
    elif isinstance(node, Unary) and node.op == "not":
        yield from numeric_parts(node.operand)
    else:
        yield node


def clauses(node: Node) -> tuple[tuple[Literal, ...], ...]:
    """Return a checked condition on binaries as an ``or`` of ``and`` s of literals."""
    found = _clauses(node, True)
    if len(found) > MAX_CLAUSES:
        raise type_error(
            "EB010",
            f"written out, this condition has {len(found)} cases",
            node,
            "use several constraints, or a binary variable for a part of it",
        )
    return found


def _clauses(node: Node, wanted: bool) -> tuple[tuple[Literal, ...], ...]:
    if isinstance(node, Ref):
        return (((node, wanted),),)
    if isinstance(node, Unary):
        return _clauses(node.operand, not wanted)
    if isinstance(node, Compare):
        reference, number = node.operands
        assert isinstance(reference, Ref)
        assert isinstance(number, Number)
        return (((reference, (number.value == 1.0) == wanted),),)
    assert isinstance(node, Logic)
    parts = [_clauses(part, wanted) for part in node.operands]
    if (node.op == "or") == wanted:
        return tuple(clause for part in parts for clause in part)
    joined: tuple[tuple[Literal, ...], ...] = ((),)
    for part in parts:
        joined = tuple(left + right for left in joined for right in part)
        if len(joined) > MAX_CLAUSES:
            return joined
    return joined


def _relation(checker: TypeChecker, node: Node, scope: Scope) -> Typed:
    """Check what ``implies`` and ``either`` hold: a comparison, or several joined by ``and``."""
    if isinstance(node, Logic) and node.op == "and":
        parts = [_relation(checker, part, scope) for part in node.operands]
        return _joined(parts, replace(node, operands=tuple(part.node for part in parts)))
    return checker.comparison(node, scope)


def _activation(checker: TypeChecker, node: Node, scope: Scope) -> Node:
    """Check a condition on binary variables."""
    if isinstance(node, Logic):
        parts = tuple(_activation(checker, part, scope) for part in node.operands)
        return replace(node, operands=parts)
    if isinstance(node, Unary) and node.op == "not":
        return replace(node, operand=_activation(checker, node.operand, scope))
    if isinstance(node, Compare):
        return _binary_is(checker, node, scope)
    return _binary(checker, node, scope)


def _binary_is(checker: TypeChecker, node: Compare, scope: Scope) -> Node:
    left, right = node.operands[0], node.operands[-1]
    if isinstance(left, Number):
        left, right = right, left
    plain = isinstance(right, Number) and right.unit is None and right.value in (0.0, 1.0)
    if node.ops != ("==",) or not plain:
        raise type_error(
            "EB010",
            "only b == 0 and b == 1 can be asked of a binary here",
            node,
            "as in implies(on[t] == 1, P[t] >= 5[kW])",
        )
    return replace(node, operands=(_binary(checker, left, scope), right))


def _binary(checker: TypeChecker, node: Node, scope: Scope) -> Ref:
    symbol = checker.symbols.get(node.name) if isinstance(node, Ref) else None
    if symbol is None or not symbol.binary:
        hint = "put a condition on data into the constraint's 'where'"
        raise type_error("EB010", "a binary variable is needed here", node, hint)
    checked = checker.check(node, scope).node
    assert isinstance(checked, Ref)
    return checked


def _joined(parts: list[Typed], node: Node) -> Typed:
    """Return the condition that checked parts are put together to."""
    units = {part.unit for part in parts}
    unit = units.pop() if len(units) == 1 else ONE
    return Typed(node, "condition", unit, max(part.degree for part in parts))


def _implies(checker: TypeChecker, node: Call, scope: Scope) -> Typed:
    condition = _activation(checker, node.args[0], scope)
    clauses(condition)
    relation = _relation(checker, node.args[1], scope)
    return replace(relation, node=replace(node, args=(condition, relation.node)))


def _either(checker: TypeChecker, node: Call, scope: Scope) -> Typed:
    parts = [_relation(checker, part, scope) for part in node.args]
    return _joined(parts, replace(node, args=tuple(part.node for part in parts)))


def _exclusive(checker: TypeChecker, node: Call, scope: Scope) -> Typed:
    parts = [checker.operand(part, scope) for part in node.args]
    for part, given in zip(parts, node.args, strict=True):
        checker.refuse_point(part, given)
    found = _joined(parts, replace(node, args=tuple(part.node for part in parts)))
    return replace(found, unit=ONE)


def _complements(checker: TypeChecker, node: Call, scope: Scope) -> Typed:
    parts = []
    for part in node.args:
        if not isinstance(part, Compare) or len(part.ops) != 1 or part.ops[0] not in ("<=", ">="):
            hint = "write complements(F[t] >= 0, x[t] >= 0)"
            raise type_error("EB010", "complements needs two inequalities", part, hint)
        parts.append(checker.comparison(part, scope))
    return _joined(parts, replace(node, args=tuple(part.node for part in parts)))


_RULES = {
    "complements": _complements,
    "either": _either,
    "exclusive": _exclusive,
    "implies": _implies,
}
