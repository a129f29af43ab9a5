"""The steps of a chain as arrays, with finite bounds."""

from dataclasses import dataclass, replace

import numpy as np

from engiagent.solvers.chain.local import Local
from engiagent.solvers.chain.model import Model, UnsuitableError, spread
from engiagent.solvers.structure.entries import Floats


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
    """Return finite bounds of the states that no plan goes beyond.

    Raises UnsuitableError when nothing limits a state.
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
