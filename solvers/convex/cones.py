r"""Convex programs as cone programs.

.. math:: \min \tfrac12 x^T P x + c^T x \quad\text{s.t.}\quad A x + s = b, \; s \in K

with K a product of {0}, the non-negative numbers, second-order cones (head first), exponential
cones :math:`\{y e^{x/y} \le z\}` and power cones :math:`\{x^\alpha y^{1-\alpha} \ge |z|\}`, in this
order. Each convex function gets a column of its own that lies on or above it, so that every row of
the program stays one linear row here and keeps its multiplier. Rows that are second-order cones
without being sums of squares, as :math:`x^2 \le y z`, become cones themselves.
"""

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from engiagent.errors import EngiagentError
from engiagent.formulations.program import OBJECTIVE, Program
from engiagent.formulations.values import Floats, Form, Ints, Term, constant, variables
from engiagent.solvers.convex.curvature import is_positive, of_objective
from engiagent.solvers.convex.derivatives import affine_matrix
from engiagent.solvers.convex.optimality import Multipliers
from engiagent.solvers.convex.outcome import discrete_refusal
from engiagent.solvers.convex.quadratic_rows import Head, reduce_quadratic_rows
from engiagent.solvers.convex.reduction import Reduction

KINDS: Final = ("zero", "nonnegative", "second-order", "exponential", "power")


APEX: Final = 1e-6
"""Height, relative to the point, below which a cone is at its apex, where no multiplier of its row
exists: the objective changes faster than any multiple of the right-hand side."""


@dataclass(frozen=True, eq=False)
class ConeProgram:
    """A program as cones.

    Attributes
    ----------
    sign
        What the program's objective is multiplied by so that it is minimised.
    p, c, a, b
        Sparse symmetric (N, N), (N,), sparse (M, N), (M,); the program's own columns come first.
    zero, nonnegative
        How many entries of s are 0 and at least 0.
    second_order
        Sizes of the second-order cones.
    exponential
        How many exponential cones.
    powers
        The exponent α of each power cone.
    """

    sign: float
    p: Any
    c: Floats
    a: Any
    b: Floats
    zero: int
    nonnegative: int
    second_order: Ints
    exponential: int
    powers: Floats
    _equations: Ints
    _lower: Ints
    _upper: Ints
    _heads: tuple[Head, ...]
    _shape: tuple[int, int] = field(default=(0, 0))

    def multipliers(self, dual: Floats, x: Floats) -> Multipliers:
        """Return the program's multipliers in its own sense.

        Parameters
        ----------
        dual
            The cone program's multipliers λ in the dual cone, ``P x + c + A'λ = 0``; (M,).
        x
            All columns of the cone program, shape (N,).
        """
        n = self._shape[1]
        y, pull, slack = np.zeros(self._shape[0]), np.zeros(n), 0.0
        y[self._equations] = dual[: len(self._equations)]
        first = self.zero
        np.add.at(y, self._lower, dual[first : first + len(self._lower)])
        first += len(self._lower)
        np.add.at(y, self._upper, -dual[first : first + len(self._upper)])
        ends = np.cumsum(self.second_order) + self.zero + self.nonnegative
        apex: list[int] = []
        for head in self._heads:
            stop = int(ends[head.cone])
            cone = slice(stop - int(self.second_order[head.cone]), stop)
            height = float(head.height.at(x)[0])
            if height > APEX * max(1.0, float(np.max(np.abs(x), initial=0.0))):
                # The row is |F z|² - (v'z)² <= 0, its gradient 2 v'z times that of the cone.
                y[head.row] = head.side * dual[cone][0] / (2.0 * height)
                continue
            apex.append(head.row)
            rows = self.a.tocsr()[cone]
            pull += (rows.T @ dual[cone])[:n]
            slack += float(dual[cone] @ (self.b[cone] - rows @ x))
        return Multipliers(self.sign * y, pull, slack, tuple(apex))


def cone_program(program: Program, solver: str) -> ConeProgram:
    """Return a convex program as a cone program.

    Raises
    ------
    EngiagentError
        When it has whole numbers or conditional rows, or when a function in it stands where it is
        not convex, naming the function and its place.
    """
    reason = discrete_refusal(program)
    if reason is not None:
        raise EngiagentError(f"{solver} cannot take this program: {reason}")
    sign = -1.0 if program.sense == "maximize" else 1.0
    p = sign * of_objective(program)
    if not is_positive(p):
        shape = "concave" if sign < 0 else "convex"
        raise EngiagentError(f"{solver} cannot take this program: its objective is not {shape}")
    reduction = Reduction(program, solver)
    cost = Form(1, np.zeros(()), (_objective_term(program, sign),))
    cost = cost + _objective_parts(program, reduction, sign)
    rows, heads = _rows(program, reduction)
    return _assemble(program, reduction, sign, p, cost, rows, heads)


