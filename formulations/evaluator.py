"""Evaluation of checked expressions to forms of a program's columns."""

from typing import Any

import numpy as np
import numpy.typing as npt

from engiagent.blueprint.checked import ModelEvaluator, Variable
from engiagent.blueprint.diagnostics import located
from engiagent.blueprint.elaborate import PATH, Elaboration
from engiagent.blueprint.grammar import Binary, Call, Node, Reduce, Ref, parse
from engiagent.blueprint.grid import Grid
from engiagent.blueprint.indexing import Rows, Value
from engiagent.blueprint.sets import IndexSet
from engiagent.blueprint.values import unit_of
from engiagent.formulations.values import Atom, Form, applied, as_form, variables

Ints = npt.NDArray[np.int64]


class FormEvaluator(ModelEvaluator):
    """Evaluates expressions to forms.

    ``origin``: the constraint or expression at work, for messages about its functions. ``forms``:
    parameters that stand for forms, with their sets: what changes, and what is uncertain.
    """

    def __init__(
        self, elaboration: Elaboration, variables: dict[str, Variable], starts: dict[str, int]
    ) -> None:
        super().__init__(elaboration, variables)
        self.elaboration = elaboration
        self.starts = starts
        self.origin = ""
        self.forms: dict[str, tuple[tuple[IndexSet, ...], Form]] = {}
        self._known: dict[tuple[str, int], tuple[Ints, Form]] = {}

    def value_of(self, variable: Variable, elements: Ints) -> Value:
        """Return one column for every row; asked for the same elements, the same form."""
        name = variable.definition.name
        known = self._known.get((name, id(elements)))
        if known is None:
            form = variables(self.starts[name] + elements)
            if elements.flags.writeable:
                return form
            known = self._known[name, id(elements)] = elements, form
        return known[1]

    def is_variable(self, name: str) -> bool:
        """Whether a name stands for columns."""
        return name in self.forms or super().is_variable(name)

    def sets_of(self, name: str) -> tuple[IndexSet, ...]:
        """Return the sets by which a name is indexed."""
        return self.forms[name][0] if name in self.forms else super().sets_of(name)

    def variable(self, ref: Ref, grid: Grid) -> Value:
        """Return the columns of a variable, or what a parameter stands for."""
        if ref.name not in self.forms:
            return super().variable(ref, grid)
        sets, form = self.forms[ref.name]
        place = self.place(ref, sets, grid)
        self.refuse_outside(ref, place, grid)
        return form.take(place.flat)

    def computed(self, name: str) -> Form:
        """Return the form of a parameter that is computed from others."""
        parameters = enumerate(self.elaboration.core.parameters)
        position, definition = next((k, p) for k, p in parameters if p.name == name)
        with located(f"{PATH}.parameters[{position}].value", name):
            binders = self.elaboration.binders(definition.index)
            checker = self.elaboration.checker()
            tree, scope = parse(str(definition.value)), checker.scope_of(binders)
            typed = checker.number(tree, scope, unit_of(definition))
            grid = self.elaboration.grid(binders)
            return as_form(self.number(typed.node, grid), grid.size)

    def product(self, left: Value, right: Value, node: Node) -> Value:
        """Multiply; a product of two things that depend on variables is a function of its own."""
        if not (isinstance(left, Form) and isinstance(right, Form)):
            return left * right
        if left.is_constant:
            return right * left.constant
        if right.is_constant:
            return left * right.constant
        return self._apply("product", node, left, right)

    def quotient(self, left: Value, right: Value, node: Node) -> Value:
        """Divide; by something that depends on variables, it is a function of its own."""
        if not isinstance(right, Form):
            return super().quotient(left, right, node)
        if right.is_constant:
            return super().quotient(left, right.constant, node)
        return self._apply("quotient", node, as_form(left, right.size), right)

    def elementary(self, node: Call, value: Value) -> Value:
        """Return a function of one value."""
        if not isinstance(value, Form) or value.is_constant:
            plain = value.constant if isinstance(value, Form) else value
            return super().elementary(node, plain)
        return self._apply(node.function, node, value)

    def power(self, node: Binary, base: Value, exponent: Any) -> Value:
        """Return a power of a value."""
        if not isinstance(base, Form) or base.is_constant:
            plain = base.constant if isinstance(base, Form) else base
            return super().power(node, plain, exponent)
        if np.all(exponent == 1.0):
            return base
        if np.all(exponent == 0.0):
            return np.float64(1.0)
        numbers = (np.asarray(exponent, dtype=np.float64),)
        return self._apply("power", node, base, numbers=numbers)

    def extreme(self, node: Call, parts: list[Value], size: int) -> Value:
        """Return the least or greatest of several values."""
        if not any(isinstance(part, Form) for part in parts):
            return super().extreme(node, parts, size)
        return self.largest(node.function, parts, size, node.span[0] + 1)

    def largest(self, function: str, parts: list[Value], size: int, column: int) -> Form:
        """Return ``max`` or ``min`` of several values as a function of one stacked form."""
        rows = size * len(parts)
        stacked: Any = 0.0
        for position, part in enumerate(parts):
            form = as_form(part, size)
            place = np.arange(position * size, (position + 1) * size)
            stacked = form.scatter(place, rows) + stacked
        groups = np.tile(np.arange(size), len(parts))
        atom = Atom(function, size, (stacked,), groups, origin=self.origin, column=column)
        return applied(atom)

    def group_extreme(self, node: Reduce, value: Value, outer: Rows, size: int) -> Value:
        """Return the extremes of groups of rows."""
        if not isinstance(value, Form):
            return super().group_extreme(node, value, outer, size)
        return self.over_rows(node.function, value, outer, size, node.span[0] + 1)

    def over_rows(
        self, function: str, value: Form, groups: Rows, size: int, column: int = 1
    ) -> Form:
        """Return ``max`` or ``min`` over the rows of each group."""
        return applied(Atom(function, size, (value,), groups, (), self.origin, column))

    def piecewise(self, node: Call, at: Value, xs: Any, ys: Any, size: int) -> Value:
        """Return the interpolation in a table of breakpoints."""
        if not isinstance(at, Form) or at.is_constant:
            plain = at.constant if isinstance(at, Form) else at
            return super().piecewise(node, plain, xs, ys, size)
        return self._apply("piecewise", node, at, numbers=(xs, ys))

    def _apply(self, function: str, node: Node, *args: Form, numbers: tuple[Any, ...] = ()) -> Form:
        column = node.span[0] + 1
        return applied(Atom(function, args[0].size, args, None, numbers, self.origin, column))
