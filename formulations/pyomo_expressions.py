"""Expressions, indices and conditions of a blueprint as Python text for Pyomo scripts.

Every element of a set is its position, counted from 0 in the set that it was taken from; an
element of a tuple set is the tuple of its parts' positions.
"""

import builtins
import keyword
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from engiagent.blueprint.checked import (
    ModelEvaluator,
    checked_variables,
)
from engiagent.blueprint.elaborate import Elaboration
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
)
from engiagent.blueprint.grid import EMPTY_GRID
from engiagent.blueprint.sets import IndexSet, is_timed
from engiagent.errors import EngiagentError

_RESERVED = frozenset(
    (*dir(builtins), "csv", "main", "math", "model", "pyo", "relation", "sys", "_")
)
_PRECEDENCE = {"+": 4, "-": 4, "*": 5, "/": 5, "//": 5, "%": 5, "**": 7}


@dataclass
class Names:
    """Python names for the blueprint's names, each used once."""

    taken: set[str] = field(default_factory=lambda: set(_RESERVED))
    known: dict[str, str] = field(default_factory=dict)

    def of(self, name: str) -> str:
        """Return the Python name of a blueprint's name."""
        if name not in self.known:
            self.known[name] = self.fresh(name)
        return self.known[name]

    def fresh(self, name: str) -> str:
        """Return a Python identifier like ``name`` that nothing else uses."""
        plain = "".join(c if c.isalnum() or c == "_" else "_" for c in name)
        while plain in self.taken or keyword.iskeyword(plain):
            plain += "_"
        self.taken.add(plain)
        return plain


