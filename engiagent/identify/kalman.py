r"""A Kalman filter of many parameter vectors at once, and the likelihood of its innovations.

.. math::
    \ell(\theta) = -\tfrac12 \sum_k \Big(\ln 2\pi S_k + \frac{v_k^2}{S_k}\Big), \qquad
    v_k = y_k - T_{1,k|k-1}, \quad S_k = P_{11,k|k-1} + s^2

Periods without a measurement are predicted and not corrected; where an input is missing, the filter
begins anew behind the gap. Vectors may be complex: the imaginary part of the likelihood over that
of a parameter is then the derivative to all digits (complex step), for which everything here is
analytic. As soon as the covariance has settled its recursion is left out. Where air leaks in by the
wind, steps are exact at up to ``LEVELS`` levels of it and linear in between.

Source: W. Squire and G. Trapp, SIAM Review 40 (1998) 110, doi:10.1137/S003614459631241X.
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from engiagent.identify.structures import Array, Floats, Model

UNKNOWN: Final = 5.0
"""Standard deviation of a temperature that nothing is known of at the start. [K]."""
LEVELS: Final = 8
_SETTLED: Final = 1e-9
_TINY: Final = 1e-30
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Record:
    """Measurements of N periods, as the filter takes them."""

    hours: float  # length of a period
    # temperature of the room at the beginning of each period; NaN where there is none. [degC]
    measured: Floats
    # temperature outside, heat, and each driver, means of the periods, shape (N, inputs). [degC,
    # kW, ...]
    inputs: Floats

    @property
    def whole(self) -> Bools:
        """Periods of which all inputs are known."""
        return np.asarray(np.isfinite(self.inputs).all(axis=1))

    def part(self, begin: int, end: int) -> "Record":
        """Return some periods."""
        return Record(self.hours, self.measured[begin:end], self.inputs[begin:end])

    def without(self, rows: npt.ArrayLike) -> "Record":
        """Return the record with some measurements left out."""
        measured = np.where(np.asarray(rows, dtype=bool), np.nan, self.measured)
        return Record(self.hours, measured, self.inputs)


@dataclass(frozen=True)
class Filtered:
    """What a filter made of a record, for each of m parameter vectors."""

    # innovation, variance: shape (N, m); NaN and infinity where nothing was measured
    innovation: Array
    variance: Array
    state: Array  # after the correction of each period, shape (N, m, n). [degC]

    @property
    def likelihood(self) -> Array:
        """The logarithm of the likelihood, shape (m,)."""
        seen = np.isfinite(self.innovation[:, 0].real)
        v, s = self.innovation[seen], self.variance[seen]
        return np.asarray(-0.5 * (np.log(2 * np.pi * s) + v * v / s).sum(axis=0))


def _inputs(model: Model, record: Record) -> Floats:
    """Return the inputs of a model, with the constant one where it has a gain."""
    ones = np.ones((len(record.inputs), int(model.has_gain)))
    return np.hstack((record.inputs, ones))


def mean_wind(model: Model, record: Record) -> float:
    """Return the mean of what lets air leak in, 0 where nothing does."""
    return 0.0 if model.leak is None else float(np.nanmean(record.inputs[:, model.leak]))


def _discrete(model: Model, theta: Array, record: Record) -> list[Array]:
    """Return what levels of wind count in each period, (N, l), and steps, (l, m, n, n), at each."""
    is_known, column = record.whole & (model.leak is not None), record.inputs[:, model.leak or 0]
    wind = np.where(is_known, column, mean_wind(model, record))
    levels = np.unique(wind)
    if len(levels) > LEVELS:
        levels = np.linspace(levels[0], levels[-1], LEVELS)
    weights = np.column_stack([np.interp(wind, levels, row) for row in np.eye(len(levels))])
    found = [model.discrete(theta, record.hours, level) for level in levels]
    return [weights, *(np.array([parts[k] for parts in found]) for k in range(4))]


def _single(model: Model, theta: Floats, record: Record) -> tuple[Floats, Floats]:
    """Return by period the transition (N, n, n) of one vector (p,), and what inputs add (N, n)."""
    weights, *parts = _discrete(model, theta[None], record)
    transition, response = (np.einsum("kl,lij->kij", weights, part[:, 0]) for part in parts[:2])
    return transition, np.einsum("kij,kj->ki", response, _inputs(model, record))


def filtered(model: Model, theta: Array, record: Record) -> Filtered:
    """Run the filter for vectors of shape (m, p)."""
    weights, steps, responses, noises, (sensor, *_) = _discrete(model, theta, record)
    transition, noise, is_steady = steps[0], noises[0], len(steps) == 1
    whole = record.whole
    given = np.where(whole[:, None], _inputs(model, record), 0.0)
    shares = zip(weights.T, responses, strict=True)
    driven = sum(np.einsum("kj,mij->kmi", given * share[:, None], r) for share, r in shares)
    length, count = len(given), transition.shape[1]
    size, kind = len(theta), np.result_type(theta.dtype, np.float64)
    innovation = np.full((length, size), np.nan, dtype=kind)
    variance = np.full((length, size), np.inf, dtype=kind)
    states = np.full((length, size, count), np.nan, dtype=kind)
    seen = np.isfinite(record.measured) & whole
    spread: Any = None
    state: Any = None
    k, settled = 0, False
    while k < length:
        if not whole[k]:
            spread, settled, k = None, False, k + 1
            continue
        if spread is None:  # begin (again) where there is a measurement
            if not seen[k]:
                k += 1
                continue
            state = np.full((size, count), record.measured[k], dtype=kind)
            spread = np.broadcast_to(np.eye(count) * UNKNOWN**2, transition.shape).astype(kind)
        if settled and seen[k]:
            missing = np.flatnonzero(~seen[k:])
            end = k + int(missing[0]) if missing.size else length
            y = record.measured[k:end, None]
            gain = spread[:, :, 0] / (spread[:, 0, 0] + sensor)[:, None]
            closed = transition - (transition @ gain[:, :, None]) * np.eye(count)[0]
            fed = driven[k:end] + y[:, :, None] * (transition @ gain[:, :, None])[:, :, 0]
            before = np.empty((end - k, size, count), dtype=kind)
            for j in range(end - k):
                before[j] = state
                state = (closed @ state[:, :, None])[:, :, 0] + fed[j]
            innovation[k:end] = y - before[:, :, 0]
            variance[k:end] = spread[:, 0, 0] + sensor
            states[k:end] = before + gain * innovation[k:end, :, None]
            k = end
            continue
        if seen[k]:
            innovation[k] = record.measured[k] - state[:, 0]
            variance[k] = spread[:, 0, 0] + sensor
            gain = spread[:, :, 0] / variance[k][:, None]
            state = state + gain * innovation[k][:, None]
            after = spread - gain[:, :, None] * spread[:, None, 0, :]
        else:
            after = spread
        states[k] = state
        if not is_steady:
            transition, noise = (np.einsum("l,l...->...", weights[k], x) for x in (steps, noises))
        state = (transition @ state[:, :, None])[:, :, 0] + driven[k]
        following = transition @ after @ transition.swapaxes(1, 2) + noise
        settled = bool(seen[k] and k % 4 == 0 and is_steady) and _same(spread, following)
        spread, k = following, k + 1
    return Filtered(innovation, variance, states)


def _same(one: Array, other: Array) -> bool:
    """Whether a covariance, and its derivatives, change no more."""
    pairs = ((one.real, other.real), (one.imag, other.imag))
    return all(np.abs(a - b).max() <= _SETTLED * np.abs(b).max() for a, b in pairs)


def likelihood(model: Model, theta: Floats, record: Record) -> Floats:
    """Return the logarithm of the likelihood of vectors (m, p)."""
    with np.errstate(all="ignore"):
        found = filtered(model, theta, record).likelihood
    return np.where(np.isfinite(found), found, -np.inf)


def scored(model: Model, theta: Floats, record: Record) -> tuple[float, Floats, Floats]:
    r"""Return the logarithm of the likelihood of one vector (p,), its slope, and the information.

    The information is the one to be expected, of normal innovations,
    :math:`\sum_k \frac{\partial v_k}{\partial \theta}\frac{\partial v_k}{\partial \theta}^T / S_k
    + \tfrac12 \frac{\partial S_k}{\partial \theta}\frac{\partial S_k}{\partial \theta}^T / S_k^2`,
    and that of the variances greater where innovations are beyond them.
    """
    run = filtered(model, theta + 1j * _TINY * np.eye(len(theta)), record)
    seen = np.isfinite(run.innovation[:, 0].real)
    v, s = run.innovation[seen], run.variance[seen]
    by_v, by_s = v.imag / _TINY, s.imag / _TINY
    v, s = v[:, :1].real, s[:, :1].real
    value = -0.5 * (np.log(2 * np.pi * s) + v * v / s).sum()
    slope = (-v * by_v / s + 0.5 * (v * v / s - 1) * by_s / s).sum(axis=0)
    weighted, spread = by_v / np.sqrt(s), by_s / s * np.sqrt(np.maximum(1.0, v * v / s))
    return float(value), slope, weighted.T @ weighted + 0.5 * spread.T @ spread


def simulated(model: Model, theta: Floats, record: Record, first: Floats, begin: int = 0) -> Floats:
    """Return the room's temperature from a state on, without correction, shape (N - begin,)."""
    transition, driven = _single(model, theta, record)
    state, found = first, []
    for step, added in zip(transition[begin:], driven[begin:], strict=True):
        found.append(state[0])
        state = step @ state + added
    return np.array(found)


def ahead(model: Model, theta: Floats, record: Record, steps: int) -> Floats:
    """Return errors of predictions some periods ahead with inputs known, NaN where none, (N,)."""
    transition, driven = _single(model, theta, record)
    state = filtered(model, theta[None], record).state[:, 0]
    length = len(state) - steps
    errors = np.full(len(state), np.nan)
    if length > 0:
        now = state[:length]
        for j in range(steps):
            rows = slice(j, j + length)
            now = np.einsum("kij,kj->ki", transition[rows], now) + driven[rows]
        errors[steps:] = record.measured[steps:] - now[:, 0]
    return errors