def _objective_term(program: Program, sign: float) -> Term:
    columns = np.arange(program.column_count)
    return Term(np.zeros(len(columns), dtype=np.int64), columns, sign * program.cost)


def _objective_parts(program: Program, reduction: Reduction, sign: float) -> Form:
    total = constant(0.0, 1)
    for part in program.nonlinear:
        rows = part.row_numbers()
        chosen = np.flatnonzero(rows == OBJECTIVE)
        if len(chosen):
            weights = sign * np.broadcast_to(part.coefficients, rows.shape)[chosen]
            bound = reduction.weighted(part.atom.take(chosen), weights, 1.0)
            total = total + bound.group_sum(np.zeros(len(chosen), dtype=np.int64), 1)
    return total


@dataclass(frozen=True, eq=False)
class _Rows:
    """Forms that are on or above (``high``) and on or below (``low``) the rows."""

    low: Form
    high: Form
    skip: Ints


def _rows(program: Program, reduction: Reduction) -> tuple[_Rows, tuple[Head, ...]]:
    m = program.row_count
    row_of = np.repeat(np.arange(m), np.diff(program.row_starts))
    affine = Form(m, np.zeros(()), (Term(row_of, program.row_columns, program.row_values),))
    added, heads = reduce_quadratic_rows(program, reduction)
    low, high = affine + added, affine + added
    for part in program.nonlinear:
        rows = part.row_numbers()
        for side, bounds in ((1.0, program.row_upper), (-1.0, program.row_lower)):
            chosen = np.flatnonzero(rows != OBJECTIVE)
            chosen = chosen[np.isfinite(bounds[rows[chosen]])]
            if not len(chosen):
                continue
            weights = np.broadcast_to(part.coefficients, rows.shape)[chosen]
            bound = reduction.weighted(part.atom.take(chosen), weights, side)
            spread = bound.group_sum(rows[chosen], m)
            low, high = (low, high + spread) if side > 0 else (low + spread, high)
    skip = np.array([head.row for head in heads], dtype=np.int64)
    return _Rows(low, high, skip), heads


def _assemble(
    program: Program,
    reduction: Reduction,
    sign: float,
    p: Any,
    cost: Form,
    rows: _Rows,
    heads: tuple[Head, ...],
) -> ConeProgram:
    from scipy.sparse import block_diag, csr_array, vstack

    usable = np.ones(program.row_count, dtype=bool)
    usable[rows.skip] = False
    curved = np.zeros(program.row_count, dtype=bool)
    for part in program.nonlinear:
        numbers = part.row_numbers()
        curved[numbers[numbers != OBJECTIVE]] = True
    same = usable & (program.row_lower == program.row_upper)
    equations = np.flatnonzero(same & ~curved)
    lower = np.flatnonzero(usable & np.isfinite(program.row_lower) & ~(same & ~curved))
    upper = np.flatnonzero(usable & np.isfinite(program.row_upper) & ~(same & ~curved))
    identity = variables(np.arange(program.column_count))
    fixed = np.flatnonzero(program.column_lower == program.column_upper)
    below = np.setdiff1d(np.flatnonzero(np.isfinite(program.column_lower)), fixed)
    above = np.setdiff1d(np.flatnonzero(np.isfinite(program.column_upper)), fixed)
    zero = [
        rows.high.take(equations) - program.row_upper[equations],
        identity.take(fixed) - program.column_lower[fixed],
    ]
    nonnegative = [
        rows.low.take(lower) - program.row_lower[lower],
        -(rows.high.take(upper) - program.row_upper[upper]),
        identity.take(below) - program.column_lower[below],
        -(identity.take(above) - program.column_upper[above]),
        *reduction.nonnegative,
    ]
    stacks = [
        *zero,
        *nonnegative,
        *reduction.second_order,
        *reduction.exponential,
        *reduction.power,
    ]
    total = reduction.count
    # s = form, so A x + s = b has A the form's coefficients with the other sign.
    a = vstack([csr_array((0, total)), *(-affine_matrix(form, total) for form in stacks)])
    b = [np.broadcast_to(form.constant, (form.size,)) for form in stacks]
    extra = total - program.column_count
    return ConeProgram(
        sign,
        block_diag([p, csr_array((extra, extra))], format="csr") if extra else p,
        affine_matrix(cost, total).toarray()[0],
        a.tocsc(),
        np.concatenate([np.zeros(0), *b]).astype(np.float64),
        sum(form.size for form in zero),
        sum(form.size for form in nonnegative),
        np.concatenate([np.zeros(0, np.int64), *reduction.second_order_sizes]),
        sum(form.size for form in reduction.exponential) // 3,
        np.concatenate([np.zeros(0), *reduction.alphas]),
        equations,
        lower,
        upper,
        heads,
        (program.row_count, program.column_count),
    )
