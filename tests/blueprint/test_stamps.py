"""Stamps read all at once are those that Python reads one by one."""

from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engiagent.blueprint.stamps import plain_seconds, stamp_seconds, with_iso_stamps
from engiagent.errors import InputError
from engiagent.io.tabular import TableColumn

FORMS = st.sampled_from(["%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M:%S"])
TIMES = st.lists(
    st.datetimes(min_value=datetime(1890, 1, 1), max_value=datetime(2190, 1, 1)),
    min_size=1,
    max_size=6,
)
OFFSETS = st.sampled_from(["", "Z", "+01:00", "-05:30"])


@given(TIMES, FORMS, st.lists(OFFSETS, min_size=6, max_size=6), st.booleans())
def test_they_are_those_read_one_by_one(
    times: list[datetime], form: str, offsets: list[str], same: bool
) -> None:
    suffixes = [offsets[0]] * len(times) if same else offsets[: len(times)]
    if len({bool(suffix) for suffix in suffixes}) > 1:
        return
    texts = tuple(t.strftime(form) + s for t, s in zip(times, suffixes, strict=True))
    seconds, zoned = stamp_seconds(texts)
    assert zoned == bool(suffixes[0])
    for text, found in zip(texts, seconds, strict=True):
        stamp = datetime.fromisoformat(text)
        aware = stamp if stamp.tzinfo is not None else stamp.replace(tzinfo=UTC)
        assert found == (aware - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(seconds=1)


@pytest.mark.parametrize(
    "text",
    [
        "2025-02-29T00:00",
        "2025-13-01T00:00",
        "2025-00-10T00:00",
        "2025-01-10T24:00",
        "2025-01-10T10:60",
        "2025-01-10x10:00",
        "2025-01-1OT10:00",
        "2025-01-10T10:00+25:00",
        "2025-01-10T10:00\n",
        "2025-01-10T10:0",
        "٢٠٢٥-01-10T10:00",
    ],
)
def test_what_is_no_time_is_not_read_as_one(text: str) -> None:
    assert plain_seconds(("2025-01-10T09:00", text)) is None
    seconds, _ = stamp_seconds(("2025-01-10T09:00", text))
    assert np.isnan(seconds[1]) == (not _readable(text.strip()))


def _readable(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def test_both_sides_of_a_change_of_the_clock() -> None:
    texts = ("2025-10-26T02:30+02:00", "2025-10-26T02:30+01:00")
    seconds, _ = stamp_seconds(texts)
    assert seconds[1] - seconds[0] == 3600
    berlin = timezone(timedelta(hours=2))
    assert seconds[0] == datetime(2025, 10, 26, 2, 30, tzinfo=berlin).timestamp()


@given(TIMES, st.sampled_from(["%d.%m.%Y %H:%M", "%m/%d/%Y %H:%M:%S"]))
def test_dates_as_spreadsheets_write_them_are_those_of_iso(
    times: list[datetime], form: str
) -> None:
    """The last one has a day above 12, so that the order of day and month is known."""
    times = [*times, datetime(2025, 7, 31)]
    seconds = stamp_seconds(_column([t.strftime(form) for t in times]).texts())[0]
    exact = "%Y-%m-%dT%H:%M:%S" if "%S" in form else "%Y-%m-%dT%H:%M"
    assert np.array_equal(seconds, stamp_seconds(tuple(t.strftime(exact) for t in times))[0])


@pytest.mark.parametrize("texts", [["01/07/2025", "02/07/2025"], ["13/07/2025", "07/13/2025"]])
def test_day_and_month_are_not_guessed(texts: list[str]) -> None:
    with pytest.raises(InputError, match="day and month"):
        _column(texts)


def _column(texts: list[str]) -> TableColumn:
    return with_iso_stamps(TableColumn("a.csv", "time", "time", "", 1, tuple(texts)))
