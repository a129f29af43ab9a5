"""Flows in both directions at once that change nothing: only their difference is kept.

A store without losses that charges and discharges in one period is, for every row and for the
objective, the store that does so by the difference, which is what an operator can set. Solvers
stop at either point. Two columns are such a pair when they are each other's negative in all rows
and in the objective, and may both fall.
"""

from dataclasses import replace

import numpy as np

from engiagent.formulations.program import Program
from engiagent.solvers.result import SolverResult


def netted(program: Program, result: SolverResult) -> SolverResult:
    """Return the result of a linear program with the difference of such flows alone."""
    if result.x is None or not program.is_linear:
        return result
    above = np.where(program.integrality, 0.0, result.x - program.column_lower)
    free = np.flatnonzero(np.isfinite(above) & (above > 0.0))
    # A column of numbers is told by its product with random ones; a negative column has the
    # negative product to the last bit, since both are added up in the same order.
    chance = np.random.default_rng(7).random(program.row_count)
    terms = program.row_values * np.repeat(chance, np.diff(program.row_starts))
    told = np.bincount(program.row_columns, terms, program.column_count)[free]
    order = np.argsort(np.abs(told), kind="stable")
    first, second = free[order[:-1]], free[order[1:]]
    one, other = told[order[:-1]], told[order[1:]]
    pair = (one == -other) & (one != 0.0) & (program.cost[first] == -program.cost[second])
    if not pair.any():
        return result
    x = result.x.copy()
    for a, b in zip(first[pair], second[pair], strict=True):
        less = min(x[a] - program.column_lower[a], x[b] - program.column_lower[b])
        x[a], x[b] = x[a] - less, x[b] - less
    return replace(result, x=x)
