r"""Tools on series of sensors: forecasts with intervals, anomalies, changes, drifts of performance.

Intervals and alarms are conformal: they rest on how often past residuals were as large and on no
distribution. The half-width of an interval is the :math:`\lceil (n+1)(1-\alpha) \rceil`-th smallest
of n absolute residuals of a calibration set that the model has not seen (Lei et al. 2018,
doi:10.1080/01621459.2017.1307116); so is the threshold of an alarm. They hold where the future is
exchangeable with the calibration, so that what was measured on a test set stands beside the stated.
"""

import functools
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from engiagent.errors import InputError
from engiagent.report.charts import Axis, Band, Curve, Panel
from engiagent.study.economics.cashflow import Floats
from engiagent.tools.asset import forecasting
from engiagent.tools.asset import history as iot
from engiagent.tools.modelling import plain
from engiagent.tools.registry import Json, Outcome, State

_DAY: Final = 24.0
_MOST_PERIODS: Final = 1_000_000
_LEAST_CALIBRATED: Final = 30
_WEEK: Final = 7
_FEWEST: Final = 10  # days of a reference


def conformal_width(residuals: Floats, level: float) -> float:
    """Return the half-width that covers a new residual at least as often as stated.

    >>> conformal_width(np.arange(1.0, 100.0), 0.9)
    90.0
    """
    rank = int(np.ceil((len(residuals) + 1) * level))
    if rank > len(residuals):
        needed = int(np.ceil(level / (1 - level)))
        said = f"{len(residuals)} periods are too few for a level of {level:g}"
        raise InputError(said, expected=f"at least {needed}")
    return float(np.sort(np.abs(residuals))[rank - 1])


def _filled(history: iot.History, hours: float) -> tuple[Floats, Floats]:
    """Return starts by the clock [s] and means of all periods of a span, NaN where none is good."""
    starts, means = history.means(hours)
    starts = np.floor((starts + history.ahead(starts)) / (hours * iot.HOUR) + 1e-6)
    places = (starts - starts[0]).astype(int)
    if places[-1] > _MOST_PERIODS:
        said = f"{places[-1]} periods of {hours:g} h"
        raise InputError(said, history.sensor.data, expected=f"at most {_MOST_PERIODS}")
    values = np.full(places[-1] + 1, np.nan)
    values[places] = means
    return (starts[0] + np.arange(len(values))) * hours * iot.HOUR, values


