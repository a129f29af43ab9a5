"""Expressions, indices and conditions of a blueprint as Python text for Pyomo scripts.

Every element of a set is its position, counted from 0 in the set that it was taken from; an
element of a tuple set is the tuple of its parts' positions.
"""

from collections.abc import Callable
from typing import Any, Final

from engiagent.blueprint.elaborate import Elaboration
from engiagent.blueprint.grammar import (
    Binary,
    Binder,
    Call,
    Choice,
    Convert,
    Node,
    Number,
    Reduce,
    Ref,
    Unary,
    walk,
)
from engiagent.blueprint.sets import IndexSet, is_timed
from engiagent.blueprint.uncertainty import names_in
from engiagent.formulations.scripts.naming import Names
from engiagent.formulations.scripts.pyomo_indices import (
    IndexPrinter,
    UnsaidError,
    scope_of,
    subscript,
)

_OF_ELEMENTS: Final = ("dt", "clock", "hour", "weekday", "prob", "pos")
_PRECEDENCE = {"+": 4, "-": 4, "*": 5, "/": 5, "//": 5, "%": 5, "**": 7}


class ExpressionPrinter(IndexPrinter):
    """Turns checked expressions into Python text.

    A function with a kink of something that depends on variables, as ``max(x[t], 0)``, is no
    expression for a solver; it is an ``UnsaidError``, and so is what uses it.

    Attributes
    ----------
    varying
        Names of the variables and of the expressions that depend on one.
    unsaid
        Named expressions that the script does not define.
    """

    def __init__(self, elaboration: Elaboration) -> None:
        super().__init__(elaboration)
        self.varying = self._varying()
        self.unsaid: set[str] = set()

    def _varying(self) -> frozenset[str]:
        found = set(self.variables)
        uses = {e.name: names_in(e.expression) for e in self.elaboration.core.expressions}
        while more := {name for name, used in uses.items() if name not in found and used & found}:
            found |= more
        return frozenset(found)

    def varies(self, node: Node) -> bool:
        """Whether an expression depends on decision variables."""
        return any(isinstance(part, Ref) and part.name in self.varying for part in walk(node))

    def history(self, name: str) -> str:
        """Return the name of the list of a variable's values before the first period."""
        return self.names.helper(f"{name}_before")

    # -- expressions ----------------------------------------------------------------------------

    def expression(self, node: Node, scope: dict[str, IndexSet], outer: int = 0) -> str:
        """Return a numeric expression as Python."""
        if type(node) not in _PRINTERS:
            raise UnsaidError(f"a {type(node).__name__} as a number")
        text, precedence = _PRINTERS[type(node)](self, node, scope)
        return f"({text})" if precedence < outer else text

    def _number(self, node: Number, scope: dict[str, IndexSet]) -> tuple[str, int]:
        return repr(node.value), 9 if node.value >= 0 else 6

    def _unary(self, node: Unary, scope: dict[str, IndexSet]) -> tuple[str, int]:
        return f"-{self.expression(node.operand, scope, 6)}", 6

    def _convert(self, node: Convert, scope: dict[str, IndexSet]) -> tuple[str, int]:
        text = self.expression(node.operand, scope, 5)
        if node.factor != 1.0:
            text = f"{node.factor!r} * {text}"
        return (f"{text} + {node.shift!r}", 4) if node.shift else (text, 5)

    def _binary(self, node: Binary, scope: dict[str, IndexSet]) -> tuple[str, int]:
        level = _PRECEDENCE[node.op]
        # Powers bind from the right, everything else from the left.
        from_right = int(node.op == "**")
        left = self.expression(node.left, scope, level + from_right)
        right = self.expression(node.right, scope, level + 1 - from_right)
        return f"{left} {node.op} {right}", level

    def _choice(self, node: Choice, scope: dict[str, IndexSet]) -> tuple[str, int]:
        then, other = (
            self.expression(node.then, scope, 1),
            self.expression(node.otherwise, scope, 1),
        )
        return f"{then} if {self.condition(node.condition, scope)} else {other}", 0

    def _reduce(self, node: Reduce, scope: dict[str, IndexSet]) -> tuple[str, int]:
        if node.function != "sum" and self.varies(node.body):
            raise UnsaidError(f"the {node.function} of what depends on variables")
        inner = dict(scope)
        loops = []
        for binder in node.binders:
            index_set = self.elaboration.index_set(binder.set)
            inner |= dict(scope_of([binder.names], (index_set,)))
            loops.append(f"for {_target(binder, self.names)} in {self.names.of(binder.set)}")
        where = f" if {self.condition(node.where, inner)}" if node.where is not None else ""
        body = self.expression(node.body, inner, 1)
        return f"{node.function}({body} {' '.join(loops)}{where})", 9

    def _ref(self, node: Ref, scope: dict[str, IndexSet]) -> tuple[str, int]:
        name = self.names.of(node.name)
        if node.name in scope:
            index_set = scope[node.name]
            return f"{self._list(index_set.root, 'value')}[{name}]", 9
        if node.name in self.elaboration.named:
            if node.name in self.unsaid:
                raise UnsaidError(node.name)
            named = self.elaboration.named[node.name]
            return f"{name}({', '.join(self.indices(node, named.sets, scope))})", 9
        if node.name in self.variables:
            return self._variable(node, scope)
        table = self.elaboration.table(node.name)
        return name + subscript(self.indices(node, table.sets, scope), table.sets), 9

    def _variable(self, node: Ref, scope: dict[str, IndexSet]) -> tuple[str, int]:
        variable = self.variables[node.name]
        keys = self.indices(node, variable.sets, scope)
        text = self.names.of(node.name) + (f"[{', '.join(keys)}]" if keys else "")
        if not len(variable.history):
            return text, 9
        timed = next(k for k, s in enumerate(variable.sets) if is_timed(s))
        early = f"{self.history(node.name)}[-({keys[timed]}) - 1]"
        return f"{text} if {keys[timed]} >= 0 else {early}", 0

    def _call(self, node: Call, scope: dict[str, IndexSet]) -> tuple[str, int]:
        if node.function == "prev":
            return self._prev(node, scope)
        if node.function == "len":
            assert isinstance(node.args[0], Ref)
            return f"len({self.names.of(node.args[0].name)})", 9
        if node.function in _OF_ELEMENTS:
            index_set = self._set_of(node.args[0], scope)
            element = self.index(node.args[0], scope, index_set)
            if node.function == "pos":
                if index_set.root is index_set:
                    return element, 3
                return f"list({self.names.of(index_set.name)}).index({element})", 9
            return f"{self._list(index_set.root, node.function)}[{element}]", 9
        if node.function == "piecewise":
            raise UnsaidError("a table of breakpoints")
        arguments = ", ".join(self.expression(part, scope, 1) for part in node.args)
        if node.function not in ("abs", "min", "max"):
            return f"pyo.{node.function}({arguments})", 9
        if any(self.varies(part) for part in node.args):
            raise UnsaidError(f"the {node.function} of what depends on variables")
        return f"{node.function}({arguments})", 9

    def _prev(self, node: Call, scope: dict[str, IndexSet]) -> tuple[str, int]:
        reference, start = node.args
        inner = reference.operand if isinstance(reference, Convert) else reference
        assert isinstance(inner, Ref)
        own: tuple[IndexSet | None, ...] = self.evaluator.sets_of(inner.name)
        if len(own) != len(inner.indices):
            own = (None,) * len(inner.indices)
        sets = [self._set_of(p, scope, s) for p, s in zip(inner.indices, own, strict=True)]
        which = max((k for k, s in enumerate(sets) if is_timed(s)), default=len(sets) - 1)
        back = Binary(inner.span, "-", inner.indices[which], Number((0, 0), 1.0, None))
        moved: Node = Ref(
            inner.span, inner.name, (*inner.indices[:which], back, *inner.indices[which + 1 :])
        )
        if isinstance(reference, Convert):
            moved = Convert(reference.span, moved, reference.factor, reference.shift)
        earlier = self.expression(moved, scope, 1)
        here = self.index(inner.indices[which], scope, sets[which])
        first = self.evaluator.first_of(inner, which, sets[which])
        if first < 0:
            return earlier, 0
        return f"{earlier} if {here} != {first} else {self.expression(start, scope, 1)}", 0


def _target(binder: Binder, names: Names) -> str:
    return ", ".join(names.of(name) for name in binder.names)


_PRINTERS: dict[
    type[Node], Callable[[ExpressionPrinter, Any, dict[str, IndexSet]], tuple[str, int]]
] = {
    Binary: ExpressionPrinter._binary,
    Call: ExpressionPrinter._call,
    Choice: ExpressionPrinter._choice,
    Convert: ExpressionPrinter._convert,
    Number: ExpressionPrinter._number,
    Reduce: ExpressionPrinter._reduce,
    Ref: ExpressionPrinter._ref,
    Unary: ExpressionPrinter._unary,
}
