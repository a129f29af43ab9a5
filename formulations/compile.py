"""From a blueprint to the arrays of a program.

Every expression is evaluated once over its whole index grid; nothing here loops over time. What
is not linear is a function of forms at first and becomes rows where that is exact
(:mod:`engiagent.formulations.lowering`); the rest stays in the program as it is.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from engiagent.blueprint.analysis import analyse
from engiagent.blueprint.checked import Constraint, Variable, checked_constraint, checked_variables
from engiagent.blueprint.diagnostics import BlueprintError, Diagnostic, MissingDataError, located
from engiagent.blueprint.document import Blueprint
from engiagent.blueprint.elaborate import PATH, Elaboration
from engiagent.blueprint.goals import Objective, Penalty, checked_objective, checked_penalty
from engiagent.blueprint.grammar import Call, ExpressionError, Node
from engiagent.blueprint.grid import Grid
from engiagent.blueprint.indexing import Value
from engiagent.blueprint.reporting import report_findings
from engiagent.blueprint.sets import IndexSet
from engiagent.blueprint.stages import stage_findings
from engiagent.blueprint.uncertainty import uncertain_names
from engiagent.errors import EngiagentError
from engiagent.formulations.assembly import assembled, costs, separated
from engiagent.formulations.evaluator import FormEvaluator
from engiagent.formulations.expansion import expand
from engiagent.formulations.lowering.builder import Builder
from engiagent.formulations.lowering.logic import Side, conditional
from engiagent.formulations.lowering.lower import lowered
from engiagent.formulations.program import (
    NO_INDICATORS,
    ColumnBlock,
    Coordinate,
    ExpressionBlock,
    Goal,
    Indicators,
    Program,
)
from engiagent.formulations.relations import Piece, pieces, state_relation
from engiagent.formulations.scenarios import reduced
from engiagent.formulations.values import (
    Atom,
    Floats,
    Form,
    applied,
    as_form,
    atoms,
    constant,
    variables,
)


def compile_blueprint(
    blueprint: Blueprint, folder: Path | str | None = None, elaboration: Elaboration | None = None
) -> Program:
    """Return the program that a blueprint states; components not yet expanded are expanded first.

    ``folder`` is where its data files lie; ``elaboration`` that of the expanded blueprint over this
    folder, where static analysis has made one. Raises BlueprintError with a located diagnostic for
    every error found, MissingDataError when parameters are declared as missing.
    """
    if blueprint.kind == "definitions":
        text = "definitions are computed, not optimised; there is no program to solve"
        raise EngiagentError(text)
    full = expand(blueprint)
    place = Path(folder) if folder is not None else None
    try:
        if elaboration is None or elaboration.core is not full.core:
            elaboration = Elaboration(full.core, place)
        if elaboration.missing:
            raise MissingDataError(elaboration.missing)
        elaboration.build()
        found = (*stage_findings(elaboration), *report_findings(full, elaboration))
        if found:
            raise BlueprintError(found)
        return compiler_of(full, elaboration).run()
    except BlueprintError as error:
        # One stage stops at its first errors; whoever repairs them wants to know of all.
        also = [d for d in analyse(full, place).diagnostics if d.severity == "error"]
        known = {(d.path, d.message) for d in error.diagnostics}
        more = [d for d in also if (d.path, d.message) not in known]
        raise BlueprintError([*error.diagnostics, *more]) from None


def compiler_of(blueprint: Blueprint, elaboration: Elaboration) -> "Compiler":
    """Return the compilation of a blueprint: a robust one when parameters are uncertain."""
    if not uncertain_names(blueprint.core):
        return Compiler(blueprint, elaboration)
    from engiagent.formulations.robust import RobustCompiler

    return RobustCompiler(blueprint, elaboration)


class Compiler:
    """One compilation; :meth:`run` returns the program."""

    def __init__(self, blueprint: Blueprint, elaboration: Elaboration) -> None:
        self.blueprint = blueprint
        self.elaboration = elaboration
        self.variables = {v.definition.name: v for v in checked_variables(elaboration)}
        self.starts: dict[str, int] = {}
        self.builder = Builder()
        self._declare()
        self.evaluator = FormEvaluator(elaboration, self.variables, self.starts)
        self.objective: Objective | None = None
        self.penalties: Form = constant(0.0, 1)

    def run(self) -> Program:
        """Return the program; BlueprintError with a located diagnostic for every error found."""
        errors: list[Diagnostic] = []
        goals: list[tuple[Form, Any]] = []
        try:
            self.objective = checked_objective(self.elaboration)
        except BlueprintError as error:
            errors.extend(error.diagnostics)
        errors += self._constraints()
        if not errors:
            try:
                goals = self._goals()
            except BlueprintError as error:
                errors.extend(error.diagnostics)
        if errors:
            raise BlueprintError(errors)
        return self._program(goals)

    def _program(self, goals: list[tuple[Form, Any]]) -> Program:
        builder, objective = self.builder, self.objective
        first = goals[0][0] if goals else constant(0.0, 1)
        forms, goal, products, parts = separated([r.form for r in builder.rows], first)
        count = builder.column_count
        starts, columns, values = assembled(forms, count)
        cost, offset = costs(goal, count)
        moved = [(r, r.moved(form)) for r, form in zip(builder.rows, forms, strict=True)]
        method = objective.method if objective is not None else None
        blocks = tuple(r.block for r in builder.rows)
        return Program(
            sense=objective.goals[0].sense if objective is not None else "minimize",
            cost=cost,
            offset=offset,
            column_lower=builder.column_lower,
            column_upper=builder.column_upper,
            integrality=builder.integrality,
            row_starts=starts,
            row_columns=columns,
            row_values=values,
            row_lower=_stacked([(r.lower - shift, r.form.size) for r, shift in moved]),
            row_upper=_stacked([(r.upper - shift, r.form.size) for r, shift in moved]),
            products=products,
            nonlinear=parts,
            indicators=self._indicators(),
            sos1=tuple(builder.sos1),
            goals=tuple(_goal(form, given, count) for form, given in goals) if method else (),
            method=method,
            columns=tuple(builder.columns),
            rows=blocks,
            expressions=tuple(self._expressions()),
            coordinates=self._coordinates(),
            objective_name=objective.goals[0].name if objective is not None else "objective",
            objective_unit=str(objective.unit) if objective is not None else "1",
            blueprint_sha256=self.blueprint.sha256,
        )

    # -- columns --------------------------------------------------------------------------------

    def _declare(self) -> None:
        """Declare the columns of every variable, and a switch for each semicontinuous one."""
        blocks, lower, upper, whole, start = [], [], [], [], 0
        for name, variable in self.variables.items():
            self.starts[name] = start
            blocks.append(_column_block(variable, start))
            switched = variable.definition.type == "semicontinuous"
            least = np.minimum(variable.lower, 0.0) if switched else variable.lower
            lower.append((least, variable.size))
            upper.append((variable.upper, variable.size))
            whole.append(np.full(variable.size, variable.definition.type in ("integer", "binary")))
            start += variable.size
        flags = np.concatenate(whole) if whole else np.zeros(0, dtype=bool)
        self.builder.declare(blocks, _stacked(lower), _stacked(upper), flags)
        for name, variable in self.variables.items():
            if variable.definition.type == "semicontinuous":
                self._switch(name, variable)

    def _switch(self, name: str, variable: Variable) -> None:
        """Let a semicontinuous variable be zero, or between its bounds while its switch is on."""
        builder, size = self.builder, variable.size
        columns = self.starts[name] + np.arange(size, dtype=np.int64)
        value = variables(columns)
        on = builder.add_columns(f"{name}__on", size, 0.0, 1.0, "binary")
        unit = str(variable.unit)
        conditional(builder, [1.0 - on], [Side(value, 0.0, 0.0, unit)], f"{name}__off")
        least = Side(value, variable.lower, np.inf, unit)
        conditional(builder, [on], [least], f"{name}__least")

    # -- rows -----------------------------------------------------------------------------------

    def _constraints(self) -> list[Diagnostic]:
        errors: list[Diagnostic] = []
        seen: set[str] = set()
        for position, definition in enumerate(self.elaboration.core.constraints):
            path = f"{PATH}.constraints[{position}]"
            try:
                if definition.constraint_id in seen:
                    message = f"the id {definition.constraint_id!r} is used twice"
                    raise BlueprintError([Diagnostic("EB012", "error", path, message)])
                self._constraint(checked_constraint(self.elaboration, position))
            except BlueprintError as error:
                errors.extend(error.diagnostics)
            seen.add(definition.constraint_id)
        return errors

    def _constraint(self, constraint: Constraint) -> None:
        definition = constraint.definition
        label = definition.name or definition.constraint_id
        self.evaluator.origin = definition.constraint_id
        penalty = None
        if definition.hard is False or definition.penalty is not None:
            penalty = checked_penalty(self.elaboration, constraint, self.objective)
        with located(f"{constraint.path}.expression", label), _named_functions():
            relation = constraint.relation
            if isinstance(relation, Call):
                if penalty is not None:
                    text = "only a comparison can be soft, so that its slack has a size"
                    raise ExpressionError(text, relation.span[0] + 1, None, "EB017")
                state_relation(self.builder, constraint, self._value, self._certain)
                return
            for piece in pieces(constraint, relation, self._value):
                for certain in self._certain(constraint, piece):
                    self._rows(constraint, certain, penalty)

    def _certain(self, constraint: Constraint, piece: Piece) -> list[Piece]:
        """Return the rows that hold whatever comes: the row itself, since every number is known."""
        return [piece]

    def _rows(self, constraint: Constraint, piece: Piece, penalty: Penalty | None) -> None:
        form = piece.form
        if penalty is not None:
            form = self._softened(constraint, piece, penalty)
        if not form.is_affine:
            form = lowered(self.builder, form, piece.sign, piece.name)
        definition = constraint.definition
        self.builder.add_rows(
            piece.name,
            form,
            piece.lower,
            piece.upper,
            name=definition.name or definition.constraint_id,
            constraint_id=piece.name,
            generated=False,
            unit=str(constraint.typed.unit.difference()),
            sets=tuple(s.name for s in constraint.sets),
            shape=tuple(s.size for s in constraint.sets),
            positions=constraint.positions,
            description=definition.description,
        )

    def _softened(self, constraint: Constraint, piece: Piece, penalty: Penalty) -> Form:
        """Give a row a slack on each side that it limits, and charge the objective for it."""
        form, size = piece.form, piece.form.size
        assert self.objective is not None
        sides = [(-1.0, "above")] if np.any(np.isfinite(piece.upper)) else []
        sides += [(1.0, "below")] if np.any(np.isfinite(piece.lower)) else []
        for direction, word in sides:
            name = f"{piece.name}__slack" + (f"_{word}" if len(sides) > 1 else "")
            slack = self.builder.add_columns(
                name,
                size,
                0.0,
                np.inf,
                generated=False,
                unit=str(constraint.typed.unit.difference()),
                sets=tuple(s.name for s in constraint.sets),
                shape=tuple(s.size for s in constraint.sets),
                positions=constraint.positions,
                role="auxiliary",
                description=f"slack of the soft constraint {constraint.definition.constraint_id}",
            )
            form = form + slack * direction
            squared = applied(Atom("power", size, (slack,), None, (np.asarray(2.0),)))
            charged = (squared if penalty.squared else slack) * penalty.weights
            single = np.zeros(size, dtype=np.int64)
            sign = 1.0 if self.objective.goals[0].sense == "minimize" else -1.0
            self.penalties = self.penalties + charged.group_sum(single, 1) * sign
        return form

    def _value(self, node: Node, grid: Grid) -> Value:
        """Evaluate and refuse what is too large for double precision."""
        with np.errstate(over="ignore", invalid="ignore"):
            value = self.evaluator.number(node, grid)
        parts = [value]
        if isinstance(value, Form):
            inside = [value, *(form for atom in atoms(value) for form in atom.args)]
            parts = [form.constant for form in inside]
            parts += [term.coefficients for form in inside for term in form.terms]
        if not all(np.all(np.isfinite(part)) for part in parts):
            raise ExpressionError(
                "a number here is too large", node.span[0] + 1, "choose a unit that fits", "EB016"
            )
        return value

    # -- the objective --------------------------------------------------------------------------

    def _goals(self) -> list[tuple[Form, Any]]:
        """Return the forms of all goals, lowered, with their definitions."""
        objective = self.objective
        if objective is None:
            return []
        result = []
        for goal in objective.goals:
            self.evaluator.origin = goal.name
            with located(goal.path, goal.name), _named_functions():
                value = as_form(self._value(goal.node, objective.grid), objective.grid.size)
                if objective.risk is not None and objective.risk.measure == "worst":
                    value = self._worst(value, goal.sense, goal.name)
                if objective.risk is not None:
                    value = reduced(
                        self.builder, self.evaluator, value, objective.risk, goal.sense, goal.name
                    )
                value = self._worst(value, goal.sense, goal.name) + self.penalties
                sign = 1 if goal.sense == "minimize" else -1
                form = lowered(self.builder, value, sign, goal.name) if value.parts else value
                if objective.method is not None and not form.is_affine:
                    text = "one of several goals must be linear"
                    raise ExpressionError(text, goal.node.span[0] + 1, None, "EB026")
            result.append((form, goal))
        return result

    def _worst(self, value: Form, sense: str, name: str) -> Form:
        """Return what a goal is worth in the worst case: its value, since every number is known."""
        return value

    # -- the rest -------------------------------------------------------------------------------

    def _indicators(self) -> Indicators:
        given = self.builder.indicators
        if not given:
            return NO_INDICATORS
        rows, columns, active = (np.concatenate(part) for part in zip(*given, strict=True))
        return Indicators(rows, columns, active)

    def _expressions(self) -> list[ExpressionBlock]:
        blocks = []
        for position, definition in enumerate(self.elaboration.core.expressions):
            symbol = self.elaboration.symbols[definition.name]
            named = self.elaboration.named[definition.name]
            self.evaluator.origin = definition.name
            with located(f"{PATH}.expressions[{position}].expression", definition.name):
                binders = self.elaboration.binders(definition.index)
                grid, kept = self.elaboration.grid_with_positions(binders, definition.where)
                value = as_form(self._value(named.body, grid), grid.size)
            starts, columns, values = assembled([value], self.builder.column_count)
            blocks.append(
                ExpressionBlock(
                    name=definition.name,
                    start=0,
                    stop=grid.size,
                    unit=str(symbol.unit),
                    sets=tuple(s.name for s in named.sets),
                    shape=tuple(s.size for s in named.sets),
                    positions=kept if definition.where is not None else None,
                    description=definition.description,
                    quantity=definition.quantity,
                    row_starts=starts,
                    row_columns=columns,
                    row_values=values,
                    constant=np.array(np.broadcast_to(value.constant, (grid.size,))),
                    parts=value.parts,
                )
            )
        return blocks

    def _coordinates(self) -> dict[str, Coordinate]:
        names: dict[str, None] = {}
        for variable in self.variables.values():
            names |= dict.fromkeys(s.name for s in variable.sets)
        for row in self.builder.rows:
            names |= dict.fromkeys(row.block.sets)
        for named in self.elaboration.named.values():
            names |= dict.fromkeys(s.name for s in named.sets)
        return {name: coordinate(self.elaboration.index_set(name)) for name in names}


@contextmanager
def _named_functions() -> Iterator[None]:
    """Turn what the lowering cannot do into errors at the place of the function."""
    try:
        yield
    except ZeroDivisionError as error:
        atom = error.args[0]
        raise ExpressionError(
            "the divisor may be zero",
            atom.column,
            "give its variables bounds that exclude zero",
            "EB027",
        ) from None
    except MemoryError as error:
        raise ExpressionError(str(error), 1, None, "EB003") from None


def _goal(form: Form, given: Any, count: int) -> Goal:
    cost, offset = costs(form, count)
    return Goal(
        given.name, given.sense, cost, offset, str(given.unit), given.tolerance, given.limit
    )


def _column_block(variable: Variable, start: int) -> ColumnBlock:
    definition = variable.definition
    return ColumnBlock(
        name=definition.name,
        start=start,
        stop=start + variable.size,
        unit=str(variable.unit),
        sets=tuple(s.name for s in variable.sets),
        shape=tuple(s.size for s in variable.sets),
        positions=variable.positions,
        description=definition.description,
        kind=definition.type,
        quantity=definition.quantity,
        role=definition.role,
    )


def coordinate(index_set: IndexSet) -> Coordinate:
    """Return the labels of a set as a solution carries them: dates as UTC where there is a zone."""
    axis = index_set.axis
    kind = index_set.root.kind
    if axis is not None and axis.dated and kind in ("time", "instants"):
        own = index_set.root is index_set  # then its elements are the first of the edges
        values: npt.NDArray[Any] = axis.stamps
        values = values[: index_set.size] if own else values[index_set.in_root]
        return Coordinate(index_set.name, kind, values, axis.zone)
    labels = index_set.labels
    if labels and all(isinstance(label, int) for label in labels):
        return Coordinate(index_set.name, kind, np.array(labels, dtype=np.int64))
    texts = [",".join(map(str, x)) if isinstance(x, tuple) else str(x) for x in labels]
    return Coordinate(index_set.name, kind, np.array(texts, dtype=object))


def _stacked(parts: list[tuple[Any, int]]) -> Floats:
    """Return numbers one after the other: each part with its size, shape (size,) or ()."""
    result = np.empty(sum(size for _, size in parts))
    start = 0
    for values, size in parts:
        result[start : start + size] = values
        start += size
    return result
