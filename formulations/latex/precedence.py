"""How tightly the parts of an expression bind when they are set as formulas.

A part that binds less tightly than its surroundings ask gets brackets. Fractions, roots and
absolute values carry brackets of their own.
"""

from enum import IntEnum
from typing import Final

from engiagent.blueprint.grammar import (
    Binary,
    Binder,
    Choice,
    Compare,
    Convert,
    Logic,
    Node,
    Reduce,
    Unary,
)


class Level(IntEnum):
    """From the loosest to the tightest."""

    LOOSE = 0
    OR = 1
    AND = 2
    NOT = 3
    COMPARE = 4
    SUM = 5
    PRODUCT = 6
    SIGN = 7
    POWER = 8
    ATOM = 9


_OPERATORS: Final = {
    "+": Level.SUM,
    "-": Level.SUM,
    "**": Level.POWER,
    "/": Level.POWER,
    "//": Level.ATOM,
}


def level(node: Node) -> Level:
    """Return how tightly a node binds.

    >>> from engiagent.blueprint.grammar import parse
    >>> level(parse("a + b")).name, level(parse("a * b")).name, level(parse("f[t]")).name
    ('SUM', 'PRODUCT', 'ATOM')
    """
    if isinstance(node, Convert):
        return level(node.operand)
    if isinstance(node, Binary):
        return _OPERATORS.get(node.op, Level.PRODUCT)
    if isinstance(node, Unary):
        return Level.NOT if node.op == "not" else Level.SIGN
    if isinstance(node, Logic):
        return Level.AND if node.op == "and" else Level.OR
    if isinstance(node, Compare | Binder):
        return Level.COMPARE
    if isinstance(node, Reduce):
        return Level.PRODUCT
    return Level.LOOSE if isinstance(node, Choice) else Level.ATOM


def needed(node: Binary) -> tuple[Level, Level]:
    """Return how tightly the operands of a sum, a product or a remainder must bind."""
    if node.op == "%":
        return Level.SIGN, Level.SIGN
    own = level(node)
    # A sum sign reaches to the right, so on the left of a product it needs brackets.
    left = Level.ATOM if node.op == "*" and isinstance(node.left, Reduce) else own
    if isinstance(node.right, Unary):
        return left, Level.POWER
    return left, Level(own + 1) if node.op == "-" else own
