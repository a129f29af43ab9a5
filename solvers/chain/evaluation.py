"""The best plan of a chain, with duals for every row of the program."""

import numpy as np

from engiagent.solvers.chain.model import Model, UnsuitableError
from engiagent.solvers.chain.plan import best_plan
from engiagent.solvers.chain.recursions import Kernel
from engiagent.solvers.structure.chain import Singles
from engiagent.solvers.structure.entries import Floats, Ints


def evaluate(model: Model, kernel: Kernel) -> tuple[Floats, Floats, Floats] | None:
    """Return the best point (n,), duals (m,) and reduced costs (n,) of a minimisation, or None.

    Raises UnsuitableError when the method does not apply to these numbers.
    """
    plan = best_plan(model, kernel)
    if plan is None:
        return None
    x, y = plan[0][: model.program.column_count], plan[1]
    x[model.held] = model.lower[model.held]
    _settle_outside(model, x, model.cost[: len(x)])
    return x, y, _price_singles(model, y)


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


def _price_singles(model: Model, y: Floats) -> Floats:
    """Hand the reduced costs of bounds to the rows that set them; return what remains, (n,)."""
    program, entries, passes = model.program, model.chain.entries, model.chain.passes
    constant = model.rows.constant
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
