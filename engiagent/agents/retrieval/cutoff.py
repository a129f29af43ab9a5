r"""How many of a ranking to keep: where its relevance breaks off.

Scores in falling order are fitted by two straight lines, one up to an element and one from the next
on; the break with the smallest weighted error is the cut-off,

.. math:: \arg\min_{2 \le m \le N-2} \frac{m}{N} \Phi(1, m) + \frac{N-m}{N} \Phi(m+1, N),

where :math:`\Phi(a, b)` is the root mean square error of the least-squares line through
:math:`(n, s_n)`, :math:`n = a \dots b` (adaptive retrieval of exemplars, equations 5 and C.1 to C.4
of the PowerDAG paper).
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

LEAST: Final = 4
"""Scores that two lines with two points each need."""


def cutoff(scores: Sequence[float]) -> int:
    """Return how many of the scores, shape (N,), which fall, stand before the break.

    Equal errors keep the earlier break. Fewer than four scores have no break: all are kept.

    Examples
    --------
    >>> cutoff([1.0, 0.9, 0.8, 0.2, 0.1, 0.0])
    3
    """
    values = np.asarray(scores, dtype=np.float64)
    if not np.isfinite(values).all() or (np.diff(values) > 0).any():
        raise ValueError("scores must be finite and must not rise; sort them first")
    count = len(values)
    if count < LEAST:
        return count
    errors = {m: weighted_error(values, m) for m in range(2, count - 1)}
    least = min(errors.values())
    scale = max(1e-12, 1e-9 * float(np.ptp(values)))
    return min(m for m, error in errors.items() if error <= least + scale)


def weighted_error(scores: Sequence[float] | np.ndarray, m: int) -> float:
    """Return the weighted error of two lines that break after the element ``m`` (from 1)."""
    values = np.asarray(scores, dtype=np.float64)
    share = m / len(values)
    return share * segment_error(values[:m]) + (1.0 - share) * segment_error(values[m:])


def segment_error(values: Sequence[float] | np.ndarray) -> float:
    """Return the root mean square error of the least-squares line through equidistant points."""
    y = np.asarray(values, dtype=np.float64)
    n = np.arange(len(y), dtype=np.float64)
    n -= n.mean()
    spread = float(n @ n)
    slope = float(n @ y) / spread if spread > 0 else 0.0
    rest = y - y.mean() - slope * n
    return float(np.sqrt(np.mean(rest**2)))
