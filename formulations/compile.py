"""From a blueprint to the arrays of a linear or mixed-integer program.

Every expression is evaluated once over its whole index grid; nothing here loops over time.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from engiagent.blueprint.checked import (
    Constraint,
    Variable,
    checked_constraint,
    checked_objective,
    checked_variables,
)
from engiagent.blueprint.diagnostics import (
    BlueprintError,
    Diagnostic,
    MissingDataError,
    located,
)
from engiagent.blueprint.document import Blueprint
from engiagent.blueprint.elaborate import PATH, Elaboration
from engiagent.blueprint.grammar import ExpressionError, Node
from engiagent.blueprint.grid import EMPTY_GRID, Grid
from engiagent.blueprint.indexing import Value
from engiagent.blueprint.sets import IndexSet
from engiagent.formulations.expansion import expand
from engiagent.formulations.linear import Affine, AffineEvaluator
from engiagent.formulations.program import (
    ColumnBlock,
    Coordinate,
    ExpressionBlock,
    Floats,
    Program,
    RowBlock,
)


def compile_blueprint(blueprint: Blueprint, folder: Path | str | None = None) -> Program:
    """Return the program that a blueprint states.

    Parameters
    ----------
    blueprint
        The blueprint; components not yet expanded are expanded first.
    folder
        Where its data files lie.

    Raises
    ------
    BlueprintError
        With a located diagnostic for every error found.
    MissingDataError
        When parameters are declared as missing.
    """
    full = expand(blueprint)
    elaboration = Elaboration(full.core, Path(folder) if folder is not None else None)
    if elaboration.missing:
        raise MissingDataError(elaboration.missing)
    elaboration.build()
    return _Compiler(full, elaboration).run()


@dataclass(frozen=True)
class _Rows:
    """The rows of one constraint before assembly."""

    block: RowBlock
    value: Affine
    lower: Floats
    upper: Floats


class _Compiler:
    """One compilation."""

    def __init__(self, blueprint: Blueprint, elaboration: Elaboration) -> None:
        self.blueprint = blueprint
        self.elaboration = elaboration
        self.variables = {v.definition.name: v for v in checked_variables(elaboration)}
        self.starts: dict[str, int] = {}
        self.column_count = 0
        for name, variable in self.variables.items():
            self.starts[name] = self.column_count
            self.column_count += variable.size
        self.evaluator = AffineEvaluator(elaboration, self.variables, self.starts)

    def run(self) -> Program:
        rows, errors = self._all_rows()
        try:
            cost, offset, sense, unit, name = self._objective()
        except BlueprintError as error:
            errors.extend(error.diagnostics)
        if errors:
            raise BlueprintError(errors)
        starts, columns, values = _assemble([r.value for r in rows], self.column_count)
        blocks = tuple(r.block for r in rows)
        return Program(
            sense=sense,
            cost=cost,
            offset=offset,
            column_lower=self._stack("lower"),
            column_upper=self._stack("upper"),
            integrality=self._integrality(),
            row_starts=starts,
            row_columns=columns,
            row_values=values,
            row_lower=_join([r.lower for r in rows]),
            row_upper=_join([r.upper for r in rows]),
            columns=tuple(self._column_block(v) for v in self.variables.values()),
            rows=blocks,
            expressions=tuple(self._expressions()),
            coordinates=self._coordinates(blocks),
            objective_name=name,
            objective_unit=unit,
            blueprint_sha256=self.blueprint.sha256,
        )

    # -- columns --------------------------------------------------------------------------------

    def _stack(self, side: str) -> Floats:
        return _join([getattr(variable, side) for variable in self.variables.values()])

    def _integrality(self) -> npt.NDArray[np.bool_]:
        flags = [
            np.full(variable.size, variable.definition.type != "continuous")
            for variable in self.variables.values()
        ]
        return np.concatenate(flags) if flags else np.zeros(0, dtype=bool)

    def _column_block(self, variable: Variable) -> ColumnBlock:
        definition = variable.definition
        start = self.starts[definition.name]
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

    # -- rows -----------------------------------------------------------------------------------

    def _all_rows(self) -> tuple[list[_Rows], list[Diagnostic]]:
        rows: list[_Rows] = []
        errors: list[Diagnostic] = []
        start = 0
        seen: set[str] = set()
        for position, definition in enumerate(self.elaboration.core.constraints):
            try:
                self._refuse_unsupported(position, seen)
                constraint = checked_constraint(self.elaboration, position)
                for part in self._rows_of(constraint, start):
                    rows.append(part)
                    start = part.block.stop
            except BlueprintError as error:
                errors.extend(error.diagnostics)
            seen.add(definition.constraint_id)
        return rows, errors

    def _refuse_unsupported(self, position: int, seen: set[str]) -> None:
        definition = self.elaboration.core.constraints[position]
        path = f"{PATH}.constraints[{position}]"
        if definition.constraint_id in seen:
            message = f"the id {definition.constraint_id!r} is used twice"
            raise BlueprintError([Diagnostic("EB012", "error", path, message)])
        if definition.hard is False:
            message = "soft constraints are not compiled yet; write the slack and its cost yourself"
            raise BlueprintError([Diagnostic("EB017", "error", f"{path}.hard", message)])

    def _rows_of(self, constraint: Constraint, start: int) -> list[_Rows]:
        definition = constraint.definition
        with located(f"{constraint.path}.expression", definition.name or definition.constraint_id):
            tree = constraint.comparison
            sides = [self._value(part, constraint.grid) for part in tree.operands]
            ranged = len(sides) == 3 and not any(
                isinstance(s, Affine) for s in (sides[0], sides[2])
            )
            if ranged and set(tree.ops) in ({"<="}, {">="}):
                low, high = (sides[0], sides[2]) if tree.ops[0] != ">=" else (sides[2], sides[0])
                pieces = [(definition.constraint_id, sides[1], low, high)]
            else:
                pieces = self._split_chain(definition.constraint_id, tree.ops, sides)
            rows = []
            for name, value, lower, upper in pieces:
                rows.append(self._rows(constraint, name, value, lower, upper, start))
                start = rows[-1].block.stop
        return rows

    def _value(self, node: Node, grid: Grid) -> Value:
        """Evaluate and refuse what is too large for double precision."""
        with np.errstate(over="ignore", invalid="ignore"):
            value = self.evaluator.number(node, grid)
        parts = [value]
        if isinstance(value, Affine):
            parts = [value.constant, *(term.coefficients for term in value.terms)]
        if not all(np.all(np.isfinite(part)) for part in parts):
            raise ExpressionError(
                "a number here is too large", node.span[0] + 1, "choose a unit that fits", "EB016"
            )
        return value

    def _split_chain(
        self, name: str, ops: tuple[str, ...], sides: list[Value]
    ) -> list[tuple[str, Value, Any, Any]]:
        """Return one piece a comparison: ``left - right`` against zero."""
        pieces = []
        for number, (op, left, right) in enumerate(zip(ops, sides, sides[1:], strict=False), 1):
            lower = 0.0 if op in (">=", "==") else -np.inf
            upper = 0.0 if op in ("<=", "==") else np.inf
            piece = name if len(ops) == 1 else f"{name}__{number}"
            pieces.append((piece, left - right, lower, upper))
        return pieces

    def _rows(
        self, constraint: Constraint, name: str, value: Value, lower: Any, upper: Any, start: int
    ) -> _Rows:
        size = constraint.grid.size
        if not isinstance(value, Affine):
            value = Affine(size, np.asarray(value), ())
        constant = np.broadcast_to(value.constant, (size,))
        block = RowBlock(
            name=constraint.definition.name or constraint.definition.constraint_id,
            start=start,
            stop=start + size,
            unit=str(constraint.typed.unit.difference()),
            sets=tuple(s.name for s in constraint.sets),
            shape=tuple(s.size for s in constraint.sets),
            positions=constraint.positions,
            description=constraint.definition.description,
            constraint_id=name,
        )
        return _Rows(block, value, lower - constant, upper - constant)

    # -- the rest -------------------------------------------------------------------------------

    def _objective(self) -> tuple[Floats, float, Any, str, str]:
        objective = checked_objective(self.elaboration)
        cost = np.zeros(self.column_count)
        if objective is None:
            return cost, 0.0, "minimize", "1", "objective"
        definition = objective.definition
        with located(f"{PATH}.objective_function.expression", definition.name):
            value = self._value(objective.node, EMPTY_GRID)
        offset = value
        if isinstance(value, Affine):
            offset = value.constant
            for term in value.terms:
                cost += np.bincount(term.columns, term.coefficients, self.column_count)
        number = float(np.broadcast_to(offset, (1,))[0])
        return cost, number, definition.sense, str(objective.unit), definition.name or "objective"

    def _expressions(self) -> list[ExpressionBlock]:
        blocks = []
        for position, definition in enumerate(self.elaboration.core.expressions):
            symbol = self.elaboration.symbols[definition.name]
            named = self.elaboration.named[definition.name]
            with located(f"{PATH}.expressions[{position}].expression", definition.name):
                binders = self.elaboration.binders(definition.index)
                grid, kept = self.elaboration.grid_with_positions(binders, definition.where)
                value = self._value(named.body, grid)
            if not isinstance(value, Affine):
                value = Affine(grid.size, np.asarray(value), ())
            starts, columns, values = _assemble([value], self.column_count)
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
                )
            )
        return blocks

    def _coordinates(self, rows: tuple[RowBlock, ...]) -> dict[str, Coordinate]:
        names: dict[str, None] = {}
        for variable in self.variables.values():
            names |= dict.fromkeys(s.name for s in variable.sets)
        for row in rows:
            names |= dict.fromkeys(row.sets)
        for named in self.elaboration.named.values():
            names |= dict.fromkeys(s.name for s in named.sets)
        return {name: coordinate(self.elaboration.index_set(name)) for name in names}


def coordinate(index_set: IndexSet) -> Coordinate:
    """Return the labels of a set as a solution carries them: dates as UTC where there is a zone."""
    axis = index_set.axis
    kind = index_set.root.kind
    if axis is not None and axis.dated and kind in ("time", "instants"):
        seconds = axis.edges[index_set.in_root]
        values: npt.NDArray[Any] = np.round(seconds * 1e9).astype("int64").astype("M8[ns]")
        return Coordinate(index_set.name, kind, values, axis.zone)
    labels = index_set.labels
    if labels and all(isinstance(label, int) for label in labels):
        return Coordinate(index_set.name, kind, np.array(labels, dtype=np.int64))
    texts = [",".join(map(str, x)) if isinstance(x, tuple) else str(x) for x in labels]
    return Coordinate(index_set.name, kind, np.array(texts, dtype=object))


def _join(parts: list[Any]) -> Floats:
    return np.concatenate(parts) if parts else np.zeros(0)


def _assemble(
    values: list[Affine], column_count: int
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], Floats]:
    """Return the CSR arrays of stacked affine values; a column's terms in one row are added."""
    from scipy.sparse import coo_array

    rows, columns, coefficients = [], [], []
    start = 0
    for value in values:
        for term in value.terms:
            rows.append(term.row_numbers() + start)
            columns.append(term.columns)
            coefficients.append(np.broadcast_to(term.coefficients, term.columns.shape))
        start += value.size
    if not rows:
        return np.zeros(start + 1, dtype=np.int32), np.zeros(0, dtype=np.int32), np.zeros(0)
    entries = (np.concatenate(rows).astype(np.int32), np.concatenate(columns).astype(np.int32))
    matrix = coo_array((np.concatenate(coefficients), entries), shape=(start, column_count)).tocsr()
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix.indptr, matrix.indices, matrix.data
