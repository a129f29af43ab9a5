"""Compilation in which parameters that change are columns, to be taken out again afterwards.

A parameter that changes is a column like a variable, so that a coefficient that follows from it is
a product of two columns. Whatever depends on parameters alone in another way than linearly
becomes a column of its own, whose value is worked out at every update.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from engiagent.blueprint.checked import Constraint, Variable
from engiagent.blueprint.diagnostics import BlueprintError, Diagnostic, located
from engiagent.blueprint.document import Blueprint
from engiagent.blueprint.elaborate import PATH, Elaboration
from engiagent.blueprint.elements import Core, ParameterDef, VariableDef
from engiagent.blueprint.grammar import (
    Binary,
    Call,
    Compare,
    ExpressionError,
    Node,
    Reduce,
    Ref,
    names_in,
    parse,
    walk,
)
from engiagent.blueprint.grid import Grid
from engiagent.blueprint.indexing import Rows, Table, Value
from engiagent.blueprint.sets import IndexSet
from engiagent.errors import EngiagentError
from engiagent.formulations.compile import Compiler
from engiagent.formulations.evaluator import FormEvaluator
from engiagent.formulations.lowering.builder import Builder
from engiagent.formulations.values import Floats, Form, Ints, as_form, variables
from engiagent.units.unit import parse_unit

STRUCTURE = "structure"
"""The code of diagnostics about parameters that shape the program."""


class StructureError(EngiagentError):
    """A parameter shapes the program, so that new numbers in old places are not enough."""


# --- where parameters that change may not stand ------------------------------------------------


def shapes(name: str, column: int = 1) -> ExpressionError:
    """Return the error of a parameter that stands where it decides on structure."""
    return ExpressionError(
        f"{name} decides here which rows and columns there are",
        column,
        "ask for structure='recompile', or leave it out of the parameters that change",
        STRUCTURE,
    )


def refusal(name: str, path: str, owner: str) -> Diagnostic:
    """Return the diagnostic of a parameter that stands where it decides on structure."""
    error = shapes(name)
    return Diagnostic(STRUCTURE, "error", path, error.message, None, error.suggestion, owner)


def structural(error: BlueprintError) -> StructureError:
    """Return the error for what compiles with numbers but not with parameters in their place."""
    own = [d for d in error.diagnostics if d.code == STRUCTURE] or error.diagnostics
    return StructureError("\n".join(str(d).removeprefix(f"{STRUCTURE} ") for d in own))


def dependents(core: Core, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the parameters computed from some others, in an order in which they can be."""
    uses = {
        p.name: names_in(p.value)
        for p in core.parameters
        if isinstance(p.value, str) and (p.type or "number") == "number"
    }
    reached = closure(uses, names)
    found, left = list[str](), [name for name in uses if name in reached]
    while left:
        ready = [name for name in left if not (uses[name] - {name}) & set(left)] or left
        found += ready
        left = [name for name in left if name not in ready]
    return tuple(found)


def closure(uses: Mapping[str, frozenset[str]], names: tuple[str, ...]) -> frozenset[str]:
    """Return some names and all that use one of them, directly or not."""
    reached = set(names)
    while more := {name for name, used in uses.items() if used & reached} - reached:
        reached |= more
    return frozenset(reached)


def refuse_in_variables(core: Core, reached: frozenset[str]) -> None:
    """Refuse parameters in what decides which elements a variable has."""
    found = []
    for position, variable in enumerate(core.decision_variables):
        for part, text in _shaping_parts(variable):
            for name in sorted(names_in(text) & reached):
                path = f"{PATH}.decision_variables[{position}].{part}"
                found.append(refusal(name, path, variable.name))
    if found:
        raise BlueprintError(found)


def _shaping_parts(variable: VariableDef) -> Iterator[tuple[str, object]]:
    initial = variable.initial
    items = initial if isinstance(initial, tuple) else (initial,)
    yield from (("where", variable.where), *(("initial", item) for item in items))
    if variable.type in ("binary", "semicontinuous"):
        yield from (("lower", variable.lower), ("upper", variable.upper))


