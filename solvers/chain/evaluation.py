"""The best plan of a chain whose couplers have given values, with multipliers for every row."""

from dataclasses import dataclass

import numpy as np

from engiagent.solvers.chain.model import Model, UnsuitableError
from engiagent.solvers.chain.numbers import Bounds, bounds_at
from engiagent.solvers.chain.plan import Plan, best_plan
from engiagent.solvers.chain.recursions import Kernel
from engiagent.solvers.structure.chain import Singles
from engiagent.solvers.structure.entries import Floats, Ints


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The best plan for some values of the couplers, for the costs of a minimisation.

    Attributes
    ----------
    values
        Of the couplers, shape (k,).
    objective, slope
        The least cost, penalties included, and its derivative by the couplers, shape (k,).
    excess, penalty
        The largest amount by which a bound is exceeded, and what that costs in ``objective``.
    x, y
        The point (n,) and the multipliers of the rows (m,).
    reduced
        Reduced costs of the columns (n,).
    """

    values: Floats
    objective: float
    slope: Floats
    excess: float
    penalty: float
    x: Floats
    y: Floats
    reduced: Floats


def evaluate(model: Model, values: Floats, kernel: Kernel) -> Evaluation | None:
    """Return the best plan, or None when these values of the couplers allow none.

    Raises
    ------
    UnsuitableError
        When the method does not apply to these numbers.
    """
    bounds = bounds_at(model, values)
    plan = best_plan(model, bounds, kernel)
    return None if plan is None else _assembled(model, values, bounds, plan)


def _assembled(model: Model, values: Floats, bounds: Bounds, plan: Plan) -> Evaluation:
    """Put the parts where the program has them."""
    n, y = model.program.column_count, plan.y
    excess = plan.x[model.total - len(model.excess_of) :]
    if len(excess):
        np.add.at(plan.x, model.excess_of, excess)
    x = plan.x[:n]
    x[model.held] = model.lower[model.held]
    x[model.chain.couplers] = values
    cost = model.cost[:n]
    _settle_outside(model, x, cost)
    penalty = 0.0
    if len(excess):
        penalty = float((_penalties(model) * excess).sum())
    reduced = _price_singles(model, bounds.constant, y)
    return Evaluation(
        values=values,
        objective=float((cost * x).sum()) + penalty,
        slope=reduced[model.chain.couplers],
        excess=float(np.abs(excess).max(initial=0.0)),
        penalty=penalty,
        x=x,
        y=y,
        reduced=reduced,
    )


def _penalties(model: Model) -> Floats:
    """Return what a unit of each excess costs beyond the cost of its column."""
    own: Floats = model.cost[model.total - len(model.excess_of) :] - model.cost[model.excess_of]
    return own


def _settle_outside(model: Model, x: Floats, cost: Floats) -> None:
    """Put every column that stands alone at its better bound."""
    alone = model.chain.alone
    if not len(alone):
        return
    lower, upper = model.lower[alone], model.upper[alone]
    least = np.where(np.isfinite(lower), lower, np.where(np.isfinite(upper), upper, 0.0))
    best = np.where(cost[alone] > 0, lower, np.where(cost[alone] < 0, upper, least))
    if not np.isfinite(best).all():
        raise UnsuitableError("a column that stands alone has no bound")
    x[alone] = best


def _price_singles(model: Model, constant: Floats, y: Floats) -> Floats:
    """Hand the reduced costs of bounds to the rows that set them; return what remains, (n,)."""
    program, entries, passes = model.program, model.chain.entries, model.chain.passes
    cost = model.cost[: program.column_count]
    reduced = cost - entries.transposed_times(y)
    if not passes:
        return reduced
    ends = [_ends(model, singles, constant) for singles in passes]
    lower, upper = program.column_lower, program.column_upper
    if not model.bounded_once:
        lower, upper = lower.copy(), upper.copy()
        for singles, (low, high) in zip(passes, ends, strict=True):
            np.maximum.at(lower, singles.columns, low)
            np.minimum.at(upper, singles.columns, high)
    for singles, (low, high) in zip(passes[::-1], ends[::-1], strict=True):
        columns = singles.columns
        slope = reduced[columns]
        down = (slope > 0) & (low > program.column_lower[columns]) & (low >= lower[columns])
        up = (slope < 0) & (high < program.column_upper[columns]) & (high <= upper[columns])
        rows = np.flatnonzero(down | up)
        if not model.bounded_once:
            rows = _one_each(rows, columns, len(reduced))
        if len(rows):
            y[singles.rows[rows]] = slope[rows] / singles.values[rows]
            reduced = cost - entries.transposed_times(y)
    return reduced


def _ends(model: Model, singles: Singles, constant: Floats) -> tuple[Floats, Floats]:
    program, rows = model.program, singles.rows
    known = np.where(model.chain.fixed[singles.columns], model.lower[singles.columns], 0.0)
    rest = constant[rows] - singles.values * known
    low = (program.row_lower[rows] - rest) / singles.values
    high = (program.row_upper[rows] - rest) / singles.values
    return np.minimum(low, high), np.maximum(low, high)


def _one_each(places: Ints, columns: Ints, size: int) -> Ints:
    """Return the places of which no two have the same column."""
    owner = np.full(size, -1, dtype=np.int64)
    owner[columns[places]] = places
    return owner[owner >= 0]
