"""The best plan of a chain, with duals for every row of the program.

All steps are treated at once with numpy; only recursions go step by step.
"""

from typing import Final

import numpy as np

from engiagent.solvers.chain import recursions
from engiagent.solvers.chain.local import balance_prices, one_way, split_changes, step_cost
from engiagent.solvers.chain.model import Model, Scale, Steps, UnsuitableError, numbers_at
from engiagent.solvers.chain.recursions import Kernel, run
from engiagent.solvers.structure.chain import Bools, Floats, Ints, Singles

SNAP: Final = 1e-11
"""How near to a bound, relative to the largest state, a state counts as being at it."""
SLACK: Final = 1e-9
"""By how much of the largest state the plans may miss a bound through rounding."""


def best_plan(model: Model, kernel: Kernel) -> tuple[Floats, Floats] | None:
    """Return the best columns and slacks, (total,), and duals of the steps' rows, (m,), or None."""
    numbers, chain, ratio = numbers_at(model), model.chain, model.rows.ratio
    cost = step_cost(numbers.local)
    if cost is None:
        return None
    steps = Steps(
        slopes=cost.slopes,
        lengths=cost.changes[1:] - cost.changes[:-1],
        least=cost.changes[0],
        most=cost.changes[-1],
        ratio=ratio,
        inflow=numbers.inflow,
        lower=numbers.lower,
        upper=numbers.upper,
    )
    states = best_states(steps, model.units, kernel)
    if states is None:
        return None
    size = np.maximum(np.abs(steps.lower), np.abs(steps.upper))
    before = np.concatenate((np.zeros(1), states[:-1]))
    change = np.clip(states - ratio * before - steps.inflow, steps.least, steps.most)
    near = SNAP * np.maximum(np.maximum(size, np.abs(before)), steps.most - steps.least)
    split = split_changes(numbers.local, cost, change, near)
    at_bounds = states <= steps.lower + SNAP * size, states >= steps.upper - SNAP * size
    prices = state_prices(model.units, (-split.high, -split.low), at_bounds, kernel)
    x, y = np.zeros(model.total), np.zeros(model.program.row_count)
    real = model.columns >= 0
    x[model.columns[real]] = one_way(numbers.local, split.x)[real]
    real = chain.states >= 0
    x[chain.states[real]] = (model.rows.turn * states)[real]
    y[chain.chain_rows] = prices / model.rows.scale
    tail = chain.balance_rows >= 0
    if tail.any():
        y[chain.balance_rows[tail]] = balance_prices(numbers.local, split.x, prices)[tail]
    return x, y


def best_states(steps: Steps, scale: Scale, kernel: Kernel) -> Floats | None:
    """Return the best state after each step, shape (N,), or None when nothing is allowed."""
    factor = scale.factor
    parts = [steps.lower, steps.upper, steps.inflow, steps.least, steps.most]
    if scale.changes:
        parts = [part * factor for part in parts]
    low, high, inflow, least, most = parts
    inside = [np.where(scale.begins, 0.0, np.roll(end, 1) / scale.jumps) for end in (low, high)]
    size = np.maximum(np.abs(low), np.abs(high))
    reach = SLACK * np.maximum(np.maximum(size, np.abs(inside[1])), np.abs(inflow))
    counts, slopes, spans = _packed(steps, scale)
    backwards = (
        *(counts, least, most, inflow, *inside, low, high),
        *(scale.begins, scale.jumps, scale.syncs, reach),
    )
    levels, found = np.empty(len(spans)), np.empty(len(low))
    parts = [part[::-1] for part in backwards]
    if run(recursions.value_levels, kernel, levels, (slopes, spans), parts) >= 0:
        return None
    margin = SNAP * size
    forwards = counts, scale.jumps, inflow + least, low, high, low + margin, high - margin
    run(recursions.plan, kernel, found, (spans, levels), forwards)
    # The bounds themselves, and not what two roundings make of them.
    if scale.changes:
        result = np.where(found == low, steps.lower, found / factor)
        found = np.where(found == high, steps.upper, result)
    return found


def _packed(steps: Steps, scale: Scale) -> tuple[Ints, Floats, Floats]:
    """Return how many segments each step has, their slopes negated and their lengths, scaled."""
    slopes, lengths = -steps.slopes.T, steps.lengths.T
    if scale.changes:
        slopes = slopes / scale.factor[:, None] - scale.holding[:, None]
        lengths = lengths * scale.factor[:, None]
    real = lengths > 0
    if real.all():
        return np.full(len(real), real.shape[1]), slopes.ravel(), lengths.ravel()
    return real.sum(axis=1), slopes[real], lengths[real]


def state_prices(
    scale: Scale, allowed: tuple[Floats, Floats], at_bounds: tuple[Bools, Bools], kernel: Kernel
) -> Floats:
    """Return a price of the state after each step within what the step's own cost allows, (N,)."""
    factor, holding = scale.factor, scale.holding
    low, high = (side / factor - holding for side in allowed)
    at_lower, at_upper = at_bounds
    # Within a run nothing separates the prices, so that its intervals can be intersected at once.
    ends = at_lower | at_upper
    first = np.concatenate((np.ones(1, dtype=bool), ends[:-1])) | scale.begins | (scale.jumps != 1)
    starts = np.flatnonzero(first)
    lasts = np.append(starts[1:], len(low)) - 1
    low, high = np.maximum.reduceat(low, starts), np.minimum.reduceat(high, starts)
    crossed = low > high  # by rounding
    low[crossed] = high[crossed] = 0.5 * (low[crossed] + high[crossed])
    # At its lower bound a state may be worth less than to the next step, at its upper one more.
    parts = low, high, at_lower[lasts], at_upper[lasts], scale.begins[starts], scale.jumps[starts]
    prices = np.empty(len(starts))
    run(recursions.price, kernel, prices, [part.astype(np.float64) for part in parts], ())
    runs = np.repeat(prices, lasts - starts + 1)
    return factor * (runs + holding)


def evaluate(model: Model, kernel: Kernel) -> tuple[Floats, Floats, Floats] | None:
    """Return the best point (n,), duals (m,) and reduced costs (n,) of a minimisation, or None."""
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
