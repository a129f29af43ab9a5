r"""What it costs a step to change the state: the local columns optimised away.

.. math:: \phi(\Delta) = \min_x c^T x \quad\text{subject to}\quad
    \alpha^T x = \Delta, \; \beta^T x = r, \; l \le x \le u

is convex and piecewise linear. For a price :math:`f` of the state the columns have costs
:math:`c - f\alpha` and only the balance is left, which is met by the columns with the smallest
cost per unit of balance first. The order changes only at prices where two columns cost the same,
so that these prices are the slopes of :math:`\phi`; all steps are treated at once.
"""

from dataclasses import dataclass

import numpy as np

from engiagent.solvers.structure.chain import Bools, Floats

TIE = 1e-12
"""Prices of a step that differ by less, relative to its largest, count as one."""
FEASIBLE = 1e-9


@dataclass(frozen=True, eq=False)
class Local:
    """The local columns of all steps, shapes (J, N); columns that do not exist are 0 throughout."""

    # cost, alpha, beta: cost and coefficients in the change of the state and in the balance
    cost: Floats
    alpha: Floats
    beta: Floats
    # lower, upper: finite bounds
    lower: Floats
    upper: Floats
    demand: Floats  # r, shape (N,); 0 where a step has no balance
    # moving, balanced: the columns with a coefficient in the change of the state, and in the
    # balance
    moving: list[int]
    balanced: list[int]


@dataclass(frozen=True, eq=False)
class StepCost:
    r"""The function :math:`\phi` of every step."""

    slopes: Floats  # ascending, shape (M, N)
    probes: Floats  # a price within each piece between slopes, shape (M + 1, N)
    changes: Floats  # the change of the state at each probe, ascending, shape (M + 1, N)


def step_cost(local: Local) -> StepCost | None:
    """Return the cost of changing the state, or None when a balance cannot be met."""
    if not _balances(local):
        return None
    pairs = _pairs(local)
    slopes = _slopes(local, pairs)
    size = np.abs(slopes).max(axis=0, initial=0.0)
    probes = np.empty((len(slopes) + 1, slopes.shape[1]))
    probes[0] = slopes[0] - 1.0 - size
    probes[-1] = slopes[-1] + 1.0 + size
    for k in range(1, len(slopes)):
        wide = slopes[k] - slopes[k - 1] > TIE * size
        probes[k] = _chosen(wide, 0.5 * (slopes[k] + slopes[k - 1]), probes[k - 1])
    changes, filling = np.zeros_like(probes), filling_of(local)
    for k in range(len(probes)):
        columns = columns_at(filling, probes[k], local.moving)
        for j, column in zip(local.moving, columns, strict=True):
            changes[k] += local.alpha[j] * column
    np.maximum.accumulate(changes, axis=0, out=changes)
    return StepCost(slopes, probes, changes)


def _pairs(local: Local) -> list[tuple[int, int]]:
    """Return the columns whose prices are ever compared; a column with itself when it is alone."""
    open_ = local.lower < local.upper
    if not local.balanced:
        return [(j, j) for j in local.moving if open_[j].any()] or [(0, 0)]
    balanced, moving = open_ & (local.beta != 0), open_ & (local.alpha != 0)
    found = []
    for j in range(len(open_)):
        if (moving[j] & ~balanced[j]).any():
            found.append((j, j))
        for i in range(j):
            if (balanced[i] & balanced[j] & (moving[i] | moving[j])).any():
                found.append((i, j))
    return found or [(0, 0)]


