"""Runs over the steps of a chain, written for lists and for arrays alike.

Numba compiles these very functions; without it they run over plain lists. Each fills its last
arguments, because a list is made differently from an array.
"""


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


def price(  # type: ignore[no-untyped-def]
    low, high, below, above, begins, jumps, prices
) -> None:
    """Fill ``prices`` with the worth of the state in each run of steps.

    Within a run the state keeps off its bounds and the price is the same. ``low`` and ``high`` are
    what a run's own costs allow; they are narrowed in place to what the later runs allow too. The
    state at the end of run r may lower the price (``below``) or raise it (``above``) as seen from
    the next run, and ``begins`` says that run r begins a chain. Going forward, the one price that
    the earlier runs ask for is taken, or the nearest allowed.
    """
    infinite = float("inf")
    last = len(low) - 1
    for r in range(last - 1, -1, -1):
        least, most = -infinite, infinite
        if not begins[r + 1]:
            if not below[r]:
                least = low[r + 1] / jumps[r + 1]
            if not above[r]:
                most = high[r + 1] / jumps[r + 1]
        if least > high[r]:
            low[r] = high[r]
        elif most < low[r]:
            high[r] = low[r]
        else:
            low[r], high[r] = max(least, low[r]), min(most, high[r])
    wanted = 0.0
    for r in range(last + 1):
        wanted = 0.0 if begins[r] else wanted * jumps[r]
        wanted = min(max(wanted, low[r]), high[r])
        prices[r] = wanted
