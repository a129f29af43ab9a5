r"""Cuts for stores that charge or discharge but never do both.

Charging alone has to fit under the upper bound of the next state, discharging alone above the
lower one: :math:`a s + e + \alpha c \le u` whatever g is. For plans that run one direction at a
time both are true, for plans that run both at once they often are not.
"""

from dataclasses import dataclass, replace

import numpy as np

from engiagent.formulations.program import Program
from engiagent.solvers.structure.chain import Bools, Entries, Floats, Ints, StorageChain


@dataclass(frozen=True, eq=False)
class Transitions:
    """The chain rows of k pairs of columns, solved for the next state."""

    rows: Ints  # the chain row of each pair, shape (k,)
    # entries, of_pair: the coefficients of these rows and the pair of each
    entries: Entries
    of_pair: Ints
    is_after: Bools  # which entries belong to the next state
    scale: Floats  # the coefficient of the next state, shape (k,)
    idle: Floats  # range of the next state when neither column runs, shape (2, k)
    bounds: Floats  # bounds of the next state, shape (2, k)
    good: Bools  # where the row has no other columns that may move, shape (k,)


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows to append: coefficients in the order of the rows, and bounds."""

    counts: Ints
    columns: Ints
    values: Floats
    lower: Floats
    upper: Floats


def with_cuts(program: Program, chain: StorageChain, pairs: Ints) -> Program:
    """Return the program with chain rows that lack the other direction's column, where valid."""
    step_of = np.full(program.column_count, -1, dtype=np.int64)
    slots, steps = np.nonzero(chain.local >= 0)
    step_of[chain.local[slots, steps]] = steps
    pairs = pairs[:, (step_of[pairs[0]] >= 0) & (step_of[pairs[0]] == step_of[pairs[1]])]
    ties = _transitions(program, chain, pairs, step_of[pairs[0]])
    slack = 1e-9 * np.maximum(1.0, np.abs(ties.idle).max(axis=0, initial=0.0))
    nothing = np.full(len(ties.rows), np.inf)
    (low, high), (least, most) = ties.bounds, ties.idle
    cuts = []
    for column, other in (pairs, pairs[::-1]):
        mine = ties.entries.columns == column[ties.of_pair]
        gain = _sums(ties, np.where(mine, -ties.entries.values, 0.0)) / ties.scale
        keep = ~ties.is_after & (ties.entries.columns != other[ties.of_pair])
        up = ties.good & (gain > 0) & np.isfinite(high) & (most <= high + slack)
        down = ties.good & (gain < 0) & np.isfinite(low) & (least >= low - slack)
        cuts.append(_rows(program, ties, keep, up, (-nothing, high)))
        cuts.append(_rows(program, ties, keep, down, (low, nothing)))
    return _appended(program, cuts)


def _sums(ties: Transitions, terms: Floats) -> Floats:
    return np.bincount(ties.of_pair, terms, len(ties.rows)).astype(np.float64, copy=False)


def _transitions(program: Program, chain: StorageChain, pairs: Ints, step: Ints) -> Transitions:
    rows = chain.chain_rows[step]
    number = np.full(program.row_count, -1, dtype=np.int64)
    number[rows] = np.arange(len(rows))
    entries = chain.entries.where(number[chain.entries.rows] >= 0)
    of_pair, columns = number[entries.rows], entries.columns
    after = chain.states[step]
    before = np.where(step > 0, chain.states[step - 1], -1)
    is_after = columns == after[of_pair]
    is_pair = (columns == pairs[0][of_pair]) | (columns == pairs[1][of_pair])
    other = ~(is_after | is_pair | (columns == before[of_pair])) & ~chain.fixed[columns]
    own = np.where(is_after, entries.values, 0.0)
    scale: Floats = np.bincount(of_pair, own, len(rows)).astype(np.float64)
    good = (after >= 0) & (np.bincount(of_pair, other, len(rows)) == 0) & (scale != 0)
    good &= program.row_lower[rows] == program.row_upper[rows]
    scale = np.where(good, scale, 1.0)
    factor = np.where(is_after | is_pair, 0.0, -entries.values / scale[of_pair])
    with np.errstate(invalid="ignore"):
        ends = [
            np.where(factor == 0, 0.0, factor * bound[columns])
            for bound in (program.column_lower, program.column_upper)
        ]
    constant = np.where(good, program.row_upper[rows], 0.0) / scale
    idle = [
        constant + np.bincount(of_pair, end, len(rows))
        for end in (np.minimum(*ends), np.maximum(*ends))
    ]
    bounds = np.stack((program.column_lower[after], program.column_upper[after]))
    return Transitions(
        rows, entries, of_pair, is_after, scale, np.array(idle), bounds, np.asarray(good)
    )


def _rows(
    program: Program, ties: Transitions, keep: Bools, chosen: Bools, ends: tuple[Floats, Floats]
) -> Rows:
    used = keep & chosen[ties.of_pair]
    pair = ties.of_pair[used]
    order = np.argsort(pair, kind="stable")
    constant = (program.row_upper[ties.rows] / ties.scale)[chosen]
    return Rows(
        np.bincount(pair, minlength=len(ties.rows))[chosen],
        ties.entries.columns[used][order],
        (-ties.entries.values[used] / ties.scale[pair])[order],
        ends[0][chosen] - constant,
        ends[1][chosen] - constant,
    )


def _appended(program: Program, more: list[Rows]) -> Program:
    counts = np.concatenate([np.diff(program.row_starts), *(part.counts for part in more)])
    columns = [program.row_columns.astype(np.int64), *(part.columns for part in more)]
    return replace(
        program,
        row_starts=np.concatenate((np.zeros(1, np.int64), np.cumsum(counts))),
        row_columns=np.concatenate(columns),
        row_values=np.concatenate([program.row_values, *(part.values for part in more)]),
        row_lower=np.concatenate([program.row_lower, *(part.lower for part in more)]),
        row_upper=np.concatenate([program.row_upper, *(part.upper for part in more)]),
        rows=(),
    )
