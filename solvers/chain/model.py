"""The numbers of a chain: a program with its couplers fixed becomes steps with local columns.

The columns are those of the program, then one slack for every chain or balance row that is no
equation, then one *excess* for every column or slack whose bound depends on a coupler: it may go
beyond that bound at a price above any that the coupler can be worth, so that every value of the
coupler allows something and the best value is the same.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from engiagent.formulations.program import Program
from engiagent.solvers.chain.scaling import Scale, scale_of
from engiagent.solvers.structure.chain import Singles, StorageChain, single_bounds
from engiagent.solvers.structure.entries import Bools, Entries, Floats, Ints


class UnsuitableError(Exception):
    """The special method does not apply; the ordinary solver takes over."""


@dataclass(frozen=True, eq=False)
class Coefficients:
    """What the rows of the steps say.

    Attributes
    ----------
    scale, ratio
        The rows' coefficient of the state after each step, and what becomes of the one before.
    turn
        1 or -1 by which the state after each step is turned so that every ratio is positive.
    alpha, beta
        Of each column in the change of the state and in the balance, shape (total,).
    constant
        What the fixed columns add up to in each row, shape (m,).
    """

    scale: Floats
    ratio: Floats
    turn: Floats
    alpha: Floats
    beta: Floats
    constant: Floats


@dataclass(frozen=True, eq=False)
class Model:
    """A chain with everything that does not depend on the values of the couplers.

    Attributes
    ----------
    sign
        -1 for a maximisation, whose costs are turned.
    held
        The fixed columns, shape (k,).
    lower, upper
        Bounds of the program's columns after the rows that are bounds, couplers left out, (n,).
    columns
        By slot and step the column, slack or excess, shape (J, N), or -1.
    cost
        Of each column, slack and excess, shape (total,).
    rows
        Coefficients of the steps' rows.
    units
        In which states keep their value.
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
    held: Ints
    lower: Floats
    upper: Floats
    columns: Ints
    cost: Floats
    rows: Coefficients
    units: Scale
    slack_rows: Ints
    excess_of: Ints
    bounding: Singles
    couplings: Entries

    @property
    def total(self) -> int:
        """How many columns, slacks and excesses there are."""
        return len(self.cost)

    @cached_property
    def bounded_once(self) -> bool:
        """Whether no column has two rows that are bounds."""
        columns = np.concatenate([singles.columns for singles in self.chain.passes])
        return len(np.unique(columns)) == len(columns)

    @cached_property
    def tables(self) -> tuple[Floats, Floats, Floats]:
        """Cost, alpha and beta by slot and step, shapes (J, N)."""
        parts = self.cost, self.rows.alpha, self.rows.beta
        return (
            spread(parts[0], self.columns),
            spread(parts[1], self.columns),
            spread(parts[2], self.columns),
        )


def spread(values: Floats, columns: Ints) -> Floats:
    """Return the values of columns by slot and step, 0 where there is none."""
    found = values[columns]
    if (columns < 0).any():
        found[columns < 0] = 0.0
    return found


def build_model(program: Program, chain: StorageChain) -> Model:
    """Return the model of a chain.

    Raises
    ------
    UnsuitableError
        When bounds contradict each other or a state is scaled by a number that is no factor.
    """
    sign = -1.0 if program.sense == "maximize" else 1.0
    couplings = _couplings(chain, program.column_count)
    coupled = np.zeros(program.row_count, dtype=bool)
    if len(couplings.values):
        coupled[couplings.rows] = True
    lower, upper, held = _settled(program, chain, coupled)
    slack_rows = _slack_rows(program, chain)
    bounding = _bounding(program, chain, coupled, slack_rows)
    excess_of = bounding.columns
    if len(np.unique(excess_of)) < len(excess_of):
        raise UnsuitableError("one column has bounds from two rows with couplers")
    total = program.column_count + len(slack_rows) + len(excess_of)
    rows = _coefficients(program, chain, (lower, held), total)
    _complete(program, chain, slack_rows, excess_of, rows)
    cost = np.zeros(total)
    np.multiply(program.cost, sign, out=cost[: program.column_count])
    if len(excess_of):
        cost[-len(excess_of) :] = _excess_costs(program, couplings, bounding, cost)
    return Model(
        program=program,
        chain=chain,
        sign=sign,
        held=held,
        lower=lower,
        upper=upper,
        columns=_table(program, chain, slack_rows, excess_of),
        cost=cost,
        rows=rows,
        units=scale_of(rows.ratio, _state_costs(chain, cost, rows.turn)),
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


def _settled(program: Program, chain: StorageChain, coupled: Bools) -> tuple[Floats, Floats, Ints]:
    """Return all bounds after the rows that are bounds, and the fixed columns."""
    lower, upper = program.column_lower, program.column_upper
    if chain.passes:
        lower, upper = lower.copy(), upper.copy()
    for singles in chain.passes:
        known = np.where(chain.fixed & (lower >= upper), lower, 0.0)
        keep = ~coupled[singles.rows]
        if not keep.all():
            singles = Singles(singles.rows[keep], singles.columns[keep], singles.values[keep])
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


def _complete(
    program: Program, chain: StorageChain, slack_rows: Ints, excess_of: Ints, rows: Coefficients
) -> None:
    """Fill in the coefficients of slacks and excesses."""
    first = program.column_count
    last = first + len(slack_rows)
    if len(slack_rows):
        per_row = np.zeros(program.row_count)
        per_row[chain.chain_rows] = 1.0 / rows.scale
        rows.alpha[first:last] = per_row[slack_rows]
        rows.beta[first:last] = np.where(per_row[slack_rows] == 0, -1.0, 0.0)
    rows.alpha[last:], rows.beta[last:] = rows.alpha[excess_of], rows.beta[excess_of]


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
    if total == n:
        return chain.local
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
        return chain.local
    order = np.argsort(step_of[extra], kind="stable")
    extra = extra[order]
    counts = np.bincount(step_of[extra], minlength=steps)
    starts = np.cumsum(counts) - counts
    rank = np.arange(len(extra)) - np.repeat(starts, counts)
    more = np.full((int(counts.max()), steps), -1, dtype=chain.local.dtype)
    more[rank, step_of[extra]] = extra
    return np.concatenate((chain.local, more))


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


def _state_costs(chain: StorageChain, cost: Floats, turn: Floats) -> Floats | None:
    """Return the cost of the turned state after each step, shape (N,); None when all are 0."""
    own = spread(cost, chain.states)
    return turn * own if own.any() else None
