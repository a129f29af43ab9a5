"""The two cases into which a whole number falls that a relaxation has left between two."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Final

import numpy as np

from engiagent.verify.exact.numbers import floats
from engiagent.verify.exact.programme import Linear
from engiagent.verify.values import Floats

WHOLE: Final = 1e-6
"""How near to a whole number is one, for the choice of a case."""


def halves(system: Linear, x: Floats) -> Iterator[Linear]:
    """Yield two cases of the whole number that is furthest from one; none when all are whole."""
    steps = floats(system.whole)
    shown = np.where(steps > 0, x / np.where(steps > 0, steps, 1.0), 0.0)
    off = np.abs(shown - np.round(shown))
    column = int(np.argmax(off)) if off.size else 0
    if not off.size or off[column] <= WHOLE:
        return
    step = system.whole[column]
    low, high = list(system.lower), list(system.upper)
    high[column] = _least(high[column], Fraction(int(np.floor(shown[column]))) * step)
    yield replace(system, upper=high)
    end = low[column]
    above = Fraction(int(np.ceil(shown[column]))) * step
    low[column] = above if end is None else max(end, above)
    yield replace(system, lower=low)


def _least(end: Fraction | None, other: Fraction) -> Fraction:
    return other if end is None else min(end, other)
