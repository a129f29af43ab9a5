"""Unit and shape checking of expressions.

:class:`TypeChecker` walks a parsed expression once and returns the same tree with every change of
unit written into it as a :class:`~engiagent.blueprint.grammar.Convert` node, so that whoever
evaluates or prints the tree afterwards handles plain numbers. The rules are those of the language
reference: terms of one dimension convert by themselves, a bare literal beside a quantity takes its
unit and is announced, a temperature is a point and only differences may be multiplied.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from engiagent.blueprint import calltypes, grammar
from engiagent.blueprint.calltypes import clock_literal, close, is_zero
from engiagent.blueprint.grammar import Binary, Binder, Compare, Members, Node, Number, Ref, Text
from engiagent.blueprint.symbols import (
    HOUR,
    NONLINEAR,
    NUMERIC_SETS,
    ONE,
    Scope,
    SetInfo,
    Symbol,
    Typed,
    type_error,
)
from engiagent.units.unit import Unit, UnitError, conversion, parse_unit


@dataclass
class TypeChecker:
    """Checks expressions against the declared sets and symbols."""

    sets: Mapping[str, SetInfo]
    symbols: Mapping[str, Symbol]
    # announcements ``(column, text)`` of literals that took a unit
    notes: list[tuple[int, str]] = field(default_factory=list)
    # the innermost part that is not affine in the variables, the first one met
    nonlinear: Node | None = None

    # -- what callers ask for -------------------------------------------------------------------

    def number(self, node: Node, scope: Scope, unit: Unit | None = None) -> Typed:
        """Check a numeric expression, converted to ``unit`` where one is given."""
        typed = self.operand(node, scope)
        return typed if unit is None else self.convert(typed, unit)

    def condition(self, node: Node, scope: Scope) -> Typed:
        """Check a condition on indices and parameters."""
        typed = self.check(node, scope)
        if typed.sort != "condition":
            hint = "compare two things, as hour(t) < 7"
            raise type_error("EB010", "this is no condition", node, hint)
        if typed.degree:
            text = "a condition may use indices and parameters only, here it depends on a variable"
            raise type_error("EB011", text, node, "state the relation as a constraint")
        return typed

    def comparison(self, node: Node, scope: Scope) -> Typed:
        """Check a constraint: a comparison, or a chain of two, by <=, >= or ==."""
        if not isinstance(node, Compare):
            hint = calltypes.instead(node)
            raise type_error("EB010", "a constraint must compare", node, hint)
        for op in node.ops:
            if op in ("<", ">"):
                text = f"a strict {op} cannot be kept exactly"
                raise type_error("EB009", text, node, f"use {op}=")
            if op not in ("<=", ">=", "=="):
                raise type_error("EB010", f"{op!r} is no constraint", node, "use <=, >= or ==")
        typed = self.check(node, scope)
        if typed.sort != "condition":
            raise type_error("EB010", "a constraint must compare numbers", node)
        return typed

    def scope_of(self, binders: tuple[Binder, ...], outer: Scope | None = None) -> dict[str, str]:
        """Return the scope inside ``binders``."""
        scope = dict(outer or {})
        for binder in binders:
            info = self.sets.get(binder.set)
            if info is None:
                hint = close(binder.set, self.sets)
                raise type_error("EB002", f"unknown set {binder.set!r}", binder, hint)
            members = info.factors if len(binder.names) > 1 else (binder.set,)
            if len(binder.names) != len(members):
                wanted = len(info.factors) or 1
                text = f"{binder.set} has elements of {wanted} parts, not {len(binder.names)}"
                raise type_error("EB003", text, binder)
            for name, member in zip(binder.names, members, strict=True):
                if name in scope:
                    text = f"the index {name!r} is used twice"
                    raise type_error("EB012", text, binder, "rename one of them")
                if name in self.symbols or name in self.sets:
                    text = f"the index {name!r} is also the name of something else"
                    raise type_error("EB012", text, binder, "rename the index")
                scope[name] = member
        return scope

    # -- the walk -------------------------------------------------------------------------------

    def check(self, node: Node, scope: Scope) -> Typed:
        """Check any expression: a number, an element, a label or a condition."""
        typed = _RULES[type(node)](self, node, scope)
        if typed.degree > 1 and self.nonlinear is None:
            self.nonlinear = node
        return typed

    def operand(self, node: Node, scope: Scope) -> Typed:
        """Check a numeric expression; an element of a range counts as its number."""
        typed = self.check(node, scope)
        if typed.sort == "index":
            kind = self.sets[typed.set or ""].kind
            if kind in NUMERIC_SETS:
                return replace(typed, sort="number", unit=ONE)
            timed = kind in ("time", "instants")
            hint = "use pos(), hour() or clock() of it" if timed else "use pos() of it"
            raise type_error("EB003", f"an element of {typed.set} is no number", node, hint)
        if typed.sort != "number":
            sort = "list" if typed.sort == "members" else typed.sort
            raise type_error("EB010", f"a number is needed here, this is a {sort}", node)
        return typed

    def convert(self, typed: Typed, unit: Unit) -> Typed:
        """Convert to a unit; a bare literal takes it."""
        column = typed.node.span[0] + 1
        if typed.bare and (not unit.is_dimensionless or is_zero(typed.node)):
            if not is_zero(typed.node):
                self.notes.append((column, f"the bare number is read in {unit}"))
            return replace(typed, unit=unit, bare=False)
        if typed.bare and unit.factor != 1:
            self.notes.append((column, f"the bare number is a pure number, not one in {unit}"))
        try:
            factor, shift = conversion(typed.unit, unit)
        except UnitError:
            raise self._clash(typed, unit) from None
        if factor == 1.0 and shift == 0.0:
            return typed if typed.unit is unit else replace(typed, unit=unit)
        node = calltypes.converted(typed.node, factor, shift)
        return replace(typed, node=node, unit=unit, bare=False)

    def _clash(
        self, typed: Typed, unit: Unit, where: tuple[str, str] | None = None
    ) -> grammar.ExpressionError:
        """Return the error of a unit that does not fit; ``where`` as for :meth:`align`."""
        if typed.unit.dimension == unit.dimension:
            text = f"one side is a temperature in {unit}, the other a difference in {typed.unit}"
            if typed.unit.is_point:
                text = f"one side is a temperature in {typed.unit}, the other an amount in {unit}"
            hint = "compare two temperatures or two differences"
            return type_error("EB007", text, typed.node, hint)
        text = f"this is {typed.unit}, but {unit} is needed"
        if where is not None:
            text = f"{where[0]} is {unit}, {where[1]} is {typed.unit}"
        return type_error("EB005", text, typed.node, calltypes.unit_hint(typed, unit))

    def _literal(self, node: Number, scope: Scope) -> Typed:
        if node.unit is None:
            return Typed(node, "number", bare=True)
        try:
            return Typed(replace(node, unit=None), "number", parse_unit(node.unit))
        except UnitError as error:
            raise type_error("EB006", str(error), node) from None

    def _ref(self, node: Ref, scope: Scope) -> Typed:
        if node.name in scope:
            if node.indices:
                raise type_error("EB003", f"the index {node.name!r} cannot be indexed", node)
            return Typed(node, "index", set=scope[node.name])
        symbol = self.symbols.get(node.name)
        if symbol is None:
            if node.name in self.sets:
                raise type_error("EB002", f"{node.name} is a set; name one of its elements", node)
            known = [*self.symbols, *scope]
            raise type_error("EB002", f"unknown name {node.name!r}", node, close(node.name, known))
        indices = self._indices(node, symbol, scope)
        checked = Ref(node.span, node.name, indices)
        if symbol.element_of is not None:
            return Typed(checked, "index", set=symbol.element_of)
        if symbol.unit is None:
            return Typed(checked, "label")
        return Typed(checked, "number", symbol.unit, symbol.degree)

    def _indices(self, node: Ref, symbol: Symbol, scope: Scope) -> tuple[Node, ...]:
        parts = [self.sets[dim].factors or (dim,) for dim in symbol.dims]
        flat = sum(len(part) for part in parts)
        if len(node.indices) not in (len(symbol.dims), flat):
            shape = f"{symbol.name}[{', '.join(symbol.dims)}]" if symbol.dims else "a single value"
            text = f"{symbol.name} has {len(symbol.dims)} indices, here are {len(node.indices)}"
            raise type_error("EB003", text, node, f"it is {shape}")
        return tuple(self.index(part, scope) for part in node.indices)

    def index(self, node: Node, scope: Scope) -> Node:
        """Check what stands between index brackets."""
        if isinstance(node, Number) and node.unit is not None:
            raise type_error("EB003", "an index has no unit", node)
        if isinstance(node, Text | Number):
            return node
        if isinstance(node, Binary) and node.op in "+-":
            left = self.index(node.left, scope)
            right = self.operand(node.right, scope)
            if right.degree or right.unit.dimension:
                raise type_error("EB003", "an offset is a whole number without a unit", node.right)
            return Binary(node.span, node.op, left, right.node)
        typed = self.check(node, scope)
        if typed.degree:
            raise type_error("EB003", "an index cannot depend on a variable", node)
        if typed.sort not in ("index", "label", "number"):
            raise type_error("EB003", "this is no index", node)
        return typed.node

    def _unary(self, node: grammar.Unary, scope: Scope) -> Typed:
        if node.op == "not":
            inner = self.condition(node.operand, scope)
            return replace(inner, node=replace(node, operand=inner.node))
        typed = self.operand(node.operand, scope)
        if node.op == "+":
            return typed
        if isinstance(typed.node, Number):
            return replace(typed, node=replace(typed.node, span=node.span, value=-typed.node.value))
        self.refuse_point(typed, node)
        return replace(typed, node=replace(node, operand=typed.node))

    def refuse_point(self, typed: Typed, node: Node) -> None:
        """Refuse a temperature where only an amount or a difference can stand."""
        if typed.unit.is_point:
            text = f"a temperature in {typed.unit} cannot be scaled or summed, only its differences"
            hint = f"subtract a temperature first, as (T - 20[{typed.unit}])"
            raise type_error("EB007", text, node, hint)

    def _binary(self, node: Binary, scope: Scope) -> Typed:
        left, right = self.operand(node.left, scope), self.operand(node.right, scope)
        return _ARITHMETIC[node.op](self, node, left, right)

    def _sum(self, node: Binary, left: Typed, right: Typed) -> Typed:
        left, right, unit = self._align_sum(node, left, right)
        made = Binary(node.span, node.op, left.node, right.node)
        degree = max(left.degree, right.degree)
        return Typed(made, "number", unit, degree, left.bare and right.bare)

    def _align_sum(self, node: Binary, left: Typed, right: Typed) -> tuple[Typed, Typed, Unit]:
        if left.bare and right.bare:
            return left, right, ONE
        if node.op == "-" and right.unit.is_point:
            if not left.unit.is_point and not left.bare:
                raise type_error("EB007", "an amount minus a temperature has no meaning", node)
            scale = right.unit if left.bare else left.unit
            return self.convert(left, scale), self.convert(right, scale), scale.difference()
        if left.unit.is_point and right.unit.is_point:
            hint = "add a difference in K"
            raise type_error("EB007", "two temperatures cannot be added", node, hint)
        if left.unit.is_point or right.unit.is_point:
            scale = left.unit if left.unit.is_point else right.unit
            steps = scale.difference()
            if left.unit.is_point:
                return left, self.convert(right, steps), scale
            return self.convert(left, steps), right, scale
        unit = right.unit if left.bare and right.unit.dimension else left.unit
        terms = ("left term", "right term")
        return self.align(terms, left, unit), self.align(terms, right, unit), unit

    def align(self, where: tuple[str, str], typed: Typed, unit: Unit) -> Typed:
        """Convert one part to the unit of another; ``where`` names that one and this."""
        try:
            return self.convert(typed, unit)
        except grammar.ExpressionError as error:
            if error.code != "EB005":
                raise
            raise self._clash(typed, unit, where) from None

    def _product(self, node: Binary, left: Typed, right: Typed) -> Typed:
        self.refuse_point(left, node.left)
        self.refuse_point(right, node.right)
        degree = left.degree + right.degree
        unit = left.unit * right.unit
        if node.op == "/":
            unit = left.unit / right.unit
            degree = left.degree if right.degree == 0 else NONLINEAR
        made = Binary(node.span, node.op, left.node, right.node)
        return Typed(made, "number", unit, min(degree, NONLINEAR), left.bare and right.bare)

    def _power(self, node: Binary, left: Typed, right: Typed) -> Typed:
        self.refuse_point(left, node.left)
        if right.unit.dimension:
            raise type_error("EB005", "an exponent has no unit", node.right)
        right = self.convert(right, ONE)
        exponent = right.node
        if right.degree:
            hint = "write exp(x*log(base))"
            raise type_error("EB008", "a variable cannot be an exponent", node.right, hint)
        if not isinstance(exponent, Number) or exponent.value != int(exponent.value):
            if left.unit.dimension:
                text = "of a quantity with a unit only whole powers can be taken"
                raise type_error("EB005", text, node.right, "divide by a reference value first")
            plain = self.convert(left, ONE)
            degree = NONLINEAR if left.degree else 0
            changed = replace(node, left=plain.node, right=right.node)
            return Typed(changed, "number", degree=degree)
        whole = int(exponent.value)
        if not -8 <= whole <= 8:
            raise type_error("EB001", "the exponent must lie between -8 and 8", node.right)
        degree = 0 if not left.degree else left.degree * whole if whole >= 0 else NONLINEAR
        made = Binary(node.span, node.op, left.node, right.node)
        return Typed(made, "number", left.unit**whole, min(degree, NONLINEAR), left.bare)

    def _modulo(self, node: Binary, left: Typed, right: Typed) -> Typed:
        if left.degree or right.degree:
            raise type_error("EB008", f"{node.op} cannot be taken of a variable", node)
        left, right = self.convert(left, ONE), self.convert(right, ONE)
        return Typed(replace(node, left=left.node, right=right.node), "number")

    def _compare(self, node: Compare, scope: Scope) -> Typed:
        if any(op in ("in", "not in") for op in node.ops):
            return self._membership(node, scope)
        parts = [self._operand(part, scope) for part in node.operands]
        if any(p.sort == "label" for p in parts) or self._are_elements(parts):
            return self._compare_labels(node, parts, scope)
        if any(p.sort == "condition" for p in parts):
            hint = "join them with 'and'"
            raise type_error("EB010", "a comparison cannot be compared again", node, hint)
        numbers = [self.operand(part, scope) for part in node.operands]
        first = next((k for k, n in enumerate(numbers) if not n.bare), 0)
        unit = ONE if numbers[first].bare else numbers[first].unit
        names = ["left side", "right side"]
        if len(numbers) > 2:
            names = [f"part {k}" for k in range(1, len(numbers) + 1)]
        beside = grammar.neighbours([number.bare for number in numbers])
        aligned = []
        for k, number in enumerate(numbers):
            own = numbers[beside[k]]
            if number.bare and not own.bare and own.unit != unit:
                number = self.align((names[beside[k]], names[k]), number, own.unit)
            aligned.append(self.align((names[first], names[k]), number, unit))
        # how far the zero of a scale of temperature lies from the absolute one, in it
        zero = float(abs(unit.zero / unit.factor)) if unit.is_point and unit.zero else 0.0
        made = Compare(node.span, node.ops, tuple(n.node for n in aligned), zero)
        return Typed(made, "condition", unit, max(n.degree for n in aligned))

    def _are_elements(self, parts: list[Typed]) -> bool:
        """Whether all are elements; a whole number may stand for one of a set of labels."""
        elements = [p for p in parts if p.sort == "index"]
        plain = [p for p in parts if p.sort == "number" and isinstance(p.node, Number) and p.bare]
        labelled = all(self.sets[p.set or ""].kind in ("labels", "union") for p in elements)
        return bool(elements) and (len(elements) + (len(plain) if labelled else 0) == len(parts))

    def _operand(self, node: Node, scope: Scope) -> Typed:
        """Check one side of a comparison, which may be an element with an offset."""
        if isinstance(node, Binary) and node.op in "+-":
            base = self._operand(node.left, scope)
            if base.sort == "index" and self.sets[base.set or ""].kind not in NUMERIC_SETS:
                return replace(base, node=self.index(node, scope))
        return self.check(node, scope)

    def _compare_labels(self, node: Compare, parts: list[Typed], scope: Scope) -> Typed:
        """Compare elements with elements or labels, or a time of day with a clock text."""
        if any(p.sort == "number" and p.unit == HOUR for p in parts):
            operands = tuple(
                clock_literal(part) if isinstance(part, Text) else part for part in node.operands
            )
            return self._compare(replace(node, operands=operands), scope)
        sorts = {p.sort for p in parts}
        if not sorts <= {"index", "label", "number"} or {"label", "number"} <= sorts:
            text = "an element can only be compared with an element or a label"
            raise type_error("EB003", text, node)
        return Typed(replace(node, operands=tuple(p.node for p in parts)), "condition")

    def _membership(self, node: Compare, scope: Scope) -> Typed:
        if len(node.ops) != 1:
            hint = "join conditions by 'and'"
            raise type_error("EB010", "'in' cannot be part of a chain", node, hint)
        if isinstance(node.operands[0], Members):
            return self._tuple_membership(node, node.operands[0], scope)
        item = self._operand(node.operands[0], scope)
        group = node.operands[1]
        named = isinstance(group, Ref) and group.name in self.sets and not group.indices
        listed = isinstance(group, Members) and all(
            isinstance(p, Text | Number) for p in group.items
        )
        if not named and not (listed and isinstance(group, Members)):
            hint = 'as in ("G1", "G2")'
            raise type_error("EB003", "'in' needs a set or a list in brackets", group, hint)
        if item.sort not in ("index", "label", "number") or item.degree:
            raise type_error("EB003", "only an element can be in a set", node.operands[0])
        if item.sort == "number" and isinstance(group, Members):
            parts = (
                clock_literal(part) if isinstance(part, Text) and item.unit == HOUR else part
                for part in group.items
            )
            items = tuple(self.number(part, scope, item.unit).node for part in parts)
            group = replace(group, items=items)
        return Typed(replace(node, operands=(item.node, group)), "condition")

    def _tuple_membership(self, node: Compare, item: Members, scope: Scope) -> Typed:
        """Check whether a combination of elements, as ``(i, j)``, is one of a tuple set."""
        group = node.operands[1]
        named = isinstance(group, Ref) and group.name in self.sets and not group.indices
        factors = self.sets[group.name].factors if isinstance(group, Ref) and named else ()
        if not isinstance(group, Ref) or not factors:
            raise type_error("EB003", "elements in brackets can only be in a set of tuples", group)
        if len(item.items) != len(factors):
            text = f"here are {len(item.items)} elements, a tuple has {len(factors)}"
            raise type_error("EB003", text, item, f"it is made from {', '.join(factors)}")
        parts = tuple(self.index(part, scope) for part in item.items)
        return Typed(replace(node, operands=(replace(item, items=parts), group)), "condition")

    def _logic(self, node: grammar.Logic, scope: Scope) -> Typed:
        parts = tuple(self.condition(part, scope).node for part in node.operands)
        return Typed(replace(node, operands=parts), "condition")

    def _reduce(self, node: grammar.Reduce, scope: Scope) -> Typed:
        if node.function == "first_index":
            return self.check(calltypes.first_index(node), scope)
        inner = self.scope_of(node.binders, scope)
        where = self.condition(node.where, inner).node if node.where is not None else None
        written = replace(node, function="sum")
        if node.function == "sumsq":
            two = Number(node.body.span, 2.0, None)
            body = self.operand(Binary(node.body.span, "**", node.body, two), inner)
        elif node.function == "expect":
            body = self.operand(calltypes.weighted(node, self.sets), inner)
        else:
            body, written = self.operand(node.body, inner), node
        degree = body.degree
        if written.function == "sum":
            self.refuse_point(body, node.body)
        elif degree:
            degree = NONLINEAR
        return Typed(replace(written, body=body.node, where=where), "number", body.unit, degree)

    def _choice(self, node: grammar.Choice, scope: Scope) -> Typed:
        condition = self.condition(node.condition, scope)
        then, other = self.operand(node.then, scope), self.operand(node.otherwise, scope)
        unit = other.unit if then.bare else then.unit
        bare = then.bare and other.bare
        if not bare:  # two bare branches wait for the unit of what they stand beside
            branches = ("one branch", "the other")
            then, other = self.align(branches, then, unit), self.align(branches, other, unit)
        made = replace(node, condition=condition.node, then=then.node, otherwise=other.node)
        return Typed(made, "number", unit, max(then.degree, other.degree), bare)


Rule = Callable[[TypeChecker, Any, Scope], Typed]

_RULES: dict[type[Node], Rule] = {
    Binary: TypeChecker._binary,
    grammar.Call: lambda checker, node, scope: calltypes.CALLS[node.function](checker, node, scope),
    grammar.Choice: TypeChecker._choice,
    Compare: TypeChecker._compare,
    grammar.Logic: TypeChecker._logic,
    Members: lambda checker, node, scope: Typed(node, "members"),
    Number: TypeChecker._literal,
    grammar.Reduce: TypeChecker._reduce,
    Ref: TypeChecker._ref,
    Text: lambda checker, node, scope: Typed(node, "label"),
    grammar.Unary: TypeChecker._unary,
}

_ARITHMETIC: dict[str, Callable[[TypeChecker, Binary, Typed, Typed], Typed]] = {
    "+": TypeChecker._sum,
    "-": TypeChecker._sum,
    "*": TypeChecker._product,
    "/": TypeChecker._product,
    "**": TypeChecker._power,
    "%": TypeChecker._modulo,
    "//": TypeChecker._modulo,
}
