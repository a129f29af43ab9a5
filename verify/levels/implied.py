"""Bounds that the constraints imply for variables that declare none.

A safe dual bound needs a finite bound for every variable whose reduced cost is not exactly zero,
and in floating point none is. A temperature without limits still is bounded by its dynamics: one
walk through the rows in their order, as the chain of time runs, finds by how much.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from engiagent.verify.documents import Bench
from engiagent.verify.levels.rows import Row
from engiagent.verify.levels.variables import Bounds
from engiagent.verify.sweeps import triplets
from engiagent.verify.values import Bools, Floats, Ints, Value

PASSES = 4
WIDER = 1e-9  # far above the rounding of the walk; what it costs the bound is below its last digit


@dataclass(frozen=True)
class _Block:
    """Rows ``low <= sum(coefficients * x) <= high``, as triplets sorted by row."""

    rows: Ints
    columns: Ints
    coefficients: Floats
    low: Floats
    high: Floats


def implied_bounds(
    bench: Bench, rows: Iterable[Row], boxes: Mapping[str, Bounds]
) -> dict[str, Bounds]:
    """Return the bounds of all variables, with infinite ones made finite where rows imply it."""
    starts: dict[int, int] = {}
    names = [name for name in bench.variables if name in boxes]
    total = 0
    for name in names:
        value = bench.variables[name]
        starts[value.order], total = total, total + value.data.size
    lower, upper, here = (
        np.concatenate(parts or [np.zeros(0)])
        for parts in (
            [boxes[name].lower for name in names],
            [boxes[name].upper for name in names],
            [bench.variables[name].data for name in names],
        )
    )
    open_ = ~np.isfinite(lower) | ~np.isfinite(upper)
    affine = [row for row in rows if row.excess.degree == 1]
    blocks = [_block(row.excess, row.equal, starts, here, open_) for row in affine]
    _walk([block for block in blocks if block is not None], lower, upper)
    result = dict(boxes)
    for name in names:
        value = bench.variables[name]
        part = slice(starts[value.order], starts[value.order] + value.data.size)
        result[name] = Bounds(lower[part], upper[part], boxes[name].exists)
    return result


def _block(
    value: Value, equal: bool, starts: Mapping[int, int], here: Floats, open_: Bools
) -> _Block | None:
    pieces = []
    for order, (rows, places, factors) in triplets(value).items():
        if order not in starts:
            return None
        pieces.append((rows, places + starts[order], factors))
    rows = np.concatenate([piece[0] for piece in pieces])
    columns = np.concatenate([piece[1] for piece in pieces])
    factors = np.concatenate([piece[2] for piece in pieces])
    code = rows * len(here) + columns
    unique, inverse = np.unique(code, return_inverse=True)
    rows, columns = np.divmod(unique, len(here))
    factors = np.asarray(np.bincount(inverse, weights=factors), dtype=np.float64)
    useful = np.zeros(value.data.size, dtype=bool)
    useful[rows[open_[columns]]] = True
    if not useful.any():
        return None
    fixed = np.bincount(rows, weights=factors * here[columns], minlength=value.data.size)
    constant = value.data - fixed
    slack = WIDER * (value.size + 1e-300)
    low = -constant - slack if equal else np.full_like(constant, -np.inf)
    high = -constant + slack
    keep = useful[rows] & (factors != 0)
    return _Block(rows[keep], columns[keep], factors[keep], low, high)


def _walk(blocks: list[_Block], lower: Floats, upper: Floats) -> None:
    """Tighten infinite bounds in place, row after row, until a pass changes nothing."""
    # Rows hold a handful of terms each: plain numbers are several times faster than arrays here.
    low, high = lower.tolist(), upper.tolist()
    rows = sorted((row for block in blocks for row in _rows_of(block)), key=lambda row: row[0])
    for _ in range(PASSES):
        changed = False
        for _, terms, least, most in rows:
            changed |= _tighten(terms, least, most, low, high)
        if not changed:
            break
    lower[:], upper[:] = low, high


_Terms = list[tuple[int, float]]


def _rows_of(block: _Block) -> Iterator[tuple[int, _Terms, float, float]]:
    """Yield number, terms, and ends of every row."""
    if not block.rows.size:
        return
    first = np.flatnonzero(np.diff(block.rows, prepend=-1))
    stops = np.append(first[1:], block.rows.size)
    pairs = list(zip(block.columns.tolist(), block.coefficients.tolist(), strict=True))
    numbers = block.rows[first].tolist()
    low, high = block.low[block.rows[first]].tolist(), block.high[block.rows[first]].tolist()
    ranges = zip(numbers, first.tolist(), stops.tolist(), low, high, strict=True)
    for number, start, stop, least, most in ranges:
        yield number, pairs[start:stop], least, most


def _tighten(
    terms: _Terms, row_low: float, row_high: float, lower: list[float], upper: list[float]
) -> bool:
    """Derive bounds of one row's open variables from the bounds of its others."""
    changed = False
    for column, factor in terms:
        if lower[column] > -math.inf and upper[column] < math.inf:
            continue
        least = most = 0.0
        for other, weight in terms:
            if other != column:
                ends = weight * lower[other], weight * upper[other]
                least, most = least + min(ends), most + max(ends)
        # factor * x <= row_high - least and >= row_low - most
        ends = (row_low - most) / factor, (row_high - least) / factor
        floor, ceiling = min(ends), max(ends)
        if lower[column] == -math.inf and math.isfinite(floor):
            lower[column] = floor - WIDER * abs(floor)
            changed = True
        if upper[column] == math.inf and math.isfinite(ceiling):
            upper[column] = ceiling + WIDER * abs(ceiling)
            changed = True
    return changed
