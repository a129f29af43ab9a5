import numpy as np
import pandas as pd
import pytest

from engiagent.models.buildings.gains import WeekProfile
from engiagent.models.ranges import ParameterError


def office() -> WeekProfile:
    return WeekProfile(
        weekday=(0.0,) * 16 + (1.0,) * 20 + (0.0,) * 12,  # half hours: 8 to 18
        saturday=(0.25,),
        sunday=(0.0,),
        special={"2026-05-01": (0.0,)},
    )


def test_a_week_has_its_hours_whatever_the_step() -> None:
    for step in (1 / 60, 0.25, 0.75, 1.0, 24.0):
        count = round(7 * 24 / step)
        starts = pd.date_range("2026-02-02", periods=count, freq=pd.Timedelta(hours=step))
        total = office().shares(starts, step).sum() * step
        assert total == pytest.approx(5 * 10 + 24 * 0.25, rel=1e-12)


def test_profiles_follow_the_clock_on_the_wall_through_summer_time_and_holidays() -> None:
    # Sunday 29 March 2026 has 23 hours in Berlin; Monday's work begins at 6:00 UTC.
    starts = pd.date_range("2026-03-29", periods=47, freq="h", tz="Europe/Berlin")
    shares = office().shares(starts, 1.0)
    first = starts[np.flatnonzero(shares)[0]]
    assert first == pd.Timestamp("2026-03-30 08:00", tz="Europe/Berlin")
    assert first.tz_convert("UTC").hour == 6
    holiday = pd.date_range("2026-05-01", periods=24, freq="h")
    assert office().shares(holiday, 1.0).sum() == 0.0
    # Periods that begin within a slot are cut exactly.
    odd = pd.date_range("2026-02-02 07:50", periods=2, freq="20min")
    assert office().shares(odd, 1 / 3) == pytest.approx([0.5, 1.0])


def test_wrong_uses_say_what_is_wrong() -> None:
    with pytest.raises(ParameterError, match="7 shares"):
        WeekProfile(weekday=(1.0,) * 7 + ())
    with pytest.raises(ParameterError, match="whole number of seconds"):
        office().shares(pd.date_range("2026-01-01", periods=1, freq="h"), 1e-5)
