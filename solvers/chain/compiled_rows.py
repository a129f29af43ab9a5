"""The rows of a program in single passes, compiled by numba.

``rows`` are the three arrays of a matrix by rows: where each row starts, columns and values. Sums
over many terms are taken in runs, so that their rounding grows with the length of a run only.
"""

import numpy as np
from numba import njit

RUN = 256


@njit(cache=True)
def coefficients(rows, steps, fixed, lower, scale, ratio, turn, alpha, beta, constant):  # type: ignore[no-untyped-def]
    """Read the rows of all steps; the names are those of :class:`~.model.Coefficients`."""
    starts, columns, values = rows
    chain_rows, balance_rows, states = steps
    sign, before = 1.0, -1
    for t in range(len(chain_rows)):
        row, after, own, coming, known = chain_rows[t], states[t], 1.0, 0.0, 0.0
        for e in range(starts[row], starts[row + 1]):
            c = columns[e]
            if c == after:
                own = values[e]
            elif c == before:
                coming = -values[e]
            elif fixed[c]:
                known += values[e] * lower[c]
        if coming / own < 0.0:
            sign = -sign
        ratio[t], scale[t], turn[t] = abs(coming / own), own * sign, sign
        constant[row] = known
        for e in range(starts[row], starts[row + 1]):
            c = columns[e]
            if c != after and c != before:
                alpha[c] = -values[e] / scale[t]
        before = after
    for t in range(len(balance_rows)):
        row = balance_rows[t]
        if row < 0:
            continue
        known = 0.0
        for e in range(starts[row], starts[row + 1]):
            c = columns[e]
            beta[c] = values[e]
            if fixed[c]:
                known += values[e] * lower[c]
        constant[row] = known


@njit(cache=True)
def constants(rows, chosen, fixed, lower, constant):  # type: ignore[no-untyped-def]
    """Fill in ``constant`` what the fixed columns add up to in the rows chosen."""
    starts, columns, values = rows
    for row in chosen:
        known = 0.0
        for e in range(starts[row], starts[row + 1]):
            if fixed[columns[e]]:
                known += values[e] * lower[columns[e]]
        constant[row] = known


@njit(cache=True)
def numbers(steps, row_lower, row_upper, constant, scale, turn, bounds, inflow, low, high, demand):  # type: ignore[no-untyped-def]
    """Fill inflow, bounds of the turned states and demand; see :class:`~.numbers.Numbers`."""
    chain_rows, balance_rows, states = steps
    lower, upper = bounds
    for t in range(len(chain_rows)):
        row, state = chain_rows[t], states[t]
        inflow[t] = 0.0
        if not row_lower[row] < row_upper[row]:
            inflow[t] = (row_upper[row] - constant[row]) / scale[t]
        low[t] = high[t] = 0.0
        if state >= 0:
            least, most = lower[state], upper[state]
            low[t], high[t] = (least, most) if turn[t] > 0.0 else (-most, -least)
        row, demand[t] = balance_rows[t], 0.0
        if row >= 0 and not row_lower[row] < row_upper[row]:
            demand[t] = row_upper[row] - constant[row]


@njit(cache=True)
def _span(low, high):  # type: ignore[no-untyped-def]
    """Return the largest finite size of two bounds, the first no larger than the second."""
    size = max(-low, high)
    if size < np.inf:
        return size
    return max(-low if low > -np.inf else 0.0, high if high < np.inf else 0.0, 0.0)


@njit(cache=True)
def _narrow(size, most, lower, upper, c):  # type: ignore[no-untyped-def]
    """Keep what a column with a coefficient of this size adds to a row up to ``most``."""
    if size * max(-lower[c], upper[c]) > most:
        limit = most / size
        lower[c], upper[c] = max(lower[c], -limit), min(upper[c], limit)


