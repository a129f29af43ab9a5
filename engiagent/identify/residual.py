r"""What a structure leaves out, learnt from its one-step innovations as heat into the room.

.. math:: \dot Q_k = f(x_k) / b, \qquad f(x_k) \approx v_{k+1}

with the innovations :math:`v` of the filter, the warming :math:`b` of the room in a period by 1 kW,
and features :math:`x`: each disturbance (temperature outside, sun, gains), its means over the hours
before, and the time of the day. All of them are known ahead and none of them is the heating: a plan
takes the residual as one more series, stays linear, and more heating warms by what the structure
says. Structure and residual are fitted in turn. More sun or gains and a warmer outside never cool:
boosted trees are monotone in them, and of a ridge regression no coefficient is negative but that of
the period itself, by which the response of the structure may be lowered to nothing.

It is bounded, and off where a feature lies outside the range that was fitted. It is plain numbers,
coefficients or tables of trees, so that a file keeps it for the weather of other days.

Source: T. Hastie, R. Tibshirani and J. Friedman, The Elements of Statistical Learning, 2nd ed.,
Springer 2009, 3.4 and 10.9.
"""

from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from engiagent.blueprint.timeaxis import utc_offsets
from engiagent.errors import InputError
from engiagent.identify.fitting import Fit, refined
from engiagent.identify.judging import Errors, held_back
from engiagent.identify.kalman import Bools, Record, mean_wind
from engiagent.identify.measurements import Instants, Measurements
from engiagent.identify.structures import Driver, Floats

KINDS: Final = ("ridge", "boosting")
HEAT: Final = Driver("residual", "residual", "1", 1.0, is_known=True)
WINDOWS: Final = (1.0, 4.0)
"""Hours of the means of what was before."""
ROUNDS: Final = 5
"""Of fitting in turn: noise of the process stood for what the residual explains."""
CLOCK: Final = 6
"""How many features the time of the day has: waves of a day, a half and a third of it."""
BOUND: Final = 0.99
"""Quantile of the innovations' size that no residual exceeds."""
_PENALTY: Final = 0.01
_DAY: Final = 86400.0


@dataclass(frozen=True)
class Learnt:
    """A residual as a function of disturbances and the time of the day."""

    inputs: tuple[str, ...]  # the disturbances by their roles
    hours: float  # length of a period
    # low, high: range of each feature that was fitted
    low: list[float]
    high: list[float]
    most: float  # its largest size. [kW]
    constant: float  # [kW]
    slope: list[float]  # by feature, of a ridge regression. [kW/unit]
    # of each tree its nodes: feature, threshold, left (at most the threshold), right, value [kW]; a
    # leaf has 0 on its left
    trees: list[list[list[float]]]

    def heat(self, begins: Instants, inputs: Floats, zone: str | None) -> tuple[Floats, Bools]:
        """Return the heat of each period [kW], of disturbances (N, d), and where it is not off."""
        x = features(begins, inputs, self.hours, zone)
        is_on = np.asarray(((x >= self.low) & (x <= self.high)).all(axis=1))
        found = self.constant + sum(_tree(np.array(tree), x) for tree in self.trees)
        if self.slope:
            found = found + x @ self.slope
        return np.where(is_on, np.clip(found, -self.most, self.most), 0.0), is_on


def _tree(nodes: Floats, x: Floats) -> Floats:
    """Return the values of the leaves that rows (N, f) fall into."""
    place, rows = np.zeros(len(x), dtype=np.intp), np.arange(len(x))
    while (inner := nodes[place, 2] > 0).any():
        feature, threshold, left, right, _ = nodes[place].T
        side = np.where(x[rows, feature.astype(np.intp)] <= threshold, left, right)
        place = np.where(inner, side.astype(np.intp), place)
    return np.asarray(nodes[place, 4])


@dataclass(frozen=True)
class Residual:
    """A residual that was tried."""

    kind: str
    heat: Floats  # into the room in each period of the record, shape (N,). [kW]
    function: Learnt
    on: float  # share of the periods held back that lie in the range that was fitted
    # without, errors: on what was held back, without it and with it
    without: Errors
    errors: Errors
    fit: Fit  # the structure with the residual as its last driver

    @property
    def is_kept(self) -> bool:
        """Whether it is better on all that was held back: simulated, and furthest ahead."""
        one, other = (
            (e.simulation, *list(e.ahead.values())[-1:]) for e in (self.errors, self.without)
        )
        return all(a < b for a, b in zip(one, other, strict=True))

    def to_dict(self) -> dict[str, Any]:
        """Return all but the series as JSON."""
        found: dict[str, Any] = {"kind": self.kind, "kept": self.is_kept}
        found |= {"largest_kw": self.function.most, "inside_its_range": self.on}
        for name, e in (("without", self.without), ("with", self.errors)):
            found[name] = {"ahead": dict(e.ahead), "simulation": e.simulation}
        return found


