r"""Kinks as linear rows: a program without abs, max, min and piecewise where that is exact.

Where a function with a kink stands in convex position, a new column t takes its place:

.. math:: |u| \le t \iff -t \le u \le t, \qquad \max_k u_k \le t \iff u_k \le t \;\forall k

and likewise below a min or a concave table. Interior-point methods need the smooth form, and the
multipliers then tell which side of a kink is active. Kinks elsewhere stay as they are.
"""

from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from engiagent.formulations.program import OBJECTIVE, Program
from engiagent.formulations.values import Atom, Floats, Form, Part, variables
from engiagent.solvers.convex.derivatives import affine_matrix, matrix
from engiagent.solvers.result import SolverResult

DEEPEST: Final = 10
"""How many kinks may stand inside one another."""


def lifted(program: Program) -> Program:
    """Return a program without the kinks that new columns can say; the same one without any.

    Its first columns and rows are those of the given program.
    """
    for _ in range(DEEPEST):
        step = _lift_once(program)
        if step is program:
            break
        program = step
    return program


def lowered(program: Program, result: SolverResult) -> SolverResult:
    """Return the result of a lifted program as one of the program itself."""
    n, m = program.column_count, program.row_count
    x = None if result.x is None else result.x[:n]
    return replace(
        result,
        x=x,
        row_dual=None if result.row_dual is None else result.row_dual[:m],
        column_dual=None if result.column_dual is None else result.column_dual[:n],
        ray=None if result.ray is None else result.ray[:n],
        farkas=None if result.farkas is None or m != len(result.farkas) else result.farkas,
        objective=None if x is None else program.objective_at(x),
    )


@dataclass(frozen=True, eq=False)
class _New:
    """Columns and rows to add: each row is a form of at least 0."""

    parts: list[Part]
    cost: list[tuple[Any, Floats]]
    entries: list[tuple[Any, Any, Floats]]
    rows: list[Form]


def _lift_once(program: Program) -> Program:
    new = _New([], [], [], [])
    count = program.column_count
    found = False
    for part in program.nonlinear:
        side = _side(program, part)
        chosen = np.flatnonzero(side != 0)
        if not len(chosen):
            new.parts.append(part)
            continue
        found = True
        rows = part.row_numbers()
        weights = np.broadcast_to(part.coefficients, rows.shape)
        rest = np.flatnonzero(side == 0)
        if len(rest):
            new.parts.append(Part(rows[rest], weights[rest], part.atom.take(rest)))
        for direction in (1.0, -1.0):
            mine = np.flatnonzero(side == direction)
            if not len(mine):
                continue
            columns = np.arange(count, count + len(mine))
            count += len(mine)
            new.rows.extend(_limits(part.atom.take(mine), variables(columns), direction))
            goal = rows[mine] == OBJECTIVE
            new.cost.append((columns[goal], weights[mine][goal]))
            new.entries.append((rows[mine][~goal], columns[~goal], weights[mine][~goal]))
    return _with(program, new, count) if found else program


def _side(program: Program, part: Part) -> Floats:
    """Return for each element 1 where a column above says it, -1 where one below, else 0."""
    atom = part.atom
    shape = _shape(atom)
    rows = part.row_numbers()
    weights = np.broadcast_to(part.coefficients, rows.shape)
    sense = -1.0 if program.sense == "maximize" else 1.0
    pressed = np.full(rows.shape, sense)  # the side from which each row is pressed down
    inside = rows != OBJECTIVE
    low, high = program.row_lower[rows[inside]], program.row_upper[rows[inside]]
    pressed[inside] = np.where(np.isinf(low), 1.0, np.where(np.isinf(high), -1.0, 0.0))
    return np.where(np.sign(weights) * pressed == shape, shape, 0.0)


def _shape(atom: Atom) -> Floats:
    """Return 1 for each convex kinked element, -1 for a concave one, 0 for others; (size,)."""
    if atom.function in ("abs", "max"):
        # The argument of an abs must be affine, for both of its sides are used.
        usable = atom.function == "max" or atom.args[0].is_affine
        return np.full(atom.size, 1.0 if usable else 0.0)
    if atom.function == "min":
        return np.full(atom.size, -1.0)
    if atom.function == "piecewise" and atom.args[0].is_affine:
        slopes = np.diff(atom.numbers[1], axis=-1) / np.diff(atom.numbers[0], axis=-1)
        bends = np.broadcast_to(np.diff(slopes, axis=-1), (atom.size, slopes.shape[-1] - 1))
        return np.where((bends >= 0).all(axis=1), 1.0, np.where((bends <= 0).all(axis=1), -1.0, 0))
    return np.zeros(atom.size)


def _limits(atom: Atom, column: Form, direction: float) -> list[Form]:
    """Return forms of at least 0 that hold a column on or beyond the atom."""
    inner = atom.args[0]
    if atom.function == "abs":
        return [column - inner, column + inner]
    if atom.function in ("max", "min"):
        assert atom.groups is not None
        return [(column.take(atom.groups) - inner) * direction]
    xs, ys = (np.broadcast_to(v, (atom.size, v.shape[-1])) for v in atom.numbers)
    limits = [inner - xs[:, 0], -(inner - xs[:, -1])]
    for k in range(xs.shape[1] - 1):
        slope = (ys[:, k + 1] - ys[:, k]) / (xs[:, k + 1] - xs[:, k])
        line = (inner - xs[:, k]) * slope + ys[:, k]
        limits.append((column - line) * direction)
    return limits


def _with(program: Program, new: _New, count: int) -> Program:
    from scipy.sparse import coo_array, csr_array, hstack, vstack

    n, m = program.column_count, program.row_count
    free = count - n
    cost = np.concatenate([program.cost, np.zeros(free)])
    for columns, weights in new.cost:
        np.add.at(cost, columns, weights)
    rows, columns, values = (np.concatenate(group) for group in zip(*new.entries, strict=True))
    top = hstack([matrix(program), csr_array((m, free))], format="csr")
    top = top + coo_array((values, (rows, columns)), shape=(m, count)).tocsr()
    total = vstack([top, *(affine_matrix(form, count) for form in new.rows)], format="csr")
    total.sum_duplicates()
    parts, first, lower = list(new.parts), m, [program.row_lower]
    for form in new.rows:
        lower.append(-np.broadcast_to(form.constant, (form.size,)))
        parts.extend(
            Part(first + part.row_numbers(), part.coefficients, part.atom) for part in form.parts
        )
        first += form.size
    return replace(
        program,
        cost=cost,
        column_lower=np.concatenate([program.column_lower, np.full(free, -np.inf)]),
        column_upper=np.concatenate([program.column_upper, np.full(free, np.inf)]),
        integrality=np.concatenate([program.integrality, np.zeros(free, dtype=bool)]),
        row_starts=total.indptr.astype(np.int64),
        row_columns=total.indices.astype(np.int64),
        row_values=total.data,
        row_lower=np.concatenate(lower),
        row_upper=np.concatenate([program.row_upper, np.full(first - m, np.inf)]),
        nonlinear=tuple(parts),
        goals=(),
        method=None,
    )
