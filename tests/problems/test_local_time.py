"""Local time as instants, against pandas, which has its own reading of the zone tables."""

import numpy as np
import pandas as pd
import pytest

from engiagent.blueprint.timeaxis import clock_instants

ZONES = (
    "Europe/Berlin",
    "America/New_York",
    "America/St_Johns",
    "Australia/Lord_Howe",
    "Africa/Casablanca",
    "Asia/Kathmandu",
    "Pacific/Apia",
    "UTC",
)


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("year", [2011, 2025])
def test_every_half_hour_of_a_year(zone: str, year: int) -> None:
    start = np.datetime64(f"{year}-01-01", "s").astype(np.int64)
    wall = start + 1800 * np.arange(2 * 24 * 365)
    index = pd.DatetimeIndex(wall.astype("M8[s]"))
    for found, is_first in zip(clock_instants(wall, zone), (True, False), strict=True):
        ambiguous = np.full(len(wall), is_first)
        expected = index.tz_localize(zone, ambiguous=ambiguous, nonexistent="NaT")
        utc = expected.tz_convert("UTC").tz_localize(None).to_numpy().astype("M8[s]")
        assert np.array_equal(np.isnan(found), np.isnat(utc))
        there = ~np.isnat(utc)
        assert np.array_equal(found[there], utc[there].astype(np.int64))