class ExpressionPrinter:
    """Turns checked expressions into Python text.

    Attributes
    ----------
    names
        The Python names of everything that was met.
    helpers
        Lookup lists that the printed text needs, as lines of Python by their name.
    """

    def __init__(self, elaboration: Elaboration) -> None:
        self.elaboration = elaboration
        self.names = Names()
        self.variables = {v.definition.name: v for v in checked_variables(elaboration)}
        self.evaluator = ModelEvaluator(elaboration, self.variables)
        self.helpers: dict[str, str] = {}

    def history(self, name: str) -> str:
        """Return the name of the list of a variable's values before the first period."""
        return f"{self.names.of(name)}_before"

    # -- expressions ----------------------------------------------------------------------------

    def expression(self, node: Node, scope: dict[str, IndexSet], outer: int = 0) -> str:
        """Return a numeric expression as Python."""
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
        left = self.expression(node.left, scope, level)
        right = self.expression(node.right, scope, level + 1)
        return f"{left} {node.op} {right}", level

    def _choice(self, node: Choice, scope: dict[str, IndexSet]) -> tuple[str, int]:
        then, other = (
            self.expression(node.then, scope, 1),
            self.expression(node.otherwise, scope, 1),
        )
        return f"{then} if {self.condition(node.condition, scope)} else {other}", 0

    def _reduce(self, node: Reduce, scope: dict[str, IndexSet]) -> tuple[str, int]:
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
        if node.function in ("dt", "clock", "hour", "weekday", "pos"):
            index_set = self._set_of(node.args[0], scope)
            element = self.index(node.args[0], scope, index_set)
            if node.function == "pos":
                if index_set.root is index_set:
                    return element, 3
                return f"list({self.names.of(index_set.name)}).index({element})", 9
            return f"{self._list(index_set.root, node.function)}[{element}]", 9
        arguments = ", ".join(self.expression(part, scope, 1) for part in node.args)
        function = (
            node.function if node.function in ("abs", "min", "max") else f"math.{node.function}"
        )
        return f"{function}({arguments})", 9

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

    # -- indices and conditions -----------------------------------------------------------------

    def indices(
        self, node: Ref, sets: tuple[IndexSet, ...], scope: dict[str, IndexSet]
    ) -> list[str]:
        """Return the Python indices of a reference, one for each set of the symbol."""
        if len(node.indices) == len(sets):
            return [self.index(p, scope, s) for p, s in zip(node.indices, sets, strict=True)]
        texts, rest = [], node.indices
        for index_set in sets:
            count = len(index_set.root.factors) or 1
            factors = index_set.root.factors or (index_set,)
            pairs = zip(rest[:count], factors, strict=True)
            parts = [self.index(part, scope, factor) for part, factor in pairs]
            rest = rest[count:]
            texts.append(f"({', '.join(parts)})" if count > 1 else parts[0])
        return texts

    def index(self, node: Node, scope: dict[str, IndexSet], target: IndexSet) -> str:
        """Return an index expression as the element of ``target`` that it names."""
        if isinstance(node, Text | Number):
            elements = self.evaluator.index(node, EMPTY_GRID, target)
            return repr(element(target, int(elements.positions)))
        found = self._set_of(node, scope, target)
        if isinstance(node, Binary):
            base = self.index(node.left, scope, found)
            text = f"{base} {node.op} {self._offset(node.right, scope)}"
            to_edges = target.root.periods_of is found.root
            return f"({text}) % {found.root.size}" if found.root.cyclic and not to_edges else text
        if isinstance(node, Call):
            assert isinstance(node.args[0], Ref)
            name = self.names.of(node.args[0].name)
            return f"{name}[{0 if node.function == 'first' else -1}]"
        assert isinstance(node, Ref)
        if node.name in scope:
            text = self.names.of(node.name)
        else:
            table = self.elaboration.table(node.name)
            keys = self.indices(node, table.sets, scope)
            text = self.names.of(node.name) + subscript(keys, table.sets)
        if found.root is target.root or target.root.periods_of is found.root:
            return text
        return self._mapped(text, found, target)

    def _offset(self, node: Node, scope: dict[str, IndexSet]) -> str:
        if isinstance(node, Number):
            return str(int(node.value))
        return f"int({self.expression(node, scope)})"

    def _mapped(self, text: str, source: IndexSet, target: IndexSet) -> str:
        """Return an element of one set as the element of another with the same label."""
        mapping = source.root.map_to(target.root)
        if mapping is None:
            raise EngiagentError(
                f"the Pyomo script cannot name elements of {source.name} in {target.name}"
            )
        name = f"{self.names.of(source.root.name)}_in_{self.names.of(target.root.name)}"
        self.helpers[name] = f"{name} = {mapping.tolist()}"
        return f"{name}[{text}]"

    def _set_of(
        self, node: Node, scope: dict[str, IndexSet], target: IndexSet | None = None
    ) -> IndexSet:
        """Return the set that an index expression runs over."""
        if isinstance(node, Binary):
            return self._set_of(node.left, scope, target).root
        if isinstance(node, Call):
            assert isinstance(node.args[0], Ref)
            return self.elaboration.index_set(node.args[0].name)
        if isinstance(node, Ref):
            if node.name in scope:
                return scope[node.name]
            element_of = self.elaboration.table(node.name).element_of
            if element_of is not None:
                return element_of
        if target is None:
            raise EngiagentError("the Pyomo script cannot tell the set of an element")
        return target

    def _list(self, index_set: IndexSet, what: str) -> str:
        """Return the name of a helper list: steps, clock times, weekdays or numeric labels."""
        name = f"{self.names.of(index_set.name)}_{what}"
        axis = index_set.axis
        values: list[Any]
        if what == "value":
            values = list(index_set.labels)
        elif axis is None:
            raise EngiagentError(f"{index_set.name} has no clock")
        elif what == "dt":
            values = axis.steps.tolist()
        elif what == "weekday":
            values = axis.weekday.tolist()
        else:
            values = [v if what == "clock" else int(v + 1e-9) for v in axis.clock.tolist()]
        self.helpers[name] = f"{name} = {compact(values)}"
        return name

    def condition(self, node: Node, scope: dict[str, IndexSet]) -> str:
        """Return a condition as Python."""
        if isinstance(node, Logic):
            joined = (f"({self.condition(part, scope)})" for part in node.operands)
            return f" {node.op} ".join(joined)
        if isinstance(node, Unary):
            return f"not ({self.condition(node.operand, scope)})"
        assert isinstance(node, Compare)
        if node.ops[0] in ("in", "not in"):
            return self._membership(node, scope)
        parts = zip(node.ops, node.operands, node.operands[1:], strict=False)
        return " and ".join(self._comparison(op, a, b, scope) for op, a, b in parts)

    def _comparison(self, op: str, left: Node, right: Node, scope: dict[str, IndexSet]) -> str:
        sets = [s for s in (self._element_set(p, scope) for p in (left, right)) if s is not None]
        if sets:
            target = sets[0]
            return f"{self.index(left, scope, target)} {op} {self.index(right, scope, target)}"
        texts = [
            repr(side.value) if isinstance(side, Text) else self.expression(side, scope, 4)
            for side in (left, right)
        ]
        return f"{texts[0]} {op} {texts[1]}"

    def _element_set(self, node: Node, scope: dict[str, IndexSet]) -> IndexSet | None:
        """Return the set of an operand that is an element and no number."""
        if isinstance(node, Binary) and node.op in "+-":
            found = self._element_set(node.left, scope)
            return found.root if found is not None else None
        if isinstance(node, Call) and node.function in ("first", "last"):
            return self._set_of(node, scope)
        if isinstance(node, Ref) and node.name in scope:
            found = scope[node.name]
            return found if found.numbers is None else None
        if isinstance(node, Ref) and self.elaboration.symbols[node.name].element_of:
            return self.elaboration.table(node.name).element_of
        return None

    def _membership(self, node: Compare, scope: dict[str, IndexSet]) -> str:
        item, group = node.operands
        if isinstance(group, Ref):
            target = self.elaboration.index_set(group.name)
            return f"{self.index(item, scope, target)} {node.ops[0]} {self.names.of(group.name)}"
        assert isinstance(group, Members)
        parts = [self._comparison("==", item, member, scope) for member in group.items]
        joined = " or ".join(parts) or "False"
        return joined if node.ops[0] == "in" else f"not ({joined})"


def element(index_set: IndexSet, position: int) -> Any:
    """Return the Python element for a position: its place in the root set, or a tuple of places."""
    root_position = int(index_set.in_root[position])
    columns = index_set.root.columns
    return tuple(int(c[root_position]) for c in columns) if columns else root_position


def subscript(keys: list[str], sets: tuple[IndexSet, ...]) -> str:
    """Return the index brackets of a parameter: nested lists or one key."""
    if not keys:
        return ""
    if all(s.root is s and not s.columns for s in sets):
        return "".join(f"[{key}]" for key in keys)
    return f"[{keys[0]}]" if len(keys) == 1 else f"[({', '.join(keys)})]"


def compact(values: list[Any]) -> str:
    """Return a list literal; a constant one as a product."""
    if (
        len(values) > 3
        and all(value == values[0] for value in values)
        and not isinstance(values[0], list)
    ):
        return f"[{values[0]!r}] * {len(values)}"
    return repr(values)


def scope_of(binders: Any, sets: tuple[IndexSet, ...]) -> list[tuple[str, IndexSet]]:
    """Return the binder names with the set each one runs over."""
    pairs = []
    for names, index_set in zip(binders, sets, strict=True):
        members = index_set.root.factors if len(names) > 1 else (index_set,)
        pairs += list(zip(names, members, strict=True))
    return pairs


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