def _slopes(local: Local, pairs: list[tuple[int, int]]) -> Floats:
    """Return the prices at which the order of the columns changes, ascending, shape (M, N)."""
    cost, alpha, beta = local.cost, local.alpha, local.beta
    open_ = local.lower < local.upper
    found = np.empty((len(pairs), cost.shape[1]))
    with np.errstate(divide="ignore", invalid="ignore"):
        for place, (i, j) in enumerate(pairs):
            if i == j:
                alone = open_[j] & (beta[j] == 0) & (alpha[j] != 0)
                found[place] = np.where(alone, cost[j] / alpha[j], np.nan)
                continue
            pair = open_[i] & open_[j] & (beta[i] != 0) & (beta[j] != 0)
            turn = alpha[i] * beta[j] - alpha[j] * beta[i]
            pair &= np.abs(turn) > TIE * np.abs(alpha[i] * beta[j])
            price = (cost[i] * beta[j] - cost[j] * beta[i]) / turn
            found[place] = np.where(pair, price, np.nan)
    # Sorted by exchanging neighbours, all steps at once; what does not exist goes last.
    for last in range(len(found) - 1, 0, -1):
        for k in range(last):
            low, high = np.fmin(found[k], found[k + 1]), np.maximum(found[k], found[k + 1])
            found[k], found[k + 1] = low, high
    np.copyto(found[0], 0.0, where=np.isnan(found[0]))
    for k in range(1, len(found)):
        np.copyto(found[k], found[k - 1], where=np.isnan(found[k]))
    return found


def _balances(local: Local) -> bool:
    if not local.balanced:
        return True
    one, two = local.beta * local.lower, local.beta * local.upper
    least, most = np.minimum(one, two).sum(axis=0), np.maximum(one, two).sum(axis=0)
    slack = FEASIBLE * (np.abs(one) + np.abs(two)).sum(axis=0)
    inside = (local.demand >= least - slack) & (local.demand <= most + slack)
    return bool(inside.all())


@dataclass(frozen=True, eq=False)
class Filling:
    """What the best columns at any price have in common."""

    local: Local
    # cost per unit of balance of the columns in a balance; at a price of 0 for moving ones
    ratios: dict[int, Floats]
    # least, room: least use of the balance and what more there is, of the columns in a balance
    least: dict[int, Floats]
    room: dict[int, Floats]
    # their bounds at the least use of the balance and at the most
    ends: dict[int, tuple[Floats, Floats]]
    need: Floats  # what is left of the balance at the least use of all, shape (N,)


def filling_of(local: Local) -> Filling:
    """Return what the best local columns at any price have in common."""
    found = Filling(local=local, ratios={}, least={}, room={}, ends={}, need=local.demand.copy())
    for j in local.balanced:
        lower, upper, beta = local.lower[j], local.upper[j], local.beta[j]
        one, two = beta * lower, beta * upper
        found.ratios[j] = _per_balance(local.cost[j], beta)
        found.least[j], found.room[j] = np.minimum(one, two), np.abs(two - one)
        up = beta > 0
        found.ends[j] = np.where(up, lower, upper), np.where(up, upper, lower)
        np.subtract(found.need, found.least[j], out=found.need)
    return found


def _chosen(first: Bools, one: Floats, other: Floats) -> Floats:
    """Return ``np.where`` of finite numbers, which guesses at each and often guesses wrong."""
    chosen: Floats = one * first
    chosen += other * ~first
    return chosen


