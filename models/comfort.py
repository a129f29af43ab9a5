r"""Thermal comfort: predicted vote, operative temperature, adaptive limits, hours outside a band.

The predicted mean vote of Fanger is the imbalance of heat of a body that is dressed, active and at
rest in its thermoregulation:

.. math::
   PMV = (0.303 e^{-0.036 M} + 0.028)\,(M - W - E_d - E_{sw} - E_{re} - C_{re} - R - C), \qquad
   PPD = 100 - 95 e^{-0.03353 PMV^4 - 0.2179 PMV^2}.

The temperature :math:`t_{cl}` of the clothing is the root of an equation whose residual rises with
:math:`t_{cl}`, so that a bracket proves it; ISO 7730's own program stops its fixed point at
0.015 K, which leaves up to some 0.005 in the vote.

Sources: ISO 7730:2005 (vote, local discomfort), ISO 7726 (operative temperature), EN 16798-1:2019
annex B and ANSI/ASHRAE 55-2020 (adaptive comfort).
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from engiagent.models.parameters import hours_of_steps, numbers, within
from engiagent.models.ranges import Floats, ParameterError
from engiagent.models.recursion import scalar_recursion

MET = 58.15  # W/m2
CLO = 0.155  # m2 K/W
KELVIN = 273.0  # as ISO 7730 has it
_TOLERANCE = 1e-9  # K, width of the bracket of the clothing's temperature

Category = Literal["I", "II", "III"]
Standard = Literal["EN 16798-1", "ASHRAE 55"]

#: Width below and above the adaptive comfort temperature. [K]
CATEGORIES: dict[str, tuple[float, float]] = {"I": (3.0, 2.0), "II": (4.0, 3.0), "III": (5.0, 4.0)}
ACCEPTABILITY: dict[int, float] = {80: 3.5, 90: 2.5}


@dataclass(frozen=True)
class Vote:
    """What a group of people feels; all arrays of the inputs' common shape.

    Attributes
    ----------
    pmv
        Predicted mean vote, -3 cold to 3 hot. [-]
    ppd
        Predicted percentage of dissatisfied. [%]
    clothing_temperature
        Surface of the clothing, to 1e-9 K. [degC]
    valid
        Whether the inputs lie in the ranges that ISO 7730 names and the vote in -2 to 2.
    """

    pmv: Floats
    ppd: Floats
    clothing_temperature: Floats
    valid: npt.NDArray[np.bool_]


def vapour_pressure(temperature: npt.ArrayLike, relative_humidity: npt.ArrayLike) -> Floats:
    """Return the partial pressure of water vapour as ISO 7730 computes it. [Pa].

    Parameters
    ----------
    temperature
        Of the air. [degC]
    relative_humidity
        0 to 100. [%]
    """
    humidity = within(relative_humidity, "the relative humidity", "%", low=0.0, high=100.0)
    air = within(temperature, "the air temperature", "degC", low=-KELVIN + 40.0)
    return np.asarray(humidity * 10.0 * np.exp(16.6536 - 4030.183 / (air + 235.0)))


def pmv(
    air: npt.ArrayLike,
    radiant: npt.ArrayLike,
    *,
    speed: npt.ArrayLike,
    relative_humidity: npt.ArrayLike,
    activity: npt.ArrayLike,
    clothing: npt.ArrayLike,
    work: npt.ArrayLike = 0.0,
) -> Vote:
    """Return predicted vote and dissatisfied for arrays that broadcast.

    Parameters
    ----------
    air, radiant
        Air and mean radiant temperature. [degC]
    speed
        Of the air relative to the body, see :func:`relative_speed`. At least 0. [m/s]
    relative_humidity
        0 to 100. [%]
    activity, work
        Metabolic rate and effective mechanical power. Above 0, at least 0. [met]
    clothing
        Insulation. At least 0. [clo]

    Raises
    ------
    ParameterError
        When a value is impossible; outside the validity of the standard :attr:`Vote.valid` is
        false and the formula's value is returned.

    Examples
    --------
    >>> vote = pmv(22.0, 22.0, speed=0.1, relative_humidity=60.0, activity=1.2, clothing=0.5)
    >>> round(float(vote.pmv), 2), round(float(vote.ppd)), bool(vote.valid)
    (-0.75, 17, True)
    """
    ta, tr, v, rh, met, clo, wme = np.broadcast_arrays(
        within(air, "the air temperature", "degC", low=-50.0, high=100.0),
        within(radiant, "the mean radiant temperature", "degC", low=-50.0, high=200.0),
        within(speed, "the air speed", "m/s", low=0.0),
        within(relative_humidity, "the relative humidity", "%", low=0.0, high=100.0),
        within(activity, "the activity", "met", low=0.0, above=True),
        within(clothing, "the clothing", "clo", low=0.0),
        within(work, "the work", "met", low=0.0),
    )
    pressure = vapour_pressure(ta, rh)
    metabolism = met * MET
    inner = metabolism - wme * MET
    area = np.where(clo * CLO <= 0.078, 1.0 + 1.29 * clo * CLO, 1.05 + 0.645 * clo * CLO)
    surface, convection = _clothing(ta, tr, v, inner, clo * CLO, area)
    loss = (
        3.05e-3 * (5733.0 - 6.99 * inner - pressure)
        + 0.42 * np.maximum(inner - MET, 0.0)
        + 1.7e-5 * metabolism * (5867.0 - pressure)
        + 0.0014 * metabolism * (34.0 - ta)
        + 3.96e-8 * area * ((surface + KELVIN) ** 4 - (tr + KELVIN) ** 4)
        + area * convection * (surface - ta)
    )
    vote = np.asarray((0.303 * np.exp(-0.036 * metabolism) + 0.028) * (inner - loss))
    valid = _in_range(ta, tr, v, pressure, met, clo) & (np.abs(vote) <= 2.0)
    return Vote(vote, ppd(vote), surface, valid)


def ppd(vote: npt.ArrayLike) -> Floats:
    """Return the predicted percentage of dissatisfied of a predicted mean vote. [%].

    Examples
    --------
    >>> float(ppd(0.0))
    5.0
    """
    value = numbers(vote, "the vote")
    return np.asarray(100.0 - 95.0 * np.exp(-0.03353 * value**4 - 0.2179 * value**2))


def relative_speed(speed: npt.ArrayLike, activity: npt.ArrayLike) -> Floats:
    """Return air speed plus that of a body above 1 met, 0.3 (M - 1). [m/s] (ISO 7730, C.2)."""
    air = within(speed, "the air speed", "m/s", low=0.0)
    met = within(activity, "the activity", "met", low=0.0, above=True)
    return np.asarray(air + 0.3 * np.maximum(met - 1.0, 0.0))


def _in_range(
    ta: Floats, tr: Floats, v: Floats, pressure: Floats, met: Floats, clo: Floats
) -> npt.NDArray[np.bool_]:
    inside = (ta >= 10.0) & (ta <= 30.0) & (tr >= 10.0) & (tr <= 40.0) & (v <= 1.0)
    return np.asarray(inside & (pressure <= 2700.0) & (met >= 0.8) & (met <= 4.0) & (clo <= 2.0))


def _clothing(
    ta: Floats, tr: Floats, v: Floats, inner: Floats, insulation: Floats, area: Floats
) -> tuple[Floats, Floats]:
    """Return temperature of the clothing [degC] and convection [W/(m2 K)], by Newton in a bracket.

    The residual rises with a slope of at least 1, so that its size bounds the error as well.
    """
    skin, forced = 35.7 - 0.028 * inner, 12.1 * np.sqrt(v)

    def residual(t: Floats) -> tuple[Floats, Floats]:
        gap = t - ta
        natural = 2.38 * np.sqrt(np.sqrt(np.abs(gap)))
        radiant = 3.96e-8 * ((t + KELVIN) ** 4 - (tr + KELVIN) ** 4)
        value = t - skin + insulation * area * (radiant + np.maximum(natural, forced) * gap)
        convective = np.where(natural > forced, 1.25 * natural, forced)
        return value, 1.0 + insulation * area * (15.84e-8 * (t + KELVIN) ** 3 + convective)

    low = np.minimum(np.minimum(skin, ta), tr) - 1e-6
    high = np.maximum(np.maximum(skin, ta), tr) + 1e-6
    t = 0.5 * (low + high)
    for _ in range(200):
        value, slope = residual(t)
        if (np.abs(value) <= _TOLERANCE).all():
            break
        low, high = np.where(value < 0, t, low), np.where(value < 0, high, t)
        newton = t - value / slope
        t = np.where((newton > low) & (newton < high), newton, 0.5 * (low + high))
    else:
        worst = float(np.abs(value).max())
        raise ParameterError(f"the clothing's temperature is open by {worst:g} K; check the inputs")
    return t, np.maximum(2.38 * np.sqrt(np.sqrt(np.abs(t - ta))), forced)


def operative_temperature(
    air: npt.ArrayLike,
    radiant: npt.ArrayLike,
    speed: npt.ArrayLike = 0.1,
    method: Literal["mean", "ISO 7726", "ASHRAE 55"] = "ISO 7726",
) -> Floats:
    r"""Return the operative temperature. [degC].

    Parameters
    ----------
    air, radiant
        Air and mean radiant temperature. [degC]
    speed
        Of the air; at least 0. [m/s]
    method
        ``mean`` of both; ``ISO 7726`` with weights 1 for the radiant and :math:`\sqrt{10 v}` for
        the air temperature; ``ASHRAE 55`` with 0.5, 0.6 or 0.7 for the air below 0.2, below 0.6
        and from 0.6 m/s.

    Examples
    --------
    >>> float(operative_temperature(20.0, 24.0, 0.4))
    21.333333333333332
    """
    ta, tr = numbers(air, "the air temperature"), numbers(radiant, "the radiant temperature")
    v = within(speed, "the air speed", "m/s", low=0.0)
    if method == "mean":
        return np.asarray(0.5 * (ta + tr))
    if method == "ISO 7726":
        root = np.sqrt(10.0 * v)
        return np.asarray((tr + root * ta) / (1.0 + root))
    if method != "ASHRAE 55":
        raise ParameterError(f"the method is {method!r}; known: mean, ISO 7726, ASHRAE 55")
    weight = np.where(v < 0.2, 0.5, np.where(v < 0.6, 0.6, 0.7))
    return np.asarray(weight * ta + (1.0 - weight) * tr)


def running_mean(
    daily_mean: npt.ArrayLike, initial: float | None = None, alpha: float = 0.8
) -> Floats:
    r"""Return the running mean outdoor temperature at each of D days and at the day after. [degC].

    :math:`\theta_{rm,d} = (1 - \alpha)\,\theta_{ed-1} + \alpha\,\theta_{rm,d-1}`, so that a day has
    no part in its own value.

    Parameters
    ----------
    daily_mean
        Daily means outside, shape (D,). [degC]
    initial
        Value of the first day; its own daily mean when None. [degC]
    alpha
        Between 0 and 1; the standards recommend 0.8. [-]

    Examples
    --------
    >>> running_mean([10.0, 15.0], initial=20.0).round(9).tolist()
    [20.0, 18.0, 17.4]
    """
    days = np.atleast_1d(numbers(daily_mean, "the daily mean temperature"))
    within(alpha, "alpha", "-", low=0.0, high=1.0, below=True)
    first = float(days[0]) if initial is None else float(numbers(initial, "the initial value"))
    return scalar_recursion(np.full(len(days), alpha), (1.0 - alpha) * days, first)


@dataclass(frozen=True)
class AdaptiveRange:
    """Limits of the operative temperature in a building without mechanical cooling.

    Attributes
    ----------
    comfort, low, high
        [degC]
    valid
        Whether the running mean lies where the standard applies.
    """

    comfort: Floats
    low: Floats
    high: Floats
    valid: npt.NDArray[np.bool_]


def adaptive(
    running_mean_temperature: npt.ArrayLike,
    *,
    standard: Standard = "EN 16798-1",
    category: Category = "II",
    acceptability: Literal[80, 90] = 80,
    speed: npt.ArrayLike = 0.0,
    operative: npt.ArrayLike | None = None,
) -> AdaptiveRange:
    """Return adaptive limits; where air moves and the room is warm, the upper one is raised.

    Parameters
    ----------
    running_mean_temperature
        Of the outdoor air. EN: 10 to 30, ASHRAE: 10 to 33.5. [degC]
    standard
        ``EN 16798-1`` with ``category`` I, II or III, or ``ASHRAE 55`` with ``acceptability`` 80
        or 90.
    speed, operative
        Air speed [m/s] that people control and operative temperature [degC]; from 0.6, 0.9 and
        1.2 m/s and above 25 degC the upper limit rises by 1.2, 1.8 and 2.2 K. Without an operative
        temperature nothing rises.

    Examples
    --------
    >>> limits = adaptive(20.0, category="II")
    >>> round(float(limits.low), 1), round(float(limits.high), 1)
    (21.4, 28.4)
    """
    mean = numbers(running_mean_temperature, "the running mean temperature")
    v = within(speed, "the air speed", "m/s", low=0.0)
    if standard == "EN 16798-1":
        if category not in CATEGORIES:
            raise ParameterError(f"the category is {category!r}; known: I, II, III")
        comfort, (below, above) = 0.33 * mean + 18.8, CATEGORIES[category]
        valid = (mean >= 10.0) & (mean <= 30.0)
    elif standard == "ASHRAE 55":
        if acceptability not in ACCEPTABILITY:
            raise ParameterError(f"the acceptability is {acceptability!r}; known: 80, 90")
        comfort, below = 0.31 * mean + 17.8, ACCEPTABILITY[acceptability]
        above, valid = below, (mean >= 10.0) & (mean <= 33.5)
    else:
        raise ParameterError(f"the standard is {standard!r}; known: EN 16798-1, ASHRAE 55")
    cooled = np.zeros_like(v)
    if operative is not None:
        warm = numbers(operative, "the operative temperature") > 25.0
        steps = np.where(v < 0.6, 0.0, np.where(v < 0.9, 1.2, np.where(v < 1.2, 1.8, 2.2)))
        cooled = np.where(warm, steps, 0.0)
    return AdaptiveRange(comfort, comfort - below, comfort + above + cooled, valid)


def degree_hours(
    temperature: npt.ArrayLike,
    step_hours: npt.ArrayLike,
    low: npt.ArrayLike = -np.inf,
    high: npt.ArrayLike = np.inf,
    occupied: npt.ArrayLike = 1.0,
) -> tuple[Floats, Floats]:
    """Return the degree-hours below and above a band, summed over the periods. [K h].

    Parameters
    ----------
    temperature
        Means of the periods, shape (N,) or (N, zones). [degC]
    step_hours
        One number or shape (N,). [h]
    low, high
        The band; numbers or arrays that fit, infinite for none. [degC]
    occupied
        Weight of each period, 0 to 1. [-]

    Examples
    --------
    >>> below, above = degree_hours([18.0, 21.0, 27.0], 0.5, low=20.0, high=26.0)
    >>> float(below), float(above)
    (1.0, 0.5)
    """
    value = np.atleast_1d(numbers(temperature, "the temperature"))
    bounds = [numbers(limit, "a limit of the band", finite=False) for limit in (low, high)]
    weight = within(occupied, "the occupancy", "-", low=0.0, high=1.0)
    lower, upper, share = (_columns(array, value) for array in (*bounds, weight))
    if (lower > upper).any():
        raise ParameterError("the band has a lower limit above its upper one; swap them")
    hours = share * hours_of_steps(step_hours, value.shape)
    below = (hours * np.maximum(lower - value, 0.0)).sum(axis=0)
    above = (hours * np.maximum(value - upper, 0.0)).sum(axis=0)
    return np.asarray(below), np.asarray(above)


def _columns(array: Floats, value: Floats) -> Floats:
    if value.ndim == 2 and array.ndim == 1 and len(array) == len(value):
        array = array[:, None]
    try:
        return np.asarray(np.broadcast_to(array, value.shape))
    except ValueError as error:
        raise ParameterError(
            f"an array of shape {array.shape} does not fit temperatures of shape {value.shape}"
        ) from error


def draught(air: npt.ArrayLike, speed: npt.ArrayLike, turbulence: npt.ArrayLike = 40.0) -> Floats:
    """Return the percentage dissatisfied by draught, 0 to 100. [%] (ISO 7730, 6.2).

    Parameters
    ----------
    air
        20 to 26 in the standard; 0 from 34 upwards. [degC]
    speed
        Local mean, below 0.5 in the standard; below 0.05 it counts as 0.05. [m/s]
    turbulence
        Local intensity, 10 to 60 in the standard. [%]
    """
    cold = np.maximum(34.0 - numbers(air, "the air temperature"), 0.0)
    v = np.maximum(within(speed, "the air speed", "m/s", low=0.0), 0.05)
    unsteady = within(turbulence, "the turbulence", "%", low=0.0, high=100.0)
    rate = cold * (v - 0.05) ** 0.62 * (0.37 * v * unsteady + 3.14)
    return np.asarray(np.minimum(rate, 100.0))


def vertical_difference(difference: npt.ArrayLike) -> Floats:
    """Return the percentage dissatisfied by warmer air at the head than at the feet. [%].

    ISO 7730, 6.3, for differences of 0 to 8 K.
    """
    dt = within(difference, "the vertical difference", "K", low=0.0, high=8.0, below=True)
    return np.asarray(100.0 / (1.0 + np.exp(5.76 - 0.856 * dt)))


def warm_or_cool_floor(floor: npt.ArrayLike) -> Floats:
    """Return the percentage dissatisfied by the temperature of the floor [degC]. [%].

    ISO 7730, 6.4.
    """
    t = within(floor, "the floor temperature", "degC", low=5.0, high=40.0)
    return np.asarray(100.0 - 94.0 * np.exp(-1.387 + 0.118 * t - 0.0025 * t**2))
