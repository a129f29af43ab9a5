r"""Maximum likelihood from several starts, and how well each parameter is known.

The vector holds logarithms, so that ranges of four decades are searched evenly and intervals keep
the sign. Starts come from the data: the resistance of the whole from means of temperatures and
heat, time constants spread over hours and days. Measurements whose innovation is beyond what noise
explains are left out, and the fit is made again.

A 95 % interval is :math:`\hat\theta \pm 1.96\,\sigma` by the observed information in the
logarithms; where this is wide or a range is near, by the profile likelihood, the values at which
the best of all others lies less than 1.92 below the optimum. A parameter whose profile does not
close within its range cannot be known from these data.

Source: A. Raue et al., Bioinformatics 25 (2009) 1923, doi:10.1093/bioinformatics/btp358.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import numpy as np

from engiagent.errors import InputError
from engiagent.identify.kalman import Bools, Filtered, Record, filtered, likelihood, scored
from engiagent.identify.structures import Floats, Model

OUTLYING: Final = 5.0
"""Standard deviations beyond which an innovation is no noise."""
STARTS: Final = 4
_CANDIDATES: Final = 96
_QUANTILE: Final = 1.959964
_DROP: Final = 1.920729
_WIDE: Final = 0.1
_DELTA: Final = 1e-4
_ROUGH: Final = (40, 1e-2)
_FINE: Final = (60, 1e-3)
"""Steps at most, and the gain of likelihood that is worth another one."""
_OPEN: Final = 2.0
"""Deviation of a logarithm beyond which nothing is known."""
_FLAT: Final = 1e-4
"""Information that is none: rounding of derivatives leaves as much."""
_FARTHEST: Final = 1.5


@dataclass(frozen=True)
class Estimate:
    """A parameter with its 95 % interval; ``sigma`` is relative where it is above 0 by its kind.

    ``method`` is information, profile or, for noise that is no more than nothing, bound.
    """

    name: str
    value: float
    unit: str
    low: float
    high: float
    sigma: float
    method: str = "information"


@dataclass(frozen=True)
class Fit:
    """A model with its parameters."""

    model: Model
    record: Record
    theta: Floats  # what was searched for, shape (p,)
    likelihood: float  # its logarithm at the optimum
    # of ``theta``, by the observed information; zero for what lies at a bound
    covariance: Floats = field(repr=False)
    free: Bools  # what lies at no bound
    outliers: Bools = field(repr=False)  # measurements that were left out
    optima: tuple[float, ...]  # likelihoods that the starts led to, the best first

    @cached_property
    def filtered(self) -> Filtered:
        """The filter at the optimum."""
        return filtered(self.model, self.theta[None], self.record)

    @property
    def count(self) -> int:
        """How many parameters were found."""
        return int(self.free.sum())

    @property
    def aic(self) -> float:
        """Akaike's information criterion."""
        return 2 * self.count - 2 * self.likelihood

    @property
    def values(self) -> dict[str, float]:
        """The parameters in their own units."""
        found = self.model.values(self.theta)
        return dict(zip(self.model.names, map(float, found), strict=True))

    def distance(self, values: Mapping[str, float]) -> float:
        r"""Return how far parameters lie from those found, all at once.

        :math:`(\theta - \hat\theta)^T V^{-1} (\theta - \hat\theta)` with the covariance
        :math:`V` of these, the others being free: :math:`\chi^2` in their number. Infinite for
        one that lies at a bound.
        """
        places = [self.model.names.index(name) for name in values]
        if not self.free[places].all():
            return float("inf")
        is_log = np.array([self.model.parameters[k].is_log for k in places])
        given = np.array([*values.values()])
        off = np.where(is_log, np.log(np.where(is_log, given, 1.0)), given) - self.theta[places]
        return float(off @ np.linalg.solve(self.covariance[np.ix_(places, places)], off))

    @cached_property
    def standardised(self) -> Floats:
        """One-step innovations over their standard deviation, NaN where nothing was measured."""
        run = self.filtered
        return np.asarray(run.innovation[:, 0] / np.sqrt(run.variance[:, 0]))

    @property
    def sigma_one_step(self) -> float:
        """The standard deviation of the one-step innovations once the state is known. [K]."""
        innovation, variance = self.filtered.innovation[:, 0], self.filtered.variance[:, 0]
        return float(np.nanstd(innovation[variance <= 2 * np.median(variance)]))


