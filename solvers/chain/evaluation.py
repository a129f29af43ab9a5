"""The best plan of a chain whose couplers have given values, with multipliers for every row."""

from dataclasses import dataclass

import numpy as np

from engiagent.solvers.chain.kernels import SNAP, Kernel, best_states, state_prices
from engiagent.solvers.chain.local import balance_prices, split_changes, step_cost
from engiagent.solvers.chain.model import Model, UnsuitableError, numbers_at
from engiagent.solvers.chain.scaling import Steps
from engiagent.solvers.structure.chain import Singles
from engiagent.solvers.structure.entries import Bools, Floats, Ints


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
    numbers = numbers_at(model, values)
    compiled = kernel == "numba"
    cost = step_cost(numbers.local, compiled)
    if cost is None:
        return None
    steps = Steps(
        slopes=cost.slopes,
        lengths=cost.changes[1:] - cost.changes[:-1],
        least=cost.changes[0],
        most=cost.changes[-1],
        ratio=model.ratio,
        inflow=numbers.inflow,
        cost=numbers.cost,
        lower=numbers.lower,
        upper=numbers.upper,
    )
    states = best_states(steps, model.units, kernel)
    if states is None:
        return None
    size = np.maximum(np.abs(steps.lower), np.abs(steps.upper))
    before = np.concatenate((np.zeros(1), states[:-1]))
    change = np.clip(states - model.ratio * before - steps.inflow, steps.least, steps.most)
    near = SNAP * np.maximum(np.maximum(size, np.abs(before)), steps.most - steps.least)
    split = split_changes(numbers.local, cost, change, near, compiled)
    at_bounds = states <= steps.lower + SNAP * size, states >= steps.upper - SNAP * size
    prices = state_prices(model.units, (-split.high, -split.low), at_bounds, kernel)
    balances = balance_prices(numbers.local, split.x, prices, compiled)
    return _assembled(model, values, states, split.x, prices, balances)


def _assembled(
    model: Model, values: Floats, states: Floats, local: Floats, prices: Floats, balances: Floats
) -> Evaluation:
    """Put the parts where the program has them."""
    program, chain = model.program, model.chain
    n, total = program.column_count, int(model.columns.max(initial=0)) + 1
    count = n + len(model.slack_rows) + len(model.excess_of)
    x = np.zeros(max(total, count + 1))
    x[:n] = model.known
    x[model.columns] = local
    first = count - len(model.excess_of)
    excess = x[first:count].copy()
    np.add.at(x, model.excess_of, excess)
    x = x[:n]
    real = chain.states >= 0
    x[chain.states[real]] = (model.turn * states)[real]
    x[chain.couplers] = values
    y = np.zeros(program.row_count)
    y[chain.chain_rows] = prices / model.scale
    tail = chain.balance_rows >= 0
    y[chain.balance_rows[tail]] = balances[tail]
    cost = model.sign * program.cost
    _settle_outside(model, x, cost)
    penalty = 0.0
    if len(excess):
        penalty = float((_penalties(model) * excess).sum())
    reduced = _price_singles(model, values, y, cost)
    return Evaluation(
        values=values,
        objective=float((cost * x).sum()) + penalty,
        slope=reduced[chain.couplers],
        excess=float(np.abs(excess).max(initial=0.0)),
        penalty=penalty,
        x=x,
        y=y,
        reduced=reduced,
    )


def _penalties(model: Model) -> Floats:
    """Return what a unit of each excess costs beyond the cost of its column."""
    excess_cost = np.zeros(len(model.excess_of))
    first = model.program.column_count + len(model.slack_rows)
    chosen = (model.columns >= first) & (model.columns < first + len(model.excess_of))
    excess_cost[model.columns[chosen] - first] = model.cost[chosen]
    own = np.zeros(first)
    own[: model.program.column_count] = model.sign * model.program.cost
    return excess_cost - own[model.excess_of]


def outside(model: Model) -> Bools:
    """Return which columns stand in no step and are neither fixed nor couplers, shape (n,)."""
    chain = model.chain
    away = ~chain.fixed
    away[chain.couplers] = False
    away[chain.local[chain.local >= 0]] = False
    away[chain.states[chain.states >= 0]] = False
    return away


def _settle_outside(model: Model, x: Floats, cost: Floats) -> None:
    """Put every column that stands alone at its better bound."""
    alone = np.flatnonzero(outside(model))
    if not len(alone):
        return
    lower, upper = model.lower[alone], model.upper[alone]
    least = np.where(np.isfinite(lower), lower, np.where(np.isfinite(upper), upper, 0.0))
    best = np.where(cost[alone] > 0, lower, np.where(cost[alone] < 0, upper, least))
    if not np.isfinite(best).all():
        raise UnsuitableError("a column that stands alone has no bound")
    x[alone] = best


def _price_singles(model: Model, values: Floats, y: Floats, cost: Floats) -> Floats:
    """Hand the reduced costs of bounds to the rows that set them; return what remains, (n,)."""
    program, entries = model.program, model.chain.entries
    if not model.chain.passes:
        return cost - entries.transposed_times(y)
    constant = model.constant
    if len(values):
        point = np.zeros(program.column_count)
        point[model.chain.couplers] = values
        constant = constant + model.couplings.times(point)
    ends = [_ends(model, singles, constant) for singles in model.chain.passes]
    lower, upper = program.column_lower.copy(), program.column_upper.copy()
    for singles, (low, high) in zip(model.chain.passes, ends, strict=True):
        np.maximum.at(lower, singles.columns, low)
        np.minimum.at(upper, singles.columns, high)
    reduced = cost - entries.transposed_times(y)
    for singles, (low, high) in zip(model.chain.passes[::-1], ends[::-1], strict=True):
        columns = singles.columns
        slope = reduced[columns]
        down = (slope > 0) & (low > program.column_lower[columns]) & (low >= lower[columns])
        up = (slope < 0) & (high < program.column_upper[columns]) & (high <= upper[columns])
        rows = _one_each(np.flatnonzero(down | up), columns, len(reduced))
        if len(rows):
            y[singles.rows[rows]] = slope[rows] / singles.values[rows]
            reduced = cost - entries.transposed_times(y)
    return reduced


def _ends(model: Model, singles: Singles, constant: Floats) -> tuple[Floats, Floats]:
    program, rows = model.program, singles.rows
    rest = constant[rows] - singles.values * model.known[singles.columns]
    low = (program.row_lower[rows] - rest) / singles.values
    high = (program.row_upper[rows] - rest) / singles.values
    return np.minimum(low, high), np.maximum(low, high)


def _one_each(places: Ints, columns: Ints, size: int) -> Ints:
    """Return the places of which no two have the same column."""
    owner = np.full(size, -1, dtype=np.int64)
    owner[columns[places]] = places
    return owner[owner >= 0]
