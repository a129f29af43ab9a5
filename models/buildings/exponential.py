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

from collections.abc import Callable

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


def krylov_step(
    product: Callable[[Floats], Floats], state: Floats, drive: Floats, step_hours: float
) -> tuple[Floats, Floats]:
    r"""Return state after and mean over a step of :math:`\dot y = -S y + w`, :math:`S` symmetric.

    The space of Lanczos grows from the rate of change until the estimate of the error
    (Y. Saad, doi:10.1137/0729014) is below 1e-13 of the change or of the state.

    Parameters
    ----------
    product
        Multiplies the symmetric matrix [1/h] with a vector.
    state, drive
        Shape (n,), in any unit and that unit per hour.
    step_hours
        Length of the step. [h]
    """
    rate = drive - product(state)
    size = float(np.linalg.norm(rate))
    if size == 0.0:
        return state.copy(), state.copy()
    basis = [rate / size]
    diagonal: list[float] = []
    beside: list[float] = []
    enough = 1e-13 * max(size * step_hours, float(np.linalg.norm(state)))
    while True:
        image = product(basis[-1])
        diagonal.append(float(basis[-1] @ image))
        vectors = np.asarray(basis)
        for _ in range(2):  # twice, or the basis loses its right angles
            image = image - vectors.T @ (vectors @ image)
        rest = float(np.linalg.norm(image))
        end, mean = _on_tridiagonal(np.array(diagonal), np.array(beside), step_hours)
        done = size * rest * step_hours * step_hours * abs(mean[-1]) <= enough
        if done or rest <= 1e-14 * max(map(abs, diagonal)) or len(basis) == len(state):
            scale = size * step_hours
            return state + scale * (vectors.T @ end), state + scale * (vectors.T @ mean)
        basis.append(image / rest)
        beside.append(rest)


def _on_tridiagonal(diagonal: Floats, beside: Floats, step: float) -> tuple[Floats, Floats]:
    from scipy.linalg import eigh_tridiagonal

    values, vectors = eigh_tridiagonal(diagonal, beside)
    first = vectors[0]
    return (
        np.asarray(vectors @ (phi1(values * step) * first)),
        np.asarray(vectors @ (phi2(values * step) * first)),
    )
