"""Compilation in which parameters that change are columns, to be taken out again afterwards."""

from dataclasses import dataclass

import numpy as np

from engiagent.blueprint.checked import Constraint
from engiagent.blueprint.diagnostics import BlueprintError, located
from engiagent.blueprint.document import Blueprint, VariableDef
from engiagent.blueprint.elaborate import PATH
from engiagent.blueprint.grammar import Compare, Node, names_in, parse
from engiagent.blueprint.grid import Grid
from engiagent.blueprint.indexing import Value
from engiagent.formulations.compile import Compiler
from engiagent.formulations.parametric.evaluator import (
    DataColumns,
    GivenElaboration,
    ParametricEvaluator,
    closure,
    dependents,
    refusal,
    refuse_in_variables,
)
from engiagent.formulations.values import Floats, Form, as_form
from engiagent.units.unit import parse_unit


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
