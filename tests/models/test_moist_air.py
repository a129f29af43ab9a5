import numpy as np
import psychrolib
import pytest
from CoolProp.CoolProp import PropsSI
from CoolProp.HumidAirProp import HAPropsSI

from engiagent.models.hvac import moist_air, water
from engiagent.models.ranges import Floats, ParameterError

psychrolib.SetUnitSystem(psychrolib.SI)


def some_air(count: int = 150) -> tuple[Floats, Floats, Floats]:
    rng = np.random.default_rng(5)
    return (
        rng.uniform(-40.0, 60.0, count),
        rng.uniform(0.02, 0.995, count),
        rng.uniform(6e4, 1.05e5, count),
    )


def by_psychrolib(name: str, *series: Floats) -> Floats:
    function = getattr(psychrolib, name)
    return np.array([function(*row) for row in zip(*series, strict=True)])


def test_air_is_as_psychrolib_says() -> None:
    t, relative, p = some_air()
    ratio = moist_air.humidity_ratio(t, relative, p)
    full = moist_air.enthalpy(t, moist_air.saturation_humidity_ratio(t, p))
    for ours, theirs in (
        (moist_air.saturation_pressure(t), by_psychrolib("GetSatVapPres", t)),
        (ratio, by_psychrolib("GetHumRatioFromRelHum", t, relative, p)),
        (moist_air.relative_humidity(t, ratio, p), relative),
        (full, by_psychrolib("GetSatAirEnthalpy", t, p) / 1e3),
        (moist_air.vapour_pressure(ratio, p), by_psychrolib("GetVapPresFromHumRatio", ratio, p)),
    ):
        assert ours == pytest.approx(theirs, rel=1e-9)
    heat = by_psychrolib("GetMoistAirEnthalpy", t, ratio) / 1e3
    assert moist_air.enthalpy(t, ratio) == pytest.approx(heat, rel=1e-12, abs=1e-12)


def test_wet_bulb_is_psychrolibs_but_closer() -> None:
    t, relative, p = some_air()
    ratio = moist_air.humidity_ratio(t, relative, p)
    ours = moist_air.wet_bulb(t, ratio, p)
    assert moist_air.wet_bulb_humidity_ratio(ours, t, p) == pytest.approx(ratio, abs=1e-14)
    theirs = by_psychrolib("GetTWetBulbFromHumRatio", t, ratio, p)
    # Its own tolerance is 1 mK; around 0 degC a frozen wick may answer instead of the liquid one.
    once = np.abs(ours) > 1.0
    assert ours[once] == pytest.approx(theirs[once], abs=1.1e-3)


def test_air_that_could_freeze_or_melt_the_wick_answers_with_the_liquid_one() -> None:
    dry = 6.5
    frozen = float(moist_air.wet_bulb_humidity_ratio(-0.2, dry))
    liquid = float(moist_air.wet_bulb(dry, frozen))
    assert liquid >= 0.0
    assert moist_air.wet_bulb_humidity_ratio(liquid, dry) == pytest.approx(frozen, abs=1e-14)


def test_fog_boiling_and_nan_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"in fog; give at most 0\.0146"):
        moist_air.wet_bulb(20.0, 0.016)
    with pytest.raises(ParameterError, match="the water boils"):
        moist_air.saturation_humidity_ratio(105.0)
    with pytest.raises(ParameterError, match="temperature of the air is nan"):
        moist_air.saturation_pressure([20.0, float("nan")])
    with pytest.raises(
        ParameterError, match=r"relative humidity is 50; give a number .* at most 1"
    ):
        moist_air.humidity_ratio(20.0, 50.0)


def test_one_specific_heat_serves_all_liquid_water() -> None:
    t = np.linspace(0.05, 99.9, 200)
    true = PropsSI("C", "T", t + 273.15, "P", np.full_like(t, 101_325.0), "Water") / 1e3
    assert np.abs(true / water.SPECIFIC_HEAT - 1).max() < 8e-3


@pytest.mark.parametrize(
    ("pressure", "by_ratio", "by_humidity"),
    [(101_325.0, 0.3, 1.2), (83_523.0, 0.4, 1.9), (60_000.0, 0.4, 1.9)],
)
def test_enthalpy_is_near_that_of_real_moist_air_at_any_height(
    pressure: float, by_ratio: float, by_humidity: float
) -> None:
    for t in np.arange(-40.0, 51.0, 10.0):
        for relative in (0.0, 0.5, 1.0):
            ratio = float(moist_air.humidity_ratio(t, relative, pressure))
            ours = float(moist_air.enthalpy(t, ratio))
            real, humid = (
                HAPropsSI("H", "T", t + 273.15, "P", pressure, name, value) / 1e3
                for name, value in (("W", ratio), ("R", relative))
            )
            assert ours == pytest.approx(real, abs=by_ratio)
            assert ours == pytest.approx(humid, abs=by_humidity)
            if pressure == moist_air.STANDARD_PRESSURE:
                assert ours == pytest.approx(real, rel=1e-3, abs=0.01)
