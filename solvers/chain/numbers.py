"""The numbers of the steps once the couplers of a chain have values."""

from dataclasses import dataclass, replace

import numpy as np

from engiagent.solvers.chain.local import Local
from engiagent.solvers.chain.model import Model, UnsuitableError, spread
from engiagent.solvers.structure.entries import Floats


@dataclass(frozen=True, eq=False)
class Bounds:
    """What the values of the couplers decide.

    Attributes
    ----------
    constant
        What fixed columns and couplers add up to in each row, shape (m,).
    lower, upper
        Of columns, slacks and excesses, shape (total,).
    """

    constant: Floats
    lower: Floats
    upper: Floats


@dataclass(frozen=True, eq=False)
class Numbers:
    """The steps as arrays.

    Attributes
    ----------
    local
        Bounds, costs and coefficients of the local columns.
    inflow
        Constant part of each step's change of the state, shape (N,).
    lower, upper
        Of the state after each step, turned, shape (N,).
    """

    local: Local
    inflow: Floats
    lower: Floats
    upper: Floats


def bounds_at(model: Model, values: Floats) -> Bounds:
    """Return the bounds for values of the couplers, shape (k,)."""
    program, n = model.program, model.program.column_count
    constant = model.rows.constant
    if len(values):
        point = np.zeros(n)
        point[model.chain.couplers] = values
        constant = constant + model.couplings.times(point)
    if model.total == n:
        return Bounds(constant, model.lower, model.upper)
    lower, upper = np.zeros(model.total), np.zeros(model.total)
    lower[:n], upper[:n] = model.lower, model.upper
    rows, last = model.slack_rows, n + len(model.slack_rows)
    lower[n:last] = program.row_lower[rows] - constant[rows]
    upper[n:last] = program.row_upper[rows] - constant[rows]
    if last < model.total:
        _bound_by_couplers(model, constant, lower, upper)
    return Bounds(constant, lower, upper)


def _bound_by_couplers(model: Model, constant: Floats, lower: Floats, upper: Floats) -> None:
    """Set the bounds that depend on couplers, and those of the excesses beyond them."""
    rows, columns, values = model.bounding.rows, model.bounding.columns, model.bounding.values
    is_slack = columns >= model.program.column_count
    low_row = model.program.row_lower[rows] - constant[rows]
    high_row = model.program.row_upper[rows] - constant[rows]
    above = np.isfinite(high_row) == (values > 0)
    with np.errstate(invalid="ignore"):
        limits = np.where(np.isfinite(high_row), high_row, low_row) / values
    low = np.where(is_slack, -np.inf, lower[columns])
    high = np.where(is_slack, np.inf, upper[columns])
    limit = np.where(above, np.minimum(limits, high), np.maximum(limits, low))
    lower[columns] = np.where(above, np.minimum(low, limit), limit)
    upper[columns] = np.where(above, limit, np.maximum(high, limit))
    excess = slice(model.total - len(columns), None)
    with np.errstate(invalid="ignore"):
        lower[excess] = np.where(above, np.maximum(0.0, low - limit), low - limit)
        upper[excess] = np.where(above, high - limit, np.minimum(0.0, high - limit))


def numbers_at(model: Model, bounds: Bounds) -> Numbers:
    """Return the numbers of the steps.

    Raises
    ------
    UnsuitableError
        When nothing limits a state or a column.
    """
    program, chain, rows = model.program, model.chain, model.rows
    relaxed = program.row_lower < program.row_upper
    right = program.row_upper - bounds.constant
    if relaxed.any():
        right[relaxed] = 0.0
    inflow = right[chain.chain_rows] / rows.scale
    real, flip = chain.states >= 0, rows.turn < 0
    low = np.where(real, model.lower[chain.states], 0.0)
    high = np.where(real, model.upper[chain.states], 0.0)
    if flip.any():
        low, high = np.where(flip, -high, low), np.where(flip, -low, high)
    local = Local(
        *model.tables,
        lower=spread(bounds.lower, model.columns),
        upper=spread(bounds.upper, model.columns),
        demand=spread(right, chain.balance_rows),
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
    """Return finite bounds of the states that no plan goes beyond.

    Raises
    ------
    UnsuitableError
        When nothing limits a state.
    """
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
