"""Layers of a tank over a step: linear exchange, then mixing where cold lies above warm."""

from typing import Literal

import numpy as np

from engiagent.models.ranges import Floats


def advanced(
    matrix: Floats,
    drive: Floats,
    start: Floats,
    hours: Floats,
    scheme: Literal["exact", "implicit"],
) -> tuple[Floats, Floats]:
    r"""Return end and mean over a step of ``x' = matrix x + drive``.

    The mean is the one that closes the balance: ``end - start = h (matrix mean + drive)``; for the
    exact scheme it is the true one, for backward Euler the end.

    Parameters
    ----------
    matrix
        Shape (…, n, n). [1/h]
    drive, start
        Shape (…, n). [K/h], [degC]
    hours
        Shape (…). [h]
    scheme
        ``exact`` or ``implicit``.
    """
    count = start.shape[-1]
    units = np.broadcast_shapes(matrix.shape[:-2], drive.shape[:-1], start.shape[:-1], hours.shape)
    scaled = np.broadcast_to(matrix * hours[..., None, None], (*units, count, count))
    gain = np.broadcast_to(drive * hours[..., None], (*units, count))
    begin = np.broadcast_to(start, (*units, count))
    if scheme == "implicit":
        system = np.eye(count) - scaled
        end = np.asarray(np.linalg.solve(system, (begin + gain)[..., None])[..., 0], dtype=float)
        return end, end
    second = _phi2(scaled)
    slope = np.einsum("...ij,...j->...i", scaled, begin) + gain
    mean = begin + np.einsum("...ij,...j->...i", second, slope)
    return begin + np.einsum("...ij,...j->...i", scaled, mean) + gain, mean


def _phi2(matrix: Floats) -> Floats:
    r"""Return :math:`\varphi_2(M) = \sum_k M^k / (k+2)!` of matrices of shape (…, n, n).

    By scaling and doubling, :math:`\varphi_2(2M) = (e^M \varphi_2 + \varphi_1 + \varphi_2) / 4`. In
    layers that exchange heat all terms but the diagonal are positive, so that nothing cancels; for
    many small matrices this is far quicker than a general exponential.
    """
    size = float(np.abs(matrix).sum(axis=-1).max(initial=0.0))
    doublings = max(int(np.ceil(np.log2(size))) + 1, 0) if size > 0 else 0
    small = matrix / 2.0**doublings
    unit = np.eye(matrix.shape[-1])
    second = np.broadcast_to(unit, matrix.shape)
    for k in range(16, 2, -1):
        second = unit + small @ second / k
    second = 0.5 * second
    first = unit + small @ second
    exponential = unit + small @ first
    for _ in range(doublings):
        second = 0.25 * (exponential @ second + first + second)
        first = 0.5 * (exponential @ first + first)
        exponential = exponential @ exponential
    return np.asarray(second)


def settled(temperature: Floats) -> Floats:
    r"""Return layers of equal mass after buoyancy has mixed them, the top first.

    .. math:: T_i = \min_{j \le i} \max_{k \ge i} \overline{T_{j..k}}

    is the nearest profile that does not rise downwards; it pools neighbours to their mean, so that
    the sum is kept.

    Parameters
    ----------
    temperature
        Shape (…, layers). [degC]

    Examples
    --------
    >>> settled(np.array([50.0, 40.0, 46.0, 20.0, 30.0])).round(9).tolist()
    [50.0, 43.0, 43.0, 25.0, 25.0]
    """
    unstable = (np.diff(temperature, axis=-1) > 0).any(axis=-1, keepdims=True)
    if not unstable.any():
        return temperature
    count = temperature.shape[-1]
    # Sums count from the mean, so that rounding stays that of the differences.
    middle = temperature.mean(axis=-1, keepdims=True)
    zero = np.zeros((*temperature.shape[:-1], 1))
    sums = np.concatenate((zero, np.cumsum(temperature - middle, axis=-1)), axis=-1)
    first, last = np.arange(count)[:, None], np.arange(count)[None, :]
    means = (sums[..., None, 1:] - sums[..., :-1, None]) / np.maximum(last - first + 1, 1)
    means = np.where(last >= first, means, -np.inf)
    # best[j, i] is the largest mean of a pool that begins at j and ends at i or below.
    best = np.flip(np.maximum.accumulate(np.flip(means, axis=-1), axis=-1), axis=-1)
    best = np.where(last >= first, best, np.inf)
    pooled = best.min(axis=-2)
    # What rounding changed goes back evenly: mixing neither makes nor loses heat.
    mixed = middle + pooled - pooled.mean(axis=-1, keepdims=True)
    return np.where(unstable, mixed, temperature)
