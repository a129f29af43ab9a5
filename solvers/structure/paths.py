"""Rows as vertices, columns in two rows as edges: a set of paths with pendant vertices, or not."""

from dataclasses import dataclass

import numpy as np

from engiagent.solvers.structure.entries import Bools, Ints


@dataclass(frozen=True, eq=False)
class Paths:
    """Rows in the order of their paths, one path after the other."""

    rows: Ints  # the rows on paths, shape (N,)
    states: Ints  # the column from each row to the next, shape (N,); -1 at the end of a path
    pendants: Ints  # the pendant row of each, shape (N,), or -1


def order_rows(core: Bools, first: Ints, last: Ints) -> Paths | None:
    """Return the paths of a graph, or None when it has another shape.

    ``core``: which rows are vertices, shape (m,). ``first``, ``last``: the first and the last row
    of each column, shape (n,): an edge where they differ.
    """
    edges = np.flatnonzero(first != last)
    first, last = first[edges], last[edges]
    pendant_of, good = _pendants(core, first, last)
    if not good:
        return None
    spine = core & (pendant_of < 0)
    ordered = _ordered(spine, edges, first, last)
    if ordered is None:
        return None
    rows, states = ordered
    pendants = np.full(len(core), -1, dtype=rows.dtype)
    hanging = np.flatnonzero(pendant_of >= 0)
    pendants[pendant_of[hanging]] = hanging
    return Paths(rows, states, pendants[rows])


def _ordered(spine: Bools, edges: Ints, first: Ints, last: Ints) -> tuple[Ints, Ints] | None:
    """Return rows and states, or None; as :func:`order_rows`."""
    inside = spine[first] & spine[last]
    states, ends = edges[inside], (first[inside], last[inside])
    degrees = np.bincount(ends[0], minlength=len(spine)) + np.bincount(
        ends[1], minlength=len(spine)
    )
    if degrees.max(initial=0) > 2:
        return None
    # The two edges of every row, or -1.
    rows = np.flatnonzero(spine)
    place = np.cumsum(spine) - 1
    left, right = place[ends[0]], place[ends[1]]
    if (right - left == 1).all():
        if (np.bincount(left, minlength=1) > 1).any():
            return None  # two columns between the same rows
        following = np.full(len(rows), -1, dtype=np.int64)
        following[left] = states
        return rows, following
    walked = _walk(len(rows), states, left, right)
    return None if walked is None else (rows[walked[0]], walked[1])


def _pendants(core: Bools, first: Ints, last: Ints) -> tuple[Ints, bool]:
    """Return the row on which each row hangs, or -1, and whether no row has two pendants."""
    size = len(core)
    ends, others = np.concatenate((first, last)), np.concatenate((last, first))
    counts = np.bincount(ends, minlength=size)
    least = np.full(size, size, dtype=np.int64)
    most = np.full(size, -1, dtype=np.int64)
    np.minimum.at(least, ends, others)
    np.maximum.at(most, ends, others)
    leaf = core & (least == most)
    sure = leaf & (counts > 1)
    # Two rows that only see each other: the one with the lower number carries the chain.
    pair = sure & (least > np.arange(size)) & leaf[np.minimum(least, size - 1)]
    sure &= ~pair
    pendant_of = np.full(size, -1, dtype=np.int64)
    pendant_of[sure] = most[sure]
    # A leaf on a single edge is the end of a path, unless its row has two other neighbours, or no
    # pendant where others have one.
    spine_degree = np.bincount(ends[~sure[others]], minlength=size)
    single = leaf & (counts == 1) & ~leaf[most]
    crowded = single & (spine_degree[most] > 2)
    if sure.any() or crowded.any():
        has = np.zeros(size, dtype=bool)
        has[most[sure]] = True
        crowded = single & ~has[most]
    chosen = np.full(size, -1, dtype=np.int64)
    chosen[most[crowded]] = np.flatnonzero(crowded)  # one pendant a row is enough
    crowded = chosen[chosen >= 0]
    pendant_of[crowded] = most[crowded]
    hung = pendant_of[pendant_of >= 0]
    return pendant_of, not (np.bincount(hung, minlength=1) > 1).any()


def _walk(size: int, columns: Ints, left: Ints, right: Ints) -> tuple[Ints, Ints] | None:
    """Follow every path from its end with the lowest number.

    Returns the order of the rows and the column to the next, shapes (size,); None where there are
    rings.
    """
    neighbours: list[list[tuple[int, int]]] = [[] for _ in range(size)]
    for column, one, two in zip(columns.tolist(), left.tolist(), right.tolist(), strict=True):
        neighbours[one].append((two, column))
        neighbours[two].append((one, column))
    seen = [False] * size
    order: list[int] = []
    following: list[int] = []
    for start in range(size):
        if seen[start] or len(neighbours[start]) > 1:
            continue
        at, came = start, -1
        while True:
            seen[at] = True
            order.append(at)
            ahead = [(row, column) for row, column in neighbours[at] if column != came]
            if not ahead:
                following.append(-1)
                break
            at, came = ahead[0]
            following.append(came)
    if len(order) < size:
        return None
    return np.array(order, dtype=np.int64), np.array(following, dtype=np.int64)
