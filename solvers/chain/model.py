"""The numbers of a chain: a program with its couplers fixed becomes steps with local columns.

The columns are those of the program, then one slack for every chain or balance row that is no
equation, then one *excess* for every column or slack whose bound depends on a coupler: it may go
beyond that bound at a price above any that the coupler can be worth, so that every value of the
coupler allows something and the best value is the same.
"""

from dataclasses import dataclass

import numpy as np

from engiagent.formulations.program import Program
from engiagent.solvers.chain.local import Local
from engiagent.solvers.chain.scaling import Scale, scale_of
from engiagent.solvers.structure.chain import Singles, StorageChain, single_bounds
from engiagent.solvers.structure.entries import Bools, Entries, Floats, Ints


class UnsuitableError(Exception):
    """The special method does not apply; the ordinary solver takes over."""


@dataclass(frozen=True, eq=False)
class Model:
    """A chain with everything that does not depend on the values of the couplers.

    Attributes
    ----------
    sign
        -1 for a maximisation, whose costs are turned.
    known
        Values of the fixed columns, 0 elsewhere, shape (n,).
    lower, upper
        Bounds of the program's columns after the rows that are bounds, couplers left out, (n,).
    columns
        By slot and step the column, slack or excess, shape (J, N); one beyond the last for none.
    cost, alpha, beta
        By slot and step, shape (J, N).
    scale, ratio
        The rows' coefficient of the state after each step, and what becomes of the one before.
    units
        In which states keep their value.
    turn
        1 or -1 by which the state after each step is turned so that every ratio is positive.
    slack_rows
        The rows that have a slack, in the order of the slacks.
    excess_of
        The column or slack of each excess.
    bounding
        Rows with couplers that bound a column or a slack, and what they bound.
    couplings
        The coefficients of the couplers.
    """

    program: Program
    chain: StorageChain
    sign: float
    known: Floats
    constant: Floats
    lower: Floats
    upper: Floats
    columns: Ints
    cost: Floats
    alpha: Floats
    beta: Floats
    scale: Floats
    ratio: Floats
    turn: Floats
    units: Scale
    slack_rows: Ints
    excess_of: Ints
    bounding: Singles
    couplings: Entries


@dataclass(frozen=True, eq=False)
class Numbers:
    """What the values of the couplers decide.

    Attributes
    ----------
    local
        Bounds, costs and coefficients of the local columns.
    inflow
        Constant part of each step's change of the state, shape (N,).
    lower, upper, cost
        Of the state after each step, turned, shape (N,).
    """

    local: Local
    inflow: Floats
    lower: Floats
    upper: Floats
    cost: Floats


def build_model(program: Program, chain: StorageChain) -> Model:
    """Return the model of a chain.

    Raises
    ------
    UnsuitableError
        When bounds contradict each other or a state is scaled by a number that is no factor.
    """
    sign = -1.0 if program.sense == "maximize" else 1.0
    entries, n = chain.entries, program.column_count
    couplings = _couplings(chain, n)
    coupled = np.zeros(program.row_count, dtype=bool)
    coupled[couplings.rows] = True
    known, lower, upper = _settled(program, chain, coupled)
    scale, ratio, turn = _ratios(program, chain)
    rows = np.concatenate((chain.chain_rows, chain.balance_rows[chain.balance_rows >= 0]))
    slack_rows = rows[program.row_lower[rows] < program.row_upper[rows]]
    bounding = _bounding(program, chain, coupled, slack_rows)
    excess_of = bounding.columns
    if len(np.unique(excess_of)) < len(excess_of):
        raise UnsuitableError("one column has bounds from two rows with couplers")
    columns = _table(program, chain, slack_rows, excess_of)
    total = n + len(slack_rows) + len(excess_of)
    parts = _coefficients(program, chain, slack_rows, excess_of, total)
    cost = np.zeros(total + 1)
    cost[:n] = sign * program.cost
    cost[total - len(excess_of) : total] = _excess_costs(program, couplings, bounding, cost)
    alpha = -parts[0][columns] / scale
    constant = entries.times(known) if known.any() else np.zeros(program.row_count)
    return Model(
        program=program,
        chain=chain,
        sign=sign,
        known=known,
        constant=constant,
        lower=lower,
        upper=upper,
        columns=columns,
        cost=cost[columns],
        alpha=alpha,
        beta=parts[1][columns],
        scale=scale,
        ratio=ratio,
        turn=turn,
        units=scale_of(ratio, _state_costs(program, chain, sign, turn)),
        slack_rows=slack_rows,
        excess_of=excess_of,
        bounding=bounding,
        couplings=couplings,
    )


