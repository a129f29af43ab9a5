"""Bounds that the constraints imply for variables that declare none.

A safe dual bound needs a finite bound for every variable whose reduced cost is not exactly zero,
and in floating point none is. A temperature without limits still is bounded by its dynamics: one
walk through the rows in their order, as the chain of time runs, finds by how much. What costs money
and has no limit, as a slack, is bounded by the cost of a plan that is known: whoever looks for the
best plan need only look among those that are no worse.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from engiagent.blueprint.document import Core
from engiagent.errors import EngiagentError
from engiagent.verify import arithmetic, values
from engiagent.verify.documents import Bench
from engiagent.verify.levels.algebra import rules_of_core
from engiagent.verify.levels.variables import Bounds
from engiagent.verify.sweeps import triplets
from engiagent.verify.values import Floats, Ints, Value

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


@dataclass(frozen=True)
class NoWorse:
    """Plans whose objective is no worse than that of the plan at hand.

    ``sign`` is 1 where it is minimised, -1 where it is maximised.
    """

    objective: Value
    sign: float


def implied_bounds(
    bench: Bench, core: Core, boxes: Mapping[str, Bounds], better: NoWorse | None = None
) -> dict[str, Bounds]:
    """Return the bounds of all variables, with infinite ones made finite where rows imply it.

    With ``better`` they hold for plans only that are no worse than the one at hand.
    """
    starts: dict[int, int] = {}
    names: list[str] = []
    total = 0
    for name, value in bench.variables.items():
        if name in boxes:
            starts[value.order] = total
            names.append(name)
            total += value.data.size
    lower = np.concatenate([boxes[name].lower for name in names] or [np.zeros(0)])
    upper = np.concatenate([boxes[name].upper for name in names] or [np.zeros(0)])
    here = np.concatenate([bench.variables[name].data for name in names] or [np.zeros(0)])
    open_ = ~np.isfinite(lower) | ~np.isfinite(upper)
    blocks = _blocks(bench, core, starts, here, open_)
    _walk(blocks, lower, upper)
    if better is not None and better.objective.degree == 1:
        value = better.objective
        excess = arithmetic.add(value, values.constant(value.shown, value.unit), -1.0)
        goal = _block(excess, "<=" if better.sign > 0 else ">=", starts, here, open_)
        if goal is not None and _cut(goal, lower, upper):
            _walk(blocks, lower, upper)
    result = dict(boxes)
    for name in names:
        value = bench.variables[name]
        part = slice(starts[value.order], starts[value.order] + value.data.size)
        result[name] = Bounds(lower[part], upper[part], boxes[name].exists)
    return result


def _blocks(
    bench: Bench, core: Core, starts: Mapping[int, int], here: Floats, open_: Floats
) -> list[_Block]:
    """Return the rows in which a variable without a bound stands."""
    blocks = []
    for rule in rules_of_core(core):
        if not rule.hard:
            continue
        try:
            frame = bench.evaluator.frame(rule.forall, rule.where)
            ops, sides = bench.evaluator.sides(rule.expression, frame)
        except EngiagentError:
            continue  # a row that cannot be read implies nothing
        for op, left, right in zip(ops, sides, sides[1:], strict=False):
            value = arithmetic.add(left, right, -1.0)
            if value.degree == 1:
                block = _block(value, op, starts, here, open_)
                if block is not None:
                    blocks.append(block)
    return blocks


def _block(
    value: Value, op: str, starts: Mapping[int, int], here: Floats, open_: Floats
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
    low = np.where(op != "<=", -constant - slack, -np.inf)
    high = np.where(op != ">=", -constant + slack, np.inf)
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


def _cut(row: _Block, lower: Floats, upper: Floats) -> bool:
    """Derive bounds of the open variables of one long row in place, all at once."""
    sign, limit = (1.0, row.high[0]) if np.isfinite(row.high[0]) else (-1.0, -row.low[0])
    factors, columns = sign * row.coefficients, row.columns
    ends = np.minimum(factors * lower[columns], factors * upper[columns])
    known = np.isfinite(ends)
    least = np.where(known, ends, 0.0)
    total = float(least.sum())
    # What is left for one variable, rounding added, where all others have their least values.
    room = limit - (total - least) + WIDER * 1e-3 * float(np.abs(least).sum())
    alone = np.count_nonzero(~known) - ~known == 0
    bounds = room / factors
    bounds = np.where(factors > 0, bounds + WIDER * np.abs(bounds), bounds - WIDER * np.abs(bounds))
    up = alone & (factors > 0) & np.isposinf(upper[columns])
    down = alone & (factors < 0) & np.isneginf(lower[columns])
    upper[columns[up]], lower[columns[down]] = bounds[up], bounds[down]
    return bool(up.any() or down.any())
