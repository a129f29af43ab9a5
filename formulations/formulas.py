"""Expressions of the language as formulas: one visitor, which a notation tells how to write pieces.

A part that binds less tightly than its surroundings ask gets brackets. Fractions, roots and
absolute values carry brackets of their own.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum
from typing import Any, ClassVar, Final, Generic, TypeVar

from engiagent.blueprint.grammar import (
    Binary,
    Binder,
    Call,
    Choice,
    Compare,
    Convert,
    Logic,
    Members,
    Node,
    Number,
    Reduce,
    Ref,
    Text,
    Unary,
    children,
)

T = TypeVar("T")


class Level(IntEnum):
    """How tightly a part binds, from the loosest to the tightest."""

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
_LOGICAL: Final = ("implies", "either", "complements")


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


class Formulas(ABC, Generic[T]):
    """Sets expressions as formulas in the notation of a subclass."""

    signs: ClassVar[dict[str, str]]  # how operators and relations are written

    # -- what a notation says -------------------------------------------------------------------

    @abstractmethod
    def _number(self, node: Number) -> T:
        """Return a number with its unit."""

    @abstractmethod
    def _quoted(self, text: str) -> T:
        """Return a label."""

    @abstractmethod
    def name(self, name: str, indices: Sequence[T] = ()) -> T:
        """Return a name with indices."""

    @abstractmethod
    def set_sign(self, op: str, before: bool = False) -> T:
        """Return an operator between two parts, or before one."""

    @abstractmethod
    def set_row(self, *parts: T, close: bool = False) -> T:
        """Return parts beside one another; ``close`` leaves no room between them."""

    @abstractmethod
    def build(self, shape: str, *parts: T) -> T:
        """Return parts put together.

        A shape is a pair of brackets (``()``, ``[]``, ``{}``, ``||``, ``floor``, and ``tuple`` for
        some no higher than a letter), a ``fraction``, a ``root``, what is ``squared`` in brackets,
        ``cases`` (a value, its condition, another value), or by an index the length of a step
        (``dt``) and the probability of a scenario (``prob``).
        """

    @abstractmethod
    def _joined(self, parts: Sequence[T]) -> T:
        """Return parts with commas between them."""

    @abstractmethod
    def _power(self, base: Node, exponent: Node) -> T:
        """Return a power."""

    @abstractmethod
    def _function(self, name: str, inner: T) -> T:
        """Return a function of its arguments."""

    @abstractmethod
    def _big(self, function: str, below: list[T], body: T) -> T:
        """Return a sum or another reduction over what stands below its sign."""

    # -- the visitor ----------------------------------------------------------------------------

    def node(self, node: Node, least: Level = Level.LOOSE) -> T:
        """Return a part of an expression, in brackets where it binds less than ``least``."""
        writer = _WRITERS.get(type(node))
        if writer is None:
            inner = self._joined([self.node(child) for child in children(node)])
            return self._function(type(node).__name__.lower(), inner)
        found: T = writer(self, node)
        return found if level(node) >= least else self.build("()", found)

    def summands(self, node: Node, first: str = "") -> Iterator[tuple[str, T]]:
        """Yield the terms of a sum, each with the operator before it, ``first`` at the start."""
        chain: list[tuple[str, Node, Level]] = []
        while isinstance(node, Binary) and node.op in "+-":
            chain.append((node.op, node.right, needed(node)[1]))
            node = node.left
        chain.append((first, node, Level.SUM if chain else Level.LOOSE))
        for before, part, least in reversed(chain):
            yield before, self.node(part, least)

    def binder_of(self, node: Binder) -> T:
        """Return a binder such as ``t in T``."""
        names = [self.name(name) for name in node.names]
        left = names[0] if len(names) == 1 else self.build("tuple", self._joined(names))
        return self.set_row(left, self.set_sign("in"), self.name(node.set))

    def _ref(self, node: Ref) -> T:
        return self.name(node.name, [self.node(index) for index in node.indices])

    def _unary(self, node: Unary) -> T:
        least = Level(Level.NOT + 1) if node.op == "not" else Level.SIGN
        return self.set_row(
            self.set_sign(node.op, before=True), self.node(node.operand, least), close=True
        )

    def _binary(self, node: Binary) -> T:
        if node.op in ("/", "//"):
            inner = self.build("fraction", self.node(node.left), self.node(node.right))
            return inner if node.op == "/" else self.build("floor", inner)
        if node.op == "**":
            return self._power(node.left, node.right)
        least = needed(node)
        left, right = self.node(node.left, least[0]), self.node(node.right, least[1])
        return self.set_row(left, self.set_sign(node.op), right)

    def _compare(self, node: Compare) -> T:
        least, first = Level(Level.COMPARE + 1), node.operands[0]
        if isinstance(first, Members):
            parts = [self.build("()", self._joined([self.node(part) for part in first.items]))]
        else:
            parts = [self.node(first, least)]
        for op, operand in zip(node.ops, node.operands[1:], strict=True):
            parts += [self.set_sign(op), self.node(operand, least)]
        return self.set_row(*parts)

    def _logic(self, node: Logic) -> T:
        parts = [self.node(part, Level(level(node) + 1)) for part in node.operands]
        return self._between(parts, node.op)

    def _between(self, parts: list[T], op: str) -> T:
        row = parts[:1]
        for part in parts[1:]:
            row += [self.set_sign(op), part]
        return self.set_row(*row)

    def _members(self, node: Members) -> T:
        return self.build("{}", self._joined([self.node(part) for part in node.items]))

    def _call(self, node: Call) -> T:
        inner = [self.node(part) for part in node.args]
        if node.function in ("dt", "prob"):
            return self.build(node.function, inner[0])
        if node.function == "sqrt":
            return self.build("root", inner[0])
        if node.function in ("abs", "len"):
            return self.build("||", inner[0])
        if node.function in _LOGICAL:
            return self._between(inner, node.function)
        return self._function(node.function, self._joined(inner))

    def _reduce(self, node: Reduce) -> T:
        below = [self.binder_of(binder) for binder in node.binders]
        if node.where is not None:
            below.append(self.node(node.where))
        if node.function == "sumsq":
            return self._big("sum", below, self.build("squared", self.node(node.body)))
        if node.function == "expect":
            return self._big("expect", below, self.build("[]", self.node(node.body)))
        return self._big(node.function, below, self.node(node.body, Level.PRODUCT))

    def _choice(self, node: Choice) -> T:
        parts = (node.then, node.condition, node.otherwise)
        return self.build("cases", *(self.node(part) for part in parts))


_WRITERS: Final[dict[type[Node], Callable[[Formulas[Any], Any], Any]]] = {
    Binary: Formulas._binary,
    Binder: Formulas.binder_of,
    Call: Formulas._call,
    Choice: Formulas._choice,
    Compare: Formulas._compare,
    Convert: lambda formulas, node: formulas.node(node.operand),
    Logic: Formulas._logic,
    Members: Formulas._members,
    Number: lambda formulas, node: formulas._number(node),
    Reduce: Formulas._reduce,
    Ref: Formulas._ref,
    Text: lambda formulas, node: formulas._quoted(node.value),
    Unary: Formulas._unary,
}
