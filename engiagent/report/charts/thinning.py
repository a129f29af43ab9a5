"""Long series in as many points as a drawing needs: the extremes of every column are kept."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from engiagent.report.charts.canvas import Scale
from engiagent.report.charts.timeline import Floats


def columns_for(paths: int, points: int, width: float) -> int:
    """Return into how many columns paths are thinned so that a chart keeps to its points."""
    return int(min(max(points // (4 * max(paths, 1)), 100), width))


def thin(places: Floats, values: Floats, columns: int) -> tuple[Floats, Floats]:
    """Keep the first, least, greatest and last value of every pixel column.

    Parameters
    ----------
    places, values
        The points of a line, shape (n,), by increasing place, all finite.
    columns
        How many pixel columns there are; shorter lines come back as they are.
    """
    if len(places) <= 4 * columns:
        return places, values
    width = (places[-1] - places[0]) / columns or 1.0
    column = np.minimum(((places - places[0]) / width).astype(np.int64), columns - 1)
    starts = np.flatnonzero(np.diff(column, prepend=-1))
    ends = np.append(starts[1:], len(places)) - 1
    order = np.lexsort((values, column))
    keep = np.unique(np.concatenate([starts, ends, order[starts], order[ends]]))
    return places[keep], values[keep]


def stretches(
    places: Floats, seen: npt.NDArray[np.bool_], x: Scale, columns: int
) -> Iterator[tuple[npt.NDArray[np.intp], int]]:
    """Yield the points of every stretch without a gap, and in how many columns to thin it.

    In long series gaps that are narrower than a column are closed, so that there are never more
    stretches than columns.

    Parameters
    ----------
    places
        Shape (n,), in the order of drawing.
    seen
        Which points there are; the others are gaps.
    """
    seen = seen & np.isfinite(places)
    chosen = np.flatnonzero(seen)
    if not chosen.size:
        return
    whole = x.high - x.low
    cut = np.diff(chosen) > 1
    if places.size > 4 * columns:
        step = np.diff(places[chosen])
        cut &= (step < 0) | (step > whole / columns)
    for part in np.split(chosen, np.flatnonzero(cut) + 1):
        share = abs(places[part[-1]] - places[part[0]]) / whole
        yield part, max(int(np.ceil(columns * share)), 1)
