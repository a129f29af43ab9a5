"""The value function in plain Python: sorted slopes in a list, found by bisection."""

from bisect import bisect_left


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
) -> int:
    r"""Fill ``levels`` with the state up to which each segment of each step is worth its cost.

    The value :math:`V_t(s)`, the least cost from step t on, is convex and piecewise linear: its
    slopes are kept in ascending order with the lengths over which they hold. Going back one step,

    .. math:: V_t(s) = \min_\Delta \phi_t(\Delta) + V_{t+1}(s + e + \Delta),

    inserts the segments of the step's cost with their slopes negated, and cuts both ends to the
    bounds of the state. The place of an insertion is the level.

    Parameters
    ----------
    starts, slopes, lengths
        The segments of step t stand from ``starts[t]`` on; slopes negated, descending in a step.
    least, most, inflow
        The range of each step's change of the state, and e, shape (N,).
    begins, jumps, syncs
        Whether a step begins a chain; by what the state before it is to be multiplied; whether the
        lengths are fitted to the range afterwards.
    inside, outside
        Bounds of the state before and after each step, pairs of shape (N,).
    slack
        What a state may miss its bounds by through rounding alone, shape (N,).

    Returns
    -------
    int
        -1, or the step from which nothing is allowed.
    """
    low_in, high_in = inside
    low_out, high_out = outside
    kept: list[float] = []
    spans: list[float] = []
    low = high = 0.0
    fresh = True
    for t in range(len(least) - 1, -1, -1):
        if fresh:
            kept, spans, low, high = [], [], low_out[t], high_out[t]
        for k in range(starts[t], starts[t + 1]):
            slope = slopes[k]
            i = bisect_left(kept, slope)
            levels[k] = low + sum(spans[:i])
            kept.insert(i, slope)
            spans.insert(i, lengths[k])
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
            surplus, i = wanted_low - low, 0
            while i < len(spans) and spans[i] <= surplus:
                surplus -= spans[i]
                i += 1
            if i:
                del kept[:i], spans[:i]
            if spans:
                spans[0] -= surplus
            low = low_in[t]
        else:
            low -= constant
        if wanted_high < high:
            surplus = high - wanted_high
            while spans and spans[-1] <= surplus:
                surplus -= spans.pop()
                kept.pop()
            if spans:
                spans[-1] -= surplus
            high = high_in[t]
        else:
            high -= constant
        jump = jumps[t]
        if jump != 1.0:
            low, high = low * jump, high * jump
            kept = [slope / jump for slope in kept]
            spans = [span * jump for span in spans]
        if syncs[t] and spans:
            spans[-1] = max(0.0, spans[-1] + (high - low) - sum(spans))
    return -1


def plan(  # type: ignore[no-untyped-def]
    starts, lengths, levels, least, inflow, jumps, lower, upper, margin, states
) -> None:
    """Fill ``states``: go from state to state up to where the value's slope takes over.

    A segment of a step's cost is used as long as the state lies below the segment's level.
    """
    state = 0.0
    for t in range(len(least)):
        place = state / jumps[t] + inflow[t] + least[t]
        for k in range(starts[t], starts[t + 1]):
            room = levels[k] - place
            if room <= 0.0:
                break
            if room < lengths[k]:
                place = levels[k]
                break
            place += lengths[k]
        if place < lower[t] + margin[t]:
            place = lower[t]
        elif place > upper[t] - margin[t]:
            place = upper[t]
        states[t] = state = place
