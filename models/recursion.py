r"""Linear recursions and the functions of the exponential that make their steps exact.

A recursion :math:`x_{n+1} = A_n x_n + b_n` needs no loop over time: pairs of steps are composed,
then pairs of pairs, :math:`\log_2 N` passes over whole arrays. Unlike the scaled cumulative sum
this divides by nothing, so that a strong decay over 100 000 steps neither overflows nor loses
digits.

With :math:`\dot z = -\lambda z + w` and :math:`w` held over a step :math:`h`, :math:`x=\lambda h`:

.. math::
    z(h) = e^{-x} z_0 + h\,\varphi_1(x)\,w, \qquad
    \bar z = \varphi_1(x)\,z_0 + h\,\varphi_2(x)\,w,

.. math:: \varphi_1(x) = \frac{1 - e^{-x}}{x}, \qquad \varphi_2(x) = \frac{1 - \varphi_1(x)}{x},

where :math:`\bar z` is the mean over the step. Since :math:`\varphi_1 = 1 - x \varphi_2`, the mean
and the end close the balance :math:`z(h) - z_0 = h (w - \lambda \bar z)` to rounding.

Source: M. Hochbruck and A. Ostermann, Exponential integrators, Acta Numerica 19 (2010) 209,
doi:10.1017/S0962492910000048 (with the opposite sign of the argument).
"""

import numpy as np
import numpy.typing as npt

from engiagent.models.ranges import Floats

_SMALL = 0.1  # below it the quotients lose digits, and ten terms of the series hold them all


def phi1(x: Floats) -> Floats:
    r"""Return :math:`(1 - e^{-x})/x`, which is 1 at 0.

    Examples
    --------
    >>> phi1(np.array([0.0, 1.0])).round(12).tolist()
    [1.0, 0.632120558829]
    """
    safe = np.where(np.abs(x) < _SMALL, 1.0, x)
    return np.where(np.abs(x) < _SMALL, 1.0 - x * _series(x), -np.expm1(-safe) / safe)


def phi2(x: Floats) -> Floats:
    r"""Return :math:`(1 - \varphi_1(x))/x`, which is 1/2 at 0.

    Examples
    --------
    >>> phi2(np.array([0.0, 1.0])).round(12).tolist()
    [0.5, 0.367879441171]
    """
    safe = np.where(np.abs(x) < _SMALL, 1.0, x)
    return np.where(np.abs(x) < _SMALL, _series(x), (1.0 + np.expm1(-safe) / safe) / safe)


def _series(x: Floats) -> Floats:
    """Return the sum of ``(-x)^k / (k+2)!`` for small arguments, by Horner's rule."""
    small = np.where(np.abs(x) < _SMALL, x, 0.0)
    total = np.zeros_like(small)
    for divisor in range(12, 1, -1):
        total = (1.0 - small * total) / divisor
    return total


def linear_recursion(factor: Floats, driven: Floats, initial: npt.ArrayLike) -> Floats:
    """Return ``x`` of shape (N+1, …) with ``x[n+1] = factor[n] * x[n] + driven[n]``.

    ``factor`` has the shape (N, …) of ``driven``, or broadcasts to it.

    Examples
    --------
    >>> linear_recursion(np.full((2, 2), 0.5), np.ones((2, 2)), [4.0, 0.0]).tolist()
    [[4.0, 0.0], [3.0, 1.0], [2.5, 1.5]]
    """
    start = np.broadcast_to(np.asarray(initial, dtype=np.float64), driven.shape[1:])
    total = np.concatenate((start[None], driven))
    if (factor == 1.0).all():
        return np.asarray(np.cumsum(total, axis=0))
    product = np.concatenate((np.zeros_like(driven[:1]), np.broadcast_to(factor, driven.shape)))
    shift = 1
    while shift < len(total):
        # The sum on the right is complete before the assignment, so no value is used twice.
        total[shift:] = total[shift:] + product[shift:] * total[:-shift]
        product[shift:] = product[shift:] * product[:-shift]
        shift *= 2
    return total


def switched_recursion(
    matrices: Floats, which: npt.NDArray[np.intp], input_: Floats, initial: Floats
) -> Floats:
    """Return ``x`` of shape (N+1, n) with ``x[k+1] = matrices[which[k]] @ x[k] + input_[k]``.

    ``matrices`` has shape (m, n, n). One matrix is squared from pass to pass; several would need a
    product per step and pair, N n^2 numbers, so that the steps go one by one.
    """
    total = np.concatenate((initial[None, :], input_))
    if len(matrices) > 1:
        for k, number in enumerate(which):
            total[k + 1] += matrices[number] @ total[k]
        return total
    matrix, shift = matrices[0], 1
    while shift < len(total):
        total[shift:] = total[shift:] + total[:-shift] @ matrix.T
        matrix = matrix @ matrix
        shift *= 2
    return total