def _per_balance(cost: Floats, beta: Floats) -> Floats:
    """Return the cost per unit of balance, inf where a column is in none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio: Floats = cost / beta
    ratio[beta == 0] = np.inf
    return ratio


def columns_at(filling: Filling, price: Floats, columns: list[int]) -> list[Floats]:
    """Return some of the best local columns at a price of the state, each of shape (N,)."""
    local, ratios = filling.local, dict(filling.ratios)
    costs = {j: local.cost[j] - price * local.alpha[j] for j in local.moving}
    for j in ratios.keys() & costs.keys():
        ratios[j] = _per_balance(costs[j], local.beta[j])
    found = []
    for j in columns:
        lower, upper, beta = local.lower[j], local.upper[j], local.beta[j]
        x = _chosen(costs.get(j, local.cost[j]) > 0, lower, upper)
        if j in ratios:
            fill, room = filling.need.copy(), filling.room[j]
            for i, ratio in ratios.items():
                if i != j:
                    first = ratio <= ratios[j] if i < j else ratio < ratios[j]
                    np.subtract(fill, filling.room[i], out=fill, where=first)
            with np.errstate(divide="ignore", invalid="ignore"):
                between = np.clip((filling.least[j] + fill) / beta, lower, upper)
            empty, full = filling.ends[j]
            filled = np.where(fill >= room, full, np.where(fill <= 0, empty, between))
            x = filled if (beta != 0).all() else np.where(beta != 0, filled, x)
        found.append(x)
    return found


@dataclass(frozen=True, eq=False)
class Split:
    r"""How steps achieve given changes of the state."""

    x: Floats  # the local columns, shape (J, N)
    # low, high: the slopes of :math:`\phi` left and right of each change, shape (N,)
    low: Floats
    high: Floats


def split_changes(local: Local, cost: StepCost, change: Floats, near: Floats) -> Split:
    """Return the local columns that achieve ``change`` at least cost, ends of pieces snapped."""
    changes, count = cost.changes, len(change)
    piece = np.zeros(count, dtype=np.int64)
    low, high = np.full(count, -1), np.full(count, len(cost.slopes))
    below, above = change - near, change + near
    for k in range(len(cost.slopes)):
        # Piece k runs from probe k to probe k + 1; the last one that begins at or before the
        # change counts.
        long = changes[k + 1] > changes[k]
        np.maximum(piece, k * (long & (changes[k] <= change)), out=piece)
        np.maximum(low, (k + 1) * (long & (changes[k] < below)) - 1, out=low)
        ahead = long & (changes[k + 1] > above)
        np.minimum(high, len(cost.slopes) - (len(cost.slopes) - k) * ahead, out=high)
    here = np.arange(count)
    ends = np.full((1, count), -np.inf)
    slopes = np.concatenate((ends, cost.slopes, -ends)).ravel()
    piece *= count
    piece += here
    begin, end = changes.ravel().take(piece), changes.ravel().take(piece + count)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(end > begin, np.clip((change - begin) / (end - begin), 0.0, 1.0), 0.0)
    filling, every = filling_of(local), list(range(len(local.cost)))
    starts = columns_at(filling, cost.probes.ravel().take(piece), every)
    stops = columns_at(filling, cost.probes.ravel().take(piece + count), every)
    x = [start + share * (stop - start) for start, stop in zip(starts, stops, strict=True)]
    left, right = (slopes.take((side + 1) * count + here) for side in (low, high))
    return Split(np.array(x).reshape(local.cost.shape), left, right)


def balance_prices(local: Local, x: Floats, state_price: Floats) -> Floats:
    """Return a price of the balance at which the local columns are best, shape (N,)."""
    least = np.full(len(state_price), -np.inf)
    most = np.full(len(state_price), np.inf)
    cost = local.cost + state_price * local.alpha
    for j in local.balanced:
        beta, lower, upper = local.beta[j], local.lower[j], local.upper[j]
        near = FEASIBLE * 1e-2 * np.maximum(np.abs(lower), np.abs(upper))
        near = np.minimum(near, 0.25 * (upper - lower))
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where((beta != 0) & (lower < upper), cost[j] / beta, np.nan)
        above, below = x[j] > lower + near, x[j] < upper - near
        at_least = np.where(beta > 0, above, below)
        at_most = np.where(beta > 0, below, above)
        np.fmax(least, np.where(at_least, ratio, np.nan), out=least)
        np.fmin(most, np.where(at_most, ratio, np.nan), out=most)
    price: Floats = np.minimum(np.maximum(0.0, least), np.maximum(least, most))
    return price


def one_way(local: Local, x: Floats) -> Floats:
    """Return the columns with the difference alone of two that are each other's negative."""
    x = x.copy()
    for place, i in enumerate(local.moving):
        for j in local.moving[:place]:
            both = (local.alpha[i] == -local.alpha[j]) & (local.beta[i] == -local.beta[j])
            both &= local.cost[i] == -local.cost[j]
            if both.any():
                less = np.minimum(x[i] - local.lower[i], x[j] - local.lower[j])
                less = np.where(both, np.maximum(less, 0.0), 0.0)
                x[i] -= less
                x[j] -= less
    return x
