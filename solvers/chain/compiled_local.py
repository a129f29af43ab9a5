r"""The local columns step by step, compiled by numba; see :mod:`engiagent.solvers.chain.local`.

The same function :math:`\phi` of every step, found another way. A column costs
:math:`p - f q` per unit of balance, with :math:`p = c / \beta` and :math:`q = \alpha / \beta`. At a
price f of the state far below all others the columns with the least q meet the balance, and one of
them, the *basic* one, in part. Going up with f, the next column whose cost passes that of the basic
one exchanges with it what one of them has left: one segment of :math:`\phi` with the slope f. A
column that is in no balance goes from one bound to the other at its own price.

The columns of a step with a balance stand in ``own``, shape (7, J), those in the balance from the
front and the others from the back, and their numbers in ``who``.
"""

import numpy as np
from numba import njit

TIE = 1e-12
NEAR = 1e-11
FEASIBLE = 1e-9
SNAP = 1e-11
PRICE, SHARE, ROOM, FILL, LEAST, SCALE, KEPT = range(7)


@njit(cache=True)
def _load(t, columns, cost, lower, upper, alpha, beta, own, who, x):  # type: ignore[no-untyped-def]
    """Load the columns of step t; those that stay where they are go into ``x`` if it has room.

    Returns
    -------
    tuple
        How many columns are balanced and where the others begin; what all at their least use of
        the balance, how far they move the state, and the size of the balance's terms.
    """
    width = columns.shape[0]
    balanced, lone = 0, width
    used = moved = size = 0.0
    for j in range(width):
        c = columns[j, t]
        if c < 0:
            continue
        a, b, low, high = alpha[c], beta[c], lower[c], upper[c]
        if low >= high or (a == 0.0 and b == 0.0):
            stays = low if low >= high or cost[c] > 0.0 else high
            if len(x) > 0:
                x[c] = stays
            used += b * stays
            moved += a * stays
            size += 2.0 * abs(b * stays)
            continue
        if b != 0.0:
            place, scale, share = balanced, b, a / b
            balanced += 1
        else:
            lone -= 1
            place, scale, share = lone, a, 1.0
        ends = scale * low, scale * high
        least = min(ends[0], ends[1])
        own[PRICE, place], own[SHARE, place] = cost[c] / scale, share
        own[ROOM, place], own[FILL, place] = abs(ends[1] - ends[0]), 0.0
        own[LEAST, place], own[SCALE, place] = least, scale
        who[place] = c
        moved += share * least
        if b != 0.0:
            used += least
            size += abs(ends[0]) + abs(ends[1])
    return balanced, lone, used, moved, size


@njit(cache=True)
def _begin(own, balanced, need, order):  # type: ignore[no-untyped-def]
    """Meet the balance by the least shares; return the basic column and how far the state moves."""
    for j in range(balanced):
        price, share, place = own[PRICE, j], own[SHARE, j], j
        while place > 0:
            i = order[place - 1]
            ahead = share - own[SHARE, i]
            near = TIE * max(abs(share), abs(own[SHARE, i]))
            if ahead > near or (ahead >= -near and price >= own[PRICE, i]):
                break
            order[place] = i
            place -= 1
        order[place] = j
    basic, moved = -1, 0.0
    for k in range(balanced):
        basic = order[k]
        fill = min(own[ROOM, basic], max(need, 0.0))
        own[FILL, basic] = fill
        moved += own[SHARE, basic] * fill
        need -= fill
        if need <= 0.0:
            break
    return basic, moved


@njit(cache=True)
def _next(own, balanced, lone, basic, price):  # type: ignore[no-untyped-def]
    """Return the column that moves next, -1 for none, at which price, how much, and the change."""
    chosen, best = -1, np.inf
    for j in range(lone, own.shape[1]):
        if own[FILL, j] == 0.0 and own[PRICE, j] < best:
            chosen, best = j, own[PRICE, j]
    share, cost = (own[SHARE, basic], own[PRICE, basic]) if basic >= 0 else (0.0, 0.0)
    for j in range(balanced):
        ahead = own[SHARE, j] - share
        gain = ahead if own[FILL, j] <= 0.0 else -ahead
        if gain > TIE * (abs(own[SHARE, j]) + abs(share)):
            at = (own[PRICE, j] - cost) / ahead
            if at < best:
                chosen, best = j, at
    if chosen < 0:
        return chosen, price, 0.0, 0.0
    amount, ahead = own[ROOM, chosen], 1.0
    if chosen < balanced:
        ahead = own[SHARE, chosen] - own[SHARE, basic]
        left = own[FILL, basic] if ahead > 0.0 else own[ROOM, basic] - own[FILL, basic]
        amount = min(amount, left)
    return chosen, max(best, price), amount, amount * abs(ahead)


