"""The value function in plain Python: sorted slopes in a list, found by bisection."""

from bisect import bisect_left


def value_levels(  # type: ignore[no-untyped-def]
    slopes, lengths, steps, outside, levels
) -> int:
    r"""Fill ``levels`` with the state up to which each segment of each step is worth its cost.

    The value :math:`V_t(s)`, the least cost from step t on, is convex and piecewise linear: its
    slopes are kept in ascending order with the lengths over which they hold. Going back one step,

    .. math:: V_t(s) = \min_\Delta \phi_t(\Delta) + V_{t+1}(s + e + \Delta),

    inserts the segments of the step's cost with their slopes negated, and cuts both ends to the
    bounds of the state. The place of an insertion is the level.

    Parameters
    ----------
    slopes, lengths
        The segments of all steps, those of a step one after the other; slopes negated, descending
        in a step.
    steps
        From the last step to the first: how many segments it has; the least and the largest change
        of the state, and e; the bounds of the state before it; whether it begins a chain; by what
        the state before it is to be multiplied; whether the lengths are fitted to the range
        afterwards; what a state may miss its bounds by through rounding alone.
    outside
        Bounds of the state after each step, arrays of shape (N,).

    Returns
    -------
    int
        -1, or the step from which nothing is allowed.
    """
    kept: list[float] = []
    spans: list[float] = []
    low = high = 0.0
    fresh, t, end = True, len(outside[0]), len(slopes)
    for count, least, most, constant, low_in, high_in, begins, jump, sync, miss in steps:
        t -= 1
        if fresh:
            kept, spans, low, high = [], [], float(outside[0][t]), float(outside[1][t])
        start = end - count
        for k in range(start, end):
            slope = slopes[k]
            i = bisect_left(kept, slope)
            levels[k] = low + sum(spans[:i]) if i else low
            kept.insert(i, slope)
            spans.insert(i, lengths[k])
        end = start
        low -= most
        high -= least
        wanted_low, wanted_high = low_in + constant, high_in + constant
        if wanted_low > high + miss or wanted_high < low - miss:
            return t
        fresh = begins
        if fresh:
            continue
        if wanted_low > low:
            surplus, i = wanted_low - low, 0
            while i < len(spans) and spans[i] <= surplus:
                surplus -= spans[i]
                i += 1
            if i:
                del kept[:i], spans[:i]
            if spans:
                spans[0] -= surplus
            low = low_in
        else:
            low -= constant
        if wanted_high < high:
            surplus = high - wanted_high
            while spans and spans[-1] <= surplus:
                surplus -= spans.pop()
                kept.pop()
            if spans:
                spans[-1] -= surplus
            high = high_in
        else:
            high -= constant
        if jump != 1.0:
            low, high = low * jump, high * jump
            kept = [slope / jump for slope in kept]
            spans = [span * jump for span in spans]
        if sync and spans:
            spans[-1] = max(0.0, spans[-1] + (high - low) - sum(spans))
    return -1


def plan(lengths, levels, steps) -> list[float]:  # type: ignore[no-untyped-def]
    """Return the states: from state to state up to where the value's slope takes over.

    A segment of a step's cost is used as long as the state lies below the segment's level.

    Parameters
    ----------
    steps
        From the first step to the last: how many segments it has; by what the state before it was
        multiplied; by what the state changes at least, e included; its lower and upper bound, and
        from where on it counts as being there.
    """
    states = []
    state, start = 0.0, 0
    for count, jump, move, lower, upper, bottom, top in steps:
        end = start + count
        state = state / jump + move
        for k in range(start, end):
            level = levels[k]
            room, length = level - state, lengths[k]
            if room <= 0.0:
                break
            if room < length:
                state = level
                break
            state += length
        start = end
        if state < bottom:
            state = lower
        elif state > top:
            state = upper
        states.append(state)
    return states
