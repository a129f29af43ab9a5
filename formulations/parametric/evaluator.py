"""Evaluation in which some parameters are columns too.

A parameter that changes is a column like a variable, so that a coefficient that follows from it is
a product of two columns. Whatever depends on parameters alone in another way than linearly
becomes a column of its own, whose value is worked out at every update.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from engiagent.blueprint.checked import Variable
from engiagent.blueprint.elaborate import Elaboration
from engiagent.blueprint.grammar import Binary, Call, Node, Reduce, Ref
from engiagent.blueprint.grid import Grid
from engiagent.blueprint.indexing import Rows, Value
from engiagent.blueprint.sets import IndexSet
from engiagent.formulations.evaluator import FormEvaluator
from engiagent.formulations.lowering.builder import Builder
from engiagent.formulations.parametric.guard import refuse, shapes
from engiagent.formulations.values import Atom, Form, Ints, Part, applied, as_form, variables

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Definition:
    """Columns of parameters whose values follow from a form over other ones."""

    start: int
    form: Form


@dataclass(eq=False)
class DataColumns:
    """The columns of a builder that stand for parameters."""

    builder: Builder
    definitions: list[Definition] = field(default_factory=list)
    blocks: set[str] = field(default_factory=set)
    _ranges: list[tuple[int, int]] = field(default_factory=list)
    _mask: Bools = field(default_factory=lambda: np.zeros(0, dtype=bool))

    def declare(self, name: str, size: int) -> int:
        """Add free columns and return the first."""
        start = self.builder.column_count
        self.builder.add_columns(f"{name}__data", size, -np.inf, np.inf)
        self.blocks.add(self.builder.columns[-1].name)
        self._ranges.append((start, start + size))
        return start

    def define(self, name: str, form: Form) -> Form:
        """Add columns that have the values of a form, and return them."""
        start = self.declare(name, form.size)
        self.definitions.append(Definition(start, form))
        return variables(np.arange(start, start + form.size, dtype=np.int64))

    def mask(self) -> Bools:
        """Return which columns so far stand for parameters, shape (n,)."""
        if len(self._mask) != self.builder.column_count:
            self._mask = np.zeros(self.builder.column_count, dtype=bool)
            for start, stop in self._ranges:
                self._mask[start:stop] = True
        return self._mask

    def holds(self, form: Form) -> bool:
        """Return whether a form depends on parameters alone, linearly."""
        return not form.parts and all(self.mask()[t.columns].all() for t in form.terms)


class ParametricEvaluator(FormEvaluator):
    """Evaluates expressions to forms of variables and of parameters that change.

    Parameters
    ----------
    starts_of_data
        The first column of each parameter that changes, grown while parameters are declared.
    reached
        Names of parameters and expressions that depend on one of them.
    """

    def __init__(
        self,
        elaboration: Elaboration,
        variables: dict[str, Variable],
        starts: dict[str, int],
        data: DataColumns,
        sets_of_data: dict[str, tuple[IndexSet, ...]],
        reached: frozenset[str],
    ) -> None:
        super().__init__(elaboration, variables, starts)
        self.data = data
        self.starts_of_data: dict[str, int] = {}
        self._sets_of_data = sets_of_data
        self._reached = reached

    # -- names ----------------------------------------------------------------------------------

    def is_variable(self, name: str) -> bool:
        """Whether a name stands for columns."""
        return name in self._sets_of_data or super().is_variable(name)

    def sets_of(self, name: str) -> tuple[IndexSet, ...]:
        """Return the sets by which a name is indexed."""
        return self._sets_of_data[name] if name in self._sets_of_data else super().sets_of(name)

    def variable(self, ref: Ref, grid: Grid) -> Value:
        """Return the columns of a variable or of a parameter that changes."""
        if ref.name not in self._sets_of_data:
            return super().variable(ref, grid)
        place = self.place(ref, self._sets_of_data[ref.name], grid)
        self.refuse_outside(ref, place, grid)
        return variables(self.starts_of_data[ref.name] + place.flat)

    def condition(self, node: Node, grid: Grid) -> Any:
        """Evaluate a condition, in which no parameter that changes may stand."""
        refuse(node, self._reached)
        return super().condition(node, grid)

    def index(self, node: Node, grid: Grid, target: IndexSet | None = None) -> Any:
        """Evaluate an index, in which no parameter that changes may stand."""
        refuse(node, self._reached)
        return super().index(node, grid, target)

    # -- functions ------------------------------------------------------------------------------

    def product(self, left: Value, right: Value, node: Node) -> Value:
        """Multiply; a parameter goes to each part of a form that is not linear."""
        if isinstance(left, Form) and isinstance(right, Form):
            for factor, other in ((left, right), (right, left)):
                if self.data.holds(factor) and not factor.is_constant:
                    if other.parts:
                        return self._spread(factor, other, node)
                    return super().product(factor, other, node)
            for one, other in ((left, right), (right, left)):
                if any(self._is_weighted(part.atom) for part in one.parts):
                    return self._distributed(one, other, node)
        return super().product(left, right, node)

    def _is_weighted(self, atom: Atom) -> bool:
        """Whether an atom is a parameter times something that depends on variables."""
        return atom.function == "product" and self.data.holds(atom.args[0])

    def _distributed(self, one: Form, other: Form, node: Node) -> Form:
        """Multiply each part of a form by another one, so that weights stay in front."""
        affine = Form(one.size, one.constant, one.terms)
        result = as_form(self.product(affine, other, node), one.size)
        for part in one.parts:
            rows, atom = part.row_numbers(), part.atom
            near = other.take(rows)
            if self._is_weighted(atom):
                inner = self.product(atom.args[1], near, node)
                value = as_form(self.product(atom.args[0], inner, node), atom.size)
            else:
                value = as_form(super().product(applied(atom), near, node), atom.size)
            result = result + (value * part.coefficients).group_sum(rows, one.size)
        return result

    def _spread(self, factor: Form, other: Form, node: Node) -> Form:
        result = as_form(
            super().product(factor, Form(other.size, other.constant, other.terms), node), other.size
        )
        for part in other.parts:
            rows = part.row_numbers()
            weight = factor.take(rows) * part.coefficients
            atom, inner = part.atom, applied(part.atom)
            if self._is_weighted(atom):
                weight = as_form(super().product(weight, atom.args[0], node), atom.size)
                inner = atom.args[1]
            both = Atom("product", atom.size, (weight, inner), origin=self.origin)
            ones = np.ones(atom.size)
            result = result + Form(other.size, np.zeros(()), (), (Part(part.rows, ones, both),))
        return result

    def quotient(self, left: Value, right: Value, node: Node) -> Value:
        """Divide; by a parameter that changes, it is a product with its reciprocal."""
        divides = isinstance(right, Form) and not right.is_constant
        if divides and isinstance(left, Form) and self.data.holds(right):
            inverse = super().quotient(1.0, right, node)
            return self.product(left, inverse, node)
        return super().quotient(left, right, node)

    def power(self, node: Binary, base: Value, exponent: Any) -> Value:
        """Return a power; the exponent is a number of its own."""
        if isinstance(exponent, Form):
            raise shapes("a parameter in an exponent", node.right.span[0] + 1)
        squared = isinstance(base, Form) and np.all(np.asarray(exponent) == 2.0)
        if squared and any(self._is_weighted(part.atom) for part in base.parts):
            return self.product(base, base, node)
        return super().power(node, base, exponent)

    def largest(self, function: str, parts: list[Value], size: int, column: int) -> Form:
        """Return ``max`` or ``min`` of several values."""
        return self._settled(super().largest(function, parts, size, column))

    def group_extreme(self, node: Reduce, value: Value, outer: Rows, size: int) -> Value:
        """Return the extremes of groups of rows."""
        result = super().group_extreme(node, value, outer, size)
        return self._settled(result) if isinstance(result, Form) else result

    def piecewise(self, node: Call, at: Value, xs: Any, ys: Any, size: int) -> Value:
        """Return the interpolation in a table of breakpoints."""
        result = super().piecewise(node, at, xs, ys, size)
        return self._settled(result) if isinstance(result, Form) else result

    def _apply(self, function: str, node: Node, *args: Form, numbers: tuple[Any, ...] = ()) -> Form:
        return self._settled(super()._apply(function, node, *args, numbers=numbers))

    def _settled(self, form: Form) -> Form:
        """Return columns of their own for a function of parameters alone."""
        if len(form.parts) != 1 or form.terms:
            return form
        if all(self.data.holds(argument) for argument in form.parts[0].atom.args):
            return self.data.define(self.origin or "value", form)
        return form


def columns_of(form: Form) -> Ints:
    """Return every column that a form names, its functions' included."""
    found: list[Ints] = [np.asarray(term.columns, dtype=np.int64) for term in form.terms]
    found += [columns_of(inner) for part in form.parts for inner in part.atom.args]
    return np.unique(np.concatenate(found)) if found else np.zeros(0, dtype=np.int64)
