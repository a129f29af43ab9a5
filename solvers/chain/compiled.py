"""The value function compiled by numba; see :mod:`engiagent.solvers.chain.plain` for what it does.

The sorted slopes stand in the middle of an array with room on both sides, and an insertion moves
whichever side is shorter. Compiled code is cached on disk, so that only the first run on a machine
pays for the compilation.
"""

import numpy as np
from numba import njit

from engiagent.solvers.chain import passes

plan = njit(cache=True)(passes.plan)
price = njit(cache=True)(passes.price)


@njit(cache=True)
def packed(slopes, lengths, factor, holding):  # type: ignore[no-untyped-def]
    """Return where each step's segments start, their slopes negated and their lengths, scaled."""
    count, width = lengths.shape[1], lengths.shape[0]
    starts = np.empty(count + 1, np.int64)
    total = 0
    for t in range(count):
        starts[t] = total
        for k in range(width):
            if lengths[k, t] > 0.0:
                total += 1
    starts[count] = total
    turned, spans = np.empty(total), np.empty(total)
    place = 0
    for t in range(count):
        for k in range(width):
            if lengths[k, t] > 0.0:
                turned[place] = -slopes[k, t] / factor[t] - holding[t]
                spans[place] = lengths[k, t] * factor[t]
                place += 1
    return starts, turned, spans


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
    result[start : start + end - begin] = values[begin:end]
    return result


@njit(cache=True)
def value_levels(  # type: ignore[no-untyped-def]
    starts,
    slopes,
    lengths,
    least,
    most,
    inflow,
    begins,
    jumps,
    syncs,
    inside,
    outside,
    slack,
    levels,
):
    """Fill ``levels``; the same arguments and result as the plain function of this name."""
    low_in, high_in = inside
    low_out, high_out = outside
    kept, spans = np.empty(256), np.empty(256)
    begin = end = 128
    low = high = 0.0
    fresh = True
    for t in range(len(least) - 1, -1, -1):
        if fresh:
            begin = end = kept.size // 2
            low, high = low_out[t], high_out[t]
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
        low -= most[t]
        high -= least[t]
        constant = inflow[t]
        wanted_low, wanted_high = low_in[t] + constant, high_in[t] + constant
        if wanted_low > high + slack[t] or wanted_high < low - slack[t]:
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
            low = low_in[t]
        else:
            low -= constant
        if wanted_high < high:
            surplus = high - wanted_high
            while begin < end and spans[end - 1] <= surplus:
                surplus -= spans[end - 1]
                end -= 1
            if begin < end:
                spans[end - 1] -= surplus
            high = high_in[t]
        else:
            high -= constant
        jump = jumps[t]
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
