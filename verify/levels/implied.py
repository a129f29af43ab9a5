"""Bounds that the constraints imply for variables that declare none.

A safe dual bound needs a finite bound for every variable whose reduced cost is not exactly zero,
and in floating point none is. A temperature without limits still is bounded by its dynamics: one
walk through the rows in their order, as the chain of time runs, finds by how much.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from engiagent.blueprint.document import Core
from engiagent.errors import EngiagentError
from engiagent.verify import values
from engiagent.verify.documents import Bench
from engiagent.verify.levels.algebra import Bounds, rules_of_core
from engiagent.verify.values import Floats, Ints, Value, triplets

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


def implied_bounds(bench: Bench, core: Core, boxes: Mapping[str, Bounds]) -> dict[str, Bounds]:
    """Return the bounds of all variables, with infinite ones made finite where rows imply it."""
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
    blocks = _blocks(bench, core, starts, here, ~np.isfinite(lower) | ~np.isfinite(upper))
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
            value = values.add(left, right, -1.0)
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
    merged = sorted(
        (
            (int(row), int(start), int(stop), block)
            for block in blocks
            for row, start, stop in _row_ranges(block)
        ),
        key=lambda item: item[0],
    )
    for _ in range(PASSES):
        changed = False
        for row, start, stop, block in merged:
            columns, factors = block.columns[start:stop], block.coefficients[start:stop]
            if np.isfinite(lower[columns]).all() and np.isfinite(upper[columns]).all():
                continue
            changed |= _tighten(
                columns, factors, float(block.low[row]), float(block.high[row]), lower, upper
            )
        if not changed:
            return


def _row_ranges(block: _Block) -> list[tuple[int, int, int]]:
    first = np.flatnonzero(np.diff(block.rows, prepend=-1))
    stops = np.append(first[1:], block.rows.size)
    return list(zip(block.rows[first].tolist(), first.tolist(), stops.tolist(), strict=True))


def _tighten(
    columns: Ints, factors: Floats, low: float, high: float, lower: Floats, upper: Floats
) -> bool:
    """Derive bounds of one row's open variables from the bounds of its others."""
    least = np.where(factors > 0, factors * lower[columns], factors * upper[columns])
    most = np.where(factors > 0, factors * upper[columns], factors * lower[columns])
    changed = False
    for place, column in enumerate(columns.tolist()):
        factor = factors[place]
        if factor == 0 or (np.isfinite(lower[column]) and np.isfinite(upper[column])):
            continue
        others_least = np.delete(least, place).sum()
        others_most = np.delete(most, place).sum()
        # factor * x <= high - others_least and >= low - others_most
        ends = ((low - others_most) / factor, (high - others_least) / factor)
        floor, ceiling = (ends[0], ends[1]) if factor > 0 else (ends[1], ends[0])
        if np.isneginf(lower[column]) and np.isfinite(floor):
            lower[column] = floor - WIDER * abs(floor)
            changed = True
        if np.isposinf(upper[column]) and np.isfinite(ceiling):
            upper[column] = ceiling + WIDER * abs(ceiling)
            changed = True
        if changed:
            least[place] = factor * (lower[column] if factor > 0 else upper[column])
            most[place] = factor * (upper[column] if factor > 0 else lower[column])
    return changed
