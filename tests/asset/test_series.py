"""What forecasts and alarms state is what they do; drifts and changes are those that were made."""

import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from engiagent.errors import InputError
from engiagent.tools.asset.series import changes, conformal_width, shift
from engiagent.tools.asset.synthetic import SIZES, simulated
from tests.asset.test_history import called, refused, written

REGISTER = {"sensors": "p/sensors.csv"}
DRIFT = {
    **{**REGISTER, "output": "ch1_cooling", "input": "ch1_power"},
    **{"reference_last": "2026-02-23T23:00", "recent_first": "2026-04-08"},
    "drivers": ["ch1_cooling", "outdoor"],
}


def plant(root: Path, fault: str, seed: int = 3, severity: float = 0.5) -> None:
    root.mkdir(exist_ok=True)
    about = {"seed": seed, "days": 100, "fault": fault, "severity": severity}
    called(root, "asset_synthetic", **about, folder="p")


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32), level=st.sampled_from([0.5, 0.8, 0.9]))
def test_a_conformal_width_covers_at_least_as_often_as_stated(seed: int, level: float) -> None:
    rng = np.random.default_rng(seed)
    drawn = rng.standard_t(3, size=(400, 60))
    covered = [abs(r[-1]) <= conformal_width(r[:-1], level) for r in drawn]
    assert np.mean(covered) > level - 4 * np.sqrt(level * (1 - level) / 400)
    with pytest.raises(InputError, match="at least 19"):
        conformal_width(np.ones(18), 0.95)


def test_a_forecast_covers_what_comes_and_beats_yesterday(tmp_path: Path) -> None:
    plant(tmp_path, "none")
    about = {"sensor": "ch1_cooling", "horizon": 24, "level": 0.9, "every": 1}
    found = called(tmp_path, "tsfm_forecast", **REGISTER, **about, picture="ahead.svg")
    assert "90% interval" in (tmp_path / "ahead.svg").read_text("utf-8")
    assert (len(found["values"]), found["stamps"][0]) == (24, "2026-04-15T00:00")
    assert found["measured_coverage"] >= 0.85
    assert found["mean_absolute_error"] < found["error_of_last_day"]


@pytest.mark.parametrize("seed", [3, 4, 5])
def test_a_fouled_condenser_is_found_with_its_factor_and_a_clean_one_is_not(
    tmp_path: Path, seed: int
) -> None:
    plant(tmp_path, "condenser_fouling", seed, severity=0.6)
    found = called(tmp_path, "asset_drift", **{**DRIFT, "level": 0.99})
    cop = simulated(seed, 100, "condenser_fouling", 0.6).cop
    assert cop[-1] == pytest.approx(1 - (0.02 + 0.6 * 0.23), abs=1e-3)
    true = float(np.exp(np.log(cop[93 * 24 :]).mean()))
    assert found["drifted"]
    assert found["least"] <= true <= found["most"]
    plant(tmp_path / "clean", "none", seed)
    assert not called(tmp_path / "clean", "asset_drift", **{**DRIFT, "level": 0.99})["drifted"]
    said = refused(tmp_path, "asset_drift", **{**DRIFT, "recent_first": "2026-04-14"})
    assert "1 recent days" in said
    forecast = {"sensor": "ch1_power", "horizon": 24, "level": 0.9, "every": 24}
    assert "too short" in refused(tmp_path, "tsfm_forecast", **REGISTER, **forecast)


def test_alarms_are_rarer_than_stated_until_the_fault_and_frequent_after(tmp_path: Path) -> None:
    plant(tmp_path, "condenser_fouling", severity=1.0)
    about = {name: DRIFT[name] for name in ("sensors", "drivers", "reference_last")}
    found = called(tmp_path, "tsfm_anomaly", **about, sensor="ch1_power", rate=0.02, every=1)
    assert found["measured_rate"] <= 0.04
    assert found["count"] > 0.3 * found["judged"]
    assert found["first"] >= "2026-02-23"


def test_a_step_is_found_where_it_is(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    values = [*(20 + rng.normal(size=240)), *(24 + rng.normal(size=240))]
    register = written(tmp_path, [float(v) for v in values])
    (found,) = called(tmp_path, "tsfm_change_points", **register, sensor="a", every=6)["changes"]
    assert found["stamp"] == "2026-01-11T00:00"
    assert (found["before"], found["after"]) == pytest.approx((20, 24), abs=0.3)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32))
