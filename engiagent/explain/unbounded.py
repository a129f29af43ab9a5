"""Why an objective improves without end: what grows, how fast, and which limit is missing."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from engiagent.explain.explanation import Growth, Unbounded
from engiagent.explain.labels import difference_unit, shown, where_of
from engiagent.formulations.program import ColumnBlock, Program
from engiagent.formulations.values import Floats

NOTHING: Final = 1e-9
"""What is less than this, relative to the largest part of a direction, is rounding."""


def explain_unbounded(program: Program, ray: Floats) -> Unbounded:
    """Return a direction of endless improvement, shape (n,), in words."""
    ray = np.where(np.abs(ray) > NOTHING * float(np.max(np.abs(ray), initial=0.0)), ray, 0.0)
    gain = float(program.cost @ ray)
    size = float(np.max(np.abs(ray), initial=0.0))
    scaled = ray / size if size > 0 else ray
    parts = [(b, runs) for b in program.columns if (runs := list(_runs(program, b, scaled)))]
    growths = [
        _growth(block, rate, where)
        for block, runs in sorted(parts, key=lambda p: p[0].generated)
        for rate, where in runs
    ]
    return Unbounded(
        gain=gain / size if size > 0 else 0.0,
        unit=program.objective_unit,
        sense=program.sense,
        growths=tuple(growths),
        checked=is_ray(program, ray),
    )


def is_ray(program: Program, ray: Floats) -> bool:
    """Whether a direction stays within every linear limit for ever and improves the objective."""
    size = float(np.max(np.abs(ray), initial=0.0))
    if not (np.isfinite(size) and size > 0):
        return False
    step = ray / size
    counts = np.diff(program.row_starts)
    owner = np.repeat(np.arange(program.row_count), counts)
    terms = program.row_values * step[program.row_columns]
    moved = np.bincount(owner, terms, program.row_count).astype(np.float64)
    room = NOTHING * np.maximum(1.0, np.bincount(owner, np.abs(terms), program.row_count))
    rows = _stays(moved, program.row_lower, program.row_upper, room)
    columns = _stays(step, program.column_lower, program.column_upper, np.full(len(step), NOTHING))
    gain = float(program.cost @ step) * (1.0 if program.sense == "maximize" else -1.0)
    linear = not len(program.products.rows) and not program.nonlinear
    return bool(rows and columns and gain > 0 and linear)


def _stays(moved: Floats, lower: Floats, upper: Floats, room: Floats) -> bool:
    falls = np.isinf(lower) | (moved >= -room)
    rises = np.isinf(upper) | (moved <= room)
    return bool(np.all(falls) and np.all(rises))


def _runs(program: Program, block: ColumnBlock, ray: Floats) -> Iterator[tuple[float, str]]:
    """Yield each rate at which elements of a block grow, with the elements."""
    rates = np.round(ray[block.start : block.stop], 9)
    for rate in dict.fromkeys(rates[rates != 0].tolist()):
        inside = np.flatnonzero(rates == rate)
        positions = inside if block.positions is None else block.positions[inside]
        yield float(rate), where_of(block.sets, block.shape, positions, program)


def _growth(block: ColumnBlock, rate: float, where: str) -> Growth:
    unit, subject = difference_unit(block.unit), block.quantity or block.name
    verb, side = ("grows", "upper") if rate > 0 else ("falls", "lower")
    at = f" at {where}" if where else " everywhere" if block.shape else ""
    text = f"{subject} {verb} by {shown(abs(rate), unit)}{at}"
    if not block.generated:
        text += f"; it has no {side} limit"
    return Growth(
        name=block.name,
        subject=subject,
        unit=unit,
        rate=rate,
        where=where,
        open_side=side,
        text=text,
    )
