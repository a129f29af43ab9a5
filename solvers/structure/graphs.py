"""Networks and block-angular structure, recognised from a program's arrays."""

from dataclasses import dataclass

import numpy as np

from engiagent.formulations.program import Program
from engiagent.solvers.structure.entries import Entries, Floats, Ints, entries_of

MOST_LINKING = 0.05
"""Largest share of rows or columns that may tie the blocks together."""


@dataclass(frozen=True)
class Network:
    """A node-arc incidence: every column leaves one row and enters another, or ends outside.

    Attributes
    ----------
    nodes, arcs
        Rows and columns of the network; rows with one column are bounds and do not count.
    gains
        Whether an arc delivers another amount than enters it (a generalised network).
    """

    nodes: int
    arcs: int
    gains: bool

    def __str__(self) -> str:
        kind = "network with gains" if self.gains else "network"
        return f"a {kind} of {self.nodes} nodes and {self.arcs} arcs"


@dataclass(frozen=True)
class Blocks:
    """Independent blocks that few rows or columns tie together.

    Attributes
    ----------
    count
        How many blocks there are.
    largest
        Columns of the largest block.
    linking_rows, linking_columns
        What ties the blocks together; both 0 when the program falls apart.
    """

    count: int
    largest: int
    linking_rows: int
    linking_columns: int

    def __str__(self) -> str:
        text = f"{self.count} blocks of up to {self.largest} columns"
        ties = []
        if self.linking_rows:
            ties.append(f"{self.linking_rows} rows")
        if self.linking_columns:
            ties.append(f"{self.linking_columns} columns")
        return f"{text}, tied by {' and '.join(ties)}" if ties else f"{text}, independent"


def find_network(program: Program) -> Network | None:
    """Return the network that the whole linear part of a program is, or None.

    Every column may stand in at most two rows (those with one column left out). Rows are turned so
    that each column with two entries has one of either sign, which is the test of a network; when
    the two entries differ in size, even after scaling rows, it is one with gains.
    """
    if not program.is_linear or program.row_count == 0:
        return None
    entries = entries_of(program)
    sizes = entries.row_sizes()
    inner = entries.where(sizes[entries.rows] > 1)
    degrees = inner.column_sizes()
    if not len(inner.rows) or degrees.max() > 2 or not (degrees == 2).any():
        return None
    first, last, head, tail = _arc_ends(inner, degrees)
    labels = _components(program.row_count, first, last)
    weight = _potentials(program.row_count, first, last, np.log(np.abs(head / tail)), labels)
    balance = np.log(np.abs(head / tail)) - (weight[last] - weight[first])
    turned = _potentials(program.row_count, first, last, (head * tail > 0).astype(float), labels)
    parity = (head * tail > 0) - (turned[last] - turned[first])
    if (np.abs(parity - 2 * np.round(parity / 2)) > 0.5).any():
        return None  # no way of turning rows gives every arc a head and a tail
    gains = bool((np.abs(balance) > 1e-9).any())
    return Network(int((sizes > 1).sum()), int((degrees > 0).sum()), gains)


def _arc_ends(inner: Entries, degrees: Ints) -> tuple[Ints, Ints, Floats, Floats]:
    """Return both rows and both coefficients of every column that stands in two rows."""
    rows = np.full((2, inner.column_count), -1, dtype=np.int64)
    values = np.zeros((2, inner.column_count))
    rows[1, inner.columns], values[1, inner.columns] = inner.rows, inner.values
    backwards = inner.columns[::-1]
    rows[0, backwards], values[0, backwards] = inner.rows[::-1], inner.values[::-1]
    arcs = np.flatnonzero(degrees == 2)
    return rows[0, arcs], rows[1, arcs], values[0, arcs], values[1, arcs]


def _components(size: int, first: Ints, last: Ints) -> Ints:
    """Return the component of every vertex, shape (size,)."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(first)), (first, last)), shape=(size, size))
    labels: Ints = connected_components(graph, directed=False)[1].astype(np.int64)
    return labels


def _potentials(size: int, first: Ints, last: Ints, steps: Floats, labels: Ints) -> Floats:
    """Return vertex values whose differences along a spanning forest are ``steps``."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import breadth_first_order

    # One more vertex ties the components together, so that one search reaches all of them.
    roots = np.unique(labels, return_index=True)[1]
    ends = (np.concatenate((first, np.full(len(roots), size))), np.concatenate((last, roots)))
    graph = coo_array((np.ones(len(ends[0])), ends), shape=(size + 1, size + 1)).tocsr()
    order, parents = breadth_first_order(graph, size, directed=False)
    known = {}
    for one, two, step in zip(first.tolist(), last.tolist(), steps.tolist(), strict=True):
        known[one, two], known[two, one] = step, -step
    values = np.zeros(size + 1)
    for vertex in order[1:].tolist():
        parent = int(parents[vertex])
        values[vertex] = values[parent] + known.get((parent, vertex), 0.0)
    return values[:size]


def find_blocks(program: Program) -> Blocks | None:
    """Return the blocks into which a program falls, if need be without a few ties, or None.

    Linking rows or columns are those that are far longer than the others.
    """
    if not program.is_linear or program.row_count == 0 or program.column_count == 0:
        return None
    entries = entries_of(program)
    whole = _count_blocks(entries)
    if whole is not None:
        return Blocks(*whole, 0, 0)
    rows, columns = entries.row_sizes(), entries.column_sizes()
    long_rows, long_columns = _long(rows), _long(columns)
    for by_rows, by_columns in ((True, False), (False, True), (True, True)):
        drop_rows = long_rows if by_rows else np.zeros_like(long_rows)
        drop_columns = long_columns if by_columns else np.zeros_like(long_columns)
        ties = int(drop_rows.sum()), int(drop_columns.sum())
        if ties == (0, 0):
            continue
        found = _count_blocks(
            entries.where(~(drop_rows[entries.rows] | drop_columns[entries.columns]))
        )
        if found is not None:
            return Blocks(*found, *ties)
    return None


def _long(sizes: Ints) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return which rows or columns are far longer than usual, if few are; shape (k,)."""
    usual = max(4.0, 4.0 * float(np.median(sizes[sizes > 0]))) if (sizes > 0).any() else 4.0
    long = sizes > usual
    return long if long.sum() <= max(1.0, MOST_LINKING * len(sizes)) else np.zeros_like(long)


def _count_blocks(entries: Entries) -> tuple[int, int] | None:
    """Return the number of blocks with two columns or more and the size of the largest."""
    if not len(entries.rows):
        return None
    labels = _components(
        entries.row_count + entries.column_count, entries.rows, entries.columns + entries.row_count
    )
    counts = np.bincount(labels[entries.row_count :])
    blocks = counts[counts > 1]
    if len(blocks) < 2:
        return None
    return len(blocks), int(blocks.max())