class GivenElaboration(Elaboration):
    """An elaboration with ``given`` values; ``guarded`` names are for forms until it is open."""

    def __init__(
        self,
        core: Core,
        folder: Path | None,
        given: Mapping[str, Floats],
        guarded: tuple[str, ...] = (),
    ) -> None:
        super().__init__(core, folder)
        self._given = given
        self._guarded = guarded
        self._is_open = False

    @contextmanager
    def open(self) -> Iterator[None]:
        """Let the current values of guarded parameters be used."""
        self._is_open = True
        try:
            yield
        finally:
            self._is_open = False

    def table(self, name: str) -> Table:
        """Return the values of a parameter; refuse a guarded one."""
        if name in self._guarded and not self._is_open:
            raise shapes(name)
        return super().table(name)

    def _build_table(self, d: ParameterDef) -> Table:
        if d.name not in self._given:
            return super()._build_table(d)
        sets = tuple(self.index_set(b.set) for b in self.binders(d.index))
        return Table(np.array(self._given[d.name], dtype=np.float64), sets)


# --- columns of parameters ---------------------------------------------------------------------


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
    _mask: npt.NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))

    def declare(self, name: str, size: int) -> Form:
        """Add free columns and return them."""
        start = self.builder.column_count
        self.builder.add_columns(f"{name}__data", size, -np.inf, np.inf)
        self.blocks.add(self.builder.columns[-1].name)
        self._ranges.append((start, start + size))
        return variables(np.arange(start, start + size, dtype=np.int64))

    def define(self, name: str, form: Form) -> Form:
        """Add columns that have the values of a form, and return them."""
        self.definitions.append(Definition(self.builder.column_count, form))
        return self.declare(name, form.size)

    def mask(self) -> npt.NDArray[np.bool_]:
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
    """Evaluates expressions to forms; ``reached``: names that depend on a changing parameter."""

    def __init__(
        self,
        elaboration: Elaboration,
        variables: dict[str, Variable],
        starts: dict[str, int],
        data: DataColumns,
        reached: frozenset[str],
    ) -> None:
        super().__init__(elaboration, variables, starts)
        self.data = data
        self._reached = reached

    def condition(self, node: Node, grid: Grid) -> Any:
        """Evaluate a condition, in which no parameter that changes may stand."""
        self._refuse(node)
        return super().condition(node, grid)

    def index(self, node: Node, grid: Grid, target: IndexSet | None = None) -> Any:
        """Evaluate an index, in which no parameter that changes may stand."""
        self._refuse(node)
        return super().index(node, grid, target)

    def _refuse(self, node: Node) -> None:
        for part in walk(node):
            if isinstance(part, Ref) and part.name in self._reached:
                raise shapes(part.name, part.span[0] + 1)

    # -- functions ------------------------------------------------------------------------------

    def quotient(self, left: Value, right: Value, node: Node) -> Value:
        """Divide; by a parameter that changes, it is a product with its reciprocal."""
        divides = isinstance(right, Form) and not right.is_constant
        if divides and isinstance(left, Form) and self.data.holds(right):
            return self.product(left, super().quotient(1.0, right, node), node)
        return super().quotient(left, right, node)

    def power(self, node: Binary, base: Value, exponent: Any) -> Value:
        """Return a power; the exponent is a number of its own."""
        if isinstance(exponent, Form):
            raise shapes("a parameter in an exponent", node.right.span[0] + 1)
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


# --- the compiler ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Limit:
    """One side of columns or rows from ``start`` on that follows from a form of parameters."""

    kind: str
    start: int
    form: Form
    baked: Floats
    """The value that the compiled array holds for the form, shape (size,)."""


