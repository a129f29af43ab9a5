r"""Functions of the exponential that answer a held input exactly.

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