def _couplings(chain: StorageChain, size: int) -> Entries:
    """Return the coefficients of the couplers."""
    if not len(chain.couplers):
        return chain.entries.where(np.zeros(0, dtype=np.int64))
    is_coupler = np.zeros(size, dtype=bool)
    is_coupler[chain.couplers] = True
    return chain.entries.where(is_coupler[chain.entries.columns])


def _settled(
    program: Program, chain: StorageChain, coupled: Bools
) -> tuple[Floats, Floats, Floats]:
    """Return the fixed columns' values and all bounds after the rows that are bounds."""
    lower, upper = program.column_lower.copy(), program.column_upper.copy()
    for singles in chain.passes:
        known = np.where(chain.fixed & (lower >= upper), lower, 0.0)
        keep = ~coupled[singles.rows]
        if not keep.all():
            singles = Singles(singles.rows[keep], singles.columns[keep], singles.values[keep])
        low, high = single_bounds(program, chain.entries, singles, known)
        np.maximum.at(lower, singles.columns, low)
        np.minimum.at(upper, singles.columns, high)
    size = np.maximum(
        np.abs(lower), np.abs(upper), where=np.isfinite(lower), out=np.ones(len(lower))
    )
    if (lower > upper + 1e-9 * np.maximum(1.0, np.minimum(size, 1e9))).any():
        raise UnsuitableError("bounds contradict each other")
    upper = np.maximum(lower, upper)
    known = np.where(chain.fixed, lower, 0.0)
    if not np.isfinite(known).all():
        raise UnsuitableError("a column is fixed at no number")
    return known, lower, upper


def _ratios(program: Program, chain: StorageChain) -> tuple[Floats, Floats, Floats]:
    """Return scale, ratio and turn of the states."""
    entries, steps = chain.entries, chain.steps
    after = np.full(program.column_count, -1, dtype=np.int64)
    linked = np.flatnonzero(chain.states >= 0)
    after[chain.states[linked]] = linked
    chosen = np.flatnonzero(after[entries.columns] >= 0)
    row, state = entries.rows[chosen], after[entries.columns[chosen]]
    values = entries.values[chosen]
    out, into = row == chain.chain_rows[state], row == chain.chain_rows[(state + 1) % steps]
    scale, coming = np.ones(steps), np.zeros(steps)
    scale[state[out]] = values[out]
    coming[state[into] + 1] = values[into]
    raw = -coming / scale
    turn = np.cumprod(np.where(raw < 0, -1.0, 1.0)).astype(np.float64)
    scale = scale * turn
    return scale, np.abs(raw), turn


def _bounding(program: Program, chain: StorageChain, coupled: Bools, slack_rows: Ints) -> Singles:
    """Return the rows with couplers that bound a column or a slack."""
    rows = [singles.rows[coupled[singles.rows]] for singles in chain.passes]
    columns = [singles.columns[coupled[singles.rows]] for singles in chain.passes]
    values = [singles.values[coupled[singles.rows]] for singles in chain.passes]
    slacks = np.flatnonzero(coupled[slack_rows])
    rows.append(slack_rows[slacks])
    columns.append(program.column_count + slacks)
    values.append(np.ones(len(slacks)))
    found = Singles(np.concatenate(rows), np.concatenate(columns), np.concatenate(values))
    low, high = program.row_lower[found.rows], program.row_upper[found.rows]
    if (np.isfinite(low) & np.isfinite(high)).any():
        raise UnsuitableError("a coupler bounds a column on both sides")
    return found


