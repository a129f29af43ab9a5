"""Tools on what a year of weather yields: photovoltaic arrays and wind turbines.

An hour of a weather file is a mean over it (radiation) or was read at its end (wind, temperature);
the sun stands where it does in the middle of the hour.
"""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from engiagent.environment.interface import quiet
from engiagent.errors import InputError
from engiagent.io.files import sha256_bytes
from engiagent.io.schemawords import NUMBER, TEXT, TEXTS, list_of, maybe, record
from engiagent.io.weather import Weather, read_weather
from engiagent.models.renewables import PVWATTS_LOSS, PvArray, WindTurbine
from engiagent.plant.source import nearest
from engiagent.study.economics.cashflow import Floats
from engiagent.tools.market.data import PACK
from engiagent.tools.modelling import plain
from engiagent.tools.places import inside, write_rows
from engiagent.tools.registry import Json, Outcome, State, tool
from engiagent.tools.site.arguments import entries, stated

GROUP: Final = "market"
_YEARS: Final[Mapping[int, int]] = {8760: 2001, 8784: 2000}
"""Of the stamps by hours of the file: a year without a leap day, as typical ones are, or with."""
_MEASURED: Final = 10.0
"""Height of the wind of weather files. [m]"""
_GAS: Final = 287.05  # of dry air. [J/(kg K)]
_WEATHER: Final = record({"file": TEXT, "place": TEXT, "sha256": TEXT})
_RETURNS: Final = record(
    {"weather": _WEATHER, "energy_mwh": NUMBER, "full_load_hours": NUMBER, "peak_kw": NUMBER}
    | {"capacity_factor": NUMBER, "by_month_mwh": list_of(NUMBER), "file": maybe(TEXT)}
    | {"notes": TEXTS}
)


def _weather(state: State, file: str, *names: str) -> tuple[Weather, Json, list[Floats]]:
    """Return the weather of a file, where it comes from, and columns without gaps."""
    path = inside(state.root, file)
    found = read_weather(path)
    columns = [found.column(name) for name in names]
    if (hours := len(found.hour)) not in _YEARS:
        raise InputError(f"the weather is of {hours} hours", file, expected="a whole year")
    for name, values in zip(names, columns, strict=True):
        if not np.isfinite(values).all():
            hour = int(np.argmin(np.isfinite(values))) + 1
            raise InputError(f"{name} is missing in hour {hour}", file, expected="a whole year")
    about = {"file": file, "place": found.place, "sha256": sha256_bytes(path.read_bytes())}
    return found, about, columns


def _missing(package: str) -> InputError:
    return InputError(f"{package} is not installed", expected='pip install "engiagent[market]"')


@tool("write", *stated("sun", pack=PACK), returns=_RETURNS, repeatable=False)
def pv_yield(state: State, given: Json) -> Outcome:
    """Find what a photovoltaic array yields in the year of a weather file, at the inverter.

    Irradiance in the plane by pvlib (Perez, reflection of the beam by Fresnel), power by the array
    that plans and checker use (PVWatts, cells by Faiman).
    """
    radiation = ("global_horizontal", "direct_normal", "diffuse_horizontal")
    names = (*(f"{name}_radiation" for name in radiation), "dry_bulb_temperature", "wind_speed")
    weather, about, columns = _weather(state, given["weather"], *names)
    array = PvArray(
        dc_capacity=given["dc_capacity"],
        ac_capacity=given.get("ac_capacity", np.inf),
        losses=given.get("losses", PVWATTS_LOSS),
    )
    with quiet():
        light = _light(weather, columns, given)
    power = array.power(light, *columns[3:])
    rated = min(array.dc_capacity, array.ac_capacity)
    notes = [f"losses of {array.losses:.4g} between cells and inverter; no fade, no snow, no shade"]
    notes.append(f"full load hours are of {rated:g} kW, the least of modules and inverter")
    return _yielded(state, given, weather, about, power, rated, notes)


