"""Comparisons of numbers in conditions, in which rounding decides nothing.

A price of 70 EUR/MWh and a limit of 0.07 EUR/kWh are the same; after a change of unit they differ
in the last digit of a double. Numbers that are so close count as equal, for every reader of the
language alike.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

EQUAL_WITHIN: Final = 1e-12
"""Relative difference up to which two numbers are equal: some thousand roundings."""


def room_of(left: Floats | float, right: Floats | float, zero: float = 0.0) -> Floats:
    """Return how far two numbers may lie apart and be equal; ``zero`` is added to their sizes."""
    room = EQUAL_WITHIN * (np.maximum(np.abs(left), np.abs(right)) + zero)
    return np.asarray(np.where(np.isfinite(room), room, 0.0))


def holds(op: str, left: Floats | float, right: Floats | float, zero: float = 0.0) -> Bools:
    """Return where a comparison of numbers holds; with a NaN only ``!=`` does.

    ``zero``: how far the zero of a scale lies from the absolute one, as of temperatures, in its
    unit.

    >>> bool(holds("<=", 0.1 + 0.2, 0.3)), bool(holds("<", 0.3, 0.1 + 0.2))
    (True, False)
    """
    room = room_of(left, right, zero)
    with np.errstate(invalid="ignore"):
        if op == "<=":
            found = left <= right + room
        elif op == ">=":
            found = left + room >= right
        elif op == "<":
            found = left + room < right
        elif op == ">":
            found = left > right + room
        else:
            equal = (left == right) | (np.abs(np.subtract(left, right)) <= room)
            found = equal if op == "==" else ~equal
    return np.asarray(found)
