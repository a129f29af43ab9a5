r"""Moist air as a mixture of ideal gases, after ASHRAE Fundamentals; everything elementwise.

Temperatures :math:`t` are in degC, pressures in Pa, humidity ratios :math:`W` in kg of water per kg
of dry air, enthalpies in kJ per kg of dry air with 0 for dry air and for liquid water at 0 degC.

.. math:: W = 0.621945 \frac{p_w}{p - p_w}, \quad h = 1.006\,t + W (2501 + 1.86\,t)

Source: ASHRAE Handbook Fundamentals (SI), 2017, chapter 1: equations 3, 5, 6, 20, 22, 30, 33, 35.
The library psychrolib has them too, equal to 1e-9, number by number or by numba; these take arrays
and find the wet bulb near 0 degC exactly, and CoolProp takes 2.6 s to import. Saturation pressures
hold from -100 to 200 degC. From -40 to 50 degC
the enthalpy at a temperature and a humidity ratio is within 0.1 % (at most 0.3 kJ/kg) of that of
real moist air at sea level, and within 0.4 kJ/kg down to 60 kPa, 4 200 m. Real air holds some more
vapour than the mixture of ideal gases: at a relative humidity the enthalpy is up to 1.2 kJ/kg too
low at sea level, 1.9 at 60 kPa.
"""

import numpy as np
import numpy.typing as npt

from engiagent.models.hvac.roots import bracketed_root
from engiagent.models.ranges import Floats, ParameterError, numbers, within

STANDARD_PRESSURE = 101_325.0  # [Pa]
RATIO_OF_MASSES = 0.621945  # water to dry air [-]
DRY_AIR_HEAT = 1.006  # [kJ/(kg K)]
VAPOUR_HEAT = 1.86  # [kJ/(kg K)]
EVAPORATION = 2501.0  # vapour at 0 degC over liquid at 0 degC [kJ/kg]
LIQUID_HEAT = 4.186  # [kJ/(kg K)]
FREEZING = 0.01  # above it saturation is over liquid water, else over ice [degC]
ZERO_CELSIUS = 273.15  # [K]

_OVER_ICE = (
    -5.6745359e3,
    6.3925247,
    -9.6778430e-3,
    6.2215701e-7,
    2.0747825e-9,
    -9.4840240e-13,
    4.1635019,
)
_OVER_WATER = (-5.8002206e3, 1.3914993, -4.8640239e-2, 4.1764768e-5, -1.4452093e-8, 0.0, 6.5459673)


def saturation_pressure(temperature: npt.ArrayLike) -> Floats:
    """Return the pressure of saturated vapour over water, below 0.01 degC over ice. [Pa].

    Examples
    --------
    >>> round(float(saturation_pressure(20.0)), 2)
    2338.8
    """
    degrees = within(temperature, "the temperature of the air", "degC", low=-100.0, high=200.0)
    kelvin = degrees + ZERO_CELSIUS
    return np.asarray(
        np.exp(np.where(degrees <= FREEZING, _log(kelvin, _OVER_ICE), _log(kelvin, _OVER_WATER)))
    )


def _log(kelvin: Floats, c: tuple[float, ...]) -> Floats:
    powers = c[1] + kelvin * (c[2] + kelvin * (c[3] + kelvin * (c[4] + kelvin * c[5])))
    return np.asarray(c[0] / kelvin + powers + c[6] * np.log(kelvin))


def humidity_ratio_of_vapour(
    vapour_pressure: npt.ArrayLike, pressure: npt.ArrayLike = STANDARD_PRESSURE
) -> Floats:
    """Return the humidity ratio for a partial pressure of vapour [Pa]. [kg/kg]."""
    total = numbers(pressure, "the pressure")
    vapour = within(vapour_pressure, "the vapour pressure", "Pa", low=0.0)
    if not (vapour < total).all():
        raise ParameterError(
            f"the vapour pressure {np.max(vapour):g} Pa is not below the pressure "
            f"{np.min(total):g} Pa; the water boils: give a lower temperature or a higher pressure"
        )
    return np.asarray(RATIO_OF_MASSES * vapour / (total - vapour))


def vapour_pressure(
    humidity_ratio: npt.ArrayLike, pressure: npt.ArrayLike = STANDARD_PRESSURE
) -> Floats:
    """Return the partial pressure of vapour. [Pa]."""
    ratio = within(humidity_ratio, "the humidity ratio", "kg/kg", low=0.0)
    return np.asarray(numbers(pressure, "the pressure") * ratio / (RATIO_OF_MASSES + ratio))


def saturation_humidity_ratio(
    temperature: npt.ArrayLike, pressure: npt.ArrayLike = STANDARD_PRESSURE
) -> Floats:
    """Return the humidity ratio of saturated air. [kg/kg]."""
    return humidity_ratio_of_vapour(saturation_pressure(temperature), pressure)