def _light(weather: Weather, columns: list[Floats], given: Json) -> Floats:
    """Return the irradiance in the plane of an array after reflection. [W/m²]."""
    try:
        import pandas as pd
        import pvlib
    except ImportError:
        raise _missing("pvlib") from None
    local = pd.to_datetime(
        {
            "year": _YEARS[len(weather.hour)],
            "month": weather.month,
            "day": weather.day,
            "hour": weather.hour,
        }
    )
    middle = pd.DatetimeIndex(local + pd.Timedelta(hours=0.5 - weather.offset), tz="UTC")
    sun = pvlib.solarposition.get_solarposition(middle, weather.latitude, weather.longitude)
    whole, direct, diffuse = columns[:3]
    place = given["tilt"], given["azimuth"], sun["apparent_zenith"], sun["azimuth"]
    plane = pvlib.irradiance.get_total_irradiance(
        *place,
        **{"dni": direct, "ghi": whole, "dhi": diffuse},
        dni_extra=pvlib.irradiance.get_extra_radiation(middle),
        model="perez",
        albedo=given.get("albedo", 0.2),
    )
    beam = plane["poa_direct"] * pvlib.iam.physical(pvlib.irradiance.aoi(*place))
    found = np.nan_to_num((beam + plane["poa_diffuse"]).to_numpy())
    return np.asarray(np.maximum(found, 0.0))


@tool("write", *stated("wind", pack=PACK), returns=_RETURNS, repeatable=False)
def wind_yield(state: State, given: Json) -> Outcome:
    """Find what wind turbines yield in the year of a weather file.

    Wind at the hub by the logarithmic profile, power by the curve at the density of the air.
    """
    names = ("wind_speed", "dry_bulb_temperature", "atmospheric_pressure")
    weather, about, columns = _weather(state, given["weather"], *names)
    wind, air, pressure = columns
    height, roughness = given["hub_height"], given.get("roughness", 0.15)
    if height <= roughness or roughness >= _MEASURED:
        raise InputError("the roughness is above a height", expected="a hub above the ground's")
    # M. Kaltschmitt et al., Erneuerbare Energien, 5th ed., eq. 2.19, without displacement.
    hub = wind * np.log(height / roughness) / np.log(_MEASURED / roughness)
    density = pressure / (_GAS * (air + 273.15))
    speeds, powers = _curve(given)
    turbine = WindTurbine(speeds=speeds, powers=powers, losses=given.get("losses", 0.0))
    count = given.get("count", 1)
    power = turbine.power(hub, density) * count
    notes = ["no hysteresis after storms, no wake between turbines beyond the stated losses"]
    return _yielded(state, given, weather, about, power, max(powers) * count, notes)


def _curve(given: Json) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return wind speeds [m/s] and powers [kW] of a call's turbine."""
    if ("curve" in given) == ("turbine" in given):
        raise InputError("a turbine is a type or a curve", expected="turbine=…, or curve=…")
    if "curve" in given:
        pairs = list(entries(given["curve"]).items())
        try:
            ranked = sorted((float(speed), float(power)) for speed, power in pairs)
        except ValueError:
            found = "; ".join(given["curve"])
            raise InputError("the curve has no numbers", found=found, expected="12=900") from None
        return tuple(speed for speed, _ in ranked), tuple(power for _, power in ranked)
    try:
        with quiet():
            import windpowerlib
    except ImportError:
        raise _missing("windpowerlib") from None
    wanted = given["turbine"]
    with quiet():
        types = windpowerlib.get_turbine_types(print_out=False, filter_=False)
    known = sorted(types[types["has_power_curve"]]["turbine_type"])
    if wanted not in known:
        raise InputError(f"there is no turbine {wanted!r}", expected=nearest(wanted, known))
    with quiet():
        curve: Any = windpowerlib.WindTurbine(hub_height=100, turbine_type=wanted).power_curve
    return tuple(curve["wind_speed"]), tuple(curve["value"] / 1e3)


def _yielded(
    state: State,
    given: Json,
    weather: Weather,
    about: Json,
    power: Floats,
    rated: float,
    notes: list[str],
) -> Outcome:
    energy = float(power.sum()) / 1e3
    hours = energy * 1e3 / rated
    artefacts: tuple[str, ...] = ()
    if "file" in given:
        year = _YEARS[len(power)]
        stamps = (
            f"{year}-{month:02d}-{day:02d}T{hour:02d}:00"
            for month, day, hour in zip(weather.month, weather.day, weather.hour, strict=True)
        )
        rows = zip(stamps, map(float, power), strict=True)
        artefacts = (write_rows(state.root, given["file"], ("time", "power [kW]"), rows),)
    content = {
        **{"weather": about, "energy_mwh": energy, "full_load_hours": hours},
        **{"peak_kw": float(power.max()), "capacity_factor": hours / len(power)},
        "by_month_mwh": [float(power[weather.month == m].sum()) / 1e3 for m in range(1, 13)],
        **{"file": artefacts[0] if artefacts else None, "notes": notes},
    }
    return Outcome(plain(content), {}, artefacts)
