r"""Programs as arrays that solvers of quadratic programs take: minimised, rows kept ranged.

.. math:: \min \tfrac12 x^T P x + c^T x \quad\text{s.t.}\quad r^- \le A x \le r^+,\;
    x^- \le x \le x^+
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from engiagent.errors import EngiagentError
from engiagent.formulations.program import Program
from engiagent.formulations.values import Floats
from engiagent.solvers.convex.curvature import of_objective
from engiagent.solvers.convex.derivatives import matrix
from engiagent.solvers.convex.outcome import refusal


@dataclass(frozen=True, eq=False)
class Quadratic:
    """A convex quadratic program.

    Attributes
    ----------
    sign
        What the program's objective is multiplied by so that it is minimised.
    p, a
        Sparse, (n, n) symmetric and (m, n).
    c
        Shape (n,).
    """

    sign: float
    p: Any
    c: Floats
    a: Any
    row_lower: Floats
    row_upper: Floats
    column_lower: Floats
    column_upper: Floats

    @property
    def equations(self) -> Any:
        """Numbers of the rows whose two sides are equal."""
        return np.flatnonzero(self.row_lower == self.row_upper)

    @property
    def inequalities(self) -> Any:
        """Numbers of the other rows that have a limit."""
        given = np.isfinite(self.row_lower) | np.isfinite(self.row_upper)
        return np.flatnonzero((self.row_lower != self.row_upper) & given)


def quadratic(program: Program, solver: str) -> Quadratic:
    """Return a program as a quadratic one.

    Raises
    ------
    EngiagentError
        When it is none, or not convex, saying why.
    """
    reason = refusal(program)
    if reason is not None:
        raise EngiagentError(f"{solver} cannot take this program: {reason}")
    sign = -1.0 if program.sense == "maximize" else 1.0
    return Quadratic(
        sign,
        sign * of_objective(program),
        sign * program.cost,
        matrix(program),
        program.row_lower,
        program.row_upper,
        program.column_lower,
        program.column_upper,
    )
