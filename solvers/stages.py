"""Where columns and rows stand in time."""

import numpy as np

from engiagent.formulations.program import Block, Program
from engiagent.formulations.values import Ints

STAGED = ("time", "instants", "periods")
"""Kinds of sets along which a horizon recedes."""


def earlier_columns(program: Program, stages: int) -> Ints:
    """Return for every column the one that stands ``stages`` later, or itself, (n,)."""
    columns = np.arange(program.column_count, dtype=np.int64)
    for block in program.columns:
        columns[block.start : block.stop] = block.start + _within(program, block, stages)
    return columns


def stages_of(program: Program) -> tuple[Ints, Ints]:
    """Return the position in time of every column, (n,), and every row, (m,); -1 without one."""
    columns = np.full(program.column_count, -1, dtype=np.int64)
    rows = np.full(program.row_count, -1, dtype=np.int64)
    for blocks, target in ((program.columns, columns), (program.rows, rows)):
        for block in blocks:
            for axis in _staged(program, block):
                flat = np.arange(block.size) if block.positions is None else block.positions
                places = np.unravel_index(flat, block.shape)
                target[block.start : block.stop] = places[axis]
    return columns, rows


def _staged(program: Program, block: Block) -> list[int]:
    known = program.coordinates
    return [k for k, name in enumerate(block.sets) if name in known and known[name].kind in STAGED]


def _within(program: Program, block: Block, stages: int) -> Ints:
    """Return element numbers within a block, shape (size,)."""
    here = np.arange(block.size, dtype=np.int64)
    staged = _staged(program, block)
    if not staged or block.size == 0:
        return here
    flat = here if block.positions is None else block.positions
    places = list(np.unravel_index(flat, block.shape))
    inside = np.ones(block.size, dtype=bool)
    for axis in staged:
        places[axis] = places[axis] + stages
        inside &= places[axis] < block.shape[axis]
        places[axis] = np.minimum(places[axis], block.shape[axis] - 1)
    source = np.ravel_multi_index(tuple(places), block.shape)
    if block.positions is not None:
        lookup = np.full(int(np.prod(block.shape)), -1, dtype=np.int64)
        lookup[block.positions] = here
        source = lookup[source]
        inside &= source >= 0
    moved: Ints = np.where(inside, source, here)
    return moved
