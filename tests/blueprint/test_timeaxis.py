"""Time: both daylight-saving days, zones, steps of every length, starts with and without a date."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engiagent.blueprint.timeaxis import build_axis

BERLIN = "Europe/Berlin"


def hours(start: str, zone: str | None, periods: int = 30) -> tuple[str, ...]:
    return build_axis(start, "1 h", periods, zone).labels


@given(
    st.datetimes(datetime(1971, 1, 1), datetime(2037, 1, 1)),
    st.sampled_from(["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "UTC"]),
    st.sampled_from([15, 30, 60, 180]),
)
@example(datetime(2025, 3, 29, 23), "Europe/Berlin", 60)  # a day of 23 hours
@example(datetime(2025, 10, 25, 22), "Europe/Berlin", 60)  # and one of 25
def test_labels_clocks_and_weekdays_are_those_of_the_standard_library(
    start: datetime, zone: str, minutes: int
) -> None:
    first = start.replace(second=0, microsecond=0, tzinfo=UTC).astimezone(ZoneInfo(zone))
    axis = build_axis(first.isoformat(), f"{minutes} min", 60, zone)
    for k in range(61):
        moment = (first.astimezone(UTC) + timedelta(minutes=minutes * k)).astimezone(ZoneInfo(zone))
        assert axis.labels[k] == moment.isoformat(timespec="minutes")
        assert axis.clock[k] == pytest.approx(moment.hour + moment.minute / 60, abs=1e-9)
        assert axis.weekday[k] == moment.weekday()


def test_a_start_without_date_wraps_at_midnight_and_counts_the_days() -> None:
    axis = build_axis("22:00", "2 h", 14, BERLIN)
    assert axis.labels[:3] == ("22:00", "00:00+1d", "02:00+1d")
    assert axis.labels[-1] == "02:00+2d"
    assert axis.clock[:3].tolist() == [22, 0, 2]
    assert not axis.dated
    assert len(set(axis.labels)) == 15


@pytest.mark.parametrize(
    ("start", "step", "periods", "zone", "words"),
    [
        ("25:00", "1 h", 2, None, "is no start"),
        ("2025-07-01T00:00+02:00", "1 h", 2, None, "name the zone too"),
        ("2025-07-01", "1 h", 2, "../etc/passwd", "unknown time zone"),
        ("08:00", "0 h", 2, None, "no positive duration"),
        ("08:00", "1 fortnight", 2, None, "is no duration"),
        ("08:00", ("1 h",), 2, None, "1 steps are listed for 2 periods"),
        ("9998-12-31T00:00", "1 d", 2, "UTC", "after the year 9998"),
    ],
)
def test_impossible_times_are_refused(
    start: str, step: str | tuple[str, ...], periods: int, zone: str | None, words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        build_axis(start, step, periods, zone)
