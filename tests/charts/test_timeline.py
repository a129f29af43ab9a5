from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import numpy as np
import pytest
import xarray
from hypothesis import given
from hypothesis import strategies as st

from engiagent.report.charts.scene import thin
from engiagent.report.charts.timeline import nice_ticks, read_axis, time_ticks

FINITE = st.floats(-1e9, 1e9, allow_nan=False)


@given(FINITE, st.floats(1e-3, 1e9), st.integers(2, 12))
def test_ticks_are_round_even_and_inside(low: float, span: float, most: int) -> None:
    high = low + span
    ticks = nice_ticks(low, high, most)
    slack = 1e-6 * span + 1e-9 * max(abs(low), abs(high))
    assert all(low - slack <= tick <= high + slack for tick in ticks)
    assert len(ticks) <= most + 1
    if len(ticks) > 2:
        steps = np.diff(ticks)
        assert np.allclose(steps, steps[0], rtol=1e-6, atol=slack)
        assert f"{steps[0]:.0e}"[0] in "125"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_ticks_of_no_range_do_not_hang(value: float) -> None:
    assert len(nice_ticks(0.0, value, 5)) <= 1
    assert len(nice_ticks(value, 1.0, 5)) <= 1


@given(st.integers(2, 3000), st.integers(5, 80), st.randoms(use_true_random=False))
def test_thinning_keeps_both_ends_and_every_extreme(
    size: int, columns: int, random: object
) -> None:
    rng = np.random.default_rng(size * 97 + columns)
    places, values = np.arange(size, dtype=float), rng.normal(size=size)
    x, y = thin(places, values, columns)
    assert len(x) <= max(size if size <= 4 * columns else 4 * columns, 2)
    assert (x[0], x[-1]) == (places[0], places[-1])
    assert (y.min(), y.max()) == (values.min(), values.max())
    assert np.all(np.diff(x) > 0)
    assert np.array_equal(values[x.astype(int)], y)


@given(
    st.datetimes(datetime(2000, 1, 1), datetime(2035, 1, 1)),
    st.floats(600, 400 * 86400),
    st.sampled_from(["Europe/Berlin", "America/New_York", "Asia/Kolkata", None]),
)
def test_time_ticks_are_round_wall_clock_times(
    start: datetime, span: float, zone: str | None
) -> None:
    low = start.replace(tzinfo=UTC).timestamp()
    ticks = time_ticks(low, low + span, 12, zone)
    assert len(ticks) <= 14
    assert all(low <= place <= low + span for place, _ in ticks)
    for place, label in ticks:
        local = datetime.fromtimestamp(place, ZoneInfo(zone) if zone else UTC)
        assert local.second == 0
        if ":" in label:
            assert label == local.strftime("%H:%M")
        else:
            assert local.hour == local.minute == 0


def test_the_hour_that_does_not_exist_has_no_tick() -> None:
    start = datetime(2025, 3, 29, 23, tzinfo=UTC).timestamp()
    labels = [label for _, label in time_ticks(start, start + 23 * 3600, 30, "Europe/Berlin")]
    assert labels[:4] == ["30 Mar", "01:00", "03:00", "04:00"]
    assert labels[-1] == "31 Mar"


def test_an_unknown_zone_does_no_harm() -> None:
    times = np.array(["2025-01-01", "2025-01-02"], dtype="datetime64[ns]")
    array = xarray.DataArray(times, dims="T", name="T", attrs={"zone": "../../etc/passwd"})
    assert read_axis(array).labels[0] == "2025-01-01 00:00"