@iot.asset_tool(
    "register sensor forecast",
    "sensor unit model: text; stamps: list of text; values low high: list of number; "
    "level measured_coverage mean_absolute_error: number; error_of_last_day: number or null; "
    "tested_periods: count; notes: list of text",
    access="write",
)
def tsfm_forecast(state: State, given: Json) -> Outcome:
    """Forecast a sensor with intervals of a stated level, and how often such intervals held.

    The model is of the first three fifths of the history, or a foundation model that is not
    fitted; of the rest the first half gives the interval that the second half tests.
    error_of_last_day is that of repeating the value a day before, which a forecast should beat.
    """
    (history,) = iot.histories(state, given, [given["sensor"]])
    hours, level = given["every"], given["level"]
    steps = max(1, int(np.ceil(given["horizon"] / hours - 1e-6)))
    starts, values = _filled(history, hours)
    state.watch.tell("forecasting")
    if "weights" in given:
        ahead = forecasting.by_weights(state.root, given["weights"], values, steps)
    else:
        ahead = forecasting.by_trees(starts, values, steps, hours)
    residuals, half = values[ahead.rows] - ahead.values, len(ahead.rows) // 2
    width, tested = conformal_width(residuals[:half], level), residuals[half:]
    coverage = float((np.abs(tested) <= width).mean())
    width = conformal_width(residuals, level)  # of all that the model has not seen
    days = max(1, round(_DAY / hours))
    before = ahead.rows[half:] - -(-steps // days) * days
    last_day = values[ahead.rows[half:]] - np.where(before >= 0, values[before], np.nan)
    found, stamps = ahead.coming, starts[-1] + np.arange(1, steps + 1) * hours * iot.HOUR
    said = f"known the whole horizon before it: {steps} periods, {steps * hours:g} h"
    notes = [f"every period is forecast from what was {said}"]
    last_day = last_day[np.isfinite(last_day)]
    content = {
        **{"sensor": given["sensor"], "unit": str(history.sensor.unit), "model": ahead.model},
        **{"stamps": history.labels(stamps - history.ahead(stamps)), "values": found.tolist()},
        **{"low": (found - width).tolist(), "high": (found + width).tolist(), "level": level},
        "measured_coverage": coverage,
        "mean_absolute_error": float(np.abs(tested).mean()),
        "error_of_last_day": float(np.abs(last_day).mean()) if len(last_day) else None,
        **{"tested_periods": len(tested), "notes": notes},
    }
    past = slice(-7 * days, None)
    edges = [np.append(s, s[-1] + hours * iot.HOUR) for s in (starts[past], stamps)]
    measured = Curve("measured", edges[0], values[past], "step")
    curves = measured, Curve("forecast", edges[1], found, "step")
    band = Band(f"{level:.0%} interval", edges[1], found - width, found + width, "step")
    title, axis = f"{given['sensor']}: forecast", Axis("time", "time", edges[0], ())
    panel = Panel(title, str(history.sensor.unit), axis, curves, (band,))
    return Outcome(plain(content), {}, iot.drawn(state, given, [panel]))


def together(
    shown: Sequence[iot.History], hours: float | None = None
) -> tuple[Floats, list[Floats]]:
    """Return the starts of periods that all have good readings in, and the means of each.

    Periods are as long as the longest usual step without ``hours``, by the clock of the first.
    """
    naive = [h.sensor.name for h in shown if h.clock is None]
    if 0 < len(naive) < len(shown):
        found, expected = ", ".join(naive), "all with one, or with a zone as 'time [Europe/Berlin]'"
        raise InputError("some stamps have no offset from UTC", found=found, expected=expected)
    hours = max(h.step for h in shown) / iot.HOUR if hours is None else hours
    if not hours > 0:
        raise InputError("a sensor has no two readings at different times")
    each = [history.means(hours, shown[0]) for history in shown]
    starts = functools.reduce(np.intersect1d, (own for own, _ in each))
    if not len(starts):
        raise InputError("the sensors have no period in common")
    return starts, [means[np.isin(own, starts)] for own, means in each]


def quadratic(drivers: Sequence[Floats], sound: iot.Flags) -> list[Floats]:
    """Return drivers and their squares, in the deviations of a reference."""
    sound = sound if sound.any() else ~sound  # what is refused later
    scaled = ((d - d[sound].mean()) / (d[sound].std() or 1.0) for d in drivers)
    return [s**p for s in scaled for p in (1, 2)]


def _beyond(drivers: Mapping[str, Floats], sound: iot.Flags, judged: iot.Flags) -> Iterator[str]:
    """Yield which drivers are where the reference had none."""
    for name, driver in drivers.items():
        low, high = driver[sound].min(), driver[sound].max()
        share = float(((driver[judged] < low) | (driver[judged] > high)).mean())
        if share > 0.05:
            yield f"{name} is outside the reference in {share:.0%} of what is judged"


@iot.asset_tool(
    "register sensor anomaly",
    "sensor unit: text; threshold stated_rate measured_rate: number; "
    "tested_periods judged count: count; anomalies: list of object; first: text or null; "
    "notes: list of text",
)
def tsfm_anomaly(state: State, given: Json) -> Outcome:
    """List periods in which a sensor is not what its drivers explain, at a stated false-alarm rate.

    Days of the reference are shared out in turn: of four two are for the model, one for the
    threshold of its residuals, and one for the measured rate of false alarms.
    """
    hours, rate, names = given["every"], given["rate"], [given["sensor"], *given.get("drivers", ())]
    shown = iot.histories(state, given, names)
    starts, (values, *drivers) = together(shown, hours)
    local = starts + shown[0].ahead(starts)
    features = np.column_stack([*drivers, forecasting.calendar(local)[:, :1]])
    sound = local + hours * iot.HOUR <= iot.seconds_of(given["reference_last"])
    where = np.flatnonzero(sound)
    if len(where) < 4 * _LEAST_CALIBRATED or sound.all():
        said = f"{len(where)} of {len(starts)} periods are of the reference"
        raise InputError(said, expected=f"{4 * _LEAST_CALIBRATED} at least, and some after it")
    # blocks of days are shared out in turn, so that a season is in every part
    part = ((local[where] - local[0]) / iot.HOUR // _DAY).astype(int) % 4
    state.watch.tell("fitting")
    predict = forecasting.fitted(features[where[part < 2]], values[where[part < 2]])
    explained = predict(features)
    residuals = values - explained
    threshold = conformal_width(residuals[where[part == 2]], 1 - rate)
    tested = np.abs(residuals[where[part == 3]]) > threshold
    judged = np.flatnonzero(~sound)
    odd = judged[np.abs(residuals[judged]) > threshold]
    notes = list(_beyond(dict(zip(names[1:], drivers, strict=True)), sound, ~sound))
    stamps = shown[0].labels(starts[odd[:500]])
    content = {
        **{"sensor": given["sensor"], "unit": str(shown[0].sensor.unit)},
        **{"threshold": threshold, "stated_rate": rate, "measured_rate": float(tested.mean())},
        **{"tested_periods": len(tested), "judged": len(judged), "count": len(odd)},
        "anomalies": [
            {"stamp": stamp, "value": values[k], "expected": explained[k]}
            for stamp, k in zip(stamps, odd, strict=False)
        ],
        "first": stamps[0] if stamps else None,
        "notes": notes,
    }
    return Outcome(plain(content))


def changes(values: Floats, most: int) -> tuple[list[int], int]:
    """Return where means change: the least squares of segments plus 3 ln n of the noise for each.

    And how many changes are left out: neighbours are merged that raise the squares least.
    Optimal partitioning (Jackson et al. 2005, doi:10.1109/LSP.2001.838216). The noise is that of
    means of a first-order autoregression, from median absolute differences of neighbours and of
    those two apart, which changes do not widen: where neighbours are alike, means wander by chance.
    """
    count = len(values)
    near, far = (np.median(np.abs(values[k:] - values[:-k])) / 0.6745 for k in (1, 2))
    near = float(near or np.std(np.diff(values)) or np.sqrt(2))
    alike = min(max(float(far / near) ** 2 - 1, 0.0), 0.8)  # more cannot be told from few
    penalty = 3 * np.log(count) * near**2 / 2 * (1 + alike) / (1 - alike) ** 2
    sums, squares = (
        np.r_[0.0, np.cumsum(v)] for v in (values - values.mean(), (values - values.mean()) ** 2)
    )
    best, came = np.r_[-penalty, np.full(count, np.inf)], np.zeros(count + 1, dtype=int)
    for end in range(1, count + 1):
        first = np.arange(end)
        length = end - first
        cost = squares[end] - squares[first] - (sums[end] - sums[first]) ** 2 / length
        total = np.where(length >= min(2, end), best[first] + cost + penalty, np.inf)
        came[end] = int(np.argmin(total))
        best[end] = total[came[end]]
    found, end = [], int(came[count])
    while end > 0:
        found.append(end)
        end = int(came[end])
    kept = found[::-1]
    while len(kept) > most:
        length = np.diff(edges := np.array([0, *kept, count]))
        rises = np.diff(np.diff(sums[edges]) / length) ** 2 / (1 / length[1:] + 1 / length[:-1])
        del kept[int(np.argmin(rises))]
    return kept, len(found) - len(kept)


@iot.asset_tool(
    "register sensor changes",
    "sensor unit: text; periods: count; changes: list of object; notes: list of text",
)
def tsfm_change_points(state: State, given: Json) -> Outcome:
    """Find when the mean of a sensor changed, with the means before and after each change."""
    (history,) = iot.histories(state, given, [given["sensor"]])
    starts, means = history.means(given["every"])
    if not 8 <= len(means) <= 5000:
        said = f"{len(means)} periods of {given['every']:g} h"
        raise InputError(said, expected="8 to 5 000 of them; another every")
    found, left_out = changes(means, given.get("most", 5))
    edges = [0, *found, len(means)]
    levels = [float(means[a:b].mean()) for a, b in itertools.pairwise(edges)]
    listed = [
        {"stamp": stamp, "before": levels[n], "after": levels[n + 1]}
        for n, stamp in enumerate(history.labels(starts[found]))
    ]
    notes = ["a slow drift shows as several steps; asset_drift measures it"]
    notes += [f"{left_out} more changes are left out, and lie in the means"] * bool(left_out)
    content = {"sensor": given["sensor"], "unit": str(history.sensor.unit), "periods": len(means)}
    return Outcome(plain({**content, "changes": listed, "notes": notes}))


def residuals(
    target: Floats, columns: Sequence[Floats], days: Floats, sound: iot.Flags
) -> tuple[Floats, iot.Flags]:
    """Return what a fit to a reference leaves of a target, and which periods are like it.

    Days of the reference are left out of the fit that judges them, a fifth of it at a time.
    """
    design, known, after = np.column_stack(columns), np.unique(days[sound]), days[~sound]
    if len(known) < _FEWEST or not len(after):
        said = f"{len(known)} days of the reference, {len(np.unique(after))} after it"
        raise InputError(said, expected=f"{_FEWEST} of it at least, and some after it")

    def away(own: iot.Flags) -> Floats:
        return np.asarray(target - design @ np.linalg.lstsq(design[own], target[own])[0])

    rest = away(sound)
    for fold in np.array_split(known, 5):
        held = sound & np.isin(days, fold)
        rest[held] = away(sound & ~held)[held]
    ends = design[sound].min(axis=0), design[sound].max(axis=0)
    return rest, ((design >= ends[0]) & (design <= ends[1])).all(axis=1)


def shift(before: Floats, after: Floats) -> tuple[float, float, float]:
    """Return the difference of two means of days, its standard deviation and degrees of freedom.

    Neighbouring days are alike: the variance of both means counts correlations of days up to a week
    apart, as they were before, with flat-top weights (Politis and Romano 1995,
    doi:10.1111/j.1467-9892.1995.tb00223.x). These are freed of what the mean of so few days takes
    off them: the share that it has of the variance, which is found with them.
    """
    count, rest = len(before), before - before.mean()
    lags = np.arange(1, min(_WEEK, count))
    weights = np.minimum(2 * (1 - lags / _WEEK), 1)
    alike = np.array([rest[k:] @ rest[:-k] for k in lags]) / ((rest @ rest) or 1.0)
    alike *= count / (count - lags)
    part = float(weights @ alike)
    wider = (1 + 2 * part) / max(1 + 2 * (part - weights.sum()) / count, 0.25)
    wider = min(max(wider, 1.0), count / 2)
    alike = weights * (alike * (1 - wider / count) + wider / count)
    later = max(1.0, 1 + 2 * float(np.maximum(1 - lags / len(after), 0) @ alike))
    variance = float(rest @ rest) / (count - wider)
    spread = np.sqrt(variance * (wider / count + later / len(after)))
    return float(after.mean() - before.mean()), float(spread), max(count / wider - 1, 1.0)


@iot.asset_tool(
    "register drift",
    "performance: text; factor least most level explained: number; drifted: flag; "
    "reference_days recent_days: count; notes: list of text",
)
def asset_drift(state: State, given: Json) -> Outcome:
    """Find by which factor a performance has changed since a reference, with an interval.

    The logarithm of output over input is explained by the drivers in the reference (quadratic,
    least squares); the factor is the exponential of what recent days differ by, with an interval
    that counts that neighbouring days are alike. Days of the reference are judged by fits without
    them.
    """
    from scipy import stats

    level, drivers = given.get("level", 0.9), given.get("drivers", [])
    above = [given["output"], given["input"]] if "output" in given else [given["input"]]
    starts, columns = together(shown := iot.histories(state, given, [*above, *drivers]))
    starts += shown[0].ahead(starts)
    powers, explained = columns[: len(above)], columns[len(above) :]
    works = np.all([p > 0 for p in powers], axis=0)
    starts, powers = starts[works], [p[works] for p in powers]
    explained = [e[works] for e in explained]
    ratio = np.log(powers[0] / powers[1]) if len(above) == 2 else np.log(powers[0])
    sound = starts <= iot.seconds_of(given["reference_last"])
    recent = (starts >= iot.seconds_of(given["recent_first"])) & ~sound
    days = starts // (_DAY * iot.HOUR)
    columns = [np.ones_like(ratio), *quadratic(explained, sound)]
    rest, _ = residuals(ratio, columns, days, sound)
    before, after = (
        np.array([rest[own & (days == day)].mean() for day in np.unique(days[own])])
        for own in (sound, recent)
    )
    if len(after) < 3:
        raise InputError(f"{len(after)} recent days", expected="3 at least")
    by, spread, freedom = shift(before, after)
    half = float(stats.t.ppf(0.5 + level / 2, freedom)) * spread
    notes = [] if works.all() else [f"{int((~works).sum())} periods at or below 0 are left out"]
    notes += _beyond(dict(zip(drivers, explained, strict=True)), sound, recent)
    content: dict[str, Any] = {
        "performance": " over ".join(above),
        **{"factor": np.exp(by), "least": np.exp(by - half), "most": np.exp(by + half)},
        **{"level": level, "drifted": abs(by) > half},
        **{"reference_days": len(before), "recent_days": len(after)},
        "explained": 1 - rest[sound].var() / (ratio[sound].var() or 1.0),
        "notes": notes,
    }
    return Outcome(plain(content))
