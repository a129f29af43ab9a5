"""Forecasts of a series, each from what was known the whole horizon before its period.

Two ways behind one form: trees on lags and calendar that are fitted to the history, and a
foundation model that is not fitted, whose weights are on this machine.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from engiagent.errors import InputError
from engiagent.study.economics.cashflow import Floats
from engiagent.tools.asset.history import HOUR
from engiagent.tools.places import inside

_DAY: Final = 24.0
_LEAST: Final = 60  # forecasts beside the history
_SEEN: Final = 512
"""Periods that a foundation model sees: the least context that the Chronos family takes."""
_WINDOWS: Final = 300
"""Periods of the history that it forecasts, spread evenly: each is a run of the model."""
_CACHED: Final = re.compile(r"\w[\w.-]*/\w[\w.-]*")


class Ahead(NamedTuple):
    """Forecasts of periods that were not fitted."""

    model: str
    rows: np.ndarray  # places in the history, in order; all have a reading
    values: Floats  # forecasts of them
    coming: Floats  # of the periods after the history


def calendar(starts: Floats) -> Floats:
    """Return hour of day and day of week of stamps [s], shape (N, 2)."""
    day = starts / HOUR / _DAY
    return np.column_stack([day % 1 * 24, (np.floor(day) + 3) % 7])


def fitted(features: Floats, target: Floats) -> Any:
    """Return the function of gradient boosted trees."""
    try:
        from sklearn.ensemble import HistGradientBoostingRegressor  # slow to import, an extra
        from threadpoolctl import threadpool_limits
    except ImportError:
        expected = 'pip install "engiagent[asset]"'
        raise InputError("scikit-learn is not installed", expected=expected) from None
    trees = HistGradientBoostingRegressor(max_iter=150, random_state=0, early_stopping=False)
    with threadpool_limits(1, "openmp"):  # so few rows are slower on many threads
        trees.fit(features, target)
    return lambda given: np.asarray(trees.predict(given), dtype=np.float64)


def by_trees(starts: Floats, values: Floats, steps: int, hours: float) -> Ahead:
    """Forecast by trees that are fitted to the first three fifths of the history."""
    lag = max(1, round(_DAY / hours))
    reach = -(-steps // lag) * lag  # whole days, so that each lag is known when it is used
    lags = sorted({steps, steps + 1, steps + 2, reach, reach + lag, reach + 6 * lag})
    count = len(values)
    rows = np.arange(max(lags), count)
    rows = rows[np.isfinite(values[rows])]
    cut = _first_unseen(rows)

    def features(at: Any, when: Floats) -> Floats:
        return np.column_stack([*(values[at - k] for k in lags), calendar(when)])

    seen = rows[:cut]
    predict = fitted(features(seen, starts[seen]), values[seen])
    coming = count + np.arange(steps)
    ahead = features(coming, starts[0] + coming * hours * HOUR)
    left = rows[cut:]
    name = "gradient boosting (scikit-learn) on lags and calendar"
    return Ahead(name, left, predict(features(left, starts[left])), predict(ahead))


def by_weights(root: Path, weights: str, values: Floats, steps: int) -> Ahead:
    """Forecast by a model of the Chronos family (Ansari et al. 2024, arXiv:2403.07815).

    ``weights``: a folder below ``root``, or the name of what the Hugging Face cache of this machine
    has; nothing is fetched, and no code that lies beside weights is run.
    """
    count = len(values)
    rows = np.arange(steps, count)
    rows = rows[np.isfinite(values[rows])]
    rows = rows[_first_unseen(rows) :]
    rows = rows[np.unique(np.linspace(0, len(rows) - 1, _WINDOWS).astype(int))]
    known = [*(rows - steps + 1), count]
    found = _chronos(root, weights, [values[max(0, k - _SEEN) : k] for k in known], steps)
    return Ahead(f"{weights}, not fitted", rows, found[:-1, -1], found[-1])


def _chronos(root: Path, weights: str, seen: Sequence[Floats], steps: int) -> Floats:
    """Return means of what a model expects after each series, shape (series, steps)."""
    try:
        import torch
        from chronos import BaseChronosPipeline
    except ImportError:
        expected = "pip install chronos-forecasting"
        raise InputError("foundation models need Chronos", expected=expected) from None
    is_cached = _CACHED.fullmatch(weights) and not (root / weights).exists()
    place = weights if is_cached else str(inside(root, weights))
    safe: Any = {"local_files_only": True, "use_safetensors": True, "device_map": "cpu"}
    try:
        pipeline = BaseChronosPipeline.from_pretrained(place, **safe)
    except (OSError, ValueError, KeyError, AttributeError) as error:
        said, expected = str(error).splitlines()[0], "a Chronos model that is on this machine"
        raise InputError(f"no weights: {said}", weights, expected=expected) from None
    torch.manual_seed(0)  # some of them draw their forecasts
    given = [torch.tensor(s, dtype=torch.float32) for s in seen]
    with torch.no_grad():
        _, means = pipeline.predict_quantiles(given, prediction_length=steps, quantile_levels=[0.5])
    found = np.array([np.asarray(mean, dtype=np.float64).reshape(-1) for mean in means])
    if not np.isfinite(found).all():
        raise InputError("the model forecasts no numbers", weights)
    return found


def _first_unseen(rows: np.ndarray) -> int:
    """Return how many rows are for the fit; InputError when too few are left."""
    cut = int(len(rows) * 0.6)
    if len(rows) - cut < _LEAST:
        said = f"{len(rows)} periods with all that a forecast of them needs"
        raise InputError("the history is too short", found=said, expected="150 at least")
    return cut
