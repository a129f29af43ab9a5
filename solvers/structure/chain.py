r"""Storage chains: states tied from step to step, with the other columns local to one step.

.. math::
    s_{t+1} = a_t s_t + \sum_j \alpha_{tj} x_{tj} + e_t, \qquad
    \sum_j \beta_{tj} x_{tj} = r_t, \qquad l \le x, s \le u

A *step* has one chain row and at most one balance row; its local columns stand in these two rows
only. Rows with one free column are bounds, fixed columns are numbers. A column that stands in rows
of many steps, as a billed peak does, and a state that closes a ring make it another problem: the
search for their best value takes about as long as HiGHS does.

The graph whose vertices are rows and whose edges are columns in two rows tells all this: it has to
be a set of paths, with at most one pendant vertex a row. Names, ids and titles are never looked at.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from engiagent.formulations.program import Program

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Entries:
    """Coefficients other than zero, in the order of their rows."""

    # where each row starts, and the end of the last, shape (m + 1,)
    starts: npt.NDArray[np.integer[Any]]
    # the column of each coefficient in the type in which the program has it, shape (k,)
    stored: npt.NDArray[np.integer[Any]]
    values: Floats  # the coefficients, shape (k,)
    column_count: int  # the number of columns, n

    @property
    def row_count(self) -> int:
        """The number of rows, m."""
        return len(self.starts) - 1

    @cached_property
    def rows(self) -> Ints:
        """The row of each coefficient, shape (k,)."""
        return np.repeat(np.arange(self.row_count), np.diff(self.starts))

    @cached_property
    def columns(self) -> Ints:
        """The column of each coefficient, as numpy indexes fastest, shape (k,)."""
        return self.stored.astype(np.int64, copy=False)

    def where(self, keep: Bools | Ints) -> "Entries":
        """Return the entries chosen by a mask of shape (k,) or by their places."""
        keep = np.flatnonzero(keep) if keep.dtype == np.bool_ else keep
        starts = np.zeros(self.row_count + 1, dtype=np.int64)
        if len(keep):
            np.cumsum(np.bincount(self.rows[keep], minlength=self.row_count), out=starts[1:])
        return Entries(starts, self.stored[keep], self.values[keep], self.column_count)

    def row_sizes(self) -> Ints:
        """Return the number of entries in each row, shape (m,)."""
        return np.diff(self.starts).astype(np.int64, copy=False)

    def column_sizes(self) -> Ints:
        """Return the number of entries in each column, shape (n,)."""
        return np.bincount(self.stored, minlength=self.column_count)

    def times(self, x: Floats) -> Floats:
        """Return ``A x`` for x of shape (n,); shape (m,)."""
        return self.sums_by_row(self.values * x[self.stored])

    def sums_by_row(self, terms: Floats) -> Floats:
        """Return the sum of each row's terms, shape (m,)."""
        # Not scipy's product: its import takes more memory than all arrays of a small chain.
        return np.bincount(self.rows, terms, self.row_count).astype(np.float64, copy=False)

    def transposed_times(self, y: Floats) -> Floats:
        """Return ``Aᵀ y`` for y of shape (m,); shape (n,)."""
        sums = np.bincount(self.stored, self.values * y[self.rows], self.column_count)
        return sums.astype(np.float64, copy=False)


def entries_of(program: Program) -> Entries:
    """Return the stored coefficients of a program, zeros left out."""
    entries = Entries(
        program.row_starts, program.row_columns, program.row_values, program.column_count
    )
    keep = program.row_values != 0
    return entries if keep.all() else entries.where(keep)


@dataclass(frozen=True, eq=False)
class Paths:
    """Rows in the order of their paths, one path after the other."""

    rows: Ints  # the rows on paths, shape (N,)
    states: Ints  # the column from each row to the next, shape (N,); -1 at the end of a path
    pendants: Ints  # the pendant row of each, shape (N,), or -1


def order_rows(core: Bools, first: Ints, last: Ints) -> Paths | None:
    """Return the paths of ``core`` rows, tied by columns, or None for another shape."""
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
    """Return the order of rows along paths and the column to the next; None for rings."""
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


MOST_LOCAL = 16
MOST_PASSES = 8
FEWEST_STATES = 2


@dataclass(frozen=True, eq=False)
class Singles:
    """Rows with one free column each: bounds in disguise."""

    # rows, columns, values: row, its free column and the coefficient there, shape (k,)
    rows: Ints
    columns: Ints
    values: Floats


@dataclass(frozen=True, eq=False)
class StorageChain:
    """Where the parts of one or more storage chains stand in a program."""

    fixed: Bools  # which columns can take one value only, shape (n,)
    passes: tuple[Singles, ...]  # rows that are bounds, in the order in which they were found
    # chain_rows, balance_rows: the rows of each step, shape (N,); -1 where a step has no balance
    # row
    chain_rows: Ints
    balance_rows: Ints
    states: Ints  # column that links a step to the next, shape (N,); -1 where a chain ends
    local: Ints  # columns of each step, shape (J, N), filled up with -1
    alone: Ints  # columns that stand in no step and are not fixed, shape (k,)
    entries: Entries  # the coefficients of the program

    @property
    def steps(self) -> int:
        """Number of steps, all chains together."""
        return len(self.chain_rows)

    @property
    def chains(self) -> int:
        """Number of chains that are independent of each other."""
        return int((self.states < 0).sum())

    def __str__(self) -> str:
        parts = [f"{self.chains} storage chain{'s' if self.chains != 1 else ''}"]
        parts.append(f"{self.steps} steps")
        balances = int((self.balance_rows >= 0).sum())
        if balances:
            parts.append(f"{balances} balances")
        parts.append(f"up to {len(self.local)} columns a step")
        return ", ".join(parts)