def learnt(kind: str, found: Fit, data: Measurements, begin: int, seed: int = 0) -> Residual:
    """Return a residual that is fitted before period ``begin`` and judged on what lies behind.

    Raises InputError for a fit without process noise, whose innovations are errors of a simulation,
    where nothing is held back, or without scikit-learn for boosted trees.
    """
    without = None if found.model.is_quiet else held_back(found, data.record, begin)
    if without is None:
        expected = "--error one-step, and a whole record of ten periods or more held back"
        raise InputError("a residual cannot be judged", data.file, expected=expected)
    drivers, inputs, plain = found.model.drivers, data.record.inputs, found.record
    model = replace(found.model, drivers=(*drivers, HEAT))
    outer = [0, *(k for k in range(2, inputs.shape[1]) if k != model.leak)]
    names, wind = [data.inputs[k] for k in outer], mean_wind(model, data.record)
    x = features(data.begins, inputs[:, outer], data.record.hours, data.zone)
    heat, best = np.zeros(len(x)), found
    for _ in range(ROUNDS):
        response = model.discrete(best.theta[None], data.record.hours, wind)[1][0, 0]
        one = float(response[2 + len(drivers)])
        target = best.filtered.innovation[1:, 0] + one * heat[: len(plain.measured) - 1]
        rows = np.flatnonzero(np.isfinite(target) & np.isfinite(x[: len(target)]).all(axis=1))
        seen, target = x[rows], target[rows] / one
        parts = (_boosted if kind == "boosting" else _ridge)(
            seen, target, -response[outer] / one, seed
        )
        most = float(np.quantile(np.abs(target), BOUND))
        ends = (seen.min(axis=0).tolist(), seen.max(axis=0).tolist(), most)
        function = Learnt(tuple(names), data.record.hours, *ends, *parts)
        heat, is_on = function.heat(data.begins, inputs[:, outer], data.zone)
        best = refined(model, extended(plain, heat), best.theta, best.outliers, best.optima)
    errors = held_back(best, extended(data.record, heat), begin)
    assert errors is not None  # as there are errors without it
    on = float(is_on[begin:].mean())
    return Residual(kind, heat, function, on, without, errors, best)


def extended(record: Record, heat: Floats) -> Record:
    """Return a record with one more input."""
    rows = slice(0, len(record.inputs))
    return replace(record, inputs=np.column_stack((record.inputs, heat[rows])))


def features(begins: Instants, inputs: Floats, hours: float, zone: str | None) -> Floats:
    """Return disturbances (N, d), their means before, and the hour by the clock, shape (N, f)."""
    found = [inputs]
    for window in WINDOWS:
        length = max(round(window / hours), 1)
        padded = np.vstack((np.repeat(inputs[:1], length, axis=0), inputs[:-1]))
        view = np.lib.stride_tricks.sliding_window_view(padded, length, axis=0)
        found.append(view[: len(inputs)].mean(axis=-1))
    local = begins + (utc_offsets(begins.astype(np.float64), zone) if zone else 0.0)
    angle = 2 * np.pi * (local % _DAY) / _DAY
    clock = [wave(k * angle) for k in range(1, CLOCK // 2 + 1) for wave in (np.sin, np.cos)]
    return np.column_stack((*found, *clock))


def _ridge(x: Floats, y: Floats, lowest: Floats, _: int) -> tuple[float, list[float], list[Any]]:
    """Return constant and slopes of a ridge regression; ``lowest``: of the first, at least."""
    from scipy.optimize import lsq_linear  # no other command needs it

    floor = np.zeros(x.shape[1])
    floor[: len(lowest)], floor[-CLOCK:] = lowest, -np.inf
    centre, scale = x.mean(axis=0), np.maximum(x.std(axis=0), 1e-9)
    penalty = np.sqrt(_PENALTY * len(y)) * np.eye(x.shape[1])
    rows = np.vstack(((x - centre) / scale, penalty))
    goal = np.concatenate((y - y.mean(), np.zeros(x.shape[1])))
    slope = lsq_linear(rows, goal, bounds=(floor * scale, np.inf)).x / scale
    return float(y.mean() - centre @ slope), slope.tolist(), []


def _boosted(x: Floats, y: Floats, _: Floats, seed: int) -> tuple[float, list[float], list[Any]]:
    """Return constant and boosted trees that are monotone in all but the time of the day."""
    try:
        from sklearn.ensemble import HistGradientBoostingRegressor  # an extra, slow to import
        from threadpoolctl import threadpool_limits
    except ImportError:
        expected = 'pip install "engiagent[learn]", or --residual ridge'
        raise InputError("scikit-learn is not installed", expected=expected) from None
    rising = [1] * (x.shape[1] - CLOCK) + [0] * CLOCK
    trees = HistGradientBoostingRegressor(
        learning_rate=0.05,
        max_iter=150,
        max_leaf_nodes=8,
        min_samples_leaf=40,
        monotonic_cst=rising,
        early_stopping=False,
        random_state=seed,
    )
    with threadpool_limits(1, "openmp"):  # so few rows are slower on many threads
        trees.fit(x, y)
    # scikit-learn has no public view of these nodes; a test holds them against its predictions.
    names, tables = ("feature_idx", "num_threshold", "left", "right", "value"), []
    for (tree,) in trees._predictors:
        tables.append(np.column_stack([tree.nodes[name] for name in names]).tolist())
    return float(trees._baseline_prediction.item()), [], tables