class ParametricCompiler(Compiler):
    """A compilation with extra columns for parameters.

    ``data``: the extra columns. ``starts_of_data``, ``values``: first column and current values of
    each parameter that changes. ``limits``: bounds of columns and rows that follow from parameters.
    """

    def __init__(
        self, blueprint: Blueprint, elaboration: GivenElaboration, names: tuple[str, ...]
    ) -> None:
        core = blueprint.core
        computed = dependents(core, names)
        every = (*names, *computed)
        reached = closure({e.name: names_in(e.expression) for e in core.expressions}, every)
        refuse_in_variables(core, reached)
        with elaboration.open():
            super().__init__(blueprint, elaboration)
        self.data = DataColumns(self.builder)
        self.limits: list[Limit] = []
        self._reached = reached
        self.evaluator = ParametricEvaluator(
            elaboration, self.variables, self.starts, self.data, reached
        )
        self._ends_as_numbers = False
        with elaboration.open():
            tables = {name: elaboration.table(name) for name in every}
        self.values = {name: tables[name].values for name in names}
        self.starts_of_data: dict[str, int] = {}
        for name in names:
            self.starts_of_data[name] = self.builder.column_count
            form = self.data.declare(name, self.values[name].size)
            self.evaluator.forms[name] = tables[name].sets, form
        positions = {p.name: k for k, p in enumerate(core.parameters)}
        for name in computed:
            if name in names_in(core.parameters[positions[name]].value):
                path = f"{PATH}.parameters[{positions[name]}].value"
                raise BlueprintError([refusal(name, path, name)])
            form = self.evaluator.computed(name)
            self.evaluator.forms[name] = tables[name].sets, form
        self._bounds(core.decision_variables)

    def point(self) -> Floats:
        """Return the values of all parameter columns as they are now, zero for variables."""
        z = np.zeros(self.builder.column_count)
        for name, start in self.starts_of_data.items():
            values = self.values[name].reshape(-1)
            z[start : start + len(values)] = values
        for definition in self.data.definitions:
            value = definition.form.at(z)
            z[definition.start : definition.start + len(value)] = value
        return z

    # -- bounds of variables --------------------------------------------------------------------

    def _bounds(self, definitions: tuple[VariableDef, ...]) -> None:
        """Take down bounds that follow from parameters; meanwhile nothing may rest on them."""
        for position, definition in enumerate(definitions):
            for side, free in (("lower", -np.inf), ("upper", np.inf)):
                text = getattr(definition, side)
                if not names_in(text) & self._reached:
                    continue
                variable = self.variables[definition.name]
                with located(f"{PATH}.decision_variables[{position}].{side}", definition.name):
                    binders = self.elaboration.binders(definition.index)
                    checker = self.elaboration.checker()
                    unit = parse_unit(definition.unit or "1")
                    typed = checker.number(parse(text), checker.scope_of(binders), unit)
                    value = self.evaluator.number(typed.node, variable.grid)
                start = self.starts[definition.name]
                form = as_form(value, variable.size)
                baked = np.full(variable.size, 0.0)
                self.limits.append(Limit(f"column_{side}", start, form, baked))
                array = getattr(self.builder, f"column_{side}")
                array[start : start + variable.size] = free

    # -- rows -----------------------------------------------------------------------------------

    def _constraint(self, constraint: Constraint) -> None:
        relation = constraint.relation
        if not isinstance(relation, Compare) or not _is_range(relation):
            super()._constraint(constraint)
            return
        with located(f"{constraint.path}.expression", constraint.definition.name):
            given = [self._value(relation.operands[k], constraint.grid) for k in (0, 2)]
        ends = [as_form(value, constraint.grid.size) for value in given]
        # An end that is a form of nothing, or on no rows, may speak of variables all the same.
        plain = [not isinstance(value, Form) for value in given]
        if all(plain) or not all(
            number or (end.terms and end.size and self.data.holds(end))
            for number, end in zip(plain, ends, strict=True)
        ):
            super()._constraint(constraint)
            return
        self._ends_as_numbers = True
        try:
            super()._constraint(constraint)
        finally:
            self._ends_as_numbers = False
        start = self.builder.rows[-1].block.start
        low, high = ends if relation.ops[0] != ">=" else (ends[1], ends[0])
        z = self.point()
        self.limits.append(Limit("row_lower", start, low, low.at(z)))
        self.limits.append(Limit("row_upper", start, high, high.at(z)))

    def _value(self, node: Node, grid: Grid) -> Value:
        value = super()._value(node, grid)
        if self._ends_as_numbers and isinstance(value, Form) and self.data.holds(value):
            return value.at(self.point())
        return value


def _is_range(relation: Compare) -> bool:
    return len(relation.operands) == 3 and set(relation.ops) in ({"<="}, {">="})
