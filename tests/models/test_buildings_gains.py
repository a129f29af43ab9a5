import sys
from typing import Any

import numpy as np
import pandas as pd
import pvlib
import pytest

from engiagent.models.buildings import solar
from engiagent.models.buildings.gains import ACTIVITIES, Use, WeekProfile
from engiagent.models.buildings.solar import Window, on_surfaces, sol_air_temperature, sun
from engiagent.models.ranges import ParameterError

PLACE: dict[str, Any] = {"latitude": 52.5, "longitude": 13.4}


def clear_day() -> tuple[pd.DatetimeIndex, dict[str, np.ndarray]]:
    starts = pd.date_range("2026-06-21", periods=96, freq="15min", tz="Europe/Berlin")
    zenith, _ = sun(starts, 0.25, **PLACE)
    up = np.maximum(np.cos(np.radians(zenith)), 0.0)
    dni, dhi = np.where(up > 0.02, 800.0, 0.0), np.where(up > 0.02, 90.0, 0.0)
    light = {"direct_normal": dni, "diffuse_horizontal": dhi, "global_horizontal": dni * up + dhi}
    return starts, light


def test_the_sun_stands_where_pvlib_sees_it_in_the_middle_of_the_hour() -> None:
    starts = pd.date_range("2026-03-01", periods=24, freq="h", tz="UTC")
    zenith, azimuth = sun(starts, 1.0, **PLACE)
    other = pvlib.solarposition.get_solarposition(
        starts + pd.Timedelta(minutes=30), PLACE["latitude"], PLACE["longitude"], 0.0
    )
    assert zenith == pytest.approx(other["apparent_zenith"].to_numpy())
    assert azimuth == pytest.approx(other["azimuth"].to_numpy())


@pytest.mark.parametrize("model", ["isotropic", "haydavies", "perez"])
def test_a_flat_roof_gets_the_global_irradiance_and_walls_their_share(model: str) -> None:
    starts, light = clear_day()
    result = on_surfaces(
        [0.0, 90.0, 90.0, 90.0],
        [180.0, 180.0, 90.0, 0.0],
        starts=starts,
        step_hours=0.25,
        model=model,
        **PLACE,
        **light,  # type: ignore[arg-type]
    )
    assert result.total[:, 0] == pytest.approx(light["global_horizontal"], rel=0.01, abs=3.0)
    assert result.total == pytest.approx(result.beam + result.sky + result.ground)
    assert (result.total >= 0).all()
    assert (result.total[light["global_horizontal"] == 0] == 0).all()
    morning, noon = slice(24, 40), 54
    assert (result.beam[morning, 2] > result.beam[morning, 1]).all()
    assert result.beam[noon, 3] == 0.0
    # Geometry: the beam on a wall is the normal one times the cosine of the incidence.
    expected = light["direct_normal"] * np.cos(np.radians(result.incidence[:, 1]))
    assert result.beam[:, 1] == pytest.approx(np.maximum(expected, 0.0), abs=1e-9)


def test_windows_and_walls_take_what_the_formulas_say() -> None:
    shaded = Window(
        area=[2.0, 4.0], g_value=0.5, frame_fraction=0.3, shading_factor=0.8, shade_g_value=0.1
    )
    gain = shaded.gain(np.array([[400.0, 400.0], [0.0, 100.0]]), closed=[[0.0, 1.0], [0.5, 0.5]])
    assert gain == pytest.approx(
        np.array(
            [
                [2 * 0.7 * 0.9 * 0.8 * 0.5 * 0.4, 4 * 0.7 * 0.9 * 0.8 * 0.1 * 0.4],
                [0.0, 4 * 0.7 * 0.9 * 0.8 * 0.3 * 0.1],
            ]
        )
    )
    roof = sol_air_temperature(10.0, 0.0, absorptance=0.9, sky_view=1.0)
    assert roof == pytest.approx(10.0 - 11.0 * 4.14 / 24.14)
    with pytest.raises(ParameterError, match="no shade to close"):
        Window(area=1.0, g_value=0.5).gain(100.0, closed=1.0)
    with pytest.raises(ParameterError, match="g-value is 60"):
        Window(area=1.0, g_value=60.0)


def test_without_pvlib_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pvlib", None)
    with pytest.raises(ParameterError, match="pip install pvlib"):
        solar.require_pvlib()


def test_wrong_light_and_places_are_refused() -> None:
    starts, light = clear_day()
    args: dict[str, Any] = {"starts": starts, "step_hours": 0.25, **PLACE, **light}
    with pytest.raises(ParameterError, match="no time zone"):
        on_surfaces(90, 180, **{**args, "starts": starts.tz_localize(None)})
    with pytest.raises(ParameterError, match="latitude is 95"):
        on_surfaces(90, 180, **{**args, "latitude": 95.0})
    with pytest.raises(ParameterError, match="global irradiance has the shape"):
        on_surfaces(90, 180, **{**args, "global_horizontal": np.ones(5)})
    with pytest.raises(ParameterError, match="known: isotropic"):
        on_surfaces(90, 180, **{**args, "model": "guess"})


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


def test_people_devices_and_lights_add_up() -> None:
    use = Use(
        occupants=20,
        activity="moderately active office work",
        equipment_power=2.0,
        lighting_power=1.0,
        equipment_heat=0.8,
        occupancy=office(),
        equipment=office(),
        lighting=WeekProfile(weekday=(0.5,)),
    )
    gains = use.gains(pd.date_range("2026-02-02 09:00", periods=1, freq="h"), 1.0)
    sensible, latent = ACTIVITIES["moderately active office work"]
    assert gains.sensible == pytest.approx([20 * sensible / 1000 + 1.6 + 0.5])
    assert gains.latent == pytest.approx([20 * latent / 1000])
    assert gains.electric_power == pytest.approx([2.5])


def test_wrong_uses_say_what_is_wrong() -> None:
    with pytest.raises(ParameterError, match="7 shares"):
        WeekProfile(weekday=(1.0,) * 7 + ())
    with pytest.raises(ParameterError, match="activity is 'sleeping'"):
        Use(occupants=1, activity="sleeping", occupancy=office())
    with pytest.raises(ParameterError, match="profile of occupancy is missing"):
        Use(occupants=1)
    with pytest.raises(ParameterError, match="whole number of seconds"):
        office().shares(pd.date_range("2026-01-01", periods=1, freq="h"), 1e-5)
