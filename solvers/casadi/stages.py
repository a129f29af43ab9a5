r"""The stages of an optimal control problem, found in a program's pattern.

.. math:: x_{k+1} = f_k(x_k, u_k), \qquad h_k^- \le h_k(x_k, u_k) \le h_k^+

The columns of a time set stand at its stages. A row may speak of one stage, or be an equation that
gives one column of the next stage; the columns so given are states, all others controls.
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from engiagent.errors import EngiagentError
from engiagent.formulations.program import Block, Program
from engiagent.formulations.values import Floats, Ints
from engiagent.solvers.casadi.graph import Graph
from engiagent.solvers.convex.derivatives import matrix
from engiagent.solvers.session_shift import STAGED
from engiagent.solvers.validate import place_of

SMALL: Final = 100
"""Largest program without a time set that goes as one stage, which is solved densely."""


@dataclass(frozen=True, eq=False)
class Stages:
    """How the columns and rows of a program stand in stages.

    Attributes
    ----------
    columns, rows
        Their numbers in the order of the stages: states, then controls; equations that give the
        next states, then other rows.
    row_scale
        Factor of each row, in the program's order, so that the state it gives has coefficient 1.
    states, controls, limits
        How many of each stage has; the last two numbers of rows apart from the equations.
    """

    columns: Ints
    rows: Ints
    row_scale: Floats
    states: list[int]
    controls: list[int]
    limits: list[int]


def stages_of(program: Program, graph: Graph, solver: str) -> Stages:
    """Return the stages of a program.

    Raises
    ------
    EngiagentError
        When it has none, naming the row or column that does not fit.
    """
    finder = _Finder(program, graph, solver)
    return finder.stages()


class _Finder:
    def __init__(self, program: Program, graph: Graph, solver: str) -> None:
        import casadi

        self.program = program
        self.solver = solver
        pattern = casadi.jacobian(graph.rows, graph.x).sparsity()
        rows, columns = pattern.get_triplet()
        self.rows, self.columns = np.array(rows, dtype=int), np.array(columns, dtype=int)
        self.nonlinear = _which_bend(program, graph)
        self.stage = self._column_stages()
        self._refuse_mixed_curvature(graph)

    def refuse(self, why: str) -> EngiagentError:
        return EngiagentError(f"{self.solver} needs a program in stages, but {why}; IPOPT takes it")

    def _column_stages(self) -> Ints:
        program = self.program
        stage = np.full(program.column_count, -1, dtype=np.int64)
        for block in program.columns:
            stage[block.start : block.stop] = _positions(program, block)
        if not np.any(stage >= 0):
            if program.column_count > SMALL:
                raise self.refuse("no variable runs over a time set")
            return np.zeros(program.column_count, dtype=np.int64)
        stage = np.asarray(self._with_controls_ahead(stage), dtype=np.int64)
        # A column of no time set belongs to the one stage whose rows it stands in, if it is one.
        for column in np.flatnonzero(stage < 0).tolist():
            rows = self.rows[self.columns == column]
            near = stage[self.columns[np.isin(self.rows, rows)]]
            near = np.unique(near[near >= 0])
            if len(near) > 1:
                name = place_of(program, program.columns, column)
                raise self.refuse(f"{name} stands in rows of several stages")
            stage[column] = near[0] if len(near) else 0
        return stage

    def _with_controls_ahead(self, stage: Ints) -> Ints:
        """Move variables one stage ahead that act on the way to the state of their own period.

        A state at the end of period t follows from the one before and from what is done in t, so
        what is done in t stands at the stage before. A variable that itself passes from one stage
        to the next is a state and stays.
        """
        program = self.program
        block = np.zeros(program.column_count, dtype=np.int64)
        for number, item in enumerate(program.columns):
            block[item.start : item.stop] = number
        known = stage[self.columns] >= 0
        rows, columns = self.rows[known], self.columns[known]
        m = program.row_count
        low, high = np.full(m, program.column_count + 1), np.full(m, -1)
        np.minimum.at(low, rows, stage[columns])
        np.maximum.at(high, rows, stage[columns])
        joining = (high - low == 1)[rows]
        later = joining & (stage[columns] == high[rows])
        many = np.bincount(rows[later], minlength=m) > 1
        passing = np.unique(block[columns[joining & ~later]])
        acting = np.setdiff1d(block[columns[later & many[rows]]], passing)
        moved = stage - (np.isin(block, acting) & (stage >= 0))
        shift = -int(moved[stage >= 0].min()) if np.any(stage >= 0) else 0
        result: Ints = np.where(stage >= 0, moved + shift, -1)
        return result

    def _refuse_mixed_curvature(self, graph: Graph) -> None:
        import casadi

        y = type(graph.x).sym("y", graph.rows.shape[0])
        lagrangian = graph.objective + casadi.dot(y, graph.rows)
        pattern = casadi.hessian(lagrangian, graph.x)[0].sparsity()
        first, second = (np.array(part, dtype=int) for part in pattern.get_triplet())
        apart = self.stage[first] != self.stage[second]
        if apart.any():
            names = [
                place_of(self.program, self.program.columns, int(c[apart][0]))
                for c in (first, second)
            ]
            raise self.refuse(f"a function joins {names[0]} and {names[1]} of different stages")

    def stages(self) -> Stages:
        program, stage = self.program, self.stage
        m, count = program.row_count, int(stage.max()) + 1
        low, high = np.full(m, count), np.full(m, -1)
        np.minimum.at(low, self.rows, stage[self.columns])
        np.maximum.at(high, self.rows, stage[self.columns])
        empty = high < 0
        low[empty] = high[empty] = 0
        wide = np.flatnonzero(high - low > 1)
        if len(wide):
            raise self.refuse(f"{self._row(int(wide[0]))} spans more than two stages")
        joins = np.flatnonzero(high - low == 1)
        given = self._given_columns(joins, high)
        state = np.zeros(program.column_count, dtype=bool)
        state[given] = True
        scale = np.ones(m)
        dense = matrix(program)[joins].tocoo()
        own = dense.col == given[dense.row]
        coefficients = np.bincount(dense.row[own], dense.data[own], len(joins))
        if np.any(coefficients == 0):
            raise self.refuse("an equation does not give the next state")
        scale[joins] = 1.0 / coefficients
        return self._ordered(count, state, joins, given, low, scale)

    def _given_columns(self, joins: Ints, high: Ints) -> Ints:
        """Return for each joining row the one column of its later stage."""
        program = self.program
        loose = joins[program.row_lower[joins] != program.row_upper[joins]]
        if len(loose):
            raise self.refuse(f"{self._row(int(loose[0]))} joins two stages and is no equation")
        later = self.stage[self.columns] == high[self.rows]
        inside = np.isin(self.rows, joins) & later
        counts = np.bincount(self.rows[inside], minlength=program.row_count)
        many = joins[counts[joins] != 1]
        if len(many):
            raise self.refuse(f"{self._row(int(many[0]))} has several variables of the next stage")
        given = np.zeros(program.row_count, dtype=np.int64)
        given[self.rows[inside]] = self.columns[inside]
        found = given[joins]
        twice = np.flatnonzero(np.bincount(found, minlength=1) > 1)
        if len(twice):
            name = place_of(program, program.columns, int(twice[0]))
            raise self.refuse(f"{name} is given by several equations")
        bent = [
            (r, c)
            for r, c in zip(joins.tolist(), found.tolist(), strict=True)
            if (r, c) in self.nonlinear
        ]
        if bent:
            raise self.refuse(f"{self._row(bent[0][0])} is not linear in the next state")
        return found

    def _ordered(
        self, count: int, state: Any, joins: Ints, given: Ints, low: Ints, scale: Floats
    ) -> Stages:
        joining = np.zeros(self.program.row_count, dtype=bool)
        joining[joins] = True
        place = np.zeros(self.program.column_count, dtype=np.int64)
        column_order = np.lexsort((np.arange(len(state)), ~state, self.stage))
        place[column_order] = np.arange(len(column_order))
        rank = np.arange(self.program.row_count)
        rank[joins] = place[given]  # equations in the order of the states they give
        row_order = np.lexsort((rank, ~joining, low))

        def per_stage(stages: Any) -> list[int]:
            return [int(n) for n in np.bincount(stages, minlength=count)]

        return Stages(
            column_order.astype(np.int64),
            row_order.astype(np.int64),
            scale,
            per_stage(self.stage[state]),
            per_stage(self.stage[~state]),
            per_stage(low[~joining]),
        )

    def _row(self, row: int) -> str:
        return place_of(self.program, self.program.rows, row)


def _positions(program: Program, block: Block) -> Ints:
    """Return the stage of each element, -1 for a block of no time set."""
    here = np.arange(block.size, dtype=np.int64)
    for axis, name in enumerate(block.sets):
        if name in program.coordinates and program.coordinates[name].kind in STAGED:
            flat = here if block.positions is None else block.positions
            return np.asarray(np.unravel_index(flat, block.shape)[axis], dtype=np.int64)
    return np.full(block.size, -1, dtype=np.int64)


def _which_bend(program: Program, graph: Graph) -> set[tuple[int, int]]:
    """Return the entries of the rows' derivatives that depend on the columns."""
    import casadi

    slopes = casadi.jacobian(graph.rows, graph.x)
    rows, columns = slopes.sparsity().get_triplet()
    bends = casadi.which_depends(slopes.nz[:], graph.x, 1, True)
    return {(r, c) for r, c, bend in zip(rows, columns, bends, strict=True) if bend}
