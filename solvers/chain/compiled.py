"""The value function compiled by numba; see :mod:`engiagent.solvers.chain.plain` for what it does.

The sorted slopes stand in the middle of an array with room on both sides, and an insertion moves
whichever side is shorter. Compiled code is cached on disk, so that only the first run on a machine
pays for the compilation.
"""

import numpy as np
from numba import njit

from engiagent.solvers.chain import passes

price = njit(cache=True)(passes.price)

SNAP = 1e-11
SLACK = 1e-9


@njit(cache=True)
def _place(kept, begin, end, slope):  # type: ignore[no-untyped-def]
    """Return the first place in ``begin:end`` whose slope is not below ``slope``."""
    while begin < end:
        middle = (begin + end) // 2
        if kept[middle] < slope:
            begin = middle + 1
        else:
            end = middle
    return begin


@njit(cache=True)
def _centred(values, begin, end, size):  # type: ignore[no-untyped-def]
    """Return ``values[begin:end]`` in the middle of an array of the size given."""
    result = np.empty(size)
    start = (size - (end - begin)) // 2
    for i in range(begin, end):
        result[start + i - begin] = values[i]
    return result


@njit(cache=True)
def value_levels(starts, slopes, lengths, steps, units, levels):  # type: ignore[no-untyped-def]
    """Fill ``levels``, as the plain function of this name does; bounds are scaled on the way."""
    _, inflows, lower, upper, least, most = steps
    factor, begins, jumps, syncs = units
    kept, spans = np.empty(256), np.empty(256)
    begin = end = 128
    low = high = 0.0
    fresh = True
    for t in range(len(least) - 1, -1, -1):
        unit, jump = factor[t], jumps[t]
        low_out, high_out = lower[t] * unit, upper[t] * unit
        low_in = high_in = 0.0
        if not begins[t]:
            low_in, high_in = (
                lower[t - 1] * factor[t - 1] / jump,
                upper[t - 1] * factor[t - 1] / jump,
            )
        constant = inflows[t] * unit
        if fresh:
            begin = end = kept.size // 2
            low, high = low_out, high_out
        more = starts[t + 1] - starts[t]
        if begin < more or end + more > kept.size:
            count = end - begin
            size = max(256, 4 * (count + 2 * more))
            kept, spans = _centred(kept, begin, end, size), _centred(spans, begin, end, size)
            begin = (size - count) // 2
            end = begin + count
        added = 0.0
        for k in range(starts[t], starts[t + 1]):
            place = _place(kept, begin, end, slopes[k])
            total = 0.0
            if 2 * (place - begin) < end - begin:
                for i in range(begin, place):
                    total += spans[i]
                    kept[i - 1], spans[i - 1] = kept[i], spans[i]
                levels[k] = low + total
                begin -= 1
                place -= 1
            else:
                for i in range(end - 1, place - 1, -1):
                    total += spans[i]
                    kept[i + 1], spans[i + 1] = kept[i], spans[i]
                levels[k] = high - (total - added)
                end += 1
            kept[place], spans[place] = slopes[k], lengths[k]
            added += lengths[k]
        low -= most[t] * unit
        high -= least[t] * unit
        wanted_low, wanted_high = low_in + constant, high_in + constant
        slack = SLACK * max(abs(low_out), abs(high_out), abs(high_in), abs(constant))
        if wanted_low > high + slack or wanted_high < low - slack:
            return t
        fresh = begins[t]
        if fresh:
            continue
        if wanted_low > low:
            surplus = wanted_low - low
            while begin < end and spans[begin] <= surplus:
                surplus -= spans[begin]
                begin += 1
            if begin < end:
                spans[begin] -= surplus
            low = low_in
        else:
            low -= constant
        if wanted_high < high:
            surplus = high - wanted_high
            while begin < end and spans[end - 1] <= surplus:
                surplus -= spans[end - 1]
                end -= 1
            if begin < end:
                spans[end - 1] -= surplus
            high = high_in
        else:
            high -= constant
        if jump != 1.0:
            low, high = low * jump, high * jump
            for i in range(begin, end):
                kept[i] /= jump
                spans[i] *= jump
        if syncs[t] and begin < end:
            total = 0.0
            for i in range(begin, end):
                total += spans[i]
            spans[end - 1] = max(0.0, spans[end - 1] + (high - low) - total)
    return -1


@njit(cache=True)
def plan(starts, lengths, levels, steps, units, states, columns, turn, x):  # type: ignore[no-untyped-def]
    """Fill ``states``, as the plain function of this name does, in their own units.

    Turned back, they are written into ``x`` as well, where a state has a column.
    """
    _, inflows, lower, upper, least, _ = steps
    factor, _, jumps, _ = units
    state = 0.0
    for t in range(len(least)):
        unit = factor[t]
        low, high = lower[t] * unit, upper[t] * unit
        margin = SNAP * max(abs(low), abs(high))
        place = state / jumps[t] + inflows[t] * unit + least[t] * unit
        for k in range(starts[t], starts[t + 1]):
            room = levels[k] - place
            if room <= 0.0:
                break
            if room < lengths[k]:
                place = levels[k]
                break
            place += lengths[k]
        if place < low + margin:
            place = low
        elif place > high - margin:
            place = high
        state = place
        # The bounds themselves, and not what two roundings make of them.
        states[t] = upper[t] if place == high else lower[t] if place == low else place / unit
        if columns[t] >= 0:
            x[columns[t]] = turn[t] * states[t]