@njit(cache=True)
def limit_columns(columns, alpha, beta, lower, upper, ratio, inflow, low, high, demand):  # type: ignore[no-untyped-def]
    """Give the local columns finite bounds in place; return whether all have them."""
    before, width, finite = 0.0, columns.shape[0], True
    for t in range(columns.shape[1]):
        span = max(abs(low[t]), abs(high[t]))
        change = span + ratio[t] * before + abs(inflow[t])
        flow, before = abs(demand[t]), span
        for j in range(width):
            c = columns[j, t]
            if c >= 0 and alpha[c] != 0.0:
                change += abs(alpha[c]) * _span(lower[c], upper[c])
        for j in range(width):
            c = columns[j, t]
            if c >= 0:
                if alpha[c] != 0.0:
                    _narrow(abs(alpha[c]), 2.0 * change + 1.0, lower, upper, c)
                if beta[c] != 0.0:
                    flow += abs(beta[c]) * _span(lower[c], upper[c])
        for j in range(width):
            c = columns[j, t]
            if c >= 0:
                if beta[c] != 0.0:
                    _narrow(abs(beta[c]), 2.0 * flow + 1.0, lower, upper, c)
                finite = finite and -np.inf < lower[c] and upper[c] < np.inf
    return finite


@njit(cache=True)
def subtract_transposed(rows, y, reduced):  # type: ignore[no-untyped-def]
    """Subtract ``Aᵀ y`` from ``reduced``, in place."""
    starts, columns, values = rows
    for row in range(len(y)):
        price = y[row]
        if price != 0.0:
            for e in range(starts[row], starts[row + 1]):
                reduced[columns[e]] -= values[e] * price


@njit(cache=True)
def add_sizes(rows, y, sizes):  # type: ignore[no-untyped-def]
    """Add ``|Aᵀ| |y|`` to ``sizes``, in place."""
    starts, columns, values = rows
    for row in range(len(y)):
        price = y[row]
        if price != 0.0:
            for e in range(starts[row], starts[row + 1]):
                sizes[columns[e]] += abs(values[e] * price)


@njit(cache=True)
def weighted(cost, x):  # type: ignore[no-untyped-def]
    """Return ``cost · x``."""
    total = 0.0
    for begin in range(0, len(x), RUN):
        part = 0.0
        for j in range(begin, min(begin + RUN, len(x))):
            part += cost[j] * x[j]
        total += part
    return total


@njit(cache=True)
def least_over_box(slope, noise, lower, upper):  # type: ignore[no-untyped-def]
    """Return the least of ``slope · z`` over a box, -inf where it has no end.

    A slope no larger than ``noise`` (which may be empty) counts as zero at an infinite bound.
    """
    total = 0.0
    for begin in range(0, len(slope), RUN):
        part = 0.0
        for j in range(begin, min(begin + RUN, len(slope))):
            part += max(slope[j], 0.0) * lower[j] + min(slope[j], 0.0) * upper[j]
        total += part
    if np.isfinite(total):
        return total  # no bound that counts is infinite
    total = 0.0
    for begin in range(0, len(slope), RUN):
        part = 0.0
        for j in range(begin, min(begin + RUN, len(slope))):
            end = lower[j] if slope[j] > 0.0 else upper[j]
            if slope[j] == 0.0:
                continue
            if np.isfinite(end):
                part += slope[j] * end
            elif not (len(noise) > 0 and abs(slope[j]) <= noise[j]):
                return -np.inf
        total += part
    return total


@njit(cache=True)
def residual(rows, x, row_lower, row_upper, lower, upper):  # type: ignore[no-untyped-def]
    """Return the largest violation of a row or bound, relative to the size of its terms."""
    starts, columns, values = rows
    worst = 0.0
    for row in range(len(row_lower)):
        value = 0.0
        for e in range(starts[row], starts[row + 1]):
            value += values[e] * x[columns[e]]
        if row_lower[row] <= value <= row_upper[row]:
            continue
        size = 0.0
        for e in range(starts[row], starts[row + 1]):
            size += abs(values[e] * x[columns[e]])
        miss = max(row_lower[row] - value, value - row_upper[row]) / max(1.0, size)
        if np.isnan(miss):
            return np.inf
        worst = max(worst, miss)
    for j in range(len(x)):
        if not lower[j] <= x[j] <= upper[j]:
            miss = max(lower[j] - x[j], x[j] - upper[j]) / max(1.0, abs(x[j]))
            if np.isnan(miss):
                return np.inf
            worst = max(worst, miss)
    return worst
