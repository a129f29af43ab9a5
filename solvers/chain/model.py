r"""The numbers of a chain: steps with local columns, as arrays.

The columns are those of the program, then one slack for every chain or balance row that is no
equation. The steps are brought to units in which a state stays what it is and costs nothing: with
:math:`s_{t+1} = a_t s_t + e_t + \Delta_t` and :math:`\sigma_{t-1} = \sigma_t a_t`, the state
:math:`\sigma s` keeps its value from step to step, and the price of the state divided by
:math:`\sigma`, less the costs of holding it, does too. Where losses would carry :math:`\sigma`
out of range it jumps by a power of two, which costs no accuracy.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np

from engiagent.formulations.program import Program
from engiagent.solvers.chain.local import Local
from engiagent.solvers.structure.chain import Bools, Floats, Ints, StorageChain, single_bounds

BITS: Final = 200.0


@dataclass(frozen=True, eq=False)
class Steps:
    """The steps of a chain, each with the cost of changing the state."""

    # slopes, lengths: of each step's cost, slopes ascending, shape (M, N); a length of 0 is no
    # segment
    slopes: Floats
    lengths: Floats
    # least, most: the range of the change, shape (N,)
    least: Floats
    most: Floats
    # ratio, inflow: what a state becomes by itself: ``ratio * s + inflow``, shape (N,); a ratio of
    # 0 begins a chain
    ratio: Floats
    inflow: Floats
    # lower, upper: bounds of the state after each step, shape (N,)
    lower: Floats
    upper: Floats


@dataclass(frozen=True, eq=False)
class Scale:
    """The change of units, shapes (N,)."""

    factor: Floats  # by which the state after each step is multiplied
    holding: Floats  # what is subtracted from its price after the division by ``factor``
    jumps: Floats  # by what the state before each step is multiplied on going back over the step
    begins: Bools  # which steps begin a chain
    # steps after which the lengths kept are fitted to the range again: going back over losses
    # stretches it, and what rounding did to a length would stretch with it
    syncs: Bools
    changes: bool  # whether anything differs from the units of the program


def scale_of(ratio: Floats, cost: Floats | None) -> Scale:
    """Return the units for ratios and costs of the states, shapes (N,); None where none costs."""
    count = len(ratio)
    begins = ratio == 0
    ones, nothing = np.ones(count), np.zeros(count)
    factor, jumps, blocks = ones, ones, nothing
    syncs = np.zeros(count, dtype=bool)
    if not ((ratio == 1.0) | begins).all():
        bits = np.log2(np.where(begins, 1.0, ratio))
        bits = np.append(np.cumsum(bits[:0:-1])[::-1], 0.0)
        blocks = np.round(bits / BITS)
        factor = np.exp2(bits - BITS * blocks)
        syncs[1:] = np.diff(np.floor(bits)) != 0
        jumps = ones.copy()
        jumps[1:] = np.exp2(BITS * (blocks[1:] - blocks[:-1]))
    holding = nothing
    if cost is not None:
        holding, total = np.zeros(count), 0.0
        edges = np.flatnonzero(np.diff(blocks)) + 1
        for part in np.split(np.arange(count), edges)[::-1]:
            run = np.cumsum((cost[part] / factor[part])[::-1])[::-1]
            holding[part] = run + total
            total = float(holding[part[0]]) / float(jumps[part[0]])
    changes = factor is not ones or cost is not None
    return Scale(factor, holding, jumps, begins, syncs, changes)


class UnsuitableError(Exception):
    """The special method does not apply; the ordinary solver takes over."""


@dataclass(frozen=True, eq=False)
class Coefficients:
    """What the rows of the steps say."""

    # scale, ratio: the rows' coefficient of the state after each step, and what becomes of the one
    # before
    scale: Floats
    ratio: Floats
    # 1 or -1 by which the state after each step is turned so that every ratio is positive
    turn: Floats
    # alpha, beta: of each column in the change of the state and in the balance, shape (total,)
    alpha: Floats
    beta: Floats
    constant: Floats  # what the fixed columns add up to in each row, shape (m,)


@dataclass(frozen=True, eq=False)
class Model:
    """A chain with its numbers."""

    program: Program
    chain: StorageChain
    sign: float  # -1 for a maximisation, whose costs are turned
    held: Ints  # the fixed columns, shape (k,)
    # lower, upper: bounds of columns, after the rows that are bounds, and slacks, (total,)
    lower: Floats
    upper: Floats
    columns: Ints  # by slot and step the column or slack, shape (J, N), or -1
    cost: Floats  # of each column and slack, shape (total,)
    rows: Coefficients  # coefficients of the steps' rows
    units: Scale  # in which states keep their value

    @property
    def total(self) -> int:
        """How many columns and slacks there are."""
        return len(self.cost)

    @cached_property
    def bounded_once(self) -> bool:
        """Whether no column has two rows that are bounds."""
        columns = np.concatenate([singles.columns for singles in self.chain.passes])
        return len(np.unique(columns)) == len(columns)


def spread(values: Floats, columns: Ints) -> Floats:
    """Return the values of columns by slot and step, 0 where there is none."""
    found: Floats = values.take(columns)
    if (columns < 0).any():
        found[columns < 0] = 0.0
    return found


def build_model(program: Program, chain: StorageChain) -> Model:
    """Return the model of a chain; UnsuitableError when bounds contradict each other."""
    sign, n = -1.0 if program.sense == "maximize" else 1.0, program.column_count
    lower, upper, held = _settled(program, chain)
    slack_rows = _slack_rows(program, chain)
    total = n + len(slack_rows)
    rows = _coefficients(program, chain, (lower, held), total)
    cost = np.zeros(total)
    np.multiply(program.cost, sign, out=cost[:n])
    if len(slack_rows):
        per_row = np.zeros(program.row_count)
        per_row[chain.chain_rows] = 1.0 / rows.scale
        rows.alpha[n:] = per_row[slack_rows]
        rows.beta[n:] = np.where(per_row[slack_rows] == 0, -1.0, 0.0)
        lower = np.concatenate((lower, program.row_lower[slack_rows] - rows.constant[slack_rows]))
        upper = np.concatenate((upper, program.row_upper[slack_rows] - rows.constant[slack_rows]))
    return Model(
        program=program,
        chain=chain,
        sign=sign,
        held=held,
        lower=lower,
        upper=upper,
        columns=_table(program, chain, slack_rows),
        cost=cost,
        rows=rows,
        units=scale_of(rows.ratio, _state_costs(chain, cost, rows.turn)),
    )


def _settled(program: Program, chain: StorageChain) -> tuple[Floats, Floats, Ints]:
    """Return all bounds after the rows that are bounds, and the fixed columns."""
    lower, upper = program.column_lower, program.column_upper
    if chain.passes:
        lower, upper = lower.copy(), upper.copy()
    for singles in chain.passes:
        known = np.where(chain.fixed & (lower >= upper), lower, 0.0)
        low, high = single_bounds(program, chain.entries, singles, known)
        np.maximum.at(lower, singles.columns, low)
        np.minimum.at(upper, singles.columns, high)
    if not (lower <= upper).all():
        size = np.maximum(
            np.abs(lower), np.abs(upper), where=np.isfinite(lower), out=np.ones(len(lower))
        )
        if (lower > upper + 1e-9 * np.maximum(1.0, np.minimum(size, 1e9))).any():
            raise UnsuitableError("bounds contradict each other")
        upper = np.maximum(lower, upper)
    held = np.flatnonzero(chain.fixed)
    if not np.isfinite(lower[held]).all():
        raise UnsuitableError("a column is fixed at no number")
    return lower, upper, held


def _slack_rows(program: Program, chain: StorageChain) -> Ints:
    """Return the rows of steps that are no equations, those of the chain first."""
    relaxed = program.row_lower < program.row_upper
    if not relaxed.any():
        return np.zeros(0, dtype=np.int64)
    rows = np.concatenate((chain.chain_rows, chain.balance_rows[chain.balance_rows >= 0]))
    return rows[relaxed[rows]]


def _coefficients(
    program: Program, chain: StorageChain, known: tuple[Floats, Ints], total: int
) -> Coefficients:
    """Return the coefficients of the steps; ``known`` are lower bounds and the fixed columns."""
    entries, steps = chain.entries, chain.steps
    step_of = np.full(program.row_count, -1, dtype=np.int64)
    step_of[chain.chain_rows] = np.arange(steps)
    step, columns, values = step_of[entries.rows], entries.columns, entries.values
    if steps < program.row_count:
        chosen = np.flatnonzero(step >= 0)
        step, columns, values = step[chosen], columns[chosen], values[chosen]
    before = np.concatenate((np.full(1, -1), chain.states[:-1]))
    out = np.flatnonzero(columns == chain.states[step])
    into = np.flatnonzero(columns == before[step])
    scale, coming = np.ones(steps), np.zeros(steps)
    scale[step[out]] = values[out]
    coming[step[into]] = values[into]
    raw = -coming / scale
    turn = np.ones(steps)
    if (raw < 0).any():
        turn = np.cumprod(np.where(raw < 0, -1.0, 1.0)).astype(np.float64)
        scale = scale * turn
    alpha, beta = np.zeros(total), np.zeros(total)
    alpha[columns] = -values / scale[step]
    if (chain.balance_rows >= 0).any():
        balances = np.zeros(program.row_count, dtype=bool)
        balances[chain.balance_rows[chain.balance_rows >= 0]] = True
        chosen = np.flatnonzero(balances[entries.rows])
        beta[entries.columns[chosen]] = entries.values[chosen]
    constant = np.zeros(program.row_count)
    lower, held = known
    if lower[held].any():
        point = np.zeros(program.column_count)
        point[held] = lower[held]
        constant = entries.times(point)
    return Coefficients(scale, np.abs(raw), turn, alpha, beta, constant)


def _table(program: Program, chain: StorageChain, slack_rows: Ints) -> Ints:
    """Return slots by steps with slacks, shape (J, N)."""
    if not len(slack_rows):
        return chain.local
    step_of_row = np.full(program.row_count, -1, dtype=np.int64)
    step_of_row[chain.chain_rows] = np.arange(chain.steps)
    tail = np.flatnonzero(chain.balance_rows >= 0)
    step_of_row[chain.balance_rows[tail]] = tail
    order = np.argsort(step_of_row[slack_rows], kind="stable")
    steps = step_of_row[slack_rows][order]
    counts = np.bincount(steps, minlength=chain.steps)
    rank = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
    more = np.full((int(counts.max()), chain.steps), -1, dtype=chain.local.dtype)
    more[rank, steps] = program.column_count + order
    return np.concatenate((chain.local, more))


def _state_costs(chain: StorageChain, cost: Floats, turn: Floats) -> Floats | None:
    """Return the cost of the turned state after each step, shape (N,); None when all are 0."""
    own = spread(cost, chain.states)
    return turn * own if own.any() else None


@dataclass(frozen=True, eq=False)
class Numbers:
    """The steps as arrays."""

    local: Local  # bounds, costs and coefficients of the local columns
    inflow: Floats  # constant part of each step's change of the state, shape (N,)
    # lower, upper: of the state after each step, turned, shape (N,)
    lower: Floats
    upper: Floats


def numbers_at(model: Model) -> Numbers:
    """Return the numbers of the steps; UnsuitableError when nothing limits a state or a column."""
    program, chain, rows = model.program, model.chain, model.rows
    relaxed = program.row_lower < program.row_upper
    right = program.row_upper - rows.constant
    if relaxed.any():
        right[relaxed] = 0.0
    inflow = right[chain.chain_rows] / rows.scale
    real, flip = chain.states >= 0, rows.turn < 0
    low = np.where(real, model.lower[chain.states], 0.0)
    high = np.where(real, model.upper[chain.states], 0.0)
    if flip.any():
        low, high = np.where(flip, -high, low), np.where(flip, -low, high)
    alpha, beta = (spread(values, model.columns) for values in (rows.alpha, rows.beta))
    moving, balanced = (np.flatnonzero(part.any(axis=1)).tolist() for part in (alpha, beta))
    local = Local(
        cost=spread(model.cost, model.columns),
        alpha=alpha,
        beta=beta,
        lower=spread(model.lower, model.columns),
        upper=spread(model.upper, model.columns),
        demand=spread(right, chain.balance_rows),
        moving=moving,
        balanced=balanced,
    )
    sides = (local.lower, local.upper)
    if all(np.isfinite(side).all() for side in (*sides, low, high)):
        return Numbers(local, inflow, low, high)
    low, high = limit_states(local, rows.ratio, inflow, low, high)
    return Numbers(_limited(local, rows.ratio, inflow, low, high), inflow, low, high)


def _reach(lower: Floats, upper: Floats) -> Floats:
    """Return the largest finite size of bounds."""
    sizes = [np.where(np.isfinite(side), np.abs(side), 0.0) for side in (lower, upper)]
    reach: Floats = np.maximum(*sizes)
    return reach


def limit_states(
    local: Local, ratio: Floats, inflow: Floats, low: Floats, high: Floats
) -> tuple[Floats, Floats]:
    """Return bounds that no plan goes beyond; UnsuitableError when nothing limits a state."""
    if (np.isfinite(low) & np.isfinite(high)).all():
        return low, high
    endless = ~(np.isfinite(local.lower) & np.isfinite(local.upper)) & (local.alpha != 0)
    if endless.any() or ratio.max() > 1.0:
        raise UnsuitableError("nothing limits a state")
    moving = np.abs(local.alpha) * _reach(local.lower, local.upper)
    finite = _reach(low, high)
    most = float(moving.sum() + np.abs(inflow).sum() + finite.max())
    return np.maximum(low, -2 * most - 1), np.minimum(high, 2 * most + 1)


def _limited(local: Local, ratio: Floats, inflow: Floats, low: Floats, high: Floats) -> Local:
    """Give every bound of a column a number that no plan without endless gain goes beyond."""
    span = np.maximum(np.abs(low), np.abs(high))
    before = np.concatenate((np.zeros(1), span[:-1]))
    change = (
        span
        + ratio * before
        + np.abs(inflow)
        + (np.abs(local.alpha) * _reach(local.lower, local.upper)).sum(axis=0)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        by_state = np.where(local.alpha != 0, (2 * change + 1) / np.abs(local.alpha), np.inf)
    lower, upper = np.maximum(local.lower, -by_state), np.minimum(local.upper, by_state)
    flow = (np.abs(local.beta) * _reach(lower, upper)).sum(axis=0) + np.abs(local.demand)
    with np.errstate(divide="ignore", invalid="ignore"):
        by_balance = np.where(local.beta != 0, (2 * flow + 1) / np.abs(local.beta), np.inf)
    lower, upper = np.maximum(lower, -by_balance), np.minimum(upper, by_balance)
    if not (np.isfinite(lower) & np.isfinite(upper)).all():
        raise UnsuitableError("nothing limits a column")
    return replace(local, lower=lower, upper=upper)
