r"""Multipliers shifted by rounding, so that a variable without a bound does not lose the proof.

A variable that is unbounded above needs a reduced cost of at least 0, and a solver's multipliers
give one that is 0 but for rounding: -8.5e-22, say. Every multiplier of the right sign is as valid
as any other, so the wrong digits need no excuse but may be moved: multipliers that are noise beside
the largest are set to 0, and where reduced costs are differences of large ones, the least shift
:math:`\delta` with

.. math:: d_j - (A^T \delta)_j \ge m_j \quad\text{(or } \le -m_j\text{)}

puts them on their right side by a margin :math:`m` above their rounding. What the shift costs is in
the bound that is then computed from the shifted multipliers, as from any others.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from engiagent.verify.documents import Bench
from engiagent.verify.levels.proposing import least_change
from engiagent.verify.levels.variables import Bounds
from engiagent.verify.sweeps import contributions, gradients, triplets
from engiagent.verify.values import EPSILON, Floats, Ints, Value

NEGLIGIBLE = 1e-12  # of the largest multiplier; where it matters, only the bound gets weaker
MARGIN = 8.0  # times the rounding of a reduced cost
FAR = 1e6  # times the shift that is asked for: what lies beyond does not limit it


@dataclass(frozen=True)
class Weighted:
    """Rows ``value >= 0``, ``<= 0`` or ``== 0`` of one kind with their multipliers."""

    value: Value
    kind: str
    multipliers: Floats


def without_noise(multipliers: Sequence[Floats]) -> list[Floats]:
    """Return multipliers with those set to 0 that are noise beside the largest."""
    largest = max((float(np.abs(y).max(initial=0.0)) for y in multipliers), default=0.0)
    return [np.where(np.abs(y) <= NEGLIGIBLE * largest, 0.0, y) for y in multipliers]


def shifted(
    bench: Bench,
    boxes: Mapping[str, Bounds],
    objective: Value,
    rows: Sequence[Weighted],
    sign: float,
) -> list[Floats] | None:
    """Return multipliers whose reduced costs have their right side; None where none are found."""
    from scipy.sparse import coo_array

    seeds = [(objective, np.full(1, sign)), *((row.value, -row.multipliers) for row in rows)]
    slopes, sizes = gradients(seeds), gradients(seeds, "absolute")
    counts = contributions([seed for seed, _ in seeds])
    roundings = max(seed.roundings for seed, _ in seeds)
    starts: dict[int, int] = {}
    room: list[Floats] = []  # by how much the reduced cost may fall, in the direction of its side
    sides: list[Floats] = []
    for name, value in bench.variables.items():
        if name not in boxes or value.order not in slopes:
            continue
        box, d = boxes[name], slopes[value.order]
        noise = EPSILON * (counts[value.order] + roundings + 8.0) * sizes[value.order]
        up, down = ~np.isfinite(box.upper), ~np.isfinite(box.lower)
        side = np.where(up == down, 0.0, np.where(up, 1.0, -1.0)) * (box.exists & (noise > 0))
        starts[value.order] = sum(len(part) for part in sides)
        sides.append(side)
        room.append(side * d - MARGIN * noise)
    if not sides:
        return None
    side, left = np.concatenate(sides), np.concatenate(room)
    short = -left[(side != 0) & (left < 0)]
    if not short.size:
        return None
    unit = float(short.max())
    if any(row.value.degree > 1 for row in rows):
        return None
    places = np.cumsum([0, *(row.multipliers.size for row in rows)])
    entries = [
        _matrix(row.value, starts, int(at), side) for row, at in zip(rows, places, strict=False)
    ]
    values_, columns, at = (np.concatenate(part) for part in zip(*entries, strict=True))
    keep = (side[columns] != 0) & (values_ != 0)
    matrix = coo_array(
        (values_[keep], (columns[keep], at[keep])), shape=(side.size, int(places[-1]))
    ).tocsr()[side != 0]
    # A multiplier may go down to 0, or up to it, but not beyond; that of an equation is free.
    y = np.concatenate([row.multipliers for row in rows])
    kinds = np.concatenate([np.full(row.multipliers.size, row.kind) for row in rows])
    fall = np.where(kinds == ">=", np.minimum(y / unit, FAR), FAR)
    rise = np.where(kinds == "<=", np.minimum(-y / unit, FAR), FAR)
    change = least_change(matrix, np.minimum(left[side != 0] / unit, FAR), rise, fall)
    if change is None:
        return None
    moved = y + unit * change
    moved = np.where(kinds == ">=", np.maximum(moved, 0.0), moved)
    moved = np.where(kinds == "<=", np.minimum(moved, 0.0), moved)
    return np.split(moved, places[1:-1])


def _matrix(
    value: Value, starts: Mapping[int, int], first: int, side: Floats
) -> tuple[Floats, Ints, Ints]:
    """Return the coefficients of rows, each with its column and its row from ``first`` on."""
    pieces = [
        (side[places + starts[order]] * factors, places + starts[order], rows + first)
        for order, (rows, places, factors) in (triplets(value) if value.degree else {}).items()
        if order in starts
    ]
    none = np.zeros(0, dtype=np.int64)
    pieces.append((np.zeros(0), none, none))
    weights, columns, at = (np.concatenate(part) for part in zip(*pieces, strict=True))
    return weights, columns, at