@njit(cache=True)
def _move(own, balanced, basic, chosen, amount):  # type: ignore[no-untyped-def]
    """Move the chosen column by all that is possible; return the column that is basic then."""
    room = own[ROOM, chosen]
    if chosen >= balanced:
        own[FILL, chosen] = room
        return basic
    rises = own[SHARE, chosen] > own[SHARE, basic]
    if amount == room:
        own[FILL, chosen] = room if rises else 0.0
        own[FILL, basic] += -amount if rises else amount
        return basic
    own[FILL, chosen] = amount if rises else room - amount
    own[FILL, basic] = 0.0 if rises else own[ROOM, basic]
    return chosen


@njit(cache=True)
def _begin_alone(t, columns, cost, lower, upper, alpha, own, who, x):  # type: ignore[no-untyped-def]
    """Load the columns of a step without a balance in the order in which they move.

    Returns how many there are and the least change of the state; fills ``x`` if it has room.
    """
    count, moved = 0, 0.0
    for j in range(columns.shape[0]):
        c = columns[j, t]
        if c < 0:
            continue
        a, low, high = alpha[c], lower[c], upper[c]
        rises = a > 0.0 or (a == 0.0 and cost[c] > 0.0)
        stays = low if rises or low >= high else high
        moved += a * stays
        if len(x) > 0:
            x[c] = stays
        if a == 0.0 or low >= high:
            continue
        price, place = cost[c] / a, count
        while place > 0 and own[PRICE, place - 1] > price:
            own[PRICE, place], own[ROOM, place] = own[PRICE, place - 1], own[ROOM, place - 1]
            who[place] = who[place - 1]
            place -= 1
        own[PRICE, place], own[ROOM, place], who[place] = price, abs(a) * (high - low), c
        count += 1
    return count, moved


@njit(cache=True)
def _reach_alone(count, own, who, lower, upper, alpha, moved, change, near, x):  # type: ignore[no-untyped-def]
    """Move the state by ``change``, into ``x``; return the slopes left and right of it."""
    low = -np.inf
    for k in range(count):
        c, length = who[k], own[ROOM, k]
        if moved < change - near:
            low = own[PRICE, k]
        if moved + length <= change:
            x[c] = upper[c] if alpha[c] > 0.0 else lower[c]
        elif moved < change:
            x[c] = min(max(x[c] + (change - moved) / alpha[c], lower[c]), upper[c])
        if moved + length > change + near:
            return low, own[PRICE, k]
        moved += length
    return low, np.inf


@njit(cache=True)
def segments(  # type: ignore[no-untyped-def]
    columns, part, balances, demand, scaling, starts, least, most, slopes, lengths
):
    """Fill the segments of every step's cost: slopes negated, and lengths, both scaled.

    Fills ``starts`` (N + 1,), where the segments of each step begin, and the range of the change of
    the state (N,).

    Returns
    -------
    int
        -1; a step whose balance cannot be met; or N when the segments have too little room.
    """
    factor, holding = scaling
    cost, lower, upper, alpha, beta = part
    width, steps = columns.shape
    own, who, order = np.empty((7, width)), np.empty(width, np.int64), np.empty(width, np.int64)
    nothing, turns = np.empty(0), 4 * width * width
    place = 0
    for t in range(steps):
        starts[t] = place
        if place + turns > len(slopes):
            return steps
        if balances[t] < 0:
            count, moved = _begin_alone(t, columns, cost, lower, upper, alpha, own, who, nothing)
            least[t] = moved
            for k in range(count):
                slopes[place] = -own[PRICE, k] / factor[t] - holding[t]
                lengths[place] = own[ROOM, k] * factor[t]
                place += 1
                moved += own[ROOM, k]
            most[t] = moved
            continue
        balanced, lone, used, moved, size = _load(
            t, columns, cost, lower, upper, alpha, beta, own, who, nothing
        )
        need, room = demand[t] - used, FEASIBLE * size
        for j in range(balanced):
            room += own[ROOM, j]
        if not -FEASIBLE * size <= need <= room:
            return t
        basic, more = _begin(own, balanced, need, order)
        moved += more
        least[t] = moved
        price = -np.inf
        for _ in range(turns):
            chosen, price, amount, change = _next(own, balanced, lone, basic, price)
            if chosen < 0:
                break
            basic = _move(own, balanced, basic, chosen, amount)
            if change > 0.0:
                slopes[place] = -price / factor[t] - holding[t]
                lengths[place] = change * factor[t]
                place += 1
                moved += change
        most[t] = moved
    starts[steps] = place
    return -1


@njit(cache=True)
def _keep(own):  # type: ignore[no-untyped-def]
    """Keep how much of each column is used."""
    for j in range(own.shape[1]):
        own[KEPT, j] = own[FILL, j]


@njit(cache=True)
def _reach(own, balanced, lone, basic, moved, change, near):  # type: ignore[no-untyped-def]
    """Move the state by ``change`` into the row KEPT; return the slopes left and right of it."""
    low, high, price, arrived = -np.inf, np.inf, -np.inf, False
    for _ in range(4 * own.shape[1] * own.shape[1]):
        chosen, price, amount, length = _next(own, balanced, lone, basic, price)
        if chosen < 0:
            break
        if length > 0.0:
            if moved < change - near:
                low = price
            if not arrived and moved + length > change:
                arrived = True
                _keep(own)
                part = amount * max(change - moved, 0.0) / length
                used = own[FILL, chosen] > 0.0
                own[KEPT, chosen] += -part if used else part
                if chosen < balanced:
                    own[KEPT, basic] += part if used else -part
            if moved + length > change + near:
                high = price
                break
            moved += length
        basic = _move(own, balanced, basic, chosen, amount)
    if not arrived:
        _keep(own)
    return low, high