def test_partitions_are_the_best_of_all_with_one_change(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = np.r_[rng.normal(size=20), 8 + rng.normal(size=20)]
    found, _ = changes(values, 1)
    costs = [
        ((values[:k] - values[:k].mean()) ** 2).sum()
        + ((values[k:] - values[k:].mean()) ** 2).sum()
        for k in range(2, 39)
    ]
    assert found == [2 + int(np.argmin(costs))]


def days_that_are_alike(rng: np.random.Generator, count: int, alike: float) -> np.ndarray:
    found = rng.normal(size=count)
    found[1:] *= np.sqrt(1 - alike**2)
    for day in range(1, count):
        found[day] += alike * found[day - 1]
    return found


@pytest.mark.parametrize(("alike", "least"), [(0.0, 0.88), (0.3, 0.85), (0.6, 0.83), (0.8, 0.81)])
def test_intervals_of_a_drift_hold_nearly_as_often_as_stated_where_days_are_alike(
    alike: float, least: float
) -> None:
    rng, held = np.random.default_rng(1), []
    for _ in range(1500):
        days = days_that_are_alike(rng, 64, alike)
        by, spread, freedom = shift(days[:50], days[50:])
        held.append(abs(by) <= stats.t.ppf(0.95, freedom) * spread)
    assert least <= np.mean(held) <= 0.95  # stated: 0.9


@pytest.mark.parametrize(("alike", "most"), [(0.0, 0.05), (0.3, 0.12), (0.6, 0.3)])
def test_days_that_wander_by_chance_are_rarely_a_change(alike: float, most: float) -> None:
    rng = np.random.default_rng(1)
    alarms = [bool(changes(days_that_are_alike(rng, 200, alike), 5)[0]) for _ in range(100)]
    assert np.mean(alarms) <= most


def test_changes_that_are_left_out_are_noted_and_means_are_those_of_the_segments(
    tmp_path: Path,
) -> None:
    days = np.arange(100 * 24) // 24
    pulses = sum((days >= k) & (days < k + 4) for k in (10, 25, 40, 55, 70))
    values = 20 + 10 * pulses + np.random.default_rng(5).normal(size=len(days))
    register = written(tmp_path, [float(v) for v in values])
    about = {**register, "sensor": "a", "every": 24}
    found = called(tmp_path, "tsfm_change_points", **about, most=10)
    edges = [str(np.datetime64("2026-01-01") + k + d) for k in (10, 25, 40, 55, 70) for d in (0, 4)]
    assert [change["stamp"][:10] for change in found["changes"]] == edges
    assert len(found["notes"]) == 1
    found = called(tmp_path, "tsfm_change_points", **about)
    assert found["notes"][1].startswith("5 more changes are left out")
    daily = pd.Series(values.reshape(-1, 24).mean(axis=1), pd.date_range("2026-01-01", periods=100))
    places = [0, *(daily.index.get_loc(change["stamp"]) for change in found["changes"]), 100]
    means = [daily.iloc[a:b].mean() for a, b in itertools.pairwise(places)]
    assert len(means) == 6
    assert [c["before"] for c in found["changes"]] == pytest.approx(means[:-1])
    assert [c["after"] for c in found["changes"]] == pytest.approx(means[1:])


def test_levels_and_rates_are_below_one_and_horizons_whole_periods(tmp_path: Path) -> None:
    plant(tmp_path, "none")
    about = {**REGISTER, "sensor": "ch1_cooling", "every": 5, "horizon": 7}
    found = called(tmp_path, "tsfm_forecast", **about, level=0.5)
    assert len(found["values"]) == 2
    assert found["notes"][0].endswith("the whole horizon before it: 2 periods, 10 h")
    assert "above 0, below 1" in refused(tmp_path, "tsfm_forecast", **about, level=1)
    alarm = {"sensor": "ch1_power", "reference_last": "2026-02-23", "every": 1, "rate": 1}
    assert "above 0, below 1" in refused(tmp_path, "tsfm_anomaly", **REGISTER, **alarm)


def test_the_same_seed_makes_the_same_plant() -> None:
    for fault in SIZES:
        one, other = simulated(7, 30, fault).shown, simulated(7, 30, fault).shown
        assert all(np.array_equal(one[name], other[name]) for name in one)
    clean, made = simulated(7, 30, "none").shown["ahu1_mixed"], simulated(7, 30, "stuck_damper")
    assert np.array_equal(clean[: made.begins], made.shown["ahu1_mixed"][: made.begins])
    assert not np.allclose(clean, made.shown["ahu1_mixed"])
