"""The local columns step by step, compiled by numba; see :mod:`engiagent.solvers.chain.local`.

The same rules in the same order as there, but one step after the other, which keeps everything in
the cache.
"""

import numpy as np
from numba import njit

TIE = 1e-12
NEAR = 1e-11


@njit(cache=True)
def _load(t, cost, lower, upper, alpha, beta, own):  # type: ignore[no-untyped-def]
    """Copy the columns of step t into ``own``, shape (7, J): also least use and room of balance."""
    for j in range(cost.shape[0]):
        b, low, high = beta[j, t], lower[j, t], upper[j, t]
        own[0, j], own[1, j], own[2, j] = cost[j, t], low, high
        own[3, j], own[4, j] = alpha[j, t], b
        own[5, j], own[6, j] = min(b * low, b * high), abs(b) * (high - low)


@njit(cache=True)
def _columns_at(own, demand, price, ratio, x):  # type: ignore[no-untyped-def]
    """Fill ``x`` with the best columns of a step at a price of the state."""
    need, width = demand, own.shape[1]
    for j in range(width):
        value = own[0, j] - price * own[3, j]
        b = own[4, j]
        if b == 0.0:
            x[j] = own[1, j] if value > 0.0 else own[2, j]
            ratio[j] = np.inf
        else:
            ratio[j] = value / b
            need -= own[5, j]
    for j in range(width):
        b, mine = own[4, j], ratio[j]
        if b == 0.0:
            continue
        fill = need
        for i in range(width):
            first = ratio[i] <= mine if i < j else ratio[i] < mine
            fill -= own[6, i] if first else 0.0
        if fill >= own[6, j]:
            x[j] = own[2, j] if b > 0.0 else own[1, j]
        elif fill <= 0.0:
            x[j] = own[1, j] if b > 0.0 else own[2, j]
        else:
            x[j] = min(max((own[5, j] + fill) / b, own[1, j]), own[2, j])


@njit(cache=True)
def step_cost(cost, lower, upper, alpha, beta, demand, pairs, slopes, probes, changes):  # type: ignore[no-untyped-def]
    """Fill slopes (M, N), probes and changes (M + 1, N); ``pairs`` holds the columns to compare."""
    count, width = pairs.shape[0], cost.shape[0]
    x, ratio, own = np.empty(width), np.empty(width), np.empty((7, width))
    for t in range(cost.shape[1]):
        _load(t, cost, lower, upper, alpha, beta, own)
        found = 0
        for p in range(count):
            i, j = pairs[p, 0], pairs[p, 1]
            if own[1, i] >= own[2, i] or own[1, j] >= own[2, j]:
                continue
            if i == j:
                if own[4, i] != 0.0 or own[3, i] == 0.0:
                    continue
                price = own[0, i] / own[3, i]
            else:
                if own[4, i] == 0.0 or own[4, j] == 0.0:
                    continue
                turn = own[3, i] * own[4, j] - own[3, j] * own[4, i]
                if abs(turn) <= TIE * abs(own[3, i] * own[4, j]):
                    continue
                price = (own[0, i] * own[4, j] - own[0, j] * own[4, i]) / turn
            place = found
            while place > 0 and slopes[place - 1, t] > price:
                slopes[place, t] = slopes[place - 1, t]
                place -= 1
            slopes[place, t] = price
            found += 1
        for k in range(found, count):
            slopes[k, t] = slopes[found - 1, t] if found > 0 else 0.0
        size = max(abs(slopes[0, t]), abs(slopes[count - 1, t]))
        for k in range(count + 1):
            if k == 0:
                probes[k, t] = slopes[0, t] - 1.0 - size
            elif k == found:
                probes[k, t] = slopes[k - 1, t] + 1.0 + size
            elif k < found and slopes[k, t] - slopes[k - 1, t] > TIE * size:
                probes[k, t] = 0.5 * (slopes[k, t] + slopes[k - 1, t])
            else:
                probes[k, t] = probes[k - 1, t]
                changes[k, t] = changes[k - 1, t]
                continue
            _columns_at(own, demand[t], probes[k, t], ratio, x)
            total = 0.0
            for j in range(width):
                total += own[3, j] * x[j]
            changes[k, t] = total if k == 0 else max(total, changes[k - 1, t])


@njit(cache=True)
def split_changes(  # type: ignore[no-untyped-def]
    cost, lower, upper, alpha, beta, demand, slopes, probes, changes, change, near, x, low, high
):
    """Fill the local columns (J, N) and the slopes left and right of each change (N,)."""
    count, width = slopes.shape[0], cost.shape[0]
    start, stop, ratio = np.empty(width), np.empty(width), np.empty(width)
    own = np.empty((7, width))
    for t in range(cost.shape[1]):
        _load(t, cost, lower, upper, alpha, beta, own)
        low[t], high[t] = -np.inf, np.inf
        piece = 0
        for k in range(count):
            if changes[k + 1, t] <= changes[k, t]:
                continue
            if changes[k, t] < change[t] - near[t]:
                low[t] = slopes[k, t]
            if changes[k + 1, t] > change[t] + near[t] and high[t] == np.inf:
                high[t] = slopes[k, t]
            if changes[k, t] <= change[t]:
                piece = k
        begin, end = changes[piece, t], changes[piece + 1, t]
        share = 0.0
        if end > begin:
            share = min(max((change[t] - begin) / (end - begin), 0.0), 1.0)
        _columns_at(own, demand[t], probes[piece, t], ratio, start)
        if share > 0.0:
            _columns_at(own, demand[t], probes[piece + 1, t], ratio, stop)
            for j in range(width):
                x[j, t] = start[j] + share * (stop[j] - start[j])
        else:
            for j in range(width):
                x[j, t] = start[j]


@njit(cache=True)
def balance_prices(cost, lower, upper, alpha, beta, x, state_price, prices):  # type: ignore[no-untyped-def]
    """Fill ``prices`` with a price of each step's balance at which its columns are best, (N,)."""
    for t in range(cost.shape[1]):
        least, most = -np.inf, np.inf
        for j in range(cost.shape[0]):
            b, low, high = beta[j, t], lower[j, t], upper[j, t]
            if b == 0.0 or low >= high:
                continue
            near = min(NEAR * max(abs(low), abs(high)), 0.25 * (high - low))
            ratio = (cost[j, t] + state_price[t] * alpha[j, t]) / b
            above, below = x[j, t] > low + near, x[j, t] < high - near
            if (b > 0.0 and above) or (b < 0.0 and below):
                least = max(least, ratio)
            if (b > 0.0 and below) or (b < 0.0 and above):
                most = min(most, ratio)
        prices[t] = min(max(0.0, least), max(least, most))