def _table(program: Program, chain: StorageChain, slack_rows: Ints, excess_of: Ints) -> Ints:
    """Return slots by steps with slacks and excesses, shape (J, N)."""
    n, steps = program.column_count, chain.steps
    total = n + len(slack_rows) + len(excess_of)
    table = np.where(chain.local >= 0, chain.local, total)
    if total == n:
        return table
    step_of = np.full(total, -1, dtype=np.int64)
    slots, places = np.nonzero(chain.local >= 0)
    step_of[chain.local[slots, places]] = places
    step_of_row = np.full(program.row_count, -1, dtype=np.int64)
    step_of_row[chain.chain_rows] = np.arange(steps)
    tail = np.flatnonzero(chain.balance_rows >= 0)
    step_of_row[chain.balance_rows[tail]] = tail
    step_of[n : n + len(slack_rows)] = step_of_row[slack_rows]
    step_of[n + len(slack_rows) :] = step_of[excess_of]
    extra = np.arange(n, total)
    extra = extra[step_of[extra] >= 0]
    if not len(extra):
        return table
    order = np.argsort(step_of[extra], kind="stable")
    extra = extra[order]
    counts = np.bincount(step_of[extra], minlength=steps)
    starts = np.cumsum(counts) - counts
    rank = np.arange(len(extra)) - np.repeat(starts, counts)
    more = np.full((int(counts.max()), steps), total, dtype=np.int64)
    more[rank, step_of[extra]] = extra
    return np.concatenate((table, more))


def _coefficients(
    program: Program, chain: StorageChain, slack_rows: Ints, excess_of: Ints, total: int
) -> tuple[Floats, Floats]:
    """Return each column's coefficient in its chain row and in its balance row, (total + 1,)."""
    entries, n = chain.entries, program.column_count
    result = []
    for rows in (chain.chain_rows, chain.balance_rows[chain.balance_rows >= 0]):
        part = np.zeros(total + 1)
        if not len(rows):
            result.append(part)
            continue
        inside = np.zeros(program.row_count, dtype=bool)
        inside[rows] = True
        chosen = np.flatnonzero(inside[entries.rows])
        part[entries.columns[chosen]] = entries.values[chosen]
        part[n : n + len(slack_rows)] = np.where(inside[slack_rows], -1.0, 0.0)
        part[n + len(slack_rows) : total] = part[excess_of]
        result.append(part)
    return result[0], result[1]


def _excess_costs(program: Program, couplings: Entries, bounding: Singles, cost: Floats) -> Floats:
    """Return the cost of going beyond each bound, above what any coupler can be worth.

    In the best plan the multipliers of a coupler's rows add up to its cost, so none exceeds it.
    """
    if not len(bounding.rows):
        return np.zeros(0)
    least = float(np.abs(couplings.values).min())
    worth = float(np.abs(program.cost[couplings.columns]).max())
    most = 2.0 * worth / least + 10.0 * float(np.abs(program.cost).max()) + 1.0
    step = most * np.abs(bounding.values)
    above = np.isfinite(program.row_upper[bounding.rows]) == (bounding.values > 0)
    return cost[bounding.columns] + np.where(above, step, -step)


def numbers_at(model: Model, values: Floats) -> Numbers:
    """Return the numbers of the steps once the couplers have values of shape (k,).

    Raises
    ------
    UnsuitableError
        When bounds contradict each other or nothing limits a state.
    """
    program, chain = model.program, model.chain
    n, slacks = program.column_count, len(model.slack_rows)
    total = n + slacks + len(model.excess_of)
    constant = model.constant
    if len(values):
        point = np.zeros(n)
        point[chain.couplers] = values
        constant = constant + model.couplings.times(point)
    low_row, high_row = program.row_lower - constant, program.row_upper - constant
    lower, upper = np.zeros(total + 1), np.zeros(total + 1)
    lower[:n], upper[:n] = model.lower, model.upper
    lower[n : n + slacks], upper[n : n + slacks] = (
        low_row[model.slack_rows],
        high_row[model.slack_rows],
    )
    if total > n + slacks:
        _bound_by_couplers(model, low_row, high_row, lower, upper)
    balance = np.where(chain.balance_rows >= 0, high_row[chain.balance_rows], 0.0)
    inflow = high_row[chain.chain_rows]
    for target, rows in ((balance, chain.balance_rows), (inflow, chain.chain_rows)):
        target[(rows >= 0) & (program.row_lower[rows] < program.row_upper[rows])] = 0.0
    inflow = inflow / model.scale
    state = _states(model, inflow)
    local = Local(
        cost=model.cost,
        lower=lower[model.columns],
        upper=upper[model.columns],
        alpha=model.alpha,
        beta=model.beta,
        demand=balance,
    )
    return _limited(local, model.ratio, inflow, *state)