def fit(
    model: Model,
    record: Record,
    *,
    starts: int = STARTS,
    seed: int = 0,
    near: Mapping[str, float] | None = None,
) -> Fit:
    """Return the parameters of the greatest likelihood.

    ``starts``: from how many of the best of many random points the search begins. ``near``: values
    of a smaller structure, from which one more start is made.
    """
    outliers = spikes(record)
    clean = record.without(outliers)
    found = [_climb(model, clean, begin) for begin in _starts(model, clean, starts, seed, near)]
    found = sorted((f for f in found if np.isfinite(f[0])), key=lambda f: -f[0])
    if not found:
        raise InputError(
            "no start led to a likelihood", found=model.structure.name, expected="more --starts"
        )
    optima = tuple(f[0] for f in found)
    return refined(model, clean, found[0][1], outliers, optima)


def refined(
    model: Model, clean: Record, begin: Floats, outliers: Bools, optima: tuple[float, ...]
) -> Fit:
    """Return the optimum near a point, without what stands apart, with how well it is known."""
    best = _climb(model, clean, begin, _FINE)
    for _ in range(3):
        run = filtered(model, best[1][None], clean)
        far = np.abs(run.innovation[:, 0]) > OUTLYING * np.sqrt(run.variance[:, 0].real)
        if not far.any():
            break
        outliers = outliers | far
        clean = clean.without(far)
        best = _climb(model, clean, best[1], _FINE)
    value, theta = best
    free = _inside(model, theta)
    covariance = _covariance(model, clean, theta, free)
    return Fit(model, clean, theta, value, covariance, free, outliers, optima)


def spikes(record: Record) -> Bools:
    """Return measurements that stand apart from those before and behind them."""
    y = record.measured
    around = np.stack([np.roll(y, k) for k in (-2, -1, 1, 2)])
    with np.errstate(invalid="ignore"):
        lone = y - np.median(around, axis=0)
        spread = 1.4826 * np.nanmedian(np.abs(lone))
        found = np.abs(lone) > max(10 * spread, 0.5)
    found[:2] = found[-2:] = False
    return np.asarray(found)


