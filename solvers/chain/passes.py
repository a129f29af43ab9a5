"""Runs over the steps of a chain, written for lists and for arrays alike.

Numba compiles these very functions; without it they run over plain lists. Each fills its last
arguments, because a list is made differently from an array.
"""


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
