"""Whether a program that follows parameters is the one that a plain compilation gives."""

from collections.abc import Iterator
from itertools import zip_longest
from typing import Any, Final

import numpy as np

from engiagent.formulations.program import Program
from engiagent.formulations.values import Floats

AGREEMENT: Final = 1e-9
"""Largest difference, relative to the larger of 1 and the number."""


def difference(live: Program, plain: Program) -> str | None:
    """Return the name of the first block in which two programs differ, None when they agree.

    Bounds of columns that the compiler put in may be wider in ``live``: they cannot rest on
    numbers that change.
    """
    for ours, theirs in ((live.columns, plain.columns), (live.rows, plain.rows)):
        names, expected = _names(ours), _names(theirs)
        if names != expected:
            none = ("", 0)
            both = zip_longest(names, expected, fillvalue=none)
            return next(one[0] or other[0] for other, one in both if one != other)
    return next(_differences(live, plain), None)


def _names(blocks: tuple[Any, ...]) -> list[tuple[str, int]]:
    return [(getattr(block, "constraint_id", block.name), block.size) for block in blocks]


def _differences(live: Program, plain: Program) -> Iterator[str]:
    if len(live.indicators.rows) != len(plain.indicators.rows) or len(live.sos1) != len(plain.sos1):
        yield "a conditional row"
    if bool(live.nonlinear) != bool(plain.nonlinear):
        yield "a function that is not linear"
    if bool(len(live.products.rows)) != bool(len(plain.products.rows)):
        yield "a product"
    for name in ("cost", "row_lower", "row_upper"):
        if not _close(getattr(live, name), getattr(plain, name)):
            yield name.replace("_", " ")
    for block in plain.columns:
        part = slice(block.start, block.stop)
        for side, sign in (("column_lower", 1.0), ("column_upper", -1.0)):
            ours, theirs = getattr(live, side)[part], getattr(plain, side)[part]
            wider = block.generated and bool(np.all(sign * ours <= sign * theirs))
            if not wider and not _close(ours, theirs):
                yield block.name
    if not _same_at_points(live, plain):
        yield "a coefficient"


def _same_at_points(live: Program, plain: Program) -> bool:
    """Compare rows and objective at a few points; equal linear maps agree everywhere else too."""
    random = np.random.default_rng(20260101)
    for size in (1.0, 1e-3, 1e3):
        x = random.uniform(0.5, 1.5, plain.column_count) * size
        with np.errstate(all="ignore"):
            same = _close(live.activity_at(x), plain.activity_at(x), size) and _close(
                np.array([live.objective_at(x)]), np.array([plain.objective_at(x)]), size
            )
        if not same:
            return False
    return True


def _close(a: Floats, b: Floats, scale: float = 1.0) -> bool:
    return bool(np.allclose(a, b, rtol=AGREEMENT, atol=AGREEMENT * scale, equal_nan=True))