def _starts(
    model: Model, record: Record, count: int, seed: int, near: Mapping[str, float] | None
) -> list[Floats]:
    """Return the best of many random points in the physical range, far enough from one another."""
    rng = np.random.default_rng(seed)
    whole = record.whole & np.isfinite(record.measured)
    outside, heat = record.inputs[whole, 0], record.inputs[whole, 1]
    lift = float(np.mean(record.measured[whole] - outside))
    power = float(np.mean(np.abs(heat))) or 1.0
    total = float(np.clip(abs(lift) / power, 1e-2, 1e2)) or 1.0
    size = (_CANDIDATES, len(model.parameters))
    draws = rng.random(size)
    guess = np.zeros(size)
    for k, p in enumerate(model.parameters):
        draw = draws[:, k]
        if p.kind == "resistance":
            guess[:, k] = np.log(total) + np.log(0.05) * draw + 0.5
        elif p.kind == "capacitance":
            hours = (np.log(0.3), np.log(10)) if k == 0 else (np.log(3), np.log(200))
            guess[:, k] = hours[0] + (hours[1] - hours[0]) * draw - np.log(total)
        elif p.kind == "coefficient":
            guess[:, k] = np.log(p.low * 1e5) + np.log(20.0) * (draw - 0.5)
        elif p.kind == "noise":
            guess[:, k] = np.log(0.01) + np.log(20.0) * draw
    if model.structure.nodes == ("room",):
        guess[:, 0] = np.log(3) + np.log(60) * draws[:, 0] - np.log(total)
    low, high = np.array([p.bounds for p in model.parameters]).T
    guess = np.clip(guess, low, high)
    if near is not None:
        for k, p in enumerate(model.parameters):
            if p.name in near:
                known = np.log(near[p.name]) if p.is_log else near[p.name]
                guess[: _CANDIDATES // 3, k] = np.clip(known, low[k], high[k])
    # The best scale of all noise is known by the innovations.
    noise = np.array([p.kind == "noise" for p in model.parameters])
    run = filtered(model, guess, record)
    ratio = np.nanmean(run.innovation**2 / run.variance, axis=0)
    guess[:, noise] += 0.5 * np.log(np.clip(ratio, 1e-8, 1e8))[:, None]
    guess = np.clip(guess, low, high)
    order = np.argsort(-likelihood(model, guess, record))
    chosen: list[Floats] = []
    for place in order:
        if len(chosen) < count and all(
            np.abs(guess[place] - other).max() > 0.7 for other in chosen
        ):
            chosen.append(guess[place])
    return chosen


def _climb(
    model: Model,
    record: Record,
    begin: Floats,
    effort: tuple[int, float] = _ROUGH,
    held: Mapping[int, float] | None = None,
) -> tuple[float, Floats]:
    """Return the likelihood at the optimum near a point, and the optimum; some values are held.

    Scoring by Fisher with the damping of Levenberg and Marquardt; what a step would take beyond its
    range stays at the end of it.
    """
    low, high = np.array([p.bounds for p in model.parameters]).T
    theta = np.clip(begin, low, high)
    for place, value in (held or {}).items():
        theta[place] = low[place] = high[place] = value
    best, damping = -np.inf, 1e-3
    slope, information = np.zeros(0), np.zeros((0, 0))
    step = np.zeros_like(theta)
    for _ in range(effort[0]):
        with np.errstate(all="ignore"):
            value, up, expected_information = scored(model, theta + step, record)
        is_finite = np.isfinite(value) and np.isfinite(expected_information).all()
        if is_finite and value > best:
            gained, best, theta = value - best, value, theta + step
            slope, information = up, expected_information
            damping = max(damping / 4, 1e-9)
            if gained < effort[1]:
                break
        elif not np.isfinite(best) or damping > 1e8:
            break
        else:
            damping *= 8
        stuck = ((theta <= low) & (slope < 0)) | ((theta >= high) & (slope > 0))
        free = ~stuck & (low < high)
        if not free.any():
            break
        weights = information[np.ix_(free, free)]
        # What the likelihood hardly depends on stays near where it is.
        scale = 0.01 + damping * np.maximum(np.diag(weights), 1.0)
        move = np.linalg.solve(weights + np.diag(scale), slope[free])
        step = np.zeros_like(theta)
        step[free] = np.clip(move, -_FARTHEST, _FARTHEST)
        step = np.clip(theta + step, low, high) - theta
    return best, theta


def _inside(model: Model, theta: Floats) -> Bools:
    """Return which values lie at no bound."""
    low, high = np.array([p.bounds for p in model.parameters]).T
    near = 0.02 * np.minimum(high - low, 10.0)
    return np.asarray((theta > low + near) & (theta < high - near))


def _covariance(model: Model, record: Record, theta: Floats, free: Bools) -> Floats:
    """Return the inverse of the observed information; infinite along what nothing is known of."""
    step = _DELTA * np.eye(len(theta))[free]
    up, down = (
        np.array([scored(model, theta + sign * d, record)[1] for d in step]) for sign in (1, -1)
    )
    curvature = (down - up)[:, free] / (2 * _DELTA)
    curvature = (curvature + curvature.T) / 2
    covariance = np.zeros((len(theta), len(theta)))
    values, vectors = np.linalg.eigh(curvature)
    spread = vectors / np.sqrt(np.maximum(values, _FLAT))
    covariance[np.ix_(free, free)] = spread @ spread.T
    return covariance


def estimates(found: Fit) -> tuple[Estimate, ...]:
    """Return the parameters with their 95 % intervals.

    The interval of what cannot be known has an infinite end, or one at 0.
    """
    result = []
    for k, p in enumerate(found.model.parameters):
        sigma = float(np.sqrt(found.covariance[k, k])) if found.free[k] else 0.0
        centre, method = found.theta[k], "information"
        low, high = centre - _QUANTILE * sigma, centre + _QUANTILE * sigma
        if p.kind == "noise":
            method = "information" if found.free[k] else "bound"
        elif (p.is_log and sigma > _OPEN) or not np.isfinite(sigma):
            low, high = -np.inf, np.inf
        elif p.is_log and not (found.free[k] and sigma < _WIDE):
            low, high = (_profile(found, k, side) for side in (-1, 1))
            method = "profile"
        ends = [float(np.exp(x)) if p.is_log else float(x) for x in (centre, low, high)]
        result.append(Estimate(p.name, ends[0], p.unit, ends[1], ends[2], sigma, method))
    return tuple(result)


def _profile(found: Fit, place: int, side: int) -> float:
    """Return where the profile likelihood of a parameter falls below its quantile to one side."""
    low, high = found.model.parameters[place].bounds
    limit = high if side > 0 else low
    centre, best = float(found.theta[place]), found.likelihood
    inner, step, theta = centre, 0.25, found.theta
    while True:
        outer = inner + side * step
        if (outer - limit) * side >= 0:
            return side * np.inf
        value, theta = _climb(found.model, found.record, theta, held={place: outer})
        if value > best + 0.1:
            # The optimum was none: from here on it is known to lie elsewhere.
            best = value
        if value < best - _DROP:
            break
        inner, step = outer, step * 2
    for _ in range(5):
        middle = (inner + outer) / 2
        value, theta = _climb(found.model, found.record, theta, held={place: middle})
        inner, outer = (inner, middle) if value < best - _DROP else (middle, outer)
    return (inner + outer) / 2
