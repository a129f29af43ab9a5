"""Own readers against pvlib's, and hours of a file along horizons with summer time."""

import re
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from engiagent.errors import InputError
from engiagent.io.tabular import read_table
from engiagent.io.weather import Weather, read_weather, series_over, write_series

pvlib = pytest.importorskip("pvlib")
TMY3 = Path(pvlib.__file__).parent / "data" / "723170TYA.CSV"


def epw_text(hours: int = 8760, **changed: str) -> str:
    """A year whose temperature is the number of the hour over 100, less 40."""
    head = [
        changed.get("location", "LOCATION,Koeln,-,DEU,IWEC,105130,50.87,7.17,1.0,99.0"),
        "DESIGN CONDITIONS,0",
        "TYPICAL/EXTREME PERIODS,0",
        "GROUND TEMPERATURES,0",
        "HOLIDAYS/DAYLIGHT SAVINGS,No,0,0,0",
        "COMMENTS 1,made",
        "COMMENTS 2,",
        changed.get("periods", "DATA PERIODS,1,1,Data,Sunday,1/1,12/31"),
    ]
    times = np.datetime64("1999-01-01T00") + np.arange(hours)
    rows = []
    for k, time in enumerate(times.tolist()):
        year = 1983 + time.month  # typical years are put together from months of many
        temperature = changed.get(f"row{k}", f"{k / 100 - 40:.2f}")
        rows.append(
            f"{year},{time.month},{time.day},{time.hour + 1},60,?9?9,{temperature},5.0,80,99900,"
            f"0,0,300,{k % 900},{k % 700},{k % 200},9999,9999,9999,9999,180,3.5,5,5,9.9,77777,9,"
            "999999999,12,0.1,0,88,0.2,0.0,0.0"
        )
    return "\n".join([*head, *rows]) + "\n"


@pytest.fixture(scope="module")
def epw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("weather") / "koeln.epw"
    path.write_text(epw_text(), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def weather(epw: Path) -> Weather:
    return read_weather(epw)


def test_epw_as_pvlib_reads_it(epw: Path, weather: Weather) -> None:
    frame, about = pvlib.iotools.read_epw(epw)
    for ours, theirs in {
        "dry_bulb_temperature": "temp_air",
        "dew_point_temperature": "temp_dew",
        "global_horizontal_radiation": "ghi",
        "direct_normal_radiation": "dni",
        "diffuse_horizontal_radiation": "dhi",
        "atmospheric_pressure": "atmospheric_pressure",
        "wind_speed": "wind_speed",
        "wind_direction": "wind_direction",
        "liquid_precipitation": "liquid_precipitation_depth",
        "albedo": "albedo",
    }.items():
        assert np.array_equal(weather.column(ours), frame[theirs].to_numpy(dtype=float)), ours
    assert np.array_equal(weather.hour, frame.index.hour)
    assert np.array_equal(weather.month, frame.index.month)
    assert (weather.latitude, weather.longitude) == (about["latitude"], about["longitude"])
    assert (weather.offset, weather.elevation) == (about["TZ"], about["altitude"])


def test_tmy3_as_pvlib_reads_it() -> None:
    weather = read_weather(TMY3)
    frame, about = pvlib.iotools.read_tmy3(TMY3, coerce_year=1990, map_variables=True)
    for ours, theirs, factor in (
        ("dry_bulb_temperature", "temp_air", 1.0),
        ("global_horizontal_radiation", "ghi", 1.0),
        ("direct_normal_radiation", "dni", 1.0),
        ("atmospheric_pressure", "pressure", 100.0),
        ("wind_speed", "wind_speed", 1.0),
        ("precipitable_water", "precipitable_water", 10.0),
    ):
        theirs_values = frame[theirs].to_numpy(dtype=float) * factor
        assert np.array_equal(weather.column(ours), theirs_values), ours
    assert weather.place == "GREENSBORO PIEDMONT TRIAD INT, NC"
    assert (weather.offset, weather.latitude) == (about["TZ"], about["latitude"])
    # pvlib names an hour by its end.
    assert np.array_equal((weather.hour + 1) % 24, frame.index.hour)


def test_summer_time_moves_nothing(weather: Weather) -> None:
    berlin = ZoneInfo("Europe/Berlin")
    # Noon on 1 July is 11:00 by standard time: hour 181 · 24 + 11 of the year.
    start = datetime(2026, 7, 1, 12, tzinfo=berlin)
    found = series_over(weather, "dry_bulb_temperature", start, 1.0, 3)
    assert found == pytest.approx((181 * 24 + 11 + np.arange(3)) / 100 - 40)
    plain = series_over(weather, "dry_bulb_temperature", datetime(2026, 7, 1, 12), 1.0, 3)
    assert plain == pytest.approx(found + 0.01)


def test_a_table_that_every_reader_takes(weather: Weather, tmp_path: Path) -> None:
    start = datetime(2026, 10, 25, tzinfo=ZoneInfo("Europe/Berlin"))
    names = ["dry_bulb_temperature", "global_horizontal_radiation"]
    write_series(tmp_path / "w.csv", weather, names, start, 1.0, 25)
    table = read_table(tmp_path, "w.csv")
    assert table.column("dry_bulb_temperature").unit_text == "degC"
    assert np.array_equal(
        table.column("dry_bulb_temperature").numbers(),
        series_over(weather, "dry_bulb_temperature", start, 1.0, 25),
    )
    assert table.column("time").texts()[2:4] == (
        "2026-10-25T02:00:00+02:00",
        "2026-10-25T02:00:00+01:00",
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("time,price\n1,2\n", "no weather file"),
        (epw_text(3, row1="warm"), r"w\.epw:10:7: no number.*warm"),
        (epw_text(3, periods="DATA PERIODS,1,2,Data,Sunday,1/1,12/31"), "several records"),
        (epw_text(3, location="LOCATION,Köln"), "LOCATION is short"),
        (epw_text(0), "no hours"),
        (epw_text(1).replace(",1,1,1,60", ",13,1,1,60"), "no hour of a year"),
    ],
)
def test_broken_files_say_where(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "w.epw"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_weather(path)
    assert re.search(words, str(caught.value)), str(caught.value)


def test_what_is_missing_is_refused_only_where_it_is_needed(tmp_path: Path) -> None:
    path = tmp_path / "w.epw"
    path.write_text(epw_text(48, row5="99.9"), encoding="utf-8")
    weather = read_weather(path)
    day = series_over(weather, "dry_bulb_temperature", datetime(2023, 1, 2), 1.0, 24)
    assert np.isfinite(day).all()
    with pytest.raises(InputError, match="missing at 2023-01-01T05:00:00"):
        series_over(weather, "dry_bulb_temperature", datetime(2023, 1, 1), 1.0, 24)
    with pytest.raises(InputError, match="has no 2023-01-03T00:00:00"):
        series_over(weather, "dry_bulb_temperature", datetime(2023, 1, 2), 1.0, 25)
    with pytest.raises(InputError, match="divides an hour"):
        series_over(weather, "dry_bulb_temperature", datetime(2023, 1, 1), 0.7, 2)
    with pytest.raises(InputError, match="within an hour"):
        series_over(weather, "dry_bulb_temperature", datetime(2023, 1, 1, 0, 30), 1.0, 2)
    with pytest.raises(InputError, match="no column 'warmth'"):
        series_over(weather, "warmth", datetime(2023, 1, 1), 1.0, 2)
