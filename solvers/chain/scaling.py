r"""Steps of a chain in units in which a state stays what it is and costs nothing.

With :math:`s_{t+1} = a_t s_t + e_t + \Delta_t` and :math:`\sigma_{t-1} = \sigma_t a_t`, the state
:math:`\sigma s` keeps its value from step to step, and the price of the state divided by
:math:`\sigma`, less the costs of holding it, does too. Where losses would carry :math:`\sigma`
out of range it jumps by a power of two, which costs no accuracy.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

BITS: Final = 200.0


@dataclass(frozen=True, eq=False)
class Steps:
    """The steps of a chain, each with the cost of changing the state."""

    # slopes, lengths: of each step's cost, slopes ascending, shape (M, N); a length of 0 is no
    # segment
    slopes: Floats
    lengths: Floats
    # least, most: the range of the change, shape (N,)
    least: Floats
    most: Floats
    # ratio, inflow: what a state becomes by itself: ``ratio * s + inflow``, shape (N,); a ratio of
    # 0 begins a chain
    ratio: Floats
    inflow: Floats
    # lower, upper: bounds of the state after each step, shape (N,)
    lower: Floats
    upper: Floats


@dataclass(frozen=True, eq=False)
class Scale:
    """The change of units, shapes (N,)."""

    factor: Floats  # by which the state after each step is multiplied
    holding: Floats  # what is subtracted from its price after the division by ``factor``
    jumps: Floats  # by what the state before each step is multiplied on going back over the step
    begins: Bools  # which steps begin a chain
    # steps after which the lengths kept are fitted to the range again: going back over losses
    # stretches it, and what rounding did to a length would stretch with it
    syncs: Bools
    changes: bool  # whether anything differs from the units of the program


def scale_of(ratio: Floats, cost: Floats | None) -> Scale:
    """Return the units for ratios and costs of the states, shapes (N,); None where none costs."""
    count = len(ratio)
    begins = ratio == 0
    ones, nothing = np.ones(count), np.zeros(count)
    factor, jumps, blocks = ones, ones, nothing
    syncs = np.zeros(count, dtype=bool)
    if not ((ratio == 1.0) | begins).all():
        bits = np.log2(np.where(begins, 1.0, ratio))
        bits = np.append(np.cumsum(bits[:0:-1])[::-1], 0.0)
        blocks = np.round(bits / BITS)
        factor = np.exp2(bits - BITS * blocks)
        syncs[1:] = np.diff(np.floor(bits)) != 0
        jumps = ones.copy()
        jumps[1:] = np.exp2(BITS * (blocks[1:] - blocks[:-1]))
    holding = nothing
    if cost is not None:
        holding, total = np.zeros(count), 0.0
        edges = np.flatnonzero(np.diff(blocks)) + 1
        for part in np.split(np.arange(count), edges)[::-1]:
            run = np.cumsum((cost[part] / factor[part])[::-1])[::-1]
            holding[part] = run + total
            total = float(holding[part[0]]) / float(jumps[part[0]])
    changes = factor is not ones or cost is not None
    return Scale(factor, holding, jumps, begins, syncs, changes)