def _bound_by_couplers(
    model: Model, low_row: Floats, high_row: Floats, lower: Floats, upper: Floats
) -> None:
    """Set the bounds that depend on couplers, and those of the excesses beyond them."""
    rows, columns, values = model.bounding.rows, model.bounding.columns, model.bounding.values
    is_slack = columns >= model.program.column_count
    excess = np.arange(len(lower) - 1 - len(columns), len(lower) - 1)
    with np.errstate(invalid="ignore"):
        limits = np.where(np.isfinite(high_row[rows]), high_row[rows], low_row[rows]) / values
    above = np.isfinite(high_row[rows]) == (values > 0)
    low = np.where(is_slack, -np.inf, lower[columns])
    high = np.where(is_slack, np.inf, upper[columns])
    limit = np.where(above, np.minimum(limits, high), np.maximum(limits, low))
    lower[columns] = np.where(above, np.minimum(low, limit), limit)
    upper[columns] = np.where(above, limit, np.maximum(high, limit))
    with np.errstate(invalid="ignore"):
        lower[excess] = np.where(above, np.maximum(0.0, low - limit), low - limit)
        upper[excess] = np.where(above, high - limit, np.minimum(0.0, high - limit))


def _states(model: Model, inflow: Floats) -> tuple[Floats, Floats, Floats]:
    """Return lower, upper and cost of the turned state after each step."""
    states = model.chain.states
    real = states >= 0
    low, high = np.where(real, model.lower[states], 0.0), np.where(real, model.upper[states], 0.0)
    cost = _state_costs(model.program, model.chain, model.sign, model.turn)
    flip = model.turn < 0
    return np.where(flip, -high, low), np.where(flip, -low, high), cost


def _state_costs(program: Program, chain: StorageChain, sign: float, turn: Floats) -> Floats:
    """Return the cost of the turned state after each step, shape (N,)."""
    return np.where(chain.states >= 0, sign * turn * program.cost[chain.states], 0.0)


def _limited(
    local: Local, ratio: Floats, inflow: Floats, low: Floats, high: Floats, cost: Floats
) -> Numbers:
    """Give every bound a number that no plan without endless gain goes beyond."""
    sides = (local.lower, local.upper)
    if all(np.isfinite(side).all() for side in (*sides, low, high)):
        return Numbers(local, inflow, low, high, cost)
    widest = [np.where(np.isfinite(side), np.abs(side), 0.0) for side in sides]
    reach = np.maximum(*widest)
    if not (np.isfinite(low) & np.isfinite(high)).all():
        moving = np.abs(local.alpha) * reach
        endless = ~(np.isfinite(local.lower) & np.isfinite(local.upper)) & (local.alpha != 0)
        if endless.any() or ratio.max() > 1.0:
            raise UnsuitableError("nothing limits a state")
        finite = (
            np.where(np.isfinite(low), np.abs(low), 0.0),
            np.where(np.isfinite(high), high, 0.0),
        )
        most = float(
            moving.sum() + np.abs(inflow).sum() + max(np.abs(side).max() for side in finite)
        )
        low, high = np.maximum(low, -2 * most - 1), np.minimum(high, 2 * most + 1)
    span = np.maximum(np.abs(low), np.abs(high))
    before = np.concatenate((np.zeros(1), span[:-1]))
    change = span + ratio * before + np.abs(inflow) + (np.abs(local.alpha) * reach).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        by_state = np.where(local.alpha != 0, (2 * change + 1) / np.abs(local.alpha), np.inf)
    lower, upper = np.maximum(local.lower, -by_state), np.minimum(local.upper, by_state)
    widest = [np.where(np.isfinite(side), np.abs(side), 0.0) for side in (lower, upper)]
    flow = (np.abs(local.beta) * np.maximum(*widest)).sum(axis=0) + np.abs(local.demand)
    with np.errstate(divide="ignore", invalid="ignore"):
        by_balance = np.where(local.beta != 0, (2 * flow + 1) / np.abs(local.beta), np.inf)
    lower, upper = np.maximum(lower, -by_balance), np.minimum(upper, by_balance)
    if not (np.isfinite(lower) & np.isfinite(upper)).all():
        raise UnsuitableError("nothing limits a column")
    limited = Local(local.cost, lower, upper, local.alpha, local.beta, local.demand)
    return Numbers(limited, inflow, low, high, cost)