def find_chain(program: Program) -> StorageChain | None:
    """Return the storage chains that make up a whole linear program, or None."""
    if not _plain(program):
        return None
    entries = entries_of(program)
    fixed, passes, core = _singles(program, entries)
    free = ~fixed
    ends = _ends(entries, free, core)
    if ends is None:
        return None
    first, last = ends
    paths = order_rows(core, first, last)
    if paths is None or (paths.states >= 0).sum() < FEWEST_STATES:
        return None
    local = _local_columns(paths, first, len(core))
    if local is None:
        return None
    return StorageChain(
        fixed=fixed,
        passes=passes,
        chain_rows=paths.rows,
        balance_rows=paths.pendants,
        states=paths.states,
        local=local,
        alone=np.flatnonzero(free & (first < 0)),
        entries=entries,
    )


def _plain(program: Program) -> bool:
    kinds = {block.kind for block in program.columns}
    return (
        program.row_count > 0
        and program.is_linear
        and not program.is_mip
        and not program.goals
        and kinds <= {"continuous"}
    )


def _singles(program: Program, entries: Entries) -> tuple[Bools, tuple[Singles, ...], Bools]:
    """Return which columns are fixed, the rows that are bounds, and which rows remain."""
    lower, upper = program.column_lower, program.column_upper
    fixed = ~(lower < upper)
    sizes = _free_sizes(entries, ~fixed)
    used = np.zeros(program.row_count, dtype=bool)
    passes: list[Singles] = []
    for _ in range(MOST_PASSES):
        chosen = (sizes == 1) & ~used
        if not chosen.any():
            break
        if not passes:
            lower, upper = lower.copy(), upper.copy()
        places = np.flatnonzero(chosen[entries.rows] & ~fixed[entries.columns])
        passes.append(
            Singles(entries.rows[places], entries.columns[places], entries.values[places])
        )
        used = used | chosen
        low, high = single_bounds(program, entries, passes[-1], np.where(fixed, lower, 0.0))
        np.maximum.at(lower, passes[-1].columns, low)
        np.minimum.at(upper, passes[-1].columns, high)
        fixed = lower >= upper
        sizes = _free_sizes(entries, ~fixed)
    return fixed, tuple(passes), (sizes > 1) & ~used


def _free_sizes(entries: Entries, live: Bools) -> Ints:
    """Return how many live columns each row has, shape (m,)."""
    return np.bincount(entries.rows[live[entries.columns]], minlength=entries.row_count)


def single_bounds(
    program: Program, entries: Entries, singles: Singles, known: Floats
) -> tuple[Floats, Floats]:
    """Return the bounds that rows with one free column set on it, shapes (k,)."""
    constant = entries.times(known)[singles.rows] if known.any() else 0.0
    low = (program.row_lower[singles.rows] - constant) / singles.values
    high = (program.row_upper[singles.rows] - constant) / singles.values
    return np.minimum(low, high), np.maximum(low, high)


def _ends(entries: Entries, free: Bools, core: Bools) -> tuple[Ints, Ints] | None:
    """Return first and last core row of each free column, -1 without; None beyond two."""
    places = np.flatnonzero(free[entries.columns] & core[entries.rows])
    rows, columns = entries.rows[places], entries.columns[places]
    if not len(rows) or np.bincount(columns).max() > 2:
        return None
    first = np.full(entries.column_count, -1, dtype=np.int64)
    last = first.copy()
    last[columns] = rows
    first[columns[::-1]] = rows[::-1]
    return first, last


def _local_columns(paths: Paths, first: Ints, row_count: int) -> Ints | None:
    """Return the columns of each step, shape (J, N), in ascending order, filled with -1."""
    step_of_row = np.full(row_count, -1, dtype=np.int64)
    step_of_row[paths.rows] = np.arange(len(paths.rows))
    tail = np.flatnonzero(paths.pendants >= 0)
    step_of_row[paths.pendants[tail]] = tail
    local = first >= 0
    local[paths.states[paths.states >= 0]] = False
    columns = np.flatnonzero(local)
    steps = step_of_row[first[columns]]
    counts = np.bincount(steps, minlength=len(paths.rows))
    width = int(counts.max(initial=0))
    if width > MOST_LOCAL:
        return None
    order = np.argsort(steps, kind="stable")
    starts = np.cumsum(counts) - counts
    slots = np.arange(len(columns)) - np.repeat(starts, counts)
    table = np.full((width, len(paths.rows)), -1, dtype=np.int64)
    table[slots, steps[order]] = columns[order]
    return table
