r"""Rainflow counting: the closed and half cycles of a series, after ASTM E1049.

Three ranges :math:`W, Y, X` in a row hold a closed cycle :math:`Y` when :math:`W > Y` and
:math:`X \ge Y`; its two points leave the series. What is left when no cycle closes counts as half
cycles. The order of the closings changes nothing, so that many cycles close at once.

Sources: ASTM E1049-85 (2017), section 5.4.4; C. H. McInnes and P. A. Meehan, "Equivalence of
four-point and three-point rainflow cycle counting algorithms", Int. J. Fatigue 30 (2008) 547–559.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engiagent.models.parameters import numbers
from engiagent.models.ranges import Floats, ParameterError

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Cycles:
    """Cycles counted in a series; every array has one entry for each cycle or half cycle.

    Attributes
    ----------
    range, mean
        Distance and mean of the two turning points, in the unit of the series.
    count
        1 for a closed cycle, 0.5 for a half cycle of the residue.
    start, end
        Places of the two turning points in the series; ``end`` is the later one.
    """

    range: Floats
    mean: Floats
    count: Floats
    start: Ints
    end: Ints


def turning_points(values: npt.ArrayLike) -> Ints:
    """Return the places of the ends and of the local extremes; of a plateau, its first place.

    Examples
    --------
    >>> turning_points([0.0, 1.0, 1.0, 0.5, 2.0]).tolist()
    [0, 1, 3, 4]
    """
    array = numbers(values, "the series")
    if array.ndim != 1 or not len(array):
        raise ParameterError(f"the series has the shape {array.shape}; give at least one number")
    # Of equal neighbours only the first is kept, so that a plateau turns once.
    kept = np.flatnonzero(np.concatenate(([True], np.diff(array) != 0.0)))
    rising = np.diff(array[kept]) > 0
    turns = np.concatenate(([True], rising[1:] != rising[:-1], [True])) if len(rising) else [True]
    return np.asarray(kept[np.asarray(turns)], dtype=np.int64)


def rainflow(values: npt.ArrayLike) -> Cycles:
    """Count cycles after ASTM E1049, section 5.4.4.

    A range is a closed cycle when the range before it is larger and the one after it at least as
    large; what is left when none remains is counted in half cycles. Closed cycles that do not touch
    are taken out together, so that a measured series takes few passes over whole arrays.

    Parameters
    ----------
    values
        Series of shape (n,), as a state of charge at the instants.

    Examples
    --------
    >>> cycles = rainflow([-2, 1, -3, 5, -1, 3, -4, 4, -2])  # figure 6 of the standard
    >>> sorted(zip(cycles.range.tolist(), cycles.count.tolist()))
    [(3.0, 0.5), (4.0, 0.5), (4.0, 1.0), (6.0, 0.5), (8.0, 0.5), (8.0, 0.5), (9.0, 0.5)]
    """
    array = numbers(values, "the series")
    places = turning_points(array)
    closed: list[tuple[Ints, Ints]] = []
    while len(places) >= 4:
        size = np.abs(np.diff(array[places]))
        inner = 1 + np.flatnonzero((size[1:-1] < size[:-2]) & (size[1:-1] <= size[2:]))
        if len(inner) * 20 < len(places):
            break
        closed.append((places[inner], places[inner + 1]))
        places = np.delete(places, np.concatenate((inner, inner + 1)))
    pairs, places = _close_one_by_one(array, places)
    closed.append((pairs[:, 0], pairs[:, 1]))
    full = sum(len(start) for start, _ in closed)
    start = np.concatenate([*(pair[0] for pair in closed), places[:-1]])
    end = np.concatenate([*(pair[1] for pair in closed), places[1:]])
    count = np.where(np.arange(len(start)) < full, 1.0, 0.5)
    return Cycles(
        range=np.abs(array[end] - array[start]),
        mean=0.5 * (array[end] + array[start]),
        count=count,
        start=start,
        end=end,
    )


def _close_one_by_one(array: Floats, places: Ints) -> tuple[Ints, Ints]:
    """Close the cycles that lie inside one another, which whole-array passes would peel singly."""
    pairs: list[tuple[int, int]] = []
    stack: list[int] = []
    level: list[float] = []
    for place, value in zip(places.tolist(), array[places].tolist(), strict=True):
        stack.append(place)
        level.append(value)
        while len(level) >= 4:
            inner = abs(level[-2] - level[-3])
            if not (inner < abs(level[-3] - level[-4]) and inner <= abs(level[-1] - level[-2])):
                break
            pairs.append((stack[-3], stack[-2]))
            del stack[-3:-1], level[-3:-1]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2), np.array(stack, dtype=np.int64)
