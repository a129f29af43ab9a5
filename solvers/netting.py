"""Flows in both directions at once that no cost rules out: among equal plans one without them.

Where energy is worth nothing, a store may lose it by charging and discharging at once, and the plan
costs as much as one that does not. A solver gives either.
"""

from dataclasses import replace
from typing import Final

import numpy as np
import numpy.typing as npt

from engiagent.errors import EngiagentError
from engiagent.formulations.program import Goal, Program
from engiagent.solvers import linear
from engiagent.solvers.feasibility import decided
from engiagent.solvers.goals import kept, with_linear_objective
from engiagent.solvers.result import Floats, SolveOptions, SolverResult

Ints = npt.NDArray[np.int64]

RUNS: Final = 1e-7
"""Above this a flow counts as one."""
LONGEST: Final = 100
"""Of the rows that tell two directions; longer ones are totals."""
ROUNDS: Final = 4
SAME: Final = 1e-9
"""Objectives this close, relative to their size, are the same."""
_SIZE: Final = 1e3
"""Of the objective in the row that keeps it; its tolerance is then 1e-10 of it."""
_SMALLEST: Final = 1e-8
"""HiGHS drops smaller coefficients, and warns."""


def netted(program: Program, result: SolverResult, options: SolveOptions) -> SolverResult:
    """Return the result of a linear program with flows one way at a time where that costs nothing.

    The multipliers stay: they prove every plan of the same cost. A time limit holds as it does for
    polishing: it may take a tenth of it, and two seconds at any rate.
    """
    if result.x is None or not program.is_linear:
        return result
    result = _without_opposites(program, result)
    assert result.x is not None
    sign = -1.0 if program.sense == "maximize" else 1.0
    columns, best = np.zeros(0, np.int64), program.objective_at(result.x)
    for _ in range(ROUNDS):
        pairs = both_ways(program, result.x)
        if not pairs.size:
            break
        columns = np.union1d(columns, pairs)
        try:
            found = _least_flows(program, result.x, columns, options)
        except EngiagentError:
            break  # the exact method for chains takes numbers that HiGHS does not
        if found is None or found.status != "optimal" or found.x is None:
            break
        x = np.where(program.integrality, result.x, found.x)
        value = program.objective_at(x)
        worse = sign * (value - best) > SAME * max(1.0, abs(best))
        if worse or x[columns].sum() > result.x[columns].sum() - RUNS:
            break
        result = replace(result, x=x, objective=value)
    return result


def both_ways(program: Program, x: Floats) -> Ints:
    """Return pairs of columns that both run and work against each other in each row they share.

    Charging and discharging share two rows at least, the balance of the store and that of its bus;
    or that of the store is all that they are in, and a loss tells them from the flows of a bus.
    Shape (2, k).
    """
    above = np.where(program.integrality, 0.0, x - program.column_lower)
    runs = np.isfinite(above) & (above > RUNS)
    inside = runs[program.row_columns]
    rows = np.repeat(np.arange(program.row_count), np.diff(program.row_starts))[inside]
    inside_short = np.bincount(rows, minlength=program.row_count)[rows] <= LONGEST
    rows, columns = rows[inside_short], program.row_columns[inside][inside_short]
    values = program.row_values[inside][inside_short]
    keys, against, lossy = [], [], []
    for apart in range(1, LONGEST):
        together = np.flatnonzero(rows[:-apart] == rows[apart:])
        if not together.size:
            break
        one, other = columns[together], columns[together + apart]
        keys.append(np.minimum(one, other) * program.column_count + np.maximum(one, other))
        against.append(values[together] * values[together + apart] < 0.0)
        lossy.append(values[together] != -values[together + apart])
    if not keys:
        return np.zeros((2, 0), np.int64)
    pairs, which, shared = np.unique(np.concatenate(keys), return_inverse=True, return_counts=True)
    opposed = np.bincount(which, np.concatenate(against), len(pairs)) == shared
    losing = np.bincount(which, np.concatenate(lossy), len(pairs)) > 0
    both = np.stack([pairs // program.column_count, pairs % program.column_count])
    rows_of = np.bincount(program.row_columns, minlength=program.column_count)
    alone = losing & (shared == 1) & (rows_of[both] == 1).all(axis=0)
    return both[:, opposed & ((shared >= 2) | alone)]


def _least_flows(
    program: Program, x: Floats, columns: Ints, options: SolveOptions
) -> SolverResult | None:
    """Solve for the least sum of some columns, the objective and all whole numbers as they are."""
    stage = decided(program, x)
    largest = float(np.abs(program.cost).max(initial=0.0))
    if largest:
        factor = _SIZE / max(abs(float(program.cost @ x)), largest / _SIZE)
        terms = factor * program.cost
        terms[np.abs(terms) < _SMALLEST] = 0.0
        stage = kept(stage, Goal("plan", program.sense, terms, 0.0, "1"), float(terms @ x))
    cost = np.zeros(program.column_count)
    cost[columns] = 1.0
    stage = replace(with_linear_objective(stage, cost), sense="minimize")
    return linear.polish(stage, options, x)


def _without_opposites(program: Program, result: SolverResult) -> SolverResult:
    """Return the result with the difference alone of columns that are each other's negative."""
    assert result.x is not None
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
