"""Recognition of chains in single passes, compiled by numba.

Each function finds what the numpy function named in its description finds. ``rows`` are the
matrix by rows: where each row starts, columns and values.
"""

import numpy as np
from numba import njit


@njit(cache=True)
def free_sizes(rows, free):  # type: ignore[no-untyped-def]
    """Return how many free columns each row has, shape (m,)."""
    starts, columns, _ = rows
    sizes = np.zeros(len(starts) - 1, np.int32)
    for row in range(len(sizes)):
        for e in range(starts[row], starts[row + 1]):
            sizes[row] += free[columns[e]]
    return sizes


@njit(cache=True)
def uses(rows, free, sizes):  # type: ignore[no-untyped-def]
    """Return in how many rows with two free columns each one stands, up to 3, shape (n,)."""
    starts, columns, _ = rows
    counts = np.zeros(len(free), np.uint8)
    for row in range(len(sizes)):
        if sizes[row] > 1:
            for e in range(starts[row], starts[row + 1]):
                c = columns[e]
                if counts[c] < 3:
                    counts[c] += free[c]
    return counts


@njit(cache=True)
def ends(rows, free, core):  # type: ignore[no-untyped-def]
    """Return the first and last core row of each free column, as ``chain._ends`` does.

    The third result tells whether no column is in more than two.
    """
    starts, columns, _ = rows
    first, last = np.full(len(free), -1, np.int32), np.full(len(free), -1, np.int32)
    for row in range(len(core)):
        if not core[row]:
            continue
        for e in range(starts[row], starts[row + 1]):
            c = columns[e]
            if not free[c]:
                continue
            if first[c] < 0:
                first[c] = row
            elif first[c] != last[c] or last[c] == row:
                return first, last, False
            last[c] = row
    return first, last, True


@njit(cache=True)
def _neighbours(first, last, size):  # type: ignore[no-untyped-def]
    """Return the least and the largest neighbour of each row, and how many edges it has."""
    least, most = np.full(size, size, np.int32), np.full(size, -1, np.int32)
    counts = np.zeros(size, np.int32)
    for c in range(len(first)):
        one, two = first[c], last[c]
        if one != two:
            least[one], most[one] = min(least[one], two), max(most[one], two)
            least[two], most[two] = min(least[two], one), max(most[two], one)
            counts[one] += 1
            counts[two] += 1
    return least, most, counts


@njit(cache=True)
def pendants(core, first, last):  # type: ignore[no-untyped-def]
    """Return the row on which each row hangs, or -1, as ``paths._pendants`` does.

    The second result tells whether no row has two pendants.
    """
    size = len(core)
    least, most, counts = _neighbours(first, last, size)
    pendant_of, hangs_on = np.full(size, -1, np.int32), np.full(size, -1, np.int32)
    any_sure = False
    for row in range(size):
        if core[row] and least[row] == most[row] and counts[row] > 1:
            other = most[row]
            # Two rows that only see each other: the one with the lower number carries the chain.
            if other > row and core[other] and least[other] == most[other]:
                continue
            if hangs_on[other] >= 0:
                return pendant_of, False
            pendant_of[row], hangs_on[other], any_sure = other, row, True
    crowded = any_sure
    for turn in range(2):
        for row in range(size - 1, -1, -1):
            if not core[row] or least[row] != most[row] or counts[row] != 1:
                continue
            other = most[row]
            if core[other] and least[other] == most[other]:
                continue
            if turn == 0:
                crowded = crowded or counts[other] > 2
            elif hangs_on[other] < 0:
                pendant_of[row], hangs_on[other] = other, row
        if not crowded:
            break
    return pendant_of, True


@njit(cache=True)
def _links(inside, first, last):  # type: ignore[no-untyped-def]
    """Return both columns that lead from each row to others inside, shape (m, 2), or -1.

    The second result tells whether no row has three.
    """
    links = np.full((len(inside), 2), -1, np.int32)
    for c in range(len(first)):
        if first[c] == last[c] or not (inside[first[c]] and inside[last[c]]):
            continue
        for row in (first[c], last[c]):
            if links[row, 0] < 0:
                links[row, 0] = c
            elif links[row, 1] < 0:
                links[row, 1] = c
            else:
                return links, False
    return links, True


@njit(cache=True)
def follow(inside, first, last):  # type: ignore[no-untyped-def]
    """Return the rows inside along their paths and the column to the next, or -1.

    The third result is 0, 1 when a row has three neighbours or 2 when there are rings.
    """
    links, good = _links(inside, first, last)
    size = 0
    for row in range(len(inside)):
        size += inside[row]
    order, states = np.empty(size, np.int32), np.empty(size, np.int32)
    if not good:
        return order, states, 1
    place = 0
    seen = np.zeros(len(inside), np.bool_)
    for start in range(len(inside)):
        if not inside[start] or seen[start] or links[start, 1] >= 0:
            continue
        row, came = start, -1
        while row >= 0:
            seen[row] = True
            column = links[row, 1] if links[row, 0] == came else links[row, 0]
            order[place], states[place] = row, column
            place += 1
            row, came = (-1 if column < 0 else first[column] + last[column] - row), column
    return order, states, 0 if place == size else 2


@njit(cache=True)
def local_table(order, pendants, states, first, size, widest):  # type: ignore[no-untyped-def]
    """Return the columns of each step, filled up with -1, as ``chain._local_columns`` does.

    The second result tells whether no step has more than ``widest``.
    """
    step_of, counts = np.full(size, -1, np.int32), np.zeros(len(order), np.int32)
    is_state = np.zeros(len(first), np.bool_)
    for t in range(len(order)):
        step_of[order[t]] = t
        if pendants[t] >= 0:
            step_of[pendants[t]] = t
        if states[t] >= 0:
            is_state[states[t]] = True
    width = 0
    for c in range(len(first)):
        if first[c] >= 0 and not is_state[c]:
            counts[step_of[first[c]]] += 1
            width = max(width, counts[step_of[first[c]]])
    table = np.full((width if width <= widest else 0, len(order)), -1, np.int32)
    if width > widest:
        return table, False
    counts[:] = 0
    for c in range(len(first)):
        if first[c] >= 0 and not is_state[c]:
            t = step_of[first[c]]
            table[counts[t], t] = c
            counts[t] += 1
    return table, True
