r"""What a fit is worth: whiteness of its residuals, errors on data held back, excitation.

Ljung and Box: :math:`Q = n(n+2) \sum_{k=1}^{h} r_k^2 / (n-k)` is :math:`\chi^2_h` of white noise.
The cumulated periodogram of white noise stays within :math:`1.36/\sqrt{n/2}` of the diagonal
(Kolmogorov and Smirnov, at 5 %). Twice the gain of likelihood of an extension is :math:`\chi^2` in
the number of further parameters.

Sources: G. M. Ljung and G. E. P. Box, Biometrika 65 (1978) 297, doi:10.1093/biomet/65.2.297;
M. S. Bartlett, An Introduction to Stochastic Processes, Cambridge 1966, 9.2.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from engiagent.identify.fitting import Fit, spikes
from engiagent.identify.kalman import Record, ahead, filtered, simulated
from engiagent.identify.structures import Floats

LEVEL: Final = 0.05
HOURS: Final = (1.0, 6.0, 24.0)
_LAGS: Final = 24
_STILL: Final = 1e-3
"""Share of its mean below which an input is constant."""
_ALIKE: Final = 0.98


@dataclass(frozen=True)
class Whiteness:
    """Whether residuals are noise."""

    # at the lags from 1, with the half-width ``band`` that 95 % of white noise keep
    autocorrelation: Floats
    band: float
    ljung_box: float  # probability of at least such a sum of squares of white noise
    # cumulated, over frequencies to half of that of the samples; ``limit`` is the largest distance
    # from the diagonal at 5 %, ``distance`` the one there is
    periodogram: Floats
    distance: float
    limit: float

    @property
    def is_white(self) -> bool:
        """Whether neither test rejects white noise."""
        return bool(self.ljung_box >= LEVEL and self.distance <= self.limit)


@dataclass(frozen=True)
class Errors:
    """Predictions against data held back. [K]."""

    ahead: Mapping[float, float]  # root mean square error by how many hours ahead
    # simulation, bias, largest: of a simulation over all that was held back, from the filter's
    # state at its beginning
    simulation: float
    bias: float
    largest: float
    predicted: Floats  # that simulation
    # root mean square error of taking the last temperature for the one ``HOURS`` ahead
    persistence: Mapping[float, float]


def whiteness(found: Fit) -> Whiteness:
    """Return how far the standardised innovations are from white noise; gaps count as zero."""
    residual = found.standardised
    seen = np.isfinite(residual)
    count = int(seen.sum())
    centred = np.where(seen, residual - np.nanmean(residual), 0.0)
    power = float(centred @ centred)
    lags = min(_LAGS, count // 5)
    r = np.array([centred[k:] @ centred[:-k] for k in range(1, lags + 1)]) / power
    q = count * (count + 2) * float((r**2 / (count - np.arange(1, lags + 1))).sum())
    spectrum = np.abs(np.fft.rfft(centred)[1:]) ** 2
    cumulated = np.cumsum(spectrum) / spectrum.sum()
    distance = float(np.abs(cumulated - np.arange(1, len(cumulated) + 1) / len(cumulated)).max())
    limit = float(1.358 / np.sqrt(len(cumulated)))
    return Whiteness(
        r, float(1.96 / np.sqrt(count)), chi_squared(q, lags), cumulated, distance, limit
    )


def chi_squared(value: float, freedom: int) -> float:
    """Return the probability that chi squared is at least ``value``.

    >>> round(chi_squared(3.841, 1), 4)
    0.05
    """
    from scipy.special import gammaincc  # no other command needs it

    return float(gammaincc(freedom / 2, max(value, 0.0) / 2))


def held_back(found: Fit, whole: Record, begin: int) -> Errors | None:
    """Return the errors on what lies behind ``begin``; None where nothing was held back."""
    # Readings that stand apart are left out as in a fit: they are no room's temperature.
    whole = whole.without(np.concatenate((found.outliers, spikes(whole)[begin:])))
    measured = whole.measured[begin:]
    if (
        begin >= len(whole.measured)
        or not np.isfinite(measured).sum() > 10
        or not whole.whole[begin:].all()
    ):
        return None
    before = filtered(found.model, found.theta[None], whole.part(0, begin + 1)).state[-1, 0]
    predicted = simulated(found.model, found.theta, whole, before, begin)
    error = measured - predicted
    later, stays = {}, {}
    for hours in HOURS:
        steps = max(round(hours / whole.hours), 1)
        if steps < len(measured):
            later[hours] = _rms(ahead(found.model, found.theta, whole, steps)[begin:])
            stays[hours] = _rms(measured[steps:] - measured[:-steps])
    largest = float(np.nanmax(np.abs(error)))
    bias = float(np.nanmean(error))
    return Errors(later, _rms(error), bias, largest, predicted, stays)


def _rms(error: Floats) -> float:
    return float(np.sqrt(np.nanmean(error**2)))


def excitation(record: Record, names: tuple[str, ...]) -> dict[str, str]:
    """Return by input what keeps it from telling anything: constant, or like another one."""
    rows = record.inputs[record.whole]
    found: dict[str, str] = {}
    spread = rows.std(axis=0)
    size = np.maximum(np.abs(rows).mean(axis=0), 1e-9)
    for k, name in enumerate(names):
        if spread[k] <= _STILL * size[k]:
            found[name] = f"the {name} was constant ({rows[:, k].mean():.4g})"
    for k, name in enumerate(names[1:], start=1):
        for j, other in enumerate(names[:k]):
            if name not in found and other not in found:
                r = float(np.corrcoef(rows[:, j], rows[:, k])[0, 1])
                if abs(r) > _ALIKE:
                    found[name] = f"the {name} followed the {other} (correlation {r:.3f})"
    return found