def humidity_ratio(
    temperature: npt.ArrayLike,
    relative_humidity: npt.ArrayLike,
    pressure: npt.ArrayLike = STANDARD_PRESSURE,
) -> Floats:
    """Return the humidity ratio for a relative humidity from 0 to 1. [kg/kg].

    Examples
    --------
    >>> round(float(humidity_ratio(20.0, 0.5)), 6)
    0.007262
    """
    relative = within(relative_humidity, "the relative humidity", "-", low=0.0, high=1.0)
    return humidity_ratio_of_vapour(relative * saturation_pressure(temperature), pressure)


def relative_humidity(
    temperature: npt.ArrayLike,
    humidity_ratio: npt.ArrayLike,
    pressure: npt.ArrayLike = STANDARD_PRESSURE,
) -> Floats:
    """Return the relative humidity; above 1 in fog. [-]."""
    return np.asarray(vapour_pressure(humidity_ratio, pressure) / saturation_pressure(temperature))


def enthalpy(temperature: npt.ArrayLike, humidity_ratio: npt.ArrayLike) -> Floats:
    """Return the enthalpy of moist air. [kJ/kg dry air].

    Examples
    --------
    >>> round(float(enthalpy(20.0, 0.007262)), 4)
    38.5524
    """
    degrees = numbers(temperature, "the temperature")
    ratio = numbers(humidity_ratio, "the humidity ratio")
    return np.asarray(DRY_AIR_HEAT * degrees + ratio * (EVAPORATION + VAPOUR_HEAT * degrees))


def heat_capacity(humidity_ratio: npt.ArrayLike) -> Floats:
    """Return the heat to warm moist air by one kelvin. [kJ/(K kg dry air)]."""
    return np.asarray(DRY_AIR_HEAT + VAPOUR_HEAT * numbers(humidity_ratio, "the humidity ratio"))


def wet_bulb_humidity_ratio(
    wet_bulb: npt.ArrayLike, temperature: npt.ArrayLike, pressure: npt.ArrayLike = STANDARD_PRESSURE
) -> Floats:
    """Return the humidity ratio for a wet-bulb temperature; negative where none fits. [kg/kg]."""
    wet = numbers(wet_bulb, "the wet bulb")
    dry = numbers(temperature, "the temperature")
    saturated = saturation_humidity_ratio(wet, pressure)
    sensible = DRY_AIR_HEAT * (dry - wet)
    water = ((2501.0 - 2.326 * wet) * saturated - sensible) / (
        2501.0 + VAPOUR_HEAT * dry - LIQUID_HEAT * wet
    )
    ice = ((2830.0 - 0.24 * wet) * saturated - sensible) / (2830.0 + VAPOUR_HEAT * dry - 2.1 * wet)
    return np.where(wet >= 0.0, water, ice)


def wet_bulb(
    temperature: npt.ArrayLike,
    humidity_ratio: npt.ArrayLike,
    pressure: npt.ArrayLike = STANDARD_PRESSURE,
) -> Floats:
    """Return the thermodynamic wet-bulb temperature. [degC].

    Around 0 degC a liquid and a frozen wick may both be in balance; the liquid one comes back.

    Examples
    --------
    >>> round(float(wet_bulb(20.0, 0.007262)), 3)
    13.784
    """
    dry, ratio, total = np.broadcast_arrays(
        numbers(temperature, "the temperature"),
        within(humidity_ratio, "the humidity ratio", "kg/kg", low=0.0),
        numbers(pressure, "the pressure"),
    )
    liquid = (dry >= 0.0) & (ratio >= wet_bulb_humidity_ratio(0.0, dry, total))
    below_zero = np.minimum(dry, -1e-12)
    low = np.where(liquid, 0.0, np.maximum(below_zero - 60.0, -100.0))
    high = np.where(liquid, dry, below_zero)

    def excess(wet: Floats) -> Floats:
        return np.asarray(wet_bulb_humidity_ratio(wet, dry, total) - ratio)

    # Air that is saturated but for rounding has its wet bulb at its own temperature.
    saturated = wet_bulb_humidity_ratio(dry, dry, total)
    fog = ratio > saturated * (1.0 + 1e-9)
    if fog.any():
        raise ParameterError(
            f"air at {dry[fog][0]:g} degC with {ratio[fog][0]:g} kg/kg is in fog; give at most "
            f"{saturated[fog][0]:g} kg/kg"
        )
    full = ratio >= saturated
    return np.where(
        full, dry, bracketed_root(lambda x: np.where(full, 0.0, excess(x)), low, high, "a wet bulb")
    )
