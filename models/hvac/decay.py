"""What one well-mixed store does over a step with inputs held."""

import numpy as np

from engiagent.models.ranges import Floats


def decay_factors(span: Floats) -> tuple[Floats, Floats]:
    r"""Return :math:`\varphi_1 = (1 - e^{-s})/s` and :math:`\varphi_2 = (1 - \varphi_1)/s`.

    With them ``x' = g - s x`` over a step of length 1 has the end ``x0 e^-s + phi1 g`` and the mean
    ``phi1 x0 + phi2 g``. The second comes from its series where ``s`` is small.

    Examples
    --------
    >>> [x.tolist() for x in decay_factors(np.array([0.0, 1.0]))]
    [[1.0, 0.6321205588285577], [0.5, 0.36787944117144233]]
    """
    safe = np.where(span > 0, span, 1.0)
    phi1 = np.where(span > 0, -np.expm1(-span) / safe, 1.0)
    series = 0.5 - span / 6.0 + span**2 / 24.0 - span**3 / 120.0
    small = span < 1e-3
    return phi1, np.where(small, series, (1.0 - phi1) / np.where(small, 1.0, safe))