@njit(cache=True)
def _write(own, who, begin, end, lower, upper, x):  # type: ignore[no-untyped-def]
    """Write the columns from ``begin`` to ``end`` into ``x``."""
    for j in range(begin, end):
        c, fill, scale = who[j], own[KEPT, j], own[SCALE, j]
        if fill <= 0.0:
            x[c] = lower[c] if scale > 0.0 else upper[c]
        elif fill >= own[ROOM, j]:
            x[c] = upper[c] if scale > 0.0 else lower[c]
        else:
            x[c] = min(max((own[LEAST, j] + fill) / scale, lower[c]), upper[c])


@njit(cache=True)
def split(columns, part, balances, demand, scaling, steps, units, states, x, runs, first):  # type: ignore[no-untyped-def]
    """Split every change of the state over the local columns, written into ``x``.

    Fills for every run of steps the first step and, in ``runs``, what
    :func:`engiagent.solvers.chain.passes.price` takes; returns how many runs there are.
    """
    factor, holding = scaling
    cost, lower, upper, alpha, beta = part
    ratio, inflow, bottom, top, least, most = steps
    lows, highs, below, above, starts, leaps = runs
    _, begins, jumps, _ = units
    width = columns.shape[0]
    own, who, order = np.empty((7, width)), np.empty(width, np.int64), np.empty(width, np.int64)
    run, ended, before = -1, True, 0.0
    for t in range(columns.shape[1]):
        state, size = states[t], max(abs(bottom[t]), abs(top[t]))
        change = min(max(state - ratio[t] * before - inflow[t], least[t]), most[t])
        near = SNAP * max(size, abs(before), most[t] - least[t])
        if balances[t] < 0:
            count, moved = _begin_alone(t, columns, cost, lower, upper, alpha, own, who, x)
            low, high = _reach_alone(count, own, who, lower, upper, alpha, moved, change, near, x)
        else:
            balanced, lone, used, moved, _ = _load(
                t, columns, cost, lower, upper, alpha, beta, own, who, x
            )
            basic, more = _begin(own, balanced, demand[t] - used, order)
            low, high = _reach(own, balanced, lone, basic, moved + more, change, near)
            _write(own, who, 0, balanced, lower, upper, x)
            _write(own, who, lone, width, lower, upper, x)
        low, high = -high / factor[t] - holding[t], -low / factor[t] - holding[t]
        if ended or begins[t] or jumps[t] != 1.0:
            run += 1
            first[run], starts[run], leaps[run] = t, begins[t], jumps[t]
            lows[run], highs[run] = low, high
        else:
            lows[run], highs[run] = max(lows[run], low), min(highs[run], high)
        below[run], above[run] = state <= bottom[t] + SNAP * size, state >= top[t] - SNAP * size
        ended = below[run] or above[run]
        before = state
    for r in range(run + 1):
        if lows[r] > highs[r]:  # by rounding
            lows[r] = highs[r] = 0.5 * (lows[r] + highs[r])
    return run + 1


@njit(cache=True)
def _balance_price(t, columns, cost, lower, upper, alpha, beta, x, price):  # type: ignore[no-untyped-def]
    """Return a price of the balance of step t at which its columns are best."""
    least, most = -np.inf, np.inf
    for j in range(columns.shape[0]):
        c = columns[j, t]
        if c < 0 or beta[c] == 0.0 or lower[c] >= upper[c]:
            continue
        low, high = lower[c], upper[c]
        near = min(NEAR * max(abs(low), abs(high)), 0.25 * (high - low))
        ratio = (cost[c] + price * alpha[c]) / beta[c]
        above, below = x[c] > low + near, x[c] < high - near
        if above if beta[c] > 0.0 else below:
            least = max(least, ratio)
        if below if beta[c] > 0.0 else above:
            most = min(most, ratio)
    return min(max(0.0, least), max(least, most))


@njit(cache=True)
def multipliers(columns, part, scaling, rows, x, first, prices, y):  # type: ignore[no-untyped-def]
    """Fill the multipliers ``y`` of all chain and balance rows from the prices of the runs."""
    factor, holding = scaling
    cost, lower, upper, alpha, beta = part
    chain_rows, balance_rows, scale = rows
    steps = len(chain_rows)
    for r in range(len(prices)):
        for t in range(first[r], first[r + 1] if r + 1 < len(prices) else steps):
            price = factor[t] * (prices[r] + holding[t])
            y[chain_rows[t]] = price / scale[t]
            if balance_rows[t] >= 0:
                y[balance_rows[t]] = _balance_price(
                    t, columns, cost, lower, upper, alpha, beta, x, price
                )
